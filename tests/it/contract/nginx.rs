//! deploy/nginx.conf in a real nginx in front of the service: event streams come through as they happen, over HTTP/1.1
//! and HTTP/2, and end on both sides when the reader goes.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use fathom_testkit::port;
use futures::StreamExt as _;
use reqwest::{
    Client, Response, Version,
    header::{AUTHORIZATION, HeaderMap},
};

use super::{Contract, service::Service};
use crate::browser::Reader;
use crate::crash::until;
use crate::http::cancelling::silent_at;
use crate::world::{Call, Kind, Script, Shape, When, World, brain};

/// nginx with the configuration of this repository, addresses and paths changed; ended when dropped.
struct Proxy {
    master: Child,
    plain: String,
    secure: String,
    client: Client,
}

impl Proxy {
    async fn start(folder: &Path, upstream: &str) -> Self {
        Self::with(folder, upstream, "'Fathom'").await
    }

    /// Asks for no password, which a page of another address could not give.
    async fn without_sign_in(folder: &Path, upstream: &str) -> Self {
        Self::with(folder, upstream, "off").await
    }

    /// Asks for no password over HTTP either, but sends to TLS.
    async fn with_tls_alone(folder: &Path, upstream: &str) -> Self {
        let redirect = "#HTTPS if ($scheme = http) { return 308 https://$host";
        Self::of(folder, upstream, |text, secure| {
            assert!(text.contains(redirect), "{text}");
            text.replace(redirect, &format!("if ($scheme = http) {{ return 308 https://{secure}"))
        })
        .await
    }

    async fn with(folder: &Path, upstream: &str, sign_in: &str) -> Self {
        Self::of(folder, upstream, |text, _| text.replace("auth_basic 'Fathom';", &format!("auth_basic {sign_in};")))
            .await
    }

    /// `edited`: the configuration, once more changed, and the address that speaks TLS.
    async fn of(folder: &Path, upstream: &str, edited: impl FnOnce(String, &str) -> String) -> Self {
        let folder = folder.join("nginx");
        fs::create_dir_all(&folder).unwrap();
        let [plain, secure] = free_addresses();
        make_certificate(&folder);
        let configuration = configuration(&folder, upstream, &plain, &secure);
        fs::write(folder.join("nginx.conf"), edited(configuration, &secure)).unwrap();
        fs::write(folder.join("users"), "ada:{PLAIN}let me in\n").unwrap();
        let master = Command::new(nginx())
            .args(["-e", "stderr", "-g", "daemon off;", "-p"])
            .arg(&folder)
            .arg("-c")
            .arg(folder.join("nginx.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("stderr")).unwrap())
            .spawn()
            .expect("Debian's nginx is installed (scripts/test.sh does it)");
        let certificate = reqwest::Certificate::from_pem(&fs::read(folder.join("fathom.crt")).unwrap()).unwrap();
        let builder = Client::builder().read_timeout(Duration::from_secs(30)).no_proxy();
        let ada = HeaderMap::from_iter([(AUTHORIZATION, "Basic YWRhOmxldCBtZSBpbg==".parse().unwrap())]);
        let client = builder.default_headers(ada).tls_certs_merge([certificate]).build().unwrap();
        let proxy = Self { master, plain, secure, client };
        proxy.until_it_listens(&folder).await;
        proxy
    }

    async fn until_it_listens(&self, folder: &Path) {
        for _ in 0..500 {
            if self.client.get(format!("http://{}/healthz", self.plain)).send().await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nginx does not answer: {}", fs::read_to_string(folder.join("stderr")).unwrap());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The master ends its workers; killed outright, it would leave them behind.
        let _ = Command::new("kill").arg(self.master.id().to_string()).status();
        let _ = self.master.wait();
    }
}

fn nginx() -> &'static str {
    if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" }
}

/// Two addresses that nobody listens on; nginx cannot be asked which it chose.
fn free_addresses() -> [String; 2] {
    [(); 2].map(|()| format!("127.0.0.1:{}", port::free()))
}

/// For 127.0.0.1, signed by itself.
fn make_certificate(folder: &Path) {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=fathom.test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(folder.join("fathom.key"))
        .arg("-out")
        .arg(folder.join("fathom.crt"))
        .stdin(Stdio::null())
        .output()
        .expect("openssl is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// deploy/nginx.conf with what differs here; each change has to find its place.
fn configuration(folder: &Path, upstream: &str, plain: &str, secure: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/nginx.conf");
    let mut text = fs::read_to_string(path).unwrap();
    let here = |name: &str| folder.join(name).display().to_string();
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};\n    ", here(kind)))
        .concat();
    for (from, to) in [
        ("user nginx;\n", String::new()),
        ("worker_processes auto;", "worker_processes 1;".to_owned()),
        ("worker_rlimit_nofile 65536;\n", String::new()),
        ("worker_connections 16384;", "worker_connections 256;".to_owned()),
        ("/run/nginx.pid", here("nginx.pid")),
        ("access_log /dev/stdout fathom;", format!("access_log {} fathom;\n    {folders}", here("access"))),
        ("error_log /dev/stderr warn;", "error_log stderr warn;".to_owned()),
        ("server fathom:8080;", format!("server {upstream};")),
        ("listen 80;", format!("listen {plain};")),
        ("#TLS listen 443 ssl", format!("listen {secure} ssl")),
        ("/etc/nginx/fathom.users", here("users")),
        ("/etc/nginx/tls/fathom.crt", here("fathom.crt")),
        ("/etc/nginx/tls/fathom.key", here("fathom.key")),
        ("#TLS ", String::new()),
    ] {
        assert!(text.contains(from), "deploy/nginx.conf has no {from:?} any more");
        text = text.replace(from, &to);
    }
    text
}

/// Reads on until the stream has said `wanted`; everything so far.
async fn read_until(
    response: &mut (Vec<u8>, impl futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin),
    wanted: &str,
) {
    while !String::from_utf8_lossy(&response.0).contains(wanted) {
        let piece = response.1.next().await.unwrap_or_else(|| panic!("it ended before {wanted:?}")).unwrap();
        response.0.extend_from_slice(&piece);
    }
}

async fn open(client: &Client, url: String, version: Version) -> Response {
    let response = client.get(url).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, version));
    response
}

/// A run whose report takes longer than a heartbeat, so that what is read before was sent while it went on.
fn slow_report() -> Script {
    let report = |call: &Call| brain::reply(Shape::SMALL, call).after(Duration::from_secs(7));
    Script::whole_run(Shape::SMALL).by(When::kind(Kind::Report), report)
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_pass_nginx_as_they_happen() {
    let world = World::start(slow_report()).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let started = service.ask("How does the harbour of Skelderwick pay for its tide gate?").await;
    let run = format!("/api/v1/runs/{}", started["run"]["id"].as_str().unwrap());
    let ways =
        [(format!("http://{}", proxy.plain), Version::HTTP_11), (format!("https://{}", proxy.secure), Version::HTTP_2)];
    let mut streams = Vec::new();
    for (base, version) in &ways {
        let response = open(&proxy.client, format!("{base}{run}/events"), *version).await;
        let headers = response.headers().clone();
        streams.push((headers, (Vec::new(), Box::pin(response.bytes_stream()))));
    }
    for (_, stream) in &mut streams {
        read_until(stream, "event: report.started\n").await;
    }
    let unfinished = service.text(&run).await;
    assert!(unfinished.contains(r#""status":"running""#), "events came only when all was over: {unfinished}");
    for (headers, stream) in &mut streams {
        read_until(stream, "\n: ping\n").await;
        read_until(stream, "event: run.completed\n").await;
        while let Some(piece) = stream.1.next().await {
            stream.0.extend_from_slice(&piece.unwrap());
        }
        Contract::get().check("GET", &format!("{run}/events"), 200, headers, &stream.0);
    }
    drop(proxy);
    service.stop().await;
    world.finish();
}

/// A password over plain HTTP can be read on the way.
#[tokio::test(flavor = "multi_thread")]
async fn plain_http_is_sent_to_tls_before_a_password_is_asked_for() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::with_tls_alone(world.folder(), &service.address).await;
    let stranger = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let path = "/api/v1/threads?limit=2";
    let answer = stranger.get(format!("http://{}{path}", proxy.plain)).send().await.unwrap();
    assert_eq!(answer.status(), 308);
    assert_eq!(answer.headers()["location"], format!("https://{}{path}", proxy.secure));
    assert!(!answer.headers().contains_key("www-authenticate"));
    let known = proxy.client.get(format!("https://{}{path}", proxy.secure)).send().await.unwrap();
    assert_eq!(known.status(), 200);
    drop(proxy);
    service.stop().await;
    world.finish();
}

/// The service is away for five seconds; the one fixed pause of these tests, since it is what is promised.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_comes_back_through_nginx_when_the_service_does() {
    let world = World::start(silent_at(Kind::Report)).await;
    let mut reader = Reader::new().await;
    let [address, _] = free_addresses();
    let origin = reader.origin.clone();
    let cors = ("FATHOM_CORS_ORIGINS", origin.as_str());
    let service = Service::at(&world, &address, cors).await;
    let proxy = Proxy::without_sign_in(world.folder(), &address).await;
    let started = service.ask("How does the harbour of Skelderwick pay for its tide gate?").await;
    let run = format!("/api/v1/runs/{}", started["run"]["id"].as_str().unwrap());
    reader.open(&format!("http://{}{run}/events?event=message", proxy.plain), &["message"]);
    reader.tells("begun").await;
    service.stop().await;
    let away = async |accept: &str| {
        let request = proxy.client.get(format!("http://{}{run}/events", proxy.plain)).header("accept", accept);
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        Contract::get().check("GET", &format!("{run}/events"), status, &headers, &body);
        (status, String::from_utf8_lossy(&body).into_owned())
    };
    let (status, text) = away("text/event-stream").await;
    assert!(status == 200 && text.starts_with("retry: ") && text.lines().count() == 1, "{status} {text:?}");
    assert_eq!(away("application/json").await.0, 503);
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.models.follow(Script::whole_run(Shape::SMALL));
    let service = Service::at(&world, &address, cors).await;
    let seen = reader.tells("closed").await;
    reader.close().await;
    assert_eq!(seen["kinds"]["run.completed"], 1, "{seen}");
    assert_eq!(seen["kinds"]["run.resumed"], 1, "{seen}");
    let numbers: Vec<i64> = serde_json::from_value(seen["seen"].clone()).unwrap();
    assert!(numbers.iter().copied().eq(1..=i64::try_from(numbers.len()).unwrap()), "no gap, nothing twice: {seen}");
    drop(proxy);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_is_gone_behind_nginx_too() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let started = service.ask("How does the harbour of Skelderwick pay for its tide gate?").await;
    let thread = format!("/api/v1/threads/{}", started["thread"]["id"].as_str().unwrap());
    let readers =
        |number: u32| move |text: &str| text.lines().any(|line| line == format!("fathom_sse_readers {number}"));
    let mut streams = Vec::new();
    for (base, version) in
        [(format!("http://{}", proxy.plain), Version::HTTP_11), (format!("https://{}", proxy.secure), Version::HTTP_2)]
    {
        let response = open(&proxy.client, format!("{base}{thread}/events"), version).await;
        let mut stream = (Vec::new(), Box::pin(response.bytes_stream()));
        read_until(&mut stream, "event: run.completed\n").await;
        streams.push(stream);
    }
    // Both together, since it is the next heartbeat that finds out.
    service.until("/metrics", readers(2)).await;
    drop(streams);
    service.until("/metrics", readers(0)).await;
    drop(proxy);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_some_size_come_through_nginx() {
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let post = async |path: &str, content_type: &str, body: String| {
        let request = proxy.client.post(format!("http://{}/api/v1/{path}", proxy.plain));
        let response = request.header("content-type", content_type).body(body).send().await.unwrap();
        assert_eq!(response.status(), 201, "{path}");
        response.json::<serde_json::Value>().await.unwrap()
    };
    let text = || "Dues are paid at the gate. ".repeat(150_000);
    post("documents?name=dues.txt", "text/plain", text()).await;
    let collection = post("collections", "application/json", r#"{"name":"Harbour"}"#.to_owned()).await;
    let id = collection["id"].as_str().unwrap();
    post(&format!("collections/{id}/documents?name=dues.txt"), "text/plain", text()).await;
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_behind_nginx_are_those_of_the_contract() {
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let post = async |bytes: usize| {
        let body = format!(r#"{{"message":"{}"}}"#, "a".repeat(bytes));
        let request = proxy.client.post(format!("http://{}/api/v1/threads", proxy.plain));
        let request = request.header("content-type", "application/json").header("x-request-id", "mine").body(body);
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.unwrap())
    };
    let (status, headers, body) = post((2 << 20) + 10).await;
    assert_eq!((status, &headers["x-request-id"]), (413, &"mine".parse().unwrap()));
    Contract::get().check("POST", "/api/v1/threads", status, &headers, &body);
    let (status, headers, body) = post((3 << 20) + 10).await;
    assert_eq!(status, 413, "nginx says no by itself");
    Contract::get().check("POST", "/api/v1/threads", status, &headers, &body);
    service.stop().await;
    let (status, headers, body) = post(10).await;
    assert_eq!(status, 503);
    Contract::get().check("POST", "/api/v1/threads", status, &headers, &body);
    world.finish();
}

/// Clients that are not known see that the service is alive, and nothing else; nobody sees the metrics or floods the
/// service.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_lets_in_whom_it_knows_and_only_so_many() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::with(&world, &[("FATHOM_ALLOWED_HOSTS", "research.example.com")]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let url = |path: &str| format!("http://{}{path}", proxy.plain);
    let stranger = Client::builder().no_proxy().build().unwrap();
    let status = async |request: reqwest::RequestBuilder| request.send().await.unwrap().status().as_u16();
    for path in ["/", "/docs/", "/api/v1/threads", "/readyz", "/api/v1/runs/x/events"] {
        assert_eq!(status(stranger.get(url(path))).await, 401, "{path}");
    }
    assert_eq!(status(stranger.post(url("/api/v1/threads")).body("{}")).await, 401);
    assert_eq!(status(stranger.get(url("/healthz"))).await, 200);
    // The link of a shared thread is enough to read it; this is none.
    assert_eq!(status(stranger.get(url("/shared/none"))).await, 404);
    assert_eq!(status(stranger.get(url("/shared/%2e%2e/api/v1/threads"))).await, 401);
    for path in ["/metrics", "//metrics", "/%6detrics", "/x/../metrics"] {
        assert_eq!(status(proxy.client.get(url(path))).await, 404, "{path}");
    }
    // A page behind the proxy is of the name and port that its browser knows, and no other.
    let post = |host: &str, origin: &str| {
        let request = proxy.client.post(url("/api/v1/threads")).header("host", host).header("origin", origin);
        status(request.header("content-type", "application/json").body(r#"{"message":"Which gate?"}"#))
    };
    assert_eq!(post("research.example.com", "https://research.example.com").await, 201);
    assert_eq!(post("research.example.com:8443", "https://research.example.com:8443").await, 201);
    assert_eq!(post("research.example.com", "https://evil.test").await, 403);
    assert_eq!(post("evil.test", "https://evil.test").await, 421);
    let flood = (0..600).map(|_| proxy.client.get(url("/api/v1/options")).send());
    let answers: Vec<_> = futures::stream::iter(flood).buffer_unordered(20).collect().await;
    let mut refused = answers.into_iter().map(Result::unwrap).filter(|answer| answer.status() == 503);
    let refusal = refused.next().expect("there is a limit");
    let headers = refusal.headers().clone();
    Contract::get().check_problem(503, &headers, &refusal.bytes().await.unwrap());
    drop(proxy);
    service.stop().await;
}

/// Who reads the log may not read what links show, and sign in for nobody.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_nginx_has_no_secrets_of_links_and_sign_ins() {
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &[]).await;
    let proxy = Proxy::start(world.folder(), &service.address).await;
    let secret = "fathomlink_x_SECRET";
    let paths =
        [format!("/shared/{secret}?x"), format!("/%73hared/{secret}"), format!("/auth/callback?code={secret}&state=x")];
    for path in paths.iter().map(String::as_str).chain(["/api/v1/threads?limit=7"]) {
        proxy.client.get(format!("http://{}{path}", proxy.plain)).send().await.unwrap();
    }
    let log = world.folder().join("nginx/access");
    let written = async || Some(fs::read_to_string(&log).unwrap()).filter(|log| log.contains("limit=7"));
    let log = until("all requests are in the log", written).await;
    assert!(!log.contains("SECRET"), "{log}");
    for line in
        ["\"GET /shared/... HTTP/1.1\" 404", "\"GET /auth/callback HTTP/1.1\" 422", "threads?limit=7 HTTP/1.1\" 200"]
    {
        assert!(log.contains(line), "{line}: {log}");
    }
    drop(proxy);
    service.stop().await;
    world.finish();
}

/// Where Fathom asks for keys they reach it, and the passwords of others do not.
#[tokio::test(flavor = "multi_thread")]
async fn keys_pass_an_nginx_that_asks_for_no_password() {
    let world = World::start(Script::new()).await;
    let mut create = world.spawn(&["keys", "create", "--owner", "ann"]);
    assert!(create.ends().await.success(), "{}", create.stderr());
    let key = create.stdout().trim_end().to_owned();
    let service = Service::with(&world, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let proxy = Proxy::without_sign_in(world.folder(), &service.address).await;
    let session = async |authorization: &str| {
        let request =
            Client::builder().no_proxy().build().unwrap().get(format!("http://{}/api/v1/session", proxy.plain));
        request.header(AUTHORIZATION, authorization).send().await.unwrap().status().as_u16()
    };
    assert_eq!(session(&format!("Bearer {key}")).await, 200);
    assert_eq!(session("Bearer fathom_none").await, 401);
    // Before nginx, another one may have taken TLS away.
    let sign_in = proxy.client.post(format!("http://{}/api/v1/session", proxy.plain));
    let sign_in = sign_in.header("content-type", "application/json").body(format!(r#"{{"key":"{key}"}}"#));
    for (forwarded, is_tls) in [("https", true), ("https, http", true), ("http", false)] {
        let sign_in = sign_in.try_clone().unwrap().header("x-forwarded-proto", forwarded);
        let answer = sign_in.send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert_eq!(cookie.ends_with("; Secure"), is_tls, "{forwarded}: {cookie}");
    }
    drop(proxy);
    service.stop().await;
    world.finish();
}

/// Root without this capability cannot read a file of mode 0600 that belongs to somebody else.
#[test]
fn nginx_in_the_compose_file_may_read_the_key_of_its_operator() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docker-compose.yml")).unwrap();
    let (_, nginx) = text.split_once("\n  nginx:\n").unwrap();
    assert!(nginx.contains("./deploy/tls:/etc/nginx/tls:ro"));
    let added = nginx.lines().find(|line| line.trim_start().starts_with("cap_add:")).unwrap();
    assert!(added.contains("DAC_READ_SEARCH"), "{added}");
}

/// The user is whom nginx let in, whatever the client says, and nobody who goes past nginx can name one.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_alone_says_who_the_user_is() {
    let world = World::start(Script::new()).await;
    let separate = [("FATHOM_OWNER_HEADER", "X-User"), ("FATHOM_SEPARATE_OWNERS", "true")];
    // As in docker-compose.yml, where nginx has an address of its own.
    let variables = [&separate[..], &[("FATHOM_TRUSTED_PROXIES", "127.0.0.2")]].concat();
    let service = Service::with(&world, &variables).await;
    let proxy = Proxy::with(world.folder(), &service.address, "'Fathom'; proxy_bind 127.0.0.2").await;
    let session = async |address: &str| {
        let request = proxy.client.get(format!("http://{address}/api/v1/session")).header("x-user", "bob");
        request.send().await.unwrap().json::<serde_json::Value>().await.unwrap()
    };
    assert_eq!(session(&proxy.plain).await["owner"], "ada");
    assert_eq!(session(&service.address).await["code"], "proxy_not_trusted");
    drop(proxy);
    service.stop().await;
    world.finish();
}
