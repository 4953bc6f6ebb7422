//! Threads and runs as one caller may see and change them.
//!
//! [`OwnedThread`] and [`OwnedRun`] are loaded by their owner, here alone (`collections.rs` has
//! [`super::OwnedCollection`]), and a holder of one may do with it what its
//! methods offer. So nobody who holds a bare id from outside reaches what belongs to another owner.

use std::time::Duration;

use futures::TryStreamExt as _;
use serde_json::{Map, Value};

use super::{
    Accepted, Cancelling, Cursor, Key, Page, Refusal, RunFilter, Runs, Submission, ThreadChange, ThreadFilter,
};
use crate::{
    domain::{
        Caller, Envelope, GivenKeys, Message, MessageId, Note, Owner, Run, RunDetails, RunId, RunStatus, Source,
        SourceId, Thread, ThreadId, ThreadStatus, report::Report,
    },
    events::{FramePage, Opening, Subject},
    store::{self, Clock, PageLimit, Step},
};

/// Where a page of messages ends although there might be more on it: an answer is held in memory.
const MESSAGES_BYTES: usize = 4 << 20;

/// A thread that its caller may see and change.
#[derive(Clone, Debug)]
pub struct OwnedThread {
    pub(super) thread: Thread,
    pub(super) access: Access,
}

/// A run that its caller may see and change.
#[derive(Clone, Debug)]
pub struct OwnedRun {
    pub(super) run: Run,
    pub(super) access: Access,
}

/// The events of a thread or run that its caller may see.
#[derive(Clone, Debug)]
pub struct OwnedEvents {
    subject: Subject,
    /// The run of them that may wait for its turn.
    waiting: Option<RunId>,
    access: Access,
}

/// What every owned thing carries.
#[derive(Clone, Debug)]
pub(super) struct Access {
    runs: Runs,
    caller: Caller,
    /// Whose it is.
    owner: Owner,
}

impl Access {
    /// Gives access to what the caller has created.
    pub(super) fn to_own(runs: &Runs, caller: &Caller) -> Self {
        Self { runs: runs.clone(), caller: caller.clone(), owner: caller.owner.clone() }
    }

    pub(super) fn parts(&self) -> &super::Parts {
        &self.runs.parts
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn store(&self) -> &store::Store {
        &self.runs.parts.store
    }
}

impl OwnedThread {
    pub fn owner(&self) -> &Owner {
        &self.access.owner
    }
}

impl OwnedRun {
    /// Returns the thread's.
    pub fn owner(&self) -> &Owner {
        &self.access.owner
    }
}

impl Runs {
    /// Returns a thread of the caller's; `None` when there is none.
    ///
    /// # Errors
    /// Those of the store, as everywhere here.
    pub async fn thread(&self, caller: &Caller, thread_id: ThreadId) -> Result<Option<OwnedThread>, store::Error> {
        let found = self.parts.store.thread_of(caller.sees_only(), thread_id).await?;
        Ok(found.map(|(thread, owner)| OwnedThread { thread, access: self.access(caller, owner) }))
    }

    /// Returns a run of the caller's; `None` when there is none.
    pub async fn run(&self, caller: &Caller, run_id: RunId) -> Result<Option<OwnedRun>, store::Error> {
        let found = self.parts.store.run_of(caller.sees_only(), run_id).await?;
        Ok(found.map(|(run, owner)| OwnedRun { run, access: self.access(caller, owner) }))
    }

    pub(super) fn access(&self, caller: &Caller, owner: Owner) -> Access {
        Access { runs: self.clone(), caller: caller.clone(), owner }
    }

    /// Returns a page of the caller's threads that the filter lets through, newest first.
    pub async fn threads(
        &self,
        caller: &Caller,
        filter: &ThreadFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, store::Error> {
        let (store, owner) = (&self.parts.store, caller.sees_only());
        match *filter == ThreadFilter::default() {
            true => store.threads(owner, after, limit).await,
            false => store.search(owner, filter, after, limit).await,
        }
    }

    /// Returns a page of the caller's runs that the filter lets through, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: RunFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RunDetails>, store::Error> {
        let owner = caller.sees_only();
        let filter = RunFilter { owner: owner.cloned(), thread_owner: owner.cloned(), ..filter };
        let page = self.parts.store.runs_page(&filter, after, limit).await?;
        Ok(Page { items: self.parts.store.details(page.items).await?, next: page.next })
    }
}

impl OwnedThread {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    pub fn into_thread(self) -> Thread {
        self.thread
    }

    pub fn events(&self) -> OwnedEvents {
        let (subject, waiting) = (Subject::Thread(self.thread.id), may_wait(&self.thread));
        OwnedEvents { subject, waiting, access: self.access.clone() }
    }

    /// Adds a message and queues the run that answers it.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn add_message(&self, submission: Submission) -> Result<Accepted, Refusal> {
        self.access.runs.add_message(self, submission).await
    }

    /// Returns a page of the conversation, in order; it has fewer than `limit` messages where they are long.
    pub async fn messages(&self, after: Option<Cursor>, limit: u32) -> Result<Page<Message>, store::Error> {
        let limit = PageLimit { rows: limit, bytes: MESSAGES_BYTES };
        self.access.store().messages_page(self.thread.id, after, limit).await
    }

    /// Returns a page of its runs, newest first.
    pub async fn runs(&self, after: Option<Cursor>, limit: u32) -> Result<Page<RunDetails>, store::Error> {
        let filter = RunFilter { thread_id: Some(self.thread.id), ..RunFilter::default() };
        let page = self.access.store().runs_page(&filter, after, limit).await?;
        Ok(Page { items: self.access.store().details(page.items).await?, next: page.next })
    }

    /// Returns the thread with another title and metadata; `None` when it was deleted meanwhile.
    pub async fn change(&self, change: &ThreadChange) -> Result<Option<Thread>, store::Error> {
        self.access.store().change_thread(self.thread.id, change).await
    }

    /// Deletes the thread and all that belongs to it, and stops its run; `false` when it was deleted meanwhile.
    pub async fn delete(&self) -> Result<bool, store::Error> {
        self.access.runs.delete_thread(self.thread.id).await
    }
}

impl OwnedRun {
    /// Returns a run that the caller has just created, or been let into.
    pub(super) fn new(run: Run, access: Access) -> Self {
        Self { run, access }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn id(&self) -> RunId {
        self.run.id
    }

    pub fn events(&self) -> OwnedEvents {
        let waiting = Some(self.run.id).filter(|_| self.run.status == RunStatus::Queued);
        OwnedEvents { subject: Subject::Run(self.run.id), waiting, access: self.access.clone() }
    }

    /// Returns its thread; `None` when it was deleted meanwhile.
    pub async fn thread(&self) -> Result<Option<OwnedThread>, store::Error> {
        self.access.runs.thread(&self.access.caller, self.run.thread_id).await
    }

    /// Returns the run as it is now, with its usage and its place in the queue; `None` when it was deleted meanwhile.
    pub async fn details(&self) -> Result<Option<RunDetails>, store::Error> {
        self.access.runs.details(self.run.id).await
    }

    /// Waits until the run is final, gone, or `limit` is over.
    pub async fn wait(&self, limit: Duration) -> Result<(), store::Error> {
        let Some(last_seq) = self.access.store().last_seq(self.run.thread_id).await? else { return Ok(()) };
        // Not parsed: a newer release at its side may write events that this one does not know.
        let end = self.access.runs.parts.log.frames(Subject::Run(self.run.id), last_seq);
        let drained = end.try_for_each(|_| std::future::ready(Ok(())));
        tokio::time::timeout(limit, drained).await.unwrap_or(Ok(()))
    }

    /// Stops it, here at once and elsewhere within a second; `None` when it was deleted meanwhile.
    pub async fn cancel(&self) -> Result<Option<Cancelling>, store::Error> {
        let (runs, run_id) = (&self.access.runs, self.run.id);
        let cancelling = self.access.store().request_cancel(run_id, Clock::Database).await?;
        match &cancelling {
            Some(Cancelling::Requested(_)) => {
                runs.active.cancel(run_id);
                runs.parts.log.wakes().control(run_id);
            }
            Some(Cancelling::Done(run)) => runs.parts.log.wake(run.thread_id),
            Some(Cancelling::Final(_)) | None => {}
        }
        Ok(cancelling)
    }

    /// Queues a run that goes on from this one, which failed or was cancelled, with other options where they are given.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn retry(
        &self,
        options: &Map<String, Value>,
        api_keys: &GivenKeys,
        key: Option<&Key>,
    ) -> Result<Accepted, Refusal> {
        self.access.runs.retry(self, options, api_keys, key).await
    }

    /// Returns the message of its thread that has this id.
    pub async fn message(&self, message_id: MessageId) -> Result<Option<Message>, store::Error> {
        self.access.store().message(self.run.thread_id, message_id).await
    }

    /// Returns the report, or the answer, which is cited alike; `None` while there is none.
    pub async fn report(&self) -> Result<Option<Report>, store::Error> {
        self.access.store().report(self.run.id).await
    }

    /// Returns the events that made its report, ascending: those after the event of that number, up to that of
    /// `until`.
    pub async fn report_events(&self, after: i64, until: i64) -> Result<Vec<Envelope>, store::Error> {
        self.access.store().report_events(self.run.id, after, until).await
    }

    /// Returns how often it began to write its report.
    pub async fn report_attempts(&self) -> Result<u32, store::Error> {
        self.access.store().report_attempts(self.run.id).await
    }

    /// Returns what its researchers found, by researcher.
    pub async fn notes(&self) -> Result<Vec<Note>, store::Error> {
        self.access.store().placed_notes(self.run.id).await
    }

    /// Returns what it retrieved, by ascending id, without the texts.
    pub async fn sources(&self) -> Result<Vec<Source>, store::Error> {
        self.access.store().sources(self.run.id).await
    }

    /// Returns a source with its text, by its id or one of its aliases.
    pub async fn source(&self, source_id: SourceId) -> Result<Option<Source>, store::Error> {
        self.access.store().source(self.run.id, source_id).await
    }

    /// Returns its ledger, earliest finished first, without the values of the steps.
    pub async fn steps(&self) -> Result<Vec<Step>, store::Error> {
        self.access.store().steps(self.run.id).await
    }
}

impl OwnedEvents {
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Returns the run that may wait for its turn, of those that these events are of.
    pub fn waiting(&self) -> Option<RunId> {
        self.waiting
    }

    /// Returns `limit` events above a number at most; `None` when thread or run were deleted meanwhile.
    pub async fn page(&self, after_seq: i64, limit: u32) -> Result<Option<FramePage>, store::Error> {
        self.access.runs.parts.log.page(self.subject, after_seq, limit).await
    }

    /// Returns the events above a number, as they come, for a reader of these types (`None`: of all).
    pub async fn open(
        &self,
        after_seq: i64,
        wanted: Option<&(dyn Fn(&str) -> bool + Sync)>,
    ) -> Result<Opening, store::Error> {
        self.access.runs.parts.log.open_for(self.subject, after_seq, wanted).await
    }

    /// Returns the place in the queue of a run that these events are of; `None` unless it waits.
    pub async fn place_in_queue(&self, run_id: RunId) -> Result<Option<u64>, store::Error> {
        self.access.store().place_in_queue(run_id).await
    }
}

/// Returns the run of a thread that may wait for its turn: the newest one, as long as the thread is busy.
fn may_wait(thread: &Thread) -> Option<RunId> {
    thread.latest_run_id.filter(|_| thread.status == ThreadStatus::Busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn nothing_waits_in_a_thread_that_is_not_busy() {
        let latest = RunId::new();
        let thread = |status, latest_run_id| Thread {
            id: ThreadId::new(),
            title: String::new(),
            status,
            created_at: Timestamp::now(),
            last_seq: 7,
            latest_run_id,
            metadata: Map::new(),
            options: Map::new(),
        };
        let waiting = ThreadStatus::ALL.map(|status| may_wait(&thread(status, Some(latest))));
        assert_eq!(waiting, [None, Some(latest), None]);
        assert_eq!(may_wait(&thread(ThreadStatus::Busy, None)), None);
    }
}
