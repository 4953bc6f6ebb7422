//! Whole runs of the real binary over the scripted world.

use crate::world::{Script, Shape, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_becomes_a_cited_report() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let mut run = world.spawn(&["research", "How does the harbour of Skelderwick pay for its tide gate?"]);
    let status = run.ends().await;
    println!("{}\n{}", run.stderr(), run.stdout());
    assert!(status.success());
    world.finish();
}
