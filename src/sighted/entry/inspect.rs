//! Graph facts and contract checks, for the command line. Nothing is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::escape::{escape, escape_os};
use crate::sighted::artifact::contract::{self, Finding, Severity};
use crate::sighted::artifact::graph::{GraphFacts, TensorSignature};
use crate::sighted::artifact::intake::{Artifact, ArtifactError};
use crate::sighted::artifact::sidecar::{self, Sidecar, SidecarError};
use crate::sighted::artifact::slots::SlotFill;

/// How one file came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inspected {
    /// Nothing but remarks.
    Clean,
    /// At least one finding of severity `error` or `warn`.
    Findings,
    /// Not read, or refused.
    Unanswered,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectFinding {
    /// Stable name of the check.
    pub id: String,
    /// `error`, `warn` or `info`.
    pub severity: String,
    /// One line, escaped.
    pub text: String,
}

/// One file.
#[derive(Debug, Clone)]
pub struct InspectedFile {
    /// Its path as given, escaped.
    pub name: String,
    /// How it came out.
    pub outcome: Inspected,
    /// What it is, as label and value, escaped.
    pub facts: Vec<(&'static str, String)>,
    /// What was found, worst first.
    pub findings: Vec<InspectFinding>,
    /// All of it, for programs.
    pub json: Json,
}

/// Inspects each file, with the sidecar found beside it.
///
/// `named` is compared with each of those, and stands in for one that is missing. Without it, sidecars of
/// one model name are compared with the first of them.
///
/// # Errors
/// The named sidecar cannot be used. A model that cannot is a row of its own.
pub fn inspect(models: &[PathBuf], named: Option<&Path>) -> anyhow::Result<Vec<InspectedFile>> {
    let named = named.map(Sidecar::open).transpose()?;
    let mut first_of_name: BTreeMap<String, Sidecar> = BTreeMap::new();
    let mut files = Vec::with_capacity(models.len());
    for path in models {
        files.push(inspect_one(path, named.as_ref(), &mut first_of_name));
    }
    Ok(files)
}

fn inspect_one(
    path: &Path,
    named: Option<&Sidecar>,
    first_of_name: &mut BTreeMap<String, Sidecar>,
) -> InspectedFile {
    let artifact = match Artifact::open(path) {
        Ok(artifact) => artifact,
        Err(error) => return unanswered(path, &error),
    };
    let mut findings = contract::of_graph(artifact.facts());
    let own = own_sidecar(path, &mut findings);
    if let Some(own) = &own {
        findings.extend(contract::of_pair(&artifact, own));
        if let Some(other) = named.or_else(|| first_of_name.get(&own.model_name)) {
            findings.extend(contract::of_two_sidecars(other, own));
        }
        first_of_name.entry(own.model_name.clone()).or_insert_with(|| own.clone());
    } else if let Some(named) = named {
        findings.extend(contract::boundary(artifact.facts(), named));
    }
    findings.sort_by_key(|finding| finding.severity);
    answered(path, &artifact, own.as_ref(), &findings)
}

/// The sidecar beside a model. One that is missing is a remark, one with faults an error for each.
fn own_sidecar(model: &Path, findings: &mut Vec<Finding>) -> Option<Sidecar> {
    let path = sidecar::path_beside(model);
    let name = escape_os(path.file_name().unwrap_or(path.as_os_str()));
    let mut add = |severity, text| findings.push(Finding { id: "sidecar", severity, text });
    if !path.exists() {
        add(Severity::Info, format!("no {name} beside it: only the graph is checked"));
        return None;
    }
    match Sidecar::open(&path) {
        Ok(own) => return Some(own),
        Err(SidecarError::Invalid { faults, .. }) => {
            for fault in faults {
                add(Severity::Error, format!("{name}: {fault}"));
            }
        }
        Err(error) => add(Severity::Error, error.to_string()),
    }
    None
}

fn unanswered(path: &Path, error: &ArtifactError) -> InspectedFile {
    let text = |value: &str| Json::Text(value.to_owned());
    let (status, reason, facts, known) = match error {
        ArtifactError::Unreadable { source, .. } => {
            ("unreadable", source.to_string(), Vec::new(), Vec::new())
        }
        ArtifactError::Refused { reason, hash, size, .. } => (
            "refused",
            reason.to_string(),
            vec![("sha256", hash.to_hex()), ("size", format!("{size} bytes"))],
            vec![("sha256", Json::Text(hash.to_hex())), ("bytes", Json::Int(size.to_string()))],
        ),
    };
    let finding = Finding { id: status, severity: Severity::Error, text: reason.clone() };
    let mut fields = vec![("path", text(&path.to_string_lossy())), ("status", text(status))];
    fields.extend([("reason", text(&reason)), ("findings", Json::Array(Vec::new()))]);
    fields.extend(known);
    InspectedFile {
        name: escape_os(path.as_os_str()),
        outcome: Inspected::Unanswered,
        facts,
        findings: vec![plain(&finding)],
        json: object(fields),
    }
}

fn answered(
    path: &Path,
    artifact: &Artifact,
    sidecar: Option<&Sidecar>,
    findings: &[Finding],
) -> InspectedFile {
    let text = |value: &str| Json::Text(value.to_owned());
    // Trees of finite numbers and text always convert.
    let tree = |value: Result<Json, _>| value.unwrap_or(Json::Null);
    let mut fields = vec![
        ("path", text(&path.to_string_lossy())),
        ("status", text("ok")),
        ("sha256", text(&artifact.hash().to_hex())),
        ("bytes", Json::Int(artifact.size().to_string())),
        ("graph", tree(Json::from_value(artifact.facts()))),
        ("findings", tree(Json::from_value(findings))),
    ];
    let mut facts =
        vec![("sha256", artifact.hash().to_hex()), ("size", format!("{} bytes", artifact.size()))];
    facts.extend(graph_rows(artifact.facts()));
    if let Some(sidecar) = sidecar {
        fields.push(("sidecar", sidecar.tree.clone()));
        facts.push(("sidecar", sidecar_text(sidecar)));
    }
    let serious = findings.iter().any(|finding| finding.severity < Severity::Info);
    InspectedFile {
        name: escape_os(path.as_os_str()),
        outcome: if serious { Inspected::Findings } else { Inspected::Clean },
        facts,
        findings: findings.iter().map(plain).collect(),
        json: object(fields),
    }
}

fn object(fields: Vec<(&str, Json)>) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn plain(finding: &Finding) -> InspectFinding {
    InspectFinding {
        id: finding.id.to_owned(),
        severity: finding.severity.word().to_owned(),
        text: finding.text.clone(),
    }
}

fn graph_rows(facts: &GraphFacts) -> Vec<(&'static str, String)> {
    let opsets: Vec<String> =
        facts.opsets.iter().map(|set| format!("{} {}", escape(&set.domain), set.version)).collect();
    let mut rows = vec![
        ("format", format!("IR {}, operator sets {}", facts.ir_version, opsets.join(", "))),
        ("producer", escape(&facts.producer).into_owned()),
        ("nodes", node_text(facts)),
        ("operators", operator_text(facts)),
    ];
    rows.extend(facts.inputs.iter().map(|input| ("input", input.text())));
    rows.extend(facts.outputs.iter().map(TensorSignature::text).map(|text| ("output", text)));
    rows.push(("weights", weight_text(facts)));
    rows.push((
        "slots",
        match &facts.slots {
            SlotFill::Fixed => "no selection recognised on the way to the outputs".to_owned(),
            SlotFill::Ranked { node, .. } => format!("ranked by {node}"),
            SlotFill::PickedPerPart { node } => format!("picked part by part by {node}"),
        },
    ));
    rows.push(("inner types", format!("{} declared", facts.value_info)));
    rows.push(("doc strings", format!("{} bytes", facts.doc_string_bytes)));
    rows
}

fn node_text(facts: &GraphFacts) -> String {
    let mut text = facts.nodes.to_string();
    if facts.nested_nodes > 0 {
        text.push_str(&format!(" and {} in subgraphs and functions", facts.nested_nodes));
    }
    format!("{text}; {} initializers", facts.initializers)
}

/// The most frequent operators first.
fn operator_text(facts: &GraphFacts) -> String {
    const SHOWN: usize = 8;
    let mut counted: Vec<(&String, &usize)> = facts.operators.iter().collect();
    counted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut shown: Vec<String> = counted
        .iter()
        .take(SHOWN)
        .map(|(name, count)| format!("{count} {}", escape(name)))
        .collect();
    if counted.len() > SHOWN {
        shown.push(format!("{} other kinds", counted.len() - SHOWN));
    }
    shown.join(", ")
}

fn weight_text(facts: &GraphFacts) -> String {
    let list = |bytes: &BTreeMap<String, u64>| {
        let parts: Vec<String> =
            bytes.iter().map(|(dtype, bytes)| format!("{dtype} {bytes} bytes")).collect();
        parts.join(", ")
    };
    let weights = list(&facts.weight_bytes_by_dtype);
    let implied = facts.implied_precision.map_or("no majority", |precision| precision.word());
    let weights = if weights.is_empty() { "none".to_owned() } else { weights };
    let constants = list(&facts.constant_bytes_by_dtype);
    if constants.is_empty() {
        format!("{implied}: {weights}")
    } else {
        format!("{implied}: {weights}; in constants {constants}")
    }
}

fn sidecar_text(sidecar: &Sidecar) -> String {
    format!(
        "{} {}, {} classes, input {}×{}, threshold {}",
        escape(&sidecar.model_name),
        escape(&sidecar.version),
        sidecar.classes.len(),
        sidecar.width,
        sidecar.height,
        sidecar.confidence_threshold
    )
}

/// Whether two or more artifacts and a sidecar can be compared.
#[derive(Debug, Clone, Default)]
pub struct ComparisonCheck {
    /// Why not, one line each; empty when they can.
    pub problems: Vec<String>,
    /// What somebody should know.
    pub remarks: Vec<String>,
    /// The sidecar's classes, in logit order; empty when it could not be read.
    pub classes: Vec<String>,
}

/// Opens everything a comparison names and checks that it fits together.
pub fn check_comparison(models: &[PathBuf], sidecar: &Path) -> ComparisonCheck {
    let mut check = ComparisonCheck::default();
    let sidecar = match Sidecar::open(sidecar) {
        Ok(read) => {
            check.classes.clone_from(&read.classes);
            Some(read)
        }
        Err(error) => {
            check.problems.push(error.to_string());
            None
        }
    };
    for path in models {
        let artifact = match Artifact::open(path) {
            Ok(artifact) => artifact,
            Err(error) => {
                check.problems.push(error.to_string());
                continue;
            }
        };
        let name = escape_os(path.as_os_str());
        // What only a runtime can settle is a remark; what the decoder cannot read is a problem.
        for finding in contract::of_graph(artifact.facts()) {
            if finding.severity < Severity::Info {
                check.remarks.push(format!("{name}: {}", finding.text));
            }
        }
        for finding in sidecar.iter().flat_map(|read| contract::boundary(artifact.facts(), read)) {
            let line = format!("{name}: {}", finding.text);
            match finding.severity {
                Severity::Error => check.problems.push(line),
                Severity::Warn => check.remarks.push(line),
                Severity::Info => {}
            }
        }
    }
    check
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::testing::detector_bytes;
    use crate::store::atomic;
    use std::slice::from_ref;

    /// A folder with models and sidecars written into it.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("temporary folder"))
        }

        fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.0.path().join(name);
            atomic::write(&path, bytes).expect("written");
            path
        }

        fn model(&self, name: &str, columns: i64) -> PathBuf {
            self.write(name, &detector_bytes(columns))
        }
    }

    fn sidecar_text(model_name: &str, classes: &[&str]) -> String {
        format!(
            r#"{{"architecture":"rfdetr","classes":{classes:?},"confThresholdRecommended":0.4,
            "inputShape":[1,3,8,8],"modelName":"{model_name}","version":"v1.0.0-fp32"}}"#
        )
    }

    fn ids(file: &InspectedFile) -> Vec<&str> {
        file.findings
            .iter()
            .filter(|finding| finding.severity != "info")
            .map(|finding| finding.id.as_str())
            .collect()
    }

    #[test]
    fn a_bad_file_is_a_row_and_the_others_go_on() {
        let folder = Folder::new();
        let text = sidecar_text("m", &["a", "b", "c"]);
        let good = folder.model("a.onnx", 4);
        folder.write("a.meta.json", text.as_bytes());
        let wide = folder.model("b.onnx", 91);
        folder.write("b.meta.json", text.as_bytes());
        let bad = folder.write("c.onnx", b"no model");
        let missing = folder.0.path().join("d.onnx");
        let files = inspect(&[missing, bad, wide, good], None).expect("no sidecar was named");
        let outcomes: Vec<Inspected> = files.iter().map(|file| file.outcome).collect();
        let expected =
            [Inspected::Unanswered, Inspected::Unanswered, Inspected::Findings, Inspected::Clean];
        assert_eq!(outcomes, expected);
        assert_eq!(files[0].findings[0].id, "unreadable");
        assert_eq!(files[1].findings[0].id, "refused");
        assert_eq!(ids(&files[2]), ["arity"]);
        let status: Vec<_> = files.iter().map(|file| file.json.get("status").cloned()).collect();
        assert_eq!(status[1], Some(Json::Text("refused".to_owned())));
        assert_eq!(files[1].json.get("sha256").and_then(Json::as_str).map(str::len), Some(64));
        let classes = files[3].json.at(&["sidecar", "classes"]).and_then(Json::as_array);
        assert_eq!(classes.map(<[Json]>::len), Some(3));
        assert_eq!(
            files[3].json.at(&["graph", "implied_precision"]).and_then(Json::as_str),
            Some("fp32")
        );
    }

    #[test]
    fn sidecars_of_one_model_are_compared() {
        let folder = Folder::new();
        let models = ["a.onnx", "b.onnx", "c.onnx"].map(|name| folder.model(name, 4));
        folder.write("a.meta.json", sidecar_text("m", &["a", "b", "c"]).as_bytes());
        folder.write("b.meta.json", sidecar_text("m", &["b", "a", "c"]).as_bytes());
        folder.write("c.meta.json", sidecar_text("other", &["x", "y", "z"]).as_bytes());
        let files = inspect(&models, None).expect("no sidecar was named");
        assert_eq!(ids(&files[0]), [""; 0]);
        assert_eq!(ids(&files[1]), ["classes-permuted"]);
        assert_eq!(ids(&files[2]), [""; 0], "another model");
        let named = folder.0.path().join("a.meta.json");
        let files = inspect(&models, Some(&named)).expect("a good sidecar");
        assert_eq!(ids(&files[0]), [""; 0]);
        assert_eq!(ids(&files[2]), ["classes-differ"]);
    }

    #[test]
    fn a_named_sidecar_stands_in_for_a_missing_one() {
        let folder = Folder::new();
        let model = folder.model("a.onnx", 91);
        let named = folder.write("named.json", sidecar_text("m", &["a"]).as_bytes());
        assert_eq!(ids(&inspect(from_ref(&model), None).expect("none named")[0]), [""; 0]);
        assert_eq!(ids(&inspect(from_ref(&model), Some(&named)).expect("good")[0]), ["arity"]);
        let bad = folder.write("bad.json", b"{}");
        let error = inspect(&[model], Some(&bad)).expect_err("faults").to_string();
        assert!(error.contains("bad.json: version"), "{error}");
    }

    #[test]
    fn a_sidecar_with_faults_is_named_fault_by_fault() {
        let folder = Folder::new();
        let model = folder.model("a.onnx", 4);
        folder.write("a.meta.json", b"{\"version\":\"v1\",\"modelName\":\"m\"}");
        let files = inspect(&[model], None).expect("none named");
        assert_eq!(ids(&files[0]), ["sidecar"; 3]);
        assert_eq!(files[0].outcome, Inspected::Findings);
    }

    #[test]
    fn a_comparison_needs_models_and_sidecar_that_fit() {
        let folder = Folder::new();
        let good = folder.model("a.onnx", 4);
        let wide = folder.model("b.onnx", 91);
        let sidecar = folder.write("a.meta.json", sidecar_text("m", &["a", "b", "c"]).as_bytes());
        let check = check_comparison(from_ref(&good), &sidecar);
        assert_eq!((check.problems, check.classes.len()), (Vec::<String>::new(), 3));
        let none = folder.0.path().join("none");
        let check = check_comparison(&[wide, none.clone(), good], &sidecar);
        assert_eq!(check.problems.len(), 2);
        assert!(check.problems[0].contains("91 columns and 3 classes"), "{:?}", check.problems);
        let check = check_comparison(&[], &none);
        assert_eq!((check.problems.len(), check.classes.len()), (1, 0));
    }
}
