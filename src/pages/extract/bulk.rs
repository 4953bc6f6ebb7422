//! How much of a page's text its elements hold: what holds most of it is the page, whatever its author has called it.

use std::collections::{HashMap, HashSet};

use dom_query::{Document, NodeId};

/// Returns how many bytes of letters and digits each element of the page's body holds; nothing of elements that hold
/// none.
pub(super) fn lengths(page: &Document) -> HashMap<NodeId, usize> {
    let mut lengths = HashMap::new();
    let Some(body) = page.body() else { return lengths };
    let nodes: Vec<_> = std::iter::once(body).chain(body.descendants_it()).collect();
    // What is within comes before what it is in.
    for node in nodes.iter().rev() {
        let own = if node.is_text() { spoken(&node.text()) } else { 0 };
        let length = own + lengths.get(&node.id).copied().unwrap_or(0);
        if let Some(parent) = node.parent().filter(|_| length > 0) {
            *lengths.entry(parent.id).or_default() += length;
        }
    }
    lengths
}

/// Returns how many bytes of letters and digits a text has.
pub(super) fn spoken(text: &str) -> usize {
    text.chars().filter(|char| char.is_alphanumeric()).map(char::len_utf8).sum()
}

/// Returns the elements that hold more than half of the page's text each.
pub(super) fn with_most(page: &Document) -> HashSet<NodeId> {
    let lengths = lengths(page);
    let all = page.body().and_then(|body| lengths.get(&body.id).copied()).unwrap_or(0);
    lengths.into_iter().filter(|(_, length)| length * 2 > all).map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_most_of_a_page_is_found() {
        let page = Document::from("<div id=a>One <p id=b>two three</p></div><div id=c>-- four --</div>");
        let most = with_most(&page);
        let is_one = |name: &str| most.contains(&page.select_single(name).nodes()[0].id);
        assert_eq!(["body", "#a", "#b", "#c"].map(is_one), [true, true, true, false]);
        assert!(with_most(&Document::from("")).is_empty());
    }
}
