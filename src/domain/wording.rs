//! What code writes into a report, in the report's language.

use whatlang::{Detector, Lang, Script};

use super::limit_wording::{self, LimitWording};

/// Bytes of a text that are looked at.
const SAMPLE_BYTES: usize = 16_000;
/// A text in Latin letters with fewer of them rarely shows its language.
const ENOUGH_LETTERS: usize = 80;
/// The number of letters below which a text never counts as certainly of another language.
const FEW_LETTERS: usize = 25;

/// The words for one language.
#[derive(Debug, PartialEq, Eq)]
pub struct Wording {
    /// ISO 639-1.
    pub code: &'static str,
    /// In English.
    pub name: &'static str,
    /// Parts of words by which users name it in any language, in lower case, with spaces between them: a report in a
    /// language that the question names is not translated back.
    pub named_by: &'static str,
    language: Lang,
    /// The heading over the list of sources.
    pub sources: &'static str,
    /// Stands there when the text cites nothing.
    pub uncited: &'static str,
    /// For the section on the limits of a report.
    pub limits: &'static LimitWording,
}

/// Codes of three letters, as they are known to who detects them, each with the one of two letters.
const CODES: &str = "eng en rus ru cmn zh spa es por pt ita it ben bn fra fr deu de ukr uk kat ka ara ar hin hi \
    jpn ja heb he yid yi pol pl amh am jav jv kor ko nob nb dan da swe sv fin fi tur tr nld nl hun hu ces cs ell el \
    bul bg bel be mar mr kan kn ron ro slv sl hrv hr srp sr mkd mk lit lt lav lv est et tam ta vie vi urd ur tha th \
    guj gu uzb uz pan pa aze az ind id tel te pes fa mal ml ori or mya my nep ne sin si khm km tuk tk aka ak zul zu \
    sna sn slk sk cat ca tgl tl hye hy cym cy";

/// Every language that code writes; the first one stands in for all others.
pub const WORDINGS: [Wording; 12] = [
    Wording {
        code: "en",
        name: "English",
        named_by: "english englis anglais ingl engels англий 英 영어 إنجليز إنكليز engelsk englann englant engle angiels \
            anglic angleš anglešk anglų angliš angļu anglès angolul ngiliz ngilis inggr iňlis tiếng saesneg singisi \
            chirungu англі англис енгл αγγλ אנגל ענגל ინგლის անգլ अंग्र अङ्ग इंग्र इंग्ल ইংর અંગ્ર ઇંગ્લ ਅੰਗਰ ஆங்கில \
            ఇంగ్ల ఆంగ్ల ಇಂಗ್ಲ ಆಂಗ್ಲ ഇംഗ്ല ଇଂରା အင်္ဂလိပ် អង់គ្លេស อังกฤษ እንግሊዝ انگلیس انگری ඉංග්",
        language: Lang::Eng,
        sources: "Sources",
        uncited: "The text above does not say which source stands behind which statement. It was written from:",
        limits: &limit_wording::EN,
    },
    Wording {
        code: "de",
        name: "German",
        named_by: "german deutsch allemand alem tedesc duits немец 德 ドイツ 독일 ألمان",
        language: Lang::Deu,
        sources: "Quellen",
        uncited: "Der Text oben sagt nicht, welche Quelle hinter welcher Aussage steht. Er beruht auf:",
        limits: &limit_wording::DE,
    },
    Wording {
        code: "fr",
        name: "French",
        named_by: "french franz franç franc frans француз 法 フランス 프랑스 فرنس",
        language: Lang::Fra,
        sources: "Sources",
        uncited: "Le texte ci-dessus ne dit pas quelle source appuie quelle affirmation. Il a été rédigé à partir de :",
        limits: &limit_wording::FR,
    },
    Wording {
        code: "es",
        name: "Spanish",
        named_by: "spanish spanisch español espanol espagnol spagnol espanhol castel spaans испан 西班牙 スペイン 스페인 إسبان",
        language: Lang::Spa,
        sources: "Fuentes",
        uncited: "El texto anterior no indica qué fuente respalda cada afirmación. Se ha redactado a partir de:",
        limits: &limit_wording::ES,
    },
    Wording {
        code: "it",
        name: "Italian",
        named_by: "ital итальян 意大利 イタリア 이탈리아 إيطال",
        language: Lang::Ita,
        sources: "Fonti",
        uncited: "Il testo precedente non indica quale fonte sostiene ciascuna affermazione. È stato scritto a partire da:",
        limits: &limit_wording::IT,
    },
    Wording {
        code: "pt",
        name: "Portuguese",
        named_by: "portug португал 葡 ポルトガル 포르투갈 برتغال",
        language: Lang::Por,
        sources: "Fontes",
        uncited: "O texto acima não indica que fonte sustenta cada afirmação. Foi escrito a partir de:",
        limits: &limit_wording::PT,
    },
    Wording {
        code: "nl",
        name: "Dutch",
        named_by: "dutch niederländ holländ néerland neerland holand oland olandes nederlands голланд нидерланд 荷兰 オランダ 네덜란드 هولند",
        language: Lang::Nld,
        sources: "Bronnen",
        uncited: "De tekst hierboven vermeldt niet welke bron bij welke bewering hoort. Hij is geschreven op basis van:",
        limits: &limit_wording::NL,
    },
    Wording {
        code: "zh",
        name: "Chinese",
        named_by: "chin cines chinees mandarin китай 中文 汉语 漢語 中国語 중국어 صين",
        language: Lang::Cmn,
        sources: "来源",
        uncited: "上文没有说明每项陈述依据哪个来源。本文依据以下来源写成：",
        limits: &limit_wording::ZH,
    },
    Wording {
        code: "ja",
        name: "Japanese",
        named_by: "japan japon giappon япон 日 일본 ياباني",
        language: Lang::Jpn,
        sources: "出典",
        uncited: "上の文章は、どの記述がどの出典に基づくかを示していません。次の資料をもとに書かれました：",
        limits: &limit_wording::JA,
    },
    Wording {
        code: "ko",
        name: "Korean",
        named_by: "korean coré corean корей 韩 韓 한국어 كور",
        language: Lang::Kor,
        sources: "출처",
        uncited: "위 글은 어떤 진술이 어떤 출처에 근거하는지 밝히지 않습니다. 다음 자료를 바탕으로 작성되었습니다:",
        limits: &limit_wording::KO,
    },
    Wording {
        code: "ru",
        name: "Russian",
        named_by: "russ rus русск 俄 ロシア 러시아 روس",
        language: Lang::Rus,
        sources: "Источники",
        uncited: "В тексте выше не указано, какой источник подтверждает какое утверждение. Он написан по материалам:",
        limits: &limit_wording::RU,
    },
    Wording {
        code: "ar",
        name: "Arabic",
        named_by: "arab араб 阿拉伯 アラビア 아랍 عرب",
        language: Lang::Ara,
        sources: "المصادر",
        uncited: "لا يوضح النص أعلاه أي مصدر يدعم كل عبارة. وقد كُتب استنادًا إلى:",
        limits: &limit_wording::AR,
    },
];

impl Wording {
    /// Returns the words for a text; English ones when its language is in doubt or not among them.
    pub fn of(text: &str) -> &'static Self {
        let [english, ..] = &WORDINGS;
        let found = language(text).and_then(|found| WORDINGS.iter().find(|wording| wording.language == found));
        found.unwrap_or(english)
    }

    /// Returns the words for a language by its code; English ones when it is not among them.
    pub fn of_code(code: &str) -> &'static Self {
        let [english, ..] = &WORDINGS;
        WORDINGS.iter().find(|wording| wording.code == code).unwrap_or(english)
    }
}

/// Returns the ISO 639-1 code of a text's language, if it is certain and among those that code writes.
pub fn language_code(text: &str) -> Option<&'static str> {
    let found = language(text)?;
    WORDINGS.iter().find(|wording| wording.language == found).map(|wording| wording.code)
}

/// Returns the ISO 639-1 code of a text's language, whichever it is, if it is certain.
pub fn any_language_code(text: &str) -> Option<&'static str> {
    let found = language(text)?.code();
    let mut codes = CODES.split_whitespace().skip_while(|code| *code != found);
    codes.nth(1)
}

/// Returns the English name of a language by its code, be it among those that code writes or not.
pub fn language_name(code: &str) -> &'static str {
    if let Some(ours) = WORDINGS.iter().find(|wording| wording.code == code) {
        return ours.name;
    }
    let mut codes = CODES.split_whitespace();
    let mut pairs = std::iter::from_fn(|| Some((codes.next()?, codes.next()?)));
    let found = pairs.find(|(_, two)| *two == code).and_then(|(three, _)| Lang::from_code(three));
    found.unwrap_or(Lang::Eng).eng_name()
}

/// Returns the same of a text that is shorter than is certain: a guess that something else has to confirm.
pub fn language_code_of_few(text: &str) -> Option<&'static str> {
    let found = detected(text, FEW_LETTERS)?;
    WORDINGS.iter().find(|wording| wording.language == found).map(|wording| wording.code)
}

/// Returns whether a text is written from right to left.
pub fn is_right_to_left(text: &str) -> bool {
    matches!(whatlang::detect_script(sample(text)), Some(Script::Arabic | Script::Hebrew))
}

fn language(text: &str) -> Option<Lang> {
    detected(text, ENOUGH_LETTERS)
}

fn detected(text: &str, enough_letters: usize) -> Option<Lang> {
    let sample = sample(text);
    let script = whatlang::detect_script(sample)?;
    let letters = sample.chars().filter(|c| c.is_alphabetic()).count();
    match script {
        // One language of ours has this script, so short texts are enough.
        Script::Mandarin | Script::Hangul | Script::Hiragana | Script::Katakana => {}
        _ if letters < enough_letters => return None,
        _ => {}
    }
    // Close to a language of ours, and hardly ever what a report is in.
    let info = Detector::with_denylist(vec![Lang::Afr, Lang::Epo, Lang::Lat]).detect(sample)?;
    info.is_reliable().then(|| info.lang())
}

fn sample(text: &str) -> &str {
    &text[..text.floor_char_boundary(SAMPLE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_text_is_found() {
        let check = |text: &str, expected: &str| assert_eq!(Wording::of(&text.repeat(3)).code, expected, "{text}");
        check(
            "# Wer zahlt die Schleuse?\n\nDie Schleuse wird aus Hafengebühren bezahlt, die der Rat festsetzt. ",
            "de",
        );
        check("L'écluse est payée par les droits de port que le conseil fixe chaque année. ", "fr");
        check("La esclusa se paga con las tasas portuarias que fija el ayuntamiento cada año. ", "es");
        check("La chiusa è pagata con i diritti portuali che il consiglio fissa ogni anno. ", "it");
        check("A eclusa é paga com as taxas portuárias que a câmara fixa todos os anos. ", "pt");
        check("De sluis wordt betaald uit havengelden die de raad elk jaar vaststelt. ", "nl");
        check("水闸由港口税支付，议会每年确定税额。", "zh");
        check("水門は港湾使用料で賄われ、議会が毎年その額を決めます。", "ja");
        check("수문은 항만 이용료로 지불되며 의회가 매년 금액을 정합니다. ", "ko");
        check("Шлюз оплачивается из портовых сборов, которые совет устанавливает каждый год. ", "ru");
        check("تُدفع تكاليف البوابة من رسوم الميناء التي يحددها المجلس كل عام. ", "ar");
        check("The gate is paid by harbour dues, which the council sets every year. ", "en");
        check("Paid by dues.", "en");
        check("", "en");
    }

    #[test]
    fn languages_have_names() {
        let check = |code: &str, expected: &str| assert_eq!(language_name(code), expected);
        check("pl", "Polish");
        check("sv", "Swedish");
        check("zh", "Chinese");
    }

    #[test]
    fn the_direction_of_a_text_is_found() {
        assert!(is_right_to_left("تُدفع تكاليف البوابة [1]") && is_right_to_left("השער משולם"));
        assert!(!is_right_to_left("The gate") && !is_right_to_left("水闸") && !is_right_to_left(""));
    }
}
