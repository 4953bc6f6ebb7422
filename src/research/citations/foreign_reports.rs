//! Reports of models that ignore ids: they number their sources themselves, in every way that models do, and put lists
//! of their own under the text. Their citations survive, lead where the model meant, and nothing else becomes one.

use std::collections::BTreeSet;

use super::{tests::links, *};
use crate::domain::SourceId;

/// What was retrieved. The last page of [`PAGES`] was not.
const RETRIEVED: usize = 6;
const PAGES: [(&str, &str); 7] = [
    ("https://harbour.test/tariff", "Harbour tariff 2031"),
    ("https://museum.test/", "Museum of tides"),
    ("https://council.test/minutes?id=7&lang=en", "Council minutes, April"),
    ("https://encyclopedia.test/wiki/Tide_(sea)", "Tide (sea)"),
    ("https://blog.test/2031/03/gates", "Gates - a short history"),
    ("https://zeitung.test/artikel/schleuse", "Wer zahlt die Schleuse?"),
    ("https://elsewhere.test/never", "Never retrieved"),
];
/// Which pages each statement cites, from 1.
const STATEMENTS: [&[u32]; 10] = [&[1], &[2, 3], &[4], &[1, 5], &[6], &[3], &[7], &[2, 7], &[4, 5, 6], &[1]];

fn retrieved() -> Vec<Source> {
    let page =
        |(at, (url, title)): (usize, &(&str, &str))| Source::example(1001 + u32::try_from(at).unwrap(), url, title);
    PAGES[..RETRIEVED].iter().enumerate().map(page).collect()
}

/// Of [`spelt`]; the last one is understood in lists and links alone.
const WAYS: usize = 12;

/// Returns how models spell an address that they were given otherwise.
fn spelt(url: &str, way: usize) -> String {
    let join = if url.contains('?') { '&' } else { '?' };
    match way % WAYS {
        1 => url.replace("https://", "http://"),
        2 => url.replace("https://", "https://www."),
        3 => format!("{}/", url.trim_end_matches('/')),
        4 => format!("{url}#section-2"),
        5 => format!("{url}{join}utm_source=model.test&utm_medium=chat"),
        6 => url.replace("https://", "HTTPS://").replace(".test", ".TEST"),
        7 => url.replace('&', "&amp;"),
        8 => url.replace('_', "\\_"),
        9 => url.replace('(', "%28").replace(')', "%29"),
        10 => url.replace("https://", "https://m."),
        11 => url.replace("https://", ""),
        _ => url.to_owned(),
    }
    // A slash behind parameters would be another page.
    .replace("lang=en/", "lang=en")
}

/// Writes a citation of pages by their numbers; addresses are spelt in that way.
type Style = fn(&[u32], usize) -> String;

/// Writes a list of all pages; addresses are spelt in that way.
type List = fn(usize) -> String;

/// Ways to cite pages of these numbers in a text.
const STYLES: [(&str, Style); 32] = [
    ("[1]", |numbers, _| each(numbers, |n| format!("[{n}]"))),
    ("[1, 2]", |numbers, _| format!("[{}]", list(numbers))),
    (" [1] [2]", |numbers, _| each(numbers, |n| format!(" [{n}]"))),
    ("【1】", |numbers, _| each(numbers, |n| format!("【{n}】"))),
    ("【1†source】", |numbers, _| each(numbers, |n| format!("【{n}†source】"))),
    (" [Source 1]", |numbers, _| each(numbers, |n| format!(" [Source {n}]"))),
    (" [Sources 1, 2]", |numbers, _| format!(" [Sources {}]", list(numbers))),
    ("[citation:1]", |numbers, _| each(numbers, |n| format!("[citation:{n}]"))),
    ("[^1]", |numbers, _| each(numbers, |n| format!("[^{n}]"))),
    ("[^1^]", |numbers, _| each(numbers, |n| format!("[^{n}^]"))),
    ("\\[1\\]", |numbers, _| each(numbers, |n| format!("\\[{n}\\]"))),
    ("¹", |numbers, _| {
        each(numbers, |n| {
            char::from_u32([0xb9, 0xb2, 0xb3, 0x2074, 0x2075, 0x2076, 0x2077][n as usize - 1]).unwrap().to_string()
        })
    }),
    ("<sup>1</sup>", |numbers, _| each(numbers, |n| format!("<sup>{n}</sup>"))),
    ("**[1]**", |numbers, _| format!(" **{}**", each(numbers, |n| format!("[{n}]")))),
    ("[[1]](url)", |numbers, way| each(numbers, |n| format!("[[{n}]]({})", address(n, way)))),
    ("[1](url)", |numbers, way| each(numbers, |n| format!(" [{n}]({})", address(n, way)))),
    ("[1,2]", |numbers, _| format!("[{}]", list(numbers).replace(' ', ""))),
    ("[1; 2]", |numbers, _| format!(" [{}]", list(numbers).replace(',', ";"))),
    ("[4-6]", |numbers, _| format!(" [{}]", ranges(numbers))),
    ("[ 1 ]", |numbers, _| each(numbers, |n| format!(" [ {n} ]"))),
    ("([1], [2])", |numbers, _| {
        format!(" ({})", numbers.iter().map(|n| format!("[{n}]")).collect::<Vec<_>>().join(", "))
    }),
    ("([1](url))", |numbers, way| each(numbers, |n| format!(" ([{n}]({}))", address(n, way)))),
    ("([Title](url))", |numbers, way| each(numbers, |n| format!(" ([{}]({}))", title(n), address(n, way)))),
    ("[1](<url>)", |numbers, way| each(numbers, |n| format!(" [{n}](<{}> \"{}\")", address(n, way), title(n)))),
    ("<sup>[1]</sup>", |numbers, _| each(numbers, |n| format!("<sup>[{n}]</sup>"))),
    ("<sup>[1](url)</sup>", |numbers, way| each(numbers, |n| format!("<sup>[{n}]({})</sup>", address(n, way)))),
    ("<sup>1, 2</sup>", |numbers, _| format!("<sup>{}</sup>", list(numbers))),
    ("【1†L3-L7】", |numbers, _| each(numbers, |n| format!("【{n}†L3-L7】"))),
    ("［1］", |numbers, _| each(numbers, |n| format!("［{n}］"))),
    ("[#1]", |numbers, _| each(numbers, |n| format!(" [#{n}]"))),
    ("^1^", |numbers, _| each(numbers, |n| format!("^{n}^"))),
    ("[Ref. 1]", |numbers, _| each(numbers, |n| format!(" [Ref. {n}]"))),
];

/// Ways to list all pages.
const LISTS: [(&str, List); 40] = [
    ("the original's", |way| {
        format!("### Sources\n{}", entries(way, "\n", |n, title, url| format!("[{n}] {title}: {url}")))
    }),
    ("with blank lines", |way| {
        format!("### Sources\n\n{}", entries(way, "\n\n", |n, title, url| format!("[{n}] {title}: {url}")))
    }),
    ("items in brackets", |way| {
        format!("## Sources\n\n{}", entries(way, "\n", |n, title, url| format!("- [{n}] [{title}]({url})")))
    }),
    ("numbered", |way| {
        format!("## References\n\n{}", entries(way, "\n", |n, title, url| format!("{n}. {title} - {url}")))
    }),
    ("numbered links", |way| {
        format!("**Sources:**\n\n{}", entries(way, "\n", |n, title, url| format!("{n}. [{title}]({url})")))
    }),
    ("numbered sentences", |way| {
        format!(
            "## Bibliography\n{}",
            entries(way, "\n", |n, title, url| format!("{n}. {title}. Available at <{url}>. Accessed 1 May 2031."))
        )
    }),
    ("bold labels", |way| {
        format!("## Works cited\n{}", entries(way, "\n", |n, title, url| format!("* **[{n}]** *{title}* — {url}")))
    }),
    ("broken lines", |way| {
        format!("## Sources\n{}", entries(way, "\n", |n, title, url| format!("[{n}] {title}\n    {url}")))
    }),
    ("broken items", |way| {
        format!(
            "## Sources\n{}",
            entries(way, "\n", |n, title, url| format!(
                "{n}. **{title}.**\n   - URL: {url}\n   - Accessed: 2031-05-01"
            ))
        )
    }),
    ("one line", |way| format!("## Sources\n{}", entries(way, " ", |n, title, url| format!("[{n}] {title}: {url}")))),
    ("table", |way| {
        format!(
            "## Sources\n\n| # | Title | Address |\n|---|---|---|\n{}",
            entries(way, "\n", |n, title, url| format!("| {n} | {title} | {url} |"))
        )
    }),
    ("definitions", |way| entries(way, "\n", |n, title, url| format!("[{n}]: {url} \"{title}\""))),
    ("footnotes", |way| entries(way, "\n", |n, title, url| format!("[^{n}]: {title}. {url}"))),
    ("linked footnotes", |way| {
        format!("## Notes\n\n{}", entries(way, "\n\n", |n, title, url| format!("[^{n}]: [{title}]({url})")))
    }),
    ("no heading", |way| format!("---\n\n{}", entries(way, "\n", |n, title, url| format!("[{n}] {title}: {url}")))),
    ("no heading, broken", |way| entries(way, "\n", |n, title, url| format!("[{n}] {title}\n{url}"))),
    ("unknown heading", |way| {
        format!("## Where this comes from\n\n{}", entries(way, "\n", |n, title, url| format!("[{n}] {title}, {url}")))
    }),
    ("Chinese", |way| {
        format!("## 参考文献\n\n{}", entries(way, "\n", |n, title, url| format!("[{n}] {title}：{url}")))
    }),
    ("words", |way| {
        format!("Sources:\n{}", entries(way, "\n", |n, title, url| format!("- Source {n}: {title} ({url})")))
    }),
    ("in the middle", |way| {
        format!(
            "## Sources and further reading\n{}\n\n## Afterword\n\nThat is all.",
            entries(way, "\n", |n, title, url| format!("[{n}] {title}: {url}"))
        )
    }),
    ("angles", |way| under("### Sources", way, |n, title, url| format!("[{n}] {title} <{url}>"))),
    ("parentheses", |way| under("## Sources Cited", way, |n, title, url| format!("[{n}] {title} ({url})"))),
    ("addresses alone", |way| under("## Sources", way, |n, _, url| format!("[{n}] {url}"))),
    ("numbered addresses", |way| under("# SOURCES", way, |n, _, url| format!("{n}. {url}"))),
    ("definitions in angles", |way| entries(way, "\n", |n, title, url| format!("[{n}]: <{url}> '{title}'"))),
    ("items with colons", |way| under("### **Sources**", way, |n, title, url| format!("- [{n}]: {title} - {url}"))),
    ("linked numbers", |way| under("## Sources:", way, |n, title, url| format!("- [{n}]({url}) {title}"))),
    ("linked brackets", |way| under("## 8. References", way, |n, title, url| format!("[[{n}]]({url}) {title}"))),
    ("number in the link", |way| under("## 📚 Sources", way, |n, title, url| format!("- [[{n}] {title}]({url})"))),
    ("link behind", |way| under("## Quellen", way, |n, title, url| format!("{n}. {title} ([Link]({url}))"))),
    ("retrieved from", |way| {
        under("## Literaturverzeichnis", way, |n, title, url| {
            format!("[{n}] Author, A. (2031). *{title}*. Retrieved May 1, 2031, from {url}.")
        })
    }),
    ("quoted", |way| under("> **Quellen**", way, |n, title, url| format!("> [{n}] {title}: {url}"))),
    ("escaped", |way| under("## 引用来源", way, |n, title, url| format!("\\[{n}\\] {title}: {url}"))),
    ("hard breaks", |way| under("### Sources", way, |n, title, url| format!("[{n}] {title}: {url}  "))),
    ("linked table", |way| {
        let rows = entries(way, "\n", |n, title, url| format!("| [{n}] | [{title}]({url}) |"));
        format!("## 参考资料\n\n| 编号 | 来源 |\n| :-: | :-- |\n{rows}")
    }),
    ("anchors", |way| under("## Sources", way, |n, title, url| format!("[{n}] <a href=\"{url}\">{title}</a>"))),
    ("underlined heading", |way| under("Sources\n-------", way, |n, title, url| format!("[{n}] {title}: {url}"))),
    ("behind a rule", |way| under("---\n\n**References**", way, |n, title, url| format!("{n}) {title}, {url}"))),
    ("dashes", |way| under("## Sources", way, |n, title, url| format!("[{n}] {title} – {url} – accessed 2031-05-01"))),
    ("grouped", |way| {
        let entry = |n: u32, title: &str, url: &str| match n {
            1 => format!("### Official\n[1] {title}: {url}"),
            4 => format!("\n### Press\n[4] {title}: {url}"),
            n => format!("[{n}] {title}: {url}"),
        };
        under("## Sources", way, entry)
    }),
];

/// Returns the list under a heading.
fn under(heading: &str, way: usize, write: impl Fn(u32, &str, &str) -> String) -> String {
    format!("{heading}\n\n{}", entries(way, "\n", write))
}

fn title(number: u32) -> &'static str {
    PAGES[number as usize - 1].1
}

/// Returns the numbers with those that follow each other written as a range.
fn ranges(numbers: &[u32]) -> String {
    match numbers {
        [first, .., last] if usize::try_from(last - first).unwrap() + 1 == numbers.len() => format!("{first}-{last}"),
        _ => list(numbers),
    }
}

fn each(numbers: &[u32], write: impl Fn(u32) -> String) -> String {
    numbers.iter().map(|&number| write(number)).collect()
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn address(number: u32, way: usize) -> String {
    spelt(PAGES[number as usize - 1].0, way + number as usize)
}

/// Returns an address that a reader's program would take for one.
fn whole_address(number: u32, way: usize) -> String {
    spelt(PAGES[number as usize - 1].0, (way + number as usize) % (WAYS - 1))
}

fn entries(way: usize, between: &str, write: impl Fn(u32, &str, &str) -> String) -> String {
    let entry = |(at, (_, title)): (usize, &(&str, &str))| {
        let number = u32::try_from(at).unwrap() + 1;
        write(number, title, &address(number, way))
    };
    PAGES.iter().enumerate().map(entry).collect::<Vec<_>>().join(between)
}

/// Behind the last statement.
const END: &str = "So much is known.";

/// Returns a report with text between its citations that must not become one.
fn report(cite: impl Fn(&[u32]) -> String, list: &str) -> String {
    let mut report = "# Who pays for the gate\n\n## Money\n\n".to_owned();
    for (at, numbers) in STATEMENTS.iter().enumerate() {
        report.push_str(&format!("Statement {at:02} says something certain{}. ", cite(numbers)));
        if at == 4 {
            report.push_str(
                "\n\n## Tides\n\nThe mean is 37 (95% CI [2, 5]), a_max[1] of x ∈ [0, 1], 12 km² and `v[3]`.\n\n",
            );
        }
    }
    format!("{report}{END}\n\n{list}\n")
}

/// Returns the citations kept, and those whose page was retrieved; none may lead elsewhere, and nothing else may be
/// touched.
///
/// # Errors
/// What is wrong with the settled report.
fn kept(text: &str) -> Result<(usize, usize), String> {
    let mut resolver = Resolver::new(retrieved());
    let markdown = resolver.push(text) + &resolver.finish();
    let (resolver, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
    let wrong = |what: String| Err(format!("{what}:\n{text}\nbecame\n{markdown}"));
    if !links(&markdown).is_empty() || proof(&markdown, resolver.citations()).is_some() {
        return wrong("it has links".to_owned());
    }
    let chars: Vec<char> = markdown.chars().collect();
    let text_end = markdown.find(END).map_or(chars.len(), |byte| markdown[..byte].chars().count());
    let (mut kept, mut meant) = (0, 0);
    for (at, numbers) in STATEMENTS.iter().enumerate() {
        let place =
            |at: usize| markdown.find(&format!("Statement {at:02}")).map(|byte| markdown[..byte].chars().count());
        let (start, end) = (place(at).unwrap(), place(at + 1).unwrap_or(text_end));
        let here = resolver.citations().iter().filter(|citation| (start..end).contains(&citation.start));
        let cited: BTreeSet<SourceId> = here.map(|citation| citation.source_id).collect();
        let retrieved = numbers.iter().filter(|&&number| number as usize <= RETRIEVED);
        let expected: BTreeSet<SourceId> = retrieved.map(|number| SourceId(1000 + number)).collect();
        if !cited.is_subset(&expected) {
            return wrong(format!("statement {at} cites {cited:?}"));
        }
        kept += cited.len();
        meant += expected.len();
    }
    for stays in ["(95% CI [2, 5])", "a_max\\[1] of x ∈ [0, 1]", "12 km²", "`v[3]`"] {
        if !markdown.contains(stays) {
            return wrong(format!("{stays} is lost"));
        }
    }
    Ok((kept, meant))
}

#[test]
fn citations_by_number_survive() {
    let (mut all_kept, mut all_meant) = (0, 0);
    let mut lost = Vec::new();
    for (row, (style, cite)) in STYLES.iter().enumerate() {
        for (column, (name, list)) in LISTS.iter().enumerate() {
            let way = row + column;
            let (kept, meant) = match kept(&report(|numbers| cite(numbers, way), &list(way))) {
                Ok(counts) => counts,
                Err(wrong) => {
                    lost.push(format!("{style} with {name}: {wrong}"));
                    continue;
                }
            };
            if kept * 10 < meant * 9 {
                lost.push(format!("{style} with {name}: {kept} of {meant}"));
            }
            (all_kept, all_meant) = (all_kept + kept, all_meant + meant);
        }
    }
    let share = all_kept as f64 / all_meant as f64;
    assert!(share >= 0.97, "only {all_kept} of {all_meant} survive:\n{}", lost.join("\n"));
    assert!(lost.is_empty(), "{all_kept} of {all_meant} survive, but few of\n{}", lost.join("\n"));
}

#[test]
fn citations_by_address_survive_without_a_list() {
    type Style = fn(&[u32], usize) -> String;
    let styles: [(&str, Style); 10] = [
        ("links", |numbers, way| {
            each(numbers, |n| format!(" ([{}]({}))", PAGES[n as usize - 1].1, whole_address(n, way)))
        }),
        ("bare", |numbers, way| each(numbers, |n| format!(" ({})", whole_address(n, way)))),
        ("angles", |numbers, way| each(numbers, |n| format!(" <{}>", whole_address(n, way)))),
        ("named", |numbers, way| each(numbers, |n| format!(" [Source]({})", whole_address(n, way)))),
        ("source lines", |numbers, way| {
            each(numbers, |n| format!("\n\nSource: {} - {}\n\n", title(n), whole_address(n, way)))
        }),
        ("sources", |numbers, way| {
            let all: Vec<_> = numbers.iter().map(|n| format!("[{}]({})", title(*n), whole_address(*n, way))).collect();
            format!(" (Sources: {})", all.join("; "))
        }),
        ("titled links", |numbers, way| each(numbers, |n| format!(" [{}](<{}> 'x')", title(n), whole_address(n, way)))),
        ("bold links", |numbers, way| each(numbers, |n| format!(" **[{}]({})**", title(n), whole_address(n, way)))),
        ("raised links", |numbers, way| each(numbers, |n| format!("<sup>[[{n}]]({})</sup>", whole_address(n, way)))),
        ("bracketed", |numbers, way| each(numbers, |n| format!(" [{}]", whole_address(n, way)))),
    ];
    for (style, cite) in styles {
        for way in 0..WAYS - 1 {
            let (kept, meant) = kept(&report(|numbers| cite(numbers, way), "")).unwrap();
            assert!(kept * 10 >= meant * 9, "{style} {way}: {kept} of {meant}");
        }
    }
}

/// Checks the body of the settled report that a text becomes.
fn check(text: &str, expected: &str) {
    let mut resolver = Resolver::new(retrieved());
    let markdown = resolver.push(text) + &resolver.finish();
    let (_, markdown) = resolver.renumbered().unwrap_or((resolver, markdown));
    let (body, _) = crate::domain::report::parts(&markdown);
    assert_eq!(body.trim_end(), expected, "for {text:?}");
}

#[test]
fn names_and_signs_of_the_models_own_list_are_read() {
    let (a, b, foreign) = ("https://harbour.test/tariff", "https://museum.test/", "https://elsewhere.test/never");
    // Names of the model's own.
    check(
        &format!(
            "Dues [Harbour 2031], tides [M; Harbour 2031], none [X].\n\n## Sources\n[Harbour 2031] T: {a}\n[M] {b}\n"
        ),
        "Dues [1], tides [2][1], none [X].",
    );
    check(&format!("Dues [w-1].\n\n## Sources\n- [w-1] Never: {foreign}\n- [w-2] T: {a}\n"), "Dues.");
    check(&format!("Dues [1], as [M] says.\n\n## Sources\n- [M] {a}\n"), "Dues [1], as [M] says.");
    // A ticket is no citation, unless the list has its number.
    check(&format!("Dues [#1], ticket [#7].\n\n## Sources\n[#1] T: {a}\n"), "Dues [1], ticket [#7].");
    check("Dues [S1001], ticket [#1].", "Dues [1], ticket [#1].");
}

/// Lists and forms that stand alone.
#[test]
fn rarer_ways_to_number_sources_are_read_too() {
    let (a, b, foreign) = ("https://harbour.test/tariff", "https://museum.test/", "https://elsewhere.test/never");
    // Every section has a list of its own, and counts from 1.
    check(
        &format!("## One\nDues [1].\n\n### Sources\n[1] T: {a}\n\n## Two\nTides [1].\n\n### Sources\n[1] M: {b}\n"),
        "## One\nDues [1].\n\n## Two\nTides [2].",
    );
    // A list without numbers is in order if the text cites each of its entries.
    check(&format!("Dues [1], tides [2].\n\n## Sources\n- T: {a}\n- M: {b}\n"), "Dues [1], tides [2].");
    check(&format!("Dues [2].\n\n## Sources\n- T: {a}\n- M: {b}\n"), "Dues.");
    check(&format!("Dues [1], tides [2].\n\n## Sources\n1. T: {a}\n1. M: {b}\n"), "Dues [1], tides [2].");
    // Nothing but its place and its numbers make a list at the end one of sources.
    check(&format!("Tides [2], dues [1].\n\n1. Tariff - {a}\n2. Museum - {b}\n"), "Tides [1], dues [2].");
    check(&format!("Steps:\n\n1. Read {a}\n2. Visit {b}\n"), "Steps:\n\n1. Read [1]\n2. Visit [2]");
    // Ranges, parentheses, links by reference, ids.
    check(&format!("All [1-3].\n\n## Sources\n[1] {a}\n[2] {b}\n[3] {foreign}\n"), "All [1][2].");
    check(&format!("Dues (1), tides (2).\n\n## Sources\n(1) T: {a}\n(2) M: {b}\n"), "Dues [1], tides [2].");
    check("Steps (1) and (2) are few [S1001].", "Steps (1) and (2) are few [1].");
    check(
        &format!("[Dues][t] and [tides][], see [m].\n\n[t]: {a}\n[tides]: {b}\n[m]: {b}\n"),
        "Dues [1] and tides [2], see m [2].",
    );
    check("Dues [1].\n\n## Sources\n[1] S1002, the museum\n", "Dues [1].");
    check("Dues [4].\n\n## Sources\n[1] https://harbour.test/tariff\n", "Dues.");
    // A footnote that says something stays, whatever else is a source.
    check(
        &format!(
            "Dues[^1] rise[^2] fast[^n].\n\n[^1]: {a}\n[^2]: In crowns of 2031, see {b} for more of what that means to everybody here, says one.\n[^n]: {b}\n"
        ),
        "Dues[1] rise[^2] fast[2].\n\n[^2]: In crowns of 2031, see [2] for more of what that means to everybody here, says one.",
    );
    // A line of the text that begins with a citation is no list.
    check(
        &format!("Dues [2].\n\n[2] says more, see {b}\n\nThe rest is known.\n\n## Sources\n[2] {b}\n"),
        "Dues [1].\n\n[1] says more, see [1]\n\nThe rest is known.",
    );
    // Powers are no citations, and neither is anything in a list that was kept.
    check(&format!("12 km² paid [1].\n\n## Sources\n[1] {a}\n[2] {b}\n"), "12 km² paid [1].");
    check(
        "See [1].\n\n## Sources\nThe oldest source is lost.\nThe next one is young.\nNobody has both.\n",
        "See.\n\n## Sources\nThe oldest source is lost.\nThe next one is young.\nNobody has both.",
    );
}

/// Citations that say more than a number: a place in the source, authors and a year, an address behind a word.
#[test]
fn citations_with_places_authors_and_words_are_read() {
    let (a, b, foreign) = ("https://harbour.test/tariff", "https://museum.test/", "https://elsewhere.test/never");
    let numbered = format!("## Sources\n[1] T: {a}\n[2] M: {b}\n");
    let under = |text: &str, list: &str, expected: &str| check(&format!("{text}\n\n{list}"), expected);
    under(
        "Dues [1, p. 3], tides [2, pp. 4–9; 1, § 7], gates [2, S. 4 f.].",
        &numbered,
        "Dues [1], tides [2][1], gates [2].",
    );
    under("Dues [1a], tides [1b, 2c], a part [2a][2b].", &numbered, "Dues [1], tides [1][2], a part [2].");
    under("Figure [1a], as in [1x] and [7a] and a[1b].", &numbered, "Figure [1a], as in [1x] and [7a] and a[1b].");
    under("Dues 〔1〕, tides [Source 2], none [Source 9, p. 3].", &numbered, "Dues [1], tides [2], none.");
    under("Dues[^fn] rise[^b].", &format!("[^fn]: T, {a}\n[^b]: {b}\n"), "Dues[1] rise[2].");
    under("Dues [1], tides [2].", &format!("[1]: {a}\n[2]: {b} 'M'\n"), "Dues [1], tides [2].");
    // Named in running text, by a number that the list below does not give them.
    under(
        "Tides [2]. According to Source 1, dues rise; **Source 2**'s do not (see Source 1 too).",
        &numbered,
        "Tides [1]. According to Source [2], dues rise; **Source [1]**'s do not (see Source [2] too).",
    );
    let others = "Tides [2]. Sources 1 and 2, Source 1.5, Source 1-2, a source 1 m deep, Source 7, Table 1.";
    under(others, &numbered, &others.replace("[2]", "[1]"));
    // Ids with a space, and names that only look like ids.
    under("Dues [S 1001], tides [S 1002; S 1001], page [S 3].", "", "Dues [1], tides [2][1], page [S 3].");
    under("Dues [S1], tides [S2].", &format!("## Sources\n[S1] T: {a}\n[S2] M: {b}\n"), "Dues [1], tides [2].");
    // Addresses behind a word.
    check(&format!("Dues (Source: {a}), tides (Sources: {b}, {a})."), "Dues [1], tides [2][1].");
    check(&format!("Dues (Source: {foreign}), tides (Quelle: <{b}>)."), "Dues, tides [1].");
    check("Dues (Source: the town), (source: own count).", "Dues (Source: the town), (source: own count).");
}

#[test]
fn authors_and_years_lead_where_the_models_own_list_says() {
    let (a, b, foreign) = ("https://harbour.test/tariff", "https://museum.test/", "https://elsewhere.test/never");
    let list = format!(
        "## References\n\nSmith, J., Roe, K. & Doe, A. (2023). Dues of a harbour. {a}\n\nWorld Bank. (2030a). Tides. {b}\n\n\
        Poe, E. (2020). Ravens. {foreign}\n"
    );
    let under = |text: &str, expected: &str| check(&format!("{text}\n\n{list}"), expected);
    under("Dues (Smith et al., 2023), tides (World Bank, 2030a).", "Dues [1], tides [2].");
    under(
        "Both (Smith et al. 2023; World Bank 2030a, p. 7), once more (see Smith, 2023).",
        "Both [1][2], once more [1].",
    );
    under("In brackets [Smith et al., 2023].", "In brackets [1].");
    under("Smith et al. (2023) say so.", "Smith et al. (2023) [1] say so.");
    under("Never read (Poe, 2020), half (Poe, 2020; Smith, 2023).", "Never read, half [1].");
    // A place and its year are no work, where the report cites by number and the entry only has the year somewhere.
    let named = format!("## References\n[1] Germany: Economic Outlook 2023 - {a}\n[2] Poe, E. (2023). Dues. {b}\n");
    check(
        &format!("It grew in Germany (2023) by 0.3 % [2], as Poe (2023) and (Germany, 2023) say.\n\n{named}"),
        "It grew in Germany (2023) by 0.3 % [1], as Poe (2023) [1] and [2] say.",
    );
    let gate = format!("## References\n[1] Doe K. The Gate. Tide Press, 2023. {a}\n");
    check(&format!("As Doe (2023) says.\n\n{gate}"), "As Doe (2023) [1] says.");
    // What the list does not have stays as it is.
    let others =
        "Others (Roe, 2023), (Smith, 2024), (Smith & Poe, 2023), (May 2023), (Smith said, 2023), (2023), in (2023).";
    under(others, others);
    check("Dues (Smith et al., 2023) rise [S1001].", "Dues (Smith et al., 2023) rise [1].");
    // Two works of one name and year cannot be kept apart.
    let twice = format!("## References\n- Smith, J. (2023). One. {a}\n- Smith, K. (2023). Two. {b}\n");
    check(&format!("Dues (Smith, 2023).\n\n{twice}"), "Dues (Smith, 2023).");
    let numbered = format!("## References\n[1] Smith, J. (2023). One. {a}\n[2] Doe, K. (2022). Two.\n    {b}\n");
    check(&format!("Dues (Smith, 2023) [2], (Doe, 2022).\n\n{numbered}"), "Dues [1] [2], [2].");
}
