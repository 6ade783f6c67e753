//! The ONNX Runtime library, for the command line: is it there, what is it, fetch it.

use std::path::{Path, PathBuf};

use crate::domain::escape::{escape, escape_os};
use crate::sighted::harness::environment::cpu_features;
use crate::sighted::harness::runtime_library::{
    Library, ManagedFolder, PINNED_VERSION, Pin, RuntimeError, ensure, load, locate,
};

/// A runtime that is there and can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeFacts {
    /// The library.
    pub path: PathBuf,
    /// Of its bytes.
    pub sha256: String,
    /// Installed by this program, hash checked; otherwise named by the user.
    pub managed: bool,
    /// As the library says.
    pub version: String,
    /// Providers compiled in; not all need be usable.
    pub providers: Vec<String>,
    /// What a person should know about it.
    pub warning: Option<String>,
    /// What the processor has that a quantised model's arithmetic may depend on.
    pub cpu_features: Vec<String>,
}

/// What would be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeOffer {
    /// Release.
    pub version: &'static str,
    /// Size of the download.
    pub bytes: u64,
    /// Sha256 of the download.
    pub sha256: &'static str,
    /// Where it would lie.
    pub folder: PathBuf,
}

/// Whether there is a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeState {
    /// The library is there; it was not loaded.
    Found,
    /// It is not, and could be installed.
    CanInstall {
        /// What was looked for, and where.
        problem: String,
        /// What would be fetched.
        offer: RuntimeOffer,
    },
}

/// Looks for the library without loading it.
///
/// # Errors
/// It is not there and cannot be installed either.
pub fn runtime_state(named: Option<&Path>) -> anyhow::Result<RuntimeState> {
    let managed = ManagedFolder::of_this_user();
    match locate(named, managed.as_ref()) {
        Ok(_) => Ok(RuntimeState::Found),
        Err(problem @ (RuntimeError::Missing { .. } | RuntimeError::Altered { .. })) => {
            match (managed, Pin::for_this_machine()) {
                (Some(managed), Some(pin)) => Ok(RuntimeState::CanInstall {
                    problem: problem.to_string(),
                    offer: RuntimeOffer {
                        version: PINNED_VERSION,
                        bytes: pin.wheel_bytes,
                        sha256: pin.wheel_sha256,
                        folder: managed.folder,
                    },
                }),
                _ => Err(problem.into()),
            }
        }
        Err(problem) => Err(problem.into()),
    }
}

/// Installs the library if it is not there, and gives its path. Nobody is asked: the caller did that.
///
/// # Errors
/// It is not there and cannot be installed.
pub fn ensure_runtime(named: Option<&Path>, say: &dyn Fn(&str)) -> anyhow::Result<PathBuf> {
    Ok(ensure(named, ManagedFolder::of_this_user().as_ref(), say)?.path)
}

/// Loads the library that is there and says what it is.
///
/// # Errors
/// It is not there, cannot be loaded or is too old.
pub fn runtime_facts(named: Option<&Path>) -> anyhow::Result<RuntimeFacts> {
    let library = locate(named, ManagedFolder::of_this_user().as_ref())?;
    let runtime = load(&library)?;
    let Library { path, sha256, managed } = library;
    Ok(RuntimeFacts {
        path,
        sha256: sha256.to_hex(),
        managed,
        version: runtime.version.clone(),
        providers: runtime.providers.clone(),
        warning: runtime.warning.clone(),
        cpu_features: cpu_features(),
    })
}

impl RuntimeFacts {
    /// Lines for people, escaped.
    pub fn to_text(&self) -> String {
        let origin = if self.managed { "installed by flipside, sha256 as pinned" } else { "named" };
        let list = |items: &[String]| {
            let text = items.iter().map(|item| escape(item)).collect::<Vec<_>>().join(", ");
            if text.is_empty() { "none".to_owned() } else { text }
        };
        let mut text = format!(
            "runtime    ONNX Runtime {}\nlibrary    {} ({origin})\nsha256     {}\nproviders  {} (compiled in; runs use CPU)\nprocessor  {}\n",
            escape(&self.version),
            escape_os(self.path.as_os_str()),
            self.sha256,
            list(&self.providers),
            list(&self.cpu_features),
        );
        if let Some(warning) = &self.warning {
            text.push_str(&format!("warning    {warning}\n"));
        }
        text
    }

    /// The same for programs.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": "onnxruntime",
            "version": self.version,
            "path": self.path.to_string_lossy(),
            "sha256": self.sha256,
            "managed": self.managed,
            "providers": self.providers,
            "cpu_features": self.cpu_features,
            "warning": self.warning,
        })
    }
}
