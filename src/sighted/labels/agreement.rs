//! Agreement between raters, and of each rater with themselves.
//!
//! Between raters, each rater's first answer for a picture counts. With oneself, the first is held
//! against a later one for the same picture: a hidden repeat, or the same picture in another shard.
//! Amended answers take no part. Unsure is left out of the yes/no coefficients and counted, and a third
//! value of a second α. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sealed, first_seals};
use crate::domain::digest::FixtureId;
use crate::domain::label::{CategoryState, Label, Presence};
use crate::domain::shard::RaterName;
use crate::stats::agreement::{
    Answer, Coefficient, PairAgreement, gwet_ac1, jaccard_distance, krippendorff_alpha,
    nominal_alpha, pair, units, units_interval,
};
use crate::stats::proportion::Interval;

/// Seed of every resampling, so that the same files give the same numbers.
const SEED: u64 = 1;

/// One question with two answers each.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct QuestionAgreement {
    /// `presence`, `photograph`, or a category's name.
    pub question: String,
    /// Is it a category?
    pub is_category: bool,
    /// Yes/no coefficients.
    pub agreement: PairAgreement,
    /// Pictures left out of them because one of the answers is unsure.
    pub unsure: u64,
    /// α with unsure as a value of its own; categories only.
    pub alpha_with_unsure: Option<Coefficient>,
}

/// Two lists of answers compared.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Comparison {
    /// Whose.
    pub first: RaterName,
    /// And whose; the same name for a rater with themselves.
    pub second: RaterName,
    /// Pictures both answered.
    pub pictures: u64,
    /// Presence, photograph, then categories in the order shown.
    pub questions: Vec<QuestionAgreement>,
    /// α of the set of categories present, by how much two sets share.
    pub set_alpha: Option<f64>,
}

/// All raters at once, for one question.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Pooled {
    /// Which question.
    pub question: String,
    /// Pictures with two answers or more.
    pub pictures: u64,
    /// Krippendorff's α.
    pub alpha: Option<f64>,
    /// Its 95 % interval.
    pub alpha_interval: Option<Interval>,
    /// Gwet's AC1.
    pub ac1: Option<f64>,
}

/// Everything there is to say.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct AgreementReport {
    /// Raters and how many pictures each answered.
    pub raters: Vec<(RaterName, u64)>,
    /// Every two raters with a picture in common.
    pub between: Vec<Comparison>,
    /// All raters, when there are more than two.
    pub pooled: Vec<Pooled>,
    /// Each rater with a picture answered twice.
    pub oneself: Vec<Comparison>,
}

impl AgreementReport {
    /// Is there any number about two raters?
    pub(in crate::sighted) fn has_inter_rater(&self) -> bool {
        !self.between.is_empty()
    }
}

/// An answer with the categories that were asked for.
#[derive(Clone, Copy)]
struct Said<'a> {
    label: &'a Label,
    groups: &'a [String],
}

/// Answers of one rater by picture, first to last.
type ByPicture<'a> = BTreeMap<FixtureId, Vec<Said<'a>>>;

/// Compares everything in `files`.
pub(in crate::sighted) fn agreement(files: &[Sealed]) -> AgreementReport {
    let mut seals: Vec<&Sealed> = first_seals(files).collect();
    // First answers first: by time of the seal, then by name for equal times.
    seals.sort_by_key(|sealed| (sealed.file.header.sealed_at.clone(), sealed.path.clone()));
    let groups = groups_in_order(&seals);
    let mut answers: BTreeMap<&RaterName, ByPicture<'_>> = BTreeMap::new();
    for sealed in &seals {
        let by_picture = answers.entry(&sealed.file.header.rater).or_default();
        // Lines are sorted by pass within a picture.
        for line in &sealed.file.labels {
            let said = Said { label: &line.label, groups: &sealed.file.header.groups };
            by_picture.entry(line.fixture).or_default().push(said);
        }
    }
    let raters: Vec<&RaterName> = answers.keys().copied().collect();
    let first_of = |rater: &RaterName| -> BTreeMap<FixtureId, Said<'_>> {
        let of = answers.get(rater).into_iter().flatten();
        of.filter_map(|(fixture, said)| Some((*fixture, *said.first()?))).collect()
    };
    let mut between = Vec::new();
    for (index, first) in raters.iter().enumerate() {
        for second in &raters[index + 1..] {
            let (ours, theirs) = (first_of(first), first_of(second));
            let both = ours
                .iter()
                .filter_map(|(fixture, said)| Some((*said, *theirs.get(fixture)?)))
                .collect();
            between.extend(compare(first, second, both, &groups));
        }
    }
    let oneself = raters
        .iter()
        .filter_map(|rater| {
            let twice = answers.get(rater)?.values();
            let both = twice.filter_map(|said| Some((*said.first()?, *said.get(1)?))).collect();
            compare(rater, rater, both, &groups)
        })
        .collect();
    let firsts: Vec<_> = raters.iter().map(|rater| first_of(rater)).collect();
    let pooled = if raters.len() > 2 { pool(&firsts, &groups) } else { Vec::new() };
    let counted = |rater: &&RaterName| ((*rater).clone(), answers[*rater].len() as u64);
    AgreementReport { raters: raters.iter().map(counted).collect(), between, pooled, oneself }
}

/// Category names in the order the files show them.
fn groups_in_order(seals: &[&Sealed]) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for name in seals.iter().flat_map(|sealed| &sealed.file.header.groups) {
        if !groups.contains(name) {
            groups.push(name.clone());
        }
    }
    groups
}

fn compare(
    first: &RaterName,
    second: &RaterName,
    both: Vec<(Said<'_>, Said<'_>)>,
    groups: &[String],
) -> Option<Comparison> {
    if both.is_empty() {
        return None;
    }
    let lists = |value: &dyn Fn(Said<'_>) -> Answer| -> (Vec<Answer>, Vec<Answer>) {
        both.iter().map(|(a, b)| (value(*a), value(*b))).unzip()
    };
    let yes_no = |name: &str, value: &dyn Fn(Said<'_>) -> Answer| {
        let (ours, theirs) = lists(value);
        QuestionAgreement {
            question: name.to_owned(),
            is_category: false,
            agreement: pair(&ours, &theirs, 2, SEED),
            unsure: 0,
            alpha_with_unsure: None,
        }
    };
    let mut questions = vec![yes_no("presence", &presence), yes_no("photograph", &photograph)];
    for name in groups {
        let (ours, theirs) = lists(&|said| category(said, name));
        let asked = ours.iter().zip(&theirs).filter(|(a, b)| a.is_some() && b.is_some()).count();
        if asked == 0 {
            continue;
        }
        let (sure_ours, sure_theirs) =
            lists(&|said| category(said, name).filter(|it| *it != UNSURE));
        let agreement = pair(&sure_ours, &sure_theirs, 2, SEED);
        let with_unsure = pair(&ours, &theirs, 3, SEED).alpha;
        questions.push(QuestionAgreement {
            question: name.clone(),
            is_category: true,
            unsure: asked as u64 - agreement.items,
            agreement,
            alpha_with_unsure: Some(with_unsure),
        });
    }
    let sets: Vec<Vec<u64>> = both
        .iter()
        .filter(|(a, b)| !a.groups.is_empty() && a.groups == b.groups)
        .map(|(a, b)| vec![set_of(a, groups), set_of(b, groups)])
        .collect();
    Some(Comparison {
        first: first.clone(),
        second: second.clone(),
        pictures: both.len() as u64,
        questions,
        set_alpha: krippendorff_alpha(&sets, jaccard_distance),
    })
}

fn pool(firsts: &[BTreeMap<FixtureId, Said<'_>>], groups: &[String]) -> Vec<Pooled> {
    let pictures: BTreeSet<FixtureId> = firsts.iter().flat_map(BTreeMap::keys).copied().collect();
    let pooled = |question: &str, value: &dyn Fn(Said<'_>) -> Answer| {
        let ratings: Vec<Vec<Answer>> = firsts
            .iter()
            .map(|of| pictures.iter().map(|id| value(*of.get(id)?)).collect())
            .collect();
        let units = units(&ratings);
        Pooled {
            question: question.to_owned(),
            pictures: units.iter().filter(|unit| unit.len() >= 2).count() as u64,
            alpha: nominal_alpha(&units),
            alpha_interval: units_interval(&units, SEED, nominal_alpha),
            ac1: gwet_ac1(&units, Some(2)),
        }
    };
    let mut all = vec![pooled("presence", &presence), pooled("photograph", &photograph)];
    for name in groups {
        all.push(pooled(name, &|said| category(said, name).filter(|it| *it != UNSURE)));
    }
    all.retain(|it| it.pictures > 0);
    all
}

/// The value of an unsure answer.
const UNSURE: u8 = 2;

fn presence(said: Said<'_>) -> Answer {
    Some(u8::from(said.label.presence == Presence::Litter))
}

fn photograph(said: Said<'_>) -> Answer {
    Some(u8::from(said.label.not_photograph.is_none()))
}

/// `None` when the category was not asked for.
fn category(said: Said<'_>, name: &str) -> Answer {
    said.groups.iter().any(|group| group == name).then(|| match said.label.state(name) {
        CategoryState::Absent => 0,
        CategoryState::Present => 1,
        CategoryState::Unsure => UNSURE,
    })
}

/// Categories present as the bits of a number; those past the 64th take no part.
fn set_of(said: &Said<'_>, groups: &[String]) -> u64 {
    groups
        .iter()
        .take(64)
        .enumerate()
        .filter(|(_, name)| said.label.state(name) == CategoryState::Present)
        .fold(0, |set, (index, _)| set | 1 << index)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{line, sealed};
    use super::*;

    fn question<'a>(comparison: &'a Comparison, name: &str) -> &'a QuestionAgreement {
        comparison.questions.iter().find(|it| it.question == name).expect("asked")
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("defined");
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn two_raters_by_hand() {
        // Presence on pictures 1..4: yes yes no no against yes no no no.
        let report = agreement(&[
            sealed(
                "ada",
                1,
                vec![line(1, 1, "y b"), line(2, 1, "y c"), line(3, 1, "n"), line(4, 1, "n")],
            ),
            sealed(
                "bob",
                2,
                vec![
                    line(1, 1, "y b"),
                    line(2, 1, "n"),
                    line(3, 1, "n"),
                    line(4, 1, "n"),
                    line(9, 1, "y c"),
                ],
            ),
        ]);
        let counts: Vec<(&str, u64)> =
            report.raters.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(counts, [("ada", 4), ("bob", 5)]);
        assert_eq!((report.between.len(), report.pooled.len(), report.oneself.len()), (1, 0, 0));
        let both = &report.between[0];
        assert_eq!(both.pictures, 4);
        let presence = &question(both, "presence").agreement;
        assert_eq!((presence.agreed, presence.items), (3, 4));
        // p_e = 1/2·1/4 + 1/2·3/4 = 1/2, so κ = (3/4 − 1/2)/(1/2).
        near(presence.kappa.value, 0.5);
        // 8 answers, 3 yes: D_o = 1/4, D_e = 2·3·5/(8·7).
        near(presence.alpha.value, 1.0 - 0.25 / (30.0 / 56.0));
        // q = 3/8: p_γ = 2·3/8·5/8.
        near(presence.ac1.value, (0.75 - 30.0 / 64.0) / (1.0 - 30.0 / 64.0));
        assert_eq!(question(both, "bottles").agreement.agreed, 4);
        assert_eq!(question(both, "cans").agreement.agreed, 3);
        // Sets: {b}{b} {c}{} {}{} {}{}. Observed 2·1/8; expected over 8 answers, b 2, c 1, empty 5:
        // 2·(2·1 + 2·5 + 1·5)/(8·7).
        near(both.set_alpha, 1.0 - 0.25 / (34.0 / 56.0));
        assert!(question(both, "photograph").agreement.kappa.value.is_none());
    }

    #[test]
    fn unsure_is_left_out_of_yes_and_no_and_counted() {
        let report = agreement(&[
            sealed("ada", 1, vec![line(1, 1, "y b"), line(2, 1, "y b?"), line(3, 1, "y c")]),
            sealed("bob", 1, vec![line(1, 1, "y b"), line(2, 1, "y b?"), line(3, 1, "y c b?")]),
        ]);
        let bottles = question(&report.between[0], "bottles");
        assert_eq!((bottles.unsure, bottles.agreement.items, bottles.agreement.agreed), (2, 1, 1));
        // With unsure as a value: 1 1, 2 2, 0 2. D_o = 2/6, D_e = (36 − 4 − 9 − 1)/(6·5).
        let with = bottles.alpha_with_unsure.expect("a category").value;
        near(with, 1.0 - (2.0 / 6.0) / (22.0 / 30.0));
    }

    #[test]
    fn repeats_are_held_against_the_first_showing() {
        let report = agreement(&[
            sealed(
                "ada",
                1,
                vec![line(1, 1, "y b"), line(1, 2, "n"), line(2, 1, "n"), line(2, 2, "n")],
            ),
            sealed("ada", 2, vec![line(3, 1, "y c")]),
            // The same picture in a later shard is a repeat too.
            sealed("ada", 3, vec![line(3, 1, "y c")]),
        ]);
        assert!(!report.has_inter_rater());
        let own = &report.oneself[0];
        assert_eq!((own.first.as_str(), own.second.as_str(), own.pictures), ("ada", "ada", 3));
        let presence = &question(own, "presence").agreement;
        assert_eq!((presence.agreed, presence.items), (2, 3));
    }

    #[test]
    fn amendments_take_no_part_and_unasked_categories_are_no_answer() {
        let first = sealed("ada", 1, vec![line(1, 1, "y b")]);
        let mut amended = sealed("ada", 1, vec![line(1, 1, "n")]);
        amended.file.header.supersedes = Some(first.file.sha256);
        let mut bare = sealed("bob", 2, vec![line(1, 1, "y")]);
        bare.file.header.groups.clear();
        let report = agreement(&[first, amended, bare]);
        assert!(report.oneself.is_empty());
        let both = &report.between[0];
        assert_eq!(question(both, "presence").agreement.agreed, 1);
        assert!(both.questions.iter().all(|it| !it.is_category));
        assert_eq!(both.set_alpha, None);
    }

    #[test]
    fn three_raters_are_pooled() {
        let of = |rater: &str, words: [&str; 3]| {
            let lines = words.iter().zip(1..).map(|(words, id)| line(id, 1, words)).collect();
            sealed(rater, 1, lines)
        };
        let report = agreement(&[
            of("ada", ["y b", "n", "n"]),
            of("bob", ["y b", "n", "y c"]),
            of("cy", ["y b", "n", "n"]),
        ]);
        assert_eq!(report.between.len(), 3);
        let presence = &report.pooled[0];
        assert_eq!((presence.question.as_str(), presence.pictures), ("presence", 3));
        // Units yyy nnn nyn: D_o = (0 + 0 + 2·2/2)/9, D_e = 2·4·5/(9·8).
        near(presence.alpha, 1.0 - (2.0 / 9.0) / (40.0 / 72.0));
    }

    #[test]
    fn nothing_twice_is_no_number() {
        let report = agreement(&[sealed("ada", 1, vec![line(1, 1, "n")])]);
        assert!(!report.has_inter_rater() && report.oneself.is_empty());
        assert!(!agreement(&[]).has_inter_rater());
    }
}
