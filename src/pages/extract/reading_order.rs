//! The order in which a line is read that has Arabic or Hebrew letters: many programs draw such text from left to
//! right, so that its letters come last one first.

use std::borrow::Cow;

/// A glyph or a space of a line, and how far from the left it stands.
pub(super) struct Piece<'a> {
    pub text: Cow<'a, str>,
    pub x: f64,
}

/// Which way a piece is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Right,
    Left,
    /// As what is around it.
    Neutral,
}

/// Brackets and their partners, which a line that is turned round shows in place of each other.
const BRACKETS: [(&str, &str); 4] = [("(", ")"), ("[", "]"), ("{", "}"), ("«", "»")];

/// Signs that belong to a number beside them in Hebrew; in Arabic they stand where a word would.
const SIGNS: [&str; 7] = ["%", "‰", "°", "$", "€", "£", "₪"];
/// Signs that a number has between its digits.
const SEPARATORS: [&str; 4] = [".", ",", ":", "/"];
/// One more that does so in Hebrew alone.
const HYPHEN: &str = "-";

/// Returns the pieces of a line in the order in which they are read. Lines that were drawn in that order, and those
/// without letters that run to the left, stay as they are.
pub(super) fn restored(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    if !is_drawn_to_the_right(&pieces) {
        return pieces;
    }
    place_runs(&mut pieces);
    let letters = |direction: Direction| {
        let is_letter = |piece: &&Piece<'_>| piece.text.contains(char::is_alphabetic);
        pieces.iter().filter(is_letter).filter(|piece| self::direction(&piece.text) == direction).count()
    };
    let is_arabic = pieces.iter().any(|piece| piece.text.contains(|char: char| char >= '\u{600}' && is_left(char)));
    let turned = match letters(Direction::Left) > letters(Direction::Right) {
        true => {
            pieces.reverse();
            pieces.iter_mut().for_each(mirror);
            Direction::Right
        }
        false => Direction::Left,
    };
    turn(&mut pieces, turned, !is_arabic);
    pieces
}

/// Puts runs that were drawn one after another to the left in their places; they are apart.
fn place_runs(pieces: &mut Vec<Piece<'_>>) {
    let mut steps: Vec<f64> = pieces.windows(2).map(|pair| (pair[1].x - pair[0].x).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or_default();
    let starts: Vec<usize> = (1..pieces.len()).filter(|at| pieces[at - 1].x - pieces[*at].x > usual * 1.5).collect();
    if starts.is_empty() {
        return;
    }
    // Before the first piece of each run but the last, since the next one is put to its left.
    let begins = std::iter::once(0).chain(starts.iter().copied()).take(starts.len());
    let spaces: Vec<f64> = begins.map(|at| pieces[at].x - usual / 2.0).collect();
    pieces.extend(spaces.into_iter().map(|x| Piece { text: " ".into(), x }));
    pieces.sort_by(|one, other| one.x.total_cmp(&other.x));
}

/// Turns each stretch of a direction round; within one that runs to the left, its numbers once more.
fn turn(pieces: &mut [Piece<'_>], direction: Direction, signs: bool) {
    let mut at = 0;
    while at < pieces.len() {
        let end = match direction {
            Direction::Left => end_of_words(pieces, at),
            _ => end_of_text(pieces, at, signs),
        };
        pieces[at..end].reverse();
        pieces[at..end].iter_mut().for_each(mirror);
        if direction == Direction::Left {
            turn(&mut pieces[at..end], Direction::Right, signs);
        }
        at = end.max(at + 1);
    }
}

/// Returns the end of words that run to the left, with what is neutral and the numbers between them; `at` when none
/// begins there.
fn end_of_words(pieces: &[Piece<'_>], at: usize) -> usize {
    let mut end = at;
    for (place, piece) in pieces.iter().enumerate().skip(at) {
        match direction(&piece.text) {
            Direction::Left => end = place + 1,
            Direction::Right if !is_number(&piece.text) => break,
            _ if end == at => break,
            _ => {}
        }
    }
    end
}

/// Returns the end of a stretch that runs to the right: words with what is neutral and the numbers between them, or one
/// number, with its signs where these belong to it; `at` when none begins there.
fn end_of_text(pieces: &[Piece<'_>], at: usize, signs: bool) -> usize {
    let is_sign = |place: usize| signs && pieces.get(place).is_some_and(|piece| SIGNS.contains(&&*piece.text));
    let is_right = |place: usize| pieces.get(place).is_some_and(|piece| direction(&piece.text) == Direction::Right);
    let is_separator = |place: usize| {
        let text = &*pieces[place].text;
        SEPARATORS.contains(&text) || signs && text == HYPHEN
    };
    let first = if is_sign(at) { at + 1 } else { at };
    if !is_right(first) {
        return at;
    }
    let (mut end, mut has_word) = (first, false);
    for (place, piece) in pieces.iter().enumerate().skip(first) {
        match direction(&piece.text) {
            Direction::Left => break,
            Direction::Right => {
                let is_joined = match place - end {
                    0 => true,
                    1 => has_word || is_separator(end) && is_number(&piece.text),
                    _ => has_word,
                };
                if !is_joined {
                    break;
                }
                has_word |= !is_number(&piece.text);
                end = place + 1;
            }
            Direction::Neutral => {}
        }
    }
    if is_sign(end) { end + 1 } else { end }
}

fn is_number(text: &str) -> bool {
    direction(text) == Direction::Right && !text.contains(char::is_alphabetic)
}

/// Returns whether letters that run to the left stand, one after another, further and further to the right.
fn is_drawn_to_the_right(pieces: &[Piece<'_>]) -> bool {
    let (mut right, mut left) = (0_usize, 0_usize);
    for pair in pieces.windows(2) {
        if pair.iter().all(|piece| direction(&piece.text) == Direction::Left) {
            right += usize::from(pair[1].x > pair[0].x);
            left += usize::from(pair[1].x < pair[0].x);
        }
    }
    right > left
}

fn mirror(piece: &mut Piece<'_>) {
    let partner = |(open, close): &(&'static str, &'static str)| match &*piece.text {
        text if text == *open => Some(*close),
        text if text == *close => Some(*open),
        _ => None,
    };
    if let Some(partner) = BRACKETS.iter().find_map(partner) {
        piece.text = partner.into();
    }
}

fn direction(text: &str) -> Direction {
    match text.chars().find(|char| char.is_alphanumeric()) {
        Some(char) if is_left(char) => Direction::Left,
        Some(_) => Direction::Right,
        None => Direction::Neutral,
    }
}

/// Returns whether the letter runs to the left; the digits of Arabic do not.
fn is_left(letter: char) -> bool {
    matches!(
        letter,
        '\u{590}'..='\u{65f}'
            | '\u{66e}'..='\u{6ef}'
            | '\u{6fa}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is read of pieces that are drawn one after another, each further to the right or to the left.
    fn check(drawn: &str, step: f64, expected: &str) {
        let pieces = (0_u32..).zip(drawn.chars());
        let pieces =
            pieces.map(|(at, char)| Piece { text: char.to_string().into(), x: f64::from(at) * step }).collect();
        let read: String = restored(pieces).into_iter().map(|piece| piece.text).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn lines_are_read_from_their_first_letter_on() {
        check("مهرد نويلم 412.5 تغلب", 1.0, "بلغت 412.5 مليون درهم");
        check("بلغت 412 مليون", -1.0, "بلغت 412 مليون");
        check("(םולש) Tide 14", 1.0, "(שלום) Tide 14");
        check("14 (תיב) םולש", 1.0, "שלום (בית) 14");
        check("The word םולש and תיב", 1.0, "The word שלום and בית");
        check("Only 14 (words)", 1.0, "Only 14 (words)");
        check("", 1.0, "");
    }

    #[test]
    fn numbers_stand_one_by_one() {
        check("120 95 תוסנכה", 1.0, "הכנסות 95 120");
        check("2023 - 2019 םינשב", 1.0, "בשנים 2019 - 2023");
        check("3,870 3,980 4,120 בכר", 1.0, "רכב 4,120 3,980 3,870");
        check("The word תיב 14 םולש", 1.0, "The word שלום 14 בית");
        check("2023–2019 םינשב", 1.0, "בשנים 2019–2023");
        check("2023-05-12 םויב", 1.0, "ביום 2023-05-12");
        check("2023-2019 تغلب", 1.0, "بلغت 2019-2023");
        check("95% תוסנכה", 1.0, "הכנסות 95%");
        check("%95 تغلب", 1.0, "بلغت 95%");
        check("14 Model T המידקת תינוכמ", 1.0, "מכונית תקדימה 14 Model T");
    }

    #[test]
    fn runs_are_read_from_the_right_one_on() {
        let run = |text: &'static str, from: f64| {
            (0_u32..)
                .zip(text.chars())
                .map(move |(at, char)| Piece { text: char.to_string().into(), x: from + f64::from(at) * 5.0 })
        };
        let drawn = run("םולש", 300.0).chain(run("תיב", 250.0)).collect();
        let read: String = restored(drawn).into_iter().map(|piece| piece.text).collect();
        assert_eq!(read, "שלום בית");
    }
}
