//! Collections of documents, each of one owner.

use sqlx::{QueryBuilder, Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    Db, Engine, LOCK_OWNER, Row,
    commits::padded,
    rows::{owned, push_owner, unsigned},
};
use crate::{
    domain::{Collection, CollectionId, Owner, RunId, Timestamp},
    store::{Cursor, Error, NewCollection, Page, collections::MAX_COLLECTIONS_OF_AN_OWNER},
};

/// What [`collection`] reads; conditions follow.
const SELECT: &str = "SELECT collections.id, collections.owner, collections.name, collections.created_at, \
    (SELECT COUNT(*) FROM documents WHERE collection_id = collections.id AND removed_at IS NULL) AS documents, \
    (SELECT CAST(COALESCE(SUM(characters), 0) AS BIGINT) FROM documents WHERE collection_id = collections.id \
     AND removed_at IS NULL) AS characters FROM collections WHERE TRUE";

impl Engine {
    /// Adds a collection; `false` when the owner has as many as one may have.
    pub async fn add_collection(&self, new: &NewCollection) -> Result<bool, Error> {
        const COUNT: &str = "SELECT COUNT(*) FROM collections WHERE owner = $1";
        const INSERT: &str = "INSERT INTO collections (id, owner, name, created_at) VALUES ($1, $2, $3, $4)";
        let mut tx = self.begin().await?;
        if let Some(lock) = LOCK_OWNER {
            query(lock).bind(owned(new.owner.as_str())).execute(&mut *tx).await?;
        }
        let own: i64 = query_scalar(COUNT).bind(owned(new.owner.as_str())).fetch_one(&mut *tx).await?;
        if unsigned::<u64>(own)? >= MAX_COLLECTIONS_OF_AN_OWNER {
            return Ok(false);
        }
        let insert = query(INSERT).bind(new.id.0).bind(owned(new.owner.as_str())).bind(owned(&new.name));
        insert.bind(new.created_at.0).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub async fn collections(
        &self,
        owner: Option<&Owner>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Collection>, Error> {
        let mut connection = self.reader().await?;
        let rows = page(owner, after, limit).build().fetch_all(&mut *connection).await?;
        let found = rows.iter().map(|row| {
            let collection = collection(row)?;
            Ok((Cursor { at: collection.created_at.0, id: collection.id.0 }, collection))
        });
        Ok(Page::of(found.collect::<Result<_, Error>>()?, limit))
    }

    pub async fn collection_of(
        &self,
        owner: Option<&Owner>,
        id: CollectionId,
    ) -> Result<Option<(Collection, Owner)>, Error> {
        let mut select = QueryBuilder::<Db>::new(SELECT);
        select.push(" AND collections.id = ").push_bind(id.0);
        push_owner(&mut select, "collections.owner", owner);
        let mut connection = self.reader().await?;
        let row = select.build().fetch_optional(&mut *connection).await?;
        row.map(|row| Ok((collection(&row)?, Owner::named(row.try_get("owner")?)))).transpose()
    }

    pub async fn rename_collection(&self, id: CollectionId, name: &str) -> Result<bool, Error> {
        let mut connection = self.writer().await?;
        let update = query("UPDATE collections SET name = $2 WHERE id = $1").bind(id.0).bind(owned(name));
        Ok(update.execute(&mut *connection).await?.rows_affected() > 0)
    }

    /// Deletes a collection, and its documents with it.
    pub async fn delete_collection(&self, id: CollectionId) -> Result<bool, Error> {
        let mut connection = self.writer().await?;
        let deleted = query("DELETE FROM collections WHERE id = $1").bind(id.0).execute(&mut *connection).await?;
        Ok(deleted.rows_affected() > 0)
    }

    pub async fn collections_named(
        &self,
        owner: Option<&Owner>,
        ids: &[CollectionId],
    ) -> Result<Vec<Collection>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = QueryBuilder::<Db>::new(SELECT);
        push_owner(&mut select, "collections.owner", owner);
        select.push(" AND collections.id IN (");
        let mut list = select.separated(", ");
        for id in padded(&ids.iter().map(|id| id.0).collect()) {
            list.push_bind(id);
        }
        select.push(")");
        let mut connection = self.reader().await?;
        select.build().fetch_all(&mut *connection).await?.iter().map(collection).collect()
    }

    pub async fn collections_of_run(&self, run_id: RunId) -> Result<Vec<CollectionId>, Error> {
        const SELECT: &str = "SELECT collection_id FROM run_collections WHERE run_id = $1";
        let mut connection = self.reader().await?;
        let ids: Vec<Uuid> = query_scalar(SELECT).bind(run_id.0).fetch_all(&mut *connection).await?;
        Ok(ids.into_iter().map(CollectionId).collect())
    }
}

/// Returns the collections of a page, and one more.
pub fn page(owner: Option<&Owner>, after: Option<Cursor>, limit: u32) -> QueryBuilder<'static, Db> {
    let mut select = QueryBuilder::<Db>::new(SELECT);
    push_owner(&mut select, "collections.owner", owner);
    if let Some(Cursor { at, id }) = after {
        select.push(" AND (created_at, id) < (").push_bind(at).push(", ").push_bind(id).push(")");
    }
    select.push(" ORDER BY created_at DESC, id DESC LIMIT ").push_bind(i64::from(limit) + 1).push(" + 0");
    select
}

fn collection(row: &Row) -> Result<Collection, Error> {
    Ok(Collection {
        id: CollectionId(row.try_get("id")?),
        name: row.try_get("name")?,
        documents: unsigned(row.try_get("documents")?)?,
        characters: unsigned(row.try_get("characters")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
