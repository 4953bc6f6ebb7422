//! One provider's server as we use it: its address, its credentials, its queue, and what it told us of its models.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use url::{Host, Url};

use super::Error;
use super::failure::one_line;
use super::models::Listed;
use super::settings::{Endpoint, Settings};
use crate::domain::Provider;
use crate::net;

/// Shorter keys (`ollama`, `none`) are placeholders, and hiding them would garble messages.
const MIN_SECRET_BYTES: usize = 8;

/// A setting that cannot be used; the message names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {problem}")]
pub struct BadSetting {
    pub provider: &'static str,
    pub problem: String,
}

/// The HTTP clients to choose from; servers of one kind share their connections.
pub(super) struct Clients {
    /// Through the proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
    proxied: reqwest::Client,
    direct: reqwest::Client,
}

impl Clients {
    /// # Errors
    /// When the machine's certificates cannot be read.
    pub(super) fn new(settings: &Settings) -> reqwest::Result<Self> {
        Ok(Self { proxied: builder(settings).build()?, direct: builder(settings).no_proxy().build()? })
    }

    /// Loopback is never reached through a proxy, although the environment's variables would say so.
    fn for_url(&self, url: &Url) -> &reqwest::Client {
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if is_loopback { &self.direct } else { &self.proxied }
    }
}

fn builder(settings: &Settings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(settings.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        // A request written into a connection that the server has just closed fails; idle ones are dropped early.
        .pool_idle_timeout(Duration::from_secs(30))
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(10))
}

/// The running side of an [`Endpoint`].
pub(super) struct Server {
    provider: Provider,
    pub(super) http: reqwest::Client,
    /// Ends with a slash.
    base_url: Url,
    key: Option<SecretString>,
    headers: HeaderMap,
    permits: Arc<Semaphore>,
    /// Asked once and only when needed; `None` when the server would not say.
    pub(super) listed: OnceCell<Option<Listed>>,
}

impl Server {
    /// # Errors
    /// When a header or the key cannot be sent over HTTP, or the URL is none for HTTP.
    pub(super) fn new(
        provider: Provider,
        endpoint: &Endpoint,
        settings: &Settings,
        clients: &Clients,
    ) -> Result<Self, BadSetting> {
        let bad = |problem: String| BadSetting { provider: provider.as_str(), problem };
        let key = endpoint.api_key.clone().filter(|key| !key.expose_secret().trim().is_empty());
        let base_url = base_url(provider, endpoint.base_url.as_ref()).map_err(bad)?;
        let http = clients.for_url(&base_url).clone();
        Ok(Self {
            provider,
            http,
            base_url,
            headers: headers(key.as_ref(), &endpoint.headers).map_err(bad)?,
            key,
            permits: Arc::new(Semaphore::new(settings.max_concurrent_calls.clamp(1, Semaphore::MAX_PERMITS))),
            listed: OnceCell::new(),
        })
    }

    /// The variable that must be set before this server can be used.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let (variable, own_host) = match self.provider {
            Provider::OpenAi => ("OPENAI_API_KEY", "api.openai.com"),
            Provider::OpenRouter => ("OPENROUTER_API_KEY", "openrouter.ai"),
            Provider::Ollama | Provider::Offline => return None,
        };
        (self.key.is_none() && self.base_url.host_str() == Some(own_host)).then_some(variable)
    }

    /// Is this the provider's own cloud, whose models [`limits`](super::limits) knows?
    pub(super) fn is_openai_cloud(&self) -> bool {
        self.base_url.host_str() == Some("api.openai.com")
    }

    /// The URL of `path` below the base, the base's query kept (Azure needs its `api-version`).
    pub(super) fn url(&self, path: &str) -> String {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}{path}", self.base_url.path()));
        url.into()
    }

    /// The base URL, fit to be shown.
    pub(super) fn shown_url(&self) -> String {
        net::shown_url(&self.base_url)
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Waits for a place in the queue; dropping the permit gives it back.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // Never closed, so this is never `None`; without a permit the call would merely go uncounted.
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    pub(super) fn provider(&self) -> Provider {
        self.provider
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The error as it may be shown: on one line, and without a secret, should the server have echoed one.
    pub(super) fn presentable(&self, mut error: Error) -> Error {
        if let Some(detail) = error.detail_mut() {
            // In this order, since a cut through a secret would hide its end from the search.
            *detail = one_line(&self.without_secrets(std::mem::take(detail)));
        }
        error
    }

    fn without_secrets(&self, text: String) -> String {
        let values = self.headers.values().filter_map(|value| value.to_str().ok());
        // Sent without the spaces around it, and so that is how it comes back.
        let key = self.key.iter().map(|key| key.expose_secret().trim());
        let password = self.base_url.password();
        net::redact(&text, values.chain(key).chain(password).filter(|secret| secret.len() >= MIN_SECRET_BYTES))
    }
}

fn base_url(provider: Provider, given: Option<&Url>) -> Result<Url, String> {
    let (default, usual_path) = match provider {
        Provider::OpenAi => ("https://api.openai.com/v1/", "/v1/"),
        Provider::OpenRouter => ("https://openrouter.ai/api/v1/", "/api/v1/"),
        Provider::Ollama | Provider::Offline => ("http://127.0.0.1:11434/v1/", "/v1/"),
    };
    let Some(given) = given else {
        return Url::parse(default).map_err(|problem| problem.to_string());
    };
    if !matches!(given.scheme(), "http" | "https") || given.host_str().is_none() {
        return Err("the base URL must begin with http:// or https://".to_owned());
    }
    let mut url = given.clone();
    let path = url.path().trim_end_matches('/').trim_end_matches("/chat/completions").to_owned();
    url.set_path(&if path.is_empty() { usual_path.to_owned() } else { format!("{path}/") });
    Ok(url)
}

fn headers(key: Option<&SecretString>, extra: &[(String, SecretString)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let value = format!("Bearer {}", key.expose_secret().trim());
        headers.insert(AUTHORIZATION, secret_value(&value).ok_or("the API key has characters no header may have")?);
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
    use super::*;

    fn build(provider: Provider, endpoint: &Endpoint) -> Result<Server, BadSetting> {
        let settings = Settings::default();
        Server::new(provider, endpoint, &settings, &Clients::new(&settings).unwrap())
    }

    fn server(provider: Provider, base_url: Option<&str>, key: Option<&str>) -> Server {
        let endpoint = Endpoint {
            base_url: base_url.map(|url| Url::parse(url).unwrap()),
            api_key: key.map(SecretString::from),
            headers: Vec::new(),
        };
        build(provider, &endpoint).unwrap()
    }

    #[test]
    fn base_urls_work_as_users_write_them() {
        fn check(given: &str, expected: &str) {
            assert_eq!(server(Provider::OpenAi, Some(given), None).url("models"), expected);
        }
        check("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/models");
        check("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/models");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/models");
        check("http://host/proxy/openai/v1", "http://host/proxy/openai/v1/models");
        check("http://host/v1/chat/completions", "http://host/v1/models");
        check("https://x.azure.com/openai?api-version=1", "https://x.azure.com/openai/models?api-version=1");
    }

    #[test]
    fn without_a_base_url_the_providers_own_is_used() {
        fn check(provider: Provider, expected: &str) {
            assert_eq!(server(provider, None, None).url("models"), expected);
        }
        check(Provider::OpenAi, "https://api.openai.com/v1/models");
        check(Provider::Ollama, "http://127.0.0.1:11434/v1/models");
        check(Provider::OpenRouter, "https://openrouter.ai/api/v1/models");
    }

    #[test]
    fn a_key_that_comes_back_is_hidden_however_it_was_given() {
        for given in ["sk-s3cret-0123", " sk-s3cret-0123\n"] {
            let model = "openai:m".parse().unwrap();
            let error = Error::BadRequest { model, detail: "400 no such key sk-s3cret-0123!".into() };
            let shown = server(Provider::OpenAi, None, Some(given)).presentable(error).to_string();
            assert!(shown.ends_with("400 no such key (hidden)!"), "{shown}");
        }
    }

    #[test]
    fn a_key_is_needed_only_where_one_is() {
        use Provider::{Ollama, OpenAi, OpenRouter};
        fn check(provider: Provider, base_url: Option<&str>, key: Option<&str>, expected: Option<&str>) {
            assert_eq!(server(provider, base_url, key).missing(), expected);
        }
        check(OpenAi, None, None, Some("OPENAI_API_KEY"));
        check(OpenAi, None, Some(" "), Some("OPENAI_API_KEY"));
        check(OpenAi, None, Some("sk-1"), None);
        check(OpenAi, Some("http://127.0.0.1:8080/v1"), None, None);
        check(OpenAi, Some("https://api.openai.com/v1"), None, Some("OPENAI_API_KEY"));
        check(OpenRouter, None, None, Some("OPENROUTER_API_KEY"));
        check(Ollama, None, None, None);
    }

    #[test]
    fn without_a_key_no_authorization_header_is_sent() {
        assert!(server(Provider::Ollama, None, None).headers().is_empty());
        assert!(server(Provider::Ollama, None, Some("")).headers().is_empty());
        assert_eq!(server(Provider::OpenAi, None, Some("sk-1")).headers()[AUTHORIZATION], "Bearer sk-1");
    }

    #[test]
    fn unusable_settings_say_which() {
        let endpoint = Endpoint { api_key: Some("sk-\n".into()), ..Endpoint::default() };
        assert!(build(Provider::OpenAi, &endpoint).is_ok(), "trimmed");
        let endpoint = Endpoint { api_key: Some("sk\n1".into()), ..Endpoint::default() };
        let refusal = build(Provider::OpenAi, &endpoint).err().unwrap();
        assert_eq!(refusal.to_string(), "openai: the API key has characters no header may have");
        let endpoint = Endpoint { base_url: Some(Url::parse("ftp://host/v1").unwrap()), ..Endpoint::default() };
        assert!(build(Provider::OpenAi, &endpoint).is_err());
    }
}
