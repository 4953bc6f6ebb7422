//! Search engines: a query in, hits out. `tavily` asks the web, `local` a folder of documents.
//!
//! Knows nothing of models, journals or source ids; `tools::search_web` makes sources of the hits.

use std::time::Duration;

/// One result.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Hit {
    /// Absolute URL, or a path relative to the documents folder with a fragment (`minutes/april.pdf#page=3`).
    pub url: String,
    /// Never empty.
    pub title: String,
    /// For local documents: `page 3`, or the heading above the passage.
    pub section: Option<String>,
    /// The engine's excerpt, or the passage itself; plain text.
    pub snippet: String,
    /// The page's text when the engine sends it and it is worth summarising.
    pub raw_content: Option<String>,
    pub score: Option<f64>,
    pub published: Option<String>,
    /// `tavily` or `local`.
    pub engine: String,
}

/// Why a query failed, named by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the search engine refused the API key: {0}")]
    Auth(String),
    #[error("the search engine rejected the query: {0}")]
    BadQuery(String),
    #[error("the search engine's rate limit is used up")]
    RateLimited { retry_after: Option<Duration> },
    #[error("the search engine could not be reached: {0}")]
    Unavailable(String),
    #[error("the documents folder cannot be searched: {0}")]
    Documents(String),
}
