//! Rows of cells to a table in Markdown, whose head the passages repeat.

use super::text;

/// Of one cell; a longer one is cut.
const MAX_CELL_CHARS: usize = 4_000;

/// The rows as a table whose head is the first one. Empty rows and columns are left out; what has one column alone is
/// lines of text.
pub(super) fn markdown(rows: Vec<Vec<String>>) -> String {
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let used: Vec<usize> = (0..width)
        .filter(|column| rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty())))
        .collect();
    if used.len() < 2 {
        let cells = rows.iter().filter_map(|row| row.get(*used.first()?));
        return cells.map(|cell| cell.replace("\\|", "|")).collect::<Vec<_>>().join("\n");
    }
    let mut table = String::new();
    for (at, row) in rows.iter().enumerate() {
        for column in &used {
            table.push_str("| ");
            let cell = row.get(*column).map_or("", String::as_str);
            table.push_str(cell);
            table.push_str(if cell.is_empty() { "" } else { " " });
        }
        table.push_str("|\n");
        if at == 0 {
            table.push_str(&"| --- ".repeat(used.len()));
            table.push_str("|\n");
        }
    }
    table.pop();
    table
}

fn clean(cell: &str) -> String {
    text::cut(&text::one_line(cell), MAX_CELL_CHARS).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_left_out() {
        let check = |rows: &[&[&str]], expected: &str| {
            let rows = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
            assert_eq!(markdown(rows), expected);
        };
        check(
            &[&["a", "", "b|c"], &["", "", ""], &["1", "", "2\n3"], &["", "", "4"]],
            "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n| | 4 |",
        );
        check(&[&["one", ""], &["t|wo"]], "one\nt|wo");
        check(&[], "");
    }
}
