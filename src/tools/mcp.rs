//! Tools of MCP servers: one `McpTool` for each that a server offers, and `read_resource` for what it keeps.
//!
//! What the servers offer is asked once per run and is a step of the journal, so that a replay sees the same tools.
//! What a call brings becomes sources: of its address where it has one, else of the tool. A server that fails costs its
//! answers.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    Admitted, Refusal, Site, Tool, ToolError, ToolFuture, ToolOutput, admitted, arguments, framed, passages, spec,
    summary::READ_HERE,
};
use crate::{
    aside::aside_above,
    context::Cx,
    domain::{Event, OF_SERVER, Source, SourceId, ToolKind, WarningCode, digest, shortened},
    journal::{Entry, Fingerprint, StepKind, Stop},
    llm::{self, MAX_TOOL_NAME, ToolCall, ToolSpec},
    mcp::{Clients, Error, MAX_PIECES, Offer, Piece, Progress, Reply, Settings, SignIn},
    net,
    pages::{KEPT_CHARS, extract},
    prompts::untrusted,
};

const STEP: &str = "mcp/tools";
const RESOURCES: &str = "read_resource";
/// Characters of an answer that a model is shown.
const SHOWN_CHARS: usize = 20_000;
/// The time between two events about the progress of a call.
const PROGRESS_PAUSE: Duration = Duration::from_secs(1);
/// The longest address that a server gives.
const MAX_ADDRESS_CHARS: usize = 2_000;
/// The longest description of a tool that providers take; OpenAI and Azure refuse a request with a longer one.
const DESCRIPTION_CHARS: usize = 1_024;
/// Tools of all servers together. OpenAI refuses a request with more than 128, and Fathom's own are among them.
const MAX_TOOLS: usize = 100;
/// Characters of the arguments in a source's title.
const TITLE_CHARS: usize = 80;

/// The servers of one run, and what they offer.
#[derive(Clone, Debug)]
pub struct Loaded {
    clients: Arc<Clients>,
    offers: Arc<Vec<ServerOffer>>,
}

/// What one server offers, or why nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ServerOffer {
    server: String,
    offer: Result<Offer, String>,
}

/// Asks the run's servers what they offer; `None` when the run has none.
///
/// # Errors
/// [`Stop`]. A server that cannot be used is a warning.
pub async fn load(cx: &Cx, settings: &Settings) -> Result<Option<Loaded>, Stop> {
    let options = cx.options();
    if options.mcp_servers.names().next().is_none() && options.mcp_config.is_none() {
        return Ok(None);
    }
    let (servers, problem) = settings.of_run(options);
    let asked = Fingerprint::from(digest::sha256_json(&(&options.mcp_servers, &options.mcp_config)));
    let clients = Arc::new(Clients::new(servers));
    let work = async {
        let mut listed = Vec::new();
        for (server, offer) in clients.offers().await {
            if let Err(Error::SignIn(sign_ins)) = &offer {
                announce(cx, server, sign_ins).await?;
            }
            listed.push(ServerOffer { server: server.to_owned(), offer: offer.map_err(|error| error.to_string()) });
        }
        let warnings = problem.map(ToOwned::to_owned).into_iter().chain(listed.iter().flat_map(ServerOffer::problems));
        let mut warnings: Vec<String> = warnings.collect();
        take_over(cx, &asked, &mut listed);
        warnings.extend(leave_out_tools(&mut listed));
        let entry = Entry::new(listed);
        Ok(warnings.into_iter().fold(entry, |entry, warning| {
            entry.event(cx.scope(), Event::warning(WarningCode::McpServerFailed, warning))
        }))
    };
    let offers = cx.journal().step(STEP, StepKind::Tool, asked.clone(), work).await?;
    Ok(Some(Loaded { clients, offers: Arc::new(offers) }))
}

/// Puts what a run was offered that this one retries in the place of what cannot be had now: what was called then is
/// in its journal, and needs no server.
fn take_over(cx: &Cx, asked: &Fingerprint, listed: &mut [ServerOffer]) {
    if listed.iter().all(|one| one.offer.is_ok()) {
        return;
    }
    let before = std::iter::from_fn(|| cx.journal().inherited::<Vec<ServerOffer>>(STEP, asked));
    let before: Vec<ServerOffer> = before.flat_map(|inherited| inherited.value).collect();
    for one in listed.iter_mut().filter(|one| one.offer.is_err()) {
        if let Some(known) = before.iter().find(|known| known.server == one.server && known.offer.is_ok()) {
            one.offer = known.offer.clone();
        }
    }
}

impl ServerOffer {
    fn problems(&self) -> Vec<String> {
        let named = |problem: &str| format!("MCP server {}: {problem}", self.server);
        match &self.offer {
            Ok(offer) => offer.notes.iter().map(|note| named(note)).collect(),
            Err(problem) => vec![named(&format!("{problem}; the run goes on without it"))],
        }
    }
}

/// Leaves out tools above [`MAX_TOOLS`], so that servers keep as many as each other, and returns what is said of that.
fn leave_out_tools(listed: &mut [ServerOffer]) -> Option<String> {
    let counts: Vec<usize> = listed.iter().map(|one| one.offer.as_ref().map_or(0, |offer| offer.tools.len())).collect();
    let mut left_out = Vec::new();
    for (ServerOffer { server, offer }, share) in listed.iter_mut().zip(shares(&counts, MAX_TOOLS)) {
        if let Ok(offer) = offer
            && offer.tools.len() > share
        {
            left_out.push(format!("{} of {server}", offer.tools.len() - share));
            offer.tools.truncate(share);
        }
    }
    let left_out = left_out.join(", ");
    (!left_out.is_empty()).then(|| {
        format!(
            "MCP servers have more tools than {MAX_TOOLS} together, so the last ones are left out ({left_out}); \
             choose some by `tools` in the settings"
        )
    })
}

/// Returns how many each gets of `room`, when one after the other takes one as long as it has more.
fn shares(counts: &[usize], mut room: usize) -> Vec<usize> {
    let mut shares = vec![0; counts.len()];
    while room > 0 && shares != counts {
        for (share, count) in shares.iter_mut().zip(counts) {
            if *share < *count && room > 0 {
                *share += 1;
                room -= 1;
            }
        }
    }
    shares
}

impl Loaded {
    /// Returns the tools of all servers; `taken` are names that they must not have.
    pub fn tools(&self, cx: &Cx, taken: &[&str]) -> Vec<Box<dyn Tool>> {
        let mut taken: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
        // A server's own tool of that name gets its server's before it.
        taken.insert(RESOURCES.to_owned());
        let mut tools: Vec<Box<dyn Tool>> = Vec::new();
        let offers = || self.offers.iter().filter_map(|listed| Some((&listed.server, listed.offer.as_ref().ok()?)));
        for (server, offer) in offers() {
            for offered in &offer.tools {
                let name = free_name(server, &offered.name, &taken);
                taken.insert(name.clone());
                let description = shortened(&untrusted(&offered.description), DESCRIPTION_CHARS).into_owned();
                let spec = spec(&name, description, offered.schema.clone());
                let spec = ToolSpec { dispensable: true, ..spec };
                let (server, tool) = (server.clone(), offered.name.clone());
                tools.push(Box::new(McpTool { clients: Arc::clone(&self.clients), server, tool, spec }));
            }
        }
        let with_resources: Vec<_> = offers().filter(|(_, offer)| has_resources(offer)).collect();
        if !with_resources.is_empty() {
            let spec = resources_spec(cx, &with_resources);
            tools.push(Box::new(ReadResource { clients: Arc::clone(&self.clients), spec }));
        }
        tools
    }

    /// Ends the connections in order.
    pub async fn close(&self) {
        self.clients.close().await;
    }
}

/// Returns the tool's name as providers accept it; with its server's before it when another tool has that name.
fn free_name(server: &str, tool: &str, taken: &HashSet<String>) -> String {
    let plain: String = tool.chars().map(llm::in_tool_name).collect();
    let name = cut_name(&plain);
    if !name.is_empty() && !taken.contains(&name) {
        return name;
    }
    let name = cut_name(&format!("{server}__{plain}"));
    match taken.contains(&name) {
        false => name,
        // Two names that differ in what providers do not accept.
        true => with_hash(&name, &format!("{server}/{tool}")),
    }
}

fn cut_name(name: &str) -> String {
    if name.len() <= MAX_TOOL_NAME { name.to_owned() } else { with_hash(name, name) }
}

fn with_hash(name: &str, of: &str) -> String {
    let hash = digest::sha256_hex(of.as_bytes());
    format!("{}_{}", &name[..name.len().min(MAX_TOOL_NAME - 9)], &hash[..8])
}

/// A tool of a server.
struct McpTool {
    clients: Arc<Clients>,
    server: String,
    /// As the server calls it.
    tool: String,
    spec: ToolSpec,
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Mcp
    }

    fn server(&self) -> Option<&str> {
        Some(&self.server)
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let given: Map<String, Value> = arguments(call)?;
        Ok(Admitted { source_ids: sources_per_call(), ..Admitted::new(Value::Object(given)) })
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move {
            let given: Map<String, Value> = admitted(arguments)?;
            let origin = Origin::of(&self.server, &self.tool, &given);
            let progress = announced(cx, site.call_id, &self.spec.name);
            match self.clients.call(&self.server, &self.tool, given, &progress).await {
                Ok(reply) => {
                    announce(cx, &self.server, &reply.sign_ins).await?;
                    Ok(output(cx, site, &self.spec.name, origin, reply).await)
                }
                Err(error) => Err(failed(cx, site, &self.server, error).await),
            }
        }
        .boxed()
    }
}

/// What servers keep, read by its address.
struct ReadResource {
    clients: Arc<Clients>,
    spec: ToolSpec,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceArguments {
    server: String,
    uri: String,
}

impl Tool for ReadResource {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Mcp
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let given: ResourceArguments = arguments(call)?;
        Ok(Admitted { source_ids: sources_per_call(), ..Admitted::new(json!(given)) })
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move {
            let mut wanted: ResourceArguments = admitted(arguments)?;
            // As an earlier result has it.
            if let Some(own) = wanted.uri.strip_prefix(&format!("mcp:{}/", wanted.server)) {
                wanted.uri = own.to_owned();
            }
            let shown = json!(net::hidden_address(&wanted.uri));
            let origin = Origin::of(&wanted.server, RESOURCES, &Map::from_iter([("uri".to_owned(), shown)]));
            match self.clients.read(&wanted.server, &wanted.uri).await {
                Ok(reply) => {
                    announce(cx, &wanted.server, &reply.sign_ins).await?;
                    Ok(output(cx, site, RESOURCES, origin, reply).await)
                }
                Err(error) => Err(failed(cx, site, &wanted.server, error).await),
            }
        }
        .boxed()
    }
}

/// Returns whether addresses of the server can be read. What an earlier release stored has the list alone.
fn has_resources(offer: &Offer) -> bool {
    offer.has_resources || !offer.resources.is_empty()
}

fn resources_spec(cx: &Cx, offers: &[(&String, &Offer)]) -> ToolSpec {
    let servers: Vec<_> = offers.iter().map(|(server, _)| *server).collect();
    let described = |name: &str| cx.prompts().text(&format!("tools/read_resource.{name}"), ());
    let parameters = json!({
        "type": "object",
        "properties": {
            "server": {"type": "string", "enum": servers, "description": described("server")},
            "uri": {"type": "string", "description": described("uri")},
        },
        "required": ["server", "uri"],
        "additionalProperties": false,
    });
    let listing = |known: &[Value], more: usize| {
        cx.prompts().text("tools/read_resource", json!({"resources": known, "more": more}))
    };
    ToolSpec { dispensable: true, ..spec(RESOURCES, fitting_list(&known_resources(offers), &listing), parameters) }
}

/// Returns the resources as a description shows them, of each server in turn.
fn known_resources(offers: &[(&String, &Offer)]) -> Vec<Value> {
    let longest = offers.iter().map(|(_, offer)| offer.resources.len()).max().unwrap_or_default();
    let turn =
        |place: usize| offers.iter().filter_map(move |(server, offer)| Some((server, offer.resources.get(place)?)));
    let all = (0..longest).flat_map(turn);
    all.map(|(server, one)| json!({"server": server, "uri": untrusted(&one.uri), "name": untrusted(&one.name)}))
        .collect()
}

/// Returns the description with the resources that there is room for: what is too long is passed over. `listing` gets
/// them and the number of those that are left out.
fn fitting_list(resources: &[Value], listing: &dyn Fn(&[Value], usize) -> String) -> String {
    let (mut known, mut description) = (Vec::new(), listing(&[], resources.len()));
    for resource in resources {
        known.push(resource.clone());
        let longer = listing(&known, resources.len() - known.len());
        if longer.chars().count() <= DESCRIPTION_CHARS {
            description = longer;
        } else {
            known.pop();
        }
    }
    shortened(&description, DESCRIPTION_CHARS).into_owned()
}

fn sources_per_call() -> u32 {
    u32::try_from(MAX_PIECES).unwrap_or(u32::MAX)
}

/// Tells readers of the run how far a call has come, not too often. Nothing waits for it, and what is lost is no harm.
fn announced<'a>(cx: &'a Cx, call_id: &'a str, name: &'a str) -> impl Fn(Progress) + Send + Sync + 'a {
    // Held for a comparison.
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    move |seen| {
        let mut last = last.lock();
        if last.is_some_and(|last| last.elapsed() < PROGRESS_PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        let (tool_call_id, name) = (call_id.to_owned(), name.to_owned());
        let Progress { progress, total, message } = seen;
        cx.journal().try_emit(vec![cx.now(Event::ToolProgress { tool_call_id, name, progress, total, message })]);
    }
}

/// Returns what the model hears of a failure; who runs the service hears of a server that is gone, the user of a
/// sign-in.
async fn failed(cx: &Cx, site: Site<'_>, server: &str, error: Error) -> ToolError {
    let problem = format!("MCP server {server}: {error}");
    let said = match &error {
        Error::SignIn(sign_ins) => announce(cx, server, sign_ins).await,
        Error::Unavailable(_) | Error::NeedsToken => {
            cx.warn(
                &format!("{}/call/{}/server", site.turn, site.index),
                WarningCode::McpServerFailed,
                problem.as_str(),
            )
            .await
        }
        Error::Refused(_) | Error::TimedOut(_) => Ok(()),
    };
    match said {
        Ok(()) => ToolError::Model(untrusted(&problem)),
        Err(stop) => stop.into(),
    }
}

/// Makes the events for what a user is asked to sign in at.
async fn announce(cx: &Cx, server: &str, sign_ins: &[SignIn]) -> Result<(), Stop> {
    let event = |SignIn { message, url }: &SignIn| {
        let (server, message, url) = (server.to_owned(), message.clone(), url.clone());
        Event::SignInRequired { server, url, message }
    };
    if sign_ins.is_empty() { Ok(()) } else { cx.emit(sign_ins.iter().map(event).collect()).await }
}

/// What an answer without an address is known by.
struct Origin {
    server: String,
    /// What the call asks for: the values of its arguments.
    asked: String,
    title: String,
    /// `mcp:SERVER/TOOL#HASH`, the hash of the arguments.
    address: String,
}

impl Origin {
    fn of(server: &str, tool: &str, arguments: &Map<String, Value>) -> Self {
        let given = Value::Object(arguments.clone()).to_string();
        let hash = digest::sha256_hex(given.as_bytes());
        let plain = |text: &str| {
            text.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect::<String>()
        };
        let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let asked = arguments.values().map(said).collect::<Vec<_>>().join(" ");
        let shown: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}: {}", said(value))).collect();
        let shown = shortened(&shown.join(", "), TITLE_CHARS).into_owned();
        let title =
            if shown.is_empty() { format!("{tool} of {server}") } else { format!("{tool} of {server} ({shown})") };
        let title = crate::domain::printable_line(&title);
        let address = format!("mcp:{server}/{}#{}", plain(tool), &hash[..8]);
        Self { server: server.to_owned(), asked, title, address }
    }

    /// Returns the address of a piece, in a form that nothing can be started by: of the web, or `mcp:SERVER/…`. An
    /// address of the web names the server behind a `#`: what the server says of a page is none of what is read
    /// there, and never stands for it.
    fn address_of(&self, piece: &Piece, place: usize) -> String {
        match piece.address.as_deref() {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                let bare = Url::parse(url).map_or_else(|_| url.to_owned(), |url| net::without_credentials(&url).into());
                let page: String = net::canonical_url(&bare).chars().take(MAX_ADDRESS_CHARS).collect();
                format!("{page}#mcp:{}", self.server)
            }
            Some(other) => {
                let plain: String = net::hidden_address(other)
                    .chars()
                    .map(|c| if c.is_whitespace() || c.is_control() || "<>[]\"'`\\".contains(c) { '_' } else { c })
                    .collect();
                format!("mcp:{}/{plain}", self.server).chars().take(MAX_ADDRESS_CHARS).collect()
            }
            None if place == 0 => self.address.clone(),
            None => format!("{}.{}", self.address, place + 1),
        }
    }
}

async fn output(cx: &Cx, site: Site<'_>, tool: &str, origin: Origin, reply: Reply) -> ToolOutput {
    let Reply { pieces, left_out, sign_ins: _ } = reply;
    let room = SHOWN_CHARS.min(cx.options().max_content_length as usize);
    let bytes = pieces.iter().map(|piece| piece.text.len()).sum();
    let (first, topic) = (site.first_source, site.topic.to_owned());
    match aside_above(READ_HERE, bytes, move || shown(first, &origin, &topic, &pieces, room)).await {
        Ok(shown) => rendered(cx, shown, left_out),
        Err(panicked) => ToolOutput::failed(cx, tool, panicked.to_string()),
    }
}

/// A piece as a source, and what a model is shown of it.
struct Shown {
    source: Source,
    text: String,
    /// Characters that are not shown.
    left_out: usize,
}

/// Returns the pieces of an answer, as many characters of them as there is room for: of the first that is too long
/// what fits the call and the topic, of those behind it nothing.
fn shown(first: SourceId, origin: &Origin, topic: &str, pieces: &[Piece], mut room: usize) -> Vec<Shown> {
    let of = |((place, piece), number): ((usize, &Piece), u32)| {
        let text = fitting(&piece.text, &[&origin.asked, topic], room);
        let length = piece.text.chars().count();
        room = room.saturating_sub(length);
        Shown {
            source: source(SourceId(number), origin, piece, place),
            left_out: length.saturating_sub(text.chars().count()),
            text: text.into_owned(),
        }
    };
    pieces.iter().enumerate().zip(first.0..).map(of).collect()
}

/// Returns what fits best of a text, no longer than there is room for.
fn fitting<'a>(text: &'a str, asked: &[&str], room: usize) -> Cow<'a, str> {
    if text.chars().nth(room).is_none() {
        return Cow::Borrowed(text);
    }
    if room == 0 {
        return Cow::Borrowed("");
    }
    // With marks between passages it may be longer.
    Cow::Owned(extract::cut(&passages::filled(text, asked, room), room).to_owned())
}

fn rendered(cx: &Cx, all: Vec<Shown>, mut left_out: Vec<String>) -> ToolOutput {
    let (mut output, mut sources) = (ToolOutput::default(), Vec::new());
    for Shown { source, text, left_out: chars } in all {
        if chars > 0 {
            let which = if text.is_empty() { "" } else { ", those that fit the call and the topic least" };
            left_out.push(format!("{chars} characters of {} were left out{which}; ask for less at once", source.id));
        }
        sources.push(json!({
            "id": source.id.to_string(),
            "title": untrusted(&source.title),
            "location": untrusted(location(&source.url)),
            "text": untrusted(&text),
        }));
        output.add(source, text);
    }
    let left_out: Vec<_> = left_out.iter().map(|text| untrusted(text)).collect();
    let text = cx.prompts().text("mcp_result", json!({"sources": sources, "left_out": left_out}));
    ToolOutput { text: framed(&text), ..output }
}

/// Names the place, without an address that a model could copy as a link.
fn location(url: &str) -> &str {
    match url.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(':') => rest.split('/').next().unwrap_or_default(),
        _ => url,
    }
}

fn source(id: SourceId, origin: &Origin, piece: &Piece, place: usize) -> Source {
    let snapshot = extract::cut(&piece.text, KEPT_CHARS);
    let title = piece.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let url = origin.address_of(piece, place);
    let title = title.map_or_else(|| origin.title.clone(), crate::domain::printable_line);
    Source::retrieved(id, url, title, format!("{OF_SERVER}{}", origin.server), snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_providers_and_stay_apart() {
        let taken = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<HashSet<_>>();
        assert_eq!(free_name("files", "read_file", &taken(&["search_web"])), "read_file");
        assert_eq!(free_name("web", "search_web", &taken(&["search_web"])), "web__search_web");
        assert_eq!(free_name("web", "a.b/c", &taken(&[])), "a_b_c");
        let twice = free_name("web", "a.b", &taken(&["a_b", "web__a_b"]));
        assert!(twice.starts_with("web__a_b_") && twice.len() <= MAX_TOOL_NAME, "{twice}");
        let (long, other) = ("x".repeat(100), format!("{}y", "x".repeat(99)));
        let (one, two) = (free_name("web", &long, &taken(&[])), free_name("web", &other, &taken(&[])));
        assert!(one.len() == MAX_TOOL_NAME && one != two, "{one} {two}");
        assert_eq!(free_name("web", "größe", &taken(&[])), "gr__e");
    }

    #[test]
    fn of_too_many_tools_each_server_keeps_as_many_as_the_others() {
        assert_eq!(shares(&[1, 64, 0, 64], 100), [1, 50, 0, 49]);
        assert_eq!(shares(&[3, 2], 100), [3, 2]);
        assert_eq!(shares(&[1; 200], 100).iter().sum::<usize>(), 100);
        assert_eq!(shares(&[], 100), [0; 0]);
        let tools = |count: usize| -> Vec<Value> {
            (0..count).map(|n| json!({"name": format!("t{n}"), "description": "", "schema": {}})).collect()
        };
        let server = |name: &str, count: usize| {
            let offer = json!({"Ok": {"tools": tools(count), "resources": [], "notes": []}});
            serde_json::from_value::<ServerOffer>(json!({"server": name, "offer": offer})).unwrap()
        };
        let away = ServerOffer { server: "away".to_owned(), offer: Err("gone".to_owned()) };
        let mut listed = [server("few", 1), server("many", 64), away, server("more", 64)];
        let said = leave_out_tools(&mut listed).unwrap();
        assert!(said.contains("than 100 together") && said.contains("(14 of many, 15 of more)"), "{said}");
        assert_eq!(listed[1].offer.as_ref().unwrap().tools.last().unwrap().name, "t49");
        assert_eq!(leave_out_tools(&mut listed), None);
    }

    #[test]
    fn resources_are_listed_as_far_as_they_fit() {
        let resource = |uri: &str, name: &str| json!({"uri": uri, "name": name});
        let offer = |resources: Vec<Value>| {
            serde_json::from_value::<Offer>(json!({"tools": [], "resources": resources, "notes": []})).unwrap()
        };
        let many = (0..50).map(|n| resource(&format!("a://minutes/{n}"), "Minutes of the board")).collect();
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let (of_a, of_b) = (offer(many), offer(vec![resource(&"x".repeat(1_000), "X"), resource("b://1", "B")]));
        let known = known_resources(&[(&a, &of_a), (&b, &of_b)]);
        let listing = |known: &[Value], more: usize| {
            let lines: Vec<String> = known.iter().map(|one| format!("- {}: {}", one["server"], one["uri"])).collect();
            format!("Read.\n{}\n{more} more", lines.join("\n"))
        };
        let text = fitting_list(&known, &listing);
        assert!((900..=DESCRIPTION_CHARS).contains(&text.chars().count()), "{text}");
        assert!(text.contains("b://1") && text.contains("a://minutes/7") && !text.contains("xx"), "{text}");
        let listed = text.matches("://").count();
        assert!(text.ends_with(&format!("{} more", 52 - listed)), "{text}");
        assert!(fitting_list(&known[..2], &listing).ends_with("\n1 more"), "a long one is counted");
    }

    #[test]
    fn a_piece_that_is_too_long_is_shown_where_it_fits_and_those_behind_it_are_not() {
        let origin = Origin::of("files", "read", &Map::from_iter([("about".to_owned(), json!("the keeper's pay"))]));
        let piece = |text: String| Piece { text, ..Piece::default() };
        let weather = "The weather was mild.\n\n".repeat(120);
        let long = format!("{weather}The keeper earned 62 crowns.\n\n{weather}");
        let pieces = ["A few words.\n".to_owned(), long, "More.".to_owned()].map(piece);
        let all = shown(SourceId(7), &origin, "What is there?", &pieces, 1_500);
        let texts: Vec<&str> = all.iter().map(|shown| shown.text.as_str()).collect();
        assert_eq!((texts[0], texts[2]), ("A few words.\n", ""));
        assert!(texts[1].contains("62 crowns") && texts[1].chars().count() <= 1_487, "{}", texts[1]);
        let left_out: Vec<usize> = all.iter().map(|shown| shown.left_out).collect();
        assert_eq!(left_out, [0, pieces[1].text.chars().count() - texts[1].chars().count(), 5]);
        assert!(all[1].source.snapshot.len() > 2_000 && all[2].source.id == SourceId(9), "all of it is a source");
        let all = shown(SourceId(7), &origin, "", &[piece("x ".repeat(900))], 1_000);
        assert_eq!(all[0].text.len(), 999, "nothing fits: its beginning");
    }

    #[test]
    fn addresses_start_nothing() {
        let origin = Origin::of("files", "read file", &Map::from_iter([("path".to_owned(), json!("a.txt"))]));
        assert_eq!(origin.title, "read file of files (path: a.txt)");
        let address = |address: Option<&str>, place| {
            origin.address_of(&Piece { address: address.map(ToOwned::to_owned), ..Piece::default() }, place)
        };
        assert!(address(None, 0).starts_with("mcp:files/read_file#"));
        assert_ne!(address(None, 0), address(None, 1));
        assert_eq!(address(Some("javascript:alert(1)"), 0), "mcp:files/javascript:alert(1)");
        assert_eq!(address(Some("file:///a b"), 0), "mcp:files/file:///a_b");
        assert_eq!(address(Some("postgres://app:pa55w0rd@h/db"), 0), "mcp:files/postgres://(hidden)@h/db");
        assert_eq!(address(Some("https://a.example/x/#y"), 0), "https://a.example/x/#mcp:files");
        assert_eq!(address(Some("https://a.example/x?n=1&token=t"), 0), "https://a.example/x?n=1#mcp:files");
        assert_eq!(location("https://a.example/x"), "a.example");
        assert_eq!(location("mcp:files/file:///a"), "mcp:files/file:///a");
    }
}
