//! Values as both engines keep them.

use std::borrow::Cow;

/// Returns text as both engines take it: Postgres refuses the NUL character, so it becomes U+FFFD, which keeps
/// offsets.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Returns a count as the database keeps it; nothing real comes near the limit.
pub fn signed<T: TryInto<i64>>(value: T) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_keeps_its_place() {
        assert_eq!(clean("a\0b"), "a\u{fffd}b");
    }
}
