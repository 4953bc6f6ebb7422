//! What a model's tokens cost. The program knows no price; the operator may tell.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::run::Usage;

/// The price of one model, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Input that the provider had in its cache; absent: as any input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Reasoning included.
    pub output: f64,
}

/// By `provider:model`.
pub type Prices = HashMap<String, Price>;

impl Price {
    /// What these tokens cost, in dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        // Nobody uses so many tokens that a float would not count them.
        let millions = |tokens: u64| tokens as f64 / 1e6;
        let cached = usage.cached_tokens.min(usage.input_tokens);
        millions(usage.input_tokens - cached) * self.input
            + millions(cached) * self.cached.unwrap_or(self.input)
            + millions(usage.output_tokens) * self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_input_has_its_own_price() {
        let usage =
            Usage { input_tokens: 3_000_000, cached_tokens: 1_000_000, output_tokens: 500_000, reasoning_tokens: 9 };
        let check = |cached: Option<f64>, expected: f64| {
            assert_eq!(Price { input: 2.0, cached, output: 8.0 }.of(&usage), expected);
        };
        check(Some(0.5), 8.5);
        check(None, 10.0);
    }
}
