//! One topic, start to notes: search, reflect, search again, then have the findings compressed.

use std::{collections::HashSet, time::Duration};

use serde_json::json;

use super::{
    agent::{self, Agent, Answer, End},
    compress,
};
use crate::{
    context::{Call, Cx, Deadline, Error, Role},
    domain::{Event, Failure, FailureCode, Note, Scope, SourceId, WarningCode, event::beginning},
    llm::{Message, Part, Text, ToolCall, ToolSpec},
    offline::{Evidence, Task},
    search::{Corpus, Engine},
    telemetry::spans,
    tools::{
        self, COMPLETE, SEARCH, THINK,
        search_web::{self, Found, MAX_RESULTS},
    },
};

/// Names that models trained on other systems use for `search_web`.
const SEARCH_ALIASES: [&str; 3] = ["tavily_search", "web_search", "search"];

/// Researches `topic` as the run's `number`-th researcher; `question` is what the whole run wants to know.
///
/// # Errors
/// [`Error::Failed`]: this topic has no notes, the others are not touched.
pub async fn research(
    cx: &Cx,
    number: u32,
    path: &str,
    topic: &str,
    call_id: &str,
    question: &str,
) -> Result<Note, Error> {
    let cx = &cx.speaking_as(Scope::researcher(number));
    let started = Event::ResearcherStarted { topic: topic.to_owned(), tool_call_id: call_id.to_owned() };
    cx.mark(&format!("{path}/started"), started).await?;
    match notes(cx, number, path, topic, question).await {
        Ok((note, sources, turns)) => {
            let notes_chars = note.text.chars().count();
            let text = Some(beginning(&note.text));
            let finished = Event::ResearcherFinished { notes_chars, sources, turns, note: text };
            cx.mark(&format!("{path}/finished"), finished).await?;
            Ok(note)
        }
        Err(Error::Failed(problem)) => {
            cx.mark(&format!("{path}/failed"), Event::ResearcherFailed { problem: problem.clone() }).await?;
            Err(problem.into())
        }
        Err(stop) => Err(stop),
    }
}

async fn notes(cx: &Cx, number: u32, path: &str, topic: &str, question: &str) -> Result<(Note, usize, u32), Error> {
    let mut researcher = Researcher::new(cx, number, path, topic, question).await?;
    let mut messages = vec![Message::user(topic)];
    let max = cx.options().max_react_tool_calls;
    match agent::run(cx, &mut researcher, max, &mut messages).await {
        Ok(End::Finished | End::Idle) => {}
        Ok(End::Limit) => {
            let detail = format!("a researcher used all its {max} turns");
            cx.warn(&format!("{path}/limit"), WarningCode::IterationLimit, detail).await?;
        }
        Err(Error::Failed(failure)) if !researcher.evidence.is_empty() => {
            let detail = format!("a researcher stopped early, its findings so far are used: {failure}");
            cx.warn(&format!("{path}/cut"), WarningCode::ResearcherFailed, detail).await?;
        }
        Err(error) => return Err(error),
    }
    if !researcher.searched {
        researcher.search_topic(cx, &mut messages).await?;
    }
    if researcher.evidence.is_empty() {
        return Err(researcher.nothing_found().into());
    }
    let (sources, turns) = (researcher.evidence.len(), researcher.turns);
    let text = compress::compress(cx, path, topic, messages, researcher.evidence).await?;
    let note = Note { researcher: number, topic: topic.to_owned(), text };
    cx.keep_note(&format!("{path}/note"), note.clone()).await?;
    Ok((note, sources, turns))
}

struct Researcher<'a> {
    number: u32,
    path: &'a str,
    topic: &'a str,
    question: &'a str,
    system: String,
    tools: Vec<ToolSpec>,
    /// What was retrieved, each source once.
    evidence: Vec<Evidence>,
    /// Where it was retrieved: a page met again has another id and is the same source.
    pages: HashSet<String>,
    /// Was any search carried out, whatever it brought?
    searched: bool,
    failures: Vec<String>,
    queries: HashSet<String>,
    /// Queries so far: each has room for its results' source ids.
    queries_run: u32,
    turns: u32,
    reflected: bool,
    /// Not counting the time it waits for providers. A call given up then is in the journal, so that a replay with its own clock goes the same way.
    deadline: Deadline,
}

impl<'a> Researcher<'a> {
    async fn new(cx: &Cx, number: u32, path: &'a str, topic: &'a str, question: &'a str) -> Result<Self, Error> {
        let tools = tools::researcher(cx.prompts(), kind(cx));
        let values = json!({
            "date": cx.date().await?,
            "tools": agent::listed(&tools),
            "max_react_tool_calls": cx.options().max_react_tool_calls,
            "mcp_prompt": null,
        });
        let system = cx.prompts().text("researcher", values);
        let own_time = Duration::from_secs(u64::from(cx.options().max_researcher_seconds));
        Ok(Self {
            number,
            path,
            topic,
            question,
            system,
            tools,
            evidence: Vec::new(),
            pages: HashSet::new(),
            searched: false,
            failures: Vec::new(),
            queries: HashSet::new(),
            queries_run: 0,
            turns: 0,
            reflected: true,
            deadline: cx.deadline(own_time),
        })
    }

    /// Queries one turn may run, so that source ids never run out.
    fn queries_per_turn(cx: &Cx) -> u32 {
        SourceId::PER_RESEARCHER / MAX_RESULTS / (cx.options().max_react_tool_calls + 1)
    }

    fn nothing_found(&self) -> Failure {
        match self.failures.first() {
            Some(failure) => Failure::new(FailureCode::SearchUnavailable, format!("no search worked: {failure}")),
            None => Failure::new(FailureCode::NoEvidence, format!("nothing was found about: {}", self.topic)),
        }
    }

    /// Searches for the topic itself, for a model that would not search.
    async fn search_topic(&mut self, cx: &Cx, messages: &mut Vec<Message>) -> Result<(), Error> {
        let detail = "the model searched for nothing; the topic itself is searched";
        cx.warn(&format!("{}/unsearched", self.path), WarningCode::ModelMisuse, detail).await?;
        let query: String = self.topic.chars().take(400).collect();
        let arguments = json!({"queries": [query]}).to_string();
        let call = ToolCall { id: "topic".to_owned(), name: SEARCH.to_owned(), arguments, problem: None };
        let path = format!("{}/topic", self.path);
        let answers = self.search(cx, &path, &[(0, &call)]).await?;
        messages.push(Message::Assistant { content: String::new(), tool_calls: vec![call] });
        let tool = |answer: Answer| Message::Tool { call_id: answer.call_id, name: answer.name, content: answer.text };
        messages.extend(answers.into_iter().map(tool));
        Ok(())
    }

    /// Runs the searches of a turn side by side.
    async fn search(&mut self, cx: &Cx, path: &str, calls: &[(usize, &ToolCall)]) -> Result<Vec<Answer>, Error> {
        let mut room = Self::queries_per_turn(cx);
        let (mut answers, mut planned, mut first_query) = (Vec::new(), Vec::new(), 0);
        for (index, call) in calls.iter().copied() {
            match self.plan(cx, call, &mut room) {
                Err(Refusal::Bad(error)) => answers.push(agent::bad_arguments(cx, path, index, call, &error).await?),
                Err(Refusal::Repeated) => {
                    answers.push(Answer::to(call, cx.prompts().text("repeated_call", json!({"name": SEARCH}))));
                }
                Ok(Plan { queries, left_out }) => {
                    let count = queries.len();
                    let note = self.left_out(cx, path, index, &left_out).await?;
                    planned.push((index, call, self.search_call(path, queries, first_query), note));
                    first_query += count;
                }
            }
        }
        let runs = planned.into_iter().map(|(index, call, search, note)| async move {
            (call, note, one_search(cx, path, index, call, search).await)
        });
        for (call, note, found) in futures::future::join_all(runs).await {
            let mut answer = self.took(call, found?);
            answer.text.0.extend(note);
            answers.push(answer);
        }
        Ok(answers)
    }

    /// The queries of a call that are new, as far as there is room for them.
    fn plan(&mut self, cx: &Cx, call: &ToolCall, room: &mut u32) -> Result<Plan, Refusal> {
        let arguments: search_web::Arguments = tools::arguments(call).map_err(Refusal::Bad)?;
        if *room == 0 {
            return Err(Refusal::Bad(format!("at most {} queries are run in one turn", Self::queries_per_turn(cx))));
        }
        let fresh = arguments.queries.into_iter().filter(|query| self.queries.insert(query.to_lowercase()));
        let mut queries: Vec<_> = fresh.collect();
        let left_out = queries.split_off(queries.len().min(*room as usize));
        for query in &left_out {
            self.queries.remove(&query.to_lowercase());
        }
        *room -= u32::try_from(queries.len()).unwrap_or(*room);
        if queries.is_empty() { Err(Refusal::Repeated) } else { Ok(Plan { queries, left_out }) }
    }

    /// What the model is told about queries that the turn has no room for.
    async fn left_out(&self, cx: &Cx, path: &str, index: usize, queries: &[String]) -> Result<Option<Part>, Error> {
        if queries.is_empty() {
            return Ok(None);
        }
        let limit = Self::queries_per_turn(cx);
        let detail = format!("{} queries were not run, one turn runs {limit} at most", queries.len());
        cx.warn(&format!("{path}/call/{index}/left_out"), WarningCode::ModelMisuse, detail).await?;
        let note = cx.prompts().text("queries_left_out", json!({"queries": queries, "limit": limit}));
        Ok(Some(Part::Fixed(format!("\n\n{note}").into())))
    }

    fn search_call<'c>(&mut self, path: &'c str, queries: Vec<String>, first_query: usize) -> search_web::Call<'c>
    where
        'a: 'c,
    {
        let first_source = SourceId::of(self.number, self.queries_run * MAX_RESULTS + 1);
        self.queries_run += u32::try_from(queries.len()).unwrap_or(u32::MAX);
        search_web::Call { path, queries, first_query, first_source, question: self.question }
    }

    fn took(&mut self, call: &ToolCall, found: Found) -> Answer {
        self.searched = true;
        self.reflected = false;
        self.failures.extend(found.failures);
        for (evidence, link) in found.evidence.into_iter().zip(found.links) {
            if self.pages.insert(link.url) {
                self.evidence.push(evidence);
            }
        }
        Answer::to(call, found.text)
    }

    /// With `require_think`, searches wait until the model has reflected on the last ones in a reply of its own.
    fn must_think(&self, cx: &Cx, thinking: bool) -> bool {
        cx.requires_thought() && (thinking || !self.reflected)
    }
}

/// What is searched for a call, and what is not for lack of room.
struct Plan {
    queries: Vec<String>,
    left_out: Vec<String>,
}

/// Why a search call is answered without a search.
enum Refusal {
    Bad(String),
    Repeated,
}

async fn one_search(
    cx: &Cx,
    path: &str,
    index: usize,
    call: &ToolCall,
    search: search_web::Call<'_>,
) -> Result<Found, Error> {
    let (tool_call_id, name) = (call.id.clone(), SEARCH.to_owned());
    let args = json!({"queries": search.queries});
    let started = Event::ToolStarted { tool_call_id: tool_call_id.clone(), name: name.clone(), args };
    cx.mark(&format!("{path}/call/{index}/started"), started).await?;
    let span = spans::ToolCall::begin(SEARCH, &call.id, &call.arguments);
    let found = match span.over(search_web::run(cx, search)).await {
        Err(Error::Failed(failure)) => {
            span.end(Some(failure.code.as_str()), String::new);
            let failed = Event::ToolFailed { tool_call_id, name, problem: failure.message.clone() };
            cx.mark(&format!("{path}/call/{index}/finished"), failed).await?;
            return Err(failure.into());
        }
        found => found?,
    };
    let failed = !found.failures.is_empty() && found.links.is_empty();
    span.end(failed.then_some("search_failed"), || found.text.joined());
    let ended = match found.failures.as_slice() {
        [] => Event::ToolFinished { tool_call_id, name, results: found.links.clone() },
        failures if found.links.is_empty() => Event::ToolFailed { tool_call_id, name, problem: failures.join("; ") },
        _ => Event::ToolFinished { tool_call_id, name, results: found.links.clone() },
    };
    cx.mark(&format!("{path}/call/{index}/finished"), ended).await?;
    Ok(found)
}

/// What `search_web` searches, as its description says it.
fn kind(cx: &Cx) -> &'static str {
    cx.search().map_or(Corpus::Web, Engine::corpus).as_str()
}

fn is_search(name: &str) -> bool {
    name == SEARCH || SEARCH_ALIASES.contains(&name)
}

impl Agent for Researcher<'_> {
    fn path(&self, turn: u32) -> String {
        format!("{}/turn/{turn}", self.path)
    }

    fn request(&self, cx: &Cx, turn: u32, mut messages: Vec<Message>) -> Call {
        messages.insert(0, Message::system(self.system.as_str()));
        let task = Task::Research { topic: self.topic.to_owned(), turn, retrieved: !self.evidence.is_empty() };
        cx.request(Role::Research, messages, task).with_tools(&self.tools)
    }

    async fn answer(&mut self, cx: &Cx, turn: u32, calls: &[ToolCall]) -> Result<Vec<Answer>, Error> {
        self.turns = turn;
        let path = self.path(turn);
        let searches: Vec<_> = calls.iter().enumerate().filter(|(_, call)| is_search(&call.name)).collect();
        let thinking = calls.iter().any(|call| call.name == THINK);
        let mut answers = if self.must_think(cx, thinking) {
            let text = cx.prompts().text("think_alone", ());
            searches.iter().map(|(_, call)| Answer::to(call, text.as_str())).collect()
        } else {
            self.search(cx, &path, &searches).await?
        };
        for (index, call) in calls.iter().enumerate() {
            match call.name.as_str() {
                THINK => {
                    self.reflected = true;
                    answers.push(agent::think(cx, &path, index, call).await?);
                }
                COMPLETE if self.may_finish() => answers.push(Answer::to(call, Text::default())),
                COMPLETE => answers.push(Answer::to(call, cx.prompts().text(self.nudge(), ()))),
                name if is_search(name) => {}
                _ => answers.push(agent::unknown_tool(cx, &path, index, call, &[SEARCH, THINK, COMPLETE]).await?),
            }
        }
        let place = |answer: &Answer| calls.iter().position(|call| call.id == answer.call_id);
        answers.sort_by_key(place);
        Ok(answers)
    }

    fn may_finish(&self) -> bool {
        self.searched
    }

    fn nudge(&self) -> &'static str {
        "nudge_researcher"
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(self.deadline)
    }

    fn left(&self) -> &'static str {
        "turns_left"
    }
}
