//! What the processes on one database send each other, so that nobody has to wait for a poll.
//!
//! Ids only: the tables are the truth, and a wake-up that gets lost costs a second. On Postgres they travel by
//! NOTIFY; an embedded database has no such thing, and its few processes poll.

use uuid::Uuid;

use super::{Error, postgres};
use crate::domain::{RunId, ThreadId};

/// Postgres takes payloads of less than 8,000 bytes.
const MAX_PAYLOAD: usize = 7_900;

/// A change that other processes may want to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wake {
    /// A thread has new events, or is gone.
    Events(ThreadId),
    /// A run was queued, or given back.
    Queue,
    /// Somebody wants a run to stop, or deleted it.
    Control(RunId),
}

/// What a [`Listener`] hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Wakes(Vec<Wake>),
    /// It listens from now on, or again: whatever happened before has to be looked up.
    Missed,
}

/// Receives what other processes send, over a connection of its own, which it opens again by itself.
#[derive(Debug)]
pub struct Listener(pub(super) postgres::Listener);

impl Listener {
    /// Waits for the next wake-ups; those of the listener's own store are left out. Never fails: while the database is
    /// away, or does not offer to listen, it waits.
    ///
    /// # Cancel safety
    /// Nothing is lost that a later call would not report, at worst as [`Notice::Missed`].
    pub async fn next(&mut self) -> Notice {
        self.0.next().await
    }
}

/// Returns the wake-ups as payloads, each led by their sender.
pub(super) fn payloads(sender: Uuid, wakes: &[Wake]) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for wake in wakes {
        let word = match wake {
            Wake::Events(thread_id) => format!(" e{}", thread_id.0.simple()),
            Wake::Queue => " q".to_owned(),
            Wake::Control(run_id) => format!(" c{}", run_id.0.simple()),
        };
        match payloads.last_mut() {
            Some(payload) if payload.len() + word.len() <= MAX_PAYLOAD => payload.push_str(&word),
            _ => payloads.push(format!("{}{word}", sender.simple())),
        }
    }
    payloads
}

/// Returns the wake-ups of a payload that another sender made. Words that a newer version may have added are passed
/// over.
pub(super) fn wakes_of_others(sender: Uuid, payload: &str) -> Vec<Wake> {
    let mut words = payload.split(' ');
    if words.next().is_none_or(|from| from == sender.simple().to_string()) {
        return Vec::new();
    }
    let id = |text: &str| Uuid::try_parse(text).ok();
    words
        .filter_map(|word| match word.split_at_checked(1)? {
            ("e", rest) => id(rest).map(|id| Wake::Events(ThreadId(id))),
            ("q", "") => Some(Wake::Queue),
            ("c", rest) => id(rest).map(|id| Wake::Control(RunId(id))),
            _ => None,
        })
        .collect()
}

impl super::Store {
    /// Tells the other processes; call it after the commit. On an embedded database there is nobody to tell.
    ///
    /// # Errors
    /// As every method; the caller need not repeat it.
    pub async fn notify(&self, wakes: &[Wake]) -> Result<(), Error> {
        match &*self.engine {
            super::Engine::Postgres(engine) => engine.notify(wakes).await,
            super::Engine::Sqlite(_) => Ok(()),
        }
    }

    /// Receives what other processes send; `None` on an embedded database. It connects when it is first asked.
    pub fn listener(&self) -> Option<Listener> {
        match &*self.engine {
            super::Engine::Postgres(engine) => Some(Listener(engine.listener())),
            super::Engine::Sqlite(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_survive_their_wire_form() {
        let (me, other) = (Uuid::now_v7(), Uuid::now_v7());
        let mut wakes = vec![Wake::Queue, Wake::Control(RunId::new())];
        wakes.extend((0..1000).map(|_| Wake::Events(ThreadId::new())));
        let payloads = payloads(other, &wakes);
        assert!(payloads.iter().all(|payload| payload.len() < 8000));
        let heard: Vec<Wake> = payloads.iter().flat_map(|payload| wakes_of_others(me, payload)).collect();
        assert_eq!(heard, wakes);
        assert!(payloads.iter().all(|payload| wakes_of_others(other, payload).is_empty()), "one's own");
    }

    #[test]
    fn strange_words_are_passed_over() {
        for payload in ["", "x", "x e", "x enonsense", "x ü q1 z", "x  "] {
            assert_eq!(wakes_of_others(Uuid::nil(), payload), [], "{payload:?}");
        }
        assert_eq!(wakes_of_others(Uuid::nil(), "x new q"), [Wake::Queue]);
    }
}
