//! `fathom usage` as a program: what a run used, by day, month, owner and model, and what it says of bad dates.

use serde_json::{Value, json};

use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, script},
    stories::binary::{is_usage_error, output},
    world::{Script, World},
};

const PRICES: &str =
    "[prices]\n'openai:gpt-4.1' = {input = 2, output = 8}\n'openai:gpt-4.1-mini' = {input = 1, output = 4}\n";

async fn usage(site: &Site, arguments: &[&str]) -> String {
    let mut process = site.spawn(&[&["usage"], arguments].concat());
    let status = process.ends().await;
    assert_eq!((status.code(), process.stderr().as_str()), (Some(0), ""), "{arguments:?}");
    process.stdout()
}

async fn json_of(site: &Site, arguments: &[&str]) -> Value {
    serde_json::from_str(&usage(site, &[&["--json"], arguments].concat()).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_used_is_shown_on_sqlite() {
    what_a_run_used_is_shown(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_used_is_shown_on_postgres() {
    what_a_run_used_is_shown(Engine::Postgres).await;
}

async fn what_a_run_used_is_shown(engine: Engine) {
    let site = Site::new(engine, script()).await;
    std::fs::write(site.world.folder().join("fathom.toml"), PRICES).unwrap();
    let nothing = usage(&site, &[]).await;
    assert!(nothing.starts_with("PERIOD ") && nothing.lines().count() == 1, "a heading and nothing: {nothing}");
    assert_eq!(json_of(&site, &[]).await, json!([]));

    let mut research = site.spawn(&["research", QUESTION]);
    assert!(research.ends().await.success(), "{}", research.stderr());
    let run = site.run().await;
    let day = run.created_at.to_date();
    let by_day = json_of(&site, &[]).await;
    let used = &by_day[0];
    assert_eq!(by_day.as_array().unwrap().len(), 1);
    assert_eq!((&used["period"], &used["owner"], &used["runs"]), (&json!(day), &json!("local"), &json!(1)));
    // Of two queries each.
    let searches = SHAPE.researchers * SHAPE.searches;
    assert_eq!((&used["calls"], &used["searches"]), (&json!(site.world.models.total()), &json!(searches)));
    let mut shown = site.spawn(&["runs", "show", "--json", &run.id.to_string()]);
    assert!(shown.ends().await.success());
    let shown: Value = serde_json::from_str(&shown.stdout()).unwrap();
    assert_eq!(used["by_model"], shown["usage"], "each call is counted once");
    assert!(used["cost"].as_f64().unwrap() > 0.0, "{used:#}");

    // The same sums, however they are asked for.
    let mut by_month = json_of(&site, &["--by", "month", "--owner", "local"]).await;
    assert_eq!(by_month[0]["period"], day[..7]);
    by_month[0]["period"] = json!(day);
    assert_eq!(by_month, by_day);
    assert_eq!(json_of(&site, &["--from", &day, "--to", &day]).await, by_day);
    for other in [&["--owner", "bob"][..], &["--to", "2026-01-31"], &["--from", "2126-01-01", "--to", "2126-01-02"]] {
        assert_eq!(json_of(&site, other).await, json!([]), "{other:?}");
    }
    what_it_was_used_for(&site, &run.id.to_string(), used, &shown).await;
    of_all_runs(&site, &day, &shown["breakdown"]).await;
    let table = usage(&site, &[]).await;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2 + used["by_model"].as_object().unwrap().len(), "{table}");
    assert!(lines[1].starts_with(&day) && lines[1].contains(" $") && lines[1].ends_with(" local"), "{table}");
    assert!(lines[2].starts_with("   ") && lines[2].contains("openai:gpt-4.1"), "{table}");
    site.world.finish();
}

/// The run's calls by stage, role, model and researcher: each kind of sum makes the whole, as tables and as JSON.
async fn what_it_was_used_for(site: &Site, run: &str, used: &Value, shown: &Value) {
    let of_run = json_of(site, &["--run", run]).await;
    assert_eq!((&of_run["calls"], &of_run["cost"]), (&used["calls"], &used["cost"]));
    assert_eq!((&of_run["by_model"], &of_run), (&used["by_model"], &shown["breakdown"]));
    for sums in ["by_stage", "by_role", "by_model"] {
        let calls = of_run[sums].as_object().unwrap().values().map(|sum| sum["calls"].as_u64().unwrap());
        assert_eq!(calls.sum::<u64>(), used["calls"].as_u64().unwrap(), "{sums}: {of_run:#}");
    }
    assert_eq!(of_run["by_researcher"].as_object().unwrap().len(), SHAPE.researchers);
    let table = usage(site, &["--run", run]).await;
    let mut as_text = site.spawn(&["runs", "show", run]);
    assert!(as_text.ends().await.success());
    assert!(as_text.stdout().ends_with(&table), "the same table: {}", as_text.stdout());
    for (what, name) in
        [("stage", "research"), ("role", "summarization"), ("model", "openai:gpt-4.1"), ("researcher", "r1")]
    {
        let is_there = |line: &str| line.starts_with(what) && line.ends_with(name) && line.contains(" $");
        assert!(table.lines().any(is_there), "{what} {name}: {table}");
    }
    let mut unknown = site.spawn(&["usage", "--run", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d"]);
    assert!(!unknown.ends().await.success() && unknown.stderr().contains("there is no run"), "{}", unknown.stderr());
}

/// The same of the runs of some days: of one run, what that one took, but for its researchers.
async fn of_all_runs(site: &Site, day: &str, of_run: &Value) {
    let mut of_all = json_of(site, &["--breakdown"]).await;
    assert_eq!(of_all.as_object_mut().unwrap().remove("runs"), Some(json!(1)));
    let mut expected = of_run.clone();
    expected.as_object_mut().unwrap().remove("by_researcher");
    assert_eq!(of_all, expected);
    let table = usage(site, &["--breakdown", "--from", day, "--owner", "local"]).await;
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("BY ") && lines.next().unwrap().starts_with("1 runs "), "{table}");
    assert!(lines.any(|line| line.starts_with("stage ") && line.ends_with(" research")), "{table}");
    for none in [&["--owner", "bob"][..], &["--to", "2026-01-31"], &["--from", "2126-01-01", "--to", "2126-01-02"]] {
        let nothing = json_of(site, &[&["--breakdown"], none].concat()).await;
        assert_eq!((&nothing["runs"], &nothing["calls"], &nothing["by_stage"]), (&json!(0), &json!(0), &json!({})));
    }
}

/// One line that says what would be accepted, and exit code 2.
#[tokio::test(flavor = "multi_thread")]
async fn bad_dates_and_periods_are_bad_usage() {
    let world = World::start(Script::new()).await;
    let cases: [(&[&str], &str); 8] = [
        (&["--breakdown", "--by", "day"], "the argument '--breakdown' cannot be used with '--by <BY>'"),
        (&["--by", "week"], "it must be day or month"),
        (&["--from", "2026-13-01"], "it must be a date such as 2026-11-21"),
        (&["--to", "yesterday"], "it must be a date such as 2026-11-21"),
        (&["--from", "2026-11-22", "--to", "2026-11-21"], "--from must not be later than --to"),
        (&["--from"], "a value is required for '--from <DATE>'"),
        (&["2026-11-21"], "unexpected argument '2026-11-21'"),
        (&["--config", "missing.toml"], "missing.toml: cannot be read"),
    ];
    for (arguments, expected) in cases {
        is_usage_error(&world, &output(&mut world.fathom(&[&["usage"], arguments].concat())).await, expected);
    }
    world.finish();
}
