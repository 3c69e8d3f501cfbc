//! Recognizes the format of an uncompressed input by its first bytes.

use super::table::{by_file_name, readable_names};
use crate::formats::{FORMATS, Format, FormatReader};
use perf_data::container::read::header_problem;
use perf_data::container::read::input::Input;
use perf_data::error::{Error, Result};

/// Number of bytes to inspect: enough for a long line of text, such as a deep folded stack, or a sample.
pub const START: usize = 1 << 14;

/// The first format that recognizes these bytes.
pub fn by_content(formats: &'static [Format], start: &[u8]) -> Option<&'static Format> {
    formats.iter().find(|format| (format.recognizes)(start))
}

/// The format of a directory other than a recording.
pub fn directory_format(input: &Input) -> Option<&'static Format> {
    let Input::Path(path) = input else { return None };
    let is_alike =
        |format: &&Format| matches!(format.reader, FormatReader::Directory { recognizes, .. } if recognizes(path));
    FORMATS.iter().filter(|_| path.is_dir()).find(is_alike)
}

/// The format to read an input as: by distinctive content, or else by name, or else by any content; `None` if it
/// can only be a recording, possibly a corrupt one.
///
/// # Errors
/// If the format is unknown, or cannot be read.
pub fn readable_format(start: &[u8], name: &str) -> Result<Option<&'static Format>> {
    let is_read = |format: &Format| !matches!(format.reader, FormatReader::Nothing);
    // Extensions of formats that cannot be read are ignored.
    let by_name = by_file_name(FORMATS, name).map(|(format, _)| format).filter(|format| is_read(format));
    if let Some(format) = by_content(FORMATS, start).filter(|format| format.is_distinctive || by_name.is_none()) {
        let problem = || format!("this is {}, which can be written but not read", format.name);
        return if is_read(format) { Ok(Some(format)) } else { Err(Error::input(name, None, problem())) };
    }
    if by_name.is_none() && header_problem(start).is_none() {
        let problem = format!(
            "neither a perf.data file nor any other known format; if it is one of these, name it with --from: {}",
            readable_names()
        );
        return Err(Error::input(name, None, problem));
    }
    Ok(by_name)
}

/// The lines of an input with these first bytes, without one truncated by [`START`]. Binary inputs have no lines.
pub fn lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_text = !start.contains(&0);
    let end = match start.iter().rposition(|&byte| byte == b'\n') {
        Some(last) if start.len() >= START => last,
        None if start.len() >= START => 0,
        _ => start.len(),
    };
    let text = if is_text { &start[..end] } else { &[] };
    text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;

    fn recognized(start: &[u8]) -> Option<&'static str> {
        by_content(FORMATS, start).map(|format| format.name)
    }

    #[test]
    fn formats_are_recognized_by_their_beginning() {
        for (start, expected) in [
            (&b"PERFILE2\x68\0\0\0\0\0\0\0"[..], "perf.data"),
            (b"{\"perfconv\":1,", "jsonl"),
            (b"[\n{\"perfconv\":1,", "jsonl"),
            (b"{\n\t\"linux-perf-json-version\": 1,", "perf-json"),
            (b"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":60", "firefox"),
            (b"{ \"meta\": {\"interval\": 1, \"startTime\": 5, \"stackwalk\": 1", "firefox"),
            (b"{\"shared\":{},\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}", "speedscope"),
            (b"main;work;inner loop 12\nmain 3\n", "folded"),
            (b"comm;a_[k] 5", "folded"),
            (b"loop 21998  1806.624218:     250000 cpu-clock: \n\t  55d0 main+0x2 (/bin/a)\n", "perf-script"),
            (
                b"# ========\n# captured on: today\n#\nWeb Content 34/56 [003] 1.000000: 9 cycles:u:   401000 main\n",
                "perf-script",
            ),
            (b"loop 7 5 cycles: \n\t  55d0 main+0x2 (/bin/a)\n\n", "perf-script"),
            (b"file_attrs: [{\n  attr {\n", "quipper-text"),
            (b"# a comment\nfile_attrs {\n", "quipper-text"),
            // A sample type, a sample, a mapping.
            (b"\x0a\x04\x08\x01\x10\x02\x12\x05\x0a\x01\x01\x12\x00\x1a\x02\x08\x01", "pprof"),
            (b"\x12\x07\x0a\x01\x01\x12\x02\x01\x05", "pprof"),
            // An event with an attr and an id.
            (b"\x0a\x08\x0a\x04\x08\x01\x10\x60\x10\x07\x12\x7f", "quipper"),
        ] {
            // Without the feature that reads it, text of a PerfDataProto is unknown.
            if FORMATS.iter().any(|format| format.name == expected) {
                assert_eq!(recognized(start), Some(expected), "{:?}", String::from_utf8_lossy(start));
            }
        }
    }

    #[test]
    fn does_not_recognize_other_inputs() {
        for start in [
            &b""[..],
            b"\n",
            b"hello\n",
            b"main 5\nwork 6\n",
            b"a;b;c\n",
            b"a;b x\n",
            b"{\"traceEvents\": []}",
            b"{\"meta\": {\"interval\": 1}}",
            b"hello 5 world: \n",
            b"\x7fELF\x02\x01\x01",
            b"\x1f\x8b\x08\0",
            b"a;b 5\n\0",
            &[0; 64],
            &[0xff; 64],
        ] {
            assert_eq!(recognized(start), None, "{:?}", String::from_utf8_lossy(start));
        }
    }

    #[test]
    fn ignores_a_truncated_last_line() {
        let line = b"main;work;inner 12\n";
        let text = line.repeat(START / line.len() + 1);
        assert_ne!(text[START - 1], b'\n');
        assert_eq!(recognized(&text[..START]), Some("folded"));
        assert_eq!(recognized(&b"a;b 1\nmain;work"[..]), None);
    }
}
