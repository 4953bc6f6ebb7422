//! The fixed words of an extracted report, in the languages we know.

use crate::text::Language;

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
    no_answer: "The sources do not answer the question. No sentence that was found says what is asked; nearest to it are:",
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
    no_answer: "Die Quellen beantworten die Frage nicht. Kein gefundener Satz sagt, wonach gefragt ist; am nächsten kommen:",
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
    no_answer: "Les sources ne répondent pas à la question. Aucune phrase trouvée ne dit ce qui est demandé ; les plus proches :",
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
    no_answer: "Las fuentes no responden a la pregunta. Ninguna frase encontrada dice lo que se pregunta; las más cercanas:",
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
    no_answer: "来源中没有该问题的答案。最接近的句子是:",
    no_answer_to: "来源中没有说明:{}",
    they_differ: "各来源说法不一:",
    newer: "最后一句出自日期最新的来源({})。",
    missing_words: "问题中的下列词语未出现在任何找到的句子中:{}。",
    comma: "、",
};

/// The phrases of a language.
pub(super) fn of(language: Language) -> &'static Phrases {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
        Language::French => &FRENCH,
        Language::Spanish => &SPANISH,
        Language::Chinese => &CHINESE,
    }
}
