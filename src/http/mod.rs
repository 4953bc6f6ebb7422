//! The HTTP service: the wire, nothing else. Handlers parse, call a handle, answer.
//!
//! One file per noun; `extract.rs` takes requests apart, `error.rs` alone picks the status of a problem, `serve.rs`
//! owns the sockets. `auth.rs` asks for a key, `proxy.rs` takes the user that a listed proxy names, `owned.rs` loads
//! what the caller owns, `audit.rs` logs who did what. `changes.rs` carries changes to their end when their client
//! hangs up, `started.rs` answers what starts a run, `sse/` writes streams in the dialect of their reader.
//!
//! The contract is openapi.yaml at the top level; a test holds it against [`router`].

mod allowances;
pub mod audit;
mod auth;
mod bodies;
mod changes;
mod clients;
mod collections;
mod compression;
mod cookies;
mod cursor;
pub mod docs;
mod documents;
mod error;
mod estimate;
mod extract;
mod fragment;
mod health;
mod json;
mod keys;
mod layers;
mod limits;
mod linger;
mod options;
mod origin;
mod outgoing;
mod owned;
mod page;
mod proxy;
mod queue;
mod report;
mod retry;
mod runs;
mod serve;
mod shares;
mod sign_in;
pub mod sse;
mod started;
mod stream;
mod threads;
mod usage;
mod web;

use std::{ops::Deref, sync::Arc};

use axum::{
    Router,
    middleware::from_fn,
    routing::{MethodRouter, delete, get, post},
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    auth::Keys,
    config::HttpSettings,
    runs::{OwnedCollection, OwnedThread, Runs},
};
pub use error::{ApiError, Code};
pub use serve::{Timeouts, serve};

/// What handlers share; a cheap clone.
#[derive(Clone, Debug)]
pub struct State(Arc<Shared>);

/// See [`State`].
#[derive(Debug)]
pub struct Shared {
    pub runs: Runs,
    pub keys: Keys,
    pub settings: HttpSettings,
    /// The service stops: streams end, readiness is denied.
    pub shutdown: CancellationToken,
    pub timeouts: Timeouts,
    /// A permit per open event stream.
    pub streams: Arc<Semaphore>,
    /// Reports as pages, those asked for last.
    pub pages: page::Pages,
    /// Reports that are being written, those asked for last.
    pub drafts: fragment::Drafts,
    /// Requests of this minute, by who sent them.
    requests: limits::Requests,
    changes: changes::Changes,
    /// What may be held for clients.
    buffers: outgoing::Buffers,
    compression: compression::Compression,
}

impl Deref for State {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl State {
    pub fn new(runs: Runs, keys: Keys, settings: HttpSettings, shutdown: CancellationToken) -> Self {
        Self::with(runs, keys, settings, Timeouts::default(), shutdown)
    }

    /// Makes the service with other time limits than the usual ones.
    pub fn with(
        runs: Runs,
        keys: Keys,
        settings: HttpSettings,
        timeouts: Timeouts,
        shutdown: CancellationToken,
    ) -> Self {
        let streams = Arc::new(Semaphore::new(settings.max_streams));
        let buffers = outgoing::Buffers::new(settings.max_buffered_bytes);
        let (pages, drafts) = (page::Pages::default(), fragment::Drafts::default());
        let requests = limits::Requests::default();
        let changes = changes::Changes::new(settings.max_connections);
        Self(Arc::new(Shared {
            runs,
            keys,
            settings,
            shutdown,
            timeouts,
            streams,
            pages,
            drafts,
            requests,
            changes,
            buffers,
            compression: compression::Compression::default(),
        }))
    }
}

/// A path with its methods, as openapi.yaml has to know them.
type Route = (&'static str, &'static [&'static str], MethodRouter<State>);

/// Every route but those of the API's pages.
// table of contents
fn routes() -> Vec<Route> {
    vec![
        ("/api/v1/threads", &["GET", "POST"], get(threads::list).post(threads::create)),
        (
            "/api/v1/threads/{id}",
            &["GET", "PATCH", "DELETE"],
            get(threads::show).patch(threads::change).delete(threads::delete),
        ),
        ("/api/v1/threads/{id}/messages", &["GET", "POST"], get(threads::messages).post(threads::add_message)),
        ("/api/v1/threads/{id}/runs", &["GET"], get(threads::runs)),
        (
            "/api/v1/threads/{id}/documents",
            &["GET", "POST"],
            get(documents::list::<OwnedThread>).post(documents::add::<OwnedThread>),
        ),
        ("/api/v1/threads/{id}/documents/{document_id}", &["DELETE"], delete(documents::remove::<OwnedThread>)),
        ("/api/v1/documents", &["POST"], post(documents::create)),
        ("/api/v1/collections", &["GET", "POST"], get(collections::list).post(collections::create)),
        (
            "/api/v1/collections/{id}",
            &["GET", "PATCH", "DELETE"],
            get(collections::show).patch(collections::rename).delete(collections::delete),
        ),
        (
            "/api/v1/collections/{id}/documents",
            &["GET", "POST"],
            get(documents::list::<OwnedCollection>).post(documents::add::<OwnedCollection>),
        ),
        ("/api/v1/collections/{id}/documents/{document_id}", &["DELETE"], delete(documents::remove::<OwnedCollection>)),
        ("/api/v1/threads/{id}/events", &["GET"], get(stream::thread_events)),
        ("/api/v1/threads/{id}/shares", &["GET", "POST"], get(shares::list).post(shares::create)),
        ("/api/v1/threads/{id}/shares/{share_id}", &["DELETE"], delete(shares::revoke)),
        ("/shared/{token}", &["GET"], get(shares::show).layer(from_fn(shares::for_people))),
        ("/shared/{token}/runs/{id}", &["GET"], get(shares::show_report).layer(from_fn(shares::for_people))),
        ("/api/v1/runs", &["GET"], get(runs::list)),
        ("/api/v1/runs/{id}", &["GET"], get(runs::show)),
        ("/api/v1/runs/{id}/cancel", &["POST"], post(runs::cancel)),
        ("/api/v1/runs/{id}/retry", &["POST"], post(retry::retry)),
        ("/api/v1/runs/{id}/events", &["GET"], get(stream::run_events)),
        ("/api/v1/runs/{id}/report", &["GET"], get(report::show)),
        ("/api/v1/runs/{id}/report/fragment", &["GET"], get(fragment::show)),
        ("/api/v1/runs/{id}/claims", &["GET"], get(report::claims)),
        ("/api/v1/runs/{id}/notes", &["GET"], get(runs::notes)),
        ("/api/v1/runs/{id}/sources", &["GET"], get(runs::sources)),
        ("/api/v1/runs/{id}/sources/{source_id}", &["GET"], get(runs::source)),
        ("/api/v1/runs/{id}/usage", &["GET"], get(runs::usage)),
        ("/api/v1/runs/{id}/steps", &["GET"], get(runs::steps)),
        ("/api/v1/estimate", &["POST"], post(estimate::show)),
        ("/api/v1/options", &["GET"], get(options::show)),
        ("/api/v1/session", &["GET", "POST", "DELETE"], get(auth::show).post(auth::sign_in).delete(auth::sign_out)),
        ("/api/v1/keys", &["GET", "POST"], get(keys::list).post(keys::create)),
        ("/api/v1/keys/{key_id}", &["DELETE"], delete(keys::revoke)),
        ("/api/v1/usage", &["GET"], get(usage::show)),
        ("/api/v1/usage/breakdown", &["GET"], get(usage::breakdown)),
        ("/auth/login", &["GET"], get(sign_in::begin).layer(from_fn(sign_in::for_people))),
        ("/auth/callback", &["GET"], get(sign_in::finish).layer(from_fn(sign_in::for_people))),
        ("/healthz", &["GET"], get(health::alive)),
        ("/readyz", &["GET"], get(health::ready)),
        ("/metrics", &["GET"], get(health::metrics)),
    ]
}

/// Returns the paths and methods of the API, for the test that holds them against openapi.yaml.
pub fn paths() -> Vec<(&'static str, &'static [&'static str])> {
    routes().into_iter().map(|(path, methods, _)| (path, methods)).collect()
}

/// Returns the whole service as one router.
pub fn router(state: &State) -> Router {
    let mut router = Router::new();
    for (path, _, methods) in routes() {
        router = router.route(path, methods);
    }
    let router = router
        .with_state(state.clone())
        .merge(docs::router())
        .merge(web::router())
        .fallback(async || ApiError::no_such("path"))
        .method_not_allowed_fallback(async || ApiError::new(Code::MethodNotAllowed, "the path has other methods"));
    layers::around(router, state, error::problem_json)
}

#[cfg(test)]
mod logged;
