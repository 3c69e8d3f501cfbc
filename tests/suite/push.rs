//! `perfconv push`: what servers receive, and what the program makes of their answers.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run};
use crate::common::push::convert;
use flate2::read::MultiGzDecoder;
use perfconv::Recording;
use perfconv::formats::pprof::proto::Profile;
use perfconv::synth::Event;
use prost::Message;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A request.
struct Received {
    path: String,
    /// By name in lower case.
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// A server that gives one answer after the other.
struct Server {
    address: String,
    received: Receiver<Received>,
}

impl Server {
    fn new(answers: &[&[u8]]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let answers: Vec<Vec<u8>> = answers.iter().map(|answer| answer.to_vec()).collect();
        let (sender, received) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                // Before the answer, after which the program ends and the test reads the requests.
                if sender.send(receive(&stream)).is_err() {
                    break;
                }
                stream.write_all(&answer).expect("the answer should be read");
            }
        });
        Self { address, received }
    }

    /// The requests so far.
    fn requests(&self) -> Vec<Received> {
        self.received.try_iter().collect()
    }
}

fn receive(stream: &TcpStream) -> Received {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    };
    let path = line().split(' ').nth(1).expect("a path").to_owned();
    let headers: BTreeMap<_, _> = std::iter::repeat_with(line)
        .take_while(|line| !line.is_empty())
        .map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())).expect("a header")
        })
        .collect();
    let mut body = vec![0; headers["content-length"].parse().expect("a length")];
    reader.read_exact(&mut body).expect("the body");
    Received { path, headers, body }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn push(server: &str, address: &str, input: &Path, args: &[&str]) -> Run {
    let mut command = perfconv();
    command.args(["push", server, address]).arg(input).args(["--service-name", "checkout", "--symbols", "no"]);
    run(command.args(args))
}

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut inflated = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut inflated).expect("gzip");
    inflated
}

/// The content of a field with a length, without its number and length; fails if the message begins with another field.
fn field(message: &mut &[u8], number: u32) -> Vec<u8> {
    let (found, _) = prost::encoding::decode_key(message).expect("a field");
    assert_eq!(found, number);
    let len = prost::encoding::decode_varint(message).expect("a length") as usize;
    let (content, rest) = message.split_at(len);
    *message = rest;
    content.to_vec()
}

/// The labels and the profile of a series.
fn series(mut series: &[u8], has_label_set: bool) -> (BTreeMap<String, String>, Profile) {
    let set = if has_label_set { field(&mut series, 1) } else { series.to_vec() };
    let (mut labels, mut left) = (BTreeMap::new(), &set[..]);
    while left.first() == Some(&0x0a) {
        let label = field(&mut left, 1);
        let mut label = &label[..];
        let [name, value] = [1, 2].map(|number| String::from_utf8(field(&mut label, number)).expect("text"));
        labels.insert(name, value);
    }
    let mut sample = if has_label_set { series } else { left };
    let sample = field(&mut sample, 2);
    let profile = Profile::decode(&*inflated(&field(&mut &sample[..], 1))).expect("a profile");
    (labels, profile)
}

const LABELS: [(&str, &str); 3] = [("__name__", "process_cpu"), ("env", "a=b"), ("service_name", "checkout")];

/// Checks labels, and that a profile is that of a file, with the current time.
fn check(labels: &BTreeMap<String, String>, profile: Profile, input: &Path) {
    let expected = LABELS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(*labels, BTreeMap::from(expected));
    let file = Profile::decode(&*inflated(&convert(input, "out.pb.gz", &[]))).expect("a profile");
    assert_eq!(file.time_nanos, 0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970").as_nanos() as i64;
    assert!((now - 120_000_000_000..=now).contains(&profile.time_nanos), "{}", profile.time_nanos);
    assert!(profile.sample.len() > 20);
    assert_eq!(Profile { time_nanos: 0, ..profile }, file);
}

#[test]
fn pyroscope_receives_a_profile_with_labels() {
    let server = Server::new(&[&answer("200 OK", "", b"")]);
    let input = fixture("callgraph.data");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), "Authorization: Bearer token\nX-Scope-OrgID: team\n").expect("a file");
    let headers = format!("@{}", file.path().display());
    let run =
        push("pyroscope", &format!("{}/base/", server.address), &input, &["--label", "env=a=b", "--header", &headers]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains(&format!("{}/base/: 377 samples in, 377 out, 0 dropped", server.address)),
        "{}",
        run.stderr
    );
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.path, "/base/push.v1.PusherService/Push");
    let header = |name: &str| &*request.headers[name];
    assert_eq!([header("content-type"), header("x-scope-orgid")], ["application/proto", "team"]);
    assert_eq!(header("authorization"), "Bearer token");
    let (labels, profile) = series(&field(&mut &request.body[..], 1), false);
    check(&labels, profile, &input);
}

#[test]
fn parca_receives_a_profile_by_grpc_web() {
    let trailers = b"grpc-status:0\r\n";
    let body = [&[0, 0, 0, 0, 0, 0x80, 0, 0, 0, trailers.len() as u8][..], trailers].concat();
    let refused = answer("200 OK", "grpc-status: 3\r\ngrpc-message: no%20such tenant\r\n", b"");
    let server = Server::new(&[&answer("200 OK", "", &body), &refused, &answer("200 OK", "", b"<html>")]);
    let input = fixture("callgraph.data");
    let push = || push("parca", &server.address, &input, &["--label", "env=a=b"]);
    let run = push();
    assert_eq!(run.status, 0, "{}", run.stderr);
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.path, "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw");
    assert_eq!(request.headers["content-type"], "application/grpc-web+proto");
    let (head, mut message) = request.body.split_at(5);
    assert_eq!(head, [&[0][..], &(message.len() as u32).to_be_bytes()].concat());
    let (labels, profile) = series(&field(&mut message, 2), true);
    check(&labels, profile, &input);
    for expected in ["gRPC status 3: no such tenant", "is this the address of Parca?"] {
        let run = push();
        assert!(run.status == 1 && run.stderr.contains(expected), "{}", run.stderr);
    }
}

#[test]
fn otlp_receivers_get_the_profile_of_the_format() {
    let rejected = [0x0a, 8, 0x08, 2, 0x12, 4, b'f', b'u', b'l', b'l'];
    let warning = [0x0a, 6, 0x12, 4, b's', b'l', b'o', b'w'];
    let answers = [&b""[..], &warning, &rejected].map(|body| answer("200 OK", "", body));
    let server = Server::new(&answers.each_ref().map(Vec::as_slice));
    let input = fixture("callgraph.data");
    let push = || push("otlp", &server.address, &input, &["--label", "env=a=b", "--timestamps", "--comm", "loop-pie"]);
    let run = push();
    assert_eq!(run.status, 0, "{}", run.stderr);
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.path, "/v1development/profiles");
    assert_eq!(
        [&*request.headers["content-type"], &*request.headers["content-encoding"]],
        ["application/x-protobuf", "gzip"]
    );
    let options =
        ["--service-name", "checkout", "--resource-attribute", "env=a=b", "--timestamps", "--comm", "loop-pie"];
    let sent = inflated(&request.body);
    assert_eq!(sent, convert(&input, "out.otlp", &options));
    let run = push();
    assert!(run.status == 0 && run.stderr.contains("warning: ") && run.stderr.contains(": slow"), "{}", run.stderr);
    let run = push();
    assert!(run.status == 1 && run.stderr.contains("2 profiles rejected: full"), "{}", run.stderr);
}

#[test]
fn requests_are_repeated_only_if_that_may_help() {
    let input = fixture("callgraph.data");
    let busy = answer("503 Service Unavailable", "Retry-After: 0\r\n", b"");
    let server = Server::new(&[&busy, &answer("429 Too Many Requests", "", b""), &answer("200 OK", "", b"")]);
    let run = push("pyroscope", &server.address, &input, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("the server answered 503 Service Unavailable; trying again in 0 s"), "{}", run.stderr);
    assert!(run.stderr.contains("429 Too Many Requests; trying again in 2 s"), "{}", run.stderr);
    let requests = server.requests();
    assert!(requests.len() == 3 && requests.iter().all(|request| request.body == requests[0].body));

    let server = Server::new(&[&busy, &busy]);
    let run = push("pyroscope", &server.address, &input, &["--retries", "1"]);
    assert!(run.status == 1 && run.stderr.ends_with("503 Service Unavailable\n"), "{}", run.stderr);

    let moved = answer("302 Found", "Location: https://other/x\r\n", b"");
    let cases = [
        (answer("401 Unauthorized", "", b"no \x1b[31mtoken\n"), "401 Unauthorized: no \\u{1b}[31mtoken"),
        (moved, "302 Found: use https://other/x as the address"),
        (answer("404 Not Found", "", &[b'x'; 5000]), "404 Not Found: xxx"),
    ];
    for (answer, expected) in cases {
        let server = Server::new(&[&answer]);
        let run = push("pyroscope", &server.address, &input, &[]);
        assert!(run.status == 1 && run.stderr.contains(expected), "{}", run.stderr);
        assert!(run.stderr.len() < 1000, "{}", run.stderr);
    }
    // Nobody listens there.
    let address = Server::new(&[]).address;
    let run = push("pyroscope", &address, &input, &["--retries", "1", "-q"]);
    assert!(run.status == 1 && run.stderr.contains("refused"), "{}", run.stderr);
}

#[test]
fn nothing_is_sent_without_a_valid_profile() {
    let server = Server::new(&[&answer("200 OK", "", b"")]);
    let (input, url) = (fixture("callgraph.data"), &*server.address);
    let missing = Path::new("/nonexistent/perf.data");
    let mut without_samples = Recording::builder();
    without_samples.event(Event::named("cycles").expect("an event"));
    let empty = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(empty.path(), without_samples.to_bytes().expect("a recording")).expect("a file");
    let cases: [(&str, &Path, &[&str], i32, &str); 6] = [
        (url, empty.path(), &[], 1, "not sent: the recording has no samples"),
        (url, missing, &[], 1, "No such file"),
        ("localhost:4040", &input, &[], 2, "does not begin with http:// or https://"),
        (url, &input, &["--label", "env"], 2, "expected NAME=VALUE"),
        (url, &input, &["--header", "secret"], 2, "--header: expected NAME: VALUE"),
        (url, &input, &["--timestamps"], 2, "--timestamps applies to"),
    ];
    for (address, input, args, status, message) in cases {
        let run = push("pyroscope", address, input, args);
        assert!(run.status == status && run.stderr.contains(message), "{args:?}: {} {}", run.status, run.stderr);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
    let run = run(perfconv().args(["push", "parca", url]).arg(&input));
    assert!(run.status == 2 && run.stderr.contains("--service-name"), "{}", run.stderr);
    assert!(server.requests().is_empty());
}
