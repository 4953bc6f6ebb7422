//! Credentials that end by themselves: got when they are needed, by one call for all, and kept while they count.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Refused;

/// How long before their end credentials are renewed.
const AHEAD: Duration = Duration::from_secs(300);
/// How long credentials are used at least, however short their life is said to be.
const LEAST_LIFE: Duration = Duration::from_secs(30);
/// How long a failure to get some is that of all who wait for them, so that they do not fail one after the other.
const FAILURE_COUNTS: Duration = Duration::from_secs(1);
/// The same where nobody answered while there are some that count: nobody needs others at once, and each attempt may
/// take its whole time.
const RENEWAL_RESTS: Duration = Duration::from_secs(30);

/// What was got, and for how long it may be used.
#[derive(Clone, Debug)]
pub(super) struct Fresh<T> {
    pub value: T,
    pub renew_in: Duration,
    /// Until then it is used when no other can be had.
    pub ends_in: Duration,
}

#[derive(Debug)]
pub(super) struct CredentialCache<T> {
    /// Held by the call that gets it, so that one does.
    getting: tokio::sync::Mutex<()>,
    /// Locked for a look or a change only, as the next.
    held: Mutex<Option<Cached<T>>>,
    failed: Mutex<Option<(Instant, Refused)>>,
}

#[derive(Clone, Debug)]
struct Cached<T> {
    value: T,
    renew_at: Instant,
    ends_at: Instant,
}

impl<T> Fresh<T> {
    /// Makes a value that ends after `life`, and is renewed before.
    pub fn ending_in(value: T, life: Duration) -> Self {
        Self { value, renew_in: life.saturating_sub(AHEAD).max(LEAST_LIFE), ends_in: life }
    }
}

impl<T> Default for CredentialCache<T> {
    fn default() -> Self {
        Self { getting: tokio::sync::Mutex::default(), held: Mutex::default(), failed: Mutex::default() }
    }
}

impl<T: Clone> CredentialCache<T> {
    /// Returns what counts; what is about to end is renewed by `get` first. While nobody who could renew it answers, it
    /// is used to its end.
    ///
    /// # Errors
    /// Those of `get`.
    ///
    /// # Cancel safety
    /// Dropping the future gives up; the next one begins again.
    pub async fn current(&self, get: impl Future<Output = Result<Fresh<T>, Refused>>) -> Result<T, Refused> {
        if let Some(value) = self.held(|held| held.renew_at) {
            return Ok(value);
        }
        let _getting = self.getting.lock().await;
        if let Some(value) = self.held(|held| held.renew_at) {
            return Ok(value);
        }
        let got = match self.failed_lately() {
            Some(refused) => Err(refused),
            None => get.await.inspect_err(|refused| *self.failed.lock() = Some((Instant::now(), refused.clone()))),
        };
        match got {
            Ok(fresh) => Ok(self.keep(fresh)),
            // What is held counts to its end, whatever is wrong with its successor.
            Err(refused) => self.held(|held| held.ends_at).ok_or(refused),
        }
    }

    pub fn keep(&self, fresh: Fresh<T>) -> T {
        let now = Instant::now();
        let (renew_at, ends_at) = (now + fresh.renew_in, now + fresh.ends_in);
        *self.held.lock() = Some(Cached { value: fresh.value.clone(), renew_at, ends_at });
        fresh.value
    }

    /// Ends the use of what is kept; it stays known, so that answers which quote it are still shown without it. Returns
    /// whether there was something.
    pub fn forget(&self) -> bool {
        let mut held = self.held.lock();
        if let Some(held) = &mut *held {
            (held.renew_at, held.ends_at) = (Instant::now(), Instant::now());
        }
        held.is_some()
    }

    /// Returns what was got last, whether it still counts or not.
    pub fn last(&self) -> Option<T> {
        self.held.lock().as_ref().map(|held| held.value.clone())
    }

    fn held(&self, until: fn(&Cached<T>) -> Instant) -> Option<T> {
        let held = self.held.lock();
        held.as_ref().filter(|held| Instant::now() < until(held)).map(|held| held.value.clone())
    }

    fn failed_lately(&self) -> Option<Refused> {
        let still_counts = self.held(|held| held.ends_at).is_some();
        let failed = self.failed.lock();
        let (at, refused) = failed.as_ref()?;
        let is_away = matches!(refused, Refused::Unreachable(_));
        let counts = if is_away && still_counts { RENEWAL_RESTS } else { FAILURE_COUNTS };
        (at.elapsed() < counts).then(|| refused.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    /// Creates a cache of credentials that are to be renewed, and end after `ends_in`.
    fn old(ends_in: Duration) -> CredentialCache<&'static str> {
        let kept = CredentialCache::default();
        kept.keep(Fresh { value: "old", renew_in: Duration::ZERO, ends_in });
        kept
    }

    async fn away() -> Result<Fresh<&'static str>, Refused> {
        Err(Refused::Unreachable("nobody".to_owned()))
    }

    #[tokio::test]
    async fn what_cannot_be_renewed_is_used_to_its_end() {
        let kept = old(Duration::from_secs(60));
        assert_eq!(kept.current(away()).await, Ok("old"));
        kept.forget();
        assert!(matches!(kept.current(away()).await, Err(Refused::Unreachable(_))), "what was refused is not used");
        assert_eq!(kept.last(), Some("old"), "and stays known");
    }

    #[tokio::test]
    async fn credentials_that_were_replaced_are_used_at_once() {
        let kept = old(Duration::from_secs(60));
        let refused = async { Err(Refused::Credentials("gone".to_owned())) };
        assert_eq!(kept.current(refused).await, Ok("old"), "it counts to its end");
        kept.failed.lock().as_mut().unwrap().0 = Instant::now().checked_sub(FAILURE_COUNTS).unwrap();
        let fresh = Fresh::ending_in("new", Duration::from_secs(3_600));
        assert_eq!(kept.current(ready(Ok(fresh))).await, Ok("new"));
    }

    #[tokio::test]
    async fn a_renewal_that_failed_is_not_waited_for_again_at_once() {
        let kept = old(Duration::from_secs(60));
        assert_eq!(kept.current(away()).await, Ok("old"));
        assert_eq!(kept.current(std::future::pending()).await, Ok("old"));
        kept.failed.lock().as_mut().unwrap().0 = Instant::now().checked_sub(RENEWAL_RESTS).unwrap();
        let fresh = Fresh::ending_in("new", Duration::from_secs(3_600));
        assert_eq!(kept.current(ready(Ok(fresh))).await, Ok("new"));
        assert_eq!(kept.current(std::future::pending()).await, Ok("new"));
    }

    #[test]
    fn what_ends_is_renewed_before() {
        let check = |life: u64, renew_in: u64| {
            let fresh = Fresh::ending_in((), Duration::from_secs(life));
            assert_eq!((fresh.renew_in.as_secs(), fresh.ends_in.as_secs()), (renew_in, life));
        };
        check(3_600, 3_300);
        check(320, 30);
        check(0, 30);
    }
}
