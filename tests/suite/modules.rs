//! Modules use each other only in the order of the table in the library's front page.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn each_module_uses_only_those_above_it() {
    let page = fs::read_to_string(Path::new(ROOT).join("src/lib.rs")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("//! | `").or_else(|| line.strip_prefix("//! | [`")));
    let order: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let declared = page
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    let mut declared: Vec<&str> = declared.collect();
    let mut listed = order.clone();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, declared, "the table should list all modules");

    let (mut files, mut uses, mut violations) = (0, 0, Vec::new());
    for file in sources(&Path::new(ROOT).join("src")) {
        let path = file.strip_prefix(Path::new(ROOT).join("src")).unwrap();
        let own = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(position) = order.iter().position(|module| *module == own) else { continue };
        files += 1;
        for used in used_modules(&fs::read_to_string(&file).unwrap(), &order) {
            uses += 1;
            if order.iter().position(|module| *module == used) > Some(position) {
                violations.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    println!("{files} files of {} modules, {uses} uses of other modules", order.len());
    assert!(files > 400 && uses > 1000, "{files} files, {uses} uses");
    assert!(violations.is_empty(), "{violations:#?}");
}

/// The modules that a file uses as `crate::module`, outside of its tests.
fn used_modules<'a>(source: &str, modules: &[&'a str]) -> Vec<&'a str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| line.split("crate::").skip(1));
    let name =
        |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
    names.map(name).filter_map(|name| modules.iter().find(|module| **module == name).copied()).collect()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let sources = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => Vec::from_iter((path.extension() == Some("rs".as_ref())).then_some(path)),
    };
    entries.flat_map(sources).collect()
}
