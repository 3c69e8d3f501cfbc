//! The formats that recordings are converted to and made of.

pub mod carry;
pub mod csv;
pub mod envelope;
pub mod folded;
pub mod import;
pub mod json;
mod message;
pub mod perf_json;
pub mod perf_script;
pub mod pprof;
pub mod quipper;
pub mod recognize;

use crate::abi::header;
use crate::error::Result;
use crate::profile::Profile;
use crate::profile::event::ProfileEvent;
use crate::profile::sample_sink::TakeSamples;
use crate::stream::events::EventIndex;
use crate::stream::ledger::Ledger;
use carry::{BeginCarry, BeginFolder};
use envelope::Envelope;
use import::Import;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;

/// A format, as the list of all of them tells it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, for `--to`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Endings of file names that choose it, and how a file is compressed whose name ends with just that.
    pub extensions: &'static [(&'static str, Option<Envelope>)],
    /// How it is compressed where no name says.
    pub envelope: Option<Envelope>,
    /// Whether it is for programs, not to be shown on a terminal.
    pub is_binary: bool,
    /// What it is written from.
    pub writes: Writes,
    /// What can be read of it.
    pub reads: Reads,
    /// Copies an input of this format that is valid, where a conversion to the same format changes nothing.
    pub copy: Option<CopyProfile>,
    /// Whether an input that begins like this, [`recognize::START`] bytes of it at most, is in this format.
    pub recognises: fn(&[u8]) -> bool,
    /// Whether no other input begins like this: then the name of the input does not matter.
    pub is_distinctive: bool,
}

/// Copies a profile that is valid, and accounts for its samples.
pub type CopyProfile = fn(stream: &mut (dyn Read + Send), name: &str, out: &mut dyn Write) -> Result<Ledger>;

/// What can be read of a format.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// It is a recording.
    Recording,
    /// It carries one, that can be made again; or becomes one.
    Import(Import),
    /// Nothing.
    Nothing,
}

/// What a format is written from.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// The stream of records: the format is that of recordings.
    Records,
    /// The stream of records, each in a form of its own.
    Carry(BeginCarry),
    /// The stream of records, to several files in a folder.
    Folder {
        /// Begins them.
        begin: BeginFolder,
        /// Whether a folder has such files and nothing else, so that others may take its place.
        is_alike: fn(&Path) -> bool,
    },
    /// Stacks and values.
    Profile(WriteProfile),
    /// It is not written.
    Nothing,
}

/// How a profile is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteProfile {
    /// Writes a profile.
    pub write: fn(&Profile, &mut dyn Write) -> Result<()>,
    /// Writes samples one by one, where the format can.
    pub streamed: Option<BeginStreamed>,
}

/// Begins an output that takes samples one by one, of these events; and which of them have samples.
pub type BeginStreamed =
    for<'a> fn(&'a mut dyn Write, &[ProfileEvent], &BTreeSet<EventIndex>) -> Box<dyn Streamed + 'a>;

/// An output that takes samples one by one.
pub trait Streamed: TakeSamples {
    /// Writes what comes behind the samples, of a profile without rows.
    ///
    /// # Errors
    /// What the output says.
    fn finish(self: Box<Self>, profile: &Profile) -> Result<()>;
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "perf.data",
        about: "a recording, as perf reads it",
        extensions: &[("data", None)],
        envelope: None,
        is_binary: true,
        writes: Writes::Records,
        reads: Reads::Recording,
        copy: None,
        recognises: |start| header::endian(start).is_some(),
        is_distinctive: true,
    },
    Format {
        name: "pprof",
        about: "profile.proto, for pprof, Go's PGO, Pyroscope, Parca, speedscope",
        extensions: &[("pb", None), ("pprof", Some(Envelope::Gzip)), ("prof", Some(Envelope::Gzip))],
        envelope: Some(Envelope::Gzip),
        is_binary: true,
        writes: Writes::Profile(WriteProfile { write: pprof::write, streamed: Some(pprof::begin) }),
        reads: Reads::Import(pprof::import),
        copy: Some(pprof::copy),
        recognises: pprof::recognises,
        is_distinctive: false,
    },
    Format {
        name: "quipper",
        about: "PerfDataProto, for quipper, perf_to_profile, AutoFDO",
        extensions: &[("pb_data", None), ("quipper", None)],
        envelope: None,
        is_binary: true,
        writes: Writes::Carry(quipper::begin),
        reads: Reads::Import(quipper::import),
        copy: None,
        recognises: quipper::recognises,
        is_distinctive: false,
    },
    #[cfg(feature = "quipper-text")]
    Format {
        name: "quipper-text",
        about: "PerfDataProto as text, for people",
        extensions: &[("pb_text", None)],
        envelope: None,
        is_binary: false,
        writes: Writes::Carry(quipper::begin_text),
        reads: Reads::Import(quipper::import_text),
        copy: None,
        recognises: quipper::recognises_text,
        is_distinctive: false,
    },
    Format {
        name: "jsonl",
        about: "a recording as JSON Lines, one object for each record, and back",
        extensions: &[("jsonl", None), ("ndjson", None)],
        envelope: None,
        is_binary: false,
        writes: Writes::Carry(json::begin_lines),
        reads: Reads::Import(json::import),
        copy: None,
        recognises: json::recognises,
        is_distinctive: true,
    },
    Format {
        name: "json",
        about: "the same objects in one JSON document, and back",
        extensions: &[("json", None)],
        envelope: None,
        is_binary: false,
        writes: Writes::Carry(json::begin_document),
        reads: Reads::Import(json::import),
        copy: None,
        recognises: |_| false,
        is_distinctive: true,
    },
    Format {
        name: "perf-json",
        about: "what perf data convert --to-json writes, and more of each sample",
        extensions: &[],
        envelope: None,
        is_binary: false,
        writes: Writes::Carry(perf_json::begin),
        reads: Reads::Nothing,
        copy: None,
        recognises: perf_json::recognises,
        is_distinctive: true,
    },
    Format {
        name: "folded",
        about: "folded stacks, of flame graphs; read alone",
        extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
        envelope: None,
        is_binary: false,
        writes: Writes::Nothing,
        reads: Reads::Import(folded::import),
        copy: None,
        recognises: folded::recognises,
        is_distinctive: false,
    },
    Format {
        name: "perf-script",
        about: "the text of perf script; read alone",
        extensions: &[("script", None)],
        envelope: None,
        is_binary: false,
        writes: Writes::Nothing,
        reads: Reads::Import(perf_script::import),
        copy: None,
        recognises: perf_script::recognises,
        is_distinctive: false,
    },
    Format {
        name: "csv",
        about: "tables in a folder: records by type, records, processes, results",
        extensions: &[],
        envelope: None,
        is_binary: false,
        writes: Writes::Folder { begin: csv::begin, is_alike: csv::is_alike },
        reads: Reads::Nothing,
        copy: None,
        recognises: |_| false,
        is_distinctive: false,
    },
];

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format and the envelopes, outermost first, that a file name asks for: `x.pb.gz` is a pprof in gzip, `x.pb` a bare
/// one.
pub fn by_file_name(name: &str) -> Option<(&'static Format, Vec<Envelope>)> {
    let (stem, asked_for) = envelope::strip(name);
    let (_, ending) = stem.rsplit_once('.')?;
    let (format, usual) = FORMATS.iter().find_map(|format| {
        let &(_, usual) = format.extensions.iter().find(|(extension, _)| extension.eq_ignore_ascii_case(ending))?;
        Some((format, usual))
    })?;
    Some((format, if asked_for.is_empty() { Vec::from_iter(usual) } else { asked_for }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Envelope::{Gzip, Zstd};

    #[test]
    fn names_choose_format_and_envelope() {
        let choice = |name| by_file_name(name).map(|(format, envelopes)| (format.name, envelopes));
        assert_eq!(choice("a/out.pb.gz"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("OUT.PB.GZ"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("out.pb.zst"), Some(("pprof", vec![Zstd])));
        assert_eq!(choice("out.pb.gz.zst"), Some(("pprof", vec![Zstd, Gzip])));
        assert_eq!(choice("out.pb"), Some(("pprof", vec![])));
        assert_eq!(choice("out.pprof"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("out.pprof.zst"), Some(("pprof", vec![Zstd])));
        assert_eq!(choice("perf.data"), Some(("perf.data", vec![])));
        assert_eq!(choice("perf.data.gz"), Some(("perf.data", vec![Gzip])));
        assert_eq!(choice("out.gz"), None);
        assert_eq!(choice("pb"), None);
    }
}
