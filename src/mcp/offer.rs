//! What a server has: its tools that may be called and its first resources, asked for page by page, within bounds.

use std::{collections::HashSet, time::Duration};

use rmcp::{
    RoleClient,
    model::{ClientRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, ServerResult},
    service::Peer,
};
use serde::{Deserialize, Serialize};

use super::{
    Error, Secrets, Server,
    listed::{Listed, NO_SCHEMA, Page},
    request,
};
use crate::domain::wildcard;

/// Pages of a list, however short they are.
const MAX_PAGES: usize = 50;
/// Tools of one server that models are shown, and such that they cannot be shown: after as many of either no more are
/// looked at.
const MAX_TOOLS: usize = 64;
/// Resources of one server that models are shown.
const MAX_RESOURCES: usize = 50;
/// The longest address, and the longest name, of a resource.
const MAX_ADDRESS_BYTES: usize = 1_000;
const MAX_NAME_CHARS: usize = 200;
/// The longest schema of a tool, as JSON.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// The longest description of a tool.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Bytes of a tool's name.
const MAX_NAME_BYTES: usize = 256;
/// Tools that are left out, and patterns without a tool, by name; the rest is counted.
const MAX_NAMED: usize = 10;
/// The time for one page, and for all together.
const PAGE_TIME: Duration = Duration::from_secs(20);
pub(super) const LIST_TIME: Duration = Duration::from_secs(60);

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub tools: Vec<OfferedTool>,
    pub resources: Vec<OfferedResource>,
    /// Whether it says that it has resources. It may list none: those of templates are named by its results alone.
    #[serde(default)]
    pub has_resources: bool,
    /// What was left out, for people; about ten.
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
    /// Its address, or one that stands for it and shows no secret.
    pub uri: String,
    pub name: String,
}

/// Returns all tools that may be called and the first resources, without what the server was given in confidence.
///
/// # Errors
/// [`Error`] when its tools cannot be listed in time.
pub(super) async fn list(peer: &Peer<RoleClient>, server: &Server, secrets: &Secrets) -> Result<Offer, Error> {
    let mut listing = Listing { server, secrets, offer: Offer::default(), refused: 0 };
    listing.list_tools(peer).await?;
    listing.note_what_is_missing();
    listing.list_resources(peer).await;
    Ok(listing.offer)
}

/// Lists the tools for the connection alone: since 2026-07-28 it repeats arguments in headers as their schemas say.
///
/// # Errors
/// As [`list`].
pub(super) async fn list_again(peer: &Peer<RoleClient>, server: &Server, secrets: &Secrets) -> Result<(), Error> {
    Listing { server, secrets, offer: Offer::default(), refused: 0 }.list_tools(peer).await
}

/// An offer as it comes in.
struct Listing<'a> {
    server: &'a Server,
    secrets: &'a Secrets,
    offer: Offer,
    /// Tools that models cannot be shown.
    refused: usize,
}

impl Listing<'_> {
    /// Takes in the tools, in time. A server that declares none may refuse to list them: it has resources.
    async fn list_tools(&mut self, peer: &Peer<RoleClient>) -> Result<(), Error> {
        let late = |_| Error::Unavailable(format!("it took longer than {} s to list its tools", LIST_TIME.as_secs()));
        let has_tools = peer.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
        match tokio::time::timeout(LIST_TIME, self.take_all_tools(peer)).await.map_err(late)? {
            Err(Error::Refused(_)) if !has_tools => Ok(()),
            listed => listed,
        }
    }

    async fn take_all_tools(&mut self, peer: &Peer<RoleClient>) -> Result<(), Error> {
        let mut pages = Pages::default();
        while let Some(params) = pages.next() {
            let asked = ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() });
            let page = request(peer, asked, PAGE_TIME, Page::of).await?;
            self.take_tools(page.tools);
            if !self.is_full() {
                pages.follow(page.next_cursor);
            }
        }
        Ok(())
    }

    /// Takes in the first resources. What cannot be listed cannot be read either; the tools are there all the same, and
    /// so are those of earlier pages.
    async fn list_resources(&mut self, peer: &Peer<RoleClient>) {
        self.offer.has_resources = peer.peer_info().is_some_and(|info| info.capabilities.resources.is_some());
        if self.offer.has_resources {
            let _ = tokio::time::timeout(LIST_TIME, self.take_resources(peer)).await;
        }
    }

    async fn take_resources(&mut self, peer: &Peer<RoleClient>) -> Result<(), Error> {
        let mut pages = Pages::default();
        while let Some(params) = pages.next() {
            let asked = ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() });
            let page = request(peer, asked, PAGE_TIME, |result| match result {
                ServerResult::ListResourcesResult(page) => Some(page),
                _ => None,
            });
            let page = page.await?;
            for resource in shown(page.resources, self.secrets) {
                if self.offer.resources.iter().all(|known| known.uri != resource.uri) {
                    self.offer.resources.push(resource);
                }
            }
            self.offer.resources.truncate(MAX_RESOURCES);
            if self.offer.resources.len() < MAX_RESOURCES {
                pages.follow(page.next_cursor);
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.offer.tools.len().max(self.refused) >= MAX_TOOLS
    }

    fn take_tools(&mut self, tools: Vec<Listed>) {
        for Listed { name, tool } in tools.into_iter().filter(|tool| self.server.allows(&tool.name)) {
            if self.is_full() {
                let note = format!("it has more tools than {MAX_TOOLS}; choose some by `tools` in the settings");
                self.offer.notes.push(note);
                return;
            }
            if self.offer.tools.iter().any(|known| known.name == name) {
                continue;
            }
            match tool.and_then(|tool| self.shown(&tool)) {
                Ok(shown) => self.offer.tools.push(shown),
                Err(why) => self.refuse(&name, why),
            }
        }
    }

    /// Returns the tool as models are shown it.
    ///
    /// # Errors
    /// Why they cannot be.
    fn shown(&self, tool: &rmcp::model::Tool) -> Result<OfferedTool, &'static str> {
        let mut schema = serde_json::Value::Object((*tool.input_schema).clone());
        if schema.get("type").is_none() {
            schema["type"] = "object".into();
        }
        // OpenAI refuses a schema without them, also of a tool that takes nothing.
        if schema["type"] == "object" && schema.get("properties").is_none_or(serde_json::Value::is_null) {
            schema["properties"] = serde_json::json!({});
        }
        if schema["type"] != "object" || schema.to_string().len() > MAX_SCHEMA_BYTES || tool.name.len() > MAX_NAME_BYTES
        {
            return Err(NO_SCHEMA);
        }
        // Without it the tool could not be called.
        if self.secrets.are_in(&tool.name) {
            return Err("repeats a secret in its name");
        }
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        Ok(OfferedTool {
            name: tool.name.to_string(),
            // In this order, since a cut through a secret would hide its end from the search.
            description: self.secrets.hide(description.to_owned()).chars().take(MAX_DESCRIPTION_CHARS).collect(),
            schema: self.secrets.hide_in_json(schema),
        })
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.refused += 1;
        if self.refused <= MAX_NAMED {
            let name: String = self.secrets.hide(name.to_owned()).chars().take(64).collect();
            self.offer.notes.push(format!("its tool {name} {why}"));
        }
    }

    fn note_what_is_missing(&mut self) {
        if let more @ 1.. = self.refused.saturating_sub(MAX_NAMED) {
            self.offer.notes.push(format!("{more} more of its tools cannot be shown to models"));
        }
        let has = |pattern: &str| self.offer.tools.iter().any(|tool| wildcard::matches(pattern, &tool.name));
        let wanted = self.server.tools.iter().flatten();
        let missing: Vec<_> = wanted.filter(|pattern| !has(pattern)).take(MAX_NAMED).cloned().collect();
        if !missing.is_empty() {
            self.offer.notes.push(format!("it has no tool {}", missing.join(", ")));
        }
    }
}

/// The pages of one list, the first one and those that are followed.
#[derive(Debug)]
pub(super) struct Pages {
    /// What is asked for next; the first page has no cursor.
    next: Option<Option<String>>,
    seen: HashSet<String>,
}

impl Default for Pages {
    fn default() -> Self {
        Self { next: Some(None), seen: HashSet::new() }
    }
}

impl Pages {
    /// Returns the parameters that ask for the next page; `None` when there is none.
    pub(super) fn next(&mut self) -> Option<Option<PaginatedRequestParams>> {
        let cursor = self.next.take()?;
        Some(cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))))
    }

    /// Goes on with that cursor, unless the list goes round in circles or on without end.
    pub(super) fn follow(&mut self, cursor: Option<String>) {
        let cursor = cursor.filter(|cursor| self.seen.len() + 1 < MAX_PAGES && self.seen.insert(cursor.clone()));
        self.next = cursor.map(Some);
    }
}

/// Returns the first of these resources; their secrets are known from then on.
pub(super) fn shown(resources: Vec<rmcp::model::Resource>, secrets: &Secrets) -> Vec<OfferedResource> {
    let fits = resources.into_iter().filter(|resource| resource.uri.len() <= MAX_ADDRESS_BYTES).take(MAX_RESOURCES);
    let shown = fits.map(|resource| {
        // Its address first, whose secrets its name may repeat.
        let uri = secrets.shown_address(resource.uri);
        let name = secrets.hide(resource.title.unwrap_or(resource.name)).chars().take(MAX_NAME_CHARS).collect();
        OfferedResource { uri, name }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use rmcp::ServiceExt as _;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

    use super::{
        super::handler::{Handler, Notices},
        *,
    };

    fn server() -> Server {
        let server = json!([{"name": "a", "url": "https://w.example/mcp", "bearer": "tok3n-1"}]);
        super::super::read(&server, &|_| None).unwrap().remove(0)
    }

    fn listed(tools: impl IntoIterator<Item = Value>, resources: Value) -> Listing<'static> {
        let server: &'static Server = Box::leak(Box::new(server()));
        let secrets = Box::leak(Box::new(Secrets::of(server)));
        let mut listing = Listing { server, secrets, offer: Offer::default(), refused: 0 };
        let tools: Vec<_> = serde_json::from_value(tools.into_iter().collect()).unwrap();
        listing.take_tools(tools.into_iter().map(Listed::of).collect());
        listing.note_what_is_missing();
        listing.offer.resources = shown(serde_json::from_value(resources).unwrap(), secrets);
        listing
    }

    fn tool(name: &str, kind: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": kind}})
    }

    #[test]
    fn tools_that_cannot_be_shown_are_few_words() {
        let listing = listed((0..10_000).map(|number| tool(&format!("t{number}"), "array")), json!([]));
        assert!(listing.is_full(), "no further page is asked for");
        assert_eq!((listing.refused, listing.offer.notes.len()), (MAX_TOOLS, MAX_NAMED + 2), "{:?}", listing.offer);
        let last = &listing.offer.notes[MAX_NAMED..];
        assert!(last[0].contains("more tools than 64") && last[1].starts_with("54 more"), "{last:?}");
        let few = listed([tool("good", "object"), tool("bad", "array")], json!([]));
        assert!(!few.is_full());
        assert_eq!((few.offer.tools.len(), few.offer.notes.len()), (1, 1));
    }

    #[test]
    fn a_tool_that_takes_nothing_has_properties_all_the_same() {
        let with = |schema: Value| {
            let listed = listed([json!({"name": "t", "inputSchema": schema})], json!([]));
            listed.offer.tools[0].schema.clone()
        };
        let expected = json!({"type": "object", "properties": {}});
        for bare in [json!({}), json!({"type": "object"}), json!({"type": "object", "properties": null})] {
            assert_eq!(with(bare.clone()), expected, "{bare}");
        }
        let full = json!({"type": "object", "properties": {"of": {"type": "string"}}});
        assert_eq!(with(full.clone()), full);
    }

    #[test]
    fn no_list_repeats_a_secret() {
        let described = json!({"name": "find", "description": format!("{} tok3n-1", "x".repeat(1_995)), "inputSchema":
            {"type": "object", "properties": {"tok3n-1": {"enum": ["tok3n-1", 7]}}}});
        let resources = json!([{"uri": "https://w.example/?key=tok3n-1", "name": "a"},
            {"uri": "https://w.example/b", "name": "of tok3n-1"}]);
        let offer = listed([described, tool("tok3n-1", "object"), tool("tok3n-1x", "array")], resources).offer;
        let shown = format!("{offer:?}");
        assert!(!shown.contains("tok3n") && shown.matches("(hidden)").count() >= 4, "{shown}");
        assert_eq!(offer.tools[0].schema["properties"], json!({"(hidden)": {"enum": ["(hidden)", 7]}}));
        assert_eq!((offer.tools.len(), offer.resources.len(), offer.notes.len()), (1, 2, 2), "{shown}");
        assert_eq!(offer.resources[0].uri, "https://w.example/?key=(hidden)");
    }

    /// Answers each request after 15 seconds, and each page of tools has a next one.
    async fn endless(stream: DuplexStream) {
        let (input, mut output) = tokio::io::split(stream);
        let mut lines = BufReader::new(input).lines();
        for page in 0.. {
            let Ok(Some(line)) = lines.next_line().await else { break };
            let request: Value = serde_json::from_str(&line).unwrap();
            let result = match request["method"].as_str() {
                Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "slow", "version": "1"}}),
                Some("tools/list") => {
                    tokio::time::sleep(Duration::from_secs(15)).await;
                    json!({"tools": [], "nextCursor": page.to_string()})
                }
                _ => continue,
            };
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    }

    /// Has no tools, and of resources the pages of ten each that are asked for, `pages` in all; the last one names the
    /// first as the next.
    async fn paged(stream: DuplexStream, pages: usize) {
        let (input, mut output) = tokio::io::split(stream);
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).unwrap();
            let result = match request["method"].as_str() {
                Some("initialize") => {
                    json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "p", "version": "1"},
                    "capabilities": {"tools": {}, "resources": {}}})
                }
                Some("tools/list") => json!({"tools": []}),
                Some("resources/list") => {
                    let page: usize = request["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
                    let resource = |number: usize| json!({"uri": format!("r://{page}/{number}"), "name": "r"});
                    let all: Vec<Value> = (0..10).map(resource).collect();
                    json!({"resources": all, "nextCursor": ((page + 1) % pages).to_string()})
                }
                _ => continue,
            };
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn resources_are_listed_page_by_page_up_to_a_bound() {
        for (pages, expected, last) in [(1, 10, "r://0/9"), (3, 30, "r://2/9"), (9, MAX_RESOURCES, "r://4/9")] {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let mut running = tokio::task::JoinSet::new();
            running.spawn(paged(theirs, pages));
            let service = Handler(Notices::default().into()).serve(ours).await.unwrap();
            let server = server();
            let offer = list(service.peer(), &server, &Secrets::of(&server)).await.unwrap();
            let found = offer.resources;
            assert_eq!((found.len(), found.last().unwrap().uri.as_str()), (expected, last), "{pages} pages");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_end_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let mut running = tokio::task::JoinSet::new();
        running.spawn(endless(theirs));
        let service = Handler(Notices::default().into()).serve(ours).await.unwrap();
        let (server, begun) = (server(), tokio::time::Instant::now());
        let error = list(service.peer(), &server, &Secrets::of(&server)).await.unwrap_err();
        assert_eq!(error.to_string(), "it took longer than 60 s to list its tools");
        assert_eq!(begun.elapsed().as_secs(), LIST_TIME.as_secs());
    }
}
