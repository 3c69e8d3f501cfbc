//! The profile that perf_to_profile (of perf_data_converter) makes, by its rules.
//!
//! They differ from those of [our own](crate::formats::pprof) in most that can be seen: columns and their names, which
//! frames are kept, mappings and locations of each process, lost samples as samples. What perf_to_profile refuses is made
//! a profile by the same rules.
//!
//! * `first_look`: the order of the records, and all maps, with what quipper's [passes](crate::rewrite) make of them.
//! * `build_ids`, `processes`, `stack`, `events`: what a sample is understood by.
//! * `builder`: puts them together, to a [`CompatProfile`].
//! * `encode`: writes it.
//!
//! A serialized PerfDataProto is such a stream of records too, once it is read as a [`Source`].

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

use crate::error::{Error, Result};
use crate::formats::Direct;
use crate::formats::options::{FormatOption, OptionValues, Takes};
use crate::stream::ledger::Ledger;
use crate::stream::source::Source;
use pre_scan::FirstLook;

/// The option that asks for it.
pub const COMPAT: FormatOption = FormatOption {
    conflicts: &["labels", "event", "split-by", "lost", "data-addresses", "thread-types"],
    ..FormatOption::new(
        "compat",
        "PROGRAM",
        "Write the pprof that another program makes of the recording",
        Takes::Choice(&[("perf_to_profile", "Of perf_data_converter: what pprof reads a perf.data by")]),
    )
};

/// The conversion, if the option asks for it.
pub fn direct(values: &OptionValues) -> Option<Direct> {
    values.is_given(&COMPAT).then_some(|source| {
        let (profile, ledger) = profile(source)?;
        Ok((Box::new(move |out| write(&profile, out)), ledger))
    })
}

/// Reads a recording into the profile that perf_to_profile makes of it. It is read once; what waits for the end of it and
/// is too much for memory goes to temporary files.
///
/// # Errors
/// Where there is not a single record that can be read, or no sample.
pub fn profile(source: Source) -> Result<(CompatProfile, Ledger)> {
    let name = source.meta().files[0].clone();
    let mut first_look = FirstLook::new(source.options().clone());
    let (_, mut ledger) = source.run(&mut first_look)?;
    let (builder, first) = first_look.into_parts();
    let (profile, built) = builder.finish();
    if profile.is_empty() {
        return Err(Error::input(name, None, "there is no sample in it, of which perf_to_profile makes no profile"));
    }
    ledger.account_for_stream();
    ledger.merge(first);
    ledger.merge(built);
    Ok((profile, ledger))
}
