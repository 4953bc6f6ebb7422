//! Holds functions that eat text to work in proportion to its length. Tests only.
//!
//! What is compared is the processor time of the thread that works, so that whatever else the machine does stands
//! outside; and the best of several rounds, since caches and other processors' turns only ever add to it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How many times as long the larger input is.
const TIMES: usize = 8;
/// How many times the work may grow for each time that the input grows: eight times the input may take twelve times the
/// work, where quadratic work takes 64 times.
const MOST: f64 = 12.0 / 8.0;
const ROUNDS: usize = 12;
/// What is over so soon is fast enough, whatever the clock says.
const TRIFLE: Duration = Duration::from_millis(2);

/// Feeds `eat` texts of so many and of eight times so many bytes, made of `shape` repeated.
pub fn check(shape: &str, bytes: usize, mut eat: impl FnMut(&str)) {
    let small = shape.repeat(bytes.div_ceil(shape.len()));
    let large = small.repeat(TIMES);
    let mut work = |text: &str, times: usize| {
        let begun = processor_time();
        (0..times).for_each(|_| eat(text));
        processor_time().saturating_sub(begun)
    };
    let (mut least, mut most) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        least = least.min(work(&small, TIMES));
        most = most.min(work(&large, 1));
        if most <= TRIFLE || most.as_secs_f64() <= MOST * least.as_secs_f64() {
            return;
        }
    }
    panic!("{shape:?}: {least:?} for {TIMES} times {} bytes, {most:?} for all at once", small.len());
}

/// Returns the time that this thread has spent on a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[test]
#[should_panic(expected = "for all at once")]
fn work_that_grows_with_the_square_is_found() {
    let quadratic = |text: &str| {
        let sum: usize =
            (0..text.len()).map(|at| text.as_bytes()[..at].iter().filter(|&&byte| byte == b'b').count()).sum();
        assert_eq!(sum, 0);
    };
    check("a", 1_000, quadratic);
}
