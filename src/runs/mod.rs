//! The life of a run and of the thread it belongs to: submit, claim, work, cancel, finish.
//!
//! [`Runs`] is the cheap handle that the command line and the service use. `worker.rs` carries a claimed run to its end.

mod owner;
mod worker;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{
    domain::{MessageId, ModelName, Run, RunId, RunOptions, SearchApi, ThreadId, Timestamp},
    events::{EventLog, WriterHandle},
    llm::Llm,
    prompts::Prompts,
    search::{Engine, Local, Tavily},
    store::{self, Claimed, NewRun, Store},
};
pub use worker::Ended;

/// A message may have so many characters; what is longer belongs into a document.
pub const MAX_MESSAGE_CHARS: usize = 100_000;

/// How long a run waits for a database that went away, where it has to read, and how often it looks.
const DATABASE_PATIENCE: Duration = Duration::from_secs(60);
const DATABASE_PAUSE: Duration = Duration::from_millis(500);

/// Everything a run needs of its process.
#[derive(Clone, Debug)]
pub struct Parts {
    pub store: Store,
    pub log: EventLog,
    pub writer: WriterHandle,
    pub llm: Llm,
    pub prompts: Arc<Prompts>,
    pub tavily: Option<Tavily>,
    pub local: Option<Local>,
    /// How long a silent owner keeps its runs.
    pub lease: Duration,
}

/// The runs of this process and the way to those of others; a cheap clone.
#[derive(Clone, Debug)]
pub struct Runs {
    parts: Arc<Parts>,
    owner: Arc<str>,
}

/// Why a run is not accepted; each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the question is empty")]
    Empty,
    #[error("the question is longer than {MAX_MESSAGE_CHARS} characters; put long texts into the documents folder")]
    TooLong,
    #[error("{option}={model} cannot be used: set {variable}, or choose a model of another provider")]
    MissingKey { option: &'static str, model: ModelName, variable: String },
    #[error("search_api=tavily cannot be used: set TAVILY_API_KEY")]
    MissingSearchKey,
    #[error("search_api=local cannot be used: name a documents folder with --docs DIR or FATHOM_DOCS")]
    MissingDocuments,
    #[error(
        "there is nothing to search: name a documents folder with --docs DIR or FATHOM_DOCS, or set TAVILY_API_KEY for the web"
    )]
    NothingToSearch,
    #[error("there is no such thread")]
    NoSuchThread,
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Why a run cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("there is no run {0}")]
    Unknown(RunId),
    #[error("the run is {}", .0.status.as_str())]
    Final(Box<Run>),
    #[error("the run cannot go on here: {0}")]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] store::Error),
    /// This process lost its lease, and by now somebody else has brought the run to its end.
    #[error("another process took the run over and finished it")]
    TakenOver,
    #[error("interrupted")]
    Interrupted,
}

impl Runs {
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts), owner: owner::this_process().into() }
    }

    pub fn store(&self) -> &Store {
        &self.parts.store
    }

    pub fn log(&self) -> &EventLog {
        &self.parts.log
    }

    /// Creates a thread with a question and queues its run.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn submit(&self, question: &str, options: RunOptions) -> Result<Run, Refusal> {
        let new_run = self.new_run(ThreadId::new(), question, options)?;
        Ok(self.parts.store.create_thread(&new_run).await?)
    }

    /// Adds a message to a thread and queues the run that answers it.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn reply(&self, thread_id: ThreadId, content: &str, options: RunOptions) -> Result<Run, Refusal> {
        let new_run = self.new_run(thread_id, content, options)?;
        self.parts.store.add_run(&new_run).await?.ok_or(Refusal::NoSuchThread)
    }

    /// Claims the run and carries it to its end, or to an interruption. Waits while another process holds it.
    ///
    /// # Errors
    /// [`WorkError`]; the run stays as it is.
    pub async fn work(&self, run_id: RunId, cancel: &CancellationToken) -> Result<Ended, WorkError> {
        let mut lost = false;
        loop {
            let claimed = tokio::select! {
                claimed = self.claim(run_id) => claimed,
                () = cancel.cancelled() => return Err(WorkError::Interrupted),
            };
            let (lease, run) = match claimed {
                Err(WorkError::Final(_)) if lost => return Err(WorkError::TakenOver),
                claimed => claimed?,
            };
            match worker::work(&self.parts, lease, run, cancel).await? {
                // The lease ran out while the database was away, or this process was frozen: claim anew, and replay.
                Ended::Lost => lost = true,
                ended => return Ok(ended),
            }
        }
    }

    async fn claim(&self, run_id: RunId) -> Result<(store::Lease, Run), WorkError> {
        let mut told = false;
        let since = Instant::now();
        loop {
            let now = Timestamp::now();
            let claimant =
                store::Claimant { owner: self.owner.to_string(), now, expires_at: now.plus(self.parts.lease) };
            let claimed = match self.parts.store.claim(run_id, &claimant).await {
                Ok(Claimed::HeldBy { owner, .. }) if owner::is_dead(&owner) => {
                    self.parts.store.claim_taken_over(run_id, &claimant, &owner).await?
                }
                Err(store::Error::Unavailable(_)) if since.elapsed() < DATABASE_PATIENCE => {
                    tokio::time::sleep(DATABASE_PAUSE).await;
                    continue;
                }
                claimed => claimed?,
            };
            match claimed {
                Claimed::Yes { lease, run } => return Ok((lease, run)),
                Claimed::Final(run) => return Err(WorkError::Final(Box::new(run))),
                Claimed::Unknown => return Err(WorkError::Unknown(run_id)),
                Claimed::HeldBy { owner, .. } => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(%run_id, owner, "another process works on the run; waiting for its lease to end");
                    }
                    tokio::time::sleep(self.parts.lease / 10).await;
                }
            }
        }
    }

    fn new_run(&self, thread_id: ThreadId, content: &str, options: RunOptions) -> Result<NewRun, Refusal> {
        let content = content.trim();
        if content.is_empty() {
            return Err(Refusal::Empty);
        }
        if content.chars().count() > MAX_MESSAGE_CHARS {
            return Err(Refusal::TooLong);
        }
        self.parts.check(&options)?;
        let local = self.parts.local.as_ref().filter(|_| options.search_api == SearchApi::Local);
        Ok(NewRun {
            documents: local.and_then(|local| local.folder().to_str().map(str::to_owned)),
            thread_id,
            run_id: RunId::new(),
            message_id: MessageId::new(),
            content: content.to_owned(),
            options,
            now: Timestamp::now(),
        })
    }
}

impl Parts {
    /// Can a run with these options work here?
    fn check(&self, options: &RunOptions) -> Result<(), Refusal> {
        for (option, model) in crate::domain::options::MODEL_OPTIONS.into_iter().zip(options.models()) {
            if let Some(variable) = self.llm.missing(model) {
                return Err(Refusal::MissingKey { option, model: model.clone(), variable: variable.to_owned() });
            }
        }
        self.engine(options.search_api).map(drop)
    }

    /// The search engine of a run.
    fn engine(&self, search_api: SearchApi) -> Result<Engine, Refusal> {
        match search_api {
            SearchApi::Tavily => self.tavily.clone().map(Engine::Tavily).ok_or(Refusal::MissingSearchKey),
            SearchApi::Local => self.local.clone().map(Engine::Local).ok_or(Refusal::MissingDocuments),
            SearchApi::None => Err(Refusal::NothingToSearch),
        }
    }
}
