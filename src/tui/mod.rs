//! The terminal kit: guard, events, keys, help, theme, widgets, pictures. Knows no product word.
