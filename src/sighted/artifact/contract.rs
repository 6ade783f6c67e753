//! What can be checked of an artifact and its sidecar from bytes alone, before anything runs.
//!
//! Each check gives findings, never a stop: whether one keeps a run from starting is for the caller to
//! say. [`boundary`] is the part no comparison can do without.

use std::collections::BTreeMap;

use serde::Serialize;

use super::element::Precision;
use super::fingerprint::Named;
use super::graph::{Dimension, GraphFacts, TensorSignature};
use super::intake::Artifact;
use super::sidecar::{DecodeRoute, Sidecar};
use super::slots::SlotFill;
use crate::domain::escape::escape;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::sighted) enum Severity {
    /// It will not load, or its numbers would be wrong.
    Error,
    /// Somebody should look before trusting it.
    Warn,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// The word in files and on screens.
    pub(in crate::sighted) fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }
}

/// One thing found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct Finding {
    /// Stable name of the check.
    pub id: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What was expected and found, one line, escaped.
    pub text: String,
}

fn error(id: &'static str, text: String) -> Finding {
    Finding { id, severity: Severity::Error, text }
}

fn warn(id: &'static str, text: String) -> Finding {
    Finding { id, severity: Severity::Warn, text }
}

fn info(id: &'static str, text: String) -> Finding {
    Finding { id, severity: Severity::Info, text }
}

/// Everything the graph alone shows.
pub(in crate::sighted) fn of_graph(facts: &GraphFacts) -> Vec<Finding> {
    let mut found = listed(facts);
    found.extend(converter_casts(facts));
    match &facts.slots {
        SlotFill::Fixed => {}
        SlotFill::Ranked { node, k } => {
            let k = k.map_or_else(|| "k known only when run".to_owned(), |k| format!("k = {k}"));
            found.push(info(
                "slots-ranked",
                format!(
                    "slots are filled by a TopK ({node}, {k}): they can permute, \
                     so decide on set-matched changes"
                ),
            ));
        }
        SlotFill::PickedPerPart { node } => found.push(info(
            "slots-picked",
            format!(
                "each slot is picked from candidates of its own ({node}): slots keep their place, \
                 and a detection can step into a neighbour's"
            ),
        )),
    }
    if facts.value_info == 0 {
        found.push(info(
            "no-value-info",
            "no inner tensor declares its type: a repair that looks types up finds none".to_owned(),
        ));
    }
    if facts.doc_strings_with_local_paths > 0 {
        found.push(info(
            "local-paths",
            format!(
                "{} doc strings hold paths of somebody's machine; doc strings take {} bytes",
                facts.doc_strings_with_local_paths, facts.doc_string_bytes
            ),
        ));
    }
    found
}

/// What was counted and listed by name.
fn listed(facts: &GraphFacts) -> Vec<Finding> {
    let prints = &facts.fingerprints;
    let checks: [(&Named, Severity, &'static str, &str); 7] = [
        (
            &prints.float_mixes,
            Severity::Error,
            "float-mix",
            "operators that read floats of two widths",
        ),
        (
            &prints.declared_otherwise,
            Severity::Error,
            "declared-otherwise",
            "tensors declared with another type than their node gives",
        ),
        (
            &prints.duplicate_names,
            Severity::Error,
            "duplicate-names",
            "node names that occur again",
        ),
        (&prints.two_producers, Severity::Error, "two-producers", "tensors that two nodes write"),
        (
            &prints.self_loop_casts,
            Severity::Error,
            "self-loop-cast",
            "casts that read what they write",
        ),
        (
            &facts.missized_tensors,
            Severity::Error,
            "tensor-size",
            "tensors that hold other bytes than their shape says",
        ),
        (
            &prints.same_type_casts,
            Severity::Info,
            "same-type-cast",
            "casts to the type their input has already",
        ),
    ];
    checks
        .into_iter()
        .filter(|(named, ..)| named.count > 0)
        .map(|(named, severity, id, what)| Finding {
            id,
            severity,
            text: format!("{what} ({}): {}", named.count, named.list()),
        })
        .collect()
}

/// Usual in a float16 graph; in a float32 one they tell where it has been.
fn converter_casts(facts: &GraphFacts) -> Option<Finding> {
    let casts = &facts.fingerprints.converter_casts;
    if casts.count == 0 {
        return None;
    }
    let text = format!(
        "casts that carry the float16 converter's names ({}): {}",
        casts.count,
        casts.list()
    );
    Some(if facts.implied_precision == Some(Precision::Fp32) {
        warn(
            "converter-casts",
            format!(
                "{text}; the weights are float32, so it went through the converter and came back, \
                 and converting it again repeats the names"
            ),
        )
    } else {
        info("converter-casts", text)
    })
}

/// What the harness needs to run and decode the outputs at all: input, outputs, number of classes. Any
/// error among these means that the pair cannot be used.
pub(in crate::sighted) fn boundary(facts: &GraphFacts, sidecar: &Sidecar) -> Vec<Finding> {
    let mut found = input(facts, sidecar);
    found.extend(outputs(facts, sidecar.classes.len()));
    if let DecodeRoute::Other(name) = sidecar.decode_route() {
        let name =
            if name.is_empty() { "none".to_owned() } else { format!("\"{}\"", escape(&name)) };
        found.push(error(
            "architecture",
            format!(
                "architecture: expected \"rfdetr\" (set prediction), found {name}; \
                 no other decoder is built in"
            ),
        ));
    }
    found
}

fn input(facts: &GraphFacts, sidecar: &Sidecar) -> Vec<Finding> {
    // Intake lets only graphs with exactly one input through.
    let Some(input) = facts.inputs.first() else { return Vec::new() };
    let mut found = Vec::new();
    if input.dtype != "FLOAT" {
        found.push(error("input", format!("input {}: expected FLOAT", input.text())));
    }
    let wanted = [1, 3, i64::from(sidecar.height), i64::from(sidecar.width)];
    let fits = |(dim, wanted): (&Dimension, &i64)| dim.fixed().is_none_or(|size| size == *wanted);
    if input.shape.len() != 4 || !input.shape.iter().zip(&wanted).all(fits) {
        found.push(error(
            "input",
            format!(
                "input {}: the sidecar's inputShape is [1,3,{},{}]",
                input.text(),
                sidecar.height,
                sidecar.width
            ),
        ));
    } else if input.shape.iter().any(|dim| dim.fixed().is_none()) {
        found.push(info(
            "input-symbolic",
            format!(
                "input {}: dimensions are fixed only when run, as the sidecar's [1,3,{},{}]",
                input.text(),
                sidecar.height,
                sidecar.width
            ),
        ));
    }
    found
}

fn outputs(facts: &GraphFacts, classes: usize) -> Vec<Finding> {
    let mut found = Vec::new();
    let named = |name: &str| facts.outputs.iter().find(|output| output.name == name);
    let names: Vec<_> = facts.outputs.iter().map(|output| escape(&output.name)).collect();
    let names = names.join(", ");
    for (name, missing) in
        [("dets", named("dets").is_none()), ("labels", named("labels").is_none())]
    {
        if missing {
            found.push(error("outputs", format!("expected an output \"{name}\", found {names}")));
        }
    }
    let numeric: Vec<&str> = facts
        .outputs
        .iter()
        .map(|output| output.name.as_str())
        .filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    if !numeric.is_empty() {
        found.push(warn(
            "numeric-outputs",
            format!("outputs lost their names at export: {}", numeric.join(", ")),
        ));
    }
    for output in [named("dets"), named("labels")].into_iter().flatten() {
        match output.dtype.as_str() {
            "FLOAT" => {}
            "FLOAT16" => found.push(warn(
                "outputs",
                format!("output {}: expected FLOAT, read as FLOAT16", output.text()),
            )),
            _ => found.push(error("outputs", format!("output {}: expected FLOAT", output.text()))),
        }
    }
    // Without the name, the one whose last axis is four holds the boxes and the other the classes.
    let three = |output: &&TensorSignature| output.shape.len() == 3;
    let columns_of = |output: &TensorSignature| output.shape.last().and_then(Dimension::fixed);
    let boxes = named("dets");
    if let Some(boxes) =
        boxes.filter(|boxes| !three(boxes) || columns_of(boxes).is_some_and(|columns| columns != 4))
    {
        found.push(error("outputs", format!("output {}: expected [1,slots,4]", boxes.text())));
    }
    let logits = named("labels").or_else(|| {
        facts
            .outputs
            .iter()
            .filter(three)
            .find(|output| columns_of(output).is_some_and(|columns| columns != 4))
    });
    if let Some(logits) = logits {
        found.extend(arity(logits, classes));
        if let Some(boxes) = boxes.filter(|boxes| three(boxes) && three(&logits))
            && let (Some(first), Some(second)) = (boxes.shape[1].fixed(), logits.shape[1].fixed())
            && first != second
        {
            found.push(error("outputs", format!("dets has {first} slots, labels {second}")));
        }
    }
    found
}

/// C columns, or C + 1 with background last; anything else cannot be decoded.
fn arity(logits: &TensorSignature, classes: usize) -> Option<Finding> {
    if logits.shape.len() != 3 {
        return Some(error(
            "outputs",
            format!("output {}: expected [1,slots,classes]", logits.text()),
        ));
    }
    match logits.shape[2].fixed().map(usize::try_from) {
        Some(Ok(columns)) if columns == classes || columns == classes + 1 => None,
        Some(_) => Some(error(
            "arity",
            format!(
                "output {}: {} columns and {classes} classes in the sidecar; \
                 expected {classes} or {} columns",
                escape(&logits.name),
                logits.shape[2].fixed().unwrap_or(0),
                classes + 1
            ),
        )),
        None => Some(info(
            "arity-symbolic",
            format!("output {}: the number of class columns is known only when run", logits.text()),
        )),
    }
}

/// Everything an artifact and its own sidecar show together.
pub(in crate::sighted) fn of_pair(artifact: &Artifact, sidecar: &Sidecar) -> Vec<Finding> {
    let facts = artifact.facts();
    let mut found = boundary(facts, sidecar);
    found.extend(version(facts, sidecar));
    if let Some(said) = sidecar.artifact_size.filter(|said| *said != artifact.size()) {
        found.push(error(
            "artifact-size",
            format!(
                "artifactSizeBytes says {said}, the file has {}: a sidecar of other bytes",
                artifact.size()
            ),
        ));
    }
    if sidecar.iou_threshold.is_some() && sidecar.decode_route() == DecodeRoute::SetPrediction {
        found.push(info(
            "inert-iou",
            "iouThresholdRecommended has no effect: set prediction suppresses nothing".to_owned(),
        ));
    }
    if !sidecar.classes.is_sorted() {
        found.push(info(
            "classes-unsorted",
            "classes are not in code point order: the order is the exporter's own".to_owned(),
        ));
    }
    if sidecar.normalization.is_default {
        found.push(info(
            "normalization-default",
            "no normalization in the sidecar: ImageNet mean and std are used".to_owned(),
        ));
    }
    found
}

fn version(facts: &GraphFacts, sidecar: &Sidecar) -> Option<Finding> {
    let version = escape(&sidecar.version);
    let Some(named) = sidecar.version_precision() else {
        return Some(warn(
            "version-form",
            format!("version \"{version}\": expected v<number>.<number>.<number>-(fp32|fp16|int8)"),
        ));
    };
    let shares: Vec<String> = facts
        .weight_bytes_by_dtype
        .iter()
        .map(|(dtype, bytes)| format!("{dtype} {bytes} bytes"))
        .collect();
    match facts.implied_precision {
        Some(implied) if implied == named => None,
        Some(implied) => Some(error(
            "version-precision",
            format!(
                "version \"{version}\" says {}, most weight bytes are {} ({})",
                named.word(),
                implied.word(),
                shares.join(", ")
            ),
        )),
        None => Some(info(
            "version-unproved",
            format!(
                "version \"{version}\" says {}; no precision has more than half of the weight \
                 bytes, so they neither confirm nor deny it",
                named.word()
            ),
        )),
    }
}

/// How a second sidecar differs in what must be equal before two artifacts are compared.
pub(in crate::sighted) fn of_two_sidecars(first: &Sidecar, second: &Sidecar) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(class_order(&first.classes, &second.classes));
    if (first.height, first.width) != (second.height, second.width) {
        found.push(error(
            "sidecar-input",
            format!(
                "inputShape is [1,3,{},{}], the first sidecar's [1,3,{},{}]",
                second.height, second.width, first.height, first.width
            ),
        ));
    }
    if (first.normalization.mean, first.normalization.std)
        != (second.normalization.mean, second.normalization.std)
    {
        found.push(error(
            "sidecar-normalization",
            "normalization differs from the first sidecar's".to_owned(),
        ));
    }
    if first.confidence_threshold != second.confidence_threshold {
        found.push(warn(
            "sidecar-threshold",
            format!(
                "confThresholdRecommended is {}, the first sidecar's {}",
                second.confidence_threshold, first.confidence_threshold
            ),
        ));
    }
    if first.decode_route() != second.decode_route() {
        found.push(error(
            "sidecar-architecture",
            "architecture differs from the first sidecar's".to_owned(),
        ));
    }
    found
}

fn class_order(first: &[String], second: &[String]) -> Option<Finding> {
    let differing = first.iter().zip(second).enumerate().find(|(_, (was, is))| was != is);
    let place = differing.map(|(at, (was, is))| {
        format!("classes[{at}] is \"{}\", the first sidecar's \"{}\"", escape(is), escape(was))
    });
    if place.is_none() && first.len() == second.len() {
        return None;
    }
    let counted = |names: &[String]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in names {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    };
    if counted(first) == counted(second) {
        let place = place.unwrap_or_default();
        return Some(error(
            "classes-permuted",
            format!(
                "the same classes in another order: {place}; every column would be read as another class"
            ),
        ));
    }
    let place = place.unwrap_or_else(|| {
        format!("{} classes, the first sidecar has {}", second.len(), first.len())
    });
    Some(error("classes-differ", format!("other classes than the first sidecar: {place}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::onnx::Model;
    use crate::sighted::artifact::testing::{cast, detector, encoded, value, weights};
    use std::path::Path;

    fn artifact(model: &Model) -> Artifact {
        Artifact::from_bytes(Path::new("m.onnx"), encoded(model)).expect("accepted")
    }

    fn sidecar(change: impl FnOnce(&mut Sidecar)) -> Sidecar {
        let classes: Vec<String> = (0..43).map(|index| format!("\"c{index:02}\"")).collect();
        let text = format!(
            r#"{{"architecture":"rfdetr","classes":[{}],"confThresholdRecommended":0.4,
            "inputShape":[1,3,8,8],"modelName":"m","normalization":{{"mean":[0,0,0],"std":[1,1,1]}},
            "version":"v1.0.0-fp32"}}"#,
            classes.join(",")
        );
        let mut made = Sidecar::parse(text.as_bytes()).expect("valid");
        change(&mut made);
        made
    }

    fn plain() -> Sidecar {
        sidecar(|_| {})
    }

    fn changed(change: impl FnOnce(&mut crate::sighted::artifact::onnx::Graph)) -> Model {
        let mut made = detector(44);
        change(made.graph.as_mut().expect("a graph"));
        made
    }

    fn ids(findings: &[Finding]) -> Vec<&'static str> {
        findings.iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_pair_that_keeps_the_contract() {
        for columns in [43, 44] {
            let artifact = artifact(&detector(columns));
            assert_eq!(of_pair(&artifact, &plain()), []);
            assert_eq!(ids(&of_graph(artifact.facts())), ["no-value-info"]);
        }
    }

    #[test]
    fn ninety_one_columns_against_forty_three_classes() {
        for columns in [91, 42, 45] {
            let found = of_pair(&artifact(&detector(columns)), &plain());
            assert_eq!(ids(&found), ["arity"]);
            let expected = format!(
                "output labels: {columns} columns and 43 classes in the sidecar; expected 43 or 44 columns"
            );
            assert_eq!(found[0].text, expected);
        }
    }

    #[test]
    fn the_boundary() {
        let check = |model: &Model| boundary(artifact(model).facts(), &plain());
        for (model, id, message) in [
            (
                changed(|graph| graph.input = vec![value("input", 10, &[1, 3, 8, 8])]),
                "input",
                "expected FLOAT",
            ),
            (
                changed(|graph| graph.input = vec![value("input", 1, &[1, 3, 8, 9])]),
                "input",
                "input [1,3,8,9] FLOAT: the sidecar's inputShape is [1,3,8,8]",
            ),
            (
                changed(|graph| graph.input = vec![value("input", 1, &[1, 3])]),
                "input",
                "inputShape",
            ),
            (
                changed(|graph| graph.output[0] = value("dets", 1, &[1, 300, 5])),
                "outputs",
                "expected [1,slots,4]",
            ),
            (
                changed(|graph| graph.output[0] = value("dets", 1, &[1, 200, 4])),
                "outputs",
                "dets has 200 slots, labels 300",
            ),
            (
                changed(|graph| graph.output[1] = value("labels", 3, &[1, 300, 44])),
                "outputs",
                "labels [1,300,44] INT8: expected FLOAT",
            ),
            (
                changed(|graph| graph.output[1] = value("labels", 1, &[300, 44])),
                "outputs",
                "expected [1,slots,classes]",
            ),
            (
                changed(|graph| graph.output[1] = value("logits", 1, &[1, 300, 44])),
                "outputs",
                "expected an output \"labels\", found dets, logits",
            ),
        ] {
            let found = check(&model);
            assert_eq!(ids(&found), [id], "{message}: {found:?}");
            assert!(found[0].text.contains(message), "{}", found[0].text);
            assert_eq!(found[0].severity, Severity::Error);
        }
        let half = changed(|graph| graph.output[1] = value("labels", 10, &[1, 300, 44]));
        let found = check(&half);
        assert_eq!((ids(&found), found[0].severity), (vec!["outputs"], Severity::Warn));
        let symbolic = changed(|graph| {
            graph.input = vec![value("input", 1, &[-1, 3, 8, 8])];
            graph.output[1] = value("labels", 1, &[-1, 300, -1]);
        });
        let found = check(&symbolic);
        assert_eq!(ids(&found), ["input-symbolic", "arity-symbolic"]);
        assert!(found.iter().all(|finding| finding.severity == Severity::Info));
    }

    #[test]
    fn outputs_that_lost_their_names() {
        let lost = changed(|graph| {
            graph.output[0] = value("4245", 1, &[1, 300, 4]);
            graph.output[1] = value("4251", 1, &[1, 300, 91]);
        });
        let found = boundary(artifact(&lost).facts(), &plain());
        assert_eq!(ids(&found), ["outputs", "outputs", "numeric-outputs", "arity"]);
        assert!(found[2].text.ends_with("4245, 4251"));
        let third = changed(|graph| graph.output.push(value("4245", 1, &[1])));
        let found = boundary(artifact(&third).facts(), &plain());
        assert_eq!(ids(&found), ["numeric-outputs"]);
        assert_eq!(found[0].severity, Severity::Warn);
    }

    #[test]
    fn version_against_weights() {
        let half = changed(|graph| graph.initializer = vec![weights("w", 10, &[4, 4])]);
        let found = of_pair(&artifact(&half), &plain());
        assert_eq!(ids(&found), ["version-precision"]);
        assert!(found[0].text.contains("says fp32, most weight bytes are fp16 (FLOAT16 32 bytes)"));
        let fitting = sidecar(|made| made.version = "v1.0.0-fp16".to_owned());
        assert_eq!(of_pair(&artifact(&half), &fitting), []);
        let odd = sidecar(|made| made.version = "v1.0.0-int8naive".to_owned());
        assert_eq!(ids(&of_pair(&artifact(&half), &odd)), ["version-form"]);
        let none = changed(|graph| graph.initializer = vec![weights("w", 7, &[4, 4])]);
        let found = of_pair(&artifact(&none), &plain());
        assert_eq!((ids(&found)[0], found[0].severity), ("version-unproved", Severity::Info));
    }

    #[test]
    fn size_iou_order_architecture_and_defaults() {
        let artifact = artifact(&detector(44));
        for (change, id, severity) in [
            (
                (|made| made.artifact_size = Some(7)) as fn(&mut Sidecar),
                "artifact-size",
                Severity::Error,
            ),
            (|made| made.iou_threshold = Some(0.45), "inert-iou", Severity::Info),
            (|made| made.classes.swap(0, 1), "classes-unsorted", Severity::Info),
            (|made| made.normalization.is_default = true, "normalization-default", Severity::Info),
            (|made| made.architecture = None, "architecture", Severity::Error),
        ] {
            let found = of_pair(&artifact, &sidecar(change));
            assert_eq!((ids(&found), found[0].severity), (vec![id], severity));
        }
        let size = artifact.size();
        assert_eq!(of_pair(&artifact, &sidecar(|made| made.artifact_size = Some(size))), []);
    }

    #[test]
    fn two_sidecars() {
        let check = |change: fn(&mut Sidecar)| of_two_sidecars(&plain(), &sidecar(change));
        assert_eq!(check(|_| {}), []);
        let permuted = check(|made| made.classes.rotate_left(1));
        assert_eq!(ids(&permuted), ["classes-permuted"]);
        assert!(permuted[0].text.contains("classes[0] is \"c01\", the first sidecar's \"c00\""));
        let other = check(|made| made.classes[42] = "new".to_owned());
        assert_eq!(ids(&other), ["classes-differ"]);
        let fewer = check(|made| made.classes.truncate(40));
        assert!(fewer[0].text.contains("40 classes, the first sidecar has 43"));
        assert_eq!(ids(&check(|made| made.width = 16)), ["sidecar-input"]);
        assert_eq!(ids(&check(|made| made.normalization.mean[0] = 1.0)), ["sidecar-normalization"]);
        assert_eq!(ids(&check(|made| made.confidence_threshold = 0.5)), ["sidecar-threshold"]);
        assert_eq!(ids(&check(|made| made.architecture = None)), ["sidecar-architecture"]);
    }

    #[test]
    fn graph_findings_and_their_severity() {
        let graph = |change: fn(&mut crate::sighted::artifact::onnx::Graph)| {
            of_graph(artifact(&changed(change)).facts())
        };
        let found = graph(|graph| {
            graph.node.push(cast("x_input_cast0", "input", "t", 1));
            graph.node.push(cast("x_input_cast0", "t", "t", 1));
        });
        let expected = [
            "duplicate-names",
            "two-producers",
            "self-loop-cast",
            "same-type-cast",
            "converter-casts",
            "no-value-info",
        ];
        assert_eq!(ids(&found), expected);
        assert_eq!(found[4].severity, Severity::Warn, "float32 weights with a converter's names");
        let found = graph(|graph| {
            graph.initializer = vec![weights("w", 10, &[4, 4])];
            graph.node.push(cast("x_output_cast0", "dets", "t", 10));
        });
        assert_eq!(ids(&found)[0], "float-mix");
        let casts = found.iter().find(|finding| finding.id == "converter-casts").expect("found");
        assert_eq!(casts.severity, Severity::Info, "float16 weights: as expected");
        let found = graph(|graph| graph.initializer[0].dims = vec![9, 9]);
        assert_eq!(ids(&found)[0], "tensor-size");
    }
}
