//! The dossier of another tool's report: an engine against a graph. It says less, and says so.

use super::build::{output_lines, record_facts};
use super::dossier::{ArtifactLine, Dossier, Fact, Pair, ThresholdLine};
use crate::domain::digest::ReportHash;
use crate::sighted::decision::foreign_report::{
    ForeignArtifact, ForeignLatencySide, ForeignReport, ForeignThreshold,
};
use crate::sighted::record::registry::Entry;
use crate::sighted::score::claim::counted;
use crate::sighted::score::evidence::file_name;

/// Builds it. `path` is where the report lies, as named in the document; `records` stand on it.
pub(in crate::sighted) fn dossier(
    report: &ForeignReport,
    hash: ReportHash,
    path: &str,
    point: f64,
    records: &[&Entry],
) -> Dossier {
    let artifact = |side: &ForeignArtifact| ArtifactLine {
        name: file_name(&side.path),
        bytes: side.bytes,
        sha256: side.sha256.clone(),
    };
    let artifacts = Pair { a: artifact(&report.artifacts.a), b: artifact(&report.artifacts.b) };
    let rows = report.decode.thresholds.iter();
    Dossier {
        title: format!("{} against {}", artifacts.b.name, artifacts.a.name),
        generated_at: report.generated_at.clone(),
        operating_point: point,
        artifacts,
        sentences: here(report, point).map(sentence).into_iter().collect(),
        warnings: warnings(report, point),
        thresholds: rows.map(|row| threshold_line(row, point)).collect(),
        outputs: output_lines(&report.raw_outputs, &|_| Pair::default()),
        circumstances: circumstances(report),
        record: records.iter().flat_map(|entry| record_facts(entry)).collect(),
        evidence: vec![
            Fact::new("reference", &*report.artifacts.a.sha256),
            Fact::new("candidate", &*report.artifacts.b.sha256),
            Fact::new(format!("report {path}"), hash.to_hex()),
        ],
        ..Dossier::default()
    }
}

fn here(report: &ForeignReport, point: f64) -> Option<&ForeignThreshold> {
    report.decode.thresholds.iter().find(|row| row.threshold.total_cmp(&point).is_eq())
}

fn sentence(row: &ForeignThreshold) -> String {
    format!(
        "Decisions changed: {} by slot and {} in {}; this is instability, and this report does not tell how many are real",
        counted(row.threshold_flips, "threshold flip"),
        counted(row.class_flips, "mislabel"),
        counted(row.images_affected, "image"),
    )
}

fn warnings(report: &ForeignReport, point: f64) -> Vec<String> {
    let mut out = vec!["A TensorRT report of schema 1, made by another tool.".to_owned()];
    out.extend(report.limits().map(|limit| {
        let mut letters = limit.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
        format!("{}{}.", first.unwrap_or_default(), letters.as_str())
    }));
    out.push("No labels can be joined: what these changes cost is not known.".to_owned());
    if let Some(row) = here(report, point)
        && row.detections_a == row.detections_b
        && row.threshold_flips > 0
    {
        out.push(format!(
            "Both artifacts have {} detections, and yet {} slots decide otherwise: equal totals hide changes.",
            row.detections_a, row.threshold_flips
        ));
    }
    out
}

fn threshold_line(row: &ForeignThreshold, point: f64) -> ThresholdLine {
    ThresholdLine {
        threshold: row.threshold,
        in_force: row.threshold.total_cmp(&point).is_eq(),
        detections: Pair { a: row.detections_a, b: row.detections_b },
        flips: Pair { a: row.flips_a_only, b: row.flips_b_only },
        class_flips: row.class_flips,
        images_with_flip: row.images_affected,
        sets: None,
    }
}

fn circumstances(report: &ForeignReport) -> Vec<Fact> {
    let environment = &report.environment;
    let decode = &report.decode;
    let times = |side: &ForeignLatencySide| {
        format!(
            "p50 {:.2} ms, p95 {:.2} ms, least {:.2} ms, {} runs",
            side.p50, side.p95, side.min, side.n
        )
    };
    let latency = &report.latency_ms;
    let mut out = vec![
        Fact::new("comparison", &*report.comparison),
        Fact::new("images compared", report.fixtures.count.to_string()),
        Fact::new("first image", &*report.fixtures.first),
        Fact::new("host", format!("{} ({})", environment.platform, environment.machine)),
        Fact::new("reference runs on", format!("ONNX Runtime {}", environment.onnxruntime)),
        Fact::new("its providers", environment.onnxruntime_providers.join(", ")),
        Fact::new("candidate runs on", format!("TensorRT {}", environment.tensorrt)),
        Fact::new(
            "largest change of one slot",
            format!(
                "confidence {:.4}, box corner {:.4}",
                decode.max_abs_confidence_delta, decode.max_abs_box_delta
            ),
        ),
        Fact::new("reference, time of the call", times(&latency.onnx_runtime)),
        Fact::new("candidate, time on the device", times(&latency.tensorrt_execute)),
        Fact::new("note", &*environment.note),
    ];
    out.retain(|fact| !fact.value.is_empty());
    out
}
