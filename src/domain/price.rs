//! What a model's tokens cost. The program knows no price; the operator may tell.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// Money: billionths of a dollar, so that sums are exact. In JSON it is dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

impl Cost {
    /// A million dollars for one call is believed of no provider; sums of such calls still fit into the database.
    const MOST: Self = Self(1_000_000_000_000_000);

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float becomes the nearest u64")]
    fn of_dollars(dollars: f64) -> Self {
        Self((dollars * 1e9).round() as u64)
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::of_dollars)
    }
}

impl Price {
    /// The same as a sum of money.
    pub fn cost(&self, usage: &Usage) -> Cost {
        Cost::of_dollars(self.of(usage)).min(Cost::MOST)
    }

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
    fn money_is_dollars_in_json_and_adds_up_exactly() {
        let price = Price { input: 0.1, cached: None, output: 0.4 };
        let call = price.cost(&Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() });
        assert_eq!(call, Cost(500));
        let total = (0..10_000).fold(Cost::default(), |sum, _| sum + call);
        assert_eq!(serde_json::to_string(&total).unwrap(), "0.005");
        assert_eq!(serde_json::from_str::<Cost>("0.005").unwrap(), total);
        assert_eq!(serde_json::from_str::<Cost>("-1").unwrap(), Cost(0));
    }

    #[test]
    fn cached_input_has_its_own_price() {
        let usage = Usage {
            input_tokens: 3_000_000,
            cached_tokens: 1_000_000,
            output_tokens: 500_000,
            reasoning_tokens: 9,
            cost: None,
        };
        let check = |cached: Option<f64>, expected: f64| {
            assert_eq!(Price { input: 2.0, cached, output: 8.0 }.of(&usage), expected);
        };
        check(Some(0.5), 8.5);
        check(None, 10.0);
    }
}
