//! Compares the clocks of recordings, and aligns their times to the wall clock.

use super::kernel;
use super::member::Member;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::clock_data::ClockData;
use perf_data::error::{Error, Result};

/// Clock IDs of clock_gettime(2).
const CLOCKS: [(i32, &str); 5] = [
    (REALTIME, "CLOCK_REALTIME"),
    (1, "CLOCK_MONOTONIC"),
    (4, "CLOCK_MONOTONIC_RAW"),
    (7, "CLOCK_BOOTTIME"),
    (TAI, "CLOCK_TAI"),
];

/// The wall clock, to which times are aligned.
pub(crate) const REALTIME: i32 = 0;

/// International atomic time: the wall clock without leap seconds.
const TAI: i32 = 11;

/// Maximum difference of two readings of a clock's offset from the wall clock, in nanoseconds. Recordings of one boot differ by what
/// NTP adjusted meanwhile, those of different boots by the time between these, which is longer than a second.
const TOLERANCE: u64 = 1_000_000_000;

/// The clock that a recording selected; `None` for perf's default.
fn clock(member: &Member) -> Option<i32> {
    let chosen = |event: &perf_data::stream::events::Event| event.attr.flags.contains(AttrFlags::USE_CLOCKID);
    member.meta.events.list().iter().find(|event| chosen(event)).map(|event| event.attr.clockid)
}

fn clock_name(clock: Option<i32>) -> String {
    let Some(clock) = clock else { return "perf's default clock".to_owned() };
    let named = CLOCKS.iter().find(|(number, _)| *number == clock);
    named.map_or_else(|| format!("clock {clock}"), |(_, name)| (*name).to_owned())
}

/// Whether a clock is the same on all machines.
fn is_common(clock: Option<i32>) -> bool {
    matches!(clock, Some(REALTIME | TAI))
}

/// The offset to add to the times of each recording. The addition wraps, so that an offset can be negative.
///
/// # Errors
/// Fails if the clocks differ, or a recording lacks its clock's offset from the wall clock.
pub(crate) fn shifts(members: &[Member], align_wall: bool) -> Result<Vec<u64>> {
    if align_wall {
        return members.iter().map(to_wall).collect();
    }
    if let [first, others @ ..] = members {
        others.iter().try_for_each(|other| compare(first, other))?;
    }
    Ok(vec![0; members.len()])
}

/// The offset of a recording's clock from the wall clock.
fn to_wall(member: &Member) -> Result<u64> {
    match (clock(member), member.meta.clock_data()) {
        (Some(REALTIME), _) => Ok(0),
        (Some(id), Some(data)) if data.clockid as i32 == id => Ok(data.wall_clock_ns.wrapping_sub(data.clockid_ns)),
        (clock, _) => Err(Error::incompatible(format!(
            "--align wall: {} uses {} without its offset from the wall clock; record with perf record -k CLOCK_MONOTONIC",
            member.name,
            clock_name(clock)
        ))),
    }
}

/// Checks that nothing shows that the clocks of two recordings differ, so that their times can be compared as they are.
fn compare(first: &Member, other: &Member) -> Result<()> {
    let refused = |why: String| {
        Err(Error::incompatible(format!("{} cannot be merged with {}: {why}", other.name, first.name))
            .remedy("align", "wall for recordings made with perf record -k"))
    };
    let clocks = [first, other].map(clock);
    if clocks[0] != clocks[1] {
        return refused(format!("it uses {}, not {}", clock_name(clocks[1]), clock_name(clocks[0])));
    }
    if is_common(clocks[0]) {
        return Ok(());
    }
    for (id, property) in [(FeatureId::HOSTNAME, "host"), (FeatureId::ARCH, "architecture")] {
        if let [Some(one), Some(two)] = [first, other].map(|member| member.string(id))
            && one != two
        {
            return refused(format!(
                "its {property} is {two}, not {one}, and clocks of different machines cannot be compared"
            ));
        }
    }
    if let Some(difference) = kernel::differ(first, other) {
        return refused(format!("{difference}, and clocks restart at boot"));
    }
    if let [Some(one), Some(two)] = [first, other].map(|member| member.meta.clock_data()) {
        let start = |data: ClockData| data.wall_clock_ns.wrapping_sub(data.clockid_ns);
        if start(one).abs_diff(start(two)) > TOLERANCE {
            let problem = "its clock started at another time, as after a reboot or a suspend";
            return refused(problem.to_owned());
        }
    }
    if let [Some(one), Some(two)] = [first, other].map(|member| member.scan.time_conv) {
        let conversion =
            |conv: perf_data::abi::record::time_conv::TimeConv| (conv.time_shift, conv.time_mult, conv.time_zero);
        if conversion(one) != conversion(two) {
            return refused("its hardware clock is converted differently (TIME_CONV)".to_owned());
        }
    }
    Ok(())
}

/// The clock data of times that are aligned to the wall clock.
pub(crate) fn wall_clock_data(members: &[Member]) -> ClockData {
    let data = members.iter().find_map(|member| member.meta.clock_data());
    let wall_clock_ns = data.map_or(0, |data| data.wall_clock_ns);
    ClockData { version: 1, clockid: REALTIME as u32, wall_clock_ns, clockid_ns: wall_clock_ns }
}
