//! Whether a text says that an answer is missing.

use std::ops::Range;

/// Words that say by themselves that an answer is missing.
const ADMITS: &[&str] = &[
    "could not be found",
    "could not find",
    "cannot be answered",
    "not answer the question",
    "no answer",
    "no information",
    "nothing was found",
    "no source",
    "keine antwort",
    "keine quelle",
    "keinen satz",
    "die frage nicht",
    "nicht beantwort",
    "aus den quellen nicht",
    "pas de réponse",
    "aucune source",
    "ninguna fuente",
    "nessuna fonte",
    "nenhuma fonte",
    "geen enkele bron",
    "无法回答",
];

/// Words that say so in a sentence that cites nothing, or is about sources: `Her salary is not given.`
const ADMITS_UNCITED: &[&str] = &[
    "not disclosed",
    "not given",
    "not stated",
    "not specified",
    "not mention",
    "keine angabe",
    "nicht angegeben",
    "nicht genannt",
    "未提及",
    "未说明",
];

/// Words behind those of a source that is none of a text: `no source of income`.
const OF_OTHER_SOURCES: &[&str] = &["of", "von", "für", "de", "di", "d'eau", "d’eau", "van"];

/// Words that say so in a sentence about sources, a language a line. Of other things they say what is the case.
const ADMITS_OF_SOURCES: &str = "\
do not say|does not say|do not state|does not state|do not answer|does not answer|do not hold|does not hold|do not contain|\
does not contain|do not give|does not give|do not name|does not name|do not provide|does not provide|do not specify|\
does not specify|do not indicate|does not indicate|do not report|does not report|do not reveal|does not reveal|\
do not disclose|does not disclose|do not cover|do not include|hold no |holds no |contain no |contains no |give no |gives no |\
name no |names no |state no |states no |provide no |provides no |not found|not available|none of
nicht gefunden|enthalten nicht|enthalten kein|enthält kein|nennen kein|nennt kein|nennen nicht|nennt nicht|sagen nicht|\
sagt nicht|machen keine|macht keine|geben kein|gibt kein|nicht hervor|nicht erwähnt|erwähnen nicht|erwähnen kein
ne répond|ne disent pas|ne dit pas|ne contien|n'indique|n’indique|ne mentionne|ne précise|ne donne|ne fourni|aucun
no contien|no responde|no dice|no se encontr|no indica|no menciona|no especifica|no precisa|no ofrece|ningun|ningún
non indica|non dice|non dicono|non contien|non contengono|non menziona|non specifica|non precisa|non riporta|non forni|\
non rispond|nessun
não indica|não diz|não contém|não contêm|não menciona|não especifica|não informa|não respond|não fornec|não refere|nenhum
vermelden niet|vermeldt niet|vermelden geen|vermeldt geen|noemen niet|noemen geen|noemt geen|geven niet|geven geen|\
geeft geen|bevatten geen|bevat geen|zeggen niet|zegt niet|niet gevonden|niet vermeld|vraag niet
не отвеча|не указ|не говор|не содерж|не упомина|не сообща|не приводят|не назыв|нет ответа
لا تجيب|لا تذكر|لا يذكر|لا تحتوي|لا تشير|لا توضح|لم يرد|لم ترد
没有|未找到|未给出|未提供|未列出|并未
ありません|ていません|ておらず
없습니다|없다|지 않습니다|지 않는다|지 않았|찾을 수 없";

/// Beginnings of the words for sources, in the languages of [`ADMITS_OF_SOURCES`]; each tells nothing in the others:
/// `bron` begins `bronze`. One `material` and one `passage` are mostly no texts.
const SOURCES: &str = "\
source document passages page materials evidence findings
quelle dokument unterlage seite fundstelle materialien
source document texte page passages
fuente documento página texto materiales
fonte fonti document pagin testi materiali
fonte documento página texto materiais
bron documen pagina materialen
источник документ материал
مصادر مصدر وثائق
来源 资料 文件 文档 材料 网页 文献
出典 資料 情報源 文書 文献 ソース
출처 자료 문서";

/// What other things than texts are as well, such as `renewable sources`, and the words before it where it is a text.
const SOURCE: &str = "source";
const BEFORE_SOURCE: &str = "the these those this that its our my your their such cited available retrieved consulted given \
    provided listed web official public online published multiple further additional reviewed examined and but primary no any all both each every neither either other of two three few several many most les ces ses nos vos leurs la cette aucune une \
    des deux trois plusieurs autres";

/// Words that go on with what was the case before, behind ones like `gives no `.
const NO_LONGER: &str = "longer";

/// Words that are said of all sources or of what stands for them, and what has to be said so.
const NONE_OF: &str = "none of";
const THEM: &str = "them";
const SAYING: &str = "say says said state states stated give gives gave name names named mention mentions mentioned answer answers \
    answered contain contains contained provide provides provided report reports reported specify specifies specified tell tells \
    indicate indicates indicated include includes included hold holds held disclose discloses disclosed";
/// Words behind the source in which this is looked for, and before it.
const NEAR: usize = 3;

/// Words by which a sentence names its source, and says something else.
const ATTRIBUTIONS: &[&str] = &[
    "according to",
    "laut ",
    "zufolge",
    "selon ",
    "d'après",
    "d’après",
    "según ",
    "secondo ",
    "segundo ",
    "volgens ",
    "согласно ",
    "по данным",
    "根据",
    "显示",
    "表明",
    "によると",
    "によれば",
    "따르면",
];

/// Bytes on either side of such words in which their sentence is looked at.
const LONGEST_SIDE: usize = 240;

/// Returns the first section: what stands under the title up to the second heading below it.
pub fn opening(body: &str) -> &str {
    let mut headings = body.match_indices("\n## ").map(|(at, _)| at);
    let first = headings.next();
    let begins_with_text = first.is_some_and(|at| {
        let lines = body[..at].lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with('*')).count() > 0
    });
    let end = if begins_with_text { first } else { headings.next() };
    &body[..end.unwrap_or(body.len())]
}

/// Returns whether a text says that an answer is missing.
pub fn admits(text: &str) -> bool {
    place(&text.to_lowercase()).is_some()
}

/// Returns whether a report says so before it cites anything.
pub fn admits_first(body: &str) -> bool {
    let opened = opening(body).to_lowercase();
    place(&opened).is_some_and(|at| at < opened.find("[1]").unwrap_or(usize::MAX))
}

/// Finds the first words in a text in lower case that say so.
fn place(lower: &str) -> Option<usize> {
    let places = |words: &'static str| lower.match_indices(words).map(|(at, _)| at..at + words.len());
    let first = |words: &'static str, holds: &dyn Fn(&str) -> bool| {
        let admits =
            |place: &Range<usize>| says_so(words, &lower[place.end..]) && holds(&lower[sentence(lower, place)]);
        places(words).find(admits).map(|place| place.start)
    };
    let of_text = |words: &&'static str| places(words).find(|place| !is_of_other(&lower[place.end..]));
    let sure = ADMITS.iter().filter_map(|words| of_text(words).map(|place| place.start));
    let is_uncited = |said: &str| !cites(said) || SOURCES.lines().any(|sources| is_about(sources, said));
    let uncited = ADMITS_UNCITED.iter().filter_map(|words| first(words, &is_uncited));
    let languages = ADMITS_OF_SOURCES.lines().zip(SOURCES.lines());
    let of_sources = languages.flat_map(|(all, sources)| all.split('|').map(move |words| (words, sources)));
    let of_sources = of_sources.filter_map(|(words, sources)| first(words, &|said| is_about(sources, said)));
    sure.chain(uncited).chain(of_sources).min()
}

/// Returns whether words say that an answer is missing with what follows them.
fn says_so(words: &str, behind: &str) -> bool {
    match words {
        NONE_OF => none_says(&behind[..behind.floor_char_boundary(LONGEST_SIDE)]),
        _ => !(words.ends_with(' ') && behind.starts_with(NO_LONGER)),
    }
}

/// Returns whether a text goes on with sources and what they do not say: `the sources names it`.
fn none_says(behind: &str) -> bool {
    let sources: Vec<&str> = SOURCES.lines().take(1).flat_map(str::split_ascii_whitespace).chain([THEM]).collect();
    let begins_source = |word: &&str| sources.iter().any(|source| word.starts_with(source));
    let mut words = behind.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty());
    words.by_ref().take(NEAR + 1).any(|word| begins_source(&word)) && words.take(NEAR).any(|word| is_any(SAYING, word))
}

/// Returns whether words go on with what something else is a source of.
fn is_of_other(behind: &str) -> bool {
    let mut words = behind.trim_start_matches(char::is_alphabetic).split_ascii_whitespace();
    behind.starts_with([' ', 's', 'n']) && words.next().is_some_and(|next| OF_OTHER_SOURCES.contains(&next))
}

/// Returns the sentence around a place, with the citations behind its full stop.
fn sentence(text: &str, place: &Range<usize>) -> Range<usize> {
    let (from, to) = (place.start.saturating_sub(LONGEST_SIDE), (place.end + LONGEST_SIDE).min(text.len()));
    let (before, after) =
        (&text[text.ceil_char_boundary(from)..place.start], &text[place.end..text.floor_char_boundary(to)]);
    let ends = |text: &str| -> Vec<usize> {
        let is_end = |(at, char): &(usize, char)| match char {
            '.' | '!' | '?' => text[at + 1..].starts_with(char::is_whitespace),
            '。' | '！' | '？' | '\n' => true,
            _ => false,
        };
        text.char_indices().filter(is_end).map(|(at, char)| at + char.len_utf8()).collect()
    };
    let start = ends(before).pop().map_or(place.start - before.len(), |end| place.start - before.len() + end);
    let end = ends(after).first().map_or(after.len(), |end| {
        let behind = after[*end..].trim_start_matches(' ');
        let citations = behind.len() - behind.trim_start_matches(|char: char| "[]0123456789 s".contains(char)).len();
        after.len() - behind.len() + if behind.starts_with('[') { citations } else { 0 }
    });
    start..place.end + end
}

/// Returns whether a sentence in lower case has a citation, by number or id.
fn cites(sentence: &str) -> bool {
    let is_number = |inside: &str| inside.trim_start_matches('s').starts_with(|char: char| char.is_ascii_digit());
    sentence.split('[').skip(1).any(is_number)
}

/// Returns whether a sentence in lower case says something of the sources, by these words for them, and not by them.
fn is_about(sources: &str, sentence: &str) -> bool {
    let begins = |(at, word): (usize, &str)| {
        let before = &sentence[..at];
        !before.ends_with(|char: char| char.is_ascii_alphabetic())
            && (word != SOURCE || is_of_text(before) && !names_origin(&sentence[at + word.len()..]))
    };
    sources.split_whitespace().any(|word| sentence.match_indices(word).any(begins))
        && !ATTRIBUTIONS.iter().any(|words| sentence.contains(words))
}

/// Returns whether the word for a source before this part of a sentence names where a thing is from: `(source: it)`.
fn names_origin(behind: &str) -> bool {
    behind.trim_start_matches('s').trim_start().starts_with([':', '['])
}

/// Returns whether the word for a source behind the beginning of a sentence is one of a text.
fn is_of_text(before: &str) -> bool {
    let (whole, before) = (before, before.trim_end_matches(|char: char| !char.is_alphabetic()));
    let begins_clause = whole[before.len()..].contains([',', ';', ':', '–', '—']);
    let last = before.rsplit(|char: char| !char.is_alphabetic()).next().unwrap_or_default();
    last.is_empty() || begins_clause || is_any(BEFORE_SOURCE, last)
}

fn is_any(all: &str, word: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    #[test]
    fn a_missing_answer_is_admitted_before_anything_is_cited() {
        let check = |body: &str, expected: bool| assert_eq!(admits_first(body), expected, "{body}");
        check("# T\n\n## In short\n\nThe sources do not state the salary.\n\n- She came in 2029. [1]\n", true);
        check("# T\n\n## In short\n\n- She came in 2029. [1]\n- Her salary is not given. [2]\n", false);
        check("# T\n\nDie Quellen enthalten keinen Satz dazu.\n", true);
        check("# T\n\n## In short\n\n- A. [1]\n\n## Limits\n\nnot found\n", false);
        check("# T\n\nHer salary is not given. She came in 2029. [1]\n", true);
        check("# T\n\nHer salary is not given. [1] She came in 2029. [1]\n", false);
    }

    #[test]
    fn an_answer_may_say_what_is_not_the_case() {
        for text in [
            "The vaccine is not available in Europe [1].",
            "According to the sources, the tank does not contain water [1].",
            "The resources of the town do not include a bridge [1].",
            "The bronze bell is not available to visitors [1].",
            "This material does not contain lead [1].",
            "The passage is not available to ships [1].",
            "The toll is no source of income, and no sources of water exist on the island [1].",
            "Der Brunnen ist keine Quelle von Trinkwasser [1].",
            "该桥没有限高 [1]。",
            "资料显示，该桥没有限高 [1]。",
            "Renewable sources do not provide enough power in winter [1].",
            "The energy sources do not include wind [1].",
            "The United States no longer publishes such documents [1].",
            "The office gives no longer leases, says the document [1].",
            "The contract does not specify an end date (source: the ministry) [1].",
            "The contract does not specify an end date; source: the ministry [1].",
            "None of the documents dispute this [1].",
            "None of the documents dispute what the sources say [1].",
            "None of the boats is named in the documents [1].",
            "None of the boats that were counted sank, the sources say [1].",
            "Aucune taxe n'est due pour les bateaux [1].",
            "Ninguna persona resultó herida [1].",
            "Nessuna tassa è dovuta [1].",
            "La cisterna non contiene acqua [1].",
            "この橋に高さ制限はありません [1]。",
            "이 다리에는 높이 제한이 없습니다 [1].",
        ] {
            assert!(!admits(text), "{text}");
        }
    }

    #[test]
    fn a_missing_answer_is_admitted_in_each_language() {
        for text in [
            "The sources do not state when it ends [S7].",
            "Its price was not found in the documents.",
            "No source names its price [1].",
            "Sources do not give its price [1].",
            "However, sources do not give its price [1].",
            "Public sources do not disclose its price [1].",
            "- **None of the 5 sources** explicitly states its price [1].",
            "None of these documents names the price [1].",
            "The documents were read, and none of them mentions the price [1].",
            "Keine Quelle nennt den Preis [1].",
            "Die Quellen nennen keinen Preis.",
            "Die Quellen sagen nichts dazu.",
            "Les sources n’indiquent pas le prix.",
            "Las fuentes no indican el precio.",
            "Le fonti non indicano il prezzo.",
            "As fontes não indicam o preço.",
            "De bronnen vermelden geen prijs.",
            "Источники не указывают цену.",
            "لا تذكر المصادر السعر.",
            "来源中没有价格。",
            "出典には価格が記載されていません。",
            "출처에는 가격이 나와 있지 않습니다.",
        ] {
            assert!(admits(text), "{text}");
        }
    }

    #[test]
    fn each_language_has_its_words() {
        assert_eq!(ADMITS_OF_SOURCES.lines().count(), SOURCES.lines().count());
        for shape in ["没有", "not available ", "aucun ", "no source of "] {
            growth::check(shape, 4_000, |text| assert!(!admits(text), "{shape}"));
        }
    }
}
