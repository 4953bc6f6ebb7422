//! Where a report goes: standard output, or the file that `--out` names.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::{Exit, complain, print};
use crate::domain::RunId;

/// Links that are followed one after the other, as Linux does.
const MAX_LINKS: usize = 40;

/// Checks that the report can be written to `out`, before anything is paid for.
///
/// A pipe or a device is not opened: who reads a pipe would take the end of the check for that of the report.
///
/// # Errors
/// Why it cannot be written.
pub fn check_writable(out: &Path) -> Result<(), String> {
    let checked = match fs::metadata(out) {
        Ok(known) if known.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(known) if known.is_file() => OpenOptions::new().append(true).open(out).map(drop),
        Ok(_) => may_write(out),
        Err(_) => File::create_new(target(out)).and_then(|_| fs::remove_file(target(out))),
    };
    checked.map_err(|error| format!("{} cannot be written: {error}", out.display()))
}

/// Returns the file to which a link leads, and the next one, which need not be there yet.
fn target(out: &Path) -> PathBuf {
    (0..MAX_LINKS).fold(out.to_owned(), |path, _| match fs::read_link(&path) {
        Ok(there) => path.with_file_name(there),
        Err(_) => path,
    })
}

#[cfg(unix)]
fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn may_write(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a report to the file, or prints it.
pub fn give(markdown: &str, run_id: RunId, out: Option<&Path>) -> Exit {
    let written = match out {
        Some(path) => write_whole(path, markdown),
        None => print::output(markdown),
    };
    match written {
        Ok(()) => Exit::Success,
        // The reader of a pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            let place = out.map_or("standard output".to_owned(), |path| path.display().to_string());
            complain(&format!(
                "the report could not be written to {place}: {error}; it is kept: fathom runs report {run_id}"
            ));
            Exit::Failed
        }
    }
}

/// Writes beside the file and renames, so that a full disk never leaves half a report. Two things are written to as
/// they are: what is no plain file (a pipe, a device, a link to something), since a rename would put a file in its
/// place; and a file whose folder takes no other one (it cannot be written, the name is too long, the file is mounted).
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        return fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let replaced = replace(path, &part, text);
    if replaced.is_err() {
        let _ = fs::remove_file(&part);
    }
    match replaced {
        Ok(()) => Ok(()),
        Err(Trouble::NoPart(error)) if !is_full(&error) => fs::write(path, text),
        Err(Trouble::NoPart(error) | Trouble::Unwritten(error)) => Err(error),
    }
}

/// Why a file was not replaced.
enum Trouble {
    /// Nothing can be made beside it, or be put in its place.
    NoPart(io::Error),
    Unwritten(io::Error),
}

/// Puts a file with that text in the place of `path`, open to the same users as the one that is there.
fn replace(path: &Path, part: &Path, text: &str) -> Result<(), Trouble> {
    let mut file = make_like(path, part).map_err(Trouble::NoPart)?;
    file.write_all(text.as_bytes()).map_err(Trouble::Unwritten)?;
    drop(file);
    fs::rename(part, path).map_err(Trouble::NoPart)
}

fn make_like(path: &Path, part: &Path) -> io::Result<File> {
    let file = File::create(part)?;
    if let Ok(known) = fs::metadata(path) {
        file.set_permissions(known.permissions())?;
    }
    Ok(file)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_stays_open_to_the_same_users() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        fs::write(&path, "old").unwrap();
        for mode in [0o600, 0o664] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write_whole(&path, "new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!((fs::read_to_string(&path).unwrap(), names(folder.path()).len()), ("new".to_owned(), 1));
    }

    /// The name of the part would be too long.
    #[test]
    fn a_name_of_the_greatest_length_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        check_writable(&path).unwrap();
        assert_eq!(names(folder.path()).len(), 0);
        write_whole(&path, "all of it").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap(), names(folder.path()).len()), ("all of it".to_owned(), 1));
    }

    /// As a mounted file, a folder cannot be replaced by a rename.
    #[test]
    fn a_place_that_takes_no_part_is_known_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        let part = folder.path().join("taken.part");
        assert!(matches!(replace(&path, &part, "text"), Err(Trouble::NoPart(_))));
        assert!(check_writable(&path).unwrap_err().contains("taken cannot be written: "));
    }

    #[test]
    fn the_check_leaves_no_file_and_no_link_aside() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        check_writable(&link).unwrap();
        check_writable(&file).unwrap();
        assert_eq!(names(folder.path()), ["link"]);
    }

    /// The reader of a pipe sees its end when the check closes it, and leaves before the report comes.
    #[test]
    fn a_pipe_is_not_opened_by_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        check_writable(&pipe).unwrap();
        // On a thread that waits for ever, should the reader be gone.
        std::thread::spawn(move || write_whole(&pipe, "the report").unwrap());
        assert_eq!(reader.join().unwrap(), "the report");
    }
}
