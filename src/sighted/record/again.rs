//! How verification gets at weights and scores: the same code that made them.

use std::collections::BTreeMap;
use std::path::Path;

use super::limits::{Labelled, LabelledRate};
use super::verify::{Means, Score, ScoreInputs};
use crate::domain::digest::ContentHash;
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::decision::report::read::read_any;
use crate::sighted::record::trust::Trust;
use crate::sighted::score::compute::{self, score};
use crate::sighted::score::gather::{Again, Pinned, gather_again};
use crate::sighted::score::presence::Rates;
use crate::store::label_file::LabelFile;

/// Folder of registered margins, relative to the workspace.
pub(in crate::sighted) const MARGINS: &str = "records/margins";

/// Means that use the real thing.
pub(in crate::sighted) fn means<'a>(
    root: &'a Path,
    artifact: Option<&'a Path>,
    trust: Option<&'a Trust>,
    pictures: bool,
) -> Means<'a> {
    Means {
        root,
        artifact,
        weigh: &weigh,
        score: &rescore,
        audit: &audit,
        rater: &rater,
        trust,
        pictures,
    }
}

fn weigh(path: &Path) -> Result<BTreeMap<String, u64>, String> {
    let artifact = Artifact::open(path).map_err(|error| error.to_string())?;
    Ok(artifact.facts().weight_bytes_by_dtype.clone())
}

/// Whether the numbers of a report of any known kind hold together.
///
/// # Errors
/// What does not.
pub(in crate::sighted) fn audit(report: &[u8]) -> Result<(), String> {
    read_any(report).map(drop).map_err(|error| error.to_string())
}

fn rater(label_file: &[u8]) -> Result<String, String> {
    let file = LabelFile::parse(label_file).map_err(|error| error.to_string())?;
    Ok(file.header.rater.to_string())
}

fn rescore(inputs: &ScoreInputs<'_>) -> Result<Score, String> {
    let pinned = Pinned::of(inputs.stored)?;
    let evidence = gather_again(&Again {
        root: inputs.root,
        report: inputs.report,
        labels: inputs.labels,
        taxonomy: inputs.taxonomy,
        groups: inputs.groups,
        margins: Path::new(MARGINS),
        pinned: &pinned,
    });
    let evidence = evidence.map_err(|error| error.to_string())?;
    let scored = score(&evidence, inputs.operating_point);
    let labelled = labelled(&scored).ok_or("the score has no subset")?;
    let metrics = ContentHash::of(scored.to_json().to_canonical().as_bytes());
    Ok(Score { metrics, labelled })
}

/// The counts limits are held against: every blind answer as first sealed.
pub(in crate::sighted) fn labelled(score: &compute::Score) -> Option<Labelled> {
    let all = score.all()?;
    let rate = |rates: &Rates| LabelledRate {
        table: rates.table,
        clustered: rates.clustered.as_ref().and_then(|clustered| clustered.difference),
    };
    Some(Labelled { recall: rate(&all.recall), false_positives: rate(&all.false_positives) })
}
