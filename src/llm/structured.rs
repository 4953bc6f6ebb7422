//! Asks for a Rust type and reads it, whatever the model can do: native JSON schema, else a tool call, else the schema
//! in the prompt.
//!
//! Only requests and readings: the caller makes the calls, journals each, and says how many there may be.
//!
//! ```text
//! let mut strategies = Strategies::new(form, &words);
//! loop {
//!     match llm.complete(&strategies.request(&base), …).await {
//!         Ok(completion) => match strategies.read::<Brief>(&completion) {
//!             Ok(brief) => break brief,
//!             Err(rejection) => strategies.rejected(rejection),
//!         },
//!         Err(Failed { error: Error::BadRequest { .. }, .. }) if strategies.unsupported() => {}
//!         Err(failed) => return Err(failed),
//!     }
//! }
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Completion, Message, OutputFormat, Request, StopReason, ToolChoice, ToolSpec};
use crate::net::surrogates;

/// The tool that takes the answer of [`Strategy::Tool`].
const ANSWER_TOOL: &str = "answer";

/// A longer answer is none of ours.
const MAX_READ: usize = 1024 * 1024;
/// Beginnings of objects that are tried.
const MAX_OBJECTS: usize = 1_000;

/// The characters of a rejected answer that are shown to the model again.
const MAX_SHOWN_CHARS: usize = 4_000;

/// The description of the tool that takes the answer.
const TOOL_WORDS: &str = "structured_tool";
/// Asks for JSON of a schema alone.
const SCHEMA_WORDS: &str = "structured_prompt";
/// Asks for a better answer, given what was wrong with the last, and the schema.
const REPAIR_WORDS: &str = "structured_repair";

/// What is said to the model: fills the prompt of that name with these values. Called when needed, which with most
/// models is never.
pub type Words<'a> = &'a (dyn Fn(&str, Value) -> String + Sync);

/// The form of a structured answer.
#[derive(Clone, Debug)]
pub struct Form {
    pub name: &'static str,
    /// JSON Schema of an object, strict: all properties required, no others.
    pub schema: Arc<Value>,
}

/// How the answer is asked for, the surest way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The provider's own structured output.
    Native,
    /// The arguments of a tool that must be called.
    Tool,
    /// The schema in the prompt.
    Prompt,
}

impl Strategy {
    fn below(self) -> Self {
        match self {
            Self::Native => Self::Tool,
            Self::Tool | Self::Prompt => Self::Prompt,
        }
    }
}

/// Why an answer was not taken. Its text is fit to be shown to the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Rejection {
    problem: String,
    /// The rejected answer, for the model to see what it wrote; may be empty.
    answer: String,
}

/// The way down from the surest form of asking to the one every model understands.
#[derive(Clone)]
pub struct Strategies<'a> {
    form: Form,
    words: Words<'a>,
    strategy: Strategy,
    /// The strategy that would be used if nothing were known of the model, after as many attempts.
    nominal: Strategy,
    last: Option<Rejection>,
    refused: bool,
}

impl<'a> Strategies<'a> {
    /// Begins with the surest strategy.
    pub fn new(form: Form, words: Words<'a>) -> Self {
        let nominal = Strategy::Native;
        Self { form, words, strategy: nominal, nominal, last: None, refused: false }
    }

    /// Goes on from the strategy by which an answer was asked for.
    pub fn start_with(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Returns the strategy of requests made by [`nominal_request`](Self::nominal_request).
    pub fn nominal(&self) -> Strategy {
        self.nominal
    }

    /// Returns whether a form of request was refused by the provider.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Makes `base` ask for the answer. Its own tools and output format are replaced.
    pub fn request(&self, base: &Request) -> Request {
        self.request_by(self.strategy, base)
    }

    /// Returns the request that would be made if nothing were known of the model: the same in every process.
    pub fn nominal_request(&self, base: &Request) -> Request {
        self.request_by(self.nominal, base)
    }

    fn request_by(&self, strategy: Strategy, base: &Request) -> Request {
        let mut request =
            Request { tools: Vec::new(), tool_choice: ToolChoice::Auto, output: OutputFormat::Text, ..base.clone() };
        match strategy {
            Strategy::Native => {
                let (name, schema) = (self.form.name.to_owned(), Arc::clone(&self.form.schema));
                request.output = OutputFormat::JsonSchema { name, schema };
            }
            Strategy::Tool => {
                request.tools = vec![self.tool()];
                request.tool_choice = ToolChoice::Required;
            }
            Strategy::Prompt => {
                let words = (self.words)(SCHEMA_WORDS, json!({"schema": self.form.schema.to_string()}));
                request.messages.push(Message::user(words));
            }
        }
        self.last.iter().for_each(|last| self.ask_again(last, &mut request.messages));
        request
    }

    fn ask_again(&self, last: &Rejection, messages: &mut Vec<Message>) {
        if !last.answer.is_empty() {
            messages.push(Message::assistant(last.answer.clone()));
        }
        let values = json!({"error": last.problem, "schema": self.form.schema.to_string()});
        messages.push(Message::user((self.words)(REPAIR_WORDS, values)));
    }

    /// Reads the answer to the last [`request`](Self::request): a tool call's arguments, or JSON in the text, bare,
    /// fenced or among prose.
    ///
    /// # Errors
    /// [`Rejection`], to be handed to [`rejected`](Self::rejected).
    pub fn read<T: DeserializeOwned>(&self, completion: &Completion) -> Result<T, Rejection> {
        let written = completion.tool_calls.iter().map(|call| call.arguments.as_str());
        let mut first = None;
        for text in written.chain([completion.text.as_str()]).filter(|text| !text.trim().is_empty()) {
            match read_json(text) {
                Ok(value) => return Ok(value),
                Err(problem) => _ = first.get_or_insert((problem, text)),
            }
        }
        let (problem, answer) = first.unwrap_or_else(|| ("the answer was empty".to_owned(), ""));
        let problem = match completion.stop {
            StopReason::Length => "the answer was cut off at the output limit".to_owned(),
            StopReason::Refused => "the provider withheld the answer".to_owned(),
            StopReason::End | StopReason::ToolCalls => problem,
        };
        Err(Rejection { problem, answer: answer.chars().take(MAX_SHOWN_CHARS).collect() })
    }

    /// Steps down after an answer that could not be read. By the last strategy the model hears of the problem and is
    /// asked again, as often as the caller likes.
    pub fn rejected(&mut self, rejection: Rejection) {
        self.last = Some(rejection);
        self.step_down();
    }

    /// Steps down after the provider refused this form of request; `false` when there is no other.
    pub fn unsupported(&mut self) -> bool {
        let was = self.strategy;
        self.step_down();
        self.refused |= self.strategy != was;
        self.strategy != was
    }

    fn step_down(&mut self) {
        self.strategy = self.strategy.below();
        self.nominal = self.nominal.below();
    }

    fn tool(&self) -> ToolSpec {
        let description = (self.words)(TOOL_WORDS, Value::Null);
        let parameters = Arc::clone(&self.form.schema);
        ToolSpec { name: ANSWER_TOOL.to_owned(), description, parameters, dispensable: false }
    }
}

/// Reads a `T` from the first JSON object in `text` that is one. The schema itself, echoed, is none.
fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > MAX_READ {
        return Err(format!("the answer is longer than {MAX_READ} bytes"));
    }
    let text = &*surrogates::repair(text);
    let mut problem = None;
    let mut from = 0;
    for _ in 0..MAX_OBJECTS {
        let Some(start) = text[from..].find('{').map(|at| from + at) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                from = start + values.byte_offset();
                match serde_json::from_value(unwrapped(value)) {
                    Ok(read) => return Ok(read),
                    Err(error) => problem = Some(format!("the JSON does not fit the schema: {error}")),
                }
            }
            Some(Err(error)) => {
                from = start + 1;
                problem.get_or_insert_with(|| format!("the JSON is broken: {error}"));
            }
            None => break,
        }
    }
    Err(problem.unwrap_or_else(|| "there is no JSON object in the answer".to_owned()))
}

/// Returns the answer inside what small models like to wrap around it: a call of the tool, written out.
fn unwrapped(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.get("name").is_some_and(|name| name == ANSWER_TOOL) => {
            match object.remove("arguments").or_else(|| object.remove("parameters")) {
                Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                Some(arguments) => arguments,
                None => Value::Object(object),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Usage;
    use crate::domain::growth;
    use crate::llm::{Sending, ToolCall};
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Brief {
        question: String,
    }

    fn words(name: &str, values: Value) -> String {
        let value = |name: &str| values[name].as_str().unwrap().to_owned();
        match name {
            TOOL_WORDS => "Takes it.".to_owned(),
            SCHEMA_WORDS => format!("As JSON: {}", value("schema")),
            REPAIR_WORDS => format!("Wrong: {}", value("error")),
            other => panic!("{other}"),
        }
    }

    fn strategies() -> Strategies<'static> {
        Strategies::new(Form { name: "brief", schema: json!({"type": "object"}).into() }, &words)
    }

    fn base() -> Request {
        Request {
            model: "openai:m".parse().unwrap(),
            messages: vec![Message::user("q")],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens: 1,
            sending: Sending::default(),
        }
    }

    fn says(text: &str) -> Completion {
        let usage = Usage::default();
        Completion { text: text.into(), tool_calls: Vec::new(), stop: StopReason::End, usage, attempts: 1, carry: None }
    }

    fn calls(arguments: &str) -> Completion {
        let call = ToolCall { id: "c".into(), name: "answer".into(), arguments: arguments.into(), problem: None };
        Completion { tool_calls: vec![call], stop: StopReason::ToolCalls, ..says("") }
    }

    #[test]
    fn time_grows_as_the_text_does() {
        for shape in ["{", "{\"a\":", "{}", "[", "```", "{\"a\":{},", "\\ud83d", "\\", "{\"question\":1} "] {
            growth::check(shape, 24 * 1024, |text| drop(read_json::<Brief>(text)));
        }
    }

    #[test]
    fn halves_of_characters_are_no_obstacle() {
        let brief: Brief = read_json(r#"{"question":"\ud83d?"}"#).unwrap();
        assert_eq!(brief.question, "\u{FFFD}?");
    }

    #[test]
    fn what_is_known_of_a_model_does_not_change_the_nominal_request() {
        let base = Request {
            model: "openai:m".parse().unwrap(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            max_tokens: 1,
            sending: Sending::default(),
        };
        let (plain, mut knowing) = (strategies(), strategies());
        knowing.start_with(Strategy::Prompt);
        assert_eq!(knowing.nominal_request(&base), plain.request(&base));
        assert_ne!(knowing.request(&base), plain.request(&base));
        assert!(!knowing.unsupported() && !knowing.was_refused(), "there is no other form");
    }

    #[test]
    fn each_strategy_asks_in_its_own_way() {
        let mut strategies = strategies();
        let native = strategies.request(&base());
        let output = OutputFormat::JsonSchema { name: "brief".into(), schema: json!({"type": "object"}).into() };
        assert_eq!(native, Request { output, ..base() });

        assert!(strategies.unsupported());
        let parameters = json!({"type": "object"}).into();
        let tool = ToolSpec { name: "answer".into(), description: "Takes it.".into(), parameters, dispensable: false };
        let expected = Request { tools: vec![tool], tool_choice: ToolChoice::Required, ..base() };
        assert_eq!(strategies.request(&base()), expected);

        assert!(strategies.unsupported());
        let messages = vec![Message::user("q"), Message::user(r#"As JSON: {"type":"object"}"#)];
        assert_eq!(strategies.request(&base()), Request { messages, ..base() });
        assert!(!strategies.unsupported());
    }

    #[test]
    fn a_rejected_answer_is_shown_with_what_was_wrong() {
        let mut strategies = strategies();
        let rejection = strategies.read::<Brief>(&says(r#"{"q": 1}"#)).unwrap_err();
        strategies.rejected(rejection);
        assert_eq!(strategies.strategy(), Strategy::Tool);
        let messages = strategies.request(&base()).messages;
        let problem = "Wrong: the JSON does not fit the schema: missing field `question`";
        let answer = Message::assistant(r#"{"q": 1}"#);
        assert_eq!(messages, [Message::user("q"), answer, Message::user(problem)]);
        for _ in 0..3 {
            strategies.rejected(strategies.read::<Brief>(&says("")).unwrap_err());
        }
        assert_eq!(strategies.strategy(), Strategy::Prompt);
        assert_eq!(strategies.request(&base()).messages[2..], [Message::user("Wrong: the answer was empty")]);
    }

    #[test]
    fn answers_are_read_in_every_shape() {
        fn check(completion: &Completion) {
            let expected = Brief { question: "a {b}".into() };
            assert_eq!(strategies().read(completion), Ok(expected), "{completion:?}");
        }
        let json = r#"{"question": "a {b}", "more": 1}"#;
        check(&says(json));
        check(&says(&format!("```json\n{json}\n```")));
        check(&says(&format!("Here {{is}} the answer: {json}. Anything else?")));
        check(&says(&format!(r#"{{"type": "object"}} {json}"#)));
        check(&says(&format!(r#"{{"name": "answer", "arguments": {json}}}"#)));
        check(&calls(json));
        check(&Completion { text: json.into(), ..calls("{\"cut") });
        check(&Completion { stop: StopReason::Length, ..says(&format!("{json}\n\n\n")) });
    }

    #[test]
    fn rejections_say_what_is_wrong() {
        fn check(completion: &Completion, expected: &str) {
            assert_eq!(strategies().read::<Brief>(completion).unwrap_err().to_string(), expected);
        }
        check(
            &says(r#"{"question": 3}"#),
            "the JSON does not fit the schema: invalid type: integer `3`, expected a string",
        );
        check(&says(r#"{"question": }"#), "the JSON is broken: expected value at line 1 column 14");
        check(&says("Paris"), "there is no JSON object in the answer");
        check(&says(" "), "the answer was empty");
        check(&Completion { stop: StopReason::Length, ..says("{\"que") }, "the answer was cut off at the output limit");
        check(&Completion { stop: StopReason::Refused, ..says("") }, "the provider withheld the answer");
    }
}
