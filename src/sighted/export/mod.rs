//! Self-contained documents made from evidence.
