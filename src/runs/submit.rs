//! Runs are let in: checked, admitted to the queue, and created once per idempotency key.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{
    MAX_MESSAGE_CHARS, Means, Refusal, Runs,
    collections::Naming,
    owned::{Access, OwnedRun, OwnedThread},
};
use crate::{
    domain::{
        Allowance, Caller, GivenKeys, Message, MessageId, Owner, Run, RunId, RunOptions, ThreadId, Timestamp,
        digest::sha256_hex, shows_nothing,
    },
    search::Engine,
    store::{Admission, Created, FirstAnswer, IdempotencyKey, NewRun, NewThread, QueueLimits},
};

/// How long an idempotency key is remembered.
pub const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// A message to be answered by a run of the service.
#[derive(Clone, Debug)]
pub struct Submission {
    pub content: String,
    /// Options given with the message.
    pub options: Map<String, Value>,
    pub key: Option<Key>,
    /// Whom to tell when the run has ended.
    pub webhook_url: Option<String>,
    /// What the run calls is called with these alone; none: with what the server has.
    pub api_keys: GivenKeys,
}

/// An idempotency key as the client gave it.
#[derive(Clone, Debug)]
pub struct Key {
    /// The operation; equal keys of different operations or owners have nothing to do with each other.
    operation: String,
    pub key: String,
    /// SHA-256 of the request, hex.
    pub request_hash: String,
}

impl Key {
    /// Makes a key; `request` is the body of the request.
    pub fn new(operation: &str, key: String, request: &[u8]) -> Self {
        Self { operation: operation.to_owned(), key, request_hash: sha256_hex(request) }
    }
}

/// What became of a submission.
#[derive(Clone, Debug)]
pub enum Accepted {
    New {
        run: Box<OwnedRun>,
        /// As it is stored; empty for a retry without words.
        message: Message,
        position: u64,
        /// What the owner and the key have left.
        allowances: Vec<Allowance>,
    },
    /// The same request was made before.
    Before(FirstAnswer),
}

impl Runs {
    /// Creates a thread with a question and queues its run.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn create_thread(
        &self,
        caller: &Caller,
        submission: Submission,
        thread: NewThread,
    ) -> Result<Accepted, Refusal> {
        if let Some(before) = self.answered_before(submission.key.as_ref(), caller).await? {
            return Ok(before);
        }
        let options = self.options_over(self.default_options().clone(), &submission.options, &submission.api_keys)?;
        let new_run =
            self.new_run(ThreadId::new(), &submission.content, options, false, &*self.means(&submission.api_keys)?)?;
        let new_run = self.with_keys(new_run, &submission.api_keys)?;
        let naming = Naming::new(caller, &caller.owner, &submission.options);
        let new_run = self.with_collections(new_run, naming).await?;
        let webhook_url = self.webhook(&submission)?;
        let new_run = NewRun { owner: caller.owner.clone(), key: caller.key_id(), webhook_url, ..new_run };
        let admission = self.admission(submission.key.as_ref(), caller, new_run.now);
        let created = self.parts.store.create_thread(&new_run, &thread, &admission).await?;
        Ok(self.accepted(&Access::to_own(self, caller), created, new_run))
    }

    /// Adds a message to a thread, with whose options it is answered unless it says otherwise, and queues the run that
    /// answers it. A message that only asks to go on, after a run that can be retried, is answered by retrying
    /// that run, with that run's options.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub(super) async fn add_message(&self, thread: &OwnedThread, submission: Submission) -> Result<Accepted, Refusal> {
        let (thread_id, caller) = (thread.thread.id, thread.access.caller());
        if let Some(before) = self.answered_before(submission.key.as_ref(), caller).await? {
            return Ok(before);
        }
        let new_run = match self.asked_to_go_on(thread_id, &submission.content).await? {
            Some(run) => {
                let options = self.options_over(run.options.clone(), &submission.options, &submission.api_keys)?;
                self.retry_run(&run, options, storable(&submission.content), &submission.api_keys).await?
            }
            None => {
                let stored = self.thread_options(&thread.thread.options);
                let options = self.options_over(stored, &submission.options, &submission.api_keys)?;
                let has_documents = self.parts.has_documents(thread_id).await?;
                let means = self.means(&submission.api_keys)?;
                let new_run = self.new_run(thread_id, &submission.content, options, has_documents, &means)?;
                self.with_keys(new_run, &submission.api_keys)?
            }
        };
        let naming = Naming::new(caller, thread.owner(), &submission.options);
        let new_run = self.with_collections(new_run, naming).await?;
        let webhook_url = self.webhook(&submission)?;
        let (owner, key) = (caller.owner.clone(), caller.key_id());
        let new_run = NewRun { owner, key, webhook_url, given_options: submission.options, ..new_run };
        let admission = self.admission(submission.key.as_ref(), caller, new_run.now);
        let created = self.parts.store.add_run(&new_run, &admission).await?.ok_or(Refusal::NoSuchThread)?;
        self.parts.log.wake(thread_id);
        Ok(self.accepted(&thread.access, created, new_run))
    }

    /// Returns what the first request with this key was answered. Whatever would be refused by now, such as a
    /// collection that is gone since, was not when that run was created.
    pub(super) async fn answered_before(
        &self,
        key: Option<&Key>,
        caller: &Caller,
    ) -> Result<Option<Accepted>, Refusal> {
        let Some(key) = key else { return Ok(None) };
        let key = idempotency(key, &caller.owner, Timestamp::now());
        Ok(self.parts.store.first_answer(&key).await?.map(Accepted::Before))
    }

    /// Keeps the answer to a request with a key, for its repetitions. Losing it costs them their exact body, no more.
    pub async fn keep_answer(&self, caller: &Caller, submission_key: &Key, response: &str) {
        let key = idempotency(submission_key, &caller.owner, Timestamp::now());
        if let Err(error) = self.parts.store.keep_answer(&key, response).await {
            tracing::warn!(%error, "the answer to a request with an idempotency key was not kept");
        }
    }

    /// Creates a thread whose run this process will work on itself, by its id.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn submit(&self, question: &str, options: RunOptions) -> Result<Run, Refusal> {
        let new_run = self.new_run(ThreadId::new(), question, options, false, &self.parts.means)?;
        let new_run = self.with_collections(new_run, Naming::here()).await?;
        let new_run = NewRun { reserved: Some(self.claimant()), ..new_run };
        let created = self.parts.store.create_thread(&new_run, &NewThread::default(), &Admission::default()).await?;
        Ok(run_of(created))
    }

    /// Adds a message to a thread; this process will work on its run itself, by its id.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn reply(&self, thread_id: ThreadId, content: &str, options: RunOptions) -> Result<Run, Refusal> {
        let new_run = match self.asked_to_go_on(thread_id, content).await? {
            Some(run) => self.retry_run(&run, options, storable(content), &GivenKeys::new()).await?,
            None => {
                let has_documents = self.parts.has_documents(thread_id).await?;
                self.new_run(thread_id, content, options, has_documents, &self.parts.means)?
            }
        };
        let new_run = self.with_collections(new_run, Naming::again_here()).await?;
        let new_run = NewRun { reserved: Some(self.claimant()), ..new_run };
        let created = self.parts.store.add_run(&new_run, &Admission::default()).await?;
        created.map(run_of).ok_or(Refusal::NoSuchThread)
    }

    pub(super) fn accepted(&self, access: &Access, created: Created, new_run: NewRun) -> Accepted {
        match created {
            Created::New { run, position, allowances } => {
                self.parts.log.wakes().queue();
                tracing::info!(run_id = %run.id, thread_id = %run.thread_id, position, "a run was queued");
                let message = new_run.message();
                Accepted::New { run: OwnedRun::new(*run, access.clone()).into(), message, position, allowances }
            }
            Created::Before(first) => Accepted::Before(first),
        }
    }

    /// Returns the address of the webhook, if it can be called.
    fn webhook(&self, submission: &Submission) -> Result<Option<String>, Refusal> {
        let check = |url: &String| Ok(self.parts.webhooks.check(url)?.to_string());
        submission.webhook_url.as_ref().map(check).transpose()
    }

    /// Returns the conditions under which a run of that owner is let in, for which the caller asks.
    pub(super) fn admission(&self, key: Option<&Key>, caller: &Caller, now: Timestamp) -> Admission {
        let settings = &self.parts.settings.queue;
        let room = settings.max_concurrent_runs.saturating_sub(self.active.count());
        let limits = QueueLimits {
            total: settings.max_queued_runs,
            per_owner: settings.max_queued_runs_per_owner,
            room: u64::try_from(room).unwrap_or(u64::MAX),
            threads_per_owner: settings.max_threads_per_owner,
        };
        let idempotency = key.map(|key| idempotency(key, &caller.owner, now));
        let of_key = caller.key.as_ref().map(|key| key.limits).unwrap_or_default();
        Admission { limits: Some(limits), of_owner: settings.of_owner, of_key, idempotency }
    }

    /// Returns what a request calls that brings these keys.
    ///
    /// # Errors
    /// [`Refusal::Keys`].
    pub(super) fn means(&self, keys: &GivenKeys) -> Result<Arc<Means>, Refusal> {
        self.parts.request_keys.means(&self.parts.means, keys)
    }

    /// Returns the run with these keys, as they are stored.
    ///
    /// # Errors
    /// [`Refusal::Keys`].
    pub(super) fn with_keys(&self, new_run: NewRun, keys: &GivenKeys) -> Result<NewRun, Refusal> {
        let sealed_keys = self.parts.request_keys.seal(new_run.run_id, keys)?;
        Ok(NewRun { sealed_keys, ..new_run })
    }

    pub(super) fn new_run(
        &self,
        thread_id: ThreadId,
        content: &str,
        options: RunOptions,
        has_documents: bool,
        means: &Means,
    ) -> Result<NewRun, Refusal> {
        let content = content.trim();
        if shows_nothing(content) {
            return Err(Refusal::Empty);
        }
        if content.chars().count() > MAX_MESSAGE_CHARS {
            return Err(Refusal::TooLong);
        }
        Ok(NewRun { content: storable(content), ..self.run_without_words(thread_id, options, has_documents, means)? })
    }

    /// Returns a run whose question is still to be filled in.
    pub(super) fn run_without_words(
        &self,
        thread_id: ThreadId,
        mut options: RunOptions,
        has_documents: bool,
        means: &Means,
    ) -> Result<NewRun, Refusal> {
        let has_documents = has_documents || !options.collections.is_empty();
        self.parts.settings.caps.resolve(&mut options);
        means.check(&options, has_documents)?;
        options.search_api = means.resolve(&options.search_api, has_documents || options.has_mcp())?;
        means.check_use(&options)?;
        let engine = match options.search_api.is_none() {
            true => None,
            false => Some(means.engines.select(&options.search_api, &options.search_fallback)?),
        };
        Ok(NewRun {
            documents: engine.as_ref().and_then(Engine::folder).and_then(|folder| folder.to_str().map(str::to_owned)),
            thread_id,
            run_id: RunId::new(),
            message_id: MessageId::new(),
            content: String::new(),
            options,
            given_options: Map::new(),
            owner: Owner::local(),
            key: None,
            reserved: None,
            webhook_url: None,
            sealed_keys: None,
            retry: None,
            collections: Vec::new(),
            now: Timestamp::now(),
        })
    }
}

/// Returns the text of a message as it is stored: the database has no place for the character 0.
fn storable(content: &str) -> String {
    content.trim().replace('\0', "\u{fffd}")
}

fn idempotency(key: &Key, owner: &Owner, now: Timestamp) -> IdempotencyKey {
    IdempotencyKey {
        scope: format!("{}\n{owner}", key.operation),
        key: key.key.clone(),
        request_hash: key.request_hash.clone(),
        not_before: now.minus(KEY_LIFE),
    }
}

/// Returns the run that was created. Without a key nothing can have been created before.
pub(super) fn run_of(created: Created) -> Run {
    match created {
        Created::New { run, .. } => *run,
        Created::Before(_) => unreachable!("no idempotency key was given"),
    }
}
