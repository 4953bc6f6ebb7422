//! What kind of thing a question asks for, and whether a sentence has one: a number, money, a date, a person.

use super::is_in;
use crate::text::{Language, is_number, is_stop_word, is_unspaced, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Money,
    Date,
    Duration,
    Person,
    Place,
    Reason,
}

/// How a question asks for each kind, between bars; the first word must begin a word of the question.
const ASKING: &[(Kind, &str)] = &[
    (
        Kind::Number,
        "how many|how large|how big|how high|how far|how deep|how strong|how much|how tall|how fast|how often|how wide|how \
         heavy|number of|percent|what share|what percentage|share of|strongest|highest|lowest|largest|maximum|minimum|capacity|\
         up to what|at what distance|which distance|what distance|what speed|wie viel|wie groß|wie hoch|wie weit|wie oft|wie \
         schnell|anzahl|combien|quelle distance|quelle taille|cuánt|qué distancia|多少|几|多大|多远",
    ),
    (
        Kind::Money,
        "cost|price|pay |paid|penalty|salary|earn|fee |fees|wage|revenue|budget|expensive|how much money|subscription|fare|\
         surplus|kosten|kostet|preis|geld|zahlen|zahlt|gehalt|gebühr|coût|prix|salaire|cuesta|precio|salario|钱|票价|价格|费",
    ),
    (
        Kind::Date,
        "when|what year|which year|what date|which date|the date|what day|which day|since|wann|seit|datum|welchem tag|quand|\
         quelle date|depuis|cuándo|qué fecha|desde|什么时候|何时|哪年|哪天|日期",
    ),
    (
        Kind::Duration,
        "how long|how soon|how quickly|within what|what time|how many days|how many hours|how many minutes|duration|opening \
         hours|wie lange|wie schnell|um wie viel uhr|combien de temps|quelle heure|cuánto tiempo|qué hora|几点|多久|多长时间|小时",
    ),
    (Kind::Person, "who|whom|whose|which mayor|wer|wen|wem|wessen|welche bürgermeisterin|qui |quién|quiénes|谁"),
    (Kind::Place, "where|wo |woher|wohin|où|dónde|哪里|在哪|哪儿"),
    (Kind::Reason, "why|what caused|what made|reason|blame|warum|weshalb|wieso|pourquoi|por qué|为什么|原因"),
];

const MONEY: &str = "eur euro euros usd gbp dollar dollars pound pounds cent cents yuan chf francs franken million";
const MONEY_SIGNS: &str = "€|$|£|¥|元|欧元";
const TIME_UNITS: &str = "second minute hour day week month year sekunde minut stund tag woch monat jahr heure jour semaine mois \
    hora día semana mes uhr";
pub(super) const MONTHS: &str = "january february march april may june july august september october november december januar \
    februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août septembre octobre novembre \
    décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre";
const REASONS: &str = "because|caused|cause|due to|reason|therefore|as a result|owing|blame|fault|weil|wegen|aufgrund|grund|parce|\
    en raison|porque|debido|causa|因为|由于|原因";
const SPELT: &str = "one two three four five six seven eight nine ten eleven twelve ninety half zwei drei vier fünf sechs sieben acht \
    neun zehn elf zwölf deux trois quatre cinq dix dos tres cuatro cinco diez";
const PLACES: &str = "in at to on near from behind beside nach auf bei an im à au en";

/// The kinds that a question asks for; may be none.
#[derive(Clone, Debug)]
pub(super) struct Kinds(Vec<Kind>);

impl Kinds {
    pub fn asked_by(part: &str) -> Self {
        let text = format!(" {} ", part.to_lowercase().replace(['?', '.', ',', '\u{ff1f}'], " "));
        let asked = |phrase: &str| match phrase.starts_with(is_unspaced) {
            true => text.contains(phrase),
            false => text.contains(&format!(" {phrase}")),
        };
        let kinds = ASKING.iter().filter(|(_, phrases)| phrases.split('|').any(asked)).map(|(kind, _)| *kind);
        let mut kinds: Vec<Kind> = kinds.collect();
        // `How much did it cost` asks for money, `how long` for a time, and any number would not do.
        if kinds.iter().any(|kind| matches!(kind, Kind::Money | Kind::Duration)) {
            kinds.retain(|kind| *kind != Kind::Number);
        }
        Self(kinds)
    }

    /// The share of the kinds asked for that the sentence has, 0 to 1; 1 when none is asked for.
    pub fn fit(&self, sentence: &str) -> f64 {
        let has = self.0.iter().filter(|kind| has_kind(sentence, **kind)).count();
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if self.0.is_empty() { 1.0 } else { count(has) / count(self.0.len()) }
    }
}

fn has_kind(sentence: &str, kind: Kind) -> bool {
    let has = |phrases: &str| {
        let lower = sentence.to_lowercase();
        phrases.split('|').any(|phrase| lower.contains(phrase))
    };
    match kind {
        Kind::Number => has_quantity(sentence),
        Kind::Money => has_amount(sentence) && (any_word(sentence, |word| is_in(MONEY, word)) || has(MONEY_SIGNS)),
        Kind::Date => {
            has_date(sentence)
                || any_word(sentence, |word| word.contains(':') || is_weekday(word))
                || sentence.contains('年')
                || sentence.contains('月')
        }
        Kind::Duration => {
            is_number(sentence) && (any_word(sentence, is_time) || has("小时|分钟|天")) || has_spelt_time(sentence)
        }
        Kind::Person => has_full_name(sentence),
        Kind::Place => has_place(sentence),
        Kind::Reason => has(REASONS),
    }
}

fn any_word(sentence: &str, is: impl Fn(&str) -> bool) -> bool {
    words(sentence).into_iter().any(|word| is(&word.to_lowercase()))
}

/// A number with something counted or measured behind it, a percentage, or a number that is no year at all.
fn has_quantity(sentence: &str) -> bool {
    let words = words(sentence);
    let is_thing = |word: &str| {
        let lower = word.to_lowercase();
        !is_number(word) && !is_stop_word(&lower, Language::English) && !is_in(MONTHS, &lower)
    };
    let counted = words.windows(2).any(|pair| is_number(pair[0]) && is_thing(pair[1]));
    counted
        || words.iter().skip(1).any(|word| is_in(SPELT, &word.to_lowercase()))
        || sentence.contains('%')
        || words.iter().any(|word| is_number(word) && word.contains([',', '.']))
}

/// A year or a month; `may` is none.
fn has_date(sentence: &str) -> bool {
    let is_year = |word: &str| {
        let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        digits && matches!(word.get(..2), Some("17" | "18" | "19" | "20"))
    };
    words(sentence).into_iter().any(|word| is_year(word) || word != "may" && is_in(MONTHS, &word.to_lowercase()))
}

/// A number that is no year.
fn has_amount(sentence: &str) -> bool {
    words(sentence)
        .into_iter()
        .any(|word| is_number(word) && !(word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())))
}

fn is_weekday(word: &str) -> bool {
    const WEEKDAYS: &str = "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag \
        sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo";
    WEEKDAYS.split_whitespace().any(|day| word.strip_prefix(day).is_some_and(|rest| rest.len() <= 1))
}

/// A unit of time, or a time of day.
fn is_time(word: &str) -> bool {
    let is_unit = |unit: &str| word.strip_prefix(unit).is_some_and(|rest| rest.chars().count() <= 2);
    word.contains(':') || TIME_UNITS.split_whitespace().any(is_unit)
}

/// `one hour`, `eight years`.
fn has_spelt_time(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).into_iter().map(str::to_lowercase).collect();
    words.windows(2).any(|pair| is_in(SPELT, &pair[0]) && is_time(&pair[1]))
}

/// Two capitalised words in a row, neither of which is a small word.
fn has_full_name(sentence: &str) -> bool {
    let words = words(sentence);
    let is_name = |word: &str| {
        let mut chars = word.chars();
        let capital = chars.next().is_some_and(char::is_uppercase);
        capital && chars.any(char::is_lowercase) && !is_stop_word(&word.to_lowercase(), Language::English)
    };
    let apart = |one: &str, other: &str| {
        let (from, to) = (one.as_ptr() as usize + one.len(), other.as_ptr() as usize);
        to.saturating_sub(from) == 1
    };
    words.windows(2).any(|pair| is_name(pair[0]) && is_name(pair[1]) && apart(pair[0], pair[1]))
}

/// A preposition of place before a capitalised word.
fn has_place(sentence: &str) -> bool {
    let words = words(sentence);
    let names = |word: &str| word.starts_with(char::is_uppercase) && !is_in(MONTHS, &word.to_lowercase());
    words.windows(2).any(|pair| is_in(PLACES, pair[0]) && names(pair[1])) || sentence.contains('在')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_what_questions_ask_for() {
        let check = |question: &str, sentence: &str, expected: f64| {
            assert_eq!(Kinds::asked_by(question).fit(sentence), expected, "{question} {sentence}");
        };
        check("How much did it cost?", "It cost EUR 9.", 1.0);
        check("How much did it cost?", "There were 9 boats.", 0.0);
        check("How many boats?", "There were 9 boats.", 1.0);
        check("When was it?", "In May.", 1.0);
        check("Who was it?", "It was Ada Lund.", 1.0);
        check("Who was it?", "It was the Mill.", 0.0);
        check("How long does it take?", "It takes one hour and forty minutes.", 1.0);
        check("几点闭馆\u{ff1f}", "10:00至16:00", 1.0);
        check("Is it old?", "Whatever.", 1.0);
    }
}
