//! Comma- and tab-separated values: a table, whose delimiter is found out where the name of the format leaves it open.

use csv::{ReaderBuilder, Trim};

use super::{Document, Section, Unreadable, sheet::Sheet, text};

/// Reads a table of delimited values.
///
/// # Errors
/// [`Unreadable`] when it is no text.
pub(super) fn read(bytes: &[u8], delimiter: Option<u8>) -> Result<Document, Unreadable> {
    let source = text::decode_values(bytes)?;
    // Programs that mean another delimiter say so in a first line of their own.
    let (said, source) = match source.strip_prefix("sep=").and_then(|rest| rest.split_once('\n')) {
        Some((said, rest)) => (said.bytes().next(), rest),
        None => (None, source.as_str()),
    };
    let delimiter = said.or(delimiter).unwrap_or_else(|| likeliest(source));
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(source.as_bytes());
    let mut sheet = Sheet::new(super::MAX_TEXT_BYTES);
    for (number, record) in reader.records().enumerate() {
        // Text is UTF-8 by now, and rows may have any length.
        let Ok(record) = record else { continue };
        if !sheet.row(number, &record) {
            break;
        }
    }
    let (text, missing) = sheet.finish();
    let text = text::tidy(&text);
    let sections = match text.is_empty() {
        true => Vec::new(),
        false => vec![Section { label: None, path: String::new(), anchor: None, text }],
    };
    Ok(Document { has_records: true, sections, missing, ..Document::default() })
}

/// Returns the rows of a short text.
pub(super) fn records(source: &str) -> Vec<Vec<String>> {
    // A quoted value may stand behind a space.
    let source = source.replace(", \"", ",\"");
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(source.as_bytes());
    let records = reader.records().filter_map(Result::ok);
    records.map(|record| record.iter().map(str::to_owned).collect()).collect()
}

/// Returns the delimiter that splits the first lines into most fields, equally many in each; where some have none, as
/// a title has, the one that is in most lines.
fn likeliest(source: &str) -> u8 {
    let lines: Vec<&str> = source.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
    let score = |delimiter: &u8| {
        let counts = lines.iter().map(|line| outside_quotes(line, *delimiter));
        let least = counts.clone().min().unwrap_or(0);
        (least, counts.clone().filter(|count| *count > 0).count(), counts.sum::<usize>())
    };
    // Of equals the last one wins: the comma.
    [b'|', b'\t', b';', b','].into_iter().max_by_key(score).unwrap_or(b',')
}

/// Counts the delimiters of a line. A comma between digits is one of decimals where semicolons part the values.
fn outside_quotes(line: &str, delimiter: u8) -> usize {
    let bytes = line.as_bytes();
    let has_decimals = delimiter == b',' && line.contains(';');
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_decimal = |at: usize| has_decimals && is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1));
    let mut is_quoted = false;
    let counts = |(at, byte): &(usize, &u8)| {
        is_quoted ^= **byte == b'"';
        !is_quoted && **byte == delimiter && !is_decimal(*at)
    };
    bytes.iter().enumerate().filter(counts).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(read(bytes, None).unwrap().sections[0].text, expected);
    }

    #[test]
    fn delimiters_and_encodings_are_found_out() {
        check(b"a,b\n1,\"2,5\"\n", "| a | b |\n| --- | --- |\n| 1 | 2,5 |");
        check(b"a;b\n1,5;2,5\n", "| a | b |\n| --- | --- |\n| 1,5 | 2,5 |");
        check(
            b"Umsatz, in Mio. Euro\nJahr;Wert\n2030;1,5\n2031;1,7\n",
            "Umsatz, in Mio. Euro\n\n| Jahr | Wert |\n| --- | --- |\n| 2030 | 1,5 |\n| 2031 | 1,7 |",
        );
        check(b"a, b, c, d\nJahr;Wert\n2030;1,5\n", "a, b, c, d\n\n| Jahr | Wert |\n| --- | --- |\n| 2030 | 1,5 |");
        check(b"id,a,note\n1,2,fine; ok\n", "| id | a | note |\n| --- | --- | --- |\n| 1 | 2 | fine; ok |");
        check(b"sep=;\na,x;b\n1;2\n", "| a,x | b |\n| --- | --- |\n| 1 | 2 |");
        check(b"St\xe4tte;Geb\xfchr\nBr\xfccke;5\n", "| Stätte | Gebühr |\n| --- | --- |\n| Brücke | 5 |");
        check(b"a,b\n12\x0b34,5\xc2\x856\n7\x1f8,9\n", "| a | b |\n| --- | --- |\n| 12 34 | 5 6 |\n| 7 8 | 9 |");
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("潮汐発電所,入場料\nこの施設の見学は無料です,五百円\n");
        check(&japanese, "| 潮汐発電所 | 入場料 |\n| --- | --- |\n| この施設の見学は無料です | 五百円 |");
    }
}
