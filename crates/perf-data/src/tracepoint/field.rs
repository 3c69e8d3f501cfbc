//! A field of a tracepoint, parsed from its C declaration.

use crate::abi::feature::tracepoint_format::FormatField;

/// A field: its location and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its C type without brackets and `__data_loc`: `unsigned long`, `struct file_lock *`.
    pub type_name: String,
    /// Location of its bytes.
    pub location: FieldLocation,
    /// Interpretation of its bytes.
    pub kind: TracepointKind,
    /// Whether its integers are signed.
    pub is_signed: bool,
}

/// Location of the bytes of a field, relative to the start of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldLocation {
    /// At `offset`.
    Here {
        /// Offset of the bytes.
        offset: usize,
        /// Number of bytes.
        size: usize,
    },
    /// `__data_loc`: a `u32` at `offset`, whose lower half is the offset of the bytes and whose upper half is their number.
    DataLoc {
        /// Offset of the `u32`.
        offset: usize,
    },
    /// `__rel_loc`: as `__data_loc`, with the offset relative to the end of the `u32`. Since Linux 5.17.
    RelLoc {
        /// Offset of the `u32`.
        offset: usize,
    },
}

/// Interpretation of the bytes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracepointKind {
    /// An integer of 1, 2, 4 or 8 bytes.
    Number(usize),
    /// An address.
    Pointer(usize),
    /// An array of `char`: a string up to its NUL.
    Text,
    /// An array of integers of 2, 4 or 8 bytes.
    Numbers(usize),
    /// Fields that describe themselves, which only [`Tracepoint::values`](super::tracepoints::Tracepoint::values) decodes.
    EventHeader,
    /// Anything else: byte arrays, structures.
    Bytes,
}

impl Field {
    /// Parses a declaration. `long_size` is the size of a `long`.
    pub fn new(format: &FormatField, long_size: usize) -> Self {
        let declared = Declaration::parse_declaration(&format.declaration, format.name());
        let (offset, size) = (format.offset as usize, format.size as usize);
        Self {
            name: format.name().to_owned(),
            location: declared.location(offset, size),
            kind: declared.kind(size, long_size),
            is_signed: format.signed.unwrap_or_else(|| !declared.is_unsigned()),
            type_name: declared.type_name,
        }
    }
}

/// The parts of a declaration.
struct Declaration {
    /// `__data_loc` or `__rel_loc`.
    elsewhere: Option<&'static str>,
    type_name: String,
    /// Text in the brackets, if any.
    count: Option<String>,
}

const DATA_LOC: &str = "__data_loc";
const REL_LOC: &str = "__rel_loc";

impl Declaration {
    /// `__data_loc char[] name` has the brackets after the type, `char name[16]` after the name.
    fn parse_declaration(declaration: &str, name: &str) -> Self {
        let elsewhere = [DATA_LOC, REL_LOC].into_iter().find(|word| declaration.starts_with(word));
        let rest = &declaration[elsewhere.map_or(0, str::len)..];
        let (before, count) = match rest.split_once('[') {
            Some((before, brackets)) => (before, Some(brackets.split(']').next().unwrap_or_default().to_owned())),
            None => (rest, None),
        };
        let before = before.trim();
        let type_name = before.strip_suffix(name).unwrap_or(before).trim();
        Self { elsewhere, type_name: type_name.to_owned(), count }
    }

    fn location(&self, offset: usize, size: usize) -> FieldLocation {
        match self.elsewhere {
            Some(DATA_LOC) => FieldLocation::DataLoc { offset },
            Some(_) => FieldLocation::RelLoc { offset },
            None => FieldLocation::Here { offset, size },
        }
    }

    fn kind(&self, size: usize, long_size: usize) -> TracepointKind {
        if self.count.is_some() || self.elsewhere.is_some() {
            return self.array_kind(size, long_size);
        }
        match size {
            1 | 2 | 4 | 8 if self.type_name.ends_with('*') => TracepointKind::Pointer(size),
            1 | 2 | 4 | 8 => TracepointKind::Number(size),
            _ => TracepointKind::Bytes,
        }
    }

    fn array_kind(&self, size: usize, long_size: usize) -> TracepointKind {
        if self.words().eq(["char"]) {
            return TracepointKind::Text;
        }
        // The count is unknown if it is a constant such as `[TASK_COMM_LEN]`, or if the array is elsewhere.
        let count = self.count.as_ref().and_then(|count| count.parse::<usize>().ok());
        let is_inline = self.elsewhere.is_none();
        let of_count =
            count.filter(|&count| is_inline && count > 0 && size.is_multiple_of(count)).map(|count| size / count);
        match of_count.or_else(|| self.type_size(long_size)) {
            Some(element @ (2 | 4 | 8)) => TracepointKind::Numbers(element),
            _ => TracepointKind::Bytes,
        }
    }

    /// Words of the type except qualifiers.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.type_name.split_ascii_whitespace().filter(|word| !matches!(*word, "const" | "volatile"))
    }

    fn type_size(&self, long_size: usize) -> Option<usize> {
        if self.type_name.ends_with('*') {
            return Some(long_size);
        }
        let word = self.words().find(|word| !matches!(*word, "unsigned" | "signed")).unwrap_or("int");
        match word {
            "char" | "bool" | "u8" | "s8" | "__u8" | "__s8" | "uint8_t" | "int8_t" => Some(1),
            "short" | "u16" | "s16" | "__u16" | "__s16" | "uint16_t" | "int16_t" => Some(2),
            "int" | "u32" | "s32" | "__u32" | "__s32" | "uint32_t" | "int32_t" | "pid_t" => Some(4),
            "u64" | "s64" | "__u64" | "__s64" | "uint64_t" | "int64_t" => Some(8),
            "long" if self.words().filter(|word| *word == "long").count() > 1 => Some(8),
            "long" => Some(long_size),
            _ => None,
        }
    }

    /// For formats before Linux 2.6.34, which lack `signed:`.
    fn is_unsigned(&self) -> bool {
        let is_one = |word: &str| word == "unsigned" || word.trim_start_matches('_').starts_with('u') || word == "bool";
        self.words().any(is_one) || self.type_name.ends_with('*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(declaration: &str, size: u32, signed: Option<bool>) -> Field {
        Field::new(&FormatField { declaration: declaration.into(), offset: 8, size, signed }, 8)
    }

    #[test]
    fn parses_declarations() {
        let here = |size| FieldLocation::Here { offset: 8, size };
        for (declaration, size, name, type_name, location, kind) in [
            ("pid_t pid", 4, "pid", "pid_t", here(4), TracepointKind::Number(4)),
            ("unsigned long long time", 8, "time", "unsigned long long", here(8), TracepointKind::Number(8)),
            ("struct file_lock * fl", 8, "fl", "struct file_lock *", here(8), TracepointKind::Pointer(8)),
            ("void *function", 8, "function", "void *", here(8), TracepointKind::Pointer(8)),
            ("char comm[16]", 16, "comm", "char", here(16), TracepointKind::Text),
            ("char comm[TASK_COMM_LEN]", 16, "comm", "char", here(16), TracepointKind::Text),
            ("unsigned long args[6]", 48, "args", "unsigned long", here(48), TracepointKind::Numbers(8)),
            ("unsigned long args[6]", 24, "args", "unsigned long", here(24), TracepointKind::Numbers(4)),
            ("unsigned short x[MAX]", 24, "x", "unsigned short", here(24), TracepointKind::Numbers(2)),
            ("u8 addr[6]", 6, "addr", "u8", here(6), TracepointKind::Bytes),
            ("struct timespec64 t", 16, "t", "struct timespec64", here(16), TracepointKind::Bytes),
            (
                "__data_loc char[] filename",
                4,
                "filename",
                "char",
                FieldLocation::DataLoc { offset: 8 },
                TracepointKind::Text,
            ),
            (
                "__rel_loc const char[] name",
                4,
                "name",
                "const char",
                FieldLocation::RelLoc { offset: 8 },
                TracepointKind::Text,
            ),
            ("__data_loc u8[] buf", 4, "buf", "u8", FieldLocation::DataLoc { offset: 8 }, TracepointKind::Bytes),
            (
                "__data_loc unsigned long[] mask",
                4,
                "mask",
                "unsigned long",
                FieldLocation::DataLoc { offset: 8 },
                TracepointKind::Numbers(8),
            ),
            (
                "__data_loc cpumask_t *[] cpus",
                4,
                "cpus",
                "cpumask_t *",
                FieldLocation::DataLoc { offset: 8 },
                TracepointKind::Numbers(8),
            ),
        ] {
            let field = field(declaration, size, Some(false));
            let parsed = (&*field.name, &*field.type_name, field.location, field.kind);
            assert_eq!(parsed, (name, type_name, location, kind), "{declaration}");
        }
    }

    #[test]
    fn signedness_defaults_to_that_of_the_type() {
        assert!(field("int x", 4, None).is_signed);
        assert!(!field("unsigned int x", 4, None).is_signed);
        assert!(!field("__u32 x", 4, None).is_signed);
        assert!(!field("int x", 4, Some(false)).is_signed);
    }
}
