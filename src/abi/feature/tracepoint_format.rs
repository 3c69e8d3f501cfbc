//! The format of a tracepoint: a file `events/SYSTEM/NAME/format` of tracefs, which says what is in the RAW bytes of its
//! samples.

use std::fmt;

/// The format of a tracepoint. It is shown as the kernel writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Its name.
    pub name: String,
    /// Its number: `config` of the event's attr, and what `common_type` holds.
    pub id: u64,
    /// Fields that all tracepoints have.
    pub common: Vec<FormatField>,
    /// Fields of its own.
    pub fields: Vec<FormatField>,
    /// How its fields are printed: a text with the arguments of printf(3).
    pub print_fmt: String,
}

/// A field of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatField {
    /// Type and name as C declares them: `char comm[16]`, `__data_loc char[] name`.
    pub declaration: String,
    /// Where it begins, in bytes.
    pub offset: u32,
    /// How many bytes it has.
    pub size: u32,
    /// Whether it is a signed number. Told since Linux 2.6.34.
    pub signed: Option<bool>,
}

impl TracepointFormat {
    /// Reads a format; `None` where it is not written as the kernel does.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (name, rest) = text.strip_prefix("name: ")?.split_once("\nID: ")?;
        let (id, rest) = rest.split_once("\nformat:\n")?;
        let (common, rest) = fields(rest)?;
        let (fields, rest) = fields(rest.strip_prefix('\n')?)?;
        let print_fmt = rest.strip_prefix("\nprint fmt: ")?.strip_suffix('\n')?;
        let (name, print_fmt) = (name.to_owned(), print_fmt.to_owned());
        Some(Self { name, id: id.parse().ok()?, common, fields, print_fmt })
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&FormatField> {
        self.common.iter().chain(&self.fields).find(|field| field.name() == name)
    }
}

impl FormatField {
    /// The field's name.
    pub fn name(&self) -> &str {
        let declared = self.declaration.split_once('[').map_or(&*self.declaration, |(before, _)| before);
        // `__data_loc char[] name` has its brackets at the type.
        let declared = match self.declaration.rsplit_once(']') {
            Some((_, name)) if !name.trim().is_empty() => name,
            _ => declared,
        };
        declared.rsplit([' ', '*', '\t']).find(|word| !word.is_empty()).unwrap_or_default()
    }

    fn parse(line: &str) -> Option<Self> {
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

/// Fields from the front of a text, a line each, and what follows them.
fn fields(mut text: &str) -> Option<(Vec<FormatField>, &str)> {
    let mut fields = Vec::new();
    while text.starts_with('\t') {
        let (line, rest) = text.split_once('\n')?;
        fields.push(FormatField::parse(line)?);
        text = rest;
    }
    Some((fields, text))
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
    fn a_format_is_read_and_shown_as_it_was() {
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
    fn other_texts_are_none() {
        for cut in 0..FORMAT.len() {
            assert_eq!(TracepointFormat::parse(&FORMAT.as_bytes()[..cut]), None);
        }
    }
}
