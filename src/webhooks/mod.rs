//! Webhooks: a request to the address that a message named when its run has ended, at least once.
//!
//! The row of a delivery is written by the database itself, in the transaction that ends the run (see the migration).
//! Every process that has a signing secret takes rows that are due, for a minute each, so the death of one only delays;
//! what fails is tried again with growing pauses for about a day. Requests are signed as Standard Webhooks have it
//! (<https://www.standardwebhooks.com>). Knows nothing of how runs work.

mod sign;

use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::{StatusCode, header};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    domain::{Run, RunStatus, Timestamp},
    net::{self, Networks, Reach, Timeouts},
    store::{Clock, Delivery, Store},
};
use sign::Signer;

/// How often the table is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Deliveries of this process under way at the same time.
const AT_ONCE: usize = 16;
/// How long a delivery belongs to the process that took it, which is longer than any request.
const CLAIM: Duration = Duration::from_secs(60);
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(5), total: Some(Duration::from_secs(15)), idle: None };
/// Seconds after each failed attempt but the last; a day in all, less a quarter of an hour.
const PAUSES: [u64; 11] = [1, 5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];
/// Longer than anything is tried, whatever pauses its receiver asks for.
pub const KEPT: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// The longest pause a receiver may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
/// The longest address that is accepted.
const MAX_URL_CHARS: usize = 2_000;

/// What the operator says about webhooks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In the form `whsec_…`; `None`: there are no webhooks.
    pub secret: Option<SecretString>,
    /// Which addresses are called.
    pub reach: Reach,
}

impl Default for Settings {
    fn default() -> Self {
        Self { secret: None, reach: Reach::new(false, &Networks::default()) }
    }
}

/// Returns whether it is a secret, or several, that webhooks can be signed with.
pub fn is_secret(text: &str) -> bool {
    Signer::new(text).is_some()
}

/// Why an address cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("this service sends no webhooks: its operator has to set FATHOM_WEBHOOK_SECRET")]
    NoSecret,
    #[error(
        "webhook_url must be an absolute address of http or https, without user and password, of 2000 characters at most"
    )]
    Malformed,
    #[error(
        "webhook_url must lead to a public address; the operator may allow others with FATHOM_ALLOWED_NETWORKS or \
         FATHOM_WEBHOOK_ALLOW_PRIVATE"
    )]
    Private,
}

/// The sender of webhooks; a cheap clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    signer: Option<Signer>,
    reach: Reach,
    client: reqwest::Client,
}

/// Why an attempt failed.
#[derive(Debug)]
enum Failed {
    /// To be tried again, and not before this time.
    Later(String, Duration),
    /// The receiver wants no more of these.
    ForGood(String),
}

impl Webhooks {
    /// Creates the sender of webhooks from its settings.
    ///
    /// # Errors
    /// As [`net::guarded`].
    pub fn new(settings: &Settings) -> Result<Self, net::Error> {
        use secrecy::ExposeSecret as _;
        let signer = settings.secret.as_ref().and_then(|secret| Signer::new(secret.expose_secret()));
        let client = net::guarded(TIMEOUTS, settings.reach.clone())?;
        Ok(Self { signer, reach: settings.reach.clone(), client })
    }

    /// Returns whether this process delivers anything.
    pub fn are_sent(&self) -> bool {
        self.signer.is_some()
    }

    /// Returns the address, if it can be called.
    ///
    /// # Errors
    /// [`BadAddress`]. A name that leads to a private address is only noticed when it is called.
    pub fn check(&self, url: &str) -> Result<Url, BadAddress> {
        if self.signer.is_none() {
            return Err(BadAddress::NoSecret);
        }
        let fits = |url: &Url| {
            let anonymous = url.username().is_empty() && url.password().is_none();
            matches!(url.scheme(), "http" | "https") && url.has_host() && anonymous
        };
        let url = Some(url).filter(|url| url.chars().count() <= MAX_URL_CHARS).and_then(|url| Url::parse(url).ok());
        let url = url.filter(fits).ok_or(BadAddress::Malformed)?;
        if self.reach.covers(&url) { Ok(url) } else { Err(BadAddress::Private) }
    }

    /// Delivers what is due until `shutdown`, which leaves deliveries under way to other processes, or to the next
    /// start.
    pub fn run(self, store: Store, shutdown: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut look = tokio::time::interval(LOOK);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (mut sending, mut is_away) = (JoinSet::new(), false);
            loop {
                // Losing an arm loses nothing: each only says that there may be something to do.
                tokio::select! {
                    () = shutdown.cancelled() => return,
                    _ = look.tick() => {}
                    Some(_) = sending.join_next() => {}
                }
                for delivery in due(&store, AT_ONCE.saturating_sub(sending.len()), &mut is_away).await {
                    let (this, store) = (self.clone(), store.clone());
                    sending.spawn(async move { this.deliver(&store, &delivery).await });
                }
            }
        })
    }

    /// Makes one attempt, and settles what becomes of the delivery after it.
    async fn deliver(&self, store: &Store, delivery: &Delivery) {
        let (run_id, attempt) = (delivery.run.id, delivery.attempt);
        let done = match self.attempt(delivery).await {
            Ok(()) => {
                tracing::info!(%run_id, attempt, "a webhook was delivered");
                store.end_delivery(run_id).await
            }
            Err(Failed::ForGood(why)) => {
                tracing::warn!(%run_id, attempt, why, "a webhook was given up");
                store.end_delivery(run_id).await
            }
            Err(Failed::Later(why, asked)) => match pause(attempt) {
                Some(pause) => {
                    tracing::info!(%run_id, attempt, why, "a webhook could not be delivered; trying again");
                    store.put_off_delivery(run_id, attempt, pause.max(asked), Clock::Database).await
                }
                None => {
                    tracing::warn!(%run_id, attempt, why, "a webhook was given up: it was tried for a day");
                    store.end_delivery(run_id).await
                }
            },
        };
        if let Err(error) = done {
            tracing::debug!(%run_id, %error, "what became of a webhook could not be stored; it is tried again");
        }
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<(), Failed> {
        let later = |why: String| Failed::Later(why, Duration::ZERO);
        let url = self.check(&delivery.url).map_err(|bad| later(bad.to_string()))?;
        let signer = self.signer.as_ref().ok_or_else(|| later(BadAddress::NoSecret.to_string()))?;
        let body = payload(&delivery.run, delivery.ended_at).to_string();
        let id = format!("run_{}_{}", delivery.run.id, delivery.ended_at.0);
        let seconds = (Timestamp::now().0 / 1_000).to_string();
        let request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("webhook-signature", signer.sign(&id, &seconds, &body))
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .body(body);
        // What the receiver writes is of no interest, so none of it is read.
        let response = request.send().await.map_err(|error| later(net::Error::from(error).to_string()))?;
        let why = format!("the receiver answered {}", response.status());
        match response.status() {
            status if status.is_success() => Ok(()),
            // Standard Webhooks: "indicates that the endpoint should be disabled".
            StatusCode::GONE => Err(Failed::ForGood(why)),
            _ => {
                let asked = net::retry_after(response.headers()).unwrap_or_default();
                Err(Failed::Later(why, asked.min(LONGEST_PAUSE)))
            }
        }
    }
}

/// Takes what is due. That it cannot be read is logged once per outage, not once per look.
async fn due(store: &Store, room: usize, is_away: &mut bool) -> Vec<Delivery> {
    if room == 0 {
        return Vec::new();
    }
    match store.take_deliveries(CLAIM, u32::try_from(room).unwrap_or(1), Clock::Database).await {
        Ok(due) => {
            if std::mem::take(is_away) {
                tracing::info!("webhooks that are due can be read again");
            }
            due
        }
        Err(error) => {
            if !std::mem::replace(is_away, true) {
                tracing::warn!(%error, "webhooks that are due cannot be read; looking again every second");
            }
            Vec::new()
        }
    }
}

/// Returns the pause after a failed attempt, counted from 1; `None` after the last.
fn pause(attempt: u32) -> Option<Duration> {
    let place = usize::try_from(attempt).ok()?.checked_sub(1)?;
    PAUSES.get(place).copied().map(Duration::from_secs)
}

/// Returns the body: enough to know which run it is and where to read more, and nothing that only its reader may see.
fn payload(run: &Run, ended_at: Timestamp) -> Value {
    let kind = match run.status {
        RunStatus::Failed => "run.failed",
        RunStatus::Cancelled => "run.cancelled",
        _ => "run.completed",
    };
    let path = format!("/api/v1/runs/{}", run.id);
    json!({
        "type": kind,
        "timestamp": ended_at,
        "data": {"run": {
            "id": run.id,
            "thread_id": run.thread_id,
            "status": run.status,
            "outcome": run.outcome,
            "error": run.error,
            "created_at": run.created_at,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "links": {
                "self": path,
                "thread": format!("/api/v1/threads/{}", run.thread_id),
                "report": format!("{path}/report"),
            },
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_for_about_a_day_with_growing_pauses() {
        let all: u64 = PAUSES.iter().sum();
        assert!((80_000..90_000).contains(&all) && PAUSES.is_sorted());
        assert_eq!((pause(1), pause(11)), (Some(Duration::from_secs(1)), Some(Duration::from_secs(28_800))));
        assert_eq!((pause(0), pause(12)), (None, None));
    }

    #[test]
    fn addresses_are_checked() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let of = |reach| Webhooks::new(&Settings { secret: Some(secret.clone()), reach }).unwrap();
        let near: Networks = ["127.0.0.0/8".parse().unwrap()].into();
        let [public, near, all] = [(false, Networks::default()), (false, near), (true, Networks::default())]
            .map(|(all, networks)| of(Reach::new(all, &networks)));
        assert!(public.check("https://example.com/hook?x=1").is_ok());
        for url in ["", "example.com", "ftp://example.com/", "https://me:pw@example.com/", "https://", "javascript:1"] {
            assert_eq!(public.check(url), Err(BadAddress::Malformed), "{url}");
        }
        assert_eq!(public.check(&format!("https://example.com/{}", "x".repeat(2_000))), Err(BadAddress::Malformed));
        for url in ["http://169.254.169.254/latest", "http://localhost:9/hook"] {
            assert_eq!(public.check(url), Err(BadAddress::Private), "{url}");
        }
        assert!(all.check("http://127.0.0.1:9/hook").is_ok() && near.check("http://127.0.0.1:9/hook").is_ok());
        assert_eq!(near.check("http://10.0.0.1/hook"), Err(BadAddress::Private));
        let none = Webhooks::new(&Settings::default()).unwrap();
        assert_eq!(none.check("https://example.com/"), Err(BadAddress::NoSecret));
    }
}
