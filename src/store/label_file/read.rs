//! Reading a label file: all of it, or the first line that is not as it should be.

use std::collections::BTreeSet;

use crate::domain::canonical::Json;
use crate::domain::digest::{LabelFileHash, hex, sha256};
use crate::domain::escape::escape;
use crate::domain::label::{Label, MAX_REASON, is_plain};
use crate::domain::shard::Shard;

use super::{
    BlindStatus, Confinement, LabelFile, LabelFileFault, LabelHeader, LabelLine, MAX_BYTES,
    MAX_LINE, SeenAs, SkippedLine,
};

pub(super) fn parse(bytes: &[u8]) -> Result<LabelFile, LabelFileFault> {
    let fault = |line: usize, reason: String| LabelFileFault { line, reason };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fault(1, format!("more than {MAX_BYTES} bytes")));
    }
    let content = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        fault(line, "expected UTF-8".to_owned())
    })?;
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let mut reader = Reader::default();
    let mut offset = 0;
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let value = read_line(line).map_err(|reason| fault(number, reason))?;
        reader.line(&value, &content[..offset]).map_err(|reason| fault(number, reason))?;
        offset += line.len();
    }
    match reader {
        Reader { header: Some(header), labels, skipped, closed: true } => {
            Ok(LabelFile { header, labels, skipped, sha256: LabelFileHash::of(bytes) })
        }
        _ => {
            Err(fault(lines.len() + 1, "ends without a trailer: the file is cut short".to_owned()))
        }
    }
}

/// One line as a value; its bytes must be the canonical ones.
fn read_line(line: &str) -> Result<Json, String> {
    if line.len() > MAX_LINE {
        return Err(format!("expected at most {MAX_LINE} bytes, found {}", line.len()));
    }
    let body = line.strip_suffix('\n').ok_or("the line does not end: the file is cut short")?;
    let value = Json::parse(body.as_bytes()).map_err(|error| error.reason)?;
    if value.to_canonical() == body {
        Ok(value)
    } else {
        Err("not canonical JSON (keys sorted, no space): written by another program, or edited"
            .to_owned())
    }
}

#[derive(Default)]
struct Reader {
    header: Option<LabelHeader>,
    labels: Vec<LabelLine>,
    skipped: Vec<SkippedLine>,
    closed: bool,
}

impl Reader {
    fn line(&mut self, value: &Json, before: &str) -> Result<(), String> {
        let kind = required_text(value, "kind")?;
        if self.closed {
            return Err("something follows the trailer".to_owned());
        }
        match (kind, &self.header) {
            ("header", None) => self.header = Some(read_header(value)?),
            ("header", Some(_)) => return Err("a second header".to_owned()),
            (_, None) => return Err(format!("expected the header, found {:?}", escape(kind))),
            ("label", Some(header)) => {
                let line = read_label(value, &header.groups)?;
                let last = self.labels.last().map(|last| (last.fixture, last.pass));
                if !self.skipped.is_empty() || last >= Some((line.fixture, line.pass)) {
                    return Err("labels are not sorted by fixture and pass, each once".to_owned());
                }
                self.labels.push(line);
            }
            ("skipped", Some(_)) => {
                let line = read_skipped(value)?;
                let last = self.skipped.last().map(|last| (last.fixture, last.pass));
                if last >= Some((line.fixture, line.pass)) {
                    return Err("skipped fixtures are not sorted, each once".to_owned());
                }
                self.skipped.push(line);
            }
            ("trailer", Some(_)) => self.trailer(value, before)?,
            (other, Some(_)) => {
                return Err(format!(
                    "kind {:?}, expected label, skipped or trailer",
                    escape(other)
                ));
            }
        }
        Ok(())
    }

    fn trailer(&mut self, value: &Json, before: &str) -> Result<(), String> {
        for (key, found) in [("labels", self.labels.len()), ("skipped", self.skipped.len())] {
            let said = required_int(value, key)?;
            if usize::try_from(said).ok() != Some(found) {
                return Err(format!("the trailer counts {said} {key}, there are {found}"));
            }
        }
        let said = required_text(value, "sha256")?;
        let found = hex(&sha256(before.as_bytes()));
        if said != found {
            return Err(format!(
                "the trailer names sha256 {}, the lines before it have {found}",
                escape(said)
            ));
        }
        let labelled: BTreeSet<_> =
            self.labels.iter().map(|line| (line.fixture, line.pass)).collect();
        if let Some(both) =
            self.skipped.iter().find(|line| labelled.contains(&(line.fixture, line.pass)))
        {
            return Err(format!("fixture {} is labelled and skipped", both.fixture.short()));
        }
        self.closed = true;
        Ok(())
    }
}

fn required_text<'a>(value: &'a Json, key: &str) -> Result<&'a str, String> {
    value.get(key).and_then(Json::as_str).ok_or_else(|| format!("{key:?}: expected a string"))
}

fn required_int(value: &Json, key: &str) -> Result<i64, String> {
    value.get(key).and_then(Json::as_i64).ok_or_else(|| format!("{key:?}: expected a whole number"))
}

fn required_unsigned<T: TryFrom<i64>>(value: &Json, key: &str) -> Result<T, String> {
    T::try_from(required_int(value, key)?).map_err(|_| format!("{key:?}: out of range"))
}

fn required_digest<T: std::str::FromStr<Err: std::fmt::Display>>(
    value: &Json,
    key: &str,
) -> Result<T, String> {
    required_text(value, key)?.parse().map_err(|error: T::Err| format!("{key:?}: {error}"))
}

fn required_time(value: &Json, key: &str) -> Result<String, String> {
    let written = required_text(value, key)?;
    match written.parse::<jiff::Timestamp>() {
        Ok(_) => Ok(written.to_owned()),
        Err(_) => Err(format!("{key:?}: expected an RFC 3339 time, found {:?}", escape(written))),
    }
}

fn optional<'a>(value: &'a Json, key: &str) -> Option<&'a Json> {
    value.get(key).filter(|found| **found != Json::Null)
}

fn share(value: &Json, key: &str) -> Result<f64, String> {
    value
        .get(key)
        .and_then(Json::as_f64)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{key:?}: expected a share from 0 to 1"))
}

fn read_header(value: &Json) -> Result<LabelHeader, String> {
    let schema = required_int(value, "schema")?;
    if schema != 1 {
        return Err(format!("schema {schema}, expected 1"));
    }
    let groups =
        value.get("groups").and_then(Json::as_array).ok_or("\"groups\": expected an array")?;
    let groups: Vec<String> = groups
        .iter()
        .map(|name| name.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or("\"groups\": expected names")?;
    if groups.iter().collect::<BTreeSet<_>>().len() != groups.len() {
        return Err("\"groups\": a name occurs twice".to_owned());
    }
    let part = value.get("shard").ok_or("\"shard\": expected an object")?;
    let (index, of) = (required_unsigned(part, "index")?, required_unsigned(part, "of")?);
    let word = |key: &str| required_text(value, key);
    Ok(LabelHeader {
        product: word("product")?.to_owned(),
        manifest: required_digest(value, "manifestSha256")?,
        fixture_count: required_unsigned(value, "fixtureCount")?,
        taxonomy: required_digest(value, "taxonomySha256")?,
        groups,
        shard: Shard::new(index, of)
            .ok_or_else(|| format!("shard {index} of {of}, expected 1 <= index <= of"))?,
        seed: required_unsigned(part, "seed")?,
        overlap: share(part, "overlap")?,
        repeats: share(part, "repeats")?,
        rater: required_digest(value, "rater")?,
        opened_at: required_time(value, "openedAt")?,
        sealed_at: required_time(value, "sealedAt")?,
        chain_head: match optional(value, "chainHead") {
            None => None,
            Some(_) => Some(required_digest(value, "chainHead")?),
        },
        blind: BlindStatus::from_word(word("blind")?)
            .ok_or("\"blind\": expected proven, enforced, asserted or broken")?,
        confinement: Confinement::from_word(word("confinement")?)
            .ok_or("\"confinement\": expected landlock or none")?,
        supersedes: match optional(value, "supersedes") {
            None => None,
            Some(_) => Some(required_digest(value, "supersedes")?),
        },
    })
}

fn read_pass(value: &Json) -> Result<u8, String> {
    required_unsigned::<u8>(value, "pass")?
        .checked_sub(1)
        .filter(|repeat| *repeat <= 1)
        .map(|repeat| repeat + 1)
        .ok_or_else(|| "\"pass\": expected 1 or 2".to_owned())
}

fn read_reason(value: &Json, key: &str) -> Result<String, String> {
    let reason = required_text(value, key)?;
    if reason.trim().is_empty() || reason.chars().count() > MAX_REASON || !is_plain(reason) {
        return Err(format!("{key:?}: expected 1 to {MAX_REASON} visible characters"));
    }
    Ok(reason.to_owned())
}

fn read_label(value: &Json, groups: &[String]) -> Result<LabelLine, String> {
    let label = Label::from_json(value)?;
    if let Some(contradiction) = label.contradiction(groups) {
        return Err(contradiction.to_string());
    }
    let seconds = match optional(value, "seconds") {
        None => None,
        Some(found) => Some(
            found
                .as_f64()
                .filter(|seconds| *seconds >= 0.0)
                .ok_or("\"seconds\": expected a number of at least 0")?,
        ),
    };
    Ok(LabelLine {
        fixture: required_digest(value, "fixture")?,
        pass: read_pass(value)?,
        label,
        labelled_at: required_time(value, "labelledAt")?,
        seconds,
        exposed: match value.get("exposed") {
            Some(Json::Bool(exposed)) => *exposed,
            _ => return Err("\"exposed\": expected true or false".to_owned()),
        },
        seen_as: optional(value, "seenAs").map(SeenAs::from_json).transpose()?,
        amended: match optional(value, "amended") {
            None => None,
            Some(_) => Some(read_reason(value, "amended")?),
        },
    })
}

fn read_skipped(value: &Json) -> Result<SkippedLine, String> {
    Ok(SkippedLine {
        fixture: required_digest(value, "fixture")?,
        pass: read_pass(value)?,
        reason: read_reason(value, "reason")?,
    })
}
