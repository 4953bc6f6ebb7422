//! Which files of a folder are documents: a bounded walk that reads nothing but names and sizes.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsString,
    fs::{self, DirEntry, Metadata},
    io,
    path::{Path, PathBuf},
};

use super::{Settings, address};
use crate::{pages::Format, search::Skipped};

/// Folders nested deeper are skipped.
const MAX_DEPTH: usize = 64;
/// Names looked at, documents or not; a whole disk given by mistake ends here.
const MAX_NAMES: usize = 500_000;

/// A document as the walk found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Relative, `/` between names, percent-safe: the document's address and its key in the index.
    pub path: String,
    /// The same for people.
    pub shown: String,
    /// Its name, which for a link is not the name of what it leads to.
    pub name: OsString,
    /// Relative, without links: what is read.
    pub file: PathBuf,
    pub format: Format,
    /// Changes when the file does: size, times, identity.
    pub stamp: String,
}

/// What a walk brings back, ordered by path.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The folder itself, without links.
    pub root: PathBuf,
    pub found: Vec<FoundFile>,
    pub skipped: Vec<Skipped>,
    /// Where it could not look, as in [`FoundFile::path`]: what was there may be there still.
    unseen: HashSet<String>,
}

impl Walk {
    /// Returns whether the document of that path may be there although it was not found.
    pub fn may_have(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.chain([path]).any(|part| self.unseen.contains(part))
    }
}

/// Walks `folder`. Names that begin with a dot are passed over in silence, and so are links to what is in the folder
/// anyway; links that lead out of it are not followed but reported.
///
/// # Errors
/// Only when the folder itself cannot be listed.
pub(super) fn walk(folder: &Path, settings: &Settings) -> io::Result<Walk> {
    let folder = folder.canonicalize()?;
    let mut walker = Walker::new(folder.clone(), settings);
    walker.list(&folder, 0)?;
    while let Some((inner, depth)) = walker.open.pop() {
        if let Err(error) = walker.list(&inner, depth) {
            walker.miss(&inner, &error);
        }
    }
    Ok(walker.finish())
}

struct Walker<'a> {
    root: PathBuf,
    settings: &'a Settings,
    walk: Walk,
    /// Folders still to be listed, with their depth.
    open: Vec<(PathBuf, usize)>,
    names: usize,
    total_bytes: u64,
    /// How many files end in what we do not read.
    others: BTreeMap<String, usize>,
}

impl<'a> Walker<'a> {
    fn new(root: PathBuf, settings: &'a Settings) -> Self {
        Self {
            root,
            settings,
            walk: Walk::default(),
            open: Vec::new(),
            names: 0,
            total_bytes: 0,
            others: BTreeMap::new(),
        }
    }

    fn list(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let room = MAX_NAMES - self.names;
        let mut entries = fs::read_dir(folder)?.take(room).collect::<io::Result<Vec<_>>>()?;
        self.names += entries.len();
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries.iter().filter(|entry| !is_hidden(entry)) {
            self.visit(entry, depth);
        }
        Ok(())
    }

    fn visit(&mut self, entry: &DirEntry, depth: usize) {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_symlink() => self.visit_link(&path),
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => self.open.push((path, depth + 1)),
            Ok(metadata) if metadata.is_dir() => self.skip(&path, format!("nested more than {MAX_DEPTH} folders deep")),
            Ok(metadata) => self.visit_file(&path, self.relative(&path).to_owned(), &metadata),
            Err(error) => self.miss(&path, &error),
        }
    }

    /// Visits a link, which counts only if it leads to a file that the walk would not meet by itself: mounted
    /// configuration looks like that, names that link into a hidden folder beside them.
    fn visit_link(&mut self, path: &Path) {
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) => {
                self.note_unseen(path, &error);
                return self.skip(path, "a link that leads nowhere");
            }
        };
        let Ok(inside) = target.strip_prefix(&self.root) else {
            return self.skip(path, "a link that leads out of the folder");
        };
        let is_hidden = inside.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
        match fs::metadata(&target) {
            Ok(metadata) if is_hidden && metadata.is_file() => self.visit_file(path, inside.to_owned(), &metadata),
            Ok(_) => {}
            Err(error) => self.miss(path, &error),
        }
    }

    fn visit_file(&mut self, path: &Path, file: PathBuf, metadata: &Metadata) {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let Some(format) = extension.as_deref().and_then(Format::of_extension) else {
            *self.others.entry(extension.unwrap_or_default()).or_default() += 1;
            return;
        };
        if let Some(reason) = self.refusal(metadata) {
            return self.skip(path, reason);
        }
        self.total_bytes += metadata.len();
        let name = path.file_name().unwrap_or_default().to_owned();
        let (path, shown) = (address::of_path(self.relative(path)), address::shown(self.relative(path)));
        self.walk.found.push(FoundFile { path, shown, name, file, format, stamp: stamp(metadata) });
    }

    fn refusal(&self, metadata: &Metadata) -> Option<String> {
        let Settings { max_file_bytes, max_files, max_total_bytes, .. } = *self.settings;
        let megabytes = |bytes: u64| bytes.div_ceil(1024 * 1024);
        match metadata {
            metadata if !metadata.is_file() => Some("not a regular file".into()),
            metadata if metadata.len() > max_file_bytes => {
                Some(format!("larger than {} MB (it has {} MB)", megabytes(max_file_bytes), megabytes(metadata.len())))
            }
            _ if self.walk.found.len() >= max_files => Some(format!("beyond the limit of {max_files} documents")),
            metadata if self.total_bytes.saturating_add(metadata.len()) > max_total_bytes => {
                Some(format!("beyond the limit of {} MB in all", megabytes(max_total_bytes)))
            }
            _ => None,
        }
    }

    fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    fn skip(&mut self, path: &Path, reason: impl Into<String>) {
        let path = address::shown(self.relative(path));
        self.walk.skipped.push(Skipped { path, reason: reason.into() });
    }

    /// Skips what could not be looked at.
    fn miss(&mut self, path: &Path, error: &io::Error) {
        self.note_unseen(path, error);
        self.skip(path, reason(error));
    }

    /// Notes a path at which documents may be, unless the error says that there are none to be read.
    fn note_unseen(&mut self, path: &Path, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) {
            self.walk.unseen.insert(address::of_path(self.relative(path)));
        }
    }

    fn finish(mut self) -> Walk {
        if self.names >= MAX_NAMES {
            self.walk.skipped.push(Skipped {
                path: ".".into(),
                reason: format!("more than {MAX_NAMES} names; the rest was not looked at"),
            });
        }
        let others = std::mem::take(&mut self.others).into_iter().map(|(extension, count)| Skipped {
            path: if extension.is_empty() {
                "*".into()
            } else {
                format!("*.{}", address::shown(Path::new(&extension)))
            },
            reason: format!("{count} of a kind that is not read"),
        });
        self.walk.skipped.extend(others);
        self.walk.root = self.root;
        self.walk.found.sort_by(|one, other| one.path.cmp(&other.path));
        self.walk
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Returns a reason for people; paths and numbers of the operating system left out.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "not allowed to read it".into(),
        io::ErrorKind::NotFound => "it went away while it was read".into(),
        kind => format!("could not read it: {kind}"),
    }
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    format!("{} {}.{} {}.{} {}", metadata.len(), modified.0, modified.1, changed.0, changed.1, metadata.ino())
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> String {
    let modified =
        metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    format!("{} {}", metadata.len(), modified.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_looked_at_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let mut walker = Walker::new(folder.path().to_owned(), &settings);
        walker.miss(&folder.path().join("minutes 2031"), &io::Error::from(io::ErrorKind::TimedOut));
        walker.miss(&folder.path().join("a.txt"), &io::Error::from(io::ErrorKind::StaleNetworkFileHandle));
        walker.miss(&folder.path().join("gone"), &io::Error::from(io::ErrorKind::NotFound));
        walker.miss(&folder.path().join("shut"), &io::Error::from(io::ErrorKind::PermissionDenied));
        let walk = walker.finish();
        assert_eq!(walk.skipped.len(), 4);
        let check = |path: &str, expected: bool| {
            let path = address::of_path(Path::new(path));
            assert_eq!(walk.may_have(&path), expected, "{path}");
        };
        check("minutes 2031/may/dues.txt", true);
        check("minutes 2031", true);
        check("a.txt", true);
        check("minutes 2031.txt", false);
        check("minutes/dues.txt", false);
        check("gone/dues.txt", false);
        check("shut/dues.txt", false);
    }

    /// A link that leads to itself fails as a share does that is away: not as one that leads nowhere.
    #[cfg(unix)]
    #[test]
    fn a_link_that_cannot_be_followed_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        for (link, target) in [("loop.txt", "loop.txt"), ("nowhere.txt", "none")] {
            std::os::unix::fs::symlink(folder.path().join(target), folder.path().join(link)).unwrap();
        }
        let walk = walk(folder.path(), &Settings::default()).unwrap();
        assert_eq!(["loop.txt", "nowhere.txt"].map(|path| walk.may_have(path)), [true, false]);
    }
}
