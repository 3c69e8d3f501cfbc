//! Samples of certain CPUs: `--cpu`.

use super::not_found::{What, no_field, not_there};
use super::pass::{Filter, Sample};
use crate::error::Result;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::PassFactory;
use crate::stream::meta::Meta;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// `--cpu`.
const CPU: Parameter<CpuRange> = Parameter::list("--cpu", "CPUS", str::parse);

/// The option of this filter.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &CPU,
    Outputs::All,
    "Only samples of these CPUs, separated by commas, such as 0,4-7",
    |values| {
        let wanted = values.of(&CPU);
        Ok(PassFactory::filter(move || CpuFilter::new(wanted.clone())))
    },
)];

/// CPUs, as they are told in text: `3` or `0-3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuRange {
    first: u32,
    last: u32,
}

impl FromStr for CpuRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse().map_err(|_| format!("{text} is no CPU"));
        let (first, last) = (number(first)?, number(last)?);
        if first > last { Err(format!("{first} is behind {last}")) } else { Ok(Self { first, last }) }
    }
}

impl fmt::Display for CpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

/// Keeps the samples of certain CPUs.
#[derive(Clone, Debug)]
pub struct CpuFilter {
    wanted: Vec<CpuRange>,
    there: BTreeSet<u32>,
    untold: u64,
}

impl CpuFilter {
    /// Those of these CPUs. Of a range it is enough that there is one.
    pub fn new(wanted: Vec<CpuRange>) -> Self {
        Self { wanted, there: BTreeSet::new(), untold: 0 }
    }
}

impl Filter for CpuFilter {
    fn option(&self) -> &'static str {
        CPU.name()
    }

    fn begin(&mut self, _: &Meta) {
        self.untold = 0;
        self.there.clear();
    }

    fn keeps(&mut self, sample: &Sample<'_>) -> bool {
        let Some((cpu, _)) = sample.view.cpu else {
            self.untold += 1;
            return false;
        };
        self.there.insert(cpu);
        self.wanted.iter().any(|range| (range.first..=range.last).contains(&cpu))
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        if self.untold > 0 {
            return Err(no_field(self.option(), "their CPU", self.untold));
        }
        let missing = self.wanted.iter().find(|range| self.there.range(range.first..=range.last).next().is_none());
        match missing {
            Some(missing) => {
                let what = What { one: "CPU", several: "CPUs" };
                Err(not_there(self.option(), what, missing, self.there.iter()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_told_as_it_is_written() {
        for text in ["3", "0-7"] {
            assert_eq!(text.parse::<CpuRange>().unwrap().to_string(), text);
        }
        for text in ["", "a", "3-1", "1-", "1-2-3"] {
            assert!(text.parse::<CpuRange>().is_err(), "{text}");
        }
    }
}
