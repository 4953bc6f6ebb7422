//! The document by itself: schemas, references, examples, names. That it is OpenAPI 3.1 is checked by scripts/test.sh.

use std::{collections::BTreeSet, fs, path::Path};

use fathom::domain::RunOptions;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{Contract, checker};

/// Calls `visit` with each value and its JSON pointer.
fn walk(value: &Value, pointer: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(pointer, value);
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, inner)| walk(inner, &format!("{pointer}/{}", checker::escaped(key)), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, inner)| walk(inner, &format!("{pointer}/{at}"), visit));
        }
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let contract = Contract::get();
    let mut used = BTreeSet::new();
    walk(&contract.document, "", &mut |pointer, value| {
        if let Some(reference) = value["$ref"].as_str() {
            let target = reference.strip_prefix('#').expect("references stay inside the document");
            assert!(contract.document.pointer(target).is_some(), "{pointer} refers to {reference}");
            used.insert(target.to_owned());
        }
    });
    for (kind, components) in contract.document["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            assert!(used.contains(&format!("/components/{kind}/{name}")), "nothing uses {kind}/{name}");
        }
    }
}

#[test]
fn every_schema_is_one_and_its_examples_are_valid() {
    let contract = Contract::get();
    let mut examples = 0;
    let mut check = |pointer: &str, value: &Value| {
        examples += 1;
        let complaints = contract.validate(pointer, value);
        assert!(complaints.is_empty(), "the example of {pointer} is wrong:\n{}", complaints.join("\n"));
    };
    for (name, schema) in contract.document["components"]["schemas"].as_object().unwrap() {
        let pointer = format!("/components/schemas/{name}");
        contract.validate(&pointer, &Value::Null);
        schema["examples"].as_array().into_iter().flatten().for_each(|example| check(&pointer, example));
    }
    walk(&contract.document, "", &mut |pointer, value| {
        // Parameters, headers and media types have a schema with examples beside it.
        let schema = format!("{pointer}/schema");
        let examples = value["examples"].as_object().into_iter().flat_map(|named| named.values());
        let values = examples.map(|example| &example["value"]).chain(value.get("example"));
        if value.get("schema").is_some() && !pointer.contains("/properties") {
            values.for_each(|example| check(&schema, example));
        }
    });
    assert!(examples > 40, "only {examples} examples were found");
}

#[test]
fn every_operation_says_what_it_is() {
    let contract = Contract::get();
    let mut ids = BTreeSet::new();
    for operation in contract.operations() {
        let text = &contract.document["paths"][&operation.path][operation.method.to_lowercase()];
        let id = text["operationId"].as_str().unwrap_or_default().to_owned();
        assert!(!id.is_empty() && ids.insert(id.clone()), "{operation:?}: operationId {id:?}");
        let has_tags = text["tags"].as_array().is_some_and(|tags| !tags.is_empty());
        assert!(text["summary"].is_string() && has_tags, "{operation:?} lacks a summary or tags");
        let responses = text["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with(['2', '3'])), "{operation:?} never succeeds");
        assert!(responses.contains_key("500"), "{operation:?} lacks the response 500");
        let check = |status: &str, when: &str, is_expected: bool| {
            let is_there = responses.contains_key(status);
            assert_eq!(
                is_there, is_expected,
                "{operation:?}: a response {status} is for operations with {when}, all of them"
            );
        };
        check("415", "a body", text.get("requestBody").is_some());
        check("404", "an id in their path (and createThread)", operation.path.contains('{') || id == "createThread");
    }
}

/// A code that no operation gives is none, and one that is given must be known.
#[test]
fn problem_codes_are_those_that_operations_give() {
    let contract = Contract::get();
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let known = names(&contract.document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]);
    // Whatever the operation.
    let mut given = BTreeSet::from(
        ["method_not_allowed", "host_not_allowed", "proxy_not_trusted", "owner_not_allowed"].map(str::to_owned),
    );
    for response in contract.document["components"]["responses"].as_object().unwrap().values() {
        let schema = &response["content"]["application/problem+json"]["schema"];
        if !schema.is_null() {
            assert_eq!(schema["$ref"], "#/components/schemas/Problem", "generators need one schema for all problems");
            let description = response["description"].as_str().unwrap();
            let described = description.split("\n").filter_map(|line| line.strip_prefix('`')?.split_once("`:"));
            let described = described.map(|(code, _)| code.to_owned()).collect();
            assert_eq!(names(&response["x-codes"]), described, "{description}");
            given.append(&mut names(&response["x-codes"]));
        }
    }
    assert_eq!(given, known);
}

const BEGIN: &str =
    "    # Generated from the table of options; FATHOM_UPDATE_CONTRACT=1 cargo test --test it contract\n";
const END: &str = "    # End of what is generated.\n";

/// The options are in the document as the service tells them. Where they differ, the right text is printed, or with
/// `FATHOM_UPDATE_CONTRACT=1` written into the document.
#[test]
fn the_options_are_those_of_the_service() {
    let options = json!({"RunOptions": RunOptions::json_schema()});
    let yaml = yaml_serde::to_string(&options).unwrap();
    let block: String = yaml.lines().map(|line| format!("    {}\n", quoted(line))).collect();
    let text = checker::text();
    let (before, rest) = text.split_once(BEGIN).expect("the first mark is there");
    let (_, after) = rest.split_once(END).expect("the second mark is there");
    if std::env::var("FATHOM_UPDATE_CONTRACT").is_ok() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.yaml");
        fs::write(path, format!("{before}{BEGIN}{block}{END}{after}")).unwrap();
        return;
    }
    let documented = &Contract::get().document["components"]["schemas"]["RunOptions"];
    assert_eq!(*documented, options["RunOptions"], "openapi.yaml must say, between its marks:\n{block}");
}

/// Returns a line in which a word that older parsers of YAML take for a truth value is a text.
fn quoted(line: &str) -> String {
    let (before, word) = line.rsplit_once(' ').unwrap_or(("", line));
    if TRUTHS.contains(&word) { format!("{before} '{word}'") } else { line.to_owned() }
}

/// What YAML 1.1 reads as true or false, and YAML 1.2 as a text.
const TRUTHS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

#[test]
fn older_parsers_of_yaml_read_the_same() {
    let is_scalar = |line: &str| line.trim_start().starts_with("- ") || line.contains(": ");
    let differs = |line: &&str| is_scalar(line) && quoted(line) != **line && line.split_whitespace().count() == 2;
    let text = checker::text();
    let found: Vec<&str> = text.lines().filter(differs).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Generators write a file of operations for each tag, and a type for each body, which must not be one of the
/// language's own.
#[test]
fn names_are_those_that_generators_can_use() {
    let document = &Contract::get().document;
    let tag = |operation: &Value| operation["tags"].as_array().map(Vec::len);
    let operations = |of: &str| -> Vec<Value> {
        let paths = document[of].as_object().unwrap().values();
        paths
            .flat_map(|path| path.as_object().unwrap().values())
            .filter(|one| one["tags"].is_array())
            .cloned()
            .collect()
    };
    let (paths, webhooks) = (operations("paths"), operations("webhooks"));
    assert!(paths.iter().chain(&webhooks).all(|operation| tag(operation) == Some(1)));
    assert!(webhooks.iter().all(|webhook| paths.iter().all(|path| path["tags"] != webhook["tags"])));
    assert!(document["components"]["requestBodies"].get("File").is_none(), "TypeScript has a type of that name");
}

/// Decoders take one type, or nothing in its place: `null` alone and a choice between others stand below `anyOf` or
/// `oneOf`.
#[test]
fn a_schema_has_one_type() {
    fn check(schema: &Value, is_choice: bool, place: &str) {
        match &schema["type"] {
            Value::Array(types) => {
                let others = types.iter().filter(|name| **name != json!("null")).count();
                assert!(others == 1, "{place}: {types:?}");
            }
            one => assert!(is_choice || *one != json!("null"), "{place} can only be null"),
        }
        for (name, inside) in schema.as_object().into_iter().flatten() {
            let place = format!("{place}/{name}");
            let list = inside.as_array().into_iter().flatten();
            list.for_each(|one| check(one, ["anyOf", "oneOf"].contains(&name.as_str()), &place));
            check(inside, false, &place);
        }
    }
    check(&Contract::get().document["components"]["schemas"], false, "");
}

/// The checker is only worth something if it refuses.
#[test]
fn the_checker_refuses_what_is_not_documented() {
    let contract = Contract::get();
    let headers = |pairs: &[(&str, &str)]| -> HeaderMap {
        let pair =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
        pairs.iter().map(pair).collect()
    };
    let json = headers(&[("content-type", "application/json"), ("x-request-id", "r1")]);
    let complaint = |method: &str, path: &str, status: u16, headers: &HeaderMap, body: &str| {
        contract.complaints(method, path, status, headers, body.as_bytes()).join("; ")
    };
    let says = |complaint: String, expected: &str| assert!(complaint.contains(expected), "{expected:?}: {complaint}");
    let health = r#"{"status":"ok","version":"0.1.0"}"#;
    contract.check("GET", "/healthz", 200, &json, health.as_bytes());
    says(complaint("GET", "/nowhere", 200, &json, health), "no such operation");
    says(complaint("GET", "/healthz", 418, &json, health), "418 is not documented");
    says(complaint("GET", "/healthz", 200, &json, r#"{"status":"ok","version":"0.1.0","more":1}"#), "more");
    says(complaint("GET", "/healthz", 200, &json, "{}"), "status");
    says(complaint("GET", "/healthz", 200, &json, "{"), "no JSON");
    says(complaint("GET", "/healthz", 200, &headers(&[("content-type", "text/html")]), health), "text/html");
    says(complaint("GET", "/healthz", 200, &headers(&[("content-type", "application/json")]), health), "X-Request-Id");
    says(complaint("DELETE", "/api/v1/threads/1?x=y", 204, &json, "{}"), "a body where none is documented");
    let problem = &contract.document["components"]["responses"]["NotFound"]["content"]["application/problem+json"];
    let kind = headers(&[("content-type", "application/problem+json"), ("x-request-id", "r1")]);
    contract.check_problem(404, &kind, problem["example"].to_string().as_bytes());
    let other = problem["example"].to_string().replace("not_found", "no_report");
    says(complaint("GET", "/api/v1/runs/1", 404, &kind, &other), "no_report");
    let run = &contract.document["components"]["schemas"]["Run"]["examples"][0];
    let path = "/api/v1/runs/019aa56a-5c1c-7d21-8c47-0b9a8e7f6d5c";
    assert_eq!(complaint("GET", path, 200, &json, &run.to_string()), "");
    let mut nested = run.clone();
    nested["progress"]["researchers"]["idle"] = json!(1);
    says(complaint("GET", path, 200, &json, &nested.to_string()), "idle");
    let mut nested = run.clone();
    nested["usage"]["by_model"]["openai:gpt-4.1"]["price"] = json!(1);
    says(complaint("GET", path, 200, &json, &nested.to_string()), "price");
    let stream = headers(&[("content-type", "text/event-stream"), ("x-request-id", "r1")]);
    let example = &contract.document["components"]["responses"]["Events"]["content"]["text/event-stream"]["example"];
    let (example, path) = (example.as_str().unwrap(), format!("{path}/events"));
    assert_eq!(complaint("GET", &path, 200, &stream, example), "");
    says(complaint("GET", &path, 200, &stream, &example.replace("id: 2", "id: 3")), "id is not seq");
    says(complaint("GET", &path, 200, &stream, &example.replace("attempt", "try")), "run.started");
}
