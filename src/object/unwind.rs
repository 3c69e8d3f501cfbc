//! How frames are unwound: one `.eh_frame` of those of all functions, and the table by which it is searched.

use super::image::{Function, Image};
use super::lines::endian;
use gimli::write::{Address, EhFrame as WriteEhFrame, EndianVec, FrameTable, Writer};
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, Format, RunTimeEndian, UnwindSection};
use std::collections::HashSet;
use std::io;

/// `.eh_frame` and `.eh_frame_hdr`.
pub struct Unwind {
    /// `.eh_frame`.
    pub eh_frame: Vec<u8>,
    /// Function and its entry in `.eh_frame`, both from the beginning of that.
    table: Vec<(i64, u64)>,
}

/// Bytes of `.eh_frame_hdr` before its table.
const HEADER: usize = 12;

/// Bytes from the beginning of `.eh_frame` within which its table can tell code, wherever the table is.
const FAR: i64 = 1 << 30;

impl Unwind {
    /// That of all functions, for an `.eh_frame` at a place; `None` where no function has any. What cannot be read, or not be
    /// told from there, is left out.
    pub fn new(image: &Image, at: u64) -> Option<Self> {
        let mut section = WriteEhFrame(Written { bytes: Vec::new(), endian: endian(image.target) });
        let mut all = Vec::new();
        for (place, function) in image.functions().iter().filter(|(_, function)| !function.eh_frame.is_empty()) {
            let start = section.bytes.len();
            let written = table(image, *place, function, at).and_then(|table| {
                table.write_eh_frame(&mut section).ok()?;
                let table = search_table(&section.bytes, start, image).ok()?;
                table.iter().all(|(address, _)| (-FAR..FAR).contains(address)).then_some(table)
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
        // The end, which whoever walks from entry to entry needs.
        eh_frame.extend([0; 4]);
        all.sort_unstable();
        Some(Self { eh_frame, table: all })
    }

    /// Bytes of `.eh_frame_hdr`.
    pub fn header_len(&self) -> u64 {
        (HEADER + 8 * self.table.len()) as u64
    }

    /// `.eh_frame_hdr`, so many bytes behind the beginning of `.eh_frame`.
    ///
    /// # Errors
    /// Where functions are farther away than it can tell.
    pub fn header(&self, image: &Image, behind: u64) -> io::Result<Vec<u8>> {
        let mut out = EndianVec::new(endian(image.target));
        let too_far = |_| io::Error::other("code is too far from its .eh_frame_hdr");
        let behind = i64::try_from(behind).map_err(too_far)?;
        let mut word = |value: i64| {
            let value = i32::try_from(value).map_err(too_far)?;
            out.write_u32(value as u32).map_err(io::Error::other)
        };
        let encodings = [
            1,
            (gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4).0,
            gimli::DW_EH_PE_udata4.0,
            (gimli::DW_EH_PE_datarel | gimli::DW_EH_PE_sdata4).0,
        ];
        let is_big = image.target.endian == crate::abi::Endian::Big;
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

/// A section that is written: bytes of which the last can be taken back.
struct Written {
    bytes: Vec<u8>,
    endian: RunTimeEndian,
}

impl Writer for Written {
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
        let place = self.bytes.get_mut(offset..).and_then(|rest| rest.get_mut(..bytes.len()));
        place.ok_or(gimli::write::Error::LengthOutOfBounds)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// What a function tells, with its addresses from the beginning of an `.eh_frame` at a place; `None` where it cannot be read.
fn table(image: &Image, place: u64, function: &Function, at: u64) -> Option<FrameTable> {
    let address_size = if image.target.is_64 { 8 } else { 4 };
    let mut section = EhFrame::new(&function.eh_frame, endian(image.target));
    section.set_address_size(address_size);
    if !can_be_written(&section, &function.eh_frame) {
        return None;
    }
    let stood_at = (place + function.size).next_multiple_of(address_size.into());
    let moved = stood_at.wrapping_sub(at);
    let mask = if image.target.is_64 { u64::MAX } else { u32::MAX.into() };
    FrameTable::from(&section, &|address| Some(Address::Constant(address.wrapping_add(moved) & mask))).ok()
}

/// The most letters by which an entry says what it holds. Five are known.
const LETTERS: usize = 16;

/// Whether an `.eh_frame` is one that gimli can write anew: it divides by factors of which it keeps the lowest byte, and reads
/// what entries have in common again for each of them.
fn can_be_written(section: &EhFrame<EndianSlice<'_, RunTimeEndian>>, bytes: &[u8]) -> bool {
    let bases = BaseAddresses::default().set_eh_frame(0);
    let mut common = HashSet::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let is_sound = match entry {
            CieOrFde::Cie(cie) => {
                common.insert(cie.offset());
                // Behind its length, its mark and its version.
                let letters = cie.offset() + if cie.encoding().format == Format::Dwarf64 { 17 } else { 9 };
                let is_short = bytes.iter().skip(letters).take(LETTERS + 1).any(|&letter| letter == 0);
                // No machine's stack grows by single bytes; and the least of numbers cannot be divided by -1.
                let data =
                    !matches!(cie.data_alignment_factor(), -1 | 0) && i8::try_from(cie.data_alignment_factor()).is_ok();
                is_short && data && matches!(cie.code_alignment_factor(), 1..=255)
            }
            CieOrFde::Fde(fde) => common.contains(&fde.cie_offset().0),
        };
        if !is_sound {
            return false;
        }
    }
    true
}

/// Which function has which entry, from a place in an `.eh_frame` on.
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
            // Code stands before it: its addresses are negative.
            let address = if image.target.is_64 { address as i64 } else { i64::from(address as i32) };
            table.push((address, (start + fde.offset()) as u64));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::object::image::Target;
    use gimli::write::{CallFrameInstruction, CommonInformationEntry, FrameDescriptionEntry};
    use gimli::{Encoding, X86_64};

    /// An `.eh_frame` that stands behind a function's code, as compilers at run time make it.
    fn of_function(size: u32) -> Vec<u8> {
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
    fn entries_are_of_the_functions_and_found_by_the_table() {
        let mut image = Image::new(Target { machine: 62, is_64: true, endian: Endian::Little });
        let mut add = |code: &'static [u8], eh_frame: Vec<u8>| {
            let (size, code) = (code.len() as u64, code.into());
            image
                .push(Function { name: "f".into(), size, code, eh_frame: eh_frame.into(), ..Function::default() })
                .unwrap()
        };
        let places = [add(&[1; 5], of_function(5)), add(&[2; 8], vec![0xff; 30]), add(&[3; 20], of_function(20))];
        let at = image.end().next_multiple_of(8);
        let unwind = Unwind::new(&image, at).unwrap();
        let mut section: EhFrame<EndianSlice<'_, RunTimeEndian>> =
            EhFrame::new(&unwind.eh_frame, RunTimeEndian::Little);
        section.set_address_size(8);
        let bases = BaseAddresses::default().set_eh_frame(at);
        let mut found = Vec::new();
        let mut entries = section.entries(&bases);
        while let Some(entry) = entries.next().unwrap() {
            if let CieOrFde::Fde(partial) = entry {
                let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
                found.push((fde.initial_address(), fde.len(), fde.offset() as u64));
            }
        }
        let [(first, 5, first_at), (last, 20, last_at)] = found[..] else { panic!("{found:x?}") };
        assert_eq!([first, last], [places[0], places[2]], "what cannot be read is left out");

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

    /// What is common to entries, with factors and letters, and one entry.
    fn by_hand(code: &[u8], data: &[u8], letters: &[u8]) -> Vec<u8> {
        let entry = |parts: &[&[u8]]| {
            let mut body = parts.concat();
            body.resize(body.len().next_multiple_of(4), 0);
            [&(body.len() as u32).to_le_bytes()[..], &body].concat()
        };
        // A register's place, then an advance before another.
        let instructions = [0x80, 1, 0x41, 0x81, 1];
        let cie = entry(&[&[0; 4], &[1], letters, &[0], code, data, &[16], &instructions[..2]]);
        let back = (cie.len() as u32 + 4).to_le_bytes();
        let fde = entry(&[&back, &(-16_i64).to_le_bytes(), &[16, 0, 0, 0, 0, 0, 0, 0], &instructions]);
        [cie, fde].concat()
    }

    #[test]
    fn what_cannot_be_written_anew_is_left_out_alone() {
        let with = |eh_frame: Vec<u8>| {
            let mut image = Image::new(Target { machine: 62, is_64: true, endian: Endian::Little });
            for eh_frame in [of_function(16), eh_frame, of_function(16)] {
                let function =
                    Function { name: "f".into(), size: 16, eh_frame: eh_frame.into(), ..Function::default() };
                image.push(function).unwrap();
            }
            Unwind::new(&image, image.end().next_multiple_of(8)).unwrap().table.len()
        };
        assert_eq!(with(by_hand(&[1], &[0x78], b"")), 3);
        // Factors of 0, 256 and -1; more letters than there are meanings.
        for (code, data, letters) in [
            (&[1][..], &[0][..], &b""[..]),
            (&[0], &[0x78], b""),
            (&[1], &[0x80, 2], b""),
            (&[0x80, 2], &[0x78], b""),
            (&[1], &[0x7f], b""),
            (&[1], &[0x78], &[b'S'; 40]),
        ] {
            assert_eq!(with(by_hand(code, data, letters)), 2, "{code:x?} {data:x?}");
        }
        // Code somewhere else.
        let mut far = by_hand(&[1], &[0x78], b"");
        let address = far.len() - 24;
        far[address..address + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
        assert_eq!(with(far), 2);
    }
}
