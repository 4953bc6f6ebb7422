//! The lead: splits the brief into topics, has them researched side by side, decides when it is enough.

use std::sync::Arc;

use futures::FutureExt as _;
use serde_json::json;
use tracing::Instrument as _;

use super::{
    Findings,
    agent::{Agent, Gathered, Words},
    brief::Brief,
    questions::{self, Judgements, SubQuestions},
    researcher, statements,
    turns::{self, End},
};
use crate::{
    context::{Cx, Error, Standing},
    domain::{
        Event, Failure, FailureCode, Note, Scope, WarningCode,
        limits::{EndedBy, Limits},
    },
    llm::Message,
    offline::Task,
    prompts::untrusted,
    telemetry::spans,
    tools::{
        self, ToolSet, Toolbox,
        complete::Complete,
        delegate::{Delegate, Delegations, Researched, Researching},
    },
};

/// Leads the research of `brief`; its researchers are numbered on from `taken`, the highest number in use before.
///
/// # Errors
/// [`FailureCode::NoEvidence`], or why every researcher failed, when there is nothing to report; [`Error::Stop`].
pub async fn lead(cx: &Cx, brief: &Brief, taken: u32, toolbox: &Toolbox) -> Result<Findings, Error> {
    let cx = &cx.speaking_as(Scope::SUPERVISOR);
    let delegations = Arc::new(Delegations::default());
    let judgements = Judgements::default();
    let delegate = Delegate::new(cx, taken, researching(&brief.text, toolbox), Arc::clone(&delegations));
    let tools = tools::of_supervisor(cx, delegate, Complete::of_supervisor(cx.prompts(), Arc::clone(&judgements)));
    let asked = SubQuestions::of(cx, &brief.questions, &delegations);
    let mut supervisor = Agent { asked, ..supervisor(cx, brief, tools).await? };
    let mut messages = vec![Message::user(brief.text.as_str())];
    let ended = turns::run(cx, &mut supervisor, &mut messages).await;
    let mut cut_short = None;
    match ended {
        Ok(End::Finished | End::Idle) => {}
        Ok(End::Limit) => {
            let detail = format!("the supervisor used all its {} rounds", supervisor.max_turns);
            cx.warn("lead/limit", WarningCode::IterationLimit, detail).await?;
            cx.limit(|limits| _ = limits.ended_by.get_or_insert(EndedBy::Rounds));
        }
        Err(Error::Failed(failure)) => cut_short = Some(failure),
        Err(stop) => return Err(stop),
    }
    if cut_short.is_none() && !supervisor.gathered.has_worked {
        let detail = "the model delegated nothing; the brief is researched as one topic";
        cx.warn("lead/undelegated", WarningCode::ModelMisuse, detail).await?;
        turns::do_task(cx, &mut supervisor, "lead", "brief", &mut messages).await?;
    }
    let mut findings = findings(cx, delegations.take(), cut_short).await?;
    findings.questions = questions::judged(cx, &brief.questions, &judgements, &findings.notes).await?;
    Ok(findings)
}

async fn supervisor<'a>(cx: &Cx, brief: &'a Brief, tools: ToolSet) -> Result<Agent<'a>, Error> {
    let max_turns = cx.options().max_researcher_iterations;
    let values = json!({
        "date": cx.date().await?,
        "max_concurrent_research_units": cx.options().max_concurrent_research_units,
        "max_researcher_iterations": max_turns,
        "require_think": cx.requires_thought(),
        "tools": tools.listed(),
        "effort": cx.options().effort.as_str(),
        "questions": brief.questions.iter().map(|question| untrusted(question)).collect::<Vec<_>>(),
    });
    Ok(Agent {
        number: 0,
        turns_path: "lead".to_owned(),
        max_turns,
        system: cx.prompts().text("supervisor", values),
        task: &brief.text,
        question: &brief.text,
        tools,
        deadline: cx.research_ends(),
        words: Words { nudge: "nudge_supervisor", left: "rounds_left" },
        about: |brief, round, _| Task::Supervise { brief: brief.to_owned(), round },
        turn_event: Some(|n, max| Event::SupervisorIteration { n, max }),
        standing: Standing::default(),
        asked: None,
        gathered: Gathered::default(),
    })
}

/// Has a topic researched for the brief, within a span of its own.
fn researching(brief: &str, toolbox: &Toolbox) -> Researching {
    let (brief, toolbox): (Arc<str>, _) = (brief.into(), toolbox.clone());
    Arc::new(move |cx, job| {
        let (brief, toolbox) = (Arc::clone(&brief), toolbox.clone());
        let span = spans::researcher(job.number, &job.topic);
        async move {
            let outcome = researcher::research(&cx, &job, &brief, &toolbox).instrument(span.clone()).await;
            spans::fail(&span, outcome.as_ref().err().map(Error::code));
            outcome.map(|note| Researched { shown: statements::shown(cx.prompts(), &note), note })
        }
        .boxed()
    })
}

/// Returns the notes, and what is missing. Research that was cut short counts for what it found until then.
///
/// # Errors
/// There are no notes.
async fn findings(
    cx: &Cx,
    delegated: Vec<(String, Result<Note, Failure>)>,
    cut_short: Option<Failure>,
) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let mut missing: Vec<(String, Failure)> = Vec::new();
    for (topic, outcome) in delegated {
        // It may have failed before, and been delegated again.
        missing.retain(|(known, _)| *known != topic);
        match outcome {
            Ok(note) => findings.notes.push(note),
            Err(failure) => missing.push((topic, failure)),
        }
    }
    findings.limits = missing.iter().map(|(topic, failure)| without(topic, failure.code)).collect();
    cx.limit(|limits| add_missing(limits, &missing));
    let last_failure = missing.pop().map(|(_, failure)| failure);
    if findings.notes.is_empty() {
        let nothing = || Failure::new(FailureCode::NoEvidence, "nothing was researched, so there is nothing to report");
        return Err(cut_short.or(last_failure).unwrap_or_else(nothing).into());
    }
    if let Some(failure) = cut_short {
        if failure.code == FailureCode::Timeout {
            cx.note_time_over("lead/late").await?;
        }
        let detail = format!("the supervisor failed, the report is made of what was found until then: {failure}");
        cx.warn("lead/failed", WarningCode::ResearcherFailed, detail).await?;
        let ended_by = EndedBy::of(failure.code);
        cx.limit(|limits| limits.ended_by = Some(ended_by));
        let reason = reason(ended_by);
        findings.limits.push(format!("The research was cut short by {reason}."));
    }
    Ok(findings)
}

/// Returns what the writer is to know of a topic without notes.
fn without(topic: &str, code: FailureCode) -> String {
    match code {
        FailureCode::NoEvidence => format!("Nothing could be found out about this topic: {topic}"),
        code => format!("This topic could not be researched, for {}: {topic}", reason(EndedBy::of(code))),
    }
}

/// Tells topics about which nothing was found from those whose research failed.
fn add_missing(limits: &mut Limits, missing: &[(String, Failure)]) {
    for (topic, failure) in missing {
        match failure.code {
            FailureCode::NoEvidence => limits.empty_topics.push(topic.clone()),
            code => limits.unresearched.push((topic.clone(), EndedBy::of(code))),
        }
    }
}

fn reason(ended_by: EndedBy) -> &'static str {
    match ended_by {
        EndedBy::Time => "a lack of time",
        EndedBy::Budget => "the limits on what it may spend",
        EndedBy::Failure | EndedBy::Rounds => "a technical failure",
    }
}
