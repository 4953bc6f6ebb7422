//! Citations, links and everything that only looks like them.

use proptest::prelude::*;

use super::*;
use crate::domain::SourceId;

fn source(id: u32, aliases: &[u32], url: &str, title: &str) -> Source {
    let aliases = aliases.iter().copied().map(SourceId).collect();
    Source { aliases, ..Source::example(id, url, title) }
}

fn sources() -> Vec<Source> {
    vec![
        source(1001, &[2003], "https://harbour.test/tariff", "Tariff"),
        source(1002, &[], "https://museum.test/", "Museum"),
    ]
}

fn body(resolver: &mut Resolver, chunks: &[&str]) -> String {
    let mut out: String = chunks.iter().map(|chunk| resolver.push(chunk)).collect();
    out.push_str(&resolver.finish());
    crate::domain::report::parts(&out).0.trim_end_matches('\n').to_owned()
}

fn check(input: &str, expected: &str, dropped: u32) {
    let (resolver, markdown) = resolved(Resolver::new(sources()), input);
    let body = crate::domain::report::parts(&markdown).0.trim_end_matches('\n');
    assert_eq!(body, expected, "for {input:?}");
    assert_eq!(resolver.dropped(), dropped, "dropped in {input:?}");
}

#[test]
fn ids_become_numbers_in_order_of_first_use() {
    check("Open [S1002]. Cheap [S1001]. Old [S1002].", "Open [1]. Cheap [2]. Old [1].", 0);
    check("Both [S1001][S1002] and [S1001, S1002].", "Both [1][2] and [1][2].", 0);
    check("Same page [S1001] [S2003].", "Same page [1].", 0);
    check("[S1001][S2003][S1002][S2003] and [S1001]", "[1][2] and [1]", 0);
    check("中文【S1001】。", "中文[1]。", 0);
    check("Named (Source S1001) and S1002 bare.", "Named (Source [1]) and [2] bare.", 0);
    check("[Source: S1001] [sources S1001 and S1002]", "[1] [1][2]", 0);
    check("[see the tariff, S1001]", "(see the tariff, [1])", 0);
}

#[test]
fn what_was_never_retrieved_is_no_citation() {
    check("Bold claim [S9999].", "Bold claim.", 1);
    check("Half [S1001, S9999].", "Half [1].", 1);
    check("Own number [3] and [1, 2] and [^4].", "Own number and and.", 3);
    check("A year [2031] and a box [ ] stay.", "A year [2031] and a box [ ] stay.", 0);
}

#[test]
fn links_are_cut_unless_their_page_was_retrieved() {
    check("See [the tariff](https://www.harbour.test/tariff/).", "See the tariff [1].", 0);
    check("See [this](https://evil.test/x?y=1).", "See this.", 1);
    check("[S1001](https://evil.test)", "[1]", 0);
    check("![logo](https://evil.test/pixel.png) text", "logo text", 1);
    check("At https://harbour.test/tariff, or https://evil.test/a(b)c.", "At [1], or evil.test.", 1);
    check("<https://evil.test> <a href=\"https://evil.test\">x</a> 1 < 2", "evil.test x 1 < 2", 1);
    check("www.evil.test (https://evil.test/a)", "evil.test (evil.test)", 2);
    check("[a [b](https://evil.test) c](https://evil.test)", "a b c", 2);
    check("[see [b](https://evil.test/x), s1001]", "(see b, [1])", 1);
    check("![a <img src=x> [^3]](https://evil.test)", "a ", 2);
    check("xhttps://evil.test/a", "xevil.test", 1);
    check("<ftp://evil.test/a> <b: c>", "evil.test/a <b: c>", 1);
}

#[test]
fn links_too_long_to_be_held_back_are_taken_apart() {
    let far = format!("[{}](u)", "x".repeat(3_000));
    check(&far, &far.replace("](", "] ("), 1);
    let mut resolver = Resolver::new(sources());
    let deep = "[".repeat(2_000) + "x" + &"](u)".repeat(2_000);
    assert!(!body(&mut resolver, &[&deep]).contains("]("));
}

#[test]
fn code_is_left_alone() {
    check("`a[1]` and ``b`[2]``", "`a[1]` and ``b`[2]``", 0);
    check("one ` tick [S1001]\nnext", "one ` tick [1]\nnext", 0);
    check("```\nx[1] https://evil.test\n```\n[S1001]", "```\nx[1] https://evil.test\n```\n[1]", 0);
}

#[test]
fn a_source_list_of_the_models_own_is_removed() {
    check("Text [S1001].\n\n## Sources\n- [S1002] https://evil.test\n", "Text [1].", 0);
    check("A [S1001]\n\n**Sources:**\n1. https://evil.test\n\nAfter.", "A [1]\n\nAfter.", 0);
    check("## References\n[1] x\n## Next\ny", "## Next\ny", 0);
    check("Sources of error are few.", "Sources of error are few.", 0);
    check("## Sources of error\nfew", "## Sources of error\nfew", 0);
}

#[test]
fn the_list_numbers_every_cited_source_once() {
    let mut resolver = Resolver::new(sources());
    let text = resolver.push("Old [S1002], cheap [S2003].") + &resolver.finish();
    assert_eq!(
        text,
        "Old [1], cheap [2].\n\n### Sources\n\n- [1] Museum: https://museum.test/\n- [2] Tariff: https://harbour.test/tariff\n"
    );
    assert_eq!(resolver.output.written(), text.chars().count());
    let places: Vec<_> = resolver.citations().iter().map(|c| &text[c.start..c.end]).collect();
    assert_eq!(places, ["[1]", "[2]"]);
}

#[test]
fn the_list_is_in_the_language_that_is_set_whatever_the_text_quotes() {
    let text = "# 概要\n\nThe harbour dues, which the council sets every year, pay for the gate and its keepers [1].\n\n\
        ## Sources\n[1] https://harbour.test/tariff\n";
    let resolver = Resolver::new(sources()).in_words_of(Some(Wording::of_code("zh")));
    let (_, markdown) = resolved(resolver, text);
    assert!(markdown.ends_with("### 来源\n\n- [1] Tariff: https://harbour.test/tariff\n"), "{markdown}");
}

/// Returns the text as the resolver leaves it, once all of it has been read.
fn resolved(mut resolver: Resolver, text: &str) -> (Resolver, String) {
    let markdown = resolver.push(text) + &resolver.finish();
    resolver.renumbered().unwrap_or((resolver, markdown))
}

/// Returns the report as it is stored, and what was removed from it.
pub(super) fn settled(text: &str) -> (String, u32) {
    let (resolver, markdown) = resolved(Resolver::new(sources()), text);
    let counted = resolver.dropped() + resolver.removed();
    match proof(&markdown, resolver.citations()) {
        None => (markdown, counted),
        Some(proof) => {
            let chars: Vec<char> = proof.markdown.chars().collect();
            for citation in &proof.citations {
                let shown: String = chars[citation.start..citation.end].iter().collect();
                assert_eq!(shown, format!("[{}]", citation.number), "in {:?}", proof.markdown);
            }
            (proof.markdown, counted + proof.stripped)
        }
    }
}

/// Returns what a reader's program links to or loads.
pub(super) fn links(markdown: &str) -> Vec<String> {
    use pulldown_cmark::{Options, Parser, html};
    let mut page = String::new();
    html::push_html(&mut page, Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH));
    let tags = page.split('<').skip(1).map(|part| part.split('>').next().unwrap_or_default());
    tags.filter(|tag| tag.contains("href=") || tag.contains("src=")).map(ToOwned::to_owned).collect()
}

#[test]
fn nothing_foreign_becomes_a_link() {
    let check = |text: &str| {
        let (markdown, counted) = settled(text);
        assert!(links(&markdown).is_empty(), "{text:?} became {markdown:?}");
        assert!(counted > 0 || markdown.contains("\\<"), "{text:?} became {markdown:?} and nothing was counted");
    };
    check("See [c] and [the c][c].\n\n[c]: //evil.test/x\n");
    check("See [c].\n\n> - [c]:\n//evil.test/x\n");
    check("See [c].\n\n[c]: evil.html \"title\"\n[a\nb]: /evil\n");
    check("A [x](//evil.test/x) b ![](//evil.test/y) c [d](evil.html) e <//evil.test>");
    check("``` a`b\n[x](https://evil.test)\n```\n");
    check("~~~\ncode\n~~~~ x\n~~~\n[x](https://evil.test)");
    check("- a\n  ```\n  code\n[x](https://evil.test)\n```\n");
    check("> ```\n> code\n[x](https://evil.test)\n");
    check("- > ```\n  > [x](https://evil.test)\n  > ```\n> [x](https://evil.test)\n");
    check("    ```\n[x](https://evil.test)\n    ```\n");
    check("a ` b\nc `[x](https://evil.test)` d");
    check("a ` b\nc `` d ` [x](https://evil.test) `` e");
    check("| a ` | [x](https://evil.test) ` |\n|---|---|\n| ` | [x](https://evil.test) ` |");
    check(&format!("<a title=\"{}\" href=\"https://evil.test\">x</a>", "y".repeat(3_000)));
    check("<img\nsrc=https://evil.test/p.png> <a\nhref='//evil.test'>x</a>");
    check("a<br>\n\n<br>\n```\n\n[x](https://evil.test)\n```\n");
    check("<script>\n```\n</script>\n[x](https://evil.test)");
    check("<mailto:a@evil.test> <a@evil.test> <1@evil.test> <x-y:z>");
    check("[S1001](\nhttps://evil.test) [x](\nhttps://evil.test) [S1001]:\nevil.html\n");
    check("[S1001]: evil.html\n\n[S1001]");
    check("\\\\[x](https://evil.test) \\![x](https://evil.test) [x\\](https://evil.test)");
    check(&format!("{}\\`[x](https://evil.test)`", "y".repeat(2_047)));
    check("ftp://evil.test/x ws://evil.test mailto:me@evil.test //evil.test/x xhttp://evil.test");
}

#[test]
fn what_the_stream_cannot_know_the_proof_strips() {
    let check = |markdown: &str, expected: &str| {
        let citation = Citation::new(1, SourceId(1001), 0, 3);
        let proof = proof(markdown, std::slice::from_ref(&citation)).expect("something is found");
        assert_eq!(proof.markdown, expected);
        let end = proof.citations.last().map(|citation| (citation.start, citation.end));
        assert_eq!(end, Some((0, 3)));
    };
    check("[1] a [b *c*](https://evil.test \"t\") d", "[1] a b *c* d");
    check("[1] ![b](x.png)![](y.png) c", "[1] b c");
    check("[1] [![b](x.png)](y) c", "[1] b c");
    check("[1] <b onclick=x>c</b> <br>", "[1] \\<b onclick=x>c</b> <br>");
    check("[1] <https://evil.test/x> and www.evil.test/y.", "[1] evil.test and evil.test.");
    check("[1] see [c]\n\n[c]: //evil.test\n\nd", "[1] see [c]\n\n\n\nd");
    assert_eq!(proof("[1] plain `[x](y)` \\[x](y) $a[1]$ 1 < 2 <sup>2</sup>", &[]), None);
    let list = "Dues [1].\n\n### Sources\n\n- [1] Tariff: https://harbour.test/tariff\n";
    assert_eq!(proof(list, &[]), None);
}

#[test]
fn what_is_not_certainly_a_citation_stays() {
    let check = |text: &str| {
        check(text, &shown(text), 0);
        assert_eq!(proof(text, &[]), None);
    };
    check("A rise of 37 % (95% CI [22, 54]), ages [18-65], on a scale [1, 2].");
    check("Values in [0, 1] and [0], the interval [1, 2] and [-1, 1] and [1.5, 2] in [2031].");
    check("The entry a[1], x_max[2] and b[1][2], and $x \\in [1, 2]$, $$v = [1]$$.");
    check("The `S3` bucket [S3 bucket], the list [x] and the task [ ] or [sic].");
    check("Inline `a[1] [S1001]` and ``b`[2]`` code, `List<T>` too.");
    check("```rust\nlet x = a[1]; // https://evil.test\n```\ndone");
    check("1. Run:\n   ```sh\n   curl https://evil.test [1]\n   ```\n2. Done.");
    check("- a\n    - b\n\n      ~~~\n      x[1] [S1001]\n      ~~~\n    - c");
    check("> ```\n> x[1] <a>\n> ```\n\nquoted");
    check("x < 2, 3 > 2, a <- b, H<sub>2</sub>O, 10<sup>6</sup>, Tom & Jerry, a // b, 1/2//3");
    check("Prices of $5, $6 and US$7 for data: one, two; ratio 3:1; note: yes; file://");
    check("שלום [טקסט] مرحبا (نص) 来源很多。");
    check("| a | b |\n|---|---|\n| [0, 1] | a<br>b |");
    check("## Sources of error\n\nFew [x].");
    check("## Literatur\n\nDie Literatur ist reich. Sie reicht weit.\n\nUnd tief.");
    check("[Note]: Important\n".trim_end().replace("]:", "]\\:").as_str());
    check("---\n\n***\n\n* * *\n\n- - -\n\ntitle\n=====");
}

#[test]
fn a_generic_type_is_shown_and_tags_lose_their_bite() {
    check("A Vec<T> and <T>.", "A Vec\\<T> and \\<T>.", 0);
    check("x <b onclick=\"y\">z</b> <!-- hidden --> a", "x \\<b onclick=\"y\">z</b>  a", 0);
    check("<br>\nx", "\\<br>\nx", 0);
}

#[test]
fn more_ways_to_cite_a_retrieved_page() {
    check("[dues](S1001) [1](https://harbour.test/tariff) \\[S1002\\]", "dues [1] [2]", 0);
    check("Great![S1001]", "Great![1]", 0);
}

#[test]
fn a_list_goes_only_if_most_of_it_are_references() {
    let counted = |text: &str, expected: &str, removed: u32| {
        let mut resolver = Resolver::new(sources());
        assert_eq!(body(&mut resolver, &[text]), expected, "for {text:?}");
        assert_eq!(resolver.removed(), removed, "in {text:?}");
    };
    counted("A.\n\n## Sources\n- [S1002] x\n- https://evil.test\n- Y\n", "A.", 3);
    counted("A.\n\n## Sources\n[1] x\n[2] y\n\nSeen in March, all of them.\n", "A.\n\nSeen in March, all of them.", 2);
    counted(
        "## Citations\nThe most cited work is X.\nIt is old.\n- [S1002]\n",
        "## Citations\nThe most cited work is X.\nIt is old.\n- [1]",
        0,
    );
    counted(
        "## Open-source tools\n- [Reader](https://evil.test) is fast\n- [Writer](https://harbour.test/tariff)\n",
        "## Open-source tools\n- Reader is fast\n- Writer [1]",
        0,
    );
    counted("A\n[1]: https://evil.test/x \"t\"\nB", "A\nB", 1);
    let long = format!("A.\n## Sources\n{}", "- [1] https://evil.test\n".repeat(10_000));
    counted(&long, "A.", 10_000);
}

#[test]
fn controls_and_turned_text_are_not_stored() {
    check("a\u{1b}[2J\r b\u{202e}c [S1001]\0", "a [2J  bc [1]", 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn chunks_never_change_the_result(
        words in prop::collection::vec(prop::sample::select(vec![
            "[S1001]", "[S1002, S9]", "[", "]", "(", ")", "`", "``", "\n", " ", "S1001", "S1", "https://evil.test/a",
            "http", "www.", "【S1001】", "#", "## Sources", "Sources:", "**", "```", "- x", "![a](b)", "[t](https://museum.test)", "[t](https://evil.test/a)", "](https://evil.test/a)",
            "<a href=x>", "<", ">", "[1]", "!", "é", "。", "\\",
        ]), 0..24),
        cuts in prop::collection::vec(0usize..200, 0..8),
    ) {
        let text = words.concat();
        let mut whole = Resolver::new(sources());
        let expected = whole.push(&text) + &whole.finish();
        prop_assert!(text.contains('`') || !expected.contains("//evil.test"), "only code may hold the address: {}", expected);
        let mut borders: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).filter(|&cut| text.is_char_boundary(cut)).collect();
        borders.extend([0, text.len()]);
        borders.sort_unstable();
        let mut pieces = Resolver::new(sources());
        let mut actual: String = borders.windows(2).map(|pair| pieces.push(&text[pair[0]..pair[1]])).collect();
        actual.push_str(&pieces.finish());
        prop_assert_eq!(&actual, &expected);
        prop_assert_eq!(pieces.output.written(), actual.chars().count());
    }

    #[test]
    fn only_citations_are_touched(blocks in prop::collection::vec(block(), 1..8), size in 1usize..40) {
        // Between the blocks a paragraph ends whatever list was open.
        let mut text = blocks.join("\n\nIt goes on.\n\n");
        if text.contains("[^7]") {
            text.push_str("\n\nIt goes on.\n\n[^7]: A remark of ours, not a source.");
        }
        let (mut expected, mut order) = (String::new(), Vec::new());
        let mut pieces = text.split("[S");
        expected.push_str(pieces.next().unwrap());
        for piece in pieces {
            let (id, rest) = piece.split_once(']').unwrap();
            if !order.contains(&id) {
                order.push(id);
            }
            let number = order.iter().position(|known| *known == id).unwrap() + 1;
            expected.push_str(&format!("[{number}]{rest}"));
        }
        let expected = shown(&expected);
        let mut resolver = Resolver::new(sources());
        let chars: Vec<char> = text.chars().collect();
        let mut markdown: String =
            chars.chunks(size).map(|part| resolver.push(&part.iter().collect::<String>())).collect();
        markdown.push_str(&resolver.finish());
        let (resolver, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
        let list = crate::domain::report::parts(&markdown).0;
        prop_assert_eq!(list.trim_end(), expected.trim_end());
        prop_assert_eq!((resolver.dropped(), resolver.removed()), (0, 0));
        prop_assert_eq!(proof(&markdown, resolver.citations()), None);
    }

    #[test]
    fn whatever_is_written_links_to_nothing(text in nasty_markdown()) {
        let (markdown, _) = settled(&text);
        prop_assert!(links(&markdown).is_empty(), "{:?} became {:?}: {:?}", text, markdown, links(&markdown));
        prop_assert_eq!(proof(&markdown, &[]), None, "a second reading finds nothing");
    }

    #[test]
    fn nasty_text_in_any_chunks_is_the_same(text in nasty_markdown(), size in 1usize..9) {
        let mut whole = Resolver::new(sources());
        let expected = whole.push(&text) + &whole.finish();
        let mut pieces = Resolver::new(sources());
        let chars: Vec<char> = text.chars().collect();
        let mut actual: String = chars.chunks(size).map(|part| pieces.push(&part.iter().collect::<String>())).collect();
        actual.push_str(&pieces.finish());
        prop_assert_eq!(actual, expected);
        let again = |resolver: &Resolver| resolver.renumbered().map(|(_, markdown)| markdown);
        prop_assert_eq!(again(&pieces), again(&whole));
        prop_assert_eq!((pieces.dropped(), pieces.removed()), (whole.dropped(), whole.removed()));
        prop_assert_eq!(pieces.citations(), whole.citations());
    }
}

/// Returns a text of ours with a backslash before each number in brackets that belongs to a name.
fn shown(text: &str) -> String {
    let names = ["entry a[", "x_max[", "and b[", "chord [", "isotope [", "| c["];
    let escaped = |text: String, name: &str| text.replace(name, &name.replace('[', "\\["));
    names.into_iter().fold(text.to_owned(), escaped).replace("b\\[1][", "b\\[1]\\[")
}

/// Returns a block of a report whose only citations are `[S1001]` and `[S1002]`.
fn block() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "the tide",
        "paid by dues [S1001],",
        "and a loan [S1002],",
        "(95% CI [22, 54])",
        "ages [18-65]",
        "a value in [0, 1]",
        "the entry a[1]",
        "$x \\in [1, 2]$",
        "\\(y = b_{1} + [2]\\)",
        "`v[3]`",
        "H<sub>2</sub>O",
        "[sic]",
        "[2031]",
        "12 km²",
        "the vector [1, 2]",
        "the chord [2]",
        "isotope [14]C",
        "in ［括号］ and 〔2031〕",
        "issue [#2]",
        "noted[^7]",
        "as Smith et al. (2023) found (Roe & Doe, 2021)",
        "figure [1a] and compound [2b]",
        "(source: the town)",
        "on page [p. 3] (pp. 4-9)",
        "(a long remark between parentheses, which goes on and on [S1001] until it ends)",
        "قيمة في [0, 1] مدفوعة [S1001]",
        "השער [S1002] משולם",
        "水闸由税支付[S1001]。",
        "1 < 2",
        "**bold** _and_ so on",
    ]);
    let sentence = prop::collection::vec(part, 1..6).prop_map(|parts| format!("It is {}.", parts.join(" ")));
    let fixed = prop::sample::select(vec![
        "```\nx[1] = [2, 3]\n```",
        "    let x = y[2] + [3];\n\n    z[1]",
        "> ```\n> q[1] and [2]\n> ```",
        "> It is quoted, in [0, 1].",
        "$$\nA = [1, 2] \\cdot x[1]\n$$",
        "\\[\nB_{1} = [3]\n\\]",
        "| a | b |\n|---|---|\n| [0, 1] | c[1] [S1002] |",
        "- one\n  - two [S1001]\n\n        code[1] = [2]",
        "## Sources of error\n\nThere are few of them. We know all.",
        "## Literatur\n\nDie Literatur ist reich. Sie reicht weit.",
        "## Sources\n\n- members paid most of it [S1001]\n- a loan [S1002]",
        "## References\n\nSmith (2023) found that turbines fail.",
        "## 来源\n\n这条河的来源在山上。它流向大海。",
        "## Citations\n\nThe most cited work is old. Nobody knows why.",
    ]);
    prop_oneof![3 => sentence, 2 => fixed.prop_map(str::to_owned)]
}

/// What is special in Markdown, and what is special to us.
const WORDS: [&str; 85] = [
    "[S1001]",
    "[c]",
    "[c]: //evil.test/x",
    "[c]:",
    "[",
    "](",
    "]",
    ")",
    "(",
    "[x](https://evil.test)",
    "[x](//evil.test)",
    "![x](evil.png)",
    "[x][c]",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "\\",
    "<",
    ">",
    "<a href=//evil.test>",
    "</a>",
    "<br>",
    "<b>",
    "<!--",
    "-->",
    "<https://evil.test>",
    "<a@evil.test>",
    "https://evil.test/a_b",
    "www.evil.test",
    "//evil.test/x",
    "javascript:alert(1)",
    "*",
    "**",
    "_",
    "$",
    "|",
    "|---|",
    "---",
    "===",
    "!",
    "x",
    "a b",
    "S1001",
    "[1]",
    "［1］",
    "⟦",
    "⟧",
    "【4:0†source】",
    "(Source: https://evil.test/b)",
    "(Smith, 2023)",
    "- Smith, J. (2023). T. https://museum.test/",
    "[1, p. 3]",
    "[1a]",
    "[S 1001]",
    "turn0search1",
    "doi:10.1234/x",
    "\\cite{S1001}",
    "[S1001",
    "<sup>[2]</sup>",
    "[^S1001]:",
    "[0, 1]",
    "age [1]",
    "Gen Z[2]",
    "$$",
    "`a | [2] <b>`",
    "[2](#ref-2)",
    "[1](#part)",
    "[1], [2] Museum",
    "***",
    "&lt;",
    "&#91;",
    "Sources:",
    "## Sources",
    "é",
    "来源",
    "\"",
    "'",
    ":",
    "<script>",
    "</script>",
    "<div>",
    "\u{202e}",
    "\r",
];

/// Generates lines of such words, nested and broken.
pub(super) fn nasty_markdown() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "", "", "", "> ", "- ", "1. ", "  ", "    ", "      ", "> > ", "- > ", "> - ", "\t", "10) ", "# ", "| ", "* ",
    ]);
    let word = prop::sample::select(WORDS.to_vec());
    let line = (start.clone(), start, prop::collection::vec(word, 0..6), prop::bool::ANY)
        .prop_map(|(one, two, words, spaced)| format!("{one}{two}{}", words.join(if spaced { " " } else { "" })));
    prop::collection::vec(line, 1..9).prop_map(|lines| lines.join("\n"))
}

/// Text reaches readers line by line, also below a heading that only sounds like one over a source list.
#[test]
fn prose_is_passed_on_line_by_line() {
    let mut resolver = Resolver::new(sources());
    resolver.push("# What the sources say\n\n");
    assert_eq!(resolver.push("## origins\n"), "# What the sources say\n\n## origins\n");
    assert_eq!(resolver.push("Dues of 4 crowns pay the gate. [S1001]\n"), "Dues of 4 crowns pay the gate. [1]\n");
    resolver.push("## Open-source tools\n");
    assert_eq!(resolver.push("- Grep finds. [S1002]\n"), "## Open-source tools\n- Grep finds. [2]\n");
}
