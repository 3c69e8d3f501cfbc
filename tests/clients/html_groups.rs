//! Pages of recordings with several programs, processes, threads and events.

use super::browser::Browser;
use super::html_page::{frames, open_page, samples, status};
use super::programs;
use crate::common::html::{page, reported, symbols};
use crate::common::view_limits::Recording;
use std::path::PathBuf;

/// Two processes of a program with a pool of threads, and one of another program; two events.
const SERVERS: &str = r#"
about = "Servers and a database"
seed = 3
duration = "2s"

[machine]
cpus = 2

[[event]]
name = "cpu-clock:u"
rate = 400

[[event]]
name = "task-clock:u"
rate = 100

[[program]]
path = "/usr/sbin/web"
functions = ["serve"]

[[program]]
path = "/usr/sbin/db"
functions = ["query"]
"#;

/// A recording of these processes.
pub(super) fn servers() -> Recording {
    let process = |pid: u32, program: &str, function: &str, threads: &[&str]| {
        let threads = threads.iter().zip(pid..).map(|(comm, tid)| {
            let busy = 6 * (tid - pid + 1) - pid / 10;
            format!(
                "[[process.thread]]\ntid = {tid}\ncomm = \"{comm}\"\nbusy = {busy}\n\
                 stack = [{{ percent = 100, frames = [\"{function}\"] }}]\n"
            )
        });
        let threads: String = threads.collect();
        format!("[[process]]\npid = {pid}\ncomm = \"{program}\"\nprograms = [\"/usr/sbin/{program}\"]\n{threads}")
    };
    let processes = [
        process(10, "web", "serve", &["web", "io-1", "io-2"]),
        process(20, "web", "serve", &["web", "io-1"]),
        process(30, "db", "query", &["db"]),
    ];
    Recording::new(&format!("{SERVERS}{}", processes.concat()))
}

/// The page of a recording.
pub(super) fn page_of(recording: &Recording) -> PathBuf {
    let html = recording.at("page.html");
    page(&recording.at("in.data"), &html, &[]);
    html
}

/// The page of the servers, open in a browser; `None` if there is no browser.
fn open_servers() -> Option<(Browser, Recording)> {
    if !programs::has_browser() {
        return None;
    }
    let recording = servers();
    let html = page_of(&recording);
    let mut browser = Browser::start(1000, 800);
    browser.open(&html, "");
    Some((browser, recording))
}

fn weight(browser: &mut Browser) -> u64 {
    browser.number("Number(document.body.dataset.weight)") as u64
}

/// Chooses a value of a list.
fn choose(browser: &mut Browser, list: &str, value: &str) {
    let list = format!("document.getElementById('{list}')");
    browser.evaluate(&format!("{list}.value = '{value}'; {list}.dispatchEvent(new Event('change'))"));
    assert_eq!(browser.text(&format!("{list}.value")), value);
}

/// Texts of a list's options.
fn options(browser: &mut Browser, list: &str) -> String {
    browser.text(&format!("[...document.getElementById('{list}').options].map((option) => option.text).join()"))
}

/// The frames of the first level of the flame graph, the largest first.
fn first_level(browser: &mut Browser) -> Vec<String> {
    browser.press("ArrowUp");
    browser.press("ArrowUp");
    browser.press("ArrowDown");
    let mut frames: Vec<String> = Vec::new();
    loop {
        let frame = status(browser).split(": ").next().unwrap_or_default().to_owned();
        if frames.last() == Some(&frame) {
            return frames;
        }
        frames.push(frame);
        browser.press("ArrowRight");
    }
}

#[test]
fn groups_are_the_first_level_and_a_filter() {
    let Some((mut browser, recording)) = open_servers() else { return };
    assert_eq!(browser.text("document.title"), "in.data: perf record");
    assert_eq!(
        options(&mut browser, "group"),
        "no groups,by program,by process,by thread,by thread name,by CPU,by event"
    );

    // Of several programs, these are the groups.
    assert_eq!(browser.text("document.getElementById('group').value"), "program");
    assert_eq!(options(&mut browser, "thread"), "all programs,db,web");
    assert_eq!(first_level(&mut browser), ["web (program)", "db (program)"]);
    let all = weight(&mut browser);
    let expected = |args: &[&str]| {
        let functions = reported(&recording.at("in.data"), &[&["--event", "cpu-clock:u"], args].concat());
        functions.iter().map(|function| function.1).sum::<u64>()
    };
    assert_eq!(all, expected(&[]));

    choose(&mut browser, "thread", "program:db");
    assert_eq!(weight(&mut browser), expected(&["--comm", "db"]));
    assert_eq!(first_level(&mut browser), ["db (program)"]);
    choose(&mut browser, "thread", "");

    choose(&mut browser, "group", "pid");
    assert_eq!(options(&mut browser, "thread"), "all processes,db 30,web 10,web 20");
    assert_eq!(first_level(&mut browser), ["web 10 (process)", "web 20 (process)", "db 30 (process)"]);
    choose(&mut browser, "thread", "pid:20");
    assert_eq!(weight(&mut browser), expected(&["--pid", "20"]));
    choose(&mut browser, "thread", "");

    // Names of a pool differ in digits only.
    choose(&mut browser, "group", "pool");
    assert_eq!(options(&mut browser, "thread"), "all thread names,db,io-<N>,web");
    assert_eq!(first_level(&mut browser), ["io-<N> (thread name)", "web (thread name)", "db (thread name)"]);
    choose(&mut browser, "thread", "pool:io-<N>");
    assert_eq!(
        weight(&mut browser),
        expected(&["--tid", "11"]) + expected(&["--tid", "12"]) + expected(&["--tid", "21"])
    );
    // A group remains selected when samples are grouped by something else.
    choose(&mut browser, "group", "tid");
    assert_eq!(first_level(&mut browser), ["io-2 12 (thread)", "io-1 11 (thread)", "io-1 21 (thread)"]);
    browser.press("r");
    assert_eq!(first_level(&mut browser).len(), 3, "reversed stacks are grouped too");

    // Back undoes each choice.
    let mut groups = Vec::new();
    for _ in 0..5 {
        browser.back();
        groups.push(browser.text("document.getElementById('group').value + document.getElementById('thread').value"));
    }
    assert_eq!(groups, ["tidpool:io-<N>", "poolpool:io-<N>", "pool", "pid", "pidpid:20"]);
}

#[test]
fn events_are_summed_or_side_by_side() {
    let Some((mut browser, _recording)) = open_servers() else { return };
    assert_eq!(options(&mut browser, "event"), "cpu-clock:u,task-clock:u,sum of 2 events (ns)");
    let first = samples(&mut browser);
    choose(&mut browser, "event", "1");
    let second = samples(&mut browser);
    assert!(first > second && second > 0.0, "{first} {second}");
    choose(&mut browser, "group", "event");
    assert_eq!(browser.text("document.getElementById('event').value"), "sum:ns");
    assert_eq!(samples(&mut browser), first + second);
    assert_eq!(first_level(&mut browser), ["cpu-clock:u (event)", "task-clock:u (event)"]);
    browser.back();
    assert_eq!(samples(&mut browser), second);
}

#[test]
fn events_of_different_units_are_counted_by_samples() {
    if !programs::has_browser() {
        return;
    }
    let recording = Recording::new(
        "about = \"Two units\"\nseed = 1\nduration = \"1s\"\n\
         [[event]]\nname = \"cpu-clock:u\"\nrate = 100\n[[event]]\nname = \"page-faults\"\nrate = 20\n\
         [[program]]\npath = \"/app\"\nfunctions = [\"main\"]\n\
         [[process]]\npid = 1\ncomm = \"app\"\nprograms = [\"/app\"]\n\
         [[process.thread]]\nstack = [{ percent = 100, frames = [\"main\"] }]\n",
    );
    let html = page_of(&recording);
    let mut browser = Browser::start(1000, 800);
    browser.open(&html, "");
    assert_eq!(options(&mut browser, "event"), "cpu-clock:u,page-faults,all 2 events, by samples");
    assert_eq!(options(&mut browser, "group"), "no groups,by event");
    choose(&mut browser, "group", "event");
    assert_eq!(first_level(&mut browser), ["cpu-clock:u (event)", "page-faults (event)"]);
    assert_eq!((samples(&mut browser), weight(&mut browser)), (120.0, 120));
    choose(&mut browser, "weight", "value");
    assert_eq!(browser.text("document.getElementById('event').value"), "0", "values of different units are not added");
}

#[test]
fn calls_of_a_group_are_those_of_its_samples() {
    let base = symbols().join("c.data").display().to_string();
    let Some((mut browser, html, _directory)) = open_page("cxx.data", &["--diff", &base], "") else { return };
    // As drawn in a page with a graph of equal width, with a level more for the group.
    for reverse in ["", "&reverse=1"] {
        let mut drawn = |fragment: String| {
            browser.open(&html, &fragment);
            frames(&mut browser)
        };
        let grouped = drawn(format!("group=pool&zoom=smith{reverse}"));
        let filtered = drawn(format!("group=none&thread=pool:smith{reverse}"));
        assert!(filtered > 3.0 && grouped == filtered + 1.0, "{reverse}: {grouped} {filtered}");
    }
}
