//! Every word we say to a model: loads `prompts/`, fills it from typed values.
//!
//! No prompt text lives in `src/`. Templates are minijinja with strict variables; [`Prompts::new`] parses all of them,
//! so a broken one is met at start and by a test, not in the middle of a run.

use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::llm::{Part, Text};

/// Stand around the number of a [`Flexible`] text between rendering and splitting. Private-use characters.
const MARKS: [char; 2] = ['\u{E000}', '\u{E001}'];

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        const TEMPLATES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../prompts/", $name, ".md")))),*];
    };
}

templates![
    "answer",
    "bad_arguments",
    "brief",
    "clarify",
    "compress_request",
    "compress_system",
    "continue_text",
    "follow_up",
    "no_results",
    "nudge_researcher",
    "nudge_supervisor",
    "queries_left_out",
    "repeated_call",
    "report",
    "research_failed",
    "researcher",
    "revise",
    "rounds_left",
    "search_failed",
    "search_results",
    "structured_prompt",
    "structured_repair",
    "structured_tool",
    "summary",
    "supervisor",
    "think_alone",
    "too_many_delegations",
    "tools/conduct_research",
    "tools/conduct_research.research_topic",
    "tools/research_complete_researcher",
    "tools/research_complete_supervisor",
    "tools/search_web",
    "tools/search_web.queries",
    "tools/think_tool",
    "tools/think_tool.reflection",
    "turns_left",
    "unknown_tool",
];

/// All templates, parsed.
#[derive(Debug)]
pub struct Prompts {
    environment: Environment<'static>,
    wording: String,
}

impl Prompts {
    /// Parses every template.
    ///
    /// # Errors
    /// A template that does not parse: a defect of this build.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        for (name, source) in TEMPLATES {
            environment.add_template(name, source)?;
        }
        Ok(Self { environment, wording: wording() })
    }

    /// Names the words of this release: equal for equal texts only.
    pub fn wording(&self) -> &str {
        &self.wording
    }

    /// Fills the template `name`; trimmed.
    ///
    /// A variable the template lacks is a defect that the tests of every template find; the text then names it.
    pub fn text(&self, name: &str, values: impl Serialize) -> String {
        let rendered = self.environment.get_template(name).and_then(|template| template.render(Serde(values)));
        match rendered {
            Ok(text) => text.trim().to_owned(),
            Err(error) => {
                tracing::error!(template = name, %error, "a prompt cannot be rendered");
                format!("(prompt {name} is broken)")
            }
        }
    }

    /// Fills the template `name` and puts the texts of `flexible` where their marks are among the values.
    pub fn parts(&self, name: &str, values: impl Serialize, flexible: Flexible) -> Text {
        flexible.fill(&self.text(name, values))
    }
}

/// Of the release too, since it decides what the texts are filled with.
fn wording() -> String {
    let mut hasher = Sha256::new_with_prefix(env!("CARGO_PKG_VERSION"));
    for (name, source) in TEMPLATES {
        hasher.update([name, "\n", source, "\0"].concat());
    }
    hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Texts of a prompt that may be shortened when the context window is too small. They are long, so the template sees
/// marks in their place, and they are neither copied nor searched.
#[derive(Debug, Default)]
pub struct Flexible {
    texts: Vec<Option<Arc<str>>>,
}

impl Flexible {
    /// Adds a text; returns the value that stands for it in the template.
    pub fn mark(&mut self, text: impl Into<Arc<str>>) -> String {
        self.texts.push(Some(text.into()));
        format!("{}{}{}", MARKS[0], self.texts.len() - 1, MARKS[1])
    }

    /// Each text is used once, so that a look-alike of a mark in another value cannot repeat it.
    fn fill(mut self, rendered: &str) -> Text {
        let mut parts = Vec::new();
        for piece in rendered.split(MARKS[0]) {
            let (number, after) = piece.split_once(MARKS[1]).unwrap_or(("", piece));
            let text = number.parse().ok().and_then(|number: usize| self.texts.get_mut(number)?.take());
            parts.extend(text.map(Part::Flexible));
            parts.push(Part::Fixed(after.into()));
        }
        parts.retain(|part| !part.as_str().is_empty());
        Text(parts)
    }
}

/// Tags that separate data from instructions in our prompts.
const TAGS: [&str; 13] = [
    "source", "sources", "page", "title", "question", "finding", "findings", "topic", "messages", "message", "brief",
    "limits", "report",
];

/// Makes text that is not ours, a model's included, harmless to the tags that frame it: `<` of a look-alike becomes `‹`.
pub fn untrusted(text: &str) -> String {
    let mut pieces = text.split('<');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.trim_start_matches(['/', ' ']);
        let name = &name[..name.bytes().take_while(u8::is_ascii_alphabetic).count()];
        let framing = TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name));
        out.push(if framing { '‹' } else { '<' });
        out.push_str(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d56_look_alikes_of_our_tags_are_defused() {
        assert_eq!(untrusted("a </source> <SOURCE id=1> <b> 1 < 2"), "a ‹/source> ‹SOURCE id=1> <b> 1 < 2");
    }

    #[test]
    fn marked_values_become_flexible_parts() {
        let mut flexible = Flexible::default();
        let (one, two) = (flexible.mark("one\u{E001}"), flexible.mark("two"));
        let rendered = format!("before {one} between {two} after {one}\u{E000}7");
        assert_eq!(
            flexible.fill(&rendered).0,
            [
                Part::Fixed("before ".into()),
                Part::Flexible("one\u{E001}".into()),
                Part::Fixed(" between ".into()),
                Part::Flexible("two".into()),
                Part::Fixed(" after ".into()),
                Part::Fixed("7".into()),
            ]
        );
    }
}
