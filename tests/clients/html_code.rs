//! The panel of a page with the source lines and instructions of a function.

use super::browser::Browser;
use super::programs;
use crate::common::html::{page, symbols};
use crate::common::program::{perfconv, succeed};
use serde_json::Value;

/// The samples of instructions equal those of `perfconv annotate`.
#[test]
fn the_panel_has_the_samples_of_instructions() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let html = directory.path().join("page.html");
    page(&symbols().join("words.data"), &html, &["--embed", "source,code"]);
    let mut browser = Browser::start(1200, 900);
    let mut compared = 0;
    for function in ["find", "hash", "count_word"] {
        browser.open(&html, &format!("view=functions&weight=samples&function={function}"));
        browser.evaluate("[...document.querySelectorAll('#details button')].find((button) => button.textContent === 'All instructions').click()");
        let rows = browser.text(
            "[...document.querySelectorAll('#details tr.instruction')].map((row) => \
             `${row.querySelector('small').textContent} ${row.dataset.self}`).join()",
        );
        let mut annotate = perfconv();
        annotate.args(["annotate", function, "--json", "-q", "-i"]).arg(symbols().join("words.data"));
        let output = succeed(annotate.arg("--symfs").arg(symbols().join("files")).env("HOME", "/nonexistent"));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let lines = report["lines"].as_array().expect("lines").iter().map(|line| {
            let address = line["address"].as_str().expect("an address").trim_start_matches("0x").to_owned();
            format!("{address} {}", line["self"]["samples"].as_u64().unwrap_or(0))
        });
        let expected: Vec<_> = lines.collect();
        compared += expected.len();
        assert_eq!(rows, expected.join(","), "{function}");
    }
    let lines = browser.text("document.querySelector('#details tr.line').textContent");
    assert!(lines.contains("words.c:"), "{lines}");
    note!("html: {compared} instructions have the samples of annotate");
    assert!(compared > 50, "{compared}");

    // Only instructions around samples, unless all are asked for.
    browser.open(&html, "view=functions&function=count_word");
    let count = "document.querySelectorAll('#details tr.instruction').length";
    let near = browser.number(count);
    browser.evaluate("[...document.querySelectorAll('#details button')].at(-1).click()");
    assert!((1.0..browser.number(count)).contains(&near), "{near}");
    // A page without code has no panel.
    page(&symbols().join("words.data"), &html, &[]);
    browser.open(&html, "view=functions&function=count_word");
    assert_eq!(
        browser.number(
            "[...document.querySelectorAll('#details h3')].filter((title) => title.textContent === 'Code').length"
        ),
        0.0
    );
}
