//! How often a call to the database is attempted: once more over a fresh connection where one had broken, again where
//! the database gave a transaction up for another one, and never without an end.

use std::time::{Duration, Instant};

use super::{Engine, Error, Store};

/// The longest a database across a network may take to answer: connections of a server that was replaced look as if the
/// answer were still to come, for ever.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// How often a transaction is tried that the database gives up for another one, and the first pause, which doubles.
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// What failed sooner, because a connection had broken, is tried once more.
pub(super) const AGAIN_WITHIN: Duration = Duration::from_secs(1);

/// Runs the same expression on whichever engine is there. A macro, since the two differ in type.
macro_rules! on_either {
    ($store:expr, $engine:ident => $call:expr) => {
        match &*$store.engine {
            $crate::store::Engine::Postgres($engine) => $call,
            $crate::store::Engine::Sqlite($engine) => $call,
        }
    };
}

/// As [`on_either`], for what answers with a result: from a server in time, or [`Error::Unavailable`].
macro_rules! attempt {
    ($store:expr, $engine:ident => $call:expr) => {
        match &*$store.engine {
            $crate::store::Engine::Postgres($engine) => $crate::store::attempts::answered(async { $call }).await,
            $crate::store::Engine::Sqlite($engine) => $call,
        }
    };
}

/// Attempts it once, and once more when a connection had broken: nothing is changed by it.
macro_rules! ask {
    ($store:expr, $engine:ident => $call:expr) => {{
        let begun = std::time::Instant::now();
        let answer = match attempt!($store, $engine => $call) {
            Err(error) if $store.is_to_be_asked_again(&error, begun) => attempt!($store, $engine => $call),
            answer => answer,
        };
        answer.map_err(|error| $store.outcome_of(error))
    }};
}

/// Attempts it as long as the database gives the transaction up for another one.
macro_rules! change {
    ($store:expr, $engine:ident => $call:expr) => {{
        let mut attempt = 1;
        loop {
            match attempt!($store, $engine => $call) {
                Err(error) if $crate::store::attempts::is_to_be_repeated(&error, attempt).await => attempt += 1,
                answer => break answer.map_err(|error| $store.outcome_of(error)),
            }
        }
    }};
}

/// As [`change`], for what may be done twice: once more over a fresh connection when one had broken.
macro_rules! ensure {
    ($store:expr, $engine:ident => $call:expr) => {{
        let begun = std::time::Instant::now();
        let (mut attempt, mut fresh) = (1, false);
        loop {
            match attempt!($store, $engine => $call) {
                Err(error) if $crate::store::attempts::is_to_be_repeated(&error, attempt).await => attempt += 1,
                Err(error) if !fresh && $store.is_to_be_asked_again(&error, begun) => fresh = true,
                answer => break answer.map_err(|error| $store.outcome_of(error)),
            }
        }
    }};
}

/// As [`change`], for a removal, which says whether there was something: once more where a connection had broken. Then
/// it was there, or nothing says that it was not.
macro_rules! remove {
    ($store:expr, $engine:ident => $call:expr) => {{
        let begun = std::time::Instant::now();
        match change!($store, $engine => $call) {
            Err(error) if error.may_pass() && begun.elapsed() < $crate::store::attempts::AGAIN_WITHIN => {
                change!($store, $engine => $call).map(|_| true)
            }
            answer => answer,
        }
    }};
}

pub(super) use {ask, attempt, change, ensure, on_either, remove};

pub(super) async fn answered<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_LIMIT, call)
        .await
        .unwrap_or_else(|_| Err(Error::Disconnected(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))))
}

/// Returns whether to try again; then a moment has passed.
pub(super) async fn is_to_be_repeated(error: &Error, attempt: u32) -> bool {
    let again = matches!(error, Error::Contended(_)) && attempt < ATTEMPTS;
    if again {
        tracing::debug!(%error, attempt, "a transaction is tried again");
        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
    }
    again
}

impl Store {
    /// Returns what callers get when repeating did not help; notes that the database was in trouble.
    pub(super) fn outcome_of(&self, error: Error) -> Error {
        let error = match error {
            Error::Contended(text) => Error::Unavailable(text),
            Error::Disconnected(text) => {
                self.distrust();
                Error::Unavailable(text)
            }
            Error::StandsBy(text) => {
                self.leave_standby();
                Error::TakesNoWrites(text)
            }
            Error::NoRoom(text) => {
                let error = Error::TakesNoWrites(text);
                self.health.note_no_room(&error);
                error
            }
            Error::LockedOut(text) => Error::Unavailable(text),
            other => other,
        };
        if error.may_pass() {
            self.note_trouble();
        }
        error
    }

    /// Returns whether to try once more, over a fresh connection: a server that was restarted has cut them all. Not
    /// after a long wait, since callers are waiting too.
    pub(super) fn is_to_be_asked_again(&self, error: &Error, begun: Instant) -> bool {
        let again = begun.elapsed() < AGAIN_WITHIN
            && match error {
                Error::Disconnected(_) => {
                    self.distrust();
                    true
                }
                Error::StandsBy(_) => self.leave_standby(),
                _ => false,
            };
        if again {
            tracing::debug!(%error, "trying once more over a fresh connection");
        }
        again
    }

    /// Uses connections made before now no more.
    fn distrust(&self) {
        if let Engine::Postgres(engine) = &*self.engine {
            engine.distrust();
        }
    }

    /// Drops all connections, since they lead to a server that takes no writes; `false` when that was done a moment ago
    /// and did not help.
    fn leave_standby(&self) -> bool {
        match &*self.engine {
            Engine::Postgres(engine) => engine.leave_standby(),
            Engine::Sqlite(_) => false,
        }
    }
}
