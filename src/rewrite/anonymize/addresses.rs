//! Replaces addresses, separately for each address space.

use super::key::Key;
use super::pages::{Extents, Pages};
use perf_data::abi::fields::{FieldVisitor, MappingFields, ignore_roles};
use perf_data::abi::record::{Body, CpuMode, Misc, RecordType};
use perf_data::abi::sample::callchain::Context;
use perf_data::error::Result;
use perf_data::session::map::PAGE;
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// The process ID that represents the kernel in MMAP records.
const KERNEL_PID: u32 = u32::MAX;

/// Maximum size of a kernel image. Recorded sizes reach up to the first module, which would reveal the kernel's address.
const MAX_KERNEL_SIZE: u64 = 128 << 20;

/// Start of the upper half of the address space.
const UPPER_HALF: u64 = 1 << 63;

/// The address spaces that are permuted separately.
const SPACES: [(Space, &str); 5] = [
    (Space::User, "user pages"),
    (Space::Kernel, "kernel pages"),
    (Space::GuestUser, "guest user pages"),
    (Space::GuestKernel, "guest kernel pages"),
    (Space::Hypervisor, "hypervisor pages"),
];

const USER: usize = 0;
const KERNEL: usize = 1;

fn index(space: Space) -> Option<usize> {
    SPACES.iter().position(|&(other, _)| other == space)
}

/// A mapping as an address range of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Address space.
    pub space: Space,
    /// Start address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether it is the kernel image, whose `pgoff` is an address.
    pub is_kernel: bool,
}

impl Mapped {
    /// Takes the fields of a record.
    pub(crate) fn from_fields(misc: Misc, mapping: &MappingFields<'_>) -> Self {
        let MappingFields { pid, addr, len, pgoff, filename } = mapping;
        Self::new(misc, *pid, **addr, **len, **pgoff, filename.text())
    }

    fn new(misc: Misc, pid: u32, start: u64, len: u64, pgoff: u64, filename: &[u8]) -> Self {
        let space = match Space::from(misc.cpu_mode()) {
            Space::GuestKernel => Space::GuestKernel,
            _ if pid == KERNEL_PID => Space::Kernel,
            Space::Unknown => Space::User,
            space => space,
        };
        let is_kernel = is_kernel(filename);
        if !is_kernel {
            return Self { space, start, len, is_kernel };
        }
        // Old versions of perf recorded the kernel from address 0 on, with its real start as the offset.
        let is_old = start < UPPER_HALF && pgoff >= UPPER_HALF && pgoff - start < len;
        let (start, len) = if is_old { (pgoff / PAGE * PAGE, MAX_KERNEL_SIZE) } else { (start, len) };
        Self { space, start, len: len.min(MAX_KERNEL_SIZE), is_kernel }
    }
}

/// Whether a mapping is the kernel image of the host or a guest, and not a module.
pub(crate) fn is_kernel(filename: &[u8]) -> bool {
    [&b"[kernel.kallsyms"[..], b"[guest.kernel.kallsyms", b"[kernel.vmlinux", b"[kernel]"]
        .iter()
        .any(|name| filename.starts_with(name))
}

/// The pre-scan: collects all mappings and the earliest time.
#[derive(Debug, Default)]
pub(crate) struct AddressScan {
    extents: [Extents; 5],
    /// The earliest time, if any.
    pub first_time: Option<u64>,
}

impl AddressScan {
    fn add(&mut self, mapped: Mapped) {
        if let Some(index) = index(mapped.space) {
            self.extents[index].add(mapped.start, mapped.len);
        }
    }
}

impl Sink for AddressScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(time) = meta.events.time(raw) {
            self.first_time = Some(self.first_time.map_or(time, |first| first.min(time)));
        }
        if raw.header().kind == RecordType::SAMPLE {
            return Ok(());
        }
        let (body, _) = meta.events.split(raw);
        let (mut body, _) = Body::read(raw.header().kind, raw.header().misc, body, &meta.context(raw));
        body.visit_fields(&mut ScanFields { scan: self, misc: raw.header().misc });
        Ok(())
    }
}

/// Collects the mappings of a record.
struct ScanFields<'a> {
    scan: &'a mut AddressScan,
    misc: Misc,
}

impl perf_data::abi::fields::InWorkspace for ScanFields<'_> {}

impl FieldVisitor for ScanFields<'_> {
    fn mapping(&mut self, mapping: MappingFields<'_>) {
        self.scan.add(Mapped::from_fields(self.misc, &mapping));
    }

    fn code(&mut self, mode: CpuMode, start: &mut u64, len: u64) {
        self.scan.add(Mapped { space: mode.into(), start: *start, len, is_kernel: false });
    }

    ignore_roles! {
        task, own_process, guest, time, elapsed, clock_origin, own_event_id, event_id, attr, text, command_line, address, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}

/// Replaces addresses.
#[derive(Debug)]
pub(crate) struct Addresses {
    spaces: [Pages; 5],
}

impl Addresses {
    /// Creates the replacement from the collected mappings.
    pub(crate) fn new(key: &Key, scan: &mut AddressScan) -> Self {
        let mut extents = std::mem::take(&mut scan.extents).into_iter();
        let spaces = SPACES.map(|(_, name)| Pages::new(key, name, extents.next().unwrap_or_default()));
        Self { spaces }
    }

    /// The replacement of an address; context markers of call chains are kept.
    #[inline]
    pub(crate) fn replace(&mut self, space: Space, address: u64) -> u64 {
        if Context::of(address).is_some() {
            return address;
        }
        let index = index(space).unwrap_or_else(|| self.host_space_at(address));
        self.spaces[index].replace(address)
    }

    /// The host space of an address without a known space: by the mapping at it, otherwise by its half.
    fn host_space_at(&self, address: u64) -> usize {
        let is_kernel = if self.spaces[USER].is_mapped(address) {
            false
        } else {
            address >= UPPER_HALF || self.spaces[KERNEL].is_mapped(address)
        };
        if is_kernel { KERNEL } else { USER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locates_the_kernel_by_its_symbol_and_limits_its_size() {
        let kernel = |start, len, pgoff| {
            Mapped::new(Misc::from_bits_retain(1), u32::MAX, start, len, pgoff, b"[kernel.kallsyms]_text")
        };
        let current = kernel(0xffff_ffff_8100_0000, 0x3f00_0000, 0xffff_ffff_8100_0000);
        assert_eq!(
            (current.space, current.start, current.len),
            (Space::Kernel, 0xffff_ffff_8100_0000, MAX_KERNEL_SIZE)
        );
        let old = kernel(0, 0xffff_ffff_9fff_ffff, 0xffff_ffff_8100_0190);
        assert_eq!((old.start, old.len), (0xffff_ffff_8100_0000, MAX_KERNEL_SIZE));
        let module = Mapped::new(Misc::from_bits_retain(1), u32::MAX, 0xffff_ffff_c000_0000, 0x4000, 0, b"/lib/x.ko");
        assert_eq!((module.space, module.len, module.is_kernel), (Space::Kernel, 0x4000, false));
    }
}
