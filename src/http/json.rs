//! Answers as JSON, and lists a page at a time; JSON of others that means one thing only.

use std::fmt;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{cursor::write_cursor, error::ApiError};
use crate::{domain::shortened, runs::Page};

/// A value of which no object has a name twice.
pub struct Unambiguous(pub Value);

/// A part of a list.
#[derive(Serialize)]
pub struct ListBody<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

impl<T> ListBody<T> {
    /// Returns a list that is always whole.
    pub fn whole(data: Vec<T>) -> Self {
        Self { data, next_cursor: None }
    }

    /// Returns a page of the list of that name.
    pub fn page<D>(list: &str, page: Page<D>, body: impl FnMut(D) -> T) -> Self {
        let next_cursor = page.next.map(|cursor| write_cursor(list, cursor));
        Self { data: page.items.into_iter().map(body).collect(), next_cursor }
    }
}

pub fn json(body: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(body).map_err(|error| ApiError::defect(&error))
}

/// Returns a JSON answer with status 200.
pub fn answer(body: &impl Serialize) -> Result<Response, ApiError> {
    Ok(([(header::CONTENT_TYPE, "application/json")], json(body)?).into_response())
}

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Once).map(Self)
    }
}

/// Takes each name of an object once.
struct Once;

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format!("`{}` is given twice", shortened(&name, 100))));
            }
            let Unambiguous(value) = entries.next_value()?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}
