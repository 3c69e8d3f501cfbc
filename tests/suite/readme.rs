//! The README shows what the program says.

use std::fs;

use super::files::fixture;
use super::program::{perfconv, run};

#[test]
fn the_example_says_what_the_readme_shows() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("there is a README.md");
    let (_, shown) = readme.split_once("```text\n").expect("it shows what the program says");
    let (shown, _) = shown.split_once("```").expect("it ends");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = perfconv();
    command.current_dir(folder.path()).arg(fixture("callgraph.data")).args(["-o", "callgraph.pb.gz", "-f", "-v"]);
    assert_eq!(run(&mut command).stderr, shown);
}
