//! The identity of a release: what its id is the hash of.
//!
//! The tree is kept as it was read, unknown keys and the difference between `1` and `1.0` included,
//! because the hash covers it. The typed fields beside it are what the rules look at.

use super::refusal::Refusal;
use crate::domain::canonical::Json;
use crate::domain::digest::{ArtifactHash, ContentHash, RecordId};
pub(in crate::sighted) use crate::sighted::artifact::element::Precision;

/// The mechanism of an artifact that was exported, not converted.
pub(in crate::sighted) const NATIVE_EXPORT: &str = "native-export";

/// A typed view of `identity`.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Identity {
    /// As read; this is hashed.
    pub tree: Json,
    /// Name of the model.
    pub model_name: String,
    /// As written; see [`Precision`].
    pub precision: String,
    /// The artifact.
    pub artifact: ArtifactHash,
    /// Its size, as written.
    pub bytes: i64,
    /// How it came to be.
    pub mechanism: String,
    /// What it was converted from.
    pub source: Option<ArtifactHash>,
    /// Number of outputs.
    pub output_count: usize,
    /// Number of classes, as written.
    pub class_count: i64,
    /// The operating point.
    pub confidence: f64,
    /// Where it is meant to run.
    pub target: Place,
}

/// A runtime on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Place {
    /// Name of the runtime.
    pub runtime: String,
    /// Its version.
    pub runtime_version: String,
    /// Its provider.
    pub provider: String,
    /// The host, or its class.
    pub host: String,
}

impl Identity {
    /// Reads the typed fields.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`] for a field that is missing or of another type.
    pub(in crate::sighted) fn from_tree(tree: Json) -> Result<Self, Refusal> {
        let fields = Fields { tree: &tree, prefix: "identity" };
        let source = match fields.get(&["conversion", "sourceSha256"])? {
            Json::Null => None,
            _ => Some(fields.hash(&["conversion", "sourceSha256"])?),
        };
        match fields.get(&["conversion", "sourceCheckpointSha256"])? {
            Json::Null => {}
            _ => drop(fields.text(&["conversion", "sourceCheckpointSha256"])?),
        }
        fields.integer(&["conversion", "opset"])?;
        fields.text(&["conversion", "exporter"])?;
        fields.text(&["architecture"])?;
        fields.hash::<ContentHash>(&["classes", "sha256"])?;
        fields.number(&["thresholds", "iouRecommended"])?;
        fields.tensor(&["io", "input"])?;
        let outputs = fields.array(&["io", "outputs"])?;
        for output in outputs {
            Fields { tree: output, prefix: "identity.io.outputs" }.tensor(&[])?;
        }
        for key in ["computeCapability", "cudaVersion", "driverVersion"] {
            if tree.at(&["target", key]).is_some() {
                fields.text(&["target", key])?;
            }
        }
        Ok(Self {
            model_name: fields.text(&["modelName"])?,
            precision: fields.text(&["precision"])?,
            artifact: fields.hash(&["artifact", "sha256"])?,
            bytes: fields.integer(&["artifact", "bytes"])?,
            mechanism: fields.text(&["conversion", "mechanism"])?,
            source,
            output_count: outputs.len(),
            class_count: fields.integer(&["classes", "count"])?,
            confidence: fields.number(&["thresholds", "confRecommended"])?,
            target: Place {
                runtime: fields.text(&["target", "runtime"])?,
                runtime_version: fields.text(&["target", "runtimeVersion"])?,
                provider: fields.text(&["target", "executionProvider"])?,
                host: fields.text(&["target", "hostClass"])?,
            },
            tree,
        })
    }

    /// The id: sha256 of the canonical identity.
    pub(in crate::sighted) fn record_id(&self) -> RecordId {
        RecordId::of(self.tree.to_canonical().as_bytes())
    }

    /// The id of the recipe: the identity without its artifact.
    pub(in crate::sighted) fn release_key(&self) -> ContentHash {
        let mut tree = self.tree.clone();
        if let Json::Object(fields) = &mut tree {
            fields.remove("artifact");
        }
        ContentHash::of(tree.to_canonical().as_bytes())
    }

    /// The id of the target.
    pub(in crate::sighted) fn target_digest(&self) -> ContentHash {
        let target = self.tree.get("target").map(Json::to_canonical).unwrap_or_default();
        ContentHash::of(target.as_bytes())
    }
}

/// The hash of a class list, in logit order.
pub(in crate::sighted) fn class_hash(classes: &[String]) -> ContentHash {
    let list = Json::Array(classes.iter().map(Json::text).collect());
    ContentHash::of(list.to_canonical().as_bytes())
}

/// Whether `version` is `v<major>.<minor>.<patch>-<precision>`, ASCII digits, nothing after it.
pub(in crate::sighted) fn is_version(version: &str) -> bool {
    let Some((numbers, precision)) =
        version.strip_prefix('v').and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()))
        && Precision::of_word(precision).is_some()
}

/// Typed access to a tree, with faults that name the field.
pub(super) struct Fields<'a> {
    /// Where to look.
    pub(super) tree: &'a Json,
    /// What it is called.
    pub(super) prefix: &'a str,
}

impl<'a> Fields<'a> {
    fn fault(&self, path: &[&str], expected: &str) -> Refusal {
        let dot = if path.is_empty() { "" } else { "." };
        Refusal::Unreadable(format!("{}{dot}{}: expected {expected}", self.prefix, path.join(".")))
    }

    pub(super) fn get(&self, path: &[&str]) -> Result<&'a Json, Refusal> {
        self.tree.at(path).ok_or_else(|| self.fault(path, "a value, found nothing"))
    }

    pub(super) fn text(&self, path: &[&str]) -> Result<String, Refusal> {
        let text = self.get(path)?.as_str().ok_or_else(|| self.fault(path, "a text"))?;
        Ok(text.to_owned())
    }

    /// A text, or nothing for null.
    pub(super) fn text_or_null(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.get(&[key])? {
            Json::Null => Ok(None),
            _ => self.text(&[key]).map(Some),
        }
    }

    pub(super) fn integer(&self, path: &[&str]) -> Result<i64, Refusal> {
        self.get(path)?.as_i64().ok_or_else(|| self.fault(path, "a whole number"))
    }

    pub(super) fn number(&self, path: &[&str]) -> Result<f64, Refusal> {
        self.get(path)?.as_f64().ok_or_else(|| self.fault(path, "a number"))
    }

    pub(super) fn array(&self, path: &[&str]) -> Result<&'a [Json], Refusal> {
        self.get(path)?.as_array().ok_or_else(|| self.fault(path, "an array"))
    }

    pub(super) fn hash<T: std::str::FromStr>(&self, path: &[&str]) -> Result<T, Refusal> {
        self.text(path)?.parse().map_err(|_| self.fault(path, "64 lower-case hex digits"))
    }

    /// Name, type and shape of one input or output.
    fn tensor(&self, path: &[&str]) -> Result<(), Refusal> {
        let below = |key| [path, &[key]].concat();
        self.text(&below("name"))?;
        self.text(&below("dtype"))?;
        let shape = below("shape");
        let whole_or_name = |item: &Json| matches!(item, Json::Int(_) | Json::Text(_));
        if self.array(&shape)?.iter().all(whole_or_name) {
            Ok(())
        } else {
            Err(self.fault(&shape, "whole numbers or names of dimensions"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for good in ["v2.0.1-int8", "v0.0.0-fp16", "v10.20.30-fp32"] {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            "2.0.1-int8",
            "v2.0-int8",
            "v2.0.1",
            "v2.0.1-int4",
            "v2.0.1-int8\n",
            "v2.0.1-int8 ",
            "v2..1-int8",
            "v٢.0.1-int8",
            "v2.0.1-rc-int8",
            "v-1.0.1-int8",
            "v2.0.1.0-int8",
        ] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn weights_vote_by_bytes_and_a_tie_decides_nothing() {
        let implied = |pairs: &[(&str, u64)]| {
            Precision::implied_by(
                &pairs.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect(),
            )
        };
        let int8 = [("FLOAT", 2_259_112), ("INT8", 27_918_458), ("INT64", 32)];
        assert_eq!(implied(&int8), Some(Precision::Int8));
        assert_eq!(implied(&[("FLOAT16", 56_965_984)]), Some(Precision::Fp16));
        assert_eq!(implied(&[("FLOAT", 113_931_968), ("INT64", u64::MAX)]), Some(Precision::Fp32));
        assert_eq!(implied(&[("FLOAT", 5), ("INT8", 5)]), None);
        assert_eq!(implied(&[("INT64", 5)]), None);
        assert_eq!(implied(&[]), None);
        assert_eq!(implied(&[("DOUBLE", u64::MAX), ("FLOAT", u64::MAX)]), Some(Precision::Fp32));
    }

    #[test]
    fn the_order_of_classes_is_part_of_their_hash() {
        let list = |names: [&str; 2]| names.map(str::to_owned);
        assert_ne!(class_hash(&list(["a", "b"])), class_hash(&list(["b", "a"])));
        assert_eq!(class_hash(&list(["a", "b"])), ContentHash::of(br#"["a","b"]"#));
    }
}
