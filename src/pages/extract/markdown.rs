//! Markdown to sections: one per heading, with the marks a reader does not need taken away.

use super::{
    Document, date, links,
    markdown_marks::{is_code, plain},
    outline::Outline,
    text,
};
use crate::text::ends_between;

/// Fields of a front matter with the document's date, the surest first.
const DATES: [&str; 6] = ["date", "updated", "last_modified", "published", "valid_from", "effective"];

/// Fields of a front matter that are said of the document elsewhere.
const NAMED: [&str; 3] = ["title", "author", "date"];

/// Words of a heading within its paragraph; a longer one is a sentence.
const MOST_OF_HEADING: usize = 4;

/// Reads a Markdown file; the title is the front matter's, else the first heading. Other fields of the front matter
/// are text at the end: at the front, what follows would stand under them.
pub(super) fn read(source: &str) -> Document {
    let (matter, body) = front_matter(source);
    let fields = fields(matter);
    let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let mut outline = Outline::new(field("title").as_deref(), plain);
    add(body, &mut outline);
    outline.part(1, "Front matter");
    // A date that is no day is said nowhere else.
    let is_named = |name: &str, value: &str| NAMED.contains(&name) && (name != "date" || date::parse(value).is_some());
    for (name, value) in fields.iter().filter(|(name, value)| !is_named(name, value)) {
        outline.line(&format!("{name}: {value}"));
    }
    let published = DATES.iter().filter_map(|name| field(name)).find_map(|value| date::parse(&value));
    Document { published, author: field("author"), links: links::of(body), ..outline.finish() }
}

/// Adds Markdown to an outline that knows its marks.
pub(super) fn add(body: &str, outline: &mut Outline) {
    let mut fence = None;
    let mut begins = true;
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        let may_head = std::mem::replace(&mut begins, line.trim().is_empty()) || behind_mark(line) > 0;
        if is_code(line, &mut fence) {
            outline.line(line);
        } else if let Some((level, heading)) = atx_heading(line) {
            outline.heading(level, heading);
        } else if let Some(level) = lines.peek().and_then(|next| underline(line, next, may_head)) {
            lines.next();
            outline.heading(level, line.trim());
        } else if let Some(line) = run_in(line).filter(|_| may_head) {
            outline.line(&line);
        } else {
            outline.line(line);
        }
    }
}

/// Returns the first line of a paragraph that begins with its own heading in bold, with a colon behind that: as a
/// sentence `**First aiders.** There are 17` would say something else, and nothing twice. Where no sentence ends, as in
/// `**Dr.** Lund`, there is no heading, and the line stays as its author wrote it.
fn run_in(line: &str) -> Option<String> {
    let (mark, text) = line.split_at(behind_mark(line));
    let (heading, rest) = text.strip_prefix("**")?.split_once("**")?;
    let (heading, rest) = match heading.strip_suffix('.') {
        Some(heading) => (heading, rest),
        None => (heading, rest.strip_prefix('.')?),
    };
    let words = heading.split_whitespace().count();
    let is_heading = (1..=MOST_OF_HEADING).contains(&words) && !heading.contains(|char: char| char.is_ascii_digit());
    let goes_on = rest.starts_with(' ') && rest.contains(char::is_alphanumeric);
    // Behind several words, `block B.` is no initial of a name.
    let (head, is_long) = (heading.split_whitespace().next_back()?, words > 2);
    let is_letter = is_long && head.chars().count() == 1 && !plain(rest).trim_start().starts_with(char::is_lowercase);
    let is_sentence = !heading.contains('.') && (is_letter || ends_between(&format!("{heading}."), &plain(rest)));
    (is_heading && goes_on && is_sentence).then(|| format!("{mark}**{heading}:**{rest}"))
}

/// Returns how many bytes of the line are its indentation and the mark of an item of a list.
fn behind_mark(line: &str) -> usize {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = text[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0);
    let item = numbered.or_else(|| text.strip_prefix(['-', '*', '+'])).and_then(|rest| rest.strip_prefix(' '));
    item.map_or(0, |item| line.len() - item.trim_start().len())
}

/// Returns whether a heading stands above all text.
pub(super) fn begins_with_heading(body: &str) -> bool {
    let mut lines = body.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    atx_heading(first).is_some() || lines.next().is_some_and(|next| underline(first, next, true).is_some())
}

/// Returns the front matter between `---` lines at the very beginning, and what follows.
fn front_matter(source: &str) -> (&str, &str) {
    let Some(rest) = source.strip_prefix("---\n") else { return ("", source) };
    let ends = rest.split_once("\n---\n").or_else(|| Some((rest.strip_suffix("\n---")?, "")));
    match ends {
        Some((matter, body)) if matter.lines().all(|line| line.contains(':') || line.starts_with([' ', '-', '#'])) => {
            (matter, body)
        }
        _ => ("", source),
    }
}

/// Returns the fields of a front matter that say something; lines below a field belong to it.
fn fields(matter: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, Vec<String>)> = Vec::new();
    let mut is_block = false;
    for line in matter.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let value = match (line.split_once(':'), fields.last_mut()) {
            (Some((name, value)), _) if !line.starts_with([' ', '-']) => {
                is_block = matches!(value.trim(), "|" | ">" | "|-" | ">-" | "|+" | ">+");
                fields.push((name.trim(), Vec::new()));
                if is_block { "" } else { value }
            }
            (colon, Some((_, said))) => {
                let line = line.trim();
                let is_entry = line.starts_with("- ") || colon.is_some();
                // A text goes on in the next line.
                if let Some(text) = said.last_mut().filter(|_| is_block || !is_entry) {
                    *text += &format!(" {line}");
                    continue;
                }
                line.strip_prefix("- ").filter(|_| !is_block).unwrap_or(line)
            }
            _ => continue,
        };
        let values = value.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        let values = values.map_or_else(|| vec![value], |list| list.split(',').collect());
        let values = values.into_iter().map(|value| text::one_line(value.trim().trim_matches(['"', '\''])));
        if let Some((_, said)) = fields.last_mut() {
            said.extend(values.filter(|value| !value.is_empty()));
        }
    }
    fields.retain(|(_, values)| !values.is_empty());
    fields.into_iter().map(|(name, values)| (name, values.join(", "))).collect()
}

fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start_matches(' ').trim_start_matches('#');
    let level = line.len() - indent - rest.len();
    let is_heading = indent < 4 && (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Returns the level of a heading that is underlined with `=` or `-`. One that begins in bold is a paragraph by itself;
/// else it may be the last of several fields.
fn underline(line: &str, next: &str, begins: bool) -> Option<usize> {
    let is_bold = begins && line.starts_with("**");
    let is_mark = line.starts_with([' ', '\t', '|', '>', '-', '*']) && !is_bold;
    let is_text = line.trim().chars().any(char::is_alphanumeric) && !is_mark;
    let next = next.trim_end();
    let all = |mark: char| next.len() >= 3 && next.chars().all(|char| char == mark);
    match is_text {
        true if all('=') => Some(1),
        true if all('-') => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::extract::Format;

    fn outline(source: &str) -> Vec<(Option<String>, Option<String>, String)> {
        read(source).sections.into_iter().map(|section| (section.label, section.anchor, section.text)).collect()
    }

    #[test]
    fn a_bold_beginning_is_the_heading_of_its_paragraph() {
        let check = |source: &str, expected: &str| assert_eq!(read(source).sections[0].text, expected);
        check(
            "1. **First aiders.** There are 17.\n2. **Lift**. Put off.",
            "1. First aiders: There are 17.\n2. Lift: Put off.",
        );
        check("4. **Lift of block B.** It broke down.", "4. Lift of block B: It broke down.");
        check("Text.\n\n**Parking.** 120 places.", "Text.\n\nParking: 120 places.");
        check("It is in\n**Port.** There it is.", "It is in\nPort. There it is.");
        for kept in ["The gate closes at nine in winter. Then it opens.", "Gate 7. It opens.", "Closed."] {
            let (head, rest) = kept.split_once(". ").unwrap_or(("Closed", ""));
            check(format!("**{head}.** {rest}").trim(), kept);
        }
    }

    #[test]
    fn a_bold_beginning_that_ends_no_sentence_stays() {
        let lines = [
            "U.S. exports rose.",
            "Dr. Lund chairs the board.",
            "No. 7 is closed.",
            "St. Mary is here.",
            "Approx. 120 places.",
            "e.g. the boats",
            "Closed now. but not tomorrow",
        ];
        for line in lines {
            let (head, rest) = line.split_once(". ").unwrap();
            assert_eq!(read(&format!("- **{head}.** {rest}")).sections[0].text, format!("- {line}"));
            let html = format!("<p><b>{head}.</b> {rest}</p>");
            let page = crate::pages::extract::read(Format::Html, html.into_bytes()).unwrap();
            assert_eq!(page.sections[0].text, line);
        }
    }

    #[test]
    fn a_bold_line_that_is_underlined_is_a_heading() {
        let labels = |source: &str| outline(source).into_iter().map(|(label, ..)| label).collect::<Vec<_>>();
        assert_eq!(
            labels("# Port\n\n**Closed now.** See below\n---\n\nText."),
            [Some("Closed now. See below".to_owned())]
        );
        assert_eq!(labels("# Port\n\nFrom A\n**To:** B\n---\n\nText."), [None]);
    }

    #[test]
    fn headings_make_sections() {
        let source = "# Title\n\nFirst.\n\n## A thing\ntext\n```\n# no heading\n```\n## A thing\nmore\n\nUnder\n---\nlast\n## Empty\n";
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            (None, None, "First.".to_owned()),
            (some("A thing"), some("a-thing"), "text\n```\n# no heading\n```".to_owned()),
            (some("A thing"), some("a-thing-1"), "more".to_owned()),
            (some("Under"), some("under"), "last".to_owned()),
            (some("Empty"), some("empty"), "Empty".to_owned()),
        ];
        assert_eq!(outline(source), expected);
        assert_eq!(read(source).title, some("Title"));
        assert_eq!(read(source).sections[1].path, "Title A thing");
    }

    #[test]
    fn headings_alone_are_a_text() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(outline("# The gate opened in 1931\n"), [(None, None, "The gate opened in 1931".to_owned())]);
        assert_eq!(outline("# The *gate*\n\n## Dues\n"), [(some("Dues"), some("dues"), "Dues".to_owned())]);
        assert_eq!(outline("---\ntitle: Gate\n---"), []);
        let mut page = Outline::of_web_page(None, plain);
        add("# Loading", &mut page);
        assert_eq!(page.finish().sections, [], "scripts may write the rest of a page");
    }

    #[test]
    fn front_matter_gives_title_and_date() {
        let document = read("---\ntitle: \"The real one\"\ndate: 2031-03-10\ntags: [a]\n---\n# Other\ntext");
        assert_eq!(document.title.as_deref(), Some("The real one"));
        assert_eq!(document.published.as_deref(), Some("2031-03-10"));
        assert_eq!(document.sections[0].label.as_deref(), Some("Other"));
    }

    #[test]
    fn fields_of_a_front_matter_are_text() {
        let matter = "title: Gate\nauthor: [Ann, \"Bob\"]\ntags: [tide, gate]\n# none\naliases:\n  - Old gate\n  - 'Lock'\n\
            empty:\nbudget: 5000000\n";
        let document = read(&format!("---\n{matter}---\n# Dues\ntext"));
        assert_eq!(document.author.as_deref(), Some("Ann, Bob"));
        let texts: Vec<_> =
            document.sections.iter().map(|section| (section.label.as_deref(), &*section.text)).collect();
        let fields = "tags: tide, gate\naliases: Old gate, Lock\nbudget: 5000000";
        assert_eq!(texts, [(Some("Dues"), "text"), (Some("Front matter"), fields)]);
    }

    #[test]
    fn a_field_of_several_lines_is_one_text() {
        let check = |matter: &str, expected: &str| {
            let document = read(&format!("---\n{matter}\n---\n# Dues\ntext"));
            assert_eq!(document.sections[1].text, expected, "{matter}");
        };
        check("about: >-\n  The gate cost 5\n  million: too much", "about: The gate cost 5 million: too much");
        check("about: It cost 5\n  million crowns\nlimit: >5", "about: It cost 5 million crowns\nlimit: >5");
        check("size:\n  wide: 4 m\n  high: 7 m", "size: wide: 4 m, high: 7 m");
        check("tags:\n- tide\n- gate of\n  oak", "tags: tide, gate of oak");
        check("date: Spring 2031", "date: Spring 2031");
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        assert_eq!(outline("---\nJust words here\n---\nmore").len(), 2);
    }

    #[test]
    fn a_longer_fence_holds_shorter_ones() {
        let source = "````\n```\n# none\n```\n# none either\n````\n# Heading\ntext";
        assert_eq!(outline(source).len(), 2);
        assert_eq!(outline("```x``` is code\n# Heading\ntext").len(), 2);
    }
}
