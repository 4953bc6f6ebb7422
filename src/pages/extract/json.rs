//! JSON and JSON Lines: keys as headings and names, lists of alike objects as tables.

use serde_json::{Deserializer, Map, Value};

use super::{Document, Unreadable, date, outline::Outline, table, text};

/// Headings are made of the keys of so many levels.
const HEADINGS: usize = 2;
/// Objects with more keys in all are no rows.
const MAX_COLUMNS: usize = 40;
/// Digits that a number may have without being rounded.
const PRECISE_DIGITS: usize = 15;
/// Characters of a list that fits on a line.
const LINE: usize = 60;
const TITLES: [&str; 4] = ["title", "headline", "name", "@id"];
const DATES: [&str; 8] =
    ["dateModified", "updated", "updated_at", "modified", "datePublished", "published", "published_at", "date"];

/// Reads a JSON document, or several in a row.
///
/// # Errors
/// [`Unreadable`] when it is no text. What is no JSON after all is read as text.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unreadable> {
    let source = text::decode_values(bytes)?;
    let values: Result<Vec<Value>, _> = Deserializer::from_str(&with_whole_numbers(&source)).into_iter().collect();
    let value = match values {
        Ok(mut values) if values.len() == 1 => values.remove(0),
        Ok(values) => Value::Array(values),
        Err(_) => return Ok(text::read(&source)),
    };
    let field = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned));
    let title = field(&TITLES).map(|title| text::one_line(&title)).filter(|title| !title.is_empty());
    let mut outline = Outline::of_parts(title.as_deref());
    say(&value, 0, &mut outline);
    let published = DATES.iter().find_map(|name| date::parse(value.get(name)?.as_str()?));
    let author = field(&["author", "creator"]).or_else(|| Some(value.get("author")?.get("name")?.as_str()?.to_owned()));
    Ok(Document { title: title.clone(), published, author, ..outline.finish() })
}

/// Puts numbers of many digits in quotes, since a reader of numbers would round them.
fn with_whole_numbers(source: &str) -> String {
    let mut whole = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(|char: char| char == '"' || char == '-' || char.is_ascii_digit()) {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let (token, is_long) = match rest.starts_with('"') {
            true => (string(rest), false),
            false => {
                let end = rest.find(|char: char| !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
                let number = &rest[..end.unwrap_or(rest.len())];
                (number, number.bytes().filter(u8::is_ascii_digit).count() > PRECISE_DIGITS)
            }
        };
        let quote = if is_long { "\"" } else { "" };
        whole.extend([quote, token, quote]);
        rest = &rest[token.len()..];
    }
    whole + rest
}

/// Returns the string that the text begins with, its quotes included.
fn string(text: &str) -> &str {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    &text[..end.map_or(text.len(), |end| end + 1)]
}

fn say(value: &Value, level: usize, outline: &mut Outline) {
    match value {
        Value::Object(fields) => object(fields, level, outline),
        Value::Array(values) => match rows_of(values) {
            Some(rows) => outline.block(&table::markdown(rows)),
            None => array(values, level, outline),
        },
        scalar => outline.line(&shown(scalar)),
    }
}

/// Writes the fields of an object: plain values first, so that none stands under another one's heading.
fn object(fields: &Map<String, Value>, level: usize, outline: &mut Outline) {
    let (nested, plain): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| !is_plain(value));
    for (name, value) in plain {
        match value {
            Value::Null => {}
            Value::String(text) if text.contains('\n') => {
                outline.line(&format!("{name}:"));
                outline.block(text);
            }
            value => outline.line(&format!("{name}: {}", shown(value))),
        }
    }
    for (name, value) in nested {
        match level < HEADINGS {
            true => outline.heading(level + 2, name),
            false => outline.block(&format!("{name}:")),
        }
        say(value, level + 1, outline);
    }
}

fn array(values: &[Value], level: usize, outline: &mut Outline) {
    for value in values {
        match is_plain(value) {
            true => outline.item(0, &shown(value)),
            false => {
                outline.line("");
                // Members of a list have no names, so they make no headings.
                say(value, level.max(HEADINGS), outline);
            }
        }
    }
}

/// Returns whether a value fits on a line: no object, and no list but one of such.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(values) => {
            values.iter().all(is_scalar) && values.iter().map(|value| shown(value).len()).sum::<usize>() <= LINE
        }
        _ => true,
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}

/// Returns objects of plain values as rows.
fn rows_of(values: &[Value]) -> Option<Vec<Vec<String>>> {
    let mut columns: Vec<&str> = Vec::new();
    for value in values {
        let fields = value.as_object()?;
        if !fields.values().all(is_plain) {
            return None;
        }
        for name in fields.keys() {
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
            if columns.len() > MAX_COLUMNS {
                return None;
            }
        }
    }
    let row = |value: &Value| columns.iter().map(|name| value.get(name).map(shown).unwrap_or_default()).collect();
    let head = columns.iter().map(ToString::to_string).collect();
    (values.len() > 1).then(|| std::iter::once(head).chain(values.iter().map(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let document = super::super::read_as(super::super::Format::Json, source.as_bytes()).unwrap();
        let texts = document.sections.iter().flat_map(|section| section.label.iter().chain([&section.text]));
        assert_eq!(texts.cloned().collect::<Vec<_>>().join("\n"), expected, "{source}");
    }

    #[test]
    fn objects_of_many_names_take_time_in_proportion() {
        crate::domain::growth::check("x", 500, |text| {
            let fields: Vec<_> = (0..text.len()).map(|at| format!("\"k{at}\":1")).collect();
            let object = format!("{{{}}}", fields.join(","));
            super::super::read_as(super::super::Format::Json, format!("[{object},{object}]").as_bytes()).unwrap();
        });
    }

    #[test]
    fn values_stand_behind_their_names() {
        check(
            r#"[{"a":1,"b":"x|y"},{"a":2,"c":[3,4]}]"#,
            "| a | b | c |\n| --- | --- | --- |\n| 1 | x\\|y | |\n| 2 | | 3, 4 |",
        );
        check("{\"a\":1}\n{\"a\":2}\n", "a\n1\n2");
        check(r#"{"gate":{"dues":4},"open":true}"#, "open: true\n\ngate\n\ndues: 4");
        check("{broken", "{broken");
        check(
            r#"{"id":123456789012345678901234,"pi":-3.14159265358979323846,"b\"1":"12345678901234567890\\","n":[7,1e3]}"#,
            "id: 123456789012345678901234\npi: -3.14159265358979323846\nb\"1: 12345678901234567890\\\nn: 7, 1000.0",
        );
    }

    #[test]
    fn a_document_says_what_it_is() {
        let document =
            read(br#"{"title":"Dues","dateModified":"2031-03-10T00:00:00Z","author":{"name":"M. Tey"},"x":1}"#)
                .unwrap();
        assert_eq!(document.title.as_deref(), Some("Dues"));
        assert_eq!(document.published.as_deref(), Some("2031-03-10"));
        assert_eq!(document.author.as_deref(), Some("M. Tey"));
    }

    #[test]
    fn what_is_nested_too_deeply_is_text() {
        assert!(read("[".repeat(100_000).as_bytes()).is_ok());
    }
}
