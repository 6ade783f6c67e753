//! The preprocessing recipe: a picture to the tensor both artifacts get, and the hash that names how.
//!
//! Knows no runtime. The arithmetic is that of numpy in f32, bit for bit: mean and deviation are rounded
//! to f32 first, then each value is divided by 255, less the mean, divided by the deviation, each step
//! rounded. A value has only 256 levels, so the steps are done once per level and channel.

use std::collections::BTreeMap;

use crate::domain::canonical::Json;
use crate::domain::digest::{RecipeHash, TensorHash};
use crate::media::decode::DECODER_VERSIONS;
use crate::media::pixels::RgbImage;
use crate::media::resample::{Kernel, resize};

/// Name of the one recipe there is.
pub(in crate::sighted) const RECIPE_NAME: &str = "squash-lanczos3-pillow/1";

/// Largest input side a sidecar may ask for.
const MAX_SIDE: u32 = 4096;

/// How a decoded picture becomes an input tensor.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Recipe {
    width: u32,
    height: u32,
    mean: [f64; 3],
    std: [f64; 3],
    /// The f32 of each channel and level.
    levels: Box<[[f32; 256]; 3]>,
}

/// Numbers that make no recipe.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::sighted) enum RecipeError {
    /// A side is 0 or too large.
    #[error("input size: expected sides from 1 to {MAX_SIDE}, found {width}x{height}")]
    Side {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// A mean or deviation that gives no finite number.
    #[error("normalisation: expected finite means and deviations above 0, found {what} {value}")]
    Normalisation {
        /// `mean` or `std`.
        what: &'static str,
        /// As found.
        value: f64,
    },
}

/// What both artifacts are run on.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct InputTensor {
    /// `[1, 3, height, width]`
    pub shape: [usize; 4],
    /// Channel after channel, row after row.
    pub data: Vec<f32>,
    /// Of the little-endian bytes of `data`.
    pub hash: TensorHash,
}

impl Recipe {
    /// The recipe for a sidecar's input size and channel statistics, RGB.
    ///
    /// # Errors
    /// A side is out of range, or a channel statistic is not usable.
    pub(in crate::sighted) fn new(
        width: u32,
        height: u32,
        mean: [f64; 3],
        std: [f64; 3],
    ) -> Result<Self, RecipeError> {
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            return Err(RecipeError::Side { width, height });
        }
        for value in mean {
            if !(value as f32).is_finite() {
                return Err(RecipeError::Normalisation { what: "mean", value });
            }
        }
        for value in std {
            if !((value as f32).is_normal() && value > 0.0) {
                return Err(RecipeError::Normalisation { what: "std", value });
            }
        }
        let mut levels = Box::new([[0.0; 256]; 3]);
        for ((channel, mean), std) in levels.iter_mut().zip(mean).zip(std) {
            for (level, value) in channel.iter_mut().zip(0_u8..=255) {
                *level = (f32::from(value) / 255.0 - mean as f32) / std as f32;
            }
        }
        Ok(Self { width, height, mean, std, levels })
    }

    /// Width of the input.
    pub(in crate::sighted) const fn width(&self) -> u32 {
        self.width
    }

    /// Height of the input.
    pub(in crate::sighted) const fn height(&self) -> u32 {
        self.height
    }

    /// Everything that decides the bits of a tensor, in a fixed form.
    pub(in crate::sighted) fn description(&self) -> Json {
        let text = |value: &str| Json::Text(value.to_owned());
        let numbers = |values: [f64; 3]| Json::Array(values.into_iter().map(Json::Float).collect());
        let object = |fields: Vec<(&str, Json)>| {
            let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
            Json::Object(fields.collect::<BTreeMap<_, _>>())
        };
        let size = [self.width, self.height].map(|side| Json::Int(side.to_string()));
        object(vec![
            ("name", text(RECIPE_NAME)),
            (
                "decoder",
                object(DECODER_VERSIONS.map(|(name, version)| (name, text(version))).to_vec()),
            ),
            ("frame", text("first")),
            ("orientation", text("as stored, EXIF ignored; TIFF turned on opening")),
            ("alpha", text("dropped, not composited")),
            ("grey16", text("clipped at 255")),
            ("color", text("RGB, profiles ignored")),
            (
                "resize",
                object(vec![
                    ("how", text("squash")),
                    ("kernel", text("lanczos3")),
                    ("rules", text("pillow<=12")),
                    (
                        "passes",
                        text(
                            "width first, height second, 8 bit between; height first when higher than 100 widths and shrunk",
                        ),
                    ),
                    ("size", Json::Array(size.to_vec())),
                ]),
            ),
            (
                "normalise",
                object(vec![
                    ("formula", text("(value / 255 - mean) / std, f32 at every step")),
                    ("mean", numbers(self.mean)),
                    ("std", numbers(self.std)),
                ]),
            ),
            ("dtype", text("float32")),
            ("layout", text("NCHW")),
        ])
    }

    /// The hash of [`Self::description`].
    pub(in crate::sighted) fn hash(&self) -> RecipeHash {
        RecipeHash::of(self.description().to_canonical().as_bytes())
    }

    /// The picture squashed to the input's size: what the model gets to see, and what a reviewer is shown
    /// as such.
    pub(in crate::sighted) fn what_the_model_saw(&self, picture: &RgbImage) -> RgbImage {
        resize(picture, self.width, self.height, Kernel::Lanczos3)
    }

    /// The input tensor of what the model gets to see, as [`Self::what_the_model_saw`] gives it.
    pub(in crate::sighted) fn tensor(&self, squashed: &RgbImage) -> InputTensor {
        let pixels = squashed.rgb();
        let mut data: Vec<f32> = Vec::with_capacity(pixels.len());
        for (channel, levels) in self.levels.iter().enumerate() {
            data.extend(
                pixels[channel..].iter().step_by(3).map(|value| levels[usize::from(*value)]),
            );
        }
        let bytes: Vec<[u8; 4]> = data.iter().map(|value| value.to_le_bytes()).collect();
        let hash = TensorHash::of(bytes.as_flattened());
        InputTensor { shape: [1, 3, self.height as usize, self.width as usize], data, hash }
    }
}

#[cfg(test)]
mod tests {

    use rayon::prelude::*;

    use super::*;
    use crate::media::decode::decode_for_model;
    use crate::shared_dir::shared_dir;

    const MEAN: [f64; 3] = [0.485, 0.456, 0.406];
    const STD: [f64; 3] = [0.229, 0.224, 0.225];

    #[test]
    fn sizes_and_statistics_that_make_no_recipe_are_refused() {
        assert!(Recipe::new(1, MAX_SIDE, MEAN, STD).is_ok());
        for (width, height) in [(0, 1), (1, 0), (MAX_SIDE + 1, 1), (1, MAX_SIDE + 1)] {
            let error = Recipe::new(width, height, MEAN, STD).expect_err("size");
            assert_eq!(error, RecipeError::Side { width, height });
        }
        for bad in [f64::NAN, f64::INFINITY, 1e300] {
            let error = Recipe::new(4, 4, [0.0, bad, 0.0], STD).expect_err("mean");
            assert!(matches!(error, RecipeError::Normalisation { what: "mean", .. }));
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-60] {
            let error = Recipe::new(4, 4, MEAN, [0.2, 0.2, bad]).expect_err("std");
            assert!(matches!(error, RecipeError::Normalisation { what: "std", .. }));
        }
    }

    #[test]
    fn description_is_pinned() {
        let recipe = Recipe::new(416, 320, MEAN, STD).expect("valid");
        insta::assert_snapshot!(recipe.description().to_file());
        assert_eq!(recipe.hash(), RecipeHash::of(recipe.description().to_canonical().as_bytes()));
        let other = Recipe::new(320, 416, MEAN, STD).expect("valid");
        assert_ne!(recipe.hash(), other.hash());
    }

    #[test]
    fn tensor_is_planar_and_its_steps_are_rounded_to_f32() {
        let recipe = Recipe::new(2, 1, MEAN, STD).expect("valid");
        let picture = RgbImage::new(2, 1, vec![0, 1, 2, 253, 254, 255]).expect("six bytes");
        let tensor = recipe.tensor(&picture);
        assert_eq!(tensor.shape, [1, 3, 1, 2]);
        // Computed with numpy 2.4 in f32.
        let bits: Vec<u32> = tensor.data.iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, PINNED_BITS);
    }

    const PINNED_BITS: [u32; 6] =
        [0xc007_8bbd, 0x400d_bcf8, 0xc001_2a4f, 0x401a_4ee0, 0xbfe2_81cc, 0x4028_f5c3];

    /// Pictures of a golden report, and of those the ones whose tensor has another hash.
    fn compare(report: &str, folder: &str) -> Option<(usize, Vec<String>)> {
        let shared = shared_dir()?;
        let bytes = std::fs::read(shared.join("golden").join(report)).expect("golden report");
        let report = Json::parse(&bytes).expect("golden report is JSON");
        let shape = report.at(&["fixtures", "inputShape"]).and_then(Json::as_array).expect("shape");
        let side = |at: usize| shape[at].as_i64().and_then(|side| u32::try_from(side).ok());
        let recipe = Recipe::new(side(3).expect("width"), side(2).expect("height"), MEAN, STD);
        let recipe = recipe.expect("valid");
        let pictures =
            report.at(&["extra", "perImage"]).and_then(Json::as_array).expect("pictures");
        let different = pictures
            .par_iter()
            .filter_map(|picture| {
                let name = picture.get("image").and_then(Json::as_str).expect("name");
                let expected = picture.get("tensorSha256").and_then(Json::as_str).expect("hash");
                let bytes = std::fs::read(shared.join(folder).join(name)).expect("picture");
                let decoded = decode_for_model(&bytes).expect("picture decodes");
                let found =
                    recipe.tensor(&recipe.what_the_model_saw(&decoded.picture)).hash.to_hex();
                (found != expected).then(|| name.to_owned())
            })
            .collect();
        Some((pictures.len(), different))
    }

    #[test]
    fn shared_demo_tensors_equal_those_of_pillow_and_numpy() {
        let Some(found) = compare("parity-demo-fp32-vs-int8.json", "demo") else { return };
        assert_eq!(found, (48, Vec::new()));
    }

    #[test]
    fn shared_real_tensors_equal_those_of_pillow_and_numpy() {
        let Some(found) = compare("parity-realset-fp32-vs-int8.json", "realset") else { return };
        assert_eq!(found, (86, Vec::new()));
    }
}
