//! Which of the passages the index offers come first: those that answer most of the query, each once, from several files.

use std::collections::{HashMap, HashSet};

use super::query::{Query, Term, spaced, stem, tokens};

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
/// A term found only in the title or the headings counts for this much.
const HEADING_SHARE: f64 = 0.6;
/// Passages of one section, and of one file while other files have something to say.
const MAX_PER_SECTION: usize = 2;
const MAX_PER_FILE: usize = 2;

/// Picks at most `max_results`, best first, with their scores from 0 to 1.
pub(super) fn pick(query: &Query, candidates: Vec<Candidate>, max_results: usize) -> Vec<(f64, Candidate)> {
    let scores = scores(query, &candidates);
    let mut ranked: Vec<_> = scores.into_iter().zip(candidates).collect();
    ranked.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.url.cmp(&b.url)));
    let mut texts = HashSet::new();
    ranked.retain(|(_, candidate)| texts.insert(candidate.hash.clone()));
    spread(ranked, max_results)
}

/// Takes from the top, but not too much of one place; what was passed over fills the places left.
fn spread(ranked: Vec<(f64, Candidate)>, max_results: usize) -> Vec<(f64, Candidate)> {
    let mut of_section: HashMap<(String, Option<String>), usize> = HashMap::new();
    let mut of_file: HashMap<String, usize> = HashMap::new();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (score, candidate) in ranked {
        let in_section = of_section.entry((candidate.path.clone(), candidate.section.clone())).or_default();
        let in_file = of_file.entry(candidate.path.clone()).or_default();
        *in_section += 1;
        *in_file += 1;
        match *in_file <= MAX_PER_FILE && *in_section <= MAX_PER_SECTION {
            true => first.push((score, candidate)),
            false => second.push((score, candidate)),
        }
    }
    first.extend(second);
    first.truncate(max_results);
    first.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    first
}

fn scores(query: &Query, candidates: &[Candidate]) -> Vec<f64> {
    let found: Vec<Vec<f64>> = candidates.iter().map(|candidate| matches(query, candidate)).collect();
    let weights = weights(query.terms.len(), &found);
    let total: f64 = weights.iter().sum();
    let best = candidates.iter().map(|candidate| candidate.bm25).fold(f64::MIN_POSITIVE, f64::max);
    let score = |(found, candidate): (&Vec<f64>, &Candidate)| {
        let covered: f64 = found.iter().zip(&weights).map(|(found, weight)| found * weight).sum();
        let coverage = if total > 0.0 { covered / total } else { 0.0 };
        COVERAGE_SHARE * coverage + (1.0 - COVERAGE_SHARE) * (candidate.bm25 / best).clamp(0.0, 1.0)
    };
    found.iter().zip(candidates).map(score).collect()
}

/// A term that few candidates have weighs more; one that none has would only flatten the scores.
fn weights(terms: usize, found: &[Vec<f64>]) -> Vec<f64> {
    let having = |term: usize| found.iter().filter(|found| found[term] > 0.0).count();
    let weight = |term| match having(term) {
        0 => 0.0,
        having => (1.0 + found.len() as f64 / having as f64).ln(),
    };
    (0..terms).map(weight).collect()
}

/// How well each term is met, from 0 to 1.
fn matches(query: &Query, candidate: &Candidate) -> Vec<f64> {
    let body = Words::of(&candidate.body);
    let head = Words::of(&format!("{} {} {}", candidate.title, candidate.headings, candidate.path));
    let met = |term: &Term| match () {
        () if body.have(term) => 1.0,
        () if head.have(term) => HEADING_SHARE,
        () => 0.0,
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

/// Singular and plural, or the same beginning.
fn is_form_of(word: &str, token: &str) -> bool {
    let plural = |one: &str, many: &str| many.strip_suffix('s') == Some(one);
    plural(word, token) || plural(token, word) || stem(word).is_some_and(|stem| token.starts_with(stem))
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
