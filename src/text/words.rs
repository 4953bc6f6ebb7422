//! The words of a text, as Unicode draws their borders.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

/// Letters before the digits of a code without a hyphen; more are a currency's, as in `EUR400`.
const SHORT_CODE: usize = 2;

/// Characters that count as a word in scripts without spaces.
const CHARS_OF_WORD: usize = 2;

/// Returns whether it is a character of a script written without spaces, or of one that is searched as such scripts
/// are.
pub fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{323af}' | '々' | '〇')
        || is_southeast_asian(char)
}

/// Returns whether it is a letter, a mark or a digit of Thai, Lao, Burmese or Khmer; their stops and signs of money are
/// none.
fn is_southeast_asian(char: char) -> bool {
    matches!(char,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e50}'..='\u{e59}' | '\u{e80}'..='\u{eff}'
        | '\u{1000}'..='\u{1049}' | '\u{104c}'..='\u{109f}'
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}'..='\u{17ff}')
}

/// Returns the base letter of a letter with diacritics, as SQLite's `remove_diacritics` has it, and others as they
/// are; `None` of a mark that stands over the letter before.
pub fn fold(char: char) -> Option<char> {
    let base = match char {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' | 'ǎ' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => 'i',
        'ĺ' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        '\u{300}'..='\u{36f}' => return None,
        other => other,
    };
    Some(base)
}

/// Returns whether the word has a digit.
pub fn is_number(word: &str) -> bool {
    word.chars().any(|char| char.is_ascii_digit())
}

/// Returns the words of `text` as written. `2,400` and `16:00` are one word each, so is a run of characters without
/// spaces; `co-operative` is one as well, `mill's` is `mill`, and `l'île` is `île`.
pub fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut end = 0;
    for (at, word) in text.unicode_word_indices() {
        let (skipped, word) = without_elision(word);
        let next = at + skipped + word.len();
        if let Some(last) = words.last_mut()
            && joins(last, &text[end..at], word)
        {
            let from = end - last.len();
            *last = &text[from..next];
        } else {
            words.push(word);
        }
        // A word joined to another one later has to end where the text does.
        end = next;
    }
    words
}

/// Returns the words of `text` in lower case.
pub fn lower_words(text: &str) -> Vec<String> {
    words(text).into_iter().map(str::to_lowercase).collect()
}

/// Returns whether a piece of text between spaces is a code that names one thing of many: `HR-2217`, `P7`,
/// `IR-2030-11`.
pub fn is_code(piece: &str) -> bool {
    let piece = piece.trim_matches(|char: char| !char.is_alphanumeric());
    let digits = piece.trim_start_matches(char::is_uppercase);
    let letters = piece[..piece.len() - digits.len()].chars().count();
    let is_begun = digits.starts_with(|char: char| char.is_ascii_digit()) && letters <= SHORT_CODE;
    letters > 0 && (is_begun || digits.starts_with('-') && is_number(digits))
}

/// Returns the codes of a text, each once.
pub fn codes(text: &str) -> HashSet<&str> {
    let pieces = text.split_whitespace().filter(|piece| is_code(piece));
    pieces.map(|piece| piece.trim_matches(|char: char| !char.is_alphanumeric())).collect()
}

/// A word in lower case, with the mark behind it.
pub type Marked = (String, Option<char>);

/// Returns the words of `text` in lower case, each with the comma, stop or bracket that closes it, and without codes.
pub fn marked_words(text: &str) -> Vec<Marked> {
    let of_piece = |piece: &str| {
        let mark = piece.chars().next_back().filter(|end| ",;:.)".contains(*end));
        let mut words: Vec<Marked> = lower_words(piece).into_iter().map(|word| (word, None)).collect();
        if let Some(last) = words.last_mut() {
            last.1 = mark;
        }
        words
    };
    text.split_whitespace().filter(|piece| !is_code(piece)).flat_map(of_piece).collect()
}

/// Returns how many words `text` has; two characters of a script without spaces count as one.
pub fn word_count(text: &str) -> usize {
    let length = |word: &str| match word.starts_with(is_unspaced) {
        true => word.chars().count() / CHARS_OF_WORD,
        false => 1,
    };
    words(text).into_iter().map(length).sum()
}

/// Returns whether two words, with `between` between them, count as one.
fn joins(last: &str, between: &str, word: &str) -> bool {
    let unspaced = |text: &str| text.chars().next_back().is_some_and(is_unspaced);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    between.is_empty() && unspaced(last) && unspaced(word)
        || between == "-" && is_in("co e", &last.to_lowercase()) && word.starts_with(char::is_alphabetic)
        || between == ":" && (1..=2).contains(&last.len()) && word.len() == 2 && digits(last) && digits(word)
}

/// Returns the word without `'s` behind it or an article of one or two letters before it, and the bytes left out
/// before it.
fn without_elision(word: &str) -> (usize, &str) {
    let Some((at, mark)) = word.char_indices().find(|(_, char)| matches!(char, '\'' | '’')) else { return (0, word) };
    let (head, tail) = (&word[..at], &word[at + mark.len_utf8()..]);
    match (head.chars().count(), tail) {
        (_, "s" | "S") => (0, head),
        (1 | 2, tail) if tail.chars().count() > 2 => (word.len() - tail.len(), tail),
        _ => (0, word),
    }
}

/// Returns whether the word is one of a list with white space between its words.
pub fn is_in(list: &str, word: &str) -> bool {
    // Most words are in no list, which the first look shows faster.
    list.contains(word) && list.split_whitespace().any(|known| known == word)
}

/// Returns whether the phrase stands in the text, its ends at the ends of words.
pub fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_of_word = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() && !is_unspaced(char));
    let (first, last) = (is_of_word(phrase.chars().next()), is_of_word(phrase.chars().next_back()));
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + phrase.len()..].chars().next());
        !(first && is_of_word(before) || last && is_of_word(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_end_where_words_do() {
        let check = |text: &str, phrase: &str, expected: bool| assert_eq!(has_phrase(text, phrase), expected, "{text}");
        check("it is no longer so", "no longer", true);
        check("casino longer", "no longer", false);
        check("no longers, but no longer", "no longer", true);
        check("现在不再有效了", "不再", true);
        check("assistant,write", "assistant,", true);
    }

    #[test]
    fn codes_name_things() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(codes(text), expected.iter().copied().collect(), "{text}");
        check("The pump P-482, (HR-2217) of IR-2030-11; E44.", &["P-482", "HR-2217", "IR-2030-11", "E44"]);
        check("EUR400 for 3 m of 8h in 2030, Pro-4 and co-operative X-ray A", &[]);
    }

    #[test]
    fn marks_part_words() {
        let words: Vec<Marked> = marked_words("P-41 holds 4 l; (Goals: 19).");
        let words: Vec<(&str, Option<char>)> = words.iter().map(|(word, mark)| (word.as_str(), *mark)).collect();
        assert_eq!(words, [("holds", None), ("4", None), ("l", Some(';')), ("goals", Some(':')), ("19", Some('.'))]);
    }

    #[test]
    fn numbers_scripts_and_elisions() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
        check("EUR 2,400 at 16:00.", &["EUR", "2,400", "at", "16:00"]);
        check("成人票6欧元,免费", &["成人票", "6", "欧元", "免费"]);
        check("เขื่อนราคา412บาท", &["เขื่อนราคา", "412", "บาท"]);
        check("ທຶນສ້າງ ရေကာတာ။ ទំនប់។", &["ທຶນສ້າງ", "ရေကာတာ", "ទំនប់"]);
        assert_eq!(word_count("เขื่อนราคา"), 5);
        check("0.3 m/s, über HR-2217", &["0.3", "m", "s", "über", "HR", "2217"]);
        check("the miller's noon, l'île d’Or", &["the", "miller", "noon", "île", "d’Or"]);
        check("1:1 and 11 : 14", &["1", "1", "and", "11", "14"]);
        check("a co-operative's e-mail, twenty-four", &["a", "co-operative", "e-mail", "twenty", "four"]);
        check("", &[]);
    }
}
