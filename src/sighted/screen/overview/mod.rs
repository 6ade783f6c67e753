//! The overview: what lies in the workspace, and one key to every screen.
//!
//! ```text
//! flipside  workspace/litter
//! ARTIFACTS  reference  a59fc4170d2b  fp32  119.3 MB  models/detector.fp32.onnx
//! FIXTURES   200 pictures  manifest 8f3a…  fixtures/manifest.txt
//! RUNS     > 2026-02-03 04:05  112 changed, 3 decided, 200 pictures at 0.4  a59fc417… 2c11…
//! LABELS     1/4  ada 12 of 18, bob sealed
//! RECORDS    5 records, 2 signed
//! ```
//!
//! It starts nothing itself: leaving it with a [`Choice`] tells whoever runs it what to open.

pub(in crate::sighted) mod facts;

#[cfg(test)]
mod tests;

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::escape::escape;
use crate::tui::help::hint_bar;
use crate::tui::keymap::{KeyMap, Modes};
use crate::tui::screen::{Input, Look, MouseKind, Screen};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::input::{Edit, TextInput};
use crate::tui::widgets::list::{ListState, render_menu};
use crate::tui::widgets::text::{fit, fit_middle, width};

use facts::{ArtifactFact, Fact, FixturesFact, RecordFact, RunFact, ShardFact};

/// What to open next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Leave the program.
    Quit,
    /// Review a report, by file name in the workspace's folder of reports.
    Review(String),
    /// The same, with the sides hidden and in random order.
    ReviewHidden(String),
    /// Run parity with this candidate, counted from 0 as configured, or look at the run that is going on.
    Parity(usize),
    /// Label: rater and shard as typed.
    Label {
        /// Who.
        rater: String,
        /// Which part.
        shard: String,
    },
    /// Scores.
    Score,
    /// The threshold screen.
    Sign,
    /// Records.
    Records,
    /// The HTML report.
    Report,
    /// The sheet of all fixtures.
    Fixtures,
    /// The doctor.
    Doctor,
    /// The overview, read again.
    Again,
}

/// What can happen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// A key.
    Act(Act),
    /// A key or pasted text for the text field, the mouse, a size.
    Input(Input),
    /// Something was found out.
    Fact(Fact),
    /// Everything was read.
    Complete,
    /// How the run behind the screens stands.
    Run(RunLine),
}

/// The run behind the screens, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct RunLine {
    /// How it stands; escaped.
    pub text: String,
    /// How that looks.
    pub role: Role,
    /// It has not ended.
    pub going: bool,
}

/// Actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum Act {
    Step(isize),
    Review,
    ReviewHidden,
    Parity,
    Open(Choice),
    Label,
    Quit,
    QuitYes,
    Close,
    MenuStep(isize),
    MenuChoose,
}

/// What has the keyboard.
#[derive(Debug, Clone, PartialEq)]
enum Mode {
    Browse,
    /// Rater and shard are typed.
    Prompt(TextInput),
    /// Which candidate parity runs with.
    Candidate(ListState),
    /// Leaving would stop the run.
    AskQuit,
}

/// Place of the runs among the sections.
const RUNS_SECTION: usize = 2;

const BROWSE: Modes = Modes::only(0);
const PROMPT: Modes = Modes::only(1);
const CANDIDATE: Modes = Modes::only(2);
const ASK_QUIT: Modes = Modes::only(3);

/// The state.
pub(in crate::sighted) struct Overview {
    root: String,
    artifacts: Option<Vec<ArtifactFact>>,
    fixtures: Option<FixturesFact>,
    runs: Option<Vec<RunFact>>,
    shards: Option<Vec<ShardFact>>,
    records: Option<(Vec<RecordFact>, usize)>,
    list: ListState,
    mode: Mode,
    notice: Option<(Role, String)>,
    run: Option<RunLine>,
    rater: String,
    candidates: Vec<String>,
    complete: bool,
    choice: Option<Choice>,
    keys: KeyMap<Msg>,
}

impl Overview {
    /// An overview of the workspace at `root`; `rater` is offered for labelling, one of `candidates` for
    /// parity.
    pub(in crate::sighted) fn new(root: &str, rater: &str, candidates: Vec<String>) -> Self {
        Self {
            root: escape(root).into_owned(),
            artifacts: None,
            fixtures: None,
            runs: None,
            shards: None,
            records: None,
            list: ListState::default(),
            mode: Mode::Browse,
            notice: None,
            run: None,
            rater: rater.to_owned(),
            candidates,
            complete: false,
            choice: None,
            keys: keymap(),
        }
    }

    /// What was chosen; leaving without a choice quits. It can be shown again then.
    pub(in crate::sighted) fn take_choice(&mut self) -> Choice {
        self.choice.take().unwrap_or(Choice::Quit)
    }

    /// Begins to show what is being read again: until it comes, what was known stands, and the cursor stays
    /// on its run. `said` is shown at first.
    pub(in crate::sighted) fn come_back(&mut self, said: Option<String>) {
        self.mode = Mode::Browse;
        self.notice = said.map(|said| (Role::Warning, said));
        self.run = None;
        self.complete = false;
    }

    fn fact(&mut self, fact: Fact) {
        match fact {
            Fact::Artifacts(artifacts) => self.artifacts = Some(artifacts),
            Fact::Fixtures(fixtures) => self.fixtures = Some(fixtures),
            Fact::Runs(runs) => {
                let place = self.place_in(&runs);
                self.list.set_len(runs.len());
                self.list.go_to(place);
                self.runs = Some(runs);
            }
            Fact::Shards(shards) => self.shards = Some(shards),
            Fact::Records(records, bad) => self.records = Some((records, bad)),
        }
    }

    /// The row of `runs` the cursor belongs on.
    fn place_in(&self, runs: &[RunFact]) -> usize {
        let row_of = |file: &str, runs: &[RunFact]| runs.iter().position(|run| run.file == file);
        let Some(before) = &self.runs else {
            // Where there is something to do.
            return runs.iter().position(has_open_changes).unwrap_or(0);
        };
        match (runs.first(), before.get(self.list.cursor)) {
            // The report of the run that has just ended is the first.
            (Some(newest), _) if row_of(&newest.file, before).is_none() => 0,
            (_, Some(under)) => row_of(&under.file, runs).unwrap_or(self.list.cursor),
            (_, None) => 0,
        }
    }

    fn act(&mut self, act: Act) {
        self.notice = None;
        match act {
            Act::Step(rows) => self.list.step(rows),
            Act::Quit if self.is_running() => self.mode = Mode::AskQuit,
            Act::Quit | Act::QuitYes => self.choice = Some(Choice::Quit),
            Act::Close => self.mode = Mode::Browse,
            Act::Parity if self.is_running() || self.candidates.len() < 2 => {
                self.choice = Some(Choice::Parity(0));
            }
            Act::Parity => self.mode = Mode::Candidate(ListState::new(self.candidates.len())),
            Act::MenuStep(rows) => {
                if let Mode::Candidate(list) = &mut self.mode {
                    list.step(rows);
                }
            }
            Act::MenuChoose => {
                if let Mode::Candidate(list) = &self.mode {
                    self.choice = Some(Choice::Parity(list.cursor));
                }
            }
            Act::Open(choice) => self.choice = Some(choice),
            Act::Label => {
                let shard = self
                    .shards
                    .iter()
                    .flatten()
                    .find(|fact| fact.raters.iter().all(|(.., sealed)| !sealed))
                    .map_or_else(|| "1/1".to_owned(), |fact| fact.shard.to_string());
                self.mode = Mode::Prompt(TextInput::new(&format!("{} {shard}", self.rater)));
            }
            Act::Review => self.review(Choice::Review),
            Act::ReviewHidden => self.review(Choice::ReviewHidden),
        }
    }

    /// Opens the run under the cursor, or says why not.
    fn review(&mut self, open: fn(String) -> Choice) {
        let runs = self.runs.as_deref();
        match runs.map(|runs| runs.get(self.list.cursor)) {
            Some(Some(RunFact { file, found: Ok(_) })) => self.choice = Some(open(file.clone())),
            Some(Some(RunFact { found: Err(reason), .. })) => {
                self.notice = Some((Role::Bad, escape(reason).into_owned()));
            }
            Some(None) => {
                let text = "there is no run to review yet: p runs parity";
                self.notice = Some((Role::Warning, text.to_owned()));
            }
            None => {
                let text = "the runs are still being read: try again".to_owned();
                self.notice = Some((Role::Faint, text));
            }
        }
    }

    fn take_input(&mut self, input: Input) {
        match (input, &mut self.mode) {
            (Input::Paste(text), Mode::Prompt(field)) => field.paste(&text),
            (Input::Text(key), Mode::Prompt(field)) => match field.key(key) {
                Edit::Going => {}
                Edit::Cancelled => self.mode = Mode::Browse,
                Edit::Done => {
                    let text = field.text();
                    let mut words = text.split_whitespace();
                    if let (Some(rater), Some(shard), None) =
                        (words.next(), words.next(), words.next())
                    {
                        self.choice = Some(Choice::Label {
                            rater: rater.to_owned(),
                            shard: shard.to_owned(),
                        });
                    } else {
                        let text = "expected a name and a shard: ada 1/4".to_owned();
                        self.notice = Some((Role::Warning, text));
                    }
                }
            },
            (Input::Mouse(mouse), Mode::Browse) => match mouse.kind {
                MouseKind::ScrollUp => self.list.step(-1),
                MouseKind::ScrollDown => self.list.step(1),
                MouseKind::Press | MouseKind::Drag => {}
            },
            _ => {}
        }
    }
}

fn keymap() -> KeyMap<Msg> {
    let open = |choice| Msg::Act(Act::Open(choice));
    KeyMap::new()
        .bind(
            BROWSE,
            "r enter",
            "review",
            "review",
            "review the run under the cursor",
            Msg::Act(Act::Review),
        )
        .bind(
            BROWSE,
            "b",
            "review-hidden",
            "",
            "review it blind: which side is which is hidden",
            Msg::Act(Act::ReviewHidden),
        )
        .bind(
            BROWSE,
            "p",
            "parity",
            "run parity",
            "run parity behind the screens, or look at the run",
            Msg::Act(Act::Parity),
        )
        .bind(BROWSE, "l", "label", "label", "label a shard, blind", Msg::Act(Act::Label))
        .bind(
            BROWSE,
            "s",
            "score",
            "score",
            "recall and false-positive rate of both artifacts",
            open(Choice::Score),
        )
        .bind(
            BROWSE,
            "t",
            "threshold",
            "threshold",
            "place a threshold and sign it",
            open(Choice::Sign),
        )
        .bind(
            BROWSE,
            "c",
            "records",
            "records",
            "release records and sign-offs",
            open(Choice::Records),
        )
        .bind(
            BROWSE,
            "f",
            "fixtures",
            "",
            "all pictures on a sheet, to leave out what is no photograph",
            open(Choice::Fixtures),
        )
        .bind(BROWSE, "x", "export", "", "one HTML file with everything", open(Choice::Report))
        .bind(
            BROWSE,
            "d",
            "doctor",
            "",
            "terminal, runtime and workspace health",
            open(Choice::Doctor),
        )
        .bind(BROWSE, "j down", "next-run", "", "next run", Msg::Act(Act::Step(1)))
        .bind(BROWSE, "k up", "previous-run", "", "previous run", Msg::Act(Act::Step(-1)))
        .bind(BROWSE, "f5 R", "again", "", "read everything again", open(Choice::Again))
        .bind(BROWSE, "q esc", "quit", "quit", "leave", Msg::Act(Act::Quit))
        .bind(CANDIDATE, "enter space p", "run", "run", "run it", Msg::Act(Act::MenuChoose))
        .bind(CANDIDATE, "j down", "next-candidate", "", "next", Msg::Act(Act::MenuStep(1)))
        .bind(CANDIDATE, "k up", "previous-candidate", "", "previous", Msg::Act(Act::MenuStep(-1)))
        .bind(CANDIDATE, "q esc", "close", "close", "run nothing", Msg::Act(Act::Close))
        .bind(ASK_QUIT, "y", "quit-yes", "stop it and quit", "stop the run and leave", {
            Msg::Act(Act::QuitYes)
        })
        .bind(ASK_QUIT, "n q esc", "quit-no", "stay", "let it go on", Msg::Act(Act::Close))
}

fn has_open_changes(run: &RunFact) -> bool {
    run.found.as_ref().is_ok_and(|brief| brief.decided < brief.changes)
}

impl Screen for Overview {
    type Msg = Msg;
    type Effect = ();

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<()> {
        match msg {
            Msg::Act(act) => self.act(act),
            Msg::Input(input) => self.take_input(input),
            Msg::Fact(fact) => self.fact(fact),
            Msg::Complete => self.complete = true,
            Msg::Run(run) => self.run = Some(run),
        }
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        let theme = look.theme;
        let columns = usize::from(area.width);
        let title = format!("flipside  {}", fit_middle(&self.root, columns.saturating_sub(10)));
        frame.buffer_mut().set_stringn(0, 0, title, columns, theme.style(Role::Strong));
        let body = Rect { y: 1, height: area.height.saturating_sub(3), ..area };
        self.body(frame, body, theme);
        let status = Rect { y: area.bottom() - 2, height: 1, ..area };
        if let Mode::Prompt(field) = &self.mode {
            field.render("rater and shard: ", status, frame.buffer_mut());
        } else {
            let asked = "Leaving stops the run; done work stays.";
            let (role, text) = match (&self.notice, &self.run, self.complete) {
                _ if self.mode == Mode::AskQuit => (Role::Warning, asked.to_owned()),
                (Some((role, text)), ..) => (*role, text.clone()),
                (None, Some(run), _) => (run.role, run.text.clone()),
                (None, None, false) => (Role::Faint, "reading the workspace…".to_owned()),
                (None, None, true) => (Role::Faint, String::new()),
            };
            let text = fit(&text, columns);
            frame.buffer_mut().set_stringn(0, status.y, text, columns, theme.style(role));
        }
        let hints = Rect { y: area.bottom() - 1, height: 1, ..area };
        let bar = match (&self.mode, &self.notice) {
            // The row above is the field's.
            (Mode::Prompt(_), Some((role, text))) => {
                Line::styled(fit(text, columns), theme.style(*role))
            }
            _ => hint_bar(&self.keys, self.mode(), area.width, theme),
        };
        frame.render_widget(bar, hints);
        if let Mode::Candidate(list) = &self.mode {
            let names: Vec<_> =
                self.candidates.iter().map(|name| escape(name).into_owned()).collect();
            render_menu(list, " run parity with ", &names, frame, area, theme);
        }
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn mode(&self) -> Modes {
        match self.mode {
            Mode::Browse => BROWSE,
            Mode::Prompt(_) => PROMPT,
            Mode::Candidate(_) => CANDIDATE,
            Mode::AskQuit => ASK_QUIT,
        }
    }

    fn is_finished(&self) -> bool {
        self.choice.is_some()
    }

    fn takes_text(&self) -> bool {
        matches!(self.mode, Mode::Prompt(_))
    }

    fn input(&self, input: Input) -> Option<Msg> {
        match input {
            Input::Paste(_) if !self.takes_text() => None,
            Input::Tick | Input::Graphics(_) | Input::Resize { .. } => None,
            other => Some(Msg::Input(other)),
        }
    }
}

impl Overview {
    fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.going)
    }

    /// The sections. Where the screen is low each keeps its heading, and the list of runs two rows; what
    /// is left goes to artifacts, labels and records, in this order.
    fn body(&self, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
        let columns = usize::from(area.width);
        let mut sections = [
            self.artifact_lines(columns, theme),
            self.fixture_lines(columns, theme),
            vec![heading("RUNS", self.run_count().as_str(), theme)],
            self.shard_lines(columns, theme),
            self.record_lines(columns, theme),
        ];
        let runs = self.runs.as_ref().map_or(1, |runs| runs.len().max(1));
        let mut room = usize::from(area.height).saturating_sub(sections.len());
        let mut rows_of_runs = runs.min(2).min(room);
        room -= rows_of_runs;
        for section in &mut sections {
            section.truncate(1 + room);
            room -= section.len() - 1;
        }
        rows_of_runs += room.min(runs - rows_of_runs.min(runs));
        let mut row = area.y;
        for (index, section) in sections.iter().enumerate() {
            for line in section {
                if row < area.bottom() {
                    frame.buffer_mut().set_line(area.x, row, line, area.width);
                    row += 1;
                }
            }
            if index == RUNS_SECTION {
                let height = u16::try_from(rows_of_runs).unwrap_or(1).min(area.bottom() - row);
                self.runs_list(frame, Rect { y: row, height, ..area }, theme);
                row += height;
            }
        }
    }

    fn run_count(&self) -> String {
        match &self.runs {
            None => "…".to_owned(),
            Some(runs) if runs.is_empty() => "none yet: p runs parity".to_owned(),
            Some(runs) => format!("{}", runs.len()),
        }
    }

    fn runs_list(&self, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
        let Some(runs) = &self.runs else { return };
        let columns = usize::from(area.width.saturating_sub(2));
        self.list.render(area, frame.buffer_mut(), theme, |index| {
            let run = &runs[index];
            let text = match &run.found {
                Err(reason) => format!("{}: {}", escape(&run.file), escape(reason)),
                Ok(brief) => {
                    let time = brief.generated_at.get(..16).unwrap_or("").replace('T', " ");
                    let left = brief.changes - brief.decided;
                    let stand = match (brief.changes, left) {
                        (0, _) => "nothing changed".to_owned(),
                        (changes, 0) => format!("{changes} changed, all decided"),
                        (changes, _) => format!("{changes} changed, {} decided", brief.decided),
                    };
                    let [a, b] = &brief.sides;
                    let short = format!("{} {stand}", escape(time.get(5..).unwrap_or(&time)));
                    let named = format!("{}  {}  {stand}", escape(&time), escape(&brief.candidate));
                    let long =
                        format!("{named}, {} pictures at {}", brief.fixtures, brief.threshold);
                    let longest = format!("{long}  {a} {b}");
                    let fits = |text: &String| width(text) <= columns;
                    [longest, long, named].into_iter().find(fits).unwrap_or(short)
                }
            };
            Line::from(fit(&text, columns))
        });
    }

    fn artifact_lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = vec![heading("ARTIFACTS", "", theme)];
        let Some(artifacts) = &self.artifacts else {
            return vec![heading("ARTIFACTS", "…", theme)];
        };
        for artifact in artifacts {
            let path = escape(&artifact.path).into_owned();
            let role = if artifact.side == "reference" { Role::First } else { Role::Second };
            let side = Span::styled(format!("  {:<9} ", artifact.side), theme.style(role));
            let line = match &artifact.found {
                Ok(bytes) => {
                    let facts =
                        format!("{}  {}  {}  ", bytes.short, bytes.precision, size(bytes.size));
                    let room = columns.saturating_sub(12 + facts.chars().count());
                    vec![side, Span::raw(facts), Span::raw(fit_middle(&path, room))]
                }
                Err(reason) => {
                    let room = columns.saturating_sub(12);
                    let said = fit(reason, room);
                    vec![side, Span::styled(said, theme.style(Role::Bad))]
                }
            };
            lines.push(Line::from(line));
        }
        lines
    }

    fn fixture_lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let text = match &self.fixtures {
            None => "…".to_owned(),
            Some(FixturesFact { path, found: Ok((count, hash)) }) => {
                format!("{count} pictures  manifest {}  {}", hash.short(), escape(path))
            }
            Some(FixturesFact { path, found: Err(reason) }) => {
                format!("{}: {}", escape(path), escape(reason))
            }
        };
        vec![heading("FIXTURES", &fit(&text, columns.saturating_sub(10)), theme)]
    }

    fn shard_lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(shards) = &self.shards else { return vec![heading("LABELS", "…", theme)] };
        if shards.is_empty() {
            let text = fit("no [labels] in flipside.toml", columns.saturating_sub(10));
            return vec![heading("LABELS", &text, theme)];
        }
        let mut lines = vec![heading("LABELS", "answered by shard; counts only", theme)];
        for fact in shards {
            let raters: Vec<String> = fact
                .raters
                .iter()
                .map(|(rater, answered, of, sealed)| {
                    if *sealed {
                        format!("{rater} sealed")
                    } else {
                        format!("{rater} {answered} of {of}")
                    }
                })
                .collect();
            let raters =
                if raters.is_empty() { "nobody yet".to_owned() } else { raters.join(", ") };
            let text = format!("  {:<6} {raters}", fact.shard.to_string());
            lines.push(Line::from(fit(&text, columns)));
        }
        lines
    }

    fn record_lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some((records, bad)) = &self.records else {
            return vec![heading("RECORDS", "…", theme)];
        };
        let signed = records.iter().filter(|record| record.signed > 0).count();
        let wrong = match bad {
            0 => String::new(),
            1 => "; 1 file is no record".to_owned(),
            count => format!("; {count} files are no records"),
        };
        let text = match records.len() {
            0 => format!("none yet{wrong}"),
            count => format!("{count}, {signed} signed{wrong}"),
        };
        let text = fit(&text, columns.saturating_sub(10));
        let mut lines = vec![heading("RECORDS", &text, theme)];
        for record in records {
            let signed = match record.signed {
                0 => "not signed".to_owned(),
                1 => "signed".to_owned(),
                count => format!("signed {count} times"),
            };
            let text = format!(
                "  {}  {}  artifact {}  {signed}",
                record.short,
                escape(&record.version),
                record.artifact
            );
            lines.push(Line::from(fit(&text, columns)));
        }
        lines
    }
}

fn heading(name: &str, text: &str, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{name:<10}"), theme.style(Role::Strong)),
        Span::raw(text.to_owned()),
    ])
}

/// A size for people, in steps of a thousand.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}
