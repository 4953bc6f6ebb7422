//! Does a text say a thing? With leniency for case, white space and the marks in numbers, and with none for figures.

/// A text in the form in which facts are looked for.
#[derive(Clone, Debug)]
pub(super) struct Haystack(String);

impl Haystack {
    pub fn of(text: &str) -> Self {
        Self(normal(text))
    }

    /// Returns whether it holds `needle`, not as a part of a longer word or number.
    pub fn holds(&self, needle: &str) -> bool {
        let needle = normal(needle);
        let needle = needle.trim();
        !needle.is_empty() && self.0.match_indices(needle).any(|(at, _)| stands_alone(&self.0, at, needle))
    }

    pub fn holds_any(&self, needles: &[String]) -> bool {
        needles.iter().any(|needle| self.holds(needle))
    }
}

/// Returns whether the needle at `at` neither goes on nor began before, as letters or digits do; scripts without
/// spaces have no borders.
fn stands_alone(text: &str, at: usize, needle: &str) -> bool {
    let joins = |one: char, other: char| {
        let spaced = |char: char| char.is_alphanumeric() && !crate::text::is_unspaced(char);
        one.is_numeric() && other.is_numeric() || spaced(one) && spaced(other) && one.is_numeric() == other.is_numeric()
    };
    let before = text[..at].chars().next_back().zip(needle.chars().next());
    let after = needle.chars().next_back().zip(text[at + needle.len()..].chars().next());
    // `0.3` is no end of `10.3`, and `5` is no beginning of `5.8`.
    let decimal = |mark: Option<char>, beyond: Option<char>| {
        mark == Some('.') && beyond.is_some_and(|char| char.is_ascii_digit())
    };
    let mut left = text[..at].chars().rev();
    let mut right = text[at + needle.len()..].chars();
    let in_number = needle.starts_with(|char: char| char.is_ascii_digit()) && decimal(left.next(), left.next())
        || needle.ends_with(|char: char| char.is_ascii_digit()) && decimal(right.next(), right.next());
    !in_number
        && !before.is_some_and(|(one, other)| joins(one, other))
        && !after.is_some_and(|(one, other)| joins(one, other))
}

/// Writes text in one form for comparing: lower case, one space between words, no emphasis; `2,400`, `2.400` and `2
/// 400` are `2400`, `0,3` is `0.3`.
fn normal(text: &str) -> String {
    let chars: Vec<char> = text
        .chars()
        .filter(|char| !matches!(char, '*' | '`' | '\u{200b}' | '\u{ad}'))
        .map(|char| match char {
            '’' | '‘' => '\'',
            '“' | '”' | '„' => '"',
            '–' | '—' | '−' | '‑' => '-',
            char if char.is_whitespace() => ' ',
            char => char,
        })
        .collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut normal = String::with_capacity(text.len());
    for (at, char) in chars.iter().enumerate() {
        let groups = digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4);
        match char {
            ',' | '.' | ' ' | '\'' if at > 0 && digit(at - 1) && groups && !is_year_after_space(&chars, at) => {}
            ',' if at > 0 && digit(at - 1) && digit(at + 1) => normal.push('.'),
            ' ' if normal.ends_with(' ') => {}
            char => normal.extend(char.to_lowercase()),
        }
    }
    normal
}

/// Returns whether the character at `at` is a space after more digits than a group has, as after a year. `17 200` may
/// be one number; `on 17 2030` is none, nor is a number after one that is longer than a group.
fn is_year_after_space(chars: &[char], at: usize) -> bool {
    chars[at] == ' ' && chars[..at].iter().rev().take_while(|char| char.is_ascii_digit()).count() > 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_as_they_are_written_anywhere() {
        let check = |text: &str, needle: &str, expected: bool| {
            assert_eq!(Haystack::of(text).holds(needle), expected, "{needle} in {text}");
        };
        check("It was **EUR 2.400**.", "2,400", true);
        check("It cost 83 400 euros", "83,400", true);
        check("Members: 1,212", "212", false);
        check("by 212 members", "212", true);
        check("0,3 m/s", "0.3 m/s", true);
        check("10.3 m/s", "0.3 m/s", false);
        check("81%", "81%", true);
        check("Sallow\nBay", "sallow bay", true);
        check("成人票6欧元", "6欧元", true);
        check("16欧元", "6欧元", false);
        check("5.8 MW", "5", false);
        check("batches", "batch", false);
        check("nothing", "", false);
    }
}
