//! Profiles for compilers and binary optimizers: what formats that are written from counts of branches share.

use super::converter::{ConvertOptions, Converter};
use super::output::{DirectoryFormat, FormatWriter, OutputFormat, RecordFormat};
use crate::branches::binary::BinaryBranches;
use crate::branches::selection::{BinaryName, open, select};
use crate::branches::{BranchCounter, BranchCounts, Remapping, report};
use crate::profile::symbolize::{SymbolOptions, SymbolSources};
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Options of all profiles for compilers and binary optimizers.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct BranchProfileOptions {
    /// Program, library or kernel to write the profile of, by its path, file name or build ID [default: that with most branches].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub binary: Option<BinaryName>,

    /// Write a profile of each program and library to a directory, named by its file name and build ID.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "binary"))]
    pub all_binaries: bool,

    /// Count code in memory with this name as that of this program or library, over which it was mapped, as for huge pages.
    #[cfg_attr(feature = "cli", arg(long, value_name = "ANON=FILE"))]
    pub remapped: Vec<Remapping>,
}

impl BranchProfileOptions {
    /// How a format is written: as a file of one object, or as a directory with a file of each.
    pub(crate) fn writer<'a>(&self, one: &'a dyn RecordFormat, all: &'a dyn DirectoryFormat) -> FormatWriter<'a> {
        if self.all_binaries { FormatWriter::Directory(all) } else { FormatWriter::Converter(one) }
    }
}

impl<F: BranchFormat + Clone + OutputFormat> DirectoryFormat for F {
    fn begin(&self, directory: &Path, options: &ConvertOptions) -> Result<Box<dyn Converter>> {
        let extension = self.format().extensions.first().map_or("", |(extension, _)| extension);
        let target = BranchTarget::Directory(directory.to_owned(), extension);
        Ok(Box::new(ordered(self.clone(), target, options)))
    }

    fn is_alike(&self) -> fn(&Path) -> bool {
        has_profiles_only
    }
}

/// Extensions of profiles of one object.
const EXTENSIONS: [&str; 5] = ["preagg", "unsymbolized", "autofdo", "sampleprof", "afdo"];

/// Whether a directory contains nothing but profiles.
fn has_profiles_only(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    let is_profile = |path: PathBuf| path.extension().is_some_and(|own| EXTENSIONS.iter().any(|other| own == *other));
    entries.all(|entry| entry.is_ok_and(|entry| is_profile(entry.path())))
}

/// A format that is written from the branches of an object.
pub(crate) trait BranchFormat {
    /// The options of all such formats.
    fn profile(&self) -> &BranchProfileOptions;

    /// Writes a profile.
    ///
    /// # Errors
    /// If the format has nothing to write of the object, and errors of `out`.
    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()>;

    /// Whether samples are needed with their call chains.
    fn needs_call_chains(&self) -> bool {
        false
    }
}

/// The error that a format needs branches.
pub(crate) fn without_branches(format: &str) -> Error {
    Error::not_found(format!(
        "the recording has no branch stacks, which {format} needs; record with perf record -b where the processor supports it"
    ))
}

/// Begins a profile of one object.
pub(crate) fn begin<'a>(
    format: impl BranchFormat + 'a,
    out: &'a mut dyn Write,
    convert: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    let target = BranchTarget::One(format.profile().binary.clone(), out);
    Box::new(ordered(format, target, convert))
}

fn ordered<'a, F: BranchFormat>(
    format: F,
    target: BranchTarget<'a>,
    convert: &ConvertOptions,
) -> Order<BranchProfile<'a, F>> {
    let read = ReadOptions::default().with_spool_dir(convert.spool_dir.clone());
    let counter = BranchCounter::default().with_remapped(format.profile().remapped.clone());
    let counter =
        if format.needs_call_chains() { counter.with_call_chains(convert.spool_dir.clone()) } else { counter };
    let ledger = Ledger::default();
    Order::new(BranchProfile { format, target, symbols: convert.symbols.clone(), counter, ledger }, read)
}

/// What is written.
enum BranchTarget<'a> {
    /// The profile of one object, by default of that with most branches.
    One(Option<BinaryName>, &'a mut dyn Write),
    /// Those of all objects, as files with an extension.
    Directory(PathBuf, &'static str),
}

/// Counts branches, and writes profiles at the end.
struct BranchProfile<'a, F> {
    format: F,
    target: BranchTarget<'a>,
    symbols: SymbolSources,
    counter: BranchCounter,
    ledger: Ledger,
}

impl<F: BranchFormat> BranchProfile<'_, F> {
    /// Writes the profile of each object whose file is found.
    fn write_all(&mut self, meta: &Meta, counts: &BranchCounts, symbols: &SymbolOptions) -> Result<()> {
        let Self { format, target: BranchTarget::Directory(directory, extension), ledger, .. } = self else {
            return Ok(());
        };
        let (mut written, mut first_error) = (0, None);
        for (number, _) in counts.by_weight() {
            let profile = open(counts, number, symbols, meta, ledger).and_then(|binary| {
                let mut bytes = Vec::new();
                format.write(&binary, ledger, &mut bytes)?;
                report::describe(counts, number, &binary, ledger);
                Ok((binary, bytes))
            });
            match profile {
                Ok((binary, bytes)) => {
                    let path = directory.join(format!("{}.{extension}", binary.object.file_name()));
                    fs::write(&path, bytes).map_err(Error::io(path.display().to_string(), "cannot write"))?;
                    written += 1;
                }
                Err(error) => {
                    ledger.missing(error.naming_options(|option| format!("--{}", option.replace('_', "-"))));
                    first_error.get_or_insert(error);
                }
            }
        }
        match (written, first_error) {
            (0, Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

impl<F: BranchFormat> Sink for BranchProfile<'_, F> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.counter.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let (counts, ledger) = std::mem::take(&mut self.counter).finish()?;
        self.ledger = ledger;
        report::account(&counts.tally, &mut self.ledger);
        if counts.tally.remapped == 0
            && let Some(remapping) = self.format.profile().remapped.first()
        {
            self.ledger.note(format!("no memory was mapped over a file as in {remapping}"));
        }
        let Some(symbols) = self.symbols.objects.clone() else {
            return Err(Error::invalid(
                "the profile has addresses in the object file, which is not read with --symbols no, or after addresses were replaced",
            ));
        };
        let Self { target: BranchTarget::One(name, out), format, ledger, .. } = self else {
            return self.write_all(meta, &counts, &symbols);
        };
        let number = select(&counts, name.as_ref())?;
        let binary = open(&counts, number, &symbols, meta, ledger)?;
        report::describe(&counts, number, &binary, ledger);
        let mut out = BufWriter::new(out);
        format.write(&binary, ledger, &mut out)?;
        out.flush().map_err(Error::Output)
    }
}

impl<F: BranchFormat> Converter for BranchProfile<'_, F> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }
}
