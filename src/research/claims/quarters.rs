//! Quarters and halves of a year, in the words of sources.

use std::{ops::Range, sync::LazyLock};

use super::lookup::Phrases;

/// Parts of a year by their codes, and what sources write for them.
const PARTS_OF_YEAR: &[(&str, &str)] = &[
    (
        "q1",
        "first quarter, first-quarter, 1st quarter, ersten quartal, erste quartal, erstes quartal, 1. quartal, \
         premier trimestre, primer trimestre, primo trimestre, primeiro trimestre, eerste kwartaal, 第一季度, \
         一季度, i. quartal, 1er trimestre, 1.er trimestre, 1º trimestre, 1° trimestre, 1e kwartaal, \
         первый квартал, первого квартала, первом квартале, i квартал, 1 квартал, i квартала, 1 квартала, \
         i квартале, 1 квартале, 1-й квартал, 1-го квартала, 1-м квартале, pierwszy kwartał, \
         pierwszego kwartału, pierwszym kwartale, i kwartał, i kwartału, i kwartale, ilk çeyrek, \
         ilk çeyreğinde, ilk çeyrekte, birinci çeyrek, birinci çeyreğinde, birinci çeyrekte, 1. çeyrek, \
         1. çeyreğinde, 1. çeyrekte, 1분기, 第1四半期, 第１四半期, 第一四半期, 第1季度, 1季度",
    ),
    (
        "q2",
        "second quarter, second-quarter, 2nd quarter, zweiten quartal, zweite quartal, zweites quartal, 2. quartal, \
         deuxième trimestre, segundo trimestre, secondo trimestre, tweede kwartaal, 第二季度, 二季度, ii. quartal, \
         2e trimestre, 2.º trimestre, 2º trimestre, 2° trimestre, 2e kwartaal, второй квартал, \
         второго квартала, втором квартале, ii квартал, 2 квартал, ii квартала, 2 квартала, ii квартале, \
         2 квартале, 2-й квартал, 2-го квартала, 2-м квартале, drugi kwartał, drugiego kwartału, \
         drugim kwartale, ii kwartał, ii kwartału, ii kwartale, ikinci çeyrek, ikinci çeyreğinde, \
         ikinci çeyrekte, 2. çeyrek, 2. çeyreğinde, 2. çeyrekte, 2분기, 第2四半期, 第２四半期, 第二四半期, 第2季度, 2季度",
    ),
    (
        "q3",
        "third quarter, third-quarter, 3rd quarter, dritten quartal, dritte quartal, drittes quartal, 3. quartal, \
         troisième trimestre, tercer trimestre, terzo trimestre, terceiro trimestre, derde kwartaal, 第三季度, \
         三季度, iii. quartal, 3e trimestre, 3.er trimestre, 3º trimestre, 3° trimestre, 3e kwartaal, \
         третий квартал, третьего квартала, третьем квартале, iii квартал, 3 квартал, iii квартала, \
         3 квартала, iii квартале, 3 квартале, 3-й квартал, 3-го квартала, 3-м квартале, trzeci kwartał, \
         trzeciego kwartału, trzecim kwartale, iii kwartał, iii kwartału, iii kwartale, üçüncü çeyrek, \
         üçüncü çeyreğinde, üçüncü çeyrekte, 3. çeyrek, 3. çeyreğinde, 3. çeyrekte, 3분기, 第3四半期, 第３四半期, 第三四半期, \
         第3季度, 3季度",
    ),
    (
        "q4",
        "fourth quarter, fourth-quarter, 4th quarter, vierten quartal, vierte quartal, viertes quartal, 4. quartal, \
         quatrième trimestre, cuarto trimestre, quarto trimestre, vierde kwartaal, 第四季度, 四季度, iv. quartal, \
         4e trimestre, 4.º trimestre, 4º trimestre, 4° trimestre, 4e kwartaal, четвёртый квартал, \
         четвертый квартал, четвёртого квартала, четвертого квартала, четвёртом квартале, четвертом квартале, \
         iv квартал, 4 квартал, iv квартала, 4 квартала, iv квартале, 4 квартале, 4-й квартал, 4-го квартала, \
         4-м квартале, czwarty kwartał, czwartego kwartału, czwartym kwartale, iv kwartał, iv kwartału, \
         iv kwartale, dördüncü çeyrek, dördüncü çeyreğinde, dördüncü çeyrekte, son çeyrek, son çeyreğinde, \
         son çeyrekte, 4. çeyrek, 4. çeyreğinde, 4. çeyrekte, 4분기, 第4四半期, 第４四半期, 第四四半期, 第4季度, 4季度",
    ),
    (
        "h1",
        "first half, first-half, ersten halbjahr, erste halbjahr, erstes halbjahr, premier semestre, primer semestre, \
         primo semestre, primeiro semestre, 上半年, первом полугодии, первое полугодие, i полугодии, 상반기, 上半期",
    ),
    (
        "h2",
        "second half, second-half, zweiten halbjahr, zweite halbjahr, zweites halbjahr, second semestre, segundo semestre, \
         secondo semestre, 下半年, втором полугодии, второе полугодие, ii полугодии, 하반기, 下半期",
    ),
];

/// Before the number of parts that a year begins with: `前三季度` are its first three quarters.
const FIRST_PARTS: char = '前';

/// The letter of a quarter, and the one in Romance languages: `T3`.
const QUARTER: &str = "q";
const TRIMESTER: &str = "t";

/// Beginnings of words of what is counted by parts of years.
const BUSINESS: &str = "sales revenue profit earnings turnover income results orders deliver shipment export gdp ввп bip pib pil pkb umsatz umsätze gewinn absatz ergebnis ventes bénéfice chiffre résultat ventas ingresos beneficio vendite ricavi vendas receita lucro omzet winst wzrost büyü продаж выручк прибыл 销量 销售 收入 营收 利润 产量 売上 利益";

static NAMES: LazyLock<Phrases<&str>> = LazyLock::new(|| {
    let names = PARTS_OF_YEAR.iter().flat_map(|(code, all)| all.split(", ").map(move |words| (words, *code)));
    Phrases::new(names)
});

/// Returns the codes of the parts of a year.
pub fn codes() -> impl Iterator<Item = &'static str> {
    PARTS_OF_YEAR.iter().map(|(code, _)| *code)
}

/// Returns the parts of a year that a text in lower case may name, by their codes, each with the bytes of the words.
pub fn named(lower: &str) -> impl Iterator<Item = (&'static str, Range<usize>)> {
    NAMES.all_in(lower)
}

/// Returns whether a text ends with what makes a number of quarters of the third one: `前三季度`.
pub fn ends_with_first_parts(text: &str) -> bool {
    text.ends_with(FIRST_PARTS)
}

/// Returns the beginnings of words of what is counted by parts of years.
pub fn business() -> impl Iterator<Item = &'static str> {
    BUSINESS.split_whitespace()
}

/// Returns whether a code in lower case names a quarter or a half of a year.
pub fn is_part_of_year(code: &str) -> bool {
    codes().any(|known| known == code)
}

/// Returns the other code of a quarter, which is `t3` in Romance languages.
pub fn other_code(code: &str) -> Option<String> {
    let (letter, number) = code.split_at_checked(1)?;
    let other = match letter {
        QUARTER => TRIMESTER,
        TRIMESTER => QUARTER,
        _ => return None,
    };
    is_part_of_year(&format!("{QUARTER}{number}")).then(|| format!("{other}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_year_is_passed_over() {
        for (code, all) in PARTS_OF_YEAR {
            let is_found = |words: &&str| named(words).any(|found| found == (*code, 0..words.len()));
            let passed_over: Vec<_> = all.split(", ").filter(|words| !is_found(words)).collect();
            assert_eq!(passed_over, [""; 0]);
        }
        assert_eq!(["t3", "q3", "t34", "h1"].map(other_code).map(Option::unwrap_or_default), ["q3", "t3", "", ""]);
    }
}
