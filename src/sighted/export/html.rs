//! The dossier as one HTML file: no script, no request, every text escaped.
//!
//! A content policy in the page forbids everything that is not in it, so even a text that slipped through
//! unescaped could load and run nothing.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::dossier::{Change, Dossier, Fact, Found, Pair, SignOffBlock, ThresholdLine};
use super::style::SHEET;
use super::svg;
use crate::domain::canonical::float_text;
use crate::domain::digest::sha256;
use crate::domain::escape::escape_html;

/// The page.
pub(in crate::sighted) fn page(dossier: &Dossier) -> String {
    let title = escape_html(&dossier.title);
    let style = STANDARD.encode(sha256(SHEET.as_bytes()));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{SHEET}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    push_head(&mut out, dossier);
    for signoff in &dossier.signoffs {
        push_signoff(&mut out, signoff);
    }
    push_thresholds(&mut out, dossier);
    push_curves(&mut out, dossier);
    push_rates(&mut out, dossier);
    push_categories(&mut out, dossier);
    push_differing(&mut out, dossier);
    push_changes(&mut out, dossier);
    push_facts(&mut out, "Labels", &dossier.coverage);
    push_facts(&mut out, "Agreement between raters", &dossier.agreement);
    push_outputs(&mut out, dossier);
    push_facts(&mut out, "Circumstances", &dossier.circumstances);
    push_facts(&mut out, "Release record", &dossier.record);
    push_facts(&mut out, "Left out", &dossier.left_out);
    push_facts(&mut out, "Made from", &dossier.evidence);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn push_head(out: &mut String, dossier: &Dossier) {
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "<p class=\"dim\">Evidence of {}, at confidence threshold <strong>{}</strong>.</p>",
        escape_html(&dossier.generated_at),
        float_text(dossier.operating_point)
    );
    let _ = writeln!(
        out,
        "<p><span class=\"key\"></span>reference: {}<br><span class=\"key b\"></span>candidate: {}</p>",
        escape_html(&dossier.artifacts.a.name),
        escape_html(&dossier.artifacts.b.name)
    );
    for warning in &dossier.warnings {
        let _ = writeln!(out, "<p class=\"warn\">{}</p>", escape_html(warning));
    }
    if !dossier.sentences.is_empty() {
        out.push_str("<h2>What this evidence says</h2>\n");
        push_list(out, "say", &dossier.sentences);
    }
}

fn push_list(out: &mut String, class: &str, items: &[String]) {
    let _ = write!(out, "<ul class=\"{class}\">");
    for item in items {
        let _ = write!(out, "<li>{}</li>", escape_html(item));
    }
    out.push_str("</ul>\n");
}

fn push_signoff(out: &mut String, block: &SignOffBlock) {
    let (class, word) = if block.standing { ("", "") } else { (" old", " (superseded)") };
    let _ = write!(
        out,
        "<section class=\"decision{class}\"><p>Decision: <strong>{}</strong>{word}</p>",
        escape_html(&block.decision)
    );
    push_list_of_facts(out, &block.facts);
    if !block.licenses.is_empty() {
        out.push_str("<h3>It licenses</h3>");
        push_list(out, "", &block.licenses);
    }
    out.push_str("<h3>It does not license</h3>");
    push_list(out, "", &block.does_not_license);
    out.push_str("</section>\n");
}

fn push_list_of_facts(out: &mut String, facts: &[Fact]) {
    out.push_str("<dl>");
    for fact in facts {
        let class = if is_hash(&fact.value) { " class=\"hash\"" } else { "" };
        let _ = write!(
            out,
            "<dt>{}</dt><dd{class}>{}</dd>",
            escape_html(&fact.name),
            escape_html(&fact.value)
        );
    }
    out.push_str("</dl>\n");
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn push_facts(out: &mut String, heading: &str, facts: &[Fact]) {
    if !facts.is_empty() {
        let _ = writeln!(out, "<h2>{heading}</h2>");
        push_list_of_facts(out, facts);
    }
}

/// A table: head, then rows of cells that are HTML already, each row with a class. On a narrow screen each
/// row is a card, and each cell says its own column.
fn push_table(out: &mut String, head: &[(&str, &str)], rows: &[(&str, Vec<(&str, String)>)]) {
    out.push_str("<div class=\"wide\"><table><thead><tr>");
    for (class, text) in head {
        let _ = write!(out, "<th class=\"{class}\" scope=\"col\">{text}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (class, cells) in rows {
        let _ = write!(out, "<tr class=\"{class}\">");
        for ((class, text), (_, column)) in cells.iter().zip(head) {
            let _ = write!(out, "<td class=\"{class}\" data-column=\"{column}\">{text}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
}

fn number(value: u64) -> (&'static str, String) {
    ("", value.to_string())
}

fn push_thresholds(out: &mut String, dossier: &Dossier) {
    if dossier.thresholds.is_empty() {
        return;
    }
    out.push_str("<h2>Decisions by threshold</h2>\n");
    let bars: Vec<(f64, u64, Option<u64>)> = dossier
        .thresholds
        .iter()
        .map(|row| (row.threshold, row.flips.a + row.flips.b, row.sets.map(|sets| sets.real_flips)))
        .collect();
    out.push_str(&svg::bars(&bars));
    out.push_str(
        "<p class=\"dim\">Grey: threshold flips by query slot. Blue: real flips, which no detection \
         that moved to another slot explains. Decisions changed; whether they got worse is a question \
         for labels.</p>\n",
    );
    let sets = dossier.thresholds.iter().any(|row| row.sets.is_some());
    let mut head =
        vec![("", "Threshold"), ("", "Detections, reference"), ("", "Detections, candidate")];
    if sets {
        head.extend([
            ("", "Real flips"),
            ("", "Relabelled"),
            ("", "Images changed"),
            ("", "Presence changed"),
            ("", "Moved slot"),
        ]);
    }
    head.extend([
        ("", "Slot flips (reference + candidate only)"),
        ("", "Class flips by slot"),
        ("", "Images with a slot flip"),
    ]);
    let rows: Vec<_> = dossier
        .thresholds
        .iter()
        .map(|row| (if row.in_force { "now" } else { "" }, threshold_cells(row, sets)))
        .collect();
    push_table(out, &head, &rows);
}

fn threshold_cells(row: &ThresholdLine, sets: bool) -> Vec<(&'static str, String)> {
    let mut cells =
        vec![("", float_text(row.threshold)), number(row.detections.a), number(row.detections.b)];
    if sets {
        match row.sets {
            Some(sets) => cells.extend([
                number(sets.real_flips),
                number(sets.relabelled),
                number(sets.images_changed),
                number(sets.images_presence_changed),
                number(sets.moved),
            ]),
            None => cells.extend((0..5).map(|_| ("", "–".to_owned()))),
        }
    }
    let Pair { a, b } = row.flips;
    cells.extend([
        ("", format!("{} ({a} + {b})", a + b)),
        number(row.class_flips),
        number(row.images_with_flip),
    ]);
    cells
}

fn push_curves(out: &mut String, dossier: &Dossier) {
    if dossier.curves.is_empty() {
        return;
    }
    out.push_str("<h2>Rates against the threshold</h2>\n<div class=\"pair\">");
    for curve in &dossier.curves {
        let _ = write!(
            out,
            "<section><h3>{} <span class=\"dim\">({} images)</span></h3>{}</section>",
            escape_html(&curve.name),
            curve.n,
            svg::curve(curve, dossier.operating_point)
        );
    }
    out.push_str(
        "</div>\n<p class=\"dim\">Solid: reference. Dashed: candidate. Bands hold at every threshold at once (95 %). \
         Dotted line: the operating point. Two overlapping bands say nothing about the difference; the \
         paired table does.</p>\n",
    );
}

fn push_rates(out: &mut String, dossier: &Dossier) {
    if dossier.rates.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>Rates at {}</h2>", float_text(dossier.operating_point));
    let head = [
        ("t", "Images"),
        ("t", "Rate"),
        ("", "Reference"),
        ("", "Candidate"),
        ("", "Only reference"),
        ("", "Only candidate"),
        ("t", "Candidate − reference"),
        ("t", "Exact test"),
        ("t", "Labels"),
    ];
    let rows: Vec<_> = dossier
        .rates
        .iter()
        .map(|row| {
            let text = |text: &str| escape_html(text);
            let cells = vec![
                ("t w", text(&row.subset)),
                ("t", text(&row.measure)),
                ("w", text(&row.sides[0])),
                ("w", text(&row.sides[1])),
                number(row.discordant[0]),
                number(row.discordant[1]),
                ("t w", text(&row.difference)),
                ("t", text(&row.test)),
                ("t", text(&row.blind)),
            ];
            ("", cells)
        })
        .collect();
    push_table(out, &head, &rows);
}

fn push_categories(out: &mut String, dossier: &Dossier) {
    if dossier.categories.is_empty() {
        return;
    }
    out.push_str("<h2>Categories</h2>\n");
    let head =
        [("t", "Category"), ("", "Reference"), ("", "Candidate"), ("", "Unsure"), ("t", "Labels")];
    let rows: Vec<_> = dossier
        .categories
        .iter()
        .map(|row| {
            let cells = vec![
                ("t", escape_html(&row.name)),
                ("", escape_html(&row.sides[0])),
                ("", escape_html(&row.sides[1])),
                number(row.unsure),
                ("t", escape_html(&row.blind)),
            ];
            ("", cells)
        })
        .collect();
    push_table(out, &head, &rows);
    out.push_str("<p class=\"dim\">Presence of a category in a picture, not where it lies.</p>\n");
}

fn push_differing(out: &mut String, dossier: &Dossier) {
    if dossier.differing.is_empty() {
        return;
    }
    out.push_str("<h2>Pictures in which only one artifact finds something</h2>\n");
    let head = [
        ("t", "Picture"),
        ("t", "People say"),
        ("t", "Found by"),
        ("", "Best confidence, reference"),
        ("", "Best confidence, candidate"),
    ];
    let rows: Vec<_> = dossier
        .differing
        .iter()
        .map(|row| {
            let cells = vec![
                ("t", escape_html(&row.path)),
                ("t", escape_html(&row.truth)),
                ("t", escape_html(&row.found_by)),
                ("", escape_html(&row.best[0])),
                ("", escape_html(&row.best[1])),
            ];
            ("", cells)
        })
        .collect();
    push_table(out, &head, &rows);
}

fn push_changes(out: &mut String, dossier: &Dossier) {
    if dossier.changes.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h2>What changed, one by one ({})</h2>",
        dossier.changes.len() + dossier.changes_left_out
    );
    out.push_str("<div class=\"cards\">\n");
    for change in &dossier.changes {
        push_change(out, change);
    }
    out.push_str("</div>\n");
    if dossier.changes_left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"warn\">{} more are not shown here; the report lists them all.</p>",
            dossier.changes_left_out
        );
    }
}

fn push_change(out: &mut String, change: &Change) {
    out.push_str("<section class=\"card\">");
    match &change.crop {
        Some(crop) => out.push_str(&svg::crop(crop, &in_words(change))),
        None => {
            let _ = write!(out, "<div class=\"none\">{}</div>", escape_html(&change.no_crop));
        }
    }
    let _ = write!(out, "<h3>{}</h3>", escape_html(&change.kind));
    let sides = Pair { a: "reference", b: "candidate" };
    push_side(out, sides.a, change.sides.a.as_ref(), change.elsewhere.a.as_ref());
    push_side(out, sides.b, change.sides.b.as_ref(), change.elsewhere.b.as_ref());
    for verdict in &change.verdicts {
        let _ = write!(out, "<p><strong>{}</strong></p>", escape_html(verdict));
    }
    let _ = writeln!(
        out,
        "<p class=\"dim\">{} · <span class=\"hash\">{}</span></p></section>",
        escape_html(&change.path),
        escape_html(change.fixture.get(..12).unwrap_or(&change.fixture))
    );
}

fn push_side(out: &mut String, side: &str, found: Option<&Found>, elsewhere: Option<&Found>) {
    let key = if side == "candidate" { " b" } else { "" };
    let _ = write!(out, "<p><span class=\"key{key}\"></span>{}</p>", side_words(found, elsewhere));
}

fn side_words(found: Option<&Found>, elsewhere: Option<&Found>) -> String {
    let words = |found: &Found| {
        format!("{} {:.3}, slot {}", escape_html(&found.class), found.confidence, found.slot)
    };
    match (found, elsewhere) {
        (Some(found), _) => words(found),
        (None, Some(low)) => format!("nothing; at most {}", words(low)),
        (None, None) => "nothing like it".to_owned(),
    }
}

/// What a crop shows, for who cannot see it. Raw; escaped where it is used.
fn in_words(change: &Change) -> String {
    let side = |found: &Option<Found>| {
        found.as_ref().map_or_else(
            || "nothing".to_owned(),
            |found| format!("{} at {:.3}", found.class, found.confidence),
        )
    };
    format!(
        "{}: reference {}, candidate {}",
        change.kind,
        side(&change.sides.a),
        side(&change.sides.b)
    )
}

fn push_outputs(out: &mut String, dossier: &Dossier) {
    if dossier.outputs.is_empty() {
        return;
    }
    out.push_str("<h2>How far the outputs moved</h2>\n");
    let head = [
        ("t", "Output"),
        ("", "Values"),
        ("", "Largest difference"),
        ("", "Mean"),
        ("", "99th percentile"),
        ("", "Not finite, reference"),
        ("", "Not finite, candidate"),
    ];
    let rows: Vec<_> = dossier
        .outputs
        .iter()
        .map(|row| {
            let short = |value: f64| format!("{value:.3e}");
            let cells = vec![
                ("t", escape_html(&row.name)),
                number(row.elements),
                ("", short(row.max)),
                ("", short(row.mean)),
                ("", short(row.p99)),
                number(row.non_finite.a),
                number(row.non_finite.b),
            ];
            ("", cells)
        })
        .collect();
    push_table(out, &head, &rows);
}
