//! What the author of a page hid from its readers by a style of its own: words for machines alone are no evidence.

use super::shape;

/// The place, in pixels, from which on nothing is on any screen.
const OFF_SCREEN: f64 = -900.0;
/// A box of at most so many pixels shows no word.
const NO_ROOM: f64 = 1.0;

/// Takes hidden elements out of the page.
pub(super) fn remove(page: &dom_query::Document) {
    for element in page.select("[style]").iter() {
        if element.attr("style").is_some_and(|style| hides(&style)) {
            shape::leave_out(&element);
        }
    }
}

/// Returns whether the style keeps the text from being seen.
fn hides(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let properties: Vec<(&str, &str)> = style
        .split(';')
        .filter_map(|property| property.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim().trim_end_matches("!important").trim_end()))
        .collect();
    let clipped = properties.iter().any(|(name, value)| *name == "overflow" && matches!(*value, "hidden" | "clip"));
    properties.iter().any(|(name, value)| match *name {
        "display" => *value == "none",
        "visibility" => matches!(*value, "hidden" | "collapse"),
        "opacity" | "font-size" => number(value) == Some(0.0),
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
        let check = |style: &str, expected: bool| assert_eq!(hides(style), expected, "{style}");
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
    fn hidden_elements_go_with_all_they_hold() {
        let page = dom_query::Document::from(
            "<p>Seen.</p><div style='left:-9999px'><p>For machines.</p></div><p style='font-size:0.9em'>Small.</p>",
        );
        remove(&page);
        assert_eq!(page.body().map(|body| body.text().to_string()).as_deref(), Some("Seen.Small."));
    }
}
