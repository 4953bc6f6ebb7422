//! Errors as clients see them: RFC 9457 problems with stable codes. The only place that picks a problem's status.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::allowances;
use crate::{
    domain::{Allowance, OptionError},
    runs::{Refusal, StoreError, UploadError},
};

/// The wait that clients are asked for whose request may succeed a little later.
const SOON: Duration = Duration::from_secs(2);

/// Problems repeat what was wrong with a request, of a bad one only the beginning.
const SHOWN_FAULTS: usize = 20;
const SHOWN_CHARS: usize = 500;

/// The stable codes, each with its status and title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    MalformedJson,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    RequestTimeout,
    ThreadBusy,
    NotFinished,
    NoReport,
    NotRetryable,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
    NotConfigured,
    InvalidCursor,
    IdempotencyKeyReused,
    QueueFull,
    LimitReached,
    BudgetUsed,
    RateLimited,
    TooManyStreams,
    TooManyThreads,
    TooManyDocuments,
    TooManyCollections,
    DocumentUnreadable,
    HostNotAllowed,
    OriginNotAllowed,
    ProxyNotTrusted,
    OwnerNotAllowed,
    Unauthenticated,
    NotPermitted,
    Overloaded,
    Internal,
    IssuerUnavailable,
    StorageUnavailable,
    StorageReadOnly,
    ShuttingDown,
}

impl Code {
    /// Every code there is.
    pub const ALL: [Self; 36] = [
        Self::MalformedJson,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::RequestTimeout,
        Self::ThreadBusy,
        Self::NotFinished,
        Self::NoReport,
        Self::NotRetryable,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::ValidationFailed,
        Self::NotConfigured,
        Self::InvalidCursor,
        Self::IdempotencyKeyReused,
        Self::QueueFull,
        Self::LimitReached,
        Self::BudgetUsed,
        Self::RateLimited,
        Self::TooManyStreams,
        Self::TooManyThreads,
        Self::TooManyDocuments,
        Self::TooManyCollections,
        Self::DocumentUnreadable,
        Self::HostNotAllowed,
        Self::OriginNotAllowed,
        Self::ProxyNotTrusted,
        Self::OwnerNotAllowed,
        Self::Unauthenticated,
        Self::NotPermitted,
        Self::Overloaded,
        Self::Internal,
        Self::IssuerUnavailable,
        Self::StorageUnavailable,
        Self::StorageReadOnly,
        Self::ShuttingDown,
    ];

    /// Returns code, status, title, and whether the same request may succeed later.
    fn row(self) -> (&'static str, StatusCode, &'static str, bool) {
        use StatusCode as S;
        match self {
            Self::MalformedJson => ("malformed_json", S::BAD_REQUEST, "The body is not JSON", false),
            Self::NotFound => ("not_found", S::NOT_FOUND, "There is no such thing here", false),
            Self::MethodNotAllowed => ("method_not_allowed", S::METHOD_NOT_ALLOWED, "Not a method of this path", false),
            Self::NotAcceptable => {
                ("not_acceptable", S::NOT_ACCEPTABLE, "None of the accepted types is offered", false)
            }
            Self::RequestTimeout => ("request_timeout", S::REQUEST_TIMEOUT, "The request came too slowly", true),
            Self::ThreadBusy => ("thread_busy", S::CONFLICT, "The thread has an active run", true),
            Self::NotFinished => ("not_finished", S::CONFLICT, "The run is not finished", true),
            Self::NoReport => ("no_report", S::CONFLICT, "The run ended without a report", false),
            Self::NotRetryable => ("not_retryable", S::CONFLICT, "Nothing can go on from this run", false),
            Self::PayloadTooLarge => ("payload_too_large", S::PAYLOAD_TOO_LARGE, "The body is too large", false),
            Self::UnsupportedMediaType => {
                ("unsupported_media_type", S::UNSUPPORTED_MEDIA_TYPE, "The body has the wrong type", false)
            }
            Self::ValidationFailed => ("validation_failed", S::UNPROCESSABLE_ENTITY, "The request is not valid", false),
            Self::NotConfigured => {
                ("not_configured", S::UNPROCESSABLE_ENTITY, "The server is not set up for this", false)
            }
            Self::InvalidCursor => ("invalid_cursor", S::UNPROCESSABLE_ENTITY, "Not a cursor of this list", false),
            Self::IdempotencyKeyReused => (
                "idempotency_key_reused",
                S::UNPROCESSABLE_ENTITY,
                "The idempotency key was used for another request",
                false,
            ),
            Self::QueueFull => ("queue_full", S::TOO_MANY_REQUESTS, "Too many runs are waiting", true),
            Self::LimitReached => ("limit_reached", S::TOO_MANY_REQUESTS, "As many runs as you may have", true),
            Self::BudgetUsed => ("budget_used", S::TOO_MANY_REQUESTS, "What you may spend is used up", true),
            Self::RateLimited => ("rate_limited", S::TOO_MANY_REQUESTS, "Too many requests", true),
            Self::TooManyStreams => ("too_many_streams", S::SERVICE_UNAVAILABLE, "Too many streams are open", true),
            Self::TooManyThreads => ("too_many_threads", S::FORBIDDEN, "No more threads may be stored", false),
            Self::TooManyDocuments => ("too_many_documents", S::FORBIDDEN, "No more documents may be given", false),
            Self::TooManyCollections => {
                ("too_many_collections", S::FORBIDDEN, "No more collections may be made", false)
            }
            Self::DocumentUnreadable => {
                ("document_unreadable", S::UNPROCESSABLE_ENTITY, "The document cannot be read", false)
            }
            Self::HostNotAllowed => ("host_not_allowed", S::MISDIRECTED_REQUEST, "Not a name of this service", false),
            Self::OriginNotAllowed => ("origin_not_allowed", S::FORBIDDEN, "Not a page that may change things", false),
            Self::ProxyNotTrusted => ("proxy_not_trusted", S::FORBIDDEN, "Not an address that may name users", false),
            Self::OwnerNotAllowed => ("owner_not_allowed", S::FORBIDDEN, "Not a name that a user may have", false),
            Self::Unauthenticated => ("unauthenticated", S::UNAUTHORIZED, "A key of this service is needed", false),
            Self::NotPermitted => ("not_permitted", S::FORBIDDEN, "The key does not allow this", false),
            Self::Overloaded => ("overloaded", S::SERVICE_UNAVAILABLE, "Too much is on its way", true),
            Self::Internal => ("internal", S::INTERNAL_SERVER_ERROR, "A defect of this service", false),
            Self::IssuerUnavailable => {
                ("issuer_unavailable", S::SERVICE_UNAVAILABLE, "Who signs users in does not answer", true)
            }
            Self::StorageUnavailable => {
                ("storage_unavailable", S::SERVICE_UNAVAILABLE, "The database does not answer", true)
            }
            Self::StorageReadOnly => ("storage_read_only", S::SERVICE_UNAVAILABLE, "The database only reads", true),
            Self::ShuttingDown => ("shutting_down", S::SERVICE_UNAVAILABLE, "The service is stopping", true),
        }
    }

    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    pub fn status(self) -> StatusCode {
        self.row().1
    }
}

/// The place in a request where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// JSON pointer into the body.
    Pointer(String),
    /// A parameter of the path or the query.
    Parameter(String),
    Header(String),
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    #[serde(flatten)]
    pub place: Place,
    pub detail: String,
}

impl Fault {
    fn new(place: Place, detail: String) -> Self {
        let place = match place {
            Place::Pointer(pointer) => Place::Pointer(beginning(pointer)),
            place => place,
        };
        Self { place, detail: beginning(detail) }
    }
}

/// A request that is not answered as its sender hoped.
#[derive(Clone, Debug)]
pub struct ApiError {
    code: Code,
    /// A sentence for people.
    detail: String,
    faults: Vec<Fault>,
    retry_after: Option<Duration>,
    /// What is left of the sender's limits, where one refused the request.
    allowances: Vec<Allowance>,
}

/// A problem on its way through the layers, which know the request's id and path.
#[derive(Clone, Debug)]
pub struct Problem(ApiError);

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    instance: &'a str,
    code: &'a str,
    request_id: &'a str,
    retryable: bool,
    #[serde(skip_serializing_if = "<[Fault]>::is_empty")]
    errors: &'a [Fault],
}

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after = matches!(
            code,
            Code::ThreadBusy
                | Code::NotFinished
                | Code::QueueFull
                | Code::TooManyStreams
                | Code::Overloaded
                | Code::IssuerUnavailable
                | Code::StorageUnavailable
                | Code::StorageReadOnly
                | Code::ShuttingDown
        );
        let detail = beginning(detail.into());
        let retry_after = retry_after.then_some(SOON);
        Self { code, detail, faults: Vec::new(), retry_after, allowances: Vec::new() }
    }

    /// Returns a request beyond what its sender may send in a minute.
    pub fn rate_limited(allowances: Vec<Allowance>) -> Self {
        Self::of_limits(Code::RateLimited, allowances)
    }

    /// Returns what the first limit says that is used up, and when it begins again; what counts runs that are at work
    /// ends with any of them.
    fn of_limits(code: Code, allowances: Vec<Allowance>) -> Self {
        let used_up = allowances.iter().find(|allowance| allowance.is_used_up());
        let retry_after =
            used_up.and_then(Allowance::window).map_or(SOON * 5, |(_, left)| left + Duration::from_secs(1));
        let detail = used_up.map(Allowance::in_words).unwrap_or_default();
        Self { retry_after: Some(retry_after), allowances, ..Self::new(code, detail) }
    }

    /// Answers that there is no such thing; `what` as in "thread" or "run".
    pub fn no_such(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what}"))
    }

    /// Returns a request with one fault.
    pub fn invalid(place: Place, detail: impl Into<String>) -> Self {
        Self::at(Code::ValidationFailed, place, detail)
    }

    /// Returns a problem with one place in the request.
    pub fn at(code: Code, place: Place, detail: impl Into<String>) -> Self {
        let problem = Self::new(code, detail);
        let faults = vec![Fault::new(place, problem.detail.clone())];
        Self { faults, ..problem }
    }

    /// Returns a parameter of path or query that cannot be used.
    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        Self::invalid(Place::Parameter(name.to_owned()), detail)
    }

    /// Returns a header that cannot be used.
    pub fn header(name: &str, detail: impl Into<String>) -> Self {
        Self::invalid(Place::Header(name.to_owned()), detail)
    }

    /// Returns whether the same request may succeed later.
    pub fn is_for_later(&self) -> bool {
        self.code.row().3
    }

    /// Reports a defect: something that cannot go wrong did.
    pub fn defect(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a request could not be answered");
        Self::new(Code::Internal, "a defect of this service; its log says more")
    }

    /// Returns why a run was not let in; `pointer` is where its message stands in the body.
    pub fn refused(refusal: Refusal, pointer: &str) -> Self {
        let detail = refusal.to_string();
        let not_configured =
            |option: &str| Self::at(Code::NotConfigured, Place::Pointer(format!("/options/{option}")), detail.clone());
        match refusal {
            Refusal::Store(error) => error.into(),
            Refusal::Options(wrong) => Self::options(&wrong),
            Refusal::NoSuchThread => Self::no_such("thread"),
            Refusal::Keys { name, .. } => {
                let place = name.map(|name| format!("/{}", escaped(&name))).unwrap_or_default();
                Self::invalid(Place::Pointer(format!("/api_keys{place}")), detail)
            }
            Refusal::Webhook(_) => Self::invalid(Place::Pointer("/webhook_url".to_owned()), detail),
            Refusal::NoSuchRun => Self::no_such("run"),
            Refusal::NotFinished => Self::new(Code::NotFinished, detail),
            Refusal::NotRetryable(_) => Self::new(Code::NotRetryable, detail),
            Refusal::Empty | Refusal::TooLong => Self::invalid(Place::Pointer(pointer.to_owned()), detail),
            Refusal::MissingKey { option, .. } => not_configured(option),
            Refusal::Search(missing) => not_configured(missing.option()),
            Refusal::NoSuchCollection(_) | Refusal::CollectionsTooLong { .. } => {
                Self::invalid(Place::Pointer("/options/collections".to_owned()), detail)
            }
            Refusal::TooManyCollections { .. } => Self::new(Code::TooManyCollections, detail),
            Refusal::TooManyDocuments { .. } => Self::new(Code::TooManyDocuments, detail),
            Refusal::Upload(UploadError::NoName) => Self::parameter("name", detail),
            Refusal::Upload(UploadError::Unreadable(_)) => Self::new(Code::DocumentUnreadable, detail),
            Refusal::Upload(UploadError::Unavailable(_) | UploadError::Busy { .. }) => {
                Self::new(Code::Overloaded, detail)
            }
        }
    }

    fn options(wrong: &[OptionError]) -> Self {
        let fault = |error: &OptionError| {
            let pointer = format!("/options/{}", escaped(error.name()));
            Fault::new(Place::Pointer(pointer), error.to_string())
        };
        let faults: Vec<_> = wrong.iter().take(SHOWN_FAULTS).map(fault).collect();
        let mut details: Vec<&str> = faults.iter().map(|fault| fault.detail.as_str()).collect();
        if wrong.len() > SHOWN_FAULTS {
            details.push("and more");
        }
        let detail = details.join("; ");
        Self { faults, ..Self::new(Code::ValidationFailed, detail) }
    }
}

fn beginning(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SHOWN_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns a name as part of a JSON pointer (RFC 6901).
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::ThreadBusy => Self::new(Code::ThreadBusy, "the thread has a run that is not finished"),
            StoreError::ThreadWentOn(_) => Self::new(Code::NotRetryable, error.to_string()),
            StoreError::QueueFull { .. } => Self::new(Code::QueueFull, error.to_string()),
            StoreError::UsedUp(allowances) => {
                let is_budget =
                    allowances.iter().find(|one| one.is_used_up()).is_some_and(|one| one.limited.is_budget());
                let code = if is_budget { Code::BudgetUsed } else { Code::LimitReached };
                Self::of_limits(code, allowances.clone())
            }
            StoreError::TooManyThreads { .. } => Self::new(Code::TooManyThreads, error.to_string()),
            StoreError::MetadataTooLarge { .. } => {
                Self::invalid(Place::Pointer("/metadata".to_owned()), error.to_string())
            }
            StoreError::KeyReused => Self::new(Code::IdempotencyKeyReused, error.to_string()),
            StoreError::Unavailable(_) | StoreError::Disconnected(_) | StoreError::LockedOut(_) => {
                tracing::warn!(%error, "a request could not be answered");
                Self::new(Code::StorageUnavailable, "the database does not answer; try again")
            }
            StoreError::TakesNoWrites(_) | StoreError::StandsBy(_) | StoreError::NoRoom(_) => {
                tracing::warn!(%error, "a request could not be answered");
                let detail = "the database takes no writes: its disk is full, or it only reads; try again later";
                Self::new(Code::StorageReadOnly, detail)
            }
            StoreError::Fenced | StoreError::Contended(_) | StoreError::Unusable(_) | StoreError::Corrupt(_) => {
                tracing::error!(%error, "a request could not be answered");
                Self::new(Code::Internal, "the request could not be carried out; the service's log says why")
            }
        }
    }
}

impl IntoResponse for ApiError {
    /// Returns a status without a body yet: the layers of its router write it, where the request is known.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        if let Some(pause) = self.retry_after
            && let Ok(seconds) = HeaderValue::from_str(&pause.as_secs().to_string())
        {
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        allowances::append(response.headers_mut(), &self.allowances);
        response.extensions_mut().insert(Problem(self));
        response
    }
}

impl Problem {
    /// Returns whether the same request may succeed later.
    pub fn is_for_later(&self) -> bool {
        self.0.is_for_later()
    }

    /// Returns its stable code, as clients see it.
    pub fn code(&self) -> &'static str {
        self.0.code.row().0
    }

    /// Writes the problem as the body of `response`.
    pub fn into_body(self, response: &mut Response, write: WriteProblem, instance: &str, request_id: &str) {
        let (media_type, body) = write(&self.0, instance, request_id);
        *response.body_mut() = Body::from(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.remove(header::CONTENT_LENGTH);
    }
}

/// How a router writes its problems: the media type and the body, for a request to `instance` with that
/// id.
pub type WriteProblem = fn(problem: &ApiError, instance: &str, request_id: &str) -> (&'static str, Vec<u8>);

/// Returns the way of this API: RFC 9457.
pub fn problem_json(problem: &ApiError, instance: &str, request_id: &str) -> (&'static str, Vec<u8>) {
    let (code, status, title, retryable) = problem.code.row();
    let body = ProblemBody {
        r#type: format!("urn:fathom:problem:{}", code.replace('_', "-")),
        title,
        status: status.as_u16(),
        detail: &problem.detail,
        instance,
        code,
        request_id,
        retryable,
        errors: &problem.faults,
    };
    ("application/problem+json", serde_json::to_vec(&body).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::http::docs;

    #[test]
    fn problems_in_the_contract_are_those_of_the_service() {
        let contract: Value = yaml_serde::from_str(docs::CONTRACT).unwrap();
        let responses = contract["components"]["responses"].as_object().unwrap();
        let mut checked = 0;
        for content in responses.values().map(|response| &response["content"]["application/problem+json"]) {
            let many = content["examples"].as_object().into_iter().flat_map(|named| named.values());
            for example in many.map(|example| &example["value"]).chain(content.get("example")) {
                let code = Code::ALL.into_iter().find(|code| example["code"] == code.as_str()).unwrap();
                let (_, status, title, retryable) = code.row();
                let shown = (&example["title"], &example["status"], &example["retryable"]);
                assert_eq!(shown, (&title.into(), &status.as_u16().into(), &retryable.into()), "{example}");
                checked += 1;
            }
        }
        assert!(checked > 20, "only {checked} examples were found");
    }
}
