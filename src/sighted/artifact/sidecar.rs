//! The sidecar: the `.meta.json` an exporter writes beside an artifact.
//!
//! It is a foreign format, so unknown keys are kept and ignored; what is used is checked, and every
//! fault found is named, not only the first. Class names are any text: they are escaped where shown.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::element::Precision;
use crate::domain::canonical::Json;
use crate::domain::digest::ContentHash;
use crate::domain::escape::{escape, escape_os};
use crate::store::file::{self, ReadError};

/// Largest sidecar, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Most classes.
const MAX_CLASSES: usize = 10_000;
/// Longest edge of the input, in pixels.
const MAX_EDGE: i64 = 8192;
/// Most faults named at once.
const MAX_FAULTS: usize = 8;

/// Per-channel mean and deviation of the training set most detectors start from; used when the sidecar
/// is silent.
pub(in crate::sighted) const IMAGENET: Normalization =
    Normalization { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], is_default: true };

/// How pixels are scaled: (value / 255 − mean) / std, per channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct Normalization {
    /// Of R, G, B.
    pub mean: [f64; 3],
    /// Of R, G, B; above 0.
    pub std: [f64; 3],
    /// Not written in the sidecar.
    pub is_default: bool,
}

/// How the outputs are decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum DecodeRoute {
    /// Independent class logits and boxes per query slot, no suppression of overlaps.
    SetPrediction,
    /// Anything else, by the name the sidecar gives it; empty when it gives none.
    Other(String),
}

/// What a sidecar says.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Sidecar {
    /// E.g. `v2.0.1-int8`, as written.
    pub version: String,
    /// Name of the model.
    pub model_name: String,
    /// Height of the input in pixels.
    pub height: u32,
    /// Width of the input in pixels.
    pub width: u32,
    /// Class names; the position is the column of the class logits.
    pub classes: Vec<String>,
    /// Scaling of pixels.
    pub normalization: Normalization,
    /// Recommended operating point, 0..=1.
    pub confidence_threshold: f64,
    /// Recommended IoU for suppressing overlaps; without effect on set prediction.
    pub iou_threshold: Option<f64>,
    /// As written.
    pub architecture: Option<String>,
    /// Size the artifact is said to have.
    pub artifact_size: Option<u64>,
    /// Sha256 of the file.
    pub hash: ContentHash,
    /// Everything, as read.
    pub tree: Json,
}

/// Why a sidecar is not used.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum SidecarError {
    /// It cannot be read.
    #[error("{}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// It does not say what it should.
    #[error("{}: {}", escape_os(.path.as_os_str()), .faults.join("; "))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Each fault: key, expected, found; escaped.
        faults: Vec<String>,
    },
}

/// Where the sidecar of a model lies: the same name with `.meta.json` for its ending.
pub(in crate::sighted) fn path_beside(model: &Path) -> PathBuf {
    model.with_extension("meta.json")
}

impl Sidecar {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or has faults.
    pub(in crate::sighted) fn open(path: &Path) -> Result<Self, SidecarError> {
        let bytes = file::read(path, MAX_BYTES)
            .map_err(|source| SidecarError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&bytes)
            .map_err(|faults| SidecarError::Invalid { path: path.to_owned(), faults })
    }

    /// Reads the bytes of a sidecar.
    ///
    /// # Errors
    /// Every fault, as one line each.
    pub(in crate::sighted) fn parse(bytes: &[u8]) -> Result<Self, Vec<String>> {
        let tree = Json::parse(bytes)
            .map_err(|error| vec![escape(&format!("not JSON: {error}")).into_owned()])?;
        if !matches!(tree, Json::Object(_)) {
            return Err(vec![format!("expected a JSON object, found {}", kind(&tree))]);
        }
        let mut reader = Reader { tree: &tree, faults: Vec::new() };
        let version = reader.text("version");
        let model_name = reader.text("modelName");
        let size = reader.input_size();
        let classes = reader.classes();
        let normalization = reader.normalization();
        let confidence_threshold = reader.share("confThresholdRecommended");
        let iou_threshold =
            reader.optional("iouThresholdRecommended", |reader, key| reader.share(key));
        let architecture = reader.optional("architecture", Reader::text);
        let artifact_size = reader.optional("artifactSizeBytes", Reader::size);
        let mut faults = reader.faults;
        if faults.len() > MAX_FAULTS {
            let more = faults.len() - MAX_FAULTS;
            faults.truncate(MAX_FAULTS);
            faults.push(format!("and {more} more"));
        }
        match (version, model_name, size, classes, normalization, confidence_threshold) {
            (
                Some(version),
                Some(model_name),
                Some((height, width)),
                Some(classes),
                Some(normalization),
                Some(confidence_threshold),
            ) if faults.is_empty() => Ok(Self {
                version,
                model_name,
                height,
                width,
                classes,
                normalization,
                confidence_threshold,
                iou_threshold,
                architecture,
                artifact_size,
                hash: ContentHash::of(bytes),
                tree,
            }),
            _ => Err(faults),
        }
    }

    /// What decodes this model's outputs. Nothing but set prediction is decoded here, and a sidecar
    /// that names no architecture comes from an exporter of another kind.
    pub(in crate::sighted) fn decode_route(&self) -> DecodeRoute {
        match self.architecture.as_deref() {
            Some("rfdetr") => DecodeRoute::SetPrediction,
            other => DecodeRoute::Other(other.unwrap_or_default().to_owned()),
        }
    }

    /// The precision its version names: `v<number>.<number>.<number>-(fp32|fp16|int8)`, ASCII digits,
    /// nothing after. `None` when the version is of another form.
    pub(in crate::sighted) fn version_precision(&self) -> Option<Precision> {
        let (numbers, word) = self.version.strip_prefix('v')?.split_once('-')?;
        let mut parts = numbers.split('.');
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let three = parts.by_ref().take(3).filter(|part| is_number(part)).count() == 3;
        if three && parts.next().is_none() { Precision::of_word(word) } else { None }
    }
}

struct Reader<'tree> {
    tree: &'tree Json,
    faults: Vec<String>,
}

impl Reader<'_> {
    fn fault(&mut self, key: &str, expected: &str, found: &str) {
        self.faults.push(format!("{key}: expected {expected}, found {}", escape(found)));
    }

    fn wrong(&mut self, key: &str, expected: &str) {
        let found = self.tree.get(key).map_or("nothing".to_owned(), shown);
        self.fault(key, expected, &found);
    }

    fn optional<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> Option<T> {
        match self.tree.get(key) {
            None | Some(Json::Null) => None,
            Some(_) => read(self, key),
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.tree.get(key).and_then(Json::as_str) {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            _ => {
                self.wrong(key, "a text");
                None
            }
        }
    }

    fn share(&mut self, key: &str) -> Option<f64> {
        match self.tree.get(key).and_then(Json::as_f64) {
            Some(share) if (0.0..=1.0).contains(&share) => Some(share),
            _ => {
                self.wrong(key, "a number from 0 to 1");
                None
            }
        }
    }

    fn size(&mut self, key: &str) -> Option<u64> {
        let size = self.tree.get(key).and_then(Json::as_i64).and_then(|size| size.try_into().ok());
        if size.is_none() {
            self.wrong(key, "a number of bytes");
        }
        size
    }

    /// Height and width.
    fn input_size(&mut self) -> Option<(u32, u32)> {
        const KEY: &str = "inputShape";
        let expected = format!("[1, 3, height, width] with edges of 1 to {MAX_EDGE}");
        let dims: Option<Vec<i64>> = self
            .tree
            .get(KEY)
            .and_then(Json::as_array)
            .and_then(|dims| dims.iter().map(Json::as_i64).collect());
        let edge = |edge: i64| (1..=MAX_EDGE).contains(&edge).then(|| u32::try_from(edge).ok());
        match dims.as_deref() {
            Some([1, 3, height, width]) => {
                if let (Some(Some(height)), Some(Some(width))) = (edge(*height), edge(*width)) {
                    return Some((height, width));
                }
                self.wrong(KEY, &expected);
            }
            _ => self.wrong(KEY, &expected),
        }
        None
    }

    fn classes(&mut self) -> Option<Vec<String>> {
        const KEY: &str = "classes";
        let Some(items) = self.tree.get(KEY).and_then(Json::as_array) else {
            self.wrong(KEY, "an array of class names");
            return None;
        };
        if items.is_empty() || items.len() > MAX_CLASSES {
            self.fault(KEY, &format!("1 to {MAX_CLASSES} names"), &items.len().to_string());
            return None;
        }
        let before = self.faults.len();
        let mut names: Vec<String> = Vec::with_capacity(items.len());
        let mut first_at: HashMap<&str, usize> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let key = format!("{KEY}[{index}]");
            let Some(name) = item.as_str() else {
                self.fault(&key, "a text", &shown(item));
                continue;
            };
            if name.trim().is_empty() {
                self.fault(&key, "a class name", "an empty text");
            } else if let Some(first) = first_at.get(name) {
                let found = format!("\"{name}\" again, which is {KEY}[{first}] already");
                self.fault(&key, "each class once", &found);
            } else {
                first_at.insert(name, index);
            }
            names.push(name.to_owned());
        }
        if self.tree.get("classCount").is_some()
            && self.tree.get("classCount").and_then(Json::as_i64) != i64::try_from(items.len()).ok()
        {
            self.wrong("classCount", &format!("{}, the number of classes listed", items.len()));
        }
        (self.faults.len() == before).then_some(names)
    }

    fn normalization(&mut self) -> Option<Normalization> {
        const KEY: &str = "normalization";
        if matches!(self.tree.get(KEY), None | Some(Json::Null)) {
            return Some(IMAGENET);
        }
        let three = |key: &str| -> Option<[f64; 3]> {
            let numbers: Option<Vec<f64>> =
                self.tree.at(&[KEY, key])?.as_array()?.iter().map(Json::as_f64).collect();
            numbers?.try_into().ok()
        };
        match (three("mean"), three("std")) {
            (Some(mean), Some(std))
                if mean.iter().all(|value| value.is_finite())
                    && std.iter().all(|value| value.is_finite() && *value > 0.0) =>
            {
                Some(Normalization { mean, std, is_default: false })
            }
            _ => {
                self.wrong(KEY, "mean and std of three numbers each, std above 0");
                None
            }
        }
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Int(_) | Json::Float(_) => "a number",
        Json::Text(_) => "a text",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// A found value, short.
fn shown(value: &Json) -> String {
    let text = value.to_canonical();
    if text.chars().count() <= 80 {
        return text;
    }
    let start: String = text.chars().take(77).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
      "architecture": "rfdetr", "artifactSizeBytes": 10, "classCount": 3, "future": {"a": [1]},
      "classes": ["other.ropes, nets", "垃圾", "<b>\\x1b\""], "confThresholdRecommended": 0.4,
      "inputShape": [1, 3, 320, 416], "iouThresholdRecommended": 0.45, "modelName": "m",
      "normalization": {"mean": [0.5, 0.5, 0.5], "std": [1, 1, 1]}, "version": "v1.2.3-int8"
    }"#;

    fn with(from: &str, to: &str) -> Result<Sidecar, Vec<String>> {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD, "{from}");
        Sidecar::parse(text.as_bytes())
    }

    #[test]
    fn a_good_one() {
        let sidecar = Sidecar::parse(GOOD.as_bytes()).expect("valid");
        assert_eq!((sidecar.height, sidecar.width), (320, 416));
        assert_eq!(sidecar.classes[1], "垃圾");
        assert_eq!(sidecar.normalization.std, [1.0; 3]);
        assert_eq!(sidecar.iou_threshold, Some(0.45));
        assert_eq!(sidecar.decode_route(), DecodeRoute::SetPrediction);
        assert_eq!(sidecar.version_precision(), Some(Precision::Int8));
        assert!(sidecar.tree.at(&["future", "a"]).is_some(), "unknown keys are kept");
    }

    #[test]
    fn what_may_be_left_out() {
        let bare = r#"{"classes":["a"],"confThresholdRecommended":1,"inputShape":[1,3,8,8],
            "modelName":"m","version":"v1"}"#;
        let sidecar = Sidecar::parse(bare.as_bytes()).expect("valid");
        assert_eq!(sidecar.normalization, IMAGENET);
        assert_eq!(sidecar.decode_route(), DecodeRoute::Other(String::new()));
        assert_eq!((sidecar.iou_threshold, sidecar.artifact_size), (None, None));
        assert_eq!(sidecar.version_precision(), None);
    }

    #[test]
    fn every_fault_names_key_expected_and_found() {
        for (from, to, message) in [
            (
                "\"classCount\": 3",
                "\"classCount\": 4",
                "classCount: expected 3, the number of classes listed, found 4",
            ),
            (
                "垃圾",
                "other.ropes, nets",
                "classes[1]: expected each class once, found \"other.ropes, nets\" again, which is classes[0] already",
            ),
            ("垃圾", " ", "classes[1]: expected a class name, found an empty text"),
            ("\"垃圾\"", "7", "classes[1]: expected a text, found 7"),
            ("0.4,", "1.4,", "confThresholdRecommended: expected a number from 0 to 1, found 1.4"),
            (
                "0.4,",
                "\"high\",",
                "confThresholdRecommended: expected a number from 0 to 1, found \"high\"",
            ),
            ("0.45", "-1", "iouThresholdRecommended: expected a number from 0 to 1, found -1"),
            (
                "[1, 3, 320, 416]",
                "[1, 320, 416, 3]",
                "inputShape: expected [1, 3, height, width] with edges of 1 to 8192, found [1,320,416,3]",
            ),
            ("[1, 3, 320, 416]", "[1, 3, 0, 416]", "found [1,3,0,416]"),
            ("[1, 3, 320, 416]", "[1, 3, 320.0, 416]", "found [1,3,320.0,416]"),
            ("[1, 3, 320, 416]", "null", "found null"),
            (
                "\"std\": [1, 1, 1]",
                "\"std\": [1, 0, 1]",
                "normalization: expected mean and std of three numbers each, std above 0",
            ),
            ("\"std\": [1, 1, 1]", "\"std\": [1, 1]", "normalization"),
            (
                "\"artifactSizeBytes\": 10",
                "\"artifactSizeBytes\": -10",
                "artifactSizeBytes: expected a number of bytes, found -10",
            ),
            (
                "\"modelName\": \"m\"",
                "\"modelName\": \"\"",
                "modelName: expected a text, found \"\"",
            ),
            ("\"version\"", "\"verzion\"", "version: expected a text, found nothing"),
            ("\"m\"", "7", "modelName: expected a text, found 7"),
        ] {
            let faults = with(from, to).expect_err(to);
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].contains(message), "{}", faults[0]);
        }
    }

    #[test]
    fn texts_that_are_not_a_sidecar() {
        for (text, message) in [
            ("", "not JSON: line 1"),
            ("{\"confThresholdRecommended\": NaN}", "not JSON: line 1"),
            ("{\"a\":1,\n\"a\":2}", "not JSON: line 2"),
            ("[1]", "expected a JSON object, found an array"),
        ] {
            let faults = Sidecar::parse(text.as_bytes()).expect_err(text);
            assert!(faults[0].contains(message), "{}", faults[0]);
        }
        let all = Sidecar::parse(b"{}").expect_err("empty");
        assert_eq!(all.len(), 5, "each missing key is named: {all:?}");
        let empty = vec!["\"\""; 20].join(",");
        let many = with("\"垃圾\"", &empty).expect_err("many");
        assert_eq!(many.len(), MAX_FAULTS + 1);
        assert!(many[MAX_FAULTS].starts_with("and 13 more"), "{many:?}");
    }

    #[test]
    fn hostile_text_is_inert_in_messages() {
        let faults = with("0.45", "\"\\u001b[2J\"").expect_err("not a number");
        assert!(!faults[0].contains('\u{1b}'), "{}", faults[0]);
    }

    #[test]
    fn versions() {
        for (version, precision) in [
            ("v2.0.1-fp32", Some(Precision::Fp32)),
            ("v2.0.1-fp16", Some(Precision::Fp16)),
            ("v10.20.30-int8", Some(Precision::Int8)),
            ("v2.0.1-int8naive", None),
            ("v2.0-int8", None),
            ("v2.0.1.4-int8", None),
            ("2.0.1-int8", None),
            ("v٢.0.1-int8", None),
            ("v2.0.1-int8\\n", None),
            ("v..-int8", None),
        ] {
            let sidecar = with("v1.2.3-int8", version).expect("valid");
            assert_eq!(sidecar.version_precision(), precision, "{version}");
        }
    }

    #[test]
    fn files() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("m.fp32.meta.json");
        assert!(matches!(Sidecar::open(&path), Err(SidecarError::Unreadable { .. })));
        crate::store::atomic::write(&path, GOOD.as_bytes()).expect("written");
        assert!(Sidecar::open(&path).is_ok());
        crate::store::atomic::write(&path, b"{}").expect("written");
        let error = Sidecar::open(&path).expect_err("faults").to_string();
        assert!(error.contains("m.fp32.meta.json: version: expected"), "{error}");
        assert_eq!(path_beside(&folder.path().join("m.fp32.onnx")), path);
    }
}
