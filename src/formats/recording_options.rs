//! Options of writing a recording as a recording.

use super::options::{FormatOption, OptionValues, Takes};
use crate::abi::Endian;
use crate::container::read::Container;
use crate::rewrite::output::RecordingOptions;

/// All of them.
pub const OPTIONS: &[FormatOption] = &[CONTAINER, COMPRESS, ENDIAN, ALLOW_MIXED, DECOMPRESS];

/// Where the records lie.
pub const CONTAINER: FormatOption = FormatOption::new(
    "container",
    "CONTAINER",
    "Container of a perf.data that is written [default: that of the input, a file where there are several or none; pipe on \
     standard output]",
    Takes::Choice(&[
        ("file", "A file with header and sections"),
        ("pipe", "A stream of records, as perf record writes it to a pipe"),
        ("dir", "A folder, as perf record --threads writes it"),
    ]),
);

/// Compression of the records.
pub const COMPRESS: FormatOption = FormatOption::new(
    "compress",
    "LEVEL",
    "Compress the records anew, as perf record -z does; zstd's levels go from 1 (fast) to 22 (small) [default level: 3]",
    Takes::Number { min: 1, max: 22, if_missing: "3" },
);

/// Byte order.
pub const ENDIAN: FormatOption = FormatOption::new(
    "endian",
    "ORDER",
    "Byte order of a perf.data that is written [default: that of the recording, the first one where there are several]",
    Takes::Choice(&[("little", "As of x86, and of nearly all Arm and RISC-V"), ("big", "As of s390x")]),
);

/// Whether bytes of unknown order may be kept in another one.
pub const ALLOW_MIXED: FormatOption = FormatOption {
    requires: Some(ENDIAN.name),
    ..FormatOption::switch(
        "allow-mixed",
        "Write another byte order too where some bytes stay as they are, whose order belongs to the recorder: user stacks, \
         raw data, AUX areas",
    )
};

/// Whether records are written uncompressed.
pub const DECOMPRESS: FormatOption = FormatOption {
    conflicts: &[COMPRESS.name],
    ..FormatOption::switch("decompress", "Write the records of a compressed recording plain")
};

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
