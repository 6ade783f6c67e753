//! The threshold screen over made-up pictures, for its benchmark.

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::domain::digest::{FixtureId, ReportHash};
use crate::domain::label::{Certainty, Label, Presence};
use crate::domain::manifest::FixtureGroup;
use crate::domain::shard::Shard;
use crate::sighted::decision::report::{DetectionRow, Sides};
use crate::sighted::score::evidence::{Answer, Evidence, LabelFileEntry, Row, Said};
use crate::sighted::screen::threshold::{Msg, ThresholdScreen};
use crate::stats::random::Random;
use crate::store::label_file::BlindStatus;
use crate::tui::screen::{Look, Screen as _};
use crate::tui::theme::Theme;

/// A threshold screen over made-up pictures.
#[derive(Debug)]
pub struct ThresholdProbe {
    screen: ThresholdScreen,
    terminal: Terminal<TestBackend>,
}

impl ThresholdProbe {
    /// `pictures` pictures, all labelled, with up to eight detections a side.
    pub fn new(pictures: u32) -> Self {
        let mut random = Random::new(u64::from(pictures));
        let rows = (0..pictures).map(|index| row(index, &mut random)).collect();
        let evidence = Evidence {
            report_hash: ReportHash::of(b"probe"),
            generated_at: String::new(),
            manifest_sha256: String::new(),
            artifacts: Sides::default(),
            names: Sides::default(),
            recommended: 0.4,
            detection_floor: 0.2,
            decisions: Vec::new(),
            taxonomy: None,
            categories: Vec::new(),
            label_files: "probe".parse().map_or_else(
                |_| Vec::new(),
                |rater| {
                    vec![LabelFileEntry {
                        path: String::new(),
                        hash: crate::domain::digest::LabelFileHash::of(b"probe"),
                        rater,
                        shard: Shard::WHOLE,
                        sealed_at: String::new(),
                        blind: BlindStatus::Asserted,
                    }]
                },
            ),
            rows,
            exposures: Vec::new(),
            groups_hash: None,
            unjoined: Vec::new(),
            margin: None,
            compared: 0,
            measured_on: String::new(),
        };
        let terminal = match Terminal::new(TestBackend::new(200, 60)) {
            Ok(terminal) => terminal,
            Err(impossible) => match impossible {},
        };
        Self { screen: ThresholdScreen::new(evidence, 0.4), terminal }
    }

    /// Moves the cursor by so many hundredths, recounts everything and draws the screen; how many pictures
    /// were seen to change so far.
    pub fn step(&mut self, hundredths: i32) -> usize {
        self.screen.update(Msg::Hundredths(hundredths), Duration::ZERO);
        let drawn = self.terminal.draw(|frame| {
            self.screen.view(frame, frame.area(), &Look::plain(Theme::COLOUR));
        });
        // What was drawn is part of the work: it must not be left out of it.
        std::hint::black_box(drawn.is_ok());
        self.screen.seen().len()
    }
}

fn row(index: u32, random: &mut Random) -> Row {
    let mut side = || -> Vec<DetectionRow> {
        (0..u32::try_from(random.below(9)).unwrap_or(0))
            .map(|slot| {
                let (x, y) = (0.6 * random.unit(), 0.6 * random.unit());
                DetectionRow {
                    slot,
                    class_index: u32::try_from(random.below(10)).unwrap_or(0),
                    confidence: 0.2 + 0.75 * random.unit(),
                    corners: [x, y, x + 0.3, y + 0.3],
                }
            })
            .collect()
    };
    let detections = Sides { a: side(), b: side() };
    let best = |rows: &[DetectionRow]| rows.iter().map(|row| row.confidence).fold(0.1, f64::max);
    let presence = if index.is_multiple_of(4) { Presence::Clean } else { Presence::Litter };
    let said = "probe".parse().map_or_else(
        |_| BTreeMap::new(),
        |rater: crate::domain::shard::RaterName| {
            let label = Label {
                presence,
                categories: BTreeMap::new(),
                certainty: Certainty::High,
                not_photograph: None,
                note: String::new(),
            };
            let answer = Answer {
                rater: rater.clone(),
                file: 0,
                label,
                exposed: false,
                categories_join: false,
            };
            BTreeMap::from([(rater, Said { sealed: Some(answer), amended: None, skipped: false })])
        },
    );
    Row {
        fixture: FixtureId::of(&index.to_le_bytes()),
        path: format!("images/{index:05}.jpg"),
        group: FixtureGroup::default(),
        best: Some(Sides { a: best(&detections.a), b: best(&detections.b) }),
        category_best: BTreeMap::new(),
        detections,
        said,
        flagged: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_changes_pictures() {
        let mut probe = ThresholdProbe::new(300);
        let first = probe.step(1);
        assert!(first > 0);
        assert!(probe.step(5) > first);
    }
}
