//! [`Llm`], the handle all callers hold: queue, time limits and retries around one call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;

use super::adapted::Changed;
use super::assembly::{Assembly, WireStop, malformed};
use super::failure::Failure;
use super::memory::Memory;
use super::models::Listed;
use super::providers::Provider;
use super::server::Server;
use super::settings::Settings;
use super::stream::{Delta, Reading, ReplyStream};
use super::structured::Strategy;
use super::transport::{self, Answer};
use super::wire::{Reader, Wire};
use super::{
    BadSetting, CallContext, Completion, Endpoint, Error, Facts, Failed, Request, Tuning,
    limits::{self, Measure},
    refusals,
};
use crate::domain::{Cost, ModelName, Usage};
use crate::net::{self, ApiClients, Limiter, Permit, RetryPolicy};

/// The time for questions beside the research, such as which models there are.
const ASIDE_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes of a list of models; those of routers have some hundred kilobytes.
const MAX_MODELS: usize = 1024 * 1024;
/// The longest answer that is read at once; longer ones are read on a thread of their own.
const READ_HERE: usize = 256 * 1024;

/// Models, ready to be called. Cheap to clone; clones share connections, queues and what was learned.
#[derive(Clone)]
pub struct Llm {
    pub(super) inner: Arc<Inner>,
}

impl std::fmt::Debug for Llm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Llm").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

pub(super) struct Inner {
    settings: Settings,
    clients: ApiClients,
    servers: Servers,
    policy: RetryPolicy,
    pub(super) memory: Memory,
}

/// The servers by the name of their provider.
type Servers = HashMap<&'static str, Arc<Server>>;

/// What a server answered to a first question; see [`Llm::probe`].
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeReport {
    /// Without a password.
    pub base_url: String,
    /// Whether it was asked. A provider without a list of models is not.
    pub was_asked: bool,
    /// Whether a key was sent, and accepted.
    pub with_key: bool,
    /// Names of the models listed; empty also when the list could not be read.
    pub models: Vec<String>,
    pub latency: Duration,
}

impl Llm {
    /// Builds the handle; nothing is sent.
    ///
    /// Proxies are those of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), except for loopback addresses.
    /// Redirects are not followed, because a redirected POST arrives as a GET without its body.
    ///
    /// # Errors
    /// For a URL, key or header that no request could carry, and when the machine has no usable certificates.
    pub fn new(settings: Settings) -> Result<Self, BadSetting> {
        let clients = ApiClients::new(settings.timeouts())
            .map_err(|problem| BadSetting { provider: "HTTPS", problem: problem.to_string() })?;
        Self::over(clients, settings, Servers::new())
    }

    /// Returns the same with these keys, by the name of their provider, and no others; nothing is sent. Servers for
    /// which neither side has a key are shared, with their limits.
    ///
    /// # Errors
    /// For a key that no request could carry.
    pub fn with_keys(&self, keys: &BTreeMap<String, SecretString>) -> Result<Self, BadSetting> {
        let (mut settings, unset) = (self.inner.settings.clone(), Endpoint::default());
        let mut shared = Servers::new();
        for provider in settings.providers {
            let own = self.inner.settings.endpoints.get(provider.name).unwrap_or(&unset);
            let endpoint = own.of_request(provider, keys.get(provider.settings()));
            if let Some(server) = self.inner.servers.get(provider.name).filter(|_| endpoint.is_keyless()) {
                shared.insert(provider.name, Arc::clone(server));
            }
            settings.endpoints.insert(provider.name, endpoint);
        }
        Self::over(self.inner.clients.clone(), settings, shared)
    }

    /// Returns the names under which providers take keys.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.inner.settings.providers.iter().map(Provider::settings)
    }

    /// Returns the name under which the provider of `model` takes a key.
    pub fn key_name(&self, model: &ModelName) -> Option<&'static str> {
        self.inner.server(model).map(|server| server.provider().settings())
    }

    /// Builds those servers that are not there yet.
    fn over(clients: ApiClients, settings: Settings, mut servers: Servers) -> Result<Self, BadSetting> {
        let unset = Endpoint::default();
        let mut limiters = HashMap::new();
        for provider in settings.providers {
            if servers.contains_key(provider.name) {
                continue;
            }
            let endpoint = settings.endpoints.get(provider.name).unwrap_or(&unset);
            let limiter = limiters
                .entry(provider.settings())
                .or_insert_with(|| Limiter::new(settings.limits_of(provider.settings())));
            let server = Server::new(provider, endpoint, &settings, &clients, Arc::clone(limiter))?;
            servers.insert(provider.name, Arc::new(server));
        }
        let inner = Inner { servers, policy: settings.policy(), memory: Memory::default(), clients, settings };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the environment variable to set before `model` can be used; `None` when nothing is missing.
    pub fn missing(&self, model: &ModelName) -> Option<&'static str> {
        self.inner.server(model).and_then(|server| server.missing())
    }

    /// Asks for a whole answer, as a stream where the model gives it in no other way. An empty one is an answer too.
    ///
    /// `caller` is notified of each wait between attempts.
    ///
    /// # Errors
    /// [`Failed`] after the last attempt, with the last attempt's error.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection; most servers then stop generating, and may bill what they generated.
    pub async fn complete(&self, request: &Request, caller: &dyn CallContext) -> Result<Completion, Failed> {
        let mut request = self.as_taken(request);
        let mut is_whole = self.gives_whole_answers(&request.model);
        let (mut changed, mut before) = (Changed::default(), 0);
        // Nothing that was refused is asked for again, so there is an end.
        loop {
            let begun = Instant::now();
            let failed = match self.answer(&request, is_whole, caller).await {
                Ok((completion, attempts)) => return Ok(Completion { attempts: attempts + before, ..completion }),
                Err(failed) => Failed { attempts: failed.attempts + before, ..failed },
            };
            before = failed.attempts;
            if is_whole && refusals::wants_stream(&failed) {
                self.inner.memory.streamed.learn(&request.model, Instant::now());
                is_whole = false;
            } else {
                request = self.otherwise(&request, &failed, begun, &mut changed).ok_or(failed)?;
            }
        }
    }

    /// Gets one answer, however it comes, and counts the attempts that it took.
    async fn answer(
        &self,
        request: &Request,
        is_whole: bool,
        caller: &dyn CallContext,
    ) -> Result<(Completion, u32), Failed> {
        match is_whole {
            true => self.attempts(request, caller, |server, tokens| self.call(server, request, tokens, caller)).await,
            false => {
                self.attempts(request, caller, |server, tokens| self.gather(server, request, tokens, caller)).await
            }
        }
    }

    /// Returns whether `model` answers in one piece. Assumed of those that have not refused it.
    pub fn gives_whole_answers(&self, model: &ModelName) -> bool {
        let has_refused = self.inner.memory.streamed.has(model, Instant::now());
        !has_refused && self.inner.server(model).is_none_or(|server| server.gives_whole_answers(model))
    }

    /// Asks for an answer piece by piece. Returns with the first piece of text, or the end; until then attempts are
    /// made as in [`complete`](Self::complete), and after it none. A model that refuses to stream answers in one piece.
    ///
    /// # Errors
    /// As `complete`; later errors come through the stream.
    ///
    /// # Cancel safety
    /// As `complete`; so does dropping the stream.
    pub async fn stream(&self, request: &Request, caller: &dyn CallContext) -> Result<ReplyStream, Failed> {
        if !self.streams(&request.model) {
            return self.whole_as_stream(request, caller, 0).await;
        }
        let mut request = self.as_taken(request);
        let limit = self.inner.settings.stream_timeout;
        let (mut changed, mut before) = (Changed::default(), 0);
        let ((mut reading, first), attempts) = loop {
            let begun = Instant::now();
            let begin = |server, tokens| self.begin(server, &request, tokens, caller, limit);
            let failed = match self.attempts(&request, caller, begin).await {
                Ok((begun, attempts)) => break (begun, attempts + before),
                Err(failed) => Failed { attempts: failed.attempts + before, ..failed },
            };
            before = failed.attempts;
            request = match self.otherwise(&request, &failed, begun, &mut changed) {
                Some(other) => other,
                None if self.may_refuse_stream(&request.model, &failed) => {
                    let whole = self.whole_as_stream(&request, caller, before).await?;
                    self.stream_no_longer(&request.model);
                    return Ok(whole);
                }
                None => return Err(failed),
            };
        };
        reading.attempts = attempts;
        let first = match first {
            Some(Delta::End(completion)) => Some(Delta::End(Completion { attempts, ..completion })),
            other => other,
        };
        Ok(reading.into_stream(first))
    }

    /// Passes on an answer that comes in one piece, after so many attempts at a stream.
    async fn whole_as_stream(
        &self,
        request: &Request,
        caller: &dyn CallContext,
        before: u32,
    ) -> Result<ReplyStream, Failed> {
        match Box::pin(self.complete(request, caller)).await {
            Ok(done) => Ok(ReplyStream::whole(Completion { attempts: done.attempts + before, ..done })),
            Err(failed) => Err(Failed { attempts: failed.attempts + before, ..failed }),
        }
    }

    /// Returns the tokens that a request to `model` and its answer may have together: what its server reported in an
    /// error, else what the settings say, what its server lists, what the catalogue knows of the name, or a cautious
    /// guess.
    ///
    /// Servers that may know better than we do are asked for 3 seconds at most, again an hour later, and a minute after
    /// they did not answer.
    pub async fn context_window(&self, model: &ModelName) -> u32 {
        if let Some(tokens) = self.inner.memory.windows.get(model, Instant::now()) {
            return tokens;
        }
        if let Some(tokens) = self.inner.settings.models.get(&model.to_string()).and_then(|own| own.window) {
            return tokens;
        }
        let listed = match self.inner.server(model) {
            Some(server) if server.tells_windows() => {
                self.list(server).await.and_then(|listed| listed.context_window(&model.model))
            }
            _ => None,
        };
        listed.or_else(|| self.facts(model).window).unwrap_or(limits::UNKNOWN_WINDOW)
    }

    /// Returns the models of the catalogue and the settings that can be called here, sorted; there may be others.
    pub fn known_models(&self) -> Vec<String> {
        let own = self.inner.settings.models.keys().cloned();
        let names: BTreeSet<String> = super::catalogue::names().map(str::to_owned).chain(own).collect();
        let is_usable = |name: &String| name.parse().is_ok_and(|model| self.inner.usable(&model).is_ok());
        names.into_iter().filter(is_usable).collect()
    }

    /// Returns the window as [`Self::context_window`] does, as far as it is known without asking or guessing.
    pub fn known_window(&self, model: &ModelName) -> Option<u32> {
        let learned = self.inner.memory.windows.get(model, Instant::now());
        let set = || self.inner.settings.models.get(&model.to_string())?.window;
        let listed = || self.inner.server(model)?.listing.known()?.context_window(&model.model);
        learned.or_else(set).or_else(listed).or_else(|| self.facts(model).window)
    }

    /// Returns whether the provider of `model` is away, so that a call would have to wait. One in a while is made all
    /// the same.
    pub fn is_away(&self, model: &ModelName) -> bool {
        self.inner.server(model).is_some_and(|server| server.circuits.of(model).is_waiting())
    }

    /// Returns the window of `model` as its server lists it; `None` when the server would not say.
    pub async fn listed_window(&self, model: &ModelName) -> Option<u32> {
        let server = self.inner.server(model).filter(|server| server.has_list())?;
        self.list(server).await?.context_window(&model.model)
    }

    /// Returns what is known of `model`: what the settings say, and the catalogue where they say nothing. The longest
    /// answer is the one that its server reported in an error, if it did.
    pub fn facts(&self, model: &ModelName) -> Facts {
        let facts = self.inner.server(model).map(|server| server.facts(model)).unwrap_or_default();
        let reported = self.inner.memory.outputs.get(model, Instant::now());
        Facts { max_output: reported.or(facts.max_output), ..facts }
    }

    /// Returns the bound of the first wait before a call is made again; it doubles each time.
    pub fn first_retry_within(&self) -> Duration {
        self.inner.settings.first_retry_within
    }

    /// Returns the time in which an answer that is not streamed has to come, where somebody has set it.
    pub fn given_answer_time(&self) -> Option<Duration> {
        let settings = &self.inner.settings;
        settings.total_timeout_is_given.then_some(settings.total_timeout)
    }

    /// Returns what is sent with the calls of that role; `None` when nothing is set.
    pub fn tuning(&self, role: &str) -> Option<Arc<Tuning>> {
        self.inner.settings.roles.get(role).cloned()
    }

    /// Returns what a finished call costs; `None` when the price of its model is not known, and its provider did not
    /// say.
    pub fn cost(&self, model: &ModelName, usage: &Usage) -> Option<Cost> {
        usage.cost.or_else(|| self.facts(model).price?.cost(usage))
    }

    /// Asks the provider's server for its models, to see whether it is there and takes the key.
    ///
    /// # Errors
    /// [`Error::Transport`] when nobody answers in time, [`Error::Auth`] for a refused key, others as
    /// the server answers. [`Error::BadRequest`] for the offline provider, which has no server.
    pub async fn probe(&self, model: &ModelName) -> Result<ProbeReport, Error> {
        let server = self.inner.usable(model)?;
        let begin = Instant::now();
        if !server.has_list() {
            return Ok(ProbeReport {
                base_url: server.shown_url(),
                was_asked: false,
                with_key: server.has_key(),
                models: Vec::new(),
                latency: Duration::ZERO,
            });
        }
        let body = self.get_models(server, model).await.map_err(|failure| server.presentable(failure.error))?;
        if serde_json::from_str::<serde::de::IgnoredAny>(&body).is_err() {
            // A portal, a proxy's page, or a web server that knows nothing of models.
            let detail = "it answers something that is no JSON, such as a web page".to_owned();
            return Err(Error::Malformed { model: model.clone(), detail });
        }
        let listed = Listed::read(&body).unwrap_or_default();
        Ok(ProbeReport {
            base_url: server.shown_url(),
            was_asked: true,
            with_key: server.has_key(),
            models: listed.0.into_iter().map(|model| model.id).collect(),
            latency: begin.elapsed(),
        })
    }

    /// Makes a call until it succeeds or must be given up; returns the number of attempts with its result. `call` gets
    /// the tokens that each attempt is expected to take.
    async fn attempts<'a, T, F: Future<Output = Result<T, Failure>>>(
        &'a self,
        request: &Request,
        caller: &dyn CallContext,
        call: impl Fn(&'a Arc<Server>, u64) -> F,
    ) -> Result<(T, u32), Failed> {
        let unusable = |error| Failed { error, attempts: 0, too_long: None };
        let server = self.inner.usable(&request.model).map_err(unusable)?;
        let circuit = server.circuits.of(&request.model);
        let tokens = estimated_tokens(server, request);
        let attempt = || {
            let call = Box::pin(call(server, tokens));
            async move {
                let failed = |failure: Failure| failure.map(|error| server.presentable(error));
                call.await.map_err(failed).inspect_err(|failure| {
                    self.learn(&failure.error);
                    if let Some(usage) = &failure.paid {
                        caller.billed(usage);
                    }
                    if failure.is_too_many() {
                        server.limiter.refused();
                    }
                })
            }
        };
        let done = Box::pin(net::retry(&circuit, &self.inner.policy, caller, attempt)).await;
        done.map_err(|end| Failed { error: end.error.error, attempts: end.attempts, too_long: end.too_long })
    }

    async fn call(
        &self,
        server: &Arc<Server>,
        request: &Request,
        tokens: u64,
        caller: &dyn CallContext,
    ) -> Result<Completion, Failure> {
        let mut permit = turn(server, request, tokens, caller).await;
        may_begin(request, caller).await;
        let settings = &self.inner.settings;
        let ends = tokio::time::Instant::now() + settings.total_timeout;
        let (reader, assembly) = (server.reader(), Assembly::new(request));
        let answer = transport::call(server, request, settings.idle_timeout, ends);
        let late = |_| Error::Timeout { model: request.model.clone() };
        let (body, beside) = match tokio::time::timeout_at(ends, answer).await.map_err(late)? {
            Ok(Answer::Whole { body, beside }) => (body, beside),
            Err(failure) => return as_written(failure, assembly),
            Ok(Answer::Stream(frames)) => {
                return all_of(Reading::new(*frames, assembly, Arc::clone(server), permit), &request.model).await;
            }
        };
        let completion = if body.len() <= READ_HERE {
            read(server.wire(), reader, assembly, body)
        } else {
            // What a panic said stays in the log.
            let lost = |_| malformed(&request.model, "its answer could not be read".to_owned());
            let wire = server.wire();
            tokio::task::spawn_blocking(move || read(wire, reader, assembly, body)).await.map_err(lost)?
        };
        let mut completion = completion.map_err(|failure| failure.asked(beside.asked))?;
        completion.usage.cost = completion.usage.cost.or(beside.cost);
        permit.used(completion.usage.total());
        server.limiter.answered();
        Ok(completion)
    }

    async fn begin(
        &self,
        server: &Arc<Server>,
        request: &Request,
        tokens: u64,
        caller: &dyn CallContext,
        limit: Duration,
    ) -> Result<(Reading, Option<Delta>), Failure> {
        let permit = turn(server, request, tokens, caller).await;
        may_begin(request, caller).await;
        let ends = tokio::time::Instant::now() + limit;
        let frames = transport::stream(server, request, self.inner.settings.idle_timeout, ends).await?;
        let mut reading = Reading::new(frames, Assembly::new(request), Arc::clone(server), permit);
        let first = reading.next().await?;
        Ok((reading, first))
    }

    /// Makes a call whose answer is streamed, and waits for all of it, as long as for one that comes in one piece.
    async fn gather(
        &self,
        server: &Arc<Server>,
        request: &Request,
        tokens: u64,
        caller: &dyn CallContext,
    ) -> Result<Completion, Failure> {
        let limit = self.inner.settings.total_timeout;
        match self.begin(server, request, tokens, caller, limit).await? {
            (_, Some(Delta::End(completion))) => Ok(completion),
            (reading, _) => all_of(reading, &request.model).await,
        }
    }

    fn learn(&self, error: &Error) {
        if let Error::ContextWindow { model, limit: Some(tokens) } = error {
            self.inner.memory.windows.learn(model, *tokens, Instant::now());
        }
    }

    /// Returns the strategy to begin with when `model` is asked for a structured answer, by what it could answer
    /// lately.
    pub fn first_strategy(&self, model: &ModelName) -> Strategy {
        let learnt = self.inner.memory.strategy(model, Instant::now());
        let structured = |server: &Arc<Server>| server.provider().quirks.of_model(&server.facts(model)).structured;
        self.inner.server(model).map_or(learnt, |server| learnt.max(structured(server)))
    }

    /// Notes that `model` gave a structured answer by `strategy`. `refused` says that its provider does not know a
    /// surer one.
    pub fn answered_by(&self, model: &ModelName, strategy: Strategy, refused: bool) {
        self.inner.memory.answered_by(model, strategy, refused, Instant::now());
    }

    /// Returns the server's models; failing is no matter, since the list only helps.
    async fn list(&self, server: &Server) -> Option<Arc<Listed>> {
        let ask = async || {
            let model = ModelName::new(server.provider().name, "models");
            Listed::read(&self.get_models(server, &model).await.ok()?)
        };
        server.listing.get(Instant::now(), ask).await
    }

    async fn get_models(&self, server: &Server, model: &ModelName) -> Result<String, Failure> {
        let request = server.http.get(server.url("models")).headers(server.headers().clone()).timeout(ASIDE_TIMEOUT);
        let failed = |problem| transport::of_reqwest(model, &problem);
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = transport::beginning(&mut response, MAX_MODELS, ASIDE_TIMEOUT).await.map_err(failed)?;
        if status.is_success() { Ok(body) } else { Err(server.failure(model, status.as_u16(), &headers, &body)) }
    }
}

/// Waits until the caller may spend something.
async fn may_begin(request: &Request, caller: &dyn CallContext) {
    caller.gate().pass().await;
    tracing::debug!(model = %request.model, "a model call begins");
}

/// Waits for all of an answer that is streamed.
async fn all_of(mut reading: Reading, model: &ModelName) -> Result<Completion, Failure> {
    let mut completion = reading.gathered().await?.ok_or_else(|| malformed(model, "the stream has no end"))?;
    completion.drop_unopened_thinking();
    Ok(completion)
}

/// Returns the answer that a server refuses to pass on because it cannot read the model's calls, where we can.
///
/// # Errors
/// The failure, where nothing was written that calls a tool.
fn as_written(failure: Failure, mut assembly: Assembly) -> Result<Completion, Failure> {
    let Some(written) = &failure.written else { return Err(failure) };
    assembly.expect_call();
    assembly.say(written, false)?;
    assembly.stop(WireStop::End);
    let (completion, _) = assembly.finish()?;
    if completion.tool_calls.is_empty() { Err(failure) } else { Ok(completion) }
}

/// Reads an answer that was received as a whole.
fn read(wire: Wire, mut reader: Reader, mut assembly: Assembly, body: Vec<u8>) -> Result<Completion, Failure> {
    let model = assembly.model().clone();
    let is_stream = transport::each_event(wire, &model, &body, |event| reader.event(event, &mut assembly))?;
    if is_stream {
        return assembly.finish_stream().map(|(completion, _)| completion);
    }
    reader.whole(&transport::text_of(body), &mut assembly)?;
    assembly.finish().map(|(completion, _)| completion)
}

/// Returns what a call is expected to take, where that counts: its prompt, and a quarter of the longest answer.
fn estimated_tokens(server: &Server, request: &Request) -> u64 {
    match server.limiter.counts_tokens() {
        true => {
            let tokenizer = server.facts(&request.model).tokenizer.unwrap_or_default();
            let prompt = Measure::estimating(tokenizer).request(request);
            u64::from(prompt).saturating_add(u64::from(request.max_tokens / 4))
        }
        false => 0,
    }
}

/// Waits until the server may be asked once more.
async fn turn(server: &Server, request: &Request, tokens: u64, caller: &dyn CallContext) -> Permit {
    let _rest = caller.gate().rest();
    server.limiter.permit(&request.model.to_string(), tokens, caller).await
}

impl Inner {
    pub(super) fn server(&self, model: &ModelName) -> Option<&Arc<Server>> {
        self.servers.get(&*model.provider)
    }

    /// Returns the model's server, ready to be called.
    fn usable(&self, model: &ModelName) -> Result<&Arc<Server>, Error> {
        let Some(server) = self.server(model) else {
            let detail = format!("there is no provider '{}' to call", model.provider);
            return Err(Error::BadRequest { model: model.clone(), detail });
        };
        match server.missing() {
            None => Ok(server),
            Some(variable) => Err(Error::Auth { model: model.clone(), detail: format!("{variable} is not set") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What bounds calls to a server bounds those of all runs.
    #[test]
    fn servers_without_keys_are_shared_with_runs_that_bring_keys() {
        let keyed = Endpoint { api_key: Some("sk-server".into()), ..Endpoint::default() };
        let own = Llm::new(Settings { endpoints: [("openai", keyed)].into_iter().collect(), ..Settings::default() });
        let own = own.unwrap();
        let keys = |name: &str| BTreeMap::from([(name.to_owned(), SecretString::from("sk-user"))]);
        let (one, two) = (own.with_keys(&keys("anthropic")).unwrap(), own.with_keys(&keys("mistral")).unwrap());
        let is_shared = |with: &Llm, name: &str| Arc::ptr_eq(&with.inner.servers[name], &own.inner.servers[name]);
        assert!(is_shared(&one, "ollama") && is_shared(&two, "ollama") && is_shared(&one, "mistral"));
        assert!(!is_shared(&one, "anthropic"), "its key is the run's");
        assert!(!is_shared(&one, "openai"), "its key is the server's");
        assert_eq!(one.missing(&"openai:gpt".parse().unwrap()), Some("OPENAI_API_KEY"));
    }
}
