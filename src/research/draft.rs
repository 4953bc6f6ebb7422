//! A report that is written and not yet finished: its text resolved, its statements open to repair and translation.

use super::citations::{self, Resolver};
use crate::{
    aside::aside,
    context::{Cx, Error},
    domain::report::{Citation, Report},
};

/// A report with its list of sources, not all of which its readers have seen.
#[derive(Debug)]
pub struct Draft {
    /// What resolved it last.
    pub resolver: Resolver,
    pub report: Report,
    /// Whether it is what its readers saw come.
    pub as_streamed: bool,
    /// Statements that were written once more, since their sources did not hold them.
    pub repaired: usize,
    /// Those of them whose sources still do not hold them.
    pub still_wrong: usize,
}

/// Returns the report of a resolver that has written `streamed`: resolved once more if the model has numbered its
/// sources itself, and read as a reader's program will read it.
pub fn settle(resolver: Resolver, streamed: String) -> Draft {
    let renumbered = resolver.renumbered().filter(|(_, markdown)| *markdown != streamed);
    let mut as_streamed = renumbered.is_none();
    let (resolver, markdown) = renumbered.unwrap_or((resolver, streamed));
    let citations = resolver.citations().to_vec();
    let mut report = Report { markdown, citations, dropped_citations: resolver.dropped(), ..Report::default() };
    if let Some(proof) = citations::proof(&report.markdown, &report.citations) {
        as_streamed = false;
        report.dropped_citations = report.dropped_citations.saturating_add(proof.stripped);
        (report.markdown, report.citations) = (proof.markdown, proof.citations);
    }
    Draft { resolver, report, as_streamed, repaired: 0, still_wrong: 0 }
}

/// Returns the draft of a text that stands for one that readers have seen, of which so many citations were dropped
/// before.
pub async fn rewritten(cx: &Cx, text: String, dropped: u32) -> Result<Draft, Error> {
    let sources = cx.sources();
    let mut rewritten = aside(move || {
        let mut resolver = Resolver::new(sources);
        let markdown = resolver.push(&text) + &resolver.finish();
        settle(resolver, markdown)
    })
    .await?;
    rewritten.as_streamed = false;
    rewritten.report.dropped_citations = rewritten.report.dropped_citations.saturating_add(dropped);
    Ok(rewritten)
}

/// Returns the text with ids for numbers, and other words in the places of `edits`, which count characters and
/// ascend.
pub fn with_ids(text: &str, citations: &[Citation], edits: &[(usize, usize, String)]) -> String {
    let chars: Vec<char> = text.chars().collect();
    let cites = citations.iter().map(|citation| (citation.start, citation.end, format!("[{}]", citation.source_id)));
    let outside = cites.filter(|(start, ..)| !edits.iter().any(|(from, to, _)| (from..to).contains(&start)));
    let mut all: Vec<(usize, usize, String)> = outside.chain(edits.iter().cloned()).collect();
    all.sort();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, end, with) in all {
        let Some(before) = chars.get(at..start).filter(|_| end <= chars.len()) else { continue };
        out.extend(before);
        out.push_str(&with);
        // The sentence's own full stop stands there already.
        let is_doubled = chars.get(end).is_some_and(|next| ".!?。！？".contains(*next) && with.ends_with(*next));
        at = end + usize::from(is_doubled);
    }
    out.extend(&chars[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    #[test]
    fn statements_are_replaced_and_the_rest_keeps_its_citations() {
        let text = "Ünder [1]. It cost 5 [2], they say. More [1].";
        let cite = |number, start| Citation::new(number, SourceId(1000 + number), start, start + 3);
        let citations = [cite(1, 6), cite(2, 21), cite(1, 41)];
        let edits = [(11, 34, "It cost 4 [S1002].".to_owned())];
        assert_eq!(with_ids(text, &citations, &edits), "Ünder [S1001]. It cost 4 [S1002]. More [S1001].");
    }
}
