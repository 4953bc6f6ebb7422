//! Names of tools, as every vendor takes them.

use std::borrow::Cow;

/// The most bytes of a tool's name that every vendor takes.
pub const MAX_TOOL_NAME: usize = 64;

/// Returns whether every vendor takes this as the name of a tool.
pub(super) fn is_name(name: &str) -> bool {
    (1..=MAX_TOOL_NAME).contains(&name.len()) && name.bytes().all(is_of_name)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Returns the letter, or what stands for it in the name of a tool, of which vendors take few.
pub fn in_tool_name(letter: char) -> char {
    if u8::try_from(letter).is_ok_and(is_of_name) { letter } else { '_' }
}

/// Returns the name of a tool as every vendor takes it. Models make up names, which stand in the history from then
/// on.
pub(super) fn tool_name(name: &str) -> Cow<'_, str> {
    if is_name(name) {
        return name.into();
    }
    if name.trim().is_empty() {
        return "unknown".into();
    }
    name.trim().chars().take(MAX_TOOL_NAME).map(in_tool_name).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_are_ones_that_every_vendor_takes() {
        for (name, expected) in [
            ("search_web", "search_web"),
            ("get-Tides_2", "get-Tides_2"),
            ("functions.search<|channel|>", "functions_search__channel__"),
            ("sü\u{8336}x", "s__x"),
            (" think ", "think"),
            ("", "unknown"),
            (" \n", "unknown"),
        ] {
            assert_eq!(tool_name(name), expected, "{name}");
        }
        assert_eq!(tool_name(&"ä".repeat(100)), "_".repeat(64));
        assert!(is_name(&"a".repeat(64)) && !is_name(&"a".repeat(65)) && !is_name("a.b") && !is_name(""));
    }
}
