//! Texts of data that memory accesses refer to.

use crate::profile::Tables;
use crate::profile::intern::stacks::FrameId;

/// Start of the names of mappings without a file.
pub(super) const ANONYMOUS: &[u8] = b"//anon";

/// What these are called as memory of data; code in them is of a compiler, and belongs to a process.
pub(super) const ANONYMOUS_DATA: &str = "anon";

/// The name of data with the offset of an access in it, as `table+0x10`; without a name, its address.
pub(super) fn data_symbol(frame: FrameId, tables: &Tables) -> String {
    let address = || format!("{:#018x}", tables.stacks.frames()[frame as usize].address);
    named_data(frame, tables).unwrap_or_else(address)
}

/// The name of data with the offset of an access in it; `None` if it has no name.
pub(super) fn named_data(frame: FrameId, tables: &Tables) -> Option<String> {
    let symbols = &tables.symbols;
    let name = String::from_utf8_lossy(symbols.name(symbols.frame_function(frame)?.name));
    Some(format!("{name}+{:#x}", symbols.symbol_offset(frame).unwrap_or(0)))
}
