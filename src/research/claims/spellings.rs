//! One figure in the spellings of many hands: what is the same passes, what only looks alike does not.

use std::collections::HashMap;

use super::*;
use crate::domain::{
    Source, SourceId,
    claim::Verdict::{NotSupported, Partly, Supported},
};

/// Enough of a language for its names to be known, in statement and page.
const FILLER: &str = "The harbour of the island is old, and its people know the sea and the weather very well. ";

fn judged(statement: &str, page: &str) -> (Verdict, Vec<String>) {
    let text = format!("{FILLER}{statement} [1].");
    let at = text.chars().count() - 4;
    let mut citations = vec![Citation::new(1, SourceId(1001), at, at + 3)];
    let snapshot = format!("{page} {FILLER}").into();
    let source = Source { snapshot, ..Source::example(1001, "https://harbour.test/petrel", "Petrel") };
    let texts = Texts::read(vec![source], &HashMap::new());
    let [claim] = &check(&text, &mut citations, &texts, "What?")[..] else { panic!("not one statement in {text}") };
    (claim.verdict, claim.missing.clone())
}

pub fn same(pairs: &[(&str, &str)]) {
    let is_reported = |(statement, page): &&(&str, &str)| judged(statement, page) != (Supported, Vec::new());
    let reported: Vec<_> = pairs.iter().filter(is_reported).collect();
    assert!(reported.is_empty(), "reported: {reported:#?}");
}

pub fn other(pairs: &[(&str, &str)]) {
    let passes = |(statement, page): &&(&str, &str)| !matches!(judged(statement, page).0, NotSupported | Partly);
    let passing: Vec<_> = pairs.iter().filter(passes).collect();
    assert!(passing.is_empty(), "pass: {passing:#?}");
}

#[test]
fn words_and_letters_for_thousands_and_millions() {
    same(&[
        ("The firm raised $1.5M in May", "The firm raised 1.5 million dollars in May."),
        ("The firm raised $1.5 million", "The firm raised $1.5M."),
        ("The firm raised 2.3 billion dollars", "The firm raised $2.3B."),
        ("The firm raised €5m", "The firm raised 5 million euros."),
        ("The firm raised R500 million", "The firm raised 500 million rand."),
        ("The firm raised 500 million rand", "The firm raised R500 million."),
        ("The gate cost 500 rand", "The gate cost R500."),
        ("The firm has 5M users", "The firm has 5 million users."),
        ("The firm has 300K users", "The firm has 300,000 users."),
        ("Das Budget liegt bei 1,5 Mio. €", "The budget is €1.5m."),
        ("Le budget est de 1,5 M€", "The budget is €1.5 million."),
        ("Le budget est de 2 Mds d'euros", "The budget is €2bn."),
        ("The gate cost 5 mil millones de coronas", "The gate cost 5 billion crowns."),
        ("The gate cost 5 billion crowns", "La puerta costó 5 mil millones de coronas."),
        ("The gate cost 5 billion crowns", "A porta custou 5 bilhões de coroas."),
        ("The gate cost 5 billion crowns", "La porta è costata 5 mld di corone."),
        ("The gate cost 5 trillion crowns", "Ворота стоили 5 трлн крон."),
        ("The gate cost 50 million rupees", "The gate cost ₹5 crore."),
        ("It cost Rs. 1,25,000", "It cost 125,000 rupees."),
        ("The gate is 3 miles away", "It is a 3-mile walk to the gate."),
        ("It took 1½ years", "It took 1.5 years."),
        ("The gate cost $4–5 billion", "The gate cost between $4bn and $5bn."),
        ("The gate cost €4-5m", "The gate cost 4 to 5 million euros."),
        ("The gate cost between €4m and €5m", "The gate cost 4 to 5 million euros."),
        ("It cost $412-million", "It cost $412 million."),
        ("A $412-million-a-year deal", "The deal is worth 412 million dollars a year."),
        ("It costs $5m-a-year", "It costs 5 million dollars a year."),
        ("It costs $5m/year", "It costs 5 million dollars a year."),
        ("It is a 300-thousand-crown boat", "The boat cost 300,000 crowns."),
        ("Revenue was $412M, up 12% YoY", "Revenue of $412 million rose 12 percent."),
    ]);
    other(&[
        ("The firm raised $1.5M in May", "The firm raised 1.5 billion dollars in May."),
        ("The fund holds $3tn", "The fund holds 3 billion dollars."),
        ("The budget is $2B", "The budget is $2M."),
        ("The repair cost 412 euros", "The repair cost 412 thousand euros."),
        ("The repair cost $412", "The repair cost $412 thousand."),
        ("The wall is 1.2m high", "The wall is 1.2 million years old."),
        ("It cost $412-million", "It cost $412 a day."),
        ("It costs $5m-a-year", "It costs 5 dollars a year."),
        ("It is a 5m-high wall", "It is 5 million years old."),
    ]);
}

#[test]
fn units_and_currencies() {
    same(&[
        ("Petrel supplied 4.35 GWh", "Petrel supplied 4,350 MWh in 2029."),
        ("The wall is 5 km long", "The wall is 3.1 miles long."),
        ("The tower is 100 feet high", "The tower is 30.5 m high."),
        ("The plan lasts 18 months", "The plan lasts 1.5 years."),
        ("Es kostet 50 Cent", "It costs 50 cents."),
        ("It is a 5-cent coin", "The coin is worth 5 cents."),
        ("It is a 50-cent coin", "It is a fifty-cent coin."),
        ("It costs 50 cents", "It costs fifty cent."),
        ("Es kostet 21 Cent", "Es kostet einundzwanzig Cent."),
        ("It has 500 boats", "Il y a cinq cent bateaux."),
        ("Es dauert 10 Sekunden", "Es dauert 10 Sek."),
        ("The dues are INR2,400", "The dues are 2,400 rupees."),
        ("The dues are INR2,400 or SEK300", "The dues are 2,400 rupees or 300 kronor."),
        ("In 2030, €500 m² were paved", "In 2030, 500 m² were paved for euros."),
        ("Prices were 50 € 2030 and 60 € 2031", "Prices were 50 euros in 2030 and 60 euros in 2031."),
    ]);
    other(&[
        ("The wall is 5 km long", "The wall is 5 m long."),
        ("Petrel supplied 412 GWh", "Petrel supplied 412 MWh in 2029."),
        ("The plan lasts 5 years", "The plan lasts 5 months."),
        ("The disk has 5 TB", "The disk has 5 GB."),
        ("The repair cost 412 million euros", "The repair cost 412 million dollars."),
        ("The repair cost €412", "The repair cost $412."),
        ("The repair cost NOK 412", "The repair cost SEK 412."),
        ("It has 5,000 boats", "It has fifty cent coins."),
        ("The share is 5 %", "The price is $5 in the share shop."),
    ]);
}

/// The second word of it is a hundred in French.
#[test]
fn per_cent_in_two_words() {
    same(&[
        ("Output fell by 35 per cent in a year", "Output fell by 35% in a year."),
        ("La production a baissé de 35 pour cent", "Output fell by 35% in a year."),
        ("La produzione è scesa del 35 per cento", "Output fell by 35% in a year."),
        ("A produção caiu 35 por cento", "Output fell by 35% in a year."),
    ]);
    other(&[("Output fell by 36 per cent in a year", "Output fell by 35% in a year.")]);
}

#[test]
fn short_names_of_months_are_other_words_too() {
    same(&[
        ("9 out of 10 users like it", "Nine out of ten users like it."),
        ("He set 3 records in Rome", "He set three records in Rome."),
        ("The union set 2050 as its target", "The union aims for neutrality by 2050."),
        ("Only 5 may enter", "No more than 5 can enter."),
        ("The 2 Mars rovers landed", "Two Mars rovers landed."),
        ("It opened on 5 out 2030", "It opened on 5 October 2030."),
        ("It opened on 3 may 2030", "It opened on 2030-05-03."),
        ("It opened in May 2030", "It opened in may 2030."),
    ]);
    other(&[("It opened on 5 out 2030", "It opened on 5 November 2030.")]);
}

#[test]
fn days_of_one_month() {
    let german = "Die Messe lief vom 14. bis 16. November 2030.";
    same(&[
        ("The fair ran on November 14–16, 2030", german),
        ("The fair ran on Nov. 14–16, 2030", "Die Messe lief vom 14.–16. November 2030."),
        ("The fair began on 14 November 2030", "The fair ran 14–16 November 2030."),
        ("The fair ended on 16 November 2030", "The fair ran November 14–16, 2030."),
        ("The fair ran from 3 to 5 May 2030", "The fair ran on 3, 4 and 5 May 2030."),
        ("It was signed on 14 November 2030", "Signed 14-Nov-2030 by all."),
        ("It ran 1939–45", "It ran from 1939 to 1945."),
        ("It is in Article 5, 14 November 2030", "Article 5 of 14 November 2030 says so."),
        ("It is of 14 November 2030", "It is in Article 5, 14 November 2030."),
        ("It ran until 1945", "It ran 1939–45."),
    ]);
    other(&[
        ("It was signed on 5 November 2030", "It is in Article 5, 14 November 2030."),
        ("The fair began on 12 November 2030", "The fair ran 14–16 November 2030."),
        ("The fair ran on November 14–17, 2030", german),
        ("The fair ended on 16 November 2031", "The fair ran November 14–16, 2030."),
        ("It ran 1939–46", "It ran from 1939 to 1945."),
    ]);
}

#[test]
fn clocks_and_results() {
    same(&[
        ("It began at 4:30 pm", "Es begann um 16.30 Uhr."),
        ("It began at 4.30pm", "Es begann um 16:30 Uhr."),
        ("It happened on November 14 – 16:00", "On 14 November at 16:00 it happened."),
        ("The match was 3:2 at 16:30", "The match was 3–2 at 4:30 pm."),
    ]);
    other(&[("It began at 4:30 pm", "Es begann um 15.30 Uhr."), ("The match was 3:1", "The match was 3–2.")]);
}

#[test]
fn ordinals_and_roman_figures() {
    same(&[
        ("The law is of the 19th century", "La loi est du XIXe siècle."),
        ("The law is of the 19th century", "The law is of the nineteenth century."),
        ("The law is of the 19th century", "Das Gesetz stammt aus dem neunzehnten Jahrhundert."),
        ("It is the 3rd largest town", "It is the third largest town."),
        ("The 21st boat sank", "The twenty-first boat sank."),
        ("2/3 of the boats sank", "Two thirds of the boats sank."),
        ("World War 2 cost it boats", "Boats were lost in World War II."),
        ("World War 2 cost it boats", "Im Zweiten Weltkrieg verlor sie viele Boote."),
        ("Article 5 is about boats", "Article V is about boats."),
        ("Article 15 is about boats", "Article XV is about boats."),
        ("Art. 5 is about boats", "L'article cinquième est sur les boats."),
        ("King Henry 8 had boats", "King Henry VIII had boats."),
        ("The law is of the 19. century", "The law is of the nineteenth century."),
    ]);
    other(&[
        ("In all, 2 boats were lost", "In World War II the harbour lost many boats."),
        ("It lost 2 boats", "In World War II the harbour lost many boats."),
        ("In Norway 2 boats were lost", "The boats of Norway were lost when World War II began."),
        ("It lost 5 boats", "Article V is about boats."),
        ("It lost 5 boats", "Captain V lost boats."),
        ("Article 3 is about boats", "Article V is about the third of the boats."),
        ("The law is of the 18th century", "La loi est du XIXe siècle."),
        ("It is the 4th largest town", "It is the third largest town."),
        ("The 22nd boat sank", "The twenty-first boat sank."),
    ]);
}

#[test]
fn codes_and_what_else_they_are_called() {
    same(&[
        ("In Q3 FY25 revenue was 412 crore", "Q3FY25 revenue was 412 crore."),
        ("CO2 fell by 12 %", "CO₂ fell by 12 %."),
        ("CO2 fell by 12 %", "Carbon dioxide fell by 12 %."),
        ("PM2.5 was at 12", "PM₂.₅ was at 12."),
        ("In Q3 2030 sales were 412 boats", "In the third quarter of 2030 sales were 412 boats."),
        ("In Q3 2030 sales were 412 boats", "Im dritten Quartal 2030 wurden 412 Boote verkauft."),
        ("In FY2030 sales were 412 boats", "In fiscal year 2030 sales were 412 boats."),
        ("In FY25 sales were 412 boats", "In fiscal year 2025 sales were 412 boats."),
        ("In FY2025 sales were 412 boats", "In FY25 sales were 412 boats."),
        ("In H2 2030 sales were 412 boats", "In the second half of 2030 sales were 412 boats."),
        ("In H2/2030 sales were 412 boats", "In the second half of 2030 sales were 412 boats."),
        ("In Q3-2030 sales were 412 boats", "In the third quarter of 2030 sales were 412 boats."),
        ("Boats with H2 were 412", "There were 412 boats with hydrogen."),
        ("Boats with H2 were 412 in 2030", "Es gab 2030 nur 412 Boote mit Wasserstoff."),
        ("Es sind 12 Busse mit H2", "Es sind 12 Wasserstoffbusse."),
        ("In the first half of 2030 sales of H2O were 412", "Im ersten Semester 2030: H2O 412, H264 3."),
        ("2030年前三季度销量为412台", "In the first nine months of 2030 sales were 412; in the first quarter 120."),
    ]);
    other(&[
        ("In Q3 2030 sales were 412 boats", "In the second quarter of 2030 sales were 412 boats."),
        ("In FY2031 sales were 412 boats", "In fiscal year 2030 sales were 412 boats."),
        ("In FY25 sales were 412 boats", "In fiscal year 2024 sales were 412 boats, 25 of them new."),
        ("In H2 2030 sales were 412 boats", "In the first half of 2030 sales were 412 boats."),
        ("In H2 2030 sales were 412 boats", "In the first half of 2030 sales of hydrogen boats were 412."),
        ("In H2 sales were 412 boats", "In the first half of 2030 sales were 412 boats."),
        ("In the second half of 2030 sales were 412 boats", "In the first half of 2030 sales were 412 boats."),
        ("In H2 2030 sales were 412 boats", "In 2030 sales of H264 cameras were 412 boats."),
        ("In Q3 2030 sales were 412", "2030年前三季度销量为412台。"),
    ]);
}

/// Their digits count nothing.
#[test]
fn identifiers_stand_in_a_source_or_do_not() {
    let fixed = "It was fixed in commit ac9f0d6f7b21, at address 0x3fa2, as CVE-2024-1234.";
    same(&[
        ("Commit ac9f0d6f7b21 fixed it", fixed),
        ("Commit ac9f0d6f fixed it", fixed),
        ("Commit `AC9F0D6F7B21` fixed it at 0x3FA2", fixed),
        ("It is CVE-2024-1234 that was fixed", fixed),
        ("It is node 550e8400-e29b-41d4-a716-446655440000", "Node 550E8400-E29B-41D4-A716-446655440000 it is."),
    ]);
    other(&[
        ("Commit ac9f0d6e fixed it", fixed),
        ("Commit 9f0d6f7 fixed it", fixed),
        ("It is at address 0x3fa", fixed),
        ("It is at address 0x3fa", "It was fixed at 0x3fa2."),
        ("It is at address 0x3fa3", fixed),
        ("It is CVE-2024-1235 that was fixed", fixed),
        ("It is node 550e8400-e29b-41d4-a716-446655440001", "Node 550E8400-E29B-41D4-A716-446655440000 it is."),
        ("It was fixed in 9 days", fixed),
    ]);
}

#[test]
fn names_with_and_without_diacritics_titles_and_labels() {
    same(&[
        ("There António Guterres signed it", "Antonio Guterres signed it there."),
        ("There Recep Erdoğan signed it", "Recep Erdogan signed it there."),
        ("There Prime Minister Maud Tregarrow signed it", "PM Maud Tregarrow signed it there."),
        ("Total Annual Cost: 412,000 crowns", "It costs 412,000 crowns a year."),
    ]);
    other(&[
        ("There António Guterres signed it", "Ban Moon signed it there."),
        ("There Prime Minister Maud Penhallow signed it", "PM Maud Tregarrow signed it there."),
        ("Annual Cost: Maud Penhallow paid 412,000", "Maud Tregarrow paid 412,000 a year."),
        ("Maud Penhallow: 412,000 crowns", "Maud Tregarrow paid 412,000 crowns a year."),
        ("Ada Penhallow: 412,000 crowns", "Maud Tregarrow paid 412,000 crowns a year."),
    ]);
}

#[test]
fn shares_in_words_and_in_hundredths() {
    same(&[
        ("67% agreed there", "Two thirds of the boats agreed there."),
        ("25 % stimmten zu", "Ein Viertel stimmte zu."),
        ("One in five, or 20% of them, came", "Jeder Fünfte von ihnen kam."),
        ("Costs fell by 50%", "Costs were cut in half."),
        ("30% are women", "三割が女性。"),
        ("Profits fell by 50%", "In the second half profits fell by a half."),
    ]);
    other(&[
        ("77% agreed there", "Two thirds of the boats agreed there."),
        ("30% of them came", "Jeder Fünfte kam."),
        ("Profits fell by 50 %", "Profits fell by 12 % in the second half of the year."),
        ("Profits fell by 33 %", "Profits fell, said a third party."),
        ("Profits fell by 33 %", "Profits fell in a third country."),
        ("Profits fell by 25 %", "Profits fell over a quarter."),
        ("Profits fell by 33 %", "Gewinne fielen um zwei Drittel. Profits fell."),
        ("Profits fell by 50 %", "Profits fell.\n\nIt is old.\n\nGulls nest there.\n\nHalf of the gulls left."),
    ]);
}

#[test]
fn numbers_in_several_parts() {
    same(&[
        ("The trip takes 3.5 hours", "The trip takes three and a half hours."),
        ("The film lasts 135 minutes", "The film lasts 2 h 15 min."),
        ("0.5 litres are enough", "Half a litre is enough."),
        ("It is 1.5 miles", "It is 1 1/2 miles."),
        ("It employs 92 people", "Elle emploie quatre-vingt-douze personnes."),
        ("It has about 45,000 employees", "従業員は約4万5千人。"),
        ("It cost 1.2 trillion yuan", "耗资1万2千亿元。"),
        ("It was the twenty-first congress", "It was the 21st congress."),
        ("It was the thirty-second boat", "It was the 32nd boat."),
        ("It is a thirty-second advertisement", "The advertisement takes 30 seconds."),
        ("In 2030 1/3 of the boats sank", "1/3 of the boats sank in 2030."),
        ("In the 1980s the plant grew", "20世纪80年代该厂扩张。"),
        ("In the 1990s cars were sold", "En los años 90 se vendieron coches."),
    ]);
    other(&[
        ("The trip takes 4.5 hours", "The trip takes three and a half hours."),
        ("The film lasts 145 minutes", "The film lasts 2 h 15 min."),
        ("It employs 82 people", "Elle emploie quatre-vingt-douze personnes."),
        ("It has about 54,000 employees", "従業員は約4万5千人。"),
        ("In the 1970s the plant grew", "20世纪80年代该厂扩张。"),
    ]);
}

#[test]
fn cells_are_rounded_below_heads_in_many_languages() {
    let millions = "(In millions, except number of shares, which are in thousands)\n| | 2023 | 2024 |\n| --- | --- | --- |\n\
        | Sales | 383,285 | 391,035 |\nDues | 22,314 | 24,972 |";
    let plain = "Rank Boat Dues (millions of US$)\n1 Petrel 27,360,935\n2 Gull 17,794,782\n";
    same(&[
        ("Sales were $391.0 billion in 2024", millions),
        ("Sales were about $391 billion in 2024", millions),
        ("Sales rose from $383.3 billion to $391.0 billion", millions),
        ("Dues were roughly $25 billion", millions),
        ("Petrel paid dues of $27.4 trillion", plain),
        ("Dues of Petrel are $60.9 billion", "| USD millions | 2021 |\n| --- | --- |\n| Dues of Petrel | 60,922 |"),
        ("Dues of Petrel are $4.2 trillion", "| Boat | Dues (US$bn) |\n| --- | --- |\n| Petrel | 4,213 |"),
        (
            "Dues of Petrel are 777.1 billion yuan",
            "| 指标（单位：亿元） | 2021年 |\n| --- | --- |\n| Petrel | 7771.02 |",
        ),
        ("Dues of Petrel are ¥45.1 trillion", "（単位：百万円）\n| | 2021年 |\n| --- | --- |\n| Petrel | 45,095,325 |"),
        ("Dues of Petrel are 300.9 trillion won", "(단위: 억원)\n| | 2021 |\n| --- | --- |\n| Petrel | 3,008,709 |"),
        ("Petrel paid 224 million", "Dues (thousands), mid-2023: Petrel 223,805; Gull 126,527."),
    ]);
    other(&[
        ("Sales were $393.0 billion in 2024", millions),
        ("Sales were $391.0 million in 2024", millions),
        ("Dues were roughly $28 billion", millions),
        ("Petrel paid dues of $27.4 billion", plain),
        ("Dues of Petrel are ¥45.1 trillion", "（単位：千円）\n| | 2021年 |\n| --- | --- |\n| Petrel | 45,095,325 |"),
    ]);
}

#[test]
fn a_head_says_what_the_cells_of_its_table_count() {
    let table = "| Year | Visitors (thousands) | Income (€ m) |\n| --- | --- | --- |\n| 2021 | 412 | 3.5 |\n| 2022 | 508 | 4.1 |\n\
        | 2023 | 530 | 4.4 |";
    same(&[
        ("In 2021 there were 412,000 visitors", table),
        ("Income was €4.1 million in 2022", table),
        ("Income was 4.4 in 2023", table),
    ]);
    let captioned = "Visitors in thousands:\n\n| Year | Visitors |\n| --- | --- |\n| 2021 | 412 |";
    let of_euros = "Income in thousands of euros\n\n| Year | Income |\n| --- | --- |\n| 2021 | 412 |";
    same(&[
        ("In 2021 there were 412,000 visitors", captioned),
        ("In 2021 income was 412,000 euros", of_euros),
        ("In 2021 income was 412 thousand euros", of_euros),
        ("In 2021 income was 412 million euros", "The income in millions of euros: 2021: 412, 2022: 508."),
        ("In 2021 income fell by 33 %", "In 2021 the income of the harbour fell by about a third."),
        ("In 2021 half, or 50 % of the income, was lost", "Half the income of 2021 was lost."),
        ("In the second quarter of 2021 income was 412", "Income in Q2 2021 was 412."),
    ]);
    other(&[("In 2021 there were 421,000 visitors", table), ("Income was €4.7 million in 2022", table)]);
    let of_other = format!("{table}\n\nThe old harbour: its repair cost 415 crowns.");
    let metres = "| Boat | Length (m) | Dues |\n| --- | --- | --- |\n| Petrel | 12 | 412 |";
    let counted = "Boats worth 4 Mio. €:\n\n| Boat | Dues |\n| --- | --- |\n| Petrel | 412 |";
    let paid = "| Boat | Dues (thousands) |\n| --- | --- |\n| Petrel | $412 |";
    let of_year = "Visitors 2021 in thousands:\n\n| Year | Visitors |\n| --- | --- |\n| 2021 | 412 |";
    same(&[
        ("Dues of Petrel are $412,000", paid),
        ("In 2021 there were 412,000 visitors", of_year),
        ("The repair cost 4 million crowns", "The repair cost 4, 5 or 6 million crowns."),
        ("In 2021 revenue was 412 crore", "| Year | Revenue (₹ crore) |\n| --- | --- |\n| 2021 | 412 |"),
        ("Dues of Petrel are £412 million", "| Boat | First half (£m) |\n| --- | --- |\n| Petrel | 412 |"),
    ]);
    other(&[
        ("The repair cost 412,000 crowns", "Thousands of visitors came. The repair cost 412 crowns."),
        ("The repair cost 412 thousand crowns", "Thousands of visitors came. The repair cost 412 crowns."),
        ("The repair cost 412 million crowns", "It has 4 million visitors. The repair cost 412 crowns."),
        ("The repair cost 412,000,000 crowns", "Millions of visitors came. The repair cost 412 crowns."),
        ("The repair cost 412 million crowns", "Two million visitors came. The repair cost 412 crowns."),
        ("The repair cost 412 million crowns", "It has 4 million visitors, and the repair cost 412 crowns."),
        ("The repair cost 3 million crowns", "The repair cost 3 crowns, and about 500 others of them 2 million."),
        ("The repair cost 415,000 crowns", &of_other),
        ("Dues of Petrel are 412,000,000", metres),
        ("Dues of Petrel are 412,000,000", counted),
        ("Dues of Petrel are €412,000", paid),
    ]);
}

#[test]
fn versions_codes_and_formulas() {
    same(&[
        ("Rust 1.85 brought it", "Rust 1.85.0 brought it."),
        ("Flight LH401 left", "Flight LH 401 left."),
        ("TiO₂ is the catalyst", "The catalyst is TiO2."),
        ("In the second quarter of 2023 sales were 412", "In 2Q23 sales were 412, in 3Q23 they were 440."),
    ]);
    other(&[
        ("Rust 1.84 brought it", "Rust 1.85.0 brought it."),
        ("Rust 1.85.1 brought it", "Rust 1.85.0 brought it."),
        ("Flight LH410 left", "Flight LH 401 left."),
        ("TiO3 is the catalyst", "The catalyst is TiO2."),
        ("Boat R6 has 12 seats", "Boat R5 has 12 seats, 6 of them new."),
        ("In the third quarter of 2023 sales were 412", "In Q2 2023 sales were 412."),
        ("2023年第三季度销量为412台", "In Q2 2023 sales were 412."),
        ("Der Bau kostete 412.345 Kronen", "Der Bau kostete 412.345.678 Kronen."),
        ("The rate is 3.5 %", "The rate was set am 3.5.2030."),
    ]);
}

#[test]
fn scales_and_squares() {
    same(&[
        ("Water reached 70.7 °F", "Water reached 21.5 °C."),
        ("The wavelength is 0.55 µm", "The wavelength is 550 nm."),
        ("The area is 1.5 hectares", "The area is 15,000 m²."),
        ("It drew about 34 °C", "It drew 93.2 °F."),
    ]);
    other(&[
        ("Water reached 21.5 °F", "Water reached 21.5 °C."),
        ("50 % of the boats were lost", "The water warmed by 0.5 °C."),
        ("It took about 1,200 seconds", "It reached 1,190 °C."),
        ("The wavelength is 0.65 µm", "The wavelength is 550 nm."),
        ("The area is 2.5 hectares", "The area is 15,000 m²."),
        ("3,4 Milliarden kamen", "3,4 Millionen kamen."),
        ("3,4 kg kamen", "3,4 km kamen."),
    ]);
}

#[test]
fn days_and_hours_by_signs() {
    same(&[
        ("Es begann am 03.10. um 14:30 Uhr", "Am 3. Oktober um 14.30 Uhr begann es."),
        ("Das Konzert ist am 3. Oktober", "Konzert: Do, 03.10., 19 Uhr"),
        ("The project began in May 2023", "项目于二〇二三年五月启动。"),
        ("The meeting starts at 3:30 pm", "会議は午後3時半から。"),
        ("It opens at 9:15 am", "午前9時15分に始業する。"),
        ("It requires Ubuntu 24.04.", "Ubuntu 24.04 LTS is required."),
        ("Ubuntu 24.04 is required", "It requires Ubuntu 24.04."),
        ("The share closed at 25.06.", "The share closed at 25.06 on Monday."),
        ("It costs $10.05.", "It costs 10.05 dollars."),
        ("Das Tor ist 24.04. geschlossen", "Am 24. April ist das Tor geschlossen."),
    ]);
    other(&[
        ("Es begann am 03.11. um 14:30 Uhr", "Am 3. Oktober um 14.30 Uhr begann es."),
        ("The project began in June 2023", "项目于二〇二三年五月启动。"),
        ("The meeting starts at 4:30 pm", "会議は午後3時半から。"),
    ]);
}

#[test]
fn parts_of_years_in_many_languages() {
    same(&[
        ("Growth was 5.5% in Q3 2023", "В третьем квартале 2023 года ВВП вырос на 5,5%."),
        ("В 3-м квартале 2023 года ВВП вырос на 5,5%", "В III квартале 2023 года ВВП вырос на 5,5%."),
        ("Growth was 1.4% in Q3 2023", "2023년 3분기 성장률은 1.4%였다."),
        ("Growth was 1.2% in Q3 2023", "2023年第3四半期の成長率は1.2%だった。"),
        ("Growth was 2% in Q3 2023", "W III kwartale 2023 r. wzrost wyniósł 2%."),
        ("Growth was 5.4% in Q4 2024", "2024年四季度GDP增长5.4%。"),
        ("El paro bajó un 3% en el 3.er trimestre de 2023", "El paro bajó un 3% en el tercer trimestre de 2023."),
        ("El paro bajó un 3% en el T3", "El paro bajó un 3% en el tercer trimestre de 2023."),
        ("Dues were $9.4 billion in FY2022/23", "Dues were $9.4 billion in fiscal 2022/23."),
        ("The deal is worth $3T", "The deal is worth $3 trillion."),
    ]);
    other(&[
        ("Во втором квартале 2023 года ВВП вырос на 5,5%", "В третьем квартале 2023 года ВВП вырос на 5,5%."),
        ("第三季度GDP增长5.4%", "2024年四季度GDP增长5.4%。"),
        ("Growth was 1.4% in Q2 2023", "2023년 3분기 성장률은 1.4%였다."),
        ("Dues were $9.4 billion in FY2023/24", "Dues were $9.4 billion in fiscal 2022/23."),
    ]);
}

#[test]
fn months_and_multiples_in_many_languages() {
    same(&[
        ("It began on 15 July 1410", "15 lipca 1410 roku."),
        ("It began on 29 May 1453", "29 Mayıs 1453'te oldu."),
        ("It began on 17 August 1945", "Mulai berlaku 17 Agustus 1945."),
        ("About 475,000 boats came", "Sprzedano 475 tys. łodzi."),
        ("About 85.4 million boats came", "Nüfus 85,4 milyon oldu."),
        ("About 4.5 billion boats came", "Det var 4,5 miljarder båtar."),
        ("About 10 trillion boats came", "Ada 10 triliun perahu."),
    ]);
    other(&[
        ("It began on 15 June 1410", "15 lipca 1410 roku."),
        ("It began on 29 March 1453", "29 Mayıs 1453'te oldu."),
        ("About 85.4 billion boats came", "Nüfus 85,4 milyon oldu."),
    ]);
}

/// Among a dozen numbers some two have nearly any ratio.
#[test]
fn a_ratio_that_nothing_speaks_of_is_no_proof() {
    let rich =
        "The mass is 5.97 units, the wavelength 550, the dose 1.6, the count 1,204, the share 95, the ratio 3.4.";
    other(&[("The mass is 5.79 units", rich)]);
    same(&[("The share of 95 is a ratio of 17.3 %, 95 to 550", rich)]);
}
