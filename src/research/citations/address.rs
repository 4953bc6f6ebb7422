//! Web addresses in text: what counts as one, where it ends, and which of them are the same page.

use crate::net::same_page;

/// Longest name of a scheme that is looked for.
const LONGEST_SCHEME: usize = 32;
/// Brackets, quotation marks, commas and full stops of scripts without spaces: an address ends before one, however many
/// letters of such a script its path has.
const AROUND: [char; 34] = [
    '，', '。', '、', '；', '（', '）', '［', '］', '｛', '｝', '【', '】', '〔', '〕', '〖', '〗', '「', '」', '『',
    '』', '《', '》', '〈', '〉', '｢', '｣', '⟦', '⟧', '“', '”', '„', '‘', '«', '»',
];
/// Punctuation that ends a sentence behind an address.
const TRAILING: [char; 16] = ['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '’', '…', '：', '！', '？', '．'];
/// A DOI that no word announces has so many bytes behind its publisher's number; less may be a fraction.
const SURE_DOI: usize = 4;

/// Returns whether `text` begins with an address that a reader's program may turn into a link.
pub(super) fn is_address(text: &str) -> bool {
    let starts = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("http://") || starts("https://") || starts("www.")
}

/// Returns the bytes before the address in a word such as `ftp://host`, `mailto:me@host` or `xhttps://host`; `None`
/// when the word that `text` begins with holds no address.
pub(super) fn address_in_word(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix("//") {
        let host = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | ':'))).next()?;
        return host.trim_matches(['.', ':']).contains('.').then_some(0);
    }
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+.-".contains(byte);
    let length = text.bytes().take(LONGEST_SCHEME).take_while(is_scheme).count();
    let (scheme, rest) = text.split_at(length);
    if length < 2 || !rest.starts_with(':') {
        return None;
    }
    if let Some(place) = rest.strip_prefix("://") {
        if place.starts_with(char::is_whitespace) || place.is_empty() {
            return None;
        }
        let web = ["https", "http"].into_iter().find(|web| scheme.to_ascii_lowercase().ends_with(web));
        return Some(web.map_or(0, |web| length - web.len()));
    }
    let mail = matches!(scheme.to_ascii_lowercase().as_str(), "mailto" | "xmpp");
    (mail && rest[1..].starts_with(|c: char| !c.is_whitespace())).then_some(0)
}

/// Returns a paper named by its DOI or its number on arXiv (`doi:10.1000/x`, `DOI 10.1000/x`, `10.1000/xyz`,
/// `arXiv preprint 2301.12345`): how many bytes the name takes, and its address.
pub(super) fn paper(text: &str) -> Option<(usize, String)> {
    let (place, rest, length) = match behind_name(text, &["doi"]) {
        Some(rest) => ("https://doi.org/", rest, doi(rest, 1)?),
        None if text.starts_with("10.") => ("https://doi.org/", text, doi(text, SURE_DOI)?),
        None => {
            let rest = behind_name(text, &["arXiv", "preprint"])?;
            let rest = behind_name(rest, &["arXiv"]).unwrap_or(rest);
            ("https://arxiv.org/abs/", rest, arxiv(rest)?)
        }
    };
    Some((text.len() - rest.len() + length, format!("{place}{}", &rest[..length])))
}

/// Returns what stands behind these words, of which the first has to be there, each with a colon or spaces behind it.
fn behind_name<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let mut rest = None;
    for word in words {
        let at = rest.unwrap_or(text);
        let starts = at.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let behind = starts.then(|| &at[word.len()..]).filter(|behind| behind.starts_with([':', '：', ' ']));
        rest = behind.map(|behind| behind.trim_start_matches([':', '：', ' '])).or(rest);
        rest?;
    }
    rest
}

/// Returns the bytes of the DOI that a text begins with, whose part of its publisher's own has so many bytes at
/// least.
fn doi(text: &str, least: usize) -> Option<usize> {
    let id = &text[..address_length(text)];
    let (publisher, own) = id.strip_prefix("10.")?.split_once('/')?;
    let fits = (4..=9).contains(&publisher.len()) && publisher.bytes().all(|byte| byte.is_ascii_digit());
    (fits && own.len() >= least).then_some(id.len())
}

/// Returns the bytes of the number of arXiv that a text begins with.
fn arxiv(text: &str) -> Option<usize> {
    let id = &text[..address_length(text)];
    let (month, own) = id.split_once('.')?;
    (month.len() >= 4 && month.bytes().all(|byte| byte.is_ascii_digit()) && !own.is_empty()).then_some(id.len())
}

/// Returns whether the host of an address is a number, which says nothing to a reader.
pub(super) fn has_numeric_host(address: &str) -> bool {
    let host = host(address);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Returns what follows the scheme of an address of any kind (`mailto:`, `ftp://`), which angle brackets make a link.
pub(super) fn behind_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let fits = scheme.len() >= 2 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    (fits && !rest.contains(char::is_whitespace)).then(|| rest.trim_start_matches('/'))
}

/// Returns the bytes of the address that `text` begins with, without the punctuation of the sentence around it.
pub(super) fn address_length(text: &str) -> usize {
    let address = &text[..to_its_end(text)];
    address.trim_end_matches(TRAILING).len()
}

/// Returns the bytes of an address up to the first character of a script without spaces, with which a sentence goes on
/// that has the address in it; `None` if nothing of the kind stands behind its host.
pub(super) fn without_unspaced(address: &str) -> Option<usize> {
    let front = &address[..address.find(|c: char| c >= '\u{2E80}')?];
    // There the path goes on: `/wiki/登革热`.
    if front.ends_with(['/', '=', '-', '_', '?', '&', '#', '%', '+']) {
        return None;
    }
    let front = front.trim_end_matches(TRAILING);
    host(front).contains('.').then_some(front.len())
}

/// Returns whether an address ends before this character, whatever stands in it.
pub(super) fn ends_address(character: char) -> bool {
    character.is_whitespace() || "<>\"[]`|\\".contains(character) || AROUND.contains(&character)
}

fn to_its_end(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match character {
            // As in `wiki/Tide\_gate`: what Markdown escapes is a part of it.
            '\\' if text[at + 1..].starts_with(['_', '*', '~', '&', '-', '#']) => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            c if ends_address(c) => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns the host of an address, without what would make it a link again.
pub(super) fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest).trim_start_matches('/');
    let rest = match rest.split_once(':') {
        Some((scheme, rest)) if ["mailto", "xmpp"].iter().any(|mail| scheme.eq_ignore_ascii_case(mail)) => rest,
        _ => rest,
    };
    let mut host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if address.contains("//") {
        host = host.rsplit('@').next().unwrap_or_default();
    }
    while let Some(start) = host.get(..4).filter(|start| start.eq_ignore_ascii_case("www.")) {
        host = &host[start.len()..];
    }
    host
}

/// Writes the addresses of a page in one spelling, for comparing: whatever the scheme, `www.`, a trailing slash, a
/// fragment, parameters of trackers, escapes of the address or of Markdown; see [`same_page`].
pub(super) fn normal(address: &str) -> String {
    let plain = address.replace("&amp;", "&").replace('\\', "");
    if plain.get(..4).is_some_and(|www| www.eq_ignore_ascii_case("www.")) {
        return same_page(&format!("https://{plain}"));
    }
    same_page(&plain)
}

/// Returns the address of the page that `text` names without a scheme: `host.test/path`.
pub(super) fn without_scheme(text: &str) -> Option<String> {
    let (host, path) = text.split_once('/')?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    let name = host.split(':').next()?;
    (name.contains('.') && host.chars().all(is_host) && !path.starts_with('/')).then(|| format!("https://{text}"))
}

/// Returns whether one of the words is an address.
pub(super) fn holds_address(text: &str) -> bool {
    let mut words =
        text.split(|c: char| c.is_whitespace() || matches!(c, '(' | '<' | '[' | '"' | '：') || AROUND.contains(&c));
    words.any(|word| is_address(word) || address_in_word(word).is_some())
}

/// Returns whether the last word of a line is an address.
pub(super) fn ends_with_address(trimmed: &str) -> bool {
    trimmed.split_whitespace().next_back().is_some_and(holds_address)
}
