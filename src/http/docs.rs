//! The contract and the page that shows it: `/openapi.yaml`, `/openapi.json` and Swagger UI under `/docs/`.
//!
//! Everything is in the binary; the page loads nothing from elsewhere, and its content security policy would not let
//! it.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    extract::{Path, rejection::PathRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use utoipa_swagger_ui::Config;

use super::{compression::OwnFile, error::ApiError};
use crate::domain::digest::{hex, sha256};

/// The contract of this build.
pub const CONTRACT: &str = include_str!("../../openapi.yaml");

/// What browsers ask for beside every page.
const ICON: &[u8] = include_bytes!("docs/favicon.ico");

/// Swagger UI puts styles into elements and images into its style sheet; scripts come from files only. What is tried
/// out goes to this service, and nobody may frame the page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Files keep their names when the program is updated, so browsers ask each time and mostly hear 304.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// Serves `/openapi.yaml`, `/openapi.json`, `/favicon.ico`, `/docs`, `/docs/` and what lies below it. Needs no state,
/// never fails.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/openapi.yaml", get(contract))
        .route("/openapi.json", get(contract_as_json))
        .route("/favicon.ico", get(icon))
        // Relative, so that it works below a path of a reverse proxy too.
        .route("/docs", get(async || Redirect::permanent("docs/")))
        .route("/docs/", get(async || asset("index.html")))
        .route("/docs/{*file}", get(named))
}

/// Serves a file of the page; a name that is no text is that of none.
async fn named(file: Result<Path<String>, PathRejection>) -> Response {
    file.map_or_else(|_| ApiError::no_such("path").into_response(), |Path(file)| asset(&file))
}

async fn contract() -> Response {
    static ETAG: LazyLock<HeaderValue> = LazyLock::new(|| etag(CONTRACT.as_bytes()));
    versioned(&ETAG, ([(header::CONTENT_TYPE, "application/yaml")], CONTRACT))
}

/// Returns the same content for tools that read no YAML.
async fn contract_as_json() -> Response {
    static JSON: LazyLock<Result<(String, HeaderValue), yaml_serde::Error>> = LazyLock::new(|| {
        let contract: serde_json::Value = yaml_serde::from_str(CONTRACT)?;
        let json = contract.to_string();
        let etag = etag(json.as_bytes());
        Ok((json, etag))
    });
    // Reading 100 KB of YAML takes a while, the first time.
    match tokio::task::spawn_blocking(|| JSON.as_ref()).await {
        Ok(Ok((json, etag))) => versioned(etag, ([(header::CONTENT_TYPE, "application/json")], json.as_str())),
        Ok(Err(error)) => ApiError::defect(error).into_response(),
        Err(error) => ApiError::defect(&error).into_response(),
    }
}

async fn icon() -> Response {
    static ETAG: LazyLock<HeaderValue> = LazyLock::new(|| etag(ICON));
    versioned(&ETAG, ([(header::CONTENT_TYPE, "image/x-icon")], ICON))
}

/// Returns a file of the page: our own, or one of Swagger UI.
fn asset(file: &str) -> Response {
    let Some((content_type, bytes)) = own(file).or_else(|| vendored(file)) else {
        return ApiError::no_such("path").into_response();
    };
    let etag = etag(&bytes);
    let mut response = versioned(&etag, ([(header::CONTENT_TYPE, content_type)], bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Content type and content.
type Asset = (String, Cow<'static, [u8]>);

fn own(file: &str) -> Option<Asset> {
    let (content_type, text) = match file {
        "index.html" => ("text/html; charset=utf-8", include_str!("docs/index.html")),
        "fathom.css" => ("text/css; charset=utf-8", include_str!("docs/fathom.css")),
        "fathom.js" => ("text/javascript; charset=utf-8", include_str!("docs/fathom.js")),
        _ => return None,
    };
    Some((content_type.to_owned(), Cow::Borrowed(text.as_bytes())))
}

fn vendored(file: &str) -> Option<Asset> {
    let found = utoipa_swagger_ui::serve(file, Arc::new(Config::default())).ok().flatten()?;
    Some((found.content_type, found.bytes))
}

/// Gives a file of this program the headers by which a client that has it gets it no second time.
pub fn versioned(etag: &HeaderValue, file: impl IntoResponse) -> Response {
    let mut response = file.into_response();
    response.headers_mut().insert(header::ETAG, etag.clone());
    response.headers_mut().insert(header::CACHE_CONTROL, REVALIDATE);
    response.extensions_mut().insert(OwnFile);
    response
}

/// Names a content by its hash.
pub fn etag(content: &[u8]) -> HeaderValue {
    let hash = hex(&sha256(content)[..8]);
    HeaderValue::from_str(&format!("\"{hash}\"")).expect("hex digits between quotes are visible ASCII")
}
