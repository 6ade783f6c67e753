//! Versions of the root of trust, signed with real keys: each way to pass off a version that does not follow
//! fails for its own reason, and the chain without the one change is followed to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::testing::{have_ssh, new_key};
use super::trust::Trust;
use crate::domain::digest::ContentHash;
use crate::store::atomic;

const NOW: &str = "2026-02-03T04:05:06+00:00";

/// Version 3 of ada and bob; in version 4 eve takes bob's place. Both need two people.
struct Chain {
    folder: tempfile::TempDir,
}

impl Chain {
    fn new() -> Self {
        let chain = Self { folder: tempfile::tempdir().expect("temporary folder") };
        for name in ["ada", "bob", "eve"] {
            new_key(chain.root(), name);
        }
        chain.put("allowed.3", &chain.list(&[("ada", "ada"), ("bob", "bob")]));
        chain.put("allowed.4", &chain.list(&[("ada", "ada"), ("eve", "eve")]));
        chain.put("none", "");
        // Over already: that is one reason to make a later one.
        chain.put("trust.toml", &chain.version(3, "2026-01-01"));
        chain.put("trust.4.toml", &chain.version(4, "2027-01-01"));
        chain.sign_all(4, &["ada", "bob", "eve"]);
        chain
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        atomic::write(&path, text.as_bytes()).expect("written");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).expect("readable")
    }

    /// Allowed signers: name and key file.
    fn list(&self, signers: &[(&str, &str)]) -> String {
        let line =
            |(name, key): &(&str, &str)| format!("{name} {}", self.text(&format!("{key}.pub")));
        signers.iter().map(line).collect()
    }

    fn version(&self, version: u64, until: &str) -> String {
        let hash = |name: &str| ContentHash::of(self.text(name).as_bytes()).to_hex();
        let allowed = format!("allowed.{}", version.min(4));
        format!(
            "schema = 1\nversion = {version}\nexpires = \"{until}T00:00:00+00:00\"\nsignatures = 2\n\
             allowed_signers = \"{allowed}\"\nallowed_signers_sha256 = \"{}\"\n\
             revoked = \"none\"\nrevoked_sha256 = \"{}\"\n",
            hash(&allowed),
            hash("none"),
        )
    }

    fn signature(&self, version: u64, key: &str) -> PathBuf {
        self.root().join(format!("trust.{version}.{key}.sig"))
    }

    fn sign_as(&self, version: u64, key: &str, namespace: &str) {
        let root = fs::File::open(self.root().join(format!("trust.{version}.toml")));
        let output = Command::new("ssh-keygen")
            .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
            .arg(self.root().join(key))
            .stdin(root.expect("readable"))
            .output()
            .expect("started");
        assert!(output.status.success());
        atomic::write(&self.signature(version, key), &output.stdout).expect("written");
    }

    fn sign_all(&self, version: u64, keys: &[&str]) {
        for key in keys {
            self.sign_as(version, key, "trust@flipside");
        }
    }

    /// Changes version 4, and signs it again.
    fn rewrite(&self, from: &str, to: &str) {
        let text = self.text("trust.4.toml");
        assert!(text.contains(from), "{from}");
        self.put("trust.4.toml", &text.replace(from, to));
        self.sign_all(4, &["ada", "bob", "eve"]);
    }

    fn open(&self) -> Result<Trust, String> {
        let root = self.root().join("trust.toml");
        Trust::of_root(&root, None, NOW).map_err(|fault| fault.to_string())
    }
}

#[test]
fn a_version_that_does_not_follow_is_refused_for_its_own_reason() {
    if !have_ssh() {
        return;
    }
    type Change = fn(&Chain);
    fn remove(chain: &Chain, key: &str) {
        fs::remove_file(chain.signature(4, key)).expect("removed");
    }
    let rows: [(&str, &str, Change); 15] = [
        ("one too few of the old", "signed by 1 of 2 people of version 3", |it| remove(it, "bob")),
        ("one too few of the new", "signed by 1 of 2 people of version 4", |it| remove(it, "eve")),
        ("unsigned", "trust.4.toml: signed by 0 of 2 people of version 3", |it| {
            ["ada", "bob", "eve"].iter().for_each(|key| remove(it, key));
        }),
        ("for something else", "in namespace trust@flipside", |it| {
            it.sign_as(4, "bob", "signoff@flipside");
        }),
        ("changed after it was signed", "does not cover these bytes", |it| {
            it.put("trust.4.toml", &it.text("trust.4.toml").replace("2027", "2028"));
        }),
        ("cut off", "signed by 1 of 2 people of version 3", |it| {
            let half = &fs::read(it.signature(4, "bob")).expect("readable")[..60];
            atomic::write(&it.signature(4, "bob"), half).expect("written");
        }),
        ("the old list says one person", "signed by 1 of 2 people of version 3", |it| {
            it.put("allowed.3", &it.list(&[("ada", "ada"), ("ada", "bob")]));
            it.put("trust.toml", &it.version(3, "2026-01-01"));
        }),
        ("the new list says one person", "signed by 1 of 2 people of version 4", |it| {
            it.put("allowed.4", &it.list(&[("ada", "ada"), ("ada", "eve")]));
            it.put("trust.4.toml", &it.version(4, "2027-01-01"));
            it.sign_all(4, &["ada", "bob", "eve"]);
        }),
        ("a key that was withdrawn", "signed by 1 of 2 people of version 3", |it| {
            it.put("gone", &it.text("bob.pub"));
            let text = it.version(3, "2026-01-01").replace("\"none\"", "\"gone\"");
            let lines = text.lines().filter(|line| !line.starts_with("revoked_sha256"));
            it.put("trust.toml", &lines.map(|line| format!("{line}\n")).collect::<String>());
        }),
        ("more than one on", "version 5, expected 4: one at a time", |it| {
            it.rewrite("version = 4", "version = 5");
        }),
        ("not on", "version 3, expected 4: one at a time", |it| {
            it.rewrite("version = 4", "version = 3");
        }),
        ("one left out", "trust.5.toml: version 4 is missing before it", |it| {
            it.put("trust.5.toml", &it.version(5, "2027-01-01"));
            fs::remove_file(it.root().join("trust.4.toml")).expect("removed");
        }),
        ("list not covered", "expected allowed_signers_sha256", |it| {
            let hash = ContentHash::of(it.text("allowed.4").as_bytes()).to_hex();
            it.rewrite(&format!("allowed_signers_sha256 = \"{hash}\"\n"), "");
        }),
        ("list changed", "allowed.4: expected sha256", |it| {
            it.put("allowed.4", &it.list(&[("ada", "ada"), ("eve", "bob")]));
        }),
        ("over", "trust.4.toml: expired at 2026-01-02", |it| {
            it.rewrite("2027-01-01", "2026-01-02")
        }),
    ];
    for (name, reason, change) in rows {
        let chain = Chain::new();
        let trust = chain.open().unwrap_or_else(|fault| panic!("{name}: the good twin: {fault}"));
        assert_eq!(trust.version, Some(4), "{name}");
        change(&chain);
        let fault = chain.open().expect_err(name);
        assert!(fault.contains(reason), "{name}: {fault}");
    }
}

#[test]
fn revoked_keys_are_covered_too() {
    if !have_ssh() {
        return;
    }
    let chain = Chain::new();
    let hash = ContentHash::of(b"").to_hex();
    chain.rewrite(&format!("revoked_sha256 = \"{hash}\"\n"), "");
    assert!(chain.open().expect_err("uncovered").contains("revoked_sha256 beside revoked"));
    chain.rewrite("revoked = \"none\"\n", "");
    assert_eq!(chain.open().expect("no list, nothing to cover").version, Some(4));
}

#[test]
fn a_chain_is_followed_to_its_end_from_wherever_one_begins() {
    if !have_ssh() {
        return;
    }
    let chain = Chain::new();
    chain.put("trust.5.toml", &chain.version(5, "2028-01-01"));
    chain.put("trust.05.toml", "one version has one name");
    let unsigned = chain.open().expect_err("version 5 is not signed");
    assert!(unsigned.contains("trust.5.toml: signed by 0 of 2 people of version 4"), "{unsigned}");
    chain.sign_all(5, &["ada", "eve"]);
    assert_eq!(chain.open().expect("both steps").version, Some(5));
    let from_four = Trust::of_root(&chain.root().join("trust.4.toml"), None, NOW);
    assert_eq!(from_four.expect("one step").version, Some(5));

    // Held apart from the versions that came later.
    let apart = tempfile::tempdir().expect("temporary folder");
    for name in ["trust.toml", "allowed.3", "none"] {
        atomic::write(&apart.path().join(name), chain.text(name).as_bytes()).expect("written");
    }
    let held = apart.path().join("trust.toml");
    let updated = Trust::of_root(&held, Some(chain.root()), NOW).expect("followed");
    assert_eq!(updated.version, Some(5));
    assert_eq!(updated.lists.allowed, chain.root().join("allowed.4"));
    let alone = Trust::of_root(&held, None, NOW).expect_err("over, and nothing follows");
    assert!(alone.to_string().contains("trust.toml: expired at 2026-01-01"), "{alone}");
    let gone = Trust::of_root(&held, Some(Path::new("/nonexistent")), NOW).expect_err("no folder");
    assert!(gone.to_string().contains("/nonexistent"), "{gone}");
}

#[test]
fn as_many_sign_a_version_as_it_and_the_last_ask_for() {
    if !have_ssh() {
        return;
    }
    let chain = Chain::new();
    let text = chain.version(3, "2026-01-01");
    chain.put("trust.toml", &format!("root_signatures = 1\n{text}"));
    fs::remove_file(chain.signature(4, "bob")).expect("removed");
    let trust = chain.open().expect("ada alone speaks for version 3");
    assert_eq!((trust.version, trust.signatures), (Some(4), 2));
    chain.put("trust.toml", &format!("root_signatures = 3\n{text}"));
    chain.sign_all(4, &["bob"]);
    assert!(chain.open().expect_err("two people").contains("signed by 2 of 3 people of version 3"));
}
