//! The formats that recordings are converted to.

pub mod envelope;
pub mod pprof;

use crate::error::Result;
use crate::profile::Profile;
use envelope::Envelope;
use std::io::Write;

/// A format, as the list of all of them tells it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, for `--to`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Endings of file names that choose it, and how a file is compressed whose name ends with just that.
    pub extensions: &'static [(&'static str, Envelope)],
    /// How it is compressed where no name says.
    pub envelope: Envelope,
    /// Whether it is for programs, not to be shown on a terminal.
    pub is_binary: bool,
    /// What it is written from.
    pub writes: Writes,
}

/// What a format is written from.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// The stream of records: the format carries all of them.
    Records,
    /// Stacks and values.
    Profile(fn(&Profile, &mut dyn Write) -> Result<()>),
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "perf.data",
        about: "a recording, as perf reads it",
        extensions: &[("data", Envelope::Bare)],
        envelope: Envelope::Bare,
        is_binary: true,
        writes: Writes::Records,
    },
    Format {
        name: "pprof",
        about: "profile.proto, for pprof, Go's PGO, Pyroscope, Parca, speedscope",
        extensions: &[("pb", Envelope::Bare), ("pprof", Envelope::Gzip), ("prof", Envelope::Gzip)],
        envelope: Envelope::Gzip,
        is_binary: true,
        writes: Writes::Profile(pprof::write),
    },
];

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format and the envelope that a file name asks for: `x.pb.gz` is a pprof in gzip, `x.pb` a bare one.
pub fn by_file_name(name: &str) -> Option<(&'static Format, Envelope)> {
    let (stem, asked_for) = Envelope::strip(name);
    let (_, ending) = stem.rsplit_once('.')?;
    FORMATS.iter().find_map(|format| {
        let &(_, usual) = format.extensions.iter().find(|(extension, _)| *extension == ending)?;
        Some((format, if asked_for == Envelope::Bare { usual } else { asked_for }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_format_and_envelope() {
        let choice = |name| by_file_name(name).map(|(format, envelope)| (format.name, envelope));
        assert_eq!(choice("a/out.pb.gz"), Some(("pprof", Envelope::Gzip)));
        assert_eq!(choice("out.pb.zst"), Some(("pprof", Envelope::Zstd)));
        assert_eq!(choice("out.pb"), Some(("pprof", Envelope::Bare)));
        assert_eq!(choice("out.pprof"), Some(("pprof", Envelope::Gzip)));
        assert_eq!(choice("out.pprof.zst"), Some(("pprof", Envelope::Zstd)));
        assert_eq!(choice("perf.data"), Some(("perf.data", Envelope::Bare)));
        assert_eq!(choice("out.gz"), None);
        assert_eq!(choice("pb"), None);
    }
}
