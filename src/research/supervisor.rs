//! The lead: splits the brief into topics, has them researched side by side, decides when it is enough.

use std::collections::HashSet;

use futures::{FutureExt as _, StreamExt, stream};
use serde_json::json;
use tracing::Instrument as _;

use super::{
    Findings,
    agent::{self, Agent, Answer, End},
    researcher,
};
use crate::{
    context::{Call, Cx, Deadline, Error, Role},
    domain::{Event, Failure, FailureCode, Note, Scope, WarningCode},
    llm::{Message, Part, Text, ToolCall, ToolSpec},
    offline::Task,
    prompts::untrusted,
    telemetry::spans,
    tools::{self, COMPLETE, DELEGATE, THINK},
};

/// Topics accepted in one reply; more are answered with the limit.
const DELEGATIONS_PER_ROUND: usize = 64;

/// Leads the research of `brief`; its researchers are numbered on from `taken`, the highest number in use before.
///
/// # Errors
/// [`FailureCode::NoEvidence`], or why every researcher failed, when there is nothing to report; [`Error::Stop`].
pub async fn lead(cx: &Cx, brief: &str, taken: u32) -> Result<Findings, Error> {
    let cx = &cx.speaking_as(Scope::SUPERVISOR);
    let mut supervisor = Supervisor::new(cx, brief, taken).await?;
    let mut messages = vec![Message::user(brief)];
    let max = cx.options().max_researcher_iterations;
    match agent::run(cx, &mut supervisor, max, &mut messages).await {
        Ok(End::Finished) => {}
        Ok(End::Limit) => {
            let detail = format!("the supervisor used all its {max} rounds");
            cx.warn("lead/limit", WarningCode::IterationLimit, detail).await?;
        }
        Ok(End::Idle) => {}
        Err(Error::Failed(failure)) if supervisor.findings.notes.is_empty() => return Err(failure.into()),
        Err(Error::Failed(failure)) => {
            let detail = format!("the supervisor failed, the report is made of what was found until then: {failure}");
            cx.warn("lead/failed", WarningCode::ResearcherFailed, detail).await?;
            let reason = match failure.code {
                FailureCode::Timeout => "a lack of time",
                FailureCode::SpendingLimit => "the limits on what it may spend",
                _ => "a technical failure",
            };
            supervisor.findings.limits.push(format!("The research was cut short by {reason}."));
        }
        Err(stop) => return Err(stop),
    }
    if !supervisor.may_finish() {
        supervisor.delegate_brief(cx).await?;
    }
    supervisor.into_findings()
}

struct Supervisor<'a> {
    brief: &'a str,
    system: String,
    tools: Vec<ToolSpec>,
    findings: Findings,
    /// Researchers of earlier runs whose findings this run took over have the numbers up to this one.
    taken: u32,
    /// The number of the newest researcher.
    researchers: u32,
    /// Topics being researched or found out about; one that failed may be delegated again.
    topics: HashSet<String>,
    last_failure: Option<Failure>,
    reflected: bool,
    research_ends: Deadline,
}

/// A topic to be researched.
struct Job<'a> {
    number: u32,
    path: String,
    topic: String,
    call: &'a ToolCall,
}

async fn one_job<'a>(cx: &Cx, job: Job<'a>, brief: &str) -> (Job<'a>, Result<Note, Error>) {
    let tool = spans::ToolCall::begin(DELEGATE, &job.call.id, &job.call.arguments);
    let span = tool.over(async { spans::researcher(job.number, &job.topic) }).await;
    // Boxed: the types of nested futures get too deep for the compiler otherwise.
    let research = researcher::research(cx, job.number, &job.path, &job.topic, &job.call.id, brief).boxed();
    let outcome = tool.over(research.instrument(span.clone())).await;
    let error = outcome.as_ref().err().map(Error::code);
    spans::fail(&span, error);
    tool.end(error, || outcome.as_ref().map(|note| note.text.clone()).unwrap_or_default());
    (job, outcome)
}

impl<'a> Supervisor<'a> {
    async fn new(cx: &Cx, brief: &'a str, taken: u32) -> Result<Self, Error> {
        let tools = tools::supervisor(cx.prompts());
        let values = json!({
            "date": cx.date().await?,
            "max_concurrent_research_units": cx.options().max_concurrent_research_units,
            "max_researcher_iterations": cx.options().max_researcher_iterations,
            "tools": agent::listed(&tools),
        });
        let system = cx.prompts().text("supervisor", values);
        Ok(Self {
            brief,
            system,
            tools,
            findings: Findings::default(),
            taken,
            researchers: taken,
            topics: HashSet::new(),
            last_failure: None,
            reflected: false,
            research_ends: cx.research_ends(),
        })
    }

    /// The brief itself becomes the one topic of a model that would not delegate.
    async fn delegate_brief(&mut self, cx: &Cx) -> Result<(), Error> {
        cx.warn(
            "lead/undelegated",
            WarningCode::ModelMisuse,
            "the model delegated nothing; the brief is researched as one topic",
        )
        .await?;
        let call =
            ToolCall { id: "brief".to_owned(), name: DELEGATE.to_owned(), arguments: "{}".to_owned(), problem: None };
        let job = self.job("lead/brief", self.brief.to_owned(), &call);
        self.research(cx, vec![job]).await?;
        Ok(())
    }

    fn job<'c>(&mut self, path: &str, topic: String, call: &'c ToolCall) -> Job<'c> {
        self.researchers += 1;
        Job { number: self.researchers, path: format!("{path}/r{}", self.researchers), topic, call }
    }

    /// Sorts the delegations of a round into jobs and calls answered at once.
    async fn jobs<'c>(
        &mut self,
        cx: &Cx,
        path: &str,
        calls: &[(usize, &'c ToolCall)],
    ) -> Result<(Vec<Job<'c>>, Vec<Answer>), Error> {
        let (mut jobs, mut refused) = (Vec::new(), Vec::new());
        for (index, call) in calls.iter().copied() {
            let delegate = tools::arguments::<tools::Delegate>(call);
            let topic = delegate.map(|delegate| delegate.research_topic.trim().to_owned());
            match topic {
                Err(error) => refused.push(agent::bad_arguments(cx, path, index, call, &error).await?),
                Ok(topic) if topic.is_empty() => {
                    refused.push(agent::bad_arguments(cx, path, index, call, "research_topic is empty").await?);
                }
                Ok(topic) if !self.topics.insert(topic.clone()) => {
                    refused.push(Answer::to(call, cx.prompts().text("repeated_call", json!({"name": DELEGATE}))));
                }
                Ok(_) if jobs.len() >= DELEGATIONS_PER_ROUND => {
                    let values = json!({"limit": DELEGATIONS_PER_ROUND});
                    refused.push(Answer::to(call, cx.prompts().text("too_many_delegations", values)));
                }
                Ok(topic) => jobs.push(self.job(path, topic, call)),
            }
        }
        Ok((jobs, refused))
    }

    /// Researches all jobs, as many at a time as allowed, and answers each in the order of the calls.
    async fn research(&mut self, cx: &Cx, jobs: Vec<Job<'_>>) -> Result<Vec<Answer>, Error> {
        let width = cx.options().max_concurrent_research_units as usize;
        let work: Vec<_> = jobs.into_iter().map(|job| one_job(cx, job, self.brief)).collect();
        let mut outcomes: Vec<_> = stream::iter(work).buffer_unordered(width).collect().await;
        outcomes.sort_by_key(|(job, _)| job.number);
        let mut answers = Vec::new();
        for (job, outcome) in outcomes {
            answers.push(match outcome {
                Ok(note) => self.succeeded(&job, note),
                Err(Error::Failed(failure)) => self.failed(cx, &job, failure),
                Err(stop) => return Err(stop),
            });
        }
        // Another round would find the key refused too.
        if let Some(failure) = self.last_failure.take_if(|failure| failure.code == FailureCode::SearchAuth) {
            return Err(failure.into());
        }
        Ok(answers)
    }

    fn succeeded(&mut self, job: &Job<'_>, note: Note) -> Answer {
        let answer = Answer::to(job.call, Text(vec![Part::Flexible(untrusted(&note.text).into())]));
        // It may have failed before, and been delegated again.
        let missing = missing(&job.topic);
        self.findings.limits.retain(|limit| *limit != missing);
        self.findings.notes.push(note);
        answer
    }

    fn failed(&mut self, cx: &Cx, job: &Job<'_>, failure: Failure) -> Answer {
        let values = json!({"topic": job.topic, "reason": failure.message.trim_end_matches('.')});
        let answer = Answer::to(job.call, cx.prompts().text("research_failed", values));
        let missing = missing(&job.topic);
        if !self.findings.limits.contains(&missing) {
            self.findings.limits.push(missing);
        }
        self.topics.remove(&job.topic);
        self.last_failure = Some(failure);
        answer
    }

    fn into_findings(self) -> Result<Findings, Error> {
        if !self.findings.notes.is_empty() {
            return Ok(self.findings);
        }
        let failure = self.last_failure.unwrap_or_else(|| {
            Failure::new(FailureCode::NoEvidence, "nothing was researched, so there is nothing to report")
        });
        Err(failure.into())
    }

    /// With `require_think`, delegations wait until the model has reflected in a reply of its own.
    fn must_think(&self, cx: &Cx, thinking: bool) -> bool {
        cx.requires_thought() && (thinking || !self.reflected)
    }
}

fn missing(topic: &str) -> String {
    format!("Nothing could be found out about this topic: {topic}")
}

impl Agent for Supervisor<'_> {
    fn path(&self, turn: u32) -> String {
        format!("lead/{turn}")
    }

    fn request(&self, cx: &Cx, turn: u32, mut messages: Vec<Message>) -> Call {
        messages.insert(0, Message::system(self.system.as_str()));
        let task = Task::Supervise { brief: self.brief.to_owned(), round: turn };
        cx.request(Role::Research, messages, task).with_tools(&self.tools)
    }

    async fn answer(&mut self, cx: &Cx, turn: u32, calls: &[ToolCall]) -> Result<Vec<Answer>, Error> {
        let path = self.path(turn);
        let max = cx.options().max_researcher_iterations;
        cx.mark(&format!("{path}/started"), Event::SupervisorIteration { n: turn, max }).await?;
        let named = |name: &'static str| calls.iter().enumerate().filter(move |(_, call)| call.name == name);
        let mut answers = Vec::new();
        for (index, call) in named(THINK) {
            answers.push(agent::think(cx, &path, index, call).await?);
        }
        let thinking = !answers.is_empty();
        let delegations: Vec<_> = named(DELEGATE).collect();
        if self.must_think(cx, thinking) {
            let text = cx.prompts().text("think_alone", ());
            answers.extend(delegations.iter().map(|(_, call)| Answer::to(call, text.as_str())));
        } else {
            let (jobs, refused) = self.jobs(cx, &path, &delegations).await?;
            self.announce_queue(cx, &path, jobs.len()).await?;
            answers.extend(self.research(cx, jobs).await?);
            answers.extend(refused);
        }
        self.reflected = thinking;
        for (index, call) in calls.iter().enumerate() {
            match call.name.as_str() {
                THINK | DELEGATE => {}
                COMPLETE if self.may_finish() => answers.push(Answer::to(call, "")),
                COMPLETE => answers.push(Answer::to(call, cx.prompts().text(self.nudge(), ()))),
                _ => answers.push(agent::unknown_tool(cx, &path, index, call, &[DELEGATE, COMPLETE, THINK]).await?),
            }
        }
        Ok(answers)
    }

    fn may_finish(&self) -> bool {
        self.researchers > self.taken
    }

    fn nudge(&self) -> &'static str {
        "nudge_supervisor"
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(self.research_ends)
    }

    fn left(&self) -> &'static str {
        "rounds_left"
    }
}

impl Supervisor<'_> {
    async fn announce_queue(&self, cx: &Cx, path: &str, jobs: usize) -> Result<(), Error> {
        let places = cx.options().max_concurrent_research_units as usize;
        if jobs > places {
            let detail =
                format!("{jobs} topics were delegated at once; {places} are researched at a time, the others wait");
            cx.warn(&format!("{path}/queued"), WarningCode::DelegationsQueued, detail).await?;
        }
        Ok(())
    }
}
