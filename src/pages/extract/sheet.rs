//! The cells of a sheet to text: blocks of rows that hang together become tables.

use super::table;

/// Rows of one sheet or file; further ones are not read.
pub(super) const MAX_ROWS: usize = 200_000;
/// Cells of one row; further ones are not read.
const MAX_COLUMNS: usize = 512;

/// A sheet, filled in the order of its rows.
pub(super) struct Sheet {
    text: String,
    /// The present block; each row with its cells in order.
    block: Vec<Vec<(usize, String)>>,
    /// The number of the present row.
    at: Option<usize>,
    rows: usize,
    room: usize,
}

impl Sheet {
    /// One with at most so many bytes of text.
    pub fn new(room: usize) -> Self {
        Self { text: String::new(), block: Vec::new(), at: None, rows: 0, room }
    }

    /// Puts a cell's text; false when the sheet is full.
    pub fn put(&mut self, row: usize, column: usize, text: String) -> bool {
        if text.trim().is_empty() {
            return true;
        }
        if self.at != Some(row) {
            if self.at.is_some_and(|at| at + 1 != row) {
                self.close();
            }
            self.at = Some(row);
            self.rows += 1;
            self.block.push(Vec::new());
        }
        let Some(left) = self.room.checked_sub(text.len() + 3).filter(|_| self.rows <= MAX_ROWS) else { return false };
        if let Some(cells) = self.block.last_mut().filter(|cells| cells.len() < MAX_COLUMNS) {
            self.room = left;
            cells.push((column, text));
        }
        true
    }

    /// A row as a whole; false when the sheet is full.
    pub fn row<'a>(&mut self, row: usize, cells: impl IntoIterator<Item = &'a str>) -> bool {
        cells.into_iter().enumerate().all(|(column, cell)| self.put(row, column, cell.to_owned()))
    }

    pub fn finish(mut self) -> String {
        self.close();
        self.text
    }

    /// Lines above a table are lines; the columns are those that any row has.
    fn close(&mut self) {
        let block = std::mem::take(&mut self.block);
        let mut columns: Vec<usize> = block.iter().flatten().map(|(column, _)| *column).collect();
        columns.sort_unstable();
        columns.dedup();
        let lone = block.iter().take_while(|row| row.len() <= 1 && columns.len() > 1).count();
        // A block of lone cells in several columns is no table.
        let (above, rows) = block.split_at(lone);
        for (_, cell) in above.iter().flatten() {
            self.say(cell);
        }
        let row = |cells: &Vec<(usize, String)>| {
            let mut row = vec![String::new(); columns.len()];
            for (column, text) in cells {
                if let Ok(at) = columns.binary_search(column) {
                    row[at].clone_from(text);
                }
            }
            row
        };
        let table = table::markdown(rows.iter().map(row).collect());
        self.say(&table);
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.text.push_str("\n\n");
        }
    }
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
        assert_eq!(sheet.finish(), "Dues\n\n| Boat | Crowns |\n| --- | --- |\n| Barge | 4 |\n\nNote\n\n");
    }

    #[test]
    fn a_sheet_ends_where_there_is_no_room() {
        let mut sheet = Sheet::new(10);
        assert!(sheet.put(0, 0, "abc".to_owned()));
        assert!(!sheet.put(1, 0, "abcdefgh".to_owned()));
        assert_eq!(sheet.finish().trim(), "abc");
    }
}
