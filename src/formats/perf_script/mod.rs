//! The text output of `perf script`, as of perf 6.1 to 7, with and without call chains.
//!
//! * `fields`: the fields, with their printers; a new one is a line there.
//! * `records`: records other than samples.
//! * `import`, `sample_line`, `frame`: the way back.

#[cfg(feature = "disassembly")]
mod branch_blocks;
mod branches;
mod call_chain;
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
mod selection;
mod style;
mod trace;

pub use import::{import, recognizes};

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::abi::record::RecordType;
use perf_symbols::symbol::demangle::Demangle;
pub use selection::SampleSelection;
use std::io::Write;
use std::num::NonZeroUsize;
pub use style::Style;

/// The text output of perf script.
pub const FORMAT: Format = Format {
    extensions: &[("script", None)],
    output: Some(OutputType::of::<PerfScript>()),
    functions: ShowsFunctions::Always,
    reader: FormatReader::Import(import),
    recognizes,
    ..Format::new("perf-script", "text output of perf script")
};

/// The text output of perf script with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct PerfScript {
    /// Fields to print, as in perf script: a list, or +FIELD and -FIELD to change the default ones; TYPE: before it selects the
    /// events (hw, sw, trace, raw).
    #[cfg_attr(
        feature = "cli",
        arg(short = 'F', long, value_name = "FIELDS", value_parser = fields::checked, allow_hyphen_values = true)
    )]
    pub fields: Vec<String>,

    /// Print times in nanoseconds.
    #[cfg_attr(feature = "cli", arg(long = "ns"))]
    pub nanoseconds: bool,

    /// Print times since the first sample.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "deltatime"))]
    pub reltime: bool,

    /// Print times since the previous sample.
    #[cfg_attr(feature = "cli", arg(long))]
    pub deltatime: bool,

    /// Version of perf whose text to write.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "VERSION", default_value = "6.1", value_parser = Style::parser())
    )]
    pub perf_style: Style,

    /// Also print COMM, FORK and EXIT records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_task_events: bool,

    /// Also print MMAP and MMAP2 records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_mmap_events: bool,

    /// Also print SWITCH and SWITCH_CPU_WIDE records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_switch_events: bool,

    /// Also print LOST records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_lost_events: bool,

    /// Also print NAMESPACES records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_namespace_events: bool,

    /// Also print CGROUP records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_cgroup_events: bool,

    /// Also print KSYMBOL and BPF_EVENT records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_bpf_events: bool,

    /// Also print KSYMBOL and TEXT_POKE records.
    #[cfg_attr(feature = "cli", arg(long))]
    pub show_text_poke_events: bool,

    /// Which samples to print.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub selection: SampleSelection,

    /// Whether to print only the instruction pointer of samples with a call chain.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub hides_call_graph: bool,

    /// Maximum number of frames of a call chain to print.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub max_frames: Option<NonZeroUsize>,

    /// Whether source files are printed without their directories, as perf does without `--full-source-path`.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub has_short_source_paths: bool,

    /// Whether the error about a missing field has the words of perf, which programs that run perf look for.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub has_perf_errors: bool,
}

impl PerfScript {
    /// The types of records that are printed besides samples.
    fn shown_records(&self) -> Vec<RecordType> {
        let types: [(bool, &[RecordType]); 8] = [
            (self.show_task_events, &[RecordType::COMM, RecordType::FORK, RecordType::EXIT]),
            (self.show_mmap_events, &[RecordType::MMAP, RecordType::MMAP2]),
            (self.show_switch_events, &[RecordType::SWITCH, RecordType::SWITCH_CPU_WIDE]),
            (self.show_lost_events, &[RecordType::LOST]),
            (self.show_namespace_events, &[RecordType::NAMESPACES]),
            (self.show_cgroup_events, &[RecordType::CGROUP]),
            (self.show_bpf_events, &[RecordType::KSYMBOL, RecordType::BPF_EVENT]),
            (self.show_text_poke_events, &[RecordType::KSYMBOL, RecordType::TEXT_POKE]),
        ];
        types.into_iter().filter(|(are_shown, _)| *are_shown).flat_map(|(_, types)| types).copied().collect()
    }
}

impl OutputFormat for PerfScript {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn shows_lines(&self) -> bool {
        self.fields.iter().any(|fields| fields.contains("srcline"))
    }

    fn demangling(&self) -> Demangle {
        self.perf_style.demangling()
    }
}

impl RecordFormat for PerfScript {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        export::begin(self, out, options)
    }
}
