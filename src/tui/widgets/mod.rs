//! Small parts screens are made of: fitted text, a text field, a list with filter, a plot.

pub mod input;
pub mod list;
pub mod plot;
pub mod text;
