//! THE tool loop, used by the supervisor and the researchers: ask, carry out the calls, append, repeat within the limit.
//!
//! Turns are counted before the call, so none is paid for and thrown away. Every tool call gets an answer. A model that
//! calls no tool, or wants to finish with empty hands, is told so once; then the loop ends and the caller helps itself.

use crate::{
    context::{Call, Cx, Deadline, Error, Role},
    domain::{Event, WarningCode},
    llm::{Message, Part, Text, ToolCall},
    tools,
};

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model said it was done, or stopped calling tools, with something in its hands.
    Finished,
    /// The last turn was used up.
    Limit,
    /// The model would not work: told once, it still called nothing useful.
    Idle,
}

/// What differs between the two agents.
pub trait Agent {
    /// The journal key of a turn's model call, and the path of what it causes.
    fn path(&self, turn: u32) -> String;

    /// The request of a turn; `messages` are all so far.
    fn request(&self, cx: &Cx, turn: u32, messages: Vec<Message>) -> Call;

    /// Carries out the calls; one answer each, in any order.
    async fn answer(&mut self, cx: &Cx, turn: u32, calls: &[ToolCall]) -> Result<Vec<Answer>, Error>;

    /// Is there anything in its hands?
    fn may_finish(&self) -> bool;

    /// What to tell a model that does nothing, as a prompt's name.
    fn nudge(&self) -> &'static str;

    /// When a model call is given up because the agent's time is over.
    fn deadline(&self) -> Option<Deadline>;

    /// How many turns remain, as a prompt's name.
    fn left(&self) -> &'static str;
}

/// The answer to a tool call.
#[derive(Debug)]
pub struct Answer {
    pub call_id: String,
    pub name: String,
    pub text: Text,
}

impl Answer {
    pub fn to(call: &ToolCall, text: impl Into<Text>) -> Self {
        Self { call_id: call.id.clone(), name: call.name.clone(), text: text.into() }
    }
}

/// Runs the loop for at most `max_turns` turns, appending to `messages`.
///
/// # Errors
/// A model call that failed for good, or [`Error::Stop`]; `messages` holds what came before.
pub async fn run(cx: &Cx, agent: &mut impl Agent, max_turns: u32, messages: &mut Vec<Message>) -> Result<End, Error> {
    let mut nudged = false;
    for turn in 1..=max_turns {
        let path = agent.path(turn);
        let request = agent.request(cx, turn, messages.clone());
        let completion = cx.ask(&path, Role::Research, request, agent.deadline()).await?;
        let idle = completion.tool_calls.is_empty();
        let wants_end = idle || completion.tool_calls.iter().any(|call| call.name == tools::COMPLETE);
        if idle {
            if agent.may_finish() {
                return Ok(End::Finished);
            }
            append_idle(messages, completion.text, cx.prompts().text(agent.nudge(), ()));
        } else {
            let answers = agent.answer(cx, turn, &completion.tool_calls).await?;
            messages.push(Message::Assistant { content: completion.text, tool_calls: completion.tool_calls });
            append(messages, answers, &cx.prompts().text(agent.left(), serde_json::json!({"left": max_turns - turn})));
        }
        if wants_end && agent.may_finish() {
            return Ok(End::Finished);
        }
        if wants_end {
            if nudged {
                return Ok(End::Idle);
            }
            nudged = true;
            cx.warn(
                &format!("{path}/nudged"),
                WarningCode::ModelMisuse,
                "the model wanted to finish before anything was retrieved",
            )
            .await?;
        }
    }
    Ok(End::Limit)
}

/// A reply without a tool call stays in the history, and is answered like a person would.
fn append_idle(messages: &mut Vec<Message>, text: String, nudge: String) {
    if !text.trim().is_empty() {
        messages.push(Message::Assistant { content: text, tool_calls: Vec::new() });
    }
    messages.push(Message::user(nudge));
}

/// Appends the answers, the last one with the number of turns left.
fn append(messages: &mut Vec<Message>, answers: Vec<Answer>, left: &str) {
    let last = answers.len().saturating_sub(1);
    for (index, answer) in answers.into_iter().enumerate() {
        let mut content = answer.text;
        if index == last {
            content.0.push(Part::Fixed(format!("\n\n{left}").into()));
        }
        messages.push(Message::Tool { call_id: answer.call_id, name: answer.name, content });
    }
}

/// Records a `think_tool` call and answers it.
///
/// # Errors
/// [`Error::Stop`].
pub async fn think(cx: &Cx, path: &str, index: usize, call: &ToolCall) -> Result<Answer, Error> {
    match tools::arguments::<tools::Think>(call) {
        Ok(think) => {
            let text = format!("Reflection recorded: {}", think.reflection);
            cx.mark(&format!("{path}/thought/{index}"), Event::Thought { text: think.reflection }).await?;
            Ok(Answer::to(call, text))
        }
        Err(error) => bad_arguments(cx, path, index, call, &error).await,
    }
}

/// Answers a call whose arguments cannot be used, so that the model can correct itself.
///
/// # Errors
/// [`Error::Stop`].
pub async fn bad_arguments(cx: &Cx, path: &str, index: usize, call: &ToolCall, error: &str) -> Result<Answer, Error> {
    let detail = format!("{} was called with arguments that cannot be used: {error}", call.name);
    cx.warn(&format!("{path}/call/{index}/refused"), WarningCode::ModelMisuse, detail).await?;
    let values = serde_json::json!({"name": call.name, "error": error.trim_end_matches('.')});
    Ok(Answer::to(call, cx.prompts().text("bad_arguments", values)))
}

/// Answers a call to a tool that is not there, with the names of those that are.
///
/// # Errors
/// [`Error::Stop`].
pub async fn unknown_tool(cx: &Cx, path: &str, index: usize, call: &ToolCall, names: &[&str]) -> Result<Answer, Error> {
    let detail = format!("the model called '{}', which is not a tool", call.name);
    cx.warn(&format!("{path}/call/{index}/refused"), WarningCode::ModelMisuse, detail).await?;
    Ok(Answer::to(call, cx.prompts().text("unknown_tool", serde_json::json!({"name": call.name, "tools": names}))))
}

/// Tool lists in system prompts carry first lines only; the schema has the rest.
pub fn listed(tools: &[crate::llm::ToolSpec]) -> Vec<serde_json::Value> {
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    tools.iter().map(|tool| serde_json::json!({"name": tool.name, "description": line(&tool.description)})).collect()
}
