//! JSON merge patches (RFC 7396).

use serde_json::{Map, Value};

/// Lays a patch over an object: members that are null are removed, objects are merged, everything else is replaced.
pub fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => _ = target.remove(name),
            Value::Object(inner) => {
                let mut below = match target.remove(name) {
                    Some(Value::Object(below)) => below,
                    _ => Map::new(),
                };
                merge(&mut below, inner);
                target.insert(name.clone(), Value::Object(below));
            }
            other => _ = target.insert(name.clone(), other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The cases of RFC 7396, appendix A, whose target and patch are objects.
    #[test]
    fn the_cases_of_the_standard() {
        let check = |target: Value, patch: Value, expected: Value| {
            let (Value::Object(mut target), Value::Object(patch)) = (target, patch) else { panic!("objects") };
            merge(&mut target, &patch);
            assert_eq!(Value::Object(target), expected);
        };
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}));
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
    }
}
