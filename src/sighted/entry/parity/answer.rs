//! What a run is answered with: the report's surroundings, its place, text and JSON for people and programs.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::setup::Setup;
use super::{Compared, ParityAnswer, ParityQuestion, Place, ReportPlace};
use crate::domain::digest::ReportHash;
use crate::domain::escape::{escape, escape_os};
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::decision::report::baseline::GateOutcome;
use crate::sighted::decision::report::build::ReportContext;
use crate::sighted::decision::report::{
    ArtifactEntry, Environment, Normalization, ParityReport, RecipeEntry, RuntimeEntry, ShardEntry,
    Sides,
};
use crate::sighted::export::summary::Summary;
use crate::sighted::harness::environment::platform;
use crate::sighted::harness::recipe::RECIPE_NAME;
use crate::sighted::harness::run::{Finished, Side};
use crate::sighted::harness::runner::{CPU, OPTIMISATION};
use crate::store::workspace::PRODUCT;

/// A side that is not run.
#[derive(Debug)]
pub(super) struct BlockedRow {
    pub side: Side,
    pub path: PathBuf,
    pub sha256: Option<String>,
    pub bytes: Option<u64>,
    /// Escaped.
    pub reason: String,
}

impl BlockedRow {
    pub(super) fn new(
        side: Side,
        question: &ParityQuestion,
        artifact: &Artifact,
        reason: String,
    ) -> Self {
        Self {
            side,
            path: question.place(side).written.clone(),
            sha256: Some(artifact.hash().to_hex()),
            bytes: Some(artifact.size()),
            reason,
        }
    }
}

pub(super) fn blocked(rows: &[BlockedRow]) -> ParityAnswer {
    let mut text = String::from("nothing was compared\n");
    let mut entries = Vec::new();
    for row in rows {
        let sha256 = row.sha256.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "{:<10} {}  sha256 {}  {}\n",
            row.side.to_string(),
            escape_os(row.path.as_os_str()),
            sha256.get(..12).unwrap_or(sha256),
            row.reason
        ));
        entries.push(serde_json::json!({
            "side": row.side.to_string(),
            "path": row.path.to_string_lossy(),
            "sha256": row.sha256,
            "bytes": row.bytes,
            "status": "blocked",
            "reason": row.reason,
        }));
    }
    let json = serde_json::json!({ "schema": 1, "status": "blocked", "artifacts": entries });
    ParityAnswer::Blocked { text, json: format!("{json:#}") }
}

pub(super) fn answer(
    question: &ParityQuestion,
    report: &ParityReport,
    path: &Path,
    hash: ReportHash,
    gate: Option<&GateOutcome>,
) -> anyhow::Result<Compared> {
    let summary = Summary::of(report).context("a report of ours has a summary")?;
    let mut text = summary.to_text();
    let mut line = |name: &str, value: String| text.push_str(&format!("\n{name:<12} {value}"));
    for (name, place) in [("reference", &question.reference), ("candidate", &question.candidate)] {
        line(name, escape_os(place.written.as_os_str()));
    }
    line("report", escape_os(path.as_os_str()));
    line("sha256", hash.to_hex());
    let regressed = gate.is_some_and(|gate| !gate.passed());
    if let Some(gate) = gate {
        for remark in &gate.remarks {
            line("baseline", escape(remark).into_owned());
        }
        for regression in &gate.regressions {
            let new = regression.new.map_or_else(|| "nothing".to_owned(), |new| new.to_string());
            line(
                "regression",
                format!(
                    "{}: {} before, {new} now, at most {} passes",
                    escape(&regression.what),
                    regression.old,
                    regression.limit
                ),
            );
        }
        let verdict = if regressed { "got worse" } else { "no regression" };
        line("baseline", format!("{verdict}; {} numbers compared", gate.compared));
    }
    let json = serde_json::json!({
        "schema": 1,
        "status": "compared",
        "report": { "path": path.to_string_lossy(), "sha256": hash },
        "summary": summary,
        "baseline": gate,
        "regressed": regressed,
    });
    Ok(Compared {
        text,
        json: format!("{json:#}"),
        sentence: summary.sentence,
        report: path.to_owned(),
        regressed,
        notes: Vec::new(),
    })
}

pub(super) fn context(
    question: &ParityQuestion,
    setup: &Setup,
    finished: &Finished,
) -> anyhow::Result<ReportContext> {
    let entry = |place: &Place, artifact: &Artifact| ArtifactEntry {
        path: place.written.to_string_lossy().into_owned(),
        bytes: artifact.size(),
        sha256: artifact.hash().to_hex(),
    };
    let scale = setup.sidecar.normalization;
    let (height, width) = (setup.recipe.height(), setup.recipe.width());
    Ok(ReportContext {
        generated_at: question.generated_at.clone(),
        artifacts: Sides {
            a: entry(&question.reference, &setup.artifacts.a),
            b: entry(&question.candidate, &setup.artifacts.b),
        },
        environment: Environment {
            platform: platform(),
            machine: std::env::consts::ARCH.to_owned(),
            python: PRODUCT.to_owned(),
            onnxruntime: setup.runtime.version.clone(),
            execution_providers: vec![CPU.to_owned()],
            note: "No Python took part; that field names the program. Times are of this machine only."
                .to_owned(),
        },
        manifest: question.manifest.written.to_string_lossy().into_owned(),
        manifest_hash: setup.manifest.hash,
        manifest_count: setup.manifest.entries.len() as u64,
        input_shape: vec![1, 3, u64::from(height), u64::from(width)],
        normalization: Normalization { mean: scale.mean, std: scale.std },
        resize_note: "Lanczos-3 squash by the rules of Pillow 12; one tensor feeds both sides."
            .to_owned(),
        run_ms: finished.run_ms.clone(),
        latency_note: "Run calls alone, while other threads decoded and compared; remembered outputs have no time. Only the ratio under flipside.latency was measured with nothing else running."
            .to_owned(),
        product: PRODUCT.to_owned(),
        recipe: RecipeEntry {
            name: RECIPE_NAME.to_owned(),
            sha256: setup.recipe.hash().to_hex(),
        },
        runtime: RuntimeEntry {
            name: "onnxruntime".to_owned(),
            version: setup.runtime.version.clone(),
            provider: CPU.to_owned(),
            intra_op_threads: question.threads,
            optimisation: OPTIMISATION.to_owned(),
            cpu_features: setup.cpu_features.clone(),
        },
        classes: setup.sidecar.classes.clone(),
        latency: None,
        shard: ShardEntry { index: question.shard.0, of: question.shard.1 },
        state_file: String::new(),
    })
}

/// The file the report goes to. In a folder: the first name that is free.
pub(super) fn report_path(question: &ParityQuestion, setup: &Setup) -> io::Result<PathBuf> {
    let folder = match &question.report {
        ReportPlace::File(path) => return Ok(path.clone()),
        ReportPlace::Folder(folder) => folder,
    };
    let mut stem =
        format!("{}-{}", setup.artifacts.a.hash().short(), setup.artifacts.b.hash().short());
    if let (index, of @ 2..) = question.shard {
        stem.push_str(&format!(".shard-{index}-of-{of}"));
    }
    if let Some(threshold) = question.threshold {
        stem.push_str(&format!(".at-{threshold}"));
    }
    if let Some(limit) = question.limit {
        stem.push_str(&format!(".first-{limit}"));
    }
    let mut path = folder.join(format!("{stem}.json"));
    let mut number = 2;
    while path.try_exists()? {
        path = folder.join(format!("{stem}.{number}.json"));
        number += 1;
    }
    Ok(path)
}
