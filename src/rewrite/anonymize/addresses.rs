//! Where addresses come to be, by the space that they are in.

use super::key::Key;
use super::pages::{Extents, PAGE, Pages};
use crate::abi::callchain::Context;
use crate::abi::fields::{FieldVisitor, MappingFields};
use crate::abi::record::{Body, CpuMode, Misc, RecordType};
use crate::error::Result;
use crate::session::space::Space;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// The process that stands for the kernel in MMAP records.
const KERNEL_PID: u32 = u32::MAX;

/// No kernel is larger. What is told as its size reaches to the first module, and so tells where the kernel is.
const LARGEST_KERNEL: u64 = 128 << 20;

/// The first address of the upper half.
const UPPER_HALF: u64 = 1 << 63;

/// Whose pages are told apart.
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

/// What a record says that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Where.
    pub space: Space,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Whether it is the kernel itself, of which `pgoff` is an address.
    pub is_kernel: bool,
}

impl Mapped {
    /// What a record with these fields says.
    pub fn of(misc: Misc, mapping: &MappingFields<'_>) -> Self {
        let MappingFields { pid, addr, len, pgoff, filename } = mapping;
        Self::new(misc, *pid, **addr, **len, **pgoff, filename.text())
    }

    fn new(misc: Misc, pid: u32, start: u64, len: u64, pgoff: u64, filename: &[u8]) -> Self {
        let space = match Space::from(misc.cpu_mode()) {
            Space::GuestKernel => Space::GuestKernel,
            _ if pid == KERNEL_PID => Space::Kernel,
            Space::Unknown => Space::User,
            told => told,
        };
        let is_kernel = is_kernel(filename);
        if !is_kernel {
            return Self { space, start, len, is_kernel };
        }
        // Old recorders tell the kernel from address 0 on, and where it is as the offset.
        let is_old = start < UPPER_HALF && pgoff >= UPPER_HALF && pgoff - start < len;
        let (start, len) = if is_old { (pgoff / PAGE * PAGE, LARGEST_KERNEL) } else { (start, len) };
        Self { space, start, len: len.min(LARGEST_KERNEL), is_kernel }
    }
}

/// Whether a map is the kernel's own, of the host or of a guest, and no module's.
pub fn is_kernel(filename: &[u8]) -> bool {
    [&b"[kernel.kallsyms"[..], b"[guest.kernel.kallsyms", b"[kernel.vmlinux", b"[kernel]"]
        .iter()
        .any(|name| filename.starts_with(name))
}

/// A look at all that is mapped, and at the first time.
#[derive(Debug, Default)]
pub struct AddressScan {
    extents: [Extents; 5],
    /// The first time, where there is one.
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

/// Takes note of what a record maps.
struct ScanFields<'a> {
    scan: &'a mut AddressScan,
    misc: Misc,
}

impl FieldVisitor for ScanFields<'_> {
    fn mapping(&mut self, mapping: MappingFields<'_>) {
        self.scan.add(Mapped::of(self.misc, &mapping));
    }

    fn code(&mut self, mode: CpuMode, start: &mut u64, len: u64) {
        self.scan.add(Mapped { space: mode.into(), start: *start, len, is_kernel: false });
    }
}

/// Where addresses come to be.
#[derive(Debug)]
pub struct Addresses {
    spaces: [Pages; 5],
}

impl Addresses {
    /// By what was seen to be mapped.
    pub fn new(key: &Key, look: &mut AddressScan) -> Self {
        let mut extents = std::mem::take(&mut look.extents).into_iter();
        let spaces = SPACES.map(|(_, name)| Pages::new(key, name, extents.next().unwrap_or_default()));
        Self { spaces }
    }

    /// Where an address comes to be; marks of call chains stay.
    #[inline]
    pub fn of(&mut self, space: Space, address: u64) -> u64 {
        if Context::of(address).is_some() {
            return address;
        }
        let index = index(space).unwrap_or_else(|| self.space_of(address));
        self.spaces[index].of(address)
    }

    /// In which of the host's spaces an address is that may be in any: where something is mapped at it, else by its half.
    fn space_of(&self, address: u64) -> usize {
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
    fn a_kernel_is_where_its_symbol_is_and_not_larger_than_kernels_are() {
        let kernel = |start, len, pgoff| {
            Mapped::new(Misc::from_bits_retain(1), u32::MAX, start, len, pgoff, b"[kernel.kallsyms]_text")
        };
        let told = kernel(0xffff_ffff_8100_0000, 0x3f00_0000, 0xffff_ffff_8100_0000);
        assert_eq!((told.space, told.start, told.len), (Space::Kernel, 0xffff_ffff_8100_0000, LARGEST_KERNEL));
        let old = kernel(0, 0xffff_ffff_9fff_ffff, 0xffff_ffff_8100_0190);
        assert_eq!((old.start, old.len), (0xffff_ffff_8100_0000, LARGEST_KERNEL));
        let module = Mapped::new(Misc::from_bits_retain(1), u32::MAX, 0xffff_ffff_c000_0000, 0x4000, 0, b"/lib/x.ko");
        assert_eq!((module.space, module.len, module.is_kernel), (Space::Kernel, 0x4000, false));
    }
}
