//! Numbers that a statement gives to another matter than its source, and numbers that only stand in another order.

use super::tests::judged;
use crate::domain::claim::Verdict::{NotSupported, Partly, Supported};

const PAGE: &str = "The charter has 99 articles and 173 recitals, and its annex 12 tables.\n\n\
    Oslo bought 439,000 lamps, Bergen 604,000, Stavanger 378,000 and Hamar 187,000. Aldermere had revenue of $12.4 billion, \
    while its rival Brinstead had revenue of $9.7 billion. The museum welcomed 214,000 visitors in 2022 and 287,000 in 2023.\n\n\
    Fever was more common after the second dose (14 %) than after the first (6 %). It employs 74 people, 22 of them \
    part-time, and is run by 140 volunteers. The first gate opened in 1934, the second quay in 1971. Of 860 ballots 401 \
    were in favour, 284 against. Les dépenses représentent 57,3 % du PIB et les recettes 51,9 %. Im Norden lebten 13,4 \
    Millionen, im Süden 18,2 Millionen Menschen. Emissions are 381 gCO2/kWh in Hamar and 56 gCO2/kWh in Oslo.\n";

const TABLE: &str = "| City | Counters | Network (km) | Share (%) | Height (m) | Rain (mm) |\n|---|---|---|---|---|---|\n\
    | Oslo | 412 | 180 | 8 | 1,230 | 900 |\n| Bergen | 577 | 96 | 5 | 1,410 | 2,200 |\n| Hamar | 190 | 471 | 39 | 1,120 | 700 |\n\
    | Utrecht | 245 | 245 | 33 | 1,010 | 800 |\n";

#[test]
fn numbers_that_are_given_to_each_other_are_not_supported() {
    for statement in [
        "The charter has 173 articles and 99 recitals",
        "Bergen bought 439,000 lamps and Oslo 604,000",
        "Hamar bought 378,000 lamps and Stavanger 187,000",
        "Brinstead's revenue of $12.4 billion exceeded Aldermere's $9.7 billion",
        "In 2022 the museum had 287,000 visitors, in 2023 214,000",
        "Fever occurred in 14% after the first dose and 6% after the second",
        "It has 140 employees and 74 volunteers",
        "The second quay opened in 1934, the first gate in 1971",
        "Of the ballots 284 were in favour and 401 against",
        "Les recettes pèsent 57,3 % du PIB et les dépenses 51,9 %",
        "Im Süden wohnten 13,4 Millionen Menschen, im Norden 18,2 Millionen",
        "Emissions are 56 gCO2/kWh in Hamar, compared with 381 gCO2/kWh in Oslo",
    ] {
        let found = judged(statement, PAGE);
        assert!([NotSupported, Partly].contains(&found.0), "{statement}: {found:?}");
    }
    let page = "2023年出生人口902万人,死亡人口1110万人。";
    assert_eq!(judged("2023年出生人口1110万人,死亡人口902万人", page).0, Partly);
}

/// A false alarm is as bad as a miss.
#[test]
fn numbers_in_another_order_stay_supported() {
    for statement in [
        "With 173 recitals and 99 articles, the charter is long",
        "The charter's 99 articles are preceded by 173 recitals",
        "Die Charta hat 173 Erwägungsgründe und 99 Artikel",
        "Bergen bought 604,000 lamps, ahead of Oslo with 439,000",
        "439,000 lamps went to Oslo and 604,000 to Bergen",
        "Oslo and Bergen bought 439,000 and 604,000 lamps, respectively",
        "Aldermere's revenue of $12.4 billion exceeded Brinstead's $9.7 billion",
        "From 2022 to 2023 visitors rose from 214,000 to 287,000",
        "Visitors came to 287,000 in 2023, after 214,000 in 2022",
        "Fever occurred in 6% after the first dose and in 14% after the second",
        "It has 140 volunteers and 74 employees",
        "401 ballots were in favour, 284 against",
        "Les recettes pèsent 51,9 % du PIB et les dépenses 57,3 %",
        "Im Süden wohnten 18,2 Millionen Menschen, im Norden 13,4 Millionen",
    ] {
        assert_eq!(judged(statement, PAGE).0, Supported, "{statement}");
    }
}

#[test]
fn a_cell_belongs_to_its_row_and_column() {
    for statement in [
        "Bergen has 412 counters and Oslo 577",
        "Bergen's network is 180 km long, against 96 km in Oslo",
        "In Hamar 33 percent of trips are made by bicycle",
        "Hamar has 412 counters",
    ] {
        let found = judged(statement, TABLE);
        assert!([NotSupported, Partly].contains(&found.0), "{statement}: {found:?}");
    }
    for statement in [
        "Oslo has 412 counters and Bergen 577",
        "Counters: 577 in Bergen, 412 in Oslo",
        "Hamar's share of 39% exceeds that of Utrecht (33%)",
        "Utrecht has 245 counters along 245 km",
        "Oslo's summit is 1,230 m high",
    ] {
        assert_eq!(judged(statement, TABLE).0, Supported, "{statement}");
    }
}

#[test]
fn a_ratio_follows_from_what_the_statement_names() {
    let page = "Lamps: Oslo bought 439,000, Bergen 604,000, Hamar 187,000. The share rose from 85.6 % to 87.1 %.";
    assert_eq!(judged("Bergen bought 1.4 times as many lamps as Oslo", page).0, Supported);
    assert_eq!(judged("Bergen bought 2.4 times as many lamps as Oslo", page).0, NotSupported);
    assert_eq!(judged("Bergen bought 2.35 times as many lamps as Oslo", page).0, NotSupported, "so many as Hamar");
    assert_eq!(judged("The share rose by 1.5 points", page).0, Supported);
    assert_eq!(judged("The share rose by 2.5 points", page).0, NotSupported);
    assert_eq!(judged("Oslo has 71.4 % as many counters as Bergen", TABLE).0, Supported);
    assert_eq!(judged("Oslo has 32.9 % of the counters of Bergen", TABLE).0, NotSupported);
}

/// The rows stand far from the sentence that is nearest, and their names are known by other keys than words are.
#[test]
fn rows_that_the_statement_names_are_found_wherever_they_are() {
    let row = |at: usize| format!("| Place {} | {} |\n", ["one", "two", "three"][at % 3], 1_000 + at);
    let filling: String = (0..80).map(row).collect();
    let page = format!(
        "Lamps were counted.\n\n| Place | Lamps |\n|---|---|\n| Paris | 439,000 |\n{filling}| US | 604,000 |\n"
    );
    assert_eq!(judged("Paris and the US have 1,043,000 in all", &page).0, Supported);
    assert_ne!(judged("Paris and the US have 1,143,000 in all", &page).0, Supported);
}

#[test]
fn fractions_behind_hyphens_and_sums_of_ranges_are_read() {
    let page = "The rate was lowered by 1/2 percentage point to 4-3/4 to 5 percent. It expects sales of $19.2 billion to $19.6 billion.";
    for statement in [
        "The rate was lowered by 50 basis points to 4.75–5%",
        "The rate was lowered by 0.5 percentage points to between 4.75 and 5 percent",
        "It expects sales of between $19.2 and $19.6 billion",
    ] {
        assert_eq!(judged(statement, page).0, Supported, "{statement}");
    }
    for statement in ["The rate was lowered to 4-1/8 percent", "It expects sales of between $18.2 and $19.6 billion"] {
        assert_ne!(judged(statement, page).0, Supported, "{statement}");
    }
}
