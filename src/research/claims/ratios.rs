//! What a number may be of two amounts: how many times one is the other, a share, or by which share one is more.

use std::collections::HashSet;

use super::{figure::Number, words::ONE};
use crate::text::{self, is_in};

/// Say that something grew, that it shrank, or that it is a part. Words of bounds, such as `more`, say none of it.
const GREW: &str = "increase increased increases rise rises rose risen grew grown climbed jumped gestiegen stieg stiegen wuchs gewachsen zugenommen \
    augmenté augmentation progressé aumentó subió creció aumentato salito cresciuto aumentou subiu cresceu gestegen steeg stijging вырос выросла выросли";
const SHRANK: &str = "decrease decreased decline declined fell fallen dropped shrank sank sanken gesunken fiel fielen gefallen rückgang \
    baissé diminué reculé bajó cayó disminuyó diminuito calato sceso caiu diminuiu gedaald daalde daling снизился снизилась сократился";
const PART: &str = "share proportion percentage accounted anteil proporción cuota quota parcela доля";
/// Others by which a number may be more or less than another one.
const COMPARED: &str = "more less fewer higher lower larger smaller wider gain mehr weniger höher niedriger größer kleiner plus moins supérieur inférieur \
    más menos mayor menor più meno maggiore minore mais maior menor meer minder hoger lager больше меньше выше ниже";
/// Between what grew and what it came to.
const UNTIL: &str = "to auf à a al naar до of";

/// Bytes before a number in which such a word stands.
const UNTIL_BYTES: usize = 16;

/// What the words of a statement say of how a share came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Any,
    Grew,
    Shrank,
    Part,
}

impl Turn {
    /// Returns what the words of a whole statement say.
    pub fn of(text: &str) -> Self {
        let words: HashSet<String> = text::lower_words(text).into_iter().collect();
        let has = |list: &str| list.split_whitespace().any(|word| words.contains(word));
        match [has(GREW), has(SHRANK), has(PART)] {
            [true, false, false] => Self::Grew,
            [false, true, false] => Self::Shrank,
            [false, false, true] if !has(COMPARED) => Self::Part,
            _ => Self::Any,
        }
    }

    /// Returns what they say of the number that begins at this byte: what something grew to may be anything.
    pub fn at(self, text: &str, start: usize) -> Self {
        let from = text.floor_char_boundary(start.saturating_sub(UNTIL_BYTES));
        let before = text.get(from..start).unwrap_or_default().to_lowercase();
        let last = before.rsplit(|char: char| !char.is_alphabetic()).find(|word| !word.is_empty());
        let is_until = last.is_some_and(|word| is_in(UNTIL, word));
        if is_until && self != Self::Part { Self::Any } else { self }
    }
}

/// Returns what a number without a unit may be of two amounts: how many times one is the other, or, if it is one of a
/// hundred, which share of the other one is, or by which share it is more.
pub fn ratios(number: &Number, turn: Turn, one: i128, other: i128) -> [Option<i128>; 4] {
    let ratio = |one: i128, other: i128| (other != 0).then(|| one.checked_mul(ONE)).flatten().map(|one| one / other);
    let share = |one, other| ratio(one, other).and_then(|ratio| ratio.checked_mul(100));
    let rise = |to: i128, from: i128| share(to.checked_sub(from)?, from);
    let (small, large) = (one.min(other), one.max(other));
    match (number.is_percent, number.unit, turn) {
        (true, _, Turn::Any) => [share(one, other), share(other, one), rise(one, other), rise(other, one)],
        (true, _, Turn::Grew) => [rise(large, small), None, None, None],
        (true, _, Turn::Shrank) => [rise(small, large), None, None, None],
        (true, _, Turn::Part) => [share(small, large), share(large, small), None, None],
        (false, None, _) => [ratio(one, other), ratio(other, one), None, None],
        (false, Some(_), _) => [None; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_a_share_came_about() {
        let check = |text: &str, expected: Turn| {
            let at = text.find(|char: char| char.is_ascii_digit()).unwrap();
            assert_eq!(Turn::of(text).at(text, at), expected, "{text}");
        };
        check("Sales increased by 25 %", Turn::Grew);
        check("Sales rose to 25 % of the whole", Turn::Any);
        check("Der Umsatz sank um 25 %", Turn::Shrank);
        check("The share of children was 25 %", Turn::Part);
        check("More than 25 % were children", Turn::Any);
    }
}
