//! Hands over to the command line; nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before there is a runtime: its threads would be a large part of the memory a parser process may have.
    match fathom::cli::parse_worker() {
        Some(exit) => exit,
        None => run(),
    }
}

#[tokio::main]
async fn run() -> ExitCode {
    fathom::cli::run().await
}
