//! Lookup of one address: the interface that object files, kernels and map files share.

/// A function that an address is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionFrame<'a> {
    /// Linker symbol name; empty if unknown.
    pub name: &'a [u8],
    /// Line of the function's declaration; 0 if unknown.
    pub start_line: u32,
    /// Path of the source file; empty if unknown.
    pub file: &'a [u8],
    /// Line of the address, or of the call of an inlined function; 0 if unknown.
    pub line: u32,
    /// Column in the line; 0 if unknown.
    pub column: u32,
    /// Whether the function is inlined into that of the next frame.
    pub is_inlined: bool,
    /// Start address of the symbol that contains the address; `None` for inlined functions.
    pub symbol_start: Option<u64>,
}

/// What the frames of an address depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramesKey {
    /// Number of the unit.
    pub unit: usize,
    /// Entry of the function.
    pub function: usize,
    /// The innermost inlined call.
    pub call: Option<u32>,
    /// Identity of the row of the line program.
    pub row: usize,
    /// Start of the symbol.
    pub symbol_start: Option<u64>,
}

/// A source of symbols.
pub trait Lookup {
    /// Calls `on_frame` for each function that contains the address, innermost first; not at all if none is known.
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>));

    /// Identifies the frames of an address: those of another address with the same key are equal. `None` if they have to be looked up.
    fn frames_key(&self, _address: u64) -> Option<FramesKey> {
        None
    }

    /// The text of the source file of an address, if the debug information contains it.
    fn source(&self, _address: u64) -> Option<Vec<u8>> {
        None
    }

    /// Whether names are missing because they take more time or memory than the size of the object allows.
    fn exceeds_limit(&self) -> bool {
        false
    }
}

impl<L: Lookup + ?Sized> Lookup for &L {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        (**self).look_up(address, on_frame);
    }

    fn frames_key(&self, address: u64) -> Option<FramesKey> {
        (**self).frames_key(address)
    }

    fn source(&self, address: u64) -> Option<Vec<u8>> {
        (**self).source(address)
    }

    fn exceeds_limit(&self) -> bool {
        (**self).exceeds_limit()
    }
}

/// The first source that knows the address.
impl<A: Lookup, B: Lookup> Lookup for (A, B) {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let mut is_known = false;
        self.0.look_up(address, &mut |frame| {
            is_known = true;
            on_frame(frame);
        });
        if !is_known {
            self.1.look_up(address, on_frame);
        }
    }

    fn source(&self, address: u64) -> Option<Vec<u8>> {
        self.0.source(address).or_else(|| self.1.source(address))
    }

    fn exceeds_limit(&self) -> bool {
        self.0.exceeds_limit() || self.1.exceeds_limit()
    }
}

/// The frames of an address with owned names, for tests.
#[cfg(test)]
pub(super) fn names(lookup: &dyn Lookup, address: u64) -> Vec<String> {
    let mut names = Vec::new();
    lookup.look_up(address, &mut |frame| names.push(String::from_utf8_lossy(frame.name).into_owned()));
    names
}
