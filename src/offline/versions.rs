//! Which documents and statements no longer hold, because another one says so or because a newer one says otherwise.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

use super::{Evidence, count, is_in, kinds::MONTHS, rank::Score, statements::Statement};
use crate::{
    domain::SourceId,
    text::{Language, is_number, is_row, is_stop_word, stem, terms, words},
};

/// How a document says that it takes the place of another, between bars.
const REPLACES: &str = "replaces|supersedes|takes the place of|in place of the|instead of the|lapses|lapsed|is withdrawn|was withdrawn|\
    has been withdrawn|no longer applies|no longer valid|no longer in force|out of date|was wrong|were wrong|was not right|were not right|\
    was not correct|were not correct|has been given up|ersetzt|löst die|tritt außer kraft|gilt nicht mehr|war falsch|remplace|annule|\
    n'est plus valable|sustituye|reemplaza|ya no es válid|取代|\
    代替|作废|失效";
/// How a sentence says which of several figures is right.
const CORRECTS: &str = "correct figure|correct number|correct value|is right|are right|the right figure|correction|richtig ist|korrekt ist|\
    le chiffre correct|la cifra correcta|正确";
/// How a sentence says that it is not sure.
const GUESSES: &str = "most likely|probably|presumably|perhaps|we think|we guess|we suspect|we assume|seems to be|seem to be|suspected|vermutlich|\
    wahrscheinlich|vermuten|mutmaßlich|probablement|sans doute|semble être|probablemente|parece ser|可能|估计";
/// How a sentence says that nobody knows.
const UNKNOWN: &str = "is unknown|are unknown|remains unknown|remain unknown|is not known|are not known|nobody knows|no one knows|ist unbekannt|\
    sind unbekannt|ist nicht bekannt|sind nicht bekannt|weiß niemand|est inconnu|sont inconnu|se desconoce|es desconocid|未知|不详";
/// Words of a title or address that stand on what is not, or no longer, meant to be relied on.
const DOUBTFUL: &str = "archived outdated obsolete superseded preliminary provisional draft entwurf vorläufig veraltet brouillon \
    provisoire périmé borrador provisional obsoleto";
/// The same, of a folder or file.
const OLD_PLACES: &str = "archive archives archiv old alt attic backup drafts entwürfe anciens";
/// Words by which a question asks for what was.
const OF_THE_PAST: &str = "first original originally initial initially earlier previous previously former formerly old before past history \
    then provisional preliminary früher ursprünglich damals vorher ancien précédent auparavant anterior antes 以前 最初 原来";
/// Numbers in words that count, and ordinals.
const COUNTS: &str = "second third fourth fifth sixth seventh eighth ninth tenth zweiten dritten vierten fünften sechsten \
    two three four five six seven eight nine ten eleven twelve twenty zwei drei vier fünf sechs sieben acht neun \
    zehn elf zwölf deux trois quatre cinq huit dix dos tres cuatro cinco siete ocho diez";
const CURRENCIES: [&str; 6] = ["eur", "usd", "gbp", "chf", "€", "$"];
/// Stems that stand beside figures of anything.
const OF_ANY_FIGURE: [&str; 13] = [
    "eur", "euro", "cent", "percent", "prozent", "replac", "supersed", "cost", "price", "kost", "kostet", "preis",
    "prix",
];
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

/// Does the sentence say that something is replaced, or was wrong?
pub(super) fn replaces(sentence: &str) -> bool {
    says(REPLACES, sentence) || corrects(sentence)
}

/// Does it say which of several figures is right?
pub(super) fn corrects(sentence: &str) -> bool {
    says(CORRECTS, sentence)
}

/// Does it guess?
pub(super) fn guesses(sentence: &str) -> bool {
    says(GUESSES, sentence)
}

/// Does it say no more than that something is not known? Another document may know it, whichever is newer, and where
/// none does, the report says so itself.
pub(super) fn is_ignorance(sentence: &str) -> bool {
    says(UNKNOWN, sentence) && !is_number(sentence)
}

fn says(phrases: &str, sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    phrases.split('|').any(|phrase| lower.contains(phrase))
}

/// The document a statement is from: all of its places share it.
pub(super) fn document(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

/// A document as far as its age matters.
struct Document<'a> {
    url: &'a str,
    title: &'a str,
    /// `YYYY-MM-DD`, or less; of its title, or else of a line of its own, when nothing else has one.
    date: Option<String>,
    ids: HashSet<SourceId>,
}

/// What is known of the age of the statements at hand.
pub(super) struct Versions<'a> {
    documents: Vec<Document<'a>>,
    /// By document, in the order of `documents`.
    outdated: Vec<bool>,
    /// Those that the question is about, however old.
    wanted: Vec<bool>,
    /// The years that the question asks about.
    years: BTreeSet<String>,
}

impl<'a> Versions<'a> {
    /// Reads from `statements`, and from the titles and dates of their sources, which documents `question` should not
    /// be answered from.
    pub fn of(question: &str, statements: &[Statement], sources: &'a [Evidence]) -> Self {
        let mut versions =
            Self { documents: Vec::new(), outdated: Vec::new(), wanted: Vec::new(), years: years_in(question) };
        let cited: HashSet<SourceId> = statements.iter().flat_map(|statement| &statement.sources).copied().collect();
        for source in sources.iter().filter(|source| cited.contains(&source.source_id)) {
            versions.add(source);
        }
        versions.date_by_lines(statements);
        let documents = &versions.documents;
        let mut outdated = vec![false; documents.len()];
        for (place, document) in documents.iter().enumerate() {
            let replaced = || documents.iter().any(|other| is_newer_edition(other, document));
            outdated[place] = is_doubtful(document) && documents.len() > 1 || replaced();
        }
        for statement in statements.iter().filter(|statement| replaces(&statement.text)) {
            let language = Language::of(&statement.text);
            let said: HashSet<String> = terms(&statement.text, language).into_iter().collect();
            let date = date_in(&statement.text);
            for (place, document) in documents.iter().enumerate() {
                let own = statement.sources.iter().any(|id| document.ids.contains(id));
                // `those of May 2030`: a month's name may be a small word, too.
                let in_month = |own: &String| date.as_ref().is_some_and(|said| own.starts_with(said));
                let is_dated = |own: &String| in_month(own) || says_date(&said, own, language);
                outdated[place] |= !own && document.date.as_ref().is_some_and(is_dated);
            }
        }
        let wanted: Vec<bool> = documents.iter().map(|document| asks_for(question, document, documents)).collect();
        outdated.iter_mut().zip(&wanted).for_each(|(outdated, wanted)| *outdated &= !wanted);
        if !asks_for_the_past(question) {
            let settled = documents.iter().map(|document| is_settled(document, documents, statements));
            outdated.iter_mut().zip(settled).for_each(|(outdated, settled)| *outdated |= settled);
        }
        (versions.outdated, versions.wanted) = (outdated, wanted);
        versions
    }

    fn add(&mut self, source: &'a Evidence) {
        let url = document(&source.url);
        let known = self.documents.iter().position(|document| document.url == url);
        let place = known.unwrap_or_else(|| {
            let published = source.published.as_deref().filter(|date| date.len() >= 4);
            let date = published.map(str::to_owned).or_else(|| date_in(&source.title));
            self.documents.push(Document { url, title: &source.title, date, ids: HashSet::new() });
            self.documents.len() - 1
        });
        self.documents[place].ids.insert(source.source_id);
    }

    /// Dates those without a date by a line of theirs that has one.
    fn date_by_lines(&mut self, statements: &[Statement]) {
        for document in self.documents.iter_mut().filter(|document| document.date.is_none()) {
            let mut own = statements.iter().filter(|one| one.sources.iter().any(|id| document.ids.contains(id)));
            document.date = own.find_map(|statement| date_of_line(&statement.text));
        }
    }

    /// Do only documents say it that no longer hold?
    pub fn is_outdated(&self, statement: &Statement) -> bool {
        let mut places = self.places(statement).peekable();
        places.peek().is_some() && places.all(|place| self.outdated[place])
    }

    /// The date of the heading it stands under, or of the newest document that says it.
    pub fn date(&self, statement: &Statement) -> Option<String> {
        let of_document = || self.places(statement).filter_map(|place| self.documents[place].date.clone()).max();
        date_in(&statement.heading).or_else(of_document)
    }

    fn places(&self, statement: &Statement) -> impl Iterator<Item = usize> {
        let says = move |document: &Document<'_>| statement.sources.iter().any(|id| document.ids.contains(id));
        self.documents.iter().enumerate().filter(move |(_, document)| says(document)).map(|(place, _)| place)
    }

    /// Does it speak of years before those that the question asks about, and of none of these?
    fn is_of_before(&self, text: &str) -> bool {
        let own = years_in(text);
        let first = self.years.first().filter(|_| !own.is_empty());
        first.is_some_and(|first| own.iter().all(|year| year < first))
    }

    /// Which of the candidates for one answer, each with its score, are contradicted by a newer one (a figure of the
    /// same kind, or what it denies) or by one that says which figure is right, which guess at what a newer one knows,
    /// and which have figures of years before those that are asked about.
    pub fn overruled(&self, candidates: &[(&Statement, Score)]) -> Vec<bool> {
        let figures: Vec<BTreeSet<(String, String)>> = candidates.iter().map(|(one, _)| figures(&one.text)).collect();
        let subjects: Vec<HashSet<String>> = candidates.iter().map(|(one, _)| subject(&one.text)).collect();
        let dates: Vec<Option<String>> = candidates.iter().map(|(one, _)| self.date(one)).collect();
        let mut overruled = vec![false; candidates.len()];
        for (place, (one, score)) in candidates.iter().enumerate() {
            if self.places(one).any(|place| self.wanted[place]) || corrects(&one.text) {
                continue;
            }
            let of_before = self.is_of_before(&one.text);
            let earlier_then = |other: usize| {
                let by = candidates[other].0;
                of_before && !self.is_of_before(&by.text) && share_unit(&figures[place], &figures[other])
            };
            overruled[place] = candidates.iter().enumerate().any(|(other, (by, worth))| {
                let right = corrects(&by.text);
                let newer = dates[other].as_ref().zip(dates[place].as_ref()).is_some_and(|(by, one)| by > one);
                let are_named = || !subjects[place].is_empty() && !subjects[other].is_empty();
                let are_apart = || are_named() && subjects[place].is_disjoint(&subjects[other]);
                let otherwise = differ(&figures[place], &figures[other], are_apart);
                let same_thing = || !subjects[place].is_disjoint(&subjects[other]);
                let knows = newer && worth.answers && guesses(&one.text) && !guesses(&by.text) && same_thing();
                let undone = newer && worth.answers && is_negated(&one.text) != is_negated(&by.text) && same_thing();
                (right || newer && score.value <= worth.value * COMPARABLE)
                    && (otherwise || knows || undone || earlier_then(other))
            });
        }
        overruled
    }
}

/// Is `other` a newer edition of the same document?
fn is_newer_edition(other: &Document<'_>, document: &Document<'_>) -> bool {
    is_newer(other, document) && same_title(other.title, document.title) && !same_issue(other.title, document.title)
}

/// Does the document guess at what a newer one has found out since, whose title names the same matter?
fn is_settled(document: &Document<'_>, all: &[Document<'_>], statements: &[Statement]) -> bool {
    let own = statements.iter().filter(|one| one.sources.iter().any(|id| document.ids.contains(id)));
    let own: Vec<&str> = own.map(|statement| statement.text.as_str()).collect();
    if !own.iter().any(|text| guesses(text)) {
        return false;
    }
    let said: HashSet<String> =
        own.into_iter().chain([document.title]).flat_map(|text| terms(text, Language::of(text))).collect();
    let names_it = |other: &Document<'_>| {
        let matter: Vec<&str> = words(other.title).into_iter().filter(|word| !is_of_series(word)).collect();
        let matter = terms(&matter.join(" "), Language::of(other.title));
        let shared = matter.iter().filter(|term| said.contains(*term)).count();
        shared >= LEAST_OF_MATTER && count(shared) >= SAME_TITLE * count(matter.len())
    };
    all.iter().any(|other| is_newer(other, document) && names_it(other))
}

fn is_newer(other: &Document<'_>, document: &Document<'_>) -> bool {
    let newer = other.date.as_ref().zip(document.date.as_ref()).is_some_and(|(other, date)| other > date);
    newer && other.url != document.url
}

/// The words of a title but numbers and months, which is where editions differ.
fn title_words(title: &str) -> HashSet<String> {
    let is_dated = |word: &str| is_number(word) || is_in(MONTHS, &word.to_lowercase());
    let words = words(title).into_iter().filter(|word| !is_dated(word)).collect::<Vec<_>>().join(" ");
    terms(&words, Language::of(title)).into_iter().collect()
}

/// Do two titles share most of their words, or does one of several words stand in the other?
fn same_title(one: &str, other: &str) -> bool {
    let (one, other) = (title_words(one), title_words(other));
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    let within = shared >= LEAST_WITHIN && shared == one.len().min(other.len());
    within || shared >= 1 && count(shared) >= SAME_TITLE * count(all)
}

/// Minutes, letters and reports of a series are not editions of each other: their titles tell them apart by a day, or
/// the year they are about, and say nothing of an edition.
fn same_issue(one: &str, other: &str) -> bool {
    is_series(one) && is_series(other)
}

fn is_series(title: &str) -> bool {
    words(title).into_iter().any(is_of_series)
}

fn is_of_series(word: &str) -> bool {
    const SERIES: &str = "minutes protokoll report bericht letter brief newsletter release press log notice note annual agenda \
        procès-verbal acta informe rapport 会议 报告";
    is_in(SERIES, &word.to_lowercase())
}

/// Returns what a sentence is about: its words but numbers and those of time, of replacing, and of what anything costs.
fn subject(text: &str) -> HashSet<String> {
    let language = Language::of(text);
    let is_apart = |term: &String| {
        is_number(term) || replaces(term) || is_month(term, language) || OF_ANY_FIGURE.contains(&term.as_str())
    };
    terms(text, language).into_iter().filter(|term| !is_apart(term)).collect()
}

fn is_doubtful(document: &Document<'_>) -> bool {
    let is_doubtful = |word: &str| is_in(DOUBTFUL, &word.to_lowercase());
    let place = document.url.split(['/', '-', '_', '.']);
    words(document.title).into_iter().any(is_doubtful)
        || place.into_iter().any(|word| is_doubtful(word) || is_in(OLD_PLACES, &word.to_lowercase()))
}

/// The date of a short line that ends with it, as in `Leaflet, spring 2032` or `Put together by A. Lund, March 2031`.
pub(super) fn date_of_line(line: &str) -> Option<String> {
    let words = words(line);
    let ends =
        words.last().is_some_and(|last| is_year(last)) && line.trim_end().ends_with(|char: char| char.is_ascii_digit());
    (ends && words.len() <= LONGEST_DATED_LINE && !is_row(line)).then(|| date_in(line))?
}

/// The last date that a title or heading names by month and year: `2034-04-02` of `3.2 (2 April 2034)`.
fn date_in(text: &str) -> Option<String> {
    let words = words(text);
    let at = (1..words.len()).rev().find(|at| is_year(words[*at]) && month_number(words[at - 1]).is_some())?;
    let month = month_number(words[at - 1])?;
    let day = at.checked_sub(2).and_then(|day| words[day].parse::<u32>().ok()).filter(|day| (1..=31).contains(day));
    let day = day.map(|day| format!("-{day:02}")).unwrap_or_default();
    Some(format!("{}-{month:02}{day}", words[at]))
}

/// From 1, of its name in one of our languages, each of which has its twelve in order but for those that are the
/// same; of a season, the month in which it begins.
fn month_number(word: &str) -> Option<u32> {
    const SEASONS: &str =
        "spring frühjahr frühling printemps primavera|summer sommer été verano|autumn herbst automne otoño";
    const STARTS: &str = "jan ene|feb fév fev|mar mär|apr avr abr|may mai mayo|jun juin|jul juil|aug aoû ago|sep|oct okt|nov|\
        dec dez déc dic";
    let lower = word.to_lowercase();
    if let Some(season) = SEASONS.split('|').position(|names| is_in(names, &lower)) {
        return u32::try_from(season * 3 + 3).ok();
    }
    let place = STARTS.split('|').position(|starts| starts.split(' ').any(|start| lower.starts_with(start)))?;
    is_in(MONTHS, &lower).then(|| u32::try_from(place + 1).unwrap_or_default())
}

/// Is it the stem of a month's name?
fn is_month(term: &str, language: Language) -> bool {
    static STEMS: LazyLock<HashMap<Language, HashSet<String>>> = LazyLock::new(|| {
        let stems = |language| MONTHS.split_whitespace().map(|month| stem(month, language)).collect();
        Language::ALL.into_iter().map(|language| (language, stems(language))).collect()
    });
    STEMS.get(&language).is_some_and(|stems| stems.contains(term))
}

fn is_year(term: &str) -> bool {
    term.len() == 4 && term.bytes().all(|byte| byte.is_ascii_digit()) && matches!(term.get(..2), Some("19" | "20"))
}

/// `14 November 2030`, also without its year, or `2030-11-14`.
fn says_date(said: &HashSet<String>, date: &str, language: Language) -> bool {
    let mut parts = date.split('-');
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let number: usize = month.parse().unwrap_or_default();
    let name = number.checked_sub(1).and_then(|place| MONTHS.split_whitespace().take(12).nth(place));
    let named = name.is_some_and(|name| [language, Language::English].iter().any(|of| said.contains(&stem(name, *of))));
    said.contains(day.trim_start_matches('0')) && (named || said.contains(month) && said.contains(year))
}

fn years_in(text: &str) -> BTreeSet<String> {
    words(text).into_iter().filter(|word| is_year(word)).map(str::to_owned).collect()
}

fn is_negated(text: &str) -> bool {
    const NEGATIONS: &str = "not cannot no never nobody none nicht kein keine keinen nie niemand pas jamais aucun aucune no nunca \
        ningún ninguna nadie";
    words(text).into_iter().any(|word| is_in(NEGATIONS, &word.to_lowercase())) || text.contains("n't")
}

/// Does the question ask for this very document, or for what was?
fn asks_for(question: &str, document: &Document<'_>, all: &[Document<'_>]) -> bool {
    let asked: HashSet<String> = words(question).into_iter().map(str::to_lowercase).collect();
    let years =
        |title: &str| words(title).into_iter().filter(|word| is_year(word)).map(str::to_owned).collect::<Vec<_>>();
    let others = all.iter().filter(|other| other.url != document.url && same_title(other.title, document.title));
    let of_others: HashSet<String> = others.flat_map(|other| years(other.title)).collect();
    let own_year = years(document.title).iter().any(|year| asked.contains(year) && !of_others.contains(year));
    own_year || asks_for_the_past(question)
}

fn asks_for_the_past(question: &str) -> bool {
    // `for the first time` and `how old` ask for nothing that was.
    const OF_NOW: [(&str, &str); 5] =
        [("first", "time"), ("first", "aid"), ("how", "old"), ("years", "old"), ("year", "old")];
    let words: Vec<String> = words(question).into_iter().map(str::to_lowercase).collect();
    let is_of_now = |at: usize| {
        let pair = |from: usize| words.get(from).zip(words.get(from + 1));
        let pairs = [Some(at), at.checked_sub(1)].into_iter().flatten().filter_map(pair);
        pairs.into_iter().any(|(one, other)| OF_NOW.contains(&(one.as_str(), other.as_str())))
    };
    (0..words.len()).any(|at| is_in(OF_THE_PAST, &words[at]) && !is_of_now(at))
}

/// The figures of a sentence, each with what it counts or measures.
pub(super) fn figures(text: &str) -> BTreeSet<(String, String)> {
    // One unit, however it is spelt.
    let text = text.replace("per cent", "percent").replace("Prozent", "percent").replace('%', " percent");
    let words = words(&text);
    let language = Language::of(&text);
    let mut figures = BTreeSet::new();
    // Sentences are too short to be sure of their language.
    let is_small = |word: &str| Language::ALL.iter().any(|language| is_stop_word(word, *language));
    let is_figure = |word: &str| is_number(word) && !is_year(word) || is_in(COUNTS, &word.to_lowercase());
    for (place, word) in words.iter().enumerate().filter(|(_, word)| is_figure(word)) {
        let before = place.checked_sub(1).map(|before| words[before].to_lowercase()).unwrap_or_default();
        let after = words.get(place + 1).map(|word| word.to_lowercase()).unwrap_or_default();
        if CURRENCIES.contains(&before.as_str()) {
            figures.insert(((*word).to_owned(), before));
        } else if let Some(counted) = counted_of(&words[place + 1..], is_small) {
            figures.insert(((*word).to_owned(), stem(&counted, language)));
        } else if after.is_empty() || is_small(&after) {
            // `Android 11 or later`.
            if !before.is_empty() && !is_number(&before) && !is_small(&before) && is_number(word) {
                figures.insert(((*word).to_owned(), stem(&before, language)));
            }
        } else if !is_number(&after) && !is_in(MONTHS, &after) {
            figures.insert(((*word).to_owned(), stem(&after, language)));
        }
    }
    figures
}

/// What `of our 118 pumps` behind a number counts.
fn counted_of(behind: &[&str], is_small: impl Fn(&str) -> bool) -> Option<String> {
    let (first, rest) = behind.split_first()?;
    if !is_in("of von der de des", &first.to_lowercase()) {
        return None;
    }
    let counted = rest.iter().take(4).map(|word| word.to_lowercase()).find(|word| !is_small(word) && !is_number(word));
    counted.filter(|word| !is_in(MONTHS, word))
}

fn share_unit(one: &BTreeSet<(String, String)>, other: &BTreeSet<(String, String)>) -> bool {
    one.iter().any(|(_, unit)| other.iter().any(|(_, same)| same == unit))
}

/// Do both have a figure of the same kind, and none of the same kind in common? Where they are about different things,
/// a sum of money or a share is none of the same kind.
fn differ(
    one: &BTreeSet<(String, String)>,
    other: &BTreeSet<(String, String)>,
    are_apart: impl FnOnce() -> bool,
) -> bool {
    let units = |figures: &BTreeSet<(String, String)>| -> BTreeSet<String> {
        figures.iter().map(|(_, unit)| unit.clone()).collect()
    };
    let shared: BTreeSet<String> = units(one).intersection(&units(other)).cloned().collect();
    let says_little = |unit: &String| CURRENCIES.contains(&unit.as_str()) || unit == "percent";
    !shared.is_empty() && one.intersection(other).next().is_none() && !(shared.iter().all(says_little) && are_apart())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(id: u32, url: &str, title: &str, published: &str) -> Evidence {
        let published = (!published.is_empty()).then(|| published.to_owned());
        Evidence { source_id: SourceId(id), title: title.into(), url: url.into(), published, text: String::new() }
    }

    fn says(id: u32, text: &str) -> Statement {
        Statement { text: text.into(), sources: vec![SourceId(id)], group: String::new(), heading: String::new() }
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
        let score = Score { value: 1.0, answers: true };
        let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
        assert_eq!(versions.overruled(&candidates), [true, false]);
    }

    #[test]
    fn what_is_newer_undoes_what_was_forbidden_and_what_was_so_in_earlier_years() {
        let sources = [source(1, "faq.txt", "Questions", ""), source(2, "b.md", "Rules", "2034-04-02")];
        let check = |question: &str, statements: &[Statement], expected: &[bool]| {
            let versions = Versions::of(question, statements, &sources);
            let score = Score { value: 1.0, answers: true };
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
        let score = Score { value: 1.0, answers: true };
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
            let score = Score { value: 1.0, answers: true };
            let candidates: Vec<(&Statement, Score)> = statements.iter().map(|statement| (statement, score)).collect();
            Versions::of("What does it cost?", &statements, &sources).overruled(&candidates)[0]
        };
        assert!(!overruled("A share costs EUR 300.", "The whole project costs EUR 1,350,000."));
        assert!(overruled("A day ticket costs EUR 3.", "A day ticket costs EUR 4."));
        assert!(overruled("It costs EUR 3.", "A day ticket costs EUR 4."), "what it is does not tell them apart");
    }
}
