//! The role of the engine: the real [`App`], which reads from its standard input how many runs to carry out.

use std::time::Instant;

use fathom::{
    app::App,
    config::{Config, Flags},
    domain::{Event, RunOptions},
    runs::{Ended, Runs},
};
use futures::{StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome, Work,
    child::{questions, say},
};

#[derive(Serialize, Deserialize)]
pub struct Ready {}

#[tokio::main]
pub async fn serve() -> anyhow::Result<()> {
    let mut questions = questions();
    let mut config = Config::from_process(&Flags::default())?;
    config.parser.program = Some(fathom_testkit::program::path());
    let app = App::build(&config).await?;
    say(&Ready {})?;
    while let Some(question) = questions.recv().await {
        let work: Work = serde_json::from_str(&question)?;
        let mut outcomes = Vec::new();
        for round in 0..work.rounds {
            let mut runs: JoinSet<_> = (0..work.at_once)
                .map(|n| one_run(app.runs.clone(), config.options.clone(), round * work.at_once + n))
                .collect();
            while let Some(outcome) = runs.join_next().await {
                outcomes.push(outcome??);
            }
        }
        say(&outcomes)?;
    }
    app.close().await;
    Ok(())
}

/// Submits a question, works on it, and follows its events to the end as a client would.
async fn one_run(runs: Runs, options: RunOptions, number: usize) -> anyhow::Result<Outcome> {
    let question = format!("How did canal number {number} change its valley, and what did it cost?");
    let began = Instant::now();
    let run = runs.submit(&question, options).await?;
    let cancel = CancellationToken::new();
    let mut events = std::pin::pin!(runs.log().follow_run(run.id, 0));
    let follow = async {
        events.try_next().await?;
        let first_event_ms = began.elapsed().as_secs_f64() * 1_000.0;
        let mut prompt_tokens = 0;
        while let Some(envelope) = events.next().await {
            if let Event::RunCompleted { usage, .. } = envelope?.event {
                prompt_tokens = usage.input_tokens;
            }
        }
        anyhow::Ok((first_event_ms, prompt_tokens))
    };
    let (ended, followed) = tokio::join!(runs.work(run.id, &cancel), follow);
    let wall_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let (first_event_ms, prompt_tokens) = followed?;
    let failure = match ended {
        Ok(Ended::Completed(_)) => None,
        other => Some(format!("{other:?}")),
    };
    Ok(Outcome { wall_ms, first_event_ms, prompt_tokens, failure })
}
