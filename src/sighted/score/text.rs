//! The score for people: plain text and Markdown. Every number carries how blind its labels are.

use std::fmt::Write as _;

use super::compute::{Score, SubsetScore};
use super::presence::Rates;
use super::subset::SubsetKind;
use super::summary::summary_text;
use super::wire::truth_word;
use crate::domain::canonical::float_text;
use crate::domain::escape::escape;
use crate::sighted::decision::report::Sides;
use crate::stats::estimate::{Estimate, p_text, percent_of, points};
use crate::stats::proportion::Interval;
use crate::store::label_file::BlindStatus;

/// How blind, in brackets.
pub(in crate::sighted) fn badge(blind: Option<BlindStatus>) -> String {
    format!("[{}]", blind.map_or("no labels", BlindStatus::word))
}

/// One side's rate; where the bootstrap is wider than Wilson's interval it is shown instead, and named.
pub(in crate::sighted) fn side_text(rates: &Rates, candidate: bool) -> String {
    let estimate = if candidate { rates.sides.b } else { rates.sides.a };
    let Some(rate) = estimate.rate() else { return estimate.text() };
    let shown = rates.side_headline(candidate).unwrap_or(rate.interval);
    if shown.width() <= rate.interval.width() {
        return estimate.text();
    }
    let wide = if matches!(estimate, Estimate::Wide(_)) { ", wide" } else { "" };
    format!(
        "{}/{} = {} ({:.1} to {} by clusters){wide}",
        rate.k,
        rate.n,
        crate::stats::estimate::percent(rate.k, rate.n),
        100.0 * shown.low,
        percent_of(shown.high),
    )
}

/// The paired table in words.
pub(in crate::sighted) fn table_text(rates: &Rates) -> String {
    let table = rates.table;
    format!(
        "both {}, reference only {}, candidate only {}, neither {}",
        table.both, table.only_first, table.only_second, table.neither
    )
}

/// Candidate − reference with its interval and p, as far as they may be given.
pub(in crate::sighted) fn difference_text(rates: &Rates) -> String {
    let (Some(difference), Some(interval)) = (rates.table.difference(), rates.headline()) else {
        return "too few images to compare".to_owned();
    };
    let p = rates.mcnemar.map_or_else(
        || format!("no test: {} changed", rates.table.discordant()),
        |p| match rates.holm {
            Some(holm) => format!("exact {}, Holm {}", p_text(p), p_text(holm)),
            None => format!("exact {}, exploratory", p_text(p)),
        },
    );
    format!(
        "candidate \u{2212} reference {} points ({} to {}); {p}",
        points(difference),
        points(interval.low),
        points(interval.high),
    )
}

/// What disputed and skipped pictures could change; `None` when there are none.
pub(in crate::sighted) fn bounds_text(rates: &Rates) -> Option<String> {
    let bounds = rates.bounds?;
    let n = bounds.unresolved;
    Some(format!(
        "{n} unresolved image{} could make the difference {} to {} points",
        if n == 1 { "" } else { "s" },
        points(bounds.difference.low),
        points(bounds.difference.high),
    ))
}

/// What could be seen with so many labels, and what more would take.
pub(in crate::sighted) fn reach_text(rates: &Rates) -> Option<String> {
    let reach = rates.reach.as_ref()?;
    let seen = reach.smallest_visible.map_or_else(
        || "no difference would show with so few images".to_owned(),
        |difference| {
            format!(
                "differences from about {} points would show",
                points(difference).replace('+', "")
            )
        },
    );
    let (share, more) = match reach.more_for_margin {
        Some((margin, more)) => (margin, Some(more)),
        None => *reach.more_for.iter().find(|(difference, _)| *difference > 0.04)?,
    };
    let kind = match rates.measure {
        super::presence::Measure::Recall => "images with litter",
        super::presence::Measure::FalsePositives => "clean images",
    };
    let share = points(share).replace('+', "");
    let share = share.strip_suffix(".0").unwrap_or(&share);
    Some(match more {
        Some(0) => format!("{seen}; enough for {share} points"),
        Some(more) => format!("{seen}; about {more} more {kind} for {share} points"),
        None => format!("{seen}; {share} points cannot be asked: more images than that differ"),
    })
}

fn heading(subset: &SubsetScore) -> String {
    let mut left = Vec::new();
    for (count, what) in [
        (subset.disputed, "disputed"),
        (subset.skipped, "skipped"),
        (subset.unlabelled, "unlabelled"),
        (subset.exposed_left_out, "labelled after exposure"),
        (subset.without_output, "without model output"),
    ] {
        if count > 0 {
            left.push(format!("{count} {what}"));
        }
    }
    let left =
        if left.is_empty() { String::new() } else { format!("; left out: {}", left.join(", ")) };
    format!(
        "{}{}: {} images ({} litter, {} clean){left}",
        escape(&subset.kind.name()),
        if subset.planned { "" } else { " (exploratory)" },
        subset.positives + subset.clean,
        subset.positives,
        subset.clean,
    )
}

/// The numbers of one subset, a line each.
pub(in crate::sighted) fn subset_lines(subset: &SubsetScore) -> Vec<String> {
    let mut out = String::new();
    subset_text(&mut out, subset);
    out.lines().skip(1).map(str::to_owned).collect()
}

/// Its categories, a line each; empty when there are none.
pub(in crate::sighted) fn category_lines(subset: &SubsetScore) -> Vec<String> {
    let mut out = String::new();
    categories_text(&mut out, subset);
    out.lines().skip(1).map(str::to_owned).collect()
}

impl Score {
    /// Plain text; `decided` as in [`Score::summary`].
    pub(in crate::sighted) fn to_text(&self, decided: &[String]) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "Score at operating point {}", float_text(self.operating_point));
        for (side, name, hash) in [
            ("reference", &self.names.a, &self.artifacts.a),
            ("candidate", &self.names.b, &self.artifacts.b),
        ] {
            let _ = writeln!(out, "{side} {} {}", escape(name), short(hash));
        }
        for subset in &self.subsets {
            subset_text(&mut out, subset);
        }
        if let Some(all) = self.all() {
            categories_text(&mut out, all);
            differing_text(&mut out, all);
        }
        if let Some(reason) = &self.no_categories {
            let _ = writeln!(out, "\n{reason}");
        }
        if !self.unjoined.is_empty() {
            let _ = writeln!(out, "\nnot joined ({})", self.unjoined.len());
            for it in &self.unjoined {
                let _ = writeln!(out, "  {} {}: {}", it.kind, escape(&it.name), escape(&it.reason));
            }
        }
        let _ = write!(out, "\n{}", summary_text(&self.summary(decided)));
        out
    }

    /// Markdown, for a pull request; `decided` as in [`Score::summary`].
    pub(in crate::sighted) fn to_markdown(&self, decided: &[String]) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "## Score at operating point {}\n", float_text(self.operating_point));
        let _ = writeln!(
            out,
            "Reference {} `{}`, candidate {} `{}`.\n",
            cell(&self.names.a),
            short(&self.artifacts.a),
            cell(&self.names.b),
            short(&self.artifacts.b)
        );
        let _ = writeln!(out, "| | |\n|---|---|");
        for (name, line) in self.summary(decided) {
            let _ = writeln!(out, "| {name} | {} |", cell(&line));
        }
        let _ = writeln!(
            out,
            "\n| subset | rate | reference | candidate | both / A only / B only / neither | B \u{2212} A | labels |"
        );
        let _ = writeln!(out, "|---|---|---|---|---|---|---|");
        for subset in &self.subsets {
            for rates in [&subset.recall, &subset.false_positives] {
                let table = rates.table;
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} / {} / {} / {} | {} | {} |",
                    cell(&subset.kind.name()),
                    rates.measure.name(),
                    side_text(rates, false),
                    side_text(rates, true),
                    table.both,
                    table.only_first,
                    table.only_second,
                    table.neither,
                    difference_text(rates).replace("candidate \u{2212} reference ", ""),
                    subset.blind.map_or("none", BlindStatus::word),
                );
            }
        }
        if let Some(all) = self.all() {
            markdown_details(&mut out, all);
        }
        if let Some(reason) = &self.no_categories {
            let _ = writeln!(out, "\n{}", cell(reason));
        }
        if !self.unjoined.is_empty() {
            let _ = writeln!(out, "\n| not joined | name | reason |\n|---|---|---|");
            for it in &self.unjoined {
                let _ =
                    writeln!(out, "| {} | {} | {} |", it.kind, cell(&it.name), cell(&it.reason));
            }
        }
        out
    }
}

fn markdown_details(out: &mut String, all: &SubsetScore) {
    if !all.categories.is_empty() {
        let _ = writeln!(
            out,
            "\n| category | reference | candidate | unsure | disputed | exact p |\n|---|---|---|---|---|---|"
        );
        for it in &all.categories {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                cell(&it.name),
                it.sides.a.text(),
                it.sides.b.text(),
                it.unsure,
                it.disputed,
                it.mcnemar.map_or_else(String::new, p_text),
            );
        }
        let _ = writeln!(out, "\nPresence of a category is not where it lies.");
    }
    if !all.differing.is_empty() {
        let _ = writeln!(
            out,
            "\n| image | label | only | best reference | best candidate |\n|---|---|---|---|---|"
        );
        for it in &all.differing {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {:.4} | {:.4} |",
                cell(&it.path),
                truth_word(it.truth),
                if it.gained { "candidate" } else { "reference" },
                it.best.a,
                it.best.b,
            );
        }
    }
}

fn subset_text(out: &mut String, subset: &SubsetScore) {
    let badge = badge(subset.blind);
    let _ = writeln!(out, "\n{}", heading(subset));
    if subset.positives + subset.clean + subset.disputed + subset.skipped == 0 {
        return;
    }
    let whole = subset.kind == SubsetKind::All;
    for rates in [&subset.recall, &subset.false_positives] {
        for (name, side, candidate) in
            [(rates.measure.name(), "reference", false), ("", "candidate", true)]
        {
            let _ = writeln!(out, "  {name:<20} {side}  {} {badge}", side_text(rates, candidate));
        }
        if rates.table.n() < 2 {
            continue;
        }
        let _ = writeln!(out, "  {:<20} {} {badge}", "", difference_text(rates));
        if whole {
            let more = [
                Some(table_text(rates)),
                bounds_text(rates),
                clusters_text(rates),
                reach_text(rates),
            ];
            for line in more.into_iter().flatten() {
                let _ = writeln!(out, "  {:<20} {line}", "");
            }
        }
    }
    if whole {
        precision_text(out, subset, &badge);
    }
}

fn clusters_text(rates: &Rates) -> Option<String> {
    let clustered = rates.clustered.as_ref()?;
    let worth = clustered
        .effective
        .a
        .map_or_else(String::new, |worth| format!(", worth about {worth:.0} independent images"));
    Some(format!("{} clusters{worth}; the wider of both intervals is shown", clustered.clusters))
}

fn precision_text(out: &mut String, subset: &SubsetScore, badge: &str) {
    let precision = &subset.precision;
    for (name, side, estimate) in
        [("precision", "reference", precision.sides.a), ("", "candidate", precision.sides.b)]
    {
        let _ = writeln!(out, "  {name:<20} {side}  {} {badge}", estimate.text());
    }
    let share = Estimate::of(subset.positives, subset.positives + subset.clean);
    let _ = writeln!(out, "  {:<20} prevalence {} {badge}", "", share.text());
    if let Some((at, sides)) = precision.rebased.iter().find(|(at, _)| *at < 0.1)
        && let (Some(a), Some(b)) = (sides.a, sides.b)
    {
        let _ = writeln!(
            out,
            "  {:<20} at a prevalence of {} about {} against {} {badge}",
            "",
            percent_of(*at),
            percent_of(a),
            percent_of(b)
        );
    }
}

fn categories_text(out: &mut String, all: &SubsetScore) {
    if all.categories.is_empty() {
        return;
    }
    let badge = badge(all.blind);
    let _ = writeln!(out, "\ncategories recovered, of images that surely hold one");
    for it in &all.categories {
        // However the open ones turn out, each side's share stays between these.
        let bounds = |side: fn(&Sides<Interval>) -> Interval| {
            it.bounds.as_ref().map_or_else(String::new, |bounds| {
                let Interval { low, high } = side(bounds);
                format!("; {:.1} to {} with them", 100.0 * low, percent_of(high))
            })
        };
        let open = match (it.unsure, it.disputed) {
            (0, 0) => [String::new(), String::new()],
            (unsure, disputed) => [
                format!("  ({unsure} unsure, {disputed} disputed{})", bounds(|it| it.a)),
                format!("  ({}", bounds(|it| it.b).trim_start_matches("; ")) + ")",
            ],
        };
        let p = it.mcnemar.map_or_else(String::new, |p| format!("  exact {}", p_text(p)));
        let (name, a, b) = (escape(&it.name), it.sides.a.text(), it.sides.b.text());
        let _ = writeln!(out, "  {name:<20} reference  {a} {badge}{}", open[0]);
        let _ = writeln!(out, "  {:<20} candidate  {b} {badge}{p}{}", "", open[1]);
    }
    let _ = writeln!(out, "  presence of a category is not where it lies");
}

fn differing_text(out: &mut String, all: &SubsetScore) {
    if all.differing.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nimages that differ");
    for it in &all.differing {
        let _ = writeln!(
            out,
            "  {}  {}  only the {}  {:.4} {:.4}",
            escape(&it.path),
            truth_word(it.truth),
            if it.gained { "candidate" } else { "reference" },
            it.best.a,
            it.best.b,
        );
    }
}

/// Text inside a Markdown table: inert, and without a bar that would end the cell.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in escape(text).chars() {
        match character {
            '|' | '<' | '>' | '`' | '*' | '_' | '[' | ']' => {
                out.push('\\');
                out.push(character);
            }
            plain => out.push(plain),
        }
    }
    out
}

fn short(hash: &str) -> String {
    escape(hash.get(..12).unwrap_or(hash)).into_owned()
}
