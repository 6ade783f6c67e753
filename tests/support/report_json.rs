//! Parity reports of changes that a test lists itself, as the JSON that lies on disk. Their numbers need not
//! hold together; where they must, see `sound_report`.

use serde_json::{Value, json};

#[path = "report_frame.rs"]
mod report_frame;

/// One detection: slot, class, confidence, corners.
pub(crate) type Detection = (u32, u32, f64, [f64; 4]);

/// One fixture of a report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fixture {
    /// As the manifest writes it.
    pub path: String,
    /// Hex digits of the file's hash.
    pub sha256: String,
    /// What the reference found.
    pub a: Vec<Detection>,
    /// What the candidate found.
    pub b: Vec<Detection>,
    /// Kind, index into `a`, index into `b`.
    pub items: Vec<(&'static str, Option<usize>, Option<usize>)>,
}

fn row((slot, class, confidence, corners): &Detection) -> Value {
    json!({"slot": slot, "class": class, "confidence": confidence, "box": corners})
}

fn is_at(threshold: f64) -> impl Fn(&&Detection) -> bool {
    move |detection| detection.2 >= threshold
}

/// A report at threshold 0.4 over `fixtures`.
pub(crate) fn report(fixtures: &[Fixture], classes: &[&str]) -> Value {
    let threshold = 0.4;
    let total = |side: fn(&Fixture) -> &Vec<Detection>| -> usize {
        fixtures.iter().map(|fixture| side(fixture).iter().filter(is_at(threshold)).count()).sum()
    };
    let kinds = |kind: &str| -> usize {
        fixtures.iter().flat_map(|fixture| &fixture.items).filter(|item| item.0 == kind).count()
    };
    let items: Vec<Value> = fixtures
        .iter()
        .flat_map(|fixture| {
            fixture.items.iter().map(|(kind, a, b)| {
                let a = a.map(|index| &fixture.a[index]);
                let b = b.map(|index| &fixture.b[index]);
                let slot = a.or(b).map_or(0, |detection| detection.0);
                json!({
                    "fixture": fixture.sha256, "slot": slot, "kind": kind,
                    "a": a.map(row), "b": b.map(row),
                })
            })
        })
        .collect();
    let rows: Vec<Value> = fixtures
        .iter()
        .enumerate()
        .map(|(position, fixture)| {
            let side = |detections: &[Detection]| {
                let best = detections.iter().map(|detection| detection.2).fold(0.1, f64::max);
                let detections: Vec<Value> = detections.iter().map(row).collect();
                json!({"best": best, "detections": detections})
            };
            json!({
                "position": position, "path": fixture.path, "sha256": fixture.sha256,
                "tensorSha256": "0".repeat(64), "status": "ok", "reason": null,
                "found": {"a": side(&fixture.a), "b": side(&fixture.b)},
            })
        })
        .collect();
    let vanished = kinds("vanished") + kinds("replaced");
    let appeared = kinds("appeared") + kinds("replaced");
    let changed = fixtures
        .iter()
        .filter(|fixture| fixture.items.iter().any(|item| item.0 != "moved-slot"))
        .count();
    let slots = json!({
        "threshold": threshold, "isRecommended": true,
        "detectionsA": total(|fixture| &fixture.a), "detectionsB": total(|fixture| &fixture.b),
        "thresholdFlips": vanished + appeared, "flipsAOnly": vanished, "flipsBOnly": appeared,
        "classArgmaxFlips": kinds("relabelled"), "imagesWithAnyFlip": changed,
        "imagesWhereTopKTruncationBinds": 0,
    });
    let sets = json!({
        "threshold": threshold, "stayed": 0, "movedSlots": kinds("moved-slot"),
        "relabelled": kinds("relabelled"), "vanished": vanished, "appeared": appeared,
        "movedSlotFlips": 0, "realFlips": vanished + appeared, "imagesChanged": changed,
        "imagesPresenceChanged": 0,
    });
    report_frame::report(report_frame::Parts {
        classes,
        manifest_sha256: &"c".repeat(64),
        slots: vec![slots],
        sets: vec![sets],
        fixtures: rows,
        items,
        per_image: Vec::new(),
    })
}
