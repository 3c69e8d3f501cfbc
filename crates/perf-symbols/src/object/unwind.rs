//! Unwind tables: one `.eh_frame` for all functions, and its search table `.eh_frame_hdr`.

use super::image::{Image, ImageFunction};
use super::lines::endian;
use gimli::write::{Address, EhFrame as WriteEhFrame, EndianVec, FrameTable, Writer};
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, Format, RunTimeEndian, UnwindSection};
use std::collections::HashSet;
use std::io;

/// `.eh_frame` and the search table of `.eh_frame_hdr`.
pub(crate) struct Unwind {
    pub eh_frame: Vec<u8>,
    /// Addresses of functions and offsets of their entries, both relative to the start of `.eh_frame`.
    table: Vec<(i64, u64)>,
}

/// Size of `.eh_frame_hdr` before its table.
const HEADER_LEN: usize = 12;

/// Maximum distance of code from `.eh_frame`: half of what the 32-bit offsets of the search table can represent, since these are
/// relative to `.eh_frame_hdr`, which follows `.eh_frame`.
const MAX_DISTANCE: i64 = 1 << 30;

impl Unwind {
    /// Builds the tables of all functions, for an `.eh_frame` at address `at`; `None` if no function has any. Entries that are
    /// invalid or too far away are omitted.
    pub(crate) fn new(image: &Image, at: u64) -> Option<Self> {
        let mut section = WriteEhFrame(TruncatableSection { bytes: Vec::new(), endian: endian(image.target) });
        let mut all = Vec::new();
        for (address, function) in image.functions().iter().filter(|(_, function)| !function.eh_frame.is_empty()) {
            let start = section.bytes.len();
            let written = relocated_entries(image, *address, function, at).and_then(|table| {
                table.write_eh_frame(&mut section).ok()?;
                let table = search_table(&section.bytes, start, image).ok()?;
                table.iter().all(|(address, _)| (-MAX_DISTANCE..MAX_DISTANCE).contains(address)).then_some(table)
            });
            match written {
                Some(table) => all.extend(table),
                None => section.bytes.truncate(start),
            }
        }
        let mut eh_frame = section.0.bytes;
        if eh_frame.is_empty() {
            return None;
        }
        // A terminator, required by readers that iterate over the entries.
        eh_frame.extend([0; 4]);
        all.sort_unstable();
        Some(Self { eh_frame, table: all })
    }

    /// Size of `.eh_frame_hdr`.
    pub(crate) fn header_len(&self) -> u64 {
        (HEADER_LEN + 8 * self.table.len()) as u64
    }

    /// Encodes `.eh_frame_hdr`, located `behind` bytes after the start of `.eh_frame`.
    ///
    /// # Errors
    /// If code is too far away.
    pub(crate) fn header(&self, image: &Image, behind: u64) -> io::Result<Vec<u8>> {
        let mut out = EndianVec::new(endian(image.target));
        let too_far = |_| io::Error::other("code is too far from its .eh_frame_hdr");
        let behind = i64::try_from(behind).map_err(too_far)?;
        let mut word = |value: i64| {
            let value = i32::try_from(value).map_err(too_far)?;
            out.write_u32(value as u32).map_err(io::Error::other)
        };
        // Version, then the encodings of the pointer to `.eh_frame`, of the number of entries and of the entries.
        let encodings = [
            1,
            (gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4).0,
            gimli::DW_EH_PE_udata4.0,
            (gimli::DW_EH_PE_datarel | gimli::DW_EH_PE_sdata4).0,
        ];
        let is_big = image.target.endian == perf_data::abi::Endian::Big;
        let encodings = if is_big { i32::from_be_bytes(encodings) } else { i32::from_le_bytes(encodings) };
        word(encodings.into())?;
        word(-(behind + 4))?;
        word(self.table.len() as i64)?;
        for &(function, entry) in &self.table {
            word(function - behind)?;
            word(entry as i64 - behind)?;
        }
        Ok(out.into_vec())
    }
}

/// A section that can be truncated after a failed write, unlike gimli's `EndianVec`.
struct TruncatableSection {
    bytes: Vec<u8>,
    endian: RunTimeEndian,
}

impl Writer for TruncatableSection {
    type Endian = RunTimeEndian;

    fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn write(&mut self, bytes: &[u8]) -> gimli::write::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: usize, bytes: &[u8]) -> gimli::write::Result<()> {
        let target = self.bytes.get_mut(offset..).and_then(|rest| rest.get_mut(..bytes.len()));
        target.ok_or(gimli::write::Error::LengthOutOfBounds)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// Decodes the entries of a function and relocates them to an `.eh_frame` at `at`; `None` if they are invalid.
fn relocated_entries(image: &Image, address: u64, function: &ImageFunction, at: u64) -> Option<FrameTable> {
    let address_size = if image.target.is_64 { 8 } else { 4 };
    let mut section = EhFrame::new(&function.eh_frame, endian(image.target));
    section.set_address_size(address_size);
    if !can_be_written(&section, &function.eh_frame) {
        return None;
    }
    // Where its part of `.eh_frame` was, by the definition of the field.
    let original = (address + function.size).next_multiple_of(address_size.into());
    let moved = original.wrapping_sub(at);
    // Code precedes `.eh_frame`: its addresses are negative.
    let wrapped = |address: u64| if image.target.is_64 { address } else { i64::from(address as i32) as u64 };
    FrameTable::from(&section, &|address| Some(Address::Constant(wrapped(address.wrapping_add(moved))))).ok()
}

/// Maximum length of an augmentation string. Five letters are defined.
const MAX_AUGMENTATION: usize = 16;

/// Whether gimli can encode an `.eh_frame` again: it divides by alignment factors truncated to their lowest byte, and decodes a
/// CIE for each of its FDEs.
fn can_be_written(section: &EhFrame<EndianSlice<'_, RunTimeEndian>>, bytes: &[u8]) -> bool {
    let bases = BaseAddresses::default().set_eh_frame(0);
    let mut cies = HashSet::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let is_sound = match entry {
            CieOrFde::Cie(cie) => {
                cies.insert(cie.offset());
                // After length, ID and version.
                let augmentation = cie.offset() + if cie.encoding().format == Format::Dwarf64 { 17 } else { 9 };
                let is_short = bytes.iter().skip(augmentation).take(MAX_AUGMENTATION + 1).any(|&letter| letter == 0);
                // Stack slots are larger than a byte, and the smallest integer cannot be divided by -1.
                let data =
                    !matches!(cie.data_alignment_factor(), -1 | 0) && i8::try_from(cie.data_alignment_factor()).is_ok();
                is_short && data && matches!(cie.code_alignment_factor(), 1..=255)
            }
            CieOrFde::Fde(fde) => cies.contains(&fde.cie_offset().0),
        };
        if !is_sound {
            return false;
        }
    }
    true
}

/// The search table of the entries from offset `start` on.
fn search_table(eh_frame: &[u8], start: usize, image: &Image) -> gimli::Result<Vec<(i64, u64)>> {
    let mut section = EhFrame::new(&eh_frame[start..], endian(image.target));
    section.set_address_size(if image.target.is_64 { 8 } else { 4 });
    let bases = BaseAddresses::default().set_eh_frame(start as u64);
    let mut entries = section.entries(&bases);
    let mut table = Vec::new();
    while let Some(entry) = entries.next()? {
        if let CieOrFde::Fde(partial) = entry {
            let fde = partial.parse(EhFrame::cie_from_offset)?;
            let address = fde.initial_address();
            // Code precedes `.eh_frame`: its addresses are negative.
            let address = if image.target.is_64 { address as i64 } else { i64::from(address as i32) };
            table.push((address, (start + fde.offset()) as u64));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::image::ImageTarget;
    use gimli::write::{CallFrameInstruction, CommonInformationEntry, FrameDescriptionEntry};
    use gimli::{Encoding, X86_64};
    use perf_data::abi::Endian;

    /// An `.eh_frame` after the code of a function, as JIT compilers write it.
    fn function_frame(size: u32) -> Vec<u8> {
        let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
        let mut cie = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
        cie.fde_address_encoding = gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4;
        cie.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
        let mut table = FrameTable::default();
        let cie = table.add_cie(cie);
        let before = u64::from(size).next_multiple_of(8).wrapping_neg();
        table.add_fde(cie, FrameDescriptionEntry::new(Address::Constant(before), size));
        let mut section = WriteEhFrame(EndianVec::new(RunTimeEndian::Little));
        table.write_eh_frame(&mut section).unwrap();
        section.0.into_vec()
    }

    #[test]
    fn the_search_table_finds_the_entries_of_functions() {
        let mut image = Image::new(ImageTarget { machine: 62, is_64: true, endian: Endian::Little });
        let mut add = |code: &'static [u8], eh_frame: Vec<u8>| {
            let (size, code) = (code.len() as u64, code.into());
            image
                .push(ImageFunction {
                    name: "f".into(),
                    size,
                    code,
                    eh_frame: eh_frame.into(),
                    ..ImageFunction::default()
                })
                .unwrap()
        };
        let places = [add(&[1; 5], function_frame(5)), add(&[2; 8], vec![0xff; 30]), add(&[3; 20], function_frame(20))];
        let at = image.end().next_multiple_of(8);
        let unwind = Unwind::new(&image, at).unwrap();
        let mut section: EhFrame<EndianSlice<'_, RunTimeEndian>> =
            EhFrame::new(&unwind.eh_frame, RunTimeEndian::Little);
        section.set_address_size(8);
        let bases = BaseAddresses::default().set_eh_frame(at);
        let mut fdes = Vec::new();
        let mut entries = section.entries(&bases);
        while let Some(entry) = entries.next().unwrap() {
            if let CieOrFde::Fde(partial) = entry {
                let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
                fdes.push((fde.initial_address(), fde.len(), fde.offset() as u64));
            }
        }
        let [(first, 5, first_at), (last, 20, last_at)] = fdes[..] else { panic!("{fdes:x?}") };
        assert_eq!([first, last], [places[0], places[2]], "invalid entries are omitted");

        let behind = unwind.eh_frame.len().next_multiple_of(4) as u64;
        let header = unwind.header(&image, behind).unwrap();
        assert_eq!(header.len() as u64, unwind.header_len());
        let header_at = at + behind;
        let parsed = gimli::EhFrameHdr::new(&header, RunTimeEndian::Little);
        let parsed = parsed.parse(&BaseAddresses::default().set_eh_frame_hdr(header_at), 8).unwrap();
        assert_eq!(parsed.eh_frame_ptr(), gimli::Pointer::Direct(at));
        let table = parsed.table().unwrap();
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at);
        for (address, entry) in [(first + 4, first_at), (last, last_at)] {
            assert_eq!(table.lookup(address, &bases).unwrap(), gimli::Pointer::Direct(at + entry));
        }
    }

    /// A CIE with these factors and augmentation, and one FDE.
    fn hand_encoded(code: &[u8], data: &[u8], augmentation: &[u8]) -> Vec<u8> {
        let entry = |parts: &[&[u8]]| {
            let mut body = parts.concat();
            body.resize(body.len().next_multiple_of(4), 0);
            [&(body.len() as u32).to_le_bytes()[..], &body].concat()
        };
        // Rule for one register, advance, rule for another.
        let instructions = [0x80, 1, 0x41, 0x81, 1];
        let cie = entry(&[&[0; 4], &[1], augmentation, &[0], code, data, &[16], &instructions[..2]]);
        let cie_pointer = (cie.len() as u32 + 4).to_le_bytes();
        let fde = entry(&[&cie_pointer, &(-16_i64).to_le_bytes(), &[16, 0, 0, 0, 0, 0, 0, 0], &instructions]);
        [cie, fde].concat()
    }

    #[test]
    fn only_invalid_entries_are_omitted() {
        let with = |eh_frame: Vec<u8>| {
            let mut image = Image::new(ImageTarget { machine: 62, is_64: true, endian: Endian::Little });
            for eh_frame in [function_frame(16), eh_frame, function_frame(16)] {
                let function =
                    ImageFunction { name: "f".into(), size: 16, eh_frame: eh_frame.into(), ..ImageFunction::default() };
                image.push(function).unwrap();
            }
            Unwind::new(&image, image.end().next_multiple_of(8)).unwrap().table.len()
        };
        assert_eq!(with(hand_encoded(&[1], &[0x78], b"")), 3);
        // Factors of 0, 256 and -1; an overlong augmentation.
        for (code, data, augmentation) in [
            (&[1][..], &[0][..], &b""[..]),
            (&[0], &[0x78], b""),
            (&[1], &[0x80, 2], b""),
            (&[0x80, 2], &[0x78], b""),
            (&[1], &[0x7f], b""),
            (&[1], &[0x78], &[b'S'; 40]),
        ] {
            assert_eq!(with(hand_encoded(code, data, augmentation)), 2, "{code:x?} {data:x?}");
        }
        // Code at another address.
        let mut far = hand_encoded(&[1], &[0x78], b"");
        let address = far.len() - 24;
        far[address..address + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
        assert_eq!(with(far), 2);
    }
}
