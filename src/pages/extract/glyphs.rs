//! The glyphs of a PDF page to lines, by where they stand (`glyph_lines.rs` reads these). Columns may be drawn row by
//! row (`columns.rs`).

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

use super::{
    columns,
    glyph_lines::{Glyph, Line},
};

/// How far a line is at least below the one before it, in sizes of the larger font. Raised text is nearer, and what
/// stands a little higher may be the next cell of a row whose cells are centred.
const LINE: f64 = 0.9;
/// How far text has to go back to be another line, in sizes of the font; less is rounding.
const BACK: f64 = 0.1;
/// How far a line is below the one before it, from which on it stands apart: in sizes of the font, at least, and in
/// usual distances of lines that are wrapped.
const APART: f64 = 1.5;
const APART_OF_USUAL: f64 = 1.25;
/// A distance of lines that nobody sets text with, in sizes of the font.
const NO_DISTANCE: f64 = 3.0;
/// The share of a wide line's width that a line fills which is wrapped, and the place of that one among the widths.
const WRAPPED: f64 = 0.8;
const WIDE: f64 = 0.9;
/// Lines that are wrapped, from which on their distance is usual, and the share of all such lines that they are; and
/// how much distances differ that are the same.
const MANY: usize = 2;
const SHARE: usize = 4;
const SAME: f64 = 1.1;
/// Glyphs of a page; what follows is not read.
const MAX_GLYPHS: usize = 1_000_000;

#[derive(Default)]
pub(super) struct Glyphs {
    lines: Vec<Line>,
    /// How far each of them is below the one before it, in sizes of the font.
    distances: Vec<f64>,
    height: f64,
    count: usize,
    /// Where the last glyph ended, its line, and its size.
    last: Option<(f64, f64, f64)>,
    /// A new piece of text begins.
    begins: bool,
    /// A place was set for the next glyph.
    is_placed: bool,
    /// Which way the last glyph ran.
    turn: Turn,
}

/// Which way text runs on its page.
#[derive(Clone, Copy, Default, PartialEq)]
enum Turn {
    #[default]
    None,
    Up,
    Down,
}

impl Glyphs {
    pub fn text(mut self) -> String {
        let mut text = String::new();
        let apart = self.apart();
        for (line, distance) in self.lines.iter_mut().zip(&self.distances) {
            line.is_apart = *distance > apart;
        }
        let glyphs = self.lines.iter().flat_map(|line| &line.glyphs);
        let spaces = glyphs.filter(|glyph| glyph.is_blank()).count();
        // Text has a space in six glyphs or so; columns of a table have a few that mean nothing.
        let has_spaces = spaces * 15 >= self.count;
        for line in columns::in_order(self.lines) {
            if line.is_apart {
                text.push('\n');
            }
            line.write(has_spaces, &mut text);
            text.push('\n');
        }
        text
    }

    /// Returns the distance from which on a line stands apart. Text may be set wide: what counts is how far apart the
    /// lines of its paragraphs are, the nearest of those that are usual. Rows and clauses of one line may be further.
    fn apart(&self) -> f64 {
        let mut widths: Vec<f64> = self.lines.iter().map(Line::width).collect();
        widths.sort_by(f64::total_cmp);
        let wide = quantile(&widths, WIDE).unwrap_or_default() * WRAPPED;
        let pairs = self.lines.windows(2).zip(self.distances.iter().skip(1));
        let near = pairs.filter(|(_, distance)| (LINE..NO_DISTANCE).contains(*distance));
        let near: Vec<_> = near.filter(|(pair, _)| pair[0].width() >= wide).collect();
        let of = |is_wanted: &dyn Fn(&[Line]) -> bool| {
            near.iter().filter(|(pair, _)| is_wanted(pair)).map(|(_, distance)| **distance).collect::<Vec<f64>>()
        };
        let usual = usual(of(&|pair| pair[0].goes_on_in(&pair[1])), MANY).or_else(|| {
            // Few lines are wrapped: then ends of sentences have to stand further from what is below them.
            let ended = of(&|pair| pair[0].is_end());
            let open = of(&|pair| !pair[0].is_end() && !pair[0].is_row());
            let farthest = ended.into_iter().fold(0.0, f64::max);
            let is_nearer = |open: &f64| farthest > open * APART_OF_USUAL;
            usual(open.into_iter().filter(is_nearer).collect(), 1)
        });
        usual.map_or(APART, |usual| APART.max(usual * APART_OF_USUAL))
    }

    fn begin_line(&mut self, distance: f64) {
        let is_first = self.lines.is_empty();
        self.lines.push(Line::default());
        self.distances.push(if is_first { 0.0 } else { distance });
    }

    /// Begins a line of its own for text that runs another way than what is before it.
    fn turn(&mut self, turn: Turn) {
        if turn != self.turn && self.count < MAX_GLYPHS {
            self.turn = turn;
            self.last = None;
            self.begin_line(f64::INFINITY);
        }
    }

    fn put(&mut self, x: f64, y: f64, width: f64, size: f64, text: &str) {
        self.count += 1;
        if self.count > MAX_GLYPHS {
            return;
        }
        let size = if size.is_finite() && size > 0.01 { size } else { 1.0 };
        let (end, line, last_size) = self.last.unwrap_or((x, y, size));
        let is_far = (y - line).abs() > size * APART;
        let is_next = x < end - size * BACK && (y - line).abs() > size * 0.5;
        let is_below = y - line > size.max(last_size) * LINE;
        if self.lines.is_empty() || (std::mem::take(&mut self.begins) && (is_far || is_next || is_below)) {
            self.begin_line(if is_next { (y - line).abs() / size } else { 0.0 });
        }
        let is_first = self.lines.last().is_none_or(|line| line.glyphs.is_empty());
        let gap = if is_first { 0.0 } else { (x - end) / size };
        let next_end = x + width * size;
        let is_placed = std::mem::take(&mut self.is_placed);
        let glyph = Glyph { text: text.to_owned(), is_placed, gap, place: (x, y), end: next_end, size };
        if let Some(line) = self.lines.last_mut() {
            line.glyphs.push(glyph);
        }
        self.last = Some((next_end, y, size));
    }
}

/// Returns the nearest of the distances that are usual among them: so many at least, and a share of all, are the same.
fn usual(mut distances: Vec<f64>, least: usize) -> Option<f64> {
    distances.sort_by(f64::total_cmp);
    let many = least.max(distances.len() / SHARE);
    distances.windows(many).find(|same| same[many - 1] <= same[0] * SAME).map(|same| same[0])
}

/// Returns the value that so much of sorted values is below.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "it is a place"
)]
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    sorted.get((sorted.len() as f64 * share) as usize).copied()
}

impl OutputDev for Glyphs {
    fn begin_page(&mut self, _page: u32, media: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        self.height = media.ury - media.lly;
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        transform: &Transform,
        width: f64,
        _spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        // The side of a square with the area of the box of a glyph.
        let (across, up) = (transform.m11 + transform.m21, transform.m12 + transform.m22);
        let size = ((across * font_size) * (up * font_size)).abs().sqrt();
        let (x, y) = (transform.m31, transform.m32);
        let (turn, right, down) = match () {
            () if transform.m12.abs() <= transform.m11.abs() => (Turn::None, x, self.height - y),
            () if transform.m12 > 0.0 => (Turn::Up, y, x),
            () => (Turn::Down, -y, -x),
        };
        self.turn(turn);
        self.put(right, down, width, size, text);
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Is called wherever a place is set for text.
    fn end_line(&mut self) -> Result<(), OutputError> {
        self.is_placed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the text of a line of glyphs half a size wide, each so far behind the one before it.
    fn check(glyphs: &[(&str, f64)], expected: &str) {
        let mut line = Glyphs::default();
        let mut x = 0.0;
        for (text, gap) in glyphs {
            x += gap * 10.0;
            line.put(x, 0.0, 0.5, 10.0, text);
            x += 5.0;
        }
        assert_eq!(line.text().trim_end(), expected);
    }

    #[test]
    fn letters_that_stand_apart_are_one_word() {
        let spaced: Vec<_> =
            "a reserve of 14,200".char_indices().map(|(at, _)| (&"a reserve of 14,200"[at..=at], 0.13)).collect();
        check(&spaced, "a reserve of 14,200");
        let kerned = [
            ("r", 0.0),
            ("e", 0.14),
            ("s", 0.0),
            ("e", 0.0),
            ("r", 0.0),
            ("v", 0.12),
            ("e", 0.0),
            (" ", 0.0),
            ("x", 0.0),
        ];
        check(&kerned, "reserve x");
    }

    #[test]
    fn words_without_a_glyph_between_them_are_apart() {
        let words = [("t", 0.0), ("w", 0.0), ("o", 0.0), ("w", 0.3), ("o", 0.0), ("r", 0.0), ("d", 0.0), ("s", 0.0)];
        check(&words, "two words");
        check(&[("1", 0.0), ("4", 2.0)], "1 4");
    }

    #[test]
    fn cells_of_a_row_are_apart() {
        let row = |cells: [(&str, f64); 3]| {
            let mut row = Glyphs::default();
            let mut x = 0.0;
            for (cell, gap) in cells {
                row.is_placed = true;
                x += gap * 10.0;
                for (at, _) in cell.char_indices() {
                    row.put(x, 0.0, 0.5, 10.0, &cell[at..=at]);
                    x += 5.0;
                }
            }
            row.text().trim_end().to_owned()
        };
        assert_eq!(row([("Roof of the hall", 0.0), ("1,200", 0.13), ("1,300", 0.13)]), "Roof of the hall 1,200 1,300");
        assert_eq!(row([("Roof of the hall", 0.0), ("tiles", 0.25), ("slate", 0.25)]), "Roof of the hall tiles slate");
        assert_eq!(row([("Roof of the ha", 0.0), ("ll", 0.15), (" 12", 0.05)]), "Roof of the hall 12", "is kerned");
    }

    /// Puts texts half a size wide for each letter side by side; each with its size and how far it is raised.
    fn side_by_side(texts: &[(&str, f64, f64)]) -> String {
        let mut glyphs = Glyphs::default();
        let mut x = 0.0;
        for (text, size, up) in texts {
            for at in 0..text.len() {
                glyphs.put(x, 100.0 - up, 0.5, *size, &text[at..=at]);
                x += size * 0.5;
            }
        }
        glyphs.text().trim_end().to_owned()
    }

    #[test]
    fn raised_digits_stay_raised() {
        assert_eq!(side_by_side(&[("3.2 x 10", 10.0, 0.0), ("-6", 6.0, 4.0), (" t", 10.0, 0.0)]), "3.2 x 10⁻⁶ t");
        assert_eq!(side_by_side(&[("in 2023", 10.0, 0.0), ("1", 6.5, 3.0), (", by", 10.0, 0.0)]), "in 2023¹, by");
        assert_eq!(side_by_side(&[("1", 6.0, 3.0), (" The year ends", 10.0, 0.0)]), "¹ The year ends");
        assert_eq!(side_by_side(&[("the 5", 10.0, 0.0), ("th", 6.0, 3.0)]), "the 5th");
        assert_eq!(side_by_side(&[("CO", 10.0, 0.0), ("2", 6.0, -2.0), (" 412", 8.0, 0.0)]), "CO2 412");
        assert_eq!(side_by_side(&[("SO", 10.0, 0.0), ("4", 6.0, -2.0), ("2-", 6.0, 3.0)]), "SO4²⁻");
        let half = [("2", 10.0, 0.0), ("1", 7.0, 2.2), ("/", 10.0, 0.0), ("2", 7.0, -1.0), (" m", 10.0, 0.0)];
        assert_eq!(side_by_side(&half), "2 1/2 m");
        assert_eq!(side_by_side(&[("km", 10.0, 0.0), ("2", 7.0, 3.0), ("/h", 10.0, 0.0)]), "km²/h");
        assert_eq!(side_by_side(&[("in 2023", 10.0, 0.0), ("1,2", 6.5, 3.0), (" by", 10.0, 0.0)]), "in 2023¹,² by");
    }

    #[test]
    fn marks_are_raised_by_half_their_size() {
        // As browsers set them: smaller by a ninth, and a rounding to the left.
        let mut glyphs = Glyphs::default();
        let pieces = [("in 2023", 0.0, 100.0, 16.0), ("1", 55.999, 92.889, 14.22), (" it fell", 63.1, 100.0, 16.0)];
        for (text, x, y, size) in pieces {
            glyphs.begins = true;
            for (at, char) in (0_u32..).zip(text.chars()) {
                glyphs.put(x + f64::from(at) * size * 0.5, y, 0.5, size, &char.to_string());
            }
        }
        assert_eq!(glyphs.text(), "in 2023¹ it fell\n");
    }

    #[test]
    fn small_numbers_elsewhere_in_a_line_are_not_raised() {
        let line = |glyphs: &[(&str, f64, f64, f64)]| {
            let mut line = Glyphs::default();
            for (text, x, y, size) in glyphs {
                for (at, char) in (0_u32..).zip(text.chars()) {
                    line.put(x + f64::from(at) * size * 0.5, *y, 0.5, *size, &char.to_string());
                }
            }
            line.text().trim_end().to_owned()
        };
        let tile = [("Growth", 50.0, 100.0, 18.0), ("2023", 300.0, 90.0, 12.0)];
        assert_eq!(line(&tile), "Growth 2023");
        let row = [("Sold", 50.0, 100.0, 10.0), ("412", 90.0, 98.2, 8.0), ("398", 120.0, 98.2, 8.0)];
        assert_eq!(line(&row), "Sold 412 398");
        assert_eq!(line(&[("12", 50.0, 98.0, 8.0), ("Sold", 90.0, 100.0, 10.0)]), "12 Sold");
        assert_eq!(line(&[("CO", 50.0, 100.0, 10.0), ("2", 60.0, 96.0, 6.0)]), "CO²");
    }

    /// Writes lines of twenty letters, so far apart in sizes of the font, and returns the text.
    fn lines(distances: &[f64]) -> String {
        let mut glyphs = Glyphs::default();
        let mut y = 0.0;
        for distance in distances {
            y += distance * 10.0;
            glyphs.begins = true;
            (0..20).for_each(|at| glyphs.put(f64::from(at) * 5.0, y, 0.5, 10.0, "x"));
        }
        glyphs.text().lines().map(|line| if line.is_empty() { '/' } else { 'x' }).collect()
    }

    #[test]
    fn paragraphs_are_parted_by_more_than_the_distance_of_their_lines() {
        assert_eq!(lines(&[0.0, 1.2, 1.2, 1.9, 1.2, 1.2]), "xxx/xxx");
        assert_eq!(lines(&[0.0, 1.6, 1.6, 2.6, 1.6, 1.6, 1.6]), "xxx/xxxx");
        assert_eq!(lines(&[0.0, 2.0, 2.0, 2.0, 3.2, 2.0, 2.0]), "xxxx/xxx");
        assert_eq!(lines(&[0.0, 2.0]), "x/x", "too few to tell");
    }

    /// Returns the paragraphs of lines that stand so far below each other.
    fn paragraphs(lines: &[(f64, &str)]) -> Vec<usize> {
        let (mut glyphs, mut y) = (Glyphs::default(), 0.0);
        for (distance, line) in lines {
            y += distance * 10.0;
            glyphs.begins = true;
            (0_u32..).zip(line.chars()).for_each(|(at, char)| {
                glyphs.put(f64::from(at) * 5.0, y, 0.5, 10.0, &char.to_string());
            });
        }
        glyphs.text().split("\n\n").map(|paragraph| paragraph.lines().count()).collect()
    }

    #[test]
    fn rows_and_clauses_of_one_line_say_nothing_of_the_distance_of_lines() {
        let (row, first) = ("Petrel has a crew of twelve 12 34 56 78", "The battery of the island stores energy");
        let (next, clause) = ("for the long nights of winter and it is", "The dues of the harbour are 12 a day");
        let text = [(2.2, first), (1.2, next), (1.2, next), (2.2, "Prices"), (2.2, first), (1.2, next), (1.2, next)];
        let after_rows = [vec![(2.0, row); 8], text.to_vec()].concat();
        assert_eq!(paragraphs(&after_rows)[7..], [1, 3, 1, 3]);
        let lower = row.to_lowercase();
        let after_rows = [vec![(2.0, &*lower); 8], text.to_vec()].concat();
        assert_eq!(paragraphs(&after_rows)[7..], [1, 3, 1, 3]);
        let clauses = [(2.2, "First part"), (2.0, clause)].repeat(6);
        assert_eq!(paragraphs(&clauses), [1; 12]);
        let few = [
            (2.0, "Made by the harbour and I. Penhallow of"),
            (1.6, "Ohl."),
            (2.4, "The price is 12 crowns a day in summer."),
        ];
        let few = [few.to_vec(), vec![(2.4, "The dues of the harbour end in May 2031.")]].concat();
        assert_eq!(paragraphs(&few), [2, 1, 1]);
        let wide = [(2.0, first), (2.0, next), (2.0, next), (2.0, next), (3.2, first), (2.0, next)];
        assert_eq!(paragraphs(&wide), [4, 2]);
    }

    #[test]
    fn what_stands_a_line_below_is_another_line() {
        let mut glyphs = Glyphs::default();
        for (text, x, y) in [("end.", 50.0, 100.0), ("Part", 250.0, 112.0), ("2", 252.0, 124.0)] {
            glyphs.begins = true;
            glyphs.put(x, y, 2.0, 10.0, text);
        }
        assert_eq!(glyphs.text(), "end.\nPart\n2\n");
        let mut row = Glyphs::default();
        for (text, x, y) in [("02:47", 50.0, 112.0), ("Alarm", 90.0, 101.0)] {
            row.begins = true;
            row.put(x, y, 2.0, 10.0, text);
        }
        assert_eq!(row.text(), "02:47 Alarm\n", "centred beside two lines");
    }
}
