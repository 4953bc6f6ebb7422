//! What a failed call means: status, headers and error body of a vendor to our [`Error`].
//!
//! Structured fields and the status decide. Text decides where there is nothing else: servers tell in many wordings,
//! and few codes, that a request is too long ([`OVERFLOWS`]).

use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::{Value, json};
use time::OffsetDateTime;
use url::Url;

use super::Error;
use crate::domain::{ModelName, Usage};
use crate::net::{self, Attempt, RetryAdvice, Trouble};

/// Longest [`Error`] detail in characters.
const MAX_DETAIL_CHARS: usize = 300;

/// One failed attempt. The detail of its error is what the server said, until
/// [`Server::presentable`](super::server::Server::presentable) has been over it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub error: Error,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// How the same call may go better; `None`: it would fail the same way.
    trouble: Option<Trouble>,
    /// The server asks for no other attempt.
    is_last: bool,
    /// What an answer took that cannot be used.
    pub paid: Option<Box<Usage>>,
    /// What the model had written when its server could not read it as a call.
    pub written: Option<Box<str>>,
}

impl Failure {
    /// Returns the same failure with its error changed.
    pub(super) fn map(self, change: impl FnOnce(Error) -> Error) -> Self {
        Self { error: change(self.error), ..self }
    }

    /// Returns the same failure of an answer of which words had come before its connection was cut: it was paid for, so
    /// it is not asked for as often as one from a provider that is away.
    pub(super) fn after_words(self) -> Self {
        let is_cut = matches!(self.error, Error::Transport { .. });
        let trouble = if is_cut { Some(Trouble::Broken) } else { self.trouble };
        Self { trouble, ..self }
    }

    /// Returns the same failure of an answer that took this.
    pub(super) fn paid(self, usage: Usage) -> Self {
        Self { paid: (usage != Usage::default()).then(|| Box::new(usage)), ..self }
    }

    /// Returns the same failure of an answer whose headers ask for this.
    pub(super) fn asked(mut self, asked: Asked) -> Self {
        let is_wait =
            matches!(self.error, Error::RateLimited { .. } | Error::Overloaded { .. } | Error::BadRequest { .. });
        // What a header asks for counts more than what the body says.
        self.retry_after = asked.wait.filter(|_| is_wait).or(self.retry_after);
        if let Error::RateLimited { retry_after, .. } = &mut self.error {
            *retry_after = self.retry_after;
        }
        self.is_last = asked.again == Some(false);
        if asked.again == Some(true) && matches!(self.error, Error::BadRequest { .. }) {
            self.trouble = self.trouble.or(Some(Trouble::Failing));
        }
        self
    }

    /// Returns whether the provider said that there are too many calls.
    pub(super) fn is_too_many(&self) -> bool {
        match &self.error {
            Error::RateLimited { .. } => true,
            // Anthropic's word for it.
            Error::Overloaded { detail, .. } => detail.starts_with("529"),
            _ => false,
        }
    }
}

impl Attempt for Failure {
    fn advice(&self) -> RetryAdvice {
        match self.trouble {
            None => RetryAdvice::Final,
            Some(trouble) if self.is_last => RetryAdvice::Refrain { trouble, after: self.retry_after },
            Some(trouble) => RetryAdvice::Again { trouble, after: self.retry_after },
        }
    }

    fn reason(&self) -> String {
        self.error.to_string()
    }
}

/// Returns what is wrong when a server answers with this status, or with one that stands for it.
fn trouble_of_status(error: &Error, status: u16) -> Option<Trouble> {
    match trouble(error) {
        // The last three are what gateways say of a request that takes too long for them, each time.
        Some(Trouble::Away) if matches!(status, 500 | 408 | 504 | 524) => Some(Trouble::Failing),
        // The provider is there; its model failed, on this request.
        Some(Trouble::Away) if status == 424 => Some(Trouble::Broken),
        Some(Trouble::Away) if status == 403 => Some(Trouble::Blocked),
        other => other,
    }
}

fn trouble(error: &Error) -> Option<Trouble> {
    match error {
        Error::RateLimited { .. } => Some(Trouble::Limited),
        Error::Overloaded { .. } | Error::Transport { .. } => Some(Trouble::Away),
        Error::Malformed { .. } => Some(Trouble::Unreadable),
        Error::Timeout { .. } => Some(Trouble::Slow),
        Error::ContextWindow { .. }
        | Error::Auth { .. }
        | Error::BadRequest { .. }
        | Error::Quota { .. }
        | Error::Refused { .. }
        | Error::TooLong { .. } => None,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let retry_after = match &error {
            Error::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        };
        let trouble = trouble(&error);
        Self { error, retry_after, trouble, is_last: false, paid: None, written: None }
    }
}

/// What the headers of an answer say of another attempt, whatever its status.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    wait: Option<Duration>,
    /// Whether it may help at all, where that is said.
    again: Option<bool>,
}

impl Asked {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let again = headers.get("x-should-retry").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Self { wait: retry_after(headers), again }
    }
}

/// Returns the failure that an HTTP answer reports.
pub(super) fn of_status(model: &ModelName, status: u16, headers: &HeaderMap, body: &str) -> Failure {
    if (300..400).contains(&status) {
        return moved(model, status, headers);
    }
    let (asked, mut reported) = (Asked::of(headers), Reported::from_body(body));
    // Amazon names a failure in a header alone, and may put an address behind it.
    let named = headers.get("x-amzn-errortype").and_then(|name| name.to_str().ok()).unwrap_or_default();
    reported.used_up |= net::is_used_up(named.split(':').next(), "");
    Reported { wait: asked.wait.or(reported.wait), ..reported }.failure(model, Some(status)).asked(asked)
}

/// Fails a call whose server says that it is elsewhere: question and key would go wherever it leads.
fn moved(model: &ModelName, status: u16, headers: &HeaderMap) -> Failure {
    let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).map(|to| match Url::parse(to) {
        Ok(url) => net::shown_url(&url),
        Err(_) => to.split('?').next().unwrap_or_default().to_owned(),
    });
    let to = to.map(|to| format!(", {to}")).unwrap_or_default();
    let detail = format!("{status} it is at another address{to}; Fathom follows no redirects: correct its base URL");
    Error::BadRequest { model: model.clone(), detail }.into()
}

/// Returns the failure reported by the `error` field of a body or stream chunk that came with status 200, as
/// OpenRouter sends it.
pub(super) fn of_error_field(model: &ModelName, error: &Value) -> Failure {
    Reported::from_error(error).failure(model, None)
}

/// Returns the failure reported by a body or stream chunk that is nothing but an error, and came with status 200.
pub(super) fn of_body(model: &ModelName, body: &str) -> Failure {
    Reported::from_body(body).failure(model, None)
}

/// Returns the failure that a stream of Amazon's reports in place of an event.
pub(super) fn of_exception(model: &ModelName, name: &str, message: &Value) -> Failure {
    let status = match name {
        "throttlingException" => 429,
        "validationException" => 400,
        "accessDeniedException" => 403,
        "resourceNotFoundException" => 404,
        "modelTimeoutException" => 408,
        "modelStreamErrorException" => 424,
        "serviceUnavailableException" => 503,
        _ => 500,
    };
    let body = json!({"code": name, "message": message});
    of_status(model, status, &HeaderMap::new(), &body.to_string())
}

/// Returns an answer that was given up without a reason and has its price.
pub(super) fn broken_off(model: &ModelName) -> Failure {
    let error = Error::Overloaded { model: model.clone(), detail: "the provider broke off".to_owned() };
    Failure { trouble: Some(Trouble::Broken), ..error.into() }
}

/// Returns a page for people in place of an answer: of a proxy, most likely, so no model has been asked.
pub(super) fn web_page(model: &ModelName) -> Failure {
    let error = Error::Malformed { model: model.clone(), detail: "an HTML page".to_owned() };
    Failure { trouble: Some(Trouble::Failing), ..error.into() }
}

/// Fails a call whose answer is longer than any can be; the model may have been paid for all of it, so it is not asked
/// for again.
pub(super) fn too_long(model: &ModelName, what: &str, max_bytes: usize) -> Failure {
    Error::TooLong { model: model.clone(), detail: format!("{what} is longer than {max_bytes} bytes") }.into()
}

/// Returns `text` on one line and not too long.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let room = MAX_DETAIL_CHARS.saturating_sub(line.chars().count() + 1);
        if room < word.chars().count() {
            line.extend(word.chars().take(room));
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// What an error body says, whichever vendor's it is.
#[derive(Debug, Default)]
struct Reported {
    /// `error.code` when it is a word.
    code: String,
    /// `error.code` when it is a number: an HTTP status (llama.cpp, OpenRouter), or one of the vendor's own.
    number: Option<u64>,
    /// `error.type`.
    kind: String,
    /// Anthropic's further code of a limit of money, which comes as one of rate.
    limit: String,
    message: String,
    /// It is a page for people, of a proxy or a firewall.
    is_page: bool,
    /// llama.cpp's window per request.
    n_ctx: Option<u32>,
    /// Gemini's word for a status.
    word: String,
    /// Gemini's wait, or OpenRouter's.
    wait: Option<Duration>,
    /// A quota that no wait of ours heals.
    used_up: bool,
    /// The key is wrong, although the status says otherwise.
    bad_key: bool,
    /// OpenRouter's moderation marks its refusals.
    flagged: bool,
    /// Groq's, of a model's text that was to be a call.
    written: String,
}

impl Reported {
    fn from_body(body: &str) -> Self {
        let parsed = serde_json::from_str::<Value>(body);
        let parsed = parsed.as_ref().map(|parsed| match parsed {
            // Gemini's way through its OpenAI-compatible door.
            Value::Array(list) => list.first().unwrap_or(&Value::Null),
            other => other,
        });
        match parsed {
            Ok(Value::Null) => Self::default(),
            Ok(fields @ Value::Object(_)) => match &fields["error"] {
                // vLLM (older) and FastAPI servers put the fields at the top.
                Value::Null => Self::from_error(fields),
                error => Self::from_error(error),
            },
            _ if is_html(body) => Self { message: "an HTML page".to_owned(), is_page: true, ..Self::default() },
            _ => Self { message: body.to_owned(), ..Self::default() },
        }
    }

    fn from_error(error: &Value) -> Self {
        let word = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        let message = message(error);
        let code = &error["code"];
        let text = code.as_str().map(str::trim);
        let number = code.as_u64().or_else(|| text.and_then(|text| text.parse().ok()));
        Self {
            number,
            code: text.filter(|_| number.is_none()).unwrap_or_default().to_owned(),
            kind: word("type"),
            limit: error["details"]["error_code"].as_str().unwrap_or_default().to_owned(),
            word: word("status"),
            wait: details(error)
                .find_map(|detail| delay(detail["retryDelay"].as_str()?))
                .or_else(|| reset(error))
                .or_else(|| said_wait(&message)),
            message,
            is_page: false,
            written: word("failed_generation"),
            used_up: details(error).any(has_daily_quota),
            bad_key: details(error).any(|detail| detail["reason"] == "API_KEY_INVALID"),
            n_ctx: error["n_ctx"].as_u64().and_then(|tokens| u32::try_from(tokens).ok()),
            flagged: error.pointer("/metadata/flagged_input").is_some() || error.pointer("/metadata/reasons").is_some(),
        }
    }

    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.code.as_str()) || names.contains(&self.kind.as_str())
    }

    /// Returns whether a filter refuses the request: OpenAI has a code for each of its policies.
    fn is_refusal(&self) -> bool {
        self.is(&["content_filter", "invalid_prompt"]) || self.code.contains("_policy") || self.kind.contains("_policy")
    }

    /// Returns the HTTP status, or for errors that came with a 200 the status they stand for.
    fn status(&self, http: Option<u16>) -> u16 {
        let refused = self.is_refusal().then_some(400);
        let code = self.number.and_then(|number| u16::try_from(number).ok()).filter(|code| (400..600).contains(code));
        http.or(code).or(refused).unwrap_or_else(|| {
            let kinds: [(&[&str], u16); 9] = [
                (&["rate_limit_exceeded", "rate_limit_error", "slow_down", "tokens", "requests"], 429),
                (&["invalid_request_error", "context_length_exceeded"], 400),
                (&["authentication_error", "permission_error", "invalid_api_key"], 401),
                (&["not_found_error", "model_not_found"], 404),
                (&["request_too_large"], 413),
                (&["overloaded_error", "server_is_overloaded", "overloaded"], 529),
                (&["billing_error"], 402),
                (&["timeout_error"], 504),
                (&["server_error", "api_error"], 500),
            ];
            let words = [
                ("RESOURCE_EXHAUSTED", 429),
                ("INVALID_ARGUMENT", 400),
                ("FAILED_PRECONDITION", 400),
                ("UNAUTHENTICATED", 401),
                ("PERMISSION_DENIED", 403),
                ("NOT_FOUND", 404),
                ("UNAVAILABLE", 503),
                ("DEADLINE_EXCEEDED", 504),
            ];
            if let Some((_, status)) = words.iter().find(|(word, _)| *word == self.word) {
                return *status;
            }
            let other = || if self.says_used_up() { 429 } else { 500 };
            kinds.iter().find(|(names, _)| self.is(names)).map_or_else(other, |(_, status)| *status)
        })
    }

    fn failure(mut self, model: &ModelName, http: Option<u16>) -> Failure {
        let (status, wait) = (self.status(http), self.wait);
        // No wait of ours gives Ollama's machine more memory, or llama.cpp's server what it was started without.
        let is_lasting = status == 501 || self.message.contains("requires more system memory");
        let written = Some(std::mem::take(&mut self.written)).filter(|written| !written.is_empty());
        let written = written.or_else(|| unread_call(&self.message).map(str::to_owned));
        let error = self.error(model, status);
        let has_wait = matches!(error, Error::RateLimited { .. } | Error::Overloaded { .. });
        let trouble = match &error {
            Error::Overloaded { .. } if is_lasting => None,
            Error::Malformed { .. } => Some(Trouble::Broken),
            error => trouble_of_status(error, status),
        };
        Failure {
            error,
            retry_after: wait.filter(|_| has_wait),
            trouble,
            is_last: false,
            paid: None,
            written: written.map(Into::into),
        }
    }

    fn error(self, model: &ModelName, status: u16) -> Error {
        let model = model.clone();
        if let Some(limit) = self.overflow(status) {
            return Error::ContextWindow { model, limit };
        }
        let detail = self.detail(status);
        match status {
            _ if self.bad_key || self.is(UNKNOWN_KEYS) => Error::Auth { model, detail },
            _ if self.used_up || self.says_used_up() => Error::Quota { model, detail },
            _ if self.is(UNREADABLE_CALLS) || unread_call(&self.message).is_some() => {
                Error::Malformed { model, detail }
            }
            _ if is_of_template(&self.message) => Error::BadRequest { model, detail },
            _ if self.flagged || self.is_refusal() => Error::Refused { model, detail },
            // A provider refuses keys in words of its own.
            403 if self.is_page => Error::Transport { model, detail: format!("{detail}, of a firewall before it") },
            401 | 403 => Error::Auth { model, detail },
            429 if self.is_used_up_for_long() => Error::Quota { model, detail },
            429 => Error::RateLimited { model, retry_after: self.wait },
            408 | 409 | 424 | 425 | 500.. => Error::Overloaded { model, detail },
            402 => Error::Quota { model, detail },
            _ => Error::BadRequest { model, detail },
        }
    }

    fn says_used_up(&self) -> bool {
        net::is_used_up([&*self.code, &*self.kind, &*self.limit], &self.message)
    }

    /// Returns whether a 429 is one that no wait of ours heals.
    fn is_used_up_for_long(&self) -> bool {
        let says = || self.wait.is_none_or(|wait| wait.is_zero()) && net::is_used_up_for_long(&self.message);
        self.number.is_some_and(net::is_used_up_by_number) || says()
    }

    /// Returns `Some` when the request was too long; inside, the window in tokens when known.
    fn overflow(&self, status: u16) -> Option<Option<u32>> {
        let named = self.is(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"]);
        // Servers send it as 400, 413 or 422, some proxies as 500. A 429 with these words is OpenAI's "larger than a
        // minute's tokens", where waiting never helps and shortening does.
        let text_counts = matches!(status, 400 | 413 | 422 | 429 | 500);
        let worded = if text_counts { overflow_in(&self.message) } else { None };
        if named || status == 413 || self.n_ctx.is_some() || worded.is_some() {
            return Some(self.n_ctx.or(worded.flatten()));
        }
        None
    }

    fn detail(&self, status: u16) -> String {
        let words: Vec<_> =
            [self.code.as_str(), self.message.as_str()].into_iter().filter(|word| !word.is_empty()).collect();
        format!("{status} {}", words.join(": "))
    }
}

/// Words for a key that is none although the status says otherwise: LiteLLM that keeps no keys looks for other ones
/// than its own in vain.
const UNKNOWN_KEYS: &[&str] = &["no_db_connection"];

/// Words for a model's text that should be a call and cannot be read as one: another attempt may do better.
const UNREADABLE_CALLS: &[&str] = &["tool_use_failed"];

/// How servers of one's own say the same, with a 500, and what stands before the model's text and behind it: two of
/// llama.cpp, and Ollama's.
const UNREADABLE_TEXTS: [(&str, &str); 3] = [
    ("Failed to parse input at pos ", ""),
    ("Failed to parse tool call arguments as JSON", ""),
    ("error parsing tool call: raw='", "', err="),
];

/// Returns the text of a model that its server could not read as a call; empty where it does not say it.
fn unread_call(message: &str) -> Option<&str> {
    UNREADABLE_TEXTS.iter().find_map(|(before, behind)| {
        let (_, written) = message.split_once(*before)?;
        let written = written.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start_matches([':', ' ']);
        Some(if behind.is_empty() { written } else { written.rsplit_once(*behind).map_or(written, |(raw, _)| raw) })
    })
}

/// Returns whether the template of a model on a server of one's own does not take the conversation, whatever the
/// status: llama.cpp's is 500.
pub(super) fn is_of_template(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("jinja exception") || message.contains("roles must alternate")
}

/// Returns Gemini's details of an error.
fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error["details"].as_array().into_iter().flatten()
}

fn has_daily_quota(detail: &Value) -> bool {
    let quota = |violation: &Value| violation["quotaId"].as_str().is_some_and(|id| id.contains("PerDay"));
    detail["violations"].as_array().is_some_and(|violations| violations.iter().any(quota))
}

/// Returns a length of time such as `14s`.
fn delay(text: &str) -> Option<Duration> {
    net::asked_wait(text.strip_suffix('s')?.parse().ok()?)
}

/// How the words begin after which a wait follows, in lower case: OpenAI's, and Azure's.
const SAID_WAITS: [&str; 2] = ["try again in ", "retry after "];

/// Returns the wait that a sentence asks for: `6.5s`, `850ms`, `1m12s`, `6 seconds`.
fn said_wait(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    let (_, said) = SAID_WAITS.iter().find_map(|words| message.split_once(words))?;
    let mut words = said.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')']));
    let (length, unit) = (words.next()?, words.next().unwrap_or_default());
    let scale = match unit {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 0.001,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => 1.0,
    };
    net::asked_wait(net::span(length)?.as_secs_f64() * scale)
}

/// Returns the wait until the time at which OpenRouter's limit is over, in milliseconds since 1970.
fn reset(error: &Value) -> Option<Duration> {
    let at = error.pointer("/metadata/headers/X-RateLimit-Reset")?;
    let at: f64 = at.as_f64().or_else(|| at.as_str()?.trim().parse().ok())?;
    let now = OffsetDateTime::now_utc().unix_timestamp() as f64;
    net::asked_wait((at / 1000.0 - now).max(0.0))
}

/// Returns the sentence in an error object. What an upstream provider said goes with OpenRouter's own "Provider
/// returned error".
fn message(error: &Value) -> String {
    if let Some(text) = error.as_str() {
        return text.to_owned();
    }
    let texts = ["message", "detail", "error_msg"].map(|key| match &error[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    });
    let upstream = match error.pointer("/metadata/raw") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let texts: Vec<_> = texts.into_iter().chain([upstream]).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

pub(super) fn is_html(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

/// How servers say that a request is too long, in lower case, and the words after which the window's size follows.
const OVERFLOWS: &[(&str, &str)] = &[
    // OpenAI, vLLM, DeepSeek, OpenRouter: "This model's maximum context length is 8192 tokens. However, …"
    ("maximum context length is", "maximum context length is"),
    // OpenAI: "Request too large for gpt-4o … on tokens per min (TPM): Limit 30000, Requested 40000."
    ("request too large for", "limit"),
    // llama.cpp: "request (40034 tokens) exceeds the available context size (4096 tokens), try increasing it"
    ("exceeds the available context size", "exceeds the available context size"),
    // Anthropic: "prompt is too long: 210034 tokens > 200000 maximum"
    ("prompt is too long", ">"),
    // Anthropic: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease …"
    ("exceed context limit", ">"),
    // Gemini: "The input token count (1200034) exceeds the maximum number of tokens allowed (1048576)."
    ("exceeds the maximum number of tokens allowed", "allowed"),
    // xAI: "This model's maximum prompt length is 131072 but the request contains 200034 tokens."
    ("maximum prompt length is", "maximum prompt length is"),
    // vLLM: "The decoder prompt (length 5034) is longer than the maximum model length of 4096."
    ("longer than the maximum model length", "maximum model length of"),
    // vLLM: "… the model's context length is only 32768 tokens, resulting in a maximum input length of 22768 tokens."
    ("context length is only", "context length is only"),
    // LM Studio: "Trying to keep the first 5034 tokens when context the overflows. However, the model is loaded with
    // context length of only 4096 tokens"
    ("when context the overflows", "context length of only"),
    // LM Studio: "cannot truncate prompt with n_keep (5034) >= n_ctx (4096)"
    ("cannot truncate prompt with n_keep", ">= n_ctx"),
    // llama.cpp and LM Studio, where the answer has no room left: a 500 with "Context size has been exceeded."
    ("context size has been exceeded", ""),
    // Ollama: "the input length exceeds the context length"; Mistral: "… too large for model with 32768 maximum
    // context length"; Bedrock: "Input is too long for requested model."; Groq: "Please reduce the length of the …".
    ("exceeds the context length", ""),
    // LiteLLM: "Requested token count exceeds the model's maximum context length of 8192 tokens"; other proxies: "Input
    // length (9034) exceeds model's maximum context length (8192)."
    ("maximum context length of", "maximum context length of"),
    ("exceeds model's maximum context length", "maximum context length"),
    ("maximum context length", ""),
    ("input is too long", ""),
    // OpenAI: "input tokens exceed the configured limit of 272000 tokens"; Bedrock: "input tokens exceeded".
    ("input tokens exceed the configured limit", "limit of"),
    ("input tokens exceeded", ""),
    // Cerebras, before the words of Groq: "Please reduce the length of the messages or completion. Current length is
    // 9034 while limit is 8192"
    ("while limit is", "while limit is"),
    ("reduce the length of the messages", ""),
    ("exceeds the context window", ""),
    // Ollama: "prompt too long; exceeded max context length by 42 tokens"
    ("exceeded max context length", ""),
    // Together: "The input (9034 tokens) is longer than the model's context length (8192 tokens)."
    ("longer than the model's context length", "context length"),
    // Kimi: "Invalid request: Your request exceeded model token limit: 8192 (requested: 9034)"
    ("exceeded model token limit", "limit"),
    // LM Studio: "The number of tokens to keep from the initial prompt is greater than the context length."
    ("greater than the context length", ""),
    // Poolside: "Input length 140034 exceeds the maximum allowed input length of 131072 tokens."
    ("exceeds the maximum allowed input length", "input length of"),
    // MiniMax: "invalid params, context window exceeds limit"
    ("context window exceeds limit", ""),
    // DashScope: "Range of input length should be [1, 30720]"
    ("range of input length should be", ","),
    // Z.ai: "Prompt exceeds max length"
    ("prompt exceeds max length", ""),
    // Copilot: "prompt token count of 140034 exceeds the limit of 131072"
    ("prompt token count of", "exceeds the limit of"),
    // Cohere: "too many tokens: size limit exceeded by 42 tokens."
    ("too many tokens: size limit exceeded", ""),
    // TGI: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."
    ("`max_new_tokens` must be <=", "<="),
    // TGI: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5034"
    ("`inputs` must have less than", "less than"),
    // Cloudflare: "The estimated number of input and maximum output tokens (33000) exceeded this model context window
    // limit (32000)."
    ("exceeded this model context window limit", "window limit"),
    // LiteLLM, before the words of the provider that it called.
    ("contextwindowexceedederror", ""),
];

/// Words of a limit on how much is asked for in a time, which may use those of an overflow as well.
const LIMITS_OF_RATE: [&str; 3] = ["rate limit", "too many requests", "throttling"];

fn overflow_in(message: &str) -> Option<Option<u32>> {
    let message = message.to_lowercase();
    if LIMITS_OF_RATE.iter().any(|words| message.contains(words)) {
        return None;
    }
    let (phrase, before_limit) = OVERFLOWS.iter().find(|(phrase, _)| message.contains(phrase))?;
    let start = message.find(phrase)?;
    let limit = message[start..].split_once(before_limit).filter(|_| !before_limit.is_empty());
    Some(limit.and_then(|(_, rest)| leading_number(rest)))
}

/// Returns the number that begins `text`, after a few marks.
pub(super) fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches([' ', ':', '(', '=']);
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Reads `retry-after-ms`, which OpenAI's servers add, or `Retry-After`.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let millis = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    match millis {
        Some(millis) => net::asked_wait(millis / 1000.0),
        None => net::retry_after(headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model() -> ModelName {
        "openai:gpt-4.1".parse().unwrap()
    }

    fn reported(status: u16, body: &str) -> Error {
        of_status(&model(), status, &HeaderMap::new(), body).error
    }

    fn openai(status: u16, kind: &str, code: Value, message: &str) -> Error {
        reported(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string())
    }

    fn window(limit: impl Into<Option<u32>>) -> Error {
        Error::ContextWindow { model: model(), limit: limit.into() }
    }

    fn bad_request(detail: &str) -> Error {
        Error::BadRequest { model: model(), detail: detail.to_owned() }
    }

    #[test]
    fn an_integer_code_is_read() {
        let body = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
        let detail = "503 Loading model".to_owned();
        assert_eq!(reported(503, body), Error::Overloaded { model: model(), detail });
        let error = json!({"code": "429", "message": "slow down"});
        assert_eq!(of_error_field(&model(), &error).error, Error::RateLimited { model: model(), retry_after: None });
    }

    /// Also in a stream that began well; a limit of the day is no wait of ours.
    #[test]
    fn a_router_says_when_its_limit_is_over() {
        let error = |what: &str, reset: Value| {
            json!({"code": 429, "message": format!("Rate limit exceeded: free-models-per-{what}"),
                "metadata": {"headers": {"X-RateLimit-Limit": "20", "X-RateLimit-Reset": reset}, "provider_name": null}})
        };
        let soon = (OffsetDateTime::now_utc().unix_timestamp() + 30) * 1000;
        for reset in [json!(soon), json!(soon.to_string())] {
            let failure = of_error_field(&model(), &error("min", reset.clone()));
            let wait = failure.retry_after.unwrap();
            assert!((25..=30).contains(&wait.as_secs()), "{wait:?}");
            assert_eq!(failure.error, Error::RateLimited { model: model(), retry_after: Some(wait) });
            let body = json!({"error": error("min", reset)}).to_string();
            assert!(matches!(reported(429, &body), Error::RateLimited { retry_after: Some(_), .. }));
        }
        for reset in [json!(0), json!(-1e300), json!("soon"), Value::Null] {
            let wait = of_error_field(&model(), &error("min", reset)).retry_after;
            assert!(wait.is_none_or(|wait| wait.is_zero()), "{wait:?}");
        }
        assert!(matches!(of_error_field(&model(), &error("day", json!(soon))).error, Error::Quota { .. }));
    }

    #[test]
    fn llama_cpp_tells_its_window() {
        let body = r#"{"error":{"code":400,"message":"request (40034 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40034,"n_ctx":4096}}"#;
        assert_eq!(reported(400, body), window(4096));
    }

    #[test]
    fn every_vendors_wording_of_a_context_overflow_is_known() {
        fn check(message: &str, limit: impl Into<Option<u32>>) {
            assert_eq!(openai(400, "invalid_request_error", Value::Null, message), window(limit), "{message}");
        }
        check(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9034 tokens.",
            8192,
        );
        check(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 200034 tokens",
            131_072,
        );
        check("prompt is too long: 210034 tokens > 200000 maximum", 200_000);
        check(
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
            200_000,
        );
        check("The input token count (1200034) exceeds the maximum number of tokens allowed (1048576).", 1_048_576);
        check("The input token count exceeds the maximum number of tokens allowed 1048576.", 1_048_576);
        check("This model's maximum prompt length is 131072 but the request contains 200034 tokens.", 131_072);
        check("The decoder prompt (length 5034) is longer than the maximum model length of 4096.", 4096);
        check("the input length exceeds the context length", None);
        check("Prompt contains 40034 tokens, too large for model with 32768 maximum context length", None);
        check("Input is too long for requested model.", None);
        check("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300034.", 272_000);
        check("input tokens exceeded", None);
        check("Requested token count exceeds the model's maximum context length of 8192 tokens.", 8192);
        check("Input length (9034) exceeds model's maximum context length (8192).", 8192);
        check("Please reduce the length of the messages or completion.", None);
        check(
            "Please reduce the length of the messages or completion. Current length is 9034 while limit is 8192",
            8192,
        );
        check("prompt too long; exceeded max context length by 42 tokens", None);
        check("The input (9034 tokens) is longer than the model's context length (8192 tokens).", 8192);
        check("Invalid request: Your request exceeded model token limit: 8192 (requested: 9034)", 8192);
        check(
            "The number of tokens to keep from the initial prompt is greater than the context length. Try to load it.",
            None,
        );
        check("Input length 140034 exceeds the maximum allowed input length of 131072 tokens.", 131_072);
        check("invalid params, context window exceeds limit", None);
        check("prompt token count of 140034 exceeds the limit of 131072", 131_072);
        check("too many tokens: size limit exceeded by 42 tokens. Try a shorter prompt.", None);
        check("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", 4096);
        check(
            "You passed 31745 input tokens and requested 10000 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 22768 tokens. Please reduce the length of the input prompt.",
            32_768,
        );
        check(
            "Trying to keep the first 5034 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            4096,
        );
        check("cannot truncate prompt with n_keep (5034) >= n_ctx (4096)", 4096);
        check("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", 30_720);
        check("Prompt exceeds max length", None);
        check("Input validation error: `inputs` must have less than 4096 tokens. Given: 5034", 4096);
        check(
            "The estimated number of input and maximum output tokens (33000) exceeded this model context window limit (32000).",
            32_000,
        );
        check("litellm.ContextWindowExceededError: litellm.BadRequestError: model=m. fallbacks=None.", None);
        check("litellm.ContextWindowExceededError: maximum context length is 8192 tokens. However, …", 8192);
    }

    /// Asked again as it is, it would fail again for as long as there is time.
    #[test]
    fn a_server_error_may_be_an_overflow() {
        let error = json!({"code": 500, "message": "Context size has been exceeded.", "type": "server_error"});
        assert_eq!(reported(500, &json!({ "error": error }).to_string()), window(None));
        assert_eq!(of_error_field(&model(), &error).error, window(None));
        assert_eq!(of_error_field(&model(), &json!("Context size has been exceeded.")).error, window(None));
    }

    #[test]
    fn a_limit_of_rate_is_no_overflow() {
        for words in ["Rate limit reached", "Too many requests", "ThrottlingException: Throttling"] {
            let message = format!("{words}: input tokens exceeded, prompt is too long: 210034 tokens > 200000 maximum");
            let error = openai(429, "rate_limit_error", Value::Null, &message);
            assert_eq!(error, Error::RateLimited { model: model(), retry_after: None }, "{message}");
        }
    }

    #[test]
    fn a_code_tells_an_overflow_without_words() {
        let code = json!("context_length_exceeded");
        assert_eq!(openai(400, "invalid_request_error", code, "Too many."), window(None));
        assert_eq!(reported(413, "<html>Request Entity Too Large</html>"), window(None));
        let ollama = r#"{"error":"the input length exceeds the context length"}"#;
        assert_eq!(reported(400, ollama), window(None));
    }

    #[test]
    fn a_request_larger_than_a_minutes_tokens_must_shrink_not_wait() {
        let message = "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40034. The input or output tokens must be reduced in order to run successfully.";
        assert_eq!(openai(429, "tokens", json!("rate_limit_exceeded"), message), window(30_000));
    }

    #[test]
    fn a_wrong_key_model_or_parameter_is_no_overflow() {
        let key = "Incorrect API key provided: sk-***. You can find your API key at …";
        let error = openai(401, "invalid_request_error", json!("invalid_api_key"), key);
        assert_eq!(error, Error::Auth { model: model(), detail: format!("401 invalid_api_key: {key}") });
        let error = openai(404, "invalid_request_error", json!("model_not_found"), "The model `gpt-9` does not exist");
        assert_eq!(error, bad_request("404 model_not_found: The model `gpt-9` does not exist"));
        let error = openai(400, "invalid_request_error", Value::Null, "max_tokens is too large: 99999.");
        assert_eq!(error, bad_request("400 max_tokens is too large: 99999."));
        let error = openai(429, "requests", Value::Null, "Quota exceeded for input tokens per minute");
        assert_eq!(error, Error::RateLimited { model: model(), retry_after: None });
    }

    #[test]
    fn a_key_that_litellm_does_not_know_is_a_wrong_key() {
        let error = openai(400, "no_db_connection", json!("400"), "No connected db.");
        assert_eq!(error, Error::Auth { model: model(), detail: "400 No connected db.".to_owned() });
    }

    #[test]
    fn a_used_up_quota_is_final_although_it_is_a_429() {
        let error = openai(429, "insufficient_quota", json!("insufficient_quota"), "You exceeded your current quota");
        assert_eq!(
            error,
            Error::Quota {
                model: model(),
                detail: "429 insufficient_quota: You exceeded your current quota".to_owned()
            }
        );
        let error = reported(402, r#"{"error":{"message":"Insufficient credits","code":402}}"#);
        assert_eq!(error, Error::Quota { model: model(), detail: "402 Insufficient credits".to_owned() });
    }

    /// With statuses of a bad request, a wrong key or a limit of rate.
    #[test]
    fn a_limit_of_money_may_be_said_in_words_alone() {
        let anthropic =
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.";
        let xai = "Your team t has either used all available credits or reached its monthly spending limit.";
        for (status, message) in [(400, anthropic), (403, xai), (429, xai)] {
            let error = openai(status, "invalid_request_error", Value::Null, message);
            assert_eq!(error, Error::Quota { model: model(), detail: format!("{status} {message}") });
            assert!(error.is_of_provider(), "another model is asked");
        }
    }

    #[test]
    fn a_budget_and_a_day_that_are_used_up_are_not_waited_for() {
        let used_up = |status: u16, body: Value| matches!(reported(status, &body.to_string()), Error::Quota { .. });
        let budget = |code: &str| {
            let message = "Budget has been exceeded! Current cost: 26.075, Max budget: 0.25";
            json!({"error": {"message": message, "type": "budget_exceeded", "param": null, "code": code}})
        };
        assert!(used_up(429, budget("429")) && used_up(400, budget("400")));
        let limit = json!({"error": {"message": "Max budget limit reached.", "type": "None", "code": "429"}});
        assert!(used_up(429, limit));
        let allotted =
            json!({"statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 01:23:45."});
        assert!(used_up(403, allotted));
        let day = json!({"message": "Too many tokens per day, please wait before trying again."});
        assert!(used_up(429, day.clone()));
        let minute = json!({"message": "Too many tokens, please wait before trying again."});
        assert!(!used_up(429, minute));
        // A day that fills up again all the time.
        let rolling =
            "Rate limit reached for model m on tokens per day (TPD): Limit 100, Used 99. Please try again in 7m12s.";
        let wait = Some(Duration::from_secs(432));
        assert_eq!(
            openai(429, "tokens", json!("rate_limit_exceeded"), rolling),
            Error::RateLimited { model: model(), retry_after: wait }
        );
        let headers =
            HeaderMap::from_iter([(reqwest::header::RETRY_AFTER, reqwest::header::HeaderValue::from_static("30"))]);
        assert!(matches!(of_status(&model(), 429, &headers, &day.to_string()).error, Error::RateLimited { .. }));
    }

    #[test]
    fn a_quota_in_a_stream_is_said_with_a_status_that_fits() {
        let error = json!({"message": "You exceeded your current quota", "code": "insufficient_quota"});
        let detail = "429 insufficient_quota: You exceeded your current quota".to_owned();
        assert_eq!(of_error_field(&model(), &error).error, Error::Quota { model: model(), detail });
    }

    #[test]
    fn a_server_that_is_elsewhere_says_where() {
        fn check(location: Option<&'static str>, to: &str) {
            let value = location.map(|to| (LOCATION, reqwest::header::HeaderValue::from_static(to)));
            let failure = of_status(&model(), 308, &HeaderMap::from_iter(value), "<html>moved</html>");
            let detail = format!("308 it is at another address{to}; Fathom follows no redirects: correct its base URL");
            assert_eq!(failure.error, bad_request(&detail));
        }
        check(Some("https://u:p@new.test/v1/chat?key=k"), ", https://new.test/v1/chat");
        check(Some("/login?next=secret"), ", /login");
        check(None, "");
    }

    /// Z.ai's accounts without money and plans that are used up; with other statuses such numbers may be anybody's.
    #[test]
    fn an_account_may_say_by_a_number_that_it_is_used_up() {
        let message = "Insufficient balance or no resource package. Please recharge.";
        let failed = |status: u16, code: Value| openai(status, "", code, message);
        let used_up = Error::Quota { model: model(), detail: format!("429 {message}") };
        for number in [1113, 1308, 1311, 1313, 1321] {
            assert_eq!(failed(429, json!(number)), used_up, "{number}");
            assert_eq!(failed(429, json!(number.to_string())), used_up, "{number}");
            assert_eq!(failed(400, json!(number)), bad_request(&format!("400 {message}")), "{number}");
        }
        for number in [1112, 1302, 1305, 1312, 1322, 429] {
            assert_eq!(
                failed(429, json!(number)),
                Error::RateLimited { model: model(), retry_after: None },
                "{number}"
            );
        }
    }

    #[test]
    fn refusals_of_filters_are_refusals() {
        let error = openai(400, "invalid_request_error", json!("content_filter"), "filtered");
        assert_eq!(error, Error::Refused { model: model(), detail: "400 content_filter: filtered".into() });
        for code in ["content_policy_violation", "invalid_prompt", "cyber_policy", "bio_policy", "policy_of_tomorrow"] {
            let is_refused = code != "policy_of_tomorrow";
            let error = openai(400, "invalid_request_error", json!(code), "filtered");
            assert_eq!(matches!(error, Error::Refused { .. }), is_refused, "{error:?}");
            let failure = of_error_field(&model(), &json!({"code": code, "message": "filtered"}));
            assert_eq!(failure.advice() == RetryAdvice::Final, is_refused, "{failure:?}");
        }
        let body = json!({"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "…"}}});
        let error = reported(403, &body.to_string());
        assert_eq!(error, Error::Refused { model: model(), detail: "403 flagged".into() });
    }

    #[test]
    fn an_upstream_error_behind_a_router_is_read() {
        let error = json!({"code": 400, "message": "Provider returned error", "metadata": {"provider_name": "Anthropic",
            "raw": "{\"type\":\"error\",\"error\":{\"message\":\"prompt is too long: 210034 tokens > 200000 maximum\"}}"}});
        assert_eq!(of_error_field(&model(), &error).error, window(200_000));
    }

    #[test]
    fn an_error_of_the_servers_own_differs_from_one_that_is_away_with_any_status() {
        for error in [json!({"code": 500, "message": "oops"}), json!({"message": "oops"}), json!("oops")] {
            assert_eq!(of_error_field(&model(), &error).trouble, Some(Trouble::Failing), "{error}");
        }
        assert_eq!(of_status(&model(), 500, &HeaderMap::new(), "oops").trouble, Some(Trouble::Failing));
        let error = json!({"code": 503, "message": "busy"});
        assert_eq!(of_error_field(&model(), &error).trouble, Some(Trouble::Away));
        assert_eq!(broken_off(&model()).trouble, Some(Trouble::Broken));
    }

    /// Amazon's, when the model behind it fails: says nothing of the request or of who else is served.
    #[test]
    fn a_failure_of_the_model_alone_is_one_of_its_answer() {
        let body = r#"{"message": "The model failed.", "originalStatusCode": 500, "resourceName": "m"}"#;
        let failures = [
            of_status(&model(), 424, &HeaderMap::new(), body),
            of_exception(&model(), "modelStreamErrorException", &json!("The model failed.")),
        ];
        for failure in failures {
            assert!(matches!(failure.error, Error::Overloaded { .. }), "{:?}", failure.error);
            assert!(failure.error.is_of_provider(), "another model is asked");
            assert_eq!(failure.trouble, Some(Trouble::Broken));
        }
    }

    #[test]
    fn a_call_that_a_server_of_ones_own_cannot_read_is_the_models_failure() {
        fn check(message: &str, written: Option<&str>) {
            let body = json!({"error": {"code": 500, "message": message, "type": "server_error"}}).to_string();
            for body in [body, json!({ "error": message }).to_string()] {
                let failure = of_status(&model(), 500, &HeaderMap::new(), &body);
                assert!(matches!(failure.error, Error::Malformed { .. }), "{message}: {:?}", failure.error);
                assert_eq!(
                    (failure.trouble, failure.written.as_deref()),
                    (Some(Trouble::Broken), written),
                    "{message}"
                );
            }
        }
        check("Failed to parse input at pos 12: </tool_call>", Some("</tool_call>"));
        check(
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error",
            Some("[json.exception.parse_error.101] parse error"),
        );
        check(r#"error parsing tool call: raw='{"q": 'x'}]', err=invalid character ']'"#, Some(r#"{"q": 'x'}]"#));
    }

    #[test]
    fn a_conversation_that_a_template_does_not_take_is_a_bad_request() {
        let roles = "After the optional system message, conversation roles must alternate user and assistant roles.";
        for message in [roles.to_owned(), format!("Value is not callable at row 1. Jinja Exception: {roles}")] {
            let failure = of_status(&model(), 500, &HeaderMap::new(), &json!({ "error": message }).to_string());
            assert!(matches!(failure.error, Error::BadRequest { .. }), "{:?}", failure.error);
            assert_eq!(failure.advice(), RetryAdvice::Final);
        }
    }

    #[test]
    fn what_a_server_cannot_do_is_not_waited_for_and_another_may_be_asked() {
        let memory = r#"{"error":"model requires more system memory (9.3 GiB) than is available (7.0 GiB)"}"#;
        let embeddings =
            r#"{"error":{"code":501,"message":"This server does not support chat.","type":"not_supported_error"}}"#;
        for (status, body) in [(500, memory), (501, embeddings), (501, "")] {
            let failure = of_status(&model(), status, &HeaderMap::new(), body);
            assert_eq!((failure.advice(), failure.error.is_of_provider()), (RetryAdvice::Final, true), "{body}");
        }
    }

    #[test]
    fn a_call_that_takes_too_long_for_a_gateway_is_no_outage() {
        let trouble = |status| match of_status(&model(), status, &HeaderMap::new(), "late").advice() {
            RetryAdvice::Again { trouble, .. } => Some(trouble),
            _ => None,
        };
        assert_eq!([408, 504, 524, 500].map(trouble), [Some(Trouble::Failing); 4]);
        assert_eq!([502, 503, 529].map(trouble), [Some(Trouble::Away); 3]);
        let late = of_exception(&model(), "modelTimeoutException", &json!("late")).advice();
        assert!(matches!(late, RetryAdvice::Again { trouble: Trouble::Failing, .. }), "{late:?}");
    }

    #[test]
    fn amazons_name_of_a_quota_stands_in_a_header() {
        let mut headers = HeaderMap::new();
        headers.insert("x-amzn-errortype", "ServiceQuotaExceededException:http://a.test/".parse().unwrap());
        let failure = of_status(&model(), 400, &headers, r#"{"message":"Too many tokens."}"#);
        assert!(matches!(failure.error, Error::Quota { .. }), "{:?}", failure.error);
    }

    #[test]
    fn other_statuses_are_sorted_by_what_to_do() {
        for status in [408, 409, 424, 500, 502, 503, 504, 529] {
            assert!(matches!(reported(status, "busy"), Error::Overloaded { .. }), "{status}");
        }
        for status in [301, 400, 404, 405, 422] {
            assert!(matches!(reported(status, "no"), Error::BadRequest { .. }), "{status}");
        }
        assert_eq!(reported(404, "<!DOCTYPE html><html>…"), bad_request("404 an HTML page"));
        let vllm = r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#;
        assert_eq!(reported(404, vllm), bad_request("404 The model `x` does not exist."));
        assert_eq!(reported(422, r#"{"detail":[{"msg":"bad"}]}"#), bad_request(r#"422 [{"msg":"bad"}]"#));
    }

    #[test]
    fn a_page_in_place_of_a_refusal_is_no_wrong_key() {
        let refused = |body: &str| of_status(&model(), 403, &HeaderMap::new(), body);
        let page = refused("<html><title>Access denied</title></html>");
        assert!(matches!(page.error, Error::Transport { .. }), "{:?}", page.error);
        assert_eq!(page.trouble, Some(Trouble::Blocked));
        let said = refused(r#"{"error": {"message": "no access"}}"#);
        assert!(matches!(said.error, Error::Auth { .. }), "{:?}", said.error);
        assert_eq!(said.trouble, None);
    }

    #[test]
    fn retry_after_may_come_in_milliseconds() {
        fn check(name: &'static str, value: &str, expected: Option<Duration>) {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after(&headers), expected, "{name}: {value}");
        }
        check("retry-after", "0.25", Some(Duration::from_millis(250)));
        check("retry-after-ms", "40", Some(Duration::from_millis(40)));
        check("retry-after-ms", "-1", None);
        check("retry-after-ms", "1e300", Some(net::LONGEST_ASKED));
        check("retry-after", "18446744073709551615", Some(net::LONGEST_ASKED));
    }

    #[test]
    fn a_wait_may_be_said_in_words_alone() {
        fn check(message: &str, expected: Option<u64>) {
            let error = json!({"code": "rate_limit_exceeded", "message": message});
            let failure = of_error_field(&model(), &error);
            let wait = expected.map(Duration::from_millis);
            assert_eq!(failure.retry_after, wait, "{message}");
            assert_eq!(failure.error, Error::RateLimited { model: model(), retry_after: wait });
        }
        check("Limit 30000, Used 29000. Please try again in 6.5s. Visit https://example.test", Some(6_500));
        check("Please try again in 850ms.", Some(850));
        check("Please try again in 1m12s", Some(72_000));
        check("Requests have exceeded token rate limit. Please retry after 6 seconds.", Some(6_000));
        check("Please retry after 2 minutes.", Some(120_000));
        check("Please retry after 5 min.", Some(300_000));
        check("Please try again in 1 day.", Some(86_400_000));
        check("Please try again in 500 ms.", Some(500));
        check("Please retry after 5 m", Some(300_000));
        check("Please retry after 2 h", Some(7_200_000));
        check("Please try again in a while.", None);
        check("Please try again later.", None);
        let busy = of_error_field(&model(), &json!({"code": 503, "message": "busy, retry after 6 seconds"}));
        assert_eq!(busy.retry_after, Some(Duration::from_secs(6)));
        let bad = of_error_field(&model(), &json!({"code": 400, "message": "retry after 6 seconds"}));
        assert_eq!((bad.retry_after, bad.trouble), (None, None));
    }

    #[test]
    fn headers_may_say_whether_to_ask_again() {
        let failure = |status: u16, again: &'static str| {
            let headers = HeaderMap::from_iter([
                ("x-should-retry".parse().unwrap(), again.parse().unwrap()),
                ("retry-after".parse().unwrap(), "7".parse().unwrap()),
            ]);
            of_status(&model(), status, &headers, "{}")
        };
        for status in [429, 500, 503] {
            let usual = of_status(&model(), status, &HeaderMap::new(), "{}").trouble;
            let advice = failure(status, "false").advice();
            let after = Some(Duration::from_secs(7));
            assert_eq!(advice, RetryAdvice::Refrain { trouble: usual.unwrap(), after }, "{status}");
            assert_eq!(failure(status, "true").trouble, usual, "{status}");
            assert_eq!(failure(status, "maybe").trouble, usual, "{status}");
            assert_eq!(failure(status, "true").retry_after, Some(Duration::from_secs(7)));
        }
        assert_eq!(failure(400, "true").trouble, Some(Trouble::Failing));
        assert_eq!(failure(400, "true").retry_after, Some(Duration::from_secs(7)));
        assert_eq!(failure(400, "maybe").advice(), RetryAdvice::Final);
        assert_eq!(failure(401, "true").advice(), RetryAdvice::Final, "the same key is refused again");
    }

    #[test]
    fn details_are_one_short_line() {
        assert_eq!(one_line("a\n  b\t c"), "a b c");
        assert_eq!(one_line(&"long ".repeat(100)).chars().count(), 300);
        assert_eq!(one_line(&"ä".repeat(1000)).chars().count(), 300);
    }
}
