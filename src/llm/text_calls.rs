//! Tool calls that a model wrote into its text because its chat template, or its server, has no better place for them
//! (Qwen2.5-Coder fences them, Hermes models tag them, Llama 3 writes them bare).

use serde::Deserialize;
use serde_json::Value;

/// A call found in a text.
#[derive(Debug, PartialEq)]
pub(super) struct TextCall {
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

/// Marks before a call, and after it.
const MARKS: [(&str, &str); 5] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("```json", "```"),
    ("```tool_call", "```"),
    ("```", "```"),
];

#[derive(Deserialize)]
struct Written {
    name: String,
    #[serde(alias = "parameters")]
    arguments: Value,
}

/// Takes the calls of tools that `is_offered` out of `text`, in their order. Anything else that looks like a call, such
/// as an example in an answer, stays text.
pub(super) fn take(text: &mut String, is_offered: impl Fn(&str) -> bool) -> Vec<TextCall> {
    if !text.contains('{') {
        return Vec::new();
    }
    if let Some((calls, _)) = read(text, &is_offered).filter(|(_, rest)| rest.trim().is_empty()) {
        text.clear();
        return calls;
    }
    let mut calls = Vec::new();
    let mut from = 0;
    while let Some(block) = next_block(text, from) {
        let inside = &text[block.inside..];
        match read(inside, &is_offered) {
            Some((found, rest)) => {
                let mut end = text.len() - rest.trim_start().len();
                if text[end..].starts_with(block.closing) {
                    end += block.closing.len();
                }
                calls.extend(found);
                text.replace_range(block.start..end, "");
                from = block.start;
            }
            None => from = block.inside,
        }
    }
    if !calls.is_empty() {
        *text = text.trim().to_owned();
    }
    calls
}

struct Block {
    start: usize,
    inside: usize,
    closing: &'static str,
}

fn next_block(text: &str, from: usize) -> Option<Block> {
    let found = MARKS.iter().filter_map(|(opening, closing)| {
        let start = from + text[from..].find(opening)?;
        Some(Block { start, inside: start + opening.len(), closing })
    });
    // Of marks at the same place the longest: a plain fence is the beginning of a ```json one.
    found.min_by_key(|block| (block.start, usize::MAX - block.inside))
}

/// The calls at the beginning of `text`, written as one object, several, or a list, and what follows them.
fn read(text: &str, is_offered: impl Fn(&str) -> bool) -> Option<(Vec<TextCall>, &str)> {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        let start = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        let mut values = serde_json::Deserializer::from_str(start).into_iter::<Value>();
        let found = match values.next() {
            Some(Ok(Value::Array(list))) => list,
            Some(Ok(value @ Value::Object(_))) => vec![value],
            _ => break,
        };
        let end = values.byte_offset();
        for value in found {
            calls.push(call(value, &is_offered)?);
        }
        rest = &start[end..];
    }
    if calls.is_empty() { None } else { Some((calls, rest)) }
}

fn call(value: Value, is_offered: impl Fn(&str) -> bool) -> Option<TextCall> {
    let Written { name, arguments } = serde_json::from_value(value).ok()?;
    let name = name.trim().to_owned();
    let arguments = match arguments {
        Value::String(text) => text,
        other => other.to_string(),
    };
    is_offered(&name).then_some(TextCall { name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, calls: &[(&str, &str)], left: &str) {
        let mut text = text.to_owned();
        let found = take(&mut text, |name| ["search_web", "think_tool"].contains(&name));
        let found: Vec<_> = found.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!((found.as_slice(), text.as_str()), (calls, left));
    }

    const SEARCH: (&str, &str) = ("search_web", r#"{"queries":["a"]}"#);

    #[test]
    fn local_trap_5_a_fenced_call_is_read() {
        let fenced = "```json\n{\"name\": \"search_web\", \"arguments\": {\"queries\": [\"a\"]}}\n```";
        check(fenced, &[SEARCH], "");
        check(&format!("I will search.\n{fenced}\n"), &[SEARCH], "I will search.");
        check(fenced.trim_end_matches('`'), &[SEARCH], "");
        check(&format!("{fenced}\n{fenced}"), &[SEARCH, SEARCH], "\n".trim());
        check(&fenced.replace("json", ""), &[SEARCH], "");
    }

    #[test]
    fn tagged_and_bare_calls_are_read() {
        check(r#"<tool_call>{"name":"search_web","arguments":{"queries":["a"]}}</tool_call>"#, &[SEARCH], "");
        check(r#"{"name":"search_web","parameters":{"queries":["a"]}}"#, &[SEARCH], "");
        check(r#"[{"name":"search_web","arguments":"{\"queries\":[\"a\"]}"}]"#, &[SEARCH], "");
        let two = r#"{"name":"search_web","arguments":{"queries":["a"]}}; {"name":"think_tool","arguments":{}}"#;
        check(two, &[SEARCH, ("think_tool", "{}")], "");
    }

    #[test]
    fn what_is_not_a_call_of_an_offered_tool_stays_text() {
        for text in [
            r#"{"name":"rm","arguments":{}}"#,
            "```json\n{\"answer\": 42}\n```",
            "```json\n{\"name\": \"search_web\", \"arguments\": {\"queries\": [\"cut",
            "Use {\"name\":\"search_web\",\"arguments\":{}} for it.",
            "no braces",
            "```",
        ] {
            check(text, &[], text);
        }
    }
}
