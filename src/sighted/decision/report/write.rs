//! A report as bytes: those of Python's `json.dumps(report, indent=2, sort_keys=True)`.

use super::layout::ParityReport;
use crate::domain::canonical::Json;

/// A report that cannot be written as JSON without losing a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the report cannot be written: {reason}")]
pub(in crate::sighted) struct WriteReportError {
    /// What is wrong with it.
    pub reason: String,
}

/// The bytes of a report: indent 2, sorted keys, ASCII, no final newline.
///
/// # Errors
/// A number that is NaN or infinite: JSON has no text for it.
pub(in crate::sighted) fn to_bytes(report: &ParityReport) -> Result<Vec<u8>, WriteReportError> {
    let fault = |reason: String| WriteReportError { reason };
    let tree = Json::from_value(report).map_err(|error| fault(error.to_string()))?;
    // A NaN becomes null on the way, which a number cannot be read back from; in an optional field it
    // would be lost silently. So read it back.
    let again: ParityReport = tree.to_typed().map_err(|error| fault(error.reason))?;
    if again == *report {
        Ok(tree.to_file().into_bytes())
    } else {
        Err(fault("it holds a number that is NaN or infinite".to_owned()))
    }
}
