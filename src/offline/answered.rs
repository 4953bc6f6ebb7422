//! How far notes answer questions, as far as words tell.

use super::{
    bounds, rank,
    statements::{self, Statement},
};
use crate::domain::AnswerStatus;

/// A statement that does not answer has at least to be so near for a part of an answer.
const NEAR: f64 = 0.5;

/// Returns how far the notes answer each question.
pub(super) fn answered(questions: &[String], notes: &[String]) -> Vec<AnswerStatus> {
    let read = statements::read_all(notes.iter().map(String::as_str));
    let statements: Vec<Statement> = read.into_iter().map(|(_, statement)| statement).collect();
    questions.iter().map(|question| status(bounds::question(question), &statements)).collect()
}

fn status(question: &str, statements: &[Statement]) -> AnswerStatus {
    let parts = rank::rank_statements(question, statements).parts;
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
