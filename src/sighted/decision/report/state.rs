//! What a shard's report cannot say in its own layout and joining needs: sums with what rounding lost,
//! the buckets and values behind its quantiles, and the single run times.
//!
//! Bytes: one line of canonical JSON, then for each output its absolute and its relative stream, each as
//! the counts of its buckets and its largest values in descending order, then the run times of both sides; every number of these is 8 bytes, little-endian. The report names the file
//! with its sha256, so a state never meets another report.

use serde::{Deserialize, Serialize};

use super::layout::Sides;
use crate::domain::canonical::Json;
use crate::sighted::decision::tensor_delta::{
    ABS_SHARE, DeltaSums, OutputTotals, REL_SHARE, Spread,
};
use crate::stats::quantile::{QuantileStream, Sketch};

/// Largest state file, in bytes.
pub(in crate::sighted) const MAX_STATE_BYTES: u64 = 512 << 20;

/// The first line is no longer than this.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// What joining needs beside the report.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct MergeState {
    /// Totals of each output, in the reference's order; empty when nothing was compared.
    pub outputs: Vec<OutputTotals>,
    /// Largest change of confidence in each fixture.
    pub confidence: Spread,
    /// Times of the `run` calls in milliseconds.
    pub run_ms: Sides<Vec<f64>>,
}

/// Why bytes are not a merge state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a merge state: {reason}")]
pub(in crate::sighted) struct StateError {
    /// What was expected or found.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    schema: u32,
    outputs: Vec<OutputHead>,
    confidence: Spread,
    runs: Sides<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutputHead {
    sums: DeltaSums,
    image_max: Spread,
    abs: StreamHead,
    rel: StreamHead,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamHead {
    zeros: u64,
    first: u64,
    buckets: u64,
    values: u64,
}

impl MergeState {
    /// The bytes of the companion file.
    ///
    /// # Errors
    /// A number that JSON cannot hold; finite outputs never give one.
    pub(in crate::sighted) fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let head = Head {
            schema: 1,
            outputs: self.outputs.iter().map(OutputHead::of).collect(),
            confidence: self.confidence,
            runs: Sides { a: self.run_ms.a.len() as u64, b: self.run_ms.b.len() as u64 },
        };
        let head = Json::from_value(&head).map_err(|error| fault(&error.to_string()))?;
        let mut bytes = head.to_canonical().into_bytes();
        bytes.push(b'\n');
        for stream in self.outputs.iter().flat_map(|output| [&output.abs, &output.rel]) {
            let (counts, largest) = stream.parts();
            for count in counts.parts().2 {
                bytes.extend_from_slice(&count.to_le_bytes());
            }
            put_values(&mut bytes, &largest);
        }
        put_values(&mut bytes, &self.run_ms.a);
        put_values(&mut bytes, &self.run_ms.b);
        Ok(bytes)
    }

    /// Reads the bytes of a companion file.
    ///
    /// # Errors
    /// Anything that [`MergeState::to_bytes`] would not have written.
    pub(in crate::sighted) fn parse(bytes: &[u8]) -> Result<Self, StateError> {
        let searched = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
        let end = searched.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| fault("its first line does not end"))?;
        let head = Json::parse(&bytes[..end]).and_then(|json| json.to_typed::<Head>());
        let head = head.map_err(|error| fault(&error.reason))?;
        if head.schema != 1 {
            return Err(fault(&format!("expected schema 1, found {}", head.schema)));
        }
        let mut rest = Numbers { bytes: &bytes[end + 1..] };
        let mut outputs = Vec::new();
        for output in head.outputs {
            outputs.push(OutputTotals {
                abs: rest.stream(ABS_SHARE, output.abs, output.sums.compared)?,
                rel: rest.stream(REL_SHARE, output.rel, output.sums.rel_compared)?,
                sums: output.sums,
                image_max: output.image_max,
            });
        }
        let run_ms = Sides { a: rest.values(head.runs.a)?, b: rest.values(head.runs.b)? };
        if !rest.bytes.is_empty() {
            return Err(fault(&format!("{} bytes follow its end", rest.bytes.len())));
        }
        Ok(Self { outputs, confidence: head.confidence, run_ms })
    }
}

impl OutputHead {
    fn of(output: &OutputTotals) -> Self {
        let stream = |stream: &QuantileStream| {
            let (counts, largest) = stream.parts();
            let (zeros, first, counts) = counts.parts();
            StreamHead {
                zeros,
                first: first as u64,
                buckets: counts.len() as u64,
                values: largest.len() as u64,
            }
        };
        Self {
            sums: output.sums.clone(),
            image_max: output.image_max,
            abs: stream(&output.abs),
            rel: stream(&output.rel),
        }
    }
}

/// Reads 8-byte numbers off the front.
struct Numbers<'a> {
    bytes: &'a [u8],
}

impl Numbers<'_> {
    fn take(&mut self, count: u64) -> Result<impl Iterator<Item = [u8; 8]> + '_, StateError> {
        let wanted = usize::try_from(count).ok().and_then(|count| count.checked_mul(8));
        let split = wanted.and_then(|wanted| self.bytes.split_at_checked(wanted));
        let (taken, rest) = split.ok_or_else(|| fault("it ends too early"))?;
        self.bytes = rest;
        Ok(taken.chunks_exact(8).map(|chunk| {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            number
        }))
    }

    fn values(&mut self, count: u64) -> Result<Vec<f64>, StateError> {
        let values: Vec<f64> = self.take(count)?.map(f64::from_le_bytes).collect();
        if values.iter().all(|value| value.is_finite() && *value >= 0.0) {
            Ok(values)
        } else {
            Err(fault("expected finite values from 0 on"))
        }
    }

    fn stream(
        &mut self,
        share: f64,
        head: StreamHead,
        expected: u64,
    ) -> Result<QuantileStream, StateError> {
        let counts = self.take(head.buckets)?.map(u64::from_le_bytes).collect();
        let first = usize::try_from(head.first).unwrap_or(usize::MAX);
        let counts = Sketch::from_parts(head.zeros, first, counts)
            .ok_or_else(|| fault("its buckets do not fit"))?;
        let largest = self.values(head.values)?;
        let stream = QuantileStream::from_parts(share, counts, &largest)
            .ok_or_else(|| fault("its values are not the largest of those counted"))?;
        if stream.count() == expected {
            Ok(stream)
        } else {
            Err(fault(&format!("expected {expected} values, found {}", stream.count())))
        }
    }
}

fn put_values(bytes: &mut Vec<u8>, values: &[f64]) {
    for value in values {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
}

fn fault(reason: &str) -> StateError {
    StateError { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::tensor_delta::DeltaFold;
    use crate::stats::quantile::EXACT_LIMIT;

    fn state() -> MergeState {
        let mut outputs = vec![OutputTotals::new("dets"), OutputTotals::new("labels")];
        outputs[0].add(&DeltaFold::of("dets", &[1.0, 2.0, 0.0], &[1.5, f32::NAN, 0.1]));
        outputs[1].add(&DeltaFold::of("labels", &[0.1], &[0.3]));
        let mut confidence = Spread::default();
        confidence.add(0.1);
        confidence.add(0.7);
        MergeState { outputs, confidence, run_ms: Sides { a: vec![1.25], b: vec![3.0, 4.5] } }
    }

    #[test]
    fn bytes_read_back_equal() {
        let state = state();
        let bytes = state.to_bytes().expect("finite");
        assert_eq!(MergeState::parse(&bytes), Ok(state));
        let empty = MergeState::default();
        assert_eq!(MergeState::parse(&empty.to_bytes().expect("finite")), Ok(empty));
    }

    #[test]
    fn a_sketch_reads_back_equal() {
        let mut state = state();
        let mut sketch = QuantileStream::keeping(ABS_SHARE);
        sketch.extend(&vec![0.5; EXACT_LIMIT]);
        sketch.extend(&[0.0, 7.5]);
        state.outputs[0].sums.compared = sketch.count();
        state.outputs[0].abs = sketch;
        let bytes = state.to_bytes().expect("finite");
        assert_eq!(MergeState::parse(&bytes), Ok(state));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = state().to_bytes().expect("finite");
        for end in 0..bytes.len() {
            assert!(MergeState::parse(&bytes[..end]).is_err(), "cut at {end}");
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').expect("a line end");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let with = |from: &str, to: &str| {
            let mut changed = head.replace(from, to).into_bytes();
            changed.extend_from_slice(&bytes[end..]);
            MergeState::parse(&changed).expect_err("refused").reason
        };
        assert!(with("\"schema\":1", "\"schema\":2").contains("schema 1"));
        assert!(with("\"values\":2", "\"values\":1").contains("not the largest"));
        assert!(with("\"values\":2", "\"values\":99999999").contains("ends too early"));
        assert!(with("\"buckets\":", "\"buckets\":9").contains("ends too early"));
        assert!(with("\"compared\":2", "\"compared\":3").contains("expected 3 values, found 2"));
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(MergeState::parse(&longer).is_err());
        let mut poisoned = bytes;
        let last = poisoned.len() - 8;
        poisoned[last..].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(MergeState::parse(&poisoned).expect_err("refused").reason.contains("finite"));
    }
}
