//! How many tokens a request is: estimates, since no tokenizer fits all models.
//!
//! An estimate decides what to shorten *before* a call; a provider's "too long" stays a normal answer after it.

use super::{Message, OutputFormat, Request, Text, ToolCall};

/// Tokens assumed for a model nobody knows.
pub const UNKNOWN_WINDOW: u32 = 32_768;

/// Tokens that a message costs besides its text (role, separators).
const PER_MESSAGE: u32 = 4;
/// Tokens that a tool or a call costs besides its text and JSON.
const PER_TOOL: u32 = 8;

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
