//! What research produces: sources, notes and the report that cites them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    SourceId, SubQuestion, Timestamp,
    claim::{Claim, Contradiction, Statement},
    digest::sha256_hex,
    limits::{self, Limits},
    wording::{WORDINGS, Wording},
};

pub use super::citation::Citation;

/// What the engine of a source begins with that is an answer of an MCP server, before the server's name.
pub const OF_SERVER: &str = "mcp:";

/// A source that this run retrieved, or took over from an earlier run of its thread, and that a report may cite.
///
/// As it is stored, one per canonical location and run; who met it again only adds an alias. Everybody else sees
/// those that are the same page, or have the same text, as one ([`same::joined`](super::same::joined)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The smallest of the ids that its researchers gave it.
    pub id: SourceId,
    /// The others; ascending.
    #[serde(default)]
    pub aliases: Vec<SourceId>,
    /// Where it is: an absolute URL, or for a local document its path relative to the documents folder
    /// (`minutes/april.pdf#page=3`).
    pub url: String,
    /// Never empty; the file name or host when the page has no title.
    pub title: String,
    /// For local documents: `page 3` or the heading above the passage.
    pub section: Option<String>,
    /// The name of the engine that returned it; `page` for what was opened by its address, and [`OF_SERVER`] with a
    /// name for what an MCP server answered.
    pub engine: String,
    /// The engine's own relevance score; comparable only within one engine.
    pub score: Option<f64>,
    /// Publication date as the engine or the document gave it.
    pub published: Option<String>,
    /// Who wrote it, as the page or document says itself, or else the engine that found it.
    #[serde(default)]
    pub author: Option<String>,
    /// The name of the site it is part of, as the page says itself.
    #[serde(default)]
    pub site: Option<String>,
    /// When this run fetched it, or the earlier one it was taken over from.
    pub fetched_at: Timestamp,
    /// SHA-256 of the snapshot, hex.
    pub content_hash: String,
    /// The whole text that was seen then, up to two million characters of it. Shared by all that need it at the same
    /// time: the commit that stores it, and the summary that is made of it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub snapshot: Arc<str>,
    /// Where else the same page or text was met.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// What it has in common with rows that are the same source ([`same`](super::same)); empty once they are joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

impl Source {
    /// Returns what `engine`, a search engine or a tool, has just found there, with its text; nothing else is known of
    /// it.
    pub fn retrieved(id: SourceId, url: String, title: String, engine: String, text: impl Into<Arc<str>>) -> Self {
        let snapshot = text.into();
        Self {
            id,
            aliases: Vec::new(),
            url,
            title,
            section: None,
            engine,
            score: None,
            published: None,
            author: None,
            site: None,
            fetched_at: Timestamp::now(),
            content_hash: sha256_hex(snapshot.as_bytes()),
            snapshot,
            addresses: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Returns whether it is an answer of an MCP server. What such a server says of an address is not what was read
    /// there.
    pub fn is_of_server(&self) -> bool {
        self.engine.starts_with(OF_SERVER)
    }

    /// Returns a web page for unit tests, without text.
    #[cfg(test)]
    pub fn example(id: u32, url: &str, title: &str) -> Self {
        let page = Self::retrieved(SourceId(id), url.to_owned(), title.to_owned(), "an engine".to_owned(), "");
        Self { fetched_at: Timestamp(0), content_hash: String::new(), ..page }
    }

    /// Returns the same without its text.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self {
            id: self.id,
            aliases: self.aliases.clone(),
            url: self.url.clone(),
            title: self.title.clone(),
            section: self.section.clone(),
            engine: self.engine.clone(),
            score: self.score,
            published: self.published.clone(),
            author: self.author.clone(),
            site: self.site.clone(),
            fetched_at: self.fetched_at,
            content_hash: self.content_hash.clone(),
            snapshot: Arc::default(),
            addresses: self.addresses.clone(),
            keys: self.keys.clone(),
        }
    }

    /// The step of a run that keeps texts, by address, which are not those of its sources. There is one below it for
    /// each note that was checked by some of them.
    pub const OTHER_TEXTS: &str = "other_texts";

    /// Returns all ids under which it may be cited, its own first.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> {
        std::iter::once(self.id).chain(self.aliases.iter().copied())
    }

    /// Returns all addresses under which it was met, its own first.
    pub fn all_addresses(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.url).chain(&self.addresses)
    }

    /// Adds ids of the same page to its own.
    pub fn join_ids(id: &mut SourceId, aliases: &mut Vec<SourceId>, more: impl IntoIterator<Item = SourceId>) {
        aliases.push(*id);
        aliases.extend(more);
        aliases.sort_unstable();
        aliases.dedup();
        *id = aliases.remove(0);
    }
}

/// One researcher's compressed findings on one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Which researcher wrote it: of the run, from 1 or, after earlier findings were taken over, from the next number.
    pub researcher: u32,
    pub topic: String,
    /// Markdown with source ids (`[S1003]`) as citations.
    pub text: String,
    /// The first of its cited statements, in order; empty when they could not be checked, and in notes of older
    /// releases.
    #[serde(default)]
    pub statements: Vec<Statement>,
}

/// The heading under which notes list all their sources, as `prompts/compress_system.md` asks for it.
const NOTE_SOURCES: &str = "## Sources used";

impl Note {
    /// The keys of the steps that keep statements of notes, without the researcher's number.
    pub const STATEMENTS: &str = "statements/r";

    /// Returns the key of the step that keeps the statements of that researcher's note.
    pub fn statements_key(researcher: u32) -> String {
        format!("{}{researcher}", Self::STATEMENTS)
    }

    /// Returns the key of the step that keeps what its statements were checked by, beside the texts of its sources.
    pub fn other_texts_key(researcher: u32) -> String {
        format!("{}/r{researcher}", Source::OTHER_TEXTS)
    }

    /// Returns the text without its closing list of sources, which says nothing of the topic; never empty unless the
    /// text is.
    pub fn findings(&self) -> &str {
        match self.text.rsplit_once(NOTE_SOURCES) {
            Some((findings, list)) if closes(findings, list) && !findings.trim().is_empty() => findings.trim_end(),
            _ => &self.text,
        }
    }
}

/// Returns whether this is the heading on a line of its own, with nothing behind it but its list.
fn closes(before: &str, behind: &str) -> bool {
    let mut lines = behind.lines();
    let is_own_line = before.ends_with('\n') && lines.next().is_none_or(|rest| rest.trim().is_empty());
    is_own_line && !lines.any(|line| line.trim_start().starts_with('#'))
}

/// The finished text, its source list included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Markdown; equal, byte for byte, to the concatenated `report.delta` events of its last attempt.
    pub markdown: String,
    /// In order of appearance.
    pub citations: Vec<Citation>,
    /// Citations the model wrote that point to nothing this run retrieved; they were removed.
    pub dropped_citations: u32,
    /// What the brief wanted to know, and how far the text answers it; empty in answers and in reports of older
    /// releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_questions: Vec<SubQuestion>,
    /// Its cited statements in order, unless they were not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// What the sources behind the notes state otherwise, whether the report deals with it or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// What its research could not do, of which a section under its text speaks; other forms of it speak of that too.
    /// Empty in reports of older releases.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Box<Limits>,
}

impl Report {
    /// Returns the text, and the list of sources under it, heading included; empty when there is none.
    pub fn parts(&self) -> (&str, &str) {
        parts(&self.markdown)
    }

    /// Returns the words of the language that its list of sources is in; of the text's, when it has no list.
    pub fn wording(&self) -> &'static Wording {
        let (text, list) = self.parts();
        let listed = |wording: &&Wording| list.starts_with(&sources_heading(wording));
        let of_text = Wording::of(text);
        if list.is_empty() {
            return of_text;
        }
        // Two languages share a heading; that of the limits is another one in each.
        let limited = |wording: &&Wording| text.contains(&format!("## {}\n", wording.limits.heading));
        let both = WORDINGS.iter().find(|wording| listed(wording) && limited(wording));
        both.unwrap_or_else(|| if listed(&of_text) { of_text } else { WORDINGS.iter().find(listed).unwrap_or(of_text) })
    }

    /// Returns the cited ones of a run's sources, in the order of their numbers.
    pub fn cited<'a>(&self, sources: &'a [Source]) -> BTreeMap<u32, &'a Source> {
        let by_id: HashMap<SourceId, &Source> = sources.iter().map(|source| (source.id, source)).collect();
        let cited = self.citations.iter().map(|citation| (citation.number, by_id.get(&citation.source_id)));
        cited.filter_map(|(number, source)| Some((number, *source?))).collect()
    }

    /// Returns the citations behind a statement.
    pub fn citations_of(&self, claim: &Claim) -> &[Citation] {
        claim.among(&self.citations)
    }

    /// Returns whether the text leaves open which source stands behind which statement.
    pub fn is_degraded(&self) -> bool {
        self.citations.is_empty()
    }
}

/// Returns the ids that citations have, each once, in order.
pub fn source_ids(citations: &[Citation]) -> Vec<SourceId> {
    let ids: BTreeSet<SourceId> = citations.iter().map(|citation| citation.source_id).collect();
    ids.into_iter().collect()
}

/// Returns a report's text, and the list of sources that code wrote under it, heading included.
pub fn parts(markdown: &str) -> (&str, &str) {
    let heading = |wording: &Wording| {
        let heading = sources_heading(wording);
        markdown.rfind(&heading).filter(|&at| at == 0 || markdown[..at].ends_with('\n')).map(|at| (at, heading.len()))
    };
    let last = WORDINGS.iter().filter_map(heading).max();
    let at = last.filter(|(at, length)| markdown[at + length..].lines().all(is_of_list)).map(|(at, _)| at);
    markdown.split_at(at.unwrap_or(markdown.len()))
}

/// Returns a report's text without what code wrote under it: the section on its limits, and the list of sources.
pub fn text_alone(markdown: &str) -> &str {
    let text = parts(markdown).0;
    let limits = |wording: &Wording| {
        let at = text.rfind(&limits::heading(wording))?;
        let is_last = text[at..].lines().skip(2).all(|line| line.is_empty() || line.starts_with("- "));
        (is_last && (at == 0 || text[..at].ends_with('\n'))).then_some(at)
    };
    WORDINGS.iter().filter_map(limits).max().map_or(text, |at| &text[..at])
}

/// Returns what stands above the list of sources.
pub fn sources_heading(wording: &Wording) -> String {
    format!("### {}\n\n", wording.sources)
}

fn is_of_list(line: &str) -> bool {
    line.is_empty() || line.starts_with("- [") || WORDINGS.iter().any(|wording| wording.uncited == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headings_of_code_say_in_which_language_it_wrote() {
        let check = |code: &str| {
            let words = Wording::of_code(code);
            let quoted =
                "The gate is paid by harbour dues, which the council sets every year for all ships in the port.";
            let (limits, list) = (words.limits.heading, sources_heading(words));
            let markdown = format!("# Q\n\n{quoted} [1]\n\n## {limits}\n\n- x\n\n{list}- [1] T: u\n");
            let report = Report { markdown, ..Report::default() };
            assert_eq!(report.wording().code, code);
        };
        ["en", "fr", "zh", "ar"].into_iter().for_each(check);
    }

    #[test]
    fn findings_are_a_note_without_its_closing_list() {
        let check = |text: &str, expected: &str| {
            let note = Note { researcher: 1, topic: "Dues".to_owned(), text: text.to_owned(), statements: Vec::new() };
            assert_eq!(note.findings(), expected, "{text:?}");
        };
        check("- Dues pay [S1001].\n\n## Sources used\n[S1001] Tariff\n", "- Dues pay [S1001].");
        check("- Dues pay.\r\n\r\n## Sources used\r\n[S1001] Tariff", "- Dues pay.");
        check("- Dues pay.\n## Sources used", "- Dues pay.");
        check("- Dues pay [S1001].", "- Dues pay [S1001].");
        check("", "");
        // A note that has nothing but the list is better than none.
        check("## Sources used\n[S1001] Tariff", "## Sources used\n[S1001] Tariff");
        check("\n\n## Sources used\n[S1001] Tariff", "\n\n## Sources used\n[S1001] Tariff");
        // The last of several is the closing one.
        check("A.\n## Sources used\n[S1001]\n## Sources used\n[S1002]", "A.\n## Sources used\n[S1001]");
        // What stands behind the list is no list, and what only mentions the heading is none.
        let goes_on = "A.\n## Sources used\n[S1001]\n\n## Costs\n- 4 crowns [S1001].";
        check(goes_on, goes_on);
        check("A.\n\n### Sources used here\n- Many.", "A.\n\n### Sources used here\n- Many.");
        check("The words ## Sources used\nare quoted.", "The words ## Sources used\nare quoted.");
    }
}
