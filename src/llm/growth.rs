//! Holds functions that eat text to time in proportion to its length.

use std::time::{Duration, Instant};

/// Bytes of the smaller input.
const SMALL: usize = 96 * 1024;
/// Eight times the text may take so much more time; a quadratic function takes 64 times as much.
const MOST: f64 = 16.0;
/// The best of so many rounds counts, since a busy machine only ever makes things slower.
const ROUNDS: usize = 12;
/// What is over so soon is fast enough, whatever the clock says.
const TRIFLE: Duration = Duration::from_millis(4);

/// Feeds `eat` texts of n and 8n bytes, made of `shape` repeated.
pub(super) fn check(shape: &str, mut eat: impl FnMut(&str)) {
    let small = shape.repeat(SMALL.div_ceil(shape.len()));
    let large = shape.repeat(8 * SMALL.div_ceil(shape.len()));
    let mut time = |text: &str| {
        let begun = Instant::now();
        eat(text);
        begun.elapsed()
    };
    let (mut least, mut most) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        least = least.min(time(&small));
        most = most.min(time(&large));
        if most <= TRIFLE || most.as_secs_f64() <= MOST * least.as_secs_f64() {
            return;
        }
    }
    panic!("{shape:?}: {least:?} for {} bytes, {most:?} for {}", small.len(), large.len());
}
