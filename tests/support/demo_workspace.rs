//! The demo set as somebody's own workspace, with sealed labels of two raters.

use std::fs;
use std::path::Path;

use flipside::domain::digest::{FixtureId, ManifestHash};
use flipside::domain::shard::Shard;
use flipside::domain::taxonomy::Taxonomy;
use flipside::store::atomic;

use super::demo_labels::{ATTENTIVE, label_files, plan, read_truth};

/// Where the candidate lies in it.
pub(crate) const CANDIDATE: &str = "models/demo-litter.int8.onnx";

/// Every fourth picture of the demo, so that the detectors are done soon.
pub(crate) fn manifest() -> String {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let text = fs::read_to_string(demo.join("manifest.txt")).expect("the demo set");
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.skip(2).step_by(4).map(|line| format!("{line}\n")).collect()
}

/// Lays the demo out as somebody's own workspace, with sealed labels of two raters.
pub(crate) fn lay_out(root: &Path) {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let text = |name: &str| fs::read_to_string(demo.join(name)).expect(name);
    let copy = |from: &Path, to: &str| {
        atomic::write(&root.join(to), &fs::read(from).expect("the demo set")).expect("written");
    };
    for kind in ["fp32", "int8"] {
        for ending in ["onnx", "meta.json"] {
            let name = format!("demo-litter.{kind}.{ending}");
            copy(&demo.join("artifacts").join(&name), &format!("models/{name}"));
        }
    }
    for path in manifest().lines() {
        copy(&demo.join(path), &format!("fixtures/{path}"));
    }
    let manifest = manifest();
    atomic::write(&root.join("fixtures/manifest.txt"), manifest.as_bytes()).expect("written");
    copy(&demo.join("coarse10.toml"), "coarse10.toml");
    let config = format!(
        "schema = 1\n[compare]\nreference = \"models/demo-litter.fp32.onnx\"\n\
         candidates = [\"{CANDIDATE}\"]\nsidecar = \"models/demo-litter.fp32.meta.json\"\n\
         [fixtures]\nmanifest = \"fixtures/manifest.txt\"\n\
         [labels]\ntaxonomy = \"coarse10.toml\"\nshards = 2\noverlap = 0.30\nrepeats = 0.05\nseed = 0\n"
    );
    atomic::write(&root.join("flipside.toml"), config.as_bytes()).expect("written");
    let listed: Vec<FixtureId> = manifest
        .lines()
        .map(|path| FixtureId::of(&fs::read(demo.join(path)).expect("the demo set")))
        .collect();
    let mut truth = read_truth(&text("truth.json"));
    truth.retain(|picture| listed.contains(&picture.fixture));
    let taxonomy = Taxonomy::parse(&text("coarse10.toml")).expect("valid");
    let plan = plan(ManifestHash::of(manifest.as_bytes()), 2);
    let raters: Vec<_> = ["ada", "ben"]
        .iter()
        .zip(1..)
        .map(|(name, index)| {
            (Shard::new(index, 2).expect("a shard"), name.parse().expect("a name"))
        })
        .collect();
    let sealed_at = "2026-05-01T00:00:00+00:00";
    for file in label_files(&truth, &taxonomy, &plan, &raters, ATTENTIVE, sealed_at) {
        file.create_in(&root.join("labels")).expect("new");
    }
}
