//! The numbers and codes of a text, and with them its dates and times.

use super::{
    compounds::add,
    figure::{EMPTY, Figure, Number, PlacedFigure, Reading},
    quarters,
    reader::{Reader, lower},
    readings::readings,
    signs,
    tokens::{Kind, Token, digit},
    units,
    words::{self, ONE},
};
use crate::text::is_unspaced;

/// Characters of a number in Chinese or Japanese; a longer run of them is none.
const MOST_SIGNS: usize = 32;
/// An ordinal that is a unit as well.
const SECOND: &str = "second";
/// The sign of a currency that is a letter, before a sum: `R500 million`. Digits of the shortest one without a word for
/// so many.
const RAND: &str = "R";
const SHORTEST_SUM: usize = 3;
/// The largest number of tenths that is said by one of them.
const MOST_TENTHS: i128 = 10 * ONE;

/// Returns all figures of a text, in order.
pub fn figures<'a>(text: &'a str, tokens: &'a [Token<'a>]) -> impl Iterator<Item = PlacedFigure> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(first) = tokens.get(at) {
            if let Some((figure, used)) = Reader::at(text, tokens, at).read() {
                let last = tokens[at + used - 1];
                at += used;
                return Some(PlacedFigure { figure, start: first.at, end: last.end() });
            }
            at += 1;
        }
        None
    })
}

impl Reader<'_> {
    fn read(self) -> Option<(Figure, usize)> {
        let token = self.token(0)?;
        if let Some(found) = self.identifier() {
            return Some(found);
        }
        match token.kind {
            Kind::Number if self.is_of_gas() => None,
            Kind::Number => {
                let named = || self.part_of_year().or_else(|| self.decade_of_century());
                let power = || self.with_power().or_else(|| Some(self.number()));
                self.date().or_else(|| self.time()).or_else(named).or_else(power)
            }
            Kind::Word if words::begins_no_figure(token.text, self.is_glued(0)) => self.one_of_many(),
            Kind::Word => {
                let by_word = || self.number_word().or_else(|| self.one_of_many());
                self.date().or_else(|| self.code()).or_else(by_word)
            }
            Kind::Mark('.') => self.begins_fraction(),
            Kind::Mark(_) => None,
        }
    }

    /// Returns whether the digit of `gCO2/kWh` stands here, which counts nothing.
    fn is_of_gas(self) -> bool {
        let before = self.back(1).filter(|before| before.is_glued(0)).and_then(|before| before.token(0));
        let weight = before.and_then(|before| GASES.iter().find_map(|gas| before.text.strip_suffix(gas)));
        weight.is_some_and(|weight| units::unit_as_written(weight, &lower(weight)).is_some())
    }

    /// Reads a code, as in `HR-2217`, `IR-2030-11`, `Q3` or `A4`.
    fn code(self) -> Option<(Figure, usize)> {
        let first = self.token(0)?;
        let is_capital =
            first.text.chars().all(char::is_uppercase) && !(units::is_currency_code(first.text) || self.is_rand());
        let is_capital = is_capital && !self.is_unit_before_another();
        let is_begin = is_capital || self.is_glued(0) && is_of_elements(first.text);
        if !is_begin || first.text.len() > 8 {
            return None;
        }
        let mut used = 1;
        let mut has_digits = false;
        while self.is_glued(used - 1) {
            let Some(next) = self.token(used) else { break };
            let joins = matches!(next.kind, Kind::Mark('-' | '‑' | '/')) && self.is_glued(used);
            // The year of `H2/2030` is a figure of its own.
            let is_of_year =
                || self.year(used + 1).is_some() && quarters::is_part_of_year(&self.text_of(used).to_lowercase());
            if joins && is_of_year() {
                break;
            }
            // In `CO2排放量` the code ends where the script does.
            let is_letters = next.is_word() && !next.text.starts_with(is_unspaced);
            if !(next.is_number() || joins || is_letters && has_digits) {
                break;
            }
            has_digits |= next.is_number();
            used += 1;
        }
        while used > 0 && self.token(used - 1).is_some_and(|last| matches!(last.kind, Kind::Mark(_))) {
            used -= 1;
        }
        // One element alone is as well a word, as in `No5`.
        let is_formula = || self.text_of(used).chars().filter(|char| char.is_uppercase()).count() > 1;
        if !is_capital && !is_formula() {
            return None;
        }
        let code = self.text_of(used).to_lowercase();
        // `CO₂` is `CO2`.
        let plain = |char: char| digit(char).map_or(char, |digit| char::from(b'0' + digit));
        has_digits.then(|| (Figure::Code(code.chars().map(plain).collect()), used))
    }

    /// Returns whether the unit of a number stands here, with another number behind a stroke: `100 MW/400 MWh`,
    /// `200C/400F`. It begins no code.
    fn is_unit_before_another(self) -> bool {
        let Some(before) = self.back(1) else { return false };
        // The letter of a scale is a unit only behind digits.
        let is_scale = || before.letter_of_scale(1).is_some();
        let is_pair =
            || self.token(1).is_some_and(|token| token.is('/')) && self.token(2).is_some_and(|next| next.is_number());
        let is_number = |before: Self| before.token(0).is_some_and(|token| token.is_number());
        // `750-MW/3,000-MWh`, `5 °C/41 °F`.
        let is_behind_mark = || {
            let is_mark = before.token(0).is_some_and(|token| token.is('°') || token.is('-') || token.is('‑'));
            is_mark && before.back(1).is_some_and(is_number)
        };
        let is_unit = || {
            let is_degree = before.token(0).is_some_and(|token| token.is('°'));
            let of_degree = || is_degree.then(|| before.unit(0)).flatten();
            self.unit(0).or_else(of_degree).is_some()
        };
        is_scale() || is_pair() && (is_number(before) || is_behind_mark()) && is_unit()
    }

    /// Returns whether a sum in rand stands here; `R5` and `R134a` are none.
    fn is_rand(self) -> bool {
        let is_sum = |digits: Token<'_>| match self.word(2) {
            Some(word) if words::multiple(&word).is_some() => true,
            Some(_) if self.is_glued(1) => false,
            _ => digits.text.len() >= SHORTEST_SUM,
        };
        self.token(0).is_some_and(|token| token.text == RAND)
            && self.is_glued(0)
            && self.token(1).filter(Token::is_number).is_some_and(is_sum)
    }

    /// Returns what a character of a script without spaces multiplies by that follows another one at once.
    pub fn multiple_sign(self, ahead: usize) -> Option<i128> {
        self.token(ahead).filter(|token| token.text.starts_with(is_unspaced) && self.is_glued(ahead - 1))?;
        self.word_of_multiple(ahead)
    }

    /// Returns what a word multiplies by. The first sign of `千瓦` and of `兆瓦` does not: they are units.
    fn word_of_multiple(self, ahead: usize) -> Option<i128> {
        let word = self.word(ahead)?;
        let is_of_unit = || word.starts_with(is_unspaced) && signs::unit(self.rest(ahead)).is_some();
        words::multiple(&word).filter(|_| !is_of_unit())
    }

    fn number(self) -> (Figure, usize) {
        let text = self.token(0).map_or("", |token| token.text);
        let (readings, parts) = readings(text);
        let (mut number, mut used) = (Number { readings, parts, ..EMPTY }, 1);
        if let Some(value) = self.fraction_of_point() {
            number.readings = vec![Reading { value, step: ONE / 100 }];
            return self.with_words(number, 3);
        }
        let fraction = self.token(1).filter(|_| self.is_glued(0)).and_then(|token| words::fraction(token.text));
        if let Some(fraction) = fraction {
            add(&mut number, fraction);
            used += 1;
        }
        number.readings.extend(self.last_year().or_else(|| self.decade()).or_else(|| self.year_of_quarter()));
        // `In 2030 1/3 of the boats sank`.
        let behind = || if number.is_year() { None } else { self.fraction_behind(used) };
        if let Some((fraction, tokens)) = self.half(used).or_else(behind) {
            add(&mut number, fraction);
            used += tokens;
        }
        self.with_words(number, used)
    }

    /// Returns the year 1945 of `1939–45`.
    fn last_year(self) -> Option<Reading> {
        let value = |text: &str| text.parse::<i128>().ok();
        let (own, first) = (self.token(0)?, self.back(2)?);
        let is_range = first.is_until(1) && first.is_glued(0) && first.is_glued(1) && own.text.len() == 2;
        let from = value(first.token(0)?.text).filter(|year| is_range && (1_000..=2_200).contains(year))?;
        let year = from - from % 100 + value(own.text)?;
        (year > from).then_some(Reading { value: year * ONE, step: ONE })
    }

    fn number_word(self) -> Option<(Figure, usize)> {
        let word = self.word(0)?;
        let is_sign = |ahead: usize| self.token(ahead).is_some_and(|token| is_numeral(token.text));
        // `三割` is thirty per cent.
        if let Some(tenths) = words::ideographs(&word).filter(|tenths| *tenths <= MOST_TENTHS && self.is_tenths(1)) {
            let number = Number { readings: vec![Reading { value: tenths, step: ONE }], is_word: true, ..EMPTY };
            return Some(self.with_words(number, 1));
        }
        if is_sign(0) {
            let signs = (0..=MOST_SIGNS).take_while(|ahead| is_sign(*ahead));
            let signs: Vec<&str> = signs.filter_map(|ahead| self.token(ahead)).map(|token| token.text).collect();
            let is_number = (2..=MOST_SIGNS).contains(&signs.len());
            let value = is_number.then(|| words::ideographs(&signs.concat())).flatten()?;
            let number = Number { readings: vec![Reading { value, step: ONE }], is_word: true, ..EMPTY };
            return Some((Figure::Number(number), signs.len()));
        }
        if let Some(half) = self.half_of_one(&word) {
            return Some(half);
        }
        if self.is_coin(&word) {
            return None;
        }
        let (mut value, mut used, mut seconds) = (words::number(&word)?, 1, None);
        // `twenty-one`, `twenty-first`, `quatre-vingt-douze`, `two hundred`.
        let ones = || self.word(2).and_then(|word| words::number(&word).or_else(|| words::ordinal(&word)));
        if let Some((compound, tokens)) = self.french() {
            (value, used) = (compound, tokens);
        } else if let (Some(mark), Some(ones)) = (self.token(1), ones())
            && mark.is('-')
            && value >= 20 * ONE
            && ones < 10 * ONE
        {
            // `A thirty-second advertisement` lasts thirty of them.
            seconds = (self.word(2).as_deref() == Some(SECOND)).then_some(Reading { value, step: ONE });
            (value, used) = (value + ones, 3);
        } else if let Some(hundred) = self.hundred(1) {
            (value, used) = (value * (hundred / ONE), 2);
        }
        let readings = std::iter::once(Reading { value, step: ONE }).chain(seconds).collect();
        let mut number = Number { readings, is_word: true, ..EMPTY };
        if let Some((half, tokens)) = self.half(used) {
            add(&mut number, half);
            used += tokens;
        }
        Some(self.with_words(number, used))
    }

    /// Reads a hundred or a thousand behind a number in words.
    fn hundred(self, ahead: usize) -> Option<i128> {
        let word = self.word(ahead)?;
        let hundred = words::number(&word).filter(|value| [100 * ONE, 1_000 * ONE].contains(value))?;
        (!self.on(ahead).is_coin(&word)).then_some(hundred)
    }

    /// Returns whether `cent`, which is a hundred in French, is a coin here: `50 Cent`, `5-cent`, `fifty cent`.
    fn is_coin(self, word: &str) -> bool {
        let is_joined = || self.back(1).and_then(|before| before.token(0)).is_some_and(|token| token.is('-'));
        let is_foreign = |number: &str| words::number(number).is_some() && !words::are_of_one_language(number, word);
        let counts_coins = |before: Self| match before.word(0) {
            Some(number) => is_foreign(&number),
            None => before.token(0).is_some_and(|token| token.is_number()),
        };
        word == "cent" && self.back(if is_joined() { 2 } else { 1 }).is_some_and(counts_coins)
    }

    /// Returns the number with what stands around it; `own` tokens are its own.
    pub fn with_words(self, mut number: Number, own: usize) -> (Figure, usize) {
        let (multiple, mut used) = self.multiple(own);
        number.multiple = multiple;
        for reading in &mut number.readings {
            let Reading { value, step } = *reading;
            *reading = Reading { value: value.saturating_mul(multiple), step: step.saturating_mul(multiple) };
        }
        let (mut last, is_sign) = (multiple, used > own && self.multiple_sign(used - 1).is_some());
        let smaller_part = |used: usize, last: i128| if is_sign { self.smaller_part(used, last) } else { None };
        while let Some((part, tokens)) = smaller_part(used, last) {
            for reading in &mut number.readings {
                *reading = Reading { value: reading.value.saturating_add(part.value), step: part.step };
            }
            (last, number.multiple, used) = (part.value / ONE, 1, used + tokens);
        }
        // `1万2千亿`.
        while let Some(more) = self.multiple_sign(used).filter(|_| number.multiple == 1 && last < multiple) {
            for reading in &mut number.readings {
                *reading =
                    Reading { value: reading.value.saturating_mul(more), step: reading.step.saturating_mul(more) };
            }
            used += 1;
        }
        let end = self.with_measure(&mut number, used);
        if self.is_tenths(used) {
            for reading in &mut number.readings {
                *reading = Reading { value: reading.value.saturating_mul(10), step: reading.step.saturating_mul(10) };
            }
        }
        (Figure::Number(number), end)
    }

    /// Returns what the words behind a number multiply it by, and the tokens used until then.
    fn multiple(self, own: usize) -> (i128, usize) {
        let own_word = own + usize::from(self.is_hyphen(own));
        let first = self.word_of_multiple(own_word).or_else(|| self.multiple_letter(own));
        let Some(mut multiple) = first else { return (1, own) };
        let mut used = own_word + 1;
        // `1万亿`, `3百万`, `5 mil millones`.
        let larger = |ahead: usize, than: i128| self.word_of_multiple(ahead).filter(|more| *more > than);
        while let Some(more) = self.multiple_sign(used).or_else(|| larger(used, multiple)) {
            multiple = multiple.saturating_mul(more);
            used += 1;
        }
        used += usize::from(self.token(used).is_some_and(|token| token.is('.')) && self.is_glued(used - 1));
        (multiple, used)
    }

    /// Returns whether a hyphen joins two words here, as in `412-million`.
    pub fn is_hyphen(self, ahead: usize) -> bool {
        let is_hyphen = self.token(ahead).is_some_and(|token| token.is('-') || token.is('‑'));
        is_hyphen && self.is_glued(ahead - 1) && self.is_glued(ahead)
    }

    /// Reads the letters of a multiple, as in `$5m`, `2.3B`, `5 M€` or `$5m-a-year`, and what is a name or another word
    /// in other places: `5 Mia. Franken`, `154 Md€`. Thousands of euros are `T€`.
    fn multiple_letter(self, ahead: usize) -> Option<i128> {
        let text = self.token(ahead)?.text;
        let power = match text {
            "M" | "m" | "MM" | "mm" => 6,
            "B" | "b" | "Md" | "Mia" => 9,
            "T" if self.is_glued(ahead) && self.token(ahead + 1).is_some_and(|token| token.is('€')) => 3,
            "T" | "t" => 12,
            _ => return None,
        };
        let is_paid = || self.currency_before().is_some();
        let is_money = || self.unit(ahead + 1).is_some_and(|unit| unit.is_money()) || is_paid();
        let is_glued_capital = || ["M", "B", "Md"].contains(&text) && self.is_glued(ahead - 1);
        let goes_on = || match text {
            "Md" => matches!(self.word(ahead + 1).as_deref(), Some("d" | "de")),
            "Mia" => self.token(ahead + 1).is_some_and(|token| token.is('.')) && self.is_glued(ahead),
            _ => false,
        };
        // Nobody pays metres: of `$5m-a-year` the sum is counted, of `€500 m²` the area.
        let is_power = self.token(ahead + 1).is_some_and(|token| "²³".contains(token.text));
        let is_multiple = match self.is_more(ahead) {
            true => !is_power && self.is_glued(ahead - 1) && is_paid(),
            false => is_glued_capital() || is_money() || goes_on(),
        };
        is_multiple.then(|| 10_i128.pow(power))
    }
}

/// What units of weight are written in front of, before a digit.
const GASES: [&str; 3] = ["CO", "CH", "SO"];

/// Returns whether a word may be the beginning of a chemical formula such as `TiO2`: a capital and at most one small
/// letter for each element, and not capitals alone.
fn is_of_elements(word: &str) -> bool {
    let mut is_behind_capital = false;
    word.chars().all(|char| {
        let fits = char.is_ascii_uppercase() || is_behind_capital && char.is_ascii_lowercase();
        is_behind_capital = char.is_ascii_uppercase();
        fits
    }) && word.contains(char::is_lowercase)
}

fn is_numeral(text: &str) -> bool {
    text.starts_with(is_unspaced) && text.chars().all(|char| "〇零一二两兩三四五六七八九十百千万萬亿億".contains(char))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{figure::Date, tokens::tokens},
        *,
    };

    fn found(text: &str) -> Vec<Figure> {
        figures(text, &tokens(text)).map(|found| found.figure).collect()
    }

    fn values(text: &str) -> Vec<f64> {
        let number = |figure: Figure| match figure {
            Figure::Number(number) => number.readings.iter().map(|reading| reading.value as f64 / ONE as f64).collect(),
            other => panic!("{other:?} in {text}"),
        };
        found(text).into_iter().flat_map(|figure: Figure| -> Vec<f64> { number(figure) }).collect()
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        let check = |text: &str, expected: &[f64]| assert_eq!(values(text), expected, "{text}");
        check("412,000 crowns", &[412_000.0]);
        check("412,500 crowns", &[412_500.0, 412.5]);
        check("1.234,56 €", &[1_234.56]);
        check("1,234.56", &[1_234.56]);
        check("0.300", &[0.3]);
        check("14 200 and 3’000", &[14_200.0, 3_000.0]);
        check("4.35 million", &[4_350_000.0]);
        check("2 Mrd. Euro", &[2_000_000_000.0]);
        check("耗资4亿元", &[400_000_000.0]);
        check("耗资1万亿元，其中3千万", &[1_000_000_000_000.0, 30_000_000.0]);
        check("twenty-one boats, two hundred gulls", &[21.0, 200.0]);
        check("einundzwanzig Boote", &[21.0]);
        check("over a million users, half a million cars", &[1_000_000.0, 500_000.0]);
        check("eine Million, eine halbe Milliarde", &[1_000_000.0, 500_000_000.0]);
        check("a half-million boats", &[500_000.0]);
        check("a quarter of a million, a million and a half, half of it, a billion-dollar company", &[]);
        check("5 Mia. Franken, 154 Md€, 412 T€", &[5_000_000_000.0, 154_000_000_000.0, 412_000.0]);
        check("5 Mia stayed", &[5.0]);
        check("٣٫٥", &[3.5]);
        check("12.345.678", &[12_345_678.0]);
    }

    #[test]
    fn dates_are_one_in_every_spelling() {
        let date = Figure::Date(vec![Date { year: Some(2030), month: Some(11), day: Some(14) }]);
        for text in [
            "2030-11-14",
            "14.11.2030",
            "14/11/2030",
            "11/14/2030",
            "14 November 2030",
            "November 14, 2030",
            "14. November 2030",
            "14th of November, 2030",
            "14 novembre 2030",
            "14 de noviembre de 2030",
            "14 ноября 2030",
            "2030年11月14日",
            "2030년 11월 14일",
            "14 نوفمبر 2030",
            "14 november 2030",
            "14 de novembro de 2030",
        ] {
            assert_eq!(found(text), std::slice::from_ref(&date), "{text}");
        }
        let partly = |month, day, year| vec![Figure::Date(vec![Date { year, month: Some(month), day }])];
        assert_eq!(found("in May 2031"), partly(5, None, Some(2031)));
        assert_eq!(found("1er mars"), partly(3, Some(1), None));
        assert_eq!([found("2031-05: paid"), found("as of 2031-05.")], [(); 2].map(|()| partly(5, None, Some(2031))));
        for two_numbers in ["2009-10", "2031-32", "2031-5", "2031 - 05", "2031-05-99"] {
            assert!(!matches!(&found(two_numbers)[..], [Figure::Date(_), ..]), "{two_numbers}");
        }
        assert_eq!(found("It may be so."), []);
        let Some(Figure::Date(either)) = found("3/4/2030").pop() else { panic!("no date") };
        assert_eq!(either.len(), 2);
    }

    #[test]
    fn times_and_codes() {
        let check = |text: &str, expected: Figure| assert_eq!(found(text), [expected], "{text}");
        check("at 16:00", Figure::Time(16, 0));
        check("at 4 pm", Figure::Time(16, 0));
        check("um 16 Uhr", Figure::Time(16, 0));
        check("à 16h30", Figure::Time(16, 30));
        check("incident IR-2030-11", Figure::Code("ir-2030-11".to_owned()));
        check("in Q3", Figure::Code("q3".to_owned()));
        check("Q3에", Figure::Code("q3".to_owned()));
        check("GPT-4는", Figure::Code("gpt-4".to_owned()));
        check("A4B纸", Figure::Code("a4b".to_owned()));
        assert!(matches!(&found("EUR2,400")[..], [Figure::Number(_)]));
    }

    #[test]
    fn what_stands_around_a_number_is_kept() {
        let Some(Figure::Number(number)) = found("about 30 % of it").pop() else { panic!("no number") };
        assert!(number.is_percent && !number.is_word);
        let Some(Figure::Number(number)) = found("4.3 MWh").pop() else { panic!("no number") };
        assert_eq!(number.unit.map(|unit| unit.quantity), Some("energy"));
        for text in ["Nel 2030 ha vinto", "In 2019 won Petrel", "the 1980s ended"] {
            let Some(Figure::Number(number)) = found(text).pop() else { panic!("no number") };
            assert!(number.is_year(), "{text}");
        }
    }
}
