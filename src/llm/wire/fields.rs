//! Fields of answers that come with each piece of a stream: those that are texts are read without making values of
//! them. All are forgiving of what stands in their place.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

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
            match part {
                ContentPart::Text(part) => text.push_str(&part),
                ContentPart::Chunk { text: Some(part) } => text.push_str(&part),
                ContentPart::Chunk { text: None } | ContentPart::Other(_) => {}
            }
        }
        Ok(Content(Cow::Owned(text)))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ContentPart {
    Text(String),
    Chunk {
        #[serde(default)]
        text: Option<String>,
    },
    Other(IgnoredAny),
}

/// Reads a count of tokens, which gateways that are written in other languages may send as `12.0` or `"12"`; none where
/// something else stands.
pub(super) fn count<'de, N: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let text = || value.as_str()?.trim().parse().ok();
    let number = value.as_f64().or_else(text).filter(|number| *number >= 0.0);
    let count = value.as_u64().or(number.map(|number| number as u64));
    Ok(count.and_then(|count| N::try_from(count).ok()))
}

/// Reads a field that may be missing; none where something of another form stands.
pub(super) fn if_readable<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The objects of a list that can be read; none where something else stands.
pub(super) struct Readable<T>(pub Vec<T>);

impl<T> Default for Readable<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Readable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Box::<RawValue>::deserialize(deserializer)?;
        let all: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        Ok(Self(all.into_iter().filter_map(|one| serde_json::from_str(one.get()).ok()).collect()))
    }
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
    fn counts_are_numbers_however_they_are_written() {
        #[derive(Deserialize)]
        struct Counted(#[serde(deserialize_with = "count")] Option<u64>);
        fn check(json: &str, expected: Option<u64>) {
            let Counted(count) = serde_json::from_str(json).unwrap();
            assert_eq!(count, expected, "{json}");
        }
        for json in ["12", "12.0", "1.2e1", r#""12""#, r#"" 12.0 ""#] {
            check(json, Some(12));
        }
        for json in ["null", "-1", "-0.5", r#""""#, r#""many""#, r#""NaN""#, "[12]", r#"{"a": 12}"#, "true"] {
            check(json, None);
        }
        check("18446744073709551615", Some(u64::MAX));
        check("1e30", Some(u64::MAX));
    }

    #[test]
    fn of_chunks_the_texts_are_read_and_of_a_list_what_can_be() {
        let read = |json: &str| serde_json::from_str::<Content<'_>>(json).unwrap().0.into_owned();
        assert_eq!(
            read(r#"["a", {"type": "text", "text": "b"}, {"type": "thinking"}, null, 7, {"text": null}]"#),
            "ab"
        );
        let read = |json: &str| serde_json::from_str::<Readable<u8>>(json).unwrap().0;
        assert_eq!(read(r#"[1, null, "x", {}, 2]"#), [1, 2]);
        assert!(["null", "{}", r#""""#].into_iter().all(|other| read(other).is_empty()));
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
