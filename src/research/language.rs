//! The language of a finished report, held against that of the question.
//!
//! Only what is certain counts: a question and a report whose languages are recognised reliably, a report with enough
//! prose of its own (quotations, code and tables aside) that is in one language from begin to end, and a question that
//! does not name that language, since it may ask for it.

use serde_json::json;

use super::draft::{Draft, rewritten, with_ids};
use crate::{
    context::{Cx, Error, Role},
    domain::{
        WarningCode,
        report::text_alone,
        wording::{self, Wording},
    },
    llm::{Message, StopReason},
    offline::Task,
    prompts::untrusted,
    text::{Language, is_fence},
};

const ENGLISH: &str = "en";
/// Letters of prose without which a report is too short to be judged.
const ENOUGH_LETTERS: usize = 300;

/// The codes of a question's language and of the report's, where they differ.
pub type Differing = (&'static str, &'static str);

/// Returns the draft in the language in which the user asked: one that is in another is translated once. With it, the
/// languages of one that stays as it is; readers hear of that.
///
/// # Errors
/// [`Error::Stop`].
pub async fn corrected(
    cx: &Cx,
    name: &'static str,
    asked: Option<&str>,
    draft: Draft,
) -> Result<(Draft, Option<Differing>), Error> {
    // The offline model quotes its sources as they are.
    let asked = asked.filter(|_| !cx.options().final_report_model.first().is_offline());
    let Some((wanted, written)) = asked.and_then(|asked| differing(asked, &draft.report.markdown)) else {
        return Ok((draft, None));
    };
    let problem = match translated(cx, name, &draft, wanted).await {
        Ok(Some(translated)) if is_faithful(&translated, &draft, wanted) => return Ok((translated, None)),
        Ok(_) => "its translation is not complete".to_owned(),
        Err(Error::Failed(failure)) => format!("it could not be translated: {failure}"),
        Err(stop) => return Err(stop),
    };
    let detail = format!("the {name} is in another language ({written}) than the question ({wanted}); {problem}");
    cx.warn(&format!("{name}/language"), WarningCode::OtherLanguage, detail).await?;
    Ok((draft, Some((wanted, written))))
}

async fn translated(cx: &Cx, name: &str, draft: &Draft, wanted: &str) -> Result<Option<Draft>, Error> {
    let report = &draft.report;
    let text = with_ids(text_alone(&report.markdown), &report.citations, &[]);
    let language = wording::language_name(wanted);
    let prompt = cx.prompts().text("translate", json!({"language": language, "report": untrusted(&text)}));
    let task = Task::Verify { statements: vec![text] };
    let request = cx.request(Role::FinalReport, vec![Message::user(prompt)], task);
    let completion = cx.ask(&format!("{name}/translate"), Role::FinalReport, request, cx.finishing()).await?;
    if completion.stop != StopReason::End {
        return Ok(None);
    }
    Ok(Some(rewritten(cx, completion.text, report.dropped_citations).await?))
}

/// Returns whether it is in the wanted language, with four in five of the citations at least.
fn is_faithful(translated: &Draft, draft: &Draft, wanted: &str) -> bool {
    let language = of_translation(&translated.report.markdown);
    let (kept, before) = (translated.report.citations.len(), draft.report.citations.len());
    language == Some(wanted) && kept * 5 >= before * 4
}

/// Returns the language of a report's own words: titles of sources stay in theirs.
fn of_translation(markdown: &str) -> Option<&'static str> {
    wording::any_language_code(&prose(text_alone(markdown)))
}

/// Returns the languages of question and report, if both are certain, differ, and the question does not name that of
/// the report. Where code does not write the question's language, only English counts, into which models fall: what
/// others are called there is not known.
fn differing(asked: &str, markdown: &str) -> Option<Differing> {
    let (wanted, written) = (of_question(asked)?, of_report(markdown)?);
    let is_known = written == ENGLISH || Wording::of_code(wanted).code == wanted;
    (wanted != written && is_known && !names(asked, written)).then_some((wanted, written))
}

/// Returns the language of a question. A short one shows it where trigrams and small words agree.
fn of_question(asked: &str) -> Option<&'static str> {
    let by_small_words = |code: &&str| Language::of(asked).code() == *code;
    let few = || wording::language_code_of_few(asked).filter(by_small_words);
    wording::language_code(asked).or_else(few).or_else(|| of_another(asked))
}

/// Returns the language of a question, be it one that code writes or not, if it has letters of its own: names in ASCII
/// may look like any language to trigrams.
fn of_another(asked: &str) -> Option<&'static str> {
    let has_own_letters = asked.chars().any(|char| char.is_alphabetic() && !char.is_ascii());
    wording::any_language_code(asked).filter(|_| has_own_letters)
}

/// Returns the language of a report that is long enough, and in one language from begin to end.
fn of_report(markdown: &str) -> Option<&'static str> {
    let prose = prose(text_alone(markdown));
    if prose.chars().filter(|char| char.is_alphabetic()).count() < ENOUGH_LETTERS {
        return None;
    }
    let middle = prose.floor_char_boundary(prose.len() / 2);
    let whole = wording::language_code(&prose)?;
    let halves = [&prose[..middle], &prose[middle..]];
    halves.iter().all(|half| wording::language_code(half) == Some(whole)).then_some(whole)
}

/// Returns whether a question names the language, in whatever language. Parts of words are enough: it is the safe side.
fn names(asked: &str, code: &str) -> bool {
    let asked = asked.to_lowercase();
    Wording::of_code(code).named_by.split(' ').any(|stem| asked.contains(stem))
}

/// Returns what the writer has put into words: without code, tables, quotations and numbers of sources.
fn prose(markdown: &str) -> String {
    let mut in_code = false;
    let mut is_prose = |line: &&str| {
        in_code ^= is_fence(line);
        !in_code && !is_fence(line) && !line.trim_start().starts_with(['>', '|'])
    };
    let lines = markdown.lines().filter(|line| is_prose(line));
    lines.map(unquoted).collect::<Vec<_>>().join("\n")
}

/// Returns a line without what stands between quotation marks, backticks or square brackets in it.
fn unquoted(line: &str) -> String {
    let mut until: Option<&[char]> = None;
    let outside = |char: &char| match until {
        Some(ends) => {
            if ends.contains(char) {
                until = None;
            }
            false
        }
        None => {
            until = closing(*char);
            until.is_none()
        }
    };
    let kept: String = line.chars().filter(outside).collect();
    // An opening mark without its end is none.
    if until.is_some() { line.to_owned() } else { kept }
}

/// Returns what ends a quotation that the mark begins.
fn closing(mark: char) -> Option<&'static [char]> {
    match mark {
        '"' => Some(&['"']),
        '“' => Some(&['”']),
        '„' => Some(&['“', '”']),
        '«' => Some(&['»']),
        '»' => Some(&['«']),
        '「' => Some(&['」']),
        '`' => Some(&['`']),
        '[' => Some(&[']']),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_ENGLISH: &str = "The gate is paid by harbour dues, which the council sets every year after a hearing. ";
    const GERMAN: &str =
        "Das Tor wird aus Hafengebühren bezahlt, die der Rat jedes Jahr nach einer Anhörung festsetzt. ";
    const ASKED: &str = "Womit bezahlt der Hafen von Skelderwick sein neues Tor und wer setzt die Gebühren fest?";

    #[test]
    fn what_is_certain_is_a_difference() {
        let check = |asked: &str, markdown: &str, expected: Option<Differing>| {
            assert_eq!(differing(asked, markdown), expected, "{asked}\n{markdown}");
        };
        let report = |text: &str| format!("# Tor\n\n{}\n", text.repeat(8));
        check(ASKED, &report(IN_ENGLISH), Some(("de", "en")));
        let english =
            "How does the harbour of Skelderwick pay for its new tide gate, and who sets the dues every year?";
        check(english, &report(GERMAN), Some(("en", "de")));
        // Few words show no language for certain.
        check("How does the harbour pay for its gate?", &report(GERMAN), None);
        check(ASKED, &report(GERMAN), None);
        check("Skelderwick gate dues 2031?", &report(GERMAN), None);
        check(&format!("{ASKED} Antworte auf Englisch."), &report(IN_ENGLISH), None);
        check(ASKED, &format!("# Tor\n\n{IN_ENGLISH}\n"), None);
        check(ASKED, &format!("# Tor\n\n{GERMAN}\n\n```\n{}\n```\n", IN_ENGLISH.repeat(20)), None);
        check(
            ASKED,
            &format!("# Tor\n\n{}„{}“\n> {}\n", GERMAN.repeat(6), IN_ENGLISH.repeat(9), IN_ENGLISH.repeat(9)),
            None,
        );
        check(ASKED, &format!("{}\n\n{}", GERMAN.repeat(6), IN_ENGLISH.repeat(6)), None);
    }

    #[test]
    fn a_question_may_be_in_a_language_that_code_does_not_write() {
        let polish = "W jaki sposób port w Skelderwick opłaca swoją nową śluzę pływową i kto co roku ustala wysokość opłat \
            portowych? Chciałbym też wiedzieć, ile kosztowała budowa śluzy i dlaczego rada miasta zwlekała z decyzją.";
        let report = |text: &str| format!("# Port\n\n{}\n", text.repeat(8));
        assert_eq!(differing(polish, &report(IN_ENGLISH)), Some(("pl", "en")));
        assert_eq!(of_translation(&report(polish)), Some("pl"));
        for (asked, written) in [
            (format!("{polish} Odpowiedz po angielsku."), IN_ENGLISH),
            (polish.to_owned(), polish),
            (polish.to_owned(), GERMAN),
        ] {
            assert_eq!(differing(&asked, &report(written)), None, "{asked}");
        }
        assert_eq!(of_another(&"Kubernetes, Nomad, Mesos, Fargate, Pulumi, Ansible ".repeat(3)), None);
    }

    #[test]
    fn sources_do_not_count_for_a_translation() {
        let text = "船只按长度缴纳港口费，理事会每年在听证会之后决定收费标准。".repeat(6);
        let sources: String = (1..=15).map(|n| format!("- [{n}] {IN_ENGLISH}https://skelderwick.test/{n}\n")).collect();
        assert_eq!(of_translation(&format!("# 港口\n\n{text}[1]\n\n### Sources\n\n{sources}")), Some("zh"));
    }

    #[test]
    fn quotations_are_no_prose_of_the_report() {
        assert_eq!(unquoted("It says “so” and `x` [1]."), "It says  and  .");
        assert_eq!(unquoted("a 5\" pipe"), "a 5\" pipe");
    }
}
