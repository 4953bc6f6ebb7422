//! Starts tracing, hands over to the command line; nothing else.

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_env_filter(filter()).with_writer(std::io::stderr).init();
    fathom::cli::run().await
}

/// `FATHOM_LOG`, else errors only. genai is never heard: it would print the bodies of answers.
fn filter() -> EnvFilter {
    let filter = EnvFilter::try_from_env("FATHOM_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    match "genai=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    }
}
