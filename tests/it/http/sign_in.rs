//! Sign-in through others, with a provider of OpenID Connect that others wrote (oidc-provider, from npm): browsers that
//! come back with a session, and programs with tokens, also after the provider has changed its keys.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use axum::{
    Router,
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use fathom::domain::Timestamp;
use fathom_testkit::{port, program::tool};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use reqwest::{Client, Response, redirect::Policy};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use url::Url;

use super::{NOBODY, Service, small_world};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Script, World},
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sign_in/provider.mjs");
pub(crate) const AUDIENCE: &str = "https://fathom.test/api";

/// A provider in a process of its own; its end is the end of the process.
pub(crate) struct Provider {
    child: Child,
    port: u16,
}

impl Provider {
    /// With new keys, on that port, or any if it is 0.
    pub(crate) fn start(port: u16) -> Self {
        Self::of_clients(port, "client_secret_basic")
    }

    /// The same, whose clients say their secrets in that way alone.
    fn of_clients(port: u16, method: &str) -> Self {
        let package = tool("sign_in/node_modules/oidc-provider");
        let mut command = Command::new("node");
        command.arg(SCRIPT).arg(package).arg(port.to_string()).arg(method).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("node starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it says its port");
        Self { child, port: line.trim().parse().expect("a port") }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same provider after a change of its keys.
    fn with_new_keys(mut self) -> Self {
        self.stop();
        Self::start(self.port)
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// A token for a program, meant for that audience.
    pub(crate) async fn token(&self, client: &Client, audience: &str) -> String {
        let form =
            format!("grant_type=client_credentials&resource={}", audience.replace(':', "%3A").replace('/', "%2F"));
        let request = client.post(self.url("/token")).basic_auth("program", Some("a%20secret%20of%20a%20program"));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
        answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A browser that keeps cookies and follows nothing by itself.
pub(crate) struct Browser {
    client: Client,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(crate) fn new() -> Self {
        let client = Client::builder().no_proxy().redirect(Policy::none()).pool_max_idle_per_host(0).build().unwrap();
        Self { client, cookies: BTreeMap::new() }
    }

    pub(crate) async fn get(&mut self, url: &str) -> Response {
        let request = self.client.get(url);
        self.send(request).await
    }

    async fn submit(&mut self, url: &str, form: &str) -> Response {
        let request = self.client.post(url).header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(form.to_owned())).await
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Response {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header("cookie", cookies.join("; ")).send().await.unwrap();
        for set in response.headers().get_all("set-cookie") {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), rest.split(';').next().unwrap().to_owned());
        }
        response
    }

    /// Signs in as that user at the provider to which the service sends; the address at which the service is to go on.
    pub(crate) async fn sign_in(&mut self, service: &str, provider: &Provider, user: &str) -> String {
        let response = self.get(&format!("{service}/auth/login")).await;
        let mut at = location(&response, "");
        for form in ["", &format!("prompt=login&login={user}&password=x"), "prompt=consent"] {
            let mut response = match form {
                "" => self.get(&at).await,
                form => self.submit(&at, form).await,
            };
            // From place to place, until somebody is asked for something.
            while response.status().is_redirection() {
                at = location(&response, &provider.url(""));
                if at.contains("/auth/callback") {
                    let url = Url::parse(&at).unwrap();
                    return format!("{service}{}?{}", url.path(), url.query().unwrap());
                }
                response = self.get(&at).await;
            }
        }
        panic!("the provider asks for more at {at}");
    }
}

fn location(response: &Response, origin: &str) -> String {
    let to = response.headers().get("location").unwrap_or_else(|| panic!("{response:?}")).to_str().unwrap();
    if to.starts_with('/') { format!("{origin}{to}") } else { to.to_owned() }
}

pub(crate) async fn service(world: &World, database: &TestDatabase, provider: &Provider) -> Service {
    Service::with(world, database, &variables(&provider.url(""))).await
}

/// What a service needs that takes the tokens of that provider and sends browsers there.
pub(crate) fn variables(issuer: &str) -> [(&'static str, &str); 6] {
    [
        ("FATHOM_AUTHENTICATION", "keys"),
        ("FATHOM_ISSUER", issuer),
        ("FATHOM_AUDIENCES", AUDIENCE),
        ("FATHOM_CLIENT_ID", "fathom"),
        ("FATHOM_CLIENT_SECRET", "a secret of the page"),
        ("FATHOM_REDIRECT_URL", "http://127.0.0.1/auth/callback"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_signs_in_at_the_provider_and_comes_back_with_a_session() {
    let (world, database, provider) = (small_world().await, TestDatabase::sqlite(), Provider::start(0));
    let service = service(&world, &database, &provider).await;
    for (user, scope) in [("ann", "write"), ("reader", "read"), ("root", "admin")] {
        let mut browser = Browser::new();
        let back = browser.sign_in(&service.url(""), &provider, user).await;
        let response = browser.get(&back).await;
        assert_eq!((response.status().as_u16(), location(&response, "")), (302, "/".to_owned()));
        let set: Vec<_> = response.headers().get_all("set-cookie").iter().map(|set| set.to_str().unwrap()).collect();
        assert!(
            set[1].starts_with("fathom_session=fathoms_") && set[1].ends_with("; HttpOnly; SameSite=Strict"),
            "{set:?}"
        );
        assert!(set[0].starts_with("fathom_login=;"), "what the sign-in needed is gone: {set:?}");
        let cookie = format!("fathom_session={}", browser.cookies["fathom_session"]);
        let who = service.ask("GET", "/api/v1/session", &[("cookie", &cookie)], "").await.expect(200).json();
        assert_eq!((&who["owner"], &who["key"]["scope"]), (&json!(user), &json!(scope)));
        assert_eq!(who["key"]["issuer"], provider.url(""));
        // The code is used up.
        assert_eq!(browser.get(&back).await.status(), 401);
    }
    // The page learns of the way from the refusal.
    let refused = service.get("/api/v1/session").await;
    assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"fathom\", login_uri=\"/auth/login\"");
    // An answer that belongs to another browser's sign-in, and one of nobody's.
    let mut browser = Browser::new();
    let back = browser.sign_in(&service.url(""), &provider, "ann").await;
    let mut other = Browser::new();
    other.get(&service.url("/auth/login")).await;
    assert_eq!(other.get(&back).await.status(), 401);
    service.get("/auth/callback?code=x&state=y").await.refused(401, "unauthenticated");
    let accept = [("accept", "text/html,*/*;q=0.8"), ("accept-language", "de")];
    let page = service.ask("GET", "/auth/callback?error=access_denied", &accept, "").await.expect(401);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("<p><a href=\"/\">Noch einmal</a></p>"), "{}", page.text());
    // Their keys are listed, and end like others.
    let keys = service.app.keys.list(None, 10).await.unwrap().items;
    assert!(keys.len() == 3 && keys.iter().all(|key| key.issuer.is_some() && key.expires_at.is_some()));
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_is_in_the_body_where_the_provider_takes_it_there_alone() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let provider = Provider::of_clients(0, "client_secret_post");
    let service = service(&world, &database, &provider).await;
    let mut browser = Browser::new();
    let back = browser.sign_in(&service.url(""), &provider, "ann").await;
    let response = browser.get(&back).await;
    assert_eq!((response.status().as_u16(), location(&response, "")), (302, "/".to_owned()));
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_comes_with_a_token_also_after_the_keys_have_changed() {
    // It starts again on its port, which no connection may have taken meanwhile.
    let provider = Provider::start(port::free());
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let service = service(&world, &database, &provider).await;
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let ask = async |token: &str| {
        let bearer = format!("Bearer {token}");
        service.ask("GET", "/api/v1/session", &[("authorization", &bearer)], "").await
    };
    let token = provider.token(&client, AUDIENCE).await;
    let who = ask(&token).await.expect(200).json();
    assert_eq!((&who["owner"], &who["key"]["scope"]), (&json!("program"), &json!("write")));
    assert!(who["expires_at"].is_string());
    // No session begins with it: those belong to keys of the service.
    let as_key = json!({ "key": token });
    service.post("/api/v1/session", &as_key).await.refused(422, "validation_failed");
    // What others made of it is refused: another text, another signature, none, a shared secret.
    let parts: Vec<&str> = token.split('.').collect();
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let mut better = claims.clone();
    better["roles"] = json!(["fathom:admin"]);
    let forged = [
        format!("{}.{}.{}", parts[0], encoded(&better), parts[2]),
        format!("{}.{}.{}", parts[0], parts[1], parts[2].replace(&parts[2][..4], "AAAA")),
        format!("{}.{}.", encoded(&json!({ "alg": "none" })), encoded(&better)),
        format!("{}.{}.{}", encoded(&json!({ "alg": "HS256" })), encoded(&better), parts[2]),
        "a.b.c".to_owned(),
    ];
    for forged in forged {
        ask(&forged).await.refused(401, "unauthenticated");
    }
    // The provider gets new keys. What the old ones signed is refused once they are known to be gone.
    let provider = provider.with_new_keys();
    let newer = provider.token(&client, AUDIENCE).await;
    until("the new keys are known", async || (ask(&newer).await.status == 200).then_some(())).await;
    until("the old ones are forgotten", async || (ask(&token).await.status == 401).then_some(())).await;
    // While the provider is away its keys go on counting.
    let last = provider.token(&client, AUDIENCE).await;
    drop(provider);
    ask(&last).await.expect(200);
    service.stop().await;
    world.finish();
}

/// Tokens for others, and those of a service that trusts nobody, are none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_must_be_meant_for_this_service() {
    let (world, database, provider) = (small_world().await, TestDatabase::sqlite(), Provider::start(0));
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let token = provider.token(&client, AUDIENCE).await;
    let (bearer, issuer) = (format!("Bearer {token}"), provider.url(""));
    for (audience, default_scope) in [("https://other.test/api", "write"), (AUDIENCE, "none")] {
        let variables = [
            ("FATHOM_AUTHENTICATION", "keys"),
            ("FATHOM_ISSUER", &*issuer),
            ("FATHOM_AUDIENCES", audience),
            ("FATHOM_DEFAULT_SCOPE", default_scope),
        ];
        let service = Service::with(&world, &database, &variables).await;
        service.ask("GET", "/api/v1/threads", &[("authorization", &bearer)], "").await.refused(401, "unauthenticated");
        service.get("/auth/login").await.refused(422, "not_configured");
        service.stop().await;
    }
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    service.ask("GET", "/api/v1/threads", &[("authorization", &bearer)], "").await.refused(401, "unauthenticated");
    service.stop().await;
    world.finish();
}

/// Longer than any other reading request may take, as browsers cannot come back with a code that is used up; and whose
/// fault it is, is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_provider_is_waited_for() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let document = json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/keys"),
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
    });
    let discovered = async move || {
        tokio::time::sleep(Duration::from_secs(6)).await;
        document.to_string()
    };
    let never = async || std::future::pending::<()>().await;
    let site = Router::new().route("/.well-known/openid-configuration", get(discovered)).route("/token", post(never));
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, site).await.unwrap() });
    let service = Service::with(&world, &database, &variables(&issuer)).await;
    let mut browser = Browser::new();
    let response = browser.get(&service.url("/auth/login")).await;
    assert!(location(&response, "").starts_with(&format!("{issuer}/auth?")), "{response:?}");
    let login = &browser.cookies["fathom_login"];
    let path = format!("/auth/callback?code=x&state={}", login.split('.').next().unwrap());
    let began = Instant::now();
    let answer = service.ask("GET", &path, &[("cookie", &format!("fathom_login={login}"))], "").await;
    answer.refused(503, "issuer_unavailable");
    assert!(began.elapsed() > Duration::from_secs(9), "{:?}", began.elapsed());
    assert!(service.app.keys.list(None, 1).await.unwrap().items.is_empty(), "nobody has a key of it");
    service.stop().await;
    world.finish();
}

/// An issuer in this process, whose tokens say what a test wants them to say.
struct Signer {
    url: String,
    key: EncodingKey,
    /// What a code gives.
    id_token: Arc<Mutex<String>>,
    _server: JoinSet<()>,
}

impl Signer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let pair = Ed25519KeyPair::generate().unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": x }] }).to_string();
        let document = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token"),
        });
        let document = document.to_string();
        let id_token = Arc::new(Mutex::new(String::new()));
        let given = Arc::clone(&id_token);
        let token = async move || json!({ "token_type": "Bearer", "id_token": *given.lock() }).to_string();
        let site = Router::new()
            .route("/.well-known/openid-configuration", get(async move || document))
            .route("/keys", get(async move || keys))
            .route("/token", post(token));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, site).await.unwrap() });
        let key = EncodingKey::from_ed_der(pair.to_pkcs8v1().unwrap().as_ref());
        Self { url, key, id_token, _server: server }
    }

    /// A token that ended so many seconds ago.
    fn token(&self, audience: &str, ended: i64, nonce: &str) -> String {
        let end = Timestamp::now().0 / 1_000 - ended;
        let claims = json!({ "iss": self.url, "aud": audience, "sub": "ann", "exp": end, "nonce": nonce });
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.key).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_may_differ_by_a_minute() {
    let (world, database, issuer) = (World::start(Script::new()).await, TestDatabase::sqlite(), Signer::start().await);
    let service = Service::with(&world, &database, &variables(&issuer.url)).await;
    for (ended, status) in [(-30, 200), (30, 200), (90, 401)] {
        let bearer = format!("Bearer {}", issuer.token(AUDIENCE, ended, ""));
        // The second time it is remembered.
        for _ in 0..2 {
            service.ask("GET", "/api/v1/session", &[("authorization", &bearer)], "").await.expect(status);
        }
    }
    service.stop().await;
    world.finish();
}

/// Whatever a proxy in front says: the browser came back to the address that it was sent to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_begins_at_an_address_of_tls_is_for_tls_alone() {
    let (world, database, issuer) = (World::start(Script::new()).await, TestDatabase::sqlite(), Signer::start().await);
    let mut variables = variables(&issuer.url);
    for (redirect_url, is_tls) in [("https://127.0.0.1/auth/callback", true), ("http://127.0.0.1/auth/callback", false)]
    {
        variables[5].1 = redirect_url;
        let service = Service::with(&world, &database, &variables).await;
        let mut browser = Browser::new();
        browser.get(&service.url("/auth/login")).await;
        let begun: Vec<&str> = browser.cookies["fathom_login"].split('.').collect();
        *issuer.id_token.lock() = issuer.token("fathom", -60, begun[1]);
        let back = service.url(&format!("/auth/callback?code=x&state={}", begun[0]));
        let response = browser.get(&back).await;
        assert_eq!(response.status(), 302);
        let mut set = response.headers().get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
        let session = set.find(|set| set.starts_with("fathom_session=")).unwrap();
        assert_eq!(session.ends_with("; Secure"), is_tls, "{session}");
        service.stop().await;
    }
    world.finish();
}

/// The token may be as good as any, so its bearer is to come back with it and not to ask for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_for_later_while_its_issuer_cannot_be_asked() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::sqlite());
    let issuer = format!("http://127.0.0.1:{}", port::free());
    let service = Service::with(&world, &database, &variables(&issuer)).await;
    let header = URL_SAFE_NO_PAD.encode(json!({ "alg": "RS256", "kid": "x" }).to_string());
    let token = format!("{header}.e30.c2lnbmVk");
    let bearer = format!("Bearer {token}");
    let answer = service.ask("GET", "/api/v1/threads", &[("authorization", &bearer)], "").await;
    assert_eq!(answer.refused(503, "issuer_unavailable")["retryable"], true);
    assert!(!answer.header("retry-after").is_empty());
    let events = format!("/api/v1/runs/{NOBODY}/events");
    let headers = [("authorization", &*bearer), ("accept", "text/event-stream")];
    let hint = service.ask("GET", &events, &headers, "").await.expect(200).text();
    assert!(hint.starts_with("retry: ") && hint.lines().count() == 1, "{hint:?}");
    service.post("/api/v1/session", &json!({ "key": token })).await.refused(503, "issuer_unavailable");
    for token in ["a.b.c", "fathom_none"] {
        let bearer = format!("Bearer {token}");
        let answer = service.ask("GET", "/api/v1/threads", &[("authorization", &bearer)], "").await;
        answer.refused(401, "unauthenticated");
    }
    service.stop().await;
    world.finish();
}
