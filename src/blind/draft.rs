//! The marks on one picture before they are saved.

use std::collections::BTreeMap;

use crate::domain::label::{CategoryState, Certainty, Label, NotPhotograph, Presence};

/// Marks on a picture that are not saved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// Litter or clean.
    pub presence: Option<Presence>,
    /// One per category, in the order shown.
    pub categories: Vec<CategoryState>,
    /// How sure.
    pub certainty: Option<Certainty>,
    /// What it is, when it is no photograph.
    pub not_photograph: Option<NotPhotograph>,
    /// Free text.
    pub note: String,
}

impl Draft {
    pub(super) fn empty(groups: usize) -> Self {
        Self {
            presence: None,
            categories: vec![CategoryState::Absent; groups],
            certainty: None,
            not_photograph: None,
            note: String::new(),
        }
    }

    pub(super) fn of(label: &Label, groups: &[String]) -> Self {
        Self {
            presence: Some(label.presence),
            categories: groups.iter().map(|name| label.state(name)).collect(),
            certainty: Some(label.certainty),
            not_photograph: label.not_photograph,
            note: label.note.clone(),
        }
    }

    /// The label, as far as presence and certainty are chosen; what is missing otherwise.
    pub(super) fn label(&self, groups: &[String]) -> Result<Label, String> {
        let (presence, certainty) = match (self.presence, self.certainty) {
            (Some(presence), Some(certainty)) => (presence, certainty),
            (None, _) => return Err("is there litter? yes or no comes first".to_owned()),
            (Some(_), None) => return Err("how sure? high, medium or low is missing".to_owned()),
        };
        Ok(self.with(presence, certainty, groups))
    }

    fn with(&self, presence: Presence, certainty: Certainty, groups: &[String]) -> Label {
        let categories: BTreeMap<String, CategoryState> = groups
            .iter()
            .zip(&self.categories)
            .filter(|(_, state)| **state != CategoryState::Absent)
            .map(|(name, state)| (name.clone(), *state))
            .collect();
        let (not_photograph, note) = (self.not_photograph, self.note.clone());
        Label { presence, categories, certainty, not_photograph, note }
    }

    /// A mark that cannot stand beside the others, whatever is still missing.
    pub(super) fn contradiction(&self, groups: &[String]) -> Option<String> {
        let presence = self.presence.unwrap_or(Presence::Litter);
        let label = self.with(presence, Certainty::Low, groups);
        label.contradiction(groups).map(|found| found.to_string())
    }
}
