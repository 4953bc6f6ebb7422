//! How the value of an option looks: what is accepted, what is expected in place of anything else, and the same as a
//! JSON Schema.

use std::{fmt::Display, str::FromStr as _};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CollectionId, Domains, McpConfig, McpServers, Models, SearchApi, SearchFallback, distinct, search_api::MAX_ENGINES,
    search_filter::MAX_DOMAINS, time,
};

/// Collections that one run may search: their texts are in memory while it searches.
const MAX_COLLECTIONS_OF_A_RUN: usize = 8;

/// A row of the table of options.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    pub name: &'static str,
    pub kind: OptionKind,
    /// JSON text of the built-in default.
    pub default: &'static str,
    pub meaning: &'static str,
}

/// How a value of an option looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    Boolean,
    Integer {
        min: u32,
        max: u32,
    },
    OptionalInteger {
        min: u32,
        max: u32,
    },
    /// Null, or more than 0.
    OptionalDollars {
        max: u32,
    },
    Choice(&'static [&'static str]),
    OptionalChoice(&'static [&'static str]),
    /// Names of sites.
    OptionalDomains,
    /// Two lower-case letters.
    OptionalLanguage,
    /// Two upper-case letters.
    OptionalCountry,
    /// An IANA name.
    TimeZone,
    Model,
    /// `auto`, `none`, or names of search engines; which there are is known by `search`.
    Engines,
    /// `none`, or names of search engines as before.
    Fallback,
    /// Ids of collections; which there are is known by `store`.
    Collections,
    /// `all`, `none`, or names of MCP servers; which there are is known by the settings.
    McpServers,
    McpConfig,
    /// Null, or a text of so many characters at most.
    OptionalText {
        max: u32,
    },
}

impl OptionKind {
    /// Returns the kind as a JSON Schema, without a description.
    pub(super) fn json_schema(self) -> Value {
        match self {
            Self::Boolean => json!({"type": "boolean"}),
            Self::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::OptionalInteger { min, max } => {
                json!({"type": ["integer", "null"], "minimum": min, "maximum": max})
            }
            Self::OptionalDollars { max } => {
                json!({"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": max})
            }
            Self::Choice(names) => json!({"type": "string", "enum": names}),
            Self::OptionalChoice(names) => {
                let names: Vec<_> = names.iter().map(|name| json!(name)).chain([Value::Null]).collect();
                json!({"type": ["string", "null"], "enum": names})
            }
            Self::OptionalDomains => json!({
                "oneOf": [
                    {"type": ["string", "null"]},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_DOMAINS},
                ],
                "examples": ["example.org,example.com"],
            }),
            Self::Collections => {
                let id = json!({"type": "string", "format": "uuid"});
                json!({"type": "array", "items": id, "maxItems": MAX_COLLECTIONS_OF_A_RUN})
            }
            Self::OptionalLanguage => json!({"type": ["string", "null"], "pattern": "^[a-z]{2}$"}),
            Self::OptionalCountry => json!({"type": ["string", "null"], "pattern": "^[A-Z]{2}$"}),
            Self::TimeZone => json!({"type": "string", "examples": ["Europe/Berlin"]}),
            Self::Model => json!({"type": "string", "pattern": "^[a-z0-9_-]+:.+$"}),
            Self::McpServers => json!({"type": "string", "pattern": "^[a-z0-9_-]+(,[a-z0-9_-]+)*$"}),
            Self::McpConfig => json!({
                "type": ["object", "null"],
                "required": ["url"],
                "properties": {
                    "url": {"type": "string", "format": "uri", "description": "address of the server, without /mcp"},
                    "tools": {"type": ["array", "null"], "items": {"type": "string"}, "description": "tools that may be called"},
                    "auth_required": {"type": "boolean", "description": "must be false: sign-in is for servers in the settings file"},
                },
            }),
            Self::OptionalText { max } => json!({"type": ["string", "null"], "maxLength": max}),
            // Generators of clients read no list of types, and make a set, which is no JSON, of `uniqueItems`.
            Self::Engines | Self::Fallback => json!({"oneOf": [
                {"type": "string", "pattern": "^[a-z0-9_]+(,[a-z0-9_]+)*$"},
                {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^[a-z0-9_]+$"},
                    "minItems": 1,
                    "maxItems": MAX_ENGINES,
                },
            ]}),
        }
    }

    /// Returns a value as a refusal shows it; the address of a server may hold a key.
    pub(super) fn shown(self, value: &Value) -> Option<String> {
        (!matches!(self, Self::McpConfig)).then(|| value.to_string())
    }

    /// Returns the value, spelled as all others of its meaning are.
    ///
    /// # Errors
    /// What is expected in its place.
    pub(super) fn checked(self, value: &Value) -> Result<Value, String> {
        let when = |fits: bool, expected: String| fits.then(|| value.clone()).ok_or(expected);
        let text = value.as_str();
        match self {
            Self::Boolean => when(value.is_boolean(), "true or false".to_owned()),
            Self::Integer { min, max } => when(is_integer(value, min, max), format!("an integer from {min} to {max}")),
            Self::OptionalInteger { min, max } => {
                let fits = value.is_null() || is_integer(value, min, max);
                when(fits, format!("null or an integer from {min} to {max}"))
            }
            Self::OptionalDollars { max } => {
                let fits = value.as_f64().is_some_and(|dollars| dollars >= 1e-6 && dollars <= f64::from(max));
                when(value.is_null() || fits, format!("null or dollars, more than 0 and at most {max}"))
            }
            Self::Choice(names) => {
                when(names.contains(&text.unwrap_or_default()), format!("one of {}", names.join(", ")))
            }
            Self::OptionalChoice(names) => {
                let fits = value.is_null() || names.contains(&text.unwrap_or_default());
                when(fits, format!("null or one of {}", names.join(", ")))
            }
            Self::OptionalDomains => spelled(Option::<Domains>::deserialize(value), "null or "),
            Self::Collections => match collections(value) {
                Some(ids) => Ok(json!(ids)),
                None => Err(format!("a list of ids of {MAX_COLLECTIONS_OF_A_RUN} collections at most")),
            },
            Self::OptionalLanguage => when(is_code(value, u8::is_ascii_lowercase), LANGUAGE.to_owned()),
            Self::OptionalCountry => when(is_code(value, u8::is_ascii_uppercase), COUNTRY.to_owned()),
            Self::Engines => spelled(SearchApi::deserialize(value), ""),
            Self::Fallback => spelled(SearchFallback::deserialize(value), ""),
            Self::McpServers => match text.map(McpServers::from_str) {
                Some(servers) => spelled(servers, ""),
                None => Err("all, none, or names of MCP servers".to_owned()),
            },
            Self::McpConfig => {
                let read = Option::<McpConfig>::deserialize(value);
                let fits = read.is_ok_and(|config| config.is_none_or(|config| config.is_usable()));
                when(fits, McpConfig::EXPECTED.to_owned())
            }
            Self::OptionalText { max } => {
                let fits = value.is_null() || text.is_some_and(|text| text.chars().count() <= max as usize);
                when(fits, format!("null or a text of {max} characters at most"))
            }
            Self::TimeZone => when(text.is_some_and(time::is_zone), ZONE.to_owned()),
            Self::Model => match text.map(Models::from_str) {
                Some(models) => models.map(|_| value.clone()),
                None => Err("a model name of the form provider:model".to_owned()),
            },
        }
    }
}

const LANGUAGE: &str = "null or the two lower-case letters of a language, such as de";
const COUNTRY: &str = "null or the two upper-case letters of a country, such as DE";
const ZONE: &str = "the IANA name of a time zone, such as Europe/Berlin";

fn is_integer(value: &Value, min: u32, max: u32) -> bool {
    value.as_u64().is_some_and(|n| (u64::from(min)..=u64::from(max)).contains(&n))
}

/// Returns the ids, each once; only in the form that the service writes.
fn collections(value: &Value) -> Option<Vec<CollectionId>> {
    let given = value.as_array().filter(|given| given.len() <= MAX_COLLECTIONS_OF_A_RUN)?;
    let id = |id: &Value| id.as_str().filter(|id| id.len() == 36)?.parse().ok();
    given.iter().map(id).collect::<Option<Vec<_>>>().map(distinct)
}

fn is_code(value: &Value, is_letter: fn(&u8) -> bool) -> bool {
    let is_code = |code: &str| code.len() == 2 && code.bytes().all(|byte| is_letter(&byte));
    value.is_null() || value.as_str().is_some_and(is_code)
}

/// Returns what was read, as it is written; `or` stands before what is expected in its place.
fn spelled(read: Result<impl Serialize, impl Display>, or: &str) -> Result<Value, String> {
    read.map(|read| json!(read)).map_err(|expected| format!("{or}{expected}"))
}
