//! Clocks: whether the times of several recordings are of one, and how they become those of the wall clock.

use super::kernel;
use super::member::Member;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::feature::FeatureId;
use crate::abi::feature::clock_data::ClockData;
use crate::error::{Error, Result};

/// Numbers of clocks, as for clock_gettime(2).
const CLOCKS: [(i32, &str); 5] = [
    (0, "CLOCK_REALTIME"),
    (1, "CLOCK_MONOTONIC"),
    (4, "CLOCK_MONOTONIC_RAW"),
    (7, "CLOCK_BOOTTIME"),
    (11, "CLOCK_TAI"),
];

/// The wall clock, on which times are aligned.
pub const REALTIME: i32 = 0;

/// How far two readings of how the same clock relates to the wall clock may be apart, in nanoseconds.
const TOLERANCE: u64 = 1_000_000_000;

/// The clock that a recording chose; `None` for perf's own.
fn clock(member: &Member) -> Option<i32> {
    let chosen = |event: &crate::stream::events::Event| event.attr.flags.contains(AttrFlags::USE_CLOCKID);
    member.meta.events.list().iter().find(|event| chosen(event)).map(|event| event.attr.clockid)
}

fn called(clock: Option<i32>) -> String {
    let Some(clock) = clock else { return "perf's own clock".to_owned() };
    let named = CLOCKS.iter().find(|(number, _)| *number == clock);
    named.map_or_else(|| format!("clock {clock}"), |(_, name)| (*name).to_owned())
}

/// Whether a clock is the same on all machines.
fn is_common(clock: Option<i32>) -> bool {
    matches!(clock, Some(0 | 11))
}

/// What must be added to the times of each recording, wrapping around.
///
/// # Errors
/// Where times are not of one clock, or a recording does not tell how its clock relates to the wall clock.
pub fn shifts(members: &[Member], align_wall: bool) -> Result<Vec<u64>> {
    if align_wall {
        return members.iter().map(to_wall).collect();
    }
    if let [first, others @ ..] = members {
        others.iter().try_for_each(|other| compare(first, other))?;
    }
    Ok(vec![0; members.len()])
}

fn to_wall(member: &Member) -> Result<u64> {
    match (clock(member), member.meta.clock_data()) {
        (Some(REALTIME), _) => Ok(0),
        (Some(id), Some(data)) if data.clockid as i32 == id => Ok(data.wall_clock_ns.wrapping_sub(data.clockid_ns)),
        (clock, _) => Err(Error::incompatible(format!(
            "--align wall: {} has times of {}, and does not tell how that relates to the wall clock; perf record -k \
             CLOCK_MONOTONIC tells it",
            member.name,
            called(clock)
        ))),
    }
}

fn compare(first: &Member, other: &Member) -> Result<()> {
    let refused = |why: String| {
        Err(Error::incompatible(format!(
            "{} cannot be merged with {}: {why}; --align wall aligns recordings that were made with perf record -k",
            other.name, first.name
        )))
    };
    let clocks = [first, other].map(clock);
    if clocks[0] != clocks[1] {
        return refused(format!("its times are of {}, not of {}", called(clocks[1]), called(clocks[0])));
    }
    if is_common(clocks[0]) {
        return Ok(());
    }
    for (id, what) in [(FeatureId::HOSTNAME, "host"), (FeatureId::ARCH, "architecture")] {
        if let [Some(one), Some(two)] = [first, other].map(|member| member.string(id))
            && one != two
        {
            return refused(format!(
                "it is of the {what} {two}, not of {one}, and each machine has a clock of its own"
            ));
        }
    }
    if let Some(what) = kernel::differ(first, other) {
        return refused(format!("{what}, and a clock begins anew when a machine is started"));
    }
    if let [Some(one), Some(two)] = [first, other].map(|member| member.meta.clock_data()) {
        let start = |data: ClockData| data.wall_clock_ns.wrapping_sub(data.clockid_ns);
        if start(one).abs_diff(start(two)) > TOLERANCE {
            let what = "the clock began at another time, as it does when a machine is started anew or has slept";
            return refused(what.to_owned());
        }
    }
    if let [Some(one), Some(two)] = [first, other].map(|member| member.look.time_conv) {
        let conversion =
            |conv: crate::abi::record::time_conv::TimeConv| (conv.time_shift, conv.time_mult, conv.time_zero);
        if conversion(one) != conversion(two) {
            return refused("the clock of the hardware became times in another way (TIME_CONV)".to_owned());
        }
    }
    Ok(())
}

/// What tells of times that are those of the wall clock.
pub fn wall_clock_data(members: &[Member]) -> ClockData {
    let data = members.iter().find_map(|member| member.meta.clock_data());
    let wall_clock_ns = data.map_or(0, |data| data.wall_clock_ns);
    ClockData { version: 1, clockid: REALTIME as u32, wall_clock_ns, clockid_ns: wall_clock_ns }
}
