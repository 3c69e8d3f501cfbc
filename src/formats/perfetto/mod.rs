//! Traces of Perfetto: processes, samples with interned stacks, context switches and tracepoints.

mod clock;
mod ftrace;
mod interned;
mod packets;
mod processes;
mod proto;
mod samples;

use super::folded::WEIGHT;
use super::options::OptionValues;
use super::{Format, WriteProfile, Writer};
use crate::profile::Profile;
use clock::TraceClock;
use packets::Packets;
use perf_data::error::Result;
use proto::{SystemInfo, TracePacket, Utsname};
use std::io::Write;

/// Traces of Perfetto.
pub const FORMAT: Format = Format {
    extensions: &[("pftrace", None)],
    is_binary: true,
    writer: Writer::Profile(WriteProfile {
        labels: Some(samples::LABELS),
        has_times: |_| true,
        ..WriteProfile::new(write)
    }),
    options: &[WEIGHT],
    ..Format::new("perfetto", "Perfetto trace: samples, slices, tracepoints")
};

/// Writes a trace.
///
/// # Errors
/// Errors of `out`.
pub fn write(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    let by_period = values.word(&WEIGHT) != Some("samples");
    let clock = TraceClock::of(profile);
    let mut packets = Packets::new(out, clock.id());
    let clock_snapshot = Some(clock.snapshot(profile));
    let system_info = Some(SystemInfo { utsname: Some(utsname(profile)) });
    packets.add_independent(None, TracePacket { clock_snapshot, ..TracePacket::default() })?;
    packets.add_independent(None, TracePacket { system_info, ..TracePacket::default() })?;
    processes::write(profile, &mut packets)?;
    samples::write(profile, by_period, clock, &mut packets)?;
    ftrace::write(profile, &mut packets)?;
    packets.finish()
}

fn utsname(profile: &Profile) -> Utsname {
    let fact = |name| profile.tables.fact(name).cloned();
    Utsname { sysname: Some("Linux".to_owned()), release: fact("kernel"), machine: fact("arch") }
}
