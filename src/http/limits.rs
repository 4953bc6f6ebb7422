//! How many requests a minute owners and keys may send to this process; `allowances.rs` says what is left.
//!
//! Runs are counted in the database, where they are created; requests are not, since that would cost each of them a
//! write.

use std::{collections::HashMap, convert::Infallible};

use axum::{
    extract::{FromRequestParts as _, Request, State as Shared},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;

use super::{State, allowances::append, error::ApiError};
use crate::{
    config::Authentication,
    domain::{Allowance, ApiKeyId, Caller, Limited, Owner, Timestamp},
};

/// Who sent something in this minute; all are forgotten when there are more.
const MAX_COUNTED: usize = 100_000;

/// Whose requests are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Owner(Owner),
    Key(ApiKeyId),
}

/// The requests of this minute. Locked for counting only.
#[derive(Debug, Default)]
pub struct Requests(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    began: i64,
    counts: HashMap<Subject, u64>,
}

/// A number of requests that somebody may send in a minute.
#[derive(Clone, Debug)]
struct Quota {
    subject: Subject,
    requests: u64,
}

impl Requests {
    /// Counts a request for each of these, unless it is one too many for one of them: then for none. What each has left
    /// afterwards; `None` where there was nothing left.
    fn count(&self, quotas: &[Quota], now: Timestamp) -> Vec<Option<u64>> {
        let mut minute = self.0.lock();
        if minute.began != now.minute().0 || minute.counts.len() >= MAX_COUNTED {
            *minute = Minute { began: now.minute().0, counts: HashMap::new() };
        }
        let left = |quota: &Quota| {
            let sent = minute.counts.get(&quota.subject).copied().unwrap_or(0);
            quota.requests.checked_sub(sent).filter(|left| *left > 0)
        };
        let left: Vec<_> = quotas.iter().map(left).collect();
        if left.iter().any(Option::is_none) {
            return left;
        }
        for quota in quotas {
            *minute.counts.entry(quota.subject.clone()).or_default() += 1;
        }
        left.into_iter().map(|left| left.map(|left| left - 1)).collect()
    }
}

/// Counts a request of an owner or key that may send so many a minute, and refuses those beyond.
pub async fn count(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let Ok::<_, Infallible>(caller) = Caller::from_request_parts(&mut parts, &state).await;
    let mut allowances = counted(&state, &caller);
    // The first one says why.
    allowances.sort_by_key(|(_, let_in)| *let_in);
    if allowances.iter().any(|(_, let_in)| !let_in) {
        let allowances: Vec<_> = allowances.into_iter().map(|(allowance, _)| allowance).collect();
        return ApiError::rate_limited(allowances).into_response();
    }
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let allowances: Vec<_> = allowances.into_iter().map(|(allowance, _)| allowance).collect();
    append(response.headers_mut(), &allowances);
    response
}

/// Counts each limit on this caller's requests, and says whether it lets this one in.
fn counted(state: &State, caller: &Caller) -> Vec<(Allowance, bool)> {
    // Where keys are asked for, who has none yet is nobody's owner: strangers would lock out one who is.
    let is_known = caller.key.is_some() || state.settings.authentication == Authentication::None;
    let of_owner = state.runs.limits_of_owners().requests_per_minute.filter(|_| is_known);
    let of_owner = of_owner.map(|requests| Quota { subject: Subject::Owner(caller.owner.clone()), requests });
    let of_key = caller
        .key
        .as_ref()
        .and_then(|key| Some(Quota { subject: Subject::Key(key.id), requests: key.limits.requests_per_minute? }));
    let (quotas, at) = ([of_key, of_owner].into_iter().flatten().collect::<Vec<_>>(), Timestamp::now());
    let left = state.requests.count(&quotas, at);
    let allowance = |(quota, left): (Quota, Option<u64>)| {
        let of_key = matches!(quota.subject, Subject::Key(_));
        let limited = Limited::RequestsPerMinute;
        (Allowance { limited, of_key, quota: quota.requests, left: left.unwrap_or(0), at }, left.is_some())
    };
    quotas.into_iter().zip(left).map(allowance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_for_a_minute() {
        let (requests, at) = (Requests::default(), Timestamp(1_795_239_286_123));
        let quota = |subject, requests| Quota { subject, requests };
        let count = |at| requests.count(&[quota(Subject::Owner(Owner::local()), 2)], at)[0];
        assert_eq!([count(at), count(at), count(at)], [Some(1), Some(0), None]);
        let other = quota(Subject::Key(ApiKeyId::new()), 2);
        assert_eq!(requests.count(&[other], at), [Some(1)], "others have their own");
        assert_eq!(count(at.plus(std::time::Duration::from_secs(60))), Some(1));
    }

    /// A key that goes on after its last request takes nothing from its owner's other keys, nor the other way round.
    #[test]
    fn a_refused_request_counts_for_nobody() {
        let (requests, at) = (Requests::default(), Timestamp(1_795_239_286_123));
        let (key, owner) = (Subject::Key(ApiKeyId::new()), Subject::Owner(Owner::local()));
        let quotas = |of_key, of_owner| {
            [Quota { subject: key.clone(), requests: of_key }, Quota { subject: owner.clone(), requests: of_owner }]
        };
        assert_eq!(requests.count(&quotas(1, 3), at), [Some(0), Some(2)]);
        assert_eq!(requests.count(&quotas(1, 3), at), [None, Some(2)]);
        assert_eq!(requests.count(&quotas(1, 3), at), [None, Some(2)]);
        assert_eq!(requests.count(&quotas(2, 1), at), [Some(1), None]);
        assert_eq!(requests.count(&quotas(2, 2), at), [Some(0), Some(0)], "the key had one left");
    }
}
