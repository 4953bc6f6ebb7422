//! Starts tracing, hands over to the command line; nothing else.

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_env_filter(filter()).with_writer(std::io::stderr).init();
    // Each call in flight is an open connection, and most systems start processes with room for 1024 although they may
    // ask for more. Where even that is too little, calls fail to connect and are tried again.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
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
