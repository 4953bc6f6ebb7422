//! Which passages of a page fit a question best: those with the rarest of its words.

use std::sync::Arc;

use crate::{
    pages::extract,
    text::{is_unspaced, start},
};

/// The longest question that is read, which a model may make as long as it likes: each of its words is looked for in
/// each passage.
const QUESTION_CHARS: usize = 2_000;

/// A question's words of fewer letters say nothing about a passage.
const SHORT_WORD: usize = 3;
/// Words count as the same when they begin with as many letters.
const STEM: usize = 6;

/// Stands for what is left out between passages.
const GAP: &str = "\n\n[…]\n\n";

/// Returns what fits best of a text for each of these rooms, in reading order: all of a text that is no longer, and
/// the beginning of one in which nothing fits. Texts are long, so this takes time.
pub fn extracts<const N: usize>(text: &Arc<str>, asked: &[&str], rooms: [usize; N]) -> [Arc<str>; N] {
    let all = extract::passages::split(text);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let ranked = ranked(&all, asked);
    rooms.map(|room| match text.chars().nth(room) {
        None => Arc::clone(text),
        Some(_) => shown(text, &all, &ranked, room).into(),
    })
}

/// Returns what fits best of a text that is longer than there is room for, and of the rest as much as there is still
/// room for, from its beginning; in reading order. Texts are long, so this takes time.
pub fn filled(text: &str, asked: &[&str], room: usize) -> String {
    let all = extract::passages::split(text);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut order = ranked(&all, asked);
    let mut is_ranked = vec![false; all.len()];
    order.iter().for_each(|place| is_ranked[*place] = true);
    order.extend((0..all.len()).filter(|place| !is_ranked[*place]));
    shown(text, &all, &order, room)
}

/// Returns the passages of a text that there is room for, those first that stand first in `order`.
fn shown(text: &str, all: &[&str], order: &[usize], room: usize) -> String {
    match within(all, order, room)[..] {
        [] => extract::cut(text, room).to_owned(),
        [only] => extract::cut(all[only], room).to_owned(),
        ref several => with_gaps(all, several),
    }
}

/// Returns the passages at these places, in reading order.
fn with_gaps(all: &[&str], places: &[usize]) -> String {
    let mut shown = String::new();
    let mut next = places[0];
    for place in places {
        shown.push_str(if shown.is_empty() {
            ""
        } else if *place == next {
            "\n\n"
        } else {
            GAP
        });
        shown.push_str(all[*place]);
        next = place + 1;
    }
    shown
}

/// Returns the places of the passages that fit best, in reading order, as many as there is room for (in characters;
/// the best one may exceed it); none when no passage has a word of what is asked. Each text that asks counts as much
/// as another, however many words it has. The same in each process.
pub fn best(passages: &[&str], asked: &[&str], room: usize) -> Vec<usize> {
    within(passages, &ranked(passages, asked), room)
}

/// Returns the places of the passages that fit, the best first.
fn ranked(passages: &[&str], asked: &[&str]) -> Vec<usize> {
    let asked = Asked::of(asked);
    let held: Vec<Vec<bool>> = passages.iter().map(|passage| asked.held_by(passage)).collect();
    let weights = asked.weights(&held);
    let score = |held: &Vec<bool>| -> f64 {
        weights.iter().zip(held).filter(|(_, held)| **held).map(|(weight, _)| weight).sum()
    };
    let mut scored: Vec<(usize, f64)> = held.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scored.into_iter().map(|(place, _)| place).collect()
}

/// Returns as many of these places as there is room for, in reading order.
fn within(passages: &[&str], ranked: &[usize], room: usize) -> Vec<usize> {
    let mut used = 0;
    let fits = |place: &usize| {
        let chars = passages[*place].chars().count();
        let fits = used == 0 || used + chars <= room;
        used += if fits { chars } else { 0 };
        fits
    };
    let mut chosen: Vec<usize> = ranked.iter().copied().filter(fits).collect();
    chosen.sort_unstable();
    chosen
}

/// The beginnings of the words of all texts that ask, each once. Ordered, so that sums over them are equal wherever
/// they are made.
struct Asked {
    words: Vec<String>,
    /// The places of each text's words among them.
    texts: Vec<Vec<usize>>,
    /// The ASCII characters that some of them begin with, a bit each.
    firsts: u128,
}

impl Asked {
    fn of(asked: &[&str]) -> Self {
        let of_text = |text: &&str| -> Vec<String> {
            let mut words: Vec<String> =
                words(start(text, QUESTION_CHARS)).map(|word| beginning(word).collect()).collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        let by_text: Vec<Vec<String>> = asked.iter().map(of_text).collect();
        let mut words = by_text.concat();
        words.sort_unstable();
        words.dedup();
        let place = |word: &String| words.binary_search(word).ok();
        let texts = by_text.iter().map(|own| own.iter().filter_map(place).collect()).collect();
        let firsts = words.iter().map(|word| word.as_bytes()[0]).filter(u8::is_ascii);
        Self { firsts: firsts.fold(0, |firsts, first| firsts | 1 << first), texts, words }
    }

    /// Returns what each word counts: the more, the fewer passages hold it, and for a text all of its words together
    /// one.
    fn weights(&self, held: &[Vec<bool>]) -> Vec<f64> {
        let rarity = |word: usize| {
            let holders = held.iter().filter(|held| held[word]).count();
            if holders == 0 { 0.0 } else { (1.0 + held.len() as f64 / holders as f64).ln() }
        };
        let rarities: Vec<f64> = (0..self.words.len()).map(rarity).collect();
        let mut weights = vec![0.0; self.words.len()];
        for text in &self.texts {
            let all: f64 = text.iter().map(|word| rarities[*word]).sum();
            for word in text.iter().filter(|_| all > 0.0) {
                weights[*word] += rarities[*word] / all;
            }
        }
        weights
    }

    /// Returns which of them stand in a passage. A page has thousands of words, so none is copied for itself.
    fn held_by(&self, passage: &str) -> Vec<bool> {
        let mut held = vec![false; self.words.len()];
        let mut stem = String::new();
        // Most words begin with another letter.
        let may_be_asked = |word: &&str| match word.as_bytes()[0].to_ascii_lowercase() {
            first if first.is_ascii() => self.firsts >> first & 1 == 1,
            _ => true,
        };
        for word in words(passage).filter(may_be_asked) {
            stem.clear();
            match word.get(..word.len().min(STEM)).filter(|start| start.is_ascii()) {
                Some(start) => {
                    stem.push_str(start);
                    stem.make_ascii_lowercase();
                }
                None => stem.extend(beginning(word)),
            }
            if let Ok(place) = self.words.binary_search_by(|asked| asked.as_str().cmp(&stem)) {
                held[place] = true;
            }
        }
        held
    }
}

/// Returns the words of a text that are not too short; where a script has no spaces, any two letters side by side.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || next_word(&mut rest))
    })
}

/// Returns the next word of a run of letters, behind which `rest` then begins.
fn next_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    loop {
        let first = rest.chars().next()?;
        let behind = &rest[first.len_utf8()..];
        let next = behind.chars().next();
        let (word, is_word) = if rest.is_ascii() {
            (*rest, rest.len() >= SHORT_WORD)
        } else if is_unspaced(first) {
            let pair = next.filter(|next| is_unspaced(*next)).map(|next| first.len_utf8() + next.len_utf8());
            (&rest[..pair.unwrap_or(first.len_utf8())], pair.is_some())
        } else {
            let word = &rest[..rest.find(is_unspaced).unwrap_or(rest.len())];
            (word, word.chars().nth(SHORT_WORD - 1).is_some())
        };
        *rest = if is_unspaced(first) { behind } else { &rest[word.len()..] };
        if is_word {
            return Some(word);
        }
    }
}

fn beginning(word: &str) -> impl Iterator<Item = char> {
    word.chars().flat_map(char::to_lowercase).take(STEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_with_rare_words_of_the_question_fit_best() {
        let passages =
            ["The harbour is old.", "Dues of four crowns pay the gate.", "Gulls nest here.", "The loan pays too."];
        let check = |question: &str, room: usize, expected: &[usize]| {
            assert_eq!(best(&passages, &[question], room), expected, "{question}");
        };
        check("Which loan and dues are there?", 8_000, &[1, 3]);
        check("Which loan and dues of the gate are there?", 10, &[1]);
        check("Does the loan pay the gate of the harbour?", 55, &[0, 1]);
        check("Does the loan pay the gate of the harbour?", 45, &[1]);
        check("Zebras?", 8_000, &[]);
        check("ÄGYPTEN?", 8_000, &[]);
        assert_eq!(best(&["Seen in ägypten.", "seen at 5 \u{212A}ELVIN"], &["Ägypten at five Kelvin?"], 800), [0, 1]);
    }

    /// A query has few words, and a topic many.
    #[test]
    fn each_text_that_asks_counts_as_much_as_another() {
        let topic = "Find out how the harbour is run, who works there, which boats land and when the gulls nest.";
        let passages = [
            "The harbour is run by two men who work when boats land.",
            "Gulls nest where boats land and men work in the harbour.",
            "Pumping station: 412,000 crowns.",
        ];
        assert_eq!(best(&passages, &["pumping station cost", topic], 40), [2]);
        assert_eq!(best(&passages, &[&format!("pumping station cost {topic}")], 40), [0], "as one text");
        assert_eq!(best(&passages, &["", topic], 40), [0]);
    }

    #[test]
    fn words_are_found_in_scripts_without_spaces() {
        let passages = ["港口很旧，海鸥在此筑巢。", "潮汐水闸由四克朗的港口税支付。", "海鸥 GPU集群 2030年。"];
        let check = |question: &str, expected: &[usize]| {
            assert_eq!(best(&passages, &[question], 8_000), expected, "{question}");
        };
        check("谁支付水闸的费用？", &[1]);
        check("哪些GPU？", &[2]);
        check("水？", &[]);
        let japanese = ["灯台は古い。", "水門の費用は港湾税で支払われる。"];
        assert_eq!(best(&japanese, &["費用は誰が支払うのですか"], 800), [1]);
    }

    #[test]
    fn what_room_is_left_is_filled_from_the_beginning() {
        let filler = |word: &str| word.repeat(1_500 / word.len());
        let text =
            [filler("gulls "), filler("nets "), "Dues of four crowns. ".repeat(30), filler("boats ")].join("\n\n");
        let shown = filled(&text, &["dues"], 3_500);
        assert!(shown.contains("gulls") && shown.contains("Dues") && !shown.contains("boats"), "{shown}");
        let asked = [&*extracts(&Arc::from(&*text), &["dues"], [3_500])[0]].concat();
        assert!(asked.contains("Dues") && !asked.contains("gulls"), "{asked}");
    }

    /// Each of its words is looked for in each passage.
    #[test]
    fn a_question_without_end_is_read_to_its_limit() {
        let passages = ["Dues of four crowns.", "The loan pays too."];
        let check = |filler: usize, expected: &[usize]| {
            assert_eq!(best(&passages, &[&format!("{}dues", "word ".repeat(filler))], 800), expected, "{filler}");
        };
        check(QUESTION_CHARS / 5 - 1, &[0]);
        check(QUESTION_CHARS / 5, &[]);
    }
}
