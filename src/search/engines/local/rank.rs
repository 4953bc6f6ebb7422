//! Which of the passages the index offers come first: those that answer most of the query, each once, from several
//! files.

use std::collections::HashSet;

use super::query::{Query, Term, prefix, spaced, tokens};

/// A passage the index offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub path: String,
    pub url: String,
    pub title: String,
    pub published: Option<String>,
    pub section: Option<String>,
    /// The headings above it, for matching only.
    pub headings: String,
    pub body: String,
    /// Equal for passages that say the same, whatever their spacing and marks.
    pub hash: String,
    /// The index's own relevance; larger is better.
    pub bm25: f64,
}

/// How much of the score is coverage of the query's terms; the rest is the index's relevance.
const COVERAGE_SHARE: f64 = 0.75;
/// A term found only in the text, or only in the title or headings, counts for this much of one found in both: what
/// the title says and the text goes into is what the passage is about.
const BODY_SHARE: f64 = 0.7;
const HEADING_SHARE: f64 = 0.4;
/// What a term that no hit before has adds to a passage's chances, compared with its score.
const NOVELTY: f64 = 0.5;
/// Passages of one section, and of one file while other files have something to say.
const MAX_PER_SECTION: usize = 2;
const MAX_PER_FILE: usize = 2;

/// Picks at most `max_results`, best first, with their scores from 0 to 1.
///
/// A question often asks several things, and no passage answers them all: each next passage is chosen for its score
/// and for the terms that none before it has.
pub(super) fn pick(query: &Query, candidates: Vec<Candidate>, max_results: usize) -> Vec<(f64, Candidate)> {
    let mut left = judged(query, candidates);
    let mut picked: Vec<Judged> = Vec::new();
    let mut covered = vec![0.0; query.terms.len()];
    while picked.len() < max_results {
        let gain = |judged: &Judged| judged.score + NOVELTY * judged.beyond(&covered) - crowding(judged, &picked);
        let gains = left.iter().map(gain).enumerate();
        let Some((best, _)) = gains.reduce(|one, other| if other.1 > one.1 { other } else { one }) else { break };
        let judged = left.remove(best);
        covered.iter_mut().zip(&judged.covers).for_each(|(covered, covers)| *covered = covers.max(*covered));
        picked.push(judged);
    }
    picked.sort_by(|one, other| other.score.total_cmp(&one.score));
    picked.into_iter().map(|judged| (judged.score, judged.candidate)).collect()
}

/// Returns by how much others of its place lower a passage: more of one place comes only when nothing else is left.
fn crowding(judged: &Judged, picked: &[Judged]) -> f64 {
    let same_file = picked.iter().filter(|other| other.candidate.path == judged.candidate.path);
    let (mut of_file, mut of_section) = (0, 0);
    for other in same_file {
        of_file += 1;
        of_section += usize::from(other.candidate.section == judged.candidate.section);
    }
    f64::from(u8::from(of_file >= MAX_PER_FILE)) * 10.0 + f64::from(u8::from(of_section >= MAX_PER_SECTION)) * 10.0
}

struct Judged {
    candidate: Candidate,
    score: f64,
    /// Per term, its share of the query's weight as far as the passage has it; adds up to 1 at most.
    covers: Vec<f64>,
}

impl Judged {
    /// Returns what it covers beyond what is covered already.
    fn beyond(&self, covered: &[f64]) -> f64 {
        self.covers.iter().zip(covered).map(|(covers, covered)| (covers - covered).max(0.0)).sum()
    }
}

/// Scores the candidates, each text once, best first.
fn judged(query: &Query, mut candidates: Vec<Candidate>) -> Vec<Judged> {
    let mut texts = HashSet::new();
    candidates.sort_by(|one, other| other.bm25.total_cmp(&one.bm25).then_with(|| one.url.cmp(&other.url)));
    candidates.retain(|candidate| texts.insert(candidate.hash.clone()));
    let found: Vec<Vec<f64>> = candidates.iter().map(|candidate| matches(query, candidate)).collect();
    let weights = weights(query.terms.len(), &found);
    let best = candidates.iter().map(|candidate| candidate.bm25).fold(f64::MIN_POSITIVE, f64::max);
    let judge = |(found, candidate): (Vec<f64>, Candidate)| {
        let covers: Vec<f64> = found.iter().zip(&weights).map(|(found, weight)| found * weight).collect();
        let relevance = (candidate.bm25 / best).clamp(0.0, 1.0);
        let score = COVERAGE_SHARE * covers.iter().sum::<f64>() + (1.0 - COVERAGE_SHARE) * relevance;
        Judged { candidate, score: score.clamp(0.0, 1.0), covers }
    };
    let mut judged: Vec<Judged> = found.into_iter().zip(candidates).map(judge).collect();
    judged.sort_by(|one, other| other.score.total_cmp(&one.score));
    judged
}

/// Returns each term's share of the query: one that few candidates have weighs more, one that none has nothing.
fn weights(terms: usize, found: &[Vec<f64>]) -> Vec<f64> {
    let having = |term: usize| found.iter().filter(|found| found[term] > 0.0).count();
    let weight = |term| match having(term) {
        0 => 0.0,
        having => (1.0 + found.len() as f64 / having as f64).ln(),
    };
    let weights: Vec<f64> = (0..terms).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
}

/// Returns how well each term is met, from 0 to 1.
fn matches(query: &Query, candidate: &Candidate) -> Vec<f64> {
    let body = Words::of(&candidate.body);
    let head = Words::of(&format!("{} {} {}", candidate.title, candidate.headings, candidate.path));
    let met = |term: &Term| match (body.have(term), head.have(term)) {
        (true, true) => 1.0,
        (true, false) => BODY_SHARE,
        (false, true) => HEADING_SHARE,
        (false, false) => 0.0,
    };
    query.terms.iter().map(met).collect()
}

/// A text's words, in two forms.
struct Words {
    all: HashSet<String>,
    /// With a space around each, for phrases.
    joined: String,
}

impl Words {
    fn of(text: &str) -> Self {
        let tokens = tokens(&spaced(text));
        Self { joined: format!(" {} ", tokens.join(" ")), all: tokens.into_iter().collect() }
    }

    fn have(&self, term: &Term) -> bool {
        match term {
            Term::Word(word) => self.all.contains(word) || self.all.iter().any(|token| is_form_of(word, token)),
            Term::Phrase(words) => self.joined.contains(&format!(" {} ", words.join(" "))),
            Term::Ideographs(run) => self.joined.contains(&format!(" {} ", tokens(&spaced(run)).join(" "))),
        }
    }
}

/// Returns whether one word is a form of the other: singular and plural, or the same beginning.
fn is_form_of(word: &str, token: &str) -> bool {
    let plural = |one: &str, many: &str| many.strip_suffix('s') == Some(one);
    plural(word, token) || plural(token, word) || prefix(word).is_some_and(|prefix| token.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(path: &str, body: &str, bm25: f64) -> Candidate {
        Candidate {
            path: path.into(),
            url: path.into(),
            body: body.into(),
            hash: body.into(),
            bm25,
            ..Candidate::default()
        }
    }

    fn order(query: &str, candidates: Vec<Candidate>, max: usize) -> Vec<String> {
        let picked = pick(&Query::parse(query), candidates, max);
        assert!(picked.iter().all(|(score, _)| (0.0..=1.0).contains(score)), "{picked:?}");
        picked.into_iter().map(|(_, candidate)| candidate.body).collect()
    }

    #[test]
    fn more_of_the_query_comes_before_more_of_one_word() {
        let candidates =
            vec![passage("a", "seal seal seal seal", 9.0), passage("b", "the seals harden in batches", 3.0)];
        assert_eq!(order("seal batch", candidates, 5)[0], "the seals harden in batches");
    }

    #[test]
    fn the_same_text_comes_once() {
        let candidates = vec![passage("a", "same", 1.0), passage("b", "same", 1.0), passage("c", "other same", 0.5)];
        assert_eq!(order("same", candidates, 5).len(), 2);
    }

    #[test]
    fn one_file_does_not_crowd_out_others() {
        let mut candidates: Vec<_> = (0..5).map(|n| passage("a", &format!("tide mill {n}"), 5.0)).collect();
        candidates.push(passage("b", "tide", 1.0));
        assert!(order("tide mill", candidates.clone(), 3).contains(&"tide".to_owned()));
        candidates.pop();
        assert_eq!(order("tide mill", candidates, 5).len(), 5, "alone, a file may fill the list");
    }
}
