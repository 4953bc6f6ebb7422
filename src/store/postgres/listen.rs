//! NOTIFY and LISTEN: wake-ups between processes.

use std::time::Duration;

use sqlx::{
    Executor as _,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
    query,
};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::{CONNECT_LIMIT, Engine};
use crate::store::{
    Error, Notice, Wake,
    wakes::{payloads, wakes_of_others},
};

const CHANNEL: &str = "fathom";
/// A connection on which nothing came for this long is tried, since a dead one looks just the same.
const QUIET: Duration = Duration::from_secs(30);
/// How long it may take to answer then.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that lived this long was a good one: the next attempt need not wait long.
const GOOD: Duration = Duration::from_secs(10);

impl Engine {
    pub async fn notify(&self, wakes: &[Wake]) -> Result<(), Error> {
        // A NOTIFY makes its transaction one that writes, but what it says is not worth waiting for the disk.
        const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify($2, payload) \
            FROM unnest($1) AS payload";
        let mut connection = self.notifications.acquire(&self.trust).await?;
        query(NOTIFY).bind(payloads(self.sender, wakes)).bind(CHANNEL).fetch_all(connection.get()?).await?;
        connection.give_back();
        Ok(())
    }

    pub fn listener(&self) -> Listener {
        Listener {
            options: self.options.clone(),
            sender: self.sender,
            connected: None,
            pause: Duration::ZERO,
            warned: false,
        }
    }
}

/// One connection outside the pool, opened again whenever it breaks.
#[derive(Debug)]
pub struct Listener {
    options: Box<PgConnectOptions>,
    /// Whose words are not heard.
    sender: Uuid,
    connected: Option<Connected>,
    /// Before the next attempt to connect.
    pause: Duration,
    warned: bool,
}

#[derive(Debug)]
struct Connected {
    listener: PgListener,
    since: Instant,
}

impl Listener {
    pub async fn next(&mut self) -> Notice {
        loop {
            let Some(connected) = &mut self.connected else {
                self.connect().await;
                return Notice::Missed;
            };
            match receive(&mut connected.listener).await {
                Ok(payload) => {
                    let wakes = wakes_of_others(self.sender, &payload);
                    if !wakes.is_empty() {
                        return Notice::Wakes(wakes);
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "the connection that listens for wake-ups broke");
                    self.pause = if connected.since.elapsed() < GOOD { longer(self.pause) } else { FIRST_PAUSE };
                    self.connected = None;
                }
            }
        }
    }

    /// Tries until it listens.
    async fn connect(&mut self) {
        loop {
            sleep(self.pause).await;
            let opened = timeout(CONNECT_LIMIT, open(&self.options)).await;
            match opened.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut)) {
                Ok(listener) => {
                    self.connected = Some(Connected { listener, since: Instant::now() });
                    self.warned = false;
                    return;
                }
                Err(error) => self.tell(&Error::from(error)),
            }
            self.pause = longer(self.pause);
        }
    }

    /// Says once that there are no wake-ups, which slows things down but breaks nothing.
    fn tell(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(%error, "cannot listen for wake-ups of other processes; looking every second instead");
        }
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
}

async fn open(options: &PgConnectOptions) -> Result<PgListener, sqlx::Error> {
    // The listener wants its connection from a pool; this one holds no other.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(CONNECT_LIMIT)
        .connect_with(options.clone())
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.ignore_pool_close_event(true);
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Returns the next payload. A receive that is given up for the test loses nothing: what was read stays buffered.
async fn receive(listener: &mut PgListener) -> Result<String, sqlx::Error> {
    loop {
        match timeout(QUIET, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => return Ok(notification.payload().to_owned()),
            Ok(Ok(None)) => return Err(sqlx::Error::WorkerCrashed),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                _ = timeout(ANSWER_LIMIT, listener.execute("SELECT 1"))
                    .await
                    .map_err(|_| sqlx::Error::PoolTimedOut)??
            }
        }
    }
}
