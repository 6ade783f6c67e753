//! `parity` of a record, derived from the report it pins: the numbers a record carries are never typed
//! in, and what a record carries can be checked against the report again.
//!
//! Works on the JSON tree, so that `202` and `202.0` stay apart. Reports are told apart by their shape:
//! an engine report also names an ONNX Runtime version (its reference's), so no single key decides.

use super::refusal::Refusal;
use super::release::Role;
use crate::domain::canonical::Json;
use crate::domain::digest::ReportHash;

/// Kinds of parity report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum ReportShape {
    /// Two ONNX artifacts under one ONNX Runtime: schema 2.
    Onnx,
    /// An ONNX artifact against a TensorRT engine: schema 1.
    Engine,
}

impl ReportShape {
    /// The kind of a report.
    pub(in crate::sighted) fn of(report: &Json) -> Option<Self> {
        let schema = report.get("schemaVersion").and_then(Json::as_i64);
        let engine = report.at(&["environment", "tensorrt"]).is_some()
            || report
                .at(&["artifacts", "b", "role"])
                .and_then(Json::as_str)
                .is_some_and(|role| role == "tensorrt-engine");
        match (schema, engine) {
            (Some(1), true) => Some(Self::Engine),
            (Some(2), false) if report.at(&["environment", "onnxruntime"]).is_some() => {
                Some(Self::Onnx)
            }
            _ => None,
        }
    }
}

/// `parity.comparison` as we write it. Only reports of schema 2 are transcribed.
///
/// # Errors
/// Another kind of report, or one that lacks a field.
pub(in crate::sighted) fn derive(report: &Json, role: Role) -> Result<Json, Refusal> {
    match ReportShape::of(report) {
        Some(ReportShape::Onnx) => first_shape(report, role),
        Some(ReportShape::Engine) => {
            Err(Refusal::ForeignReport("the report compares with a TensorRT engine".to_owned()))
        }
        None => Err(Refusal::ForeignReport(
            "the report is no ONNX Runtime parity report of schema 2".to_owned(),
        )),
    }
}

/// The whole `parity` object of a record whose artifact is on one side of `report`.
///
/// # Errors
/// A foreign report, one that lacks a field, or one that is about other artifacts.
pub(in crate::sighted) fn transcribe(
    report: &Json,
    report_path: &str,
    report_hash: ReportHash,
    artifact: &str,
    role: Option<Role>,
) -> Result<Json, Refusal> {
    let side_hash = |side| text(report, &["artifacts", side, "sha256"]);
    let (a, b) = (side_hash("a")?, side_hash("b")?);
    let role = role.unwrap_or(if b == artifact || a != artifact {
        Role::Candidate
    } else {
        Role::Reference
    });
    let (own, other) = match role {
        Role::Candidate => (b, a),
        Role::Reference => (a, b),
    };
    let comparison = derive(report, role)?;
    let providers = at(report, &["environment", "executionProviders"])?;
    let provider = providers
        .as_array()
        .and_then(<[Json]>::first)
        .cloned()
        .ok_or_else(|| lacks(&["environment", "executionProviders"]))?;
    Ok(Json::object([
        ("artifactSha256", Json::text(own)),
        ("comparedAgainstSha256", Json::text(other)),
        ("comparison", comparison),
        ("confThreshold", at(report, &["decode", "confThresholdRecommended"])?.clone()),
        (
            "measuredOn",
            Json::object([
                ("executionProvider", provider),
                ("host", at(report, &["environment", "platform"])?.clone()),
                ("runtime", Json::text("onnxruntime")),
                ("runtimeVersion", at(report, &["environment", "onnxruntime"])?.clone()),
            ]),
        ),
        ("report", Json::text(report_path)),
        ("reportSha256", Json::text(report_hash.to_hex())),
        ("role", Json::text(role.word())),
    ]))
}

/// The first place where a stored comparison differs from what its report says.
///
/// # Errors
/// The report is of no known kind, or lacks a field.
pub(in crate::sighted) fn first_difference(
    stored: &Json,
    report: &Json,
    role: Role,
) -> Result<Option<Difference>, Refusal> {
    // The hand-made shape of engine records has other names at the threshold; reading takes both.
    let by_hand = stored.at(&["atRecommendedThreshold", "classFlips"]).is_some();
    let derived = if by_hand { second_shape(report)? } else { derive(report, role)? };
    Ok(difference(stored, &derived, "parity.comparison"))
}

/// One leaf that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Difference {
    /// Dotted path.
    pub path: String,
    /// Canonical text expected, or `nothing`.
    pub expected: String,
    /// Canonical text found, or `nothing`.
    pub found: String,
}

/// The first leaf, in key order, where two trees differ.
pub(in crate::sighted) fn difference(
    found: &Json,
    expected: &Json,
    path: &str,
) -> Option<Difference> {
    let text =
        |value: Option<&Json>| value.map_or_else(|| "nothing".to_owned(), Json::to_canonical);
    match (found, expected) {
        (Json::Object(left), Json::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                let below = format!("{path}.{key}");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => difference(left, right, &below),
                    (left, right) => {
                        Some(Difference { path: below, expected: text(right), found: text(left) })
                    }
                }
            })
        }
        // Canonical text, because `1` and `1.0` differ and two zeros of different sign do as well.
        _ if text(Some(found)) == text(Some(expected)) => None,
        _ => Some(Difference {
            path: path.to_owned(),
            expected: text(Some(expected)),
            found: text(Some(found)),
        }),
    }
}

fn first_shape(report: &Json, role: Role) -> Result<Json, Refusal> {
    let rows = array(report, &["decode", "byThreshold"])?;
    let row = recommended_row(report, rows)?;
    let side = match role {
        Role::Reference => "a",
        Role::Candidate => "b",
    };
    let latency = |key| at(report, &["latencyMs", side, key]).cloned();
    Ok(Json::object([
        (
            "atRecommendedThreshold",
            Json::object([
                ("classArgmaxFlips", at(row, &["classArgmaxFlips"])?.clone()),
                ("detectionsCandidate", at(row, &["detectionsB"])?.clone()),
                ("detectionsReference", at(row, &["detectionsA"])?.clone()),
                ("imagesWithAnyFlip", at(row, &["imagesWithAnyFlip"])?.clone()),
                ("threshold", at(row, &["threshold"])?.clone()),
                ("thresholdFlips", at(row, &["thresholdFlips"])?.clone()),
            ]),
        ),
        ("fixtureCount", at(report, &["fixtures", "count"])?.clone()),
        ("fixtureManifestSha256", at(report, &["fixtures", "manifestSha256"])?.clone()),
        ("generatedAt", at(report, &["generatedAt"])?.clone()),
        (
            "latencyMsThisArtifact",
            Json::object([
                ("n", latency("n")?),
                ("p50", latency("p50")?),
                ("p95", latency("p95")?),
            ]),
        ),
        ("maxAbsDeltaByOutput", by_output(report, "maxAbsDelta")?),
        ("maxRelDeltaByOutput", by_output(report, "maxRelDelta")?),
        ("schemaVersion", at(report, &["schemaVersion"])?.clone()),
    ]))
}

fn second_shape(report: &Json) -> Result<Json, Refusal> {
    let (rows, class_flips) = match ReportShape::of(report) {
        Some(ReportShape::Engine) => (["decode", "thresholds"], "classFlips"),
        Some(ReportShape::Onnx) => (["decode", "byThreshold"], "classArgmaxFlips"),
        None => {
            return Err(Refusal::ForeignReport("the report is of no known kind".to_owned()));
        }
    };
    let row = recommended_row(report, array(report, &rows)?)?;
    Ok(Json::object([
        (
            "atRecommendedThreshold",
            Json::object([
                ("classFlips", at(row, &[class_flips])?.clone()),
                ("detectionsA", at(row, &["detectionsA"])?.clone()),
                ("detectionsB", at(row, &["detectionsB"])?.clone()),
                ("threshold", at(row, &["threshold"])?.clone()),
                ("thresholdFlips", at(row, &["thresholdFlips"])?.clone()),
            ]),
        ),
        ("maxAbsDeltaByOutput", by_output(report, "maxAbsDelta")?),
    ]))
}

/// The row measured at the report's own operating point.
fn recommended_row<'a>(report: &Json, rows: &'a [Json]) -> Result<&'a Json, Refusal> {
    let recommended = at(report, &["decode", "confThresholdRecommended"])?.as_f64();
    rows.iter()
        .find(|row| {
            let threshold = row.get("threshold").and_then(Json::as_f64);
            matches!((threshold, recommended), (Some(here), Some(point)) if here.total_cmp(&point).is_eq())
        })
        .ok_or_else(|| Refusal::ForeignReport("the report has no row at its own threshold".to_owned()))
}

fn by_output(report: &Json, key: &str) -> Result<Json, Refusal> {
    let mut fields = std::collections::BTreeMap::new();
    for output in array(report, &["rawOutputs"])? {
        fields.insert(text(output, &["name"])?, at(output, &[key])?.clone());
    }
    Ok(Json::Object(fields))
}

fn lacks(path: &[&str]) -> Refusal {
    Refusal::ForeignReport(format!("the report lacks {}", path.join(".")))
}

fn at<'a>(tree: &'a Json, path: &[&str]) -> Result<&'a Json, Refusal> {
    tree.at(path).ok_or_else(|| lacks(path))
}

fn array<'a>(tree: &'a Json, path: &[&str]) -> Result<&'a [Json], Refusal> {
    at(tree, path)?.as_array().ok_or_else(|| lacks(path))
}

fn text(tree: &Json, path: &[&str]) -> Result<String, Refusal> {
    at(tree, path)?.as_str().map(str::to_owned).ok_or_else(|| lacks(path))
}
