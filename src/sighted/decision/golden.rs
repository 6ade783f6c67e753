//! Our matcher on the survivors an independent implementation listed must give that implementation's
//! counts and kinds, image by image.

use std::collections::BTreeMap;

use super::report::{DetectionRow, ItemKind, SetRow, SideFound, Sides};
use super::slot_match::{SetMatch, match_sets};
use super::sweep::Sweep;
use crate::domain::canonical::Json;
use crate::shared_dir::shared_dir;

const GOLDEN: [&str; 5] = [
    "demo-fp32-vs-fp16",
    "demo-fp32-vs-int8",
    "realset-fp32-vs-fp16",
    "realset-fp32-vs-int8",
    "realset-fp32-vs-int8naive",
];

struct Image {
    name: String,
    found: Sides<SideFound>,
    set: Json,
}

fn number(json: &Json, path: &[&str]) -> u64 {
    let value = json.at(path).and_then(Json::as_i64);
    u64::try_from(value.unwrap_or_else(|| panic!("no count at {path:?}"))).expect("a count")
}

fn images(report: &Json) -> Vec<Image> {
    let mut classes: BTreeMap<String, u32> = BTreeMap::new();
    let mut side = |list: &Json| {
        let rows = list.as_array().expect("a list").iter().map(|row| {
            let class = row.get("class").and_then(Json::as_str).expect("a class").to_owned();
            let next = u32::try_from(classes.len()).expect("few");
            let corners = row.get("box").and_then(Json::as_array).expect("a box");
            DetectionRow {
                slot: u32::try_from(number(row, &["slot"])).expect("a slot"),
                class_index: *classes.entry(class).or_insert(next),
                confidence: row.get("confidence").and_then(Json::as_f64).expect("a confidence"),
                corners: [0, 1, 2, 3].map(|index| corners[index].as_f64().expect("a corner")),
            }
        });
        SideFound { detections: rows.collect(), ..SideFound::default() }
    };
    let list = report.at(&["extra", "perImage"]).and_then(Json::as_array).expect("images");
    list.iter()
        .map(|image| Image {
            name: image.get("image").and_then(Json::as_str).expect("a name").to_owned(),
            found: Sides {
                a: side(image.get("survivorsA").expect("listed")),
                b: side(image.get("survivorsB").expect("listed")),
            },
            set: image.get("set").expect("listed").clone(),
        })
        .collect()
}

fn for_each_golden(check: impl Fn(&str, &Json, &[Image])) {
    let Some(shared) = shared_dir() else { return };
    for name in GOLDEN {
        let path = shared.join(format!("golden/parity-{name}.json"));
        let bytes = std::fs::read(&path).expect("readable");
        let report = Json::parse(&bytes).expect("JSON");
        let images = images(&report);
        assert!(images.len() > 40, "{name} holds a whole set");
        check(name, &report, &images);
    }
}

#[test]
fn shared_golden_counts_by_image_and_threshold() {
    for_each_golden(|name, report, images| {
        for image in images {
            let matched = match_sets(&image.found.a.detections, &image.found.b.detections, 0.4);
            for (key, count) in [
                ("stayed", matched.stayed.len()),
                ("moved", matched.moved.len()),
                ("relabelled", matched.relabelled.len()),
                ("vanished", matched.vanished.len()),
                ("appeared", matched.appeared.len()),
            ] {
                assert_eq!(number(&image.set, &[key]), count as u64, "{name} {} {key}", image.name);
            }
        }
        let mut sweep = Sweep::new(0.4);
        let listed = report.get("perImage").and_then(Json::as_array).expect("images");
        for (image, listed) in images.iter().zip(listed) {
            let flips = sweep.add(&image.found);
            // Survivors are listed from 0.4 on, so nothing below can be told.
            for threshold in ["0.4", "0.5", "0.6"] {
                let expected = number(listed, &["flips", threshold]);
                assert_eq!(flips[threshold], expected, "{name} {} {threshold}", image.name);
            }
        }
        let slots = report.at(&["decode", "byThreshold"]).and_then(Json::as_array).expect("rows");
        let sets = report.at(&["extra", "setByThreshold"]).and_then(Json::as_array).expect("rows");
        for index in 2..5 {
            let row = Json::from_value(&sweep.threshold_rows()[index]).expect("serialisable");
            assert_eq!(row, slots[index], "{name}");
            compare_sets(name, &sweep.set_rows()[index], &sets[index]);
        }
        let row = &sweep.set_rows()[2];
        let summary = |key: &str| number(report, &["extra", "summary", key]);
        assert_eq!(row.moved_slot_flips, summary("movedSlotFlips"), "{name}");
        assert_eq!(row.real_flips, summary("realFlips"), "{name}");
    });
}

fn compare_sets(name: &str, row: &SetRow, golden: &Json) {
    for (key, count) in [
        ("stayed", row.stayed),
        ("moved", row.moved_slots),
        ("relabelled", row.relabelled),
        ("vanished", row.vanished),
        ("appeared", row.appeared),
        ("imagesChanged", row.images_changed),
        ("imagesPresenceChanged", row.images_presence_changed),
    ] {
        assert_eq!(number(golden, &[key]), count, "{name} {key}");
    }
}

/// What became of one detection of one side, and the slot of its partner.
fn fate(matched: &SetMatch, side_a: bool, slot: u32) -> Option<(&'static str, Option<u32>)> {
    let pairs = [("moved-slot", &matched.moved), ("relabelled", &matched.relabelled)];
    for (kind, pairs) in pairs {
        for pair in pairs {
            let (own, other) = if side_a { (pair.a, pair.b) } else { (pair.b, pair.a) };
            if own.slot == slot {
                return Some((kind, Some(other.slot)));
            }
        }
    }
    let (kind, alone) =
        if side_a { ("vanished", &matched.vanished) } else { ("appeared", &matched.appeared) };
    alone.iter().any(|row| row.slot == slot).then_some((kind, None))
}

/// The reference lists one item for each flipped slot; ours lists one for each changed decision.
#[test]
fn shared_golden_items() {
    for_each_golden(|name, report, images| {
        let golden = report.at(&["extra", "items"]).and_then(Json::as_array).expect("items");
        let mut sides_told = 0;
        for item in golden {
            let text = |key: &str| item.get(key).and_then(Json::as_str);
            let image = images.iter().find(|image| Some(image.name.as_str()) == text("image"));
            let image = image.expect("listed");
            let matched = match_sets(&image.found.a.detections, &image.found.b.detections, 0.4);
            let slot = u32::try_from(number(item, &["slot"])).expect("a slot");
            for (side_a, kind, partner) in
                [(true, "sideA", "counterpartOfA"), (false, "sideB", "counterpartOfB")]
            {
                let Some(kind) = text(kind) else { continue };
                let partner = item.get(partner).and_then(Json::as_i64);
                let partner = partner.map(|slot| u32::try_from(slot).expect("a slot"));
                assert_eq!(fate(&matched, side_a, slot), Some((kind, partner)), "{name} {slot}");
                sides_told += 1;
            }
        }
        let mut ours = Vec::new();
        for image in images {
            let matched = match_sets(&image.found.a.detections, &image.found.b.detections, 0.4);
            ours.extend(matched.items(&image.name));
        }
        // Every side of every item of ours is told by the reference, and nothing else.
        let sides =
            ours.iter().map(|item| usize::from(item.a.is_some()) + usize::from(item.b.is_some()));
        assert_eq!(sides.sum::<usize>(), sides_told, "{name}");
        if name == "demo-fp32-vs-int8" {
            let of = |kind| ours.iter().filter(|item| item.kind == kind).count();
            assert_eq!(of(ItemKind::MovedSlot), 3);
            assert_eq!(of(ItemKind::Relabelled), 4);
            assert_eq!(of(ItemKind::Vanished), 7);
            assert_eq!(of(ItemKind::Appeared), 7);
        }
    });
}
