//! The protocol of leases, epochs and numbers, checked on its own: random orders of what workers, clients and clocks
//! do.
//!
//! [`Model`] says in plain Rust what each call has to answer and what is there afterwards. Its own promises are checked
//! over many interleavings, and the store is held against it, on both engines, over fewer.

use std::{collections::HashSet, time::Duration};

use fathom::{
    domain::{Event, Run, RunId, RunStatus, ThreadId, Timestamp},
    store::{
        Cancelling, ClaimFilter, Claimant, Claimed, Clock, Commit, End, EndedLeases, Entry, Error, Lease, NewRun,
        Renewal, Store,
    },
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::{
    database::TestDatabase,
    store::{NOW, added, created, finish_of, new_run, step, thought},
};

const WORKERS: [&str; 3] = ["a", "b", "c"];
const THREADS: usize = 2;
/// The length of a lease; clocks move by about as much.
const LEASE_MS: i64 = 1_000;
const LEASE: Duration = Duration::from_millis(1_000);
/// After the first death that may be a run's fault, the second and so on.
const PAUSES_MS: [i64; 4] = [100, 200, 400, 800];

/// Something that happens. Indices are taken modulo what there is; of leases there are all that were ever given.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// The clock of the process that acts next is so much ahead, or behind.
    Clock(i64),
    Add(usize),
    ClaimNext(usize),
    /// By its id; perhaps knowing that the other worker is dead.
    Claim(usize, usize, Option<usize>),
    Renew(usize),
    Release(usize, i64),
    /// With a step or with an event alone.
    Commit(usize, bool),
    /// The lease's last entry once more, as after an answer that got lost.
    Repeat(usize),
    Finish(usize),
    /// The lease's worker is found dead; perhaps in the middle of our own work on the run.
    Settle(usize, bool),
    /// A worker is found dead of which nobody knows what it was doing.
    EndLeases(usize, EndedLeases),
    /// The lease's worker, which lost it, says that it lives.
    Survive(usize),
    Cancel(usize),
    Delete(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (worker, lease, run, thread) = (0..WORKERS.len(), 0..usize::MAX, 0..usize::MAX, 0..THREADS);
    let worker_again = worker.clone();
    prop_oneof![
        4 => (-LEASE_MS..2 * LEASE_MS).prop_map(Op::Clock),
        4 => thread.clone().prop_map(Op::Add),
        6 => worker.clone().prop_map(Op::ClaimNext),
        3 => (worker.clone(), run.clone(), prop::option::of(worker)).prop_map(|(a, b, c)| Op::Claim(a, b, c)),
        3 => lease.clone().prop_map(Op::Renew),
        2 => (lease.clone(), 0..LEASE_MS).prop_map(|(a, b)| Op::Release(a, b)),
        8 => (lease.clone(), any::<bool>()).prop_map(|(a, b)| Op::Commit(a, b)),
        3 => lease.clone().prop_map(Op::Repeat),
        2 => lease.clone().prop_map(Op::Finish),
        3 => (lease.clone(), any::<bool>()).prop_map(|(a, b)| Op::Settle(a, b)),
        2 => (worker_again, any::<bool>()).prop_map(|(worker, all)| {
            Op::EndLeases(worker, if all { EndedLeases::All } else { EndedLeases::Unsuspected })
        }),
        2 => lease.prop_map(Op::Survive),
        2 => run.prop_map(Op::Cancel),
        1 => thread.prop_map(Op::Delete),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..50)
}

/// What a call answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// There was nothing to call.
    Skipped,
    Done,
    /// The thread has an active run.
    Busy,
    Gone,
    Claimed {
        run: usize,
        epoch: i64,
        deaths: u32,
        unexplained: u32,
    },
    NothingToClaim,
    HeldByOther,
    Final,
    Held {
        cancel_requested: bool,
    },
    Lost,
    Requested,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Queued,
    Running,
    Completed,
    Cancelled,
}

/// A run as its row should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    status: Status,
    epoch: i64,
    worker: Option<usize>,
    expires: i64,
    deaths: u32,
    unexplained: u32,
    cancel_requested: bool,
    steps: u64,
}

#[derive(Clone, Debug)]
struct ModelRun {
    thread: usize,
    created: i64,
    row: Row,
    /// The newest lease whose end was settled.
    settled: i64,
    /// The entry written last.
    newest: Option<usize>,
}

/// An event: its run, and the epoch it was written under unless it is no worker's. The last of its run, or not.
type Logged = (usize, Option<i64>, bool);

#[derive(Clone, Debug, Default)]
struct ModelThread {
    exists: bool,
    log: Vec<Logged>,
}

#[derive(Clone, Copy, Debug)]
struct ModelLease {
    run: usize,
    epoch: i64,
    worker: usize,
    /// Its last entry, and whether that finishes the run.
    entry: Option<(usize, bool)>,
}

/// What should happen.
#[derive(Clone, Debug)]
struct Model {
    now: i64,
    threads: [ModelThread; THREADS],
    runs: Vec<ModelRun>,
    leases: Vec<ModelLease>,
    entries: usize,
}

impl Row {
    fn is_active(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Running)
    }
}

impl Model {
    fn new() -> Self {
        Self { now: NOW.0, threads: Default::default(), runs: vec![], leases: vec![], entries: 0 }
    }

    fn apply(&mut self, op: Op) -> Outcome {
        match op {
            Op::Clock(by) => {
                self.now += by;
                Outcome::Done
            }
            Op::Add(thread) => self.add(thread),
            Op::ClaimNext(worker) => match self.next(worker) {
                Some(run) => self.give(run, worker),
                None => Outcome::NothingToClaim,
            },
            Op::Claim(worker, run, dead) => self.with_run(run, |model, run| model.claim(run, worker, dead)),
            Op::Renew(lease) => self.with_lease(lease, Self::renew),
            Op::Release(lease, pause) => self.with_lease(lease, |model, lease| model.release(lease, pause)),
            Op::Commit(lease, with_step) => {
                self.with_lease(lease, |model, lease| model.commit(lease, with_step, false))
            }
            Op::Finish(lease) => self.with_lease(lease, |model, lease| model.commit(lease, false, true)),
            Op::Repeat(lease) => self.with_lease(lease, Self::repeat),
            Op::Settle(lease, in_own_work) => self.with_lease(lease, |model, lease| model.settle(lease, in_own_work)),
            Op::EndLeases(worker, of) => self.end_leases(worker, of),
            Op::Survive(lease) => self.with_lease(lease, Self::survive),
            Op::Cancel(run) => self.with_run(run, Self::cancel),
            Op::Delete(thread) => {
                let existed = std::mem::take(&mut self.threads[thread]).exists;
                if existed { Outcome::Done } else { Outcome::Gone }
            }
        }
    }

    fn with_run(&mut self, run: usize, call: impl FnOnce(&mut Self, usize) -> Outcome) -> Outcome {
        if self.runs.is_empty() { Outcome::Skipped } else { call(self, run % self.runs.len()) }
    }

    fn with_lease(&mut self, lease: usize, call: impl FnOnce(&mut Self, usize) -> Outcome) -> Outcome {
        if self.leases.is_empty() { Outcome::Skipped } else { call(self, lease % self.leases.len()) }
    }

    /// The row of a run that is still there.
    fn row(&mut self, run: usize) -> Option<&mut Row> {
        let ModelRun { thread, row, .. } = &mut self.runs[run];
        self.threads[*thread].exists.then_some(row)
    }

    fn log(&mut self, run: usize, epoch: Option<i64>, is_end: bool) {
        let thread = self.runs[run].thread;
        self.threads[thread].log.push((run, epoch, is_end));
    }

    /// A thread that was deleted is another one when it is made again, with none of its runs.
    fn add(&mut self, thread: usize) -> Outcome {
        if self.threads[thread].exists && self.runs.iter().any(|run| run.thread == thread && run.row.is_active()) {
            return Outcome::Busy;
        }
        if !std::mem::replace(&mut self.threads[thread].exists, true) {
            // Their rows are gone for good; no thread of that number will be theirs again.
            self.runs.iter_mut().filter(|run| run.thread == thread).for_each(|run| run.thread = THREADS);
        }
        let row = Row {
            status: Status::Queued,
            epoch: 0,
            worker: None,
            expires: 0,
            deaths: 0,
            unexplained: 0,
            cancel_requested: false,
            steps: 0,
        };
        self.runs.push(ModelRun { thread, created: self.now, row, settled: 0, newest: None });
        self.log(self.runs.len() - 1, None, false);
        Outcome::Done
    }

    /// Begun runs first, then by age. Nobody takes what is its own.
    fn next(&self, worker: usize) -> Option<usize> {
        let free = |run: &&(usize, &ModelRun)| {
            self.threads.get(run.1.thread).is_some_and(|thread| thread.exists)
                && run.1.row.is_active()
                && run.1.row.expires <= self.now
                && (run.1.row.status == Status::Queued || run.1.row.worker != Some(worker))
        };
        let order = |(index, run): &(usize, &ModelRun)| (run.row.status != Status::Running, run.created, *index);
        self.runs.iter().enumerate().filter(|run| free(&run)).min_by_key(order).map(|(index, _)| index)
    }

    fn claim(&mut self, run: usize, worker: usize, dead: Option<usize>) -> Outcome {
        let now = self.now;
        let Some(row) = self.existing(run) else { return Outcome::Gone };
        if !row.is_active() {
            return Outcome::Final;
        }
        let free = row.expires <= now || row.worker.is_none() || (dead.is_some() && row.worker == dead);
        if free { self.give(run, worker) } else { Outcome::HeldByOther }
    }

    fn existing(&mut self, run: usize) -> Option<&mut Row> {
        if self.runs[run].thread == THREADS { None } else { self.row(run) }
    }

    fn give(&mut self, run: usize, worker: usize) -> Outcome {
        let expires = self.now + LEASE_MS;
        let row = &mut self.runs[run].row;
        // Who claims again is alive.
        if row.status == Status::Running && row.worker.is_some_and(|before| before != worker) {
            row.deaths += u32::from(row.deaths >= 2 || row.unexplained >= 3);
            row.unexplained += 1;
        }
        (row.status, row.worker, row.expires) = (Status::Running, Some(worker), expires);
        row.epoch += 1;
        let Row { epoch, deaths, unexplained, .. } = *row;
        self.leases.push(ModelLease { run, epoch, worker, entry: None });
        Outcome::Claimed { run, epoch, deaths, unexplained }
    }

    fn end_leases(&mut self, worker: usize, of: EndedLeases) -> Outcome {
        for run in 0..self.runs.len() {
            let Some(row) = self.existing(run).filter(|row| row.is_active() && row.worker == Some(worker)) else {
                continue;
            };
            if of == EndedLeases::All || (row.deaths, row.unexplained) == (0, 0) {
                row.expires = 0;
            }
        }
        Outcome::Done
    }

    /// The row, if the lease is the newest one and the run not over.
    fn held(&mut self, lease: usize) -> Option<&mut Row> {
        let ModelLease { run, epoch, .. } = self.leases[lease];
        self.existing(run).filter(|row| row.status == Status::Running && row.epoch == epoch)
    }

    fn renew(&mut self, lease: usize) -> Outcome {
        let expires = self.now + LEASE_MS;
        match self.held(lease).filter(|row| row.worker.is_some()) {
            Some(row) => {
                row.expires = expires;
                Outcome::Held { cancel_requested: row.cancel_requested }
            }
            None => Outcome::Lost,
        }
    }

    fn release(&mut self, lease: usize, pause: i64) -> Outcome {
        let free_at = self.now + pause;
        // Once: a repetition would shorten the pause.
        if let Some(row) = self.held(lease).filter(|row| row.worker.is_some()) {
            (row.worker, row.expires) = (None, free_at);
        }
        Outcome::Done
    }

    /// A run that nobody has taken over is given back, after a pause when the death may be its fault. One that somebody
    /// took over without knowing of the death stays there, and the end is explained afterwards. Each lease once.
    fn settle(&mut self, lease: usize, in_own_work: bool) -> Outcome {
        let now = self.now;
        let ModelLease { run, epoch, worker, .. } = self.leases[lease];
        let settled = self.runs[run].settled;
        let open = |row: &&mut Row| row.status == Status::Running && settled < epoch;
        let Some(row) = self.existing(run).filter(open) else { return Outcome::Done };
        let deaths = usize::try_from(row.deaths).unwrap();
        if row.epoch == epoch && row.worker == Some(worker) {
            let pause = if in_own_work { PAUSES_MS[deaths.min(3)] } else { 0 };
            (row.worker, row.expires) = (None, now + pause);
        } else if row.epoch == epoch + 1 && row.worker.is_some_and(|other| other != worker) {
            row.unexplained = row.unexplained.saturating_sub(1);
        } else {
            return Outcome::Done;
        }
        row.deaths += u32::from(in_own_work);
        self.runs[run].settled = epoch;
        Outcome::Done
    }

    fn survive(&mut self, lease: usize) -> Outcome {
        let ModelLease { run, epoch, .. } = self.leases[lease];
        if let Some(row) = self.existing(run).filter(|row| row.status == Status::Running && row.epoch > epoch) {
            row.unexplained = row.unexplained.saturating_sub(1);
        }
        Outcome::Done
    }

    fn commit(&mut self, lease: usize, with_step: bool, finishes: bool) -> Outcome {
        let entry = self.entries;
        self.entries += 1;
        self.leases[lease].entry = Some((entry, finishes));
        let ModelLease { run, epoch, .. } = self.leases[lease];
        let Some(row) = self.held(lease) else { return Outcome::Lost };
        if with_step {
            row.steps += 1;
            (row.deaths, row.unexplained) = (0, 0);
        }
        if finishes {
            (row.status, row.worker, row.expires) = (Status::Completed, None, 0);
            (row.deaths, row.unexplained) = (0, 0);
        }
        self.log(run, Some(epoch), finishes);
        self.runs[run].newest = Some(entry);
        Outcome::Done
    }

    /// Only what was given last may be given again.
    fn repeat(&mut self, lease: usize) -> Outcome {
        let ModelLease { run, entry, .. } = self.leases[lease];
        let Some((entry, _)) = entry else { return Outcome::Skipped };
        if self.existing(run).is_some() && self.runs[run].newest == Some(entry) {
            Outcome::Done
        } else {
            Outcome::Skipped
        }
    }

    fn cancel(&mut self, run: usize) -> Outcome {
        let now = self.now;
        let Some(row) = self.existing(run) else { return Outcome::Gone };
        if !row.is_active() {
            return Outcome::Final;
        }
        row.cancel_requested = true;
        if row.status == Status::Running && row.worker.is_some() && row.expires > now {
            return Outcome::Requested;
        }
        (row.status, row.worker, row.expires) = (Status::Cancelled, None, 0);
        self.log(run, None, true);
        Outcome::Done
    }

    /// What must hold whatever happens.
    fn check(&self, given: &mut HashSet<(usize, i64)>, outcome: Outcome) {
        if let Outcome::Claimed { run, epoch, .. } = outcome {
            assert!(given.insert((run, epoch)), "an epoch is given once");
            assert!(given.iter().all(|(other, older)| *other != run || *older <= epoch), "epochs rise");
        }
        for (number, thread) in self.threads.iter().enumerate().filter(|(_, thread)| thread.exists) {
            let runs = || self.runs.iter().enumerate().filter(move |(_, run)| run.thread == number);
            assert!(runs().filter(|(_, run)| run.row.is_active()).count() <= 1, "one active run per thread");
            check_log(&thread.log, |run| !self.runs[run].row.is_active());
        }
    }
}

/// The log of a thread: no run writes after its end, an end is there exactly for those that are over, and no epoch
/// writes after a later one.
fn check_log(log: &[Logged], is_over: impl Fn(usize) -> bool) {
    let runs: HashSet<usize> = log.iter().map(|(run, ..)| *run).collect();
    for run in runs {
        let own: Vec<_> = log.iter().filter(|logged| logged.0 == run).collect();
        let ends = own.iter().filter(|logged| logged.2).count();
        assert_eq!(ends, usize::from(is_over(run)), "one end, when it is over");
        assert!(ends == 0 || own.last().unwrap().2, "nothing after the end");
        let epochs: Vec<i64> = own.iter().filter_map(|logged| logged.1).collect();
        assert!(epochs.is_sorted(), "a stale epoch wrote: {epochs:?}");
    }
}

#[test]
fn the_model_keeps_its_promises() {
    let config = Config { cases: 5_000, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&ops(), |ops| {
        let (mut model, mut given) = (Model::new(), HashSet::new());
        for op in ops {
            let outcome = model.apply(op);
            model.check(&mut given, outcome);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn sqlite_does_as_the_model_says() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    compare(&runtime, &TestDatabase::sqlite(), 150);
}

#[test]
fn postgres_does_as_the_model_says() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(TestDatabase::postgres());
    compare(&runtime, &database, 40);
}

/// Two stores, so that workers do not share connections.
fn compare(runtime: &tokio::runtime::Runtime, database: &TestDatabase, cases: u32) {
    let stores = runtime.block_on(async { [database.open().await, database.open().await] });
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let result = TestRunner::new(config).run(&ops(), |ops| {
        runtime.block_on(Real::live(&stores, &ops));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    runtime.block_on(async {
        for store in stores {
            store.close().await;
        }
    });
}

/// The same through the store.
struct Real<'a> {
    stores: &'a [Store; 2],
    model: Model,
    threads: [Option<ThreadId>; THREADS],
    runs: Vec<Run>,
    leases: Vec<(Lease, Option<Entry>)>,
    keys: usize,
}

impl Real<'_> {
    async fn live(stores: &[Store; 2], ops: &[Op]) {
        // A case before this one may have stopped in the middle.
        for thread in stores[0].threads(None, None, 100).await.unwrap().items {
            stores[0].delete_thread(thread.id).await.unwrap();
        }
        let (threads, model) = ([None; THREADS], Model::new());
        let mut real = Real { stores, model, threads, runs: vec![], leases: vec![], keys: 0 };
        for (turn, op) in ops.iter().enumerate() {
            let expected = real.model.apply(*op);
            let outcome = if expected == Outcome::Skipped { expected } else { real.apply(*op, turn).await };
            assert_eq!(outcome, expected, "{op:?}");
            for run in 0..real.runs.len() {
                assert_eq!(real.row(run).await, real.model.existing(run).copied(), "run {run} after {op:?}");
            }
        }
        real.check_logs().await;
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.model.now)
    }

    fn claimant(&self, worker: usize) -> Claimant {
        Claimant { worker: WORKERS[worker].to_owned(), lease: LEASE, clock: self.clock() }
    }

    fn clock(&self) -> Clock {
        Clock::At(self.now())
    }

    async fn apply(&mut self, op: Op, turn: usize) -> Outcome {
        let store = self.stores[turn % 2].clone();
        let lease = |lease: usize| lease % self.leases.len().max(1);
        match op {
            Op::Clock(_) => Outcome::Done,
            Op::Add(thread) => self.add(&store, thread).await,
            Op::ClaimNext(worker) => match store.claim_next(&self.claimant(worker), ClaimFilter::ALL).await.unwrap() {
                Some((lease, _)) => self.claimed(lease),
                None => Outcome::NothingToClaim,
            },
            Op::Claim(worker, run, dead) => self.claim(&store, worker, run, dead).await,
            Op::Renew(at) => {
                let renewal = store.renew(&self.leases[lease(at)].0, LEASE, self.clock()).await;
                match renewal.unwrap() {
                    Renewal::Held { cancel_requested } => Outcome::Held { cancel_requested },
                    Renewal::Lost => Outcome::Lost,
                }
            }
            Op::Release(at, pause) => {
                let Lease { run_id, epoch, .. } = self.leases[lease(at)].0;
                let pause = Duration::from_millis(pause.unsigned_abs());
                store.release(run_id, epoch, None, pause, self.clock()).await.unwrap();
                Outcome::Done
            }
            Op::Commit(at, with_step) => self.commit(&store, lease(at), with_step).await,
            Op::Finish(at) => {
                let at = lease(at);
                self.enter(&store, at, finish_of(self.leases[at].0)).await
            }
            Op::Repeat(at) => {
                let entry = self.leases[lease(at)].1.clone().unwrap();
                written(store.commit_entries(&[entry]).await)
            }
            Op::Settle(at, in_own_work) => {
                let (at, worker) = (lease(at), self.model.leases[lease(at)].worker);
                let Lease { run_id, epoch, .. } = self.leases[at].0;
                let pauses = PAUSES_MS.map(|ms| Duration::from_millis(ms.unsigned_abs()));
                store
                    .settle(WORKERS[worker], &[End { run_id, epoch, in_own_work }], pauses, self.clock())
                    .await
                    .unwrap();
                Outcome::Done
            }
            Op::EndLeases(worker, of) => {
                store.end_leases(WORKERS[worker], of).await.unwrap();
                Outcome::Done
            }
            Op::Survive(at) => {
                store.excuse_unexplained_end(&self.leases[lease(at)].0).await.unwrap();
                Outcome::Done
            }
            Op::Cancel(run) => {
                let run_id = self.runs[run % self.runs.len()].id;
                match store.request_cancel(run_id, self.clock()).await.unwrap() {
                    None => Outcome::Gone,
                    Some(Cancelling::Requested(_)) => Outcome::Requested,
                    Some(Cancelling::Done(_)) => Outcome::Done,
                    Some(Cancelling::Final(_)) => Outcome::Final,
                }
            }
            Op::Delete(thread) => match self.threads[thread].take() {
                Some(thread_id) if store.delete_thread(thread_id).await.unwrap() => Outcome::Done,
                _ => Outcome::Gone,
            },
        }
    }

    async fn add(&mut self, store: &Store, thread: usize) -> Outcome {
        let new_run = NewRun { now: self.now(), ..new_run() };
        let run = match self.threads[thread] {
            None => created(store, &new_run).await,
            Some(thread_id) => match added(store, &NewRun { thread_id, ..new_run }).await {
                Ok(run) => run.expect("the thread exists"),
                Err(Error::ThreadBusy) => return Outcome::Busy,
                Err(error) => panic!("{error}"),
            },
        };
        self.threads[thread] = Some(run.thread_id);
        self.runs.push(run);
        Outcome::Done
    }

    async fn claim(&mut self, store: &Store, worker: usize, run: usize, dead: Option<usize>) -> Outcome {
        let (run_id, claimant) = (self.runs[run % self.runs.len()].id, self.claimant(worker));
        let claimed = match dead {
            Some(dead) => store.claim_taken_over(run_id, &claimant, WORKERS[dead]).await,
            None => store.claim(run_id, &claimant).await,
        };
        match claimed.unwrap() {
            Claimed::Yes { lease, .. } => self.claimed(lease),
            Claimed::HeldBy { .. } => Outcome::HeldByOther,
            Claimed::Final(_) => Outcome::Final,
            Claimed::Unknown => Outcome::Gone,
        }
    }

    fn claimed(&mut self, lease: Lease) -> Outcome {
        self.leases.push((lease, None));
        let Lease { epoch, deaths, unexplained, .. } = lease;
        Outcome::Claimed { run: self.place(lease.run_id), epoch, deaths, unexplained }
    }

    fn place(&self, run_id: RunId) -> usize {
        self.runs.iter().position(|run| run.id == run_id).expect("a run of this case")
    }

    async fn commit(&mut self, store: &Store, at: usize, with_step: bool) -> Outcome {
        let lease = self.leases[at].0;
        self.keys += 1;
        let steps = if with_step { vec![step(&self.keys.to_string())] } else { Vec::new() };
        let commit = Commit { steps, events: vec![thought(&lease.epoch.to_string())], ..Commit::new(lease) };
        self.enter(store, at, commit).await
    }

    async fn enter(&mut self, store: &Store, at: usize, commit: Commit) -> Outcome {
        let entry = Entry::from(commit);
        self.leases[at].1 = Some(entry.clone());
        written(store.commit_entries(&[entry]).await)
    }

    async fn row(&self, run: usize) -> Option<Row> {
        let overview = self.stores[run % 2].overview(self.runs[run].id).await.unwrap()?;
        Some(Row {
            status: match overview.run.status {
                RunStatus::Queued => Status::Queued,
                RunStatus::Running => Status::Running,
                RunStatus::Completed => Status::Completed,
                RunStatus::Cancelled => Status::Cancelled,
                RunStatus::Failed => panic!("nobody failed"),
            },
            epoch: overview.epoch,
            worker: overview.worker.map(|worker| WORKERS.iter().position(|name| *name == worker).unwrap()),
            expires: overview.lease_expires_at.0,
            deaths: overview.deaths,
            unexplained: overview.unexplained,
            cancel_requested: overview.run.cancel_requested,
            steps: overview.steps,
        })
    }

    /// What is stored is what the model wrote, numbered without gaps, and keeps the promises by itself.
    async fn check_logs(&self) {
        for (thread, thread_id) in self.threads.iter().enumerate() {
            let Some(thread_id) = thread_id else { continue };
            let events = self.stores[0].events_after(*thread_id, 0, 10_000).await.unwrap();
            assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as i64), "numbers without gaps");
            let log: Vec<Logged> = events
                .iter()
                .map(|envelope| {
                    let epoch = match &envelope.event {
                        Event::Thought { text } => Some(text.parse().unwrap()),
                        _ => None,
                    };
                    (self.place(envelope.run_id), epoch, envelope.event.is_terminal())
                })
                .collect();
            let expected = self.model.threads[thread].log.iter();
            assert!(log.iter().map(|(run, _, end)| (run, end)).eq(expected.map(|(run, _, end)| (run, end))), "{log:?}");
            check_log(&log, |run| !self.model.runs[run].row.is_active());
        }
    }
}

fn written(mut answers: Vec<Result<(), Error>>) -> Outcome {
    match answers.remove(0) {
        Ok(()) => Outcome::Done,
        Err(Error::Fenced) => Outcome::Lost,
        Err(error) => panic!("{error}"),
    }
}
