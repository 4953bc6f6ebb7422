//! Conversations for the dialects whose messages are lists of blocks and whose roles take turns.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Message, Request, ToolCall};
use super::{Joined, carried, tool_name};
use crate::domain::distinct;

/// A block as a dialect writes it.
pub(super) trait Block<'a>: Sized {
    fn text(text: Joined<'a>) -> Self;
    fn call(call: &'a ToolCall) -> Self;
    /// Returns whether the id of a call is written as it is.
    fn takes_id(id: &str) -> bool;
    /// Returns what the call of that id gave.
    fn result(call_id: &'a str, content: Joined<'a>) -> Self;
    /// Returns a block of the provider's own, as it came.
    fn carried(block: &'a RawValue) -> Self;
}

#[derive(Serialize)]
pub(super) struct Turn<B> {
    role: &'static str,
    pub(super) content: Vec<B>,
}

/// Returns the conversation in turns: results of tools belong to the user's, where they come first.
pub(super) fn turns<'a, B: Block<'a>>(request: &'a Request) -> Vec<Turn<B>> {
    let mut turns: Vec<Turn<B>> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { content } => ("user", text(Joined::Parts(content)).into_iter().collect()),
            Message::Assistant { content, tool_calls, .. } => {
                ("assistant", said(message, content, tool_calls, request))
            }
            Message::Tool { call_id, content, .. } => ("user", vec![B::result(call_id, Joined::Parts(content))]),
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => turns.push(Turn { role, content: blocks }),
        }
    }
    turns
}

/// Returns a turn of the model: as it came when it was this provider's, else in our words. So is one whose ids are
/// written otherwise, since its results would have others.
fn said<'a, B: Block<'a>>(message: &'a Message, content: &'a str, calls: &'a [ToolCall], request: &Request) -> Vec<B> {
    let fits = calls.iter().all(|call| B::takes_id(&call.id));
    match carried(message, request).filter(|_| fits) {
        Some(blocks) => blocks.into_iter().map(B::carried).collect(),
        None => text(Joined::One(content)).into_iter().chain(calls.iter().map(B::call)).collect(),
    }
}

/// Returns the instructions, which stand apart from the turns.
pub(super) fn instructions<'a, B: Block<'a>>(request: &'a Request) -> Vec<B> {
    let instruction = |message: &'a Message| match message {
        Message::System { content } => text(Joined::Parts(content)),
        _ => None,
    };
    request.messages.iter().filter_map(instruction).collect()
}

/// Creates a block of a text that is not blank; blank ones are refused.
fn text<'a, B: Block<'a>>(text: Joined<'a>) -> Option<B> {
    let is_blank = text.all(|piece| piece.trim().is_empty());
    (!is_blank).then(|| B::text(text))
}

/// Returns the names of the tools that the conversation has calls of, each once. Without these tools such a
/// conversation is refused.
pub(super) fn called(request: &Request) -> Vec<Cow<'_, str>> {
    let calls = request.messages.iter().flat_map(|message| match message {
        Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    });
    distinct(calls.map(|call| tool_name(&call.name)))
}
