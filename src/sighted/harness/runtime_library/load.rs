//! Loads the library once for the whole process: asks its version before anything else, refuses old ones,
//! and makes the one environment with telemetry off and its log kept away from the terminal.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;

use super::{CONTAINED_SINCE, Library, OLDEST, RuntimeError};
use crate::domain::escape::escape;

/// A loaded runtime; there is one per process.
#[derive(Debug)]
pub(in crate::sighted) struct Runtime {
    /// The file it came from.
    pub library: Library,
    /// As the library says, for example `1.32.0`.
    pub version: String,
    /// Providers compiled in. That one is listed does not mean that it can be used.
    pub providers: Vec<String>,
    /// What a person should know about it.
    pub warning: Option<String>,
    pub(in crate::sighted::harness) environment: Environment,
}

static LOADED: Mutex<Option<&'static Runtime>> = Mutex::new(None);

/// Loads `library`. Later calls give the runtime that is loaded already.
///
/// # Errors
/// It cannot be loaded or is too old, or another one is loaded.
pub(in crate::sighted) fn load(library: &Library) -> Result<&'static Runtime, RuntimeError> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = *loaded {
        if runtime.library.sha256 == library.sha256 {
            return Ok(runtime);
        }
        return Err(unloadable(&library.path, "another library is loaded in this process"));
    }
    let version = ask_version(&library.path)?;
    let number = parse_version(&version)
        .ok_or_else(|| unloadable(&library.path, &format!("its version reads {version:?}")))?;
    if number < OLDEST {
        return Err(RuntimeError::TooOld { path: library.path.clone(), found: version });
    }
    let warning = (number < CONTAINED_SINCE).then(|| {
        format!(
            "ONNX Runtime {} reads files a graph names outside its folder; graphs that name any are refused before it sees them",
            escape(&version)
        )
    });
    let environment = environment(&library.path)?;
    let runtime = Box::leak(Box::new(Runtime {
        library: library.clone(),
        version,
        providers: available_providers(),
        warning,
        environment,
    }));
    *loaded = Some(runtime);
    Ok(runtime)
}

fn unloadable(path: &Path, reason: &str) -> RuntimeError {
    RuntimeError::Unloadable { path: path.to_owned(), reason: reason.to_owned() }
}

/// Major and minor.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

fn environment(path: &Path) -> Result<Environment, RuntimeError> {
    // Whatever it wants to say would tear the screen; what matters comes back as an error.
    let silent = |_: LogLevel, _: &str, _: &str, _: &str, _: &str| {};
    let environment = ort::init_from(path)
        .map_err(|error| unloadable(path, &error.to_string()))?
        .with_name("flipside")
        .with_telemetry(false)
        .with_logger(Arc::new(silent))
        .build()
        .map_err(|error| unloadable(path, &error.to_string()))?;
    // A logger of one's own is asked about every detail unless told otherwise.
    environment.set_log_level(LogLevel::Error);
    Ok(environment)
}

/// First part of the runtime's entry table, stable since its first release.
#[repr(C)]
struct ApiBase {
    get_api: unsafe extern "C" fn(u32) -> *const std::ffi::c_void,
    get_version: unsafe extern "C" fn() -> *const c_char,
}

/// Asks a library for its version without setting it up.
#[expect(unsafe_code, reason = "a C library is asked; each call says why it is sound")]
fn ask_version(path: &Path) -> Result<String, RuntimeError> {
    // SAFETY: loading runs the library's initialisers; the user named the file or we checked its hash.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
        // The outer error only says which call failed.
        let detail = std::error::Error::source(&error).map(ToString::to_string);
        unloadable(path, &one_line(&detail.unwrap_or_else(|| error.to_string())))
    })?;
    // SAFETY: the name belongs to this signature in every release of the runtime.
    let entry =
        unsafe { library.get::<unsafe extern "C" fn() -> *const ApiBase>(b"OrtGetApiBase\0") }
            .map_err(|_| unloadable(path, "it has no OrtGetApiBase: not ONNX Runtime"))?;
    // SAFETY: takes nothing and returns a pointer to a static table, or null.
    let base = unsafe { entry().as_ref() }
        .ok_or_else(|| unloadable(path, "OrtGetApiBase returned nothing"))?;
    // SAFETY: takes nothing and returns a static text, or null.
    let text = unsafe { (base.get_version)() };
    if text.is_null() {
        return Err(unloadable(path, "it does not say its version"));
    }
    // SAFETY: not null, and the text ends with a zero byte.
    let version = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // Unloading and loading again would run initialisers twice.
    std::mem::forget(library);
    Ok(version)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names of the providers compiled into the loaded library.
#[expect(unsafe_code, reason = "the wrapper has no call for this")]
fn available_providers() -> Vec<String> {
    let api = ort::api();
    let mut names: *mut *mut c_char = std::ptr::null_mut();
    let mut count: c_int = 0;
    // SAFETY: both pointers are to live variables; the library fills them and owns the list until released.
    let status = unsafe { (api.GetAvailableProviders)(&mut names, &mut count) };
    if !status.0.is_null() {
        // SAFETY: a status that is not null is released once.
        unsafe { (api.ReleaseStatus)(status.0) };
        return Vec::new();
    }
    let mut providers = Vec::new();
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: `names` holds `count` texts that end with a zero byte.
        let name = unsafe { CStr::from_ptr(*names.add(index)) };
        providers.push(name.to_string_lossy().into_owned());
    }
    // SAFETY: the list came from the call above and is released once.
    let status = unsafe { (api.ReleaseAvailableProviders)(names, count) };
    if !status.0.is_null() {
        // SAFETY: as above.
        unsafe { (api.ReleaseStatus)(status.0) };
    }
    providers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::ContentHash;
    use crate::store::atomic;

    #[test]
    fn a_file_that_is_no_library_is_one_line_with_its_name() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("not-a-library.so");
        for bytes in [&b"text"[..], b""] {
            atomic::write(&path, bytes).expect("written");
            let library =
                Library { path: path.clone(), sha256: ContentHash::of(bytes), managed: false };
            let error = load(&library).expect_err("refused").to_string();
            assert!(error.contains("not-a-library.so"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse_version("1.32.0"), Some((1, 32)));
        assert!(parse_version("1.9.1") < Some(OLDEST));
        assert!(parse_version("1.23.2") >= Some(OLDEST));
        assert!(parse_version("1.23.2") < Some(CONTAINED_SINCE));
        assert_eq!(parse_version("nonsense"), None);
    }
}
