//! [`Cx`]: what a stage of research, or a tool, may touch. Passed first, everywhere.
//!
//! Every model call goes through [`Cx::ask`] (or [`Cx::ask_streaming`]): fitted into the context window, retried by
//! error kind, journaled with its usage, and typed.

mod fit;

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use serde_json::json;
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    domain::{Event, Failure, FailureCode, Note, Provider, RunOptions, Scope, Source, Timestamp, WarningCode},
    journal::{self, CallRecord, Entry, Journal, NewEvent, Stop},
    llm::{
        self, Completion, Delta, Llm, Request, Retry, Task,
        structured::{self, Ladder},
    },
    prompts::Prompts,
    search::Engine,
};

/// Why a stage gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Give up the run without a word: it is somebody else's, or cannot be stored.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// This stage failed for good; the stage above decides what that means.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// How often a request is shortened further after the provider said it is too long.
const SHORTENINGS: u32 = 4;

/// What every run of the process shares.
#[derive(Clone, Debug)]
pub struct Services {
    pub llm: Llm,
    pub prompts: Arc<Prompts>,
    /// The engine of the run's `search_api`; `None` for `none`.
    pub search: Option<Engine>,
}

/// Which model, limit and ledger line a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Research,
    Summarization,
    Compression,
    FinalReport,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Summarization => "summarization",
            Self::Compression => "compression",
            Self::FinalReport => "final_report",
        }
    }
}

/// The context of one run, as one agent of it sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cx {
    run: Arc<RunContext>,
    /// Who speaks in events.
    scope: Scope,
}

#[derive(Debug)]
struct RunContext {
    journal: Arc<Journal>,
    services: Services,
    options: RunOptions,
    /// `report.started` events of earlier lives of this run.
    report_attempts: u32,
    date: OnceCell<String>,
    /// Sources by canonical URL, without snapshots, those of earlier lives included. Locked for map access only.
    sources: Mutex<HashMap<String, Source>>,
    /// Pages by key: read once, by whoever comes first. Locked for map access only.
    pages: Mutex<HashMap<String, Arc<OnceCell<PageText>>>>,
    /// Page texts by key, from their retrieval, in this life or an earlier one, to their summary. Locked for map access
    /// only.
    texts: Mutex<HashMap<String, String>>,
}

/// What a researcher is shown of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageText {
    pub summary: String,
    /// Verbatim, verified against the page.
    pub excerpts: Vec<String>,
}

/// The form of a structured answer.
#[derive(Clone, Debug)]
pub struct Form {
    pub name: &'static str,
    /// JSON Schema of an object, strict: all properties required, no others.
    pub schema: serde_json::Value,
}

/// What an earlier life of the run left behind, beside its journal.
#[derive(Debug, Default)]
pub struct Remains {
    pub report_attempts: u32,
    /// With snapshots.
    pub sources: Vec<Source>,
}

/// A model call's end as the journal keeps it.
type Outcome = Result<Completion, Failure>;

impl Cx {
    /// The root context of a run.
    pub fn new(journal: Arc<Journal>, services: Services, options: RunOptions, remains: Remains) -> Self {
        let (mut sources, mut texts) = (HashMap::new(), HashMap::new());
        for mut source in remains.sources {
            let key = page_key(&source.url, &source.content_hash);
            texts.insert(key, std::mem::take(&mut source.snapshot));
            Source::join_ids(&mut source.id, &mut source.aliases, []);
            sources.insert(source.url.clone(), source);
        }
        let run = RunContext {
            journal,
            services,
            options,
            report_attempts: remains.report_attempts,
            date: OnceCell::new(),
            sources: Mutex::new(sources),
            pages: Mutex::default(),
            texts: Mutex::new(texts),
        };
        Self { run: Arc::new(run), scope: Scope::ROOT }
    }

    /// The same run, speaking as `scope`.
    pub fn speaking_as(&self, scope: Scope) -> Self {
        Self { run: Arc::clone(&self.run), scope }
    }

    pub fn options(&self) -> &RunOptions {
        &self.run.options
    }

    /// Must the model reflect in replies of its own? Never asked of the offline one, which has nothing to reflect with.
    pub fn requires_thought(&self) -> bool {
        self.run.options.require_think && self.run.options.research_model.provider != Provider::Offline
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

    /// The number of the last `report.started` of an earlier life of this run; 0 when there was none.
    pub fn report_attempts(&self) -> u32 {
        self.run.report_attempts
    }

    /// The date all prompts of this run carry: that of its first step, also after a restart on another day.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn date(&self) -> Result<&str, Stop> {
        let today = async {
            self.run
                .journal
                .step("date", "value", String::new(), async { Ok(Entry::new(Timestamp::now().prompt_date())) })
                .await
        };
        Ok(self.run.date.get_or_try_init(|| today).await?)
    }

    /// Emits an event once per run, keyed, without waiting for the database.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn mark(&self, key: &str, event: Event) -> Result<(), Stop> {
        self.run.journal.mark(key, vec![self.now(event)]).await
    }

    /// Stores a researcher's note, once.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn keep_note(&self, key: &str, note: Note) -> Result<(), Stop> {
        let entry = Entry { notes: vec![note], ..Entry::new(()) };
        self.run.journal.step(key, "mark", String::new(), async { Ok(entry) }).await
    }

    /// Emits a warning once per run, keyed.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn warn(&self, key: &str, code: WarningCode, detail: impl Into<String>) -> Result<(), Stop> {
        self.mark(key, Event::Warning { code, detail: detail.into() }).await
    }

    /// Emits events now, and again if a replay passes here.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn emit(&self, events: Vec<Event>) -> Result<(), Stop> {
        self.run.journal.emit(events.into_iter().map(|event| self.now(event)).collect()).await
    }

    /// The event as this agent's, with the time of now.
    pub fn now(&self, event: Event) -> NewEvent {
        journal::now(&self.scope, event)
    }

    /// A request to the model of `role`, without tools, answered as text.
    pub fn request(&self, role: Role, messages: Vec<llm::Message>, task: Task) -> Request {
        let options = &self.run.options;
        let (model, max_tokens) = match role {
            Role::Research => (&options.research_model, options.research_model_max_tokens),
            Role::Summarization => (&options.summarization_model, options.summarization_model_max_tokens),
            Role::Compression => (&options.compression_model, options.compression_model_max_tokens),
            Role::FinalReport => (&options.final_report_model, options.final_report_model_max_tokens),
        };
        Request {
            model: model.clone(),
            messages,
            tools: Vec::new(),
            tool_choice: llm::ToolChoice::Auto,
            output: llm::OutputFormat::Text,
            max_tokens,
            task,
        }
    }

    /// Calls a model, once per key and run.
    ///
    /// `deadline` bounds the call with its retries; without one the provider's own time limits hold.
    ///
    /// # Errors
    /// [`Error::Failed`] when the call failed for good: the same on every replay.
    pub async fn ask(
        &self,
        key: &str,
        role: Role,
        request: Request,
        deadline: Option<Instant>,
    ) -> Result<Completion, Error> {
        let hash = journal::hash_of(&request);
        let work = async {
            let call = self.fitted(key, role, request, None::<&mut NoText>);
            match deadline {
                None => call.await,
                Some(deadline) => match tokio::time::timeout_at(deadline, call).await {
                    Ok(entry) => entry,
                    Err(_) => {
                        Ok(Entry::new(Err(Failure::new(FailureCode::Timeout, "the model did not answer in time"))))
                    }
                },
            }
        };
        let outcome: Outcome = self.run.journal.step(key, "model", hash, work).await?;
        Ok(outcome?)
    }

    /// As [`Self::ask`], handing out the text as it comes. A stored answer comes in one piece.
    ///
    /// # Errors
    /// As [`Self::ask`]. After a failure in the middle the text handed out is void.
    pub async fn ask_streaming(
        &self,
        key: &str,
        role: Role,
        request: Request,
        sink: &mut impl TextSink,
    ) -> Result<Completion, Error> {
        let hash = journal::hash_of(&request);
        let mut streamed = false;
        let work = async {
            streamed = true;
            self.fitted(key, role, request, Some(&mut *sink)).await
        };
        let outcome: Outcome = self.run.journal.step(key, "model", hash, work).await?;
        let completion = outcome?;
        if !streamed {
            sink.take(&completion.text).await?;
        }
        Ok(completion)
    }

    /// Makes the call, shorter and shorter while the provider says it is too long; streams when there is a sink.
    async fn fitted<S: TextSink>(
        &self,
        key: &str,
        role: Role,
        request: Request,
        mut sink: Option<&mut S>,
    ) -> Result<Entry<Outcome>, Stop> {
        let model = request.model.clone();
        let mut window = match self.run.options.model_context_window {
            Some(window) => window,
            None => self.run.services.llm.context_window(&model).await,
        };
        for shortening in 0.. {
            let fitted = fit::fit(request.clone(), window);
            if let Some(detail) = fitted.shortened {
                self.emit(vec![Event::Warning { code: WarningCode::Shortened, detail: format!("{key}: {detail}") }])
                    .await?;
            }
            let answer = match &mut sink {
                Some(sink) => self.stream(&fitted.request, *sink).await?,
                None => self.run.services.llm.complete(&fitted.request, &|retry| self.retrying(retry)).await,
            };
            match answer {
                Err(llm::Failed { error: llm::Error::ContextWindow { limit, .. }, .. }) if shortening < SHORTENINGS => {
                    window = fit::smaller(window, limit, fitted.tokens);
                }
                Ok(completion) => return Ok(self.answered(role, &model.to_string(), completion)),
                Err(failed) => return Ok(Entry::new(Err(failure(failed.error)))),
            }
        }
        unreachable!("the loop returns")
    }

    fn answered(&self, role: Role, model: &str, completion: Completion) -> Entry<Outcome> {
        let call = CallRecord {
            model: model.to_owned(),
            role: role.as_str().to_owned(),
            attempts: completion.attempts,
            usage: completion.usage,
        };
        let event = Event::Usage { model: model.to_owned(), role: role.as_str().to_owned(), tokens: completion.usage };
        Entry { call: Some(call), ..Entry::new(Ok(completion)).event(&self.scope, event) }
    }

    async fn stream(
        &self,
        request: &Request,
        sink: &mut impl TextSink,
    ) -> Result<Result<Completion, llm::Failed>, Stop> {
        let stream = match self.run.services.llm.stream(request, &|retry| self.retrying(retry)).await {
            Ok(stream) => stream,
            Err(failed) => return Ok(Err(failed)),
        };
        let mut stream = pin!(stream);
        loop {
            let next = tokio::select! {
                next = stream.next() => next,
                // Losing this arm loses nothing: the sink only flushes what it holds.
                flushed = sink.idle() => { flushed?; continue }
            };
            match next {
                Some(Ok(Delta::Text(text))) => sink.take(&text).await?,
                Some(Ok(Delta::End(completion))) => return Ok(Ok(completion)),
                Some(Err(error)) => return Ok(Err(llm::Failed { error, attempts: 1 })),
                None => {
                    let error =
                        llm::Error::Transport { model: request.model.clone(), detail: "the stream ended early".into() };
                    return Ok(Err(llm::Failed { error, attempts: 1 }));
                }
            }
        }
    }

    /// Tells the world about a wait. Called from inside the call, so it must not wait itself.
    fn retrying(&self, retry: Retry) {
        let code = match retry.error {
            llm::Error::RateLimited { .. } => WarningCode::RateLimited,
            _ => WarningCode::Retrying,
        };
        let detail = format!("{}; trying again in {:.1} s", retry.error, retry.wait.as_secs_f64());
        self.run.journal.try_emit(vec![self.now(Event::Warning { code, detail })]);
    }

    /// Asks for a value of type `T` by the ladder native schema → tool call → prompt, each call a step of its own.
    ///
    /// # Errors
    /// [`Error::Failed`] with [`FailureCode::ModelOutput`] when no attempt gave one; other failures end it at once.
    pub async fn ask_structured<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
        role: Role,
        request: Request,
        form: Form,
        deadline: Option<Instant>,
    ) -> Result<T, Error> {
        let tool = self.prompts().text("structured_tool", ());
        let schema = self.prompts().text("structured_prompt", json!({"schema": form.schema.to_string()}));
        let repair = json!({"error": "{problem}", "schema": form.schema.to_string()});
        let repair = self.prompts().text("structured_repair", repair);
        let prompts = structured::Prompts { tool: &tool, schema: &schema, repair: &repair };
        let mut ladder = Ladder::new(form.name, form.schema, prompts);
        let mut reason = String::from("no attempt was made");
        for attempt in 1..=self.run.options.max_structured_output_retries {
            let key = if attempt == 1 { key.to_owned() } else { format!("{key}/{attempt}") };
            match self.ask(&key, role, ladder.request(&request), deadline).await {
                Ok(completion) => match ladder.read(&completion) {
                    Ok(value) => return Ok(value),
                    Err(rejection) => {
                        reason = rejection.to_string();
                        ladder.rejected(rejection);
                    }
                },
                Err(Error::Failed(failure)) if failure.code == FailureCode::ModelRequest && ladder.unsupported() => {
                    reason = failure.message;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Failure::new(FailureCode::ModelOutput, format!("no answer of the asked form: {reason}")).into())
    }

    /// Adds a retrieved source, or its id to the one of the same URL; the first one of a URL decides its title and the
    /// rest, also after a restart.
    pub fn register(&self, source: Source) -> Registered {
        let mut sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        match sources.get_mut(&source.url) {
            Some(known) => {
                Source::join_ids(&mut known.id, &mut known.aliases, [source.id]);
                if known.content_hash == source.content_hash { Registered::Known } else { Registered::OtherText }
            }
            None => {
                sources.insert(source.url.clone(), Source { snapshot: String::new(), ..source });
                Registered::New
            }
        }
    }

    /// All sources so far, ordered by id.
    pub fn sources(&self) -> Vec<Source> {
        let sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sources: Vec<_> = sources.values().cloned().collect();
        sources.sort_by_key(|source| source.id);
        sources
    }

    /// The place where what is shown of a page is kept once somebody has read it.
    pub fn page(&self, key: &str) -> Arc<OnceCell<PageText>> {
        let mut pages = self.run.pages.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pages.entry(key.to_owned()).or_default())
    }

    /// Keeps a page's text until it is summarised; not needed afterwards.
    pub fn keep_text(&self, key: &str, text: &str) {
        if !self.page(key).initialized() {
            let mut texts = self.run.texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts.entry(key.to_owned()).or_insert_with(|| text.to_owned());
        }
    }

    /// The kept text of a page; taken out.
    pub fn take_text(&self, key: &str) -> Option<String> {
        self.run.texts.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// The title under which the run met that URL first.
    pub fn title(&self, url: &str) -> Option<String> {
        let sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.get(url).map(|source| source.title.clone())
    }
}

/// Names a page with a certain text, in the journal too: engines may return one address with different texts.
pub fn page_key(url: &str, text_hash: &str) -> String {
    format!("page/{}", &journal::hash_of(&(url, text_hash))[..16])
}

/// What a run knew of a source that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    New,
    Known,
    /// The page is known with another text.
    OtherText,
}

/// Takes streamed text.
pub trait TextSink: Send {
    /// Takes the next piece.
    fn take(&mut self, text: &str) -> impl Future<Output = Result<(), Stop>> + Send;

    /// Resolves when held text has waited long enough, having passed it on; pending for ever when none is held.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    fn idle(&mut self) -> impl Future<Output = Result<(), Stop>> + Send;
}

/// Takes nothing: for calls that are not streamed.
enum NoText {}

impl TextSink for NoText {
    async fn take(&mut self, _text: &str) -> Result<(), Stop> {
        match *self {}
    }

    async fn idle(&mut self) -> Result<(), Stop> {
        match *self {}
    }
}

/// Room for a page's summary and its retries.
pub const SUMMARY_TIME: Duration = Duration::from_secs(60);

/// What a failed call means for the run.
fn failure(error: llm::Error) -> Failure {
    use llm::Error as E;
    let code = match &error {
        E::ContextWindow { .. } => FailureCode::ContextWindow,
        E::Auth { .. } => FailureCode::ModelAuth,
        E::BadRequest { .. } => FailureCode::ModelRequest,
        E::RateLimited { .. } | E::Overloaded { .. } | E::Transport { .. } => FailureCode::ModelUnavailable,
        E::Timeout { .. } => FailureCode::Timeout,
        E::Refused { .. } => FailureCode::ModelRefused,
        E::Malformed { .. } => FailureCode::ModelOutput,
    };
    Failure::new(code, error.to_string())
}
