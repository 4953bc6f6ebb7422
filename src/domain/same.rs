//! Which sources are one: those that share a key, whatever their addresses.
//!
//! Each address of a run keeps a row of its own, with keys: one for each address that is certainly of the same page,
//! one for the text, and some under which long texts meet copies with one more sentence. What is one source follows
//! from the rows alone, so it does not matter who met which address first.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::{Source, digest};

/// Letters and digits of a text that nobody else writes by chance.
const TEXT_CHARS: usize = 200;
/// The same, of what is left of a text without a sentence.
const COPY_CHARS: usize = 800;
/// The same, of a paragraph, and of a line that says something.
const PROSE_CHARS: usize = 100;
const SAID_CHARS: usize = 15;
const OF_TEXT: &str = "text:";
const OF_COPY: &str = "copy:";
const OF_PAGE: &str = "page:";
const OF_ORIGINAL: &str = "original:";

/// Returns the keys of a whole text, the same whatever its white space, case and punctuation.
///
/// One names the text, unless it is too short to say that two pages with it are one. Under the others a long text meets
/// its copies: of the whole; of what is left without the first and the last sentence, unless that has a figure and so
/// may be what matters; and of its paragraphs and figures, whatever else a site has put around them.
pub fn text_keys(text: &str) -> Vec<String> {
    let text = text.trim();
    let first = text.find(['\n', '。']).into_iter().chain(text.find(". ")).min();
    let last = text.rfind(['\n', '。']).into_iter().chain(text.rfind(". ")).max();
    // Sentences end between words, so the words of a part are a part of the words.
    let Words { words, chars, article } = Words::of(text);
    let remark = |sentence: &str| {
        let is_remark = !sentence.contains(|char: char| char.is_ascii_digit());
        is_remark.then(|| plain(sentence)).map(|(words, chars)| (words.len(), chars))
    };
    let before = first.and_then(|at| remark(&text[..at]));
    let behind = last.and_then(|at| remark(&text[at..]));
    let parts = [
        Some((words.as_str(), chars)),
        before.map(|(bytes, less)| (&words[bytes..], chars - less)),
        behind.map(|(bytes, less)| (&words[..words.len() - bytes], chars - less)),
    ];
    let copies = parts.into_iter().flatten().filter(|(_, chars)| *chars >= COPY_CHARS).map(|(words, _)| words);
    let whole = (chars >= TEXT_CHARS).then(|| key(OF_TEXT, &words));
    let article = article.as_deref().filter(|article| *article != words);
    whole.into_iter().chain(copies.chain(article).map(|words| key(OF_COPY, words))).collect()
}

/// The words of a text, in lower case.
struct Words {
    words: String,
    /// Letters and digits.
    chars: usize,
    /// Those from its first paragraph to its last one, and of the lines around them that have a figure or say
    /// something, be it a lie; `None` when the paragraphs are not most of a long text.
    article: Option<String>,
}

impl Words {
    fn of(text: &str) -> Self {
        let (mut words, mut chars, mut prose) = (String::with_capacity(text.len()), 0, 0);
        // From the first paragraph to the last one.
        let mut article: Option<Range<usize>> = None;
        let mut said: Vec<Range<usize>> = Vec::new();
        for paragraph in text.split("\n\n") {
            let start = words.len();
            let own = push_plain(&mut words, paragraph);
            chars += own;
            let is_said = own >= SAID_CHARS && is_prose(paragraph);
            if is_said && own >= PROSE_CHARS {
                prose += own;
                article = Some(article.map_or(start, |article| article.start)..words.len());
            } else if is_said || has_figure(paragraph) {
                said.push(start..words.len());
            }
        }
        let article = article.filter(|_| prose >= COPY_CHARS && prose * 2 >= chars);
        let article = article.map(|article| {
            let outside = said.into_iter().filter(|range| !article.contains(&range.start));
            let (before, behind): (Vec<_>, Vec<_>) = outside.partition(|range| range.start < article.start);
            before.into_iter().chain([article]).chain(behind).map(|range| &words[range]).collect()
        });
        Self { words, chars, article }
    }
}

/// Returns whether it is running text, neither a list nor a table nor a heading.
fn is_prose(paragraph: &str) -> bool {
    let paragraph = paragraph.trim();
    let is_list = paragraph.starts_with(['-', '*', '|', '•', '#']);
    !is_list && paragraph.ends_with(['.', '!', '?', '…', '。', '！', '？', '"', '”', '»', ')'])
}

/// Returns whether it has a number other than one of a date or a time, such as stand around articles.
fn has_figure(paragraph: &str) -> bool {
    let mut rest = paragraph;
    while let Some(at) = rest.find(|char: char| char.is_ascii_digit()) {
        let is_behind_colon = rest[..at].ends_with(':');
        let number = number(&rest[at..]);
        rest = &rest[at + number.len()..];
        let is_time = (is_behind_colon || rest.starts_with(':')) && !number.contains(['.', ',']);
        if !is_time && !is_of_date(number) {
            return true;
        }
    }
    false
}

/// Returns the number that a text begins with, with the dots and commas between its digits.
fn number(text: &str) -> &str {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let ends = |at: &usize| !(is_digit(*at) || matches!(bytes[*at], b'.' | b',') && is_digit(at + 1));
    &text[..(0..bytes.len()).find(ends).unwrap_or(bytes.len())]
}

/// Returns whether it is a day, a year, or a date like `03.05.2031`.
fn is_of_date(number: &str) -> bool {
    let within = |digits: &str, most: u8| digits.len() <= 2 && digits.parse().is_ok_and(|value: u8| value <= most);
    let is_year = |digits: &str| digits.len() == 4 && digits.parse().is_ok_and(|year| (1900..2100).contains(&year));
    match number.split('.').collect::<Vec<_>>()[..] {
        [only] => within(only, 31) || is_year(only),
        [day, month, year] => within(day, 31) && within(month, 12) && is_year(year),
        _ => false,
    }
}

/// Returns the words of a text in lower case, and how many letters and digits they have.
fn plain(text: &str) -> (String, usize) {
    let mut plain = String::with_capacity(text.len());
    let chars = push_plain(&mut plain, text);
    (plain, chars)
}

fn push_plain(plain: &mut String, text: &str) -> usize {
    let mut chars = 0;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        plain.push(' ');
        if word.is_ascii() {
            // As most words are: pages are long, and each is read in this way.
            let start = plain.len();
            plain.push_str(word);
            plain[start..].make_ascii_lowercase();
            chars += word.len();
        } else {
            plain.extend(word.chars().flat_map(char::to_lowercase));
            chars += word.chars().count();
        }
    }
    chars
}

fn key(of: &str, text: &str) -> String {
    format!("{of}{}", &digest::sha256_hex(text.as_bytes())[..32])
}

/// Returns the key of a page's address, from the spelling under which addresses of one page meet.
pub fn page_key(same_page: &str) -> String {
    key(OF_PAGE, same_page)
}

/// Returns the key of a page that names another one as its original, from the spelling of that one's address. Pages
/// that share it share a claim, which anybody may make, and so are not the same for it.
pub fn original_key(same_page: &str) -> String {
    key(OF_ORIGINAL, same_page)
}

/// Returns whether those that share this key are one: not a claim.
pub fn joins(key: &str) -> bool {
    !key.starts_with(OF_ORIGINAL)
}

/// Returns whether this is the key of a text.
pub fn is_of_text(key: &str) -> bool {
    key.starts_with(OF_TEXT)
}

/// Returns the sources behind rows, by ascending id: rows with a key in common, be it by way of others, are the
/// source of the smallest id among them, which has the ids and addresses of all. Without keys.
pub fn joined(mut rows: Vec<Source>) -> Vec<Source> {
    rows.sort_by_key(|row| row.id);
    let firsts = firsts(&rows);
    let originals = originals(&rows);
    let (mut sources, mut places) = (Vec::<Source>::new(), HashMap::new());
    for (at, (row, first)) in rows.into_iter().zip(firsts).enumerate() {
        if first == at {
            places.insert(at, sources.len());
            sources.push(Source { keys: Vec::new(), ..row });
        } else if let Some(source) = places.get(&first).and_then(|place| sources.get_mut(*place)) {
            add(source, row, originals.contains(&at));
        }
    }
    sources
}

/// Returns the rows that others with the same text name as their original, by places.
fn originals(rows: &[Source]) -> HashSet<usize> {
    let named: HashSet<&str> =
        rows.iter().flat_map(|row| &row.keys).filter_map(|key| key.strip_prefix(OF_ORIGINAL)).collect();
    if named.is_empty() {
        return HashSet::new();
    }
    let is_of_words = |key: &&String| key.starts_with(OF_TEXT) || key.starts_with(OF_COPY);
    let names = |row: &Source, page: &str| row.keys.iter().any(|key| key.strip_prefix(OF_ORIGINAL) == Some(page));
    let is_original = |row: &Source| {
        let pages: Vec<&str> = row.keys.iter().filter_map(|key| key.strip_prefix(OF_PAGE)).collect();
        let agrees = |other: &Source| other.keys.iter().filter(is_of_words).any(|key| row.keys.contains(key));
        let is_named_by = |other: &Source| pages.iter().any(|page| names(other, page)) && agrees(other);
        pages.iter().any(|page| named.contains(page)) && rows.iter().any(is_named_by)
    };
    (0..rows.len()).filter(|at| is_original(&rows[*at])).collect()
}

/// Returns the first row of each row's source, by places.
fn firsts(rows: &[Source]) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..rows.len()).collect();
    let mut by_key: HashMap<&str, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        for key in row.keys.iter().filter(|key| joins(key)) {
            let other = *by_key.entry(key).or_insert(at);
            let (one, other) = (first_of(&firsts, at), first_of(&firsts, other));
            firsts[one.max(other)] = one.min(other);
        }
    }
    (0..rows.len()).map(|at| first_of(&firsts, at)).collect()
}

fn first_of(firsts: &[usize], mut at: usize) -> usize {
    while firsts[at] != at {
        at = firsts[at];
    }
    at
}

fn add(source: &mut Source, mut row: Source, is_original: bool) {
    // Of two spellings of one address the one with TLS is shown, and of copies the original.
    let spellings = (source.url.strip_prefix("http://"), row.url.strip_prefix("https://"));
    let is_safer = matches!(spellings, (Some(plain), Some(safe)) if without_www(plain) == without_www(safe));
    if is_safer || is_original {
        std::mem::swap(&mut source.url, &mut row.url);
    }
    Source::join_ids(&mut source.id, &mut source.aliases, std::iter::once(row.id).chain(row.aliases));
    source.addresses.extend(std::iter::once(row.url).chain(row.addresses));
    source.published = source.published.take().or(row.published);
    source.author = source.author.take().or(row.author);
    source.site = source.site.take().or(row.site);
}

fn without_www(place: &str) -> &str {
    place.strip_prefix("www.").unwrap_or(place).trim_end_matches('/')
}

/// Returns the source with the texts of its rows, each once, its own first.
pub fn with_texts(source: Source, rows: &[Source]) -> Source {
    let mut texts: Vec<&Arc<str>> = Vec::new();
    for id in source.ids() {
        let own = rows.iter().filter(|row| row.id == id).map(|row| &row.snapshot);
        texts.extend(own.filter(|text| !texts.contains(text)).collect::<Vec<_>>());
    }
    let snapshot = match texts.as_slice() {
        [only] => Arc::clone(only),
        several => several.iter().map(|text| &***text).collect::<Vec<_>>().join("\n").into(),
    };
    Source { snapshot, ..source }
}

/// Returns the source with what else a run saw under its addresses behind its own text. Passages are places of this.
pub fn with_other_texts<'t>(source: Source, others: impl Fn(&str) -> Vec<&'t str>) -> Source {
    let others =
        source.all_addresses().flat_map(|address| others(address)).filter(|other| !source.snapshot.contains(other));
    let others: Vec<&str> = others.collect();
    if others.is_empty() {
        return source;
    }
    let snapshot = std::iter::once(&*source.snapshot).chain(others).collect::<Vec<_>>().join("\n").into();
    Source { snapshot, ..source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    fn row(id: u32, url: &str, keys: &[&str]) -> Source {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Source { keys, ..Source::example(id, url, url) }
    }

    #[test]
    fn rows_with_a_key_in_common_are_one_source() {
        let rows = vec![
            Source { author: Some("M. Tey".to_owned()), ..row(2001, "c", &["p", "t"]) },
            row(1002, "b", &["x"]),
            Source { aliases: vec![SourceId(3001)], ..row(1001, "a", &["t"]) },
            row(4001, "d", &["q", "p"]),
            row(5001, "e", &[]),
            row(5002, "f", &[]),
        ];
        let sources = joined(rows.clone());
        let ids: Vec<u32> = sources.iter().map(|source| source.id.0).collect();
        assert_eq!(ids, [1001, 1002, 5001, 5002]);
        assert_eq!(sources[0].aliases, [2001, 3001, 4001].map(SourceId));
        assert_eq!(
            (sources[0].url.as_str(), sources[0].addresses.as_slice()),
            ("a", &["c", "d"].map(str::to_owned)[..])
        );
        assert_eq!(sources[0].author.as_deref(), Some("M. Tey"));
        let backwards = joined(rows.into_iter().rev().collect());
        assert_eq!(backwards, sources, "the order of rows does not matter");
    }

    #[test]
    fn of_two_spellings_of_an_address_the_one_with_tls_is_the_sources_own() {
        let rows = [
            (1, "http://www.a.test/x/"),
            (2, "https://a.test/x"),
            (3, "https://b.test/x"),
            (4, "https://www.a.test/x"),
        ];
        let own = |rows: &[(u32, &str)]| {
            let source = joined(rows.iter().map(|(id, url)| row(*id, url, &["x"])).collect()).remove(0);
            (source.id.0, source.url, source.addresses)
        };
        let others = ["http://www.a.test/x/", "https://b.test/x", "https://www.a.test/x"].map(str::to_owned).to_vec();
        assert_eq!(own(&rows), (1, "https://a.test/x".to_owned(), others));
        let only = |url: &str| own(&[(1, "http://a.test/x"), (2, url)]).1;
        assert_eq!([only("https://b.test/x"), only("https://a.test/y")], ["http://a.test/x"; 2]);
    }

    #[test]
    fn a_chain_that_closes_late_is_one_source_too() {
        let rows = vec![row(1, "a", &["x"]), row(2, "b", &["y"]), row(3, "c", &["z", "y"]), row(4, "d", &["x", "z"])];
        let sources = joined(rows);
        assert_eq!((sources.len(), sources[0].addresses.len()), (1, 3));
    }

    fn text_key(text: &str) -> Option<String> {
        text_keys(text).into_iter().find(|key| is_of_text(key))
    }

    fn copy_keys(text: &str) -> Vec<String> {
        text_keys(text).into_iter().filter(|key| !is_of_text(key)).collect()
    }

    /// They are stored, and compared with those of other releases.
    #[test]
    fn the_keys_of_a_text_are_those_of_its_words() {
        let (first, last) = ("Große Köpfe, says ΣΟΦΟΣ.", "Ende. That’s all");
        let between = " The gate takes\tboats through… in an hour".repeat(40);
        let text = format!(" {first}{between}\n{last}\n");
        let words = |text: &str| plain(text).0;
        let expected = [
            key(OF_TEXT, &words(&text)),
            key(OF_COPY, &words(&text)),
            key(OF_COPY, &words(&format!("{between}\n{last}"))),
            key(OF_COPY, &words(&format!("{first}{between}\nEnde"))),
        ];
        assert_eq!(text_keys(&text), expected);
    }

    #[test]
    fn texts_are_equal_whatever_their_layout() {
        let text = "The gate is paid by harbour dues of 4 crowns. ".repeat(8);
        let other = text.to_uppercase().replace(". ", " -\n\n");
        assert_eq!(text_key(&text), text_key(&other));
        assert!(text_key(&text).is_some_and(|key| is_of_text(&key)));
        assert_ne!(text_key(&text), text_key(&text.replace("4 crowns", "5 crowns")));
        assert_eq!(text_key("The gate is paid by harbour dues of 4 crowns."), None, "short texts are equal by chance");
        assert!(!is_of_text(&page_key("harbour.test/dues")));
    }

    #[test]
    fn copies_with_a_sentence_of_their_own_share_a_key() {
        let article: String = (1..40).map(|n| format!("The gate takes {n} boats through in an hour. ")).collect();
        let shares = |one: &str, other: &str| {
            let (one, other) = (copy_keys(one), copy_keys(other));
            one.iter().any(|key| other.contains(key))
        };
        assert!(shares(&article, &format!("{article}First published by the Harbour Post.")));
        assert!(shares(&article, &format!("From our partner, the Harbour Post\n\n{article}")));
        assert!(shares(&format!("{article}More in print."), &format!("{article}First published by the Harbour Post.")));
        assert!(!shares(&article, &format!("{article}Since May it takes 41.")), "the figure may be what matters");
        assert!(!shares(&article, &article.replace("takes 7 boats", "takes 8 boats")));
        assert!(!shares(&article, &format!("{article}One. Two.")));
        assert_eq!(copy_keys("The gate takes boats."), Vec::<String>::new());
        assert_eq!(copy_keys(&article).len(), 1, "its sentences have figures");
    }

    #[test]
    fn an_article_is_one_whatever_a_site_puts_around_it() {
        let paragraph = |n: u32| {
            format!(
                "The gate takes {n} boats through in an hour, and the harbour office counts each of \
            them, since the dues of four crowns a boat pay for the gate and for the men who open it.\n\n"
            )
        };
        let article: String = (41..50).map(paragraph).collect();
        let shares = |one: &str, other: &str| {
            let (one, other) = (copy_keys(one), copy_keys(other));
            one.iter().any(|key| other.contains(key))
        };
        let post = format!("- Home\n- News\n\nThe gate\n\n{article}© 2031 The Harbour Post");
        let ledger = format!(
            "The Ledger | Monday, 3 May 2031, 08:15\n\n# Boats and dues\n\n{article}Read on: Gulls\n\nContact us"
        );
        assert!(shares(&post, &ledger) && shares(&post, &article), "{:?} {:?}", copy_keys(&post), copy_keys(&ledger));
        assert!(!shares(&post, &ledger.replace("42 boats", "43 boats")));
        assert!(!shares(&post, &format!("{ledger}\n\nCost: 412 crowns")), "a figure may be what matters");
        for lie in ["The gate is closed.\n\n", "The gate is closed since May\n\n"] {
            let (before, behind) = article.split_at(article.find("The gate takes 45").unwrap());
            assert!(!shares(&post, &format!("{before}{lie}{behind}")), "{lie}");
        }
        assert!(!shares(&post, &format!("Home\n\nThe gate is closed.\n\n{article}Contact us")), "before the article");
        assert!(
            !shares(&post, &ledger.replace("Gulls", &"Gulls and other birds of the coast ".repeat(90))),
            "a part of a page"
        );
        assert!(!shares(&paragraph(41), &format!("Home\n\n{}", paragraph(41))), "too short");
    }

    #[test]
    fn numbers_of_dates_and_times_are_no_figures() {
        let check = |text: &str, expected: bool| assert_eq!(has_figure(text), expected, "{text}");
        check("Monday, 3 May 2031, 08:15", false);
        check("© 2031 The Post", false);
        check("Stand: 03.05.2031, 08:15", false);
        check("3.5.2031", false);
        check("3.5.2031.1", true);
        check("3.13.2031", true);
        check("3,5,2031", true);
        check("32.5.2031", true);
        check("3.5", true);
        check("10:30.5", true);
        check("High water 4.1 m", true);
        check("412 crowns", true);
        check("1,200", true);
        check("99", true);
        check("", false);
    }

    #[test]
    fn of_copies_the_one_is_shown_that_the_others_name_and_that_says_the_same() {
        let original = original_key("b.test/x");
        let page = page_key("b.test/x");
        let own = |copy: &[&str], other: &[&str]| {
            joined(vec![row(1, "https://a.test/x", copy), row(2, "https://b.test/x", other)])[0].url.clone()
        };
        let sources = |copy: &[&str], other: &[&str]| {
            joined(vec![row(1, "https://a.test/x", copy), row(2, "https://b.test/x", other)]).len()
        };
        assert_eq!(own(&["copy:t", &original], &["copy:t", &page]), "https://b.test/x");
        assert_eq!(own(&["copy:t"], &["copy:t", &page]), "https://a.test/x");
        assert_eq!(sources(&["copy:u", &original], &["copy:t", &page]), 2, "it says something else");
        assert_eq!(own(&["k", &original], &["k", &page]), "https://a.test/x", "it is one for another reason");
        assert_eq!(sources(&["copy:u", &original], &["copy:t", &original]), 2, "claims join nothing");
    }

    #[test]
    fn each_text_of_a_source_is_there_once() {
        let text = |id: u32, text: &str| Source { snapshot: text.into(), ..row(id, "x", &[]) };
        let source = Source { aliases: vec![SourceId(2), SourceId(3)], ..row(1, "x", &[]) };
        let rows = [text(3, "abstract"), text(2, "paper"), text(1, "abstract"), text(9, "other")];
        assert_eq!(&*with_texts(source, &rows).snapshot, "abstract\npaper");
    }
}
