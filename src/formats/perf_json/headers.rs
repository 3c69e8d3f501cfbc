//! Writes the headers object.

use super::text::{field, number};
use crate::inspect::info::header::{captured_on, data_section, features, file_header, version};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::stream::meta::Meta;

/// Appends the fields that describe the recording, with the time when its file was written if `with_time`.
///
/// # Errors
/// None in practice: all values are numbers and strings.
pub(super) fn headers(out: &mut Vec<u8>, meta: &Meta, with_time: bool) -> Result<(), Unsupported> {
    let file = file_header(meta);
    number(out, "header-version", file.as_ref().map_or(1, version).into());
    if let Some(time) = captured_on(meta).filter(|_| with_time) {
        field(out, "captured-on", &time)?;
    }
    for (name, value) in ["data-offset", "data-size", "feat-offset"].into_iter().zip(data_section(file.as_ref())) {
        number(out, name, value as i64);
    }
    let features = features(meta);
    let find = |id| features.iter().find(|(feature_id, _)| *feature_id == id).map(|(_, feature)| feature);
    let mut text = |name, id| match meta.string(id) {
        Some(text) => field(out, name, &text),
        None => Ok(()),
    };
    text("hostname", FeatureId::HOSTNAME)?;
    text("os-release", FeatureId::OSRELEASE)?;
    text("arch", FeatureId::ARCH)?;
    text("cpu-desc", FeatureId::CPUDESC)?;
    text("cpuid", FeatureId::CPUID)?;
    if let Some(Feature::NrCpus(nr)) = find(FeatureId::NRCPUS) {
        number(out, "nrcpus-online", nr.nr_cpus_online.into());
        number(out, "nrcpus-avail", nr.nr_cpus_avail.into());
    }
    if let Some(Feature::ClockData(clock)) = find(FeatureId::CLOCK_DATA) {
        number(out, "clockid", clock.clockid.into());
        number(out, "clock-time", clock.clockid_ns as i64);
        number(out, "real-time", clock.wall_clock_ns as i64);
    }
    if let Some(version) = meta.string(FeatureId::VERSION) {
        field(out, "perf-version", &version)?;
    }
    match meta.cmdline() {
        Some(cmdline) => field(out, "cmdline", &cmdline),
        None => Ok(()),
    }
}
