//! The tool calls of a turn: dispatched, journaled, announced and traced, the same for every tool.
//!
//! Calls are admitted in their order, which is what source ids and keys of the journal depend on, and then carried out
//! side by side. A call that says the work is done comes last, so that it sees what the others did.

use std::cell::LazyCell;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agent::{Agent, Answer};
use crate::{
    context::{Cx, Error, Registered, is_refusal},
    domain::{Event, Failure, Source, SourceId, ToolKind, WarningCode, digest, event::ResultLink},
    journal::{Entry, Fingerprint, StepKind, Stop},
    llm::{Part, ToolCall},
    net::same_page,
    telemetry::{metrics, spans},
    tools::{Admitted, Refusal, Site, TIME_OVER, Tool, ToolError, ToolOutput, ToolSet},
};

/// Why a call is not made again.
const ANSWER_LOST: &str = "this call may have been made before Fathom was restarted, and its answer is lost; \
    make it again only if it does no harm to make it twice";

/// A call that is to be carried out.
struct Job<'c> {
    call: &'c ToolCall,
    /// Its place among the calls of the turn.
    index: usize,
    /// The tool's place in the set.
    tool: usize,
    admitted: Admitted,
    first_source: SourceId,
    /// Ids reserved for earlier calls of the same tool in this turn.
    reserved_before: u32,
}

/// What came of the calls of a turn.
#[derive(Debug)]
pub struct Carried {
    /// One for each call, in their order.
    pub answers: Vec<Answer>,
    /// The first failure that ends the agent's work.
    pub ends: Option<Failure>,
}

/// Answers the calls of a turn. What one brought counts, also when another one ends the agent's work.
///
/// # Errors
/// [`Stop`].
pub async fn carry_out(cx: &Cx, agent: &mut Agent<'_>, turn: &str, calls: &[ToolCall]) -> Result<Carried, Stop> {
    let mut answers: Vec<Option<Answer>> = calls.iter().map(|_| None).collect();
    let must_think = must_think(cx, agent, calls);
    let mut ends = None;
    let completes: Vec<bool> =
        calls.iter().map(|call| agent.tools.kind(&call.name) == Some(ToolKind::Complete)).collect();
    for last in [false, true] {
        let mut jobs = Vec::new();
        for (index, call) in calls.iter().enumerate().filter(|(index, _)| completes[*index] == last) {
            match admit(cx, agent, turn, (index, call), &jobs, must_think).await? {
                Ok(job) => jobs.push(job),
                Err(answer) => answers[index] = Some(answer),
            }
        }
        let (made, failure) = made(cx, agent, turn, jobs).await?;
        for (index, answer) in made {
            answers[index] = Some(answer);
        }
        ends = ends.or(failure);
    }
    Ok(Carried { answers: answers.into_iter().flatten().collect(), ends })
}

/// Returns the prompt that answers the calls which wait, with `require_think`, until the model has reflected in a reply
/// of its own.
fn must_think(cx: &Cx, agent: &Agent<'_>, calls: &[ToolCall]) -> Option<&'static str> {
    let thinking = calls.iter().any(|call| agent.tools.kind(&call.name) == Some(ToolKind::Think));
    match (cx.requires_thought(), thinking, agent.gathered.has_reflected) {
        (true, true, _) => Some("think_alone"),
        (true, false, false) => Some("think_first"),
        _ => None,
    }
}

/// Checks a call and reserves what it needs; the answer of one that is not carried out.
async fn admit<'c>(
    cx: &Cx,
    agent: &mut Agent<'_>,
    turn: &str,
    (index, call): (usize, &'c ToolCall),
    jobs: &[Job<'_>],
    must_think: Option<&str>,
) -> Result<Result<Job<'c>, Answer>, Stop> {
    let Some(tool) = agent.tools.find(&call.name) else {
        return Ok(Err(unknown_tool(cx, turn, index, call, &agent.tools.names()).await?));
    };
    if let Some(prompt) = must_think
        && agent.tools.get(tool).0.kind().is_work()
    {
        return Ok(Err(Answer::to(call, cx.prompts().text(prompt, ()))));
    }
    let admitted = match agent.tools.admit(tool, cx, turn, call) {
        Ok(admitted) => admitted,
        Err(Refusal::Answer(text)) => return Ok(Err(Answer::to(call, text))),
        Err(Refusal::Arguments(problem)) => return Ok(Err(bad_arguments(cx, turn, index, call, &problem).await?)),
    };
    let (tool_called, name) = agent.tools.get(tool);
    let (is_one_step, name) = (tool_called.is_one_step(), name.to_owned());
    if is_one_step && !agent.gathered.made.insert(key_of(tool_called.kind(), turn, &name, &admitted.arguments)) {
        return Ok(Err(Answer::to(call, cx.prompts().text("repeated_call", json!({"name": name})))));
    }
    let Some(first_source) = agent.reserve(admitted.source_ids) else {
        return Ok(Err(Answer::to(call, cx.prompts().text("no_room", ()))));
    };
    if let Some(left_out) = &admitted.left_out {
        let key = format!("{turn}/call/{index}/left_out");
        cx.warn(&key, WarningCode::ModelMisuse, left_out.detail.as_str()).await?;
    }
    let reserved_before = jobs.iter().filter(|job| job.tool == tool).map(|job| job.admitted.source_ids).sum();
    Ok(Ok(Job { call, index, tool, admitted, first_source, reserved_before }))
}

/// Carries out the jobs side by side, and takes in what they brought in the order of the calls; with the first failure
/// that ends the agent's work.
async fn made(
    cx: &Cx,
    agent: &mut Agent<'_>,
    turn: &str,
    jobs: Vec<Job<'_>>,
) -> Result<(Vec<(usize, Answer)>, Option<Failure>), Stop> {
    let has_worked = agent.gathered.has_worked;
    let (tools, question, topic, deadline) = (&agent.tools, agent.question, agent.task, agent.deadline);
    let (evidence, read) = (&agent.gathered.evidence, &agent.gathered.read);
    let work = jobs.iter().map(|job| {
        let site = Site {
            turn,
            index: job.index,
            call_id: &job.call.id,
            first_source: job.first_source,
            reserved_before: job.reserved_before,
            question,
            topic,
            has_worked,
            evidence,
            read,
            deadline,
        };
        Box::pin(one_call(cx, tools, job, site))
    });
    let outputs: Vec<_> = futures::future::join_all(work).await;
    let (mut answers, mut ends) = (Vec::new(), None);
    for (job, output) in jobs.into_iter().zip(outputs) {
        let kind = agent.tools.get(job.tool).0.kind();
        let mut output = match output {
            Ok(output) => output,
            Err(ToolError::Ends(Error::Stop(stop))) => return Err(stop),
            Err(ToolError::Ends(Error::Failed(failure))) => {
                let answer = ToolOutput::failed(cx, &job.call.name, failure.message.clone());
                answers.push((job.index, Answer::to(job.call, answer.text)));
                ends.get_or_insert(failure);
                continue;
            }
            Err(ToolError::Model(problem)) => ToolOutput::failed(cx, &job.call.name, problem),
            Err(ToolError::Limit(refusal)) => ToolOutput::failed(cx, &job.call.name, refusal.message),
        };
        let gathered = &mut agent.gathered;
        if output.has_failed() {
            // The model may try it once more.
            gathered.made.remove(&key_of(kind, turn, &job.call.name, &job.admitted.arguments));
        }
        gathered.record(kind, &output);
        gathered.add(kind, output.evidence, &output.texts, output.links.into_iter().map(|link| link.url));
        let note = job.admitted.left_out.map(|left_out| Part::Fixed(format!("\n\n{}", left_out.note).into()));
        output.text.0.extend(note);
        answers.push((job.index, Answer { in_full: output.in_full, ..Answer::to(job.call, output.text) }));
    }
    Ok((answers, ends))
}

/// Returns by what a call is known that was made before. A tool of an MCP server may answer the same call differently
/// in a later turn: how far a job is, say.
fn key_of(kind: ToolKind, turn: &str, name: &str, arguments: &Value) -> String {
    match kind {
        ToolKind::Mcp => format!("{turn} {name} {arguments}"),
        _ => format!("{name} {arguments}"),
    }
}

/// Makes one call, with its span, and with its events where the tool has none of its own.
async fn one_call(cx: &Cx, tools: &ToolSet, job: &Job<'_>, site: Site<'_>) -> Result<ToolOutput, ToolError> {
    let (tool, name) = tools.get(job.tool);
    let (kind, tool_call_id) = (tool.kind(), job.call.id.clone());
    let key = |what: &str| format!("{}/call/{}/{what}", site.turn, site.index);
    if kind.is_announced() {
        let (name, server) = (name.to_owned(), tool.server().map(ToOwned::to_owned));
        let args = job.admitted.arguments.clone();
        let started = Event::ToolStarted { tool_call_id: tool_call_id.clone(), name, kind, server, args };
        cx.mark(&key("started"), started).await?;
    }
    let span = spans::ToolCall::begin(name, &job.call.id, &job.call.arguments);
    let result = span.over(perform(cx, tool, name, site, &job.admitted)).await;
    remember(cx, tool, &job.admitted.arguments, &result);
    let error = error_of(kind, &result);
    span.end(error, || result.as_ref().map(|output| output.text.joined()).unwrap_or_default());
    let problem = match &result {
        Ok(output) if output.has_failed() => Some(output.failed.join("; ")),
        Ok(_) => None,
        Err(ToolError::Ends(Error::Stop(_))) => return result,
        Err(error) => Some(error.to_string()),
    };
    if kind.is_announced() {
        let name = name.to_owned();
        let ended = match (problem, &result) {
            (Some(problem), _) => Event::ToolFailed { tool_call_id, name, kind, problem },
            (None, Ok(output)) => Event::ToolFinished { tool_call_id, name, kind, results: output.links.clone() },
            (None, Err(_)) => return result,
        };
        cx.mark(&key("finished"), ended).await?;
    }
    result
}

/// Keeps what the check of the report needs to know of a page that was read, or could not be.
fn remember(cx: &Cx, tool: &dyn Tool, arguments: &Value, result: &Result<ToolOutput, ToolError>) {
    let opened = tool.opened_address(cx, arguments);
    match result {
        Ok(output) if tool.kind() != ToolKind::Search => {
            for (link, evidence) in output.links.iter().zip(&output.evidence) {
                let hash = digest::sha256_hex(evidence.text.as_bytes());
                cx.keep_other_text(&link.url, hash, evidence.text.as_str().into());
            }
            // What an address led to, and the address itself.
            let read = output.links.iter().map(|link| &link.url).chain(&opened);
            cx.limit(|limits| read.for_each(|address| limits.page_read(same_page(address))));
        }
        Err(ToolError::Model(problem)) => {
            let Some(address) = opened else { return };
            cx.limit(|limits| match problem {
                problem if problem == TIME_OVER => limits.time_over(),
                problem if is_refusal(problem) => limits.pages_left_out = true,
                _ => limits.page_unread(same_page(&address), &address),
            });
        }
        _ => {}
    }
}

/// Returns how a call failed, in one word; `None` when it did not.
fn error_of(kind: ToolKind, result: &Result<ToolOutput, ToolError>) -> Option<&'static str> {
    match result {
        Err(ToolError::Ends(error)) => Some(error.code()),
        Ok(output) if !output.has_failed() => None,
        Ok(_) | Err(_) if kind == ToolKind::Search => Some("search_failed"),
        Ok(_) | Err(_) => Some("tool_failed"),
    }
}

/// A call that failed, as the journal keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Failed {
    message: String,
    /// Of a failure that ends the agent's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<Failure>,
}

/// Carries out a call; one that is a single outside effect is a step of the journal.
async fn perform(
    cx: &Cx,
    tool: &dyn Tool,
    name: &str,
    site: Site<'_>,
    admitted: &Admitted,
) -> Result<ToolOutput, ToolError> {
    let arguments = admitted.arguments.clone();
    if !tool.is_one_step() {
        return tool.call(cx, site, arguments).await;
    }
    let key = format!("{}/call/{}", site.turn, site.index);
    let asked = Fingerprint::from(digest::sha256_json(&(name, &arguments)));
    let work = async {
        if let Some(taken_over) = taken_over(cx, site, admitted.source_ids, &key, &asked) {
            return Ok(taken_over);
        }
        if tool.kind() == ToolKind::Mcp && !is_first(cx, &format!("{key}/begun")).await? {
            return Ok(Entry::new(Err(Failed { message: ANSWER_LOST.to_owned(), ends: None })));
        }
        let outcome = cx.before(Some(site.deadline), tool.call(cx, site, arguments)).await;
        let failed = match outcome.unwrap_or_else(|| Err(ToolError::Model(TIME_OVER.to_owned()))) {
            Ok(output) => return Ok(with_sources(cx, output)),
            Err(ToolError::Ends(Error::Stop(stop))) => return Err(stop),
            Err(ToolError::Ends(Error::Failed(failure))) => {
                Failed { message: failure.message.clone(), ends: Some(failure) }
            }
            Err(ToolError::Limit(refusal)) => {
                let failed = Failed { message: refusal.message.clone(), ends: None };
                return Ok(cx.refused(&refusal, Err(failed)));
            }
            Err(ToolError::Model(message)) => Failed { message, ends: None },
        };
        metrics::step_failed("tool", failed.ends.as_ref().map_or("failed", |failure| failure.code.as_str()));
        Ok(Entry::new(Err(failed)))
    };
    let outcome: Result<ToolOutput, Failed> = cx.journal().step(&key, StepKind::Tool, asked.clone(), work).await?;
    outcome.map_err(|failed| match failed.ends {
        Some(failure) => ToolError::Ends(failure.into()),
        None => ToolError::Model(failed.message),
    })
}

/// Returns whether no process has begun the call before, and notes that one has. The note is stored before the call is
/// made: tools of MCP servers may change what is outside.
async fn is_first(cx: &Cx, begun: &str) -> Result<bool, Stop> {
    let is_first = !cx.journal().has(begun);
    cx.journal().step(begun, StepKind::Mark, String::new(), async { Ok(Entry::new(())) }).await?;
    Ok(is_first)
}

/// Returns the step of a call as a run made it that this one retries, with its sources; `None` when the call is to be
/// made again, since it failed or one of its sources cannot be taken over.
fn taken_over(
    cx: &Cx,
    site: Site<'_>,
    reserved: u32,
    key: &str,
    asked: &Fingerprint,
) -> Option<Entry<Result<ToolOutput, Failed>>> {
    let ids = site.first_source.0..site.first_source.0.saturating_add(reserved);
    let known = LazyCell::new(|| cx.sources());
    // The answer to the model names the source by this id, so it must not be another one's.
    let is_free = |id: SourceId, url: &str| {
        ids.contains(&id.0) || known.iter().any(|source| source.url == url && source.ids().any(|known| known == id))
    };
    let source = |link: &ResultLink| {
        let found = cx.inherited_source(&link.url, link.source_id)?;
        let (id, title) = (link.source_id, link.title.clone());
        is_free(id, &link.url).then(|| Source { id, aliases: Vec::new(), title, ..found.clone() })
    };
    std::iter::from_fn(|| cx.journal().inherited::<Result<ToolOutput, Failed>>(key, asked)).find_map(|inherited| {
        let output = inherited.value.ok().filter(|output| output.failed.is_empty())?;
        let sources = output.links.iter().map(source).collect::<Option<Vec<_>>>()?;
        let entry = with_sources(cx, ToolOutput { sources, ..output });
        Some(Entry { call: inherited.call, inherited: Some(inherited.at), ..entry })
    })
}

/// Returns the step of a call, with the sources it found.
fn with_sources(cx: &Cx, mut output: ToolOutput) -> Entry<Result<ToolOutput, Failed>> {
    let sources = std::mem::take(&mut output.sources);
    let mut entry = Entry::new(Ok(output));
    for mut source in sources {
        if cx.register(&mut source) == Registered::New {
            entry = entry.event(cx.scope(), Event::source_found(&source, &source.snapshot, ""));
        }
        entry.sources.push(source);
    }
    entry
}

/// Answers a call whose arguments cannot be used, so that the model can correct itself.
async fn bad_arguments(cx: &Cx, turn: &str, index: usize, call: &ToolCall, error: &str) -> Result<Answer, Stop> {
    let detail = format!("{} was called with arguments that cannot be used: {error}", call.name);
    cx.warn(&format!("{turn}/call/{index}/refused"), WarningCode::ModelMisuse, detail).await?;
    let values = json!({"name": call.name, "error": error.trim_end_matches('.')});
    Ok(Answer::to(call, cx.prompts().text("bad_arguments", values)))
}

/// Answers a call to a tool that is not there, with the names of those that are.
async fn unknown_tool(cx: &Cx, turn: &str, index: usize, call: &ToolCall, names: &[&str]) -> Result<Answer, Stop> {
    let detail = format!("the model called '{}', which is not a tool", call.name);
    cx.warn(&format!("{turn}/call/{index}/refused"), WarningCode::ModelMisuse, detail).await?;
    Ok(Answer::to(call, cx.prompts().text("unknown_tool", json!({"name": call.name, "tools": names}))))
}
