//! Fields in which two JSON values differ.

use serde_json::Value;

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// Path of the field: `body.task.pid`, `body.callchain[3]`; empty for the whole value.
    pub field: String,
    /// Its value in each recording; `None` if it is absent.
    pub values: [Option<Value>; 2],
}

/// The fields in which two values differ.
pub(super) fn changes(a: &Value, b: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare(String::new(), Some(a), Some(b), &mut changes);
    changes
}

fn compare(field: String, a: Option<&Value>, b: Option<&Value>, changes: &mut Vec<FieldChange>) {
    match (a, b) {
        (a, b) if a == b => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for (name, value) in a {
                compare(joined(&field, name), Some(value), b.get(name), changes);
            }
            for (name, value) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                compare(joined(&field, name), None, Some(value), changes);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(format!("{field}[{index}]"), Some(a), Some(b), changes);
            }
        }
        _ => changes.push(FieldChange { field, values: [a.cloned(), b.cloned()] }),
    }
}

fn joined(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reports_only_different_fields_by_path() {
        let a = json!({"body": {"ip": "0x1", "task": {"pid": 1, "tid": 2}, "ips": [1, 2, 3]}, "tail": "aa"});
        let b = json!({"body": {"ip": "0x1", "task": {"pid": 1, "tid": 3}, "ips": [1, 5, 3]}, "misc": ["X"]});
        let differences: Vec<_> =
            changes(&a, &b).into_iter().map(|FieldChange { field, values }| (field, values)).collect();
        let some = |value| Some(value);
        let expected = [
            ("body.ips[1]".to_owned(), [some(json!(2)), some(json!(5))]),
            ("body.task.tid".to_owned(), [some(json!(2)), some(json!(3))]),
            ("tail".to_owned(), [some(json!("aa")), None]),
            ("misc".to_owned(), [None, some(json!(["X"]))]),
        ];
        assert_eq!(differences, expected);
        assert!(changes(&a, &a).is_empty());
    }
}
