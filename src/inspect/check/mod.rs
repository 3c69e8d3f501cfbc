//! Checks recordings for data that cannot be decoded, does not encode to the same bytes, or violates the rules of the
//! format.
//!
//! Limits are those of perf 7.2, the strictest reader. `docs/check.md` explains the code of each rule.

mod attrs;
mod checker;
mod features;
mod finding;
mod flow;
mod layout;
mod records;
mod references;
mod stored_symbols;
mod trace_buffers;
mod tracepoints;

pub use checker::{Checked, check};
pub use finding::{Finding, Rule, Severity, Subject};
