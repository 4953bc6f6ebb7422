//! `POST /runs/{id}/retry`: a run goes on from one that failed, once per key, or is refused with the reason.

use serde_json::{Value, json};
use test_case::test_case;

use super::{Service, seqs, small_world};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, When, World, reply},
};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A world in which no report is written.
async fn broken_world() -> World {
    World::start(good().always(When::kind(Kind::Report), reply::status(401))).await
}

fn good() -> Script {
    Script::whole_run(Shape::SMALL)
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_run_is_retried_once_per_key(database: TestDatabase) {
    let world = broken_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let old = service.ended(&started.run).await;
    assert_eq!((&old["error"]["code"], &old["retry_of"]), (&json!("model_auth"), &Value::Null));
    world.models.follow(good());
    let calls = world.models.total();
    let path = old["links"]["retry"].as_str().unwrap();
    let body = json!({"options": {"final_report_model": "openai:another"}}).to_string();
    let again = || service.ask("POST", path, &[JSON, ("idempotency-key", "again")], body.clone());
    let first = again().await.expect(202);
    let new = first.json();
    assert_eq!((&new["retry_of"], &new["thread_id"]), (&old["id"], &old["thread_id"]));
    assert_eq!(first.header("location"), new["links"]["self"]);
    let run = service.ended(new["id"].as_str().unwrap()).await;
    assert_eq!((&run["outcome"], world.models.total() - calls), (&json!("report"), 1));
    assert_eq!(world.models.calls().last().unwrap().model(), "another");
    assert_eq!((&run["usage"]["calls"], &run["options"]["final_report_model"]), (&json!(1), &json!("openai:another")));
    // The same request later is the same run; the usage of each is what it paid for.
    let second = again().await.expect(202);
    assert_eq!((second.header("idempotent-replayed"), &second.json()["id"]), ("true", &new["id"]));
    let steps = service.list(run["links"]["steps"].as_str().unwrap()).await;
    let inherited = steps.iter().filter(|step| step["inherited"] == true && !step["model"].is_null()).count();
    assert_eq!(json!(inherited), old["usage"]["calls"]);
    let both = service.get("/api/v1/usage/breakdown").await.expect(200).json();
    assert_eq!((&both["runs"], &both["calls"]), (&json!(2), &json!(inherited + 1)), "what was taken over counts once");
    let messages = service.list(&format!("{}/messages", started.thread_path())).await;
    assert_eq!(messages.iter().map(|message| &message["role"]).collect::<Vec<_>>(), ["user", "assistant"]);
    // One log, two ends, and each run draws itself.
    let events = service.events(&format!("{}/events", started.thread_path())).await;
    assert!(seqs(&events).into_iter().eq(1..=events.len() as i64));
    let own = service.events(run["links"]["events"].as_str().unwrap()).await;
    assert_eq!((&own[0]["type"], &own[0]["data"]["retry_of"]), (&json!("run.created"), &old["id"]));
    let named = |name: &str| own.iter().filter(|event| event["type"] == name).count();
    let sources = service.list(run["links"]["sources"].as_str().unwrap()).await;
    assert_eq!((named("source.found"), named("researcher.finished"), named("brief.created")), (sources.len(), 1, 1));
    service.delete(&started.thread_path()).await.expect(204);
    assert!(database.row_counts().await.iter().all(|(table, count)| *count == 0 || *table == "idempotency_keys"));
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_stored_before_the_caps_is_lowered_and_not_refused() {
    let database = TestDatabase::sqlite();
    let world = broken_world().await;
    let service = Service::start(&world, &database).await;
    let options = json!({"max_react_tool_calls": 9, "max_run_seconds": 7200, "research_model": "openai:large"});
    let started = service.create(&json!({"message": "Which pumps are quiet?", "options": options})).await;
    let old = service.ended(&started.run).await;
    assert_eq!(old["options"]["research_model"], "openai:large");
    service.stop().await;
    world.models.follow(good());
    let less = [
        ("FATHOM_OPTION_CAPS", "max_react_tool_calls=4,max_run_seconds=600"),
        ("FATHOM_ALLOWED_MODELS", "openai:small-*"),
    ];
    let service = Service::with(&world, &database, &less).await;
    let lowered = |run: &Value| {
        let option = |name: &str| run["options"][name].clone();
        assert_eq!((option("max_react_tool_calls"), option("max_run_seconds")), (json!(4), json!(600)), "{run:#}");
        assert_ne!(option("research_model"), "openai:large");
    };
    let retry = old["links"]["retry"].as_str().unwrap();
    let beyond = json!({"options": {"max_react_tool_calls": 5}}).to_string();
    service.ask("POST", retry, &[JSON], beyond).await.refused(422, "validation_failed");
    let retried = service.ask("POST", retry, &[], "").await.expect(202).json();
    lowered(&retried);
    service.ended(retried["id"].as_str().unwrap()).await;
    let run = service.say(&started.thread, "And which are cheap?").await;
    lowered(&service.ended(&run).await);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_refused_with_the_reason() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let nobody = format!("/api/v1/runs/{}/retry", fathom::domain::RunId::new());
    service.ask("POST", &nobody, &[], "").await.refused(404, "not_found");
    let started = service.start_run().await;
    let path = format!("{}/retry", started.run_path());
    service.ended(&started.run).await;
    let problem = service.ask("POST", &path, &[], "").await.refused(409, "not_retryable");
    assert!(problem["detail"].as_str().unwrap().contains("completed"), "{problem}");
    service.ask("POST", &path, &[], "{}").await.refused(415, "unsupported_media_type");
    service.ask("POST", &path, &[JSON], "{").await.refused(400, "malformed_json");
    service.ask("POST", &path, &[JSON], r#"{"model": 1}"#).await.refused(422, "validation_failed");
    world.models.follow(good().always(When::kind(Kind::Brief), reply::silence()));
    let started = service.start_run().await;
    let path = format!("{}/retry", started.run_path());
    service.ask("POST", &path, &[], "").await.refused(409, "not_finished");
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await;
    service.ended(&started.run).await;
    let wrong = json!({"options": {"max_run_seconds": 0}});
    let problem = service.post(&path, &wrong).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/options/max_run_seconds");
    let retry = service.ask("POST", &path, &[], "").await.expect(202).json();
    service.ask("POST", &path, &[], "").await.refused(409, "thread_busy");
    world.models.follow(good());
    service.post(retry["links"]["cancel"].as_str().unwrap(), &json!({})).await;
    service.ended(retry["id"].as_str().unwrap()).await;
    let problem = service.ask("POST", &path, &[], "").await.refused(409, "not_retryable");
    assert!(problem["detail"].as_str().unwrap().contains(retry["id"].as_str().unwrap()), "{problem}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_go_on_keeps_the_options_of_the_run() {
    let database = TestDatabase::sqlite();
    let world = broken_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.create(&json!({"message": "Who pays?", "options": {"max_react_tool_calls": 7}})).await;
    service.ended(&started.run).await;
    world.models.follow(good());
    let path = format!("{}/messages", started.thread_path());
    let body = json!({"content": "Try again!", "options": {"final_report_model": "openai:another"}});
    let run = service.post(&path, &body).await.expect(202).json()["run"].clone();
    let run = service.ended(run["id"].as_str().unwrap()).await;
    assert_eq!((&run["outcome"], &run["retry_of"]), (&json!("report"), &json!(started.run)));
    let options = &run["options"];
    assert_eq!(
        (&options["max_react_tool_calls"], &options["final_report_model"]),
        (&json!(7), &json!("openai:another"))
    );
    service.stop().await;
    world.finish();
}
