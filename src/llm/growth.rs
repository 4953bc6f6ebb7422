//! Holds functions that eat text to time in proportion to its length.

use std::time::{Duration, Instant};

/// Bytes of the smaller input.
const SMALL: usize = 96 * 1024;
/// How many times as long the larger one is.
const TIMES: usize = 8;
/// The larger one may take so many times as long as all its bytes do in smaller ones; for a function whose time grows
/// with the square it is eight times.
const MOST: f64 = 2.0;
/// The best of so many rounds counts, since a busy machine only ever makes things slower. Both sides take about as long,
/// so that neither is interrupted more often.
const ROUNDS: usize = 40;
/// What is over so soon is fast enough, whatever the clock says.
const TRIFLE: Duration = Duration::from_millis(4);

/// Feeds `eat` texts of n and 8n bytes, made of `shape` repeated.
pub(super) fn check(shape: &str, mut eat: impl FnMut(&str)) {
    let small = shape.repeat(SMALL.div_ceil(shape.len()));
    let large = small.repeat(TIMES);
    let mut time = |text: &str, times: usize| {
        let begun = Instant::now();
        (0..times).for_each(|_| eat(text));
        begun.elapsed()
    };
    let (mut least, mut most) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        least = least.min(time(&small, TIMES));
        most = most.min(time(&large, 1));
        if most <= TRIFLE || most.as_secs_f64() <= MOST * least.as_secs_f64() {
            return;
        }
    }
    panic!("{shape:?}: {least:?} for {TIMES} times {} bytes, {most:?} for all at once", small.len());
}
