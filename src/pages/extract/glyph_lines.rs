//! The glyphs of a line to words, by how far apart they stand.
//!
//! Programs set letters apart (justified and spaced text) and words without a glyph between them, so no single distance
//! parts words: what counts is how far apart the letters of the same line stand, and whether the page has glyphs for
//! spaces. What stands raised says something by that, and text from right to left may be drawn from left to right
//! (`reading_order.rs`).

use std::{borrow::Cow, ops::Range};

use super::{
    reading_order::{self, Piece},
    text,
};

/// A gap above which words are apart, in sizes of the font; where the page has glyphs for spaces, and where it has not.
const GAP_BESIDE_SPACES: f64 = 0.6;
const GAP: f64 = 0.1;
/// The same where the page has them, in front of text with a place of its own, such as the next cell of a row. Where
/// there are digits, [`GAP`] is enough: two numbers that are read as one are another number.
const GAP_OF_PLACES: f64 = 0.2;
/// A gap that is wider than any between words, even of a line that is stretched to its margins.
const GAP_OF_COLUMNS: f64 = 1.5;
/// How much wider than the usual gap of its line it has to be.
const MARGIN: f64 = 0.12;
/// How large raised text is at most, and how far above the line it stands at least, in sizes of the font beside it.
const RAISED_SIZE: f64 = 0.9;
const RAISED_BY: f64 = 0.15;
/// How far above it stands at most, and how far from what it belongs to, in sizes of the font: what is further is a
/// text of its own, such as the next cell of a row.
const RAISED_MOST: f64 = 0.8;
const RAISED_GAP: f64 = 0.3;

#[derive(Default)]
pub(super) struct Line {
    pub glyphs: Vec<Glyph>,
    /// An empty line stands before it.
    pub is_apart: bool,
}

pub(super) struct Glyph {
    pub text: String,
    /// It does not simply follow the one before it: a place was set for it.
    pub is_placed: bool,
    /// To the end of the one before it, in sizes of the font.
    pub gap: f64,
    /// How far to the right, and how far down the line on which it stands, as one holds the page to read it.
    pub place: (f64, f64),
    /// How far to the right it ends.
    pub end: f64,
    pub size: f64,
}

impl Line {
    /// Appends its text; `has_spaces` says whether the page has glyphs for them.
    pub fn write(&self, has_spaces: bool, text: &mut String) {
        for piece in reading_order::restored(self.pieces(has_spaces)) {
            match piece.text.trim().is_empty() {
                true if text.ends_with(' ') => {}
                true => text.push(' '),
                false => text.push_str(&piece.text),
            }
        }
    }

    /// Returns how wide it is.
    pub fn width(&self) -> f64 {
        let begin = self.glyphs.iter().map(|glyph| glyph.place.0).fold(f64::INFINITY, f64::min);
        let end = self.glyphs.iter().map(|glyph| glyph.end).fold(f64::NEG_INFINITY, f64::max);
        (end - begin).max(0.0)
    }

    /// Returns whether its text seems to go on in the next line, as that of a paragraph does: no row of a table, no end
    /// of a sentence, and no capital letter or figure below it.
    pub fn goes_on_in(&self, next: &Self) -> bool {
        let first = next.glyphs.iter().find(|glyph| !glyph.is_blank());
        let goes_on = |char: char| char.is_alphabetic() && !char.is_uppercase();
        !self.is_row() && !self.is_end() && first.is_some_and(|glyph| glyph.text.starts_with(goes_on))
    }

    /// Returns whether it has gaps as wide as those of columns.
    pub fn is_row(&self) -> bool {
        self.glyphs.iter().skip(1).any(|glyph| glyph.gap > GAP_OF_COLUMNS)
    }

    /// Returns whether a sentence may end with it.
    pub fn is_end(&self) -> bool {
        let last = self.glyphs.iter().rfind(|glyph| !glyph.is_blank());
        last.is_none_or(|glyph| glyph.text.ends_with(['.', '!', '?', ':', ';', '。', '！', '？']))
    }

    /// Returns the glyphs as they stand from left to right, with a space where words are apart.
    fn pieces(&self, has_spaces: bool) -> Vec<Piece<'_>> {
        let usual = self.usual_gap(has_spaces);
        let mut pieces: Vec<Piece<'_>> = Vec::with_capacity(self.glyphs.len());
        for (at, (glyph, raised)) in self.glyphs.iter().zip(self.raised()).enumerate() {
            let before = at.checked_sub(1).map(|before| &self.glyphs[before]);
            if before.is_some_and(|before| glyph.is_apart_from(before, usual, has_spaces)) {
                pieces.push(Piece { text: " ".into(), x: glyph.place.0 });
            }
            let text = raised.map_or(Cow::Borrowed(&*glyph.text), Cow::Owned);
            pieces.push(Piece { text, x: glyph.place.0 });
        }
        pieces
    }

    /// Returns the text of those glyphs that stand for raised digits and signs: `10⁶`, or the mark of a note behind a
    /// year.
    fn raised(&self) -> Vec<Option<String>> {
        let mut raised = vec![None; self.glyphs.len()];
        let largest = self.glyphs.iter().reduce(|one, other| if other.size > one.size { other } else { one });
        let Some(mut beside) = largest else { return raised };
        let mut from = 0;
        for (at, glyph) in self.glyphs.iter().enumerate() {
            if glyph.is_raised_beside(beside) {
                continue;
            }
            self.raise(from..at, &mut raised);
            // What is raised behind a lowered digit belongs to what stands before that: the charge of an ion.
            if !glyph.is_lowered_beside(beside) {
                beside = glyph;
            }
            from = at + 1;
        }
        self.raise(from..self.glyphs.len(), &mut raised);
        raised
    }

    /// Raises the glyphs of a stretch if there is a digit among them, nothing but digits, signs and commas between
    /// them, and if they hang on to what they belong to.
    fn raise(&self, stretch: Range<usize>, raised: &mut [Option<String>]) {
        let is_space = |at: usize| self.glyphs[at].is_blank();
        let Some(last) = stretch.clone().rfind(|at| !is_space(*at)) else { return };
        let own = stretch.start..last + 1;
        let raise = |at: usize| match self.glyphs[at].text.as_str() {
            mark @ ("," | ";") if at > own.start && at < last => Some(mark.to_owned()),
            text => text::raised(text),
        };
        let texts: Option<Vec<String>> = own.clone().map(raise).collect();
        let has_digit = self.glyphs[own.clone()].iter().any(Glyph::has_digit);
        let Some(texts) = texts.filter(|_| has_digit && self.hangs_on(own.clone())) else { return };
        if self.is_over_a_stroke(own.end) {
            let is_mixed = own.start.checked_sub(1).is_some_and(|before| !is_space(before));
            raised[own.start] = is_mixed.then(|| format!(" {}", self.glyphs[own.start].text));
            return;
        }
        own.zip(texts).for_each(|(at, text)| raised[at] = Some(text));
    }

    /// Returns whether the stroke of a fraction stands here: what is behind it is small, too.
    fn is_over_a_stroke(&self, at: usize) -> bool {
        let stroke = self.glyphs.get(at).filter(|glyph| matches!(&*glyph.text, "/" | "⁄"));
        stroke.zip(self.glyphs.get(at + 1)).is_some_and(|(stroke, under)| under.is_smaller_than(stroke))
    }

    /// Returns whether raised glyphs stand close to each other and to what is before them; at the beginning of a line,
    /// to what is behind them.
    fn hangs_on(&self, own: Range<usize>) -> bool {
        let is_close = |at: usize| self.glyphs[at].gap <= RAISED_GAP;
        let inside = (own.start + 1..own.end).all(is_close);
        inside
            && match own.start.checked_sub(1) {
                Some(before) => is_close(own.start) && !self.glyphs[before].is_blank(),
                None => self.glyphs.get(own.end).is_some_and(|behind| {
                    let is_beside = |glyph: &Glyph| glyph.is_raised_beside(behind);
                    behind.gap <= RAISED_GAP && (behind.is_blank() || self.glyphs[own].iter().all(is_beside))
                }),
            }
    }

    /// Returns how far apart letters of the line usually stand; none where spaces are no glyphs and the line has two or
    /// three glyphs, which stand apart.
    fn usual_gap(&self, has_spaces: bool) -> Option<f64> {
        let mut gaps: Vec<f64> = self.glyphs.iter().skip(1).map(|glyph| glyph.gap.max(0.0)).collect();
        gaps.sort_by(f64::total_cmp);
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0).min(1.0);
        (gaps.len() >= 4 || has_spaces).then_some(usual)
    }
}

impl Glyph {
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn has_digit(&self) -> bool {
        self.text.contains(|char: char| char.is_ascii_digit())
    }

    /// Returns whether it begins another word than the one that ends before it.
    fn is_apart_from(&self, before: &Self, usual: Option<f64>, has_spaces: bool) -> bool {
        let least = match (has_spaces, self.is_placed) {
            (true, true) if !self.has_digit() && !before.has_digit() => GAP_OF_PLACES,
            (true, false) => GAP_BESIDE_SPACES,
            _ => GAP,
        };
        let is_wide = self.gap > usual.map_or(GAP, |usual| least.max(usual + MARGIN));
        is_wide && !self.is_blank() && !before.is_blank()
    }

    fn is_raised_beside(&self, other: &Self) -> bool {
        let rise = (other.place.1 - self.place.1) / other.size;
        self.is_smaller_than(other) && rise > RAISED_BY && rise <= RAISED_MOST
    }

    fn is_lowered_beside(&self, other: &Self) -> bool {
        self.is_smaller_than(other) && self.place.1 > other.place.1
    }

    fn is_smaller_than(&self, other: &Self) -> bool {
        self.size < other.size * RAISED_SIZE
    }
}
