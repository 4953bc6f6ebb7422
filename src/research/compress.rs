//! Long findings to notes that keep their sources.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::json;

use super::{citations::cited_ids, cut, earlier::own_ids};
use crate::{
    context::{Cx, Deadline, Error, Role},
    domain::{Event, Evidence, Failure, FailureCode, Source, SourceId, WarningCode},
    llm::{Completion, Message, Part, StopReason, Text},
    offline::Task,
    prompts::untrusted,
};

/// Answers put together when the output limit cuts one off.
const PIECES: u32 = 4;
/// Characters per source when the findings have to be used as they are.
const EXCERPT_CHARS: usize = 1_200;

/// The least time for compression, whatever of the researcher's own is left.
const LEAST_TIME: Duration = Duration::from_secs(5);

/// Returns when notes have to be there that are begun now: at the end of the researcher's time, or a quarter of
/// `max_researcher_seconds` from now, whichever is later.
pub fn deadline(cx: &Cx, researchers: Deadline) -> Deadline {
    let quarter = Duration::from_secs(u64::from(cx.options().max_researcher_seconds)) / 4;
    cx.notes_deadline(researchers, quarter.max(LEAST_TIME))
}

/// Notes on `topic` from the researcher's whole conversation; Markdown with source ids.
///
/// When the model cannot do it, or cites none of the evidence, that itself becomes the note, source by source, and a
/// warning says so.
///
/// # Errors
/// A refused key, and [`Error::Stop`].
pub async fn compress(
    cx: &Cx,
    path: &str,
    topic: &str,
    history: Vec<Message>,
    evidence: Vec<Evidence>,
    deadline: Deadline,
) -> Result<String, Error> {
    cx.mark(&format!("{path}/compress/started"), Event::CompressStarted {}).await?;
    let chars_in = evidence.iter().map(|evidence| evidence.text.chars().count()).sum();
    let mut answer = ask(cx, &format!("{path}/compress"), topic, history.clone(), &evidence, deadline).await;
    // Some providers refuse tool messages in a request that offers no tools.
    if let Err(Error::Failed(failure)) = &answer
        && failure.code == FailureCode::ModelRequest
    {
        answer = ask(cx, &format!("{path}/compress/plain"), topic, plain(history), &evidence, deadline).await;
    }
    let text = match answer {
        Ok(text) if text.trim().is_empty() => {
            as_it_is(cx, path, topic, "the model answered with nothing", &evidence).await?
        }
        // A call in words, a refusal, a word of thanks: nothing of it can be traced to a source.
        Ok(text) if !is_taken(cx, path, &text, &evidence) => {
            as_it_is(cx, path, topic, "the notes cite none of what was found", &evidence).await?
        }
        Ok(text) => text,
        Err(Error::Failed(failure)) if failure.code != FailureCode::ModelAuth => {
            as_it_is(cx, path, topic, &failure.message, &evidence).await?
        }
        Err(error) => return Err(error),
    };
    let finished = Event::CompressFinished { chars_in, chars_out: text.chars().count() };
    cx.mark(&format!("{path}/compress/finished"), finished).await?;
    Ok(text)
}

/// Returns whether these notes count. What was decided in an earlier life of the run stays: by an earlier release, or
/// when fewer sources were known.
fn is_taken(cx: &Cx, path: &str, notes: &str, evidence: &[Evidence]) -> bool {
    let has = |mark: &str| cx.journal().has(&format!("{path}/compress/{mark}"));
    !has("failed") && (has("finished") || cites_any(notes, evidence, &cx.sources()))
}

/// Returns whether the notes cite a source of the evidence, by any of its ids; of none, there is nothing to cite.
fn cites_any(notes: &str, evidence: &[Evidence], sources: &[Source]) -> bool {
    let own = own_ids(sources);
    let own = |id: SourceId| own.get(&id).copied().unwrap_or(id);
    let known: HashSet<SourceId> = evidence.iter().map(|evidence| own(evidence.source_id)).collect();
    known.is_empty() || cited_ids(notes).into_iter().any(|id| known.contains(&own(id)))
}

async fn ask(
    cx: &Cx,
    path: &str,
    topic: &str,
    history: Vec<Message>,
    evidence: &[Evidence],
    deadline: Deadline,
) -> Result<String, Error> {
    let sources: Vec<_> = evidence.iter().map(|evidence| evidence.source_id.to_string()).collect();
    let system = cx.prompts().text("compress_system", json!({"date": cx.date().await?}));
    let instruction = cx.prompts().text("compress_request", json!({"topic": untrusted(topic), "sources": sources}));
    let mut messages = vec![Message::system(system)];
    messages.extend(history);
    messages.push(Message::user(instruction));
    let task = Arc::new(Task::Compress { topic: topic.to_owned(), evidence: evidence.to_vec() });
    let mut text = String::new();
    for piece in 1..=PIECES {
        let key = if piece == 1 { path.to_owned() } else { format!("{path}/{piece}") };
        let request = cx.request(Role::Compression, messages.clone(), Arc::clone(&task));
        let completion = match cx.ask(&key, Role::Compression, request, Some(deadline)).await.and_then(whole) {
            Err(Error::Failed(_)) if piece > 1 => break,
            completion => completion?,
        };
        if completion.stop != StopReason::Length || completion.text.trim().is_empty() {
            text.push_str(&completion.text);
            return Ok(text);
        }
        let begun = cut::whole_words(&completion.text);
        text.push_str(begun);
        messages.push(Message::assistant(begun));
        messages.push(Message::user(cx.prompts().text("continue_text", ())));
    }
    cx.warn(&format!("{path}/cut"), WarningCode::OutputCut, "the notes were cut off by the output limit").await?;
    cx.limit(|limits| _ = limits.cut_notes.insert(topic.to_owned()));
    Ok(text)
}

/// Returns the answer, unless a filter withheld it: what of it was let through is no whole of notes.
fn whole(completion: Completion) -> Result<Completion, Error> {
    if completion.stop == StopReason::Refused {
        return Err(Failure::new(FailureCode::ModelRefused, "the provider's filter withheld the notes").into());
    }
    Ok(completion)
}

/// Returns the conversation as one message, without calls of tools and their answers in the form of such.
fn plain(history: Vec<Message>) -> Vec<Message> {
    let mut parts = Vec::new();
    let fixed = |text: String| Part::Fixed(text.into());
    for message in history {
        match message {
            Message::System { content } | Message::User { content } => parts.extend(content.0),
            Message::Assistant { content, tool_calls, .. } => {
                let calls = tool_calls.iter().map(|call| format!("Called {} with {}", call.name, call.arguments));
                parts.push(fixed(std::iter::once(content).chain(calls).collect::<Vec<_>>().join("\n")));
            }
            Message::Tool { name, content, .. } => {
                parts.push(fixed(format!("{name} answered:\n")));
                parts.extend(content.0);
            }
        }
        parts.push(fixed("\n\n".to_owned()));
    }
    vec![Message::User { content: Text(parts) }]
}

async fn as_it_is(cx: &Cx, path: &str, topic: &str, reason: &str, evidence: &[Evidence]) -> Result<String, Error> {
    let detail = format!("the findings could not be compressed and are used as they are: {reason}");
    cx.warn(&format!("{path}/compress/failed"), WarningCode::CompressionFailed, detail).await?;
    cx.limit(|limits| _ = limits.excerpts_only.insert(topic.to_owned()));
    let line = |evidence: &Evidence| {
        let text: String = evidence.text.chars().take(EXCERPT_CHARS).collect();
        format!("- {}: {text} [{}]", evidence.title, evidence.source_id)
    };
    Ok(evidence.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_may_cite_a_source_by_another_of_its_ids() {
        let page = Source { aliases: vec![SourceId(2_001)], ..Source::example(1_001, "https://a.test/", "Dues") };
        let evidence = Evidence {
            source_id: SourceId(1_001),
            title: page.title.clone(),
            url: page.url.clone(),
            published: None,
            text: "Four crowns.".to_owned(),
        };
        let sources = [page];
        let cites = |notes: &str| cites_any(notes, std::slice::from_ref(&evidence), &sources);
        assert_eq!(["Dues [S1001].", "Dues [S2001].", "Dues [S3001].", "Dues."].map(cites), [true, true, false, false]);
        assert!(cites_any("Nothing was found.", &[], &sources));
    }
}
