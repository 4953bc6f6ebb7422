//! Requests to Amazon's cloud, signed (Signature Version 4). Whose credentials sign is looked for where Amazon's own
//! programs look (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>): [`sources`] has the
//! order, [`profile`] the files and programs, [`remote`] the servers of containers and machines, [`roles`] roles that
//! are assumed, [`sign_in`] what people signed in to.

mod profile;
mod remote;
mod roles;
mod sign_in;
mod sources;
mod timed;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use time::OffsetDateTime;

use super::{Refused, is_name};
use crate::llm::endpoint::Endpoint;
use crate::net::ApiClients;
use sources::Sources;

/// The service as signatures name it.
const SERVICE: &str = "bedrock";

/// Signs the requests of one account.
#[derive(Debug)]
pub struct Signer {
    region: String,
    sources: Sources,
}

impl Signer {
    pub fn new(endpoint: &Endpoint, clients: &ApiClients) -> Self {
        let region = endpoint.other("region").unwrap_or_default().to_owned();
        Self { sources: Sources::new(endpoint, &region, clients), region }
    }

    /// Adds the signature of the request to its headers.
    pub async fn sign(&self, url: &str, headers: &mut HeaderMap, body: &[u8]) -> Result<(), Refused> {
        let credentials = self.sources.credentials().await?;
        add_signature(Signing { region: &self.region, service: SERVICE, credentials }, url, headers, body)
    }

    /// Ends the use of what was found; it stays known, so that answers which quote it are still shown without it.
    /// Returns whether something was.
    pub fn forget(&self) -> bool {
        self.sources.forget()
    }

    pub fn secrets(&self) -> Vec<String> {
        self.sources.secrets()
    }
}

/// Returns whether a refusal, by the header with its kind, is of what the sender may do and not of who that is.
pub fn knows_sender(headers: &HeaderMap) -> bool {
    let kind = headers.get("x-amzn-errortype").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("AccessDenied"))
}

/// The names that a request is signed for, and the credentials that sign it.
struct Signing<'a> {
    region: &'a str,
    service: &'a str,
    credentials: Credentials,
}

fn add_signature(by: Signing<'_>, url: &str, headers: &mut HeaderMap, body: &[u8]) -> Result<(), Refused> {
    let unusable = |problem: &dyn std::fmt::Display| Refused::Credentials(format!("it could not be signed: {problem}"));
    let identity = by.credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(by.region)
        .name(by.service)
        .time(OffsetDateTime::now_utc().into())
        .settings(SigningSettings::default())
        .build()
        .map_err(|problem| unusable(&problem))?;
    let sent: Vec<(&str, &str)> =
        headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let request = SignableRequest::new("POST", url, sent.into_iter(), SignableBody::Bytes(body));
    let request = request.map_err(|problem| unusable(&problem))?;
    let (instructions, _) = sign(request, &params.into()).map_err(|problem| unusable(&problem))?.into_parts();
    for (name, value) in instructions.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|problem| unusable(&problem))?;
        let mut value = HeaderValue::from_str(value).map_err(|problem| unusable(&problem))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}

/// Returns the base of the API in the region of the settings.
pub fn base(endpoint: &Endpoint) -> Option<String> {
    address("bedrock-runtime", endpoint.other("region")?)
}

/// Returns the address of a service in a region; `None` when that is no name.
fn address(service: &str, region: &str) -> Option<String> {
    is_name(region).then(|| format!("https://{service}.{region}.{}", domain(region)))
}

/// Returns the domain below which a region's services are: those of China, of Europe's own cloud and of agencies of
/// the United States are clouds of their own (`partitions.json` of botocore 1.44).
fn domain(region: &str) -> &'static str {
    const PARTITIONS: [(&str, &str); 6] = [
        ("cn-", "amazonaws.com.cn"),
        ("eusc-", "amazonaws.eu"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("us-isof-", "csp.hci.ic.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
    ];
    let own = PARTITIONS.iter().find(|(prefix, _)| region.starts_with(prefix));
    own.map_or("amazonaws.com", |(_, domain)| domain)
}

/// Returns the path of a call, before which nothing stands.
pub fn path(_: &Endpoint) -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses that botocore 1.44 has for these regions.
    #[test]
    fn each_cloud_of_amazons_is_at_its_own_domain() {
        let check = |service: &str, region: &str, expected: &str| {
            assert_eq!(address(service, region).as_deref(), Some(expected));
        };
        check("sts", "us-east-1", "https://sts.us-east-1.amazonaws.com");
        check("bedrock-runtime", "us-gov-west-1", "https://bedrock-runtime.us-gov-west-1.amazonaws.com");
        check("bedrock-runtime", "cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
        check("sts", "cn-northwest-1", "https://sts.cn-northwest-1.amazonaws.com.cn");
        check("portal.sso", "cn-north-1", "https://portal.sso.cn-north-1.amazonaws.com.cn");
        check("oidc", "eusc-de-east-1", "https://oidc.eusc-de-east-1.amazonaws.eu");
        check("sts", "us-iso-east-1", "https://sts.us-iso-east-1.c2s.ic.gov");
        check("sts", "us-isob-east-1", "https://sts.us-isob-east-1.sc2s.sgov.gov");
        check("sts", "us-isof-south-1", "https://sts.us-isof-south-1.csp.hci.ic.gov");
        check("sts", "eu-isoe-west-1", "https://sts.eu-isoe-west-1.cloud.adc-e.uk");
        for region in ["", "cn-north-1.example.org", "evil.example/"] {
            assert_eq!(address("sts", region), None, "{region}");
        }
    }
}
