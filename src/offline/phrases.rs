//! The fixed words of an extracted report, in the languages of `phrases.txt`.

use super::lists::list;
use crate::{
    domain::wording::Wording,
    text::{Language, code_of_script},
};

/// Returns the words that code writes into a report on `brief`: all of the language of the question, whatever the
/// sources that it quotes are in.
pub fn wording(brief: &str) -> &'static Wording {
    Wording::of_code(code_of_script(brief).unwrap_or_else(|| Language::of(brief).code()))
}

/// The phrases of one language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phrases {
    code: &'static str,
}

impl Phrases {
    /// Returns those of the language of [`wording`]; English ones where there are none.
    pub fn of(brief: &str) -> Self {
        let code = wording(brief).code;
        let has_phrases = !Self { code }.get("in_short").is_empty();
        Self { code: if has_phrases { code } else { "en" } }
    }

    /// Returns the phrase of this name in `phrases.txt`.
    pub fn get(self, name: &str) -> &'static str {
        list(&format!("{} {name}", self.code))
    }

    /// Returns the phrase with this where it has `{}`.
    pub fn filled(self, name: &str, with: &str) -> String {
        self.get(name).replace("{}", with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_and_wording_are_of_the_language_of_the_question() {
        let check = |question: &str, code: &str, in_short: &str| {
            assert_eq!((wording(question).code, Phrases::of(question).get("in_short")), (code, in_short), "{question}");
        };
        check("Who built the Skua turbine?", "en", "In short");
        check("Wer hat die Turbine Skua gebaut?", "de", "Kurz gefasst");
        check("¿Quién construyó la turbina Skua?", "es", "En resumen");
        check("谁建造了 Skua 涡轮机?", "zh", "概要");
        check("متى بُنيت التوربينة Skua؟", "ar", "باختصار");
        check("Кто построил турбину Skua?", "ru", "Коротко");
        check("Skuaタービンは誰が建てましたか", "ja", "要点");
        check("Skua 터빈은 누가 지었습니까?", "ko", "요약");
        // Nobody is answered in a language that only looks like theirs.
        check("توربین Skua را چه کسی ساخت؟", "en", "In short");
        check("Хто збудував турбіну Skua?", "en", "In short");
    }
}
