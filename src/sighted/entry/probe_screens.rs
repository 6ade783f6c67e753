//! The review screen over made-up changes, and a report as large as one likes, for benchmarks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crossbeam_channel::Receiver;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::domain::digest::{FixtureId, ManifestHash, ReportHash, TensorHash};
use crate::sighted::decision::fold::{DecisionRules, OutputView};
use crate::sighted::decision::report::build::{FixtureSeen, ReportBuilder, ReportContext};
use crate::sighted::decision::report::write::to_bytes;
use crate::sighted::decision::report::{
    ArtifactEntry, DetectionRow, Environment, Item, ItemKind, Normalization, RecipeEntry,
    RuntimeEntry, ShardEntry, SideFound, Sides,
};
use crate::sighted::review::material::{Header, Material, SideName};
use crate::sighted::review::pictures::Fixtures;
use crate::sighted::review::recorder::Reply;
use crate::sighted::screen::review::{Effect, Msg, ReviewScreen, Start};
use crate::tui::help::Help;
use crate::tui::keymap::Key;
use crate::tui::picture::worker::PictureWorker;
use crate::tui::screen::{self, Input, Look, Screen as _};
use crate::tui::theme::Theme;

/// Longest wait for a picture.
const PATIENCE: Duration = Duration::from_secs(20);

/// A review screen that is drawn in memory, with real threads behind it.
pub struct ReviewProbe {
    screen: ReviewScreen,
    terminal: Terminal<TestBackend>,
    look: Look,
    fixtures: Fixtures,
    pictures: PictureWorker,
    answers: Receiver<Msg>,
    material: Material,
    /// What the screen was given last.
    sent: Option<Arc<Material>>,
    longest: Duration,
}

impl ReviewProbe {
    /// Over these pictures in `folder`, named by path and hash, each with one change.
    ///
    /// # Errors
    /// The system gives no threads, or a hash is none.
    pub fn new(
        folder: &Path,
        pictures: &[(String, String)],
        (columns, rows): (u16, u16),
    ) -> anyhow::Result<Self> {
        let (sender, answers) = crossbeam_channel::bounded(256);
        let fixtures = Fixtures::default();
        let worker = PictureWorker::start(fixtures.clone(), move |answer| {
            drop(sender.send(Msg::Picture(answer)));
        })?;
        let side = |name: &str| SideName::new(name, &"a".repeat(64));
        let mut material = Material::start(Header {
            sides: Sides { a: side("reference.onnx"), b: side("candidate.onnx") },
            recipe: "b".repeat(64),
            threshold: 0.4,
            classes: vec!["bottle".to_owned(), "can".to_owned()],
            input: (512, 512),
        });
        for (written, sha256) in pictures {
            add(&mut material, folder, written, sha256)?;
        }
        let start = Start {
            reviewer: "ada".parse().context("a name")?,
            seed: 1,
            hidden_sides: false,
            at: None,
            place: None,
        };
        let terminal = match Terminal::new(TestBackend::new(columns, rows)) {
            Ok(terminal) => terminal,
            Err(impossible) => match impossible {},
        };
        let mut probe = Self {
            screen: ReviewScreen::new(start),
            terminal,
            look: Look::plain(Theme::COLOUR),
            fixtures,
            pictures: worker,
            answers,
            material,
            sent: None,
            longest: Duration::ZERO,
        };
        probe.step(Msg::Input(Input::Resize { width: columns, height: rows }));
        probe.step(Msg::Input(Input::Graphics(probe.look.canvas)));
        probe.step(Msg::Recorded(Reply::Opened { events: Vec::new(), read_only: None }));
        probe.fixtures.learn(&probe.material);
        probe.step(Msg::Grown(Arc::new(probe.material.clone())));
        Ok(probe)
    }

    /// One turn of the loop: a message, its effects, a frame.
    fn step(&mut self, msg: Msg) -> Duration {
        let begun = Instant::now();
        let mut waiting = vec![msg];
        while let Some(msg) = waiting.pop() {
            for effect in self.screen.update(msg, Duration::ZERO) {
                match effect {
                    Effect::Pictures(requests) => self.pictures.request_all(requests),
                    Effect::Write(ticket, _) => {
                        waiting.push(Msg::Recorded(Reply::Saved { ticket }))
                    }
                    Effect::Copy(_) => {}
                }
            }
        }
        let (screen, look) = (&self.screen, &self.look);
        match self.terminal.draw(|frame| screen::draw(screen, &Help::default(), frame, look)) {
            Ok(_) => {}
            Err(impossible) => match impossible {},
        }
        let took = begun.elapsed();
        self.longest = self.longest.max(took);
        took
    }

    /// Presses a key and waits until the picture that is then wanted is in a frame: how long that took.
    ///
    /// # Errors
    /// No such key, or no picture came.
    pub fn press_until_shown(&mut self, key: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.press(key)?;
        self.until_shown()?;
        Ok(begun.elapsed())
    }

    /// Waits until the picture that is wanted is in a frame.
    ///
    /// # Errors
    /// It does not come, or is refused.
    pub fn until_shown(&mut self) -> anyhow::Result<()> {
        while !self.screen.shows_its_picture() {
            let msg = self.answers.recv_timeout(PATIENCE)?;
            self.step(msg);
        }
        Ok(())
    }

    /// Presses a key: how long the screen's thread was busy with it.
    ///
    /// # Errors
    /// No such key.
    pub fn press(&mut self, key: &str) -> anyhow::Result<Duration> {
        let key = Key::parse(key).context("a key")?;
        let binding = self.screen.keymap().lookup(self.screen.mode(), key).context("bound")?;
        let msg = binding.msg.clone();
        Ok(self.step(msg))
    }

    /// What a run found besides: `count` fixtures with a change each, that lie nowhere. Made on the
    /// caller's thread as the run does; the time is that of the screen's thread.
    ///
    /// # Errors
    /// The made-up hash is none.
    pub fn grow(&mut self, count: usize) -> anyhow::Result<Duration> {
        let from = self.material.images.len();
        for number in from..from + count {
            let name = format!("made-up/{number}.jpg");
            let id = FixtureId::of(name.as_bytes()).to_hex();
            add(&mut self.material, Path::new("/nowhere"), &name, &id)?;
        }
        // As whoever follows a run does: pictures are made known, and old material freed, over here.
        self.fixtures.learn(&self.material);
        let material = Arc::new(self.material.clone());
        let took = self.step(Msg::Grown(Arc::clone(&material)));
        self.sent = Some(material);
        Ok(took)
    }

    /// The longest the screen's thread was ever busy, since this was asked last.
    pub fn longest(&mut self) -> Duration {
        std::mem::take(&mut self.longest)
    }
}

fn add(material: &mut Material, folder: &Path, written: &str, sha256: &str) -> anyhow::Result<()> {
    let number = material.images.len();
    let row = |class_index: u32| DetectionRow {
        slot: 7,
        class_index,
        // Spread, so that sorting has work.
        confidence: 0.45 + 0.5 * ((number * 37 % 101) as f64 / 101.0),
        corners: [0.2, 0.2, 0.6, 0.7],
    };
    let side = |class_index| SideFound {
        best: Some(0.95),
        non_finite_slots: 0,
        detections: vec![row(class_index)],
    };
    let item = Item {
        fixture: sha256.to_owned(),
        slot: 7,
        kind: ItemKind::Relabelled,
        a: Some(row(0)),
        b: Some(row(1)),
        elsewhere_a: None,
        elsewhere_b: None,
    };
    let found = Sides { a: side(0), b: side(1) };
    material
        .add(written, sha256, folder, &found, std::iter::once(&item))
        .map_err(anyhow::Error::msg)
}

/// A report over `count` made-up fixtures, every tenth with a change, and its manifest.
///
/// # Errors
/// It cannot be built.
pub fn large_report(count: u32) -> anyhow::Result<(Vec<u8>, String)> {
    let rules = DecisionRules {
        classes: 3,
        recommended: 0.4,
        logits_output: "labels".to_owned(),
        boxes_output: "dets".to_owned(),
    };
    let mut builder = ReportBuilder::new(rules)?;
    let boxes = [0.5, 0.5, 0.2, 0.2].repeat(4);
    let mut logits = vec![-4.0_f32; 4 * 4];
    logits[1] = 0.5;
    let mut manifest = String::new();
    for position in 0..count {
        let path = format!("images/{position:06}.jpg");
        manifest.push_str(&format!("{path}\n"));
        let mut other = logits.clone();
        other[1] = if position % 10 == 0 { -0.6 } else { 0.5 };
        let seen = FixtureSeen {
            position: u64::from(position),
            id: FixtureId::of(path.as_bytes()),
            tensor: TensorHash::of(path.as_bytes()),
            path,
        };
        let views = |logits| {
            [
                OutputView { name: "dets", shape: &[1, 4, 4], values: &boxes },
                OutputView { name: "labels", shape: &[1, 4, 4], values: logits },
            ]
        };
        builder.push(seen, &views(&logits), &views(&other))?;
    }
    let artifact = |name: &str| ArtifactEntry {
        path: format!("{name}.onnx"),
        bytes: 1,
        sha256: FixtureId::of(name.as_bytes()).to_hex(),
    };
    let built = builder.finish(ReportContext {
        generated_at: "2026-02-03T04:05:06+00:00".to_owned(),
        artifacts: Sides { a: artifact("reference"), b: artifact("candidate") },
        environment: Environment {
            platform: String::new(),
            machine: String::new(),
            python: String::new(),
            onnxruntime: String::new(),
            execution_providers: Vec::new(),
            note: String::new(),
        },
        manifest: "manifest.txt".to_owned(),
        manifest_hash: ManifestHash::of(manifest.as_bytes()),
        manifest_count: u64::from(count),
        input_shape: vec![1, 3, 64, 64],
        normalization: Normalization { mean: [0.0; 3], std: [1.0; 3] },
        resize_note: String::new(),
        run_ms: Sides::default(),
        latency_note: String::new(),
        product: String::new(),
        recipe: RecipeEntry { name: String::new(), sha256: ReportHash::of(b"recipe").to_hex() },
        runtime: RuntimeEntry {
            name: String::new(),
            version: String::new(),
            provider: String::new(),
            intra_op_threads: 1,
            optimisation: String::new(),
            cpu_features: Vec::new(),
        },
        classes: ["a", "b", "c"].map(str::to_owned).to_vec(),
        latency: None,
        shard: ShardEntry { index: 1, of: 1 },
        state_file: String::new(),
    })?;
    Ok((to_bytes(&built.report)?, manifest))
}
