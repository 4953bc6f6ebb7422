//! Lines without their Markdown.

/// Returns the line without the marks of a list, a heading, a quotation or a row of a table around it.
pub fn without_marks(line: &str) -> &str {
    line[marks(line)..].trim_end_matches(['|', ' ', '\t'])
}

/// Returns the bytes of the marks with which a line begins that belong to no sentence.
pub fn marks(line: &str) -> usize {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '|', '>']);
        let mark = rest.len() - rest.trim_start_matches('#').len();
        let mark = if mark == 0 { usize::from(rest.starts_with(['-', '*', '+'])) } else { mark };
        let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let is_number = (1..=3).contains(&digits) && rest[digits..].starts_with([')', '.']);
        let mark = if is_number { digits + 1 } else { mark };
        if mark == 0 || !rest[mark..].starts_with([' ', '\t']) {
            return line.len() - rest.len();
        }
        rest = &rest[mark..];
    }
}

/// Returns the words of a line, without its Markdown.
pub fn plain(line: &str) -> String {
    let line = &line[marks(line)..];
    let shown: String =
        line.chars().map(|char| if char == '|' { ' ' } else { char }).filter(|char| !"*`\\".contains(*char)).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    shown[joints(&shown)..].to_owned()
}

/// Returns the bytes of the marks between a statement and the one before it.
pub fn joints(text: &str) -> usize {
    text.len() - text.trim_start_matches([',', ';', ':', '.', ')', ' ', '–', '—']).len()
}
