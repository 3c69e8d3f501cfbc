//! Whose kernel it is: addresses of two kernels cannot be told apart in one recording.

use super::member::Member;
use super::pre_scan::KERNEL_NAME;
use crate::abi::feature::FeatureId;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{CpuMode, Misc, RecordType};
use crate::error::{Error, Result};
use crate::stream::raw::Raw;

/// Whether all recordings are of one kernel, or one was chosen.
///
/// # Errors
/// Where they are of several.
pub fn check(members: &[Member], chosen: Option<usize>) -> Result<()> {
    let mut told = members.iter().filter(|member| member.look.kernel.is_some() || build_id(member).is_some());
    let Some(first) = told.next().filter(|_| chosen.is_none()) else { return Ok(()) };
    for other in told {
        if let Some(what) = differ(first, other) {
            return Err(Error::incompatible(format!(
                "{} cannot be merged with {}: {what}; --kernel-from chooses whose kernel is told",
                other.name, first.name
            )));
        }
    }
    Ok(())
}

/// What shows that a recording's kernel is not another's: that it is another one, or was started anew.
pub fn differ(first: &Member, other: &Member) -> Option<String> {
    let ids = [first, other].map(build_id);
    let releases = [first, other].map(|member| member.string(FeatureId::OSRELEASE));
    match (&ids, &releases) {
        ([Some(one), Some(two)], _) if one != two => {
            return Some(format!("its kernel has the build id {}, not {}", hex(two), hex(one)));
        }
        ([Some(_), Some(_)], _) => {}
        (_, [Some(one), Some(two)]) if one != two => return Some(format!("its kernel is {two}, not {one}")),
        _ => {}
    }
    let [one, two] = [first.look.kernel.as_ref()?, other.look.kernel.as_ref()?];
    let place = |map: &crate::rewrite::mmap::Mmap| format!("{:#x} ({:#x})", map.start, map.pgoff);
    let is_same = (one.start, one.pgoff) == (two.start, two.pgoff);
    (!is_same).then(|| format!("its kernel is at {}, not at {}", place(two), place(one)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn build_id(member: &Member) -> Option<Vec<u8>> {
    let in_table = member.meta.build_ids().into_iter().find(|(misc, build_id)| {
        misc.cpu_mode() == CpuMode::KERNEL && build_id.filename.text().starts_with(KERNEL_NAME)
    });
    let with_map = || Some(member.look.kernel.as_ref()?.file.as_ref()?.build_id()?.to_vec());
    in_table.map(|(misc, build_id)| build_id.id(misc).to_vec()).or_else(with_map)
}

/// Whether a record tells of the host's kernel.
pub fn is_about_kernel(raw: &Raw<'_>) -> bool {
    match raw.header().kind {
        RecordType::MMAP | RecordType::MMAP2 => raw.header().misc.cpu_mode() == CpuMode::KERNEL,
        RecordType::KSYMBOL | RecordType::TEXT_POKE | RecordType::BPF_EVENT => true,
        _ => false,
    }
}

/// Whether a build id is of the host's kernel or one of its modules.
pub fn has_build_id(told: &(Misc, BuildId)) -> bool {
    told.0.cpu_mode() == CpuMode::KERNEL
}
