//! From here on only these places can be opened.
//!
//! On Linux the kernel enforces it (Landlock) for this thread and every thread it starts afterwards, for
//! good. Files that are open already stay usable. Elsewhere nothing is enforced, and that is what is
//! reported.

use std::path::PathBuf;

use crate::store::label_file::Confinement;

/// A list of places, to be closed over.
#[derive(Debug, Default)]
pub struct Sandbox {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    witness: Option<PathBuf>,
}

impl Sandbox {
    /// Nothing may be opened.
    pub fn new() -> Self {
        Self::default()
    }

    /// These files may be read. A folder means all in it.
    #[must_use]
    pub fn reading(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.read.extend(places);
        self
    }

    /// These may be read and written; in a folder, files may be made and removed.
    #[must_use]
    pub fn writing(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.write.extend(places);
        self
    }

    /// A file that can be read now and must not be afterwards: the proof that it works.
    #[must_use]
    pub fn proven_by(mut self, witness: PathBuf) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Closes it. Threads that run already are not confined, so this comes before any is started.
    ///
    /// What is returned was tried, not assumed: the witness could be opened before and cannot be now.
    pub fn close(self) -> Confinement {
        let could = self.witness.as_ref().is_some_and(|path| std::fs::File::open(path).is_ok());
        let claimed = system::restrict(&self.read, &self.write);
        let can = self.witness.as_ref().is_some_and(|path| std::fs::File::open(path).is_ok());
        if claimed && could && !can { Confinement::Landlock } else { Confinement::None }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::path::PathBuf;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    };

    /// Newest set of rights asked for; older kernels enforce the part they know.
    const RIGHTS: ABI = ABI::V5;

    /// The terminal's own device, which is asked for its size, and the sink.
    const DEVICES: [&str; 2] = ["/dev/tty", "/dev/null"];

    pub(super) fn restrict(read: &[PathBuf], write: &[PathBuf]) -> bool {
        let restricted = || -> Result<RulesetStatus, RulesetError> {
            let mut rules = Ruleset::default()
                .handle_access(AccessFs::from_all(RIGHTS))?
                .handle_access(AccessNet::from_all(RIGHTS))?
                .create()?;
            let reading = AccessFs::ReadFile | AccessFs::ReadDir;
            let writing = (AccessFs::from_all(RIGHTS) & !AccessFs::Execute) | reading;
            let devices = DEVICES.map(PathBuf::from);
            for (places, access) in [(read, reading), (write, writing), (&devices, writing)] {
                for place in places {
                    rules = add(rules, place, access)?;
                }
            }

            Ok(rules.restrict_self()?.ruleset)
        };
        matches!(restricted(), Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced))
    }

    /// A place that is not there cannot be opened either way.
    fn add(
        rules: RulesetCreated,
        place: &PathBuf,
        access: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, RulesetError> {
        let Ok(handle) = PathFd::new(place) else { return Ok(rules) };
        let access = if place.is_dir() { access } else { access & AccessFs::from_file(RIGHTS) };
        rules.add_rule(PathBeneath::new(handle, access))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::PathBuf;

    pub(super) fn restrict(_read: &[PathBuf], _write: &[PathBuf]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a thread of its own, since a sandbox closes for good.
    fn in_thread(work: impl FnOnce() + Send + 'static) {
        std::thread::spawn(work).join().expect("no panic");
    }

    fn file(folder: &std::path::Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        crate::store::atomic::write(&path, b"x").expect("written");
        path
    }

    #[test]
    fn only_listed_places_open_and_open_files_stay_usable() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let [allowed, own, secret] =
            ["allowed", "own", "secret"].map(|name| file(folder.path(), name));
        in_thread(move || {
            use std::io::{Read as _, Write as _};
            let mut opened_before = std::fs::File::open(&secret).expect("open");
            let confinement = Sandbox::new()
                .reading([allowed.clone()])
                .writing([own.clone()])
                .proven_by(secret.clone())
                .close();
            if confinement == Confinement::None {
                // This kernel has no Landlock: nothing is claimed, nothing is refused.
                assert!(std::fs::File::open(&secret).is_ok());
                return;
            }
            assert!(std::fs::read(&allowed).is_ok());
            assert!(std::fs::File::options().write(true).open(&allowed).is_err());
            let mut writable = std::fs::File::options().append(true).open(&own).expect("own file");
            writable.write_all(b"y").expect("written");
            let refused = std::fs::read(&secret).expect_err("a planted read");
            assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
            assert!(std::fs::read_dir(secret.parent().expect("has one")).is_err());
            let mut text = String::new();
            opened_before.read_to_string(&mut text).expect("still open");
            assert_eq!(text, "x");
            let child = std::thread::spawn(move || std::fs::read(&secret).is_err());
            assert!(child.join().expect("no panic"), "later threads are confined too");
        });
    }

    #[test]
    fn without_proof_nothing_is_claimed() {
        in_thread(|| assert_eq!(Sandbox::new().close(), Confinement::None));
        in_thread(|| {
            let nowhere = PathBuf::from("/there/is/no/such/file");
            assert_eq!(Sandbox::new().proven_by(nowhere).close(), Confinement::None);
        });
    }
}
