//! Which documents and statements no longer hold, because another one says so or because a newer one says otherwise.

use std::collections::{BTreeSet, HashSet};

use super::{
    Evidence, count, is_year,
    lists::{has, is_listed, listed},
    rank::Score,
    statements::Statement,
};
use crate::{
    domain::SourceId,
    text::{Language, is_in, is_number, is_row, is_stop_word_of_any, lower_words, month_by_name, stem, terms, words},
};

/// The oldest year that is none of the figures of a sentence.
const OLDEST_YEAR: &str = "1900";
/// Words of a line that dates its document.
const LONGEST_DATED_LINE: usize = 10;
/// Titles are of the same document, in another edition, if they share so much.
const SAME_TITLE: f64 = 0.6;
/// Or if the shorter one has so many words, and the longer one all of them.
const LEAST_WITHIN: usize = 3;
/// Words of a title that a document has at least, to be about the same matter.
const LEAST_OF_MATTER: usize = 2;
/// Statements of which the older one seems as much to the point as this share of the newer one.
const COMPARABLE: f64 = 1.15;

/// Returns whether the sentence says that something is replaced, or was wrong.
pub(super) fn replaces(sentence: &str) -> bool {
    has("replaces", sentence) || has("corrects", sentence)
}

/// Returns whether it says no more than that something is not known. Another document may know it, whichever is newer,
/// and where none does, the report says so itself.
pub(super) fn is_ignorance(sentence: &str) -> bool {
    has("unknown", sentence) && !is_number(sentence)
}

/// A document as far as its age matters: all of its places share it.
struct Document<'a> {
    url: &'a str,
    title: &'a str,
    /// `YYYY-MM-DD`, or less; of its title, or else of a line of its own, when nothing else has one.
    date: Option<String>,
    ids: HashSet<SourceId>,
}

impl<'a> Document<'a> {
    /// Gathers the documents that `statements` are from, each dated as well as it can be.
    fn all(statements: &[Statement], sources: &'a [Evidence]) -> Vec<Self> {
        let cited: HashSet<SourceId> = statements.iter().flat_map(|statement| &statement.sources).copied().collect();
        let mut documents: Vec<Self> = Vec::new();
        for source in sources.iter().filter(|source| cited.contains(&source.source_id)) {
            let url = source.url.split('#').next().unwrap_or(&source.url);
            let known = documents.iter().position(|document| document.url == url);
            let place = known.unwrap_or_else(|| {
                let published = source.published.clone().filter(|date| date.len() >= 4);
                let date = published.or_else(|| date_in(&source.title));
                documents.push(Self { url, title: &source.title, date, ids: HashSet::new() });
                documents.len() - 1
            });
            documents[place].ids.insert(source.source_id);
        }
        for document in documents.iter_mut().filter(|document| document.date.is_none()) {
            let date = document.own(statements).find_map(|statement| date_of_line(&statement.text));
            document.date = date;
        }
        documents
    }

    /// Returns whether it is among the documents that say it.
    fn says(&self, statement: &Statement) -> bool {
        statement.sources.iter().any(|id| self.ids.contains(id))
    }

    fn own<'b>(&self, statements: &'b [Statement]) -> impl Iterator<Item = &'b Statement> {
        statements.iter().filter(|statement| self.says(statement))
    }

    fn is_newer_than(&self, other: &Self) -> bool {
        let dates = self.date.as_ref().zip(other.date.as_ref());
        dates.is_some_and(|(own, other)| own > other) && self.url != other.url
    }

    /// Returns whether it is a newer edition of the same document. Minutes, letters and reports of a series are none:
    /// their titles tell them apart by a day, or the year they are about, and say nothing of an edition.
    fn is_newer_edition_of(&self, other: &Self) -> bool {
        let is_series = |title: &str| words(title).into_iter().any(is_of_series);
        self.is_newer_than(other)
            && same_title(self.title, other.title)
            && !(is_series(self.title) && is_series(other.title))
    }

    /// Returns whether its title or place says that it is not, or no longer, meant to be relied on.
    fn is_doubtful(&self) -> bool {
        // Behind the path stands how it is asked for: `?alt=media`.
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        has("doubtful", self.title) || has("doubtful", path) || has("old places", path)
    }

    /// Returns whether it guesses at what a newer one has found out since, whose title names the same matter.
    fn is_settled(&self, all: &[Self], statements: &[Statement]) -> bool {
        let own: Vec<&str> = self.own(statements).map(|statement| statement.text.as_str()).collect();
        if !own.iter().any(|text| has("guesses", text)) {
            return false;
        }
        let said: HashSet<String> =
            own.into_iter().chain([self.title]).flat_map(|text| terms(text, Language::of(text))).collect();
        let names_it = |other: &Self| {
            let matter: Vec<&str> = words(other.title).into_iter().filter(|word| !is_of_series(word)).collect();
            let matter = terms(&matter.join(" "), Language::of(other.title));
            let shared = matter.iter().filter(|term| said.contains(*term)).count();
            shared >= LEAST_OF_MATTER && count(shared) >= SAME_TITLE * count(matter.len())
        };
        all.iter().any(|other| other.is_newer_than(self) && names_it(other))
    }

    /// Returns whether the question names it by a year of its title, which no other edition has.
    fn is_asked_for(&self, asked: &BTreeSet<String>, all: &[Self]) -> bool {
        let others = all.iter().filter(|other| other.url != self.url && same_title(other.title, self.title));
        let of_others: BTreeSet<String> = others.flat_map(|other| years_in(other.title)).collect();
        years_in(self.title).difference(&of_others).any(|year| asked.contains(year))
    }
}

/// What is known of the age of the statements at hand.
pub(super) struct Versions<'a> {
    documents: Vec<Document<'a>>,
    /// Those of documents that no longer hold.
    outdated: HashSet<SourceId>,
    /// Those of documents that the question is about, however old.
    wanted: HashSet<SourceId>,
    /// The years that the question asks about.
    years: BTreeSet<String>,
}

impl<'a> Versions<'a> {
    /// Reads from `statements`, and from the titles and dates of their sources, which documents `question` should not
    /// be answered from.
    pub fn of(question: &str, statements: &[Statement], sources: &'a [Evidence]) -> Self {
        let documents = Document::all(statements, sources);
        let (years, past) = (years_in(question), asks_for_the_past(question));
        let notices = statements.iter().filter(|statement| replaces(&statement.text));
        let replaced: Vec<(&Statement, String)> =
            notices.flat_map(|notice| dates_in(&notice.text).into_iter().map(move |date| (notice, date))).collect();
        let is_replaced = |document: &Document<'_>| {
            let is_named =
                |date: &String| replaced.iter().any(|(notice, of)| date.contains(of) && !document.says(notice));
            document.is_doubtful() && documents.len() > 1
                || documents.iter().any(|other| other.is_newer_edition_of(document))
                || document.date.as_ref().is_some_and(is_named)
        };
        let is_wanted = |document: &Document<'_>| past || document.is_asked_for(&years, &documents);
        let is_outdated = |document: &Document<'_>| {
            !is_wanted(document) && is_replaced(document) || !past && document.is_settled(&documents, statements)
        };
        let ids = |is: &dyn Fn(&Document<'_>) -> bool| -> HashSet<SourceId> {
            documents.iter().filter(|document| is(document)).flat_map(|document| &document.ids).copied().collect()
        };
        Self { outdated: ids(&is_outdated), wanted: ids(&is_wanted), documents, years }
    }

    /// Returns whether only documents say it that no longer hold.
    pub fn is_outdated(&self, statement: &Statement) -> bool {
        !statement.sources.is_empty() && statement.sources.iter().all(|id| self.outdated.contains(id))
    }

    /// Returns the date of the heading it stands under, or of the newest document that says it.
    pub fn date(&self, statement: &Statement) -> Option<String> {
        let own = || self.documents.iter().filter(|document| document.says(statement));
        date_in(&statement.heading).or_else(|| own().filter_map(|document| document.date.clone()).max())
    }

    /// Returns whether it speaks of years before those that the question asks about, and of none of these.
    fn is_of_before(&self, text: &str) -> bool {
        let own = years_in(text);
        let first = self.years.first().filter(|_| !own.is_empty());
        first.is_some_and(|first| own.iter().all(|year| year < first))
    }

    /// Returns which of the candidates for one answer, each with its score, are contradicted by a newer one (a figure
    /// of the same kind, or what it denies) or by one that says which figure is right, which guess at what a newer one
    /// knows, and which have figures of years before those that are asked about.
    pub fn overruled(&self, candidates: &[(&Statement, Score)]) -> Vec<bool> {
        let all: Vec<Candidate<'_>> = candidates.iter().map(|(one, score)| Candidate::of(one, *score, self)).collect();
        let keeps =
            |one: &Statement| one.sources.iter().any(|id| self.wanted.contains(id)) || has("corrects", &one.text);
        let overruled = |((one, _), own): (&(&Statement, Score), &Candidate<'_>)| {
            !keeps(one) && all.iter().any(|other| own.is_overruled_by(other))
        };
        candidates.iter().zip(&all).map(overruled).collect()
    }
}

type Figures = BTreeSet<(String, String)>;

/// A candidate for an answer, by what another one may know better.
struct Candidate<'a> {
    text: &'a str,
    score: Score,
    figures: Figures,
    /// What the figures count or measure.
    units: BTreeSet<String>,
    /// What it is about: not time, nor replacing, nor what anything costs.
    subject: HashSet<String>,
    date: Option<String>,
    is_of_before: bool,
}

impl<'a> Candidate<'a> {
    fn of(statement: &'a Statement, score: Score, versions: &Versions<'_>) -> Self {
        let text = statement.text.as_str();
        let (date, is_of_before) = (versions.date(statement), versions.is_of_before(text));
        let figures = figures(text);
        let units = figures.iter().map(|(_, unit)| unit.clone()).collect();
        let subject = undated_terms(text).into_iter().filter(|term| !is_listed("of any figure", term)).collect();
        Self { text, score, figures, units, subject, date, is_of_before }
    }

    fn is_overruled_by(&self, other: &Self) -> bool {
        let newer = other.date.as_ref().zip(self.date.as_ref()).is_some_and(|(other, own)| other > own);
        let has_a_say = has("corrects", other.text) || newer && self.score.value <= other.score.value * COMPARABLE;
        if !has_a_say {
            return false;
        }
        let may_know = newer && other.score.answers && !self.subject.is_disjoint(&other.subject);
        let knows = may_know && has("guesses", self.text) && !has("guesses", other.text);
        let denies = may_know && is_negated(self.text) != is_negated(other.text);
        let is_earlier = self.is_of_before && !other.is_of_before && !self.units.is_disjoint(&other.units);
        self.differs_from(other) || knows || denies || is_earlier
    }

    /// Returns whether both have a figure of the same kind, and none of the same kind in common. Where they are about
    /// different things, a sum of money or a share is none of the same kind.
    fn differs_from(&self, other: &Self) -> bool {
        let mut shared = self.units.intersection(&other.units).peekable();
        let are_named = !self.subject.is_empty() && !other.subject.is_empty();
        let are_apart = are_named && self.subject.is_disjoint(&other.subject);
        let says_little = |unit: &String| is_listed("currencies", unit) || unit == "percent";
        shared.peek().is_some() && self.figures.is_disjoint(&other.figures) && !(are_apart && shared.all(says_little))
    }
}

/// Returns what a text is about but numbers and months, which is where editions differ.
fn undated_terms(text: &str) -> HashSet<String> {
    let is_dated = |word: &str| is_number(word) || month_by_name(word).is_some();
    let words = words(text).into_iter().filter(|word| !is_dated(word)).collect::<Vec<_>>().join(" ");
    terms(&words, Language::of(text)).into_iter().collect()
}

/// Returns whether two titles share most of their words, or one of several words stands in the other.
fn same_title(one: &str, other: &str) -> bool {
    let (one, other) = (undated_terms(one), undated_terms(other));
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    let within = shared >= LEAST_WITHIN && shared == one.len().min(other.len());
    within || shared >= 1 && count(shared) >= SAME_TITLE * count(all)
}

fn is_of_series(word: &str) -> bool {
    is_listed("series", &word.to_lowercase())
}

/// Returns the date of a short line that ends with it, as in `Leaflet, spring 2032` or `Put together by A. Lund, March
/// 2031`.
pub(super) fn date_of_line(line: &str) -> Option<String> {
    let words = words(line);
    let ends =
        words.last().is_some_and(|last| is_year(last)) && line.trim_end().ends_with(|char: char| char.is_ascii_digit());
    (ends && words.len() <= LONGEST_DATED_LINE && !is_row(line)).then(|| date_in(line))?
}

/// Returns the last date that a title or heading names with its year.
fn date_in(text: &str) -> Option<String> {
    dates_in(text).into_iter().rfind(|date| !date.starts_with('-'))
}

/// Returns the dates that a text names by a month and at least a day or a year: `2034-04-02` of `3.2 (2 April 2034)`,
/// `2034-04` of `in April 2034`, `-04-02` of `on 2 April`.
fn dates_in(text: &str) -> Vec<String> {
    let words = words(text);
    let date = |at: usize| {
        let month = month_number(words[at])?;
        let year = words.get(at + 1).filter(|year| is_year(year));
        let day = at.checked_sub(1).and_then(|day| words[day].parse::<u32>().ok()).filter(|day| (1..=31).contains(day));
        let day = day.map(|day| format!("-{day:02}"));
        (year.is_some() || day.is_some())
            .then(|| format!("{}-{month:02}{}", year.unwrap_or(&""), day.unwrap_or_default()))
    };
    (0..words.len()).filter_map(date).collect()
}

/// Returns the number of a month by its name, or of the month in which a season begins.
fn month_number(word: &str) -> Option<u8> {
    let begins = |month: &u8| is_listed(&format!("season from month {month}"), &word.to_lowercase());
    month_by_name(word).or_else(|| [3, 6, 9].into_iter().find(begins))
}

fn years_in(text: &str) -> BTreeSet<String> {
    words(text).into_iter().filter(|word| is_year(word)).map(str::to_owned).collect()
}

fn is_negated(text: &str) -> bool {
    has("negations", text) || text.contains("n't")
}

fn asks_for_the_past(question: &str) -> bool {
    // `for the first time` and `how old` ask for nothing that was.
    let question = format!(" {} ", lower_words(question).join(" "));
    let past = listed("of now").fold(question, |question, phrase| question.replace(&format!(" {phrase} "), " "));
    has("of the past", &past)
}

/// Returns the figures of a sentence, each with what it counts or measures.
pub(super) fn figures(text: &str) -> Figures {
    // One unit, however it is spelt.
    let text = text.replace("per cent", "percent").replace("Prozent", "percent").replace('%', " percent");
    let (words, language) = (lower_words(&text), Language::of(&text));
    // Sums up to 1,899 are more frequent than such years.
    let is_recent_year = |word: &str| is_year(word) && word >= OLDEST_YEAR;
    let is_figure = |word: &str| is_number(word) && !is_recent_year(word) || is_listed("counts", word);
    let places = (0..words.len()).filter(|place| is_figure(&words[*place]));
    places.filter_map(|place| Some((words[place].clone(), stem(unit(&words, place)?, language)))).collect()
}

/// Returns what a figure counts or measures: the currency before it, what `of our 118 pumps` behind it names, the word
/// behind it, or, where that is a small one, the word before it (`Android 11 or later`).
fn unit(words: &[String], figure: usize) -> Option<&str> {
    // Sentences are too short to be sure of their language.
    let is_small = |word: &&str| is_stop_word_of_any(word);
    let is_name = |word: &&str| !is_number(word) && month_by_name(word).is_none();
    let before = words[..figure].last().map(String::as_str);
    let mut behind = words[figure + 1..].iter().map(String::as_str);
    if let Some(currency) = before.filter(|before| is_listed("currencies", before)) {
        return Some(currency);
    }
    let after = behind.next();
    if after.is_some_and(|after| is_in("of von der de des", after))
        && let Some(counted) = behind.take(4).find(|word| !is_small(word) && !is_number(word)).filter(is_name)
    {
        return Some(counted);
    }
    match after.filter(|after| !is_small(after)) {
        Some(after) => Some(after).filter(is_name),
        None => before.filter(|before| is_number(&words[figure]) && !is_number(before) && !is_small(before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(id: u32, url: &str, title: &str, published: &str) -> Evidence {
        let published = (!published.is_empty()).then(|| published.to_owned());
        Evidence { source_id: SourceId(id), title: title.into(), url: url.into(), published, text: String::new() }
    }

    fn says(id: u32, text: &str) -> Statement {
        Statement { text: text.into(), sources: vec![SourceId(id)], ..Statement::default() }
    }

    fn outdated(question: &str, sources: &[Evidence], statements: &[Statement]) -> Vec<bool> {
        let versions = Versions::of(question, statements, sources);
        statements.iter().map(|statement| versions.is_outdated(statement)).collect()
    }

    #[test]
    fn editions_replacements_and_drafts_are_outdated() {
        let sources = [
            source(1, "a.md#x", "Prices from 1 April 2029", "2029-03-08"),
            source(2, "b.md", "Prices from 1 January 2031", "2030-12-05"),
            source(3, "c.txt", "Note", "2030-11-14"),
            source(4, "d.pdf", "Final word", "2031-01-20"),
            source(5, "drafts/draft.md", "Plan", ""),
            source(6, "m1.md", "Minutes of 3 May", "2030-05-03"),
            source(7, "m2.md", "Minutes of 6 June", "2030-06-06"),
            source(8, "rules.txt", "Rules for the room, May 2029", ""),
            source(9, "e.txt", "HARBOUR COMPANY LEVEL OF SERVICE AGREEMENT", "2029-01-01"),
            source(10, "f.md", "Agreement on the level of service", "2031-01-01"),
        ];
        let statements = [
            says(1, "It costs 9 cents."),
            says(2, "It costs 8 cents."),
            says(3, "It was weed."),
            says(4, "This replaces the note of 14 November 2030 and the rules of May 2029."),
            says(5, "It will be red."),
            says(6, "They met."),
            says(7, "They met again."),
            says(8, "Nobody enters."),
            says(9, "The ferry is late at times."),
            says(10, "The ferry sails each hour."),
        ];
        let expected = [true, false, true, false, true, false, false, true, true, false];
        assert_eq!(outdated("What does it cost?", &sources, &statements), expected);
        assert!(!outdated("What did it cost in 2029?", &sources, &statements)[0]);
        assert!(!outdated("What was thought at first?", &sources, &statements)[2]);
        assert!(outdated("Who came for the first time, and how old is it?", &sources, &statements)[2]);
    }

    #[test]
    fn a_first_guess_is_outdated_once_the_matter_has_been_looked_into() {
        let note = source(1, "note.txt", "To all in blocks D and E", "2035-12-03");
        let guess =
            [says(1, "It is probably the pump."), says(1, "All 84 flats of the two blocks are cold this December.")];
        let check = |question: &str, title: &str, published: &str, expected: bool| {
            let sources = [note.clone(), source(2, "report.md", title, published)];
            let statements: Vec<Statement> = guess.iter().cloned().chain([says(2, "The pump was in order.")]).collect();
            assert_eq!(outdated(question, &sources, &statements), [expected, expected, false], "{question} {title}");
        };
        let question = "How many flats were cold in December 2035?";
        check(question, "Report: why blocks D and E were cold", "2036-01-15", true);
        check(question, "Report: why blocks D and E were cold", "2035-11-15", false);
        check(question, "Report on the garden of block D", "2036-01-15", false);
        check("What was thought at first?", "Report: why blocks D and E were cold", "2036-01-15", false);
        let sure = [note.clone(), source(2, "report.md", "Why blocks D and E were cold", "2036-01-15")];
        let statements = [guess[1].clone(), says(2, "The pump was in order.")];
        assert_eq!(outdated(question, &sure, &statements), [false, false], "who guesses nothing may still be right");
    }

    #[test]
    fn titles_and_headings_date_what_stands_under_them() {
        assert_eq!(date_in("3.2 (2 April 2034)").as_deref(), Some("2034-04-02"));
        assert_eq!(date_in("Handbuch, März 2031").as_deref(), Some("2031-03"));
        assert_eq!(date_in("Prices of 2031"), None);
        assert_eq!(date_of_line("Leaflet, spring 2032").as_deref(), Some("2032-03"));
        assert_eq!(date_of_line("It was put together in March 2031."), None, "a sentence may be about anything");
        assert_eq!(date_of_line("Skua – In service since: 22 May 2030"), None, "so may a row");
        let sources = [source(1, "notes.md", "Notes", "")];
        let under = |heading: &str, text: &str| Statement { heading: heading.into(), ..says(1, text) };
        let statements = [
            under("3.0 (15 January 2033)", "It needs Android 9."),
            under("3.2 (2 April 2034)", "It needs Android 11 or later."),
        ];
        let versions = Versions::of("Which Android does it need?", &statements, &sources);
        let score = Score { value: 1.0, answers: true, ..Score::default() };
        let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
        assert_eq!(versions.overruled(&candidates), [true, false]);
    }

    #[test]
    fn what_is_newer_undoes_what_was_forbidden_and_what_was_so_in_earlier_years() {
        let sources = [source(1, "faq.txt", "Questions", ""), source(2, "b.md", "Rules", "2034-04-02")];
        let check = |question: &str, statements: &[Statement], expected: &[bool]| {
            let versions = Versions::of(question, statements, &sources);
            let score = Score { value: 1.0, answers: true, ..Score::default() };
            let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
            assert_eq!(versions.overruled(&candidates), expected, "{question}");
        };
        let dated = || says(1, "Put together by A. Lund, March 2031");
        let statements = [dated(), says(1, "The hour cannot be changed."), says(2, "It can be set to any hour.")];
        check("Can the hour be changed?", &statements, &[false, true, false]);
        let same_age = [says(1, "The hour cannot be changed."), says(2, "It can be set to any hour.")];
        check("Can the hour be changed?", &same_age, &[false, false]);
        let statements = [
            dated(),
            says(1, "On 31 December 2029 the reserve held EUR 412,000."),
            says(2, "The reserve grows from EUR 412,000 to EUR 470,000."),
        ];
        check("How large was the reserve in 2030?", &statements, &[false, true, false]);
        check("How large was the reserve in 2029?", &statements, &[false, false, false]);
    }

    #[test]
    fn questions_for_what_was_are_known_by_whole_words() {
        let asking = ["What did the first timetable say?", "Show old prices", "Who was the former mayor?"];
        assert!(asking.into_iter().all(asks_for_the_past));
        let of_now = ["How old is the mill?", "When did they meet for the first time?", "What does first aid cost?"];
        assert!(!of_now.into_iter().any(asks_for_the_past));
        assert!(
            ["La tarifa ya no es válida.", "Er ersetzte den Plan.", "Löst diesen Tarif ab."].into_iter().all(replaces)
        );
        assert_eq!(figures("Die Miete beträgt 1750 Euro.").len(), 1);
    }

    #[test]
    fn newer_figures_overrule_older_ones_of_the_same_kind() {
        let sources =
            [source(1, "a", "A", "2030-02-10"), source(2, "b", "B", "2031-03-04"), source(3, "c", "C", "2030-06-18")];
        let statements = [
            says(1, "There are 1,046 members."),
            says(2, "There are 1,187 members."),
            says(2, "It lies 12 metres deep."),
            says(3, "The correct figure is 1,310 households."),
            says(2, "It feeds 1,130 households."),
            says(1, "Five vehicles burnt out."),
            says(2, "Three vehicles burnt out."),
            says(1, "It is up 99.8 per cent of the time."),
            says(2, "It is up 99.93 % of the time."),
            says(1, "A share of 3 per cent goes to the lifeboat."),
            says(1, "The most likely cause is weed."),
            says(2, "The cause was a worn seal."),
            says(1, "64 of the infusion pumps are recalled."),
            says(2, "46 of our 118 infusion pumps P7 are recalled."),
            says(1, "Perhaps the ferry is late."),
        ];
        let versions = Versions::of("How many?", &statements, &sources);
        let score = Score { value: 1.0, answers: true, ..Score::default() };
        let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
        let expected =
            [true, false, false, false, true, true, false, true, false, false, true, false, true, false, false];
        assert_eq!(versions.overruled(&candidates), expected);
    }

    #[test]
    fn what_two_different_things_cost_is_no_contradiction() {
        let sources = [source(1, "a", "A", "2030-02-10"), source(2, "b", "B", "2031-03-04")];
        let overruled = |older: &str, newer: &str| {
            let statements = [says(1, older), says(2, newer)];
            let score = Score { value: 1.0, answers: true, ..Score::default() };
            let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
            Versions::of("What does it cost?", &statements, &sources).overruled(&candidates)[0]
        };
        assert!(!overruled("A share costs EUR 300.", "The whole project costs EUR 1,350,000."));
        assert!(overruled("A day ticket costs EUR 3.", "A day ticket costs EUR 4."));
        assert!(overruled("It costs EUR 3.", "A day ticket costs EUR 4."), "what it is does not tell them apart");
    }
}
