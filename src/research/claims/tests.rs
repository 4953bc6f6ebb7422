//! Statements held against sources: what stands there in other words passes, what was altered does not.

use std::collections::HashMap;

use super::*;
use crate::{
    domain::{
        Source, SourceId,
        claim::Verdict::{NotCheckable, NotSupported, Partly, Supported},
    },
    text,
};

pub(super) const PAGE: &str = "Petrel, the first turbine, stopped on 14 November 2030. A bearing of the main shaft had failed.\n\
    The repair cost 412,000 crowns, of which the insurer paid 300,000.\n\
    Petrel had supplied 4,350 MWh in 2029 and 3,900 MWh in 2030. Visitors come from 9:00 to 16:00.\n\
    | Rate | Members | Others |\n| Day | 18.9 | 21.4 |\n\
    The loan runs until May 2041; its rate is 3.5 %. Twelve people work there. See report IR-2030-11.\n\
    Captain Maud Tregarrow signed for the council of Sallow Bay.";

pub(super) fn source(id: u32, text: &str) -> Source {
    Source { snapshot: text.into(), ..Source::example(id, "https://harbour.test/petrel", "Petrel") }
}

/// Returns the verdict on a statement that cites a page, and what is missing there.
pub fn judged(statement: &str, page: &str) -> (Verdict, Vec<String>) {
    judged_after("", statement, page)
}

/// Returns the same behind a text that shows its language.
fn judged_after(filler: &str, statement: &str, page: &str) -> (Verdict, Vec<String>) {
    let text = format!("{filler}{statement} [1].");
    let at = text.chars().count() - 4;
    let mut citations = vec![Citation::new(1, SourceId(1001), at, at + 3)];
    let texts = Texts::read(vec![source(1001, page)], &HashMap::new());
    let claims = check(&text, &mut citations, &texts, "What happened at Skelderwick?");
    let [claim] = &claims[..] else { panic!("{claims:?}") };
    assert_eq!(citations[0].verdict, Some(claim.verdict));
    (claim.verdict, claim.missing.clone())
}

#[test]
fn what_stands_in_the_page_is_supported_in_every_spelling() {
    for statement in [
        "The repair cost 412,000 crowns",
        "The repair cost 412 000 crowns",
        "Die Reparatur kostete 412.000 Kronen",
        "The repair cost 412 thousand crowns",
        "La réparation a coûté 0,412 million de couronnes",
        "Petrel stopped on 2030-11-14",
        "Petrel stand seit dem 14. November 2030 still",
        "Petrel s'est arrêtée le 14 novembre 2030",
        "彼得雷尔号于2030年11月14日停止运转",
        "Петрел остановилась 14 ноября 2030 года",
        "The loan runs until 2041, at 3.5 percent",
        "Petrel supplied 4.35 GWh in 2029",
        "Visitors come until 4 pm",
        "12 people work there",
        "Members pay 18.9 by day",
        "The report is IR-2030-11",
    ] {
        assert_eq!(judged(statement, PAGE), (Supported, Vec::new()), "{statement}");
    }
}

#[test]
fn what_follows_from_the_page_is_supported() {
    for statement in [
        "Of the cost of the repair, the insurer left 112,000 crowns to others",
        "Petrel supplied 8,250 MWh in both years together",
        "In 2030 Petrel supplied 10.3 % less than in 2029",
        "The repair cost about 410,000 crowns",
    ] {
        assert_eq!(judged(statement, PAGE).0, Supported, "{statement}");
    }
}

#[test]
fn what_was_altered_is_not_supported() {
    for (statement, missing) in [
        ("The repair cost 413,000 crowns", "413,000"),
        ("Die Reparatur kostete 412.500 Kronen", "412.500"),
        ("The repair cost 412,500 crowns", "412,500"),
        ("The repair cost 412 million crowns", "412 million crowns"),
        ("Petrel stopped on 15 November 2030", "15 November 2030"),
        ("Petrel stopped on 2030-10-14", "2030-10-14"),
        ("The loan runs until 2043", "2043"),
        ("Visitors come until 5 pm", "5 pm"),
        ("The report is IR-2030-12", "IR-2030-12"),
        ("14 people work there", "14 people"),
    ] {
        let (verdict, found) = judged(statement, PAGE);
        assert_eq!(verdict, NotSupported, "{statement}: {found:?}");
        assert!(missing.starts_with(&found[0]), "{statement}: {found:?}");
    }
    assert_eq!(judged("The repair cost 412,000 crowns and took 77 days", PAGE).0, Partly);
    assert_eq!(judged("A bearing had failed", PAGE).0, NotCheckable);
    assert_eq!(judged("The repair cost 412,000 crowns", "").0, NotSupported);
}

/// Without a figure or a name, what is said word by word is all that code can see.
#[test]
fn a_whole_sentence_of_the_page_is_supported() {
    let page = "The bearing of the shaft had failed. It is not so that the gulls ate the net. It cost dearly.\n\n\
        They said: \"The gate will be shut for good. The boats have to be sold to others. So it is.\"";
    for (statement, expected) in [
        ("The bearing of the shaft had failed", Supported),
        ("The **bearing** of the shaft had failed", Supported),
        ("The bearing of the shaft failed", NotCheckable),
        ("the gulls ate the net", NotCheckable),
        ("The boats have to be sold to others", NotCheckable),
        ("It cost dearly", NotCheckable),
    ] {
        assert_eq!(judged(statement, page).0, expected, "{statement}");
    }
    let texts = Texts::read(vec![source(1001, page), source(1002, "Gulls nest on the roof.")], &HashMap::new());
    let text = "The bearing of the shaft had failed [1][2].";
    let mut citations = vec![Citation::new(1, SourceId(1001), 36, 39), Citation::new(2, SourceId(1002), 39, 42)];
    assert_eq!(check(text, &mut citations, &texts, "")[0].verdict, Supported);
    assert_eq!([citations[0].verdict, citations[1].verdict], [Some(Supported), Some(NotCheckable)]);
    assert_eq!(citations[0].passage.as_ref().unwrap().text, "The bearing of the shaft had failed.");
}

/// The full stop of an abbreviation cuts no amount off a statement.
#[test]
fn an_amount_with_an_abbreviation_is_checked() {
    for (statement, page) in [
        ("Der Umsatz lag bei 4,2 Mrd. Euro", "Der Umsatz lag bei 3,9 Mrd. Euro."),
        ("Der Bau kostete ca. 5 Mio. Kronen im Jahr 2031", "Der Bau kostete 7 Mio. Kronen im Jahr 2031."),
        ("Der Bau kostete 412 Tsd. Kronen", "Der Bau kostete 413 Tsd. Kronen."),
        ("Es kostet 413 Fr. Miete", "Es kostet 412 Fr. Miete."),
        ("Доход составил 412 млн. USD", "Доход составил 413 млн. USD."),
    ] {
        let found = judged(statement, page);
        assert!(matches!(found.0, NotSupported | Partly), "{statement}: {found:?}");
        assert_eq!(judged(statement, statement).0, Supported, "{statement}");
    }
}

/// Both years and both figures stand in the page, and in other pairs.
#[test]
fn years_that_are_swapped_are_not_supported() {
    let swapped = "Petrel supplied 4,350 MWh in 2030 and 3,900 MWh in 2029";
    assert_eq!(judged(swapped, PAGE), (Partly, vec!["2030".to_owned(), "2029".to_owned()]));
    assert_eq!(judged("Petrel supplied 3,900 MWh in 2030 and 4,350 MWh in 2029", PAGE).0, Supported);
}

/// The same number stands in the page, and is that of something else.
#[test]
fn a_number_of_another_matter_is_not_supported() {
    for statement in [
        "The repair cost 4,350 crowns",
        "The insurer paid 412,000",
        "The insurer paid 412,000 crowns",
        "Petrel supplied 412,000 MWh",
        "The repair cost 412 crowns",
        "The loan has a rate of 3.5 MWh",
        "The repair cost about 1,000,000 crowns",
        "Over 500,000 visitors came to Petrel",
        "The repair cost around 200,000 crowns",
        "The repair cost about 405,678 crowns",
    ] {
        let found = judged(statement, PAGE);
        assert_eq!(found.0, NotSupported, "{statement}: {found:?}");
    }
}

/// What is put otherwise than in the page is no other matter.
#[test]
fn a_number_in_other_words_stays_supported() {
    let page = "# Gate\n\nThe town built it in 2030. The estimate was 300,000 crowns. It came to 412,000 in the end.\n\n\
        ## Income of the harbour\n\n| Year | Crowns |\n|---|---|\n| 2029 | 71,500 |\n| 2030 | 84,300 |\n\n\
        Members paid 5,200 crowns in 2029, and 6,100 in the year after. Of 1,250 boats, the storm sank 310.\n\n\
        Dues of visitors: 18,900 crowns. The speed is 4 km/h, over 12 m² of ice, in rooms 4, 5, 6.\n";
    for statement in [
        "The gate cost the town 412,000 crowns",
        "In 2030 the income of the harbour was 84,300 crowns",
        "Members paid 6,100 crowns in 2030",
        "In 2029, 5,200 crowns were paid by members",
        "The storm sank 310 boats",
        "1,250 boats were in the storm",
        "Die Einnahmen des Hafens lagen 2029 bei 71.500 Kronen",
        "Visitors paid 18.9 thousand crowns",
        "It moves at 4 kilometres an hour",
        "It covers 12 square metres",
        "Income in 2029 was 71,500 and in 2030 84,300 crowns",
        "Compared with 71,500 in 2029, the harbour had 84,300 crowns in 2030",
        "The boats were in rooms 4 5 6",
        "About 85,000 crowns came in",
        "Nearly 1,300 boats",
    ] {
        let found = judged(statement, page);
        assert_eq!(found.0, Supported, "{statement}: {found:?}");
    }
    let cut = format!("{}412 000 crowns, of which 300,000 came.", "The repair was dear ".repeat(30));
    assert_eq!(judged("The repair was at 412,000 crowns", &cut).0, Supported);
    let other = "Skelderwick gave 8,000 crowns to Norderwarf.\n\nThe fund of the bridge holds 9,500 crowns.";
    let german = "Der Brückenfonds von Skelderwick und Norderwarf hat 9.500 Kronen";
    assert_eq!(judged(german, other).0, Supported);
}

#[test]
fn names_are_checked_where_only_names_have_capitals() {
    let filler = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let page = format!("{PAGE} {filler}");
    let judged = |statement: &str| judged_after(filler, statement, &page);
    assert_eq!(judged("There Maud Tregarrow signed for Sallow Bay"), (Supported, Vec::new()));
    assert_eq!(judged("There Maud Penhallow signed"), (NotSupported, vec!["There Maud Penhallow".to_owned()]));
    assert_eq!(judged("There the people of Skelderwick Sound signed").0, NotSupported);
    assert_eq!(judged("The Skelderwick people signed").0, NotCheckable, "the question names it");
    assert_eq!(judged("There the NATO signed"), (NotSupported, vec!["NATO".to_owned()]));
    let spelt = format!("{page} The North Atlantic Treaty Organization signed.");
    assert_eq!(judged_after(filler, "There the NATO signed", &spelt).0, Supported);
}

/// An article looks like a number, and words like `once` are numbers in other languages.
#[test]
fn an_article_or_an_idiom_is_no_figure() {
    for (statement, page) in [
        ("Le maire a signé un accord avec les syndicats", "Le maire a refusé de signer un accord avec les syndicats."),
        ("The harbour once banned fishing", "The harbour once allowed fishing."),
        ("Er sagte, dass die Anlage sicher sei", "Sei 6 gesund: Die Anlage war nicht sicher."),
    ] {
        assert_eq!(judged(statement, page), (NotCheckable, Vec::new()), "{statement}");
    }
    assert_eq!(judged("The trip takes one hour", "The trip takes 1 hour.").0, Supported);
    assert_eq!(judged("Twelve people work there", PAGE).0, Supported);
}

/// The first word of a sentence has a capital letter in any case, and is none of the name behind it.
#[test]
fn a_name_begins_behind_the_first_small_word() {
    let english = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let french = "Le port de l'île est vieux, et ses habitants connaissent très bien la mer et le temps qu'il fait. ";
    for (filler, statement, page, expected) in [
        (french, "Selon Emmanuel Macron, la réforme est finie", "Emmanuel Macron parle de la réforme.", Supported),
        (french, "Selon Emmanuel Valls, la réforme est finie", "Emmanuel Macron parle de la réforme.", NotSupported),
        (english, "Although Tesla sold 412,000 cars, it lost money", "Tesla sold 412,000 cars.", Supported),
        (english, "Unlike Tesla, Petrel sold 412,000 cars", "Petrel sold 412,000 cars, Tesla fewer.", Supported),
        (english, "Under Maud Tregarrow they sold 412 cars", "Maud Tregarrow and others sold 412 cars.", Supported),
        (english, "Treasury Secretary Janet Yellen paid 412 crowns", "Janet Yellen paid 412 crowns.", Supported),
        (english, "Treasury Secretary Maud Yellen paid 412 crowns", "Janet Yellen paid 412 crowns.", Partly),
    ] {
        let page = format!("{filler}{filler}{page}");
        assert_eq!(judged_after(filler, statement, &page).0, expected, "{statement}");
    }
}

/// A source often has the short form of a name alone.
#[test]
fn a_name_may_stand_in_the_page_as_its_initials() {
    let filler = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let judged = |statement: &str, page: &str| judged_after(filler, statement, &format!("{page} {filler}"));
    for (statement, page) in [
        ("The International Monetary Fund (IMF) expects growth of 3 %", "The IMF expects growth of 3 %."),
        ("The International Monetary Fund expects growth of 3 %", "The IMF expects growth of 3 %."),
        ("The Organisation for Economic Co-operation and Development (OECD) expects 3 %", "The OECD expects 3 %."),
        ("The Organisation for Economic Co-operation and Development expects 3 %", "The OECD expects 3 %."),
        ("The National Aeronautics and Space Administration (NASA) counts 3 %", "NASA counts 3 %."),
        ("The National Aeronautics and Space Administration counts 3 %", "The NASA counts 3 %."),
        ("In 2030 the European Central Bank (ECB) paid 3 %", "In 2030, the ECB's rate was 3 %."),
        ("In 2030 the World Health Organization counted 3 %", "In 2030 the WHO counted 3 %."),
        ("The Federal Reserve (Fed) paid 3 %", "The Fed paid 3 %."),
        ("The Federal Reserve paid 3 %", "The Fed paid 3 %."),
        ("The European Union and the United States paid 3 %", "The EU and the U.S. paid 3 %."),
        ("The Intergovernmental Panel on Climate Change says 3 %", "The IPCC says 3 %."),
        ("The International Monetary Fund and the World Bank paid 3 %", "The IMF and the World Bank paid 3 %."),
        ("The Harbour Fund of Petrel (PHARE) paid 3 %", "PHARE paid 3 %."),
    ] {
        assert_eq!(judged(statement, page), (Supported, Vec::new()), "{statement} | {page}");
    }
    let missing = ("International Monetary Fund", "The International Monetary Fund (IMF) expects growth of 3 %");
    for page in ["The OECD expects growth of 3 %.", "The IMFX expects growth of 3 %.", "The imf expects 3 %."] {
        assert_eq!(judged(missing.1, page), (Partly, vec![missing.0.to_owned()]), "{page}");
    }
    let of_party = "Last year Maud Penhallow (SPD) paid 3 %";
    assert_eq!(judged(of_party, "Ada Tregarrow (SPD) paid 3 %.").0, Partly, "a party is no name");
    assert_eq!(judged("There the Sallow Bay paid 3 %", "In SB they paid 3 %.").0, Partly, "too short");
}

/// Names of one word may be many things: they decide where nothing else can be checked.
#[test]
fn a_single_name_is_checked_where_it_is_all_there_is() {
    let filler = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let page = format!("{PAGE} {filler}");
    let judged = |statement: &str| judged_after(filler, statement, &page);
    assert_eq!(judged("The contract was signed by Tregarrow"), (Supported, Vec::new()));
    assert_eq!(judged("The contract was signed by Penhallow"), (NotSupported, vec!["Penhallow".to_owned()]));
    assert_eq!(judged("The contract was signed by Penhallow, for 412,000 crowns").0, Supported);
    let half = format!("{filler}{filler}Tregarrow signed in the second half.");
    for statement in ["in the second half", "in the second half of sales"] {
        let statement = format!("The contract was signed by Penhallow {statement}");
        let (verdict, missing) = judged_after(filler, &statement, &half);
        assert!(matches!(verdict, NotSupported | Partly) && missing == ["Penhallow"], "{statement}");
    }
    let oldest = format!("{page} Tregarrow, one of the oldest captains, once left.");
    for statement in ["signed by Penhallow, one of the oldest captains", "once signed by Penhallow"] {
        let found = judged_after(filler, &format!("The contract was {statement}"), &oldest);
        assert_eq!(found, (NotSupported, vec!["Penhallow".to_owned()]), "{statement}");
    }
    assert_eq!(judged("The people of Skelderwick signed the contract").0, NotCheckable, "the question names it");
    assert_eq!(judged("It was signed by the Council on a Tuesday in the Dutch way").0, NotCheckable);
    assert_eq!(judged("Penhallow signed the contract").0, NotCheckable, "any word may begin a sentence");
    let known = format!("{filler}The captain was Penhallow. ");
    assert_eq!(judged_after(&known, "Penhallow signed the contract", &page).0, NotSupported);
    assert_eq!(
        judged_after("", "Der Vertrag wurde von Penhallow für die Gemeinde unterschrieben", &page).0,
        NotCheckable
    );
}

/// A quotation stands word for word in the page that it is said to be from, or the statement is wrong.
#[test]
fn a_quotation_has_to_stand_in_the_page_that_is_cited() {
    let filler = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let said = "The mayor said: “The gate will never[4] be built here, since nobody pays for it.”";
    let page = format!("{filler}{said} Maud Tregarrow left. {PAGE}");
    let judged = |statement: &str, page: &str| judged_after(filler, statement, page);
    for statement in [
        "The mayor said: \"The gate will never be built here\"",
        "The mayor said that “[t]he gate … never be built here”",
        "The mayor of the town gave as the reason: «since nobody pays for it»",
    ] {
        assert_eq!(judged(statement, &page), (Supported, Vec::new()), "{statement}");
    }
    let invented = "In 2030 Maud Tregarrow said: “The gate will soon be built here”";
    assert_eq!(judged(invented, &page), (NotSupported, vec!["The gate will soon be built here".to_owned()]));
    // Taken from another page.
    let other = format!("{filler}{filler}{PAGE}");
    assert_eq!(judged("The mayor said: “The gate will never be built here”", &other).0, NotSupported);
    assert_eq!(judged("They call it “the gate” and “never to be”", &other).0, NotCheckable);
    assert_eq!(judged("They ask: “What happened at Skelderwick?”", &other).0, NotCheckable, "the question");
    let german = "Der Hafen der Insel ist alt, und die Leute kennen das Meer und das Wetter sehr gut, auch im Winter.";
    assert_eq!(judged("The mayor said: “The gate will soon be built here”", german).0, NotCheckable, "translated");
    assert_eq!(judged("He said: „Die Leute kennen das Meer und das Wetter“", german).0, Supported, "as it stands");
    assert_eq!(judged("He said: „Die Leute kennen weder das Meer noch den Berg“", german).0, NotSupported);
    let german = format!("{german} Das Projekt Petrel wird von der Europäischen Kommission in Sallow Bay bezahlt.");
    for translated in [
        "the Petrel project was funded",
        "financed by the European Commission",
        "built in Sallow Bay",
        "a Kommission in Sallow Bay",
    ] {
        assert_eq!(judged(&format!("He said: “{translated}”"), &german).0, NotCheckable, "{translated}");
    }
    let traditional = "市長說：「這個城門永遠不會在這裡建成，因為沒有人為它付錢。」居民們都知道這件事。";
    let simplified = "他说：“这个城门永远不会在这里建成”";
    assert_eq!(judged_after("居民们都知道这个港口很旧。", simplified, traditional).0, NotCheckable);
    let code = "Run `git commit -m \"mend the broken gate now\"` in it";
    assert_eq!(judged(code, &other).0, NotCheckable, "code");
}

/// A page may say something else when it is read again: each text that was seen under its address counts.
#[test]
fn a_quotation_from_a_page_that_has_changed_stands_as_it_was_read() {
    let filler = "The harbour of the island is old, and its people know the sea and the weather very well. ";
    let text = format!("{filler}They say “the gate will never be built here” and “the gate opens next year” [1].");
    let at = text.chars().count() - 4;
    let read = |snapshot: String, others: &[&str]| {
        let mut citations = vec![Citation::new(1, SourceId(1001), at, at + 3)];
        let source = source(1001, &snapshot);
        let others = others.iter().map(|text| std::sync::Arc::from(*text)).collect();
        let texts = Texts::read(vec![source.clone()], &HashMap::from([(source.url, others)]));
        check(&text, &mut citations, &texts, "").pop().map(|claim| (claim.verdict, claim.missing))
    };
    let before = format!("{filler}{filler}The gate will never be built here.");
    let now = "The gate opens next year.";
    assert_eq!(read(before.clone(), &[now]), Some((Supported, Vec::new())));
    assert_eq!(read(before, &[]), Some((NotSupported, vec!["the gate opens next year".to_owned()])));
}

/// What two sources state may be added up; what is a part of a sum is in it already.
#[test]
fn a_total_is_of_what_adds_up() {
    let one = format!(
        "Rooms {} were counted. The northern gate cost 412,000 crowns.",
        (1..40).map(|n| n.to_string()).collect::<Vec<_>>().join("; ")
    );
    let other = "The southern gate cost 300,000 crowns.";
    let check = |text: &str, expected: Verdict| {
        let at = text.find("[1]").unwrap();
        let mut citations =
            vec![Citation::new(1, SourceId(1001), at, at + 3), Citation::new(2, SourceId(1002), at + 3, at + 6)];
        let other = Source { url: "https://other.test/".to_owned(), ..source(1002, other) };
        let texts = Texts::read(vec![source(1001, &one), other], &HashMap::new());
        assert_eq!(check(text, &mut citations, &texts, "")[0].verdict, expected, "{text}");
    };
    check("In total both gates cost 712,000 crowns [1][2].", Supported);
    check("In total both gates cost 721,000 crowns [1][2].", NotSupported);
    assert_eq!(judged("In total the repair cost 712,000 crowns", PAGE).0, NotSupported, "300,000 are a part of it");
    assert_eq!(judged("The repair cost others 112,000 crowns", PAGE).0, Supported);
    let german = "Die Reparatur kostete 412.000 Kronen, davon zahlte die Versicherung 300.000.";
    assert_eq!(judged("Insgesamt kostete die Reparatur 712.000 Kronen", german).0, NotSupported);
    let apart = "The repair cost 412,000 crowns, and the crane 300,000.";
    assert_eq!(judged("In total repair and crane cost 712,000 crowns", apart).0, Supported);
}

/// A right address with the figure of another page.
#[test]
fn each_citation_has_its_own_verdict_and_passage() {
    let text = "The repair cost 412,000 crowns [1][2].";
    let mut citations = vec![Citation::new(1, SourceId(1001), 31, 34), Citation::new(2, SourceId(1002), 34, 37)];
    let other = Source { url: "https://other.test/".to_owned(), ..source(1002, "Gulls nest on 7 roofs.") };
    let texts = Texts::read(vec![source(1001, PAGE), other], &HashMap::new());
    let claims = check(text, &mut citations, &texts, "");
    assert_eq!((claims[0].verdict, claims[0].start, claims[0].end), (Supported, 0, 37));
    assert_eq!([citations[0].verdict, citations[1].verdict], [Some(Supported), Some(NotSupported)]);
    let passage = citations[0].passage.as_ref().unwrap();
    assert_eq!(passage.text, "The repair cost 412,000 crowns, of which the insurer paid 300,000.");
    let chars: Vec<char> = PAGE.chars().collect();
    assert_eq!(chars[passage.start..passage.end].iter().collect::<String>(), passage.text);
}

/// What follows from one page alone is no merit of another one.
#[test]
fn a_computed_number_counts_for_the_page_that_it_follows_from() {
    let text = "Petrel supplied 8,250 MWh in both years together [1][2].";
    let at = text.find("[1]").unwrap();
    let mut citations =
        vec![Citation::new(1, SourceId(1001), at, at + 3), Citation::new(2, SourceId(1002), at + 3, at + 6)];
    let other = Source { url: "https://other.test/".to_owned(), ..source(1002, "Gulls nest on 7 roofs.") };
    let texts = Texts::read(vec![source(1001, PAGE), other], &HashMap::new());
    assert_eq!(check(text, &mut citations, &texts, "")[0].verdict, Supported);
    assert_eq!([citations[0].verdict, citations[1].verdict], [Some(Supported), Some(NotSupported)]);
}

/// The lower case of `İ` is longer than itself, so places in lower case are not places in the text.
#[test]
fn a_code_is_found_behind_letters_whose_lower_case_is_longer() {
    let page = format!("{}.\nThe permit is hr-2217 of May.\nGulls nest on the roof of the old mill.", "İ".repeat(40));
    let texts = Texts::read(vec![source(1001, &page)], &HashMap::new());
    let mut citations = vec![Citation::new(1, SourceId(1001), 22, 25)];
    let claims = check("It is permit HR-2217 [1].", &mut citations, &texts, "");
    assert_eq!(claims[0].verdict, Supported);
    assert_eq!(citations[0].passage.as_ref().unwrap().text, "The permit is hr-2217 of May.");
    assert_eq!(judged("It cost 4 million crowns", "Amounts in Millions\n\nThe cost: 4 crowns").0, Supported);
}

/// As many letters are longer as are shorter in lower case.
#[test]
fn places_in_lower_case_are_those_of_the_text() {
    let page = "In İzmir sales fell in the second half.";
    let statement = "In İzmir sales fell in the first half—it drew \u{212b}";
    assert_eq!(judged(statement, page), (NotSupported, vec!["first half".to_owned()]));
}

/// Numbers beyond what can be counted end nothing.
/// Every sentence of the example library supports itself; with one digit changed, hardly any does.
#[test]
fn one_digit_makes_the_difference() {
    let library = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/library");
    let (mut quoted, mut altered) = (0, 0);
    let (mut unsupported, mut unnoticed) = (Vec::new(), Vec::new());
    for path in markdown_files(&library) {
        let page = std::fs::read_to_string(path).unwrap();
        let texts = Texts::read(vec![source(1001, &page)], &HashMap::new());
        let verdict = |statement: &str| {
            let text = format!("{statement} [1]");
            let end = text.chars().count();
            let mut citations = vec![Citation::new(1, SourceId(1001), end - 3, end)];
            check(&text, &mut citations, &texts, "").pop().map(|claim| claim.verdict)
        };
        for sentence in page.lines().filter(|line| !line.contains('|')).flat_map(text::sentences) {
            let Some(was) = verdict(sentence).filter(|verdict| *verdict != NotCheckable) else { continue };
            quoted += 1;
            if was != Supported {
                unsupported.push(sentence.to_owned());
            }
            let last = sentence.char_indices().rfind(|(_, char)| char.is_ascii_digit());
            let Some((at, digit)) = last else { continue };
            let other = char::from(b'0' + (digit as u8 - b'0' + 3) % 10);
            let changed = format!("{}{other}{}", &sentence[..at], &sentence[at + 1..]);
            altered += 1;
            if verdict(&changed) == Some(Supported) {
                unnoticed.push(changed);
            }
        }
    }
    assert!(quoted > 200, "{quoted}");
    assert!(
        unsupported.len() * 100 <= quoted,
        "{} of {quoted} do not support themselves: {unsupported:#?}",
        unsupported.len()
    );
    assert!(unnoticed.len() * 100 <= altered * 10, "{} of {altered} pass altered: {unnoticed:#?}", unnoticed.len());
}

fn markdown_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(markdown_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "md" || extension == "txt") {
            files.push(path);
        }
    }
    files
}

proptest::proptest! {
    /// Reports and pages are whatever models and the web hold.
    #[test]
    fn no_text_is_too_odd(
        text in "([a-zA-Zäé潮三年月日。?. \n|*-]{0,9}|[0-9]{1,4}[.,: '/-]?[0-9]{0,3}|1 %|\\[1\\]|٣٫٥ \
            |[0-9.]{1,4}(e|×10\\^|·10⁹|x 10<sup>|\\+)-?[0-9]{0,3}|(over|pp|bits per hour|km2|MWh|C\\$|pounds|Tarn) ){0,30}",
        page in "([a-zA-Zäé潮三年月日。?. \n|*-]{0,9}|[0-9]{1,4}[.,: '/-]?[0-9]{0,3}|1 %|٣٫٥ \
            |[0-9.]{1,4}(e|×10\\^|·10⁹|x 10<sup>|\\+)-?[0-9]{0,3}|(over|pp|bits per hour|km2|MWh|C\\$|pounds|Tarn) ){0,30}",
    ) {
        let chars: Vec<char> = text.chars().collect();
        let starts = (0..chars.len().saturating_sub(2)).filter(|at| chars[*at..*at + 3] == ['[', '1', ']']);
        let mut citations: Vec<Citation> = starts.map(|at| Citation::new(1, SourceId(1001), at, at + 3)).collect();
        let texts = Texts::read(vec![source(1001, &page)], &HashMap::new());
        for claim in check(&text, &mut citations, &texts, &page) {
            proptest::prop_assert!(claim.start < claim.end && claim.end <= chars.len());
            proptest::prop_assert!(claim.first_citation + claim.citations <= citations.len());
        }
    }
}
