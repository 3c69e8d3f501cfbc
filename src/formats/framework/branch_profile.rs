//! Profiles for compilers and binary optimizers: what formats that are written from counts of branches share.

use super::converter::{ConvertOptions, Converter};
use crate::branches::binary::BinaryBranches;
use crate::branches::selection::{BinaryName, open, select};
use crate::branches::{BranchCounter, BranchCounts, ObjectNumber, report};
use crate::profile::symbolize::SymbolSources;
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use std::io::{BufWriter, Write};

/// Options of all profiles for compilers and binary optimizers.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct BranchProfileOptions {
    /// Program, library or kernel to write the profile of, by its path, file name or build ID [default: that with most branches].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub binary: Option<BinaryName>,
}

/// A format that is written from the branches of an object.
pub(crate) trait BranchFormat {
    /// Writes a profile.
    ///
    /// # Errors
    /// If the format has nothing to write of the object, and errors of `out`.
    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()>;
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
    options: &BranchProfileOptions,
    out: &'a mut dyn Write,
    convert: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    let read = ReadOptions::default().with_spool_dir(convert.spool_dir.clone());
    let profile = BranchProfile {
        format,
        binary: options.binary.clone(),
        symbols: convert.symbols.clone(),
        out,
        counter: BranchCounter::default(),
        ledger: Ledger::default(),
    };
    Box::new(Order::new(profile, read))
}

/// Counts branches, and writes the profile at the end.
struct BranchProfile<'a, F> {
    format: F,
    binary: Option<BinaryName>,
    symbols: SymbolSources,
    out: &'a mut dyn Write,
    counter: BranchCounter,
    ledger: Ledger,
}

impl<F: BranchFormat> BranchProfile<'_, F> {
    fn write(&mut self, meta: &Meta, counts: &BranchCounts, number: ObjectNumber) -> Result<()> {
        let Some(symbols) = &self.symbols.objects else {
            return Err(Error::invalid(
                "the profile has addresses in the object file, which is not read after addresses were replaced, or with --symbols no",
            ));
        };
        let binary = open(counts, number, symbols, meta, &mut self.ledger)?;
        report::describe(counts, number, &binary, &mut self.ledger);
        let mut out = BufWriter::new(&mut *self.out);
        self.format.write(&binary, &mut self.ledger, &mut out)?;
        out.flush().map_err(Error::Output)
    }
}

impl<F: BranchFormat> Sink for BranchProfile<'_, F> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.counter.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let (counts, ledger) = std::mem::take(&mut self.counter).finish();
        self.ledger = ledger;
        report::account(&counts.tally, &mut self.ledger);
        let number = select(&counts, self.binary.as_ref())?;
        self.write(meta, &counts, number)
    }
}

impl<F: BranchFormat> Converter for BranchProfile<'_, F> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }
}
