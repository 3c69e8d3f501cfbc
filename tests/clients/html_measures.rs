//! Ratios, time off the CPU and parallelism on pages.

use super::browser::Browser;
use super::html_page::{samples, status};
use super::programs;
use crate::common::program::{perfconv, succeed};
use crate::common::scenarios::scenario;
use crate::common::view_limits::Recording;
use std::fs;
use std::path::PathBuf;

/// 300 samples of cycles and 200 of instructions, in two functions with many of both, and one with few.
const COUNTERS: &str = r#"
about = "Functions with many and with few samples of two events"
duration = "1s"

[[event]]
name = "cycles"
rate = 300
period = 1000
fields = ["CALLCHAIN"]

[[event]]
name = "instructions"
rate = 200
period = 1000
fields = ["CALLCHAIN"]

[[program]]
path = "/usr/bin/app"
functions = ["main", "fast", "slow", "rare"]

[[process]]
pid = 7
comm = "app"
programs = ["/usr/bin/app"]
[[process.thread]]
stack = [
  { percent = 40, frames = ["main", "fast"] }, { percent = 57, frames = ["main", "slow"] }, { percent = 3, frames = ["main", "rare"] },
]
"#;

fn open(recording: &Recording, args: &[&str], fragment: &str) -> Option<(Browser, PathBuf)> {
    if !programs::has_browser() {
        return None;
    }
    let html = recording.at("page.html");
    let symfs = recording.at("images").display().to_string();
    let mut command = perfconv();
    command.arg(recording.at("in.data")).args(["--symfs", &symfs, "-q", "-o"]).arg(&html).args(args);
    succeed(&mut command);
    let mut browser = Browser::start(1000, 800);
    browser.open(&html, fragment);
    Some((browser, html))
}

fn text(browser: &mut Browser, id: &str) -> String {
    browser.text(&format!("document.getElementById('{id}').hidden ? '' : document.getElementById('{id}').textContent"))
}

fn click(browser: &mut Browser, id: &str) {
    browser.evaluate(&format!("document.getElementById('{id}').click()"));
}

/// The color of the canvas of the flame graph at a level, in the middle of the largest frame of it.
fn color(browser: &mut Browser, level: u32, share: f64) -> String {
    browser.text(&format!(
        "(() => {{ const canvas = document.getElementById('flame'); const ratio = devicePixelRatio; \
         const pixel = canvas.getContext('2d').getImageData(canvas.width * {share}, ({level} * 18 + 2) * ratio, 1, 1).data; \
         return pixel.slice(0, 3).join(); }})()"
    ))
}

#[test]
fn frames_are_colored_by_a_ratio_that_a_legend_explains() {
    let recording = Recording::new(COUNTERS);
    let Some((mut browser, html)) = open(&recording, &["--ratio", "ipc"], "") else { return };
    let legend = text(&mut browser, "ratio-legend");
    assert!(legend.starts_with("IPC: ") && legend.contains("white: 0.667 as of all"), "{legend}");
    assert!(legend.contains("fewer than 10 samples"), "{legend}");
    // Each function has the ratio of all; of the last, there are too few samples.
    let all = samples(&mut browser);
    assert_eq!(color(&mut browser, 2, 0.1), "245,245,245");
    assert_eq!(color(&mut browser, 2, 0.99), "180,180,180");
    assert_eq!(all, 300.0, "widths are cycles");
    // Without the ratio, colors are those of functions, and a link shows the same.
    browser.open(&html, "color=");
    assert_eq!(text(&mut browser, "ratio-legend"), "");
    assert_ne!(color(&mut browser, 2, 0.1), "245,245,245");
    for fragment in ["color=0&reverse=1", "color=0&group=event", "color=99", "color=length"] {
        browser.open(&html, fragment);
        assert_eq!(samples(&mut browser), 300.0, "{fragment}");
    }
    browser.open(&html, "color=0&reverse=1");
    assert_eq!(color(&mut browser, 1, 0.1), "245,245,245");
}

#[test]
fn pages_have_time_on_and_off_the_cpu_and_both() {
    let recording = Recording::new(&fs::read_to_string(scenario("scheduler.toml")).expect("a scenario"));
    let Some((mut browser, html)) = open(&recording, &["--off-cpu"], "") else { return };
    // 18 waits, and 70 samples of cpu-clock.
    assert!(status(&mut browser).starts_with("18 samples, 117.000 ms"), "{}", status(&mut browser));
    click(&mut browser, "on-cpu");
    assert!(status(&mut browser).starts_with("70 samples, 70.000 ms"), "{}", status(&mut browser));
    click(&mut browser, "both-cpu");
    assert!(status(&mut browser).starts_with("88 samples, 187.000 ms"), "{}", status(&mut browser));
    click(&mut browser, "off-cpu");
    assert_eq!(samples(&mut browser), 18.0);
    browser.back();
    assert_eq!(samples(&mut browser), 88.0);
    assert_eq!(text(&mut browser, "waits-legend"), "Waits:  blocked");
    // The tracks have the waits by time: thread 100 waits for half of it.
    let waited = "readData().then((data) => { const tree = new Tree(parseData(data)); const { waits } = tree; \
                  const bins = waits.bins(waits.threads.keys().toArray(), 0, tree.slots, 1); \
                  return bins[0].reduce((sum, time) => sum + time, 0); })";
    assert!((browser.number(waited) - 117e6).abs() < 1.0);
    browser.open(&html, "");
    assert_eq!(text(&mut browser, "parallelism-view"), "");
}

#[test]
fn pages_of_latency_have_a_histogram_of_parallelism() {
    let recording = Recording::new(&fs::read_to_string(scenario("scheduler.toml")).expect("a scenario"));
    let args = ["--weight", "latency", "--event", "cpu-clock"];
    let Some((mut browser, _)) = open(&recording, &args, "view=info") else { return };
    let table = "[...document.querySelectorAll('#parallelism tr')].slice(1).map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent).join(' ')).join(', ')";
    assert_eq!(browser.text(table), "1 42.86% 60.00%, 2 57.14% 40.00%");
    assert!(status(&mut browser).starts_with("70 samples, 50.000 ms"), "{}", status(&mut browser));
}
