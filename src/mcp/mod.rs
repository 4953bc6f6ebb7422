//! Clients of MCP servers, on the official SDK: connections of one run, what servers offer, calls, resources.
//!
//! [`Clients`] is all that tools hold. `settings` says which servers there are, `connection` opens one, `secrets` hides
//! what it was given, `handler` hears what a server says by itself, `content` turns results into pieces with addresses.
//! Every server is foreign: it may hang, flood, die and lie, and then costs its own answers alone. Knows no run, no
//! journal and no model.

mod connection;
mod content;
mod error;
mod handler;
mod oauth;
mod secrets;
mod settings;

use std::{fmt, sync::Arc, time::Duration};

use futures::FutureExt as _;
use rmcp::{
    RoleClient,
    model::{
        CallToolRequestParams, CancelledNotificationParam, ClientRequest, JsonObject, ListResourcesRequest,
        ListToolsRequest, PaginatedRequestParams, ReadResourceRequestParams, Request, RequestId, ServerResult,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Semaphore};

use connection::Connection;
use error::{is_refused, meaning, never_sent, sign_ins_of, unexpected, wants_token};
use handler::Notices;
use secrets::Secrets;

pub use content::{MAX_PIECES, Piece, Reply};
pub use error::{Error, SignIn};
pub use oauth::{Grant, OAuth};
pub use settings::{Server, Settings, Way, read, read_json};

/// Connections that one run opens to one server, the first included.
const MAX_CONNECTIONS: u32 = 4;
/// Calls of one run to one server at the same time; further ones wait.
const CALLS_AT_ONCE: usize = 4;
/// Pages of a list, however short they are.
const MAX_PAGES: usize = 50;
/// Tools of one server that models are shown.
const MAX_TOOLS: usize = 64;
/// Resources of one server that models are shown.
const MAX_RESOURCES: usize = 50;
/// Of a tool's schema as JSON.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// Of a tool's description.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// A token that lives shorter than this is no token.
const TOKEN_TIME: Duration = Duration::from_secs(30);
/// For a list, and for the question whether a server that missed its time is still there.
const LIST_TIME: Duration = Duration::from_secs(20);
const PROBE_TIME: Duration = Duration::from_secs(5);

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub tools: Vec<OfferedTool>,
    pub resources: Vec<OfferedResource>,
    /// What was left out, for people.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of an object.
    pub schema: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedResource {
    pub uri: String,
    pub name: String,
}

/// The servers of one run. Connections are opened when they are first needed; dropping this ends them.
#[derive(Debug, Default)]
pub struct Clients {
    slots: Vec<Slot>,
}

struct Slot {
    server: Server,
    secrets: Secrets,
    state: Mutex<State>,
    calls: Semaphore,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    opened: u32,
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Slot").field("server", &self.server.name).finish_non_exhaustive()
    }
}

impl Clients {
    pub fn new(servers: Vec<Server>) -> Self {
        Self { slots: servers.into_iter().map(Slot::new).collect() }
    }

    /// What the servers have, in their order; asked side by side.
    pub async fn offers(&self) -> Vec<(&str, Result<Offer, Error>)> {
        let asked = self.slots.iter().map(|slot| async { (slot.server.name.as_str(), slot.offer().await) });
        futures::future::join_all(asked).await
    }

    /// Calls a tool; `progress` hears how far it has come.
    ///
    /// # Errors
    /// [`Error`]. A call that may have reached the server is never made twice.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call at the server.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: JsonObject,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Reply, Error> {
        let slot = self.slot(server)?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        match slot.answer(request, progress).await? {
            ServerResult::CallToolResult(result) => {
                let reply = content::of_call(result).map(|reply| slot.secrets.hide_in(reply));
                reply.map_err(|error| slot.secrets.scrub(error))
            }
            other => Err(unexpected(other)),
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn read(&self, server: &str, uri: &str) -> Result<Reply, Error> {
        let slot = self.slot(server)?;
        let request = ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri)));
        match slot.answer(request, &|_| {}).await? {
            ServerResult::ReadResourceResult(result) => {
                Ok(slot.secrets.hide_in(content::of_resources(result.contents)))
            }
            other => Err(unexpected(other)),
        }
    }

    /// Ends all connections in order, side by side; what is dropped instead is cut off.
    pub async fn close(&self) {
        let close = |slot: &Slot| slot.state.try_lock().ok().and_then(|mut state| state.connection.take());
        let open: Vec<Connection> = self.slots.iter().filter_map(close).collect();
        futures::future::join_all(open.into_iter().map(Connection::close)).await;
    }

    fn slot(&self, server: &str) -> Result<&Slot, Error> {
        let slot = self.slots.iter().find(|slot| slot.server.name == server);
        slot.ok_or_else(|| Error::Unavailable(format!("the server {server} is no longer configured")))
    }
}

impl Slot {
    fn new(server: Server) -> Self {
        let secrets = Secrets::of(&server);
        Self { server, secrets, state: Mutex::default(), calls: Semaphore::new(CALLS_AT_ONCE) }
    }

    async fn offer(&self) -> Result<Offer, Error> {
        let offer = list(&self.connected().await?.peer, &self.server).await;
        offer.map_err(|error| self.secrets.scrub(error))
    }

    /// The connection, opened if there is none that works.
    async fn connected(&self) -> Result<Open, Error> {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(Connection::is_closed) {
            state.connection = None;
        }
        if state.connection.is_none() {
            if state.opened >= MAX_CONNECTIONS {
                return Err(Error::Unavailable(format!("its connection was lost {MAX_CONNECTIONS} times")));
            }
            state.opened += 1;
            state.connection = Some(Connection::open(&self.server, &self.secrets).await?);
        }
        let connection = state.connection.as_ref().ok_or_else(|| Error::Unavailable("it is gone".to_owned()))?;
        Ok(Open { peer: connection.peer().clone(), notices: Arc::clone(&connection.notices) })
    }

    /// One request, within the server's time limits; made once more only if it certainly was not sent, or was refused
    /// for a token that can be renewed.
    async fn answer(
        &self,
        request: ClientRequest,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<ServerResult, Error> {
        let _permit = self.calls.acquire().await;
        let mut again = true;
        loop {
            let open = self.connected().await?;
            let error = match self.sent(&open, request.clone(), progress).await {
                Ok(ServerResult::InputRequiredResult(asked)) => {
                    return Err(sign_ins_of(asked.input_requests, &open.notices));
                }
                Ok(result) => return sign_in_or(result, &open.notices),
                Err(error) => error,
            };
            if again && never_sent(&error) {
                again = false;
                self.forget(&open).await;
                continue;
            }
            if again && self.server.renews() && is_refused(&error) {
                again = false;
                self.sign_in_again(&open).await;
                continue;
            }
            return Err(self.secrets.scrub(self.failed(error, &open).await));
        }
    }

    async fn sent(
        &self,
        Open { peer, notices }: &Open,
        request: ClientRequest,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<ServerResult, ServiceError> {
        let options = PeerRequestOptions::with_timeout(self.server.timeout)
            .reset_timeout_on_progress()
            .with_max_total_timeout(self.server.max_time);
        let handle = peer.send_request_with_option(request, options).await?;
        let mut followed = notices.follow(handle.progress_token.clone());
        let mut cancel = CancelOnDrop { peer, id: Some(handle.id.clone()) };
        let mut response = std::pin::pin!(handle.await_response());
        let result = loop {
            // Losing an arm loses nothing: the response is pinned outside, and `changed` only wakes.
            tokio::select! {
                result = &mut response => break result,
                Ok(()) = followed.receiver.changed() => {
                    let seen = followed.receiver.borrow_and_update().clone();
                    if let Some(mut seen) = seen {
                        seen.message = seen.message.map(|message| self.secrets.hide(message));
                        progress(seen);
                    }
                }
            }
        };
        cancel.id = None;
        result
    }

    /// What an error means; a connection that no longer answers is given up.
    async fn failed(&self, error: ServiceError, open: &Open) -> Error {
        let flooded = open.notices.is_flooded();
        let lost = match &error {
            ServiceError::McpError(_) => false,
            // A server that was restarted may not know the session and never answer in it.
            ServiceError::Timeout { .. } => !answers(&open.peer).await,
            ServiceError::TransportSend(error) => !wants_token(error),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => true,
            _ => flooded,
        };
        if lost {
            self.forget(open).await;
        }
        match error {
            ServiceError::McpError(_) | ServiceError::Timeout { .. } => meaning(error),
            _ if flooded => Error::Unavailable("it sent far more notices than it may, so it was cut off".to_owned()),
            _ => meaning(error),
        }
    }

    /// Gives up this connection, but not one that another call has opened since.
    async fn forget(&self, open: &Open) {
        let is_it = |connection: &mut Connection| Arc::ptr_eq(&connection.notices, &open.notices);
        drop(self.state.lock().await.connection.take_if(is_it));
    }

    /// The token has run out, which says nothing about the server: a connection that worked for a while is not counted.
    async fn sign_in_again(&self, open: &Open) {
        let mut state = self.state.lock().await;
        let is_it = |connection: &mut Connection| Arc::ptr_eq(&connection.notices, &open.notices);
        if state.connection.take_if(is_it).is_some_and(|connection| connection.since.elapsed() > TOKEN_TIME) {
            state.opened = state.opened.saturating_sub(1);
        }
    }
}

/// A connection as a call has it: another call may replace the slot's in the meantime.
struct Open {
    peer: Peer<RoleClient>,
    notices: Arc<Notices>,
}

/// Is the server still there?
async fn answers(peer: &Peer<RoleClient>) -> bool {
    let asked = ClientRequest::ListToolsRequest(ListToolsRequest::default());
    request(peer, asked, PROBE_TIME, |_| Some(())).await.is_ok()
}

/// Tells the server that nobody waits for the answer any more.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let reason = Some("the answer is no longer needed".to_owned());
            // The first poll puts it into the queue of the connection; whether it arrives is not waited for.
            let _ = self.peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).now_or_never();
        }
    }
}

/// A request without progress, and what of its result is wanted.
async fn request<T>(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    time: Duration,
    wanted: impl FnOnce(ServerResult) -> Option<T>,
) -> Result<T, Error> {
    let options = PeerRequestOptions::with_timeout(time);
    let sent = async { peer.send_request_with_option(request, options).await?.await_response().await };
    let result = sent.await.map_err(meaning)?;
    wanted(result).ok_or_else(|| Error::Unavailable("it answered something else".to_owned()))
}

/// All tools that may be called and the first resources, page by page, within bounds.
async fn list(peer: &Peer<RoleClient>, server: &Server) -> Result<Offer, Error> {
    let capabilities = peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
    let mut offer = Offer::default();
    let (mut cursor, mut seen) = (None, std::collections::HashSet::new());
    for _ in 0..MAX_PAGES {
        let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
        let asked = ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() });
        let page = request(peer, asked, LIST_TIME, |result| match result {
            ServerResult::ListToolsResult(page) => Some(page),
            _ => None,
        });
        let page = page.await?;
        offer.take_tools(page.tools, server);
        cursor = page.next_cursor;
        if cursor.as_ref().is_none_or(|cursor| !seen.insert(cursor.clone())) || offer.tools.len() >= MAX_TOOLS {
            break;
        }
    }
    if let Some(patterns) = &server.tools {
        let missing =
            |pattern: &&String| !offer.tools.iter().any(|tool| crate::domain::wildcard::matches(pattern, &tool.name));
        let missing: Vec<_> = patterns.iter().filter(missing).take(10).cloned().collect();
        if !missing.is_empty() {
            offer.notes.push(format!("it has no tool {}", missing.join(", ")));
        }
    }
    if capabilities.resources.is_some() {
        let asked = ClientRequest::ListResourcesRequest(ListResourcesRequest::default());
        let listed = request(peer, asked, LIST_TIME, |result| match result {
            ServerResult::ListResourcesResult(page) => Some(page.resources),
            _ => None,
        });
        // What cannot be listed cannot be read either; the tools are there all the same.
        offer.take_resources(listed.await.unwrap_or_default());
    }
    Ok(offer)
}

impl Offer {
    fn take_tools(&mut self, tools: Vec<rmcp::model::Tool>, server: &Server) {
        for tool in tools.into_iter().filter(|tool| server.allows(&tool.name)) {
            if self.tools.len() >= MAX_TOOLS {
                self.notes.push(format!("it has more tools than {MAX_TOOLS}; choose some by `tools` in the settings"));
                return;
            }
            if self.tools.iter().any(|known| known.name == tool.name) {
                continue;
            }
            let mut schema = serde_json::Value::Object((*tool.input_schema).clone());
            if schema.get("type").is_none() {
                schema["type"] = "object".into();
            }
            if schema["type"] != "object" || schema.to_string().len() > MAX_SCHEMA_BYTES || tool.name.len() > 256 {
                let name: String = tool.name.chars().take(64).collect();
                self.notes.push(format!("its tool {name} has a schema that models cannot be shown"));
                continue;
            }
            let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            self.tools.push(OfferedTool {
                name: tool.name.to_string(),
                description: description.chars().take(MAX_DESCRIPTION_CHARS).collect(),
                schema,
            });
        }
    }

    fn take_resources(&mut self, resources: Vec<rmcp::model::Resource>) {
        let fits = |resource: &rmcp::model::Resource| resource.uri.len() <= 1_000;
        let shown = |resource: rmcp::model::Resource| OfferedResource {
            name: resource.title.unwrap_or(resource.name).chars().take(200).collect(),
            uri: resource.uri,
        };
        self.resources = resources.into_iter().filter(fits).take(MAX_RESOURCES).map(shown).collect();
    }
}

/// An answer that came although the user was asked to sign in is one of a call that did not happen.
fn sign_in_or(result: ServerResult, notices: &Notices) -> Result<ServerResult, Error> {
    let sign_ins = notices.take_sign_ins();
    let failed = matches!(&result, ServerResult::CallToolResult(result) if result.is_error == Some(true));
    if failed && !sign_ins.is_empty() { Err(Error::SignIn(sign_ins)) } else { Ok(result) }
}
