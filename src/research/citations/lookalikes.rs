//! What only looks like a citation, or like a list of sources, stays and is none; citations in places where they are
//! easily missed are found.

use proptest::prelude::*;

use super::*;
use crate::domain::SourceId;

pub(super) const A: &str = "https://harbour.test/tariff";
pub(super) const B: &str = "https://museum.test/";
pub(super) const C: &str = "https://council.test/minutes?id=7&lang=en";

pub(super) fn sources() -> Vec<Source> {
    let all = [(1001, A, "Harbour tariff"), (1002, B, "Museum of tides"), (1003, C, "Council minutes")];
    all.map(|(id, url, title)| Source::example(id, url, title)).to_vec()
}

/// Returns the text above our own list, with the resolver that wrote it last.
pub(super) fn settled(sources: Vec<Source>, text: &str, piece: usize) -> (String, Resolver) {
    let mut resolver = Resolver::new(sources);
    let chars: Vec<char> = text.chars().collect();
    let mut markdown: String =
        chars.chunks(piece).map(|part| resolver.push(&part.iter().collect::<String>())).collect();
    markdown.push_str(&resolver.finish());
    let (resolver, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
    assert_eq!(proof(&markdown, resolver.citations()), None, "{text:?} became {markdown:?}");
    (crate::domain::report::parts(&markdown).0.trim_end().to_owned(), resolver)
}

pub(super) fn check(text: &str, expected: &str, dropped: u32, removed: u32) {
    let (body, resolver) = settled(sources(), text, 7);
    assert_eq!((body.as_str(), resolver.dropped(), resolver.removed()), (expected, dropped, removed), "for {text:?}");
}

#[test]
fn numbers_in_brackets_are_text_where_ids_cite() {
    let stays = |text: &str| check(&format!("{text} So [S1001]."), &format!("{text} So [1]."), 0, 0);
    stays("Median 2 [1-3] days, weights of [1, 2, 3] kg, IQR of [1, 3], mean 2 (CI 95 % [1; 3]), won [1–3].");
    stays("\"We paid\" ［2］ and 〔2〕 and [#2] and [٢] and [٢، ٣].");
    check(
        "In [2019] UKSC 41 at [2], \"we paid [3] crowns to [1] men\" [S1001]; f(x)[1], foo[2] and [1]–[3].",
        "In [2019] UKSC 41 at \\[2], \"we paid \\[3] crowns to \\[1] men\" [1]; f(x)\\[1], foo\\[2] and \\[1]–\\[3].",
        0,
        0,
    );
    check("| [1] | [2] |\n|---|---|\n| 5 [3] | [S1001] |", "| \\[1] | \\[2] |\n|---|---|\n| 5 \\[3] | [1] |", 0, 0);
    // A page that is cited by a link shows as well that numbers do not cite.
    check(&format!("It won [1-3], [the tariff]({A}) says."), "It won [1-3], the tariff [1] says.", 0, 0);
    // What has a word or sign of a citation is none of a source that was retrieved.
    check("Dues [Source 2], [^2], <sup>[2]</sup> [2, p. 4] [S1001].", "Dues,, [1].", 4, 0);
    check("Dues [3](https://evil.test/x) and [[3]](https://evil.test/y) [S1001].", "Dues and [1].", 2, 0);
}

#[test]
fn numbers_of_a_text_that_cites_nothing_else_are_citations_of_nothing() {
    check("Dues [1], tides [2, 3], gates [4].", "Dues, tides, gates.", 3, 0);
    check("Dues [1], 12 [8-15] days, tides [2].", "Dues, 12 [8-15] days, tides.", 2, 0);
    check("They won [3-2], and [7] men.", "They won [3-2], and \\[7] men.", 0, 0);
    // A list may be cut short: what else stands beside a number of it was not retrieved.
    check(&format!("Dues [1], gates [1, 3].\n\n## Sources\n1. T: {A}\n2. M: {B}\n"), "Dues [1], gates [1].", 1, 2);
    // With ids beside a list of its own, numbers cite what the list has.
    let list = format!("## Sources\n1. T: {A}\n2. M: {B}\n");
    check(&format!("Dues [1], [3] men, 9 [8-15] [S1003].\n\n{list}"), "Dues [1], \\[3] men, 9 [8-15] [2].", 0, 2);
}

#[test]
fn items_under_a_heading_like_sources_stay_unless_they_name_sources() {
    let stays = |text: &str| check(&format!("{text}\n\nSo [S1001]."), &format!("{text}\n\nSo [1]."), 0, 0);
    stays("Sources:\n- Hydro 40 %\n- Wind 35 %\n- Sun 25 %");
    stays("## Funding\n\n### Sources\n\n- Member dues\n- A bank loan\n\n## End");
    stays("**Quellen:**\n\n- Wasserkraft (40 %)\n- Wind (35 %)");
    check(
        "**Sources**\n\n1. The Skell, which gives 40 % [S1002]\n2. Wells\n3. Rain\n\nEnd.",
        "**Sources**\n\n1. The Skell, which gives 40 % [1]\n2. Wells\n3. Rain\n\nEnd.",
        0,
        0,
    );
    let list = format!("## References\n\n1. T: {A}\n2. M: {B}\n3. {C}\n");
    check(
        &format!("### Sources\n\n- Dues: 18.9 crowns [3]\n1. A loan at 3.5 % [1]\n- A grant [2].\n\nSo [1].\n\n{list}"),
        "### Sources\n\n- Dues: 18.9 crowns [1]\n1. A loan at 3.5 % [2]\n- A grant [3].\n\nSo [2].",
        0,
        3,
    );
    // Among references an item is one too, and so is the title of a page or what the text cites by its number.
    check(&format!("So [S1001].\n\n## Sources\n- {A}\n- {B}\n- A talk with the mayor\n"), "So [1].", 0, 3);
    check("So [S1001].\n\n## Sources\n- Museum of Tides\n- Council minutes.\n- A talk\n", "So [1].", 0, 3);
    check("So [1], or [2].\n\n## Sources\n1. The town\n2. The tide\n", "So, or.", 2, 2);
}

#[test]
fn links_say_what_their_numbers_mean() {
    check(
        &format!("Dues [1]({A}). Tides [2]({B}). Dues [1]. Both [1][2]."),
        "Dues [1]. Tides [2]. Dues [1]. Both [1][2].",
        0,
        0,
    );
    check(&format!("[Dues]({A}) [1]. ([Tides]({B})) [2]. Dues [1]."), "Dues [1]. (Tides [2]) [2]. Dues [1].", 0, 0);
    check(&format!("Dues [[2]]({A}) and [1](https://evil.test/). So [1] or [2]."), "Dues [1] and. So or [1].", 2, 0);
    // One number of two pages, and numbers that do not count the links.
    check(&format!("Dues [1]({A}), tides [1]({B}). So [1]."), "Dues [1], tides [2]. So \\[1].", 0, 0);
    check(&format!("[Dues]({A}) [3] men. So [3]."), "Dues [1] \\[3] men. So \\[3].", 0, 0);
    check(&format!("[Dues]({A}) [1], [tides]({B}) [1]. So [1]."), "Dues [1] \\[1], tides [2] \\[1]. So \\[1].", 0, 0);
}

#[test]
fn a_bracket_behind_the_number_of_an_entry_leaves_it_the_number_where_numbers_cite() {
    check(
        &format!(
            "Tides rise [1]. Dues fall [2].\n\n## References\n1. Global tides: https://foreign.test/x\n\
             2. [2301.12345] Tides, an early paper: {A}"
        ),
        "Tides rise. Dues fall [1].",
        1,
        2,
    );
    let list = format!("1. [PDF] Dues: {A}\n2. [Tides] ({B})\n3. **[Minutes]** – {C}");
    let text = "Gates [3], tides [2], dues [1].";
    let expected = "Gates [1], tides [2], dues [3].";
    check(&format!("{text}\n\n## Sources\n{list}"), expected, 0, 3);
    check(&format!("{text}\n\n{list}"), expected, 0, 3);
    check(&format!("Dues [Smith 2021].\n\n## Sources\n1. [Smith 2021] Dues: {A}"), "Dues [1].", 0, 1);
}

#[test]
fn an_entry_that_is_not_cited_does_not_cut_its_list() {
    let list = format!("1. Dues: {A}\n2. Tides: {B}\n3. Boats: https://foreign.test/x\n4. Gates: {C}");
    for heading in ["## Key Sources", "## Referencias bibliográficas", "## References and Further Reading"] {
        let text = format!("Dues [1]. Gates [4]. Tides [2].\n\n{heading}\n{list}");
        check(&text, "Dues [1]. Gates [2]. Tides [3].", 0, 4);
    }
    // Neither a first entry nor one out of order shows that it is one.
    check(
        "Dues [S1001].\n\n## Open-source tools\n1. Reader: https://foreign.test/x\n2. Writer: https://foreign.test/y",
        "Dues [1].\n\n## Open-source tools\n1. Reader: foreign.test\n2. Writer: foreign.test",
        2,
        0,
    );
}

#[test]
fn words_in_parentheses_behind_a_bracket_are_no_target() {
    check("Dues rose [S1001](in 2031 prices).", "Dues rose [1] (in 2031 prices).", 0, 0);
    check("Dues [S1001](e.g. of boats) [S1002](p. 4).", "Dues [1] (e.g. of boats) [2] (p. 4).", 0, 0);
    check("So $\\mathcal{F}[f](\\omega)=\\int f$.", "So $\\mathcal{F}[f] (\\omega)=\\int f$.", 0, 0);
    check("So $x[1](t)$ [S1001].", "So $x[1] (t)$ [1].", 0, 0);
    check("So $f[x]()$ [S1001].", "So $f[x] ()$ [1].", 0, 0);
    check("See [old [dues](of boats)](never).", "See [old [dues] (of boats)] (never).", 0, 0);
    check("See [Harbour report](), [Tariff](harbour tariff 2031.pdf).", "See Harbour report, Tariff.", 2, 0);
    check("See [目录](#第一章).", "See 目录.", 1, 0);
    check("See [a](evil.html), [b](#top), ![c](evil).", "See a, b, c.", 3, 0);
}

#[test]
fn formulas_keep_their_less_than() {
    check("So $k<n \\le m$ and $p<1/2$.\n\n$$\nx<0\n$$", "So $k< n \\le m$ and $p< 1/2$.\n\n$$\nx< 0\n$$", 0, 0);
    check("A Vec<T> of k<n.", "A Vec\\<T> of k\\<n.", 0, 0);
}

#[test]
fn harmless_tags_behind_figures_stay() {
    let stays = |text: &str| check(text, text, 0, 0);
    stays("| a | b |\n|---|---|\n| 2023 | 12<br>13 |\n| <b>7</b> | 8 |");
    stays("10<sup>6</sup> cells");
    check("<br>\n1. <br>\n> <b>\n12 <b>", "\\<br>\n1. \\<br>\n> \\<b>\n12 \\<b>", 0, 0);
}

#[test]
fn footnotes_of_one_word_stay() {
    let stays = |text: &str| check(&format!("Dues[^1] [S1001].\n\n{text}"), &format!("Dues[^1] [1].\n\n{text}"), 0, 0);
    stays("[^1]: In crowns of 2031.");
    let shown = |text: &str| {
        let expected = format!("费用上涨[^1]，见[1]。\n\n{}", text.replace("]:", "]\\:"));
        check(&format!("费用上涨[^1]，见[S1001]。\n\n{text}"), &expected, 0, 0);
    };
    shown("[^1]: 数据为估计值。");
    shown("[^1]: 单位：元/吨。");
    shown("[^1]: Estimated.");
    shown("[^1]: 估计 (市政厅)");
    shown("[^1]: 估计\n\n- [Q1]: 5.2%\n- [Opening]: 9:00");
    check("Dues[^a] [S1001].\n\n[^a]: Provisional", "Dues[^a] [1].\n\n[^a]\\: Provisional", 0, 0);
    check("Dues [S1001].\n\n[x]: evil.html\n[y]: mailto:a@evil.test\n[z]: #top", "Dues [1].", 0, 3);
}

#[test]
fn lists_in_places_of_their_own_are_read() {
    let text = "Dues [1], tides [2].";
    let read = |list: &str, removed: u32| check(&format!("{text}\n\n{list}\n"), text, 0, removed);
    read(&format!("## Sources\n\n```\n[1] {A}\n[2] {B}\n```"), 2);
    read(&format!("## Sources\n\n~~~text\n1. T: {A}\n2. M: {B}"), 2);
    read(&format!("## Sources\n\n1\\. T – {A}\n2\\. M – {B}"), 2);
    read(&format!("Sources: [1] T, {A}; [2] M, {B}"), 1);
    read(&format!("**Sources:** 1. {A} 2. {B}"), 1);
    read(&format!("Sources: [1] T, {A}\n[2] M, {B}"), 2);
    read(&format!("## Sources\n\n### Primary\n1. T: {A}\n\n### Secondary\n2. M: {B}"), 2);
    read(&format!("References\n==========\n\n[1]: {A}\n[2]: {B}"), 2);
    read(&format!("Sources consulted:\n\n1. T: {A}\n2. M: {B}"), 3);
    read(&format!("---\n\n1. T: {A}\n2. M: {B}"), 3);
    read(&format!("(1) T. {A}.\n(2) M. {B}."), 2);
    for heading in ["## Key Sources", "## Selected References", "## References and Notes"] {
        read(&format!("{heading}\n\n1. T: {A}\n2. M: {B}"), 2);
    }
    check(
        &format!(
            "Dues (Source 1), tides (Sources 1, 2), (Ref. 3) (see 2).\n\nSource 1: {A}\nSource 2: {B}\nSource 3: https://evil.test/\n"
        ),
        "Dues [1], tides [1][2], (see 2).",
        1,
        3,
    );
    check(
        &format!("Dues [harbour.test], [Tides].\n\n## Sources\n- [harbour.test]({A})\n- [Tides]({B})\n"),
        "Dues [1], [2].",
        0,
        2,
    );
    check(&format!("Dues [Link].\n\n## Sources\n- [Link]({A})\n- [M]({B})\n- [Link]({C})\n"), "Dues [Link].", 0, 3);
    // Code, and headings over more than references.
    let code = "## Sources\n\n```\nx = a[1]\ny = 2\n```\n\nSo [S1001].";
    check(code, &code.replace("[S1001]", "[1]"), 0, 0);
    // The last line of a text is no entry for beginning with a number.
    check("So [S1001].\n\n[1] is said of it [S1002].", "So [1].\n\n\\[1] is said of it [2].", 0, 0);
    check("| [1] – [2] | [S1001] |", "| \\[1] – \\[2] | [1] |", 0, 0);
    // A line with nothing but a number and an address is one, wherever it stands.
    check(
        &format!("{text}\n\n[1] {A}\n\nIt goes on.\n\n[2] {B}\n\nIt ends."),
        &format!("{text}\n\n\nIt goes on.\n\n\nIt ends."),
        0,
        2,
    );
    let mixed = format!("So [1].\n\n## Sources\n[1] {A}\n[2] {B}\n[3] {C}\n\n### Notes\n\nThe town keeps them.\n");
    check(&mixed, "So [1].\n\n### Notes\n\nThe town keeps them.", 0, 3);
    check("Sources: 3 of them are old, see [S1001].", "Sources: 3 of them are old, see [1].", 0, 0);
}

#[test]
fn citations_in_tags_and_footnotes_are_read() {
    check(
        &format!("Dues pay <a href=\"{A}\">the tariff</a>, <a class=x href='{B}'>2</a><sup><a href={C}>[3]</a></sup>."),
        "Dues pay the tariff [1], [2]<sup>[3]</sup>.",
        0,
        0,
    );
    check(&format!("Dues <a hreflang=en data-href='x' HrEf = '{A}'>tariff</a>."), "Dues tariff [1].", 0, 0);
    check(&format!("See <a href=\"{A}\">the\ntariff</a>."), "See the [1]\ntariff.", 0, 1);
    check(
        &format!("Dues<sup><a href=\"#r1\">1</a></sup>.\n\n## Sources\n\n1. <a id=\"r1\"></a>T: {A}\n"),
        "Dues<sup>[1]</sup>.",
        0,
        1,
    );
    check(&format!("[cite_start]Dues pay.[cite: 1] [cite_start]So.\n\n## Sources\n1. {A}\n"), "Dues pay.[1] So.", 0, 3);
    let long = format!(
        "Dues[^1], tides[^t].\n\n[^1]: Harbour Office, \"Tariff\", {A} (accessed 5 May 2031; a copy is kept by the council of the town).\n\
         [^t]: {B}\n    accessed 5 May 2031\n"
    );
    check(&long, "Dues[1], tides[2].", 0, 3);
}

#[test]
fn raised_numbers_cite_unless_they_are_powers() {
    let list = format!("## Sources\n1. T: {A}\n2. M: {B}\n3. {C}\n");
    let under = |text: &str, expected: &str, dropped: u32| check(&format!("{text}\n\n{list}"), expected, dropped, 3);
    under("Dues¹˒³ and tides²⁻³, gates¹⁻³.", "Dues[1][2] and tides[3][2], gates[1][3][2].", 0);
    under(
        "The hall has 40 metres² and 3 Hektar<sup>2</sup>, 5 fathoms³.",
        "The hall has 40 metres² and 3 Hektar<sup>2</sup>, 5 fathoms³.",
        0,
    );
    under("In 2031 members² paid 40 crowns.³ Dues¹.", "In 2031 members[1] paid 40 crowns.[2] Dues[3].", 0);
}

/// Generates words in no list of the code.
fn word() -> impl Strategy<Value = String> {
    "[bdfgklmnprtvwz]{5,9}"
}

/// Returns what stands in brackets in reports, and is no citation.
fn data() -> impl Strategy<Value = String> {
    (word(), prop::collection::vec(1..100u32, 3), 0..12usize).prop_map(|(word, n, shape)| match shape {
        0 => format!("{word} [{}-{}]", n[0], n[1]),
        1 => format!("{word} [{}–{}]", n[0], n[1]),
        2 => format!("{} [{}, {}] {word}", n[2], n[0], n[1]),
        3 => format!("({word} [{}; {}])", n[0], n[1]),
        4 => format!("{word} of [{}, {}, {}] {word}", n[0], n[1], n[2]),
        5 => format!("{word} at [{}]", n[0]),
        6 => format!("\"{word} [{}] {word} to [{}] {word}\"", n[0], n[1]),
        7 => format!("{word}[{}]", n[0]),
        8 => format!("{word}({word})[{}]", n[0]),
        9 => format!("[{}]{word}", n[0]),
        10 => format!("[{}] – [{}]", n[0], n[1]),
        _ => format!("**{word}** [{}/{}]", n[0], n[1]),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    /// Of eighty sources nearly every number could be one.
    #[test]
    fn data_in_brackets_stay_whatever_their_words_and_numbers(
        lines in prop::collection::vec((prop::collection::vec(data(), 0..4), 1001..1081u32, prop::bool::ANY), 1..6),
        size in 1usize..40,
    ) {
        let sources = (1001..1081).map(|id| Source::example(id, &format!("https://p{id}.test/x"), "Page")).collect();
        let line = |(data, id, is_row): &(Vec<String>, u32, bool)| match is_row {
            true => format!("| {} | [S{id}] |", data.join(" | ")),
            false => format!("{} so [S{id}].", data.join(" and ")),
        };
        let text = lines.iter().map(line).collect::<Vec<_>>().join("\n\n");
        let (markdown, resolver) = settled(sources, &text, size);
        prop_assert_eq!((resolver.dropped(), resolver.removed()), (0, 0));
        let cited: Vec<SourceId> = resolver.citations().iter().map(|citation| citation.source_id).collect();
        let meant: Vec<SourceId> = lines.iter().map(|(_, id, _)| SourceId(*id)).collect();
        prop_assert_eq!(cited, meant);
        // Behind the backslash of what could be taken for one of our citations, the text is the same.
        let mut expected = String::new();
        for (at, part) in text.split("[S").enumerate() {
            let number = |id: &str| resolver.citations().iter().find(|c| id == c.source_id.0.to_string()).map(|c| c.number);
            match part.split_once(']').filter(|_| at > 0) {
                Some((id, rest)) => expected.push_str(&format!("[{}]{rest}", number(id).unwrap())),
                None => expected.push_str(part),
            }
        }
        prop_assert_eq!(markdown.replace("\\[", "["), expected);
        let chars: Vec<char> = markdown.chars().collect();
        for at in 0..chars.len() {
            let number: String = chars[at + 1..].iter().take_while(|c| c.is_ascii_digit()).collect();
            let looks = chars[at] == '[' && !number.is_empty() && chars[at + 1 + number.len()] == ']';
            let is_citation = resolver.citations().iter().any(|citation| citation.start == at);
            prop_assert!(!looks || is_citation || (at > 0 && chars[at - 1] == '\\'), "{:?} shows a citation", markdown);
        }
    }
}
