//! Limits of what is spent, with a model whose turns are ten times as long as anybody expects and cost what the
//! settings say: on two replicas, one of which is killed in the middle. Spending passes a limit by one call at most,
//! and each run ends with a report.

use fathom::domain::{ModelUsage, Outcome, Run};
use serde_json::{Value, json};
use test_case::test_case;

use super::{Fleet, run_id};
use crate::{
    crash::{Engine, QUESTION, Site, script, until},
    fleet::check_ledger,
    world::{
        Call, Found, Kind, Page, Script, When, World,
        reply::{self, Tokens},
    },
};

const PRICES: &str =
    "[prices]\n'openai:gpt-4.1' = {input = 2, output = 8}\n'openai:gpt-4.1-mini' = {input = 1, output = 4}\n";

/// A turn of the researcher, in tokens and billionths of a dollar.
const TURN: Spent = Spent { calls: 1, tokens: 11_000, cost: 82_000_000 };

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    calls: u64,
    tokens: u64,
    cost: u64,
}

fn verbose() -> Script {
    let turn = |call: &Call| {
        let tokens = Tokens { input: 1_000, cached: 0, output: 10_000, reasoning: 0 };
        reply::calls([("search_web", json!({ "queries": [format!("dues {}", call.turns())] }))]).costing(tokens)
    };
    script().by(When::kind(Kind::Researcher), turn)
}

fn one_page(world: &World) {
    let page = Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page]));
}

/// Two replicas under this limit; researchers work one after the other, so that one call is under way.
async fn at_work(limit: &'static [(&'static str, &'static str)]) -> (Site, Fleet) {
    let site = Site::with_pages(Engine::Postgres, verbose(), one_page).await;
    std::fs::write(site.world.folder().join("fathom.toml"), PRICES).unwrap();
    let fleet = Fleet::start_with(&site.world, &site.database.database, 2, limit).await;
    (site, fleet)
}

async fn ask(fleet: &Fleet, place: usize, key: Option<&str>) -> Value {
    let options = json!({ "max_react_tool_calls": 30, "max_concurrent_research_units": 1 });
    let url = fleet.replicas[place].url("/api/v1/threads");
    let request = reqwest::Client::new().post(url).json(&json!({ "message": QUESTION, "options": options }));
    let request = key.into_iter().fold(request, |request, key| request.header("x-api-key", key));
    let response = request.send().await.unwrap();
    let (status, body) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 201, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Kills the replica that works on the run, once some calls are stored.
async fn kill_its_worker(site: &Site, fleet: &mut Fleet, run: &Run) {
    until("the run has made some calls", async || (site.steps(run.id).await.len() >= 8).then_some(())).await;
    let holder = site.holder(fleet).await;
    fleet.replicas[holder].running.kill().await;
}

/// The run when it has ended, with its report; what it took.
async fn ends_with_a_report(site: &Site, run: &Run) -> (Run, Spent) {
    let run = site.is_final(run.id).await;
    assert_eq!(run.outcome, Some(Outcome::Report), "{:?}", run.error);
    assert!(site.store.report(run.id).await.unwrap().unwrap().markdown.contains("[1]"));
    check_ledger(&site.store, &run).await;
    let details = site.store.details(vec![run.clone()]).await.unwrap().remove(0);
    let add = |sum: Spent, used: &ModelUsage| Spent {
        calls: sum.calls + used.calls,
        tokens: sum.tokens + used.tokens.total(),
        cost: sum.cost + used.tokens.cost.unwrap().0,
    };
    (run, details.usage.values().fold(Spent::default(), add))
}

#[test_case(&[("FATHOM_MAX_MODEL_CALLS", "30")], "max_model_calls", Spent { calls: 30, tokens: u64::MAX, cost: u64::MAX }; "calls")]
#[test_case(&[("FATHOM_MAX_TOKENS", "100000")], "max_tokens", Spent { calls: u64::MAX, tokens: 100_000 + TURN.tokens, cost: u64::MAX }; "tokens")]
#[test_case(&[("FATHOM_MAX_COST_USD", "0.6")], "max_cost_usd", Spent { calls: u64::MAX, tokens: u64::MAX, cost: 600_000_000 + TURN.cost }; "money")]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_keeps_to_its_limit_across_a_death(
    limit: &'static [(&'static str, &'static str)],
    option: &str,
    most: Spent,
) {
    let (site, mut fleet) = at_work(limit).await;
    let asked = ask(&fleet, 0, None).await;
    let run = site.store.run(run_id(&asked)).await.unwrap().unwrap();
    kill_its_worker(&site, &mut fleet, &run).await;
    let (run, spent) = ends_with_a_report(&site, &run).await;
    assert_eq!(run.limited_by.as_deref(), Some(option));
    assert!(spent.calls <= most.calls && spent.tokens <= most.tokens && spent.cost <= most.cost, "{spent:?}");
    // What was paid for and lost with the process is a call, too.
    let made = site.world.models.total() as u64;
    assert!(made <= most.calls.saturating_add(1), "{made} calls were made");
    assert!(!site.resumed_at(&run).await.is_empty(), "it was taken up again");
    site.world.finish();
}

const DAY_OF_TOKENS: &[(&str, &str)] = &[("FATHOM_TOKENS_PER_DAY_PER_OWNER", "200000")];
const MONTH_OF_TOKENS: &[(&str, &str)] = &[("FATHOM_TOKENS_PER_MONTH_PER_OWNER", "200000")];
const DAY_OF_MONEY: &[(&str, &str)] = &[("FATHOM_COST_PER_DAY_PER_OWNER", "1.2")];
const MONTH_OF_MONEY: &[(&str, &str)] = &[("FATHOM_COST_PER_MONTH_PER_OWNER", "1.2")];
const OF_KEYS: &[(&str, &str)] = &[("FATHOM_AUTHENTICATION", "keys")];

#[test_case(DAY_OF_TOKENS, &[]; "tokens of a day")]
#[test_case(MONTH_OF_TOKENS, &[]; "tokens of a month")]
#[test_case(DAY_OF_MONEY, &[]; "money of a day")]
#[test_case(MONTH_OF_MONEY, &[]; "money of a month")]
#[test_case(OF_KEYS, &["--tokens-per-day", "200000"]; "tokens of a day of a key")]
#[test_case(OF_KEYS, &["--cost-per-month", "1.2"]; "money of a month of a key")]
#[tokio::test(flavor = "multi_thread")]
async fn all_runs_together_keep_to_a_budget_across_a_death(
    limit: &'static [(&'static str, &'static str)],
    of_key: &[&str],
) {
    let (site, mut fleet) = at_work(limit).await;
    let key = if of_key.is_empty() { None } else { Some(key_with(&site, of_key).await) };
    let mut runs = Vec::new();
    for place in [0, 1] {
        let asked = ask(&fleet, place, key.as_deref()).await;
        runs.push(site.store.run(run_id(&asked)).await.unwrap().unwrap());
    }
    kill_its_worker(&site, &mut fleet, &runs[0]).await;
    let (mut tokens, mut cost, mut limited) = (0, 0, 0);
    for run in &runs {
        let (run, spent) = ends_with_a_report(&site, run).await;
        tokens += spent.tokens;
        cost += spent.cost;
        limited += usize::from(run.limited_by.is_some());
    }
    assert_eq!(limited, 2, "each ended because it had spent what it may");
    let is_of_money = limit.iter().any(|(name, _)| name.contains("COST")) || of_key.contains(&"--cost-per-month");
    match is_of_money {
        true => assert!(cost <= 1_200_000_000 + TURN.cost, "{cost} billionths of a dollar"),
        false => assert!(tokens <= 200_000 + TURN.tokens, "{tokens} tokens"),
    }
    site.world.finish();
}

/// A key with limits, made on the command line.
async fn key_with(site: &Site, limits: &[&str]) -> String {
    let mut made = site.spawn(&[&["keys", "create", "--owner", "ann"], limits].concat());
    assert!(made.ends().await.success(), "{}", made.stderr());
    made.stdout().trim().to_owned()
}
