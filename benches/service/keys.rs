//! What it costs to know whose key a request brings: `auth` alone, in this process, on a database of its own.

use std::time::Instant;

use fathom::{
    auth::{Keys, Kind as Sent, Wanted},
    domain::{KeyScope, Owner, UseLimits},
};

use crate::{
    Kind,
    database::TestDatabase,
    figures::{Aim, Figures},
};

/// Checks of a key that was seen before.
const AGAIN: u32 = 200_000;
/// Checks that ask the database.
const FIRST: u32 = 500;

pub async fn keys(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let database = match kind {
        Kind::Sqlite => TestDatabase::sqlite(),
        Kind::Postgres => TestDatabase::postgres().await,
    };
    let store = database.open().await;
    let keys = Keys::new(store.clone());
    let wanted = Wanted {
        name: "bench".to_owned(),
        owner: Owner::named("bench"),
        scope: KeyScope::Read,
        expires_at: None,
        limits: UseLimits::default(),
    };
    let (_, key) = keys.create(wanted).await?;
    let begun = Instant::now();
    for _ in 0..AGAIN {
        anyhow::ensure!(keys.verify(&key, Sent::Key).await?.is_some());
    }
    figures.add("check of a key", "µs", Aim::AtMost(20.0), begun.elapsed().as_secs_f64() * 1e6 / f64::from(AGAIN));
    let begun = Instant::now();
    for _ in 0..FIRST {
        anyhow::ensure!(Keys::new(store.clone()).verify(&key, Sent::Key).await?.is_some());
    }
    let each = begun.elapsed().as_secs_f64() * 1e6 / f64::from(FIRST);
    figures.add("the same, once in five seconds: with a look into the database", "µs", Aim::None, each);
    Ok(())
}
