//! Which MCP servers there are: `[[mcp]]` of the settings file, the `mcpServers` of other programs, and `mcp_config`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    connection::INHERITED,
    oauth::{Grant, OAuth},
};
use crate::{
    domain::{
        McpConfig, RunOptions,
        mcp::{MAX_NAME_CHARS, MAX_SERVERS, is_server_name},
        wildcard,
    },
    net::{Networks, Reach},
};

/// The server of `mcp_config`, among those with names.
const ORIGINAL: &str = "mcp";
/// Names that mean something else where servers are chosen.
const RESERVED: [&str; 3] = ["all", "none", ORIGINAL];
/// The time for a call that reports no progress, unless the settings say otherwise.
const TIMEOUT_SECONDS: u64 = 60;
/// The time for a call, whatever it reports, unless the settings say otherwise.
const MAX_SECONDS: u64 = 300;
/// What is said of a server of the transport that MCP had before Streamable HTTP.
const NO_SSE: &str = "the transport sse was withdrawn from MCP; give the server's address for Streamable HTTP as url, \
                      with the type \"http\" or none";
/// Fields of a server, for who misspells one.
const FIELDS: [&str; 15] = [
    "name",
    "command",
    "args",
    "env",
    "folder",
    "cwd",
    "url",
    "headers",
    "bearer",
    "oauth",
    "tools",
    "timeout_seconds",
    "max_seconds",
    "disabled",
    "type",
];

/// The servers of a process.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub servers: Vec<Server>,
    /// The operator's own `mcp_config`, which may be at a private address.
    pub own: Option<McpConfig>,
    /// Where servers may be that requests name, beside the public internet.
    pub networks: Networks,
}

impl Settings {
    /// Returns the servers of a run with these options, and what of them cannot be had.
    pub fn of_run(&self, options: &RunOptions) -> (Vec<Server>, Option<&'static str>) {
        let chosen = self.servers.iter().filter(|server| options.mcp_servers.include(&server.name));
        let mut servers: Vec<Server> = chosen.cloned().collect();
        let Some(config) = &options.mcp_config else { return (servers, None) };
        let reach = Reach::new(self.own.as_ref() == Some(config), &self.networks);
        match Server::original(config, reach) {
            Some(server) => servers.push(server),
            None => return (servers, Some("mcp_config names no tools, so none of its server is offered")),
        }
        (servers, None)
    }
}

/// A server whose tools researchers may call.
#[derive(Clone, Debug)]
pub struct Server {
    pub name: String,
    pub way: Way,
    /// Names in which `*` stands for any text; `None`: all.
    pub tools: Option<Vec<String>>,
    /// For a call that reports no progress.
    pub timeout: Duration,
    /// For a call, whatever it reports.
    pub max_time: Duration,
    /// Where it is written down; `None` for that of a request.
    pub file: Option<PathBuf>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Way {
    /// Streamable HTTP.
    Http {
        url: Url,
        headers: Vec<(HeaderName, SecretString)>,
        bearer: Option<SecretString>,
        /// Instead of `bearer`.
        oauth: Option<Box<OAuth>>,
        /// Not all for addresses that a request named.
        reach: Reach,
    },
    /// A program that speaks on its standard streams.
    Stdio {
        program: String,
        arguments: Vec<SecretString>,
        environment: Vec<(String, SecretString)>,
        folder: Option<PathBuf>,
    },
}

impl Server {
    /// Returns whether the tool of that name may be called.
    pub fn allows(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| wildcard::matches(pattern, tool)))
    }

    /// Returns the server of an `mcp_config`; `None` when it names no tool.
    pub fn original(config: &McpConfig, reach: Reach) -> Option<Self> {
        let tools = config.tools.clone().filter(|tools| !tools.is_empty())?;
        let way = Way::Http { url: config.address()?, headers: Vec::new(), bearer: None, oauth: None, reach };
        Some(Self { tools: Some(tools), ..Self::new(ORIGINAL, way) })
    }

    fn new(name: &str, way: Way) -> Self {
        let [timeout, max_time] = [TIMEOUT_SECONDS, MAX_SECONDS].map(Duration::from_secs);
        Self { name: name.to_owned(), way, tools: None, timeout, max_time, file: None }
    }

    /// Returns whether a token that is refused can be replaced by a new one.
    pub(super) fn renews(&self) -> bool {
        matches!(&self.way, Way::Http { oauth: Some(_), .. })
    }

    /// Names the place of the server, fit to be shown.
    pub fn place(&self) -> String {
        match &self.way {
            Way::Http { url, .. } => crate::net::shown_url(url),
            Way::Stdio { program, .. } => program.clone(),
        }
    }
}

/// A server as it is written down.
#[derive(Debug, Deserialize)]
struct ServerEntry {
    name: Option<String>,
    command: Option<Command>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(alias = "cwd")]
    folder: Option<PathBuf>,
    url: Option<String>,
    /// Some programs say by these names that it is Streamable HTTP; they may write `url` beside them.
    #[serde(rename = "httpUrl")]
    http_url: Option<String>,
    #[serde(rename = "serverUrl")]
    server_url: Option<String>,
    /// How it is reached, as other programs say it; some write it as `transport`. What else there is says the same.
    #[serde(rename = "type")]
    kind: Option<Value>,
    transport: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    bearer: Option<String>,
    oauth: Option<OAuthEntry>,
    tools: Option<Vec<String>>,
    timeout_seconds: Option<u64>,
    max_seconds: Option<u64>,
    #[serde(default)]
    disabled: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OAuthEntry {
    client_id: String,
    client_secret: Option<String>,
    subject_token: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    token_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Command {
    One(String),
    List(Vec<String>),
}

/// The variables that `${NAME}` stands for.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the servers of the settings file: a list of tables, or a table of tables by name.
///
/// # Errors
/// What is wrong, without a value of it: it may be a secret.
pub fn read(given: &Value, variables: Variables<'_>) -> Result<Vec<Server>, String> {
    servers(given, variables, Unknown::Refused)
}

/// Reads the servers of a JSON file as other programs have it, `{"mcpServers": {…}}`; fields that only they know are
/// passed over.
///
/// # Errors
/// As [`read`].
pub fn read_json(text: &str, variables: Variables<'_>) -> Result<Vec<Server>, String> {
    let given: Value = serde_json::from_str(text).map_err(|error| format!("line {}: it is no JSON", error.line()))?;
    let given = given.get("mcpServers").ok_or("it has no mcpServers")?;
    servers(given, variables, Unknown::PassedOver)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Refused,
    PassedOver,
}

fn servers(given: &Value, variables: Variables<'_>, unknown: Unknown) -> Result<Vec<Server>, String> {
    let named: Vec<(Option<&str>, &Value)> = match given {
        Value::Array(servers) => servers.iter().map(|server| (None, server)).collect(),
        Value::Object(servers) => servers.iter().map(|(name, server)| (Some(name.as_str()), server)).collect(),
        _ => return Err("mcp must be a list of servers".to_owned()),
    };
    let mut servers: Vec<Server> = Vec::new();
    for (name, value) in named {
        let Some(server) = server(name, value, variables, unknown)? else { continue };
        if servers.iter().any(|known| known.name == server.name) {
            let theirs = name.filter(|name| *name != server.name).map(|name| format!(" (of '{name}')"));
            let theirs = theirs.unwrap_or_default();
            return Err(format!("there are two MCP servers of the name {}{theirs}", server.name));
        }
        servers.push(server);
    }
    check_count(servers.len())?;
    Ok(servers)
}

/// Checks that there are not too many servers to name them all.
///
/// # Errors
/// What is wrong, for people.
pub fn check_count(servers: usize) -> Result<(), String> {
    if servers > MAX_SERVERS { Err(format!("there are more than {MAX_SERVERS} MCP servers")) } else { Ok(()) }
}

fn server(
    name: Option<&str>,
    value: &Value,
    variables: Variables<'_>,
    unknown: Unknown,
) -> Result<Option<Server>, String> {
    let table = value.as_object().ok_or("each MCP server must be a table")?;
    if let Some(field) = table.keys().find(|field| unknown == Unknown::Refused && !FIELDS.contains(&field.as_str())) {
        return Err(format!("unknown setting '{field}' of an MCP server; there are {}", FIELDS.join(", ")));
    }
    let given: ServerEntry = serde_json::from_value(value.clone())
        .map_err(|_| format!("MCP server {}: a field has the wrong type", name.unwrap_or_default()))?;
    if given.disabled {
        return Ok(None);
    }
    let named = |name: &str| if unknown == Unknown::PassedOver { server_name(name) } else { name.to_lowercase() };
    let name = name.map(named).or_else(|| given.name.clone()).unwrap_or_default();
    if !is_server_name(&name) || RESERVED.contains(&name.as_str()) {
        return Err(
            "each MCP server needs a name of small letters, digits, - and _ (32 at most; not all, none or mcp)"
                .to_owned(),
        );
    }
    let problem = |problem: String| format!("MCP server {name}: {problem}");
    let seconds = |given: Option<u64>, default: u64| match given.unwrap_or(default) {
        seconds @ 1..=3_600 => Ok(Duration::from_secs(seconds)),
        _ => Err(problem("seconds must be from 1 to 3600".to_owned())),
    };
    let (timeout, max_time) =
        (seconds(given.timeout_seconds, TIMEOUT_SECONDS)?, seconds(given.max_seconds, MAX_SECONDS)?);
    let tools = given.tools.clone();
    let way = way(given, variables).map_err(problem)?;
    Ok(Some(Server { name, way, tools, timeout, max_time, file: None }))
}

/// Makes a name as other programs take it (`Google Drive`) one that can be named here (`google-drive`).
fn server_name(name: &str) -> String {
    let fits = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    let lower = name.trim().to_lowercase();
    let name: String = lower.chars().map(|char| if fits(char) { char } else { '-' }).take(MAX_NAME_CHARS).collect();
    if RESERVED.contains(&name.as_str()) { format!("{name}-server") } else { name }
}

fn way(given: ServerEntry, variables: Variables<'_>) -> Result<Way, String> {
    let secret = |text: &str| filled(text, variables).map(SecretString::from);
    let says_sse = |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("sse"));
    // An `httpUrl` first: where `url` stands beside it, that may be the address of the older transport.
    let addresses = [given.http_url, given.url, given.server_url];
    match (addresses.into_iter().flatten().find(|url| !url.is_empty()), given.command) {
        (Some(_), None) if [&given.kind, &given.transport].into_iter().flatten().any(says_sse) => {
            Err(NO_SSE.to_owned())
        }
        (Some(url), None) => {
            let url = web_address("url", &url, variables)?;
            let headers = given.headers.iter().map(|(name, value)| header(name, &filled(value, variables)?));
            let headers = headers.collect::<Result<_, String>>()?;
            let bearer = given.bearer.as_deref().map(secret).transpose()?;
            let oauth = given.oauth.map(|given| oauth(given, variables).map(Box::new)).transpose()?;
            if bearer.is_some() && oauth.is_some() {
                return Err("it needs either bearer or oauth".to_owned());
            }
            Ok(Way::Http { url, headers, bearer, oauth, reach: Reach::All })
        }
        (None, Some(command)) => {
            let mut words = match command {
                Command::One(program) => vec![program],
                Command::List(words) => words,
            };
            words.extend(given.args);
            let program = words.first().filter(|word| !word.is_empty()).ok_or("command is empty")?.clone();
            let arguments = words[1..].iter().map(|word| secret(word)).collect::<Result<_, _>>()?;
            let inherited = INHERITED.iter().filter(|name| !given.env.contains_key(**name));
            let inherited = inherited.filter_map(|name| Some(Ok(((*name).to_owned(), variables(name)?.into()))));
            let own = given.env.iter().map(|(name, value)| Ok((name.clone(), secret(value)?)));
            let environment = inherited.chain(own);
            let environment = environment.collect::<Result<_, String>>()?;
            Ok(Way::Stdio { program, arguments, environment, folder: given.folder })
        }
        _ => Err("it needs either url or command".to_owned()),
    }
}

fn oauth(given: OAuthEntry, variables: Variables<'_>) -> Result<OAuth, String> {
    let secret = |text: String| filled(&text, variables).map(SecretString::from);
    let grant = match (given.client_secret, given.subject_token) {
        (Some(text), None) => Grant::ClientSecret(secret(text)?),
        (None, Some(text)) => Grant::Exchange(secret(text)?),
        _ => return Err("oauth needs either client_secret or subject_token".to_owned()),
    };
    let token_url = given.token_url.map(|url| web_address("token_url", &url, variables)).transpose()?;
    Ok(OAuth { client_id: filled(&given.client_id, variables)?, grant, scopes: given.scopes, token_url })
}

fn web_address(field: &str, text: &str, variables: Variables<'_>) -> Result<Url, String> {
    let url = Url::parse(&filled(text, variables)?).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{field} must be an http or https address"))
}

fn header(name: &str, value: &str) -> Result<(HeaderName, SecretString), String> {
    let parsed = name.parse::<HeaderName>().ok().filter(|_| HeaderValue::from_str(value).is_ok());
    let parsed = parsed.ok_or_else(|| format!("the header {name} cannot be sent"))?;
    Ok((parsed, SecretString::from(value)))
}

/// Replaces `${NAME}` by the variable, so that secrets need not stand in the file, and `${NAME:-default}` by `default`
/// where the variable is not set or empty.
fn filled(text: &str, variables: Variables<'_>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        if name.contains("${") {
            return Err("the default of a variable cannot hold another variable".to_owned());
        }
        let (name, default) = name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
        let value = variables(name).filter(|value| default.is_none() || !value.is_empty());
        let value = value
            .or_else(|| default.map(str::to_owned))
            .ok_or_else(|| format!("the environment variable {name} is not set"))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::*;

    fn variables(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "pa55".to_owned())
    }

    fn one(given: &Value) -> Server {
        read(&json!([given]), &variables).unwrap().remove(0)
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let server =
            one(&json!({"name": "files", "command": ["mcp-files", "--root", "/srv"], "env": {"KEY": "${TOKEN}"}}));
        let Way::Stdio { program, arguments, environment, .. } = server.way else { panic!() };
        assert_eq!((program.as_str(), arguments.len()), ("mcp-files", 2));
        assert_eq!(environment[0].1.expose_secret(), "pa55");
        let server =
            one(&json!({"name": "wiki", "url": "https://w.example/mcp", "bearer": "${TOKEN}", "tools": ["get_*"]}));
        assert!(server.allows("get_page") && !server.allows("set_page"));
        let Way::Http { bearer, .. } = server.way else { panic!() };
        assert_eq!(bearer.unwrap().expose_secret(), "pa55");
    }

    #[test]
    fn files_of_other_programs_are_read_as_they_are() {
        let text = r#"{"mcpServers": {"Time": {"command": "uvx", "args": ["mcp-server-time"], "autoApprove": []},
            "off": {"url": "https://x.example", "disabled": true}, "web": {"type": "http", "url": "https://w.example/mcp"}}}"#;
        let servers = read_json(text, &variables).unwrap();
        assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["time", "web"]);
        assert!(read_json("{}", &variables).unwrap_err().contains("mcpServers"));
        for kind in ["http", "streamable-http", "streamableHttp", "streamable_http", "remote"] {
            for field in ["type", "transport"] {
                let text = json!({"mcpServers": {"web": {field: kind, "url": "https://w.example/mcp"}}}).to_string();
                assert!(matches!(read_json(&text, &variables).unwrap()[0].way, Way::Http { .. }), "{text}");
            }
        }
        let text = r#"{"mcpServers": {"a": {"httpUrl": "https://w.example/mcp"}, "b": {"serverUrl": "https://w.example/mcp"}}}"#;
        assert_eq!(read_json(text, &variables).unwrap().len(), 2);
    }

    /// Programs pass over what they do not know, so a file may serve several of them.
    #[test]
    fn other_names_of_an_address_may_stand_beside_it() {
        let with = |more: Value| {
            let mut server = json!({"url": "https://w.example/a"});
            server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            match read_json(&json!({"mcpServers": {"w": server}}).to_string(), &variables).unwrap().remove(0).way {
                Way::Http { url, .. } => url.path().to_owned(),
                Way::Stdio { .. } => panic!(),
            }
        };
        assert_eq!(with(json!({"httpUrl": "https://w.example/b"})), "/b");
        assert_eq!(with(json!({"serverUrl": "https://w.example/b"})), "/a");
        assert_eq!(with(json!({"httpUrl": null, "serverUrl": ""})), "/a");
        let program = r#"{"mcpServers": {"p": {"command": "python3", "type": "sse", "httpUrl": null}}}"#;
        assert!(matches!(read_json(program, &variables).unwrap()[0].way, Way::Stdio { .. }));
    }

    #[test]
    fn names_of_other_programs_become_ours() {
        for (theirs, ours) in [("Google Drive", "google-drive"), ("io.github.x", "io-github-x"), ("All", "all-server")]
        {
            let servers =
                read_json(&json!({"mcpServers": {theirs: {"command": "y"}}}).to_string(), &variables).unwrap();
            assert_eq!(servers[0].name, ours);
        }
        let long =
            read_json(&json!({"mcpServers": {"é".repeat(40): {"command": "y"}}}).to_string(), &variables).unwrap();
        assert_eq!(long[0].name, "-".repeat(32));
        assert!(read_json(r#"{"mcpServers": {"": {"command": "y"}}}"#, &variables).is_err());
    }

    #[test]
    fn a_variable_may_have_a_default() {
        let filled = |text: &str| {
            filled(text, &|name| (name != "MISSING").then(|| (if name == "EMPTY" { "" } else { "x" }).into()))
        };
        assert_eq!(filled("${SET:-y} ${MISSING:-y} ${EMPTY:-y} ${MISSING:-}|${EMPTY}").unwrap(), "x y y |");
        assert!(filled("${MISSING}").unwrap_err().contains("MISSING is not set"));
        assert!(filled("${MISSING:-${SET}}").unwrap_err().contains("cannot hold another variable"));
    }

    #[test]
    fn what_is_wrong_is_said_without_its_value() {
        let check = |given: Value, expected: &str| {
            let problem = read(&json!([given]), &variables).unwrap_err();
            assert!(problem.contains(expected) && !problem.contains("pa55"), "{problem}");
        };
        check(json!({"name": "a", "url": "ftp://pa55@x"}), "http or https");
        check(json!({"name": "a"}), "either url or command");
        check(json!({"name": "a", "url": "https://x", "command": "y"}), "either url or command");
        check(json!({"name": "a", "type": "sse", "url": "https://x/pa55"}), "sse was withdrawn from MCP");
        let theirs = r#"{"mcpServers": {"a": {"transport": "SSE", "url": "https://x/sse"}}}"#;
        assert!(read_json(theirs, &variables).unwrap_err().contains("sse was withdrawn from MCP"));
        check(json!({"name": "a b", "command": "y"}), "needs a name");
        check(json!({"command": "y"}), "needs a name");
        check(json!({"name": "all", "command": "y"}), "needs a name");
        check(json!({"name": "a", "comand": "pa55"}), "unknown setting 'comand'");
        check(json!({"name": "a", "url": "https://x", "bearer": "${NOWHERE}"}), "NOWHERE is not set");
        check(json!({"name": "a", "url": "https://x", "headers": {"X": "pa55\n"}}), "header X");
        let with = |oauth: Value| json!({"name": "a", "url": "https://x", "oauth": oauth});
        check(with(json!({"client_id": "c"})), "either client_secret or subject_token");
        check(with(json!({"client_id": "c", "client_secret": "pa55", "token_url": "pa55"})), "token_url must be");
        check(
            json!({"name": "a", "url": "https://x", "bearer": "pa55", "oauth": {"client_id": "c", "client_secret": "pa55"}}),
            "either bearer or oauth",
        );
        check(json!({"name": "a", "command": [], "env": {"A": "pa55"}}), "command is empty");
        check(json!({"name": "a", "command": "x", "timeout_seconds": 0}), "from 1 to 3600");
    }

    #[test]
    fn the_original_form_offers_what_it_names_and_nothing_else() {
        let config = |tools| McpConfig { url: "https://tools.example".to_owned(), tools, auth_required: false };
        assert!(Server::original(&config(None), Reach::All).is_none());
        let server = Server::original(&config(Some(vec!["search".to_owned()])), Reach::All).unwrap();
        assert!(server.allows("search") && !server.allows("delete"));
        let Way::Http { url, .. } = server.way else { panic!() };
        assert_eq!(url.as_str(), "https://tools.example/mcp");
    }

    #[test]
    fn an_address_of_a_request_leads_to_public_and_allowed_networks_alone() {
        let config =
            |url: &str| McpConfig { url: url.to_owned(), tools: Some(vec!["search".to_owned()]), auth_required: false };
        let networks = Networks::from(["10.20.0.0/16".parse().unwrap()]);
        let own = config("http://10.9.9.9");
        let settings = Settings { own: Some(own.clone()), networks: networks.clone(), ..Settings::default() };
        let reach = |config: &McpConfig| {
            let options = RunOptions { mcp_config: Some(config.clone()), ..RunOptions::default() };
            match settings.of_run(&options).0.pop().unwrap().way {
                Way::Http { reach, .. } => reach,
                Way::Stdio { .. } => panic!(),
            }
        };
        assert_eq!(reach(&own), Reach::All);
        assert_eq!(reach(&config("http://10.20.0.1")), Reach::Public(networks));
    }
}
