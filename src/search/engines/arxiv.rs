//! arXiv, preprints by their abstracts: <https://info.arxiv.org/help/api/user-manual.html>. Metadata are CC0; papers
//! are linked to, not copied.
//!
//! Its answer is Atom, read by a pull parser that builds no tree and resolves no entities of a document's own.

use std::time::Duration;

use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    markup::names,
    today,
    web::{RawHit, Request, Web, Wire},
};

/// Words that are asked for: all have to stand in a paper's record.
const MAX_WORDS: usize = 8;
/// The most results of one request; the bound of arXiv is higher.
const MAX_RESULTS: usize = 100;
/// Words that say nothing about a paper.
const EMPTY_WORDS: [&str; 34] = [
    "the", "and", "for", "with", "from", "what", "how", "are", "was", "were", "has", "have", "that", "this", "these",
    "into", "which", "why", "who", "when", "where", "does", "did", "can", "its", "than", "about", "between", "all",
    "any", "not", "but", "use", "using",
];

pub const ROW: Row = Row {
    name: "arxiv",
    about: "papers in physics, mathematics, computing and other fields, by their abstracts",
    returns: Returns::Abstracts,
    filters: &[Filter::TimeRange],
    // As its terms of use ask: one request in three seconds, one connection.
    every: Duration::from_secs(3),
    at_once: Some(1),
    max_query_chars: 500,
    settings: &[Setting::address("search.arxiv.base_url", "ARXIV_BASE_URL", "https://export.arxiv.org")],
    build: |row, shared| Web::open(row, shared, "api/query", |endpoint, _| Arxiv { endpoint }),
    ..Row::WEB
};

struct Arxiv {
    endpoint: Url,
}

impl Wire for Arxiv {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let day = |date: time::Date| format!("{:04}{:02}{:02}", date.year(), u8::from(date.month()), date.day());
        let range = limits.filters.since();
        let range = range.map(|since| format!(" AND submittedDate:[{}0000 TO {}2359]", day(since), day(today())));
        let query = format!("{}{}", all_words(query), range.unwrap_or_default());
        let parameters = [
            ("search_query", query.as_str()),
            ("start", "0"),
            ("max_results", &count),
            ("sortBy", "relevance"),
            ("sortOrder", "descending"),
        ];
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        parse(body)
    }
}

/// Writes a query of all words. `all:` binds to the next word only; brackets, colons and quotation marks would be
/// operators.
fn all_words(query: &str) -> String {
    let words = query.split(|char: char| !char.is_alphanumeric());
    let telling = words.filter(|word| word.chars().count() > 1 && !EMPTY_WORDS.contains(&&*word.to_lowercase()));
    telling.take(MAX_WORDS).map(|word| format!("all:{word}")).collect::<Vec<_>>().join(" AND ")
}

/// Returns the entries of a feed. Errors come as a feed, too, with one entry that is called so.
fn parse(body: &[u8]) -> Result<Vec<RawHit>, Error> {
    let unreadable = || Error::unreadable("its answer is no Atom feed");
    let text = std::str::from_utf8(body).map_err(|_| unreadable())?;
    let mut reader = Reader::from_str(text);
    let (mut all, mut feed) = (Vec::new(), Feed::default());
    loop {
        match reader.read_event().map_err(|_| unreadable())? {
            Event::Start(tag) => feed.begin(&tag),
            Event::Text(text) => feed.say(&text),
            Event::CData(text) => feed.say(&text),
            Event::GeneralRef(entity) => feed.refer(&entity),
            Event::End(_) => all.extend(feed.end()),
            Event::Eof if feed.is_whole => break,
            Event::Eof => return Err(unreadable()),
            _ => {}
        }
    }
    match all.as_slice() {
        [one] if one.title.as_deref() == Some("Error") => {
            Err(Error::BadQuery(one.snippet.clone().unwrap_or_default().chars().take(200).collect()))
        }
        _ => Ok(all),
    }
}

/// The reader's place in the feed.
#[derive(Default)]
struct Feed {
    /// Names of the open elements.
    open: Vec<String>,
    entry: RawHit,
    authors: Vec<String>,
    is_whole: bool,
}

impl Feed {
    fn begin(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name().as_ref().to_owned();
        if self.open.len() == 1 && name == "entry" {
            self.entry = RawHit::default();
            self.authors.clear();
        }
        if self.open.len() == 2 && name == "author" {
            self.authors.push(String::new());
        }
        self.open.push(name);
    }

    fn say(&mut self, text: &str) {
        let open: Vec<&str> = self.open.iter().map(String::as_str).collect();
        let place = match open[..] {
            ["feed", "entry", "id"] => &mut self.entry.url,
            ["feed", "entry", "title"] => self.entry.title.get_or_insert_default(),
            ["feed", "entry", "summary"] => self.entry.snippet.get_or_insert_default(),
            ["feed", "entry", "published"] => self.entry.published.get_or_insert_default(),
            ["feed", "entry", "author", "name"] => match self.authors.last_mut() {
                Some(name) => name,
                None => return,
            },
            _ => return,
        };
        place.push_str(text);
    }

    /// Reads one of XML's own entities, or a character by its number.
    fn refer(&mut self, entity: &BytesRef<'_>) {
        let named = || match &**entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => None,
        };
        if let Some(char) = entity.resolve_char_ref().ok().flatten().or_else(named) {
            self.say(char.encode_utf8(&mut [0; 4]));
        }
    }

    /// Returns the entry, when it ends here. Its lines are broken at 80 columns.
    fn end(&mut self) -> Option<RawHit> {
        let name = self.open.pop()?;
        self.is_whole |= self.open.is_empty() && name == "feed";
        if self.open.len() != 1 || name != "entry" {
            return None;
        }
        let mut entry = std::mem::take(&mut self.entry);
        entry.author = names(std::mem::take(&mut self.authors));
        let unfolded = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        entry.title = entry.title.map(unfolded);
        entry.snippet = entry.snippet.map(unfolded);
        entry.url = entry.url.trim().replacen("http://arxiv.org/", "https://arxiv.org/", 1);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_query() {
        let check = |query: &str, expected: &str| assert_eq!(all_words(query), expected);
        check("What is the noise of pumps?", "all:is AND all:noise AND all:of AND all:pumps");
        check("ti:\"heat pumps\" (2031)", "all:ti AND all:heat AND all:pumps AND all:2031");
    }

    #[test]
    fn a_feed_that_bites_is_no_feed() {
        let bomb = r#"<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><feed><entry><id>https://arxiv.org/abs/1</id><title>A &c; B</title></entry></feed>"#;
        assert_eq!(parse(bomb.as_bytes()).unwrap()[0].title.as_deref(), Some("A B"));
        assert!(parse("<a>".repeat(100_000).as_bytes()).is_err());
        assert!(parse(b"<html></html>").is_err());
    }
}
