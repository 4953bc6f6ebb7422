//! What the process tells its operator: the log.
//!
//! Started once, after the settings are read.

use std::fmt;

use secrecy::SecretString;
use tracing_subscriber::EnvFilter;
use url::Url;

/// How the log looks and what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Directives; `None`: the command decides.
    pub filter: Option<String>,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    /// One object a line.
    Json,
}

/// Where traces go.
#[derive(Clone, Default)]
pub struct TraceSettings {
    /// Complete; `None`: there are no traces.
    pub endpoint: Option<Url>,
    pub headers: Vec<(String, SecretString)>,
    pub service_name: String,
    /// May spans hold prompts, answers and tool results?
    pub content: bool,
}

impl fmt::Debug for TraceSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may carry a password, as headers carry keys.
        formatter.debug_struct("TraceSettings").field("service_name", &self.service_name).finish_non_exhaustive()
    }
}

/// Are these directives of a filter?
pub fn is_filter(text: &str) -> bool {
    EnvFilter::try_new(text).is_ok()
}

/// Starts the log on standard error. A second start in a process changes nothing.
pub fn start(log: &LogSettings, default_filter: &str) {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter(log.filter.as_deref().unwrap_or(default_filter)))
        .with_writer(std::io::stderr);
    // Fails only when there is a log already, as in tests.
    let _ = match log.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}

/// genai is never heard: it would print the bodies of answers.
fn filter(directives: &str) -> EnvFilter {
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("error"));
    match "genai=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    }
}
