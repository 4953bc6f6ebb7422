//! Names in a statement: words with a capital letter, in languages where only names have one.

use super::tokens::{Kind, Token};

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

/// The names of a statement, each as the places of its words among the tokens: two or more capitalised words in a row,
/// and acronyms. A word that begins the sentence is part of one only with others behind it.
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
    names.extend(acronyms(tokens));
    names
}

/// Words in capital letters among others. In a heading or a shout, where most words are such, they tell nothing.
fn acronyms(tokens: &[Token<'_>]) -> impl Iterator<Item = Vec<usize>> {
    let words = || tokens.iter().filter(|token| token.is_word());
    let are_few = words().filter(|token| is_acronym(token.text)).count() * 3 <= words().count();
    let is_plain = |at: usize| tokens.get(at).is_some_and(|token| token.is_word() && !is_acronym(token.text));
    let is_glued = |at: usize| at > 0 && at < tokens.len() && tokens[at - 1].end() == tokens[at].at;
    let is_end = |at: usize| matches!(tokens[at].kind, Kind::Mark('.' | ',' | ';' | ')' | '?' | '!'));
    let is_apart = move |at: usize| !is_glued(at) && (!is_glued(at + 1) || is_end(at + 1));
    let is_among = move |at: usize| is_plain(at + 1) || at > 0 && is_plain(at - 1);
    let places = (0..tokens.len()).filter(move |at| are_few && is_acronym(tokens[*at].text));
    places.filter(move |at| is_apart(*at) && is_among(*at)).map(|at| vec![at])
}

/// Is it all capital letters, and long enough to be no abbreviation of many things?
pub fn is_acronym(word: &str) -> bool {
    word.chars().count() >= SHORTEST && word.chars().all(char::is_uppercase)
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
        check("NATO and the EU paid, see NOTE-7 or NOTES.", &["NATO", "NOTES"]);
        check("NATO PAID", &[]);
        assert!(is_telling("Tregarrow") && !is_telling("President") && !is_telling("Bay"));
    }
}
