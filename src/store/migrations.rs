//! The migrations, in order: for each engine a file of the same name, whose number is its place in the list.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};

/// The version of the newest of them.
pub const NEWEST: i64 = 8;

/// The scripts of an engine, by the name of its folder.
macro_rules! scripts {
    ($engine:literal) => {
        [
            ("first", include_str!(concat!("../../migrations/", $engine, "/0001_first.sql"))),
            ("service", include_str!(concat!("../../migrations/", $engine, "/0002_service.sql"))),
            ("promises", include_str!(concat!("../../migrations/", $engine, "/0003_promises.sql"))),
            ("owners", include_str!(concat!("../../migrations/", $engine, "/0004_owners.sql"))),
            ("limits", include_str!(concat!("../../migrations/", $engine, "/0005_limits.sql"))),
            ("sources", include_str!(concat!("../../migrations/", $engine, "/0006_sources.sql"))),
            ("settled", include_str!(concat!("../../migrations/", $engine, "/0007_settled.sql"))),
            ("collections", include_str!(concat!("../../migrations/", $engine, "/0008_collections.sql"))),
        ]
    };
}

pub(super) use scripts;

/// Carries out those that are missing.
pub fn migrator(scripts: [(&'static str, &'static str); NEWEST as usize]) -> Migrator {
    let migration = |(version, (name, sql)): (i64, (&'static str, &'static str))| {
        Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, Cow::Borrowed(sql), false)
    };
    let migrations: Vec<_> = (1..).zip(scripts).map(migration).collect();
    // Those of a newer release are ignored: it says by itself whether this program may go on.
    Migrator { migrations: migrations.into(), ignore_missing: true, ..Migrator::DEFAULT }
}
