//! Whether a text says that an answer is missing.

/// Words that say an answer is missing.
const ADMITS: &[&str] = &[
    "do not say",
    "does not say",
    "do not state",
    "does not state",
    "do not answer",
    "does not answer",
    "do not hold",
    "does not hold",
    "do not contain",
    "does not contain",
    "hold no ",
    "holds no ",
    "contain no ",
    "contains no ",
    "not found",
    "no answer",
    "could not be found",
    "could not find",
    "cannot be answered",
    "no information",
    "not mention",
    "nothing was found",
    "not disclosed",
    "not given",
    "not stated",
    "not available",
    "no source",
    "keine antwort",
    "keinen satz",
    "keine angabe",
    "nicht gefunden",
    "beantworten die frage nicht",
    "nicht beantwort",
    "geht aus den quellen nicht",
    "enthalten nicht",
    "没有",
    "未找到",
    "无法回答",
    "未提及",
    "未说明",
    "pas de réponse",
    "ne répond",
    "ne disent pas",
    "ne contien",
    "aucune",
    "لا تجيب",
    "не отвечают",
    "答えていません",
    "답하지 않습니다",
    "n'indiquent pas",
    "no contien",
    "no responde",
    "no dice",
    "no se encontr",
    "ninguna",
];

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

fn place(lower: &str) -> Option<usize> {
    ADMITS.iter().filter_map(|words| lower.find(words)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_answer_is_admitted_before_anything_is_cited() {
        let check = |body: &str, expected: bool| assert_eq!(admits_first(body), expected, "{body}");
        check("# T\n\n## In short\n\nThe sources do not state the salary.\n\n- She came in 2029. [1]\n", true);
        check("# T\n\n## In short\n\n- She came in 2029. [1]\n- Her salary is not given. [2]\n", false);
        check("# T\n\nDie Quellen enthalten keinen Satz dazu.\n", true);
        check("# T\n\n## In short\n\n- A. [1]\n\n## Limits\n\nnot found\n", false);
    }
}
