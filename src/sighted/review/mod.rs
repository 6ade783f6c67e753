//! The queue of flips and the verdicts people give.
