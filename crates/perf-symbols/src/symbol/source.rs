//! Sources of symbols: the interface through which object files, kernels and map files are opened.

use super::code::{FunctionCode, MissingCode};
use super::find::attempt::Attempt;
use super::lookup::Lookup;
use crate::object::build_id::Id;
use crate::object::host::Inode;
use perf_data::session::RecordedNamespaces;
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

/// A mapped object, as a recording describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Path, or the name of an object without a file, such as `[kernel.kallsyms]_text` or `//anon`.
    pub path: PathBuf,
    /// Build ID.
    pub build_id: Option<Id>,
    /// Size of the file, if recorded.
    pub size: Option<u64>,
    /// Modification time of the file, if recorded.
    pub modified: Option<SystemTime>,
    /// Inode of the file on the recorded machine, if recorded.
    pub inode: Option<Inode>,
    /// Whether it is mapped below 4 GiB, as in 32-bit processes. Only set for the vdso, which differs for them.
    pub is_32_bit: bool,
    /// Process ID, for memory without a file.
    pub pid: Option<u32>,
    /// Namespaces of the process, if recorded.
    pub namespaces: Option<RecordedNamespaces>,
    /// Path of the jitdump that the process mapped, for memory without a file.
    pub jit_dump: Option<PathBuf>,
    /// Address of a kernel module, to which offsets in it are relative.
    pub load_address: Option<u64>,
    /// Reference symbol, by whose address the symbols of a kernel are relocated.
    pub reference: Option<Reference>,
}

/// A symbol with its recorded address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Name, such as `_text`.
    pub symbol: String,
    /// Address.
    pub address: u64,
    /// Number of bytes from it to the end of the kernel, if recorded.
    pub size: Option<u64>,
}

/// A source of symbols, which opens the objects that it knows.
pub trait Source: fmt::Debug + Send + Sync {
    /// Opens the symbols of an object; `None` if there are none. Appends to `attempts` what was tried.
    fn open(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>>;
}

/// The opened symbols of an object, shared by several threads.
pub trait OpenedObject: Send + Sync {
    /// The symbol address that corresponds to a file offset.
    fn address_of_offset(&self, offset: u64) -> Option<u64>;

    /// Bytes of debug information that lookups have to read.
    fn debug_size(&self) -> u64 {
        0
    }

    /// Bytes of memory that it takes after lookups, about.
    fn memory_size(&self) -> u64 {
        0
    }

    /// Split DWARF files of units that are in no package, with the IDs of these units.
    fn split_files(&self) -> Vec<(u64, PathBuf)> {
        Vec::new()
    }

    /// Reads what all threads share, on at most `_threads` threads.
    fn prepare(&self, _threads: usize) {}

    /// The code of the function that contains an address.
    ///
    /// # Errors
    /// If there is none.
    fn code(&self, _address: u64) -> Result<FunctionCode, MissingCode> {
        Err(MissingCode::NamesOnly)
    }

    /// At most so many bytes of code from an address on, whichever function they are of.
    fn code_from(&self, address: u64, len: usize) -> Option<FunctionCode> {
        let code = self.code(address).ok()?;
        let at = usize::try_from(address.checked_sub(code.start)?).ok()?;
        let end = code.bytes.len().min(at.checked_add(len)?);
        Some(FunctionCode {
            start: address,
            bytes: code.bytes.get(at..end).map(|part| code.bytes.slice_ref(part))?,
            ..code
        })
    }

    /// The text of a source file by the path that debug information states, from a server, if downloads are permitted.
    fn fetch_source(&self, _path: &str) -> Option<Vec<u8>> {
        None
    }

    /// Calls `lookups` with a lookup for use by one thread.
    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup));
}
