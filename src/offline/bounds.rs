//! How much the offline model reads of what it is given, and where it does so.
//!
//! Everything it does takes time that grows with its input, some of it with the question's length times the text's.
//! So both are cut, and the work is done on threads for such work, as many as there are processors, never on the
//! runtime's: a few posts of nonsense must not silence the service.

use std::{
    num::NonZero,
    sync::{Arc, LazyLock},
    thread,
};

use tokio::sync::Semaphore;

use super::{Evidence, Finding, Task};
use crate::llm::Completion;

/// Of a question, brief or topic; nobody asks in more, and what follows is not understood anyway.
pub(super) const QUESTION_CHARS: usize = 2_000;
/// Of a page.
pub(super) const PAGE_CHARS: usize = 200_000;
/// Of a title.
const TITLE_CHARS: usize = 300;
/// Of all evidence, or all findings, of one call.
const TEXT_CHARS: usize = 500_000;
const PIECES: usize = 2_000;
const LIMITS: usize = 200;

/// Does `work` on a thread for heavy work.
///
/// # Cancel safety
/// Work that has begun goes on to its end, which is near, and keeps its place until then.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    static PLACES: LazyLock<Arc<Semaphore>> =
        LazyLock::new(|| Arc::new(Semaphore::new(thread::available_parallelism().map_or(1, NonZero::get))));
    // Never closed; without a permit the work would merely go uncounted.
    let permit = Arc::clone(&PLACES).acquire_owned().await.ok();
    let work = move || {
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is being shut down, and this future with it.
        Err(_) => std::future::pending().await,
    }
}

/// [`super::answer`], aside.
pub async fn complete(task: &Arc<Task>, input_tokens: u32) -> Completion {
    let task = Arc::clone(task);
    aside(move || super::answer(&task, input_tokens)).await
}

/// The task with everything in it cut to size.
pub(super) fn bounded(task: &Task) -> Task {
    match task.clone() {
        Task::Brief { question } => Task::Brief { question },
        Task::Supervise { brief, round } => Task::Supervise { brief: head(brief, QUESTION_CHARS), round },
        Task::Research { topic, turn, retrieved } => {
            Task::Research { topic: head(topic, QUESTION_CHARS), turn, retrieved }
        }
        Task::Compress { topic, evidence } => {
            Task::Compress { topic: head(topic, QUESTION_CHARS), evidence: pieces(evidence) }
        }
        Task::Report { brief, findings, sources, limits } => Task::Report {
            brief: head(brief, QUESTION_CHARS),
            findings: notes(findings),
            sources: pieces(sources),
            limits: limits.into_iter().take(LIMITS).map(|limit| head(limit, QUESTION_CHARS)).collect(),
        },
        // Its page is shared, and cut where it is read.
        Task::Summarise { question, page } => Task::Summarise { question: head(question, QUESTION_CHARS), page },
        other @ (Task::Other | Task::Clarify | Task::FollowUp | Task::Answer { .. }) => other,
    }
}

/// The first so many characters.
pub(super) fn start(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

fn head(mut text: String, chars: usize) -> String {
    text.truncate(start(&text, chars).len());
    text
}

/// Each piece gets an equal share of the room, and what it leaves goes to the others.
fn pieces(mut evidence: Vec<Evidence>) -> Vec<Evidence> {
    evidence.truncate(PIECES);
    let share = share(evidence.iter().map(|piece| piece.text.len()));
    let cut = |piece: Evidence| Evidence {
        title: head(piece.title, TITLE_CHARS),
        text: head(piece.text, share),
        source_id: piece.source_id,
    };
    evidence.into_iter().map(cut).collect()
}

fn notes(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.truncate(PIECES);
    let share = share(findings.iter().map(|finding| finding.text.len()));
    let cut =
        |finding: Finding| Finding { topic: head(finding.topic, QUESTION_CHARS), text: head(finding.text, share) };
    findings.into_iter().map(cut).collect()
}

/// The length at which texts of these lengths have to be cut to fit into [`TEXT_CHARS`] together.
fn share(lengths: impl Iterator<Item = usize>) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut room = TEXT_CHARS;
    let count = lengths.len();
    for (index, length) in lengths.into_iter().enumerate() {
        let share = room / (count - index);
        if length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_make_room_for_short_ones() {
        assert_eq!(share([10, 20].into_iter()), usize::MAX);
        assert_eq!(share([100, TEXT_CHARS].into_iter()), TEXT_CHARS - 100);
        assert_eq!(share([TEXT_CHARS; 4].into_iter()), TEXT_CHARS / 4);
        assert_eq!(share(std::iter::empty()), usize::MAX);
    }

    #[tokio::test]
    #[should_panic(expected = "as work does")]
    async fn a_panic_is_the_callers() {
        aside(|| panic!("as work does")).await
    }
}
