//! Finding out how the bytes of a text are encoded.

use std::collections::HashSet;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, ISO_8859_2, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1250, WINDOWS_1252};

/// Letters beyond ASCII of languages that are written in the encodings of Central Europe, and those of German, whose
/// names stand in texts of all of them.
const CENTRAL: [&str; 5] = [
    "ąćęłńóśźżäöüß",           // Polish
    "áäčďéěíĺľňóôŕřšťúůýžöüß", // Czech and Slovak
    "áéíóöőúüűäß",             // Hungarian
    "čćđšžäöüß",               // the South Slavic ones
    "ăâîşţäöüß",               // Romanian
];
/// The same of Western Europe.
const WESTERN: [&str; 6] = [
    "àâæçèéêëîïôœùûüÿ", // French
    "áéíñóúüç",         // Spanish and Catalan
    "áàâãçéêíóôõúü",    // Portuguese
    "àèéìíîòóù",        // Italian
    "åäöæøéü",          // the Scandinavian ones
    "äöüß",             // German
];

/// Returns how a text is encoded: as UTF-8 if it is that, else as it declares, else in the likeliest older way.
pub(super) fn guess(bytes: &[u8], declared: Option<&'static Encoding>) -> &'static Encoding {
    // It has bytes of ASCII alone, which are UTF-8, too; this one begins its Japanese.
    if declared == Some(ISO_2022_JP) && bytes.contains(&0x1b) {
        return ISO_2022_JP;
    }
    if is_mostly_utf8(bytes) {
        return UTF_8;
    }
    if let Some(encoding) = declared.filter(|encoding| *encoding != UTF_8) {
        return encoding;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    match detector.guess(None, Utf8Detection::Allow) {
        central if (central == WINDOWS_1250 || central == ISO_8859_2) && is_western(bytes, central) => WINDOWS_1252,
        guessed => guessed,
    }
}

/// Returns whether the bytes are UTF-8 but for little: one torn character in a long UTF-8 file must not turn all its
/// others into something else.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    bad == 0 || good > 50 * bad
}

/// Recognises UTF-16 without a mark, which shows as text in which every other byte is zero.
pub(super) fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(4096)];
    let zeros = |offset: usize| sample.iter().skip(offset).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), sample.len() / 2);
    match () {
        () if odd * 10 > half * 7 && even * 20 < half => Some(UTF_16LE),
        () if even * 10 > half * 7 && odd * 20 < half => Some(UTF_16BE),
        () => None,
    }
}

/// Returns whether a text that was taken for one of Central Europe is rather one of the West: what would be letters
/// there stands where signs such as `£` and `µ` do, or no language has them all while a Western one has.
fn is_western(bytes: &[u8], central: &'static Encoding) -> bool {
    let (central, western) = (characters(central), characters(WINDOWS_1252));
    let text = Text { bytes, characters: &central };
    let others = || {
        let places = bytes.iter().enumerate().map(|(at, byte)| (at, usize::from(*byte)));
        let others = places.filter(|(_, byte)| central[*byte].is_alphabetic() && central[*byte] != western[*byte]);
        others.map(|(at, byte)| (at, western[byte]))
    };
    // Where a sign of the West would stand among letters, it is a letter, whatever names of others are there, too.
    let may_stand = |(at, char): (usize, char)| {
        char.is_alphabetic() || text.is_sign(at) || ("«»¿¡".contains(char) && !text.is_within_word(at))
    };
    others().all(|(at, _)| text.is_sign(at))
        || (others().all(may_stand) && !is_of_one(bytes, &central, &CENTRAL) && is_of_one(bytes, &western, &WESTERN))
}

/// Returns the characters that the bytes stand for in an encoding of single bytes.
fn characters(encoding: &'static Encoding) -> Vec<char> {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    encoding.decode_without_bom_handling(&bytes).0.chars().collect()
}

/// A text in an encoding of single bytes.
struct Text<'a> {
    bytes: &'a [u8],
    characters: &'a [char],
}

impl Text<'_> {
    fn letter(&self, at: Option<usize>) -> Option<char> {
        let byte = self.bytes.get(at?)?;
        self.characters.get(usize::from(*byte)).copied().filter(|char| char.is_alphabetic())
    }

    /// Returns whether a letter stands as a sign does: beside no other letter, or as the sign behind a name (`Acme®`),
    /// the power of a metre (`m³`) or the prefix of a unit (`µg`).
    fn is_sign(&self, at: usize) -> bool {
        let beside = [at.checked_sub(1), Some(at), at.checked_add(1), at.checked_add(2)];
        match beside.map(|at| self.letter(at)) {
            // The Hungarian word for he and she; no Western one is like it.
            [None, Some('ő' | 'Ő'), None, _] => false,
            [None, _, None, _] => true,
            [Some('m'), Some('ł'), None, _] | [None, Some('ľ'), Some(_), None] => true,
            [Some(before), Some(letter), None, _] => before.is_lowercase() && letter.is_uppercase(),
            _ => false,
        }
    }

    fn is_within_word(&self, at: usize) -> bool {
        self.letter(at.checked_sub(1)).is_some() && self.letter(at.checked_add(1)).is_some()
    }
}

/// Returns whether one of the alphabets has all letters beyond ASCII.
fn is_of_one(bytes: &[u8], characters: &[char], alphabets: &[&str]) -> bool {
    let used: HashSet<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii()).collect();
    let letters = used.into_iter().filter_map(|byte| characters.get(usize::from(byte)));
    let letters: Vec<char> = letters.filter(|char| char.is_alphabetic() && !"ªºµ".contains(**char)).copied().collect();
    let has = |alphabet: &&str, letter: &char| letter.to_lowercase().all(|char| alphabet.contains(char));
    alphabets.iter().any(|alphabet| letters.iter().all(|letter| has(alphabet, letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(encoding: &'static Encoding, text: &str) {
        let (bytes, _, is_lossy) = encoding.encode(text);
        assert!(!is_lossy, "{text}");
        let (decoded, _, _) = guess(&bytes, None).decode(&bytes);
        assert_eq!(decoded, text, "{encoding:?}");
    }

    #[test]
    fn signs_of_western_texts_are_no_letters_of_others() {
        for text in [
            "Item,Price\nGate,£500\nRope,£20\n",
            "The mill was sold for £500,000 in 1841. The owner’s son — John — said “no”.",
            "Concentration: 5 µg/m³ ± 0.2 µg/m³ at 25 °C",
            "Part,Temp,Tol\nA1,25°C,±0.5µm\nB2,30°C,±1µm\n",
            "Copyright © 2024 Acme® Ltd. Price £99.",
            "Under § 5 of the Act the fee is 40 £ – see § 7.",
            "Région;Coût\nÎle-de-France;1 234,50 €\nRhône;99 €\nŒuvre;1\n",
        ] {
            check(WINDOWS_1252, text);
        }
    }

    #[test]
    fn texts_of_central_europe_stay() {
        for text in [
            "Miasto;Wartość\nŁódź;5\nGdańsk;7\nKraków;9\n",
            "Brama kosztuje 500 zł, a lina 20 zł. Są tanie.",
            "Město;Příjem\nPlzeň;5\nŽďár;7\n",
            "Város;Bevétel\nGyőr;5\nSzékesfehérvár;7\nSzűcs;9\n",
            "Pan Dvořák kupił łódź w Gdańsku, a Müller żaglówkę.",
            "Oraş;Venit\nBraşov;5\nGalaţi;7\n",
        ] {
            check(WINDOWS_1250, text);
        }
        // With names of others.
        check(WINDOWS_1250, "Ki ő? Ő az.");
        check(WINDOWS_1250, "Imię;Miasto\nŁukasz;Zürich\nStanisław;Kraków\n");
        check(WINDOWS_1250, "Ime;Grad\nIvić;Zürich\nHorvatić;Köln\n");
        check(ISO_8859_2, "Müller je rekao da će kuća biti veća, a cijena niža.");
        check(ISO_8859_2, "Cena łodzi to 500 zł. Żaglówka jest tańsza, ale są też inne.");
    }
}
