//! The parts of a parity report that are the same in all that tests make, around those that differ.

use serde_json::{Value, json};

/// What differs from report to report.
pub(crate) struct Parts<'a> {
    /// Names in logit order.
    pub classes: &'a [&'a str],
    /// Of the fixture manifest.
    pub manifest_sha256: &'a str,
    /// A row a threshold, by slot.
    pub slots: Vec<Value>,
    /// A row a threshold, by set.
    pub sets: Vec<Value>,
    /// A row a picture.
    pub fixtures: Vec<Value>,
    /// Changes, one by one.
    pub items: Vec<Value>,
    /// Flips of each picture.
    pub per_image: Vec<Value>,
}

/// The report, at threshold 0.4.
pub(crate) fn report(parts: Parts<'_>) -> Value {
    let Parts { classes, manifest_sha256, slots, sets, fixtures, items, per_image } = parts;
    let none = json!({"count": 0, "fraction": 0.0});
    let times = json!({"p50": 1.0, "p95": 2.0, "n": 4});
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
            "manifestSha256": manifest_sha256,
            "normalization": {"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0]}, "resizeNote": "",
        },
        "rawOutputs": [{
            "name": "dets", "elementsCompared": 1, "maxAbsDelta": 0.0, "meanAbsDelta": 0.0,
            "medianAbsDelta": 0.0, "p95AbsDelta": 0.0, "p99AbsDelta": 0.0, "p999AbsDelta": 0.0,
            "maxRelDelta": 0.0, "meanRelDelta": 0.0, "p99RelDelta": 0.0, "relFloor": 0.001,
            "relElementsCompared": 1, "relElementsSkippedBelowFloor": 0,
            "perImageMaxAbsDelta": {"max": 0.0, "mean": 0.0, "min": 0.0},
            "exceedance": [{
                "atol": 0.1, "rtol": 0.1, "absOnly": none, "relOnly": none,
                "combinedIsclose": none, "and": none, "or": none,
            }],
        }],
        "decode": {
            "confThresholdRecommended": 0.4, "maxDetections": 100, "classCount": classes.len(),
            "queriesPerImage": 300, "maxConfidenceDeltaAnyQuery": 0.5,
            "meanPerImageMaxConfidenceDelta": 0.1, "maxBoxCoordDeltaAnyQuery": 0.1,
            "byThreshold": slots,
        },
        "latencyMs": {"a": times, "b": times, "note": ""},
        "perImage": per_image,
        "flipside": {
            "schema": 1, "product": "flipside 0.1.0",
            "recipe": {"name": "squash-lanczos3-pillow/1", "sha256": "d".repeat(64)},
            "runtime": {
                "name": "onnxruntime", "version": "1.32.0", "provider": "CPUExecutionProvider",
                "intraOpThreads": 1, "optimisation": "all", "cpuFeatures": [],
            },
            "classes": classes, "detectionFloor": 0.2, "manifestCount": fixtures.len(),
            "fixtures": fixtures, "nonFinite": {},
            "setMatching": {"iou": 0.5, "byThreshold": sets},
            "items": items,
            "noiseFloor": {"fixtures": 1, "maxAbsDelta": {}, "thresholdFlips": 0, "classFlips": 0},
            "shard": {"index": 1, "of": 1}, "quantiles": "exact",
        },
    })
}
