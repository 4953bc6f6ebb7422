//! The index file of one folder: SQLite with FTS5. A cache, so whatever is wrong with it, it is rebuilt.
//!
//! It is no part of the database of runs (`store`): it belongs to a folder, not to a service, and several processes
//! may share it. The only SQL outside `store`.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Executor as _, Row, Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

use super::{query::spaced, rank::Candidate};
use crate::{
    domain::{
        Timestamp,
        digest::{hex, sha256},
    },
    files,
    search::Opened,
};

/// Raised whenever the tables, or what is made of a document, change: a test of this file knows what that is.
const VERSION: i64 = 8;
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// A document as the index keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub path: String,
    pub stamp: String,
    pub title: String,
    pub author: Option<String>,
    pub published: Option<String>,
    /// Why it, or a part of it, is not searched.
    pub skipped: Option<String>,
    /// When it is tried again, should that have helped.
    pub retry_at: Option<Timestamp>,
    pub passages: Vec<Passage>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Passage {
    pub url: String,
    pub section: Option<String>,
    pub headings: String,
    pub body: String,
}

/// What the index knows of a document without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedFile {
    pub stamp: String,
    pub skipped: Option<String>,
    pub retry_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Index {
    pool: SqlitePool,
}

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Rebuild it.
    #[error("the index file is damaged")]
    Unusable,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(sqlx::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match is_damage(&error) {
            true => Self::Unusable,
            false => Self::Sqlite(error),
        }
    }
}

/// Returns whether the error means damage: SQLite's CORRUPT, NOTADB, a read that hit the end of the file, a file
/// replaced under an open connection, and ERROR: our statements are constant and fit our own tables, so it is another
/// file that they do not fit.
fn is_damage(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| matches!(code & 0xff, 11 | 26) || matches!(code, 1 | 522 | 1032))
}

/// Names the file of the index of a folder.
pub(super) fn file_of(folder: &Path, index_dir: &Path) -> PathBuf {
    let name = hex(&sha256(folder.as_os_str().as_encoded_bytes())[..8]);
    index_dir.join(format!("{name}.db"))
}

impl Index {
    /// Opens an index file, or makes it, or rebuilds it when it is damaged or of another version.
    ///
    /// Processes that do so at once take turns: a lock file beside the index is held meanwhile.
    pub async fn open(file: &Path) -> Result<Self, Error> {
        let _lock = lock(&file.with_extension("lock")).await?;
        match Self::connect(file).await {
            Err(Error::Unusable) => {
                remove(file)?;
                Self::connect(file).await
            }
            opened => opened,
        }
    }

    /// Rebuilds an index whose damage showed only in use.
    pub async fn renew(file: &Path) -> Result<Self, Error> {
        let _lock = lock(&file.with_extension("lock")).await?;
        remove(file)?;
        Self::connect(file).await
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn connect(file: &Path) -> Result<Self, Error> {
        files::keep_private(file)?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(LOCK_TIMEOUT)
            .disable_statement_logging();
        let pool =
            SqlitePoolOptions::new().max_connections(4).acquire_timeout(LOCK_TIMEOUT).connect_with(options).await?;
        let index = Self { pool };
        match index.prepare().await {
            Ok(()) => Ok(index),
            Err(error) => {
                index.pool.close().await;
                Err(error)
            }
        }
    }

    /// Returns an index that is gone with its last holder; what has no room in memory goes into a file without a
    /// name.
    pub async fn temporary() -> Result<Self, Error> {
        let options = SqliteConnectOptions::new().filename("").disable_statement_logging();
        let pool = SqlitePoolOptions::new().max_connections(1).min_connections(1).idle_timeout(None).max_lifetime(None);
        let index = Self { pool: pool.connect_with(options).await? };
        index.prepare().await?;
        Ok(index)
    }

    /// Makes the tables of a new file; refuses those of another version.
    async fn prepare(&self) -> Result<(), Error> {
        let version: i64 = sqlx::query_scalar("pragma user_version").fetch_one(&self.pool).await?;
        let tables: i64 = sqlx::query_scalar("select count(*) from sqlite_schema").fetch_one(&self.pool).await?;
        match (version, tables) {
            (0, 0) => {}
            (VERSION, _) => return Ok(()),
            _ => return Err(Error::Unusable),
        }
        let mut tx = self.pool.begin_with("begin immediate").await?;
        tx.execute(
            "create table documents (path text primary key, stamp text not null, title text not null, author text, published text,
                 skipped text, retry_at integer) without rowid;
             create table passages (id integer primary key, path text not null, url text not null, section text,
                 headings text not null, body text not null, hash text not null);
             create index passages_of_document on passages (path);
             create virtual table words using fts5 (title, headings, body, content = '', contentless_delete = 1,
                 tokenize = 'porter unicode61 remove_diacritics 2');",
        )
        .await?;
        tx.execute(&*format!("pragma user_version = {VERSION}")).await?;
        Ok(tx.commit().await?)
    }

    /// Returns all documents by path.
    pub async fn known(&self) -> Result<HashMap<String, IndexedFile>, Error> {
        let rows = sqlx::query("select path, stamp, skipped, retry_at from documents").fetch_all(&self.pool).await?;
        let known = |row: SqliteRow| {
            let retry_at = row.try_get::<Option<i64>, _>(3)?.map(Timestamp);
            Ok((row.try_get(0)?, IndexedFile { stamp: row.try_get(1)?, skipped: row.try_get(2)?, retry_at }))
        };
        rows.into_iter().map(known).collect()
    }

    /// Stores documents in place of what was known under their paths, all or none.
    pub async fn put(&self, entries: &[Entry]) -> Result<(), Error> {
        let mut tx = self.pool.begin_with("begin immediate").await?;
        for entry in entries {
            forget(&mut tx, &entry.path).await?;
            insert(&mut tx, entry).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Drops documents that are gone.
    pub async fn forget(&self, paths: &[String]) -> Result<(), Error> {
        let mut tx = self.pool.begin_with("begin immediate").await?;
        for path in paths {
            forget(&mut tx, path).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Returns the document of that path with all its passages, in reading order.
    pub async fn document(&self, path: &str) -> Result<Option<Opened>, Error> {
        let found = sqlx::query("select title, author, published from documents where path = $1").bind(path);
        let Some(document) = found.fetch_optional(&self.pool).await? else { return Ok(None) };
        let passages = sqlx::query("select url, section, body from passages where path = $1 order by id").bind(path);
        let passage = |row: SqliteRow| {
            Ok(crate::search::Passage { url: row.try_get(0)?, section: row.try_get(1)?, text: row.try_get(2)? })
        };
        let passages = passages.fetch_all(&self.pool).await?.into_iter().map(passage);
        Ok(Some(Opened {
            title: document.try_get(0)?,
            author: document.try_get(1)?,
            published: document.try_get(2)?,
            engine: String::new(),
            passages: passages.collect::<Result<_, sqlx::Error>>()?,
        }))
    }

    /// Returns the passages that fit an FTS5 expression best, titles and headings weighing more than text. Copies are
    /// removed before the limit, so that one repeated passage does not take all places.
    pub async fn search(&self, expression: &str, max: usize) -> Result<Vec<Candidate>, Error> {
        let rows = sqlx::query(
            "with fitting as materialized (
                 select rowid as id, -bm25(words, 2.0, 2.0, 1.0) as relevance from words where words match $1
             ), copies as (
                 select f.id, f.relevance,
                     row_number() over (partition by p.hash order by f.relevance desc, p.url) as copy
                 from fitting f join passages p on p.id = f.id
             ), best as materialized (
                 select id, relevance from copies where copy = 1 order by relevance desc limit $2
             )
             select p.path, p.url, d.title, d.published, p.section, p.headings, p.body, p.hash, b.relevance
             from best b join passages p on p.id = b.id join documents d on d.path = p.path
             order by b.relevance desc",
        )
        .bind(expression)
        .bind(i64::try_from(max).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(candidate).collect::<Result<_, sqlx::Error>>()?)
    }
}

fn candidate(row: &SqliteRow) -> Result<Candidate, sqlx::Error> {
    Ok(Candidate {
        path: row.try_get(0)?,
        url: row.try_get(1)?,
        title: row.try_get(2)?,
        published: row.try_get(3)?,
        section: row.try_get(4)?,
        headings: row.try_get(5)?,
        body: row.try_get(6)?,
        hash: row.try_get(7)?,
        bm25: row.try_get(8)?,
    })
}

async fn forget(tx: &mut Transaction<'static, Sqlite>, path: &str) -> Result<(), sqlx::Error> {
    for statement in [
        "delete from words where rowid in (select id from passages where path = $1)",
        "delete from passages where path = $1",
        "delete from documents where path = $1",
    ] {
        sqlx::query(statement).bind(path).execute(&mut **tx).await?;
    }
    Ok(())
}

async fn insert(tx: &mut Transaction<'static, Sqlite>, entry: &Entry) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into documents (path, stamp, title, author, published, skipped, retry_at) values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&entry.path)
    .bind(&entry.stamp)
    .bind(&entry.title)
    .bind(&entry.author)
    .bind(&entry.published)
    .bind(&entry.skipped)
    .bind(entry.retry_at.map(|at| at.0))
    .execute(&mut **tx)
    .await?;
    // Who wrote it is looked for too.
    let title = format!("{} {} {}", entry.title, entry.path, entry.author.as_deref().unwrap_or_default());
    for passage in &entry.passages {
        insert_passage(tx, &entry.path, &title, passage).await?;
    }
    Ok(())
}

async fn insert_passage(
    tx: &mut Transaction<'static, Sqlite>,
    path: &str,
    title: &str,
    passage: &Passage,
) -> Result<(), sqlx::Error> {
    let statement = "insert into passages (path, url, section, headings, body, hash) values ($1, $2, $3, $4, $5, $6)";
    let id = sqlx::query(statement)
        .bind(path)
        .bind(&passage.url)
        .bind(&passage.section)
        .bind(&passage.headings)
        .bind(&passage.body)
        .bind(hash(&passage.body))
        .execute(&mut **tx)
        .await?
        .last_insert_rowid();
    sqlx::query("insert into words (rowid, title, headings, body) values ($1, $2, $3, $4)")
        .bind(id)
        .bind(spaced(title))
        .bind(spaced(&passage.headings))
        .bind(spaced(&passage.body))
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Hashes the letters and digits alone, so that marks and line ends do not tell copies apart; those before digits do,
/// since 1.5 is not 15, and -5 not 5.
fn hash(body: &str) -> String {
    let (mut letters, mut before) = (String::with_capacity(body.len()), ' ');
    for char in body.chars() {
        if char.is_numeric() && ".,:/-−+".contains(before) {
            letters.push(before);
        }
        if char.is_alphanumeric() {
            letters.extend(char.to_lowercase());
        }
        before = char;
    }
    hex(&sha256(letters.as_bytes())[..16])
}

/// Waits for the lock file, at most [`LOCK_TIMEOUT`]; dropping the file gives it free.
async fn lock(path: &Path) -> Result<File, Error> {
    let file = files::keep_private(path)?;
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(20)).await
            }
            Err(TryLockError::WouldBlock) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// Removes an index file and what SQLite keeps beside it. Who still has it open goes on with the removed one.
fn remove(file: &Path) -> io::Result<()> {
    for ending in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pages::{Format, extract},
        search::engines::local::refresh::filled,
    };

    /// What the index of this version holds of the documents below.
    const KNOWN: (i64, &str) = (8, "ef04529e60925da0");

    const FOLDERS: [&str; 2] = ["tests/formats", "examples/library"];
    const TEXTS: [(&str, &str); 3] = [
        ("gate.md", "- **Dr.** Lund chairs the board of the gate.\n- **Dues**\n  are 4 crowns."),
        ("orders.csv", "status,since\napproved,2019-05-03\n"),
        (
            "decision.txt",
            "DECISION\n\n3 May 2031\n\nIt is closed.  So it stays.\x0cPage 2\n\n5 June 2031\n\nAda Lund\n",
        ),
    ];

    /// Returns the names and bytes of what is read of a folder, in order.
    fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let document = |path: PathBuf| match path.is_dir() {
            true => documents(&path),
            false => vec![(path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())],
        };
        paths.into_iter().flat_map(document).collect()
    }

    /// Returns all that the index would hold of a document.
    fn kept(name: &str, bytes: Vec<u8>) -> Option<String> {
        let format = Format::of_extension(name.rsplit_once('.')?.1)?;
        let entry = Entry { path: name.to_owned(), title: name.to_owned(), ..Entry::default() };
        let entry = filled(entry, extract::read(format, bytes).unwrap_or_else(|error| panic!("{name}: {error}")));
        let passages = entry.passages.iter().flat_map(|passage| {
            let section = passage.section.clone().unwrap_or_default();
            [passage.url.clone(), section, spaced(&passage.headings), spaced(&passage.body), hash(&passage.body)]
        });
        let own = [Some(entry.path), Some(entry.title), entry.author, entry.published, entry.skipped];
        Some(own.map(Option::unwrap_or_default).into_iter().chain(passages).collect::<Vec<_>>().join("\0"))
    }

    /// An index of another version is made again; one that is not keeps the passages and dates of the program before.
    #[test]
    fn what_documents_become_has_a_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let texts = TEXTS.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let all = FOLDERS.iter().flat_map(|folder| documents(&root.join(folder))).chain(texts);
        let kept: Vec<String> = all.filter_map(|(name, bytes)| kept(&name, bytes)).collect();
        let digest = hex(&sha256(kept.join("\0").as_bytes())[..8]);
        assert_eq!(
            (VERSION, digest.as_str()),
            KNOWN,
            "what is made of documents, or VERSION, has changed alone: if the index would hold something else of the \
             same documents, raise VERSION (once per release is enough); then write both into KNOWN",
        );
    }

    #[tokio::test]
    async fn copies_take_one_place_of_the_limit() {
        let passage = |number: usize, body: &str| Passage {
            url: format!("minutes.txt#passage={number}"),
            body: body.to_owned(),
            ..Passage::default()
        };
        let other = passage(9, "The gate is shut while the dues of the year are not paid.");
        let passages = (1..9).map(|number| passage(number, "Dues, dues!")).chain([other]).collect();
        let entry = Entry { path: "minutes.txt".to_owned(), title: "Minutes".to_owned(), passages, ..Entry::default() };
        let index = Index::temporary().await.unwrap();
        index.put(&[entry]).await.unwrap();
        let found = index.search("\"dues\"", 2).await.unwrap();
        let urls: Vec<_> = found.iter().map(|candidate| &*candidate.url).collect();
        assert_eq!(urls, ["minutes.txt#passage=1", "minutes.txt#passage=9"]);
    }

    #[test]
    fn copies_have_the_same_numbers() {
        assert_eq!(hash("Dues: four crowns,\npaid \u{201c}yearly\u{201d}."), hash("dues four crowns paid yearly"));
        assert_ne!(hash("The fee is 1.5 crowns."), hash("The fee is 15 crowns."));
        assert_ne!(hash("It was -5 °C."), hash("It was 5 °C."));
    }
}
