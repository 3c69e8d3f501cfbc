//! Pages, the samples that they contain, and servers of pages.

use crate::common::program::{perfconv, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;

pub(crate) fn symbols() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols")
}

/// Writes a page of a recording.
pub(crate) fn page(recording: &Path, page: &Path, args: &[&str]) {
    let mut command = perfconv();
    command.arg(recording).arg("--symfs").arg(symbols().join("files")).arg("-o").arg(page).args(["-f", "-q"]);
    let run = run(command.args(args).env("HOME", "/nonexistent"));
    assert_eq!((run.status, &*run.stderr), (0, ""), "{}", recording.display());
}

/// The functions of a report with these arguments, with their own and total values.
pub(crate) fn reported(recording: &Path, args: &[&str]) -> Vec<(String, u64, u64)> {
    let mut command = perfconv();
    command
        .arg("report")
        .arg(recording)
        .arg("--symfs")
        .arg(symbols().join("files"))
        .args(["--json", "-q", "--sort", "sym,dso"])
        .args(args);
    let run = run(command.env("HOME", "/nonexistent"));
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let number = |entry: &Value, of: &str| entry[of]["value"].as_u64().expect("a number");
    let entries = report["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| {
            (entry["sym"].as_str().unwrap_or_default().to_owned(), number(entry, "self"), number(entry, "total"))
        })
        .collect()
}

/// The host and the path of the page that a server prints.
pub(crate) fn address(server: &mut Child) -> (String, String) {
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("standard output")).read_line(&mut address).expect("an address");
    let (host, path) = address.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect(&address);
    (host.to_owned(), path.to_owned())
}

/// The response to a request.
pub(crate) fn requested(host: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(host).expect("a connection");
    connection.write_all(request.as_bytes()).expect("a request");
    let mut response = String::new();
    connection.read_to_string(&mut response).expect("a response");
    response
}
