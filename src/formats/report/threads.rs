//! What tables of threads share: names, times, and the line that says how many rows are omitted.

use super::style::line;
use crate::profile::Profile;
use perf_data::printable;
use perf_data::session::names::NameId;
use std::borrow::Cow;

/// The name of a thread.
pub(super) fn comm(profile: &Profile, comm: Option<NameId>) -> Option<Cow<'_, str>> {
    comm.map(|comm| String::from_utf8_lossy(profile.tables.names.name(comm)))
}

/// The name of a thread, with its IDs.
pub(super) fn name(profile: &Profile, name: Option<NameId>, pid: u32, tid: u32) -> String {
    format!("{} {pid}/{tid}", comm(profile, name).as_deref().map_or("[unknown]".into(), printable::name))
}

/// Adds the number of rows beyond a limit.
pub(super) fn omitted(all: usize, limit: usize, text: &mut String) {
    if all > limit {
        line!(text, "{} more; choose another limit with --limit", all - limit);
    }
}

pub(super) fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

pub(super) fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1_000_000, nanoseconds / 1000 % 1000)
}
