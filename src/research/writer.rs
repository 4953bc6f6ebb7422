//! Notes to final report, streamed, its citations resolved against the sources as it comes.
//!
//! Each time the writing starts again (a retry, a restart of the process) is an attempt of its own; the deltas of the
//! last attempt, put together, are the stored report byte for byte.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Conversation, Findings,
    brief::Brief,
    citations::Resolver,
    contradictions,
    cut::{self, OpenWord},
    draft::{Draft, settle},
    earlier::EarlierFindings,
    evidence, language, material,
    questions::{self, Judged},
    verify,
};
use crate::{
    aside::aside,
    context::{Cx, Error, Role, TextSink, Unanswered},
    domain::{
        Event, Failure, FailureCode, Note, Source, Verify, WarningCode,
        claim::{Contradiction, VerdictCounts},
        digest,
        limits::Limits,
        report::{Citation, Report},
        wording::Wording,
    },
    journal::Stop,
    llm::{Completion, Message, StopReason, Text},
    offline::{self, Task},
};

/// Answers put together when the output limit cuts one off.
const PIECES: u32 = 6;
/// How often a text is begun whose stream breaks off, after waits that double to half a minute: what came before was
/// paid for, so this is bounded closer than calls that bring nothing.
const BREAKS: u32 = 12;
/// The same of streams that fall silent, which costs minutes each time, and of those whose server has no room for the
/// rest: it may have, once it answers fewer calls.
const SILENCES: u32 = 3;
/// Report text is passed on at least this often.
const DELTA_TIME: Duration = Duration::from_millis(50);
/// Bytes that are resolved without a break: a few milliseconds' work.
const PIECE_BYTES: usize = 16 * 1024;
/// Characters of a delta of a report that is published as a whole.
const DELTA_CHARS: usize = 8_000;

/// Writes the report from what was found, now and before.
///
/// # Errors
/// When the model fails for good or keeps answering with nothing; the notes remain.
pub async fn write(
    cx: &Cx,
    conversation: &Conversation,
    brief: &Brief,
    findings: &Findings,
    known: Option<&EarlierFindings>,
) -> Result<Report, Error> {
    let sources = cx.sources();
    let brief = &brief.text;
    let all: Vec<Note> = material::notes(findings, known).cloned().collect();
    let evidence = evidence::of_notes(&all, &sources).await;
    let prompt = material::prompt(cx, conversation, brief, findings, known, (&sources, &evidence)).await?;
    let (task, differing) = (material::task(brief, findings, known, &sources), contradictions::of_evidence(&evidence));
    // The model writes for a while, and many runs wait for theirs.
    drop((sources, all, evidence));
    let asked = conversation.question();
    let question = format!("{brief}\n{asked}");
    let about = About {
        question: &question,
        asked: Some(&asked),
        sub_questions: &findings.questions,
        contradictions: &differing,
        before: None,
    };
    compose(cx, "report", about, prompt, task).await
}

/// What a text is to answer.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub question: &'a str,
    /// The user's own words, in whose language the text is to be; `None` where the user may want another one.
    pub asked: Option<&'a str>,
    pub contradictions: &'a [Contradiction],
    pub sub_questions: &'a [Judged],
    /// The limits of the report that the text is another form of.
    pub before: Option<&'a Limits>,
}

/// Has the model write a text with citations, which its readers see grow; `name` says what it is, and is its journal
/// key.
///
/// # Errors
/// As [`write()`].
pub async fn compose(cx: &Cx, name: &'static str, about: About<'_>, prompt: Text, task: Task) -> Result<Report, Error> {
    let (attempt, sources) = (cx.report_attempts(), if is_declined(cx, &task) { Vec::new() } else { cx.sources() });
    let mut writing = Writing {
        cx,
        name,
        calls: 0,
        failed: Failed::default(),
        attempt,
        has_thought: false,
        page: None,
        sources: sources.into(),
    };
    let mut messages = vec![Message::User { content: prompt }];
    let (task, mut written) = (Arc::new(task), Vec::new());
    for piece in 1..=PIECES {
        let has_thought = writing.has_thought;
        let completion = match writing.piece(&messages, &task, &written).await {
            Err(Error::Failed(failure)) if piece > 1 => {
                writing.keep(own_wording(cx, &task), &written).await?;
                writing.is_cut(&format!(", and could not be continued: {failure}")).await?;
                break;
            }
            completion => completion?,
        };
        if writing.has_thought && !has_thought {
            // What the output limit had cut off before was the beginning of that thinking.
            written.clear();
            messages.truncate(1);
        }
        if completion.stop == StopReason::Refused {
            let detail = format!("the {name} was cut off by the provider's filter");
            cx.warn(&format!("{name}/filtered"), WarningCode::OutputCut, detail).await?;
            cx.limit(|limits| limits.is_withheld = true);
        }
        if completion.stop != StopReason::Length {
            break;
        }
        let whole = cut::whole_words(&completion.text).to_owned();
        messages.push(Message::assistant(whole.clone()));
        messages.push(Message::user(cx.prompts().text("continue_text", ())));
        written.push(whole);
        if piece == PIECES {
            writing.is_cut("").await?;
        }
    }
    writing.finish(about).await
}

/// A report or an answer in the making.
struct Writing<'a> {
    cx: &'a Cx,
    /// Which of them.
    name: &'static str,
    /// Model calls so far, failed ones included: the last part of their keys.
    calls: u32,
    failed: Failed,
    attempt: u32,
    /// Whether a piece began with thinking that nothing had opened.
    has_thought: bool,
    page: Option<Page<'a>>,
    sources: Arc<[Source]>,
}

impl<'a> Writing<'a> {
    /// Returns the next piece of text; on failure everything is written again, as often as that failure allows.
    async fn piece(&mut self, messages: &[Message], task: &Arc<Task>, written: &[String]) -> Result<Completion, Error> {
        loop {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.start(own_wording(self.cx, task), written).await?,
            };
            self.calls += 1;
            let key = if self.calls == 1 { self.name.to_owned() } else { format!("{}/{}", self.name, self.calls) };
            let request = self.cx.request(Role::FinalReport, messages.to_vec(), Arc::clone(task));
            let mut answer = self.cx.ask_streaming(&key, Role::FinalReport, request, &mut page).await?;
            // What began with a title was no thought, so nothing behind it ends one.
            let is_titled = written.first().is_some_and(|first| first.trim_start().starts_with('#'));
            let may_think = self.has_thought || !is_titled;
            let thought_aloud = may_think && answer.as_mut().is_ok_and(Completion::drop_unopened_thinking);
            // The first end of such thinking is that of all that was written before.
            let written = if thought_aloud && !self.has_thought { &[] } else { written };
            let broken = match answer {
                Ok(completion) if !completion.text.trim().is_empty() || !written.is_empty() => {
                    if thought_aloud {
                        self.has_thought = true;
                        page = self.start(own_wording(self.cx, task), written).await?;
                        page.take(&completion.text).await?;
                    }
                    page.end_piece(&completion).await;
                    self.page = Some(page);
                    return Ok(completion);
                }
                Ok(completion) if completion.stop == StopReason::Refused => {
                    let message = format!("the provider's filter withheld the {}", self.name);
                    return Err(Failure::new(FailureCode::ModelRefused, message).into());
                }
                Ok(completion) => Unanswered::useless(Failure::new(FailureCode::ModelOutput, nothing(&completion))),
                Err(broken) if !broken.is_final && is_passing(broken.failure.code) => broken,
                Err(broken) => return Err(broken.failure.into()),
            };
            if !self.failed.leaves_another(broken.failure.code, self.cx.options().max_structured_output_retries) {
                return Err(broken.failure.into());
            }
            let what = format!("the {} is written again", self.name);
            self.cx.pause(&format!("{key}/again"), Role::FinalReport, self.failed.all(), broken, &what).await?;
        }
    }

    /// Keeps the finished pieces as the whole text.
    async fn keep(&mut self, wording: Option<&'static Wording>, written: &[String]) -> Result<(), Error> {
        self.page = Some(self.start(wording, written).await?);
        Ok(())
    }

    /// Says that the text ends where the output limit cut it off.
    async fn is_cut(&self, and: &str) -> Result<(), Error> {
        let (cx, name) = (self.cx, self.name);
        let detail = format!("the {name} was cut off by the output limit{and}");
        cx.warn(&format!("{name}/cut"), WarningCode::OutputCut, detail).await?;
        cx.limit(|limits| limits.is_cut = true);
        Ok(())
    }

    /// Returns a new attempt, with the finished pieces on it already.
    async fn start(&mut self, wording: Option<&'static Wording>, written: &[String]) -> Result<Page<'a>, Error> {
        self.attempt += 1;
        self.cx.emit(vec![Event::ReportStarted { attempt: self.attempt }]).await?;
        let mut page = Page::new(self.cx, self.attempt, Arc::clone(&self.sources), wording);
        for piece in written {
            page.write(piece).await;
        }
        page.flush().await?;
        Ok(page)
    }

    /// Settles the text, holds it against its sources, and publishes what is left to publish.
    async fn finish(self, about: About<'_>) -> Result<Report, Error> {
        let Some(mut page) = self.page else {
            return Err(Failure::new(FailureCode::Internal, "no report was written").into());
        };
        let draft = page.settle().await?;
        page.show_text(&draft).await?;
        let (draft, other_language) = language::corrected(self.cx, self.name, about.asked, draft).await?;
        let mut draft = verify::verified(self.cx, self.name, about.question, draft).await?;
        let judged = questions::by_report(self.cx, self.name, about.sub_questions, &draft.report).await?;
        draft.report.sub_questions = questions::in_report(&judged, &draft.report, &self.sources);
        draft.report.contradictions =
            contradictions::in_report(self.cx, self.name, about.contradictions, &draft.report).await?;
        let mut limits = self.cx.limits();
        if let Some(before) = about.before {
            limits = limits.resting_on(before);
        }
        draft.report.limits = Box::new(limits.of_research());
        limits.add_questions(&draft.report.sub_questions);
        limits.other_language = other_language.map(|(asked, written)| (asked.to_owned(), written.to_owned()));
        (limits.repaired, limits.still_unsupported) = (draft.repaired, draft.still_wrong);
        let open = draft.report.contradictions.iter().filter(|one| !one.settled).cloned();
        limits.open_contradictions = open.collect();
        add_limits(&mut draft.report, &limits, page.wording);
        page.finish(draft).await
    }
}

/// Calls of a text that failed, by what was wrong.
#[derive(Debug, Default)]
struct Failed {
    useless: u32,
    silent: u32,
    broken: u32,
}

impl Failed {
    /// Counts one more. May the text be begun again? `useless` bounds answers that say nothing.
    fn leaves_another(&mut self, code: FailureCode, useless: u32) -> bool {
        let (count, most) = match code {
            FailureCode::ModelOutput => (&mut self.useless, useless),
            FailureCode::Timeout | FailureCode::ContextWindow => (&mut self.silent, SILENCES),
            _ => (&mut self.broken, BREAKS),
        };
        *count += 1;
        *count < most
    }

    fn all(&self) -> u32 {
        self.useless + self.silent + self.broken
    }
}

/// Returns whether a message is declined for want of a language model. Such an answer rests on no source.
fn is_declined(cx: &Cx, task: &Task) -> bool {
    matches!(task, Task::Answer { .. }) && cx.options().final_report_model.first().is_offline()
}

/// Returns the words that code adds to a report of the offline model, most of which is quoted in whatever language
/// the sources are in; of all others the text says in which language it is.
fn own_wording(cx: &Cx, task: &Task) -> Option<&'static Wording> {
    let is_offline = cx.options().final_report_model.first().is_offline();
    let Task::Report { brief, .. } = task else { return None };
    is_offline.then(|| offline::wording(brief))
}

/// Returns why an answer says nothing.
fn nothing(completion: &Completion) -> String {
    match completion.stop {
        StopReason::Length => {
            let option = Role::FinalReport.limit_option();
            format!("the model used all the tokens that {option} gives it, raised as far as it goes, and wrote nothing")
        }
        _ => "the model answered with nothing".to_owned(),
    }
}

/// Returns whether the same call, made again, may go better.
fn is_passing(code: FailureCode) -> bool {
    use FailureCode::{ContextWindow, ModelOutput, ModelUnavailable, Timeout};
    matches!(code, ModelUnavailable | Timeout | ModelOutput | ContextWindow)
}

/// The report as its readers see it grow.
struct Page<'a> {
    cx: &'a Cx,
    attempt: u32,
    resolver: Resolver,
    /// What code writes, where the text does not say in which language.
    wording: Option<&'static Wording>,
    sources: Arc<[Source]>,
    text: String,
    /// The last word of the model's text: left out if the output limit cut it off.
    word: OpenWord,
    /// Resolved text not yet passed on, and since when.
    held: String,
    held_since: Option<Instant>,
    /// Unicode scalar values passed on.
    offset: usize,
    citations_sent: usize,
}

impl<'a> Page<'a> {
    fn new(cx: &'a Cx, attempt: u32, sources: Arc<[Source]>, wording: Option<&'static Wording>) -> Self {
        Self {
            cx,
            attempt,
            resolver: Resolver::new(Arc::clone(&sources)).in_words_of(wording),
            wording,
            sources,
            text: String::new(),
            word: OpenWord::default(),
            held: String::new(),
            held_since: None,
            offset: 0,
            citations_sent: 0,
        }
    }

    /// Resolves more of the model's text; of a long one a piece at a time, so that others get their turn between.
    async fn write(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
            let resolved = self.resolver.push(piece);
            self.hold(&resolved);
            rest = later;
            if !rest.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Settles the last word of an answer, by what is kept of the whole answer.
    async fn end_piece(&mut self, completion: &Completion) {
        let rest = self.word.end(&completion.text, completion.stop == StopReason::Length);
        self.write(rest).await;
    }

    fn hold(&mut self, text: &str) {
        if !text.is_empty() {
            self.held.push_str(text);
            self.held_since.get_or_insert_with(Instant::now);
        }
    }

    fn new_citations(&mut self) -> Vec<Event> {
        let all = self.resolver.citations();
        let new = &all[self.citations_sent..];
        let events = self.citation_events(new);
        self.citations_sent = all.len();
        events
    }

    fn citation_events(&self, citations: &[Citation]) -> Vec<Event> {
        let events = citations.iter().filter_map(|citation| {
            let source = self.sources.iter().find(|source| source.id == citation.source_id)?;
            Some(Event::ReportCitation {
                number: citation.number,
                source_id: citation.source_id,
                start: citation.start,
                end: citation.end,
                url: source.url.clone(),
                title: source.title.clone(),
            })
        });
        events.collect()
    }

    /// Returns the whole text; what is not passed on yet is kept back.
    async fn settle(&mut self) -> Result<Draft, Error> {
        let mut resolver = std::mem::replace(&mut self.resolver, Resolver::new([]));
        let rest = resolver.finish();
        let streamed = format!("{}{}{rest}", self.text, std::mem::take(&mut self.held));
        self.held_since = None;
        // A long report takes time.
        Ok(aside(move || settle(resolver, streamed)).await?)
    }

    async fn finish(mut self, draft: Draft) -> Result<Report, Error> {
        let Draft { resolver, report, as_streamed, repaired, .. } = draft;
        self.resolver = resolver;
        match report.markdown.strip_prefix(&self.text).filter(|_| as_streamed) {
            Some(rest) => self.pass_on(rest, &report.citations).await?,
            None => self.publish(&report).await?,
        }
        self.warn_of_removals(&report).await?;
        if self.cx.options().verify != Verify::Off && !report.citations.is_empty() {
            let counts = VerdictCounts::of(&report.claims);
            self.cx.emit(vec![Event::ClaimsChecked { counts, repaired }]).await?;
        }
        if !report.sub_questions.is_empty() {
            let sub_questions = report.sub_questions.clone();
            self.cx.emit(vec![Event::SubQuestionsDecided { sub_questions }]).await?;
        }
        let finished = Event::ReportFinished {
            attempt: self.attempt,
            chars: self.offset,
            sources: self.resolver.cited(),
            dropped_citations: report.dropped_citations,
            degraded: report.is_degraded(),
            sha256: digest::sha256_hex(report.markdown.as_bytes()),
        };
        self.cx.emit(vec![finished]).await?;
        Ok(report)
    }

    /// Passes on the text, so that nobody waits for it while it is checked.
    async fn show_text(&mut self, draft: &Draft) -> Result<(), Stop> {
        let (text, _) = draft.report.parts();
        match text.strip_prefix(&self.text).filter(|_| draft.as_streamed) {
            Some(rest) => self.pass_on(rest, &draft.report.citations).await,
            None => Ok(()),
        }
    }

    /// Passes on what readers have not seen yet.
    async fn pass_on(&mut self, rest: &str, citations: &[Citation]) -> Result<(), Stop> {
        let mut events = Vec::new();
        self.text.push_str(rest);
        if !rest.is_empty() {
            events.push(Event::ReportDelta { attempt: self.attempt, offset: self.offset, text: rest.to_owned() });
            self.offset += rest.chars().count();
        }
        events.extend(self.citation_events(citations.get(self.citations_sent..).unwrap_or_default()));
        self.citations_sent = citations.len();
        self.cx.emit(events).await
    }

    /// Publishes the whole report as a new attempt, since what readers have seen cannot be taken back.
    async fn publish(&mut self, report: &Report) -> Result<(), Stop> {
        self.attempt += 1;
        self.offset = 0;
        let mut events = vec![Event::ReportStarted { attempt: self.attempt }];
        let chars: Vec<char> = report.markdown.chars().collect();
        for part in chars.chunks(DELTA_CHARS) {
            let text = part.iter().collect();
            events.push(Event::ReportDelta { attempt: self.attempt, offset: self.offset, text });
            self.offset += part.len();
        }
        events.extend(self.citation_events(&report.citations));
        self.cx.emit(events).await
    }

    async fn warn_of_removals(&self, report: &Report) -> Result<(), Stop> {
        let (dropped, removed) = (report.dropped_citations, self.resolver.removed());
        let mut details = Vec::new();
        if dropped > 0 {
            details
                .push(format!("{dropped} citations or links pointed to nothing this run retrieved and were removed"));
        }
        if removed > 0 {
            details.push(format!("{removed} lines or tags were removed: lists of sources, addresses of links, HTML"));
        }
        if details.is_empty() {
            return Ok(());
        }
        self.cx.warn("report/dropped", WarningCode::CitationsDropped, details.join("; ")).await
    }
}

/// Writes the section on the limits above the list of sources.
fn add_limits(report: &mut Report, limits: &Limits, wording: Option<&'static Wording>) {
    let wording = wording.unwrap_or_else(|| report.wording());
    let section = limits.section(&report.claims, &report.citations, wording);
    if section.is_empty() {
        return;
    }
    let (text, list) = report.parts();
    let gap = match text {
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let between = if list.is_empty() { "" } else { "\n" };
    report.markdown = format!("{text}{gap}{section}{between}{list}");
}

impl TextSink for Page<'_> {
    async fn take(&mut self, text: &str) -> Result<(), Stop> {
        let whole = self.word.push(text);
        self.write(&whole).await;
        match self.held_since {
            Some(since) if since.elapsed() >= DELTA_TIME => self.flush().await,
            _ => Ok(()),
        }
    }

    fn is_due(&self) -> impl Future<Output = ()> + Send {
        let since = self.held_since;
        async move {
            match since {
                Some(since) => tokio::time::sleep_until(since + DELTA_TIME).await,
                None => std::future::pending().await,
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        if self.held.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.held);
        self.held_since = None;
        self.text.push_str(&text);
        let chars = text.chars().count();
        let mut events = vec![Event::ReportDelta { attempt: self.attempt, offset: self.offset, text }];
        self.offset += chars;
        events.extend(self.new_citations());
        self.cx.emit(events).await
    }
}
