//! What this process does for which run, written where the next process finds it.
//!
//! A process that is killed cannot say why. A run can be the reason only while our own code works on it; one that waits
//! for a model, a search, the database or a pause cannot. So each process keeps a small file with a slot for each of
//! its runs, and a byte in it says whether the run's task is being polled just now. Writing the byte is one system call
//! and no commit; what is written outlives the process, since it is with the system already. The process holds a lock
//! on the file, which ends with it however it ends: who gets the lock has proved the death, whatever `/proc` shows.
//!
//! Knows nothing of what runs do. What is made of the marks of the dead is the store's (`Store::settle`).

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::{domain::RunId, files, store::End};

/// The worker's name, padded with line ends.
const HEAD: usize = 512;
/// A run's id, its epoch, whether our own code is at work on it, and padding.
const SLOT: usize = 32;
const STATE: u64 = 24;
const FREE: u8 = 0;
const WAITING: u8 = 1;
const IN_OWN_WORK: u8 = 2;
/// What a file may hold at most; there is a slot for each run at work.
const LONGEST: u64 = 1 << 20;

/// The marks of this process.
#[derive(Debug)]
pub struct Marks {
    folder: PathBuf,
    worker: Arc<str>,
    /// Made with the first mark; `None` when that was not possible, and then nobody learns why this process died.
    file: OnceLock<Option<(PathBuf, File)>>,
    /// Which slots are taken. Locked for access to the list only.
    taken: Mutex<Vec<bool>>,
}

impl Marks {
    /// Keeps those of the process named `worker` in a file of its own in `folder`.
    pub fn new(folder: PathBuf, worker: Arc<str>) -> Self {
        Self { folder, worker, file: OnceLock::new(), taken: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Enters a run that was claimed; it is struck off when the mark is dropped.
    pub fn enter(self: &Arc<Self>, run_id: RunId, epoch: i64) -> Arc<Mark> {
        let slot = {
            let mut taken = self.taken.lock();
            let free = taken.iter().position(|taken| !taken).unwrap_or(taken.len());
            if free == taken.len() {
                taken.push(true);
            } else {
                taken[free] = true;
            }
            free
        };
        let mark = Mark { marks: Arc::clone(self), slot, at_work: Mutex::new(0) };
        let mut row = [0; SLOT];
        row[..16].copy_from_slice(run_id.0.as_bytes());
        row[16..24].copy_from_slice(&epoch.to_le_bytes());
        row[24] = WAITING;
        self.write(&row, mark.offset());
        Arc::new(mark)
    }

    /// Writes to the file, as a best effort: without the file no death can be explained, and that is all.
    fn write(&self, bytes: &[u8], offset: u64) {
        let file = self.file.get_or_init(|| {
            let opened = open(&self.folder, &self.worker);
            let tell = |error: &io::Error| {
                let folder = self.folder.display();
                tracing::warn!(%folder, %error, "there is no place to note what this process is doing");
            };
            opened.inspect_err(tell).ok()
        });
        if let Some((_, file)) = file {
            let _ = write_at(file, bytes, offset);
        }
    }
}

impl Drop for Marks {
    /// Removes the file: an orderly end leaves nothing to explain.
    fn drop(&mut self) {
        if let Some(Some((path, _))) = self.file.get() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Locks before it writes; a file that somebody took for a dead one's in between is made again.
fn open(folder: &Path, worker: &str) -> io::Result<(PathBuf, File)> {
    files::create_private_folder(folder)?;
    for _ in 0..3 {
        let path = folder.join(format!("{}.at-work", Uuid::new_v4().simple()));
        let mut file = files::keep_private(&path)?;
        match file.try_lock() {
            Ok(()) if path.exists() => {}
            Ok(()) | Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        }
        let mut head = [b'\n'; HEAD];
        let name = worker.as_bytes();
        let length = name.len().min(HEAD - 1);
        head[..length].copy_from_slice(&name[..length]);
        file.write_all(&head)?;
        return Ok((path, file));
    }
    Err(io::Error::other("the file of this process is locked by another one"))
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset).map(drop)
}

/// The mark of one run.
#[derive(Debug)]
pub struct Mark {
    marks: Arc<Marks>,
    slot: usize,
    /// How many parts of the run are being worked on just now. Locked while that is written, so that what is written
    /// last is true.
    at_work: Mutex<u32>,
}

impl Mark {
    /// Returns the future, marked as own work whenever it is polled.
    pub fn over<F: Future>(self: &Arc<Self>, future: F) -> Marked<F> {
        Marked { mark: Arc::clone(self), future: Box::pin(future) }
    }

    fn begin(&self) -> OwnWork<'_> {
        let mut at_work = self.at_work.lock();
        *at_work += 1;
        if *at_work == 1 {
            self.marks.write(&[IN_OWN_WORK], self.offset() + STATE);
        }
        OwnWork(self)
    }

    fn offset(&self) -> u64 {
        (HEAD + self.slot * SLOT) as u64
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.marks.write(&[FREE], self.offset() + STATE);
        if let Some(taken) = self.marks.taken.lock().get_mut(self.slot) {
            *taken = false;
        }
    }
}

/// Own work in progress.
struct OwnWork<'a>(&'a Mark);

impl Drop for OwnWork<'_> {
    fn drop(&mut self) {
        let mut at_work = self.0.at_work.lock();
        *at_work -= 1;
        if *at_work == 0 {
            self.0.marks.write(&[WAITING], self.0.offset() + STATE);
        }
    }
}

/// See [`Mark::over`].
#[derive(Debug)]
pub struct Marked<F> {
    mark: Arc<Mark>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mark = Arc::clone(&self.mark);
        let _own_work = mark.begin();
        self.future.as_mut().poll(context)
    }
}

/// What a dead process left behind. Locked for the process that found it, until it is dropped.
#[derive(Debug)]
pub struct Dead {
    pub worker: String,
    pub ends: Vec<End>,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Dead {
    /// Removes the marks, once everything was made of them that can be.
    pub fn forget(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the dead processes that left marks in `folder`, which is made when it is missing: a service looks as soon
/// as it starts, so the folder is its own, whatever user takes the command line later.
pub fn dead(folder: &Path) -> Vec<Dead> {
    // Best effort, as with the marks.
    let _ = files::create_private_folder(folder);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "at-work"));
    paths.filter_map(|path| examine(path).ok().flatten()).collect()
}

fn examine(path: PathBuf) -> io::Result<Option<Dead>> {
    let file = OpenOptions::new().read(true).write(true).open(&path)?;
    // Its process lives, or somebody else is at it, or was until just now.
    if file.try_lock().is_err() || !path.exists() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    (&file).take(LONGEST).read_to_end(&mut bytes)?;
    let Some((head, slots)) = bytes.split_at_checked(HEAD) else {
        fs::remove_file(&path)?;
        return Ok(None);
    };
    let worker = String::from_utf8_lossy(head).trim_end_matches('\n').to_owned();
    let ends = slots.as_chunks::<SLOT>().0.iter().filter_map(end).collect();
    Ok(Some(Dead { worker, ends, path, _file: file }))
}

fn end(slot: &[u8; SLOT]) -> Option<End> {
    let (id, rest) = slot.split_first_chunk::<16>()?;
    let (epoch, rest) = rest.split_first_chunk::<8>()?;
    let state = *rest.first().filter(|state| **state != FREE)?;
    Some(End {
        run_id: RunId(Uuid::from_bytes(*id)),
        epoch: i64::from_le_bytes(*epoch),
        in_own_work: state == IN_OWN_WORK,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(folder: &Path, worker: &str) -> Arc<Marks> {
        Arc::new(Marks::new(folder.to_owned(), worker.into()))
    }

    /// Closes the file as the end of a process does, without its orderly part.
    fn die(marks: Arc<Marks>) {
        let (path, _) = marks.file.get().unwrap().as_ref().unwrap();
        let aside = path.with_extension("aside");
        fs::rename(path, &aside).unwrap();
        let path = path.clone();
        drop(marks);
        fs::rename(aside, path).unwrap();
    }

    #[tokio::test]
    async fn a_dead_process_tells_what_it_was_doing() {
        let folder = tempfile::tempdir().unwrap();
        let marks = marks(folder.path(), "machine/1/2/x");
        let (waiting, working, over) = (RunId::new(), RunId::new(), RunId::new());
        let waits = marks.enter(waiting, 3);
        waits.over(async {}).await;
        let works = marks.enter(working, 1);
        drop(marks.enter(over, 1));
        assert!(dead(folder.path()).is_empty(), "it lives");
        // In the middle of a poll, as a process that dies there.
        let own_work = works.begin();
        std::mem::forget(own_work);
        // The marks of runs at work are never dropped by a process that dies.
        std::mem::forget((Arc::clone(&waits), Arc::clone(&works)));
        let (path, _) = marks.file.get().unwrap().as_ref().unwrap();
        let copy = folder.path().join("copy.at-work");
        fs::copy(path, &copy).unwrap();
        let found = dead(folder.path());
        let [only] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(only.worker, "machine/1/2/x");
        let end = |run_id, epoch, in_own_work| End { run_id, epoch, in_own_work };
        assert_eq!(only.ends, [end(waiting, 3, false), end(working, 1, true)]);
        assert!(dead(folder.path()).is_empty(), "one finds it");
        drop(found);
        dead(folder.path()).remove(0).forget();
        assert!(dead(folder.path()).is_empty(), "and it is forgotten");
    }

    #[test]
    fn who_looks_first_makes_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let marks = folder.path().join("data").join("marks");
        assert!(dead(&marks).is_empty() && marks.is_dir());
    }

    #[test]
    fn an_orderly_end_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let marks = marks(folder.path(), "a");
        let mark = marks.enter(RunId::new(), 1);
        drop(mark);
        drop(marks);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_says_nothing_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let marks = marks(folder.path(), "a");
        drop(marks.enter(RunId::new(), 1));
        die(marks);
        assert_eq!(dead(folder.path()).remove(0).ends, []);
        fs::write(folder.path().join("short.at-work"), "a").unwrap();
        let found = dead(folder.path());
        assert_eq!(found.len(), 1);
        assert!(!folder.path().join("short.at-work").exists());
    }
}
