//! The fixed words of an extracted report, in the languages we know.

use super::words::Language;

/// One language's phrases; `{}` marks what is filled in.
#[derive(Debug)]
pub(super) struct Phrases {
    pub disclaimer: &'static str,
    pub in_short: &'static str,
    pub details: &'static str,
    pub differing: &'static str,
    pub limits: &'static str,
    pub nothing: &'static str,
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
    differing: "Where the sources differ",
    limits: "Limits",
    nothing: "The sources hold no sentence that answers the question.",
    they_differ: "The sources differ:",
    newer: "The last one is from the source with the newest date ({}).",
    missing_words: "These words of the question do not occur in any sentence found: {}.",
    comma: ", ",
};

const GERMAN: Phrases = Phrases {
    disclaimer: "Dieser Bericht wurde ohne Sprachmodell durch Extraktion zusammengestellt: Er zitiert Sätze der Quellen.",
    in_short: "Kurz gefasst",
    details: "Mehr aus den Quellen",
    differing: "Wo die Quellen voneinander abweichen",
    limits: "Einschränkungen",
    nothing: "Die Quellen enthalten keinen Satz, der die Frage beantwortet.",
    they_differ: "Die Quellen weichen voneinander ab:",
    newer: "Die letzte Angabe stammt aus der Quelle mit dem neuesten Datum ({}).",
    missing_words: "Diese Wörter der Frage kommen in keinem gefundenen Satz vor: {}.",
    comma: ", ",
};

const CHINESE: Phrases = Phrases {
    disclaimer: "本报告未使用语言模型,由摘录来源中的原句汇编而成。",
    in_short: "概要",
    details: "更多摘录",
    differing: "来源之间的分歧",
    limits: "局限",
    nothing: "来源中没有能够回答该问题的句子。",
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
        Language::Chinese => &CHINESE,
    }
}
