//! What is wrong with a recording: what in it does not decode, is not written back as the same bytes, or breaks the
//! format's rules. Where there are limits, they are those of perf 7.2, the strictest reader.

mod attrs;
mod checker;
mod features;
mod finding;
mod flow;
mod layout;
mod records;
mod references;
mod tracepoints;

pub use checker::{Checked, check};
pub use finding::{Finding, Rule, Severity, Subject};
