//! Traces of Perfetto: processes, samples with interned stacks, context switches, tracepoints, waits and spans.

mod clock;
mod ftrace;
mod interned;
mod packets;
mod processes;
#[expect(unreachable_pub, reason = "generated")]
mod proto;
mod samples;
mod track_events;

use super::{Format, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use crate::profile::labels::Label;
use clock::TraceClock;
use packets::Packets;
use perf_data::error::Result;
use proto::{SystemInfo, TracePacket, Utsname};
use std::io::Write;

/// Traces of Perfetto.
pub const FORMAT: Format = Format {
    extensions: &[("pftrace", None)],
    is_binary: true,
    output: Some(OutputType::of::<Perfetto>()),
    functions: ShowsFunctions::Always,
    ..Format::new("perfetto", "Perfetto trace: samples, slices, tracepoints")
};

/// Traces of Perfetto with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Perfetto {}

impl OutputFormat for Perfetto {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Perfetto {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(samples::LABELS)
    }

    fn has_times(&self) -> bool {
        true
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let clock = TraceClock::from_profile(profile);
        let mut packets = Packets::new(out, clock.id());
        let clock_snapshot = Some(clock.snapshot(profile));
        let system_info = Some(SystemInfo { utsname: Some(utsname(profile)) });
        packets.add_independent(None, TracePacket { clock_snapshot, ..TracePacket::default() })?;
        packets.add_independent(None, TracePacket { system_info, ..TracePacket::default() })?;
        processes::write(profile, &mut packets)?;
        samples::write(profile, clock, &mut packets)?;
        track_events::write(profile, &mut packets)?;
        ftrace::write(profile, &mut packets)?;
        packets.finish()
    }
}

fn utsname(profile: &Profile) -> Utsname {
    let fact = |name| profile.tables.fact(name).cloned();
    Utsname { sysname: Some("Linux".to_owned()), release: fact("kernel"), machine: fact("arch") }
}
