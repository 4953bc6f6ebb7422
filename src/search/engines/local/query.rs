//! What a model asks, made into what the index understands: any text in, a safe expression out.

use std::collections::HashSet;

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

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
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        let is_shouted = !text.chars().any(char::is_lowercase);
        for chunk in text.split_whitespace() {
            let from = all.len();
            terms_of(chunk, &mut all);
            if !is_shouted && is_name(chunk) {
                names.extend(all[from..].iter().cloned());
            }
        }
        let mut seen = HashSet::new();
        all.retain(|term| seen.insert(term.clone()));
        let mut terms: Vec<_> =
            all.iter().filter(|term| names.contains(term) || !term.is_stop_word()).cloned().collect();
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
            Self::Word(word) => match prefix(word) {
                Some(prefix) => vec![format!("\"{word}\""), format!("\"{prefix}\" *")],
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
            // `和平` and `埃及` are words, though `和` and `及` are function words.
            Self::Ideographs(run) => {
                run.chars().any(|char| PARTICLES.contains(char))
                    || run.chars().all(|char| FUNCTION_WORDS.contains(char))
            }
        }
    }
}

/// Returns whether it is written in capitals as no function word is: `WHO`, `IT`, the `C` of `C#`.
fn is_name(chunk: &str) -> bool {
    let word = chunk.trim_matches(|char: char| !char.is_alphanumeric());
    let is_capital = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
    is_capital && !matches!(word, "I" | "A")
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// Returns what related forms of a longer word begin with: `turbines` and `turbine`, `Dichtungen` and `Dichtung`.
pub(super) fn prefix(word: &str) -> Option<&str> {
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
    terms.extend(written_otherwise(&words));
    if belongs_together {
        terms.push(Term::Phrase(words));
    }
}

/// Returns a number with its thousands apart as one, and the other way round: `12,500` is `12500`.
fn written_otherwise(words: &[String]) -> Option<Term> {
    let are_numbers = words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    match words {
        [one] if are_numbers && (5..=12).contains(&one.len()) => {
            let head = (one.len() - 1) % 3 + 1;
            let groups = one.as_bytes()[head..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
            Some(Term::Phrase(std::iter::once(one[..head].to_owned()).chain(groups).collect()))
        }
        [first, rest @ ..] if are_numbers && !rest.is_empty() && rest.len() <= 4 => {
            let is_grouped = first.len() <= 3 && rest.iter().all(|group| group.len() == 3);
            is_grouped.then(|| Term::Word(words.concat()))
        }
        _ => None,
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
    // Some systems write an accent behind its letter, where it would end the word.
    for char in text.nfc() {
        // The index has no marks of such a script.
        if is_unspaced(char) && is_combining_mark(char) {
            continue;
        }
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
    for char in text.nfc() {
        if is_unspaced(char) {
            spaced.extend([' ', char, ' ']);
        } else {
            spaced.push(char);
        }
    }
    spaced
}

/// No word of two characters that carries meaning has one of them.
const PARTICLES: &str = "的了吗呢吧么什哪谁这のはがをにへでとも";
/// Function words that also stand within names: `华为`, `成都`.
const FUNCTION_WORDS: &str = "是在和与及怎几多少那有为之也都";

/// Function words of English, German and French, without diacritics; few of them carry meaning elsewhere.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being",
    "between", "both", "but", "by", "can", "could", "did", "do", "does", "each", "for", "from", "give", "had", "has",
    "have", "he", "her", "his", "how", "if", "in", "into", "is", "it", "its", "list", "many", "may", "me", "much",
    "must", "my", "no", "not", "of", "on", "or", "our", "over", "please", "s", "she", "should", "so", "some", "such",
    "t", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "aber", "als", "am", "an", "auch", "auf", "aus", "bei", "bin", "bis", "da", "das", "dass",
    "dem", "den", "der", "des", "die", "du", "durch", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es",
    "fur", "hat", "haben", "ich", "ihr", "im", "ist", "kann", "mit", "nach", "nicht", "noch", "nur", "ob", "oder",
    "sich", "sie", "sind", "so", "uber", "um", "und", "uns", "viel", "viele", "vom", "von", "vor", "wann", "waren",
    "warum", "was", "wegen", "wer", "werden", "wie", "wieviel", "wir", "wird", "wo", "wurde", "wurden", "zu", "zum",
    "zur", "zwischen", "au", "aux", "avec", "ce", "ces", "cette", "combien", "comment", "dans", "de", "des", "du",
    "elle", "en", "est", "et", "etait", "il", "ils", "je", "la", "le", "les", "leur", "mais", "ne", "ou", "par", "pas",
    "plus", "pour", "pourquoi", "qu", "quand", "que", "quel", "quelle", "quelles", "quels", "qui", "quoi", "sa", "se",
    "ses", "son", "sont", "sur", "un", "une", "l", "d", "ete",
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
        check("埃及的历史有多少", "\"埃 及\" OR \"历 史\" OR \"史 有\"");
        check("What does the WHO say of IT?", "\"who\" OR \"say\" OR \"it\"");
        check("WHAT IS THE FEE?", "\"fee\"");
        check("C# in the war", "\"c\" OR \"war\"");
        check("Gebu\u{308}hr", "\"gebuhr\" OR \"gebuh\" *");
        check("12,500 of 12500", "\"12\" OR \"500\" OR \"12500\" OR \"12 500\"");
        check("ประชุม", "\"ป ร\" OR \"ร ะ\" OR \"ะ ช\" OR \"ช ม\"");
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
