//! Whose credentials sign requests to Amazon's cloud: each place where they may be, found by us and by Amazon's own
//! Python package alike, and what is said when they cannot be had.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
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
use parking_lot::Mutex;
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
const SIGNED_IN: &str = "s1gned-in-0123456789";
const RENEWED: &str = "r3newed-0123456789";
const RENEWAL: &str = "r3newal-0123456789";
/// The files of tokens that `aws sso login` leaves for the session `office`, and for the address of the profile `old`.
const OFFICE: &str = ".aws/sso/cache/e6427457497fe0f4f93a7334d2203b8e17ee82df.json";
const OLD: &str = ".aws/sso/cache/103c764598c7bfb84492cce4b625216b27775ddd.json";

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
    asked.lock().push(format!("{method} {}", uri.path()));
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
        ("POST", "/") => exchanged(header("authorization"), &body),
        ("GET", "/federation/credentials") => signed_in(&uri, header("x-amz-sso_bearer_token")),
        ("POST", "/token") => renewed(&body),
        ("PUT", "/no-role/latest/api/token") => (StatusCode::OK, METADATA_TOKEN.to_owned()),
        ("GET", "/flood/v1") => (StatusCode::OK, "x".repeat(1 << 20)),
        ("GET", "/page/v1") => (StatusCode::OK, "<html>".to_owned()),
        ("GET", "/broken/v1") => (StatusCode::SERVICE_UNAVAILABLE, KEY.to_owned()),
        _ => (StatusCode::NOT_FOUND, "<?xml version=\"1.0\"?><html><title>404 - Not Found</title></html>".to_owned()),
    }
}

/// The name of the key that signs, where it signs for STS in the region of the settings.
fn signer(authorization: &str) -> Option<&str> {
    let scope = authorization.strip_prefix("AWS4-HMAC-SHA256 Credential=")?.split(',').next()?;
    let (id, scope) = scope.split_once('/')?;
    scope.ends_with("/us-east-1/sts/aws4_request").then_some(id)
}

/// As in <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html> and, for who signs,
/// <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html>. The name of a role's key says who assumed
/// it.
fn exchanged(authorization: &str, body: &[u8]) -> (StatusCode, String) {
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
    let has = |name: &str, value: &str| form.get(name).is_some_and(|given| given == value);
    let whole = has("Version", "2011-06-15") && form.contains_key("RoleSessionName");
    let role = form["RoleArn"].rsplit('/').next().unwrap_or_default();
    let entitled = match (form["Action"].as_str(), signer(authorization)) {
        ("AssumeRoleWithWebIdentity", None) if has("RoleArn", ROLE) && has("WebIdentityToken", WEB_TOKEN) => {
            Ok("ASIAROLE".to_owned())
        }
        ("AssumeRole", Some(by)) if role != "closed" => {
            let fits = role != "far" || (has("ExternalId", "x/y z") && has("DurationSeconds", "1800"));
            if fits { Ok(format!("{by}-{role}")) } else { Err("ValidationError") }
        }
        ("AssumeRole", _) => Err("AccessDenied"),
        _ => Err("InvalidIdentityToken"),
    };
    match entitled {
        Ok(id) if whole => (StatusCode::OK, credentials_of_role(&form["Action"], &id)),
        Ok(_) => (StatusCode::BAD_REQUEST, refused_by_sts("ValidationError", &form)),
        Err("AccessDenied") => (StatusCode::FORBIDDEN, refused_by_sts("AccessDenied", &form)),
        Err(code) => (StatusCode::BAD_REQUEST, refused_by_sts(code, &form)),
    }
}

const STS: &str = "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"";

fn refused_by_sts(code: &str, form: &BTreeMap<String, String>) -> String {
    format!(
        "<ErrorResponse {STS}><Error><Type>Sender</Type><Code>{code}</Code><Message>What came is {form:?}</Message>\
         </Error><RequestId>1</RequestId></ErrorResponse>"
    )
}

fn credentials_of_role(action: &str, id: &str) -> String {
    format!(
        "<{action}Response {STS}>\n <{action}Result>\n  <AssumedRoleUser>\n   \
         <Arn>arn:aws:sts::123456789012:assumed-role/research/fathom</Arn>\n   <AssumedRoleId>AROA:fathom</AssumedRoleId>\n  \
         </AssumedRoleUser>\n  <Credentials>\n   <SessionToken>token-of-{id}</SessionToken>\n   \
         <SecretAccessKey>{KEY}</SecretAccessKey>\n   <Expiration>{}</Expiration>\n   <AccessKeyId>{id}</AccessKeyId>\n  \
         </Credentials>\n </{action}Result>\n <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>\n\
         </{action}Response>\n",
        end()
    )
}

/// As in <https://docs.aws.amazon.com/singlesignon/latest/PortalAPIReference/API_GetRoleCredentials.html>.
fn signed_in(uri: &Uri, token: &str) -> (StatusCode, String) {
    let query = uri.query().unwrap_or_default();
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let is_ours = form["role_name"] == "reader of all" && form["account_id"] == "123456789012";
    let id = match token {
        SIGNED_IN if is_ours => "ASIASIGNEDIN",
        RENEWED if is_ours => "ASIARENEWED",
        _ => {
            let refusal = json!({"message": format!("Session token {token} not found or invalid"),
                "__type": "com.amazonaws.switchboard.portal#UnauthorizedException"});
            return (StatusCode::UNAUTHORIZED, refusal.to_string());
        }
    };
    let expiration = (time::OffsetDateTime::now_utc().unix_timestamp() + 3_600) * 1_000;
    let credentials = json!({"accessKeyId": id, "secretAccessKey": KEY, "sessionToken": format!("token-of-{id}"),
        "expiration": expiration});
    (StatusCode::OK, json!({"roleCredentials": credentials}).to_string())
}

/// As in <https://docs.aws.amazon.com/singlesignon/latest/OIDCAPIReference/API_CreateToken.html>.
fn renewed(body: &[u8]) -> (StatusCode, String) {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let expected = json!({"grantType": "refresh_token", "clientId": "client", "clientSecret": "cl1ent-secret",
        "refreshToken": RENEWAL});
    if asked != expected {
        let refusal = json!({"error": "invalid_grant", "error_description": format!("{asked} is none")});
        return (StatusCode::BAD_REQUEST, refusal.to_string());
    }
    let answer = json!({"accessToken": RENEWED, "tokenType": "Bearer", "expiresIn": 3_600, "refreshToken": "the next"});
    (StatusCode::OK, answer.to_string())
}

/// The further settings of a service, by their names in the table of Bedrock.
type Others = Vec<(&'static str, String)>;

fn llm(vendor: &FakeVendor, others: &Others, home: &Path) -> Llm {
    let others = others.iter().map(|(name, value)| (*name, value.as_str().into()));
    let endpoint = Endpoint {
        base_url: Some(Url::parse(&vendor.base_url()).unwrap()),
        others: others.chain([("region", "us-east-1".into())]).collect(),
        environment: vec![("PATH", "/usr/bin:/bin".to_owned())],
        home: Some(home.to_owned()),
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
async fn ours(others: &Others, home: &Path) -> (String, Option<String>) {
    let vendor = FakeVendor::start([turn(), refusal(), refusal()]).await;
    let llm = llm(&vendor, others, home);
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
    let credentials = format!(
        "[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = {KEY}\n\
         [self]\naws_access_key_id = AKIASELF\naws_secret_access_key = {KEY}\n"
    );
    let role = "role_arn = arn:aws:iam::123456789012:role";
    let signed_in = "sso_account_id = 123456789012\nsso_role_name = reader of all\n";
    let config = format!(
        "[default]\nregion = us-east-1\ncredential_process = cat \"{printed}\"\n[profile pod]\nrole_arn = {ROLE}\n\
         web_identity_token_file = {web}\n\
         [profile far]\n{role}/far\nsource_profile = work\nexternal_id = x/y z\nduration_seconds = 1800\n\
         [profile farther]\n{role}/farther\nsource_profile = far\nrole_session_name = of-tests\n\
         [profile self]\n{role}/own\nsource_profile = self\n\
         [profile printed]\ncredential_process = cat \"{printed}\"\n\
         [profile by-printed]\n{role}/printed\nsource_profile = printed\n\
         [profile by-pod]\n{role}/pod\nsource_profile = pod\n\
         [profile by-box]\n{role}/box\ncredential_source = Ec2InstanceMetadata\n\
         [profile by-task]\n{role}/task\ncredential_source = EcsContainer\n\
         [profile closed]\n{role}/closed\nsource_profile = work\n\
         [profile code]\n{role}/far\nsource_profile = work\nmfa_serial = arn:mfa\n\
         [profile office]\nsso_session = office\n{signed_in}\
         [sso-session office]\nsso_start_url = https://office.example/start\nsso_region = eu-west-1\n\
         [profile old]\nsso_start_url = https://old.example/start\nsso_region = eu-west-1\n{signed_in}\
         [profile by-office]\n{role}/office\nsource_profile = office\n\
         [profile foreign]\nsso_session = office\nsso_account_id = 1\nsso_role_name = other\n"
    );
    sign_in(folder, OFFICE, SIGNED_IN, 3_600);
    sign_in(folder, OLD, SIGNED_IN, 3_600);
    vec![
        ("credentials", write("credentials", &credentials)),
        ("config", write("config", &config)),
        ("web_identity_token_file", web),
        ("container_token_file", write("pod-token", POD_TOKEN)),
    ]
}

/// Leaves the file of a sign-in that ends in so many seconds.
fn sign_in(home: &Path, file: &str, token: &str, seconds: i64) {
    let at = |seconds: i64| {
        let at = time::OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
        at.format(&time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z")).unwrap()
    };
    let text = json!({"startUrl": "https://office.example/start", "region": "eu-west-1", "accessToken": token,
        "expiresAt": at(seconds), "clientId": "client", "clientSecret": "cl1ent-secret", "refreshToken": RENEWAL,
        "registrationExpiresAt": at(1_000_000)});
    std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
    std::fs::write(home.join(file), text.to_string()).unwrap();
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
    let portal = vec![("sso_url", amazon.base.clone()), ("sso_oidc_url", amazon.base.clone())];
    let by = |name: &str, more: &[(&'static str, String)]| [named(name), vec![sts.clone()], more.to_vec()].concat();
    let task = [("container_url", amazon.at("/v1/credentials")), ("container_token", POD_TOKEN.to_owned())];
    let cases: [(&str, Others, bool); 17] = [
        ("AKIAWORK-far", by("far", &[]), true),
        ("AKIAWORK-far-farther", by("farther", &[]), true),
        ("AKIASELF-own", by("self", &[]), true),
        ("ASIAPRINTED-printed", by("by-printed", &[]), true),
        ("ASIAROLE-pod", by("by-pod", &[]), true),
        ("ASIAMACHINE-box", by("by-box", &[("metadata_url", amazon.base.clone())]), true),
        ("ASIAPOD-task", by("by-task", &task), true),
        ("ASIASIGNEDIN", [named("office"), portal.clone()].concat(), true),
        ("ASIASIGNEDIN", [named("old"), portal.clone()].concat(), true),
        ("ASIASIGNEDIN-office", by("by-office", &portal), true),
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
        assert_eq!(ours(&others, folder.path()).await, expected, "ours: {others:?}");
        assert_eq!(theirs(&others, folder.path()).await, expected, "theirs: {others:?}");
    }
}

/// A sign-in that is about to end is renewed, and what is written back is what Amazon's own package goes on from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_are_renewed_and_written_back() {
    let (amazon, folder) = (FakeAmazon::start().await, tempfile::tempdir().unwrap());
    let files = files(folder.path());
    let profiles = files.into_iter().filter(|(name, _)| ["credentials", "config"].contains(name));
    let portal = [("sso_url", amazon.base.clone()), ("sso_oidc_url", amazon.base.clone())];
    let named =
        |name: &str| profiles.clone().chain(portal.clone()).chain([("profile", name.to_owned())]).collect::<Others>();
    let renewals = || amazon.asked.lock().iter().filter(|asked| *asked == "POST /token").count();
    let expected = ("ASIARENEWED".to_owned(), Some("token-of-ASIARENEWED".to_owned()));
    for seconds in [600, -10] {
        sign_in(folder.path(), OFFICE, SIGNED_IN, seconds);
        assert_eq!(theirs(&named("office"), folder.path()).await, expected, "theirs, {seconds} s");
        sign_in(folder.path(), OFFICE, SIGNED_IN, seconds);
        let before = renewals();
        assert_eq!(ours(&named("office"), folder.path()).await, expected, "ours, {seconds} s");
        assert_eq!(theirs(&named("office"), folder.path()).await, expected, "theirs, of our file");
        assert_eq!(renewals(), before + 1, "theirs had nothing to renew");
    }
    let kept: Value = serde_json::from_slice(&std::fs::read(folder.path().join(OFFICE)).unwrap()).unwrap();
    assert_eq!((&kept["refreshToken"], &kept["clientSecret"]), (&json!("the next"), &json!("cl1ent-secret")));
    assert!(kept["registrationExpiresAt"].is_string() && kept["startUrl"].is_string(), "{kept}");

    // The renewal that is refused does not end a sign-in that still counts.
    sign_in(folder.path(), OFFICE, SIGNED_IN, 600);
    let text = std::fs::read_to_string(folder.path().join(OFFICE)).unwrap().replace(RENEWAL, "used up");
    std::fs::write(folder.path().join(OFFICE), text).unwrap();
    assert_eq!(ours(&named("office"), folder.path()).await.0, "ASIASIGNEDIN");
    // Sign-ins of the older form are not renewed.
    let before = renewals();
    sign_in(folder.path(), OLD, SIGNED_IN, 600);
    assert_eq!(ours(&named("old"), folder.path()).await.0, "ASIASIGNEDIN");
    assert_eq!(renewals(), before);
}

/// Credentials are asked for once, however many calls need them, and again when the server refuses them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_kept_until_they_are_refused() {
    let amazon = FakeAmazon::start().await;
    let not_enabled = Reply::json(403, r#"{"message": "You don't have access to the model with this ID."}"#)
        .header("x-amzn-errortype", "AccessDeniedException:http://internal.amazon.com/");
    let replies = (0..8).map(|_| turn()).chain([refusal(), turn(), not_enabled, turn(), refusal(), refusal()]);
    let vendor = FakeVendor::start(replies).await;
    let others = vec![
        ("credentials", "/nowhere".to_owned()),
        ("config", "/nowhere".to_owned()),
        ("container_url", amazon.at("/v1/credentials")),
        ("container_token", POD_TOKEN.to_owned()),
    ];
    let llm = Arc::new(llm(&vendor, &others, Path::new("/nowhere")));
    let call = |_| {
        let llm = Arc::clone(&llm);
        async move { llm.complete(&request(), &quietly).await }
    };
    let all = futures::future::join_all((0..8).map(call)).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(amazon.asked.lock().len(), 1);
    // The call is made once more.
    llm.complete(&request(), &quietly).await.unwrap();
    assert_eq!(amazon.asked.lock().len(), 2);
    // Who asks is known there, and may only not use this model.
    llm.complete(&request(), &quietly).await.unwrap_err();
    llm.complete(&request(), &quietly).await.unwrap();
    assert_eq!(amazon.asked.lock().len(), 2);
    // New ones that are refused, too, end it.
    let refused = llm.complete(&request(), &quietly).await.unwrap_err().error;
    assert!(matches!(refused, Error::Auth { .. }), "{refused}");
    assert_eq!((amazon.asked.lock().len(), vendor.sent().len()), (3, 14));
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
        let llm = llm(&vendor, &others, folder.path());
        let error = llm.complete(&request(), &quietly).await.unwrap_err().error;
        let said = error.to_string();
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(matches!(error, Error::Auth { .. }), is_auth, "{said}");
        for secret in [KEY, POD_TOKEN, WEB_TOKEN, METADATA_TOKEN, SIGNED_IN, RENEWAL, "0penai"] {
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
    let portal =
        [("sso_url", amazon.base.clone()), ("sso_oidc_url", amazon.base.clone()), ("sts_url", amazon.base.clone())];
    let named = |name: &str| [files.clone(), portal.to_vec(), vec![("profile", name.to_owned())]].concat();
    check(named("closed"), "answers 403: AccessDenied", true).await;
    check(named("code"), "aws configure export-credentials", true).await;
    check(named("by-task"), "credential_source is the container, which is none", true).await;
    check(named("foreign"), "IAM Identity Center answers 401: UnauthorizedException", true).await;
    sign_in(folder.path(), OLD, SIGNED_IN, -10);
    check(named("old"), "run `aws sso login`", true).await;
    let away = |name: &str| [named(name), vec![("sso_oidc_url", "http://127.0.0.1:1".to_owned())]].concat();
    sign_in(folder.path(), OFFICE, SIGNED_IN, -10);
    check(away("office"), "does not answer", false).await;
    std::fs::remove_file(folder.path().join(OFFICE)).unwrap();
    check(named("office"), "run `aws sso login`", true).await;
    check([config(""), vec![("profile", "nobody".to_owned())]].concat(), "of the profile nobody", true).await;
}
