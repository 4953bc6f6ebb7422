//! A page of a server's list of tools, also one that the SDK cannot read: a tool that is none costs itself alone.

use std::borrow::Cow;

use rmcp::model::{JsonObject, ServerResult, Tool};
use serde_json::{Value, json};

/// The member of a tool's `_meta` by which [`marked`] leaves word; the SDK keeps no member of a tool that it does not
/// know.
const MARK: &str = "fathom/task";
/// What stands in a list that has such a tool.
const TASKS: &[u8] = b"taskSupport";
/// Why such a tool is left out.
const TASK_ALONE: &str = "can only be called as a task, which is not supported";
/// Why a tool is left out whose arguments nobody knows.
pub(super) const NO_SCHEMA: &str = "has a schema that models cannot be shown";

/// A page of the list.
pub(super) struct Page {
    pub tools: Vec<Listed>,
    pub next_cursor: Option<String>,
}

/// A tool of the list.
pub(super) struct Listed {
    pub name: String,
    /// The tool, or why it cannot be called.
    pub tool: Result<Tool, &'static str>,
}

impl Page {
    /// Returns the page that a server answered; `None` when it is none at all.
    pub fn of(result: ServerResult) -> Option<Self> {
        match result {
            ServerResult::ListToolsResult(page) => {
                Some(Self { tools: page.tools.into_iter().map(Listed::of).collect(), next_cursor: page.next_cursor })
            }
            // What fits no result that the SDK knows.
            ServerResult::CustomResult(page) => {
                let tools = page.0.get("tools")?.as_array()?.iter().map(Listed::read).collect();
                let next_cursor = page.0.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
                Some(Self { tools, next_cursor })
            }
            _ => None,
        }
    }
}

impl Listed {
    pub fn of(tool: Tool) -> Self {
        let is_marked = tool.meta.as_ref().is_some_and(|meta| meta.0.contains_key(MARK));
        Self { name: tool.name.to_string(), tool: if is_marked { Err(TASK_ALONE) } else { Ok(tool) } }
    }

    /// Reads what is used of a tool. One without a schema of its arguments takes none.
    fn read(given: &Value) -> Self {
        let text = |field: &str| given.get(field).and_then(Value::as_str).map(str::to_owned);
        let Some(name) = text("name") else {
            return Self { name: "without a name".to_owned(), tool: Err("cannot be called") };
        };
        let schema = match given.get("inputSchema") {
            _ if needs_task(given) => Err(TASK_ALONE),
            None | Some(Value::Null) => Ok(JsonObject::new()),
            Some(Value::Object(schema)) => Ok(schema.clone()),
            Some(_) => Err(NO_SCHEMA),
        };
        let description = text("description").or_else(|| text("title")).map(Cow::Owned);
        let tool = schema.map(|schema| Tool::new_with_raw(name.clone(), description, schema));
        Self { name, tool }
    }
}

/// Returns a message in which tools that can only be called as a task say so where the SDK keeps it. It drops their
/// `execution`, which MCP had in 2025-11-25 alone.
pub(super) fn marked(message: Vec<u8>) -> Vec<u8> {
    if memchr::memmem::find(&message, TASKS).is_none() {
        return message;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&message) else { return message };
    let Some(tools) = value.pointer_mut("/result/tools").and_then(Value::as_array_mut) else { return message };
    for tool in tools.iter_mut().filter(|tool| needs_task(tool)) {
        // What it says beside is of no use for a tool that is left out.
        tool["_meta"] = json!({MARK: true});
    }
    // A message may be a line.
    let end = if message.ends_with(b"\n") { "\n" } else { "" };
    format!("{value}{end}").into_bytes()
}

fn needs_task(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_need_a_task_are_marked() {
        let tool = |support: &str| json!({"name": support, "inputSchema": {}, "execution": {"taskSupport": support}});
        let list = json!({"id": 1, "result": {"tools": [tool("required"), tool("optional"), "none"]}});
        let marked_list: Value = serde_json::from_slice(&marked(format!("{list}\n").into_bytes())).unwrap();
        let marks: Vec<_> = (0..3).map(|at| marked_list["result"]["tools"][at].get("_meta").cloned()).collect();
        assert_eq!(marks, [Some(json!({MARK: true})), None, None]);
        assert!(marked(format!("{list}\n").into_bytes()).ends_with(b"}\n"));
        for other in ["taskSupport", r#"{"result": {"text": "taskSupport"}}"#, "{\"result\": {}}\n"] {
            assert_eq!(marked(other.into()), other.as_bytes());
        }
    }
}
