//! How much work a question is worth: what `effort` sets, and what the prompts say of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How deep to research.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Quick,
    #[default]
    Standard,
    Deep,
}

impl Effort {
    pub const NAMES: [&'static str; 3] = ["quick", "standard", "deep"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }

    /// Returns the options that it sets; the others stay as they are.
    pub fn options(self) -> Map<String, Value> {
        let options = match self {
            Self::Quick => json!({
                "max_concurrent_research_units": 2, "max_researcher_iterations": 2, "max_react_tool_calls": 3,
                "max_pages_per_search": 2, "max_model_calls": 150, "max_searches": 30, "max_run_seconds": 900,
            }),
            Self::Standard => json!({}),
            Self::Deep => json!({
                "max_concurrent_research_units": 8, "max_researcher_iterations": 10, "max_react_tool_calls": 20,
                "max_pages_per_search": 5, "final_report_model_max_tokens": 20_000,
            }),
        };
        match options {
            Value::Object(options) => options,
            _ => Map::new(),
        }
    }

    /// Returns the number of results asked for per query.
    pub fn results(self) -> u32 {
        match self {
            Self::Quick => 4,
            Self::Standard => 5,
            Self::Deep => 8,
        }
    }

    /// Searches after which a researcher stops, as its prompt says.
    pub fn searches(self) -> u32 {
        match self {
            Self::Quick => 2,
            Self::Standard => 5,
            Self::Deep => 10,
        }
    }

    /// Returns the number of relevant sources with which a researcher may stop, as its prompt says.
    pub fn sources(self) -> u32 {
        match self {
            Self::Quick => 2,
            Self::Standard => 3,
            Self::Deep => 6,
        }
    }

    /// Returns about so many words of a report, as the writer's prompt says.
    pub fn words(self) -> (u32, u32) {
        match self {
            Self::Quick => (300, 700),
            Self::Standard => (1_000, 2_500),
            Self::Deep => (2_500, 6_000),
        }
    }

    /// Returns the number of characters of a page that are read for its summary: some 1,500 tokens, or twice as many.
    pub fn chars_read(self) -> usize {
        match self {
            Self::Quick | Self::Standard => 6_000,
            Self::Deep => 12_000,
        }
    }
}
