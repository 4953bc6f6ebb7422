//! Spans: one tree per run, named and described by OpenTelemetry's conventions for generative AI, so that the usual
//! viewers show it as agents, model calls and tool calls.
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/> (2026-07)
//!
//! Without a collector every span here is disabled and costs a comparison. Prompts, answers and arguments get into
//! spans only when the settings allow it.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use opentelemetry::{
    Array, StringValue, Value,
    trace::{SpanId, Status, TraceId},
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use tracing::{Instrument, Span, instrument::Instrumented};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::metrics;
use crate::domain::{ModelName, RunId, ThreadId, Usage};

/// The target of all spans that are meant for traces.
pub const TARGET: &str = "fathom::spans";

/// The longest attribute that holds content.
const MAX_CONTENT_BYTES: usize = 64 * 1024;

static CONTENT: AtomicBool = AtomicBool::new(false);

/// Sets whether spans may hold prompts, answers, arguments and results from now on.
pub(super) fn allow_content(allowed: bool) {
    CONTENT.store(allowed, Ordering::Relaxed);
}

/// A span of a trace, disabled when nobody collects them.
macro_rules! span {
    ($name:expr, $kind:literal) => {
        tracing::info_span!(target: TARGET, "span", otel.name = $name, otel.kind = $kind)
    };
}

/// The work on a run in this process: the root of a trace, and the run's id on every line of the log.
#[derive(Clone, Debug)]
pub struct RunSpan {
    log: Span,
    trace: Span,
}

impl RunSpan {
    /// Begins the span of a run; `attempt` counts its lives from 1: all share one trace, each has a root of its own.
    pub fn begin(run_id: RunId, thread_id: ThreadId, attempt: i64) -> Self {
        // As severe as can be, so that it is on the lines of every filter.
        let log = tracing::error_span!("run", %run_id, %thread_id);
        let trace = log.in_scope(|| span!("invoke_agent fathom", "internal"));
        if !trace.is_disabled() {
            trace.set_attribute("gen_ai.operation.name", "invoke_agent");
            trace.set_attribute("gen_ai.agent.name", "fathom");
            trace.set_attribute("gen_ai.conversation.id", thread_id.to_string());
            trace.set_attribute("fathom.run.id", run_id.to_string());
            trace.set_attribute("fathom.run.attempt", attempt);
            TraceIds::start(&trace, TraceId::from_bytes(run_id.0.into_bytes()));
        }
        Self { log, trace }
    }

    pub fn over<F: Future>(&self, work: F) -> Instrumented<Instrumented<F>> {
        work.instrument(self.trace.clone()).instrument(self.log.clone())
    }

    /// Calls `work`, such as writing to the log, within the run's span.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.log.in_scope(work)
    }

    /// Ends the span; `outcome` is one word, `error` a stable code.
    pub fn end(&self, outcome: &'static str, error: Option<&'static str>) {
        self.trace.set_attribute("fathom.run.outcome", outcome);
        fail(&self.trace, error);
    }
}

/// Returns a stage of research.
pub fn stage(name: &'static str) -> Span {
    span!(name, "internal")
}

/// Returns a researcher, the `number`-th of its run.
pub fn researcher(number: u32, topic: &str) -> Span {
    let span = span!("invoke_agent researcher", "internal");
    if !span.is_disabled() {
        span.set_attribute("gen_ai.operation.name", "invoke_agent");
        span.set_attribute("gen_ai.agent.name", "researcher");
        span.set_attribute("gen_ai.agent.id", format!("r{number}"));
        content(&span, "fathom.topic", || topic.to_owned());
    }
    span
}

/// Ends a span that cannot end otherwise than well or with a code.
pub fn fail(span: &Span, error: Option<&'static str>) {
    if let Some(code) = error {
        span.set_attribute("error.type", code);
        span.set_status(Status::error(code));
    }
}

/// A model's call of a tool.
#[derive(Debug)]
pub struct ToolCall(Span);

impl ToolCall {
    pub fn begin(name: &str, call_id: &str, arguments: &str) -> Self {
        let span = span!(format!("execute_tool {name}"), "internal");
        if !span.is_disabled() {
            span.set_attribute("gen_ai.operation.name", "execute_tool");
            span.set_attribute("gen_ai.tool.name", name.to_owned());
            span.set_attribute("gen_ai.tool.call.id", call_id.to_owned());
            span.set_attribute("gen_ai.tool.type", "function");
            content(&span, "gen_ai.tool.call.arguments", || arguments.to_owned());
        }
        Self(span)
    }

    pub fn over<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.0.clone())
    }

    /// Ends the span; `result` is made only when spans may hold it.
    pub fn end(self, error: Option<&'static str>, result: impl FnOnce() -> String) {
        content(&self.0, "gen_ai.tool.call.result", result);
        fail(&self.0, error);
    }
}

/// What is known of a model call before it is made.
#[derive(Clone, Copy, Debug)]
pub struct CallStart<'a> {
    pub model: &'a ModelName,
    /// Of the pipeline; one of a few words.
    pub role: &'static str,
    /// The step of the journal.
    pub key: &'a str,
    /// Output limit, tokens.
    pub max_tokens: u32,
}

/// How a model call ended.
#[derive(Clone, Copy, Debug)]
pub enum CallEnd {
    Answered {
        usage: Usage,
        /// As the conventions name it: `stop`, `length`, `tool_calls`, `content_filter`.
        finish: &'static str,
        /// HTTP requests, retries included.
        attempts: u32,
    },
    /// With a stable code.
    Failed(&'static str),
}

/// A model call, retries included; in traces and metrics. One that is dropped before its end was cancelled.
#[derive(Debug)]
pub struct ModelCall {
    span: Span,
    model: ModelName,
    role: &'static str,
    started: Instant,
    ended: bool,
}

impl ModelCall {
    /// Begins the span; `input` is made only when spans may hold it.
    pub fn begin(start: CallStart<'_>, input: impl FnOnce() -> String) -> Self {
        let model = start.model;
        let span = span!(format!("chat {}", model.model), "client");
        if !span.is_disabled() {
            span.set_attribute("gen_ai.operation.name", "chat");
            span.set_attribute("gen_ai.provider.name", model.provider.to_string());
            span.set_attribute("gen_ai.request.model", model.model.clone());
            span.set_attribute("gen_ai.request.max_tokens", i64::from(start.max_tokens));
            span.set_attribute("fathom.role", start.role);
            span.set_attribute("fathom.step", start.key.to_owned());
            content(&span, "gen_ai.input.messages", input);
        }
        Self { span, model: model.clone(), role: start.role, started: Instant::now(), ended: false }
    }

    pub fn over<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.span.clone())
    }

    /// Ends the span; `output` is made only when spans may hold it.
    pub fn end(mut self, end: CallEnd, output: impl FnOnce() -> String) {
        self.ended = true;
        let span = &self.span;
        match end {
            CallEnd::Answered { usage, finish, attempts } => {
                let tokens = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
                let reasons = Value::Array(Array::String(vec![StringValue::from(finish)]));
                span.set_attribute("gen_ai.usage.input_tokens", tokens(usage.input_tokens));
                span.set_attribute("gen_ai.usage.output_tokens", tokens(usage.output_tokens));
                span.set_attribute("gen_ai.usage.cache_read.input_tokens", tokens(usage.cached_tokens));
                span.set_attribute("gen_ai.response.finish_reasons", reasons);
                span.set_attribute("fathom.attempts", i64::from(attempts));
                content(span, "gen_ai.output.messages", output);
                metrics::model_called(&self.model, self.role, metrics::OK, self.started.elapsed());
            }
            CallEnd::Failed(code) => {
                fail(span, Some(code));
                metrics::model_called(&self.model, self.role, code, self.started.elapsed());
            }
        }
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        if !self.ended {
            fail(&self.span, Some("cancelled"));
            metrics::model_called(&self.model, self.role, "cancelled", self.started.elapsed());
        }
    }
}

/// Adds a text that may hold anything, if that is allowed, and no more of it than a viewer can show.
fn content(span: &Span, name: &'static str, text: impl FnOnce() -> String) {
    if !CONTENT.load(Ordering::Relaxed) || span.is_disabled() {
        return;
    }
    let mut text = text();
    if text.len() > MAX_CONTENT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_CONTENT_BYTES));
        text.push('…');
    }
    span.set_attribute(name, text);
}

/// Ids of traces are those of runs, so that all lives of a run are one trace; ids of spans are random.
#[derive(Debug, Default)]
pub(super) struct TraceIds(RandomIdGenerator);

thread_local! {
    /// The id of the trace that is begun on this thread right now.
    static NEXT: Cell<Option<TraceId>> = const { Cell::new(None) };
}

impl TraceIds {
    /// Starts `span`, which has no parent, in that trace.
    fn start(span: &Span, id: TraceId) {
        NEXT.set(Some(id));
        // Asking for its context is what starts a span.
        let _ = span.context();
        NEXT.set(None);
    }
}

impl IdGenerator for TraceIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT.take().unwrap_or_else(|| self.0.new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}
