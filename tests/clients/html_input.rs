//! Pages, used with the mouse, the keyboard and on a phone.

use super::browser::Browser;
use super::html_page::{frames, open_page, samples, status};
use super::programs;
use crate::common::html::{page, reported, symbols};
use crate::common::program::{perfconv, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The functions of the table with their own and total weights.
const FUNCTIONS: &str = "[...document.querySelectorAll('#table tbody tr')].map((row) => \
     [row.querySelector('button').textContent, Number(row.dataset.self), Number(row.dataset.total)])";

/// Text of the focused element.
const FOCUSED: &str = "document.activeElement.textContent";

/// Name of the frame that the flame graph is zoomed to.
fn zoomed(browser: &mut Browser) -> String {
    browser.text("document.getElementById('zoomed').textContent")
}

/// A point of an element, at these shares of its width and height.
fn point(browser: &mut Browser, id: &str, x: f64, y: f64) -> (f64, f64) {
    let rectangle = format!("document.getElementById('{id}').getBoundingClientRect()");
    let mut side = |name: &str| browser.number(&format!("{rectangle}.{name}"));
    (side("left") + x * side("width"), side("top") + y * side("height"))
}

/// Time of the first sample in nanoseconds.
fn first_time(recording: &Path) -> u64 {
    let run = run(perfconv().arg(recording).args(["-t", "jsonl", "-o", "-", "-q"]));
    let records = run.stdout.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let samples = records.filter(|record| record["record"] == "SAMPLE");
    samples.filter_map(|sample| sample["body"]["time"].as_u64()).min().expect("a sample")
}

#[test]
fn a_drag_over_the_timeline_filters_the_page() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, html) = (symbols().join("cxx.data"), directory.path().join("page.html"));
    // The report has full names.
    page(&recording, &html, &["--names", "full"]);
    let first = first_time(&recording);
    let mut browser = Browser::start(1000, 800);
    // To the right, to the left, out of the canvas, and a click.
    for ((from, to), beyond) in [((0.22, 0.58), 0.0), ((0.81, 0.43), 0.0), ((0.5, 0.99), 300.0), ((0.3, 0.3), 0.0)] {
        browser.open(&html, "");
        let (all, all_frames) = (samples(&mut browser), frames(&mut browser));
        let start = point(&mut browser, "heat", from, 0.5);
        let (x, y) = point(&mut browser, "heat", to, 0.5);
        let half = ((start.0 + x) / 2.0, y);
        browser.drag(&[start, half, (x + beyond, y)]);

        let fragment = browser.text("location.hash");
        let slot = |name: &str| {
            let value = fragment[1..].split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_else(|| panic!("{name}: {fragment}"))
        };
        let len = browser.number("readData().then((data) => parseData(data).header.slot)") as u64;
        let slots = slot("from")..=slot("to");
        let seconds = |time: u64| format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
        let (begin, end) = (first + slots.start() * len, first + (slots.end() + 1) * len - 1);
        let mut expected = reported(&recording, &["--time", &format!("{},{}", seconds(begin), seconds(end))]);

        let selected = samples(&mut browser);
        assert!(selected < all && (from == to || selected > 0.0), "{fragment}: {selected} of {all}");
        assert!(frames(&mut browser) < all_frames, "{fragment}");
        assert!(status(&mut browser).starts_with(&format!("{selected} samples, ")), "{}", status(&mut browser));
        let weight: u64 = expected.iter().map(|function| function.1).sum();
        assert_eq!(browser.number("Number(document.body.dataset.weight)") as u64, weight, "{fragment}");
        browser.press("2");
        let mut rows: Vec<(String, u64, u64)> =
            serde_json::from_value(browser.evaluate(FUNCTIONS)).expect("functions with weights");
        rows.sort();
        expected.sort();
        assert_eq!(rows, expected, "{fragment}");

        browser.press("1");
        let button = point(&mut browser, "all-time", 0.5, 0.5);
        browser.drag(&[button]);
        assert_eq!((samples(&mut browser), frames(&mut browser)), (all, all_frames));
    }
}

#[test]
fn keys_search_zoom_and_reset() {
    let Some((mut browser, _html, _directory)) = open_page("cxx.data", &[], "") else { return };
    let all_frames = frames(&mut browser);

    // Down to the widest frame of each level, and back.
    browser.press("ArrowDown");
    let child = status(&mut browser);
    browser.press("ArrowDown");
    let grandchild = status(&mut browser);
    browser.press("ArrowUp");
    assert_eq!(status(&mut browser), child);
    assert!(child.contains(" (") && child != grandchild, "{child}, {grandchild}");
    browser.press("ArrowRight");
    let sibling = status(&mut browser);
    assert_ne!(sibling, child);
    browser.press("ArrowLeft");
    assert_eq!(status(&mut browser), child);
    browser.press("ArrowDown");
    browser.press("Enter");
    assert!(grandchild.starts_with(&format!("{} (", zoomed(&mut browser))), "{grandchild}");
    let zoomed_frames = frames(&mut browser);
    assert!(browser.text("location.hash").starts_with("#zoom=") && zoomed_frames != all_frames);

    // Letters are the text of a search; Escape clears first that, then the zoom.
    browser.press("/");
    for letter in ["S", "m", "1", "r"] {
        browser.press(letter);
    }
    assert_eq!(browser.text("document.activeElement.value"), "Sm1r");
    assert!(status(&mut browser).ends_with("; search: 0.00%"), "{}", status(&mut browser));
    browser.press("Enter");
    assert_eq!(frames(&mut browser), zoomed_frames);
    browser.press("Escape");
    assert_eq!(
        (browser.text("document.getElementById('search').value"), frames(&mut browser)),
        (String::new(), zoomed_frames)
    );
    browser.press("Escape");
    assert_eq!((zoomed(&mut browser), frames(&mut browser)), (String::new(), all_frames));
    assert_eq!(browser.text("location.hash"), "");

    browser.press("r");
    assert_eq!(browser.text("location.hash"), "#reverse=1");
    browser.press("r");
    for (key, view) in [("2", "functions"), ("3", "info"), ("1", "flame")] {
        browser.press(key);
        let shown = "[...document.querySelectorAll('main > section')].filter((view) => !view.hidden).map((view) => view.id).join()";
        assert_eq!(browser.text(shown), format!("{view}-view"));
    }
    assert_eq!(frames(&mut browser), all_frames);

    // Escape also ends the selection of a span.
    let (start, end) = (point(&mut browser, "heat", 0.2, 0.5), point(&mut browser, "heat", 0.6, 0.5));
    browser.drag(&[start, end]);
    assert!(samples(&mut browser) < 1309.0);
    browser.press("Escape");
    assert_eq!(samples(&mut browser), 1309.0);
}

#[test]
fn the_page_is_used_without_a_mouse() {
    let Some((mut browser, _html, _directory)) = open_page("cxx.data", &[], "") else { return };

    // The Tab key reaches every control in the order of the document.
    let controls = "[...document.querySelectorAll('button, input, select, canvas[tabindex]')]\
                    .filter((control) => control.checkVisibility()).map((control) => control.id).join()";
    let controls = browser.text(controls);
    let mut reached = Vec::new();
    for _ in controls.split(',') {
        browser.press("Tab");
        reached.push(browser.text("document.activeElement.id"));
    }
    assert_eq!(reached.join(","), controls);
    // An arrow moves in the flame graph wherever the focus is, but Enter presses the focused button.
    browser.evaluate("document.getElementById('reverse').focus()");
    browser.press("Enter");
    assert_eq!(browser.text("location.hash"), "#reverse=1");
    browser.press("ArrowDown");
    browser.press("Enter");
    assert_ne!(zoomed(&mut browser), "");
    browser.press("Escape");
    browser.press("r");

    // A pressed button keeps the focus when the table is drawn again.
    browser.evaluate("document.getElementById('functions-tab').focus()");
    browser.press("Enter");
    browser.press("Tab");
    browser.press("Tab");
    browser.press("Tab");
    assert_eq!(browser.text(FOCUSED), "total");
    browser.press("Enter");
    assert_eq!(
        (browser.text("location.hash"), browser.text(FOCUSED)),
        ("#view=functions&sort=total".into(), "total".into())
    );
    browser.press("Tab");
    browser.press("Tab");
    let name = browser.text(FOCUSED);
    browser.press("Enter");
    assert_eq!(
        (browser.text("document.querySelector('#details h2').textContent"), browser.text(FOCUSED)),
        (name.clone(), name)
    );
    // The details are in view beside a row far below.
    let in_view = "document.querySelector('#details h2').getBoundingClientRect().top";
    browser.evaluate("[...document.querySelectorAll('td button')].at(-1).focus()");
    browser.press("Enter");
    assert!(browser.number("scrollY") > 800.0 && (0.0..700.0).contains(&browser.number(in_view)));
    browser.evaluate("document.querySelector('td button').click()");
    // A function of the details replaces them, and its details have the focus.
    browser.evaluate("document.querySelector('#details button').focus()");
    let name = browser.text(FOCUSED);
    browser.press("Enter");
    assert_eq!(browser.text("document.querySelector('#details h2').textContent"), name);
    assert_eq!(browser.text("document.activeElement.closest('#details').id"), "details");
}

#[test]
fn the_frame_with_the_focus_is_in_view() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (folded, html) = (directory.path().join("in.folded"), directory.path().join("page.html"));
    let stack: Vec<_> = (0..120).map(|level| format!("level{level}")).collect();
    fs::write(&folded, format!("{} 10\n", stack.join(";"))).expect("folded stacks");
    page(&folded, &html, &[]);
    let mut browser = Browser::start(800, 600);
    browser.open(&html, "");
    let top = "document.getElementById('flame').getBoundingClientRect().top";
    for (key, presses, level) in [("ArrowDown", 100, 100.0), ("ArrowUp", 100, 0.0)] {
        (0..presses).for_each(|_| browser.press(key));
        let y = browser.number(top) + level * 18.0;
        assert!((-1.0..=600.0 - 17.0).contains(&y), "level {level} is at {y}: {}", status(&mut browser));
    }
    // A click is on the frame that is drawn there, beside a scroll bar too.
    let ratio =
        "document.getElementById('flame').width / devicePixelRatio - document.getElementById('flame').clientWidth";
    assert_eq!(browser.number(ratio), 0.0);
}

#[test]
fn pages_fit_on_a_phone() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (folded, html) = (directory.path().join("in.folded"), directory.path().join("page.html"));
    let long = "n".repeat(300);
    fs::write(&folded, format!("main;{long};leaf 10\nmain;std::vector<{long}>::at 5\n")).expect("folded stacks");
    let long = format!("zoom=main;{long}&function={long}");
    let base = symbols().join("c.data").display().to_string();
    let cases: [(&Path, &[&str], &str); 3] = [
        (&symbols().join("cxx.data"), &[], "zoom=main&function=main"),
        (&symbols().join("cxx.data"), &["--diff", &base], "zoom=main&function=main"),
        (&folded, &["--title", &"t".repeat(200)], &long),
    ];
    let mut browser = Browser::start(360, 740);
    for (recording, args, state) in cases {
        page(recording, &html, args);
        for view in ["flame", "functions", "info"] {
            browser.open(&html, &format!("view={view}&from=0&to=500&{state}"));
            let widths = "[innerWidth, document.documentElement.scrollWidth, visualViewport.scale]";
            assert_eq!(browser.evaluate(widths), serde_json::json!([360, 360, 1]), "{view} of {args:?}");
            // Controls that do not fit, or are below another element.
            let unreachable = "[...document.querySelectorAll('button, input, select, canvas')]\
                .filter((control) => control.checkVisibility()).filter((control) => {\
                    control.scrollIntoView({ block: 'center' });\
                    const { left, right, top, width, height } = control.getBoundingClientRect();\
                    const found = document.elementFromPoint(left + width / 2, top + Math.min(height, 20) / 2);\
                    return left < 0 || right > 360 || width < 16 || height < 16 || !control.contains(found);\
                }).map((control) => `${control.id}${control.textContent}`.slice(0, 40))";
            assert_eq!(browser.evaluate(unreachable), serde_json::json!([]), "{view} of {args:?}");
        }
    }
    // Details are above the table, and scrolled to when a function is selected.
    browser.open(&html, "view=functions");
    let last = "document.querySelector('#table tbody tr:last-child button')";
    browser.evaluate(&format!("{last}.scrollIntoView({{ block: 'center' }}); {last}.click()"));
    let top = browser.number("document.querySelector('#details h2').getBoundingClientRect().top");
    assert!((0.0..740.0).contains(&top), "{top}");
}
