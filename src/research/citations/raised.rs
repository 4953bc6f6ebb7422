//! Raised numbers: `¹`, `<sup>1</sup>`, `^1^`. What they are read as, and where they can be citations, rather than
//! powers (`10⁶`, `x²`), units (`km²`) or the numbers of isotopes.

use super::{
    grammar::tail,
    numbers::{ELEMENTS, MOST_NUMBERS, Numbers},
    scan::RAISED_BYTES,
};

/// The superscript digits by their value.
pub(super) const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
/// Signs of lengths, which with a raised number are units wherever they stand.
const UNITS: [&str; 23] = [
    "m", "km", "hm", "dm", "cm", "mm", "nm", "µm", "μm", "ft", "yd", "м", "км", "см", "мм", "米", "公里", "千米",
    "分米", "厘米", "毫米", "英里", "英尺",
];
/// Ends of words for lengths, in lower case.
const ENDS_OF_LENGTHS: [&str; 19] = [
    "meter",
    "meters",
    "metern",
    "metre",
    "metres",
    "metro",
    "metros",
    "mètre",
    "mètres",
    "метра",
    "метров",
    "mile",
    "miles",
    "feet",
    "yards",
    "inches",
    "米",
    "公里",
    "英里",
];
/// Words before that of which something is counted, in lower case.
const PER: [&str; 7] = ["per", "pro", "je", "par", "por", "na", "на"];
/// Words behind one of them that are no measures, in lower case.
const NO_MEASURES: [&str; 4] = ["capita", "cent", "ciento", "kopf"];
/// Names of Greek letters of four letters or more, which are variables.
const GREEK: [&str; 12] =
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "iota", "kappa", "lambda", "sigma", "omega"];
/// The symbols of all elements.
const SYMBOLS: &str = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br \
    Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W \
    Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn \
    Nh Fl Mc Lv Ts Og";
/// Signs before or behind a raised number that belongs to a formula.
const OPERATORS: [char; 11] = ['=', '+', '−', '×', '·', '⋅', '÷', '≤', '≥', '≈', '^'];

/// Where raised numbers are citations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Raised {
    /// Nowhere: the model cites in another way.
    #[default]
    Nowhere,
    /// Behind a word or the end of a sentence alone. Nothing shows that the model cites so.
    BehindWords,
    /// Behind figures, signs and short words too.
    Anywhere,
}

impl Raised {
    /// Returns whether raised numbers between these texts can be citations.
    pub(super) fn may_cite(self, before: &str, numbers: &[u32], behind: &str) -> bool {
        let before = without_raised(before);
        match self {
            Self::Nowhere => false,
            Self::BehindWords => is_behind_word(before, numbers, behind),
            Self::Anywhere => may_stand(before, numbers, behind),
        }
    }
}

/// Returns whether the character is a raised digit.
pub(super) fn is_superscript(character: char) -> bool {
    SUPERSCRIPTS.contains(&character)
}

/// Returns the number that superscript digits at the front of `text` make, and how many bytes they take.
pub(super) fn superscript(text: &str) -> Option<(u32, usize)> {
    let (mut number, mut bytes, mut count) = (0, 0, 0);
    for character in text.chars() {
        let Some(digit) = SUPERSCRIPTS.iter().position(|&digit| digit == character).filter(|_| count < 3) else {
            break;
        };
        number = number * 10 + u32::try_from(digit).ok()?;
        bytes += character.len_utf8();
        count += 1;
    }
    (number > 0).then_some((number, bytes))
}

/// Returns the numbers of superscript digits at the front of `text`, with their commas and dashes (`¹˒³`, `²⁻⁴`), and
/// how many bytes they take.
pub(super) fn superscripts(text: &str) -> Option<(Vec<u32>, usize)> {
    let (first, mut bytes) = superscript(text)?;
    let mut numbers = vec![first];
    while let Some(sign) = text[bytes..].chars().next().filter(|sign| matches!(sign, '˒' | '⸴' | '⁻' | '⁃')) {
        let Some((next, length)) = superscript(&text[bytes + sign.len_utf8()..]) else { break };
        let last = numbers.last().copied().unwrap_or(next);
        let is_range = matches!(sign, '⁻' | '⁃');
        if is_range && !(last + 1..=last + 100).contains(&next) || numbers.len() > MOST_NUMBERS {
            break;
        }
        numbers.extend((last + 1..next).filter(|_| is_range));
        numbers.push(next);
        bytes += sign.len_utf8() + length;
    }
    Some((numbers, bytes))
}

/// Returns the raised numbers of a line that can hardly be anything but citations: behind a word or the end of a
/// sentence, or a 1, which makes no power.
pub(super) fn clear_ones(line: &str) -> Vec<u32> {
    let (mut clear, mut done) = (Vec::new(), 0);
    let starts = |&(_, c): &(usize, char)| is_superscript(c) || c == '<';
    for (at, _) in line.char_indices().filter(starts) {
        if at < done {
            continue;
        }
        let rest = &line[at..];
        let Some((numbers, bytes)) = superscripts(rest).or_else(|| in_tag(rest)) else { continue };
        done = at + bytes;
        let before = without_raised(tail(&line[..at]));
        let behind = &line[done..];
        let is_clear =
            is_behind_word(before, &numbers, behind) || numbers == [1] && may_stand(before, &numbers, behind);
        clear.extend(numbers.into_iter().filter(|_| is_clear));
    }
    clear
}

/// Reads `<sup>1</sup>`.
fn in_tag(text: &str) -> Option<(Vec<u32>, usize)> {
    let (open, close) = ("<sup>", "</sup>");
    let inner = text.strip_prefix(open)?;
    let length = inner[..inner.floor_char_boundary(RAISED_BYTES)].find(close)?;
    let read = Numbers::read(&inner[..length])?;
    Some((read.numbers, open.len() + length + close.len()))
}

/// Returns the text without the raised numbers at its end and the spaces between them.
fn without_raised(before: &str) -> &str {
    let mut before = before;
    loop {
        let text = before.trim_end();
        let caret = || {
            let number = text.strip_suffix('^')?;
            number.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('^')
        };
        let tag = || text.strip_suffix("</sup>").and_then(|inner| inner.rsplit_once("<sup>")).map(|(front, _)| front);
        let Some(front) = text.strip_suffix(is_superscript).or_else(tag).or_else(caret) else { return before };
        before = front;
    }
}

/// Returns whether raised numbers stand behind a word of four letters or punctuation.
fn is_behind_word(before: &str, numbers: &[u32], behind: &str) -> bool {
    let letters = before.chars().rev().take_while(|c| c.is_alphabetic()).take(4).count();
    let is_end = before.ends_with(['.', ',', ';', ':', '!', '?', '”', '"', '。', '，', ')']);
    (letters == 4 || is_end) && may_stand(before, numbers, behind)
}

/// Returns whether nothing speaks against a citation: no power, unit, formula, ion or isotope, nor the front of a line.
fn may_stand(before: &str, numbers: &[u32], behind: &str) -> bool {
    let marked = before.trim_end_matches(['*', '_']);
    let text = marked.trim_end();
    let is_spaced = text.len() < marked.len();
    let Some(last) = text.chars().next_back() else { return false };
    if is_of_formula(behind) || begins_name(text, is_spaced, behind) {
        return false;
    }
    match last {
        last if last.is_ascii_digit() => is_behind_figure(text, numbers),
        last if last.is_alphabetic() => is_word_with(text, numbers, behind),
        ')' => !is_factor(text),
        // `5.2 ft.` and `5"` are measures.
        '.' => !is_power(numbers) || !ends_with_length(&text[..text.len() - 1]),
        '"' | '\'' | '”' | '’' => !text[..text.len() - last.len_utf8()].ends_with(|c: char| c.is_ascii_digit()),
        last => ",;:!?%‰°€£¥»。，；：！？、）」』》】".contains(last),
    }
}

/// Returns whether the number is one that most powers have.
fn is_power(numbers: &[u32]) -> bool {
    matches!(numbers, [2 | 3])
}

/// Returns whether what stands behind a raised number makes it a part of a formula, or the charge of an ion.
fn is_of_formula(behind: &str) -> bool {
    let is_operator = |c: char| OPERATORS.contains(&c) && c != '^';
    behind.trim_start().starts_with(is_operator) || behind.starts_with(['⁺', '⁻', '_', '\\', '{'])
}

/// Returns whether a name begins or goes on right behind a raised number, as in `¹⁴C` and `H²O`.
fn begins_name(text: &str, is_spaced: bool, behind: &str) -> bool {
    let name = &behind[..behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len())];
    let letters = text.chars().rev().take(4).take_while(|c| c.is_alphabetic()).count();
    let is_sentence = text.ends_with(['.', ',', ';', ':', '!', '?']);
    !name.is_empty() && (is_spaced || ELEMENTS.contains(&name) || (letters < 4 && !is_sentence))
}

/// Returns whether the figure that ends the text is no base of a power: a year, or one with commas between thousands
/// unless the number is a 2 or 3. A 1 makes no power, but behind 10 and single digits.
fn is_behind_figure(text: &str, numbers: &[u32]) -> bool {
    let front = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let figure = &text[front.len()..];
    if front.trim_end().ends_with(OPERATORS) || front.ends_with(char::is_alphabetic) {
        return false;
    }
    let is_thousands = || figure.contains(',') && !figure.contains('.');
    let is_base = || figure.len() == 1 || figure == "10";
    is_year(figure) || (!is_power(numbers) && is_thousands()) || (numbers == [1] && !is_base())
}

/// Returns whether the word that ends the text can have a citation: it is no variable or formula, and no unit if the
/// number may be a power.
fn is_word_with(text: &str, numbers: &[u32], behind: &str) -> bool {
    let front = text.trim_end_matches(char::is_alphabetic);
    let word = &text[front.len()..];
    let letters = word.chars().take(4).count();
    let is_unspaced = word.starts_with(|c: char| c >= '\u{2E80}');
    if letters == 1 && !is_unspaced {
        return false;
    }
    if numbers == [1] {
        return true;
    }
    // The numbers of substances such as `CH⁴` are written raised by mistake. So is that of `PM¹⁰`.
    let is_symbol = letters < 3 && word.starts_with(char::is_uppercase);
    if is_symbol || is_formula(word) || UNITS.contains(&word) || (word == "in" && is_measure(front)) {
        return false;
    }
    !is_power(numbers) || ((letters == 4 || is_unspaced) && !is_of_measure(front, word, behind))
}

/// Returns whether the word behind `front` is a measure, as in `40 acres`, `per acre`, `N/acre` and `(acre²)`, or a
/// variable.
fn is_of_measure(front: &str, word: &str, behind: &str) -> bool {
    let lower = word.to_lowercase();
    let last = front.split_whitespace().next_back().unwrap_or_default().to_lowercase();
    let is_per = PER.contains(&last.as_str()) && !NO_MEASURES.contains(&lower.as_str());
    let is_alone = front.ends_with('(') && behind.starts_with(')');
    let is_mixed = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let of_figure = is_measure(front) || front.ends_with(|c: char| c.is_ascii_digit());
    let is_multiplied = || front.trim_end().ends_with(OPERATORS) || front.trim_end().ends_with(['/', '*']);
    is_per
        || is_alone
        || is_mixed
        || of_figure
        || is_multiplied()
        || GREEK.contains(&lower.as_str())
        || ends_with_length(word)
}

/// Returns whether a word for a length or its sign ends the text.
fn ends_with_length(text: &str) -> bool {
    let word = &text[text.trim_end_matches(char::is_alphabetic).len()..];
    let lower = word.to_lowercase();
    UNITS.contains(&word)
        || matches!(lower.as_str(), "in" | "mi" | "ha" | "sq")
        || ENDS_OF_LENGTHS.iter().any(|end| lower.ends_with(end))
}

/// Returns whether the word is nothing but symbols of elements.
fn is_formula(word: &str) -> bool {
    let mut rest = word;
    while !rest.is_empty() {
        let ends = rest.char_indices().skip(1).find(|(_, c)| c.is_uppercase()).map_or(rest.len(), |(at, _)| at);
        if !SYMBOLS.split_whitespace().any(|symbol| symbol == &rest[..ends]) {
            return false;
        }
        rest = &rest[ends..];
    }
    true
}

/// Returns whether the parentheses that end the text are a factor, such as `(1 + r)` and `(x)`, and hold no words.
fn is_factor(text: &str) -> bool {
    let inside = text.trim_end_matches(')');
    let inside = &inside[inside.rfind('(').map_or(0, |at| at + 1)..];
    let is_calculation = inside.contains(OPERATORS) || inside.contains(" - ");
    let holds_word = inside.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() >= 3);
    is_calculation || ends_with_length(inside) || !(holds_word || inside.ends_with('%') || is_year(inside))
}

/// Returns whether a number that is no year ends the text, with a space behind it.
fn is_measure(front: &str) -> bool {
    let text = front.trim_end();
    let number = &text[text.trim_end_matches(|c: char| c.is_numeric() && !is_superscript(c)).len()..];
    text.len() < front.len() && !number.is_empty() && !is_year(number)
}

fn is_year(number: &str) -> bool {
    number.len() == 4 && number.parse().is_ok_and(|year: u32| (1500..2100).contains(&year))
}
