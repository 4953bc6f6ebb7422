//! Makes a request fit a context window, before it is sent.
//!
//! Only flexible text is shortened (tool results, findings, pages), the largest first and the newest last; instructions
//! and questions stay whole. Sizes are estimates; the provider's own complaint leads to another, smaller try.

use std::borrow::Cow;

use crate::llm::{
    Message, Part, Request,
    limits::{Tokenizer, estimate_request},
};

/// Flexible parts of so many last messages are left alone as long as shortening others is enough.
const NEWEST: usize = 2;
/// Shortening others stops here before the newest are touched, tokens.
const LEAST_TOKENS: u32 = 64;

/// A request and what was done to it.
#[derive(Debug)]
pub struct Fitted<'a> {
    /// The given one, unless something had to change.
    pub request: Cow<'a, Request>,
    /// Estimated size of the prompt, tokens.
    pub tokens: u32,
    /// What was left out, in words; `None` when nothing was.
    pub shortened: Option<String>,
}

/// Shortens `request` so that prompt and answer fit into `window` tokens, as far as its flexible text allows; no answer
/// has more than `max_output` tokens.
pub fn fit(request: &Request, window: u32, max_output: Option<u32>) -> Fitted<'_> {
    let mut request = Cow::Borrowed(request);
    if let Some(max_output) = max_output.filter(|most| request.max_tokens > *most) {
        request.to_mut().max_tokens = max_output;
    }
    let reserve = request.max_tokens.min(window / 4);
    let budget = (window - reserve) / 10 * 9;
    let before = estimate_request(&request);
    let mut tokens = before;
    let mut shortened = None;
    if before > budget {
        shrink(request.to_mut(), before - budget);
        tokens = estimate_request(&request);
        if tokens < before {
            shortened = Some(format!("the request was shortened from about {before} to {tokens} tokens"));
        }
    }
    let room = window.saturating_sub(tokens + tokens / 10).max(reserve);
    if request.max_tokens > room {
        request.to_mut().max_tokens = room;
    }
    Fitted { request, tokens, shortened }
}

/// The window to try next after the provider refused a prompt of about `tokens` tokens.
pub fn smaller(window: u32, limit: Option<u32>, tokens: u32) -> u32 {
    match limit {
        Some(limit) if limit < window => limit,
        _ => window.min(tokens) / 4 * 3,
    }
}

fn shrink(request: &mut Request, excess: u32) {
    let newest_from = request.messages.len().saturating_sub(NEWEST);
    let older = sizes(request, |index| index < newest_from);
    let cap = cap_for(&older, excess).filter(|cap| *cap >= LEAST_TOKENS);
    match cap {
        Some(cap) => shorten_to(request, cap, |index| index < newest_from),
        None => {
            let all = sizes(request, |_| true);
            shorten_to(request, cap_for(&all, excess).unwrap_or(LEAST_TOKENS), |_| true);
        }
    }
}

fn sizes(request: &Request, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    let tokenizer = Tokenizer::of(&request.model);
    let messages = request.messages.iter().enumerate().filter(|(index, _)| wanted(*index));
    let parts = messages.filter_map(|(_, message)| content(message)).flatten();
    parts.filter(|part| matches!(part, Part::Flexible(_))).map(|part| tokenizer.count(part.as_str())).collect()
}

/// The largest size so that cutting every larger part down to it saves `excess`; `None` when nothing saves enough.
fn cap_for(sizes: &[u32], excess: u32) -> Option<u32> {
    let saved = |cap: u32| sizes.iter().map(|size| u64::from(size.saturating_sub(cap))).sum::<u64>();
    let (mut low, mut high) = (0, sizes.iter().copied().max()?);
    if saved(0) < u64::from(excess) {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if saved(middle) >= u64::from(excess) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

fn shorten_to(request: &mut Request, cap: u32, wanted: impl Fn(usize) -> bool) {
    let tokenizer = Tokenizer::of(&request.model);
    for (index, message) in request.messages.iter_mut().enumerate() {
        let Some(parts) = content_mut(message).filter(|_| wanted(index)) else { continue };
        for part in parts {
            if let Part::Flexible(text) = part {
                let size = tokenizer.count(text);
                if size > cap {
                    *text = shorten(text, f64::from(cap) / f64::from(size)).into();
                }
            }
        }
    }
}

fn content(message: &Message) -> Option<&Vec<Part>> {
    match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => Some(&content.0),
        Message::Assistant { .. } => None,
    }
}

fn content_mut(message: &mut Message) -> Option<&mut Vec<Part>> {
    match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => Some(&mut content.0),
        Message::Assistant { .. } => None,
    }
}

/// Keeps `share` of the characters, most of them from the start, and says how many are missing.
fn shorten(text: &str, share: f64) -> String {
    let total = text.chars().count();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a length"
    )]
    let kept = (total as f64 * share * 0.95) as usize;
    let (head, tail) = (kept - kept / 4, kept / 4);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    format!("{start}\n[… {} characters left out …]\n{end}", total - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::ModelName,
        llm::{OutputFormat, Sending, Text, ToolCall, ToolChoice},
    };

    fn request(sizes: &[usize]) -> Request {
        let mut messages = vec![Message::system("instruction"), Message::user("topic")];
        for (index, size) in sizes.iter().enumerate() {
            let id = format!("c{index}");
            let call = ToolCall { id: id.clone(), name: "search_web".into(), arguments: "{}".into(), problem: None };
            messages.push(Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None });
            let content = Text(vec![Part::Flexible("word ".repeat(*size).into())]);
            messages.push(Message::Tool { call_id: id, name: "search_web".into(), content });
        }
        messages.push(Message::user("final instruction"));
        Request {
            model: ModelName::offline(),
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens: 1_000,
            sending: Sending::default(),
        }
    }

    fn lengths(request: &Request) -> Vec<usize> {
        request.messages.iter().filter_map(content).map(|parts| parts.iter().map(|p| p.as_str().len()).sum()).collect()
    }

    #[test]
    fn what_fits_is_left_alone() {
        let request = request(&[100, 100]);
        let fitted = fit(&request, 32_000, None);
        assert!(matches!(fitted.request, Cow::Borrowed(_)), "{:?}", fitted.request);
        assert_eq!(fitted.shortened, None);
    }

    #[test]
    fn no_answer_is_longer_than_the_model_can_write() {
        let request = request(&[100]);
        assert_eq!(fit(&request, 32_000, Some(400)).request.max_tokens, 400);
        assert_eq!(fit(&request, 32_000, Some(4_000)).request.max_tokens, 1_000);
    }

    #[test]
    fn the_largest_old_results_shrink_first_and_instructions_never() {
        let request = request(&[4_000, 100, 4_000, 100]);
        let before = lengths(&request);
        let fitted = fit(&request, 8_000, None);
        let after = lengths(&fitted.request);
        assert!(fitted.tokens <= 8_000 - 1_000);
        assert!(after[2] < before[2] && after[4] < before[4]);
        for untouched in [0, 1, 3, 5, 6] {
            assert_eq!(after[untouched], before[untouched]);
        }
    }

    #[test]
    fn the_newest_result_shrinks_when_nothing_else_is_left() {
        let request = request(&[20_000]);
        let fitted = fit(&request, 4_096, None);
        assert!(fitted.tokens <= 3_072, "{} tokens", fitted.tokens);
        assert_eq!(fitted.request.messages.last(), Some(&Message::user("final instruction")));
    }

    #[test]
    fn a_fair_cut_takes_from_every_large_topic_alike() {
        let request = request(&[5_000, 6_000, 7_000, 10]);
        let fitted = fit(&request, 8_000, None);
        let after = lengths(&fitted.request);
        assert!(after[2].abs_diff(after[3]) < 100 && after[3].abs_diff(after[4]) < 100);
    }
}
