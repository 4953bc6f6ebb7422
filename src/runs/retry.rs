//! Going on from a run that failed or was cancelled: a new run of the thread that takes over what the old one paid for.
//!
//! The old run stays as it ended, since its end was published. The new one answers the same message with a journal of
//! its own, whose missing steps are looked up among those of the runs it goes on from before anybody is asked; see
//! [`crate::journal::Journal::inherited`].

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Accepted, Key, Parts, Refusal, Runs, collections::Naming, owned::OwnedRun};
use crate::{
    domain::{GivenKeys, MessageId, Run, RunId, RunOptions, RunStatus, Source, ThreadId, digest},
    store::{self, Admission, NewRun, RetryOf, Step},
};

/// Runs that one goes on from, at most; steps of older ones are asked for again.
const CHAIN: u32 = 16;
/// Nor are those of further runs looked up once so much was taken over.
const INHERITED_BYTES: usize = 64 << 20;

/// Messages that ask for nothing but to go on, in lower case and without punctuation. A list and no model: who is
/// taken at his word wrongly would have been answered about something else.
const GO_ON: &[&str] = &[
    "again",
    "try again",
    "try it again",
    "try once more",
    "once more",
    "retry",
    "continue",
    "go on",
    "go ahead",
    "keep going",
    "carry on",
    "resume",
    "proceed",
    "nochmal",
    "noch mal",
    "nochmals",
    "noch einmal",
    "erneut",
    "erneut versuchen",
    "versuch es nochmal",
    "versuch es noch mal",
    "versuch es noch einmal",
    "versuche es noch einmal",
    "versuche es erneut",
    "weiter",
    "mach weiter",
    "weitermachen",
    "fortsetzen",
    "fortfahren",
    "fahr fort",
    "réessaie",
    "réessaye",
    "réessayer",
    "réessayez",
    "encore",
    "encore une fois",
    "continuer",
    "continuez",
    "inténtalo de nuevo",
    "intenta de nuevo",
    "inténtelo de nuevo",
    "otra vez",
    "de nuevo",
    "continúa",
    "continuar",
    "sigue",
    "reintentar",
    "riprova",
    "continua",
    "ancora",
    "ancora una volta",
    "prosegui",
    "tente novamente",
    "tente de novo",
    "tenta de novo",
    "de novo",
    "novamente",
    "probeer opnieuw",
    "opnieuw",
    "nog een keer",
    "ga door",
    "ga verder",
    "försök igen",
    "fortsätt",
    "prøv igen",
    "fortsæt",
    "prøv igjen",
    "fortsett",
    "spróbuj ponownie",
    "jeszcze raz",
    "kontynuuj",
    "tekrar dene",
    "devam et",
    "попробуй ещё раз",
    "попробуй еще раз",
    "ещё раз",
    "еще раз",
    "снова",
    "продолжай",
    "продолжи",
    "продолжить",
    "спробуй ще раз",
    "ще раз",
    "продовжуй",
    "もう一度",
    "続けて",
    "続行",
    "再試行",
    "继续",
    "重试",
    "再试一次",
    "繼續",
    "重試",
    "再試一次",
    "다시",
    "다시 시도",
    "계속",
    "계속해",
];

/// Words of politeness that change nothing.
const POLITE: &[&str] = &["please", "pls", "bitte", "s'il te plaît", "s'il vous plaît", "por favor", "per favore"];

/// What a run goes on from: the answers that it need not ask for, and the pages they are about.
#[derive(Debug, Default)]
pub struct Inheritance {
    /// The newest run's first.
    pub steps: Vec<Step>,
    /// With snapshots.
    pub sources: Vec<Source>,
    /// Keys of steps and addresses of sources, with the hash of what is there.
    known: HashSet<(String, [u8; 32])>,
    /// Of values and snapshots.
    bytes: usize,
}

impl Runs {
    /// Queues a run that goes on from one that failed or was cancelled, with other options where they are given.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub(super) async fn retry(
        &self,
        owned: &OwnedRun,
        options: &Map<String, Value>,
        api_keys: &GivenKeys,
        key: Option<&Key>,
    ) -> Result<Accepted, Refusal> {
        let (run, caller) = (&owned.run, owned.access.caller());
        if let Some(before) = self.answered_before(key, caller).await? {
            return Ok(before);
        }
        check_retryable(run)?;
        let naming = Naming::new(caller, owned.owner(), options);
        let options = self.options_over(run.options.clone(), options, api_keys)?;
        let new_run = self.retry_run(run, options, String::new(), api_keys).await?;
        let new_run = self.with_collections(new_run, naming).await?;
        let new_run = NewRun { owner: caller.owner.clone(), key: caller.key_id(), ..new_run };
        let admission = self.admission(key, caller, new_run.now);
        let created = self.parts.store.add_run(&new_run, &admission).await?.ok_or(Refusal::NoSuchRun)?;
        self.parts.log.wake(run.thread_id);
        Ok(self.accepted(&owned.access, created, new_run))
    }

    /// Queues a run that goes on from one that failed or was cancelled; this process will work on it itself, by its id.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn retry_here(&self, run_id: RunId, options: RunOptions) -> Result<Run, Refusal> {
        let run = self.parts.store.run(run_id).await?.ok_or(Refusal::NoSuchRun)?;
        check_retryable(&run)?;
        let new_run = self.retry_run(&run, options, String::new(), &GivenKeys::new()).await?;
        let new_run = self.with_collections(new_run, Naming::again_here()).await?;
        let new_run = NewRun { reserved: Some(self.claimant()), ..new_run };
        let created = self.parts.store.add_run(&new_run, &Admission::default()).await?;
        created.map(super::submit::run_of).ok_or(Refusal::NoSuchRun)
    }

    /// Returns the thread's newest run, if it can be retried and this message asks for nothing else.
    pub(super) async fn asked_to_go_on(&self, thread_id: ThreadId, message: &str) -> Result<Option<Run>, Refusal> {
        if message.trim().is_empty() {
            return Ok(None);
        }
        let filter = store::RunFilter { thread_id: Some(thread_id), ..Default::default() };
        let newest = self.parts.store.runs_page(&filter, None, 1).await?.items.pop();
        let Some(run) = newest.filter(Run::is_retryable) else { return Ok(None) };
        let goes_on = asks_to_go_on(message)
            || self.parts.store.question(run.id).await?.is_some_and(|question| question == message.trim());
        Ok(goes_on.then_some(run))
    }

    /// Returns a run that goes on from `run`; `content` is what the user said, or empty.
    pub(super) async fn retry_run(
        &self,
        run: &Run,
        options: RunOptions,
        content: String,
        api_keys: &GivenKeys,
    ) -> Result<NewRun, Refusal> {
        if api_keys.is_empty() && self.parts.store.sealed_keys(run.id).await?.is_some() {
            let problem = "the run had keys of its own, which are gone: send them again".to_owned();
            return Err(Refusal::Keys { name: None, problem });
        }
        let question_of = self.parts.store.question_of(run.id).await?;
        let retry = RetryOf { run_id: run.id, question_of };
        let has_documents = self.parts.has_documents(run.thread_id).await?;
        let new_run = self.run_without_words(run.thread_id, options, has_documents, &*self.means(api_keys)?)?;
        let new_run = self.with_keys(new_run, api_keys)?;
        Ok(NewRun { content, retry: Some(retry), message_id: MessageId::new(), ..new_run })
    }
}

/// Refuses a run from which no other one may go on.
fn check_retryable(run: &Run) -> Result<(), Refusal> {
    match (run.status, &run.error) {
        _ if run.is_retryable() => Ok(()),
        (RunStatus::Queued | RunStatus::Running, _) => Err(Refusal::NotFinished),
        (RunStatus::Failed, Some(failure)) => Err(Refusal::NotRetryable(format!(
            "the run failed for a reason that neither time nor another model heals ({}): {failure}",
            failure.code.as_str()
        ))),
        _ => Err(Refusal::NotRetryable("the run is completed, so there is nothing to try again".to_owned())),
    }
}

/// Returns the runs that this one goes on from, the newest first.
///
/// # Errors
/// Those of the store.
async fn chain(parts: &Parts, run: &Run) -> Result<Vec<RunId>, store::Error> {
    match run.retry_of {
        Some(_) => parts.store.retried_by(run.id, CHAIN).await,
        None => Ok(Vec::new()),
    }
}

/// Returns what the run may take over instead of asking for it.
///
/// # Errors
/// Those of the store.
pub async fn inheritance(parts: &Parts, run: &Run) -> Result<Inheritance, store::Error> {
    let mut inheritance = Inheritance::default();
    for earlier in chain(parts, run).await? {
        if inheritance.bytes >= INHERITED_BYTES {
            break;
        }
        inheritance.add(parts.store.journal(earlier).await?, parts.store.snapshots(earlier).await?);
    }
    Ok(inheritance)
}

impl Inheritance {
    /// Adds what an older run has and the newer ones do not: these hold copies of what they took over from it.
    fn add(&mut self, steps: Vec<Step>, sources: Vec<Source>) {
        for step in steps {
            if self.known.insert((step.key.clone(), digest::sha256(step.value.as_bytes()))) {
                self.bytes += step.value.len();
                self.steps.push(step);
            }
        }
        for source in sources {
            if self.known.insert((source.url.clone(), digest::sha256(source.content_hash.as_bytes()))) {
                self.bytes += source.snapshot.len();
                self.sources.push(source);
            }
        }
    }
}

/// Returns whether the message says no more than that the run shall go on.
fn asks_to_go_on(message: &str) -> bool {
    let letters = |letter: char| if letter.is_alphanumeric() || letter == '\'' { letter } else { ' ' };
    let lower: String = message.chars().take(200).flat_map(char::to_lowercase).map(letters).collect();
    let plain = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = POLITE.iter().fold(format!(" {plain} "), |text, polite| text.replace(&format!(" {polite} "), " "));
    let words = words.trim();
    message.chars().count() <= 200 && (words.is_empty() || GO_ON.contains(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_only_asks_to_go_on_is_known_in_many_languages() {
        let go_on = [
            "Try again.",
            "  please CONTINUE!",
            "Nochmal, bitte",
            "Réessayez s'il vous plaît.",
            "…",
            "继续",
            "Weiter!",
        ];
        for message in go_on {
            assert!(asks_to_go_on(message), "{message}");
        }
        let others =
            ["Continue with the loan.", "Try again with the bridge", "And the bridge?", "Weiter östlich?", "no"];
        for message in others.into_iter().chain([" ".repeat(300).as_str()]) {
            assert!(!asks_to_go_on(message), "{message}");
        }
    }
}
