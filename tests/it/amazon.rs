//! Whose credentials sign requests to Amazon's cloud: each place where they may be, found by us and by Amazon's own Python
//! package alike, and what is said when they cannot be had.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    routing::any,
};
use fathom::llm::{Endpoint, Error, Llm, Request, Settings, Wait, providers::PROVIDERS};
use fathom_testkit::program::tool;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{FakeVendor, Reply},
    requests::bare_question,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wires/credentials.py");
const KEY: &str = "s3cret/of+a+test/0123456789";
const POD_TOKEN: &str = "p0d-token-0123456789";
const WEB_TOKEN: &str = "w3b.identity.token-0123456789";
const METADATA_TOKEN: &str = "m3tadata-token-0123456789";
const ROLE: &str = "arn:aws:iam::123456789012:role/research";

/// The servers that hand out credentials, in the form of Amazon's documentation.
struct FakeAmazon {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _server: tokio::task::JoinSet<()>,
}

type Asked = Arc<Mutex<Vec<String>>>;

impl FakeAmazon {
    async fn start() -> Self {
        let asked = Asked::default();
        let router = Router::new().fallback(any(answer)).with_state(Arc::clone(&asked));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, asked, _server: server }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

fn keys(id: &str) -> Value {
    json!({"AccessKeyId": id, "SecretAccessKey": KEY, "Token": format!("token-of-{id}"), "Expiration": end()})
}

/// An hour from now, as they write it.
fn end() -> String {
    let end = time::OffsetDateTime::now_utc() + Duration::from_secs(3_600);
    let form = time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    end.format(&form).unwrap()
}

async fn answer(
    State(asked): State<Asked>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    asked.lock().unwrap().push(format!("{method} {}", uri.path()));
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_ours = header("x-aws-ec2-metadata-token") == METADATA_TOKEN;
    match (method.as_str(), uri.path()) {
        ("GET", "/v1/credentials") if header("authorization") == POD_TOKEN => {
            (StatusCode::OK, keys("ASIAPOD").to_string())
        }
        ("GET", "/v1/credentials") => {
            (StatusCode::FORBIDDEN, json!({"code": "AccessDenied", "message": POD_TOKEN}).to_string())
        }
        ("PUT", "/latest/api/token") if !header("x-aws-ec2-metadata-token-ttl-seconds").is_empty() => {
            (StatusCode::OK, METADATA_TOKEN.to_owned())
        }
        ("GET", "/latest/meta-data/iam/security-credentials/") if is_ours => {
            (StatusCode::OK, "research+role\n".to_owned())
        }
        ("GET", "/latest/meta-data/iam/security-credentials/research+role") if is_ours => {
            let mut answer = keys("ASIAMACHINE");
            (answer["Code"], answer["Type"]) = (json!("Success"), json!("AWS-HMAC"));
            answer["LastUpdated"] = json!("2031-03-10T12:00:00Z");
            (StatusCode::OK, answer.to_string())
        }
        ("POST", "/") => exchanged(&body),
        ("PUT", "/no-role/latest/api/token") => (StatusCode::OK, METADATA_TOKEN.to_owned()),
        ("GET", "/flood/v1") => (StatusCode::OK, "x".repeat(1 << 20)),
        ("GET", "/page/v1") => (StatusCode::OK, "<html>".to_owned()),
        ("GET", "/broken/v1") => (StatusCode::SERVICE_UNAVAILABLE, KEY.to_owned()),
        _ => (StatusCode::NOT_FOUND, "<?xml version=\"1.0\"?><html><title>404 - Not Found</title></html>".to_owned()),
    }
}

/// As in <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html>.
fn exchanged(body: &[u8]) -> (StatusCode, String) {
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
    let has = |name: &str, value: &str| form.get(name).is_some_and(|given| given == value);
    let asks = has("Action", "AssumeRoleWithWebIdentity") && has("Version", "2011-06-15") && has("RoleArn", ROLE);
    let space = "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"";
    if !asks || !has("WebIdentityToken", WEB_TOKEN) || !form.contains_key("RoleSessionName") {
        let refusal = format!(
            "<ErrorResponse {space}><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>The token {} is \
             not one</Message></Error><RequestId>1</RequestId></ErrorResponse>",
            form.get("WebIdentityToken").cloned().unwrap_or_default()
        );
        return (StatusCode::BAD_REQUEST, refusal);
    }
    let answer = format!(
        "<AssumeRoleWithWebIdentityResponse {space}>\n <AssumeRoleWithWebIdentityResult>\n  \
         <SubjectFromWebIdentityToken>system:serviceaccount:a:b</SubjectFromWebIdentityToken>\n  <AssumedRoleUser>\n   \
         <Arn>arn:aws:sts::123456789012:assumed-role/research/fathom</Arn>\n   <AssumedRoleId>AROA:fathom</AssumedRoleId>\n  \
         </AssumedRoleUser>\n  <Credentials>\n   <SessionToken>token-of-ASIAROLE</SessionToken>\n   \
         <SecretAccessKey>{KEY}</SecretAccessKey>\n   <Expiration>{}</Expiration>\n   <AccessKeyId>ASIAROLE</AccessKeyId>\n  \
         </Credentials>\n </AssumeRoleWithWebIdentityResult>\n <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>\n\
         </AssumeRoleWithWebIdentityResponse>\n",
        end()
    );
    (StatusCode::OK, answer)
}

/// The further settings of a service, by their names in the table of Bedrock.
type Others = Vec<(&'static str, String)>;

fn llm(vendor: &FakeVendor, others: &Others, environment: Vec<(&'static str, String)>) -> Llm {
    let others = others.iter().map(|(name, value)| (*name, value.as_str().into()));
    let endpoint = Endpoint {
        base_url: Some(Url::parse(&vendor.base_url()).unwrap()),
        others: others.chain([("region", "us-east-1".into())]).collect(),
        environment,
        ..Endpoint::default()
    };
    let mut settings =
        Settings { retry_for: Duration::ZERO, first_retry_within: Duration::from_secs(1), ..Settings::default() };
    settings.endpoints.insert("bedrock", endpoint);
    Llm::new(settings).unwrap()
}

fn request() -> Request {
    bare_question("bedrock:us.amazon.nova-pro-v1:0")
}

fn quietly(_: Wait) {}

fn turn() -> Reply {
    let body = json!({"output": {"message": {"role": "assistant", "content": [{"text": "Deep."}]}},
        "stopReason": "end_turn", "usage": {"inputTokens": 4, "outputTokens": 2, "totalTokens": 6}});
    Reply::json(200, &body.to_string())
}

/// Refuses the credentials, and quotes them.
fn refusal() -> Reply {
    Reply::json(403, &json!({"message": format!("The security token is expired: {KEY}")}).to_string())
}

/// The name and token with which a request is signed; the server then quotes the key, which has to be hidden, so it is
/// known here.
async fn ours(others: &Others, environment: Vec<(&'static str, String)>) -> (String, Option<String>) {
    let vendor = FakeVendor::start([turn(), refusal()]).await;
    let llm = llm(&vendor, others, environment);
    llm.complete(&request(), &quietly).await.unwrap();
    let refused = llm.complete(&request(), &quietly).await.unwrap_err().error;
    assert!(matches!(refused, Error::Auth { .. }) && refused.to_string().contains("expired"), "{refused}");
    assert!(!refused.to_string().contains(KEY), "{refused}");
    let headers = &vendor.sent()[0].headers;
    let signed = headers["authorization"].to_str().unwrap();
    let id = signed.strip_prefix("AWS4-HMAC-SHA256 Credential=").unwrap().split('/').next().unwrap();
    let token = headers.get("x-amz-security-token").map(|token| token.to_str().unwrap().to_owned());
    (id.to_owned(), token)
}

/// What the vendor's own package finds when the variables of our settings say the same.
async fn theirs(others: &Others, home: &Path) -> (String, Option<String>) {
    let bedrock = PROVIDERS.iter().find(|provider| provider.name == "bedrock").unwrap();
    let variable = |name: &str| bedrock.others.iter().find(|other| other.name == name).unwrap().variable;
    let mut command = tokio::process::Command::new(tool("wires/venv/bin/python"));
    command
        .arg(SCRIPT)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("AWS_DEFAULT_REGION", "us-east-1");
    command.envs(others.iter().map(|(name, value)| (variable(name), value))).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["secret"], KEY, "{found}");
    (found["id"].as_str().unwrap().to_owned(), found["token"].as_str().map(str::to_owned))
}

/// Files of profiles, and of tokens.
fn files(folder: &Path) -> Others {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let web = write("web-token", WEB_TOKEN);
    let printed = json!({"Version": 1, "AccessKeyId": "ASIAPRINTED", "SecretAccessKey": KEY,
        "SessionToken": "token-of-ASIAPRINTED", "Expiration": end()});
    let printed = write("printed.json", &printed.to_string());
    let credentials = format!("[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = {KEY}\n");
    let config = format!(
        "[default]\nregion = us-east-1\ncredential_process = cat \"{printed}\"\n[profile pod]\nrole_arn = {ROLE}\n\
         web_identity_token_file = {web}\n"
    );
    vec![
        ("credentials", write("credentials", &credentials)),
        ("config", write("config", &config)),
        ("web_identity_token_file", web),
        ("container_token_file", write("pod-token", POD_TOKEN)),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_found_where_amazons_own_package_finds_them() {
    let (amazon, folder) = (FakeAmazon::start().await, tempfile::tempdir().unwrap());
    let files = files(folder.path());
    let file = |name: &'static str| files.iter().find(|(known, _)| *known == name).unwrap().clone();
    let profiles = || vec![file("credentials"), file("config")];
    let named = |name: &str| profiles().into_iter().chain([("profile", name.to_owned())]).collect::<Others>();
    // There are no files of profiles, nor is this machine one of Amazon's.
    let none = folder.path().join("none").display().to_string();
    let bare = |more: Others| [vec![("credentials", none.clone()), ("config", none.clone())], more].concat();
    let sts = ("sts_url", amazon.base.clone());
    let cases: [(&str, Others, bool); 7] = [
        ("AKIAWORK", named("work"), false),
        ("ASIAPRINTED", profiles(), true),
        ("ASIAROLE", [named("pod"), vec![sts.clone()]].concat(), true),
        (
            "ASIAROLE",
            [profiles(), vec![file("web_identity_token_file"), ("role_arn", ROLE.to_owned()), sts]].concat(),
            true,
        ),
        ("ASIAPOD", bare(vec![("container_url", amazon.at("/v1/credentials")), file("container_token_file")]), true),
        (
            "ASIAPOD",
            bare(vec![("container_url", amazon.at("/v1/credentials")), ("container_token", POD_TOKEN.to_owned())]),
            true,
        ),
        ("ASIAMACHINE", bare(vec![("metadata_url", amazon.base.clone())]), true),
    ];
    for (id, others, has_token) in cases {
        let expected = (id.to_owned(), has_token.then(|| format!("token-of-{id}")));
        let environment = vec![("PATH", "/usr/bin:/bin".to_owned())];
        assert_eq!(ours(&others, environment).await, expected, "ours: {others:?}");
        assert_eq!(theirs(&others, folder.path()).await, expected, "theirs: {others:?}");
    }
}

/// Credentials are asked for once, however many calls need them, and again when the server refuses them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_kept_until_they_are_refused() {
    let amazon = FakeAmazon::start().await;
    let vendor = FakeVendor::start((0..8).map(|_| turn()).chain([refusal(), turn()])).await;
    let others = vec![
        ("credentials", "/nowhere".to_owned()),
        ("config", "/nowhere".to_owned()),
        ("container_url", amazon.at("/v1/credentials")),
        ("container_token", POD_TOKEN.to_owned()),
    ];
    let llm = Arc::new(llm(&vendor, &others, Vec::new()));
    let call = |_| {
        let llm = Arc::clone(&llm);
        async move { llm.complete(&request(), &quietly).await }
    };
    let all = futures::future::join_all((0..8).map(call)).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(amazon.asked.lock().unwrap().len(), 1);
    llm.complete(&request(), &quietly).await.unwrap_err();
    llm.complete(&request(), &quietly).await.unwrap();
    assert_eq!(amazon.asked.lock().unwrap().len(), 2);
}

/// A server of credentials that is away is waited for; what only an operator can mend is said at once. Nothing of it
/// quotes a secret, and nothing takes long or much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_cannot_be_had_say_why() {
    let (amazon, folder) = (FakeAmazon::start().await, tempfile::tempdir().unwrap());
    let files = files(folder.path());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silence = format!("http://{}", silent.local_addr().unwrap());
    let config = |text: &str| {
        let path = folder.path().join("case");
        std::fs::write(&path, text).unwrap();
        vec![("credentials", "/nowhere".to_owned()), ("config", path.display().to_string())]
    };
    let bare = |more: Others| [config(""), more].concat();
    let check = async |others: Others, expected: &str, is_auth: bool| {
        let vendor = FakeVendor::start([]).await;
        let started = Instant::now();
        let llm = llm(&vendor, &others, vec![("PATH", "/usr/bin:/bin".to_owned())]);
        let error = llm.complete(&request(), &quietly).await.unwrap_err().error;
        let said = error.to_string();
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(matches!(error, Error::Auth { .. }), is_auth, "{said}");
        for secret in [KEY, POD_TOKEN, WEB_TOKEN, METADATA_TOKEN, "0penai"] {
            assert!(!said.contains(secret), "{said}");
        }
        assert!(started.elapsed() < Duration::from_secs(8), "{expected}: {:?}", started.elapsed());
        assert!(vendor.sent().is_empty(), "nothing is sent unsigned");
    };
    let container = |path: &str| bare(vec![("container_url", amazon.at(path))]);
    check(bare(vec![("metadata_disabled", "true".to_owned())]), "no access key, no profile", true).await;
    check(bare(vec![("metadata_url", silence.clone())]), "does not answer in time", true).await;
    check(bare(vec![("metadata_url", amazon.at("/no-role"))]), "answers 404", true).await;
    check(container("/v1/credentials"), "answers 403: AccessDenied", true).await;
    check(container("/broken/v1"), "answers 503: no reason", false).await;
    check(container("/flood/v1"), "longer than 65536 bytes", false).await;
    check(container("/page/v1"), "cannot be read", false).await;
    let elsewhere = "http://keys.example.org/v1".to_owned();
    check(bare(vec![("container_url", elsewhere)]), "has to be an https address", true).await;
    let wrong = files.iter().find(|(name, _)| *name == "container_token_file").unwrap().1.clone();
    let role = |file: String| {
        bare(vec![("web_identity_token_file", file), ("role_arn", ROLE.to_owned()), ("sts_url", amazon.base.clone())])
    };
    check(role(wrong), "answers 400: InvalidIdentityToken", true).await;
    check(role("/nowhere/token".to_owned()), "/nowhere/token cannot be read", true).await;
    check(config("[default]\ncredential_process = no-such-program-anywhere\n"), "could not be started", true).await;
    check(config("[default]\ncredential_process = false\n"), "ended with exit status: 1", true).await;
    check(config(&format!("[default]\ncredential_process = echo {KEY}\n")), "printed no credentials", true).await;
    check(config("[default]\nsso_session = office\n"), "aws configure export-credentials", true).await;
    check([config(""), vec![("profile", "nobody".to_owned())]].concat(), "of the profile nobody", true).await;
}
