//! Threads, their messages and runs, and what the runs found.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    Admission, Clock, Created, Cursor, Delivery, Error, ExpiredThread, FirstAnswer, IdempotencyKey, Load, NewRun,
    NewThread, Page, PageLimit, RunFilter, RunOverview, Store, ThreadChange, ThreadFilter,
    attempts::{AGAIN_WITHIN, ask, attempt, change, ensure, remove},
};
use crate::domain::{
    Message, MessageId, Note, Owner, Run, RunDetails, RunId, RunStatus, Source, SourceId, Thread, ThreadId, Timestamp,
    report::Report,
};

impl Store {
    /// Creates a thread with its first message, a queued run and the event `run.queued`; or, for an idempotency key
    /// that was used before, finds what was created then.
    ///
    /// # Errors
    /// [`Error::QueueFull`] and [`Error::KeyReused`]; nothing is created then.
    pub async fn create_thread(
        &self,
        new_run: &NewRun,
        new_thread: &NewThread,
        admission: &Admission,
    ) -> Result<Created, Error> {
        let begun = Instant::now();
        let created = match change!(self, engine => engine.create_thread(new_run, new_thread, admission).await) {
            Err(error) if error.may_pass() && begun.elapsed() < AGAIN_WITHIN => {
                match self.was_created(new_run).await? {
                    Some(created) => Ok(created),
                    None => change!(self, engine => engine.create_thread(new_run, new_thread, admission).await),
                }
            }
            answer => answer,
        };
        created.inspect(|created| self.note_created(created))
    }

    /// Adds a message, a queued run and `run.queued` to a thread; `None` when there is no such thread.
    ///
    /// # Errors
    /// [`Error::ThreadBusy`] while the thread has an active run, and those of [`Store::create_thread`].
    pub async fn add_run(&self, new_run: &NewRun, admission: &Admission) -> Result<Option<Created>, Error> {
        let begun = Instant::now();
        let created = match change!(self, engine => engine.add_run(new_run, admission).await) {
            Err(error) if error.may_pass() && begun.elapsed() < AGAIN_WITHIN => {
                match self.was_created(new_run).await? {
                    Some(created) => Ok(Some(created)),
                    None => change!(self, engine => engine.add_run(new_run, admission).await),
                }
            }
            answer => answer,
        };
        created.inspect(|created| created.iter().for_each(|created| self.note_created(created)))
    }

    /// Notes that there was room for a message; finding what an earlier request created shows nothing of that.
    fn note_created(&self, created: &Created) {
        if let Created::New { .. } = created {
            self.health.note_room();
        }
    }

    /// Returns a run whose creation was not answered and happened all the same.
    async fn was_created(&self, new_run: &NewRun) -> Result<Option<Created>, Error> {
        let Some(run) = self.run(new_run.run_id).await? else { return Ok(None) };
        let details = self.details(vec![run.clone()]).await?.pop();
        let position = details.and_then(|details| details.queue_position).unwrap_or(1);
        Ok(Some(Created::New { run: Box::new(run), position, allowances: Vec::new() }))
    }

    /// Returns what the first request with this key made, if there was one.
    ///
    /// # Errors
    /// [`Error::KeyReused`] where that was another request.
    pub async fn first_answer(&self, key: &IdempotencyKey) -> Result<Option<FirstAnswer>, Error> {
        ask!(self, engine => engine.first_answer(key).await)
    }

    /// Keeps the body of the answer to the first request with a key.
    pub async fn keep_answer(&self, key: &IdempotencyKey, response: &str) -> Result<(), Error> {
        ensure!(self, engine => engine.keep_answer(key, response).await)
    }

    /// Forgets the idempotency keys from before that time; returns how many.
    pub async fn forget_keys(&self, before: Timestamp) -> Result<u64, Error> {
        ensure!(self, engine => engine.forget_keys(before).await)
    }

    /// Returns a run; `None` when there is none.
    pub async fn run(&self, run_id: RunId) -> Result<Option<Run>, Error> {
        ask!(self, engine => engine.run(run_id).await)
    }

    /// Returns the runs that a run goes on from, the direct one first, at most `limit` of them; empty unless it is a
    /// retry.
    pub async fn retried_by(&self, run_id: RunId, limit: u32) -> Result<Vec<RunId>, Error> {
        ask!(self, engine => engine.retried_by(run_id, limit).await)
    }

    /// Returns the message that a run answers, also one that retries another; `None` when there is none.
    pub async fn question(&self, run_id: RunId) -> Result<Option<String>, Error> {
        ask!(self, engine => engine.question(run_id).await)
    }

    /// Returns the beginnings of the messages that these runs answer.
    pub async fn questions(&self, run_ids: &[RunId]) -> Result<HashMap<RunId, String>, Error> {
        ask!(self, engine => engine.questions(run_ids).await)
    }

    /// Returns the run whose message this one answers: itself, unless it is a retry.
    pub async fn question_of(&self, run_id: RunId) -> Result<RunId, Error> {
        ask!(self, engine => engine.question_of(run_id).await)
    }

    /// Returns where a run stands among the runs; `None` when there is no such run.
    pub async fn place_of(&self, run_id: RunId) -> Result<Option<Cursor>, Error> {
        ask!(self, engine => engine.place_of(run_id).await)
    }

    /// Returns the sealed keys that came with the request for a run; `Some(None)` when they were wiped at its end.
    pub async fn sealed_keys(&self, run_id: RunId) -> Result<Option<Option<Vec<u8>>>, Error> {
        ask!(self, engine => engine.sealed_keys(run_id).await)
    }

    /// Returns the folder that a run searches, absolute; `None` when it searches the web or does not exist.
    pub async fn documents(&self, run_id: RunId) -> Result<Option<String>, Error> {
        ask!(self, engine => engine.documents(run_id).await)
    }

    /// Returns a page of the runs that `filter` lets through, newest first.
    pub async fn runs_page(&self, filter: &RunFilter, after: Option<Cursor>, limit: u32) -> Result<Page<Run>, Error> {
        ask!(self, engine => engine.runs(filter, after, limit).await)
    }

    /// Returns a run as operators see it; `None` when there is none.
    pub async fn overview(&self, run_id: RunId) -> Result<Option<RunOverview>, Error> {
        ask!(self, engine => engine.overview(run_id).await)
    }

    /// Returns the runs that `worker` works on and that have stored no event since that time, each with the time of
    /// its newest.
    pub async fn silent_runs(&self, worker: &str, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, Error> {
        ask!(self, engine => engine.silent_runs(worker, since).await)
    }

    /// Returns `limit` runs at most as operators see them, of that status if one is given, newest first.
    pub async fn overviews(&self, status: Option<RunStatus>, limit: u32) -> Result<Vec<RunOverview>, Error> {
        ask!(self, engine => engine.overviews(status, limit).await)
    }

    /// Returns `limit` runs at most of all threads, newest first.
    pub async fn runs(&self, limit: u32) -> Result<Vec<Run>, Error> {
        Ok(self.runs_page(&RunFilter::default(), None, limit).await?.items)
    }

    /// Returns the runs of a thread, newest first; empty for an unknown thread.
    pub async fn thread_runs(&self, thread_id: ThreadId) -> Result<Vec<Run>, Error> {
        let filter = RunFilter { thread_id: Some(thread_id), ..RunFilter::default() };
        Ok(self.runs_page(&filter, None, u32::MAX).await?.items)
    }

    /// Returns usage and place in the queue of these runs; in their order.
    pub async fn details(&self, runs: Vec<Run>) -> Result<Vec<RunDetails>, Error> {
        ask!(self, engine => engine.details(runs.clone()).await)
    }

    /// Returns how many queries each of these runs has searched for, refused ones included; none for one whose journal
    /// is gone.
    pub async fn queries_of(&self, runs: &[Run]) -> Result<HashMap<RunId, u64>, Error> {
        ask!(self, engine => engine.queries_of(runs).await)
    }

    /// Returns how many runs wait and are at work, over all processes.
    pub async fn load(&self) -> Result<Load, Error> {
        ask!(self, engine => engine.load().await)
    }

    /// Takes webhooks that are due, at most `limit`, and keeps them from others for the time of the claim.
    pub async fn take_deliveries(&self, claim: Duration, limit: u32, clock: Clock) -> Result<Vec<Delivery>, Error> {
        change!(self, engine => engine.take_deliveries(claim, limit, clock).await)
    }

    /// Lets a webhook be taken again after `pause`, unless it was meanwhile.
    pub async fn put_off_delivery(
        &self,
        run_id: RunId,
        attempt: u32,
        pause: Duration,
        clock: Clock,
    ) -> Result<(), Error> {
        change!(self, engine => engine.put_off_delivery(run_id, attempt, pause, clock).await)
    }

    /// Forgets webhooks of runs that ended longer ago than that; returns how many.
    pub async fn forget_deliveries(&self, age: Duration, clock: Clock) -> Result<u64, Error> {
        ensure!(self, engine => engine.forget_deliveries(age, clock).await)
    }

    /// Forgets a webhook that was delivered, or given up.
    pub async fn end_delivery(&self, run_id: RunId) -> Result<(), Error> {
        change!(self, engine => engine.end_delivery(run_id).await)
    }

    /// Returns a thread of any owner; `None` when there is none.
    pub async fn thread(&self, thread_id: ThreadId) -> Result<Option<Thread>, Error> {
        Ok(self.thread_of(None, thread_id).await?.map(|(thread, _)| thread))
    }

    /// Returns a thread of that owner, or of anybody when none is given, and whose it is; `None` when there is none.
    pub async fn thread_of(
        &self,
        owner: Option<&Owner>,
        thread_id: ThreadId,
    ) -> Result<Option<(Thread, Owner)>, Error> {
        ask!(self, engine => engine.thread_of(owner, thread_id).await)
    }

    /// Returns a run in a thread of that owner, or of anybody when none is given, and whose thread that is; `None`
    /// when there is none.
    pub async fn run_of(&self, owner: Option<&Owner>, run_id: RunId) -> Result<Option<(Run, Owner)>, Error> {
        ask!(self, engine => engine.run_of(owner, run_id).await)
    }

    /// Returns a page of the threads, of that owner if one is given, newest first.
    pub async fn threads(
        &self,
        owner: Option<&Owner>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        ask!(self, engine => engine.threads(owner, after, limit).await)
    }

    /// Returns a page of the threads, of that owner if one is given, that `filter` lets through, newest first; it may
    /// be short although more comes after it.
    pub async fn search(
        &self,
        owner: Option<&Owner>,
        filter: &ThreadFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        ask!(self, engine => engine.search(owner, filter, after, limit).await)
    }

    /// Changes the title and the metadata of a thread; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::MetadataTooLarge`]; nothing is changed then.
    pub async fn change_thread(&self, thread_id: ThreadId, change: &ThreadChange) -> Result<Option<Thread>, Error> {
        change!(self, engine => engine.change_thread(thread_id, change).await)
    }

    /// Returns the whole conversation in order; empty for an unknown thread.
    pub async fn messages(&self, thread_id: ThreadId) -> Result<Vec<Message>, Error> {
        Ok(self.messages_page(thread_id, None, PageLimit { rows: u32::MAX, bytes: usize::MAX }).await?.items)
    }

    /// Returns a page of the conversation, in order.
    pub async fn messages_page(
        &self,
        thread_id: ThreadId,
        after: Option<Cursor>,
        limit: PageLimit,
    ) -> Result<Page<Message>, Error> {
        ask!(self, engine => engine.messages(thread_id, after, limit).await)
    }

    /// Returns the newest messages up to the one that `asked` answers, in order: that one, and those before it until
    /// they reach either limit.
    pub async fn messages_until(
        &self,
        thread_id: ThreadId,
        asked: RunId,
        limit: PageLimit,
    ) -> Result<Vec<Message>, Error> {
        ask!(self, engine => engine.messages_until(thread_id, asked, limit).await)
    }

    /// Returns a message of a thread; `None` when there is none.
    pub async fn message(&self, thread_id: ThreadId, message_id: MessageId) -> Result<Option<Message>, Error> {
        ask!(self, engine => engine.message(thread_id, message_id).await)
    }

    /// Returns what a run retrieved, by ascending id, without snapshots.
    pub async fn sources(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        ask!(self, engine => engine.sources(run_id).await)
    }

    /// Returns those of a run's sources that have one of these ids as their own, with their snapshots.
    pub async fn snapshots_of(&self, run_id: RunId, ids: &[SourceId]) -> Result<Vec<Source>, Error> {
        ask!(self, engine => engine.snapshots_of(run_id, ids).await)
    }

    /// Returns sources as [`Store::sources`] does, with their snapshots.
    pub async fn snapshots(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        ask!(self, engine => engine.snapshots(run_id).await)
    }

    /// Returns a source with its snapshot, by its id or one of its aliases.
    pub async fn source(&self, run_id: RunId, source_id: SourceId) -> Result<Option<Source>, Error> {
        ask!(self, engine => engine.source(run_id, source_id).await)
    }

    /// Returns the texts, by address, that a run has seen beside those of its sources.
    pub async fn other_texts(&self, run_id: RunId) -> Result<Vec<(String, String)>, Error> {
        ask!(self, engine => engine.other_texts(run_id).await)
    }

    /// Returns what the researchers of a run found, by researcher.
    pub async fn notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        ask!(self, engine => engine.notes(run_id).await)
    }

    /// Returns notes as [`Store::notes`] does, the passages of their statements placed in the sources as
    /// [`Store::source`] returns them.
    pub async fn placed_notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        ask!(self, engine => engine.placed_notes(run_id).await)
    }

    /// Returns the report of a run that completed with one, or the answer, which is cited alike.
    pub async fn report(&self, run_id: RunId) -> Result<Option<Report>, Error> {
        ask!(self, engine => engine.report(run_id).await)
    }

    /// Deletes a thread and all that belongs to it; `false` when there was none. A worker of its active run is fenced.
    /// A thread that holds much goes in parts: when that is broken off, what is left of it is there to be deleted.
    pub async fn delete_thread(&self, thread_id: ThreadId) -> Result<bool, Error> {
        self.delete_in_parts(thread_id, None).await
    }

    /// Deletes a thread as [`Store::delete_thread`] does, unless something happened in it since it was found expired.
    pub async fn delete_expired(&self, expired: &ExpiredThread) -> Result<bool, Error> {
        self.delete_in_parts(expired.id, Some(expired)).await
    }

    /// Deletes what may be much in short transactions, and then the rest with the thread itself. Once a part is gone,
    /// the thread goes too, even if it is used now: its citations would lead nowhere.
    async fn delete_in_parts(&self, thread_id: ThreadId, expired: Option<&ExpiredThread>) -> Result<bool, Error> {
        let mut unless_used = expired;
        while ensure!(self, engine => engine.thin_out_thread(thread_id, unless_used).await)? {
            unless_used = None;
        }
        match unless_used {
            // That nothing is deleted the second time does not say that the first time deleted it.
            Some(_) => ensure!(self, engine => engine.delete_thread(thread_id, unless_used).await),
            None => remove!(self, engine => engine.delete_thread(thread_id, None).await),
        }
    }
}
