//! Pages, in a browser without a window.

use super::programs;
use crate::common::files;
use crate::common::html::{page, reported, symbols};
use crate::common::program::{perfconv, run};
use crate::common::scenarios::{with_names, work_and_wait};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The document after the page's program has run, as the fragment of the address asks for.
fn open(page: &Path, fragment: &str) -> String {
    let document = programs::browse(&format!("file://{}#{fragment}", page.display()));
    assert!(document.contains("data-ready="), "{fragment}: {document}");
    document
}

/// The value of the first attribute of this name.
fn attribute<'a>(document: &'a str, name: &str) -> &'a str {
    let rest = document.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name}")).1;
    rest.split('"').next().unwrap_or_default()
}

/// The text of the element with this ID, up to the next tag.
fn text<'a>(document: &'a str, id: &str) -> &'a str {
    let rest = document.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}")).1;
    rest.split_once('>').and_then(|(_, rest)| rest.split('<').next()).unwrap_or_default()
}

/// Names, own and total weights of the rows of the table of functions.
fn functions(document: &str) -> Vec<(String, u64, u64)> {
    let body = document.split_once("<tbody>").map_or("", |(_, body)| body.split("</tbody>").next().unwrap_or_default());
    let rows = body.split("<tr").skip(1).map(|row| {
        let button = row.split_once("<button").and_then(|(_, rest)| rest.split_once('>'));
        let name = button.map_or("", |(_, rest)| rest.split("</button>").next().unwrap_or_default());
        let name = name.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let number = |name: &str| attribute(row, name).parse().expect("a number");
        (name, number("data-self"), number("data-total"))
    });
    rows.collect()
}

#[test]
fn pages_draw_zoom_search_filter_and_sort() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, html) = (symbols().join("cxx.data"), directory.path().join("page.html"));
    page(&recording, &html, &[]);

    let drawn = open(&html, "");
    assert_eq!((attribute(&drawn, "data-samples"), attribute(&drawn, "data-weight")), ("1309", "1310310309"));
    let frames = |document: &str| attribute(document, "data-frames").parse::<u32>().expect("a number");
    assert!(frames(&drawn) > 50, "{}", frames(&drawn));

    let zoomed = open(&html, "zoom=foundry::v2::heap_phase");
    assert_eq!(text(&zoomed, "zoomed"), "foundry::v2::heap_phase");
    assert!((5..frames(&drawn)).contains(&frames(&zoomed)), "{} frames", frames(&zoomed));

    let results = open(&html, "search=Smith");
    assert!(text(&results, "status").ends_with("; search: 22.38%"), "{}", text(&results, "status"));

    let thread = open(&html, "thread=comm:smith");
    assert_eq!(attribute(&thread, "data-samples"), "293");

    let part = open(&html, "from=0&to=99");
    let samples: u32 = attribute(&part, "data-samples").parse().expect("a number");
    assert!(samples > 100 && samples < 1000, "{samples}");
    assert!(text(&part, "span").contains(" of 1.05"), "{}", text(&part, "span"));

    let reversed = open(&html, "reverse=1");
    assert!(frames(&reversed) > 50 && frames(&reversed) != frames(&drawn));

    let mut expected = reported(&recording, &[]);
    for (sort, key) in [("self", 1), ("total", 2)] {
        let rows = functions(&open(&html, &format!("view=functions&names=full&sort={sort}")));
        let weights: Vec<_> = rows.iter().map(|row| if key == 1 { row.1 } else { row.2 }).collect();
        assert!(weights.is_sorted_by(|a, b| a >= b), "{sort}: {weights:?}");
        let mut rows = rows;
        rows.sort();
        expected.sort();
        assert_eq!(rows, expected);
    }
    note!("html: {} functions have the weights of the report", expected.len());

    let selected = open(&html, "view=functions&function=foundry::v2::heap_phase");
    assert!(
        selected
            .contains("<h3>Callers</h3><ul><li>11.46% <button>main</button><code> /srv/sym/src/foundry.cpp:101</code>")
    );
    let info = open(&html, "view=info");
    assert!(info.contains("<dt>host</dt><dd>vm</dd>") && info.contains("innermost frames have no function name"));
}

/// Short names by default, full ones on request; the search finds both.
#[test]
fn names_are_short_or_full() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, html) = (symbols().join("cxx.data"), directory.path().join("page.html"));
    page(&recording, &html, &[]);
    let (short, full) = ("std::sort_heap<...>", "void std::sort_heap<unsigned int*, foundry::v2::ByHeat>");
    let has = |fragment: &str, name: &str| {
        let functions = functions(&open(&html, &format!("view=functions{fragment}")));
        functions.iter().any(|(function, ..)| function == name)
    };
    assert!(has("", short) && !has("", full) && has("&names=full", full) && !has("&names=full", short));
    let status = |fragment: &str| text(&open(&html, fragment), "status").to_owned();
    let matched = status("search=sort_heap%3C%5C.%5C.%5C.%3E");
    assert!(matched.ends_with("; search: 8.94%"), "{matched}");
    for fragment in ["search=void std::sort_heap%3Cunsigned", "names=full&search=sort_heap%3C%5C.%5C.%5C.%3E"] {
        assert_eq!(status(fragment), matched, "{fragment}");
    }
    for name in [short, full] {
        let zoomed = text(&open(&html, &format!("zoom={}", name.replace('<', "%3C"))), "zoomed").to_owned();
        assert_eq!(zoomed, "std::sort_heap&lt;...&gt;");
    }

    let image = directory.path().join("image.svg");
    page(&recording, &image, &["--width", "1800"]);
    let document = programs::browse(&format!("file://{}", image.display()));
    let labels: Vec<_> =
        document.split("<text").skip(1).filter_map(|text| text.split_once('>')?.1.split('<').next()).collect();
    assert!(labels.iter().any(|label| label.trim() == "std::sort_heap&lt;...&gt;"), "{labels:?}");
    assert!(labels.iter().all(|label| !label.contains("unsigned int*")), "{labels:?}");
}

#[test]
fn pages_compare_two_recordings() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let html = directory.path().join("page.html");
    let base = symbols().join("cxx.data");
    page(&symbols().join("cxx.data"), &html, &["--diff", &base.display().to_string()]);
    let rows = open(&html, "view=functions&sort=change");
    assert!(rows.contains(">change of self<") && rows.contains("<td>0.00%</td>"), "a recording equals itself");
    page(&symbols().join("cxx.data"), &html, &["--diff", &symbols().join("c.data").display().to_string()]);
    let rows = open(&html, "view=functions&sort=change");
    assert!(rows.contains("<td>+22.31%</td>"), "functions of one recording only");

    let recording = |name: &str, program: &str, work: u32| {
        with_names(&work_and_wait(directory.path(), name, program, (&["cycles:u"], 10, work)))
    };
    let (before, after) = (recording("before.data", "app-old", 30), recording("after.data", "app-new", 41));
    page(&after, &html, &["--diff", &before.display().to_string()]);
    let rows = open(&html, "view=functions&sort=change");
    assert!(rows.contains("<td>+11.00%</td>") && !rows.contains("<td>+41.00%</td>"), "functions of renamed programs");
}

#[test]
fn names_run_nothing() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let hostile = "</script><script>document.title='hostile'</script><img src=x onerror=\"document.title='hostile'\">";
    let (folded, html) = (directory.path().join("in.folded"), directory.path().join("page.html"));
    fs::write(&folded, format!("main;{hostile} 10\nmain;\u{202e}abc 5\n")).expect("folded stacks");
    page(&folded, &html, &["--title", hostile]);
    for fragment in ["", "view=functions", "view=info", "search=%3Cscript%3E", "zoom=%3Cimg"] {
        let document = open(&html, fragment);
        assert!(!document.contains("<title>hostile"), "{fragment}");
        assert!(document.contains("data-frames=") || fragment.starts_with("view"), "{fragment}");
    }
    let source = fs::read_to_string(&html).expect("a page");
    assert!(source.contains("default-src 'none'") && !source.contains("http://") && !source.contains("https://"));
}

#[test]
fn pages_of_all_fixtures_have_their_samples() {
    if !programs::has_browser() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut compared = 0;
    for recording in files::fixtures() {
        let html = directory.path().join("page.html");
        let made = run(perfconv().arg(&recording.path).arg("-o").arg(&html).args(["-f", "-q", "--symbols", "no"]));
        if made.status != 0 {
            continue;
        }
        let mut command = perfconv();
        let report = run(command.arg("report").arg(&recording.path).args(["--json", "-q", "--symbols", "no"]));
        let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
        let events = report["events"].as_array().expect("a list");
        // The page begins with the event that has the most samples.
        let expected = events.iter().filter_map(|event| event["samples"].as_u64()).max().unwrap_or(0).to_string();
        assert_eq!(attribute(&open(&html, ""), "data-samples"), expected, "{}", recording.name);
        compared += 1;
    }
    note!("html: {compared} pages of fixtures have the samples of the report");
    assert!(compared >= 15, "{compared}");
}
