//! gRPC-Web: gRPC in requests of HTTP/1.1, which Parca accepts on its only port.

use super::http::{Answer, HttpHeader};

/// Size of a frame's header: flags, and the size of the rest as a big-endian 32-bit integer.
const HEAD: usize = 5;

/// Flag of the frame with the trailers.
const TRAILERS: u8 = 0x80;

/// The headers of a request.
pub(super) fn headers() -> [HttpHeader; 3] {
    let kind = "application/grpc-web+proto";
    [("Content-Type", kind), ("Accept", kind), ("X-Grpc-Web", "1")].map(HttpHeader::from)
}

/// A message as a frame.
pub(super) fn frame(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Checks the status in an answer.
///
/// # Errors
/// The status and its message, unless it is 0.
pub(super) fn check(answer: &Answer) -> Result<(), String> {
    // Without a message, the trailers are headers.
    let status = answer.header("grpc-status").map(|status| (status.to_owned(), answer.header("grpc-message")));
    let in_body = trailers(&answer.body);
    let trailer = |name: &str| in_body.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    let status = status.or_else(|| Some((trailer("grpc-status")?.to_owned(), trailer("grpc-message"))));
    match status {
        Some((status, _)) if status == "0" => Ok(()),
        Some((status, message)) => Err(format!("gRPC status {status}: {}", decoded(message.unwrap_or_default()))),
        None => Err("the answer has no gRPC status; is this the address of Parca?".to_owned()),
    }
}

/// The trailers in a body.
fn trailers(mut body: &[u8]) -> Vec<(&str, &str)> {
    while let Some(([flags, size @ ..], rest)) = body.split_first_chunk::<HEAD>() {
        let Some((content, rest)) = rest.split_at_checked(u32::from_be_bytes(*size) as usize) else { break };
        if flags & TRAILERS != 0 {
            let lines = str::from_utf8(content).unwrap_or_default().lines();
            return lines.filter_map(|line| line.split_once(':')).map(|(key, value)| (key, value.trim())).collect();
        }
        body = rest;
    }
    Vec::new()
}

/// A message with its percent encoding removed.
fn decoded(message: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), message.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        (rest, _) = match digits.filter(|_| byte == b'%') {
            Some(code) => (&after[2..], bytes.push(code)),
            None => (after, bytes.push(byte)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Answer { headers, body: body.to_vec() }
    }

    #[test]
    fn the_status_is_in_headers_or_trailers() {
        let trailers = |text: &str| [&[TRAILERS][..], &(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
        let body = [frame(b""), trailers("grpc-status: 0\r\ngrpc-message: \r\n")].concat();
        assert_eq!(check(&answer(&[], &body)), Ok(()));
        let failed = "gRPC status 3: no labels: ä%";
        let message = "no labels: %C3%A4%25";
        assert_eq!(check(&answer(&[("grpc-status", "3"), ("grpc-message", message)], b"")), Err(failed.to_owned()));
        let body = trailers(&format!("Grpc-Status:3\r\nGrpc-Message:{message}\r\n"));
        assert_eq!(check(&answer(&[], &body)), Err(failed.to_owned()));
        for other in [&b"<html>"[..], b"", &body[..9]] {
            assert!(check(&answer(&[], other)).is_err_and(|error| error.contains("no gRPC status")));
        }
        assert_eq!(decoded("%4"), "%4");
    }
}
