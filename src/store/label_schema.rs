//! The tables of one rater's database, and the events in it as values.
//!
//! A rater's database holds that rater's events only. Folding them gives what counts now, which is the
//! labelling zone's affair. No queries here.

use std::collections::BTreeMap;

use crate::domain::canonical::Json;
use crate::domain::digest::{FixtureId, LabelFileHash, ManifestHash, TaxonomyHash};
use crate::domain::label::Label;
use crate::domain::shard::{Shard, Showing};
use crate::store::event_chain::{EVENT_TABLE, Event, POINTER_TABLE};
use crate::store::label_file::{Confinement, SeenAs};
use crate::store::sqlite::Schema;

/// A rater's database.
pub const SCHEMA: Schema = Schema {
    application_id: 0x464c_4c42,
    user_version: 2,
    migrations: &[EVENT_TABLE, POINTER_TABLE],
};

/// The terms a shard was opened on, all fixed before its first answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// Which part of the manifest.
    pub shard: Shard,
    /// Of which manifest.
    pub manifest: ManifestHash,
    /// Different fixtures in the whole manifest.
    pub fixture_count: u64,
    /// Asked by which taxonomy.
    pub taxonomy: TaxonomyHash,
    /// Its categories, in the order shown.
    pub groups: Vec<String>,
    /// Seed of the plan.
    pub seed: u64,
    /// Share of fixtures in two shards.
    pub overlap: f64,
    /// Share of fixtures shown twice.
    pub repeats: f64,
    /// What is shown, in order, hidden repeats included.
    pub order: Vec<Showing>,
}

/// An answer for one showing.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// For which.
    pub showing: Showing,
    /// What was said.
    pub label: Label,
    /// How long it took.
    pub seconds: f64,
    /// How the picture was seen, when known.
    pub seen_as: Option<SeenAs>,
    /// Why it was given after the shard was sealed.
    pub amended: Option<String>,
}

/// What an event of a rater's log means. `opening` is the sequence number of the shard's opening event.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelEvent {
    /// A shard was opened.
    Open(Box<Opening>),
    /// A stretch of work on a shard began.
    Sitting {
        /// Which shard.
        opening: u64,
        /// What kept the process from other files.
        confinement: Confinement,
        /// `flipside <version>`
        product: String,
        /// The network file system the log lies on, when that was allowed.
        network_disk: Option<String>,
    },
    /// An answer.
    Answer {
        /// Which shard.
        opening: u64,
        /// The answer.
        answer: Box<Answer>,
    },
    /// A showing was left out.
    Skip {
        /// Which shard.
        opening: u64,
        /// Which showing.
        showing: Showing,
        /// Why.
        reason: String,
    },
    /// An answer or skip was taken back.
    Undo {
        /// Which shard.
        opening: u64,
        /// The event taken back.
        target: u64,
    },
    /// What was taken back counts again.
    Redo {
        /// Which shard.
        opening: u64,
        /// The event that counts again.
        target: u64,
    },
    /// A label file was written.
    Seal {
        /// Which shard.
        opening: u64,
        /// The file.
        file: LabelFileHash,
    },
    /// The log was made again from what was left of a damaged one and from sealed files.
    Rebuilt {
        /// Events of the damaged log that verified; they come before this one, as they were.
        kept: u64,
        /// What was wrong with it.
        damage: String,
    },
    /// Something this version has no use for.
    Other,
}

/// An event of a rater's log with its meaning, which takes a small part of the room its payload does.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelRow {
    /// Its place in the log.
    pub seq: u64,
    /// Who did it.
    pub actor: String,
    /// In which stretch of work.
    pub sitting: u64,
    /// When. UTC, RFC 3339.
    pub wall_utc: String,
    /// What it means; or why that cannot be told, see [`LabelEvent::from_event`].
    pub meaning: Result<LabelEvent, String>,
}

impl LabelRow {
    /// Reads an event of the log.
    pub fn of(event: Event) -> Self {
        let meaning = LabelEvent::from_event(&event);
        let Event { seq, actor, sitting, wall_utc, .. } = event;
        Self { seq, actor, sitting, wall_utc, meaning }
    }
}

fn showing_fields(showing: Showing) -> [(String, Json); 2] {
    [
        ("fixture".to_owned(), Json::text(showing.fixture)),
        ("pass".to_owned(), Json::int(showing.pass)),
    ]
}

impl Opening {
    fn to_json(&self) -> Json {
        let order = self
            .order
            .iter()
            .map(|showing| Json::Array(vec![Json::text(showing.fixture), Json::int(showing.pass)]))
            .collect();
        let fields = [
            ("shard", Json::text(self.shard)),
            ("manifest", Json::text(self.manifest)),
            ("fixture_count", Json::int(self.fixture_count)),
            ("taxonomy", Json::text(self.taxonomy)),
            ("groups", Json::Array(self.groups.iter().map(Json::text).collect())),
            ("seed", Json::int(self.seed)),
            ("overlap", Json::Float(self.overlap)),
            ("repeats", Json::Float(self.repeats)),
            ("order", Json::Array(order)),
        ];
        Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn from_json(value: &Json) -> Option<Self> {
        let order = value
            .get("order")?
            .as_array()?
            .iter()
            .map(|pair| match pair.as_array()? {
                [fixture, pass] => Some(Showing {
                    fixture: fixture.as_str()?.parse().ok()?,
                    pass: u8::try_from(pass.as_i64()?).ok()?,
                }),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let groups = value
            .get("groups")?
            .as_array()?
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect::<Option<_>>()?;
        let unsigned = |key: &str| value.get(key)?.as_i64().map(i64::cast_unsigned);
        Some(Self {
            shard: value.get("shard")?.as_str()?.parse().ok()?,
            manifest: value.get("manifest")?.as_str()?.parse().ok()?,
            fixture_count: unsigned("fixture_count")?,
            taxonomy: value.get("taxonomy")?.as_str()?.parse().ok()?,
            groups,
            seed: match value.get("seed")? {
                Json::Int(digits) => digits.parse().ok()?,
                _ => return None,
            },
            overlap: value.get("overlap")?.as_f64()?,
            repeats: value.get("repeats")?.as_f64()?,
            order,
        })
    }
}

impl LabelEvent {
    /// The event's kind and payload in the log.
    pub fn to_parts(&self) -> (&'static str, Json) {
        let (kind, opening, mut fields) = match self {
            Self::Open(opening) => return ("open", opening.to_json()),
            Self::Sitting { opening, confinement, product, network_disk } => {
                let mut fields = BTreeMap::from([
                    ("confinement".to_owned(), Json::text(confinement.word())),
                    ("product".to_owned(), Json::text(product)),
                ]);
                if let Some(disk) = network_disk {
                    fields.insert("network_disk".to_owned(), Json::text(disk));
                }
                ("sitting", opening, fields)
            }
            Self::Answer { opening, answer } => {
                let mut fields = answer.label.to_fields();
                fields.extend(showing_fields(answer.showing));
                fields.insert("seconds".to_owned(), Json::Float(answer.seconds));
                let seen_as = answer.seen_as.as_ref().map_or(Json::Null, SeenAs::to_json);
                fields.insert("seenAs".to_owned(), seen_as);
                if let Some(reason) = &answer.amended {
                    fields.insert("amended".to_owned(), Json::text(reason));
                }
                ("answer", opening, fields)
            }
            Self::Skip { opening, showing, reason } => {
                let mut fields = BTreeMap::from(showing_fields(*showing));
                fields.insert("reason".to_owned(), Json::text(reason));
                ("skip", opening, fields)
            }
            Self::Undo { opening, target } => {
                ("undo", opening, BTreeMap::from([("target".to_owned(), Json::int(*target))]))
            }
            Self::Redo { opening, target } => {
                ("redo", opening, BTreeMap::from([("target".to_owned(), Json::int(*target))]))
            }
            Self::Seal { opening, file } => {
                ("seal", opening, BTreeMap::from([("file".to_owned(), Json::text(file))]))
            }
            Self::Rebuilt { kept, damage } => {
                let fields = [
                    ("kept".to_owned(), Json::int(*kept)),
                    ("damage".to_owned(), Json::text(damage)),
                ];
                return ("rebuilt", Json::Object(fields.into()));
            }
            Self::Other => return ("other", Json::Null),
        };
        fields.insert("opening".to_owned(), Json::int(*opening));
        (kind, Json::Object(fields))
    }

    /// Reads an event of the log.
    ///
    /// # Errors
    /// An event of a known kind whose payload is not as this program writes it.
    pub fn from_event(event: &Event) -> Result<Self, String> {
        let payload = &event.payload;
        let read = || -> Option<Self> {
            let number = |key: &str| payload.get(key)?.as_i64().map(i64::cast_unsigned);
            let showing = || {
                Some(Showing {
                    fixture: payload.get("fixture")?.as_str()?.parse::<FixtureId>().ok()?,
                    pass: u8::try_from(number("pass")?).ok()?,
                })
            };
            let word = |key: &str| payload.get(key).and_then(Json::as_str);
            Some(match event.kind.as_str() {
                "open" => Self::Open(Box::new(Opening::from_json(payload)?)),
                "rebuilt" => {
                    Self::Rebuilt { kept: number("kept")?, damage: word("damage")?.to_owned() }
                }
                "sitting" => Self::Sitting {
                    opening: number("opening")?,
                    confinement: Confinement::from_word(word("confinement")?)?,
                    product: word("product")?.to_owned(),
                    network_disk: word("network_disk").map(str::to_owned),
                },
                "answer" => Self::Answer {
                    opening: number("opening")?,
                    answer: Box::new(Answer {
                        showing: showing()?,
                        label: Label::from_json(payload).ok()?,
                        seconds: payload.get("seconds")?.as_f64()?,
                        seen_as: match payload.get("seenAs")? {
                            Json::Null => None,
                            seen => Some(SeenAs::from_json(seen).ok()?),
                        },
                        amended: word("amended").map(str::to_owned),
                    }),
                },
                "skip" => Self::Skip {
                    opening: number("opening")?,
                    showing: showing()?,
                    reason: word("reason")?.to_owned(),
                },
                "undo" => Self::Undo { opening: number("opening")?, target: number("target")? },
                "redo" => Self::Redo { opening: number("opening")?, target: number("target")? },
                "seal" => {
                    Self::Seal { opening: number("opening")?, file: word("file")?.parse().ok()? }
                }
                _ => Self::Other,
            })
        };
        read().ok_or_else(|| {
            format!("event {} ({}) is not as this program writes it", event.seq, event.kind)
        })
    }
}

/// Name of the pointer to the event that counts for a showing.
pub fn subject(opening: u64, showing: Showing) -> String {
    format!("{opening}:{}:{}", showing.fixture, showing.pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::ChainHead;
    use crate::domain::label::{CategoryState, Certainty, Presence};

    fn showing(pass: u8) -> Showing {
        Showing { fixture: FixtureId::of(b"a"), pass }
    }

    fn events() -> Vec<LabelEvent> {
        let answer = |amended: Option<&str>, seen: bool| LabelEvent::Answer {
            opening: 1,
            answer: Box::new(Answer {
                showing: showing(1),
                label: Label {
                    presence: Presence::Litter,
                    categories: [("cans".to_owned(), CategoryState::Present)].into(),
                    certainty: Certainty::Low,
                    not_photograph: None,
                    note: "n".to_owned(),
                },
                seconds: 1.5,
                seen_as: seen.then(|| SeenAs {
                    protocol: "blocks".to_owned(),
                    cells: [80, 24],
                    pixels: [80, 48],
                    zoom: 1.0,
                }),
                amended: amended.map(str::to_owned),
            }),
        };
        vec![
            LabelEvent::Open(Box::new(Opening {
                shard: Shard { index: 1, of: 4 },
                manifest: ManifestHash::of(b"m"),
                fixture_count: 3,
                taxonomy: TaxonomyHash::of(b"t"),
                groups: vec!["cans".to_owned()],
                seed: u64::MAX,
                overlap: 0.3,
                repeats: 0.05,
                order: vec![showing(1), showing(2)],
            })),
            LabelEvent::Sitting {
                opening: 1,
                confinement: Confinement::Landlock,
                product: "flipside 0.1.0".to_owned(),
                network_disk: None,
            },
            answer(None, true),
            answer(Some("looked again"), false),
            LabelEvent::Skip { opening: 1, showing: showing(2), reason: "dark".to_owned() },
            LabelEvent::Undo { opening: 1, target: 3 },
            LabelEvent::Redo { opening: 1, target: 3 },
            LabelEvent::Seal { opening: 1, file: LabelFileHash::of(b"f") },
            LabelEvent::Sitting {
                opening: 1,
                confinement: Confinement::None,
                product: "flipside 0.1.0".to_owned(),
                network_disk: Some("nfs4".to_owned()),
            },
            LabelEvent::Rebuilt { kept: 7, damage: "it is damaged".to_owned() },
        ]
    }

    fn event(kind: &str, payload: Json) -> Event {
        Event {
            seq: 4,
            kind: kind.to_owned(),
            actor: "ada".to_owned(),
            sitting: 1,
            wall_utc: String::new(),
            mono_ns: 0,
            payload,
            hash: ChainHead::of(b""),
        }
    }

    #[test]
    fn events_are_pinned_and_read_back() {
        let mut written = String::new();
        for value in events() {
            let (kind, payload) = value.to_parts();
            written.push_str(&format!("{kind} {}\n", payload.to_canonical()));
            assert_eq!(LabelEvent::from_event(&event(kind, payload)), Ok(value));
        }
        // Databases hold these; do not change them.
        insta::assert_snapshot!(written);
    }

    #[test]
    fn unknown_kinds_pass_and_known_ones_must_be_whole() {
        assert_eq!(
            LabelEvent::from_event(&event("clock_regressed", Json::Null)),
            Ok(LabelEvent::Other)
        );
        for value in events() {
            let (kind, payload) = value.to_parts();
            let Json::Object(fields) = payload else { panic!("an object") };
            for key in fields.keys().filter(|key| *key != "amended") {
                let mut less = fields.clone();
                less.remove(key);
                let error = LabelEvent::from_event(&event(kind, Json::Object(less)));
                let optional = key == "notPhotograph" || key == "network_disk";
                assert_eq!(error.is_err(), !optional, "{kind} without {key}");
            }
        }
    }
}
