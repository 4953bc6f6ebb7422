//! What the author of a page hid from its readers by a style of its own: words for machines alone are no evidence.

use dom_query::Selection;

use super::{bulk, shape};

/// The place, in pixels, from which on nothing is on any screen.
const OFF_SCREEN: f64 = -900.0;
/// A box of at most so many pixels shows no word.
const NO_ROOM: f64 = 1.0;

/// Takes hidden elements out of the page. One that is merely unseen and holds most of the page stays: scripts show it
/// once it is loaded.
pub(super) fn remove(page: &dom_query::Document) {
    let styled = page.select("[style]");
    let is = |element: &Selection<'_>, kind: fn(&str) -> bool| element.attr("style").is_some_and(|style| kind(&style));
    for element in styled.iter().filter(|element| is(element, hides)) {
        shape::leave_out(&element);
    }
    let unseen: Vec<_> = styled.iter().filter(|element| is(element, fades)).collect();
    if unseen.is_empty() {
        return;
    }
    let most = bulk::with_most(page);
    for element in unseen.iter().filter(|element| element.nodes().iter().all(|node| !most.contains(&node.id))) {
        shape::leave_out(element);
    }
}

/// Returns the properties of a style, whose names and values are in small letters.
fn properties(style: &str) -> impl Iterator<Item = (&str, &str)> {
    let properties = style.split(';').filter_map(|property| property.split_once(':'));
    properties.map(|(name, value)| (name.trim(), value.trim().trim_end_matches("!important").trim_end()))
}

/// Returns whether the style makes a text unseen where it stands, as it does before it is faded in.
fn fades(style: &str) -> bool {
    properties(&style.to_ascii_lowercase()).any(|(name, value)| match name {
        "visibility" => matches!(value, "hidden" | "collapse"),
        "opacity" => number(value) == Some(0.0),
        _ => false,
    })
}

/// Returns whether the style keeps the text from being seen in another way.
fn hides(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let properties: Vec<(&str, &str)> = properties(&style).collect();
    let clipped = properties.iter().any(|(name, value)| *name == "overflow" && matches!(*value, "hidden" | "clip"));
    properties.iter().any(|(name, value)| match *name {
        "display" => *value == "none",
        "font-size" => number(value) == Some(0.0),
        "left" | "right" | "top" | "bottom" | "text-indent" | "margin-left" | "margin-top" => {
            number(value).is_some_and(|number| number <= OFF_SCREEN)
        }
        "width" | "height" | "max-width" | "max-height" => {
            clipped && number(value).is_some_and(|number| number <= NO_ROOM) && !value.ends_with("em")
        }
        "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
        "color" => *value == "transparent",
        _ => false,
    })
}

/// Returns the number a value begins with; `None` of what is measured in shares, such as `-100%`.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|char: char| !char.is_ascii_digit() && !matches!(char, '.' | '-')).unwrap_or(value.len());
    let number = value[..end].parse().ok()?;
    (!value.ends_with('%') || number == 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_that_hide_differ_from_those_that_do_not() {
        let check = |style: &str, expected: bool| {
            assert_eq!(hides(style) || fades(style), expected, "{style}");
        };
        check("display:none", true);
        check("color: red; Display : none !important", true);
        check("visibility: hidden", true);
        check("font-size:0", true);
        check("font-size: 0px", true);
        check("font-size:0.9em", false);
        check("opacity:0", true);
        check("opacity:0.85", false);
        check("position:absolute;left:-9999px;height:1px;overflow:hidden", true);
        check("text-indent: -9999px", true);
        check("width:1px;height:1px;overflow:hidden", true);
        check("margin-left: -20px; left: -50%", false);
        check("height: 1em; overflow: hidden", false);
        check("width:100%; overflow:hidden", false);
        check("clip: rect(0 0 0 0)", true);
        check("", false);
    }

    #[test]
    fn a_page_that_fades_in_is_seen() {
        let check = |page: &str, expected: &str| {
            let page = dom_query::Document::from(page);
            remove(&page);
            assert_eq!(page.body().map(|body| body.text().to_string()).as_deref(), Some(expected));
        };
        check("<body style='opacity:0'><p>The gate opens.</p><p style='opacity:0'>Buy!</p>", "The gate opens.");
        check("<p>Gate</p><main style='visibility: hidden'>It opens at noon.</main>", "GateIt opens at noon.");
        check("<p>Gate</p><main style='display: none'>It opens at noon.</main>", "Gate");
        check("<p>Gate</p><main style='opacity:0; left:-9999px'>It opens at noon.</main>", "Gate");
        check("<p>It opens at noon.</p><p style='opacity:0'>For machines.</p>", "It opens at noon.");
    }

    #[test]
    fn hidden_elements_go_with_all_they_hold() {
        let page = dom_query::Document::from(
            "<p>Seen.</p><div style='left:-9999px'><p>For machines.</p></div><p style='font-size:0.9em'>Small.</p>",
        );
        remove(&page);
        assert_eq!(page.body().map(|body| body.text().to_string()).as_deref(), Some("Seen.Small."));
    }
}
