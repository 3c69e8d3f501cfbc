//! Options for writing a recording as perf.data.

use super::options::{FormatOption, OptionValues, ValueKind};
use crate::rewrite::output::RecordingOptions;
use perf_data::abi::Endian;
use perf_data::container::read::Container;

/// All of them.
pub const OPTIONS: &[FormatOption] = &[CONTAINER, COMPRESS, ENDIAN, ALLOW_MIXED, DECOMPRESS];

/// The option `--container`.
pub const CONTAINER: FormatOption = FormatOption::new(
    "container",
    "CONTAINER",
    "Container of the perf.data output [default: that of the input, but pipe for standard output; merge and synth: file]",
    ValueKind::Choice(&[
        ("file", "File with header and sections"),
        ("pipe", "Stream of records, as perf record writes it to a pipe"),
        ("dir", "Directory, as perf record --threads writes it"),
    ]),
);

/// The option `--compress`.
pub const COMPRESS: FormatOption = FormatOption::new(
    "compress",
    "LEVEL",
    "Compress the records, like perf record -z, with a zstd level from 1 (fast) to 22 (small) [default level: 3]",
    ValueKind::Number { min: 1, max: 22, if_missing: Some("3") },
);

/// The option `--endian`.
pub const ENDIAN: FormatOption = FormatOption::new(
    "endian",
    "ORDER",
    "Byte order of the perf.data output [default: that of the input; merge: of the first input]",
    ValueKind::Choice(&[("little", "x86, and nearly all Arm and RISC-V"), ("big", "s390x")]),
);

/// The option `--allow-mixed`.
pub const ALLOW_MIXED: FormatOption = FormatOption {
    requires: Some(ENDIAN.name),
    ..FormatOption::switch(
        "allow-mixed",
        "With --endian, allow data that cannot be converted to keep the recorder's byte order: user stacks, \
         raw data, AUX areas",
    )
};

/// The option `--decompress`.
pub const DECOMPRESS: FormatOption =
    FormatOption { conflicts: &[COMPRESS.name], ..FormatOption::switch("decompress", "Write uncompressed records") };

impl From<&OptionValues> for RecordingOptions {
    fn from(values: &OptionValues) -> Self {
        Self {
            container: values.word(&CONTAINER).map(|word| match word {
                "pipe" => Container::Pipe,
                "dir" => Container::Directory,
                _ => Container::File,
            }),
            compress: values.number(&COMPRESS),
            endian: values.word(&ENDIAN).map(|word| if word == "big" { Endian::Big } else { Endian::Little }),
            allow_mixed: values.is_given(&ALLOW_MIXED),
            decompress: values.is_given(&DECOMPRESS),
        }
    }
}
