//! Every rater's sealed label files: read, compared, exported, taken over from other tools.
//!
//! Only sealed files count; what a rater has not sealed is nobody's business here.

pub(in crate::sighted) mod agreement;
pub(in crate::sighted) mod agreement_text;
pub(in crate::sighted) mod export;
pub(in crate::sighted) mod import;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::escape::escape_os;
use crate::store::label_file::{LabelFile, LabelFileError};

/// A label file and its place.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Sealed {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub file: LabelFile,
}

/// Why the label files of a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum SealedError {
    /// The folder.
    #[error("cannot list {}: {source}", escape_os(.path.as_os_str()))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// One of the files.
    #[error(transparent)]
    File(#[from] LabelFileError),
}

/// Every label file of a folder, by name; a folder that is not there holds none.
///
/// # Errors
/// The first file that cannot be used: numbers made from the rest would be of another set.
pub(in crate::sighted) fn read_folder(folder: &Path) -> Result<Vec<Sealed>, SealedError> {
    let failed = |source| SealedError::Folder { path: folder.to_owned(), source };
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in listing {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| -> Result<Sealed, SealedError> {
        Ok(Sealed { file: LabelFile::read(&path)?, path })
    };
    paths.into_iter().map(read).collect()
}

/// The files that count by default: first seals. Amendments stand beside them, never instead.
pub(in crate::sighted) fn first_seals(files: &[Sealed]) -> impl Iterator<Item = &Sealed> {
    files.iter().filter(|sealed| sealed.file.header.supersedes.is_none())
}

#[cfg(test)]
pub(in crate::sighted) mod testing {
    //! Label files made by hand.

    use super::*;
    use crate::domain::digest::{FixtureId, ManifestHash, TaxonomyHash};
    use crate::domain::label::{CategoryState, Certainty, Label, Presence};
    use crate::domain::shard::Shard;
    use crate::store::label_file::{BlindStatus, Confinement, LabelHeader, LabelLine, SkippedLine};

    /// A header of `rater`'s shard `index` of 4.
    pub(in crate::sighted) fn header(rater: &str, index: u32) -> LabelHeader {
        LabelHeader {
            product: "flipside 0.1.0".to_owned(),
            manifest: ManifestHash::of(b"m"),
            fixture_count: 8,
            taxonomy: TaxonomyHash::of(b"t"),
            groups: vec!["bottles".to_owned(), "cans".to_owned()],
            shard: Shard { index, of: 4 },
            seed: 0,
            overlap: 0.3,
            repeats: 0.05,
            rater: rater.parse().expect("a name"),
            opened_at: "2026-02-03T04:05:06+00:00".to_owned(),
            sealed_at: format!("2026-02-03T05:0{index}:06+00:00"),
            chain_head: None,
            blind: BlindStatus::Enforced,
            confinement: Confinement::Landlock,
            supersedes: None,
        }
    }

    /// An answer: fixture number, pass, then `n` for clean or `y` with category words such as `b` for
    /// bottles present, `c?` for cans unsure.
    pub(in crate::sighted) fn line(fixture: u8, pass: u8, words: &str) -> LabelLine {
        let mut label = Label {
            presence: Presence::Clean,
            categories: Default::default(),
            certainty: Certainty::High,
            not_photograph: None,
            note: String::new(),
        };
        for word in words.split_whitespace() {
            let mut set = |name: &str, state| label.categories.insert(name.to_owned(), state);
            match word {
                "y" => label.presence = Presence::Litter,
                "b" => drop(set("bottles", CategoryState::Present)),
                "b?" => drop(set("bottles", CategoryState::Unsure)),
                "c" => drop(set("cans", CategoryState::Present)),
                "c?" => drop(set("cans", CategoryState::Unsure)),
                _ => {}
            }
        }
        LabelLine {
            fixture: FixtureId::of(&[fixture]),
            pass,
            label,
            labelled_at: "2026-02-03T04:30:06+00:00".to_owned(),
            seconds: Some(2.5),
            exposed: false,
            seen_as: None,
            amended: None,
        }
    }

    /// A sealed file.
    pub(in crate::sighted) fn sealed(rater: &str, index: u32, lines: Vec<LabelLine>) -> Sealed {
        let header = header(rater, index);
        let path = PathBuf::from(format!("labels/{index}.{rater}.jsonl"));
        Sealed { path, file: LabelFile::new(header, lines, Vec::<SkippedLine>::new()) }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{header, line};
    use super::*;

    #[test]
    fn a_folder_gives_its_files_in_order_or_names_the_bad_one() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(read_folder(&folder.path().join("none")).expect("empty"), Vec::new());
        for rater in ["bob", "ada"] {
            let file = LabelFile::new(header(rater, 1), vec![line(1, 1, "n")], Vec::new());
            file.create_in(folder.path()).expect("written");
        }
        crate::store::atomic::write(&folder.path().join("README.md"), b"x").expect("written");
        let files = read_folder(folder.path()).expect("readable");
        let raters: Vec<&str> = files.iter().map(|it| it.file.header.rater.as_str()).collect();
        assert_eq!(raters, ["ada", "bob"]);
        assert_eq!(first_seals(&files).count(), 2);
        crate::store::atomic::write(&folder.path().join("bad.jsonl"), b"{}\n").expect("written");
        let error = read_folder(folder.path()).expect_err("a bad file");
        assert!(error.to_string().contains("bad.jsonl"));
    }
}
