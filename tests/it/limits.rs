//! What owners and keys may use, as the store counts it.

use fathom::{
    domain::{Allowance, ApiKeyId, Cost, Limited, Owner, RunOptions, Timestamp, Usage, UseLimits},
    store::{Admission, CallRecord, Claimed, Commit, Created, Error, NewRun, NewThread, Step, Store, UsageFilter},
};
use test_case::test_case;

use crate::{
    database::TestDatabase,
    store::{NOW, claimant, finish_of, new_run, step},
};

fn limited(of_owner: UseLimits) -> Admission {
    Admission { of_owner, ..Admission::default() }
}

async fn create(store: &Store, new_run: &NewRun, admission: &Admission) -> Result<Vec<Allowance>, Error> {
    match store.create_thread(new_run, &NewThread::default(), admission).await? {
        Created::New { allowances, .. } => Ok(allowances),
        other => panic!("not created: {other:?}"),
    }
}

fn why(error: Error) -> Limited {
    let Error::UsedUp(allowances) = error else { panic!("{error:?}") };
    allowances.iter().find(|allowance| allowance.is_used_up()).unwrap().limited
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_create_at_once_keep_to_the_limits_together(database: TestDatabase) {
    let stores = [database.open().await, database.open().await];
    let limits = UseLimits { runs_at_once: Some(9), runs_per_day: Some(5), ..UseLimits::default() };
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..24 {
        let store = stores[number % 2].clone();
        // Two owners, who have nothing to do with each other.
        let owner = Owner::named(["ann", "bob"][number % 3 / 2]);
        tasks.spawn(async move { create(&store, &NewRun { owner, ..new_run() }, &limited(limits)).await });
    }
    let created = tasks.join_all().await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 10, "{created:?}");
    let refused: Vec<_> = created.into_iter().filter_map(Result::err).map(why).collect();
    assert_eq!(refused, [Limited::RunsPerDay; 14]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_gives_nothing_back_but_a_place(database: TestDatabase) {
    let store = database.open().await;
    let admission = limited(UseLimits { runs_at_once: Some(1), runs_per_day: Some(2), ..UseLimits::default() });
    let first = new_run();
    let left = create(&store, &first, &admission).await.unwrap();
    assert_eq!(
        left.iter().map(|one| (one.limited, one.left)).collect::<Vec<_>>(),
        [(Limited::RunsAtOnce, 0), (Limited::RunsPerDay, 1)]
    );
    assert_eq!(why(create(&store, &new_run(), &admission).await.unwrap_err()), Limited::RunsAtOnce);
    assert!(store.delete_thread(first.thread_id).await.unwrap());
    let second = new_run();
    create(&store, &second, &admission).await.unwrap();
    assert!(store.delete_thread(second.thread_id).await.unwrap());
    assert_eq!(why(create(&store, &new_run(), &admission).await.unwrap_err()), Limited::RunsPerDay);
    let tomorrow = NewRun { now: NOW.next_day(), ..new_run() };
    create(&store, &tomorrow, &admission).await.unwrap();
}

/// A key has limits of its own, beside those of its owner.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_counts_for_itself(database: TestDatabase) {
    let store = database.open().await;
    let (one, other) = (ApiKeyId::new(), ApiKeyId::new());
    let run = |key| NewRun { key: Some(key), ..new_run() };
    let of_key = UseLimits { runs_per_day: Some(1), ..UseLimits::default() };
    let admission = Admission { of_key, ..limited(UseLimits { runs_per_day: Some(3), ..UseLimits::default() }) };
    let names = |left: &[Allowance]| left.iter().map(|one| (one.name(), one.left)).collect::<Vec<_>>();
    let left = create(&store, &run(one), &admission).await.unwrap();
    assert_eq!(names(&left), [("runs-per-day".to_owned(), 2), ("key-runs-per-day".to_owned(), 0)]);
    let Err(Error::UsedUp(left)) = create(&store, &run(one), &admission).await else { panic!("let in") };
    assert!(left[1].is_used_up() && !left[0].is_used_up());
    create(&store, &run(other), &admission).await.unwrap();
    create(&store, &new_run(), &admission).await.unwrap();
    let Err(Error::UsedUp(left)) = create(&store, &run(ApiKeyId::new()), &admission).await else { panic!("let in") };
    assert!(left[0].is_used_up(), "the owner has used theirs, whatever the key");
}

/// Claims a run, stores a call that used so much, and ends the run.
async fn spend(store: &Store, new_run: &NewRun, tokens: u64, cost: u64) {
    let Claimed::Yes { lease, .. } = store.claim(new_run.run_id, &claimant("a")).await.unwrap() else { panic!("held") };
    let usage = Usage { input_tokens: tokens, cost: Some(Cost(cost)), ..Usage::default() };
    let call = CallRecord { model: "acme:x".into(), role: "research".into(), attempts: 1, usage };
    let called = Commit { steps: vec![Step { call: Some(call), ..step("brief") }], ..Commit::new(lease) };
    for commit in [called, finish_of(lease)] {
        store.commit(vec![commit]).await.remove(0).unwrap();
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_all_runs_may_spend_stays_below_the_budget(database: TestDatabase) {
    let store = database.open().await;
    let dollars = |sum: f64| Cost::reported(sum);
    let limits =
        UseLimits { cost_per_day_usd: dollars(8.0), tokens_per_month: Some(1_000_000), ..UseLimits::default() };
    let admission = limited(limits);
    let options = async |run: &NewRun| store.run(run.run_id).await.unwrap().unwrap().options;
    let [first, second, third] = [new_run(), new_run(), new_run()];
    let left = create(&store, &first, &admission).await.unwrap();
    assert_eq!(left.iter().map(|one| one.left).collect::<Vec<_>>(), [500_000, 4_000_000_000]);
    let of_first = options(&first).await;
    assert_eq!((of_first.max_cost_usd, of_first.max_tokens), (dollars(4.0), 500_000), "half of what is left");
    create(&store, &second, &admission).await.unwrap();
    assert_eq!(options(&second).await.max_cost_usd, dollars(2.0), "the first may still spend four");
    // What the first has not spent is free again.
    spend(&store, &first, 100_000, 1_000_000_000).await;
    let frugal = RunOptions { max_cost_usd: dollars(0.5), ..RunOptions::default() };
    create(&store, &NewRun { options: frugal, ..third.clone() }, &admission).await.unwrap();
    assert_eq!(options(&third).await.max_cost_usd, dollars(0.5), "a run may ask for less");
    spend(&store, &second, 1_000, 2_000_000_000).await;
    spend(&store, &third, 1_000, 4_990_000_000).await;
    assert_eq!(why(create(&store, &new_run(), &admission).await.unwrap_err()), Limited::CostPerDay);
    store.delete_thread(third.thread_id).await.unwrap();
    assert_eq!(why(create(&store, &new_run(), &admission).await.unwrap_err()), Limited::CostPerDay, "it was spent");
    let tomorrow = NewRun { now: NOW.next_day(), ..new_run() };
    create(&store, &tomorrow, &admission).await.unwrap();
    assert_eq!(options(&tomorrow).await.max_tokens, 449_000, "tokens count for the month");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn use_is_summed_up_by_day_owner_and_model(database: TestDatabase) {
    let store = database.open().await;
    let of = |owner: &str, now: Timestamp| NewRun { owner: Owner::named(owner), now, ..new_run() };
    let runs = [of("ann", NOW), of("ann", NOW.next_day()), of("bob", NOW)];
    for run in &runs {
        create(&store, run, &Admission::default()).await.unwrap();
        spend(&store, run, 10, 5).await;
    }
    let asked = async |owner: Option<&str>, from: Timestamp, to: Timestamp| {
        let filter = UsageFilter { owner: owner.map(Owner::named), from, to };
        let rows = store.usage_by_day(&filter, 100).await.unwrap();
        let row = |row: fathom::store::UsageRow| {
            (row.day, row.owner.to_string(), row.model, row.runs, row.calls, row.tokens.input_tokens, row.tokens.cost)
        };
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    let model =
        |day: Timestamp, owner: &str| (day.day(), owner.to_owned(), Some("acme:x".to_owned()), 0, 1, 10, Some(Cost(5)));
    let run = |day: Timestamp, owner: &str| (day.day(), owner.to_owned(), None, 1, 0, 0, None);
    let all = asked(None, NOW.day(), NOW.next_day().next_day()).await;
    let (today, tomorrow) = (NOW, NOW.next_day());
    let expected = [
        run(today, "ann"),
        model(today, "ann"),
        run(today, "bob"),
        model(today, "bob"),
        run(tomorrow, "ann"),
        model(tomorrow, "ann"),
    ];
    assert_eq!(all, expected);
    for run in &runs {
        store.delete_thread(run.thread_id).await.unwrap();
    }
    assert_eq!(asked(None, NOW.day(), NOW.next_day().next_day()).await, expected, "deleted runs count on");
    assert_eq!(asked(Some("bob"), NOW.day(), NOW.next_day()).await, [run(today, "bob"), model(today, "bob")]);
    assert_eq!(asked(Some("zoe"), NOW.day(), NOW.next_day()).await, []);
}
