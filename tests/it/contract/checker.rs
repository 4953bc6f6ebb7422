//! Checks recorded answers against `openapi.yaml`.
//!
//! The document leaves the objects of answers open, since clients must bear new fields. Here they are closed: what the
//! service sends must be documented.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use jsonschema::{Registry, Validator};
use parking_lot::Mutex;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

/// Where the document lives for references into it.
const BASE: &str = "https://fathom.test/openapi";

/// The document, ready to check answers. Get it with [`Contract::get`].
pub struct Contract {
    /// As it is written.
    pub document: Value,
    registry: Registry<'static>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// One operation of the document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// As in a request line: `GET`.
    pub method: String,
    /// With its parameters: `/api/v1/runs/{id}`.
    pub path: String,
}

impl Contract {
    /// The document of this repository, read once.
    pub fn get() -> &'static Self {
        static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::parse(&text()));
        &CONTRACT
    }

    /// Panics unless the contract allows this answer: operation, status, headers, content type and body.
    ///
    /// `path` may be a request's path (`/api/v1/runs/0199…`, a query behind it does not matter) or the document's own
    /// (`/api/v1/runs/{id}`). The bodies of event streams are checked event by event, as far as they were read.
    #[track_caller]
    pub fn check(&self, method: &str, path: &str, status: u16, headers: &HeaderMap, body: &[u8]) {
        let complaints = self.complaints(method, path, status, headers, body);
        assert!(
            complaints.is_empty(),
            "{method} {path} → {status} breaks the contract:\n{}\nheaders: {headers:?}\nbody: {}",
            complaints.join("\n"),
            excerpt(body)
        );
    }

    /// As [`Self::check`], for what does not depend on an operation: a path or method that does not exist.
    #[track_caller]
    pub fn check_problem(&self, status: u16, headers: &HeaderMap, body: &[u8]) {
        assert_eq!(content_type(headers), "application/problem+json", "{}", excerpt(body));
        assert!(headers.contains_key("x-request-id"), "{headers:?}");
        let problem: Value = serde_json::from_slice(body).unwrap();
        self.check_schema("Problem", &problem);
        assert_eq!(problem["status"], status);
    }

    /// Panics unless `value` is valid against the schema of that name in `components.schemas`.
    #[track_caller]
    pub fn check_schema(&self, name: &str, value: &Value) {
        let complaints = self.validate(&format!("/components/schemas/{name}"), value);
        assert!(complaints.is_empty(), "{value:#} is no {name}:\n{}", complaints.join("\n"));
    }

    /// Everything documented, in the document's order.
    pub fn operations(&self) -> Vec<Operation> {
        const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
        let operations = object(&self.document["paths"]).iter().flat_map(|(path, item)| {
            METHODS
                .into_iter()
                .filter(|method| item.get(method).is_some())
                .map(|method| Operation { method: method.to_uppercase(), path: path.clone() })
        });
        operations.collect()
    }

    /// The documented operation that a request belongs to.
    pub fn operation(&self, method: &str, path: &str) -> Option<Operation> {
        let path = path.split('?').next().unwrap_or(path);
        let mut fitting: Vec<_> = self
            .operations()
            .into_iter()
            .filter(|operation| operation.method == method && fits(&operation.path, path))
            .collect();
        // A literal path wins over one with parameters.
        fitting.sort_by_key(|operation| operation.path.matches('{').count());
        fitting.into_iter().next()
    }

    /// What [`Self::check`] would say.
    pub fn complaints(&self, method: &str, path: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Vec<String> {
        let Some(operation) = self.operation(method, path) else { return vec!["there is no such operation".into()] };
        let pointer =
            format!("/paths/{}/{}/responses/{status}", escaped(&operation.path), operation.method.to_lowercase());
        let Some((pointer, response)) = self.resolved(pointer) else {
            return vec![format!("the status {status} is not documented")];
        };
        let mut complaints = self.header_complaints(&pointer, response, headers);
        complaints.extend(self.body_complaints(&pointer, response, headers, body));
        if let Ok(problem) = serde_json::from_slice::<Value>(body)
            && content_type(headers) == "application/problem+json"
        {
            complaints.extend(problem_complaints(response, status, &problem));
        }
        complaints
    }

    fn header_complaints(&self, pointer: &str, response: &Value, headers: &HeaderMap) -> Vec<String> {
        let mut complaints = Vec::new();
        let Some(documented) = response["headers"].as_object() else { return complaints };
        for name in documented.keys() {
            let (pointer, header) = self.resolved(format!("{pointer}/headers/{}", escaped(name))).unwrap();
            match headers.get(name) {
                None if header["required"] == true => complaints.push(format!("the header {name} is missing")),
                None => {}
                Some(value) => {
                    let text = value.to_str().unwrap_or_default();
                    let value = match header["schema"]["type"].as_str() {
                        Some("integer") => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                        _ => json!(text),
                    };
                    let found = self.validate(&format!("{pointer}/schema"), &value);
                    complaints.extend(found.into_iter().map(|complaint| format!("header {name}: {complaint}")));
                }
            }
        }
        complaints
    }

    fn body_complaints(&self, pointer: &str, response: &Value, headers: &HeaderMap, body: &[u8]) -> Vec<String> {
        let kind = content_type(headers);
        let Some(documented) = response["content"].as_object() else {
            return if body.is_empty() { vec![] } else { vec!["a body where none is documented".into()] };
        };
        if !documented.contains_key(kind) {
            return vec![format!("the content type {kind:?} is not documented")];
        }
        let schema = format!("{pointer}/content/{}/schema", escaped(kind));
        if kind.ends_with("json") {
            return match serde_json::from_slice(body) {
                Ok(value) => self.validate(&schema, &value),
                Err(error) => vec![format!("the body is no JSON: {error}")],
            };
        }
        match std::str::from_utf8(body) {
            Ok(text) if kind == "text/event-stream" => self.stream_complaints(text),
            Ok(text) => self.validate(&schema, &json!(text)),
            Err(error) => vec![format!("the body is no text: {error}")],
        }
    }

    /// Whole frames only; a reader may have stopped in the middle of one.
    fn stream_complaints(&self, text: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        // Hints and comments stand between events, without an empty line of their own.
        let (hints, events): (Vec<&str>, Vec<&str>) =
            text.split_inclusive('\n').partition(|line| line.starts_with(':') || line.starts_with("retry: "));
        for hint in hints {
            let known = hint == ": ping\n" || hint["retry: ".len()..].trim_end().parse::<u64>().is_ok();
            complaints.extend((!known).then(|| format!("{hint:?} is neither a hint nor a heartbeat")));
        }
        let events = events.concat();
        let mut frames: Vec<&str> = events.split("\n\n").collect();
        frames.pop();
        if !text.is_empty() && !text.starts_with("retry: ") {
            complaints.push("the stream does not begin with `retry:`".to_owned());
        }
        for frame in frames {
            complaints.extend(self.frame_complaints(frame).into_iter().map(|what| format!("{what} in {frame:?}")));
        }
        complaints
    }

    fn frame_complaints(&self, frame: &str) -> Vec<String> {
        let field =
            |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned));
        let Some(data) = field("data") else { return vec!["no data".to_owned()] };
        let Ok(envelope) = serde_json::from_str::<Value>(&data) else { return vec!["data is no JSON".to_owned()] };
        let mut complaints = self.validate("/components/schemas/Envelope", &envelope);
        // What is said about the stream itself has no number of its own.
        let stored = envelope["type"] != "thread.deleted" && envelope["type"] != "run.queued";
        if field("id") != stored.then(|| envelope["seq"].to_string()) {
            complaints.push("id is not seq".to_owned());
        }
        // With `?event=message` none has a name.
        if field("event").is_some_and(|name| envelope["type"] != name) {
            complaints.push("event is not type".to_owned());
        }
        complaints
    }

    /// Where `pointer` leads to, through references; `None` when there is nothing.
    fn resolved(&self, pointer: String) -> Option<(String, &Value)> {
        let value = self.document.pointer(&pointer)?;
        match value["$ref"].as_str() {
            Some(reference) => self.resolved(reference.strip_prefix('#')?.to_owned()),
            None => Some((pointer, value)),
        }
    }

    /// What is wrong with `value` by the schema at `pointer`, undocumented fields included.
    pub fn validate(&self, pointer: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(pointer);
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock();
        let validator = validators.entry(pointer.to_owned()).or_insert_with(|| {
            // Braces of a path's parameters are no part of an address.
            let fragment = pointer.replace('{', "%7B").replace('}', "%7D");
            let mut schema = json!({"$ref": format!("{BASE}#{fragment}")});
            if self.document.pointer(pointer).is_some_and(|schema| lists_fields(&self.document, schema)) {
                schema["unevaluatedProperties"] = json!(false);
            }
            let options = jsonschema::options().should_validate_formats(true).with_registry(&self.registry);
            let built = options.build(&schema);
            Arc::new(built.unwrap_or_else(|error| panic!("{pointer} is no schema: {error}")))
        });
        Arc::clone(validator)
    }

    fn parse(text: &str) -> Self {
        let document: Value = yaml_serde::from_str(text).expect("openapi.yaml is YAML");
        let mut closed = document.clone();
        for schema in closed["components"]["schemas"].as_object_mut().unwrap().values_mut() {
            close_fields(&document, schema);
        }
        let registry = Registry::new().add(BASE, closed).unwrap().prepare().unwrap();
        Self { document, registry, validators: Mutex::default() }
    }
}

/// The codes of a response stand beside its schema, which is the same for all problems.
fn problem_complaints(response: &Value, status: u16, problem: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    if problem["status"] != status {
        complaints.push(format!("the problem says status {}", problem["status"]));
    }
    if !response["x-codes"].as_array().is_some_and(|codes| codes.contains(&problem["code"])) {
        complaints.push(format!("the code {} is not documented here", problem["code"]));
    }
    complaints
}

/// The document as it stands in the repository.
pub fn text() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.yaml")).unwrap()
}

/// Lets no field of `schema` hold an object with fields that are not documented. Parts of an `allOf` know only some
/// fields, so it is always the place of use that is closed.
fn close_fields(document: &Value, schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| close(document, property));
            }
            ("items" | "additionalProperties", value) => close(document, value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| close_fields(document, part));
            }
            _ => {}
        }
    }
}

fn close(document: &Value, schema: &mut Value) {
    close_fields(document, schema);
    if lists_fields(document, schema) {
        schema["unevaluatedProperties"] = json!(false);
    }
}

/// Says which fields its objects have.
fn lists_fields(document: &Value, schema: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        return document.pointer(&reference[1..]).is_some_and(|schema| lists_fields(document, schema));
    }
    let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    schema.get("properties").is_some() || parts.into_iter().any(|part| lists_fields(document, part))
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template.iter().zip(&path).all(|(expected, given)| expected.starts_with('{') || expected == given)
}

/// For use in a JSON pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Without its parameters.
fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(2_000).collect()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object of the document")
}
