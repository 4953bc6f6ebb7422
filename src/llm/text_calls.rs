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

/// The longest answer that may hold calls; longer ones are texts.
const MAX_TEXT: usize = 1024 * 1024;
/// Calls read from one text; one more than anybody may make, so that there being too many is noticed.
const MAX_CALLS: usize = 129;

/// Takes the calls of tools that `is_offered` out of `text`, in their order. Anything else that looks like a call, such
/// as an example in an answer, stays text.
pub(super) fn take(text: &mut String, is_offered: impl Fn(&str) -> bool) -> Vec<TextCall> {
    if text.len() > MAX_TEXT || !text.contains('{') {
        return Vec::new();
    }
    if let Some((calls, _)) = read(text, &is_offered).filter(|(_, rest)| rest.trim().is_empty()) {
        text.clear();
        return calls;
    }
    let (mut calls, mut left) = (Vec::new(), String::new());
    // What comes before `kept` is in `left`, or was a call.
    let (mut kept, mut from) = (0, 0);
    while let Some(block) = next_block(text, from).filter(|_| calls.len() < MAX_CALLS) {
        from = block.inside;
        if let Some((found, rest)) = read(&text[block.inside..], &is_offered) {
            let mut end = text.len() - rest.trim_start().len();
            if text[end..].starts_with(block.closing) {
                end += block.closing.len();
            }
            calls.extend(found);
            left.push_str(&text[kept..block.start]);
            (kept, from) = (end, end);
        }
    }
    if !calls.is_empty() {
        left.push_str(&text[kept..]);
        *text = left.trim().to_owned();
    }
    calls
}

struct Block {
    start: usize,
    inside: usize,
    closing: &'static str,
}

/// Returns the next mark behind `from`: only the places where one can begin are looked at, each once.
fn next_block(text: &str, from: usize) -> Option<Block> {
    let mut places = text[from..].match_indices(['<', '`']).map(|(at, _)| from + at);
    places.find_map(|start| {
        let here = &text[start..];
        // Of marks at the same place the longest: a plain fence is the beginning of a ```json one.
        let mark =
            MARKS.iter().filter(|(opening, _)| here.starts_with(opening)).max_by_key(|(opening, _)| opening.len());
        mark.map(|(opening, closing)| Block { start, inside: start + opening.len(), closing })
    })
}

/// Returns the calls at the beginning of `text`, written as one object, several, or a list, and what follows them.
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
        if calls.len() >= MAX_CALLS {
            calls.truncate(MAX_CALLS);
            return Some((calls, ""));
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
    use crate::domain::growth;

    fn check(text: &str, calls: &[(&str, &str)], left: &str) {
        let mut text = text.to_owned();
        let found = take(&mut text, |name| ["search_web", "think_tool"].contains(&name));
        let found: Vec<_> = found.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!((found.as_slice(), text.as_str()), (calls, left));
    }

    const SEARCH: (&str, &str) = ("search_web", r#"{"queries":["a"]}"#);

    #[test]
    fn a_fenced_call_is_read() {
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
    fn time_grows_as_the_text_does() {
        let call = r#"<tool_call>{"name":"rm","arguments":{}}</tool_call>"#;
        let offered = r#"<tool_call>{"name":"search_web","arguments":{}}</tool_call>\n"#;
        let many = offered.repeat(20);
        for shape in [
            "<",
            "`",
            "```",
            "```json",
            "<tool_call>",
            "<tool_call>{",
            "```{\"a\":",
            "```[",
            "```[1,",
            "{",
            "[",
            "{}",
            "```[\"",
            "``` ",
            "<tool_call>[[[[",
            call,
            offered,
            &many,
            "{\"name\":\"rm\",\"arguments\":{}};",
        ] {
            let eat = |text: &str| {
                let mut text = format!("{{{text}");
                take(&mut text, |name| name == "search_web");
            };
            growth::check(shape, 24 * 1024, eat);
        }
    }

    #[test]
    fn calls_without_end_are_not_all_read() {
        let mut text = format!("x {}", r#"<tool_call>{"name":"search_web","arguments":{}}</tool_call>"#.repeat(5_000));
        assert_eq!(take(&mut text, |_| true).len(), MAX_CALLS);
        let mut text = format!("[{}]", vec![r#"{"name":"search_web","arguments":{}}"#; 5_000].join(","));
        assert_eq!(take(&mut text, |_| true).len(), MAX_CALLS);
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
