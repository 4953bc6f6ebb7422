//! Deliveries of webhooks: taken when due, put off, ended. Their rows come from a trigger, see the migration.

use std::{collections::HashMap, time::Duration};

use sqlx::{Row as _, query};

use super::{
    Engine,
    claims::ms,
    rows::{run, run_columns, unsigned},
    runs::readable,
};
use crate::{
    domain::{RunId, Timestamp},
    store::{Clock, Delivery, Error},
};

impl Engine {
    /// Counts an attempt for each that is due, and keeps it from others for the time of the claim. One of a run that
    /// cannot be read is left to newer programs: no attempt counts for it, and it holds up nobody.
    pub async fn take_deliveries(&self, claim: Duration, limit: u32, clock: Clock) -> Result<Vec<Delivery>, Error> {
        const TAKE: &str = concat!(
            "UPDATE webhook_deliveries SET attempts = attempts + 1, next_at = $2 + ",
            time!("$1"),
            " WHERE ",
            among!(
                "run_id",
                "SELECT run_id FROM webhook_deliveries WHERE next_at <= (SELECT ",
                time!("$1"),
                ") ORDER BY next_at LIMIT $3 + 0",
                skip_locked!("webhook_deliveries")
            ),
            " RETURNING run_id, attempts, ended_at"
        );
        if !self.has_delivery(clock).await? {
            return Ok(Vec::new());
        }
        let mut tx = self.begin().await?;
        let take = query(TAKE).bind(clock.given()).bind(ms(claim)).bind(i64::from(limit));
        let mut taken = HashMap::new();
        for row in take.fetch_all(&mut *tx).await? {
            let attempt: u32 = unsigned(row.try_get("attempts")?)?;
            taken.insert(RunId(row.try_get("run_id")?), (attempt, Timestamp(row.try_get("ended_at")?)));
        }
        let mut deliveries = Vec::with_capacity(taken.len());
        for (run_id, (attempt, ended_at)) in taken {
            const SELECT: &str = concat!(
                "SELECT runs.webhook_url, ",
                run_columns!(),
                " FROM runs WHERE id = $1 AND webhook_url IS NOT NULL"
            );
            const GIVE_BACK: &str = "UPDATE webhook_deliveries SET attempts = attempts - 1 WHERE run_id = $1";
            let Some(row) = query(SELECT).bind(run_id.0).fetch_optional(&mut *tx).await? else { continue };
            match readable(run_id, run(&row))? {
                Some(run) => deliveries.push(Delivery { run, url: row.try_get("webhook_url")?, attempt, ended_at }),
                None => _ = query(GIVE_BACK).bind(run_id.0).execute(&mut *tx).await?,
            }
        }
        tx.commit().await?;
        Ok(deliveries)
    }

    /// Returns a look without a lock, since most looks find nothing.
    async fn has_delivery(&self, clock: Clock) -> Result<bool, Error> {
        const SELECT: &str =
            concat!("SELECT run_id FROM webhook_deliveries WHERE next_at <= (SELECT ", time!("$1"), ") LIMIT 1");
        let mut connection = self.reader().await?;
        Ok(query(SELECT).bind(clock.given()).fetch_optional(&mut *connection).await?.is_some())
    }

    /// Puts a delivery off, unless it has been taken again meanwhile.
    pub async fn put_off_delivery(
        &self,
        run_id: RunId,
        attempt: u32,
        pause: Duration,
        clock: Clock,
    ) -> Result<(), Error> {
        const UPDATE: &str = concat!(
            "UPDATE webhook_deliveries SET next_at = $3 + ",
            time!("$4"),
            " WHERE run_id = $1 AND attempts = $2"
        );
        let mut connection = self.writer().await?;
        let update = query(UPDATE).bind(run_id.0).bind(i64::from(attempt)).bind(ms(pause)).bind(clock.given());
        update.execute(&mut *connection).await?;
        Ok(())
    }

    pub async fn forget_deliveries(&self, age: Duration, clock: Clock) -> Result<u64, Error> {
        const DELETE: &str = concat!("DELETE FROM webhook_deliveries WHERE ended_at < ", time!("$2"), " - $1");
        let mut connection = self.writer().await?;
        let delete = query(DELETE).bind(ms(age)).bind(clock.given());
        Ok(delete.execute(&mut *connection).await?.rows_affected())
    }

    pub async fn end_delivery(&self, run_id: RunId) -> Result<(), Error> {
        let mut connection = self.writer().await?;
        query("DELETE FROM webhook_deliveries WHERE run_id = $1").bind(run_id.0).execute(&mut *connection).await?;
        Ok(())
    }
}
