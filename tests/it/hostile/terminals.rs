//! What models, pages and providers say, printed: nothing of it reaches the terminal as a control character.

use super::limited;
use crate::world::{Found, Kind, Page, Script, Shape, When, World, brain, reply};

/// Clears the screen, sets the title, turns text, goes back in the line.
const NASTY: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7} \u{202e}desrever\u{202c} \u{9b}31m \u{8}\u{8}\rFAKE \u{2066}x\u{2069}\u{200f}";

async fn printed(world: &World, arguments: &[&str], exit: i32) -> String {
    let output = limited(world).args(arguments).output().await.unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {text}");
    let steering = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&c);
    let found = text.find(steering).or_else(|| text.find(['\u{2066}', '\u{2069}', '\u{200f}']));
    assert_eq!(found, None, "{arguments:?}: {text:?}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_printed_steers_the_terminal() {
    let report = format!("# Dues {NASTY}\n\nPaid {NASTY} [S1001].\n\n```\n{NASTY}\n```\n");
    let script = Script::new()
        .always(When::kind(Kind::Report), reply::text(report))
        .first(When::kind(Kind::Clarify).and(When::says("UNCLEAR")), [reply::ask_back(&format!("Which {NASTY}?"))])
        .otherwise(|call| brain::reply(Shape::SMALL, call));
    let world = World::start(script).await;
    let page = Page::new("https://harbour.test/dues", &format!("Dues {NASTY}"), &format!("The gate is paid {NASTY}."));
    world.web.always("", Found::Pages(vec![page]));
    let question = format!("Who pays {NASTY}?");
    let report = printed(&world, &["research", "--no-clarify", &question], 0).await;
    assert!(report.contains("desrever") && report.contains("harbour.test/dues"), "{report}");
    let clarify = ["research", "--set", "allow_clarification=true", "UNCLEAR: who pays?"];
    let asked = printed(&world, &clarify, 3).await;
    assert!(asked.contains("Which [2J"), "{asked}");
    let list = printed(&world, &["runs", "list"], 0).await;
    let run = list.split_whitespace().rfind(|word| word.len() == 36 && word.matches('-').count() == 4).unwrap();
    printed(&world, &["runs", "show", run], 0).await;
    printed(&world, &["runs", "report", run], 0).await;
    printed(&world, &["config", "--model", &format!("openai:m{NASTY}")], 2).await;
    world.finish();
}
