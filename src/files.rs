//! Files of our own, for their owner alone, and files of others, read without being led elsewhere.
//!
//! What root makes in somebody else's folder is theirs: an administrator runs a command on a service's data folder, and
//! the service has to go on with what that left there.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write as _},
    path::Path,
};

/// Creates a folder and those above it, for their owner alone; one that exists is left as it is.
///
/// # Errors
/// As [`std::fs::create_dir_all`].
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() || path.as_os_str().is_empty() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        create_private_folder(above)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) => {
            #[cfg(unix)]
            give_to_owner_of_folder(path, || open_last(path));
            Ok(())
        }
        // Somebody else was faster.
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes sure that a file exists and that nobody but its owner may read or write it; its content is left as it is.
///
/// What SQLite puts beside a database gets the permissions of the database itself.
///
/// # Errors
/// When it cannot be opened for reading and writing. Permissions that cannot be changed are left as they are: then the
/// file is somebody else's, who decided on them.
pub fn keep_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // A file that is new is nothing that somebody put there to be given to them.
    let new = options.clone().create_new(true).open(path);
    #[cfg(unix)]
    if let Ok(file) = &new {
        give_to_owner_of_folder(path, || file.try_clone());
    }
    let file = match new {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create(true).truncate(false).open(path)?
        }
        new => new?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            let _ = file.set_permissions(std::fs::Permissions::from_mode(mode & 0o700));
        }
    }
    Ok(file)
}

/// Puts `bytes` in the place of a file, whole or not at all, for its owner alone.
///
/// # Errors
/// When the folder cannot be written to.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let write = || {
        let mut file = keep_private(&beside)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

/// Reads a file of the operator's, settings or credentials, without its byte order mark.
///
/// # Errors
/// When it cannot be read, is longer than `max_bytes`, or is no UTF-8.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {max_bytes} bytes")));
    }
    let text = String::from_utf8(bytes);
    let mut text = text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8"))?;
    // Some editors write a byte order mark before it.
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// Reads a text as [`read_text`] does, off the runtime's threads.
///
/// # Errors
/// As there.
pub async fn read_text_aside(path: &Path, max_bytes: u64) -> io::Result<String> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || read_text(&path, max_bytes)).await.map_err(io::Error::other)?
}

/// Reads the regular file at `path`, which leads from `root`, whole; `None` if it has more than `max_bytes`.
///
/// No part of `path` may be a link: between the time a folder is looked at and the time a file in it is read, anybody
/// who may write there could put one, and have any file of this machine read.
///
/// # Errors
/// When there is no such file, or it is no regular one.
pub fn read_beneath(root: &Path, path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let file = open_beneath(root, path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::{
        fs::{Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    // Not blocking, should it be a pipe by now.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let only_within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(File::open(root)?, path, flags, Mode::empty(), only_within) {
        Ok(file) => Ok(file.into()),
        // Older systems, and filters that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_last(&root.join(path)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    open_last(&root.join(path))
}

#[cfg(not(unix))]
fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    File::open(root.join(path))
}

/// Gives what root has just made to whom the folder around it belongs, where that can be done: in containers not
/// everybody is somebody.
#[cfg(unix)]
fn give_to_owner_of_folder(path: &Path, made: impl FnOnce() -> io::Result<File>) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(around) = folder.metadata()
        && around.uid() != 0
        && let Ok(made) = made()
    {
        let _ = fchown(made, Some(around.uid()), Some(around.gid()));
    }
}

/// Opens a path whose last part is no link; the others may be.
#[cfg(unix)]
fn open_last(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    #[test]
    fn files_of_our_own_are_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = folder.path().join("new");
        keep_private(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::write(&path, "kept").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        keep_private(&path).unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap()), (0o600, "kept".to_owned()));
    }

    /// Tests run as root in CI; elsewhere there is nothing to give.
    #[test]
    fn what_root_makes_in_a_folder_of_somebody_else_is_theirs() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        const OTHER: u32 = 65_534;
        let folder = tempfile::tempdir().unwrap();
        let is_root = chown(folder.path(), Some(OTHER), Some(OTHER)).is_ok();
        let expected = if is_root { OTHER } else { folder.path().metadata().unwrap().uid() };
        let inner = folder.path().join("a/b");
        create_private_folder(&inner).unwrap();
        keep_private(&inner.join("file")).unwrap();
        for made in ["a", "a/b", "a/b/file"] {
            let made = folder.path().join(made).metadata().unwrap();
            assert_eq!((made.uid(), made.mode() & 0o077), (expected, 0));
        }
        // A link that was there before leads to a file that stays whose it is.
        let of_root = tempfile::NamedTempFile::new().unwrap();
        let owner = of_root.path().metadata().unwrap().uid();
        symlink(of_root.path(), inner.join("link")).unwrap();
        keep_private(&inner.join("link")).unwrap();
        assert_eq!(of_root.path().metadata().unwrap().uid(), owner);
    }

    #[test]
    fn a_file_is_replaced_whole_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "a longer text than the new one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        replace_private(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        replace_private(&folder.path().join("no folder/token"), b"new").unwrap_err();
    }

    #[test]
    fn text_is_read_up_to_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read_text(&path, 4).map_err(|error| error.to_string())
        };
        assert_eq!(read("für".as_bytes()).unwrap(), "für");
        assert_eq!(read("\u{feff}f".as_bytes()).unwrap(), "f");
        assert_eq!(read("a für".as_bytes()).unwrap_err(), "it is longer than 4 bytes");
        assert_eq!(read(b"f\xfcr").unwrap_err(), "it is no text in UTF-8");
        assert!(read_text(Path::new("/dev/zero"), 4).is_err());
    }

    #[test]
    fn links_lead_nowhere() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("secret"), "secret").unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), "text").unwrap();
        symlink(other.path().join("secret"), folder.path().join("link")).unwrap();
        symlink(other.path(), folder.path().join("elsewhere")).unwrap();
        let read = |path: &str| read_beneath(folder.path(), Path::new(path), 4);
        assert_eq!(read("inner/file").unwrap(), Some(b"text".to_vec()));
        assert_eq!(read_beneath(folder.path(), Path::new("inner/file"), 3).unwrap(), None);
        for path in ["link", "elsewhere/secret", "../x", "inner", "missing"] {
            assert!(read(path).is_err(), "{path}");
        }
        assert!(open_last(&folder.path().join("link")).is_err());
        assert!(open_last(&folder.path().join("inner/file")).is_ok());
    }
}
