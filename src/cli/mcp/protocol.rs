//! Messages of JSON-RPC 2.0, one on each line.

use serde_json::{Value, json};

/// A request, or without an ID a notification.
pub(super) struct Request {
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

/// Codes of errors that JSON-RPC defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Parse = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct Problem {
    code: Code,
    message: String,
}

impl Problem {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn too_long(max: u64) -> Self {
        Self::new(Code::InvalidRequest, format!("the message is longer than {max} bytes"))
    }
}

impl Request {
    /// Parses a line.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Problem> {
        let message: Value =
            serde_json::from_slice(line).map_err(|error| Problem::new(Code::Parse, format!("no JSON: {error}")))?;
        let method = message["method"].as_str().map(str::to_owned);
        let id = message.get("id").cloned();
        let is_valid = id.as_ref().is_none_or(|id| id.is_string() || id.is_number());
        match method.filter(|_| is_valid) {
            Some(method) => Ok(Self { id, method, params: message["params"].clone() }),
            None => Err(Problem::new(Code::InvalidRequest, "expected an object with a method and an id")),
        }
    }
}

/// The answer to a request.
pub(super) fn response(id: Value, result: Result<Value, Problem>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Problem { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_messages_are_errors() {
        for (line, code) in [
            ("", Code::Parse),
            ("{", Code::Parse),
            ("[]", Code::InvalidRequest),
            ("3", Code::InvalidRequest),
            (r#"{"id":1}"#, Code::InvalidRequest),
            (r#"{"id":{},"method":"ping"}"#, Code::InvalidRequest),
        ] {
            assert_eq!(Request::parse(line.as_bytes()).err().map(|problem| problem.code), Some(code), "{line}");
        }
        let request = Request::parse(br#"{"id":"a","method":"ping"}"#).unwrap();
        assert_eq!((request.id, &*request.method, request.params), (Some("a".into()), "ping", Value::Null));
        let answer = response(Value::Null, Err(Problem::new(Code::Parse, "no")));
        assert_eq!(answer["error"]["code"], -32700);
    }
}
