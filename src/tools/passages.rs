//! Which passages of a page fit a question best: those with the rarest of its words.

use std::collections::{BTreeSet, HashSet};

/// A question's words of fewer letters say nothing about a passage.
const SHORT_WORD: usize = 3;
/// Words count as the same when they begin with as many letters.
const STEM: usize = 6;

/// The places of the passages that fit best, in reading order, as many as there is room for (in characters; the best one
/// may exceed it); none when no passage has a word of the question. The same in each process.
pub fn best(passages: &[&str], question: &str, room: usize) -> Vec<usize> {
    // Ordered, so that sums over them are equal wherever they are made.
    let asked: BTreeSet<String> = words(question).collect();
    let held: Vec<HashSet<String>> = passages.iter().map(|passage| words(passage).collect()).collect();
    let weight = |word: &String| {
        let holders = held.iter().filter(|words| words.contains(word)).count();
        if holders == 0 { 0.0 } else { (1.0 + passages.len() as f64 / holders as f64).ln() }
    };
    let weights: Vec<(&String, f64)> = asked.iter().map(|word| (word, weight(word))).collect();
    let score = |words: &HashSet<String>| -> f64 {
        weights.iter().filter(|(word, _)| words.contains(*word)).map(|(_, weight)| weight).sum()
    };
    let mut scored: Vec<(usize, f64)> = held.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut used = 0;
    let fits = |place: &usize| {
        let chars = passages[*place].chars().count();
        let fits = used == 0 || used + chars <= room;
        used += if fits { chars } else { 0 };
        fits
    };
    let mut chosen: Vec<usize> = scored.into_iter().map(|(place, _)| place).filter(fits).collect();
    chosen.sort_unstable();
    chosen
}

/// The beginnings of a text's words.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let long = words.filter(|word| word.chars().nth(SHORT_WORD - 1).is_some());
    long.map(|word| word.chars().flat_map(char::to_lowercase).take(STEM).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_with_rare_words_of_the_question_fit_best() {
        let passages =
            ["The harbour is old.", "Dues of four crowns pay the gate.", "Gulls nest here.", "The loan pays too."];
        let check = |question: &str, room: usize, expected: &[usize]| {
            assert_eq!(best(&passages, question, room), expected, "{question}");
        };
        check("Which loan and dues are there?", 8_000, &[1, 3]);
        check("Which loan and dues of the gate are there?", 10, &[1]);
        check("Does the loan pay the gate of the harbour?", 55, &[0, 1]);
        check("Does the loan pay the gate of the harbour?", 45, &[1]);
        check("Zebras?", 8_000, &[]);
    }
}
