//! What a server answers, as pieces with addresses: texts, resources, links, items of JSON. Pure.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value};
use url::Url;

use super::{Error, Secrets, SignIn};
use crate::{domain::shortened, net};

/// Pieces of one answer.
pub const MAX_PIECES: usize = 10;
/// Sign-ins that one answer may ask for, and one connection until a call reports them.
pub(super) const MAX_SIGN_INS: usize = 4;
/// The longest texts of one answer, together.
const MAX_TEXT_CHARS: usize = 200_000;
const MAX_TITLE_CHARS: usize = 300;
/// The longest description of a part that is left out.
const MAX_LEFT_OUT_CHARS: usize = 600;
/// Names of fields that hold an item's address, title and text, the best first.
const ADDRESS_FIELDS: [&str; 6] = ["url", "link", "href", "uri", "source_url", "web_url"];
const TITLE_FIELDS: [&str; 4] = ["title", "name", "headline", "label"];
const TEXT_FIELDS: [&str; 7] = ["content", "text", "body", "snippet", "summary", "description", "abstract"];
/// Texts of one answer that are compared with its structured content, as there may be very many of both.
const MAX_COMPARED: usize = 50;
/// Nesting of JSON that items are looked for in.
const MAX_DEPTH: usize = 8;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub pieces: Vec<Piece>,
    /// What the answer held and the pieces do not, for the model.
    pub left_out: Vec<String>,
    /// Where the server asked the user to sign in, for what it left out or for the next call.
    pub sign_ins: Vec<SignIn>,
}

/// A part of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Where it comes from, when it says so: an http or https address, or the address of a resource.
    pub address: Option<String>,
    pub title: Option<String>,
    /// Not empty.
    pub text: String,
}

/// Reads the answer to a call; secrets are hidden in it before anything is cut.
///
/// # Errors
/// [`Error::Refused`] with the text of a result that is an error, as it came.
pub(super) fn of_call(result: CallToolResult, secrets: &Secrets) -> Result<Reply, Error> {
    let mut reply = Reply::default();
    let mut links = Vec::new();
    let texts: Vec<&str> = result.content.iter().filter_map(text_of).collect();
    if result.is_error == Some(true) {
        let said = texts.join(" ");
        return Err(Error::Refused(if said.is_empty() { "it says that the call failed".to_owned() } else { said }));
    }
    let structured = result.structured_content.filter(|structured| !structured.is_null());
    let texts = &texts[..texts.len().min(MAX_COMPARED)];
    let structured = structured.filter(|structured| !says_all(texts, structured));
    let repeated: Vec<bool> = texts.iter().map(|text| structured.as_ref().is_some_and(|s| holds(s, text))).collect();
    let mut repeated = repeated.into_iter();
    for block in result.content {
        match block {
            ContentBlock::Text(_) if repeated.next() == Some(true) => {}
            ContentBlock::Text(text) => reply.text(text.text),
            ContentBlock::Image(image) => reply.leave_out("an image", &image.mime_type, &image.data),
            ContentBlock::Audio(audio) => reply.leave_out("a recording", &audio.mime_type, &audio.data),
            ContentBlock::Resource(embedded) => reply.resource(embedded.resource, secrets),
            ContentBlock::ResourceLink(link) => {
                let title = link.title.unwrap_or(link.name);
                links.push(Piece {
                    text: link.description.unwrap_or_else(|| title.clone()),
                    title: Some(title),
                    address: Some(secrets.shown_address(link.uri)),
                });
            }
            _ => reply.left_out.push("content of an unknown form was left out".to_owned()),
        }
    }
    if let Some(structured) = structured {
        reply.json(&structured);
    }
    links.into_iter().for_each(|link| reply.push(link));
    Ok(secrets.hide_in(reply).bounded())
}

/// Reads resources, as [`of_call`] reads an answer.
pub(super) fn of_resources(contents: Vec<ResourceContents>, secrets: &Secrets) -> Reply {
    let mut reply = Reply::default();
    contents.into_iter().for_each(|contents| reply.resource(contents, secrets));
    secrets.hide_in(reply).bounded()
}

/// Returns the sign-ins that the data of an error names, in both forms.
pub(super) fn sign_ins(data: &Value, message: &str) -> Vec<SignIn> {
    let text = data["message"]["text"].as_str().or_else(|| data["message"].as_str()).unwrap_or(message);
    let one = data["url"].as_str().and_then(|url| SignIn::new(text, url));
    let several = data["elicitations"].as_array().into_iter().flatten().take(MAX_SIGN_INS);
    let several =
        several.filter_map(|asked| SignIn::new(asked["message"].as_str().unwrap_or(message), asked["url"].as_str()?));
    one.into_iter().chain(several).collect()
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

/// Returns whether the texts say all of the structured content: as it is, within JSON that has more, or each of its
/// parts as a text of its own.
fn says_all(texts: &[&str], structured: &Value) -> bool {
    let says = |part: &str| texts.iter().any(|text| text.trim() == part.trim());
    let has_more = texts.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let mut has_more = has_more.filter(|value| value != structured);
    has_more.any(|value| is_within(structured, &value)) || only_texts(structured, &says)
}

/// Returns whether the value is made of nothing but texts, for each of which that holds.
fn only_texts(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(values) => !values.is_empty() && values.iter().all(|value| only_texts(value, holds)),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(|value| only_texts(value, holds)),
        _ => false,
    }
}

/// Returns whether the structured content holds the text, word for word or as JSON: it is sent for clients that know
/// nothing else.
fn holds(structured: &Value, text: &str) -> bool {
    let as_json = serde_json::from_str::<Value>(text).ok();
    as_json.is_some_and(|value| is_within(&value, structured)) || is_within(&Value::from(text.trim()), structured)
}

/// Returns whether `whole` has such a part, or fields that are all of it.
fn is_within(part: &Value, whole: &Value) -> bool {
    let deeper = match whole {
        Value::Array(values) => values.iter().any(|value| is_within(part, value)),
        Value::Object(fields) => fields.values().any(|value| is_within(part, value)),
        Value::String(text) => part.as_str().is_some_and(|part| part == text.trim()),
        _ => false,
    };
    deeper || part == whole || has_fields(part, whole)
}

fn has_fields(part: &Value, whole: &Value) -> bool {
    let (Value::Object(part), Value::Object(whole)) = (part, whole) else { return false };
    !part.is_empty() && part.iter().all(|(name, value)| whole.get(name) == Some(value))
}

impl Reply {
    fn push(&mut self, piece: Piece) {
        if !piece.text.trim().is_empty() {
            self.pieces.push(piece);
        }
    }

    /// Takes a text: JSON is looked through for items, others may name their address in their first lines.
    fn text(&mut self, text: String) {
        let starts = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<Value>(&text).ok().filter(|_| starts) {
            Some(value) => self.json(&value),
            None => self.push(Piece { address: named_address(&text), title: None, text }),
        }
    }

    /// Takes JSON: the items with an address as pieces of their own, then what is left, in which they are only named.
    /// What is left is the last piece that there is room for: a cursor, a total, and further items.
    fn json(&mut self, value: &Value) {
        let before = self.pieces.len();
        let mut rest = self.without_items(value, 0, MAX_PIECES);
        if self.pieces.len() > before && says_more(&rest) {
            self.pieces.truncate(before);
            rest = self.without_items(value, 0, MAX_PIECES - 1);
        }
        if self.pieces.len() == before || says_more(&rest) {
            let text = serde_json::to_string_pretty(&rest).unwrap_or_default();
            self.push(Piece { text, ..Piece::default() });
        }
    }

    /// Takes the items as long as there are fewer pieces than `limit`, and returns the rest.
    fn without_items(&mut self, value: &Value, depth: usize, limit: usize) -> Value {
        match value {
            _ if depth > MAX_DEPTH => value.clone(),
            Value::Array(values) => values.iter().map(|value| self.without_items(value, depth + 1, limit)).collect(),
            Value::Object(fields) => match item(fields).filter(|_| self.pieces.len() < limit) {
                Some(piece) => {
                    self.push(piece);
                    Value::String(format!("(item {})", self.pieces.len()))
                }
                None => {
                    let rest =
                        |(name, value): (&String, &Value)| (name.clone(), self.without_items(value, depth + 1, limit));
                    Value::Object(fields.iter().map(rest).collect())
                }
            },
            other => other.clone(),
        }
    }

    fn resource(&mut self, contents: ResourceContents, secrets: &Secrets) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.push(Piece { address: Some(secrets.shown_address(uri)), title: None, text });
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_else(|| "unknown type".to_owned());
                self.leave_out(&format!("the content of {}", secrets.shown_address(uri)), &kind, &blob);
            }
            _ => self.left_out.push("content of an unknown form was left out".to_owned()),
        }
    }

    /// Notes a part that is left out; `data` is base64.
    fn leave_out(&mut self, what: &str, kind: &str, data: &str) {
        if self.left_out.len() < MAX_PIECES {
            self.left_out.push(format!("{what} of {} bytes ({kind}) was left out", data.len() / 4 * 3));
        }
    }

    fn bounded(mut self) -> Self {
        if self.pieces.len() > MAX_PIECES {
            self.pieces = joined(self.pieces);
        }
        for left_out in &mut self.left_out {
            *left_out = shortened(left_out, MAX_LEFT_OUT_CHARS).into_owned();
        }
        let mut room = MAX_TEXT_CHARS;
        for piece in &mut self.pieces {
            piece.title = piece.title.as_deref().map(|title| title.chars().take(MAX_TITLE_CHARS).collect());
            piece.address = piece.address.take().filter(|address| address.len() <= 2_000);
            let length = piece.text.chars().count();
            if length > room {
                piece.text = piece.text.chars().take(room).collect();
                self.left_out.push(format!("{} characters were left out; ask for less at once", length - room));
            }
            room = room.saturating_sub(length);
        }
        self.pieces.retain(|piece| !piece.text.is_empty());
        self
    }
}

/// Returns as many pieces as there may be: neighbours without an address become one, and what is too much even then is
/// the last one, in which addresses are only named.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    let is_plain = |piece: &Piece| piece.address.is_none() && piece.title.is_none();
    for piece in pieces {
        match joined.last_mut().filter(|last| is_plain(last) && is_plain(&piece)) {
            Some(last) => last.text.extend(["\n\n", &piece.text]),
            None => joined.push(piece),
        }
    }
    if joined.len() > MAX_PIECES {
        let rest = joined.split_off(MAX_PIECES - 1).into_iter().map(in_words);
        let text = rest.reduce(|all, next| all + "\n\n" + &next).unwrap_or_default();
        joined.push(Piece { text, ..Piece::default() });
    }
    joined
}

/// Returns the text below its title and address, unless it repeats them.
fn in_words(piece: Piece) -> String {
    let Piece { address, title, text } = piece;
    let names = title.into_iter().chain(address.map(|address| net::hidden_address(&address).to_string()));
    let mut lines: Vec<String> = names.filter(|name| !text.contains(name.as_str())).collect();
    lines.push(text);
    lines.join("\n")
}

/// Returns an object with an address of the web.
fn item(fields: &Map<String, Value>) -> Option<Piece> {
    let text = |names: &[&str]| {
        let mut texts = names.iter().filter_map(|name| fields.get(*name)?.as_str());
        texts.find(|text| !text.trim().is_empty()).map(ToOwned::to_owned)
    };
    let mut addresses = ADDRESS_FIELDS.iter().filter_map(|name| web_address(fields.get(*name)?.as_str()?));
    let address = addresses.next()?;
    let others = fields.iter().filter(|(name, value)| {
        let named = ADDRESS_FIELDS.contains(&name.as_str()) || TITLE_FIELDS.contains(&name.as_str());
        !named && !TEXT_FIELDS.contains(&name.as_str()) && !value.is_null()
    });
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let said = text(&TEXT_FIELDS);
    let body = match (said, others.is_empty()) {
        (Some(said), true) => said,
        (Some(said), false) => format!("{said}\n\n{}", Value::Object(others)),
        (None, false) => Value::Object(others).to_string(),
        (None, true) => text(&TITLE_FIELDS).unwrap_or_else(|| address.clone()),
    };
    Some(Piece { address: Some(address), title: text(&TITLE_FIELDS), text: body })
}

/// Returns whether there is anything in it but names of items, and lists and tables of them.
fn says_more(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.starts_with("(item ") && !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
        Value::Array(values) => values.iter().any(says_more),
        Value::Object(fields) => fields.values().any(says_more),
    }
}

/// Returns the address that a text gives for itself: `URL: …`, `Contents of …` in its first lines. A text that names
/// several, one result below the other, is of none of them. `Source: …` and `Link: …` stand in notes, too, about pages
/// that they are not.
fn named_address(text: &str) -> Option<String> {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['*', '#', '-', ' ']);
        let lower: String = line.chars().take(14).collect::<String>().to_lowercase();
        let (name, rest) = ["url", "contents of"]
            .into_iter()
            .find_map(|name| lower.starts_with(name).then(|| Some((name, line.get(name.len()..)?))).flatten())?;
        let word = rest.trim_start_matches([':', '*', ' ', '<']).split_whitespace().next()?;
        Some((name, web_address(word.trim_end_matches([':', ',', '>', ')']))?))
    };
    let (name, address) = text.lines().take(6).find_map(line)?;
    let is_next = |(label, other): (&str, String)| label == name && other != address;
    (!text.lines().filter_map(line).any(is_next)).then_some(address)
}

/// Returns an address of the web, as it is written; without a user or password.
fn web_address(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(result: Value) -> Reply {
        of_call(serde_json::from_value(result).unwrap(), &Secrets::default()).unwrap()
    }

    fn shown(reply: &Reply) -> Vec<(Option<&str>, Option<&str>, &str)> {
        reply.pieces.iter().map(|p| (p.address.as_deref(), p.title.as_deref(), p.text.as_str())).collect()
    }

    #[test]
    fn items_with_an_address_stand_for_themselves() {
        let found = json!({"results": [
            {"title": "Gate", "url": "https://a.example/gate", "content": "It opened in 1931."},
            {"name": "Dues", "link": "https://a.example/dues", "year": 1930},
        ]});
        let expected = [
            (Some("https://a.example/gate"), Some("Gate"), "It opened in 1931."),
            (Some("https://a.example/dues"), Some("Dues"), r#"{"year":1930}"#),
        ];
        let of_text = reply(json!({"content": [{"type": "text", "text": found.to_string()}]}));
        assert_eq!(shown(&of_text), expected);
        let text = json!([{"type": "text", "text": found.to_string()}]);
        let both = reply(json!({"content": text, "structuredContent": found}));
        assert_eq!(shown(&both), expected, "said twice, shown once");
        let counted = reply(json!({"content": [], "structuredContent": {"total": 9, "hits": found["results"]}}));
        assert_eq!(counted.pieces.len(), 3);
        assert!(counted.pieces[2].text.contains("\"total\": 9") && counted.pieces[2].text.contains("(item 1)"));
    }

    #[test]
    fn what_is_left_beside_many_items_has_the_last_place() {
        let results = |count: usize| -> Vec<Value> {
            (1..=count).map(|n| json!({"url": format!("https://a.example/{n}"), "text": format!("text {n}")})).collect()
        };
        let found = |count: usize| json!({"total": 240, "nextCursor": "abc", "results": results(count)});
        for count in [9, 10, 25] {
            let reply = reply(json!({"content": [], "structuredContent": found(count)}));
            assert_eq!((reply.pieces.len(), reply.left_out.len()), (MAX_PIECES, 0), "{count}");
            let rest: Value = serde_json::from_str(&reply.pieces[9].text).unwrap();
            assert_eq!((&rest["total"], &rest["nextCursor"]), (&json!(240), &json!("abc")));
            let listed = rest["results"].as_array().unwrap();
            assert_eq!((listed.len(), &listed[8]), (count, &json!("(item 9)")));
            assert!(listed[9..].iter().all(|item| item["text"].is_string()), "{rest}");
        }
        let alone = reply(json!({"content": [], "structuredContent": results(10)}));
        assert_eq!(alone.pieces.len(), MAX_PIECES);
        assert!(alone.pieces.iter().all(|piece| piece.address.is_some()), "nothing is left, so all have a place");
        let blocks: Vec<Value> =
            results(13).iter().map(|item| json!({"type": "text", "text": item.to_string()})).collect();
        let reply = reply(json!({ "content": blocks }));
        assert_eq!((reply.pieces.len(), reply.left_out.len()), (MAX_PIECES, 0));
        assert_eq!(reply.pieces[8].address.as_deref(), Some("https://a.example/9"));
        let Piece { address: None, title: None, text } = &reply.pieces[9] else { panic!("{reply:?}") };
        assert!(text.starts_with("https://a.example/10\ntext 10\n\n"), "{text}");
        assert!((11..=13).all(|n| text.contains(&format!("\"text {n}\""))), "{text}");
    }

    #[test]
    fn many_short_texts_are_all_kept() {
        let of = |texts: &[String]| {
            let content: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            reply(json!({"content": content, "structuredContent": {"result": texts}}))
        };
        let texts: Vec<String> = (0..40).map(|n| format!("In {n} there were dues.")).collect();
        assert_eq!(
            of(&texts),
            Reply { pieces: vec![Piece { text: texts.join("\n\n"), ..Piece::default() }], ..Reply::default() }
        );
        assert_eq!(of(&texts[..MAX_PIECES]).pieces.len(), MAX_PIECES, "each has a place of its own");
        let named = |n| if n % 3 == 0 { format!("URL: https://a.example/{n}\nDues.") } else { format!("Text {n}.") };
        let reply = of(&(0..30).map(named).collect::<Vec<_>>());
        assert_eq!((reply.pieces.len(), reply.left_out.len()), (MAX_PIECES, 0));
        assert_eq!(reply.pieces[1].text, "Text 1.\n\nText 2.");
        assert_eq!(reply.pieces[8].address.as_deref(), Some("https://a.example/12"));
        let last = &reply.pieces[9].text;
        assert!(last.starts_with("Text 13.") && last.ends_with("Text 29."), "{last}");
        assert_eq!(last.matches("https://a.example/15").count(), 1, "{last}");
    }

    #[test]
    fn texts_and_structured_content_are_both_kept_unless_one_repeats_the_other() {
        let check = |texts: &[&str], structured: Value, expected: &[&str]| {
            let content: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            let reply = reply(json!({"content": content, "structuredContent": structured}));
            let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(reply.pieces.iter().map(|piece| flat(&piece.text)).collect::<Vec<_>>(), expected, "{texts:?}");
        };
        let sentence = "Dues were found for each of the years from 1931 to 1940.";
        let dues = json!({"dues": {"1931": 4}});
        check(&[sentence], dues.clone(), &[sentence, r#"{ "dues": { "1931": 4 } }"#]);
        check(&[sentence, r#"{"dues":{"1931":4}}"#], dues.clone(), &[sentence, r#"{ "dues": { "1931": 4 } }"#]);
        check(&[r#"{"1931":4}"#], dues.clone(), &[r#"{ "dues": { "1931": 4 } }"#]);
        check(&[r#"{"dues":{"1931":4},"total":1}"#], dues, &[r#"{ "dues": { "1931": 4 }, "total": 1 }"#]);
        check(&[sentence], json!({"result": sentence}), &[sentence]);
        check(&["one", "two"], json!({"result": ["one", "two"]}), &["one", "two"]);
        check(&["one"], json!({"result": ["one", "two"]}), &[r#"{ "result": [ "one", "two" ] }"#]);
        check(&["None."], json!({"results": []}), &["None.", r#"{ "results": [] }"#]);
    }

    #[test]
    fn a_text_may_name_its_address() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(named_address(text).as_deref(), expected, "{text}");
        check("Contents of https://a.example/x:\nThe gate.", Some("https://a.example/x"));
        check("Title: Gate\n**URL**: https://a.example/x\n", Some("https://a.example/x"));
        check("URL: <https://a.example/x>", Some("https://a.example/x"));
        for label in ["Source", "Link", "Address"] {
            check(&format!("{label}: https://a.example/x\nMy notes."), None);
        }
        check("Title: A\nURL: https://a.example/x\n\nTitle: B\nURL: https://b.example/y", None);
        check("Contents of https://a.example/x:\nWords.\nSource: https://b.example/1", Some("https://a.example/x"));
        check("The gate, see https://a.example/x", None);
        check("URL: javascript:alert(1)", None);
        check("URL: https://me:secret@a.example/", None);
        check("", None);
        check("Adresse für Größe: ß", None);
    }

    #[test]
    fn what_is_no_text_is_said() {
        let reply = reply(json!({"content": [
            {"type": "image", "data": "A".repeat(400), "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Dues."}},
            {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "https://a.example/r", "name": "R"},
        ]}));
        assert_eq!(
            shown(&reply),
            [(Some("file:///a.txt"), None, "Dues."), (Some("https://a.example/r"), Some("R"), "R")]
        );
        assert_eq!(reply.left_out[0], "an image of 300 bytes (image/png) was left out");
        assert!(reply.left_out[1].contains("file:///a.bin"));
    }

    #[test]
    fn an_answer_is_bounded() {
        let items: Vec<_> = (0..100).map(|n| json!({"url": format!("https://a.example/{n}"), "text": "x"})).collect();
        let many = reply(json!({"content": [], "structuredContent": items}));
        assert!(many.pieces.len() <= MAX_PIECES, "{}", many.pieces.len());
        let long = reply(json!({"content": [{"type": "text", "text": "x".repeat(MAX_TEXT_CHARS + 5)}]}));
        assert_eq!(long.left_out, ["5 characters were left out; ask for less at once"]);
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(reply(json!({"content": [{"type": "text", "text": deep}]})).pieces.len(), 1);
    }

    #[test]
    fn nothing_is_cut_through_a_secret() {
        let secrets = Secrets::default();
        secrets.add("tok3n-1".to_owned().into());
        let before = |chars: usize| format!("{} tok3n-1", "x".repeat(chars - 4));
        let (uri, kind) = (format!("c://{}", before(MAX_LEFT_OUT_CHARS - 23)), before(MAX_LEFT_OUT_CHARS - 25));
        for content in [
            json!({"type": "text", "text": before(MAX_TEXT_CHARS)}),
            json!({"type": "resource_link", "uri": "a://b", "name": before(MAX_TITLE_CHARS)}),
            json!({"type": "resource", "resource": {"uri": uri, "blob": "AAAA"}}),
            json!({"type": "image", "data": "AAAA", "mimeType": kind}),
        ] {
            let result = serde_json::from_value(json!({"content": [content]})).unwrap();
            let shown = format!("{:?}", of_call(result, &secrets).unwrap()).replace('x', "");
            assert!(shown.contains("(hi") && !shown.contains("tok"), "{shown}");
        }
    }

    #[test]
    fn an_error_is_no_content() {
        let failed = json!({"content": [{"type": "text", "text": "No such page."}], "isError": true});
        let error = of_call(serde_json::from_value(failed).unwrap(), &Secrets::default()).unwrap_err();
        assert_eq!(error.to_string(), "No such page.");
    }

    #[test]
    fn sign_ins_are_found_in_both_forms() {
        let urls = |data: Value| sign_ins(&data, "m").into_iter().map(|s| (s.message, s.url)).collect::<Vec<_>>();
        let original = json!({"message": {"text": "Sign in"}, "url": "https://auth.example/x"});
        assert_eq!(urls(original), [("Sign in".to_owned(), "https://auth.example/x".to_owned())]);
        let current = json!({"elicitations": [{"mode": "url", "url": "https://auth.example/y", "message": "Allow"}]});
        assert_eq!(urls(current), [("Allow".to_owned(), "https://auth.example/y".to_owned())]);
        assert_eq!(urls(json!({"url": "http://auth.example/x"})), [], "no address that anybody could read on the way");
        assert_eq!(urls(json!({"url": "javascript:alert(1)"})), []);
    }
}
