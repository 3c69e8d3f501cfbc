//! BTF: types of BPF programs, in the compact form of the kernel.

use crate::abi::text::until_nul;
use crate::abi::{self, Endian, counted};
use crate::{bit_set, open_enum};
use binrw::{BinRead, BinResult, binrw};
use std::io::Cursor;

open_enum! {
    /// `BTF_KIND_*`: what kind of type.
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
        /// Another name of a type.
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

/// Types and the strings that name them. They are in the byte order that their magic tells.
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
    /// Bytes of the header behind the fields that are known here.
    pub header_tail: Vec<u8>,
    /// The types: the first is number 1.
    pub types: Vec<BtfType>,
    /// The strings, each with its NUL; types point into them.
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

    /// Reads what the kernel gives for a program; `None` where it is not BTF, or has types and strings in another order
    /// than all that is known.
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

    /// The bytes that the kernel would give.
    ///
    /// # Errors
    /// None in practice: the bytes go to memory.
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

    /// The string at that place.
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
    /// Where its name is among the strings.
    pub name_off: u32,
    /// Its kind, and how many parts it has.
    pub info: BtfInfo,
    /// Its size in bytes, or the type that it is about: which of the two is up to the kind.
    pub size_or_type: u32,
    /// Its parts.
    #[br(args(info.kind(), info.vlen()))]
    pub parts: BtfParts,
}

bit_set! {
    /// `btf_type.info`.
    BtfInfo: u32 {
        /// How many parts follow.
        VLEN = 0xffff,
        /// A [`BtfKind`].
        KIND = 0x1f00_0000,
        /// Of structures, unions, forward declarations and enumerations: a variant of the kind.
        KIND_FLAG = 1 << 31,
    }
}

impl BtfInfo {
    /// What kind of type.
    pub fn kind(self) -> BtfKind {
        BtfKind(((self & Self::KIND).bits() >> 24) as u8)
    }

    /// How many parts it has.
    pub fn vlen(self) -> u64 {
        (self & Self::VLEN).bits().into()
    }
}

/// What follows a type, by its kind.
#[binrw]
#[br(import(kind: BtfKind, vlen: u64))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BtfParts {
    /// Bits 0 to 7 its width, 16 to 23 its offset, 24 to 27 whether it is signed, a character, a truth value.
    #[br(pre_assert(kind == BtfKind::INT))]
    Int(u32),
    /// Of an array.
    #[br(pre_assert(kind == BtfKind::ARRAY))]
    Array {
        /// Type of the elements.
        kind: u32,
        /// Type of the index.
        index_type: u32,
        /// Elements.
        nelems: u32,
    },
    /// Of a structure or union.
    #[br(pre_assert(matches!(kind, BtfKind::STRUCT | BtfKind::UNION)))]
    Members(#[br(parse_with = counted::items, args(vlen))] Vec<BtfMember>),
    /// Of an enumeration of 32-bit values.
    #[br(pre_assert(kind == BtfKind::ENUM))]
    Enum(#[br(parse_with = counted::items, args(vlen))] Vec<BtfEnum>),
    /// Of a prototype.
    #[br(pre_assert(kind == BtfKind::FUNC_PROTO))]
    Params(#[br(parse_with = counted::items, args(vlen))] Vec<BtfParam>),
    /// Of a variable: 0 static, 1 global.
    #[br(pre_assert(kind == BtfKind::VAR))]
    Linkage(u32),
    /// Of a section.
    #[br(pre_assert(kind == BtfKind::DATASEC))]
    Variables(#[br(parse_with = counted::items, args(vlen))] Vec<BtfVarSecinfo>),
    /// Of a tag of a declaration: which member or parameter it is about, -1 for the whole.
    #[br(pre_assert(kind == BtfKind::DECL_TAG))]
    ComponentIdx(i32),
    /// Of an enumeration of 64-bit values.
    #[br(pre_assert(kind == BtfKind::ENUM64))]
    Enum64(#[br(parse_with = counted::items, args(vlen))] Vec<BtfEnum64>),
    /// Of all other kinds that are known here.
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
    /// Where its name is.
    pub name_off: u32,
    /// Its type.
    pub kind: u32,
    /// Bits before it; with [`BtfInfo::KIND_FLAG`] bits 24 to 31 are its width.
    pub offset: u32,
}

/// Value of an enumeration.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfEnum {
    /// Where its name is.
    pub name_off: u32,
    /// Its value.
    pub val: i32,
}

/// Parameter of a function.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfParam {
    /// Where its name is.
    pub name_off: u32,
    /// Its type.
    pub kind: u32,
}

/// Variable of a section.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfVarSecinfo {
    /// The variable, by its number among the types.
    pub kind: u32,
    /// Bytes before it.
    pub offset: u32,
    /// Bytes of it.
    pub size: u32,
}

/// Value of an enumeration of 64-bit values.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfEnum64 {
    /// Where its name is.
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
    fn what_is_not_btf_is_none() {
        assert_eq!(Btf::read(b"\x9f"), None);
        assert_eq!(Btf::read(&[0; 100]), None);
        assert_eq!(Btf::read(&hex("9feb 01 00 18000000 00000000 ffffffff ffffffff 00000000 00 *40")), None);
        let unknown_kind = hex("9feb 01 00 18000000 00000000 0c000000 0c000000 00000000 00 *7 1f 00 *4");
        assert_eq!(Btf::read(&unknown_kind), None);
    }
}
