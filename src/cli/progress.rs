//! Live progress of a run on standard error, drawn from its events alone.
//!
//! On a terminal: a line of totals and one per working researcher. Elsewhere: a plain line per event.

use std::{collections::HashMap, time::Duration};

use futures::StreamExt;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{complain, print};
use crate::{
    domain::{
        Agent, AnswerStatus, Envelope, Event, RunId, SubQuestion, Timestamp, ToolKind, Usage, claim::VerdictCounts,
        printable_line, shortened,
    },
    events::EventLog,
};

/// Characters of a topic, query or thought on one line of a terminal.
const WIDTH: usize = 100;
/// The width in a log, where nothing is cut but what would flood it.
const LOG_WIDTH: usize = 4_000;

/// Standard error, with bars at its lower end when it is a terminal that can draw them; a cheap clone.
#[derive(Clone, Debug)]
pub struct Screen {
    bars: Option<MultiProgress>,
}

impl Screen {
    pub fn new() -> Self {
        let bars = MultiProgress::new();
        Self { bars: (!bars.is_hidden()).then_some(bars) }
    }

    /// Says something while the bars are out of its way.
    pub fn say(&self, message: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| complain(message)),
            None => complain(message),
        }
    }
}

/// Shows the run until its end. Stops quietly when the log cannot be read: the run itself goes on.
pub async fn show(screen: &Screen, log: &EventLog, run_id: RunId) {
    let mut display = match &screen.bars {
        Some(bars) => Display::Live(Live::new(bars.clone())),
        None => Display::Plain(Plain::default()),
    };
    let mut events = std::pin::pin!(log.follow_run(run_id, 0));
    while let Some(Ok(envelope)) = events.next().await {
        match &mut display {
            Display::Live(live) => live.take(&envelope),
            Display::Plain(plain) => plain.take(&envelope),
        }
    }
}

enum Display {
    Live(Live),
    Plain(Plain),
}

/// A line per event, with seconds since the first one.
#[derive(Default)]
struct Plain {
    first: Option<Timestamp>,
    chars: usize,
}

impl Plain {
    fn take(&mut self, envelope: &Envelope) {
        let first = *self.first.get_or_insert(envelope.ts);
        if let Event::ReportDelta { text, .. } = &envelope.event {
            self.chars += text.chars().count();
            return;
        }
        let Some(text) = begun(envelope).or_else(|| described(&envelope.event, LOG_WIDTH)) else { return };
        let who = envelope.scope.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are few")]
        let seconds = envelope.ts.since(first) as f64 / 1000.0;
        print::error(&format!("{seconds:8.1}s {who}{text}\n"));
    }
}

/// Bars on a terminal.
struct Live {
    bars: MultiProgress,
    totals: ProgressBar,
    researchers: HashMap<String, ProgressBar>,
    phase: &'static str,
    searches: usize,
    sources: usize,
    chars: usize,
    usage: Usage,
}

impl Live {
    fn new(bars: MultiProgress) -> Self {
        let totals = spinner(&bars, "");
        Self {
            bars,
            totals,
            researchers: HashMap::new(),
            phase: "starting",
            searches: 0,
            sources: 0,
            chars: 0,
            usage: Usage::default(),
        }
    }

    fn take(&mut self, envelope: &Envelope) {
        self.count(&envelope.event);
        if let Some(text) = begun(envelope) {
            let _ = self.bars.println(text);
        }
        match (&envelope.scope.agent, &envelope.scope.id) {
            (Agent::Researcher, Some(id)) => self.researcher(id.clone(), &envelope.event),
            _ => self.lasting(&envelope.event),
        }
        let total = format!(
            "{} · {} · {} · {} tokens{}",
            self.phase,
            counted(self.searches, "search", "searches"),
            counted(self.sources, "source", "sources"),
            thousands(self.usage.total()),
            if self.chars > 0 { format!(" · {} characters written", self.chars) } else { String::new() },
        );
        self.totals.set_message(total);
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { phase } => self.phase = phase.as_str(),
            Event::ToolStarted { kind: ToolKind::Search, .. } => self.searches += 1,
            Event::SourceFound { .. } => self.sources += 1,
            Event::Usage { tokens, .. } => self.usage += *tokens,
            Event::ReportStarted { .. } => self.chars = 0,
            Event::ReportDelta { text, .. } => self.chars += text.chars().count(),
            _ => {}
        }
    }

    fn researcher(&mut self, id: String, event: &Event) {
        let bars = &self.bars;
        let bar = self.researchers.entry(id.clone()).or_insert_with(|| spinner(bars, "  "));
        match event {
            Event::Warning { .. } | Event::SignInRequired { .. } => {
                drop(self.bars.println(format!("  {id} {}", described(event, WIDTH).unwrap_or_default())))
            }
            Event::ResearcherFinished { .. } | Event::ResearcherFailed { .. } => {
                bar.finish_and_clear();
                let _ = self.bars.println(format!("  {id} {}", described(event, WIDTH).unwrap_or_default()));
            }
            Event::Usage { .. } => {}
            event => {
                if let Some(text) = described(event, WIDTH) {
                    bar.set_message(format!("{id} {text}"));
                }
            }
        }
    }

    /// Writes the events whose lines stay on the screen.
    fn lasting(&self, event: &Event) {
        let stays = matches!(
            event,
            Event::BriefCreated { .. }
                | Event::FollowUpDecided { .. }
                | Event::Warning { .. }
                | Event::WaitEnded { .. }
                | Event::RunFailed { .. }
                | Event::RunResumed { .. }
        );
        if let Some(text) = described(event, WIDTH).filter(|_| stays) {
            let _ = self.bars.println(text);
        }
    }
}

/// Clears all bars, so that no line looks as if something still went on.
impl Drop for Live {
    fn drop(&mut self) {
        self.researchers.values().for_each(ProgressBar::finish_and_clear);
        self.totals.finish_and_clear();
    }
}

/// Adds a spinner. It ticks only once it is one of the bars: before, it would draw itself on a line of its own.
fn spinner(bars: &MultiProgress, indent: &str) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner());
    // The template is constant; a test draws it.
    if let Ok(style) = ProgressStyle::with_template(&format!("{indent}{{spinner}} {{wide_msg}} {{elapsed}}")) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn checked(counts: &VerdictCounts, repaired: usize) -> String {
    let VerdictCounts { supported, partly, not_supported, not_checkable } = counts;
    let again = if repaired > 0 { format!("; {repaired} were written once more") } else { String::new() };
    format!(
        "statements checked: {supported} supported, {partly} partly, {not_supported} not, {not_checkable} could not be checked{again}"
    )
}

/// Returns how many of the brief's questions the report answers.
fn decided(questions: &[SubQuestion]) -> String {
    let count = |status| questions.iter().filter(|one| one.status == status).count();
    let [answered, partly, not_found] =
        [AnswerStatus::Answered, AnswerStatus::Partly, AnswerStatus::NotFound].map(count);
    format!("questions: {answered} answered, {partly} in part, {not_found} not found")
}

/// Names a run that begins: after a kill, `fathom resume` wants its id.
fn begun(envelope: &Envelope) -> Option<String> {
    matches!(envelope.event, Event::RunStarted { .. }).then(|| format!("run {} started", envelope.run_id))
}

/// One line about an event; `None` for those that only count.
// table of contents: an arm per event
fn described(event: &Event, width: usize) -> Option<String> {
    let line = |text: &str| line(text, width);
    Some(match event {
        Event::RunCreated { .. }
        | Event::RunQueued { .. }
        | Event::RunStarted { .. }
        | Event::ModelStarted { .. }
        | Event::PhaseFinished { .. }
        | Event::ReportDelta { .. }
        | Event::ReportCitation { .. }
        | Event::StreamGap { .. }
        | Event::StreamRewound { .. } => return None,
        Event::ThreadDeleted {} => "deleted, with all that was found".to_owned(),
        Event::RunResumed { attempt } => format!("run resumed, attempt {attempt}"),
        Event::PhaseStarted { phase } => format!("phase: {}", phase.as_str()),
        Event::FollowUpDecided { action, reason: None } => format!("follow-up: {}", action.as_str()),
        Event::FollowUpDecided { action, reason: Some(reason) } => {
            format!("follow-up: {} ({})", action.as_str(), line(reason))
        }
        Event::InputRequired { question } => format!("question: {}", line(question)),
        Event::ClarificationSkipped { verification } => format!("clear: {}", line(verification)),
        Event::BriefCreated { brief, .. } => format!("brief: {}", line(brief)),
        Event::SupervisorIteration { n, max } => format!("round {n} of {max}"),
        Event::Thought { text } => format!("thought: {}", line(text)),
        Event::ResearcherStarted { topic, .. } => format!("topic: {}", line(topic)),
        Event::ResearcherFinished { sources, turns, notes_chars, .. } => {
            format!("done: {sources} sources, {turns} turns, {notes_chars} characters of notes")
        }
        Event::ResearcherFailed { problem } => format!("failed: {}", line(&problem.message)),
        Event::ToolStarted { .. }
        | Event::ToolProgress { .. }
        | Event::ToolFinished { .. }
        | Event::ToolFailed { .. }
        | Event::SignInRequired { .. } => return of_tool(event, width),
        Event::SourceFound { source_id, title, url, .. } => {
            format!("source {source_id}: {} ({})", line(title), line(url))
        }
        Event::SummaryFinished { url, .. } => format!("read: {}", line(url)),
        Event::CompressStarted {} => "compressing findings".to_owned(),
        Event::CompressFinished { chars_in, chars_out } => format!("compressed: {chars_in} to {chars_out} characters"),
        Event::ReportStarted { attempt } => format!("writing the report, attempt {attempt}"),
        Event::ClaimsChecked { counts, repaired } => checked(counts, *repaired),
        Event::SubQuestionsDecided { sub_questions } => decided(sub_questions),
        Event::ReportFinished { chars, sources, .. } => format!("report: {chars} characters, {sources} sources cited"),
        Event::Usage { model, role, tokens } => {
            format!("tokens: {} in, {} out ({role}, {model})", tokens.input_tokens, tokens.output_tokens)
        }
        Event::Warning { detail, .. } => format!("warning: {}", line(detail)),
        Event::WaitEnded { name, seconds, .. } => format!("no longer waiting for {}, after {seconds:.0} s", line(name)),
        Event::RunCompleted { usage, ms, .. } => {
            format!(
                "completed in {:.1} s, {} tokens in, {} out",
                *ms as f64 / 1000.0,
                usage.input_tokens,
                usage.output_tokens
            )
        }
        Event::RunFailed { problem } => format!("failed: {}", line(&problem.message)),
        Event::RunCancelled { reason } => format!("cancelled: {}", line(reason)),
    })
}

/// Writes one line about an event of a tool; `None` for others.
fn of_tool(event: &Event, width: usize) -> Option<String> {
    let line = |text: &str| line(text, width);
    Some(match event {
        Event::ToolStarted { name, server: Some(server), args, .. } => line(&format!("{server}: {name} {args}")),
        Event::ToolStarted { name, kind, args, .. } => line(&tool_started(name, *kind, args)),
        Event::ToolProgress { name, progress, total, message, .. } => {
            let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
            line(&format!("{name}: {progress}{of} {}", message.as_deref().unwrap_or_default()))
        }
        Event::ToolFinished { results, .. } => format!("found: {}", counted(results.len(), "result", "results")),
        Event::ToolFailed { name, kind, problem, .. } => format!("{} failed: {}", doing(*kind, name), line(problem)),
        // A part of the address would be of no use.
        Event::SignInRequired { server, url, message } => {
            format!("sign-in needed for {}: {} {}", line(server), line(message), printable_line(url))
        }
        _ => return None,
    })
}

/// Returns what a tool does, in a word; one of no certain kind has its name.
fn doing(kind: ToolKind, name: &str) -> &str {
    match kind {
        ToolKind::Search => "search",
        ToolKind::Read => "reading",
        _ => name,
    }
}

/// Returns what a tool is asked for: its one argument, or all of them.
fn tool_started(name: &str, kind: ToolKind, args: &serde_json::Value) -> String {
    let only = args.as_object().filter(|args| args.len() == 1).and_then(|args| args.values().next());
    let asked = only.unwrap_or(args);
    let asked = asked.as_str().map_or_else(|| asked.to_string(), ToOwned::to_owned);
    format!("{}: {asked}", doing(kind, name))
}

/// Returns the start of a text on one line, without what could redraw a terminal.
fn line(text: &str, width: usize) -> String {
    let beginning = text.char_indices().nth(width * 4).map_or(text, |(end, _)| &text[..end]);
    shortened(&printable_line(beginning), width).into_owned()
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> =
        digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_redraw_the_terminal() {
        assert_eq!(line("a\u{1b}[2J\n b", WIDTH), "a [2J b");
        assert_eq!(line(&"x".repeat(500), WIDTH).chars().count(), WIDTH);
        assert_eq!(line(&"x".repeat(500), LOG_WIDTH), "x".repeat(500));
    }

    #[test]
    fn a_decision_is_shown_with_its_reason() {
        let shown = |reason: Option<&str>| {
            let reason = reason.map(ToOwned::to_owned);
            described(&Event::FollowUpDecided { action: crate::domain::FollowUpAction::Answer, reason }, WIDTH).unwrap()
        };
        assert_eq!(shown(None), "follow-up: answer");
        assert_eq!(shown(Some("It is\nall there.")), "follow-up: answer (It is all there.)");
    }

    #[test]
    fn tools_are_known_by_kind() {
        let started = |kind, args| {
            let (tool_call_id, name) = ("c".to_owned(), "a_tool".to_owned());
            described(&Event::ToolStarted { tool_call_id, name, kind, server: None, args }, WIDTH).unwrap()
        };
        let args = serde_json::json!({"queries": ["a", "b"]});
        assert_eq!(started(ToolKind::Search, args), r#"search: ["a","b"]"#);
        assert_eq!(
            started(ToolKind::Read, serde_json::json!({"address": "https://a.test"})),
            "reading: https://a.test"
        );
        assert_eq!(started(ToolKind::External, serde_json::json!({"x": 1, "y": 2})), r#"a_tool: {"x":1,"y":2}"#);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(["0", "1,234", "12,345,678"], [0, 1_234, 12_345_678].map(thousands).each_ref().map(String::as_str));
    }
}
