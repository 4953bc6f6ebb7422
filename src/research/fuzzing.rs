//! Readers of this room for the fuzz targets (docs/fuzzing.md); not part of any other build.

use super::citations::Resolver;
use crate::domain::{Source, SourceId};

/// Returns what becomes of a report that comes in pieces of so many characters, and how many citations it has.
pub fn resolved(text: &str, piece: usize) -> (String, usize) {
    let sources = [(1001, "https://example.org/a"), (1002, "guide.md#costs"), (2001, "https://example.org/b_(c)")];
    let mut resolver = Resolver::new(sources.map(|(id, url)| source(id, url)).to_vec());
    let letters: Vec<char> = text.chars().collect();
    let mut report: String = letters
        .chunks(piece.min(letters.len().max(1)))
        .map(|piece| resolver.push(&piece.iter().collect::<String>()))
        .collect();
    report.push_str(&resolver.finish());
    (report, resolver.citations().len())
}

fn source(id: u32, url: &str) -> Source {
    Source::retrieved(SourceId(id), url.into(), "A page".into(), "an engine".into(), "")
}
