//! Fields of answers that come with each piece of a stream: read without making values of them, and forgiving of what
//! stands in their place.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text; empty where something else stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Word<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyWord)
    }
}

struct AnyWord;

impl<'de> Visitor<'de> for AnyWord {
    type Value = Word<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Word(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Word(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Word::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Word::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Word::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Word::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Word::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, all: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(all).map(|_| Word::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, all: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(all).map(|_| Word::default())
    }
}

/// A text, or typed chunks, of which those of type `thinking` have no `text`.
#[derive(Default)]
pub(super) struct Content<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyContent)
    }
}

struct AnyContent;

impl<'de> Visitor<'de> for AnyContent {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of chunks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<ContentPart>()? {
            text.extend(part.text);
        }
        Ok(Content(Cow::Owned(text)))
    }
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: Option<String>,
}

/// The first of a list, of which the others are not looked at; `None` for an empty one.
pub(super) struct First<T>(pub Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstOf(PhantomData))
    }
}

struct FirstOf<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstOf<T> {
    type Value = First<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let first = all.next_element()?;
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_text_or_empty() {
        fn check(json: &str, expected: &str) {
            let Word(word) = serde_json::from_str(json).unwrap();
            assert_eq!(word, expected, "{json}");
        }
        check(r#""plain""#, "plain");
        check(r#""\u00e4\n""#, "ä\n");
        for other in ["null", "true", "7", "-7", "0.5", r#"["a"]"#, r#"{"a": "b"}"#] {
            check(other, "");
        }
        assert!(serde_json::from_str::<Word<'_>>(r#"["a""#).is_err());
        let Word(plain) = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(plain, Cow::Borrowed(_)), "texts without escapes are not copied");
    }

    #[test]
    fn of_a_list_the_first_is_read() {
        fn check(json: &str, expected: Option<u8>) {
            let First(first) = serde_json::from_str::<First<u8>>(json).unwrap();
            assert_eq!(first, expected, "{json}");
        }
        check("[]", None);
        check("[7]", Some(7));
        check(r#"[7, {"b": []}, null]"#, Some(7));
        assert!(serde_json::from_str::<First<u8>>(r#"["7"]"#).is_err());
        assert!(serde_json::from_str::<First<u8>>("[7, 8").is_err());
    }
}
