//! Names in a statement: words with a capital letter, in languages where only names have one.

use std::{collections::HashSet, ops::Range};

use super::{
    tokens::{Kind, Token, tokens},
    units, words,
};
use crate::text::{self, Language};

/// Languages in which a capital letter inside a sentence begins a name.
const LANGUAGES: [&str; 6] = ["en", "fr", "es", "it", "pt", "nl"];
/// Letters of the shortest word that is taken for a part of a name.
const SHORTEST: usize = 4;

/// Capitalised, and no names of anybody.
const COMMON: &str = "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october \
    november december internet english german french spanish italian portuguese dutch chinese european american british western eastern northern southern \
    north south east west president minister chancellor director professor mayor doctor lord lady king queen prince judge chairman chairwoman senator \
    according however table figure section chapter article annex appendix version phase part \
    dutch swiss greek danish turkish polish finnish swedish irish scottish welsh norwegian russian japanese indian latin arabic greece turkey \
    christmas easter ramadan earth moon mars euro euros dollar dollars bible christian christians muslim muslims islam jewish catholic protestant \
    republicans democrats republican democrat labour conservatives liberals parliament senate congress government council court company board \
    prime vice deputy chief executive officer secretary general attorney managing senior governor ambassador spokesman spokeswoman world \
    although unlike despite whereas while because though besides alongside instead meanwhile moreover furthermore secondo volgens hoewel \
    nonostante segundo embora treasury finance foreign defence defense interior \
    commission committee ministry department agency state states city county university church army navy police press";

/// Between the words of a name, and between names as well; their first letters are no part of its initials.
const OF: &str = "for of on in to the de des du del di da do dos la le les van voor for";
const AND: &str = "and y et e en &";
const ARTICLES: [&str; 5] = ["The", "La", "Le", "Les", "El"];
/// Letters of the shortest initials by which a name is known.
const SHORTEST_INITIALS: usize = 3;
/// Tokens on each side of a part of a name that may belong to it.
const MOST_TOKENS: usize = 10;
/// A name, and what it is called for short beside its initials.
const SHORT_NAMES: &[([&str; 2], &str)] = &[
    (["Federal", "Reserve"], "Fed"),
    (["European", "Union"], "EU"),
    (["United", "Nations"], "UN"),
    (["United", "Nations"], "U.N"),
    (["United", "States"], "US"),
    (["United", "States"], "U.S"),
    (["United", "States"], "USA"),
    (["United", "Kingdom"], "UK"),
    (["United", "Kingdom"], "U.K"),
];

/// Returns whether names can be looked for in a text of that language.
pub fn has_names(language: Option<&str>) -> bool {
    language.is_some_and(|code| LANGUAGES.contains(&code))
}

/// Returns the names of a statement, each as the places of its words among the tokens: two or more capitalised words
/// in a row, and acronyms. A word that begins the sentence is part of one only with others behind it.
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
    names
        .retain(|name| name.len() > 1 && !is_label(tokens, name) && name.iter().any(|at| is_telling(tokens[*at].text)));
    names.extend(acronyms(tokens));
    names
}

/// Returns whether the words stand at the begin, before a colon, and one of them is no name of anybody: `Total Annual
/// Cost: 5 crowns`, not `Maud Tregarrow: 5 crowns`.
fn is_label(tokens: &[Token<'_>], name: &[usize]) -> bool {
    let ends = || name.last().and_then(|last| tokens.get(last + 1)).is_some_and(|token| token.is(':'));
    name.first() == Some(&0) && ends() && name.iter().any(|at| is_general(tokens[*at].text))
}

/// Returns whether it is a word of general language.
fn is_general(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_known = |language: Language| !text::related(&text::stem(&lower, language), language).is_empty();
    is_common(&lower)
        || words::is_computed(&lower)
        || units::unit(&lower).is_some()
        || Language::ALL.into_iter().any(is_known)
}

/// Returns the names of one word: those with a capital letter inside a sentence, and `known` ones wherever they
/// stand.
pub fn single(tokens: &[Token<'_>], known: &HashSet<String>) -> Vec<Vec<usize>> {
    let is_joined =
        |at: usize| tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Mark('-' | '‑' | '/' | '&')));
    let is_name = |at: &usize| {
        let token = &tokens[*at];
        let is_alone = !is_joined(at + 1) && at.checked_sub(1).is_none_or(|before| !is_joined(before));
        let is_one = is_capitalised(token) && is_telling(token.text) && is_alone;
        is_one && (is_inside(tokens, *at) || known.contains(&token.text.to_lowercase()))
    };
    (0..tokens.len()).filter(is_name).map(|at| vec![at]).collect()
}

/// Returns the words of a text, in lower case, that have a capital letter inside a sentence and are nowhere without
/// one.
pub fn always_capitalised(language: Option<&str>, text: &str) -> HashSet<String> {
    if !has_names(language) {
        return HashSet::new();
    }
    let tokens = tokens(text);
    let inside = (0..tokens.len()).filter(|at| is_capitalised(&tokens[*at]) && is_inside(&tokens, *at));
    let mut known: HashSet<String> = inside.map(|at| tokens[at].text.to_lowercase()).collect();
    let plain = tokens.iter().filter(|token| token.is_word() && !token.text.starts_with(char::is_uppercase));
    plain.for_each(|token| _ = known.remove(token.text));
    known
}

/// Does a word stand inside a sentence, where only names begin with a capital letter?
fn is_inside(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return false };
    let is_plain = before.is_word() && !before.text.chars().next().is_some_and(char::is_uppercase);
    is_plain || before.is_number() || before.is(',')
}

/// Returns the words in capital letters among others. In a heading or a shout, where most words are such, they tell
/// nothing.
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

/// Returns what a source may call a name of these words among the tokens for short: its initials, and what stands in
/// parentheses behind it.
pub fn short_forms(tokens: &[Token<'_>], name: &[usize]) -> Vec<String> {
    let [first, .., last] = name else { return Vec::new() };
    let longest = whole(tokens, *first..last + 1, &[OF, AND]);
    let words = |name: &[usize]| name.iter().map(|at| tokens[*at].text).collect::<Vec<_>>();
    let all = [whole(tokens, *first..last + 1, &[]), whole(tokens, *first..last + 1, &[OF]), longest.clone()];
    let initials = |name: &[usize]| words(name).iter().filter_map(|word| word.chars().next()).collect::<String>();
    // The first word of a sentence may be none of the name.
    let behind_first = |name: &Vec<usize>| name[usize::from(name.first() == Some(&0))..].to_vec();
    let all = all.iter().flat_map(|name| [initials(name), initials(&behind_first(name))]);
    let long = all.filter(|initials| initials.chars().nth(SHORTEST_INITIALS - 1).is_some());
    let words = words(&longest);
    let known = SHORT_NAMES.iter().filter(|(name, _)| words.windows(2).any(|pair| pair == name));
    let beside = longest.last().and_then(|last| parenthesised(tokens, last + 1, &words));
    long.chain(known.map(|(_, short)| (*short).to_owned())).chain(beside.map(str::to_owned)).collect()
}

/// Returns the places of the capitalised words of the name that those in this range are a part of, over such joints:
/// `Organisation for Economic Co-operation and Development`.
fn whole(tokens: &[Token<'_>], part: Range<usize>, joints: &[&str]) -> Vec<usize> {
    let is_joint = |at: usize| {
        let token = &tokens[at];
        let is_second = at.checked_sub(1).is_some_and(|mark| tokens[mark].is('-')) && token.is_word();
        token.is('-') || is_second || joints.iter().any(|joints| text::is_in(joints, token.text))
    };
    let is_of_name = |at: &usize| is_capitalised(&tokens[*at]) || is_joint(*at);
    let before = (0..part.start).rev().take(MOST_TOKENS).take_while(is_of_name);
    let behind = (part.end..tokens.len()).take(MOST_TOKENS).take_while(is_of_name);
    let mut words: Vec<usize> = before.chain(part).chain(behind).collect();
    words.retain(|at| is_capitalised(&tokens[*at]) && !ARTICLES.contains(&tokens[*at].text));
    words.sort_unstable();
    words
}

/// Returns the word in parentheses at a token, if it may be short for these words: `Federal Reserve (Fed)`. Behind the
/// name of a person the letters of a party stand there.
fn parenthesised<'a>(tokens: &[Token<'a>], at: usize, words: &[&str]) -> Option<&'a str> {
    let [open, word, close] = tokens.get(at..at + 3)? else { return None };
    let is_capital = word.text.chars().nth(1).is_some() && word.text.chars().all(char::is_uppercase);
    let begins = |part: &str| words.iter().any(|name| name.starts_with(part));
    let letters = words.concat().to_lowercase();
    let is_of_letters = || word.text.to_lowercase().chars().all(|letter| letters.contains(letter));
    let is_related = || begins(&word.text[..word.text.ceil_char_boundary(1)]) && is_of_letters();
    let is_short = is_capital && (is_acronym(word.text) || is_related())
        || word.text.chars().count() >= SHORTEST_INITIALS && begins(word.text);
    (open.is('(') && close.is(')') && word.is_word() && is_short).then_some(word.text)
}

/// Returns the words of a name without the article before it.
pub fn without_article<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    match words {
        ["The", name @ ..] if !name.is_empty() => name,
        all => all,
    }
}

/// Returns whether it is all capital letters, and long enough to be no abbreviation of many things.
pub fn is_acronym(word: &str) -> bool {
    word.chars().count() >= SHORTEST && word.chars().all(char::is_uppercase)
}

/// Returns whether the word tells this name from others.
pub fn is_telling(word: &str) -> bool {
    word.chars().count() >= SHORTEST && !is_common(&word.to_lowercase())
}

/// Returns whether a small word of some language has its capital letter because a sentence begins with it, as in `Selon
/// Emmanuel Macron`.
pub fn opens_sentence(tokens: &[Token<'_>], at: usize) -> bool {
    let is_first = || !tokens[..at].iter().any(|token| token.is_word() || token.is_number());
    text::is_stop_word_of_any(&tokens[at].text.to_lowercase()) && is_first()
}

fn is_common(lower: &str) -> bool {
    text::is_in(COMMON, lower)
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
        let check = |text: &str, whole: &str, expected: &[&str]| {
            let (tokens, known) = (tokens(text), always_capitalised(Some("en"), whole));
            let found: Vec<&str> = single(&tokens, &known).iter().map(|name| tokens[name[0]].text).collect();
            assert_eq!(found, expected, "{text}");
        };
        let whole = "It was signed by Penhallow. The gate opened. So said the petrel to Petrel.";
        check("Penhallow and the Company signed for Tregarrow", whole, &["Penhallow", "Tregarrow"]);
        check("Petrel stopped. Gate: Open the Post-Brexit door", whole, &[]);
        assert!(is_telling("Tregarrow") && !is_telling("President") && !is_telling("Bay"));
    }
}
