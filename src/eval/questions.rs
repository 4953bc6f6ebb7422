//! The file of questions: one JSON object per line (examples/README.md).

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};

/// A question and what a good report on it holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Question {
    #[serde(deserialize_with = "text_or_number")]
    pub id: String,
    /// Deep Research Bench calls it `prompt`.
    #[serde(alias = "prompt")]
    pub question: String,
    /// Which part of the questions it belongs to; figures are shown for each.
    #[serde(default)]
    pub set: Option<String>,
    /// Paths in the documents folder, or URLs, that a good report cites.
    #[serde(default)]
    pub documents: Vec<String>,
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// What was true once, or never: not to be stated as the answer.
    #[serde(default)]
    pub outdated: Vec<String>,
    /// What only a report holds that obeys or quotes orders found in a page.
    #[serde(default)]
    pub injected: Vec<String>,
    /// The documents do not hold the answer, and a good report says so first.
    #[serde(default)]
    pub unanswerable: bool,
    /// ISO 639-1, of question and report.
    #[serde(default)]
    pub language: Option<String>,
}

/// A statement that a good report makes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    Literal(String),
    /// Any of these ways to say it.
    AnyOf(Vec<String>),
}

impl Fact {
    /// Returns the ways to say it.
    pub fn alternatives(&self) -> &[String] {
        match self {
            Self::Literal(text) => std::slice::from_ref(text),
            Self::AnyOf(texts) => texts,
        }
    }
}

/// Reads a file of questions.
///
/// # Errors
/// The first line that is no question, by its number, or an id that occurs twice.
pub fn read(text: &str) -> Result<Vec<Question>, String> {
    let mut questions = Vec::new();
    let mut seen = HashSet::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let question: Question = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if !seen.insert(question.id.clone()) {
            return Err(format!("line {}: the id {} occurs twice", number + 1, question.id));
        }
        questions.push(question);
    }
    if questions.is_empty() { Err("it holds no question".to_owned()) } else { Ok(questions) }
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Text(String),
        Number(u64),
    }
    Ok(match Id::deserialize(deserializer)? {
        Id::Text(text) => text,
        Id::Number(number) => number.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_questions() {
        let text = "{\"id\": 7, \"prompt\": \"Why?\", \"facts\": [\"a\", [\"b\", \"c\"]]}\n\n{\"id\": \"x\", \"question\": \"How?\"}\n";
        let questions = read(text).unwrap();
        assert_eq!((questions[0].id.as_str(), questions[0].question.as_str()), ("7", "Why?"));
        assert_eq!(questions[0].facts[1].alternatives(), ["b", "c"]);
        assert_eq!(read("{\"id\": \"x\"}").unwrap_err().split(':').next(), Some("line 1"));
        assert!(
            read("{\"id\": 1, \"question\": \"a\"}\n{\"id\": 1, \"question\": \"b\"}").unwrap_err().contains("twice")
        );
        assert!(read("\n").is_err());
        assert!(read("\u{feff}{\"id\": 1, \"question\": \"a\"}").is_ok(), "a byte order mark is no text");
    }
}
