//! Units and currencies, in the languages that reports are written in.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;

use crate::text::is_in;

/// What units of currencies measure.
pub const MONEY: &str = "money";
/// What pounds measure, which are a weight or money.
pub const POUNDS: &str = "pounds";
/// What percentage points and basis points measure.
pub const POINTS: &str = "points";
/// What is measured by units that others are made of.
const LENGTH: &str = "length";
const WEIGHT: &str = "weight";
const TIME: &str = "time";
const POWER: &str = "power";
const ENERGY: &str = "energy";
const AREA: &str = "area";
const VOLUME: &str = "volume";
const SPEED: &str = "speed";
const DATA: &str = "data";
const DATA_RATE: &str = "data rate";

/// Units in the smallest ones of what they measure. Areas are counted in square millimetres, volumes in cubic ones.
const WATT: i128 = 1_000;
const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3_600 * SECOND;
const YEAR: i128 = 31_557_600 * SECOND;
const MICROMETRE: i128 = 1_000;
const POUND: i128 = 453_592_370;
const PERCENTAGE_POINT: i128 = 100;

/// Units by what they measure: numbers say how many of the smallest ones of its line the names behind them are. Names
/// with capitals are written so; none of the names behind a zero is a unit.
const UNITS: &[(&str, &str)] = &[
    (
        LENGTH,
        "1 nm nanometre nanometres nanometer nanometers nanometern nanomètres nanómetros \
         1000 µm μm micrometre micrometres micrometer micrometers mikrometer mikrometern micromètres micrómetros micron microns \
         1000000 mm millimetre millimetres millimeter millimeters millimetern millimètre millimètres milímetro milímetros millimetri мм \
         10000000 cm centimetre centimetres centimeter centimeters zentimeter zentimetern centimètre centimètres centímetro centímetros centimetri см \
         1000000000 m metre metres meter meters metern mètre mètres metro metros metri м метр метров \
         1000000000000 km kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres kilómetro kilómetros quilómetros quilômetros chilometro chilometri км километр километров \
         25400000 inch inches zoll pouces pulgadas 304800000 foot feet ft pieds 914400000 yard yards yd \
         1609344000000 mile miles mi meile meilen millas miglia milhas mijl",
    ),
    (
        WEIGHT,
        "1 µg μg mcg microgram micrograms mikrogramm microgrammes microgramos \
         1000 mg milligram milligrams milligramm milligramme milligrammes miligramo miligramos milligrammi miligramas мг \
         1000000 g gram grams gramm gramme grammes gramo gramos grammi gramas г 0 G \
         1000000000 kg kilogram kilograms kilo kilos kilogramm kilogramme kilogrammes kilogramo kilogramos chilogrammi quilogramas кг \
         1000000000000 t tonne tonnes tonnen ton tons tonelada toneladas tonnellata tonnellate т тонн тонны \
         1000000000000000 kt kiloton kilotons kilotonne kilotonnes kilotonnen \
         1000000000000000000 Mt megaton megatons megatonne megatonnes megatonnen \
         1000000000000000000000 Gt gigaton gigatons gigatonne gigatonnes gigatonnen \
         453592370 lb lbs 28349523 oz ounce ounces unzen",
    ),
    (POUNDS, "453592370 pound pounds pfund"),
    (
        POWER,
        "1 mW milliwatt milliwatts 1000 w watt watts 1000000 kw kilowatt kilowatts квт 1000000000 mw megawatt megawatts мвт \
         1000000000000 gw gigawatt gigawatts гвт 1000000000000000 tw terawatt terawatts",
    ),
    (
        ENERGY,
        "1 J joule joules 1000 kj kilojoule kilojoules 1000000 mj MJ megajoule megajoules 1000000000 gj gigajoule gigajoules 4184 kcal \
         0 mJ mWh 3600 wh wattstunden 3600000 kwh kilowattstunde kilowattstunden kilowattheures 3600000000 mwh megawattstunde megawattstunden \
         3600000000000 gwh gigawattstunde gigawattstunden 3600000000000000 twh terawattstunde terawattstunden 3600000000000000000 pwh",
    ),
    ("voltage", "1 mV millivolt millivolts 1000 V volt volts 1000000 kv kilovolt kilovolts"),
    ("charge", "1 mah 1000 ah"),
    (
        "frequency",
        "1 hz hertz 1000 khz kilohertz 1000000 mhz megahertz 1000000000 ghz gigahertz 1000000000000 thz terahertz",
    ),
    (
        TIME,
        "1 ns nanosecond nanoseconds nanosekunden 1000 µs μs microsecond microseconds mikrosekunden \
         1000000 ms millisecond milliseconds millisekunden millisecondes milisegundos 0 MS \
         1000000000 s second seconds sec secs sek sekunde sekunden seconde secondes segundo segundos secondi seconden sekund sekundy секунд секунды \
         60000000000 minute minutes min mins minuten minuto minutos minuti minut minuty минут минуты \
         3600000000000 hour hours h hr hrs stunden stunde heure heures hora horas godzin godziny часов часа 86400000000000 day days tage tagen jours día días dia dias giorno giorni dag dagen dzień dni день дня дней \
         604800000000000 week weeks woche wochen semaines semana semanas settimane weken tygodni tygodnie недель недели \
         2629800000000000 month months monat monate monaten mois mes meses mese mesi maand maanden miesięcy miesiące месяцев месяца \
         31557600000000000 year years yr yrs jahr jahre jahren année années ans año años anni ano anos jaar lat лет \
         315576000000000000 decade decades jahrzehnt jahrzehnte jahrzehnten décennies décadas decenni",
    ),
    (
        VOLUME,
        "1 µl μl microlitres 1000 ml millilitre millilitres milliliter milliliters mililitros millilitri 10000 cl 100000 dl \
         1000000 l litre litres liter liters litro litros litri литров 100000000 hl hektoliter 1000000000 kubikmeter kubikmetern",
    ),
    (
        AREA,
        "1000000 quadratmeter quadratmetern 1000000000000 quadratkilometer quadratkilometern \
         10000000000 ha hectare hectares hektar hectáreas ettari 4046856422 acre acres",
    ),
    (
        DATA,
        "1 bit bits 1000 kbit kilobit kilobits 1000000 mbit megabit megabits 1000000000 gbit gigabit gigabits 0 Kb Mb Gb Tb \
         8 byte bytes 8000 kb kilobyte kilobytes 8000000 mb megabyte megabytes 8000000000 gb gigabyte gigabytes \
         8000000000000 tb terabyte terabytes 8000000000000000 pb petabyte petabytes 8000000000000000000 eb exabyte exabytes \
         8000000000000000000000 zb zettabyte zettabytes",
    ),
    (SPEED, "1000000000000 kmh kph stundenkilometer stundenkilometern 1609344000000 mph"),
    (
        DATA_RATE,
        "1000 kbps 1000000 mbps 1000000000 gbps 1000000000000 tbps 8000 KBps kBps 8000000 MBps 8000000000 GBps",
    ),
    ("concentration", "1 ppb 1000 ppm"),
    (
        POINTS,
        "1 bp bps basispunkt basispunkte basispunkten 0 BP BPS \
         100 pp ppt ppts prozentpunkt prozentpunkte prozentpunkten procentpunten procentpunt percentagepunten 0 PP PPT",
    ),
    (MONEY, "1 cent cents ct centime centimes céntimo céntimos cêntimo cêntimos centesimi"),
];

/// Currencies by their kind, counted in their hundredths. Names with capitals are written so.
const CURRENCIES: &[(&str, &str)] = &[
    ("euro", "euro euros eur евро avro €"),
    (DOLLAR, "dollar dollars dólares dólar dolar dolara dolarów доллар доллара долларов долл $"),
    ("us dollar", "usd"),
    ("canadian dollar", "CAD"),
    ("australian dollar", "AUD"),
    ("new zealand dollar", "NZD"),
    ("hong kong dollar", "HKD"),
    ("singapore dollar", "SGD"),
    ("taiwan dollar", "TWD"),
    ("pound", "gbp £"),
    (FRANC, "franc francs franken"),
    ("swiss franc", "chf"),
    ("rupee", "rupee rupees inr ₹"),
    ("yen", "yen jpy"),
    ("yuan", "yuan cny rmb renminbi"),
    (YEN_OR_YUAN, "¥ ￥"),
    ("won", "won krw ₩"),
    ("ruble", "ruble rubles rouble roubles rubel рублей рубля руб RUB ₽"),
    (PESO, "peso pesos"),
    ("mexican peso", "MXN"),
    ("real", "reais BRL"),
    ("norwegian krone", "nok"),
    // As it is written: `Sek.` are seconds.
    ("swedish krona", "SEK"),
    ("danish krone", "dkk"),
    ("zloty", "zloty złoty złotych złote zł pln"),
    ("czech koruna", "czk Kč korun"),
    ("turkish lira", "lira lirası TL TRY ₺"),
    ("hryvnia", "грн гривень гривні UAH ₴"),
    ("rupiah", "rupiah IDR"),
];

/// A thousand euros, as reports of German companies count them.
pub const THOUSAND_EUROS: &str = "TEUR";

/// Currencies of several countries: without one it may be that of each.
const DOLLAR: &str = "dollar";
const FRANC: &str = "franc";
const PESO: &str = "peso";
/// Signs of several currencies.
const YEN_OR_YUAN: &str = "¥";
const YUAN_SIGN: &str = "元";
/// The other currencies that these may be.
const OF_SIGN: &[(&str, &[&str])] = &[
    (YEN_OR_YUAN, &["yen", "yuan", YUAN_SIGN]),
    (YUAN_SIGN, &["yuan", "taiwan dollar", "hong kong dollar"]),
    (DOLLAR, &["mexican peso", PESO]),
];

/// Letters before `$`, and words before dollars, by what they make of them.
const DOLLARS: &[(&str, &str)] = &[
    ("us dollar", "US american"),
    ("canadian dollar", "C CA CAN canadian"),
    ("australian dollar", "A AU australian"),
    ("new zealand dollar", "NZ"),
    ("hong kong dollar", "HK"),
    ("singapore dollar", "S SG singapore"),
    ("taiwan dollar", "NT taiwan"),
    ("mexican peso", "MX"),
    ("real", "R"),
];

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub quantity: &'static str,
    /// Which of several that measure the same and are no size of each other, such as currencies; empty of all others.
    pub kind: &'static str,
    /// In the smallest unit of that quantity.
    pub size: i128,
}

impl Unit {
    /// A difference of two shares of a hundred.
    pub const PERCENTAGE_POINT: Self = Self { quantity: POINTS, kind: "", size: PERCENTAGE_POINT };
    /// A hundredth of it.
    pub const BASIS_POINT: Self = Self { quantity: POINTS, kind: "", size: 1 };
    /// What durations such as `1h47` are counted in.
    pub const MINUTE: Self = Self { quantity: TIME, kind: "", size: 60 * SECOND };

    /// Returns a currency by its kind.
    pub fn of_currency(kind: &'static str) -> Self {
        Self { quantity: MONEY, kind, size: 100 }
    }

    pub fn is_money(self) -> bool {
        [MONEY, POUNDS].contains(&self.quantity)
    }

    pub fn is_years(self) -> bool {
        self.quantity == TIME && self.size == YEAR
    }

    pub fn is_time(self) -> bool {
        self.quantity == TIME
    }

    /// Returns what this is beside another unit, which tells what pounds measure.
    fn beside(self, other: Self) -> Self {
        match (self.quantity, other.quantity) {
            (POUNDS, MONEY) => Self { quantity: MONEY, kind: "pound", size: 100 },
            (POUNDS, WEIGHT) => Self { quantity: WEIGHT, kind: "", size: POUND },
            _ => self,
        }
    }

    /// Returns both as they are beside each other, if they measure the same.
    pub fn alike(self, other: Self) -> Option<(Self, Self)> {
        let (one, other) = (self.beside(other), other.beside(self));
        let is_sign = |kind: &str, of: &str| OF_SIGN.iter().any(|(sign, all)| *sign == kind && all.contains(&of));
        let is_general =
            |kind: &str, of: &str| [DOLLAR, FRANC, PESO].contains(&kind) && of.ends_with(kind) || is_sign(kind, of);
        let is_one_kind = one.kind.is_empty()
            || other.kind.is_empty()
            || one.kind == other.kind
            || is_general(one.kind, other.kind)
            || is_general(other.kind, one.kind);
        (one.quantity == other.quantity && is_one_kind).then_some((one, other))
    }

    /// Returns the unit of the area of a square whose sides are one of length, or of the volume of such a cube.
    pub fn to_the(self, power: u32) -> Option<Self> {
        // As few places as the smallest length needs.
        let side = Some(self.size / MICROMETRE).filter(|side| *side > 0 && self.quantity == LENGTH)?;
        let quantity = if power == 2 { AREA } else { VOLUME };
        let size = side.checked_pow(power)? / MICROMETRE.pow(power);
        (size > 0).then_some(Self { quantity, kind: "", size })
    }

    /// Returns whether something is counted by how much of it is done in a time.
    pub fn may_be_in_time(self) -> bool {
        [LENGTH, DATA].contains(&self.quantity)
    }

    /// Returns the unit of what is done in a time: speed of length, energy of power.
    pub fn in_time(self, time: Self) -> Option<Self> {
        if !time.is_time() || ![SECOND, HOUR].contains(&time.size) {
            return None;
        }
        let (quantity, size) = match self.quantity {
            LENGTH => (SPEED, self.size.checked_mul(HOUR)? / time.size),
            DATA => (DATA_RATE, self.size.checked_mul(SECOND)? / time.size),
            _ => return None,
        };
        (size > 0).then_some(Self { quantity, kind: "", size })
    }

    /// Returns the unit of the energy of a power for hours: kilowatts and hours make kilowatt hours.
    pub fn for_hours(self, time: Self) -> Option<Self> {
        let is_energy = self.quantity == POWER && time.is_time() && time.size == HOUR && self.size >= WATT;
        is_energy.then(|| Self { quantity: ENERGY, kind: "", size: self.size / WATT * (HOUR / SECOND) })
    }

    /// Returns the dollar of the country that a word or letters before it name.
    pub fn dollar_of(self, country: &str) -> Option<Self> {
        let kind = DOLLARS.iter().find(|(_, names)| is_in(names, country))?.0;
        (self.kind == DOLLAR).then_some(Self { kind, ..self })
    }
}

/// Every word of a page behind a number is looked up, and what is kept is ours: it needs no hash that strangers cannot
/// foresee.
static UNIT_OF: LazyLock<HashMap<&str, Unit, FixedState>> = LazyLock::new(|| {
    let of_line = |(quantity, line): &(&'static str, &'static str)| {
        let (quantity, mut size) = (*quantity, 0);
        let unit = move |text: &'static str| {
            let number = text.parse::<i128>();
            size = *number.as_ref().unwrap_or(&size);
            number.is_err().then_some((text, Unit { quantity, kind: "", size }))
        };
        line.split_whitespace().filter_map(unit)
    };
    let of_kind = |(kind, names): &(&'static str, &'static str)| {
        let unit = Unit::of_currency(kind);
        names.split_whitespace().map(move |name| (name, unit))
    };
    let thousand = (THOUSAND_EUROS, Unit { size: 100_000, ..Unit::of_currency("euro") });
    UNITS.iter().flat_map(of_line).chain(CURRENCIES.iter().flat_map(of_kind)).chain([thousand]).collect()
});

/// Returns the unit of a word in lower case.
pub fn unit(word: &str) -> Option<Unit> {
    UNIT_OF.get(word).copied().filter(|unit| unit.size > 0)
}

/// Returns the unit of a word as it is written, or else in lower case.
pub fn unit_as_written(word: &str, lower: &str) -> Option<Unit> {
    match UNIT_OF.get(word) {
        Some(unit) => Some(*unit).filter(|unit| unit.size > 0),
        None => unit(lower),
    }
}

/// Returns whether a word is the code of a currency, as it is written: `EUR`, `INR`.
pub fn is_currency_code(word: &str) -> bool {
    let is_code = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    is_code && unit_as_written(word, &word.to_lowercase()).is_some_and(|unit| !unit.kind.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_made_of_others() {
        let of = |word: &str| unit_as_written(word, &word.to_lowercase()).unwrap();
        let check = |made: Option<Unit>, word: &str| assert_eq!(made, Some(of(word)), "{word}");
        check(of("m").to_the(2), "Quadratmeter");
        check(of("km").to_the(2), "Quadratkilometer");
        check(of("m").to_the(3), "Kubikmeter");
        check(of("km").in_time(of("h")), "kmh");
        check(of("miles").in_time(of("hour")), "mph");
        check(of("Mbit").in_time(of("s")), "Mbps");
        check(of("MB").in_time(of("second")), "MBps");
        check(of("MW").for_hours(of("hours")), "MWh");
        assert_eq!([of("bit").in_time(of("hour")), of("kg").to_the(2), of("nm").to_the(3)], [None; 3]);
        assert!(UNIT_OF.values().all(|unit| unit.size >= 0));
    }

    #[test]
    fn what_may_be_two_things_is_what_the_other_is() {
        let of = |word: &str| unit_as_written(word, &word.to_lowercase());
        let pairs = |one: &str, other: &str| of(one).unwrap().alike(of(other).unwrap());
        for (one, other) in [("pounds", "kg"), ("£", "pounds"), ("$", "AUD"), ("francs", "CHF"), ("cents", "€")] {
            assert!(pairs(one, other).is_some(), "{one} {other}");
        }
        for (one, other) in [("pounds", "$"), ("pounds", "km"), ("USD", "AUD"), ("$", "CHF"), ("mW", "mWh")] {
            assert!(of(one).zip(of(other)).is_none_or(|(one, other)| one.alike(other).is_none()), "{one} {other}");
        }
        assert_eq!(
            ["MW", "mW", "Mt", "MB"].map(|word| of(word).unwrap().size),
            [1_000_000_000, 1, 10_i128.pow(18), 8_000_000]
        );
        assert_eq!(["Mb", "G", "MS", "zone"].map(of), [None; 4]);
    }
}
