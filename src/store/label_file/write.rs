//! The bytes of a label file: canonical JSON, one line each.

use std::collections::BTreeMap;

use crate::domain::canonical::Json;
use crate::domain::digest::{hex, sha256};

use super::{LabelHeader, LabelLine, SeenAs, SkippedLine};

pub(super) fn text(value: impl ToString) -> Json {
    Json::Text(value.to_string())
}

pub(super) fn int(value: impl ToString) -> Json {
    Json::Int(value.to_string())
}

pub(super) fn object<const N: usize>(fields: [(&str, Json); N]) -> BTreeMap<String, Json> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn header_fields(header: &LabelHeader) -> BTreeMap<String, Json> {
    let shard = object([
        ("index", int(header.shard.index)),
        ("of", int(header.shard.of)),
        ("seed", int(header.seed)),
        ("overlap", Json::Float(header.overlap)),
        ("repeats", Json::Float(header.repeats)),
    ]);
    let mut fields = object([
        ("kind", text("header")),
        ("schema", int(1)),
        ("product", text(&header.product)),
        ("manifestSha256", text(header.manifest)),
        ("fixtureCount", int(header.fixture_count)),
        ("taxonomySha256", text(header.taxonomy)),
        ("groups", Json::Array(header.groups.iter().map(text).collect())),
        ("shard", Json::Object(shard)),
        ("rater", text(&header.rater)),
        ("openedAt", text(&header.opened_at)),
        ("sealedAt", text(&header.sealed_at)),
        ("chainHead", header.chain_head.map_or(Json::Null, text)),
        ("blind", text(header.blind.word())),
        ("confinement", text(header.confinement.word())),
    ]);
    if let Some(supersedes) = header.supersedes {
        fields.insert("supersedes".to_owned(), text(supersedes));
    }
    fields
}

fn label_fields(line: &LabelLine) -> BTreeMap<String, Json> {
    let mut fields = line.label.to_fields();
    fields.extend(object([
        ("kind", text("label")),
        ("fixture", text(line.fixture)),
        ("pass", int(line.pass)),
        ("labelledAt", text(&line.labelled_at)),
        (
            "seconds",
            line.seconds.filter(|seconds| seconds.is_finite()).map_or(Json::Null, Json::Float),
        ),
        ("exposed", Json::Bool(line.exposed)),
        ("seenAs", line.seen_as.as_ref().map_or(Json::Null, SeenAs::to_json)),
    ]));
    if let Some(reason) = &line.amended {
        fields.insert("amended".to_owned(), text(reason));
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
            ("kind", text("skipped")),
            ("fixture", text(line.fixture)),
            ("pass", int(line.pass)),
            ("reason", text(&line.reason)),
        ]));
    }
    let trailer = object([
        ("kind", text("trailer")),
        ("labels", int(labels.len())),
        ("skipped", int(skipped.len())),
        ("sha256", text(hex(&sha256(out.as_bytes())))),
    ]);
    out.push_str(&Json::Object(trailer).to_canonical());
    out.push('\n');
    out.into_bytes()
}
