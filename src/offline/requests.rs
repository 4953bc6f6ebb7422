//! Messages that ask for what only a language model can do: another form of the report, another language, or plain
//! talk. They are told so at once, instead of having their words researched.
//!
//! A message is one of these when it says nothing else: each of its words is in the lists below. A real question has
//! words of its subject in it, and no list here knows a subject.

/// More words than any such request has.
const MAX_WORDS: usize = 24;
/// Characters of the longest word of a script without spaces.
const MAX_UNSPACED: usize = 4;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Thanks, praise, a greeting.
    Talk,
    /// The same text in another form or language.
    Change,
}

/// The words of one language, and what is answered in it.
struct Vocabulary {
    talk: &'static str,
    change: &'static str,
    /// Names of languages: a request only beside another word.
    tongues: &'static str,
    fillers: &'static str,
    answer_to_talk: &'static str,
    answer_to_change: &'static str,
}

const ENGLISH: Vocabulary = Vocabulary {
    talk: "thanks thank thx ty cheers great good nice perfect excellent awesome cool wonderful ok okay hello hi hey bye \
           goodbye welcome",
    change: "shorter short shorten longer summarize summarise summarized summarised summary summaries brief briefly \
             briefer concise concisely condense condensed compress tldr tl rewrite rewritten reword rephrase paraphrase \
             simplify simplified simpler simple simply easier eli5 reformat table tables tabular bullet bullets \
             bulleted list markdown json csv latex html email mail letter tweet formal informal friendlier translate \
             translated translation crisper tighter",
    tongues: "english german french spanish italian portuguese dutch chinese japanese russian polish turkish arabic \
              swedish korean hindi",
    fillers: "please pls kindly can could would will you i me us we my your want like need d ll s m re it its this that \
              these the a an report answer text result response in into to of for than as with on at by from and or but so \
              really very much many more less again now then just only all whole everything above make give write \
              turn put get have let do create produce show convert render keep version form format way bit little lot \
              too long no not one two three four five six seven eight nine ten hundred page pages sentence sentences \
              paragraph paragraphs word words line lines max maximum most about point points style tone language \
              dr job work done help",
    answer_to_talk: "You are welcome. This is the offline model: it can only quote documents, not converse, so ask it a \
                     question, or set a language model with `--model` or `FATHOM_MODEL`, such as `openai:gpt-4.1` \
                     together with `OPENAI_API_KEY`.",
    answer_to_change: "The offline model can only quote documents; it cannot shorten, rewrite, reformat or translate a \
                       report. Set a language model for that, with `--model` or `FATHOM_MODEL`, such as \
                       `openai:gpt-4.1` together with `OPENAI_API_KEY`, and ask again.",
};

const GERMAN: Vocabulary = Vocabulary {
    talk: "danke dank dankeschön toll gut prima klasse perfekt super wunderbar hallo tschüss servus",
    change: "kürzer kurz kürze kürzen kürzere kürzeren länger knapper zusammenfassen zusammenfassung zusammen fasse fass \
             umschreiben umformulieren formuliere vereinfache vereinfachen einfacher einfach übersetze übersetzen \
             übersetz übersetzung tabelle tabellarisch stichpunkte stichpunkten stichworten aufzählung liste \
             förmlicher verständlicher",
    tongues: "deutsch englisch französisch spanisch italienisch portugiesisch niederländisch chinesisch japanisch \
              russisch polnisch türkisch arabisch schwedisch englische \
              französische spanische deutsche",
    fillers: "bitte mal kannst könntest können könnten würdest du sie ihr ich mir uns es das den die der dem des ein eine \
              einen einer als in ins auf für zu mit und oder aber so sehr viel viele vielen mehr weniger noch nochmal \
              jetzt nur alles ganze ganzen mach mache machen gib geben schreib schreibe schreiben bericht antwort text \
              ergebnis fassung form sätze sätzen satz seite seiten absatz absätze absätzen wörter wörtern worte worten \
              zeilen drei zwei vier fünf etwas bisschen sprache höchstens maximal um",
    answer_to_talk: "Gern geschehen. Dies ist das Offline-Modell: Es kann nur Dokumente zitieren, nicht plaudern. Stellen \
                     Sie ihm eine Frage, oder wählen Sie mit `--model` oder `FATHOM_MODEL` ein Sprachmodell, etwa \
                     `openai:gpt-4.1` zusammen mit `OPENAI_API_KEY`.",
    answer_to_change: "Das Offline-Modell kann nur Dokumente zitieren; kürzen, umschreiben, umformen oder übersetzen kann \
                       es einen Bericht nicht. Wählen Sie dafür mit `--model` oder `FATHOM_MODEL` ein Sprachmodell, etwa \
                       `openai:gpt-4.1` zusammen mit `OPENAI_API_KEY`, und fragen Sie noch einmal.",
};

const FRENCH: Vocabulary = Vocabulary {
    talk: "merci parfait bien génial bravo bonjour salut super",
    change: "court courte courts raccourcis raccourcir raccourcit abrège résume résumer résumé résumez traduis traduire \
             traduisez traduction tableau puces liste simplifie simplifier simple reformule reformuler réécris réécrire \
             concis bref",
    tongues: "français anglais allemand espagnol italien portugais néerlandais chinois japonais russe polonais turc arabe",
    fillers: "s il te vous plaît plait stp svp peux pouvez pourrais pourriez tu je me moi nous le la les l un une des du \
              de d en dans à au aux pour sous forme et ou mais très beaucoup plus moins encore tout maintenant \
              seulement fais faites donne donnez mets écris écrivez rapport réponse texte résultat version ce cela ça \
              phrases phrase mots pages page paragraphe paragraphes lignes trois deux quatre cinq peu langue",
    answer_to_talk: "Avec plaisir. Ceci est le modèle hors ligne : il ne sait que citer des documents, pas converser. \
                     Posez-lui une question, ou choisissez un modèle de langue avec `--model` ou `FATHOM_MODEL`, par \
                     exemple `openai:gpt-4.1` avec `OPENAI_API_KEY`.",
    answer_to_change: "Le modèle hors ligne ne sait que citer des documents ; il ne peut ni raccourcir, ni reformuler, ni \
                       traduire un rapport. Choisissez pour cela un modèle de langue avec `--model` ou `FATHOM_MODEL`, \
                       par exemple `openai:gpt-4.1` avec `OPENAI_API_KEY`, et redemandez.",
};

const SPANISH: Vocabulary = Vocabulary {
    talk: "gracias perfecto genial bueno estupendo vale hola adiós",
    change: "corto corta cortos acorta acortar acórtalo resume resumir resumen resúmelo resuma traduce traducir tradúcelo \
             traduzca traducción tabla viñetas lista simplifica simplificar simple reformula reformular reescribe \
             reescribir breve conciso más",
    tongues: "español castellano inglés alemán francés italiano portugués chino japonés ruso polaco turco árabe",
    fillers: "por favor puedes puede podrías podría tú yo me lo la los las el un una unos unas de del en a al para como \
              con y o pero muy mucho muchas muchos menos otra vez ahora solo todo haz hazlo hacer dame da pon ponlo \
              escribe escríbelo informe respuesta texto resultado versión forma esto eso frases frase palabras página \
              páginas párrafo párrafos líneas tres dos cuatro cinco poco idioma",
    answer_to_talk: "De nada. Este es el modelo sin conexión: solo sabe citar documentos, no conversar. Hágale una \
                     pregunta, o elija un modelo de lenguaje con `--model` o `FATHOM_MODEL`, por ejemplo \
                     `openai:gpt-4.1` junto con `OPENAI_API_KEY`.",
    answer_to_change: "El modelo sin conexión solo sabe citar documentos; no puede acortar, reescribir ni traducir un \
                       informe. Elija para eso un modelo de lenguaje con `--model` o `FATHOM_MODEL`, por ejemplo \
                       `openai:gpt-4.1` junto con `OPENAI_API_KEY`, y vuelva a pedirlo.",
};

const CHINESE: Vocabulary = Vocabulary {
    talk: "谢谢 多谢 感谢 很好 好的 你好",
    change: "翻译 译成 简短 缩短 短一点 短一些 短些 总结 概括 摘要 表格 列表 改写 简化",
    tongues: "中文 英文 英语 法语 德语 德文 法文 日语 日文 西班牙语 俄语",
    fillers: "请 把 将 它 这 个 份 报告 回答 成 一下 做成 做 用 为 给 我 你 的 了 吧 更 写 再 一个 能 吗 可以",
    answer_to_talk: "不客气。这是离线模型,只能摘引文档,不能对话。请提出问题,或用 `--model` 或 `FATHOM_MODEL` \
                     设定语言模型,例如 `openai:gpt-4.1`,并设定 `OPENAI_API_KEY`。",
    answer_to_change: "离线模型只能摘引文档,不能缩短、改写或翻译报告。请用 `--model` 或 `FATHOM_MODEL` 设定语言模型,\
                       例如 `openai:gpt-4.1`,并设定 `OPENAI_API_KEY`,然后再问一次。",
};

const ALL: [&Vocabulary; 5] = [&ENGLISH, &GERMAN, &FRENCH, &SPANISH, &CHINESE];

/// What is to be said to a message that asks for what only a language model can do; `None` for all others.
pub fn declined(message: &str) -> Option<&'static str> {
    let words = words(message)?;
    let kind = kind(&words)?;
    let hits = |vocabulary: &Vocabulary| words.iter().filter(|word| vocabulary.knows(word)).count();
    // The first of those with the most words in common: English where several have as many.
    let vocabulary = ALL.into_iter().rev().max_by_key(|vocabulary| hits(vocabulary))?;
    Some(match kind {
        Kind::Talk => vocabulary.answer_to_talk,
        Kind::Change => vocabulary.answer_to_change,
    })
}

/// What the words ask for together, if all of them are known.
fn kind(words: &[String]) -> Option<Kind> {
    let any = |list: fn(&Vocabulary) -> &'static str| {
        words.iter().any(|word| ALL.iter().any(|vocabulary| holds(list(vocabulary), word)))
    };
    let known = |word: &String| word.chars().all(|char| char.is_ascii_digit()) || ALL.iter().any(|of| of.knows(word));
    if !words.iter().all(known) {
        return None;
    }
    if any(|of| of.change) || (words.len() > 1 && any(|of| of.tongues)) {
        return Some(Kind::Change);
    }
    any(|of| of.talk).then_some(Kind::Talk)
}

impl Vocabulary {
    fn knows(&self, word: &str) -> bool {
        [self.talk, self.change, self.tongues, self.fillers].iter().any(|list| holds(list, word))
    }
}

fn holds(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// The words in lower case; `None` when there are none, or more than a request has.
fn words(message: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for word in message.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if words.len() >= MAX_WORDS {
            return None;
        }
        let word = word.to_lowercase();
        match word.chars().any(crate::text::is_unspaced) {
            true => words.extend(unspaced(&word)?),
            false => words.push(word),
        }
    }
    (!words.is_empty()).then_some(words)
}

/// Text without spaces cut into the words it is made of, the longest first; `None` when one is unknown.
fn unspaced(text: &str) -> Option<Vec<String>> {
    let chars: Vec<char> = text.chars().take(MAX_WORDS * MAX_UNSPACED + 1).collect();
    let mut words = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let word = (1..=MAX_UNSPACED.min(chars.len() - at)).rev().find_map(|length| {
            let word: String = chars[at..at + length].iter().collect();
            CHINESE.knows(&word).then_some(word)
        })?;
        at += word.chars().count();
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_language_model_can_do_is_declined_in_the_language_of_the_request() {
        let check = |requests: &[&str], expected: &str| {
            requests.iter().for_each(|request| assert_eq!(declined(request), Some(expected), "{request}"));
        };
        let english = [
            "shorter",
            "Shorter, please!",
            "Can you make it shorter?",
            "Make a table.",
            "in French",
            "Please translate the report into German.",
            "Summarise it in three sentences",
            "Could you rewrite this as bullet points, with no more than 200 words?",
            "tl;dr",
        ];
        check(&english, ENGLISH.answer_to_change);
        check(&["thanks", "Thank you very much!", "ok", "Great job, thanks a lot!", "Hi"], ENGLISH.answer_to_talk);
        let german = [
            "kürzer bitte",
            "Bitte auf Deutsch",
            "Übersetze den Bericht ins Französische",
            "Fasse es in drei Sätzen zusammen.",
            "Als Tabelle, bitte.",
        ];
        check(&german, GERMAN.answer_to_change);
        check(&["danke", "Vielen Dank!"], GERMAN.answer_to_talk);
        check(
            &["plus court", "En français, s'il vous plaît.", "Résume le rapport en trois phrases"],
            FRENCH.answer_to_change,
        );
        check(&["merci beaucoup"], FRENCH.answer_to_talk);
        check(&["más corto, por favor", "en español", "Tradúcelo al inglés"], SPANISH.answer_to_change);
        check(&["muchas gracias"], SPANISH.answer_to_talk);
        check(&["请翻译成英文", "短一点", "用中文"], CHINESE.answer_to_change);
        check(&["谢谢!"], CHINESE.answer_to_talk);
    }

    #[test]
    fn questions_are_never_declined() {
        let questions = [
            "",
            "???",
            "2030",
            "Why?",
            "How much?",
            "French",
            "And the loan?",
            "What is lent as a loan?",
            "Thanks! And who proposed the site?",
            "Summarise the contract with Hovendrift.",
            "Which turbine is the shortest?",
            "Make a table of the turbines with their power.",
            "How is the press release in French different?",
            "Who wrote the short report?",
            "What does the German partner town pay?",
            "List all the long stops of 2030",
            "Tell me more about the battery",
            "more",
            "Wer hat den Bericht geschrieben?",
            "Wie kurz ist das Zeitfenster?",
            "Und auf Deutsch: wer unterschrieb?",
            "Quel est le court terme du contrat?",
            "¿Cuánto cuesta la tabla?",
            "用户指南有法语版吗?",
            "成人票多少钱?",
        ];
        for question in questions {
            assert_eq!(declined(question), None, "{question}");
        }
        for line in include_str!("../../examples/questions.jsonl").lines() {
            let question: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(declined(question["question"].as_str().unwrap()), None);
        }
        assert_eq!(declined(&"thanks ".repeat(1_000)), None);
        assert_eq!(declined(&"谢谢".repeat(10_000)), None);
    }

    #[test]
    fn every_answer_is_two_sentences_and_names_the_way_out() {
        for answer in ALL.iter().flat_map(|of| [of.answer_to_talk, of.answer_to_change]) {
            for name in ["`--model`", "`FATHOM_MODEL`", "`openai:gpt-4.1`", "`OPENAI_API_KEY`"] {
                assert!(answer.contains(name), "{answer}");
            }
            assert!(!answer.contains('\n') && !answer.contains("  "), "{answer}");
        }
    }
}
