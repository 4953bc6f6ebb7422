//! An agent, supervisor or researcher: what the two kinds differ in, and what it has done and found.

use std::collections::{HashMap, HashSet};

use super::questions::SubQuestions;
use crate::{
    context::{Call, Cx, Deadline, Role, Standing},
    domain::{Event, Evidence, SourceId, ToolKind},
    llm::{Message, Text, ToolCall},
    offline::Task,
    tools::{ToolOutput, ToolSet},
};

/// An agent: what the two kinds of agents differ in, and what it has gathered.
#[derive(Debug)]
pub struct Agent<'a> {
    /// Source ids are made of it; 0 for the supervisor, who finds none.
    pub number: u32,
    /// The journal path of its turns, without their numbers.
    pub turns_path: String,
    pub max_turns: u32,
    pub system: String,
    /// Its first message: the topic, or the brief.
    pub task: &'a str,
    /// What the whole run wants to know.
    pub question: &'a str,
    pub tools: ToolSet,
    /// When its time is over, not counting waits for providers. A call given up then is in the journal, so that a
    /// replay with its own clock goes the same way.
    pub deadline: Deadline,
    pub words: Words,
    /// What a turn's request is about, from the task, the turn's number and whether anything was retrieved.
    pub about: fn(&str, u32, bool) -> Task,
    /// What readers hear of a turn with calls, from its number and the limit.
    pub turn_event: Option<fn(u32, u32) -> Event>,
    /// How much of the run's limits was used when it last looked.
    pub standing: Standing,
    /// What has to be known, where the agent hears how far the findings answer it.
    pub asked: Option<SubQuestions<'a>>,
    pub gathered: Gathered,
}

/// Names of the prompts that differ.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// For a model that does nothing.
    pub nudge: &'static str,
    /// How many turns remain.
    pub left: &'static str,
}

/// What an agent has done and found.
#[derive(Debug, Default)]
pub struct Gathered {
    /// What was retrieved, each source once.
    pub evidence: Vec<Evidence>,
    /// Where it was retrieved, with the place of its evidence: a page met again has another id and is the same source.
    pub(super) pages: HashMap<String, usize>,
    /// The texts that were read, and the addresses of pages that were opened, with the places of their evidence.
    pub(super) read: HashMap<String, usize>,
    /// Why the first search failed, of those that did, and the first of the other calls.
    pub(super) failed_search: Option<String>,
    pub(super) failed_call: Option<String>,
    /// Whether a call that retrieves was answered, even with nothing.
    pub(super) has_answer: bool,
    /// Whether anything was retrieved or delegated, whatever came of it.
    pub has_worked: bool,
    /// The last turn with calls.
    pub turns: u32,
    /// Whether the model has reflected since it last retrieved or delegated.
    pub has_reflected: bool,
    /// Ids reserved for sources.
    pub(super) reserved: u32,
    /// Calls of tools that are one step, so that none is made twice.
    pub(super) made: HashSet<String>,
    /// What notes are made of instead of the answers at these places of the conversation.
    pub(super) in_full: Vec<(usize, Text)>,
}

impl Gathered {
    /// Returns the conversation as notes are made of it: what was retrieved stands there in full.
    pub fn in_full(&mut self, mut messages: Vec<Message>) -> Vec<Message> {
        for (place, text) in self.in_full.drain(..) {
            if let Some(Message::Tool { content, .. }) = messages.get_mut(place) {
                *content = text;
            }
        }
        messages
    }

    /// Returns why nothing may have been found, other than that there is nothing: a search failed, or every call did.
    pub fn obstacle(&self) -> Option<String> {
        let search = self.failed_search.as_ref().map(|failure| format!("no search brought anything: {failure}"));
        let call = self.failed_call.as_ref().filter(|_| !self.has_answer);
        search.or_else(|| call.map(|failure| format!("nothing could be retrieved: {failure}")))
    }

    /// Records how a call went.
    pub(super) fn record(&mut self, kind: ToolKind, output: &ToolOutput) {
        self.has_reflected = kind == ToolKind::Think || (self.has_reflected && !kind.is_work());
        if kind.is_work() {
            self.has_worked = true;
            self.has_answer |= !output.has_failed();
            let failed = if kind == ToolKind::Search { &mut self.failed_search } else { &mut self.failed_call };
            *failed = failed.take().or_else(|| output.failed.first().cloned());
        }
    }

    /// Appends the answers to the conversation.
    pub(super) fn append(&mut self, messages: &mut Vec<Message>, answers: Vec<Answer>) {
        for mut answer in answers {
            self.in_full.extend(answer.in_full.take().map(|text| (messages.len(), text)));
            messages.push(answer.into());
        }
    }

    /// Keeps what is new of a call's evidence: a page or text that was met before is the same piece, wherever it
    /// stands.
    pub(super) fn add(
        &mut self,
        kind: ToolKind,
        evidence: Vec<Evidence>,
        texts: &[Option<String>],
        links: impl IntoIterator<Item = String>,
    ) {
        for (index, (evidence, url)) in evidence.into_iter().zip(links).enumerate() {
            let text = texts.get(index).and_then(Option::as_ref);
            let known = self.pages.get(&url).or_else(|| self.read.get(text?)).copied();
            let place = known.unwrap_or(self.evidence.len());
            match self.evidence.get_mut(place) {
                None => self.evidence.push(evidence),
                Some(known) if known.text.contains(&evidence.text) => {}
                Some(known) => {
                    known.text.push_str("\n\n");
                    known.text.push_str(&evidence.text);
                }
            }
            // What was opened is read as far as the agent wants it.
            let read = if kind == ToolKind::Search { text } else { Some(&url) };
            if let Some(read) = read {
                self.read.entry(read.clone()).or_insert(place);
            }
            self.pages.entry(url).or_insert(place);
        }
    }
}

impl Agent<'_> {
    pub(super) fn path(&self, turn: u32) -> String {
        format!("{}/{turn}", self.turns_path)
    }

    pub(super) fn request(&self, cx: &Cx, turn: u32, messages: &[Message]) -> Call {
        let mut all = vec![Message::system(self.system.as_str())];
        all.extend_from_slice(messages);
        let about = (self.about)(self.task, turn, !self.gathered.evidence.is_empty());
        cx.request(Role::Research, all, about).with_tools(self.tools.specs())
    }

    pub(super) fn wants_end(&self, calls: &[ToolCall]) -> bool {
        calls.is_empty() || calls.iter().any(|call| self.tools.kind(&call.name) == Some(ToolKind::Complete))
    }

    /// Returns the ids reserved for a call, by the first of them; `None` when there are not so many left.
    pub(super) fn reserve(&mut self, ids: u32) -> Option<SourceId> {
        let first = SourceId::of(self.number, self.gathered.reserved + 1);
        let reserved = self.gathered.reserved.checked_add(ids).filter(|all| *all <= SourceId::PER_RESEARCHER)?;
        self.gathered.reserved = reserved;
        Some(first)
    }
}

/// The answer to a tool call.
#[derive(Debug)]
pub struct Answer {
    pub call_id: String,
    pub name: String,
    pub text: Text,
    /// As in [`ToolOutput`].
    pub in_full: Option<Text>,
}

impl Answer {
    pub fn to(call: &ToolCall, text: impl Into<Text>) -> Self {
        Self { call_id: call.id.clone(), name: call.name.clone(), text: text.into(), in_full: None }
    }
}

impl From<Answer> for Message {
    fn from(answer: Answer) -> Self {
        Self::Tool { call_id: answer.call_id, name: answer.name, content: answer.text }
    }
}
