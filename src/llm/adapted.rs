//! Requests as their providers take them: without what was refused, or with it asked for in another way.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::client::Llm;
use super::server::Server;
use super::tuning::Tuned;
use super::wire::Wire;
use super::{Failed, Request, ToolChoice, refusals};
use crate::domain::ModelName;

/// What is no longer as it was first asked for, since a provider refused it; each is changed once.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// The limit of the output.
    output: bool,
    /// The field in which that stands.
    limit_field: bool,
    /// Whether a stream's usage is asked for.
    usage: bool,
}

impl Llm {
    /// Returns the request without a forced call, when its provider or its model is known to refuse that.
    fn unforced<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let model = &request.model;
        let is_known = || self.inner.server(model).is_some_and(|server| server.refuses_force(model));
        let is_refused = || is_known() || self.inner.memory.unforced.has(model, Instant::now());
        if request.tool_choice == ToolChoice::Required && is_refused() {
            return Cow::Owned(Request { tool_choice: ToolChoice::Auto, ..request.clone() });
        }
        Cow::Borrowed(request)
    }

    /// Returns the request without what its model is known to refuse.
    pub(super) fn as_taken<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let mut request = self.unforced(request);
        let most = self.inner.memory.outputs.get(&request.model, Instant::now());
        if let Some(most) = most.filter(|most| *most < request.max_tokens) {
            request.to_mut().max_tokens = most;
        }
        for field in Tuned::ALL {
            if self.is_refused(&request, field) {
                let sending = request.sending.without(field);
                request.to_mut().sending = sending;
            }
        }
        request
    }

    /// Returns whether the model has refused the value that this is set to.
    fn is_refused(&self, request: &Request, field: Tuned) -> bool {
        let Some(value) = request.sending.value(field) else { return false };
        self.inner.memory.untuned.has(&(request.model.clone(), field, value), Instant::now())
    }

    /// Returns the request to be made once more, when its provider refused something of it that can be left out or
    /// asked for in another way; `begun` is when it was made.
    pub(super) fn otherwise<'a>(
        &self,
        request: &Cow<'a, Request>,
        failed: &Failed,
        begun: Instant,
        changed: &mut Changed,
    ) -> Option<Cow<'a, Request>> {
        if !changed.output
            && let Some(shorter) = self.with_less_output(request, failed)
        {
            changed.output = true;
            return Some(Cow::Owned(shorter));
        }
        if !changed.limit_field && self.wants_other_limit(&request.model, failed, begun) {
            changed.limit_field = true;
            return Some(request.clone());
        }
        if !changed.usage && self.refuses_usage(&request.model, failed) {
            changed.usage = true;
            return Some(request.clone());
        }
        self.untuned(request, failed).or_else(|| self.milder(request, failed)).map(Cow::Owned)
    }

    /// Returns the request without what is set for its role and its provider refused by name: it may be set for another
    /// model, in whose place this one stands.
    fn untuned(&self, request: &Request, failed: &Failed) -> Option<Request> {
        let (field, value) = Tuned::ALL.into_iter().find_map(|field| {
            let value = request.sending.value(field)?;
            refusals::names_tuning(failed, field).then_some((field, value))
        })?;
        self.inner.memory.untuned.learn(&(request.model.clone(), field, value), Instant::now());
        tracing::warn!(model = %request.model, error = %failed.error, "a setting of the role is left out for an hour");
        Some(Request { sending: request.sending.without(field), ..request.clone() })
    }

    /// Returns the request with the longest answer that its model gives, when it asked for a longer one.
    fn with_less_output(&self, request: &Request, failed: &Failed) -> Option<Request> {
        let max_tokens = refusals::most_output(failed).filter(|most| *most < request.max_tokens)?;
        self.inner.memory.outputs.learn(&request.model, max_tokens, Instant::now());
        Some(Request { max_tokens, ..request.clone() })
    }

    /// Returns the request without what its provider refused, when that can be done without.
    fn milder(&self, request: &Request, failed: &Failed) -> Option<Request> {
        if !refusals::refuses_force(request, failed) {
            return refusals::without_carry(request, failed);
        }
        self.inner.memory.unforced.learn(&request.model, Instant::now());
        Some(self.unforced(request).into_owned())
    }

    /// Returns whether the provider refused the field that limits the output; then the model gets the other one.
    fn wants_other_limit(&self, model: &ModelName, failed: &Failed, begun: Instant) -> bool {
        let refusing = self.chat_server(model).filter(|_| refusals::refuses_limit(failed));
        refusing.inspect(|server| server.limit_fields.refused(model, begun, Instant::now())).is_some()
    }

    /// Returns whether `model` streams. Assumed of those that have not refused it.
    pub fn streams(&self, model: &ModelName) -> bool {
        self.facts(model).streaming != Some(false) && !self.inner.memory.unstreamed.has(model, Instant::now())
    }

    /// Returns whether the provider seems to have refused to stream what the model can answer in one piece.
    pub(super) fn may_refuse_stream(&self, model: &ModelName, failed: &Failed) -> bool {
        refusals::refuses_stream(failed) && self.gives_whole_answers(model)
    }

    /// Asks for answers in one piece from now on.
    pub(super) fn stream_no_longer(&self, model: &ModelName) {
        self.inner.memory.unstreamed.learn(model, Instant::now());
    }

    /// Returns whether the provider does not know how to count a stream; then the model is no longer asked to.
    fn refuses_usage(&self, model: &ModelName, failed: &Failed) -> bool {
        let refusing = self.chat_server(model).filter(|_| refusals::refuses_usage(failed));
        refusing.inspect(|server| server.uncounted.learn(model, Instant::now())).is_some()
    }

    /// Returns the server of a model that speaks Chat Completions, whose copies differ in their fields.
    fn chat_server(&self, model: &ModelName) -> Option<&Arc<Server>> {
        self.inner.server(model).filter(|server| server.wire() == Wire::ChatCompletions)
    }
}
