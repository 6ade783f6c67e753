//! One picture in a folder of its own, for people whose terminal shows none: they open it with a viewer
//! they have. Always the same name, re-encoded, so neither name nor metadata say anything.

use std::path::PathBuf;

use image::ImageEncoder as _;

use crate::media::pixels::RgbImage;
use crate::store::atomic;

/// The file's name.
const NAME: &str = "picture.png";

/// The folder; it goes when this is dropped.
#[derive(Debug)]
pub struct ViewPlace {
    folder: tempfile::TempDir,
}

/// Why the picture could not be put there.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// It could not be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encode(String),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] atomic::WriteError),
}

impl ViewPlace {
    /// A new folder among the system's temporary ones.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> std::io::Result<Self> {
        tempfile::Builder::new().prefix("flipside-view-").tempdir().map(|folder| Self { folder })
    }

    /// The folder.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Puts `picture` there, in place of the one before, and says where.
    ///
    /// # Errors
    /// See [`ViewError`].
    pub fn put(&self, picture: &RgbImage) -> Result<PathBuf, ViewError> {
        let mut png = Vec::new();
        image::codecs::png::PngEncoder::new(&mut png)
            .write_image(
                picture.rgb(),
                picture.width(),
                picture.height(),
                image::ExtendedColorType::Rgb8,
            )
            .map_err(|error| ViewError::Encode(error.to_string()))?;
        let path = self.folder.path().join(NAME);
        atomic::write(&path, &png)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_there_and_goes_with_the_place() {
        let place = ViewPlace::new().expect("a folder");
        let folder = place.folder();
        for shade in [10, 200] {
            let picture = RgbImage::from_fn(3, 2, |_, _| [shade, 0, 0]);
            let path = place.put(&picture).expect("written");
            let back = image::open(&path).expect("a picture").to_rgb8();
            assert_eq!((back.dimensions(), back.get_pixel(2, 1).0), ((3, 2), [shade, 0, 0]));
        }
        assert_eq!(std::fs::read_dir(&folder).expect("listing").count(), 1);
        drop(place);
        assert!(!folder.exists());
    }
}
