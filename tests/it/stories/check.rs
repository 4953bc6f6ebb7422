//! What holds for every run, however it ended.

use std::collections::BTreeMap;

use fathom::{
    domain::{Agent, Event, MessageRole, Outcome, RunStatus, Usage, digest::sha256_hex},
    runs::Ended,
};

use super::engine::Story;

/// The promises that no story may break.
pub fn check(story: &Story) {
    numbers_have_no_gaps(story);
    one_terminal_event_is_last(story);
    the_row_agrees_with_the_ending(story);
    researchers_and_calls_end(story);
    the_ledger_adds_up(story);
    if story.report.is_some() {
        deltas_are_the_report(story);
        citations_are_real(story);
    }
}

fn numbers_have_no_gaps(story: &Story) {
    let numbers: Vec<_> = story.events.iter().map(|envelope| envelope.seq).collect();
    let expected: Vec<_> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected);
}

fn one_terminal_event_is_last(story: &Story) {
    let terminal: Vec<_> = story.own().filter(|event| event.is_terminal()).collect();
    assert_eq!(terminal.len(), 1, "{terminal:?}");
    assert_eq!(story.own().last(), terminal.first().copied());
}

fn the_row_agrees_with_the_ending(story: &Story) {
    let run = &story.run;
    let answer =
        story.messages.iter().find(|message| message.role == MessageRole::Assistant && message.run_id == Some(run.id));
    match (&story.ended, story.own().last().unwrap()) {
        (Ended::Completed(outcome), Event::RunCompleted { outcome: published, .. }) => {
            assert_eq!((run.status, run.outcome, &run.error), (RunStatus::Completed, Some(*outcome), &None));
            assert_eq!(published, outcome);
            assert_eq!(story.report.is_some(), matches!(outcome, Outcome::Report | Outcome::Answer));
            let said = &answer.expect("a completed run answers").content;
            if let Some(report) = &story.report {
                assert_eq!(said, &report.markdown);
            }
        }
        (Ended::Failed(failure), Event::RunFailed { problem }) => {
            assert_eq!((run.status, run.error.as_ref(), run.outcome), (RunStatus::Failed, Some(failure), None));
            assert_eq!(problem, failure);
            assert!(!failure.message.trim().is_empty());
            assert!(story.report.is_none() && answer.is_none(), "an error is never content");
        }
        (Ended::Cancelled, Event::RunCancelled { .. }) => assert_eq!(run.status, RunStatus::Cancelled),
        other => panic!("the ending and the last event differ: {other:?}"),
    }
    assert!(run.finished_at.is_some());
}

/// Whatever starts also ends, unless the run itself was ended in the middle.
fn researchers_and_calls_end(story: &Story) {
    if !matches!(story.ended, Ended::Completed(_)) {
        return;
    }
    let mut open: BTreeMap<String, i32> = BTreeMap::new();
    for envelope in story.envelopes() {
        let scope = envelope.scope.id.clone().unwrap_or_default();
        let (key, change) = match &envelope.event {
            Event::ResearcherStarted { .. } => (format!("researcher {scope}"), 1),
            Event::ResearcherFinished { .. } | Event::ResearcherFailed { .. } => (format!("researcher {scope}"), -1),
            Event::ToolStarted { tool_call_id, .. } => (format!("call {scope} {tool_call_id}"), 1),
            Event::ToolFinished { tool_call_id, .. } | Event::ToolFailed { tool_call_id, .. } => {
                (format!("call {scope} {tool_call_id}"), -1)
            }
            Event::PhaseStarted { phase } => (format!("phase {}", phase.as_str()), 1),
            Event::PhaseFinished { phase } => (format!("phase {}", phase.as_str()), -1),
            _ => continue,
        };
        let is_researchers = matches!(envelope.event, Event::ToolStarted { .. } | Event::ResearcherStarted { .. });
        assert!(!is_researchers || envelope.scope.agent == Agent::Researcher, "{envelope:?}");
        *open.entry(key).or_default() += change;
    }
    // A clarifying question ends the run inside its phase.
    open.retain(|key, count| *count != 0 && key != "phase clarify");
    assert!(open.is_empty(), "started and not ended, or ended twice: {open:?}");
}

fn the_ledger_adds_up(story: &Story) {
    let mut of_steps = Usage::default();
    story
        .steps
        .iter()
        .filter(|step| !step.inherited)
        .filter_map(|step| step.call.as_ref())
        .for_each(|call| of_steps += call.usage);
    assert_eq!(of_steps, story.usage);
    let mut of_events = Usage::default();
    let mut usage_events = 0;
    for event in story.own() {
        if let Event::Usage { tokens, .. } = event {
            of_events += *tokens;
            usage_events += 1;
        }
    }
    assert_eq!(of_events, story.usage);
    assert_eq!(usage_events, story.steps.iter().filter(|step| step.call.is_some() && !step.inherited).count());
    if let Some(Event::RunCompleted { usage, .. }) = story.own().last() {
        assert_eq!(*usage, story.usage);
    }
}

/// The deltas of the last attempt, put together, are the stored report; their offsets count characters.
fn deltas_are_the_report(story: &Story) {
    let report = story.report();
    let mut attempts = 0;
    let mut text = String::new();
    for event in story.own() {
        match event {
            Event::ReportStarted { attempt } => {
                assert!(*attempt > attempts, "attempts rise");
                attempts = *attempt;
                text.clear();
            }
            Event::ReportDelta { attempt, offset, text: more } => {
                assert_eq!((*attempt, *offset), (attempts, text.chars().count()));
                text.push_str(more);
            }
            Event::ReportFinished { attempt, chars, sha256: sum, dropped_citations, .. } => {
                assert_eq!((*attempt, *chars), (attempts, text.chars().count()));
                assert_eq!(*sum, sha256_hex(text.as_bytes()));
                assert_eq!(*dropped_citations, report.dropped_citations);
            }
            _ => {}
        }
    }
    assert_eq!(text, report.markdown);
    assert!(!report.markdown.trim().is_empty());
    assert_eq!(story.named("report.finished").len(), 1);
}

/// Numbers are contiguous in order of first use, stand where they are said to, and each is a source of this run.
fn citations_are_real(story: &Story) {
    let report = story.report();
    let characters: Vec<char> = report.markdown.chars().collect();
    let (mut highest, mut by_number) = (0, BTreeMap::new());
    for citation in &report.citations {
        let shown: String = characters[citation.start..citation.end].iter().collect();
        assert_eq!(shown, format!("[{}]", citation.number));
        assert!(citation.number <= highest + 1, "numbers rise one by one");
        highest = highest.max(citation.number);
        let source = story.sources.iter().find(|source| source.id == citation.source_id);
        let source = source.unwrap_or_else(|| panic!("{} is no source of this run", citation.source_id));
        let other = by_number.insert(citation.number, source.id);
        assert!(other.is_none_or(|other| other == source.id), "one number, one source");
        let line = format!("- [{}] ", citation.number);
        let listed = report.markdown.lines().find(|listed| listed.starts_with(&line)).expect("each number is listed");
        let shown = source.url.replace('[', "%5B").replace(']', "%5D");
        assert!(listed.ends_with(&shown), "{listed} for {}", source.url);
    }
    let published = last_attempt(story).filter_map(|event| match event {
        Event::ReportCitation { number, source_id, start, end, .. } => Some((*number, *source_id, *start, *end)),
        _ => None,
    });
    let published: Vec<_> = published.collect();
    let stored: Vec<_> = report.citations.iter().map(|c| (c.number, c.source_id, c.start, c.end)).collect();
    assert_eq!(published, stored);
    let addresses = report.markdown.split("http").skip(1).map(|rest| format!("http{rest}"));
    for address in addresses.filter(|address| address.contains("://")) {
        let address = address.replace("%5B", "[").replace("%5D", "]");
        let known = story.sources.iter().any(|source| address.starts_with(&source.url));
        assert!(known, "an address that was never retrieved: {}", address.lines().next().unwrap());
    }
}

fn last_attempt(story: &Story) -> impl Iterator<Item = &Event> {
    let begin = story.own().filter(|event| matches!(event, Event::ReportStarted { .. })).count();
    let mut seen = 0;
    story.own().filter(move |event| {
        seen += usize::from(matches!(event, Event::ReportStarted { .. }));
        seen == begin
    })
}
