//! Which documents and statements no longer hold, because another one says so or because a newer one says otherwise.

use std::collections::{BTreeSet, HashSet};

use super::{
    Evidence, count,
    lists::{has, is_listed, listed},
    rank::Score,
    statements::Statement,
};
use crate::{
    domain::SourceId,
    text::{
        Language, Marked, codes, date_in, date_of_line, dates_in, is_date, is_in, is_number, is_row,
        is_stop_word_of_any, is_year, lower_words, marked_words, month_by_name, row_name, stem, terms, words, years_in,
    },
};

/// The oldest year that is none of the figures of a sentence.
const OLDEST_YEAR: &str = "1900";
/// Titles are of the same document, in another edition, if they share so much.
const SAME_TITLE: f64 = 0.6;
/// Or if the shorter one has so many words, and the longer one all of them.
const LEAST_WITHIN: usize = 3;
/// Words of a title that a document has at least, to be about the same matter.
const LEAST_OF_MATTER: usize = 2;
/// Statements of which the older one seems as much to the point as this share of the newer one.
const COMPARABLE: f64 = 1.15;
/// Two statements are about the same matter if they share so much of what the one that says less is about.
const SAME_MATTER: f64 = 0.4;

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

    /// Returns whether it is a newer edition of the same document, by their dates or else by the years of their titles.
    /// Minutes, letters and reports of a series are none: their titles tell them apart by a day, or the year they are
    /// about, and say nothing of an edition.
    fn is_newer_edition_of(&self, other: &Self) -> bool {
        let is_series = |title: &str| words(title).into_iter().any(is_of_series);
        let (own, others) = (years_in(self.title), years_in(other.title));
        let is_dated = self.date.is_some() && other.date.is_some();
        let is_of_later_year = !is_dated && !others.is_empty() && own.last() > others.last();
        (self.is_newer_than(other) || is_of_later_year)
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
    fn is_asked_for(&self, asked: &BTreeSet<&str>, all: &[Self]) -> bool {
        let others = all.iter().filter(|other| other.url != self.url && same_title(other.title, self.title));
        let of_others: BTreeSet<&str> = others.flat_map(|other| years_in(other.title)).collect();
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
    years: BTreeSet<&'a str>,
}

impl<'a> Versions<'a> {
    /// Reads from `statements`, and from the titles and dates of their sources, which documents `question` should not
    /// be answered from.
    pub fn of(question: &'a str, statements: &[Statement], sources: &'a [Evidence]) -> Self {
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

    /// Returns whether only documents say it that no longer hold, or the first plan of one among others.
    pub fn is_outdated(&self, statement: &Statement) -> bool {
        let is_plan = self.documents.len() > 1 && has("first plans", &statement.heading);
        let is_old = |id: &SourceId| self.outdated.contains(id) || is_plan && !self.wanted.contains(id);
        !statement.sources.is_empty() && statement.sources.iter().all(is_old)
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
    units: HashSet<String>,
    /// What it is about: not time, nor replacing, nor what anything costs.
    subject: HashSet<String>,
    /// The same, and what its document is about.
    matter: HashSet<String>,
    date: Option<String>,
    is_of_before: bool,
}

impl<'a> Candidate<'a> {
    fn of(statement: &'a Statement, score: Score, versions: &Versions<'_>) -> Self {
        let (text, subject) = (statement.text.as_str(), subject(&statement.text));
        let (date, is_of_before) = (versions.date(statement), versions.is_of_before(text));
        let figures = figures(text);
        let units = figures.iter().map(|(_, unit)| unit.clone()).collect();
        let matter = &subject | &undated_terms(&statement.group);
        Self { text, score, figures, units, subject, matter, date, is_of_before }
    }

    fn is_overruled_by(&self, other: &Self) -> bool {
        let newer = other.date.as_ref().zip(self.date.as_ref()).is_some_and(|(other, own)| other > own);
        let corrects = has("corrects", other.text);
        if !(corrects || newer && self.score.value <= other.score.value * COMPARABLE) {
            return false;
        }
        let may_know = newer && other.score.answers && !self.subject.is_disjoint(&other.subject);
        let knows = may_know && has("guesses", self.text) && !has("guesses", other.text);
        let is_denial = is_negated(self.text) != is_negated(other.text) && self.score.answers;
        let denies = may_know && is_denial && share(&self.matter, &other.matter) >= SAME_MATTER;
        let counts_the_same = !self.units.is_disjoint(&other.units);
        let is_earlier = self.is_of_before && !other.is_of_before && counts_the_same;
        let differs = counts_the_same && self.figures.is_disjoint(&other.figures);
        knows || denies || is_earlier || differs && (corrects || self.is_of_matter_of(other))
    }

    /// Returns whether both are about the same thing, as far as can be seen: two rows by their names, others by their
    /// words but what they count, or by the year that each names for it. Other codes are of other things.
    fn is_of_matter_of(&self, other: &Self) -> bool {
        let (own, others) = (codes(self.text), codes(other.text));
        let are_apart = !own.is_empty() && !others.is_empty() && own.is_disjoint(&others);
        let counted: HashSet<String> = self.units.union(&other.units).cloned().collect();
        let matter = match row_name(self.text).zip(row_name(other.text)) {
            Some((own, others)) => share(&subject(own), &subject(others)),
            None => share(&(&self.subject - &counted), &(&other.subject - &counted)),
        };
        let (years, later) = (years_in(self.text), years_in(other.text));
        let is_of_later_year = !years.is_empty() && years.last() < later.first();
        !are_apart && (matter >= SAME_MATTER || is_of_later_year)
    }
}

/// Returns how much of the smaller set the other one has; all, where it is empty.
fn share(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let least = one.len().min(other.len());
    if least == 0 { 1.0 } else { count(one.intersection(other).count()) / count(least) }
}

/// Returns what a text is about: its words but those beside any figure, and its codes.
fn subject(text: &str) -> HashSet<String> {
    let terms = undated_terms(text).into_iter().filter(|term| !is_listed("of any figure", term));
    terms.chain(codes(text).into_iter().map(str::to_owned)).collect()
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

/// Returns whether it denies something; the `No: 3` of a row does not.
fn is_negated(text: &str) -> bool {
    !is_row(text) && (has("negations", text) || text.contains("n't"))
}

fn asks_for_the_past(question: &str) -> bool {
    // `for the first time` and `how old` ask for nothing that was.
    let question = format!(" {} ", lower_words(question).join(" "));
    let past = listed("of now").fold(question, |question, phrase| question.replace(&format!(" {phrase} "), " "));
    has("of the past", &past)
}

/// Returns the figures of a sentence, each with what it counts or measures. A code is none, nor is a date.
pub(super) fn figures(text: &str) -> Figures {
    // One unit, however it is spelt.
    let text = text.replace("per cent", "percent").replace("Prozent", "percent").replace('%', " percent");
    let (words, language) = (marked_words(&text), Language::of(&text));
    // Sums up to 1,899 are more frequent than such years.
    let is_recent = |word: &str| is_date(word) && !(is_year(word) && word < OLDEST_YEAR);
    let is_figure = |word: &str| is_number(word) && !is_recent(word) || is_listed("counts", word);
    let places = (0..words.len()).filter(|place| is_figure(&words[*place].0));
    places.filter_map(|place| Some((words[place].0.clone(), stem(unit(&words, place)?, language)))).collect()
}

/// Returns what a figure counts or measures, of words with the mark behind each: the currency before it, what `of our
/// 118 pumps` behind it names, the word behind it, or, where that is a small one or a mark stands between, the word
/// before it (`Android 11 or later`, `Goals: 19`).
fn unit(words: &[Marked], figure: usize) -> Option<&str> {
    // Sentences are too short to be sure of their language.
    let is_small = |word: &&str| is_stop_word_of_any(word);
    let is_name = |word: &&str| !is_number(word) && month_by_name(word).is_none();
    let before = words[..figure].last().map(|(word, mark)| (word.as_str(), *mark));
    let mut behind = words[figure + 1..].iter().map(|(word, _)| word.as_str()).filter(|_| words[figure].1.is_none());
    if let Some((currency, _)) = before.filter(|(before, _)| is_listed("currencies", before)) {
        return Some(currency);
    }
    let after = behind.next();
    if after.is_some_and(|after| is_in("of von der de des", after))
        && let Some(counted) = behind.take(4).find(|word| !is_small(word) && !is_number(word)).filter(is_name)
    {
        return Some(counted);
    }
    let is_label = |(word, mark): &(&str, Option<char>)| {
        !is_number(word) && !is_small(word) && mark.is_none_or(|mark| ":)".contains(mark))
    };
    match after.filter(|after| !is_small(after)) {
        Some(after) => Some(after).filter(is_name),
        None => before.filter(|_| is_number(&words[figure].0)).filter(is_label).map(|(word, _)| word),
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

    #[test]
    fn another_matter_with_the_same_unit_is_not_overruled() {
        let sources = [source(1, "a", "Safety", "2030-02-10"), source(2, "b", "Waste", "2031-03-04")];
        let check = |older: &str, newer: &str, expected: bool| {
            let below = |title: &str, statement: Statement| Statement { group: title.into(), ..statement };
            let statements = [below("Rules for staff", says(1, older)), below("Prices of the shop", says(2, newer))];
            let score = Score { value: 1.0, answers: true, ..Score::default() };
            let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
            let versions = Versions::of("How much?", &statements, &sources);
            assert_eq!(versions.overruled(&candidates)[0], expected, "{older} {newer}");
        };
        let spill = "About 140 litres of solvent ran out of the pump P-41.";
        check(spill, "Up to five litres: absorb it with vermiculite.", false);
        check(spill, "A drum holds 200 litres.", false);
        check(spill, "Of the solvent 260 litres ran out.", true);
        check(spill, "Of the solvent 260 litres ran out of the pump P-42.", false);
        check("We had 1,046 members at the last count of 2029.", "The cooperative had 1,187 members in 2030.", true);
        check("Analysis – Credits: 9; Minutes: 120", "Algebra – Credits: 6; Minutes: 90", false);
        check("Analysis – Credits: 9; Minutes: 120", "Analysis – Credits: 6; Minutes: 90", true);
        check("Fenwick; 1; Millbeck; 0", "Fenwick; 3; Ashgrove; 2", false);
        check("The labels are due in May.", "Label – No: 2; By: A. Lund", false);
        check("Visitors leave at 22:00.", "Ladders of the farm shop are not lent to visitors.", false);
        check("The hut will be open.", "The hut will not be open.", true);
    }

    #[test]
    fn titles_of_later_years_and_headings_of_first_plans_tell_what_is_old() {
        let sources = [
            source(1, "a", "Visitors 2033", ""),
            source(2, "b", "Visitors 2034", ""),
            source(3, "c", "Report 2033", ""),
            source(4, "d", "Report 2034", ""),
        ];
        let plan = Statement { heading: "Battery, first outline".into(), ..says(4, "It stores 1.8 MWh.") };
        let statements = [says(1, "None under 14."), says(2, "None under 16."), says(3, "It was dry."), plan];
        assert_eq!(outdated("How old?", &sources, &statements), [true, false, false, true]);
        assert!(!outdated("How old had one to be in 2033?", &sources, &statements)[0]);
        assert!(!outdated("What was the first outline?", &sources, &statements)[3]);
    }
}
