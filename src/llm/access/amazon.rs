//! Requests to Amazon's cloud, signed (Signature Version 4) with the credentials of the settings or of a profile's file.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use time::OffsetDateTime;

use super::{Refused, is_name};
use crate::files;
use crate::llm::settings::Endpoint;

/// The service as signatures name it.
const SERVICE: &str = "bedrock";
/// How long credentials of a file are used before it is read again.
const FILE_COUNTS: Duration = Duration::from_secs(60);
/// Bytes of a file of credentials.
const MAX_FILE: u64 = 256 * 1024;

/// Signs the requests of one account.
#[derive(Debug)]
pub struct Signer {
    region: String,
    given: Option<Credentials>,
    file: Option<PathBuf>,
    profile: String,
    /// Of the file, as it was read last, and until when that is used. Locked for a look or a change only.
    read: Mutex<Option<(Credentials, Instant)>>,
}

impl Signer {
    pub fn new(endpoint: &Endpoint) -> Self {
        let text = |name: &str| endpoint.other(name).map(str::to_owned);
        let given = text("access_key_id").zip(text("secret_access_key"));
        Self {
            region: text("region").unwrap_or_default(),
            given: given.map(|(id, key)| Credentials::new(id, key, text("session_token"), None, "settings")),
            file: text("credentials").map(PathBuf::from).or_else(|| endpoint.in_home(".aws/credentials")),
            profile: text("profile").unwrap_or_else(|| "default".to_owned()),
            read: Mutex::default(),
        }
    }

    /// Adds the signature of the request to its headers.
    pub async fn sign(&self, url: &str, headers: &mut HeaderMap, body: &[u8]) -> Result<(), Refused> {
        let unusable =
            |problem: &dyn std::fmt::Display| Refused::Credentials(format!("it could not be signed: {problem}"));
        let identity = self.credentials().await?.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
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

    /// What was read is not used again; it stays known, so that answers which quote it are still shown without it.
    pub fn forget(&self) {
        if let Some((_, until)) = &mut *self.read.lock().unwrap_or_else(PoisonError::into_inner) {
            *until = Instant::now();
        }
    }

    pub fn secrets(&self) -> Vec<String> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.given.iter().chain(read.iter().map(|(credentials, _)| credentials));
        all.flat_map(|one| [Some(one.secret_access_key()), one.session_token()]).flatten().map(str::to_owned).collect()
    }

    async fn credentials(&self) -> Result<Credentials, Refused> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        if let Some((credentials, until)) = &*self.read.lock().unwrap_or_else(PoisonError::into_inner)
            && Instant::now() < *until
        {
            return Ok(credentials.clone());
        }
        let none = || Refused::Credentials(format!("there are no credentials of the profile {}", self.profile));
        let path = self.file.as_ref().ok_or_else(none)?;
        let text = files::read_text_aside(path, MAX_FILE).await.map_err(|_| none())?;
        let credentials = of_profile(&text, &self.profile).ok_or_else(none)?;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((credentials.clone(), Instant::now() + FILE_COUNTS));
        Ok(credentials)
    }
}

/// Where the API begins in the region of the settings.
pub fn base(endpoint: &Endpoint) -> Option<String> {
    let region = endpoint.other("region").filter(|region| is_name(region))?;
    Some(format!("https://bedrock-runtime.{region}.amazonaws.com"))
}

/// Nothing stands before the path of a call.
pub fn path(_: &Endpoint) -> String {
    String::new()
}

/// The credentials of a profile in a file of `[profile]` headings and `name = value` lines.
fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let heading = |line: &str| line.strip_prefix('[')?.strip_suffix(']').map(|name| name.trim().to_owned());
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let own = lines.skip_while(|line| heading(line).as_deref() != Some(profile)).skip(1);
    let own: Vec<(&str, &str)> =
        own.take_while(|line| heading(line).is_none()).filter_map(|line| line.split_once('=')).collect();
    let value = |name: &str| {
        let found = own.iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned());
        found.filter(|value| !value.is_empty())
    };
    let token = value("aws_session_token");
    Some(Credentials::new(value("aws_access_key_id")?, value("aws_secret_access_key")?, token, None, "profile"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_among_others() {
        let text = "# mine\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s1\n\n[work]\n\
            aws_access_key_id=AKIA2\naws_secret_access_key = s2==\naws_session_token = t2\n[empty]\n";
        let found = |profile: &str| {
            of_profile(text, profile).map(|one| {
                let token = one.session_token().map(str::to_owned);
                (one.access_key_id().to_owned(), one.secret_access_key().to_owned(), token)
            })
        };
        assert_eq!(found("default"), Some(("AKIA1".into(), "s1".into(), None)));
        assert_eq!(found("work"), Some(("AKIA2".into(), "s2==".into(), Some("t2".into()))));
        assert_eq!((found("empty"), found("other")), (None, None));
    }
}
