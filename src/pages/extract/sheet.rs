//! The cells of a sheet to text: blocks of rows that hang together become tables.

use super::table;

/// Rows of one sheet or file; further ones are not read.
pub(super) const MAX_ROWS: usize = 200_000;
/// Cells of one row, as many as the sheets of Excel have; further ones are not read.
const MAX_COLUMNS: usize = 16_384;
/// Cells of all tables of a sheet, counted up to the last one of each row, empty ones included.
const MAX_CELLS: usize = super::MAX_TEXT_BYTES / 2;
/// A number of so many may be a year, as the head of a column.
const YEAR_DIGITS: usize = 4;
/// What is said of a sheet that is not read to its end.
pub(super) const FIRST_ROWS: &str = "only its first rows are searched";

/// A cell: its column, its text, and whether that stands there by itself, not again of a cell to the left that is
/// merged with it.
type Cell = (usize, String, bool);

/// A sheet, filled in the order of its rows.
pub(super) struct Sheet {
    text: String,
    /// The block before the present one and its columns; it may go on behind an empty row.
    before: (Vec<Vec<Cell>>, Vec<usize>),
    /// The present block; each row with its cells in order.
    block: Vec<Vec<Cell>>,
    /// The number of the present row.
    at: Option<usize>,
    /// The last row that was passed over.
    passed: Option<usize>,
    rows: usize,
    room: usize,
    /// Cells that tables may still have.
    cells: usize,
    missing: Option<String>,
}

impl Sheet {
    /// Creates a sheet with at most so many bytes of text.
    pub fn new(room: usize) -> Self {
        Self {
            text: String::new(),
            before: Default::default(),
            block: Vec::new(),
            at: None,
            passed: None,
            rows: 0,
            room,
            cells: MAX_CELLS,
            missing: None,
        }
    }

    /// Puts a cell's text; false when the sheet is full.
    pub fn put(&mut self, row: usize, column: usize, text: String) -> bool {
        self.add(row, (column, text, true))
    }

    /// Puts the text of a cell into one that is merged with it; false when the sheet is full.
    pub fn put_again(&mut self, row: usize, column: usize, text: String) -> bool {
        self.add(row, (column, text, false))
    }

    /// Notes that a row has something that is not shown. If it has nothing else, what is below it follows what is
    /// above.
    pub fn pass_over(&mut self, row: usize) {
        if self.at.max(self.passed).is_some_and(|above| above + 1 == row) {
            self.passed = Some(row);
        }
    }

    fn add(&mut self, row: usize, cell: Cell) -> bool {
        let text = &cell.1;
        if text.trim().is_empty() {
            return true;
        }
        if self.at != Some(row) {
            if let Some(above) = self.at.max(self.passed).filter(|above| *above != row && above + 1 != row) {
                self.end_block();
                if above + 2 != row {
                    self.close();
                }
            }
            self.at = Some(row);
            self.rows += 1;
            self.block.push(Vec::new());
        }
        let Some(left) = self.room.checked_sub(text.len() + 3).filter(|_| self.rows <= MAX_ROWS) else {
            self.missing = Some(FIRST_ROWS.to_owned());
            return false;
        };
        match self.block.last_mut().filter(|cells| cells.len() < MAX_COLUMNS) {
            Some(cells) => {
                self.room = left;
                cells.push(cell);
            }
            None => {
                self.missing.get_or_insert_with(|| format!("only the first {MAX_COLUMNS} cells of a row are searched"));
            }
        }
        true
    }

    /// Adds a row as a whole; false when the sheet is full.
    pub fn row<'a>(&mut self, row: usize, cells: impl IntoIterator<Item = &'a str>) -> bool {
        cells.into_iter().enumerate().all(|(column, cell)| self.put(row, column, cell.to_owned()))
    }

    /// Returns the text, and what is missing of it, for people.
    pub fn finish(mut self) -> (String, Option<String>) {
        self.end_block();
        self.close();
        (self.text, self.missing)
    }

    /// Ends the present block, which may belong to the one before it.
    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let columns = columns(&block);
        if goes_on(&self.before, &block, &columns) {
            self.before.0.extend(block);
        } else {
            self.close();
            self.before = (block, columns);
        }
    }

    /// Writes the block before. Lines above a table are lines; the columns are those in which any row has a text of
    /// its own.
    fn close(&mut self) {
        let (mut above, columns) = std::mem::take(&mut self.before);
        // A block of lone cells in several columns is no table.
        let lone = above.iter().take_while(|row| is_lone(row) && columns.len() > 1).count();
        let rows = above.split_off(lone);
        for (_, cell, _) in above.iter().flatten().filter(|cell| cell.2) {
            self.say(cell);
        }
        let all = rows.len();
        let rows: Vec<_> = rows.into_iter().map_while(|cells| self.placed(cells, &columns)).collect();
        if rows.len() < all {
            self.missing = Some(FIRST_ROWS.to_owned());
        }
        self.say(&table::markdown(rows));
    }

    /// Returns a row with its cells in their columns; none when there is no room for so many.
    fn placed(&mut self, cells: Vec<Cell>, columns: &[usize]) -> Option<Vec<String>> {
        let width = cells.iter().map(|(column, ..)| columns.partition_point(|other| other <= column)).max();
        self.cells = self.cells.checked_sub(width.unwrap_or(0))?;
        let mut row = vec![String::new(); width.unwrap_or(0)];
        for (column, text, _) in cells {
            if let Ok(at) = columns.binary_search(&column) {
                row[at] = text;
            }
        }
        Some(row)
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.text.push_str("\n\n");
        }
    }
}

/// Returns the columns in which any row has a text of its own.
fn columns(rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut columns: Vec<usize> = rows.iter().flatten().filter(|cell| cell.2).map(|(column, ..)| *column).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn is_lone(row: &[Cell]) -> bool {
    row.iter().filter(|cell| cell.2).count() <= 1
}

/// Returns whether a block behind an empty row has further rows of the table before it: it has no column of its own,
/// and its first row is no head, since it has a number or leaves out a column.
fn goes_on((before, columns): &(Vec<Vec<Cell>>, Vec<usize>), block: &[Vec<Cell>], own: &[usize]) -> bool {
    let Some(first) = block.first().filter(|first| !is_lone(first)) else { return false };
    let is_table = before.iter().rev().take(2).filter(|row| !is_lone(row)).count() == 2;
    let places: Vec<_> = first.iter().filter_map(|(column, ..)| columns.binary_search(column).ok()).collect();
    let is_number = |text: &str| text.starts_with(|char: char| char.is_ascii_digit()) && text.len() != YEAR_DIGITS;
    let has_number = first.iter().any(|(_, text, _)| is_number(text.trim()));
    let has_gap = places.windows(2).any(|pair| pair[0] + 1 != pair[1]);
    is_table && own.iter().all(|column| columns.binary_search(column).is_ok()) && (has_number || has_gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rows_are_tables_and_lines_above_them_lines() {
        let mut sheet = Sheet::new(1_000);
        for (row, column, text) in
            [(0, 0, "Dues"), (1, 0, "Boat"), (1, 16_000, "Crowns"), (2, 0, "Barge"), (2, 16_000, "4"), (9, 3, "Note")]
        {
            assert!(sheet.put(row, column, text.to_owned()));
        }
        let (text, missing) = sheet.finish();
        assert_eq!(text, "Dues\n\n| Boat | Crowns |\n| --- | --- |\n| Barge | 4 |\n\nNote\n\n");
        assert_eq!(missing, None);
    }

    #[test]
    fn a_table_goes_on_behind_an_empty_row() {
        let check = |rows: &[&[&str]], expected: &str| {
            let mut sheet = Sheet::new(1_000);
            assert!(rows.iter().enumerate().all(|(at, row)| sheet.row(at, row.iter().copied())));
            assert_eq!(sheet.finish().0, expected);
        };
        let table: [&[&str]; 3] = [&["Boat", "Dues", "Note"], &["Barge", "4", ""], &["", "", ""]];
        let head = "| Boat | Dues | Note |\n| --- | --- | --- |\n| Barge | 4 | |\n";
        check(&[&table[..], &[&["Ferry", "", "late"]]].concat(), &format!("{head}| Ferry | | late |\n\n"));
        check(&[&table[..], &[&["Ferry", "5"]]].concat(), &format!("{head}| Ferry | 5 | |\n\n"));
        let other = "| Pilot | 2031 |\n| --- | --- |\n| Lund | 7 |\n\n";
        check(&[&table[..], &[&["Pilot", "2031"], &["Lund", "7"]]].concat(), &format!("{head}\n{other}"));
        let apart: [&[&str]; 2] = [&["", ""], &["Ferry", "5"]];
        check(&[&table[..], &apart].concat(), &format!("{head}\n| Ferry | 5 |\n| --- | --- |\n\n"));
    }

    #[test]
    fn a_row_of_which_nothing_is_shown_is_no_gap() {
        let mut sheet = Sheet::new(1_000);
        assert!(sheet.row(0, ["Boat", "Note"]));
        sheet.pass_over(1);
        sheet.pass_over(2);
        sheet.pass_over(3);
        assert!(sheet.row(3, ["Barge", "late"]));
        assert!(sheet.row(4, ["Ferry", "lost"]));
        assert_eq!(sheet.finish().0, "| Boat | Note |\n| --- | --- |\n| Barge | late |\n| Ferry | lost |\n\n");
    }

    #[test]
    fn a_sheet_ends_where_there_is_no_room() {
        let mut sheet = Sheet::new(10);
        assert!(sheet.put(0, 0, "abc".to_owned()));
        assert!(!sheet.put(1, 0, "abcdefgh".to_owned()));
        assert_eq!(sheet.finish(), ("abc\n\n".to_owned(), Some(FIRST_ROWS.to_owned())));
    }

    #[test]
    fn what_a_sheet_leaves_out_is_said() {
        let row = |cells: usize| {
            let mut sheet = Sheet::new(1_000_000);
            assert!(sheet.row(0, vec!["7"; cells]), "it is not full");
            sheet.finish()
        };
        let (text, missing) = row(MAX_COLUMNS);
        assert_eq!((text.matches("| 7 ").count(), missing), (MAX_COLUMNS, None));
        let (text, missing) = row(MAX_COLUMNS + 1);
        assert_eq!(text.matches("| 7 ").count(), MAX_COLUMNS);
        assert_eq!(missing.as_deref(), Some("only the first 16384 cells of a row are searched"));
        // Each row has its two cells in columns of their own.
        let mut sheet = Sheet::new(1_000_000);
        assert!((0..8_000).all(|row| sheet.put(row, 2 * row, "7".into()) && sheet.put(row, 2 * row + 1, "8".into())));
        let (text, missing) = sheet.finish();
        assert_eq!(missing.as_deref(), Some(FIRST_ROWS));
        assert!(text.len() < 3 * super::super::MAX_TEXT_BYTES, "{}", text.len());
    }
}
