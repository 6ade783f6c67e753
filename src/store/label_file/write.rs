//! The bytes of a label file: canonical JSON, one line each.

use std::collections::BTreeMap;

use crate::domain::canonical::Json;
use crate::domain::digest::{hex, sha256};

use super::{LabelHeader, LabelLine, SeenAs, SkippedLine};

fn object<const N: usize>(fields: [(&str, Json); N]) -> BTreeMap<String, Json> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn header_fields(header: &LabelHeader) -> BTreeMap<String, Json> {
    let shard = object([
        ("index", Json::int(header.shard.index)),
        ("of", Json::int(header.shard.of)),
        ("seed", Json::int(header.seed)),
        ("overlap", Json::Float(header.overlap)),
        ("repeats", Json::Float(header.repeats)),
    ]);
    let mut fields = object([
        ("kind", Json::text("header")),
        ("schema", Json::int(1)),
        ("product", Json::text(&header.product)),
        ("manifestSha256", Json::text(header.manifest)),
        ("fixtureCount", Json::int(header.fixture_count)),
        ("taxonomySha256", Json::text(header.taxonomy)),
        ("groups", Json::Array(header.groups.iter().map(Json::text).collect())),
        ("shard", Json::Object(shard)),
        ("rater", Json::text(&header.rater)),
        ("openedAt", Json::text(&header.opened_at)),
        ("sealedAt", Json::text(&header.sealed_at)),
        ("chainHead", Json::text_or_null(header.chain_head)),
        ("blind", Json::text(header.blind.word())),
        ("confinement", Json::text(header.confinement.word())),
    ]);
    if let Some(supersedes) = header.supersedes {
        fields.insert("supersedes".to_owned(), Json::text(supersedes));
    }
    fields
}

fn label_fields(line: &LabelLine) -> BTreeMap<String, Json> {
    let mut fields = line.label.to_fields();
    fields.extend(object([
        ("kind", Json::text("label")),
        ("fixture", Json::text(line.fixture)),
        ("pass", Json::int(line.pass)),
        ("labelledAt", Json::text(&line.labelled_at)),
        (
            "seconds",
            line.seconds.filter(|seconds| seconds.is_finite()).map_or(Json::Null, Json::Float),
        ),
        ("exposed", Json::Bool(line.exposed)),
        ("seenAs", line.seen_as.as_ref().map_or(Json::Null, SeenAs::to_json)),
    ]));
    if let Some(reason) = &line.amended {
        fields.insert("amended".to_owned(), Json::text(reason));
    }
    fields
}

pub(super) fn to_bytes(
    header: &LabelHeader,
    labels: &[LabelLine],
    skipped: &[SkippedLine],
) -> Vec<u8> {
    let mut out = String::new();
    let mut push = |fields: BTreeMap<String, Json>| {
        out.push_str(&Json::Object(fields).to_canonical());
        out.push('\n');
    };
    push(header_fields(header));
    for line in labels {
        push(label_fields(line));
    }
    for line in skipped {
        push(object([
            ("kind", Json::text("skipped")),
            ("fixture", Json::text(line.fixture)),
            ("pass", Json::int(line.pass)),
            ("reason", Json::text(&line.reason)),
        ]));
    }
    let trailer = object([
        ("kind", Json::text("trailer")),
        ("labels", Json::count(labels.len())),
        ("skipped", Json::count(skipped.len())),
        ("sha256", Json::text(hex(&sha256(out.as_bytes())))),
    ]);
    out.push_str(&Json::Object(trailer).to_canonical());
    out.push('\n');
    out.into_bytes()
}
