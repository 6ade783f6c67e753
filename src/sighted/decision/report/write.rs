//! A report as bytes: those of Python's `json.dumps(report, indent=2, sort_keys=True)`.

use super::layout::ParityReport;
use super::read::MAX_REPORT_BYTES;
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
/// A number that is NaN or infinite, for which JSON has no text, or more bytes than any reader takes.
pub(in crate::sighted) fn to_bytes(report: &ParityReport) -> Result<Vec<u8>, WriteReportError> {
    let fault = |reason: String| WriteReportError { reason };
    let tree = Json::from_value(report).map_err(|error| fault(error.to_string()))?;
    // A NaN becomes null on the way, which a number cannot be read back from; in an optional field it
    // would be lost silently. So read it back.
    let again: ParityReport = tree.to_typed().map_err(|error| fault(error.reason))?;
    if again != *report {
        return Err(fault("it holds a number that is NaN or infinite".to_owned()));
    }
    within(MAX_REPORT_BYTES, tree.to_file().into_bytes())
}

/// A report that no reader takes is not evidence: better to hear of it while its outputs are at hand.
fn within(limit: u64, bytes: Vec<u8>) -> Result<Vec<u8>, WriteReportError> {
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let reason = format!("it has {} bytes, at most {limit} can be read", bytes.len());
    Err(WriteReportError { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_too_large_to_be_read_is_not_written() {
        assert_eq!(within(3, vec![1, 2, 3]), Ok(vec![1, 2, 3]));
        let error = within(2, vec![1, 2, 3]).expect_err("too large").to_string();
        assert!(error.contains("3 bytes, at most 2"), "{error}");
    }
}
