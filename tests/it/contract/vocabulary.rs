//! The words of the domain, each held against the document in both directions. The lists here cannot be incomplete: the
//! compiler refuses them.

use std::{collections::BTreeSet, fs, path::Path};

use fathom::{
    domain::{
        Agent, AnswerStatus, Cost, Envelope, Event, Failure, FailureCode, FollowUpAction, MessageRole, Outcome, RunId,
        RunStatus, Scope, SourceId, SubQuestion, ThreadStatus, Timestamp, ToolKind, Usage, Wait, WaitKind, WarningCode,
        claim::VerdictCounts,
        event::{Phase, ResultLink},
    },
    http::Code,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Contract, agree};

/// One value of each variant. A variant that is missing here does not compile.
macro_rules! one_of_each {
    ($name:ident: $enumeration:ident { $($variant:ident $({ $($field:ident: $value:expr),* $(,)? })?),* $(,)? }) => {
        fn $name() -> Vec<$enumeration> {
            // Never called: without a wildcard, it names every variant.
            const _: fn(&$enumeration) = |value| match value {
                $($enumeration::$variant { .. } => {})*
            };
            vec![$($enumeration::$variant $({ $($field: $value),* })?),*]
        }
    };
}

one_of_each!(events: Event {
    RunCreated { question: "Why?".to_owned(), options: Box::default(), position: Some(3), retry_of: Some(RunId::new()) },
    RunQueued { position: Some(3) },
    RunStarted { attempt: 1 },
    RunResumed { attempt: 2 },
    PhaseStarted { phase: Phase::Brief },
    PhaseFinished { phase: Phase::Brief },
    InputRequired { question: "Which year?".to_owned() },
    ClarificationSkipped { verification: "All is clear.".to_owned() },
    FollowUpDecided { action: FollowUpAction::Revise, reason: Some("It asks for a table.".to_owned()) },
    BriefCreated { brief: "Find out.".to_owned(), sub_questions: vec!["What?".to_owned()] },
    SupervisorIteration { n: 1, max: 6 },
    Thought { text: "Hm.".to_owned() },
    ResearcherStarted { topic: "Tides".to_owned(), tool_call_id: "call_1".to_owned() },
    ResearcherFinished { notes_chars: 10, sources: 1, turns: 2, note: Some("A tide [S1003].".to_owned()) },
    ModelStarted { model: "openai:gpt-4.1".to_owned(), role: "research".to_owned(), window: Some(128_000) },
    ResearcherFailed { problem: failure() },
    ToolStarted { tool_call_id: "call_1".to_owned(), name: "search".to_owned(), kind: ToolKind::Search, server: Some("archive".to_owned()), args: json!({"queries": ["tide"]}) },
    ToolProgress { tool_call_id: "call_1".to_owned(), name: "index".to_owned(), progress: 1.5, total: Some(4.0), message: Some("Reading.".to_owned()) },
    SignInRequired { server: "calendar".to_owned(), url: "https://a.example/connect".to_owned(), message: "Sign in.".to_owned() },
    ToolFinished { tool_call_id: "call_1".to_owned(), name: "search".to_owned(), kind: ToolKind::Read, results: vec![result()] },
    ToolFailed { tool_call_id: "call_1".to_owned(), name: "search".to_owned(), kind: ToolKind::External, problem: "Away.".to_owned() },
    SourceFound {
        source_id: SourceId::of(1, 3),
        url: "https://a.example/".to_owned(),
        title: "A".to_owned(),
        query: "a".to_owned(),
        snippet: Some("Tides".to_owned()),
        site: Some("a.example".to_owned()),
        published: Some("2030-11-14".to_owned()),
    },
    SummaryFinished { url: "a.md".to_owned(), chars_in: 10, chars_out: 5 },
    CompressStarted {},
    CompressFinished { chars_in: 10, chars_out: 5 },
    ReportStarted { attempt: 1 },
    ReportDelta { attempt: 1, offset: 0, text: "# A".to_owned() },
    ReportCitation {
        number: 1,
        source_id: SourceId::of(1, 3),
        start: 4,
        end: 7,
        url: "a.md".to_owned(),
        title: "A".to_owned(),
    },
    ClaimsChecked {
        counts: VerdictCounts { supported: 3, partly: 1, not_supported: 1, not_checkable: 2 },
        repaired: 1,
    },
    SubQuestionsDecided {
        sub_questions: vec![SubQuestion { question: "What?".to_owned(), status: AnswerStatus::Partly }],
    },
    ReportFinished { attempt: 1, chars: 7, sources: 1, dropped_citations: 0, degraded: false, sha256: "00".to_owned() },
    Usage { model: "openai:gpt-4.1".to_owned(), role: "research".to_owned(), tokens: usage() },
    Warning { code: WarningCode::Retrying, detail: "It is away.".to_owned(), wait: Some(wait()) },
    WaitEnded { name: "tavily".to_owned(), kind: WaitKind::Search, seconds: 1.5 },
    RunCompleted { outcome: Outcome::Report, usage: usage(), ms: 12 },
    RunFailed { problem: failure() },
    RunCancelled { reason: "Asked to.".to_owned() },
    StreamGap { from: 1, to: 7 },
    StreamRewound { to: 5 },
    ThreadDeleted {},
});

one_of_each!(agents: Agent { Root, Supervisor, Researcher });
one_of_each!(phases: Phase { Clarify, Brief, Research, Report, FollowUp, Waiting });
one_of_each!(wait_kinds: WaitKind { Model, Search });
one_of_each!(tool_kinds: ToolKind { Search, Read, Mcp, External, Think, Delegate, Complete });
one_of_each!(statuses: RunStatus { Queued, Running, Completed, Failed, Cancelled });
one_of_each!(follow_up_actions: FollowUpAction { Answer, Revise, Research });
one_of_each!(outcomes: Outcome { Report, Clarification, Answer });
one_of_each!(thread_statuses: ThreadStatus { Idle, Busy, AwaitingInput });
one_of_each!(roles: MessageRole { User, Assistant });
one_of_each!(failure_codes: FailureCode {
    NoEvidence,
    SearchUnavailable,
    ModelAuth,
    ModelUnavailable,
    ModelRequest,
    ModelRefused,
    ContextWindow,
    ModelOutput,
    JournalMismatch,
    JournalCorrupt,
    Timeout,
    SpendingLimit,
    SearchAuth,
    CrashLoop,
    Internal,
});
one_of_each!(warning_codes: WarningCode {
    Retrying,
    RateLimited,
    SearchFailed,
    DocumentSkipped,
    CollectionMissing,
    SummaryFailed,
    CompressionFailed,
    Shortened,
    SpendingLimit,
    OutputCut,
    IterationLimit,
    ModelMisuse,
    DelegationsQueued,
    ResearcherFailed,
    CitationsDropped,
    CheckFailed,
    OtherLanguage,
    StructuredOutputFailed,
    StorageDelayed,
    McpServerFailed,
    FindingsLeftOut,
    ModelReplaced,
    EngineReplaced,
    NotConfigured,
});

fn usage() -> Usage {
    Usage { cost: Some(Cost(2_500_000)), ..Usage::default() }
}

fn failure() -> Failure {
    Failure::new(FailureCode::NoEvidence, "Nothing was found.")
}

fn wait() -> Wait {
    let now = Timestamp::now();
    Wait { name: "tavily".to_owned(), kind: WaitKind::Search, seconds: 1.5, attempt: 2, since: now, until: now }
}

fn result() -> ResultLink {
    ResultLink { source_id: SourceId::of(1, 3), url: "a.md".to_owned(), title: "A".to_owned() }
}

fn envelope(event: Event) -> Value {
    let scope = Scope::researcher(2);
    serde_json::to_value(Envelope { seq: 7, ts: Timestamp::now(), run_id: RunId::new(), scope, event }).unwrap()
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_event_has_a_schema_and_the_other_way_round() {
    let contract = Contract::get();
    let schema = &contract.document["components"]["schemas"]["Envelope"];
    let mapping = schema["discriminator"]["mapping"].as_object().unwrap();
    let documented: BTreeSet<String> = mapping.keys().cloned().collect();
    let existing: BTreeSet<String> = events().iter().map(|event| event.name().to_owned()).collect();
    agree("events in the mapping of Envelope", &documented, &existing);
    let targets: BTreeSet<_> = mapping.values().map(Value::to_string).collect();
    let choices = schema["oneOf"].as_array().unwrap().iter().map(|choice| choice["$ref"].to_string());
    let choices: BTreeSet<_> = choices.collect();
    agree("events in oneOf of Envelope", &choices, &targets);
    for event in events() {
        let pointer = mapping[event.name()].as_str().unwrap()[1..].to_owned();
        let envelope = envelope(event);
        contract.check_schema("Envelope", &envelope);
        assert_eq!(contract.validate(&pointer, &envelope), [""; 0], "{envelope}");
    }
}

/// So that the schemas say more than "an object": they and the types agree on what may be missing, and nothing may be
/// added.
#[test]
fn the_schema_of_an_event_knows_its_fields() {
    let valid = |envelope: &Value| Contract::get().validate("/components/schemas/Envelope", envelope).is_empty();
    for event in events() {
        let whole = envelope(event);
        for field in whole["data"].as_object().unwrap().keys() {
            let mut without = whole.clone();
            without["data"].as_object_mut().unwrap().remove(field);
            let optional = serde_json::from_value::<Envelope>(without.clone()).is_ok();
            assert_eq!(valid(&without), optional, "{}: may {field} be missing?", whole["type"]);
        }
        let mut more = whole.clone();
        more["data"]["more"] = json!(1);
        assert!(!valid(&more), "{} with one more field", whole["type"]);
    }
}

#[test]
fn the_words_of_the_domain_are_those_of_the_document() {
    fn same<T: Serialize>(pointer: &str, values: Vec<T>) {
        let document = &Contract::get().document;
        let schema = document.pointer(pointer).unwrap_or_else(|| panic!("there is no {pointer}"));
        agree(pointer, &names(&schema["enum"]), &names(&json!(values)));
    }
    same("/components/schemas/Scope/properties/agent", agents());
    same("/components/schemas/Phase", phases());
    same("/components/schemas/WaitKind", wait_kinds());
    same("/components/schemas/ToolKind", tool_kinds());
    same("/components/schemas/FollowUpDecidedEvent/properties/data/properties/action", follow_up_actions());
    same("/components/schemas/RunStatus", statuses());
    same("/components/schemas/ThreadStatus", thread_statuses());
    same("/components/schemas/Outcome", outcomes());
    same("/components/schemas/Message/properties/role", roles());
    same("/components/schemas/Failure/properties/code", failure_codes());
    same("/components/schemas/WarningEvent/properties/data/properties/code", warning_codes());
}

/// Readers of a code in the document prepare for it, so each is given somewhere in the program: beside the tables
/// of codes themselves.
#[test]
fn every_code_is_produced_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut all, mut beside_the_domain) = (String::new(), String::new());
    read_sources(&root, &mut |path, text| {
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        let dense: String = own.split_whitespace().collect();
        if !path.starts_with(root.join("domain")) {
            beside_the_domain.push_str(&dense);
        }
        all.push_str(&dense);
    });
    for code in Code::ALL {
        let ways = ["new(Code::", "at(Code::", "of_limits(Code::", "=>Code::", "{Code::"];
        let given = ways.iter().any(|how| all.contains(&format!("{how}{code:?}")));
        assert!(given, "nothing answers with {}", code.as_str());
    }
    assert_eq!(FailureCode::ALL.to_vec(), failure_codes());
    for code in failure_codes() {
        assert!(beside_the_domain.contains(&format!("FailureCode::{code:?}")), "no run fails with {code:?}");
    }
    for code in warning_codes() {
        assert!(beside_the_domain.contains(&format!("WarningCode::{code:?}")), "nothing warns of {code:?}");
    }
}

/// Who is woken at 2 a.m. looks there for what a screen says.
#[test]
fn the_runbook_has_every_code_and_every_series() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let runbook = fs::read_to_string(root.join("docs/operations.md")).unwrap();
    let of_runs = [names(&json!(failure_codes())), names(&json!(warning_codes()))].into_iter().flatten();
    for code in of_runs.chain(Code::ALL.into_iter().map(|code| code.as_str().to_owned())) {
        assert!(runbook.contains(&format!("`{code}`")), "docs/operations.md does not say what to do about {code}");
    }
    let declared = fs::read_to_string(root.join("src/telemetry/metrics.rs")).unwrap();
    let declared: BTreeSet<&str> = declared.split('"').filter(|text| is_series(text)).collect();
    assert!(declared.len() > 10, "{declared:?}");
    let words = runbook.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let documented: BTreeSet<&str> = words
        .filter(|word| is_series(word))
        .map(|word| ["_bucket", "_count", "_sum"].iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word))
        .collect();
    assert_eq!(documented, declared);
}

fn is_series(text: &str) -> bool {
    text.len() > "fathom_".len()
        && text.starts_with("fathom_")
        && text.chars().all(|character| character.is_ascii_lowercase() || character == '_')
}

fn read_sources(folder: &Path, visit: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}
