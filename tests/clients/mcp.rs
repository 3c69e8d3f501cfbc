//! Questions to `perfconv mcp`, by the protocol's own client in Python.

use super::programs;
use crate::common::html::symbols;
use serde_json::Value;
use std::path::Path;

const CLIENT: &str = r#"
import asyncio, json, sys
sys.path.insert(0, sys.argv.pop(1))
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

QUESTIONS = [
    ("summary", {}), ("functions", {}), ("functions", {"by_self": True}), ("search", {"pattern": "count"}),
    ("callers", {"function": "find"}), ("callees", {"function": "main"}), ("tree", {}), ("lines", {"function": "find"}),
    ("functions", {"group_by": "dso"}), ("functions", {"offset": 2, "max_bytes": 600}),
]

async def ask(program, *arguments):
    async with stdio_client(StdioServerParameters(command=program, args=list(arguments))) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            answers = [(await session.call_tool(name, given)).content[0].text for name, given in QUESTIONS]
            print(json.dumps({"tools": [tool.name for tool in tools], "answers": answers}))

asyncio.run(ask(*sys.argv[1:]))
"#;

#[test]
fn the_client_of_the_protocol_asks_ten_questions() {
    let Some(clients) = programs::directory() else { return };
    let (program, recording, files) =
        (env!("CARGO_BIN_EXE_perfconv"), symbols().join("words.data"), symbols().join("files"));
    let package = clients.join("mcp");
    let arguments = [&*package].into_iter().chain([program, "mcp"].map(Path::new));
    let options = ["--", "--symfs"].map(Path::new);
    let arguments: Vec<_> = arguments.chain([&*recording]).chain(options).chain([&*files]).collect();
    let output = programs::python(clients, CLIENT, &arguments).expect("the client should run");
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(output["tools"].as_array().map(Vec::len), Some(11), "{output}");
    let answers = output["answers"].as_array().expect("answers");
    assert_eq!(answers.len(), 10);
    for answer in answers {
        let text = answer.as_str().expect("a text");
        let object: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(text.len() <= 4000 && object["events"][0]["samples"] == 495, "{text}");
    }
    note!("mcp: ten answers of {} bytes", answers.iter().filter_map(Value::as_str).map(str::len).sum::<usize>());
}
