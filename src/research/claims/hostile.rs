//! Texts that nobody writes in good faith: the check takes time in proportion to them, and nothing overflows.

use std::collections::HashMap;

use super::{
    tests::{PAGE, judged, source},
    *,
};
use crate::domain::SourceId;

#[test]
fn absurd_numbers_overflow_nothing() {
    let nines = "9".repeat(36);
    let page = format!("{nines} billionen {nines} percent, {nines},{nines} and {nines}. Code A{nines}. 12 more.");
    for statement in [
        format!("In total about {nines} billionen percent"),
        format!("The sum is {nines} and {nines} together, about 170141183460469231731687303715884105727"),
        format!("Together 340282366920938463463374607431768211455 % more; A{nines}"),
        "In total 1,234,567 million of them".to_owned(),
        format!("In FY{}/23 it was so", i128::MAX),
    ] {
        judged(&statement, &page);
        judged("In total 1,234,567 percent more", &statement);
    }
}

#[test]
fn long_texts_take_time_that_grows_with_their_length() {
    use crate::domain::growth;
    let checked = |text: &str, page: &str| {
        let starts = text.match_indices("[1]").map(|(at, _)| at);
        let mut citations: Vec<Citation> = starts.map(|at| Citation::new(1, SourceId(1001), at, at + 3)).collect();
        let texts = Texts::read(vec![source(1001, page)], &HashMap::new());
        check(text, &mut citations, &texts, "");
    };
    growth::check("Dues 12 of 1,234 crowns on 14 November 2030; day 18.9. ", 6_000, |page| {
        checked("It cost 77 dues [1].", page)
    });
    growth::check("The day costs 77 dues of 9,999 crowns [1]. ", 4_000, |text| checked(text, PAGE));
    growth::check("7,777 dues of ", 3_000, |text| checked(&format!("{text} [1]."), PAGE));
    growth::check("1.2,3 ", 3_000, |text| checked(text, text));
    for heads in ["$ in thousands 12,345 ", "usd millions 12,345\n", "(単位：百万円) 12,345 "] {
        growth::check(heads, 3_000, |page| checked("It cost $12.4 million, or $77.7 billion [1].", page));
    }
    for powers in ["10^9 × ", "3 x 10<sup>", "1e9e9", "10⁹⁹", "more than no ", "US$ 5 m2 per hour a ", "Tarn 3.10 "]
    {
        growth::check(powers, 8_000, |text| checked(&format!("{text} [1]."), text));
    }
    growth::check("(7001-xxxxxx)", 1_000, |rivals| {
        let same = "(5000zz-yyyyyy)".repeat(rivals.len() / 15);
        checked(
            "The Petrel harbour repaired 5,000 boats [1].",
            &format!("{same}{rivals}(7002-petrel-harbour-repaired)"),
        );
    });
    // One behind the other they are no unit, and must not be read into the depth.
    for units in ["metric ", "percent point ", "square ", "US ", "p.", "个", "km in the "] {
        growth::check(units, 16_000, |text| checked("It cost 5 dues [1].", &format!("5 {text}")));
    }
    for marks in ["“a [b … ", "\"«„\" ", "»one two three four« "] {
        growth::check(marks, 3_000, |text| checked(&format!("{text} [1]."), text));
    }
    for numerals in ["九", "九万", "一二三四五六七八九十"] {
        growth::check(numerals, 3_000, |page| checked("It cost 77 dues [1].", page));
    }
}
