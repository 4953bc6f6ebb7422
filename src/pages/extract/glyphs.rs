//! The glyphs of a PDF page to lines and words, by where they stand.
//!
//! Programs set letters apart (justified and spaced text) and words without a glyph between them, so no single distance
//! parts words: what counts is how far apart the letters of the same line stand, and whether the page has glyphs for
//! spaces.

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

/// A gap above which words are apart, in sizes of the font; where the page has glyphs for spaces, and where it has not.
const GAP_BESIDE_SPACES: f64 = 0.6;
const GAP: f64 = 0.1;
/// How much wider than the usual gap of its line it has to be.
const MARGIN: f64 = 0.12;
/// Glyphs of a page; what follows is not read.
const MAX_GLYPHS: usize = 1_000_000;

#[derive(Default)]
pub(super) struct Glyphs {
    lines: Vec<Line>,
    height: f64,
    count: usize,
    /// Where the last glyph ended, and its line.
    last: Option<(f64, f64)>,
    /// A new piece of text begins.
    begins: bool,
}

#[derive(Default)]
struct Line {
    glyphs: Vec<Glyph>,
    /// An empty line stands before it.
    is_apart: bool,
}

struct Glyph {
    text: String,
    /// To the end of the one before it, in sizes of the font.
    gap: f64,
}

impl Glyphs {
    pub fn text(&self) -> String {
        let mut text = String::new();
        let glyphs = self.lines.iter().flat_map(|line| &line.glyphs);
        let spaces = glyphs.filter(|glyph| glyph.text.trim().is_empty()).count();
        // Text has a space in six glyphs or so; columns of a table have a few that mean nothing.
        let has_spaces = spaces * 15 >= self.count;
        for line in &self.lines {
            if line.is_apart {
                text.push('\n');
            }
            line.write(has_spaces, &mut text);
            text.push('\n');
        }
        text
    }

    fn put(&mut self, x: f64, y: f64, width: f64, size: f64, text: &str) {
        self.count += 1;
        if self.count > MAX_GLYPHS {
            return;
        }
        let size = if size.is_finite() && size > 0.01 { size } else { 1.0 };
        let (end, line) = self.last.unwrap_or((x, y));
        let is_far = (y - line).abs() > size * 1.5;
        let is_next = x < end && (y - line).abs() > size * 0.5;
        if self.lines.is_empty() || (std::mem::take(&mut self.begins) && (is_far || is_next)) {
            self.lines.push(Line { glyphs: Vec::new(), is_apart: is_far && is_next && !self.lines.is_empty() });
        }
        let is_first = self.lines.last().is_none_or(|line| line.glyphs.is_empty());
        let gap = if is_first { 0.0 } else { (x - end) / size };
        if let Some(line) = self.lines.last_mut() {
            line.glyphs.push(Glyph { text: text.to_owned(), gap });
        }
        self.last = Some((x + width * size, y));
    }
}

impl Line {
    fn write(&self, has_spaces: bool, text: &mut String) {
        let widest = self.widest_within_words(has_spaces);
        for (at, glyph) in self.glyphs.iter().enumerate() {
            let is_space = glyph.text.trim().is_empty();
            let is_beside_space = is_space || at == 0 || self.glyphs[at - 1].text.trim().is_empty();
            if !is_beside_space && glyph.gap > widest {
                text.push(' ');
            }
            match is_space {
                true if text.ends_with(' ') => {}
                true => text.push(' '),
                false => text.push_str(&glyph.text),
            }
        }
    }

    /// Returns the widest gap between two letters of one word.
    fn widest_within_words(&self, has_spaces: bool) -> f64 {
        let mut gaps: Vec<f64> = self.glyphs.iter().skip(1).map(|glyph| glyph.gap.max(0.0)).collect();
        gaps.sort_by(f64::total_cmp);
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0).min(1.0);
        let least = if has_spaces { GAP_BESIDE_SPACES } else { GAP };
        // Two or three glyphs that stand apart have no usual gap.
        if gaps.len() < 4 && !has_spaces { GAP } else { least.max(usual + MARGIN) }
    }
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
        self.put(transform.m31, self.height - transform.m32, width, size, text);
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
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
}
