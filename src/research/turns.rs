//! THE tool loop, used by the supervisor and the researchers: ask, carry out the calls, append, repeat within the
//! limit.
//!
//! Turns are counted before the call, so none is paid for and thrown away. Every tool call gets an answer (`calls.rs`).
//! A model that calls no tool, or wants to finish with empty hands, is nudged once; then the loop ends and the caller
//! does the task with one call of its own ([`do_task`]). One that has worked and then says nothing at all is nudged
//! once, too.

use serde_json::json;

use super::{
    agent::{Agent, Answer},
    calls::{self, Carried},
};
use crate::{
    context::{Cx, Error, Role},
    domain::{ToolKind, WarningCode},
    journal::Stop,
    llm::{Completion, Message, Part, StopReason, ToolCall},
};

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model said it was done, or stopped calling tools, with something in its hands.
    Finished,
    /// The last turn was used up.
    Limit,
    /// The model would not work: nudged once, it still called nothing useful.
    Idle,
}

/// Runs the loop, appending to `messages`.
///
/// # Errors
/// A model call that failed for good, or [`Error::Stop`]; `messages` holds what came before.
pub async fn run(cx: &Cx, agent: &mut Agent<'_>, messages: &mut Vec<Message>) -> Result<End, Error> {
    let (mut nudged, mut was_silent) = (false, false);
    for turn in 1..=agent.max_turns {
        let path = agent.path(turn);
        let request = agent.request(cx, turn, messages);
        let completion = cx.ask(&path, Role::Research, request, Some(agent.deadline)).await?;
        let completion = without_withheld(completion);
        let wants_end = agent.wants_end(&completion.tool_calls);
        if completion.tool_calls.is_empty() && agent.gathered.has_worked {
            let is_cut = completion.stop == StopReason::Length;
            if was_silent || turn == agent.max_turns || !(is_cut || is_silent(&completion)) {
                return Ok(End::Finished);
            }
            was_silent = true;
            break_silence(cx, &path, messages, is_cut.then_some(completion.text)).await?;
            continue;
        }
        if completion.tool_calls.is_empty() {
            append_idle(messages, completion.text, cx.prompts().text(agent.words.nudge, ()));
        } else {
            let Carried { answers, ends } = turn_with_calls(cx, agent, turn, &path, &completion.tool_calls).await?;
            let left = left(cx, agent, turn, &path, &completion.tool_calls).await?;
            messages.push(Message::turn_of(&completion));
            agent.gathered.append(messages, with_turns_left(answers, &left));
            if let Some(failure) = ends {
                return Err(failure.into());
            }
        }
        if wants_end && agent.gathered.has_worked {
            return Ok(End::Finished);
        }
        if wants_end {
            if nudged {
                return Ok(End::Idle);
            }
            nudged = true;
            let detail = "the model wanted to finish before anything was retrieved";
            cx.warn(&format!("{path}/nudged"), WarningCode::ModelMisuse, detail).await?;
        }
    }
    Ok(End::Limit)
}

/// Returns the reply without what a filter let through of it, which is no part of the conversation.
fn without_withheld(mut completion: Completion) -> Completion {
    if completion.stop == StopReason::Refused {
        completion.text.clear();
    }
    completion
}

/// Returns whether a reply without calls is a mishap: a word is an end, and so is a refusal.
fn is_silent(completion: &Completion) -> bool {
    completion.stop != StopReason::Refused && completion.is_without_words()
}

/// Asks for a reply after one in which nothing stands, or that was `cut` off before it called a tool. The same
/// conversation would bring the same again.
async fn break_silence(cx: &Cx, path: &str, messages: &mut Vec<Message>, cut: Option<String>) -> Result<(), Stop> {
    let nudge = cx.prompts().text("nudge_silent", json!({"is_cut": cut.is_some()}));
    let detail = match &cut {
        Some(_) => "the model's reply was cut off by the output limit before it called a tool",
        None => "the model answered the results of its tools with nothing",
    };
    append_idle(messages, cut.unwrap_or_default(), nudge);
    cx.warn(&format!("{path}/nudged"), WarningCode::ModelMisuse, detail).await
}

async fn turn_with_calls(
    cx: &Cx,
    agent: &mut Agent<'_>,
    turn: u32,
    path: &str,
    calls: &[ToolCall],
) -> Result<Carried, Stop> {
    agent.gathered.turns = turn;
    if let Some(event) = agent.turn_event {
        cx.mark(&format!("{path}/started"), event(turn, agent.max_turns)).await?;
    }
    let carried = calls::carry_out(cx, agent, path, calls).await?;
    if agent.turn_event.is_some() {
        agent.standing = cx.standing(&format!("{path}/standing")).await?;
    }
    Ok(carried)
}

/// Returns how many turns remain, and, after a turn that had topics researched, how far all findings answer the
/// sub-questions.
async fn left(cx: &Cx, agent: &Agent<'_>, turn: u32, path: &str, calls: &[ToolCall]) -> Result<String, Stop> {
    let has_delegated = calls.iter().any(|call| agent.tools.kind(&call.name) == Some(ToolKind::Delegate));
    let questions = match &agent.asked {
        Some(asked) if has_delegated => asked.so_far(cx, path).await?,
        _ => Vec::new(),
    };
    let values = json!({"left": agent.max_turns - turn, "used": agent.standing.used, "questions": questions});
    Ok(cx.prompts().text(agent.words.left, values))
}

/// Has the task done by one call, for a model that called nothing useful; `false` when no tool can. `id` names the call
/// and, behind the agent's path, its place in the journal.
///
/// # Errors
/// As [`run`].
pub async fn do_task(
    cx: &Cx,
    agent: &mut Agent<'_>,
    path: &str,
    id: &str,
    messages: &mut Vec<Message>,
) -> Result<bool, Error> {
    let Some((name, arguments)) = agent.tools.for_task(agent.task) else { return Ok(false) };
    let (name, arguments) = (name.to_owned(), arguments.to_string());
    let call = ToolCall { id: id.to_owned(), name, arguments, problem: None };
    agent.gathered.has_reflected = true;
    let carried = calls::carry_out(cx, agent, &format!("{path}/{id}"), std::slice::from_ref(&call)).await?;
    messages.push(Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None });
    agent.gathered.append(messages, carried.answers);
    carried.ends.map_or(Ok(true), |failure| Err(failure.into()))
}

/// Keeps a reply without a tool call in the history, and answers it like a person would.
fn append_idle(messages: &mut Vec<Message>, text: String, nudge: String) {
    if !text.trim().is_empty() {
        messages.push(Message::assistant(text));
    }
    messages.push(Message::user(nudge));
}

/// Returns the answers, the last one with the number of turns left.
fn with_turns_left(mut answers: Vec<Answer>, left: &str) -> Vec<Answer> {
    if let Some(last) = answers.last_mut() {
        last.text.0.push(Part::Fixed(format!("\n\n{left}").into()));
    }
    answers
}
