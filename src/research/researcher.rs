//! One topic, start to notes: retrieve, reflect, retrieve again, then have the findings compressed.

use std::time::Duration;

use serde_json::json;

use super::{
    agent::{Agent, Gathered, Words},
    compress, statements,
    turns::{self, End},
};
use crate::{
    context::{Cx, Error, Standing},
    domain::{Event, Failure, FailureCode, Note, Scope, ToolKind, WarningCode, event::beginning},
    llm::Message,
    offline::Task,
    tools::{TIME_OVER, Toolbox, delegate::Assignment},
};

/// Researches a topic as the run's researcher of that number; `question` is what the whole run wants to know.
///
/// # Errors
/// [`Error::Failed`]: this topic has no notes, the others are not touched.
pub async fn research(cx: &Cx, job: &Assignment, question: &str, toolbox: &Toolbox) -> Result<Note, Error> {
    let cx = &cx.speaking_as(Scope::researcher(job.number));
    let started = Event::ResearcherStarted { topic: job.topic.clone(), tool_call_id: job.call_id.clone() };
    let standing = cx.begin_researcher(&format!("{}/started", job.path), started).await?;
    let noted = match standing.is_soft_limit() {
        true => {
            cx.end_research(&standing);
            Err(standing.failure().into())
        }
        false => notes(cx, job, question, toolbox, standing).await,
    };
    match noted {
        Ok((note, sources, turns)) => {
            let notes_chars = note.text.chars().count();
            let text = Some(beginning(&note.text));
            let finished = Event::ResearcherFinished { notes_chars, sources, turns, note: text };
            cx.mark(&format!("{}/finished", job.path), finished).await?;
            Ok(note)
        }
        Err(Error::Failed(problem)) => {
            cx.mark(&format!("{}/failed", job.path), Event::ResearcherFailed { problem: problem.clone() }).await?;
            Err(problem.into())
        }
        Err(stop) => Err(stop),
    }
}

/// Returns the note, with the number of its sources and of the turns it took.
async fn notes(
    cx: &Cx,
    job: &Assignment,
    question: &str,
    toolbox: &Toolbox,
    standing: Standing,
) -> Result<(Note, usize, u32), Error> {
    let Assignment { path, topic, number, .. } = job;
    let mut researcher = Agent { standing, ..researcher(cx, job, question, toolbox).await? };
    let mut messages = vec![Message::user(topic.as_str())];
    search(cx, path, &mut researcher, &mut messages).await?;
    // Tools of MCP servers alone cannot be called for a topic without a model.
    if !researcher.gathered.has_worked && researcher.tools.for_task(topic).is_some() {
        let detail = "the model searched for nothing; the topic itself is searched";
        cx.warn(&format!("{path}/unsearched"), WarningCode::ModelMisuse, detail).await?;
        turns::do_task(cx, &mut researcher, path, "topic", &mut messages).await?;
    }
    if researcher.gathered.evidence.is_empty() {
        let obstacle = researcher.gathered.obstacle().or_else(|| without_tools(&researcher));
        return Err(nothing_found(topic, obstacle).into());
    }
    let messages = researcher.gathered.in_full(messages);
    let Gathered { evidence, turns, .. } = researcher.gathered;
    let sources = evidence.len();
    let deadline = compress::deadline(cx, researcher.deadline);
    let text = compress::compress(cx, path, topic, messages, evidence, deadline).await?;
    let about = format!("{question}\n{topic}");
    let mut note = Note { researcher: *number, topic: topic.clone(), text, statements: Vec::new() };
    note.statements = statements::of_note(cx, &note, about).await?;
    cx.keep_note(&format!("{path}/note"), note.clone()).await?;
    Ok((note, sources, turns))
}

/// Says that nothing could be retrieved at all, as where MCP servers are all that a run has, and none can be used.
fn without_tools(researcher: &Agent<'_>) -> Option<String> {
    let is_work = |name: &str| researcher.tools.kind(name).is_some_and(ToolKind::is_work);
    let has_any = researcher.tools.names().into_iter().any(is_work);
    (!has_any).then(|| "nothing can be searched: no MCP server of this run can be used".to_owned())
}

/// Lets the agent work; a failure is its end only if it has gathered nothing.
async fn search(cx: &Cx, path: &str, researcher: &mut Agent<'_>, messages: &mut Vec<Message>) -> Result<(), Error> {
    match turns::run(cx, researcher, messages).await {
        Ok(End::Finished | End::Idle) => Ok(()),
        Ok(End::Limit) => {
            let detail = format!("a researcher used all its {} turns", researcher.max_turns);
            Ok(cx.warn(&format!("{path}/limit"), WarningCode::IterationLimit, detail).await?)
        }
        Err(Error::Failed(failure)) if !researcher.gathered.evidence.is_empty() => {
            let detail = format!("a researcher stopped early, its findings so far are used: {failure}");
            Ok(cx.warn(&format!("{path}/cut"), WarningCode::ResearcherFailed, detail).await?)
        }
        // What failed before says more than that there was no time left for another turn.
        Err(Error::Failed(late)) if late.code == FailureCode::Timeout && researcher.gathered.obstacle().is_some() => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn researcher<'a>(
    cx: &Cx,
    job: &'a Assignment,
    question: &'a str,
    toolbox: &Toolbox,
) -> Result<Agent<'a>, Error> {
    let tools = toolbox.of_researcher(cx);
    let max_turns = cx.options().max_react_tool_calls;
    let values = json!({
        "date": cx.date().await?,
        "tools": tools.listed(),
        "max_react_tool_calls": max_turns,
        "mcp_prompt": cx.options().mcp_prompt,
        "searches": cx.options().effort.searches(),
        "sources": cx.options().effort.sources(),
    });
    Ok(Agent {
        number: job.number,
        turns_path: format!("{}/turn", job.path),
        max_turns,
        system: cx.prompts().text("researcher", values),
        task: &job.topic,
        question,
        tools,
        deadline: cx.deadline(Duration::from_secs(u64::from(cx.options().max_researcher_seconds))),
        words: Words { nudge: "nudge_researcher", left: "turns_left" },
        about: |topic, turn, retrieved| Task::Research { topic: topic.to_owned(), turn, retrieved },
        turn_event: None,
        standing: Standing::default(),
        asked: None,
        // It has nothing to reflect on yet.
        gathered: Gathered { has_reflected: true, ..Gathered::default() },
    })
}

fn nothing_found(topic: &str, obstacle: Option<String>) -> Failure {
    match obstacle {
        Some(obstacle) if obstacle.ends_with(TIME_OVER) => Failure::new(FailureCode::Timeout, obstacle),
        Some(obstacle) => Failure::new(FailureCode::SearchUnavailable, obstacle),
        None => Failure::new(FailureCode::NoEvidence, format!("nothing was found about: {topic}")),
    }
}
