//! Model calls: fitted into the context window, retried by error kind, journaled with their usage, typed.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    Cx, Deadline, Error, Role, RunCaller, fingerprint,
    fit::{self, Fitted, Room},
    paid::Paid,
    sink::{NoText, TextSink, poured},
    spending::Purpose,
    unanswered::{Outcome, Unanswered},
    watch::Watch,
};
use crate::{
    domain::{Cost, Event, Failure, FailureCode, ModelName, Models, Usage, WarningCode},
    journal::{Entry, Fingerprint, Inherited, StepKind, Stop},
    llm::{
        self, BrokenOff, CallContext as _, Completion, OutputFormat, Request, Sending, StopReason,
        structured::{Form, Strategies, Strategy},
    },
    offline::{self, Task},
};

/// How often a request is shortened further after the provider said it is too long.
const SHORTENINGS: u32 = 4;
/// How often a call gets twice the output limit after its model has spent all of it on thinking.
const RAISES: u32 = 2;

/// A model call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is sent.
    pub request: Request,
    /// What it is about: the journal knows it again by this, and the offline model answers from it.
    pub task: Arc<Task>,
}

impl Call {
    /// Returns the same call with tools offered.
    pub fn with_tools(mut self, tools: &[llm::ToolSpec]) -> Self {
        self.request.tools = tools.to_vec();
        self
    }
}

/// The step of a call for a structured answer.
#[derive(Debug, Serialize, Deserialize)]
struct Structured {
    #[serde(flatten)]
    outcome: Outcome,
    /// The form in which it was asked for, which may rest on what this process knew of the model.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "rung")]
    strategy: Option<Strategy>,
}

impl Cx {
    /// Returns a call to the model of `role`, without tools, answered as text.
    pub fn request(&self, role: Role, messages: Vec<llm::Message>, task: impl Into<Arc<Task>>) -> Call {
        let options = &self.run.options;
        let max_tokens = match role {
            Role::Research => options.research_model_max_tokens,
            Role::Summarization => options.summarization_model_max_tokens,
            Role::Compression => options.compression_model_max_tokens,
            Role::FinalReport => options.final_report_model_max_tokens,
        };
        let request = Request {
            model: self.models(role).first().clone(),
            messages,
            tools: Vec::new(),
            tool_choice: llm::ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens,
            sending: Sending { tuning: self.run.services.llm.tuning(role.as_str()), cache_key: Some(self.cache_key()) },
        };
        Call { request, task: task.into() }
    }

    /// Returns the agent's key for a cache of prompts: calls of one agent begin alike.
    fn cache_key(&self) -> Arc<str> {
        let agent = self.scope.id.as_deref().unwrap_or(self.scope.agent.as_str());
        format!("{}-{agent}", self.run.journal.run_id()).into()
    }

    /// Returns the models of that role.
    pub(super) fn models(&self, role: Role) -> &Models {
        let options = &self.run.options;
        match role {
            Role::Research => &options.research_model,
            Role::Summarization => &options.summarization_model,
            Role::Compression => &options.compression_model,
            Role::FinalReport => &options.final_report_model,
        }
    }

    /// Calls a model, once per key and run.
    ///
    /// `deadline` bounds the call with its retries, not with waits for a provider that is away; without one the
    /// provider's own time limits hold.
    ///
    /// # Errors
    /// [`Error::Failed`] when the call failed for good: the same on every replay.
    pub async fn ask(
        &self,
        key: &str,
        role: Role,
        call: Call,
        deadline: Option<Deadline>,
    ) -> Result<Completion, Error> {
        if self.is_too_late(key, deadline) {
            return Err(no_time().into());
        }
        let asked = fingerprint::of(role, &call.request, &call.task);
        let work = async {
            if let Some(inherited) = self.run.journal.inherited(key, &asked) {
                return Ok(Entry::inherited(inherited));
            }
            Box::pin(self.answer(key, role, call, deadline)).await
        };
        let outcome: Outcome = self.run.journal.step(key, StepKind::Model, asked.clone(), work).await?;
        outcome.map_err(|unanswered| unanswered.failure.into())
    }

    async fn answer(
        &self,
        key: &str,
        role: Role,
        call: Call,
        deadline: Option<Deadline>,
    ) -> Result<Entry<Outcome>, Stop> {
        self.begins(role, &call.request);
        let (watch, paid) = (Watch::default(), Mutex::default());
        let made = self.made_for(key, role, deadline, &watch);
        // Boxed, as the other large futures on the way to the wire: a stack holds several of them at once.
        let call = Box::pin(self.fitted(made, call, None::<&mut NoText>, &paid));
        let entry = match self.before(deadline, call).await {
            Some(entry) => entry?,
            None => {
                let late = Failure::new(FailureCode::Timeout, "the model did not answer in time");
                self.with_usage(role, &paid.lock(), Entry::new(Err(Unanswered::lasting(late))))
            }
        };
        watch.end_step(&entry.value);
        Ok(entry)
    }

    /// Asks as [`Self::ask`] does, handing out the text as it comes. A stored answer comes in one piece.
    ///
    /// # Errors
    /// As [`Self::ask`]. After a failure in the middle the text handed out is void. [`Unanswered`] is the same on every
    /// replay.
    pub async fn ask_streaming(
        &self,
        key: &str,
        role: Role,
        call: Call,
        sink: &mut impl TextSink,
    ) -> Result<Result<Completion, Unanswered>, Stop> {
        let asked = fingerprint::of(role, &call.request, &call.task);
        let mut streamed = false;
        let work = async {
            if let Some(inherited) = self.inherited_answer(key, &asked) {
                return Ok(Entry::inherited(inherited));
            }
            streamed = true;
            self.begins(role, &call.request);
            let (watch, paid) = (Watch::default(), Mutex::default());
            let made = self.made_for(key, role, None, &watch);
            let entry = Box::pin(self.fitted(made, call, Some(&mut *sink), &paid)).await?;
            watch.end_step(&entry.value);
            Ok(entry)
        };
        let outcome: Outcome = self.run.journal.step(key, StepKind::Model, asked.clone(), work).await?;
        if let (false, Ok(completion)) = (streamed, &outcome) {
            sink.take(&completion.text).await?;
        }
        Ok(outcome)
    }

    fn made_for<'a>(&self, key: &'a str, role: Role, deadline: Option<Deadline>, watch: &'a Watch) -> MadeFor<'a> {
        match deadline.and_then(Deadline::finish) {
            Some(ends) => MadeFor { key, role, purpose: Purpose::Whole, ends: Some(ends), watch },
            None => {
                let purpose = Purpose::of(role, deadline.is_some());
                MadeFor { key, role, purpose, ends: self.retries_end(role), watch }
            }
        }
    }

    /// Returns the text that a run which this one retries was given. One without a word may be what it failed for:
    /// another model, or the same one, is asked.
    fn inherited_answer(&self, key: &str, asked: &Fingerprint) -> Option<Inherited<Outcome>> {
        std::iter::from_fn(|| self.run.journal.inherited::<Outcome>(key, asked))
            .find(|inherited| inherited.value.as_ref().is_ok_and(|completion| !completion.is_without_words()))
    }

    /// Tells the world that a model is asked; nobody waits for that to be stored.
    fn begins(&self, role: Role, request: &Request) {
        let set = self.run.options.model_context_window;
        let window = set.or_else(|| self.run.services.llm.known_window(&request.model));
        let event = Event::ModelStarted { model: request.model.to_string(), role: role.as_str().to_owned(), window };
        self.run.journal.try_emit(vec![self.now(event)]);
    }

    /// Makes the call, by those that stand in when the role's own model cannot be used.
    async fn fitted<S: TextSink>(
        &self,
        made: MadeFor<'_>,
        mut call: Call,
        mut sink: Option<&mut S>,
        paid: &Mutex<Paid>,
    ) -> Result<Entry<Outcome>, Stop> {
        let role = made.role;
        let models = self.models(role);
        let mut why = String::new();
        for (place, model) in models.iter().enumerate() {
            let is_last = place + 1 == models.count();
            if !is_last && self.run.services.llm.is_away(model) {
                why = format!("{model} is away");
                continue;
            }
            call.request.model = model.clone();
            let caller = if is_last { self.caller(made.ends) } else { self.brief_caller(made.ends) };
            let caller = caller.paying(model, paid);
            let tried = Box::pin(self.with_room(made, &mut call, sink.as_deref_mut(), &caller, paid)).await?;
            let entry = match tried {
                Tried::Refused(entry) => *entry,
                Tried::Answered(completion) => {
                    let entry = Entry::new(Ok(completion));
                    match self.is_replaced(role, models, model) {
                        true => entry.event(&self.scope, replaced(role, model, &why)),
                        false => entry,
                    }
                }
                Tried::BrokenOff(broken_off) => Entry::new(Err(broken_off)),
                Tried::Failed(failed)
                    if !is_last && (failed.error.is_of_provider() || failed.error.is_of_template()) =>
                {
                    why = failed.error.to_string();
                    made.watch.end(&Err(failed.into()));
                    continue;
                }
                Tried::Failed(failed) => Entry::new(Err(failed.into())),
            };
            return Ok(self.with_usage(role, &paid.lock(), entry));
        }
        unreachable!("the last model's end is the call's")
    }

    /// Notes which model answers for a role; returns whether that is news, and not the role's own one.
    fn is_replaced(&self, role: Role, models: &Models, model: &ModelName) -> bool {
        let mut stand_ins = self.run.stand_ins.lock();
        let before = stand_ins.insert(role, model.clone());
        model != models.first() && before.as_ref() != Some(model)
    }

    /// Makes the call to one model, with a higher output limit, up to its own, when it has thought until the limit and
    /// said nothing.
    ///
    /// The rest of the run begins with the limit that this took, which is no part of a step's hash: a process that
    /// takes the run up learns it once more.
    async fn with_room<S: TextSink>(
        &self,
        made: MadeFor<'_>,
        call: &mut Call,
        mut sink: Option<&mut S>,
        caller: &RunCaller<'_>,
        paid: &Mutex<Paid>,
    ) -> Result<Tried, Stop> {
        let asked_for = call.request.max_tokens;
        let learned = (made.role, call.request.model.clone());
        let known = self.run.raises.lock().get(&learned).copied().unwrap_or_default();
        for raise in known..=RAISES {
            call.request.max_tokens = asked_for.saturating_mul(1 << raise);
            paid.lock().begin_call();
            let tried = Box::pin(self.fitted_by(made, call, sink.as_deref_mut(), caller)).await?;
            let Tried::Answered(mut completion) = tried else {
                call.request.max_tokens = asked_for;
                return Ok(tried);
            };
            self.pay(&call.request.model, &mut completion, &mut paid.lock());
            let is_empty = completion.text.trim().is_empty() && completion.tool_calls.is_empty();
            // The call may have shown how much that is.
            let most = self.run.services.llm.facts(&call.request.model).max_output.unwrap_or(u32::MAX);
            let limit = call.request.max_tokens.min(most);
            let is_last = raise == RAISES || limit == most;
            self.learn_raise(&learned, raise);
            let is_full = completion.stop == StopReason::Length && is_empty;
            if is_full {
                let more = if is_last { "" } else { "; it gets more" };
                let (key, model, option) = (made.key, &call.request.model, made.role.limit_option());
                let detail = format!("{key}: {model} used its {limit} tokens and wrote nothing ({option}){more}");
                self.emit(vec![Event::warning(WarningCode::OutputCut, detail)]).await?;
            }
            if !is_full || is_last {
                return Ok(Tried::Answered(completion));
            }
        }
        unreachable!("the last answer is returned")
    }

    fn learn_raise(&self, model: &(Role, ModelName), raise: u32) {
        if raise > 0 {
            let mut raises = self.run.raises.lock();
            let known = raises.entry(model.clone()).or_default();
            *known = raise.max(*known);
        }
    }

    /// Makes the call to one model, shorter and shorter while its provider says that it is too long; streams when there
    /// is a sink.
    async fn fitted_by<S: TextSink>(
        &self,
        MadeFor { key, role, purpose, watch, .. }: MadeFor<'_>,
        call: &Call,
        mut sink: Option<&mut S>,
        caller: &RunCaller<'_>,
    ) -> Result<Tried, Stop> {
        let (model, llm) = (&call.request.model, &self.run.services.llm);
        let mut window = match self.run.options.model_context_window {
            Some(window) => window,
            None => llm.context_window(model).await,
        };
        let mut request = self.run.refused_tools.left_out(&call.request);
        for shortening in 0.. {
            let facts = llm.facts(model);
            let tokenizer = facts.tokenizer.unwrap_or_default();
            let fitted = fit::fit(&request, Room { window, max_output: facts.max_output, tokenizer }).await;
            if let Some(detail) = &fitted.shortened {
                self.emit(vec![Event::warning(WarningCode::Shortened, format!("{key}: {detail}"))]).await?;
            }
            let length = (fitted.tokens, fitted.request.max_tokens);
            let reserved = match self.run.spending.begin_call(purpose, length, |usage| self.price(model, usage)) {
                Ok(reserved) => reserved,
                Err(refusal) => {
                    let unanswered = Unanswered::lasting(refusal.failure());
                    return Ok(Tried::Refused(Box::new(self.refused(&refusal, Err(unanswered)))));
                }
            };
            let attempt = self.attempt(&fitted, &call.task, &mut sink, caller);
            match watch.over((key, role), &call.request, attempt).await? {
                Err(llm::Failed { error: llm::Error::ContextWindow { limit, .. }, .. }) if shortening < SHORTENINGS => {
                    window = fit::smaller(window, limit, fitted.tokens);
                }
                Ok(Ok(mut completion)) => {
                    completion.usage = completion.plausible_usage(fitted.tokens);
                    reserved.answered(&completion.usage);
                    return Ok(Tried::Answered(completion));
                }
                Ok(Err(broken_off)) => return Ok(Tried::BrokenOff(broken_off)),
                Err(failed) => match self.without_refused_tools(&call.request, &fitted.request, &failed).await? {
                    Some(fewer) => request = fewer,
                    None => return Ok(Tried::Failed(failed)),
                },
            }
        }
        unreachable!("the loop returns")
    }

    /// Makes one call, streamed when there is a sink.
    async fn attempt<S: TextSink>(
        &self,
        fitted: &Fitted<'_>,
        task: &Arc<Task>,
        sink: &mut Option<&mut S>,
        caller: &RunCaller<'_>,
    ) -> Result<Attempted, Stop> {
        match sink {
            sink if fitted.request.model.is_offline() => Ok(Ok(offline_answer(task, fitted.tokens, sink).await?)),
            Some(sink) => Box::pin(self.stream(&fitted.request, *sink, caller)).await,
            None => Ok(Box::pin(self.run.services.llm.complete(&fitted.request, caller)).await.map(Ok)),
        }
    }

    /// Returns what these tokens cost; nothing without a model.
    fn price(&self, model: &ModelName, usage: &Usage) -> Option<Cost> {
        if model.is_offline() { Some(Cost::default()) } else { self.run.services.llm.cost(model, usage) }
    }

    /// Streams the answer into `sink`.
    async fn stream(
        &self,
        request: &Request,
        sink: &mut impl TextSink,
        caller: &RunCaller<'_>,
    ) -> Result<Attempted, Stop> {
        let stream = match self.run.services.llm.stream(request, caller).await {
            Ok(stream) => stream,
            Err(failed) => return Ok(Err(failed)),
        };
        let ended = poured(stream, sink).await?.unwrap_or_else(|| {
            let detail = "the stream ended early".to_owned();
            let error = llm::Error::Transport { model: request.model.clone(), detail };
            Err(BrokenOff { error, used: Box::default() })
        });
        if let Err(BrokenOff { used, .. }) = &ended
            && **used != Usage::default()
        {
            caller.billed(used);
        }
        Ok(Ok(ended.map_err(|broken_off| Unanswered::broken_off(broken_off.error))))
    }

    /// Asks for a value of type `T`: by native schema, then by a tool call, then in the prompt, each call a step of its
    /// own.
    ///
    /// # Errors
    /// [`Error::Failed`] with [`FailureCode::ModelOutput`] when no attempt gave one; other failures end it at once.
    pub async fn ask_structured<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
        role: Role,
        call: Call,
        form: Form,
        deadline: Option<Deadline>,
    ) -> Result<T, Error> {
        let texts = self.prompts();
        let words = |name: &str, values: Value| texts.text(name, values);
        let mut strategies = Strategies::new(form, &words);
        let (llm, model) = (&self.run.services.llm, &call.request.model);
        strategies.start_with(llm.first_strategy(model));
        let mut reason = String::from("no attempt was made");
        let (mut attempt, mut attempts) = (0, self.run.options.max_structured_output_retries);
        while attempt < attempts {
            attempt += 1;
            let key = if attempt == 1 { key.to_owned() } else { format!("{key}/{attempt}") };
            match Box::pin(self.ask_by_strategy(&key, role, &mut strategies, &call, deadline)).await? {
                Ok(completion) => match strategies.read(&completion) {
                    Ok(value) => {
                        llm.answered_by(model, strategies.strategy(), strategies.was_refused());
                        return Ok(value);
                    }
                    Err(rejection) => {
                        reason = rejection.to_string();
                        strategies.rejected(rejection);
                    }
                },
                Err(Unanswered { failure, .. })
                    if failure.code == FailureCode::ModelRequest && strategies.unsupported() =>
                {
                    // A request that was refused for its form was no attempt at an answer.
                    attempts += 1;
                    reason = failure.message;
                }
                Err(unanswered) => return Err(unanswered.failure.into()),
            }
        }
        Err(Failure::new(FailureCode::ModelOutput, format!("no answer of the asked form: {reason}")).into())
    }

    /// Asks by the current strategy. The step keeps which one that was, and its hash is of what would have been asked
    /// without knowledge of the model, since another process knows something else.
    async fn ask_by_strategy(
        &self,
        key: &str,
        role: Role,
        strategies: &mut Strategies<'_>,
        base: &Call,
        deadline: Option<Deadline>,
    ) -> Result<Outcome, Stop> {
        if self.is_too_late(key, deadline) {
            return Ok(Err(Unanswered::lasting(no_time())));
        }
        let (nominal, strategy) = (strategies.nominal_request(&base.request), strategies.strategy());
        let asked = fingerprint::of(role, &nominal, &base.task);
        let request = if strategy == strategies.nominal() { nominal } else { strategies.request(&base.request) };
        let call = Call { request, task: Arc::clone(&base.task) };
        let work = async {
            if let Some(inherited) = self.run.journal.inherited(key, &asked) {
                return Ok(Entry::inherited(inherited));
            }
            let entry = Box::pin(self.answer(key, role, call, deadline)).await?;
            Ok(entry.map(|outcome| Structured { outcome, strategy: Some(strategy) }))
        };
        let step: Structured = self.run.journal.step(key, StepKind::Model, asked.clone(), work).await?;
        strategies.start_with(step.strategy.unwrap_or(strategies.nominal()));
        Ok(step.outcome)
    }
}

fn no_time() -> Failure {
    Failure::new(FailureCode::Timeout, "there was no time left to ask the model")
}

/// The step that a call is made for.
#[derive(Clone, Copy)]
struct MadeFor<'a> {
    key: &'a str,
    role: Role,
    purpose: Purpose,
    /// When it is no longer made again.
    ends: Option<Instant>,
    watch: &'a Watch,
}

/// The answer; the inner error broke it off after its first text, the outer one came before.
type Attempted = Result<Result<Completion, Unanswered>, llm::Failed>;

/// How a call to one model ended.
enum Tried {
    Answered(Completion),
    /// The run may not make it.
    Refused(Box<Entry<Outcome>>),
    /// After its first text.
    BrokenOff(Unanswered),
    Failed(llm::Failed),
}

fn replaced(role: Role, model: &ModelName, why: &str) -> Event {
    Event::warning(WarningCode::ModelReplaced, format!("{model} stands in for {}: {why}", role.as_str()))
}

/// Returns the offline model's answer, made in this process; passed on in pieces when there is a sink.
async fn offline_answer<S: TextSink>(
    task: &Arc<Task>,
    input_tokens: u32,
    sink: &mut Option<&mut S>,
) -> Result<Result<Completion, Unanswered>, Stop> {
    let completion = match offline::complete(task, input_tokens).await {
        Ok(completion) => completion,
        Err(panicked) => return Ok(Err(Unanswered::lasting(panicked.into()))),
    };
    if let Some(sink) = sink {
        for piece in offline::pieces(&completion.text) {
            sink.take(&piece).await?;
        }
    }
    Ok(Ok(completion))
}
