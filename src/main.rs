//! Hands over to the command line; nothing else.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fathom::cli::run().await
}
