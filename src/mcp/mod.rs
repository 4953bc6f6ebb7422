//! Clients of MCP servers, on the official SDK: connections of one run, what servers offer, calls, resources.
//!
//! [`Clients`] is all that tools hold. `settings` says which servers there are, `connection` opens one, `secrets` hides
//! what it was given, `raw` repairs what it sends, `handler` hears what it says by itself, `offer` and `listed` read
//! what it has, `content` turns results into pieces with addresses. Every server is foreign: it may hang, flood, die
//! and lie, and then costs its own answers alone. Knows no run, no journal and no model.

mod connection;
mod content;
mod error;
mod handler;
mod listed;
mod oauth;
mod offer;
mod raw;
mod secrets;
mod settings;

use std::{fmt, sync::Arc, time::Duration};

use futures::FutureExt as _;
use rmcp::{
    RoleClient,
    model::{
        CallToolRequestParams, CancelledNotificationParam, ClientRequest, JsonObject, ListResourcesRequest,
        ListToolsRequest, ReadResourceRequestParams, Request, RequestId, ServerResult,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use tokio::sync::{Mutex, Semaphore};

use connection::Connection;
use error::{HttpAnswer, is_refused, lacks_headers, meaning, never_sent, sign_ins_of, unexpected, wants_token};
use handler::Notices;
use secrets::Secrets;

pub use connection::INHERITED;
pub use content::{MAX_PIECES, Piece, Reply};
pub use error::{Error, SignIn};
pub use oauth::{Grant, OAuth};
pub use offer::{Offer, OfferedResource, OfferedTool};
pub use settings::{Server, Settings, Way, check_count, read, read_json};

/// Connections that one run opens to one server, the first included.
const MAX_CONNECTIONS: u32 = 4;
/// Calls of one run to one server at the same time; further ones wait.
const CALLS_AT_ONCE: usize = 4;
/// A token that lives shorter than this is no token.
const TOKEN_TIME: Duration = Duration::from_secs(30);
/// The longest message of a progress notification.
const MAX_MESSAGE_CHARS: usize = 300;
/// The time for asking whether a server that missed its time is still there.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
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

    /// Returns what the servers have, in their order; asked side by side.
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
        let (result, sign_ins) = slot.answer(request, progress).await?;
        match result {
            ServerResult::CallToolResult(result) => {
                let reply = content::of_call(result, &slot.secrets).map_err(|error| slot.secrets.scrub(error))?;
                Ok(Reply { sign_ins, ..reply })
            }
            other => Err(unexpected(other)),
        }
    }

    /// Reads a resource, by its own address or the one that stands for it.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn read(&self, server: &str, uri: &str) -> Result<Reply, Error> {
        let slot = self.slot(server)?;
        let uri = slot.own_address(uri).await?;
        let request = ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri)));
        let (result, sign_ins) = slot.answer(request, &|_| {}).await?;
        match result {
            ServerResult::ReadResourceResult(result) => {
                Ok(Reply { sign_ins, ..content::of_resources(result.contents, &slot.secrets) })
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
        let open = self.connected().await?;
        match offer::list(&open.peer, &self.server, &self.secrets).await {
            Err(error @ Error::Unavailable(_)) => Err(self.secrets.scrub(self.lost(error, &open).await)),
            offer => offer.map_err(|error| self.secrets.scrub(error)),
        }
    }

    /// Returns the address of a resource as the server has it. A process that goes on with a run has not seen the
    /// list from which it was known, and so asks for it.
    async fn own_address(&self, shown: &str) -> Result<String, Error> {
        if let Some(own) = self.secrets.own_address(shown) {
            return Ok(own);
        }
        let late = |_| Error::TimedOut(offer::LIST_TIME);
        tokio::time::timeout(offer::LIST_TIME, self.look_up(shown)).await.map_err(late)??;
        let known = self.secrets.own_address(shown);
        known.ok_or_else(|| Error::Refused("its address is known no more; call what named it again".to_owned()))
    }

    /// Asks for the list of resources until that address is known.
    async fn look_up(&self, shown: &str) -> Result<(), Error> {
        let is_known = || self.secrets.own_address(shown).is_some();
        let mut pages = offer::Pages::default();
        while let Some(params) = pages.next().filter(|_| !is_known()) {
            let asked = ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() });
            match self.answer(asked, &|_| {}).await.map(|(result, _)| result) {
                Ok(ServerResult::ListResourcesResult(page)) => {
                    drop(offer::shown(page.resources, &self.secrets));
                    pages.follow(page.next_cursor);
                }
                // It has no list.
                Ok(_) | Err(Error::Refused(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the connection, opened if there is none that works.
    async fn connected(&self) -> Result<Open, Error> {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(Connection::is_closed) {
            state.connection = None;
        }
        if state.connection.is_none() {
            if state.opened >= MAX_CONNECTIONS {
                return Err(Error::Unavailable(format!(
                    "{MAX_CONNECTIONS} connections could not be opened or were lost"
                )));
            }
            state.opened += 1;
            state.connection = Some(Connection::open(&self.server, &self.secrets).await?);
        }
        let connection = state.connection.as_ref().ok_or_else(|| Error::Unavailable("it is gone".to_owned()))?;
        Ok(Open { peer: connection.peer().clone(), notices: Arc::clone(&connection.notices) })
    }

    /// Makes one request, within the server's time limits; made again only as [`Self::may_repeat`] says.
    async fn answer(
        &self,
        request: ClientRequest,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(ServerResult, Vec<SignIn>), Error> {
        let _permit = self.calls.acquire().await;
        let mut done = Repeats::default();
        loop {
            let open = self.connected().await?;
            let error = match self.sent(&open, request.clone(), progress).await {
                Ok(ServerResult::InputRequiredResult(asked)) => {
                    return Err(self.secrets.scrub(sign_ins_of(asked.input_requests, &open.notices)));
                }
                Ok(result) => return self.sign_in_or(result, &open.notices),
                Err(error) => error,
            };
            if !self.may_repeat(&error, &open, &mut done).await {
                return Err(self.secrets.scrub(self.failed(error, &open).await));
            }
        }
    }

    /// Returns whether a request may be made once more, after what stood in its way is seen to: it certainly was not
    /// sent, or was refused unread, for a token that can be renewed or for headers that can be learnt.
    async fn may_repeat(&self, error: &ServiceError, open: &Open, done: &mut Repeats) -> bool {
        if !done.reconnected && never_sent(error) {
            done.reconnected = true;
            drop(self.forget(open).await);
            return true;
        }
        if !done.reconnected && self.server.renews() && is_refused(error) {
            done.reconnected = true;
            self.sign_in_again(open).await;
            return true;
        }
        if !done.listed && lacks_headers(error) {
            done.listed = true;
            return offer::list_again(&open.peer, &self.server, &self.secrets).await.is_ok();
        }
        false
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
                        seen.message = seen.message.map(|text| self.secrets.presentable(&text, MAX_MESSAGE_CHARS));
                        progress(seen);
                    }
                }
            }
        };
        cancel.id = None;
        result
    }

    /// Returns the answer and where the user was asked to sign in meanwhile; of an answer that is an error that alone,
    /// since the call did not happen. What another call may have asked for is left to that one.
    fn sign_in_or(&self, result: ServerResult, notices: &Notices) -> Result<(ServerResult, Vec<SignIn>), Error> {
        let failed = matches!(&result, ServerResult::CallToolResult(result) if result.is_error == Some(true));
        let is_alone = self.calls.available_permits() + 1 == CALLS_AT_ONCE;
        let sign_ins = if failed || is_alone { notices.take_sign_ins() } else { Vec::new() };
        let sign_ins = self.secrets.hide_in_sign_ins(sign_ins);
        if failed && !sign_ins.is_empty() { Err(Error::SignIn(sign_ins)) } else { Ok((result, sign_ins)) }
    }

    /// Returns what an error means; a connection that no longer answers is given up.
    async fn failed(&self, error: ServiceError, open: &Open) -> Error {
        let cut_off = open.notices.cut_off();
        let lost = match &error {
            ServiceError::McpError(_) => false,
            // A server that was restarted may not know the session and never answer in it.
            ServiceError::Timeout { .. } => !answers(&open.peer).await,
            ServiceError::TransportSend(error) if wants_token(error) => false,
            ServiceError::TransportSend(error) => match HttpAnswer::of(error) {
                Some(HttpAnswer::Busy(_)) => false,
                Some(HttpAnswer::Other(_)) => !answers(&open.peer).await,
                None => true,
            },
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => true,
            _ => cut_off.is_some(),
        };
        let error = match (error, cut_off) {
            (error @ (ServiceError::McpError(_) | ServiceError::Timeout { .. }), _) | (error, None) => meaning(error),
            (_, Some(what)) => error::cut_off(what),
        };
        if lost { self.lost(error, open).await } else { error }
    }

    /// Gives up a connection, and returns the error with what is known of its end.
    async fn lost(&self, error: Error, open: &Open) -> Error {
        match self.forget(open).await {
            Some(connection) => connection.explain(error).await,
            None => error,
        }
    }

    /// Takes away this connection, but not one that another call has opened since.
    async fn forget(&self, open: &Open) -> Option<Connection> {
        let is_it = |connection: &mut Connection| Arc::ptr_eq(&connection.notices, &open.notices);
        self.state.lock().await.connection.take_if(is_it)
    }

    /// Drops the connection, so that the next one signs in again. The token has run out, which says nothing about the
    /// server: a connection that worked for a while is not counted.
    async fn sign_in_again(&self, open: &Open) {
        let mut state = self.state.lock().await;
        let is_it = |connection: &mut Connection| Arc::ptr_eq(&connection.notices, &open.notices);
        if state.connection.take_if(is_it).is_some_and(|connection| connection.since.elapsed() > TOKEN_TIME) {
            state.opened = state.opened.saturating_sub(1);
        }
    }
}

/// What was done already to make a request once more; nothing is done twice.
#[derive(Default)]
struct Repeats {
    reconnected: bool,
    listed: bool,
}

/// A connection as a call has it: another call may replace the slot's in the meantime.
struct Open {
    peer: Peer<RoleClient>,
    notices: Arc<Notices>,
}

/// Returns whether the server is still there and knows us. One without tools may refuse to list them, and one with too
/// much to do may refuse whatever it is asked: both are answers.
async fn answers(peer: &Peer<RoleClient>) -> bool {
    let asked = ClientRequest::ListToolsRequest(ListToolsRequest::default());
    match asked_within(peer, asked, PROBE_TIME).await {
        Ok(_) | Err(ServiceError::McpError(_)) => true,
        Err(ServiceError::TransportSend(error)) => matches!(HttpAnswer::of(&error), Some(HttpAnswer::Busy(_))),
        Err(_) => false,
    }
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

/// Makes a request without progress, and returns what of its result is wanted.
async fn request<T>(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    time: Duration,
    wanted: impl FnOnce(ServerResult) -> Option<T>,
) -> Result<T, Error> {
    let result = asked_within(peer, request, time).await.map_err(meaning)?;
    wanted(result).ok_or_else(|| Error::Unavailable("it answered something else".to_owned()))
}

async fn asked_within(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    time: Duration,
) -> Result<ServerResult, ServiceError> {
    let options = PeerRequestOptions::with_timeout(time);
    peer.send_request_with_option(request, options).await?.await_response().await
}

#[cfg(test)]
mod over_http;

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock};
    use serde_json::json;

    use super::*;

    fn slot() -> Slot {
        let server = json!([{"name": "a", "url": "https://w.example/mcp", "bearer": "tok3n-1"}]);
        Slot::new(read(&server, &|_| None).unwrap().remove(0))
    }

    fn done() -> ServerResult {
        ServerResult::CallToolResult(CallToolResult::success(vec![ContentBlock::text("done")]))
    }

    fn refused() -> ServerResult {
        ServerResult::CallToolResult(CallToolResult::error(vec![ContentBlock::text("sign in first")]))
    }

    /// Of the one Fathom closed the input, after which it ends; the other one ended by itself.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_answers_otherwise_is_not_said_to_have_ended() {
        let refusal = async |script: &str| {
            let server = json!([{"name": "a", "command": "sh", "args": ["-c", script]}]);
            let slot = Slot::new(read(&server, &|_| None).unwrap().remove(0));
            slot.connected().await.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let answer = r#"{\"jsonrpc\": \"2.0\", \"id\": $n, \"result\": {\"tools\": []}}"#;
        let said = refusal(&format!("n=0; while read line; do echo \"{answer}\"; n=$((n + 1)); done")).await;
        assert!(!said.contains("ended") && !said.is_empty(), "{said}");
        let said = refusal("echo no database >&2; exit 3").await;
        assert!(said.contains("its program ended (exit status: 3)") && said.contains("no database"), "{said}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_dies_after_its_greeting_says_why() {
        let greeting =
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}"#;
        let script = format!(
            r#"read a; echo '{{"jsonrpc":"2.0","id":0,"error":{{"code":-32601,"message":"no"}}}}'
            read a; echo '{{"jsonrpc":"2.0","id":1,"result":{greeting}}}'
            read a; read a; echo no database >&2; exit 3"#
        );
        let server = json!([{"name": "a", "command": "sh", "args": ["-c", script]}]);
        let clients = Clients::new(read(&server, &|_| None).unwrap());
        let listed = clients.offers().await.remove(0).1.unwrap_err();
        let called = clients.call("a", "tell", JsonObject::new(), &|_| {}).await.unwrap_err();
        for error in [listed, called] {
            assert_eq!(error.to_string(), "its program ended (exit status: 3); it said: no database");
        }
    }

    #[tokio::test]
    async fn a_call_that_succeeds_takes_no_sign_in_of_another() {
        let (slot, notices) = (slot(), Notices::default());
        let both = slot.calls.acquire_many(2).await;
        notices.sign_in("by tok3n-1", "https://login.example/?state=tok3n-1");
        assert_eq!(slot.sign_in_or(done(), &notices).unwrap().1, []);
        let Err(Error::SignIn(asked)) = slot.sign_in_or(refused(), &notices) else { panic!("it is left to the other") };
        let expected =
            SignIn { message: "by (hidden)".to_owned(), url: "https://login.example/?state=(hidden)".to_owned() };
        assert_eq!(asked, [expected]);
        drop(both);
        // Alone, it is the one that asked: a later call has nothing to do with it.
        let _only = slot.calls.acquire().await;
        notices.sign_in("by tok3n-1", "https://login.example/?state=tok3n-1");
        assert_eq!(slot.sign_in_or(done(), &notices).unwrap().1, asked);
        assert_eq!(slot.sign_in_or(refused(), &notices).unwrap().1, []);
    }
}
