//! Screens that show what models said.

pub(in crate::sighted) mod contact_sheet;
pub(in crate::sighted) mod overview;
pub(in crate::sighted) mod progress;
pub(in crate::sighted) mod review;
pub(in crate::sighted) mod score;
pub(in crate::sighted) mod threshold;
mod threshold_view;
