//! BTF: the kernel's compact type information, for BPF programs.

use crate::abi::bit_set::bit_set;
use crate::abi::open_enum::open_enum;
use crate::abi::text::until_nul;
use crate::abi::{self, Endian, counted};
use binrw::{BinRead, BinResult, binrw};
use std::io::Cursor;

open_enum! {
    /// `BTF_KIND_*`: kind of a type.
    BtfKind: u8 {
        /// Integer.
        INT = 1,
        /// Pointer.
        PTR = 2,
        /// Array.
        ARRAY = 3,
        /// Structure.
        STRUCT = 4,
        /// Union.
        UNION = 5,
        /// Enumeration of 32-bit values.
        ENUM = 6,
        /// Forward declaration.
        FWD = 7,
        /// Type alias.
        TYPEDEF = 8,
        /// Volatile type.
        VOLATILE = 9,
        /// Constant type.
        CONST = 10,
        /// Restricted pointer.
        RESTRICT = 11,
        /// Function.
        FUNC = 12,
        /// Prototype of a function.
        FUNC_PROTO = 13,
        /// Variable.
        VAR = 14,
        /// Section of variables.
        DATASEC = 15,
        /// Floating point number.
        FLOAT = 16,
        /// Tag of a declaration.
        DECL_TAG = 17,
        /// Tag of a type.
        TYPE_TAG = 18,
        /// Enumeration of 64-bit values.
        ENUM64 = 19,
    }
}

/// Types with their strings, in the byte order given by the magic.
///
/// ```c
/// struct btf_header hdr; u8 hdr_tail[hdr_len - 24];
/// struct btf_type types[]; // type_len bytes
/// char strings[str_len];
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Btf {
    /// Byte order.
    pub endian: Endian,
    /// Version, 1.
    pub version: u8,
    /// Unused.
    pub flags: u8,
    /// Bytes of the header beyond the known fields.
    pub header_tail: Vec<u8>,
    /// The types; the first has ID 1.
    pub types: Vec<BtfType>,
    /// The strings with their NULs, referenced by offset.
    pub strings: Vec<u8>,
}

/// `struct btf_header`.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BtfHeader {
    magic: u16,
    version: u8,
    flags: u8,
    hdr_len: u32,
    type_off: u32,
    type_len: u32,
    str_off: u32,
    str_len: u32,
}

impl Btf {
    const MAGIC: u16 = 0xeb9f;
    const HEADER_SIZE: u32 = 24;

    /// Decodes the BTF of a program; `None` if it is not BTF, or if types and strings have an unusual order.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let endian = match u16::from_le_bytes(*bytes.first_chunk()?) {
            Self::MAGIC => Endian::Little,
            magic if magic == Self::MAGIC.swap_bytes() => Endian::Big,
            _ => return None,
        };
        let mut cursor = Cursor::new(bytes);
        let header = BtfHeader::read_options(&mut cursor, endian, ()).ok()?;
        let header_tail = header.hdr_len.checked_sub(Self::HEADER_SIZE)?;
        let header_tail = counted::bytes(&mut cursor, endian, (header_tail.into(),)).ok()?;
        let types = counted::bytes(&mut cursor, endian, (header.type_len.into(),)).ok()?;
        let strings = counted::bytes(&mut cursor, endian, (header.str_len.into(),)).ok()?;
        let in_order = header.type_off == 0 && header.str_off == header.type_len;
        if !in_order || cursor.position() != bytes.len() as u64 {
            return None;
        }
        let types = read_types(&mut Cursor::new(types), endian).ok()?;
        Some(Self { endian, version: header.version, flags: header.flags, header_tail, types, strings })
    }

    /// Encodes the types.
    ///
    /// # Errors
    /// None in practice: the bytes are written to memory.
    pub fn to_bytes(&self) -> BinResult<Vec<u8>> {
        let types = abi::to_bytes(&self.types, self.endian)?;
        let header = BtfHeader {
            magic: Self::MAGIC,
            version: self.version,
            flags: self.flags,
            hdr_len: Self::HEADER_SIZE + self.header_tail.len() as u32,
            type_off: 0,
            type_len: types.len() as u32,
            str_off: types.len() as u32,
            str_len: self.strings.len() as u32,
        };
        let header = abi::to_bytes(&header, self.endian)?;
        Ok([&header[..], &self.header_tail, &types, &self.strings].concat())
    }

    /// The string at an offset.
    pub fn string(&self, offset: u32) -> &[u8] {
        until_nul(self.strings.get(offset as usize..).unwrap_or_default())
    }
}

fn read_types(cursor: &mut Cursor<Vec<u8>>, endian: Endian) -> BinResult<Vec<BtfType>> {
    let mut types = Vec::new();
    while cursor.position() < cursor.get_ref().len() as u64 {
        types.push(BtfType::read_options(cursor, endian, ())?);
    }
    Ok(types)
}

/// A type.
///
/// ```c
/// u32 name_off, info; union { u32 size, type; };
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BtfType {
    /// Offset of its name in the strings.
    pub name_off: u32,
    /// Kind, and number of parts.
    pub info: BtfInfo,
    /// Size in bytes, or the ID of the referenced type, depending on the kind.
    pub size_or_type: u32,
    /// Kind-specific parts.
    #[br(args(info.kind(), info.vlen()))]
    pub parts: BtfParts,
}

bit_set! {
    /// `btf_type.info`.
    BtfInfo: u32 {
        /// Number of parts.
        VLEN = 0xffff,
        /// A [`BtfKind`].
        KIND = 0x1f00_0000,
        /// Variant of the kind, for structures, unions, forward declarations and enumerations.
        KIND_FLAG = 1 << 31,
    }
}

impl BtfInfo {
    /// Kind of the type.
    pub fn kind(self) -> BtfKind {
        BtfKind(((self & Self::KIND).bits() >> 24) as u8)
    }

    /// Number of parts.
    pub fn vlen(self) -> u64 {
        (self & Self::VLEN).bits().into()
    }
}

/// Kind-specific parts of a type.
#[binrw]
#[br(import(kind: BtfKind, vlen: u64))]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BtfParts {
    /// Integer: bits 0 to 7 width, 16 to 23 offset, 24 to 27 signed, character and Boolean flags.
    #[br(pre_assert(kind == BtfKind::INT))]
    Int(u32),
    /// Array.
    #[br(pre_assert(kind == BtfKind::ARRAY))]
    Array {
        /// Type of the elements.
        kind: u32,
        /// Type of the index.
        index_type: u32,
        /// Number of elements.
        nelems: u32,
    },
    /// Members of a structure or union.
    #[br(pre_assert(matches!(kind, BtfKind::STRUCT | BtfKind::UNION)))]
    Members(#[br(parse_with = counted::items, args(vlen))] Vec<BtfMember>),
    /// Values of a 32-bit enumeration.
    #[br(pre_assert(kind == BtfKind::ENUM))]
    Enum(#[br(parse_with = counted::items, args(vlen))] Vec<BtfEnum>),
    /// Parameters of a function prototype.
    #[br(pre_assert(kind == BtfKind::FUNC_PROTO))]
    Params(#[br(parse_with = counted::items, args(vlen))] Vec<BtfParam>),
    /// Linkage of a variable: 0 static, 1 global.
    #[br(pre_assert(kind == BtfKind::VAR))]
    Linkage(u32),
    /// Variables of a section.
    #[br(pre_assert(kind == BtfKind::DATASEC))]
    Variables(#[br(parse_with = counted::items, args(vlen))] Vec<BtfVarSecinfo>),
    /// Target of a declaration tag: index of a member or parameter, or -1 for the declaration itself.
    #[br(pre_assert(kind == BtfKind::DECL_TAG))]
    ComponentIdx(i32),
    /// Values of a 64-bit enumeration.
    #[br(pre_assert(kind == BtfKind::ENUM64))]
    Enum64(#[br(parse_with = counted::items, args(vlen))] Vec<BtfEnum64>),
    /// Kinds without parts.
    #[br(pre_assert(has_no_parts(kind)))]
    None,
}

fn has_no_parts(kind: BtfKind) -> bool {
    use BtfKind as K;
    matches!(
        kind,
        K::PTR | K::FWD | K::TYPEDEF | K::VOLATILE | K::CONST | K::RESTRICT | K::FUNC | K::FLOAT | K::TYPE_TAG
    )
}

/// Member of a structure or union.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfMember {
    /// Offset of its name.
    pub name_off: u32,
    /// Its type.
    pub kind: u32,
    /// Offset in bits; with [`BtfInfo::KIND_FLAG`], bits 24 to 31 are the width.
    pub offset: u32,
}

/// Value of an enumeration.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfEnum {
    /// Offset of its name.
    pub name_off: u32,
    /// Its value.
    pub val: i32,
}

/// Parameter of a function.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfParam {
    /// Offset of its name.
    pub name_off: u32,
    /// Its type.
    pub kind: u32,
}

/// Variable of a section.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfVarSecinfo {
    /// Type ID of the variable.
    pub kind: u32,
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// Value of an enumeration of 64-bit values.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfEnum64 {
    /// Offset of its name.
    pub name_off: u32,
    /// Lower half of its value.
    pub val_lo32: u32,
    /// Upper half of its value.
    pub val_hi32: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::hex;

    #[test]
    fn bytes_of_each_kind() {
        let little = hex("9feb 01 00 18000000 00000000 c4000000 c4000000 07000000 \
             01000000 00000001 04000000 20000001 \
             00000000 00000003 00000000 02000000 01000000 05000000 \
             01000000 01000004 04000000 05000000 01000000 08000000 \
             00000000 01000006 04000000 05000000 ffffffff \
             00000000 0100000d 01000000 05000000 01000000 \
             01000000 0000000e 01000000 01000000 \
             01000000 0100000f 08000000 06000000 00000000 04000000 \
             01000000 00000011 03000000 feffffff \
             00000000 01000013 08000000 05000000 01000000 02000000 \
             00000000 00000002 01000000 \
             00 'int' 00 'x' 00");
        let big = hex("eb9f 01 00 00000018 00000000 000000c4 000000c4 00000007 \
             00000001 01000000 00000004 01000020 \
             00000000 03000000 00000000 00000002 00000001 00000005 \
             00000001 04000001 00000004 00000005 00000001 00000008 \
             00000000 06000001 00000004 00000005 ffffffff \
             00000000 0d000001 00000001 00000005 00000001 \
             00000001 0e000000 00000001 00000001 \
             00000001 0f000001 00000008 00000006 00000000 00000004 \
             00000001 11000000 00000003 fffffffe \
             00000000 13000001 00000008 00000005 00000001 00000002 \
             00000000 02000000 00000001 \
             00 'int' 00 'x' 00");
        let [little_types, big_types] = [little, big].map(|bytes| {
            let btf = Btf::read(&bytes).unwrap();
            assert_eq!(btf.to_bytes().unwrap(), bytes);
            assert_eq!((btf.string(1), btf.string(99)), (&b"int"[..], &b""[..]));
            btf.types
        });
        assert_eq!(little_types, big_types);
        let parts: Vec<_> = little_types.iter().map(|each| each.parts.clone()).collect();
        assert_eq!(
            parts,
            [
                BtfParts::Int(0x0100_0020),
                BtfParts::Array { kind: 2, index_type: 1, nelems: 5 },
                BtfParts::Members(vec![BtfMember { name_off: 5, kind: 1, offset: 8 }]),
                BtfParts::Enum(vec![BtfEnum { name_off: 5, val: -1 }]),
                BtfParts::Params(vec![BtfParam { name_off: 5, kind: 1 }]),
                BtfParts::Linkage(1),
                BtfParts::Variables(vec![BtfVarSecinfo { kind: 6, offset: 0, size: 4 }]),
                BtfParts::ComponentIdx(-2),
                BtfParts::Enum64(vec![BtfEnum64 { name_off: 5, val_lo32: 1, val_hi32: 2 }]),
                BtfParts::None,
            ]
        );
    }

    #[test]
    fn rejects_what_is_not_btf() {
        assert_eq!(Btf::read(b"\x9f"), None);
        assert_eq!(Btf::read(&[0; 100]), None);
        assert_eq!(Btf::read(&hex("9feb 01 00 18000000 00000000 ffffffff ffffffff 00000000 00 *40")), None);
        let unknown_kind = hex("9feb 01 00 18000000 00000000 0c000000 0c000000 00000000 00 *7 1f 00 *4");
        assert_eq!(Btf::read(&unknown_kind), None);
    }
}
