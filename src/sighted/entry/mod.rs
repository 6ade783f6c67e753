//! What the command line may call. Plain arguments in, plain outcomes out; no inner type crosses.

pub mod background;
pub mod export;
pub mod fixtures;
pub mod inspect;
pub mod labels;
pub mod merge;
pub mod overview;
pub mod parity;
pub mod probe;
pub mod probe_run;
pub mod probe_screens;
pub mod probe_threshold;
pub mod record;
mod report_choice;
pub mod review;
pub mod runtime;
pub mod score;
pub mod score_screen;
pub mod show;
pub mod sign;
