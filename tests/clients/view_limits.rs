//! Pages of recordings with very long or hostile names, in a browser.

use super::browser::Browser;
use super::programs;
use crate::common::program::{perfconv, succeed};
use crate::common::view_limits::{MEGABYTE, Recording, is_unsafe};

#[test]
fn pages_of_such_recordings_open() {
    if !programs::has_browser() {
        return;
    }
    let long = ["a".repeat(MEGABYTE), "b".repeat(MEGABYTE)];
    let hostile = ["red\x1b[31m\u{9b}", "rlo\u{202e}eman", "</script>\u{2028}", "שלום"];
    let mut browser = Browser::start(1000, 800);
    for (recording, samples) in [
        (Recording::with_functions("app", &[&long[0], &long[1]]), 100.0),
        (Recording::with_functions("\x1b\u{202e}", &hostile), 100.0),
        (Recording::with_threads(), 10_000.0),
        (Recording::with_events(), 1.0),
        (Recording::without_samples(), 0.0),
    ] {
        let html = recording.at("page.html");
        let mut command = perfconv();
        command.arg(recording.at("in.data")).arg("-o").arg(&html).arg("--symfs").arg(recording.at("images"));
        succeed(&mut command);
        browser.open(&html, "");
        assert_eq!(browser.number("Number(document.body.dataset.samples)"), samples);
        browser.press("ArrowDown");
        browser.press("ArrowDown");
        let status = browser.text("document.getElementById('status').textContent");
        assert!(status.len() < 20_000 && status.contains(": ") && !status.contains(is_unsafe), "{status}");
        browser.press("Enter");
        assert!(status.starts_with(&browser.text("document.getElementById('zoomed').textContent")), "{status}");
        browser.press("2");
        let rows = browser.number("document.querySelectorAll('#table tbody tr').length");
        assert!(rows >= samples.min(1.0) && !browser.text("document.body.innerText").contains(is_unsafe), "{rows}");
    }
}
