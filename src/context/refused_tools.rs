//! Tools of others whose schema a provider does not take: a run goes on without them.
//!
//! Vendors say in their own words which one it is: OpenAI by its name (`Invalid schema for function 'x'`), Anthropic
//! and Amazon by its place (`tools.3.custom.input_schema`), Google by both kinds of place
//! (`tools[0].function_declarations[3]`).

use std::{borrow::Cow, collections::HashSet};

use parking_lot::Mutex;

use super::Cx;
use crate::{
    domain::{Event, WarningCode},
    journal::Stop,
    llm::{self, Request, ToolSpec},
};

/// What stands before the place of a tool, the closest first.
const PLACES: [&str; 4] = ["function_declarations[", "functiondeclarations[", "tools[", "tools."];
/// One of these stands in every complaint about a tool.
const SUBJECTS: [&str; 3] = ["tool", "function", "schema"];

/// One of these stands in those that say of no tool in particular what is wrong: others may be about a call, a result
/// or the turns they stand in.
const UNPLACED: [&str; 4] = ["schema", "array too long", "too many tools", "too many functions"];

/// The names of tools that a provider has refused in this run.
#[derive(Debug, Default)]
pub struct RefusedTools {
    /// Locked for access only.
    names: Mutex<HashSet<String>>,
}

impl RefusedTools {
    /// Returns the request without what was refused before.
    pub fn left_out<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let names = self.names.lock();
        if !request.tools.iter().any(|tool| names.contains(&tool.name)) {
            return Cow::Borrowed(request);
        }
        let mut fewer = request.clone();
        fewer.tools.retain(|tool| !names.contains(&tool.name));
        Cow::Owned(fewer)
    }

    /// Notes which tools a provider refuses by this failure, and returns them: the one that it names, or all that the
    /// run can do without when a schema is refused and none is named. Empty when the failure is about something else.
    pub fn note(&self, request: &Request, failed: &llm::Failed) -> Vec<String> {
        let llm::Error::BadRequest { detail, .. } = &failed.error else { return Vec::new() };
        let refused = refused(&request.tools, &detail.to_lowercase());
        self.names.lock().extend(refused.iter().cloned());
        refused
    }
}

impl Cx {
    /// Returns the request without the tools that a provider refused when it was `sent`, which is announced; `None`
    /// when the failure is about something else.
    pub(super) async fn without_refused_tools<'a>(
        &self,
        request: &'a Request,
        sent: &Request,
        failed: &llm::Failed,
    ) -> Result<Option<Cow<'a, Request>>, Stop> {
        let names = self.run.refused_tools.note(sent, failed).join(", ");
        if names.is_empty() {
            return Ok(None);
        }
        let why = &failed.error;
        let detail = format!("the run goes on without the tools that a model's provider refuses ({names}): {why}");
        self.emit(vec![Event::warning(WarningCode::McpServerFailed, detail)]).await?;
        Ok(Some(self.run.refused_tools.left_out(request)))
    }
}

/// Returns the tools that `detail`, in lower case, refuses.
fn refused(tools: &[ToolSpec], detail: &str) -> Vec<String> {
    if !SUBJECTS.iter().any(|subject| detail.contains(subject)) {
        return Vec::new();
    }
    let named = tools.iter().find(|tool| is_quoted(detail, &tool.name.to_lowercase()));
    if let Some(tool) = named.or_else(|| tools.get(place(detail)?)) {
        return tool.dispensable.then(|| tool.name.clone()).into_iter().collect();
    }
    if !UNPLACED.iter().any(|words| detail.contains(words)) {
        return Vec::new();
    }
    tools.iter().filter(|tool| tool.dispensable).map(|tool| tool.name.clone()).collect()
}

fn is_quoted(detail: &str, name: &str) -> bool {
    ['\'', '"', '`'].iter().any(|quote| detail.contains(&format!("{quote}{name}{quote}")))
}

/// Returns the number of the tool that is complained about, from 0.
fn place(detail: &str) -> Option<usize> {
    let behind = PLACES.iter().find_map(|before| detail.split_once(before));
    let digits: String = behind?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, dispensable: bool) -> ToolSpec {
        ToolSpec { name: name.into(), description: String::new(), parameters: json!({}).into(), dispensable }
    }

    fn check(detail: &str, expected: &[&str]) {
        let tools = [tool("search_web", false), tool("think", false), tool("get_Tides", true), tool("moon", true)];
        assert_eq!(refused(&tools, &detail.to_lowercase()), expected, "{detail}");
    }

    #[test]
    fn vendors_say_in_their_own_words_which_tool_they_refuse() {
        check(
            "Invalid schema for function 'get_Tides': In context=('properties',), array schema missing items.",
            &["get_Tides"],
        );
        check("tools.3.custom.input_schema: JSON schema is invalid", &["moon"]);
        check(
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: missing field",
            &["get_Tides"],
        );
        check("The value at toolConfig.tools.3.toolSpec.inputSchema.json is not valid", &["moon"]);
    }

    #[test]
    fn where_it_is_not_said_all_that_can_be_done_without_are_left_out() {
        check("a tool schema is not supported", &["get_Tides", "moon"]);
        check("tools.17.input_schema: bad", &["get_Tides", "moon"]);
        check("Invalid 'tools': array too long. Expected an array with maximum length 128.", &["get_Tides", "moon"]);
    }

    #[test]
    fn what_the_run_needs_and_other_complaints_are_not_touched() {
        check("Invalid schema for function 'search_web'", &[]);
        check("tools.1.custom: bad", &[]);
        check("max_tokens is too large", &[]);
        check("Unexpected role 'user' after role 'tool'", &[]);
        check("Function call is missing a thought_signature in functionCall parts.", &[]);
        check("conversation roles must alternate except for tool calls and results", &[]);
    }
}
