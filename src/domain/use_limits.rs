//! What an owner or a key of the service may use, and what is left of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cost, Timestamp};

/// The most that an owner, or a key, may use; `None`: there is no such limit. In JSON only those that are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UseLimits {
    /// Runs that are queued or at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_at_once: Option<u64>,
    /// Runs that wait; those that can start at once do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_per_day: Option<u64>,
    /// Of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_month: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_day_usd: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_month_usd: Option<Cost>,
}

impl UseLimits {
    /// Returns whether anything is bounded that is counted when a run is created.
    pub fn bounds_runs(&self) -> bool {
        let without = Self { requests_per_minute: None, ..*self };
        without != Self::default()
    }

    /// Returns whether tokens or money are bounded.
    pub fn bounds_budget(&self) -> bool {
        self.tokens_per_day.is_some() || self.tokens_per_month.is_some() || self.bounds_money()
    }

    /// Returns whether money is bounded.
    pub fn bounds_money(&self) -> bool {
        self.cost_per_day_usd.is_some() || self.cost_per_month_usd.is_some()
    }

    /// Less is no run: the smallest value of the option `max_tokens`.
    pub const FEWEST_TOKENS: u64 = 10_000;
    /// The largest value that is taken for a number.
    pub const MOST: u64 = 1_000_000_000_000;
    /// The largest sum of money, in dollars.
    pub const MOST_DOLLARS: f64 = 1_000_000.0;

    /// Sets the limit of that name.
    ///
    /// # Errors
    /// What would be accepted.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let number = || {
            let number = value.as_u64().filter(|number| (1..=Self::MOST).contains(number));
            number.map(Some).ok_or_else(|| format!("{name} must be a whole number from 1 to {}", Self::MOST))
        };
        let sum = || {
            let sum = value.as_f64().filter(|sum| (0.01..=Self::MOST_DOLLARS).contains(sum));
            let expected = || format!("{name} must be a number of dollars from 0.01 to {}", Self::MOST_DOLLARS);
            sum.and_then(Cost::reported).map(Some).ok_or_else(expected)
        };
        match name {
            "runs_at_once" => self.runs_at_once = number()?,
            "queued_runs" => self.queued_runs = number()?,
            "runs_per_day" => self.runs_per_day = number()?,
            "requests_per_minute" => self.requests_per_minute = number()?,
            "tokens_per_day" => self.tokens_per_day = number()?,
            "tokens_per_month" => self.tokens_per_month = number()?,
            "cost_per_day_usd" => self.cost_per_day_usd = sum()?,
            "cost_per_month_usd" => self.cost_per_month_usd = sum()?,
            _ => return Err(format!("{name} is no limit; there are {}", Self::NAMES.join(", "))),
        }
        Ok(())
    }

    /// Every limit there is.
    pub const NAMES: [&str; 8] = [
        "runs_at_once",
        "queued_runs",
        "runs_per_day",
        "requests_per_minute",
        "tokens_per_day",
        "tokens_per_month",
        "cost_per_day_usd",
        "cost_per_month_usd",
    ];
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    RunsAtOnce,
    RunsPerDay,
    RequestsPerMinute,
    TokensPerDay,
    TokensPerMonth,
    CostPerDay,
    CostPerMonth,
}

impl Limited {
    /// Returns the name that headers and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::RunsAtOnce => "runs-at-once",
            Self::RunsPerDay => "runs-per-day",
            Self::RequestsPerMinute => "requests-per-minute",
            Self::TokensPerDay => "tokens-per-day",
            Self::TokensPerMonth => "tokens-per-month",
            Self::CostPerDay => "cost-per-day",
            Self::CostPerMonth => "cost-per-month",
        }
    }

    /// Returns whether it bounds what runs spend, not how many there are.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::TokensPerMonth | Self::CostPerDay | Self::CostPerMonth)
    }

    pub fn is_money(self) -> bool {
        matches!(self, Self::CostPerDay | Self::CostPerMonth)
    }

    /// Returns when its count began and begins again; `None` for what counts things that are there at the same time.
    pub fn window(self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        match self {
            Self::RunsAtOnce => None,
            Self::RequestsPerMinute => Some((now.minute(), now.minute().plus(Duration::from_secs(60)))),
            Self::RunsPerDay | Self::TokensPerDay | Self::CostPerDay => Some((now.day(), now.next_day())),
            Self::TokensPerMonth | Self::CostPerMonth => Some((now.month(), now.next_month())),
        }
    }
}

/// A limit, and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub limited: Limited,
    /// Whether it is a key's; otherwise it is its owner's.
    pub of_key: bool,
    /// Runs, requests or tokens; of money billionths of a dollar.
    pub quota: u64,
    pub left: u64,
    /// When it was looked at.
    pub at: Timestamp,
}

impl Allowance {
    /// Returns the name of the allowance, as in `runs-per-day` or `key-runs-per-day`.
    pub fn name(&self) -> String {
        format!("{}{}", if self.of_key { "key-" } else { "" }, self.limited.name())
    }

    /// Returns whether nothing is left that a run could be made with. The last hundredth of a budget is not worth one.
    pub fn is_used_up(&self) -> bool {
        match self.limited.is_budget() {
            true => self.left < (self.quota / 100).max(1),
            false => self.left == 0,
        }
    }

    /// Returns the part of a budget that one run gets: half of what is left, so that others can begin beside it.
    pub fn for_one_run(&self) -> u64 {
        self.left / 2
    }

    /// Returns the window's length, and how long it still lasts.
    pub fn window(&self) -> Option<(Duration, Duration)> {
        self.limited.window(self.at).map(|(from, to)| (to.after(from), to.after(self.at)))
    }

    /// Returns the limit in words.
    pub fn in_words(&self) -> String {
        let whose = if self.of_key { "this key" } else { "this owner" };
        match self.limited {
            Limited::RunsAtOnce => format!("{whose} may have {} runs at once", self.quota),
            Limited::RunsPerDay => format!("{whose} may start {} runs a day (UTC)", self.quota),
            Limited::RequestsPerMinute => format!("{whose} may send {} requests a minute", self.quota),
            Limited::TokensPerDay => format!("{whose} may use {} tokens a day (UTC)", self.quota),
            Limited::TokensPerMonth => format!("{whose} may use {} tokens a month (UTC)", self.quota),
            Limited::CostPerDay => format!("{whose} may spend ${} a day (UTC)", Cost(self.quota).dollars()),
            Limited::CostPerMonth => format!("{whose} may spend ${} a month (UTC)", Cost(self.quota).dollars()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_json_without_what_is_not_set_and_old_programs_read_new_ones() {
        let limits =
            UseLimits { runs_per_day: Some(5), cost_per_day_usd: Some(Cost(1_500_000_000)), ..UseLimits::default() };
        let json = serde_json::to_string(&limits).unwrap();
        assert_eq!(json, r#"{"runs_per_day":5,"cost_per_day_usd":1.5}"#);
        assert_eq!(serde_json::from_str::<UseLimits>(&json).unwrap(), limits);
        assert_eq!(serde_json::from_str::<UseLimits>(r#"{"runs_per_year":1}"#).unwrap(), UseLimits::default());
        assert!(limits.bounds_money() && limits.bounds_runs());
        assert!(!UseLimits { requests_per_minute: Some(1), ..UseLimits::default() }.bounds_runs());
    }

    #[test]
    fn each_limit_is_set_by_its_name_within_its_range() {
        let mut limits = UseLimits::default();
        for name in UseLimits::NAMES {
            limits.set(name, &json!(3)).unwrap();
            assert!(limits.set(name, &json!(0)).unwrap_err().starts_with(name), "{name}");
        }
        let names: Vec<_> = serde_json::to_value(limits).unwrap().as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, UseLimits::NAMES);
        assert!(limits.set("runs_per_year", &json!(1)).unwrap_err().contains("there are runs_at_once"));
        assert!(
            limits.set("runs_per_day", &json!(1.5)).is_err() && limits.set("cost_per_day_usd", &json!(2e6)).is_err()
        );
    }

    #[test]
    fn windows_end_with_the_day_and_the_month() {
        let at = Timestamp(1_795_239_286_123); // 2026-11-21T05:34:46.123Z
        let allowance = |limited| Allowance { limited, of_key: false, quota: 10, left: 1, at };
        let (day, left) = allowance(Limited::RunsPerDay).window().unwrap();
        assert_eq!((day.as_secs(), left.as_secs()), (86_400, 66_313));
        let (month, left) = allowance(Limited::CostPerMonth).window().unwrap();
        assert_eq!((month.as_secs(), left.as_secs()), (30 * 86_400, 9 * 86_400 + 66_313));
        assert_eq!(allowance(Limited::RunsAtOnce).window(), None);
        assert!(allowance(Limited::TokensPerDay).left == 1 && !allowance(Limited::TokensPerDay).is_used_up());
        assert!(Allowance { quota: 1_000, left: 9, ..allowance(Limited::TokensPerDay) }.is_used_up());
    }
}
