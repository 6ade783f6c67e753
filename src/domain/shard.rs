//! Which fixtures a rater sees, in which order.
//!
//! A pure function of (fixtures, manifest hash, seed, shares, shard, rater): no clock, no randomness of
//! its own, no place in the manifest. Every choice sorts by a sha256 of what it depends on, so the same
//! inputs give the same plan on every machine and in every later version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::digest::{FixtureId, ManifestHash, sha256};
use super::escape::escape;

/// Two pictures of one cluster, and the two showings of one picture, stand at least this far apart when
/// the shard is long enough.
pub const SEPARATION: usize = 10;

/// Shortest shard that hides a repeat although its share rounds to none.
const MIN_SHARD_WITH_REPEAT: usize = 8;

/// Longest rater name.
const MAX_RATER_NAME: usize = 40;

/// Part `index` of `of`, counted from 1. Written `I/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// Which part, from 1.
    pub index: u32,
    /// Of how many.
    pub of: u32,
}

/// A text that is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard as I/N with 1 <= I <= N, like 1/4, found {:?}", escape(.found))]
pub struct ParseShardError {
    /// What was found.
    pub found: String,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Part `index` of `of`.
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (1..=of).contains(&index).then_some(Self { index, of })
    }

    /// The part of a list of `count` things that one of several machines takes: contiguous, all parts
    /// together give the list, sizes differ by at most one.
    pub fn slice_of(self, count: usize) -> Range<usize> {
        let bound = |index: u32| {
            let product = count as u128 * u128::from(index) / u128::from(self.of);
            usize::try_from(product).unwrap_or(count)
        };
        bound(self.index - 1)..bound(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse::<u32>().ok()).flatten()
        };
        text.split_once('/')
            .and_then(|(index, of)| Self::new(number(index)?, number(of)?))
            .ok_or_else(|| ParseShardError { found: text.chars().take(80).collect() })
    }
}

/// A person who labels. Lower-case letters, digits, `-` and `_`, so that it can be part of a file name
/// on every system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RaterName(String);

/// A text that is no rater name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a rater name of 1 to {MAX_RATER_NAME} lower-case letters, digits, - or _, starting with a letter or digit, found {:?}", escape(.found))]
pub struct ParseRaterError {
    /// What was found.
    pub found: String,
}

impl RaterName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RaterName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for RaterName {
    type Err = ParseRaterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        let shape = text.len() <= MAX_RATER_NAME
            && text.bytes().all(inner)
            && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        // Device names that Windows will not have as a file, whatever the extension.
        let device = matches!(text, "con" | "prn" | "aux" | "nul")
            || (text.len() == 4
                && (text.starts_with("com") || text.starts_with("lpt"))
                && text.as_bytes()[3].is_ascii_digit());
        if shape && !device {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseRaterError { found: text.chars().take(80).collect() })
        }
    }
}

impl Serialize for RaterName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RaterName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A fixture as a plan sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFixture {
    /// What names it.
    pub id: FixtureId,
    /// Name of the cluster it belongs to (a before/after pair, say); empty when it stands alone.
    pub cluster: String,
}

/// One showing of one fixture to one rater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Showing {
    /// The fixture.
    pub fixture: FixtureId,
    /// 1, or 2 for a hidden repeat.
    pub pass: u8,
}

/// How a manifest is cut into shards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShardPlan {
    /// Of what.
    pub manifest: ManifestHash,
    /// Number of shards, at least 1.
    pub of: u32,
    /// Share of the fixtures that stand in a second shard too, 0..=1.
    pub overlap: f64,
    /// Share of a shard's fixtures that are shown a second time, 0..=1.
    pub repeats: f64,
    /// Seed of every choice.
    pub seed: u64,
}

impl ShardPlan {
    /// The fixtures of every shard, sorted by id. A fixture listed twice counts once.
    ///
    /// Homes are dealt round in a seeded order, so sizes differ by at most one. Then the chosen share of
    /// fixtures gets a second shard, spread evenly over all pairs of shards.
    pub fn shards(&self, fixtures: &[PlannedFixture]) -> Vec<BTreeSet<FixtureId>> {
        let of = usize::try_from(self.of.max(1)).unwrap_or(1);
        let unique: BTreeSet<FixtureId> = fixtures.iter().map(|fixture| fixture.id).collect();
        let mut shards = vec![BTreeSet::new(); of];
        let mut home = BTreeMap::new();
        for (position, id) in self.sorted(unique.iter().copied(), "home", "").enumerate() {
            shards[position % of].insert(id);
            home.insert(id, position % of);
        }
        if of > 1 {
            let wanted = share_of(self.overlap, unique.len());
            let mut turn = vec![0_usize; of];
            for id in self.sorted(unique.iter().copied(), "overlap", "").take(wanted) {
                let first = home.get(&id).copied().unwrap_or(0);
                let second = (first + 1 + turn[first] % (of - 1)) % of;
                turn[first] += 1;
                shards[second].insert(id);
            }
        }
        shards
    }

    /// What one rater is shown for one shard, in order, hidden repeats included.
    pub fn order(
        &self,
        fixtures: &[PlannedFixture],
        shard: Shard,
        rater: &RaterName,
    ) -> Vec<Showing> {
        let shards = self.shards(fixtures);
        let position = usize::try_from(shard.index.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(own) = shards.get(position) else { return Vec::new() };
        let clusters: BTreeMap<FixtureId, &str> = fixtures
            .iter()
            .filter(|fixture| !fixture.cluster.is_empty())
            .map(|fixture| (fixture.id, fixture.cluster.as_str()))
            .collect();
        let salt = format!("{rater}\0{shard}");
        let shuffled: Vec<FixtureId> = self.sorted(own.iter().copied(), "order", &salt).collect();
        let apart = separate(shuffled, &clusters);
        self.with_repeats(apart, &clusters, &salt)
    }

    fn with_repeats(
        &self,
        order: Vec<FixtureId>,
        clusters: &BTreeMap<FixtureId, &str>,
        salt: &str,
    ) -> Vec<Showing> {
        let length = order.len();
        let mut wanted = share_of(self.repeats, length);
        if self.repeats > 0.0 && length >= MIN_SHARD_WITH_REPEAT {
            wanted = wanted.max(1);
        }
        let gap = SEPARATION.min(length / 2).max(1);
        // Only a picture shown early enough can come again at a distance.
        let early = order.iter().copied().take(length.saturating_sub(gap) + 1);
        let chosen: Vec<FixtureId> = self.sorted(early, "repeat", salt).take(wanted).collect();
        let mut showings: Vec<Showing> =
            order.into_iter().map(|fixture| Showing { fixture, pass: 1 }).collect();
        for fixture in chosen {
            let first =
                showings.iter().position(|showing| showing.fixture == fixture).unwrap_or_default();
            let lowest = (first + gap).min(showings.len());
            let places = showings.len() - lowest + 1;
            let start = self.number(fixture, "place", salt) % places as u64;
            let start = usize::try_from(start).unwrap_or_default();
            let place = (0..places)
                .map(|step| lowest + (start + step) % places)
                .find(|place| far_from_cluster(&showings, *place, fixture, clusters, gap))
                .unwrap_or(lowest + start);
            showings.insert(place, Showing { fixture, pass: 2 });
        }
        showings
    }

    fn digest(&self, id: FixtureId, purpose: &str, salt: &str) -> [u8; 32] {
        let mut text = Vec::with_capacity(160);
        text.extend_from_slice(b"flipside-shard-v1\0");
        text.extend_from_slice(self.manifest.as_bytes());
        text.extend_from_slice(&self.seed.to_le_bytes());
        text.extend_from_slice(purpose.as_bytes());
        text.push(0);
        text.extend_from_slice(salt.as_bytes());
        text.push(0);
        text.extend_from_slice(id.as_bytes());
        sha256(&text)
    }

    fn number(&self, id: FixtureId, purpose: &str, salt: &str) -> u64 {
        self.digest(id, purpose, salt)[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn sorted(
        &self,
        ids: impl Iterator<Item = FixtureId>,
        purpose: &str,
        salt: &str,
    ) -> std::vec::IntoIter<FixtureId> {
        let mut keyed: Vec<([u8; 32], FixtureId)> =
            ids.map(|id| (self.digest(id, purpose, salt), id)).collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, id)| id).collect::<Vec<_>>().into_iter()
    }
}

/// `share` of `count`, rounded to nearest, halves up.
fn share_of(share: f64, count: usize) -> usize {
    let bounded = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "between 0 and count, which is far below 2^52"
    )]
    let rounded = (bounded * count as f64 + 0.5).floor() as usize;
    rounded.min(count)
}

/// Moves members of one cluster apart: each place takes the first picture left whose cluster was not
/// shown just before; when there is none, the one whose cluster lies furthest back.
fn separate(shuffled: Vec<FixtureId>, clusters: &BTreeMap<FixtureId, &str>) -> Vec<FixtureId> {
    let mut left = shuffled;
    let mut order: Vec<FixtureId> = Vec::with_capacity(left.len());
    let mut last_shown: BTreeMap<&str, usize> = BTreeMap::new();
    while !left.is_empty() {
        let place = order.len();
        let last_of =
            |id: &FixtureId| clusters.get(id).and_then(|cluster| last_shown.get(cluster)).copied();
        let free = |id: &FixtureId| last_of(id).is_none_or(|shown| place - shown >= SEPARATION);
        let next = left.iter().position(free).unwrap_or_else(|| {
            (0..left.len()).min_by_key(|index| last_of(&left[*index])).unwrap_or_default()
        });
        let id = left.remove(next);
        if let Some(cluster) = clusters.get(&id) {
            last_shown.insert(cluster, place);
        }
        order.push(id);
    }
    order
}

/// Would a repeat at `place` stand at least `gap` from every other picture of its cluster?
fn far_from_cluster(
    showings: &[Showing],
    place: usize,
    fixture: FixtureId,
    clusters: &BTreeMap<FixtureId, &str>,
    gap: usize,
) -> bool {
    let Some(cluster) = clusters.get(&fixture) else { return true };
    let from = place.saturating_sub(gap.saturating_sub(1));
    let to = (place + gap - 1).min(showings.len());
    showings[from..to].iter().all(|showing| clusters.get(&showing.fixture) != Some(cluster))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixtures(count: usize) -> Vec<PlannedFixture> {
        (0..count)
            .map(|index| PlannedFixture {
                id: FixtureId::of(format!("picture {index}").as_bytes()),
                cluster: String::new(),
            })
            .collect()
    }

    fn plan(of: u32, overlap: f64, repeats: f64) -> ShardPlan {
        ShardPlan { manifest: ManifestHash::of(b"manifest"), of, overlap, repeats, seed: 7 }
    }

    fn rater(name: &str) -> RaterName {
        name.parse().expect("a rater name")
    }

    #[test]
    fn shards_are_written_i_of_n() {
        assert_eq!("2/4".parse(), Ok(Shard { index: 2, of: 4 }));
        assert_eq!(Shard { index: 2, of: 4 }.to_string(), "2/4");
        for bad in ["", "2", "0/4", "5/4", "1/0", "+1/4", "1/4/2", "1 /4", "99999999999/4", "a/b"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn machine_slices_cover_the_list_once() {
        for (count, of) in [(10, 3), (2, 5), (0, 2), (200, 7)] {
            let all: Vec<usize> =
                (1..=of).flat_map(|index| Shard { index, of }.slice_of(count)).collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rater_names_can_be_file_names() {
        assert_eq!(rater("ada-2").as_str(), "ada-2");
        for bad in ["", "Ada", "a b", "../x", "-a", "é", "con", "com1", &"a".repeat(41), "a.b"] {
            assert!(bad.parse::<RaterName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn plan_is_pinned() {
        // Raters in the middle of a shard depend on it; do not change it.
        let order = plan(2, 0.5, 0.2).order(&fixtures(8), Shard { index: 1, of: 2 }, &rater("ada"));
        let shown: Vec<String> = order
            .iter()
            .map(|showing| format!("{}{}", &showing.fixture.to_hex()[..4], showing.pass))
            .collect();
        insta::assert_snapshot!(shown.join(" "));
    }

    #[test]
    fn overlap_is_spread_over_all_pairs_of_shards() {
        let shards = plan(4, 0.3, 0.0).shards(&fixtures(200));
        let listed: usize = shards.iter().map(BTreeSet::len).sum();
        assert_eq!(listed, 260);
        for first in 0..4 {
            for second in first + 1..4 {
                let shared = shards[first].intersection(&shards[second]).count();
                assert!((5..=15).contains(&shared), "{first} and {second} share {shared}");
            }
        }
    }

    #[test]
    fn another_rater_sees_another_order_of_the_same_fixtures() {
        let set = fixtures(60);
        let shard = Shard { index: 1, of: 2 };
        let firsts = |name: &str| -> Vec<FixtureId> {
            let order = plan(2, 0.2, 0.05).order(&set, shard, &rater(name));
            order
                .iter()
                .filter(|showing| showing.pass == 1)
                .map(|showing| showing.fixture)
                .collect()
        };
        let (mut ada, mut bob) = (firsts("ada"), firsts("bob"));
        assert_ne!(ada, bob);
        ada.sort();
        bob.sort();
        assert_eq!(ada, bob);
    }

    #[test]
    fn place_in_the_order_says_nothing_of_place_in_the_manifest() {
        // Spearman correlation over 40 raters of 100 fixtures: near 0 on average, and small for each.
        let set = fixtures(100);
        let place: BTreeMap<FixtureId, f64> = set
            .iter()
            .zip(0_u32..)
            .map(|(fixture, index)| (fixture.id, f64::from(index)))
            .collect();
        let correlations: Vec<f64> = (0..40)
            .map(|number| {
                let order =
                    plan(1, 0.0, 0.0).order(&set, Shard::WHOLE, &rater(&format!("r{number}")));
                let squares: f64 = order
                    .iter()
                    .zip(0_u32..)
                    .map(|(showing, shown)| (place[&showing.fixture] - f64::from(shown)).powi(2))
                    .sum();
                1.0 - 6.0 * squares / (100.0 * (100.0_f64.powi(2) - 1.0))
            })
            .collect();
        let mean = correlations.iter().sum::<f64>() / 40.0;
        assert!(mean.abs() < 0.06, "mean {mean}");
        assert!(correlations.iter().all(|value| value.abs() < 0.42), "{correlations:?}");
    }

    proptest! {
        #[test]
        fn every_fixture_has_one_home_and_overlap_adds_the_share(
            count in 1_usize..120, of in 1_u32..6, overlap in 0.0_f64..=1.0, seed in 0_u64..50
        ) {
            let plan = ShardPlan { seed, ..plan(of, overlap, 0.0) };
            let shards = plan.shards(&fixtures(count));
            let union: BTreeSet<FixtureId> = shards.iter().flatten().copied().collect();
            prop_assert_eq!(union.len(), count);
            let listed: usize = shards.iter().map(BTreeSet::len).sum();
            let doubled = if of > 1 { share_of(overlap, count) } else { 0 };
            prop_assert_eq!(listed, count + doubled);
        }

        #[test]
        fn repeats_come_late_and_once(count in 0_usize..90, repeats in 0.0_f64..=1.0) {
            let order = plan(1, 0.0, repeats).order(&fixtures(count), Shard::WHOLE, &rater("ada"));
            let firsts: Vec<_> = order.iter().filter(|s| s.pass == 1).collect();
            prop_assert_eq!(firsts.len(), count);
            let gap = SEPARATION.min(count / 2).max(1);
            let mut seen = BTreeSet::new();
            for (place, showing) in order.iter().enumerate().filter(|(_, s)| s.pass == 2) {
                prop_assert!(seen.insert(showing.fixture));
                let first = order.iter().position(|s| s.fixture == showing.fixture).expect("shown");
                prop_assert!(place - first >= gap, "{} then {}", first, place);
            }
            let bound = share_of(repeats, count).max(1);
            prop_assert!(seen.len() <= bound);
        }

        #[test]
        fn order_does_not_depend_on_the_manifests_order(count in 1_usize..60, turn in 0_usize..60) {
            let set = fixtures(count);
            let mut turned = set.clone();
            turned.rotate_left(turn % count);
            let of = |set: &[PlannedFixture]| plan(1, 0.0, 0.1).order(set, Shard::WHOLE, &rater("ada"));
            prop_assert_eq!(of(&set), of(&turned));
        }

        #[test]
        fn pairs_stand_apart(pairs in 12_usize..60) {
            let mut set = fixtures(pairs * 2);
            for (index, fixture) in set.iter_mut().enumerate() {
                fixture.cluster = format!("pair {}", index / 2);
            }
            let order = plan(1, 0.0, 0.05).order(&set, Shard::WHOLE, &rater("ada"));
            let cluster: BTreeMap<FixtureId, &str> =
                set.iter().map(|f| (f.id, f.cluster.as_str())).collect();
            let near = order.windows(SEPARATION).filter(|window| {
                window[1..].iter().any(|s| cluster[&s.fixture] == cluster[&window[0].fixture])
            });
            // The last few places may have no choice left.
            prop_assert!(near.count() <= 1);
        }
    }
}
