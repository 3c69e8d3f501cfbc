//! Whether the modules use each other in the order that the front page of the library gives.

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
    assert_eq!(listed, declared, "the page lists other modules than there are");

    let (mut files, mut uses, mut wrong) = (0, 0, Vec::new());
    for file in sources(&Path::new(ROOT).join("src")) {
        let path = file.strip_prefix(Path::new(ROOT).join("src")).unwrap();
        let own = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(place) = order.iter().position(|module| *module == own) else { continue };
        files += 1;
        for used in used_modules(&fs::read_to_string(&file).unwrap(), &order) {
            uses += 1;
            if order.iter().position(|module| *module == used) > Some(place) {
                wrong.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    println!("{files} files of {} modules name others {uses} times", order.len());
    assert!(files > 400 && uses > 1000, "{files} files, {uses} uses");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules that a file names as `crate::module`, but in its tests.
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
