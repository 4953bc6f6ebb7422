//! What the shape of a page says, put into words before the page becomes text: cells that span rows, terms and what
//! they mean, raised digits, what is struck out. Else `Q1 | 4,100 / 4,300` would read `Q14,1004,300`, ten to the sixth
//! `106`, and the old price as the price.

use std::collections::HashSet;

use dom_query::{Document, NodeId, NodeRef, Selection};

use super::{formula, text};

/// Bytes that may be rewritten on one page; what comes behind is left as it is.
const MOST_BYTES: usize = 4 << 20;
/// Rows or columns that one cell may span.
const MOST_SPANNED: usize = 100;
/// What an empty cell counts of them.
const CELL_BYTES: usize = 64;

/// Words in classes and ids of notes.
const OF_NOTES: [&str; 4] = ["note", "ref", "cite", "fn"];
/// Characters of the mark of a note.
const MARK_CHARS: usize = 4;

/// Rewrites tables, lists of definitions, superscripts and the like, and leaves out what is struck out.
pub(super) fn spell_out(document: &Document) {
    leave_out_struck(document);
    document.select("rt, rp, rtc").remove();
    formula::spell_out(document);
    for mark in document.select("a").nodes() {
        leave_out_mark(mark);
    }
    for raised in document.select("sup").nodes() {
        raise(raised);
    }
    for lowered in document.select("sub").nodes() {
        lower(lowered);
    }
    for summary in document.select("summary, figcaption, legend").nodes() {
        summary.rename("p");
    }
    for block in document.select("details, address, fieldset").nodes() {
        block.rename("div");
    }
    for end in document.select("td br, th br").nodes() {
        end.replace_with_html(" ");
    }
    for caption in document.select("table > caption").nodes() {
        put_above(caption);
    }
    document.select("colgroup").remove();
    let mut left = MOST_BYTES;
    for list in document.select("dl:not(:has(dl))").nodes() {
        define(list, &mut left);
    }
    for table in document.select("table:has([rowspan], [colspan]):not(:has(table))").nodes() {
        unspan(table, &mut left);
    }
    // With headings it is one of layout, whose cells are read as parts of the page.
    for table in document.select("table:not(:has(table, h1, h2, h3, h4, h5, h6))").nodes() {
        even(table, &mut left);
    }
    for row in document.select("table:not(:has(th)):not(:has(table)) tr:first-of-type").nodes() {
        head(row, &mut left);
    }
}

/// Takes elements out of the page. A meaning of a term stays as an empty one: without it the term would have the
/// meaning of the next one.
pub(super) fn leave_out(elements: &Selection<'_>) {
    for node in elements.nodes() {
        match node.has_name("dd") {
            true => node.set_html(""),
            false => node.remove_from_parent(),
        }
    }
}

/// Takes away what is shown struck out: it holds no more. A page of which that is the most is left as it is, since its
/// author has forgotten to end it.
fn leave_out_struck(document: &Document) {
    let struck = document.select("del, s, strike, [style*='line-through']");
    let Some(body) = document.body().filter(|_| struck.exists()) else { return };
    let mut inside: HashSet<NodeId> = struck.nodes().iter().map(|node| node.id).collect();
    let (mut gone, mut all) = (0, 0);
    // Parents come before what is in them.
    for node in body.descendants_it() {
        if node.parent().is_some_and(|parent| inside.contains(&parent.id)) {
            inside.insert(node.id);
        }
        let length: usize = if node.is_text() { node.text().split_whitespace().map(str::len).sum() } else { 0 };
        all += length;
        gone += if inside.contains(&node.id) { length } else { 0 };
    }
    if gone * 2 <= all {
        leave_out(&struck);
    }
}

/// Takes away a link that says itself that it is the mark of a note, raised or not.
fn leave_out_mark(link: &NodeRef<'_>) {
    let says = |name: &str| link.attr(name).is_some_and(|value| value.contains("noteref"));
    if ["role", "epub:type", "class"].into_iter().any(says) && is_mark(link.text().trim()) {
        link.remove_from_parent();
    }
}

/// Turns `10<sup>6</sup>` into `10⁶`; the mark of a note goes, lest it be read as a part of the number before it.
fn raise(node: &NodeRef<'_>) {
    let text = node.text();
    let text = text.trim();
    if is_note(node, text) {
        link_around(node).unwrap_or(*node).remove_from_parent();
        return;
    }
    let is_number = text.starts_with(|char: char| char.is_ascii_digit());
    match text::raised(text) {
        Some(raised) => node.replace_with_html(raised),
        None if is_number && is_behind_digit(node) => node.prepend_html("^"),
        None if text.chars().count() > MARK_CHARS => node.prepend_html(" "),
        None => {}
    }
}

/// Returns whether it is a reference to a note.
fn is_note(node: &NodeRef<'_>, text: &str) -> bool {
    let names = [node.class(), node.id_attr()].into_iter().flatten();
    let is_named = names.map(|name| name.to_lowercase()).any(|name| OF_NOTES.iter().any(|part| name.contains(part)));
    let is_link = node.descendants_it().any(|child| child.has_name("a")) || link_around(node).is_some();
    (is_named || is_link) && is_mark(text)
}

fn is_mark(text: &str) -> bool {
    let bare = text.trim_matches(['[', ']', '(', ')', ' ']);
    bare.chars().count() <= MARK_CHARS && !bare.contains(char::is_whitespace)
}

/// Returns the link that has nothing else in it.
fn link_around<'a>(node: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let is_alone = node.prev_sibling().is_none() && node.next_sibling().is_none();
    node.parent().filter(|parent| is_alone && parent.has_name("a"))
}

/// Turns `10<sub>2</sub>` into `10₂`; elsewhere lowered digits are read as others, as in `CO2`.
fn lower(node: &NodeRef<'_>) {
    let text = node.text();
    let lowered = |char: char| char::from_u32(u32::from('₀') + char.to_digit(10)?);
    let lowered: Option<String> = text.trim().chars().map(lowered).collect();
    if let Some(lowered) = lowered.filter(|lowered| !lowered.is_empty() && is_behind_digit(node)) {
        node.replace_with_html(lowered);
    }
}

fn is_behind_digit(node: &NodeRef<'_>) -> bool {
    node.prev_sibling().is_some_and(|before| before.text().ends_with(|char: char| char.is_ascii_digit()))
}

/// Turns a list of terms into one of lines `term: meaning; meaning`.
fn define(list: &NodeRef<'_>, left: &mut usize) {
    let Some(rest) = left.checked_sub(list.inner_html().len()) else { return };
    *left = rest;
    let mut items: Vec<(String, Vec<String>)> = Vec::new();
    let mut last: Option<NodeRef<'_>> = None;
    // Pairs may stand in a `div` each.
    for child in list.descendants_it().filter(|child| child.has_name("dt") || child.has_name("dd")) {
        let text = || child.inner_html().trim().to_owned();
        let is_beside = last.and_then(|last| last.parent()).map(|list| list.id) == child.parent().map(|list| list.id);
        match (child.has_name("dt"), items.last_mut()) {
            // Several terms may mean the same.
            (true, Some((terms, meanings))) if meanings.is_empty() && is_beside => {
                terms.push_str("; ");
                terms.push_str(&text());
            }
            (true, _) => items.push((text(), Vec::new())),
            (false, Some((_, meanings))) => meanings.push(text()),
            (false, None) => items.push((String::new(), vec![text()])),
        }
        last = Some(child);
    }
    let lines: String =
        items.iter().map(|(term, meanings)| format!("<li>{term}: {}</li>", meanings.join("; "))).collect();
    list.replace_with_html(format!("<ul>{lines}</ul>"));
}

/// Makes the caption of a table a paragraph before it, since it may say what its numbers count.
fn put_above(caption: &NodeRef<'_>) {
    if let Some(table) = caption.parent() {
        caption.rename("p");
        table.insert_before(caption);
    }
}

/// Makes the rows of a table equally long, without empty ones: the cells of other tables are written without a mark
/// between them.
fn even(table: &NodeRef<'_>, left: &mut usize) {
    let is_cell = |node: &NodeRef<'_>| node.has_name("td") || node.has_name("th");
    let rows = table.descendants_it().filter(|node| node.has_name("tr"));
    let rows: Vec<_> = rows.map(|row| (row, row.children_it(false).filter(is_cell).count())).collect();
    let most = rows.iter().map(|(_, cells)| *cells).max().unwrap_or(0);
    let missing: usize = rows.iter().filter(|(_, cells)| *cells > 0).map(|(_, cells)| most - cells).sum();
    let Some(rest) = left.checked_sub(missing.saturating_mul(CELL_BYTES)) else { return };
    *left = rest;
    for (row, cells) in &rows {
        if *cells == 0 {
            row.remove_from_parent();
            continue;
        }
        // A head stays one.
        let name = if row.children_it(false).any(|cell| cell.has_name("td")) { "td" } else { "th" };
        for _ in *cells..most {
            row.append_child(&row.tree.new_element(name));
        }
    }
}

/// Makes the first row of a table without a head its head, as readers take it; else an empty one would be made up.
fn head(row: &NodeRef<'_>, left: &mut usize) {
    let is_first = row.parent().is_some_and(|body| body.prev_element_sibling().is_none());
    let bytes = row.inner_html().len();
    if bytes > *left || !is_first {
        return;
    }
    *left -= bytes;
    let cells = row.element_children();
    let cells: String = cells.iter().map(|cell| format!("<th>{}</th>", cell.inner_html())).collect();
    row.replace_with_html(format!("<tr>{cells}</tr>"));
}

/// Gives each row all its cells: what spans several is said in each of them.
fn unspan(table: &NodeRef<'_>, left: &mut usize) {
    // Of the columns: rows still to fill, and with what.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut rows = String::new();
    for row in table.descendants_it().filter(|node| node.node_name().as_deref() == Some("tr")) {
        let mut cells: Vec<String> = Vec::new();
        let mut own =
            row.element_children().into_iter().filter(|cell| matches!(cell.node_name().as_deref(), Some("td" | "th")));
        loop {
            if let Some((rows, cell)) = open.get_mut(cells.len()).filter(|(rows, _)| *rows > 0) {
                if cell.len() > *left {
                    return;
                }
                *left -= cell.len();
                *rows -= 1;
                cells.push(cell.clone());
                continue;
            }
            let Some(cell) = own.next() else { break };
            let spans = |name: &str| {
                cell.attr(name).and_then(|count| count.trim().parse().ok()).unwrap_or(1_usize).clamp(1, MOST_SPANNED)
            };
            let (down, right) = (spans("rowspan"), spans("colspan"));
            let name = cell.node_name().unwrap_or_default();
            let html = format!("<{name}>{}</{name}>", cell.inner_html());
            for _ in 0..right {
                if html.len() > *left {
                    return;
                }
                *left -= html.len();
                open.resize_with(open.len().max(cells.len() + 1), Default::default);
                open[cells.len()] = (down - 1, html.clone());
                cells.push(html.clone());
            }
        }
        rows.push_str(&format!("<tr>{}</tr>", cells.concat()));
    }
    table.replace_with_html(format!("<table>{rows}</table>"));
}

#[cfg(test)]
mod tests {
    use crate::pages::extract::html;

    fn check(page: &str, expected: &str) {
        let read = html::plain(page).unwrap();
        assert_eq!(read, expected, "{page}");
    }

    #[test]
    fn cells_that_span_are_said_in_each_row_and_column() {
        check(
            "<table><tr><th>Q<th>Fares<th>Rate</tr><tr><td rowspan=2>Q1<td>4,100<td>4,300</tr><tr><td>610<td>7</tr></table>",
            "| Q | Fares | Rate |\n| --- | --- | --- |\n| Q1 | 4,100 | 4,300 |\n| Q1 | 610 | 7 |",
        );
        check(
            "<table><tr><th colspan=2>A<th>B</tr><tr><td>1<td>2<td rowspan=99>3</tr><tr><td>4<td>5</tr></table>",
            "| A | A | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 | 5 | 3 |",
        );
    }

    #[test]
    fn tables_of_layout_span_as_they_like() {
        check(
            "<table><tr><td colspan=2>Menu</tr><tr><td>Gate<td><table><tr><td>4<td>5</tr></table></tr></table>",
            "Menu\nGate\n\n| 4 | 5 |\n| --- | --- |",
        );
    }

    #[test]
    fn rows_of_any_length_are_rows() {
        check(
            "<table><tr><td>Q<td>Fares<td>Rate</tr><tr></tr><tr><td>Q1<td>4,100<td>4,300</tr><tr><td>Q2<td>610</tr></table>",
            "| Q | Fares | Rate |\n| --- | --- | --- |\n| Q1 | 4,100 | 4,300 |\n| Q2 | 610 |  |",
        );
        check(
            "<table><tr><th>Q<th>Fares</tr><tr><td rowspan=2>Q1<td>4<td>net</tr><tr><td>5</tr></table>",
            "| Q | Fares |  |\n| --- | --- | --- |\n| Q1 | 4 | net |\n| Q1 | 5 |  |",
        );
    }

    #[test]
    fn the_rows_of_a_table_of_layout_stay() {
        check(
            "<table><tr><td>Menu</tr><tr><td>Gate<td><h2>Hours</h2><p>From noon.</p></tr><tr><td>Imprint</tr></table>",
            "Menu\nGate\n\n## Hours\n\nFrom noon.\n\nImprint",
        );
    }

    #[test]
    fn the_caption_of_a_table_stands_above_it() {
        check(
            "<table><caption>In thousand crowns</caption><colgroup><col></colgroup><tr><td>Boat<td>Fare</tr>\
                <tr><td>Barge<td>4</tr></table>",
            "In thousand crowns\n\n| Boat | Fare |\n| --- | --- |\n| Barge | 4 |",
        );
        check(
            "<table><caption>Fares</caption><tr><th>Boat<th>Fare</tr><tr><td>Barge<td rowspan=2>4</tr><tr><td>Ferry</tr></table>",
            "Fares\n\n| Boat | Fare |\n| --- | --- |\n| Barge | 4 |\n| Ferry | 4 |",
        );
    }

    #[test]
    fn terms_stand_apart_from_what_they_mean() {
        check("<dl><dt>Opening<dd>1931<dt>Cost<dd>4 crowns<dd>or 5</dl>", "- Opening: 1931\n- Cost: 4 crowns; or 5");
        check("<dl><div><dt>X</dt><dd>y</dd></div></dl>", "- X: y");
        check("<dl><dt>Child<dd>4<dt>Senior<dt>Student<dd>6</dl>", "- Child: 4\n- Senior; Student: 6");
        check("<dl><div><dt>A</dt></div><div><dt>B</dt><dd>5</dd></div></dl>", "- A:\n- B: 5");
    }

    #[test]
    fn raised_digits_stay_raised() {
        check("<p>About 10<sup>6</sup> m<sup>2</sup>, 10<sup>-6</sup></p>", "About 10⁶ m², 10⁻⁶");
        check("<p>On the 5<sup>th</sup> of May</p>", "On the 5th of May");
        check(
            "<p>10<sup class=exponent>6</sup>, 10<sup><span>–6</span></sup>, 10<sup>1.5</sup></p>",
            "10⁶, 10⁻⁶, 10^1.5",
        );
        check("<p>CO<sub>2</sub>, 101<sub>2</sub>, x<sub>i</sub></p>", "CO2, 101₂, xi");
    }

    #[test]
    fn formulas_that_a_picture_stands_for_are_read() {
        let formula = |picture: &str| {
            format!(
                "<p>The energy is <span class=mwe-math-element><span class=mwe-math-mathml-a11y style='display: none;'>\
                    <math alttext='{{\\displaystyle E=mc^{{2}}}}'><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi>\
                    <msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding='application/x-tex'>E=mc^{{2}}\
                    </annotation></semantics></math></span>{picture}</span>.</p>"
            )
        };
        check(&formula("<img src=e.svg aria-hidden=true alt='{\\displaystyle E=mc^{2}}'>"), "The energy is E=mc².");
        check(&formula("<img src=e.svg alt='{\\displaystyle E=mc^{2}}'>"), "The energy is E=mc².");
        check(&formula("<img src=e.svg aria-hidden=true alt='A cat'>"), "The energy is .");
        check(&formula(""), "The energy is .");
    }

    #[test]
    fn marks_of_notes_are_no_part_of_a_number() {
        check("<p>It cost 1,200<sup><a href='#n1'>1</a></sup> crowns.</p>", "It cost 1,200 crowns.");
        check(
            "<p>In 1931<sup id=cite_ref-4 class=reference><a href='#n4'>[4]</a></sup> it opened.</p>",
            "In 1931 it opened.",
        );
        check(
            "<p>In 1931<sup class=footnote>*</sup> it opened<sup><a href='/why'>and why it did</a></sup>.</p>",
            "In 1931 it opened and why it did.",
        );
        check(
            "<p>It cost 1,200<a href='#fn1' class=footnote-ref><sup>1</sup></a> crowns.</p>",
            "It cost 1,200 crowns.",
        );
        check(
            "<p>It holds <a href='/water'>10<sup>6</sup> m<sup>3</sup></a> of water.</p>",
            "It holds 10⁶ m³ of water.",
        );
        check("<p>It cost 450<a role=doc-noteref href='#n'>1</a> crowns.</p>", "It cost 450 crowns.");
        check("<p>It cost 450<a epub:type='noteref' href='#n'>1</a> crowns.</p>", "It cost 450 crowns.");
    }

    #[test]
    fn formulas_are_read_in_one_line() {
        check("<p>A share of <math><mfrac><mn>1</mn><mn>3</mn></mfrac></math> each</p>", "A share of 1/3 each");
        check("<p><math><mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi></math></p>", "2 1/2 m");
        check("<p><math><msup><mn>20</mn><mo>∘</mo></msup><mi>C</mi></math></p>", "20°C");
        check("<p><math><mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac></math></p>", "n; k");
        let row = |one: &str, two: &str| format!("<mtr><mtd>{one}</mtd><mtd>{two}</mtd></mtr>");
        check(&format!("<p><math><mtable>{}{}</mtable></math></p>", row("1", "2"), row("3", "4")), "1 2; 3 4");
        check(
            "<p><math><semantics><mrow><mn>5.97</mn><mo>×</mo><msup><mn>10</mn><mn>24</mn></msup></mrow>\
                <annotation encoding='application/x-tex'>5.97 \\times 10^{24}</annotation></semantics></math> kg</p>",
            "5.97×10²⁴ kg",
        );
        check(
            "<p><math><msqrt><mfrac><mi>a</mi><msup><mi>b</mi><mi>n</mi></msup></mfrac></msqrt></math></p>",
            "√(a/(b^n))",
        );
    }

    #[test]
    fn what_is_struck_out_is_left_out() {
        check("<p>The ticket costs <del>499</del> <s>450</s> 399 crowns.</p>", "The ticket costs 399 crowns.");
        check("<p>Now <span style='text-decoration: line-through'>499</span> 399 crowns.</p>", "Now 399 crowns.");
        check("<p>Price <del><s>499</s></del> 399</p>", "Price 399");
        check("<p>Now <s>399 crowns, and the gate opens at noon.</p>", "Now 399 crowns, and the gate opens at noon.");
    }

    #[test]
    fn readings_of_characters_are_left_out() {
        check(
            "<p><ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>の<ruby>水門<rt>すいもん</rt></ruby></p>",
            "港の水門",
        );
    }

    #[test]
    fn what_folds_out_stands_apart() {
        check(
            "<p>Fares</p><details><summary>Boats</summary>Four crowns.</details><p>End</p>",
            "Fares\n\nBoats\n\nFour crowns.\n\nEnd",
        );
        check(
            "<figure><img src=x alt=''><figcaption>The gate</figcaption></figure>It opened.",
            "The gate\n\nIt opened.",
        );
    }

    #[test]
    fn lines_of_a_cell_are_words_of_it() {
        check(
            "<table><tr><th>Name<br>of boat<th>Dues</tr><tr><td>Old<br/>barge<td>4</tr></table>",
            "| Name of boat | Dues |\n| --- | --- |\n| Old barge | 4 |",
        );
    }

    #[test]
    fn what_is_written_again_is_bounded() {
        let cell = format!(
            "<table><tr><td rowspan=100 colspan=100>{}</td></tr>{}</table>",
            "x".repeat(100_000),
            "<tr><td>y</td></tr>".repeat(100)
        );
        assert!(html::plain(&cell).unwrap().len() < 8 << 20);
        let ragged = format!("<table><tr>{}</tr>{}</table>", "<td>x".repeat(5_000), "<tr><td>y</tr>".repeat(5_000));
        assert!(html::plain(&ragged).unwrap().len() < 1 << 20);
        let nested = "<dl><dt>a</dt><dd>".repeat(200);
        assert!(html::plain(&nested).is_ok());
    }
}
