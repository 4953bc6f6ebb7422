//! Citations by number, as a model writes them that counts its sources itself: `[1]`, `[1, 2]`, `[3-5]`, `[^1]`,
//! `[Source 1]`, `【1†source】`, `[#1]`. And what only looks like one: an interval, an index, a year.

use std::borrow::Cow;

use super::ids::LONGEST_LIST;

/// Numbers that one bracket may cite, ranges written out.
pub(super) const MOST_NUMBERS: usize = 100;
/// Signs between the first bracket and the last one of a range.
pub(super) const RANGE_SIGNS: [char; 7] = ['-', '‑', '–', '—', '~', '～', '至'];
/// Words that make a bracket with numbers a citation, in lower case.
const CITING_WORDS: [&str; 74] = [
    "doc",
    "fn",
    "footnote",
    "source",
    "sources",
    "ref",
    "refs",
    "reference",
    "references",
    "citation",
    "citations",
    "cite",
    "cites",
    "web",
    "see",
    "quelle",
    "quellen",
    "siehe",
    "fuente",
    "fuentes",
    "fonte",
    "fonti",
    "fontes",
    "voir",
    "bron",
    "bronnen",
    "来源",
    "文献",
    "出典",
    "출처",
    "источник",
    "réf",
    "référence",
    "références",
    "referencia",
    "referencias",
    "riferimento",
    "riferimenti",
    "referência",
    "referências",
    "cf",
    "vgl",
    "beleg",
    "belege",
    "來源",
    "资料来源",
    "数据来源",
    "資料來源",
    "文獻",
    "参考文献",
    "參考文獻",
    "参考资料",
    "參考資料",
    "参见",
    "參見",
    "参考",
    "见",
    "引用文献",
    "참고문헌",
    "источники",
    "источника",
    "источников",
    "см",
    "المصدر",
    "المصادر",
    "المصدران",
    "المصدرين",
    "مصدر",
    "مصادر",
    "المرجع",
    "المراجع",
    "مرجع",
    "مراجع",
    "انظر",
];
/// What stands in a bracket before a number that is only one of several that could be named, in lower case.
const HINTS: [&str; 12] = [
    "e.g.",
    "e. g.",
    "cf.",
    "see also",
    "vgl.",
    "siehe auch",
    "z.b.",
    "z. b.",
    "voir aussi",
    "p. ex.",
    "véase",
    "см. также",
];
/// Words between the first number and the last one of a range behind a word for a source, in lower case.
const RANGE_WORDS: [&str; 6] = ["to", "through", "bis", "至", "到", "до"];
/// Words before a word for a source in lower case that make a number behind it that of one, beside `according to`.
const LEADING: [&str; 4] = ["as", "see", "per", "from"];
/// What a number of a source stands behind without a space.
const UNSPACED_SOURCES: &str = "来源";
/// Words and signs before a bracket with several numbers that make it an interval, in lower case.
const INTERVAL_WORDS: [&str; 8] = ["ci", "cis", "cri", "hdi", "iqr", "interval", "intervall", "~"];
/// Words that do so only behind a figure (`95 % KI [2, 5]`), or where the model's own list does not have all of the
/// numbers: they stand in other sentences too, in lower case.
const PERHAPS_INTERVAL_WORDS: [&str; 15] = [
    "ki",
    "intervals",
    "intervalle",
    "range",
    "ranges",
    "bereich",
    "domain",
    "scale",
    "age",
    "ages",
    "aged",
    "alter",
    "between",
    "zwischen",
    "entre",
];
/// Signs before a bracket that belongs to a formula.
const EQUATING: [&str; 4] = ["=", "≈", "∈", "\\in"];

/// Words before a bracket with several numbers that are data, in lower case.
const DATA_WORDS: [&str; 14] = [
    "array",
    "arrays",
    "coordinates",
    "list",
    "matrix",
    "sequence",
    "set",
    "shape",
    "tensor",
    "tuple",
    "vector",
    "vectors",
    "vektor",
    "vektoren",
];
/// Words before a bracket with one number that belongs to them, in lower case.
const NUMBERED_WORDS: [&str; 10] =
    ["akkord", "bug", "chord", "isotop", "isotope", "issue", "issues", "nuclide", "nuklid", "ticket"];
/// Words before a letter that is an index or a variable, in lower case, beside those of data.
const WORDS_OF_CODE: [&str; 22] = [
    "cell", "column", "const", "each", "element", "elements", "entries", "entry", "field", "for", "from", "function",
    "index", "let", "register", "row", "term", "the", "value", "variable", "where", "with",
];
/// Words between letters that belong to one word, as in `vitamins C and D`, in lower case.
const JOINING: [&str; 8] = ["and", "or", "und", "oder", "et", "ou", "y", "&"];
/// Words that go on behind a citation without a space more likely than they begin the name of a substance.
const GOING_ON: [&str; 16] =
    ["are", "as", "but", "by", "for", "in", "is", "of", "that", "the", "to", "was", "were", "which", "while", "with"];
/// Ends of the names of substances that are written with a number in brackets.
const ENDS_OF_SUBSTANCES: [&str; 15] = [
    "arene", "acene", "alene", "ulene", "ylene", "icene", "phene", "phane", "axane", "enane", "ellane", "llerene",
    "pyrrole", "uril", "crown",
];
/// What may follow the mass number of an isotope.
pub(super) const ELEMENTS: [&str; 20] =
    ["H", "C", "N", "O", "F", "P", "S", "K", "Ca", "Fe", "Co", "Sr", "Tc", "Cs", "Ra", "Rn", "U", "Pu", "Th", "Pb"];
/// What the tools of chat programs call their results: `turn0search3`.
const TOOL_RESULTS: [&str; 12] =
    ["search", "news", "view", "fetch", "file", "image", "product", "click", "finance", "forecast", "sports", "video"];

/// What a bracket cites by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// In order, ranges written out; empty for a mark that names a result of another program, as `4:0†source`.
    pub numbers: Vec<u32>,
    /// A word or sign says that this is a citation: `Source`, `^`, `†`.
    pub marked: bool,
    /// A footnote: `^1`.
    pub footnote: bool,
    /// Words say that the numbers are examples, be it of sources or of values.
    pub hinted: bool,
}

impl Numbers {
    /// Reads what stands in a bracket; `None` when there is anything but numbers of up to three digits, separators and
    /// words like "Source".
    pub(super) fn read(inside: &str) -> Option<Self> {
        if inside.len() > LONGEST_LIST {
            return None;
        }
        let inside = &with_plain_digits(inside);
        let (list, marked) = match inside.split_once(['†', '‡']) {
            Some((list, _)) => (list, true),
            None => (inside.as_ref(), false),
        };
        let (list, marked) = list.trim_start().strip_prefix("oai_citation").map_or((list, marked), |list| (list, true));
        if (marked && is_place_of_result(list)) || tool_mark(inside) == Some(inside.len()) {
            return Some(Self { marked: true, ..Self::default() });
        }
        let footnote = list.trim_start().starts_with('^');
        let read = Self { marked: marked || footnote, footnote, ..Self::default() };
        let mut reader = Reader { read, range: false, behind_number: false, waits: false };
        let mut rest = list;
        while let Some(first) = rest.chars().next() {
            if let Some(length) = hint(rest) {
                (reader.read.hinted, reader.behind_number) = (true, false);
                rest = &rest[length..];
                continue;
            }
            let same = |c: char| if first.is_ascii_digit() { c.is_ascii_digit() } else { c.is_alphabetic() };
            let length = if first.is_alphanumeric() { rest.find(|c| !same(c)).unwrap_or(rest.len()) } else { 0 };
            match length {
                0 => reader.separator(first)?,
                _ if first.is_ascii_digit() => reader.number(&rest[..length])?,
                _ => reader.word(&rest[..length])?,
            }
            rest = &rest[length.max(first.len_utf8())..];
        }
        (!reader.read.numbers.is_empty() && !reader.range && !reader.waits).then_some(reader.read)
    }
}

struct Reader {
    read: Numbers,
    /// A dash after a number: the next one ends a range.
    range: bool,
    /// Nothing but spaces stands behind the last number.
    behind_number: bool,
    /// A word stands right behind a number, and its own has to follow: else it may be a unit, as `см` is.
    waits: bool,
}

impl Reader {
    fn separator(&mut self, sign: char) -> Option<()> {
        self.behind_number &= sign.is_whitespace();
        match sign {
            sign if self.waits => (sign.is_whitespace() || matches!(sign, '.' | ':' | '：')).then_some(()),
            '-' | '–' | '—' => self.begin_range(),
            '~' | '～' | '〜' if self.read.marked => self.begin_range(),
            '^' | ',' | ';' | '&' | '，' | '、' | '；' | '،' | '؛' => Some(()),
            // As in `ref. 1` and `citation: 1`.
            '#' if self.read.numbers.is_empty() => Some(()),
            '.' | ':' | '：' if self.read.marked && self.read.numbers.is_empty() => Some(()),
            sign => sign.is_whitespace().then_some(()),
        }
    }

    fn begin_range(&mut self) -> Option<()> {
        let fits = !self.read.numbers.is_empty() && !self.range;
        self.range = true;
        fits.then_some(())
    }

    fn number(&mut self, digits: &str) -> Option<()> {
        let number: u32 = Some(digits).filter(|digits| digits.len() <= 3)?.parse().ok()?;
        let first = match self.read.numbers.last() {
            Some(&last) if std::mem::take(&mut self.range) => Some(last + 1).filter(|&first| first <= number)?,
            _ => number,
        };
        let count = usize::try_from(number - first).ok()? + 1;
        if self.read.numbers.len() + count > MOST_NUMBERS {
            return None;
        }
        self.read.numbers.extend(first..=number);
        (self.behind_number, self.waits) = (true, false);
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let word = word.to_lowercase();
        let behind_number = std::mem::take(&mut self.behind_number);
        if self.waits {
            return is_citing_word(&word).then_some(());
        }
        // In Spanish and French, `[1 en 3]` is a share.
        let joins = matches!(word.as_str(), "and" | "und" | "et" | "y" | "和" | "及" | "и" | "و");
        if joins || (word == "en" && self.read.marked) {
            return Some(());
        }
        // `[1 to 5]` is an interval far more often than a citation.
        if self.read.marked && RANGE_WORDS.contains(&word.as_str()) {
            return self.begin_range();
        }
        self.read.marked |= self.read.numbers.is_empty();
        self.waits = behind_number;
        is_citing_word(&word).then_some(())
    }
}

/// Returns the bytes of the words that a text begins with which say that a number behind them is an example.
fn hint(text: &str) -> Option<usize> {
    let begins = |hint: &&&str| text.get(..hint.len()).is_some_and(|start| start.to_lowercase() == **hint);
    HINTS.iter().find(begins).map(|hint| hint.len())
}

/// Returns whether this is a word for a source, behind which a number is that of one, even between parentheses.
pub(super) fn is_word_for_source(word: &str) -> bool {
    const OTHERS: [&str; 16] = [
        "cf", "cite", "cites", "doc", "fn", "footnote", "see", "siehe", "vgl", "voir", "web", "见", "参见", "參見",
        "см", "انظر",
    ];
    is_citing_word(word) && !OTHERS.contains(&word.to_lowercase().as_str())
}

/// Returns whether a number behind this text is that of one source, as behind `Source`, `as source` and `参见来源`.
pub(super) fn names_one_source(before: &str) -> bool {
    if before.strip_suffix(' ').unwrap_or(before).ends_with(UNSPACED_SOURCES) {
        return true;
    }
    let Some(text) = before.strip_suffix(' ') else { return false };
    let (front, word) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let leads = || {
        let mut words = front.split(|c: char| !c.is_alphabetic()).rev().filter(|word| !word.is_empty());
        let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let last = last.to_lowercase();
        front.ends_with(' ')
            && (LEADING.contains(&last.as_str()) || (last == "to" && before.eq_ignore_ascii_case("according")))
    };
    !word.ends_with('s') && is_word_for_source(word) && (word.starts_with(char::is_uppercase) || leads())
}

/// Returns whether what stands behind a whole number belongs to it: `1.5`, `1%`, `1a`, `1-2`.
pub(super) fn goes_on(behind: &str) -> bool {
    let mut characters = behind.chars();
    match characters.next() {
        Some('.' | ',') => characters.next().is_some_and(char::is_numeric),
        Some(next) => next.is_alphanumeric() || "%‰-–/".contains(next),
        None => false,
    }
}

/// Returns whether the word makes what follows it a citation.
pub(super) fn is_citing_word(word: &str) -> bool {
    CITING_WORDS.contains(&word.to_lowercase().as_str())
}

/// What stands around a bracket with numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub before: &'a str,
    pub behind: &'a str,
    /// The model's own list has all of the numbers.
    pub listed: bool,
}

/// Returns whether this is a citation by number, given what stands around it and the highest number that can be meant.
///
/// An interval (`95% CI [22, 54]`, `[0, 1]`), an index (`a[1]`) or a year is none.
pub(super) fn is_citation(read: &Numbers, around: Around<'_>, highest: usize) -> bool {
    let fits = |&number: &u32| usize::try_from(number).is_ok_and(|number| number <= highest);
    let beyond = || read.numbers.len() > 1 && !read.numbers.iter().all(fits);
    let is_data = || !around.listed && (read.hinted || is_data(read, around));
    read.marked
        || !(read.numbers.contains(&0) || beyond() || is_indexed(around) || is_interval(read, around) || is_data())
}

/// Returns whether an identifier ends right here, as in `a[1]` or `x_max[2]`.
fn is_indexed(around: Around<'_>) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = around.before;
    while let Some(at) = before.strip_suffix(']').and_then(|rest| rest.rfind('[')) {
        before = &before[..at];
    }
    let (front, name) = before.split_at(before.trim_end_matches(is_name).len());
    // As in `_Nature_[1]`.
    let name = if name.ends_with('_') { name.trim_matches('_') } else { name };
    let is_letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_of_word = || around.listed && name.starts_with(char::is_uppercase) && ends_with_word(front);
    let is_of_formula = || around.behind.starts_with(['=', '+', '≤', '≥', '≈', '∈', '×', '·', '^']);
    name.contains('_') || (is_letter && (!is_of_word() || is_of_formula()))
}

/// Returns whether a bracket belongs to the name that goes on behind it, as in `[2]rotaxane` and `calix[4]arene`. Right
/// behind the end of a sentence it is a citation, and so it is before a word like `and`. If it is listed, it is one
/// unless the rest is certainly that of a substance: the space behind a citation is left out in any language.
pub(super) fn is_part_of_name(around: Around<'_>) -> bool {
    let Around { before, behind, listed } = around;
    let word = &behind[..behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len())];
    let mut front = before;
    while let Some(at) = front.strip_suffix(']').and_then(|rest| rest.rfind('['))
        && Numbers::read(&front[at + 1..front.len() - 1]).is_some()
    {
        front = &front[..at];
    }
    let is_latin = |c: char| c.is_lowercase() && c < '\u{250}';
    if !word.starts_with(is_latin) || front.ends_with(['.', ',', ';', ':', '!', '?', '"', '”', ')']) {
        return false;
    }
    if listed {
        // As in `1,2-[1]benzodiazepine`.
        front.ends_with('-') || is_of_substance(word, &behind[word.len()..])
    } else {
        !JOINING.contains(&word) && !GOING_ON.contains(&word)
    }
}

/// Returns whether a word is the end of the name of a substance, or one that goes on in brackets: `thieno[3,2-b]`.
fn is_of_substance(word: &str, behind: &str) -> bool {
    let word = word.strip_suffix('s').unwrap_or(word);
    let inside = behind.strip_prefix('[').and_then(|inside| inside.split_once(']')).map(|(inside, _)| inside);
    let is_place = |inside: &str| {
        inside.len() <= LONGEST_LIST
            && inside.starts_with(|c: char| c.is_ascii_digit())
            && inside.split_once('-').is_some_and(|(_, side)| side.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    ENDS_OF_SUBSTANCES.iter().any(|end| word.ends_with(end)) || inside.is_some_and(is_place)
}

/// Returns whether the text ends with a word that a single letter may belong to: `hepatitis B`, `vitamins C and D`.
pub(super) fn ends_with_word(front: &str) -> bool {
    let trimmed = front.trim_end_matches(|c: char| c.is_whitespace() || c == '-');
    let is_joint = |word: &str| {
        let letter = word.trim_end_matches(',');
        JOINING.contains(&word) || (letter.len() == 1 && letter.starts_with(char::is_uppercase))
    };
    let word = trimmed.split_whitespace().rev().find(|word| !is_joint(word)).unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '“', '„', '*', '_']).to_lowercase();
    let is_of_code = WORDS_OF_CODE.contains(&word.as_str()) || DATA_WORDS.contains(&word.as_str());
    trimmed.len() < front.len() && word.chars().count() >= 3 && word.chars().all(char::is_alphabetic) && !is_of_code
}

/// Returns whether the numbers are an interval or belong to a formula. A single one is no interval, whatever ordinary
/// word stands before it.
fn is_interval(read: &Numbers, around: Around<'_>) -> bool {
    let plain = |word: &str| word.trim_matches(['(', ':', ',', '*', '$', '_']).to_lowercase();
    let mut words = around.before.split_whitespace().rev().map(plain);
    let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if EQUATING.iter().any(|sign| last.ends_with(sign)) {
        return true;
    }
    // As in `95%-CI`.
    let (figure, word) = last.rsplit_once(['-', '‑', '–']).unwrap_or(("", &last));
    let is_figure = |text: &str| text.ends_with(|c: char| c.is_ascii_digit() || c == '%');
    let is_certain = !around.listed || is_figure(figure) || is_figure(&before);
    let is_word = INTERVAL_WORDS.contains(&word) || (is_certain && PERHAPS_INTERVAL_WORDS.contains(&word));
    read.numbers.len() > 1 && is_word
}

/// Returns whether the numbers are certainly data unless the model's own list has them.
fn is_data(read: &Numbers, around: Around<'_>) -> bool {
    let Around { before, behind, .. } = around;
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_matches(['(', ':', ',', '*', '_']).to_lowercase();
    if read.numbers.len() > 1 {
        return DATA_WORDS.contains(&word.as_str());
    }
    let element = &behind[..behind.find(|c: char| !c.is_alphanumeric()).unwrap_or(behind.len())];
    let is_isotope = || !before.ends_with(char::is_alphanumeric) && ELEMENTS.contains(&element);
    NUMBERED_WORDS.contains(&word.as_str()) || is_isotope()
}

/// Writes the digits of full width and of Arabic as ASCII has them.
fn with_plain_digits(text: &str) -> Cow<'_, str> {
    let digit = |c: char| {
        let zero = [0xFF10, 0x0660, 0x06F0, 0x0966].into_iter().find(|zero| (*zero..zero + 10).contains(&u32::from(c)));
        zero.and_then(|zero| char::from_digit(u32::from(c) - zero, 10))
    };
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| digit(c).unwrap_or(c)).collect())
}

/// Returns whether this is the place of a result in another program: `4:0`, as in `4:0†source`.
fn is_place_of_result(list: &str) -> bool {
    let is_number = |text: &str| (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    list.trim().split_once(':').is_some_and(|(message, result)| is_number(message) && is_number(result))
}

/// Returns the bytes of the mark of a chat program that `text` begins with: `turn0search3`,
/// `citeturn0search0turn0news1`.
pub(super) fn tool_mark(text: &str) -> Option<usize> {
    let between = |c: char| matches!(c, '\u{E200}'..='\u{E20F}' | '⟦' | '⟧');
    let rest = text.trim_start_matches(between);
    let rest = rest.strip_prefix("file").filter(|rest| rest.starts_with("cite")).unwrap_or(rest);
    let mut rest = rest.strip_prefix("cite").unwrap_or(rest).trim_start_matches(between);
    let mut found = false;
    while let Some(next) = behind_result(rest) {
        (found, rest) = (true, next.trim_start_matches(between));
    }
    (found && !rest.starts_with(char::is_alphanumeric)).then(|| text.len() - rest.len())
}

/// Returns what follows a result that `text` begins with.
fn behind_result(text: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix("turn")?;
    let (turn, rest) = rest.split_at(digits(rest));
    let rest = TOOL_RESULTS.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let (result, rest) = rest.split_at(digits(rest));
    (!turn.is_empty() && !result.is_empty()).then_some(rest)
}
