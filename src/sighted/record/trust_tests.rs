//! Several signatures under one root of trust: each way to get by with fewer, other or older ones fails for
//! its own reason, and the world without the one change passes.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cosign::cosign;
use super::limits::Holds;
use super::signature::{Signature, alone, signatures};
use super::signoff::SignOff;
use super::ssh;
use super::statement::Person;
use super::testing::{World, have_ssh, new_key, trust_in};
use super::trust::Trust;
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
        Self::labelled_by(["ada", "bob"])
    }

    fn labelled_by(raters: [&str; 2]) -> Self {
        let mut world = World::labelled_by(raters);
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
        world.trust = Some(Trust { signatures: 2, version: Some(3), ..trust_in(allowed) });
        let folder = world.root().join("records/signoffs");
        let id = signed.id.to_hex();
        let made = cosign(&folder, &id[..12], &bob, &mut Typist::new("<digits>"));
        let (cosignature, of) = made.expect("signed");
        assert_eq!(of, signed.id);
        Self { world, signoff, cosignature, ada, bob }
    }

    fn trust(&mut self) -> &mut Trust {
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
            it.trust().lists.revoked = Some(list);
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

#[test]
fn short_and_old_kinds_of_key_do_not_count() {
    if !have_ssh() {
        return;
    }
    for (kind, bits, reason) in [
        ("rsa", "2048", Some("ssh-rsa of 2048 bits, expected")),
        ("dsa", "1024", Some("kind ssh-dss, expected")),
        ("rsa", "3072", None),
        ("ecdsa", "256", None),
    ] {
        let mut signed = Signed::new();
        let key = signed.world.root().join("another");
        let mut make = std::process::Command::new("ssh-keygen");
        make.args(["-q", "-N", "", "-C", "", "-t", kind, "-b", bits, "-f"]).arg(&key);
        if !make.status().expect("started").success() {
            // Later versions of the program make no such key at all.
            assert_eq!(kind, "dsa");
            continue;
        }
        signed.allow(&format!("ada {}bob {}", public(&signed.ada), public(&key)));
        replace(&signed.cosignature, &{
            let bytes = fs::read(&signed.signoff).expect("readable");
            ssh::sign(&key, &bytes).expect("signed")
        });
        let answer = signed.world.gate();
        match reason {
            None => assert_eq!(answer.holds, Holds::Yes, "{kind} {bits}: {}", answer.reason),
            Some(reason) => {
                assert_eq!(answer.holds, Holds::No, "{kind} {bits}");
                assert!(answer.reason.contains(reason), "{kind} {bits}: {}", answer.reason);
            }
        }
        signed.trust().signatures = 1;
    }
}

#[test]
fn who_labelled_and_signed_alone_is_said_and_refused_when_that_is_asked_for() {
    if !have_ssh() {
        return;
    }
    const SAID: &str = "ada made every label and is the only one who signed";
    // Both raters are ada: the owner's own labels alone.
    let alone = |separation: bool, cosigned: bool| {
        let signed = Signed::labelled_by(["ada", "ada"]);
        let mut world = signed.world;
        let trust = world.trust.as_mut().expect("set");
        (trust.signatures, trust.separation) = (1, separation);
        if !cosigned {
            fs::remove_file(&signed.cosignature).expect("removed");
        }
        (world.gate(), world)
    };
    let (answer, mut world) = alone(false, false);
    assert_eq!(answer.holds, Holds::Yes, "{}", answer.reason);
    assert!(answer.reason.contains(SAID), "{}", answer.reason);
    world.trust = None;
    assert!(world.gate().reason.contains(SAID), "also when nobody asks who signed");
    let (answer, _) = alone(true, false);
    assert_eq!(answer.holds, Holds::No);
    assert!(answer.reason.contains(&format!("separation raters and signers: {SAID}")));
    for separation in [false, true] {
        let (answer, mut world) = alone(separation, true);
        assert_eq!(answer.holds, Holds::Yes, "bob signed too: {}", answer.reason);
        assert!(!answer.reason.contains("every label"), "{}", answer.reason);
        world.trust = None;
        assert!(!world.gate().reason.contains("every label"), "another key is another person");
    }
    let mut two = Signed::new();
    fs::remove_file(&two.cosignature).expect("removed");
    (two.trust().signatures, two.trust().separation) = (1, true);
    let answer = two.world.gate();
    assert_eq!(answer.holds, Holds::Yes, "bob labelled too: {}", answer.reason);
}

#[test]
fn names_tell_who_is_alone() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (raters, signers, expected) in [
        (&["ada"][..], &["ada"][..], true),
        (&["ada", "ada"], &["Ada"], true),
        (&["ada"], &["ada@example.org"], true),
        (&["ada", "ben"], &["ada"], false),
        (&["ada"], &["ben"], false),
        (&["ada"], &["ada", "ben"], false),
        (&["ada"], &["ada", "SHA256:abc"], false),
        (&["ada"], &[], false),
        (&[], &["ada"], false),
    ] {
        let (raters, signers) = (owned(raters), owned(signers));
        assert_eq!(alone(&raters, &signers).is_some(), expected, "{raters:?} {signers:?}");
    }
}

#[test]
fn every_signature_is_told_with_its_key_and_whether_it_was_verified() {
    if !have_ssh() {
        return;
    }
    let signed = Signed::new();
    let prints =
        [&signed.ada, &signed.bob].map(|key| ssh::fingerprint(key).expect("a fingerprint"));
    let [ada, bob] = prints;
    let told = |trust: Option<&Trust>| {
        let found = signed.world.store().list();
        let [stored] = found.all.as_slice() else { panic!("one sign-off") };
        signatures(stored, trust).iter().map(Signature::text).collect::<Vec<_>>()
    };
    let unchecked = "covers this decision; whose key it is was NOT checked";
    assert_eq!(
        told(None),
        [format!("ada, key {ada}: {unchecked}"), format!("somebody, key {bob}: {unchecked}")]
    );
    let trust = signed.world.trust.clone();
    assert_eq!(
        told(trust.as_ref()),
        [format!("ada, key {ada}: verified"), format!("bob, key {bob}: verified")]
    );
    signed.allow(&format!("ada {}", public(&signed.ada)));
    let withdrawn = told(trust.as_ref());
    assert!(withdrawn[0].ends_with(": verified"), "{withdrawn:?}");
    assert!(
        withdrawn[1].starts_with(&format!("somebody, key {bob}: NOT verified: ")),
        "{withdrawn:?}"
    );
    replace(&signed.cosignature, &ssh::sign(&signed.bob, b"something else").expect("signed"));
    let moved = told(None);
    assert!(
        moved[1].starts_with("somebody: NOT verified: the signature does not cover"),
        "{moved:?}"
    );
}
