//! Rules for tracepoint formats, all of which perf parses when it opens a recording.
//!
//! The grammar is that of libtraceevent: `name:`, `ID:`, `format:`, the common fields, a blank line, the tracepoint's own fields,
//! a blank line, and `print fmt:` with a string and its arguments.

use super::finding::Rule;
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::tracepoint_format::{FormatField, TracepointFormat};
use perf_data::abi::feature::tracing_data::{TraceFile, TracingData};
use perf_data::stream::events::Event;
use std::collections::HashSet;

/// Fields that the format of a ring-buffer page must have, in this order.
const PAGE_FIELDS: [&str; 3] = ["timestamp", "commit", "data"];

/// Checks that perf can parse the formats.
pub(super) fn check_formats(data: &TracingData, mut report: impl FnMut(Rule, String)) {
    let mut report = |problem: String| report(Rule::TracepointFormat, problem);
    if !is_page_header(&data.files.header_page.text) {
        report(format!("header_page does not declare the fields {}", PAGE_FIELDS.join(", ")));
    }
    let ftrace = data.files.ftrace.iter().map(|file| ("ftrace".into(), file));
    let systems = data.files.systems.iter();
    let of_systems =
        systems.flat_map(|system| system.formats.iter().map(|file| (String::from_utf8_lossy(&system.name), file)));
    for (system, file) in ftrace.chain(of_systems) {
        if let Err(problem) = check_format(file) {
            report(format!("format of {system}:{}: {problem}", name(file)));
        }
    }
}

/// Checks that each tracepoint has a format: otherwise perf does not open the recording.
pub(super) fn check_events(data: &TracingData, events: &[Event], mut report: impl FnMut(usize, Rule, String)) {
    let formats = data.files.systems.iter().flat_map(|system| &system.formats);
    let format_ids: HashSet<u64> = formats.filter_map(TraceFile::format).map(|format| format.id).collect();
    for (index, Event { attr, .. }) in events.iter().enumerate() {
        if attr.kind == AttrType::TRACEPOINT && !format_ids.contains(&attr.config) {
            let problem = format!("the feature TRACING_DATA has no format for tracepoint {}", attr.config);
            report(index, Rule::TracepointFormat, problem);
        }
    }
}

/// Whether perf can parse the format of a ring-buffer page. An empty one is valid: that of kernels before 2.6.32.
fn is_page_header(text: &[u8]) -> bool {
    let fields = text.split(|&byte| byte == b'\n').filter_map(|line| FormatField::parse(str::from_utf8(line).ok()?));
    let names: Vec<String> = fields.map(|field| field.name().to_owned()).filter(|name| name != "overwrite").collect();
    text.is_empty() || names == PAGE_FIELDS
}

/// Name of a tracepoint, from the first line of its format.
fn name(file: &TraceFile) -> String {
    let line = file.text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line.strip_prefix(b"name: ").unwrap_or(b"?")).into_owned()
}

fn check_format(file: &TraceFile) -> Result<(), String> {
    let format = TracepointFormat::parse(&file.text).map_err(|error| error.to_string())?;
    if !is_word(&format.name) {
        return Err("its name is not a word of letters, digits and '_'".into());
    }
    for field in format.common.iter().chain(&format.fields) {
        let declaration = &field.declaration;
        let has_type = declaration.trim().len() > field.name().len();
        if !has_type || !is_word(field.name()) || declaration.matches('[').count() != declaration.matches(']').count() {
            return Err(format!("field '{declaration}' has no type or no name"));
        }
    }
    check_print(&format)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Checks `print fmt: "..." "...", ARGUMENT, ...`.
fn check_print(format: &TracepointFormat) -> Result<(), String> {
    let mut rest = format.print_fmt.trim();
    if !rest.starts_with('"') {
        return Err("print fmt does not begin with a string".into());
    }
    while rest.starts_with('"') {
        rest = after_string(rest).ok_or("the string of print fmt is not terminated")?.trim_start();
    }
    let Some(arguments) = rest.strip_prefix(',') else {
        return if rest.is_empty() { Ok(()) } else { Err("no comma after the string of print fmt".into()) };
    };
    check_arguments(arguments)
}

/// The rest of a text after the quoted string at its start.
fn after_string(text: &str) -> Option<&str> {
    let mut is_escaped = true;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Some(&text[at + 1..]),
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

/// Checks that brackets in arguments match, and that no argument is empty.
fn check_arguments(mut text: &str) -> Result<(), String> {
    let (mut open, mut is_empty) = (Vec::new(), true);
    while let Some(next) = text.chars().next() {
        match next {
            '"' => {
                text = after_string(text).ok_or("a string in the arguments of print fmt is not terminated")?;
                is_empty = false;
                continue;
            }
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(next) => {
                return Err("brackets in the arguments of print fmt do not match".into());
            }
            ',' if open.is_empty() && is_empty => return Err("an argument of print fmt is empty".into()),
            _ => {}
        }
        is_empty = if next == ',' && open.is_empty() { true } else { is_empty && next.is_whitespace() };
        text = &text[next.len_utf8()..];
    }
    match (open.is_empty(), is_empty) {
        (false, _) => Err("brackets in the arguments of print fmt do not match".into()),
        (true, true) => Err("an argument of print fmt is empty".into()),
        (true, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(print_fmt: &str) -> Result<(), String> {
        let mut format = TracepointFormat::new("a", 1);
        format.print_fmt = print_fmt.into();
        check_format(&TraceFile::from(&format))
    }

    #[test]
    fn print_formats_are_strings_with_arguments() {
        for valid in [
            r#""""#,
            r#""a=%d", REC->a"#,
            r#""a" "b\"%s", __print_flags(REC->f, "|", { 1, "A" }, { 2, "(" }), REC->b[0]"#,
            r#""%s", (REC->x) ? "," : "\\""#,
        ] {
            assert_eq!(print(valid), Ok(()), "{valid}");
        }
        for (invalid, problem) in [
            ("REC->a", "does not begin with a string"),
            (r#""a"#, "is not terminated"),
            (r#""a" REC->a"#, "no comma"),
            (r#""a", "#, "is empty"),
            (r#""a", REC->a,, REC->b"#, "is empty"),
            (r#""a", (REC->a"#, "do not match"),
            (r#""a", (REC->a]"#, "do not match"),
            (r#""a", "b"#, "is not terminated"),
        ] {
            assert!(print(invalid).unwrap_err().contains(problem), "{invalid}: {:?}", print(invalid));
        }
    }

    #[test]
    fn names_are_words_and_fields_have_a_type() {
        let format = TracepointFormat::new("a b", 1);
        assert!(check_format(&TraceFile::from(&format)).unwrap_err().contains("its name"));
        for (declaration, is_valid) in
            [("int x", true), ("u8 x[4]", true), ("x", false), ("int ", false), ("u8 x[4", false)]
        {
            let mut format = TracepointFormat::new("a", 1);
            format.fields.push(format.next_field(declaration, 4, false));
            assert_eq!(check_format(&TraceFile::from(&format)).is_ok(), is_valid, "{declaration}");
        }
    }

    #[test]
    fn a_page_header_must_have_its_fields() {
        let data =
            |long_size| TracingData::new(perf_data::abi::feature::tracing_data::ByteOrder(0), long_size, 4096, vec![]);
        for long_size in [4, 8] {
            check_formats(&data(long_size), |_, problem| panic!("{problem}"));
        }
        let mut broken = data(8);
        let text = &mut broken.files.header_page.text;
        text.truncate(text.iter().position(|&byte| byte == b'\n').unwrap() + 1);
        let mut problems = Vec::new();
        check_formats(&broken, |_, problem| problems.push(problem));
        assert_eq!(problems, ["header_page does not declare the fields timestamp, commit, data"]);
    }
}
