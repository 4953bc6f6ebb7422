//! Documents of a thread or a collection: given, listed, removed.

use axum::{
    extract::{FromRequest, FromRequestParts as _, Request, State as Shared},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;

use super::{
    State, audit,
    bodies::ThreadBody,
    error::{ApiError, Code, Place},
    extract::{self, Query},
    json,
};
use crate::{
    domain::{Caller, DocumentId, Upload},
    runs::{HasDocuments, Refusal},
};

/// A file as it came: its name is in the query, the body is the file itself.
#[derive(Debug)]
pub struct File {
    name: String,
    bytes: Bytes,
}

impl FromRequest<State> for File {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &State) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let query = Query::from_request_parts(&mut parts, state).await?;
        let name = query.text("name").unwrap_or_default().trim();
        if name.is_empty() {
            return Err(ApiError::parameter("name", "name must be the name of the file, such as report.pdf"));
        }
        let request = Request::from_parts(parts, body);
        if is_form(request.headers()) {
            let detail = "send the file itself as the body, with Content-Type: application/octet-stream (curl: \
                          --data-binary, since -d takes the line ends out)";
            return Err(ApiError::new(Code::UnsupportedMediaType, detail));
        }
        if !extract::is_plain(request.headers()) {
            let detail = "send the file as it is, without Content-Encoding";
            return Err(ApiError::new(Code::UnsupportedMediaType, detail));
        }
        let bytes = extract::read_file(request, state).await?;
        if bytes.is_empty() {
            return Err(ApiError::invalid(
                Place::Pointer(String::new()),
                "the body must be the file itself, and is empty",
            ));
        }
        Ok(Self { name: name.to_owned(), bytes })
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let value = value.trim_start().to_ascii_lowercase();
    value.starts_with("multipart/") || value.starts_with("application/x-www-form-urlencoded")
}

#[derive(Serialize)]
struct Documents {
    data: Vec<Upload>,
    /// There are no more documents than fit on a page.
    next_cursor: Option<String>,
}

pub async fn add<T: HasDocuments>(of: T, file: File) -> Result<Response, ApiError> {
    let added = of.documents().add(&file.name, &file.bytes).await;
    let (document, is_new) = added.map_err(|refusal| match refusal {
        // It is named by the path here.
        Refusal::NoSuchCollection(_) => ApiError::no_such("collection"),
        other => ApiError::refused(other, "/"),
    })?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let body = json::json(&document)?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

#[derive(Serialize)]
struct ThreadAndDocument {
    thread: ThreadBody,
    document: Upload,
}

pub async fn create(Shared(state): Shared<State>, caller: Caller, file: File) -> Result<Response, ApiError> {
    let created = state.runs.create_thread_with(&caller, &file.name, &file.bytes).await;
    let (thread, document) = created.map_err(|refusal| ApiError::refused(refusal, "/"))?;
    let location = format!("/api/v1/threads/{}", thread.id);
    let body = json::json(&ThreadAndDocument { thread: thread.into(), document })?;
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::LOCATION, location)];
    Ok((StatusCode::CREATED, headers, body).into_response())
}

pub async fn list<T: HasDocuments>(of: T) -> Result<Response, ApiError> {
    json::answer(&Documents { data: of.documents().list().await?, next_cursor: None })
}

pub async fn remove<T: HasDocuments>(of: T, caller: Caller, id: DocumentId) -> Result<StatusCode, ApiError> {
    let documents = of.documents();
    if !documents.remove(id).await? {
        return Err(ApiError::no_such("document"));
    }
    audit::document_removed(&caller, documents.owner(), documents.set(), id);
    Ok(StatusCode::NO_CONTENT)
}
