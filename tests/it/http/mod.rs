//! The service as its clients see it: real sockets, claim loop and database, over the scripted world.
//!
//! [`Service`] is started and stopped by each story. Every answer it gives is held against `openapi.yaml`.

mod bad_input;
mod browser;
mod caching;
pub mod cancelling;
mod changes;
mod collections;
mod connections;
mod documents;
mod doors;
mod estimate;
mod events;
mod keys;
mod life;
mod limits;
mod lists;
mod operating;
mod owners;
mod queue;
mod request_keys;
mod requests;
mod retrying;
mod shares;
pub(crate) mod sign_in;
mod stopping;
mod threads;
mod webhooks;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use fathom::{
    app::App,
    auth::Wanted,
    config::Config,
    domain::{KeyScope, Owner, Timestamp, UseLimits},
    http::{State, Timeouts, serve},
    runs::Dispatcher,
};
use reqwest::{Body, Client, Method, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    contract::Contract,
    database::TestDatabase,
    stories::engine::{self, QUESTION},
    world::{Script, Shape, World},
};

/// No answer takes longer, and no event is longer in coming.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A thread or run of that id that never was.
pub const NOBODY: &str = "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d";

pub const JSON: (&str, &str) = ("content-type", "application/json");

/// One replica, in this process.
pub struct Service {
    pub address: SocketAddr,
    pub client: Client,
    shutdown: CancellationToken,
    app: App,
    tasks: JoinSet<()>,
    /// Held so that its files stay as long as the service works on them.
    _database: TestDatabase,
}

/// The names of what a request created.
#[derive(Clone, Debug)]
pub struct Started {
    pub thread: String,
    pub run: String,
}

/// A world of small runs.
pub async fn small_world() -> World {
    World::start(Script::whole_run(Shape::SMALL)).await
}

impl Service {
    pub async fn start(world: &World, database: &TestDatabase) -> Self {
        Self::with(world, database, &[]).await
    }

    /// With variables that win over the world's.
    pub async fn with(world: &World, database: &TestDatabase, variables: &[(&'static str, &str)]) -> Self {
        Self::patient(world, database, variables, Timeouts::default()).await
    }

    pub async fn patient(
        world: &World,
        database: &TestDatabase,
        variables: &[(&'static str, &str)],
        patience: Timeouts,
    ) -> Self {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let mut config = engine::config(world, database, &[], &variables).unwrap();
        // A silent model holds a run at its place for as long as a story wants it there.
        config.llm.idle_timeout = 2 * PATIENCE;
        Self::of(&config, database, patience).await
    }

    /// Put together as `fathom serve` does it.
    async fn of(config: &Config, database: &TestDatabase, patience: Timeouts) -> Self {
        let app = App::build(config).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let state = State::with(app.runs.clone(), app.keys.clone(), config.http.clone(), patience, shutdown.clone());
        let dispatcher = Dispatcher::new(app.runs.clone());
        let token = shutdown.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { dispatcher.run(&token).await });
        tasks.spawn(serve(listener, state));
        let client = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        Self { address, client, shutdown, app, tasks, _database: database.clone() }
    }

    /// Begins to stop, as at a signal.
    pub fn begin_to_stop(&self) {
        self.shutdown.cancel();
    }

    /// Stops, and returns how long that took.
    pub async fn stop(mut self) -> Duration {
        let began = Instant::now();
        self.begin_to_stop();
        let ended = async {
            while let Some(joined) = self.tasks.join_next().await {
                joined.expect("no part of the service panics");
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("the service stops");
        let took = began.elapsed();
        tokio::time::timeout(PATIENCE, self.app.close()).await.expect("the database closes");
        took
    }

    /// A new key of that owner, which expires at that time.
    pub async fn key(&self, owner: &str, scope: KeyScope, expires_at: Option<Timestamp>) -> String {
        self.limited_key(owner, scope, expires_at, UseLimits::default()).await
    }

    /// The same, with limits of its own.
    pub async fn limited_key(
        &self,
        owner: &str,
        scope: KeyScope,
        expires_at: Option<Timestamp>,
        limits: UseLimits,
    ) -> String {
        let wanted = Wanted { name: "test".to_owned(), owner: Owner::named(owner), scope, expires_at, limits };
        self.app.keys.create(wanted).await.unwrap().1
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[JSON], body.to_string()).await
    }

    /// The answer to a request, whole and as the contract has it.
    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let mut request = self.client.request(method.parse::<Method>().unwrap(), self.url(path)).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap_or_else(|error| panic!("{method} {path}: {error:?}"));
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap().to_vec();
        let answer = Answer { status, headers, body };
        answer.check(method, path);
        answer
    }

    /// Asks the question in a thread of its own.
    pub async fn start_run(&self) -> Started {
        self.create(&json!({ "message": QUESTION })).await
    }

    pub async fn create(&self, body: &Value) -> Started {
        self.post("/api/v1/threads", body).await.expect(201).started()
    }

    /// Writes into a thread; the run that answers.
    pub async fn say(&self, thread: &str, content: &str) -> String {
        let answer = self.post(&format!("/api/v1/threads/{thread}/messages"), &json!({ "content": content })).await;
        answer.expect(202).json()["run"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn thread(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/threads/{id}")).await.expect(200).json()
    }

    pub async fn run(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/runs/{id}")).await.expect(200).json()
    }

    /// The run when it is final.
    pub async fn ended(&self, id: &str) -> Value {
        let path = format!("/api/v1/runs/{id}");
        let run = self.ask("GET", &path, &[("prefer", "wait=30")], "").await.expect(200).json();
        assert!(["completed", "failed", "cancelled"].contains(&run["status"].as_str().unwrap()), "{run:#}");
        run
    }

    /// The data of a list.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).await.expect(200).json()["data"].as_array().unwrap().clone()
    }

    /// Every event of the thread or run so far, from its pages.
    pub async fn events(&self, path: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("{path}?after={after}");
            let page = self.ask("GET", &path, &[("accept", "application/json")], "").await.expect(200).json();
            let data = page["data"].as_array().unwrap();
            events.extend(data.iter().cloned());
            after = page["next_after"].as_i64().unwrap();
            if data.is_empty() || page["done"] == true {
                return events;
            }
        }
    }

    /// Opens a stream that has to be one.
    pub async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> Stream {
        // The client's own limit is for whole answers; a stream may have to outlive an outage.
        let stream = self.client.get(self.url(path)).timeout(PATIENCE * 4);
        let mut request = stream.header("accept", "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        Stream { path: path.to_owned(), response, received: Vec::new(), read: 0, retry: None, last_id: None }
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    fn check(&self, method: &str, path: &str) {
        let contract = Contract::get();
        if contract.operation(method, path).is_some() && !self.is_general_refusal() {
            contract.check(method, path, self.status, &self.headers, &self.body);
        } else if method != "OPTIONS" && self.status >= 400 {
            contract.check_problem(self.status, &self.headers, &self.body);
        }
        assert!(self.headers.contains_key("x-request-id"), "{method} {path}: {:?}", self.headers);
    }

    /// One that every operation can give, and that therefore none names.
    fn is_general_refusal(&self) -> bool {
        let problem: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let of_doors = ["host_not_allowed", "origin_not_allowed", "proxy_not_trusted", "owner_not_allowed"];
        let of_callers = ["unauthenticated", "not_permitted", "rate_limited"];
        [&of_doors[..], &of_callers[..]].concat().contains(&problem["code"].as_str().unwrap_or_default())
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The problem, which has to be that one.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let problem: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        assert_eq!((self.status, problem["code"].as_str()), (status, Some(code)), "{}", self.text());
        assert_eq!(problem["request_id"], self.header("x-request-id"), "{problem}");
        problem
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Empty when it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What a thread's creation answered.
    pub fn started(&self) -> Started {
        let body = self.json();
        let id = |name: &str| body[name]["id"].as_str().unwrap().to_owned();
        Started { thread: id("thread"), run: id("run") }
    }
}

impl Started {
    pub fn thread_path(&self) -> String {
        format!("/api/v1/threads/{}", self.thread)
    }

    pub fn run_path(&self) -> String {
        format!("/api/v1/runs/{}", self.run)
    }

    pub fn events_path(&self) -> String {
        format!("/api/v1/runs/{}/events", self.run)
    }
}

/// An open stream of events, read as a browser does.
pub struct Stream {
    path: String,
    pub response: reqwest::Response,
    /// Everything that came. A piece of the network's may end within a character.
    received: Vec<u8>,
    /// Bytes of `received` that were understood.
    read: usize,
    /// Milliseconds, as sent last.
    pub retry: Option<u64>,
    pub last_id: Option<String>,
}

impl Stream {
    /// The next event; `None` at the stream's end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(length) = self.received[self.read..].windows(2).position(|pair| pair == b"\n\n") {
                let record = self.received[self.read..self.read + length].to_vec();
                self.read += length + 2;
                if let Some(event) = self.record(&record) {
                    return Some(event);
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("something comes").unwrap();
            let Some(chunk) = chunk else {
                let hint = self.received[self.read..].to_vec();
                self.record(&hint);
                return None;
            };
            self.received.extend_from_slice(&chunk);
        }
    }

    fn record(&mut self, record: &[u8]) -> Option<Value> {
        let mut event = None;
        for line in std::str::from_utf8(record).unwrap().lines() {
            match line.split_once(": ") {
                Some(("retry", pause)) => self.retry = Some(pause.parse().unwrap()),
                Some(("id", id)) => self.last_id = Some(id.to_owned()),
                Some(("data", data)) => event = Some(serde_json::from_str(data).unwrap()),
                _ => {}
            }
        }
        event
    }

    /// Reads on until an event of that type has come, which is the last of those returned.
    pub async fn until(&mut self, name: &str) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
            if events.last().is_some_and(|event| event["type"] == name) {
                return events;
            }
        }
        panic!("{} ended without {name}", self.path);
    }

    /// What is left, to the stream's end; the whole text is as the contract has it.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        let headers = self.response.headers();
        Contract::get().check("GET", &self.path, 200, headers, &self.received);
        events
    }
}

/// The types of events, in order.
pub fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

pub fn seqs(events: &[Value]) -> Vec<i64> {
    events.iter().map(|event| event["seq"].as_i64().unwrap()).collect()
}
