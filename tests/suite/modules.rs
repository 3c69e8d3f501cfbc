//! The modules of each crate use each other only in the order of the table in the crate's front page.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The crates, each of which uses only those before it.
const CRATES: [&str; 3] = ["crates/perf-data", "crates/perf-symbols", "."];

#[test]
fn each_module_uses_only_those_above_it() {
    let (mut files, mut uses, mut violations) = (0, 0, Vec::new());
    for directory in CRATES {
        let directory = Path::new(ROOT).join(directory).join("src");
        let order = modules(&directory);
        for file in sources(&directory) {
            let path = file.strip_prefix(&directory).unwrap();
            let own = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
            let Some(position) = order.iter().position(|module| *module == own) else { continue };
            files += 1;
            for used in used_modules(&fs::read_to_string(&file).unwrap(), &order) {
                uses += 1;
                if order.iter().position(|module| *module == used) > Some(position) {
                    violations.push(format!("{} uses {used}", file.display()));
                }
            }
        }
        note!("{}: {} modules", directory.display(), order.len());
    }
    note!("{files} files, {uses} uses of other modules");
    assert!(files > 400 && uses > 1000, "{files} files, {uses} uses");
    assert!(violations.is_empty(), "{violations:#?}");
}

/// The modules of a crate, in the order of its front page, which lists all of them.
fn modules(directory: &Path) -> Vec<String> {
    let page = fs::read_to_string(directory.join("lib.rs")).unwrap();
    let (_, table) = page.split_once("//! # Modules").expect("a front page with modules");
    let rows = table.lines().filter_map(|line| line.strip_prefix("//! | `").or_else(|| line.strip_prefix("//! | [`")));
    let order: Vec<String> = rows.filter_map(|row| row.split('`').next()).map(str::to_owned).collect();
    let declared = page
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    let mut declared: Vec<&str> = declared.collect();
    let mut listed: Vec<&str> = order.iter().map(String::as_str).collect();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, declared, "the table of {} should list all modules", directory.display());
    order
}

/// The modules that a file uses as `crate::module`, outside of its tests.
fn used_modules<'a>(source: &str, modules: &'a [String]) -> Vec<&'a str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| line.split("crate::").skip(1));
    let name =
        |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
    names.map(name).filter_map(|name| modules.iter().find(|module| **module == name).map(String::as_str)).collect()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let sources = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => Vec::from_iter((path.extension() == Some("rs".as_ref())).then_some(path)),
    };
    entries.flat_map(sources).collect()
}
