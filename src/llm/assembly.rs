//! Puts an answer together from the pieces that a dialect reads, whole or streamed, into a [`Completion`].
//!
//! Forgiving: tool calls that the output limit cut off, calls without an id or an index, halves of characters, thinking
//! text among the answer. Bounded, whatever comes. Pure: pieces in, our words out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::failure::{self, Failure};
use super::thinking::Filter;
use super::{Carry, Completion, Error, Request, StopReason, ToolCall, text_calls, tool_name};
use crate::domain::{ModelName, Usage};
use crate::net::surrogates::{self, Joiner};

/// Bytes of text that an answer may have for each token asked for: four times what text usually has.
const TEXT_BYTES_PER_TOKEN: usize = 16;
/// Bytes of text that any answer may have.
const MIN_TEXT: usize = 1024 * 1024;
/// Calls of one turn that are carried out; one more is kept to tell the model.
const MAX_CALLS: usize = 128;
/// Bytes of the arguments of one call.
const MAX_ARGUMENTS: usize = 256 * 1024;
/// Bytes of the arguments of all calls of a turn.
const MAX_TURN_ARGUMENTS: usize = 1024 * 1024;
/// The characters of arguments that are too long which are kept for people.
const SHOWN_ARGUMENTS: usize = 200;

/// Why a model stopped, as dialects tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireStop {
    /// It was done, or wants tools to be called.
    End,
    Length,
    /// A filter withheld the answer.
    Refused,
    /// The model or its provider gave up; another attempt may do better.
    Broken,
}

/// A tool call, or a piece of one.
pub(super) struct CallPiece<'a> {
    /// Which call of the turn it is.
    pub index: Option<usize>,
    /// Empty where the server tells none.
    pub id: String,
    pub name: String,
    pub arguments: &'a str,
}

/// Builds one answer from its pieces.
pub(super) struct Assembly {
    model: ModelName,
    /// Names of the tools on offer.
    tools: Vec<String>,
    /// Whether a call in the text may name what is not on offer, which its model is answered.
    takes_any_name: bool,
    /// Messages in the request.
    turn: usize,
    joiner: Joiner,
    filter: Filter,
    text: String,
    /// Bytes of text that have come, thinking included, and how many may.
    text_bytes: usize,
    max_text: usize,
    calls: Vec<OpenCall>,
    /// Calls that are not kept.
    left_out: usize,
    /// Index and id of the last of them.
    last_left_out: Option<(Option<usize>, String)>,
    /// Bytes of the arguments of all calls.
    argument_bytes: usize,
    refusal: String,
    stop: Option<WireStop>,
    usage: Usage,
    events: u32,
    /// Bytes of the text that have been passed on.
    passed: usize,
    /// The turn as it came, in JSON.
    carry: Option<String>,
}

/// A tool call still growing.
#[derive(Default)]
struct OpenCall {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
    joiner: Joiner,
    /// Bytes of arguments, those that are not kept included; none are for calls beyond the limits.
    bytes: usize,
    is_too_long: bool,
}

impl OpenCall {
    /// Adds a piece of the arguments, unless there is no room for it.
    fn take(&mut self, piece: &str, is_marked: bool, is_turn_full: bool) {
        self.bytes += piece.len();
        self.is_too_long |= is_turn_full || self.bytes > MAX_ARGUMENTS;
        if !self.is_too_long {
            self.arguments.push_str(&self.joiner.push(piece, is_marked));
        }
    }

    /// Returns why it is not carried out.
    fn problem(&self) -> Option<String> {
        let limits = format!("one call takes {MAX_ARGUMENTS} bytes, all calls of a turn {MAX_TURN_ARGUMENTS}");
        self.is_too_long.then(|| format!("the arguments are too long: {limits}"))
    }
}

impl From<text_calls::TextCall> for OpenCall {
    fn from(call: text_calls::TextCall) -> Self {
        let mut open = Self { name: call.name, ..Self::default() };
        open.take(&call.arguments, false, false);
        open
    }
}

pub(super) fn malformed(model: &ModelName, problem: impl ToString) -> Error {
    Error::Malformed { model: model.clone(), detail: problem.to_string() }
}

impl Assembly {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            model: request.model.clone(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            takes_any_name: false,
            turn: request.messages.len(),
            joiner: Joiner::default(),
            filter: Filter::default(),
            text: String::new(),
            text_bytes: 0,
            max_text: MIN_TEXT.max(TEXT_BYTES_PER_TOKEN.saturating_mul(request.max_tokens as usize)),
            calls: Vec::new(),
            left_out: 0,
            last_left_out: None,
            argument_bytes: 0,
            refusal: String::new(),
            stop: None,
            usage: Usage::default(),
            events: 0,
            passed: 0,
            carry: None,
        }
    }

    pub(super) fn model(&self) -> &ModelName {
        &self.model
    }

    /// Returns whether the model has said that it is done.
    pub(super) fn is_finished(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns whether there is a word, a call or a refusal so far.
    pub(super) fn says_something(&self) -> bool {
        !self.text.is_empty() || self.has_calls() || !self.refusal.is_empty()
    }

    /// Returns whether the model calls tools.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Notes that the text is to be a call, as the model's server says: of a tool under any name.
    pub(super) fn expect_call(&mut self) {
        self.takes_any_name = true;
    }

    /// Returns what has been counted so far.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Counts an event of a stream.
    pub(super) fn begin_event(&mut self) {
        self.events += 1;
    }

    /// Adds text of the answer.
    ///
    /// # Errors
    /// When it is longer than any answer to the request.
    pub(super) fn say(&mut self, text: &str, is_marked: bool) -> Result<(), Failure> {
        self.take_room(text)?;
        self.filter.push(&self.joiner.push(text, is_marked), &mut self.text);
        Ok(())
    }

    /// Adds to the model's refusal.
    ///
    /// # Errors
    /// As [`say`](Self::say).
    pub(super) fn refuse(&mut self, text: &str) -> Result<(), Failure> {
        self.take_room(text)?;
        self.refusal.push_str(text);
        Ok(())
    }

    /// Counts what is no part of the answer's text.
    ///
    /// # Errors
    /// As [`say`](Self::say).
    pub(super) fn think(&mut self, text: &str) -> Result<(), Failure> {
        self.take_room(text)
    }

    /// Keeps the turn as it came, in JSON.
    pub(super) fn carry(&mut self, items: String) {
        self.carry = Some(items);
    }

    fn take_room(&mut self, text: &str) -> Result<(), Failure> {
        self.text_bytes += text.len();
        if self.text_bytes > self.max_text {
            return Err(failure::too_long(&self.model, "its text", self.max_text));
        }
        Ok(())
    }

    /// Notes why the model stopped; the last word counts.
    pub(super) fn stop(&mut self, stop: WireStop) {
        self.stop = Some(stop);
    }

    /// Notes what the answer used; the last word counts.
    pub(super) fn count(&mut self, usage: Usage) {
        self.usage = usage.believed();
    }

    /// Returns the text that has come since the last time and may be passed on. With tools on offer text is kept back
    /// to the end, since it may turn out to be a call.
    pub(super) fn news(&mut self) -> String {
        if !self.tools.is_empty() {
            return String::new();
        }
        let news = self.text[self.passed..].to_owned();
        self.passed = self.text.len();
        news
    }

    /// Adds a call or a piece of one; returns the call's place in the turn, `None` when there is no room for it.
    pub(super) fn call(&mut self, piece: CallPiece<'_>, is_marked: bool) -> Option<usize> {
        let CallPiece { index, id, name, arguments } = piece;
        let place = match self.position(index, &id, &name) {
            Some(position) => position,
            None if self.calls.len() > MAX_CALLS => {
                self.leave_out(index, id, &name);
                return None;
            }
            None => {
                self.calls.push(OpenCall { index, ..OpenCall::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        self.argument_bytes += arguments.len();
        call.take(arguments, is_marked, self.argument_bytes > MAX_TURN_ARGUMENTS);
        Some(place)
    }

    /// Counts a call for which there is no room, once for all its pieces.
    fn leave_out(&mut self, index: Option<usize>, id: String, name: &str) {
        let begins = !id.is_empty() || !name.is_empty();
        let call = (index, id);
        if begins && self.last_left_out.as_ref() != Some(&call) {
            self.left_out += 1;
            self.last_left_out = Some(call);
        }
    }

    /// Returns which call a piece goes on with; `None` when it begins one. Gemini's door sends several calls under
    /// index 0 and tells them apart by id; others send no index.
    fn position(&self, index: Option<usize>, id: &str, name: &str) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() && name.is_empty() => last,
            None => self.calls.iter().rposition(|call| !id.is_empty() && call.id == id)?,
        };
        let known = &self.calls[position].id;
        let another = !id.is_empty() && !known.is_empty() && known != id && !name.is_empty();
        (!another).then_some(position)
    }

    /// Finishes as [`finish`](Self::finish) does, for a stream that has ended.
    ///
    /// # Errors
    /// Also when the events stopped before the model did, or were none: a cut connection, or a page of a proxy.
    pub(super) fn finish_stream(self) -> Result<(Completion, usize), Failure> {
        let says_something = self.says_something();
        let error = match (self.is_finished(), self.events) {
            (true, _) => return self.finish(),
            (false, 0) => malformed(&self.model, "the answer is no event stream"),
            (false, _) => Error::Transport { model: self.model, detail: "the stream ended early".to_owned() },
        };
        let failure = Failure::from(error).paid(self.usage);
        Err(if says_something { failure.after_words() } else { failure })
    }

    /// Returns the answer, and how many bytes of its text have been passed on.
    ///
    /// # Errors
    /// [`Error::Refused`] with the model's own words.
    pub(super) fn finish(mut self) -> Result<(Completion, usize), Failure> {
        if self.stop == Some(WireStop::Broken) {
            return Err(failure::broken_off(&self.model).paid(self.usage));
        }
        self.filter.push(self.joiner.finish(), &mut self.text);
        self.filter.finish(&mut self.text);
        if !self.refusal.is_empty() && self.calls.is_empty() {
            return Err(Failure::from(Error::Refused { model: self.model, detail: self.refusal }).paid(self.usage));
        }
        if !self.tools.is_empty() && self.calls.is_empty() {
            let is_taken = |name: &str| self.takes_any_name || self.tools.iter().any(|tool| tool == name);
            let found = text_calls::take(&mut self.text, is_taken);
            self.calls = found.into_iter().map(OpenCall::from).collect();
        }
        let count = self.calls.len();
        // Names that no vendor takes are written otherwise when the turn goes back.
        let is_named = self.calls.iter().all(|call| tool_name::is_name(call.name.trim()));
        let tool_calls = closed(self.calls, self.turn, self.left_out, &self.tools);
        // A call that is left out, or cut off, would stay without its result.
        let is_whole = self.stop == Some(WireStop::End)
            && is_named
            && tool_calls.len() == count
            && tool_calls.iter().all(|call| call.problem.is_none());
        let provider = Arc::clone(&self.model.provider);
        let carry = self.carry.filter(|_| is_whole).map(|items| Carry { provider, items: items.into() });
        let stop = match self.stop {
            Some(WireStop::Length) => StopReason::Length,
            Some(WireStop::Refused) => StopReason::Refused,
            _ if !tool_calls.is_empty() => StopReason::ToolCalls,
            _ => StopReason::End,
        };
        Ok((Completion { text: self.text, tool_calls, stop, usage: self.usage, attempts: 1, carry }, self.passed))
    }
}

/// Calls with names trimmed and an id each that no other call of the conversation has. `turn` is the number of
/// messages before, so that the same answer gets the same ids again. The one that is too many says so.
fn closed(calls: Vec<OpenCall>, turn: usize, left_out: usize, tools: &[String]) -> Vec<ToolCall> {
    let mut closed: Vec<ToolCall> = Vec::with_capacity(calls.len());
    for mut call in calls {
        call.arguments.push_str(call.joiner.finish());
        if call.name.trim().is_empty() && call.arguments.trim().is_empty() && !call.is_too_long {
            continue;
        }
        let mut problem = call.problem();
        if problem.is_some() {
            call.arguments = call.arguments.chars().take(SHOWN_ARGUMENTS).collect();
        }
        if closed.len() == MAX_CALLS {
            let others = if left_out > 0 { format!(", and neither are {left_out} more") } else { String::new() };
            problem = Some(format!("one turn takes {MAX_CALLS} calls; this one is not carried out{others}"));
        }
        let taken = call.id.is_empty() || closed.iter().any(|earlier| earlier.id == call.id);
        let id = if taken { made_up_id(turn, closed.len()) } else { call.id };
        let arguments = unquoted(surrogates::repair(&call.arguments)).into_owned();
        closed.push(ToolCall { id, name: called(&call.name, tools).to_owned(), arguments, problem });
        if closed.len() > MAX_CALLS {
            break;
        }
    }
    closed
}

/// Returns the tool that a call names. Models of OpenAI's open line (gpt-oss) leave marks of their template in it:
/// `functions.search_web<|channel|>commentary`.
fn called<'a>(name: &'a str, tools: &[String]) -> &'a str {
    let name = name.split_once("<|").map_or(name, |(name, _)| name).trim();
    let bare = name.strip_prefix("functions.").filter(|bare| tools.iter().any(|tool| tool == bare));
    bare.unwrap_or(name)
}

/// Returns the object where the arguments are a JSON text with one in it, as some models write them.
pub(super) fn unquoted(arguments: Cow<'_, str>) -> Cow<'_, str> {
    if !arguments.trim_start().starts_with('"') {
        return arguments;
    }
    let inner = serde_json::from_str::<String>(&arguments).ok();
    let inner = inner.filter(|inner| serde_json::from_str::<BTreeMap<String, IgnoredAny>>(inner).is_ok());
    inner.map_or(arguments, Cow::Owned)
}

/// Returns an id that every vendor takes: nine letters and digits, which tell the turn and the place in it.
fn made_up_id(turn: usize, place: usize) -> String {
    format!("t{:04}c{:03}", turn % 10_000, place % 1_000)
}
