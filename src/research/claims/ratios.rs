//! What a number may be of two amounts: how many times one is the other, a share, or by which share one is more.

use std::{collections::HashSet, ops::Range};

use super::{figure::Number, words::ONE};
use crate::text::{self, is_in};

/// Say that something grew, that it shrank, or that it is a part. Words of bounds, such as `more`, say none of it.
const GREW: &str = "grow grows growth increase increased increases rise rises rose risen grew grown climbed jumped anstieg wachstum gestiegen stieg stiegen wuchs gewachsen zugenommen \
    augmenté augmentation progressé aumentó subió creció aumentato salito cresciuto aumentou subiu cresceu gestegen steeg stijging вырос выросла выросли";
const SHRANK: &str = "drop cut reduced reduction decrease decreased decline declined fell fallen dropped shrank sank sanken gesunken fiel fielen gefallen rückgang \
    baissé diminué reculé bajó cayó disminuyó diminuito calato sceso caiu diminuiu gedaald daalde daling снизился снизилась сократился";
const PART: &str = "share proportion percentage accounted anteil proporción cuota quota parcela доля";
/// Others by which a number may be more or less than another one.
const COMPARED: &str = "more less fewer higher lower larger smaller wider gain mehr weniger höher niedriger größer kleiner plus moins supérieur inférieur \
    más menos mayor menor più meno maggiore minore mais maior menor meer minder hoger lager больше меньше выше ниже";
/// Between what grew and what it came to; the English article is none.
const UNTIL: &str = "to auf à al para naar до";
/// Before the number by which something grew, wherever in the statement that is said.
const BY: &str = "by um";
/// Between a share and how large it is: `The share of species that declined was 60 %`.
const IS: &str = "is was are were ist war beträgt betrug est était es era fue è é foi bedraagt bedroeg";
/// Words right before a number, which say more of it than those before them.
const NEAR: usize = 3;
/// Bytes before a number that are read.
const CLAUSE_BYTES: usize = 120;
/// Bytes behind a number that are read: its sign or unit, and a word.
const BEHIND_BYTES: usize = 32;

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

    /// Returns what the number at these bytes may say: in a clause with a word of growth, by how much something grew;
    /// elsewhere what the whole statement says, or a part. `60 % of` is one even in such a clause, if the word is far.
    pub fn at(self, text: &str, place: &Range<usize>) -> Vec<Self> {
        let from = text.floor_char_boundary(place.start.saturating_sub(CLAUSE_BYTES));
        let before = text.get(from..place.start).unwrap_or_default().to_lowercase();
        let clause = before.rsplit([',', ';', ':', '(', ')']).next().unwrap_or_default();
        let words = || clause.rsplit(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty());
        let last = words().next().unwrap_or_default();
        let to = text.floor_char_boundary(place.end.saturating_add(BEHIND_BYTES));
        let behind = text.get(place.end..to).unwrap_or_default().to_lowercase();
        let next = behind.split(|char: char| !char.is_alphabetic()).find(|word| !word.is_empty());
        let far = words().skip(NEAR).filter(|_| next != Some("of"));
        let nearest = words().take(NEAR).chain(next).chain(far).find_map(Self::of_word);
        let agrees = |turn: Self| next.and_then(Self::of_word).is_none_or(|next| next == turn);
        let is_part = is_in(IS, last) && words().any(|word| is_in(PART, word));
        match nearest.filter(|turn| agrees(*turn)) {
            _ if is_in(UNTIL, last) => vec![self, Self::Part],
            Some(turn @ (Self::Grew | Self::Shrank)) if is_part => vec![turn, Self::Part],
            Some(turn @ (Self::Grew | Self::Shrank)) => vec![turn],
            _ if words().take(NEAR).any(|word| is_in(BY, word)) => vec![self],
            _ => vec![self, Self::Part],
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        let lists = [(GREW, Self::Grew), (SHRANK, Self::Shrank), (PART, Self::Part)];
        lists.into_iter().find_map(|(list, turn)| is_in(list, word).then_some(turn))
    }

    /// Returns whether something that was one amount and then another did not turn so.
    pub fn is_denied_by(self, [earlier, later]: [i128; 2]) -> bool {
        match self {
            Self::Grew => later < earlier,
            Self::Shrank => later > earlier,
            Self::Any | Self::Part => false,
        }
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
    use super::{Turn::*, *};

    #[test]
    fn words_say_how_a_share_came_about() {
        let check = |text: &str, expected: &[Turn]| {
            let at = text.find(" %").unwrap();
            assert_eq!(Turn::of(text).at(text, &(at - 2..at)), expected, "{text}");
        };
        check("Sales increased by 25 %", &[Grew]);
        check("Sales rose to 25 % of the whole", &[Grew, Part]);
        check("Der Umsatz sank um 25 %", &[Shrank]);
        check("Der Umsatz ist um rund 25 % gestiegen", &[Grew]);
        check("Der Umsatz stieg in der Stadt, nämlich um 25 %", &[Grew]);
        check("The share of children was 25 %", &[Part, Part]);
        check("More than 25 % were children", &[Any, Part]);
        check("Sales saw an increase of 25 %", &[Grew]);
        check("Sales saw a 25 % decline", &[Shrank]);
        check("Sales increased in the north of the country by 25 %", &[Grew]);
        check("Sales rose, the report says, by 25 %", &[Grew]);
        check("Sales rose sharply (25 %)", &[Grew, Part]);
        check("Cars fell by 10 percent, while boats rose by 25 %", &[Grew]);
        check("25 % of the firms said that sales increased", &[Grew, Part]);
        check("Les ventes ont augmenté entre 2021 et 2022 de 25 %", &[Grew]);
        check("La población disminuyó en ese periodo un 25 %", &[Shrank]);
        check("The share of firms whose sales rose is 25 %", &[Grew, Part]);
        check("The share of firms rose 25 %", &[Grew]);
        check("Most increased spending and 25 % reduced it", &[Any, Part]);
        check("Firms that grew their staff in 2022 are 25 % of all", &[Grew, Part]);
        check("Enrolment rose to 1,500, of whom 60 % were women", &[Grew, Part]);
        check("Cloud increased its revenue and accounts for 50 % of it", &[Grew, Part]);
    }
}
