//! How deep to research: named sets of options, and how much work each is likely to be.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Effort, estimate::Usual};

/// A named set of options; what it does not name stays as the server has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preset {
    pub name: &'static str,
    pub options: Map<String, Value>,
    pub expected: Expected,
}

/// The size of a usual run, as an orientation: questions differ, and models too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expected {
    pub model_calls: u64,
    /// Read and written.
    pub tokens: u64,
    pub searches: u64,
    /// With a hosted model that answers within a few seconds.
    pub minutes: u64,
}

/// Returns the presets, the shallowest first. `highest` gives the most that an option may be set to on this server;
/// what is above is lowered to it, so that a preset is never refused.
pub fn presets(highest: impl Fn(&str) -> Option<u64>) -> Vec<Preset> {
    let preset = |effort: Effort, more: &[(&str, bool)]| {
        let mut options = effort.options();
        options.insert("effort".to_owned(), json!(effort));
        options.extend(more.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        let lowered = |(name, value): (String, Value)| {
            let value = match (value.as_u64(), highest(&name)) {
                (Some(value), Some(most)) => json!(value.min(most)),
                _ => value,
            };
            (name, value)
        };
        let usual = Usual::of(effort);
        let (model_calls, tokens) = (usual.model_calls(), usual.tokens());
        let expected = Expected { model_calls, tokens, searches: usual.searches, minutes: usual.minutes() };
        Preset { name: effort.as_str(), options: options.into_iter().map(lowered).collect(), expected }
    };
    vec![
        preset(Effort::Quick, &[("allow_clarification", false)]),
        preset(Effort::Standard, &[]),
        preset(Effort::Deep, &[]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::options::OptionSpec;

    #[test]
    fn presets_name_options_that_exist_and_keep_to_what_the_server_allows() {
        for preset in presets(|_| None) {
            assert!(preset.options.keys().all(|name| OptionSpec::find(name).is_ok()), "{preset:?}");
        }
        let capped = presets(|name| (name == "max_react_tool_calls").then_some(5));
        assert_eq!(capped[2].options["max_react_tool_calls"], 5);
        assert_eq!(capped[0].options["max_react_tool_calls"], 3);
        let sizes: Vec<_> = capped.iter().map(|preset| (preset.expected.model_calls, preset.expected.tokens)).collect();
        assert_eq!(sizes, [(29, 68_900), (80, 218_500), (332, 1_217_000)]);
    }
}
