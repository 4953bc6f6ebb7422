//! What only looks like the same number, in tables, rates, shares and parts of a year, and what is the same there.

use super::spellings::{other, same};

#[test]
fn a_page_of_something_else_supports_no_small_number() {
    let cars = "The car has a boot of 600 litres and 5 doors. A survey of owners found that 15 of them had two.";
    other(&[
        ("Vaccines against influenza protect adults during the winter for 5 months", cars),
        ("Lesions were reduced by 15% in patients who had severe psoriasis before treatment", cars),
    ]);
    same(&[
        ("Der Wagen hat vier Räder und einen sehr großen Kofferraum sowie insgesamt 5 Türen", cars),
        ("The boot takes luggage, prams, suitcases, shopping bags through 5 doors", cars),
    ]);
}

#[test]
fn cells_below_a_head_are_paid_in_its_currency() {
    let table = "Income (in millions of €, per share amounts in €)\n\n| | 2024 | 2023 |\n| --- | --- | --- |\n\
        | Revenue | 75,930 | 77,769 |\n| Net income | 8,992 | 8,529 |\n| Basic earnings per share | 10.54 | 10.04 |\n\
        | Diluted | 10.42 | 9.95 |\n\n";
    same(&[
        ("Revenue was €75.9 billion", table),
        ("Revenue was €75,930 million", table),
        ("Basic earnings per share were €10.54", table),
        (
            "売上高は45兆953億円だった。",
            "売上高（単位：百万円）\n\n| | 2024年 |\n| --- | --- |\n| 売上高 | 45,095,325 |\n",
        ),
    ]);
    other(&[
        ("Revenue was $75.9 billion", table),
        ("Revenue was $75,930 million", table),
        ("Basic earnings per share were €10.54 million", table),
        ("Diluted earnings were €10.42 million", table),
        (
            "Sales were $45.1 trillion",
            "売上高（単位：百万円）\n\n| | 2024年 |\n| --- | --- |\n| 売上高 | 45,095,325 |\n",
        ),
    ]);
}

#[test]
fn heads_in_signs_and_in_other_words() {
    let yuan =
        |unit: &str| format!("生产总值（单位：{unit}元）\n\n| 省份 | 2023年 |\n| --- | --- |\n| 广东 | 13.57 |\n");
    let yen = "予算（単位：千万円）\n\n| 項目 | 金額 |\n| --- | --- |\n| 教育費 | 452 |\n";
    let plain =
        "Population by country (in thousands)\n\nCountry 2010 2020\nGermany 81,752 83,167\nIreland 4,549 4,964\n\n";
    let dollars = |head: &str| format!("Income {head}\n\n| Item | 2023 |\n| --- | --- |\n| Gifts | 184,552 |\n");
    same(&[
        ("广东2023年生产总值为13.57万亿元。", &yuan("万亿")),
        ("广东2023年生产总值为13.57亿元。", &yuan("亿")),
        ("教育費は45億2千万円。", yen),
        ("Germany had 83.2 million people in 2020", plain),
        ("Gifts came to $184.6 million", &dollars("($000s)")),
        ("Gifts came to $184.6 million", &dollars("($ in 000s)")),
        ("Gifts came to 1.85 trillion rupees", &dollars("(₹ in crore)")),
        ("Gifts came to 18.5 billion rupees", &dollars("(Rs. in lakhs)")),
    ]);
    other(&[
        ("广东2023年生产总值为13.57亿元。", &yuan("万亿")),
        ("广东2023年生产总值为13.57万元。", &yuan("万亿")),
        ("教育費は45万2千円。", yen),
        ("Germany had 83.2 billion people in 2020", plain),
        ("Germany had 83.2 million people", "Population (in thousands)\n\nGermany has 83,167 inns. It is old.\n\n"),
        ("Gifts came to $184.6 billion", &dollars("($000s)")),
        ("Gifts came to 18.5 billion rupees", &dollars("(₹ in crore)")),
    ]);
}

#[test]
fn shares_are_added_where_something_is_said_of_several() {
    let fines = "Fines are up to €20 million or 4% of turnover, and by Article 33 up to 2% of it, in 99 articles.";
    same(&[
        ("Coal and gas give 55% of the power", "Coal gives 35% of the power, gas 20%."),
        ("In total 55% of the power is of coal or gas", "Coal gives 35% of the power, gas 20%."),
        ("Turnout was 3.4 points higher than before", "Turnout was 61.2%, against 57.8% before."),
        ("By Article 33, fines are up to 2% of turnover", fines),
    ]);
    other(&[
        ("Fines are up to 6% of turnover", fines),
        ("Fines are up to 33% of turnover", fines),
        ("Turnout rose by 3.4%", "Turnout was 61.2%, against 57.8% before."),
    ]);
}

#[test]
fn other_quarters_are_others_in_codes_as_well() {
    same(&[
        ("In Q3 2024, sales rose", "Les ventes ont augmenté au T3 2024."),
        ("Au T3 2024, les ventes ont augmenté", "In Q3 2024, sales rose."),
        ("Au troisième trimestre 2024, les ventes ont augmenté", "Les ventes ont augmenté au T3 2024."),
        ("In the second quarter of 2024, sales rose", "In 2024 sales rose from April to June."),
    ]);
    other(&[
        ("In Q2 2024, sales rose", "Les ventes ont augmenté au T3 2024."),
        ("Sales rose 5% in the second quarter of 2024", "Sales rose 5% in Q3 2024."),
        ("Au deuxième trimestre 2024, les ventes ont augmenté de 5 %", "Les ventes ont augmenté de 5 % au T3 2024."),
    ]);
}

#[test]
fn years_are_written_in_four_digits() {
    same(&[("The work took 632 years", "The work began in 1248 and ended in 1880.")]);
    other(&[("The work took 562 years", "The museum has 1,450 works and 2,012 drawings.")]);
}

#[test]
fn zeros_behind_a_point_are_digits() {
    let table = "Income (in millions)\n\n| | 2023 |\n| --- | --- |\n| Net income | $2,043 |\n";
    same(&[("Net income was $2.0 billion", table), ("Net income was $2.0 billion", "Net income was $2,043 million.")]);
    other(&[("Net income was $3.0 billion", table), ("Net income was $2.1 billion", table)]);
}

#[test]
fn what_things_and_shares_are_counted_for_each_of() {
    let dose = "Adults take 500 mg to 1 g. Levels are 10 to 20 µg/mL.";
    same(&[
        ("It answers 5,000 requests per second", "It answers 5,000 requests/s."),
        ("The share lost is 0.5% per month", "The share lost is 0.5% per month."),
        ("The power costs $60/MWh", "The power costs $0.06/kWh."),
        ("The level is 5 mg/mL", "The level is 5,000 mg/L."),
        ("Adults take 0.5 to 1 g", dose),
        ("Levels are 10–20 mg/L", dose),
        ("Levels are 0.01 to 0.02 mg/mL", dose),
    ]);
    other(&[
        ("It answers 5,000 requests per minute", "It answers 5,000 requests per second."),
        ("The share lost is 0.5% per year", "The share lost is 0.5% per month."),
        ("The power costs $6/MWh", "The power costs $0.06/kWh."),
        ("The level is 5 mg/mL", "The level is 500 mg/L."),
        ("Adults take 0.5 to 1 mg", dose),
        ("Levels are 10–20 mg/mL", dose),
    ]);
}

#[test]
fn units_one_prefix_apart_are_not_the_same() {
    let table = "Power (in TWh)\n\n| Source | 2023 |\n| --- | --- |\n| Wind | 139.3 |\n";
    same(&[
        ("The farm gave 4,900 GWh", "The farm gave 4.9 TWh."),
        ("The farm gave 4,900 GWh", "The farm gave 4,900 GWh."),
        ("Wind gave 139.3 TWh", table),
        ("The land has 67 million people", "The number of people in the land grew 4.1% to 67 million."),
        ("The term is 14 days", "Termin to 14 dni."),
        ("It was 1.45 °C warmer", "It was 1.45 ± 0.12 °C warmer."),
    ]);
    other(&[
        ("The farm gave 4,900 GWh", "The farm gave 4,900 MWh."),
        ("Wind gave 139.3 GWh", table),
        ("The land has 4.1 million people", "The number of people in the land grew 4.1% to 67 million."),
        ("The term is 14 months", "Termin to 14 dni."),
        ("It was 1.45 °F warmer", "It was 1.45 ± 0.12 °C warmer."),
    ]);
}
