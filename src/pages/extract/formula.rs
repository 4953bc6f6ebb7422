//! Formulas of office documents and of HTML, which say with heights what a line of text says with signs: one over two
//! is not twelve, and x squared not x2.

use dom_query::{Document, NodeRef};

use super::{
    text,
    xml::{Element, Node},
};

/// Bytes that may be rewritten on one page; what comes behind is left as it is.
const MOST_BYTES: usize = 4 << 20;

/// Writes the formulas of a page in one line each, and leaves out what they say once more in another language, such as
/// that of TeX.
pub(super) fn spell_out(document: &Document) {
    document.select("math annotation, math annotation-xml").remove();
    let mut left = MOST_BYTES;
    // What is within comes before what it is in.
    for node in document.select("mfrac, msup, msubsup, msqrt, mroot").nodes().iter().rev() {
        let own = node.text().len();
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
        ("mfrac", [over, under]) => Some(fraction(over, under)),
        ("msup", [base, exponent]) => Some(format!("{base}{}", power(exponent))),
        ("msubsup", [base, below, exponent]) => Some(format!("{base}{below}{}", power(exponent))),
        ("msqrt", _) => Some(root("", &text::one_line(&node.text()))),
        ("mroot", [of, degree]) => Some(root(degree, of)),
        _ => None,
    }
}

/// Returns a text as HTML that says the same. Parts that were replaced are texts beside each other, so it is one
/// element.
fn html(text: &str) -> String {
    format!("<span>{}</span>", text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Returns a formula of an office document (OMML) in one line.
pub(super) fn linear(element: &Element) -> String {
    let part = |name: &str| element.child(name).map(linear).unwrap_or_default();
    match &*element.name {
        "f" => fraction(&part("num"), &part("den")),
        "sSup" => format!("{}{}", part("e"), power(&part("sup"))),
        "sSubSup" => format!("{}{}{}", part("e"), part("sub"), power(&part("sup"))),
        "rad" => root(&part("deg"), &part("e")),
        "d" => format!("({})", element.elements().filter(|child| &*child.name == "e").map(linear).collect::<String>()),
        "t" => element.text(),
        // How it looks.
        name if name.ends_with("Pr") => String::new(),
        _ => element.children.iter().map(of_node).collect(),
    }
}

fn of_node(node: &Node) -> String {
    match node {
        Node::Element(child) => linear(child),
        Node::Text(_) => String::new(),
    }
}

fn fraction(over: &str, under: &str) -> String {
    format!("{}/{}", grouped(over), grouped(under))
}

fn power(exponent: &str) -> String {
    text::raised(exponent).unwrap_or_else(|| format!("^{}", grouped(exponent)))
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
    }
}
