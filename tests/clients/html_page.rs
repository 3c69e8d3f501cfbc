//! A page that is open in a browser, and what it shows.

use super::browser::Browser;
use super::programs;
use crate::common::html::{page, symbols};
use std::path::PathBuf;
use tempfile::TempDir;

/// The page of a recording of roundtrip/symbols, open in a browser; `None` if there is no browser. It exists as long as its directory.
pub(super) fn open_page(recording: &str, args: &[&str], fragment: &str) -> Option<(Browser, PathBuf, TempDir)> {
    if !programs::has_browser() {
        return None;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let html = directory.path().join("page.html");
    page(&symbols().join(recording), &html, args);
    let mut browser = Browser::start(1000, 800);
    browser.open(&html, fragment);
    Some((browser, html, directory))
}

/// Number of the samples that are selected.
pub(super) fn samples(browser: &mut Browser) -> f64 {
    browser.number("Number(document.body.dataset.samples)")
}

/// Number of the frames that the flame graph shows.
pub(super) fn frames(browser: &mut Browser) -> f64 {
    browser.number("Number(document.getElementById('flame').dataset.frames)")
}

pub(super) fn status(browser: &mut Browser) -> String {
    browser.text("document.getElementById('status').textContent")
}
