//! Threads and their messages: created, read, deleted.

use sqlx::{QueryBuilder, Row as _, query, query_as, query_scalar};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, FOR_UPDATE, Row, is_thread_busy,
    rows::{named, owned},
};
use crate::{
    domain::{Event, Message, MessageId, MessageRole, Run, RunId, RunStatus, Scope, ThreadId, Timestamp},
    store::{Error, NewEvent, NewRun, Thread},
};

/// The number of the first event of a thread.
const FIRST_SEQ: i64 = 1;

impl Engine {
    pub async fn ping(&self) -> Result<(), Error> {
        let mut connection = self.reader().await?;
        query("SELECT id FROM threads LIMIT 1").fetch_optional(&mut *connection).await?;
        Ok(())
    }

    pub async fn create_thread(&self, new_run: &NewRun) -> Result<Run, Error> {
        let mut tx = self.begin().await?;
        query("INSERT INTO threads (id, created_at, last_seq) VALUES ($1, $2, $3)")
            .bind(new_run.thread_id.0)
            .bind(new_run.now.0)
            .bind(FIRST_SEQ)
            .execute(&mut *tx)
            .await?;
        insert_run(&mut tx, new_run).await?;
        insert_question(&mut tx, new_run, FIRST_SEQ).await?;
        tx.commit().await?;
        Ok(queued(new_run))
    }

    /// Inserts the run before it raises `last_seq`: a commit that is finishing the thread's last run locks that run
    /// and then the thread, and the other order here would deadlock with it.
    pub async fn add_run(&self, new_run: &NewRun) -> Result<Option<Run>, Error> {
        let mut tx = self.begin().await?;
        if !insert_run(&mut tx, new_run).await? {
            return Ok(None);
        }
        let seq = query_scalar("UPDATE threads SET last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq")
            .bind(new_run.thread_id.0)
            .fetch_one(&mut *tx)
            .await?;
        insert_question(&mut tx, new_run, seq).await?;
        tx.commit().await?;
        Ok(Some(queued(new_run)))
    }

    pub async fn thread(&self, thread_id: ThreadId) -> Result<Option<Thread>, Error> {
        let mut connection = self.reader().await?;
        let found: Option<(Uuid, i64, i64)> = query_as("SELECT id, created_at, last_seq FROM threads WHERE id = $1")
            .bind(thread_id.0)
            .fetch_optional(&mut *connection)
            .await?;
        let threads = with_messages(&mut connection, found.into_iter().collect()).await?;
        Ok(threads.into_iter().next())
    }

    pub async fn threads(&self, before: Option<ThreadId>, limit: u32) -> Result<Vec<Thread>, Error> {
        const NEWEST: &str =
            "SELECT id, created_at, last_seq FROM threads ORDER BY created_at DESC, id DESC LIMIT $1 + 0";
        const OLDER: &str = "SELECT id, created_at, last_seq FROM threads \
            WHERE (created_at, id) < (SELECT created_at, id FROM threads WHERE id = $2) \
            ORDER BY created_at DESC, id DESC LIMIT $1 + 0";
        let mut connection = self.reader().await?;
        let query = match before {
            None => query_as(NEWEST).bind(i64::from(limit)),
            Some(thread_id) => query_as(OLDER).bind(i64::from(limit)).bind(thread_id.0),
        };
        let found: Vec<(Uuid, i64, i64)> = query.fetch_all(&mut *connection).await?;
        with_messages(&mut connection, found).await
    }

    pub async fn messages(&self, thread_id: ThreadId) -> Result<Vec<Message>, Error> {
        let mut connection = self.reader().await?;
        Ok(messages_of(&mut connection, &[thread_id.0]).await?.into_iter().map(|(_, message)| message).collect())
    }

    pub async fn last_seq(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT last_seq FROM threads WHERE id = $1").bind(thread_id.0);
        Ok(select.fetch_optional(&mut *connection).await?)
    }

    /// Locks the runs first, as commits do, so that the cascade cannot deadlock with one.
    pub async fn delete_thread(&self, thread_id: ThreadId) -> Result<bool, Error> {
        let mut tx = self.begin().await?;
        let mut lock = QueryBuilder::<Db>::new("SELECT id FROM runs WHERE thread_id = ");
        lock.push_bind(thread_id.0).push(" ORDER BY id").push(FOR_UPDATE);
        lock.build().fetch_all(&mut *tx).await?;
        let deleted = query("DELETE FROM threads WHERE id = $1").bind(thread_id.0).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(deleted.rows_affected() > 0)
    }
}

/// Inserts a message.
pub async fn insert_message(
    connection: &mut Connection,
    thread_id: ThreadId,
    position: i64,
    message: &Message,
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO messages (id, thread_id, position, role, content, run_id, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    query(INSERT)
        .bind(message.id.0)
        .bind(thread_id.0)
        .bind(position)
        .bind(message.role.as_str())
        .bind(owned(&message.content))
        .bind(message.run_id.map(|id| id.0))
        .bind(message.created_at.0)
        .execute(connection)
        .await?;
    Ok(())
}

/// Inserts the queued run; `false` when its thread does not exist.
async fn insert_run(connection: &mut Connection, new_run: &NewRun) -> Result<bool, Error> {
    const INSERT: &str = "INSERT INTO runs (id, thread_id, first_seq, status, options, created_at, documents) \
        SELECT $1, id, last_seq, 'queued', $2, $3, $5 FROM threads WHERE id = $4";
    let inserted = query(INSERT)
        .bind(new_run.run_id.0)
        .bind(serde_json::to_string(&new_run.options)?)
        .bind(new_run.now.0)
        .bind(new_run.thread_id.0)
        .bind(new_run.documents.as_deref().map(owned))
        .execute(connection)
        .await;
    match inserted {
        Ok(inserted) => Ok(inserted.rows_affected() == 1),
        Err(error) if is_thread_busy(&error) => Err(Error::ThreadBusy),
        Err(error) => Err(error.into()),
    }
}

/// The user's message and the event that the run waits, which share a number.
async fn insert_question(connection: &mut Connection, new_run: &NewRun, seq: i64) -> Result<(), Error> {
    let message = Message {
        id: new_run.message_id,
        role: MessageRole::User,
        content: new_run.content.clone(),
        run_id: Some(new_run.run_id),
        created_at: new_run.now,
    };
    insert_message(connection, new_run.thread_id, seq, &message).await?;
    let event = NewEvent { ts: new_run.now, scope: Scope::ROOT, event: Event::RunQueued {} };
    super::log::insert_events(connection, &[(new_run.thread_id, new_run.run_id, seq, &event)]).await
}

fn queued(new_run: &NewRun) -> Run {
    Run {
        id: new_run.run_id,
        thread_id: new_run.thread_id,
        status: RunStatus::Queued,
        outcome: None,
        error: None,
        options: new_run.options.clone(),
        created_at: new_run.now,
        started_at: None,
        finished_at: None,
    }
}

async fn with_messages(connection: &mut Connection, found: Vec<(Uuid, i64, i64)>) -> Result<Vec<Thread>, Error> {
    let ids: Vec<Uuid> = found.iter().map(|(id, ..)| *id).collect();
    let mut messages = messages_of(connection, &ids).await?;
    let thread = |(id, created_at, last_seq)| Thread {
        id: ThreadId(id),
        created_at: Timestamp(created_at),
        last_seq,
        messages: messages.extract_if(.., |(thread_id, _)| *thread_id == id).map(|(_, message)| message).collect(),
    };
    Ok(found.into_iter().map(thread).collect())
}

/// The messages of some threads, each in order.
async fn messages_of(connection: &mut Connection, thread_ids: &[Uuid]) -> Result<Vec<(Uuid, Message)>, Error> {
    if thread_ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::<Db>::new(
        "SELECT id, thread_id, role, content, run_id, created_at FROM messages WHERE thread_id IN (",
    );
    let mut list = query.separated(", ");
    for id in thread_ids {
        list.push_bind(*id);
    }
    query.push(") ORDER BY thread_id, position, id");
    query.build().fetch_all(connection).await?.iter().map(message).collect()
}

fn message(row: &Row) -> Result<(Uuid, Message), Error> {
    let message = Message {
        id: MessageId(row.try_get("id")?),
        role: named(row.try_get("role")?)?,
        content: row.try_get("content")?,
        run_id: row.try_get::<Option<Uuid>, _>("run_id")?.map(RunId),
        created_at: Timestamp(row.try_get("created_at")?),
    };
    Ok((row.try_get("thread_id")?, message))
}
