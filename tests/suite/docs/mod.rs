//! README.md and the pages in docs/: their commands, links and images.

mod links;

use crate::common::docs::page::{Page, Part};
use crate::common::docs::tools::Tools;
use crate::common::docs::{ROOT, is_update, pages, run_pages};
use crate::common::oracle::is_on_path;
use crate::common::program::{perfconv, succeed};
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// At least as many commands are executed and compared, although those that need other programs are not.
const MIN_EXECUTED: usize = 115;
const MIN_COMPARED: usize = 110;

#[test]
fn documented_commands_print_what_the_pages_show() {
    if !is_on_path("bash") {
        return note!("skipped: bash, which executes the commands, is missing");
    }
    let (executed, compared) = run_pages(&Tools::new(false));
    assert!(executed >= MIN_EXECUTED, "only {executed} commands executed, at least {MIN_EXECUTED} expected");
    assert!(compared >= MIN_COMPARED, "only {compared} outputs compared, at least {MIN_COMPARED} expected");
}

#[test]
fn links_of_the_pages_lead_somewhere() {
    let broken: Vec<_> = pages().iter().flat_map(|name| links::broken(name)).collect();
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn readme_has_at_most_150_lines() {
    let lines = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("README.md is readable").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn terminal_capture_is_current() {
    if !is_on_path("bash") {
        return note!("skipped: bash, which executes the commands, is missing");
    }
    let tools = Tools::new(false);
    let mut script = tools.bash(Path::new(ROOT), "bash docs/capture.sh");
    let output = script.stderr(Stdio::inherit()).output().expect("bash runs");
    assert!(output.status.success(), "docs/capture.sh fails");
    let path = Path::new(ROOT).join("docs/capture.svg");
    if is_update() {
        fs::write(&path, &output.stdout).expect("docs/capture.svg is writable");
    }
    let current = fs::read(&path).expect("docs/capture.svg is readable");
    assert!(
        current == output.stdout,
        "docs/capture.svg differs from what docs/capture.sh prints; PERFCONV_UPDATE_DOCS=1 writes it"
    );
}

#[test]
fn flame_graph_is_current() {
    let symbols = Path::new(ROOT).join("roundtrip/symbols");
    let image = succeed(perfconv().arg(symbols.join("words.data")).arg("--symfs").arg(symbols.join("files")).args([
        "-t",
        "flamegraph",
        "--title",
        "Counting words",
        "--width",
        "1000",
        "-q",
    ]));
    let path = Path::new(ROOT).join("docs/flamegraph.svg");
    if is_update() {
        fs::write(&path, &image.stdout).expect("docs/flamegraph.svg is writable");
    }
    let current = fs::read(&path).expect("docs/flamegraph.svg is readable");
    assert!(current == image.stdout, "docs/flamegraph.svg is not current; PERFCONV_UPDATE_DOCS=1 writes it");
}

#[test]
fn rejects_blocks_that_cannot_be_parsed() {
    let cases = [
        ("```console\nperfconv\n```\n", "no command"),
        ("```sh\nperfconv\n```\n", "```console"),
        ("```console nonsense\n$ perfconv\n```\n", "unknown word"),
        ("```console\n$ perfconv\n", "not closed"),
        ("<!-- setup\ntrue\n", "not closed"),
        ("```console\n$ a \\\n```\n", "not continued"),
        ("```console\n$ a\n...\nb\n...\n```\n", "more than one"),
        ("```console\n```\n", "no command"),
    ];
    for (text, expected) in cases {
        let error = Page::parse("page.md", text).expect_err(text);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn writes_outputs_in_place() {
    let text = "````text\n```console\n```\n````\na\n```console\n$ x\nold\n\n$ y\nfirst\n...\nlast\n```\nb\n";
    let mut page = Page::parse("page.md", text).unwrap();
    assert_eq!(page.to_text(), text);
    let Part::Block(block) = &mut page.parts[1] else { panic!("no block") };
    assert!(block.commands[1].matches("first\nin between\nlast\n"));
    assert!(!block.commands[1].matches("first\n"));
    block.commands[0].replace_output("new\n");
    block.commands[1].replace_output("1\n2\n3\n4\n");
    let expected = "````text\n```console\n```\n````\na\n```console\n$ x\nnew\n\n$ y\n1\n...\n4\n```\nb\n";
    assert_eq!(page.to_text(), expected);
}
