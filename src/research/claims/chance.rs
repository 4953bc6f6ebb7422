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
