//! What a person says about a fixture: presence, categories, how sure, whether it is a photograph.
//!
//! [`Label::to_fields`] and [`Label::from_json`] are the only form a label is written in, in a rater's
//! events and in a sealed file alike. Nothing here knows who said it, or when.

use std::collections::BTreeMap;

use super::canonical::Json;
use super::escape::escape;

/// Longest note, in characters.
pub const MAX_NOTE: usize = 2000;

/// Longest reason for a skip or an amendment, in characters.
pub const MAX_REASON: usize = 500;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$item_doc])* $item),*
        }

        impl $name {
            /// All of them, in the order people see.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// The word files use.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$item => $word),*
                }
            }

            /// The value a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.word())
            }
        }
    };
}

words! {
    /// Is there litter in the picture at all?
    Presence {
        /// Some.
        Litter = "litter",
        /// None.
        Clean = "clean",
    }
}

words! {
    /// One coarse category in one picture.
    CategoryState {
        /// There is some.
        Present = "present",
        /// There is none.
        Absent = "absent",
        /// Cannot tell. Data of its own: scored neither way, and counted.
        Unsure = "unsure",
    }
}

words! {
    /// How sure a rater is of the whole answer.
    Certainty {
        /// Would say the same again.
        High = "high",
        /// Probably.
        Medium = "medium",
        /// A guess.
        Low = "low",
    }
}

words! {
    /// What a picture is when it is no photograph of a scene.
    NotPhotograph {
        /// Of a screen.
        Screenshot = "screenshot",
        /// Drawn or painted.
        Illustration = "illustration",
        /// Mostly writing: a slide, a page, a sign alone.
        Text = "text",
        /// A rendered scene of a game.
        Game = "game",
        /// Something else.
        Other = "other",
    }
}

/// One answer for one fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Litter or clean.
    pub presence: Presence,
    /// State by category name; a category that is not named is absent.
    pub categories: BTreeMap<String, CategoryState>,
    /// How sure. Files call it `confidence`.
    pub certainty: Certainty,
    /// What it is, when it is no photograph.
    pub not_photograph: Option<NotPhotograph>,
    /// Free text, may be empty.
    pub note: String,
}

/// Why an answer cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Clean and a category present.
    #[error("clean, but {} marked present: choose litter, or take the mark away", listed(.names))]
    CleanWithCategory {
        /// The categories marked.
        names: Vec<String>,
    },
    /// Litter and every category absent, when categories were asked for.
    #[error("litter, but no category is marked: mark one present or unsure, or choose clean")]
    LitterWithoutCategory,
    /// A category the taxonomy does not have.
    #[error("no category is called {:?}; there are: {}", escape(.name), listed(.known))]
    UnknownCategory {
        /// The name.
        name: String,
        /// Names there are.
        known: Vec<String>,
    },
    /// The note holds what a reader of the file could not see.
    #[error("the note holds characters that show nothing or reorder others: {}", escape(.note))]
    HiddenInNote {
        /// The note.
        note: String,
    },
    /// The note is too long.
    #[error("the note has {found} characters, at most {MAX_NOTE} fit")]
    LongNote {
        /// Its length.
        found: usize,
    },
}

/// Does `text` look like what it is? Label files are reviewed as text, so control, invisible and
/// reordering characters have no place in what people type.
pub fn is_plain(text: &str) -> bool {
    // A backslash is plain, though it is escaped for display.
    let without = text.replace('\\', "/");
    escape(&without) == without.as_str()
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", ")
}

impl Label {
    /// The state of a category.
    pub fn state(&self, category: &str) -> CategoryState {
        self.categories.get(category).copied().unwrap_or(CategoryState::Absent)
    }

    /// Names of the categories in a state other than absent.
    pub fn named(&self, state: CategoryState) -> impl Iterator<Item = &str> {
        self.categories
            .iter()
            .filter(move |(_, found)| **found == state)
            .map(|(name, _)| name.as_str())
    }

    /// What makes the answer impossible, wherever it comes from. `groups` are the categories asked for.
    pub fn contradiction(&self, groups: &[String]) -> Option<Contradiction> {
        if let Some(name) = self.categories.keys().find(|name| !groups.contains(name)) {
            return Some(Contradiction::UnknownCategory {
                name: name.clone(),
                known: groups.to_vec(),
            });
        }
        let length = self.note.chars().count();
        if length > MAX_NOTE {
            return Some(Contradiction::LongNote { found: length });
        }
        if !is_plain(&self.note) {
            return Some(Contradiction::HiddenInNote { note: self.note.clone() });
        }
        let names: Vec<String> = self.named(CategoryState::Present).map(str::to_owned).collect();
        if self.presence == Presence::Clean && !names.is_empty() {
            return Some(Contradiction::CleanWithCategory { names });
        }
        None
    }

    /// What is missing from an answer somebody is giving here: litter of no kind at all. Labels made
    /// elsewhere may lack it, since nobody asked.
    pub fn gap(&self, groups: &[String]) -> Option<Contradiction> {
        let marked = groups.iter().any(|name| self.state(name) != CategoryState::Absent);
        (self.presence == Presence::Litter && !groups.is_empty() && !marked)
            .then_some(Contradiction::LitterWithoutCategory)
    }

    /// The label's fields in a file. Absent categories are left out, so equal labels have equal bytes.
    pub fn to_fields(&self) -> BTreeMap<String, Json> {
        let word = |word: &str| Json::Text(word.to_owned());
        let categories = self
            .categories
            .iter()
            .filter(|(_, state)| **state != CategoryState::Absent)
            .map(|(name, state)| (name.clone(), word(state.word())))
            .collect();
        BTreeMap::from([
            ("presence".to_owned(), word(self.presence.word())),
            ("categories".to_owned(), Json::Object(categories)),
            ("confidence".to_owned(), word(self.certainty.word())),
            ("photograph".to_owned(), Json::Bool(self.not_photograph.is_none())),
            (
                "notPhotograph".to_owned(),
                self.not_photograph.map_or(Json::Null, |kind| word(kind.word())),
            ),
            ("note".to_owned(), word(&self.note)),
        ])
    }

    /// Reads the fields of a label out of an object that may hold more.
    ///
    /// # Errors
    /// The field that is missing or has another value, with what was expected.
    pub fn from_json(value: &Json) -> Result<Self, String> {
        let presence = read_word(value, "presence", Presence::ALL, Presence::from_word)?;
        let certainty = read_word(value, "confidence", Certainty::ALL, Certainty::from_word)?;
        let mut categories = BTreeMap::new();
        let Some(Json::Object(fields)) = value.get("categories") else {
            return Err("\"categories\": expected an object".to_owned());
        };
        for (name, state) in fields {
            let state = state.as_str().and_then(CategoryState::from_word).ok_or_else(|| {
                format!("\"categories\": {:?}: expected present, absent or unsure", escape(name))
            })?;
            if state != CategoryState::Absent {
                categories.insert(name.clone(), state);
            }
        }
        let not_photograph = match value.get("notPhotograph") {
            None | Some(Json::Null) => None,
            Some(_) => Some(read_word(
                value,
                "notPhotograph",
                NotPhotograph::ALL,
                NotPhotograph::from_word,
            )?),
        };
        match value.get("photograph") {
            Some(Json::Bool(photograph)) if *photograph == not_photograph.is_none() => {}
            Some(Json::Bool(_)) => {
                return Err("\"photograph\" and \"notPhotograph\" contradict each other".to_owned());
            }
            _ => return Err("\"photograph\": expected true or false".to_owned()),
        }
        let note = value
            .get("note")
            .and_then(Json::as_str)
            .ok_or_else(|| "\"note\": expected a string".to_owned())?
            .to_owned();
        Ok(Self { presence, categories, certainty, not_photograph, note })
    }
}

fn read_word<T: Copy + std::fmt::Display>(
    value: &Json,
    key: &str,
    all: &[T],
    from_word: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    value.get(key).and_then(Json::as_str).and_then(from_word).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        format!("{key:?}: expected one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<String> {
        vec!["bottles".to_owned(), "cans".to_owned()]
    }

    fn label(presence: Presence, categories: &[(&str, CategoryState)]) -> Label {
        Label {
            presence,
            categories: categories
                .iter()
                .map(|(name, state)| ((*name).to_owned(), *state))
                .collect(),
            certainty: Certainty::High,
            not_photograph: None,
            note: String::new(),
        }
    }

    #[test]
    fn contradictions_fire_and_their_twins_pass() {
        use CategoryState::{Absent, Present, Unsure};
        let refused = label(Presence::Clean, &[("cans", Present)]).contradiction(&groups());
        assert!(refused.expect("refused").to_string().contains("clean, but cans marked present"));
        assert_eq!(label(Presence::Clean, &[("cans", Unsure)]).contradiction(&groups()), None);
        assert_eq!(label(Presence::Litter, &[("cans", Present)]).contradiction(&groups()), None);
        let unknown = label(Presence::Litter, &[("tins", Present)]).contradiction(&groups());
        assert!(unknown.expect("refused").to_string().contains("there are: bottles, cans"));
        let mut long = label(Presence::Clean, &[]);
        long.note = "x".repeat(MAX_NOTE + 1);
        assert_eq!(
            long.contradiction(&groups()),
            Some(Contradiction::LongNote { found: MAX_NOTE + 1 })
        );
        for (note, plain) in [("a \\ b: été", true), ("a\nb", false), ("\u{202e}gpj", false)] {
            let mut noted = label(Presence::Clean, &[]);
            noted.note = note.to_owned();
            assert_eq!(noted.contradiction(&groups()).is_none(), plain, "{note:?}");
        }
        assert!(label(Presence::Litter, &[("cans", Absent)]).gap(&groups()).is_some());
        assert_eq!(label(Presence::Litter, &[("cans", Unsure)]).gap(&groups()), None);
        assert_eq!(label(Presence::Litter, &[]).gap(&[]), None);
        assert_eq!(label(Presence::Clean, &[]).gap(&groups()), None);
    }

    #[test]
    fn written_form_is_pinned_and_reads_back() {
        let mut value = label(
            Presence::Litter,
            &[("bottles", CategoryState::Unsure), ("cans", CategoryState::Absent)],
        );
        value.not_photograph = Some(NotPhotograph::Illustration);
        value.note = "drawn \"can\"".to_owned();
        let json = Json::Object(value.to_fields());
        // Sealed files hold these bytes; do not change them.
        assert_eq!(
            json.to_canonical(),
            r#"{"categories":{"bottles":"unsure"},"confidence":"high","notPhotograph":"illustration","note":"drawn \"can\"","photograph":false,"presence":"litter"}"#
        );
        let back = Label::from_json(&json).expect("reads back");
        assert_eq!(Json::Object(back.to_fields()), json);
        assert_eq!(back.state("cans"), CategoryState::Absent);
    }

    #[test]
    fn words_are_frozen() {
        let join = |words: Vec<&str>| words.join(" ");
        assert_eq!(join(Presence::ALL.iter().map(|w| w.word()).collect()), "litter clean");
        assert_eq!(
            join(CategoryState::ALL.iter().map(|w| w.word()).collect()),
            "present absent unsure"
        );
        assert_eq!(join(Certainty::ALL.iter().map(|w| w.word()).collect()), "high medium low");
        assert_eq!(
            join(NotPhotograph::ALL.iter().map(|w| w.word()).collect()),
            "screenshot illustration text game other"
        );
    }

    #[test]
    fn every_wrong_field_is_named() {
        let good = r#"{"categories":{"cans":"present"},"confidence":"low","notPhotograph":null,"note":"","photograph":true,"presence":"litter"}"#;
        let read = |text: &str| Label::from_json(&Json::parse(text.as_bytes()).expect("is JSON"));
        assert!(read(good).is_ok());
        for (from, to, message) in [
            ("\"litter\"", "\"yes\"", "expected one of litter, clean"),
            ("\"low\"", "3", "expected one of high, medium, low"),
            ("\"present\"", "true", "expected present, absent or unsure"),
            ("{\"cans\":\"present\"}", "[]", "expected an object"),
            ("\"photograph\":true", "\"photograph\":false", "contradict"),
            ("\"photograph\":true", "\"photograph\":1", "true or false"),
            (":null", ":\"selfie\"", "expected one of screenshot"),
            ("\"note\":\"\"", "\"note\":0", "expected a string"),
        ] {
            let error = read(&good.replace(from, to)).expect_err(to);
            assert!(error.contains(message), "{to}: {error}");
        }
    }
}
