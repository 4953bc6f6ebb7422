//! Requests to models, as the tests of clients send them.

use fathom::llm::{Completion, Message, OutputFormat, Request, Sending, ToolChoice, ToolSpec};
use serde_json::json;

/// A question with an instruction before it, without tools.
pub fn question(model: &str) -> Request {
    Request {
        model: model.parse().unwrap(),
        messages: vec![Message::system("Be brief."), Message::user("How deep is it?")],
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        output: OutputFormat::Text,
        max_tokens: 100,
        sending: Sending::default(),
    }
}

/// The question alone.
pub fn bare_question(model: &str) -> Request {
    Request { messages: vec![Message::user("How deep is it?")], ..question(model) }
}

/// The same with a tool offered.
pub fn with_search(model: &str) -> Request {
    Request { tools: vec![search_tool("search_web")], ..question(model) }
}

/// A tool that takes one text.
pub fn search_tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    ToolSpec { name: name.into(), description: "Searches.".into(), parameters: parameters.into(), dispensable: false }
}

/// The conversation after a turn and the results of its calls.
pub fn after(request: &Request, completion: &Completion) -> Request {
    let mut messages = request.messages.clone();
    messages.push(Message::turn_of(completion));
    messages.extend(completion.tool_calls.iter().map(|call| Message::Tool {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: "found".into(),
    }));
    Request { messages, ..request.clone() }
}
