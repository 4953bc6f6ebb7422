//! Cursors of lists, as text.

use uuid::Uuid;

use crate::runs::Cursor;

/// Writes a cursor: the list's name, the place, the id; opaque to clients.
pub fn write_cursor(list: &str, cursor: Cursor) -> String {
    format!("{list}.{:x}.{}", cursor.at, cursor.id.simple())
}

/// Reads one; `None` for that of another list, and for any other text.
pub fn read_cursor(list: &str, text: &str) -> Option<Cursor> {
    let mut parts = text.strip_prefix(list)?.strip_prefix('.')?.split('.');
    let (at, id, end) = (parts.next()?, parts.next()?, parts.next());
    let id = Uuid::try_parse(id).ok()?;
    end.is_none().then_some(Cursor { at: i64::from_str_radix(at, 16).ok()?, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_those_of_other_lists_do_not() {
        let cursor = Cursor { at: 1_800_000_000_000, id: Uuid::now_v7() };
        let text = write_cursor("threads", cursor);
        assert_eq!(read_cursor("threads", &text), Some(cursor));
        for wrong in ["", "threads", "threads.", "threads.1", "threads.x.y", &format!("{text}.1")] {
            assert_eq!(read_cursor("threads", wrong), None, "{wrong}");
        }
        assert_eq!(read_cursor("runs", &text), None);
    }
}
