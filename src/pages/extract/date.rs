//! The date a document gives itself: a front matter field or a line such as `Last updated: 2031-03-10` or
//! `Valid from 1 October 2034`.

use time::{Date, Month};

/// Words before a date that make it the document's own, the longer ones first.
const LABELS: [&str; 54] = [
    "last updated",
    "last modified",
    "last reviewed",
    "last changed",
    "last revised",
    "revised",
    "changed",
    "edition of",
    "version of",
    "final version",
    "final report",
    "valid from",
    "valid since",
    "in force from",
    "in force since",
    "in effect from",
    "in effect since",
    "effective from",
    "effective",
    "applies from",
    "adopted",
    "approved",
    "signed",
    "gültig ab",
    "gültig seit",
    "in kraft seit",
    "fassung vom",
    "ausgabe vom",
    "beschlossen am",
    "geändert am",
    "en vigueur depuis",
    "en vigueur",
    "version du",
    "édition du",
    "adopté",
    "actualizado",
    "fecha",
    "vigente desde",
    "en vigor desde",
    "updated",
    "published",
    "date",
    "datum",
    "stand",
    "veröffentlicht",
    "aktualisiert",
    "mis à jour",
    "publié",
    "更新日期",
    "发布日期",
    "日期",
    "as of",
    "issued",
    "dated",
];

/// Those of them that are the beginning of others, such as `date of birth`.
const DATES: [&str; 4] = ["date", "datum", "fecha", "日期"];

/// What makes such a label, with the words between, the document's own.
const OF_DOCUMENTS: &str = "\
    of the this last first and time document page report letter notice article version edition revision revised \
    release released issue issued update updated modified modification change changed review reviewed publication \
    published posted created creation written signed signature adoption adopted approval approved printed submitted de \
    du la le dernière mise à jour révision der des dieses letzten letzte veröffentlichung erstellung ausgabe änderung \
    aktualisierung fassung dokuments berichts del última actualización publicación modificación documento informe \
    entry into force effect effective";

/// Words between such a label and what it is the date of.
const OF: [&str; 8] = ["of", "de", "du", "des", "der", "del", "d", "when"];

/// What documents call themselves.
const DOCUMENTS: [&str; 26] = [
    "notice",
    "note",
    "notes",
    "report",
    "letter",
    "memo",
    "memorandum",
    "minutes",
    "bulletin",
    "circular",
    "newsletter",
    "statement",
    "bericht",
    "brief",
    "protokoll",
    "mitteilung",
    "hinweis",
    "rundschreiben",
    "vermerk",
    "rapport",
    "lettre",
    "avis",
    "compte",
    "acta",
    "carta",
    "informe",
];

/// Lines, but empty ones, in which a document says what it is.
const HEAD_LINES: usize = 5;

/// The longest text between a label and its date: `adopted by the board on 16 November 2032`.
const AFTER_LABEL: usize = 40;

/// How much of a document may come before that line.
const MAX_LINES: usize = 25;

/// Returns `YYYY-MM-DD` when a line near the beginning states the document's date.
pub(super) fn stated(text: &str) -> Option<String> {
    let lines = || text.lines().take(MAX_LINES);
    let head = || text.lines().filter(|line| !line.trim().is_empty()).take(HEAD_LINES);
    let dated = || lines().find_map(stated_in_line).or_else(|| lines().find_map(below_letterhead));
    dated().or_else(|| head().find_map(in_head))
}

/// Returns the date of a short line such as `Safety notice 2035/05 of 3 May 2035` or `Note, 20 January 2036, by A.
/// L.`: it calls itself a document, and its date stands at the end or between commas.
fn in_head(line: &str) -> Option<String> {
    let line = line.trim().trim_matches(['*', '_', '#', ' ']);
    let is_kind = |word: &str| DOCUMENTS.contains(&word.to_lowercase().as_str());
    if line.chars().count() > 90 || !line.split(|char: char| !char.is_alphabetic()).any(is_kind) {
        return None;
    }
    let at_end =
        [" of ", " vom ", " du ", " de "].iter().find_map(|before| line.rsplit_once(before)).map(|(_, end)| end);
    let is_whole = |text: &&str| text.len() <= 20 && text.ends_with(|char: char| char.is_ascii_digit());
    let between = line.split(", ").skip(1).filter(is_whole).find_map(parse);
    between.or_else(|| at_end.filter(is_whole).and_then(parse))
}

/// Returns the date of a line such as `Norderwarf, den 29. Januar 2031`: short, and nothing after the date.
fn below_letterhead(line: &str) -> Option<String> {
    let line = first_sentence(line.trim().trim_matches(['*', '_']));
    let (_, date) = line.rsplit_once(", ").filter(|_| line.chars().count() <= 90)?;
    let date = date.strip_prefix("den ").or_else(|| date.strip_prefix("le ")).unwrap_or(date);
    (date.len() <= 20 && date.ends_with(|char: char| char.is_ascii_digit())).then(|| parse(date))?
}

/// Returns the line up to the full stop behind a year.
fn first_sentence(line: &str) -> &str {
    let ends = |at: &usize| line[..*at].bytes().rev().take_while(u8::is_ascii_digit).count() == 4;
    line.match_indices(". ").map(|(at, _)| at).find(ends).map_or(line, |at| &line[..at])
}

/// Returns the date behind a label at the beginning of the line, or of what follows a full stop or comma in it.
fn stated_in_line(line: &str) -> Option<String> {
    let line = line.to_lowercase();
    let is_row = line.trim_start().starts_with('|');
    let starts = [". ", ", "].iter().flat_map(|mark| line.match_indices(mark)).map(|(at, mark)| at + mark.len());
    let texts = std::iter::once(0).chain(starts).map(|at| &line[at..]);
    texts.map(|text| text.trim_start_matches(|char: char| !char.is_alphanumeric())).find_map(|text| {
        let (label, rest) = LABELS.iter().find_map(|label| Some((*label, text.strip_prefix(label)?)))?;
        let is_alone = rest.trim_start_matches([' ', '*', '_']).starts_with('|');
        let is_other = DATES.contains(&label) && (is_row && is_alone || is_of_other(rest));
        let is_label = rest.starts_with(|char: char| !char.is_alphabetic() || char > '\u{2e7f}');
        (is_label && !is_other).then(|| near(rest))?
    })
}

/// Returns whether a label that goes on so is the date of something else than the document: `Date of birth: 3 May`.
fn is_of_other(rest: &str) -> bool {
    let near = || rest.chars().take(AFTER_LABEL);
    let says =
        near().take_while(|char| !char.is_ascii_digit() && !matches!(char, ':' | '：' | '|')).collect::<String>();
    let goes_on = near().nth(says.chars().count()).is_some_and(|char| !char.is_ascii_digit());
    let mut words = says.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty()).peekable();
    let begins_other = goes_on || words.peek().is_some_and(|word| OF.contains(word));
    begins_other && words.any(|word| OF_DOCUMENTS.split(' ').all(|other| other != word))
}

/// Returns the first date of the text, unless too much stands before it.
fn near(text: &str) -> Option<String> {
    let starts = text
        .char_indices()
        .take(AFTER_LABEL)
        .filter(|(at, char)| char.is_alphanumeric() && !text[..*at].ends_with(char::is_alphanumeric));
    starts.map(|(at, _)| &text[at..]).find_map(parse)
}

/// Returns the date `text` begins with: `2031-03-10`, `10.03.2031`, `10 March 2031`, `12. Januar 2031`, `March 10,
/// 2031`, `2031年3月10日`.
pub fn parse(text: &str) -> Option<String> {
    let pieces = pieces(text);
    let date = match pieces.as_slice() {
        [Piece::Number(year), Piece::Number(month), Piece::Number(day), ..] if *year >= 1000 => {
            date(*year, *month, *day)
        }
        [Piece::Number(day), Piece::Number(month), Piece::Number(year), ..] if is_dotted(text) => {
            date(*year, *month, *day)
        }
        [Piece::Number(day), Piece::Month(month), Piece::Number(year), ..] => date(*year, *month, *day),
        [Piece::Month(month), Piece::Number(day), Piece::Number(year), ..] => date(*year, *month, *day),
        _ => None,
    };
    date.map(|date| format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()))
}

/// Returns whether a full stop stands behind the number that the text begins with: else it may be a month.
fn is_dotted(text: &str) -> bool {
    let number = text.trim_start_matches(|char: char| !char.is_alphanumeric());
    number.trim_start_matches(|char: char| char.is_ascii_digit()).starts_with('.')
}

/// Returns the ISO date in a file name such as `2030-12-03-board.md`, the way people sort their files.
pub fn in_file_name(name: &str) -> Option<String> {
    let starts = name.char_indices().filter(|(at, _)| !name[..*at].ends_with(|char: char| char.is_ascii_digit()));
    let candidates = starts.filter_map(|(at, _)| name.get(at..at + 10));
    let is_iso = |text: &&str| {
        text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-' || byte == b'_',
            _ => byte.is_ascii_digit(),
        })
    };
    candidates.filter(is_iso).find_map(parse)
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

/// Returns the first three words of `text` that are numbers or months; a word that is neither ends the list.
fn pieces(text: &str) -> Vec<Piece> {
    let text: String = text.chars().take(40).collect();
    text.split(|char: char| !char.is_alphanumeric() || matches!(char, '年' | '月' | '日'))
        .filter(|word| !word.is_empty())
        .map_while(piece)
        .take(3)
        .collect()
}

fn piece(word: &str) -> Option<Piece> {
    let digits = word.find(|char: char| !char.is_ascii_digit()).unwrap_or(word.len());
    if digits > 0 {
        return word[..digits].parse().ok().map(Piece::Number);
    }
    month(&word.to_lowercase()).map(Piece::Month)
}

/// Returns the month of a name or abbreviation of at least three letters, in English, German or French.
fn month(word: &str) -> Option<u32> {
    const NAMES: [&[&str]; 12] = [
        &["january", "januar", "janvier", "jänner"],
        &["february", "februar", "février"],
        &["march", "märz", "mars", "mrz"],
        &["april", "avril"],
        &["may", "mai"],
        &["june", "juni", "juin"],
        &["july", "juli", "juillet"],
        &["august", "août"],
        &["september", "septembre", "sept"],
        &["october", "oktober", "octobre"],
        &["november", "novembre"],
        &["december", "dezember", "décembre"],
    ];
    let fits = |names: &&[&str]| names.iter().any(|name| name.starts_with(word));
    let at = (word.chars().count() >= 3).then(|| NAMES.iter().position(fits))??;
    u32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(parse(text).as_deref(), expected, "{text}");
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
        check("31 February 2031", None);
        check("10/03/2031", None);
        check("10/03/2031. All rights reserved.", None);
        check("10. 3. 2031", Some("2031-03-10"));
        check("soon", None);
        check("19:00 to 22:10", None);
        check("99999999999-1-1", None);
    }

    #[test]
    fn file_names_carry_iso_dates() {
        let check = |name: &str, expected: Option<&str>| assert_eq!(in_file_name(name).as_deref(), expected, "{name}");
        check("2030-12-03-board.md", Some("2030-12-03"));
        check("größe_2030_12_03.txt", Some("2030-12-03"));
        check("tariffs-2031.md", None);
        check("12030-12-03.md", None);
        check("2030-13-03.md", None);
    }

    #[test]
    fn only_a_labelled_line_states_the_document_s_date() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(stated(text).as_deref(), expected, "{text}");
        check("# T\n\nLast updated: 2031-03-10 · by T. W.", Some("2031-03-10"));
        check("Date:    14 November 2030", Some("2030-11-14"));
        check("**Date:** 14 November 2030", Some("2030-11-14"));
        check("Stand: 12. Januar 2031", Some("2031-01-12"));
        check("更新日期:2031-03-15", Some("2031-03-15"));
        check("Norderwarf, den 29. Januar 2031\n\nSehr geehrte", Some("2031-01-29"));
        check("**Press release, Skelderwick, 22 May 2030**", Some("2030-05-22"));
        check("We met on Monday, 11 February 2031, at", None);
        check("On 11 February 2031 the board decided", None);
        check("Standing charge 2031-01-01", None);
        check("Date: Thu, 17 Mar 2033 08:47", Some("2033-03-17"));
        check("Valid from 1 October 2034. These rules supersede those of May 2030.", Some("2034-10-01"));
        check("Version 5, adopted by the board on 16 November 2032. It binds everybody.", Some("2032-11-16"));
        check("Ada Lund, 21 March 2033. This page replaces earlier mails.", Some("2033-03-21"));
        check("HOSPITAL\n\nSafety notice 2035/05 of 3 May 2035\n\nThe batteries", Some("2035-05-03"));
        check("# Where we stand\n\nNote for the board, 20 January 2036, by Ada Lund", Some("2036-01-20"));
        check("# The storm of 3 May 2035\n\nIt was noted.", None);
        check("a\n\nb\n\nc\n\nd\n\ne\n\nSee the report of 3 May 2035", None);
        check("Last updated: 04/05/2031. All rights reserved.", None);
        check("Date of birth: 3 May 1950", None);
        check("Date of birth 3 May 1950", None);
        check("Date opened: 3 May 1950", None);
        check("Born in Skelderwick, date of death 3 May 1950", None);
        check("Datum der Gründung: 3. Mai 1950", None);
        check("Fecha de nacimiento: 1950-05-03", None);
        check("| Date | 6 June 1944 |", None);
        check("| **Date** | 6 June 1944 |", None);
        check("| **Date:** 6 June 2031 | Notice |", Some("2031-06-06"));
        check("| 日期 | 1944-06-06 |", None);
        check("| Last updated | 6 June 2031 |", Some("2031-06-06"));
        check("Date of last revision: 3 May 2031", Some("2031-05-03"));
        check("Date of entry into force: 3 May 2031", Some("2031-05-03"));
        check("Datum der Veröffentlichung: 3. Mai 2031", Some("2031-05-03"));
        check("Date   Thursday 17 March 2033", Some("2033-03-17"));
        check("Approvals were given on 3 April 2031.", None);
        check("Datei geändert am 3. April 2031", None);
        check("Approved, after a long debate of which more is said below, in 3 April 2031", None);
    }
}
