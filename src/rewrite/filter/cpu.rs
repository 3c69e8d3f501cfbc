//! Keeps samples of certain CPUs: `--cpu`.

use super::not_found::{Noun, missing_field, value_not_found};
use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Keeps samples of certain CPUs.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Cpu {
    /// Keep only samples of these CPUs, separated by commas, such as 0,4-7.
    #[cfg_attr(feature = "cli", arg(long = "cpu", id = "cpu", value_name = "CPUS", value_delimiter = ','))]
    pub cpus: Vec<CpuRange>,
}

impl PassOptions for Cpu {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(CpuFilter::new(self.cpus.clone()))
    }
}

/// A range of CPUs, written `3` or `0-3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuRange {
    first: u32,
    last: u32,
}

impl CpuRange {
    /// Whether it includes a CPU.
    pub fn contains(self, cpu: u32) -> bool {
        (self.first..=self.last).contains(&cpu)
    }
}

impl FromStr for CpuRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse().map_err(|_| format!("'{text}' is not a CPU number"));
        let (first, last) = (number(first)?, number(last)?);
        if first > last { Err(format!("{first} is greater than {last}")) } else { Ok(Self { first, last }) }
    }
}

impl fmt::Display for CpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

/// Keeps samples of certain CPUs.
#[derive(Clone, Debug)]
pub struct CpuFilter {
    wanted: Vec<CpuRange>,
    seen: BTreeSet<u32>,
    without_field: u64,
}

impl CpuFilter {
    /// Creates a filter of these CPUs. A range needs samples of at least one of its CPUs.
    pub fn new(wanted: Vec<CpuRange>) -> Self {
        Self { wanted, seen: BTreeSet::new(), without_field: 0 }
    }
}

impl Filter for CpuFilter {
    fn option(&self) -> &'static str {
        "--cpu"
    }

    fn begin(&mut self, _: &Meta) {
        self.without_field = 0;
        self.seen.clear();
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let Some((cpu, _)) = sample.view.cpu else {
            self.without_field += 1;
            return false;
        };
        self.seen.insert(cpu);
        self.wanted.iter().any(|range| range.contains(cpu))
    }

    fn check(&mut self, meta: &Meta) -> Result<()> {
        if self.without_field > 0 {
            return Err(missing_field(meta, self.option(), "a CPU", self.without_field));
        }
        let missing = self.wanted.iter().find(|range| self.seen.range(range.first..=range.last).next().is_none());
        match missing {
            Some(missing) => {
                let noun = Noun { singular: "CPU", plural: "CPUs", is_text: false };
                Err(value_not_found(meta, self.option(), noun, missing, self.seen.iter()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_a_range_as_it_is_written() {
        for text in ["3", "0-7"] {
            assert_eq!(text.parse::<CpuRange>().unwrap().to_string(), text);
        }
        for text in ["", "a", "3-1", "1-", "1-2-3"] {
            assert!(text.parse::<CpuRange>().is_err(), "{text}");
        }
    }
}
