//! What is logged on this thread, for tests.

use std::{io, sync::Arc};

use parking_lot::Mutex;
use tracing::subscriber::DefaultGuard;

/// Collects lines from its creation until it is dropped.
pub struct Logged {
    lines: Lines,
    _until: DefaultGuard,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Logged {
    pub fn begin() -> Self {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        Self { lines, _until: tracing::subscriber::set_default(subscriber) }
    }

    /// Returns what came since it was last asked for.
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.lines.0.lock())).expect("lines are text")
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
