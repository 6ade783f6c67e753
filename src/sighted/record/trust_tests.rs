//! Several signatures under one root of trust: each way to get by with fewer, other or older ones fails for
//! its own reason, and the world without the one change passes.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cosign::cosign;
use super::limits::Holds;
use super::signing::Person;
use super::signoff::SignOff;
use super::ssh;
use super::testing::{World, WorldTrust, have_ssh, new_key};
use crate::store::atomic;

/// Types what is asked for, or something else.
struct Typist {
    answers: VecDeque<String>,
    heard: String,
}

impl Typist {
    fn new(answer: &str) -> Self {
        Self { answers: VecDeque::from([answer.to_owned()]), heard: String::new() }
    }
}

impl Person for Typist {
    fn say(&mut self, text: &str) {
        self.heard.push_str(text);
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        let shown = prompt.split_whitespace().nth(1).unwrap_or_default().to_owned();
        Ok(self.answers.pop_front().map(|it| if it == "<digits>" { shown } else { it }))
    }
}

/// A decision of ada's that bob has signed too, where both must.
struct Signed {
    world: World,
    signoff: PathBuf,
    cosignature: PathBuf,
    ada: PathBuf,
    bob: PathBuf,
}

fn public(key: &Path) -> String {
    fs::read_to_string(key.with_extension("pub")).expect("readable")
}

fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("removed");
    atomic::write(path, bytes).expect("written");
}

impl Signed {
    fn new() -> Self {
        let mut world = World::new();
        let (ada, bob) = (new_key(world.root(), "ada"), new_key(world.root(), "bob"));
        let allowed = world.root().join("allowed");
        let list = format!("ada {}bob {}", public(&ada), public(&bob));
        atomic::write(&allowed, list.as_bytes()).expect("written");
        let mut draft = world.draft();
        draft.signer.key_id = Some(ssh::fingerprint(&ada).expect("a fingerprint"));
        draft.trust_version = Some(3);
        let checked = draft.check().expect("good");
        let digits = checked.digits();
        let signed = checked.confirm(&digits).expect("confirmed");
        let signature = ssh::sign(&ada, &signed.file).expect("signed");
        let signoff = world.store().create(&signed, Some(&signature)).expect("stored");
        world.trust =
            Some(WorldTrust { signatures: 2, version: Some(3), ..WorldTrust::of(allowed) });
        let folder = world.root().join("records/signoffs");
        let id = signed.id.to_hex();
        let made = cosign(&folder, &id[..12], &bob, &mut Typist::new("<digits>"));
        let (cosignature, of) = made.expect("signed");
        assert_eq!(of, signed.id);
        Self { world, signoff, cosignature, ada, bob }
    }

    fn trust(&mut self) -> &mut WorldTrust {
        self.world.trust.as_mut().expect("set")
    }

    fn allow(&self, list: &str) {
        replace(&self.world.root().join("allowed"), list.as_bytes());
    }
}

/// The same signature, its base64 broken into other lines.
fn rewrap(path: &Path) {
    let text = fs::read_to_string(path).expect("readable");
    let inner: Vec<&str> = text.lines().filter(|line| !line.starts_with('-')).collect();
    let inner = inner.concat();
    let lines: Vec<String> = inner
        .as_bytes()
        .chunks(60)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    let text = format!(
        "-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n",
        lines.join("\n")
    );
    replace(path, text.as_bytes());
}

#[test]
fn fewer_other_and_older_signatures_do_not_count() {
    if !have_ssh() {
        return;
    }
    type Change = fn(&mut Signed);
    let rows: [(&str, &str, Change); 10] = [
        ("second signature stripped", "signed by 1 of 2 people", |it| {
            fs::remove_file(&it.cosignature).expect("removed");
        }),
        ("one too few", "signed by 2 of 3 people", |it| it.trust().signatures = 3),
        ("the first signature again", "signed by 1 of 2 people", |it| {
            let first = fs::read(it.signoff.with_extension("sig")).expect("readable");
            replace(&it.cosignature, &first);
        }),
        ("two keys of one person", "signed by 1 of 2 people", |it| {
            it.allow(&format!("ada {}ada {}", public(&it.ada), public(&it.bob)));
        }),
        ("over other bytes", "does not cover these bytes", |it| {
            let other = ssh::sign(&it.bob, b"something else").expect("signed");
            replace(&it.cosignature, &other);
        }),
        ("of somebody nobody knows", "allows nobody with this key", |it| {
            it.allow(&format!("ada {}", public(&it.ada)));
        }),
        ("of a key that was withdrawn", "has no valid entry for \"bob\"", |it| {
            let list = it.world.root().join("revoked");
            atomic::write(&list, public(&it.bob).as_bytes()).expect("written");
            it.trust().revoked = Some(list);
        }),
        ("under an older root", "made under version 3 of the trust file", |it| {
            it.trust().version = Some(2);
        }),
        ("written another way", "not written as ssh-keygen writes one", |it| {
            rewrap(&it.signoff.with_extension("sig"));
        }),
        ("second one written another way", "not written as ssh-keygen writes one", |it| {
            rewrap(&it.cosignature);
        }),
    ];
    for (name, reason, change) in rows {
        let mut signed = Signed::new();
        let answer = signed.world.gate();
        assert_eq!(answer.holds, Holds::Yes, "{name}: the good twin: {}", answer.reason);
        change(&mut signed);
        let answer = signed.world.gate();
        assert_eq!(answer.holds, Holds::No, "{name}: {}", answer.reason);
        assert!(answer.reason.contains(reason), "{name}: {}", answer.reason);
    }
}

#[test]
fn a_later_root_still_knows_earlier_decisions() {
    if !have_ssh() {
        return;
    }
    let mut signed = Signed::new();
    signed.trust().version = Some(4);
    assert_eq!(signed.world.gate().holds, Holds::Yes, "{}", signed.world.gate().reason);
    let parsed = SignOff::parse(&fs::read(&signed.signoff).expect("readable")).expect("a sign-off");
    assert_eq!(parsed.trust_version, Some(3));
}

#[test]
fn a_second_signature_needs_its_own_key_and_the_digits() {
    if !have_ssh() {
        return;
    }
    let signed = Signed::new();
    let folder = signed.world.root().join("records/signoffs");
    fs::remove_file(&signed.cosignature).expect("removed");
    let stem = signed.signoff.file_stem().expect("a name").to_string_lossy().into_owned();
    for (id, key, typed, reason) in [
        (stem.as_str(), &signed.bob, "00000000", "nothing was written"),
        (stem.as_str(), &signed.ada, "<digits>", "has signed it already"),
        ("ffff", &signed.bob, "<digits>", "no single standing sign-off"),
        ("", &signed.bob, "<digits>", "no single standing sign-off"),
    ] {
        let fault = cosign(&folder, id, key, &mut Typist::new(typed)).expect_err(reason);
        assert!(fault.to_string().contains(reason), "{fault}");
        assert!(!signed.cosignature.exists(), "{reason}");
    }
    let mut typist = Typist::new("<digits>");
    let (path, _) = cosign(&folder, &stem, &signed.bob, &mut typist).expect("the good twin");
    assert_eq!(path, signed.cosignature);
    assert!(typist.heard.contains("\"doesNotLicense\""), "what is signed is shown");
    let again = cosign(&folder, &stem, &signed.bob, &mut Typist::new("<digits>"));
    assert!(again.is_err(), "a signature is never replaced");
}
