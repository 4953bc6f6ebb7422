//! Percentages by chance: among a dozen amounts of a page some two have nearly any ratio.

use super::tests::judged;
use crate::domain::claim::Verdict::Supported;

const PAGE: &str = "In 2023 the harbour handled 7.6 million crates, of which 3.4 million were inspected, 16,200 damaged and 3,100 \
    lost. In the north it was seven million, after 4.6 million in 2022. Oslo sent 6,296,795 crates, followed by Bergen \
    (420,867), Hamar (257,667), Narvik (199,659) and Molde (134,979). The inspectors opened 20,099 crates in 54 towns, and \
    some 90 ships of 12 lines took part.\n";

/// A whole percentage is right by chance seldom, and one that was computed always.
#[test]
fn few_percentages_follow_by_chance() {
    let statements =
        ["The share of inspected crates was", "Lost crates rose by", "In Molde crates fell by", "Ships grew by"];
    let count = |statement: &&str| {
        (1..99).filter(|share| judged(&format!("{statement} {share}%"), PAGE).0 == Supported).count()
    };
    let found: Vec<usize> = statements.iter().map(count).collect();
    assert!(found.iter().sum::<usize>() * 10 < statements.len() * 98, "{found:?}");
    for right in ["Of the crates 45% were inspected", "The share of inspected crates was 45%"] {
        assert_eq!(judged(right, PAGE).0, Supported, "{right}");
    }
}

/// What follows from amounts of two sentences, both of which the statement names, and a share beside a word of growth.
#[test]
fn percentages_follow_from_neighbours() {
    let enrolment = "In 2019, 1,200 students enrolled. In 2023, 1,500 did. Of those in 2023, 900 were women.";
    let plant = "The plant emitted 500 tonnes of CO2 in 2010. After the refit, emissions came to 350 tonnes.";
    let firms = "Of 200 firms that answered, 90 said that their sales had increased in the year.";
    let boats = "The town sold 100 boats in 2021 and 80 boats in 2022.";
    let cloud = "The firm had revenue of $48.2 billion. Its cloud unit brought in $24.1 billion, up from $20 billion.";
    let check = |statement: &str, page: &str, is_supported: bool| {
        assert_eq!(judged(statement, page).0 == Supported, is_supported, "{statement}");
    };
    check("Enrolment fell 25% between 2019 and 2023", enrolment, false);
    check("Enrolment rose to 1,500, of whom 60% were women", enrolment, true);
    check("Emissions of the plant fell by 30%", plant, true);
    check("Emissions rose by 43%", plant, false);
    check("Revenue rose 25% in 2023", "Revenue was $40 million in 2023. Costs came to $50 million.", false);
    check("The number of residents fell by 20%", "It has 1,000 residents. The school has 800 pupils.", false);
    check("45% of the firms said sales increased", firms, true);
    check("Cloud increased its revenue and now accounts for 50% of the total", cloud, true);
    check("Boats sold fell by 20%", boats, true);
    for wrong in [
        "rose by 25%",
        "rose by 20%",
        "saw an increase of 20%",
        "saw a 20% increase",
        "rose a 20%",
        "rose, the report says, by 20%",
        "rose in 2022 (20%)",
        "increased: 20%",
        "rose in the town, and they did so at a rate of 25%",
    ] {
        check(&format!("Boats sold {wrong}"), boats, false);
    }
    check("Boats sold fell sharply in 2022 (20%)", boats, true);
    check("The decline in boats sold amounted to 20%", boats, true);
}

#[test]
fn shares_of_what_grew_follow() {
    let check = |statement: &str, page: &str, is_supported: bool| {
        assert_eq!(judged(statement, page).0 == Supported, is_supported, "{statement}");
    };
    check("The share of species that declined was 60%", "Of the 800 species counted, 480 declined.", true);
    check("A share of 60% increased spending", "Of 800 respondents, 480 increased spending.", true);
    let pupils = "The school had 1,250 pupils in 2021 and 1,000 pupils in 2022.";
    check("The share of pupils declined about 80%", pupils, false);
    check("The share of pupils fell by 80%", pupils, false);
    check("The number of pupils fell in that year by about 80%", pupils, false);
    check("The number of pupils fell in that year by about 20%", pupils, true);
}

/// A word before the second amount counts for more than years, which may be those of anything.
#[test]
fn amounts_are_in_the_order_that_words_say() {
    for page in [
        "Sales came to 80 million in 2023, against 100 million before, and are to recover in 2024.",
        "Since the merger in 2015, sales are down to 80 million, from 100 million, the 2020 report says.",
        "Under the act of 2019, sales drop to $80 million from $100 million in 2021.",
        "Sales were 80 million, after 100 million.",
    ] {
        assert_eq!(judged("Sales fell by 20%", page).0, Supported, "{page}");
        assert_ne!(judged("Sales rose by 25%", page).0, Supported, "{page}");
    }
    for page in [
        "It had 500 boats in 1990, and after 400 boats in 2000 it has 450 boats today.",
        "2019 it had 500 boats, in 2023 after 400 boats in the year before again 450 boats.",
    ] {
        assert_eq!(judged("The number of boats fell by 20%", page).0, Supported, "{page}");
        assert_ne!(judged("The number of boats rose by 25%", page).0, Supported, "{page}");
    }
    let page = "It had 500 boats in 1990, and after 400 boats in 2000, it has more.";
    assert_ne!(judged("The number of boats rose by 25%", page).0, Supported, "the word has a year of its own");
    let page = "In 2021, 100 boats were counted. After 2022, 80 boats were counted.";
    assert_eq!(judged("The boats counted fell by 20%", page).0, Supported, "a year stands between");
}
