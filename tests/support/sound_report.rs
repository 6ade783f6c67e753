//! A parity report that holds together, as the JSON that lies on disk: every picture has one object that
//! each side sees in the same place and slot, more or less surely.

use serde_json::{Map, Value, json};

#[path = "report_frame.rs"]
mod report_frame;

/// One picture.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// As the manifest writes it.
    pub path: String,
    /// Hex digits of the file's hash.
    pub sha256: String,
    /// Class of the object.
    pub class: usize,
    /// How sure the reference is, from 0.2 on.
    pub a: f64,
    /// How sure the candidate is, from 0.2 on.
    pub b: f64,
}

const THRESHOLDS: [f64; 5] = [0.25, 0.3, 0.4, 0.5, 0.6];
const CHURN: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 1.0];

/// What both sides decide at one threshold.
struct At<'a> {
    threshold: f64,
    seen: &'a [Seen],
}

impl At<'_> {
    fn count(&self, wanted: impl Fn(bool, bool) -> bool) -> usize {
        let decided = |it: &&Seen| wanted(it.a >= self.threshold, it.b >= self.threshold);
        self.seen.iter().filter(decided).count()
    }

    fn slots(&self) -> Value {
        let (lost, gained) = (self.count(|a, b| a && !b), self.count(|a, b| !a && b));
        json!({
            "threshold": self.threshold, "isRecommended": self.threshold == 0.4,
            "detectionsA": self.count(|a, _| a), "detectionsB": self.count(|_, b| b),
            "thresholdFlips": lost + gained, "flipsAOnly": lost, "flipsBOnly": gained,
            "classArgmaxFlips": 0, "imagesWithAnyFlip": lost + gained,
            "imagesWhereTopKTruncationBinds": 0,
        })
    }

    fn sets(&self) -> Value {
        let (lost, gained) = (self.count(|a, b| a && !b), self.count(|a, b| !a && b));
        let mut near = 0;
        let mut churn = CHURN.map(|within| (within, 0_u64, 0_u64));
        for it in self.seen {
            let changed = (it.a >= self.threshold) != (it.b >= self.threshold);
            near += u64::from(changed && it.a.min(it.b) >= self.threshold - 0.05);
            for confidence in [it.a, it.b].into_iter().filter(|it| *it >= self.threshold) {
                let distance = confidence - self.threshold;
                let bucket = churn.iter_mut().find(|bucket| distance <= bucket.0).expect("up to 1");
                bucket.1 += 1;
                bucket.2 += u64::from(changed);
            }
        }
        let churn: Vec<Value> = churn
            .iter()
            .map(|(within, detections, changed)| {
                json!({"within": within, "detections": detections, "changed": changed})
            })
            .collect();
        json!({
            "threshold": self.threshold, "stayed": self.count(|a, b| a && b), "movedSlots": 0,
            "relabelled": 0, "vanished": lost, "appeared": gained, "movedSlotFlips": 0,
            "realFlips": lost + gained, "imagesChanged": lost + gained,
            "imagesPresenceChanged": lost + gained, "nearThreshold": near, "stillFound": 0,
            "churn": churn,
        })
    }
}

fn row(it: &Seen, confidence: f64) -> Value {
    json!({"slot": 0, "class": it.class, "confidence": confidence, "box": [0.1, 0.1, 0.4, 0.4]})
}

/// The report, at threshold 0.4.
pub(crate) fn report(seen: &[Seen], classes: &[&str], manifest_sha256: &str) -> Value {
    let at = |threshold| At { threshold, seen };
    let per_image: Vec<Value> = seen
        .iter()
        .map(|it| {
            let flips: Map<String, Value> = THRESHOLDS
                .iter()
                .map(|at| (at.to_string(), u64::from((it.a >= *at) != (it.b >= *at)).into()))
                .collect();
            json!({"image": it.path, "flips": flips})
        })
        .collect();
    let items: Vec<Value> = seen
        .iter()
        .filter_map(|it| match (it.a >= 0.4, it.b >= 0.4) {
            (true, false) => Some(json!({
                "fixture": it.sha256, "slot": 0, "kind": "vanished", "a": row(it, it.a), "b": null,
                "elsewhereB": row(it, it.b),
            })),
            (false, true) => Some(json!({
                "fixture": it.sha256, "slot": 0, "kind": "appeared", "a": null, "b": row(it, it.b),
                "elsewhereA": row(it, it.a),
            })),
            _ => None,
        })
        .collect();
    let fixtures: Vec<Value> = seen
        .iter()
        .enumerate()
        .map(|(position, it)| {
            let side = |sure: f64| json!({"best": sure, "nonFiniteSlots": 0, "detections": [row(it, sure)]});
            json!({
                "position": position, "path": it.path, "sha256": it.sha256,
                "tensorSha256": "0".repeat(64), "status": "ok", "reason": null,
                "found": {"a": side(it.a), "b": side(it.b)},
            })
        })
        .collect();
    report_frame::report(report_frame::Parts {
        classes,
        manifest_sha256,
        slots: THRESHOLDS.map(|threshold| at(threshold).slots()).to_vec(),
        sets: THRESHOLDS.map(|threshold| at(threshold).sets()).to_vec(),
        fixtures,
        items,
        per_image,
    })
}
