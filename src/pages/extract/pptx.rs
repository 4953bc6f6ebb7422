//! Presentations of PowerPoint (Office Open XML): a section for each slide, with its notes.

use std::collections::HashMap;

use super::{Document, Unreadable, chart, formula, outline::Outline, package::Package, table, text, xml::Element};

const MAX_SLIDES: usize = 2_000;

/// Reads a PowerPoint presentation.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>, main: &str) -> Result<Document, Unreadable> {
    let properties = package.core_properties()?;
    let mut outline = Outline::of_parts(properties.title.as_deref());
    let (mut hidden, mut beyond, mut first) = (0, 0, None);
    for (number, part) in (1..).zip(slides(package, main)?) {
        if number > MAX_SLIDES {
            beyond += 1;
            continue;
        }
        let Some(tree) = package.xml(&part)? else { continue };
        if tree.root.attribute("show") == Some("0") {
            hidden += 1;
            continue;
        }
        let relations = package.relations(&part)?;
        let charts = chart::all(package, &relations);
        let notes = relations.into_values().find(|relation| relation.kind == "notesSlide");
        let title = slide(&tree.root, number, charts, &mut outline);
        first = first.or(title);
        if let Some(notes) = notes.map(|notes| package.xml(&notes.target)).transpose()?.flatten() {
            for line in body_of_notes(&notes.root) {
                outline.block(&line);
            }
        }
    }
    let mut document = properties.of_document(outline.finish());
    document.title = document.title.or(first);
    document.missing = match (beyond, hidden) {
        (0, 0) => None,
        (0, hidden) => Some(format!("{hidden} hidden slides are not searched")),
        _ => Some(format!("only the first {MAX_SLIDES} slides are searched")),
    };
    Ok(document)
}

/// Returns the parts of the slides in the order of the show.
fn slides(package: &mut Package<'_>, main: &str) -> Result<Vec<String>, Unreadable> {
    let relations = package.relations(main)?;
    let tree = package.required(main)?;
    let list = tree.root.child("sldIdLst").map(|list| list.elements().collect::<Vec<_>>()).unwrap_or_default();
    let target =
        |slide: &Element| slide.values().find_map(|value| relations.get(value)).map(|found| found.target.clone());
    Ok(list.into_iter().filter_map(target).collect())
}

/// Adds a slide, with its charts by the ids of their relations; returns its title.
fn slide(root: &Element, number: usize, mut charts: HashMap<String, String>, outline: &mut Outline) -> Option<String> {
    let tree = root.at(&["cSld", "spTree"])?;
    let mut shapes = Vec::new();
    collect(tree, &mut shapes);
    let title = shapes.iter().find(|shape| is_title(shape)).map(|shape| text::one_line(&lines(shape).join(" ")));
    let title = title.filter(|title| !title.is_empty());
    let name = match &title {
        Some(title) => format!("Slide {number}: {title}"),
        None => format!("Slide {number}"),
    };
    outline.heading(2, &name);
    for shape in shapes.iter().filter(|shape| !is_title(shape)) {
        let chart = shape.find("chart").and_then(|chart| charts.remove(chart.attribute("id")?));
        match (shape.find("tbl"), chart) {
            (Some(table), _) => outline.block(&rows(table)),
            (None, Some(chart)) => outline.block(&chart),
            (None, None) => paragraphs(shape, outline),
        }
    }
    if title.is_some() {
        outline.block_if_bare(&name);
    }
    title
}

/// Collects shapes and tables, those in groups too, but none that repeat on every slide.
fn collect<'a>(parent: &'a Element, shapes: &mut Vec<&'a Element>) {
    for element in parent.elements() {
        match &*element.name {
            "grpSp" => collect(element, shapes),
            "AlternateContent" => element.child("Choice").into_iter().for_each(|choice| collect(choice, shapes)),
            "sp" if !matches!(placeholder(element), Some("sldNum" | "ftr" | "dt")) => shapes.push(element),
            "graphicFrame" => shapes.push(element),
            _ => {}
        }
    }
}

fn placeholder(shape: &Element) -> Option<&str> {
    shape.at(&["nvSpPr", "nvPr", "ph"]).map(|place| place.attribute("type").unwrap_or("body"))
}

fn is_title(shape: &Element) -> bool {
    matches!(placeholder(shape), Some("title" | "ctrTitle"))
}

fn paragraphs(shape: &Element, outline: &mut Outline) {
    let Some(body) = shape.child("txBody") else { return };
    let is_list = placeholder(shape).is_some_and(|place| place == "body");
    outline.line("");
    for paragraph in body.elements().filter(|element| &*element.name == "p") {
        let depth = paragraph.child("pPr").and_then(|properties| properties.attribute("lvl")?.parse().ok());
        match is_list || depth.is_some() {
            true => outline.item(depth.unwrap_or(0), &text_of(paragraph)),
            false => outline.block(&text_of(paragraph)),
        }
    }
    outline.line("");
}

fn lines(shape: &Element) -> Vec<String> {
    let body = shape.child("txBody");
    let paragraphs = body.into_iter().flat_map(Element::elements).filter(|element| &*element.name == "p");
    paragraphs.map(text_of).filter(|text| !text.trim().is_empty()).collect()
}

/// Returns the text of a paragraph.
fn text_of(paragraph: &Element) -> String {
    let mut text = String::new();
    say(paragraph, &mut text);
    text
}

fn say(paragraph: &Element, text: &mut String) {
    for run in paragraph.elements() {
        match &*run.name {
            "r" | "fld" => {
                let said = run.child("t").map(Element::text).unwrap_or_default();
                let raise =
                    run.child("rPr").and_then(|properties| properties.attribute("baseline")?.parse::<i64>().ok());
                text.push_str(&if raise.is_some_and(|raise| raise > 0) { text::with_raised(&said) } else { said });
            }
            "br" => text.push('\n'),
            "m" => run.elements().for_each(|formula| text.push_str(&formula::linear(formula))),
            // What is said instead to programs that know no formulas is a picture of it.
            "AlternateContent" => {
                let chosen = run.child("Choice").or_else(|| run.child("Fallback"));
                chosen.into_iter().for_each(|chosen| say(chosen, text));
            }
            _ => {}
        }
    }
}

fn rows(table: &Element) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in table.elements().filter(|element| &*element.name == "tr") {
        let mut cells: Vec<String> = Vec::new();
        for cell in row.elements().filter(|element| &*element.name == "tc") {
            let is_set = |name: &str| matches!(cell.attribute(name), Some("1" | "true"));
            let before = if is_set("hMerge") { cells.last().cloned() } else { None };
            let above = if is_set("vMerge") { rows.last().and_then(|row| row.get(cells.len())).cloned() } else { None };
            cells.push(before.or(above).unwrap_or_else(|| lines(cell).join(" ")));
        }
        rows.push(cells);
    }
    table::markdown(rows)
}

fn body_of_notes(notes: &Element) -> Vec<String> {
    let mut shapes = Vec::new();
    notes.each("sp", &mut |shape| shapes.push(shape));
    shapes.into_iter().filter(|shape| placeholder(shape) == Some("body")).flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::xml, *};

    #[test]
    fn a_slide_says_its_title_and_its_chart() {
        let title = "<sp><nvSpPr><nvPr><ph type='title'/></nvPr></nvSpPr><txBody><p><r><t>Revenue grew 14%</t></r></p></txBody></sp>";
        let chart = "<graphicFrame><graphic><graphicData><chart id='r1'/></graphicData></graphic></graphicFrame>";
        let said = |shapes: &str| {
            let root = xml::parse(&format!("<sld><cSld><spTree>{shapes}</spTree></cSld></sld>")).unwrap().root;
            let mut outline = Outline::of_parts(None);
            slide(&root, 2, HashMap::from([("r1".to_owned(), "| 2024 | 5.2 |".to_owned())]), &mut outline);
            outline.finish().sections.into_iter().map(|section| section.text).collect::<Vec<_>>()
        };
        assert_eq!(said(title), ["Slide 2: Revenue grew 14%"]);
        assert_eq!(said(&format!("{title}{chart}")), ["| 2024 | 5.2 |"]);
        assert_eq!(said(chart), ["| 2024 | 5.2 |"]);
        assert_eq!(said("<pic/>"), [""; 0]);
    }

    #[test]
    fn formulas_keep_their_heights() {
        let run = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
        let half = format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", run("1"), run("2"));
        let power = format!("<m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup>", run("10"), run("6"));
        let paragraph = format!(
            "<a:p xmlns:a='a' xmlns:m='m' xmlns:c='c'><a:r><a:t>Share: </a:t></a:r>\
                <c:AlternateContent><c:Choice><m:m><m:oMathPara><m:oMath>{half}</m:oMath></m:oMathPara></m:m></c:Choice>\
                <c:Fallback><a:r><a:t>12</a:t></a:r></c:Fallback></c:AlternateContent>\
                <a:r><a:t>, </a:t></a:r><m:m><m:oMath>{power}</m:oMath></m:m></a:p>"
        );
        assert_eq!(text_of(&xml::parse(&paragraph).unwrap().root), "Share: 1/2, 10⁶");
    }
}
