//! Words that stand for numbers, months, multiples and units, in the languages that reports are written in.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use foldhash::fast::FixedState;

/// Numbers are counted in millionths.
pub const ONE: i128 = 1_000_000;

/// Names of the months, January first, with their usual abbreviations; a line for each language.
const MONTHS: &str = "\
january,jan february,feb march,mar april,apr may june,jun july,jul august,aug september,sep,sept october,oct november,nov december,dec
januar,jänner februar,feber märz,mär,mrz april mai juni juli august september oktober,okt november dezember,dez
janvier,janv février,févr,fevrier mars avril,avr mai juin juillet,juil août,aout septembre octobre novembre décembre,déc
enero,ene febrero marzo abril,abr mayo junio julio agosto,ago septiembre,setiembre octubre noviembre diciembre,dic
gennaio,genn,gen febbraio,febbr marzo aprile maggio,magg,mag giugno,giu luglio,lug agosto settembre,sett,set ottobre,ott novembre dicembre
janeiro fevereiro,fev março abril maio junho julho agosto setembro outubro,out novembro dezembro
januari februari maart,mrt april mei juni juli augustus september oktober november december
январь,января,январе,янв февраль,февраля,феврале,фев март,марта,марте апрель,апреля,апреле,апр май,мая,мае июнь,июня,июне июль,июля,июле август,августа,августе,авг сентябрь,сентября,сентябре,сен октябрь,октября,октябре,окт ноябрь,ноября,ноябре,ноя декабрь,декабря,декабре,дек
يناير فبراير مارس أبريل,ابريل مايو يونيو يوليو أغسطس,اغسطس سبتمبر أكتوبر,اكتوبر نوفمبر ديسمبر";

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
    (3, "thousand thousands tausend tsd mille mil miles mila duizend тысяч тысячи тысяча тыс ألف آلاف k 千 천"),
    (4, "万 萬 만"),
    (
        6,
        "million millions millionen mio mln millón millones milione milioni milhão milhões miljoen миллион миллиона миллионов млн مليون ملايين mn",
    ),
    (8, "億 亿 억"),
    (
        9,
        "billion billions bn milliarde milliarden mrd milliard milliards miliardo miliardi miljard миллиард миллиарда миллиардов млрд مليار",
    ),
    (12, "trillion trillions billionen 兆 조"),
];

/// Units by what they measure: the name of each, and how many of the smallest ones of its line it is.
const UNITS: &[(&str, &str)] = &[
    (
        "length",
        "mm=1 cm=10 m=1000 metre=1000 metres=1000 meter=1000 meters=1000 metern=1000 mètre=1000 mètres=1000 metro=1000 metros=1000 metri=1000 м=1000 метр=1000 метров=1000 米=1000 km=1000000 kilometre=1000000 kilometres=1000000 kilometer=1000000 kilometers=1000000 kilometern=1000000 kilomètre=1000000 kilomètres=1000000 kilómetro=1000000 kilómetros=1000000 quilómetros=1000000 quilômetros=1000000 chilometro=1000000 chilometri=1000000 км=1000000 километр=1000000 километров=1000000",
    ),
    (
        "weight",
        "mg=1 g=1000 kg=1000000 kilogram=1000000 kilograms=1000000 t=1000000000 tonne=1000000000 tonnes=1000000000 tonnen=1000000000 ton=1000000000 tons=1000000000 tonelada=1000000000 toneladas=1000000000 tonnellata=1000000000 tonnellate=1000000000 kilo=1000000 kilos=1000000 kilogramm=1000000 kilogramme=1000000 kilogrammes=1000000 kilogramo=1000000 kilogramos=1000000 chilogrammi=1000000 кг=1000000 т=1000000000 тонн=1000000000 тонны=1000000000 吨=1000000000",
    ),
    (
        "power",
        "w=1 kw=1000 mw=1000000 gw=1000000000 kilowatt=1000 kilowatts=1000 megawatt=1000000 megawatts=1000000 gigawatt=1000000000 gigawatts=1000000000",
    ),
    ("energy", "wh=1 kwh=1000 mwh=1000000 gwh=1000000000 twh=1000000000000"),
    (
        "time",
        "second=1 seconds=1 sekunden=1 minute=60 minutes=60 min=60 minuten=60 hour=3600 hours=3600 h=3600 stunden=3600 stunde=3600 heures=3600 horas=3600 day=86400 days=86400 tage=86400 tagen=86400 jours=86400 días=86400 week=604800 weeks=604800 wochen=604800 semaines=604800 semanas=604800",
    ),
    (
        "volume",
        "ml=1 cl=10 l=1000 litre=1000 litres=1000 liter=1000 liters=1000 litro=1000 litros=1000 litri=1000 литров=1000 升=1000 hl=100000",
    ),
    ("area", "ha=10000 hectare=10000 hectares=10000 hektar=10000"),
    ("money", "cent=1 cents=1 ct=1 euro=100 euros=100 eur=100 dollar=100 dollars=100 usd=100"),
];

/// Say that a number is not exact.
const ABOUT: &str = "about around roughly nearly almost approximately some over under circa ca rund etwa ungefähr knapp fast über gut environ presque près \
    unos unas casi aproximadamente cerca quasi oltre quase ongeveer bijna около примерно почти более حوالي تقريبا 约 大约 近 約 およそ 약";

/// Say that a number was computed.
const COMPUTED: &str = "total totalling sum together combined altogether difference more less fewer increase increased decrease decreased rise rose risen fell fallen grew grown \
    gain double doubled twice triple half third quarter ratio share percent per average mean later earlier after before longer older younger \
    insgesamt zusammen summe mehr weniger differenz gestiegen gesunken stieg sank doppelt hälfte anteil prozent durchschnitt später früher \
    ensemble somme plus moins différence hausse baisse double moitié part moyenne tard \
    total suma juntos más menos diferencia aumento subió bajó doble mitad promedio después \
    totale somma insieme più meno differenza aumento doppio metà media \
    soma juntos mais diferença aumento dobro metade média totaal samen meer minder verschil stijging daling dubbel helft gemiddeld \
    всего вместе больше меньше разница рост вдвое половина";

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

static MONTH_OF: LazyLock<Words<u8>> = LazyLock::new(|| {
    let of_line = |line: &'static str| (1..).zip(line.split_whitespace());
    let names = MONTHS.lines().flat_map(of_line);
    names.flat_map(|(month, names)| names.split(',').map(move |name| (name, month))).collect()
});

static NUMBER_OF: LazyLock<Words<i128>> = LazyLock::new(|| {
    let values = (0..=20).chain((30..=90).step_by(10)).chain([100, 1_000]);
    let of_line = |line: &'static str| line.split_whitespace().zip(values.clone());
    let words = NUMBERS.lines().flat_map(of_line).filter(|(word, _)| *word != "-");
    words.map(|(word, value)| (word, value * ONE)).collect()
});

static MULTIPLE_OF: LazyLock<Words<i128>> = LazyLock::new(|| {
    let words = MULTIPLES.iter().flat_map(|(power, words)| words.split_whitespace().map(move |word| (word, *power)));
    words.map(|(word, power)| (word, 10_i128.pow(power.unsigned_abs().into()))).collect()
});

static UNIT_OF: LazyLock<Words<Unit>> = LazyLock::new(|| {
    let unit = |quantity: &'static str, text: &'static str| {
        let (name, size) = text.split_once('=')?;
        Some((name, Unit { quantity, size: size.parse().ok()? }))
    };
    let units = UNITS.iter().flat_map(|(quantity, units)| units.split_whitespace().map(move |text| (*quantity, text)));
    units.filter_map(|(quantity, text)| unit(quantity, text)).collect()
});

static ABOUT_WORDS: LazyLock<HashSet<&str, FixedState>> = LazyLock::new(|| ABOUT.split_whitespace().collect());

static COMPUTED_WORDS: LazyLock<HashSet<&str, FixedState>> = LazyLock::new(|| COMPUTED.split_whitespace().collect());

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub quantity: &'static str,
    /// In the smallest unit of that quantity.
    pub size: i128,
}

/// 1 to 12; takes lower case, as all of these.
pub fn month(word: &str) -> Option<u8> {
    MONTH_OF.get(word).copied()
}

pub fn multiple(word: &str) -> Option<i128> {
    MULTIPLE_OF.get(word).copied()
}

/// The words for so many.
pub fn multiples(multiple: i128) -> impl Iterator<Item = &'static str> {
    let is_it = move |power: i8| 10_i128.pow(power.unsigned_abs().into()) == multiple;
    MULTIPLES.iter().filter(move |(power, _)| is_it(*power)).flat_map(|(_, words)| words.split_whitespace())
}

pub fn unit(word: &str) -> Option<Unit> {
    UNIT_OF.get(word).copied()
}

pub fn is_about(word: &str) -> bool {
    ABOUT_WORDS.contains(word)
}

pub fn is_computed(word: &str) -> bool {
    COMPUTED_WORDS.contains(word)
}

/// Does the text between two numbers say that the second is a part of the first?
pub fn begins_part(between: &str) -> bool {
    let lower = if between.len() > LONGEST_JOINT { return false } else { between.to_lowercase() };
    BEFORE_PART.iter().any(|words| lower.contains(words))
}

/// The number that a word stands for, in millionths; `einundzwanzig` is one word.
pub fn number(word: &str) -> Option<i128> {
    if let Some(value) = NUMBER_OF.get(word) {
        return Some(*value);
    }
    // Looked for in each word of a page.
    let middle = word.as_bytes().windows(3).position(|part| part == b"und")?;
    let (ones, tens) = (&word[..middle], &word[middle + 3..]);
    let ones = if ones == "ein" { ONE } else { *NUMBER_OF.get(ones)? };
    let tens = NUMBER_OF.get(tens).filter(|tens| **tens >= 20 * ONE)?;
    (ones < 10 * ONE).then_some(ones + tens)
}

/// The number that characters of Chinese or Japanese stand for, in millionths; `None` unless all of them do.
pub fn ideographs(text: &str) -> Option<i128> {
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
        assert!(MONTHS.lines().all(|line| line.split_whitespace().count() == 12));
        assert!(NUMBERS.lines().all(|line| line.split_whitespace().count() == 30));
        for word in ["november", "novembre", "noviembre", "ноября", "نوفمبر"] {
            assert_eq!(month(word), Some(11), "{word}");
        }
        assert_eq!(month("mars").or(month("marzo")), Some(3));
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
    }
}
