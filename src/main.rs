//! Hands over to the command line; nothing else.

use std::{process::ExitCode, time::Duration};

/// For threads that are about to end by themselves.
const LAST_WAIT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    // Before there is a runtime: its threads would be a large part of the memory a parser process may have.
    match fathom::cli::parse_worker() {
        Some(exit) => exit,
        None => run(),
    }
}

fn run() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fathom::cli::no_runtime(&error),
    };
    let exit = runtime.block_on(fathom::cli::run());
    // Threads that still read or compute end with the process; waiting for them could take for ever.
    runtime.shutdown_timeout(LAST_WAIT);
    exit
}
