//! Words that stand for numbers and multiples, in the languages that reports are written in.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use foldhash::fast::FixedState;

use super::reader::lower;
use crate::text::{self, Language, is_in, is_unspaced};

/// Numbers are counted in millionths.
pub const ONE: i128 = 1_000_000;

/// ISO 639-1 of the languages of [`NUMBERS`], in their order.
const LANGUAGES: [&str; 9] = ["en", "de", "fr", "es", "it", "pt", "nl", "ru", "ar"];

/// Words for 0 to 20, then 30 to 90, 100 and 1,000; a line for each language.
const NUMBERS: &str = "\
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend
zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize - - - vingt trente quarante cinquante soixante - - - cent mille
cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil
- - due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille
- - dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem mil
nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend
ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто тысяча
صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة - - - - - - - - - عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون مئة ألف";

/// The words behind a number that make it so many thousands (as a power of ten).
const MULTIPLES: &[(i8, &str)] = &[
    (2, "百 백"),
    (
        3,
        "thousand thousands tausend tsd mille mil mila duizend тысяч тысячи тысяча тыс тис tys tysięcy tysiące tysiąc tusen ribu ألف آلاف k 千 천",
    ),
    (4, "万 萬 만"),
    (5, "lakh lakhs"),
    (
        6,
        "million millions millionen mio mln millón millones milione milioni milhão milhões miljoen миллион миллиона миллионов млн мільйон мільйона мільйонів \
         milion miliona miliony milionów milyon milyona milyonu miljon miljoner juta مليون ملايين mn",
    ),
    (7, "crore crores"),
    (8, "億 亿 억"),
    (
        9,
        "billion billions bn bln bilhão bilhões milliarde milliarden mrd mld mds milliard milliards mlrd miliardo miliardi miljard миллиард миллиарда миллиардов млрд мільярд мільярда мільярдів \
         miliard miliarda miliardy miliardów milyar milyara milyarı miljarder miliar مليار",
    ),
    (
        12,
        "trillion trillions tn trn trilhão trilhões billionen billón billones bilioni biljoen триллион триллиона триллионов трлн bilion biliona bilionów trilyon triliun biljon biljoner تريليون 兆 조",
    ),
];

/// Say that a number was computed.
const COMPUTED: &str = "total totalling sum together combined altogether difference more less fewer higher lower larger smaller wider narrower gap increase increased decrease decreased rise rose risen fell fallen grew grown \
    gain double doubled twice triple half third quarter ratio share percent per average mean later earlier after before longer older younger \
    insgesamt zusammen summe mehr weniger höher niedriger größer kleiner differenz gestiegen gesunken stieg sank doppelt hälfte anteil prozent durchschnitt später früher \
    ensemble somme plus moins supérieur supérieure inférieur inférieure écart différence hausse baisse double moitié part moyenne tard \
    total suma juntos más menos mayor menor superior inferior diferencia aumento subió bajó doble mitad promedio después \
    totale somma insieme più meno superiore inferiore differenza aumento doppio metà media \
    soma juntos mais maior diferença aumento dobro metade média totaal samen meer minder hoger lager verschil stijging daling dubbel helft gemiddeld \
    всего вместе больше меньше выше ниже разница рост вдвое половина";

/// Say so in scripts without spaces, wherever they stand. A single sign would be a part of many other words: 計 of 計画.
const COMPUTED_SIGNS: &[&str] = &[
    "合计", "共计", "总计", "总共", "一共", "总和", "累计", "總計", "共計", "總共", "合計", "累計", "总数", "總數",
    "增加", "增长", "增長", "增幅", "减少", "減少", "下降", "降低", "上升", "上涨", "下跌", "相差", "差额", "差距",
    "占比", "比例", "份额", "翻番", "存续", "历时", "増加", "上昇", "低下", "平均", "割合", "総計", "総数", "합계",
    "총계", "총합", "누계", "합산", "증가", "감소",
];

/// The first twelve ordinals and others that no rule makes of numbers; a line for each language.
const ORDINALS: &str = "\
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte
ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten elften zwölften
erster zweiter dritter vierter fünfter sechster siebter achter neunter zehnter elfter zwölfter
erstes zweites drittes viertes fünftes sechstes siebtes achtes neuntes zehntes elftes zwölftes
premier deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième
première seconde tiers quart - - - - - - - -
primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo
primera segunda tercera cuarta quinta sexta séptima octava novena décima - -
primer - tercer - - - - - - - - -
primo secondo terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo
prima seconda terza quarta quinta sesta settima ottava nona decima undicesima dodicesima
primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo - -
primeira segunda terceira quarta quinta sexta sétima oitava nona décima - -
eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde
- halves thirds quarters fifths sixths sevenths eighths ninths tenths - -";

/// Endings that make an ordinal of a number.
const ORDINAL_ENDINGS: [&str; 16] = [
    "th", "sten", "ste", "ster", "stes", "ten", "te", "ter", "tes", "ième", "esimo", "esima", "de", "ieth", "stem",
    "tem",
];

/// What is half of one of the next word.
pub const HALVES: &[&str] = &["half", "halbe", "halber", "halben", "halbes"];

/// Bytes of the shortest number such as `einundachtzig`.
const SHORTEST_PAIR: usize = 12;

/// Letters of the longest ending behind Roman figures: `XIXème`.
const LONGEST_ENDING: usize = 3;

/// Words that stand before the number of what they name; so do the signs of ordinals in Chinese and Korean.
const NUMBERED: &str = "article art part chapter section sec title act volume vol book phase stage level type class tier grade group category annex appendix \
    protocol schedule round no war artikel abschnitt absatz abs kapitel kap teil band bd buch anhang stufe klasse gruppe typ nr krieg weltkrieg \
    chapitre partie tome titre annexe siècle guerre niveau artículo capítulo parte tomo título anexo guerra siglo fase articolo capitolo secolo titolo allegato \
    artigo século hoofdstuk deel oorlog wereldoorlog статья статьи глава часть том война 第 제";

/// Words and signs behind the number of a century, in languages that write it without the ending of an ordinal.
const CENTURIES: [&str; 5] = ["век", "века", "веке", "世", "세"];

/// Names of substances and the like that sources also write in other words.
const OTHERWISE_NAMED: [&str; 10] = ["co2", "ch4", "n2o", "h2o", "no2", "so2", "o2", "o3", "nh3", "covid-19"];

/// What `H2` names where it is no half of a year.
const HYDROGEN: &[&str] = &[
    "hydrogen",
    "wasserstoff",
    "hydrogène",
    "hidrógeno",
    "idrogeno",
    "hidrogênio",
    "hidrogénio",
    "waterstof",
    "водород",
    "водорода",
    "водородом",
    "هيدروجين",
    "氢",
    "水素",
    "수소",
];
/// Years of two digits up to this one are of this century.
const NEWEST_SHORT_YEAR: i128 = 69;

/// Between a number and one that is a part of it.
const BEFORE_PART: &[&str] = &[
    "of which",
    "of this",
    "of that",
    "including",
    "davon",
    "darunter",
    "dont",
    "de los que",
    "de los cuales",
    "de las cuales",
    "di cui",
    "dos quais",
    "das quais",
    "waarvan",
    "из которых",
    "в том числе",
    "其中",
];
/// Bytes between the two at most.
const LONGEST_JOINT: usize = 160;

/// Every word of a page is looked up, and what is kept is ours: it needs no hash that strangers cannot foresee.
type Words<T> = HashMap<&'static str, T, FixedState>;

static NUMBER_OF: LazyLock<Words<i128>> = LazyLock::new(|| {
    let values = (0..=20).chain((30..=90).step_by(10)).chain([100, 1_000]);
    let of_line = |line: &'static str| line.split_whitespace().zip(values.clone());
    let words = NUMBERS.lines().flat_map(of_line).filter(|(word, _)| *word != "-");
    words.map(|(word, value)| (word, value * ONE)).collect()
});

/// All words that may begin a number.
static BEGINNINGS: LazyLock<HashSet<&str, FixedState>> =
    LazyLock::new(|| NUMBER_OF.keys().chain(HALVES).copied().collect());

/// Which two letters the small words begin with that may begin a number or a date, one bit for each second letter.
static OPENINGS: LazyLock<[u32; 26]> = LazyLock::new(|| {
    let mut openings = [0; 26];
    for word in BEGINNINGS.iter().copied().chain(text::month_names()) {
        if let [first @ b'a'..=b'z', second @ b'a'..=b'z', ..] = word.as_bytes() {
            openings[usize::from(first - b'a')] |= 1 << (second - b'a');
        }
    }
    openings
});

static ORDINAL_OF: LazyLock<Words<i128>> = LazyLock::new(|| {
    let of_line = |line: &'static str| line.split_whitespace().zip(1..);
    let words = ORDINALS.lines().flat_map(of_line).filter(|(word, _)| *word != "-");
    words.map(|(word, value)| (word, value * ONE)).collect()
});

static MULTIPLE_OF: LazyLock<Words<i128>> = LazyLock::new(|| {
    let words = MULTIPLES.iter().flat_map(|(power, words)| words.split_whitespace().map(move |word| (word, *power)));
    words.map(|(word, power)| (word, 10_i128.pow(power.unsigned_abs().into()))).collect()
});

static COMPUTED_WORDS: LazyLock<HashSet<&str, FixedState>> = LazyLock::new(|| COMPUTED.split_whitespace().collect());

/// Returns what a word multiplies by; takes lower case, as all of these.
pub fn multiple(word: &str) -> Option<i128> {
    MULTIPLE_OF.get(word).copied()
}

/// Returns how many numbers may count for which there are words.
pub fn all_multiples() -> impl Iterator<Item = i128> {
    MULTIPLES.iter().map(|(power, _)| 10_i128.pow(power.unsigned_abs().into()))
}

/// Returns whether a sign makes a number so many times as large, as one of several may: `万亿`.
pub fn is_sign_of_multiple(sign: char) -> bool {
    "十百千万萬億亿兆십백천만억조".contains(sign)
}

/// Returns the words for so many.
pub fn multiples(multiple: i128) -> impl Iterator<Item = &'static str> {
    let is_it = move |power: i8| 10_i128.pow(power.unsigned_abs().into()) == multiple;
    MULTIPLES.iter().filter(move |(power, _)| is_it(*power)).flat_map(|(_, words)| words.split_whitespace())
}

/// Returns whether a word says that a number was computed; of scripts without spaces, whether some words do.
pub fn is_computed(word: &str) -> bool {
    let of_signs = || COMPUTED_SIGNS.iter().any(|signs| word.contains(signs));
    COMPUTED_WORDS.contains(word) || word.starts_with(is_unspaced) && of_signs()
}

/// Returns whether a text ends with a sign that says of the number behind it that it is a total, and is no part of a
/// longer word: `は計` and `총`, not `時計`.
pub fn ends_with_total(text: &str) -> bool {
    let before = text.trim_end().strip_suffix(['計', '총']);
    before.is_some_and(|before| !before.ends_with(|char| matches!(char, '\u{4e00}'..='\u{9fff}' | '가'..='힣')))
}

/// Does the text between two numbers say that the second is a part of the first?
pub fn begins_part(between: &str) -> bool {
    let lower = if between.len() > LONGEST_JOINT { return false } else { between.to_lowercase() };
    BEFORE_PART.iter().any(|words| lower.contains(words))
}

/// Returns the number that a word stands for, in millionths; `einundzwanzig` is one word.
pub fn number(word: &str) -> Option<i128> {
    NUMBER_OF.get(word).copied().or_else(|| pair(word))
}

/// Returns the number of ones and tens in one word.
fn pair(word: &str) -> Option<i128> {
    // Looked for in each word of a page, of which few are that long.
    let bytes = Some(word.as_bytes()).filter(|bytes| bytes.len() >= SHORTEST_PAIR)?;
    let middle = bytes.windows(3).position(|part| part == b"und")?;
    let (ones, tens) = (&word[..middle], &word[middle + 3..]);
    let ones = if ones == "ein" { ONE } else { *NUMBER_OF.get(ones)? };
    let tens = NUMBER_OF.get(tens).filter(|tens| **tens >= 20 * ONE)?;
    (ones < 10 * ONE).then_some(ones + tens)
}

/// Returns whether it is one of the words that most of a page is: in letters of ASCII, all small but the first, and no
/// beginning of a date, a number or, if it `is_glued` to what follows, a code.
pub fn begins_no_figure(word: &str, is_glued: bool) -> bool {
    let [first, behind @ ..] = word.as_bytes() else { return false };
    let is_small = behind.iter().all(u8::is_ascii_lowercase);
    let is_name = first.is_ascii_uppercase() && !is_glued && !behind.is_empty();
    if !is_small || !(first.is_ascii_lowercase() || is_name) {
        return false;
    }
    let is_known = |word: &str| text::month(word).is_some() || BEGINNINGS.contains(word) || pair(word).is_some();
    let may_be_known = opens_as_one(word) || word.len() >= SHORTEST_PAIR;
    !(may_be_known && is_known(&lower(word)))
}

/// Returns whether some word that may begin a number or a date has the same first two letters.
fn opens_as_one(word: &str) -> bool {
    let [first, second @ b'a'..=b'z', ..] = word.as_bytes() else { return true };
    let openings = OPENINGS.get(usize::from(first.to_ascii_lowercase().wrapping_sub(b'a')));
    openings.is_none_or(|openings| openings & 1 << (second - b'a') != 0)
}

/// Returns whether one language has both of these as numbers: `five` and `hundred`, not `five` and `cent`.
pub fn are_of_one_language(one: &str, other: &str) -> bool {
    let has = |line: &str, number: &str| line.split_whitespace().any(|known| known == number);
    NUMBERS.lines().any(|line| has(line, one) && has(line, other))
}

/// Returns whether a word is known as a number in a language; of one without a line of words, each may be.
pub fn is_number_of(word: &str, language: Language) -> bool {
    let own = LANGUAGES.iter().zip(NUMBERS.lines()).find(|(code, _)| **code == language.code());
    own.is_none_or(|(_, line)| line.split_whitespace().any(|known| known == word))
}

/// Returns the number that an ordinal or the name of a fraction counts to, in millionths: 19 of `nineteenth`, 3 of
/// `thirds`.
pub fn ordinal(word: &str) -> Option<i128> {
    // `nineteen-th`, `trent-ième`, `twent-ieth`; what the table has not is more than twelve.
    let of_stem = |stem: &str| ["", "e", "y"].iter().find_map(|end| number(&format!("{stem}{end}")));
    let of_ending = |ending: &&str| of_stem(word.strip_suffix(*ending)?).filter(|value| *value > 12 * ONE);
    ORDINAL_OF.get(word).copied().or_else(|| ORDINAL_ENDINGS.iter().find_map(of_ending))
}

/// Returns the number that Roman figures stand for, in millionths; one alone may be many things. `XIXe` has the letters
/// of an ordinal behind it.
pub fn roman(word: &str) -> Option<i128> {
    let figures = word.trim_end_matches(char::is_lowercase);
    let is_ending = word[figures.len()..].chars().count() <= LONGEST_ENDING;
    let value = |figure: u8| [(b'I', 1), (b'V', 5), (b'X', 10), (b'L', 50)].iter().find(|(known, _)| *known == figure);
    let values: Vec<i128> = figures.bytes().map(|figure| Some(value(figure)?.1)).collect::<Option<_>>()?;
    let is_taken = |at: usize| values.get(at + 1).is_some_and(|next| *next > values[at]);
    let sum = (0..values.len()).map(|at| if is_taken(at) { -values[at] } else { values[at] }).sum::<i128>();
    (is_ending && (1..=8).contains(&values.len())).then_some(sum * ONE)
}

/// Returns a fraction in one character, in millionths.
pub fn fraction(text: &str) -> Option<i128> {
    let parts = match text {
        "¼" => (1, 4),
        "½" => (1, 2),
        "¾" => (3, 4),
        "⅓" => (1, 3),
        "⅔" => (2, 3),
        _ => return None,
    };
    Some(parts.0 * ONE / parts.1)
}

/// Returns whether sources also write in other words what a code in lower case names.
pub fn is_otherwise_named(code: &str) -> bool {
    OTHERWISE_NAMED.contains(&code)
}

/// Returns whether a word stands before the number of what it names: `article`, `part`.
pub fn is_numbered(word: &str) -> bool {
    is_in(NUMBERED, word)
}

/// Returns whether a number before this word or sign is that of a century.
pub fn is_century(word: &str) -> bool {
    CENTURIES.contains(&word)
}

/// Returns whether letters behind digits make an ordinal of them.
pub fn is_ordinal_ending(letters: &str) -> bool {
    ORDINAL_ENDINGS.contains(&letters)
}

/// Returns the words for the substance that a code names which is also one of the parts of a year.
pub fn substance(code: &str) -> &'static [&'static str] {
    if code == "h2" { HYDROGEN } else { &[] }
}

/// Returns the year of the code of a fiscal one, `fy2025` or `fy25`, in millionths.
pub fn fiscal_year(code: &str) -> Option<i128> {
    let name = code.strip_prefix("fy")?;
    let (digits, last) = name.split_once(['/', '-']).unwrap_or((name, ""));
    // `FY2022/23` begins in 2022.
    let is_next = |year: i128| last.parse::<i128>().is_ok_and(|last| last % 100 == (year % 100 + 1) % 100);
    let year = digits.parse::<i128>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    if !(last.is_empty() || is_next(year)) {
        return None;
    }
    let year = match digits.len() {
        2 if year <= NEWEST_SHORT_YEAR => 2_000 + year,
        2 => 1_900 + year,
        4 => year,
        _ => return None,
    };
    Some(year * ONE)
}

/// Returns the number that characters of Chinese or Japanese stand for, in millionths; `None` unless all of them do.
pub fn ideographs(text: &str) -> Option<i128> {
    // Asked of each word of a page.
    if text.bytes().any(|byte| byte.is_ascii()) {
        return None;
    }
    // Of hundreds of millions, of tens of thousands, below that, and the digit that was read last.
    let (mut high, mut whole, mut section, mut ones) = (0_i128, 0_i128, 0_i128, 0_i128);
    let mut positional = String::new();
    for char in text.chars() {
        let place = "〇一二三四五六七八九".chars().position(|known| known == char).or(match char {
            '零' => Some(0),
            '两' | '兩' => Some(2),
            _ => None,
        });
        match (place, char) {
            (Some(digit), _) => {
                ones = digit as i128;
                positional.push_str(&digit.to_string());
            }
            (None, '十' | '百' | '千') => {
                let unit = [('十', 10), ('百', 100), ('千', 1_000)].iter().find(|(known, _)| *known == char)?.1;
                section += ones.max(1) * unit;
                ones = 0;
            }
            (None, '万' | '萬') => {
                whole = whole.checked_add((section + ones).max(1).checked_mul(10_000)?)?;
                (section, ones) = (0, 0);
            }
            (None, '亿' | '億') => {
                let counted = (whole + section + ones).max(1);
                high = high.checked_add(counted.checked_mul(100_000_000)?)?;
                (whole, section, ones) = (0, 0, 0);
            }
            _ => return None,
        }
    }
    let only_digits = positional.chars().count() == text.chars().count() && positional.len() > 1;
    let value = if only_digits { positional.parse().ok()? } else { high.checked_add(whole + section + ones)? };
    value.checked_mul(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_all_its_words() {
        assert!(NUMBERS.lines().all(|line| line.split_whitespace().count() == 30));
        assert_eq!(NUMBERS.lines().count(), LANGUAGES.len());
        let is_number = |word: &str| [Language::English, Language::Spanish].map(|one| is_number_of(word, one));
        assert_eq!(["once", "twelve", "doce"].map(is_number), [[false, true], [true, false], [false, true]]);
        assert!(is_number_of("drei", Language::German) && is_number_of("十二", Language::Chinese));
    }

    #[test]
    fn words_that_begin_no_figure_are_known_at_once() {
        let check = |word: &str, glued: bool, apart: bool| {
            assert_eq!([true, false].map(|is_glued| begins_no_figure(word, is_glued)), [glued, apart], "{word}");
        };
        for word in ["three", "march", "half", "einundzwanzig", "cent", "Three", "March", "été", "A", "EUR", "HR"] {
            check(word, false, false);
        }
        for word in ["the", "bundle", "foundations", "thundering", "zinc", "a"] {
            check(word, true, true);
        }
        for word in ["The", "Foundations", "Zn", "Xerxes"] {
            check(word, false, true);
        }
    }

    #[test]
    fn single_signs_say_something_of_computing_before_numbers_alone() {
        for word in ["合計は", "累计销量", "총계", "占比", "insgesamt"] {
            assert!(is_computed(word), "{word}");
        }
        for word in ["計画は", "統計", "設計者", "총", "총리", "占领"] {
            assert!(!is_computed(word), "{word}");
        }
        assert!(["会議には計", "회의에는 총 ", "計"].into_iter().all(ends_with_total));
        assert!(!["時計", "권총 ", "計画は", "총리 "].into_iter().any(ends_with_total));
    }

    #[test]
    fn words_stand_for_numbers() {
        let check = |word: &str, value: i128| assert_eq!(number(word), Some(value * ONE), "{word}");
        check("seventeen", 17);
        check("einundzwanzig", 21);
        check("quarante", 40);
        assert_eq!(number("hundreds"), None);
        let check = |text: &str, value: i128| assert_eq!(ideographs(text), Some(value * ONE), "{text}");
        check("二〇三〇", 2_030);
        check("三百二十", 320);
        check("十二", 12);
        check("一万五千", 15_000);
        check("一万亿", 1_000_000_000_000);
        check("三亿二千万零五", 320_000_005);
        check("两千万亿", 2_000_000_000_000_000);
        assert_eq!(ideographs("三人"), None);
        for (word, value) in
            [("third", 3), ("nineteenth", 19), ("twentieth", 20), ("neunzehnten", 19), ("vingtième", 20)]
        {
            assert_eq!(ordinal(word), Some(value * ONE), "{word}");
        }
        assert_eq!(
            ["neunzehnte", "diciannovesimo", "trentième", "negentiende"].map(ordinal),
            [19, 19, 30, 19].map(|value| Some(value * ONE))
        );
        assert_eq!(["month", "guten", "unter", "side"].map(ordinal), [None; 4]);
        for (figures, value) in [("XIX", 19), ("XIXe", 19), ("II", 2), ("XXI", 21), ("XLIV", 44), ("V", 5)] {
            assert_eq!(roman(figures), Some(value * ONE), "{figures}");
        }
        assert_eq!(["MIX", "Vienna", "xix"].map(roman), [None; 3]);
    }
}
