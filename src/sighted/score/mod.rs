//! Labels joined with decisions: recall, false-positive rate, intervals, sentences.
