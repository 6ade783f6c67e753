//! Joining shard reports, for the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::domain::digest::ReportHash;
use crate::domain::escape::{escape, escape_os};
use crate::sighted::decision::report::merge::{ShardReport, merge};
use crate::sighted::decision::report::read::{MAX_REPORT_BYTES, read};
use crate::sighted::decision::report::state::MAX_STATE_BYTES;
use crate::sighted::decision::report::write::to_bytes;
use crate::store::atomic;
use crate::store::file;

/// What a joined report says, in short.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeAnswer {
    /// The file that was written.
    pub report: String,
    /// Of its bytes.
    pub sha256: String,
    /// Reports joined.
    pub shards: u64,
    /// Fixtures compared.
    pub fixtures: u64,
    /// Fixtures named, not compared.
    pub left_out: u64,
    /// The recommended threshold.
    pub threshold: f64,
    /// Slots that survive on one side only.
    pub threshold_flips: u64,
    /// Of those, not explained by a detection that only changed its slot.
    pub real_flips: u64,
    /// Slots that survive in both, as different classes.
    pub class_flips: u64,
    /// Images in which anything vanished, appeared or was relabelled.
    pub images_changed: u64,
    /// `exact`, or the stated error of the quantiles.
    pub quantiles: String,
}

/// Joins the reports of all shards and writes the report of the whole to `out`, which must not exist.
///
/// # Errors
/// The first file that cannot be used, shards that do not belong together, or a failed write.
pub fn merge_reports(
    reports: &[PathBuf],
    out: &Path,
    generated_at: String,
) -> anyhow::Result<MergeAnswer> {
    let shards = reports.iter().map(|path| read_shard(path)).collect::<Result<Vec<_>, _>>()?;
    let count = shards.len() as u64;
    let report = merge(shards, generated_at)?;
    let bytes = to_bytes(&report)?;
    atomic::create_new(out, &bytes)?;
    let ours = report.flipside.as_ref().context("a joined report lists its fixtures")?;
    let decode = &report.decode;
    let recommended = decode.by_threshold.iter().zip(&ours.set_matching.by_threshold);
    let mut recommended = recommended.filter(|(row, _)| row.is_recommended);
    let (slots, sets) = recommended.next().context("a report has a recommended threshold")?;
    Ok(MergeAnswer {
        report: out.display().to_string(),
        sha256: ReportHash::of(&bytes).to_hex(),
        shards: count,
        fixtures: report.fixtures.count,
        left_out: ours.fixtures.len() as u64 - report.fixtures.count,
        threshold: decode.conf_threshold_recommended,
        threshold_flips: slots.threshold_flips,
        real_flips: sets.real_flips,
        class_flips: slots.class_argmax_flips,
        images_changed: sets.images_changed,
        quantiles: ours.quantiles.clone(),
    })
}

fn read_shard(path: &Path) -> anyhow::Result<ShardReport> {
    let name = escape_os(path.as_os_str());
    let report = read(&bytes_of(path, MAX_REPORT_BYTES)?).with_context(|| name.clone())?.report;
    let companion = report.flipside.as_ref().and_then(|ours| ours.merge_state.as_ref());
    let state = match companion {
        Some(entry) => {
            // The name comes out of a file: it may not lead out of the report's folder.
            let file = Path::new(&entry.file);
            anyhow::ensure!(
                file.file_name() == Some(file.as_os_str()),
                "{name}: merge state: expected a file name, found {:?}",
                escape(&entry.file)
            );
            let limit = entry.bytes.min(MAX_STATE_BYTES);
            let beside = path.with_file_name(file);
            bytes_of(&beside, limit).with_context(|| format!("{name}: merge state"))?
        }
        None => Vec::new(),
    };
    Ok(ShardReport { name, report, state })
}

fn bytes_of(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    file::read(path, limit).with_context(|| escape_os(path.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::report::ShardEntry;
    use crate::sighted::decision::testing::{context, made_report, pushed};

    fn write_shards(folder: &Path, count: u64, of: u32) -> Vec<PathBuf> {
        let write = |index: u32| {
            let shard = ShardEntry { index, of };
            let built = pushed(count, shard).finish(context(count, shard)).expect("a part");
            let path = folder.join(format!("shard-{index}.json"));
            atomic::write(&path, &to_bytes(&built.report).expect("finite")).expect("written");
            let state = folder.join(format!("shard-{index}.state"));
            atomic::write(&state, &built.state.expect("one")).expect("written");
            path
        };
        (1..=of).map(write).collect()
    }

    #[test]
    fn files_are_joined_once_and_nothing_is_replaced() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let shards = write_shards(folder.path(), 20, 3);
        let out = folder.path().join("whole.json");
        let answer = merge_reports(&shards, &out, "2026-01-02T03:04:05+00:00".to_owned());
        let answer = answer.expect("joined");
        assert_eq!((answer.shards, answer.fixtures, answer.left_out), (3, 17, 3));
        let written = read(&std::fs::read(&out).expect("there")).expect("holds together");
        assert_eq!(written.hash.to_hex(), answer.sha256);
        let (joined, whole) = (written.report.flipside, made_report(20).flipside);
        assert_eq!(joined.expect("ours").items, whole.expect("ours").items);
        let again = merge_reports(&shards, &out, String::new()).expect_err("it exists");
        assert!(format!("{again:#}").contains("whole.json"));
    }

    #[test]
    fn every_file_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let shards = write_shards(folder.path(), 20, 2);
        let out = folder.path().join("whole.json");
        let refused = |shards: &[PathBuf]| {
            let error = merge_reports(shards, &out, String::new()).expect_err("refused");
            assert!(!out.exists());
            format!("{error:#}")
        };
        assert!(refused(&[]).contains("found none"));
        assert!(refused(&shards[..1]).contains("missing 2"));
        assert!(refused(&[folder.path().join("gone.json")]).contains("gone.json"));
        let state = folder.path().join("shard-2.state");
        let kept = std::fs::read(&state).expect("there");
        std::fs::remove_file(&state).expect("removed");
        assert!(refused(&shards).contains("shard-2.json: merge state"));
        let mut longer = kept.clone();
        longer.push(0);
        atomic::write(&state, &longer).expect("written");
        assert!(refused(&shards).contains("expected at most"));
        let mut other = kept;
        other[20] ^= 1;
        atomic::write(&state, &other).expect("written");
        assert!(refused(&shards).contains("expected sha256"));

        let text = std::fs::read_to_string(&shards[1]).expect("there");
        for outside in ["../shard-2.state", "/etc/hostname", "a/b", "..", ""] {
            let forged = text.replace("\"shard-2.state\"", &format!("{outside:?}"));
            atomic::write(&shards[1], forged.as_bytes()).expect("written");
            assert!(refused(&shards).contains("expected a file name"), "{outside}");
        }
        atomic::write(&shards[1], b"{}").expect("written");
        assert!(refused(&shards).contains("shard-2.json"));
    }
}
