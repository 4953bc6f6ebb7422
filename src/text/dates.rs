//! Dates as people write them: a day, its month and its year, or some of these.

use std::collections::BTreeSet;

use time::{Date, Month};

use super::{is_in, is_row, month, month_by_name, words};

/// Small words between the parts of a date.
const LINKS: [&str; 3] = ["de", "del", "of"];

/// What stands between the numbers of a date that begins with its year.
const MARKS: [[&str; 2]; 9] = [
    ["-", "-"],
    ["/", "/"],
    [".", "."],
    ["\u{2010}", "\u{2010}"],
    ["\u{2011}", "\u{2011}"],
    ["\u{2013}", "\u{2013}"],
    ["\u{2212}", "\u{2212}"],
    ["年", "月"],
    ["년", "월"],
];

/// The longest text before the next part of a date.
const MOST_BETWEEN: usize = 40;

/// Returns the date `text` begins with as `YYYY-MM-DD`, and what follows it: `2031-03-10`, `10.03.2031`, `10 March
/// 2031`, `12. Januar 2031`, `March 10, 2031`, `12 de junio de 2031`, `2031年3月10日`. Three numbers in a row are figures,
/// unless the marks of a date part them.
pub fn date_at_start(text: &str) -> Option<(String, &str)> {
    let (pieces, marks, rest) = pieces(text);
    let date = match pieces.as_slice() {
        [Piece::Number(year), Piece::Number(month), Piece::Number(day)] if *year >= 1000 => {
            date(*year, *month, *day).filter(|_| MARKS.iter().any(|known| marks == known))
        }
        [Piece::Number(day), Piece::Number(month), Piece::Number(year)] => {
            // Between slashes, the first one may be the month.
            date(*year, *month, *day).filter(|_| marks == [".", "."])
        }
        [Piece::Number(day), Piece::Month(month), Piece::Number(year)] => date(*year, *month, *day),
        [Piece::Month(month), Piece::Number(day), Piece::Number(year)] => date(*year, *month, *day),
        _ => None,
    };
    date.map(|date| (format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()), rest))
}

/// Words of a line that dates its document.
const LONGEST_DATED_LINE: usize = 10;

/// The months in which seasons begin, each with their names.
const SEASONS: [(u8, &str); 3] = [
    (3, "spring frühjahr frühling printemps primavera"),
    (6, "summer sommer été verano"),
    (9, "autumn herbst automne otoño"),
];

/// Returns whether the word is a year of the last centuries.
pub fn is_year(word: &str) -> bool {
    word.len() == 4 && word.parse().is_ok_and(|year: u32| (1700..2100).contains(&year))
}

/// Returns whether the word is such a year, or a whole date: `9.2.2037`.
pub fn is_date(word: &str) -> bool {
    is_year(word) || date_at_start(word).is_some()
}

/// Returns the years that a text names.
pub fn years_in(text: &str) -> BTreeSet<&str> {
    words(text).into_iter().filter(|word| is_year(word)).collect()
}

/// Returns the dates that a text names by a month and at least a day or a year, or in figures: `2034-04-02` of `3.2 (2
/// April 2034)`, `2034-04` of `in April 2034`, `-04-02` of `on 2 April`.
pub fn dates_in(text: &str) -> Vec<String> {
    let words: Vec<&str> = words(text).into_iter().filter(|word| !LINKS.contains(word)).collect();
    let date = |at: usize| {
        let month = month_number(words[at])?;
        let year = words.get(at + 1).filter(|year| is_year(year));
        let day = at.checked_sub(1).and_then(|day| words[day].parse::<u32>().ok()).filter(|day| (1..=31).contains(day));
        let day = day.map(|day| format!("-{day:02}"));
        (year.is_some() || day.is_some())
            .then(|| format!("{}-{month:02}{}", year.unwrap_or(&""), day.unwrap_or_default()))
    };
    let whole = |at: usize| date_at_start(words[at]).map(|(date, _)| date);
    (0..words.len()).filter_map(|at| whole(at).or_else(|| date(at))).collect()
}

/// Returns the date of a short line that ends with it, as in `Leaflet, spring 2032` or `Put together by A. Lund, March
/// 2031`.
pub fn date_of_line(line: &str) -> Option<String> {
    let words = words(line);
    let ends =
        words.last().is_some_and(|last| is_date(last)) && line.trim_end().ends_with(|char: char| char.is_ascii_digit());
    (ends && words.len() <= LONGEST_DATED_LINE && !is_row(line)).then(|| date_in(line))?
}

/// Returns the last date that a title or heading names with its year.
pub fn date_in(text: &str) -> Option<String> {
    dates_in(text).into_iter().rfind(|date| !date.starts_with('-'))
}

/// Returns the number of a month by its name, or of the month in which a season begins.
fn month_number(word: &str) -> Option<u8> {
    let season = |word: &str| SEASONS.iter().find(|(_, names)| is_in(names, word)).map(|(month, _)| *month);
    month_by_name(word).or_else(|| season(&word.to_lowercase()))
}

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let year = i32::try_from(year).ok().filter(|year| (1000..=2999).contains(year))?;
    Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()
}

enum Piece {
    Number(u32),
    Month(u32),
}

/// Returns the first three words of `text` that are numbers or months, small words between them passed over, what
/// stands between the numbers, and what follows; a word that is neither ends the list.
fn pieces(text: &str) -> (Vec<Piece>, Vec<&str>, &str) {
    let is_part = |char: char| char.is_alphanumeric() && !matches!(char, '年' | '月' | '日');
    let (mut pieces, mut marks, mut rest, mut behind) = (Vec::with_capacity(3), Vec::with_capacity(2), text, text);
    while let Some(begin) = rest.find(is_part).filter(|begin| pieces.len() < 3 && *begin < MOST_BETWEEN) {
        let end = rest[begin..].find(|char| !is_part(char)).map_or(rest.len(), |length| begin + length);
        let word = &rest[begin..end];
        if pieces.is_empty() || !LINKS.contains(&word) {
            let Some(piece) = piece(word) else { break };
            if !pieces.is_empty() {
                marks.push(behind[..behind.len() - rest.len() + begin].trim());
            }
            behind = word.trim_start_matches(|char: char| char.is_ascii_digit());
            behind = &rest[end - behind.len()..];
            pieces.push(piece);
        }
        rest = &rest[end..];
    }
    (pieces, marks, rest.strip_prefix('日').unwrap_or(rest))
}

fn piece(word: &str) -> Option<Piece> {
    let digits = word.find(|char: char| !char.is_ascii_digit()).unwrap_or(word.len());
    if digits > 0 {
        return word[..digits].parse().ok().map(Piece::Number);
    }
    month(&word.to_lowercase()).map(u32::from).map(Piece::Month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(date_at_start(text).map(|(date, _)| date).as_deref(), expected, "{text}")
        };
        check("2031-03-10", Some("2031-03-10"));
        check("2031-03-10T09:00:00Z", Some("2031-03-10"));
        check("2031/3/10 by T. W.", Some("2031-03-10"));
        check("10.03.2031", Some("2031-03-10"));
        check("12. Januar 2031", Some("2031-01-12"));
        check("10 March 2031", Some("2031-03-10"));
        check("3rd Oct. 2030", Some("2030-10-03"));
        check("March 10, 2031", Some("2031-03-10"));
        check("2031年3月15日", Some("2031-03-15"));
        check("1er août 2030", Some("2030-08-01"));
        check("12 de junio de 2037", Some("2037-06-12"));
        check("1º de março de 2031", Some("2031-03-01"));
        check("12 марта 2031 г.", Some("2031-03-12"));
        check("31 February 2031", None);
        check("10/03/2031", None);
        check("10/03/2031. All rights reserved.", None);
        check("10. 3. 2031", Some("2031-03-10"));
        check("2031. 3. 10.", Some("2031-03-10"));
        check("2031\u{2011}03\u{2011}10", Some("2031-03-10"));
        check("2031\u{2013}03\u{2013}10", Some("2031-03-10"));
        check("2031\u{2212}03\u{2212}10", Some("2031-03-10"));
        check("2031년 3월 10일", Some("2031-03-10"));
        for figures in
            ["2030 10 12", "1250 10 25", "1800 11-22", "2031-10 12", "2031, 10, 12", "12.10 2031", "2031x-10-12"]
        {
            check(figures, None);
        }
        check("soon", None);
        check("19:00 to 22:10", None);
        check("99999999999-1-1", None);
    }
    #[test]
    fn dates_and_years_are_found_in_texts() {
        assert_eq!(dates_in("3.2 (2 April 2034), or in April, or on 2 April"), ["2034-04-02", "-04-02"]);
        assert_eq!(dates_in("Leaflet, spring 2032"), ["2032-03"]);
        assert_eq!(dates_in("Toledo, 9 de septiembre de 2037"), ["2037-09-09"]);
        assert_eq!(dates_in("Stand: 9.2.2037"), ["2037-02-09"]);
        assert_eq!(years_in("Season 2041/42, not 1650").into_iter().collect::<Vec<_>>(), ["2041"]);
        assert!(is_date("2037") && is_date("9.2.2037") && !is_date("9.2") && !is_date("412"));
    }

    #[test]
    fn titles_and_short_lines_have_dates() {
        assert_eq!(date_in("3.2 (2 April 2034)").as_deref(), Some("2034-04-02"));
        assert_eq!(date_in("Handbuch, März 2031").as_deref(), Some("2031-03"));
        assert_eq!(date_in("Prices of 2031"), None);
        assert_eq!(date_of_line("Leaflet, spring 2032").as_deref(), Some("2032-03"));
        assert_eq!(date_of_line("It was put together in March 2031."), None, "a sentence may be about anything");
        assert_eq!(date_of_line("Skua – In service since: 22 May 2030"), None, "so may a row");
    }
}
