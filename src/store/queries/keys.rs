//! Keys of the API, and sessions.

use sqlx::{Row as _, query};
use uuid::Uuid;

use super::{
    Engine, Row,
    rows::{cursor, named, owned},
};
use crate::{
    domain::{ApiKey, ApiKeyId, Owner, Timestamp},
    store::{Cursor, Error, NewKey, NewSession, Page},
};

macro_rules! key_columns {
    () => {
        "api_keys.id, api_keys.name, api_keys.owner, api_keys.scope, api_keys.created_at, api_keys.expires_at, \
         api_keys.revoked_at, api_keys.last_used_at, api_keys.limits, api_keys.issuer"
    };
}

impl Engine {
    pub async fn add_key(&self, new: &NewKey) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO api_keys (id, name, owner, scope, secret_hash, created_at, expires_at, limits, \
            issuer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let key = &new.key;
        const FORGET: &str =
            concat!("DELETE FROM api_keys WHERE issuer IS NOT NULL AND expires_at <= (SELECT ", server_time!(), ")");
        let mut tx = self.begin().await?;
        if key.issuer.is_some() {
            query(FORGET).execute(&mut *tx).await?;
        }
        let insert = query(INSERT).bind(key.id.0).bind(owned(&key.name)).bind(owned(key.owner.as_str()));
        let insert = insert.bind(key.scope.as_str()).bind(new.secret_hash.to_vec());
        let insert = insert.bind(key.created_at.0).bind(key.expires_at.map(|at| at.0));
        let insert = insert.bind(serde_json::to_string(&key.limits)?).bind(key.issuer.as_deref().map(owned));
        insert.execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }

    pub async fn keys(&self, after: Option<Cursor>, limit: u32) -> Result<Page<ApiKey>, Error> {
        const SELECT: &str = concat!(
            "SELECT ",
            key_columns!(),
            " FROM api_keys WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3 + 0"
        );
        let after = after.unwrap_or(Cursor { at: i64::MAX, id: Uuid::max() });
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(after.at).bind(after.id).bind(i64::from(limit) + 1);
        let rows = select.fetch_all(&mut *connection).await?;
        let found = rows.iter().map(|row| Ok((cursor(row)?, key(row)?)));
        Ok(Page::of(found.collect::<Result<_, Error>>()?, limit))
    }

    pub async fn key(&self, id: ApiKeyId) -> Result<Option<(ApiKey, Vec<u8>)>, Error> {
        const SELECT: &str = concat!("SELECT ", key_columns!(), ", secret_hash FROM api_keys WHERE id = $1");
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(id.0).fetch_optional(&mut *connection).await?;
        row.map(|row| Ok((key(&row)?, row.try_get("secret_hash")?))).transpose()
    }

    pub async fn revoke_key(&self, id: ApiKeyId, now: Timestamp) -> Result<Option<ApiKey>, Error> {
        const UPDATE: &str = concat!(
            "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 RETURNING ",
            key_columns!()
        );
        let mut tx = self.begin().await?;
        query("DELETE FROM sessions WHERE key_id = $1").bind(id.0).execute(&mut *tx).await?;
        let row = query(UPDATE).bind(id.0).bind(now.0).fetch_optional(&mut *tx).await?;
        tx.commit().await?;
        row.as_ref().map(key).transpose()
    }

    pub async fn key_used(&self, id: ApiKeyId, now: Timestamp, before: Timestamp) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE api_keys SET last_used_at = $2 \
            WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $3)";
        let mut connection = self.writer().await?;
        query(UPDATE).bind(id.0).bind(now.0).bind(before.0).execute(&mut *connection).await?;
        Ok(())
    }

    pub async fn add_session(&self, new: &NewSession) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO sessions (id, key_id, secret_hash, created_at, expires_at) \
            VALUES ($1, $2, $3, $4, $5)";
        const FORGET: &str = concat!("DELETE FROM sessions WHERE expires_at <= (SELECT ", server_time!(), ")");
        let mut tx = self.begin().await?;
        query(FORGET).execute(&mut *tx).await?;
        let insert = query(INSERT).bind(new.id.0).bind(new.key_id.0).bind(new.secret_hash.to_vec());
        insert.bind(new.created_at.0).bind(new.expires_at.0).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }

    pub async fn session(&self, id: ApiKeyId) -> Result<Option<(ApiKey, Vec<u8>, Timestamp)>, Error> {
        const SELECT: &str = concat!(
            "SELECT ",
            key_columns!(),
            ", sessions.secret_hash, sessions.expires_at AS session_ends FROM sessions \
             JOIN api_keys ON api_keys.id = sessions.key_id WHERE sessions.id = $1"
        );
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(id.0).fetch_optional(&mut *connection).await?;
        let session = |row: Row| Ok((key(&row)?, row.try_get("secret_hash")?, Timestamp(row.try_get("session_ends")?)));
        row.map(session).transpose()
    }

    pub async fn shorten_session(&self, id: ApiKeyId, ends: Timestamp) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE sessions SET expires_at = $2 WHERE id = $1 AND expires_at > $2";
        let mut connection = self.writer().await?;
        query(UPDATE).bind(id.0).bind(ends.0).execute(&mut *connection).await?;
        Ok(())
    }

    pub async fn end_session(&self, id: ApiKeyId) -> Result<(), Error> {
        let mut connection = self.writer().await?;
        query("DELETE FROM sessions WHERE id = $1").bind(id.0).execute(&mut *connection).await?;
        Ok(())
    }
}

fn key(row: &Row) -> Result<ApiKey, Error> {
    let time = |name: &str| row.try_get::<Option<i64>, _>(name).map(|at| at.map(Timestamp));
    Ok(ApiKey {
        id: ApiKeyId(row.try_get("id")?),
        name: row.try_get("name")?,
        owner: Owner::named(row.try_get("owner")?),
        scope: named(row.try_get("scope")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?,
        last_used_at: time("last_used_at")?,
        limits: serde_json::from_str(row.try_get("limits")?)?,
        issuer: row.try_get("issuer")?,
    })
}
