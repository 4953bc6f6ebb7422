//! Tells a story: one run in this process, over the scripted world, with everything it left behind.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use fathom::{
    app::App,
    config::{Config, Flags, HttpSettings},
    domain::{
        Envelope, Event, Failure, FailureCode, Message, Note, Run, RunOptions, Source, Usage, WarningCode,
        report::Report,
    },
    runs::{Ended, Refusal},
    store::{Database, Step},
};
use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;

use super::check;
use crate::{database::TestDatabase, world::World};

/// No story takes longer, whatever goes wrong in it.
const PATIENCE: Duration = Duration::from_secs(60);

pub const QUESTION: &str = "How does the harbour of Skelderwick pay for its tide gate?";

/// The service in this process.
pub struct Engine {
    pub app: App,
    pub options: RunOptions,
    /// For a router of it.
    pub http: HttpSettings,
    /// Held so that its files stay as long as the engine works on them.
    pub _database: TestDatabase,
}

/// What a run left behind.
pub struct Story {
    pub ended: Ended,
    pub run: Run,
    /// Of the whole thread.
    pub events: Vec<Envelope>,
    pub report: Option<Report>,
    pub steps: Vec<Step>,
    pub sources: Vec<Source>,
    pub notes: Vec<Note>,
    pub messages: Vec<Message>,
    pub usage: Usage,
}

/// One run with these options (`NAME=VALUE`), from its question to its end.
pub async fn research(world: &World, database: &TestDatabase, options: &[&str]) -> Story {
    let engine = Engine::start(world, database, options).await;
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    story
}

/// The settings of a process in that world; see [`Engine::start`] and [`Engine::with`].
pub fn config(
    world: &World,
    database: &TestDatabase,
    options: &[&str],
    variables: &[(&'static str, String)],
) -> anyhow::Result<Config> {
    let mut environment = variables.to_vec();
    environment.extend(world.environment());
    environment.push(("FATHOM_DATA_DIR", world.folder().join("data").display().to_string()));
    environment.push(("FATHOM_RETRY_SECONDS", "1".to_owned()));
    if let Database::Postgres { url, .. } = &database.database {
        environment.push(("DATABASE_URL", url.expose_secret().to_owned()));
    }
    let variable = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    let flags = Flags { options: options.iter().map(|&option| option.to_owned()).collect(), ..Flags::default() };
    let mut config = Config::read(&flags, &variable)?;
    config.database = database.database.clone();
    config.parser.program = Some(fathom_testkit::program::path());
    if !variables.iter().any(|(name, _)| *name == "FATHOM_GRACE_SECONDS") {
        config.http.grace = Duration::from_millis(500);
    }
    config.llm.first_retry_within = Duration::from_millis(20);
    config.llm.idle_timeout = Duration::from_secs(2);
    config.search.timeout = Duration::from_secs(2);
    config.search.retry.first_within = Duration::from_millis(20);
    Ok(config)
}

/// The program of a parser that takes a document and never answers, in that folder.
pub fn parser_that_hangs(folder: &Path) -> PathBuf {
    let hello = r#"printf '\042\000\000\000{"fathom_parser":2,"unlimited":[]}'"#;
    parser(folder, &format!("{hello}\nexec sleep 600"))
}

/// One that is there after a while.
pub fn parser_that_takes(time: Duration, folder: &Path) -> PathBuf {
    let fathom = fathom_testkit::program::path();
    parser(folder, &format!("sleep {}\nexec {} \"$@\"", time.as_secs(), fathom.display()))
}

/// One that does these lines of a shell.
fn parser(folder: &Path, lines: &str) -> PathBuf {
    let (text, program) = (folder.join("text"), folder.join("program"));
    std::fs::write(&text, format!("#!/bin/sh\n{lines}\n")).unwrap();
    // Copied by another process: one that this process has open cannot be started.
    assert!(std::process::Command::new("install").arg("-m755").args([&text, &program]).status().unwrap().success());
    program
}

impl Engine {
    /// Waits between attempts are milliseconds, and a provider that stays away is given up after a second.
    pub async fn start(world: &World, database: &TestDatabase, options: &[&str]) -> Self {
        Self::with(world, database, options, &[]).await.unwrap()
    }

    /// The same, with variables that win over the world's.
    pub async fn with(
        world: &World,
        database: &TestDatabase,
        options: &[&str],
        variables: &[(&'static str, String)],
    ) -> anyhow::Result<Self> {
        let config = config(world, database, options, variables)?;
        Self::build(&config, database).await
    }

    /// The process of these settings.
    pub async fn build(config: &Config, database: &TestDatabase) -> anyhow::Result<Self> {
        let app = App::build(config).await?;
        Ok(Self { app, options: config.options.clone(), http: config.http.clone(), _database: database.clone() })
    }

    /// A run of a thread of its own.
    pub async fn research(&self, question: &str) -> Story {
        let run = self.submit(question).await.unwrap();
        self.tell(run).await
    }

    /// Cancels a run, as its user does.
    pub async fn cancel(&self, run_id: fathom::domain::RunId) {
        let run = self.app.runs.run(&fathom::domain::Caller::local(), run_id).await.unwrap();
        run.expect("it is there").cancel().await.unwrap();
    }

    pub async fn submit(&self, question: &str) -> Result<Run, Refusal> {
        self.app.runs.submit(question, self.options.clone()).await
    }

    /// Works on a run until it is final, and checks what every run has to leave behind.
    pub async fn tell(&self, run: Run) -> Story {
        let cancel = CancellationToken::new();
        let work = tokio::time::timeout(PATIENCE, self.app.runs.work(run.id, &cancel)).await;
        let ended = work.expect("the run ends").unwrap();
        self.story_of(run, ended).await
    }

    /// What a finished run left behind, checked.
    pub async fn story_of(&self, run: Run, ended: Ended) -> Story {
        let store = self.app.runs.store();
        let story = Story {
            ended,
            run: store.run(run.id).await.unwrap().unwrap(),
            events: store.events_after(run.thread_id, 0, 10_000).await.unwrap(),
            report: store.report(run.id).await.unwrap(),
            steps: store.journal(run.id).await.unwrap(),
            sources: store.sources(run.id).await.unwrap(),
            notes: store.notes(run.id).await.unwrap(),
            messages: store.messages(run.thread_id).await.unwrap(),
            usage: store.usage(run.id).await.unwrap(),
        };
        check::check(&story);
        story
    }
}

impl Story {
    /// The events of this run alone, in order.
    pub fn own(&self) -> impl Iterator<Item = &Event> {
        self.envelopes().map(|envelope| &envelope.event)
    }

    pub fn envelopes(&self) -> impl Iterator<Item = &Envelope> {
        self.events.iter().filter(|envelope| envelope.run_id == self.run.id)
    }

    /// The events of that name (`researcher.failed`).
    pub fn named(&self, name: &str) -> Vec<&Event> {
        self.own().filter(|event| event.name() == name).collect()
    }

    pub fn warnings(&self) -> Vec<(WarningCode, &str)> {
        let warning = |event| match event {
            &Event::Warning { code, ref detail, .. } => Some((code, detail.as_str())),
            _ => None,
        };
        self.own().filter_map(warning).collect()
    }

    /// The details of the warnings of that code.
    pub fn warned(&self, code: WarningCode) -> Vec<&str> {
        self.warnings().into_iter().filter(|(given, _)| *given == code).map(|(_, detail)| detail).collect()
    }

    /// The report of a run that has to have one.
    pub fn report(&self) -> &Report {
        self.report.as_ref().unwrap_or_else(|| panic!("there is no report: {:?}; {:?}", self.ended, self.warnings()))
    }

    pub fn markdown(&self) -> &str {
        &self.report().markdown
    }

    /// Why the run failed.
    pub fn failure(&self) -> &Failure {
        match &self.ended {
            Ended::Failed(failure) => failure,
            ended => panic!("the run did not fail: {ended:?}"),
        }
    }

    pub fn failed_with(&self, code: FailureCode) {
        assert_eq!(self.failure().code, code, "{}", self.failure());
    }
}
