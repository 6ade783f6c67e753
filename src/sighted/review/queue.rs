//! In which order a person sees the pictures, which of them, and where they are. Pure.

use super::material::{Direction, Material, ReviewItem};
use super::verdict::{Ledger, Verdict, kind_word};
use crate::sighted::decision::report::ItemKind;

/// Order of the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Order {
    /// Largest change first.
    Worst,
    /// Smallest distance to the threshold first: where rounding alone decides.
    Nearest,
    /// Most items first.
    Most,
    /// As the manifest lists them.
    Manifest,
}

impl Order {
    /// The next of them.
    pub(in crate::sighted) const fn next(self) -> Self {
        match self {
            Self::Worst => Self::Nearest,
            Self::Nearest => Self::Most,
            Self::Most => Self::Manifest,
            Self::Manifest => Self::Worst,
        }
    }

    /// In words.
    pub(in crate::sighted) const fn says(self) -> &'static str {
        match self {
            Self::Worst => "worst first",
            Self::Nearest => "nearest first",
            Self::Most => "most changes first",
            Self::Manifest => "manifest order",
        }
    }
}

/// Which items are in the queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Filter {
    /// As typed.
    pub text: String,
    terms: Vec<Term>,
}

/// One word of a filter.
#[derive(Debug, Clone, PartialEq)]
enum Term {
    Kind(ItemKind),
    Direction(Direction),
    Verdict(Option<Verdict>),
    Decided,
    Noted,
    Flagged,
    Above(f64),
    Below(f64),
    Text(String),
}

/// Words a filter knows, with what they mean, for whoever types one.
pub(in crate::sighted) const FILTER_WORDS: [(&str, &str); 8] = [
    ("vanished appeared relabelled replaced moved", "the kind of change"),
    ("lost gained", "the direction"),
    (">0.2 <0.05", "the size of the change"),
    ("open decided", "without and with a verdict"),
    ("reference candidate both neither cannot-tell", "the verdict"),
    ("noted", "with a note"),
    ("flagged", "not a photograph"),
    ("part of a class or file name", "any other word"),
];

impl Filter {
    /// Reads a filter: words separated by spaces, all of which must hold. Kinds, directions and verdicts
    /// of the same sort are alternatives. What is no word of ours is looked for in classes and names.
    pub(in crate::sighted) fn parse(text: &str) -> Self {
        let terms = text.split_whitespace().map(term).collect();
        Self { text: text.trim().to_owned(), terms }
    }

    /// Whether anything is filtered.
    pub(in crate::sighted) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    fn admits(&self, material: &Material, ledger: &Ledger, item: &ReviewItem) -> bool {
        let judgement = ledger.judgement(material.comparison, &item.key);
        let verdict = judgement.and_then(|judgement| judgement.verdict);
        let holds = |term: &Term| match term {
            Term::Kind(kind) => item.kind == *kind,
            Term::Direction(direction) => item.direction() == *direction,
            Term::Verdict(wanted) => verdict == *wanted,
            Term::Decided => verdict.is_some(),
            Term::Noted => judgement.is_some_and(|judgement| !judgement.note.is_empty()),
            Term::Flagged => ledger.flag(item.key.fixture).is_some(),
            Term::Above(change) => item.change > *change,
            Term::Below(change) => item.change < *change,
            Term::Text(word) => {
                let image = &material.images[item.image];
                image.written.to_lowercase().contains(word)
                    || image.fixture.to_hex().starts_with(word.as_str())
                    || material
                        .class_names(item)
                        .iter()
                        .any(|name| name.to_lowercase().contains(word))
            }
        };
        // Terms of one sort are alternatives, sorts add up.
        let sort = |term: &Term| std::mem::discriminant(term);
        self.terms.iter().all(|term| {
            let is_alternative =
                matches!(term, Term::Kind(_) | Term::Direction(_) | Term::Verdict(_));
            if is_alternative {
                self.terms.iter().any(|other| sort(other) == sort(term) && holds(other))
            } else {
                holds(term)
            }
        })
    }
}

fn term(word: &str) -> Term {
    let word = word.to_lowercase();
    let number = |sign: char| word.strip_prefix(sign)?.parse::<f64>().ok();
    match word.as_str() {
        "vanished" => Term::Kind(ItemKind::Vanished),
        "appeared" => Term::Kind(ItemKind::Appeared),
        "relabelled" => Term::Kind(ItemKind::Relabelled),
        "replaced" => Term::Kind(ItemKind::Replaced),
        "moved" => Term::Kind(ItemKind::MovedSlot),
        "lost" => Term::Direction(Direction::Lost),
        "gained" => Term::Direction(Direction::Gained),
        "open" => Term::Verdict(None),
        "decided" => Term::Decided,
        "noted" => Term::Noted,
        "flagged" => Term::Flagged,
        _ => match (Verdict::from_word(&word), number('>'), number('<')) {
            (Some(verdict), ..) => Term::Verdict(Some(verdict)),
            (_, Some(change), _) => Term::Above(change),
            (.., Some(change)) => Term::Below(change),
            _ => Term::Text(word),
        },
    }
}

/// The queue: pictures with their items, and a cursor.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Queue {
    /// Order of the pictures.
    pub order: Order,
    /// Which items.
    pub filter: Filter,
    /// Moved slots are in as well.
    pub with_moved: bool,
    entries: Vec<Entry>,
    cursor: Cursor,
    moved_left_out: usize,
    items_in: usize,
}

/// One picture of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Entry {
    /// Index into the material's pictures.
    pub image: usize,
    /// Indices into the material's items; moved slots come last.
    pub items: Vec<usize>,
}

/// Where a person is: an entry and one of its items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cursor {
    entry: usize,
    item: usize,
}

impl Queue {
    /// The queue of a material: worst first, moved slots left out.
    pub(in crate::sighted) fn new(material: &Material, ledger: &Ledger) -> Self {
        let mut queue = Self {
            order: Order::Worst,
            filter: Filter::default(),
            with_moved: false,
            entries: Vec::new(),
            cursor: Cursor::default(),
            moved_left_out: 0,
            items_in: 0,
        };
        queue.rebuild(material, ledger);
        queue
    }

    /// Makes the queue again after order, filter or material changed. The cursor stays on its item when
    /// that is still in, else on the nearest place.
    pub(in crate::sighted) fn rebuild(&mut self, material: &Material, ledger: &Ledger) {
        let current = self.item();
        let current_image = self.image();
        let moved_is_asked = self.filter.terms.contains(&Term::Kind(ItemKind::MovedSlot));
        let mut entries = Vec::new();
        self.moved_left_out = 0;
        self.items_in = 0;
        for (image, review_image) in material.images.iter().enumerate() {
            let mut items: Vec<usize> = review_image
                .items
                .iter()
                .copied()
                .filter(|index| self.filter.admits(material, ledger, &material.items[*index]))
                .collect();
            if !self.with_moved && !moved_is_asked {
                let before = items.len();
                items.retain(|index| !material.items[*index].is_moved());
                self.moved_left_out += before - items.len();
            }
            if items.is_empty() {
                continue;
            }
            items.sort_by(|one, two| {
                let (one, two) = (&material.items[*one], &material.items[*two]);
                one.is_moved()
                    .cmp(&two.is_moved())
                    .then(two.change.total_cmp(&one.change))
                    .then_with(|| one.key.cmp(&two.key))
            });
            self.items_in += items.len();
            entries.push(Entry { image, items });
        }
        entries.sort_by_cached_key(|entry| (self.rank(material, entry), entry.image));
        self.entries = entries;
        self.cursor = match current.and_then(|item| self.find_item(item)) {
            Some(cursor) => cursor,
            None => {
                let by_image = current_image
                    .and_then(|image| self.entries.iter().position(|entry| entry.image == image));
                let last = self.entries.len().saturating_sub(1);
                Cursor { entry: by_image.unwrap_or(self.cursor.entry.min(last)), item: 0 }
            }
        };
    }

    /// What comes first has the smallest. The bits of numbers that are not negative are ordered as they are.
    fn rank(&self, material: &Material, entry: &Entry) -> u64 {
        let items = || entry.items.iter().map(|index| &material.items[*index]);
        match self.order {
            Order::Worst => !items().map(|item| item.change).fold(0.0, f64::max).abs().to_bits(),
            Order::Nearest => items()
                .filter_map(|item| distance_to(material.threshold, item))
                .fold(f64::INFINITY, f64::min)
                .abs()
                .to_bits(),
            Order::Most => !(entry.items.len() as u64),
            Order::Manifest => 0,
        }
    }

    /// Pictures in the queue, in order.
    pub(in crate::sighted) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Number of items in the queue.
    pub(in crate::sighted) fn len(&self) -> usize {
        self.items_in
    }

    /// Moved slots that are left out.
    pub(in crate::sighted) fn moved_left_out(&self) -> usize {
        self.moved_left_out
    }

    /// Place of the picture in the queue, from 0.
    pub(in crate::sighted) fn place(&self) -> usize {
        self.cursor.entry
    }

    /// Place of the item among its picture's, from 0.
    pub(in crate::sighted) fn item_place(&self) -> usize {
        self.cursor.item
    }

    /// The entry under the cursor.
    pub(in crate::sighted) fn entry(&self) -> Option<&Entry> {
        self.entries.get(self.cursor.entry)
    }

    /// The picture under the cursor: index into the material's.
    pub(in crate::sighted) fn image(&self) -> Option<usize> {
        self.entry().map(|entry| entry.image)
    }

    /// The item under the cursor: index into the material's.
    pub(in crate::sighted) fn item(&self) -> Option<usize> {
        self.entry()?.items.get(self.cursor.item).copied()
    }

    /// Pictures that follow and precede the cursor, likeliest first.
    pub(in crate::sighted) fn neighbours(&self) -> Vec<usize> {
        [1, 2, -1]
            .iter()
            .filter_map(|step| self.entries.get(self.cursor.entry.checked_add_signed(*step)?))
            .map(|entry| entry.image)
            .collect()
    }

    /// Goes to the next or former item, over pictures. False at the end.
    pub(in crate::sighted) fn step_item(&mut self, forward: bool) -> bool {
        let here = self.entry().map_or(0, |entry| entry.items.len());
        if forward && self.cursor.item + 1 < here {
            self.cursor.item += 1;
            return true;
        }
        if !forward && self.cursor.item > 0 {
            self.cursor.item -= 1;
            return true;
        }
        if !self.step_image(forward) {
            return false;
        }
        if !forward {
            self.cursor.item = self.entry().map_or(0, |entry| entry.items.len() - 1);
        }
        true
    }

    /// Goes to the next or former picture. False at the end.
    pub(in crate::sighted) fn step_image(&mut self, forward: bool) -> bool {
        let to = self.cursor.entry.checked_add_signed(if forward { 1 } else { -1 });
        match to.filter(|to| *to < self.entries.len()) {
            Some(entry) => {
                self.cursor = Cursor { entry, item: 0 };
                true
            }
            None => false,
        }
    }

    /// Goes to a place in the queue, or the nearest there is.
    pub(in crate::sighted) fn go_to(&mut self, place: usize) {
        self.cursor = Cursor { entry: place.min(self.entries.len().saturating_sub(1)), item: 0 };
    }

    /// Goes to one of the current picture's items.
    pub(in crate::sighted) fn go_to_item_place(&mut self, place: usize) {
        if self.entry().is_some_and(|entry| place < entry.items.len()) {
            self.cursor.item = place;
        }
    }

    fn find_item(&self, item: usize) -> Option<Cursor> {
        self.entries.iter().enumerate().find_map(|(entry, found)| {
            let place = found.items.iter().position(|index| *index == item)?;
            Some(Cursor { entry, item: place })
        })
    }

    /// Goes to an item, if it is in the queue.
    pub(in crate::sighted) fn go_to_item(&mut self, item: usize) -> bool {
        self.find_item(item).map(|cursor| self.cursor = cursor).is_some()
    }

    /// Goes to a picture, if it is in the queue.
    pub(in crate::sighted) fn go_to_image(&mut self, image: usize) -> bool {
        match self.entries.iter().position(|entry| entry.image == image) {
            Some(entry) => {
                self.cursor = Cursor { entry, item: 0 };
                true
            }
            None => false,
        }
    }

    /// Goes to the first item from the beginning, or the next after the cursor, that has no verdict.
    /// Moved slots need none. False when there is none.
    pub(in crate::sighted) fn go_to_undecided(
        &mut self,
        material: &Material,
        ledger: &Ledger,
        from_the_beginning: bool,
    ) -> bool {
        let places: Vec<Cursor> = self
            .entries
            .iter()
            .enumerate()
            .flat_map(|(entry, found)| {
                (0..found.items.len()).map(move |item| Cursor { entry, item })
            })
            .collect();
        let here = places.iter().position(|place| *place == self.cursor).unwrap_or(0);
        let start = if from_the_beginning { 0 } else { here + 1 };
        let order =
            places[start.min(places.len())..].iter().chain(&places[..start.min(places.len())]);
        let is_open = |place: &&Cursor| {
            let item = &material.items[self.entries[place.entry].items[place.item]];
            !item.is_moved() && ledger.verdict(material.comparison, &item.key).is_none()
        };
        let found = order.into_iter().find(is_open).copied();
        if let Some(cursor) = found {
            self.cursor = cursor;
        }
        found.is_some()
    }

    /// Items in the queue that need a verdict, and how many of them have one.
    pub(in crate::sighted) fn progress(
        &self,
        material: &Material,
        ledger: &Ledger,
    ) -> (usize, usize) {
        let needing = self
            .entries
            .iter()
            .flat_map(|entry| &entry.items)
            .map(|index| &material.items[*index])
            .filter(|item| !item.is_moved());
        let (mut all, mut decided) = (0, 0);
        for item in needing {
            all += 1;
            decided += usize::from(ledger.verdict(material.comparison, &item.key).is_some());
        }
        (decided, all)
    }

    /// Finds the place of what a person typed: a number from 1, or part of a name or hash.
    pub(in crate::sighted) fn look_up(&self, material: &Material, typed: &str) -> Option<usize> {
        let typed = typed.trim();
        if let Ok(number) = typed.parse::<usize>() {
            return (1..=self.entries.len()).contains(&number).then(|| number - 1);
        }
        let wanted = typed.to_lowercase();
        if wanted.is_empty() {
            return None;
        }
        self.entries.iter().position(|entry| {
            let image = &material.images[entry.image];
            image.fixture.to_hex().starts_with(&wanted)
                || image.written.to_lowercase().contains(&wanted)
        })
    }
}

/// Smallest distance of an item's confidences to the threshold.
pub(in crate::sighted) fn distance_to(threshold: f64, item: &ReviewItem) -> Option<f64> {
    [item.a, item.b, item.elsewhere_a, item.elsewhere_b]
        .into_iter()
        .flatten()
        .map(|row| (row.confidence - threshold).abs())
        .min_by(f64::total_cmp)
}

/// One line that names an item: kind, classes, slots.
pub(in crate::sighted) fn title(material: &Material, item: &ReviewItem) -> String {
    format!("{} {}", material.class_names(item).join(" / "), kind_word(item.kind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::material;
    use super::super::verdict::{ActionId, Judgement, ReviewEvent};
    use super::*;

    fn judged(material: &Material, item: usize, verdict: Verdict) -> ReviewEvent {
        ReviewEvent::Judged(
            ActionId(format!("t-{item}")),
            Judgement {
                comparison: material.comparison,
                key: material.items[item].key.clone(),
                verdict: Some(verdict),
                note: String::new(),
                hidden_sides: None,
                a: None,
                b: None,
            },
        )
    }

    fn images(queue: &Queue) -> Vec<usize> {
        queue.entries().iter().map(|entry| entry.image).collect()
    }

    fn filtered(material: &Material, ledger: &Ledger, text: &str) -> Vec<usize> {
        let mut queue = Queue::new(material, ledger);
        queue.filter = Filter::parse(text);
        queue.rebuild(material, ledger);
        queue.entries().iter().flat_map(|entry| entry.items.clone()).collect()
    }

    #[test]
    fn worst_first_and_moved_slots_left_out() {
        let material = material();
        let mut queue = Queue::new(&material, &Ledger::default());
        assert_eq!(images(&queue), [1, 0, 2, 4]);
        assert_eq!((queue.len(), queue.moved_left_out()), (4, 2));
        queue.with_moved = true;
        queue.rebuild(&material, &Ledger::default());
        assert_eq!((queue.len(), queue.moved_left_out()), (6, 0));
        assert_eq!(queue.entries()[0].items, [2, 1], "moved slots last");
    }

    #[test]
    fn other_orders() {
        let material = material();
        let mut queue = Queue::new(&material, &Ledger::default());
        let mut seen = Vec::new();
        for _ in 0..4 {
            queue.rebuild(&material, &Ledger::default());
            seen.push((queue.order, images(&queue)));
            queue.order = queue.order.next();
        }
        assert_eq!(seen[1], (Order::Nearest, vec![4, 2, 0, 1]));
        assert_eq!(seen[2], (Order::Most, vec![0, 1, 2, 4]));
        assert_eq!(seen[3], (Order::Manifest, vec![0, 1, 2, 4]));
        assert_eq!(queue.order, Order::Worst);
    }

    #[test]
    fn filters() {
        let material = material();
        let mut ledger = Ledger::default();
        ledger.apply(&judged(&material, 0, Verdict::Both));
        for (text, items) in [
            ("", &[2, 0, 3, 4][..]),
            ("vanished", &[0]),
            ("vanished appeared", &[2, 0]),
            ("lost", &[0]),
            ("gained >0.5", &[2]),
            (">0.6", &[2, 0]),
            ("<0.5", &[4]),
            ("open", &[2, 3, 4]),
            ("decided", &[0]),
            ("both", &[0]),
            ("both neither", &[0]),
            ("bottle", &[0, 3, 4]),
            ("can", &[2, 3]),
            ("moved", &[1, 5]),
            ("nothing-like-this", &[]),
        ] {
            assert_eq!(filtered(&material, &ledger, text), items, "{text}");
        }
    }

    #[test]
    fn going_about() {
        let material = material();
        let ledger = Ledger::default();
        let mut queue = Queue::new(&material, &ledger);
        queue.with_moved = true;
        queue.rebuild(&material, &ledger);
        assert!(!queue.step_item(false) && !queue.step_image(false));
        assert!(queue.step_item(true));
        assert_eq!(queue.item(), Some(1), "the second of the first picture");
        assert!(queue.step_item(true));
        assert_eq!(queue.item(), Some(0));
        assert!(queue.step_item(false));
        assert_eq!(queue.item(), Some(1), "back to the last of the former picture");
        queue.go_to(99);
        assert_eq!(queue.place(), 3);
        assert!(!queue.step_image(true));
        assert_eq!(queue.look_up(&material, "2"), Some(1));
        assert_eq!(queue.look_up(&material, "bottle"), Some(1));
        assert_eq!(queue.look_up(&material, "0"), None);
        assert_eq!(queue.look_up(&material, &material.images[4].fixture.short()), Some(3));
        assert!(queue.go_to_item(3) && queue.item() == Some(3));
    }

    #[test]
    fn undecided_ones_are_found_and_moved_slots_need_nothing() {
        let material = material();
        let mut ledger = Ledger::default();
        let mut queue = Queue::new(&material, &ledger);
        queue.with_moved = true;
        queue.rebuild(&material, &ledger);
        assert_eq!(queue.progress(&material, &ledger), (0, 4));
        for expected in [2, 0, 3, 4] {
            assert!(queue.go_to_undecided(&material, &ledger, true));
            assert_eq!(queue.item(), Some(expected));
            ledger.apply(&judged(&material, expected, Verdict::Neither));
        }
        assert!(!queue.go_to_undecided(&material, &ledger, false));
        assert_eq!(queue.progress(&material, &ledger), (4, 4));
    }

    #[test]
    fn the_cursor_stays_on_its_item_when_the_queue_is_made_again() {
        let material = material();
        let mut queue = Queue::new(&material, &Ledger::default());
        queue.go_to(2);
        let item = queue.item();
        queue.order = Order::Manifest;
        queue.rebuild(&material, &Ledger::default());
        assert_eq!(queue.item(), item);
        queue.filter = Filter::parse("vanished");
        queue.rebuild(&material, &Ledger::default());
        assert_eq!(queue.item(), Some(0));
        queue.filter = Filter::parse("no such thing");
        queue.rebuild(&material, &Ledger::default());
        assert_eq!((queue.item(), queue.image(), queue.len()), (None, None, 0));
        assert!(!queue.step_item(true) && !queue.step_image(false));
    }

    proptest! {
        #[test]
        fn any_walk_stays_inside(steps in prop::collection::vec(0_u8..9, 0..60), text in "(vanished|moved|open|can|>0.5|zzz)?") {
            let material = material();
            let ledger = Ledger::default();
            let mut queue = Queue::new(&material, &ledger);
            queue.filter = Filter::parse(&text);
            for step in steps {
                match step {
                    0 => { queue.step_item(true); }
                    1 => { queue.step_item(false); }
                    2 => { queue.step_image(true); }
                    3 => { queue.step_image(false); }
                    4 => queue.go_to(usize::from(step) * 3),
                    5 => queue.with_moved = !queue.with_moved,
                    6 => queue.order = queue.order.next(),
                    7 => queue.rebuild(&material, &ledger),
                    _ => { queue.go_to_undecided(&material, &ledger, false); }
                }
                prop_assert_eq!(queue.item().is_some(), queue.len() > 0);
            }
        }
    }
}
