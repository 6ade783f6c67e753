//! What kind of disk a folder lies on. A write-ahead log needs locks and shared memory that network file
//! systems only pretend to have, so databases are not put there unless a person says so.

use std::path::{Path, PathBuf};

use crate::domain::escape::{escape, escape_os};

/// File systems whose files lie on another machine, by the name the system has for them.
const NETWORK: [&str; 19] = [
    "nfs",
    "nfs3",
    "nfs4",
    "cifs",
    "smb2",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "afpfs",
    "ceph",
    "coda",
    "gfs2",
    "glusterfs",
    "lustre",
    "ncpfs",
    "ocfs2",
    "orangefs",
    "webdav",
];

/// File systems in user space that reach another machine.
const NETWORK_FUSE: [&str; 9] =
    ["sshfs", "curlftpfs", "davfs", "davfs2", "glusterfs", "ceph", "rclone", "s3fs", "gcsfuse"];

/// A folder on a network file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} lies on a network file system ({}), where answers can be lost when two machines write; keep the workspace on a local disk, or allow it with --allow-network-disk", escape_os(.folder.as_os_str()), escape(.kind))]
pub struct NetworkDisk {
    /// The folder.
    pub folder: PathBuf,
    /// The system's name for the kind.
    pub kind: String,
}

/// The kind of file system a folder lies on, or will once it is made; `None` where the system does not
/// tell.
pub fn file_system_of(folder: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let absolute = std::path::absolute(folder).ok()?;
    let there = absolute.ancestors().find_map(|part| part.canonicalize().ok())?;
    kind_at(&mounts, &there)
}

/// The network file system a folder lies on, if it does. `probe` is [`file_system_of`].
pub fn network_disk(folder: &Path, probe: impl Fn(&Path) -> Option<String>) -> Option<NetworkDisk> {
    let kind = probe(folder)?;
    let is_network = match kind.strip_prefix("fuse.") {
        Some(program) => NETWORK_FUSE.contains(&program),
        None => NETWORK.contains(&kind.as_str()),
    };
    // Some virtual machines have their own disk over this protocol; then it is the root's kind, too.
    let is_own = kind == "9p" && probe(Path::new("/")).as_deref() == Some("9p");
    (is_network && !is_own).then(|| NetworkDisk { folder: folder.to_owned(), kind })
}

/// The kind of the innermost mount that holds `path`, from the text of `/proc/self/mountinfo`.
fn kind_at(mounts: &str, path: &Path) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    for line in mounts.lines() {
        // id parent device root point options [optional fields] - kind source options
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (before.split(' ').nth(4), after.split(' ').next()) else {
            continue;
        };
        let point = PathBuf::from(unescaped(point));
        let depth = point.components().count();
        // A later mount on the same point covers the one before.
        if path.starts_with(&point) && found.as_ref().is_none_or(|(known, _)| depth >= *known) {
            found = Some((depth, kind.to_owned()));
        }
    }
    found.map(|(_, kind)| kind)
}

/// Blanks and the like are written as three octal digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /data rw shared:2 - nfs4 server:/data rw,vers=4.2
31 30 0:27 / /data/ada/local\\040disk rw - ext4 /dev/sdb1 rw
32 22 0:28 / /mnt rw - ext4 /dev/sdc1 rw
33 22 0:29 / /mnt rw - fuse.sshfs ada@host:/ rw
34 22 0:30 / /share rw master:3 propagate_from:2 - cifs //server/share rw
broken line
";

    fn kind(path: &str) -> Option<String> {
        kind_at(MOUNTS, Path::new(path))
    }

    #[test]
    fn the_innermost_and_newest_mount_counts() {
        for (path, expected) in [
            ("/work", "ext4"),
            ("/data/ada/work", "nfs4"),
            ("/data/ada/local disk/work", "ext4"),
            ("/database", "ext4"),
            ("/mnt/x", "fuse.sshfs"),
            ("/share", "cifs"),
        ] {
            assert_eq!(kind(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(kind_at("", Path::new("/")), None);
    }

    #[test]
    fn network_kinds_are_refused_in_words_and_local_ones_pass() {
        let refused = |path: &str| network_disk(Path::new(path), |path| kind_at(MOUNTS, path));
        let error = refused("/data/ada/work").expect("nfs").to_string();
        assert!(
            error.starts_with("/data/ada/work lies on a network file system (nfs4)"),
            "{error}"
        );
        assert!(error.ends_with("--allow-network-disk"), "{error}");
        assert!(refused("/mnt/x").is_some() && refused("/share/x").is_some());
        assert_eq!(refused("/data/ada/local disk/x"), None);
        assert_eq!(refused("/work"), None);
        for (kind, network) in [
            ("fuse.ntfs-3g", false),
            ("fuseblk", false),
            ("tmpfs", false),
            ("overlay", false),
            ("ceph", true),
        ] {
            let found = network_disk(Path::new("/x"), |_| Some(kind.to_owned()));
            assert_eq!(found.is_some(), network, "{kind}");
        }
        assert_eq!(network_disk(Path::new("/x"), |_| None), None, "not told is not refused");
    }

    #[test]
    fn a_machine_whose_own_disk_is_9p_may_use_it() {
        let probe = |root: &'static str| {
            move |path: &Path| Some(if path == Path::new("/") { root } else { "9p" }.to_owned())
        };
        assert!(network_disk(Path::new("/mnt/c"), probe("ext4")).is_some());
        assert_eq!(network_disk(Path::new("/work"), probe("9p")), None);
    }

    #[test]
    fn a_temporary_folder_has_a_kind_where_the_system_tells() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let told = file_system_of(&folder.path().join("not/made/yet"));
        assert_eq!(told.is_some(), Path::new("/proc/self/mountinfo").exists());
    }
}
