//! Forms of citations that few models use, each beside what only looks like it: raised numbers behind figures, signs of
//! full width, numbers of sections, names of substances, reports that stand in code.

use super::{
    lookalikes::{A, B, C, check, settled},
    *,
};
use crate::domain::growth;

fn list() -> String {
    format!("### Sources\n1. T: {A}\n2. M: {B}\n3. C: {C}\n")
}

fn under(text: &str, expected: &str) {
    check(&format!("{text}\n\n{}", list()), expected, 0, 3);
}

#[test]
fn an_address_ends_at_brackets_and_quotation_marks_of_any_script() {
    for behind in [
        "（访问日期：2024年5月3日）",
        "（英文）后",
        "【英文】",
        "「英語」",
        "『英語』",
        "《报告》",
        "》后",
        "”后",
        "〔3〕",
        "“a”",
        "«a»",
    ] {
        check(&format!("费用上涨[2]。\n\n## 参考文献\n\n[1] 市：{B}\n[2] 港口：{A}{behind}\n"), "费用上涨[1]。", 0, 2);
        check(&format!("费用上涨，见{A}{behind}，等等。"), &format!("费用上涨，见[1]{behind}，等等。"), 0, 0);
    }
    check(&format!("费用见（{A}），见《{B}》。见{A}！"), "费用见（[1]），见《[2]》。见[1]！", 0, 0);
    // Letters of such a script are a part of the path.
    let wiki = || vec![Source::example(1001, "https://zh.test/wiki/登革热", "登革热")];
    let (body, _) = settled(
        wiki(),
        "见 https://zh.test/wiki/登革热（维基），https://zh.test/wiki/%E7%99%BB%E9%9D%A9%E7%83%AD。",
        5,
    );
    assert_eq!(body, "见 [1]（维基），[1]。");
}

#[test]
fn a_sentence_without_spaces_goes_on_behind_an_address() {
    let wiki = "https://zh.wikipedia.org/wiki/登革热";
    let (before, behind) = ("港".repeat(15), "费".repeat(99));
    for (text, expected) in [
        (format!("根据{A}的数据，费用上涨。"), "根据[1]的数据，费用上涨。".to_owned()),
        ("根据https://foreign.test/x的数据。".to_owned(), "根据foreign.test的数据。".to_owned()),
        ("见https://www.foreign.test的数据。".to_owned(), "见foreign.test的数据。".to_owned()),
        ("见https://例子.test/x。".to_owned(), "见例子.test。".to_owned()),
        (format!("{before}{wiki}，费用上涨。"), format!("{before}[1]，费用上涨。")),
        (format!("{before}（{wiki}）{behind}"), format!("{before}（[1]）{behind}")),
    ] {
        let sources = lookalikes::sources().into_iter().chain([Source::example(1004, wiki, "登革热")]).collect();
        assert_eq!(settled(sources, &text, 5).0, expected, "for {text:?}");
    }
}

#[test]
fn raised_numbers_cite_wherever_nothing_speaks_against_it() {
    under(
        "Dues rose by 12%¹. In 2023³ they fell. They are higher² and the GDP¹, so \"paid\"² (all)³.",
        "Dues rose by 12%[1]. In 2023[2] they fell. They are higher[3] and the GDP[1], so \"paid\"[3] (all)[2].",
    );
    under(
        "Dues rose,¹ then fell.² It gave 5 GW¹, 1,000¹ more, 40 €², a share of 2.5¹, **12%**³ of AI¹.",
        "Dues rose,[1] then fell.[2] It gave 5 GW[1], 1,000[1] more, 40 €[2], a share of 2.5[1], **12%**[3] of AI[1].",
    );
    under(
        "| Dues | 12%¹ | 40% ² |\n|---|---|---|\n| Tides | 2023³ | up ¹, so |\n\nGates fell ². Tides fall².",
        "| Dues | 12%[1] | 40% [2] |\n|---|---|---|\n| Tides | 2023[3] | up [1], so |\n\nGates fell [2]. Tides fall[2].",
    );
    under(
        "Dues 12%<sup>1</sup>, in 2023<sup>3</sup> more<sup>2</sup>, at 5 GW<sup>1</sup><sup>3</sup>, so, <sup>2</sup> <sup>3</sup>.",
        "Dues 12%[1], in 2023[2] more[3], at 5 GW[1][2], so, [3] [2].",
    );
    under("病例上升12%¹。死亡下降²，面积为50公里²。", "病例上升12%[1]。死亡下降[2]，面积为50公里²。");
}

#[test]
fn a_report_that_cites_by_raised_numbers_does_so_behind_any_word() {
    let read = |text: &str, expected: &str| {
        under(&format!("Dues¹, tides², gates³. {text}"), &format!("Dues[1], tides[2], gates[3]. {expected}"));
    };
    let all = |text: &str| read(text, &text.replace('¹', "[1]").replace('²', "[2]").replace('³', "[3]"));
    all("**Germany**² and *Nature*³, OpenAI², McKinsey³ and BioNTech², the EU² and the US³, (EU)¹ and (Reuters³).");
    all("Of 70 billion parameters.² A smile³ of 40 square miles.² He walks in.³ 我国种植玉米²，销售小米³。„So“².");
    all("Por Reuters², par Eurostat³, na Europa², per household³, the Nile delta², wind/solar³, oil².");
    all("Of 27 members², 12 million³ in 2020/21², 2019–20³, \"in 2019\"², in 1848², the 1990s³ and COVID-19².");
    all("The MPC² met. Six Sigma³ at Omega², a Pixel³, the Chevrolet Volt², 1.5 degrees³, quilombos².");
    all("At $1/month², 5 kg/person³, US/China², he/she², (wind/solar)³, (5 - 10 years)², (Jan - Mar)³.");
    all("Germany² · France³ + Spain² (≥ 65 years)³, (n = 320)², (2019–2023)³, (€5)², (2020/21)³, hepatitis B¹.");
}

#[test]
fn powers_units_ions_and_isotopes_are_no_citations() {
    let stays = |text: &str| {
        under(&format!("Dues rise fast¹, tides fall³. {text}"), &format!("Dues rise fast[1], tides fall[2]. {text}"));
    };
    stays("It has 12 km², 5 m², 3 cm³, 9.8 m/s², 40 metres², 12 in², 5 fathoms³ and 80 kg/m².");
    stays("At mid-10³, sub-10² and ~10³, 10³ and 2³ and 1.5×10² cells, x² + y² = 2, R² was 0.9, E = mc².");
    stays("Of CO² and SO³, Ca²⁺, Fe³⁺, SO₄²⁻, ¹H and ³He, H²O, ³C NMR.");
    stays("It has 12 km<sup>2</sup>, 10<sup>3</sup>, x<sup>2</sup>, <sup>3</sup>He and CO<sub>3</sub><sup>2</sup>.");
    stays("Let $10 + 5 GW²$ be `12%²`.");
    stays("People per mi², 50 Nm³, 5 Mm³, 40 pies², pro Hektar², 5 kN per metre², m per second², N/acre², log² x.");
    stays("SiO², CaCO³, NaNO³, TiO², NH³, ηp², PM², 802.11², 2.4², \"5\"², 20 ft.², (1 + r)³, (x)², (km)², (acres²).");
    stays(
        "面积为50公里²、5万米²、40米²、37万km²。b·income².A 2048³ grid, 1600² pixels, f(income)², sin(angle)², (1 + growth)³.",
    );
    stays("16² + 12² = 20², 16 ² + 3, 4 + 1500², and GDP² = 4, income² × age. Vitamin B³, vitamin B², up², in².");
    stays("40 pies<sup>2</sup>, SiO<sup>2</sup>, 16<sup>2</sup> + 12<sup>2</sup>, vitamin B<sup>3</sup>.");
    stays("(observed - expected)², (1 - share)³, (2000/10)², weight (kg) / (height in m)², kg/height², 1/distance².");
    stays("14,000 deg², 300 Mpc³, 20 arcsec², 20 pixels², 10 volts², tau², sigma², omega², 20メートル³, 20미터².");
    stays("50 chilometri², 50 quilômetros², 50 quilómetros², 50 centímetros², 50 pouces², 5 piedi³.");
    // Nothing shows that the report cites so, and one of them may be a power.
    let other = "Dues [1] rise by 12%², in 2023³ up², fast².";
    under(other, other);
    check("Dues [S1001] rise by 12%¹, in 2023¹.", "Dues [1] rise by 12%¹, in 2023¹.", 0, 0);
    let powers = "Dues follow from income² and distance³ (mean error)².";
    under(powers, powers);
    under("Dues rise fast². It gave 12%¹ in 2023³.", "Dues rise fast[1]. It gave 12%[2] in 2023[3].");
    under("Dues rise fast.³ It gave 12%² in 2023³.", "Dues rise fast.[1] It gave 12%[2] in 2023[1].");
    under("- Dues are $139¹\n- Tides fall²\n- Gates hold³", "- Dues are $139[1]\n- Tides fall[2]\n- Gates hold[3]");
    under("In 2023<sup>1</sup> dues rose<sup>2</sup>.", "In 2023[1] dues rose[2].");
    under("Dues rise fast². Tides fall, as they said³.", "Dues rise fast[1]. Tides fall, as they said[2].");
    under("储能成本下降²。锂价下跌³。", "储能成本下降[1]。锂价下跌[2]。");
    under("They follow income². A power² is no income².", "They follow income². A power² is no income².");
    // Numbers that the list does not have.
    stays("It rose 12%⁷ in 2023⁴. Of CH⁷ and 10⁷.");
}

#[test]
fn raised_digits_cite_one_by_one_only_if_each_can() {
    let read = |text: &str, expected: &str| {
        under(&format!("Dues rise¹, tides fall².\n\n{text}"), &format!("Dues rise[1], tides fall[2].\n\n{expected}"));
    };
    read("Gates hold¹³, 12%²³ so.", "Gates hold[1][3], 12%[2][3] so.");
    for text in ["Vitamin B¹², type F²¹, iron Fe²¹.", "Gates hold¹⁴, 12%⁴¹, all¹⁰ so."] {
        read(text, text);
    }
}

#[test]
fn the_bars_in_the_text_of_a_link_do_not_cut_its_cell() {
    let table = |cell: &str| format!("| What | Source |\n|---|---|\n| Dues | {cell} |");
    let read = |cell: &str, expected: &str| check(&table(cell), &table(expected), 0, 0);
    read(&format!("[Tariff | Office]({A})"), "Tariff \\| Office [1]");
    read(&format!("[Tariff \\| Office]({A})"), "Tariff \\| Office [1]");
    read(&format!("[a | [b | c]({B}) | d]({A})"), "a \\| b \\| c [1] \\| d [2]");
    check(&table("[a | b](https://evil.test/)"), &table("a \\| b"), 1, 0);
    read("x [S1001] | more", "x [1] | more");
    check(&format!("So [a | b]({A})."), "So a | b [1].", 0, 0);
}

#[test]
fn numbers_of_sections_are_no_citations() {
    let report = |front: &str, back: &str, cites: [&str; 3]| {
        let [a, b, c] = cites;
        format!(
            "{front}1]{back} Burden\n\nDues rise {a}.\n\n{front}2]{back} Tides\n\nThey fall {b}.\n\n{front}3]{back} Gates\n\nSo {c}."
        )
    };
    for (front, back) in [("## [", ""), ("[", ""), ("**[", " x**"), ("### **[", "**")] {
        let shown = front.replace('[', "\\[");
        under(&report(front, back, ["[3]", "[2]", "[1]"]), &report(&shown, back, ["[1]", "[2]", "[3]"]));
        let text = report(front, back, ["[S1003]", "[S1002]", "[S1001]"]);
        check(&text, &report(&shown, back, ["[1]", "[2]", "[3]"]), 0, 0);
    }
    let nothing = report("## [", "", ["[3]", "[2]", "[1]"]);
    check(&nothing, &report("## \\[", "", ["", "", ""]).replace(" .", "."), 3, 0);
    // The headings of an annotated bibliography cite.
    let listed = format!("## References\n[1] The *Dues*. {A}\n[2] [Tides]({B})\n[3] Gates of C: {C}\n");
    for (open, close) in [("### ", ""), ("**", "**"), ("", "")] {
        let text = |[a, b, c]: [&str; 3]| {
            let (first, second) = (format!("{open}[{a}] The Dues{close}"), format!("{open}[{b}] Tides{close}"));
            format!("Gates [{c}].\n\n{first}\n\nThey rise.\n\n{second}\n\nThey fall.\n\n{open}Gates{close}\n\nSo.")
        };
        check(&format!("{}\n\n{}", text(["1", "2", "3"]), listed.replace('*', "")), &text(["2", "3", "1"]), 0, 3);
    }
    let text = "## [1] Tides\n\nThey fall.\n\n## [2] Dues\n\nThey rise.";
    for [before, behind] in [[" – ", ", "], [" — ", ", "], [". ", ", 2024. "], [" (", ") "]] {
        let listed = format!("[1] Tides{before}IEA{behind}{A}\n[2] Dues{before}Reuters{behind}{B}\n");
        check(&format!("{text}\n\n## References\n{listed}"), text, 0, 2);
    }
    let text = "## [1] Dues\n\nSo.\n\n## [2] Tides\n\nSo.\n\n## [3] Gates\n\nSo.\n\n## [4] Crew of C\n\nSo.";
    let listed = format!("[1] Dues: {A}\n[2] Tides: {B}\n[3] Gates: {C}\n[4] Crew: {A}\n");
    check(&format!("{text}\n\n## References\n{listed}"), &text.replace("[4]", "[1]"), 0, 4);
    // A section may be called as a title begins, or as one title out of several.
    for titles in ["Burden of disease\n[2] Tides", "Burden: of disease\n[2] Tides", "Burden\n[2] The tides"] {
        let text = "Dues [2].\n\n## [1] Burden\n\nThey rise.\n\n## [2] Tides\n\nThey fall.";
        let expected = text.replace("Dues [2]", "Dues [1]").replace("## [", "## \\[");
        let listed = format!("{text}\n\n## References\n[1] {}: {B}\n", titles.replace('\n', &format!(": {A}\n")));
        check(&listed, &expected, 0, 2);
    }
    // Items, sentences, and numbers that do not count.
    under("- [3] dues rise\n- [1] tides fall\n- [2] so", "- [1] dues rise\n- [2] tides fall\n- [3] so");
    under("- [1] Dues\n- [2] Tides\n\nSo [3].", "- [1] Dues\n- [2] Tides\n\nSo [3].");
    under("So [2].\n\n[1] says so of it.\n\n[2] does not.", "So [1].\n\n[2] says so of it.\n\n[1] does not.");
    under("## [2] on dues\n\nSo [3].\n\n## [1] on tides\n\nSo.", "## [1] on dues\n\nSo [2].\n\n## [3] on tides\n\nSo.");
}

#[test]
fn names_of_substances_stay() {
    under(
        "Of [1]benzothieno[3,2-b][1]benzothiophene, [2]rotaxane, calix[2]arene and [60]fullerene cages [3].",
        "Of \\[1]benzothieno[3,2-b]\\[1]benzothiophene, \\[2]rotaxane, calix\\[2]arene and \\[60]fullerene cages [1].",
    );
    check("The [60]fullerene cage and [18]crown-6 [S1001].", "The \\[60]fullerene cage and \\[18]crown-6 [1].", 0, 0);
    under(
        "Of bicyclo[3]thieno[3,2-b]furan, 1,2-[1]benzodiazepine, [3]catenanes.",
        "Of bicyclo\\[3]thieno[3,2-b]furan, 1,2-\\[1]benzodiazepine, \\[3]catenanes.",
    );
    // A space that is missing behind a citation.
    under(
        "Dues rose [3]because tides[2]however fell; les prix[1]ont monté[3]porque, stiegen[2]weil.",
        "Dues rose [1]because tides[2]however fell; les prix[3]ont monté[1]porque, stiegen[2]weil.",
    );
    under("Dues rose.[3]and tides fell.[2][1]so it is.", "Dues rose.[1]and tides fell.[2][3]so it is.");
    under(
        "Dues rose [3]and tides [2]which fell[1]. Gates[3]Dues.",
        "Dues rose [1]and tides [2]which fell[3]. Gates[1]Dues.",
    );
    under("费用[3]上涨，潮汐[2]と下降[1]。", "费用[1]上涨，潮汐[2]と下降[3]。");
}

#[test]
fn what_is_removed_does_not_join_words() {
    check("Dues [S1009]and tides[S1008]fall [S1001].", "Dues and tides fall [1].", 2, 0);
    check(
        "Dues [Source 9]rise (Source: https://evil.test/x)and 费用[S1009]上涨 [S1001].",
        "Dues rise and 费用上涨 [1].",
        3,
        0,
    );
    check("Dues <!-- a -->rise, un<a>paid</a> [S1009], so [S1001].", "Dues rise, unpaid, so [1].", 1, 3);
}

#[test]
fn words_and_signs_of_other_scripts_announce_numbers() {
    under("上升（来源：3）。下降（来源：1、3）。", "上升[1]。下降[2][1]。");
    under("上升（参考文献：2），下降（来源 1），见[参考文献3]。（资料来源：2）", "上升[1]，下降[2]，见[3]。[1]");
    under(
        "Dues [3]. ارتفعت (المصدر 3)، (المصدر: 1) (المصادر 1، 2) (المرجع 2).",
        "Dues [1]. ارتفعت [1]، [2] [2][3] [3].",
    );
    under("Рост (источник 3), (источники 1 и 2), (fontes: 1), (참고문헌 2).", "Рост [1], [2][3], [2], [3].");
    check(&format!("上升（来源：{B}）。下降（来源：https://evil.test/x）。"), "上升[1]。下降。", 1, 0);
    for text in ["上升（来源：海关）。", "上升（见第3页），（3）。", "(المصدر الأول)", "（来源：3个）"]
    {
        under(&format!("Dues [1]. {text}"), &format!("Dues [1]. {text}"));
    }
}

#[test]
fn ranges_examples_and_places_within_a_bracket_are_read() {
    for range in ["1~3", "1～3", "1 to 3", "1至3", "1 bis 3", "1 through 3"] {
        under(&format!("Gates [3]. All [Sources {range}]."), "Gates [1]. All [2][3][1].");
        under(&format!("Gates [3]. All [{range}]."), &format!("Gates [1]. All [{range}]."));
        let other = format!("All [{range}] and [S1001].");
        check(&other, &other.replace("S1001", "1"), 0, 0);
    }
    under(
        "So [e.g., 3], [cf. 2], [3; see also 1], [see, e.g., 2], [vgl. 3], (see, e.g., [1]).",
        "So [1], [2], [1][3], [2], [1], (see, e.g., [3]).",
    );
    under("Windows of [e.g. 10, 20], [e.g. 7] [z. B. 5] [1].", "Windows of [e.g. 10, 20], [e.g. 7] [z. B. 5] [1].");
    let values = "Windows of [e.g., 3] or [e.g. 10, 20, 50]; [z. B. 5], [p. ex. 10], [e.g. 3 to 5]";
    check(&format!("{values} [S1001]."), &format!("{values} [1]."), 0, 0);
    under("Una [1 en 3], [bronnen 1 en 3].", "Una [1 en 3], [1][2].");
    under("Лёд [3 см], слой [2–3 см], рост [см. 3].", "Лёд [3 см], слой [2–3 см], рост [1].");
    under("Dues [Source 3 Source 2], [Ref. 2 Ref. 1], [2 see 1].", "Dues [1][2], [2][3], [2][3].");
    under("Dues [Source 3 source 2] （来源2来源1）.", "Dues [1][2] [2][3].");
    under("Of [2 sources], [3 см, 1], [1 see, 3].", "Of [2 sources], [3 см, 1], [1 see, 3].");
    under("So [3: p. 3], [2: pp. 4–9; 1], [1：第3页].", "So [1], [2][3], [3].");
    for text in ["[e.g. dues]", "[cf. above]", "[e 3]", "[3: dues]", "[3:2]", "[to 3]", "[3 to]", "[see also]", "[G7]"]
    {
        under(&format!("So [1] {text}."), &format!("So [1] {text}."));
    }
}

#[test]
fn a_report_that_stands_whole_in_code_is_unwrapped() {
    let report =
        "# Dues\n\nDues are paid by all of the members [S1001].\n\n```py\nimport a\na[1]\n```\n\nTides fall [S1002].";
    let settled = report.replace("S1001", "1").replace("S1002", "2");
    check(&format!("```\n{report}\n```\n"), &settled, 0, 0);
    check(&format!("````text\n\n{report}\n\n````\n\n"), &format!("\n{settled}"), 0, 0);
    check(
        &format!("Here is the report:\n\n```markdown\n{report}\n```"),
        &format!("Here is the report:\n\n{settled}"),
        0,
        0,
    );
    let numbered = format!("# Dues\n\nDues [2], tides [1].\n\n{}", list());
    check(&format!("```\n{numbered}```\n"), "# Dues\n\nDues [1], tides [2].", 0, 3);
    let bold = report.replace("# Dues", "# **Dues**");
    check(&format!("```\n{bold}\n```\n"), &settled.replace("# Dues", "# **Dues**"), 0, 0);
    let json = |report: &str| serde_json::json!({ "title": "Dues", "report": report }).to_string();
    check(&format!("```json\n{}\n```", json(report)), &settled, 0, 0);
    check(&json(&numbered), "# Dues\n\nDues [1], tides [2].", 0, 3);
}

#[test]
fn code_that_only_begins_like_a_report_stays_code() {
    let stays = |text: &str| check(text, text.trim_end(), 0, 0);
    stays("```\n# Install all of it.\n\napt-get install dues\n\n# Then run what is there [S1001].\n./dues\n```\n");
    stays("Run this:\n\n```\n# Dues\n\nimport dues\n\nThis is what all of the members pay.\n```\n");
    stays("```\n# Dues\ndef pay():\n    \"\"\"Pays.\n\n    All of the members of it pay here.\n    \"\"\"\n```\n");
    stays("```\nDues are paid by all of the members.\n```\n");
    stays("```json\n{\"dues\": \"# 1\", \"report\": \"none [S1001]\"}\n```\n");
    stays("```python\n# Dues\n\nThey are paid by all of the members.\n```\n");
    let before = "It is said.\n\nAs here:\n\n```\n# Dues\n\nDues are paid by all of the members.\n```\n";
    stays(before);
    check(&format!("{before}\nSo [S1001]."), &format!("{before}\nSo [1]."), 0, 0);
    let behind = "```\n# Dues\n\nDues are paid by all of the members.\n```\n\nSo be it.";
    stays(behind);
}

#[test]
fn a_bracket_of_a_tag_closes_no_address() {
    let (body, _) = settled(vec![Source::example(1001, A, "T")], "Dues [S1001]. <www.evil.test a | [2] <b>", 5);
    assert!(body.contains("\\[2]"), "{body}");
}

#[test]
fn reading_these_forms_is_linear() {
    for shape in [
        "¹ ",
        "12%¹",
        "a¹<sup>2</sup>",
        "# [1] a\n",
        "[1]a",
        "（",
        "（来源：1",
        "e.g. ",
        "[e.g. 1; ",
        "[a | ",
        "{\"a\":",
        "```\n# a\n",
    ] {
        growth::check(shape, 4_000, |text| drop(tests::settled(text)));
    }
    growth::check("https://a.test/港", 4_000, |text| drop(tests::settled(text)));
    growth::check("| a | [b | c](x) ", 2_000, |text| drop(tests::settled(&format!("|{text}"))));
}
