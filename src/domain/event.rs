//! Events: what a run tells the world. Their JSON is public and versioned by addition only.

use serde::{Deserialize, Serialize};

use super::claim::VerdictCounts;
use super::{Failure, Outcome, RunId, RunOptions, Source, SourceId, SubQuestion, Timestamp, Usage};

/// One numbered entry of a thread's event log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// From 1 without gaps within a thread.
    pub seq: i64,
    pub ts: Timestamp,
    pub run_id: RunId,
    pub scope: Scope,
    #[serde(flatten)]
    pub event: Event,
}

/// Which part of a run speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub agent: Agent,
    /// `r2` for the second researcher of the run; absent for the root and the supervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Scope {
    pub const ROOT: Self = Self { agent: Agent::Root, id: None };
    pub const SUPERVISOR: Self = Self { agent: Agent::Supervisor, id: None };

    /// Returns the `number`-th researcher of the run, from 1.
    pub fn researcher(number: u32) -> Self {
        Self { agent: Agent::Researcher, id: Some(format!("r{number}")) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    Root,
    Supervisor,
    Researcher,
}

impl Agent {
    /// Returns the name stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Supervisor => "supervisor",
            Self::Researcher => "researcher",
        }
    }
}

/// The stages of a run, in order; a follow-up may go from the first straight to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Only in a thread that has a report.
    FollowUp,
    Clarify,
    Brief,
    Research,
    Report,
    /// Not a stage: what is shown of a run while calls of it wait for a provider that is away.
    Waiting,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FollowUp => "follow_up",
            Self::Clarify => "clarify",
            Self::Brief => "brief",
            Self::Research => "research",
            Self::Report => "report",
            Self::Waiting => "waiting",
        }
    }
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Model,
    Search,
}

/// A call of the run waits before it is made again, or for the first time when others found the provider away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The model as `provider:model`, or the search engine.
    #[serde(rename = "for")]
    pub name: String,
    pub kind: WaitKind,
    /// The length of this wait.
    pub seconds: f64,
    /// Attempts the call has made; 0 when it waits because others failed.
    pub attempt: u32,
    /// Since when calls of the run have been waiting for it.
    pub since: Timestamp,
    /// The end of this wait.
    pub until: Timestamp,
}

/// What is done about a message in a thread that has a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpAction {
    /// It is answered from what is there; the run ends with an answer.
    Answer,
    /// The report is written again from what is there; the run ends with a report.
    Revise,
    /// The whole pipeline, which knows the earlier findings.
    Research,
}

impl FollowUpAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Revise => "revise",
            Self::Research => "research",
        }
    }
}

/// What a tool does, by which readers of a run know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Finds sources for queries; the only kind in logs that do not name one.
    #[default]
    Search,
    /// Opens a page or document.
    Read,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Does something else outside.
    External,
    Think,
    Delegate,
    Complete,
}

impl ToolKind {
    /// Returns whether its calls retrieve, or have something researched. An agent that did neither has found nothing.
    pub fn is_work(self) -> bool {
        matches!(self, Self::Search | Self::Read | Self::Mcp | Self::External | Self::Delegate)
    }

    /// Returns whether its calls are announced as `tool.started` and so on. The others have events of their own.
    pub fn is_announced(self) -> bool {
        matches!(self, Self::Search | Self::Read | Self::Mcp | Self::External)
    }
}

/// A result line of a finished search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultLink {
    pub source_id: SourceId,
    pub url: String,
    pub title: String,
}

/// The type of [`Event::StreamGap`].
pub const STREAM_GAP: &str = "stream.gap";
/// The type of [`Event::StreamRewound`].
pub const STREAM_REWOUND: &str = "stream.rewound";
/// The type of [`Event::ThreadDeleted`].
pub const THREAD_DELETED: &str = "thread.deleted";

/// Everything that can happen in a run; `type` and `data` on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// The first event of a run. `question` is cut as [`beginning`] does it; `position` is the run's place in the queue
    /// when it joined it, from 1; `retry_of` the run that it goes on from.
    #[serde(rename = "run.created")]
    RunCreated {
        question: String,
        options: Box<RunOptions>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<RunId>,
    },
    /// The run's place in the queue has changed. Never stored, and without a number of its own: readers that follow a
    /// waiting run get it. In logs of earlier releases it is the first event of a run.
    #[serde(rename = "run.queued")]
    RunQueued {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
    },
    #[serde(rename = "run.started")]
    RunStarted { attempt: i64 },
    /// Another process, or the same one after a restart, goes on from the journal.
    #[serde(rename = "run.resumed")]
    RunResumed { attempt: i64 },
    #[serde(rename = "phase.started")]
    PhaseStarted { phase: Phase },
    #[serde(rename = "phase.finished")]
    PhaseFinished { phase: Phase },
    /// What the newest message of a thread with a report needs, and why; no reason when nobody gave one.
    #[serde(rename = "follow_up.decided")]
    FollowUpDecided {
        action: FollowUpAction,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run ends with this question; the answer is the thread's next message.
    #[serde(rename = "input.required")]
    InputRequired { question: String },
    #[serde(rename = "clarification.skipped")]
    ClarificationSkipped { verification: String },
    #[serde(rename = "brief.created")]
    BriefCreated {
        brief: String,
        /// What it wants to know, one by one; empty in logs of older releases.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sub_questions: Vec<String>,
    },
    #[serde(rename = "supervisor.iteration")]
    SupervisorIteration { n: u32, max: u32 },
    #[serde(rename = "thought")]
    Thought { text: String },
    #[serde(rename = "researcher.started")]
    ResearcherStarted { topic: String, tool_call_id: String },
    #[serde(rename = "researcher.finished")]
    ResearcherFinished {
        notes_chars: usize,
        sources: usize,
        turns: u32,
        /// The beginning of what it found; logs of earlier releases lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A model is asked. `usage` tells when it has answered, a warning or failure when it has not.
    #[serde(rename = "model.started")]
    ModelStarted {
        model: String,
        role: String,
        /// Tokens that the request and its answer may have together; `None`: nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
    },
    #[serde(rename = "researcher.failed")]
    ResearcherFailed { problem: Failure },
    #[serde(rename = "tool.started")]
    ToolStarted {
        tool_call_id: String,
        name: String,
        #[serde(default)]
        kind: ToolKind,
        /// The MCP server that has the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        args: serde_json::Value,
    },
    /// How far a call has come, as the MCP server says it; at most one a second for each call.
    #[serde(rename = "tool.progress")]
    ToolProgress {
        tool_call_id: String,
        name: String,
        progress: f64,
        /// What `progress` is when the call is done, where the server knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    #[serde(rename = "tool.finished")]
    ToolFinished {
        tool_call_id: String,
        name: String,
        #[serde(default)]
        kind: ToolKind,
        results: Vec<ResultLink>,
    },
    #[serde(rename = "tool.failed")]
    ToolFailed {
        tool_call_id: String,
        name: String,
        #[serde(default)]
        kind: ToolKind,
        problem: String,
    },
    /// An MCP server wants the user to sign in at an address before it answers. The model is not given the address.
    #[serde(rename = "sign_in.required")]
    SignInRequired { server: String, url: String, message: String },
    /// Once per source and run; `query` is empty for a source that no search found: one that was opened by its address,
    /// or taken over from an earlier run of the thread.
    #[serde(rename = "source.found")]
    SourceFound {
        source_id: SourceId,
        url: String,
        title: String,
        query: String,
        /// The first words of what was found, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snippet: Option<String>,
        /// The host of an address; absent for a document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<String>,
        /// As the search engine says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        published: Option<String>,
    },
    #[serde(rename = "summary.finished")]
    SummaryFinished { url: String, chars_in: usize, chars_out: usize },
    #[serde(rename = "compress.started")]
    CompressStarted {},
    #[serde(rename = "compress.finished")]
    CompressFinished { chars_in: usize, chars_out: usize },
    /// A higher `attempt` tells readers to drop the text they have.
    #[serde(rename = "report.started")]
    ReportStarted { attempt: u32 },
    /// `offset` and text lengths count Unicode scalar values.
    #[serde(rename = "report.delta")]
    ReportDelta { attempt: u32, offset: usize, text: String },
    #[serde(rename = "report.citation")]
    ReportCitation { number: u32, source_id: SourceId, start: usize, end: usize, url: String, title: String },
    /// The report's cited statements were held against their sources; how many of them these hold.
    #[serde(rename = "claims.checked")]
    ClaimsChecked {
        #[serde(flatten)]
        counts: VerdictCounts,
        /// Statements that the writer was made to write once more.
        #[serde(default, skip_serializing_if = "is_none")]
        repaired: usize,
    },
    /// How far the report answers each sub-question of the brief.
    #[serde(rename = "sub_questions.decided")]
    SubQuestionsDecided { sub_questions: Vec<SubQuestion> },
    #[serde(rename = "report.finished")]
    ReportFinished {
        attempt: u32,
        chars: usize,
        sources: usize,
        dropped_citations: u32,
        /// The text cites nothing, so nobody can tell which source stands behind which statement.
        #[serde(default)]
        degraded: bool,
        sha256: String,
    },
    #[serde(rename = "usage")]
    Usage {
        model: String,
        role: String,
        #[serde(flatten)]
        tokens: Usage,
    },
    #[serde(rename = "warning")]
    Warning {
        code: WarningCode,
        detail: String,
        /// What is waited for, when the warning is of a wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<Wait>,
    },
    /// No call of the run waits for it any more.
    #[serde(rename = "wait.ended")]
    WaitEnded {
        #[serde(rename = "for")]
        name: String,
        kind: WaitKind,
        /// From the first wait to now.
        seconds: f64,
    },
    #[serde(rename = "run.completed")]
    RunCompleted {
        outcome: Outcome,
        #[serde(flatten)]
        usage: Usage,
        ms: i64,
    },
    #[serde(rename = "run.failed")]
    RunFailed { problem: Failure },
    #[serde(rename = "run.cancelled")]
    RunCancelled { reason: String },
    /// Instead of events that were removed because of their age, both ends included. Never stored: readers that ask for
    /// such events get it under the last one's number.
    #[serde(rename = "stream.gap")]
    StreamGap { from: i64, to: i64 },
    /// The database has lost the events behind this number, which readers had seen, and gives their numbers to others
    /// (a failover to a server that was behind). Never stored: readers that had seen them get it, and then the others.
    #[serde(rename = "stream.rewound")]
    StreamRewound { to: i64 },
    /// The last event to readers of a thread that is deleted. Never stored, and without a number of its own: it has
    /// that of the last event before it.
    #[serde(rename = "thread.deleted")]
    ThreadDeleted {},
}

/// The most of a text that an event repeats, in bytes.
const TEXT_BYTES: usize = 64 * 1024;
/// Characters of a snippet.
const SNIPPET_CHARS: usize = 300;

/// Returns the text, or as much of it as fits into an event, with a mark that it was cut.
pub fn beginning(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES)])
}

impl Event {
    /// Returns a source that is new to the run; `text` is what was found there, or its beginning.
    pub fn source_found(source: &Source, text: &str, query: &str) -> Self {
        // Not more than a few words are needed, however long the page.
        let start = &text[..text.floor_char_boundary(8 * SNIPPET_CHARS)];
        let words = start.split_whitespace().collect::<Vec<_>>().join(" ");
        let snippet: String = words.chars().take(SNIPPET_CHARS).collect();
        let url = url::Url::parse(&source.url).ok();
        let site = url.as_ref().and_then(url::Url::host_str);
        Self::SourceFound {
            source_id: source.id,
            url: source.url.clone(),
            title: source.title.clone(),
            query: query.to_owned(),
            snippet: Some(snippet).filter(|snippet| !snippet.is_empty()),
            site: site.map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned()),
            published: source.published.clone(),
        }
    }

    /// Returns a warning that is not of a wait.
    pub fn warning(code: WarningCode, detail: impl Into<String>) -> Self {
        Self::Warning { code, detail: detail.into(), wait: None }
    }

    /// Returns the `type` on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunCreated { .. } => "run.created",
            Self::RunQueued { .. } => "run.queued",
            Self::RunStarted { .. } => "run.started",
            Self::RunResumed { .. } => "run.resumed",
            Self::PhaseStarted { .. } => "phase.started",
            Self::PhaseFinished { .. } => "phase.finished",
            Self::FollowUpDecided { .. } => "follow_up.decided",
            Self::InputRequired { .. } => "input.required",
            Self::ClarificationSkipped { .. } => "clarification.skipped",
            Self::BriefCreated { .. } => "brief.created",
            Self::SupervisorIteration { .. } => "supervisor.iteration",
            Self::Thought { .. } => "thought",
            Self::ResearcherStarted { .. } => "researcher.started",
            Self::ResearcherFinished { .. } => "researcher.finished",
            Self::ResearcherFailed { .. } => "researcher.failed",
            Self::ModelStarted { .. } => "model.started",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolProgress { .. } => "tool.progress",
            Self::ToolFinished { .. } => "tool.finished",
            Self::ToolFailed { .. } => "tool.failed",
            Self::SignInRequired { .. } => "sign_in.required",
            Self::SourceFound { .. } => "source.found",
            Self::SummaryFinished { .. } => "summary.finished",
            Self::CompressStarted { .. } => "compress.started",
            Self::CompressFinished { .. } => "compress.finished",
            Self::ReportStarted { .. } => "report.started",
            Self::ReportDelta { .. } => "report.delta",
            Self::ReportCitation { .. } => "report.citation",
            Self::ClaimsChecked { .. } => "claims.checked",
            Self::SubQuestionsDecided { .. } => "sub_questions.decided",
            Self::ReportFinished { .. } => "report.finished",
            Self::Usage { .. } => "usage",
            Self::Warning { .. } => "warning",
            Self::WaitEnded { .. } => "wait.ended",
            Self::RunCompleted { .. } => "run.completed",
            Self::RunFailed { .. } => "run.failed",
            Self::RunCancelled { .. } => "run.cancelled",
            Self::StreamGap { .. } => STREAM_GAP,
            Self::StreamRewound { .. } => STREAM_REWOUND,
            Self::ThreadDeleted {} => THREAD_DELETED,
        }
    }

    /// Returns whether this is the last event of its run; each run has exactly one.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::RunCompleted { .. } | Self::RunFailed { .. } | Self::RunCancelled { .. })
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Why a run is worse than it could be; stable codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// A call is made again after a wait.
    Retrying,
    RateLimited,
    SearchFailed,
    /// A document could not be read and is not searched.
    DocumentSkipped,
    /// A collection that the run was to search is not there any more.
    CollectionMissing,
    /// A page's summary failed or took too long; an excerpt stands in.
    SummaryFailed,
    /// Findings could not be compressed; they are used as they are.
    CompressionFailed,
    /// A request was too long for the model and was shortened.
    Shortened,
    /// The run has spent what it may; its report is made of what is there.
    SpendingLimit,
    /// The model's output hit its limit.
    OutputCut,
    /// A round or turn limit ended the work before the model did.
    IterationLimit,
    /// The model called a tool wrongly, or none where one was needed.
    ModelMisuse,
    /// More delegations than places: the rest waits.
    DelegationsQueued,
    /// A researcher failed; the report lacks its topic.
    ResearcherFailed,
    /// The model cited what was never retrieved; those citations were removed.
    CitationsDropped,
    /// The report, or a part of it, was not held against its sources.
    CheckFailed,
    /// The report is not in the language of the question.
    OtherLanguage,
    /// A structured answer could not be had; the run goes on without it.
    StructuredOutputFailed,
    /// There are more earlier findings than a run takes over; some were left out.
    FindingsLeftOut,
    /// The database could not be reached for a while.
    StorageDelayed,
    /// An MCP server, or a tool of it, could not be used, or no longer; the run goes on without it.
    McpServerFailed,
    /// A role's model is away, out of quota or refuses its key; another one stands in.
    ModelReplaced,
    /// The search engines of the run are away, out of quota or refuse their keys; another one stands in.
    EngineReplaced,
    /// No process that took the run up is set up for it; it waits for one that is.
    NotConfigured,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_says_why_where_there_is_a_reason() {
        let check = |reason: Option<&str>, expected: serde_json::Value| {
            let event =
                Event::FollowUpDecided { action: FollowUpAction::Revise, reason: reason.map(ToOwned::to_owned) };
            let wire = serde_json::to_value(&event).unwrap();
            assert_eq!(wire, json!({"type": "follow_up.decided", "data": expected}));
            assert_eq!(wire["type"], event.name());
            assert_eq!(serde_json::from_value::<Event>(wire).unwrap(), event);
        };
        check(None, json!({"action": "revise"}));
        check(Some("It is to be shorter."), json!({"action": "revise", "reason": "It is to be shorter."}));
    }

    #[test]
    fn what_an_event_repeats_is_bounded() {
        assert_eq!(beginning("short"), "short");
        let long = beginning(&"ü".repeat(TEXT_BYTES));
        assert!(long.ends_with("ü…") && long.len() <= TEXT_BYTES + '…'.len_utf8());
        let source = |url: &str| Source::example(1001, url, "T");
        let found = |url: &str, text: &str| serde_json::to_value(Event::source_found(&source(url), text, "q")).unwrap();
        let event = found("https://www.a.example/x?y", " one\n\ttwo  ");
        assert_eq!((&event["data"]["site"], &event["data"]["snippet"]), (&json!("a.example"), &json!("one two")));
        let event = found("reports/a.pdf#page=2", &"ü ".repeat(10_000));
        assert_eq!(event["data"].get("site"), None);
        assert_eq!(event["data"]["snippet"].as_str().unwrap().chars().count(), SNIPPET_CHARS);
        assert_eq!(found("a.md", "")["data"].get("snippet"), None);
    }

    #[test]
    fn phases_and_actions_are_called_the_same_everywhere() {
        use Phase as P;
        for phase in [P::FollowUp, P::Clarify, P::Brief, P::Research, P::Report, P::Waiting] {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
        }
        for action in [FollowUpAction::Answer, FollowUpAction::Revise, FollowUpAction::Research] {
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
    }
}
