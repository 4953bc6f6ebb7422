//! The order of the lines on a page of two columns. Some programs draw such a page row by row across both columns, so
//! that each line is half a line of one text and half a line of another.
//!
//! Tables look alike and have to stay as they are. So columns are found only where both of them are text: many lines
//! that are long, mostly letters, and end near the edge of their column.

use std::ops::Range;

use super::glyph_lines::{Glyph, Line};

/// How wide the gap between columns is at least, in sizes of the font.
const GUTTER: f64 = 0.8;
/// A gap within a column that is as wide is one of a table.
const GAP_OF_TABLE: f64 = 1.5;
/// Gaps of a line that are tried.
const MAX_GAPS: usize = 4;
/// Rows with text in both columns, at least.
const ROWS: usize = 8;
/// Glyphs of a line in each column, on average.
const GLYPHS: usize = 20;
/// The share that each column has at least of the width of both.
const SHARE: f64 = 0.35;
/// The share of its column that a line fills; those at the end of paragraphs do not.
const FILLED: f64 = 0.7;

/// Returns the lines of a page as they are read: those of a left column before those of the right one.
pub(super) fn in_order(lines: Vec<Line>) -> Vec<Line> {
    let mut ordered = Vec::with_capacity(lines.len());
    let mut lines = lines.into_iter();
    loop {
        let rest = lines.as_slice();
        let Some(first) = rest.first() else { return ordered };
        let gaps = gaps(&first.glyphs, GUTTER).take(MAX_GAPS);
        let pairs = gaps.map(|gutter| Columns::from(rest, gutter)).filter(|pair| !pair.seams.is_empty());
        let Some(columns) = pairs.max_by_key(|columns| columns.seams.len()) else {
            ordered.extend(lines.next());
            continue;
        };
        let is_text = columns.is_text(rest);
        let rows = lines.by_ref().take(columns.seams.len());
        match is_text {
            true => part(rows, &columns.seams, &mut ordered),
            false => ordered.extend(rows),
        }
    }
}

/// Two columns, side by side in some lines.
struct Columns {
    /// Of each line, the glyph with which the right column begins.
    seams: Vec<usize>,
    /// Where no line has a glyph.
    gutter: Range<f64>,
}

impl Columns {
    /// Returns the columns of the first lines, as many as leave room for a gutter within that one.
    fn from(lines: &[Line], mut gutter: Range<f64>) -> Self {
        let mut seams = Vec::new();
        for line in lines {
            let Some((at, free)) = seam(&line.glyphs, &gutter) else { break };
            let is_alone =
                line.glyphs[..at].iter().all(Glyph::is_blank) || line.glyphs[at..].iter().all(Glyph::is_blank);
            // A text of its own below both columns, perhaps.
            if is_alone && line.is_apart {
                break;
            }
            seams.push(at);
            gutter = free;
        }
        Self { seams, gutter }
    }

    /// Returns whether both columns are text.
    fn is_text(&self, lines: &[Line]) -> bool {
        let halves = lines.iter().zip(&self.seams).map(|(line, at)| line.glyphs.split_at(*at));
        let rows: Vec<_> = halves.filter_map(|(left, right)| Half::of(left).zip(Half::of(right))).collect();
        let from = rows.iter().map(|(left, _)| left.place.start).fold(f64::INFINITY, f64::min);
        let to = rows.iter().map(|(_, right)| right.place.end).fold(f64::NEG_INFINITY, f64::max);
        let (left_width, right_width) = (self.gutter.start - from, to - self.gutter.end);
        let is_full = |(left, right): &&(Half, Half)| {
            left.place.end - from >= FILLED * left_width && right.place.end - self.gutter.end >= FILLED * right_width
        };
        let full = rows.iter().filter(is_full).count();
        let torn = rows.iter().filter(|(left, right)| left.is_torn || right.is_torn).count();
        let sum = |count: fn(&(Half, Half)) -> usize| rows.iter().map(count).sum::<usize>();
        let (left, right) = (sum(|(left, _)| left.glyphs), sum(|(_, right)| right.glyphs));
        let letters = sum(|(left, right)| left.letters + right.letters);
        rows.len() >= ROWS
            && left_width.min(right_width) >= SHARE * (to - from)
            && left.min(right) >= GLYPHS * rows.len()
            && full * 10 >= rows.len() * 6
            && torn * 10 <= rows.len() * 2
            && letters * 10 >= (left + right) * 6
    }
}

/// What a row has in one of the columns.
struct Half {
    place: Range<f64>,
    glyphs: usize,
    /// Those of scripts that run to the right.
    letters: usize,
    /// It has a gap as the rows of tables have.
    is_torn: bool,
}

impl Half {
    fn of(glyphs: &[Glyph]) -> Option<Self> {
        let seen = || glyphs.iter().filter(|glyph| !glyph.is_blank());
        let is_letter = |char: char| char.is_alphabetic() && !matches!(char, '\u{590}'..='\u{8ff}');
        Some(Self {
            place: seen().next()?.place.0..seen().next_back()?.end,
            glyphs: seen().count(),
            letters: seen().filter(|glyph| glyph.text.contains(is_letter)).count(),
            is_torn: gaps(glyphs, GAP_OF_TABLE).next().is_some(),
        })
    }
}

/// Returns the gaps that are so wide, in sizes of the font.
fn gaps(glyphs: &[Glyph], width: f64) -> impl Iterator<Item = Range<f64>> {
    let seen = || glyphs.iter().filter(|glyph| !glyph.is_blank());
    let pairs = seen().zip(seen().skip(1));
    pairs
        .filter(move |(one, next)| next.place.0 - one.end >= width * next.size)
        .map(|(one, next)| one.end..next.place.0)
}

/// Returns the glyph before which a line leaves most of the gutter free, and what it leaves; `None` if that is too
/// little, or the line is not drawn from left to right.
fn seam(glyphs: &[Glyph], gutter: &Range<f64>) -> Option<(usize, Range<f64>)> {
    let mut widest = (0, gutter.start..gutter.start);
    let (mut end, mut size) = (f64::NEG_INFINITY, 0.0_f64);
    let edge = (glyphs.len(), f64::INFINITY, f64::INFINITY, 0.0);
    let seen = glyphs.iter().enumerate().filter(|(_, glyph)| !glyph.is_blank());
    let seen = seen.map(|(at, glyph)| (at, glyph.place.0, glyph.end, glyph.size));
    for (at, start, next_end, next_size) in seen.chain([edge]) {
        if start < end - next_size {
            return None;
        }
        let free = end.max(gutter.start)..start.min(gutter.end);
        if free.end - free.start > widest.1.end - widest.1.start {
            widest = (at, free);
        }
        end = next_end;
        size = size.max(next_size);
    }
    (widest.1.end - widest.1.start >= GUTTER * size).then_some(widest)
}

/// Appends the left halves of rows, then the right ones.
fn part(rows: impl Iterator<Item = Line>, seams: &[usize], ordered: &mut Vec<Line>) {
    let mut right = Vec::new();
    for (mut line, at) in rows.zip(seams) {
        let mut behind = Line { glyphs: line.glyphs.split_off(*at), is_apart: line.is_apart || right.is_empty() };
        if let Some(first) = behind.glyphs.first_mut() {
            first.gap = 0.0;
            right.push(behind);
        }
        if !line.glyphs.is_empty() {
            ordered.push(line);
        }
    }
    ordered.append(&mut right);
}
