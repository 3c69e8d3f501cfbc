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

/// A message of a client.
pub(super) enum Message {
    Request(Request),
    /// An answer, which a server that asks nothing ignores.
    Response,
    /// A message that cannot be answered, with its ID, which is null if it is unknown.
    Malformed(Value, Problem),
}

impl Message {
    /// Parses a line.
    pub(super) fn parse(line: &[u8]) -> Self {
        let mut message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Self::Malformed(Value::Null, Problem::new(Code::Parse, format!("no JSON: {error}"))),
        };
        let id = message.get("id").cloned();
        let is_valid = id.as_ref().is_none_or(|id| id.is_string() || id.is_number());
        match (message["method"].as_str().map(str::to_owned), id) {
            (Some(method), id) if is_valid => Self::Request(Request { id, method, params: message["params"].take() }),
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => Self::Response,
            (_, id) => {
                let problem = Problem::new(Code::InvalidRequest, "expected an object with a method and an id");
                Self::Malformed(id.filter(|_| is_valid).unwrap_or_default(), problem)
            }
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
        for (line, code, id) in [
            ("", Code::Parse, Value::Null),
            ("{", Code::Parse, Value::Null),
            ("[]", Code::InvalidRequest, Value::Null),
            ("3", Code::InvalidRequest, Value::Null),
            (r#"{"id":4}"#, Code::InvalidRequest, 4.into()),
            (r#"{"id":"a","method":{}}"#, Code::InvalidRequest, "a".into()),
            (r#"{"id":{},"method":"ping"}"#, Code::InvalidRequest, Value::Null),
            (r#"{"method":3}"#, Code::InvalidRequest, Value::Null),
        ] {
            let Message::Malformed(answered, problem) = Message::parse(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((problem.code, answered), (code, id), "{line}");
        }
        let Message::Request(request) = Message::parse(br#"{"id":"a","method":"ping"}"#) else { panic!("a request") };
        assert_eq!((request.id, &*request.method, request.params), (Some("a".into()), "ping", Value::Null));
        assert!(matches!(Message::parse(br#"{"id":1,"result":{}}"#), Message::Response));
        let answer = response(Value::Null, Err(Problem::new(Code::Parse, "no")));
        assert_eq!(answer["error"]["code"], -32700);
    }
}
