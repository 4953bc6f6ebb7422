//! The engines there are: a file (or folder) each, and a line in the table. Nothing else that searches names one.

pub mod anthropic;
pub mod arxiv;
pub mod brave;
pub mod crossref;
pub mod exa;
pub mod firecrawl;
pub mod github;
pub mod google;
pub mod hackernews;
pub mod jina;
pub mod kagi;
pub mod linkup;
pub mod local;
pub mod mojeek;
pub mod openai;
pub mod openalex;
pub mod perplexity;
pub mod pubmed;
pub mod searxng;
pub mod semantic_scholar;
pub mod serper;
pub mod stackexchange;
pub mod tavily;
pub mod wikipedia;

use super::Row;
pub use local::{ReadUpload, UploadError};

/// The engines in the order in which `auto` prefers them; those that need no setting are used only when they are named.
pub const ROWS: &[&Row] = &[
    &tavily::ROW,
    &searxng::ROW,
    &brave::ROW,
    &exa::ROW,
    &serper::ROW,
    &firecrawl::ROW,
    &linkup::ROW,
    &perplexity::ROW,
    &jina::ROW,
    &kagi::ROW,
    &mojeek::ROW,
    &local::ROW,
    &tavily::KEYLESS,
    &wikipedia::ROW,
    &arxiv::ROW,
    &openalex::ROW,
    &pubmed::ROW,
    &semantic_scholar::ROW,
    &crossref::ROW,
    &github::ROW,
    &stackexchange::ROW,
    &hackernews::ROW,
    &openai::ROW,
    &anthropic::ROW,
    &google::ROW,
];
