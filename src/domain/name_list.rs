//! Lists of names that are one text with commas between them; clients and files may write them as lists too.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error as _};

/// Reads such a text or list. Anything else reads as the empty text, which is no list of names, so that the error says
/// what would have been accepted.
///
/// # Errors
/// Those of `T`.
pub fn deserialize<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(deserializer: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        One(String),
        Several(Vec<String>),
    }
    let text = match Form::deserialize(deserializer) {
        Ok(Form::One(text)) => text,
        Ok(Form::Several(names)) => names.join(","),
        Err(_) => String::new(),
    };
    text.parse().map_err(D::Error::custom)
}
