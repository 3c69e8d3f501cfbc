//! Checks that all recordings are from the same kernel: addresses of different kernels would be ambiguous.

use super::member::Member;
use super::pre_scan::KERNEL_NAME;
use crate::rewrite::framework::mmap::Mmap;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::record::{CpuMode, Misc, RecordHeader};
use perf_data::error::{Error, Result};
use perf_data::stream::raw::Raw;

/// Checks that all recordings are from the same kernel, unless one is chosen.
///
/// # Errors
/// Fails if the kernels differ.
pub(crate) fn check(members: &[Member], chosen: Option<usize>) -> Result<()> {
    let mut with_kernel = members.iter().filter(|member| member.scan.kernel.is_some() || build_id(member).is_some());
    let Some(first) = with_kernel.next().filter(|_| chosen.is_none()) else { return Ok(()) };
    for other in with_kernel {
        if let Some(difference) = differ(first, other) {
            return Err(Error::incompatible(format!(
                "{} cannot be merged with {}: {difference}",
                other.name, first.name
            ))
            .remedy("kernel_from", "to choose the kernel to keep"));
        }
    }
    Ok(())
}

/// How the kernels of two recordings differ: another version or another boot. `None` if no difference is known.
pub(crate) fn differ(first: &Member, other: &Member) -> Option<String> {
    let ids = [first, other].map(build_id);
    let releases = [first, other].map(|member| member.string(FeatureId::OSRELEASE));
    match (&ids, &releases) {
        ([Some(one), Some(two)], _) if one != two => {
            return Some(format!("its kernel has build ID {}, not {}", hex(two), hex(one)));
        }
        ([Some(_), Some(_)], _) => {}
        (_, [Some(one), Some(two)]) if one != two => return Some(format!("its kernel is {two}, not {one}")),
        _ => {}
    }
    let [one, two] = [first.scan.kernel.as_ref()?, other.scan.kernel.as_ref()?];
    let position = |map: &Mmap| format!("{:#x} ({:#x})", map.start, map.pgoff);
    let is_same = (one.start, one.pgoff) == (two.start, two.pgoff);
    (!is_same).then(|| format!("its kernel is at {}, not at {}", position(two), position(one)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn build_id(member: &Member) -> Option<Vec<u8>> {
    let in_table = member.meta.build_ids().into_iter().find(|(misc, build_id)| {
        misc.cpu_mode() == CpuMode::KERNEL && build_id.filename.text().starts_with(KERNEL_NAME)
    });
    let with_map = || Some(member.scan.kernel.as_ref()?.file.as_ref()?.build_id()?.to_vec());
    in_table.map(|(misc, build_id)| build_id.id(misc).to_vec()).or_else(with_map)
}

/// Whether a record describes the host's kernel.
pub(crate) fn is_about_kernel(raw: &Raw<'_>) -> bool {
    let RecordHeader { kind, misc, .. } = raw.header();
    kind.has(RecordFlags::KERNEL_CODE) || Mmap::is_mmap(kind) && misc.cpu_mode() == CpuMode::KERNEL
}

/// Whether a build ID is of the host's kernel or one of its modules.
pub(crate) fn has_build_id(entry: &(Misc, BuildId)) -> bool {
    entry.0.cpu_mode() == CpuMode::KERNEL
}
