//! Runs one artifact on one tensor. Everything the harness knows of a runtime is behind [`Runner`].

use std::time::{Duration, Instant};

use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{DynValue, TensorElementType, TensorRef};

use super::recipe::InputTensor;
use super::runtime_library::Runtime;
use crate::domain::escape::escape;
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::decision::fold::OutputView;

/// The one provider that is used.
pub(in crate::sighted) const CPU: &str = "CPUExecutionProvider";

/// The one level of graph optimisation that is used; every release takes it.
pub(in crate::sighted) const OPTIMISATION: &str = "all";

/// One output of one run, as f32.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Output {
    /// Its name in the graph.
    pub name: String,
    /// Its axes.
    pub shape: Vec<usize>,
    /// Its elements, in row-major order.
    pub values: Vec<f32>,
}

/// Everything one run gave, in the graph's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Outputs(pub Vec<Output>);

impl Outputs {
    /// As decisions take them.
    pub(in crate::sighted) fn views(&self) -> Vec<OutputView<'_>> {
        self.0
            .iter()
            .map(|output| OutputView {
                name: &output.name,
                shape: &output.shape,
                values: &output.values,
            })
            .collect()
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Ran {
    /// What came out.
    pub outputs: Outputs,
    /// Of the runtime's call alone.
    pub elapsed: Duration,
}

/// Why an artifact did not run. Every text is the runtime's own, escaped to one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum RunnerError {
    /// The runtime does not take the artifact at all.
    #[error("blocked: ONNX Runtime {version} does not load it: {reason}")]
    Blocked {
        /// Of the runtime: another one may take it.
        version: String,
        /// Why.
        reason: String,
    },
    /// The call failed.
    #[error("the run failed: {0}")]
    Failed(String),
    /// An output that is no float tensor.
    #[error("output \"{name}\": expected a float tensor, found {found}")]
    Output {
        /// Which, escaped.
        name: String,
        /// What it is.
        found: String,
    },
}

/// Runs one artifact.
pub(in crate::sighted) trait Runner: Send {
    /// Runs it on one tensor.
    ///
    /// # Errors
    /// The runtime's, or an output that cannot be read.
    fn run(&mut self, input: &InputTensor) -> Result<Ran, RunnerError>;
}

/// ONNX Runtime, on the CPU, with a fixed number of threads.
pub(in crate::sighted) struct OnnxRunner {
    session: Session,
    input: String,
}

impl OnnxRunner {
    /// Builds a session from the very bytes that were hashed and checked.
    ///
    /// # Errors
    /// [`RunnerError::Blocked`] with the runtime's reason.
    pub(in crate::sighted) fn load(
        runtime: &Runtime,
        artifact: &Artifact,
        threads: u32,
    ) -> Result<Self, RunnerError> {
        let blocked = |reason: &str| RunnerError::Blocked {
            version: one_line(&runtime.version),
            reason: one_line(reason),
        };
        let session = build(runtime, artifact.bytes(), threads)
            .map_err(|error| blocked(&error.to_string()))?;
        let input = match session.inputs() {
            [input] => input.name().to_owned(),
            inputs => {
                return Err(blocked(&format!("expected one input, found {}", inputs.len())));
            }
        };
        Ok(Self { session, input })
    }
}

fn build(runtime: &Runtime, bytes: &[u8], threads: u32) -> ort::Result<Session> {
    let threads = usize::try_from(threads).unwrap_or(1).max(1);
    let cpu = ort::ep::CPU::default().with_arena_allocator(true).build().error_on_failure();
    Session::builder(&runtime.environment)?
        .with_execution_providers([cpu])?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        // Idle threads of one side must not take time from the other, nor from decoding.
        .with_intra_op_spinning(false)?
        .commit_from_memory(bytes)
}

impl Runner for OnnxRunner {
    fn run(&mut self, input: &InputTensor) -> Result<Ran, RunnerError> {
        let failed = |error: ort::Error| RunnerError::Failed(one_line(&error.to_string()));
        let tensor =
            TensorRef::from_array_view((input.shape, input.data.as_slice())).map_err(failed)?;
        let begun = Instant::now();
        let outputs =
            self.session.run(ort::inputs! { self.input.as_str() => tensor }).map_err(failed)?;
        let elapsed = begun.elapsed();
        let outputs =
            outputs.iter().map(|(name, value)| read(name, &value)).collect::<Result<_, _>>()?;
        Ok(Ran { outputs: Outputs(outputs), elapsed })
    }
}

/// An output as f32. Half precision widens exactly; double precision is rounded, and what is too large
/// becomes infinite and is counted as such.
fn read(name: &str, value: &DynValue) -> Result<Output, RunnerError> {
    let refused = |found: String| RunnerError::Output { name: escape(name).into_owned(), found };
    let element = value.dtype().tensor_type().ok_or_else(|| refused("no tensor".to_owned()))?;
    let unreadable = |error: ort::Error| refused(one_line(&error.to_string()));
    let (shape, values) = match element {
        TensorElementType::Float32 => {
            let (shape, values) = value.try_extract_tensor::<f32>().map_err(unreadable)?;
            (shape, values.to_vec())
        }
        TensorElementType::Float16 => {
            let (shape, values) = value.try_extract_tensor::<half::f16>().map_err(unreadable)?;
            (shape, values.iter().map(|value| value.to_f32()).collect())
        }
        TensorElementType::Bfloat16 => {
            let (shape, values) = value.try_extract_tensor::<half::bf16>().map_err(unreadable)?;
            (shape, values.iter().map(|value| value.to_f32()).collect())
        }
        TensorElementType::Float64 => {
            let (shape, values) = value.try_extract_tensor::<f64>().map_err(unreadable)?;
            (shape, values.iter().map(|value| *value as f32).collect())
        }
        other => return Err(refused(format!("{other:?}"))),
    };
    let shape = shape.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect();
    Ok(Output { name: name.to_owned(), shape, values })
}

/// A runtime's message as one escaped line, cut where nobody reads on.
fn one_line(text: &str) -> String {
    const MOST: usize = 1000;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape(&line.chars().take(MOST).collect::<String>()).into_owned()
}

/// What a scripted call gives, by its number from 0 and its input.
#[cfg(test)]
pub(in crate::sighted) type Script =
    Box<dyn FnMut(usize, &InputTensor) -> Result<Outputs, RunnerError> + Send>;

/// A runner that does what a test says, and counts.
#[cfg(test)]
pub(in crate::sighted) struct ScriptedRunner {
    /// Calls so far; shared, since the runner itself is given away.
    pub calls: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    /// What a call gives, by its number from 0 and its input.
    pub script: Script,
}

#[cfg(test)]
impl Runner for ScriptedRunner {
    fn run(&mut self, input: &InputTensor) -> Result<Ran, RunnerError> {
        let call = self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(Ran { outputs: (self.script)(call, input)?, elapsed: Duration::from_millis(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_message_is_one_inert_line() {
        assert_eq!(one_line("Type\n  parameter \x1b[31m(T)"), "Type parameter \\x1b[31m(T)");
        assert_eq!(one_line(&"x ".repeat(5000)).chars().count(), 1000);
    }
}
