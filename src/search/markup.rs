//! Titles, excerpts and authors as engines send them: with entities and the tags that mark what was searched for.

use encoding_rs::WINDOWS_1252;

use crate::{domain::shortened, pages::extract};

/// Tags that stand within lines, and those of JATS, which scholarly engines use.
const TAGS: [&str; 22] = [
    "b",
    "strong",
    "em",
    "i",
    "u",
    "mark",
    "span",
    "p",
    "br",
    "sub",
    "sup",
    "cite",
    "code",
    "small",
    "h4",
    "div",
    "li",
    "ul",
    "ol",
    "pre",
    "a",
    "blockquote",
];
/// Of an author's name, and authors that are named.
const MAX_AUTHOR_CHARS: usize = 200;
const MOST_AUTHORS: usize = 5;
/// A longer one is no tag.
const LONGEST_TAG: usize = 400;
/// A longer one is no exponent; its entities count as they are written.
const LONGEST_EXPONENT: usize = 24;
/// A longer one is no entity.
const LONGEST_ENTITY: usize = 32;

/// Returns the author as an engine names them, on one short line; an address is nobody's name.
pub fn author(said: &str) -> Option<String> {
    let name = shortened(&extract::one_line(&unmarked(said)), MAX_AUTHOR_CHARS).into_owned();
    (!name.is_empty() && !name.contains("://")).then_some(name)
}

/// Returns the names of several authors, the first ones of many.
pub fn names(names: impl IntoIterator<Item = String>) -> Option<String> {
    let mut names: Vec<String> = names
        .into_iter()
        .map(|name| extract::one_line(&name))
        .filter(|name| !name.is_empty())
        .take(MOST_AUTHORS + 1)
        .collect();
    if names.len() > MOST_AUTHORS {
        names[MOST_AUTHORS] = "…".to_owned();
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the text without such tags, its entities read. One pass: what an entity stands for is not read again.
pub fn unmarked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&', '\u{ad}']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (put, length) = match rest.as_bytes()[0] {
            b'<' => raised(rest).or_else(|| tag(rest)).map_or(("<".to_owned(), 1), |found| found),
            b'&' => entity(rest).unwrap_or(("&".to_owned(), 1)),
            // A soft hyphen.
            _ => (String::new(), '\u{ad}'.len_utf8()),
        };
        plain.push_str(&put);
        rest = &rest[length..];
    }
    plain + rest
}

/// Returns the raised digits that the text begins with, as in `10<sup>6</sup>`, and the length of what they are made
/// of.
fn raised(text: &str) -> Option<(String, usize)> {
    let (name, begin) = name(text).filter(|_| !text.starts_with("</"))?;
    let within = &text[begin..];
    let end = within.bytes().take(LONGEST_EXPONENT).position(|byte| byte == b'<')?;
    let closes = self::name(&within[end..]).filter(|_| within[end..].starts_with("</"));
    let (_, after) = closes.filter(|(closed, _)| name == *closed && name.trim_start_matches("jats:") == "sup")?;
    Some((extract::raised(&unmarked(&within[..end]))?, begin + end + after))
}

/// Returns what stands for the tag that the text begins with, and its length.
fn tag(text: &str) -> Option<(String, usize)> {
    let (name, length) = name(text)?;
    let jats = name.strip_prefix("jats:");
    if jats.is_none() && !TAGS.contains(&name.as_str()) {
        return None;
    }
    let breaks = matches!(jats.unwrap_or(&name), "p" | "br" | "h4" | "div" | "li" | "title" | "sec" | "pre");
    Some((if breaks { "\n" } else { "" }.to_owned(), length))
}

/// Returns the name of the tag that the text begins with, in small letters, and the length of the tag; where another
/// one begins before it ends, it is none.
fn name(text: &str) -> Option<(String, usize)> {
    let end = 1 + text.bytes().skip(1).take(LONGEST_TAG).position(|byte| matches!(byte, b'<' | b'>'))?;
    if text.as_bytes()[end] != b'>' {
        return None;
    }
    let inside = text[1..end].trim_start_matches('/');
    let name = inside.split(|char: char| char.is_whitespace() || char == '/').next().unwrap_or_default();
    Some((name.to_ascii_lowercase(), end + 1))
}

/// Returns what the entity stands for that the text begins with, and its length.
fn entity(text: &str) -> Option<(String, usize)> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let end = 1 + text.bytes().skip(1).take(LONGEST_ENTITY).take_while(is_part).count();
    if text.as_bytes().get(end) != Some(&b';') {
        return None;
    }
    let number = text[1..end].strip_prefix('#').map(|number| match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    });
    let put = match number {
        Some(number) => numbered(number?)?.to_string(),
        None => Some(html_escape::decode_html_entities(&text[..=end])).filter(|put| !put.ends_with(';'))?.into_owned(),
    };
    // Spaces that keep words together are spaces, and soft hyphens nothing.
    Some((put.replace('\u{a0}', " ").replace('\u{ad}', ""), end + 1))
}

/// Returns the character of a number, unless it is a control. As in HTML, those of the second half of controls mean
/// signs of Windows: 133 is an ellipsis.
fn numbered(number: u32) -> Option<char> {
    let char = match u8::try_from(number) {
        Ok(byte @ 0x80..=0x9f) => WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next(),
        _ => char::from_u32(number),
    };
    char.filter(|char| !char.is_control() || char.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_text_stays() {
        let check = |text: &str, expected: &str| assert_eq!(unmarked(text), expected, "{text}");
        check("Pumps &amp; <b>noise</b>", "Pumps & noise");
        check("It&#x27;s &quot;60&nbsp;dB&quot; &#8211; loud", "It's \"60 dB\" – loud");
        check(r#"<span class="searchmatch">Pump</span>s"#, "Pumps");
        check("<jats:p>A <jats:italic>B</jats:italic></jats:p>", "\nA B\n");
        check(
            "10<sup>6</sup> m<SUP class=x>2</SUP>, 10<jats:sup>&minus;6</jats:sup>, 5<sup>th</sup>, <sup>6<b>x</b>",
            "10⁶ m², 10⁻⁶, 5th, 6x",
        );
        check("a < b, Vec<String>, x & y; &unknown; R&D", "a < b, Vec<String>, x & y; &unknown; R&D");
        check("&pound;3 and &euro;5 at M&uuml;ller&rsquo;s co&shy;op", "£3 and €5 at Müller’s coop");
        check("&amp;lt;b&amp;gt;", "&lt;b&gt;");
        check("R&D <b>costs</b> &lt; 5 & <i>x</i>&amp;", "R&D costs < 5 & x&");
        check("It rose&#133; &#x91;up&#146; &x&#133;", "It rose… ‘up’ &x…");
        check("&x&#129; &#x7f; &a b&lt;", "&x&#129; &#x7f; &a b<");
        check("p <b and q <b>costs</b>", "p <b and q costs");
        check("co\u{ad}operation", "cooperation");
        check("&#0;&#xD800;&#99999999999;", "&#0;&#xD800;&#99999999999;");
        check("<", "<");
        check("&", "&");
    }
}
