//! What an earlier run of the thread found, taken over into this one: a follow-up may use and cite it.
//!
//! A citation points to a source of its own run. So the sources are stored with this run too, under the ids they have,
//! and with the notes that cite them; researchers of this run are numbered on from there. Being a step of the journal,
//! it happens once, and a replay sees what the first life saw.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    mem,
    sync::Arc,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::citations;
use crate::{
    context::{Cx, Error, OtherTexts},
    domain::{
        Event, Note, RunId, Source, SourceId, SubQuestion, WarningCode,
        claim::{Contradiction, Statement},
        digest,
        limits::Limits,
        report::{Report, text_alone},
        same,
    },
    journal::{Entry, StepKind, Stop},
};

/// Sources taken over at most, those the reports cite first.
const MAX_SOURCES: usize = 200;
/// Bytes of their snapshots, in sum.
const MAX_SNAPSHOT_BYTES: usize = 8 << 20;
/// Notes taken over at most, the newest first.
const MAX_NOTES: usize = 64;
/// Bytes of their text, in sum.
const MAX_NOTE_BYTES: usize = 1 << 20;
/// Bytes of texts beside those of the sources, in sum.
const MAX_OTHER_BYTES: usize = 2 << 20;
/// Bytes of such texts that one step keeps, in sum.
const MAX_KEPT_BYTES: usize = 8 << 20;
/// What the step of those that are taken over is numbered by: researchers count from one.
const BEFORE_ALL_RESEARCHERS: u32 = 0;

/// What the thread's runs left behind: the newest one with a report or an answer, or one after it that could not
/// finish.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The thread's newest report and, when one came after it, the newest answer; each with its run. Empty when the
    /// findings are those of a run that could not finish, in a thread without a report.
    pub texts: Vec<(RunId, Report)>,
    /// With snapshots.
    pub sources: Vec<Source>,
    pub notes: Vec<Note>,
    /// Texts that were seen under an address whose source has another one, such as the page of which a search had
    /// brought an excerpt.
    pub other_texts: Vec<(String, String)>,
    /// No other run came in between, so the newest message follows up on it.
    pub is_latest: bool,
}

/// What was taken over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierFindings {
    /// [`Earlier::texts`] as models see them: sources cited by id, and no list of sources.
    pub texts: Vec<(RunId, String)>,
    /// The numbers under which readers of the newest of these texts know its sources.
    pub numbers: BTreeMap<SourceId, u32>,
    /// In the order of their researchers.
    pub notes: Vec<Note>,
    /// By ascending id; without snapshots.
    pub sources: Vec<Source>,
    /// The highest number of a researcher until now.
    pub researchers: u32,
    /// What holds of the newest report in whatever form; nothing when an older release took it over.
    #[serde(default, skip_serializing_if = "LeftOpen::is_none")]
    pub standing: LeftOpen,
    /// Sources and notes that were cited, and had no room.
    left_out: usize,
    /// [`Earlier::other_texts`], as older releases kept them; now they have a step of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_texts: Vec<(String, String)>,
}

/// What a report leaves open, which no other form of it can settle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOpen {
    pub sub_questions: Vec<SubQuestion>,
    pub contradictions: Vec<Contradiction>,
    pub limits: Box<Limits>,
}

impl LeftOpen {
    fn of(report: &Report) -> Self {
        let Report { sub_questions, contradictions, limits, .. } = report.clone();
        Self { sub_questions, contradictions, limits }
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl EarlierFindings {
    /// Returns the thread's newest report.
    pub fn report(&self) -> &str {
        self.texts.first().map_or("", |(_, text)| text)
    }
}

/// Stores the earlier findings as this run's, once.
///
/// # Errors
/// [`Error::Stop`].
pub async fn take_over(cx: &Cx, mut earlier: Earlier) -> Result<EarlierFindings, Error> {
    let runs: Vec<_> = earlier.texts.iter().map(|(run_id, _)| run_id).collect();
    let hash = digest::sha256_json(&runs);
    let mut statements: HashMap<u32, Vec<Statement>> =
        earlier.notes.iter().map(|note| (note.researcher, note.statements.clone())).collect();
    let other_texts = mem::take(&mut earlier.other_texts);
    let mut known: EarlierFindings =
        cx.journal().step("earlier", StepKind::Value, hash, async { Ok(with_events(cx, chosen(earlier))) }).await?;
    for source in &mut known.sources {
        cx.register(source);
    }
    let of_older_release = mem::take(&mut known.other_texts);
    take_over_texts(cx, if of_older_release.is_empty() { other_texts } else { of_older_release }).await?;
    for note in &mut known.notes {
        let taken = statements.remove(&note.researcher).unwrap_or_default();
        let key = Note::statements_key(note.researcher);
        note.statements = cx.journal().mark_value(&key, || taken, Vec::new()).await?;
    }
    known.sources = same::joined(known.sources);
    if known.left_out > 0 {
        let detail = format!("{} earlier sources and notes were left out, there are too many", known.left_out);
        cx.warn("earlier/left_out", WarningCode::FindingsLeftOut, detail).await?;
    }
    Ok(known)
}

/// Keeps [`Earlier::other_texts`] as this run's, so that it hands them on even if it cannot finish.
async fn take_over_texts(cx: &Cx, texts: Vec<(String, String)>) -> Result<(), Stop> {
    let texts = within(texts, usize::MAX, MAX_OTHER_BYTES, |(_, text): &(String, String)| text.len());
    for (url, text) in kept(cx, &Note::other_texts_key(BEFORE_ALL_RESEARCHERS), texts).await? {
        cx.keep_other_text(&url, digest::sha256_hex(text.as_bytes()), text.into());
    }
    Ok(())
}

/// Keeps the texts that are not those of their sources: first those by which a text was checked that cites these
/// sources, since its passages are places of them, and then the others, for runs that follow up on this one.
///
/// # Errors
/// [`Stop`].
pub async fn keep_other_texts(cx: &Cx, cited: &[Source]) -> Result<(), Stop> {
    kept(cx, Source::OTHER_TEXTS, in_one_step(cx.other_texts(), cited)).await.map(drop)
}

/// Keeps texts, by address, in a step of their own; returns those that it had when the run first passed here.
///
/// # Errors
/// [`Stop`].
pub async fn kept<T>(cx: &Cx, key: &str, texts: Vec<(String, T)>) -> Result<Vec<(String, T)>, Stop>
where
    T: Serialize + DeserializeOwned,
{
    if texts.is_empty() && !cx.journal().has(key) {
        return Ok(texts);
    }
    cx.journal().mark_value(key, || texts, Vec::new()).await
}

/// Returns the texts under the addresses of these sources, as far as one step keeps them.
pub fn texts_of_sources(mut texts: OtherTexts, sources: &[Source]) -> Vec<(String, Arc<str>)> {
    let addresses = addresses(sources);
    texts.retain(|url, _| addresses.contains(url.as_str()));
    in_one_step(texts, sources)
}

/// Returns the texts that a step keeps: those of these sources and then the others, in the order of their addresses.
/// What there is no room for must not depend on who was first.
fn in_one_step(texts: OtherTexts, sources: &[Source]) -> Vec<(String, Arc<str>)> {
    let addresses = addresses(sources);
    let mut texts: Vec<_> =
        texts.into_iter().map(|(url, texts)| (!addresses.contains(url.as_str()), url, texts)).collect();
    texts.sort_unstable_by(|(other, url, _), (than, address, _)| (other, url).cmp(&(than, address)));
    let texts = texts.into_iter().flat_map(|(_, url, texts)| texts.into_iter().map(move |text| (url.clone(), text)));
    within(texts.collect(), usize::MAX, MAX_KEPT_BYTES, |(_, text): &(String, Arc<str>)| text.len())
}

fn addresses(sources: &[Source]) -> HashSet<&str> {
    sources.iter().flat_map(Source::all_addresses).map(String::as_str).collect()
}

/// Returns the texts by their addresses.
pub fn by_address(texts: Vec<(String, Arc<str>)>) -> OtherTexts {
    let mut by_address = OtherTexts::new();
    for (url, text) in texts {
        by_address.entry(url).or_default().push(text);
    }
    by_address
}

/// Returns what there is room for: notes, and sources that the reports and then the notes cite; all sources when
/// nothing is cited.
fn chosen(earlier: Earlier) -> Entry<EarlierFindings> {
    let researchers = highest_researcher(&earlier);
    let Earlier { texts, sources, mut notes, .. } = earlier;
    let noted = notes.len();
    notes.sort_by_key(|note| Reverse(note.researcher));
    let mut notes = within(notes, MAX_NOTES, MAX_NOTE_BYTES, |note| note.text.len());
    let notes_left_out = noted - notes.len();
    let reported = texts.iter().flat_map(|(_, report)| &report.citations).map(|citation| citation.source_id);
    let mut cited: Vec<SourceId> = reported.collect();
    cited.extend(notes.iter().flat_map(|note| citations::cited_ids(&note.text)));
    let cited = in_order(sources, &cited);
    let wanted = cited.len();
    let mut sources = within(cited, MAX_SOURCES, MAX_SNAPSHOT_BYTES, |source| source.snapshot.len());
    let left_out = notes_left_out + wanted - sources.len();
    sources.sort_by_key(|source| source.id);
    notes.sort_by_key(|note| note.researcher);
    // They have steps of their own.
    notes.iter_mut().for_each(|note| note.statements.clear());
    let known = EarlierFindings {
        numbers: texts.last().map(|(_, report)| numbers(report, &sources)).unwrap_or_default(),
        texts: texts.iter().map(|(run_id, report)| (*run_id, cited_by_id(report, &sources))).collect(),
        notes: notes.clone(),
        sources: sources.iter().map(Source::bare).collect(),
        researchers,
        standing: texts.first().map(|(_, report)| LeftOpen::of(report)).unwrap_or_default(),
        left_out,
        other_texts: Vec::new(),
    };
    Entry { sources, notes, ..Entry::new(known) }
}

/// Adds an event for each source. Readers hear of each source of a run once, wherever it comes from.
fn with_events(cx: &Cx, entry: Entry<EarlierFindings>) -> Entry<EarlierFindings> {
    let found = |source: &Source| Event::source_found(source, &source.snapshot, "");
    let own: HashSet<SourceId> =
        same::joined(entry.sources.iter().map(Source::bare).collect()).iter().map(|source| source.id).collect();
    let events: Vec<_> = entry.sources.iter().filter(|source| own.contains(&source.id)).map(found).collect();
    events.into_iter().fold(entry, |entry, event| entry.event(cx.scope(), event))
}

fn highest_researcher(earlier: &Earlier) -> u32 {
    let ids = earlier.sources.iter().flat_map(Source::ids);
    let researchers = ids.map(|id| id.researcher()).chain(earlier.notes.iter().map(|note| note.researcher));
    researchers.max().unwrap_or_default()
}

/// Returns the first items, as far as number and size allow; one that is too large does not keep out the next.
fn within<T>(items: Vec<T>, number: usize, bytes: usize, size: impl Fn(&T) -> usize) -> Vec<T> {
    let mut room = bytes;
    let mut fits = |item: &T| match room.checked_sub(size(item)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    items.into_iter().filter(|item| fits(item)).take(number).collect()
}

/// Returns the sources behind `ids`, in the order of first mention; all when none is mentioned.
fn in_order(sources: Vec<Source>, ids: &[SourceId]) -> Vec<Source> {
    let mut places = HashMap::new();
    for (place, id) in ids.iter().enumerate() {
        places.entry(*id).or_insert(place);
    }
    let place = |source: &Source| source.ids().filter_map(|id| places.get(&id).copied()).min();
    let mut placed: Vec<_> = sources.into_iter().map(|source| (place(&source), source)).collect();
    if placed.iter().any(|(place, _)| place.is_some()) {
        placed.retain(|(place, _)| place.is_some());
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, source)| source).collect()
}

/// Returns each source's own id, by all the ids it is known as.
pub fn own_ids(sources: &[Source]) -> HashMap<SourceId, SourceId> {
    sources.iter().flat_map(|source| source.ids().map(move |id| (id, source.id))).collect()
}

fn numbers(report: &Report, sources: &[Source]) -> BTreeMap<SourceId, u32> {
    let own = own_ids(sources);
    let numbers = report.citations.iter().map(|citation| (own.get(&citation.source_id).copied(), citation.number));
    numbers.filter_map(|(id, number)| Some((id?, number))).collect()
}

/// Returns the text with `[S1003]` where readers see `[1]`, and nothing where a source was not taken over.
fn cited_by_id(report: &Report, sources: &[Source]) -> String {
    let body: Vec<char> = text_alone(&report.markdown).chars().collect();
    let own = own_ids(sources);
    let (mut text, mut at) = (String::new(), 0);
    for citation in &report.citations {
        let Some(before) = body.get(at..citation.start).filter(|_| citation.end <= body.len()) else { continue };
        text.extend(before);
        if let Some(id) = own.get(&citation.source_id) {
            text.push_str(&format!("[{id}]"));
        }
        at = citation.end;
    }
    text.extend(&body[at..]);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::report::Citation;

    fn source(id: u32, aliases: &[u32], snapshot_bytes: usize) -> Source {
        let aliases = aliases.iter().copied().map(SourceId).collect();
        let page = Source::example(id, &format!("https://example.test/{id}"), &format!("Page {id}"));
        Source { aliases, snapshot: "x".repeat(snapshot_bytes).into(), ..page }
    }

    fn note(researcher: u32, text: &str) -> Note {
        Note { researcher, topic: format!("Topic {researcher}"), text: text.to_owned(), statements: Vec::new() }
    }

    fn report(body: &str, cited: &[(u32, u32)]) -> Report {
        let markdown = format!("{body}\n\n### Sources\n\n- [1] Page: https://example.test/1\n");
        let mut citations = Vec::new();
        for (number, id) in cited {
            let mark = format!("[{number}]");
            let from: usize = citations.last().map_or(0, |last: &Citation| last.end);
            let bytes = body.char_indices().nth(from).map_or(0, |(at, _)| at);
            let start = body[..bytes + body[bytes..].find(&mark).unwrap()].chars().count();
            let end = start + mark.chars().count();
            citations.push(Citation::new(*number, SourceId(*id), start, end));
        }
        Report { markdown, citations, ..Report::default() }
    }

    fn taken(report: Report, sources: Vec<Source>, notes: Vec<Note>) -> Entry<EarlierFindings> {
        let (texts, other_texts) = (vec![(RunId::new(), report)], Vec::new());
        chosen(Earlier { texts, sources, notes, other_texts, is_latest: true })
    }

    fn ids(sources: &[Source]) -> Vec<u32> {
        sources.iter().map(|source| source.id.0).collect()
    }

    #[test]
    fn what_else_was_seen_of_cited_pages_is_kept_before_all_others() {
        let source = Source::example(1001, "https://z.test/", "Gate");
        let of = |url: &str| (url.to_owned(), vec![Arc::from("x".repeat(1 << 20))]);
        let mut known: OtherTexts = (0..9).map(|n| of(&format!("https://a.test/{n}"))).collect();
        known.extend([of(&source.url)]);
        let sources = std::slice::from_ref(&source);
        let urls = |kept: Vec<(String, Arc<str>)>| kept.into_iter().map(|(url, _)| url).collect::<Vec<_>>();
        assert_eq!(urls(texts_of_sources(known.clone(), sources)).join(" "), source.url);
        let of_run = urls(in_one_step(known.clone(), sources));
        assert_eq!((of_run.len(), &of_run[0], &*of_run[7]), (8, &source.url, "https://a.test/6"));
        assert_eq!(urls(in_one_step(known, &[]))[7], "https://a.test/7");
    }

    #[test]
    fn what_report_and_notes_cite_is_taken_over() {
        let sources = vec![source(1001, &[3001], 9), source(1002, &[], 9), source(2001, &[], 9), source(4001, &[], 9)];
        let notes = vec![note(1, "- Dues [S3001]"), note(2, "- Loan [S2001][S9999]")];
        let entry = taken(report("Dues [1].", &[(1, 1001)]), sources, notes);
        assert_eq!((ids(&entry.sources), ids(&entry.value.sources)), (vec![1001, 2001], vec![1001, 2001]));
        assert!(entry.sources.iter().all(|source| source.snapshot.len() == 9));
        assert!(entry.value.sources.iter().all(|source| source.snapshot.is_empty()));
        assert_eq!((entry.notes.len(), entry.value.researchers, entry.value.left_out), (2, 4, 0));
    }

    #[test]
    fn numbers_become_ids_again_and_the_list_goes() {
        let report = report("Über 4 Kronen [1][2], dann [3] mehr [1].", &[(1, 2001), (2, 1001), (3, 1002), (1, 2001)]);
        let known = taken(report, vec![source(2001, &[], 1), source(1001, &[2002], 1)], Vec::new()).value;
        assert_eq!(known.report(), "Über 4 Kronen [S2001][S1001], dann  mehr [S2001].");
        assert_eq!(known.numbers, BTreeMap::from([(SourceId(2001), 1), (SourceId(1001), 2)]));
    }

    #[test]
    fn a_report_that_cites_nothing_rests_on_everything() {
        let entry = taken(report("Dues.", &[]), vec![source(1002, &[], 1), source(1001, &[], 1)], Vec::new());
        assert_eq!(ids(&entry.value.sources), [1001, 1002]);
    }

    #[test]
    fn there_is_a_bound_on_number_and_size() {
        let cited: Vec<(u32, u32)> = (1..=250).map(|n| (n, 1000 + n)).collect();
        let body: String = cited.iter().map(|(number, _)| format!("[{number}]")).collect();
        let many = cited.iter().map(|(_, id)| source(*id, &[], 1)).collect();
        let entry = taken(report(&body, &cited), many, Vec::new());
        assert_eq!((entry.sources.len(), entry.value.left_out), (MAX_SOURCES, 50));
        let large = vec![source(1001, &[], MAX_SNAPSHOT_BYTES), source(1002, &[], 1), source(1003, &[], 0)];
        let entry = taken(report("[1][2][3]", &[(1, 1001), (2, 1002), (3, 1003)]), large, Vec::new());
        assert_eq!((ids(&entry.sources), entry.value.left_out), (vec![1001, 1003], 1));
        let notes = (1..=70).map(|number| note(number, "Dues.")).collect();
        let entry = taken(report("Dues.", &[]), Vec::new(), notes);
        assert_eq!((entry.notes[0].researcher, entry.notes.len(), entry.value.left_out), (7, MAX_NOTES, 6));
        assert_eq!(entry.value.researchers, 70, "numbers left out are not used again");
    }
}
