//! Pages: their contents, and the server of `perfconv view`.

use crate::common::files;
use crate::common::html::{address, page, requested, symbols};
use crate::common::program::{perfconv, perfconv_with_signals, run, succeed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

/// The page needs the times and threads of samples, whichever labels are selected.
#[test]
fn labels_do_not_change_what_the_page_shows() {
    let directory = tempfile::tempdir().unwrap();
    let written = |name: &str, args: &[&str]| {
        let path = directory.path().join(name);
        page(&symbols().join("words.data"), &path, args);
        fs::read(path).unwrap()
    };
    let plain = written("plain.html", &[]);
    for labels in ["pid", "comm,execution_mode", "none"] {
        assert_eq!(written("labels.html", &["--labels", labels]).len(), plain.len(), "{labels}");
    }
}

/// Code is in a page on request only, and never in one that is anonymized.
#[test]
fn pages_contain_code_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let written = |name: &str, args: &[&str]| {
        let path = directory.path().join(name);
        page(&symbols().join("words.data"), &path, args);
        decoded(&fs::read_to_string(path).unwrap())
    };
    let plain = written("plain.html", &[]);
    assert!(!plain.contains("movzbl") && !plain.contains("\"code\":"));
    let source = format!("/opt/words={}", symbols().join("files/opt/words").display());
    let [code, lines, both] = ["code", "source", "source,code"]
        .map(|parts| written("code.html", &["--embed", parts, "--source-dir", &source]));
    let has = |page: &str| (page.contains("movzbl (%rbx,%rcx),%esi"), page.contains("struct word *slot = find(word"));
    assert_eq!([&code, &lines, &both].map(|page| has(page)), [(true, false), (false, true), (true, true)]);
    // Debug information names the sources below the directory of --symfs, too.
    assert!(has(&written("symfs.html", &["--embed", "source"])).1);

    let path = directory.path().join("none.html");
    let mut command = perfconv();
    command.arg(symbols().join("words.data")).arg("-o").arg(&path).args(["--embed", "source", "--anonymize", "-q"]);
    let run = run(&mut command);
    assert!(run.status == 1 && run.stderr.contains("anonymized") && !path.exists(), "{}", run.stderr);
    let hidden = directory.path().join("hidden.data");
    succeed(
        perfconv().arg("rewrite").arg(symbols().join("words.data")).arg("-o").arg(&hidden).args(["--anonymize", "-q"]),
    );
    page(&hidden, &path, &["--embed", "source,code"]);
    assert_eq!(has(&decoded(&fs::read_to_string(&path).unwrap())), (false, false));
}

/// The data of a page, as far as it is text.
fn decoded(page: &str) -> String {
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let mut bytes = Vec::new();
    let compressed = STANDARD.decode(data).expect("Base64");
    ZlibDecoder::new(&compressed[..]).read_to_end(&mut bytes).expect("compressed data");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn recordings_in_archives_are_compared() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let recordings = ["cxx.data", "c.data"].map(|name| symbols().join(name));
    let archives = ["cxx.tar.zst", "c.tar.zst"].map(at);
    for (recording, archive) in recordings.iter().zip(&archives) {
        let mut command = perfconv();
        command.arg("archive").arg(recording).arg("--symfs").arg(symbols().join("files")).arg("-o").arg(archive);
        succeed(command.arg("-q").env("HOME", "/nonexistent"));
    }
    let convert = |input: &Path, base: &Path, output: &str, args: &[&str]| {
        let mut command = perfconv();
        command.arg(input).arg("--diff").arg(base).arg("-o").arg(at(output)).args(["-f", "-q"]).args(args);
        let run = run(command.env("HOME", "/nonexistent"));
        assert_eq!((run.status, &*run.stderr), (0, ""), "{}", base.display());
        fs::read(at(output)).expect("an output")
    };
    let files = symbols().join("files").display().to_string();
    // No files of this machine, which may run the recorded kernel.
    let no_files = ["--symfs", &directory.path().display().to_string()];
    for output in ["page.html", "flame.svg"] {
        let expected = convert(&recordings[0], &recordings[1], output, &["--symfs", &files]);
        assert!(expected != convert(&recordings[0], &recordings[1], output, &[]), "{output}: files have functions");
        let with_archive = convert(&recordings[0], &archives[1], output, &["--symfs", &files]);
        // A page names the file that the recording is compared with.
        assert!(output == "page.html" || expected == with_archive, "{output}: base");
        assert!(
            with_archive == convert(&archives[0], &archives[1], output, &no_files),
            "{output}: each has its own objects"
        );
    }

    fs::write(at("broken.tar.zst"), &fs::read(&archives[1]).expect("an archive")[..1000]).expect("half an archive");
    let mut command = perfconv();
    command.arg(&recordings[0]).arg("--diff").arg(at("broken.tar.zst")).arg("-o").arg(at("none.html"));
    let run = run(command.arg("-q"));
    let message = run.failure().expect("a failure");
    assert!(message.contains("broken.tar.zst: ") && !at("none.html").exists(), "{message}");
}

#[test]
fn view_prints_the_address_of_a_page() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = perfconv();
    command.arg("view").arg(files::fixture("callgraph.data")).args(["--no-open", "-q"]);
    let run = run(command.env("TMPDIR", directory.path()));
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    let path = printed.trim_end().strip_prefix("file://").unwrap_or_default();
    assert!(path.starts_with(&directory.path().display().to_string()), "{printed} {}", run.stderr);
    assert!(fs::read_to_string(path).expect("a page").starts_with("<!DOCTYPE html>"));
}

#[test]
fn view_serves_a_page_to_browsers_of_this_machine() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // The signal at the end must reach the server.
    let mut command = perfconv_with_signals();
    command.arg("view").arg(files::fixture("callgraph.data")).args(["--serve", "--no-open", "-q"]);
    let mut server = command.env("TMPDIR", directory.path()).stdout(Stdio::piped()).spawn().expect("perfconv");
    let (host, path) = address(&mut server);
    let response = |request: &str| {
        let mut connection = TcpStream::connect(&host).expect("a connection");
        // One that sends nothing keeps no other waiting.
        let _silent = TcpStream::connect(&host).expect("a connection");
        connection.write_all(request.as_bytes()).expect("a request");
        let mut response = String::new();
        connection.read_to_string(&mut response).expect("a response");
        response
    };
    let page = response(&format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let body = page.split_once("\r\n\r\n").expect("a header").1;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && body.starts_with("<!DOCTYPE html>"), "{page:.100}");
    assert!(page.contains(&format!("Content-Length: {}\r\n", body.len())));
    for request in ["GET / HTTP/1.1\r\n\r\n", &format!("POST /{path} HTTP/1.1\r\n\r\n"), "\r\n\r\n"] {
        assert!(response(request).starts_with("HTTP/1.1 404 Not Found\r\n"), "{request}");
    }
    assert!(host.starts_with("127.0.0.1:") && path.len() > 32, "{host}/{path}");
    assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 0, "the page is in memory");
    server.kill().expect("the end");
    server.wait().expect("the end");
}

/// More idle connections than the server may open files, and requests of pages of other sites, whose names lead to this machine.
#[test]
fn the_server_survives_idle_connections_and_refuses_other_hosts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = files::fixture("callgraph.data");
    let script = format!(
        "ulimit -n 40; exec {} view {} --serve --no-open -q",
        env!("CARGO_BIN_EXE_perfconv"),
        recording.display()
    );
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal", "sh", "-c", &script]).env("TMPDIR", directory.path());
    let mut server = command.stdout(Stdio::piped()).spawn().expect("perfconv");
    let (host, path) = address(&mut server);
    let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(&host).expect("a connection")).collect();
    for request in 0..5 {
        let page = requested(&host, &format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{request}: {page:.100}");
    }
    drop(idle);
    for other in ["attacker.example", "127.0.0.1", "attacker.example:80", "localhost.attacker.example"] {
        let refused = requested(&host, &format!("GET /{path} HTTP/1.1\r\nHost: {other}\r\n\r\n"));
        assert!(!refused.contains("200 OK") && !refused.contains("<!DOCTYPE"), "{other}: {refused:.100}");
    }
    assert_eq!(server.try_wait().expect("a process"), None, "the server has ended");
    server.kill().expect("the end");
    server.wait().expect("the end");
}

/// All users can read the arguments of a browser, so they do not contain the address of the page.
#[test]
fn the_address_of_a_served_page_is_in_no_argument() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (opener, opened) = (directory.path().join("xdg-open"), directory.path().join("opened"));
    fs::write(&opener, format!("#!/bin/sh\necho \"$@\" > {0}.new && mv {0}.new {0}\n", opened.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = perfconv_with_signals();
    command.arg("view").arg(files::fixture("callgraph.data")).args(["--serve", "-q"]).env("TMPDIR", directory.path());
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut server = command.env("PATH", path).stdout(Stdio::piped()).spawn().expect("perfconv");
    let mut attempts = 0..3000;
    let arguments = loop {
        if let Ok(arguments) = fs::read_to_string(&opened) {
            break arguments;
        }
        assert_eq!(server.try_wait().expect("a process"), None, "the server has ended");
        attempts.next().expect("the page should be opened");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let file = arguments.trim().strip_prefix("file://").unwrap_or_else(|| panic!("{arguments}"));
    let redirect = fs::read_to_string(file).unwrap();
    let (_, secret) = redirect.split_once("http://127.0.0.1:").unwrap_or_else(|| panic!("{redirect}"));
    let secret = secret.split('/').nth(1).unwrap();
    assert!(secret.len() >= 32 && !arguments.contains(secret), "{arguments}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o077, 0);
    server.kill().expect("the end");
    server.wait().expect("the end");
}
