//! Names in a statement: words with a capital letter, in languages where only names have one.

use super::tokens::Token;

/// Languages in which a capital letter inside a sentence begins a name.
const LANGUAGES: [&str; 6] = ["en", "fr", "es", "it", "pt", "nl"];
/// Letters of the shortest word that is taken for a part of a name.
const SHORTEST: usize = 4;

/// Capitalised, and no names of anybody.
const COMMON: &str = "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october \
    november december internet english german french spanish italian portuguese dutch chinese european american british western eastern northern southern \
    north south east west president minister chancellor director professor mayor doctor lord lady king queen prince judge chairman chairwoman senator \
    according however table figure section chapter article annex appendix version phase part";

/// Is it worth looking for names in a text of that language?
pub fn has_names(language: Option<&str>) -> bool {
    language.is_some_and(|code| LANGUAGES.contains(&code))
}

/// The names of a statement, each as the places of its words among the tokens: two or more capitalised words in a row.
/// A word that begins the sentence is part of one only with others behind it.
pub fn names(tokens: &[Token<'_>]) -> Vec<Vec<usize>> {
    let mut names: Vec<Vec<usize>> = Vec::new();
    let mut current: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_near = current.last().is_none_or(|last| tokens[*last].end() + 1 >= token.at);
        if is_capitalised(token) && is_near {
            current.push(at);
            continue;
        }
        names.push(std::mem::take(&mut current));
        if is_capitalised(token) {
            current.push(at);
        }
    }
    names.push(current);
    names.retain(|name| name.len() > 1 && name.iter().any(|at| is_telling(tokens[*at].text)));
    names
}

/// Does the word tell this name from others?
pub fn is_telling(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.chars().count() >= SHORTEST && !COMMON.split_whitespace().any(|known| known == lower)
}

fn is_capitalised(token: &Token<'_>) -> bool {
    let mut letters = token.text.chars();
    token.is_word() && letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    #[test]
    fn names_have_two_words_or_more() {
        let check = |text: &str, expected: &[&str]| {
            let tokens = tokens(text);
            let found: Vec<String> = names(&tokens)
                .iter()
                .map(|name| name.iter().map(|at| tokens[*at].text).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("In May, Maud Tregarrow met the council of Sallow Bay.", &["Maud Tregarrow", "Sallow Bay"]);
        check("The gate opened, and Petrel stopped.", &[]);
        assert!(is_telling("Tregarrow") && !is_telling("President") && !is_telling("Bay"));
    }
}
