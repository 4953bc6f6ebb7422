//! Servers that hand out credentials, that of a container and that of a machine, and what all such servers have in
//! common.
//!
//! Both are on networks of their own, at addresses that no page may be fetched from. The operator's settings name them,
//! so they are called as they are, never through a proxy.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use quick_xml::{Reader, events::Event};
use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use url::{Host, Url};

use super::timed::TimedCredentials;
use crate::files;
use crate::llm::access::Refused;
use crate::llm::endpoint::Endpoint;
use crate::net::{self, ApiClients};

/// The address that containers of ECS ask.
const CONTAINERS: &str = "http://169.254.170.2";
/// The other addresses that a container may ask without encryption, beside its own loopback (EKS Pod Identity).
const AGENTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// The address that machines ask.
const METADATA: &str = "http://169.254.169.254";
/// The time for the first answer of a machine: where there is no such server, most networks say nothing at all.
const METADATA_TIME: Duration = Duration::from_secs(2);
/// The time for any other answer.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Bytes of an answer, and of a file with a token.
pub(super) const MAX_BYTES: usize = 64 * 1024;
/// How long credentials are used whose server says no end of them.
pub(super) const COUNTS: Duration = Duration::from_secs(900);

/// The credentials of the task or pod that a container belongs to.
#[derive(Debug)]
pub(super) struct Container {
    address: String,
    token: Option<SecretString>,
    /// Wins over `token`, and is read again each time: it changes.
    token_file: Option<PathBuf>,
    clients: ApiClients,
}

impl Container {
    /// Reads the container's server from the settings; `None` where no server is named.
    pub fn of_settings(endpoint: &Endpoint, clients: &ApiClients) -> Option<Self> {
        let relative = endpoint.other("container_path").map(|path| format!("{CONTAINERS}{path}"));
        Some(Self {
            address: relative.or_else(|| endpoint.other("container_url").map(str::to_owned))?,
            token: endpoint.other("container_token").map(SecretString::from),
            token_file: endpoint.other("container_token_file").map(PathBuf::from),
            clients: clients.clone(),
        })
    }

    pub fn secret(&self) -> Option<String> {
        self.token.as_ref().map(|token| token.expose_secret().to_owned())
    }

    pub async fn ask(&self) -> Result<TimedCredentials, Refused> {
        let who = "the credentials' server of the container";
        let url = Url::parse(&self.address).ok().filter(is_agent);
        let url = url.ok_or_else(|| {
            Refused::Credentials(format!("{who} has to be an https address, of this machine, or of Amazon's agents"))
        })?;
        let mut request = self.clients.direct().get(url).header(ACCEPT, "application/json");
        if let Some(token) = self.authorization().await? {
            request = request.header(AUTHORIZATION, token);
        }
        found(&body(request, TIME, who).await?, who)
    }

    async fn authorization(&self) -> Result<Option<HeaderValue>, Refused> {
        let token = match &self.token_file {
            Some(path) => Some(token_of(path).await?),
            None => self.token.clone(),
        };
        let Some(token) = token else { return Ok(None) };
        let value = HeaderValue::from_str(token.expose_secret());
        let mut value = value.map_err(|_| Refused::Credentials("the container's token is no header".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

/// Returns whether a container's token may be sent there.
fn is_agent(url: &Url) -> bool {
    let is_near = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback() || AGENTS.contains(&&*ip.to_string()),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || AGENTS.contains(&&*ip.to_string()),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_near)
}

/// The role of a machine (EC2), by the second version of its metadata service alone: the first hands credentials to
/// anybody who can make a machine fetch an address.
#[derive(Debug)]
pub(super) struct Machine {
    address: String,
    clients: ApiClients,
}

impl Machine {
    /// Reads the machine's server from the settings; `None` where it is not to be asked.
    pub fn of_settings(endpoint: &Endpoint, clients: &ApiClients) -> Option<Self> {
        let is_off = endpoint.other("metadata_disabled").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let address = endpoint.other("metadata_url").unwrap_or(METADATA).trim_end_matches('/').to_owned();
        (!is_off).then(|| Self { address, clients: clients.clone() })
    }

    pub async fn ask(&self) -> Result<TimedCredentials, Refused> {
        let who = "the machine's metadata service";
        let (client, base) = (self.clients.direct(), &self.address);
        let request = client.put(format!("{base}/latest/api/token"));
        let token = body(request.header("x-aws-ec2-metadata-token-ttl-seconds", "21600"), METADATA_TIME, who).await?;
        let unreadable = |_| unreadable(who);
        let mut token = HeaderValue::from_bytes(token.trim_ascii()).map_err(unreadable)?;
        token.set_sensitive(true);
        let roles = format!("{base}/latest/meta-data/iam/security-credentials/");
        let ask = |url: &str| body(client.get(url).header("x-aws-ec2-metadata-token", token.clone()), TIME, who);
        let role = ask(&roles).await?;
        let role = std::str::from_utf8(&role).ok().and_then(|text| text.lines().next()).map(str::trim);
        let role = role.filter(|name| is_role(name));
        let role = role.ok_or_else(|| Refused::Credentials(format!("{who} knows no role of the machine")))?;
        found(&ask(&format!("{roles}{role}")).await?, who)
    }
}

/// Returns whether the text has the characters of a role's name (IAM's `RoleName`).
fn is_role(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(fits)
}

/// Returns the token in a file.
pub(super) async fn token_of(path: &std::path::Path) -> Result<SecretString, Refused> {
    let unusable = |_| Refused::Credentials(format!("the token in {} cannot be read", path.display()));
    let text = files::read_text_aside(path, MAX_BYTES as u64).await.map_err(unusable)?;
    Ok(SecretString::from(text.trim()))
}

/// Credentials as containers, machines and programs write them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    access_key_id: String,
    secret_access_key: String,
    #[serde(alias = "SessionToken")]
    token: Option<String>,
    expiration: Option<String>,
}

/// Returns the credentials in such JSON.
pub(super) fn parse(json: &[u8], source: &'static str) -> Option<Credentials> {
    let answer: Answer = serde_json::from_slice(json).ok()?;
    let end = match answer.expiration {
        Some(text) => Some(time_of(&text)?),
        None => None,
    };
    Some(Credentials::new(answer.access_key_id, answer.secret_access_key, answer.token, end, source))
}

fn found(json: &[u8], who: &str) -> Result<TimedCredentials, Refused> {
    let credentials = parse(json, "server").ok_or_else(|| unreadable(who))?;
    Ok(TimedCredentials { credentials, counts_for: COUNTS })
}

pub(super) fn time_of(text: &str) -> Option<SystemTime> {
    OffsetDateTime::parse(text.trim(), &Rfc3339).ok().map(SystemTime::from)
}

pub(super) fn unreadable(who: &str) -> Refused {
    Refused::Unreachable(format!("the answer of {who} cannot be read"))
}

/// Returns the body of an answer that says yes.
pub(super) async fn body(request: RequestBuilder, limit: Duration, who: &str) -> Result<Vec<u8>, Refused> {
    let unreachable = |problem: net::Error| Refused::Unreachable(format!("{who} does not answer: {problem}"));
    let ask = async {
        let response = request.send().await.map_err(|problem| unreachable(net::Error::from(&problem)))?;
        let status = response.status();
        Ok((status, net::read_body(response, MAX_BYTES).await.map_err(unreachable)?))
    };
    let answer = tokio::time::timeout(limit, ask).await;
    let (status, body) = answer.map_err(|_| Refused::Unreachable(format!("{who} does not answer in time")))??;
    if status.is_success() {
        return Ok(body);
    }
    // Its code alone: what else it says may quote what was sent.
    let code = code(&body).unwrap_or_else(|| "no reason".to_owned());
    let detail = format!("{who} answers {}: {code}", status.as_u16());
    let passes = status.is_server_error() || status.as_u16() == 429 || code == "IDPCommunicationError";
    Err(if passes { Refused::Unreachable(detail) } else { Refused::Credentials(detail) })
}

/// Returns the code of an error, in any of their forms.
fn code(body: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let named = ["code", "Code", "error", "__type"].iter().find_map(|name| json[*name].as_str());
    // A type may have its service before it: `com.amazonaws.sso#UnauthorizedException`.
    let named = named.map(|code| code.rsplit('#').next().unwrap_or(code).to_owned());
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
    named.or_else(|| element(body, "Code")).filter(|code| code.len() <= 60 && code.bytes().all(fits))
}

/// Returns the text of the first element of that name, which has no others in it.
pub(super) fn element(xml: &[u8], name: &str) -> Option<String> {
    let mut reader = Reader::from_str(std::str::from_utf8(xml).ok()?);
    let mut found: Option<String> = None;
    loop {
        match (reader.read_event().ok()?, &mut found) {
            (Event::Start(tag), None) if tag.local_name().as_ref() == name => found = Some(String::new()),
            (Event::Text(text), Some(found)) => found.push_str(text.trim()),
            (Event::End(_), Some(_)) => return found.filter(|text| !text.is_empty()),
            (Event::Eof, _) => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_containers_stay_near() {
        let check = |expected: bool, addresses: &[&str]| {
            addresses.iter().for_each(|url| assert_eq!(is_agent(&url.parse().unwrap()), expected, "{url}"));
        };
        check(true, &["http://169.254.170.2/v2/x", "http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1"]);
        check(true, &["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]/x", "https://keys.example.org/x"]);
        check(
            false,
            &["http://keys.example.org/x", "http://169.254.169.254/x", "http://10.0.0.1/", "ftp://127.0.0.1/"],
        );
    }

    #[test]
    fn elements_and_codes_are_found() {
        let refusal = "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
            <Code>ExpiredTokenException</Code><Message>The token has &lt;expired&gt;</Message></Error></ErrorResponse>";
        assert_eq!(code(refusal.as_bytes()).as_deref(), Some("ExpiredTokenException"));
        assert_eq!(code(br#"{"code": "AccessDenied", "message": "x"}"#).as_deref(), Some("AccessDenied"));
        assert_eq!(code(br#"{"error": "invalid_grant", "error_description": "x"}"#).as_deref(), Some("invalid_grant"));
        let typed = br#"{"__type": "com.amazonaws.sso#UnauthorizedException", "message": "x"}"#;
        assert_eq!(code(typed).as_deref(), Some("UnauthorizedException"));
        assert_eq!(code(b"a page"), None);
        assert_eq!(code(br#"{"code": "quotes s3cret"}"#), None);
        assert_eq!(element(b"<a><b></b></a>", "b"), None);
        assert_eq!(element(&b"<a>".repeat(100_000), "b"), None);
    }
}
