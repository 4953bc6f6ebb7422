//! Threads looked for by their words, their state or their metadata, and changed.

use sqlx::{QueryBuilder, Row as _, query};

use super::{
    Connection, Db, Engine, FOR_UPDATE, LIKE, Row,
    rows::{cursor, owned, push_owner},
    threads::{select_threads, thread},
};
use crate::{
    domain::{Owner, Thread, ThreadId, ThreadStatus, merge},
    store::{Cursor, Error, Page, ThreadChange, ThreadFilter},
};

/// Threads that one page of a search looks at: what finds little must not read everything.
const WINDOW: i64 = 1_000;

impl Engine {
    /// Returns a page of threads, newest first. A page may be short, or even empty, although more comes after it.
    pub async fn search(
        &self,
        owner: Option<&Owner>,
        filter: &ThreadFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        let mut connection = self.reader().await?;
        let Some(end) = window_end(&mut connection, owner, after).await? else {
            return Ok(Page::of(Vec::new(), limit));
        };
        let rows = matching(owner, filter, after, end.1).build().fetch_all(&mut *connection).await?;
        let mut found = Vec::new();
        for row in &rows {
            let thread = thread(row)?;
            if filter.metadata.iter().all(|(name, value)| has(&thread, name, value)) {
                found.push((Cursor { at: thread.created_at.0, id: thread.id.0 }, thread));
            }
        }
        let mut page = Page::of(found, limit);
        if page.next.is_none() && end.0 == WINDOW {
            page.next = Some(end.1);
        }
        Ok(page)
    }

    /// Changes title and metadata; `None` when there is no such thread.
    pub async fn change_thread(&self, thread_id: ThreadId, change: &ThreadChange) -> Result<Option<Thread>, Error> {
        const SELECT: &str = concat!(select_threads!("threads"), " WHERE threads.id = ");
        const UPDATE: &str = "UPDATE threads SET title = $2, metadata = $3 WHERE id = $1";
        let mut tx = self.begin().await?;
        let mut lock = QueryBuilder::<Db>::new("SELECT id FROM threads WHERE id = ");
        lock.push_bind(thread_id.0).push(FOR_UPDATE);
        if lock.build().fetch_optional(&mut *tx).await?.is_none() {
            return Ok(None);
        }
        let row = QueryBuilder::<Db>::new(SELECT).push_bind(thread_id.0).build().fetch_one(&mut *tx).await?;
        let mut thread = thread(&row)?;
        if let Some(title) = &change.title {
            thread.title.clone_from(title);
        }
        merge(&mut thread.metadata, &change.metadata);
        let metadata = serde_json::to_string(&thread.metadata)?;
        if metadata.len() > change.max_metadata_bytes {
            return Err(Error::MetadataTooLarge { limit: change.max_metadata_bytes });
        }
        let update = query(UPDATE).bind(thread_id.0).bind(owned(&thread.title)).bind(owned(&metadata));
        update.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(thread))
    }
}

/// Returns how many threads the window holds, and the last of them; `None` when there is none.
async fn window_end(
    connection: &mut Connection,
    owner: Option<&Owner>,
    after: Option<Cursor>,
) -> Result<Option<(i64, Cursor)>, Error> {
    let mut select = last_of_window(owner, after);
    let Some(row): Option<Row> = select.build().fetch_optional(connection).await? else { return Ok(None) };
    Ok(Some((row.try_get("threads")?, cursor(&row)?)))
}

pub fn last_of_window(owner: Option<&Owner>, after: Option<Cursor>) -> QueryBuilder<'static, Db> {
    let mut select = QueryBuilder::<Db>::new("SELECT created_at, id, COUNT(*) OVER () AS threads FROM (");
    push_window(&mut select, "created_at, id", owner, after, None);
    select.push(") AS looked_at ORDER BY created_at, id LIMIT 1");
    select
}

/// Selects the newest threads of the owner that come after a page, down to `end` if one is given.
fn push_window(
    select: &mut QueryBuilder<'_, Db>,
    columns: &str,
    owner: Option<&Owner>,
    after: Option<Cursor>,
    end: Option<Cursor>,
) {
    select.push("SELECT ").push(columns).push(" FROM threads WHERE TRUE");
    push_owner(select, "threads.owner", owner);
    if let Some(after) = after {
        select.push(" AND (created_at, id) < (").push_bind(after.at).push(", ").push_bind(after.id).push(")");
    }
    if let Some(end) = end {
        select.push(" AND (created_at, id) >= (").push_bind(end.at).push(", ").push_bind(end.id).push(")");
    }
    select.push(" ORDER BY created_at DESC, id DESC LIMIT ").push_bind(WINDOW).push(" + 0");
}

/// Returns the threads of the window whose state and words are those that are looked for.
pub fn matching(
    owner: Option<&Owner>,
    filter: &ThreadFilter,
    after: Option<Cursor>,
    end: Cursor,
) -> QueryBuilder<'static, Db> {
    let columns = "id, title, created_at, last_seq, metadata, options, owner";
    let mut select = QueryBuilder::<Db>::new("WITH looked_at AS (");
    push_window(&mut select, columns, owner, after, Some(end));
    select.push(concat!(") ", select_threads!("looked_at"), " WHERE "));
    select.push(match filter.status {
        None => "TRUE",
        Some(ThreadStatus::Busy) => "newest.status IN ('queued', 'running')",
        Some(ThreadStatus::AwaitingInput) => "newest.outcome = 'clarification'",
        Some(ThreadStatus::Idle) => {
            "(newest.status IS NULL OR newest.status IN ('failed', 'cancelled') OR newest.outcome <> 'clarification')"
        }
    });
    if !filter.metadata.is_empty() {
        // What it holds is looked at later; few threads hold any.
        select.push(" AND threads.metadata <> '{}'");
    }
    if let Some(words) = &filter.words {
        select.push(" AND (");
        push_like(&mut select, "threads.title", words);
        // Not EXISTS: that Postgres may answer once for all threads, by a look at everybody's messages.
        select.push(" OR (SELECT messages.id FROM messages WHERE messages.thread_id = threads.id AND (");
        push_like(&mut select, "messages.content", words);
        select.push(") LIMIT 1) IS NOT NULL)");
    }
    select.push(" ORDER BY threads.created_at DESC, threads.id DESC");
    select
}

/// Adds a condition that ignores case. Neither engine knows the case of all letters everywhere (SQLite of ASCII's
/// alone, Postgres by its locale), so the usual ways of writing are tried.
fn push_like(select: &mut QueryBuilder<'static, Db>, column: &str, words: &str) {
    let mut first = words.chars();
    let initial = first.next().map(|letter| letter.to_uppercase().chain(first.flat_map(char::to_lowercase)).collect());
    let mut ways = vec![words.to_owned(), words.to_lowercase(), words.to_uppercase()];
    ways.extend::<Option<String>>(initial);
    ways.sort();
    ways.dedup();
    for (place, way) in ways.iter().enumerate() {
        select.push(if place == 0 { "" } else { " OR " }).push(column).push(LIKE).push_bind(pattern(way));
        select.push(" ESCAPE '\\'");
    }
}

/// Returns a pattern for text that holds these words anywhere.
fn pattern(words: &str) -> String {
    let mut pattern = String::from("%");
    for char in words.chars() {
        if matches!(char, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('%');
    owned(&pattern)
}

/// Returns whether that member of the metadata is this text, or a number or truth value written so.
fn has(thread: &Thread, name: &str, value: &str) -> bool {
    match thread.metadata.get(name) {
        Some(serde_json::Value::String(text)) => text == value,
        Some(other) => {
            let written = other.to_string();
            written == value
        }
        None => false,
    }
}
