//! Whether a report holds together: every sum that can be taken again is, and must come out equal.
//!
//! Of a peer's report that is what its totals allow. Ours lists every detection, so all of its decisions
//! are made again from them.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::layout::*;
use crate::domain::canonical::float_text;
use crate::domain::digest::ContentHash;
use crate::sighted::decision::foreign_report::ForeignReport;
use crate::sighted::decision::slot_match::{SAME_OBJECT_IOU, match_sets};
use crate::sighted::decision::sweep::{Sweep, detection_floor, thresholds};

/// Where a report contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: expected {expected}, found {found}")]
pub(in crate::sighted) struct CheckError {
    /// Path of the field.
    pub at: String,
    /// What the rest of the report says.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

fn equal<T: PartialEq + Display>(
    at: impl FnOnce() -> String,
    expected: T,
    found: T,
) -> Result<(), CheckError> {
    if expected == found {
        Ok(())
    } else {
        Err(CheckError { at: at(), expected: expected.to_string(), found: found.to_string() })
    }
}

fn require(
    holds: bool,
    at: impl FnOnce() -> String,
    expected: &str,
    found: impl Display,
) -> Result<(), CheckError> {
    if holds {
        Ok(())
    } else {
        Err(CheckError { at: at(), expected: expected.to_owned(), found: found.to_string() })
    }
}

fn hex(at: impl FnOnce() -> String, text: &str) -> Result<(), CheckError> {
    let shown = format!("{:?}", text.chars().take(80).collect::<String>());
    require(text.parse::<ContentHash>().is_ok(), at, "64 lower-case hex digits", shown)
}

/// Checks a report of schema 2.
///
/// # Errors
/// The first contradiction.
pub(in crate::sighted) fn check(report: &ParityReport) -> Result<(), CheckError> {
    equal(|| "schemaVersion".to_owned(), 2, report.schema_version)?;
    for (side, artifact) in [("a", &report.artifacts.a), ("b", &report.artifacts.b)] {
        hex(|| format!("artifacts.{side}.sha256"), &artifact.sha256)?;
    }
    hex(|| "fixtures.manifestSha256".to_owned(), &report.fixtures.manifest_sha256)?;
    let part = report.flipside.as_ref().is_some_and(|ours| ours.shard.of > 1);
    let empty = report.fixtures.count == 0;
    require(part || !empty, || "fixtures.count".to_owned(), "at least one", 0)?;
    require(
        empty || !report.raw_outputs.is_empty(),
        || "rawOutputs".to_owned(),
        "at least one output",
        "none",
    )?;
    report.raw_outputs.iter().enumerate().try_for_each(check_output)?;
    let recommended = report.decode.conf_threshold_recommended;
    let rows = &report.decode.by_threshold;
    let chosen: Vec<f64> =
        rows.iter().filter(|row| row.is_recommended).map(|row| row.threshold).collect();
    require(
        chosen == [recommended],
        || "decode.byThreshold".to_owned(),
        "the recommended threshold once, so marked",
        format!("{chosen:?}"),
    )?;
    check_rows("decode.byThreshold", rows, &report.per_image, report.fixtures.count)?;
    match &report.flipside {
        Some(ours) => check_extension(report, ours),
        None => Ok(()),
    }
}

/// Checks a report of an engine.
///
/// # Errors
/// The first contradiction.
pub(in crate::sighted) fn check_foreign(report: &ForeignReport) -> Result<(), CheckError> {
    for (side, artifact) in [("a", &report.artifacts.a), ("b", &report.artifacts.b)] {
        hex(|| format!("artifacts.{side}.sha256"), &artifact.sha256)?;
    }
    require(report.fixtures.count > 0, || "fixtures.count".to_owned(), "at least one", 0)?;
    let outputs = report.raw_outputs.len();
    require(outputs > 0, || "rawOutputs".to_owned(), "at least one output", "none")?;
    report.raw_outputs.iter().enumerate().try_for_each(check_output)?;
    let rows = report.threshold_rows();
    check_rows("decode.thresholds", &rows, &report.per_image, report.fixtures.count)
}

fn check_output((index, output): (usize, &OutputDelta)) -> Result<(), CheckError> {
    let at = |field: &str| format!("rawOutputs[{index}].{field}");
    let split =
        output.rel_elements_compared.saturating_add(output.rel_elements_skipped_below_floor);
    equal(
        || at("relElementsCompared + relElementsSkippedBelowFloor"),
        output.elements_compared,
        split,
    )?;
    for (row, exceedance) in output.exceedance.iter().enumerate() {
        let rules = [
            ("absOnly", exceedance.abs_only),
            ("relOnly", exceedance.rel_only),
            ("combinedIsclose", exceedance.combined_isclose),
            ("and", exceedance.and),
            ("or", exceedance.or),
        ];
        for (rule, share) in rules {
            let at = |part: &str| at(&format!("exceedance[{row}].{rule}.{part}"));
            let all = output.elements_compared;
            require(share.count <= all, || at("count"), &format!("at most {all}"), share.count)?;
            let fraction = if all == 0 { 0.0 } else { share.count as f64 / all as f64 };
            equal(|| at("fraction"), fraction, share.fraction)?;
        }
        equal(
            || at(&format!("exceedance[{row}].and + or")),
            exceedance.abs_only.count.saturating_add(exceedance.rel_only.count),
            exceedance.and.count.saturating_add(exceedance.or.count),
        )?;
    }
    Ok(())
}

/// Slot totals against each other and against the images.
fn check_rows(
    path: &str,
    rows: &[ThresholdRow],
    per_image: &[PerImage],
    count: u64,
) -> Result<(), CheckError> {
    equal(|| "fixtures.count".to_owned(), per_image.len() as u64, count)?;
    require(!rows.is_empty(), || path.to_owned(), "at least one threshold", "none")?;
    let ascending = rows.windows(2).all(|pair| pair[0].threshold < pair[1].threshold);
    require(ascending, || path.to_owned(), "ascending thresholds", "another order")?;
    for (index, row) in rows.iter().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        let sum = row.flips_a_only.saturating_add(row.flips_b_only);
        equal(|| at("thresholdFlips"), sum, row.threshold_flips)?;
        let both = row.detections_a.checked_sub(row.flips_a_only);
        let both =
            both.filter(|both| row.detections_b.checked_sub(row.flips_b_only) == Some(*both));
        let Some(both) = both else {
            return Err(CheckError {
                at: at("detectionsA - flipsAOnly"),
                expected: format!(
                    "detectionsB - flipsBOnly = {} - {}",
                    row.detections_b, row.flips_b_only
                ),
                found: format!("{} - {}", row.detections_a, row.flips_a_only),
            });
        };
        require(
            row.class_argmax_flips <= both,
            || at("classArgmaxFlips"),
            &format!("at most {both} that survive on both sides"),
            row.class_argmax_flips,
        )?;
        let key = float_text(row.threshold);
        let (mut flips, mut images) = (0_u64, 0);
        for (image, entry) in per_image.iter().enumerate() {
            let Some(count) = entry.flips.get(&key) else {
                return Err(CheckError {
                    at: format!("perImage[{image}].flips"),
                    expected: format!("a count at {key:?}"),
                    found: "none".to_owned(),
                });
            };
            flips = flips.saturating_add(*count);
            images += u64::from(*count > 0);
        }
        equal(|| at("thresholdFlips"), flips, row.threshold_flips)?;
        equal(|| at("imagesWithAnyFlip"), images, row.images_with_any_flip)?;
    }
    Ok(())
}

fn check_extension(report: &ParityReport, ours: &Extension) -> Result<(), CheckError> {
    let at = |field: &str| format!("flipside.{field}");
    equal(|| at("schema"), 1, ours.schema)?;
    let ShardEntry { index, of } = ours.shard;
    let shard = index >= 1 && index <= of;
    require(shard, || at("shard"), "a part of a whole", format!("{index} of {of}"))?;
    let state = if ours.merge_state.is_some() { "one" } else { "none" };
    require(
        (of > 1) == ours.merge_state.is_some(),
        || at("mergeState"),
        "one in a shard's report only",
        state,
    )?;
    hex(|| at("recipe.sha256"), &ours.recipe.sha256)?;
    equal(|| at("classes"), report.decode.class_count, ours.classes.len() as u64)?;
    let recommended = report.decode.conf_threshold_recommended;
    equal(|| at("detectionFloor"), detection_floor(recommended), ours.detection_floor)?;
    equal(|| at("setMatching.iou"), SAME_OBJECT_IOU, ours.set_matching.iou)?;
    let swept: Vec<f64> = report.decode.by_threshold.iter().map(|row| row.threshold).collect();
    let expected = thresholds(recommended);
    require(
        swept == expected,
        || "decode.byThreshold".to_owned(),
        &format!("thresholds {expected:?}"),
        format!("{swept:?}"),
    )?;
    for name in ours.non_finite.keys() {
        let known = report.raw_outputs.iter().any(|output| output.name == *name);
        require(known, || at("nonFinite"), "names of outputs", format!("{name:?}"))?;
    }
    let mut before = None;
    for (index, row) in ours.fixtures.iter().enumerate() {
        check_fixture(report, ours, index, row)?;
        let in_order = before < Some(row.position) && row.position < ours.manifest_count;
        let at = || format!("flipside.fixtures[{index}].position");
        require(in_order, at, "ascending positions of the manifest", row.position)?;
        before = Some(row.position);
    }
    decide_again(report, ours)
}

fn check_fixture(
    report: &ParityReport,
    ours: &Extension,
    index: usize,
    row: &FixtureRow,
) -> Result<(), CheckError> {
    let at = |field: &str| format!("flipside.fixtures[{index}].{field}");
    let found = match (row.status, &row.found, &row.tensor_sha256, &row.reason) {
        (FixtureStatus::Ok, Some(found), Some(tensor), None) => {
            hex(|| at("sha256"), &row.sha256)?;
            hex(|| at("tensorSha256"), tensor)?;
            found
        }
        (FixtureStatus::LeftOut, None, None, Some(_)) if row.sha256.is_empty() => return Ok(()),
        (FixtureStatus::LeftOut, None, None, Some(_)) => return hex(|| at("sha256"), &row.sha256),
        _ => {
            return Err(CheckError {
                at: at("status"),
                expected: "ok with tensor and detections, or left-out with a reason".to_owned(),
                found: "something of both".to_owned(),
            });
        }
    };
    for (side, found) in [("a", &found.a), ("b", &found.b)] {
        let at = |field: &str| at(&format!("found.{side}.{field}"));
        let best = found.best.unwrap_or(f64::NEG_INFINITY);
        let mut before = None;
        for detection in &found.detections {
            let DetectionRow { slot, class_index, confidence, corners } = detection;
            let fits = before < Some(*slot)
                && u64::from(*slot) < report.decode.queries_per_image
                && u64::from(*class_index) < report.decode.class_count
                && *confidence >= ours.detection_floor
                && *confidence <= best.min(1.0)
                && corners.iter().all(|corner| (0.0..=1.0).contains(corner));
            let shown = format!("slot {slot}, class {class_index}, confidence {confidence}");
            require(fits, || at("detections"), "detections in slot order and in range", shown)?;
            before = Some(*slot);
        }
    }
    Ok(())
}

/// Makes every decision again from the listed detections.
fn decide_again(report: &ParityReport, ours: &Extension) -> Result<(), CheckError> {
    let recommended = report.decode.conf_threshold_recommended;
    let mut sweep = Sweep::new(recommended);
    let mut images = report.per_image.iter().enumerate();
    let mut items = ours.items.iter().enumerate();
    for row in &ours.fixtures {
        let Some(found) = &row.found else { continue };
        let flips = sweep.add(found);
        let Some((index, image)) = images.next() else {
            return require(
                false,
                || "perImage".to_owned(),
                "an entry for each compared fixture",
                "fewer",
            );
        };
        let at = |field: &str| format!("perImage[{index}].{field}");
        require(
            image.image == row.path,
            || at("image"),
            &format!("{:?}", row.path),
            format!("{:?}", image.image),
        )?;
        require(image.flips == flips, || at("flips"), &shown(&flips), shown(&image.flips))?;
        let matched = match_sets(&found.a.detections, &found.b.detections, recommended);
        for expected in matched.items(&row.sha256) {
            let listed = items.next();
            let same = listed.is_some_and(|(_, item)| same_decision(item, &expected));
            let found = listed.map_or("nothing".to_owned(), |(index, item)| {
                format!("item {index}: {:?} in slot {}", item.kind, item.slot)
            });
            let expected = format!(
                "{:?} in slot {} of {}, as its detections say",
                expected.kind, expected.slot, expected.fixture
            );
            require(same, || "flipside.items".to_owned(), &expected, found)?;
        }
    }
    let surplus = items.count();
    let at = || "flipside.items".to_owned();
    require(surplus == 0, at, "the changes of its detections", format!("{surplus} more"))?;
    let surplus = images.count();
    let at = || "perImage".to_owned();
    require(surplus == 0, at, "an entry for each compared fixture", format!("{surplus} more"))?;
    rows_equal("decode.byThreshold", &sweep.threshold_rows(), &report.decode.by_threshold)?;
    rows_equal(
        "flipside.setMatching.byThreshold",
        &sweep.set_rows(),
        &ours.set_matching.by_threshold,
    )
}

fn same_decision(one: &Item, two: &Item) -> bool {
    (&one.fixture, one.slot, one.kind, one.a, one.b)
        == (&two.fixture, two.slot, two.kind, two.a, two.b)
}

fn shown(flips: &BTreeMap<String, u64>) -> String {
    flips.iter().map(|(key, count)| format!("{key}: {count}")).collect::<Vec<_>>().join(", ")
}

fn rows_equal<T: PartialEq + serde::Serialize>(
    path: &str,
    expected: &[T],
    found: &[T],
) -> Result<(), CheckError> {
    equal(|| path.to_owned(), expected.len(), found.len())?;
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        if expected == found {
            continue;
        }
        // Name the one field that differs.
        let fields = |row: &T| serde_json::to_value(row).unwrap_or_default();
        let (expected, found) = (fields(expected), fields(found));
        let keys = expected.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        for key in keys.unwrap_or_default() {
            equal(|| format!("{path}[{index}].{key}"), &expected[&key], &found[&key])?;
        }
        let at = || format!("{path}[{index}]");
        return require(false, at, "the row its detections give", "another");
    }
    Ok(())
}
