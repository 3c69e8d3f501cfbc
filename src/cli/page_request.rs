//! Requests to the server of a page.

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageRequest {
    /// The page.
    Get,
    /// Whether a web page of another origin may load it.
    Options,
}

/// The request for a path at one of the hosts, or at any if there are none. A browser sends one header Host; other names are those that a page of
/// another site had resolved to this machine. What programs could read in several ways is not answered.
pub(super) fn parse(request: &[u8], path: &str, hosts: Option<&[String]>) -> Option<PageRequest> {
    let lines = str::from_utf8(request).ok().and_then(|request| request.strip_suffix("\r\n\r\n"))?;
    let mut lines = lines.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let is_path = |target: &str| target.split('?').next() == Some(path);
    let asked = match words.next()? {
        "GET" => PageRequest::Get,
        "OPTIONS" => PageRequest::Options,
        _ => return None,
    };
    let is_for_page = words.next().is_some_and(is_path)
        && words.next().is_some_and(|version| version.starts_with("HTTP/1."))
        && words.next().is_none();
    let mut values = Vec::new();
    for line in lines {
        // A name ends at its colon, and a line that continues another has none of its own.
        let (name, value) = line.split_once(':')?;
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        if value.contains(['\r', '\n', '\0']) {
            return None;
        }
        if name.eq_ignore_ascii_case("host") {
            values.push(value.trim());
        }
    }
    let is_host = |value: &str| hosts.is_none_or(|hosts| hosts.iter().any(|host| host.eq_ignore_ascii_case(value)));
    Some(asked).filter(|_| is_for_page && matches!(values[..], [host] if is_host(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_at_this_machine_is_answered() {
        let hosts = ["127.0.0.1:80".to_owned(), "localhost:80".to_owned()];
        let parse = |request: &str, hosts| parse(request.as_bytes(), "/secret/profile.html", hosts);
        let asks = |request: &str| parse(request, Some(&hosts)) == Some(PageRequest::Get);
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
            assert_eq!(parse(request, Some(&hosts)), None, "{request}");
        }
        let options = "OPTIONS /secret/profile.html HTTP/1.1\r\nHost: localhost:80\r\n\r\n";
        assert_eq!(parse(options, Some(&hosts)), Some(PageRequest::Options));
        let elsewhere = "GET /secret/profile.html HTTP/1.1\r\nHost: build-server:80\r\n\r\n";
        assert_eq!((parse(elsewhere, Some(&hosts)), parse(elsewhere, None)), (None, Some(PageRequest::Get)));
    }
}
