//! Pictures on terminals that draw pixels, read back by a decoder that knows the protocols only: what is
//! sent is the picture that is meant, nothing of an old one stays, and tmux hands all of it on.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first thing that is not as it must be"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use flipside::domain::digest::FixtureId;
use image::{Rgb, RgbImage};

#[path = "support/picture_decoder.rs"]
mod picture_decoder;
#[path = "support/pty.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod pty;
#[path = "support/sound_report.rs"]
mod sound_report;
#[path = "support/workspace.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod workspace;

use picture_decoder::{Event, read};
use pty::Pty;
use sound_report::{Seen, report};
use workspace::Workspace;

const PATIENCE: Duration = Duration::from_secs(60);

/// The character kitty puts a picture in place of.
const PLACEHOLDER: char = '\u{10EEEE}';

/// The first of the characters that number rows and columns of placeholders.
const NUMBERS: [u32; 40] = [
    0x305, 0x30d, 0x30e, 0x310, 0x312, 0x33d, 0x33e, 0x33f, 0x346, 0x34a, 0x34b, 0x34c, 0x350,
    0x351, 0x352, 0x357, 0x35b, 0x363, 0x364, 0x365, 0x366, 0x367, 0x368, 0x369, 0x36a, 0x36b,
    0x36c, 0x36d, 0x36e, 0x36f, 0x483, 0x484, 0x485, 0x486, 0x487, 0x592, 0x593, 0x594, 0x595,
    0x597,
];

/// A picture that looks the same in no other place, whichever way it is turned.
fn picture(tone: u8) -> RgbImage {
    RgbImage::from_fn(320, 240, |x, y| {
        let ramp = u8::try_from(x * 160 / 320).expect("small");
        match (x < 160, y < 120) {
            (true, true) => Rgb([tone, ramp, 0]),
            (false, true) => Rgb([0, tone, 255 - ramp]),
            (true, false) => Rgb([0, 60 + ramp, tone]),
            (false, false) => Rgb([240, 240 - ramp, tone]),
        }
    })
}

/// A workspace with two pictures, in each of which one detection vanished.
fn workspace() -> (Workspace, [RgbImage; 2]) {
    let workspace = Workspace::new(1, 1, 0.0, 0.0);
    let pictures = [picture(250), picture(20)];
    let seen: Vec<Seen> = [("first.png", 0.9), ("second.png", 0.6)]
        .into_iter()
        .zip(&pictures)
        .map(|((name, surely), pixels)| {
            let mut png = std::io::Cursor::new(Vec::new());
            pixels.write_to(&mut png, image::ImageFormat::Png).expect("encoded");
            workspace.write(name, png.get_ref());
            let sha256 = FixtureId::of(png.get_ref()).to_hex();
            Seen { path: name.to_owned(), sha256, class: 0, a: surely, b: 0.2 }
        })
        .collect();
    let report = report(&seen, &["bottle"], &"c".repeat(64)).to_string();
    workspace.write("sessions/reports/a.json", report.as_bytes());
    (workspace, pictures)
}

fn review(workspace: &Workspace, method: &str) -> Command {
    workspace.command(&format!("review --reviewer ada --graphics {method}"))
}

/// How much of what was sent is another colour than it should be: boxes are drawn over some of it.
fn unlike(sent: &RgbImage, meant: &RgbImage) -> f64 {
    let (mut wrong, mut all) = (0, 0);
    for (x, y, pixel) in sent.enumerate_pixels().filter(|(x, y, _)| x % 3 == 0 && y % 3 == 0) {
        let there = |at: u32, of: u32, meant: u32| (at * meant + meant / 2) / of;
        let x = there(x, sent.width(), meant.width());
        let y = there(y, sent.height(), meant.height());
        let meant = meant.get_pixel(x, y);
        all += 1;
        wrong +=
            u32::from(pixel.0.iter().zip(meant.0).any(|(one, other)| one.abs_diff(other) > 40));
    }
    f64::from(wrong) / f64::from(all)
}

/// What a terminal shows.
#[derive(Default)]
struct Shown {
    /// Bytes that were read.
    bytes: usize,
    events: Vec<Event>,
    placeholders: Vec<(u32, u32, u32)>,
}

impl Shown {
    /// Reads what came since the last time. The last frame must be whole.
    fn update(&mut self, pty: &Pty) {
        let bytes = pty.bytes();
        self.events.extend(read(&bytes[self.bytes..]));
        self.bytes = bytes.len();
        self.placeholders = pty.with_screen(placeholders);
    }

    /// The picture that is seen, if any.
    fn picture(&self, method: &str) -> Option<RgbImage> {
        if method != "kitty" {
            return self.events.iter().rev().find_map(|event| match event {
                Event::Picture { pixels, .. } => Some(Some(pixels.clone())),
                Event::Erased | Event::Left => Some(None),
                Event::Deleted(_) => None,
            })?;
        }
        let (seen, rows, columns) = *self.placeholders.first()?;
        let mut stored = None;
        for event in &self.events {
            match event {
                Event::Picture { id, pixels, .. } if *id == Some(seen) => stored = Some(pixels),
                Event::Deleted(id) if id.is_none_or(|id| id == seen) => stored = None,
                _ => {}
            }
        }
        let pixels = stored.expect("the picture is seen, so the terminal must have it").clone();
        let cell = (pixels.width() / columns, pixels.height() / rows);
        assert_eq!((cell.0 * columns, cell.1 * rows), (pixels.width(), pixels.height()));
        Some(pixels)
    }
}

/// Pictures in place of cells: id, rows, columns.
fn placeholders(screen: &vt100::Screen) -> Vec<(u32, u32, u32)> {
    let number = |letter: Option<char>| {
        let letter = letter.map(u32::from)?;
        NUMBERS.iter().position(|other| *other == letter).map(|at| at as u32)
    };
    let mut found: Vec<(u32, u32, u32)> = Vec::new();
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    for row in 0..rows {
        let cells = (0..columns).filter_map(|column| screen.cell(row, column));
        let cells: Vec<_> = cells.filter(|cell| cell.contents().starts_with(PLACEHOLDER)).collect();
        let Some(first) = cells.first() else { continue };
        let mut marks = first.contents().chars().skip(1);
        let place = (number(marks.next()), number(marks.next()), number(marks.next()));
        let (Some(at_row), Some(0), Some(high)) = place else { panic!("not numbered: {place:?}") };
        let vt100::Color::Rgb(red, green, blue) = first.fgcolor() else { panic!("not coloured") };
        let id = u32::from_be_bytes([high as u8, red, green, blue]);
        assert!(cells.iter().all(|cell| cell.fgcolor() == first.fgcolor()), "one id in a row");
        let width = cells.len() as u32;
        match found.iter_mut().find(|(other, ..)| *other == id) {
            Some((_, rows, columns)) => {
                assert_eq!((at_row, width), (*rows, *columns), "rows follow each other");
                *rows += 1;
            }
            None => {
                assert_eq!(at_row, 0, "the first row comes first");
                found.push((id, 1, width));
            }
        }
    }
    found
}

#[test]
fn each_protocol_shows_the_picture_that_is_meant_and_nothing_of_it_stays() {
    let (workspace, [first, second]) = workspace();
    for method in ["kitty", "iterm", "sixel"] {
        let mut pty = Pty::start(&review(&workspace, method), 80, 24);
        let mut shown = Shown::default();
        let wait = |pty: &Pty, shown: &mut Shown, name: &str| {
            pty.wait_until(&format!("{method}: {name}"), |screen| {
                screen.contains(name) && screen.contains(&format!("{method} "))
            });
            shown.update(pty);
        };
        let is = |shown: &Shown, meant: &RgbImage, other: &RgbImage, what: &str| {
            let sent = shown.picture(method).unwrap_or_else(|| panic!("{method}, {what}: none"));
            let (right, wrong) = (unlike(&sent, meant), unlike(&sent, other));
            assert!(right < 0.08 && wrong > 0.5, "{method}, {what}: {right:.3} and {wrong:.3}");
            (sent.width(), sent.height())
        };
        wait(&pty, &mut shown, "first.png");
        let size = is(&shown, &first, &second, "first");
        assert!(shown.placeholders.is_empty() == (method != "kitty"));

        pty.keys("l");
        wait(&pty, &mut shown, "second.png");
        is(&shown, &second, &first, "next");
        assert!(shown.placeholders.len() <= 1, "{method}: nothing of the first is left");
        pty.keys("h");
        wait(&pty, &mut shown, "first.png");
        is(&shown, &first, &second, "back");

        for (open, close, name) in [("?", "\u{1b}", "type to filter"), ("y", "q", "so far")] {
            pty.keys(open);
            pty.wait_for(name);
            shown.update(&pty);
            assert!(shown.picture(method).is_none(), "{method}: {name} lies over it");
            pty.keys(close);
            pty.wait_until("gone", |screen| !screen.contains(name));
            wait(&pty, &mut shown, "first.png");
            is(&shown, &first, &second, "uncovered");
        }

        // A terminal that has lost everything gets everything again.
        let sent = shown.events.len();
        pty.keys("\u{c}");
        let deadline = Instant::now() + PATIENCE;
        while !shown.events[sent..].iter().any(|event| matches!(event, Event::Picture { .. })) {
            assert!(Instant::now() < deadline, "{method}: not sent again");
            wait(&pty, &mut shown, "first.png");
        }
        is(&shown, &first, &second, "again");

        pty.resize(120, 40);
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The picture of the former size may still be there when the text is drawn for the new one.
            wait(&pty, &mut shown, "first.png");
            let larger = is(&shown, &first, &second, "larger");
            if larger.0 > size.0 && larger.1 > size.1 {
                break;
            }
            assert!(Instant::now() < deadline, "{method}: {size:?} to {larger:?}");
        }

        // Another way of drawing takes its place.
        pty.keys("\u{7}");
        pty.wait_for("blocks ");
        shown.update(&pty);
        assert!(shown.picture(method).is_none(), "{method}: blocks instead");
        pty.keys("q");
        assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
        shown.update(&pty);
        assert!(shown.events.iter().any(|event| matches!(event, Event::Left)));
        let all_deleted = shown.events.iter().any(|event| matches!(event, Event::Deleted(None)));
        assert_eq!(all_deleted, method == "kitty", "{method} leaves nothing behind");
    }
}

/// tmux is asked what it hands on, and answers in words of its own; nothing of it runs here.
#[test]
fn inside_tmux_everything_for_the_terminal_around_it_is_wrapped() {
    let (workspace, [first, second]) = workspace();
    let folder = tempfile::tempdir().expect("a folder");
    let answers = folder.path().join("tmux");
    flipside::store::atomic::write(&answers, b"#!/bin/sh\necho on\n").expect("written");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&answers, permissions).expect("allowed");
    for method in ["kitty", "iterm", "sixel"] {
        let mut command = review(&workspace, method);
        command.env("TMUX", "/nowhere,1,0").env("TMUX_PANE", "%0");
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
        let mut pty = Pty::start(&command, 80, 24);
        pty.wait_until(method, |screen| {
            screen.contains("first.png") && screen.contains(&format!("{method} "))
        });
        let mut shown = Shown::default();
        shown.update(&pty);
        let sent = shown.picture(method).expect("a picture");
        assert!(unlike(&sent, &first) < 0.08 && unlike(&sent, &second) > 0.5, "{method}");
        pty.keys("q");
        assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
        let events = read(&pty.bytes());
        for event in &events {
            // tmux draws sixel by itself.
            if let Event::Picture { through_tmux, .. } = event {
                assert_eq!(*through_tmux, method != "sixel", "{method}");
            }
        }
        let deletes = |event: &Event| matches!(event, Event::Deleted(None));
        assert_eq!(events.iter().any(deletes), method == "kitty");
        let bare = String::from_utf8_lossy(&pty.bytes()).replace("\u{1b}\u{1b}", "");
        assert!(!bare.contains("\u{1b}_G") && !bare.contains("\u{1b}]1337"), "{method}");
    }
}

/// The real one, between the program and the terminal: what comes out of it is the picture.
#[test]
fn tmux_hands_a_picture_on() {
    let version = Command::new("tmux").arg("-V").output().is_ok_and(|it| it.status.success());
    assert!(version || std::env::var("CI").as_deref() != Ok("true"), "tmux is missing");
    if !version {
        return;
    }
    let (workspace, [first, second]) = workspace();
    let root = workspace.root();
    let program = review(&workspace, "kitty");
    let words: Vec<_> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().expect("text")))
        .collect();
    let settings = "set -g allow-passthrough on\nset -g status off\n\
                    set -as terminal-features ',xterm*:RGB'\n";
    workspace.write("tmux.conf", settings.as_bytes());
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(root.join("socket")).arg("-f").arg(root.join("tmux.conf"));
    tmux.args(["new-session", &words.join(" ")]);
    tmux.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("TMPDIR", root);
    tmux.env("SHELL", "/bin/sh").env("COLORTERM", "truecolor");
    let mut pty = Pty::start(&tmux, 80, 24);
    pty.wait_until("the picture", |screen| {
        screen.contains("first.png") && screen.contains("kitty ")
    });
    let mut shown = Shown::default();
    shown.update(&pty);
    let sent = shown.picture("kitty").expect("a picture");
    assert!(unlike(&sent, &first) < 0.08 && unlike(&sent, &second) > 0.5);
    assert!(
        shown
            .events
            .iter()
            .all(|event| !matches!(event, Event::Picture { through_tmux: true, .. }))
    );
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
    let deletes = |event: &Event| matches!(event, Event::Deleted(None));
    assert!(read(&pty.bytes()).iter().any(deletes), "and takes it away in the end");
}
