//! Pixels of fixtures, by hash: the bytes are hashed before they are decoded, so nobody judges another
//! picture than the run saw.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::material::Material;
use crate::domain::digest::FixtureId;
use crate::domain::escape::{escape, escape_os};
use crate::media::decode::{decode_for_model, decode_for_people};
use crate::media::limits::LIMITS;
use crate::media::orientation::Orientation;
use crate::media::resample::{Kernel, resize};
use crate::store::file;
use crate::tui::picture::{Picture, PictureId, PictureSource};

/// Renditions of a fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Rendition {
    /// Upright, as people see it.
    Upright,
    /// Squashed to the model's input, as stored.
    ModelInput,
}

/// The kit's name of a rendition of a fixture.
pub(in crate::sighted) fn picture_id(fixture: FixtureId, rendition: Rendition) -> PictureId {
    PictureId { content: *fixture.as_bytes(), rendition: rendition as u8 }
}

/// Opens fixtures where the material says they lie.
#[derive(Debug, Clone, Default)]
pub(in crate::sighted) struct Fixtures {
    shared: Arc<RwLock<Places>>,
}

#[derive(Debug, Default)]
struct Places {
    paths: HashMap<[u8; 32], PathBuf>,
    input: (u32, u32),
}

impl Fixtures {
    /// Knows every picture of `material` from now on; those known before stay.
    pub(in crate::sighted) fn learn(&self, material: &Material) {
        let mut places = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        places.input = material.input;
        for image in &material.images {
            places.paths.entry(*image.fixture.as_bytes()).or_insert_with(|| image.path.clone());
        }
    }
}

impl PictureSource for Fixtures {
    fn load(&self, id: &PictureId) -> Result<Picture, String> {
        let (path, input) = {
            let places = self.shared.read().unwrap_or_else(PoisonError::into_inner);
            let path = places.paths.get(&id.content).ok_or("not in this report")?;
            (path.clone(), places.input)
        };
        let bytes = read_verified(&path, FixtureId::from_bytes(id.content))?;
        let said =
            |error: crate::media::decode::DecodeError| escape(&error.to_string()).into_owned();
        if id.rendition == Rendition::ModelInput as u8 {
            let decoded = decode_for_model(&bytes).map_err(said)?;
            let pixels = resize(&decoded.picture, input.0, input.1, Kernel::Lanczos3);
            return Ok(Picture { pixels, orientation: Orientation::Upright });
        }
        let upright = decode_for_people(&bytes).map_err(said)?;
        Ok(Picture { pixels: upright.picture, orientation: upright.orientation })
    }
}

/// The bytes at `path`, if they are the ones `expected` names.
///
/// # Errors
/// One line: not readable, too large, or other bytes.
pub(in crate::sighted) fn read_verified(
    path: &Path,
    expected: FixtureId,
) -> Result<Vec<u8>, String> {
    let name = escape_os(path.as_os_str());
    let bytes = file::read(path, LIMITS.file_bytes).map_err(|error| format!("{name}: {error}"))?;
    let found = FixtureId::of(&bytes);
    if found != expected {
        return Err(format!(
            "{name}: the file changed since the run: expected {}, found {}",
            expected.short(),
            found.short()
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::testing::{CLASSES, fixture, report_json};
    use super::*;
    use crate::sighted::review::testing::Fixture;

    /// A 2x1 BMP: red, blue.
    fn bmp() -> Vec<u8> {
        let mut bytes = b"BM".to_vec();
        bytes.extend(62_u32.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(54_u32.to_le_bytes());
        bytes.extend(40_u32.to_le_bytes());
        bytes.extend(2_i32.to_le_bytes());
        bytes.extend(1_i32.to_le_bytes());
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(24_u16.to_le_bytes());
        bytes.extend([0; 24]);
        bytes.extend([0, 0, 255, 255, 0, 0, 0, 0]);
        bytes
    }

    fn source(folder: &Path, sha256: String) -> Fixtures {
        let fixtures = [Fixture { sha256, ..fixture("a.bmp") }];
        let report =
            serde_json::from_value(report_json::report(&fixtures, &CLASSES)).expect("a report");
        let fixtures = Fixtures::default();
        fixtures.learn(&Material::from_report(&report, None, folder).expect("reviewable"));
        fixtures
    }

    #[test]
    fn the_bytes_the_run_saw_are_shown_and_no_others() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("a.bmp");
        crate::store::atomic::write(&path, &bmp()).expect("written");
        let id = FixtureId::of(&bmp());
        let fixtures = source(folder.path(), id.to_hex());
        let shown = fixtures.load(&picture_id(id, Rendition::Upright)).expect("a picture");
        assert_eq!((shown.pixels.width(), shown.pixels.pixel(0, 0)), (2, [255, 0, 0]));
        let squashed = fixtures.load(&picture_id(id, Rendition::ModelInput)).expect("a picture");
        assert_eq!((squashed.pixels.width(), squashed.pixels.height()), (64, 64));
        crate::store::atomic::write(&path, b"BM something else").expect("written");
        let error = fixtures.load(&picture_id(id, Rendition::Upright)).expect_err("changed");
        assert!(error.contains("changed since the run"), "{error}");
        std::fs::remove_file(&path).expect("removed");
        assert!(fixtures.load(&picture_id(id, Rendition::Upright)).is_err());
        let unknown = picture_id(FixtureId::of(b"?"), Rendition::Upright);
        assert!(fixtures.load(&unknown).is_err());
    }

    #[test]
    fn what_is_no_picture_is_one_inert_line() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let bytes = b"not a picture \x1b[2J";
        crate::store::atomic::write(&folder.path().join("a.bmp"), bytes).expect("written");
        let id = FixtureId::of(bytes);
        let error = source(folder.path(), id.to_hex())
            .load(&picture_id(id, Rendition::Upright))
            .expect_err("no picture");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}
