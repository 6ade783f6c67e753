//! What can still be read of a log that cannot be opened. Works on a copy: a damaged file is never touched.

use std::path::Path;

use crate::store::sqlite::{self, Schema};

use super::log::copy_aside;
use super::read::read;
use super::{ChainError, Event, EventLog};

/// What is left of a log.
#[derive(Debug)]
pub struct Salvage {
    /// The events from the first on that verify.
    pub events: Vec<Event>,
    /// Why the log cannot be opened; absent when it can.
    pub fault: Option<ChainError>,
}

/// Reads what still verifies of the log at `path`.
pub fn salvage(path: &Path, schema: &Schema) -> Salvage {
    match EventLog::open_read_only(path, schema) {
        Ok((_, events)) => Salvage { events, fault: None },
        // Nothing of a missing, locked or newer file is damage: there is nothing to save.
        Err(fault) if !fault.is_damage() => Salvage { events: Vec::new(), fault: Some(fault) },
        Err(fault) => Salvage { events: rescued(path).unwrap_or_default(), fault: Some(fault) },
    }
}

fn rescued(path: &Path) -> Result<Vec<Event>, ChainError> {
    let (_folder, copy) = copy_aside(path)?;
    let connection = sqlite::open_unchecked(&copy)?;
    Ok(read(&connection, path, &|event| event).meanings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::canonical::Json;
    use crate::store::event_chain::{EVENT_TABLE, NewEvent, POINTER_TABLE};

    const SCHEMA: Schema = Schema {
        application_id: 0x464c_5402,
        user_version: 2,
        migrations: &[EVENT_TABLE, POINTER_TABLE],
    };

    fn log(path: &Path) -> Vec<Event> {
        let (mut log, _) = EventLog::open(path, &SCHEMA).expect("new");
        for number in 0..40 {
            let event = NewEvent {
                kind: "answer".to_owned(),
                actor: "ada".to_owned(),
                sitting: 1,
                wall_utc: "2026-02-03T04:05:06+00:00".to_owned(),
                mono_ns: 1,
                payload: Json::Text(format!("say {number} {}", "x".repeat(400))),
            };
            log.append(&event, &[]).expect("kept");
        }
        log.fold_write_ahead_log();
        drop(log);
        EventLog::open_read_only(path, &SCHEMA).expect("whole").1
    }

    #[test]
    fn a_whole_log_has_no_fault_and_a_cut_one_gives_its_beginning() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("a.db");
        let events = log(&path);
        let whole = salvage(&path, &SCHEMA);
        assert!(whole.fault.is_none() && whole.events == events);
        let mut bytes = std::fs::read(&path).expect("readable");
        let at = bytes.windows(7).position(|it| it == b"say 17 ").expect("it is there");
        bytes[at + 4] = b'9';
        crate::store::atomic::write(&path, &bytes).expect("written");
        let rest = salvage(&path, &SCHEMA);
        assert!(matches!(rest.fault, Some(ChainError::Broken { seq: 18, .. })), "{:?}", rest.fault);
        assert_eq!(rest.events, events[..17]);
        assert_eq!(std::fs::read(&path).expect("readable"), bytes, "untouched");
        // A copy keeps the hashes.
        let (mut copy, _) = EventLog::open(&folder.path().join("b.db"), &SCHEMA).expect("new");
        copy.copy(&rest.events).expect("copied");
        assert_eq!(copy.head(), events[16].hash);
        assert!(copy.copy(&rest.events).is_err(), "only into an empty log");
    }

    #[test]
    fn what_is_no_database_or_not_there_gives_nothing() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("a.db");
        let missing = salvage(&path, &SCHEMA);
        assert!(missing.events.is_empty() && missing.fault.is_some_and(|it| !it.is_damage()));
        crate::store::atomic::write(&path, b"no database at all").expect("written");
        let foreign = salvage(&path, &SCHEMA);
        assert!(foreign.events.is_empty() && foreign.fault.is_some_and(|it| it.is_damage()));
    }
}
