//! Threads and runs read for an owner: what belongs to another one is not found.

use sqlx::{QueryBuilder, Row as _};

use super::{
    Connection, Db, Engine, Row,
    rows::{push_owner, run, run_columns},
    threads::{select_threads, thread},
};
use crate::{
    domain::{Owner, Run, RunId, Thread, ThreadId},
    store::Error,
};

impl Engine {
    pub async fn thread_of(
        &self,
        owner: Option<&Owner>,
        thread_id: ThreadId,
    ) -> Result<Option<(Thread, Owner)>, Error> {
        let mut select = QueryBuilder::<Db>::new(concat!(select_threads!("threads"), " WHERE threads.id = "));
        select.push_bind(thread_id.0);
        push_owner(&mut select, "threads.owner", owner);
        let mut connection = self.reader().await?;
        let row = fetch(&mut connection, select).await?;
        row.as_ref().map(|row| Ok((thread(row)?, owner_of(row)?))).transpose()
    }

    pub async fn run_of(&self, owner: Option<&Owner>, run_id: RunId) -> Result<Option<(Run, Owner)>, Error> {
        const SELECT: &str = concat!(
            "SELECT threads.owner AS thread_owner, ",
            run_columns!(),
            " FROM runs JOIN threads ON threads.id = runs.thread_id WHERE runs.id = "
        );
        let mut select = QueryBuilder::<Db>::new(SELECT);
        select.push_bind(run_id.0);
        push_owner(&mut select, "threads.owner", owner);
        let mut connection = self.reader().await?;
        let row = fetch(&mut connection, select).await?;
        row.as_ref().map(|row| Ok((run(row)?, owner_of(row)?))).transpose()
    }
}

async fn fetch(connection: &mut Connection, mut select: QueryBuilder<'_, Db>) -> Result<Option<Row>, sqlx::Error> {
    select.build().fetch_optional(connection).await
}

fn owner_of(row: &Row) -> Result<Owner, Error> {
    Ok(Owner::named(row.try_get("thread_owner")?))
}
