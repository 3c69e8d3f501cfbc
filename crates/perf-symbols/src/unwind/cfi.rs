//! Finds the CFI row of an address in the sections of an object file. The file is untrusted.

use super::arch::Architecture;
use super::exidx;
use super::rule::Rule;
use crate::symbol::object::Object;
use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice, RunTimeEndian, Section,
    UnwindContext, UnwindOffset, UnwindSection, Vendor,
};
use hashbrown::HashMap;
use object::Endianness;
use object::elf::EM_AARCH64;
use std::cell::OnceCell;
use std::ops::Range;

type Data<'a> = EndianSlice<'a, RunTimeEndian>;

/// Maximum length of an augmentation string. Five letters are defined.
const MAX_AUGMENTATION: usize = 32;

/// Maximum number of bytes of CFI that are interpreted of one file. The instructions of a corrupt function can be as long as its
/// section, and all precede the row of an address.
const MAX_INTERPRETED: u64 = 1 << 29;

/// The CFI of a file.
#[derive(Debug)]
pub(crate) struct Cfi {
    file: Object,
    /// FDEs of `.eh_frame`, for files without a usable `.eh_frame_hdr`.
    eh_frame: OnceCell<Vec<CfiEntry>>,
    /// FDEs of `.debug_frame`.
    debug_frame: OnceCell<Vec<CfiEntry>>,
    bytes_left: u64,
}

/// The addresses of an FDE, and its offset in the section.
#[derive(Clone, Copy, Debug)]
struct CfiEntry {
    start: u64,
    end: u64,
    offset: usize,
}

/// A compiled row.
#[derive(Debug)]
pub(crate) struct CfiRow {
    /// Its addresses.
    pub addresses: Range<u64>,
    /// How to unwind from them.
    pub rule: Rule,
}

/// What the compilation of a row needs.
struct Compiler<'a> {
    address: u64,
    arch: &'a Architecture,
    context: &'a mut UnwindContext<usize>,
    bytes_left: &'a mut u64,
}

impl Cfi {
    /// The CFI of a file.
    pub(crate) fn new(file: Object) -> Self {
        Self { file, eh_frame: OnceCell::new(), debug_frame: OnceCell::new(), bytes_left: MAX_INTERPRETED }
    }

    pub(crate) fn file(&self) -> &Object {
        &self.file
    }

    /// Compiles the row of an address; `None` if there is none.
    pub(crate) fn row(
        &mut self,
        address: u64,
        arch: &Architecture,
        context: &mut UnwindContext<usize>,
    ) -> Option<CfiRow> {
        let Self { file, eh_frame, debug_frame, bytes_left } = self;
        let bases = bases(file);
        let mut compiler = Compiler { address, arch, context, bytes_left };
        let section = eh_frame_section(file);
        let offset = match SearchTable::new(file) {
            Some(table) => table.find(address),
            None => find(eh_frame.get_or_init(|| index(&section, &bases)), address),
        };
        let row = offset.and_then(|offset| compiler.row(&section, &bases, offset.into()));
        let row = row.or_else(|| {
            let section = debug_frame_section(file);
            let offset = find(debug_frame.get_or_init(|| index(&section, &bases)), address)?;
            compiler.row(&section, &bases, offset.into())
        });
        row.or_else(|| {
            let (addresses, rule) = exidx::row(file, address, arch)?;
            Some(CfiRow { addresses, rule })
        })
    }
}

impl Compiler<'_> {
    /// Compiles the row in the FDE at an offset.
    fn row<'d, S: UnwindSection<Data<'d>> + Section<Data<'d>>>(
        &mut self,
        section: &S,
        bases: &BaseAddresses,
        offset: S::Offset,
    ) -> Option<CfiRow> {
        let fde = section.fde_from_offset(bases, offset, checked_cie).ok()?;
        if !fde.contains(self.address) {
            return None;
        }
        let len = fde.entry_len().saturating_add(fde.cie().entry_len());
        *self.bytes_left = self.bytes_left.checked_sub(len as u64)?;
        let mut rows = fde.rows(section, bases, self.context).ok()?;
        while let Some(row) = rows.next_row().ok()? {
            if row.contains(self.address) {
                let addresses = row.start_address()..row.end_address();
                let (column, is_signal) = (fde.cie().return_address_register().0, fde.is_signal_trampoline());
                let rule = Rule::new(row, column, is_signal, *section.reader(), self.arch)?;
                return Some(CfiRow { addresses, rule });
            }
        }
        None
    }
}

/// The FDEs of a section, sorted by address.
fn index<'d, S: UnwindSection<Data<'d>> + Section<Data<'d>>>(section: &S, bases: &BaseAddresses) -> Vec<CfiEntry> {
    let mut index = Vec::new();
    // gimli decodes the CIE of each FDE, although most FDEs of a file share a few.
    let mut cies: HashMap<usize, CommonInformationEntry<Data<'d>>> = HashMap::new();
    let mut entries = section.entries(bases);
    // What precedes a corrupt entry is usable.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(|section, bases, offset| {
            let key = UnwindOffset::into(offset);
            if let Some(cie) = cies.get(&key) {
                return Ok(cie.clone());
            }
            let cie = checked_cie(section, bases, offset)?;
            cies.insert(key, cie.clone());
            Ok(cie)
        });
        let Ok(fde) = fde else { continue };
        if fde.len() > 0 {
            index.push(CfiEntry { start: fde.initial_address(), end: fde.end_address(), offset: fde.offset() });
        }
    }
    index.sort_by_key(|entry| entry.start);
    index
}

/// The offset of the FDE of an address.
fn find(index: &[CfiEntry], address: u64) -> Option<usize> {
    let last = index.partition_point(|entry| entry.start <= address).checked_sub(1)?;
    Some(index[last]).filter(|entry| address < entry.end).map(|entry| entry.offset)
}

/// Decodes a CIE whose augmentation string ends soon: it is searched for its end each time.
fn checked_cie<'d, S: UnwindSection<Data<'d>> + Section<Data<'d>>>(
    section: &S,
    bases: &BaseAddresses,
    offset: S::Offset,
) -> gimli::Result<CommonInformationEntry<Data<'d>>> {
    let bytes = section.reader().slice().get(UnwindOffset::into(offset)..).unwrap_or_default();
    // After length, ID and version.
    let start = if bytes.starts_with(&[0xff; 4]) { 21 } else { 9 };
    if bytes.iter().skip(start).take(MAX_AUGMENTATION).all(|&byte| byte != 0) {
        return Err(gimli::Error::UnknownAugmentation);
    }
    section.cie_from_offset(bases, offset)
}

/// The search table of `.eh_frame_hdr`, in the encoding that linkers use.
struct SearchTable<'a> {
    rows: &'a [[u8; 8]],
    is_big: bool,
    /// Address of the section, to which the table is relative.
    base: u64,
    eh_frame: u64,
}

impl<'a> SearchTable<'a> {
    /// The table of a file; `None` if it has none, or in another encoding.
    fn new(file: &'a Object) -> Option<Self> {
        const UDATA4: u8 = 0x03;
        const DATAREL_SDATA4: u8 = 0x3b;
        let index = file.section_index(b".eh_frame_hdr")?;
        let bytes = file.section_data(index);
        let is_big = file.endian() == Endianness::Big;
        let ([1, pointer, UDATA4, DATAREL_SDATA4], rest) = bytes.split_first_chunk()? else { return None };
        // The pointer to `.eh_frame` is skipped below, as 4 bytes (udata4, sdata4).
        if !matches!(pointer & 0xf, 0x3 | 0xb) {
            return None;
        }
        let (count, rows) = rest.get(4..)?.split_first_chunk()?;
        let count = if is_big { u32::from_be_bytes(*count) } else { u32::from_le_bytes(*count) };
        let rows = rows.as_chunks().0.get(..count as usize)?;
        let eh_frame = file.sections().get(file.section_index(b".eh_frame")?)?.address;
        Some(Self { rows, is_big, base: file.sections().get(index)?.address, eh_frame })
    }

    /// The offset of the FDE that begins last before an address.
    fn find(&self, address: u64) -> Option<usize> {
        let word = |bytes: [u8; 4]| {
            let word = if self.is_big { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) };
            self.base.wrapping_add(i64::from(word) as u64)
        };
        let halves = |row: &[u8; 8]| {
            let [a, b, c, d, e, f, g, h] = *row;
            [[a, b, c, d], [e, f, g, h]].map(word)
        };
        let last = self.rows.partition_point(|row| halves(row)[0] <= address).checked_sub(1)?;
        usize::try_from(halves(&self.rows[last])[1].checked_sub(self.eh_frame)?).ok()
    }
}

/// Byte order of a file.
pub(crate) fn endian(file: &Object) -> RunTimeEndian {
    if file.endian() == Endianness::Big { RunTimeEndian::Big } else { RunTimeEndian::Little }
}

fn address_size(file: &Object) -> u8 {
    if file.is_64() { 8 } else { 4 }
}

fn vendor(file: &Object) -> Vendor {
    if file.machine() == EM_AARCH64.0 { Vendor::AArch64 } else { Vendor::Default }
}

fn eh_frame_section(file: &Object) -> EhFrame<Data<'_>> {
    let mut section = EhFrame::new(file.section(b".eh_frame"), endian(file));
    section.set_address_size(address_size(file));
    section.set_vendor(vendor(file));
    section
}

fn debug_frame_section(file: &Object) -> DebugFrame<Data<'_>> {
    let mut section = DebugFrame::new(file.section(b".debug_frame"), endian(file));
    section.set_address_size(address_size(file));
    section.set_vendor(vendor(file));
    section
}

fn bases(file: &Object) -> BaseAddresses {
    let address = |name: &[u8]| file.section_index(name).map_or(0, |index| file.sections()[index].address);
    BaseAddresses::default()
        .set_eh_frame(address(b".eh_frame"))
        .set_eh_frame_hdr(address(b".eh_frame_hdr"))
        .set_text(address(b".text"))
        .set_got(address(b".got"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::rule::Cfa;
    use object::elf::{EM_X86_64, ET_DYN};
    use std::path::Path;

    /// CFI of functions of 16 bytes at these addresses, without a search table.
    fn eh_frame(addresses: &[u64]) -> Vec<u8> {
        use gimli::write::{Address, CallFrameInstruction, EhFrame, EndianVec, FrameDescriptionEntry, FrameTable};
        use gimli::{Encoding, Format, X86_64};
        let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
        let mut cie = gimli::write::CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
        cie.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
        cie.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
        let mut table = FrameTable::default();
        let cie = table.add_cie(cie);
        for &address in addresses {
            let mut fde = FrameDescriptionEntry::new(Address::Constant(address), 16);
            fde.add_instruction(4, CallFrameInstruction::CfaOffset(32));
            table.add_fde(cie, fde);
        }
        let mut section = EhFrame(EndianVec::new(RunTimeEndian::Little));
        table.write_eh_frame(&mut section).unwrap();
        section.0.into_vec()
    }

    /// An ELF file with one section.
    fn file(name: &str, data: &[u8]) -> Object {
        let mut bytes = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9]].concat();
        let names = [b"\0.shstrtab\0", name.as_bytes(), b"\0"].concat();
        let (data_at, names_at) = (64, 64 + data.len());
        let sections_at = (names_at + names.len()).next_multiple_of(8);
        bytes.extend(ET_DYN.0.to_le_bytes());
        bytes.extend(EM_X86_64.0.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend([0, 0, sections_at as u64].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend([0; 4]);
        bytes.extend([64_u16, 56, 0, 64, 3, 1].iter().flat_map(|half| half.to_le_bytes()));
        bytes.extend_from_slice(data);
        bytes.extend(&names);
        bytes.resize(sections_at + 64, 0);
        for (name, kind, at, size) in [(1_u32, 3_u32, names_at, names.len()), (11, 1, data_at, data.len())] {
            bytes.extend([name, kind].iter().flat_map(|word| word.to_le_bytes()));
            let words = [0, 0, at as u64, size as u64, 0, 1, 0];
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        Object::parse(Path::new("x"), bytes.into()).unwrap()
    }

    fn rows(cfi: &mut Cfi, addresses: &[u64]) -> Vec<Option<(Range<u64>, i64)>> {
        let arch = Architecture::find(Some("x86_64"), None, true).unwrap();
        let mut context = UnwindContext::new();
        let row = |&address| {
            let CfiRow { addresses, rule } = cfi.row(address, arch, &mut context)?;
            // Changed sections have other rules.
            let offset = if let Cfa::Register(7, offset) = rule.cfa { offset } else { i64::MIN };
            Some((addresses, offset))
        };
        addresses.iter().map(row).collect()
    }

    #[test]
    fn rows_are_found_without_a_search_table() {
        let mut cfi = Cfi::new(file(".eh_frame", &eh_frame(&[0x3000, 0x1000])));
        let ranges = rows(&mut cfi, &[0x1003, 0x1004, 0x100f, 0x1010, 0x3000, 0xfff]);
        let [start, rest] = [(0x1000..0x1004, 8), (0x1004..0x1010, 32)].map(Some);
        assert_eq!(ranges, [start, rest.clone(), rest, None, Some((0x3000..0x3004, 8)), None]);
    }

    #[test]
    fn corrupt_sections_have_no_rows_or_others() {
        let whole = eh_frame(&[0x1000, 0x2000]);
        for len in 0..whole.len() {
            rows(&mut Cfi::new(file(".eh_frame", &whole[..len])), &[0x1000, 0x2000]);
        }
        for (at, value) in (0..whole.len()).flat_map(|at| [0, 0x7f, 0x80, 0xff].map(|value| (at, value))) {
            let mut changed = whole.clone();
            changed[at] = value;
            for name in [".eh_frame", ".debug_frame"] {
                rows(&mut Cfi::new(file(name, &changed)), &[0x1000, 0x1008, 0x2000]);
            }
        }
    }

    #[test]
    fn an_endless_augmentation_is_rejected() {
        let mut changed = eh_frame(&[0x1000]);
        changed[9..].fill(b'z');
        assert_eq!(rows(&mut Cfi::new(file(".eh_frame", &changed)), &[0x1000]), [None]);
    }

    #[test]
    fn the_interpreted_bytes_are_limited() {
        let bytes = eh_frame(&[0x1000]);
        let mut cfi = Cfi::new(file(".eh_frame", &bytes));
        // Enough for two rows, but not for three.
        cfi.bytes_left = 2 * bytes.len() as u64;
        let ranges = rows(&mut cfi, &[0x1000, 0x1008, 0x1000]);
        assert_eq!(ranges.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    }
}
