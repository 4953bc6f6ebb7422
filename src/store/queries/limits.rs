//! What the owner and the key of a new run have used, counted in the transaction that creates it: replicas that create
//! at the same time wait for one another.
//!
//! Deleted runs count, too (`deleted_usage`). Of a budget, a run that has not ended counts with what it may still
//! spend, so that all of them together stay below the limit.

use std::borrow::Cow;

use sqlx::{QueryBuilder, Row as _, query, query_scalar};

use super::{
    Connection, Db, LOCK_OWNER,
    rows::{named, owned, unsigned},
};
use crate::{
    domain::{Allowance, ApiKeyId, Cost, Limited, Owner, RunOptions, RunStatus, Timestamp, UseLimits},
    store::{Admission, Error, NewRun},
};

/// Whose use is counted.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Owner(&'a Owner),
    Key(ApiKeyId),
}

/// What was used in a window.
#[derive(Clone, Copy, Default)]
struct Spent {
    tokens: u64,
    /// Billionths of a dollar.
    cost: u64,
}

/// What a subject has used.
#[derive(Default)]
struct Used {
    active: u64,
    queued: u64,
    runs_today: u64,
    today: Spent,
    this_month: Spent,
}

/// The sum of a column over what was created since then.
macro_rules! summed {
    ($value:literal, $since:literal) => {
        concat!("CAST(COALESCE(SUM(CASE WHEN created_at >= ", $since, " THEN ", $value, " ELSE 0 END), 0) AS BIGINT)")
    };
}

/// Refuses a run whose owner or key has used what they may; else the run as it may be made, whose budget is at most
/// half of what is left, so that others can begin beside it, and what is left then.
pub async fn admit<'a>(
    connection: &mut Connection,
    new_run: &'a NewRun,
    admission: &Admission,
) -> Result<(Cow<'a, NewRun>, Vec<Allowance>), Error> {
    let limited = subjects(&new_run.owner, new_run.key, admission);
    if let (Some(lock), false) = (LOCK_OWNER, limited.is_empty()) {
        query(lock).bind(owned(new_run.owner.as_str())).execute(&mut *connection).await?;
    }
    let mut allowances = Vec::new();
    for (subject, limits, of_key) in limited {
        let used = used(connection, subject, &limits, new_run.now).await?;
        let room = admission.limits.map_or(0, |limits| limits.room);
        if let Some(limit) = limits.queued_runs.filter(|limit| used.queued >= limit.saturating_add(room)) {
            return Err(Error::QueueFull { limit });
        }
        allowances.extend(left(&limits, &used, of_key, new_run.now));
    }
    if allowances.iter().any(Allowance::is_used_up) {
        return Err(Error::UsedUp(allowances));
    }
    let new_run = within(new_run, &allowances)?;
    for allowance in &mut allowances {
        let taken = match allowance.limited {
            Limited::TokensPerDay | Limited::TokensPerMonth => u64::from(new_run.options.max_tokens),
            Limited::CostPerDay | Limited::CostPerMonth => new_run.options.max_cost_usd.map_or(0, |cost| cost.0),
            _ => 1,
        };
        allowance.left = allowance.left.saturating_sub(taken);
    }
    Ok((new_run, allowances))
}

/// Returns what the owner and the key have left, without a run being let in.
pub async fn allowances(
    connection: &mut Connection,
    (owner, key): (&Owner, Option<ApiKeyId>),
    admission: &Admission,
    now: Timestamp,
) -> Result<Vec<Allowance>, Error> {
    let mut allowances = Vec::new();
    for (subject, limits, of_key) in subjects(owner, key, admission) {
        let used = used(connection, subject, &limits, now).await?;
        allowances.extend(left(&limits, &used, of_key, now));
    }
    Ok(allowances)
}

/// Returns who is limited, by what, and whether it is a key.
fn subjects<'a>(owner: &'a Owner, key: Option<ApiKeyId>, admission: &Admission) -> Vec<(Subject<'a>, UseLimits, bool)> {
    let key = key.map(|key| (Subject::Key(key), admission.of_key, true));
    let subjects = [Some((Subject::Owner(owner), admission.of_owner, false)), key];
    subjects.into_iter().flatten().filter(|(_, limits, _)| limits.bounds_runs()).collect()
}

/// Returns what is left before the new run.
fn left(limits: &UseLimits, used: &Used, of_key: bool, at: Timestamp) -> impl Iterator<Item = Allowance> {
    let money = |cost: Option<Cost>| cost.map(|cost| cost.0);
    let all = [
        (Limited::RunsAtOnce, limits.runs_at_once, used.active),
        (Limited::RunsPerDay, limits.runs_per_day, used.runs_today),
        (Limited::TokensPerDay, limits.tokens_per_day, used.today.tokens),
        (Limited::TokensPerMonth, limits.tokens_per_month, used.this_month.tokens),
        (Limited::CostPerDay, money(limits.cost_per_day_usd), used.today.cost),
        (Limited::CostPerMonth, money(limits.cost_per_month_usd), used.this_month.cost),
    ];
    let allowance = move |(limited, quota, used): (Limited, Option<u64>, u64)| {
        let quota = quota?;
        Some(Allowance { limited, of_key, quota, left: quota.saturating_sub(used), at })
    };
    all.into_iter().filter_map(allowance)
}

/// Returns the run with as much to spend as it may have.
fn within<'a>(new_run: &'a NewRun, allowances: &[Allowance]) -> Result<Cow<'a, NewRun>, Error> {
    let least = |is_money: bool| {
        let budgets = allowances.iter().filter(|one| one.limited.is_budget() && one.limited.is_money() == is_money);
        budgets.map(Allowance::for_one_run).min()
    };
    let (tokens, cost) = (least(false), least(true));
    if tokens.is_none() && cost.is_none() {
        return Ok(Cow::Borrowed(new_run));
    }
    let mut capped = new_run.clone();
    if let Some(tokens) = tokens {
        if tokens < UseLimits::FEWEST_TOKENS {
            return Err(Error::UsedUp(allowances.iter().map(without_leftovers).collect()));
        }
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        capped.options.max_tokens = capped.options.max_tokens.min(tokens);
    }
    if let Some(cost) = cost {
        let own = capped.options.max_cost_usd.map_or(cost, |own| own.0.min(cost));
        capped.options.max_cost_usd = Some(Cost(own));
    }
    Ok(Cow::Owned(capped))
}

/// Returns the allowance, or none where what is left of it is too little for any run.
fn without_leftovers(allowance: &Allowance) -> Allowance {
    let counts_tokens = allowance.limited.is_budget() && !allowance.limited.is_money();
    let too_little = counts_tokens && allowance.for_one_run() < UseLimits::FEWEST_TOKENS;
    Allowance { left: if too_little { 0 } else { allowance.left }, ..*allowance }
}

async fn used(
    connection: &mut Connection,
    subject: Subject<'_>,
    limits: &UseLimits,
    now: Timestamp,
) -> Result<Used, Error> {
    let mut used = Used::default();
    if limits.runs_per_day.is_some() {
        used.runs_today = runs_since(connection, subject, now.day()).await?;
    }
    if limits.bounds_budget() {
        add_spent(connection, subject, now, &mut used).await?;
    }
    add_active(connection, subject, now, &mut used).await?;
    Ok(used)
}

async fn runs_since(connection: &mut Connection, subject: Subject<'_>, since: Timestamp) -> Result<u64, Error> {
    let mut select = QueryBuilder::<Db>::new("SELECT CAST((SELECT COUNT(*) FROM runs WHERE ");
    push(&mut select, subject).push(" AND created_at >= ").push_bind(since.0);
    select.push(") + (SELECT COALESCE(SUM(runs), 0) FROM deleted_usage WHERE ");
    push(&mut select, subject).push(" AND created_at >= ").push_bind(since.0);
    select.push(") AS BIGINT) AS runs");
    unsigned(select.build().fetch_one(connection).await?.try_get("runs")?)
}

/// Adds what all runs of the month have used until now.
async fn add_spent(
    connection: &mut Connection,
    subject: Subject<'_>,
    now: Timestamp,
    used: &mut Used,
) -> Result<(), Error> {
    const SUMS: &str = concat!(
        "SELECT ",
        summed!("tokens", "today"),
        " AS tokens_today, ",
        summed!("tokens", "0"),
        " AS tokens, ",
        summed!("cost", "today"),
        " AS cost_today, ",
        summed!("cost", "0"),
        " AS cost FROM ("
    );
    for deleted in [false, true] {
        let mut select = QueryBuilder::<Db>::new(SUMS);
        select.push("SELECT created_at, input_tokens + output_tokens AS tokens, COALESCE(cost, 0) AS cost, CAST(");
        select.push_bind(now.day().0).push(" AS BIGINT) AS today FROM ");
        select.push(if deleted { "deleted_usage" } else { "runs JOIN run_usage ON run_usage.run_id = runs.id" });
        select.push(" WHERE ");
        push(&mut select, subject).push(" AND created_at >= ").push_bind(now.month().0).push(") AS used");
        let row = select.build().fetch_one(&mut *connection).await?;
        used.today.tokens += unsigned::<u64>(row.try_get("tokens_today")?)?;
        used.today.cost += unsigned::<u64>(row.try_get("cost_today")?)?;
        used.this_month.tokens += unsigned::<u64>(row.try_get("tokens")?)?;
        used.this_month.cost += unsigned::<u64>(row.try_get("cost")?)?;
    }
    Ok(())
}

/// Adds the runs that have not ended, and what they may still spend.
async fn add_active(
    connection: &mut Connection,
    subject: Subject<'_>,
    now: Timestamp,
    used: &mut Used,
) -> Result<(), Error> {
    const SELECT: &str = "SELECT status, options, created_at, \
        (SELECT CAST(COALESCE(SUM(input_tokens + output_tokens), 0) AS BIGINT) FROM run_usage WHERE run_id = runs.id) AS tokens, \
        (SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM run_usage WHERE run_id = runs.id) AS cost \
        FROM runs WHERE status IN ('queued', 'running') AND ";
    let mut select = QueryBuilder::<Db>::new(SELECT);
    push(&mut select, subject);
    for row in select.build().fetch_all(connection).await? {
        used.active += 1;
        if named::<RunStatus>(row.try_get("status")?)? == RunStatus::Queued {
            used.queued += 1;
        }
        // One that only another release can read counts with what it has spent.
        let Ok(options) = serde_json::from_str::<RunOptions>(row.try_get("options")?) else { continue };
        let tokens = u64::from(options.max_tokens).saturating_sub(unsigned(row.try_get("tokens")?)?);
        let cost = options.max_cost_usd.map_or(0, |most| most.0);
        let cost = cost.saturating_sub(unsigned(row.try_get("cost")?)?);
        let created_at = Timestamp(row.try_get("created_at")?);
        for (spent, since) in [(&mut used.today, now.day()), (&mut used.this_month, now.month())] {
            if created_at >= since {
                spent.tokens += tokens;
                spent.cost += cost;
            }
        }
    }
    Ok(())
}

fn push<'q, 'a>(select: &'q mut QueryBuilder<'a, Db>, subject: Subject<'_>) -> &'q mut QueryBuilder<'a, Db> {
    match subject {
        Subject::Owner(owner) => select.push("owner = ").push_bind(owned(owner.as_str())),
        Subject::Key(key) => select.push("key_id = ").push_bind(key.0),
    }
}

/// Refuses an owner who has as many threads as are stored for one. The limit may be passed by a few at once.
pub async fn may_have_more_threads(
    connection: &mut Connection,
    owner: &Owner,
    limit: Option<u64>,
) -> Result<(), Error> {
    const COUNT: &str = "SELECT COUNT(*) FROM (SELECT id FROM threads WHERE owner = $1 LIMIT $2 + 0) AS own";
    let Some(limit) = limit else { return Ok(()) };
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let own: i64 = query_scalar(COUNT).bind(owned(owner.as_str())).bind(most).fetch_one(connection).await?;
    if own >= most { Err(Error::TooManyThreads { limit }) } else { Ok(()) }
}
