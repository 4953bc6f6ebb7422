//! The dialects of model APIs, one file each: a request to path and bytes; a reply, a chunk of a stream and a
//! failure to our own words.
//!
//! Pure functions: nothing here knows a network. What all dialects share in reading (limits, thinking text, ids) is in
//! `assembly.rs`, what they share in failing in `failure.rs`.

mod chat;
mod converse;
mod fields;
mod gemini;
mod messages;
mod responses;
mod turns;

use std::borrow::Cow;
use std::fmt;

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::assembly::{Assembly, malformed, unquoted};
use super::failure::{self, Failure};
use super::quirks::{Quirks, reasons};
use super::tool_name::tool_name;
use super::{Message, Part, Request, Text};
use crate::domain::ModelName;
use crate::net::surrogates;

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's, which most others speak too.
    ChatCompletions,
    /// OpenAI's newer one.
    Responses,
    /// Anthropic's.
    Messages,
    /// Google's.
    Gemini,
    /// Amazon's.
    Converse,
}

/// A request as it is sent.
#[derive(Debug)]
pub(super) struct Encoded {
    /// Below the base URL, perhaps with a query.
    pub path: Cow<'static, str>,
    /// JSON.
    pub body: Vec<u8>,
}

/// Reads the answer to one request.
#[derive(Debug)]
pub(super) enum Reader {
    ChatCompletions(chat::State),
    Responses(responses::State),
    Messages(messages::State),
    Gemini(gemini::State),
    Converse(converse::State),
}

impl Wire {
    pub const ALL: [Self; 5] = [Self::ChatCompletions, Self::Responses, Self::Messages, Self::Gemini, Self::Converse];

    /// Returns the name that its vendor has for it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ChatCompletions => "Chat Completions",
            Self::Responses => "Responses",
            Self::Messages => "Messages",
            Self::Gemini => "Gemini",
            Self::Converse => "Converse",
        }
    }

    /// Returns the headers of every request in this dialect, that for the list of models among them.
    pub(super) fn headers(self, quirks: &Quirks) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Messages => messages::headers(quirks),
            Self::ChatCompletions | Self::Responses | Self::Gemini | Self::Converse => &[],
        }
    }

    /// Writes the request once, from its own text.
    pub(super) fn encode(self, request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
        match self {
            Self::ChatCompletions => chat::encode(request, quirks, is_stream),
            Self::Responses => responses::encode(request, quirks, is_stream),
            Self::Messages => messages::encode(request, quirks, is_stream),
            Self::Gemini => gemini::encode(request, quirks, is_stream),
            Self::Converse => converse::encode(request, quirks, is_stream),
        }
    }

    pub(super) fn reader(self, quirks: &Quirks) -> Reader {
        match self {
            Self::ChatCompletions => Reader::ChatCompletions(chat::State::new(*quirks)),
            Self::Responses => Reader::Responses(responses::State::default()),
            Self::Messages => Reader::Messages(messages::State::default()),
            Self::Gemini => Reader::Gemini(gemini::State::default()),
            Self::Converse => Reader::Converse(converse::State::default()),
        }
    }

    /// Returns whether its vendor's servers stream a JSON array to who does not ask for server-sent events. Gateways
    /// that strip a query do not ask.
    pub(super) fn streams_arrays(self) -> bool {
        self == Self::Gemini
    }

    /// Returns the failure that an HTTP answer reports.
    pub(super) fn failure(self, model: &ModelName, status: u16, headers: &HeaderMap, body: &str) -> Failure {
        failure::of_status(model, status, headers, body)
    }
}

/// Bytes of an answer that may say what is wrong.
const MAX_SHOWN: usize = 64 * 1024;

/// What stands in place of an event after the last one of a stream: OpenAI's, and that of gateways in any dialect.
const DONE: &str = "[DONE]";

impl Reader {
    /// Takes in a whole answer.
    ///
    /// # Errors
    /// The failure that the answer tells, or that it is none.
    pub(super) fn whole(&mut self, json: &str, assembly: &mut Assembly) -> Result<(), Failure> {
        match self {
            Self::ChatCompletions(state) => chat::whole(json, state, assembly),
            Self::Responses(state) => responses::whole(json, state, assembly),
            Self::Messages(state) => messages::whole(json, state, assembly),
            Self::Gemini(state) => gemini::whole(json, state, assembly),
            Self::Converse(state) => converse::whole(json, state, assembly),
        }
    }

    /// Takes in one event of a stream, or the mark of its end.
    ///
    /// # Errors
    /// The failure that the event tells, or that it cannot be read.
    pub(super) fn event(&mut self, json: &str, assembly: &mut Assembly) -> Result<(), Failure> {
        if json == DONE {
            self.done(assembly);
            return Ok(());
        }
        assembly.begin_event();
        match self {
            Self::ChatCompletions(state) => chat::event(json, state, assembly),
            Self::Responses(state) => responses::event(json, state, assembly),
            Self::Messages(state) => messages::event(json, state, assembly),
            Self::Gemini(state) => gemini::event(json, state, assembly),
            Self::Converse(state) => converse::event(json, state, assembly),
        }
    }

    /// Takes in the mark of the end, which says something in the one dialect that it belongs to.
    fn done(&mut self, assembly: &mut Assembly) {
        if let Self::ChatCompletions(state) = self {
            chat::done(state, assembly);
        }
    }

    /// Counts what an answer has taken so far that breaks off here, where the dialect counts at the end otherwise.
    pub(super) fn count(&self, assembly: &mut Assembly) {
        if let Self::Gemini(state) = self {
            state.count(assembly);
        }
    }
}

/// A JSON text of a server, with stand-ins for halves of characters.
struct Source<'a>(Cow<'a, str>);

impl<'a> Source<'a> {
    fn new(json: &'a str) -> Self {
        Self(surrogates::mark(json).map_or(Cow::Borrowed(json), Cow::Owned))
    }

    /// Returns whether it holds stand-ins.
    fn is_marked(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }

    /// Returns what it says; texts without escapes are borrowed.
    fn read<'s, T: Deserialize<'s>>(&'s self) -> serde_json::Result<T> {
        serde_json::from_str(&self.0)
    }
}

/// Names what an answer is that is no JSON of the dialect; often a page of a proxy.
fn unreadable(json: &str, assembly: &Assembly, problem: &serde_json::Error) -> Failure {
    match failure::is_html(json) {
        true => failure::web_page(assembly.model()),
        false => malformed(assembly.model(), problem).into(),
    }
}

/// Fails an answer that lacks what every answer has, and shows it: some gateways say there what is wrong, under names
/// of their own. Whole, since a cut through a secret would hide its end from who looks for it.
fn incomplete(json: &str, what: &str, assembly: &Assembly) -> Failure {
    let shown = if json.len() <= MAX_SHOWN { json } else { "" };
    malformed(assembly.model(), format!("an answer without {what}: {shown}").trim_end_matches([':', ' '])).into()
}

/// Returns the arguments of a call that should be an object and may be anything, as JSON text: a text as it is,
/// nothing for none.
fn written(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the arguments of a call as they go back: an object, since vendors refuse everything else.
fn object(arguments: &str) -> Value {
    let parsed = serde_json::from_str(&unquoted(arguments.into())).ok();
    parsed.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Returns the model as a segment of the path.
fn segment(model: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let leads_up = model.starts_with('.');
    if model.bytes().all(fits) && !leads_up {
        return model.into();
    }
    let escaped = |text: String, byte: u8| match fits(byte) && !(leads_up && byte == b'.') {
        true => text + &char::from(byte).to_string(),
        false => text + &format!("%{byte:02X}"),
    };
    model.bytes().fold(String::new(), escaped).into()
}

/// Text that is written in one piece without being copied.
enum Joined<'a> {
    One(&'a str),
    Parts(&'a Text),
    /// With an empty line between them.
    Several(Vec<Self>),
}

impl Joined<'_> {
    /// Joins this and `next`.
    fn and(self, next: Self) -> Self {
        match self {
            Self::Several(mut all) => {
                all.push(next);
                Self::Several(all)
            }
            first => Self::Several(vec![first, next]),
        }
    }

    /// Returns whether that holds of all its pieces.
    fn all(&self, test: fn(&str) -> bool) -> bool {
        match self {
            Self::One(text) => test(text),
            Self::Parts(text) => text.0.iter().map(Part::as_str).all(test),
            Self::Several(all) => all.iter().all(|one| one.all(test)),
        }
    }
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(text) => formatter.write_str(text),
            Self::Parts(text) => text.0.iter().map(Part::as_str).try_for_each(|part| formatter.write_str(part)),
            Self::Several(all) => all.iter().enumerate().try_for_each(|(index, one)| {
                formatter.write_str(if index == 0 { "" } else { "\n\n" })?;
                one.fmt(formatter)
            }),
        }
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(text) => serializer.serialize_str(text),
            Self::Parts(Text(parts)) => match &parts[..] {
                [one] => serializer.serialize_str(one.as_str()),
                _ => serializer.collect_str(self),
            },
            Self::Several(_) => serializer.collect_str(self),
        }
    }
}

/// Returns the arguments of an earlier call as the model wrote them; `{}` for those that are no JSON object, since
/// llama.cpp answers 500 to every request whose history has one, and others refuse it.
fn arguments(text: &str) -> &str {
    let parsed = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
    parsed.filter(|raw| raw.starts_with('{')).unwrap_or("{}")
}

/// The same as an object.
struct RawObject<'a>(&'a str);

impl Serialize for RawObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(arguments(self.0)).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Returns the items of a turn as it came, when it came from the provider that is asked. Without tools it is no
/// longer the conversation that the turn belongs to, but a question about it.
fn carried<'a>(message: &'a Message, request: &Request) -> Option<Vec<&'a RawValue>> {
    if request.tools.is_empty() { None } else { kept(message, request) }
}

/// Returns the items that were kept of a turn when it came from the provider that is asked.
fn kept<'a>(message: &'a Message, request: &Request) -> Option<Vec<&'a RawValue>> {
    let Message::Assistant { carry: Some(carry), .. } = message else { return None };
    let is_its_own = carry.provider == request.model.provider;
    is_its_own.then(|| serde_json::from_str(&carry.items).ok())?
}

/// A schema as strict servers want it: objects with all their properties and no others. Ours are shallow.
struct Strict<'a>(&'a Value);

impl Serialize for Strict<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(schema) = self.0 else { return self.0.serialize(serializer) };
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in schema {
            match (name.as_str(), properties) {
                ("properties", Some(properties)) => map.serialize_entry(name, &StrictEach(properties))?,
                ("required" | "additionalProperties", Some(_)) => {}
                ("items", _) => map.serialize_entry(name, &Strict(value))?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        if let Some(properties) = properties {
            map.serialize_entry("required", &properties.keys().collect::<Vec<_>>())?;
            map.serialize_entry("additionalProperties", &false)?;
        }
        map.end()
    }
}

struct StrictEach<'a>(&'a Map<String, Value>);

impl Serialize for StrictEach<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, schema)| (name, Strict(schema))))
    }
}

/// Returns the id of a call at a vendor that takes ids of at most so many bytes.
fn bounded_id(id: &str, longest: usize) -> Cow<'_, str> {
    if id.len() <= longest { id.into() } else { short_id(id) }
}

/// Returns the id of a call in nine letters and digits, which every vendor takes: itself when it is one already.
fn short_id(id: &str) -> Cow<'_, str> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.into();
    }
    // FNV-1a: the same in every process, as the two ends of a call have to agree.
    let mut hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let digit = |_| {
        let digit = DIGITS[(hash % 36) as usize];
        hash /= 36;
        char::from(digit)
    };
    (0..9).map(digit).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_schemas_become_strict() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}}});
        let inner = json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false});
        let expected = json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"], "additionalProperties": false});
        assert_eq!(serde_json::to_value(Strict(&schema)).unwrap(), expected);
    }

    #[test]
    fn ids_of_other_vendors_become_short_and_stay_apart() {
        assert_eq!(short_id("a1B2c3D4e"), "a1B2c3D4e");
        let ids = ["toolu_01A09q90qw90lq917835lq9", "call_1", "call_2", "", "functions.search:0"];
        let short: std::collections::BTreeSet<_> = ids.iter().map(|id| short_id(id).into_owned()).collect();
        assert_eq!(short.len(), ids.len());
        assert!(short.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    }

    #[test]
    fn arguments_that_are_no_object_are_an_empty_one() {
        for broken in [r#"{"queries": ["cut"#, "", "[1]", "text", "null"] {
            assert_eq!(arguments(broken), "{}", "{broken}");
        }
        assert_eq!(arguments(r#" {"b": 1, "a": 2}"#), r#"{"b": 1, "a": 2}"#);
    }
}
