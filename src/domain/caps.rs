//! Caps: the most that requests may ask for on a server, and the models that they may name.

use std::{collections::BTreeMap, str::FromStr as _};

use serde_json::{Value, json};

use super::{
    Cost, McpConfig, McpServers,
    options::{MODEL_OPTIONS, OptionError, OptionKind, OptionSpec, RunOptions, unknown_provider},
    wildcard,
};

/// Options that [`Caps::know_mcp`] bounds.
const MCP_OPTIONS: [&str; 2] = ["mcp_servers", "mcp_config"];

const COST_OPTION: &str = "max_cost_usd";

/// What requests may ask for on a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// The most, by option; only options that are whole numbers have one.
    most: BTreeMap<&'static str, u32>,
    /// Models that may be named, `*` standing for any text; empty when any may.
    models: Vec<String>,
    /// Providers that there are; empty when it is not checked.
    providers: Vec<&'static str>,
    /// Names that Open Deep Research has for some of them, each with ours.
    other_names: Vec<(&'static str, &'static str)>,
    /// MCP servers that are configured.
    mcp_servers: Vec<String>,
    /// Whether requests may name an address of an MCP server (`mcp_config`).
    request_mcp: bool,
    /// What a run may cost by the server's own options, and so at most; `None`: anything.
    most_cost: Option<Cost>,
    /// The server's own `mcp_config`.
    own_mcp: Option<McpConfig>,
}

impl Caps {
    /// Refuses models of other providers than these; of one by a name in `others`, says which it is here.
    pub fn know_providers(&mut self, names: Vec<&'static str>, others: Vec<(&'static str, &'static str)>) {
        (self.providers, self.other_names) = (names, others);
    }

    /// Refuses a higher `max_cost_usd` than the server's own, and none.
    pub fn know_cost(&mut self, own: &RunOptions) {
        self.most_cost = own.max_cost_usd;
    }

    /// Refuses MCP servers of other names than these, and addresses of others unless requests may name them.
    pub fn know_mcp(&mut self, names: Vec<String>, request_mcp: bool, own: &RunOptions) {
        self.mcp_servers = names;
        self.request_mcp = request_mcp;
        self.own_mcp.clone_from(&own.mcp_config);
    }

    /// Refuses an option of the server itself, as it would be of a request.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_value(&self, options: &RunOptions, name: &str) -> Result<(), OptionError> {
        self.check(name, &serde_json::to_value(options).unwrap_or_default()[name])
    }

    /// Puts names where all MCP servers are meant, so that a run keeps to those there were when it was created.
    pub fn resolve(&self, options: &mut RunOptions) {
        if options.mcp_servers.is_all() {
            let names = self.mcp_servers.join(",");
            options.mcp_servers = names.parse().unwrap_or_else(|_| McpServers::none());
        }
    }

    fn check_mcp(&self, name: &str, value: &Value) -> Result<(), OptionError> {
        match name {
            "mcp_servers" => {
                let named = value.as_str().and_then(|text| McpServers::from_str(text).ok());
                let known = |name: &str| self.mcp_servers.iter().any(|known| known == name);
                match named.as_ref().map(|named| named.names().all(known)) {
                    Some(false) => {
                        let (expected, given) = (self.known_servers(), Some(value.to_string()));
                        Err(OptionError::Invalid { name: "mcp_servers", expected, given })
                    }
                    _ => Ok(()),
                }
            }
            "mcp_config" => {
                let is_own =
                    serde_json::from_value::<Option<McpConfig>>(value.clone()).is_ok_and(|own| own == self.own_mcp);
                let may = self.request_mcp || value.is_null() || is_own;
                if may {
                    Ok(())
                } else {
                    let expected = "null on this server (limits.request_mcp is off)".to_owned();
                    Err(OptionError::Invalid { name: "mcp_config", expected, given: None })
                }
            }
            _ => Ok(()),
        }
    }

    fn known_servers(&self) -> String {
        match &self.mcp_servers[..] {
            [] => "all or none: this server has no MCP servers".to_owned(),
            names => format!("all, none, or MCP servers of this server ({})", names.join(", ")),
        }
    }

    /// Adds one from `NAME=NUMBER`.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (name, most) = text.split_once('=').ok_or("NAME=NUMBER")?;
        let spec = OptionSpec::find(name.trim()).map_err(|unknown| format!("NAME=NUMBER ({unknown})"))?;
        let OptionKind::Integer { min, max } = spec.kind else {
            return Err(format!("NAME=NUMBER with an option that is a whole number, which {} is not", spec.name));
        };
        let most = most.trim().parse().ok().filter(|most| (min..=max).contains(most));
        self.most.insert(spec.name, most.ok_or_else(|| format!("{}=NUMBER from {min} to {max}", spec.name))?);
        Ok(())
    }

    /// Lets requests name these models only, beside those that the server uses itself.
    pub fn allow_models(&mut self, patterns: Vec<String>, own: &RunOptions) {
        self.models = patterns;
        if !self.models.is_empty() {
            self.models.extend(own.models().map(ToString::to_string));
            self.models.sort();
            self.models.dedup();
        }
    }

    /// Refuses a value that is above the cap of its option, and a model that is not allowed or of nobody known.
    ///
    /// # Errors
    /// [`OptionError::Invalid`] with what would be accepted.
    pub fn check(&self, name: &str, value: &Value) -> Result<(), OptionError> {
        let names = MODEL_OPTIONS.into_iter().find(|option| *option == name).zip(value.as_str());
        if let Some((name, models)) = names {
            models.split(',').try_for_each(|model| self.check_model(name, model.trim()))?;
        }
        self.check_mcp(name, value)?;
        self.check_cost(name, value)?;
        match self.most.get_key_value(name) {
            Some((name, most)) if value.as_u64().is_some_and(|given| given > u64::from(*most)) => {
                let expected = format!("{most} at most on this server");
                Err(OptionError::Invalid { name, expected, given: Some(value.to_string()) })
            }
            _ => Ok(()),
        }
    }

    /// Returns the most that an option may be, where there is a cap.
    pub fn most(&self, name: &str) -> Option<u32> {
        self.most.get(name).copied()
    }

    /// Returns a value of an option, or its cap where it is above that.
    pub(super) fn lowered(&self, name: &str, value: Value) -> Value {
        let above = |most: &&u32| value.as_u64().is_some_and(|value| value > u64::from(**most));
        self.most.get(name).filter(above).map_or(value, |most| json!(most))
    }

    fn check_cost(&self, name: &str, value: &Value) -> Result<(), OptionError> {
        let Some(most) = self.most_cost.filter(|_| name == COST_OPTION) else { return Ok(()) };
        match value.as_f64().is_some_and(|dollars| dollars <= most.dollars()) {
            true => Ok(()),
            false => {
                let expected = format!("{} at most on this server", most.dollars());
                Err(OptionError::Invalid { name: COST_OPTION, expected, given: Some(value.to_string()) })
            }
        }
    }

    fn check_model(&self, name: &'static str, model: &str) -> Result<(), OptionError> {
        let provider = model.split_once(':').map(|(provider, _)| provider);
        let unknown = provider.filter(|name| !self.providers.is_empty() && !self.providers.contains(name));
        let expected = match unknown {
            Some(provider) => unknown_provider(provider, &self.providers, &self.other_names),
            None if self.models.is_empty() => return Ok(()),
            None if self.models.iter().any(|pattern| wildcard::matches(pattern, model)) => return Ok(()),
            None => format!("one of the models that this server allows ({})", self.models.join(", ")),
        };
        Err(OptionError::Invalid { name, expected, given: Some(json!(model).to_string()) })
    }

    /// Brings options that are above their caps down to them, and replaces models that are not allowed by those of
    /// `own`. Returns the names of what it changed.
    pub fn lower(&self, options: &mut RunOptions, own: &RunOptions) -> Vec<&'static str> {
        let given = serde_json::to_value(&*options).unwrap_or_default();
        let own = serde_json::to_value(own).unwrap_or_default();
        let caps = self.most.iter().map(|(name, most)| (*name, json!(most)));
        let models = MODEL_OPTIONS.into_iter().map(|name| (name, own[name].clone()));
        let mcp = MCP_OPTIONS.into_iter().map(|name| (name, own[name].clone()));
        let cost = std::iter::once((COST_OPTION, own[COST_OPTION].clone()));
        let beyond =
            caps.chain(models).chain(mcp).chain(cost).filter(|(name, _)| self.check(name, &given[*name]).is_err());
        beyond.filter(|(name, value)| options.set(name, value.clone()).is_ok()).map(|(name, _)| name).collect()
    }

    /// Shows the caps as the maxima of a schema made by [`RunOptions::json_schema`].
    pub(super) fn narrow(&self, schema: &mut Value) {
        for (name, most) in &self.most {
            schema["properties"][*name]["maximum"] = json!(most);
        }
        if let Some(most) = self.most_cost {
            schema["properties"][COST_OPTION]["maximum"] = json!(most.dollars());
            schema["properties"][COST_OPTION]["type"] = json!("number");
        }
        let pattern = |text: &String| escaped_pattern(text);
        let allowed = self.models.iter().map(pattern).collect::<Vec<_>>().join("|");
        for name in MODEL_OPTIONS.iter().filter(|_| !allowed.is_empty()) {
            schema["properties"][*name]["pattern"] = json!(format!("^(?:{allowed})(?:, ?(?:{allowed}))*$"));
        }
    }
}

/// Returns the pattern, in which `*` stands for any text, as a regular expression (ECMA-262).
fn escaped_pattern(pattern: &str) -> String {
    pattern.chars().fold(String::new(), |mut text, character| {
        match character {
            '*' => text.push_str(".*"),
            // No others: with the flag `u`, as validators set it, an escape without need is an error.
            c if r"^$\.+?()[]{}|".contains(c) => text.extend(['\\', c]),
            c => text.push(c),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::super::options::OPTIONS;
    use super::*;

    #[test]
    fn no_request_may_cost_more_than_the_server_allows() {
        let mut own = RunOptions::default();
        own.set("max_cost_usd", json!(2.5)).unwrap();
        let mut caps = Caps::default();
        assert!(caps.check("max_cost_usd", &Value::Null).is_ok());
        caps.know_cost(&own);
        assert!(caps.check("max_cost_usd", &json!(2.5)).is_ok() && caps.check("max_cost_usd", &json!(1)).is_ok());
        for given in [json!(2.6), Value::Null] {
            let error = caps.check("max_cost_usd", &given).unwrap_err().to_string();
            assert_eq!(error, format!("option 'max_cost_usd' must be 2.5 at most on this server, not {given}"));
        }
        let mut stored = RunOptions::default();
        assert_eq!(caps.lower(&mut stored, &own), ["max_cost_usd"]);
        assert_eq!(stored.max_cost_usd, own.max_cost_usd);
        assert_eq!(own.offered(&caps)["properties"]["max_cost_usd"]["maximum"], 2.5);
    }

    #[test]
    fn caps_bound_what_is_asked_for() {
        let mut caps = Caps::default();
        caps.add("max_run_seconds = 60").unwrap();
        caps.add("max_react_tool_calls=10").unwrap();
        assert!(caps.check("max_run_seconds", &json!(60)).is_ok());
        let error = caps.check("max_run_seconds", &json!(61)).unwrap_err().to_string();
        assert_eq!(error, "option 'max_run_seconds' must be 60 at most on this server, not 61");
        let mut options = RunOptions::default();
        assert_eq!(caps.lower(&mut options, &RunOptions::default()), ["max_run_seconds"]);
        assert_eq!((options.max_run_seconds, options.max_react_tool_calls), (60, 10));
        let schema = options.offered(&caps);
        let property = |name: &str| schema["properties"][name].clone();
        let seconds = property("max_run_seconds");
        assert_eq!((&seconds["maximum"], &seconds["default"]), (&json!(60), &json!(60)));
        assert_eq!(property("model_context_window")["default"], Value::Null);
        assert!(OPTIONS.iter().all(|spec| property(spec.name).get("default").is_some()));
        for wrong in ["", "max_run_seconds", "max_run_seconds=0", "research_model=1", "max_run=1"] {
            assert!(caps.add(wrong).unwrap_err().contains("NUMBER"), "{wrong}");
        }
    }

    #[test]
    fn models_of_providers_that_nobody_knows_are_refused_with_what_was_meant() {
        let mut caps = Caps::default();
        assert!(caps.check("research_model", &json!("acmee:x")).is_ok());
        caps.know_providers(vec!["acme", "offline"], vec![("acme_converse", "acme")]);
        assert!(caps.check("research_model", &json!("acme:x")).is_ok());
        let refusal = caps.check("research_model", &json!("acmee:x")).unwrap_err().to_string();
        let expected = "must be a model of a known provider (acme, offline); did you mean acme?, not \"acmee:x\"";
        assert!(refusal.ends_with(expected), "{refusal}");
        let refusal = caps.check("research_model", &json!("acme_converse:x")).unwrap_err().to_string();
        assert!(refusal.contains("(acme, offline); acme_converse is acme here, not"), "{refusal}");
    }

    #[test]
    fn models_that_are_not_allowed_give_way_to_the_servers_own() {
        let own = RunOptions::default();
        let mut caps = Caps::default();
        caps.allow_models(vec!["ollama:qwen*".to_owned()], &own);
        let mut options = RunOptions::default();
        options.set_text("research_model", "ollama:qwen3").unwrap();
        options.set_text("final_report_model", "other:acme/x").unwrap();
        assert_eq!(caps.lower(&mut options, &own), ["final_report_model"]);
        assert_eq!(options.final_report_model, own.final_report_model);
        assert_eq!(options.research_model.to_string(), "ollama:qwen3");
    }

    #[test]
    fn a_pattern_escapes_what_means_something_and_nothing_else() {
        let check = |pattern: &str, expected: &str| assert_eq!(escaped_pattern(pattern), expected);
        check("openai:gpt-4.1*", r"openai:gpt-4\.1.*");
        check("ollama:a/b@c_d-e,f#g~h!i", "ollama:a/b@c_d-e,f#g~h!i");
        check(r"^$\.+?()[]{}|", r"\^\$\\\.\+\?\(\)\[\]\{\}\|");
    }
}
