//! `fathom usage`: what was used, by day or month and owner, from the ledger in the database itself.

use clap::Args;

use super::{Exit, SettingsArgs, complain, print, runs};
use crate::{
    config::Config,
    domain::{Owner, Timestamp, printable_line},
    runs::{OwnerUsage, Period, UsageFilter, usage},
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
    /// Print a JSON array instead of a table
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

/// Does what was asked for.
pub async fn run(args: UsageArgs, config: Config) -> Exit {
    let store = match runs::open_store(&config).await {
        Ok(store) => store,
        Err(exit) => return exit,
    };
    let shown = show(&store, &args).await;
    store.close().await;
    shown.unwrap_or_else(|error| {
        complain(&error.to_string());
        Exit::Failed
    })
}

async fn show(store: &Store, args: &UsageArgs) -> Result<Exit, Error> {
    let to = args.to.unwrap_or_else(|| Timestamp::now().day());
    let from = args.from.unwrap_or_else(|| args.by.usual_start(to));
    if from > to {
        return Ok(print::usage("--from must not be later than --to"));
    }
    let filter = UsageFilter { owner: args.owner.as_deref().map(Owner::named), from, to: to.next_day() };
    let Some(used) = usage(store, &filter, args.by).await? else {
        return Ok(print::usage("that is too much to be summed up at once; ask for a shorter time"));
    };
    if args.json {
        return Ok(print::answer(&serde_json::to_string_pretty(&used)?));
    }
    let mut lines = vec![row(["PERIOD", "RUNS", "SEARCHES", "CALLS", "TOKENS", "COST", "OWNER", "MODEL"])];
    lines.extend(used.iter().flat_map(rows));
    Ok(print::answer(&lines.join("\n")))
}

/// The line of an owner, and one for each model.
fn rows(used: &OwnerUsage) -> Vec<String> {
    let cost =
        |cost: Option<crate::domain::Cost>| cost.map_or("-".to_owned(), |cost| format!("${:.2}", cost.dollars()));
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
