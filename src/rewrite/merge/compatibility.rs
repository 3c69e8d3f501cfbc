//! Recordings that cannot be merged with others, whatever is asked for.

use super::member::Member;
use super::options::{MOST_OFFSET, MergeOptions};
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::abi::sample_type::SampleType;
use crate::error::{Error, Result};

/// How many recordings are merged at once: each is read by a thread of its own.
pub const MOST: usize = 1000;

/// What is bound to the architecture, and how it is called.
const BOUND: [(SampleType, &str); 4] = [
    (SampleType::RAW, "raw data"),
    (SampleType::STACK_USER, "user stacks"),
    (SampleType::REGS_USER, "user registers"),
    (SampleType::REGS_INTR, "registers"),
];

/// Refuses what cannot be merged.
///
/// # Errors
/// Where something cannot.
pub fn check(members: &[Member], options: &MergeOptions) -> Result<()> {
    if members.len() > MOST {
        let what =
            format!("{} recordings are too many at once; merge up to {MOST}, and then what comes of it", members.len());
        return Err(Error::incompatible(what));
    }
    if options.offset_pids && members.len() > MOST_OFFSET {
        let what = format!(
            "--offset-pids tells the processes of up to {MOST_OFFSET} recordings apart, not of {}",
            members.len()
        );
        return Err(Error::incompatible(what));
    }
    let [first, others @ ..] = members else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    members.iter().try_for_each(alone)?;
    others.iter().try_for_each(|other| architecture(first, other))?;
    let mut traced = members.iter().enumerate().filter(|(_, member)| has_aux(member));
    match (traced.next(), traced.next()) {
        (Some((_, one)), Some((_, other))) => Err(Error::incompatible(format!(
            "{} and {} have AUX areas both, whose buffers have the same numbers: what is in which would not be told",
            one.name, other.name
        ))),
        (Some((_, one)), None) if options.align_wall => Err(Error::incompatible(format!(
            "--align wall: the AUX area of {} tells times of the hardware's clock, which nobody aligns",
            one.name
        ))),
        _ => Ok(()),
    }
}

fn has_aux(member: &Member) -> bool {
    [RecordType::AUXTRACE_INFO, RecordType::AUXTRACE].into_iter().any(|kind| member.look.counts.of(kind) > 0)
}

/// What is refused because of itself.
fn alone(member: &Member) -> Result<()> {
    let refused = |why: String| Err(Error::incompatible(format!("{} cannot be merged: {why}", member.name)));
    let counts = &member.look.counts;
    let is_stat =
        [RecordType::STAT, RecordType::STAT_CONFIG, RecordType::STAT_ROUND].into_iter().any(|kind| counts.of(kind) > 0);
    if is_stat || member.meta.features.contains_key(&FeatureId::STAT) {
        return refused("it is of perf stat, whose counts are of one run".to_owned());
    }
    if let Some((kind, _)) = counts.iter().find(|(kind, _)| kind.name().is_none()) {
        return refused(format!("it has records of type {kind}, and nobody knows where in these ids are told"));
    }
    if member.meta.events.list().is_empty() {
        return refused("it tells no events".to_owned());
    }
    let fields = |event: &crate::stream::events::Event| event.attr.sample_type - SampleType::KNOWN;
    if let Some(unknown) = member.meta.events.list().iter().map(fields).find(|unknown| !unknown.is_empty()) {
        return refused(format!("its samples have fields that are not known ({:#x})", unknown.bits()));
    }
    Ok(())
}

fn architecture(first: &Member, other: &Member) -> Result<()> {
    let architectures = [first, other].map(|member| member.string(FeatureId::ARCH));
    let [Some(one), Some(two)] = &architectures else { return Ok(()) };
    if one == two {
        return Ok(());
    }
    for member in [first, other] {
        if let Some((_, what)) = BOUND.iter().find(|(field, _)| member.has_field(*field)) {
            return Err(Error::incompatible(format!(
                "{} is of {two} and {} of {one}: the {what} in {}'s samples mean something on that machine alone",
                other.name, first.name, member.name
            )));
        }
        if has_aux(member) {
            let (name, first, other) = (&member.name, &first.name, &other.name);
            let what =
                format!("{other} is of {two} and {first} of {one}: the AUX area of {name} is of that machine alone");
            return Err(Error::incompatible(what));
        }
    }
    Ok(())
}
