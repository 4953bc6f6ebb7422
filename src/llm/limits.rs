//! How many tokens a request is: estimated, and counted (`counting.rs`) where that decides something and the model's
//! tokenizer is published.
//!
//! Either decides what to shorten *before* a call; a provider's "too long" stays a normal answer after it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Message, OutputFormat, Request, ToolCall};

/// Tokens assumed for a model nobody knows.
pub const UNKNOWN_WINDOW: u32 = 32_768;

/// Tokens that a message costs besides its text (role, separators).
const PER_MESSAGE: u32 = 4;
/// Tokens that a tool or a call costs besides its text and JSON.
const PER_TOOL: u32 = 8;

/// How the models of a family cut text into tokens; `catalogue.toml` says which family does it how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tokenizer {
    /// OpenAI's, published: less than one token per Chinese character.
    #[serde(rename = "o200k_base")]
    O200k,
    /// OpenAI's older one, published: more than one.
    #[serde(rename = "cl100k_base")]
    Cl100k,
    /// Qwen's, published.
    Qwen2,
    /// Mistral's, published.
    Tekken,
    /// One that is estimated after o200k.
    Frugal,
    /// One that is estimated after cl100k and Anthropic's. Assumed of models that nobody knows.
    #[default]
    Careful,
}

impl Tokenizer {
    /// Returns about how many tokens `text` is: from a tenth too few (tables of numbers) to two fifths too many
    /// (English prose). Low for base64 and emoji.
    pub fn estimate(self, text: &str) -> u32 {
        // In eighteenths of a token, so that all is integers: 3.6 letters are 18 eighteenths.
        let eighteenths: u64 = match text.is_ascii() {
            true => text.bytes().map(ascii_weight).sum(),
            false => text.chars().map(|character| self.weight(character)).sum(),
        };
        u32::try_from(eighteenths.div_ceil(18)).unwrap_or(u32::MAX)
    }

    fn weight(self, character: char) -> u64 {
        let (frugal, careful) = match character {
            '\0'..='\x7f' => return ascii_weight(character as u8),
            // Hangul.
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7ff}' => (14, 25),
            // Han with its extensions, kana, full-width forms.
            '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => (18, 24),
            '\u{20000}'..='\u{3ffff}' => (18, 24),
            // Greek and Cyrillic.
            '\u{370}'..='\u{52f}' => (7, 9),
            // Hebrew, Arabic, the scripts of India, Thai and their like.
            '\u{530}'..='\u{10ff}' | '\u{1200}'..='\u{1fff}' => (8, 18),
            _ => (9, 9),
        };
        match self {
            Self::O200k | Self::Qwen2 | Self::Frugal => frugal,
            Self::Cl100k | Self::Tekken | Self::Careful => careful,
        }
    }
}

fn ascii_weight(byte: u8) -> u64 {
    // Digits come in threes at most, and punctuation often alone.
    if byte.is_ascii_digit() || byte.is_ascii_punctuation() { 9 } else { 5 }
}

/// Measures requests: by estimates, or by the model's own tokenizer, each text once.
#[derive(Debug)]
pub struct Measure {
    tokenizer: Tokenizer,
    /// The counts of texts; `None` when they are estimated.
    counted: Option<HashMap<Box<str>, u32>>,
}

impl Measure {
    pub fn estimating(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, counted: None }
    }

    /// Creates a measure that counts. It estimates, too, where the tokenizer is not published.
    pub fn counting(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, counted: tokenizer.is_published().then(HashMap::new) }
    }

    /// Returns how many tokens `text` is.
    pub fn text(&mut self, text: &str) -> u32 {
        let Some(counted) = &mut self.counted else { return self.tokenizer.estimate(text) };
        if let Some(tokens) = counted.get(text) {
            return *tokens;
        }
        let tokens = self.tokenizer.count(text);
        counted.insert(text.into(), tokens);
        tokens
    }

    /// Returns how many tokens the prompt of `request` is: messages, tools and schema, without the answer. What
    /// surrounds a message, how a provider spells tools and schema to its model, and what a carried turn holds is
    /// always estimated.
    pub fn request(&mut self, request: &Request) -> u32 {
        let estimate = |text: &str| self.tokenizer.estimate(text);
        let tools = request.tools.iter().map(|tool| {
            PER_TOOL + estimate(&tool.name) + estimate(&tool.description) + estimate(&tool.parameters.to_string())
        });
        let output = match &request.output {
            OutputFormat::Text => 0,
            OutputFormat::JsonSchema { schema, .. } => estimate(&schema.to_string()),
        };
        let surroundings = tools.fold(output, u32::saturating_add);
        let messages = request.messages.iter().map(|message| self.message(message));
        messages.fold(surroundings, u32::saturating_add)
    }

    fn message(&mut self, message: &Message) -> u32 {
        let inside = match message {
            Message::System { content } | Message::User { content } | Message::Tool { content, .. } => {
                content.0.iter().map(|part| self.text(part.as_str())).fold(0, u32::saturating_add)
            }
            // It holds the words and calls too.
            Message::Assistant { carry: Some(carry), .. } => self.tokenizer.estimate(&carry.items),
            Message::Assistant { content, tool_calls, .. } => {
                let words = self.text(content);
                tool_calls.iter().map(|call| self.call(call)).fold(words, u32::saturating_add)
            }
        };
        inside.saturating_add(PER_MESSAGE)
    }

    fn call(&mut self, call: &ToolCall) -> u32 {
        PER_TOOL + self.text(&call.name) + self.text(&call.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Sending, ToolChoice, ToolSpec};
    use serde_json::json;

    /// The numbers are those of the tokenizers themselves: o200k, cl100k and Anthropic's published one.
    #[test]
    fn estimates_are_near_what_tokenizers_count() {
        let english = "The harbour of Skelderwick pays for its tide gate out of dues that every ship owes when it enters, and out of a loan that the council took up in the spring of last year. According to the annual report, maintenance was deferred twice because the main bearing had to be replaced earlier than planned.";
        let chinese = "深度研究报告指出，港口的潮汐闸门由船舶进港时缴纳的费用以及市议会去年春天借入的贷款共同支付。根据年度报告，由于主轴承的更换早于计划，维护工作被推迟了两次。请用中文总结主要结论，并列出引用来源。";
        let japanese = "港の水門の費用は、入港する船が支払う料金と、昨年の春に議会が借り入れたローンで賄われています。主軸受の交換が予定より早まったため、保守は二度延期されました。";
        let korean = "항구의 조수 갑문은 입항하는 선박이 내는 요금과 지난 봄 의회가 빌린 대출금으로 운영된다. 연례 보고서에 따르면 유지보수가 두 번 연기되었다.";
        let russian = "Порт оплачивает содержание приливных ворот из сборов, которые платит каждое входящее судно, и из кредита, взятого советом прошлой весной.";
        let german = "Der Hafen bezahlt sein Sperrwerk aus Gebühren, die jedes einlaufende Schiff schuldet, und aus einem Kredit, den der Rat im vergangenen Frühjahr aufgenommen hat.";
        let arabic = "يدفع الميناء تكاليف بوابة المد والجزر من الرسوم التي تدفعها كل سفينة داخلة ومن قرض حصل عليه المجلس في الربيع الماضي.";
        let json = r#"{"queries": ["tide gate dues 2029", "council loan 412,000"], "topic": "general", "days": 30, "ids": [1001, 1002, 2047]}"#;
        for (text, o200k, cl100k, claude) in [
            (english, 61, 61, 63),
            (chinese, 77, 119, 110),
            (japanese, 64, 91, 86),
            (korean, 51, 79, 90),
            (russian, 38, 62, 69),
            (german, 33, 48, 53),
            (arabic, 36, 78, 99),
            (json, 49, 48, 43),
        ] {
            for (tokenizer, counted) in
                [(Tokenizer::Frugal, o200k), (Tokenizer::Careful, cl100k), (Tokenizer::Careful, claude)]
            {
                let share = f64::from(tokenizer.estimate(text)) / f64::from(counted);
                assert!((0.85..1.45).contains(&share), "{share:.2} of {counted} by {tokenizer:?}: {text}");
            }
        }
    }

    /// Texts are looked at again when others have been shortened.
    #[test]
    fn each_text_is_counted_once() {
        let mut measure = Measure::counting(Tokenizer::O200k);
        let tokens = measure.text("tide gate");
        assert_eq!((measure.text("tide gate"), measure.counted.map(|counted| counted.len())), (tokens, Some(1)));
    }

    #[test]
    fn a_request_is_the_sum_of_its_parts() {
        let tool = ToolSpec {
            name: "think".into(),
            description: "d".into(),
            parameters: json!({}).into(),
            dispensable: false,
        };
        let call = ToolCall { id: "1".into(), name: "think".into(), arguments: "{}".into(), problem: None };
        let request = Request {
            model: "openai:m".parse().unwrap(),
            messages: vec![
                Message::user("abcdefg"),
                Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None },
            ],
            tools: vec![tool],
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::JsonSchema { name: "n".into(), schema: json!({"type": "object"}).into() },
            max_tokens: 1,
            sending: Sending::default(),
        };
        let of = |mut measure: Measure| measure.request(&request);
        let careful = Tokenizer::Careful;
        assert_eq!(of(Measure::estimating(careful)), (2 + 4) + (8 + 2 + 1 + 4) + (8 + 2 + 1 + 1) + 7);
        assert_eq!(of(Measure::counting(careful)), of(Measure::estimating(careful)));
        // "abc" and "defg", "think", "{}".
        assert_eq!(of(Measure::counting(Tokenizer::Cl100k)), (2 + 4) + (8 + 1 + 1 + 4) + (8 + 2 + 1 + 1) + 7);
    }
}
