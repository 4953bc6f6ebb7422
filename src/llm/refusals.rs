//! What a provider refused of a request, by the words of its refusal: vendors have no codes for these. The call is made
//! once more without it, or in another way (`adapted.rs`).

use super::failure::leading_number;
use super::tuning::Tuned;
use super::{Error, Failed, Message, Request, ToolChoice};

/// Returns whether the provider refused that a call is demanded. Vendors say so in many words, with a 400 each.
pub(super) fn refuses_force(request: &Request, failed: &Failed) -> bool {
    let (Error::BadRequest { detail, .. } | Error::Malformed { detail, .. }) = &failed.error else { return false };
    let detail = detail.to_lowercase();
    let words =
        ["tool_choice", "tool choice", "toolchoice", "function_calling_config", "functioncallingconfig", "forced"];
    request.tool_choice == ToolChoice::Required && words.iter().any(|word| detail.contains(word))
}

/// Returns whether the provider does not know the field that limits the output: it names both, or one as unknown.
pub(super) fn refuses_limit(failed: &Failed) -> bool {
    let Error::BadRequest { detail, .. } = &failed.error else { return false };
    let detail = detail.to_lowercase();
    match ["max_tokens", "max_completion_tokens"].map(|field| detail.contains(field)) {
        [true, true] => true,
        [false, false] => false,
        _ => UNKNOWN_FIELD.iter().any(|words| detail.contains(words)),
    }
}

/// How servers say that they do not know a field, in lower case: OpenAI's, older ones of Azure, those that check with
/// Pydantic.
const UNKNOWN_FIELD: [&str; 4] =
    ["unsupported parameter", "unrecognized request argument", "unknown parameter", "extra inputs are not permitted"];

/// Returns the longest answer that the model gives, in tokens, when a longer one was refused.
pub(super) fn most_output(failed: &Failed) -> Option<u32> {
    let Error::BadRequest { detail, .. } = &failed.error else { return None };
    let detail = detail.to_lowercase().replace(['`', '\'', '"'], "");
    let limit = |(words, before): &(&str, &str)| {
        let (_, rest) = detail.split_once(before).filter(|_| detail.contains(words))?;
        leading_number(rest).filter(|tokens| *tokens > 0)
    };
    LONGEST_OUTPUTS.iter().find_map(limit)
}

/// How servers say that the output cannot be that long, in lower case and without quotation marks, and the words after
/// which its greatest length follows.
const LONGEST_OUTPUTS: [(&str, &str); 5] = [
    // Groq: "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for …"; whatever the field
    ("max_", "_tokens must be less than or equal to"),
    // Amazon: "The maximum tokens you requested exceeds the model limit of 8192. Try again with …"
    ("maximum tokens you requested exceeds the model limit of", "model limit of"),
    // Anthropic: "max_tokens: 10000 > 8192, which is the maximum allowed number of output tokens for …"
    ("maximum allowed number of output tokens", ">"),
    // OpenAI: "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, …"
    ("completion tokens", "supports at most"),
    // DeepSeek: "the valid range of max_tokens is [1, 8192]"; DashScope: "Range of max_tokens should be [1, 8192]"
    ("range of max_tokens", "[1,"),
];

/// Returns whether the provider does not know the field by which a stream is asked for its usage. It names it.
pub(super) fn refuses_usage(failed: &Failed) -> bool {
    let Error::BadRequest { detail, .. } = &failed.error else { return false };
    detail.to_lowercase().contains("stream_options")
}

/// Returns whether the provider says that it streams the answer, and gives it in no other way.
pub(super) fn wants_stream(failed: &Failed) -> bool {
    let Error::BadRequest { detail, .. } = &failed.error else { return false };
    let detail = detail.to_lowercase();
    WANTS_STREAM.iter().any(|words| detail.contains(words))
}

/// The words of such refusals, in lower case: DashScope's of models that only stream, and of those that think;
/// ModelScope's; Fireworks' of long answers; those of proxies before OpenAI's Codex.
const WANTS_STREAM: [&str; 6] = [
    "only support stream",
    "only supports stream",
    "for non-streaming calls",
    "when `stream=false`",
    "must have stream=true",
    "stream must be set to true",
];

/// Returns whether the provider does not stream the answer: OpenAI's newer models to an organization that has not been
/// verified, some proxies. Of an "upstream" nothing is refused.
pub(super) fn refuses_stream(failed: &Failed) -> bool {
    let Error::BadRequest { detail, .. } = &failed.error else { return false };
    let detail = detail.to_lowercase();
    let mut words = detail.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| matches!(word, "stream" | "streaming" | "streamed" | "streams")) && !wants_stream(failed)
}

/// Returns whether the provider names what is set so for a role.
pub(super) fn names_tuning(failed: &Failed, field: Tuned) -> bool {
    let Error::BadRequest { detail, .. } = &failed.error else { return false };
    let names: &[&str] = match field {
        // Gemini's names for it are the last ones.
        Tuned::Effort => &["effort", "reasoning_effort", "reasoningeffort", "thinking_level", "thinkinglevel"],
        Tuned::Verbosity => &["verbosity"],
        Tuned::Temperature => &["temperature"],
        Tuned::ServiceTier => &["service_tier", "servicetier"],
    };
    let detail =
        detail.to_lowercase().replace("service tier", "service_tier").replace("thinking level", "thinking_level");
    // Whole words: a tool may be called `get_temperature`.
    let mut words = detail.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '-'));
    words.any(|word| names.contains(&word))
}

/// Returns the request without what its turns carry, when that was refused: some providers bind it to the very
/// conversation it came from, which may have been shortened since.
pub(super) fn without_carry(request: &Request, failed: &Failed) -> Option<Request> {
    let Error::BadRequest { detail, .. } = &failed.error else { return None };
    let detail = detail.to_lowercase();
    if !["thinking", "signature", "reasoning", "encrypted"].iter().any(|word| detail.contains(word)) {
        return None;
    }
    let mut plain = request.clone();
    let mut carries = false;
    for message in &mut plain.messages {
        if let Message::Assistant { carry, .. } = message {
            carries |= carry.take().is_some();
        }
    }
    carries.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_for_a_role_is_named_by_whole_words() {
        fn check(detail: &str, expected: &[Tuned]) {
            let error = Error::BadRequest { model: "openai:m".parse().unwrap(), detail: format!("400 {detail}") };
            let failed = Failed { error, attempts: 1, too_long: None };
            let named: Vec<_> = Tuned::ALL.into_iter().filter(|field| names_tuning(&failed, *field)).collect();
            assert_eq!(named, expected, "{detail}");
        }
        check("Unsupported value: 'reasoning.effort' does not support 'none'.", &[Tuned::Effort]);
        check("generationConfig.thinkingConfig.thinkingLevel: MINIMAL", &[Tuned::Effort]);
        check("Thinking level is not supported for this model.", &[Tuned::Effort]);
        check("Invalid service tier 'flex', see serviceTier", &[Tuned::ServiceTier]);
        check("`temperature` and `top_p` cannot both be specified", &[Tuned::Temperature]);
        check("Invalid schema for function 'get_temperature', or temperatures, or 'set-temperature'", &[]);
    }

    #[test]
    fn the_longest_answer_is_known_by_each_vendors_words() {
        fn check(detail: &str, expected: Option<u32>) {
            let error = Error::BadRequest { model: "openai:m".parse().unwrap(), detail: format!("400 {detail}") };
            assert_eq!(most_output(&Failed { error, attempts: 1, too_long: None }), expected, "{detail}");
        }
        check(
            "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model",
            Some(8_192),
        );
        check("max_tokens must be less than or equal to 4096", Some(4_096));
        check("max_new_tokens must be less than or equal to 4096", Some(4_096));
        check("The maximum tokens you requested exceeds the model limit of 8192. Try again with …", Some(8_192));
        check(
            "max_tokens: 10000 > 8192, which is the maximum allowed number of output tokens for claude-m",
            Some(8_192),
        );
        check(
            "invalid_value: max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000.",
            Some(16_384),
        );
        check("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", Some(8_192));
        check("Range of max_tokens should be [1, 16384]", Some(16_384));
        check("max_tokens: 100, temperature must be less than or equal to 2", None);
        check("temperature must be less than or equal to 2, 'max_tokens' must be less than or equal to 9", Some(9));
        check("max_tokens is too large: 99999.", None);
        check("max_tokens must be less than or equal to the rest of the window", None);
        check("max_tokens must be less than or equal to 0", None);
    }
}
