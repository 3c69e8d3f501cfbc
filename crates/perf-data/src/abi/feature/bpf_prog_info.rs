//! Feature BPF_PROG_INFO.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::abi::bit_set::bit_set;
use crate::abi::bytes::ByteReader;
use crate::abi::serde::readable;
use crate::abi::stored_size::StoredSize;
use crate::abi::text::FixedStr;
use crate::abi::{Endian, counted};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

bit_set! {
    /// `PERF_BPIL_*`: arrays stored with a program.
    BpfArrays: u64 {
        /// Machine code.
        JITED_INSNS = 1 << 0,
        /// BPF instructions.
        XLATED_INSNS = 1 << 1,
        /// `u32[]`: IDs of its maps.
        MAP_IDS = 1 << 2,
        /// `u64[]`: addresses of functions.
        JITED_KSYMS = 1 << 3,
        /// `u32[]`: sizes of functions.
        JITED_FUNC_LENS = 1 << 4,
        /// `{ u32 insn_off, type_id; }[]`, possibly extended: names of functions.
        FUNC_INFO = 1 << 5,
        /// `{ u32 insn_off, file_name_off, line_off, line_col; }[]`, possibly extended: source lines.
        LINE_INFO = 1 << 6,
        /// `u64[]`: addresses of source lines.
        JITED_LINE_INFO = 1 << 7,
        /// `u8[][8]`: tags of functions.
        PROG_TAGS = 1 << 8,
    }
}

/// Loaded BPF programs. Since perf 5.1.
///
/// ```c
/// u32 nr;
/// struct { u32 info_len, data_len; u64 arrays; struct bpf_prog_info info; u8 data[data_len]; } programs[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfProgInfos {
    #[br(temp)]
    #[bw(calc = programs.len() as u32)]
    nr: u32,
    /// The programs.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub programs: Vec<BpfProg>,
}

/// A BPF program.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfProg {
    #[br(temp)]
    #[bw(calc = info.stored.len() as u32)]
    info_len: u32,
    #[br(temp)]
    #[bw(calc = data.len() as u32)]
    data_len: u32,
    /// Arrays in `data`.
    pub arrays: BpfArrays,
    /// Information from the kernel.
    #[br(args_raw = info_len as usize)]
    pub info: BpfProgInfo,
    /// The arrays, each padded to a multiple of 8 bytes, in the byte order of the recording machine.
    #[br(parse_with = counted::bytes, args(data_len.into()))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

impl BpfProg {
    /// Size of the stored information from the kernel.
    pub(crate) fn info_size(&self) -> usize {
        self.info.stored.len()
    }

    /// The bytes of an array; `None` if it is missing.
    pub fn array(&self, which: BpfArrays) -> Option<&[u8]> {
        let info = &self.info;
        let (offset, count, size) = match which {
            BpfArrays::JITED_INSNS => (info.jited_prog_insns, info.jited_prog_len, 1),
            BpfArrays::XLATED_INSNS => (info.xlated_prog_insns, info.xlated_prog_len, 1),
            BpfArrays::MAP_IDS => (info.map_ids, info.nr_map_ids, 4),
            BpfArrays::JITED_KSYMS => (info.jited_ksyms, info.nr_jited_ksyms, 8),
            BpfArrays::JITED_FUNC_LENS => (info.jited_func_lens, info.nr_jited_func_lens, 4),
            BpfArrays::FUNC_INFO => (info.func_info, info.nr_func_info, info.func_info_rec_size),
            BpfArrays::LINE_INFO => (info.line_info, info.nr_line_info, info.line_info_rec_size),
            BpfArrays::JITED_LINE_INFO => {
                (info.jited_line_info, info.nr_jited_line_info, info.jited_line_info_rec_size)
            }
            BpfArrays::PROG_TAGS => (info.prog_tags, info.nr_prog_tags, 8),
            _ => return None,
        };
        let from = self.arrays.contains(which).then_some(self.data.get(usize::try_from(offset).ok()?..)?)?;
        from.get(..usize::try_from(u64::from(count) * u64::from(size)).ok()?)
    }

    /// Its functions, of which the first is the main program. None if the kernel hid their addresses.
    pub fn functions(&self, endian: Endian) -> impl Iterator<Item = BpfFunction<'_>> {
        let array = |which| self.array(which).unwrap_or_default();
        let mut addresses = ByteReader::new(array(BpfArrays::JITED_KSYMS), endian);
        let mut sizes = ByteReader::new(array(BpfArrays::JITED_FUNC_LENS), endian);
        let mut tags = array(BpfArrays::PROG_TAGS).chunks_exact(8);
        let mut named = array(BpfArrays::FUNC_INFO).chunks_exact(self.info.func_info_rec_size.max(1) as usize);
        std::iter::from_fn(move || {
            let (address, size) = (addresses.u64()?, sizes.u32()?);
            let tag = tags.next().unwrap_or(&self.info.tag);
            // `u32 insn_off, type_id`.
            let type_id = named.next().and_then(|entry| ByteReader::new(entry.get(4..)?, endian).u32());
            Some(BpfFunction { address, size, tag, type_id })
        })
    }

    /// Its source lines in the order of their addresses in each function.
    pub fn lines(&self, endian: Endian) -> impl Iterator<Item = BpfLine> {
        let array = |which| self.array(which).unwrap_or_default();
        let mut addresses = ByteReader::new(array(BpfArrays::JITED_LINE_INFO), endian);
        let mut lines = array(BpfArrays::LINE_INFO).chunks_exact(self.info.line_info_rec_size.max(1) as usize);
        std::iter::from_fn(move || {
            // `u32 insn_off, file_name_off, line_off, line_col`; the column is in the lower 10 bits.
            let mut line = ByteReader::new(lines.next()?.get(4..)?, endian);
            let (address, file_name_off, _, line_col) = (addresses.u64()?, line.u32()?, line.u32()?, line.u32()?);
            Some(BpfLine { address, file_name_off, line: line_col >> 10, column: line_col & 0x3ff })
        })
    }
}

/// A function of a BPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpfFunction<'a> {
    /// Address of its machine code.
    pub address: u64,
    /// Size of its machine code in bytes.
    pub size: u32,
    /// Tag: hash of its instructions.
    pub tag: &'a [u8],
    /// ID of its type in the program's BTF object.
    pub type_id: Option<u32>,
}

/// A source line of a BPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpfLine {
    /// Address of its machine code.
    pub address: u64,
    /// Offset of the path of its file in the strings of the program's BTF object.
    pub file_name_off: u32,
    /// Line.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
}

/// `struct bpf_prog_info`. Addresses of arrays are replaced by offsets into the program's data. The structure has grown; missing
/// fields are 0.
#[binrw]
#[br(import_raw(size: usize), pre_assert(size >= Self::FIELD_ENDS[0]))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfProgInfo {
    #[br(calc = StoredSize::new(size))]
    #[bw(ignore)]
    stored: StoredSize,
    /// `BPF_PROG_TYPE_*`.
    pub kind: u32,
    /// Program ID.
    pub id: u32,
    /// Tag: hash of the instructions.
    #[serde(with = "readable::hex_bytes")]
    pub tag: [u8; 8],
    /// Size of the machine code in bytes.
    pub jited_prog_len: u32,
    /// Size of the BPF instructions in bytes.
    pub xlated_prog_len: u32,
    /// Offset of the machine code.
    pub jited_prog_insns: u64,
    /// Offset of the BPF instructions.
    pub xlated_prog_insns: u64,
    /// Load time in nanoseconds since boot.
    pub load_time: u64,
    /// User ID of the loader.
    pub created_by_uid: u32,
    /// Number of maps.
    pub nr_map_ids: u32,
    /// Offset of the map IDs.
    pub map_ids: u64,
    /// Name.
    pub name: FixedStr<16>,
    /// Index of the network interface that it is offloaded to.
    pub ifindex: u32,
    /// A bit-field, the lowest bit on little-endian machines and the highest on big-endian ones: whether it may call GPL-only
    /// functions.
    pub gpl_compatible: u32,
    /// Device of the network namespace of the interface.
    pub netns_dev: u64,
    /// Inode of the network namespace of the interface.
    pub netns_ino: u64,
    /// Number of function addresses.
    pub nr_jited_ksyms: u32,
    /// Number of function sizes.
    pub nr_jited_func_lens: u32,
    /// Offset of the function addresses.
    #[serde(serialize_with = "readable::hex")]
    pub jited_ksyms: u64,
    /// Offset of the function sizes.
    pub jited_func_lens: u64,
    /// ID of its BTF object, in the feature BPF_BTF.
    pub btf_id: u32,
    /// Size of a `bpf_func_info` in bytes.
    pub func_info_rec_size: u32,
    /// Offset of the function names.
    pub func_info: u64,
    /// Number of function names.
    pub nr_func_info: u32,
    /// Number of source lines.
    pub nr_line_info: u32,
    /// Offset of the source lines.
    pub line_info: u64,
    /// Offset of the addresses of source lines.
    pub jited_line_info: u64,
    /// Number of addresses of source lines.
    pub nr_jited_line_info: u32,
    /// Size of a `bpf_line_info` in bytes.
    pub line_info_rec_size: u32,
    /// Size of an address of a source line in bytes.
    pub jited_line_info_rec_size: u32,
    /// Number of function tags.
    pub nr_prog_tags: u32,
    /// Offset of the function tags.
    pub prog_tags: u64,
    /// Run time in nanoseconds. Since Linux 5.1.
    #[brw(if(stored.reaches(200)))]
    pub run_time_ns: u64,
    /// Number of runs. Since Linux 5.1.
    #[brw(if(stored.reaches(208)))]
    pub run_cnt: u64,
    /// Number of runs skipped because of recursion. Since Linux 5.12.
    #[brw(if(stored.reaches(216)))]
    pub recursion_misses: u64,
    /// Number of instructions processed by the verifier. Since Linux 5.16.
    #[brw(if(stored.reaches(220)))]
    pub verified_insns: u32,
    /// BTF object of the attach target. Since Linux 6.0.
    #[brw(if(stored.reaches(224)))]
    pub attach_btf_obj_id: u32,
    /// BTF type of the attach target. Since Linux 6.0.
    #[brw(if(stored.reaches(228)))]
    pub attach_btf_id: u32,
    /// Unused.
    #[brw(if(stored.reaches(232)))]
    pub pad: u32,
    /// Bytes beyond the known fields.
    #[br(parse_with = counted::bytes, args(stored.beyond(&Self::FIELD_ENDS)))]
    #[serde(with = "crate::abi::serde::byte_string", default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<u8>,
}

impl BpfProgInfo {
    /// End offsets of the first version and of each later field.
    const FIELD_ENDS: [usize; 8] = [192, 200, 208, 216, 220, 224, 228, 232];
}

/// Descriptor of BPF_PROG_INFO.
pub const BPF_PROG_INFO: FeatureDescriptor = FeatureDescriptor::code(FeatureId::BPF_PROG_INFO, (5, 1));

roles! { BpfProgInfos { programs: fields } }

roles! { BpfProg { arrays: number, info: fields, data: opaque } }

roles! {
    BpfProgInfo {
        stored: number,
        kind: number,
        id: number,
        tag: bpf_tag,
        jited_prog_len: number,
        xlated_prog_len: number,
        jited_prog_insns: number,
        xlated_prog_insns: number,
        load_time: number,
        created_by_uid: number,
        nr_map_ids: number,
        map_ids: number,
        name: text(Symbol),
        ifindex: number,
        gpl_compatible: number,
        netns_dev: number,
        netns_ino: number,
        nr_jited_ksyms: number,
        nr_jited_func_lens: number,
        jited_ksyms: number,
        jited_func_lens: number,
        btf_id: number,
        func_info_rec_size: number,
        func_info: number,
        nr_func_info: number,
        nr_line_info: number,
        line_info: number,
        jited_line_info: number,
        nr_jited_line_info: number,
        line_info_rec_size: number,
        jited_line_info_rec_size: number,
        nr_prog_tags: number,
        prog_tags: number,
        run_time_ns: number,
        run_cnt: number,
        recursion_misses: number,
        verified_insns: number,
        attach_btf_obj_id: number,
        attach_btf_id: number,
        pad: opaque,
        tail: opaque,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::abi::testing::{hex, to_bytes};

    /// A program whose words are 0, 1 or 2.
    fn numbered(endian: Endian, info_len: u32) -> Vec<u8> {
        let u32s = |value: u32| if endian == Endian::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut bytes = [u32s(1), u32s(info_len), u32s(16)].concat();
        bytes.extend(if endian == Endian::Big { 0x18_u64.to_be_bytes() } else { 0x18_u64.to_le_bytes() });
        bytes.extend((0..info_len / 4).flat_map(|at| u32s(if (26..30).contains(&at) { at % 2 + 1 } else { 0 })));
        bytes.extend(hex("0102030405060708 09 *8"));
        bytes
    }

    #[test]
    fn bytes_of_every_size() {
        for endian in [Endian::Little, Endian::Big] {
            for info_len in [192, 200, 208, 216, 220, 224, 228, 232, 240] {
                let bytes = numbered(endian, info_len);
                let (infos, used): (BpfProgInfos, usize) = abi::parse(&bytes, endian, ()).unwrap();
                let program = &infos.programs[0];
                assert_eq!((program.info.nr_jited_ksyms, program.info.nr_jited_func_lens), (1, 2));
                assert_eq!(program.info.tail.len(), info_len.saturating_sub(232) as usize);
                assert_eq!((to_bytes(&infos, endian), used), (bytes.clone(), bytes.len()), "{info_len}");
            }
            assert!(abi::parse::<BpfProgInfos>(&numbered(endian, 188), endian, ()).is_err());
        }
    }

    #[test]
    fn arrays_are_slices_of_the_data() {
        let bytes = numbered(Endian::Little, 232);
        let (mut infos, _): (BpfProgInfos, usize) = abi::parse(&bytes, Endian::Little, ()).unwrap();
        let program = &mut infos.programs[0];
        program.info.jited_ksyms = 0;
        program.info.jited_func_lens = 8;
        assert_eq!(program.array(BpfArrays::JITED_KSYMS), Some(&[1, 2, 3, 4, 5, 6, 7, 8][..]));
        assert_eq!(program.array(BpfArrays::JITED_FUNC_LENS), Some(&[9; 8][..]));
        assert_eq!(program.array(BpfArrays::PROG_TAGS), None, "the bit is not set");
        program.info.jited_func_lens = 9;
        assert_eq!(program.array(BpfArrays::JITED_FUNC_LENS), None, "the array exceeds the data");
    }
}
