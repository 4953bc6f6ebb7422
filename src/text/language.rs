//! Which language a text is in, among those that Fathom has words for.

use std::{cmp::Ordering, collections::HashSet, sync::LazyLock};

use whatlang::{Detector, Lang, Script};

use super::{is_stop_word, lower_words, start};

/// Characters that are looked at.
const SAMPLE: usize = 2_000;
/// Shorter texts say too little for trigrams.
const ENOUGH_FOR_TRIGRAMS: usize = 60;

/// Letters of other languages in the scripts of Arabic and Russian.
const PERSIAN_AND_URDU: &str = "پچژگکیےٹڈڑ";
const UKRAINIAN_AND_OTHERS: &str = "іїєґўјљњђћџ";

/// A language with stems, stop words and fixed phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Chinese,
}

impl Language {
    pub const ALL: [Self; 5] = [Self::English, Self::German, Self::French, Self::Spanish, Self::Chinese];

    /// Returns the ISO 639-1 code of the language.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Chinese => "zh",
        }
    }

    /// Returns the language with this ISO 639-1 code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// Returns the likeliest language of `text`; English when in doubt, and for every other language.
    ///
    /// Small words decide, since they do so in a single question already; trigrams where small words do not.
    pub fn of(text: &str) -> Self {
        Self::guess(text, 1).unwrap_or(Self::English)
    }

    /// Returns the same where it is not in doubt: one small word, which may be one of any other language, says little.
    pub fn certain(text: &str) -> Option<Self> {
        Self::guess(text, 2)
    }

    /// Returns the likeliest language, if so many small words say so, or other signs.
    fn guess(text: &str, least: usize) -> Option<Self> {
        let text = start(text, SAMPLE);
        let letters = text.chars().filter(|char| char.is_alphabetic()).count();
        let kana = text.chars().any(|char| matches!(char, '\u{3040}'..='\u{30ff}'));
        let ideographs = text.chars().filter(|char| is_unspaced_letter(*char)).count();
        if !kana && ideographs * 4 > letters {
            return Some(Self::Chinese);
        }
        let words = lower_words(text);
        let spaced = [Self::English, Self::German, Self::French, Self::Spanish];
        let hits = spaced.map(|language| words.iter().filter(|word| is_stop_word(word, language)).count());
        let most = hits.into_iter().max().unwrap_or_default();
        let best: Vec<_> =
            spaced.into_iter().zip(hits).filter(|(_, hits)| *hits == most && most > 0).map(|(one, _)| one).collect();
        match best[..] {
            _ if is_of_neighbour(text, &words, &best, most) => None,
            [only] if most >= least => Some(only),
            _ => by_letters(text).or_else(|| by_trigrams(text)),
        }
    }
}

/// Languages without stems of ours whose small words are like Spanish and French ones, with some of questions that the
/// lists of stop words lack.
const NEIGHBOURS: [(Lang, &str, &str); 2] = [
    (Lang::Ita, "it", "chi cosa dove qual quali quando quanta quanti quanto"),
    (Lang::Por, "pt", "onde porque quais quanta quantas quanto quantos quem"),
];

/// Returns whether the text is Italian or Portuguese, and in none of the languages in `best`, which have `most` of its
/// words.
fn is_of_neighbour(text: &str, words: &[String], best: &[Language], most: usize) -> bool {
    static SETS: LazyLock<[HashSet<&str>; 2]> = LazyLock::new(|| {
        NEIGHBOURS.map(|(_, code, of_questions)| {
            let listed = stop_words::lookup(code).unwrap_or_default();
            listed.iter().copied().chain(of_questions.split(' ')).collect()
        })
    });
    let alike: Option<Vec<_>> = best.iter().map(|language| romance(*language)).collect();
    let Some(mut alike) = alike else { return false };
    let hits = SETS.iter().map(|set| words.iter().filter(|word| set.contains(word.as_str())).count());
    match hits.max().unwrap_or_default().cmp(&most) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal if most == 0 => false,
        Ordering::Equal => {
            alike.extend(NEIGHBOURS.map(|(language, ..)| language));
            let found = Detector::with_allowlist(alike).detect_lang(text);
            NEIGHBOURS.iter().any(|(language, ..)| found == Some(*language))
        }
    }
}

/// Returns the language as `whatlang` has it, if it is like those of [`NEIGHBOURS`].
fn romance(language: Language) -> Option<Lang> {
    match language {
        Language::Spanish => Some(Lang::Spa),
        Language::French => Some(Lang::Fra),
        Language::English | Language::German | Language::Chinese => None,
    }
}

/// Returns whether it is a letter of Chinese, or one near it in Unicode; those of Thai and its like stand before.
fn is_unspaced_letter(char: char) -> bool {
    super::is_unspaced(char) && char >= '\u{2e80}'
}

/// Returns the language that alone has letters of the text.
fn by_letters(text: &str) -> Option<Language> {
    let has = |letters: &str| text.chars().any(|char| letters.contains(char));
    if has("äöüßÄÖÜ") {
        return Some(Language::German);
    }
    if has("¿¡ñÑ") {
        return Some(Language::Spanish);
    }
    has("èêçœàùÈÊÇ").then_some(Language::French)
}

fn by_trigrams(text: &str) -> Option<Language> {
    if text.len() < ENOUGH_FOR_TRIGRAMS {
        return None;
    }
    match whatlang::detect(text).filter(whatlang::Info::is_reliable)?.lang() {
        Lang::Deu => Some(Language::German),
        Lang::Fra => Some(Language::French),
        Lang::Spa => Some(Language::Spanish),
        Lang::Eng => Some(Language::English),
        _ => None,
    }
}

/// Returns the language of a script that few share; a question is too short for more.
pub fn code_of_script(text: &str) -> Option<&'static str> {
    let has = |letters: &str| text.chars().any(|char| letters.contains(char));
    match whatlang::detect_script(text)? {
        _ if text.chars().any(|char| matches!(char, '\u{3040}'..='\u{30ff}')) => Some("ja"),
        Script::Hangul => Some("ko"),
        Script::Cyrillic => Some("ru").filter(|_| !has(UKRAINIAN_AND_OTHERS)),
        Script::Arabic => Some("ar").filter(|_| !has(PERSIAN_AND_URDU)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_is_enough() {
        let check = |text: &str, expected| assert_eq!(Language::of(text), expected, "{text}");
        check("When was the cooperative founded?", Language::English);
        check("เขื่อนราคาเท่าไร", Language::English);
        check("Wann wurde die Partnerschaft unterzeichnet?", Language::German);
        check("Was kostet die Brücke und wie lange?", Language::German);
        check("Quand la coopérative a-t-elle été fondée ?", Language::French);
        check("¿Cuándo se fundó la cooperativa?", Language::Spanish);
        for french in
            ["Fondée à Lyon en 1931", "La digue du port", "Qui paie la vanne ?", "Le conseil fixe les droits à payer"]
        {
            check(french, Language::French);
        }
        for spanish in ["La compuerta del puerto", "Fundada por los vecinos del puerto"] {
            check(spanish, Language::Spanish);
        }
        check("¿Quién paga la compuerta de marea y cuánto cuesta?", Language::Spanish);
        check("Cuánta energía almacenará la batería y dónde estará", Language::Spanish);
        check("塔恩维岛游客中心在冬季几点闭馆?", Language::Chinese);
        check("Tarnvey?", Language::English);
        check("これは何ですか", Language::English);
        for italian in [
            "Quanta energia immagazzinerà la batteria Saltbox e quanto costerà?",
            "Chi paga la paratoia del porto?",
            "Quando è stata fondata la cooperativa e dove si trova?",
            "La paratoia è pagata con i diritti portuali, che il consiglio fissa ogni anno.",
        ] {
            check(italian, Language::English);
        }
        for portuguese in [
            "Quanta energia a bateria Saltbox vai armazenar e quanto vai custar?",
            "Quem paga a comporta do porto?",
            "Quando foi fundada a cooperativa e onde fica?",
            "A comporta é paga com as taxas portuárias, que o conselho fixa todos os anos.",
        ] {
            check(portuguese, Language::English);
        }
        check("", Language::English);
    }

    #[test]
    fn what_may_be_in_any_language_is_in_doubt() {
        let check = |text: &str, expected| assert_eq!(Language::certain(text), expected, "{text}");
        check("Who pays for the gate?", Some(Language::English));
        check("Wer bezahlt das Sperrwerk?", Some(Language::German));
        check("由谁支付？", Some(Language::Chinese));
        for doubtful in ["Tarnvey?", "Hvem betaler for porten?", "Wat kost de sluis?", "Chi paga la paratoia?", ""] {
            check(doubtful, None);
        }
    }
}
