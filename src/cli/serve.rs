//! `fathom serve`: the service, from its settings to its orderly end.

use std::{net::SocketAddr, time::Duration};

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Exit, complain, open_files, print, signals};
use crate::{
    app::App,
    config::{Authentication, Config, HttpSettings, shown_database},
    domain::{SearchFallback, options::MODEL_OPTIONS},
    http::{self, State},
    runs::{Dispatcher, Runs},
    search::ROWS,
    telemetry::metrics::{self, Metrics},
};

/// Beyond the grace: for what is still to be written and for the database to close.
const CLOSING: Duration = Duration::from_secs(5);

/// Serves until a signal says to stop; so many `files` may be open.
pub async fn run(mut config: Config, files: Option<u64>) -> Exit {
    let notice = open_files::fit(&mut config, files);
    config.notices.extend(notice);
    if let Some(message) = exposed(&config.http) {
        return print::usage(&message);
    }
    // Before the start, which may take long: the first process of a container has no other way to hear of a signal.
    // What is said of it is for the log, which a machine may read.
    let shutdown = CancellationToken::new();
    let limit = config.http.grace + 2 * CLOSING;
    let _signals = signals::listen(shutdown.clone(), |text| tracing::info!("{text}"), limit);
    // Before the documents are read, which counts already.
    let metrics = Metrics::install();
    expect_calls(&config);
    let (app, listener, address) = match shutdown.run_until_cancelled(prepare(&config)).await {
        Some(Ok(prepared)) => prepared,
        Some(Err(message)) => return print::usage(&message),
        // As asked; nothing was begun that had to be ended.
        None => return Exit::Success,
    };
    // A closed standard output is nobody's loss.
    let _ = print::output(&banner(&config, address));
    if let Err(trouble) = &metrics {
        complain(&format!("there will be no metrics: {trouble}"));
    }
    let ended = serve(&app, &config, listener, &shutdown, metrics.ok()).await;
    if tokio::time::timeout(CLOSING, app.close()).await.is_err() {
        tracing::warn!("the database did not close in time; nothing is lost");
    }
    match ended {
        Ended::AsAsked => Exit::Success,
        Ended::Early => Exit::Failed,
    }
}

/// Builds the app and binds the address.
async fn prepare(config: &Config) -> Result<(App, TcpListener, SocketAddr), String> {
    let app = App::build(config).await.map_err(|error| format!("{error:#}"))?;
    let listen = config.http.listen;
    let listener = TcpListener::bind(listen).await;
    let listener = listener.map_err(|error| format!("cannot listen on {listen}: {error}; see --listen"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok((app, listener, address))
}

/// Begins the series of the models and search engines that runs use by default, before the first run.
fn expect_calls(config: &Config) {
    let roles = MODEL_OPTIONS.into_iter().zip(config.options.roles());
    let models = roles.flat_map(|(option, models)| {
        let role = option.strip_suffix("_model").unwrap_or(option);
        models.iter().map(move |model| (role, model.clone()))
    });
    let of_runs = |name: &str| config.options.search_api.names().any(|chosen| chosen == name);
    metrics::expect(models, ROWS.iter().map(|row| row.name).filter(|name| of_runs(name)));
}

/// Returns why the service must not listen there; a header that a proxy sets keeps nobody out who goes past the proxy.
fn exposed(http: &HttpSettings) -> Option<String> {
    (!http.is_local() && !http.open && http.authentication == Authentication::None).then(|| {
        format!(
            "{} can be reached from other machines, and Fathom does not check who asks: set FATHOM_AUTHENTICATION=keys, or listen on 127.0.0.1 behind a proxy that does, or say --open (FATHOM_OPEN=true) if only the right people reach it",
            http.listen
        )
    })
}

/// How the service came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    AsAsked,
    /// A part of it ended by itself.
    Early,
}

/// Runs the claim loop and the sockets, side by side until both have ended, and watches the event log.
async fn serve(
    app: &App,
    config: &Config,
    listener: TcpListener,
    shutdown: &CancellationToken,
    metrics: Option<Metrics>,
) -> Ended {
    let state = State::new(app.runs.clone(), app.keys.clone(), config.http.clone(), shutdown.clone());
    let dispatcher = Dispatcher::new(app.runs.clone());
    let token = shutdown.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { dispatcher.run(&token).await });
    tasks.spawn(http::serve(listener, state));
    let (runs, token) = (app.runs.clone(), shutdown.clone());
    tasks.spawn(async move { token.run_until_cancelled(watch_log(&runs)).await.unwrap_or(()) });
    if let Some(metrics) = metrics {
        let token = shutdown.clone();
        tasks.spawn(async move { metrics.tend(&token).await });
    }
    let ended = until_shutdown(&mut tasks, shutdown).await;
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(config.http.grace + CLOSING, rest).await.is_err() {
        tracing::warn!("not everything ended within the grace; runs go on from their journals");
    }
    tasks.shutdown().await;
    ended
}

/// Waits until a part of the event log has ended by itself: its tasks belong to the app, which has them finish what is
/// to be written.
async fn watch_log(runs: &Runs) {
    let part = runs.log_ended().await;
    tracing::error!(part, "the event log ended by itself");
}

/// Waits for the signal to stop. A part that ends before it, as by a panic, stops the others: half a service would take
/// runs that it never works on.
async fn until_shutdown(tasks: &mut JoinSet<()>, shutdown: &CancellationToken) -> Ended {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Ended::AsAsked,
        // Losing this arm loses no task: `join_next` takes one out only when it returns it.
        Some(early) = tasks.join_next() => {
            let problem = early.err().map(|error| error.to_string());
            tracing::error!(problem, "a part of the service ended by itself; the service stops");
            shutdown.cancel();
            Ended::Early
        }
    }
}

/// Writes what this is, and what is missing.
fn banner(config: &Config, address: SocketAddr) -> String {
    let models: Vec<_> = config.options.distinct_models().into_iter().map(|model| model.to_string()).collect();
    let mut lines = vec![
        format!("fathom {} on http://{address}  (API: /docs, contract: /openapi.yaml)", env!("CARGO_PKG_VERSION")),
        format!("  database   {}", shown_database(&config.database)),
        format!("  models     {}", models.join(", ")),
        format!("  search     {}{}", config.options.search_api, stands_in(&config.options.search_fallback)),
        format!("  usable     {}", config.usable_names()),
    ];
    lines.extend(config.not_usable().map(|missing| format!("  not usable {missing}")));
    if config.options.search_api.names().next().is_none() && !config.options.has_mcp() {
        lines.push(format!("  note       questions are refused: {}", config.nothing_to_search()));
    }
    if let Some(file) = &config.file {
        lines.push(format!("  settings   {}", file.display()));
    }
    lines.extend(config.notices.iter().map(|notice| format!("  note       {notice}")));
    lines.join("\n") + "\n"
}

/// Returns what is searched should that fail.
fn stands_in(fallback: &SearchFallback) -> String {
    if fallback.is_none() { String::new() } else { format!("; when that fails: {fallback}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    /// As `fathom serve` would start with these variables.
    fn banner_with(variables: &[(&str, &str)]) -> String {
        let own = [("HOME", "/home/ada"), ("FATHOM_SEARCH_API", "none")];
        let given = |name: &str| variables.iter().chain(&own).find(|(key, _)| *key == name).map(|(_, value)| *value);
        let config = Config::read(&Flags::default(), &|name| given(name).map(str::to_owned)).unwrap();
        banner(&config, ([127, 0, 0, 1], 8080).into())
    }

    #[test]
    fn questions_are_refused_where_there_is_neither_an_engine_nor_an_mcp_server() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        std::fs::write(&file, r#"{"mcpServers": {"files": {"command": "x"}}}"#).unwrap();
        let servers = ("FATHOM_MCP_FILE", file.to_str().unwrap());
        assert!(banner_with(&[]).contains("questions are refused"), "{}", banner_with(&[]));
        for api in ["none", "auto"] {
            let with = banner_with(&[servers, ("FATHOM_SEARCH_API", api)]);
            assert!(!with.contains("questions are refused"), "{with}");
        }
    }

    #[test]
    fn tools_that_nobody_calls_are_noted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        std::fs::write(&file, r#"{"mcpServers": {"files": {"command": "x"}}}"#).unwrap();
        let servers = ("FATHOM_MCP_FILE", file.to_str().unwrap());
        let is_noted = |variables: &[(&str, &str)]| {
            banner_with(variables).contains("\n  note       offline:extractive calls no MCP tools")
        };
        assert!(is_noted(&[servers]));
        assert!(is_noted(&[servers, ("FATHOM_SEARCH_API", "auto")]));
        assert!(!is_noted(&[]));
        assert!(!is_noted(&[servers, ("FATHOM_MODEL", "ollama:qwen3:8b")]));
        assert!(!is_noted(&[servers, ("FATHOM_SEARCH_API", "wikipedia")]));
    }

    #[test]
    fn parameters_of_the_database_without_effect_are_noted() {
        let banner = banner_with(&[("DATABASE_URL", "postgres://h/d?sslmode=require&channel_binding=require")]);
        assert!(banner.contains("\n  note       channel_binding in DATABASE_URL has no effect here"), "{banner}");
    }

    #[tokio::test]
    async fn a_service_that_lost_a_part_stops_by_itself() {
        let (shutdown, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let token = shutdown.clone();
        tasks.spawn(async move { token.cancelled().await });
        tasks.spawn(async { std::panic::resume_unwind(Box::new("the claim loop")) });
        let ended = tokio::time::timeout(CLOSING, until_shutdown(&mut tasks, &shutdown)).await;
        assert_eq!((ended.unwrap(), shutdown.is_cancelled()), (Ended::Early, true));
        let (shutdown, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(std::future::pending());
        shutdown.cancel();
        assert_eq!(until_shutdown(&mut tasks, &shutdown).await, Ended::AsAsked);
    }
}
