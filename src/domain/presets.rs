//! How deep to research: named sets of options, and how much work each is likely to be.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Caps, Effort, RunOptions, estimate::Usual, options::EFFORT};

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

/// Returns the presets, the shallowest first, of a server with these options and caps. Each is what its effort alone
/// makes of them, so that what the operator has set stays, and none is refused.
pub fn presets(own: &RunOptions, caps: &Caps) -> Vec<Preset> {
    Vec::from([Effort::Quick, Effort::Standard, Effort::Deep].map(|effort| preset(own, caps, effort)))
}

fn preset(own: &RunOptions, caps: &Caps, effort: Effort) -> Preset {
    let mut laid = own.clone();
    let named = Map::from_iter([(EFFORT.to_owned(), json!(effort))]);
    laid.lay_over(&named, caps, 1);
    let mut options = changed(own, &laid);
    options.extend(named);
    if effort == Effort::Quick {
        options.insert("allow_clarification".to_owned(), json!(false));
    }
    let usual = Usual::of(effort);
    let (model_calls, tokens) = (usual.model_calls(), usual.tokens());
    let expected = Expected { model_calls, tokens, searches: usual.searches, minutes: usual.minutes() };
    Preset { name: effort.as_str(), options, expected }
}

/// Returns the options of `laid` that differ from those of `own`.
fn changed(own: &RunOptions, laid: &RunOptions) -> Map<String, Value> {
    let (Ok(own), Ok(Value::Object(mut laid))) = (serde_json::to_value(own), serde_json::to_value(laid)) else {
        return Map::new();
    };
    laid.retain(|name, value| own.get(name) != Some(&*value));
    laid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::options::OptionSpec;

    #[test]
    fn presets_name_options_that_exist_and_keep_to_what_the_server_allows() {
        for preset in presets(&RunOptions::default(), &Caps::default()) {
            assert!(preset.options.keys().all(|name| OptionSpec::find(name).is_ok()), "{preset:?}");
        }
        let (mut caps, mut own) = (Caps::default(), RunOptions::default());
        caps.add("max_react_tool_calls=5").unwrap();
        caps.lower(&mut own, &RunOptions::default());
        let capped = presets(&own, &caps);
        assert_eq!(capped[2].options.get("max_react_tool_calls"), None, "it is at the cap already");
        assert_eq!(capped[0].options["max_react_tool_calls"], 3);
        let sizes: Vec<_> = capped.iter().map(|preset| (preset.expected.model_calls, preset.expected.tokens)).collect();
        assert_eq!(sizes, [(29, 68_900), (80, 218_500), (332, 1_217_000)]);
    }

    #[test]
    fn what_the_operator_has_set_stays_in_every_preset() {
        let mut own = RunOptions::default();
        for (name, value) in [("effort", "deep"), ("max_searches", "7"), ("max_react_tool_calls", "9")] {
            own.set_text(name, value).unwrap();
        }
        let presets = presets(&own, &Caps::default());
        assert_eq!(json!(presets[2].options), json!({"effort": "deep"}));
        assert_eq!(presets[0].options["max_researcher_iterations"], 2);
        assert_eq!(presets[0].options["allow_clarification"], false);
        for name in ["max_searches", "max_react_tool_calls"] {
            assert!(presets.iter().all(|preset| !preset.options.contains_key(name)), "{name}: {presets:?}");
        }
    }
}
