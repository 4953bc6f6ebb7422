//! Words and signs by which a number is not exact, and on which side of it the true one is: `about 40`, `more than
//! 3,000`, `at most 5 %`, `5,000+`.

use std::{collections::HashMap, ops::Range, sync::LazyLock};

use foldhash::fast::FixedState;

use super::{
    figure::{Number, Precision},
    page::{Page, PlacedNumber},
    reader::{Reader, lower},
    tokens::{Token, tokens},
    units,
};

/// Before a number, or before the sign or short word in front of it. Words of one phrase are joined by `_`.
const BEFORE: &[(Precision, &str)] = &[
    (
        Precision::About,
        "about around roughly nearly almost approximately some circa ca rund etwa ungefähr knapp fast gut environ presque près \
         unos unas casi aproximadamente cerca quasi quase ongeveer bijna около примерно почти حوالي تقريبا 约 近 約 약 ~ ≈",
    ),
    (
        Precision::AtLeast,
        "over above exceed exceeds exceeded exceeding surpass surpasses surpassed surpassing topped topping beyond more_than \
         greater_than higher_than larger_than longer_than older_than upwards_of at_least in_excess_of ≥ \
         über mindestens wenigstens mehr_als größer_als höher_als länger_als älter_als übersteigt überstieg \
         plus_de plus_d au_moins supérieur_à supérieure_à supérieurs_à dépasse dépassé dépassait dépassant \
         más_de más_que al_menos por_lo_menos como_mínimo superior_a supera superó superaba superan \
         oltre almeno più_di superiore_a superiori_a mais_de pelo_menos ao_menos acima_de \
         meer_dan ten_minste minstens ruim более больше более_чем больше_чем свыше أكثر_من 超 超_过 超_過 至_少 多_于 高_于 逾",
    ),
    (
        Precision::AtMost,
        "under below less_than fewer_than lower_than smaller_than shorter_than younger_than at_most up_to ≤ \
         unter höchstens maximal weniger_als kleiner_als niedriger_als geringer_als kürzer_als jünger_als bis_zu \
         moins_de moins_d au_plus inférieur_à inférieure_à inférieurs_à jusqu_'_à jusqu_’_à menos_de menos_que como_máximo inferior_a hasta \
         meno_di al_massimo fino_a inferiore_a inferiori_a no_máximo até abaixo_de minder_dan hoogstens ten_hoogste \
         менее меньше менее_чем меньше_чем أقل_من 不_到 不_足 少_于 低_于",
    ),
];

/// Before words of direction: turns it, as in `no more than`.
const NOT: [&str; 11] = ["no", "not", "nicht", "nie", "ne", "pas", "non", "não", "niet", "не", "without"];

/// Behind a number or its unit.
const BEHIND: &[(Precision, &str)] = &[
    (
        Precision::AtLeast,
        "or_more or_higher or_greater or_above or_over or_older or_longer and_more and_above and_over and_older oder_mehr und_mehr \
         ou_plus et_plus o_más y_más o_più ou_mais of_meer 余 多 以_上",
    ),
    (
        Precision::AtMost,
        "or_less or_fewer or_lower or_below or_under or_younger or_shorter oder_weniger ou_moins o_menos o_meno ou_menos of_minder \
         以_下",
    ),
];

/// Of these the first may also be years until or beyond something.
const UP_TO: [&str; 5] = ["to", "zu", "à", "hasta", "até"];

/// Tokens from a phrase to the number behind a sign of two tokens, and letters of the longest word that may stand
/// between the two.
const BEFORE_SUM: usize = 3;
const SHORT: usize = 3;

/// The phrases that end with a word, before it: the others in order.
type Ends = HashMap<&'static str, Vec<(Vec<&'static str>, Precision)>, FixedState>;

static ENDS: LazyLock<Ends> = LazyLock::new(|| {
    let mut ends = Ends::default();
    for (precision, phrases) in BEFORE {
        for phrase in phrases.split_whitespace() {
            let mut words: Vec<&str> = phrase.split('_').collect();
            let Some(last) = words.pop() else { continue };
            ends.entry(last).or_default().push((words, *precision));
        }
    }
    ends
});

/// Returns how exact a number is at these bytes of a text with these tokens.
pub fn precision(text: &str, tokens: &[Token<'_>], place: &Range<usize>) -> Precision {
    let index = |byte: usize| tokens.partition_point(|token| token.at < byte);
    let first = index(place.start);
    Reader::at(text, tokens, first).precision(index(place.end).saturating_sub(first))
}

impl Page {
    /// Returns whether a number stands on the other side of the true one there than in a statement: `fewer than 200` of
    /// a page with `more than 200`.
    pub fn bounds_otherwise(&self, number: &Number, placed: &PlacedNumber) -> bool {
        let opposite = match number.precision {
            Precision::AtLeast => Precision::AtMost,
            Precision::AtMost => Precision::AtLeast,
            Precision::Exact | Precision::About => return false,
        };
        let (text, start) = (self.sentence(placed.sentence), self.start_of(placed.sentence));
        let place = placed.place.start.saturating_sub(start)..placed.place.end.saturating_sub(start);
        precision(text, &tokens(text), &place) == opposite
    }
}

impl Reader<'_> {
    /// Returns how exact a number is that ends before the token `behind`.
    fn precision(self, behind: usize) -> Precision {
        let before = match self.said_before(1) {
            // `$`, `the`, and what belongs to a sum.
            None if self.is_short_before() => self.said_before(2).or_else(|| self.said_before_sum()),
            None => self.said_before(2).filter(|precision| *precision == Precision::About),
            found => found,
        };
        before.or_else(|| self.said_behind(behind)).unwrap_or_default()
    }

    /// Returns what the words say that end so many tokens before the number.
    fn said_before(self, back: usize) -> Option<Precision> {
        let ends = ENDS.get(&*lower(self.back(back)?.token(0)?.text))?;
        let before = |more: usize| Some(lower(self.back(back + more)?.token(0)?.text));
        let stands = |words: &[&str]| {
            words.iter().rev().zip(1..).all(|(word, more)| before(more).is_some_and(|before| before == *word))
        };
        let (words, precision) = ends.iter().filter(|(words, _)| stands(words)).max_by_key(|(words, _)| words.len())?;
        let last = self.back(back)?.word(0);
        let is_until = last.is_some_and(|last| UP_TO.contains(&&*last)) && *precision == Precision::AtMost;
        if is_until && self.year(0).is_some_and(|year| (1_900..=2_100).contains(&year)) {
            return None;
        }
        let is_denied = before(words.len() + 1).is_some_and(|word| NOT.contains(&&*word));
        Some(if is_denied { precision.denied() } else { *precision })
    }

    /// Returns whether a sign or short word stands before the number.
    fn is_short_before(self) -> bool {
        let token = self.back(1).and_then(|before| before.token(0));
        token.is_some_and(|token| !token.is_number() && token.text.chars().nth(SHORT).is_none())
    }

    /// Returns what stands before `US$ 5`.
    fn said_before_sum(self) -> Option<Precision> {
        let sign = self.back(1)?.token(0)?;
        let is_money = units::unit_as_written(sign.text, &lower(sign.text)).is_some_and(units::Unit::is_money);
        if is_money && self.back(1)?.is_short_before() { self.said_before(BEFORE_SUM) } else { None }
    }

    /// Returns what stands behind a number that ends before a token, or behind its unit.
    fn said_behind(self, behind: usize) -> Option<Precision> {
        let is_plus = |at: usize| self.token(at).is_some_and(|token| token.is('+')) && self.is_glued(at - 1);
        let is_alone = |at: usize| !(self.is_glued(at) && self.token(at + 1).is_some_and(|next| next.is_number()));
        if is_plus(behind) && is_alone(behind) || is_plus(behind + 1) && is_alone(behind + 1) {
            return Some(Precision::AtLeast);
        }
        let says = |(precision, phrases): &(Precision, &'static str), at: usize| {
            let is_word = |(word, at): (&str, usize)| self.word(at).as_deref() == Some(word);
            let stands = |phrase: &str| phrase.split('_').zip(at..).all(is_word);
            phrases.split_whitespace().any(stands).then_some(*precision)
        };
        let may_say = |at: &usize| self.word(*at).is_some_and(|word| word.chars().nth(SHORT).is_none());
        let mut places = [behind, behind + 1].into_iter().filter(|at| may_say(at));
        places.find_map(|at| BEHIND.iter().find_map(|line| says(line, at)))
    }
}
