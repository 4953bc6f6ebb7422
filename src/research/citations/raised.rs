//! Raised numbers: `¹`, `<sup>1</sup>`, `^1^`. What they are read as, what shows that a report cites by them, and where
//! they are powers (`10⁶`, `x²`), units (`km²`) or the numbers of isotopes even there.

use super::{
    grammar::tail,
    numbers::{ELEMENTS, MOST_NUMBERS, Numbers, ends_with_word},
    scan::RAISED_BYTES,
};

/// The superscript digits by their value.
pub(super) const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
/// Signs of lengths, which with a raised number are units wherever they stand.
const UNITS: [&str; 21] = [
    "m", "km", "hm", "dm", "cm", "mm", "nm", "µm", "μm", "in", "mi", "ft", "yd", "kpc", "Mpc", "Gpc", "м", "км", "см",
    "мм", "米",
];
/// Words for lengths that are parts of longer words where no spaces are written.
const UNSPACED_UNITS: [&str; 12] =
    ["公里", "千米", "分米", "厘米", "毫米", "微米", "纳米", "万米", "英里", "英尺", "メートル", "미터"];
/// Words for measures whose powers are written, in lower case and without a prefix such as `kilo`.
const MEASURES: &str = "meter meters metern metre metres metros mètre mètres метра метров mile miles foot feet inch inches \
    yard yards acre acres hektar hectare hectares fathoms pies pulgadas second metri miglia ettari piedi pollici millas \
    yardas hectáreas milhas jardas polegadas pieds pouces deg arcmin arcsec pixels volts";
const PREFIXES: &str = "kilo kiló chilo quilo quiló quilô centi centí zenti milli mili milí кило санти";
/// Names of functions, variables and short ones of measures, behind which a raised number is a power.
const FUNCTIONS: &str = "sin cos tan sec log exp var rad mol alpha beta gamma epsilon zeta eta theta iota kappa lambda \
    rho sigma tau phi chi psi omega";
/// Formulas in capital letters whose numbers are written raised by mistake, as are those of `PM¹⁰` and `CD⁴`.
const FORMULAS: [&str; 11] = ["CO", "NO", "SO", "PO", "CH", "NH", "HCO", "HNO", "SF", "PM", "CD"];
/// The symbols of all elements.
const SYMBOLS: &str = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br \
    Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W \
    Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn \
    Nh Fl Mc Lv Ts Og";
/// Signs right before or behind a raised number that belongs to a formula.
const OPERATORS: [char; 11] = ['=', '+', '−', '×', '·', '⋅', '÷', '≤', '≥', '≈', '^'];
/// Those of them that, beyond a space, stand in formulas alone.
const EQUATING: [char; 6] = ['=', '×', '÷', '≤', '≥', '≈'];
/// Signs at the end of a part of a sentence.
const ENDS: [char; 12] = ['.', ',', ';', ':', '!', '?', '。', '，', '；', '：', '！', '？'];

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

/// Returns the number between carets that `text` begins with, `^1^`, and how many bytes it takes.
pub(super) fn in_carets(text: &str) -> Option<(Vec<u32>, usize)> {
    let inner = text.strip_prefix('^')?;
    let digits = inner.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let number = inner[..digits].parse().ok().filter(|_| inner[digits..].starts_with('^'))?;
    Some((vec![number], digits + 2))
}

/// Returns the raised numbers of a line that show that a report cites so, and whether each of them does so alone.
pub(super) fn clear_ones(line: &str) -> Vec<(u32, bool)> {
    let (mut clear, mut done) = (Vec::new(), 0);
    let starts = |&(_, c): &(usize, char)| is_superscript(c) || matches!(c, '<' | '^');
    for (at, _) in line.char_indices().filter(starts) {
        if at < done {
            continue;
        }
        let rest = &line[at..];
        let read = superscripts(rest).or_else(|| in_tag(rest)).or_else(|| in_carets(rest));
        let Some((numbers, bytes)) = read else { continue };
        done = at + bytes;
        let (before, behind) = (tail(&line[..at]), &line[done..]);
        let alone = is_clear(before, &numbers, behind);
        let shows = alone || (ends_part(before, behind) && may_cite(before, &numbers, behind));
        clear.extend(numbers.into_iter().filter(|_| shows).map(|number| (number, alone)));
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

/// Returns whether a raised number can be nothing but a citation: behind the end of a sentence or a part of one, or a
/// number of which powers are not written, behind anything but a figure. Of a 1 they are written nowhere.
fn is_clear(before: &str, numbers: &[u32], behind: &str) -> bool {
    let text = without_raised(before).trim_end_matches(['*', '_']);
    let is_no_power = !is_power(numbers) && !text.ends_with(|c: char| c.is_ascii_digit());
    (text.ends_with(ENDS) || is_no_power || numbers == [1]) && may_cite(before, numbers, behind)
}

/// Returns whether what stands between the texts is behind a word of four letters, and right before the end of a
/// sentence or a part of one.
fn ends_part(before: &str, behind: &str) -> bool {
    before.chars().rev().take(4).filter(|c| c.is_alphabetic()).count() == 4 && behind.starts_with(ENDS)
}

/// Returns whether raised numbers between these texts can be citations, in a report that cites so: they are no power,
/// unit, formula, ion or isotope, and do not stand at the front of a line.
pub(super) fn may_cite(before: &str, numbers: &[u32], behind: &str) -> bool {
    let marked = without_raised(before).trim_end_matches(['*', '_']);
    let text = marked.trim_end();
    let is_spaced = text.len() < marked.len();
    let Some(last) = text.chars().next_back() else { return false };
    if is_of_formula(behind) || begins_name(text, is_spaced, behind) {
        return false;
    }
    let inner = &text[..text.len() - last.len_utf8()];
    match last {
        last if last.is_ascii_digit() => is_behind_figure(text, numbers, behind),
        last if last.is_alphabetic() => is_behind_word(text, numbers),
        ')' => !is_factor(text),
        // `5.2 ft.` and `5"` are measures.
        '.' => !is_power(numbers) || !is_measured(inner),
        '"' | '\'' | '”' | '’' | '“' => !inner.ends_with(|c: char| c.is_ascii_digit()) || ends_with_year(inner),
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
    behind.starts_with(is_operator)
        || behind.starts_with(['⁺', '⁻', '_', '\\', '{'])
        || behind.trim_start().starts_with(EQUATING)
}

/// Returns whether a name begins or goes on right behind a raised number, as in `¹⁴C` and `H²O`.
fn begins_name(text: &str, is_spaced: bool, behind: &str) -> bool {
    let name = &behind[..behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len())];
    let letters = text.chars().rev().take(4).take_while(|c| c.is_alphabetic()).count();
    let is_sentence = text.ends_with(['.', ',', ';', ':', '!', '?']);
    !name.is_empty() && (is_spaced || ELEMENTS.contains(&name) || (letters < 4 && !is_sentence))
}

/// Returns whether the figure that ends the text is no base of a power: a year or season, or one with commas between
/// thousands unless the number is a 2 or 3. A 1 makes no power, but behind 10 and single digits.
fn is_behind_figure(text: &str, numbers: &[u32], behind: &str) -> bool {
    let front = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let figure = &text[front.len()..];
    if front.trim_end().ends_with(OPERATORS) || front.ends_with(char::is_alphabetic) {
        return false;
    }
    // As in `COVID-19`, but not `mid-10⁶`.
    let is_of_name = || {
        let name = front.strip_suffix('-').filter(|_| figure != "10").unwrap_or_default();
        name.chars().rev().take(2).filter(|c| c.is_alphabetic()).count() == 2
    };
    let is_season = || figure.len() == 2 && front.strip_suffix(['/', '–', '-']).is_some_and(ends_with_year);
    let is_thousands = || figure.contains(',') && !figure.contains('.');
    let is_base = || figure.len() == 1 || figure == "10";
    (is_year(figure) && !(is_power(numbers) && is_grid(figure, behind)))
        || is_season()
        || is_of_name()
        || (!is_power(numbers) && is_thousands())
        || (numbers == [1] && !is_base())
}

/// Returns whether a figure that could be a year of long ago or far away is one of a size, as in `2048³ cells`.
fn is_grid(figure: &str, behind: &str) -> bool {
    let is_near = figure.parse().is_ok_and(|year: u32| (1900..2040).contains(&year));
    !is_near && behind.trim_start().starts_with(char::is_alphabetic)
}

/// Returns whether the word that ends the text can have a citation: it is no variable or formula, and no unit if the
/// number may be a power.
fn is_behind_word(text: &str, numbers: &[u32]) -> bool {
    let is_unspaced = text.ends_with(|c: char| c >= '\u{2E80}');
    // As in `万km`.
    let front = text.trim_end_matches(|c: char| c.is_alphabetic() && (c >= '\u{2E80}') == is_unspaced);
    let word = &text[front.len()..];
    let letters = word.chars().take(3).count();
    if letters == 1 && !is_unspaced {
        return (word == "s" && ends_with_year(front)) || (is_label(front, word) && !is_power(numbers));
    }
    if numbers == [1] {
        return true;
    }
    if is_formula(word) || UNITS.contains(&word) || is_variable(word) {
        return false;
    }
    let is_long = letters == 3 || is_unspaced || word.chars().all(char::is_uppercase);
    let is_factor = || front.ends_with(OPERATORS) || front.trim_end().ends_with(EQUATING) || is_division(front);
    !is_power(numbers) || (is_long && !is_measure(word) && !is_factor())
}

/// Returns whether a lone 1 or a sign of one or two consonants is divided by what follows: `1/distance²`, `kg/height²`,
/// but not `$1/month²`, `5 kg/person²`, `he/she²` and `wind/solar²`.
fn is_division(front: &str) -> bool {
    let Some(text) = front.strip_suffix('/') else { return false };
    let (before, dividend) = text.rsplit_once([' ', '(']).unwrap_or(("", text));
    let is_consonant = |byte: u8| byte.is_ascii_lowercase() && !b"aeiou".contains(&byte);
    let is_sign = matches!(dividend.len(), 1 | 2) && dividend.bytes().all(is_consonant);
    dividend == "1" || (is_sign && !before.ends_with(|c: char| c.is_ascii_digit()))
}

/// Returns whether a letter is the name of a kind, as in `hepatitis B`; vitamins are numbered.
fn is_label(front: &str, letter: &str) -> bool {
    let is_vitamin = |word: &str| word.to_lowercase().starts_with("vitamin");
    matches!(letter, "A" | "B" | "C" | "D") && ends_with_word(front) && !front.split_whitespace().any(is_vitamin)
}

/// Returns whether the word is the name of a function or a variable.
fn is_variable(word: &str) -> bool {
    FUNCTIONS.split_whitespace().any(|name| name == word)
}

/// Returns whether powers of what the word names are written.
fn is_measure(word: &str) -> bool {
    let lower = word.to_lowercase();
    let base = PREFIXES.split_whitespace().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
    MEASURES.split_whitespace().any(|measure| measure == base) || UNSPACED_UNITS.iter().any(|unit| word.ends_with(unit))
}

/// Returns whether a number and the sign of a length end the text, as in `20 ft`.
fn is_measured(text: &str) -> bool {
    let front = text.trim_end_matches(char::is_alphabetic);
    UNITS.contains(&&text[front.len()..]) && front.trim_end().ends_with(|c: char| c.is_ascii_digit())
}

/// Returns whether the word is a formula: in small letters too, nothing but symbols of elements.
fn is_formula(word: &str) -> bool {
    if word.chars().all(char::is_uppercase) {
        return FORMULAS.contains(&word);
    }
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

/// Returns whether the parentheses that end the text are a factor, such as `(1 + r)`, `(x)` and `f(income)`.
fn is_factor(text: &str) -> bool {
    let closed = text.trim_end_matches(')');
    let (front, inside) = closed.rsplit_once('(').unwrap_or(("", closed));
    let function = &front[front.trim_end_matches(char::is_alphabetic).len()..];
    let is_function = function.chars().count() == 1 || is_variable(function);
    let inside = inside.trim_start_matches(['+', '−', '-']);
    let holds_word = inside.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() > 1);
    let says =
        holds_word || inside.contains(|c: char| "%€$£¥=<>≤≥–".contains(c)) || inside.get(..4).is_some_and(is_year);
    let is_unit = |word: &str| UNITS.contains(&word) || is_measure(word);
    let is_of_unit = UNITS.contains(&inside) || inside.rsplit_once(" in ").is_some_and(|(_, unit)| is_unit(unit));
    is_function || is_of_unit || is_calculation(inside) || !says
}

/// Returns whether the text calculates, with signs of the keyboard too: `observed - expected`, `2000/10`, but not
/// `2020/21`, `Jan - Mar` and `5 - 10 years`.
fn is_calculation(text: &str) -> bool {
    let is_difference = |(from, less): (&str, &str)| {
        less.starts_with(char::is_lowercase) && from.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit())
    };
    let is_quotient = |(divided, by): (&str, &str)| {
        let (Ok(from), Ok(to)) = (divided.parse::<u16>(), by.parse::<u16>()) else { return false };
        let is_season = is_year(by) || from.wrapping_add(1) % 100 == to;
        !(is_year(divided) && is_season)
    };
    text.contains(['+', '−', '×', '÷', '^'])
        || text.split_once(" - ").is_some_and(is_difference)
        || text.split_once('/').is_some_and(is_quotient)
}

/// Returns whether a year ends the text.
fn ends_with_year(text: &str) -> bool {
    is_year(&text[text.trim_end_matches(|c: char| c.is_ascii_digit()).len()..])
}

fn is_year(number: &str) -> bool {
    number.len() == 4 && number.parse().is_ok_and(|year: u32| (1500..2100).contains(&year))
}
