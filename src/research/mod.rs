//! Deep research itself: a conversation goes in, a cited report (or one clarifying question) comes out.
//!
//! Plain async code over one door to the outside, [`Cx`]: whatever a stage learns from outside is a step of the
//! journal, so the same code, run again after a crash, goes the same way. Knows no HTTP and no SQL.

mod agent;
mod brief;
mod citations;
mod clarify;
mod compress;
mod cut;
mod researcher;
mod source_list;
mod supervisor;
mod writer;

use tracing::Instrument as _;

use crate::context::Cx;
pub use crate::context::Error;
use crate::domain::{Event, Message, MessageRole, Note, event::Phase, report::Report};
use crate::telemetry::spans;

/// What the thread holds when the run starts.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// In order; the last one is the user's.
    pub messages: Vec<Message>,
    /// Clarifying questions already asked in this thread.
    pub clarifications: u32,
}

impl Conversation {
    /// One line per message, as prompts show it.
    pub fn flattened(&self) -> String {
        let line = |message: &Message| match message.role {
            MessageRole::User => format!("Human: {}", message.content),
            MessageRole::Assistant => format!("AI: {}", message.content),
        };
        self.messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What the user wrote, in order.
    pub fn question(&self) -> String {
        let users = self.messages.iter().filter(|message| message.role == MessageRole::User);
        users.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// How research ended well.
#[derive(Debug)]
pub enum Ending {
    /// The user has to say more first.
    Question(String),
    Report(Report),
}

/// What the researchers brought home.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub notes: Vec<Note>,
    /// What is missing and why, one sentence each; the report mentions them.
    pub limits: Vec<String>,
}

/// The whole pipeline.
///
/// # Errors
/// [`Error`]; what was found until then is in the journal.
pub async fn research(cx: &Cx, conversation: &Conversation) -> Result<Ending, Error> {
    let clarified = phase(cx, Phase::Clarify, clarify::clarify(cx, conversation)).await?;
    let verification = match clarified {
        clarify::Clarity::Unclear(question) => return Ok(Ending::Question(question)),
        clarify::Clarity::Clear(verification) => verification,
    };
    let brief = phase(cx, Phase::Brief, brief::write(cx, conversation, verification.as_deref())).await?;
    let findings = phase(cx, Phase::Research, supervisor::lead(cx, &brief)).await?;
    let report = phase(cx, Phase::Report, writer::write(cx, conversation, &brief, &findings)).await?;
    Ok(Ending::Report(report))
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
