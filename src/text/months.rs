//! The months of the year and their names, in the languages that reports are written in.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;

/// Names of the months, January first, each with its other spellings and abbreviations behind it; a line for each
/// language, those of `Language` first.
const MONTHS: &str = "\
january,jan february,feb march,mar april,apr may june,jun july,jul august,aug september,sep,sept october,oct november,nov december,dec
januar,jänner februar,feber märz,mär,mrz april mai juni juli august september oktober,okt november dezember,dez
janvier,janv février,févr,fevrier mars avril,avr mai juin juillet,juil août,aout septembre octobre novembre décembre,déc
enero,ene febrero marzo abril,abr mayo junio julio agosto,ago septiembre,setiembre octubre noviembre diciembre,dic
gennaio,genn,gen febbraio,febbr marzo aprile maggio,magg,mag giugno,giu luglio,lug agosto settembre,sett,set ottobre,ott novembre dicembre
janeiro fevereiro,fev março abril maio junho julho agosto setembro outubro,out novembro dezembro
januari februari maart,mrt april mei juni juli augustus september oktober november december
январь,января,январе,янв февраль,февраля,феврале,фев март,марта,марте апрель,апреля,апреле,апр май,мая,мае июнь,июня,июне июль,июля,июле август,августа,августе,авг сентябрь,сентября,сентябре,сен октябрь,октября,октябре,окт ноябрь,ноября,ноябре,ноя декабрь,декабря,декабре,дек
styczeń,stycznia,styczniu luty,lutego,lutym marzec,marca,marcu kwiecień,kwietnia,kwietniu maj,maja,maju czerwiec,czerwca,czerwcu lipiec,lipca,lipcu sierpień,sierpnia,sierpniu wrzesień,września,wrześniu październik,października,październiku listopad,listopada,listopadzie grudzień,grudnia,grudniu
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
januari februari mars april maj juni juli augusti september oktober november december
januari februari maret april mei juni juli agustus september oktober november desember
يناير فبراير مارس أبريل,ابريل مايو يونيو يوليو أغسطس,اغسطس سبتمبر أكتوبر,اكتوبر نوفمبر ديسمبر";
/// Lines of the languages whose small words we know too, so that hardly any of their months is another word.
const KNOWN: usize = 4;

/// Every word of a page is looked up, and what is kept is ours: it needs no hash that strangers cannot foresee.
type Months = HashMap<&'static str, u8, FixedState>;

/// Returns the month that a word names in any language, 1 to 12; abbreviations count. Takes lower case.
pub fn month(word: &str) -> Option<u8> {
    static MONTHS_OF_ALL: LazyLock<Months> = LazyLock::new(|| spellings().collect());
    MONTHS_OF_ALL.get(word).copied()
}

/// Returns all names and abbreviations of months, in lower case.
pub fn month_names() -> impl Iterator<Item = &'static str> {
    spellings().map(|(name, _)| name)
}

fn spellings() -> impl Iterator<Item = (&'static str, u8)> {
    let months = MONTHS.lines().flat_map(|line| (1..).zip(line.split_whitespace()));
    months.flat_map(|(month, names)| names.split(',').map(move |name| (name, month)))
}

/// Returns the same of a whole name in English, German, French or Spanish, in whatever case: others, and abbreviations,
/// are often other words (`out`, `set`, `dec`).
pub fn month_by_name(word: &str) -> Option<u8> {
    static MONTHS_OF_KNOWN: LazyLock<Months> = LazyLock::new(|| {
        let spellings = MONTHS.lines().take(KNOWN).flat_map(|line| (1..).zip(line.split_whitespace()));
        spellings.filter_map(|(month, names)| Some((names.split(',').next()?, month))).collect()
    });
    MONTHS_OF_KNOWN.get(&*word.to_lowercase()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_twelve() {
        assert!(MONTHS.lines().all(|line| line.split_whitespace().count() == 12));
        for word in ["november", "novembre", "noviembre", "ноября", "listopada", "kasım", "نوفمبر"] {
            assert_eq!(month(word), Some(11), "{word}");
        }
        assert_eq!(month("mars").or(month("marzo")), Some(3));
        assert_eq!(["September", "sept", "set"].map(month_by_name), [Some(9), None, None]);
    }
}
