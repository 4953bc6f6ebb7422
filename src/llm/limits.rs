//! How many tokens a request is: estimates, since no tokenizer fits all models.
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

/// Models whose tokenizers know many scripts well, by the beginning of the name.
const FRUGAL: [&str; 17] = [
    "gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-6", "gpt-oss", "chatgpt", "o1", "o3", "o4", "gemini", "gemma",
    "deepseek", "qwen", "glm", "kimi", "minimax",
];

/// How a family of models cuts text into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// As OpenAI's o200k: less than one token per Chinese character.
    Frugal,
    /// As OpenAI's cl100k and Anthropic's: more than one. Assumed of models that nobody knows.
    Careful,
}

impl Tokenizer {
    pub fn of(model: &ModelName) -> Self {
        let name = model.model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        match FRUGAL.iter().any(|family| name.starts_with(family)) {
            true => Self::Frugal,
            false => Self::Careful,
        }
    }

    /// About how many tokens `text` is: from a tenth too few (tables of numbers) to two fifths too many (English
    /// prose). Low for base64.
    pub fn count(self, text: &str) -> u32 {
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
        if self == Self::Frugal { frugal } else { careful }
    }
}

fn ascii_weight(byte: u8) -> u64 {
    // Digits come in threes at most, and punctuation often alone.
    if byte.is_ascii_digit() || byte.is_ascii_punctuation() { 9 } else { 5 }
}

/// About how many tokens the prompt of `request` is: messages, tools and schema, without the answer.
pub fn estimate_request(request: &Request) -> u32 {
    let tokenizer = Tokenizer::of(&request.model);
    let messages = request.messages.iter().map(|message| estimate_message(tokenizer, message));
    let tools = request.tools.iter().map(|tool| {
        PER_TOOL
            + tokenizer.count(&tool.name)
            + tokenizer.count(&tool.description)
            + tokenizer.count(&tool.parameters.to_string())
    });
    let output = match &request.output {
        OutputFormat::Text => 0,
        OutputFormat::JsonSchema { schema, .. } => tokenizer.count(&schema.to_string()),
    };
    messages.chain(tools).fold(output, u32::saturating_add)
}

fn estimate_message(tokenizer: Tokenizer, message: &Message) -> u32 {
    let inside = match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => {
            estimate_text(tokenizer, content)
        }
        // It holds the words and calls too.
        Message::Assistant { carry: Some(carry), .. } => tokenizer.count(&carry.items),
        Message::Assistant { content, tool_calls, .. } => {
            let calls = tool_calls.iter().map(|call| estimate_call(tokenizer, call));
            calls.fold(tokenizer.count(content), u32::saturating_add)
        }
    };
    inside.saturating_add(PER_MESSAGE)
}

fn estimate_text(tokenizer: Tokenizer, text: &Text) -> u32 {
    text.0.iter().map(|part| tokenizer.count(part.as_str())).fold(0, u32::saturating_add)
}

fn estimate_call(tokenizer: Tokenizer, call: &ToolCall) -> u32 {
    PER_TOOL + tokenizer.count(&call.name) + tokenizer.count(&call.arguments)
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
                let share = f64::from(tokenizer.count(text)) / f64::from(counted);
                assert!((0.85..1.45).contains(&share), "{share:.2} of {counted} by {tokenizer:?}: {text}");
            }
        }
    }

    #[test]
    fn the_family_of_a_model_says_how_it_counts() {
        let of = |model: &str| Tokenizer::of(&model.parse().unwrap());
        for model in ["openai:gpt-4.1", "together:openai/gpt-5.4-mini", "google:gemini-3.6-flash", "ollama:qwen3:8b"] {
            assert_eq!(of(model), Tokenizer::Frugal, "{model}");
        }
        for model in ["anthropic:claude-opus-5-5", "ollama:llama3.1", "openai:gpt-4-turbo", "compatible:x"] {
            assert_eq!(of(model), Tokenizer::Careful, "{model}");
        }
        assert_eq!((Tokenizer::Careful.count(""), Tokenizer::Careful.count("a")), (0, 1));
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
        assert_eq!(estimate_request(&request), (2 + 4) + (8 + 2 + 1 + 4) + (8 + 2 + 1 + 1) + 7);
    }
}
