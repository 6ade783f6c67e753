//! How the verdicts stand, and the sentence about equal totals. Pure.

use super::material::{Material, Totals};
use super::verdict::{Ledger, Verdict};
use crate::stats::estimate::p_text;
use crate::stats::exact::sign_test;

/// Said instead of counts by side, which would tell which side is which.
pub(in crate::sighted) const HELD_BACK: &str =
    "sides are hidden: the tally waits until every change has a verdict";

/// Verdicts counted, moved slots apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::sighted) struct Tally {
    /// For each of [`Verdict::ALL`].
    pub counts: [u64; 5],
    /// Items that need a verdict.
    pub items: u64,
}

impl Tally {
    /// Counts the verdicts on all items of a material.
    pub(in crate::sighted) fn of(material: &Material, ledger: &Ledger) -> Self {
        let mut tally = Self::default();
        for item in material.items.iter().filter(|item| !item.is_moved()) {
            tally.items += 1;
            if let Some(verdict) = ledger.verdict(material.comparison, &item.key)
                && let Some(place) = Verdict::ALL.iter().position(|other| *other == verdict)
            {
                tally.counts[place] += 1;
            }
        }
        tally
    }

    /// How often that was said.
    pub(in crate::sighted) fn count(&self, verdict: Verdict) -> u64 {
        Verdict::ALL
            .iter()
            .zip(self.counts)
            .find_map(|(other, count)| (*other == verdict).then_some(count))
            .unwrap_or(0)
    }

    /// Items with a verdict.
    pub(in crate::sighted) fn decided(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether every item has one.
    pub(in crate::sighted) fn is_done(&self) -> bool {
        self.decided() == self.items
    }

    /// Exact two-sided sign test: is one side right as often as the other? Items where both, neither or
    /// nobody can tell say nothing about that.
    pub(in crate::sighted) fn p(&self) -> f64 {
        sign_test(self.count(Verdict::Reference), self.count(Verdict::Candidate))
    }

    /// What the counts license, in one sentence.
    pub(in crate::sighted) fn sentence(&self) -> String {
        let (reference, candidate) =
            (self.count(Verdict::Reference), self.count(Verdict::Candidate));
        let p = p_text(self.p());
        let told = format!("reference right {reference}, candidate right {candidate}");
        if reference + candidate == 0 {
            return format!("{told}: no item tells the sides apart.");
        }
        let means = if self.p() >= 0.05 {
            "no measurable difference between the sides"
        } else if reference > candidate {
            "the reference is right more often than chance would have it"
        } else {
            "the candidate is right more often than chance would have it"
        };
        let rest = self.items - self.decided();
        let open = if rest == 0 { String::new() } else { format!(" {rest} are still open.") };
        format!("{told}; exact sign test {p}: {means}.{open}")
    }
}

/// The sentence for totals that agree beside decisions that do not; `None` when totals show the change.
pub(in crate::sighted) fn parity_warning(totals: &Totals) -> Option<String> {
    let (a, b) = (totals.detections.a, totals.detections.b);
    let gap = a.abs_diff(b);
    let nearly_equal = gap * 50 <= a.max(b);
    if !nearly_equal || totals.set_changes <= gap || totals.set_changes == 0 {
        return None;
    }
    let totals_say = if gap == 0 {
        format!("Equal totals ({a}, {b})")
    } else {
        format!("Nearly equal totals ({a}, {b})")
    };
    let decisions = if totals.set_changes == 1 { "decision" } else { "decisions" };
    let pictures = if totals.images_changed == 1 { "picture" } else { "pictures" };
    Some(format!(
        "{totals_say} hide {} changed {decisions} in {} {pictures}.",
        totals.set_changes, totals.images_changed
    ))
}

/// The same for one row of a narrow screen.
pub(in crate::sighted) fn short_parity_warning(totals: &Totals) -> Option<String> {
    parity_warning(totals)?;
    let (a, b) = (totals.detections.a, totals.detections.b);
    let sign = if a == b { '=' } else { '\u{2248}' };
    Some(format!("{a} {sign} {b}, yet {} decisions changed.", totals.set_changes))
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;
    use crate::sighted::decision::report::Sides;

    fn tally(counts: [u64; 5], items: u64) -> Tally {
        Tally { counts, items }
    }

    #[test]
    fn sentences_follow_the_exact_test() {
        for (counts, part) in [
            ([5, 0, 0, 0, 0], "no measurable difference"),
            ([6, 0, 0, 0, 0], "the reference is right more often"),
            ([0, 6, 9, 0, 0], "the candidate is right more often"),
            ([0, 0, 3, 1, 1], "no item tells the sides apart"),
        ] {
            let tally = tally(counts, 20);
            assert!(tally.sentence().contains(part), "{}", tally.sentence());
        }
        assert!((tally([6, 0, 0, 0, 0], 6).p() - 0.03125).abs() < 1e-12);
        assert!((tally([5, 0, 0, 0, 0], 6).p() - 0.0625).abs() < 1e-12);
        assert!(tally([1, 1, 1, 1, 1], 5).is_done());
    }

    #[test]
    fn moved_slots_are_not_counted() {
        let material = material();
        assert_eq!(Tally::of(&material, &Ledger::default()), tally([0; 5], 4));
    }

    #[test]
    fn equal_totals_are_warned_of_and_unequal_ones_are_not() {
        let totals = |a, b, set_changes| Totals {
            detections: Sides { a, b },
            set_changes,
            images_changed: 50,
            ..Totals::default()
        };
        let said = parity_warning(&totals(202, 202, 112)).expect("a warning");
        assert_eq!(said, "Equal totals (202, 202) hide 112 changed decisions in 50 pictures.");
        assert!(parity_warning(&totals(202, 204, 112)).expect("a warning").starts_with("Nearly"));
        assert_eq!(parity_warning(&totals(202, 230, 112)), None);
        assert_eq!(parity_warning(&totals(202, 202, 0)), None);
        assert_eq!(parity_warning(&totals(202, 204, 2)), None, "the totals show it");
        assert_eq!(parity_warning(&totals(0, 0, 0)), None);
    }
}
