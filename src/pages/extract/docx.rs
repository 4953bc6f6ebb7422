//! Documents of Word (Office Open XML): paragraphs by their styles, lists, tables, notes.

use std::collections::{BTreeMap, HashMap};

use super::{
    Document, Unreadable, chart, formula,
    numbering::Numbering,
    outline::Outline,
    package::{self, Package, Relation},
    table, text,
    xml::Element,
};

/// Styles that build on others, at most so often.
const MAX_BASES: usize = 10;
/// Headers and footers of one document; further ones repeat these.
const MAX_MARGINS: usize = 20;

/// Reads a Word document.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>, main: &str) -> Result<Document, Unreadable> {
    let properties = package.core_properties()?;
    let relations = package.relations(main)?;
    let mut part = |kind: &str| {
        let relation = relations.values().find(|relation| relation.kind == kind);
        relation.and_then(|relation| package.extra(&relation.target))
    };
    let styles = part("styles").map(|tree| Styles::of(&tree.root)).unwrap_or_default();
    let numbering = part("numbering").map(|tree| Numbering::of(&tree.root)).unwrap_or_default();
    let mut reader = Reader::new(Outline::of_text(properties.title.as_deref()), styles, numbering);
    for kind in [Note::Footnote, Note::Endnote, Note::Comment] {
        if let Some(notes) = part(kind.part()) {
            reader.keep_notes(kind, &notes.root);
        }
    }
    reader.charts = chart::all(package, &relations);
    let tree = package.required(main)?;
    let body = tree.root.child("body").ok_or_else(package::damaged)?;
    reader.blocks(body);
    reader.notes.keys().copied().for_each(|note| reader.referred.push(note));
    reader.follow();
    margins(package, &relations, body, &mut reader);
    Ok(properties.of_document(reader.outline.finish()))
}

/// Adds what stands above and below the pages, each text once; a number of a page alone says nothing.
fn margins(package: &mut Package<'_>, relations: &HashMap<String, Relation>, body: &Element, reader: &mut Reader) {
    let mut targets = Vec::new();
    body.each("sectPr", &mut |section| {
        let references = section.elements().filter(|it| matches!(&*it.name, "headerReference" | "footerReference"));
        let found = references.filter_map(|reference| relations.get(reference.attribute("id")?));
        targets.extend(found.map(|relation| &relation.target).take(MAX_MARGINS.saturating_sub(targets.len())));
    });
    let mut texts: Vec<String> = Vec::new();
    for target in targets {
        let Some(tree) = package.extra(target) else { continue };
        let mut pieces = reader.pieces(&tree.root);
        // Boxes as well stand in each of them.
        pieces.append(&mut reader.boxes);
        let text = pieces.join("\n");
        if text.contains(char::is_alphabetic) && !texts.contains(&text) {
            texts.push(text);
        }
    }
    reader.outline.part(1, "Headers and footers");
    texts.iter().for_each(|text| reader.outline.block(text));
    reader.follow();
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
    /// The list that its paragraphs belong to, and their level in it.
    list: (Option<String>, Option<usize>),
    based_on: Option<String>,
}

impl Styles {
    fn of(root: &Element) -> Self {
        let style = |style: &Element| {
            let name = style.value("name").unwrap_or_default().to_lowercase();
            let level = style.at(&["pPr", "outlineLvl"]).and_then(level_of);
            let role = named_role(&name).or(level.map(Role::Heading));
            let list = style.at(&["pPr", "numPr"]).map(list_of).unwrap_or_default();
            let list = (list.0.map(str::to_owned), list.1);
            let based_on = style.value("basedOn").map(str::to_owned);
            Some((style.attribute("styleId")?.to_owned(), Style { role, list, based_on }))
        };
        Self { by_id: root.elements().filter(|element| &*element.name == "style").filter_map(style).collect() }
    }

    /// Returns a style and those that it builds on, the nearest first, with their ids.
    fn chain<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a str, &'a Style)> {
        let with_id = |id: &'a str| Some((id, self.by_id.get(id)?));
        std::iter::successors(with_id(id), move |(_, style)| with_id(style.based_on.as_deref()?)).take(MAX_BASES)
    }

    fn role(&self, id: &str) -> Role {
        self.chain(id).find_map(|(_, style)| style.role).unwrap_or_default()
    }

    /// Returns the list of a style's paragraphs, and their level in it: either may come from a style that it builds on.
    fn list<'a>(&'a self, id: &'a str, numbering: &Numbering) -> Option<(&'a str, Option<usize>)> {
        let list = self.chain(id).find_map(|(_, style)| style.list.0.as_deref())?;
        let level = self.chain(id).find_map(|(id, style)| style.list.1.or_else(|| numbering.level_of_style(list, id)));
        Some((list, level))
    }
}

/// Returns the list that properties of a paragraph name, and the level in it.
fn list_of(properties: &Element) -> (Option<&str>, Option<usize>) {
    (properties.value("numId"), properties.value("ilvl").and_then(|level| level.parse().ok()))
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

/// A kind of text that stands apart from what it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Footnote,
    Endnote,
    Comment,
}

impl Note {
    fn part(self) -> &'static str {
        match self {
            Self::Footnote => "footnotes",
            Self::Endnote => "endnotes",
            Self::Comment => "comments",
        }
    }
}

struct Reader {
    styles: Styles,
    numbering: Numbering,
    outline: Outline,
    /// Texts of the boxes and charts that hang on the present paragraph.
    boxes: Vec<String>,
    /// Notes that were not shown yet, by their kinds and ids.
    notes: BTreeMap<(Note, i64), String>,
    /// Notes that the present block refers to.
    referred: Vec<(Note, i64)>,
    /// Charts that were not shown yet, by the ids of their relations.
    charts: HashMap<String, String>,
}

impl Reader {
    fn new(outline: Outline, styles: Styles, numbering: Numbering) -> Self {
        Self {
            styles,
            numbering,
            outline,
            boxes: Vec::new(),
            notes: BTreeMap::new(),
            referred: Vec::new(),
            charts: HashMap::new(),
        }
    }

    fn keep_notes(&mut self, kind: Note, notes: &Element) {
        for note in notes.elements().filter(|note| note.attribute("type").is_none()) {
            let Some(id) = id_of(note) else { continue };
            let text = self.pieces(note).join("\n");
            let author = note.attribute("author").filter(|_| kind == Note::Comment);
            let text = author.map_or_else(|| text.clone(), |author| format!("Comment by {author}: {text}"));
            self.notes.insert((kind, id), text);
        }
    }

    fn blocks(&mut self, parent: &Element) {
        for element in parent.elements() {
            match &*element.name {
                "p" => self.paragraph(element),
                "tbl" => {
                    let table = self.table(element);
                    self.outline.block(&table);
                    self.follow();
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
        let styled = properties.and_then(|properties| properties.value("pStyle")).map(|id| self.styles.role(id));
        let own = properties.and_then(|properties| properties.child("outlineLvl")).and_then(level_of);
        let role = own.map(Role::Heading).or(styled).unwrap_or_default();
        match (role, self.number(paragraph)) {
            (Role::Heading(level), number) if !text.trim().is_empty() => {
                self.outline.heading(level, &behind(number, text));
            }
            (Role::Item, None) => self.outline.item(0, &text),
            (_, Some((depth, number))) if number.is_empty() => self.outline.item(depth, &text),
            (_, Some((depth, number))) => self.outline.numbered(depth, &number, &text),
            _ => self.outline.block(&text),
        }
        self.follow();
    }

    /// Adds what hangs on the present block, behind it: boxes, and the notes that it refers to.
    fn follow(&mut self) {
        let notes = std::mem::take(&mut self.referred).into_iter().filter_map(|note| self.notes.remove(&note));
        for text in std::mem::take(&mut self.boxes).into_iter().chain(notes) {
            self.outline.block(&text);
        }
    }

    /// Counts a paragraph of a list; returns its level and its number, which is empty for a bullet. What a tracked
    /// change took away as a whole is not counted, as it is not read.
    fn number(&mut self, paragraph: &Element) -> Option<(usize, String)> {
        let properties = paragraph.child("pPr").filter(|properties| !is_taken_away(paragraph, properties))?;
        let (own, own_level) = properties.child("numPr").map(list_of).unwrap_or_default();
        let styled = properties.value("pStyle").and_then(|style| self.styles.list(style, &self.numbering));
        // 0 takes a paragraph out of the list of its style.
        let id = own.or(styled.map(|(id, _)| id)).filter(|id| *id != "0")?;
        let level = own_level.or(styled.and_then(|(_, level)| level)).unwrap_or(0);
        Some((level, self.numbering.next(id, level).unwrap_or_default()))
    }

    /// Returns the texts of paragraphs and tables, numbers included; none is empty.
    fn pieces(&mut self, parent: &Element) -> Vec<String> {
        let mut pieces = Vec::new();
        for element in parent.elements() {
            match &*element.name {
                "p" => {
                    let text = self.text(element);
                    let number = self.number(element);
                    pieces.push(behind(number, text));
                }
                "tbl" => pieces.push(format!("\n{}\n", self.table(element))),
                "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" => pieces.append(&mut self.pieces(element)),
                _ => {}
            }
        }
        pieces.retain(|piece| !piece.trim().is_empty());
        pieces
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
                "fldChar" => text.push_str(&form_field(child)),
                "footnoteReference" => self.refer(Note::Footnote, child),
                "endnoteReference" => self.refer(Note::Endnote, child),
                "commentReference" => self.refer(Note::Comment, child),
                "chart" => self.boxes.extend(child.attribute("id").and_then(|id| self.charts.remove(id))),
                "AlternateContent" => child.child("Choice").into_iter().for_each(|choice| self.say(choice, text)),
                "txbxContent" => self.text_box(child),
                // Removed, hidden, or no text.
                "del" | "moveFrom" | "delText" | "instrText" | "pPr" | "rPr" | "sdtPr" => {}
                // How the word that follows is read.
                "rt" => {}
                _ => self.say(child, text),
            }
        }
    }

    fn run(&mut self, run: &Element, text: &mut String) {
        let properties = run.child("rPr");
        let is_set = |name: &str| properties.is_some_and(|properties| properties.has_switched_on(name));
        // What is hidden, and what is struck out: it holds no more.
        if ["vanish", "strike", "dstrike"].into_iter().any(is_set) {
            return;
        }
        let is_raised = properties.and_then(|properties| properties.value("vertAlign")) == Some("superscript");
        let mut said = String::new();
        self.say(run, &mut said);
        text.push_str(&if is_raised { text::with_raised(&said) } else { said });
    }

    fn refer(&mut self, kind: Note, reference: &Element) {
        self.referred.extend(id_of(reference).map(|id| (kind, id)));
    }

    fn text_box(&mut self, content: &Element) {
        let text = self.pieces(content).join("\n");
        self.boxes.push(text);
    }

    fn table(&mut self, table: &Element) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for row in table.elements().flat_map(within).filter(|row| &*row.name == "tr") {
            let mut cells: Vec<String> = Vec::new();
            for cell in row.elements().flat_map(within).filter(|cell| &*cell.name == "tc") {
                let properties = cell.child("tcPr");
                let span =
                    properties.and_then(|properties| properties.value("gridSpan")?.parse().ok()).unwrap_or(1_usize);
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
                "tbl" => element.each("p", &mut |paragraph| pieces.push(self.text(paragraph))),
                "p" => {
                    let text = self.text(element);
                    let number = self.number(element);
                    pieces.push(behind(number, text));
                }
                "sdt" | "sdtContent" => pieces.push(self.cell(element)),
                _ => {}
            }
        }
        pieces.append(&mut self.boxes);
        pieces.retain(|piece| !piece.trim().is_empty());
        pieces.join(" ")
    }
}

/// Returns whether a tracked change took a paragraph away: its end, and all that stands in it.
fn is_taken_away(paragraph: &Element, properties: &Element) -> bool {
    let is_marked = properties.child("rPr").is_some_and(|mark| mark.child("del").or(mark.child("moveFrom")).is_some());
    let stays = |it: &Element| matches!(&*it.name, "r" | "ins" | "moveTo" | "hyperlink" | "sdt" | "smartTag" | "oMath");
    is_marked && !paragraph.elements().any(stays)
}

/// Returns a text behind the number that Word puts before it.
fn behind(number: Option<(usize, String)>, text: String) -> String {
    match number {
        Some((_, number)) if !number.is_empty() && !text.trim().is_empty() => format!("{number} {text}"),
        _ => text,
    }
}

fn id_of(element: &Element) -> Option<i64> {
    element.attribute("id")?.parse().ok()
}

/// Returns what is chosen in a field of an older form; what is typed into one stands in the text.
fn form_field(field: &Element) -> String {
    let Some(data) = field.child("ffData") else { return String::new() };
    if let Some(list) = data.child("ddList") {
        let chosen = list.value("result").or(list.value("default")).and_then(|at| at.parse().ok()).unwrap_or(0);
        let entry = list.elements().filter(|entry| &*entry.name == "listEntry").nth(chosen);
        return entry.and_then(|entry| entry.attribute("val")).unwrap_or_default().to_owned();
    }
    let Some(checkbox) = data.child("checkBox") else { return String::new() };
    let mark = if checkbox.child("checked").is_some() { "checked" } else { "default" };
    let is_checked = checkbox.has_switched_on(mark);
    if is_checked { "☒" } else { "☐" }.to_owned()
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

/// Returns a row or cell, or those within the controls around them.
fn within(element: &Element) -> Vec<&Element> {
    match &*element.name {
        "sdt" => element.child("sdtContent").into_iter().flat_map(Element::elements).flat_map(within).collect(),
        _ => vec![element],
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Format, *};

    /// Reads a document with further parts, each of the kind that its name says.
    fn read(body: &str, parts: &[(&str, &str)]) -> Document {
        let relation =
            |kind: &str, target: &str| format!("<Relationship Id='{kind}' Type='x/{kind}' Target='{target}'/>");
        let main = format!("<Relationships>{}</Relationships>", relation("officeDocument", "word/document.xml"));
        let kinds: String = parts.iter().map(|(kind, _)| relation(kind, &format!("{kind}.xml"))).collect();
        let relations = format!("<Relationships>{kinds}</Relationships>");
        let document = format!("<document><body>{body}</body></document>");
        let names: Vec<String> = parts.iter().map(|(kind, _)| format!("word/{kind}.xml")).collect();
        let mut all = vec![
            ("_rels/.rels", &*main),
            ("word/_rels/document.xml.rels", &*relations),
            ("word/document.xml", &*document),
        ];
        all.extend(names.iter().map(String::as_str).zip(parts.iter().map(|(_, content)| *content)));
        super::super::read(Format::Package, package::zipped(&all)).unwrap()
    }

    fn said(body: &str, parts: &[(&str, &str)]) -> String {
        read(body, parts).sections.into_iter().map(|section| section.text).collect::<Vec<_>>().join("\n\n")
    }

    fn paragraph(properties: &str, text: &str) -> String {
        format!("<p><pPr>{properties}</pPr><r><t>{text}</t></r></p>")
    }

    #[test]
    fn clauses_have_their_numbers() {
        let level = |level: usize, format: &str, pattern: &str| {
            let style = format!("<pStyle val='H{level}'/>");
            format!(
                "<lvl ilvl='{level}'><start val='1'/><numFmt val='{format}'/>{style}<lvlText val='{pattern}'/></lvl>"
            )
        };
        let levels = level(0, "decimal", "%1.") + &level(1, "decimal", "%1.%2") + &level(2, "bullet", "*");
        let numbering = format!(
            "<numbering><abstractNum abstractNumId='0'>{levels}</abstractNum>\
                <num numId='4'><abstractNumId val='0'/></num></numbering>"
        );
        let styles = "<styles><style styleId='H'><name val='heading 1'/><pPr><numPr><numId val='4'/></numPr></pPr></style>\
            <style styleId='Own'><name val='Own'/><basedOn val='H'/></style>\
            <style styleId='H1'><name val='heading 2'/><basedOn val='H'/></style></styles>";
        let heading = |text: &str| paragraph("<pStyle val='Own'/>", text);
        let clause = |level: usize, text: &str| {
            paragraph(&format!("<numPr><ilvl val='{level}'/><numId val='4'/></numPr>"), text)
        };
        let out_of_list = "<pStyle val='H'/><numPr><numId val='0'/></numPr>";
        let cell = format!("<tbl><tr><tc>{}</tc><tc>{}</tc></tr></tbl>", clause(1, "Fee"), paragraph("", "4"));
        let body = [
            heading("Terms"),
            clause(1, "The gate"),
            clause(2, "of oak"),
            heading("Payment"),
            clause(1, "On signing"),
            cell,
            paragraph("<pStyle val='H1'/>", "Scope"),
            paragraph(out_of_list, "Annex"),
        ];
        let expected = "1. Terms\n\n  1.1 The gate\n    - of oak\n\n2. Payment\n\n  2.1 On signing\n\n\
            | 2.2 Fee | 4 |\n| --- | --- |\n\n2.3 Scope\n\nAnnex";
        assert_eq!(said(&body.concat(), &[("styles", styles), ("numbering", &numbering)]), expected);
    }

    #[test]
    fn notes_and_comments_follow_what_they_are_about() {
        let refer = |kind: &str, id: usize| format!("<r><{kind}Reference id='{id}'/></r>");
        let body = format!(
            "<p><r><t>It costs 5</t></r>{}{}</p><p><r><t>Last.</t></r></p>",
            refer("footnote", 2),
            refer("comment", 0)
        );
        let notes = "<footnotes><footnote id='0' type='separator'><p/></footnote><footnote id='2'><p><r><t>As</t></r></p>\
            <p><r><t>audited.</t></r></p></footnote><footnote id='3'><p><r><t>Of none.</t></r></p></footnote></footnotes>";
        let comments = "<comments><comment id='0' author='Bob'><p><r><t>Or 6?</t></r></p></comment></comments>";
        assert_eq!(
            said(&body, &[("footnotes", notes), ("comments", comments)]),
            "It costs 5\n\nAs\naudited.\n\nComment by Bob: Or 6?\n\nLast.\n\nOf none."
        );
    }

    #[test]
    fn headers_and_footers_are_said_once() {
        let reference = |kind: &str| format!("<{kind}Reference type='default' id='{kind}'/>");
        let section = format!("<sectPr>{}{}</sectPr>", reference("header"), reference("footer"));
        let body = format!("<p><pPr>{section}</pPr><r><t>Text.</t></r></p>{section}");
        let header = "<hdr><p><r><t>Contract 4711</t></r></p></hdr>";
        let footer = "<ftr><p><r><t>3</t></r></p></ftr>";
        let document = read(&body, &[("header", header), ("footer", footer)]);
        assert_eq!(document.title, None);
        assert_eq!(document.sections[0].text, "Text.\n\nHeaders and footers\n\nContract 4711");
    }

    #[test]
    fn a_box_in_the_headers_is_said_once() {
        let section = "<sectPr><headerReference id='header'/><headerReference id='footer'/></sectPr>";
        let header =
            format!("<hdr><p><r><t>Mill</t><txbxContent>{}</txbxContent></r></p></hdr>", paragraph("", "Draft"));
        let body = paragraph("", "Text.") + section;
        assert_eq!(
            said(&body, &[("header", &header), ("footer", &header)]),
            "Text.\n\nHeaders and footers\n\nMill\nDraft"
        );
    }

    #[test]
    fn a_document_is_read_without_its_damaged_parts() {
        let body = paragraph("", "Text.") + "<sectPr><headerReference id='header'/></sectPr>";
        let damaged = ["header", "chart", "comments", "numbering"].map(|kind| (kind, "<a"));
        let document = read(&body, &damaged);
        assert_eq!(document.sections[0].text, "Text.");
        assert!(document.missing.is_some());
    }

    #[test]
    fn a_clause_that_was_taken_away_is_not_counted() {
        let list = "<numPr><ilvl val='0'/><numId val='1'/></numPr>";
        let numbering = "<numbering><abstractNum abstractNumId='0'><lvl ilvl='0'><start val='1'/><numFmt val='decimal'/>\
            <lvlText val='%1.'/></lvl></abstractNum><num numId='1'><abstractNumId val='0'/></num></numbering>";
        let gone = format!("<p><pPr>{list}<rPr><del/></rPr></pPr><del><r><delText>Gone</delText></r></del></p>");
        // Its end alone is gone: what follows goes on in it.
        let joined = format!("<p><pPr>{list}<rPr><del/></rPr></pPr><r><t>Half</t></r></p>");
        let body = [paragraph(list, "Scope"), gone, paragraph(list, "Fees"), joined].concat();
        assert_eq!(said(&body, &[("numbering", numbering)]), "1. Scope\n2. Fees\n3. Half");
    }

    #[test]
    fn what_stands_within_other_things_is_read() {
        let table = |cells: &str| format!("<tbl><tr>{cells}</tr></tbl>");
        let cell = |inside: &str| format!("<tc>{inside}</tc>");
        let lines = paragraph("", "Line one") + &paragraph("", "Line two");
        let control = format!("<sdt><sdtContent>{lines}</sdtContent></sdt>");
        assert_eq!(
            said(&table(&(cell(&control) + &cell(&paragraph("", "4")))), &[]),
            "| Line one Line two | 4 |\n| --- | --- |"
        );
        let row = |name: &str| format!("<tr>{}</tr>", cell(&paragraph("", name)) + &cell(&paragraph("", "4")));
        let within = |inside: &str| format!("<sdt><sdtContent>{inside}</sdtContent></sdt>");
        let repeated = format!("<tbl>{}{}</tbl>", row("Fee"), within(&(within(&row("Boat")) + &within(&row("Raft")))));
        assert_eq!(said(&repeated, &[]), "| Fee | 4 |\n| --- | --- |\n| Boat | 4 |\n| Raft | 4 |");
        let reading = "<p><r><ruby><rt><r><t>みなと</t></r></rt><rubyBase><r><t>港</t></r></rubyBase></ruby></r></p>";
        assert_eq!(said(reading, &[]), "港");
        let rows = table(&(cell(&paragraph("", "Fee")) + &cell(&paragraph("", "5"))));
        let text_box = format!("<p><r><t>Above</t><txbxContent>{}{rows}</txbxContent></r></p>", paragraph("", "Box"));
        assert_eq!(said(&text_box, &[]), "Above\n\nBox\n\n| Fee | 5 |\n| --- | --- |");
        let field = |data: &str| format!("<r><fldChar fldCharType='begin'><ffData>{data}</ffData></fldChar></r>");
        let list = "<ddList><result val='1'/><listEntry val='Red'/><listEntry val='Blue'/></ddList>";
        let fields = field(list) + &field("<checkBox><default val='1'/></checkBox>") + &field("<checkBox/>");
        assert_eq!(said(&format!("<p>{fields}</p>"), &[]), "Blue☒☐");
    }

    #[test]
    fn a_chart_is_a_table() {
        let points = |kind: &str, value: &str| format!("<{kind}><pt idx='0'><v>{value}</v></pt></{kind}>");
        let series =
            format!("<ser><cat>{}</cat><val>{}</val></ser>", points("strCache", "2024"), points("numCache", "5"));
        let chart = format!("<chartSpace><chart><plotArea>{series}</plotArea></chart></chartSpace>");
        let body = "<p><r><t>Revenue</t><drawing><chart id='chart'/></drawing></r></p>".repeat(2);
        assert_eq!(said(&body, &[("chart", &chart)]), "Revenue\n\n| 2024 | 5 |\n| --- | --- |\n\nRevenue");
    }
}
