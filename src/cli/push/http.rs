//! Requests over HTTP, repeated if that may help.

use crate::cli::failure::Failure;
use crate::cli::report::print_message;
use std::fs;
use std::thread;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Response, StatusCode};

/// Time to establish a connection, and to wait for an answer once the request is sent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest time to wait before another attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Maximum size of an answer. Only its start is shown, and a server may send without end.
const MAX_ANSWER: u64 = 1 << 20;

/// Number of characters of an answer that a message shows.
const SHOWN: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpHeader {
    name: String,
    value: String,
}

impl From<(&str, &str)> for HttpHeader {
    fn from((name, value): (&str, &str)) -> Self {
        Self { name: name.to_owned(), value: value.to_owned() }
    }
}

/// A POST request.
pub(super) struct Request<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Its headers.
    pub headers: Vec<HttpHeader>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A successful answer.
pub(super) struct Answer {
    /// Names and values of its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        header.map(|(_, value)| &**value)
    }
}

/// Sends requests.
pub(super) struct Client {
    agent: Agent,
    retries: u32,
    quiet: bool,
}

/// Why an attempt failed.
struct Unsent {
    why: String,
    /// Whether another attempt may succeed.
    is_temporary: bool,
    /// How long the server asks to wait.
    pause: Option<Duration>,
}

impl Client {
    /// Creates a client that tries again this many times.
    pub(super) fn new(retries: u32, quiet: bool) -> Self {
        let config = Agent::config_builder()
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_recv_body(Some(PATIENCE))
            .http_status_as_error(false)
            // A redirected POST would become a GET.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("perfconv/", env!("CARGO_PKG_VERSION")));
        Self { agent: Agent::from(config.build()), retries, quiet }
    }

    /// Sends a request; tries again after failures that may be temporary.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses the request.
    pub(super) fn post(&self, request: &Request<'_>) -> Result<Answer, Failure> {
        let mut attempt = 0;
        loop {
            let Unsent { why, is_temporary, pause } = match self.send(request) {
                Ok(answer) => return Ok(answer),
                Err(unsent) => unsent,
            };
            if !is_temporary || attempt == self.retries {
                return Err(Failure::Failed(format!("{}: {why}", request.url)));
            }
            let pause = pause.unwrap_or(Duration::from_secs(1 << attempt.min(10))).min(LONGEST_PAUSE);
            if !self.quiet {
                let seconds = pause.as_secs();
                print_message(format_args!("perfconv: {}: {why}; trying again in {seconds} s", request.url));
            }
            thread::sleep(pause);
            attempt += 1;
        }
    }

    fn send(&self, request: &Request<'_>) -> Result<Answer, Unsent> {
        let mut post = self.agent.post(request.url);
        for HttpHeader { name, value } in &request.headers {
            post = post.header(name, value);
        }
        let mut response = post.send(&request.body[..]).map_err(|error| Unsent {
            // Invalid certificates, addresses and headers fail again in the same way.
            is_temporary: !matches!(error, ureq::Error::Tls(_) | ureq::Error::BadUri(_) | ureq::Error::Http(_)),
            why: error.to_string(),
            pause: None,
        })?;
        let status = response.status();
        // The status decides: an unreadable or oversized body counts as empty.
        let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().unwrap_or_default();
        if status.is_success() {
            let header = |(name, value): (&_, &ureq::http::HeaderValue)| {
                (ToString::to_string(name), String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            return Ok(Answer { headers: response.headers().iter().map(header).collect(), body });
        }
        Err(refusal(status, &response, &body))
    }
}

/// Describes why a server refused a request.
fn refusal<T>(status: StatusCode, response: &Response<T>, body: &[u8]) -> Unsent {
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let shown: String = String::from_utf8_lossy(body).trim().chars().take(SHOWN).collect();
    let (mut why, location) = (format!("the server answered {status}"), text("location"));
    match location.filter(|_| status.is_redirection()) {
        Some(location) => why += &format!(": use {location} as the address"),
        None if !shown.is_empty() => why += &format!(": {shown}"),
        None => {}
    }
    Unsent {
        why,
        // Too many requests, or a gateway or server that is not available at the moment.
        is_temporary: matches!(status.as_u16(), 429 | 502 | 503 | 504),
        pause: text("retry-after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
    }
}

/// The URL of an endpoint below the address of a server.
///
/// # Errors
/// If the address is not one of HTTP.
pub(super) fn endpoint(address: &str, path: &str) -> Result<String, Failure> {
    let is_http =
        ["http://", "https://"].iter().any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if !is_http {
        let expected = "expected an address such as http://localhost:4040";
        return Err(Failure::Usage(format!("URL: '{address}' does not begin with http:// or https://; {expected}")));
    }
    let address = address.trim_end_matches('/');
    Ok(if address.ends_with(path) { address.to_owned() } else { format!("{address}/{path}") })
}

/// The headers in arguments: `NAME: VALUE`, or `@FILE` with a header in each line.
///
/// # Errors
/// If a header has no name, or a file cannot be read.
pub(super) fn headers(args: &[String]) -> Result<Vec<HttpHeader>, Failure> {
    let mut headers = Vec::new();
    for arg in args {
        let lines = match arg.strip_prefix('@') {
            Some(path) => {
                fs::read_to_string(path).map_err(|error| Failure::Failed(format!("{path}: cannot read: {error}")))?
            }
            None => arg.clone(),
        };
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let header = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
            // Messages never repeat the value, which may be a secret.
            let is_valid = |(name, _): &(&str, &str)| !name.is_empty() && !name.contains(char::is_whitespace);
            let expected = || Failure::Usage("--header: expected NAME: VALUE, or @FILE with such lines".to_owned());
            headers.push(header.filter(is_valid).ok_or_else(expected)?.into());
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_below_addresses() {
        let url = |address: &str| endpoint(address, "v1/profiles").ok();
        let expected = Some("http://host:1/base/v1/profiles".to_owned());
        for address in ["http://host:1/base", "http://host:1/base/", "http://host:1/base/v1/profiles"] {
            assert_eq!(url(address), expected);
        }
        assert_eq!(url("https://host"), Some("https://host/v1/profiles".to_owned()));
        for other in ["host:1", "ftp://host", "http://", ""] {
            assert_eq!(url(other), None);
        }
    }

    #[test]
    fn headers_are_read_from_arguments_and_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "X-Scope-OrgID: 7\n\nA:b:c\n").unwrap();
        let args = ["Authorization: Bearer x".to_owned(), format!("@{}", file.path().display())];
        let expected = [("Authorization", "Bearer x"), ("X-Scope-OrgID", "7"), ("A", "b:c")].map(HttpHeader::from);
        assert_eq!(headers(&args).unwrap(), expected);
        for invalid in ["secret", ": x", "a b: c", "@/nonexistent/file"] {
            assert!(headers(&[invalid.to_owned()]).is_err());
        }
    }
}
