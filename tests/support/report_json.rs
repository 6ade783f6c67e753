//! Makes parity reports for tests, as the JSON that lies on disk. Shared by tests inside and outside of the
//! library.

use serde_json::{Value, json};

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
    let zero = json!({"count": 0, "fraction": 0.0});
    json!({
        "schemaVersion": 2,
        "generatedAt": "2026-02-03T04:05:06+00:00",
        "artifacts": {
            "a": {"path": "models/reference.onnx", "bytes": 1200, "sha256": "a".repeat(64)},
            "b": {"path": "models/candidate.int8.onnx", "bytes": 400, "sha256": "b".repeat(64)},
        },
        "environment": {
            "platform": "Linux", "machine": "x86_64", "python": "flipside", "onnxruntime": "1.32.0",
            "executionProviders": ["CPUExecutionProvider"], "note": "",
        },
        "fixtures": {
            "count": fixtures.len(), "inputShape": [1, 3, 64, 64], "manifest": "manifest.txt",
            "manifestSha256": "c".repeat(64),
            "normalization": {"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0]}, "resizeNote": "",
        },
        "rawOutputs": [{
            "name": "dets", "elementsCompared": 1, "maxAbsDelta": 0.0, "meanAbsDelta": 0.0,
            "medianAbsDelta": 0.0, "p95AbsDelta": 0.0, "p99AbsDelta": 0.0, "p999AbsDelta": 0.0,
            "maxRelDelta": 0.0, "meanRelDelta": 0.0, "p99RelDelta": 0.0, "relFloor": 0.001,
            "relElementsCompared": 1, "relElementsSkippedBelowFloor": 0,
            "perImageMaxAbsDelta": {"max": 0.0, "mean": 0.0, "min": 0.0},
            "exceedance": [{
                "atol": 0.1, "rtol": 0.1, "absOnly": zero, "relOnly": zero,
                "combinedIsclose": zero, "and": zero, "or": zero,
            }],
        }],
        "decode": {
            "confThresholdRecommended": threshold, "maxDetections": 100, "classCount": classes.len(),
            "queriesPerImage": 300, "maxConfidenceDeltaAnyQuery": 0.5,
            "meanPerImageMaxConfidenceDelta": 0.1, "maxBoxCoordDeltaAnyQuery": 0.1,
            "byThreshold": [{
                "threshold": threshold, "isRecommended": true,
                "detectionsA": total(|fixture| &fixture.a), "detectionsB": total(|fixture| &fixture.b),
                "thresholdFlips": vanished + appeared, "flipsAOnly": vanished, "flipsBOnly": appeared,
                "classArgmaxFlips": kinds("relabelled"), "imagesWithAnyFlip": changed,
                "imagesWhereTopKTruncationBinds": 0,
            }],
        },
        "latencyMs": {
            "a": {"p50": 2.0, "p95": 3.0, "n": 4}, "b": {"p50": 1.0, "p95": 2.0, "n": 4}, "note": "",
        },
        "perImage": [],
        "flipside": {
            "schema": 1, "product": "flipside 0.1.0",
            "recipe": {"name": "squash-lanczos3-pillow/1", "sha256": "d".repeat(64)},
            "runtime": {
                "name": "onnxruntime", "version": "1.32.0", "provider": "CPUExecutionProvider",
                "intraOpThreads": 1, "optimisation": "all", "cpuFeatures": [],
            },
            "classes": classes, "detectionFloor": 0.2, "manifestCount": fixtures.len(),
            "fixtures": rows, "nonFinite": {},
            "setMatching": {"iou": 0.5, "byThreshold": [{
                "threshold": threshold, "stayed": 0, "movedSlots": kinds("moved-slot"),
                "relabelled": kinds("relabelled"), "vanished": vanished, "appeared": appeared,
                "movedSlotFlips": 0, "realFlips": vanished + appeared, "imagesChanged": changed,
                "imagesPresenceChanged": 0,
            }]},
            "items": items,
            "noiseFloor": {"fixtures": 1, "maxAbsDelta": {}, "thresholdFlips": 0, "classFlips": 0},
            "shard": {"index": 1, "of": 1}, "quantiles": "exact",
        },
    })
}
