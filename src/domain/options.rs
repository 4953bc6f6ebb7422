//! Run options. `option_table.rs` has their names, kinds, ranges, defaults and meanings, from which everything else
//! follows (parsing `--set`, the JSON Schema, the documentation, the error that names the nearest valid option).
//!
//! Names and defaults are those of Open Deep Research's current release, so its users' settings carry over.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Caps, CollectionId, Cost, Domains, Effort, McpConfig, McpServers, ModelName, Models, SearchApi, SearchFallback,
    TimeRange, Topic, Verify, distinct, nearest::nearest,
};
pub use super::{
    option_kind::{OptionKind, OptionSpec},
    option_table::OPTIONS,
};

/// The settings of one run, complete and in range. Names are checked where they come in; options that are stored may
/// have some of a newer release, which are passed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    pub allow_clarification: bool,
    pub max_clarifications: u32,
    pub max_structured_output_retries: u32,
    pub max_concurrent_research_units: u32,
    /// Runs stored before there was this option have the default.
    #[serde(default = "default_concurrent_summaries")]
    pub max_concurrent_summaries: u32,
    pub max_researcher_iterations: u32,
    pub max_react_tool_calls: u32,
    /// Seconds.
    pub max_researcher_seconds: u32,
    /// Seconds, from the first time that the run was begun. Runs stored before there was this option have the default.
    #[serde(default = "default_run_seconds")]
    pub max_run_seconds: u32,
    /// Model calls of the whole run; as the next two, runs stored before there was this option have the default.
    #[serde(default = "default_model_calls")]
    pub max_model_calls: u32,
    #[serde(default = "default_searches")]
    pub max_searches: u32,
    /// Pages of the web, in search results and by address alike.
    #[serde(default = "default_pages")]
    pub max_pages: u32,
    #[serde(default = "default_researchers")]
    pub max_researchers: u32,
    /// Read and written, of all model calls.
    #[serde(default = "default_tokens")]
    pub max_tokens: u32,
    /// Runs stored before there was this option may spend what they like.
    #[serde(default)]
    pub max_cost_usd: Option<Cost>,
    pub require_think: bool,
    /// Runs stored before there was this option have the default.
    #[serde(default)]
    pub effort: Effort,
    /// Runs stored before there was this option have the default.
    #[serde(default)]
    pub follow_up: FollowUp,
    /// Runs stored before there was this option have the default.
    #[serde(default)]
    pub verify: Verify,
    pub search_api: SearchApi,
    /// Runs stored before there was this option have none.
    #[serde(default)]
    pub search_fallback: SearchFallback,
    /// Each once; runs stored before there was this option have none.
    #[serde(default)]
    pub collections: Vec<CollectionId>,
    /// Runs stored before there was this option have no such tool.
    #[serde(default)]
    pub read_pages: bool,
    /// Runs stored before there was this option have none; as the filters below.
    #[serde(default)]
    pub max_pages_per_search: u32,
    #[serde(default)]
    pub page_reading: PageReading,
    #[serde(default)]
    pub search_time_range: Option<TimeRange>,
    #[serde(default)]
    pub include_domains: Option<Domains>,
    #[serde(default)]
    pub exclude_domains: Option<Domains>,
    /// ISO 639-1, in lower case.
    #[serde(default)]
    pub search_language: Option<String>,
    /// ISO 3166-1, in upper case.
    #[serde(default)]
    pub search_country: Option<String>,
    #[serde(default)]
    pub search_topic: Topic,
    /// Runs stored before there was this option use none, as the next two.
    #[serde(default = "McpServers::none")]
    pub mcp_servers: McpServers,
    #[serde(default)]
    pub mcp_config: Option<McpConfig>,
    /// Stands in the researchers' instructions.
    #[serde(default)]
    pub mcp_prompt: Option<String>,
    /// Dates the prompts; an IANA name. Runs stored before there was this option are dated in UTC.
    #[serde(default = "default_timezone")]
    pub timezone: String,
    pub max_content_length: u32,
    pub summarization_model: Models,
    pub summarization_model_max_tokens: u32,
    pub research_model: Models,
    pub research_model_max_tokens: u32,
    pub compression_model: Models,
    pub compression_model_max_tokens: u32,
    pub final_report_model: Models,
    pub final_report_model_max_tokens: u32,
    /// Tokens; `None` means: known from the model's name, learned from the server, or a cautious default.
    pub model_context_window: Option<u32>,
}

/// Options that Open Deep Research has too; there their names in upper case are variables. They mean the same, but that
/// `max_content_length` can only lower what is read of a page.
pub const ORIGINAL: [&str; 17] = [
    "allow_clarification",
    "max_structured_output_retries",
    "max_concurrent_research_units",
    "max_researcher_iterations",
    "max_react_tool_calls",
    "search_api",
    "max_content_length",
    "summarization_model",
    "summarization_model_max_tokens",
    "research_model",
    "research_model_max_tokens",
    "compression_model",
    "compression_model_max_tokens",
    "final_report_model",
    "final_report_model_max_tokens",
    "mcp_config",
    "mcp_prompt",
];

/// What Open Deep Research knows and Fathom does not, and what to do instead.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "apiKeys",
        "send api_keys beside options, where the operator allows it (FATHOM_REQUEST_KEYS); the server's own keys are settings: OPENAI_API_KEY and the like",
    ),
    ("thread_id", "a thread's id is in the path: POST /api/v1/threads/{id}/messages"),
    (
        "x-supabase-access-token",
        "send it as Authorization: Bearer, where the operator trusts its issuer (FATHOM_ISSUER), or let a proxy name the user (FATHOM_OWNER_HEADER)",
    ),
];

/// The option that sets others.
pub const EFFORT: &str = "effort";

/// The option that names the engines of a run, and the one that names those that stand in.
pub const SEARCH_API: &str = "search_api";
pub const SEARCH_FALLBACK: &str = "search_fallback";

/// Options that name a model, one per role.
pub const MODEL_OPTIONS: [&str; 4] =
    ["summarization_model", "research_model", "compression_model", "final_report_model"];

/// Returns what would be accepted in place of a model of a provider that there is not. `others` are names that Open
/// Deep Research has, each with the one here.
pub fn unknown_provider(given: &str, known: &[&'static str], others: &[(&'static str, &'static str)]) -> String {
    let here = others.iter().find(|(other, _)| *other == given).map(|(_, name)| format!("; {given} is {name} here"));
    let meant = || nearest(given, known.iter().copied()).map(|name| format!("; did you mean {name}?"));
    format!("a model of a known provider ({}){}", known.join(", "), here.or_else(meant).unwrap_or_default())
}

/// Why an option was refused; says what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("unknown option '{name}'{}", nearest.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default())]
    Unknown { name: String, nearest: Option<&'static str> },
    /// An option of Open Deep Research that is not there.
    #[error("option '{name}' is not there: {instead}")]
    Elsewhere { name: &'static str, instead: &'static str },
    /// `given` is not kept where it may hold a secret.
    #[error("option '{name}' must be {expected}{}", given.as_ref().map(|given| format!(", not {given}")).unwrap_or_default())]
    Invalid { name: &'static str, expected: String, given: Option<String> },
}

impl OptionError {
    /// Returns the option as it was given.
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. } => name,
            Self::Elsewhere { name, .. } | Self::Invalid { name, .. } => name,
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        let defaults: Map<String, Value> =
            OPTIONS.iter().map(|spec| (spec.name.to_owned(), spec.default_value())).collect();
        serde_json::from_value(Value::Object(defaults)).expect("a test deserializes the table's defaults")
    }
}

impl RunOptions {
    /// Sets one option from a JSON value.
    ///
    /// # Errors
    /// Unknown name, wrong type or value out of range; nothing is changed then.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), OptionError> {
        self.set_under(&Caps::default(), name, value)
    }

    /// Sets one as [`RunOptions::set`] does, where the options were brought below `caps` before.
    fn set_under(&mut self, caps: &Caps, name: &str, value: Value) -> Result<(), OptionError> {
        let spec = OptionSpec::find(name)?;
        let value = spec.check(value)?;
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&*self) else {
            unreachable!("options serialize to an object");
        };
        let given = spec.kind.shown(&value);
        if spec.name == EFFORT {
            follow_effort(&mut fields, caps, self.effort, Effort::deserialize(&value).unwrap_or_default());
        }
        fields.insert(spec.name.to_owned(), value);
        *self = serde_json::from_value(Value::Object(fields)).map_err(|error| OptionError::Invalid {
            name: spec.name,
            expected: error.to_string(),
            given,
        })?;
        Ok(())
    }

    /// Sets one option from text, as on a command line or in an environment variable.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let value = OptionSpec::find(name)?.read(text);
        self.set(name, value)
    }

    /// Sets all that can be set of `given`, and returns what is wrong with the rest, the first `most` of it: for each
    /// wrong name the nearest right one is looked for, and a request has room for many of them. Where no role has a
    /// model, the research model is that of all roles which `given` does not name.
    pub fn lay_over(&mut self, given: &Map<String, Value>, caps: &Caps, most: usize) -> Vec<OptionError> {
        let (mut wrong, has_models) = (Vec::new(), self.has_models());
        // First, since what is given beside it wins.
        let effort = given.get_key_value(EFFORT);
        for (name, value) in effort.into_iter().chain(given.iter().filter(|(name, _)| *name != EFFORT)) {
            if wrong.len() == most {
                break;
            }
            let checked = caps.check(name, value);
            let set = checked.and_then(|()| self.set_under(caps, name, value.clone()));
            if set.is_ok() && name == EFFORT {
                let own = self.clone();
                caps.lower(self, &own);
            }
            wrong.extend(set.err());
        }
        if !has_models && wrong.is_empty() {
            self.follow_research_model(given, caps);
        }
        wrong
    }

    /// Returns whether a role has a model other than the offline one, which is none.
    pub fn has_models(&self) -> bool {
        self.roles().into_iter().any(|models| !models.first().is_offline())
    }

    /// Uses the research model of `given` in the roles that it does not name, where `caps` allow it.
    pub fn follow_research_model(&mut self, given: &Map<String, Value>, caps: &Caps) {
        let Some(model) = given.get(MODEL_OPTIONS[1]) else { return };
        for name in MODEL_OPTIONS.into_iter().filter(|name| !given.contains_key(*name)) {
            if caps.check(name, model).is_ok() {
                // What is no model was refused under its own name.
                let _ = self.set_under(caps, name, model.clone());
            }
        }
    }

    /// Uses `models` in every role.
    pub fn set_all_models(&mut self, models: &Models) {
        for role in [
            &mut self.summarization_model,
            &mut self.research_model,
            &mut self.compression_model,
            &mut self.final_report_model,
        ] {
            *role = models.clone();
        }
    }

    /// Returns the models of each role, in the order of [`MODEL_OPTIONS`].
    pub fn roles(&self) -> [&Models; 4] {
        [&self.summarization_model, &self.research_model, &self.compression_model, &self.final_report_model]
    }

    /// Returns the models of all roles, those that stand in included.
    pub fn models(&self) -> impl Iterator<Item = &ModelName> {
        self.roles().into_iter().flat_map(Models::iter)
    }

    /// Returns each of the models once, in the order of the roles.
    pub fn distinct_models(&self) -> Vec<&ModelName> {
        distinct(self.models())
    }

    /// Returns whether a run may call tools of MCP servers, those that it names: `all` is resolved before.
    pub fn has_mcp(&self) -> bool {
        let offers = |server: &McpConfig| server.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        self.mcp_config.as_ref().is_some_and(offers) || self.mcp_servers.names().next().is_some()
    }

    /// Returns the search engines that are named, those that stand in included.
    pub fn engines(&self) -> impl Iterator<Item = &str> {
        self.search_api.names().chain(self.search_fallback.names())
    }

    /// Returns the options as a JSON Schema (draft 2020-12), without defaults: those are the server's, and a client
    /// generated from a schema with defaults sends them all.
    pub fn json_schema() -> Value {
        let properties: Map<String, Value> =
            OPTIONS.iter().map(|spec| (spec.name.to_owned(), spec.json_schema())).collect();
        json!({"type": "object", "additionalProperties": false, "properties": properties})
    }

    /// Returns the same for a server that uses these options by default: they are the defaults, `caps` the maxima.
    pub fn offered(&self, caps: &Caps) -> Value {
        let mut schema = Self::json_schema();
        caps.narrow(&mut schema);
        let own = serde_json::to_value(self).unwrap_or_default();
        for spec in OPTIONS {
            schema["properties"][spec.name]["default"] = own[spec.name].clone();
        }
        schema
    }
}

impl OptionSpec {
    /// Returns the row of that name.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] with the nearest valid name.
    pub fn find(name: &str) -> Result<&'static Self, OptionError> {
        if let Some(spec) = OPTIONS.iter().find(|spec| spec.name == name) {
            return Ok(spec);
        }
        if let Some((name, instead)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == name) {
            return Err(OptionError::Elsewhere { name, instead });
        }
        let nearest = nearest(name, OPTIONS.iter().map(|spec| spec.name));
        Err(OptionError::Unknown { name: name.to_owned(), nearest })
    }

    /// Returns the value that counts where nobody chose one.
    pub fn default_value(&self) -> Value {
        serde_json::from_str(self.default).expect("a test parses every default")
    }

    /// Returns a value that is accepted, as in a variable; for the example files.
    #[cfg(test)]
    pub fn example(&self) -> String {
        match self.kind {
            OptionKind::OptionalInteger { min, max } => 131_072.clamp(min, max).to_string(),
            OptionKind::OptionalDollars { .. } => "2.5".to_owned(),
            OptionKind::OptionalChoice(names) => names.last().copied().unwrap_or_default().to_owned(),
            OptionKind::OptionalDomains => "example.org,example.com".to_owned(),
            OptionKind::Collections => "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d".to_owned(),
            OptionKind::OptionalLanguage => "de".to_owned(),
            OptionKind::OptionalCountry => "DE".to_owned(),
            OptionKind::McpConfig => r#"{"url": "https://tools.example.com", "tools": ["search"]}"#.to_owned(),
            OptionKind::OptionalText { .. } => "Ask the archive before the web.".to_owned(),
            _ => self.default.trim_matches('"').to_owned(),
        }
    }

    /// Returns a value given as text, not checked yet.
    pub fn read(&self, text: &str) -> Value {
        match self.kind {
            OptionKind::Choice(_)
            | OptionKind::Model
            | OptionKind::Engines
            | OptionKind::Fallback
            | OptionKind::McpServers
            | OptionKind::TimeZone => Value::String(text.trim().to_owned()),
            OptionKind::OptionalText { .. } if text.trim() != "null" => Value::String(text.to_owned()),
            OptionKind::Collections if !text.trim().starts_with('[') => {
                text.split(',').map(str::trim).filter(|id| !id.is_empty()).collect()
            }
            OptionKind::OptionalChoice(_)
            | OptionKind::OptionalDomains
            | OptionKind::OptionalLanguage
            | OptionKind::OptionalCountry
                if text.trim() != "null" =>
            {
                Value::String(text.trim().to_owned())
            }
            _ => serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(text.to_owned())),
        }
    }

    /// Returns the value again, when it is of the right type and in range.
    ///
    /// # Errors
    /// [`OptionError::Invalid`].
    pub fn check(&self, value: Value) -> Result<Value, OptionError> {
        let invalid = |expected| OptionError::Invalid { name: self.name, expected, given: self.kind.shown(&value) };
        self.kind.checked(&value).map_err(invalid)
    }

    fn json_schema(&self) -> Value {
        let mut schema = self.kind.json_schema();
        schema["description"] = json!(self.meaning);
        schema
    }
}

/// Sets what goes with another effort, but for what somebody has chosen: a value that is not the one of the effort
/// before, nor the cap it was brought down to.
fn follow_effort(fields: &mut Map<String, Value>, caps: &Caps, before: Effort, after: Effort) {
    let (before, after) = (before.options(), after.options());
    for spec in OPTIONS.iter().filter(|spec| before.contains_key(spec.name) || after.contains_key(spec.name)) {
        let usual = |of: &Map<String, Value>| of.get(spec.name).cloned().unwrap_or_else(|| spec.default_value());
        if fields.get(spec.name) == Some(&caps.lowered(spec.name, usual(&before))) {
            fields.insert(spec.name.to_owned(), usual(&after));
        }
    }
}

/// Agrees with the table, as a test holds.
fn default_run_seconds() -> u32 {
    14_400
}

fn default_timezone() -> String {
    "UTC".to_owned()
}

fn default_model_calls() -> u32 {
    2_000
}

fn default_searches() -> u32 {
    500
}

fn default_pages() -> u32 {
    5_000
}

fn default_researchers() -> u32 {
    500
}

fn default_concurrent_summaries() -> u32 {
    50
}

fn default_tokens() -> u32 {
    20_000_000
}

/// What researchers see of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageReading {
    /// A summary by a model.
    #[default]
    Summarize,
    /// The passages that fit the question best, without a model call.
    Passages,
}

impl PageReading {
    pub const NAMES: [&'static str; 2] = ["summarize", "passages"];
}

/// What becomes of a message in a thread that has a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// The model decides whether it is answered from what is there, the report revised, or more researched.
    #[default]
    Auto,
    /// Always the whole pipeline, which knows nothing of earlier findings but the conversation.
    Research,
}

#[cfg(test)]
mod tests {
    use super::super::growth;
    use super::*;

    fn refusal(name: &str, value: &str) -> String {
        RunOptions::default().set_text(name, value).unwrap_err().to_string()
    }

    fn many_collections(number: usize) -> String {
        std::iter::repeat_with(|| CollectionId::new().to_string()).take(number).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_table_and_the_struct_agree() {
        let Value::Object(fields) = serde_json::to_value(RunOptions::default()).unwrap() else { panic!() };
        let mut names: Vec<_> = OPTIONS.iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        let mut field_names: Vec<_> = fields.keys().map(String::as_str).collect();
        field_names.sort_unstable();
        assert_eq!(field_names, names);
        for spec in OPTIONS {
            spec.check(spec.default_value()).unwrap();
        }
    }

    #[test]
    fn defaults_are_the_current_ones_of_open_deep_research() {
        let options = RunOptions::default();
        assert_eq!(options.max_researcher_iterations, 6);
        assert_eq!(options.max_react_tool_calls, 10);
        assert_eq!(options.max_concurrent_research_units, 5);
        assert_eq!(options.summarization_model.to_string(), "openai:gpt-4.1-mini");
        assert_eq!(options.compression_model_max_tokens, 8192);
        assert_eq!(options.max_content_length, 50_000);
    }

    #[test]
    fn options_stored_before_there_were_these_still_read() {
        let Value::Object(mut stored) = serde_json::to_value(RunOptions::default()).unwrap() else { panic!() };
        for newer in [
            "mcp_config",
            "mcp_prompt",
            "max_run_seconds",
            "follow_up",
            "max_model_calls",
            "max_searches",
            "max_pages",
            "max_researchers",
            "max_concurrent_summaries",
            "max_tokens",
            "max_cost_usd",
            "search_topic",
            "effort",
            "collections",
            "search_fallback",
        ] {
            stored.remove(newer).unwrap();
        }
        assert_eq!(serde_json::from_value::<RunOptions>(Value::Object(stored)).unwrap(), RunOptions::default());
    }

    #[test]
    fn options_stored_by_a_newer_release_still_read() {
        let Value::Object(mut stored) = serde_json::to_value(RunOptions::default()).unwrap() else { panic!() };
        stored.insert("flavour".to_owned(), json!("plain"));
        assert_eq!(serde_json::from_value::<RunOptions>(Value::Object(stored)).unwrap(), RunOptions::default());
    }

    /// Two megabytes of unknown options are refused as soon as the first few are, each with what was meant.
    #[test]
    fn many_unknown_options_are_refused_early() {
        let given = |text: &str| -> Map<String, Value> {
            text.split_terminator(',').enumerate().map(|(n, name)| (format!("{name}{n}"), json!(n))).collect()
        };
        let refuse = |text: &str| RunOptions::default().lay_over(&given(text), &Caps::default(), 8);
        growth::check("max_react_toolcalls,", 32 * 1024, |text| drop(refuse(text)));
        let many = "max_react_toolcalls,".repeat(100_000);
        let wrong = refuse(&many);
        let nearest = Some("max_react_tool_calls");
        assert_eq!(wrong.len(), 8);
        assert_eq!(wrong[0], OptionError::Unknown { name: "max_react_toolcalls0".to_owned(), nearest });
        let long = Map::from_iter([("n".repeat(2 << 20), json!(1))]);
        assert_eq!(RunOptions::default().lay_over(&long, &Caps::default(), 8).len(), 1);
    }

    #[test]
    fn one_model_is_that_of_all_roles_where_there_was_none() {
        let check = |before: &str, given: Value, expected: [&str; 4]| {
            let mut options = RunOptions::default();
            options.set_all_models(&before.parse().unwrap());
            let Value::Object(given) = given else { panic!() };
            assert_eq!(options.lay_over(&given, &Caps::default(), 8), []);
            assert_eq!(options.roles().map(ToString::to_string), expected, "{given:?}");
        };
        let none = "offline:extractive";
        check(none, json!({"research_model": "acme:x"}), ["acme:x"; 4]);
        check(
            none,
            json!({"research_model": "acme:x", "summarization_model": none}),
            [none, "acme:x", "acme:x", "acme:x"],
        );
        check(none, json!({"final_report_model": "acme:x"}), [none, none, none, "acme:x"]);
        check("acme:y", json!({"research_model": "acme:x"}), ["acme:y", "acme:x", "acme:y", "acme:y"]);
    }

    #[test]
    fn values_come_as_text() {
        let mut options = RunOptions::default();
        options.set_text("max_react_tool_calls", "30").unwrap();
        options.set_text("allow_clarification", "false").unwrap();
        options.set_text("research_model", "ollama:qwen3:8b").unwrap();
        options.set_text("follow_up", " research").unwrap();
        options.set_text("max_run_seconds", "604800").unwrap();
        assert_eq!((options.follow_up, options.max_run_seconds), (FollowUp::Research, 604_800));
        options.set_text("search_time_range", "week").unwrap();
        options.set_text("include_domains", "Example.org, b.test").unwrap();
        options.set_text("search_country", "DE").unwrap();
        assert_eq!(options.search_time_range, Some(TimeRange::Week));
        assert_eq!(options.include_domains.as_ref().map(ToString::to_string).as_deref(), Some("example.org,b.test"));
        let (one, other) = (CollectionId::new(), CollectionId::new());
        options.set_text("collections", &format!("{one}, {other},{one}")).unwrap();
        assert_eq!(options.collections, [one, other]);
        options.set_text("collections", &format!("[\"{other}\"]")).unwrap();
        assert_eq!(options.collections, [other]);
        options.set_text("collections", "").unwrap();
        assert_eq!(options.collections, []);
        options.set_text("include_domains", "null").unwrap();
        assert_eq!((options.include_domains.clone(), options.search_country.as_deref()), (None, Some("DE")));
        assert_eq!(options.max_react_tool_calls, 30);
        assert!(!options.allow_clarification);
        assert_eq!(options.research_model, ModelName::new("ollama", "qwen3:8b").into());
    }

    #[test]
    fn effort_sets_what_nobody_has_chosen() {
        let laid = |options: &RunOptions, given: Value| {
            let mut options = options.clone();
            let Value::Object(given) = given else { panic!() };
            assert_eq!(options.lay_over(&given, &Caps::default(), 8), []);
            options
        };
        let numbers = |options: &RunOptions| (options.max_researcher_iterations, options.max_react_tool_calls);
        let deep = laid(&RunOptions::default(), json!({"effort": "deep"}));
        assert_eq!((deep.effort, numbers(&deep)), (Effort::Deep, (10, 20)));
        // What is given beside it wins, whichever comes first.
        let chosen = laid(&RunOptions::default(), json!({"effort": "deep", "max_react_tool_calls": 7}));
        assert_eq!(numbers(&chosen), (10, 7));
        // So does what the server chose, and another effort starts from where the first one did.
        let mut own = RunOptions::default();
        own.set_text("max_react_tool_calls", "4").unwrap();
        assert_eq!(numbers(&laid(&own, json!({"effort": "deep"}))), (10, 4));
        assert_eq!(numbers(&laid(&deep, json!({"effort": "quick"}))), (2, 3));
        assert_eq!(laid(&deep, json!({"effort": "standard"})), RunOptions::default());
    }

    /// A cap is no choice: a quick run stays quick where the usual values are above it.
    #[test]
    fn effort_sets_what_was_only_brought_down_to_a_cap() {
        let mut caps = Caps::default();
        for cap in ["max_run_seconds=3600", "max_researcher_iterations=4", "max_react_tool_calls=2"] {
            caps.add(cap).unwrap();
        }
        let mut own = RunOptions::default();
        caps.lower(&mut own, &RunOptions::default());
        assert_eq!((own.max_run_seconds, own.max_researcher_iterations), (3_600, 4));
        let Value::Object(given) = json!({"effort": "quick"}) else { panic!() };
        assert_eq!(own.lay_over(&given, &caps, 8), []);
        assert_eq!((own.max_run_seconds, own.max_researcher_iterations, own.max_react_tool_calls), (900, 2, 2));
    }

    #[test]
    fn refusals_say_what_would_be_accepted() {
        assert_eq!(
            refusal("max_react_toolcalls", "3"),
            "unknown option 'max_react_toolcalls'; did you mean 'max_react_tool_calls'?"
        );
        assert_eq!(refusal("zzz", "3"), "unknown option 'zzz'");
        for (name, instead) in [("apiKeys", "FATHOM_REQUEST_KEYS"), ("x-supabase-access-token", "FATHOM_ISSUER")] {
            assert!(refusal(name, "{}").contains(instead), "{}", refusal(name, "{}"));
        }
        assert_eq!(
            refusal("max_react_tool_calls", "31"),
            "option 'max_react_tool_calls' must be an integer from 1 to 30, not 31"
        );
        assert_eq!(
            refusal("max_react_tool_calls", "-1"),
            "option 'max_react_tool_calls' must be an integer from 1 to 30, not -1"
        );
        assert_eq!(
            refusal("max_run_seconds", "9"),
            "option 'max_run_seconds' must be an integer from 10 to 604800, not 9"
        );
        let language = refusal("search_language", "DE");
        assert!(
            language.ends_with("null or the two lower-case letters of a language, such as de, not \"DE\""),
            "{language}"
        );
        let range = refusal("search_time_range", "hour");
        assert!(range.ends_with("must be null or one of day, week, month, year, not \"hour\""), "{range}");
        for wrong in ["mine", "null", "[1]", &CollectionId::new().0.simple().to_string(), &many_collections(9)] {
            let collections = refusal("collections", wrong);
            assert!(collections.contains("must be a list of ids of 8 collections at most"), "{collections}");
        }
        let domains = refusal("exclude_domains", "https://a.test/");
        assert!(domains.contains("must be null or names of 100 sites at most"), "{domains}");
        assert_eq!(refusal("follow_up", "always"), "option 'follow_up' must be one of auto, research, not \"always\"");
        assert_eq!(
            refusal("research_model", "gpt-4.1"),
            "option 'research_model' must be a model name of the form provider:model, not \"gpt-4.1\""
        );
    }
}
