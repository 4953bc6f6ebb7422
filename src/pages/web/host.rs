//! Politeness: to one host few calls at a time, a pause between them, and none while it asks for a rest.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};
use url::Url;

use super::{
    NotRead,
    robots::{self, Robots, Unavailable},
};
use crate::net;

/// Calls to a host at a time.
const AT_ONCE: usize = 2;
/// The time between the beginnings of two calls.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest such time that a host's robots.txt may ask for; who asks for more gets this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A host that asks for a longer rest is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long a robots.txt counts before it is fetched again (RFC 9309, 2.4).
const RULES_COUNT: Duration = Duration::from_secs(24 * 60 * 60);
/// The failures in a row after which a host is left alone for a while.
const MAX_FAILURES: u32 = 3;
const REST: Duration = Duration::from_secs(300);
/// The longest rest that a host may ask for; who asks for more gets this.
const LONGEST_REST: Duration = Duration::from_secs(3_600);
/// Why a host is not called.
const ASKED: &str = "its host asks to be left alone for a while";
const FAILED: &str = "its host did not answer three times in a row, and is left alone for a while";
const AWAITED: &str = "others wait for its host, which is called only now and then";
/// Hosts remembered; those in use and those that are left alone are never forgotten.
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
    /// Held while they are fetched, so that they are fetched once.
    robots: tokio::sync::Mutex<Option<Rules>>,
}

/// What a host's robots.txt said, and when.
#[derive(Clone, Debug)]
struct Rules {
    robots: Arc<Robots>,
    since: Instant,
}

#[derive(Debug)]
struct State {
    next: Instant,
    /// Until when it was last left alone, and why.
    rest: (Instant, &'static str),
    pause: Duration,
    failures: u32,
}

impl State {
    /// Leaves the host alone for so much time, unless it is left alone for longer.
    fn rest(&mut self, time: Duration, why: &'static str) {
        let end = Instant::now() + time;
        if end > self.next {
            (self.next, self.rest) = (end, (end, why));
        }
    }

    /// Returns why a call would wait for long.
    fn waits(&self) -> &'static str {
        let (end, why) = self.rest;
        if end > Instant::now() { why } else { AWAITED }
    }
}

/// The right to make one call.
pub(super) struct Turn<'a> {
    host: &'a Host,
    _slot: Option<SemaphorePermit<'a>>,
}

impl Hosts {
    pub(super) fn of(&self, url: &Url) -> Arc<Host> {
        let mut known = self.known.lock();
        if known.len() >= MAX_HOSTS {
            let now = Instant::now();
            known.retain(|_, host| Arc::strong_count(host) > 1 || host.state.lock().next > now);
        }
        let host = || {
            let now = Instant::now();
            let state = State { next: now, rest: (now, ASKED), pause: PAUSE, failures: 0 };
            Arc::new(Host {
                slots: Semaphore::new(AT_ONCE),
                state: Mutex::new(state),
                robots: tokio::sync::Mutex::default(),
            })
        };
        Arc::clone(known.entry(url.origin().ascii_serialization()).or_insert_with(host))
    }
}

impl Host {
    /// Waits for the host's turn.
    ///
    /// # Errors
    /// The host asked for a longer rest, or has failed too often, or others wait for it.
    pub(super) async fn turn(&self) -> Result<Turn<'_>, NotRead> {
        // The semaphore is never closed.
        let slot = self.slots.acquire().await.ok();
        let begins = {
            let mut state = self.state.lock();
            let begins = state.next.max(Instant::now());
            if begins.saturating_duration_since(Instant::now()) > LONGEST_WAIT {
                return Err(NotRead::new(state.waits()));
            }
            state.next = begins + state.pause;
            begins
        };
        tokio::time::sleep_until(begins).await;
        Ok(Turn { host: self, _slot: slot })
    }

    /// Checks that the host's robots.txt allows the page.
    ///
    /// # Errors
    /// The host's robots.txt asks to leave this page alone, or cannot be had.
    pub(super) async fn follow_robots<'c>(
        &self,
        url: &Url,
        client_for: impl Fn(&Url) -> Option<&'c reqwest::Client>,
    ) -> Result<(), NotRead> {
        if self.robots(url, client_for).await?.allows(url).await {
            return Ok(());
        }
        Err(NotRead::new("its site asks programs not to read it (robots.txt)"))
    }

    /// Returns the rules that count. Old ones do while new ones cannot be had.
    async fn robots<'c>(
        &self,
        url: &Url,
        client_for: impl Fn(&Url) -> Option<&'c reqwest::Client>,
    ) -> Result<Arc<Robots>, NotRead> {
        let mut known = self.robots.lock().await;
        if let Some(rules) = known.as_ref().filter(|rules| rules.since.elapsed() < RULES_COUNT) {
            return Ok(Arc::clone(&rules.robots));
        }
        match self.fetch_robots(url, client_for).await {
            Ok(robots) => {
                let rules = known.insert(Rules { robots: Arc::new(robots), since: Instant::now() });
                Ok(Arc::clone(&rules.robots))
            }
            Err(refused) => known.as_ref().map(|old| Arc::clone(&old.robots)).ok_or(refused),
        }
    }

    async fn fetch_robots<'c>(
        &self,
        url: &Url,
        client_for: impl Fn(&Url) -> Option<&'c reqwest::Client>,
    ) -> Result<Robots, NotRead> {
        let turn = self.turn().await?;
        match robots::fetch(url, client_for).await {
            Ok(robots) => {
                let pause = pause(robots.crawl_delay().await);
                let mut state = self.state.lock();
                (state.pause, state.failures) = (pause, 0);
                Ok(robots)
            }
            Err(Unavailable { why, rest }) => {
                turn.failed();
                self.state.lock().rest(rest.unwrap_or_default().min(LONGEST_REST), ASKED);
                Err(why)
            }
        }
    }
}

/// Returns the time between two calls to a host that asks for this one.
fn pause(asked: Option<Duration>) -> Duration {
    asked.unwrap_or_default().clamp(PAUSE, LONGEST_PAUSE)
}

impl Turn<'_> {
    /// Notes that the host did not answer.
    pub(super) fn failed(&self) {
        let mut state = self.host.state.lock();
        state.failures += 1;
        if state.failures >= MAX_FAILURES {
            state.failures = 0;
            state.rest(REST, FAILED);
        }
    }

    /// Notes that the host answered, perhaps by asking for a rest.
    pub(super) fn answered(&self, answer: &reqwest::Response) {
        let mut state = self.host.state.lock();
        state.failures = 0;
        if let Some(wait) = net::retry_after(answer.headers()).filter(|_| answer.status().as_u16() >= 429) {
            state.rest(wait.min(LONGEST_REST), ASKED);
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        extract::State,
        http::{
            StatusCode,
            header::{LOCATION, RETRY_AFTER},
        },
        response::{IntoResponse as _, Response},
        routing::get,
    };
    use tokio::task::JoinSet;

    use super::*;

    /// What a site answers, whatever it is asked: a status, a text, and where it sends.
    type ScriptedReply = Arc<Mutex<(u16, &'static str, Option<Url>)>>;

    async fn site() -> (Url, ScriptedReply, JoinSet<()>) {
        let said: ScriptedReply = Arc::new(Mutex::new((404, "", None)));
        let answer = async |State(said): State<ScriptedReply>| -> Response {
            let (status, text, to) = said.lock().clone();
            let to = to.map_or_else(String::new, String::from);
            let wait = if status == 429 { "60" } else { "" }.to_owned();
            (StatusCode::from_u16(status).unwrap(), [(LOCATION, to), (RETRY_AFTER, wait)], text).into_response()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/private", listener.local_addr().unwrap())).unwrap();
        let (router, mut server) = (Router::new().fallback(get(answer)).with_state(Arc::clone(&said)), JoinSet::new());
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        (url, said, server)
    }

    fn client() -> reqwest::Client {
        net::guarded(net::Timeouts::default(), net::Reach::All).unwrap()
    }

    #[tokio::test]
    async fn a_robots_txt_counts_for_a_day() {
        let (url, said, _server) = site().await;
        let (hosts, client) = (Hosts::default(), client());
        let is_free = async || hosts.of(&url).follow_robots(&url, |_| Some(&client)).await.is_ok();
        let later = async |time: Duration| {
            tokio::time::pause();
            tokio::time::advance(time).await;
            tokio::time::resume();
        };
        *said.lock() = (200, "User-agent: *\nDisallow: /private", None);
        assert!(!is_free().await);
        *said.lock() = (200, "User-agent: *\nAllow: /", None);
        later(RULES_COUNT / 2).await;
        assert!(!is_free().await, "they count for a day");
        later(RULES_COUNT / 2).await;
        assert!(is_free().await);
        // Those that are known count while no others can be had.
        *said.lock() = (503, "", None);
        later(RULES_COUNT).await;
        assert!(is_free().await);
    }

    #[tokio::test]
    async fn a_pause_that_a_host_asks_for_is_kept_up_to_ten_seconds() {
        for (rules, seconds) in
            [("", 0.5), ("User-agent: *\nCrawl-delay: 3", 3.0), ("User-agent: *\nCrawl-delay: 90", 10.0)]
        {
            let (url, said, _server) = site().await;
            *said.lock() = (200, rules, None);
            let (hosts, client) = (Hosts::default(), client());
            let host = hosts.of(&url);
            host.follow_robots(&url, |_| Some(&client)).await.unwrap();
            tokio::time::pause();
            drop(host.turn().await.unwrap());
            let begun = Instant::now();
            drop(host.turn().await.unwrap());
            let waited = begun.elapsed().as_secs_f64();
            assert!((seconds..seconds + 0.1).contains(&waited), "{waited} s for {rules}");
            assert!(host.turn().await.is_ok(), "another one of ten seconds is waited for");
            tokio::time::resume();
        }
    }

    /// Returns why the host is left alone.
    async fn left_alone(host: &Host) -> String {
        host.turn().await.err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn why_a_host_is_left_alone_is_said() {
        let fail = |host: &Host| Turn { host, _slot: None }.failed();
        let host = Hosts::default().of(&Url::parse("https://a.example").unwrap());
        (1..MAX_FAILURES).for_each(|_| fail(&host));
        assert_eq!(left_alone(&host).await, "");
        fail(&host);
        assert_eq!(left_alone(&host).await, FAILED);
        let busy = http::Response::builder().status(429).header("retry-after", "60").body("").unwrap();
        let turn = Turn { host: &host, _slot: None };
        turn.answered(&busy.into());
        assert_eq!(left_alone(&host).await, FAILED, "which is the longer one");
        tokio::time::advance(REST).await;
        let busy = http::Response::builder().status(429).header("retry-after", "60").body("").unwrap();
        turn.answered(&busy.into());
        assert_eq!(left_alone(&host).await, ASKED);
        tokio::time::advance(Duration::from_secs(60)).await;
        host.state.lock().pause = LONGEST_PAUSE;
        let waiting = futures::join!(left_alone(&host), left_alone(&host), left_alone(&host));
        assert_eq!(waiting, (String::new(), String::new(), AWAITED.to_owned()), "its rests are over");
    }

    #[tokio::test]
    async fn a_robots_txt_is_an_answer_that_may_ask_for_a_rest() {
        let (url, said, _server) = site().await;
        let (hosts, client) = (Hosts::default(), client());
        let host = hosts.of(&url);
        *said.lock() = (429, "", None);
        assert!(host.follow_robots(&url, |_| Some(&client)).await.is_err());
        assert_eq!(left_alone(&host).await, ASKED);
        let other = Hosts::default().of(&url);
        (1..MAX_FAILURES).for_each(|_| Turn { host: &other, _slot: None }.failed());
        *said.lock() = (404, "", None);
        other.follow_robots(&url, |_| Some(&client)).await.unwrap();
        assert_eq!(other.state.lock().failures, 0);
    }

    #[tokio::test]
    async fn a_rest_that_another_site_asks_for_is_not_this_ones() {
        let ((url, said, _server), (elsewhere, busy, _others)) = (site().await, site().await);
        *busy.lock() = (429, "", None);
        *said.lock() = (302, "", Some(elsewhere));
        let (host, client) = (Hosts::default().of(&url), client());
        assert!(host.follow_robots(&url, |_| Some(&client)).await.is_err());
        assert_eq!(host.state.lock().waits(), AWAITED, "for its pause, and for no rest");
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_are_left_alone_are_not_forgotten() {
        let url = |number: usize| Url::parse(&format!("https://{number}.example")).unwrap();
        let hosts = Hosts::default();
        hosts.of(&url(0)).state.lock().rest(REST, ASKED);
        for number in 1..=MAX_HOSTS {
            hosts.of(&url(number));
        }
        assert_eq!(left_alone(&hosts.of(&url(0))).await, ASKED);
        assert!(hosts.known.lock().len() < MAX_HOSTS, "others are");
    }

    #[tokio::test]
    async fn a_robots_txt_is_fetched_from_no_port_that_is_not_called() {
        let ((url, said, _server), (other, rules, _others)) = (site().await, site().await);
        *rules.lock() = (200, "User-agent: *\nDisallow: /", None);
        *said.lock() = (302, "", Some(other.clone()));
        let client = client();
        let is_free = async |may_call: &dyn Fn(&Url) -> bool| {
            let client_for = |next: &Url| may_call(next).then_some(&client);
            Hosts::default().of(&url).follow_robots(&url, client_for).await.is_ok()
        };
        assert!(!is_free(&|_| true).await);
        assert!(is_free(&|next| next.port() != other.port()).await, "the other port is not asked");
    }
}
