//! What the shape of a page says, put into words before the page becomes text: cells that span rows, terms and what
//! they mean, raised digits. Else `Q1 | 4,100 / 4,300` would read `Q14,1004,300`, and ten to the sixth `106`.

use dom_query::{Document, NodeRef};

use super::text;

/// Bytes that may be rewritten on one page; what comes behind is left as it is.
const MOST_BYTES: usize = 4 << 20;
/// Rows or columns that one cell may span.
const MOST_SPANNED: usize = 100;

/// Rewrites tables, lists of definitions and superscripts.
pub(super) fn spell_out(document: &Document) {
    for raised in document.select("sup").nodes() {
        raise(raised);
    }
    let mut left = MOST_BYTES;
    for list in document.select("dl:not(:has(dl))").nodes() {
        define(list, &mut left);
    }
    for table in document.select("table:has([rowspan], [colspan])").nodes() {
        unspan(table, &mut left);
    }
    for row in document.select("table:not(:has(th)):not(:has(table)) tr:first-of-type").nodes() {
        head(row, &mut left);
    }
}

/// `10<sup>6</sup>` becomes `10⁶`; references to notes stay.
fn raise(node: &NodeRef<'_>) {
    let is_note = node.has_attr("class") || node.has_attr("id") || !node.element_children().is_empty();
    if let Some(raised) = text::raised(&node.text()).filter(|_| !is_note) {
        node.replace_with_html(raised);
    }
}

/// A list of terms becomes one of lines `term: meaning; meaning`.
fn define(list: &NodeRef<'_>, left: &mut usize) {
    let mut items: Vec<(String, Vec<String>)> = Vec::new();
    // Pairs may stand in a `div` each.
    for child in list.descendants_it().filter(|child| child.is_element()) {
        match child.node_name().as_deref() {
            Some("dt") => items.push((child.inner_html().trim().to_owned(), Vec::new())),
            Some("dd") => match items.last_mut() {
                Some((_, meanings)) => meanings.push(child.inner_html().trim().to_owned()),
                None => items.push((String::new(), vec![child.inner_html().trim().to_owned()])),
            },
            _ => {}
        }
    }
    let bytes = list.inner_html().len();
    if bytes > *left {
        return;
    }
    *left -= bytes;
    let lines: String =
        items.iter().map(|(term, meanings)| format!("<li>{term}: {}</li>", meanings.join("; "))).collect();
    list.replace_with_html(format!("<ul>{lines}</ul>"));
}

/// The first row of a table without a head is its head, as readers take it; else an empty one would be made up.
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

/// Each row gets all its cells: what spans several is said in each of them.
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
    fn terms_stand_apart_from_what_they_mean() {
        check("<dl><dt>Opening<dd>1931<dt>Cost<dd>4 crowns<dd>or 5</dl>", "- Opening: 1931\n- Cost: 4 crowns; or 5");
        check("<dl><div><dt>X</dt><dd>y</dd></div></dl>", "- X: y");
    }

    #[test]
    fn raised_digits_stay_raised() {
        check("<p>About 10<sup>6</sup> m<sup>2</sup>, 10<sup>-6</sup></p>", "About 10⁶ m², 10⁻⁶");
        check("<p>On the 5<sup>th</sup> of May</p>", "On the 5th of May");
    }

    #[test]
    fn what_is_written_again_is_bounded() {
        let cell = format!(
            "<table><tr><td rowspan=100 colspan=100>{}</td></tr>{}</table>",
            "x".repeat(100_000),
            "<tr><td>y</td></tr>".repeat(100)
        );
        assert!(html::plain(&cell).unwrap().len() < 8 << 20);
        let nested = "<dl><dt>a</dt><dd>".repeat(200);
        assert!(html::plain(&nested).is_ok());
    }
}
