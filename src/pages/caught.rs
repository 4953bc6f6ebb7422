//! A thread for parsers that may panic or nest deeply: both cost one document. Whatever ends a process is left to the
//! process the parser runs in.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
    thread,
};

use super::Unreadable;

const THREAD: &str = "fathom-parser";
/// What nests so deeply that this is too little ends the process.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Runs `work` on a thread with a large stack and waits for it. Blocking.
///
/// # Errors
/// [`Unreadable`] when it panicked.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Unreadable> {
    keep_panics_off_stderr();
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(THREAD.into()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| Unreadable::new(format!("there is no thread to read it: {error}")))?;
        thread.join().map_err(|_| Unreadable::new("could not read it"))
    })
}

/// Runs a piece of a parser; `None` if it panicked. Silent only within [`run`].
pub(super) fn catch<T>(piece: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(piece)).ok()
}

/// Chains a hook before the present one that is silent for our own threads: the command line draws on stderr.
fn keep_panics_off_stderr() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match thread::current().name() {
            Some(THREAD) => {}
            _ => usual(info),
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_within() {
        assert_eq!(run(|| 7), Ok(7));
        assert!(run(|| panic!("as parsers do")).is_err());
        assert_eq!(run(|| catch(|| panic!("in a piece"))), Ok(None::<()>));
    }
}
