//! A moment by both clocks of a machine: the one that runs evenly, and the one that is set.

use std::time::{Duration, Instant};

use super::Timestamp;

/// A moment of this process, as both clocks say. The even one stands still while the machine sleeps or a virtual one is
/// suspended; the other one may be set to any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    even: Instant,
    set: Timestamp,
}

impl Moment {
    pub fn now() -> Self {
        Self::at(Instant::now(), Timestamp::now())
    }

    /// Returns the moment that is this one by the even clock, and that one by the other.
    pub fn at(even: Instant, set: Timestamp) -> Self {
        Self { even, set }
    }

    /// Returns the moment so much later.
    pub fn plus(self, duration: Duration) -> Self {
        Self { even: self.even + duration, set: self.set.plus(duration) }
    }

    /// Returns whether it is over, by either clock.
    pub fn is_over(self) -> bool {
        let now = Self::now();
        now.even >= self.even || now.set >= self.set
    }

    /// Returns how much more, or less, has passed since `earlier` by the clock that is set.
    pub fn step_since(self, earlier: Self) -> Duration {
        let expected = earlier.set.plus(self.even - earlier.even);
        Duration::from_millis(self.set.since(expected).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_over_when_one_clock_says_so() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let now = Moment::now();
        assert!(!now.plus(minute).is_over() && now.is_over());
        let slept = Moment::at(Instant::now() + minute, Timestamp::now().minus(second));
        assert!(slept.is_over(), "the machine slept");
        let set_back = Moment::at(Instant::now(), Timestamp::now().plus(minute));
        assert!(set_back.is_over(), "the clock was set back");
    }

    #[test]
    fn a_step_is_what_the_clocks_differ_by() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let before = Moment::now();
        let after = |set: Timestamp| Moment::at(before.even + minute, set).step_since(before);
        assert_eq!(after(before.set.plus(minute)), Duration::ZERO);
        assert_eq!(after(before.set.plus(minute + second)), second);
        assert_eq!(after(before.set), minute, "it was set back");
    }
}
