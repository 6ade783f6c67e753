//! Progress of a run without a screen: a bar on a terminal, now and then a line elsewhere.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use crate::sighted::entry::parity::ParityProgress;

/// Where nobody sees a bar, so often is a line enough.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far a run is, on stderr.
#[derive(Debug)]
pub struct RunBar {
    name: String,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines(Mutex<Option<Instant>>),
}

impl RunBar {
    /// Nothing shown yet. `name` is already fit to show.
    pub fn new(name: &str) -> Self {
        let shown = if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{prefix} [{bar:8}] {pos}/{len} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(name.to_owned());
            Shown::Bar(bar)
        } else {
            Shown::Lines(Mutex::new(None))
        };
        Self { name: name.to_owned(), shown }
    }

    /// Shows where the run is now.
    pub fn show(&self, progress: &ParityProgress) {
        match &self.shown {
            Shown::Bar(bar) => {
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                bar.set_message(line(progress));
            }
            Shown::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                let due = last.is_none_or(|last| last.elapsed() >= LINE_EVERY);
                if due || progress.done == progress.total {
                    *last = Some(Instant::now());
                    let ParityProgress { done, total, .. } = progress;
                    output::note(&format!("{} {done}/{total} {}", self.name, line(progress)));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Drop for RunBar {
    fn drop(&mut self) {
        self.finish();
    }
}

fn line(progress: &ParityProgress) -> String {
    let mut parts = Vec::new();
    if let Some(pace) = progress.per_second {
        parts.push(format!("{pace:.1} pictures/s"));
    }
    if let (Some(remaining), true) = (progress.remaining, progress.done < progress.total) {
        parts.push(format!("{} left", duration_text(remaining)));
    }
    parts.push(format!(
        "{} flips by slot, {} pictures changed",
        progress.threshold_flips, progress.images_changed
    ));
    if progress.left_out > 0 {
        parts.push(format!("{} left out", progress.left_out));
    }
    parts.join(", ")
}

fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_pace_time_left_and_what_changed() {
        let progress = ParityProgress {
            total: 48,
            done: 12,
            left_out: 1,
            threshold_flips: 5,
            images_changed: 3,
            per_second: Some(11.26),
            remaining: Some(Duration::from_secs(3723)),
        };
        assert_eq!(
            line(&progress),
            "11.3 pictures/s, 1 h 2 min left, 5 flips by slot, 3 pictures changed, 1 left out"
        );
        let begun = ParityProgress { total: 48, ..ParityProgress::default() };
        assert_eq!(line(&begun), "0 flips by slot, 0 pictures changed");
    }
}
