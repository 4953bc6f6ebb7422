//! Sources and notes: what research produced.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use sqlx::{QueryBuilder, Row as _, query};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, Row, SNAPSHOT, WITHOUT_SNAPSHOT,
    rows::{pieces, unsigned},
    snapshot,
};
use crate::{
    domain::{Note, RunId, Source, SourceId, Timestamp, claim::Passage, digest, same},
    store::{
        Error,
        group::Group,
        off_runtime,
        tables::{SOURCES, names, url_hash},
    },
};

/// Everything of a run's sources but their texts.
static SELECT: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM sources WHERE run_id = $1 ORDER BY id", columns(WITHOUT_SNAPSHOT)));

static SELECT_WITH_TEXTS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM sources WHERE run_id = $1 ORDER BY id", columns(SNAPSHOT)));

/// Returns the columns of a source, its text as `snapshot` says.
fn columns(snapshot: &str) -> String {
    names(&SOURCES, "").replace(", snapshot,", &format!(", {snapshot},"))
}

/// A page of a run: the run and the SHA-256 of the URL.
type PageKey = (Uuid, Vec<u8>);

impl Engine {
    pub async fn sources(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        let mut connection = self.reader().await?;
        let rows = query(&SELECT).bind(run_id.0).fetch_all(&mut *connection).await?;
        Ok(same::joined(rows.iter().map(source).collect::<Result<_, Error>>()?))
    }

    pub async fn snapshots(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        let mut connection = self.reader().await?;
        read_all(query(&SELECT_WITH_TEXTS).bind(run_id.0).fetch_all(&mut *connection).await?).await
    }

    pub async fn snapshots_of(&self, run_id: RunId, ids: &[SourceId]) -> Result<Vec<Source>, Error> {
        let mut connection = self.reader().await?;
        let mut sources = Vec::new();
        for piece in pieces(ids) {
            let columns = columns(SNAPSHOT);
            let mut query = QueryBuilder::<Db>::new(format!("SELECT {columns} FROM sources WHERE run_id = "));
            query.push_bind(run_id.0).push(" AND id IN (");
            let mut listed = query.separated(", ");
            for id in piece {
                listed.push_bind(i64::from(id.0));
            }
            sources.extend(read_all(query.push(")").build().fetch_all(&mut *connection).await?).await?);
        }
        Ok(sources)
    }

    pub async fn source(&self, run_id: RunId, source_id: SourceId) -> Result<Option<Source>, Error> {
        let known = self.sources(run_id).await?;
        let Some(found) = known.into_iter().find(|known| known.ids().any(|id| id == source_id)) else {
            return Ok(None);
        };
        Ok(self.with_texts(run_id, vec![found]).await?.pop())
    }

    /// Returns sources of a run with all that it saw of them.
    async fn with_texts(&self, run_id: RunId, sources: Vec<Source>) -> Result<Vec<Source>, Error> {
        let ids: Vec<SourceId> = sources.iter().flat_map(Source::ids).collect();
        let rows = self.snapshots_of(run_id, &ids).await?;
        let others = self.other_texts(run_id).await?;
        let with_texts = move || {
            let mut by_address: HashMap<&str, Vec<&str>> = HashMap::new();
            others.iter().for_each(|(url, text)| by_address.entry(url).or_default().push(text));
            let of_address = |address: &str| by_address.get(address).cloned().unwrap_or_default();
            let seen = |source| same::with_other_texts(same::with_texts(source, &rows), of_address);
            sources.into_iter().map(seen).collect()
        };
        off_runtime(with_texts).await
    }

    /// Returns the texts of a run, by address, that are not those of its sources; each once.
    pub async fn other_texts(&self, run_id: RunId) -> Result<Vec<(String, String)>, Error> {
        let mut connection = self.reader().await?;
        // Those of the whole run first: the report was checked by them.
        let select = query("SELECT value FROM steps WHERE run_id = $1 AND (key = $2 OR key LIKE $3) ORDER BY key");
        let select = select.bind(run_id.0).bind(Source::OTHER_TEXTS).bind(format!("{}/r%", Source::OTHER_TEXTS));
        let rows = select.fetch_all(&mut *connection).await?;
        let values: Vec<String> = rows.iter().map(|row| row.try_get("value")).collect::<Result<_, _>>()?;
        // Others may read while these are looked at.
        drop(connection);
        let texts = move || {
            // Of another release, should it not be read.
            let mut texts: Vec<(String, String)> =
                values.iter().flat_map(|value| serde_json::from_str(value).unwrap_or_else(|_| Vec::new())).collect();
            let mut known = HashSet::new();
            texts.retain(|text| known.insert(digest::sha256_json(text)));
            texts
        };
        off_runtime(texts).await
    }

    /// Returns the notes of a run, the passages of their statements placed in the sources as they are now: what the run
    /// saw of a source later may stand before them.
    pub async fn placed_notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        let mut notes = self.notes(run_id).await?;
        let cited: HashSet<SourceId> = passages(&mut notes).map(|(id, _)| id).collect();
        if cited.is_empty() {
            return Ok(notes);
        }
        let mut sources = self.sources(run_id).await?;
        sources.retain(|source| source.ids().any(|id| cited.contains(&id)));
        let sources = self.with_texts(run_id, sources).await?;
        off_runtime(move || {
            let texts: HashMap<SourceId, &str> =
                sources.iter().flat_map(|source| source.ids().map(|id| (id, &*source.snapshot))).collect();
            for (id, passage) in passages(&mut notes) {
                texts.get(&id).into_iter().for_each(|text| passage.place_in(text));
            }
            notes
        })
        .await
    }

    pub async fn notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        let mut connection = self.reader().await?;
        let select = query("SELECT researcher, topic, text FROM notes WHERE run_id = $1 ORDER BY researcher");
        let rows = select.bind(run_id.0).fetch_all(&mut *connection).await?;
        let mut notes: Vec<Note> = rows.iter().map(note).collect::<Result<_, Error>>()?;
        let select = query("SELECT key, value FROM steps WHERE run_id = $1 AND key LIKE $2");
        let select = select.bind(run_id.0).bind(format!("{}%", Note::STATEMENTS));
        for row in select.fetch_all(&mut *connection).await? {
            let key: &str = row.try_get("key")?;
            if let Some(note) = notes.iter_mut().find(|note| Note::statements_key(note.researcher) == key) {
                // Of another release, should it not be read.
                note.statements = serde_json::from_str(row.try_get("value")?).unwrap_or_default();
            }
        }
        Ok(notes)
    }
}

/// Returns the passages of all notes, each with its source.
fn passages(notes: &mut [Note]) -> impl Iterator<Item = (SourceId, &mut Passage)> {
    let statements = notes.iter_mut().flat_map(|note| &mut note.statements);
    let supports = statements.flat_map(|statement| &mut statement.sources);
    supports.filter_map(|support| Some((support.source_id, support.passage.as_mut()?)))
}

/// Gives pages that the database has already the ids under which they were met again, and takes them out of the group:
/// the first source of a page stays.
pub async fn join_known_pages(connection: &mut Connection, group: &mut Group<'_>) -> Result<(), Error> {
    if group.sources.is_empty() {
        return Ok(());
    }
    let runs = &group.runs;
    let keys = group.sources.iter().map(|source| (runs[source.run].lease.run_id.0, url_hash(&source.row.url)));
    let keys: Vec<PageKey> = keys.collect();
    let mut known = known_pages(connection, &keys).await?;
    let mut changed = Vec::new();
    for (key, source) in keys.into_iter().zip(std::mem::take(&mut group.sources)) {
        let Some((id, aliases)) = known.get_mut(&key) else {
            group.sources.push(source);
            continue;
        };
        let before = aliases.len();
        let ids = source.row.aliases.iter().copied().chain([source.row.id]);
        Source::join_ids(id, aliases, ids);
        if aliases.len() > before {
            changed.push(key);
        }
    }
    let changed: Vec<_> = changed.into_iter().filter_map(|key| known.remove(&key).map(|ids| (key, ids))).collect();
    update_ids(connection, &changed).await
}

/// Returns which of these pages the database has, with id and aliases.
async fn known_pages(
    connection: &mut Connection,
    keys: &[PageKey],
) -> Result<HashMap<PageKey, (SourceId, Vec<SourceId>)>, Error> {
    let mut known = HashMap::new();
    for piece in pieces(keys) {
        let mut query =
            QueryBuilder::<Db>::new("SELECT run_id, url_hash, id, aliases FROM sources WHERE (run_id, url_hash) IN (");
        query.push_values(piece, |mut row, (run_id, hash)| {
            row.push_bind(*run_id).push_bind(hash.clone());
        });
        for row in query.push(")").build().fetch_all(&mut *connection).await? {
            let page = (SourceId(unsigned(row.try_get("id")?)?), serde_json::from_str(row.try_get("aliases")?)?);
            known.insert((row.try_get("run_id")?, row.try_get("url_hash")?), page);
        }
    }
    Ok(known)
}

async fn update_ids(connection: &mut Connection, pages: &[(PageKey, (SourceId, Vec<SourceId>))]) -> Result<(), Error> {
    for ((run_id, hash), (id, aliases)) in pages {
        query("UPDATE sources SET id = $3, aliases = $4 WHERE run_id = $1 AND url_hash = $2")
            .bind(*run_id)
            .bind(hash.clone())
            .bind(i64::from(id.0))
            .bind(serde_json::to_string(aliases)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Reads rows with their texts, which may have to be decompressed.
async fn read_all(rows: Vec<Row>) -> Result<Vec<Source>, Error> {
    off_runtime(move || rows.iter().map(source).collect()).await?
}

fn source(row: &Row) -> Result<Source, Error> {
    let keys: Option<&str> = row.try_get("keys")?;
    Ok(Source {
        id: SourceId(unsigned(row.try_get("id")?)?),
        aliases: serde_json::from_str(row.try_get("aliases")?)?,
        url: row.try_get("url")?,
        title: row.try_get("title")?,
        section: row.try_get("section")?,
        engine: row.try_get("engine")?,
        score: row.try_get("score")?,
        published: row.try_get("published")?,
        author: row.try_get("author")?,
        site: row.try_get("site")?,
        fetched_at: Timestamp(row.try_get("fetched_at")?),
        content_hash: row.try_get("content_hash")?,
        snapshot: snapshot(row)?,
        addresses: Vec::new(),
        keys: keys.map(serde_json::from_str).transpose()?.unwrap_or_default(),
    })
}

fn note(row: &Row) -> Result<Note, Error> {
    Ok(Note {
        researcher: unsigned(row.try_get("researcher")?)?,
        topic: row.try_get("topic")?,
        text: row.try_get("text")?,
        statements: Vec::new(),
    })
}
