//! Reports that invent, or are written so that a true citation looks like one that is not: what was invented goes,
//! with a count, and what cites a source of this run stays. However often a thing is repeated, reading it is linear.

use super::*;
use crate::domain::growth;

fn sources() -> Vec<Source> {
    let source = |(id, url, title): (u32, &str, &str)| Source::example(id, url, title);
    let all = [
        (1001, "https://harbour.test/tariff", "Harbour tariff"),
        (1002, "https://museum.test/", "Museum of tides"),
        (1003, "skua.md", "Skua"),
        (1004, "https://doi.org/10.1234/tides.7", "Tides, a paper"),
        (1005, "https://arxiv.org/abs/2301.12345", "Tides, an early paper"),
    ];
    all.into_iter().map(source).collect()
}

/// Returns the text above our own list, and how many citations and lines were removed.
fn settled(text: &str) -> (String, u32, u32) {
    let mut resolver = Resolver::new(sources());
    let markdown = resolver.push(text) + &resolver.finish();
    let (resolver, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
    assert_eq!(proof(&markdown, resolver.citations()), None, "{text:?} became {markdown:?}");
    let body = crate::domain::report::parts(&markdown).0.trim_end().to_owned();
    (body, resolver.dropped(), resolver.removed())
}

fn check(text: &str, expected: &str, dropped: u32, removed: u32) {
    assert_eq!(settled(text), (expected.to_owned(), dropped, removed), "for {text:?}");
}

#[test]
fn references_without_an_address_go_with_their_list() {
    let check = |list: &str, removed: u32| check(&format!("Dues [S1001].\n\n{list}\n"), "Dues [1].", 0, removed);
    check(
        "## References\n\nSmith, J. et al. (2023). The Turbine Book. Nowhere Press.\n\nDoe, A. (2024). \"Skua and me.\" Journal of Turbines 5(2), 1-9.",
        2,
    );
    check(
        "### Works cited\n\nSmith (2020). Made-up title. Journal of Nothing 3(2).\n\nDoe (2021). Another. DOI 10.1/abc.",
        2,
    );
    check("Literatur:\n\n- Müller, H. (2021): Erfunden. Verlag.\n- Meier, K. (2022): Auch erfunden.", 2);
    check("**Bibliography**\n\nSmith, John. \"The Turbine.\" Journal of Turbines, vol. 5, 2024, pp. 1-9.", 1);
    check("## References\n\nWorld Bank. Turbines of the world. Washington University Press, 2023.", 1);
    check("参考文献\n\n［1］ 王 (2023) 假的.\n［2］ 李 (2024) 假的.", 2);
    check("Sources\n-------\n\n- Smith (2023). Private communication", 1);
    // One list behind another.
    check(
        "## References\n\nSmith (2023). The Book.\n\n## Bibliography\n\n- Smith (2023), The Book\n- Doe (2024), Skua",
        3,
    );
}

#[test]
fn references_in_scripts_without_capital_letters_go_too() {
    let check = |list: &str, removed: u32| check(&format!("Dues [S1001].\n\n{list}\n"), "Dues [1].", 0, removed);
    check("## 参考文献\n\n1. 张三. 假论文. 计算机学报, 2020.\n2. 李四（2021）. 又一篇.", 2);
    check("## 参考文献\n\n- 张三 (2020). 假论文. 北京大学出版社.", 1);
    check("## 参考文献\n\n1. 山田太郎「偽の論文」日本学会誌、2020年。", 1);
    check("## المراجع\n\n1. أحمد علي (2020). بحث ملفق. مجلة العلوم.", 1);
    check(
        "## Список литературы\n\n1. Иванов И. И. (2020). Ложная статья.\n2. Петров П. Ложь // Журнал лжи. 2021. № 3.",
        2,
    );
}

#[test]
fn a_footnote_that_is_a_reference_goes_with_its_mark() {
    check(
        "As shown [^1]. Dues [S1001].\n\n[^1]: Smith, J. (2020). Fake paper. Journal of X, 12(3), 4-5.",
        "As shown. Dues [1].",
        1,
        1,
    );
    for said in ["Smith (2020) found that this fails in winter.", "Skelderwick. The press stands there."] {
        let remark = format!("As shown [^1]. Dues [1].\n\n[^1]: {said}");
        check(&remark.replace("[1].", "[S1001]."), &remark, 0, 0);
    }
}

#[test]
fn papers_that_were_not_retrieved_go_however_they_are_named() {
    for paper in [
        "(DOI: 10.1000/xyz123)",
        "DOI: 10.1000/xyz123",
        "DOI 10.1000/182",
        "doi：10.1000/xyz123",
        "10.1000/xyz123",
        "arXiv preprint 2101.00001",
        "(arXiv preprint arXiv:2101.00001)",
        "arXiv preprint arXiv:2101.00001",
    ] {
        check(&format!("As shown {paper}. Dues [S1001]."), "As shown. Dues [1].", 1, 0);
    }
    for said in
        ["A DOI names a paper.", "Of 10.1000/2 none.", "arXiv is full.", "A doi: it is 7.", "10.25/4 is 2.5625."]
    {
        check(said, said, 0, 0);
    }
}

#[test]
fn prose_under_such_a_heading_is_no_reference() {
    let check = |section: &str| check(section, section, 0, 0);
    check("## 来源\n\n研究表明，2020年大学的费用上涨。\n\n价格在2020年上涨（2021年下跌）。");
    check("## References\n\nSmith (2023) found that turbines fail. Skua (2030), the third one, did not.");
    check("## Literature\n\nThe journal was accessed in 2023 at the university. In 2024, the press closed.");
    check("## Sources\n\nYesterday, the journal of the university was sold (2030).");
    check("## Sources\n\nDues pay for the gate.\n\n## Bibliography\n\nThe town has one book.");
    check("Sources\n\nare many.");
}

#[test]
fn each_heading_over_sources_is_judged_by_its_own_lines() {
    check(
        "A [S1002].\n\n## References\n\nDoe (2021). Another.\n\nRoe (2022). One.\n\n### Bibliography of the town\n\nThe town has one book [S1001].",
        "A [1].\n\n### Bibliography of the town\n\nThe town has one book [2].",
        0,
        2,
    );
    check(
        "## Citations in this work\n\nSee [S1002].\n\n### Works cited\n\nDoe (2021). Another.\n\n### Bibliography of the town\n\nThe town has one book [S1001].",
        "## Citations in this work\n\nSee [1].\n\n### Bibliography of the town\n\nThe town has one book [2].",
        0,
        1,
    );
}

#[test]
fn a_line_that_cites_what_it_says_is_no_entry() {
    check(
        "## Sources\n\n- Members paid most of it [S1001]\n- tariffs [S1002]\n\n## End\n\nDone.",
        "## Sources\n\n- Members paid most of it [1]\n- tariffs [2]\n\n## End\n\nDone.",
        0,
        0,
    );
    check(
        "**References**\n\n1. Smith https://evil.test/9\n\nIt is said [S1001] at https://evil.test/q too.\n\n> So be it [S1002]",
        "It is said [1] at evil.test too.\n\n> So be it [2]",
        1,
        1,
    );
    // A title is not said, and an entry may name its source behind it.
    check("A [S1001].\n\n## Sources\n- Harbour tariff [S1001]\n- Museum [S1002]: https://museum.test/", "A [1].", 0, 2);
    check("A [S1001].\n\n## Sources\n- Dues of 2031 https://evil.test [S1001]", "A [1].", 0, 1);
}

#[test]
fn code_left_open_ends_before_the_list_of_sources() {
    let check = |text: &str, end: &str| {
        let mut resolver = Resolver::new(sources());
        let streamed: String = text.chars().map(|character| resolver.push(&character.to_string())).collect();
        let markdown = streamed + &resolver.finish();
        assert!(markdown.contains(end), "{text:?} became {markdown:?}");
        let list = crate::domain::report::parts(&markdown).1;
        assert!(list.starts_with("### Sources\n\n- [1] Harbour tariff"), "{text:?} became {markdown:?}");
        let ends = pulldown_cmark::Parser::new(&markdown)
            .any(|event| matches!(event, pulldown_cmark::Event::Start(pulldown_cmark::Tag::Heading { .. })));
        assert!(ends, "the list is code in {markdown:?}");
    };
    check("A [S1001].\n\n```\ncode [1]", "code [1]\n```\n\n### ");
    check("A [S1001].\n\n~~~~ rust\ncode\n\n## x\n", "## x\n~~~~\n\n### ");
    check("A [S1001].\n\n- b\n  ```\n  code", "  code\n\n### ");
    check("A [S1001].\n\n> ```\n> code", "> code\n\n### ");
}

#[test]
fn indented_code_is_kept_as_fenced_code_is() {
    check("A [S1001]:\n\n    x = a[1]  # [S1001]\n", "A [1]:\n\n    x = a[1]  # [S1001]", 0, 0);
    check("- A [S1001]:\n\n  It goes on [S1002].\n", "- A [1]:\n\n  It goes on [2].", 0, 0);
}

/// As models do that were asked for Markdown.
#[test]
fn a_text_that_stands_in_a_block_of_markdown_is_none() {
    check("```markdown\n# Dues\n\nDues [S1001].\n```\n", "# Dues\n\nDues [1].", 0, 0);
    let inner = "Dues [S1001].\n\n```sh\na[1] # [S1001]\n```\n\nTides [S1002].";
    let expected = inner.replace("Dues [S1001]", "Dues [1]").replace("[S1002]", "[2]");
    for fence in ["```", "`````"] {
        check(&format!("{fence}md\n{inner}\n{fence}"), &expected, 0, 0);
    }
    let bare = |inner: &str| inner.replace("```sh", "```");
    check(&format!("`````markdown\n{}\n`````\n", bare(inner)), &bare(&expected), 0, 0);
    check("Dues [S1001]:\n\n```markdown\n[S1001]\n```\n", "Dues [1]:\n\n```markdown\n[S1001]\n```", 0, 0);
    check("```text\n[S1001]\n```\n\nDues [S1001].", "```text\n[S1001]\n```\n\nDues [1].", 0, 0);
}

#[test]
fn marks_of_other_programs_lead_nowhere_and_go() {
    let gone = |mark: &str| check(&format!("Dues are paid {mark}. [S1001]"), "Dues are paid. [1]", 1, 0);
    for mark in ["【4:0†source】", "[4:0†source]", "[5†source]", "【4†L1-L9】", "[9†other.md]", "[turn0search3]"]
    {
        gone(mark);
    }
    for mark in ["[footnote 2]", "[Web:3]", "[Doc 2]", "〔Source 2〕"] {
        gone(mark);
    }
    for mark in ["［1］", "〔1〕", "⟦1⟧", "[１]", "[١]", "[#1]"] {
        check(&format!("Dues are paid {mark}."), "Dues are paid.", 1, 0);
    }
    for mark in ["citeturn0search0", "citeturn0search0turn0news1", "cite⟦turn0search1⟧", "(turn0view2)"] {
        gone(mark);
    }
    gone("\u{E200}cite\u{E202}turn0search0\u{E202}turn1news4\u{E201}");
    gone("[oai_citation:1‡evil](https://evil.test/x)");
    gone("<sup>[2]</sup>".trim_start());
    check("Dues【2:0†skua.md】 are [S1001]［2†］", "Dues[1] are [2]", 1, 0);
    // What only looks like one.
    for text in [
        "I turn0 and saturn1search.",
        "It is cited in ［括号］ and 〔2031〕 and ⟦x⟧.",
        "Issue [#12] and [#1234].",
        "m², 10¹², ¹⁴C and x^1^.",
        "A dagger† and [x†y].",
    ] {
        check(text, text, 0, 0);
    }
}

#[test]
fn such_marks_lead_through_a_list_of_the_models_own() {
    let list =
        "## Sources\n\n1. T: https://harbour.test/tariff\n2. M: https://museum.test/\n3. Never: https://evil.test/\n";
    for (first, second, third) in [
        ("［1］", "［2］", "［3］"),
        ("〔1〕", "〔2〕", "〔3〕"),
        ("[#1]", "[#2]", "[#3]"),
        ("[１]", "[２]", "[３]"),
        ("^1^", "^2^", "^3^"),
        ("【1†source】", "【2†L1】", "【3†source】"),
        ("<sup>1</sup>", "<sup>2</sup>", "<sup>3</sup>"),
    ] {
        let text = format!("Tides{second} and dues{first} and nothing{third}.\n\n{list}");
        check(&text, "Tides[1] and dues[2] and nothing.", 1, 3);
    }
    check(
        "Dues¹ and tides<sup>2</sup> [S1001], 12 km².\n\n## References\n\n1. Smith (2023). The Book.\n2. Doe (2024). Other.\n",
        "Dues and tides [1], 12 km².",
        2,
        2,
    );
}

#[test]
fn no_debris_is_left_of_a_citation() {
    check(
        "A [^S1001] and \\cite{S1001,S1002}, \\citep{S1003}.",
        "A [1] and \\[1][2], [3].".replace('\\', "").as_str(),
        0,
        0,
    );
    check("A word<sup>[2]</sup> or <sup>[S1001]</sup>.", "A word or <sup>[1]</sup>.", 1, 0);
    check("Final words [S1002", "Final words [1]", 0, 0);
    check("All [S1001-S1003] and [S1001–S1009].", "All [1][2][3] and [1][2][3][4][5].", 1, 0);
    check(
        "See [ref][r1] and [tariff][r2].\n\n[r1]: https://evil.test/ref \"t\"\n[r2]: https://harbour.test/tariff\n",
        "See ref and tariff [1].",
        1,
        2,
    );
    check("See [ref][r1].\n\n[r1]: https://evil.test/ref\n", "See ref.", 1, 1);
    check("Dues[^S1001] here.\n\n[^S1001]: Said so.", "Dues[1] here.\n\n[1]\\: Said so.", 0, 0);
    check("Code \\cite{key} stays.", "Code \\cite{key} stays.", 0, 0);
}

#[test]
fn plain_data_in_brackets_stays() {
    for text in ["The vector [1, 2, 3] is short.", "An array [1, 2]."] {
        check(text, text, 0, 0);
    }
    check("Isotope [14]C and [60]Co, chord [7].", "Isotope \\[14]C and \\[60]Co, chord \\[7].", 0, 0);
    // Unless the model's own list has all of these numbers.
    check(
        "A vector [1, 2].\n\n## Sources\n[1] https://harbour.test/tariff\n[2] https://museum.test/\n",
        "A vector [1][2].",
        0,
        2,
    );
}

#[test]
fn papers_are_cited_or_taken_out_and_hosts_stay() {
    check("Tides (doi:10.1234/tides.7) and arXiv:2301.12345v2.", "Tides ([1]) and [2].", 0, 0);
    check("Tides (doi:10.1000/xyz123) and arXiv:2302.00001 too.", "Tides and too.", 2, 0);
    check(
        "See example.com, evil.test/path, and doi: unknown.",
        "See example.com, evil.test/path, and doi: unknown.",
        0,
        0,
    );
    check(
        "At http://127.0.0.1:18182/p0?a=1 or (http://10.0.0.1/x) or <http://10.0.0.2>, https://evil.test/x.",
        "At or or, evil.test.",
        4,
        0,
    );
}

/// Repeated, each of these has been slow in one program or another.
const SHAPES: &[&str] = &[
    "[",
    "]",
    "(",
    "[[x](",
    "![",
    "`",
    "`a",
    "<",
    "<a ",
    "<a>",
    "【",
    "$",
    "$a[1]",
    "\\",
    "\\[",
    "> ",
    "- ",
    "* ",
    "1. ",
    "#",
    "**",
    "|",
    "//",
    "x://a.b ",
    "http://",
    "S1001",
    "[S1001]",
    "[S1001, ",
    "[1, ",
    "[x]: y\n",
    "(Smith, 2023) ",
    "(Smith et al., 2023; ",
    "- Smith, J. (2023). T. https://museum.test/\n",
    "(Source: https://museum.test/ ",
    "[1, p. 3] ",
    "```\n",
    "> ```\n",
    "` \n",
    "Sources:\n",
    "## Sources\n- x\n",
    "[x](y)",
    "<!--",
    "_a",
    "~~~",
    "s ",
    "中",
    "](",
    "[a](<b",
    "[1] https://a.test/x\n",
    "1. x https://a.test\n",
    "| 1 | https://a.test |\n",
    "[1] [2] ",
    "[^1]: x\n",
    "[^1]: https://harbour.test/tariff\n[^1] ",
    "[1]: https://harbour.test/tariff\n[x][1] ",
    "## Sources\n[1] https://harbour.test/tariff\n",
    "x¹ ",
    "x^1^ ",
    "【4:0†source】",
    "citeturn0search0",
    "⟦",
    "［1］",
    "\\cite{S1001",
    "doi:10.1234/x ",
    "[S1001",
    "<sup>[1]</sup>",
    "## Sources\nSmith (2023). x [S1001] [S1001]\n",
    "x<sup>1</sup>",
    "x¹˒²",
    "<a href=https://museum.test/>",
    "<a href=https://museum.test/>1</a>",
    "[1](https://museum.test/) [1] ",
    "[x](https://museum.test/) [1] ",
    "(Source 1) ",
    "[cite_start]",
    "Sources: [1] https://museum.test/ ",
    "Sources: [1] https://museum.test/\n",
    "## Sources\n```\n[1] https://a.test\n```\n",
    "## Sources\n### A\n[1] https://a.test\n",
    "- [a](https://museum.test/)\n",
    "[^1]: https://museum.test/\n    x\n",
    "$$\n",
    "\\(a",
    "\\(",
    "    [1]\n\n",
    "\n    a",
    "C and ",
    "B[2]",
    "95 % KI ",
    "$$ ",
    "`a | b` ",
    "|--|\n",
    "a | b\n-|-\n",
    "[1](#ref-1) ",
    "[1](#a) ",
    "## Sources\n[1], [2] ",
    "[1] and ",
    "## Sources\n---\n[1] https://a.test\n---\nx\n",
    "**Sources**\n| 1 | https://a.test |\n",
    "## Sources\n<a id=\"x\">",
];

/// What an MCP server says of a page is cited by its id; who names the page's address means the page.
#[test]
fn an_address_leads_to_the_page_before_what_a_server_says_of_it() {
    let of_server =
        Source { engine: "mcp:register".to_owned(), ..Source::example(1001, "https://a.test/x#mcp:register", "X") };
    let page = Source::example(1002, "https://a.test/x", "X");
    let check = |sources: Vec<Source>, id: u32| {
        let mut resolver = Resolver::new(sources);
        resolver.push("Dues pay the gate ([X](https://a.test/x)).");
        resolver.finish();
        let cited: Vec<u32> = resolver.citations().iter().map(|citation| citation.source_id.0).collect();
        assert_eq!(cited, [id]);
    };
    check(vec![of_server.clone(), page], 1002);
    check(vec![of_server], 1001);
}

#[test]
fn work_grows_with_the_length() {
    for shape in SHAPES {
        growth::check(shape, 4_000, |text| drop(tests::settled(text)));
        growth::check(shape, 16_000, |text| drop(cited_ids(text)));
    }
    // A word without an end, in an entry of a list.
    for (head, shape) in [
        ("## Sources\n", "a-"),
        ("## Sources\n- [1] ", "ab/"),
        ("[1] ", "a.b,"),
        ("1. ", "中/"),
        ("## Sources\n[1]", ", [2]"),
        ("## Sources\n", "| [1] x |\n"),
    ] {
        growth::check(shape, 4_000, |text| drop(tests::settled(&format!("{head}{text}"))));
    }
}
