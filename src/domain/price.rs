//! What a model's tokens cost. Prices are data: those of the catalogue (`llm/catalogue.toml`) and of the settings file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::run::Usage;

/// The price of one model, in dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Input that the provider had in its cache; absent: as any input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Input that the provider writes into its cache; absent: as any input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Reasoning included.
    pub output: f64,
    /// A thousand web searches that the provider makes itself; absent: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
    /// A higher price for long prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrompt>,
}

impl Price {
    /// Multiplies every price by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            input: self.input * factor,
            cached: self.cached.map(|price| price * factor),
            cache_write: self.cache_write.map(|price| price * factor),
            output: self.output * factor,
            search: self.search.map(|price| price * factor),
            long: self.long,
        }
    }
}

/// How much more a call costs whose prompt is longer than `above` tokens: all of it, not just what is above.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrompt {
    pub above: u64,
    /// Factor on everything that is read, from or into the cache too.
    pub input: f64,
    pub output: f64,
}

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

    /// Returns what one call cost by what its provider says, in dollars; `None` for what is no sum of money.
    pub fn reported(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && dollars >= 0.0).then(|| Self::of_dollars(dollars).min(Self::MOST))
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
    /// Returns what one call cost that used this; `None` when it searched and the price of that is not known.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        // Nobody uses so many tokens that a float would not count them.
        let millions = |tokens: u64| tokens as f64 / 1e6;
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let read = millions(usage.input_tokens - cached - written) * self.input
            + millions(cached) * self.cached.unwrap_or(self.input)
            + millions(written) * self.cache_write.unwrap_or(self.input);
        let wrote = millions(usage.output_tokens) * self.output;
        let searched = match usage.searches {
            0 => 0.0,
            searches => self.search? * searches as f64 / 1e3,
        };
        let dollars = searched
            + match self.long.filter(|long| usage.input_tokens > long.above) {
                Some(long) => read * long.input + wrote * long.output,
                None => read + wrote,
            };
        Some(Cost::of_dollars(dollars).min(Cost::MOST))
    }

    /// Returns whether each number of it is a price.
    pub fn is_sound(&self) -> bool {
        let factors = self.long.map(|long| [long.input, long.output]).into_iter().flatten();
        let prices = [Some(self.input), self.cached, self.cache_write, Some(self.output), self.search];
        prices.into_iter().flatten().chain(factors).all(|number| number.is_finite() && number >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_dollars_in_json_and_adds_up_exactly() {
        let price = Price { input: 0.1, output: 0.4, ..Price::default() };
        let call = price.cost(&Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() });
        let call = call.expect("it did not search");
        assert_eq!(call, Cost(500));
        let total = (0..10_000).fold(Cost::default(), |sum, _| sum + call);
        assert_eq!(serde_json::to_string(&total).unwrap(), "0.005");
        assert_eq!(serde_json::from_str::<Cost>("0.005").unwrap(), total);
        assert_eq!(serde_json::from_str::<Cost>("-1").unwrap(), Cost(0));
        assert_eq!(
            (Cost::reported(-1.0), Cost::reported(f64::NAN), Cost::reported(0.5)),
            (None, None, Some(Cost(500_000_000)))
        );
    }

    #[test]
    fn what_the_cache_gives_and_takes_has_prices_of_its_own() {
        let usage = Usage {
            input_tokens: 4_000_000,
            cached_tokens: 1_000_000,
            cache_write_tokens: 1_000_000,
            output_tokens: 500_000,
            ..Usage::default()
        };
        let check = |cached: Option<f64>, cache_write: Option<f64>, expected: f64| {
            let price = Price { input: 2.0, cached, cache_write, output: 8.0, ..Price::default() };
            assert_eq!(price.cost(&usage).map(Cost::dollars), Some(expected));
        };
        check(Some(0.5), None, 10.5);
        check(None, Some(2.5), 12.5);
        check(None, None, 12.0);
    }

    #[test]
    fn searches_of_a_provider_cost_what_they_cost_or_nobody_knows() {
        let usage = Usage { input_tokens: 1_000_000, searches: 3, ..Usage::default() };
        let price = |search| Price { input: 2.0, search, ..Price::default() };
        assert_eq!(price(Some(10.0)).cost(&usage).map(Cost::dollars), Some(2.03));
        assert_eq!(price(None).cost(&usage), None);
    }

    #[test]
    fn a_prompt_above_the_step_costs_more_as_a_whole() {
        let long = Some(LongPrompt { above: 200_000, input: 2.0, output: 1.5 });
        let price = Price { input: 1.0, output: 10.0, long, ..Price::default() };
        let cost = |input_tokens| {
            price.cost(&Usage { input_tokens, output_tokens: 100_000, ..Usage::default() }).unwrap().dollars()
        };
        assert_eq!((cost(200_000), cost(300_000)), (1.2, 2.1));
    }
}
