//! Makes a request fit a context window, before it is sent.
//!
//! Only flexible text is shortened (tool results, findings, pages), the largest first and the newest last; instructions
//! and questions stay whole. Sizes are estimates; near the window they are counts, where the model's tokenizer is
//! published. The provider's own complaint leads to another, smaller try.

use std::borrow::Cow;

use crate::{
    aside::aside,
    llm::{
        Message, Part, Request,
        limits::{Measure, Tokenizer},
    },
};

/// Flexible parts of so many last messages are left alone as long as shortening others is enough.
const NEWEST: usize = 2;
/// Shortening other messages stops here before the newest are touched, tokens of each.
const LEAST_TOKENS: u32 = 64;
/// A part of which less would be left gives way to those before it in its message, tokens: words that say that
/// something is missing are half of that.
const LEAST_OF_PART: u32 = 24;
/// Stands where parts of a tool's answer were left out whole.
const REST: &str = "[… the rest was left out …]\n";

/// What a model's requests and answers have to fit into.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Tokens of prompt and answer together.
    pub window: u32,
    /// Tokens of an answer.
    pub max_output: Option<u32>,
    pub tokenizer: Tokenizer,
}

/// A request and what was done to it.
#[derive(Debug)]
pub struct Fitted<'a> {
    /// The given one, unless something had to change.
    pub request: Cow<'a, Request>,
    /// Size of the prompt, tokens.
    pub tokens: u32,
    /// What was left out, in words; `None` when nothing was.
    pub shortened: Option<String>,
    /// The request is so near its window, or over it, that counting its tokens may lead to something else.
    worth_counting: bool,
}

impl Fitted<'_> {
    fn into_owned(self) -> Fitted<'static> {
        Fitted { request: Cow::Owned(self.request.into_owned()), ..self }
    }
}

/// Shortens `request` so that prompt and answer fit into `room`, as far as its flexible text allows: by estimates, and
/// where they are not enough by counts, aside.
pub async fn fit(request: &Request, room: Room) -> Fitted<'_> {
    let fitted = by_estimate(request, room);
    if !fitted.worth_counting {
        return fitted;
    }
    let request = request.clone();
    aside(move || by_count(&request, room).into_owned()).await.unwrap_or(fitted)
}

fn by_estimate(request: &Request, room: Room) -> Fitted<'_> {
    let mut measure = Measure::estimating(room.tokenizer);
    let tokens = measure.request(request);
    // What is unlike prose may have twice as many as are estimated.
    let is_near = tokens > (room.window - room.reserve(request)) / 2;
    let worth_counting = is_near && room.tokenizer.is_published();
    Fitted { worth_counting, ..fitted(request, room, (measure, tokens), ESTIMATED) }
}

/// Fits the request into the room by counts of tokens. Heavy work.
fn by_count(request: &Request, room: Room) -> Fitted<'_> {
    let mut measure = Measure::counting(room.tokenizer);
    let tokens = measure.request(request);
    fitted(request, room, (measure, tokens), COUNTED)
}

/// The part of a size in tokens that is kept free: one in so many.
type Margin = u32;
/// The margin for what estimates are wrong by.
const ESTIMATED: Margin = 10;
/// The margin for what is estimated of a request that was counted.
const COUNTED: Margin = 32;

fn fitted(request: &Request, room: Room, (mut measure, before): (Measure, u32), margin: Margin) -> Fitted<'_> {
    let reserve = room.reserve(request);
    let mut request = Cow::Borrowed(request);
    if let Some(max_output) = room.max_output.filter(|most| request.max_tokens > *most) {
        request.to_mut().max_tokens = max_output;
    }
    let budget = (room.window - reserve) / margin * (margin - 1);
    let mut tokens = before;
    let mut shortened = None;
    if before > budget {
        shrink(request.to_mut(), before - budget, &mut measure);
        tokens = measure.request(&request);
        if tokens < before {
            shortened = Some(format!("the request was shortened from about {before} to {tokens} tokens"));
        }
    }
    let left = room.window.saturating_sub(tokens + tokens / margin).max(reserve);
    if request.max_tokens > left {
        request.to_mut().max_tokens = left;
    }
    Fitted { request, tokens, shortened, worth_counting: false }
}

impl Room {
    /// Returns what is kept free for the answer.
    fn reserve(self, request: &Request) -> u32 {
        request.max_tokens.min(self.max_output.unwrap_or(u32::MAX)).min(self.window / 4)
    }
}

/// Returns the window to try next after the provider refused a prompt of about `tokens` tokens.
pub fn smaller(window: u32, limit: Option<u32>, tokens: u32) -> u32 {
    match limit {
        Some(limit) if limit < window => limit,
        _ => window.min(tokens) / 4 * 3,
    }
}

fn shrink(request: &mut Request, excess: u32, measure: &mut Measure) {
    let newest_from = request.messages.len().saturating_sub(NEWEST);
    let older = sizes(request, measure, |index| index < newest_from);
    let cap = cap_for(&older, excess).filter(|cap| *cap >= LEAST_TOKENS);
    match cap {
        Some(cap) => shorten_to(request, Some(cap), measure, |index| index < newest_from),
        None => {
            let all = sizes(request, measure, |_| true);
            shorten_to(request, cap_for(&all, excess), measure, |_| true);
        }
    }
}

/// Returns how much flexible text each wanted message has.
fn sizes(request: &Request, measure: &mut Measure, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    let messages = request.messages.iter().enumerate().filter(|(index, _)| wanted(*index));
    let contents = messages.filter_map(|(_, message)| content(message));
    contents.map(|parts| total(&sizes_of_parts(parts, measure))).collect()
}

/// Returns the sizes of the flexible parts.
fn sizes_of_parts(parts: &[Part], measure: &mut Measure) -> Vec<u32> {
    let flexible = parts.iter().filter(|part| matches!(part, Part::Flexible(_)));
    flexible.map(|part| measure.text(part.as_str())).collect()
}

fn total(sizes: &[u32]) -> u32 {
    sizes.iter().copied().fold(0, u32::saturating_add)
}

/// Returns the largest size so that cutting every larger part down to it saves `excess`; `None` when nothing saves
/// enough.
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

/// Shortens the messages to `cap` tokens of flexible text each; without one, where nothing saves enough, to the least.
fn shorten_to(request: &mut Request, cap: Option<u32>, measure: &mut Measure, wanted: impl Fn(usize) -> bool) {
    let messages = request.messages.iter_mut().enumerate().filter(|(index, _)| wanted(*index));
    for message in messages.map(|(_, message)| message) {
        let is_tools = matches!(message, Message::Tool { .. });
        let Some(parts) = content_mut(message) else { continue };
        let sizes = sizes_of_parts(parts, measure);
        let most = cap.unwrap_or(LEAST_TOKENS);
        if total(&sizes) <= most {
            continue;
        }
        let (kept, each) = match cap {
            _ if is_tools => shares(&sizes, most),
            Some(cap) => (sizes.len(), share(&sizes, cap)),
            None => (sizes.len(), LEAST_TOKENS),
        };
        shorten_parts(parts, &sizes, (kept, each), measure);
    }
}

/// Shortens the flexible parts of a message to `each` tokens. Only so many are kept, of those that a tool gave: results
/// stand in the order of their use.
fn shorten_parts(parts: &mut [Part], sizes: &[u32], (kept, each): (usize, u32), measure: &mut Measure) {
    let is_flexible = |at: &usize| matches!(parts[*at], Part::Flexible(_));
    let places: Vec<usize> = (0..parts.len()).filter(is_flexible).collect();
    for (at, _) in places.iter().zip(sizes).take(kept).filter(|(_, size)| **size > each) {
        let text = parts[*at].as_str();
        let size = measure.text(text);
        parts[*at] = Part::Flexible(shorten(text, (size, each), measure).into());
    }
    places.iter().skip(kept).for_each(|at| leave_out(parts, *at));
    if let Some(first) = places.get(kept) {
        parts[*first] = Part::Flexible(REST.into());
    }
}

/// Leaves a part out, and the tags around it.
fn leave_out(parts: &mut [Part], at: usize) {
    let is_tag = |at: usize, beginning: &str| match parts.get(at) {
        Some(Part::Fixed(text)) => text.starts_with(beginning),
        _ => false,
    };
    let empty = || Part::Fixed("".into());
    if at > 0 && is_tag(at - 1, "<") && is_tag(at + 1, "</") {
        (parts[at - 1], parts[at + 1]) = (empty(), empty());
    }
    parts[at] = empty();
}

/// Returns how much of each part is kept at most, so that together they have no more than `cap`.
fn share(sizes: &[u32], cap: u32) -> u32 {
    cap_for(sizes, total(sizes).saturating_sub(cap)).unwrap_or_default()
}

/// Returns how many of the first parts are kept, one in any case, and how much of each at most.
fn shares(sizes: &[u32], cap: u32) -> (usize, u32) {
    let each = |kept: usize| share(&sizes[..kept], cap);
    let is_readable = |kept: &usize| each(*kept) >= LEAST_OF_PART || total(&sizes[..*kept]) <= cap;
    let kept = (2..=sizes.len()).rev().find(is_readable).unwrap_or(sizes.len().min(1));
    (kept, each(kept))
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

/// Shortens a text of `size` tokens to `cap`, if the words that say that something is missing are not longer already.
fn shorten(text: &str, (size, cap): (u32, u32), measure: &mut Measure) -> String {
    let total = text.chars().count();
    let mark = measure.text(&cut(text, total, 0));
    let share = f64::from(cap.saturating_sub(mark)) / f64::from(size);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a length"
    )]
    let mut kept = (total as f64 * share * 0.95) as usize;
    loop {
        let shortened = cut(text, total, kept);
        // What is kept may have more tokens than its share: headings, or one script among others.
        if kept == 0 || measure.text(&shortened) <= cap {
            return shortened;
        }
        kept = kept * 9 / 10;
    }
}

/// Keeps so many of `total` characters, most of them from the start, and says how many are missing.
fn cut(text: &str, total: usize, kept: usize) -> String {
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

    fn room(window: u32, tokenizer: Tokenizer) -> Room {
        Room { window, max_output: None, tokenizer }
    }

    fn estimated(request: &Request, window: u32) -> Fitted<'_> {
        by_estimate(request, room(window, Tokenizer::Careful))
    }

    #[test]
    fn what_fits_is_left_alone() {
        let request = request(&[100, 100]);
        let fitted = estimated(&request, 32_000);
        assert!(matches!(fitted.request, Cow::Borrowed(_)), "{:?}", fitted.request);
        assert_eq!(fitted.shortened, None);
    }

    #[test]
    fn no_answer_is_longer_than_the_model_can_write() {
        let request = request(&[100]);
        let longest = |most| {
            let room = Room { max_output: Some(most), ..room(32_000, Tokenizer::Careful) };
            by_estimate(&request, room).request.max_tokens
        };
        assert_eq!((longest(400), longest(4_000)), (400, 1_000));
    }

    #[test]
    fn the_largest_old_results_shrink_first_and_instructions_never() {
        let request = request(&[4_000, 100, 4_000, 100]);
        let before = lengths(&request);
        let fitted = estimated(&request, 8_000);
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
        let fitted = estimated(&request, 4_096);
        assert!(fitted.tokens <= 3_072, "{} tokens", fitted.tokens);
        assert_eq!(fitted.request.messages.last(), Some(&Message::user("final instruction")));
    }

    #[test]
    fn a_fair_cut_takes_from_every_large_topic_alike() {
        let request = request(&[5_000, 6_000, 7_000, 10]);
        let fitted = estimated(&request, 8_000);
        let after = lengths(&fitted.request);
        assert!(after[2].abs_diff(after[3]) < 100 && after[3].abs_diff(after[4]) < 100);
    }

    /// Creates a request with so many searches that found so many sources each, framed as tools frame them.
    fn searches(messages: usize, sources: usize) -> Request {
        let mut request = Request { max_tokens: 10_000, ..request(&vec![0; messages]) };
        let words = "word ".repeat(240);
        let source = |number: usize| {
            let content = format!("[S{number}] Dues of the harbour\nLocation: a.test\n\n{words}\n");
            let tag = format!("\n\n<source id=\"S{number}\">\n");
            [Part::Fixed(tag.into()), Part::Flexible(content.into()), Part::Fixed("</source>".into())]
        };
        let mut numbers = 1_001..;
        for message in &mut request.messages {
            if let Message::Tool { content, .. } = message {
                *content = Text(numbers.by_ref().take(sources).flat_map(source).collect());
            }
        }
        request
    }

    /// Sources are ten times as many as searches, and the words that say that something is missing stand in each.
    #[test]
    fn many_old_sources_give_way_to_the_newest() {
        for (messages, sources, window) in [(10, 10, 16_000), (10, 15, 16_000), (6, 10, 8_000), (20, 16, 32_000)] {
            let request = searches(messages, sources);
            let fitted = estimated(&request, window);
            assert!(fitted.tokens <= window - window / 4, "{messages} x {sources}: {} tokens", fitted.tokens);
            let newest = request.messages.len() - 2;
            assert_eq!(fitted.request.messages[newest], request.messages[newest], "{messages} x {sources}");
            for message in &fitted.request.messages {
                let Message::Tool { content, .. } = message else { continue };
                let text = content.joined();
                let opened = text.matches("<source id=").count();
                assert_eq!(text.matches("</source>").count(), opened);
                assert!(opened == sources || opened > 0 && text.matches(REST).count() == 1, "{text}");
                assert!(text.contains("] Dues of"), "{text}");
            }
        }
    }

    #[test]
    fn parts_of_which_too_little_would_be_left_give_way_to_those_before_them() {
        assert_eq!(shares(&[100, 100, 100], 90), (3, 30));
        assert_eq!(shares(&[100, 100, 100, 100], 90), (3, 30));
        assert_eq!(shares(&[10, 10, 10, 400], 60), (4, 30));
        assert_eq!(shares(&[10, 10, 400], 40), (2, 10), "nothing is cut that has room");
        assert_eq!((shares(&[100], 10), shares(&[], 10)), ((1, 10), (0, 0)));
    }

    /// Creates a request with `text` as flexible text of the researcher's oldest search; the rest of the request is
    /// small.
    fn asking(text: &str) -> Request {
        let mut request = request(&[0, 0]);
        let Message::Tool { content, .. } = &mut request.messages[3] else { panic!("the first result") };
        *content = Text(vec![Part::Flexible(text.into())]);
        request
    }

    /// What is far below a window is never counted, whatever its model; what is not is, if it can be.
    #[test]
    fn only_what_is_near_the_window_is_counted() {
        let is_counted =
            |words: usize, tokenizer| by_estimate(&request(&[words]), room(32_000, tokenizer)).worth_counting;
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Qwen2, Tokenizer::Tekken] {
            let near: Vec<bool> = (0..30).map(|thousands| is_counted(thousands * 1_000, tokenizer)).collect();
            assert_eq!(near.iter().position(|near| *near), Some(12), "{tokenizer:?}: {near:?}");
            assert!(near[12..].iter().all(|near| *near), "{tokenizer:?}: {near:?}");
        }
        for tokenizer in [Tokenizer::Frugal, Tokenizer::Careful] {
            assert!(!is_counted(12_000, tokenizer) && !is_counted(100_000, tokenizer), "{tokenizer:?}");
        }
    }

    /// English prose is estimated as two fifths more than it is.
    #[test]
    fn what_estimates_call_too_long_passes_whole_when_its_count_fits() {
        let request = asking(&"the harbour of the council pays for the tide gate out of its dues ".repeat(1_500));
        let counted = by_count(&request, room(23_500, Tokenizer::O200k));
        assert!(matches!(counted.request, Cow::Borrowed(_)) && counted.shortened.is_none(), "{counted:?}");
        assert!((21_000..22_000).contains(&counted.tokens), "{} tokens", counted.tokens);
        let estimated = by_estimate(&request, room(26_000, Tokenizer::Frugal));
        assert!(estimated.shortened.is_some(), "{} tokens", estimated.tokens);
    }

    /// Emoji have four times the tokens that are estimated, letters at random almost twice as many.
    #[test]
    fn what_estimates_call_short_is_shortened_when_its_count_does_not_fit() {
        let request = asking(&"gate 👩‍👩‍👧 ".repeat(2_000));
        let estimated = by_estimate(&request, room(16_000, Tokenizer::Frugal));
        assert_eq!(estimated.shortened, None, "{} tokens", estimated.tokens);
        let room = room(16_000, Tokenizer::O200k);
        let fitted = by_count(&request, room);
        assert!(fitted.shortened.is_some());
        let counted = Measure::counting(Tokenizer::O200k).request(&fitted.request);
        assert!((8_000..15_000 - 15_000 / COUNTED).contains(&counted), "{counted} tokens");
        assert_eq!(counted, fitted.tokens);
    }
}
