//! [`Cx`]: what a stage of research, or a tool, may touch. Passed first, everywhere.
//!
//! `ask.rs` makes model calls: `fit.rs` fits them into the window, `paid.rs` prices them, `waits.rs` announces their
//! waits, `watch.rs` traces them, `spending.rs` counts them. `pages.rs` keeps what was retrieved.

mod ask;
mod fingerprint;
mod fit;
mod pages;
mod paid;
mod refused_tools;
mod role;
mod sink;
mod spending;
mod unanswered;
mod waits;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    time::Instant,
};

pub use crate::llm::structured::Form;
pub use ask::Call;
pub use pages::{OtherTexts, PageText, Registered, text_path};
pub use role::Role;
pub use sink::TextSink;
pub use spending::{Pages, Refusal, Spending, Standing, is_refusal};
pub use unanswered::Unanswered;
pub use waits::{Deadline, RunCaller};

use pages::KnownSources;
use refused_tools::RefusedTools;
use spending::Reserved;
use waits::{RunWaits, WaitClock};

use crate::{
    aside::Panicked,
    domain::{
        Event, Failure, ModelName, Note, RunOptions, Scope, Source, SourceId, Timestamp, Usage, WarningCode,
        limits::{EndedBy, Limits},
    },
    journal::{self, Entry, Fingerprint, Journal, NewEvent, StepKind, Stop},
    llm::Llm,
    prompts::Prompts,
    search::{Engine, Gate, Rest},
};

/// Why a stage gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run stops without an end: it is another worker's, or cannot be stored.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// This stage failed for good; the stage above decides what that means.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<Panicked> for Error {
    fn from(panicked: Panicked) -> Self {
        Self::Failed(panicked.into())
    }
}

impl Error {
    /// Returns a failure's code; for the rest one word.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Stop(_) => "stopped",
            Self::Failed(failure) => failure.code.as_str(),
        }
    }
}

/// What every run of the process shares.
#[derive(Clone, Debug)]
pub struct Services {
    pub llm: Llm,
    pub prompts: Arc<Prompts>,
    /// The engine of the run's `search_api`; `None` for `none`.
    pub search: Option<Engine>,
    pub snapshots: Snapshots,
}

/// Loads sources of the run with their texts; waits while the database is away.
#[derive(Clone)]
pub struct Snapshots(Arc<LoadSnapshots>);

type LoadSnapshots = dyn Fn(Vec<SourceId>) -> BoxFuture<'static, Result<Vec<Source>, Stop>> + Send + Sync;

impl Snapshots {
    pub fn new<F>(load: impl Fn(Vec<SourceId>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<Source>, Stop>> + Send + 'static,
    {
        Self(Arc::new(move |ids| Box::pin(load(ids))))
    }

    async fn load(&self, ids: Vec<SourceId>) -> Result<Vec<Source>, Stop> {
        (self.0)(ids).await
    }
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Snapshots")
    }
}

/// The context of one run, as one agent of it sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cx {
    run: Arc<RunContext>,
    /// Who speaks in events.
    scope: Scope,
    /// How long it has waited for providers.
    clock: Arc<WaitClock>,
}

/// A text behind its hash, by which several are ordered.
type HashedText = (String, Arc<str>);

#[derive(Debug)]
struct RunContext {
    journal: Arc<Journal>,
    services: Services,
    options: RunOptions,
    research_ends: Instant,
    waits: RunWaits,
    spending: Arc<Spending>,
    /// Models that answer in place of a role's own, as was announced last. Locked for map access only.
    stand_ins: Mutex<HashMap<Role, ModelName>>,
    /// Search engines that have answered in place of others. Locked for set access only.
    stand_in_engines: Mutex<HashSet<String>>,
    /// How often the output limit of a model had to be doubled. Locked for map access only.
    raises: Mutex<HashMap<(Role, ModelName), u32>>,
    refused_tools: RefusedTools,
    /// Turns of pages to be summarised.
    summaries: Semaphore,
    /// `report.started` events of earlier lives of this run.
    report_attempts: u32,
    date: OnceCell<String>,
    /// Those of earlier lives included. Locked for map access only.
    sources: Mutex<KnownSources>,
    /// Pages by key: read once, by the first that needs it. Locked for map access only.
    pages: Mutex<HashMap<String, Arc<OnceCell<PageText>>>>,
    /// Page texts by key that earlier lives of this run retrieved. Locked for map access only.
    earlier_texts: Mutex<HashMap<String, Arc<str>>>,
    /// Page texts by key of the runs that this one retries.
    inherited_texts: HashMap<String, Arc<str>>,
    /// The sources of those runs, by address.
    inherited_sources: HashMap<String, Vec<Source>>,
    /// Texts by address that are not the snapshot of the source there. Locked for map access only.
    other_texts: Mutex<HashMap<String, Vec<HashedText>>>,
    /// Locked to be added to only.
    limits: Mutex<Limits>,
}

/// What earlier lives of the run left behind, beside the journal.
#[derive(Debug, Default)]
pub struct EarlierLives {
    pub report_attempts: u32,
    /// With snapshots.
    pub sources: Vec<Source>,
    /// Those of the runs that this one retries, with snapshots.
    pub inherited: Vec<Source>,
}

impl Cx {
    /// Returns the root context of a run.
    pub fn new(
        journal: Arc<Journal>,
        services: Services,
        options: RunOptions,
        earlier: EarlierLives,
        research_ends: Instant,
        spending: Arc<Spending>,
    ) -> Self {
        let (mut sources, mut texts) = (KnownSources::default(), HashMap::new());
        for mut source in earlier.sources {
            texts.insert(pages::text_path_of(&source), std::mem::take(&mut source.snapshot));
            Source::join_ids(&mut source.id, &mut source.aliases, []);
            sources.register(&mut source);
        }
        let summaries = Semaphore::new(options.max_concurrent_summaries as usize);
        let run = RunContext {
            refused_tools: RefusedTools::default(),
            summaries,
            journal,
            services,
            options,
            research_ends,
            waits: RunWaits::default(),
            spending,
            stand_ins: Mutex::default(),
            stand_in_engines: Mutex::default(),
            raises: Mutex::default(),
            report_attempts: earlier.report_attempts,
            date: OnceCell::new(),
            sources: Mutex::new(sources),
            pages: Mutex::default(),
            earlier_texts: Mutex::new(texts),
            inherited_texts: earlier.inherited.iter().map(text_by_key).collect(),
            inherited_sources: by_address(earlier.inherited),
            other_texts: Mutex::default(),
            limits: Mutex::default(),
        };
        Self { run: Arc::new(run), scope: Scope::ROOT, clock: Arc::default() }
    }

    /// Returns the same run, speaking as `scope`, which has a time of its own.
    pub fn speaking_as(&self, scope: Scope) -> Self {
        Self { run: Arc::clone(&self.run), scope, clock: Arc::default() }
    }

    pub fn options(&self) -> &RunOptions {
        &self.run.options
    }

    /// Returns when research has to end, so that there is time left to write the report. What is given up then is in
    /// the journal, so that a replay, which has another clock, goes the same way.
    pub fn research_ends(&self) -> Deadline {
        self.deadline(self.run.research_ends.saturating_duration_since(Instant::now()))
    }

    /// Returns whether the model must reflect in replies of its own. The offline one never must: it has nothing to
    /// reflect with.
    pub fn requires_thought(&self) -> bool {
        self.run.options.require_think && !self.run.options.research_model.first().is_offline()
    }

    /// Counts a search that is to be made next.
    ///
    /// # Errors
    /// It must not be made; the entry is its step.
    pub fn begin_search(&self) -> Result<Reserved<'_>, Box<Entry<String>>> {
        let model = self.search().and_then(Engine::model);
        let price = model.map(|model| move |usage: &Usage| self.run.services.llm.cost(model, usage));
        self.run.spending.begin_search(price).map_err(|refusal| {
            let message = refusal.message.clone();
            Box::new(self.refused(&refusal, message))
        })
    }

    /// Lets as many pages be read of those that are wanted next as the run may read.
    pub fn begin_pages(&self, wanted: usize) -> Pages<'_> {
        self.run.spending.begin_pages(wanted)
    }

    /// Returns the step of something that was not done because the run has spent what it may; the first one warns.
    pub fn refused<T>(&self, refusal: &Refusal, value: T) -> Entry<T> {
        self.with_refusal(refusal, Entry::new(value))
    }

    /// Returns the step of something of which a part was not done for that reason.
    pub fn with_refusal<T>(&self, refusal: &Refusal, entry: Entry<T>) -> Entry<T> {
        if refusal.is_first {
            let warning = Event::warning(WarningCode::SpendingLimit, refusal.message.clone());
            return entry.event(&self.scope, warning);
        }
        entry
    }

    /// Notes that this search engine has answered in place of others; returns whether it is the first time in the run.
    pub fn is_first_answer_of(&self, engine: &str) -> bool {
        self.run.stand_in_engines.lock().insert(engine.to_owned())
    }

    /// Adds to what is known of the limits of the run's research; a replay adds the same.
    pub fn limit(&self, add: impl FnOnce(&mut Limits)) {
        add(&mut self.run.limits.lock());
    }

    /// Returns what is known of the limits of the run's research.
    pub fn limits(&self) -> Limits {
        self.run.limits.lock().clone()
    }

    pub fn prompts(&self) -> &Prompts {
        &self.run.services.prompts
    }

    pub fn journal(&self) -> &Journal {
        &self.run.journal
    }

    pub fn search(&self) -> Option<&Engine> {
        self.run.services.search.as_ref()
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the number of the last `report.started` of an earlier life of this run; 0 when there was none.
    pub fn report_attempts(&self) -> u32 {
        self.run.report_attempts
    }

    /// Returns the date all prompts of this run carry: that of its first step, also after a restart on another day.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn date(&self) -> Result<&str, Stop> {
        let asked = Fingerprint::from(String::new());
        let journal = &self.run.journal;
        let zone = &self.run.options.timezone;
        let today = journal.step("date", StepKind::Value, asked.clone(), async {
            let inherited = journal.inherited("date", &asked);
            Ok(inherited.map_or_else(|| Entry::new(Timestamp::now().prompt_date(zone)), Entry::inherited))
        });
        Ok(self.run.date.get_or_try_init(|| today).await?)
    }

    /// Emits an event once per run, keyed, without waiting for the database.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn mark(&self, key: &str, event: Event) -> Result<(), Stop> {
        self.run.journal.mark(key, vec![self.now(event)]).await
    }

    /// Returns how much of the run's limits was used when it first passed here, so that a replay goes the same way.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn standing(&self, key: &str) -> Result<Standing, Stop> {
        self.run.journal.mark_value(key, || self.run.spending.standing(), Vec::new()).await
    }

    /// Marks the beginning of a researcher, as [`Self::mark`]; returns as [`Self::standing`] does, and counts the
    /// researcher unless so much was used that no new research starts.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn begin_researcher(&self, key: &str, event: Event) -> Result<Standing, Stop> {
        self.run.journal.mark_value(key, || self.run.spending.begin_researcher(), vec![self.now(event)]).await
    }

    /// Notes that research is refused, since so much is used that the rest is kept for the report.
    pub fn end_research(&self, standing: &Standing) {
        self.run.spending.note_soft_limit(standing);
        let reason = if standing.is_time() { EndedBy::Time } else { EndedBy::Budget };
        self.limit(|limits| limits.ended_by = Some(reason));
    }

    /// Notes whether the time for research was over when the run first passed here. Then the run's time limited it.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn note_time_over(&self, key: &str) -> Result<(), Stop> {
        let is_over = || self.run.research_ends <= Instant::now();
        if self.run.journal.mark_value(key, is_over, Vec::new()).await? {
            self.run.spending.note_time_over();
        }
        Ok(())
    }

    /// Stores a researcher's note, once.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn keep_note(&self, key: &str, note: Note) -> Result<(), Stop> {
        let entry = Entry { notes: vec![note], ..Entry::new(()) };
        self.run.journal.step(key, StepKind::Mark, String::new(), async { Ok(entry) }).await
    }

    /// Emits a warning once per run, keyed.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn warn(&self, key: &str, code: WarningCode, detail: impl Into<String>) -> Result<(), Stop> {
        self.mark(key, Event::warning(code, detail)).await
    }

    /// Emits events now, and again if a replay passes here.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn emit(&self, events: Vec<Event>) -> Result<(), Stop> {
        self.run.journal.emit(events.into_iter().map(|event| self.now(event)).collect()).await
    }

    /// Waits until a page may be summarised, since so many are at the same time; its turn ends when the value is
    /// dropped.
    pub async fn summary_turn(&self) -> Option<SemaphorePermit<'_>> {
        // An error means that it was closed, which nobody does.
        self.run.summaries.acquire().await.ok()
    }

    /// Returns the event as this agent's, with the time of now.
    pub fn now(&self, event: Event) -> NewEvent {
        journal::now(&self.scope, event)
    }
}

fn text_by_key(source: &Source) -> (String, Arc<str>) {
    (text_path(&source.url, &source.content_hash), Arc::clone(&source.snapshot))
}

fn by_address(sources: Vec<Source>) -> HashMap<String, Vec<Source>> {
    let mut all: HashMap<String, Vec<Source>> = HashMap::new();
    for source in sources {
        all.entry(source.url.clone()).or_default().push(source);
    }
    all
}

impl Gate for Cx {
    fn pass(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if self.run.journal.may_begin().await.is_err() {
                // The process stops. Nothing is under way here, so the worker drops the call.
                let _resting = self.run.journal.resting();
                std::future::pending().await
            }
        })
    }

    fn rest(&self) -> Rest {
        Rest::until_dropped(self.run.journal.resting())
    }
}
