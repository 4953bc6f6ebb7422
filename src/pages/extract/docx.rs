//! Documents of Word (Office Open XML): paragraphs by their styles, lists, tables, notes.

use std::collections::HashMap;

use super::{
    Document, Unreadable, formula,
    outline::Outline,
    package::{self, Package},
    table,
    xml::Element,
};

/// Styles that build on others, at most so often.
const MAX_BASES: usize = 10;

/// Reads a Word document.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>, main: &str) -> Result<Document, Unreadable> {
    let properties = package.core_properties()?;
    let relations = package.relations(main)?;
    let part =
        |kind: &str| relations.values().find(|relation| relation.kind == kind).map(|relation| relation.target.clone());
    let styles = match part("styles") {
        Some(name) => package.xml(&name)?.map(|tree| Styles::of(&tree.root)).unwrap_or_default(),
        None => Styles::default(),
    };
    let tree = package.required(main)?;
    let body = tree.root.child("body").ok_or_else(package::damaged)?;
    let mut reader = Reader { styles, outline: Outline::of_text(properties.title.as_deref()), boxes: Vec::new() };
    reader.blocks(body);
    for kind in ["footnotes", "endnotes"] {
        let notes = part(kind).map(|name| package.xml(&name)).transpose()?.flatten();
        if let Some(notes) = notes {
            reader.notes(&notes.root);
        }
    }
    Ok(properties.of_document(reader.outline.finish()))
}

/// What a style makes of its paragraphs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Text,
    /// With its level; 0 is the title.
    Heading(usize),
    Item,
}

#[derive(Default)]
struct Styles {
    by_id: HashMap<String, Style>,
}

struct Style {
    role: Option<Role>,
    based_on: Option<String>,
}

impl Styles {
    fn of(root: &Element) -> Self {
        let style = |style: &Element| {
            let name = value(style, "name").unwrap_or_default().to_lowercase();
            let level = style.at(&["pPr", "outlineLvl"]).and_then(level_of);
            let role = named_role(&name).or(level.map(Role::Heading));
            Some((
                style.attribute("styleId")?.to_owned(),
                Style { role, based_on: value(style, "basedOn").map(str::to_owned) },
            ))
        };
        Self { by_id: root.elements().filter(|element| &*element.name == "style").filter_map(style).collect() }
    }

    fn role(&self, id: &str) -> Role {
        let mut id = id;
        for _ in 0..MAX_BASES {
            let Some(style) = self.by_id.get(id) else { return Role::Text };
            match (style.role, &style.based_on) {
                (Some(role), _) => return role,
                (None, Some(base)) => id = base,
                (None, None) => return Role::Text,
            }
        }
        Role::Text
    }
}

/// Returns the role that a style of this name has. Names of styles are English, whatever the language of the program.
fn named_role(name: &str) -> Option<Role> {
    match name {
        "title" => Some(Role::Heading(0)),
        name if name.starts_with("list bullet") || name.starts_with("list number") => Some(Role::Item),
        name => name.strip_prefix("heading ")?.parse().ok().filter(|level| (1..=9).contains(level)).map(Role::Heading),
    }
}

/// Returns the level of a heading. Those of an outline count from 0; 9 is text.
fn level_of(element: &Element) -> Option<usize> {
    element.attribute("val")?.parse().ok().filter(|level| *level < 9).map(|level: usize| level + 1)
}

fn value<'a>(element: &'a Element, child: &str) -> Option<&'a str> {
    element.child(child)?.attribute("val")
}

struct Reader {
    styles: Styles,
    outline: Outline,
    /// Texts of the boxes that hang on the present paragraph.
    boxes: Vec<String>,
}

impl Reader {
    fn blocks(&mut self, parent: &Element) {
        for element in parent.elements() {
            match &*element.name {
                "p" => self.paragraph(element),
                "tbl" => {
                    let table = self.table(element);
                    self.outline.block(&table);
                }
                "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" | "smartTag" => self.blocks(element),
                "AlternateContent" => element.child("Choice").into_iter().for_each(|choice| self.blocks(choice)),
                _ => {}
            }
        }
    }

    fn paragraph(&mut self, paragraph: &Element) {
        let text = self.text(paragraph);
        let properties = paragraph.child("pPr");
        let styled = properties.and_then(|properties| value(properties, "pStyle")).map(|id| self.styles.role(id));
        let own = properties.and_then(|properties| properties.child("outlineLvl")).and_then(level_of);
        let list = properties.and_then(|properties| properties.child("numPr"));
        let depth = list.and_then(|list| value(list, "ilvl")).and_then(|depth| depth.parse().ok()).unwrap_or(0);
        match (own.map(Role::Heading).or(styled).unwrap_or_default(), list) {
            (Role::Heading(level), _) if !text.trim().is_empty() => self.outline.heading(level, &text),
            (Role::Item, _) | (_, Some(_)) => self.outline.item(depth, &text),
            _ => self.outline.block(&text),
        }
        for text in std::mem::take(&mut self.boxes) {
            self.outline.block(&text);
        }
    }

    fn text(&mut self, element: &Element) -> String {
        let mut text = String::new();
        self.say(element, &mut text);
        text
    }

    fn say(&mut self, element: &Element, text: &mut String) {
        for child in element.elements() {
            match &*child.name {
                "t" => text.push_str(&child.text()),
                "tab" | "ptab" => text.push(' '),
                "br" | "cr" => text.push('\n'),
                "noBreakHyphen" => text.push('-'),
                "sym" => text.extend(symbol(child)),
                "oMath" => text.push_str(&formula::linear(child)),
                "r" => self.run(child, text),
                "AlternateContent" => child.child("Choice").into_iter().for_each(|choice| self.say(choice, text)),
                "txbxContent" => self.text_box(child),
                // Removed, hidden, or no text.
                "del" | "moveFrom" | "delText" | "instrText" | "pPr" | "rPr" | "sdtPr" => {}
                _ => self.say(child, text),
            }
        }
    }

    fn run(&mut self, run: &Element, text: &mut String) {
        let properties = run.child("rPr");
        let is_set = |name: &str| {
            let property = properties.and_then(|properties| properties.child(name));
            property.is_some_and(|property| !matches!(property.attribute("val"), Some("0" | "false" | "off")))
        };
        // What is hidden, and what is struck out: it holds no more.
        if ["vanish", "strike", "dstrike"].into_iter().any(is_set) {
            return;
        }
        let is_raised = properties.and_then(|properties| value(properties, "vertAlign")) == Some("superscript");
        let mut said = String::new();
        self.say(run, &mut said);
        text.push_str(&if is_raised { package::raised(&said) } else { said });
    }

    fn text_box(&mut self, content: &Element) {
        let paragraphs = content.elements().filter(|element| &*element.name == "p");
        let lines: Vec<String> = paragraphs.map(|paragraph| self.text(paragraph)).collect();
        self.boxes.push(lines.join("\n"));
    }

    fn table(&mut self, table: &Element) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for row in table.elements().filter(|row| &*row.name == "tr") {
            let mut cells: Vec<String> = Vec::new();
            for cell in row.elements().flat_map(within).filter(|cell| &*cell.name == "tc") {
                let properties = cell.child("tcPr");
                let span =
                    properties.and_then(|properties| value(properties, "gridSpan")?.parse().ok()).unwrap_or(1_usize);
                let goes_on = properties.and_then(|properties| properties.child("vMerge"));
                let above = goes_on.filter(|merge| merge.attribute("val") != Some("restart"));
                let text = match above.and_then(|_| rows.last()?.get(cells.len()).cloned()) {
                    Some(above) => above,
                    None => self.cell(cell),
                };
                cells.extend(std::iter::repeat_n(text, span.clamp(1, 100)));
            }
            rows.push(cells);
        }
        table::markdown(rows)
    }

    fn cell(&mut self, cell: &Element) -> String {
        let mut pieces = Vec::new();
        for element in cell.elements() {
            match &*element.name {
                "p" => pieces.push(self.text(element)),
                "tbl" => element.each("p", &mut |paragraph| pieces.push(self.text(paragraph))),
                "sdt" => pieces.push(self.text(element)),
                _ => {}
            }
        }
        pieces.append(&mut self.boxes);
        pieces.retain(|piece| !piece.trim().is_empty());
        pieces.join(" ")
    }

    fn notes(&mut self, notes: &Element) {
        for note in notes.elements().filter(|note| note.attribute("type").is_none()) {
            let text = self.text(note);
            self.outline.block(&text);
        }
    }
}

/// Returns a sign of the font `Symbol`, in which it is no letter; signs of other fonts are pictures.
fn symbol(sign: &Element) -> Option<char> {
    const SIGNS: [(u32, char); 12] = [
        (0xa3, '≤'),
        (0xb0, '°'),
        (0xb1, '±'),
        (0xb3, '≥'),
        (0xb4, '×'),
        (0xb5, '∝'),
        (0xb7, '•'),
        (0xb8, '÷'),
        (0xb9, '≠'),
        (0xbb, '≈'),
        (0x2d, '−'),
        (0x6d, 'µ'),
    ];
    let code = u32::from_str_radix(sign.attribute("char")?, 16).ok()? & 0xff;
    let is_symbol = sign.attribute("font") == Some("Symbol");
    SIGNS.iter().find(|(known, _)| is_symbol && *known == code).map(|(_, sign)| *sign)
}

/// Returns a cell, or those within what stands around cells.
fn within(element: &Element) -> Vec<&Element> {
    match &*element.name {
        "sdt" => element.child("sdtContent").map(|content| content.elements().collect()).unwrap_or_default(),
        _ => vec![element],
    }
}
