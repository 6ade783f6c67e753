//! Which fixtures a rater sees, in which order.
