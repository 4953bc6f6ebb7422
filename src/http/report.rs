//! A run's report as Markdown, as a page, or as data.

use std::collections::BTreeMap;

use axum::{
    extract::State as Shared,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    State,
    error::{ApiError, Code},
    extract::{Id, has_version, negotiate},
    runs::known,
};
use crate::domain::{
    Outcome, RunId, Source, SourceId,
    report::{Citation, Report},
};

pub const MARKDOWN: &str = "text/markdown";
const HTML: &str = "text/html";
pub const JSON: &str = "application/json";

/// The page holds text that models and web pages had a hand in: no script runs in it, and nothing is loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

#[derive(Serialize)]
struct ReportBody<'a> {
    run_id: RunId,
    outcome: Option<Outcome>,
    markdown: &'a str,
    citations: &'a [Citation],
    sources: Vec<CitedSource>,
    dropped_citations: u32,
}

/// A line of the report's source list.
#[derive(Serialize)]
struct CitedSource {
    number: u32,
    source_id: SourceId,
    url: String,
    title: String,
}

pub async fn show(
    Shared(state): Shared<State>,
    Id(run_id): Id<RunId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Some(media_type) = negotiate(&headers, &[MARKDOWN, HTML, JSON]) else {
        return Err(ApiError::new(Code::NotAcceptable, format!("offered are {MARKDOWN}, {HTML} and {JSON}")));
    };
    let run = known(&state, run_id).await?;
    let Some(report) = state.runs.store().report(run_id).await? else {
        return Err(match run.status.is_final() {
            true => ApiError::new(Code::NoReport, format!("the run is {} without a report", run.status.as_str())),
            false => ApiError::new(Code::NotFinished, format!("the run is {}", run.status.as_str())),
        });
    };
    // A report never changes, so its run and form name it.
    let tag = format!("\"{run_id}-{}\"", media_type.rsplit('/').next().unwrap_or_default());
    let mut response = if has_version(&headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        match media_type {
            MARKDOWN => report.markdown.clone().into_response(),
            HTML => page(&report.markdown).into_response(),
            _ => data(&state, run_id, run.outcome, &report).await?,
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CONTENT_TYPE, content_type(media_type));
    if media_type == HTML {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    Ok(response)
}

/// The header of a body of that type.
pub fn content_type(media_type: &str) -> HeaderValue {
    HeaderValue::from_static(match media_type {
        MARKDOWN => "text/markdown; charset=utf-8",
        HTML => "text/html; charset=utf-8",
        _ => JSON,
    })
}

async fn data(state: &State, run_id: RunId, outcome: Option<Outcome>, report: &Report) -> Result<Response, ApiError> {
    let sources: BTreeMap<SourceId, Source> =
        state.runs.store().sources(run_id).await?.into_iter().map(|source| (source.id, source)).collect();
    let mut cited: BTreeMap<u32, CitedSource> = BTreeMap::new();
    for citation in &report.citations {
        if let Some(source) = sources.get(&citation.source_id) {
            cited.entry(citation.number).or_insert_with(|| CitedSource {
                number: citation.number,
                source_id: source.id,
                url: source.url.clone(),
                title: source.title.clone(),
            });
        }
    }
    super::threads::answer(&ReportBody {
        run_id,
        outcome,
        markdown: &report.markdown,
        citations: &report.citations,
        sources: cited.into_values().collect(),
        dropped_citations: report.dropped_citations,
    })
}

/// A page of its own. Markup in the Markdown is shown as text, and what is left is cleaned all the same.
fn page(markdown: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser, html};
    let events =
        Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            event => event,
        });
    let mut body = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut body, events);
    let body = ammonia::Builder::default().rm_tags(["img"]).clean(&body).to_string();
    format!("{HEAD}{body}</main></body></html>\n")
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Report</title><style>\
body{font:1rem/1.6 system-ui,sans-serif;margin:0}main{max-width:44rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2rem .6rem}pre{overflow:auto}\
</style></head><body><main>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_runs_nothing_and_loads_nothing() {
        let page = page(
            "# A <script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://a.test/p.png)\n\n<img src=x onerror=y>",
        );
        let body = &page[HEAD.len()..];
        assert!(!body.contains("<script") && !body.contains("javascript:") && !body.contains("<img"), "{body}");
        assert!(body.contains("&lt;script&gt;"), "{body}");
    }

    #[test]
    fn a_page_has_tables_and_links() {
        let page = page("| a | b |\n|---|---|\n| 1 | [2](https://a.test/) |");
        assert!(page.contains("<table>") && page.contains("href=\"https://a.test/\""), "{page}");
    }
}
