//! Hostile pages among the results of a search: the run goes on with their excerpts.

use serde_json::json;

use super::{Bench, shapes};
use crate::world::{Found, Page, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_with_their_excerpts() {
    let bench = Bench::start(Script::new()).await;
    let page = |name: &str, text: &str| {
        let mut page = Page::new(&format!("https://example.org/{name}"), name, text);
        page.content = "The gate of Hostile Bay was built in 1931, and it is paid for by harbour dues.".into();
        page
    };
    let pages = vec![
        page("deep", &shapes::deep_html()),
        page("table", &shapes::huge_table()),
        page("plain-deep", &"<div>".repeat(700_000)),
        page("title", &format!("<title>{}</title><p>x", "<b>".repeat(200_000))),
    ];
    bench.world.web.always("Hostile", Found::Pages(pages));
    let ask = async || {
        let options = json!({"search_api": "tavily", "allow_clarification": false});
        bench.ended(&bench.ask("Who pays for the gate of Hostile Bay?", options).await).await
    };
    let run = bench.beside(ask()).await;
    assert_eq!(run["status"], "completed", "{run:#}\n{}", bench.said());
    let named = || bench.said().lines().filter(|line| line.contains("example.org/deep")).count();
    assert_eq!(named(), 1, "{}", bench.said());
    let again = ask().await;
    assert_eq!(again["status"], "completed", "{again:#}");
    assert_eq!(named(), 1, "what ended a parser is not tried again: {}", bench.said());
    bench.finish().await;
}
