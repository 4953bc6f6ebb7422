//! The date a document gives itself: a front matter field or a line such as `Last updated: 2031-03-10` or
//! `Valid from 1 October 2034`, or a line that says little else.

use crate::text::{CLOSING, date_at_start, is_in, is_stop_word_of_any, list_item};

/// Words before a date that make it the document's own.
const LABELS: &str = "\
    updated modified reviewed revised changed effective applies valid adopted approved signed published issued dated \
    gültig beschlossen geändert veröffentlicht aktualisiert adopté publié vigente actualizado publicado";

/// The same that are things. Between them and the date stands nothing but small words, and what tells one of several.
const THINGS: &str = "\
    update modification review revision change edition version release issue publication stand fassung ausgabe änderung \
    aktualisierung veröffentlichung édition publication actualización publicación versión edición 更新日期 发布日期";

/// The same that are beginnings of others, such as `date of birth`.
const DATES: [&str; 4] = ["date", "datum", "fecha", "日期"];

/// What stands before such a word, and what only then is one: `last change`, `in force`, `mis à jour`.
const BEFORE: &str = "last latest final zuletzt letzte letzter dernière última in en as mis mise à";
const BEHIND: &str = "of force effect kraft vigueur vigor jour";

/// Words of other dates than the one from which a document counts.
const OTHERS: &str = "until till before after bis vor nach jusqu jusque avant après hasta antes";

/// What makes a date the document's own, with the words between.
const OF_DOCUMENTS: &str = "\
    of the this last first and time document page report letter notice article version edition revision revised \
    release released issue issued update updated modified modification change changed review reviewed publication \
    published posted created creation written signed signature adoption adopted approval approved printed submitted de \
    du la le dernière mise à jour révision der des dieses letzten letzte veröffentlichung erstellung ausgabe änderung \
    aktualisierung fassung dokuments berichts del última actualización publicación modificación documento informe \
    entry into force effect effective from on since no number nr nº vom von am seit ab el depuis desde";

/// Days of the week before a date, which belong to it.
const WEEKDAYS: &str = "\
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun \
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so \
    lundi mardi mercredi jeudi vendredi samedi dimanche \
    lunes martes miércoles jueves viernes sábado domingo";

/// Words between such a label and what it is the date of.
const OF: [&str; 8] = ["of", "de", "du", "des", "der", "del", "d", "when"];

/// What documents call themselves.
const DOCUMENTS: &str = "\
    notice note notes report letter memo memorandum minutes bulletin circular newsletter statement bericht brief \
    protokoll mitteilung hinweis rundschreiben vermerk rapport lettre avis compte acta carta informe";

/// Words before such a name with which a sentence speaks of another document.
const OF_ANOTHER: &str = "the this that der die das den dem des diesen dieser le la les l ce cette el los al este esta";

/// What stands between such a name and its date, and behind the date before who wrote it.
const OF_DAYS: [&str; 4] = [" of ", " vom ", " du ", " de "];
const BY: &str = "by von par por durch";

/// Words of who wrote it.
const MOST_OF_AUTHOR: usize = 6;

/// Words between a label and its date behind which stands who did it, or where.
const BY_OR_AT: &str = "by at von par por durch";

/// What stands before the date of a letter.
const ARTICLES: [&str; 5] = ["den", "le", "el", "il", "a"];

/// Lines in which a document says what it is.
const HEAD_LINES: usize = 5;

/// The longest of them, in characters; a longer one says more.
const LONGEST_HEAD: usize = 90;

/// Words of the place at which a letter was written, `Fait à Lyon`, and those that stand in sentences alone.
const MOST_OF_PLACE: usize = 3;
const OF_SENTENCES: &str = "\
    i he she it we you they who which as here there ich er sie es wir wer hier dort je il elle ils elles nous vous qui \
    ici yo él ella ellos ellas nosotros quien aquí allí";

/// Characters of a line that is text although no sentence ends with it.
const SHORTEST_WRAPPED: usize = 60;

/// The longest text between a label and its date: `adopted by the board on 16 November 2032`.
const AFTER_LABEL: usize = 40;

/// Bytes of a line in which it is looked for.
const LONGEST_LINE: usize = 1_000;

/// Lines of a document among which the one with a label is.
const MAX_LINES: usize = 25;

/// Returns `YYYY-MM-DD` when a line near the beginning states the document's date: behind a label, or in a line that
/// says little else. A date within a sentence is that of what the sentence tells, and where dates stand alone again and
/// again, each is that of what stands below it.
pub(super) fn stated<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let all: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    let short = |line: &&'a str| line.get(..line.floor_char_boundary(LONGEST_LINE)).unwrap_or_default();
    let mut lines: Vec<&str> = all.iter().take(MAX_LINES).map(short).collect();
    lines.dedup();
    let each = || lines.iter().copied();
    let dated = |line| alone(line).filter(|_| !is_log(&all));
    let head = |line| dated(line).or_else(|| below_letterhead(line)).or_else(|| in_head(line));
    each()
        .find_map(stated_in_line)
        .or_else(|| each().take(HEAD_LINES).find_map(head))
        .or_else(|| each().find_map(below_letterhead))
}

/// Returns whether several of the headings of a document have dates, as those of a log have.
pub(super) fn are_entries<'a>(headings: impl Iterator<Item = &'a str>) -> bool {
    let mut dates = headings.filter_map(|heading| stated(std::iter::once(heading)));
    dates.next().is_some_and(|first| dates.any(|date| date != first))
}

/// Returns whether the second date that stands alone parts texts, as in a log: behind a sentence, and above another
/// text. A day above a signature, or on which a sentence ends, does not.
fn is_log(lines: &[&str]) -> bool {
    let first = lines.iter().find_map(|line| alone(line));
    let second = lines.windows(3).find(|near| alone(near[1]).is_some_and(|date| first.as_ref() != Some(&date)));
    let ends = |line: &str| {
        line.trim_end_matches(['*', '_']).trim_end_matches(CLOSING).ends_with(['.', '!', '?', '…', '。', '！', '？'])
    };
    let is_text = |line: &str| list_item(line).is_some() || ends(line);
    second.is_some_and(|near| is_text(near[0]) && (is_text(near[2]) || near[2].chars().count() >= SHORTEST_WRAPPED))
}

/// Returns the date that is all of a line.
fn alone(line: &str) -> Option<String> {
    whole(unmarked(line)?)
}

/// Returns the line without marks around it, if it is short and no row of a table.
fn unmarked(line: &str) -> Option<&str> {
    let line = line.trim_matches(['*', '_', '#', ' ']);
    (!line.starts_with('|') && line.chars().count() <= LONGEST_HEAD).then_some(line)
}

/// Returns the date of a short line such as `Safety notice 2035/05 of 3 May 2035` or `Note, 20 January 2036, by A.
/// L.`: it calls itself a document, and its date stands at the end, between commas, or before who wrote it.
fn in_head(line: &str) -> Option<String> {
    let line = unmarked(line)?;
    if !names_itself(line) {
        return None;
    }
    let is_end = |rest: &str| rest.is_empty() || is_author(rest);
    let behind = |mark: &str| {
        let ends = line.match_indices(mark).map(|(at, mark)| &line[at + mark.len()..]);
        ends.filter_map(date_at_start)
            .find(|(_, rest)| is_end(rest.trim_start_matches([',', ' '])))
            .map(|(date, _)| date)
    };
    let between = || {
        let parts = line.match_indices(", ").map(|(at, mark)| &line[at + mark.len()..]);
        parts.filter_map(date_at_start).find(|(_, rest)| rest.is_empty() || rest.starts_with(',')).map(|(date, _)| date)
    };
    between().or_else(|| OF_DAYS.into_iter().find_map(behind))
}

/// Returns whether a line, or a part of it, begins with what a document calls itself: `It follows the report` speaks of
/// another one.
fn names_itself(line: &str) -> bool {
    line.split([':', '–', '—']).any(begins_with_name)
}

fn begins_with_name(line: &str) -> bool {
    let words = line.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_lowercase).enumerate();
    let is_other = |at: usize, word: &str| is_in(OF_ANOTHER, word) || (at == 0 && is_stop_word_of_any(word));
    let name = words.find(|(at, word)| is_in(DOCUMENTS, word) || is_other(*at, word));
    name.is_some_and(|(_, word)| is_in(DOCUMENTS, &word))
}

/// Returns whether the text says by whom something is, and no more: behind a name, `by Lund shows` goes on.
fn is_author(text: &str) -> bool {
    let (by, names) = first_word(text);
    let names: Vec<&str> = names.split_whitespace().take(MOST_OF_AUTHOR + 1).collect();
    let is_small = |word: &str| is_stop_word_of_any(word.trim_end_matches(|char: char| !char.is_alphanumeric()));
    let goes_on = |pair: &[&str]| {
        pair[0].starts_with(char::is_uppercase) && pair[1].starts_with(char::is_lowercase) && !is_small(pair[1])
    };
    is_in(BY, by) && names.len() <= MOST_OF_AUTHOR && !names.windows(2).any(goes_on)
}

/// Returns the date of a line such as `Norderwarf, den 29. Januar 2031`: short, and nothing after the date.
fn below_letterhead(line: &str) -> Option<String> {
    let line = unmarked(first_sentence(line))?;
    let commas = line.match_indices(", ").filter(|(at, _)| !happens_on_weekday(&line[..*at]));
    let dates = commas.map(|(at, mark)| &line[at + mark.len()..]);
    let without_article =
        |date: &str| Some(date.split_once(' ').filter(|(word, _)| ARTICLES.contains(word))?.1.to_owned());
    let mut dates = dates.filter(|date| date.ends_with(|char: char| char.is_ascii_digit() || char == '日'));
    dates.find_map(|date| whole(&without_article(date).unwrap_or_else(|| date.to_owned())))
}

/// Returns the line up to the full stop behind a year; what has one at its end and more words than a place is a
/// sentence.
fn first_sentence(line: &str) -> &str {
    let ends = |at: &usize| line[..*at].bytes().rev().take_while(u8::is_ascii_digit).count() == 4;
    let line = line.strip_suffix('.').filter(|_| line.split(',').next().is_some_and(is_place)).unwrap_or(line);
    line.match_indices(". ").map(|(at, _)| at).find(ends).map_or(line, |at| &line[..at])
}

/// Returns whether the text may name a place and say no more: `He drowned here` has words of sentences.
fn is_place(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.clone().count() <= MOST_OF_PLACE && !words.any(|word| is_in(OF_SENTENCES, &word.to_lowercase()))
}

/// Returns whether the text before a comma ends with a day on which something was: `Opened Monday`.
fn happens_on_weekday(text: &str) -> bool {
    let mut words = text.rsplit(", ").next().unwrap_or_default().rsplit(' ');
    words.next().is_some_and(|last| is_in(WEEKDAYS, &last.to_lowercase())) && words.next().is_some()
}

/// Returns the date behind a label at the beginning of the line, or of what follows a full stop or comma in it. A row
/// of a table has no more than the two.
fn stated_in_line(line: &str) -> Option<String> {
    let line = line.to_lowercase();
    let is_row = line.starts_with('|');
    if is_row && line.split('|').filter(|cell| !cell.trim().is_empty()).count() > 2 {
        return None;
    }
    let starts = [". ", ", "].iter().flat_map(|mark| line.match_indices(mark)).map(|(at, mark)| at + mark.len());
    std::iter::once(0).chain(starts).find_map(|at| labelled(&line[at..], is_row))
}

/// Returns the date behind the label that the text begins with.
fn labelled(text: &str, is_row: bool) -> Option<String> {
    let (mut word, mut rest) = first_word(text);
    let mut is_behind = false;
    while is_in(BEFORE, word) {
        (word, rest) = first_word(rest);
        is_behind = true;
    }
    let is_alone = rest.trim_start_matches([' ', '*', '_']).starts_with('|');
    match word {
        _ if is_in(LABELS, word) || (is_behind && is_in(BEHIND, word)) => {
            near(rest).filter(|_| is_field(rest) || !says_more(rest))
        }
        _ if is_in(THINGS, word) => near(rest).filter(|_| !says_more(rest)),
        _ if DATES.contains(&word) && !(is_row && is_alone || is_of_other(rest)) => near(rest),
        _ => None,
    }
}

/// Returns the first word of a text, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(|char: char| !char.is_alphanumeric());
    text.split_at(text.find(|char: char| !char.is_alphabetic()).unwrap_or(text.len()))
}

/// Returns whether a label is the name of a field.
fn is_field(rest: &str) -> bool {
    rest.trim_start_matches([' ', '*', '_']).starts_with([':', '：', '|'])
}

/// Returns whether other words than small ones stand between a label and its date, but for those who did it, and where.
fn says_more(rest: &str) -> bool {
    let near = rest.char_indices().take(AFTER_LABEL).find(|(at, _)| parse(&rest[*at..]).is_some());
    let (between, date) = rest.split_at(near.map_or(rest.len(), |(at, _)| at));
    // `Signed H. Lund, 20 March 2034`
    if date.starts_with(',') {
        return false;
    }
    let words = between.split_whitespace().map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()));
    let is_small = |word: &str| [OF_DOCUMENTS, LABELS, THINGS, WEEKDAYS].iter().any(|words| is_in(words, word));
    let mut words = words.take_while(|word| !is_in(BY_OR_AT, word));
    words.any(|word| word.chars().all(char::is_alphabetic) && !word.is_empty() && !is_small(word))
}

/// Returns whether a label that goes on so is the date of something else than the document: `Date of birth: 3 May`.
fn is_of_other(rest: &str) -> bool {
    let near = || rest.chars().take(AFTER_LABEL);
    let says =
        near().take_while(|char| !char.is_ascii_digit() && !matches!(char, ':' | '：' | '|')).collect::<String>();
    let goes_on = near().nth(says.chars().count()).is_some_and(|char| !char.is_ascii_digit());
    let mut words = says.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty()).peekable();
    let begins_other = goes_on || words.peek().is_some_and(|word| OF.contains(word));
    begins_other && words.any(|word| !is_in(OF_DOCUMENTS, word))
}

/// Returns the first date of the text, unless too much stands before it, or it is another one.
fn near(text: &str) -> Option<String> {
    let mut starts = text
        .char_indices()
        .take(AFTER_LABEL)
        .filter(|(at, char)| char.is_alphanumeric() && !text[..*at].ends_with(char::is_alphanumeric));
    starts.find_map(|(at, _)| match first_word(&text[at..]).0 {
        word if is_in(OTHERS, word) => Some(None),
        _ => parse(&text[at..]).map(Some),
    })?
}

/// Returns the date that is all of the text.
fn whole(text: &str) -> Option<String> {
    let (date, rest) = date_at_start(text)?;
    let is_begun = text.starts_with(char::is_alphanumeric);
    (is_begun && rest.chars().all(|char| !char.is_alphanumeric())).then_some(date)
}

/// Returns the date `text` begins with: `2031-03-10`, `10.03.2031`, `10 March 2031`, `12. Januar 2031`, `March 10,
/// 2031`, `12 de junio de 2031`, `2031年3月10日`.
pub fn parse(text: &str) -> Option<String> {
    date_at_start(text).map(|(date, _)| date)
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
    candidates.filter(is_iso).find_map(|text| parse(&text.replace('_', "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(stated(text.lines()).as_deref(), expected, "{text}");
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
        check("It follows the report of 3 May 1950 by Lund and many others.", None);
        check("This replaces the report of 3 May 2035", None);
        check("Report of 3 May 1950 by Lund says that the gate was closed", None);
        check("Report of 3 May 1950 by Lund shows nothing.", None);
        check("Report IR-34-03 of 30 June 2034, by O. Vance and the board.", Some("2034-06-30"));
        check("He drowned here, 3 May 1950.", None);
        check("Opened Monday, 11 February 1931.", None);
        check("Skelderwick, Monday, 11 February 2031.", Some("2031-02-11"));
        check("Updated prices for boats built on 3 May 1950 are below.", None);
        check("Effective dose was given on 3 May 1950", None);
        check("In force 10 were on duty on 3 May 1950", None);
        check("Last of the boats, sunk 3 May 1950", None);
        check("Last updated / Stand: 2031-02-20", Some("2031-02-20"));
        check("Final list, 16 May 2042.", Some("2042-05-16"));
        check("Season 2034. Signed H. Vauclair, 20 March 2034.", Some("2034-03-20"));
        check("# Committee for the environment: minutes of 20 March 2034", Some("2034-03-20"));
        check("Updated on Thursday, 3 May 2031", Some("2031-05-03"));
        check("Signed by Lund at Ohl on 3 May 2031", Some("2031-05-03"));
        check("Signed at Ohl on 3 May 2031", Some("2031-05-03"));
        check("Boats and crew\nYear Boats Crew\n2030 10 12\n2031 11 14", None);
        check("Chronicle\n\n3 May 1950\n\nIt was built.\n\n5 June 2031\n\nIt sank.", None);
        check("# Stand\n\n3 May 2031\n\nIt is built.\n\n3 May 2031", Some("2031-05-03"));
        let long = "It was built by the harbour board and by everybody who lived near it,\nin a year.";
        check(&format!("Chronicle\n\n3 May 1950\n\n{long}\n\n5 June 2031\n\n{long}"), None);
        let items = "- Left the harbour at dawn\n- Wind from the north";
        for entry in [items, "She said “it is in.”", "**It was built.**"] {
            check(&format!("Chronicle\n\n3 May 1950\n\n{entry}\n\n5 June 2031\n\n{entry}"), None);
        }
        for later in [
            "It is closed.\n\n5 June 2031\n\n**Ada Lund**, Registrar",
            "Applications are due by\n\n5 June 2031\n\nLate ones are not read.",
            "It is closed.\n\n5 June 2031\n\nAda Lund, Registrar",
            "It is let.\n\nFirst day\n\n5 June 2031\n\nThe rent is due each month.",
            "It is a gate.\n\nAda Lund\n\n5 June 2031\n\nA fine gate.\n\nO. Vance\n\n6 June 2031\n\nSo it is.",
            "It is old.\n\nHistory\n\n5 June 1950\n\nIt was built.\n\n6 June 1960\n\nIt sank.",
        ] {
            check(&format!("# Gate\n\n3 May 2031\n\n{later}"), Some("2031-05-03"));
        }
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
        check("RECURSO\nFecha: 12 de junio de 2037\n\nRecurrimos.", Some("2037-06-12"));
        check("Actualizado el 5 de noviembre de 2037", Some("2037-11-05"));
        check("Zuletzt geändert: 20. November 2034", Some("2034-11-20"));
        check("Letzte Änderung am 20.11.2034", Some("2034-11-20"));
        check("Last change: 8 January 2034.", Some("2034-01-08"));
        check("Revision 7 of 12 March 2034. Replaces revision 5.", Some("2034-03-12"));
        check("Mis à jour le 5 novembre 2037", Some("2037-11-05"));
        check("Fait à Lyon, le 3 mars 2037.", Some("2037-03-03"));
        check("Valdora, a 12 de septiembre de 2037", Some("2037-09-12"));
        check("Skelderwick, May 22, 2030", Some("2030-05-22"));
        check("CORRECCIÓN\n18 de marzo de 2037\n\nSe corrige.", Some("2037-03-18"));
        check("# New stand\n\n14 January 2042\n\nIt will be built.", Some("2042-01-14"));
        check(
            "# Release of acetone on 19 May 2034\n\nReport IR-34-03 of 30 June 2034, by O. Vance.",
            Some("2034-06-30"),
        );
        check("In force since 3 May 2031", Some("2031-05-03"));
        check("As of 3 May 2031", Some("2031-05-03"));
        check("Valid until 3 May 2031", None);
        check("Version 2 applies to boats built before 3 May 1950", None);
        check("Of the boats, 12 were built on 3 May 1950", None);
        check("It was noted in the report of 3 May 2035, which says more.", None);
        check("14 January 2042 is the day of the fair", None);
        check("| Approved | 3 May 2031 | Stand |", None);
        check("a\nb\nc\nd\ne\n3 May 2031", None);
        check("Fecha límite: 12 de junio de 2037", None);
        check("We met on Monday, 11 February 2031.", None);
        check("Datei geändert am 3. April 2031", None);
        check("Approved, after a long debate of which more is said below, in 3 April 2031", None);
    }
}
