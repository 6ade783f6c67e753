//! Counts in, intervals out. Knows no product word and no file.
