//! What was used, by day, owner and model: the sums of the ledger, and those that deleted runs left behind.

use sqlx::{QueryBuilder, Row as _};

use super::{
    Db, Engine, Row, limits,
    log::usage_from,
    rows::{owned, unsigned},
};
use crate::{
    domain::{Allowance, ApiKeyId, ModelUsage, Owner, Timestamp},
    store::{Admission, Error, PlaceUsage, UsageByPlace, UsageFilter, UsageRow},
};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;

impl Engine {
    pub async fn allowances(
        &self,
        of: (&Owner, Option<ApiKeyId>),
        admission: &Admission,
        now: Timestamp,
    ) -> Result<Vec<Allowance>, Error> {
        let mut connection = self.reader().await?;
        limits::allowances(&mut connection, of, admission, now).await
    }

    /// Sums usage by day, owner and model, in this order; at most `limit` rows.
    pub async fn usage_by_day(&self, filter: &UsageFilter, limit: u32) -> Result<Vec<UsageRow>, Error> {
        let mut connection = self.reader().await?;
        by_day(filter, limit).build().fetch_all(&mut *connection).await?.iter().map(usage).collect()
    }

    pub async fn usage_by_place(&self, filter: &UsageFilter, most: u32) -> Result<Option<UsageByPlace>, Error> {
        const SUMS: &str = "SELECT CASE WHEN key LIKE 'lead/%' THEN 'lead' WHEN key LIKE 'page/%' THEN 'page' \
            ELSE key END AS place, role, model, COUNT(*) AS calls, CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, \
            CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens, CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, \
            CAST(SUM(reasoning_tokens) AS BIGINT) AS reasoning_tokens, CAST(SUM(cost) AS BIGINT) AS cost \
            FROM runs JOIN steps ON steps.run_id = runs.id";
        let mut connection = self.reader().await?;
        let mut count = QueryBuilder::<Db>::new("SELECT COUNT(*) FROM (SELECT 1 FROM runs");
        created(&mut count, filter);
        count.push(" LIMIT ").push_bind(i64::from(most) + 1).push(" + 0) AS counted");
        let runs: i64 = count.build_query_scalar().fetch_one(&mut *connection).await?;
        if runs > i64::from(most) {
            return Ok(None);
        }
        let mut select = QueryBuilder::<Db>::new(SUMS);
        created(&mut select, filter);
        select.push(" AND model IS NOT NULL AND NOT inherited GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
        let places = select.build().fetch_all(&mut *connection).await?.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Some(UsageByPlace { runs: unsigned(runs)?, places }))
    }
}

/// Builds the query of [`Engine::usage_by_day`]; see there.
pub fn by_day(filter: &UsageFilter, limit: u32) -> QueryBuilder<'static, Db> {
    const SUMS: &str = "SELECT day, owner, model, CAST(SUM(runs) AS BIGINT) AS runs, \
            CAST(SUM(searches) AS BIGINT) AS searches, CAST(SUM(calls) AS BIGINT) AS calls, \
            CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens, \
            CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, \
            CAST(SUM(reasoning_tokens) AS BIGINT) AS reasoning_tokens, CAST(SUM(cost) AS BIGINT) AS cost FROM (";
    const OF_RUNS: &str = "'' AS model, 1 AS runs, searches, 0 AS calls, 0 AS input_tokens, 0 AS cached_tokens, \
            0 AS output_tokens, 0 AS reasoning_tokens, CAST(NULL AS BIGINT) AS cost FROM runs";
    const OF_MODELS: &str = "model, 0 AS runs, 0 AS searches, calls, input_tokens, cached_tokens, output_tokens, \
            reasoning_tokens, cost FROM runs JOIN run_usage ON run_usage.run_id = runs.id";
    const OF_DELETED: &str = "model, runs, searches, calls, input_tokens, cached_tokens, output_tokens, \
            reasoning_tokens, cost FROM deleted_usage";
    let mut select = QueryBuilder::<Db>::new(SUMS);
    for (place, columns) in [OF_RUNS, OF_MODELS, OF_DELETED].into_iter().enumerate() {
        select.push(if place == 0 { "SELECT created_at / " } else { " UNION ALL SELECT created_at / " });
        select.push(DAY).push(" AS day, owner, ").push(columns).push(" WHERE created_at >= ");
        select.push_bind(filter.from.0).push(" AND created_at < ").push_bind(filter.to.0);
        if let Some(owner) = &filter.owner {
            select.push(" AND owner = ").push_bind(owned(owner.as_str()));
        }
    }
    select.push(") AS used GROUP BY day, owner, model ORDER BY day, owner, model LIMIT ");
    select.push_bind(i64::from(limit)).push(" + 0");
    select
}

/// Adds the condition that the filter lets a run through.
fn created(select: &mut QueryBuilder<'_, Db>, filter: &UsageFilter) {
    select.push(" WHERE runs.created_at >= ").push_bind(filter.from.0);
    select.push(" AND runs.created_at < ").push_bind(filter.to.0);
    if let Some(owner) = &filter.owner {
        select.push(" AND owner = ").push_bind(owned(owner.as_str()));
    }
}

fn place(row: &Row) -> Result<PlaceUsage, Error> {
    let used = ModelUsage { calls: unsigned(row.try_get("calls")?)?, tokens: usage_from(row)? };
    Ok(PlaceUsage { place: row.try_get("place")?, role: row.try_get("role")?, model: row.try_get("model")?, used })
}

fn usage(row: &Row) -> Result<UsageRow, Error> {
    let model: String = row.try_get("model")?;
    Ok(UsageRow {
        day: Timestamp(row.try_get::<i64, _>("day")? * DAY),
        owner: Owner::named(row.try_get("owner")?),
        model: Some(model).filter(|model| !model.is_empty()),
        runs: unsigned(row.try_get("runs")?)?,
        searches: unsigned(row.try_get("searches")?)?,
        calls: unsigned(row.try_get("calls")?)?,
        tokens: usage_from(row)?,
    })
}
