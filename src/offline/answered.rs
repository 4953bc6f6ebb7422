//! How far notes answer questions, as far as words tell.

use super::{
    bounds, rank,
    statements::{self, Statement},
};
use crate::{
    domain::{AnswerStatus, wording},
    text::Language,
};

/// A statement that does not answer has at least to be so near for a part of an answer.
const NEAR: f64 = 0.5;
/// A question with fewer words may be answered in other ones, and one with so few may be answered where some stand.
const LEAST_WORDS: usize = 2;

/// How far words say that a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordMatch {
    pub status: AnswerStatus,
    /// Whether that is more than a guess. Words that are missing say nothing of notes in another language, nor of a
    /// statement with all words of the question that is not of the kind asked for.
    pub is_certain: bool,
}

impl WordMatch {
    /// Returns the status that is certain.
    pub fn certain(self) -> Option<AnswerStatus> {
        self.is_certain.then_some(self.status)
    }
}

/// Returns how far the notes answer each question.
pub(super) fn answered(questions: &[String], notes: &[String]) -> Vec<WordMatch> {
    let statements = statements::read_all(notes.iter().map(String::as_str));
    let all = Language::certain(&questions.join(" "));
    let matched = |question: &String| {
        let language = Language::certain(question).or(all);
        let is_alike = notes.iter().all(|note| language.is_some_and(|language| is_in(note, language)));
        matched(bounds::question(question), &statements, is_alike)
    };
    questions.iter().map(matched).collect()
}

/// Returns whether a note is in that language, as far as that can be said.
fn is_in(note: &str, language: Language) -> bool {
    let is_other = || wording::any_language_code(note).is_some_and(|code| code != language.code());
    Language::of(note) == language && !is_other()
}

/// Returns how far the statements answer a question; `is_alike`: they are in its language.
fn matched(question: &str, statements: &[Statement], is_alike: bool) -> WordMatch {
    let scores = rank::rank(question, statements);
    let (mut answered, mut open, mut is_near, mut is_few) = (0, 0, false, false);
    for (part, &words) in scores.parts.iter().zip(&scores.words) {
        let found = part.iter().map(|score| score.words).max().unwrap_or_default();
        is_near |= part.iter().any(|score| score.value >= NEAR);
        if part.iter().any(|score| score.answers) {
            answered += 1;
        } else if words < LEAST_WORDS || found == words {
            open += 1;
        } else {
            is_few |= words == LEAST_WORDS && found > 0;
        }
    }
    let all = scores.parts.len();
    let status = match answered {
        answered if answered == all => AnswerStatus::Answered,
        0 if open == 0 && !is_near && !is_few => AnswerStatus::NotFound,
        _ => AnswerStatus::Partly,
    };
    let is_certain = answered == all || statements.is_empty() || (is_alike && answered + open < all);
    WordMatch { status, is_certain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AnswerStatus::{Answered, NotFound, Partly};

    fn certain(questions: &[&str], notes: &[&str]) -> Vec<Option<AnswerStatus>> {
        let [questions, notes] = [questions, notes].map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
        let (questions, notes): (Vec<String>, Vec<String>) = (questions, notes);
        answered(&questions, &notes).into_iter().map(WordMatch::certain).collect()
    }

    #[test]
    fn what_notes_say_decides() {
        let notes = ["### Mill\n- The mill was destroyed by a storm in 1911. [S1001]\n- Herring was landed. [S1001]"];
        let questions = ["When was the mill destroyed?", "What salary does the director earn?"];
        assert_eq!(certain(&questions, &notes), [Some(Answered), Some(NotFound)]);
        assert_eq!(certain(&questions[..1], &[]), [Some(NotFound)]);
    }

    #[test]
    fn words_of_another_language_are_not_missing() {
        let notes = ["- The gate cost 412,000 crowns [S1001]\n- The harbour dues pay for the gate [S1001]"];
        let german = ["Wer bezahlt das Sperrwerk?", "Wann wurde das Sperrwerk am Hafen gebaut?"];
        assert_eq!(certain(&german, &notes), [None, None]);
        assert_eq!(certain(&["水闸花费多少？", "由谁支付？", "何时建成？"], &notes), [None; 3]);
        assert_eq!(certain(&["Quanto costa la paratoia del porto di Tarnvey?"], &notes), [None]);
        let both = [notes[0], "- Das Sperrwerk wurde 1931 gebaut, wie der Rat des Hafens sagt [S2001]"];
        assert_eq!(certain(&german, &both), [None, Some(Answered)], "what is there is there");
        let english = ["What salary does the director earn?"];
        assert_eq!(certain(&english, &both), [None], "it may be in the German note");
        assert_eq!(certain(&english, &notes), [Some(NotFound)]);
    }

    /// Any two texts share letters.
    #[test]
    fn words_of_scripts_without_spaces_are_more_than_letters() {
        let question = ["ราคาของเขื่อนในทะเลสาบภาคกลางของนครพนมเทศบาลจะออกโดยใคร"];
        assert_ne!(certain(&question, &["- ท่านขมขื่น 5 วัน. [S1001]"]), [Some(Answered)]);
        let same = ["- ราคาของเขื่อนในทะเลสาบภาคกลางของนครพนม 412000 บาท. [S1001]"];
        assert_eq!(certain(&question, &same), [Some(Answered)]);
    }

    #[test]
    fn few_words_say_little() {
        let notes = ["- The gate cost 412,000 crowns [S1001]\n- The harbour dues pay for the gate [S1001]"];
        let questions = ["What did the gate cost?", "Who pays for the gate?", "When was it opened?"];
        assert_eq!(certain(&questions, &notes), [Some(Answered), None, None]);
        assert_eq!(certain(&["Who designed the gate?", "Who lent the money?"], &notes), [Some(Partly), Some(NotFound)]);
    }
}
