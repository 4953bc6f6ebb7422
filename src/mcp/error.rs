//! What can go wrong with a server, in words for people and models.

use std::time::Duration;

use rmcp::{
    model::{ErrorCode, ErrorData, InputRequest, InputRequests, ServerResult},
    service::ServiceError,
    transport::{
        DynamicTransportError,
        streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError},
    },
};
use url::Url;

use super::{content, handler::Notices};
use crate::net;

/// The longest error that a server words. It is cut once its secrets are hidden: a cut through one would keep its
/// beginning.
pub(super) const MAX_PROBLEM_CHARS: usize = 1_000;
/// Interaction required, as Open Deep Research's servers say it, and as MCP does since 2025-11-25.
const SIGN_IN_CODES: [i32; 2] = [-32003, -32042];

/// Why a request over HTTP failed, as the SDK says it.
type HttpError = StreamableHttpError<reqwest::Error>;

/// Why a server did not answer; once it leaves this room, the text is for people and models, bounded, and holds no
/// secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no connection, or no longer.
    #[error("{0}")]
    Unavailable(String),
    /// It wants to know who asks, and the settings do not say.
    #[error("it refuses the sign-in that the settings give, or wants one")]
    NeedsToken,
    /// The user has to sign in at these addresses first.
    #[error("it needs the user to sign in first")]
    SignIn(Vec<SignIn>),
    /// It answered that it would not, or could not.
    #[error("{0}")]
    Refused(String),
    #[error("it took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// An address at which the user may sign in; for the user alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    pub message: String,
    pub url: String,
}

impl SignIn {
    /// Makes a request to sign in; `None` unless the address is one that a browser may be sent to.
    pub(super) fn new(message: &str, url: &str) -> Option<Self> {
        let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "https" && url.has_host())?;
        let fits = parsed.as_str().len() <= 2_000;
        fits.then(|| Self { message: message.to_owned(), url: parsed.into() })
    }
}

/// Returns what went wrong on the way to a server or back.
pub(super) fn meaning(error: ServiceError) -> Error {
    match error {
        ServiceError::McpError(error) => refused(&error),
        ServiceError::Timeout { timeout } => Error::TimedOut(timeout),
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            Error::Unavailable("it ended the connection".to_owned())
        }
        ServiceError::TransportSend(error) if wants_token(&error) => Error::NeedsToken,
        ServiceError::TransportSend(error) => match HttpAnswer::of(&error) {
            Some(answer) => Error::Refused(answer.words()),
            None => Error::Unavailable(chain(&error)),
        },
        other => Error::Unavailable(chain(&other)),
    }
}

/// Returns the error of a connection that was ended for what the server did.
pub(super) fn cut_off(what: &str) -> Error {
    Error::Unavailable(format!("it {what}, so it was cut off"))
}

/// Returns an error in the server's words, or the sign-in that it wants.
pub(super) fn refused(error: &ErrorData) -> Error {
    if SIGN_IN_CODES.contains(&error.code.0)
        && let Some(data) = &error.data
    {
        let sign_ins = content::sign_ins(data, &error.message);
        if !sign_ins.is_empty() {
            return Error::SignIn(sign_ins);
        }
    }
    Error::Refused(format!("{} ({})", error.message, error.code.0))
}

pub(super) fn sign_ins_of(requests: Option<InputRequests>, notices: &Notices) -> Error {
    use rmcp::model::ElicitRequestParams::UrlElicitationParams;
    let mut sign_ins = notices.take_sign_ins();
    for request in requests.unwrap_or_default().into_values() {
        if let InputRequest::Elicitation(request) = request
            && let UrlElicitationParams { message, url, .. } = request.params
        {
            sign_ins.extend(SignIn::new(&message, &url));
        }
    }
    sign_ins.truncate(content::MAX_SIGN_INS);
    if sign_ins.is_empty() {
        return Error::Refused(
            "it wants an answer from the user in the middle of a call, which is not supported".to_owned(),
        );
    }
    Error::SignIn(sign_ins)
}

pub(super) fn unexpected(result: ServerResult) -> Error {
    match result {
        ServerResult::CreateTaskResult(_) => {
            Error::Refused("it works on this later and tells by another way, which is not supported".to_owned())
        }
        _ => Error::Unavailable("it answered something else than was asked for".to_owned()),
    }
}

/// Returns whether the request certainly did not reach the server. Only then is it made again.
pub(super) fn never_sent(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    let mut causes = causes(error);
    causes.any(|cause| cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect))
}

/// Returns whether the request was refused because headers are missing that repeat its arguments. They can be sent once
/// the server's tools were listed on the same connection.
pub(super) fn lacks_headers(error: &ServiceError) -> bool {
    matches!(error, ServiceError::McpError(error) if error.code == ErrorCode::HEADER_MISMATCH)
}

/// Returns whether the request was refused for its token, and another one may help: not where rights are missing.
pub(super) fn is_refused(error: &ServiceError) -> bool {
    let lacks_rights =
        |error: &(dyn std::error::Error + 'static)| causes(error).any(|cause| cause.is::<InsufficientScopeError>());
    matches!(error, ServiceError::TransportSend(error) if wants_token(error) && !lacks_rights(error))
}

/// Returns whether the server wants to know who asks.
pub(super) fn wants_token(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_bare = matches!(HttpAnswer::of(error), Some(HttpAnswer::Other(text)) if is_bare_refusal(&text));
    is_bare
        || causes(error).any(|cause| {
            let refused = cause.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::status);
            let refused = refused.is_some_and(|status| matches!(status.as_u16(), 401 | 403));
            refused || cause.is::<AuthRequiredError>() || cause.is::<InsufficientScopeError>()
        })
}

/// Returns whether this is a 401 or 403 that does not say how to sign in. The SDK keeps its status in the text alone.
fn is_bare_refusal(text: &str) -> bool {
    ["HTTP 401 ", "HTTP 403 "].iter().any(|status| text.starts_with(status))
}

/// An answer over HTTP that is none of MCP, to one request. It says nothing of the others on the connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HttpAnswer {
    /// 429 or 5xx, in words: too much is asked for, or the server is in trouble.
    Busy(String),
    /// Another one, in words. A server that has forgotten the session may answer so, too.
    Other(String),
}

impl HttpAnswer {
    /// Returns the answer that an error stands for; `None` when there was no answer.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        match causes(error).find_map(|cause| cause.downcast_ref::<HttpError>())? {
            HttpError::HttpStatus(status) => Some(Self::Busy(status.to_string())),
            HttpError::UnexpectedServerResponse(text) => Some(Self::Other(text.to_string())),
            HttpError::UnexpectedContentType(Some(kind)) => Some(Self::Other(format!("content of the type {kind}"))),
            HttpError::UnexpectedContentType(None) => Some(Self::Other("content of no type".to_owned())),
            HttpError::ResponseBodyTooLarge { max_size } => Some(Self::Other(format!("more than {max_size} bytes"))),
            _ => None,
        }
    }

    pub fn words(self) -> String {
        let (Self::Busy(text) | Self::Other(text)) = self;
        match text.starts_with("HTTP 405 ") {
            // Before the answer, which may be long and is cut.
            true => format!("it may speak the older HTTP with SSE, which is not supported: it answered {text}"),
            false => format!("it answered {text}"),
        }
    }
}

/// Returns the error with what caused it.
fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| match error.downcast_ref::<HttpError>() {
        // The SDK names it in the text alone, and not as its source.
        Some(HttpError::Client(cause)) => Some(cause),
        _ => error.source(),
    })
}

/// Returns whether the error says nothing but its cause, and names of the SDK's types.
fn only_wraps(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<DynamicTransportError>() || matches!(error.downcast_ref::<HttpError>(), Some(HttpError::Client(_)))
}

/// Returns an error with its causes, in one line; addresses in it have lost what may be secret.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for next in causes(error).filter(|cause| !only_wraps(*cause)).map(worded) {
        if !text.contains(&next) {
            let between = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{between}{next}");
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the error's own words; reqwest puts the whole address into them.
fn worded(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    match error.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::url) {
        Some(url) => text.replace(url.as_str(), &net::shown_url(url)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_shows_no_parameter_of_an_address() {
        let url = format!("http://127.0.0.1:1/{}?tavilyApiKey=pa55word", "long/".repeat(100));
        let clients = net::ApiClients::new(net::Timeouts::default()).unwrap();
        let error = clients.direct().get(url).send().await.unwrap_err();
        let text = chain(&error);
        assert!(!text.contains("pa55") && text.contains("127.0.0.1:1/long/"), "{text}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_said_without_names_of_types() {
        let clients = net::ApiClients::new(net::Timeouts::default()).unwrap();
        let refused = clients.direct().get("http://127.0.0.1:1/?key=pa55word").send().await.unwrap_err();
        let sent = |error: HttpError| {
            let kind = std::any::TypeId::of::<()>();
            ServiceError::TransportSend(DynamicTransportError::from_parts("rmcp::a::B<C>", kind, Box::new(error)))
        };
        let error = sent(HttpError::Client(refused));
        assert!(never_sent(&error), "so it is made again");
        let Error::Unavailable(text) = meaning(error) else { panic!() };
        assert!(text.starts_with("error sending request") && text.contains("onnection refused"), "{text}");
        assert!(!text.contains("rmcp") && !text.contains("pa55") && !text.contains("Client error"), "{text}");
        let cut_off = sent(HttpError::UnexpectedEndOfStream);
        assert!(!never_sent(&cut_off));
        assert!(matches!(meaning(cut_off), Error::Unavailable(text) if text == "unexpected end of stream"));
    }
}
