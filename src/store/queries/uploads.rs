//! Documents of threads and of collections.

use sqlx::{QueryBuilder, Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, FOR_UPDATE, KEEP_ROW, Row,
    limits::may_have_more_threads,
    rows::{owned, unsigned},
};
use crate::{
    domain::{DocumentId, DocumentSet, Owner, RunId, Timestamp, Upload},
    store::{Error, NewRun, NewUpload, Uploaded},
};

/// The columns that [`upload`] reads.
macro_rules! upload_columns {
    () => {
        "documents.id, documents.name, documents.size_bytes, documents.characters, documents.title, documents.author, \
         documents.published, documents.missing, documents.created_at"
    };
}

/// A statement about one set, whose id is a parameter: in a thread or in a collection.
macro_rules! of_set {
    ($set:expr, $before:expr, $after:expr) => {
        match $set {
            DocumentSet::Thread(_) => concat!($before, "thread_id", $after),
            DocumentSet::Collection(_) => concat!($before, "collection_id", $after),
        }
    };
}

impl Engine {
    pub async fn add_upload(&self, new: &NewUpload) -> Result<Uploaded, Error> {
        let mut tx = self.begin().await?;
        if let Some(thread) = &new.thread {
            may_have_more_threads(&mut tx, &thread.owner, Some(thread.limit)).await?;
            insert_thread(&mut tx, new, &thread.owner).await?;
        }
        if !is_there(&mut tx, new.set).await? {
            return Ok(Uploaded::NoSuchSet);
        }
        if let Some(same) = same(&mut tx, new).await? {
            return Ok(Uploaded::Before(same));
        }
        let count = of_set!(new.set, "SELECT COUNT(*) FROM documents WHERE ", " = $1 AND removed_at IS NULL");
        let count: i64 = query_scalar(count).bind(new.set.id()).fetch_one(&mut *tx).await?;
        if u64::try_from(count).unwrap_or(0) >= new.limit {
            return Ok(Uploaded::TooMany);
        }
        insert(&mut tx, new).await?;
        tx.commit().await?;
        Ok(Uploaded::New)
    }

    pub async fn uploads(&self, set: DocumentSet) -> Result<Vec<Upload>, Error> {
        let select = of_set!(
            set,
            concat!("SELECT ", upload_columns!(), " FROM documents WHERE "),
            " = $1 AND removed_at IS NULL ORDER BY created_at, id"
        );
        let mut connection = self.reader().await?;
        let rows = query(select).bind(set.id()).fetch_all(&mut *connection).await?;
        rows.iter().map(upload).collect()
    }

    /// Removes a document; an empty row stays for the runs that may search it, and in a thread without messages, whose
    /// title may be its name. What others left behind goes with it, if nothing needs it any more.
    pub async fn remove_upload(&self, set: DocumentSet, id: DocumentId, now: Timestamp) -> Result<bool, Error> {
        let remove = of_set!(
            set,
            "UPDATE documents SET removed_at = $3, name = '', title = NULL, author = NULL, sections = '' \
             WHERE id = $1 AND ",
            " = $2 AND removed_at IS NULL"
        );
        let forget = of_set!(
            set,
            "DELETE FROM documents WHERE ",
            " = $1 AND removed_at IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM run_documents WHERE document_id = documents.id) \
             AND NOT EXISTS (SELECT 1 FROM threads WHERE threads.id = documents.thread_id AND last_seq = 0)"
        );
        let mut tx = self.begin().await?;
        keep_runs_away(&mut tx, set).await?;
        let removed = query(remove).bind(id.0).bind(set.id()).bind(now.0).execute(&mut *tx).await?.rows_affected() > 0;
        if removed {
            query(forget).bind(set.id()).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(removed)
    }

    pub async fn has_uploads(&self, run_id: RunId) -> Result<bool, Error> {
        const SELECT: &str = "SELECT document_id FROM run_documents WHERE run_id = $1 LIMIT 1";
        let mut connection = self.reader().await?;
        let found: Option<Uuid> = query_scalar(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await?;
        Ok(found.is_some())
    }

    pub async fn uploads_of_run(&self, run_id: RunId) -> Result<Vec<(Upload, String)>, Error> {
        const SELECT: &str = concat!(
            "SELECT documents.sections, ",
            upload_columns!(),
            " FROM run_documents JOIN documents ON documents.id = run_documents.document_id \
             WHERE run_documents.run_id = $1 AND removed_at IS NULL ORDER BY documents.created_at, documents.id"
        );
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(run_id.0).fetch_all(&mut *connection).await?;
        rows.iter().map(|row| Ok((upload(row)?, row.try_get("sections")?))).collect()
    }
}

/// Lets a run that was just created search what a set has.
pub async fn keep_uploads(connection: &mut Connection, run_id: RunId, set: DocumentSet) -> Result<(), sqlx::Error> {
    let keep = of_set!(
        set,
        "INSERT INTO run_documents (run_id, document_id) SELECT $1, id FROM documents WHERE ",
        " = $2 AND removed_at IS NULL"
    );
    query(keep).bind(run_id.0).bind(set.id()).execute(connection).await.map(drop)
}

/// Keeps the same of the collections that it names, as far as they are still there.
pub async fn keep_collections(connection: &mut Connection, new_run: &NewRun) -> Result<(), sqlx::Error> {
    const KEEP: &str = "INSERT INTO run_collections (run_id, collection_id) VALUES ($1, $2)";
    for id in &new_run.collections {
        let mut there = QueryBuilder::<Db>::new("SELECT id FROM collections WHERE id = ");
        there.push_bind(id.0).push(KEEP_ROW);
        if there.build().fetch_optional(&mut *connection).await?.is_some() {
            query(KEEP).bind(new_run.run_id.0).bind(id.0).execute(&mut *connection).await?;
            keep_uploads(connection, new_run.run_id, DocumentSet::Collection(*id)).await?;
        }
    }
    Ok(())
}

/// Returns whether the set is there, and locks its row, so that documents given at once are counted one after another.
async fn is_there(connection: &mut Connection, set: DocumentSet) -> Result<bool, sqlx::Error> {
    let lock = match set {
        DocumentSet::Thread(_) => "UPDATE threads SET title = title WHERE id = $1",
        DocumentSet::Collection(_) => "UPDATE collections SET name = name WHERE id = $1",
    };
    Ok(query(lock).bind(set.id()).execute(connection).await?.rows_affected() > 0)
}

/// Locks the set against the keys that refer to it, so that no run keeps one of its documents meanwhile.
async fn keep_runs_away(connection: &mut Connection, set: DocumentSet) -> Result<(), sqlx::Error> {
    let mut lock = QueryBuilder::<Db>::new(match set {
        DocumentSet::Thread(_) => "SELECT id FROM threads WHERE id = ",
        DocumentSet::Collection(_) => "SELECT id FROM collections WHERE id = ",
    });
    lock.push_bind(set.id()).push(FOR_UPDATE);
    lock.build().fetch_optional(connection).await.map(drop)
}

/// Returns the document of the set that has the same name and content.
async fn same(connection: &mut Connection, new: &NewUpload) -> Result<Option<Upload>, Error> {
    let same = of_set!(
        new.set,
        concat!("SELECT ", upload_columns!(), " FROM documents WHERE "),
        " = $1 AND name = $2 AND content_hash = $3 AND removed_at IS NULL"
    );
    let same = query(same).bind(new.set.id()).bind(owned(&new.upload.name)).bind(owned(&new.content_hash));
    same.fetch_optional(connection).await?.as_ref().map(upload).transpose()
}

/// Inserts a thread without messages; its first one gives it its title.
async fn insert_thread(connection: &mut Connection, new: &NewUpload, owner: &Owner) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO threads (id, created_at, last_seq, title, metadata, options, owner) \
        VALUES ($1, $2, 0, $3, '{}', '{}', $4)";
    query(INSERT)
        .bind(new.set.id())
        .bind(new.upload.created_at.0)
        .bind(owned(&new.upload.name))
        .bind(owned(owner.as_str()))
        .execute(connection)
        .await
        .map(drop)
}

async fn insert(connection: &mut Connection, new: &NewUpload) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO documents (id, thread_id, collection_id, name, content_hash, size_bytes, characters, \
        title, author, published, missing, sections, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let upload = &new.upload;
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    query(INSERT)
        .bind(upload.id.0)
        .bind(new.set.thread_id().map(|id| id.0))
        .bind(new.set.collection_id().map(|id| id.0))
        .bind(owned(&upload.name))
        .bind(owned(&new.content_hash))
        .bind(signed(upload.size_bytes))
        .bind(signed(upload.characters))
        .bind(upload.title.as_deref().map(owned))
        .bind(upload.author.as_deref().map(owned))
        .bind(upload.published.as_deref().map(owned))
        .bind(upload.missing.as_deref().map(owned))
        .bind(owned(&new.sections))
        .bind(upload.created_at.0)
        .execute(connection)
        .await
        .map(drop)
}

fn upload(row: &Row) -> Result<Upload, Error> {
    Ok(Upload {
        id: DocumentId(row.try_get("id")?),
        name: row.try_get("name")?,
        size_bytes: unsigned(row.try_get("size_bytes")?)?,
        characters: unsigned(row.try_get("characters")?)?,
        title: row.try_get("title")?,
        author: row.try_get("author")?,
        published: row.try_get("published")?,
        missing: row.try_get("missing")?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
