//! Tracks of a page, its history, tooltips and print.

use super::browser::Browser;
use super::html_groups::{page_of, servers};
use super::html_page::{open_page, samples, status};
use super::programs;
use crate::common::files::fixture;
use crate::common::html::{page, symbols};
use crate::common::view_limits::Recording;

/// Where tracks begin, beside their names, in pixels from the left of the canvas.
const LEFT: f64 = 180.0;
const AXIS: f64 = 18.0;
const LINE: f64 = 22.0;

/// A number of the canvas of tracks: `tracks`, `lines` or `more`.
fn count(browser: &mut Browser, name: &str) -> u32 {
    browser.number(&format!("Number(document.getElementById('tracks').dataset.{name})")) as u32
}

/// A value of the address.
fn state(browser: &mut Browser, key: &str) -> String {
    browser.text(&format!("new URLSearchParams(location.hash.slice(1)).get('{key}') ?? ''"))
}

/// The point of a line of tracks at a share of the time.
fn point(browser: &mut Browser, line: f64, share: f64) -> (f64, f64) {
    let rectangle = "document.getElementById('tracks').getBoundingClientRect()";
    let mut side = |name: &str| browser.number(&format!("{rectangle}.{name}"));
    let (left, top, width) = (side("left"), side("top"), side("width"));
    (left + LEFT + share * (width - LEFT), top + AXIS + (line + 0.5) * LINE)
}

fn tip(browser: &mut Browser) -> String {
    browser.text("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
}

#[test]
fn a_drag_or_keys_select_a_time_and_back_undoes_that() {
    let Some((mut browser, html, _directory)) = open_page("cxx.data", &[], "") else { return };
    let all = samples(&mut browser);
    let slots = browser.number("readData().then((data) => new Tree(parseData(data)).slots)");

    let (start, end) = (point(&mut browser, 0.0, 0.25), point(&mut browser, 0.0, 0.75));
    browser.drag(&[start, ((start.0 + end.0) / 2.0, start.1), end]);
    let dragged = samples(&mut browser);
    assert!(dragged < all && dragged > all / 4.0, "{dragged} of {all}");
    let slot = |text: String| text.parse::<f64>().unwrap_or_else(|_| panic!("{text}"));
    let (from, to) = (slot(state(&mut browser, "from")), slot(state(&mut browser, "to")));
    assert!((from - slots / 4.0).abs() < 2.0 && (to - slots * 0.75).abs() < 2.0, "{from} {to} of {slots}");
    browser.open(&html, &format!("from={from}&to={to}"));
    assert_eq!(samples(&mut browser), dragged, "a link shows the same");

    // Arrows select and move a span, with Shift they move its end. Back undoes all of them at once.
    browser.open(&html, "");
    browser.evaluate("document.getElementById('tracks').focus()");
    for _ in 0..3 {
        browser.press("ArrowRight");
    }
    let (from, to) = (slot(state(&mut browser, "from")), slot(state(&mut browser, "to")));
    browser.press("Shift+ArrowRight");
    browser.press("Shift+ArrowRight");
    browser.press("Shift+ArrowLeft");
    let step = to - from + 1.0;
    assert_eq!(slot(state(&mut browser, "from")), from);
    assert_eq!(slot(state(&mut browser, "to")), to + step);
    assert!(samples(&mut browser) < dragged);
    browser.back();
    assert_eq!((samples(&mut browser), state(&mut browser, "from")), (all, String::new()));

    // Up and down move between tracks, Enter filters, and Escape ends the selection of a time.
    browser.press("ArrowDown");
    browser.press("Enter");
    assert_eq!((samples(&mut browser), state(&mut browser, "thread")), (293.0, "tid:5505".into()));
    browser.press("ArrowLeft");
    assert!(samples(&mut browser) < 293.0);
    browser.press("Escape");
    assert_eq!(samples(&mut browser), 293.0);
    browser.back();
    browser.back();
    browser.back();
    assert_eq!(samples(&mut browser), all);

    // A click filters, a second one ends that.
    let second = point(&mut browser, 1.0, 0.5);
    browser.drag(&[second]);
    assert_eq!(samples(&mut browser), 293.0);
    browser.drag(&[second]);
    assert_eq!(samples(&mut browser), all);

    // Keys and the button zoom, a double click resets.
    browser.evaluate("document.getElementById('tracks').focus()");
    browser.press("+");
    let window = state(&mut browser, "window");
    let (first, last) = window.split_once('-').unwrap_or_else(|| panic!("{window}"));
    assert!((slot(last.into()) + 1.0 - slot(first.into()) - slots / 2.0).abs() < 2.0, "{window} of {slots}");
    browser.back();
    assert_eq!(state(&mut browser, "window"), "");
    browser.open(&html, "from=100&to=199");
    browser.evaluate("document.getElementById('zoom-time').click()");
    assert_eq!(state(&mut browser, "window"), "100-199");
    let middle = point(&mut browser, 0.0, 0.5);
    browser.double_click(middle);
    assert_eq!(browser.text("location.hash"), "");
    assert_eq!(samples(&mut browser), all);
}

#[test]
fn the_heat_map_is_used_with_keys_and_hidden_for_short_recordings() {
    let Some((mut browser, html, _directory)) = open_page("cxx.data", &[], "") else { return };
    let is_hidden = "String(document.getElementById('heat').hidden)";
    assert_eq!(browser.text(is_hidden), "false");
    browser.evaluate("document.getElementById('heat').focus()");
    browser.press("ArrowRight");
    browser.press("Shift+ArrowRight");
    assert_eq!((state(&mut browser, "from"), state(&mut browser, "to")), ("0".into(), "49".into()));
    let heat = "document.getElementById('heat').getBoundingClientRect()";
    let (left, top) = (browser.number(&format!("{heat}.left")), browser.number(&format!("{heat}.top")));
    browser.hover((left + 20.0, top + 20.0));
    assert!(
        tip(&mut browser).contains(" ms to ") && tip(&mut browser).contains("% of all times"),
        "{}",
        tip(&mut browser)
    );

    page(&symbols().join("words.data"), &html, &[]);
    browser.open(&html, "");
    assert_eq!(browser.text(is_hidden), "true", "words.data is short");
    assert_eq!(count(&mut browser, "tracks"), 1);
}

#[test]
fn tooltips_show_samples_and_shares() {
    let base = symbols().join("c.data").display().to_string();
    let opened = open_page("cxx.data", &["--diff", &base], "zoom=foundry::v2::heap_phase");
    let Some((mut browser, ..)) = opened else { return };
    let legend = browser.text("document.getElementById('legend').textContent");
    assert_eq!(legend, "cxx.data compared with c.data:  larger share,  smaller share");
    let flame = "document.getElementById('flame').getBoundingClientRect()";
    let (left, top) = (browser.number(&format!("{flame}.left")), browser.number(&format!("{flame}.top")));
    // A caller of the zoomed frame, which is as wide as the graph.
    browser.hover((left + 30.0, top + 2.5 * LINE));
    let parents = tip(&mut browser);
    assert!(
        parents.contains("samples\n") && parents.contains(" self, ") && parents.contains("% of all\n"),
        "{parents}"
    );
    browser.evaluate("document.getElementById('flame').focus()");
    for _ in 0..6 {
        browser.press("ArrowDown");
    }
    let status = status(&mut browser);
    let share = |end: &str| {
        let text = status.split(", ").find_map(|part| part.strip_suffix(end)).unwrap_or_else(|| panic!("{status}"));
        text.strip_suffix('%').and_then(|text| text.parse::<f64>().ok()).unwrap_or_else(|| panic!("{status}"))
    };
    assert!(share(" of the zoomed frame") > share(" of all") && share(" of all") > 0.0, "{status}");
    assert!(share(" before") >= 0.0);
}

#[test]
fn thousands_of_threads_are_collapsed_and_drawn_quickly() {
    if !programs::has_browser() {
        return;
    }
    let mut scenario = "about = \"A pool\"\nseed = 1\nduration = \"1s\"\n[machine]\ncpus = 64\n\
        [[event]]\nname = \"cycles:u\"\nrate = 100\n[[program]]\npath = \"/app\"\nfunctions = [\"main\"]\n\
        [[process]]\npid = 1000\ncomm = \"app\"\nprograms = [\"/app\"]\n"
        .to_owned();
    for tid in 1000..6000 {
        let thread = format!(
            "[[process.thread]]\ntid = {tid}\ncomm = \"worker-{tid}\"\nbusy = {}\n\
             stack = [{{ percent = 100, frames = [\"main\"] }}]\n",
            2 + tid % 5
        );
        scenario += &thread;
    }
    let recording = Recording::new(&scenario);
    let html = page_of(&recording);
    let mut browser = Browser::start(1000, 800);
    browser.open(&html, "");
    assert_eq!((count(&mut browser, "tracks"), count(&mut browser, "more")), (5000, 4992));
    // Each step shows more, up to all.
    let mut more = Vec::new();
    for _ in 0..4 {
        click_last_line(&mut browser);
        more.push(count(&mut browser, "more"));
    }
    assert_eq!(more, [4960, 4800, 4000, 0]);

    // The canvas is not larger than what is in view, and a scrolled one is drawn within a few frames of the screen.
    let height = browser.number("document.getElementById('tracks').height / devicePixelRatio");
    assert!(height <= 240.0, "{height}");
    let scroll = "(() => { const scroller = document.getElementById('tracks-scroll'); const start = performance.now();\
        for (let i = 0; i < 50; i++) { scroller.scrollTop = i * 2000; scroller.dispatchEvent(new Event('scroll')); }\
        return (performance.now() - start) / 50; })()";
    let milliseconds = browser.number(scroll);
    note!("html: tracks of 5,000 threads are drawn in {milliseconds:.1} ms");
    assert!(milliseconds < 50.0, "{milliseconds}");

    // A thread far below is selected by a click.
    browser.evaluate("document.getElementById('tracks-scroll').scrollTop = 2500 * 22");
    let line = point(&mut browser, 3.0, 0.5);
    browser.drag(&[line]);
    assert!(state(&mut browser, "thread").starts_with("tid:") && samples(&mut browser) < 20.0);
    browser.back();
    click_last_line(&mut browser);
    assert_eq!(count(&mut browser, "more"), 4992);
}

/// Clicks on the last line of tracks, which shows more or fewer of them.
fn click_last_line(browser: &mut Browser) {
    browser.evaluate("document.getElementById('tracks-scroll').scrollTop = 1e9");
    let bottom = browser.number("document.getElementById('tracks').getBoundingClientRect().bottom");
    let (x, _) = point(browser, 0.0, 0.1);
    browser.drag(&[(x, bottom - LINE / 2.0)]);
}

/// Records the calls of a method of the canvas while the page is drawn anew.
fn drawn(browser: &mut Browser, method: &str, argument: &str) -> Vec<String> {
    let record = format!(
        "(() => {{ const calls = []; const {{ prototype }} = CanvasRenderingContext2D; const original = prototype.{method}; \
         prototype.{method} = function (...args) {{ calls.push({argument}); return original.apply(this, args); }}; \
         window.dispatchEvent(new Event('resize')); prototype.{method} = original; return calls; }})()"
    );
    serde_json::from_value(browser.evaluate(&record)).expect("a list of texts")
}

/// A name that does not fit keeps its end if that distinguishes it from another one.
#[test]
fn cut_names_of_different_functions_differ() {
    let Some((mut browser, ..)) = open_page("cxx.data", &[], "") else { return };
    let context =
        "Object.assign(document.createElement('canvas').getContext('2d'), { font: '12px system-ui, sans-serif' })";
    let names =
        "['foundry::v2::Ingot::operator[]', 'foundry::v2::Ingot::operator bool', 'generate_text_of_words', 'main']";
    let cut = |browser: &mut Browser, room: u32| -> Vec<String> {
        let fit = format!(
            "(() => {{ const [context, names] = [{context}, {names}]; const starts = sharedStarts(names); \
             const labels = names.map((name) => fitted(context, name, {room}, starts.get(name))); \
             if (labels.some((label) => context.measureText(label).width > {room} + 6)) throw labels; return labels; }})()"
        );
        serde_json::from_value(browser.evaluate(&fit)).expect("labels")
    };
    let labels = cut(&mut browser, 90);
    assert!(labels[0].contains('…') && labels[0].ends_with("or[]"), "{labels:?}");
    assert!(labels[1].contains('…') && labels[1].ends_with("bool"), "{labels:?}");
    assert!(labels[2].starts_with("generate") && labels[2].ends_with('…') && labels[3] == "main", "{labels:?}");
    // With little room, the start is all that is left.
    assert!(cut(&mut browser, 30)[..3].iter().all(|label| label.ends_with('…')));

    let labels = drawn(&mut browser, "fillText", "args[0]");
    let cut: Vec<_> = labels.iter().filter(|label| label.contains('…') && !label.contains('%')).collect();
    let with_end = cut.iter().filter(|label| !label.ends_with('…')).count();
    assert!(cut.len() > 20 && with_end > 5, "{with_end} of {labels:?}");
}

#[test]
fn tracks_of_events_are_lines_or_marks() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let html = directory.path().join("page.html");
    let mut browser = Browser::start(1000, 800);
    for (recording, is_counter) in [("two-events.data", true), ("tracepoints.data", false)] {
        page(&fixture(recording), &html, &[]);
        browser.open(&html, "");
        let color = browser.text("styleColor('--event')");
        let lines = drawn(&mut browser, "stroke", "this.strokeStyle");
        let bars = drawn(&mut browser, "fillRect", "`${this.fillStyle} ${args[2]}`");
        let marks = bars.iter().filter(|bar| **bar == format!("{color} 1")).count();
        let lines = lines.iter().filter(|line| **line == color).count();
        assert_eq!((lines == 2, marks > 2), (is_counter, !is_counter), "{recording}: {lines} lines, {marks} marks");
    }
}

#[test]
fn pages_with_tracks_fit_at_390_pixels_and_are_printed() {
    if !programs::has_browser() {
        return;
    }
    let recording = servers();
    let html = page_of(&recording);
    let mut browser = Browser::start(390, 800);
    for fragment in
        ["", "group=pid&view=functions", "group=pool&from=0&to=100", "group=event&event=sum:ns", "view=info"]
    {
        browser.open(&html, fragment);
        let widths = "[innerWidth, document.documentElement.scrollWidth, visualViewport.scale]";
        assert_eq!(browser.evaluate(widths), serde_json::json!([390, 390, 1]), "{fragment}");
        // A text of a button is in one line.
        let high = "[...document.querySelectorAll('header button, nav button, p button')]\
            .filter((button) => button.checkVisibility() && button.getBoundingClientRect().height > 36).length";
        assert_eq!(browser.number(high), 0.0, "{fragment}");
    }

    let mut browser = Browser::start(1000, 800);
    browser.open(&html, "");
    browser.evaluate("document.getElementById('theme').click()");
    browser.set_medium("print");
    let shown = "[...document.querySelectorAll('select, input, button, #tip')].filter((control) => control.checkVisibility()).length";
    assert_eq!(browser.number(shown), 0.0);
    let canvases = "[...document.querySelectorAll('canvas')].filter((canvas) => canvas.checkVisibility()).length";
    assert_eq!(browser.number(canvases), 3.0);
    assert_eq!(browser.text("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
}
