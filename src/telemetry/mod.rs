//! What the process tells its operator: a log, traces, metrics.
//!
//! Started once, after the settings are read; by their nature all three belong to the process, so rooms just speak
//! through [`spans`] and [`metrics`]. Nothing here disturbs a run: a collector that does not listen misses something,
//! that is all. `export.rs` carries traces to their collector.

mod export;
pub mod metrics;
pub mod spans;

use std::{borrow::Cow, fmt, io::IsTerminal as _, time::Duration};

use crate::domain::printable_log;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use secrecy::SecretString;
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, LevelFilter, filter_fn},
    layer::SubscriberExt,
    registry::LookupSpan,
};
use url::Url;

/// The target of the audit log.
const AUDIT: &str = "audit";
/// How long the last spans may take to reach their collector at the end of the process.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// How the log looks and what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Directives; `None`: the command decides.
    pub filter: Option<String>,
    pub format: LogFormat,
    /// Without colours, also on a terminal.
    pub is_plain: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    /// One object a line.
    Json,
}

/// The collector of traces, and how it is reached.
#[derive(Clone, Default)]
pub struct TraceSettings {
    /// Complete; `None`: there are no traces.
    pub endpoint: Option<Url>,
    pub headers: Vec<(String, SecretString)>,
    pub service_name: String,
    /// Whether spans may hold prompts, answers and tool results.
    pub content: bool,
}

impl fmt::Debug for TraceSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may carry a password, as headers carry keys.
        formatter.debug_struct("TraceSettings").field("service_name", &self.service_name).finish_non_exhaustive()
    }
}

/// Log and traces, as long as the process lives.
#[derive(Debug, Default)]
#[must_use = "what is not finished loses the last spans"]
pub struct Telemetry {
    tracer: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sends what is still to be sent, for five seconds at most.
    pub async fn finish(self) {
        let Some(tracer) = self.tracer else { return };
        // It blocks its thread, and the sending needs the others.
        let shut = tokio::task::spawn_blocking(move || tracer.shutdown_with_timeout(LAST_SPANS)).await;
        if !matches!(shut, Ok(Ok(()))) {
            tracing::warn!("the last spans did not reach the collector of traces");
        }
    }
}

/// Returns whether these are directives of a filter. A word alone is a level or names something of Fathom: the library
/// takes any other word for the name of a target, so that a level misspelt would turn the log off.
pub fn is_filter(text: &str) -> bool {
    let is_known = |directive: &str| {
        directive.contains(['=', '[', ':'])
            || directive.is_empty()
            || directive == AUDIT
            || directive.starts_with("fathom")
            || directive.parse::<LevelFilter>().is_ok()
    };
    text.split(',').all(|directive| is_known(directive.trim())) && EnvFilter::try_new(text).is_ok()
}

/// Starts the log on standard error, and traces if there is a collector. A second start in a process changes nothing.
///
/// # Errors
/// The traces cannot be sent with these settings: one sentence. The log is started nevertheless.
pub fn start(log: &LogSettings, traces: &TraceSettings, default_filter: &str) -> (Telemetry, Result<(), String>) {
    let (tracer, trouble) = match export::tracer(traces) {
        Ok(tracer) => (tracer, Ok(())),
        Err(trouble) => (None, Err(trouble)),
    };
    let layer = tracer.as_ref().map(|tracer| {
        // Attributes are those of the conventions and no others.
        let layer = tracing_opentelemetry::layer().with_tracer(tracer.tracer("fathom"));
        let layer = layer.with_location(false).with_threads(false).with_target(false).with_tracked_inactivity(false);
        layer.with_filter(filter_fn(|metadata| metadata.target() == spans::TARGET))
    });
    let directives = filter(log.filter.as_deref().unwrap_or(default_filter));
    let lines = lines(log).with_filter(
        directives.and(filter_fn(|metadata| !is_wire(metadata.target()) || *metadata.level() <= tracing::Level::WARN)),
    );
    let subscriber = tracing_subscriber::registry().with(layer).with(lines);
    // Fails only when there is a log already, as in tests.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        spans::allow_content(traces.content);
    }
    (Telemetry { tracer }, trouble)
}

fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(log: &LogSettings) -> Box<dyn Layer<S> + Send + Sync> {
    // Colours are for people: a file or a collector gets the bare text.
    let colours = !log.is_plain && std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Lines).with_ansi(colours);
    match log.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().with_current_span(false).boxed(),
    }
}

/// Returns whether the target's finer lines hold requests and answers, keys included; they are dropped whatever the
/// directives ask for.
fn is_wire(target: &str) -> bool {
    const WIRE: [&str; 7] = ["reqwest", "hyper", "hyper_util", "h2", "rustls", "tower_http", "opentelemetry_http"];
    WIRE.iter().any(|name| target.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

/// Standard error, for text that others had a hand in.
struct Lines;

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        std::io::stderr().lock().write_all(as_one_line(&printable_log(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Spells out the line breaks within what is logged at once, by which what others say could pass for a line of its own.
fn as_one_line(logged: &str) -> Cow<'_, str> {
    let (line, end) = logged.strip_suffix('\n').map_or((logged, ""), |line| (line, "\n"));
    match line.contains('\n') {
        false => logged.into(),
        true => format!("{}{end}", line.replace('\n', "\\n")).into(),
    }
}

/// Reads the directives. Spans of traces are not for the log, and neither is what the MCP SDK says of each connection,
/// session ids included; the audit log is always in it unless the directives name it.
fn filter(directives: &str) -> EnvFilter {
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("error"));
    let is_named = directives.split(',').any(|directive| directive.trim().split('=').next() == Some(AUDIT));
    let audit = (!is_named).then(|| format!("{AUDIT}=info"));
    let fixed = [format!("{}=off", spans::TARGET), "rmcp=off".to_owned()];
    fixed.iter().chain(&audit).filter_map(|directive| directive.parse().ok()).fold(filter, EnvFilter::add_directive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_at_once_is_one_line() {
        assert_eq!(as_one_line("a\n"), "a\n");
        assert_eq!(as_one_line("a\n2026 INFO audit: b\n"), "a\\n2026 INFO audit: b\n");
        assert_eq!(as_one_line("a\n\nb"), "a\\n\\nb");
    }

    #[test]
    fn what_carries_requests_is_known() {
        for target in ["hyper", "hyper::proto::h1::io", "h2::codec", "reqwest::connect", "hyper_util::client"] {
            assert!(is_wire(target), "{target}");
        }
        assert!(!is_wire("fathom::http") && !is_wire("h2o") && !is_wire("hyperion"));
    }

    #[test]
    fn some_are_never_heard() {
        for directives in ["trace", "fathom::spans=trace", "nonsense=loud"] {
            let filter = filter(directives).to_string();
            assert!(filter.contains("fathom::spans=off"), "{filter}");
        }
    }

    #[test]
    fn the_audit_log_is_kept_unless_it_is_named() {
        for (directives, level) in
            [("warn", "audit=info"), ("error,fathom=debug", "audit=info"), ("audit=off", "audit=off")]
        {
            let filter = filter(directives).to_string();
            assert!(filter.contains(level) && filter.matches("audit=").count() == 1, "{filter}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let settings = TraceSettings {
            endpoint: Some(Url::parse("http://me:s3cret@host/").unwrap()),
            headers: vec![("Authorization".to_owned(), "s3cret".into())],
            ..TraceSettings::default()
        };
        assert!(!format!("{settings:?}").contains("s3cret"));
    }
}
