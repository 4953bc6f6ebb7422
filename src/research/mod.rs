//! Deep research itself: a conversation goes in, a cited report (or one clarifying question) comes out.
//!
//! Plain async code over one door to the outside, [`Cx`]: whatever a stage learns from outside is a step of the
//! journal, so the same code, run again after a crash, goes the same way. Knows no HTTP and no SQL.
//!
//! `turns.rs` is the tool loop of both agents, `calls.rs` the calls of a turn. `statements.rs` takes notes apart and
//! holds them against their sources; `material.rs` gathers what the writer is given, `evidence.rs` makes its cards.
//! `citations/` makes citations real, `claims/` holds cited statements against their sources, `verify.rs` has what
//! fails of a draft (`draft.rs`) written once more, `questions.rs` says how far each sub-question is answered.

mod agent;
mod brief;
mod calls;
mod citations;
pub mod claims;
mod clarify;
mod compress;
mod contradictions;
mod cut;
mod draft;
mod earlier;
mod evidence;
mod follow_up;
#[cfg(fuzzing)]
pub mod fuzzing;
mod language;
mod material;
mod questions;
mod researcher;
mod source_list;
mod statements;
mod supervisor;
mod turns;
mod verify;
mod writer;

use futures::FutureExt;
use tracing::Instrument as _;

use crate::context::Cx;
pub use crate::context::Error;
pub use crate::tools::{self, Toolbox};
use crate::{
    domain::{
        CollectionId, Event, FollowUpAction, Message, MessageRole, Note, RunId, Source, WarningCode,
        event::Phase,
        report::{Report, source_ids},
    },
    journal::Stop,
    prompts::{Flexible, untrusted},
    telemetry::spans,
};
pub use earlier::Earlier;
use earlier::EarlierFindings;

/// What the thread holds when the run starts.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The newest ones, in order; the last one is the user's.
    pub messages: Vec<Message>,
    /// Clarifying questions already asked in this thread.
    pub clarifications: u32,
    /// The thread's runs that ended with a report or an answer.
    pub answered_by: Vec<RunId>,
    /// What the thread's newest report or answer rests on; `None` in a thread without one, or when the run shall not
    /// use it.
    pub earlier: Option<Earlier>,
    /// Collections that the run was to search, and that are not there any more.
    pub missing_collections: Vec<CollectionId>,
}

impl Conversation {
    /// Returns one line per message, as prompts show it, with nothing left in it that could pass for a tag of ours.
    fn flattened(&self, flexible: &mut Flexible) -> String {
        self.messages.iter().map(|message| line(message, flexible)).collect::<Vec<_>>().join("\n")
    }

    /// Replaces the texts that were taken over, so that the conversation has them as models see them: sources by id.
    fn citing_ids(&mut self, known: &EarlierFindings) {
        for message in self.messages.iter_mut().filter(|message| message.role == MessageRole::Assistant) {
            let text = known.texts.iter().find(|(run_id, _)| message.run_id == Some(*run_id));
            if let Some((_, text)) = text {
                message.content.clone_from(text);
            }
        }
    }

    /// Returns what the user wrote since the newest report or answer, in order.
    pub fn question(&self) -> String {
        let answered = self.messages.iter().rposition(|message| {
            message.role == MessageRole::Assistant && message.run_id.is_some_and(|id| self.answered_by.contains(&id))
        });
        let open = &self.messages[answered.map_or(0, |place| place + 1)..];
        let users = open.iter().filter(|message| message.role == MessageRole::User);
        users.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a message on its line. What the assistant wrote may be a whole report, and is shortened when it must be.
fn line(message: &Message, flexible: &mut Flexible) -> String {
    let content = untrusted(&message.content);
    match message.role {
        MessageRole::User => format!("Human: {content}"),
        MessageRole::Assistant => format!("AI: {}", flexible.mark(content)),
    }
}

/// How research ended well.
#[derive(Debug)]
pub enum Ending {
    /// The user has to say more first.
    Question(String),
    Report(Report),
    /// Of a question about an earlier report; a text of the same form.
    Answer(Report),
}

/// What the researchers brought home.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub notes: Vec<Note>,
    /// What is missing and why, one sentence each; the report mentions them.
    pub limits: Vec<String>,
    /// How far the notes answer each sub-question of the brief.
    questions: Vec<questions::Judged>,
}

/// Returns what the newest message of the thread asks for: an answer from earlier findings, another form of the report,
/// or the whole pipeline.
///
/// `toolbox` holds what researchers may call beside the tools that all have.
///
/// # Errors
/// [`Error`]; what was found until then is in the journal.
pub async fn research(cx: &Cx, conversation: Conversation, toolbox: &Toolbox) -> Result<Ending, Error> {
    note_missing_collections(cx, &conversation.missing_collections).await?;
    let ending = ending(cx, conversation, toolbox).await?;
    earlier::keep_other_texts(cx, &cited(cx, &ending)).await?;
    Ok(ending)
}

/// Returns the sources that a report or an answer cites.
fn cited(cx: &Cx, ending: &Ending) -> Vec<Source> {
    let (Ending::Report(report) | Ending::Answer(report)) = ending else { return Vec::new() };
    cx.sources_of(&source_ids(&report.citations))
}

/// Returns how the newest message is answered, with what earlier runs found.
async fn ending(cx: &Cx, mut conversation: Conversation, toolbox: &Toolbox) -> Result<Ending, Error> {
    let Some(earlier) = conversation.earlier.take() else {
        return pipeline(cx, &conversation, None, toolbox).boxed().await;
    };
    let is_follow_up = earlier.is_latest;
    let known = &earlier::take_over(cx, earlier).await?;
    conversation.citing_ids(known);
    let conversation = &conversation;
    let mut action = FollowUpAction::Research;
    if is_follow_up {
        action = phase(cx, Phase::FollowUp, follow_up::decide(cx, conversation, known)).await?;
    }
    match action {
        FollowUpAction::Answer => {
            phase(cx, Phase::Report, follow_up::answer(cx, conversation, known)).await.map(Ending::Answer)
        }
        FollowUpAction::Revise => {
            phase(cx, Phase::Report, follow_up::revise(cx, conversation, known)).await.map(Ending::Report)
        }
        FollowUpAction::Research => pipeline(cx, conversation, Some(known), toolbox).boxed().await,
    }
}

/// Returns the whole pipeline; `known` is what earlier runs found. Boxed where it is called: its type is deep.
async fn pipeline(
    cx: &Cx,
    conversation: &Conversation,
    known: Option<&EarlierFindings>,
    toolbox: &Toolbox,
) -> Result<Ending, Error> {
    let clarified = phase(cx, Phase::Clarify, clarify::clarify(cx, conversation)).await?;
    let verification = match clarified {
        clarify::Clarity::Unclear(question) => return Ok(Ending::Question(question)),
        clarify::Clarity::Clear(verification) => verification,
    };
    let brief = phase(cx, Phase::Brief, brief::write(cx, conversation, verification.as_deref(), known)).await?;
    let taken = known.map_or(0, |known| known.researchers);
    let toolbox = toolbox.for_run(cx).await?;
    let findings = phase(cx, Phase::Research, supervisor::lead(cx, &brief, taken, &toolbox)).await;
    toolbox.close().await;
    cx.release_earlier_texts();
    let findings = findings?;
    let report = phase(cx, Phase::Report, writer::write(cx, conversation, &brief, &findings, known)).await?;
    Ok(Ending::Report(report))
}

/// Warns of the collections that the run goes on without, and has the report say so. A collection that is deleted later
/// is not noted by a replay: the run may have searched it.
async fn note_missing_collections(cx: &Cx, missing: &[CollectionId]) -> Result<(), Stop> {
    if cx.options().collections.is_empty() {
        return Ok(());
    }
    let warning = |id| format!("the collection {id} is not there any more; the run goes on without it");
    let warnings = missing.iter().map(|id| Event::warning(WarningCode::CollectionMissing, warning(id)));
    let events = warnings.map(|event| cx.now(event)).collect();
    let missing: Vec<CollectionId> = cx.journal().mark_value("collections", || missing.to_vec(), events).await?;
    cx.limit(|limits| limits.missing_collections = missing.len());
    Ok(())
}

async fn phase<T>(cx: &Cx, phase: Phase, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let name = phase.as_str();
    cx.mark(&format!("{name}/started"), Event::PhaseStarted { phase }).await?;
    let span = spans::stage(name);
    let result = work.instrument(span.clone()).await;
    spans::fail(&span, result.as_ref().err().map(Error::code));
    let result = result?;
    cx.mark(&format!("{name}/finished"), Event::PhaseFinished { phase }).await?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MessageId, Timestamp};

    #[test]
    fn the_question_is_what_came_after_the_last_report() {
        let (asked, reported) = (RunId::new(), RunId::new());
        let message = |role, run_id, content: &str| Message {
            id: MessageId::new(),
            role,
            content: content.to_owned(),
            run_id: Some(run_id),
            created_at: Timestamp(0),
        };
        let mut messages = vec![
            message(MessageRole::User, asked, "Which gate?"),
            message(MessageRole::Assistant, asked, "Where?"),
            message(MessageRole::User, reported, "In Skelderwick."),
        ];
        let conversation = |messages: &[Message]| Conversation {
            messages: messages.to_vec(),
            clarifications: 1,
            answered_by: vec![reported],
            earlier: None,
            missing_collections: Vec::new(),
        };
        assert_eq!(conversation(&messages).question(), "Which gate?\nIn Skelderwick.");
        messages.push(message(MessageRole::Assistant, reported, "# Report"));
        messages.push(message(MessageRole::User, RunId::new(), "And the loan?"));
        assert_eq!(conversation(&messages).question(), "And the loan?");
    }
}
