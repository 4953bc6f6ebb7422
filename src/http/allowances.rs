//! What is left of a sender's limits, as headers (`RateLimit-Policy` and `RateLimit`,
//! draft-ietf-httpapi-ratelimit-headers-10).

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::domain::{Allowance, Limited};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");
/// Billionths of a dollar in a cent.
const CENT: u64 = 10_000_000;

/// Says what the limits are and what is left of them.
pub fn append(headers: &mut HeaderMap, allowances: &[Allowance]) {
    for allowance in allowances {
        if let (Ok(policy), Ok(left)) =
            (HeaderValue::try_from(policy(allowance)), HeaderValue::try_from(left(allowance)))
        {
            headers.append(POLICY, policy);
            headers.append(LEFT, left);
        }
    }
}

/// Renders the policy of an allowance, as in `"runs-per-day";q=20;w=86400`. Money is in cents.
fn policy(allowance: &Allowance) -> String {
    let unit = match allowance.limited {
        Limited::RequestsPerMinute => "",
        Limited::RunsAtOnce | Limited::RunsPerDay => ";qu=\"runs\"",
        Limited::TokensPerDay | Limited::TokensPerMonth => ";qu=\"tokens\"",
        Limited::CostPerDay | Limited::CostPerMonth => ";qu=\"cents\"",
    };
    let window = allowance.window().map(|(whole, _)| format!(";w={}", whole.as_secs())).unwrap_or_default();
    format!("\"{}\";q={}{unit}{window}", allowance.name(), counted_in(allowance, allowance.quota))
}

/// Renders what is left of an allowance, as in `"runs-per-day";r=7;t=3600`.
fn left(allowance: &Allowance) -> String {
    let resets = allowance.window().map(|(_, left)| format!(";t={}", left.as_secs() + 1)).unwrap_or_default();
    format!("\"{}\";r={}{resets}", allowance.name(), counted_in(allowance, allowance.left))
}

fn counted_in(allowance: &Allowance, amount: u64) -> u64 {
    if allowance.limited.is_money() { amount / CENT } else { amount }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn headers_say_what_is_left() {
        let at = Timestamp(1_795_239_286_123);
        let check = |limited, of_key, quota, left_of_it, expected: [&str; 2]| {
            let allowance = Allowance { limited, of_key, quota, left: left_of_it, at };
            assert_eq!([policy(&allowance), left(&allowance)], expected);
        };
        let runs = ["\"key-runs-per-day\";q=5;qu=\"runs\";w=86400", "\"key-runs-per-day\";r=2;t=66314"];
        check(Limited::RunsPerDay, true, 5, 2, runs);
        let once = ["\"runs-at-once\";q=3;qu=\"runs\"", "\"runs-at-once\";r=0"];
        check(Limited::RunsAtOnce, false, 3, 0, once);
        let money = ["\"cost-per-month\";q=250;qu=\"cents\";w=2592000", "\"cost-per-month\";r=199;t=843914"];
        check(Limited::CostPerMonth, false, 2_500_000_000, 1_999_999_999, money);
        let requests = ["\"requests-per-minute\";q=60;w=60", "\"requests-per-minute\";r=59;t=14"];
        check(Limited::RequestsPerMinute, false, 60, 59, requests);
    }
}
