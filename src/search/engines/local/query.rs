//! What a model asks, made into what the index understands: any text in, a safe expression out.

use std::collections::HashSet;

use crate::text::{fold, is_unspaced};

/// Further terms of a query are ignored.
const MAX_TERMS: usize = 32;
/// Characters of a query that are looked at.
const MAX_CHARS: usize = 4_000;

/// The terms of a query: what to look for, in order of appearance, none twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub terms: Vec<Term>,
}

/// A part of a question that a passage can contain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    /// Lower case, letters and digits, no diacritics.
    Word(String),
    /// Words that stand together: `ir 2030 07`.
    Phrase(Vec<String>),
    /// One or two characters of a script without spaces.
    Ideographs(String),
}

impl Query {
    /// Reads a query; function words are dropped unless there is nothing else.
    pub fn parse(text: &str) -> Self {
        let text: String = text.chars().take(MAX_CHARS).collect();
        let mut all = Vec::new();
        for chunk in text.split_whitespace() {
            terms_of(chunk, &mut all);
        }
        let mut seen = HashSet::new();
        all.retain(|term| seen.insert(term.clone()));
        let mut terms: Vec<_> = all.iter().filter(|term| !term.is_stop_word()).cloned().collect();
        if terms.is_empty() {
            terms = all;
        }
        terms.truncate(MAX_TERMS);
        Self { terms }
    }

    /// Returns an FTS5 expression that holds nothing but quoted letters and digits, `OR`, and `*` of our own; `None`
    /// if empty.
    pub fn expression(&self) -> Option<String> {
        let alternatives: Vec<_> = self.terms.iter().flat_map(Term::alternatives).collect();
        (!alternatives.is_empty()).then(|| alternatives.join(" OR "))
    }
}

impl Term {
    fn alternatives(&self) -> Vec<String> {
        match self {
            Self::Word(word) => match stem(word) {
                Some(stem) => vec![format!("\"{word}\""), format!("\"{stem}\" *")],
                None => vec![format!("\"{word}\"")],
            },
            Self::Phrase(words) => vec![format!("\"{}\"", words.join(" "))],
            Self::Ideographs(run) => {
                vec![format!("\"{}\"", run.chars().map(String::from).collect::<Vec<_>>().join(" "))]
            }
        }
    }

    fn is_stop_word(&self) -> bool {
        match self {
            Self::Word(word) => STOP_WORDS.contains(&word.as_str()) || (word.len() == 1 && !word.starts_with(is_digit)),
            Self::Phrase(_) => false,
            Self::Ideographs(run) => run.chars().any(|char| STOP_IDEOGRAPHS.contains(char)),
        }
    }
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// Returns what related forms of a longer word begin with: `turbines` and `turbine`, `Dichtungen` and `Dichtung`.
pub(super) fn stem(word: &str) -> Option<&str> {
    let chars = word.chars().count();
    let keep = match chars {
        4 if word.ends_with(['e', 'y']) => 3,
        ..=4 => return None,
        5..=6 => chars - 1,
        7..=9 => chars - 2,
        _ => chars - 3,
    };
    let is_number = word.starts_with(is_digit);
    let (end, _) = word.char_indices().nth(keep)?;
    (!is_number).then_some(&word[..end])
}

/// Splits what stands between two spaces: `IR-2030-07` gives its parts and, since they belong together, the phrase.
fn terms_of(chunk: &str, terms: &mut Vec<Term>) {
    let mut words = Vec::new();
    for token in tokens(chunk) {
        match token.chars().next().is_some_and(is_unspaced) {
            true => terms.extend(ideographs(&token)),
            false => words.push(token),
        }
    }
    let belongs_together = (2..=6).contains(&words.len()) && chunk.contains(is_digit);
    terms.extend(words.iter().cloned().map(Term::Word));
    if belongs_together {
        terms.push(Term::Phrase(words));
    }
}

/// Returns pairs that overlap, as the words of such scripts are mostly pairs; a lone character stands for itself.
fn ideographs(run: &str) -> Vec<Term> {
    let chars: Vec<_> = run.chars().collect();
    match chars.as_slice() {
        [one] => vec![Term::Ideographs(one.to_string())],
        several => several.windows(2).map(|pair| Term::Ideographs(pair.iter().collect())).collect(),
    }
}

/// Returns the words of a text as the index sees them: lower case, no diacritics, runs of ideographs apart from other
/// letters.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = None;
    for char in text.chars() {
        let kind = char.is_alphanumeric().then(|| is_unspaced(char));
        if let Some(kind) = kind {
            if last != Some(kind) {
                tokens.push(String::new());
            }
            if let Some(token) = tokens.last_mut() {
                token.extend(char.to_lowercase().filter_map(fold));
            }
        }
        last = kind;
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// Returns the indexed copy of a text: a space on both sides of each ideograph makes each a word of its own.
pub(super) fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 8);
    for char in text.chars() {
        if is_unspaced(char) {
            spaced.extend([' ', char, ' ']);
        } else {
            spaced.push(char);
        }
    }
    spaced
}

const STOP_IDEOGRAPHS: &str = "的了是在和与及吗呢吧什么怎哪谁几多少这那有为之也都のはがをにへでとも";

/// Function words of English, German and French, without diacritics; words that also carry meaning are not among them.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being",
    "between", "both", "but", "by", "can", "could", "did", "do", "does", "each", "for", "from", "give", "had", "has",
    "have", "he", "her", "his", "how", "if", "in", "into", "is", "it", "its", "list", "many", "may", "me", "much",
    "must", "my", "no", "not", "of", "on", "or", "our", "over", "please", "s", "she", "should", "so", "some", "such",
    "t", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "aber", "als", "am", "an", "auch", "auf", "aus", "bei", "bin", "bis", "da", "das", "dass",
    "dem", "den", "der", "des", "die", "du", "durch", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es",
    "fur", "hat", "haben", "ich", "ihr", "im", "ist", "kann", "man", "mit", "nach", "nicht", "noch", "nur", "ob",
    "oder", "sich", "sie", "sind", "so", "uber", "um", "und", "uns", "viel", "viele", "vom", "von", "vor", "wann",
    "war", "waren", "warum", "was", "wegen", "wer", "werden", "wie", "wieviel", "wir", "wird", "wo", "wurde", "wurden",
    "zu", "zum", "zur", "zwischen", "au", "aux", "avec", "ce", "ces", "cette", "combien", "comment", "dans", "de",
    "des", "du", "elle", "en", "est", "et", "etait", "il", "ils", "je", "la", "le", "les", "leur", "mais", "ne", "ou",
    "par", "pas", "plus", "pour", "pourquoi", "qu", "quand", "que", "quel", "quelle", "quelles", "quels", "qui",
    "quoi", "sa", "se", "ses", "son", "sont", "sur", "un", "une", "l", "d", "ete",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Query::parse(text).expression().unwrap_or_default()
    }

    #[test]
    fn questions_become_terms() {
        let check = |text: &str, expected: &str| assert_eq!(expression(text), expected, "{text}");
        check("Who is the miller?", "\"miller\" OR \"mille\" *");
        check("Wann öffnet das Bad?", "\"offnet\" OR \"offne\" * OR \"bad\"");
        check("IR-2030-07", "\"ir\" OR \"2030\" OR \"07\" OR \"ir 2030 07\"");
        check("to be or not to be", "\"to\" OR \"be\" OR \"or\" OR \"not\"");
        check("游客中心的票", "\"游 客\" OR \"客 中\" OR \"中 心\"");
        check("猫", "\"猫\"");
        check("2.4 MWh电池", "\"2\" OR \"4\" OR \"2 4\" OR \"电 池\" OR \"mwh\"");
        check(" \u{0}*\"^:()+-", "");
    }

    #[test]
    fn expressions_hold_no_syntax_but_ours() {
        let hostile = "\" OR NEAR(a* ^b title:c \"\" {x y}: - + AND NOT \u{0} ' ; drop table";
        let expression = expression(hostile);
        let quoted_only = expression.split(" OR ").all(|part| {
            let word = part.trim_end_matches(" *");
            word.len() > 2 && word.starts_with('"') && word.ends_with('"') && !word[1..word.len() - 1].contains('"')
        });
        assert!(quoted_only, "{expression}");
    }

    #[test]
    fn queries_are_bounded() {
        let megabyte = (0..200_000).map(|n| format!("w{n}x ")).collect::<String>();
        assert_eq!(Query::parse(&megabyte).terms.len(), MAX_TERMS);
    }

    #[test]
    fn ideographs_stand_alone_in_the_indexed_copy() {
        assert_eq!(spaced("a潮汐b"), "a 潮  汐 b");
    }
}
