//! Numbers with a power of ten: `3.2 × 10^9`, `3.2×10⁹`, `3.2 x 10<sup>9</sup>`, `$3.2 \times 10^{9}$`, `3.2e9`; and
//! fractions without a zero before them, `.001`.

use super::{
    figure::{EMPTY, Figure, Number, Reading},
    reader::Reader,
    readings::readings,
    tokens::{Kind, Token},
    words::ONE,
};

/// The digits above the line, by their value.
const ABOVE: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
/// Digits of the longest power.
const MOST_DIGITS: usize = 3;
/// Numbers with larger powers are compared as they are written: there is no room for them.
const LARGEST: u32 = 24;
const ONE_READING: Reading = Reading { value: ONE, step: ONE };

impl Reader<'_> {
    /// Reads a number with a power of ten. One that is too large or small to be counted is known by its digits.
    pub fn with_power(self) -> Option<(Figure, usize)> {
        let (power, mut used) = self.times_ten().or_else(|| self.exponent()).or_else(|| self.ten_alone())?;
        let is_alone = self.is_alone();
        let found = if is_alone { vec![ONE_READING] } else { readings(self.token(0)?.text).0 };
        let first = *found.first()?;
        let is_formula = self.back(1).is_some_and(|sign| sign.is_sign_of_formula(used + 1));
        used += usize::from(is_formula);
        let Some(readings) = found.iter().map(|reading| raised(*reading, power)).collect::<Option<Vec<_>>>() else {
            return Some((Figure::Code(digits(first, power)), used));
        };
        let is_footnote = is_alone && !self.token(1)?.is('^');
        let own = is_footnote.then_some(Reading { value: 10 * ONE, step: ONE });
        let number = Number { readings: readings.into_iter().chain(own).collect(), ..EMPTY };
        let (figure, used) = self.with_words(number, used);
        Some((if is_formula { without_currency(figure) } else { figure }, used))
    }

    /// Reads `.001`, whose full stop stands here.
    pub fn begins_fraction(self) -> Option<(Figure, usize)> {
        let digits = self.token(1).filter(|digits| digits.is_number() && self.is_glued(0))?;
        let before = self.back(1).filter(|before| before.is_glued(0)).and_then(|before| before.token(0));
        let may_begin = before.is_none_or(|before| {
            matches!(
                before.kind,
                Kind::Mark('<' | '>' | '=' | '≤' | '≥' | '(' | '[' | '~' | '-' | '−' | '–' | '$' | '€' | '£')
            )
        });
        let text = Some(digits.text).filter(|text| may_begin && text.bytes().all(|byte| byte.is_ascii_digit()))?;
        let number = Number { readings: readings(&format!("0.{text}")).0, ..EMPTY };
        Some(self.with_words(number, 2))
    }

    /// Returns the tokens that say times.
    fn times(self, ahead: usize) -> usize {
        let Some(token) = self.token(ahead) else { return 0 };
        match token.kind {
            Kind::Mark('×' | '·' | '⋅' | '*' | '✕') => 1,
            Kind::Word if matches!(token.text, "x" | "X" | "times" | "cdot") => 1,
            Kind::Mark('\\') if matches!(self.word(ahead + 1).as_deref(), Some("times" | "cdot")) => 2,
            _ => 0,
        }
    }

    /// Reads `× 10^9` behind a number.
    fn times_ten(self) -> Option<(i32, usize)> {
        let times = Some(self.times(1)).filter(|times| *times > 0)?;
        let ten = 1 + times;
        self.token(ten).filter(|token| token.text == "10")?;
        let (power, used) = self.power_above(ten + 1)?;
        Some((power, ten + 1 + used))
    }

    /// Returns whether this is ten, with a power of its own.
    fn is_alone(self) -> bool {
        let is_power = |token: Token<'_>| token.is('^') || token.text.starts_with(ABOVE) || token.is('⁻');
        self.token(0).is_some_and(|token| token.text == "10") && self.token(1).is_some_and(is_power)
    }

    /// Reads `10^9`. A digit above the line may be the number of a footnote, too.
    fn ten_alone(self) -> Option<(i32, usize)> {
        let (power, used) = self.power_above(1).filter(|_| self.is_alone())?;
        Some((power, 1 + used))
    }

    /// Reads `e9` behind a number.
    fn exponent(self) -> Option<(i32, usize)> {
        let is_e = self.token(1).is_some_and(|token| matches!(token.text, "e" | "E")) && self.is_glued(0);
        if !is_e
            || self
                .back(1)
                .is_some_and(|before| before.is_glued(0) && before.token(0).is_some_and(|token| token.is_word()))
        {
            return None;
        }
        let (power, used) = self.signed(2).filter(|_| self.is_glued(1))?;
        let is_last =
            !self.is_glued(1 + used) || self.token(2 + used).is_some_and(|next| matches!(next.kind, Kind::Mark(_)));
        let is_whole = (1..1 + used).all(|at| self.is_glued(at));
        (is_last && is_whole).then_some((power, 2 + used))
    }

    /// Reads a power behind ten: `^9`, `^{-9}`, `⁹`, `<sup>9</sup>`.
    fn power_above(self, ahead: usize) -> Option<(i32, usize)> {
        let token = self.token(ahead).filter(|_| self.is_glued(ahead - 1))?;
        let begins = |texts: &[&str], at: usize| {
            texts.iter().zip(at..).all(|(text, at)| self.token(at).is_some_and(|token| token.text == *text))
        };
        let around =
            [(&["^", "{"][..], &["}"][..]), (&["^", "("], &[")"]), (&["<", "sup", ">"], &["<", "/", "sup", ">"])];
        if let Some((before, behind)) = around.into_iter().find(|(before, _)| begins(before, ahead)) {
            let (power, used) = self.signed(ahead + before.len())?;
            let end = before.len() + used;
            return begins(behind, ahead + end).then_some((power, end + behind.len()));
        }
        if token.is('^') {
            return self.signed(ahead + 1).map(|(power, used)| (power, 1 + used));
        }
        self.power_in_signs(ahead)
    }

    /// Reads digits above the line.
    fn power_in_signs(self, ahead: usize) -> Option<(i32, usize)> {
        let sign = |at: usize| self.token(at).and_then(|token| token.text.chars().next());
        let is_negative = sign(ahead) == Some('⁻');
        let first = ahead + usize::from(is_negative);
        let digit =
            |at: usize| ABOVE.iter().position(|known| Some(*known) == sign(at)).filter(|_| self.is_glued(at - 1));
        let digits: Vec<usize> = (first..=first + MOST_DIGITS).map_while(digit).collect();
        let power = digits.iter().fold(0, |power, digit| power * 10 + *digit as i32);
        let is_power = (1..=MOST_DIGITS).contains(&digits.len());
        is_power.then_some((if is_negative { -power } else { power }, digits.len() + usize::from(is_negative)))
    }

    /// Reads a whole number with or without a sign.
    fn signed(self, ahead: usize) -> Option<(i32, usize)> {
        let sign = self.token(ahead)?;
        let is_negative = ['-', '−', '–', '‑'].into_iter().any(|minus| sign.is(minus));
        let has_sign = is_negative || sign.is('+');
        let digits = self.token(ahead + usize::from(has_sign)).filter(Token::is_number)?.text;
        let power: i32 = digits.parse().ok().filter(|_| digits.len() <= MOST_DIGITS)?;
        Some((if is_negative { -power } else { power }, 1 + usize::from(has_sign)))
    }

    /// Returns whether a `$` stands here and behind so many tokens, as around a formula.
    fn is_sign_of_formula(self, ahead: usize) -> bool {
        let is_sign = |token: Option<Token<'_>>| token.is_some_and(|token| token.is('$'));
        is_sign(self.token(0)) && is_sign(self.token(ahead)) && self.is_glued(0) && self.is_glued(ahead - 1)
    }
}

fn without_currency(figure: Figure) -> Figure {
    match figure {
        Figure::Number(number) => {
            let unit = number.unit.filter(|unit| !unit.is_money());
            Figure::Number(Number { unit, ..number })
        }
        other => other,
    }
}

/// Returns a reading times a power of ten, if that can be counted.
fn raised(reading: Reading, power: i32) -> Option<Reading> {
    let factor = 10_i128.checked_pow(power.unsigned_abs()).filter(|_| power.unsigned_abs() <= LARGEST)?;
    let Reading { value, step } = reading;
    match power < 0 {
        true => (value % factor == 0).then(|| Reading { value: value / factor, step: (step / factor).max(1) }),
        false => Some(Reading { value: value.checked_mul(factor)?, step: step.checked_mul(factor)? }),
    }
}

/// Returns a number of any size as its digits and what the last one counts.
fn digits(reading: Reading, power: i32) -> String {
    let (mut value, mut power) = (reading.value, power - ONE.ilog10() as i32);
    while value != 0 && value % 10 == 0 {
        (value, power) = (value / 10, power + 1);
    }
    format!("{value}e{}{}", if power < 0 { "minus" } else { "" }, power.unsigned_abs())
}
