//! What a rater sees.

use crate::store::clock::Clock;
use crate::store::fixtures::PixelSource;
use crate::tui::session::Options;

use super::journal::{Journal, News};
use super::sitting::Sitting;

pub(super) fn run(
    _sitting: &mut Sitting,
    _options: Options,
    _leaves: Vec<Vec<String>>,
    _pixels: PixelSource,
    _clock: Clock,
    _start: impl FnOnce(Box<dyn Fn(News) + Send>) -> std::io::Result<Option<Journal>>,
) -> std::io::Result<Option<i32>> {
    Err(std::io::Error::other("no screen yet"))
}
