//! Which pictures a number is about, and what raters together say of each.
//!
//! Several raters on one picture: their answers must agree. A picture whose raters disagree on presence
//! is *disputed*: it counts for neither artifact, it is counted, and it bounds the numbers like one that
//! was skipped. A majority is not asked, because two to one on three raters is no better than one alone.

use super::evidence::{Answer, Evidence, Row, Said};
use crate::domain::label::{CategoryState, Certainty, Presence};
use crate::domain::shard::RaterName;
use crate::store::label_file::BlindStatus;

/// What raters together say of presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Truth {
    /// All who answered say litter.
    Litter,
    /// All who answered say clean.
    Clean,
    /// They disagree.
    Disputed,
    /// Nobody answered, somebody was asked.
    Skipped,
}

/// What raters together say of one category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum CategoryTruth {
    /// All say present.
    Present,
    /// All say absent.
    Absent,
    /// Somebody cannot tell.
    Unsure,
    /// They disagree.
    Disputed,
}

/// A way of choosing pictures and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum SubsetKind {
    /// Every blind answer as first sealed.
    All,
    /// Without what anybody says is not a photograph.
    Photographs,
    /// Only where every rater was sure.
    HighCertainty,
    /// One source.
    Source(String),
    /// One rater's own answers.
    Rater(RaterName),
    /// Only where at least two raters answered, and agree.
    AgreedTwice,
    /// With answers given after exposure.
    WithExposed,
    /// With answers amended after sealing.
    Amended,
}

impl SubsetKind {
    /// Its name in files and on screens.
    pub(in crate::sighted) fn name(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Photographs => "photographs".to_owned(),
            Self::HighCertainty => "high-confidence".to_owned(),
            Self::Source(name) => format!("source:{name}"),
            Self::Rater(name) => format!("rater:{name}"),
            Self::AgreedTwice => "labelled-twice-agreed".to_owned(),
            Self::WithExposed => "with-exposed".to_owned(),
            Self::Amended => "with-amendments".to_owned(),
        }
    }
}

/// One picture of a subset.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Judged<'e> {
    /// The picture.
    pub row: &'e Row,
    /// What raters say.
    pub truth: Truth,
    /// The answers that count.
    pub answers: Vec<&'e Answer>,
}

impl Judged<'_> {
    /// What raters say of a category; `None` when nobody was asked in the taxonomy in use.
    pub(in crate::sighted) fn category(&self, name: &str) -> Option<CategoryTruth> {
        let mut states = self
            .answers
            .iter()
            .filter(|answer| answer.categories_join)
            .map(|answer| answer.label.state(name));
        let first = states.next()?;
        let (mut unsure, mut split) = (first == CategoryState::Unsure, false);
        for state in states {
            unsure |= state == CategoryState::Unsure;
            split |= state != first;
        }
        Some(match (unsure, split, first) {
            (true, _, _) => CategoryTruth::Unsure,
            (false, true, _) => CategoryTruth::Disputed,
            (false, false, CategoryState::Present) => CategoryTruth::Present,
            (false, false, _) => CategoryTruth::Absent,
        })
    }
}

/// The pictures of a subset and what was left out of it.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Selection<'e> {
    /// Which subset.
    pub kind: SubsetKind,
    /// Pictures with model output and at least one rater asked, in the order of the report.
    pub judged: Vec<Judged<'e>>,
    /// Pictures of the report nobody has labelled or skipped.
    pub unlabelled: u64,
    /// Pictures whose only answers came after exposure.
    pub exposed_left_out: u64,
    /// Labelled pictures without model output on both sides.
    pub without_output: u64,
    /// The weakest status among the answers that count; `None` without any.
    pub blind: Option<BlindStatus>,
}

impl Selection<'_> {
    /// Pictures with one truth.
    pub(in crate::sighted) fn count(&self, truth: Truth) -> u64 {
        self.judged.iter().filter(|judged| judged.truth == truth).count() as u64
    }
}

/// The subsets a score lists, in order: the planned ones, then those that need a reason to exist and
/// have one.
pub(in crate::sighted) fn offered(evidence: &Evidence) -> Vec<Selection<'_>> {
    let mut kinds = vec![SubsetKind::All, SubsetKind::Photographs, SubsetKind::HighCertainty];
    let sources = evidence.sources();
    if sources.len() > 1 {
        kinds.extend(sources.into_iter().map(|source| SubsetKind::Source(source.to_owned())));
    }
    let raters = evidence.raters();
    if raters.len() > 1 {
        kinds.extend(raters.into_iter().map(|rater| SubsetKind::Rater(rater.clone())));
        kinds.push(SubsetKind::AgreedTwice);
    }
    let said = || evidence.rows.iter().flat_map(|row| row.said.values());
    if said().any(|said| said.sealed.as_ref().is_some_and(|answer| answer.exposed)) {
        kinds.push(SubsetKind::WithExposed);
    }
    if said().any(|said| said.amended.is_some()) {
        kinds.push(SubsetKind::Amended);
    }
    kinds.into_iter().map(|kind| select(evidence, kind)).collect()
}

/// Chooses the pictures of one subset.
pub(in crate::sighted) fn select(evidence: &Evidence, kind: SubsetKind) -> Selection<'_> {
    let mut selection = Selection {
        kind,
        judged: Vec::new(),
        unlabelled: 0,
        exposed_left_out: 0,
        without_output: 0,
        blind: None,
    };
    for row in &evidence.rows {
        let asked: Vec<&Said> = row
            .said
            .iter()
            .filter(|(rater, _)| match &selection.kind {
                SubsetKind::Rater(only) => only == *rater,
                _ => true,
            })
            .map(|(_, said)| said)
            .collect();
        let answers: Vec<&Answer> =
            asked.iter().filter_map(|said| counted(said, &selection.kind)).collect();
        if !belongs(row, &answers, &selection.kind) {
            continue;
        }
        let skipped = asked.iter().any(|said| said.sealed.is_none() && said.skipped);
        if answers.is_empty() && !skipped {
            if asked.iter().any(|said| said.sealed.is_some()) {
                selection.exposed_left_out += 1;
            } else {
                selection.unlabelled += 1;
            }
            continue;
        }
        if row.best.is_none() {
            selection.without_output += 1;
            continue;
        }
        for answer in &answers {
            let file = evidence.label_files.get(answer.file).map(|entry| entry.blind);
            let status = if answer.exposed { Some(BlindStatus::Broken) } else { file };
            selection.blind = selection.blind.max(status);
        }
        selection.judged.push(Judged { row, truth: truth(&answers), answers });
    }
    selection
}

/// The answer of one rater that counts in this subset.
fn counted<'e>(said: &'e Said, kind: &SubsetKind) -> Option<&'e Answer> {
    let answer = match kind {
        SubsetKind::Amended => said.amended.as_ref().or(said.sealed.as_ref()),
        _ => said.sealed.as_ref(),
    }?;
    (*kind == SubsetKind::WithExposed || !answer.exposed).then_some(answer)
}

fn belongs(row: &Row, answers: &[&Answer], kind: &SubsetKind) -> bool {
    match kind {
        SubsetKind::All | SubsetKind::Rater(_) | SubsetKind::WithExposed | SubsetKind::Amended => {
            true
        }
        SubsetKind::Photographs => {
            !row.flagged && answers.iter().all(|answer| answer.label.not_photograph.is_none())
        }
        SubsetKind::HighCertainty => {
            !answers.is_empty()
                && answers.iter().all(|answer| answer.label.certainty == Certainty::High)
        }
        SubsetKind::Source(source) => row.group.source == *source,
        SubsetKind::AgreedTwice => answers.len() > 1 && truth(answers) != Truth::Disputed,
    }
}

fn truth(answers: &[&Answer]) -> Truth {
    let Some(first) = answers.first() else { return Truth::Skipped };
    if answers.iter().any(|answer| answer.label.presence != first.label.presence) {
        return Truth::Disputed;
    }
    match first.label.presence {
        Presence::Litter => Truth::Litter,
        Presence::Clean => Truth::Clean,
    }
}
