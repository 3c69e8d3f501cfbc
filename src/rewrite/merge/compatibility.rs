//! Rejects recordings that cannot be merged.

use super::member::Member;
use super::options::{MAX_OFFSET_MEMBERS, MergeOptions};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};

/// Maximum number of recordings merged at once; each is read by its own thread.
pub(crate) const MAX_MEMBERS: usize = 1000;

/// Sample fields that depend on the architecture.
const ARCH_SPECIFIC: [(SampleType, &str); 4] = [
    (SampleType::RAW, "raw data"),
    (SampleType::STACK_USER, "user stacks"),
    (SampleType::REGS_USER, "user registers"),
    (SampleType::REGS_INTR, "registers"),
];

/// Rejects recordings that cannot be merged.
///
/// # Errors
/// Fails with the reason.
pub(crate) fn check(members: &[Member], options: &MergeOptions) -> Result<()> {
    if members.len() > MAX_MEMBERS {
        let problem = format!(
            "cannot merge {} recordings at once; merge up to {MAX_MEMBERS}, then merge the results",
            members.len()
        );
        return Err(Error::incompatible(problem));
    }
    if options.offset_pids && members.len() > MAX_OFFSET_MEMBERS {
        let problem = format!("--offset-pids supports up to {MAX_OFFSET_MEMBERS} recordings, not {}", members.len());
        return Err(Error::incompatible(problem));
    }
    let [first, others @ ..] = members else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    members.iter().try_for_each(check_member)?;
    others.iter().try_for_each(|other| check_architecture(first, other))?;
    let mut traced = members.iter().enumerate().filter(|(_, member)| has_aux(member));
    match (traced.next(), traced.next()) {
        (Some((_, one)), Some((_, other))) => Err(Error::incompatible(format!(
            "{} and {} both have AUX areas, whose buffer indexes would collide",
            one.name, other.name
        ))),
        (Some((_, one)), None) if options.align_wall => Err(Error::incompatible(format!(
            "--align wall: the AUX area of {} has hardware timestamps, which cannot be aligned",
            one.name
        ))),
        _ => Ok(()),
    }
}

fn has_aux(member: &Member) -> bool {
    [RecordType::AUXTRACE_INFO, RecordType::AUXTRACE].into_iter().any(|kind| member.scan.counts.count(kind) > 0)
}

/// Checks a recording by itself.
fn check_member(member: &Member) -> Result<()> {
    let refused = |why: String| Err(Error::incompatible(format!("{} cannot be merged: {why}", member.name)));
    let counts = &member.scan.counts;
    let is_stat = [RecordType::STAT, RecordType::STAT_CONFIG, RecordType::STAT_ROUND]
        .into_iter()
        .any(|kind| counts.count(kind) > 0);
    if is_stat || member.meta.features.contains_key(&FeatureId::STAT) {
        return refused("it is a perf stat recording, whose counts are of a single run".to_owned());
    }
    if let Some((kind, _)) = counts.iter().find(|(kind, _)| kind.name().is_none()) {
        return refused(format!("it has records of unknown type {kind}, whose event IDs cannot be remapped"));
    }
    if member.meta.events.list().is_empty() {
        return refused("it has no events".to_owned());
    }
    if let Some(unknown) = member.meta.events.list().iter().find_map(|event| event.layout.unknown_bits().next()) {
        return refused(format!("its samples have fields of unknown layout ({unknown})"));
    }
    Ok(())
}

fn check_architecture(first: &Member, other: &Member) -> Result<()> {
    let architectures = [first, other].map(|member| member.string(FeatureId::ARCH));
    let [Some(one), Some(two)] = &architectures else { return Ok(()) };
    if one == two {
        return Ok(());
    }
    for member in [first, other] {
        if let Some((_, field_name)) = ARCH_SPECIFIC.iter().find(|(field, _)| member.has_field(*field)) {
            return Err(Error::incompatible(format!(
                "{} is from {two} and {} from {one}, and the {field_name} in samples of {} depend on the architecture",
                other.name, first.name, member.name
            )));
        }
        if has_aux(member) {
            let (name, first, other) = (&member.name, &first.name, &other.name);
            let problem = format!(
                "{other} is from {two} and {first} from {one}, and the AUX area of {name} depends on the architecture"
            );
            return Err(Error::incompatible(problem));
        }
    }
    Ok(())
}
