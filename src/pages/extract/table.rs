//! Rows of cells to a table in Markdown, whose head the passages repeat.

use super::text;

/// Cells of a table whose rows are as long as its widest, empty ones included. In a larger one a row ends with its last
/// cell that says something, so that one wide row does not make all others wide.
const MOST_CELLS: usize = 1_000_000;

/// Returns the rows as a table whose head is the first one. Empty rows and columns are left out; what has one column
/// alone is lines of text. No cell is cut.
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
    let is_ragged = used.len().saturating_mul(rows.len()) > MOST_CELLS;
    let mut table = String::new();
    for (at, row) in rows.iter().enumerate() {
        let last = row.iter().rposition(|cell| !cell.is_empty()).filter(|_| is_ragged);
        let width = last.map_or(used.len(), |last| used.partition_point(|column| *column <= last));
        for column in &used[..width] {
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
    text::one_line(cell).replace('|', "\\|")
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

    #[test]
    fn no_cell_is_cut_and_one_wide_row_makes_no_other_wide() {
        let long = "tide ".repeat(40_000);
        let table = markdown(vec![vec!["a".into(), "b".into()], vec!["1".into(), long.clone()]]);
        assert_eq!(table, format!("| a | b |\n| --- | --- |\n| 1 | {} |", long.trim_end()));
        let rows = |wide: usize, others: usize| {
            let others = std::iter::repeat_n(vec!["x".to_owned()], others);
            markdown(std::iter::once(vec!["x".to_owned(); wide]).chain(others).collect())
        };
        assert!(rows(2, 1).ends_with("| x | |"));
        let ragged = rows(5_000, 5_000);
        assert!(ragged.ends_with("| x |\n| x |") && ragged.len() < 100_000, "{}", ragged.len());
    }
}
