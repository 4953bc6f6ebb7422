//! Formulas of office documents and of HTML, which say with heights what a line of text says with signs: one over two
//! is not twelve, and x squared not x2.

use dom_query::{Document, NodeRef};

use super::{text, xml::Element};

/// Bytes that may be rewritten on one page; what comes behind is left as it is.
const MOST_BYTES: usize = 4 << 20;

/// Shows formulas that are hidden from the eye because a picture beside them says the same, in place of that picture.
pub(super) fn show_pictured(document: &Document) {
    for formula in document.select("[style] > math[alttext]").nodes() {
        let Some(holder) = formula.parent() else { continue };
        let is_of_it = |image: &NodeRef<'_>| image.has_name("img") && image.attr("alt") == formula.attr("alttext");
        if let Some(picture) = holder.next_element_sibling().filter(is_of_it) {
            holder.remove_attr("style");
            picture.remove_from_parent();
        }
    }
}

/// Writes the formulas of a page in one line each, and leaves out what they say once more in another language, such as
/// that of TeX.
pub(super) fn spell_out(document: &Document) {
    document.select("math annotation, math annotation-xml").remove();
    let mut left = MOST_BYTES;
    // What is within comes before what it is in.
    for node in document.select("mfrac, msup, msubsup, msqrt, mroot, mtr, mtable").nodes().iter().rev() {
        // At least one: of elements without a text there may be many, one in another.
        let own = node.text().len().max(1);
        let Some(rest) = left.checked_sub(own) else { return };
        left = rest;
        if let Some(text) = in_one_line(node) {
            node.replace_with_html(html(&text));
        }
    }
}

fn in_one_line(node: &NodeRef<'_>) -> Option<String> {
    let parts: Vec<String> = node.element_children().iter().map(|part| text::one_line(&part.text())).collect();
    match (node.node_name()?.as_ref(), parts.as_slice()) {
        ("mfrac", [over, under])
            if node.attr("linethickness").is_some_and(|line| line.trim_end_matches(char::is_alphabetic) == "0") =>
        {
            Some(format!("{over}; {under}"))
        }
        ("mfrac", [over, under]) => Some(beside(node, &fraction(over, under))),
        ("msup", [base, exponent]) => Some(format!("{base}{}", power(exponent))),
        ("msubsup", [base, below, exponent]) => Some(format!("{base}{below}{}", power(exponent))),
        ("msqrt", _) => Some(root("", &text::one_line(&node.text()))),
        ("mroot", [of, degree]) => Some(root(degree, of)),
        ("mtr", cells) => Some(cells.join(" ")),
        ("mtable", rows) => Some(rows.join("; ")),
        _ => None,
    }
}

/// Returns a fraction as it stands beside what is around it: two and a half is not twenty-one halves.
fn beside(node: &NodeRef<'_>, fraction: &str) -> String {
    let before = node.prev_sibling().is_some_and(|before| before.text().ends_with(char::is_alphanumeric));
    let after = node.next_sibling().is_some_and(|after| after.text().starts_with(char::is_alphanumeric));
    format!("{}{fraction}{}", if before { " " } else { "" }, if after { " " } else { "" })
}

/// Returns a text as HTML that says the same. Parts that were replaced are texts beside each other, so it is one
/// element.
fn html(text: &str) -> String {
    format!("<span>{}</span>", text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Returns a formula of an office document (OMML) in one line.
pub(super) fn linear(element: &Element) -> String {
    let part = |name: &str| element.child(name).map(linear).unwrap_or_default();
    let parts = |name: &str, mark: &str| {
        let parts = element.elements().filter(|child| &*child.name == name).map(linear);
        parts.collect::<Vec<_>>().join(mark)
    };
    let sign = |name: &str, usual: &'static str| property(element, name).unwrap_or(usual).to_owned();
    match &*element.name {
        "f" if property(element, "type") == Some("noBar") => format!("{}; {}", part("num"), part("den")),
        "f" => fraction(&part("num"), &part("den")),
        "sSup" => format!("{}{}", part("e"), power(&part("sup"))),
        "sSubSup" => format!("{}{}{}", part("e"), part("sub"), power(&part("sup"))),
        "rad" => root(&part("deg"), &part("e")),
        "d" => format!("{}{}{}", sign("begChr", "("), parts("e", &sign("sepChr", "|")), sign("endChr", ")")),
        "nary" => format!("{}{}{} {}", sign("chr", "∫"), below(&part("sub")), power(&part("sup")), part("e")),
        "m" => parts("mr", "; "),
        "mr" => parts("e", " "),
        "eqArr" => parts("e", "; "),
        "t" => element.text(),
        // How it looks, and what is no more.
        "del" | "moveFrom" => String::new(),
        name if name.ends_with("Pr") => String::new(),
        _ => side_by_side(element),
    }
}

/// Returns what a structure says of itself, such as the sign of its brackets: the properties of `m:d` are in `m:dPr`.
fn property<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.child(&format!("{}Pr", element.name))?.child(name)?.attribute("val")
}

/// Returns the parts of an element one after another; a fraction apart from a number or name beside it.
fn side_by_side(element: &Element) -> String {
    let (mut line, mut is_behind_fraction) = (String::new(), false);
    for child in element.elements() {
        let (part, is_fraction) = (linear(child), &*child.name == "f");
        let touches = line.ends_with(char::is_alphanumeric) && part.starts_with(char::is_alphanumeric);
        if touches && (is_fraction || is_behind_fraction) {
            line.push(' ');
        }
        line.push_str(&part);
        is_behind_fraction = is_fraction;
    }
    line
}

fn fraction(over: &str, under: &str) -> String {
    format!("{}/{}", grouped(over), grouped(under))
}

/// Returns an exponent: raised, as the sign of a degree or prime that it is, or behind a `^`.
fn power(exponent: &str) -> String {
    let is_sign = |char: char| matches!(char, '′' | '″' | '°' | '∘' | '*' | '∗' | '†' | '%' | '\'');
    if exponent.trim().chars().all(is_sign) {
        return exponent.trim().replace('∘', "°");
    }
    text::raised(exponent).unwrap_or_else(|| format!("^{}", grouped(exponent)))
}

fn below(index: &str) -> String {
    if index.trim().is_empty() { String::new() } else { format!("_{}", grouped(index)) }
}

fn root(degree: &str, of: &str) -> String {
    match degree.trim() {
        "" | "2" => format!("√{}", grouped(of)),
        degree => format!("{}√{}", text::raised(degree).unwrap_or_else(|| degree.to_owned()), grouped(of)),
    }
}

/// Returns a part of a formula, in brackets unless it is one number or name.
fn grouped(part: &str) -> String {
    let part = part.trim();
    let is_one = part.chars().all(|char| char.is_alphanumeric() || matches!(char, '.' | ','));
    if is_one { part.to_owned() } else { format!("({part})") }
}

#[cfg(test)]
mod tests {
    use super::{super::xml, *};

    #[test]
    fn heights_become_signs() {
        let check = |formula: &str, expected: &str| {
            let tree = xml::parse(&format!("<m:oMath xmlns:m='m'>{formula}</m:oMath>")).unwrap();
            assert_eq!(linear(&tree.root), expected);
        };
        let run = |text: &str| format!("<m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>{text}</m:t></m:r>");
        check(&format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", run("1"), run("2")), "1/2");
        check(&format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", run("a+b"), run("2")), "(a+b)/2");
        check(&format!("<m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup>{}", run("10"), run("-6"), run("t")), "10⁻⁶t");
        check(&format!("<m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup>", run("x"), run("n+1")), "x^(n+1)");
        check(&format!("<m:rad><m:deg/><m:e>{}</m:e></m:rad>", run("14")), "√14");
        let half = format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", run("1"), run("2"));
        check(&format!("{}{half}{}{half}", run("2"), run("x=")), "2 1/2 x=1/2");
        check(
            &format!("<m:d><m:dPr><m:begChr m:val='|'/><m:endChr m:val='|'/></m:dPr><m:e>{}</m:e></m:d>", run("−5")),
            "|−5|",
        );
        check(&format!("<m:d><m:e>{}</m:e><m:e>{}</m:e></m:d>", run("A"), run("B")), "(A|B)");
        let limits = format!("<m:sub>{}</m:sub><m:sup>{}</m:sup><m:e>{}</m:e>", run("0"), run("1"), run("xdx"));
        check(&format!("<m:nary>{limits}</m:nary>"), "∫_0¹ xdx");
        let row = |one: &str, two: &str| format!("<m:mr><m:e>{}</m:e><m:e>{}</m:e></m:mr>", run(one), run(two));
        check(&format!("<m:m>{}{}</m:m>", row("1", "2"), row("3", "4")), "1 2; 3 4");
        check(&format!("<m:eqArr><m:e>{}</m:e><m:e>{}</m:e></m:eqArr>", run("x+y=5"), run("3x=6")), "x+y=5; 3x=6");
        check(&format!("<w:del>{}</w:del><w:ins>{}</w:ins>", run("5"), run("7")), "7");
        check(&format!("<m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup>{}", run("20"), run("∘"), run("C")), "20°C");
        check(&format!("<m:sSup><m:e>{}</m:e><m:sup/></m:sSup>", run("x")), "x");
    }
}
