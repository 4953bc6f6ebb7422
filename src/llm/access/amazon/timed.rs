//! Credentials that count for a time.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use time::OffsetDateTime;

use crate::llm::access::credential_cache::Fresh;

/// The longest life that is believed.
const LONGEST_LIFE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Credentials, and how long they are used where they do not say it themselves.
#[derive(Clone)]
pub(super) struct TimedCredentials {
    pub credentials: Credentials,
    pub counts_for: Duration,
}

impl TimedCredentials {
    pub fn fresh(self) -> Fresh<Credentials> {
        let left = |end: SystemTime| end.duration_since(OffsetDateTime::now_utc().into()).unwrap_or_default();
        match self.credentials.expiry().map(left) {
            Some(left) => Fresh::ending_in(self.credentials, left.min(LONGEST_LIFE)),
            None => Fresh { value: self.credentials, renew_in: self.counts_for, ends_in: self.counts_for },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_renewed_before_their_end() {
        let check = |end: Option<u64>, renew_in: u64, ends_in: u64| {
            let counts_for = Duration::from_secs(60);
            let end_at = end.map(|end| SystemTime::from(OffsetDateTime::now_utc()) + Duration::from_secs(end));
            let credentials = Credentials::new("AKIA1", "s1", None, end_at, "test");
            let fresh = TimedCredentials { credentials, counts_for }.fresh();
            let near = |left: Duration, seconds: u64| {
                left <= Duration::from_secs(seconds) && left + Duration::from_secs(5) >= Duration::from_secs(seconds)
            };
            assert!(near(fresh.renew_in, renew_in) && near(fresh.ends_in, ends_in), "{end:?}: {fresh:?}");
        };
        check(Some(3_600), 3_300, 3_600);
        check(Some(320), 30, 320);
        check(Some(0), 30, 0);
        check(None, 60, 60);
        check(Some(1 << 40), LONGEST_LIFE.as_secs() - 300, LONGEST_LIFE.as_secs());
    }
}
