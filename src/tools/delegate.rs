//! `ConductResearch`: the supervisor has a topic researched.
//!
//! How a topic is researched is not known here: the tool is made with a [`Researching`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Admitted, Refusal, Site, Tool, ToolError, ToolFuture, ToolOutput, admitted, arguments, property, spec};
use crate::{
    context::{Cx, Error},
    domain::{Failure, FailureCode, Note, ToolKind, WarningCode},
    llm::{Part, Text, ToolCall, ToolSpec},
    prompts::untrusted,
};

const NAME: &str = "ConductResearch";

/// Topics accepted in one reply; more are answered with the limit.
const PER_TURN: usize = 64;

/// A topic to be researched.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Of the researcher, within the run.
    pub number: u32,
    /// The journal path of all that the researcher does.
    pub path: String,
    pub topic: String,
    /// The id of the supervisor's call.
    pub call_id: String,
}

/// Researches a topic.
pub type Researching = Arc<dyn Fn(Cx, Assignment) -> BoxFuture<'static, Result<Researched, Error>> + Send + Sync>;

/// What came of the research of a topic.
#[derive(Debug)]
pub struct Researched {
    pub note: Note,
    /// What the supervisor sees of it.
    pub shown: String,
}

/// What came of the delegations; shared by the tool and the supervisor, which reads it at the end.
#[derive(Debug, Default)]
pub struct Delegations {
    /// By the researcher's number. Locked for map access only.
    outcomes: Mutex<BTreeMap<u32, Outcome>>,
}

/// A topic and what came of it.
type Outcome = (String, Result<Note, Failure>);

impl Delegations {
    fn insert(&self, number: u32, topic: String, outcome: Result<Note, Failure>) {
        let mut outcomes = self.outcomes.lock();
        outcomes.insert(number, (topic, outcome));
    }

    /// Returns each topic with its note or failure, in the order of the calls; taken out.
    pub fn take(&self) -> Vec<(String, Result<Note, Failure>)> {
        let mut outcomes = self.outcomes.lock();
        std::mem::take(&mut *outcomes).into_values().collect()
    }

    /// Returns the notes so far, in the order of the calls.
    pub fn notes(&self) -> Vec<Note> {
        let outcomes = self.outcomes.lock();
        outcomes.values().filter_map(|(_, outcome)| outcome.as_ref().ok().cloned()).collect()
    }

    /// Returns whether the same topic may bring more than it did: its research failed.
    fn failed(&self, topic: &str) -> bool {
        let outcomes = self.outcomes.lock();
        let newest = outcomes.values().rev().find(|(delegated, _)| delegated == topic);
        let failure = newest.and_then(|(_, outcome)| outcome.as_ref().err());
        failure.is_some_and(|failure| failure.code != FailureCode::NoEvidence)
    }
}

pub struct Delegate {
    spec: ToolSpec,
    /// Topics at the same time.
    places: usize,
    free: Semaphore,
    researching: Researching,
    delegations: Arc<Delegations>,
    /// The number of the newest researcher.
    newest: u32,
    /// Each topic with the path of the turn in which it was delegated last.
    topics: HashMap<String, String>,
    /// The path of the current turn, and its topics.
    turn: (String, usize),
}

/// What [`Delegate::admit`] hands to [`Delegate::call`].
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    research_topic: String,
    number: u32,
    is_first_of_turn: bool,
}

#[derive(Deserialize)]
struct Arguments {
    research_topic: String,
}

impl Delegate {
    /// Makes the tool; its researchers are numbered on from `taken`, the highest number in use before.
    pub fn new(cx: &Cx, taken: u32, researching: Researching, delegations: Arc<Delegations>) -> Self {
        let prompts = cx.prompts();
        let description = prompts.text("tools/conduct_research.research_topic", ());
        let topic = property("research_topic", description, json!({"type": "string"}));
        let places = cx.options().max_concurrent_research_units as usize;
        Self {
            spec: spec(NAME, prompts.text("tools/conduct_research", ()), topic),
            places,
            free: Semaphore::new(places),
            researching,
            delegations,
            newest: taken,
            topics: HashMap::new(),
            turn: Default::default(),
        }
    }

    async fn research(&self, cx: &Cx, site: Site<'_>, job: Job) -> Result<ToolOutput, ToolError> {
        let delegated = self.turn.1;
        if job.is_first_of_turn && delegated > self.places {
            let detail = format!(
                "{delegated} topics were delegated at once; {} are researched at a time, the others wait",
                self.places
            );
            cx.warn(&format!("{}/queued", site.turn), WarningCode::DelegationsQueued, detail).await?;
        }
        // Permits are handed out in the order of the calls; the semaphore is never closed.
        let _place = self.free.acquire().await.ok();
        let Job { research_topic: topic, number, .. } = job;
        let path = format!("{}/r{number}", site.turn);
        let assignment = Assignment { number, path, topic: topic.clone(), call_id: site.call_id.to_owned() };
        let outcome = match (self.researching)(cx.clone(), assignment).await {
            Ok(researched) => Ok(researched),
            // Other topics would find the key refused too.
            Err(Error::Failed(failure)) if failure.code == FailureCode::SearchAuth => {
                self.delegations.insert(number, topic, Err(failure.clone()));
                return Err(ToolError::Ends(failure.into()));
            }
            Err(Error::Failed(failure)) => Err(failure),
            Err(stop) => return Err(stop.into()),
        };
        let (output, outcome) = match outcome {
            Ok(Researched { note, shown }) => (ToolOutput::text(Text(vec![Part::Flexible(shown.into())])), Ok(note)),
            Err(failure) => {
                let reason = untrusted(failure.message.trim_end_matches('.'));
                let values = json!({"topic": topic, "code": failure.code.as_str(), "reason": reason});
                let text = cx.prompts().text("research_failed", values);
                (ToolOutput { failed: vec![failure.message.clone()], ..ToolOutput::text(text) }, Err(failure))
            }
        };
        self.delegations.insert(number, topic, outcome);
        Ok(output)
    }
}

impl Tool for Delegate {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Delegate
    }

    /// Returns `false`: a researcher has steps of its own.
    fn is_one_step(&self) -> bool {
        false
    }

    fn for_task(&self, task: &str) -> Option<Value> {
        Some(json!({"research_topic": task}))
    }

    fn admit(&mut self, cx: &Cx, turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        if self.turn.0 != turn {
            self.turn = (turn.to_owned(), 0);
        }
        let topic = arguments::<Arguments>(call)?.research_topic.trim().to_owned();
        if topic.is_empty() {
            return Err(Refusal::Arguments("research_topic is empty".to_owned()));
        }
        // Where nothing was found, the same words would find nothing again.
        let last = self.topics.get(&topic);
        if last.is_some_and(|last| last == turn || !self.delegations.failed(&topic)) {
            return Err(Refusal::Answer(cx.prompts().text("repeated_call", json!({"name": NAME}))));
        }
        if self.turn.1 >= PER_TURN {
            return Err(Refusal::Answer(cx.prompts().text("too_many_delegations", json!({"limit": PER_TURN}))));
        }
        self.topics.insert(topic.clone(), turn.to_owned());
        self.newest += 1;
        self.turn.1 += 1;
        let job = Job { research_topic: topic, number: self.newest, is_first_of_turn: self.turn.1 == 1 };
        Ok(Admitted::new(json!(job)))
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move { self.research(cx, site, admitted(arguments)?).await }.boxed()
    }
}
