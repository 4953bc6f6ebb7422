//! XML documents of any kind to text: feeds item by item, records as rows, the rest by its headings and paragraphs.

use std::fmt::Write as _;

use super::{
    Document, Unreadable, date, html,
    outline::Outline,
    table, text,
    xml::{Element, Node, damaged, decode, parse},
};

/// Names of elements that hold a heading of the element around them.
const HEADINGS: [&str; 4] = ["title", "head", "heading", "headline"];
/// Names of elements whose text is a paragraph, not a value.
const PARAGRAPHS: [&str; 8] = ["p", "para", "simpara", "paragraph", "text", "body", "abstract", "description"];
/// Rows of a table are made of elements with at least so many alike.
const MIN_ROWS: usize = 2;
const MAX_COLUMNS: usize = 24;

/// Reads any XML document: feeds item by item, HTML as such, everything else by its elements.
///
/// # Errors
/// [`Unreadable`] when it is nested beyond reason. What is no XML after all is read as text.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unreadable> {
    let source = decode(bytes)?;
    let tree = match parse(&source) {
        Ok(tree) => tree,
        Err(error) if error == damaged() => return Ok(text::read(&source)),
        Err(error) => return Err(error),
    };
    let root = &tree.root;
    let document = match &*root.name {
        "html" => html::read(&source)?,
        "rss" | "feed" | "RDF" if is_feed(root) => feed(root),
        _ => records(root),
    };
    let missing = tree.is_cut.then(|| "only its first part is searched".to_owned());
    Ok(Document { missing: document.missing.or(missing), ..document })
}

fn is_feed(root: &Element) -> bool {
    root.find("item").or_else(|| root.find("entry")).is_some()
}

/// Reads RSS or Atom: a section for each item. Of one that cannot be read its title and dates are left.
fn feed(root: &Element) -> Document {
    let channel = root.child("channel").unwrap_or(root);
    let title = channel.child("title").and_then(Element::line);
    let mut outline = Outline::of_text(title.as_deref());
    if let Some(about) = channel.child("description").or_else(|| channel.child("subtitle")).and_then(Element::line) {
        outline.block(&about);
    }
    let mut items = Vec::new();
    for name in ["item", "entry"] {
        root.each(name, &mut |item| items.push(item));
    }
    let mut unread = 0_usize;
    for item in items {
        outline.heading(2, &item.child("title").and_then(Element::line).unwrap_or_else(|| "Entry".to_owned()));
        for (name, label) in [("pubDate", "Published"), ("published", "Published"), ("updated", "Updated")] {
            if let Some(value) = item.child(name).and_then(Element::line) {
                outline.line(&format!("{label}: {value}"));
            }
        }
        if let Some(address) = address(item) {
            outline.line(&format!("Link: {address}"));
        }
        let body = ["encoded", "content", "description", "summary"]
            .iter()
            .find_map(|name| item.child(name)?.line().map(|_| item.child(name))?);
        if let Some(body) = body {
            match html::plain(&markup(body)) {
                Ok(text) => outline.block(&text),
                Err(_) => unread += 1,
            }
        }
    }
    let dates = ["lastBuildDate", "updated", "pubDate"];
    let published = dates.iter().find_map(|name| date::parse(without_weekday(&channel.child(name)?.line()?)));
    let author = ["author", "managingEditor", "creator"].iter().find_map(|name| channel.child(name)?.line());
    let missing = (unread > 0).then(|| format!("could not read the text of {unread} of its entries"));
    Document { published, author, missing, ..outline.finish() }
}

/// Returns where an item itself is, unlike its comments and files (RFC 4287, 4.2.7.2).
fn address(item: &Element) -> Option<String> {
    let is_own = |link: &&Element| &*link.name == "link" && matches!(link.attribute("rel"), None | Some("alternate"));
    item.elements().filter(is_own).find_map(|link| link.line().or_else(|| link.attribute("href").map(str::to_owned)))
}

/// Returns the HTML of an item: its text, which is markup, or its elements, whose text is none.
fn markup(body: &Element) -> String {
    if body.elements().next().is_none() {
        return body.text();
    }
    let mut html = String::new();
    write_markup(body, &mut html);
    html
}

fn write_markup(element: &Element, html: &mut String) {
    for node in &element.children {
        match node {
            Node::Text(text) => html.push_str(&html_escape::encode_text(text)),
            Node::Element(child) => {
                html.extend(["<", &*child.name, ">"]);
                write_markup(child, html);
                // `</br>` would be another one.
                if &*child.name != "br" {
                    html.extend(["</", &*child.name, ">"]);
                }
            }
        }
    }
}

fn without_weekday(date: &str) -> &str {
    date.split_once(", ").map_or(date, |(_, rest)| rest)
}

/// Returns elements as headings, paragraphs, tables, and values behind their names.
fn records(root: &Element) -> Document {
    let mut outline = Outline::of_text(None);
    records_of(root, 1, &mut outline);
    let value = |names: &[&str]| names.iter().find_map(|name| root.find(name)?.line());
    let published =
        value(&["date", "published", "pubdate", "updated", "modified"]).and_then(|value| date::parse(&value));
    let author = value(&["author", "creator"]).filter(|author| author.len() < 200);
    Document { published, author, ..outline.finish() }
}

fn records_of(element: &Element, level: usize, outline: &mut Outline) {
    if let Some(rows) = rows_of(element) {
        return outline.block(&table::markdown(rows));
    }
    for node in &element.children {
        match node {
            Node::Text(text) => outline.block(&text::one_line(text)),
            Node::Element(child) => record(child, level, outline),
        }
    }
}

fn record(element: &Element, level: usize, outline: &mut Outline) {
    let name = element.name.to_lowercase();
    let is_mixed = element.children.iter().any(|node| matches!(node, Node::Text(text) if !text.trim().is_empty()));
    let is_leaf = is_mixed || element.children.is_empty();
    if is_leaf && HEADINGS.contains(&&*name) {
        return outline.heading(level, &element.text());
    }
    let attributes = described(element);
    if !is_leaf {
        if !attributes.is_empty() {
            outline.line("");
            outline.line(&format!("{}: {attributes}", element.name));
        }
        return records_of(element, (level + 1).min(6), outline);
    }
    let text = text::one_line(&element.text());
    match (PARAGRAPHS.contains(&&*name), attributes.is_empty()) {
        (true, _) => outline.block(&text),
        (false, true) if text.is_empty() => {}
        (false, true) => outline.line(&format!("{}: {text}", element.name)),
        (false, false) => outline.line(&format!("{} ({attributes}): {text}", element.name)),
    }
}

/// Returns the attributes that say something.
fn described(element: &Element) -> String {
    let mut described = String::new();
    for (key, value) in &element.attributes {
        if !key.starts_with("xml") && !key.contains(":schemaLocation") && !value.trim().is_empty() {
            let between = if described.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(described, "{between}{key} {}", text::one_line(value));
        }
    }
    described
}

/// Reads children alike that hold nothing but values as rows.
fn rows_of(element: &Element) -> Option<Vec<Vec<String>>> {
    let records: Vec<_> = element.elements().collect();
    let first = records.first().filter(|_| records.len() >= MIN_ROWS)?;
    let mut columns: Vec<&str> = Vec::new();
    for record in &records {
        let is_flat = record.name == first.name && record.elements().all(|value| value.elements().next().is_none());
        let has_text = record.children.iter().any(|node| matches!(node, Node::Text(text) if !text.trim().is_empty()));
        if !is_flat || has_text {
            return None;
        }
        let names = record.attributes.iter().map(|(key, _)| &**key).chain(record.elements().map(|value| &*value.name));
        for name in names {
            if !columns.contains(&name) {
                columns.push(name);
            }
            if columns.len() > MAX_COLUMNS {
                return None;
            }
        }
    }
    (columns.len() >= 2).then(|| {
        let head = columns.iter().map(ToString::to_string).collect();
        std::iter::once(head).chain(records.iter().map(|record| row(record, &columns))).collect()
    })
}

fn row(record: &Element, columns: &[&str]) -> Vec<String> {
    let value = |name: &&str| {
        let attribute = record.attributes.iter().find(|(key, _)| &**key == *name).map(|(_, value)| value.to_string());
        let values = record.elements().filter(|value| &*value.name == *name).filter_map(Element::line);
        attribute.unwrap_or_else(|| values.collect::<Vec<_>>().join("; "))
    };
    columns.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(source: &str) -> String {
        let document = read(source.as_bytes()).unwrap();
        let texts = document.sections.iter().flat_map(|section| section.label.iter().chain([&section.text]));
        texts.cloned().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn records_become_rows_and_chapters_sections() {
        let rows = "<list><item id='1'><name>Cod</name></item><item id='2'><name>Ling &amp; co</name></item></list>";
        assert_eq!(text_of(rows), "| id | name |\n| --- | --- |\n| 1 | Cod |\n| 2 | Ling & co |");
        let book =
            "<book><title>Mills</title><chapter><title>Wind</title><para>It <em>turns</em>.</para></chapter></book>";
        assert_eq!(text_of(book), "Wind\nIt turns.");
    }

    #[test]
    fn raised_digits_stay_raised() {
        let article = "<article><p>In 2021<sup>3</sup> it bore 10<superscript>-6</superscript> t on the 5<sup>th</sup>.</p></article>";
        assert_eq!(text_of(article), "In 2021³ it bore 10⁻⁶ t on the 5th.");
    }

    #[test]
    fn entities_of_a_document_are_not_resolved() {
        let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;&b;'>]><a><p>A &c; B &#x41;&lt;</p></a>";
        assert_eq!(text_of(bomb), "A B A<");
        assert_eq!(text_of("<a><p>&minus;5&nbsp;&deg;C &c; &#x41;</p></a>"), "−5 °C A", "those of HTML are known");
        let outside = "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a><p>x &f; y</p></a>";
        assert_eq!(text_of(outside), "x y");
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused() {
        let deep = format!("{}x{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert_eq!(read(deep.as_bytes()), Err(Unreadable::new("its XML is nested too deeply")));
    }

    #[test]
    fn a_feed_has_a_section_for_each_item() {
        let feed = "<rss><channel><title>News</title><lastBuildDate>Mon, 10 Mar 2031 08:00:00 GMT</lastBuildDate>\
            <item><title>Cod</title><description>&lt;p>Cod is &lt;b>dear&lt;/b>.&lt;/p></description></item></channel></rss>";
        let document = read(feed.as_bytes()).unwrap();
        assert_eq!((document.title.as_deref(), document.published.as_deref()), (Some("News"), Some("2031-03-10")));
        assert_eq!(document.sections[0].label.as_deref(), Some("Cod"));
        assert_eq!(document.sections[0].text, "Cod is dear.");
    }

    #[test]
    fn elements_of_an_item_part_its_words() {
        let feed = "<feed><title>News</title><entry><title>Tolls</title>\
            <link rel='self' href='https://a.test/1.atom'/><link rel='alternate' href='https://a.test/1'/>\
            <content type='xhtml'><div><p>Tolls &lt; dues<br/>now</p><table><tr><td>12</td><td>34</td></tr>\
            <tr><td>5</td><td>6</td></tr></table></div></content></entry></feed>";
        let text = text_of(feed);
        assert!(text.contains("Link: https://a.test/1\n") && !text.contains(".atom"), "{text}");
        assert!(text.contains("dues") && !text.contains("duesnow"), "{text}");
        assert!(text.contains("12") && text.contains("34") && !text.contains("1234"), "{text}");
    }

    #[test]
    fn an_item_that_cannot_be_read_leaves_the_others() {
        let item = |body: &str| format!("<item><title>Cod</title><description>{body}</description></item>");
        let deep = "&lt;div>".repeat(5_000);
        let feed = format!("<rss><channel>{}{}</channel></rss>", item(&deep), item("It is dear."));
        let document = read(feed.as_bytes()).unwrap();
        assert_eq!(document.missing.as_deref(), Some("could not read the text of 1 of its entries"));
        assert!(document.sections.iter().any(|section| section.text.contains("It is dear.")), "{document:?}");
    }
}
