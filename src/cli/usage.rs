//! `fathom usage`: what was used, by day or month and owner, or for what, by all runs or one, from the ledger in the
//! database itself.

use std::collections::BTreeMap;

use clap::Args;

use super::{Exit, SettingsArgs, complain, print, stored};
use crate::{
    config::Config,
    domain::{Cost, ModelUsage, Owner, RunId, Timestamp, printable_line},
    runs::{Breakdown, OwnerUsage, Period, Sums, UsageFilter, breakdown, breakdown_of_period, usage},
    store::{Error, Store},
};

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// The length of the periods: day or month
    #[arg(long, default_value = "day", value_parser = period)]
    by: Period,
    /// The first day (UTC), such as 2026-11-01 [default: 29 days before the last one, or 11 months]
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: Option<Timestamp>,
    /// The last day [default: today]
    #[arg(long, value_name = "DATE", value_parser = date)]
    to: Option<Timestamp>,
    /// Only of this owner
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// What it was for: by stage, role and model, of the runs of these days that have not been deleted
    #[arg(long, conflicts_with = "by")]
    breakdown: bool,
    /// Of this run alone: by stage, role, model and researcher
    #[arg(long, value_name = "ID", conflicts_with_all = ["by", "breakdown", "from", "to", "owner"])]
    run: Option<RunId>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) settings: SettingsArgs,
}

fn period(name: &str) -> Result<Period, String> {
    Period::parse(name).ok_or_else(|| "it must be day or month".to_owned())
}

fn date(text: &str) -> Result<Timestamp, String> {
    Timestamp::of_date(text).ok_or_else(|| "it must be a date such as 2026-11-21".to_owned())
}

/// Runs the command.
pub async fn run(args: UsageArgs, config: Config) -> Exit {
    let to = args.to.unwrap_or_else(|| Timestamp::now().day());
    let from = args.from.unwrap_or_else(|| args.by.usual_start(to));
    if from > to {
        return print::usage("--from must not be later than --to");
    }
    let store = match stored::existing_store(&config).await {
        Ok(store) => store,
        Err(exit) => return exit,
    };
    let shown = match args.run {
        Some(run_id) => show_run(&store, run_id, args.json).await,
        None => show(&store, &args, from, to).await,
    };
    store.close().await;
    shown.unwrap_or_else(|error| {
        complain(&error.to_string());
        Exit::Failed
    })
}

async fn show(store: &Store, args: &UsageArgs, from: Timestamp, to: Timestamp) -> Result<Exit, Error> {
    if args.owner.as_deref().is_some_and(|owner| owner.trim().is_empty()) {
        return Ok(print::usage("--owner must not be empty"));
    }
    let filter = UsageFilter { owner: args.owner.as_deref().map(Owner::named), from, to: to.next_day() };
    if args.breakdown {
        return show_breakdown(store, &filter, args.json).await;
    }
    let Some(used) = usage(store, &filter, args.by).await? else { return Ok(too_much()) };
    if args.json {
        return Ok(print::json(&serde_json::to_value(&used)?));
    }
    let mut lines = vec![row(["PERIOD", "RUNS", "SEARCHES", "CALLS", "TOKENS", "COST", "OWNER", "MODEL"])];
    lines.extend(used.iter().flat_map(rows));
    Ok(print::answer(&lines.join("\n")))
}

async fn show_breakdown(store: &Store, filter: &UsageFilter, as_json: bool) -> Result<Exit, Error> {
    let Some(used) = breakdown_of_period(store, filter).await? else { return Ok(too_much()) };
    if as_json {
        return Ok(print::json(&serde_json::to_value(&used)?));
    }
    Ok(print::answer(&summed(&used.sums, &format!("{} runs", used.runs)).join("\n")))
}

fn too_much() -> Exit {
    print::usage("that is too much to be summed up at once; ask for a shorter time")
}

async fn show_run(store: &Store, run_id: RunId, as_json: bool) -> Result<Exit, Error> {
    if store.run(run_id).await?.is_none() {
        return Ok(stored::unknown(run_id));
    }
    let of_run = breakdown(store, run_id).await?;
    if as_json {
        return Ok(print::json(&serde_json::to_value(&of_run)?));
    }
    Ok(print::answer(&broken_down(&of_run).join("\n")))
}

/// Returns a table of what a run's calls were made for.
pub(super) fn broken_down(of_run: &Breakdown) -> Vec<String> {
    let mut all = summed(&of_run.sums, "run");
    all.extend(lines("researcher", &of_run.by_researcher));
    all
}

/// Returns a table of sums; `whole` is what all of it is.
fn summed(sums: &Sums, whole: &str) -> Vec<String> {
    let heading =
        format!("{:<10}  {:>7}  {:>12}  {:>12}  {:>10}  NAME", "BY", "CALLS", "PROMPT TOK.", "OUTPUT TOK.", "COST");
    let mut all = vec![heading, line(whole, "", &sums.total)];
    all.extend(lines("stage", &sums.by_stage));
    all.extend(lines("role", &sums.by_role));
    all.extend(lines("model", &sums.by_model));
    all
}

fn lines<'a, K: AsRef<str>>(
    what: &'a str,
    sums: &'a BTreeMap<K, ModelUsage>,
) -> impl Iterator<Item = String> + use<'a, K> {
    sums.iter().map(move |(name, used)| line(what, &printable_line(name.as_ref()), used))
}

fn line(what: &str, name: &str, used: &ModelUsage) -> String {
    let (input, output) = (used.tokens.input_tokens, used.tokens.output_tokens);
    let (calls, cost) = (used.calls, cost(used.tokens.cost));
    format!("{what:<10}  {calls:>7}  {input:>12}  {output:>12}  {cost:>10}  {name}").trim_end().to_owned()
}

/// Renders a cost; `-` where a price is not known. Small sums have more digits, so that no call looks as if it were
/// free.
fn cost(cost: Option<Cost>) -> String {
    match cost.map(Cost::dollars) {
        None => "-".to_owned(),
        Some(dollars) if dollars > 0.0 && dollars < 0.1 => format!("${dollars:.4}"),
        Some(dollars) => format!("${dollars:.2}"),
    }
}

/// Returns the line of an owner, and one for each model.
fn rows(used: &OwnerUsage) -> Vec<String> {
    let number = |number: u64| number.to_string();
    let total = &used.total;
    let mut lines = vec![row([
        &used.period,
        &number(used.runs),
        &number(used.searches),
        &number(total.calls),
        &number(total.tokens.total()),
        &cost(total.tokens.cost),
        &printable_line(used.owner.as_str()),
        "",
    ])];
    lines.extend(used.by_model.iter().map(|(model, of_model)| {
        let (calls, tokens) = (number(of_model.calls), number(of_model.tokens.total()));
        row(["", "", "", &calls, &tokens, &cost(of_model.tokens.cost), "", &printable_line(model)])
    }));
    lines
}

fn row([period, runs, searches, calls, tokens, cost, owner, model]: [&str; 8]) -> String {
    let line =
        format!("{period:<10}  {runs:>6}  {searches:>8}  {calls:>7}  {tokens:>12}  {cost:>10}  {owner:<16}  {model}");
    line.trim_end().to_owned()
}
