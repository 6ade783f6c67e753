//! The dossier as Markdown, for a pull request: the same words and numbers, no pictures.

use std::fmt::Write as _;

use super::dossier::{Dossier, Fact, Found};
use crate::domain::canonical::float_text;
use crate::domain::escape::escape;

/// The text.
pub(in crate::sighted) fn text(dossier: &Dossier) -> String {
    let mut out = format!("# {}\n\n", inert(&dossier.title));
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "Evidence of {}, at confidence threshold **{}**.\n\nReference: {}  \nCandidate: {}\n",
        inert(&dossier.generated_at),
        float_text(dossier.operating_point),
        inert(&dossier.artifacts.a.name),
        inert(&dossier.artifacts.b.name)
    );
    for warning in &dossier.warnings {
        let _ = writeln!(out, "> {}\n", inert(warning));
    }
    push_list(&mut out, "What this evidence says", &dossier.sentences);
    for block in &dossier.signoffs {
        let old = if block.standing { "" } else { " (superseded)" };
        let _ = writeln!(out, "## Decision: {}{old}\n", inert(&block.decision));
        push_fact_rows(&mut out, &block.facts);
        push_list(&mut out, "It licenses", &block.licenses);
        push_list(&mut out, "It does not license", &block.does_not_license);
    }
    push_thresholds(&mut out, dossier);
    push_rates(&mut out, dossier);
    push_pictures(&mut out, dossier);
    push_changes(&mut out, dossier);
    for (heading, facts) in [
        ("Labels", &dossier.coverage),
        ("Agreement between raters", &dossier.agreement),
        ("Circumstances", &dossier.circumstances),
        ("Release record", &dossier.record),
        ("Left out", &dossier.left_out),
        ("Made from", &dossier.evidence),
    ] {
        if !facts.is_empty() {
            let _ = writeln!(out, "## {heading}\n");
            push_fact_rows(&mut out, facts);
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A text with nothing that Markdown, or the HTML inside it, would act on.
fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in escape(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention, an issue number or a bare address would become a link.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(character);
            }
            plain => out.push(plain),
        }
    }
    out.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

fn push_list(out: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{heading}**\n");
    for item in items {
        let _ = writeln!(out, "- {}", inert(item));
    }
    out.push('\n');
}

fn push_table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}

fn push_fact_rows(out: &mut String, facts: &[Fact]) {
    let rows: Vec<Vec<String>> =
        facts.iter().map(|fact| vec![inert(&fact.name), inert(&fact.value)]).collect();
    push_table(out, &["", ""], &rows);
}

fn push_thresholds(out: &mut String, dossier: &Dossier) {
    if dossier.thresholds.is_empty() {
        return;
    }
    out.push_str("## Decisions by threshold\n\n");
    let rows: Vec<Vec<String>> = dossier
        .thresholds
        .iter()
        .map(|row| {
            let bold = |text: String| if row.in_force { format!("**{text}**") } else { text };
            let sets = |value: Option<u64>| {
                value.map_or_else(|| "–".to_owned(), |value| value.to_string())
            };
            vec![
                bold(float_text(row.threshold)),
                row.detections.a.to_string(),
                row.detections.b.to_string(),
                (row.flips.a + row.flips.b).to_string(),
                sets(row.sets.map(|sets| sets.real_flips)),
                row.class_flips.to_string(),
                sets(row.sets.map(|sets| sets.images_changed)),
                sets(row.sets.map(|sets| sets.images_presence_changed)),
            ]
        })
        .collect();
    let head = [
        "Threshold",
        "Detections, reference",
        "candidate",
        "Slot flips",
        "Real flips",
        "Class flips",
        "Images changed",
        "Presence changed",
    ];
    push_table(out, &head, &rows);
    out.push_str("Decisions changed; whether they got worse is a question for labels.\n\n");
}

fn push_rates(out: &mut String, dossier: &Dossier) {
    if !dossier.rates.is_empty() {
        let _ = writeln!(out, "## Rates at {}\n", float_text(dossier.operating_point));
        let rows: Vec<Vec<String>> = dossier
            .rates
            .iter()
            .map(|row| {
                vec![
                    inert(&row.subset),
                    inert(&row.measure),
                    inert(&row.sides[0]),
                    inert(&row.sides[1]),
                    format!("{} / {}", row.discordant[0], row.discordant[1]),
                    inert(&row.difference),
                    inert(&row.test),
                    inert(&row.blind),
                ]
            })
            .collect();
        let head = [
            "Images",
            "Rate",
            "Reference",
            "Candidate",
            "Only reference / only candidate",
            "Candidate − reference",
            "Exact test",
            "Labels",
        ];
        push_table(out, &head, &rows);
    }
    if !dossier.categories.is_empty() {
        out.push_str("## Categories\n\n");
        let rows: Vec<Vec<String>> = dossier
            .categories
            .iter()
            .map(|row| {
                vec![
                    inert(&row.name),
                    inert(&row.sides[0]),
                    inert(&row.sides[1]),
                    row.unsure.to_string(),
                    inert(&row.blind),
                ]
            })
            .collect();
        push_table(out, &["Category", "Reference", "Candidate", "Unsure", "Labels"], &rows);
    }
}

fn push_pictures(out: &mut String, dossier: &Dossier) {
    if dossier.differing.is_empty() {
        return;
    }
    out.push_str("## Pictures in which only one artifact finds something\n\n");
    let rows: Vec<Vec<String>> = dossier
        .differing
        .iter()
        .map(|row| {
            vec![
                inert(&row.path),
                inert(&row.truth),
                inert(&row.found_by),
                inert(&row.best[0]),
                inert(&row.best[1]),
            ]
        })
        .collect();
    let head = ["Picture", "People say", "Found by", "Best, reference", "candidate"];
    push_table(out, &head, &rows);
}

fn push_changes(out: &mut String, dossier: &Dossier) {
    if dossier.changes.is_empty() {
        return;
    }
    out.push_str("## What changed\n\n");
    let side = |found: &Option<Found>| {
        found.as_ref().map_or_else(
            || "–".to_owned(),
            |found| format!("{} {:.3}", inert(&found.class), found.confidence),
        )
    };
    let rows: Vec<Vec<String>> = dossier
        .changes
        .iter()
        .map(|change| {
            vec![
                inert(&change.path),
                inert(&change.kind),
                side(&change.sides.a),
                side(&change.sides.b),
                inert(&change.verdicts.join("; ")),
            ]
        })
        .collect();
    push_table(out, &["Picture", "Kind", "Reference", "Candidate", "Verdict"], &rows);
    if dossier.changes_left_out > 0 {
        let _ = writeln!(out, "{} more are not shown here.\n", dossier.changes_left_out);
    }
}
