//! The text output of `perf script`, as of perf 6.1 to 7, with and without call chains.
//!
//! * `fields`: the fields, with their printers; a new one is a line there.
//! * `records`: records other than samples.
//! * `import`, `sample_line`, `frame`: the way back.

mod branches;
mod call_chain;
mod event_name;
mod export;
mod fields;
mod frame;
mod head;
mod import;
mod memory;
mod number;
mod printer;
mod records;
mod registers;
mod sample_line;
mod style;
mod trace;

pub use import::{import, recognizes};

use super::options::{FormatOption, OptionValue, OptionValues, ValueKind};
use super::symbol_options::DEMANGLE;
use super::{Format, Reader, ShowsFunctions, Writer};
use records::SHOWN;
use style::Style;

/// The text output of perf script.
pub const FORMAT: Format = Format {
    extensions: &[("script", None)],
    functions: ShowsFunctions::Always,
    lines: |values| values.list(&FIELDS).unwrap_or_default().iter().any(|fields| fields.contains("srcline")),
    writer: Writer::Converter(export::begin),
    reader: Reader::Import(import),
    recognizes,
    options: &[
        FIELDS,
        NANOSECONDS,
        PERF_STYLE,
        SHOWN[0].option,
        SHOWN[1].option,
        SHOWN[2].option,
        SHOWN[3].option,
        SHOWN[4].option,
        SHOWN[5].option,
        SHOWN[6].option,
        SHOWN[7].option,
    ],
    implied: |values| {
        let demangle = Style::by_name(values.word(&PERF_STYLE)).demangle();
        OptionValues::default().with(&DEMANGLE, OptionValue::Word(demangle.to_owned()))
    },
    ..Format::new("perf-script", "text output of perf script")
};

/// The option `--fields`.
pub const FIELDS: FormatOption = FormatOption {
    short: Some('F'),
    ..FormatOption::new(
        "fields",
        "FIELDS",
        "Fields to print, as in perf script: a list, or +FIELD and -FIELD to change the default ones; TYPE: before \
         it selects the events (hw, sw, trace, raw)",
        ValueKind::Checked(|value| fields::parse(&[value.to_owned()]).map(|_| ())),
    )
};

/// The option `--ns`.
pub const NANOSECONDS: FormatOption = FormatOption::switch("ns", "Print times in nanoseconds");

/// The option `--perf-style`.
pub const PERF_STYLE: FormatOption = FormatOption {
    default: Some("6.1"),
    ..FormatOption::new(
        "perf-style",
        "VERSION",
        "Version of perf whose text to write",
        ValueKind::Choice(&[
            ("6.1", "Addresses in call chains are those in the file; C++ names have no parameters"),
            ("6.12", "Addresses are those in memory, columns of IDs are wider, and C++ names have parameters"),
            ("7", "As 6.12"),
        ]),
    )
};
