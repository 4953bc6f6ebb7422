//! Plain words: the terms of the field, no names that point to a list which is not here, and files that end.

use std::fs;

use fathom_testkit::program;

use crate::tidy::{files_under, sources};

/// Lines that are neither blank nor comments, without the unit tests at the end.
const LONGEST_FILE: usize = 500;

/// What a reader has to guess, and what says it plainly.
const GUESSED: [(&str, &str); 6] = [
    ("told", "notified, reported, sent, logged"),
    ("whoever", "the one that, or a name for it"),
    ("anew", "again"),
    ("so long", "this long, or how long"),
    ("bears", "has, tolerates, retries"),
    ("mended", "fixed"),
];

/// Verbs that a clause may follow, as in "Checks that" and "Returns which".
const WITH_CLAUSES: [&str; 12] = [
    "Answers",
    "Checks",
    "Complains",
    "Decides",
    "Finds",
    "Hears",
    "Keeps",
    "Logs",
    "Notes",
    "Returns",
    "Says",
    "Tells",
];

/// What has the form of a verb, and hardly is one at the beginning of a comment.
const NO_VERBS: &str = "Addresses Arguments Backslashes Blocks Browsers Bytes Characters Citations Columns Connections Credentials \
    Digits Documents Elements Engines Entries Errors Excerpts Figures Findings Folders Headers Ids Images Its Keys \
    Letters Levels Lines Markers Milliseconds Models Objects Pages Pairs Parts Paths Pieces Preferences Publishers \
    Queries Questions Readers Requests Results Sentences Shapes Sometimes Sources Statements Tags Tokens Values \
    Viewers Words";

/// Places where a text that is not ours is quoted.
const QUOTED: [&str; 5] =
    ["The court told the jury", "The source bears on", "A source bears on", "told:tell", "whoever summarises|"];

/// Everything that people read and that we write.
const READ: [&str; 19] = [
    "src",
    "tests",
    "crates",
    "prompts",
    "docs",
    "deploy",
    "scripts",
    "benches",
    "fuzz/fuzz_targets",
    "web",
    "README.md",
    "ARCHITECTURE.md",
    "openapi.yaml",
    ".env.example",
    "fathom.example.toml",
    "Dockerfile",
    "docker-compose.yml",
    "Cargo.toml",
    "deny.toml",
];

#[test]
fn words_are_plain() {
    let mut found = Vec::new();
    let files = READ.iter().flat_map(|name| files_under(&program::repository().join(name)));
    for path in files.filter(|path| !path.ends_with("words.rs") && !path.iter().any(|part| part == "node_modules")) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in
            text.lines().enumerate().filter(|(_, line)| !QUOTED.iter().any(|text| line.contains(text)))
        {
            let spaced = spaced(line);
            for (word, plain) in GUESSED.iter().filter(|(word, _)| has_word(&spaced, word)) {
                found.push(format!("{}:{}: `{word}`; say {plain}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// `D-33`, `RES-1` or `fn d33_…` mean something to those alone who have the list.
#[test]
fn nothing_points_to_a_list_that_is_not_here() {
    let prefixes = ["D", "RES", "OR", "SUP", "FIN", "CMS", "LEG", "BRF", "CLR", "SUM"];
    let mut found = Vec::new();
    for path in ["src", "crates", "tests", "prompts", "docs"]
        .iter()
        .flat_map(|name| files_under(&program::repository().join(name)))
    {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            let numbered = |prefix: &&str| {
                line.split(|char: char| !char.is_alphanumeric() && char != '-').any(|word| {
                    let rest = word.strip_prefix(*prefix).and_then(|rest| rest.strip_prefix('-'));
                    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
                })
            };
            let name = line.split("fn d").nth(1).map(|name| name.trim_start_matches('_').as_bytes());
            let is_numbered = name.is_some_and(|name| matches!(name, [b'0'..=b'9', b'0'..=b'9', b'_', ..]));
            if is_numbered || prefixes.iter().any(numbered) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    found.retain(|place| !place.contains("/words.rs:"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn files_can_be_read_in_one_go() {
    let code =
        |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    let lengths = sources().into_iter().map(|source| (code(source.without_tests()), source.path));
    let long: Vec<_> = lengths.filter(|(lines, _)| *lines > LONGEST_FILE).collect();
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines of code: {long:?}");
}

/// "Returns …", "Waits …", as the standard library's do. Tests are left out: theirs say what holds.
#[test]
fn comments_of_functions_begin_with_a_verb() {
    let mut found = Vec::new();
    for path in ["src", "crates"].iter().flat_map(|name| files_under(&program::repository().join(name))) {
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            let is_first = number == 0 || !lines[number - 1].starts_with("///");
            let Some(comment) = line.strip_prefix("///").filter(|_| is_first) else { continue };
            if is_function(&lines[number..]) && !says_what_it_does(comment.trim(), &lines[number..]) {
                found.push(format!("{}:{}:{comment}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns whether the comment begins with a verb, which is `Returns` only where the function below it returns
/// something.
fn says_what_it_does(comment: &str, lines: &[&str]) -> bool {
    let below: Vec<&str> = lines.iter().copied().skip_while(|line| line.starts_with(['/', '#'])).collect();
    begins_with_a_verb(comment) && (!comment.starts_with("Returns ") || returns(&below.join(" ")))
}

/// Returns whether the function that the text begins with returns something: an arrow stands behind its arguments.
fn returns(text: &str) -> bool {
    let (mut angles, mut parentheses, mut previous) = (0, 0, ' ');
    for (at, char) in text.char_indices() {
        match char {
            '<' => angles += 1,
            '>' if previous != '-' => angles -= 1,
            '(' => parentheses += 1,
            ')' => parentheses -= 1,
            _ => {}
        }
        // Parentheses of `pub(crate)` stand before the name, and have no space behind their name.
        if char == ')' && angles == 0 && parentheses == 0 && text[..at].contains("fn ") {
            return text[at + 1..].trim_start().starts_with("->");
        }
        previous = char;
    }
    false
}

/// Returns whether what follows a comment, behind its attributes, is a function that is no test.
fn is_function(lines: &[&str]) -> bool {
    let mut below = lines.iter().skip_while(|line| line.starts_with("///")).peekable();
    let mut is_test = false;
    while let Some(attribute) = below.next_if(|line| line.starts_with("#[")) {
        is_test |= attribute.contains("test");
    }
    let words = |line: &&str| line.split(' ').any(|word| word == "fn") && !line.starts_with("//");
    !is_test && below.next().is_some_and(words)
}

/// Returns whether the first word has the form of a verb, and neither is a noun nor stands like one, as in "Names of
/// the sites" and "Counts that cannot be read".
fn begins_with_a_verb(comment: &str) -> bool {
    let mut words = comment.split([' ', '.', ',', ':', ';']);
    let (word, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let has_its_form =
        word.starts_with(char::is_uppercase) && word.ends_with('s') && word[1..].chars().all(char::is_lowercase);
    let is_like_a_noun = match next {
        "of" => !["Hears", "Says", "Warns"].contains(&word),
        "that" | "which" | "who" | "whose" | "about" => !WITH_CLAUSES.contains(&word),
        next => ["are", "is", "can", "may", "must", "have"].contains(&next),
    };
    has_its_form && !is_like_a_noun && NO_VERBS.split(' ').all(|noun| noun != word)
}

#[test]
fn nouns_are_no_verbs() {
    for comment in ["Returns which of them", "Notes that it ended", "Counts a call.", "Names the reason", "Ends."] {
        assert!(begins_with_a_verb(comment), "{comment}");
    }
    for comment in ["Names of sites", "Counts that", "Judges are", "Bytes before", "The name", "Sources, in order"] {
        assert!(!begins_with_a_verb(comment), "{comment}");
    }
    for signature in ["fn a() -> u8 {", "pub(crate) fn a<F: Fn(u8) -> bool>(f: F, b: (u8, u8)) -> (u8, u8) {"] {
        assert!(returns(signature), "{signature}");
    }
    for signature in ["pub fn a(f: impl Fn(u8) -> bool) {", "fn a<F: Fn(u8) -> bool>(f: F) { || -> u8 { 1 } }"] {
        assert!(!returns(signature), "{signature}");
    }
}

/// Returns whether a line that went through [`spaced`] has the word: by itself, or as a part of a name (`was_told`,
/// `ToldOff`). In `untold` it is a part of another word.
fn has_word(spaced: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric();
    spaced
        .match_indices(word)
        .any(|(at, _)| !spaced[..at].ends_with(is_part) && !spaced[at + word.len()..].starts_with(is_part))
}

/// The line in lower case, with a space between the parts of names.
fn spaced(line: &str) -> String {
    let mut spaced = String::with_capacity(line.len() + 16);
    let mut previous = ' ';
    for char in line.chars() {
        if char.is_uppercase() && (previous.is_lowercase() || previous.is_ascii_digit()) {
            spaced.push(' ');
        }
        match char {
            '_' => spaced.push(' '),
            char => spaced.extend(char.to_lowercase()),
        }
        previous = char;
    }
    spaced
}

#[test]
fn parts_of_names_are_words() {
    for named in ["was_told", "told_once", "ToldOff", "wasTold", "Told;", "so_long", "soLong", "TOLD_LATER"] {
        assert!(GUESSED.iter().any(|(word, _)| has_word(&spaced(named), word)), "{named}");
    }
    for other in ["untold", "Retold", "solong", "forbears", "manew"] {
        assert!(!GUESSED.iter().any(|(word, _)| has_word(&spaced(other), word)), "{other}");
    }
}
