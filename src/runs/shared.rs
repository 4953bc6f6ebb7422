//! Threads that are shared by a link: what its holder may read, and nothing else.

use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::{OwnedThread, Runs};
use crate::{
    domain::{Revoked, Run, RunId, RunStatus, Share, ShareId, Source, Thread, Timestamp, report::Report},
    store::{self, NewShare, RunFilter, Store},
};

/// Reports of a thread that are listed, the newest.
const MAX_REPORTS: u32 = 200;

/// A thread as the holder of a link sees it.
#[derive(Clone, Debug)]
pub struct SharedThread {
    store: Store,
    thread: Thread,
}

/// A report of such a thread.
#[derive(Clone, Debug)]
pub struct SharedReport {
    store: Store,
    run: Run,
    report: Report,
}

impl OwnedThread {
    /// Makes a link; `None` when the thread has as many as it may have.
    ///
    /// # Errors
    /// Those of the store, as everywhere here.
    pub async fn share(
        &self,
        id: ShareId,
        secret_hash: [u8; 32],
        expires_at: Option<Timestamp>,
    ) -> Result<Option<Share>, store::Error> {
        let share = Share { id, created_at: Timestamp::now(), expires_at, revoked_at: None };
        let new = NewShare { share: share.clone(), thread_id: self.thread.id, secret_hash };
        Ok(self.access.store().add_share(&new).await?.then_some(share))
    }

    /// Returns its links, newest first.
    pub async fn shares(&self) -> Result<Vec<Share>, store::Error> {
        self.access.store().shares(self.thread.id, Timestamp::now()).await
    }

    /// Ends a link of the thread; `None` when there is none.
    pub async fn revoke_share(&self, id: ShareId) -> Result<Option<Revoked<Share>>, store::Error> {
        let now = Timestamp::now();
        let revoked = self.access.store().revoke_share(self.thread.id, id, now).await?;
        Ok(revoked.map(|share| Revoked { is_new: share.revoked_at == Some(now), what: share }))
    }
}

impl Runs {
    /// Returns the thread that a link shows; `None` when there is no such link, or it has ended.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn shared(&self, id: ShareId, secret_hash: [u8; 32]) -> Result<Option<SharedThread>, store::Error> {
        let store = self.store();
        let Some((share, thread_id, hash)) = store.share(id).await? else { return Ok(None) };
        if !bool::from(hash[..].ct_eq(&secret_hash[..])) || !share.is_valid(Timestamp::now()) {
            return Ok(None);
        }
        let thread = store.thread(thread_id).await?;
        Ok(thread.map(|thread| SharedThread { store: store.clone(), thread }))
    }
}

impl SharedThread {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns the runs that ended with a report or an answer, each with the beginning of the message it answers;
    /// newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn reports(&self) -> Result<Vec<(Run, String)>, store::Error> {
        let filter =
            RunFilter { thread_id: Some(self.thread.id), status: Some(RunStatus::Completed), ..RunFilter::default() };
        let mut runs = self.store.runs_page(&filter, None, MAX_REPORTS).await?.items;
        runs.retain(|run| run.outcome.is_some_and(|outcome| outcome.has_report()));
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        let mut questions = self.store.questions(&ids).await?;
        let with_question = |run: Run| {
            let question = questions.remove(&run.id).unwrap_or_default();
            (run, question)
        };
        Ok(runs.into_iter().map(with_question).collect())
    }

    /// Returns the report of a run of this thread; `None` when it has none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn report(&self, run_id: Uuid) -> Result<Option<SharedReport>, store::Error> {
        let run_id = RunId(run_id);
        let run = self.store.run(run_id).await?.filter(|run| run.thread_id == self.thread.id);
        let Some(run) = run.filter(|run| run.status == RunStatus::Completed) else { return Ok(None) };
        let report = self.store.report(run_id).await?;
        Ok(report.map(|report| SharedReport { store: self.store.clone(), run, report }))
    }
}

impl SharedReport {
    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns what the run retrieved, without snapshots.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sources(&self) -> Result<Vec<Source>, store::Error> {
        self.store.sources(self.run.id).await
    }
}
