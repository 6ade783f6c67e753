//! Leaf classes and the coarse categories they roll up to.
//!
//! A taxonomy file is TOML: `schema = 1`, then `[groups]` with one array of leaf classes per coarse
//! category. Every leaf stands in exactly one group. Groups keep the order of the file, which is the
//! order people see: fixed, so that position says nothing about frequency.

use std::collections::BTreeMap;

use super::canonical::Json;
use super::digest::TaxonomyHash;

/// Largest taxonomy file, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Index into [`Taxonomy::groups`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoarseCategory(pub u16);

/// One coarse category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Machine name, e.g. `bags_film_wrappers`.
    pub name: String,
    /// Leaf classes, sorted.
    pub leaves: Vec<String>,
}

/// Coarse categories and the leaf classes in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taxonomy {
    groups: Vec<Group>,
    by_leaf: BTreeMap<String, CoarseCategory>,
}

/// Why a taxonomy is refused.
#[derive(Debug, thiserror::Error)]
pub enum TaxonomyError {
    /// Not TOML of the expected shape.
    #[error("not a taxonomy: {0}")]
    Syntax(String),
    /// Unknown schema number.
    #[error("schema {found}, expected 1")]
    Schema {
        /// The number found.
        found: i64,
    },
    /// A leaf class stands in two groups, or twice in one.
    #[error("class {leaf:?} stands in group {first:?} and again in {second:?}")]
    Twice {
        /// The class.
        leaf: String,
        /// Where it stands first.
        first: String,
        /// Where it stands again.
        second: String,
    },
    /// Nothing to ask about.
    #[error("expected at least one group, and at least one class in each; {0}")]
    Empty(String),
}

impl Taxonomy {
    /// Reads a taxonomy file.
    ///
    /// # Errors
    /// See [`TaxonomyError`].
    pub fn parse(text: &str) -> Result<Self, TaxonomyError> {
        let syntax = |message: String| TaxonomyError::Syntax(message);
        if text.len() as u64 > MAX_BYTES {
            return Err(syntax(format!(
                "expected at most {MAX_BYTES} bytes, found {}",
                text.len()
            )));
        }
        // The parsed table sorts its keys, so the order of groups is read from a document that keeps it.
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| syntax(error.message().to_owned()))?;
        let schema = table.get("schema").and_then(toml::Value::as_integer);
        match schema {
            Some(1) => {}
            Some(found) => return Err(TaxonomyError::Schema { found }),
            None => return Err(syntax("expected `schema = 1`".to_owned())),
        }
        let listed = table
            .get("groups")
            .and_then(toml::Value::as_table)
            .ok_or_else(|| syntax("expected a table [groups]".to_owned()))?;
        let mut groups = Vec::new();
        for (name, leaves) in listed {
            let leaves = leaves
                .as_array()
                .and_then(|items| {
                    items
                        .iter()
                        .map(|item| item.as_str().map(str::to_owned))
                        .collect::<Option<Vec<_>>>()
                })
                .ok_or_else(|| {
                    syntax(format!("expected an array of class names for group {name:?}"))
                })?;
            groups.push((name.clone(), leaves));
        }
        groups.sort_by_key(|(name, _)| position_of_key(text, name));
        Self::new(groups)
    }

    /// A taxonomy from groups in the order people should see them.
    ///
    /// # Errors
    /// No group, an empty group, or a leaf that occurs twice.
    pub fn new(groups: Vec<(String, Vec<String>)>) -> Result<Self, TaxonomyError> {
        if groups.is_empty() {
            return Err(TaxonomyError::Empty("found no group".to_owned()));
        }
        let mut by_leaf: BTreeMap<String, CoarseCategory> = BTreeMap::new();
        let mut kept: Vec<Group> = Vec::new();
        for (index, (name, mut leaves)) in groups.into_iter().enumerate() {
            if leaves.is_empty() {
                return Err(TaxonomyError::Empty(format!("group {name:?} has none")));
            }
            leaves.sort();
            let category = CoarseCategory(
                u16::try_from(index)
                    .map_err(|_| TaxonomyError::Syntax("more than 65535 groups".to_owned()))?,
            );
            for leaf in &leaves {
                if let Some(first) = by_leaf.insert(leaf.clone(), category) {
                    let first = kept.get(usize::from(first.0)).map_or(&name, |group| &group.name);
                    return Err(TaxonomyError::Twice {
                        leaf: leaf.clone(),
                        first: first.clone(),
                        second: name.clone(),
                    });
                }
            }
            kept.push(Group { name, leaves });
        }
        Ok(Self { groups: kept, by_leaf })
    }

    /// All groups, in the order of the file.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Number of leaf classes.
    pub fn leaf_count(&self) -> usize {
        self.by_leaf.len()
    }

    /// The category a leaf class belongs to.
    pub fn category_of(&self, leaf: &str) -> Option<CoarseCategory> {
        self.by_leaf.get(leaf).copied()
    }

    /// The category of a name.
    pub fn category_named(&self, name: &str) -> Option<CoarseCategory> {
        let index = self.groups.iter().position(|group| group.name == name)?;
        u16::try_from(index).ok().map(CoarseCategory)
    }

    /// The machine name of a category of this taxonomy.
    pub fn name(&self, category: CoarseCategory) -> &str {
        self.groups.get(usize::from(category.0)).map_or("", |group| group.name.as_str())
    }

    /// Every category.
    pub fn categories(&self) -> impl Iterator<Item = CoarseCategory> + '_ {
        (0..self.groups.len()).filter_map(|index| u16::try_from(index).ok().map(CoarseCategory))
    }

    /// Sha256 of the canonical form: an array of `[name, [leaf, …]]` in group order.
    pub fn hash(&self) -> TaxonomyHash {
        let text = |text: &String| Json::Text(text.clone());
        let tree = Json::Array(
            self.groups
                .iter()
                .map(|group| {
                    Json::Array(vec![
                        text(&group.name),
                        Json::Array(group.leaves.iter().map(text).collect()),
                    ])
                })
                .collect(),
        );
        TaxonomyHash::of(tree.to_canonical().as_bytes())
    }
}

/// Where a key stands in the text; keys not found go last, in name order.
fn position_of_key(text: &str, name: &str) -> (usize, String) {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let key = trimmed.split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if key == name && trimmed.contains('=') {
            return (offset, name.to_owned());
        }
        offset += line.len();
    }
    (usize::MAX, name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "schema = 1\n[groups]\ncans = [\"b.can\", \"a.can\"]\nbottles = [\"a.bottle\"]\n";

    #[test]
    fn groups_keep_the_order_of_the_file_and_leaves_are_sorted() {
        let taxonomy = Taxonomy::parse(TEXT).expect("valid");
        let names: Vec<&str> = taxonomy.groups().iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["cans", "bottles"]);
        assert_eq!(taxonomy.groups()[0].leaves, ["a.can", "b.can"]);
        assert_eq!(taxonomy.category_of("a.bottle"), Some(CoarseCategory(1)));
        assert_eq!(taxonomy.category_of("nothing"), None);
        assert_eq!(taxonomy.category_named("bottles"), Some(CoarseCategory(1)));
        assert_eq!(taxonomy.leaf_count(), 3);
    }

    #[test]
    fn hash_names_the_content_not_the_spelling() {
        let spaced = TEXT.replace(" = ", "  =  ");
        let hash = |text| Taxonomy::parse(text).expect("valid").hash();
        assert_eq!(hash(TEXT), hash(&spaced));
        assert_ne!(hash(TEXT), hash(&TEXT.replace("b.can", "c.can")));
    }

    #[test]
    fn refusals() {
        for (bad, message) in [
            ("schema = 2\n[groups]\na=[\"x\"]", "schema 2, expected 1"),
            ("[groups]\na=[\"x\"]", "expected `schema = 1`"),
            ("schema = 1", "expected a table [groups]"),
            ("schema = 1\n[groups]", "found no group"),
            ("schema = 1\n[groups]\na=[]", "has none"),
            ("schema = 1\n[groups]\na=[1]", "array of class names"),
            (
                "schema = 1\n[groups]\na=[\"x\"]\nb=[\"x\"]",
                "stands in group \"a\" and again in \"b\"",
            ),
            ("schema = ", "not a taxonomy"),
        ] {
            let error = Taxonomy::parse(bad).expect_err(bad).to_string();
            assert!(error.contains(message), "{bad}: {error}");
        }
    }
}
