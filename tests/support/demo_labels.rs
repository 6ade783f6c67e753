//! Sealed label files of made-up raters over pictures whose truth is known. Raters follow the rendered
//! truth, slip now and then, doubt a category now and then, and differ from each other. The same seed gives
//! the same files.

use std::collections::BTreeMap;

use flipside::domain::digest::{FixtureId, ManifestHash, sha256};
use flipside::domain::label::{CategoryState, Certainty, Label, NotPhotograph, Presence};
use flipside::domain::shard::{PlannedFixture, RaterName, Shard, ShardPlan};
use flipside::domain::taxonomy::Taxonomy;
use flipside::stats::random::Random;
use flipside::store::label_file::{BlindStatus, Confinement, LabelFile, LabelHeader, LabelLine};
use serde_json::Value;

/// What is truly in one picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truth {
    /// The picture.
    pub fixture: FixtureId,
    /// Is there litter?
    pub litter: bool,
    /// Coarse categories that are there.
    pub categories: Vec<String>,
    /// It shows no scene.
    pub not_photograph: bool,
}

/// How raters fail, each a share of pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slips {
    /// Says the opposite about presence.
    pub presence: f64,
    /// Is unsure about a category that is there.
    pub unsure: f64,
    /// Is not very sure of the whole answer.
    pub doubt: f64,
}

/// Few slips, as attentive people make.
pub(crate) const ATTENTIVE: Slips = Slips { presence: 0.03, unsure: 0.08, doubt: 0.25 };

/// The pictures of a `truth.json`: an object `images` by path.
pub(crate) fn read_truth(text: &str) -> Vec<Truth> {
    let tree: Value = serde_json::from_str(text).expect("truth is JSON");
    let images = tree["images"].as_object().expect("an object of images");
    images
        .values()
        .map(|image| Truth {
            fixture: image["sha256"].as_str().expect("a hash").parse().expect("64 hex digits"),
            litter: image["presence"].as_bool().expect("presence"),
            categories: image["coarse"]
                .as_array()
                .expect("coarse categories")
                .iter()
                .map(|name| name.as_str().expect("a name").to_owned())
                .collect(),
            not_photograph: image["not_a_scene"].as_bool().expect("not_a_scene"),
        })
        .collect()
}

/// One file per (shard, rater), as the product would seal it.
pub(crate) fn label_files(
    truth: &[Truth],
    taxonomy: &Taxonomy,
    plan: &ShardPlan,
    raters: &[(Shard, RaterName)],
    slips: Slips,
    sealed_at: &str,
) -> Vec<LabelFile> {
    let planned: Vec<PlannedFixture> =
        truth.iter().map(|it| PlannedFixture { id: it.fixture, cluster: String::new() }).collect();
    let by_id: BTreeMap<FixtureId, &Truth> = truth.iter().map(|it| (it.fixture, it)).collect();
    raters
        .iter()
        .map(|(shard, rater)| {
            let lines = plan
                .order(&planned, *shard, rater)
                .into_iter()
                .map(|showing| LabelLine {
                    fixture: showing.fixture,
                    pass: showing.pass,
                    label: answer(by_id[&showing.fixture], rater, showing.pass, plan.seed, slips),
                    labelled_at: sealed_at.to_owned(),
                    seconds: Some(9.0),
                    exposed: false,
                    seen_as: None,
                    amended: None,
                })
                .collect();
            LabelFile::new(
                header(truth, taxonomy, plan, *shard, rater, sealed_at),
                lines,
                Vec::new(),
            )
        })
        .collect()
}

fn header(
    truth: &[Truth],
    taxonomy: &Taxonomy,
    plan: &ShardPlan,
    shard: Shard,
    rater: &RaterName,
    sealed_at: &str,
) -> LabelHeader {
    LabelHeader {
        product: concat!("flipside ", env!("CARGO_PKG_VERSION")).to_owned(),
        manifest: plan.manifest,
        fixture_count: truth.len() as u64,
        taxonomy: taxonomy.hash(),
        groups: taxonomy.groups().iter().map(|group| group.name.clone()).collect(),
        shard,
        seed: plan.seed,
        overlap: plan.overlap,
        repeats: plan.repeats,
        rater: rater.clone(),
        opened_at: sealed_at.to_owned(),
        sealed_at: sealed_at.to_owned(),
        chain_head: None,
        blind: BlindStatus::Asserted,
        confinement: Confinement::None,
        supersedes: None,
    }
}

/// What `rater` says on the given showing: a function of picture, rater, showing and seed.
fn answer(truth: &Truth, rater: &RaterName, pass: u8, seed: u64, slips: Slips) -> Label {
    let text = format!("{}\0{rater}\0{pass}\0{seed}", truth.fixture);
    let digest = sha256(text.as_bytes());
    let mut random = Random::new(u64::from_le_bytes(digest[..8].try_into().expect("eight bytes")));
    let slipped = random.unit() < slips.presence;
    let litter = truth.litter != slipped;
    let mut categories = BTreeMap::new();
    if litter {
        for name in &truth.categories {
            let unsure = random.unit() < slips.unsure;
            let state = if unsure { CategoryState::Unsure } else { CategoryState::Present };
            categories.insert(name.clone(), state);
        }
        if categories.is_empty() {
            categories.insert("other".to_owned(), CategoryState::Unsure);
        }
    }
    let doubt = slipped || random.unit() < slips.doubt;
    Label {
        presence: if litter { Presence::Litter } else { Presence::Clean },
        categories,
        certainty: if doubt { Certainty::Medium } else { Certainty::High },
        not_photograph: truth.not_photograph.then_some(NotPhotograph::Illustration),
        note: String::new(),
    }
}

/// The plan of a workspace with two or more shards, a third of the pictures seen by two.
pub(crate) fn plan(manifest: ManifestHash, of: u32) -> ShardPlan {
    ShardPlan { manifest, of, overlap: 0.30, repeats: 0.05, seed: 0 }
}
