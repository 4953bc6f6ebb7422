//! Links by which anybody may read a thread: made, listed and revoked by its owner; and what their holders get, who
//! need no key: the thread's reports with their sources, as pages, Markdown or data.

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State as Shared},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    State, audit,
    error::{ApiError, Code, Place, Problem},
    extract::{OptionalBody, negotiate, path_id, path_text, preferred_language},
    json::{self, ListBody},
    page,
    report::{self, JSON, MediaType},
    stream::Refused,
};
use crate::{
    auth::{Kind, Token},
    domain::{Caller, Outcome, Run, RunId, Share, ShareId, Timestamp, time, wording},
    runs::{OwnedThread, SharedThread},
};

const HTML: &str = "text/html";
const PROBLEM: &str = "application/problem+json";
const MAX_DAYS: u64 = 3_650;
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const VARY: HeaderValue = HeaderValue::from_static("accept, accept-language");

/// What pages say that show no report, in the languages of the page for people (`web/words/`).
pub(super) struct Words {
    /// ISO 639-1.
    language: &'static str,
    nothing: &'static str,
    ended: &'static str,
    no_report: &'static str,
    pub(super) not_signed_in: &'static str,
    pub(super) try_again: &'static str,
}

/// The first is for those who read none of them.
static WORDS: [Words; 3] = [
    Words {
        language: "en",
        nothing: "Nothing here",
        ended: "This link has ended, was revoked or never was. Please ask for another one.",
        no_report: "There is no report yet.",
        not_signed_in: "The sign-in failed",
        try_again: "Try again",
    },
    Words {
        language: "de",
        nothing: "Hier ist nichts",
        ended: "Dieser Link ist abgelaufen, wurde widerrufen oder war nie gültig. Bitte fragen Sie nach einem neuen.",
        no_report: "Noch gibt es keinen Bericht.",
        not_signed_in: "Die Anmeldung ist gescheitert",
        try_again: "Noch einmal",
    },
    Words {
        language: "zh",
        nothing: "这里没有内容",
        ended: "此链接已过期、已被撤销或从未存在。请索取新的链接。",
        no_report: "尚无报告。",
        not_signed_in: "登录失败",
        try_again: "重试",
    },
];

impl Words {
    pub(super) fn of(headers: &HeaderMap) -> &'static Self {
        let language = preferred_language(headers, &WORDS.each_ref().map(|words| words.language));
        WORDS.iter().find(|words| Some(words.language) == language).unwrap_or(&WORDS[0])
    }
}

/// What a new link is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewShareBody {
    /// Null: it never expires.
    #[serde(default = "a_month")]
    expires_in_days: Option<u64>,
}

impl Default for NewShareBody {
    fn default() -> Self {
        Self { expires_in_days: a_month() }
    }
}

fn a_month() -> Option<u64> {
    Some(30)
}

/// A new link, with its address, which is shown this once.
#[derive(Serialize)]
struct CreatedShare {
    #[serde(flatten)]
    share: Share,
    /// A path of this service.
    url: String,
}

pub async fn create(
    thread: OwnedThread,
    caller: Caller,
    OptionalBody { value: body, .. }: OptionalBody<NewShareBody>,
) -> Result<Response, ApiError> {
    let wrong = |detail: String| ApiError::invalid(Place::Pointer("/expires_in_days".to_owned()), detail);
    let expires_at = match body.expires_in_days {
        Some(days @ 1..=MAX_DAYS) => Some(Timestamp::now().plus(time::days(days))),
        Some(_) => return Err(wrong(format!("it must be 1 to {MAX_DAYS}, or null"))),
        None => None,
    };
    let token = Token::new();
    let share = thread.share(ShareId(token.id.0), token.hash(), expires_at).await?;
    let full = || ApiError::parameter("id", "the thread has as many links as it may have; revoke some");
    let share = share.ok_or_else(full)?;
    audit::share(&caller, thread.owner(), thread.thread().id, share.id, "a thread was shared");
    let url = format!("/shared/{}", token.text(Kind::Share));
    let body = json::json(&CreatedShare { share, url })?;
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

pub async fn list(thread: OwnedThread) -> Result<Response, ApiError> {
    json::answer(&ListBody::whole(thread.shares().await?))
}

pub async fn revoke(thread: OwnedThread, caller: Caller, id: ShareId) -> Result<Response, ApiError> {
    let revoked = thread.revoke_share(id).await?.ok_or_else(|| ApiError::no_such("share"))?;
    if revoked.is_new {
        audit::share(&caller, thread.owner(), thread.thread().id, id, "a shared link was revoked");
    }
    json::answer(&revoked.what)
}

/// The thread that the link in the path shows.
pub struct Linked {
    thread: SharedThread,
    token: String,
}

impl FromRequestParts<State> for Linked {
    type Rejection = ApiError;

    /// Returns the thread of the link. One that never was, one that has ended, and one to something else are the same:
    /// there is no such link.
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let missing = || ApiError::no_such("shared link");
        let text = path_text(parts, "token").await.map_err(|_| missing())?;
        let token = Token::parse(&text, Kind::Share).ok_or_else(missing)?;
        let thread = state.runs.shared(ShareId(token.id.0), token.hash()).await?.ok_or_else(missing)?;
        Ok(Self { thread, token: text })
    }
}

/// The run in the path whose report is asked for; it need not be one that the link shows.
pub struct AskedFor(Uuid);

impl FromRequestParts<State> for AskedFor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, ApiError> {
        path_id(parts, "id").await.map(Self).map_err(|_| ApiError::no_such("shared link"))
    }
}

#[derive(Serialize)]
struct SharedBody {
    title: String,
    created_at: Timestamp,
    reports: Vec<SharedEntry>,
}

#[derive(Serialize)]
struct SharedEntry {
    run_id: RunId,
    question: String,
    outcome: Option<Outcome>,
    finished_at: Option<Timestamp>,
    /// A path of this service.
    url: String,
}

/// Answers browsers with a page where a link leads nowhere; everybody else with a problem, as everywhere.
pub async fn for_people(request: Request, next: Next) -> Response {
    let (wants_page, words) = (wants_page(request.headers()), Words::of(request.headers()));
    let response = next.run(request).await;
    if !wants_page || response.status() != StatusCode::NOT_FOUND {
        return response;
    }
    refusal(response, words, words.nothing, words.ended)
}

/// Returns whether a page is wanted rather than a problem.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    negotiate(headers, &[PROBLEM, HTML]) == Some(HTML)
}

/// Writes a page into a response in place of its problem, which only the log then names; `text` is HTML.
pub(super) fn refusal(mut response: Response, words: &Words, title: &str, text: &str) -> Response {
    let attributes = format!(" lang=\"{}\"", words.language);
    let text = format!("<h1>{title}</h1>\n<p>{text}</p>\n");
    *response.body_mut() = Body::from(page::framed(title, &attributes, &text));
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let refused = Refused { status: response.status(), code: problem.code() };
        response.extensions_mut().insert(refused);
    }
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::VARY, VARY);
    headers.insert(header::CONTENT_TYPE, report::content_type(HTML));
    headers.insert(header::CONTENT_SECURITY_POLICY, page::policy());
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    response
}

/// Returns what a link shows: for people the report, or a list of the reports if there are several; for programs always
/// the list.
pub async fn show(Shared(state): Shared<State>, linked: Linked, headers: HeaderMap) -> Result<Response, ApiError> {
    let offered = || ApiError::new(Code::NotAcceptable, format!("offered are {HTML} and {JSON}"));
    let media_type = negotiate(&headers, &[HTML, JSON]).ok_or_else(offered)?;
    let reports = linked.thread.reports().await?;
    if let (HTML, [(run, _)]) = (media_type, &reports[..]) {
        return one(&state, &linked, run.id.0, MediaType::html()).await;
    }
    let entries: Vec<_> = reports.into_iter().map(|(run, question)| entry(&linked.token, &run, question)).collect();
    let thread = linked.thread.thread();
    let mut response = match media_type {
        HTML => listed(&thread.title, &linked.token, &entries, Words::of(&headers)).into_response(),
        _ => json::json(&SharedBody { title: thread.title.clone(), created_at: thread.created_at, reports: entries })?
            .into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, report::content_type(media_type));
    headers.insert(header::VARY, VARY);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if media_type == HTML {
        headers.insert(header::CONTENT_SECURITY_POLICY, page::policy());
    }
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    Ok(response)
}

/// Returns a report of the thread that a link shows.
pub async fn show_report(
    Shared(state): Shared<State>,
    media_type: MediaType,
    linked: Linked,
    AskedFor(run_id): AskedFor,
) -> Result<Response, ApiError> {
    one(&state, &linked, run_id, media_type).await
}

async fn one(state: &State, linked: &Linked, run_id: Uuid, media_type: MediaType) -> Result<Response, ApiError> {
    let shared = linked.thread.report(run_id).await?.ok_or_else(|| ApiError::no_such("report"))?;
    let sources = async || shared.sources().await;
    let mut response = report::answered(state, media_type, shared.run(), shared.report().clone(), sources).await?;
    response.headers_mut().insert(ROBOTS, HeaderValue::from_static("noindex"));
    Ok(response)
}

fn entry(token: &str, run: &Run, question: String) -> SharedEntry {
    let url = format!("/shared/{token}/runs/{}", run.id);
    SharedEntry { run_id: run.id, question, outcome: run.outcome, finished_at: run.finished_at, url }
}

/// Returns a page with a link to each report, from beside the link itself: a proxy may serve it below a prefix.
fn listed(title: &str, token: &str, entries: &[SharedEntry], words: &Words) -> String {
    let item = |entry: &SharedEntry| {
        let day = entry.finished_at.map(Timestamp::to_date).unwrap_or_default();
        let question: String = entry.question.chars().take(300).collect();
        let url = format!("{token}/runs/{}", entry.run_id);
        format!("<li><a href=\"{}\">{}</a><br>{day}</li>\n", page::escaped(&url), page::escaped(&question))
    };
    let list: String = entries.iter().map(item).collect();
    let none = if entries.is_empty() { format!("<p>{}</p>", words.no_report) } else { String::new() };
    let text: String = entries.iter().map(|entry| format!("{}\n", entry.question)).collect();
    let attributes = page::attributes(wording::any_language_code(&text).or(Some(words.language)), &text);
    let main = format!("<h1>{}</h1>\n{none}<ul class=\"sources\">\n{list}</ul>\n", page::escaped(title));
    page::framed(title, &attributes, &main)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn links_speak_the_languages_of_the_page() {
        let folder = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("web/words")).unwrap();
        let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
        let of_page: BTreeSet<String> = folder.map(|file| name(&file.unwrap().path())).collect();
        let of_links: BTreeSet<String> = WORDS.iter().map(|words| words.language.to_owned()).collect();
        assert_eq!(of_links, of_page, "the languages of `WORDS`, and of the files in web/words/");
    }
}
