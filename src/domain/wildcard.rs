//! Patterns in which `*` stands for any text: of event types, of models.

/// Returns whether the pattern fits the whole name; `*` stands for any text, also none. Takes the first place for
/// each part between stars, which leaves the most for the rest.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_the_rest_for_itself() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}")
        };
        check("run.completed", "run.completed", true);
        check("run.completed", "run.completed.x", false);
        check("run.*", "run.", true);
        check("*ed", "run.completed", true);
        check("run.*ed", "run.ed", true);
        check("run*n.ed", "run.ed", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("*", "", true);
    }
}
