//! The questions that a server answers.

use super::protocol::{Code, Problem};
use super::readable::Readable;
use crate::cli::args::{self, Cli};
use crate::cli::failure::Failure;
use crate::cli::usage;
use clap::FromArgMatches;
use serde_json::{Map, Value, json};
use std::env;
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Number of bytes of an answer by default: about a thousand tokens.
const MAX_BYTES: u64 = 4000;

/// Limits of what clients may ask for.
const LEAST_BYTES: u64 = 500;
const MOST_BYTES: u64 = 100_000;

/// A question.
struct Tool {
    name: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    /// The command that answers it.
    command: &'static str,
    /// Options of the command.
    options: &'static [&'static str],
}

/// What a client says in a question, besides the recording and the limits.
struct Parameter {
    name: &'static str,
    description: &'static str,
    kind: Kind,
    is_required: bool,
}

/// What a parameter becomes.
#[derive(Clone, Copy)]
enum Kind {
    /// The value of an option.
    Value(&'static str),
    /// An option, if it is true.
    Flag(&'static str),
    /// The path of a recording, as the value of an option.
    Recording(&'static str),
    /// What the command is about, which is no option.
    Operand,
}

const fn required(name: &'static str, description: &'static str, kind: Kind) -> Parameter {
    Parameter { name, description, kind, is_required: true }
}

const fn optional(name: &'static str, description: &'static str, kind: Kind) -> Parameter {
    Parameter { is_required: false, ..required(name, description, kind) }
}

const FUNCTION: &str = "Name of a function, a part that only it has, or a regular expression";

const BY_SELF: Parameter = optional(
    "by_self",
    "Order by the samples in each function itself, without those in what it calls",
    Kind::Flag("--no-children"),
);

const SORT: Parameter = optional(
    "group_by",
    "What samples are grouped by, separated by commas: comm, dso, sym, pid, tid, cpu, event, file, line [default: sym]",
    Kind::Value("--sort"),
);

const TOOLS: &[Tool] = &[
    Tool {
        name: "summary",
        description: "What a recording contains: command, machine, events, problems, and the functions with the most own samples",
        parameters: &[],
        command: "report",
        options: &["--sort=sym,dso", "--no-children", "--limit=10"],
    },
    Tool {
        name: "functions",
        description: "The functions with the most samples, or other groups of samples",
        parameters: &[BY_SELF, SORT],
        command: "report",
        options: &["--sort=sym"],
    },
    Tool {
        name: "search",
        description: "The functions whose name matches a regular expression, with their samples",
        parameters: &[required("pattern", "Regular expression", Kind::Value("--search")), BY_SELF],
        command: "report",
        options: &["--sort=sym,dso"],
    },
    Tool {
        name: "callers",
        description: "What calls a function, and where",
        parameters: &[required("function", FUNCTION, Kind::Value("--callers"))],
        command: "report",
        options: &[],
    },
    Tool {
        name: "callees",
        description: "What a function calls, and where",
        parameters: &[required("function", FUNCTION, Kind::Value("--callees"))],
        command: "report",
        options: &[],
    },
    Tool {
        name: "tree",
        description: "The tree of calls from the roots of the stacks, without calls of small shares",
        parameters: &[optional(
            "percent_limit",
            "Omit calls below this share in percent [default: 0.5]",
            Kind::Value("--percent-limit"),
        )],
        command: "report",
        options: &["--tree"],
    },
    Tool {
        name: "lines",
        description: "The source lines of a function with their samples, and their text if the file exists",
        parameters: &[required("function", FUNCTION, Kind::Value("--lines"))],
        command: "report",
        options: &[],
    },
    Tool {
        name: "annotate",
        description: "The instructions of a function with samples, and those around them, with their source lines",
        parameters: &[
            required("function", FUNCTION, Kind::Operand),
            optional(
                "order",
                "Order of the source lines: samples or address [default: samples]",
                Kind::Value("--sort"),
            ),
            optional(
                "context",
                "Number of instructions before and after those with samples [default: 1]",
                Kind::Value("--context"),
            ),
        ],
        command: "annotate",
        options: &["--sort=samples", "--context=1"],
    },
    Tool {
        name: "waits",
        description: "Where threads waited: the functions with the most time off the CPU, and why. Needs context switches in the recording",
        parameters: &[
            BY_SELF,
            optional(
                "group_by",
                "What waits are grouped by, separated by commas: sym, state, thread, comm, dso, srcline [default: sym,state]",
                Kind::Value("--sort"),
            ),
        ],
        command: "report",
        options: &["--off-cpu", "--sort=sym,state"],
    },
    Tool {
        name: "scheduling",
        description: "How long each thread ran, was blocked, and waited for a CPU, in nanoseconds, and which thread woke which",
        parameters: &[],
        command: "report",
        options: &["--sched"],
    },
    Tool {
        name: "diff",
        description: "How the shares of functions differ from those of an earlier recording, and which changes can be chance",
        parameters: &[required("base", "Path of the earlier recording", Kind::Recording("--diff")), BY_SELF],
        command: "report",
        options: &[],
    },
];

/// What a client learns of the tools.
pub(super) fn list() -> Vec<Value> {
    TOOLS.iter().map(Tool::description).collect()
}

impl Tool {
    fn description(&self) -> Value {
        let mut properties = Map::new();
        properties.insert("file".to_owned(), text("Path of the recording, which may be omitted if there is only one"));
        for Parameter { name, description, kind, .. } in self.parameters {
            let schema = match kind {
                Kind::Flag(_) => json!({ "type": "boolean", "description": description }),
                Kind::Value("--percent-limit") => json!({ "type": "number", "description": description }),
                Kind::Value(_) | Kind::Recording(_) | Kind::Operand => text(description),
            };
            properties.insert((*name).to_owned(), schema);
        }
        let event = "Event, as summary names it [default: all events]";
        properties.insert("event".to_owned(), text(event));
        let (offset, bytes) = ("Number of entries to omit, as next_offset of an answer", "Size of the answer");
        properties.insert("offset".to_owned(), json!({ "type": "integer", "minimum": 0, "description": offset }));
        let size = json!({
            "type": "integer", "minimum": LEAST_BYTES, "maximum": MOST_BYTES, "default": MAX_BYTES, "description": bytes
        });
        properties.insert("max_bytes".to_owned(), size);
        let required: Vec<_> =
            self.parameters.iter().filter(|parameter| parameter.is_required).map(|parameter| parameter.name).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false
            },
            "annotations": { "readOnlyHint": true },
        })
    }

    /// The arguments of the program, and the greatest size of its answer.
    fn arguments(&self, given: &Map<String, Value>, readable: &Readable) -> Result<(Vec<OsString>, u64), String> {
        let common = ["file", "event", "offset", "max_bytes"];
        let is_parameter =
            |name: &str| common.contains(&name) || self.parameters.iter().any(|parameter| parameter.name == name);
        if let Some(name) = given.keys().find(|name| !is_parameter(name)) {
            return Err(format!("unknown argument '{name}' of {}", self.name));
        }
        let file = match given.get("file") {
            None => readable.only().ok_or_else(|| format!("name a file: {readable}"))?,
            Some(name) => recording(name, "file", readable)?,
        };
        let mut arguments: Vec<OsString> = [self.command, "--json", "--quiet"].map(OsString::from).into();
        let is_given = |option: &str| {
            self.parameters.iter().any(|parameter| {
                matches!(parameter.kind, Kind::Value(value) if option.starts_with(value))
                    && given.contains_key(parameter.name)
            })
        };
        arguments.extend(self.options.iter().filter(|option| !is_given(option)).map(OsString::from));
        for Parameter { name, kind, is_required, .. } in self.parameters {
            let value = match given.get(*name) {
                Some(value) => value,
                None if *is_required => return Err(format!("{} needs '{name}'", self.name)),
                None => continue,
            };
            match kind {
                Kind::Flag(option) if value.as_bool() == Some(true) => arguments.push(option.into()),
                Kind::Flag(_) => {}
                Kind::Value(option) => arguments.push(format!("{option}={}", word(value, name)?).into()),
                Kind::Operand => {
                    let operand = word(value, name)?;
                    if operand.starts_with('-') {
                        return Err(format!("'{name}' begins with '-'"));
                    }
                    arguments.push(operand.into());
                }
                Kind::Recording(option) => {
                    arguments.push(option.into());
                    arguments.push(recording(value, name, readable)?.into());
                }
            }
        }
        if let Some(event) = given.get("event") {
            arguments.push(format!("--event={}", word(event, "event")?).into());
        }
        let number = |name: &str, default: u64| match given.get(name) {
            None => Ok(default),
            Some(value) => value.as_u64().ok_or_else(|| format!("'{name}' is no number")),
        };
        let max_bytes = number("max_bytes", MAX_BYTES)?.clamp(LEAST_BYTES, MOST_BYTES);
        arguments.push(format!("--max-bytes={max_bytes}").into());
        arguments.push(format!("--offset={}", number("offset", 0)?).into());
        arguments.push("--input".into());
        arguments.push(file.into());
        Ok((arguments, max_bytes))
    }
}

/// Checks that the commands of all questions accept these options.
///
/// # Errors
/// If one rejects them.
pub(super) fn check_options(options: &[OsString]) -> Result<(), Failure> {
    // Arguments are only parsed: no file is read.
    const ANY: &str = ".";
    let readable = Readable::new(vec![ANY.into()], None)?;
    for tool in TOOLS {
        let required = tool.parameters.iter().filter(|parameter| parameter.is_required);
        let given = required.map(|parameter| (parameter.name.to_owned(), ANY.into())).collect();
        let (arguments, _) = tool.arguments(&given, &readable).map_err(Failure::Failed)?;
        let words = [OsString::from("perfconv")].into_iter().chain(arguments).chain(options.iter().cloned());
        let parsed = args::command::<Cli>().try_get_matches_from(words);
        if let Err(error) = parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
            let Tool { name, command, .. } = tool;
            let message = usage::message(&error);
            let problem = message.lines().next().unwrap_or_default();
            return Err(Failure::Usage(format!("after --: {problem} ('perfconv {command}', which answers '{name}')")));
        }
    }
    Ok(())
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A text or a number.
fn word(value: &Value, name: &str) -> Result<String, String> {
    match value {
        Value::String(text) if !text.contains('\0') => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("'{name}' is no text")),
    }
}

fn recording(value: &Value, name: &str, readable: &Readable) -> Result<PathBuf, String> {
    readable.file(value.as_str().filter(|path| !path.contains('\0')).ok_or_else(|| format!("'{name}' is no path"))?)
}

/// Answers a question. What the program says about a recording that it cannot read is an answer, too.
pub(super) fn call(params: &Value, readable: &Readable, options: &[OsString]) -> Result<Value, Problem> {
    let name = params["name"].as_str().unwrap_or_default();
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| Problem::new(Code::InvalidParams, format!("unknown tool '{name}'")))?;
    let given = params["arguments"].as_object().cloned().unwrap_or_default();
    let answer =
        tool.arguments(&given, readable).and_then(|(arguments, max_bytes)| report(arguments, options, max_bytes));
    let (text, is_error) = match answer {
        Ok(text) => (text, false),
        Err(problem) => (problem, true),
    };
    Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}

/// The output of the program with these arguments.
fn report(arguments: Vec<OsString>, options: &[OsString], max_bytes: u64) -> Result<String, String> {
    let failed = |problem: &dyn std::fmt::Display| format!("perfconv cannot be run: {problem}");
    let program = env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(arguments).args(options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| failed(&error))?;
    let limited = |bytes: &[u8]| {
        let mut text = Vec::new();
        // Reading from memory cannot fail.
        let _ = bytes.take(max_bytes).read_to_end(&mut text);
        String::from_utf8_lossy(&text).trim_end().to_owned()
    };
    if output.status.success() { Ok(limited(&output.stdout)) } else { Err(limited(&output.stderr)) }
}
