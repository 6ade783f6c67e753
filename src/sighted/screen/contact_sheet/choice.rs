//! Which pictures a contact sheet shows, and in which order.

/// In which order pictures stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Order {
    /// As the manifest has them.
    Manifest,
    /// Near copies side by side, first.
    Groups,
    /// Most signs first.
    Suggested,
    /// Fewest pixels first; without pixels at the very beginning.
    Size,
}

/// All orders, as they follow each other, and their words.
pub(super) const ORDERS: [(Order, &str); 4] = [
    (Order::Manifest, "by manifest"),
    (Order::Groups, "by group"),
    (Order::Suggested, "by suggestion"),
    (Order::Size, "by size"),
];

/// Which pictures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Shown {
    /// All.
    All,
    /// With a suggestion.
    Suggested,
    /// With a near copy.
    Groups,
    /// Left out.
    LeftOut,
    /// Marked.
    Marked,
}

/// All choices, as they follow each other, and their words.
pub(super) const SHOWN: [(Shown, &str); 5] = [
    (Shown::All, "all"),
    (Shown::Suggested, "suggested"),
    (Shown::Groups, "near copies"),
    (Shown::LeftOut, "left out"),
    (Shown::Marked, "marked"),
];
