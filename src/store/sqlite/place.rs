//! Whether the file at the database's path is still the one that is open.
//!
//! With a write-ahead log, SQLite does not look at that: it goes on writing into a file that was removed or moved, and
//! what it writes is gone with the process.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The file was moved, removed or replaced under the program that works on it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is no longer the file that is open ({found}): move it back, or stop the service and restore what is missing"
)]
pub struct Displaced {
    path: String,
    found: String,
}

/// A path and the file that was there when the database was opened; a cheap clone.
#[derive(Clone, Debug)]
pub struct Place {
    path: Arc<PathBuf>,
    file: (u64, u64),
}

impl Place {
    /// Remembers the file at this path.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: Arc::new(path.to_owned()), file: identity(path)? })
    }

    /// Succeeds while that file is there. It is asked before each write: a look at a folder takes a microsecond. The
    /// file is never opened for that, since closing it would end the locks that SQLite holds on it.
    pub fn check(&self) -> Result<(), Displaced> {
        let found = match identity(&self.path) {
            Ok(file) if file == self.file => return Ok(()),
            Ok(_) => "another one is there".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(Displaced { path: self.path.display().to_string(), found })
    }
}

impl From<Displaced> for sqlx::Error {
    fn from(displaced: Displaced) -> Self {
        Self::AnyDriverError(Box::new(displaced))
    }
}

/// Returns what makes a file the same under any name: its device and its number there.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Returns the same for all: elsewhere a file that is open can be neither moved nor removed.
#[cfg(not(unix))]
fn identity(_: &Path) -> io::Result<(u64, u64)> {
    Ok((0, 0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_in_its_place_until_it_is_moved_and_once_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("fathom.db"), folder.path().join("elsewhere"));
        fs::write(&path, "").unwrap();
        let place = Place::of(&path).unwrap();
        let found = || place.check().map_err(|displaced| displaced.to_string());
        fs::write(&path, "written to").unwrap();
        assert_eq!(found(), Ok(()));
        fs::rename(&path, &elsewhere).unwrap();
        assert!(found().unwrap_err().contains("No such file"));
        fs::write(&path, "").unwrap();
        assert!(found().unwrap_err().contains("another one is there"));
        fs::rename(&elsewhere, &path).unwrap();
        assert_eq!(found(), Ok(()));
    }
}
