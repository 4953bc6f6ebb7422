//! A captured model call: what was asked, in whose role, and how the exchange ended.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering},
    },
    time::Instant,
};

use axum::http::HeaderMap;
use serde_json::Value;

/// What a call is for, derived from its form, or from its first words where several have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    FollowUp,
    Clarify,
    Brief,
    Supervisor,
    Researcher,
    Summary,
    Compression,
    Report,
    /// From an earlier report.
    Answer,
    /// Of an earlier report.
    Revision,
    /// Statements of a report that its sources do not hold, written once more.
    Repair,
    /// Statements of a report, judged by their sources.
    Judgement,
    /// Neither tools nor schema of ours.
    Other,
}

impl Kind {
    pub const ALL: [Self; 13] = [
        Self::FollowUp,
        Self::Clarify,
        Self::Brief,
        Self::Supervisor,
        Self::Researcher,
        Self::Summary,
        Self::Compression,
        Self::Report,
        Self::Answer,
        Self::Revision,
        Self::Repair,
        Self::Judgement,
        Self::Other,
    ];

    /// Determines the kind by the schema asked for (or offered as a tool), then by the tools, then by the shape of
    /// the history: findings are compressed from the tool messages of a conversation, a report is written from one
    /// human message, and so are an answer and a revision, which their prompts' opening words tell apart.
    fn of(schema: Option<&str>, tools: &[&str], messages: &[Value]) -> Self {
        let has = |name: &str| schema == Some(name) || tools.contains(&name);
        let opens = |words: &str| messages.first().is_some_and(|message| text_of(message).starts_with(words));
        if has("RepairedStatements") {
            Self::Repair
        } else if has("JudgedStatements") {
            Self::Judgement
        } else if has("FollowUp") {
            Self::FollowUp
        } else if has("ClarifyWithUser") {
            Self::Clarify
        } else if has("ResearchQuestion") {
            Self::Brief
        } else if has("Summary") {
            Self::Summary
        } else if has("ConductResearch") {
            Self::Supervisor
        } else if has("search_web") || has("ResearchComplete") {
            Self::Researcher
        } else if schema.is_some() || !tools.is_empty() || messages.is_empty() {
            Self::Other
        } else if messages.iter().any(|message| message["role"] == "tool" || message["role"] == "assistant") {
            Self::Compression
        } else if opens("A user has received a research report and now writes") {
            Self::Answer
        } else if opens("A user has received a research report and wants it changed") {
            Self::Revision
        } else {
            Self::Report
        }
    }
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ended {
    /// It has not.
    Pending,
    /// The whole answer was handed to the network.
    Finished,
    /// The client went away first.
    Aborted,
    /// We cut it, as the script said.
    Cut,
}

/// One request to `POST /v1/chat/completions`.
pub struct Call {
    /// In order of arrival, from 0.
    pub number: usize,
    pub kind: Kind,
    pub body: Value,
    pub headers: HeaderMap,
    pub received_at: Instant,
    pub size_bytes: usize,
    /// Equal for equal bodies.
    pub fingerprint: u64,
    ended: AtomicU8,
    ended_at: OnceLock<Instant>,
}

impl Call {
    pub(super) fn new(number: usize, bytes: &[u8], body: Value, headers: HeaderMap) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let mut call = Self {
            number,
            kind: Kind::Other,
            body,
            headers,
            received_at: Instant::now(),
            size_bytes: bytes.len(),
            fingerprint: hasher.finish(),
            ended: AtomicU8::new(Ended::Pending as u8),
            ended_at: OnceLock::new(),
        };
        call.kind = Kind::of(call.schema_name(), &call.tools(), call.messages());
        call
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or("")
    }

    /// Returns the messages as sent; empty when there are none.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the messages of `role`, in order, as text.
    pub fn said_by(&self, role: &str) -> Vec<Cow<'_, str>> {
        self.messages().iter().filter(|message| message["role"] == role).map(text_of).collect()
    }

    /// Returns the text of the first message that is not the system's; empty when there is none.
    pub fn first_text(&self) -> Cow<'_, str> {
        self.messages().iter().find(|message| message["role"] != "system").map(text_of).unwrap_or_default()
    }

    /// Returns the text of the last message; empty when there is none.
    pub fn last_text(&self) -> Cow<'_, str> {
        self.messages().last().map(text_of).unwrap_or_default()
    }

    /// Returns whether `needle` is anywhere in the messages (arguments of tool calls included).
    pub fn says(&self, needle: &str) -> bool {
        self.messages().iter().any(|message| {
            text_of(message).contains(needle)
                || tool_calls(message).any(|call| arguments(call).is_some_and(|text| text.contains(needle)))
        })
    }

    /// Returns the names of the tools offered, in order.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    /// Returns the name of the JSON schema the answer must have.
    pub fn schema_name(&self) -> Option<&str> {
        self.body["response_format"]["json_schema"]["name"].as_str()
    }

    /// Returns the JSON schema itself, or the parameters of the one tool that stands for it.
    pub fn schema(&self) -> &Value {
        match self.schema_name() {
            Some(_) => &self.body["response_format"]["json_schema"]["schema"],
            None => &self.body["tools"][0]["function"]["parameters"],
        }
    }

    pub fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }

    /// Returns the model's earlier turns in this conversation.
    pub fn turns(&self) -> usize {
        self.messages().iter().filter(|message| message["role"] == "assistant").count()
    }

    pub fn ended(&self) -> Ended {
        match self.ended.load(Ordering::Acquire) {
            1 => Ended::Finished,
            2 => Ended::Aborted,
            3 => Ended::Cut,
            _ => Ended::Pending,
        }
    }

    /// Returns when the call ended; `None` while it has not.
    pub fn ended_at(&self) -> Option<Instant> {
        self.ended_at.get().copied()
    }

    /// Notes how the call ended; the first ending stands.
    pub(super) fn end(&self, ended: Ended) {
        let _ = self.ended_at.set(Instant::now());
        let pending = Ended::Pending as u8;
        let _ = self.ended.compare_exchange(pending, ended as u8, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Lists what breaks the rules every provider has, and some enforce: messages are there; each tool call has an id
    /// of its own, arguments that are JSON, and exactly one answer right behind it; no answer is without its call.
    pub fn violations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.messages().is_empty() {
            wrong.push("no messages".to_owned());
        }
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for (at, message) in self.messages().iter().enumerate() {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                if !open.remove(id) {
                    wrong.push(format!("message {at} answers the call {id:?}, which is not open"));
                }
                continue;
            }
            wrong.extend(open.iter().map(|id| format!("the call {id:?} is not answered before message {at}")));
            open.clear();
            for call in tool_calls(message) {
                let id = call["id"].as_str().unwrap_or("");
                if id.is_empty() || !open.insert(id) {
                    wrong.push(format!("message {at} has a call with the missing or repeated id {id:?}"));
                }
                if arguments(call).is_none_or(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()) {
                    wrong.push(format!("message {at}: the arguments of {id:?} are not JSON: {:?}", arguments(call)));
                }
            }
        }
        wrong.extend(open.iter().map(|id| format!("the call {id:?} is never answered")));
        wrong.into_iter().map(|what| format!("model call {} ({:?}): {what}", self.number, self.kind)).collect()
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "call {} ({:?}, {:?}, {} bytes)", self.number, self.kind, self.ended(), self.size_bytes)
    }
}

/// Returns the text of a message, its parts put together.
pub fn text_of(message: &Value) -> Cow<'_, str> {
    match &message["content"] {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Cow::Borrowed(""),
    }
}

fn tool_calls(message: &Value) -> impl Iterator<Item = &Value> {
    message["tool_calls"].as_array().into_iter().flatten()
}

fn arguments(call: &Value) -> Option<&str> {
    call["function"]["arguments"].as_str()
}
