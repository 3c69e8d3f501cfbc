//! Profiles in the format of Callgrind.

use crate::common::callgrind::{convert, report};
use std::collections::BTreeMap;
use std::path::Path;

/// The first cost of each function with that of its calls, by object, source file and name.
fn inclusive_costs(text: &str) -> BTreeMap<[String; 3], u64> {
    let mut names: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut place = ["", "", ""];
    let mut costs = BTreeMap::new();
    for line in text.lines().skip_while(|line| !line.starts_with("summary: ")).skip(1) {
        let Some((key, value)) = line.split_once('=') else {
            if let Some(cost) = line.split(' ').nth(1) {
                *costs.entry(place.map(str::to_owned)).or_default() += cost.parse::<u64>().expect("a cost");
            }
            continue;
        };
        // (NUMBER) NAME, or (NUMBER) of a known name.
        let kind = ["ob", "fl", "fn"].into_iter().position(|kind| key.trim_start_matches('c') == kind);
        let kind = kind.or((key == "cfi").then_some(1));
        let Some(kind) = kind else { continue };
        let (number, name) = value.split_once(") ").unwrap_or((value.trim_end_matches(')'), ""));
        let kinds = ["ob", "fl", "fn"];
        let name = if name.is_empty() { names[&(kinds[kind], number)] } else { name };
        names.insert((kinds[kind], number), name);
        if !key.starts_with('c') {
            place[kind] = name;
        }
    }
    costs
}

#[test]
fn own_costs_and_those_of_calls_are_inclusive_costs() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.callgrind");
    let mut compared = 0;
    for name in ["words.data", "cxx.data", "c.data", "dwarf.data", "both.data"] {
        let files = symbols.join("files").display().to_string();
        let costs = inclusive_costs(&convert(&symbols.join(name), &output, &["--symfs", &files]).expect("a profile"));
        let report = report(&symbols.join(name), &files);
        for entry in &report {
            let field = |name: &str| entry[name].as_str().filter(|text| !text.is_empty()).unwrap_or("???").to_owned();
            let cost = costs.get(&[field("dso"), field("srcfile"), field("sym")]).copied();
            assert_eq!(cost, entry["total"]["value"].as_u64(), "{name}: {entry}");
        }
        assert_eq!(costs.len(), report.len(), "{name}");
        compared += report.len();
    }
    note!("callgrind: {compared} inclusive costs are those of the report");
    assert!(compared > 80, "{compared}");
}
