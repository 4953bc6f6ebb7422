//! How far notes answer questions, as far as words tell.

use super::{
    bounds,
    orders::is_order,
    rank::{self, Piece},
    statements::{self, Statement},
};
use crate::{domain::AnswerStatus, text::Sentence};

/// Statements looked at.
const MOST_STATEMENTS: usize = 500;
/// A statement that does not answer has at least to be so near for a part of an answer.
const NEAR: f64 = 0.5;

/// How far the notes answer each question. What is cited there counts; everything, when nothing is.
pub(super) fn answered(questions: &[String], notes: &[String]) -> Vec<AnswerStatus> {
    let texts = bounds::texts(notes.iter().map(String::as_str));
    let all = texts.into_iter().flat_map(statements::read).filter(|statement| !is_order(&statement.text));
    let mut statements: Vec<Statement> = all.collect();
    if statements.iter().any(|statement| !statement.sources.is_empty()) {
        statements.retain(|statement| !statement.sources.is_empty());
    }
    statements.truncate(MOST_STATEMENTS);
    let groups: Vec<(&str, Vec<Sentence>)> = statements
        .chunk_by(|one, other| one.group == other.group)
        .map(|group| (group[0].group.as_str(), group.iter().map(Statement::sentence).collect()))
        .collect();
    let pieces: Vec<Piece<'_>> =
        groups.iter().map(|(title, sentences)| Piece { title, sentences: sentences.as_slice() }).collect();
    questions.iter().map(|question| status(bounds::question(question), &pieces)).collect()
}

fn status(question: &str, pieces: &[Piece<'_>]) -> AnswerStatus {
    let parts = rank::rank(question, pieces).parts;
    let answered = parts.iter().filter(|scores| scores.iter().any(|score| score.answers)).count();
    let is_near = parts.iter().flatten().any(|score| score.value >= NEAR);
    match answered {
        all if all == parts.len() => AnswerStatus::Answered,
        0 if !is_near => AnswerStatus::NotFound,
        _ => AnswerStatus::Partly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_notes_say_decides() {
        let notes =
            ["### Mill\n- The mill was destroyed by a storm in 1911. [S1001]\n- Herring was landed. [S1001]"
                .to_owned()];
        let questions = ["When was the mill destroyed?", "What salary does the director earn?"].map(str::to_owned);
        assert_eq!(answered(&questions, &notes), [AnswerStatus::Answered, AnswerStatus::NotFound]);
        assert_eq!(answered(&questions[..1], &[]), [AnswerStatus::NotFound]);
    }
}
