//! The records of a pre-aggregated profile.

use crate::branches::TraceCount;
use crate::branches::binary::{BinaryBranches, End};
use perf_data::stream::ledger::Ledger;
use perf_symbols::symbol::table::SymbolTable;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Result, Write};

/// Names of entries of procedure linkage tables end in this. BOLT does not divide them into blocks.
const PLT: &[u8] = b"@plt";

/// An address, as BOLT reads it.
struct Address(End);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            End::Outside => f.write_str("X:0"),
            End::At(address) => write!(f, "{address:x}"),
        }
    }
}

/// Functions by address, for the records of ranges.
struct FunctionBounds(Vec<(u64, u64)>);

impl FunctionBounds {
    fn new(table: &SymbolTable) -> Self {
        let functions = table.symbols().filter(|(_, _, name)| !name.ends_with(PLT));
        Self(functions.map(|(start, size, _)| (start, start.saturating_add(size))).collect())
    }

    /// The start of the function with an address.
    fn find(&self, address: u64) -> Option<u64> {
        let index = self.0.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        self.0.get(index).filter(|(_, end)| address < *end).map(|(start, _)| *start)
    }
}

/// Records of branches, and of ranges in one function.
pub(super) fn branches_and_ranges(binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
    let functions = FunctionBounds::new(binary.files.table());
    if functions.0.is_empty() {
        ledger.missing(format!(
            "{} is stripped: without functions, there are no records of ranges; use a file with symbols, or --bolt-version 22",
            binary.object.name()
        ));
    }
    let mut branches: BTreeMap<(End, End), TraceCount> = BTreeMap::new();
    let [mut within, mut entered]: [BTreeMap<(u64, u64), u64>; 2] = Default::default();
    for (trace, sum) in &binary.traces {
        branches.entry((trace.from, trace.to)).or_default().add(*sum);
        let Some((start, end)) = trace.range() else { continue };
        let Some(function) = functions.find(start).filter(|&function| functions.find(end) == Some(function)) else {
            continue;
        };
        let is_within = trace.from.address().and_then(|from| functions.find(from)) == Some(function);
        *(if is_within { &mut within } else { &mut entered }).entry((start, end)).or_default() += sum.count;
    }
    for ((from, to), TraceCount { count, mispredicted }) in branches {
        writeln!(out, "B {} {} {count} {mispredicted}", Address(from), Address(to))?;
    }
    for (record, ranges) in [('F', within), ('f', entered)] {
        for ((start, end), count) in ranges {
            writeln!(out, "{record} {start:x} {end:x} {count}")?;
        }
    }
    Ok(())
}

/// Records of traces.
pub(super) fn traces(binary: &BinaryBranches, has_mispredictions: bool, out: &mut dyn Write) -> Result<()> {
    for (trace, TraceCount { count, mispredicted }) in &binary.traces {
        let end = trace.next.unwrap_or(End::At(u64::MAX));
        write!(out, "T {} {} {} {count}", Address(trace.from), Address(trace.to), Address(end))?;
        if has_mispredictions {
            write!(out, " {mispredicted}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Records of instruction pointers, after those of their events.
pub(super) fn samples(binary: &BinaryBranches, out: &mut dyn Write) -> Result<()> {
    for event in &binary.events {
        writeln!(out, "E {event}")?;
    }
    for (address, count) in &binary.addresses {
        writeln!(out, "S {address:x} {count}")?;
    }
    Ok(())
}
