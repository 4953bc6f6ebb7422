//! Clients who asked for it learn that a run has ended: signed, at least once, and never at a private address by
//! mistake.

use std::{process::Stdio, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State as Shared,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::any,
};
use fathom::domain::{RunStatus, Timestamp};
use fathom_testkit::program::tool;
use parking_lot::Mutex;
use serde_json::{Value, json};
use test_case::test_case;
use tokio::{net::TcpListener, process::Command, task::JoinSet};

use super::{NOBODY, Service, cancelling::silent_at, small_world};
use crate::{
    contract::Contract,
    crash::{Engine, QUESTION, Site, script, until},
    database::TestDatabase,
    fleet::Replica,
    store::{claimed, finish_of},
    world::{Kind, Script, When, World, reply},
};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0tP8v/gmEmM=";
const OLD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECRETS: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0tP8v/gmEmM= whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ALLOWED: [(&str, &str); 2] = [("FATHOM_WEBHOOK_SECRET", SECRETS), ("FATHOM_WEBHOOK_ALLOW_PRIVATE", "true")];

/// What a receiver got.
#[derive(Clone, Debug)]
struct Delivery {
    path: String,
    headers: HeaderMap,
    body: String,
}

impl Delivery {
    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Verifies it with the library of those who made the standard, as receivers do that know one of the secrets; and
    /// that the library would notice a change.
    async fn is_signed(&self) {
        const VERIFY: &str = "import json, sys
from standardwebhooks import Webhook, WebhookVerificationError
delivered = json.load(sys.stdin)
for secret in delivered['secrets']:
    webhook = Webhook(secret)
    webhook.verify(delivered['body'], delivered['headers'])
    try:
        webhook.verify(delivered['body'].replace('completed', 'failed') + ' ', delivered['headers'])
    except WebhookVerificationError:
        print('verified')";
        let headers: serde_json::Map<String, Value> = ["webhook-id", "webhook-timestamp", "webhook-signature"]
            .map(|name| (name.to_owned(), json!(self.header(name))))
            .into_iter()
            .collect();
        let mut verifier = Command::new(tool("venv/bin/python"));
        verifier
            .args(["-c", VERIFY])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut verifier = verifier.spawn().expect("scripts/test.sh installs standardwebhooks");
        let delivered = json!({"secrets": [SECRET, OLD_SECRET], "body": self.body, "headers": headers}).to_string();
        tokio::io::AsyncWriteExt::write_all(&mut verifier.stdin.take().unwrap(), delivered.as_bytes()).await.unwrap();
        let output = tokio::time::timeout(Duration::from_secs(60), verifier.wait_with_output()).await.unwrap().unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(stdout.trim(), "verified\nverified", "{stderr}");
    }
}

/// How a receiver answers.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Status(u16),
    /// Somewhere else.
    Redirect,
    /// Not before so many seconds have passed.
    Later(u32),
    /// Never.
    Silence,
}

/// Somebody on loopback who answers so, one after the other, the last answer again and again.
type Seen = (Arc<Mutex<Vec<Delivery>>>, Vec<Answer>);

struct Receiver {
    url: String,
    delivered: Arc<Mutex<Vec<Delivery>>>,
    _tasks: JoinSet<()>,
}

impl Receiver {
    async fn start(answers: &[Answer]) -> Self {
        let delivered = Arc::new(Mutex::new(Vec::new()));
        let app = Router::new().fallback(any(Self::take)).with_state((Arc::clone(&delivered), answers.to_vec()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?for=me", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, delivered, _tasks: tasks }
    }

    async fn take(Shared((delivered, answers)): Shared<Seen>, uri: Uri, headers: HeaderMap, body: String) -> Response {
        let place = {
            let mut delivered = delivered.lock();
            delivered.push(Delivery { path: uri.to_string(), headers, body });
            delivered.len() - 1
        };
        match answers[place.min(answers.len() - 1)] {
            Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
            Answer::Redirect => (StatusCode::FOUND, [(header::LOCATION, "/elsewhere")]).into_response(),
            Answer::Later(seconds) => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
            }
            Answer::Silence => std::future::pending().await,
        }
    }

    fn delivered(&self) -> Vec<Delivery> {
        self.delivered.lock().clone()
    }

    async fn has_heard(&self, times: usize) -> Vec<Delivery> {
        until("the receiver got it", async || Some(self.delivered()).filter(|delivered| delivered.len() >= times)).await
    }
}

async fn open_deliveries(database: &TestDatabase) -> usize {
    database.rows("SELECT run_id FROM webhook_deliveries".to_owned()).await.unwrap()
}

#[test_case(TestDatabase::sqlite(), Answer::Status(500); "sqlite")]
#[test_case(TestDatabase::postgres().await, Answer::Redirect; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_tells_its_end_until_it_is_heard(database: TestDatabase, first: Answer) {
    let world = small_world().await;
    let service = Service::with(&world, &database, &ALLOWED).await;
    let receiver = Receiver::start(&[first, Answer::Status(204)]).await;
    let started = service.create(&json!({"message": QUESTION, "webhook_url": receiver.url})).await;
    let run = service.ended(&started.run).await;
    let delivered = receiver.has_heard(2).await;
    until("nothing is left to be delivered", async || (open_deliveries(&database).await == 0).then_some(())).await;
    assert_eq!(receiver.delivered().len(), 2, "heard once, it is not sent again");
    for attempt in &delivered {
        assert_eq!((attempt.path.as_str(), attempt.header("content-type")), ("/hook?for=me", "application/json"));
        assert_eq!(attempt.header("webhook-id"), delivered[0].header("webhook-id"));
        assert_eq!(attempt.body, delivered[0].body);
    }
    delivered[1].is_signed().await;
    let delivered = delivered[1].json();
    let complaints = Contract::get().validate("/components/schemas/RunEnded", &delivered);
    assert!(complaints.is_empty(), "{complaints:?}: {delivered:#}");
    assert_eq!((&delivered["type"], &delivered["timestamp"]), (&json!("run.completed"), &run["finished_at"]));
    for field in ["id", "thread_id", "status", "outcome", "created_at", "finished_at"] {
        assert_eq!(delivered["data"]["run"][field], run[field], "{field}");
    }
    // The next run of the thread tells nobody who did not ask.
    let next = service.say(&started.thread, "And the dues?").await;
    service.ended(&next).await;
    assert_eq!(open_deliveries(&database).await, 0);
    service.stop().await;
    world.finish();
}

/// A pause of an hour at most, and 410 for no more at all.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_may_ask_for_a_pause_or_an_end(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::with(&world, &database, &ALLOWED).await;
    let heard = async |answer: Answer| {
        let receiver = Receiver::start(&[answer]).await;
        let started = service.create(&json!({"message": QUESTION, "webhook_url": receiver.url})).await;
        service.ended(&started.run).await;
        receiver.has_heard(1).await;
        receiver
    };
    let gone = heard(Answer::Status(410)).await;
    until("nothing is left to be delivered", async || (open_deliveries(&database).await == 0).then_some(())).await;
    for (asked, kept) in [(600, 600), (7_200, 3_600)] {
        let _receiver = heard(Answer::Later(asked)).await;
        let [from, to] = [kept - 60, kept + 60].map(|seconds| Timestamp::now().0 + seconds * 1_000);
        let put_off = format!("SELECT run_id FROM webhook_deliveries WHERE next_at BETWEEN {from} AND {to}");
        until("it is put off", async || (database.rows(put_off.clone()).await.unwrap() == 1).then_some(())).await;
    }
    assert_eq!(gone.delivered().len(), 1);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_and_cancelled_runs_tell_it_too(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &ALLOWED).await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let started = service.create(&json!({"message": QUESTION, "webhook_url": receiver.url})).await;
    until("the model is asked", async || (world.models.count(Kind::Clarify) > 0).then_some(())).await;
    service.post(&format!("/api/v1/runs/{}/cancel", started.run), &json!({})).await;
    let delivered = receiver.has_heard(1).await[0].json();
    assert_eq!((&delivered["type"], &delivered["data"]["run"]["id"]), (&json!("run.cancelled"), &json!(started.run)));

    world.models.follow(Script::new().always(When::any(), reply::status(401)));
    let path = format!("/api/v1/threads/{}/messages", started.thread);
    let body = json!({"content": "Again?", "webhook_url": receiver.url});
    let failed = service.post(&path, &body).await.expect(202).json();
    let delivered = receiver.has_heard(2).await[1].json();
    assert_eq!((&delivered["type"], &delivered["data"]["run"]["id"]), (&json!("run.failed"), &failed["run"]["id"]));
    assert_eq!(delivered["data"]["run"]["error"]["code"], "model_auth");
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_is_not_called(database: TestDatabase) {
    let world = small_world().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let refused = async |service: &Service, url: &str| {
        let body = json!({"message": QUESTION, "webhook_url": url});
        let problem = service.post("/api/v1/threads", &body).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/webhook_url", "{problem:#}");
        problem["detail"].as_str().unwrap().to_owned()
    };
    let unsigned = Service::start(&world, &database).await;
    assert!(refused(&unsigned, "https://example.com/hook").await.contains("FATHOM_WEBHOOK_SECRET"));
    unsigned.stop().await;

    let service = Service::with(&world, &database, &ALLOWED[..1]).await;
    let named = receiver.url.replace("127.0.0.1", "localhost");
    for url in [&receiver.url, &named, "http://[::1]/", "http://169.254.169.254/latest", "http://127.1:80/"] {
        assert!(refused(&service, url).await.contains("FATHOM_WEBHOOK_ALLOW_PRIVATE"), "{url}");
    }
    assert!(refused(&service, "https://me:secret@example.com/").await.contains("without user and password"));
    let missing = json!({"content": "?", "webhook_url": "file:///etc/passwd"});
    service.post(&format!("/api/v1/threads/{NOBODY}/messages"), &missing).await.refused(404, "not_found");

    // An address that came in while the operator allowed it.
    let started = service.create(&json!({"message": QUESTION, "webhook_url": "https://example.com/hook"})).await;
    database.rows(format!("UPDATE runs SET webhook_url = '{named}'")).await.unwrap();
    service.ended(&started.run).await;
    // The second attempt begins after the first one has ended.
    let tried = || "SELECT run_id FROM webhook_deliveries WHERE attempts > 1".to_owned();
    until("it was tried", async || (database.rows(tried()).await.unwrap() == 1).then_some(())).await;
    assert!(receiver.delivered().is_empty(), "{:?}", receiver.delivered());
    service.delete(&started.thread_path()).await.expect(204);
    assert_eq!(open_deliveries(&database).await, 0, "it goes with its thread");
    service.stop().await;
    world.finish();
}

/// The delivery is stored in the transaction that ends the run, so a process that dies in between, or in the middle of
/// telling, leaves it to the others.
#[tokio::test(flavor = "multi_thread")]
async fn another_replica_tells_what_a_dead_one_did_not() {
    let site = Site::new(Engine::Postgres, script()).await;
    let receiver = Receiver::start(&[Answer::Silence, Answer::Status(200)]).await;
    let mut first = Replica::start_with(&site.world, &site.database.database, &ALLOWED).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({"message": QUESTION, "webhook_url": receiver.url});
    let asked = client.post(first.url("/api/v1/threads")).json(&body).send().await.unwrap();
    assert_eq!(asked.status(), 201, "{}", asked.text().await.unwrap());
    let delivered = receiver.has_heard(1).await;
    first.running.kill().await;
    let run = site.run().await;
    assert_eq!((run.status, open_deliveries(&site.database).await), (RunStatus::Completed, 1));

    let mut second = Replica::start_with(&site.world, &site.database.database, &ALLOWED).await;
    // The dead one's minute is over.
    site.database.execute("UPDATE webhook_deliveries SET next_at = 0").await;
    let again = receiver.has_heard(2).await;
    assert_eq!(again[1].header("webhook-id"), delivered[0].header("webhook-id"));
    assert_eq!(again[1].body, delivered[0].body);
    until("nothing is left", async || (open_deliveries(&site.database).await == 0).then_some(())).await;
    second.running.terminate().await;
    second.running.ends().await;
    site.world.finish();
}

/// A run of a newer release, or a damaged one: those of the others are delivered, and its own is left to others.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_read_stops_no_webhook(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::with(&world, &database, &ALLOWED).await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let unreadable = service.create(&json!({"message": QUESTION})).await;
    service.ended(&unreadable.run).await;
    database
        .rows(format!(
            "UPDATE runs SET options = '7', webhook_url = '{}'; \
             INSERT INTO webhook_deliveries (run_id, ended_at, next_at) SELECT id, 1, 1 FROM runs",
            receiver.url
        ))
        .await
        .unwrap();
    let started = service.create(&json!({"message": QUESTION, "webhook_url": receiver.url})).await;
    service.ended(&started.run).await;
    let delivered = receiver.has_heard(1).await;
    assert_eq!(delivered[0].json()["data"]["run"]["id"], started.run);
    let left = || "SELECT run_id FROM webhook_deliveries WHERE attempts = 0 AND next_at > 1".to_owned();
    until("only it is left", async || {
        (open_deliveries(&database).await == 1 && database.rows(left()).await.unwrap() == 1).then_some(())
    })
    .await;
    service.stop().await;
    world.finish();
}

/// A service without a secret can sign nothing. What has waited for long does not go out when it has one again.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_sign_is_given_up_after_two_days(database: TestDatabase) {
    const WAITING: &str = "INSERT INTO webhook_deliveries (run_id, ended_at, next_at) SELECT id";
    const HOUR: i64 = 60 * 60 * 1_000;
    let (world, store, now) = (World::start(Script::new()).await, database.open().await, Timestamp::now().0);
    for hours in [47, 49] {
        let (lease, ended_at) = (claimed(&store).await, now - hours * HOUR);
        assert_eq!(store.commit(vec![finish_of(lease)]).await, [Ok(())]);
        let add = format!(
            "{WAITING}, {ended_at}, {ended_at} FROM runs WHERE id NOT IN (SELECT run_id FROM webhook_deliveries)"
        );
        database.rows(add).await.unwrap();
    }
    let replica = Replica::start(&world, &database.database).await;
    until("the older one is given up", async || (open_deliveries(&database).await == 1).then_some(())).await;
    replica.stop().await;
    let left = format!("SELECT run_id FROM webhook_deliveries WHERE ended_at = {}", now - 47 * HOUR);
    assert_eq!(database.rows(left).await.unwrap(), 1);
    world.finish();
}

/// However often they are looked for meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_the_database_is_away_is_logged_once() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::postgres().await);
    let mut replica = Replica::start_with(&world, &database.database, &[("FATHOM_WEBHOOK_SECRET", SECRET)]).await;
    let said = |replica: &Replica, what: &str| replica.running.stderr().matches(what).count();
    for outages in 1..=2 {
        let outage = database.outage().await;
        let away = async || (said(&replica, "webhooks that are due cannot be read") == outages).then_some(());
        until("they cannot be read", away).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        outage.end().await;
        let back = async || (said(&replica, "webhooks that are due can be read again") == outages).then_some(());
        until("they can be read again", back).await;
        assert_eq!(said(&replica, "webhooks that are due cannot be read"), outages);
    }
    replica.running.terminate().await;
    assert!(replica.running.ends().await.success(), "{}", replica.running.stderr());
    world.finish();
}
