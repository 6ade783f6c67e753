//! The terminal kit: guard, events, keys, help, theme, widgets, pictures. Knows no product word.
//!
//! How to make a screen:
//! 1. Write a state struct and implement [`screen::Screen`] for it: `update` is pure and returns
//!    effects as values, `view` draws state only, `keymap` gives the keys as data.
//! 2. Open a [`session::Session`] (guard, terminal, theme, picture method) and call
//!    [`session::Session::run`] with the screen, a receiver of worker answers and a function that hands
//!    effects to workers. It returns when the screen says it is finished, or a signal came.
//! 3. Test it with [`headless`]: draw at any size to text, and [`event_loop::Scripted`]: real loop,
//!    scripted events, fake clock.
//!
//! Pictures: keep a [`picture::view::PictureView`] in the state, let it make requests, give them to a
//! [`picture::worker::PictureWorker`] as an effect, hand its answers back, draw with
//! [`picture::view::PictureView::render`].

pub mod card;
pub mod event_loop;
pub mod headless;
pub mod help;
pub mod keymap;
pub mod mailbox;
pub mod picture;
pub mod screen;
pub mod session;
pub mod terminal;
pub mod theme;
pub mod widgets;
