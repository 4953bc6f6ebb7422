//! Answers of engines as JSON objects whose values are read when they are asked for, so that one of another kind than
//! documented costs nothing else.

use std::collections::HashMap;

use serde_json::{Value, value::RawValue};

use super::Error;

/// Results looked at in an answer that has more than were asked for.
pub const MAX_LOOKED_AT: usize = 50;
/// An answer that is longer says nothing of what is wrong.
const MAX_COMPLAINT_BYTES: usize = 64 * 1024;

/// Returns the objects of the list at that place of an answer, such as `["web", "results"]`; each field read when
/// asked for, so that one of another kind than documented costs nothing else.
///
/// # Errors
/// [`Error::Unavailable`]: it is no JSON, or has no list there.
pub fn objects<'a>(body: &'a [u8], path: &[&str]) -> Result<Vec<Object<'a>>, Error> {
    let mut at: &RawValue = serde_json::from_slice(body).map_err(|_| Error::unreadable("its answer is not JSON"))?;
    let none = || Error::unreadable("its answer has no results");
    for name in path {
        at = fields(at).and_then(|object| object.get(name)).ok_or_else(none)?;
    }
    let list: Vec<&RawValue> = serde_json::from_str(at.get()).map_err(|_| none())?;
    Ok(list.into_iter().take(MAX_LOOKED_AT).filter_map(fields).collect())
}

/// Reads as [`objects`] does; none when the list is missing from an answer that has the field `sign`.
///
/// # Errors
/// As [`objects`].
pub fn objects_if_any<'a>(body: &'a [u8], path: &[&str], sign: &str) -> Result<Vec<Object<'a>>, Error> {
    let signed =
        || serde_json::from_slice::<&RawValue>(body).ok().and_then(fields).is_some_and(|all| all.get(sign).is_some());
    objects(body, path).or_else(|error| if signed() { Ok(Vec::new()) } else { Err(error) })
}

/// Returns an answer that is short enough to say what is wrong.
pub fn beginning(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(Some(body).filter(|body| body.len() <= MAX_COMPLAINT_BYTES)?).ok()
}

fn fields(value: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(value.get()).ok().map(Object)
}

/// A JSON object, its values not read yet.
#[derive(Clone, Debug)]
pub struct Object<'a>(HashMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// Returns the value, when it is one of the kind that is asked for.
    pub fn read<T: serde::Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        fields(self.get(name)?)
    }

    /// Returns the objects of a list, whatever else is in it left out.
    pub fn objects(&self, name: &str) -> Vec<Object<'a>> {
        let values: Vec<&RawValue> = self.read(name).unwrap_or_default();
        values.into_iter().filter_map(fields).collect()
    }

    /// Returns the texts of a list, whatever else is in it left out.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let values: Vec<Value> = self.read(name).unwrap_or_default();
        values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}
