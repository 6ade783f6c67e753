//! Small evidence built in code, for tests.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{Evidence, Exposure, JoinError, NamedLabelFile, Sources};
use super::margin::Margin;
use crate::domain::digest::{FixtureId, ManifestHash, ReportHash};
use crate::domain::label::{CategoryState, Certainty, Label, NotPhotograph, Presence};
use crate::domain::manifest::FixtureGroup;
use crate::domain::shard::Shard;
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::decision::report::ParityReport;
use crate::store::label_file::{
    BlindStatus, Confinement, LabelFile, LabelHeader, LabelLine, SkippedLine,
};

/// Evidence under construction.
pub(in crate::sighted) struct Set {
    pub report: ParityReport,
    pub files: Vec<NamedLabelFile>,
    pub taxonomy: Taxonomy,
    pub groups: BTreeMap<String, FixtureGroup>,
    pub exposures: Vec<Exposure>,
    pub flagged: BTreeSet<FixtureId>,
    pub margins: Vec<Margin>,
}

/// The id of a picture called `name`.
pub(in crate::sighted) fn fixture(name: &str) -> FixtureId {
    FixtureId::of(name.as_bytes())
}

/// The manifest every set is over.
pub(in crate::sighted) fn manifest() -> ManifestHash {
    ManifestHash::of(b"manifest")
}

/// A label without categories.
pub(in crate::sighted) fn label(presence: Presence) -> Label {
    Label {
        presence,
        categories: BTreeMap::new(),
        certainty: Certainty::High,
        not_photograph: None,
        note: String::new(),
    }
}

/// An answer of the first showing.
pub(in crate::sighted) fn line(name: &str, label: Label) -> LabelLine {
    LabelLine {
        fixture: fixture(name),
        pass: 1,
        label,
        labelled_at: "2026-01-05T00:00:00+00:00".to_owned(),
        seconds: None,
        exposed: false,
        seen_as: None,
        amended: None,
    }
}

impl Set {
    /// Pictures by name with both sides' best confidence, as bottles when above the floor.
    pub(in crate::sighted) fn new(pictures: &[(&str, f64, f64)]) -> Self {
        let found = |confidence: f64| {
            let detections = if confidence >= 0.2 {
                serde_json::json!([
                    {"slot": 0, "class": 0, "confidence": confidence, "box": [0.1, 0.1, 0.4, 0.4]}
                ])
            } else {
                serde_json::json!([])
            };
            serde_json::json!({"best": confidence, "detections": detections})
        };
        let fixtures: Vec<serde_json::Value> = pictures
            .iter()
            .enumerate()
            .map(|(position, (name, a, b))| {
                serde_json::json!({
                    "position": position, "path": format!("{name}.jpg"),
                    "sha256": fixture(name).to_hex(), "tensorSha256": null, "status": "ok",
                    "reason": null, "found": {"a": found(*a), "b": found(*b)},
                })
            })
            .collect();
        let artifact = |byte: &str| serde_json::json!({"path": "x.onnx", "bytes": 1, "sha256": byte.repeat(32)});
        let times = serde_json::json!({"p50": 1.0, "p95": 1.0, "n": 1});
        let report = serde_json::json!({
            "schemaVersion": 2, "generatedAt": "2026-01-01T00:00:00+00:00",
            "artifacts": {"a": artifact("aa"), "b": artifact("bb")},
            "environment": {"platform": "", "machine": "", "python": "", "onnxruntime": "1.32.0",
                "executionProviders": [], "note": ""},
            "fixtures": {"count": pictures.len(), "inputShape": [1, 3, 8, 8], "manifest": "m.txt",
                "manifestSha256": manifest().to_hex(),
                "normalization": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}, "resizeNote": ""},
            "rawOutputs": [],
            "decode": {"confThresholdRecommended": 0.4, "maxDetections": 100, "classCount": 2,
                "queriesPerImage": 300, "maxConfidenceDeltaAnyQuery": 0.0,
                "meanPerImageMaxConfidenceDelta": 0.0, "maxBoxCoordDeltaAnyQuery": 0.0,
                "byThreshold": []},
            "latencyMs": {"a": times, "b": times, "note": ""},
            "perImage": [],
            "flipside": {"schema": 1, "product": "flipside 0.1.0",
                "recipe": {"name": "r", "sha256": ""},
                "runtime": {"name": "onnxruntime", "version": "1.32.0", "provider": "CPU",
                    "intraOpThreads": 1, "optimisation": "all", "cpuFeatures": []},
                "classes": ["glass.bottle", "metal.can"], "detectionFloor": 0.2,
                "manifestCount": pictures.len(), "fixtures": fixtures, "nonFinite": {},
                "setMatching": {"iou": 0.5, "byThreshold": []}, "items": [],
                "noiseFloor": {"fixtures": 0, "maxAbsDelta": {}, "thresholdFlips": 0, "classFlips": 0},
                "shard": {"index": 1, "of": 1}, "quantiles": "exact"},
        });
        let taxonomy = Taxonomy::new(vec![
            ("bottles".to_owned(), vec!["glass.bottle".to_owned()]),
            ("cans".to_owned(), vec!["metal.can".to_owned()]),
        ]);
        Self {
            report: serde_json::from_value(report).expect("the report's layout"),
            files: Vec::new(),
            taxonomy: taxonomy.expect("valid"),
            groups: BTreeMap::new(),
            exposures: Vec::new(),
            flagged: BTreeSet::new(),
            margins: Vec::new(),
        }
    }

    /// A header of `rater` for this set.
    pub(in crate::sighted) fn header(&self, rater: &str) -> LabelHeader {
        LabelHeader {
            product: "flipside 0.1.0".to_owned(),
            manifest: manifest(),
            fixture_count: 1,
            taxonomy: self.taxonomy.hash(),
            groups: vec!["bottles".to_owned(), "cans".to_owned()],
            shard: Shard::WHOLE,
            seed: 0,
            overlap: 0.0,
            repeats: 0.0,
            rater: rater.parse().expect("a rater"),
            opened_at: "2026-01-05T00:00:00+00:00".to_owned(),
            sealed_at: "2026-01-06T00:00:00+00:00".to_owned(),
            chain_head: None,
            blind: BlindStatus::Enforced,
            confinement: Confinement::None,
            supersedes: None,
        }
    }

    /// Adds a sealed file of `rater`.
    pub(in crate::sighted) fn file(
        &mut self,
        rater: &str,
        lines: Vec<LabelLine>,
        skipped: &[&str],
    ) -> &mut NamedLabelFile {
        let skipped = skipped.iter().map(|name| SkippedLine {
            fixture: fixture(name),
            pass: 1,
            reason: "cannot tell".to_owned(),
        });
        let file = LabelFile::new(self.header(rater), lines, skipped.collect());
        self.files.push(NamedLabelFile { path: format!("labels/{rater}.jsonl"), file });
        self.files.last_mut().expect("just pushed")
    }

    /// Adds a file in which `litter` and `clean` name pictures; litter is all bottles.
    pub(in crate::sighted) fn labelled(&mut self, rater: &str, litter: &[&str], clean: &[&str]) {
        let lines = litter
            .iter()
            .map(|name| line(name, bottles()))
            .chain(clean.iter().map(|name| line(name, label(Presence::Clean))))
            .collect();
        self.file(rater, lines, &[]);
    }

    /// Joined.
    pub(in crate::sighted) fn try_join(&self) -> Result<Evidence, JoinError> {
        Evidence::join(&Sources {
            report: &self.report,
            report_hash: ReportHash::of(b"report"),
            label_files: &self.files,
            taxonomy: Some(&self.taxonomy),
            groups: &self.groups,
            groups_hash: None,
            exposures: &self.exposures,
            not_photographs: &self.flagged,
            margins: &self.margins,
        })
    }

    /// Joined, when it does.
    pub(in crate::sighted) fn join(&self) -> Evidence {
        self.try_join().expect("joins")
    }
}

/// Litter, all of it bottles.
pub(in crate::sighted) fn bottles() -> Label {
    let mut label = label(Presence::Litter);
    label.categories.insert("bottles".to_owned(), CategoryState::Present);
    label
}

/// Not a photograph.
pub(in crate::sighted) fn drawing(mut label: Label) -> Label {
    label.not_photograph = Some(NotPhotograph::Illustration);
    label
}
