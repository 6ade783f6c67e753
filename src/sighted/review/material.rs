//! What there is to review: the items of a parity report, joined with their pictures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::verdict::ItemKey;
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, FixtureId, ReportHash};
use crate::sighted::decision::report::{
    DetectionRow, FixtureStatus, Item, ItemKind, ParityReport, SideFound, Sides,
};

/// One side of the comparison, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct SideName {
    /// File name of the artifact.
    pub file: String,
    /// Hex digits of its hash.
    pub sha256: String,
}

impl SideName {
    /// Of an artifact's path, as written anywhere, and the hex digits of its hash.
    pub(in crate::sighted) fn new(path: &str, sha256: &str) -> Self {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Self { file: file.to_owned(), sha256: sha256.to_owned() }
    }
}

/// One picture with changed decisions, or one without.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct ReviewImage {
    /// The fixture.
    pub fixture: FixtureId,
    /// As the manifest writes it; not escaped.
    pub written: String,
    /// Where to open it.
    pub path: PathBuf,
    /// Everything either side found above the report's floor.
    pub found: Sides<Vec<DetectionRow>>,
    /// Its items: indices into [`Material::items`].
    pub items: Vec<usize>,
}

/// One changed decision.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct ReviewItem {
    /// Index into [`Material::images`].
    pub image: usize,
    /// Its name.
    pub key: ItemKey,
    /// What became of it.
    pub kind: ItemKind,
    /// The reference's detection.
    pub a: Option<DetectionRow>,
    /// The candidate's detection.
    pub b: Option<DetectionRow>,
    /// What the reference has there below the threshold, or as a duplicate.
    pub elsewhere_a: Option<DetectionRow>,
    /// What the candidate has there.
    pub elsewhere_b: Option<DetectionRow>,
    /// How much changed, 0..=1: see [`size_of_change`].
    pub change: f64,
}

/// Which way a change went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Direction {
    /// The candidate lost something.
    Lost,
    /// The candidate gained something.
    Gained,
    /// Neither: another class, another slot, another object.
    Changed,
}

impl ReviewItem {
    /// Which way it went.
    pub(in crate::sighted) const fn direction(&self) -> Direction {
        match self.kind {
            ItemKind::Vanished => Direction::Lost,
            ItemKind::Appeared => Direction::Gained,
            ItemKind::Relabelled | ItemKind::MovedSlot | ItemKind::Replaced => Direction::Changed,
        }
    }

    /// Whether nothing changed for the user.
    pub(in crate::sighted) fn is_moved(&self) -> bool {
        self.kind == ItemKind::MovedSlot
    }

    /// Boxes of both sides.
    pub(in crate::sighted) fn corners(&self) -> impl Iterator<Item = [f64; 4]> {
        [self.a, self.b].into_iter().flatten().map(|row| row.corners)
    }
}

/// Totals at the recommended threshold, as people compare them first.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::sighted) struct Totals {
    /// Detections of both sides.
    pub detections: Sides<u64>,
    /// Slot by slot: threshold flips and class flips.
    pub slot_flips: u64,
    /// Class flips by slot.
    pub class_flips: u64,
    /// As sets: vanished, appeared and relabelled.
    pub set_changes: u64,
    /// Pictures in which something changed.
    pub images_changed: u64,
}

/// Everything a review needs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Material {
    /// Names the comparison: both artifacts, the recipe, the threshold. Verdicts belong to it.
    pub comparison: ContentHash,
    /// The report it comes from; none while the run goes on.
    pub report: Option<ReportHash>,
    /// The recommended threshold.
    pub threshold: f64,
    /// Both sides.
    pub sides: Sides<SideName>,
    /// Leaf classes in logit order; not escaped.
    pub classes: Vec<String>,
    /// Width and height of the model's input.
    pub input: (u32, u32),
    /// Pictures in manifest order.
    pub images: Vec<ReviewImage>,
    /// Items in the order of the pictures.
    pub items: Vec<ReviewItem>,
    /// Totals.
    pub totals: Totals,
}

impl Material {
    /// The material of a report whose manifest lies in `folder`.
    ///
    /// # Errors
    /// A report of another tool holds no items; a hash that is none.
    pub(in crate::sighted) fn from_report(
        report: &ParityReport,
        hash: Option<ReportHash>,
        folder: &Path,
    ) -> Result<Self, String> {
        let extension = report.flipside.as_ref().ok_or(
            "expected a report of flipside, found one without items: run `flipside parity` to get one",
        )?;
        let shape = &report.fixtures.input_shape;
        let side = |at: usize| -> u32 {
            shape.get(at).and_then(|length| u32::try_from(*length).ok()).unwrap_or(1).max(1)
        };
        let mut material = Self::start(Header {
            sides: Sides {
                a: SideName::new(&report.artifacts.a.path, &report.artifacts.a.sha256),
                b: SideName::new(&report.artifacts.b.path, &report.artifacts.b.sha256),
            },
            recipe: extension.recipe.sha256.clone(),
            threshold: report.decode.conf_threshold_recommended,
            classes: extension.classes.clone(),
            input: (side(3), side(2)),
        });
        material.report = hash;
        let mut items: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for item in &extension.items {
            items.entry(&item.fixture).or_default().push(item);
        }
        for row in &extension.fixtures {
            let (FixtureStatus::Ok, Some(found)) = (row.status, &row.found) else { continue };
            let own = items.remove(row.sha256.as_str()).unwrap_or_default();
            material.add(&row.path, &row.sha256, folder, found, own.into_iter())?;
        }
        material.totals = totals(report);
        Ok(material)
    }

    /// A comparison with no fixtures yet.
    pub(in crate::sighted) fn start(header: Header) -> Self {
        Self {
            comparison: comparison_id(
                &header.sides.a.sha256,
                &header.sides.b.sha256,
                &header.recipe,
                header.threshold,
            ),
            report: None,
            threshold: header.threshold,
            sides: header.sides,
            classes: header.classes,
            input: header.input,
            images: Vec::new(),
            items: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Adds one fixture. The second of two with equal bytes is the same picture, and is skipped.
    ///
    /// # Errors
    /// A hash that is none.
    pub(in crate::sighted) fn add<'a>(
        &mut self,
        written: &str,
        sha256: &str,
        folder: &Path,
        found: &Sides<SideFound>,
        items: impl Iterator<Item = &'a Item>,
    ) -> Result<(), String> {
        let fixture: FixtureId =
            sha256.parse().map_err(|error| format!("fixture {written}: {error}"))?;
        let image = self.images.len();
        let first = self.items.len();
        for item in items {
            self.items.push(ReviewItem {
                image,
                key: ItemKey::of(fixture, item),
                kind: item.kind,
                a: item.a,
                b: item.b,
                elsewhere_a: item.elsewhere_a,
                elsewhere_b: item.elsewhere_b,
                change: size_of_change(item),
            });
        }
        self.images.push(ReviewImage {
            fixture,
            written: written.to_owned(),
            path: folder.join(written),
            found: Sides { a: found.a.detections.clone(), b: found.b.detections.clone() },
            items: (first..self.items.len()).collect(),
        });
        Ok(())
    }

    /// The name of a class, or its number when there is none; not escaped.
    pub(in crate::sighted) fn class_name(&self, class_index: u32) -> String {
        usize::try_from(class_index)
            .ok()
            .and_then(|index| self.classes.get(index))
            .cloned()
            .unwrap_or_else(|| format!("class {class_index}"))
    }

    /// Classes an item has on either side, the reference's first.
    pub(in crate::sighted) fn class_names(&self, item: &ReviewItem) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in [item.a, item.b].into_iter().flatten() {
            let name = self.class_name(row.class_index);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Names a comparison by what is compared: hex digits of both artifacts and the recipe, and the threshold.
pub(in crate::sighted) fn comparison_id(
    reference: &str,
    candidate: &str,
    recipe: &str,
    threshold: f64,
) -> ContentHash {
    let text = |value: &str| Json::Text(value.to_owned());
    let identity = Json::Object(
        [
            ("candidate", text(candidate)),
            ("recipe", text(recipe)),
            ("reference", text(reference)),
            ("threshold", Json::Float(threshold)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect(),
    );
    ContentHash::of(identity.to_canonical().as_bytes())
}

/// What a comparison is before anything ran.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Header {
    /// Both sides.
    pub sides: Sides<SideName>,
    /// Hash of the recipe, 64 hex digits.
    pub recipe: String,
    /// The recommended threshold.
    pub threshold: f64,
    /// Leaf classes in logit order.
    pub classes: Vec<String>,
    /// Width and height of the model's input.
    pub input: (u32, u32),
}

/// How much a change is, 0..=1, whatever its kind:
/// * vanished, appeared: from the confidence there was to the best the other side has of the same object;
/// * relabelled: the lower of both confidences, for both are sure of different things;
/// * replaced: the higher of both, for each stands alone;
/// * moved: the difference, for it is one object.
///
/// A confidence that is not a number counts as the largest change there is.
pub(in crate::sighted) fn size_of_change(item: &Item) -> f64 {
    let confidence = |row: &Option<DetectionRow>| row.as_ref().map_or(0.0, |row| row.confidence);
    let (a, b) = (confidence(&item.a), confidence(&item.b));
    let change = match item.kind {
        ItemKind::Vanished => a - confidence(&item.elsewhere_b),
        ItemKind::Appeared => b - confidence(&item.elsewhere_a),
        ItemKind::Relabelled => a.min(b),
        ItemKind::Replaced => a.max(b),
        ItemKind::MovedSlot => a - b,
    };
    if change.is_nan() { 1.0 } else { change.abs().min(1.0) }
}

fn totals(report: &ParityReport) -> Totals {
    let recommended = report.decode.conf_threshold_recommended;
    let slots = report.decode.by_threshold.iter().find(|row| row.is_recommended);
    let sets = report.flipside.as_ref().and_then(|extension| {
        extension
            .set_matching
            .by_threshold
            .iter()
            .find(|row| (row.threshold - recommended).abs() < 1e-12)
    });
    Totals {
        detections: Sides {
            a: slots.map_or(0, |row| row.detections_a),
            b: slots.map_or(0, |row| row.detections_b),
        },
        slot_flips: slots.map_or(0, |row| row.threshold_flips),
        class_flips: slots.map_or(0, |row| row.class_argmax_flips),
        set_changes: sets.map_or(0, |row| row.vanished + row.appeared + row.relabelled),
        images_changed: sets.map_or(0, |row| row.images_changed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fixtures, material, parity_report};
    use super::*;

    #[test]
    fn items_are_joined_with_their_pictures() {
        let material = material();
        assert_eq!(material.images.len(), 5);
        let kinds: Vec<_> =
            material.items.iter().map(|item| (item.image, item.key.change.as_str())).collect();
        assert_eq!(
            kinds,
            [
                (0, "vanished a12"),
                (1, "moved-slot a4 b9"),
                (1, "appeared b1"),
                (2, "relabelled a2 b2"),
                (4, "replaced a5 b5"),
                (4, "moved-slot a6 b7"),
            ]
        );
        assert_eq!(material.images[0].path, Path::new("/w/fixtures/images/bottle.jpg"));
        assert_eq!(material.input, (64, 64));
        assert_eq!(material.totals.detections, Sides { a: 7, b: 7 });
    }

    #[test]
    fn the_size_of_a_change_follows_its_kind() {
        let material = material();
        let changes: Vec<_> =
            material.items.iter().map(|item| (item.change * 100.0).round()).collect();
        assert_eq!(changes, [62.0, 2.0, 91.0, 52.0, 44.0, 1.0]);
    }

    #[test]
    fn a_report_without_items_is_refused_and_one_with_them_is_not() {
        let mut report = parity_report(&fixtures());
        assert!(Material::from_report(&report, None, Path::new(".")).is_ok());
        report.flipside = None;
        let error = Material::from_report(&report, None, Path::new(".")).expect_err("no items");
        assert!(error.contains("without items"), "{error}");
    }

    #[test]
    fn the_comparison_is_named_by_what_was_compared() {
        let report = parity_report(&fixtures());
        let name = |report: &ParityReport| {
            Material::from_report(report, None, Path::new(".")).expect("reviewable").comparison
        };
        let before = name(&report);
        let mut other = report.clone();
        other.generated_at = "2027-01-01T00:00:00+00:00".to_owned();
        assert_eq!(name(&other), before, "another run of the same is the same comparison");
        other.decode.conf_threshold_recommended = 0.5;
        assert_ne!(name(&other), before);
    }
}
