//! The log of who did what, as the real binary writes it: a line for each sign-in, key, link, deletion and look of an
//! administrator, in order, and no key, cookie, token or link anywhere in the log.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::{
    http::sign_in::{self, AUDIENCE, Browser, Provider},
    stories::engine::QUESTION,
    world::{Running, Script, Shape, World},
};

/// The service, and everything secret that went in or out.
struct Story {
    base: String,
    client: Client,
    secrets: Vec<String>,
}

impl Story {
    async fn send(&self, key: &str, method: &str, path: &str, body: &Value) -> Response {
        let request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.base));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let request = match key.strip_prefix("cookie ") {
            Some(cookie) => request.header("cookie", cookie),
            None => request.bearer_auth(key),
        };
        request.send().await.unwrap()
    }

    async fn ask(&self, key: &str, method: &str, path: &str, body: Value) -> Value {
        let response = self.send(key, method, path, &body).await;
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Signs in with the key of an administrator, and out again; how a session begins that nobody ends.
    async fn sessions(&mut self, root: &str) {
        let wrong = format!("{}x", &root[..root.len() - 1]);
        assert_eq!(self.send(root, "POST", "/api/v1/session", &json!({ "key": wrong })).await.status(), 422);
        let response = self.send(root, "POST", "/api/v1/session", &json!({ "key": root })).await;
        let set = response.headers()["set-cookie"].to_str().unwrap().to_owned();
        let cookie = format!("cookie {}", set.split(';').next().unwrap());
        self.ask(&cookie, "DELETE", "/api/v1/session", Value::Null).await;
        self.secrets.extend([wrong, cookie]);
    }

    async fn through_the_issuer(&mut self, provider: &Provider) {
        let mut browser = Browser::new();
        let back = browser.sign_in(&self.base, provider, "ann").await;
        assert_eq!(browser.get(&back).await.status(), 302);
        self.secrets.push(browser.cookies["fathom_session"].clone());
        // The code, which is used up.
        self.secrets.push(back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned());
        let foreign = provider.token(&self.client, AUDIENCE).await;
        let forged = format!("{}AAAA", &foreign[..foreign.len() - 4]);
        assert_eq!(self.send(&forged, "GET", "/api/v1/session", &Value::Null).await.status(), 401);
        self.secrets.extend([foreign, forged]);
    }

    /// A key for bob, what bob does with a thread, and what an administrator sees and deletes of it: the ids of the
    /// key, the thread, the link, the document, a collection and the document in it.
    async fn of_bob(&mut self, root: &str) -> [String; 6] {
        let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
        let made = self.ask(root, "POST", "/api/v1/keys", json!({ "name": "laptop", "owner": "bob" })).await;
        let bob = made["secret"].as_str().unwrap();
        let created = self.ask(bob, "POST", "/api/v1/threads", json!({ "message": QUESTION })).await;
        let thread = id(&created["thread"]);
        let path = format!("/api/v1/threads/{thread}");
        let share = self.ask(bob, "POST", &format!("{path}/shares"), json!({})).await;
        let url = share["url"].as_str().unwrap();
        self.ask(root, "GET", url, Value::Null).await;
        // What has ended already leaves no second line.
        for _ in 0..2 {
            self.ask(bob, "DELETE", &format!("{path}/shares/{}", id(&share)), Value::Null).await;
        }
        let document = self.ask(bob, "POST", &format!("{path}/documents?name=minutes.txt"), json!("The gate.")).await;
        self.ask(bob, "DELETE", &format!("{path}/documents/{}", id(&document)), Value::Null).await;
        let collection = self.ask(bob, "POST", "/api/v1/collections", json!({ "name": "Harbour" })).await;
        let collections = format!("/api/v1/collections/{}", id(&collection));
        let kept =
            self.ask(bob, "POST", &format!("{collections}/documents?name=dues.txt"), json!("Four crowns.")).await;
        self.ask(bob, "DELETE", &format!("{collections}/documents/{}", id(&kept)), Value::Null).await;
        self.ask(root, "DELETE", &collections, Value::Null).await;
        // What is one's own leaves no line, for administrators too.
        self.ask(bob, "GET", "/api/v1/threads", Value::Null).await;
        self.ask(root, "GET", "/api/v1/usage?owner=root", Value::Null).await;
        for list in ["threads", "runs", "keys", "usage"] {
            self.ask(root, "GET", &format!("/api/v1/{list}"), Value::Null).await;
        }
        self.ask(root, "GET", &path, Value::Null).await;
        self.ask(root, "DELETE", &path, Value::Null).await;
        for _ in 0..2 {
            self.ask(root, "DELETE", &format!("/api/v1/keys/{}", id(&made)), Value::Null).await;
        }
        self.secrets.extend([bob.to_owned(), url.to_owned()]);
        [id(&made), thread, id(&share), id(&document), id(&collection), id(&kept)]
    }
}

/// The lines of the audit log without what differs each time: when, from which request, and the ids of sessions.
fn audit(log: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines = lines.filter(|line| line["target"] == "audit").map(|mut line| {
        let in_a_request = line["spans"][0]["request_id"].is_string();
        assert!(in_a_request, "{line}");
        let mut fields = line["fields"].take();
        if let Some(session) = fields.as_object_mut().unwrap().remove("session") {
            assert_eq!(session.as_str().unwrap().len(), 36, "{fields}");
        }
        fields
    });
    lines.collect()
}

async fn keys(world: &World, arguments: &[&str]) -> String {
    let mut process = world.spawn(&[&["keys"], arguments].concat());
    assert!(process.ends().await.success(), "{}", process.stderr());
    process.stdout()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_did_what_is_logged_and_no_secret() {
    let (world, provider) = (World::start(Script::whole_run(Shape::SMALL)).await, Provider::start(0));
    let root = keys(&world, &["create", "--owner", "root", "--scope", "admin"]).await.trim_end().to_owned();
    let listed: Value = serde_json::from_str(&keys(&world, &["list", "--json"]).await).unwrap();
    let roots = listed[0]["id"].as_str().unwrap();

    let mut command = world.fathom(&["serve", "--listen", "127.0.0.1:0"]);
    let issuer = provider.url("");
    // Whatever the log may say: the secrets are looked for in all of it.
    command.envs(sign_in::variables(&issuer)).env("FATHOM_LOG_FORMAT", "json").env("FATHOM_LOG", "trace");
    let mut service = Running::spawn(command, world.folder());
    let line = service.says(" on http://").await;
    let address = line.split(" on ").nth(1).unwrap().split_whitespace().next().unwrap();
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let mut story = Story { base: address.to_owned(), client, secrets: vec![root.clone()] };
    story.sessions(&root).await;
    story.through_the_issuer(&provider).await;
    let ids = story.of_bob(&root).await;
    service.terminate().await;
    service.ends().await;

    let log = service.stderr();
    let mut lines = audit(&log);
    let refused = lines[4].as_object_mut().unwrap().remove("error");
    assert!(refused.as_ref().is_some_and(|why| why.as_str().unwrap().contains("Signature")), "{refused:?}");
    let anns = lines[3]["by_key"].as_str().unwrap_or_default().to_owned();
    let mut expected = of_sign_ins(roots, &anns, &issuer);
    expected.extend(of_bobs_thread(roots, &ids));
    assert_eq!(lines, expected);
    for secret in &story.secrets {
        // Of a key, link or cookie the beginning is its id, which may be in the log.
        let end = &secret[secret.len() - 30..];
        assert!(!log.contains(end), "{secret}: {:?}", log.lines().find(|line| line.contains(end)));
    }
    world.finish();
}

/// A filter that takes what is below its level must not take the id of the request from the lines that stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_a_quiet_log_say_of_which_request_they_are() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let root = keys(&world, &["create", "--owner", "root", "--scope", "admin"]).await.trim_end().to_owned();
    let mut command = world.fathom(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("FATHOM_AUTHENTICATION", "keys").env("FATHOM_LOG_FORMAT", "json").env("FATHOM_LOG", "error");
    let mut service = Running::spawn(command, world.folder());
    let line = service.says(" on http://").await;
    let address = line.split(" on ").nth(1).unwrap().split_whitespace().next().unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let mut story = Story { base: address.to_owned(), client, secrets: Vec::new() };
    story.sessions(&root).await;
    service.terminate().await;
    service.ends().await;
    let said: Vec<Value> = audit(&service.stderr()).into_iter().map(|mut line| line["message"].take()).collect();
    assert_eq!(said, ["a sign-in was refused", "signed in", "signed out"]);
    world.finish();
}

fn entry(by: &str, by_key: &str, message: &str, more: Value) -> Value {
    let mut entry = json!({ "message": message, "by": by, "by_key": by_key });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn of_sign_ins(roots: &str, anns: &str, issuer: &str) -> Vec<Value> {
    let through = json!({ "scope": "write", "issuer": issuer });
    vec![
        json!({ "message": "a sign-in was refused" }),
        entry("root", roots, "signed in", json!({ "scope": "admin" })),
        entry("root", roots, "signed out", json!({})),
        entry("ann", anns, "signed in through the issuer", through),
        json!({ "message": "a token was refused" }),
    ]
}

fn of_bobs_thread(roots: &str, [key, thread, share, document, collection, kept]: &[String; 6]) -> Vec<Value> {
    let by_root = |message: &str, more: Value| entry("root", roots, message, more);
    let by_bob = |message: &str, more: Value| entry("bob", key, message, more);
    let lists = |name: &str| {
        let path = format!("/api/v1/{name}");
        by_root("an administrator's list", json!({ "owner": "all", "path": path }))
    };
    let looks = |method: &str| {
        let path = format!("/api/v1/threads/{thread}");
        by_root("an administrator's access", json!({ "owner": "bob", "method": method, "path": path }))
    };
    let shares = json!({ "owner": "bob", "thread_id": thread, "share": share });
    vec![
        by_root("a key was made", json!({ "owner": "bob", "key": key, "scope": "write" })),
        by_bob("a thread was shared", shares.clone()),
        by_bob("a shared link was revoked", shares),
        by_bob("a document was removed", json!({ "owner": "bob", "thread_id": thread, "document": document })),
        by_bob("a document was removed", json!({ "owner": "bob", "collection": collection, "document": kept })),
        by_root(
            "an administrator's access",
            json!({ "owner": "bob", "method": "DELETE", "path": format!("/api/v1/collections/{collection}") }),
        ),
        by_root("a collection was deleted", json!({ "owner": "bob", "collection": collection })),
        lists("threads"),
        lists("runs"),
        lists("keys"),
        lists("usage"),
        looks("GET"),
        looks("DELETE"),
        by_root("a thread was deleted", json!({ "owner": "bob", "thread_id": thread })),
        by_root("a key was revoked", json!({ "owner": "bob", "key": key, "scope": "write" })),
    ]
}
