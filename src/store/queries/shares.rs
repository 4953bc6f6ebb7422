//! Links by which anybody may read a thread.

use std::time::Duration;

use sqlx::{QueryBuilder, Row as _, query};

use super::{Db, Engine, FOR_UPDATE, Row};
use crate::{
    domain::{Share, ShareId, ThreadId, Timestamp},
    store::{Error, NewShare, shares::MAX_SHARES},
};

/// How long it is known that there was a link, so that revoking it twice says the same.
const REMEMBERED: Duration = Duration::from_secs(30 * 86_400);

/// The links of a thread by which it can be read at that time.
macro_rules! valid {
    ($thread:literal, $now:literal) => {
        concat!("thread_id = ", $thread, " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ", $now, ")")
    };
}

impl Engine {
    pub async fn add_share(&self, new: &NewShare) -> Result<bool, Error> {
        const FORGET: &str = "DELETE FROM shares WHERE thread_id = $1 AND (revoked_at <= $2 OR expires_at <= $2)";
        const INSERT: &str = concat!(
            "INSERT INTO shares (id, thread_id, secret_hash, created_at, expires_at) \
             SELECT $1, id, $3, $4, $5 FROM threads WHERE id = $2 AND (SELECT COUNT(*) FROM shares WHERE ",
            valid!("$2", "$4"),
            ") < $6"
        );
        let (share, thread_id) = (&new.share, new.thread_id.0);
        let mut tx = self.begin().await?;
        // Links that are made at once are counted one after another.
        let mut lock = QueryBuilder::<Db>::new("SELECT id FROM threads WHERE id = ");
        lock.push_bind(thread_id).push(FOR_UPDATE);
        lock.build().fetch_optional(&mut *tx).await?;
        query(FORGET).bind(thread_id).bind(share.created_at.minus(REMEMBERED).0).execute(&mut *tx).await?;
        let insert = query(INSERT).bind(share.id.0).bind(thread_id).bind(new.secret_hash.to_vec());
        let insert = insert.bind(share.created_at.0).bind(share.expires_at.map(|at| at.0)).bind(i64::from(MAX_SHARES));
        let inserted = insert.execute(&mut *tx).await?.rows_affected() == 1;
        tx.commit().await?;
        Ok(inserted)
    }

    pub async fn shares(&self, thread_id: ThreadId, now: Timestamp) -> Result<Vec<Share>, Error> {
        const SELECT: &str = concat!(
            "SELECT id, created_at, expires_at, revoked_at FROM shares WHERE ",
            valid!("$1", "$2"),
            " ORDER BY created_at DESC, id DESC"
        );
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(thread_id.0).bind(now.0);
        select.fetch_all(&mut *connection).await?.iter().map(share).collect()
    }

    pub async fn share(&self, id: ShareId) -> Result<Option<(Share, ThreadId, Vec<u8>)>, Error> {
        const SELECT: &str =
            "SELECT id, created_at, expires_at, revoked_at, thread_id, secret_hash FROM shares WHERE id = $1";
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(id.0).fetch_optional(&mut *connection).await?;
        let whole = |row: Row| Ok((share(&row)?, ThreadId(row.try_get("thread_id")?), row.try_get("secret_hash")?));
        row.map(whole).transpose()
    }

    pub async fn revoke_share(&self, thread_id: ThreadId, id: ShareId, now: Timestamp) -> Result<Option<Share>, Error> {
        const UPDATE: &str = "UPDATE shares SET revoked_at = COALESCE(revoked_at, $3) WHERE id = $1 AND thread_id = $2 \
            RETURNING id, created_at, expires_at, revoked_at";
        let mut connection = self.writer().await?;
        let update = query(UPDATE).bind(id.0).bind(thread_id.0).bind(now.0);
        update.fetch_all(&mut *connection).await?.first().map(share).transpose()
    }
}

fn share(row: &Row) -> Result<Share, Error> {
    let time = |name: &str| row.try_get::<Option<i64>, _>(name).map(|at| at.map(Timestamp));
    Ok(Share {
        id: ShareId(row.try_get("id")?),
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?,
    })
}
