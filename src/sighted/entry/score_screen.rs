//! The score and threshold screens, for the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::score::{ScoreQuestion, decided, resolve_places};
use crate::domain::digest::{ContentHash, FixtureId};
use crate::domain::shard::RaterName;
use crate::sighted::review::material::Material;
use crate::sighted::review::pictures::Fixtures;
use crate::sighted::runs::verdicts::record_sightings;
use crate::sighted::score::compute::score;
use crate::sighted::score::evidence::Evidence;
use crate::sighted::score::gather::{gather, read_report};
use crate::sighted::screen::score::{self as score_screen, ScoreExit, ScoreScreen};
use crate::sighted::screen::threshold::{self as threshold_screen, ThresholdExit, ThresholdScreen};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::picture::PictureSource;
use crate::tui::session::Session;

/// What the person came for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To look: begins with the numbers.
    Look,
    /// To choose a threshold: begins with the curves, and ends with a choice.
    Choose,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum BrowseEnd {
    /// Left.
    Left,
    /// This threshold was chosen.
    Chosen(f64),
    /// This picture is to be reviewed, in this report.
    Review {
        /// Hash of the picture.
        fixture: String,
        /// The report.
        report: PathBuf,
    },
    /// The loop ended by itself: control-C, or a signal.
    Ended(Ended),
}

/// Everything read, before the terminal is taken.
#[derive(Debug)]
pub struct Browse {
    evidence: Evidence,
    report: PathBuf,
    comparison: Option<ContentHash>,
    pictures: Option<Fixtures>,
    decided: Vec<String>,
    at: f64,
    seen: BTreeSet<FixtureId>,
    /// The screens, once they were shown: whoever comes back finds them as they were left.
    numbers: Option<ScoreScreen>,
    curves: Option<ThresholdScreen>,
    shows_curves: Option<bool>,
    /// Which files were chosen.
    pub notes: Vec<String>,
}

/// Reads what the screens show.
///
/// # Errors
/// The first file that cannot be used, or files that do not belong together.
pub fn prepare_browse(
    question: &ScoreQuestion,
    workspace: Option<&Workspace>,
) -> anyhow::Result<Browse> {
    let mut notes = Vec::new();
    let places = resolve_places(question, workspace, &mut notes)?;
    let evidence = gather(&places)?;
    let (report, hash) = read_report(&places.report)?;
    let manifest = workspace.map(|it| it.resolve(&it.config.fixtures.manifest));
    let folder = manifest.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    // Without pictures there are still numbers.
    let material = Material::from_report(&report, Some(hash), folder).ok();
    let pictures = material.as_ref().map(|material| {
        let fixtures = Fixtures::default();
        fixtures.learn(material);
        fixtures
    });
    Ok(Browse {
        at: question.threshold.unwrap_or(evidence.recommended),
        decided: decided(workspace, &evidence.artifacts.b),
        evidence,
        report: places.report,
        comparison: material.map(|material| material.comparison),
        pictures,
        seen: BTreeSet::new(),
        numbers: None,
        curves: None,
        shows_curves: None,
        notes,
    })
}

impl Browse {
    /// Shows the screens, going back and forth between them, until something is chosen or left. Run again,
    /// it goes on where it ended.
    ///
    /// # Errors
    /// The terminal failed.
    pub fn run(&mut self, purpose: Purpose, session: &mut Session) -> anyhow::Result<BrowseEnd> {
        loop {
            let curves = *self.shows_curves.get_or_insert(purpose == Purpose::Choose);
            let end = if curves { self.curves(session)? } else { self.numbers(session)? };
            match (end, purpose) {
                (Step::End(end), _) => return Ok(end),
                (Step::Chosen(threshold), Purpose::Choose) => {
                    return Ok(BrowseEnd::Chosen(threshold));
                }
                (Step::Chosen(threshold), Purpose::Look) => {
                    self.at = threshold;
                    if let Some(numbers) = &mut self.numbers {
                        numbers.rescore(score(&self.evidence, threshold));
                    }
                    self.shows_curves = Some(false);
                }
                (Step::Back, Purpose::Choose) => return Ok(BrowseEnd::Left),
                (Step::Back, Purpose::Look) if curves => self.shows_curves = Some(false),
                (Step::Back, Purpose::Look) => return Ok(BrowseEnd::Left),
                (Step::Curves, _) => self.shows_curves = Some(true),
            }
        }
    }

    fn numbers(&mut self, session: &mut Session) -> anyhow::Result<Step> {
        let screen = self.numbers.get_or_insert_with(|| {
            ScoreScreen::new(score(&self.evidence, self.at), self.decided.clone())
        });
        let ended = score_screen::run(session, screen)?;
        self.seen.extend(screen.seen());
        Ok(match screen.take_exit() {
            None => Step::End(BrowseEnd::Ended(ended)),
            Some(ScoreExit::Left) => Step::Back,
            Some(ScoreExit::Threshold) => Step::Curves,
            Some(ScoreExit::Review(fixture)) => self.review(fixture),
        })
    }

    fn curves(&mut self, session: &mut Session) -> anyhow::Result<Step> {
        let screen =
            self.curves.get_or_insert_with(|| ThresholdScreen::new(self.evidence.clone(), self.at));
        let pictures =
            self.pictures.clone().map(|fixtures| Arc::new(fixtures) as Arc<dyn PictureSource>);
        let ended = threshold_screen::run(session, screen, pictures)?;
        self.seen.extend(screen.seen());
        Ok(match screen.take_exit() {
            None => Step::End(BrowseEnd::Ended(ended)),
            Some(ThresholdExit::Left) => Step::Back,
            Some(ThresholdExit::Chosen(threshold)) => Step::Chosen(threshold),
            Some(ThresholdExit::Review(fixture)) => self.review(fixture),
        })
    }

    fn review(&self, fixture: FixtureId) -> Step {
        let report = self.report.clone();
        Step::End(BrowseEnd::Review { fixture: fixture.to_hex(), report })
    }

    /// Writes down that `who` has seen what models and raters said of the pictures that were listed, so
    /// that no later label of theirs counts as blind. Says how many pictures that is new for.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn record_exposure(
        &self,
        who: &RaterName,
        now: &str,
        workspace: &Workspace,
    ) -> anyhow::Result<usize> {
        let Some(comparison) = self.comparison.filter(|_| !self.seen.is_empty()) else {
            return Ok(0);
        };
        let seen = self.seen.iter().copied();
        Ok(record_sightings(&workspace.runs_database(), who, now, comparison, seen)?)
    }
}

enum Step {
    End(BrowseEnd),
    Chosen(f64),
    Back,
    Curves,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::FixtureId;
    use crate::sighted::runs::verdicts::{read, sightings};
    use crate::sighted::score::testing::Set;
    use crate::store::atomic;

    #[test]
    fn whoever_looked_is_written_down_once_for_each_picture() {
        let mut set = Set::new(&[("a", 0.9, 0.1)]);
        set.labelled("ada", &["a"], &[]);
        let folder = tempfile::tempdir().expect("temporary folder");
        let config = "schema = 1\n[compare]\nreference = \"a\"\ncandidates = [\"b\"]\nsidecar = \"c\"\n[fixtures]\nmanifest = \"m.txt\"\n";
        atomic::write(&folder.path().join("flipside.toml"), config.as_bytes()).expect("written");
        let workspace = Workspace::open(folder.path()).expect("valid");
        let mut browse = Browse {
            at: 0.4,
            evidence: set.join(),
            report: PathBuf::new(),
            comparison: Some(ContentHash::of(b"comparison")),
            pictures: None,
            decided: Vec::new(),
            seen: BTreeSet::new(),
            numbers: None,
            curves: None,
            shows_curves: None,
            notes: Vec::new(),
        };
        let who: RaterName = "ada".parse().expect("a rater");
        let record = |browse: &Browse| {
            browse.record_exposure(&who, "2026-02-03T04:05:06+00:00", &workspace).expect("written")
        };
        assert_eq!(record(&browse), 0, "nothing was listed");
        assert!(!workspace.runs_database().exists());
        browse.seen.insert(FixtureId::of(b"a"));
        assert_eq!(record(&browse), 1);
        let events = read(&workspace.runs_database()).expect("readable");
        assert_eq!(sightings(&events).len(), 1);
    }
}
