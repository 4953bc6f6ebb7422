//! Sources and notes: what research produced.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};
use sqlx::{QueryBuilder, Row as _, query};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, Row,
    rows::{insert, owned, pieces, unsigned},
};
use crate::{
    domain::{Note, RunId, Source, SourceId, Timestamp},
    store::Error,
};

/// A page of a run: the run and the SHA-256 of the URL.
type PageKey = (Uuid, Vec<u8>);

impl Engine {
    pub async fn sources(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        const SELECT: &str = "SELECT id, aliases, url, title, section, engine, score, published, fetched_at, \
            content_hash, '' AS snapshot FROM sources WHERE run_id = $1 ORDER BY id";
        let mut connection = self.reader().await?;
        query(SELECT).bind(run_id.0).fetch_all(&mut *connection).await?.iter().map(source).collect()
    }

    pub async fn snapshots(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        const SELECT: &str = "SELECT id, aliases, url, title, section, engine, score, published, fetched_at, \
            content_hash, snapshot FROM sources WHERE run_id = $1 ORDER BY id";
        let mut connection = self.reader().await?;
        query(SELECT).bind(run_id.0).fetch_all(&mut *connection).await?.iter().map(source).collect()
    }

    pub async fn source(&self, run_id: RunId, source_id: SourceId) -> Result<Option<Source>, Error> {
        const SELECT: &str = "SELECT id, aliases, url, title, section, engine, score, published, fetched_at, \
            content_hash, snapshot FROM sources WHERE run_id = $1 AND id = $2";
        let known = self.sources(run_id).await?;
        let Some(first) = known.iter().find(|known| known.id == source_id || known.aliases.contains(&source_id)) else {
            return Ok(None);
        };
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(run_id.0).bind(i64::from(first.id.0));
        select.fetch_optional(&mut *connection).await?.as_ref().map(source).transpose()
    }

    pub async fn notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        let mut connection = self.reader().await?;
        let select = query("SELECT researcher, topic, text FROM notes WHERE run_id = $1 ORDER BY researcher");
        select.bind(run_id.0).fetch_all(&mut *connection).await?.iter().map(note).collect()
    }
}

/// Inserts notes; each researcher of a run writes one.
pub async fn insert_notes(connection: &mut Connection, notes: &[(RunId, &Note)]) -> Result<(), sqlx::Error> {
    insert(connection, "INSERT INTO notes (run_id, researcher, topic, text) ", notes, |mut row, (run_id, note)| {
        row.push_bind(run_id.0)
            .push_bind(i64::from(note.researcher))
            .push_bind(owned(&note.topic))
            .push_bind(owned(&note.text));
    })
    .await
}

/// Stores sources in the order given: the first of a page stays, later ones give it their ids.
pub async fn store_sources(connection: &mut Connection, sources: &[(RunId, &Source)]) -> Result<(), Error> {
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<PageKey> = sources.iter().map(|(run_id, source)| page_key(*run_id, source)).collect();
    let mut known = known_pages(connection, &keys).await?;
    let mut new: HashMap<PageKey, Source> = HashMap::new();
    let mut changed: Vec<PageKey> = Vec::new();
    for (key, (_, source)) in keys.into_iter().zip(sources) {
        if let Some((id, aliases)) = known.get_mut(&key) {
            if join(id, aliases, source) && !changed.contains(&key) {
                changed.push(key);
            }
        } else if let Some(first) = new.get_mut(&key) {
            join(&mut first.id, &mut first.aliases, source);
        } else {
            new.insert(key, (*source).clone());
        }
    }
    insert_sources(connection, &new.into_iter().collect::<Vec<_>>()).await?;
    let changed: Vec<_> = changed.into_iter().filter_map(|key| known.remove(&key).map(|ids| (key, ids))).collect();
    update_ids(connection, &changed).await
}

/// Adds the ids of `other` to those of the page; `true` when that changed them.
fn join(id: &mut SourceId, aliases: &mut Vec<SourceId>, other: &Source) -> bool {
    let before = aliases.len();
    Source::join_ids(id, aliases, other.aliases.iter().copied().chain([other.id]));
    aliases.len() > before
}

fn page_key(run_id: RunId, source: &Source) -> PageKey {
    (run_id.0, Sha256::digest(source.url.as_bytes()).to_vec())
}

/// Which of these pages the database has, with id and aliases.
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

async fn insert_sources(connection: &mut Connection, sources: &[(PageKey, Source)]) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO sources (run_id, url_hash, id, aliases, url, title, section, engine, score, \
        published, fetched_at, content_hash, snapshot) ";
    let aliases = sources.iter().map(|(_, source)| serde_json::to_string(&source.aliases));
    let aliases: Vec<String> = aliases.collect::<Result<_, _>>()?;
    let rows: Vec<_> = sources.iter().zip(aliases).collect();
    insert(connection, INSERT, &rows, |mut row, (((run_id, hash), source), aliases)| {
        row.push_bind(*run_id)
            .push_bind(hash.clone())
            .push_bind(i64::from(source.id.0))
            .push_bind(aliases.clone())
            .push_bind(owned(&source.url))
            .push_bind(owned(&source.title))
            .push_bind(source.section.as_deref().map(owned))
            .push_bind(owned(&source.engine))
            .push_bind(source.score)
            .push_bind(source.published.as_deref().map(owned))
            .push_bind(source.fetched_at.0)
            .push_bind(owned(&source.content_hash))
            .push_bind(owned(&source.snapshot));
    })
    .await?;
    Ok(())
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

fn source(row: &Row) -> Result<Source, Error> {
    Ok(Source {
        id: SourceId(unsigned(row.try_get("id")?)?),
        aliases: serde_json::from_str(row.try_get("aliases")?)?,
        url: row.try_get("url")?,
        title: row.try_get("title")?,
        section: row.try_get("section")?,
        engine: row.try_get("engine")?,
        score: row.try_get("score")?,
        published: row.try_get("published")?,
        fetched_at: Timestamp(row.try_get("fetched_at")?),
        content_hash: row.try_get("content_hash")?,
        snapshot: row.try_get("snapshot")?,
    })
}

fn note(row: &Row) -> Result<Note, Error> {
    Ok(Note {
        researcher: unsigned(row.try_get("researcher")?)?,
        topic: row.try_get("topic")?,
        text: row.try_get("text")?,
    })
}
