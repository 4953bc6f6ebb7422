//! One provider's server as we use it: its address, its credentials, its queue, and what it reports of its models.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::access::Access;
use super::catalogue::{self, Facts, KnownModels};
use super::circuits::Circuits;
use super::endpoint::{Auth, Endpoint};
use super::failure::{Failure, one_line};
use super::memory::{LimitFields, Refusals};
use super::models::Listing;
use super::providers::{Key, Lists, OutputLimit, Place, Provider, Quirks};
use super::settings::Settings;
use super::wire::{Encoded, Reader, Wire};
use super::{Error, Request};
use crate::domain::{Cost, ModelName};
use crate::net::{self, ApiClients, Limiter};

/// A setting that cannot be used; the message names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {problem}")]
pub struct BadSetting {
    pub provider: &'static str,
    pub problem: String,
}

/// The running side of an [`Endpoint`].
pub(super) struct Server {
    provider: &'static Provider,
    pub(super) http: reqwest::Client,
    /// Ends with a slash.
    base_url: Url,
    /// The variable that must be set first.
    missing: Option<&'static str>,
    /// Whether this is the provider's own address.
    is_own_cloud: bool,
    /// What the operator says of models.
    models: KnownModels,
    key: Option<SecretString>,
    headers: HeaderMap,
    access: Access,
    /// Shared with the other dialects of the same account.
    pub(super) limiter: Arc<Limiter>,
    pub(super) listing: Listing,
    pub(super) circuits: Circuits,
    pub(super) limit_fields: LimitFields,
    /// Models that refused to count what a stream takes.
    pub(super) uncounted: Refusals,
}

impl Server {
    /// Creates the server of a provider.
    ///
    /// # Errors
    /// When a header or the key cannot be sent over HTTP, or the URL is none for HTTP.
    pub(super) fn new(
        provider: &'static Provider,
        endpoint: &Endpoint,
        settings: &Settings,
        clients: &ApiClients,
        limiter: Arc<Limiter>,
    ) -> Result<Self, BadSetting> {
        let bad = |problem: String| BadSetting { provider: provider.name, problem };
        let key = endpoint.key().cloned();
        let (base_url, is_own_cloud) = match provider.place {
            Some(place) => {
                (placed(place, endpoint).map_err(bad)?, endpoint.base_url.is_none() && (place.is_anywhere)(endpoint))
            }
            None => {
                let base_url = base_url(provider, endpoint.base_url.as_ref()).map_err(bad)?;
                let is_own_cloud = is_own_cloud(provider, &base_url);
                (base_url, is_own_cloud)
            }
        };
        let http = clients.for_url(&base_url).clone();
        Ok(Self {
            provider,
            http,
            missing: missing(provider, endpoint),
            is_own_cloud,
            models: of_provider(&settings.models, provider.name),
            base_url,
            headers: headers(provider, key.as_ref(), &endpoint.headers).map_err(bad)?,
            access: Access::new(provider.auth, endpoint, clients),
            key,
            limiter,
            listing: Listing::default(),
            circuits: Circuits::default(),
            limit_fields: LimitFields::default(),
            uncounted: Refusals::default(),
        })
    }

    /// Returns the variable that must be set before this server can be used.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.missing
    }

    /// Returns whether the server's list of models may say more of them than the catalogue knows.
    pub(super) fn tells_windows(&self) -> bool {
        match self.provider.lists {
            Lists::Windows => true,
            // What is behind another address is another server.
            Lists::Names | Lists::Nothing => !self.is_own_cloud && self.provider.place.is_none(),
        }
    }

    /// Returns whether there is a list of models to ask for.
    pub(super) fn has_list(&self) -> bool {
        self.provider.lists != Lists::Nothing || (!self.is_own_cloud && self.provider.place.is_none())
    }

    /// Returns what is known of `model` on this server.
    pub(super) fn facts(&self, model: &ModelName) -> Facts {
        let own = self.models.get(&model.to_string()).copied().unwrap_or_default();
        own.or(catalogue::facts(model, self.provider.settings(), self.is_own_cloud))
    }

    /// Returns whether its provider, or the model, answers a demanded tool call with an error.
    pub(super) fn refuses_force(&self, model: &ModelName) -> bool {
        self.provider.quirks.required == Quirks::UNFORCED || self.facts(model).forced_calls == Some(false)
    }

    /// Returns whether `model` answers in one piece, by what is known of it and of its provider.
    pub(super) fn gives_whole_answers(&self, model: &ModelName) -> bool {
        self.provider.quirks.of_model(&self.facts(model)).whole_answers
    }

    pub(super) fn encode(&self, request: &Request, is_stream: bool) -> serde_json::Result<Encoded> {
        let quirks = self.provider.quirks.of_model(&self.facts(&request.model));
        // What copies OpenAI's API need not know all of its fields, and may make ids of its own that have to come back.
        let is_vendors = self.is_own_cloud || self.provider.base_url.is_none();
        let longest_id = if is_vendors { quirks.longest_id } else { usize::MAX };
        let output_limit = self.output_limit(&request.model);
        let cache_key = quirks.cache_key && self.is_own_cloud;
        let stream_options = quirks.stream_options && !self.uncounted.has(&request.model, Instant::now());
        let quirks = Quirks { cache_key, longest_id, output_limit, stream_options, ..quirks };
        self.provider.wire.encode(request, &quirks, is_stream)
    }

    /// Returns the field that limits the output of `model`. What it refused counts, since the name of a deployment or
    /// an alias says nothing.
    fn output_limit(&self, model: &ModelName) -> OutputLimit {
        let usual = self.provider.quirks.output_limit;
        match self.limit_fields.is_other(model, Instant::now()) {
            true => usual.other(&model.model),
            false => usual,
        }
    }

    /// Returns the header that leads a call to the cache that has its beginning.
    pub(super) fn cache_header(&self, request: &Request) -> Option<(HeaderName, HeaderValue)> {
        let name = self.provider.quirks.cache_header.filter(|_| self.is_own_cloud)?;
        let key = HeaderValue::from_str(request.sending.cache_key.as_deref()?).ok()?;
        Some((HeaderName::from_static(name), key))
    }

    pub(super) fn wire(&self) -> Wire {
        self.provider.wire
    }

    pub(super) fn reader(&self) -> Reader {
        self.provider.wire.reader(&self.provider.quirks)
    }

    /// Returns what a call cost by the headers of its answer.
    pub(super) fn cost(&self, headers: &HeaderMap) -> Option<Cost> {
        let value = headers.get(self.provider.quirks.cost_header?)?.to_str().ok()?;
        Cost::reported(value.trim().parse().ok()?)
    }

    pub(super) fn failure(&self, model: &ModelName, status: u16, headers: &HeaderMap, body: &str) -> Failure {
        let is_too_long = self.provider.quirks.silent_overflow && status == 400 && body.trim().is_empty();
        let status = if is_too_long { StatusCode::PAYLOAD_TOO_LARGE.as_u16() } else { status };
        self.provider.wire.failure(model, status, headers, body)
    }

    /// Returns the URL of `path` below the base, the base's query kept (Azure needs its `api-version`).
    pub(super) fn url(&self, path: &str) -> String {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}{path}", self.base_url.path()));
        if let Some(query) = query {
            let own = url.query().map(|own| format!("{own}&")).unwrap_or_default();
            url.set_query(Some(&format!("{own}{query}")));
        }
        url.into()
    }

    /// Returns the base URL, fit to be shown.
    pub(super) fn shown_url(&self) -> String {
        net::shown_url(&self.base_url)
    }

    /// Returns the headers of every request: of its dialect, of its row, the key, and the operator's, in which order a
    /// later one replaces an earlier one of the same name.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns how requests are authorised beyond that.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn provider(&self) -> &'static Provider {
        self.provider
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the error as it may be shown: on one line, and without a secret, should the server have echoed one.
    pub(super) fn presentable(&self, mut error: Error) -> Error {
        if let Some(detail) = error.detail_mut() {
            // In this order, since a cut through a secret would hide its end from the search.
            *detail = one_line(&self.without_secrets(std::mem::take(detail)));
        }
        error
    }

    fn without_secrets(&self, text: String) -> String {
        let secret = self.headers.values().filter(|value| value.is_sensitive());
        let values = secret.filter_map(|value| value.to_str().ok());
        // Sent without the spaces around it, and so that is how it comes back.
        let key = self.key.iter().map(|key| key.expose_secret().trim());
        let of_address = net::secrets_of_address(self.base_url.as_str());
        let of_address = of_address.iter().map(String::as_str);
        let tokens = self.access.secrets();
        let tokens = tokens.iter().map(String::as_str);
        net::redact(
            &text,
            values.chain(key).chain(of_address).chain(tokens).filter(|secret| secret.len() >= net::MIN_SECRET_BYTES),
        )
    }
}

/// Returns the variable that must be set before calls can be made to `provider` at `endpoint`. A server at another
/// address than the provider's own needs no key.
pub fn missing(provider: &Provider, endpoint: &Endpoint) -> Option<&'static str> {
    let variables = provider.variables;
    if endpoint.needs_key && endpoint.key().is_none() {
        return Some(variables.api_key);
    }
    if let Some(place) = provider.place {
        let is_there = endpoint.other(place.needs).is_some();
        let needed = provider.others.iter().find(|other| !is_there && other.name == place.needs);
        return needed.map(|other| other.variable);
    }
    let has_own_address = provider.base_url.is_some();
    let needs_key = match &endpoint.base_url {
        None if !has_own_address => return Some(variables.base_url),
        None => true,
        Some(url) => !has_own_address || is_own_cloud(provider, url),
    };
    (needs_key && provider.key == Key::Needed && endpoint.key().is_none()).then_some(variables.api_key)
}

fn is_own_cloud(provider: &Provider, base_url: &Url) -> bool {
    let own = provider.base_url.and_then(|own| Url::parse(own).ok());
    own.is_some_and(|own| own.host_str() == base_url.host_str())
}

fn of_provider(models: &KnownModels, provider: &str) -> KnownModels {
    let is_own = |name: &str| name.split_once(':').is_some_and(|(own, _)| own == provider);
    models.iter().filter(|(name, _)| is_own(name)).map(|(name, facts)| (name.clone(), *facts)).collect()
}

/// Stands in where no address is known; [`Server::missing`] keeps calls from being made.
const NOWHERE: &str = "http://address.invalid/v1";

fn base_url(provider: &Provider, given: Option<&Url>) -> Result<Url, String> {
    let own = Url::parse(provider.base_url.unwrap_or(NOWHERE)).map_err(|problem| problem.to_string())?;
    let given = given.unwrap_or(&own);
    if !matches!(given.scheme(), "http" | "https") || given.host_str().is_none() {
        return Err("the base URL must begin with http:// or https://".to_owned());
    }
    let mut url = given.clone();
    let path = url.path().trim_end_matches('/').trim_end_matches("/chat/completions");
    let path = match (path, provider.wire) {
        // Without a path it is the provider's usual one, as people write addresses of servers of their own.
        ("", _) => provider.usual_path.unwrap_or(own.path().trim_end_matches('/')).into(),
        // Anthropic's own tools take the same variable, and servers of its API say what to put there for them. A row
        // says where its API begins.
        (path, Wire::Messages) if *given != own => net::with_version(path.trim_end_matches("/messages")),
        (path, _) => Cow::from(path),
    };
    let path = format!("{path}/");
    url.set_path(&path);
    Ok(url)
}

/// Returns the base URL of a cloud whose address follows from its settings; of one of its calls, since the dialect
/// adds no more than a model.
fn placed(place: Place, endpoint: &Endpoint) -> Result<Url, String> {
    let mut url = match &endpoint.base_url {
        Some(given) => given.clone(),
        None if endpoint.other(place.needs).is_none() => Url::parse(NOWHERE).map_err(|problem| problem.to_string())?,
        None => {
            let base = (place.base)(endpoint).and_then(|base| Url::parse(&base).ok());
            base.ok_or_else(|| format!("its {} or location is no name", place.needs))?
        }
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("the base URL must begin with http:// or https://".to_owned());
    }
    let path = format!("{}/{}", url.path().trim_end_matches('/'), (place.path)(endpoint));
    url.set_path(&path);
    Ok(url)
}

fn headers(
    provider: &Provider,
    key: Option<&SecretString>,
    extra: &[(String, SecretString)],
) -> Result<HeaderMap, String> {
    let fixed = provider.wire.headers(&provider.quirks).iter().chain(provider.quirks.headers);
    let mut headers = HeaderMap::new();
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = key {
        let key = key.expose_secret().trim();
        let (name, value) = match provider.auth {
            Auth::Bearer | Auth::Amazon => (AUTHORIZATION, format!("Bearer {key}")),
            Auth::Header(name) => (HeaderName::from_static(name), key.to_owned()),
            Auth::Google => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        };
        headers.insert(name, secret_value(&value).ok_or("the API key has characters no header may have")?);
    }
    for (name, value) in extra {
        let header: HeaderName = name.parse().map_err(|_| format!("'{name}' is not a header name"))?;
        let value = secret_value(value.expose_secret()).ok_or_else(|| format!("the value of header '{name}'"))?;
        headers.insert(header, value);
    }
    Ok(headers)
}

fn secret_value(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::providers::{PROVIDERS, find};
    use super::super::wire::Wire;
    use super::super::{Message, OutputFormat, Sending, ToolCall, ToolChoice, Tuning};
    use super::*;

    fn build(provider: &'static Provider, endpoint: &Endpoint) -> Result<Server, BadSetting> {
        let (settings, limiter) = (Settings::default(), Limiter::new(net::Limits::in_flight(1)));
        Server::new(provider, endpoint, &settings, &ApiClients::new(net::Timeouts::default()).unwrap(), limiter)
    }

    fn server(provider: &'static Provider, base_url: Option<&str>, key: Option<&str>) -> Server {
        let endpoint = Endpoint {
            base_url: base_url.map(|url| Url::parse(url).unwrap()),
            api_key: key.map(SecretString::from),
            ..Endpoint::default()
        };
        build(provider, &endpoint).unwrap()
    }

    fn question() -> Request {
        Request {
            model: "openai:m".parse().unwrap(),
            messages: vec![Message::user("q")],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens: 9,
            sending: Sending::default(),
        }
    }

    fn openai() -> &'static Provider {
        find("openai").unwrap()
    }

    #[test]
    fn base_urls_work_as_users_write_them() {
        fn check(given: &str, expected: &str) {
            assert_eq!(server(openai(), Some(given), None).url("models"), expected);
        }
        check("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/models");
        check("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/models");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/models");
        check("http://host/proxy/openai/v1", "http://host/proxy/openai/v1/models");
        check("http://host/v1/chat/completions", "http://host/v1/models");
        check("https://x.azure.com/openai?api-version=1", "https://x.azure.com/openai/models?api-version=1");
        let server = server(openai(), Some("https://host/v1?key=1"), None);
        assert_eq!(server.url("models/m:stream?alt=sse"), "https://host/v1/models/m:stream?key=1&alt=sse");
    }

    #[test]
    fn secrets_of_the_address_are_hidden_in_what_its_server_says() {
        let server = server(openai(), Some("http://tok3n-of-mine@host/v1?key=s3cret-of-mine"), None);
        let said = "the credential s3cret-of-mine of tok3n-of-mine is unknown".to_owned();
        assert_eq!(server.without_secrets(said), "the credential (hidden) of (hidden) is unknown");
    }

    #[test]
    fn an_address_without_a_path_gets_the_one_that_is_usual_there() {
        for (name, given, expected) in [
            ("azure", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1/models"),
            ("azure", "https://r.services.ai.azure.com", "https://r.services.ai.azure.com/openai/v1/models"),
            ("azure", "https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1/models"),
            ("azure", "https://gateway.test/team/openai", "https://gateway.test/team/openai/models"),
            ("compatible", "http://127.0.0.1:9", "http://127.0.0.1:9/v1/models"),
            ("google", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta/models"),
        ] {
            assert_eq!(server(find(name).unwrap(), Some(given), None).url("models"), expected, "{name}");
        }
    }

    /// Who serves Anthropic's API names the address that Anthropic's own tools want, which append the version.
    #[test]
    fn an_address_of_anthropics_api_may_leave_the_version_out() {
        for (given, expected) in [
            ("https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1/messages"),
            ("https://gateway.test/v1/account/anthropic/", "https://gateway.test/v1/account/anthropic/v1/messages"),
            ("https://gateway.test/anthropic?key=1", "https://gateway.test/anthropic/v1/messages?key=1"),
            ("http://127.0.0.1:4000/v1", "http://127.0.0.1:4000/v1/messages"),
            ("http://127.0.0.1:4000/v1/messages", "http://127.0.0.1:4000/v1/messages"),
            ("http://127.0.0.1:4000", "http://127.0.0.1:4000/v1/messages"),
            ("https://gateway.test/proxy/v2", "https://gateway.test/proxy/v2/messages"),
        ] {
            assert_eq!(server(find("anthropic").unwrap(), Some(given), None).url("messages"), expected, "{given}");
        }
    }

    #[test]
    fn without_a_base_url_the_providers_own_is_used() {
        for provider in PROVIDERS {
            let Some(own) = provider.base_url else { continue };
            assert_eq!(server(provider, None, None).url("models"), format!("{own}/models"), "{}", provider.name);
        }
    }

    #[test]
    fn the_address_of_a_row_needs_no_version() {
        let base_url = Some("https://models.test/anthropic");
        let row = Box::leak(Box::new(Provider { wire: Wire::Messages, base_url, ..*openai() }));
        assert_eq!(server(row, None, None).url("messages"), "https://models.test/anthropic/messages");
    }

    #[test]
    fn a_provider_without_an_address_asks_for_one_first_and_then_for_its_key() {
        let azure = find("azure").unwrap();
        let address = Some("https://x.test/openai/v1");
        assert_eq!(server(azure, None, Some("k3y-0123")).missing(), Some(azure.variables.base_url));
        assert_eq!(server(azure, address, None).missing(), Some(azure.variables.api_key));
        let complete = server(azure, address, Some("k3y-0123"));
        assert_eq!(complete.missing(), None);
        let Auth::Header(name) = azure.auth else { panic!("{:?}", azure.auth) };
        assert_eq!(complete.headers()[name], "k3y-0123");
        assert!(!complete.headers().contains_key(AUTHORIZATION));
    }

    #[test]
    fn a_key_that_comes_back_is_hidden_however_it_was_given() {
        for given in ["sk-s3cret-0123", " sk-s3cret-0123\n"] {
            let model = "openai:m".parse().unwrap();
            let error = Error::BadRequest { model, detail: "400 no such key sk-s3cret-0123!".into() };
            let shown = server(openai(), None, Some(given)).presentable(error).to_string();
            assert!(shown.ends_with("400 no such key (hidden)!"), "{shown}");
        }
    }

    #[test]
    fn a_key_is_needed_only_where_one_is() {
        for provider in PROVIDERS.iter().filter(|provider| provider.base_url.is_some()) {
            let needed = (provider.key == Key::Needed).then_some(provider.variables.api_key);
            assert_eq!(server(provider, None, None).missing(), needed, "{}", provider.name);
            assert_eq!(server(provider, None, Some(" ")).missing(), needed, "{}", provider.name);
            assert_eq!(server(provider, None, Some("sk-1")).missing(), None, "{}", provider.name);
            assert_eq!(server(provider, Some("http://127.0.0.1:8080/v1"), None).missing().is_some(), {
                // A server of one's own usually is at this very address.
                provider.key == Key::Needed && provider.base_url.unwrap().contains("127.0.0.1")
            });
        }
    }

    #[test]
    fn without_a_key_no_authorization_header_is_sent() {
        assert!(server(openai(), None, None).headers().is_empty());
        assert!(server(openai(), None, Some("")).headers().is_empty());
        assert_eq!(server(openai(), None, Some("sk-1")).headers()[AUTHORIZATION], "Bearer sk-1");
    }

    /// Whatever dialect it speaks; the operator's replace them.
    #[test]
    fn the_headers_of_a_row_go_with_every_request() {
        for wire in Wire::ALL {
            let quirks = Quirks { headers: &[("x-row", "9"), ("x-both", "row")], ..Quirks::NONE };
            let row = Box::leak(Box::new(Provider { wire, quirks, ..*openai() }));
            let endpoint = Endpoint { headers: vec![("X-Both".to_owned(), "own".into())], ..Endpoint::default() };
            let server = build(row, &endpoint).unwrap();
            assert_eq!(["x-row", "x-both"].map(|name| &server.headers()[name]), ["9", "own"], "{wire:?}");
        }
    }

    #[test]
    fn what_a_row_says_in_a_header_is_no_secret() {
        let quirks = Quirks { headers: &[("x-version", "2026-11-01")], ..Quirks::NONE };
        let row = Box::leak(Box::new(Provider { quirks, ..*openai() }));
        let detail = "400 since 2026-11-01 sk-s3cret-0123 is refused".into();
        let error = Error::BadRequest { model: "openai:m".parse().unwrap(), detail };
        let shown = server(row, None, Some("sk-s3cret-0123")).presentable(error).to_string();
        assert!(shown.ends_with("400 since 2026-11-01 (hidden) is refused"), "{shown}");
    }

    /// At OpenAI's own address alone, and what is set for a role everywhere in the form of its dialect.
    #[test]
    fn how_a_call_is_sent_stands_in_its_body() {
        let tuning = Tuning {
            reasoning_effort: Some("low".into()),
            verbosity: Some("high".into()),
            temperature: Some(0.5),
            service_tier: Some("flex".into()),
            body: json!({"metadata": {"team": "a"}}).as_object().unwrap().clone(),
        };
        let sent = |model: &str, address: Option<&str>, tuning: Option<&Tuning>| -> Value {
            let model: ModelName = model.parse().unwrap();
            let server = server(find(&model.provider).unwrap(), address, Some("k3y-0123"));
            let sending = Sending { tuning: tuning.cloned().map(Arc::new), cache_key: Some("run-r1".into()) };
            let request = Request { model, sending, ..question() };
            serde_json::from_slice(&server.encode(&request, false).unwrap().body).unwrap()
        };
        for model in ["openai:gpt-5.4", "openai-responses:gpt-5.4"] {
            assert_eq!(sent(model, None, None)["prompt_cache_key"], "run-r1");
            assert_eq!(sent(model, Some("http://127.0.0.1:1/v1"), None)["prompt_cache_key"], Value::Null);
        }
        assert_eq!(sent("mistral:m", None, None)["prompt_cache_key"], Value::Null);
        let expected = json!({"reasoning_effort": "low", "verbosity": "high", "temperature": 0.5, "service_tier": "flex",
            "metadata": {"team": "a"}});
        let body = sent("groq:m", None, Some(&tuning));
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&body[name], value, "{name}");
        }
        let body = sent("openai-responses:gpt-5.4", None, Some(&tuning));
        assert_eq!((&body["reasoning"], &body["text"]), (&json!({"effort": "low"}), &json!({"verbosity": "high"})));
        assert_eq!((&body["temperature"], &body["metadata"]), (&json!(0.5), &expected["metadata"]));
        let body = sent("anthropic:claude-sonnet-5", None, Some(&tuning));
        assert_eq!((&body["output_config"], &body["service_tier"]), (&json!({"effort": "low"}), &json!("flex")));
        assert_eq!((&body["temperature"], &body["metadata"]), (&json!(0.5), &expected["metadata"]));
        let config = &sent("google:gemini-3.6-flash", None, Some(&tuning))["generationConfig"];
        assert_eq!(
            (&config["temperature"], &config["thinkingConfig"]),
            (&json!(0.5), &json!({"thinkingLevel": "LOW"}))
        );
        let config = &sent("google:gemini-2.5-pro", None, Some(&tuning))["generationConfig"];
        assert_eq!((&config["temperature"], config.get("thinkingConfig")), (&json!(0.5), None), "it knows no levels");
        let plain = sent("anthropic:claude-sonnet-5", None, None);
        assert!(
            ["output_config", "temperature", "service_tier"].iter().all(|name| plain.get(*name).is_none()),
            "{plain}"
        );
    }

    /// Of another model, or of a server that stands in; their results have the same id.
    #[test]
    fn ids_are_as_long_as_a_vendor_takes_them_at_its_own_address() {
        let id = "i".repeat(100);
        let turn = |id: &str| {
            let call = ToolCall { id: id.into(), name: "search_web".into(), arguments: "{}".into(), problem: None };
            let result = Message::Tool { call_id: id.into(), name: "search_web".into(), content: "found".into() };
            vec![Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None }, result]
        };
        let ids = |model: &str, address: Option<&str>, id: &str| -> [String; 2] {
            let model: ModelName = model.parse().unwrap();
            let server = server(find(&model.provider).unwrap(), address, Some("k3y-0123"));
            let body = server.encode(&Request { model, messages: turn(id), ..question() }, false).unwrap().body;
            let body: Value = serde_json::from_slice(&body).unwrap();
            let places = match body["input"].is_null() {
                true => ["/messages/0/tool_calls/0/id", "/messages/1/tool_call_id"],
                false => ["/input/0/call_id", "/input/1/call_id"],
            };
            places.map(|place| body.pointer(place).and_then(Value::as_str).unwrap().to_owned())
        };
        let azure = Some("https://x.test/openai/v1");
        for (model, address, most) in [("openai:m", None, 40), ("openai-responses:m", None, 64), ("azure:m", azure, 40)]
        {
            let [call, result] = ids(model, address, &id);
            assert_eq!((call.len(), &call), (9, &result), "{model}");
            assert_eq!(ids(model, address, &id[..most]), [&id[..most]; 2], "{model}");
        }
        for model in ["openai:m", "openai-responses:m"] {
            assert_eq!(ids(model, Some("http://127.0.0.1:1/v1"), &id), [&*id; 2], "{model}");
        }
        assert_eq!(ids("groq:m", None, &id), [&*id; 2]);
    }

    #[test]
    fn a_cache_that_is_found_by_a_header_gets_its_key() {
        let of = |name: &str, address: Option<&str>, key: Option<&str>| {
            let sending = Sending { tuning: None, cache_key: key.map(Into::into) };
            server(find(name).unwrap(), address, Some("k3y-0123")).cache_header(&Request { sending, ..question() })
        };
        let (name, value) = of("xai", None, Some("run-r1")).unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-grok-conv-id", "run-r1"));
        assert_eq!(of("xai", None, None), None);
        assert_eq!(of("xai", Some("http://127.0.0.1:1/v1"), Some("run-r1")), None);
        assert_eq!(of("openai", None, Some("run-r1")), None);
    }

    #[test]
    fn unusable_settings_say_which() {
        let endpoint = Endpoint { api_key: Some("sk-\n".into()), ..Endpoint::default() };
        assert!(build(openai(), &endpoint).is_ok(), "trimmed");
        let endpoint = Endpoint { api_key: Some("sk\n1".into()), ..Endpoint::default() };
        let refusal = build(openai(), &endpoint).err().unwrap();
        assert_eq!(refusal.to_string(), "openai: the API key has characters no header may have");
        let endpoint = Endpoint { base_url: Some(Url::parse("ftp://host/v1").unwrap()), ..Endpoint::default() };
        assert!(build(openai(), &endpoint).is_err());
    }
}
