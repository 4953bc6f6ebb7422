//! The fixed words of an extracted report, in the languages we know.

use crate::{domain::wording::Wording, text::Language};

/// One language's phrases; `{}` marks what is filled in.
#[derive(Debug)]
pub(super) struct Phrases {
    pub disclaimer: &'static str,
    pub in_short: &'static str,
    pub details: &'static str,
    pub outdated: &'static str,
    pub differing: &'static str,
    /// Nothing was found at all.
    pub nothing: &'static str,
    /// Something was found, but no answer.
    pub no_answer: &'static str,
    /// The same for a part of the question.
    pub no_answer_to: &'static str,
    pub they_differ: &'static str,
    pub newer: &'static str,
    pub missing_words: &'static str,
    /// Between words of a list.
    pub comma: &'static str,
}

const ENGLISH: Phrases = Phrases {
    disclaimer: "This report was assembled by extraction, without a language model: it quotes sentences of the sources.",
    in_short: "In short",
    details: "More from the sources",
    outdated: "Older or superseded statements",
    differing: "Where the sources differ",
    nothing: "The sources do not answer the question: they hold no sentence about it.",
    no_answer: "The sources do not answer the question outright. No sentence that was found says what is asked; nearest to it are:",
    no_answer_to: "The sources do not say: {}",
    they_differ: "The sources differ:",
    newer: "The last one is from the source with the newest date ({}).",
    missing_words: "These words of the question do not occur in any sentence found: {}.",
    comma: ", ",
};

const GERMAN: Phrases = Phrases {
    disclaimer: "Dieser Bericht wurde ohne Sprachmodell durch Extraktion zusammengestellt: Er zitiert Sätze der Quellen.",
    in_short: "Kurz gefasst",
    details: "Mehr aus den Quellen",
    outdated: "Ältere oder überholte Aussagen",
    differing: "Wo die Quellen voneinander abweichen",
    nothing: "Die Quellen beantworten die Frage nicht: Sie enthalten keinen Satz dazu.",
    no_answer: "Die Quellen beantworten die Frage nicht ausdrücklich. Kein gefundener Satz sagt, wonach gefragt ist; am nächsten kommen:",
    no_answer_to: "Die Quellen sagen nichts dazu: {}",
    they_differ: "Die Quellen weichen voneinander ab:",
    newer: "Die letzte Angabe stammt aus der Quelle mit dem neuesten Datum ({}).",
    missing_words: "Diese Wörter der Frage kommen in keinem gefundenen Satz vor: {}.",
    comma: ", ",
};

const FRENCH: Phrases = Phrases {
    disclaimer: "Ce rapport a été composé par extraction, sans modèle de langage : il cite des phrases des sources.",
    in_short: "En bref",
    details: "Autres extraits des sources",
    outdated: "Énoncés anciens ou remplacés",
    differing: "Là où les sources divergent",
    nothing: "Les sources ne répondent pas à la question : elles n'ont aucune phrase à ce sujet.",
    no_answer: "Les sources ne répondent pas explicitement à la question. Aucune phrase trouvée ne dit ce qui est demandé ; les plus proches :",
    no_answer_to: "Les sources ne disent pas : {}",
    they_differ: "Les sources divergent :",
    newer: "La dernière vient de la source à la date la plus récente ({}).",
    missing_words: "Ces mots de la question ne figurent dans aucune phrase trouvée : {}.",
    comma: ", ",
};

const SPANISH: Phrases = Phrases {
    disclaimer: "Este informe se compuso por extracción, sin modelo de lenguaje: cita frases de las fuentes.",
    in_short: "En resumen",
    details: "Más de las fuentes",
    outdated: "Afirmaciones antiguas o sustituidas",
    differing: "Donde las fuentes difieren",
    nothing: "Las fuentes no responden a la pregunta: no contienen ninguna frase al respecto.",
    no_answer: "Las fuentes no responden expresamente a la pregunta. Ninguna frase encontrada dice lo que se pregunta; las más cercanas:",
    no_answer_to: "Las fuentes no dicen: {}",
    they_differ: "Las fuentes difieren:",
    newer: "La última procede de la fuente con la fecha más reciente ({}).",
    missing_words: "Estas palabras de la pregunta no aparecen en ninguna frase encontrada: {}.",
    comma: ", ",
};

const CHINESE: Phrases = Phrases {
    disclaimer: "本报告未使用语言模型,由摘录来源中的原句汇编而成。",
    in_short: "概要",
    details: "更多摘录",
    outdated: "较早或已过时的说法",
    differing: "来源之间的分歧",
    nothing: "来源中没有能够回答该问题的句子。",
    no_answer: "来源中没有该问题的明确答案。最接近的句子是:",
    no_answer_to: "来源中没有说明:{}",
    they_differ: "各来源说法不一:",
    newer: "最后一句出自日期最新的来源({})。",
    missing_words: "问题中的下列词语未出现在任何找到的句子中:{}。",
    comma: "、",
};

const ARABIC: Phrases = Phrases {
    disclaimer: "أُعدّ هذا التقرير بالاقتباس دون نموذج لغوي: فهو ينقل جملًا من المصادر.",
    in_short: "باختصار",
    details: "المزيد من المصادر",
    outdated: "عبارات أقدم أو متجاوَزة",
    differing: "مواضع اختلاف المصادر",
    nothing: "لا تجيب المصادر عن السؤال: ليس فيها جملة عنه.",
    no_answer: "لا تجيب المصادر صراحةً عن السؤال. لا تذكر أي جملة من الجمل التي عُثر عليها ما سُئل عنه؛ وأقربها:",
    no_answer_to: "لا تذكر المصادر: {}",
    they_differ: "تختلف المصادر:",
    newer: "العبارة الأخيرة من المصدر ذي التاريخ الأحدث ({}).",
    missing_words: "لا ترد كلمات السؤال هذه في أي جملة عُثر عليها: {}.",
    comma: "، ",
};

const RUSSIAN: Phrases = Phrases {
    disclaimer: "Этот отчёт составлен из выдержек, без языковой модели: он приводит предложения источников.",
    in_short: "Коротко",
    details: "Ещё из источников",
    outdated: "Более старые или устаревшие утверждения",
    differing: "В чём источники расходятся",
    nothing: "Источники не отвечают на вопрос: в них нет ни одного предложения об этом.",
    no_answer: "Источники не отвечают на вопрос прямо. Ни одно найденное предложение не говорит о том, что спрошено; ближе всего:",
    no_answer_to: "Источники не говорят: {}",
    they_differ: "Источники расходятся:",
    newer: "Последнее взято из источника с самой новой датой ({}).",
    missing_words: "Эти слова вопроса не встречаются ни в одном найденном предложении: {}.",
    comma: ", ",
};

const JAPANESE: Phrases = Phrases {
    disclaimer: "この報告は言語モデルを使わず、出典の文を抜き出してまとめたものです。",
    in_short: "要点",
    details: "出典からの抜粋",
    outdated: "古い記述または改められた記述",
    differing: "出典の食い違い",
    nothing: "出典には質問に答える文がありません。",
    no_answer: "出典は質問に直接には答えていません。見つかった文のうち、最も近いものは次のとおりです:",
    no_answer_to: "出典に記述がありません: {}",
    they_differ: "出典の記述が異なります:",
    newer: "最後の文は最も新しい日付の出典 ({}) によります。",
    missing_words: "質問の次の語は、見つかったどの文にもありません: {}。",
    comma: "、",
};

const KOREAN: Phrases = Phrases {
    disclaimer: "이 보고서는 언어 모델 없이 출처의 문장을 발췌하여 엮은 것입니다.",
    in_short: "요약",
    details: "출처에서 더 보기",
    outdated: "오래되었거나 대체된 진술",
    differing: "출처가 서로 다른 부분",
    nothing: "출처에는 이 질문에 대한 문장이 없습니다.",
    no_answer: "출처는 이 질문에 직접 답하지 않습니다. 찾은 문장 가운데 가장 가까운 것은 다음과 같습니다:",
    no_answer_to: "출처에 나와 있지 않습니다: {}",
    they_differ: "출처의 내용이 서로 다릅니다:",
    newer: "마지막 문장은 날짜가 가장 최근인 출처({})에서 가져왔습니다.",
    missing_words: "질문의 다음 낱말은 찾은 어느 문장에도 없습니다: {}.",
    comma: ", ",
};

/// Letters of other languages in the scripts of Arabic and Russian.
const PERSIAN_AND_URDU: &str = "پچژگکیےٹڈڑ";
const UKRAINIAN_AND_OTHERS: &str = "іїєґўјљњђћџ";

/// Returns the words that code writes into a report on `brief`: all of the language of the question, whatever the
/// sources that it quotes are in.
pub fn wording(brief: &str) -> &'static Wording {
    Wording::of_code(of_script(brief).unwrap_or_else(|| Language::of(brief).code()))
}

/// Returns the language of a script that few share; a question is too short for more.
fn of_script(brief: &str) -> Option<&'static str> {
    let count = |is: fn(char) -> bool| brief.chars().filter(|char| is(*char)).count();
    let most = count(char::is_alphabetic) / 2;
    let has = |letters: &str| brief.chars().any(|char| letters.contains(char));
    if count(|char| matches!(char, '\u{3040}'..='\u{30ff}')) > 0 {
        return Some("ja");
    }
    if count(|char| matches!(char, '\u{ac00}'..='\u{d7a3}')) > most {
        return Some("ko");
    }
    if count(|char| matches!(char, '\u{400}'..='\u{4ff}')) > most {
        return Some("ru").filter(|_| !has(UKRAINIAN_AND_OTHERS));
    }
    let arabic = count(|char| matches!(char, '\u{620}'..='\u{6d3}')) > most;
    Some("ar").filter(|_| arabic && !has(PERSIAN_AND_URDU))
}

/// Returns the phrases of the language of [`wording`].
pub(super) fn of(brief: &str) -> &'static Phrases {
    match wording(brief).code {
        "de" => &GERMAN,
        "fr" => &FRENCH,
        "es" => &SPANISH,
        "zh" => &CHINESE,
        "ja" => &JAPANESE,
        "ko" => &KOREAN,
        "ru" => &RUSSIAN,
        "ar" => &ARABIC,
        _ => &ENGLISH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_and_wording_are_of_the_language_of_the_question() {
        let check = |question: &str, code: &str, in_short: &str| {
            assert_eq!((wording(question).code, of(question).in_short), (code, in_short), "{question}");
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
