//! The migrations, in order: for each engine a file of the same name, whose number is its place in the list.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::Error;

/// The version of the newest of them.
pub const NEWEST_SCHEMA: i64 = 10;

/// What a database's schema is to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    Fits,
    /// So many migrations have not run; all of them in a database that is empty.
    Lacks(i64),
    /// A newer program wrote it, and said that this one does not work on it.
    TooNew {
        version: i64,
        oldest_program: i64,
    },
}

impl Schema {
    /// Checks that this program works on the schema.
    ///
    /// # Errors
    /// [`Error::Unusable`] for a schema that this program does not work on.
    pub fn check(self) -> Result<(), Error> {
        let Self::TooNew { version, oldest_program } = self else { return Ok(()) };
        Err(Error::Unusable(format!(
            "its schema has version {version} and needs a program that knows at least version {oldest_program}, while \
             this one knows version {NEWEST_SCHEMA}: start the newer release that wrote it, or use another database"
        )))
    }
}

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
            ("texts", include_str!(concat!("../../migrations/", $engine, "/0009_texts.sql"))),
            ("lookups", include_str!(concat!("../../migrations/", $engine, "/0010_lookups.sql"))),
        ]
    };
}

pub(super) use scripts;

/// Carries out those that are missing.
pub fn migrator(scripts: [(&'static str, &'static str); NEWEST_SCHEMA as usize]) -> Migrator {
    let migration = |(version, (name, sql)): (i64, (&'static str, &'static str))| {
        Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, Cow::Borrowed(sql), false)
    };
    let migrations: Vec<_> = (1..).zip(scripts).map(migration).collect();
    // Those of a newer release are ignored: it says by itself whether this program may go on.
    Migrator { migrations: migrations.into(), ignore_missing: true, ..Migrator::DEFAULT }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement in which a migration says which programs still work on its schema.
    const SAYS: &str = "INSERT INTO schema_compatibility (version, oldest_program) VALUES";

    /// Without a word of its own, programs of every earlier release would go on. The first of all made no such table.
    #[test]
    fn each_migration_says_which_programs_still_work() {
        let engines: [[_; NEWEST_SCHEMA as usize]; 2] = [scripts!("postgres"), scripts!("sqlite")];
        let said = engines.map(|scripts| {
            let said = |(_, sql): &(&str, &str)| sql.lines().find(|line| line.starts_with(SAYS)).map(str::to_owned);
            scripts.iter().map(said).collect::<Vec<_>>()
        });
        for (version, said) in said.iter().flat_map(|said| (1..).zip(said).skip(1)) {
            let begins = format!("{SAYS} ({version}, ");
            assert!(said.as_ref().is_some_and(|said| said.starts_with(&begins)), "{version}: {said:?}");
        }
        // What only SQLite keeps in another way needs newer programs there alone, from then on.
        let differing: Vec<usize> =
            said[0].iter().zip(&said[1]).zip(1..).filter(|((one, other), _)| one != other).map(|(_, at)| at).collect();
        assert_eq!(differing, Vec::from_iter((9..).take(differing.len().max(2))), "the engines differ");
    }
}
