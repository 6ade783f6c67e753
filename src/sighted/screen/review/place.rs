//! Where a person was in a review, and how they looked at it: kept while the program runs, so that whoever
//! comes back from another screen goes on there. What a later start needs is in the log.

use super::layout::can_split;
use super::{ReviewScreen, Shows};
use crate::domain::digest::ContentHash;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::queue::{Filter, Order};
use crate::sighted::review::verdict::ItemKey;

/// A place in the review of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub(super) comparison: ContentHash,
    item: Option<ItemKey>,
    order: Order,
    pub(super) filter: Filter,
    with_moved: bool,
    shows: Shows,
    all_boxes: bool,
    zoomed: bool,
}

impl ReviewScreen {
    /// Where the person is; `None` before there is anything to see.
    pub(in crate::sighted) fn place(&self) -> Option<Place> {
        let desk = self.desk.as_ref()?;
        Some(Place {
            comparison: desk.material.comparison,
            item: desk.item().map(|item| item.key.clone()),
            order: desk.queue.order,
            filter: desk.queue.filter.clone(),
            with_moved: desk.queue.with_moved,
            shows: self.shows,
            all_boxes: self.all_boxes,
            zoomed: self.zoomed,
        })
    }

    /// Goes back to `place`, if it is one of what lies on the desk.
    pub(super) fn go_back_to(&mut self, place: &Place, desk: &mut Desk) {
        if place.comparison != desk.material.comparison {
            return;
        }
        desk.queue.order = place.order;
        desk.queue.filter = place.filter.clone();
        desk.queue.with_moved = place.with_moved;
        desk.rebuild();
        if let Some(key) = &place.item {
            desk.go_to_key(key);
        }
        let fits = place.shows != Shows::SideBySide || can_split(self.size);
        self.shows = if fits { place.shows } else { Shows::Both };
        self.all_boxes = place.all_boxes;
        self.zoomed = place.zoomed;
    }
}
