//! Threads and their messages: created, read, deleted.

use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, Row,
    claims::ms,
    is_thread_busy, limits,
    rows::{named, owned, push_owner, unsigned},
    uploads::{keep_collections, keep_uploads},
};
use crate::{
    domain::{
        DocumentSet, Event, Message, MessageId, Owner, Progress, Run, RunId, RunStatus, Scope, Thread, ThreadId,
        ThreadStatus, Timestamp, event::beginning,
    },
    store::{
        Admission, Created, Cursor, Error, FirstAnswer, IdempotencyKey, NewEvent, NewRun, NewThread, Page, PageLimit,
    },
};

/// What [`thread`] reads: each thread of that table with the state of its newest run.
macro_rules! select_threads {
    ($table:literal) => {
        concat!(
            "SELECT threads.id, threads.title, threads.created_at, threads.last_seq, threads.metadata, threads.options, \
             threads.owner AS thread_owner, newest.id AS latest_run_id, newest.status, newest.outcome FROM ",
            $table,
            " AS threads LEFT JOIN runs AS newest ON newest.id = \
             (SELECT id FROM runs WHERE thread_id = threads.id ORDER BY created_at DESC, id DESC LIMIT 1)"
        )
    };
}
pub(super) use select_threads;

/// The number of the first event of a thread.
const FIRST_SEQ: i64 = 1;

impl Engine {
    pub async fn ping(&self) -> Result<(), Error> {
        let mut connection = self.reader().await?;
        query("SELECT id FROM threads LIMIT 1").fetch_optional(&mut *connection).await?;
        Ok(())
    }

    pub async fn create_thread(
        &self,
        new_run: &NewRun,
        new_thread: &NewThread,
        admission: &Admission,
    ) -> Result<Created, Error> {
        const INSERT: &str = "INSERT INTO threads (id, created_at, last_seq, title, metadata, options, owner) \
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let mut tx = self.begin().await?;
        if let Some(first) = first_answer(&mut tx, new_run, admission).await? {
            return Ok(Created::Before(first));
        }
        let limit = admission.limits.map(|limits| limits.threads_per_owner);
        limits::may_have_more_threads(&mut tx, &new_run.owner, limit).await?;
        let position = place_in_queue(&mut tx, new_run, admission).await?;
        let (new_run, allowances) = limits::admit(&mut tx, new_run, admission).await?;
        let new_run = &*new_run;
        query(INSERT)
            .bind(new_run.thread_id.0)
            .bind(new_run.now.0)
            .bind(FIRST_SEQ)
            .bind(owned(&Thread::title_of(&new_run.content)))
            .bind(owned(&serde_json::to_string(&new_thread.metadata)?))
            .bind(owned(&serde_json::to_string(&new_thread.options)?))
            .bind(owned(new_run.owner.as_str()))
            .execute(&mut *tx)
            .await?;
        insert_run(&mut tx, new_run).await?;
        keep_collections(&mut tx, new_run).await?;
        keep_webhook(&mut tx, new_run).await?;
        keep_keys(&mut tx, new_run).await?;
        insert_question(&mut tx, new_run, FIRST_SEQ, position).await?;
        tx.commit().await?;
        Ok(Created::New { run: queued(new_run).into(), position, allowances })
    }

    /// Returns what the first request with this key made.
    pub async fn first_answer(&self, idempotency: &IdempotencyKey) -> Result<Option<FirstAnswer>, Error> {
        read_first_answer(&mut *self.reader().await?, idempotency).await
    }

    /// Inserts the run before it raises `last_seq`: a commit that is finishing the thread's last run locks that run
    /// and then the thread, and the other order here would deadlock with it.
    pub async fn add_run(&self, new_run: &NewRun, admission: &Admission) -> Result<Option<Created>, Error> {
        let mut tx = self.begin().await?;
        if let Some(first) = first_answer(&mut tx, new_run, admission).await? {
            return Ok(Some(Created::Before(first)));
        }
        let position = place_in_queue(&mut tx, new_run, admission).await?;
        let (new_run, allowances) = limits::admit(&mut tx, new_run, admission).await?;
        let new_run = &*new_run;
        if !insert_run(&mut tx, new_run).await? {
            return Ok(None);
        }
        keep_uploads(&mut tx, new_run.run_id, DocumentSet::Thread(new_run.thread_id)).await?;
        keep_collections(&mut tx, new_run).await?;
        keep_webhook(&mut tx, new_run).await?;
        keep_keys(&mut tx, new_run).await?;
        is_newest(&mut tx, new_run).await?;
        // A thread that began with a document is called by it until something is asked, or somebody gives it a title. A
        // document that was removed has lost its name.
        const NEXT: &str = "UPDATE threads SET last_seq = last_seq + 1, title = CASE WHEN last_seq = 0 AND EXISTS \
            (SELECT 1 FROM documents WHERE thread_id = threads.id AND (name = threads.title OR removed_at IS NOT NULL)) \
            THEN $2 ELSE title END, options = CASE WHEN last_seq = 0 THEN $3 ELSE options END \
            WHERE id = $1 RETURNING last_seq";
        let seq = query_scalar(NEXT)
            .bind(new_run.thread_id.0)
            .bind(owned(&Thread::title_of(&new_run.content)))
            .bind(owned(&serde_json::to_string(&new_run.given_options)?))
            .fetch_one(&mut *tx)
            .await?;
        // Read again under the thread's lock: the insert may have waited for the end of the run before, and then had
        // read the number before that end. The time puts the runs of a thread in their order, and the clock of the
        // replica that wrote the one before may be ahead of this one's.
        const BEGIN: &str = "UPDATE runs SET first_seq = $2, created_at = COALESCE((SELECT \
            CASE WHEN (before.created_at, before.id) < ($3, $1) THEN $3 ELSE before.created_at + 1 END \
            FROM runs AS before WHERE before.thread_id = $4 AND before.id <> $1 \
            ORDER BY before.created_at DESC, before.id DESC LIMIT 1), $3) WHERE id = $1 RETURNING created_at";
        let begin = query_scalar(BEGIN).bind(new_run.run_id.0).bind(seq - 1).bind(new_run.now.0);
        let created_at = Timestamp(begin.bind(new_run.thread_id.0).fetch_one(&mut *tx).await?);
        insert_question(&mut tx, new_run, seq, position).await?;
        tx.commit().await?;
        let run = Run { created_at, ..queued(new_run) };
        Ok(Some(Created::New { run: run.into(), position, allowances }))
    }

    /// Returns a page of threads, those of that owner if one is given.
    pub async fn threads(
        &self,
        owner: Option<&Owner>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        let mut connection = self.reader().await?;
        let rows = page(owner, after, limit).build().fetch_all(&mut *connection).await?;
        let found = rows.iter().map(|row| {
            let thread = thread(row)?;
            Ok((Cursor { at: thread.created_at.0, id: thread.id.0 }, thread))
        });
        Ok(Page::of(found.collect::<Result<_, Error>>()?, limit))
    }

    pub async fn messages(
        &self,
        thread_id: ThreadId,
        after: Option<Cursor>,
        limit: PageLimit,
    ) -> Result<Page<Message>, Error> {
        const SELECT: &str = "SELECT id, position, role, content, run_id, created_at FROM messages \
            WHERE thread_id = $1 AND (position, id) > ($2, $3) ORDER BY position, id LIMIT $4 + 0";
        let after = after.unwrap_or(Cursor { at: -1, id: Uuid::nil() });
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(thread_id.0).bind(after.at).bind(after.id).bind(i64::from(limit.rows) + 1);
        let mut rows = select.fetch(&mut *connection);
        let (mut found, mut bytes, mut fit) = (Vec::new(), 0_usize, 0_u32);
        // One more than fit is read, to know whether there are more.
        while found.len() == fit as usize
            && let Some(row) = rows.try_next().await?
        {
            let message = message(&row)?;
            fit += u32::from(fit < limit.rows && bytes < limit.bytes);
            bytes = bytes.saturating_add(message.content.len());
            found.push((Cursor { at: row.try_get("position")?, id: message.id.0 }, message));
        }
        Ok(Page::of(found, fit))
    }

    /// Returns the newest messages up to the one that this run answers, which is among them, in order. What comes
    /// before is left out from where either limit is reached, and is not read.
    pub async fn messages_until(
        &self,
        thread_id: ThreadId,
        asked: RunId,
        limit: PageLimit,
    ) -> Result<Vec<Message>, Error> {
        // By the run alone: an index of the thread would lead through all its texts.
        const QUESTION: &str = "SELECT position, id FROM messages WHERE run_id = $1 AND role = 'user' \
            ORDER BY position, id LIMIT 1";
        const LENGTHS: &str = "SELECT position, id, CAST(OCTET_LENGTH(content) AS BIGINT) AS bytes FROM messages \
            WHERE thread_id = $1 AND (position, id) <= ($2, $3) ORDER BY position DESC, id DESC LIMIT $4 + 0";
        const SELECT: &str = "SELECT id, role, content, run_id, created_at FROM messages WHERE thread_id = $1 \
            AND (position, id) >= ($2, $3) AND (position, id) <= ($4, $5) ORDER BY position, id";
        let mut connection = self.reader().await?;
        let question = query(QUESTION).bind(asked.0).fetch_optional(&mut *connection).await?;
        let last = question.as_ref().map(place).transpose()?.unwrap_or(Cursor { at: i64::MAX, id: Uuid::max() });
        let lengths = query(LENGTHS).bind(thread_id.0).bind(last.at).bind(last.id).bind(i64::from(limit.rows));
        let (mut first, mut bytes) = (last, 0_usize);
        for row in lengths.fetch_all(&mut *connection).await? {
            if bytes >= limit.bytes {
                break;
            }
            first = place(&row)?;
            bytes += unsigned::<usize>(row.try_get("bytes")?)?;
        }
        let select = query(SELECT).bind(thread_id.0).bind(first.at).bind(first.id).bind(last.at).bind(last.id);
        select.fetch_all(&mut *connection).await?.iter().map(message).collect()
    }

    pub async fn message(&self, thread_id: ThreadId, message_id: MessageId) -> Result<Option<Message>, Error> {
        const SELECT: &str =
            "SELECT id, position, role, content, run_id, created_at FROM messages WHERE id = $1 AND thread_id = $2";
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(message_id.0).bind(thread_id.0).fetch_optional(&mut *connection).await?;
        row.as_ref().map(message).transpose()
    }

    /// Keeps the answer of a request, unless the thread is gone meanwhile: its text would stay behind.
    pub async fn keep_answer(&self, key: &IdempotencyKey, response: &str) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE idempotency_keys SET response = $3 WHERE scope = $1 AND key = $2 \
            AND EXISTS (SELECT id FROM threads WHERE threads.id = idempotency_keys.thread_id)";
        let mut connection = self.writer().await?;
        query(UPDATE)
            .bind(owned(&key.scope))
            .bind(owned(&key.key))
            .bind(owned(response))
            .execute(&mut *connection)
            .await?;
        Ok(())
    }

    pub async fn forget_keys(&self, before: Timestamp) -> Result<u64, Error> {
        let mut connection = self.writer().await?;
        let delete = query("DELETE FROM idempotency_keys WHERE created_at < $1").bind(before.0);
        Ok(delete.execute(&mut *connection).await?.rows_affected())
    }

    pub async fn last_seq(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT last_seq FROM threads WHERE id = $1").bind(thread_id.0);
        Ok(select.fetch_optional(&mut *connection).await?)
    }
}

/// Returns the threads of a page, and one more.
pub fn page(owner: Option<&Owner>, after: Option<Cursor>, limit: u32) -> QueryBuilder<'static, Db> {
    let mut select = QueryBuilder::<Db>::new(concat!(select_threads!("threads"), " WHERE TRUE"));
    push_owner(&mut select, "threads.owner", owner);
    if let Some(Cursor { at, id }) = after {
        select.push(" AND (threads.created_at, threads.id) < (").push_bind(at).push(", ").push_bind(id).push(")");
    }
    select.push(" ORDER BY threads.created_at DESC, threads.id DESC LIMIT ");
    select.push_bind(i64::from(limit) + 1).push(" + 0");
    select
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

/// Takes the idempotency key, or finds what its first request made. A concurrent request with the same key is waited
/// for.
async fn first_answer(
    connection: &mut Connection,
    new_run: &NewRun,
    admission: &Admission,
) -> Result<Option<FirstAnswer>, Error> {
    const FORGET: &str = "DELETE FROM idempotency_keys WHERE scope = $1 AND key = $2 AND created_at < $3";
    const TAKE: &str = "INSERT INTO idempotency_keys (scope, key, request_hash, thread_id, run_id, message_id, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    let Some(idempotency) = &admission.idempotency else { return Ok(None) };
    let (scope, key) = (owned(&idempotency.scope), owned(&idempotency.key));
    let forget = query(FORGET).bind(scope.clone()).bind(key.clone()).bind(idempotency.not_before.0);
    forget.execute(&mut *connection).await?;
    let taken = query(TAKE)
        .bind(scope)
        .bind(key)
        .bind(owned(&idempotency.request_hash))
        .bind(new_run.thread_id.0)
        .bind(new_run.run_id.0)
        .bind(new_run.message_id.0)
        .bind(new_run.now.0)
        .execute(&mut *connection)
        .await?;
    match taken.rows_affected() {
        1 => Ok(None),
        _ => read_first_answer(connection, idempotency).await,
    }
}

async fn read_first_answer(
    connection: &mut Connection,
    idempotency: &IdempotencyKey,
) -> Result<Option<FirstAnswer>, Error> {
    const SELECT: &str = "SELECT request_hash, thread_id, run_id, message_id, response FROM idempotency_keys \
        WHERE scope = $1 AND key = $2 AND created_at >= $3";
    let select = query(SELECT).bind(owned(&idempotency.scope)).bind(owned(&idempotency.key));
    let Some(row) = select.bind(idempotency.not_before.0).fetch_optional(connection).await? else { return Ok(None) };
    if row.try_get::<&str, _>("request_hash")? != idempotency.request_hash {
        return Err(Error::KeyReused);
    }
    Ok(Some(FirstAnswer {
        thread_id: ThreadId(row.try_get("thread_id")?),
        run_id: RunId(row.try_get("run_id")?),
        message_id: MessageId(row.try_get("message_id")?),
        response: row.try_get("response")?,
    }))
}

/// How many runs are queued, and how many of them are `$1`'s.
pub const QUEUED: &str = concat!(
    "SELECT COUNT(*) AS total, CAST(COALESCE(SUM(CASE WHEN owner = $1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS own \
     FROM runs WHERE ",
    in_state!("", "queued")
);

/// Returns the place in the queue that the run will have. The limits may be passed by a few when replicas look at
/// once.
async fn place_in_queue(connection: &mut Connection, new_run: &NewRun, admission: &Admission) -> Result<u64, Error> {
    let row = query(QUEUED).bind(owned(new_run.owner.as_str())).fetch_one(connection).await?;
    let (total, own): (u64, u64) = (unsigned(row.try_get("total")?)?, unsigned(row.try_get("own")?)?);
    match &admission.limits {
        Some(limits) if total >= limits.total.saturating_add(limits.room) => {
            Err(Error::QueueFull { limit: limits.total })
        }
        Some(limits) if own >= limits.per_owner.saturating_add(limits.room) => {
            Err(Error::QueueFull { limit: limits.per_owner })
        }
        _ => Ok(total + 1),
    }
}

/// Inserts the queued run; `false` when its thread does not exist.
async fn insert_run(connection: &mut Connection, new_run: &NewRun) -> Result<bool, Error> {
    const INSERT: &str = concat!(
        "INSERT INTO runs (id, thread_id, first_seq, status, options, created_at, documents, owner, claimed_by, \
         lease_expires_at, retry_of, question_of, key_id) SELECT $1, id, last_seq, 'queued', $2, $3, $5, $6, $7, CASE WHEN $8 > 0 THEN $8 + ",
        time!("$9"),
        " ELSE 0 END, $10, $11, $12 FROM threads WHERE id = $4"
    );
    let reserved = new_run.reserved.as_ref();
    let inserted = query(INSERT)
        .bind(new_run.run_id.0)
        .bind(serde_json::to_string(&new_run.options)?)
        .bind(new_run.now.0)
        .bind(new_run.thread_id.0)
        .bind(new_run.documents.as_deref().map(owned))
        .bind(owned(new_run.owner.as_str()))
        .bind(reserved.map(|claimant| owned(&claimant.worker)))
        .bind(reserved.map_or(0, |claimant| ms(claimant.lease)))
        .bind(reserved.and_then(|claimant| claimant.clock.given()))
        .bind(new_run.retry.map(|retry| retry.run_id.0))
        .bind(new_run.retry.map(|retry| retry.question_of.0))
        .bind(new_run.key.map(|key| key.0))
        .execute(connection)
        .await;
    match inserted {
        Ok(inserted) => Ok(inserted.rows_affected() == 1),
        Err(error) if is_thread_busy(&error) => Err(Error::ThreadBusy),
        // Deleted since the row was read, which Postgres notices by the foreign key.
        Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Notes whom to tell when the run has ended: who wants that, or wanted it of the run that it goes on from.
async fn keep_webhook(connection: &mut Connection, new_run: &NewRun) -> Result<(), sqlx::Error> {
    const GIVEN: &str = "UPDATE runs SET webhook_url = $2 WHERE id = $1";
    const INHERITED: &str = "UPDATE runs SET webhook_url = (SELECT webhook_url FROM runs WHERE id = $2) WHERE id = $1";
    let update = match (&new_run.webhook_url, new_run.retry) {
        (Some(url), _) => query(GIVEN).bind(new_run.run_id.0).bind(owned(url)),
        (None, Some(retry)) => query(INHERITED).bind(new_run.run_id.0).bind(retry.run_id.0),
        (None, None) => return Ok(()),
    };
    update.execute(connection).await.map(drop)
}

/// Stores the sealed keys of a run. A trigger wipes them when the run ends.
async fn keep_keys(connection: &mut Connection, new_run: &NewRun) -> Result<(), sqlx::Error> {
    let Some(sealed) = &new_run.sealed_keys else { return Ok(()) };
    let insert =
        query("INSERT INTO run_keys (run_id, sealed) VALUES ($1, $2)").bind(new_run.run_id.0).bind(sealed.clone());
    insert.execute(connection).await.map(drop)
}

/// Refuses a retry of another run than the newest of its thread: what came after it builds on it.
async fn is_newest(connection: &mut Connection, new_run: &NewRun) -> Result<(), Error> {
    const NEWEST: &str =
        "SELECT id FROM runs WHERE thread_id = $1 AND id <> $2 ORDER BY created_at DESC, id DESC LIMIT 1";
    let Some(retry) = new_run.retry else { return Ok(()) };
    let select = query_scalar(NEWEST).bind(new_run.thread_id.0).bind(new_run.run_id.0);
    match select.fetch_optional(connection).await?.map(RunId) {
        Some(newest) if newest != retry.run_id => Err(Error::ThreadWentOn(newest)),
        _ => Ok(()),
    }
}

/// Returns what the run answers: its own message, or the one of the run that was retried.
async fn question_of(connection: &mut Connection, new_run: &NewRun) -> Result<String, Error> {
    const SELECT: &str = "SELECT content FROM messages WHERE thread_id = $1 AND run_id = $2 AND role = 'user' \
        ORDER BY position, id LIMIT 1";
    let Some(retry) = new_run.retry else { return Ok(new_run.content.clone()) };
    let select = query_scalar(SELECT).bind(new_run.thread_id.0).bind(retry.question_of.0);
    Ok(select.fetch_optional(connection).await?.unwrap_or_default())
}

/// Inserts the user's message, if there is one, and the event that the run waits, which share a number.
async fn insert_question(connection: &mut Connection, new_run: &NewRun, seq: i64, position: u64) -> Result<(), Error> {
    if !new_run.content.is_empty() {
        insert_message(connection, new_run.thread_id, seq, &new_run.message()).await?;
    }
    let retry_of = new_run.retry.map(|retry| retry.run_id);
    let question = question_of(connection, new_run).await?;
    let (question, options) = (beginning(&question), Box::new(new_run.options.clone()));
    let event = Event::RunCreated { question, options, position: Some(position), retry_of };
    let event = NewEvent { ts: new_run.now, scope: Scope::ROOT, event };
    super::log::insert_event(connection, new_run.thread_id, new_run.run_id, seq, &event).await
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
        cancel_requested: false,
        limited_by: None,
        progress: Progress::default(),
        retry_of: new_run.retry.map(|retry| retry.run_id),
    }
}

/// Reads a thread from the columns of [`select_threads`].
pub fn thread(row: &Row) -> Result<Thread, Error> {
    let newest = row.try_get::<Option<&str>, _>("status")?.map(named::<RunStatus>).transpose()?;
    let outcome = row.try_get::<Option<&str>, _>("outcome")?.map(named).transpose()?;
    Ok(Thread {
        id: ThreadId(row.try_get("id")?),
        title: row.try_get("title")?,
        status: ThreadStatus::of(newest.map(|status| (status, outcome))),
        created_at: Timestamp(row.try_get("created_at")?),
        last_seq: row.try_get("last_seq")?,
        latest_run_id: row.try_get::<Option<Uuid>, _>("latest_run_id")?.map(RunId),
        metadata: serde_json::from_str(row.try_get("metadata")?)?,
        options: serde_json::from_str(row.try_get("options")?)?,
    })
}

/// Returns where a message stands in its thread.
fn place(row: &Row) -> Result<Cursor, Error> {
    Ok(Cursor { at: row.try_get("position")?, id: row.try_get("id")? })
}

fn message(row: &Row) -> Result<Message, Error> {
    Ok(Message {
        id: MessageId(row.try_get("id")?),
        role: named(row.try_get("role")?)?,
        content: row.try_get("content")?,
        run_id: row.try_get::<Option<Uuid>, _>("run_id")?.map(RunId),
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
