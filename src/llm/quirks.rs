//! In what a provider differs from the dialect that it speaks. A row of `providers.rs` names what differs, and the
//! dialect's file reads it.

use super::{catalogue::Facts, structured::Strategy};

/// The name of the field that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimit {
    MaxTokens,
    MaxCompletionTokens,
    /// The newer one for OpenAI's newer models, which refuse the old one.
    ByModel,
    /// One that the vendor alone has.
    Named(&'static str),
}

impl OutputLimit {
    /// Returns the field for `model`.
    pub fn field(self, model: &str) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::ByModel if reasons(model) => Self::MaxCompletionTokens.field(model),
            Self::ByModel => Self::MaxTokens.field(model),
            Self::Named(field) => field,
        }
    }

    /// Returns the other field than the usual one for `model`.
    #[must_use]
    pub fn other(self, model: &str) -> Self {
        if self.field(model) == Self::MaxTokens.field(model) { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }
}

/// The reasoning that goes back with its turn on Chat Completions; most servers take none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    Nothing,
    /// The text of `reasoning_content`; a turn with calls has to have it, be it empty.
    ReasoningContent,
    /// The list `reasoning_details`, which may be signed or encrypted.
    ReasoningDetails,
}

/// The points in which a provider differs from its dialect.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Chat Completions alone.
    pub output_limit: OutputLimit,
    /// The word that forces a tool call, as the dialect has it: `required` (in Chat Completions some say `any`), `any`
    /// (Messages, Converse) or `ANY` (Gemini); [`Self::UNFORCED`] where that is refused or ignored.
    pub required: &'static str,
    /// Whether `stream_options` is known (Chat Completions).
    pub stream_options: bool,
    /// Whether it answers in one piece. Otherwise every answer is streamed, also those that nobody reads before their
    /// end.
    pub whole_answers: bool,
    /// The surest form of asking for a structured answer.
    pub structured: Strategy,
    /// Ids of tool calls have exactly nine letters and digits (Chat Completions).
    pub short_ids: bool,
    /// Bytes that the id of a tool call may have at the provider's own address.
    pub longest_id: usize,
    /// Between the results of tools and what a user says next the model has to say something.
    pub answers_results: bool,
    /// What of a turn's reasoning has to go back with it (Chat Completions; other dialects know it).
    pub carries: Carries,
    /// Whether `prompt_cache_key` is known (Chat Completions, Responses).
    pub cache_key: bool,
    /// The header that takes the key of the vendor's cache instead.
    pub cache_header: Option<&'static str>,
    /// Whether a 400 without a word says that the request is too long.
    pub silent_overflow: bool,
    /// The field of a chunk that may hold an error beside the one that all have (Chat Completions).
    pub error_beside: Option<&'static str>,
    /// Reasoning tokens may be counted beside the output tokens, and cached tokens beside those of the prompt (Chat
    /// Completions).
    pub counts_beside: bool,
    /// Where a whole answer says what it cost, in dollars; streams say it in their usage.
    pub cost_header: Option<&'static str>,
    /// The model stands in the address and not in the body, which names this version of the API (Messages).
    pub versioned: Option<&'static str>,
    /// Sent with every request, in lower case; the operator's replace them.
    pub headers: &'static [(&'static str, &'static str)],
}

impl Quirks {
    /// The quirks of a provider that keeps to Chat Completions; one of another dialect has another `required`.
    pub const NONE: Self = Self {
        output_limit: OutputLimit::MaxTokens,
        required: "required",
        stream_options: true,
        whole_answers: true,
        structured: Strategy::Native,
        short_ids: false,
        longest_id: usize::MAX,
        answers_results: false,
        carries: Carries::Nothing,
        cache_key: false,
        cache_header: None,
        silent_overflow: false,
        error_beside: None,
        counts_beside: false,
        cost_header: None,
        versioned: None,
        headers: &[],
    };

    /// Returns the same for a model of which this is known.
    pub fn of_model(mut self, facts: &Facts) -> Self {
        let weaker = match (facts.schema, facts.tools) {
            (Some(false), Some(false)) => Strategy::Prompt,
            (Some(false), _) => Strategy::Tool,
            _ => Strategy::Native,
        };
        self.structured = self.structured.max(weaker);
        let streams = facts.streaming != Some(false);
        self.whole_answers = facts.whole_answers.unwrap_or(self.whole_answers || !streams);
        self
    }

    /// The word in place of the one that forces a call.
    pub const UNFORCED: &'static str = "auto";

    pub(super) const LIKE_OPENAI: Self = Self { output_limit: OutputLimit::ByModel, ..Self::NONE };
    /// The quirks at OpenAI's and Azure's addresses.
    pub(super) const OF_OPENAI: Self = Self { longest_id: 40, ..Self::LIKE_OPENAI };
    pub(super) const OPENAI: Self = Self { cache_key: true, ..Self::OF_OPENAI };
    pub(super) const NEW_LIMIT: Self = Self { output_limit: OutputLimit::MaxCompletionTokens, ..Self::NONE };
}

/// Returns whether a model of OpenAI's reasons. Such models refuse `max_tokens`, and others the question for their
/// reasoning.
pub(super) fn reasons(model: &str) -> bool {
    ["gpt-5", "gpt-6", "o1", "o3", "o4"].iter().any(|family| model.starts_with(family))
}
