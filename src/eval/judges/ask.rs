//! One call of a judge: an answer of the asked form, by whatever way the model can give it, and what it took.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Spent;
use crate::{
    domain::{ModelName, Usage},
    llm::{
        ANSWER_TOKENS, CallContext, Completion, Error, Llm, Message, OutputFormat, Request, Sending, StopReason,
        ToolChoice, Wait,
        limits::Measure,
        structured::{Form, Strategies},
    },
    prompts::Prompts,
};

/// Enough for a model that thinks before a short answer; doubled when it was not.
const MAX_TOKENS: u32 = 8_000;
/// No wait for a provider that is away, or limits the rate, ends later than this after the call began: an evaluation
/// goes on without a score, and can be taken up again.
const RETRY_TIME: Duration = Duration::from_secs(180);

/// A model that answers in forms.
#[derive(Debug)]
pub struct Asker {
    llm: Llm,
    model: ModelName,
    prompts: Arc<Prompts>,
    attempts: u32,
}

impl Asker {
    pub fn new(llm: Llm, model: ModelName, prompts: Arc<Prompts>, attempts: u32) -> Self {
        Self { llm, model, prompts, attempts }
    }

    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// Asks for a `T`: by native schema, then by a tool call, then in the prompt. What was used is added to `spent`,
    /// as soon as it is known, also by answers that could not be read.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub async fn ask<T: DeserializeOwned>(&self, prompt: &str, form: Form, spent: &Mutex<Spent>) -> Result<T, String> {
        let words = |name: &str, values: Value| self.prompts.text(name, values);
        let mut strategies = Strategies::new(form, &words);
        strategies.start_with(self.llm.first_strategy(&self.model));
        let mut request = self.request(prompt);
        let mut reason = String::from("no attempt was made");
        let mut left = self.attempts;
        while left > 0 {
            left -= 1;
            match self.complete(&strategies.request(&request), spent).await {
                Ok(completion) => match strategies.read(&completion) {
                    Ok(value) => {
                        self.llm.answered_by(&self.model, strategies.strategy(), strategies.was_refused());
                        return Ok(value);
                    }
                    Err(rejection) => {
                        reason = rejection.to_string();
                        strategies.rejected(rejection);
                        request.max_tokens = self.most_tokens(request.max_tokens, completion.stop);
                    }
                },
                Err(error @ Error::BadRequest { .. }) if strategies.unsupported() => {
                    // A request that was refused for its form was no attempt at an answer.
                    left += 1;
                    reason = error.to_string();
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("no answer of the asked form: {reason}"))
    }

    async fn complete(&self, request: &Request, spent: &Mutex<Spent>) -> Result<Completion, Error> {
        let begun = Instant::now();
        let caller = UntilDeadline { ends: tokio::time::Instant::now() + RETRY_TIME, asker: self, spent };
        let done = self.llm.complete(request, &caller).await;
        let mut used = Spent { calls: 1, seconds: begun.elapsed().as_secs_f64(), ..Spent::default() };
        if let Ok(completion) = &done {
            let tokenizer = self.llm.facts(&self.model).tokenizer.unwrap_or_default();
            used += self.taken(&completion.plausible_usage(Measure::estimating(tokenizer).request(request)));
        }
        *spent.lock() += used;
        done.map_err(|failed| failed.error)
    }

    /// Returns these tokens, and what they cost.
    fn taken(&self, usage: &Usage) -> Spent {
        Spent {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost: self.llm.cost(&self.model, usage),
            ..Spent::default()
        }
    }

    fn request(&self, prompt: &str) -> Request {
        Request {
            model: self.model.clone(),
            messages: vec![Message::user(prompt)],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens: self.most_tokens(MAX_TOKENS, StopReason::End),
            sending: Sending::default(),
        }
    }

    /// Returns the output limit of a call: `before`, or twice as much when an answer was cut off, as far as the model
    /// can write it.
    fn most_tokens(&self, before: u32, stop: StopReason) -> u32 {
        let wanted = if stop == StopReason::Length { before.saturating_mul(2) } else { before };
        self.llm.facts(&self.model).max_output.map_or(wanted, |most| wanted.min(most))
    }
}

/// Waits in silence, for a while.
struct UntilDeadline<'a> {
    ends: tokio::time::Instant,
    asker: &'a Asker,
    /// To which answers that could not be used are added at once: nobody comes back to a call that is dropped.
    spent: &'a Mutex<Spent>,
}

impl CallContext for UntilDeadline<'_> {
    fn waiting(&self, _: Wait) {}

    fn billed(&self, usage: &Usage) {
        *self.spent.lock() += self.asker.taken(&usage.plausible_or(ANSWER_TOKENS, ANSWER_TOKENS));
    }

    fn ends(&self) -> Option<tokio::time::Instant> {
        Some(self.ends)
    }
}
