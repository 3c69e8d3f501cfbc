//! The objects and recordings beside the repository, and a debuginfod server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};

/// The corpus, beside the repository.
pub(crate) fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols");
    let path = path.canonicalize().ok()?;
    path.join("addr").is_dir().then_some(path)
}

pub(crate) fn unpacked(path: &Path) -> Option<String> {
    let bytes = zstd::decode_all(fs::File::open(path).ok()?).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The addresses of a list.
pub(crate) fn addresses(path: &Path) -> Vec<u64> {
    let text = unpacked(path).unwrap();
    text.lines().map(|line| u64::from_str_radix(line.trim_start_matches("0x"), 16).unwrap()).collect()
}

/// The path at which an object of the corpus was recorded.
pub(crate) fn recorded_path(name: &str) -> PathBuf {
    let directory = if name.starts_with("libstdc++") { "/usr/lib/x86_64-linux-gnu" } else { "/srv/sym/bin" };
    Path::new(directory).join(name)
}

/// The text of perf script, without inlined functions, of a recording or an archive.
pub(crate) fn script(input: &Path, arguments: &[&std::ffi::OsStr], home: &Path) -> String {
    output_text(input, &[&["--no-inline".as_ref()], arguments].concat(), home)
}

/// The text of perf script of a recording or an archive.
pub(crate) fn output_text(input: &Path, arguments: &[&std::ffi::OsStr], home: &Path) -> String {
    let output = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(input)
        .args(["-q", "-f", "-t", "perf-script"])
        .args(arguments)
        .arg("-o")
        .arg(output.path())
        .env("HOME", home)
        .env_remove("XDG_CACHE_HOME")
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(output.path()).unwrap()
}

/// Stops downloads in the middle until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |is_open| !*is_open));
    }
}

/// A server of files by path, for a test. It sends a file in 50 parts, the second half when the gate is open, and runs until the
/// test ends.
#[cfg(feature = "debuginfod")]
pub(crate) fn serve(files: std::collections::HashMap<String, PathBuf>, gate: Option<Gate>) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (files, gate) = (Arc::clone(&files), gate.clone());
            // An interrupted download waits at the gate, while the next one begins.
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
                lines.find(String::is_empty);
                let (status, body) = match files.get(&path) {
                    Some(file) => ("200 OK", fs::read(file).unwrap()),
                    None => ("404 Not Found", Vec::new()),
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let parts = [head.as_bytes()].into_iter().chain(body.chunks(length / 50 + 1));
                for (number, part) in parts.enumerate() {
                    if let Some(gate) = gate.as_ref().filter(|_| number == 25) {
                        gate.wait();
                    }
                    if stream.write_all(part).is_err() {
                        break;
                    }
                }
            });
        }
    });
    url
}

/// The text and the messages of a conversion with this server, and an empty or a filled cache.
#[cfg(feature = "debuginfod")]
pub(crate) fn downloaded(recording: &Path, url: &str, cache: &Path) -> (String, String) {
    let output = tempfile::NamedTempFile::new().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(recording)
        .args(["-f", "-t", "perf-script", "--no-inline", &format!("--debuginfod={url}"), "-o"])
        .arg(output.path())
        .env("HOME", cache)
        .env("DEBUGINFOD_CACHE_PATH", cache)
        .env("DEBUGINFOD_TIMEOUT", "2")
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{messages}");
    (fs::read_to_string(output.path()).unwrap(), messages)
}

#[cfg(feature = "debuginfod")]
pub(crate) fn frames_of(text: &str, object: &str) -> usize {
    let end = format!("/bin/{object})");
    text.lines().filter(|line| line.contains("+0x") && line.contains(&end)).count()
}

/// A recording of a program, and the program.
#[cfg(feature = "debuginfod")]
pub(crate) fn mill() -> (PathBuf, PathBuf) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    (directory.join("c.data"), directory.join("files/srv/sym/bin/mill-fp"))
}
