//! How much a model can read, and how much a request is: estimates, since no tokenizer fits all models.
//!
//! An estimate decides what to shorten *before* a call; a provider's "too long" stays a normal answer after it.

use super::{Message, OutputFormat, Request, Text, ToolCall};
use crate::domain::ModelName;

/// Tokens assumed for a model nobody knows.
pub const UNKNOWN_WINDOW: u32 = 32_768;

/// Tokens that a message costs besides its text (role, separators).
const PER_MESSAGE: u32 = 4;
/// Tokens that a tool or a call costs besides its text and JSON.
const PER_TOOL: u32 = 8;

/// Windows by the beginning of the name, without a vendor's `vendor/` before it; the first match counts. Where a
/// family has several sizes, or servers commonly cut it down, the smallest stands here. An unknown newer version of a
/// family has the newest window. As vendors and catalogues tell in November 2026; `model_context_window` overrides it.
const WINDOWS: &[(&str, u32)] = &[
    ("gpt-6", 1_050_000),
    ("gpt-5.6", 1_050_000),
    ("gpt-5.5", 1_050_000),
    ("gpt-5.4-", 400_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5-chat", 128_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    // Before Opus 4.6, Sonnet 4.6 and Haiku 5.5.
    ("claude-2", 200_000),
    ("claude-3", 200_000),
    ("claude-instant", 100_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-4.6", 1_000_000),
    ("claude-opus-4.7", 1_000_000),
    ("claude-opus-4.8", 1_000_000),
    ("claude-opus-4", 200_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-4.6", 1_000_000),
    ("claude-sonnet-4", 200_000),
    ("claude-haiku-4", 200_000),
    ("claude-", 1_000_000),
    ("gemini-", 1_048_576),
    ("gemma-3", 131_072),
    ("gemma3", 131_072),
    ("gemma", 8_192),
    ("grok-4.3", 1_000_000),
    ("grok-4.20", 1_000_000),
    ("grok-4.", 500_000),
    ("grok-", 131_072),
    ("llama-4", 131_072),
    ("llama-3.", 131_072),
    ("llama3.", 131_072),
    ("llama", 8_192),
    ("qwen3", 40_960),
    ("qwen", 32_768),
    ("mistral-large", 262_144),
    ("mistral-medium", 262_144),
    ("mistral-small", 262_144),
    ("mistral-nemo", 131_072),
    ("mistral", 32_768),
    ("mixtral", 32_768),
    ("magistral", 40_960),
    ("deepseek-v4", 1_000_000),
    ("deepseek-flash", 1_000_000),
    ("deepseek", 65_536),
    ("kimi-k3", 1_048_576),
    ("kimi-k2.6", 262_144),
    ("kimi-k2", 131_072),
    ("glm-5.3", 1_000_000),
    ("glm-5", 200_000),
    ("glm-4", 131_072),
    ("minimax-m3", 1_000_000),
    ("sonar-pro", 200_000),
    ("sonar", 128_000),
    ("nova-2-lite", 1_000_000),
    ("nova-pro", 300_000),
    ("phi-4", 16_384),
    ("phi4", 16_384),
    ("command-a", 256_000),
    ("command-r", 131_072),
];

/// The window of a well-known model in tokens, prompt and answer together.
pub fn context_window(model: &ModelName) -> Option<u32> {
    let name = model.model.rsplit('/').next()?.to_ascii_lowercase();
    WINDOWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, tokens)| *tokens)
}

/// About how many tokens `text` is: one per 3.6 ASCII characters, one per Chinese, Japanese or Korean character, one
/// per two others. Within 15 % for English prose and Markdown; low for long numbers and base64.
pub fn estimate_tokens(text: &str) -> u32 {
    // In eighteenths of a token, so that all is integers: 3.6 characters are 18 eighteenths.
    let eighteenths: u64 = if text.is_ascii() { text.len() as u64 * 5 } else { text.chars().map(weight).sum() };
    u32::try_from(eighteenths.div_ceil(18)).unwrap_or(u32::MAX)
}

fn weight(character: char) -> u64 {
    match character {
        '\0'..='\x7f' => 5,
        // Han with its extensions, kana, Hangul, full-width forms.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' => 18,
        '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}' => 18,
        _ => 9,
    }
}

/// About how many tokens the prompt of `request` is: messages, tools and schema, without the answer.
pub fn estimate_request(request: &Request) -> u32 {
    let messages = request.messages.iter().map(estimate_message);
    let tools = request.tools.iter().map(|tool| {
        PER_TOOL
            + estimate_tokens(&tool.name)
            + estimate_tokens(&tool.description)
            + estimate_tokens(&tool.parameters.to_string())
    });
    let output = match &request.output {
        OutputFormat::Text => 0,
        OutputFormat::JsonSchema { schema, .. } => estimate_tokens(&schema.to_string()),
    };
    messages.chain(tools).fold(output, u32::saturating_add)
}

fn estimate_message(message: &Message) -> u32 {
    let inside = match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => {
            estimate_text(content)
        }
        // It holds the words and calls too.
        Message::Assistant { carry: Some(carry), .. } => estimate_tokens(&carry.items),
        Message::Assistant { content, tool_calls, .. } => {
            tool_calls.iter().map(estimate_call).fold(estimate_tokens(content), u32::saturating_add)
        }
    };
    inside.saturating_add(PER_MESSAGE)
}

fn estimate_text(text: &Text) -> u32 {
    text.0.iter().map(|part| estimate_tokens(part.as_str())).fold(0, u32::saturating_add)
}

fn estimate_call(call: &ToolCall) -> u32 {
    PER_TOOL + estimate_tokens(&call.name) + estimate_tokens(&call.arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{ToolChoice, ToolSpec};
    use serde_json::json;

    #[test]
    fn well_known_models_have_a_window() {
        fn check(model: &str, expected: impl Into<Option<u32>>) {
            assert_eq!(context_window(&model.parse().unwrap()), expected.into(), "{model}");
        }
        check("openai:gpt-4.1-mini", 1_047_576);
        check("openai:gpt-5", 400_000);
        check("openai:o3", 200_000);
        check("any:openai/gpt-4o-mini", 128_000);
        check("any:openai/gpt-5.4-mini", 400_000);
        check("any:openai/gpt-6-sol", 1_050_000);
        check("any:anthropic/claude-sonnet-4", 200_000);
        check("any:claude-opus-4-6", 1_000_000);
        check("any:claude-opus-7", 1_000_000);
        check("any:google/gemini-2.5-flash:free", 1_048_576);
        check("any:meta-llama/Llama-3.3-70B", 131_072);
        check("any:grok-4.7", 500_000);
        check("any:deepseek-v4-pro", 1_000_000);
        check("ollama:qwen3:8b", 40_960);
        check("openai:local", None);
    }

    #[test]
    fn tokens_are_estimated_by_script() {
        fn check(text: &str, expected: u32) {
            assert_eq!(estimate_tokens(text), expected, "{text}");
        }
        check("", 0);
        check("a", 1);
        check(&"word ".repeat(72), 100);
        check("深度研究", 4);
        check("한국어", 3);
        check("Привет", 3);
    }

    #[test]
    fn a_request_is_the_sum_of_its_parts() {
        let tool = ToolSpec { name: "think".into(), description: "d".into(), parameters: json!({}) };
        let call = ToolCall { id: "1".into(), name: "think".into(), arguments: "{}".into(), problem: None };
        let request = Request {
            model: "openai:m".parse().unwrap(),
            messages: vec![
                Message::user("abcdefg"),
                Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None },
            ],
            tools: vec![tool],
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::JsonSchema { name: "n".into(), schema: json!({"type": "object"}) },
            max_tokens: 1,
        };
        assert_eq!(estimate_request(&request), (2 + 4) + (8 + 2 + 1 + 4) + (8 + 2 + 1 + 1) + 5);
    }
}
