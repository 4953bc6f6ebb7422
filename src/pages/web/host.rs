//! Politeness: to one host few calls at a time, a pause between them, and none while it asks for a rest.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    time::Instant,
};
use url::Url;

use super::{
    NotRead,
    robots::{self, Robots},
};
use crate::net;

/// Calls to a host at a time.
const AT_ONCE: usize = 2;
/// Between the beginnings of two calls.
const PAUSE: Duration = Duration::from_millis(500);
/// A host that asks for a longer rest is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// After so many failures in a row a host is left alone for a while.
const MAX_FAILURES: u32 = 3;
const REST: Duration = Duration::from_secs(300);
/// Hosts remembered; those in use are never forgotten.
const MAX_HOSTS: usize = 2_000;

/// All hosts that were called.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// By origin. Locked for map access only.
    known: Mutex<HashMap<String, Arc<Host>>>,
}

#[derive(Debug)]
pub(super) struct Host {
    slots: Semaphore,
    state: Mutex<State>,
    robots: OnceCell<Robots>,
}

#[derive(Debug)]
struct State {
    next: Instant,
    failures: u32,
}

/// The right to make one call.
pub(super) struct Turn<'a> {
    host: &'a Host,
    _slot: Option<SemaphorePermit<'a>>,
}

impl Hosts {
    pub(super) fn of(&self, url: &Url) -> Arc<Host> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_HOSTS {
            known.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let host = || {
            let state = State { next: Instant::now(), failures: 0 };
            Arc::new(Host { slots: Semaphore::new(AT_ONCE), state: Mutex::new(state), robots: OnceCell::new() })
        };
        Arc::clone(known.entry(url.origin().ascii_serialization()).or_insert_with(host))
    }
}

impl Host {
    /// Waits for the host's turn.
    ///
    /// # Errors
    /// The host asked for a longer rest.
    pub(super) async fn turn(&self) -> Result<Turn<'_>, NotRead> {
        // The semaphore is never closed.
        let slot = self.slots.acquire().await.ok();
        let begins = {
            let mut state = self.state();
            let begins = state.next.max(Instant::now());
            if begins.saturating_duration_since(Instant::now()) > LONGEST_WAIT {
                return Err(NotRead::new("its host asks to be left alone for a while"));
            }
            state.next = begins + PAUSE;
            begins
        };
        tokio::time::sleep_until(begins).await;
        Ok(Turn { host: self, _slot: slot })
    }

    /// # Errors
    /// The host's robots.txt asks to leave this page alone, or cannot be had.
    pub(super) async fn obey_robots(&self, client: &reqwest::Client, url: &Url) -> Result<(), NotRead> {
        let robots = self.robots.get_or_try_init(|| async {
            let turn = self.turn().await?;
            let robots = robots::fetch(client, url).await;
            if robots.is_err() {
                turn.failed();
            }
            robots
        });
        if robots.await?.allows(url).await {
            return Ok(());
        }
        Err(NotRead::new("its site asks programs not to read it (robots.txt)"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// The host did not answer.
    pub(super) fn failed(&self) {
        let mut state = self.host.state();
        state.failures += 1;
        if state.failures >= MAX_FAILURES {
            *state = State { next: Instant::now() + REST, failures: 0 };
        }
    }

    /// The host answered, perhaps by asking for a rest.
    pub(super) fn answered(&self, answer: &reqwest::Response) {
        let mut state = self.host.state();
        state.failures = 0;
        if let Some(wait) = net::retry_after(answer.headers()).filter(|_| answer.status().as_u16() >= 429) {
            state.next = state.next.max(Instant::now() + wait.min(Duration::from_secs(3_600)));
        }
    }
}
