//! `fathom doctor --probe MODEL`: asks a model a handful of small questions and prints what it can do, as a table for
//! the settings file.

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{Exit, complain, print};
use crate::{
    config::Config,
    domain::{ModelName, Timestamp},
    llm::{
        Completion, Delta, Error, Facts, Llm, Message, OutputFormat, Request, Sending, ToolChoice, ToolSpec,
        structured::Strategy,
    },
    net::NoWait,
};

/// Enough for a model that thinks before a short answer.
const MAX_TOKENS: u32 = 2_000;
const TOOL: &str = "report_depth";

/// Asks the model, prints the result, and fails when the model cannot be used at all.
pub async fn run(config: &Config, model: &ModelName) -> Exit {
    match probe(config, model).await {
        Ok(table) => print::answer(table.trim_end()),
        Err(problem) => {
            complain(&problem);
            Exit::Failed
        }
    }
}

async fn probe(config: &Config, model: &ModelName) -> Result<String, String> {
    if model.is_offline() {
        return Err("the offline model is no server; there is nothing to ask it".to_owned());
    }
    let mut settings = config.llm.clone();
    // What is known of the model would stand in the way of finding out.
    settings.models.clear();
    let llm = Llm::new(settings).map_err(|error| error.to_string())?;
    if let Some(variable) = llm.missing(model) {
        return Err(format!("{model} needs {variable}"));
    }
    let ask = Ask { llm: &llm, model };
    ask.complete(small_request(model)).await.map_err(|error| error.to_string())?;
    let tools = ask.calls(ToolChoice::Auto).await?;
    let facts = Facts {
        window: llm.listed_window(model).await.or(llm.facts(model).window),
        max_output: llm.facts(model).max_output,
        price: llm.facts(model).price,
        tools: Some(tools),
        forced_calls: if tools { Some(ask.calls(ToolChoice::Required).await?) } else { None },
        schema: Some(ask.answers_by_schema().await?),
        streaming: Some(ask.streams().await),
        whole_answers: Some(llm.gives_whole_answers(model)),
        tokenizer: llm.facts(model).tokenizer,
    };
    Ok(table(model, &facts))
}

/// Returns a question that any model can answer by a word.
pub(super) fn small_request(model: &ModelName) -> Request {
    Request {
        model: model.clone(),
        messages: vec![Message::user("Answer with one word: is water wet?")],
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        output: OutputFormat::Text,
        max_tokens: MAX_TOKENS,
        sending: Sending::default(),
    }
}

/// The questions to one model.
struct Ask<'a> {
    llm: &'a Llm,
    model: &'a ModelName,
}

impl Ask<'_> {
    fn request(&self, question: &str) -> Request {
        Request { messages: vec![Message::user(question)], ..small_request(self.model) }
    }

    async fn complete(&self, request: Request) -> Result<Completion, Error> {
        self.llm.complete(&request, &NoWait).await.map_err(|failed| failed.error)
    }

    /// Returns whether the model calls a tool when it is asked to, or, where calls are demanded, although it is not.
    async fn calls(&self, choice: ToolChoice) -> Result<bool, String> {
        let question = match choice {
            ToolChoice::Auto => format!("The well is 7 metres deep. Call the tool {TOOL} with this depth."),
            ToolChoice::Required => "Good morning! The well is 7 metres deep, by the way.".to_owned(),
        };
        let tool = ToolSpec {
            name: TOOL.to_owned(),
            description: "Takes the depth of the well in metres.".to_owned(),
            parameters: schema().into(),
            dispensable: false,
        };
        let request = Request { tools: vec![tool], tool_choice: choice, ..self.request(&question) };
        match self.complete(request).await {
            // A second attempt means that the demand was refused.
            Ok(done) => Ok(done.tool_calls.iter().any(|call| call.name == TOOL)
                && (choice == ToolChoice::Auto || done.attempts == 1)),
            Err(Error::BadRequest { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn answers_by_schema(&self) -> Result<bool, String> {
        if self.llm.first_strategy(self.model) > Strategy::Native {
            return Ok(false);
        }
        let output = OutputFormat::JsonSchema { name: "depth".to_owned(), schema: schema().into() };
        let request = Request { output, ..self.request("The well is 7 metres deep. Answer in JSON: its depth.") };
        match self.complete(request).await {
            Ok(done) => {
                let answer: Value = serde_json::from_str(done.text.trim()).unwrap_or_default();
                Ok(answer["metres"].is_number())
            }
            Err(Error::BadRequest { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn streams(&self) -> bool {
        let request = self.request("Count from one to five in words.");
        let Ok(mut stream) = self.llm.stream(&request, &NoWait).await else { return false };
        while let Some(delta) = stream.next().await {
            match delta {
                Ok(Delta::Text(_)) => {}
                // Where it refuses, the answer came whole.
                Ok(Delta::End(_)) => return self.llm.streams(&request.model),
                Err(_) => return false,
            }
        }
        false
    }
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"metres": {"type": "number"}}, "required": ["metres"],
        "additionalProperties": false})
}

/// Returns the table, as it can be put into the settings file.
fn table(model: &ModelName, facts: &Facts) -> String {
    let name = Value::from(model.to_string());
    let mut lines =
        vec![format!("# As probed on {}.", Timestamp::now().prompt_date("UTC")), format!("[models.{name}]")];
    let number = |name: &str, value: Option<u32>| match value {
        Some(value) => format!("{name} = {value}"),
        None => format!("# {name}: the server does not say"),
    };
    lines.push(number("window", facts.window));
    lines.push(number("max_output", facts.max_output));
    if facts.price.is_none() {
        lines.push("# price: not known, so its cost is shown as unknown".to_owned());
    }
    let abilities = [
        ("tools", facts.tools),
        ("forced_calls", facts.forced_calls),
        ("schema", facts.schema),
        ("streaming", facts.streaming),
        ("whole_answers", facts.whole_answers),
    ];
    let known = abilities.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", value?)));
    lines.extend(known);
    lines.extend(facts.tokenizer.map(|tokenizer| format!("tokenizer = {}", json!(tokenizer))));
    lines.join("\n")
}
