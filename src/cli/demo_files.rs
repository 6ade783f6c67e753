//! The demo workspace, held in the program itself.
//!
//! Laying it out writes nothing over anything: files that are there and equal stay, one that differs is
//! named and nothing is written at all. `flipside.toml` comes last, so a folder becomes a workspace only
//! when it is whole; one that was interrupted is completed by doing it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::escape::escape_os;
use crate::store::atomic::{self, WriteError};
use crate::store::workspace::CONFIG_NAME;

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../", $path)))),*]
    };
}

/// Path below the workspace and content, in the order they are written.
pub const FILES: &[(&str, &[u8])] = embedded![
    "fixtures/demo/README.md",
    "fixtures/demo/artifacts/demo-litter.fp16-raw.onnx",
    "fixtures/demo/artifacts/demo-litter.fp16.meta.json",
    "fixtures/demo/artifacts/demo-litter.fp16.onnx",
    "fixtures/demo/artifacts/demo-litter.fp32.meta.json",
    "fixtures/demo/artifacts/demo-litter.fp32.onnx",
    "fixtures/demo/artifacts/demo-litter.int8.meta.json",
    "fixtures/demo/artifacts/demo-litter.int8.onnx",
    "fixtures/demo/coarse10.toml",
    "fixtures/demo/images/01f4376df2.jpg",
    "fixtures/demo/images/070371c172.jpg",
    "fixtures/demo/images/0dfd241262.jpg",
    "fixtures/demo/images/1130a444a0.jpg",
    "fixtures/demo/images/130bc91950.jpg",
    "fixtures/demo/images/174811504c.jpg",
    "fixtures/demo/images/17520c6396.jpg",
    "fixtures/demo/images/18de3cb29e.jpg",
    "fixtures/demo/images/1a4c1510e2.jpg",
    "fixtures/demo/images/214ed5468d.jpg",
    "fixtures/demo/images/22b545e691.jpg",
    "fixtures/demo/images/2fcf334aac.jpg",
    "fixtures/demo/images/37d30baadd.jpg",
    "fixtures/demo/images/444ba251fb.jpg",
    "fixtures/demo/images/487adf9568.jpg",
    "fixtures/demo/images/4fc44f3d88.jpg",
    "fixtures/demo/images/54f2a9ea19.jpg",
    "fixtures/demo/images/5bf61831bf.jpg",
    "fixtures/demo/images/5c97d1055c.jpg",
    "fixtures/demo/images/67b80a9846.jpg",
    "fixtures/demo/images/6814d99f92.jpg",
    "fixtures/demo/images/69076a8270.jpg",
    "fixtures/demo/images/728556b462.jpg",
    "fixtures/demo/images/74b12f0ff0.jpg",
    "fixtures/demo/images/802041ab8f.jpg",
    "fixtures/demo/images/8803b9d544.jpg",
    "fixtures/demo/images/95a56d991a.jpg",
    "fixtures/demo/images/970e1a9ce5.jpg",
    "fixtures/demo/images/9d276525d8.jpg",
    "fixtures/demo/images/9fc23f6099.jpg",
    "fixtures/demo/images/a1960fbd31.jpg",
    "fixtures/demo/images/a2ffcc8401.jpg",
    "fixtures/demo/images/a3f036923c.jpg",
    "fixtures/demo/images/a8406194d3.jpg",
    "fixtures/demo/images/ad882a10dc.jpg",
    "fixtures/demo/images/ae3de8348d.jpg",
    "fixtures/demo/images/b6aecf2932.jpg",
    "fixtures/demo/images/b72077724b.jpg",
    "fixtures/demo/images/c388fd61c9.jpg",
    "fixtures/demo/images/c69ecedeec.jpg",
    "fixtures/demo/images/d7a086e3cb.jpg",
    "fixtures/demo/images/d94b8654f8.jpg",
    "fixtures/demo/images/de4aa75e1b.jpg",
    "fixtures/demo/images/ec542b078d.jpg",
    "fixtures/demo/images/f02e53ebd8.jpg",
    "fixtures/demo/images/f2a5b7f03a.jpg",
    "fixtures/demo/images/f7fcf68878.jpg",
    "fixtures/demo/images/fb2847bcab.jpg",
    "fixtures/demo/manifest.txt",
    "labels/README.md",
    "sessions/README.md",
    "flipside.toml",
];

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaidOut {
    /// Files that were written.
    pub written: usize,
    /// Files that were there already, equal.
    pub kept: usize,
}

/// Why nothing was laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayOutError {
    /// Something cannot be read.
    #[error("cannot read {}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// What.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A workspace, but not this one.
    #[error("{} is another workspace's; nothing was written", escape_os(.path.as_os_str()))]
    OtherWorkspace {
        /// Its `flipside.toml`.
        path: PathBuf,
    },
    /// A folder in use for something else.
    #[error("expected an empty folder or a demo laid out before, found {}; nothing was written", escape_os(.path.as_os_str()))]
    NotEmpty {
        /// The first thing that is no part of the demo.
        path: PathBuf,
    },
    /// A file of the demo that was changed.
    #[error("{} differs from the demo's; nothing was written", escape_os(.path.as_os_str()))]
    Differs {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Lays the demo workspace out in `root`, which need not exist.
///
/// # Errors
/// `root` is used for something else, a file of the demo was changed, or the disk refuses. Only in the
/// last case anything was written: whole files, without `flipside.toml`.
pub fn lay_out(root: &Path) -> Result<LaidOut, LayOutError> {
    let config = root.join(CONFIG_NAME);
    match content(CONFIG_NAME).map(|wanted| equal(&config, wanted)).transpose()? {
        Some(Some(false)) => return Err(LayOutError::OtherWorkspace { path: config }),
        Some(Some(true)) => {}
        _ => refuse_foreign_files(root)?,
    }
    let mut missing = Vec::new();
    for (path, wanted) in FILES {
        let place = root.join(path);
        match equal(&place, wanted)? {
            Some(true) => {}
            Some(false) => return Err(LayOutError::Differs { path: place }),
            None => missing.push((place, *wanted)),
        }
    }
    for (place, bytes) in &missing {
        atomic::create_new(place, bytes)?;
    }
    Ok(LaidOut { written: missing.len(), kept: FILES.len() - missing.len() })
}

fn content(path: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, bytes)| *bytes)
}

/// Whether the file at `place` holds `wanted`; `None` when nothing is there.
fn equal(place: &Path, wanted: &[u8]) -> Result<Option<bool>, LayOutError> {
    let unreadable = |source| LayOutError::Unreadable { path: place.to_owned(), source };
    let found = match fs::metadata(place) {
        Ok(found) => found,
        // Something that is no folder may also stand where a folder is needed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !found.is_file() || found.len() != wanted.len() as u64 {
        return Ok(Some(false));
    }
    Ok(Some(fs::read(place).map_err(unreadable)? == wanted))
}

/// In a folder that is no workspace yet, everything must be a part of the demo.
fn refuse_foreign_files(root: &Path) -> Result<(), LayOutError> {
    let files: BTreeMap<PathBuf, ()> =
        FILES.iter().map(|(path, _)| (root.join(path), ())).collect();
    let folders: BTreeSet<&Path> = files.keys().flat_map(|path| path.ancestors().skip(1)).collect();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let unreadable = |source| LayOutError::Unreadable { path: folder.clone(), source };
        let listed = match fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unreadable(error)),
        };
        for entry in listed {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            let is_folder = entry.file_type().map_err(unreadable)?.is_dir();
            // What a write that was cut off leaves behind.
            let is_left_over = entry.file_name().to_string_lossy().starts_with(".flipside-");
            if is_folder && folders.contains(path.as_path()) {
                open.push(path);
            } else if !files.contains_key(&path) && !is_left_over {
                return Err(LayOutError::NotEmpty { path });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::manifest::Manifest;
    use crate::domain::taxonomy::Taxonomy;
    use crate::store::workspace::Workspace;

    fn files_below(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("listing") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files_below(&path, root, found);
            } else {
                let below = path.strip_prefix(root).expect("below");
                found.insert(below.to_str().expect("UTF-8").replace('\\', "/"));
            }
        }
    }

    #[test]
    fn the_table_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        files_below(&root.join("fixtures/demo"), root, &mut found);
        // How the set was made, and the answers a rater must not see.
        found.retain(|path| {
            !path.starts_with("fixtures/demo/make/")
                && !path.starts_with("fixtures/demo/weights/")
                && path != "fixtures/demo/truth.json"
                && path != "fixtures/demo/measured.json"
        });
        let embedded: BTreeSet<String> = FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .filter(|path| path.starts_with("fixtures/"))
            .collect();
        assert_eq!(embedded, found);
        assert_eq!(FILES.last().map(|(path, _)| *path), Some(CONFIG_NAME), "written last");
    }

    #[test]
    fn what_is_laid_out_is_a_whole_workspace_and_once_is_enough() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path().join("new/demo");
        let laid_out = lay_out(&root).expect("laid out");
        assert_eq!(laid_out, LaidOut { written: FILES.len(), kept: 0 });
        let workspace = Workspace::open(&root).expect("a workspace");
        let compare = &workspace.config.compare;
        let labels = workspace.config.labels.as_ref().expect("labels");
        for path in compare.candidates.iter().chain([&compare.reference, &compare.sidecar]) {
            assert!(workspace.resolve(path).is_file(), "{}", path.display());
        }
        let manifest = workspace.resolve(&workspace.config.fixtures.manifest);
        let bytes = fs::read(&manifest).expect("read");
        let manifest = Manifest::parse(&bytes, manifest.parent().expect("a folder"));
        let entries = manifest.expect("a manifest").entries;
        assert_eq!(entries.len(), 48);
        assert!(entries.iter().all(|entry| entry.path.is_file()));
        let text = fs::read_to_string(workspace.resolve(&labels.taxonomy)).expect("read");
        assert_eq!(Taxonomy::parse(&text).expect("a taxonomy").leaf_count(), 43);
        // Work done in it does not matter.
        atomic::write(&root.join("sessions/runs.db"), b"x").expect("written");
        atomic::write(&root.join("notes.txt"), b"x").expect("written");
        let again = lay_out(&root).expect("again");
        assert_eq!(again, LaidOut { written: 0, kept: FILES.len() });
    }

    #[test]
    fn an_interrupted_one_is_completed() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (first, bytes) = FILES[1];
        atomic::write(&folder.path().join(first), bytes).expect("written");
        atomic::write(&folder.path().join("fixtures/.flipside-x"), b"").expect("written");
        assert_eq!(lay_out(folder.path()).expect("completed").kept, 1);
    }

    #[test]
    fn nothing_is_written_where_something_else_lies() {
        for (path, message) in [
            ("thesis.doc", "expected an empty folder or a demo laid out before"),
            ("fixtures/demo/extra.jpg", "extra.jpg; nothing was written"),
            ("fixtures/demo/README.md", "README.md differs from the demo's"),
            ("flipside.toml", "flipside.toml is another workspace's"),
        ] {
            let folder = tempfile::tempdir().expect("temporary folder");
            atomic::write(&folder.path().join(path), b"mine").expect("written");
            let error = lay_out(folder.path()).expect_err(path).to_string();
            assert!(error.contains(message), "{error}");
            let mut found = BTreeSet::new();
            files_below(folder.path(), folder.path(), &mut found);
            assert_eq!(found, BTreeSet::from([path.to_owned()]));
        }
    }

    #[test]
    fn a_changed_file_of_a_demo_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("temporary folder");
        lay_out(folder.path()).expect("laid out");
        let manifest = folder.path().join("fixtures/demo/manifest.txt");
        atomic::write(&manifest, b"images/mine.jpg\n").expect("written");
        fs::remove_file(folder.path().join("labels/README.md")).expect("removed");
        assert!(matches!(lay_out(folder.path()), Err(LayOutError::Differs { .. })));
        assert!(!folder.path().join("labels/README.md").exists());
    }
}
