//! Which parity report a command is about when nobody names one: the same for every command, so that what
//! is looked at, scored, signed and written down is one comparison.

use std::path::{Path, PathBuf};

use crate::domain::escape::escape_os;
use crate::sighted::record::verify::artifact_hash;
use crate::sighted::score::gather::{ReportGlance, reports_in};
use crate::store::workspace::Workspace;

/// The newest report with `artifact` as its candidate, or, when none has, as its reference.
///
/// # Errors
/// The artifact or the folder cannot be read, or there is no such report.
pub(super) fn report_about(workspace: &Workspace, artifact: &Path) -> anyhow::Result<PathBuf> {
    let shown = escape_os(artifact.as_os_str());
    let hash = artifact_hash(artifact)
        .map_err(|reason| anyhow::anyhow!("cannot read {shown}: {reason}"))?
        .to_hex();
    let reports = reports_in(&workspace.reports_dir())?;
    let newest = |side: fn(&ReportGlance) -> &String| {
        reports.iter().rev().find(|report| *side(report) == hash)
    };
    let found = newest(|it| &it.artifacts.b).or_else(|| newest(|it| &it.artifacts.a));
    found
        .map(|report| report.path.clone())
        .ok_or_else(|| none(workspace, &format!(" about {shown}")))
}

/// The newest report about the first candidate of the workspace that has one. When the newest of all is
/// about an artifact that the workspace does not list, it was asked for by name, and is meant.
///
/// # Errors
/// The folder cannot be read, or there is no report.
pub(super) fn report_of(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let reports = reports_in(&workspace.reports_dir())?;
    let newest = reports.last().ok_or_else(|| none(workspace, ""))?;
    let candidates = workspace.config.compare.candidates.iter();
    // A candidate that is not there is about nothing.
    let listed: Vec<String> = candidates
        .filter_map(|path| artifact_hash(&workspace.resolve(path)).ok())
        .map(|hash| hash.to_hex())
        .collect();
    let about = |hash: &String| reports.iter().rev().find(|report| report.artifacts.b == *hash);
    let meant = match listed.contains(&newest.artifacts.b) {
        true => listed.iter().find_map(about).unwrap_or(newest),
        false => newest,
    };
    Ok(meant.path.clone())
}

fn none(workspace: &Workspace, about: &str) -> anyhow::Error {
    let folder = workspace.reports_dir();
    anyhow::anyhow!(
        "no parity report{about} in {}; `flipside parity` makes one",
        escape_os(folder.as_os_str())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::ArtifactHash;
    use crate::sighted::decision::report::write::to_bytes;
    use crate::sighted::decision::testing::made_report;
    use crate::store::atomic;

    #[test]
    fn every_command_is_about_the_first_candidate_unless_another_artifact_came_later() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path();
        let put = |path: &str, bytes: &[u8]| {
            atomic::write(&root.join(path), bytes).expect("written");
            ArtifactHash::of(bytes).to_hex()
        };
        let (int8, fp16) = (put("int8.onnx", b"int8"), put("fp16.onnx", b"fp16"));
        let (fp32, other) = (put("fp32.onnx", b"fp32"), put("other.onnx", b"other"));
        put("flipside.toml", b"schema = 1\n[compare]\nreference = \"fp32.onnx\"\ncandidates = [\"int8.onnx\", \"fp16.onnx\", \"gone.onnx\"]\nsidecar = \"c\"\n[fixtures]\nmanifest = \"m.txt\"\n");
        let workspace = Workspace::open(root).expect("valid");
        let error = report_of(&workspace).expect_err("there is none").to_string();
        assert!(error.contains("no parity report in"), "{error}");
        let measure = |name: &str, candidate: &str, at: &str| {
            let mut report = made_report(4);
            report.artifacts.a.sha256.clone_from(&fp32);
            candidate.clone_into(&mut report.artifacts.b.sha256);
            report.generated_at = format!("2026-01-{at}T00:00:00+00:00");
            put(&format!("sessions/reports/{name}.json"), &to_bytes(&report).expect("finite"));
        };
        let chosen = || {
            let path = report_of(&workspace).expect("there is one");
            path.file_stem().expect("a name").to_string_lossy().into_owned()
        };
        measure("fp16", &fp16, "01");
        assert_eq!(chosen(), "fp16");
        measure("int8", &int8, "02");
        measure("later-fp16", &fp16, "03");
        assert_eq!(chosen(), "int8");
        measure("a-later-int8", &int8, "04");
        assert_eq!(chosen(), "a-later-int8");
        measure("other", &other, "05");
        assert_eq!(chosen(), "other");

        let about = |artifact: &str| report_about(&workspace, &root.join(artifact));
        assert!(about("fp16.onnx").expect("there is one").ends_with("later-fp16.json"));
        assert!(about("fp32.onnx").expect("as reference").ends_with("other.json"));
        put("new.onnx", b"new");
        let error = about("new.onnx").expect_err("none").to_string();
        assert!(error.contains("no parity report about") && error.contains("new.onnx"), "{error}");
        assert!(about("gone.onnx").expect_err("none").to_string().contains("cannot read"));
    }
}
