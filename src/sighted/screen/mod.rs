//! Screens that show what models said.
