//! Which lines are rows of a table, as far as the lines before and the beginning of a line show.

use super::lines;

/// Follows the tables of a text.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The line between head and body has been read, and no line that ends the table.
    open: bool,
    /// The line is a row.
    is_row: bool,
    /// What the line has, as long as it can be the line between head and body.
    rule: Option<Rule>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rule {
    bar: bool,
    dash: bool,
}

impl Tables {
    /// Begins a line of text with its front.
    pub(super) fn begin(&mut self, front: &str) {
        self.is_row = self.open || lines::without_containers(front).starts_with('|');
        self.rule = Some(Rule::default());
    }

    /// Takes the next part of the line.
    pub(super) fn follow(&mut self, part: &str) {
        let is_sign = |c: char| c.is_whitespace() || matches!(c, '|' | '-' | ':' | '>');
        self.rule = self
            .rule
            .filter(|_| part.chars().all(is_sign))
            .map(|Rule { bar, dash }| Rule { bar: bar || part.contains('|'), dash: dash || part.contains('-') });
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) {
        self.open |= self.rule.take().is_some_and(|rule| rule.bar && rule.dash);
    }

    /// Ends the table, as a blank line and code do.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_row(&self) -> bool {
        self.is_row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_known_by_their_front_or_by_the_line_under_the_head() {
        let rows = |text: &str| {
            let mut tables = Tables::default();
            let row = |line: &str| {
                if line.is_empty() {
                    tables.end();
                } else {
                    tables.begin(line);
                    line.split_inclusive(' ').for_each(|part| tables.follow(part));
                    tables.end_line();
                }
                tables.is_row()
            };
            text.split('\n').map(row).collect::<Vec<_>>()
        };
        assert_eq!(rows("a | b\n---|:--\nc | d\n\ne | f"), [false, false, true, false, false]);
        assert_eq!(rows("> | a |\n- | b"), [true, true]);
        assert_eq!(rows("a - b | c\n- - -\nd | e"), [false; 3]);
    }
}
