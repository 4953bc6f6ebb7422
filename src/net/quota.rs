//! What is left of a provider's own limits, as the headers of its answers say, and failures that say nothing is.
//!
//! OpenAI, Groq and Azure: `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the reset as `6m0s`, `547ms` or
//! seconds. Anthropic: `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`, the
//! reset as a date. Both refill all the time: the reset is when all is there again.

use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest::header::HeaderMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The part of the whole, as one in so many, that is waited for where nothing is left.
const SHARE: u32 = 10;

/// Codes and types of failures for which a provider wants money, or somebody's consent to a higher limit.
const USED_UP: [&str; 12] = [
    "insufficient_quota",
    // Amazon's, with a 400.
    "ServiceQuotaExceededException",
    // LiteLLM's of keys, teams and users, with a 400, 402 or 429.
    "budget_exceeded",
    "billing_hard_limit_reached",
    "billing_error",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "exceeded_current_quota_error",
];
/// What some say in words alone: Anthropic of accounts and of limits that their owners set, in a 400; OpenRouter of its
/// free models until midnight (UTC), in a 429; xAI in a 403 or 429; LiteLLM of budgets, in a 400 or 429; Azure's
/// gateway of what its owner allots to each caller, in a 403.
const USED_UP_WORDS: [&str; 11] = [
    "credit balance is too low",
    "reached your specified API usage limits",
    "reached your specified workspace API usage limits",
    "free-models-per-day",
    "used all available credits or reached its monthly spending limit",
    "Budget has been exceeded!",
    "ExceededBudget:",
    "crossed budget:",
    "Max budget limit reached.",
    "Quota will be replenished in",
    "Token quota is exceeded.",
];
/// Words of a limit of the day or the month, in lower case: Bedrock's, Cerebras', Cohere's. OpenAI and Groq, whose
/// limits fill up again all the time, say how long to wait.
const LONG_LIMITS: [&str; 5] =
    ["tokens per day", "requests per day", "calls / month", "calls per month", "requests per month"];

/// What a vendor of plans has in place of such codes, in a 429: no money, a plan that is used up or over, an account
/// that is held back. The number between them is that of a model with too much to do, which passes.
const USED_UP_NUMBERS: [RangeInclusive<u64>; 3] = [1113..=1113, 1308..=1311, 1313..=1321];

/// Returns whether the number of a failure with status 429 says what [`is_used_up`] asks for.
pub fn is_used_up_by_number(number: u64) -> bool {
    USED_UP_NUMBERS.iter().any(|range| range.contains(&number))
}

/// Returns whether a failure says that a quota is used up which no wait of ours heals. `codes` are what the provider
/// calls it.
pub fn is_used_up<'a>(codes: impl IntoIterator<Item = &'a str>, message: &str) -> bool {
    codes.into_iter().any(|code| USED_UP.contains(&code)) || USED_UP_WORDS.iter().any(|words| message.contains(words))
}

/// Returns whether a failure with status 429 that names no wait speaks of a limit of the day or the month.
pub fn is_used_up_for_long(message: &str) -> bool {
    let message = message.to_lowercase();
    LONG_LIMITS.iter().any(|words| message.contains(words))
}

/// The headers that say how much is left of something, and when all of it is there again.
const LEFT: [(&str, &str); 6] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
];

/// How long to wait for each kind of which nothing is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    pub(super) waits: Vec<Duration>,
}

impl Quota {
    pub fn of(headers: &HeaderMap) -> Self {
        let word = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let wait = |(remaining, reset): &(&str, &str)| {
            let left: f64 = word(remaining)?.parse().ok()?;
            (left < 1.0).then(|| span(word(reset)?)).flatten().map(|reset| reset / SHARE)
        };
        Self { waits: LEFT.iter().filter_map(wait).collect() }
    }

    /// Returns how long nothing should be asked; `None`: something is left of everything.
    pub fn pause(&self) -> Option<Duration> {
        self.waits.iter().max().copied()
    }
}

/// Reads a length of time: `6m0s`, `547ms`, `1.5` for seconds, or the date of its end.
pub fn span(text: &str) -> Option<Duration> {
    if let Ok(date) = OffsetDateTime::parse(text, &Rfc3339) {
        return Duration::try_from(date - OffsetDateTime::now_utc()).ok();
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let (mut rest, mut total) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |next| end + next);
        let seconds = match &rest[end..unit] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = &rest[unit..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn spans_are_read_in_every_spelling() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(span(text).map(|d| d.as_millis() as u64), expected, "{text}")
        };
        check("6m0s", Some(360_000));
        check("547ms", Some(547));
        check("1h2m3.5s", Some(3_723_500));
        check("12", Some(12_000));
        check("0", Some(0));
        check("soon", None);
        check("5 apples", None);
        check("-3", None);
        check("1e400", None);
        check("18000000000000000000s18000000000000000000s", None);
        check("2020-01-01T00:00:00Z", None);
        check("9999-01-01T00:00:00Z", span("9999-01-01T00:00:00Z").map(|d| d.as_millis() as u64));
    }

    #[test]
    fn quotas_that_no_wait_heals_are_known_by_their_names() {
        for code in USED_UP {
            assert!(is_used_up(["rate_limit_error", code], ""), "{code}");
        }
        for words in [
            "Your credit balance is too low to access the API.",
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            "You have reached your specified workspace API usage limits. You will regain access on 2026-12-01.",
            "Your team t has either used all available credits or reached its monthly spending limit.",
            "Budget has been exceeded! Current cost: 26.075, Max budget: 0.25",
            "ExceededBudget: End User=u over budget. Spend=0.9, Budget=0.1",
            "No deployments available - crossed budget: Exceeded budget for deployment model_name: m",
            "Max budget limit reached.",
            "Out of call volume quota. Quota will be replenished in 01:23:45.",
            "Token quota is exceeded. Try again in 3 hours.",
        ] {
            assert!(is_used_up([], words), "{words}");
        }
        assert!(!is_used_up(["rate_limit_exceeded", "", "quota"], "insufficient_quota of minutes"));
    }

    #[test]
    fn only_what_is_used_up_is_waited_for() {
        let pause = |headers: &[(&'static str, &'static str)]| {
            let headers =
                headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            Quota::of(&headers.collect()).pause()
        };
        assert_eq!(pause(&[]), None);
        assert_eq!(pause(&[("x-ratelimit-remaining-tokens", "7"), ("x-ratelimit-reset-tokens", "6m0s")]), None);
        let used_up = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "30s")];
        assert_eq!(pause(&used_up), Some(Duration::from_secs(3)));
        assert_eq!(
            pause(&[("x-ratelimit-remaining-requests", "-2"), ("x-ratelimit-reset-requests", "40")]),
            Some(Duration::from_secs(4))
        );
        assert_eq!(pause(&[("x-ratelimit-remaining-requests", "0")]), None);
        let date = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2999-01-01T00:00:00Z"),
        ];
        assert!(pause(&date).unwrap() > Duration::from_secs(3_600));
    }
}
