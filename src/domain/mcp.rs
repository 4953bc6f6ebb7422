//! The values of `mcp_servers` and `mcp_config`: which MCP servers researchers may use.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

const ALL: &str = "all";
const NONE: &str = "none";
/// Servers of one run, at most.
pub const MAX_SERVERS: usize = 16;
/// Characters of a server's name.
pub const MAX_NAME_CHARS: usize = 32;
/// Names of tools in an `mcp_config`, at most.
const MAX_TOOLS: usize = 200;
const MAX_URL_CHARS: usize = 2_000;

/// `all` that are configured, `none`, or names of servers; written with commas between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct McpServers(String);

impl McpServers {
    pub fn none() -> Self {
        Self(NONE.to_owned())
    }

    pub fn is_all(&self) -> bool {
        self.0 == ALL
    }

    /// Returns the servers named; none for `all` and `none`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let named = self.0 != ALL && self.0 != NONE;
        self.0.split(',').filter(move |_| named)
    }

    /// Returns whether the server is among them.
    pub fn include(&self, name: &str) -> bool {
        self.is_all() || self.names().any(|named| named == name)
    }
}

impl fmt::Display for McpServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for McpServers {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names: Vec<_> = text.split(',').map(str::trim).collect();
        let alone = names.len() == 1 || !names.iter().any(|name| [ALL, NONE].contains(name));
        if names.len() > MAX_SERVERS || !alone || !names.iter().all(|name| is_server_name(name)) {
            return Err(format!("all, none, or the names of {MAX_SERVERS} MCP servers at most"));
        }
        Ok(Self(names.join(",")))
    }
}

impl TryFrom<String> for McpServers {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<McpServers> for String {
    fn from(servers: McpServers) -> Self {
        servers.0
    }
}

/// Returns whether `name` has only small letters, digits, `-` and `_`, so that it can stand in names of tools and in
/// lists.
pub fn is_server_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.bytes().all(fits)
}

/// One MCP server, in the form of Open Deep Research: its address without `/mcp`, and the tools that may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpConfig {
    pub url: String,
    /// Without any there is nothing to call.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    #[serde(default)]
    pub auth_required: bool,
}

impl McpConfig {
    /// What `mcp_config` must be, in words.
    pub const EXPECTED: &str = "null, or an object with url (http or https, without user, password and query), tools (a list of names) and auth_required (false: sign-in is for servers in the settings file)";

    /// Returns the address that is called, where it can be: `/mcp` is appended unless it is there.
    pub fn address(&self) -> Option<Url> {
        let given = self.url.trim();
        let base = given.trim_end_matches('/');
        let address = match base.ends_with("/mcp") {
            // Some servers know the address with the slash alone.
            true if given.ends_with('/') => format!("{base}/"),
            true => base.to_owned(),
            false => format!("{base}/mcp"),
        };
        let url = Url::parse(&address).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        (matches!(url.scheme(), "http" | "https") && url.has_host() && plain).then_some(url)
    }

    /// Returns whether it can be used. It may hold no secrets, since options are stored and shown.
    pub fn is_usable(&self) -> bool {
        let tools = self.tools.as_deref().unwrap_or_default();
        let short = tools.iter().all(|tool| tool.len() <= 128);
        self.url.len() <= MAX_URL_CHARS
            && !self.auth_required
            && tools.len() <= MAX_TOOLS
            && short
            && self.address().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_or_all() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(text.parse::<McpServers>().ok().map(String::from).as_deref(), expected, "{text}");
        };
        check("all", Some("all"));
        check(" files, time ", Some("files,time"));
        check("all,files", None);
        check("Files", None);
        check("", None);
        let some: McpServers = "files,time".parse().unwrap();
        assert!(some.include("time") && !some.include("web") && !McpServers::none().include("web"));
    }

    #[test]
    fn the_original_form_has_its_address_completed() {
        let config = |url: &str| McpConfig { url: url.to_owned(), tools: None, auth_required: false };
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(config(url).address().as_ref().map(Url::as_str), expected, "{url}");
        };
        check("https://tools.example/", Some("https://tools.example/mcp"));
        check("https://tools.example/mcp", Some("https://tools.example/mcp"));
        check("https://tools.example/mcp/", Some("https://tools.example/mcp/"));
        check("https://me:secret@tools.example", None);
        check("https://tools.example/?key=1", None);
        check("file:///etc", None);
        check("npx server", None);
        assert!(config("http://a.example").is_usable());
        assert!(!McpConfig { auth_required: true, ..config("http://a.example") }.is_usable());
    }
}
