//! `perfconv view` for the Firefox Profiler and speedscope, on chosen ports and addresses, and over ssh.

use crate::common::files::fixture;
use crate::common::html::{address, requested};
use crate::common::program::{perfconv, perfconv_with_signals, run};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// A running `perfconv view`.
struct Server {
    child: Child,
    directory: TempDir,
}

impl Server {
    fn new(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut command = perfconv_with_signals();
        command.arg("view").arg(fixture("callgraph.data")).args(["--no-open", "-q"]).args(args);
        command.env("TMPDIR", directory.path()).env_remove("SSH_CONNECTION").envs(variables.iter().copied());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("perfconv");
        Self { child, directory }
    }

    /// Ends the server; returns its messages.
    fn messages(mut self) -> String {
        assert_eq!(fs::read_dir(self.directory.path()).expect("the directory").count(), 0, "the profile is in memory");
        self.child.kill().expect("the end");
        self.child.wait().expect("the end");
        let mut messages = String::new();
        self.child.stderr.take().expect("standard error").read_to_string(&mut messages).expect("messages");
        messages
    }

    /// The first line that it prints.
    fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut output = self.child.stdout.take().expect("standard output");
        let mut byte = [0];
        while output.read(&mut byte).expect("a line") == 1 && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8(line).expect("UTF-8")
    }
}

/// Text with the percent signs of addresses decoded.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let byte = u8::from_str_radix(&part[..2], 16).expect("hexadecimal digits");
        text + &char::from(byte).to_string() + &part[2..]
    })
}

#[test]
fn profiles_are_served_to_their_viewer_only() {
    for (option, start, origin, key) in [
        ("--firefox", "https://profiler.firefox.com/from-url/", "https://profiler.firefox.com", "meta"),
        ("--speedscope", "https://www.speedscope.app/#profileURL=", "https://www.speedscope.app", "$schema"),
    ] {
        let mut server = Server::new(&[option], &[]);
        let line = server.line();
        let file = line.strip_prefix(start).unwrap_or_else(|| panic!("{line}"));
        assert!(file.chars().all(|c| c.is_ascii_alphanumeric() || "%.-_".contains(c)), "{file}");
        let file = decoded(file);
        let (host, path) = file.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
        assert!(host.starts_with("127.0.0.1:") && path.len() > 32, "{file}");
        let host_and_port = host;
        let request = |method: &str, path: &str, host: &str| {
            requested(host_and_port, &format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\r\n"))
        };
        let response = request("GET", path, host);
        let (header, body) = response.split_once("\r\n\r\n").expect("a header");
        let profile: Value = serde_json::from_str(body).expect("JSON");
        assert!(header.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{header}");
        assert!(header.contains(&format!("\r\nAccess-Control-Allow-Origin: {origin}\r\n")), "{header}");
        assert!(!profile[key].is_null(), "{option}: it is of another format");
        let asked = request("OPTIONS", path, host);
        assert!(asked.starts_with("HTTP/1.1 204 No Content\r\n"), "{asked}");
        assert!(asked.contains("\r\nAccess-Control-Allow-Private-Network: true\r\n"), "{asked}");
        for refused in [request("GET", "profile.json", host), request("GET", path, "attacker.example:80")] {
            let is_refused = refused.starts_with("HTTP/1.1 404") && !refused.contains("Access-Control");
            assert!(is_refused, "{refused}");
        }
        let messages = server.messages();
        assert!(messages.contains("serving the profile to this machine; press Ctrl-C to end"), "{messages}");
    }
}

#[test]
fn a_page_has_no_other_origin() {
    let mut server = Server::new(&["--serve"], &[]);
    let (host, path) = address(&mut server.child);
    let page = requested(&host, &format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(page.contains("<!DOCTYPE html>") && !page.contains("Access-Control"), "{page:.300}");
    let options = requested(&host, &format!("OPTIONS /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(options.starts_with("HTTP/1.1 404"), "{options}");
    drop(server.messages());
}

#[test]
fn the_port_is_the_chosen_one_and_ssh_forwards_it() {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("a free port").port();
    let session = ("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 2222");
    let mut server = Server::new(&["--port", &port.to_string()], &[session, ("USER", "dev")]);
    let (host, path) = address(&mut server.child);
    assert_eq!(host, format!("127.0.0.1:{port}"));
    // A browser at the other end of ssh.
    let local = format!("localhost:{port}");
    let page = requested(&host, &format!("GET /{path} HTTP/1.1\r\nHost: {local}\r\n\r\n"));
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page:.300}");
    let mut command = perfconv();
    command.arg("view").arg(fixture("callgraph.data")).args(["--no-open", "-q", "--port", &port.to_string()]);
    let taken = run(&mut command);
    assert!(taken.status == 1 && taken.stderr.contains(&format!("on 127.0.0.1:{port}: ")), "{}", taken.stderr);
    let messages = server.messages();
    let command = format!("ssh -N -L {port}:127.0.0.1:{port} -p 2222 dev@192.0.2.2\n");
    assert!(messages.contains(&command) && !messages.contains("warning"), "{messages}");
}

#[test]
fn other_machines_are_warned_of() {
    let mut server = Server::new(&["--bind", "0.0.0.0"], &[]);
    let (host, path) = address(&mut server.child);
    let port = host.rsplit_once(':').expect("a port").1;
    let page = requested(
        &format!("127.0.0.1:{port}"),
        &format!("GET /{path} HTTP/1.1\r\nHost: any.name.example:{port}\r\n\r\n"),
    );
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page:.300}");
    let messages = server.messages();
    assert!(messages.contains("perfconv: warning: other machines can reach 0.0.0.0: "), "{messages}");
    let mut command = perfconv();
    command.arg("view").arg(fixture("callgraph.data")).args(["--no-open", "-q", "--bind", "0.0.0.0", "--firefox"]);
    let run = run(&mut command);
    assert!(run.status == 2 && run.stderr.contains("cannot be used with"), "{}", run.stderr);
}
