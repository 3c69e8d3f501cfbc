//! What shows a profile in the browser: a page of this program, or the web page of another project that loads the profile from here.

use perfconv::formats::OutputFormat;
use perfconv::formats::firefox::{self, Firefox};
use perfconv::formats::html::{self, Html};
use perfconv::formats::speedscope::{self, Speedscope};
use std::sync::Arc;

/// What shows a profile in the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Viewer {
    /// The page.
    Page,
    /// The Firefox Profiler.
    Firefox,
    /// speedscope.
    Speedscope,
}

impl Viewer {
    /// The format that it shows: its name, and its options.
    pub(super) fn format(self, page: Html) -> (&'static str, Arc<dyn OutputFormat>) {
        match self {
            Self::Page => (html::FORMAT.name, Arc::new(page)),
            Self::Firefox => (firefox::FORMAT.name, Arc::new(Firefox::default())),
            Self::Speedscope => (speedscope::FORMAT.name, Arc::new(Speedscope::default())),
        }
    }

    /// Name of the file that it shows.
    pub(super) fn file_name(self) -> &'static str {
        match self {
            Self::Page => "profile.html",
            Self::Firefox => "profile.fx.json",
            Self::Speedscope => "profile.speedscope.json",
        }
    }

    /// The media type of the file.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Page => "text/html; charset=utf-8",
            Self::Firefox | Self::Speedscope => "application/json",
        }
    }

    /// What the file is in messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Firefox | Self::Speedscope => "profile",
        }
    }

    /// The origin of the web page that loads the file, whose programs a browser lets read it only if the server names the origin.
    pub(super) fn origin(self) -> Option<&'static str> {
        match self {
            Self::Page => None,
            Self::Firefox => Some("https://profiler.firefox.com"),
            Self::Speedscope => Some("https://www.speedscope.app"),
        }
    }

    /// The address to open, by that of the served file. Both forms are documented by the projects.
    pub(super) fn address(self, file: &str) -> String {
        let origin = self.origin().unwrap_or_default();
        match self {
            Self::Page => file.to_owned(),
            Self::Firefox => format!("{origin}/from-url/{}", encoded(file.as_bytes(), b"")),
            Self::Speedscope => format!("{origin}/#profileURL={}", encoded(file.as_bytes(), b"")),
        }
    }
}

/// Text as part of an address: all but letters, digits, some marks and the given bytes as percent signs with hexadecimal digits.
pub(super) fn encoded(text: &[u8], kept: &[u8]) -> String {
    let mut encoded = String::new();
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            _ if kept.contains(&byte) => encoded.push(byte.into()),
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_contain_that_of_the_file() {
        let file = "http://127.0.0.1:80/a/profile.fx.json";
        let encoded = "http%3A%2F%2F127.0.0.1%3A80%2Fa%2Fprofile.fx.json";
        assert_eq!(Viewer::Page.address(file), file);
        assert_eq!(Viewer::Firefox.address(file), format!("https://profiler.firefox.com/from-url/{encoded}"));
        assert_eq!(Viewer::Speedscope.address(file), format!("https://www.speedscope.app/#profileURL={encoded}"));
    }
}
