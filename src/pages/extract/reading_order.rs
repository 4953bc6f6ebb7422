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

/// Returns the pieces of a line in the order in which they are read. Lines that were drawn in that order, and those
/// without letters that run to the left, stay as they are.
pub(super) fn restored(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let directions: Vec<Direction> = pieces.iter().map(|piece| direction(&piece.text)).collect();
    if !is_drawn_to_the_right(&pieces, &directions) {
        return pieces;
    }
    let count = |direction: Direction| directions.iter().filter(|own| **own == direction).count();
    let turned = match count(Direction::Left) >= count(Direction::Right) {
        true => {
            pieces.reverse();
            pieces.iter_mut().for_each(mirror);
            Direction::Right
        }
        false => Direction::Left,
    };
    turn(&mut pieces, turned);
    pieces
}

/// Turns each stretch of a direction round, with what is neutral between its pieces.
fn turn(pieces: &mut [Piece<'_>], direction: Direction) {
    let mut at = 0;
    while at < pieces.len() {
        if self::direction(&pieces[at].text) != direction {
            at += 1;
            continue;
        }
        let goes_on = |end: &usize| {
            matches!(self::direction(&pieces[*end].text), Direction::Neutral)
                || self::direction(&pieces[*end].text) == direction
        };
        let end = (at..pieces.len()).take_while(goes_on).last().map_or(at, |last| last + 1);
        let last = (at..end).rfind(|last| self::direction(&pieces[*last].text) == direction).unwrap_or(at);
        pieces[at..=last].reverse();
        pieces[at..=last].iter_mut().for_each(mirror);
        at = end;
    }
}

/// Returns whether letters that run to the left stand, one after another, further and further to the right.
fn is_drawn_to_the_right(pieces: &[Piece<'_>], directions: &[Direction]) -> bool {
    let (mut right, mut left) = (0_usize, 0_usize);
    for (pair, own) in pieces.windows(2).zip(directions.windows(2)) {
        if own == [Direction::Left; 2] {
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
        Some(
            '\u{590}'..='\u{65f}'
            | '\u{66e}'..='\u{6ef}'
            | '\u{6fa}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}',
        ) => Direction::Left,
        Some(_) => Direction::Right,
        None => Direction::Neutral,
    }
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
}
