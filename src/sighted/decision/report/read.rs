//! Bytes to a report: of this program, of the peer it is compatible with, or of other tools.
//!
//! A report is told by its shape, never by one key, and nothing is taken over unchecked.

use super::check::{CheckError, check, check_foreign};
use super::layout::ParityReport;
use crate::domain::canonical::{Json, JsonError};
use crate::domain::digest::ReportHash;
use crate::sighted::decision::foreign_report::ForeignReport;

/// Largest report, in bytes.
pub(in crate::sighted) const MAX_REPORT_BYTES: u64 = 64 << 20;

/// A report that was read and holds together, with the hash of its bytes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct ReadReport {
    /// What it says.
    pub report: ParityReport,
    /// What names it as evidence.
    pub hash: ReportHash,
}

/// A report of any shape we know.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum AnyReport {
    /// Schema 2, of this program or of the peer.
    Parity(Box<ReadReport>),
    /// Of an engine against a graph; says less.
    Foreign(Box<ForeignReport>, ReportHash),
}

/// Why bytes are not a report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::sighted) enum ReadReportError {
    /// Over the limit.
    #[error("expected a report of at most {MAX_REPORT_BYTES} bytes, found {found}")]
    TooLarge {
        /// Its size.
        found: u64,
    },
    /// Not strict JSON, or a field that is missing or of another type.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// JSON of a shape nobody knows.
    #[error("not a parity report: {reason}")]
    Shape {
        /// What does not fit.
        reason: String,
    },
    /// A report, but of an engine.
    #[error("expected a parity report of schema 2, found a TensorRT report of schema 1")]
    Foreign,
    /// It contradicts itself.
    #[error("{0}")]
    Check(#[from] CheckError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Parity,
    TensorRt,
}

/// Reads a report of schema 2.
///
/// # Errors
/// Too large, not such a report, or one that contradicts itself.
pub(in crate::sighted) fn read(bytes: &[u8]) -> Result<ReadReport, ReadReportError> {
    match read_any(bytes)? {
        AnyReport::Parity(report) => Ok(*report),
        AnyReport::Foreign(..) => Err(ReadReportError::Foreign),
    }
}

/// Reads a report of any known shape.
///
/// # Errors
/// Too large, no known shape, or one that contradicts itself.
pub(in crate::sighted) fn read_any(bytes: &[u8]) -> Result<AnyReport, ReadReportError> {
    let found = bytes.len() as u64;
    if found > MAX_REPORT_BYTES {
        return Err(ReadReportError::TooLarge { found });
    }
    let tree = Json::parse(bytes)?;
    let hash = ReportHash::of(bytes);
    match shape(&tree).map_err(|reason| ReadReportError::Shape { reason })? {
        Shape::Parity => {
            let report = tree.to_typed()?;
            check(&report)?;
            Ok(AnyReport::Parity(Box::new(ReadReport { report, hash })))
        }
        Shape::TensorRt => {
            let report = tree.to_typed()?;
            check_foreign(&report)?;
            Ok(AnyReport::Foreign(Box::new(report), hash))
        }
    }
}

/// Tells reports apart by all marks together: an engine's report also names an ONNX Runtime.
fn shape(tree: &Json) -> Result<Shape, String> {
    let version = tree.get("schemaVersion").and_then(Json::as_i64);
    let marks = [
        ("environment.tensorrt", tree.at(&["environment", "tensorrt"]).is_some()),
        ("artifacts.b.role", tree.at(&["artifacts", "b", "role"]).is_some()),
        ("decode.thresholds", tree.at(&["decode", "thresholds"]).is_some()),
        ("decode.byThreshold", tree.at(&["decode", "byThreshold"]).is_some()),
        ("fixtures.manifestSha256", tree.at(&["fixtures", "manifestSha256"]).is_some()),
    ];
    match (version, marks.map(|mark| mark.1)) {
        (Some(2), [false, false, false, true, true]) => Ok(Shape::Parity),
        (Some(1), [true, true, true, false, false]) => Ok(Shape::TensorRt),
        (None, _) => {
            Err("expected schemaVersion 2, or 1 of a TensorRT report, found none".to_owned())
        }
        (Some(version), _) => {
            let there = marks.iter().filter(|mark| mark.1).map(|mark| mark.0);
            let there = there.collect::<Vec<_>>().join(", ");
            let there = if there.is_empty() { "none of the marks of a report" } else { &there };
            Err(format!("schemaVersion {version} with {there} is no known shape"))
        }
    }
}
