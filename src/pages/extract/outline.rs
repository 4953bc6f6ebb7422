//! What a document says, collected line by line and split at its headings.

use std::collections::HashMap;

use super::{Document, MAX_HEADING_CHARS, MAX_PATH_BYTES, Section, text};

/// Collects the sections of one document.
pub(super) struct Outline {
    title: Option<String>,
    sections: Vec<Section>,
    /// Headings met before the first text, one a line.
    headings: String,
    /// Headings above the current line, with their levels.
    path: Vec<(usize, String)>,
    anchors: HashMap<String, u32>,
    anchor: Option<String>,
    text: String,
    /// Whether the first heading is the title of a document that has none.
    may_entitle: bool,
    /// Takes the marks of the format out of headings and texts.
    plain: fn(&str) -> String,
}

impl Outline {
    /// Returns a document whose text has the marks that `plain` takes away.
    pub fn new(title: Option<&str>, plain: fn(&str) -> String) -> Self {
        Self {
            title: title.map(str::to_owned),
            sections: Vec::new(),
            headings: String::new(),
            path: Vec::new(),
            anchors: HashMap::new(),
            anchor: None,
            text: String::new(),
            may_entitle: true,
            plain,
        }
    }

    /// Returns a document whose text has no marks.
    pub fn of_text(title: Option<&str>) -> Self {
        Self::new(title, str::to_owned)
    }

    /// Returns the same, where no heading is a title.
    pub fn of_parts(title: Option<&str>) -> Self {
        Self { may_entitle: false, ..Self::of_text(title) }
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

    /// Adds an item of a list; `depth` counts from 0.
    pub fn item(&mut self, depth: usize, item: &str) {
        if !item.trim().is_empty() {
            self.line(&format!("{}- {}", "  ".repeat(depth.min(8)), item.trim()));
        }
    }

    /// Adds a heading; level 1 is the highest.
    pub fn heading(&mut self, level: usize, heading: &str) {
        self.close();
        let heading =
            text::one_line(text::cut(&(self.plain)(text::cut(heading, 4 * MAX_HEADING_CHARS)), MAX_HEADING_CHARS));
        if heading.is_empty() {
            return;
        }
        self.path.retain(|(above, _)| *above < level);
        self.anchor = Some(self.anchor_of(&heading));
        if self.title.is_none() && self.may_entitle {
            self.title = Some(heading.clone());
        }
        if self.sections.is_empty() {
            self.headings.push_str(&heading);
            self.headings.push('\n');
        }
        self.path.push((level, heading));
    }

    /// Returns the anchor the usual renderers give a heading; a repeated one gets a number.
    fn anchor_of(&mut self, heading: &str) -> String {
        let slug = slug(heading);
        let count = self.anchors.entry(slug.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => slug,
            count => format!("{slug}-{}", count - 1),
        }
    }

    fn close(&mut self) {
        let text = text::tidy(&(self.plain)(&std::mem::take(&mut self.text)));
        if text.trim().is_empty() {
            return;
        }
        let names: Vec<_> = self.path.iter().map(|(_, name)| name.as_str()).collect();
        let label = names.last().filter(|name| Some(**name) != self.title.as_deref());
        let anchor = label.and(self.anchor.clone()).filter(|anchor| !anchor.is_empty());
        let mut path = names.join(" ");
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        self.sections.push(Section { label: label.map(ToString::to_string), path, anchor, text });
    }

    pub fn finish(mut self) -> Document {
        self.close();
        Document { title: self.title, sections: self.sections, ..Document::default() }
    }

    /// Returns the same, where headings are what somebody wrote: those of a document that says nothing else are its
    /// text.
    pub fn finish_written(mut self) -> Document {
        self.close();
        let text = std::mem::take(&mut self.headings).trim_end().to_owned();
        if self.may_entitle && self.sections.is_empty() && !text.is_empty() {
            self.sections.push(Section { label: None, path: String::new(), anchor: None, text });
        }
        self.finish()
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
