//! `perfconv mcp`: answers questions of an agent about recordings, over standard input and output, by the Model Context Protocol.
//!
//! A question is answered by `perfconv report` in a process of its own: its JSON, in a limited size. So answers are those of the
//! command line, and a damaged recording ends one answer, not the server.
//!
//! * `protocol`: messages of JSON-RPC.
//! * `tools`: the questions.
//! * `readable`: which files may be read.

mod protocol;
mod readable;
mod tools;

use super::args::McpArgs;
use super::failure::Failure;
use super::output;
use protocol::{Code, Message, Problem, Request};
use readable::Readable;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, Read};
use std::process::ExitCode;

/// Versions of the protocol; the first one is answered to a client that asks for another.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Number of bytes of the longest message of a client.
const MAX_MESSAGE: u64 = 1 << 20;

/// How clients should use the tools.
const INSTRUCTIONS: &str = "Profiles of programs, recorded with Linux perf. Begin with summary. Answers are JSON of a limited size: \
    if one has next_offset, ask again with this offset for what follows. Samples in a function itself are in self, those in it or \
    in what it calls in total.";

/// A server and what it may read.
struct Server {
    readable: Readable,
    options: Vec<OsString>,
}

/// Answers messages until standard input ends.
///
/// # Errors
/// If a file that is named does not exist, an option after `--` is invalid, or standard input and output fail.
pub(super) fn run(args: McpArgs) -> Result<ExitCode, Failure> {
    let mut options = args.options;
    // A recording can name any file as the source of a function.
    if !args.source {
        options.push("--no-source".into());
    }
    tools::check_options(&options)?;
    let server = Server { readable: Readable::new(args.inputs, args.root)?, options };
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_MESSAGE).read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::Failed(format!("standard input: {error}")))? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_MESSAGE;
        if !is_whole {
            input.skip_until(b'\n').map_err(|error| Failure::Failed(format!("standard input: {error}")))?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let message = match is_whole {
            true => Message::parse(&line),
            false => Message::Malformed(Value::Null, Problem::too_long(MAX_MESSAGE)),
        };
        let answer = match message {
            Message::Request(request) => {
                let result = server.answer(&request);
                request.id.map(|id| protocol::response(id, result))
            }
            Message::Response => None,
            Message::Malformed(id, problem) => Some(protocol::response(id, Err(problem))),
        };
        if let Some(answer) = answer {
            output::print(format!("{answer}\n").as_bytes())?;
        }
    }
}

impl Server {
    /// The result of a request or a notification. That of a notification is not sent.
    fn answer(&self, request: &Request) -> Result<Value, Problem> {
        let Request { method, params, .. } = request;
        match &**method {
            "initialize" => {
                let asked = params["protocolVersion"].as_str();
                let version = VERSIONS.into_iter().find(|version| Some(*version) == asked).unwrap_or(VERSIONS[0]);
                Ok(json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "perfconv", "version": env!("CARGO_PKG_VERSION") },
                    "instructions": format!("{INSTRUCTIONS} Files: {}", self.readable),
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "tools/call" => tools::call(params, &self.readable, &self.options),
            method if method.starts_with("notifications/") => Ok(Value::Null),
            method => Err(Problem::new(Code::MethodNotFound, format!("unknown method '{method}'"))),
        }
    }
}
