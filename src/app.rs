//! Wires the rooms: settings in, a ready [`Runs`] out.

use std::sync::Arc;

use anyhow::Context;
use tokio_util::task::TaskTracker;

use crate::{
    auth::{Issuer, Keys},
    config::Config,
    domain::SearchFallback,
    events::{CommitRetry, EventLog, Writer},
    llm::Llm,
    pages::{Parser, Web},
    process,
    prompts::Prompts,
    research::Toolbox,
    runs::{self, Means, Parts, RequestKeys, Runs},
    search::{self, Engines},
    store::Store,
    webhooks::Webhooks,
};

/// Everything a process needs, built once.
#[derive(Debug)]
pub struct App {
    pub runs: Runs,
    pub keys: Keys,
    store: Store,
    tasks: TaskTracker,
}

impl App {
    /// Opens the database, reads the documents, prepares models and search; nothing is sent to a provider yet.
    ///
    /// # Errors
    /// What cannot be used, in one sentence, its cause below.
    pub async fn build(config: &Config) -> anyhow::Result<Self> {
        Self::over(Store::open(&config.database).await?, config).await
    }

    /// Builds the app as [`App::build`] does, over a database that is open already.
    ///
    /// # Errors
    /// As [`App::build`].
    pub async fn over(store: Store, config: &Config) -> anyhow::Result<Self> {
        Self::with_tools(store, config, Toolbox::default()).await
    }

    /// Builds the app as [`App::over`] does, with more tools for researchers.
    ///
    /// # Errors
    /// As [`App::build`].
    pub async fn with_tools(store: Store, config: &Config, mut toolbox: Toolbox) -> anyhow::Result<Self> {
        end_orphans().await;
        let tasks = TaskTracker::new();
        let log = EventLog::start(store.clone(), &tasks);
        let writer = Writer::start(store.clone(), log.clone(), CommitRetry::default(), &tasks);
        let parser = Parser::new(config.parser.clone());
        if config.web.enabled {
            toolbox = toolbox.reading(Web::new(config.web.clone(), parser.clone()).context("reading pages")?);
        }
        toolbox = toolbox.calling(config.mcp.clone());
        let prompts = Prompts::new().context("the prompts of this build")?;
        let instruction = prompts.text("native_search", ()).trim().into();
        let engines =
            Engines::new(search::Settings { instruction, ..config.search.clone() }, parser).context("search")?;
        // What runs search by default is made ready; other documents are indexed when a run first asks for them.
        if let Ok(engine) = engines.select(&config.options.search_api, &SearchFallback::default()) {
            engine.open().await?;
        }
        let issuer = config.sign_in.clone().map(Issuer::new).transpose().context("sign-in through others")?;
        let keys = Keys::new(store.clone()).trusting(issuer);
        let parts = Parts {
            store: store.clone(),
            log,
            writer,
            means: Arc::new(Means::new(Llm::new(config.llm.clone())?, engines)),
            request_keys: Arc::new(RequestKeys::new(config.request_keys.policy, &config.request_keys.secrets)),
            prompts: Arc::new(prompts),
            webhooks: Webhooks::new(&config.webhooks)?,
            toolbox,
            settings: settings_of_runs(config),
        };
        Ok(Self { runs: Runs::new(parts), keys, store, tasks })
    }

    /// Waits for what is still to be written, and closes the database.
    pub async fn close(self) {
        let Self { runs, keys, store, tasks } = self;
        drop((runs, keys));
        tasks.close();
        tasks.wait().await;
        store.close().await;
    }
}

fn settings_of_runs(config: &Config) -> runs::Settings {
    runs::Settings {
        options: config.options.clone(),
        caps: config.caps.clone(),
        lease: config.lease,
        crash_loop: config.crash_loop,
        marks: config.data_dir.join("processes"),
        grace: config.http.grace,
        queue: config.queue,
        thread_retention: config.thread_retention,
        event_retention: config.event_retention,
        longest_silence: runs::longest_silence(&config.llm),
    }
}

/// Ends what processes of this machine left behind that were killed: programs of MCP servers.
async fn end_orphans() {
    let ended = tokio::task::spawn_blocking(process::end_orphans).await.unwrap_or_default();
    if ended > 0 {
        tracing::info!(processes = ended, "ended programs that a process which is gone had started");
    }
}
