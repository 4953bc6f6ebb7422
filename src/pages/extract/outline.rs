//! What a document says, collected line by line and split at its headings.

use std::collections::HashMap;

use super::{Document, MAX_HEADING_CHARS, MAX_PATH_BYTES, Section, text};

/// Collects the sections of one document.
pub(super) struct Outline {
    title: Option<String>,
    sections: Vec<Section>,
    /// The first heading with its level.
    first: Option<(usize, String)>,
    /// Whether the first heading is the title of a document that has none; no other one may be as high.
    may_entitle: bool,
    /// Headings above the current line, with their levels.
    path: Vec<(usize, String)>,
    /// Those given, each with how many headings of the same words have a number behind it.
    anchors: HashMap<String, u32>,
    anchor: Option<String>,
    text: String,
    /// Whether a heading is a text when nothing stands below it.
    keeps_bare: bool,
    /// Whether the last heading is to be kept and nothing stands below it yet.
    is_bare: bool,
    /// Takes the marks of the format out of headings and texts.
    plain: fn(&str) -> String,
}

impl Outline {
    /// Returns a document whose text has the marks that `plain` takes away.
    pub fn new(title: Option<&str>, plain: fn(&str) -> String) -> Self {
        Self {
            title: title.map(str::to_owned),
            sections: Vec::new(),
            first: None,
            may_entitle: true,
            path: Vec::new(),
            anchors: HashMap::new(),
            anchor: None,
            text: String::new(),
            keeps_bare: true,
            is_bare: false,
            plain,
        }
    }

    /// Returns a document whose text has no marks.
    pub fn of_text(title: Option<&str>) -> Self {
        Self::new(title, str::to_owned)
    }

    /// Returns the same, where headings only name the parts: none is a title, and none a text.
    pub fn of_parts(title: Option<&str>) -> Self {
        Self { may_entitle: false, keeps_bare: false, ..Self::of_text(title) }
    }

    /// Returns a page of the web: what stands below its headings may have been left out, or is written by scripts, so
    /// a heading alone is no text.
    pub fn of_web_page(title: Option<&str>, plain: fn(&str) -> String) -> Self {
        Self { keeps_bare: false, ..Self::new(title, plain) }
    }

    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a paragraph or a table, apart from what is around it.
    pub fn block(&mut self, block: &str) {
        if !block.trim().is_empty() {
            self.line("");
            self.line(block.trim());
            self.line("");
        }
    }

    /// Adds a paragraph when the present heading has no text yet.
    pub fn block_if_bare(&mut self, block: &str) {
        if self.text.trim().is_empty() {
            self.block(block);
        }
    }

    /// Adds an item of a list; `depth` counts from 0.
    pub fn item(&mut self, depth: usize, item: &str) {
        self.numbered(depth, "-", item);
    }

    /// Adds an item of a list behind its number.
    pub fn numbered(&mut self, depth: usize, number: &str, item: &str) {
        if !item.trim().is_empty() {
            self.line(&format!("{}{number} {}", "  ".repeat(depth.min(8)), item.trim()));
        }
    }

    /// Adds a heading; level 1 is the highest.
    pub fn heading(&mut self, level: usize, heading: &str) {
        let Some(heading) = self.open(level, heading) else { return };
        self.anchor = Some(self.anchor_of(&heading));
        self.is_bare = self.keeps_bare;
        match &self.first {
            None => self.first = Some((level, heading)),
            Some((first, _)) if level <= *first => self.may_entitle = false,
            Some(_) => {}
        }
    }

    /// Adds a heading that its author did not write there: it entitles nothing, and has no anchor.
    pub fn part(&mut self, level: usize, name: &str) {
        self.open(level, name);
        self.is_bare = false;
    }

    /// Puts a heading above what follows; returns it as it is shown, unless it says nothing.
    fn open(&mut self, level: usize, heading: &str) -> Option<String> {
        self.close();
        let heading =
            text::one_line(text::cut(&(self.plain)(text::cut(heading, 4 * MAX_HEADING_CHARS)), MAX_HEADING_CHARS));
        if heading.is_empty() {
            return None;
        }
        if self.path.last().is_some_and(|(last, _)| level <= *last) {
            self.keep_bare();
        }
        self.path.retain(|(above, _)| *above < level);
        self.path.push((level, heading.clone()));
        self.anchor = None;
        Some(heading)
    }

    /// Makes the last heading a text of its own when nothing stands below it.
    fn keep_bare(&mut self) {
        let heading = self.path.last().map(|(_, heading)| heading).filter(|_| self.is_bare);
        if let Some(heading) = heading.filter(|heading| self.title.as_ref() != Some(heading)) {
            self.push(heading.clone());
        }
    }

    /// Returns the anchor the usual renderers give a heading; one that is taken gets the next free number.
    fn anchor_of(&mut self, heading: &str) -> String {
        let slug = slug(heading);
        let mut anchor = slug.clone();
        while self.anchors.contains_key(&anchor) {
            let count = self.anchors.entry(slug.clone()).or_insert(0);
            *count += 1;
            anchor = format!("{slug}-{count}");
        }
        self.anchors.insert(anchor.clone(), 0);
        anchor
    }

    fn close(&mut self) {
        let text = text::tidy(&(self.plain)(&std::mem::take(&mut self.text)));
        if !text.trim().is_empty() {
            self.push(text);
        }
    }

    /// Adds a section below the present headings.
    fn push(&mut self, text: String) {
        self.is_bare = false;
        let names: Vec<_> = self.path.iter().map(|(_, name)| name.as_str()).collect();
        let label = names.last().map(ToString::to_string);
        let anchor = self.anchor.clone().filter(|anchor| !anchor.is_empty());
        let mut path = names.join(" ");
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        self.sections.push(Section { label, path, anchor, text });
    }

    /// Returns the document. What stands under a heading that is also the title has no label.
    pub fn finish(mut self) -> Document {
        self.close();
        self.keep_bare();
        let first = self.first.map(|(_, heading)| heading);
        if let Some(text) = first.clone().filter(|_| self.keeps_bare && self.sections.is_empty()) {
            self.sections.push(Section { label: None, path: String::new(), anchor: None, text });
        }
        let title = self.title.or(first.filter(|_| self.may_entitle));
        for section in self.sections.iter_mut().filter(|section| section.label == title) {
            (section.label, section.anchor) = (None, None);
        }
        Document { title, sections: self.sections, ..Document::default() }
    }
}

/// Returns the heading as an anchor: lower case, spaces to hyphens, marks dropped; letters of all scripts stay.
fn slug(heading: &str) -> String {
    let lower = heading.to_lowercase();
    lower
        .chars()
        .filter_map(|char| match char {
            ' ' | '-' => Some('-'),
            char if char.is_alphanumeric() || char == '_' => Some(char),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(outline: Outline) -> Vec<(Option<String>, String)> {
        outline.finish().sections.into_iter().map(|section| (section.label, section.text)).collect()
    }

    #[test]
    fn a_heading_with_nothing_below_it_is_a_text() {
        let filled = |mut outline: Outline| {
            outline.heading(1, "Decisions");
            outline.heading(2, "Rejected: new roof");
            outline.heading(2, "Approved: new gate");
            outline.block("By 7 to 2.");
            outline.heading(2, "Deferred: lights");
            outline
        };
        let bare = |heading: &str| (Some(heading.to_owned()), heading.to_owned());
        let approved = (Some("Approved: new gate".to_owned()), "By 7 to 2.".to_owned());
        let expected = [bare("Rejected: new roof"), approved.clone(), bare("Deferred: lights")];
        assert_eq!(said(filled(Outline::of_text(None))), expected);
        assert_eq!(said(filled(Outline::of_parts(None))), std::slice::from_ref(&approved));
        assert_eq!(said(filled(Outline::of_web_page(None, str::to_owned))), [approved]);
    }

    #[test]
    fn no_two_headings_share_an_anchor() {
        let anchors = |headings: &[&str]| {
            let mut outline = Outline::of_parts(None);
            for heading in headings {
                outline.heading(1, heading);
                outline.block("text");
            }
            outline.finish().sections.into_iter().filter_map(|section| section.anchor).collect::<Vec<_>>()
        };
        let mixed = anchors(&["Step", "Step", "Step 1", "Step", "Step 1"]);
        assert_eq!(mixed, ["step", "step-1", "step-1-1", "step-2", "step-1-2"]);
        assert_eq!(anchors(&["Step 1", "Step", "Step"]), ["step-1", "step", "step-2"]);
    }

    #[test]
    fn a_title_is_no_text_beside_others() {
        let mut outline = Outline::of_text(Some("Minutes"));
        outline.heading(1, "Minutes");
        outline.heading(1, "Dues");
        outline.block("Four crowns.");
        assert_eq!(said(outline), [(Some("Dues".to_owned()), "Four crowns.".to_owned())]);
        let mut outline = Outline::of_text(Some("Minutes"));
        outline.heading(1, "Minutes");
        outline.part(1, "Headers");
        assert_eq!(said(outline), [(None, "Minutes".to_owned())], "a part that says nothing is none");
    }

    #[test]
    fn the_first_heading_is_the_title_when_it_stands_above_all_others() {
        let check = |levels: &[usize], expected: Option<&str>| {
            let mut outline = Outline::of_text(None);
            for (number, level) in levels.iter().enumerate() {
                outline.heading(*level, &format!("Heading {number}"));
                outline.block("text");
            }
            outline.part(1, "Notes");
            let document = outline.finish();
            assert_eq!(document.title.as_deref(), expected, "{levels:?}");
            assert_eq!(document.sections[0].label.is_none(), expected.is_some(), "{levels:?}");
        };
        check(&[1, 2, 2], Some("Heading 0"));
        check(&[1], Some("Heading 0"));
        check(&[1, 2, 1], None);
        check(&[2, 1], None);
    }
}
