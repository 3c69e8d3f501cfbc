//! The profile that perf_to_profile (of perf_data_converter) produces, by its rules.
//!
//! They differ from those of [`pprof`](crate::formats::pprof) in most visible aspects: columns and their names, which
//! frames are kept, mappings and locations per process, and lost samples as samples. Recordings that perf_to_profile
//! rejects are converted by the same rules.
//!
//! * `pre_scan`: sorts the records, and collects all maps, with the changes that quipper's [passes](crate::rewrite)
//!   make.
//! * `build_ids`, `processes`, `stack`, `events`: the state that samples are interpreted with.
//! * `builder`: combines them into a [`CompatProfile`].
//! * `encode`: writes it.
//!
//! A serialized PerfDataProto can be converted, too, if it is read as a [`Source`].

mod build_ids;
mod builder;
mod encode;
mod events;
mod pre_scan;
mod processes;
mod profile;
mod stack;
#[cfg(test)]
mod tests;

pub use encode::write;
pub use profile::CompatProfile;

use crate::formats::framework::output::WriteOut;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use pre_scan::PreScan;

/// Converts a recording, and returns a function that writes the profile.
///
/// # Errors
/// As [`profile`].
pub fn convert(source: Source) -> Result<(WriteOut, Ledger)> {
    let (profile, ledger) = profile(source)?;
    Ok((Box::new(move |out| write(&profile, out)), ledger))
}

/// Converts a recording to the profile that perf_to_profile produces. The recording is read once; records that must
/// wait for its end are spilled to temporary files beyond a memory budget.
///
/// # Errors
/// If no record is readable, or there is no sample.
pub fn profile(source: Source) -> Result<(CompatProfile, Ledger)> {
    let name = source.meta().files[0].clone();
    let mut pre_scan = PreScan::new(source.options().clone());
    let (_, mut ledger) = source.run(&mut pre_scan)?;
    let (builder, pre_scan_ledger) = pre_scan.into_parts();
    let (profile, built) = builder.finish();
    if profile.is_empty() {
        return Err(Error::input(name, None, "it has no samples; perf_to_profile writes no profile then"));
    }
    ledger.account_for_stream();
    ledger.merge(pre_scan_ledger);
    ledger.merge(built);
    Ok((profile, ledger))
}
