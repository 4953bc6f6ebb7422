//! Providers in clouds over loopback: tokens of Google's, signatures of Amazon's, and the dialects as they are spoken
//! there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::{
    encoding::{AsDer as _, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey},
};
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message as Frame};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{FakeVendor, Reply, Sent},
    requests::{after, bare_question, with_search as request},
};
use fathom::llm::{
    Completion, Delta, Endpoint, Error, Llm, OutputFormat, Request, Sending, Settings, StopReason, ToolCall, Tuning,
    Wait, structured::Strategy,
};

const TOKEN: &str = "ya29.token-of-a-test-0123456789";

fn quietly(_: Wait) {}

/// A provider at the fake's address with these further settings.
fn llm(vendor: &FakeVendor, provider: &'static str, others: &[(&'static str, &str)], key: Option<&str>) -> Llm {
    let endpoint = Endpoint {
        base_url: Some(Url::parse(&vendor.base_url()).unwrap()),
        api_key: key.map(Into::into),
        others: others.iter().map(|(name, value)| (*name, (*value).into())).collect::<BTreeMap<_, _>>(),
        ..Endpoint::default()
    };
    let mut settings = Settings {
        retry_for: std::time::Duration::ZERO,
        first_retry_within: std::time::Duration::from_secs(1),
        ..Settings::default()
    };
    settings.endpoints.insert(provider, endpoint);
    Llm::new(settings).unwrap()
}

fn file(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("credentials");
    std::fs::write(&path, text).unwrap();
    path
}

mod google {
    use super::*;

    const MODEL: &str = "vertex:gemini-3.6-flash";

    fn answer() -> Reply {
        let body = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Deep."}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}});
        Reply::json(200, &body.to_string())
    }

    fn token() -> Reply {
        Reply::json(200, &json!({"access_token": TOKEN, "expires_in": 3_599, "token_type": "Bearer"}).to_string())
    }

    fn user(folder: &Path, vendor: &FakeVendor) -> PathBuf {
        let token_uri = vendor.base_url().replace("/v1", "/token");
        let text = json!({"type": "authorized_user", "client_id": "id", "client_secret": "s3cret-of-client",
            "refresh_token": "r3fresh-of-user", "token_uri": token_uri});
        file(folder, &text.to_string())
    }

    fn bearer(sent: &Sent) -> &str {
        sent.headers["authorization"].to_str().unwrap()
    }

    /// Its statement is signed by its own key, for the server that gives tokens, and counts for an hour.
    #[tokio::test]
    async fn a_service_account_proves_who_it_is() {
        let vendor = FakeVendor::start([token(), answer(), answer()]).await;
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()));
        let token_uri = vendor.base_url().replace("/v1", "/token");
        let text = json!({"type": "service_account", "client_email": "fathom@p1.iam.test", "private_key": pem,
            "private_key_id": "k1", "token_uri": token_uri});
        let path = file(folder.path(), &text.to_string());
        let others = [("project", "p1"), ("location", "europe-west1"), ("credentials", path.to_str().unwrap())];
        let llm = llm(&vendor, "vertex", &others, None);
        for _ in 0..2 {
            assert_eq!(llm.complete(&request(MODEL), &quietly).await.unwrap().text, "Deep.");
        }
        let sent = vendor.sent();
        let paths: Vec<_> = sent.iter().map(|sent| &*sent.path).collect();
        let call = "/v1/projects/p1/locations/europe-west1/publishers/google/models/gemini-3.6-flash:generateContent";
        assert_eq!(paths, ["/token", call, call], "one token for both");
        assert!(sent[1..].iter().all(|sent| bearer(sent) == format!("Bearer {TOKEN}")));
        assert!(sent[1].body["contents"].is_array());

        let form: BTreeMap<String, String> =
            url::form_urlencoded::parse(sent[0].text.as_bytes()).into_owned().collect();
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
        let (signed, signature) = form["assertion"].rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref().to_vec());
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let part = |place: usize| -> Value {
            let part = signed.split('.').nth(place).unwrap();
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        assert_eq!(part(0), json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
        let claims = part(1);
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!("fathom@p1.iam.test"), &json!(token_uri)));
        assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3_600);
    }

    #[tokio::test]
    async fn a_user_has_a_token_renewed_that_is_refused() {
        let expired = || {
            Reply::json(
                401,
                r#"{"error": {"code": 401, "message": "Request had invalid credentials: ya29.token-of-a-test-0123456789", "status": "UNAUTHENTICATED"}}"#,
            )
        };
        let vendor = FakeVendor::start([token(), expired(), token(), answer(), expired(), token(), expired()]).await;
        let folder = tempfile::tempdir().unwrap();
        let path = user(folder.path(), &vendor);
        let llm = llm(&vendor, "vertex", &[("project", "p1"), ("credentials", path.to_str().unwrap())], None);
        let completion = llm.complete(&request(MODEL), &quietly).await.unwrap();
        assert_eq!(completion.text, "Deep.", "the same call, with another token");
        let refused = llm.complete(&request(MODEL), &quietly).await.unwrap_err().error;
        assert!(matches!(refused, Error::Auth { .. }), "{refused:?}");
        assert!(!refused.to_string().contains(TOKEN), "{refused}");
        let sent = vendor.sent();
        assert_eq!((sent.len(), sent.iter().filter(|sent| sent.path == "/token").count()), (7, 3));
        assert!(sent[1].path.contains("/locations/global/"), "{}", sent[1].path);
        let form: BTreeMap<String, String> =
            url::form_urlencoded::parse(sent[0].text.as_bytes()).into_owned().collect();
        let expected = [
            ("client_id", "id"),
            ("client_secret", "s3cret-of-client"),
            ("grant_type", "refresh_token"),
            ("refresh_token", "r3fresh-of-user"),
        ];
        assert_eq!(form, expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
    }

    #[tokio::test]
    async fn a_machine_has_an_account_of_its_own() {
        let vendor = FakeVendor::start([token(), answer()]).await;
        let host = vendor.base_url().replace("http://", "").replace("/v1", "");
        let llm = llm(&vendor, "vertex", &[("project", "p1"), ("metadata_host", &host)], None);
        llm.complete(&request(MODEL), &quietly).await.unwrap();
        let sent = vendor.sent();
        assert_eq!(sent[0].path, "/computeMetadata/v1/instance/service-accounts/default/token");
        assert_eq!(
            (&sent[0].headers["metadata-flavor"], bearer(&sent[1])),
            (&"Google".parse().unwrap(), &*format!("Bearer {TOKEN}"))
        );
    }

    /// Calls that need a token together fetch one.
    #[tokio::test]
    async fn calls_side_by_side_fetch_one_token() {
        let vendor = FakeVendor::start([token()].into_iter().chain((0..8).map(|_| answer()))).await;
        let folder = tempfile::tempdir().unwrap();
        let path = user(folder.path(), &vendor);
        let llm = Arc::new(llm(&vendor, "vertex", &[("project", "p1"), ("credentials", path.to_str().unwrap())], None));
        let call = |_| {
            let llm = Arc::clone(&llm);
            async move { llm.complete(&request(MODEL), &quietly).await }
        };
        let all = futures::future::join_all((0..8).map(call)).await;
        assert!(all.iter().all(Result::is_ok), "{all:?}");
        assert_eq!(vendor.sent().iter().filter(|sent| sent.path == "/token").count(), 1);
    }

    #[tokio::test]
    async fn credentials_that_cannot_be_used_say_so_and_nothing_else() {
        let check = async |reply: Option<Reply>, text: Option<&str>, expected: &str, is_auth: bool| {
            let vendor = FakeVendor::start(reply).await;
            let folder = tempfile::tempdir().unwrap();
            let path = match text {
                Some(text) => file(folder.path(), text),
                None => user(folder.path(), &vendor),
            };
            let llm = llm(&vendor, "vertex", &[("project", "p1"), ("credentials", path.to_str().unwrap())], None);
            let error = llm.complete(&request(MODEL), &quietly).await.unwrap_err().error;
            let shown = error.to_string();
            assert!(shown.contains(expected), "{shown}");
            assert_eq!(matches!(error, Error::Auth { .. }), is_auth, "{shown}");
            assert!(!shown.contains("s3cret") && !shown.contains("r3fresh"), "{shown}");
        };
        let refusal = r#"{"error": "invalid_grant", "error_description": "Token r3fresh-of-user has been revoked."}"#;
        check(Some(Reply::json(400, refusal)), None, "answers 400: invalid_grant", true).await;
        check(Some(Reply::json(503, "{}")), None, "answers 503", false).await;
        check(Some(Reply::json(200, "<html>")), None, "cannot be read", false).await;
        check(None, Some(r#"{"type": "external_account", "x": "s3cret"}"#), "not supported", true).await;
        check(None, Some("s3cret"), "no file of credentials", true).await;
        let key =
            r#"{"type": "service_account", "client_email": "a", "private_key": "s3cret", "token_uri": "http://x"}"#;
        check(None, Some(key), "private key of the service account cannot be used", true).await;
    }

    /// The model stands in the address, and the version of the API in the body.
    #[tokio::test]
    async fn models_of_anthropic_are_called_in_their_own_dialect() {
        let body = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Deep."}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 4, "output_tokens": 2}});
        let vendor = FakeVendor::start([token(), Reply::json(200, &body.to_string())]).await;
        let folder = tempfile::tempdir().unwrap();
        let path = user(folder.path(), &vendor);
        let others = [("project", "p1"), ("location", "us-east5"), ("credentials", path.to_str().unwrap())];
        let llm = llm(&vendor, "vertex-anthropic", &others, None);
        llm.complete(&request("vertex-anthropic:claude-sonnet-4-5@20250929"), &quietly).await.unwrap();
        let sent = &vendor.sent()[1];
        let path =
            "/v1/projects/p1/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5%4020250929:rawPredict";
        assert_eq!(sent.path, path);
        assert_eq!((&sent.body["anthropic_version"], &sent.body["model"]), (&json!("vertex-2023-10-16"), &Value::Null));
        assert!(!sent.headers.contains_key("anthropic-version"));
    }

    #[test]
    fn its_address_follows_from_its_settings() {
        let missing = |others: &[(&'static str, &str)]| {
            let endpoint = Endpoint {
                others: others.iter().map(|(name, value)| (*name, (*value).into())).collect(),
                ..Endpoint::default()
            };
            let mut settings = Settings::default();
            settings.endpoints.insert("vertex", endpoint);
            Llm::new(settings).map(|llm| llm.missing(&MODEL.parse().unwrap())).map_err(|problem| problem.to_string())
        };
        assert_eq!(missing(&[]), Ok(Some("GOOGLE_CLOUD_PROJECT")));
        assert_eq!(missing(&[("project", "p1")]), Ok(None));
        let elsewhere = missing(&[("project", "p1"), ("location", "evil.test/#")]).unwrap_err();
        assert_eq!(elsewhere, "vertex: its project or location is no name");
    }
}

mod amazon {
    use super::*;

    const MODEL: &str = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    const SECRET: &str = "s3cret-access-key-0123456789";
    const KEYS: [(&str, &str); 4] = [
        ("region", "us-east-1"),
        ("access_key_id", "AKIDEXAMPLE"),
        ("secret_access_key", SECRET),
        ("session_token", "t0ken-of-session"),
    ];

    fn blocks() -> Value {
        json!([
            {"reasoningContent": {"reasoningText": {"text": "It is deep.", "signature": "c2ln"}}},
            {"text": "Looking."},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "search_web", "input": {"q": "depth"}}},
        ])
    }

    fn usage() -> Value {
        json!({"inputTokens": 8, "outputTokens": 12, "totalTokens": 52, "cacheReadInputTokens": 30, "cacheWriteInputTokens": 2})
    }

    fn turn() -> Reply {
        let body = json!({"output": {"message": {"role": "assistant", "content": blocks()}}, "stopReason": "tool_use",
            "usage": usage(), "metrics": {"latencyMs": 7}});
        Reply::json(200, &body.to_string())
    }

    fn frame(kind: &str, name: &str, payload: &Value) -> Vec<u8> {
        let header = |name: &'static str, value: &str| Header::new(name, HeaderValue::String(value.to_owned().into()));
        let name_of = if kind == "event" { ":event-type" } else { ":exception-type" };
        let frame = Frame::new(payload.to_string())
            .add_header(header(":message-type", kind))
            .add_header(header(name_of, name))
            .add_header(header(":content-type", "application/json"));
        let mut bytes = Vec::new();
        write_message_to(&frame, &mut bytes).unwrap();
        bytes
    }

    fn events() -> Vec<Vec<u8>> {
        let delta =
            |index: usize, delta: Value| ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}));
        let events = [
            ("messageStart", json!({"role": "assistant"})),
            delta(0, json!({"reasoningContent": {"text": "It is "}})),
            delta(0, json!({"reasoningContent": {"text": "deep."}})),
            delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
            ("contentBlockStop", json!({"contentBlockIndex": 0})),
            delta(1, json!({"text": "Look"})),
            delta(1, json!({"text": "ing."})),
            ("contentBlockStop", json!({"contentBlockIndex": 1})),
            (
                "contentBlockStart",
                json!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "search_web"}}}),
            ),
            delta(2, json!({"toolUse": {"input": "{\"q\":"}})),
            delta(2, json!({"toolUse": {"input": " \"depth\"}"}})),
            ("contentBlockStop", json!({"contentBlockIndex": 2})),
            ("messageStop", json!({"stopReason": "tool_use"})),
            ("metadata", json!({"usage": usage(), "metrics": {"latencyMs": 7}})),
        ];
        events.iter().map(|(name, payload)| frame("event", name, payload)).collect()
    }

    async fn streamed(pieces: Vec<Vec<u8>>) -> Result<Completion, Error> {
        let vendor = FakeVendor::start([Reply::bytes("application/vnd.amazon.eventstream", pieces)]).await;
        let llm = llm(&vendor, "bedrock", &KEYS, None);
        let mut stream = llm.stream(&request(MODEL), &quietly).await.map_err(|failed| failed.error)?;
        while let Some(delta) = stream.next().await {
            if let Delta::End(completion) = delta.map_err(|broken_off| broken_off.error)? {
                return Ok(completion);
            }
        }
        panic!("no end")
    }

    fn check(completion: &Completion) {
        assert_eq!((&*completion.text, completion.stop), ("Looking.", StopReason::ToolCalls));
        let usage = completion.usage;
        assert_eq!(
            (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens),
            (40, 30, 2, 12)
        );
        let [ToolCall { id, name, arguments, .. }] = &completion.tool_calls[..] else { panic!("{completion:?}") };
        assert_eq!((&**id, &**name), ("tooluse_1", "search_web"));
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"q": "depth"}));
        let carried: Value = serde_json::from_str(&completion.carry.as_ref().unwrap().items).unwrap();
        assert_eq!(carried, blocks());
    }

    #[tokio::test]
    async fn a_turn_goes_there_and_back() {
        let vendor = FakeVendor::start([turn(), turn()]).await;
        let llm = llm(&vendor, "bedrock", &KEYS, None);
        let completion = llm.complete(&request(MODEL), &quietly).await.unwrap();
        check(&completion);
        llm.complete(&after(&request(MODEL), &completion), &quietly).await.unwrap();
        let sent = vendor.sent();
        assert_eq!(sent[0].path, "/v1/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse");
        let mark = json!({"cachePoint": {"type": "default"}});
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
        let expected = json!({
            "toolConfig": {"tools": [{"toolSpec": {"name": "search_web", "description": "Searches.",
                "inputSchema": {"json": schema}}}], "toolChoice": {"auto": {}}},
            "system": [{"text": "Be brief."}, mark],
            "messages": [{"role": "user", "content": [{"text": "How deep is it?"}, mark]}],
            "inferenceConfig": {"maxTokens": 100},
        });
        assert_eq!(sent[0].body, expected);
        let messages = &sent[1].body["messages"];
        assert_eq!(messages[1], json!({"role": "assistant", "content": blocks()}), "as it came");
        let result = json!({"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "found"}]}});
        assert_eq!(messages[2], json!({"role": "user", "content": [result, mark]}));
    }

    #[tokio::test]
    async fn a_form_of_answer_and_an_effort_are_asked_for() {
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
        let output = OutputFormat::JsonSchema { name: "brief".into(), schema: schema.into() };
        let tuning = Tuning { reasoning_effort: Some("low".into()), ..Tuning::default() };
        let sending = Sending { tuning: Some(tuning.into()), cache_key: None };
        let vendor = FakeVendor::start([turn()]).await;
        let llm = llm(&vendor, "bedrock", &KEYS, None);
        assert_eq!(llm.first_strategy(&MODEL.parse().unwrap()), Strategy::Native);
        llm.complete(&Request { output, sending, ..bare_question(MODEL) }, &quietly).await.unwrap();
        let config = vendor.sent()[0].body["outputConfig"].clone();
        let definition = &config["textFormat"]["structure"]["jsonSchema"];
        let sent: Value = serde_json::from_str(definition["schema"].as_str().unwrap()).unwrap();
        let strict = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"],
            "additionalProperties": false});
        assert_eq!((sent, &definition["name"]), (strict, &json!("brief")));
        assert_eq!((&config["textFormat"]["type"], &config["effort"]), (&json!("json_schema"), &json!("low")));
    }

    /// As findings are compressed: a history with calls is refused without tools, and with them a model may call one.
    #[tokio::test]
    async fn no_tool_of_the_history_may_be_called_when_none_is_on_offer() {
        const NOVA: &str = "bedrock:us.amazon.nova-pro-v1:0";
        let sent = async |request: Request| {
            let vendor = FakeVendor::start([turn()]).await;
            llm(&vendor, "bedrock", &KEYS, None).complete(&request, &quietly).await.unwrap();
            vendor.sent()[0].body.clone()
        };
        let vendor = FakeVendor::start([turn()]).await;
        let completion = llm(&vendor, "bedrock", &KEYS, None).complete(&request(MODEL), &quietly).await.unwrap();
        let asked_about = |model: &str| Request { tools: Vec::new(), ..after(&request(model), &completion) };
        let body = sent(asked_about(MODEL)).await;
        assert_eq!(body["toolConfig"]["tools"][0]["toolSpec"]["name"], "search_web");
        assert_eq!(body["toolConfig"].get("toolChoice"), None);
        assert_eq!(body["additionalModelRequestFields"], json!({"tool_choice": {"type": "none"}}));
        let set = json!({"additionalModelRequestFields": {"top_k": 5}, "performanceConfig": {"latency": "standard"}});
        let tuning = Tuning { body: set.as_object().unwrap().clone(), ..Tuning::default() };
        let sending = Sending { tuning: Some(tuning.into()), cache_key: None };
        let body = sent(Request { sending: sending.clone(), ..asked_about(MODEL) }).await;
        assert_eq!(body["additionalModelRequestFields"], json!({"tool_choice": {"type": "none"}, "top_k": 5}));
        assert_eq!(body["performanceConfig"], set["performanceConfig"]);
        // Other models know no such field, and tools on offer may be called.
        assert_eq!(sent(asked_about(NOVA)).await.get("additionalModelRequestFields"), None);
        let offered = Request { sending, ..after(&request(MODEL), &completion) };
        assert_eq!(sent(offered).await["additionalModelRequestFields"], json!({"top_k": 5}));
        let bare = Request { tools: Vec::new(), ..request(MODEL) };
        assert_eq!(sent(bare).await.get("additionalModelRequestFields"), None);
    }

    #[tokio::test]
    async fn requests_are_signed_or_carry_a_key() {
        let vendor = FakeVendor::start([turn(), turn()]).await;
        llm(&vendor, "bedrock", &KEYS, None).complete(&request(MODEL), &quietly).await.unwrap();
        llm(&vendor, "bedrock", &[("region", "us-east-1")], Some("bedrock-key-0123"))
            .complete(&request(MODEL), &quietly)
            .await
            .unwrap();
        let sent = vendor.sent();
        let of = |place: usize| sent[place].headers["authorization"].to_str().unwrap().to_owned();
        let signed = of(0);
        assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{signed}");
        assert!(signed.contains("/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature="), "{signed}");
        assert_eq!(sent[0].headers["x-amz-security-token"], "t0ken-of-session");
        assert!(!signed.contains(SECRET));
        assert_eq!(of(1), "Bearer bedrock-key-0123");
    }

    #[tokio::test]
    async fn a_profile_signs_where_no_key_is_set() {
        let vendor = FakeVendor::start([turn()]).await;
        let folder = tempfile::tempdir().unwrap();
        let path = file(
            folder.path(),
            "[other]\naws_access_key_id=AKIA0\naws_secret_access_key=x\n[work]\naws_access_key_id = AKIA7\naws_secret_access_key = y\n",
        );
        let others = |profile| [("region", "eu-west-1"), ("credentials", path.to_str().unwrap()), ("profile", profile)];
        llm(&vendor, "bedrock", &others("work"), None).complete(&request(MODEL), &quietly).await.unwrap();
        assert!(vendor.sent()[0].headers["authorization"].to_str().unwrap().contains("Credential=AKIA7/"));
        let none =
            llm(&vendor, "bedrock", &others("nobody"), None).complete(&request(MODEL), &quietly).await.unwrap_err();
        assert!(matches!(none.error, Error::Auth { .. }) && none.to_string().contains("profile nobody"), "{none}");
    }

    #[tokio::test]
    async fn frames_are_read_however_they_are_cut() {
        check(&streamed(events()).await.unwrap());
        let all = events().concat();
        for size in [1, 7, 100, all.len()] {
            check(&streamed(all.chunks(size).map(<[u8]>::to_vec).collect()).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_broken_stream_is_no_answer() {
        let all = events().concat();
        let half = streamed(vec![all[..all.len() / 2].to_vec()]).await;
        assert!(matches!(half, Err(Error::Transport { .. })), "{half:?}");
        let mut wrong = all.clone();
        wrong[40] ^= 1;
        let wrong = streamed(vec![wrong]).await;
        assert!(matches!(wrong, Err(Error::Malformed { .. })), "{wrong:?}");
        let lengths = [60_000_000_u32.to_be_bytes(), [0; 4]].concat();
        let endless = [&lengths[..], &crc32fast::hash(&lengths).to_be_bytes()].concat();
        let endless = streamed(vec![endless, vec![b'x'; 5_000_000]]).await;
        assert!(matches!(endless, Err(Error::TooLong { .. })), "{endless:?}");
    }

    /// What is sent in place of an object is no reason to fall over.
    #[tokio::test]
    async fn foreign_shapes_in_a_stream_do_no_harm() {
        for strange in
            [json!("x"), json!(7), json!([1]), json!(null), json!({"toolUse": "x"}), json!({"reasoningContent": 1})]
        {
            let delta =
                |delta: Value| frame("event", "contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": delta}));
            let pieces = vec![
                frame("event", "contentBlockStart", &json!({"contentBlockIndex": 0, "start": strange})),
                delta(json!({"reasoningContent": {"text": "t", "signature": "s"}})),
                delta(json!({"reasoningContent": {"redactedContent": "r"}})),
                delta(json!({"toolUse": {"input": "{"}})),
                delta(json!({"text": "Deep."})),
                delta(strange.clone()),
                frame("event", "messageStop", &json!({"stopReason": "end_turn"})),
            ];
            // An answer or an error, and no panic.
            let _: Result<Completion, Error> = streamed(pieces).await;
        }
    }

    #[tokio::test]
    async fn exceptions_in_a_stream_mean_what_their_status_means() {
        let check = async |name: &str, message: &str, expected: fn(&Error) -> bool| {
            let begin = frame("event", "messageStart", &json!({"role": "assistant"}));
            let error =
                streamed(vec![begin, frame("exception", name, &json!({"message": message}))]).await.unwrap_err();
            assert!(expected(&error), "{name}: {error:?}");
        };
        check("throttlingException", "Too many tokens, please wait", |e| matches!(e, Error::RateLimited { .. })).await;
        check("validationException", "Input is too long for requested model.", |e| {
            matches!(e, Error::ContextWindow { .. })
        })
        .await;
        check("validationException", "The model is not there.", |e| matches!(e, Error::BadRequest { .. })).await;
        check("modelStreamErrorException", "It broke.", |e| matches!(e, Error::Overloaded { .. })).await;
        check("serviceUnavailableException", "Later.", |e| matches!(e, Error::Overloaded { .. })).await;
    }

    #[tokio::test]
    async fn failures_are_known_by_the_vendors_words() {
        let check = async |status: u16, message: &str, expected: fn(&Error) -> bool| {
            let vendor = FakeVendor::start([Reply::json(status, &json!({"message": message}).to_string())]).await;
            let error =
                llm(&vendor, "bedrock", &KEYS, None).complete(&request(MODEL), &quietly).await.unwrap_err().error;
            assert!(expected(&error), "{status} {message}: {error:?}");
            assert!(!error.to_string().contains(SECRET), "{error}");
        };
        check(403, "The security token included in the request is invalid: s3cret-access-key-0123456789", |e| {
            matches!(e, Error::Auth { .. })
        })
        .await;
        check(429, "Too many requests", |e| matches!(e, Error::RateLimited { .. })).await;
        check(400, "The provided model identifier is invalid.", |e| matches!(e, Error::BadRequest { .. })).await;
        check(400, "Input is too long for requested model.", |e| matches!(e, Error::ContextWindow { .. })).await;
        check(503, "Unavailable", |e| matches!(e, Error::Overloaded { .. })).await;
    }

    #[tokio::test]
    async fn stop_reasons_are_distinguished() {
        let check = async |reason: &str, expected: StopReason| {
            let body =
                json!({"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": reason});
            let vendor = FakeVendor::start([Reply::json(200, &body.to_string())]).await;
            let done = llm(&vendor, "bedrock", &KEYS, None).complete(&request(MODEL), &quietly).await.unwrap();
            assert_eq!(done.stop, expected, "{reason}");
        };
        check("end_turn", StopReason::End).await;
        check("stop_sequence", StopReason::End).await;
        check("max_tokens", StopReason::Length).await;
        check("model_context_window_exceeded", StopReason::Length).await;
        check("guardrail_intervened", StopReason::Refused).await;
        check("content_filtered", StopReason::Refused).await;
    }
}
