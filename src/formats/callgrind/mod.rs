//! Profiles in the format of Callgrind: cost by function, file and line, and calls.

mod costs;

use super::{Format, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::report::location::Locations;
use costs::{CostFunction, Costs};
use hashbrown::HashSet;
use perf_data::error::{Error, Result};
use perf_data::printable;
use std::io::{self, BufWriter, Write};

/// Profiles in the format of Callgrind.
pub const FORMAT: Format = Format {
    extensions: &[("callgrind", None)],
    output: Some(OutputType::of::<Callgrind>()),
    functions: ShowsFunctions::Always,
    ..Format::new("callgrind", "cost by function, line and call, for KCachegrind")
};

/// Profiles of Callgrind with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Callgrind {}

impl OutputFormat for Callgrind {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Callgrind {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let locations = Locations::new(&profile.tables);
        let costs = Costs::new(profile, &locations);
        let mut out = BufWriter::with_capacity(1 << 17, out);
        head(profile, &costs, &mut out).map_err(Error::Output)?;
        let mut names = NumberedNames { locations: &locations, defined: HashSet::new() };
        costs
            .functions()
            .try_for_each(|function| body(function, &costs, &mut names, &mut out))
            .map_err(Error::Output)?;
        out.flush().map_err(Error::Output)
    }
}

fn head(profile: &Profile, costs: &Costs, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# callgrind format\nversion: 1\ncreator: perfconv-{}", env!("CARGO_PKG_VERSION"))?;
    if let Some(command) = &profile.tables.command {
        writeln!(out, "cmd: {}", printable::escape(command))?;
    }
    writeln!(out, "positions: line\nevents:{}\nsummary:{}\n", costs.event_names(profile), numbers(costs.totals()))
}

/// Lines of a function, and its calls.
fn body(function: u32, costs: &Costs, names: &mut NumberedNames<'_>, out: &mut dyn Write) -> io::Result<()> {
    names.position(["ob", "fl", "fn"], function, costs.function(function), out)?;
    for (line, cost) in costs.lines(function) {
        writeln!(out, "{line}{}", numbers(cost))?;
    }
    for (line, callee, samples, cost) in costs.calls(function) {
        let called = costs.function(callee);
        names.position(["cob", "cfi", "cfn"], callee, called, out)?;
        writeln!(out, "calls={samples} {}\n{line}{}", called.start_line, numbers(cost))?;
    }
    writeln!(out)
}

fn numbers(costs: &[u64]) -> String {
    costs.iter().map(|cost| format!(" {cost}")).collect()
}

/// NumberedNames in the file. The first use of a number defines it.
struct NumberedNames<'a> {
    locations: &'a Locations,
    /// Kind and number.
    defined: HashSet<(usize, u32)>,
}

impl NumberedNames<'_> {
    /// Writes object, source file and function.
    fn position(
        &mut self,
        keys: [&str; 3],
        number: u32,
        function: &CostFunction,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let numbers = [function.dso.0, function.file.0, number];
        let names = [function.dso, function.file, function.name];
        for (kind, (key, (number, name))) in keys.into_iter().zip(numbers.into_iter().zip(names)).enumerate() {
            if !self.defined.insert((kind, number)) {
                writeln!(out, "{key}=({number})")?;
                continue;
            }
            let text = self.locations.text(name);
            // Callgrind's name for an unknown file.
            let text = if text.is_empty() { "???" } else { &text };
            writeln!(out, "{key}=({number}) {}", printable::escape(text))?;
        }
        Ok(())
    }
}
