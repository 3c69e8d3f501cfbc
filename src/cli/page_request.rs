//! Requests to the server of a page.

/// Whether a request asks for a path at one of the hosts. A browser sends one header Host; other names are those that a page of
/// another site had resolved to this machine. What programs could read in several ways is not answered.
pub(super) fn is_asked_for(request: &[u8], path: &str, hosts: &[String]) -> bool {
    let Some(lines) = str::from_utf8(request).ok().and_then(|request| request.strip_suffix("\r\n\r\n")) else {
        return false;
    };
    let mut lines = lines.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let is_path = |target: &str| target.split('?').next() == Some(path);
    let is_get = words.next() == Some("GET")
        && words.next().is_some_and(is_path)
        && words.next().is_some_and(|version| version.starts_with("HTTP/1."))
        && words.next().is_none();
    let mut values = Vec::new();
    for line in lines {
        // A name ends at its colon, and a line that continues another has none of its own.
        let Some((name, value)) = line.split_once(':') else { return false };
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return false;
        }
        if value.contains(['\r', '\n', '\0']) {
            return false;
        }
        if name.eq_ignore_ascii_case("host") {
            values.push(value.trim());
        }
    }
    let is_host = |value: &str| hosts.iter().any(|host| host.eq_ignore_ascii_case(value));
    is_get && matches!(values[..], [host] if is_host(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_at_this_machine_is_answered() {
        let hosts = ["127.0.0.1:80".to_owned(), "localhost:80".to_owned()];
        let asks = |request: &str| is_asked_for(request.as_bytes(), "/secret/profile.html", &hosts);
        assert!(asks("GET /secret/profile.html?x HTTP/1.1\r\nA: b\r\nhost: LOCALHOST:80\r\n\r\n"));
        for request in [
            "GET /secret/profile.html HTTP/1.1\r\nHost: evil.example:80\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\n",
            "GET /secret/profile.html\r\nHost: localhost:80\r\n\r\n",
            "GET http://evil.example/secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\nHost: evil.example\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\nHost : evil.example\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\n Host: evil.example\r\n\r\n",
            "GET /secret/profile.html HTTP/1.1\r\nA: b\nHost: localhost:80\r\nHost: localhost:80\r\n\r\n",
            "POST /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
            "",
        ] {
            assert!(!asks(request), "{request}");
        }
    }
}
