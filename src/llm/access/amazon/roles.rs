//! Roles that are assumed: by a token of somebody else's, such as that of a Kubernetes service account, or by
//! credentials that a profile leads to.

use aws_credential_types::Credentials;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret as _;
use url::{Url, form_urlencoded};

use super::profile::{Assumed, Role};
use super::remote::{COUNTS, TIME, body, element, time_of, token_of, unreadable};
use super::timed::TimedCredentials;
use super::{Signing, add_signature};
use crate::llm::access::Refused;
use crate::llm::endpoint::Endpoint;
use crate::net::ApiClients;

/// What sessions of assumed roles are called in the account's log.
const SESSION: &str = "fathom";
/// The service as signatures name it.
const SERVICE: &str = "sts";
const WHO: &str = "the token service of Amazon";

impl Role {
    pub fn of_settings(endpoint: &Endpoint) -> Option<Self> {
        let session = endpoint.other("role_session_name").map(str::to_owned);
        let file = endpoint.other("web_identity_token_file")?.into();
        Some(Self { arn: endpoint.other("role_arn")?.to_owned(), file, session })
    }
}

/// The service that gives credentials of roles
/// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html>).
#[derive(Debug)]
pub(super) struct Sts {
    /// `None` when the region is no name.
    address: Option<Url>,
    region: String,
    clients: ApiClients,
}

impl Sts {
    pub fn new(endpoint: &Endpoint, region: &str, clients: &ApiClients) -> Self {
        let address = endpoint.other("sts_url").map(str::to_owned).or_else(|| super::address("sts", region));
        let address = address.and_then(|text| Url::parse(&text).ok());
        Self { address, region: region.to_owned(), clients: clients.clone() }
    }

    /// Exchanges the token for credentials of the role.
    pub async fn exchange(&self, role: &Role) -> Result<TimedCredentials, Refused> {
        let token = token_of(&role.file).await?;
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("RoleArn", &role.arn),
            ("RoleSessionName", role.session.as_deref().unwrap_or(SESSION)),
            ("WebIdentityToken", token.expose_secret()),
        ];
        self.ask(&form, None).await
    }

    /// Returns the credentials of the role, which `credentials` entitle to.
    pub async fn assume(&self, role: &Assumed, credentials: Credentials) -> Result<TimedCredentials, Refused> {
        let seconds = role.seconds.map(|seconds| seconds.to_string());
        let further = [("ExternalId", role.external_id.as_deref()), ("DurationSeconds", seconds.as_deref())];
        let mut form = vec![
            ("Action", "AssumeRole"),
            ("RoleArn", &*role.arn),
            ("RoleSessionName", role.session.as_deref().unwrap_or(SESSION)),
        ];
        form.extend(further.into_iter().filter_map(|(name, value)| Some((name, value?))));
        self.ask(&form, Some(credentials)).await
    }

    async fn ask(&self, form: &[(&str, &str)], signed_by: Option<Credentials>) -> Result<TimedCredentials, Refused> {
        let url = self.address.clone();
        let url = url.ok_or_else(|| Refused::Credentials("the address of STS is none".to_owned()))?;
        let form = form.iter().chain(&[("Version", "2011-06-15")]);
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(credentials) = signed_by {
            let signing = Signing { region: &self.region, service: SERVICE, credentials };
            add_signature(signing, url.as_str(), &mut headers, form.as_bytes())?;
        }
        let request = self.clients.for_url(&url).post(url).headers(headers);
        let answer = body(request.body(form), TIME, WHO).await?;
        let value = |name: &str| element(&answer, name);
        let keys = value("AccessKeyId").zip(value("SecretAccessKey"));
        let (id, key) = keys.ok_or_else(|| unreadable(WHO))?;
        let end = value("Expiration").and_then(|text| time_of(&text));
        let credentials = Credentials::new(id, key, value("SessionToken"), end, "role");
        Ok(TimedCredentials { credentials, counts_for: COUNTS })
    }
}
