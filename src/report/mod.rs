//! Reports on a profile, independent of their form: the functions with the most samples, their callers, callees and lines.
//!
//! ```
//! use perfconv::report::{key::ReportKey, location::Locations, top::Top};
//!
//! # fn main() -> perfconv::Result<()> {
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! let (profile, _) = recording.profile().collect()?;
//! let locations = Locations::new(&profile.tables);
//! for function in Top::new(&profile, &locations, None, &[ReportKey::Dso, ReportKey::Sym], false).entries {
//!     // Names can contain anything.
//!     println!("{} {}", function.usage.own.samples, perf_data::printable::name(&function.cells[1]));
//! }
//! # Ok(())
//! # }
//! ```

pub mod annotation;
pub mod cache_lines;
pub(crate) mod call_tree;
mod column;
pub(crate) mod comparison;
mod data_text;
pub(crate) mod facts;
pub mod function_tree;
pub(crate) mod histogram;
pub mod key;
pub mod location;
pub(crate) mod neighbors;
pub mod ratio;
pub mod source_files;
pub(crate) mod source_lines;
#[cfg(test)]
mod test_column;
pub mod top;
pub(crate) mod tree_lines;

use crate::profile::Row;
use std::cmp::Reverse;
use std::iter::Sum;
use std::ops::AddAssign;

/// Samples with the sum of their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counts {
    /// Sum of the values, such as periods.
    pub value: u64,
    /// Number of samples.
    pub samples: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.value = self.value.saturating_add(other.value);
        self.samples = self.samples.saturating_add(other.samples);
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(list: I) -> Self {
        list.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

impl From<&Row> for Counts {
    fn from(row: &Row) -> Self {
        Self { value: row.value, samples: row.samples }
    }
}

impl Counts {
    /// Its value as a percentage of another. Without values, samples are compared.
    pub fn percent_of(self, all: Self) -> f64 {
        let share = |part: u64, whole: u64| part as f64 * 100.0 / whole as f64;
        match (all.value, all.samples) {
            (0, 0) => 0.0,
            (0, samples) => share(self.samples, samples),
            (value, _) => share(self.value, value),
        }
    }
}

/// Counts of samples in which a place is the innermost (`own`), and in which it occurs at all (`total`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Samples in the place itself.
    pub own: Counts,
    /// Samples in it or in what it calls.
    pub total: Counts,
}

impl Usage {
    /// Orders by the total, or by what is in the place itself, the most first.
    pub fn order(&self, by_total: bool) -> Reverse<(Counts, Counts)> {
        if by_total { Reverse((self.total, self.own)) } else { Reverse((self.own, self.total)) }
    }
}
