//! Code of functions: the bytes that a disassembler decodes, from the files that their names are from.

use super::lookup::Lookup;
use super::object::Object;
use super::source::{ObjectKey, OpenedObject};
use super::{Addresses, Symbolizer};
use bytes::Bytes;
use std::fmt;
use std::fs;
use std::time::SystemTime;

/// Maximum number of bytes of a function whose end is unknown.
const MAX_OPEN_END: usize = 64 << 10;

/// Maximum number of bytes of a function. The largest ones, of generated parsers, have a few hundred KB.
const MAX_CODE: usize = 4 << 20;

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCode {
    /// Address of the first byte, as the symbol table states it.
    pub start: u64,
    /// The code. It can extend beyond the end of the function if [the end is unknown](Self::has_open_end).
    pub bytes: Bytes,
    /// `e_machine` of the code; `None` if unknown.
    pub machine: Option<u16>,
    /// Class of the ELF file.
    pub is_64: bool,
    /// Whether the size of the function is unknown.
    pub has_open_end: bool,
    /// Time of the file that the code is from.
    pub modified: Option<SystemTime>,
}

/// Why the code of a function is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingCode {
    /// There is neither an object nor a source of names.
    NoObject,
    /// Only a debug file was found.
    DebugFileOnly,
    /// The source has names only.
    NamesOnly,
    /// The source of a kernel has names only.
    KernelNamesOnly,
    /// The source of JIT code has names only.
    JitNamesOnly,
    /// The recording has no code of the BPF program.
    NoBpfCode,
    /// No function contains the address.
    NoFunction,
    /// The file has no bytes at the address.
    NoBytes,
}

impl fmt::Display for MissingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoObject => "no matching file; use --symfs DIR",
            Self::DebugFileOnly => {
                "only its debug file was found, which has no code; use --symfs DIR with the program itself"
            }
            Self::NamesOnly => "only names are known; use --symfs DIR with the program",
            Self::KernelNamesOnly => "kallsyms have no code; use --vmlinux FILE with the image of the recorded kernel",
            Self::JitNamesOnly => "a perf map has no code; have the runtime write a jitdump",
            Self::NoBpfCode => {
                "the recording has no code of the program; record as root, with net.core.bpf_jit_harden=0"
            }
            Self::NoFunction => "no function contains these addresses",
            Self::NoBytes => "the file has no code there: it is truncated, or the code is of another file",
        })
    }
}

/// The code at addresses of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectCode {
    /// The functions.
    pub functions: Vec<FunctionCode>,
    /// For each address: the index of its function, and the address as the symbol table would state it.
    pub addresses: Vec<Result<(usize, u64), MissingCode>>,
}

impl Symbolizer {
    /// The functions that contain addresses of an object, with their code.
    pub fn code(&self, key: &ObjectKey, addresses: &Addresses) -> ObjectCode {
        let (object, _) = self.find(key);
        let mut code = ObjectCode::default();
        for &address in addresses.list() {
            let found = match &object {
                None => Err(MissingCode::NoObject),
                Some(object) => code.find(&**object, address, matches!(addresses, Addresses::Offsets(_))),
            };
            code.addresses.push(found);
        }
        code
    }

    /// At most so many bytes of code from the first of these addresses on, whichever function they are of.
    pub fn code_from(&self, key: &ObjectKey, addresses: &Addresses, len: usize) -> Option<FunctionCode> {
        let (object, _) = self.find(key);
        let (object, &address) = (object?, addresses.list().first()?);
        let address = match addresses {
            Addresses::Offsets(_) => object.address_of_offset(address)?,
            Addresses::Virtual(_) => address,
        };
        object.code_from(address, len)
    }

    /// The texts of source files, each with an address of its code as the symbol table states it: as debug information contains them,
    /// or else from a server, if downloads are permitted.
    pub fn sources(&self, key: &ObjectKey, files: &[(u64, &str)]) -> Vec<Option<Vec<u8>>> {
        let mut texts = Vec::new();
        if let (Some(object), _) = self.find(key) {
            object.with_lookup(&mut |lookup| {
                texts = files.iter().map(|&(address, _)| lookup.source(address)).collect();
            });
            for (text, (_, path)) in texts.iter_mut().zip(files).filter(|(text, _)| text.is_none()) {
                *text = object.fetch_source(path);
            }
        }
        texts.resize(files.len(), None);
        texts
    }
}

impl ObjectCode {
    fn find(&mut self, object: &dyn OpenedObject, address: u64, is_offset: bool) -> Result<(usize, u64), MissingCode> {
        let address = match is_offset {
            true => object.address_of_offset(address).ok_or(MissingCode::NoBytes)?,
            false => address,
        };
        let contains = |function: &FunctionCode| {
            !function.has_open_end && address.wrapping_sub(function.start) < function.bytes.len() as u64
        };
        if let Some(index) = self.functions.iter().rposition(contains) {
            return Ok((index, address));
        }
        let function = object.code(address)?;
        let is_same = |other: &FunctionCode| other.start == function.start;
        let index = self.functions.iter().position(is_same).unwrap_or_else(|| {
            self.functions.push(function);
            self.functions.len() - 1
        });
        Ok((index, address))
    }
}

/// The code at an address of an ELF file: of a function with a start and an end, or with a start only.
pub(super) fn in_object(object: &Object, range: (u64, Option<u64>)) -> Result<FunctionCode, MissingCode> {
    let (start, end) = range;
    let rest = object.code_at(start);
    let size = end.map_or(MAX_OPEN_END, |end| usize::try_from(end.saturating_sub(start)).unwrap_or(MAX_CODE));
    let bytes = &rest[..rest.len().min(size).min(MAX_CODE)];
    if bytes.is_empty() {
        return Err(MissingCode::NoBytes);
    }
    Ok(FunctionCode {
        start,
        bytes: object.bytes().slice_ref(bytes),
        machine: Some(object.machine()),
        is_64: object.is_64(),
        has_open_end: end.is_none(),
        modified: fs::metadata(object.path()).and_then(|file| file.modified()).ok(),
    })
}

/// At most so many bytes of code from an address of an ELF file on.
pub(super) fn from_address(object: &Object, address: u64, len: usize) -> Option<FunctionCode> {
    let rest = object.code_at(address);
    let bytes = &rest[..rest.len().min(len).min(MAX_CODE)];
    (!bytes.is_empty()).then(|| FunctionCode {
        start: address,
        bytes: object.bytes().slice_ref(bytes),
        machine: Some(object.machine()),
        is_64: object.is_64(),
        has_open_end: true,
        modified: None,
    })
}

/// Where the symbol that contains an address starts, by the names of addresses.
pub(super) fn symbol_start(lookup: &dyn Lookup, address: u64) -> Option<u64> {
    let mut start = None;
    lookup.look_up(address, &mut |frame| start = frame.symbol_start);
    start
}
