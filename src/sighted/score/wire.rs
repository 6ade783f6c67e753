//! The score as JSON and CSV.
//!
//! Values that come from logarithms or the error function are rounded to twelve decimals, because the last
//! bits of those differ between systems, and a score is compared byte by byte when it is verified.

use super::category::CategoryScore;
use super::compute::{Differing, Precision, Score, SubsetScore};
use super::evidence::DecisionRow;
use super::presence::{BOOTSTRAP_SEED, Bounds, Clustered, Rates, Reach};
use super::subset::Truth;
use crate::domain::canonical::{Json, float_text};
use crate::sighted::decision::report::Sides;
use crate::stats::cluster::DRAWS;
use crate::stats::estimate::Estimate;
use crate::stats::paired::PairedTable;
use crate::stats::proportion::Interval;
use crate::store::label_file::BlindStatus;

fn number(value: Option<f64>) -> Json {
    value.filter(|value| value.is_finite()).map_or(Json::Null, Json::Float)
}

/// Twelve decimals: see the module's text.
fn rounded(value: Option<f64>) -> Json {
    number(value.map(|value| (value * 1e12).round() / 1e12))
}

fn interval(value: Option<Interval>) -> Json {
    value.map_or(Json::Null, |value| {
        Json::Array(vec![Json::Float(value.low), Json::Float(value.high)])
    })
}

fn sides<T: Copy>(sides: Sides<T>, one: impl Fn(T) -> Json) -> Json {
    Json::object([("a", one(sides.a)), ("b", one(sides.b))])
}

fn blind_word(blind: Option<BlindStatus>) -> Json {
    Json::text_or_null(blind.map(BlindStatus::word))
}

/// One side's rate: counts, interval, what it may be called, and how blind its labels are.
fn estimate(value: Estimate, blind: Option<BlindStatus>, shown: Option<Interval>) -> Json {
    let (k, n) = match value {
        Estimate::Unmeasured { n } => (None, n),
        Estimate::TooFew { k, n } => (Some(k), n),
        Estimate::Wide(rate) | Estimate::Measured(rate) => (Some(rate.k), rate.n),
    };
    Json::object([
        ("k", k.map_or(Json::Null, Json::int)),
        ("n", Json::int(n)),
        ("wilson", interval(value.rate().map(|rate| rate.interval))),
        ("shown", interval(shown)),
        ("verdict", Json::text(value.word())),
        ("blind", blind_word(blind)),
    ])
}

fn table(value: PairedTable) -> [(&'static str, Json); 4] {
    [
        ("both", Json::int(value.both)),
        ("onlyA", Json::int(value.only_first)),
        ("onlyB", Json::int(value.only_second)),
        ("neither", Json::int(value.neither)),
    ]
}

fn merged(parts: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(parts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn rates_json(rates: &Rates, blind: Option<BlindStatus>) -> Json {
    let paired = table(rates.table).into_iter().chain([
        ("difference", number(rates.table.difference())),
        ("mcnemar", number(rates.mcnemar)),
        ("midP", number(rates.mid_p)),
        ("holm", number(rates.holm)),
        ("tango", interval(rates.tango)),
        ("newcombe", interval(rates.newcombe)),
        ("shown", interval(rates.headline())),
    ]);
    Json::object([
        ("a", estimate(rates.sides.a, blind, rates.side_headline(false))),
        ("b", estimate(rates.sides.b, blind, rates.side_headline(true))),
        ("paired", merged(paired)),
        ("clustered", rates.clustered.as_ref().map_or(Json::Null, clustered_json)),
        ("bounds", rates.bounds.as_ref().map_or(Json::Null, bounds_json)),
        ("reach", rates.reach.as_ref().map_or(Json::Null, reach_json)),
    ])
}

fn clustered_json(value: &Clustered) -> Json {
    Json::object([
        ("clusters", Json::int(value.clusters)),
        ("interval", sides(value.sides, interval)),
        ("difference", interval(value.difference)),
        ("mcnemar", rounded(value.mcnemar)),
        ("correlation", sides(value.correlation, number)),
        ("effectiveN", sides(value.effective, number)),
        ("draws", Json::int(DRAWS as u64)),
        ("seed", Json::int(BOOTSTRAP_SEED)),
    ])
}

fn bounds_json(value: &Bounds) -> Json {
    Json::object([
        ("unresolved", Json::int(value.unresolved)),
        ("a", interval(Some(value.sides.a))),
        ("b", interval(Some(value.sides.b))),
        ("difference", interval(Some(value.difference))),
    ])
}

fn reach_json(value: &Reach) -> Json {
    let more = value.more_for.iter().map(|(difference, more)| {
        Json::object([
            ("difference", Json::Float(*difference)),
            ("moreLabels", more.map_or(Json::Null, Json::int)),
        ])
    });
    let margin = value.more_for_margin.map_or(Json::Null, |(margin, more)| {
        Json::object([("margin", Json::Float(margin)), ("moreLabels", Json::int(more))])
    });
    Json::object([
        ("discordantUpper", number(Some(value.discordant))),
        ("smallestVisible", number(value.smallest_visible)),
        ("moreFor", Json::Array(more.collect())),
        ("moreForMargin", margin),
    ])
}

fn by_share(list: &[(f64, Sides<Option<f64>>)], key: &'static str) -> Json {
    Json::Array(
        list.iter()
            .map(|(share, values)| {
                Json::object([
                    (key, Json::Float(*share)),
                    ("a", number(values.a)),
                    ("b", number(values.b)),
                ])
            })
            .collect(),
    )
}

fn precision_json(value: &Precision, blind: Option<BlindStatus>) -> Json {
    let side = |it: Estimate| estimate(it, blind, it.rate().map(|rate| rate.interval));
    Json::object([
        ("a", side(value.sides.a)),
        ("b", side(value.sides.b)),
        ("rebased", by_share(&value.rebased, "prevalence")),
    ])
}

fn category_json(value: &CategoryScore, blind: Option<BlindStatus>) -> Json {
    let side = |it: Estimate| estimate(it, blind, it.rate().map(|rate| rate.interval));
    let paired = table(value.table).into_iter().chain([
        ("tango", interval(value.tango)),
        ("mcnemar", number(value.mcnemar)),
        ("holm", number(value.holm)),
    ]);
    Json::object([
        ("name", Json::text(&value.name)),
        ("unsure", Json::int(value.unsure)),
        ("disputed", Json::int(value.disputed)),
        ("a", side(value.sides.a)),
        ("b", side(value.sides.b)),
        ("paired", merged(paired)),
        ("bounds", value.bounds.map_or(Json::Null, |both| sides(both, |it| interval(Some(it))))),
        ("verdict", Json::text(value.sides.a.word())),
        ("noneFound", sides(value.none_found, Json::Bool)),
    ])
}

/// The word of a truth.
pub(in crate::sighted) fn truth_word(truth: Truth) -> &'static str {
    match truth {
        Truth::Litter => "litter",
        Truth::Clean => "clean",
        Truth::Disputed => "disputed",
        Truth::Skipped => "skipped",
    }
}

fn differing_json(value: &Differing) -> Json {
    Json::object([
        ("fixture", Json::text(value.fixture.to_hex())),
        ("path", Json::text(&value.path)),
        ("label", Json::text(truth_word(value.truth))),
        ("only", Json::text(if value.gained { "b" } else { "a" })),
        ("best", sides(value.best, Json::Float)),
    ])
}

fn subset_json(value: &SubsetScore) -> Json {
    Json::object([
        ("name", Json::text(value.kind.name())),
        ("planned", Json::Bool(value.planned)),
        ("n", Json::int(value.positives + value.clean)),
        ("positives", Json::int(value.positives)),
        ("clean", Json::int(value.clean)),
        ("disputed", Json::int(value.disputed)),
        ("skipped", Json::int(value.skipped)),
        ("unlabelled", Json::int(value.unlabelled)),
        ("exposedLeftOut", Json::int(value.exposed_left_out)),
        ("withoutOutput", Json::int(value.without_output)),
        ("blind", blind_word(value.blind)),
        ("recall", rates_json(&value.recall, value.blind)),
        ("falsePositiveRate", rates_json(&value.false_positives, value.blind)),
        ("precision", precision_json(&value.precision, value.blind)),
        ("recallIfLabelsWrong", by_share(&value.sensitivity, "wrong")),
        (
            "categories",
            Json::Array(value.categories.iter().map(|it| category_json(it, value.blind)).collect()),
        ),
        ("differing", Json::Array(value.differing.iter().map(differing_json).collect())),
    ])
}

fn decisions_json(row: &DecisionRow) -> Json {
    Json::object([
        ("thresholdFlips", Json::int(row.threshold_flips)),
        ("realFlips", Json::int(row.real_flips)),
        ("mislabels", Json::int(row.mislabels)),
        ("imagesChanged", Json::int(row.images_changed)),
        ("imagesPresenceChanged", Json::int(row.images_presence_changed)),
    ])
}

impl Score {
    /// The whole score. Its canonical form is what a sign-off names by hash.
    pub(in crate::sighted) fn to_json(&self) -> Json {
        let unjoined = self.unjoined.iter().map(|it| {
            Json::object([
                ("kind", Json::text(it.kind)),
                ("name", Json::text(&it.name)),
                ("reason", Json::text(&it.reason)),
            ])
        });
        Json::object([
            ("schema", Json::int(1)),
            ("operatingPoint", Json::Float(self.operating_point)),
            ("evidence", self.evidence.clone()),
            ("decisions", self.decisions.as_ref().map_or(Json::Null, decisions_json)),
            ("subsets", Json::Array(self.subsets.iter().map(subset_json).collect())),
            ("sentences", Json::Array(self.sentences.iter().map(Json::text).collect())),
            ("unjoined", Json::Array(unjoined.collect())),
            ("noCategories", Json::text_or_null(self.no_categories.as_ref())),
        ])
    }

    /// One row per subset, rate or category, and side.
    ///
    /// # Errors
    /// Whatever the writer refuses; nothing, on memory.
    pub(in crate::sighted) fn to_csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([
            "subset",
            "planned",
            "measure",
            "side",
            "k",
            "n",
            "low",
            "high",
            "verdict",
            "blind",
            "both",
            "only_a",
            "only_b",
            "neither",
            "difference_low",
            "difference_high",
            "mcnemar",
            "unsure",
            "disputed",
        ])?;
        let text = |value: Option<f64>| value.map_or_else(String::new, float_text);
        for subset in &self.subsets {
            let mut row = |measure: &str,
                           estimates: Sides<Estimate>,
                           shown: Sides<Option<Interval>>,
                           table: PairedTable,
                           difference: Option<Interval>,
                           p: Option<f64>,
                           open: (u64, u64)| {
                for (side, estimate, shown) in
                    [("a", estimates.a, shown.a), ("b", estimates.b, shown.b)]
                {
                    let k = match estimate {
                        Estimate::Unmeasured { .. } => String::new(),
                        Estimate::TooFew { k, .. } => k.to_string(),
                        Estimate::Wide(rate) | Estimate::Measured(rate) => rate.k.to_string(),
                    };
                    writer.write_record([
                        subset.kind.name(),
                        subset.planned.to_string(),
                        measure.to_owned(),
                        side.to_owned(),
                        k,
                        table.n().to_string(),
                        text(shown.map(|shown| shown.low)),
                        text(shown.map(|shown| shown.high)),
                        estimate.word().to_owned(),
                        subset.blind.map_or("", BlindStatus::word).to_owned(),
                        table.both.to_string(),
                        table.only_first.to_string(),
                        table.only_second.to_string(),
                        table.neither.to_string(),
                        text(difference.map(|difference| difference.low)),
                        text(difference.map(|difference| difference.high)),
                        text(p),
                        open.0.to_string(),
                        open.1.to_string(),
                    ])?;
                }
                Ok::<(), csv::Error>(())
            };
            for (name, rates) in
                [("recall", &subset.recall), ("false-positive-rate", &subset.false_positives)]
            {
                let shown = Sides { a: rates.side_headline(false), b: rates.side_headline(true) };
                let open = (subset.skipped, subset.disputed);
                row(name, rates.sides, shown, rates.table, rates.headline(), rates.mcnemar, open)?;
            }
            for it in &subset.categories {
                let shown = |estimate: Estimate| estimate.rate().map(|rate| rate.interval);
                row(
                    &format!("category:{}", it.name),
                    it.sides,
                    Sides { a: shown(it.sides.a), b: shown(it.sides.b) },
                    it.table,
                    it.tango,
                    it.mcnemar,
                    (it.unsure, it.disputed),
                )?;
            }
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
