//! The format of a tracepoint: the file `events/SYSTEM/NAME/format` of tracefs, which describes the RAW bytes of its samples.

use crate::abi::Endian;
use crate::abi::bytes::Integer;
use std::fmt;

/// The format of a tracepoint. `Display` writes it as the kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Name.
    pub name: String,
    /// ID: `config` of the attr and value of `common_type`.
    pub id: u64,
    /// Fields common to all tracepoints.
    pub common: Vec<FormatField>,
    /// Specific fields.
    pub fields: Vec<FormatField>,
    /// Format for printing: a printf(3) format with arguments.
    pub print_fmt: String,
}

/// A field of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatField {
    /// C declaration: `char comm[16]`, `__data_loc char[] name`.
    pub declaration: String,
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether it is a signed integer. Recorded since Linux 2.6.34.
    pub signed: Option<bool>,
}

/// Fields common to all tracepoints with their sizes, as declared since Linux 2.6.34.
const COMMON: [(&str, u32, bool); 4] = [
    ("unsigned short common_type", 2, false),
    ("unsigned char common_flags", 1, false),
    ("unsigned char common_preempt_count", 1, false),
    ("int common_pid", 4, true),
];

/// Why a text is not a valid format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// Line where parsing stopped, from 1.
    pub line: usize,
    /// Expected text.
    pub expected: &'static str,
}

impl TracepointFormat {
    /// A format with the common fields only.
    pub fn new(name: impl Into<String>, id: u64) -> Self {
        let (common, print_fmt) = (Vec::new(), "\"\"".to_owned());
        let mut format = Self { name: name.into(), id, common, fields: Vec::new(), print_fmt };
        for (declaration, size, signed) in COMMON {
            let field = format.next_field(declaration, size, signed);
            format.common.push(field);
        }
        format
    }

    /// A payload with the common fields only, padded so that it takes a multiple of 8 bytes together with its size.
    pub fn common_payload(id: u64, pid: u32, endian: Endian) -> [u8; 12] {
        let mut payload = [0; 12];
        payload[..2].copy_from_slice(&(id as u16).to_bytes(endian));
        payload[4..8].copy_from_slice(&pid.to_bytes(endian));
        payload
    }

    /// The byte order in which a payload begins with the ID of its tracepoint.
    pub fn payload_endian(payload: &[u8], id: u64) -> Option<Endian> {
        let matches = |endian| Self::common_payload(id, 0, endian)[..2] == payload[..2];
        [Endian::Little, Endian::Big].into_iter().find(|&endian| payload.len() >= 2 && matches(endian))
    }

    /// A field that begins at the end of the last one.
    pub fn next_field(&self, declaration: impl Into<String>, size: u32, signed: bool) -> FormatField {
        let last = self.fields.last().or(self.common.last());
        let offset = last.map_or(0, |field| field.offset.saturating_add(field.size));
        FormatField { declaration: declaration.into(), offset, size, signed: Some(signed) }
    }

    /// Parses a format.
    ///
    /// # Errors
    /// If the text is not in the kernel's syntax.
    pub fn parse(text: &[u8]) -> Result<Self, FormatError> {
        let text = std::str::from_utf8(text).map_err(|_| FormatError { line: 1, expected: "UTF-8 text" })?;
        let mut lines = FormatLines { rest: text, line: 1 };
        let name = lines.value("name: ", "name: NAME")?.to_owned();
        let id = lines.value("ID: ", "ID: NUMBER")?.parse();
        let id = id.map_err(|_| FormatError { line: lines.line - 1, expected: "ID: NUMBER" })?;
        lines.value("format:", "format:").and_then(|rest| lines.blank(rest, "format:"))?;
        let common = lines.fields()?;
        let fields = lines.fields()?;
        let print_fmt = lines.rest.strip_prefix("print fmt: ").and_then(|text| text.strip_suffix('\n'));
        let print_fmt = print_fmt.ok_or(lines.error("print fmt: FORMAT"))?.to_owned();
        Ok(Self { name, id, common, fields, print_fmt })
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&FormatField> {
        self.common.iter().chain(&self.fields).find(|field| field.name() == name)
    }
}

impl FormatField {
    /// Name of the field.
    pub fn name(&self) -> &str {
        let declared = self.declaration.split_once('[').map_or(&*self.declaration, |(before, _)| before);
        // `__data_loc char[] name` has the brackets after the type.
        let declared = match self.declaration.rsplit_once(']') {
            Some((_, name)) if !name.trim().is_empty() => name,
            _ => declared,
        };
        declared.rsplit([' ', '*', '\t']).find(|word| !word.is_empty()).unwrap_or_default()
    }

    /// Parses a line of a format, without its line end.
    pub fn parse(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix("\tfield:")?.split(";\t");
        let declaration = parts.next()?.to_owned();
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size = parts.next()?.strip_prefix("size:")?;
        let (size, signed) = match parts.next() {
            Some(signed) => (size, Some(signed.strip_prefix("signed:")?.strip_suffix(';')? == "1")),
            None => (size.strip_suffix(';')?, None),
        };
        Some(Self { declaration, offset, size: size.parse().ok()?, signed })
    }
}

impl FormatError {
    /// Syntax of a field.
    const FIELD: &str = "field:DECLARATION; offset:NUMBER; size:NUMBER; signed:0 or 1;";
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected '{}'", self.line, self.expected)
    }
}

/// The unparsed lines of a format.
struct FormatLines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> FormatLines<'a> {
    fn error(&self, expected: &'static str) -> FormatError {
        FormatError { line: self.line, expected }
    }

    /// The next line without its required prefix.
    fn value(&mut self, prefix: &str, expected: &'static str) -> Result<&'a str, FormatError> {
        let rest = self.rest.strip_prefix(prefix).and_then(|rest| rest.split_once('\n'));
        let (value, rest) = rest.ok_or(self.error(expected))?;
        (self.rest, self.line) = (rest, self.line + 1);
        Ok(value)
    }

    /// Requires that the rest of the last line is empty.
    fn blank(&self, value: &str, expected: &'static str) -> Result<(), FormatError> {
        if value.is_empty() { Ok(()) } else { Err(FormatError { line: self.line - 1, expected }) }
    }

    /// Fields, one per line, and the blank line after them.
    fn fields(&mut self) -> Result<Vec<FormatField>, FormatError> {
        let mut fields = Vec::new();
        while self.rest.starts_with('\t') {
            let error = self.error(FormatError::FIELD);
            let line = self.value("", FormatError::FIELD)?;
            fields.push(FormatField::parse(line).ok_or(error)?);
        }
        let expected = "a field, or a blank line after the fields";
        self.value("", expected).and_then(|rest| self.blank(rest, expected))?;
        Ok(fields)
    }
}

impl fmt::Display for TracepointFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name: {}\nID: {}\nformat:\n", self.name, self.id)?;
        self.common.iter().try_for_each(|field| writeln!(f, "{field}"))?;
        writeln!(f)?;
        self.fields.iter().try_for_each(|field| writeln!(f, "{field}"))?;
        writeln!(f, "\nprint fmt: {}", self.print_fmt)
    }
}

impl fmt::Display for FormatField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\tfield:{};\toffset:{};\tsize:{};", self.declaration, self.offset, self.size)?;
        self.signed.map_or(Ok(()), |signed| write!(f, "\tsigned:{};", u8::from(signed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_process_exec\nID: 300\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \n\
        \tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:12;\tsize:16;\n\
        \tfield:const char * why;\toffset:32;\tsize:8;\tsigned:0;\n\
        \n\
        print fmt: \"filename=%s\", __get_str(filename)\n";

    #[test]
    fn a_format_is_reproduced() {
        let format = TracepointFormat::parse(FORMAT.as_bytes()).unwrap();
        assert_eq!((&*format.name, format.id, format.common.len()), ("sched_process_exec", 300, 2));
        let names: Vec<_> = format.fields.iter().map(FormatField::name).collect();
        assert_eq!(names, ["filename", "comm", "why"]);
        assert_eq!(format.field("common_pid").unwrap().signed, Some(true));
        assert_eq!((format.fields[1].offset, format.fields[1].size, format.fields[1].signed), (12, 16, None));
        assert_eq!(format.print_fmt, "\"filename=%s\", __get_str(filename)");
        assert_eq!(format.to_string(), FORMAT);
    }

    #[test]
    fn rejects_truncated_formats() {
        for cut in 0..FORMAT.len() {
            assert!(TracepointFormat::parse(&FORMAT.as_bytes()[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn an_error_names_the_line_and_what_is_expected_there() {
        let error = |from: &str, to: &str| TracepointFormat::parse(FORMAT.replace(from, to).as_bytes()).unwrap_err();
        assert_eq!(error("ID: 300", "ID: x").to_string(), "line 2: expected 'ID: NUMBER'");
        assert_eq!(error("format:\n", "format: x\n").to_string(), "line 3: expected 'format:'");
        assert_eq!(error("offset:12;", "").to_string(), format!("line 8: expected '{}'", FormatError::FIELD));
        assert_eq!(error("\n\nprint", "\nprint").line, 10);
        assert_eq!(error("print fmt:", "print").to_string(), "line 11: expected 'print fmt: FORMAT'");
    }

    #[test]
    fn a_new_format_has_the_common_fields() {
        let mut format = TracepointFormat::new("a", 1);
        assert_eq!(TracepointFormat::parse(format.to_string().as_bytes()), Ok(format.clone()));
        assert!(format.to_string().ends_with("signed:1;\n\n\nprint fmt: \"\"\n"), "{format}");
        format.fields.push(format.next_field("u64 x", 8, false));
        assert_eq!((format.common[3].offset, format.fields[0].offset), (4, 8));
    }

    #[test]
    fn payloads_begin_with_the_id_in_their_byte_order() {
        for endian in [Endian::Little, Endian::Big] {
            let payload = TracepointFormat::common_payload(300, 7, endian);
            assert_eq!(TracepointFormat::payload_endian(&payload, 300), Some(endian));
            assert_eq!(TracepointFormat::payload_endian(&payload, 301), None);
            assert_eq!(TracepointFormat::payload_endian(&payload[..1], 300), None);
        }
    }
}
