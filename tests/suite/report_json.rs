//! Reports as JSON: callers, callees and lines, functions that are searched, and limits of the size.

use crate::common::program::{perfconv, run, succeed};
use crate::common::reports::report;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&report(&[&["--json"], args].concat())).expect("JSON")
}

/// The entries of a list.
fn list<'a>(report: &'a Value, name: &str) -> &'a [Value] {
    report[name].as_array().unwrap_or_else(|| panic!("no {name} in {report}"))
}

fn samples(entries: &[Value], member: &str) -> u64 {
    entries.iter().map(|entry| entry[member]["samples"].as_u64().expect("a number of samples")).sum()
}

#[test]
fn callers_and_callees_are_those_of_the_text() {
    let both = json(&["--symbol", "foundry::v2::heap_phase"]);
    assert_eq!(list(&both, "callers").len(), 1);
    assert_eq!(both["callers"][0]["sym"], "main");
    assert_eq!(both["callers"][0]["total"]["samples"], 150);
    let callees = list(&both, "callees");
    // The samples in the function itself have no callee, and each other sample has one.
    let event = &both["events"][0];
    assert_eq!(samples(callees, "total"), event["callees"]["total"]["samples"].as_u64().expect("a number"));
    assert_eq!(event["samples"], 1309);
    let text = report(&["--callees", "foundry::v2::heap_phase", "--names", "full"]);
    for callee in callees {
        let (samples, name) = (&callee["total"]["samples"], callee["sym"].as_str().unwrap_or("(itself)"));
        assert!(text.lines().any(|line| line.contains(&format!("{samples}  {name}"))), "{callee} is not in {text}");
    }
    let one = json(&["--callers", "foundry::v2::heap_phase"]);
    assert!(one["callers"] == both["callers"] && one.get("callees").is_none(), "{one}");
    let limited = json(&["--callees", "main", "--limit", "2"]);
    assert_eq!(list(&limited, "callees").len(), 2);
    assert!(limited["events"][0]["callees"]["omitted"].as_u64() > Some(2), "{limited}");
}

#[test]
fn lines_have_samples_and_files() {
    let lines = json(&["--lines", "foundry::v2::local_phase"]);
    let entries = list(&lines, "lines");
    assert!(!entries.is_empty());
    for entry in entries {
        assert_eq!(entry["sym"], entries[0]["sym"]);
        assert_eq!(entry["file"], "/srv/sym/src/foundry.cpp");
        assert!(entry["line"].as_u64() > Some(0) && entry["total"]["samples"].as_u64() > Some(0), "{entry}");
    }
    let each = json(&["--list", "^foundry::v2::.*_phase"]);
    let names: std::collections::BTreeSet<_> = list(&each, "lines").iter().map(|line| line["sym"].as_str()).collect();
    assert!(names.len() > 3, "{names:?}");
}

#[test]
fn a_search_selects_functions() {
    let (all, some) = (json(&["--sort", "sym"]), json(&["--sort", "sym", "--search", "_phase$"]));
    let is_searched = |entry: &&Value| entry["sym"].as_str().is_some_and(|name| name.ends_with("_phase"));
    let expected: Vec<_> = list(&all, "entries").iter().filter(is_searched).collect();
    assert!(expected.len() > 2 && list(&some, "entries").iter().eq(expected), "{some}");
    assert_eq!(some["events"], all["events"]);
    let text = report(&["--search", "_phase$"]);
    assert!(text.contains("more entries that do not match, or are below the limit"), "{text}");
    let recording = crate::common::files::fixture("callgraph.data");
    let unnamed = run(perfconv().args(["report", "--search", "x", "--sort", "dso"]).arg(recording));
    assert!(unnamed.status == 1 && unnamed.stderr.contains("by sym only"), "{}", unnamed.stderr);
    let wrong = run(perfconv().args(["report", "--search", "["]).arg(crate::common::files::fixture("callgraph.data")));
    assert!(wrong.status == 1 && wrong.stderr.contains("'[' is no regular expression"), "{}", wrong.stderr);
}

/// The parts of a limited report are the whole one.
#[test]
fn parts_within_a_limit_follow_each_other() {
    for (args, name) in [
        (&["--sort", "sym,dso"][..], "entries"),
        (&["--symbol", "main"], "callees"),
        (&["--list", "."], "lines"),
        (&["--tree"], "lines"),
    ] {
        let whole = json(args);
        let (mut offset, mut parts) = (0, Vec::new());
        loop {
            let (max, from) = (1500, offset.to_string());
            let limited = report(&[&["--json", "--max-bytes", "1500", "--offset", &from], args].concat());
            assert!(limited.len() <= max, "{args:?}: {} bytes", limited.len());
            let part: Value = serde_json::from_str(&limited).expect("JSON");
            parts.extend(list(&part, name).iter().cloned());
            // A shorter list is repeated in no part.
            let Some(next) = part.get("next_offset").and_then(Value::as_u64) else { break };
            assert!(next > offset, "{part}");
            parts.truncate(next as usize);
            offset = next;
        }
        let names = |entries: &[Value]| -> Vec<Value> {
            // Long names are cut.
            let start = |entry: &Value| entry["sym"].as_str().map(|name| name.chars().take(20).collect::<String>());
            entries.iter().map(|entry| serde_json::json!([start(entry), entry["total"], entry["line"]])).collect()
        };
        assert!(parts.len() > 10, "{args:?}: {}", parts.len());
        assert_eq!(names(&parts), names(list(&whole, name)), "{args:?}");
    }
    let recording = crate::common::files::fixture("callgraph.data");
    for args in [&["--max-bytes", "4000"][..], &["--offset", "2"], &["--json", "--max-bytes", "10"]] {
        assert_eq!(run(perfconv().arg("report").arg(&recording).args(args)).status, 2, "{args:?}");
    }
    let page = succeed(perfconv().arg("report").arg(&recording).args(["--json", "--max-bytes", "4000", "-q"]));
    assert!(page.stdout.len() < 4000 && page.stdout.ends_with(b"\n"));
}
