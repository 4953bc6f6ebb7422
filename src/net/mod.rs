//! Outbound HTTP as every room needs it: one way to build a client, bodies with a cap, retries with a bound.
//!
//! Knows no vendor: what a status code means is said by the room that calls. Look next at `retry`, the one policy
//! for models and searches, and `circuit`, what calls to one provider share; `limiter` says whose turn it is. `guard`
//! keeps addresses that others chose away from private networks, `redact` takes secrets out of what others say,
//! `canonical` spells each address one way, `oauth` is what all requests for tokens share.

mod backoff;
mod canonical;
mod circuit;
mod clock;
mod elements;
pub mod frames;
mod gate;
mod guard;
mod limiter;
mod oauth;
mod quota;
mod redact;
mod redirects;
mod retry;
mod sse;
pub mod surrogates;

use std::borrow::Cow;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};
use url::{Host, Url};

pub use backoff::{LONGEST_BACKOFF, RetryPolicy, Trouble, jittered};
pub use canonical::{canonical_url, same_page, without_last_slash};
pub use circuit::Circuit;
pub use elements::Elements;
pub use gate::{Gate, Open, Rest};
pub use guard::{GuardedClients, Networks, Reach, Uncalled, guarded, guarded_within_origin, is_public};
pub use limiter::{Limiter, Limits, Permit};
pub use oauth::{form, refusal_code};
pub use quota::{Quota, is_used_up, is_used_up_by_number, is_used_up_for_long, span};
pub use redact::{
    HIDDEN, MIN_SECRET_BYTES, hidden_address, redact, secrets_of_address, shown_name, shown_url, without,
    without_credentials, without_user,
};
pub use retry::{Attempt, CallContext, GaveUp, NoWait, RetryAdvice, Wait, retry};
pub use sse::Events;

/// How long an outbound call may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// To open the connection, TLS included.
    pub connect: Duration,
    /// From sending to the last byte. `None` where each request has a limit of its own.
    pub total: Option<Duration>,
    /// Between two chunks of the body: a timer for each. `None` where each wait has a limit of its own.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        Self { connect: Duration::from_secs(10), total: seconds(60), idle: seconds(30) }
    }
}

/// Why an answer could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The settings of this machine (certificates, proxy variables) do not allow a client.
    #[error("no HTTP client could be built: {0}")]
    Client(String),
    /// Broken on the way; worth trying again.
    #[error("{0}")]
    Transport(String),
    #[error("the answer is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
    /// It came, and its compression is none.
    #[error("{0}")]
    Garbled(String),
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&reqwest::Error> for Error {
    fn from(error: &reqwest::Error) -> Self {
        match is_garbled(error) {
            true => Self::Garbled(describe(error)),
            false => Self::Transport(describe(error)),
        }
    }
}

/// Connections to one place that are kept for the next call. Each takes 25 to 35 KB over HTTP/1.1, and many runs at
/// once leave thousands behind; a run by itself uses fewer than these.
const MAX_IDLE: usize = 256;

/// Clients for programs' interfaces, whose destinations share their connections. They follow no redirects, at most
/// those of [`Self::within_origin`]: another POST arrives as a GET without its body, and keys in other headers than
/// `Authorization` would go wherever it leads. Compressed answers are unpacked, so bodies need [`read_body`]'s cap.
#[derive(Clone, Debug)]
pub struct ApiClients {
    /// Through the proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
    proxied: reqwest::Client,
    direct: reqwest::Client,
}

impl ApiClients {
    /// Creates the clients with these timeouts.
    ///
    /// # Errors
    /// [`Error::Client`] when TLS or a proxy variable cannot be set up.
    pub fn new(timeouts: Timeouts) -> Result<Self, Error> {
        Self::by(reqwest::redirect::Policy::none, timeouts)
    }

    /// Creates clients that follow a redirect within the origin if it keeps method and body (307, 308).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn within_origin(timeouts: Timeouts) -> Result<Self, Error> {
        Self::by(redirects::within_origin, timeouts)
    }

    fn by(redirects: fn() -> reqwest::redirect::Policy, timeouts: Timeouts) -> Result<Self, Error> {
        let builder = || {
            builder(timeouts)
                .redirect(redirects())
                // A request written into a connection that the server has just closed fails; idle ones are dropped
                // early.
                .pool_idle_timeout(Duration::from_secs(30))
                .pool_max_idle_per_host(MAX_IDLE)
                .tcp_keepalive(Duration::from_secs(30))
                .http2_keep_alive_interval(Duration::from_secs(20))
                .http2_keep_alive_timeout(Duration::from_secs(10))
        };
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|error| Error::Client(describe(&error)));
        Ok(Self { proxied: built(builder())?, direct: built(builder().no_proxy())? })
    }

    /// Returns the client that asks no proxy.
    pub fn direct(&self) -> &reqwest::Client {
        &self.direct
    }

    /// Returns the client for a URL. Loopback is never reached through a proxy, although the environment's variables
    /// would say so.
    pub fn for_url(&self, url: &Url) -> &reqwest::Client {
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if is_loopback { &self.direct } else { &self.proxied }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that begins a client")]
fn builder(timeouts: Timeouts) -> reqwest::ClientBuilder {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("fathom/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect);
    if let Some(idle) = timeouts.idle {
        builder = builder.read_timeout(idle);
    }
    match timeouts.total {
        Some(total) => builder.timeout(total),
        None => builder,
    }
}

/// What some editors, shells and servers write before UTF-8 text; a parser may pass over it (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns a text in UTF-8 without the mark of its encoding that it may begin with.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns a body without that mark.
pub fn body_without_mark(mut body: Vec<u8>) -> Vec<u8> {
    body.drain(..body.len() - without_mark(&body).len());
    body
}

/// Reads a body of at most `max_bytes` after decompression; a bomb or an endless page costs no more than that.
///
/// # Errors
/// [`Error::TooLarge`] as soon as the cap is passed, [`Error::Transport`] when the stream breaks, [`Error::Garbled`]
/// when it is not compressed as the server says.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub async fn read_body(mut response: reqwest::Response, max_bytes: usize) -> Result<Vec<u8>, Error> {
    let announced = response.content_length().unwrap_or(0);
    if announced > max_bytes as u64 {
        return Err(Error::TooLarge { max_bytes });
    }
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max_bytes {
            return Err(Error::TooLarge { max_bytes });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The longest wait that a server can ask for; longer ones are read as this.
pub const LONGEST_ASKED: Duration = Duration::from_secs(366 * 24 * 3_600);

/// Returns the wait a server asked for by `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); a past date is
/// zero.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    parse_retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?, OffsetDateTime::now_utc())
}

fn parse_retry_after(text: &str, now: OffsetDateTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return asked_wait(seconds);
    }
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(Duration::try_from(date - now).unwrap_or(Duration::ZERO).min(LONGEST_ASKED))
}

/// Returns the wait of so many seconds, no longer than [`LONGEST_ASKED`]; `None` for what is no length of time.
pub fn asked_wait(seconds: f64) -> Option<Duration> {
    let seconds = Some(seconds).filter(|seconds| seconds.is_finite())?;
    Duration::try_from_secs_f64(seconds.min(LONGEST_ASKED.as_secs_f64())).ok()
}

/// Returns the path of an API with `/v1` at its end, unless a version stands there: who makes the API appends that to
/// the addresses that users give.
pub fn with_version(path: &str) -> Cow<'_, str> {
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_version = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_version { path.into() } else { format!("{path}/v1").into() }
}

/// Returns the error and its causes in one line, without the URL, which may carry a key.
fn describe(error: &reqwest::Error) -> String {
    if let Some(status) = error.status() {
        return format!("it answers {status}");
    }
    let what = match error {
        error if error.is_timeout() => "it took too long".to_owned(),
        error if error.is_connect() => "no connection".to_owned(),
        error if is_garbled(error) => "the answer cannot be unpacked".to_owned(),
        error if error.is_decode() || error.is_body() => "the answer broke off".to_owned(),
        _ => "the request failed".to_owned(),
    };
    match root_cause(error) {
        Some(cause) => format!("{what} ({cause})"),
        None => what,
    }
}

/// Returns whether a body is not compressed as its server says: the trouble of the unpacking itself, since that of a
/// connection stands behind another error of the client's.
fn is_garbled(error: &reqwest::Error) -> bool {
    let source = std::error::Error::source(error);
    error.is_decode() && source.is_some_and(|source| source.is::<std::io::Error>())
}

fn root_cause(error: &reqwest::Error) -> Option<String> {
    let mut cause = std::error::Error::source(error)?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        sync::{Barrier, watch},
        task::JoinSet,
    };

    use super::*;

    /// Returns a server that answers each request once so many are there, and says which connections the client has
    /// closed.
    async fn server(at_once: usize) -> (Url, watch::Receiver<usize>, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let (closed, seen) = watch::channel(0);
        let all = Arc::new(Barrier::new(at_once));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (all, closed) = (Arc::clone(&all), closed.clone());
                connections.spawn(async move {
                    let mut request = [0; 4_096];
                    assert!(stream.read(&mut request).await.unwrap() > 0);
                    all.wait().await;
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                    assert_eq!(stream.read(&mut request).await.unwrap_or_default(), 0);
                    closed.send_modify(|closed| *closed += 1);
                });
            }
        });
        (url, seen, tasks)
    }

    #[tokio::test]
    async fn of_many_connections_at_once_no_more_are_kept_than_a_run_uses() {
        const BEYOND: usize = 9;
        let (url, mut closed, _server) = server(MAX_IDLE + BEYOND).await;
        let clients = ApiClients::new(Timeouts::default()).unwrap();
        let calls = (0..MAX_IDLE + BEYOND).map(|_| clients.for_url(&url).get(url.clone()).send());
        let answers = futures::future::join_all(calls).await;
        assert!(answers.into_iter().all(|answer| answer.is_ok_and(|answer| answer.status() == 200)));
        let bounded = tokio::time::timeout(Duration::from_secs(10), closed.wait_for(|closed| *closed >= BEYOND)).await;
        assert_eq!(*bounded.expect("those beyond the bound are closed").unwrap(), BEYOND);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = time::macros::datetime!(2031-03-10 12:00:00 UTC);
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(parse_retry_after(text, now), expected.map(Duration::from_secs), "{text}");
        };
        check("7", Some(7));
        check(" 120 ", Some(120));
        check("Mon, 10 Mar 2031 12:00:30 GMT", Some(30));
        check("Mon, 10 Mar 2031 11:00:00 GMT", Some(0));
        check("-3", None);
        check("1e400", None);
        check("soon", None);
        check("1e19", Some(LONGEST_ASKED.as_secs()));
        check("99999999999999999999999", Some(LONGEST_ASKED.as_secs()));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(LONGEST_ASKED.as_secs()));
        check("", None);
    }
}
