//! Reports as they are written every day: ordinary words before a number, links in sentences, code, notes and tables
//! around the model's own list.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{
    lookalikes::{A, B, C, check, settled, sources},
    tests::nasty_markdown,
    *,
};

/// Returns a list of the model's own with all sources.
fn list() -> String {
    format!("### Sources\n[1] T: {A}\n[2] M: {B}\n[3] C: {C}\n")
}

#[test]
fn ordinary_words_before_a_number_do_not_make_it_an_interval() {
    let under = |text: &str, expected: &str| check(&format!("{text}\n\n{}", list()), expected, 0, 3);
    under(
        "Models are deployed at scale [3]. Risk grows with age [1].\n\nDues [2].",
        "Models are deployed at scale [1]. Risk grows with age [2].\n\nDues [3].",
    );
    under("Rund 40 % der Firmen nutzen KI [2].", "Rund 40 % der Firmen nutzen KI [1].");
    under("Rund 40 % der Firmen nutzen KI [2, 3].", "Rund 40 % der Firmen nutzen KI [1][2].");
    under("They are found in a wide range [2][3].", "They are found in a wide range [1][2].");
    under("It is in the public domain [2, 3].", "It is in the public domain [1][2].");
    under("The truth lies between [1], zwischen [2].", "The truth lies between [1], zwischen [2].");
    under(
        "At regular intervals [1, 2], im mittleren Alter [3].",
        "At regular intervals [1][2], im mittleren Alter [3].",
    );
    // Several numbers behind a figure, or some that the list does not have.
    let stays = |text: &str| under(&format!("{text} So [1]."), &format!("{text} So [1]."));
    stays("It is 4 (95 % KI [2, 3]), 95%-CI [1, 2], 95 % range: [2, 3], CI [2, 3], mean ≈ [2, 3], x ∈ [1, 3].");
    stays("Of all ages [2, 7], on a scale [1, 5], between [3, 9].");
    // What stays never reads as a source.
    under("So [1], mean = [3] and x = [2].", "So [1], mean = \\[3] and x = \\[2].");
}

#[test]
fn a_single_letter_may_belong_to_the_word_before_it() {
    let under = |text: &str, expected: &str| check(&format!("{text}\n\n{}", list()), expected, 0, 3);
    under("Of hepatitis B[2], vitamin D[3].", "Of hepatitis B[1], vitamin D[2].");
    under("Gen Z[3][2] and (Type A[1]).", "Gen Z[1][2] and (Type A[3]).");
    under(
        "Vitamins C and D[2], hepatitis A, B and C[3], vitamin-K[1].",
        "Vitamins C and D[1], hepatitis A, B and C[2], vitamin-K[3].",
    );
    under("As _Nature_[1] and _The Tide_[2] say.", "As _Nature_[1] and _The Tide_[2] say.");
    // Code and mathematics, and numbers that the list does not have.
    let stays = |text: &str, shown: &str| under(&format!("So [1]. {text}"), &format!("So [1]. {shown}"));
    stays(
        "A[1], x[2], the A[3], entry B[1], an array C[2].",
        "A\\[1], x\\[2], the A\\[3], entry B\\[1], an array C\\[2].",
    );
    stays("Type B[2]=4, x_max[3] and hepatitis B[7].", "Type B\\[2]=4, x_max\\[3] and hepatitis B\\[7].");
    stays("Let $a[1]$ be $B[2][3]$, `A[1]`.", "Let $a[1]$ be $B[2][3]$, `A[1]`.");
    check("So [S1001], hepatitis B[2] and a[1].", "So [1], hepatitis B\\[2] and a\\[1].", 0, 0);
}

/// The text of a link stays, although a list calls a source so.
#[test]
fn a_link_is_read_by_its_target() {
    let links = format!("- [Harbour Office]({A})\n- [Tide Museum]({B})\n- [Foreign body](https://foreign.test/x)\n");
    check(
        &format!(
            "Per the [Tide Museum]({B}), tides reach 4 m. [Harbour Office]({A}) and [foreign body](https://foreign.test/x) \
             agree.\n\n## References\n{links}"
        ),
        "Per the Tide Museum [1], tides reach 4 m. Harbour Office [2] and foreign body agree.",
        1,
        3,
    );
    check(
        &format!("Dues (see [Tide]({B}); [Council]({C})).\n\n## Sources\n- [Tide]({B})\n- [Council]({C})\n"),
        "Dues (see Tide [1]; Council [2]).",
        0,
        2,
    );
    // Another page under the same name.
    check(&format!("Per the [Tide Museum]({A}).\n\n## References\n{links}"), "Per the Tide Museum [1].", 0, 3);
    check(&format!("Per [Tide Museum], so.\n\n## References\n{links}"), "Per [1], so.", 0, 3);
    check("Dues [S 1001](https://evil.test/x) and [S1002](https://evil.test/y).", "Dues [1] and [2].", 0, 0);
}

#[test]
fn a_link_within_the_report_cites_only_if_it_leads_to_a_source() {
    let under = |text: &str, expected: &str, dropped: u32| {
        check(&format!("{text}\n\n{}", list()), expected, dropped, 3);
    };
    under("See section [2](#section-two), so [1].", "See section 2, so [1].", 1);
    under("See [2](#2-method), step [3](#step-3), so [1].", "See 2, step 3, so [1].", 2);
    under("So [1](#ref-1), [2](#sources), [[3]](#fn3), [^1](#user-content-fn-1).", "So [1], [2], [3], [1].", 0);
    check(
        &format!("So [1](#tariff), see [2](#tides).\n\n## Sources\n1. <a id=\"Tariff\"></a>T: {A}\n2. M: {B}\n"),
        "So [1], see 2.",
        1,
        2,
    );
    check(
        &format!("Dues rise [Smith et al., 2023](#smith).\n\n## References\nSmith, J., Roe, K. (2023). Dues. {A}\n"),
        "Dues rise [1].",
        0,
        1,
    );
    check("So [1](#ref-1) and [2](#part-two) [S1001].", "So and 2 [1].", 2, 0);
}

#[test]
fn bars_in_code_end_it_in_tables_alone() {
    let stays = |text: &str| check(&format!("{text} [S1001]"), &format!("{text} [1]"), 0, 0);
    stays("Of `Promise<string | null>`, `cat a | grep \"[1]\" <file>` and ``a || b[2]``.");
    stays("- Run `a | b <c>` twice: `d[1]`");
    let live = |text: &str, expected: &str| check(text, expected, 1, 0);
    live("| a | `b | [x](https://evil.test)` |", "| a | `b | x` |");
    live("a | b\n---|---\n`a | [x](https://evil.test)` | [S1001]", "a | b\n---|---\n`a | x` | [1]");
    let escaped = "| `A<b \\| c>` | [S1001] |";
    check(escaped, "| `A\\<b \\| c>` | [1] |", 0, 0);
}

#[test]
fn a_list_goes_although_a_rule_or_a_note_follows() {
    let note = "*Report generated by AI; verify before use.*";
    let goes = |list: &str, rest: &str, removed: u32| {
        check(&format!("Dues [1].\n\n{list}\n"), format!("Dues [1].\n\n{rest}").trim_end(), 0, removed);
    };
    goes(&format!("### Sources\n[1] Harbour tariff: {A}\n---\n{note}"), note, 1);
    goes(
        &format!("### Sources\n[1] Harbour tariff: {A}\n\n{note}\n\nWritten in May.\n\n***\nEnd."),
        &format!("{note}\n\nWritten in May.\n\n***\nEnd."),
        1,
    );
    goes(&format!("**Sources:**\n\n1. Tariff: {A}\n\n---\n\n{note}"), note, 1);
    goes(&format!("## Sources\n[1] {A}\n---\n- made by AI\n- verify"), "- made by AI\n- verify", 1);
    goes(&format!("## Sources\n\n* * *\n\n[1] {A}\n\n___"), "", 1);
    goes(&format!("## Sources\n[1] Harbour tariff\n{note}\nSo be it.\nAmen."), &format!("{note}\nSo be it.\nAmen."), 1);
    // What only begins like an entry, and items behind one.
    let stays = |text: &str| check(text, &text.replace("[S1001]", "[1]"), 0, 0);
    stays("## Sources\n\n[S1001] has most of them.\n\nThe others are lost. Nobody knows where.\n\nSo it is.");
    stays("## Sources\n\n- Harbour tariff [S1001]\n- Rain (40 %)\n- Snow (50 %)\n- Wind (10 %)");
}

#[test]
fn notes_behind_a_list_stay_whatever_their_emphasis() {
    let goes = |note: &str| {
        for list in [list(), format!("## Sources\n- [1] T: {A}\n- [2] M: {B}\n- [3] https://foreign.test/x\n")] {
            check(&format!("Dues [1].\n\n{list}\n{note}\n"), &format!("Dues [1].\n\n{note}"), 0, 3);
        }
    };
    goes("*Prices may have changed since May 2031; ask the office.*");
    goes("**Disclaimer: this is no advice; dues above 40 crowns are not approved.**");
    goes("_Note: all amounts are in crowns of 2031._");
    goes("*As of 3 May 2031*");
    goes("**Written by**: the council");
    // Behind a rule items are none of the list either.
    check(
        &format!("Dues [1].\n\n{}\n---\n- made by AI\n- verify\n", list()),
        "Dues [1].\n\n- made by AI\n- verify",
        0,
        3,
    );
    let groups = format!("## Sources\n- [1] T: {A}\n- [2] M: {B}\n\n---\n- A talk\n- [3] {C}\n");
    check(&format!("Dues [1].\n\n{groups}"), "Dues [1].", 0, 4);
    check("So [1], or [2].\n\n## Sources\n**1.** The town\n**2.** The tide\n", "So, or.", 2, 2);
}

#[test]
fn labels_behind_harmless_tags_are_read() {
    let read = |first: &str, second: &str| {
        let list = format!("### References\n{}\n{}\n", first.replace('@', A), second.replace('@', B));
        check(&format!("Tides [2], dues [[1]](#ref1).\n\n{list}"), "Tides [1], dues [2].", 0, 2);
    };
    read("<a id=\"ref1\"></a>[1] @", "<a id=\"ref2\"></a>[2] @");
    read("- <span id=\"ref1\">[1]</span> @", "- <span id=\"ref2\">[2]</span> @");
    read("<p id=\"ref1\">1. @</p>", "<p id=\"ref2\">2. @</p>");
    read("1. <a name=\"ref1\"></a> T: @", "2. <a name=\"ref2\"></a> M: @");
    read("<a id='ref1'></a> **[1]** <b>T</b>: @", "<div><b>[2]</b> @</div>");
    read("<a href=\"#c1\">[1]</a> @", "<LI><A HREF='#c2'>[2]</A> @");
    read("[1] <a href=\"@\">T</a>", "[2] <a href=\"@\">1. M</a>");
}

#[test]
fn a_range_of_two_brackets_cites_all_of_its_sources() {
    let under = |text: &str, expected: &str, dropped: u32| {
        check(&format!("{text}\n\n{}", list()), expected, dropped, 3);
    };
    for sign in ["-", "–", "—", "~", "至"] {
        under(&format!("Gates [3]. All [1]{sign}[3]."), "Gates [1]. All [2][3][1].", 0);
    }
    under("All 【1】–【3】.", "All [1][2][3].", 0);
    under("So [3]–[1], [2]–[7], [1]–[2](https://evil.test/x), [1] - [3].", "So [1][2], [3]–, [2]–[3], [2] - [1].", 1);
    check("Won [1]–[3] [S1001].", "Won \\[1]–\\[3] [1].", 0, 0);
    check(&format!("So [1]–[3].\n\n## Sources\n[1] {A}\n[3] {B}\n"), "So [1][2].", 0, 2);
}

#[test]
fn sources_named_in_a_sentence_are_renumbered() {
    let under = |text: &str, expected: &str| check(&format!("Gates [3]. {text}\n\n{}", list()), expected, 0, 3);
    under(
        "As source 2 says, so. See reference 1, per source 3; according to source 2 and from source 1.",
        "Gates [1]. As source [2] says, so. See reference [3], per source [1]; according to source [2] and from source [3].",
    );
    under("参见来源2。根据来源1，见来源 3。（来源2）", "Gates [1]. 参见来源[2]。根据来源[3]，见来源 [1]。[2]");
    let others =
        "A source 2 m deep, our source 1, as sources 2, see source 7, per source 1.5, according source 2, 来源2个.";
    under(others, &format!("Gates [1]. {others}"));
    check("As source 2 says [S1001].", "As source 2 says [1].", 0, 0);
}

#[test]
fn an_entry_may_say_more_than_the_title_of_its_source() {
    let sources = || {
        let titles = [
            "Dues of a small harbour",
            "小港口的关税与潮汐研究",
            "Board of the Harbour Trust",
            "Dues of a small harbour, 2030",
        ];
        let source = |(at, title): (u32, &&str)| Source::example(1001 + at, &format!("https://p.test/{at}"), title);
        (0..).zip(&titles).map(source).collect::<Vec<_>>()
    };
    let cited = |entry: &str| {
        let (_, resolver) = settled(sources(), &format!("Dues [1].\n\n### Sources\n[1] {entry}\n"), 7);
        resolver.citations().iter().map(|citation| citation.source_id.0).collect::<Vec<_>>()
    };
    for entry in [
        "Dues of a Small Harbour - Harbour Times",
        "Council: *Dues of a small harbour*",
        "\"Dues of a small harbour\", Harbour Times, 1 May 2031",
        "Roe, J. (2031). Dues of a small harbour, Nowhere Press",
    ] {
        assert_eq!(cited(entry), [1001], "for {entry:?}");
    }
    assert_eq!(cited("Dues of a small harbour (2030), Harbour Times"), [1004]);
    assert_eq!(cited("海洋局：《小港口的关税与潮汐研究》，2031年"), [1002]);
    // Publishers, other titles, two titles, another address.
    for entry in [
        "Board of the Harbour Trust: Tides of May",
        "Tides of May, Board of the Harbour Trust",
        "Dues of a small harbour: a reply, Elsewhere Times",
        "Old dues of a small harbour",
        "\"Dues of a small harbour\", \"Board of the Harbour Trust\"",
        "Dues of a small harbour, https://evil.test/x",
    ] {
        assert_eq!(cited(entry), [0; 0], "for {entry:?}");
    }
    // Running text is no entry.
    let (body, _) = settled(sources(), "So [S1001].\n\n[1] Dues of a small harbour, says one, rise.\n\nThe end.", 7);
    assert_eq!(body, "So [1].\n\n\\[1] Dues of a small harbour, says one, rise.\n\nThe end.");
}

#[test]
fn entries_without_an_address_are_sources_of_that_title() {
    let sources = || {
        let wiki = Source::example(1004, "https://encyclopedia.test/wiki/Tide_(sea)", "Tide (sea) - Wikipedia");
        let twice = [1005, 1006].map(|id| Source::example(id, &format!("https://p.test/{id}"), "Home"));
        sources().into_iter().chain([wiki]).chain(twice).collect::<Vec<_>>()
    };
    let check = |text: &str, expected: &str| {
        for piece in [1, 100] {
            let (body, resolver) = settled(sources(), text, piece);
            assert_eq!(body, expected, "for {text:?}");
            let cited: Vec<u32> = resolver.citations().iter().map(|citation| citation.source_id.0).collect();
            assert_eq!(cited, [1004, 1001], "for {text:?}");
        }
    };
    for list in [
        "[1] Harbour tariff\n[2] Tide (sea) - Wikipedia\n[3] Nothing known\n[4] Home",
        "1. *Harbour Tariff.*\n2. \"Tide (Sea) – Wikipedia\"\n3. Nothing known\n4. Home",
        "| No. | Source |\n|---|---|\n| 1 | Harbour tariff |\n| 2 | Tide (sea) - Wikipedia |\n| 3 | Home |",
    ] {
        check(
            &format!("Tides [2], dues [1], none [3], or [4].\n\n### Sources\n{list}\n"),
            "Tides [1], dues [2], none, or.",
        );
    }
    for list in
        ["---\n[1] Harbour tariff\n[2] Tide (sea) - Wikipedia", "[^1]: Harbour tariff.\n[^2]: Tide (sea) - Wikipedia"]
    {
        check(&format!("Tides[^2], dues[^1].\n\n{list}\n").replace("---", "\n---"), "Tides[1], dues[2].");
    }
    // The address counts before the title.
    check(
        &format!(
            "Tides [1], dues [2].\n\n## Sources\n[1] Harbour tariff: https://encyclopedia.test/wiki/Tide_(sea)\n[2] Museum of tides\n  {A}\n"
        ),
        "Tides [1], dues [2].",
    );
}

#[test]
fn an_entry_may_have_several_numbers() {
    let under = |list: &str, removed: u32| {
        let text = "Dues [1], tides [2], both [3].";
        check(&format!("{text}\n\n### Sources\n{list}\n"), "Dues [1], tides [1], both [2].", 0, removed);
    };
    under(&format!("[1], [2] T: {A}\n[3] M: {B}"), 2);
    under(&format!("- [1] and [2] T: {A}\n- [3] M: {B}"), 2);
    under(&format!("[1] [2] T: {A} [3] M: {B}"), 1);
    under(&format!("[1][2] Harbour tariff\n[3] {B}"), 2);
    under(&format!("[1, 2] T: {A}\n[3] M: {B}"), 2);
    under("- **[1-2]** Harbour tariff\n- [3] Museum of tides", 2);
    check(&format!("Dues [1], tides [4].\n\n## Sources\n[1], [4] T: {A}\n[2] see [3]\n"), "Dues [1], tides [1].", 0, 2);
}

#[test]
fn a_table_of_sources_goes_with_its_head() {
    let text = "Dues [1], tides [2].";
    let goes = |list: &str, removed: u32| check(&format!("{text}\n\n{list}\n"), text, 0, removed);
    let rows = format!("| 1 | T: {A} |\n| 2 | M: {B} |");
    for heading in ["**References**", "**Sources:**", "Sources:", "References"] {
        goes(&format!("{heading}\n\n| No. | Source |\n|---|---|\n{rows}"), 2);
        goes(&format!("{heading}\n| No. | Source |\n|---|---|\n{rows}"), 2);
    }
    goes(&format!("## Where this comes from\n\n| No. | Source |\n|---|---|\n{rows}"), 5);
    goes(&format!("| | Source |\n| :-: | :-- |\n| [1] | T: {A} |\n| [2] | M: {B} |"), 4);
    // Prose behind the table, and tables that say something.
    check(
        &format!("{text}\n\n**References**\n\n| No. | Source |\n|---|---|\n{rows}\n\nSo be it."),
        &format!("{text}\n\nSo be it."),
        0,
        2,
    );
    let stays = |table: &str| check(&format!("{table}\n\nSo [S1001]."), &format!("{table}\n\nSo [1]."), 0, 0);
    stays("**Sources**\n\n| Source | Share |\n|---|---|\n| Water | 40 % |\n| Wind | 35 % |");
    stays("Sources\n| Water | 40 % |");
    let table = "| What | Says |\n|---|---|\n| Dues | they pay |\n| [2] | M:";
    check(
        &format!("Dues [1].\n\n{table} {B} |\n\n## Sources\n[1] {A}\n[2] {B}"),
        &format!("Dues [1].\n\n{table} [2] |"),
        0,
        2,
    );
}

/// Returns a text without code and formulas in one line, and without indented code.
fn without_code(text: &str) -> String {
    let plain = text.replace(['$', '\\', '`', '~', '\t'], "x");
    let lines =
        plain.split('\n').map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn a_number_in_brackets_is_a_source_or_escaped(text in nasty_markdown()) {
        let mut resolver = Resolver::new(sources());
        let markdown = resolver.push(&without_code(&text)) + &resolver.finish();
        let (resolver, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
        let (markdown, citations) = match proof(&markdown, resolver.citations()) {
            None => (markdown, resolver.citations().to_vec()),
            Some(proof) => (proof.markdown, proof.citations),
        };
        let body = crate::domain::report::parts(&markdown).0;
        let is_code = |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
        let events = Parser::new_ext(&markdown, Options::ENABLE_TABLES).into_offset_iter();
        let code: Vec<_> = events.filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect();
        for (at, _) in body.match_indices('[') {
            let number = body[at + 1..].split_once(']').and_then(|(inside, _)| inside.parse::<u32>().ok());
            let start = body[..at].chars().count();
            let is_known = body[..at].ends_with('\\')
                || citations.iter().any(|citation| citation.start == start)
                || code.iter().any(|range| range.contains(&at));
            prop_assert!(is_known || !matches!(number, Some(1..=999)), "{:?} became {:?}", text, markdown);
        }
    }
}
