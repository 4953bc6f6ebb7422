//! Identifiers in hexadecimal digits, such as those of commits: they count nothing, and stand in a source or do not.

use super::{figure::Figure, reader::Reader};

/// Digits of the shortest identifier without a mark of its own, and of the longest one.
const SHORTEST: usize = 7;
const LONGEST: usize = 128;
/// Runs of letters and of digits in an identifier at least; `1900ad` is a number and a word.
const LEAST_RUNS: usize = 3;
/// Digits between the hyphens of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

impl Reader<'_> {
    /// Reads `ac9f0d6f`, `0x3fa2` or a UUID, in lower case.
    pub fn identifier(self) -> Option<(Figure, usize)> {
        let first = self.token(0)?;
        let may_begin = self.is_glued(0) && first.text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !may_begin || self.back(1).is_some_and(|before| before.is_alphanumeric() && before.is_glued(0)) {
            return None;
        }
        let (uuid, plain) = (self.glued(true), self.glued(false));
        let used = match (is_uuid(self.text_of(uuid)), is_hexadecimal(self.text_of(plain), plain)) {
            (true, _) => uuid,
            (false, true) => plain,
            (false, false) => return None,
        };
        Some((Figure::Identifier(self.text_of(used).to_lowercase()), used))
    }

    /// Returns how many tokens from here on stand together, letters and digits, and hyphens where they count.
    fn glued(self, with_hyphens: bool) -> usize {
        let mut used = 1;
        while used <= LONGEST
            && self.is_glued(used - 1)
            && let Some(next) = self.token(used)
            && (next.is_word() || next.is_number() || with_hyphens && next.is('-'))
        {
            used += 1;
        }
        used
    }

    fn is_alphanumeric(self) -> bool {
        self.token(0).is_some_and(|token| token.is_word() || token.is_number())
    }
}

fn is_uuid(text: &str) -> bool {
    let mut groups = text.split('-');
    let is_group = |length: usize| groups.next().is_some_and(|group| group.len() == length && is_hex(group));
    UUID.into_iter().all(is_group) && groups.next().is_none()
}

/// Returns whether a text of so many runs of letters and of digits is a number in hexadecimal digits, or a hash.
fn is_hexadecimal(text: &str, runs: usize) -> bool {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return is_hex(digits);
    }
    let is_one_case = !(text.contains(char::is_lowercase) && text.contains(char::is_uppercase));
    (SHORTEST..=LONGEST).contains(&text.len()) && is_hex(text) && is_one_case && runs >= LEAST_RUNS
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{figures::figures, tokens::tokens},
        *,
    };

    #[test]
    fn hashes_uuids_and_hexadecimal_numbers_are_identifiers() {
        let found = |text: &str| figures(text, &tokens(text)).map(|found| found.figure).collect::<Vec<_>>();
        for identifier in [
            "ac9f0d6f",
            "9f0d6fa",
            "0x3fa2",
            "0xdead",
            "3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
            "550e8400-e29b-41d4-a716-446655440000",
            "20301114-2030-4142-8142-203011142030",
            "D3B07384D113",
        ] {
            let expected = [Figure::Identifier(identifier.to_lowercase())];
            assert_eq!(found(&format!("It is {identifier}.")), expected, "{identifier}");
        }
        for other in
            ["5m", "1900ad", "16h30", "decade 2", "2030-11-14", "1234567", "E1234567", "10x", "xac9f0d6f", "A4"]
        {
            let is_identifier = |figure: &Figure| matches!(figure, Figure::Identifier(_));
            assert!(!found(other).iter().any(is_identifier), "{other}");
        }
    }
}
