//! A run's report as Markdown, as a page, or as data.

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    extract::{FromRequestParts, State as Shared},
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    State,
    docs::CONTRACT,
    error::{ApiError, Code},
    extract::negotiate,
    json::{ListBody, answer},
    page,
};
use crate::{
    domain::{
        Outcome, Run, RunId, Source, SourceId, SubQuestion,
        claim::{Claim, Contradiction, Verdict},
        digest,
        report::{Citation, Report},
    },
    runs::{OwnedRun, StoreError},
};

pub const MARKDOWN: &str = "text/markdown";
const HTML: &str = "text/html";
pub const JSON: &str = "application/json";

/// Names what makes pages and data of reports: with another release, what a browser has kept may not fit any more what
/// the headers allow, such as the hash of the page's style.
static RENDERER: LazyLock<String> = LazyLock::new(|| {
    let parts = [page::STYLE, CONTRACT, env!("CARGO_PKG_VERSION")];
    digest::sha256_json(&parts)[..8].to_owned()
});

/// A cited statement, and what each of its sources says about it.
#[derive(Serialize)]
struct ClaimBody<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    verdict: Verdict,
    missing: &'a [String],
    reason: Option<&'a str>,
    citations: &'a [Citation],
}

/// All statements, with what goes beside them.
#[derive(Serialize)]
struct ClaimsBody<'a> {
    #[serde(flatten)]
    list: ListBody<ClaimBody<'a>>,
    contradictions: &'a [Contradiction],
}

/// Returns the report's statements, in order, and what its sources state otherwise.
pub async fn claims(owned: OwnedRun) -> Result<Response, ApiError> {
    let report = report_of(&owned).await?;
    let list = ListBody::whole(report.claims.iter().map(|claim| ClaimBody::of(claim, &report)).collect());
    answer(&ClaimsBody { list, contradictions: &report.contradictions })
}

impl<'a> ClaimBody<'a> {
    fn of(claim: &'a Claim, report: &'a Report) -> Self {
        Self {
            text: &claim.text,
            start: claim.start,
            end: claim.end,
            verdict: claim.verdict,
            missing: &claim.missing,
            reason: claim.reason.as_deref(),
            citations: report.citations_of(claim),
        }
    }
}

#[derive(Serialize)]
struct ReportBody<'a> {
    run_id: RunId,
    outcome: Option<Outcome>,
    markdown: &'a str,
    citations: &'a [Citation],
    sources: Vec<CitedSource>,
    dropped_citations: u32,
    /// The text cites nothing.
    degraded: bool,
    /// Of the brief.
    sub_questions: &'a [SubQuestion],
}

/// A line of the report's source list.
#[derive(Serialize)]
struct CitedSource {
    number: u32,
    source_id: SourceId,
    url: String,
    title: String,
    published: Option<String>,
    author: Option<String>,
    site: Option<String>,
    /// Where else it was met.
    addresses: Vec<String>,
}

/// The form in which the report is wanted.
#[derive(Clone, Copy, Debug)]
pub struct MediaType(&'static str);

impl MediaType {
    pub fn html() -> Self {
        Self(HTML)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MediaType {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let offered = format!("offered are {MARKDOWN}, {HTML} and {JSON}");
        let chosen = negotiate(&parts.headers, &[MARKDOWN, HTML, JSON]);
        chosen.map(Self).ok_or_else(|| ApiError::new(Code::NotAcceptable, offered))
    }
}

pub async fn show(Shared(state): Shared<State>, media_type: MediaType, owned: OwnedRun) -> Result<Response, ApiError> {
    let report = report_of(&owned).await?;
    answered(&state, media_type, owned.run(), report, async || owned.sources().await).await
}

/// Returns the report of a run in the form that is wanted; `sources` is asked for its sources where they are needed.
pub async fn answered(
    state: &State,
    MediaType(media_type): MediaType,
    run: &Run,
    report: Report,
    sources: impl AsyncFnOnce() -> Result<Vec<Source>, StoreError>,
) -> Result<Response, ApiError> {
    let run_id = run.id;
    // A report never changes, so its run and form name it, and what puts it into that form.
    let form = media_type.rsplit('/').next().unwrap_or_default();
    let tag = format!("\"{run_id}-{form}-{}\"", &*RENDERER);
    let mut response = match media_type {
        MARKDOWN => report.markdown.into_response(),
        HTML => rendered(state, run_id, report, sources).await?.into_response(),
        _ => data(run, &report, &sources().await?)?,
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CONTENT_TYPE, content_type(media_type));
    if media_type == HTML {
        headers.insert(header::CONTENT_SECURITY_POLICY, page::policy());
    }
    Ok(response)
}

async fn report_of(owned: &OwnedRun) -> Result<Report, ApiError> {
    let status = owned.run().status;
    // A run that ends right now has its report before this request knows its outcome.
    if !status.is_final() {
        return Err(ApiError::new(Code::NotFinished, format!("the run is {}", status.as_str())));
    }
    let missing = || ApiError::new(Code::NoReport, format!("the run is {} without a report", status.as_str()));
    owned.report().await?.ok_or_else(missing)
}

/// Returns the header of a body of that type.
pub fn content_type(media_type: &str) -> HeaderValue {
    HeaderValue::from_static(match media_type {
        MARKDOWN => "text/markdown; charset=utf-8",
        HTML => "text/html; charset=utf-8",
        _ => JSON,
    })
}

/// Returns the page of a report, rendered once.
pub async fn rendered(
    state: &State,
    run_id: RunId,
    report: Report,
    sources: impl AsyncFnOnce() -> Result<Vec<Source>, StoreError>,
) -> Result<Bytes, ApiError> {
    let load = async || Ok((report, sources().await?));
    state.pages.get(run_id, load).await
}

fn data(run: &Run, report: &Report, sources: &[Source]) -> Result<Response, ApiError> {
    let cited = |(number, source): (u32, &Source)| CitedSource {
        number,
        source_id: source.id,
        url: source.url.clone(),
        title: source.title.clone(),
        published: source.published.clone(),
        author: source.author.clone(),
        site: source.site.clone(),
        addresses: source.addresses.clone(),
    };
    answer(&ReportBody {
        run_id: run.id,
        outcome: run.outcome,
        markdown: &report.markdown,
        citations: &report.citations,
        sources: report.cited(sources).into_iter().map(cited).collect(),
        dropped_citations: report.dropped_citations,
        degraded: report.is_degraded(),
        sub_questions: &report.sub_questions,
    })
}
