//! Positions in source code as compilers match samples to it: by function, line from its declaration, and discriminator.

use super::dwarf::DwarfLookup;
use std::ops::Range;

/// A function that an address is in, and the position in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFrame<'a> {
    /// Linkage name, or else the name; empty if unknown.
    pub function: &'a [u8],
    /// Line of the function's declaration; 0 if unknown.
    pub declaration: u32,
    /// Line of the address, or of the call of an inlined function; 0 if unknown.
    pub line: u32,
    /// Distinguishes blocks of code with the same line; 0 by default.
    pub discriminator: u32,
}

/// The debug information of an object.
pub struct SourceLookup<'l, 'a>(pub(super) &'l DwarfLookup<'a>);

impl SourceLookup<'_, '_> {
    /// Calls `on_range` with each range of code, and the name, of all functions in the units that have one of these addresses. The
    /// linker moves code that it discards to addresses below that of the first segment.
    pub fn each_function(&self, addresses: &[u64], on_range: &mut dyn FnMut(&[u8], Range<u64>)) {
        self.0.each_function(addresses, &mut |name, range| on_range(name, range));
    }

    /// Calls `on_frame` with each function that an address is in, innermost first; all but the last are inlined.
    pub fn each_frame(&self, address: u64, on_frame: &mut dyn FnMut(SourceFrame<'_>)) {
        self.0.each_source_frame(address, on_frame);
    }
}
