//! The README shows what the program says.

use std::fs;

use super::files::fixture;
use super::program::{perfconv, run};

/// What the README shows, by the order in which it does.
fn shown(index: usize) -> String {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("there is a README.md");
    let block = readme.split("```text\n").nth(index + 1).expect("it shows what the program says");
    block.split("```").next().expect("it ends").to_owned()
}

#[test]
fn the_example_says_what_the_readme_shows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = perfconv();
    command.current_dir(folder.path()).arg(fixture("callgraph.data")).args(["-o", "callgraph.pb.gz", "-f", "-v"]);
    assert_eq!(run(&mut command).stderr, shown(0));
}

#[test]
fn a_recording_is_looked_into_as_the_readme_shows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(fixture("group-read.data"), folder.path().join("perf.data")).expect("a recording in the folder");
    let told = run(perfconv().current_dir(folder.path())).stdout;
    let told = String::from_utf8(told).expect("what is told is UTF-8");
    // The first line ends with the time of the file.
    let without_time = |text: &str| {
        text.split_once(", ")
            .map(|(start, rest)| (start.to_owned(), rest.split_once('\n').map_or("", |(_, rest)| rest).to_owned()))
    };
    let (told, _) = told.split_once("What next:").expect("it tells what to do next");
    assert_eq!(without_time(told), without_time(&shown(1)));
    let mut command = perfconv();
    command.arg("dump").arg(fixture("callgraph.data")).args(["--type", "SAMPLE", "--head", "1"]);
    assert_eq!(String::from_utf8(run(&mut command).stdout).expect("what is shown is UTF-8"), shown(2));
}
