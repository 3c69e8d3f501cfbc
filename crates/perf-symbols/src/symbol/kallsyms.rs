//! Functions of kallsyms and System.map: lines `ADDRESS TYPE NAME [MODULE]`, in which only addresses are parsed; of the hundreds of
//! thousands of names, a recording needs a few.

use super::find::attempt::Mismatch;
use super::lookup::{FunctionFrame, Lookup};
use super::source::Reference;
use bytes::Bytes;
use memchr::memchr_iter;
use perf_data::session::map::PAGE;
use perf_data::session::names::MAX_NAME;

/// Reference symbols, whose addresses are recorded.
const REFERENCES: [&[u8]; 3] = [b"_text", b"_stext", b"__start"];

/// Symbols at the end of a kernel.
const ENDS: [&[u8]; 2] = [b"_edata", b"_etext"];

/// Functions of a kernel and its modules.
#[derive(Debug)]
pub(super) struct Kallsyms {
    text: Bytes,
    /// Sorted by address, one for each.
    functions: Vec<Function>,
    /// Where the last function ends.
    end: u64,
    references: Vec<(&'static [u8], u64)>,
    /// Addresses of the symbols at whose first one perf ends the mapping of a kernel.
    ends: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    /// Offset of the name in the text.
    name: usize,
}

impl Kallsyms {
    /// Reads the functions.
    ///
    /// # Errors
    /// If there are no functions; the kernel shows addresses as 0 to unprivileged users.
    pub(super) fn parse(text: Bytes) -> Result<Self, &'static str> {
        let mut functions: Vec<Function> = Vec::new();
        let (mut references, mut ends, mut has_hidden, mut line) = (Vec::new(), Vec::new(), false, 0);
        for end in memchr_iter(b'\n', &text).chain([text.len()]) {
            let start = std::mem::replace(&mut line, end + 1);
            let Some((address, kind, name)) = symbol(&text[start..end]) else { continue };
            let is_function = matches!(kind, b't' | b'T' | b'w' | b'W');
            let name = start + name;
            // All of these names do: most symbols need no comparison.
            if text[name] == b'_' {
                let name = name_at(&text, name);
                if ENDS.contains(&name) {
                    ends.push(address);
                }
                let reference = REFERENCES.into_iter().find(|&reference| is_function && reference == name);
                let reference = reference.filter(|reference| references.iter().all(|(added, _)| added != reference));
                references.extend(reference.map(|reference| (reference, address)));
            }
            if is_function && address == 0 {
                has_hidden = true;
            } else if is_function {
                functions.push(Function { start: address, name });
            }
        }
        // Of several names of an address, perf shows the last: __x64_sys_read, not __ia32_sys_read.
        functions.sort_by_key(|function| function.start);
        functions.dedup_by(|later, kept| {
            let is_alias = later.start == kept.start;
            if is_alias {
                *kept = *later;
            }
            is_alias
        });
        let Some(last) = functions.last() else {
            return Err(match has_hidden {
                false => "has no symbols",
                true => "has only addresses 0: the kernel hides them (kptr_restrict); read it as root",
            });
        };
        // A truncated copy says nothing about the addresses behind it. perf gives the last symbol the rest of its page and one more.
        let end = last.start.checked_next_multiple_of(PAGE).and_then(|end| end.checked_add(PAGE)).unwrap_or(u64::MAX);
        Ok(Self { text, functions, end, references, ends })
    }

    /// Whether these are of another kernel than the recorded one, by the size: kallsyms have no build ID.
    pub(super) fn mismatch(&self, own: u64, recorded: &Reference) -> Option<Mismatch> {
        let sizes = || self.ends.iter().map(|end| end.wrapping_sub(own));
        let size = recorded.size.filter(|size| sizes().all(|own| own != *size));
        size.and_then(|_| sizes().next()).map(Mismatch::KernelSize)
    }

    /// The address of the recorded reference symbol here.
    pub(super) fn reference(&self, recorded: &Reference) -> Option<u64> {
        let wanted = recorded.symbol.as_bytes();
        let reference = self.references.iter().find(|(name, _)| *name == wanted).map(|&(_, address)| address);
        let function = || self.functions.iter().find(|function| name_at(&self.text, function.name) == wanted);
        reference.or_else(|| function().map(|function| function.start))
    }
}

impl Kallsyms {
    /// The number of the function that contains an address.
    fn find(&self, address: u64) -> Option<usize> {
        let next = self.functions.partition_point(|function| function.start <= address);
        next.checked_sub(1).filter(|_| address < self.end)
    }

    /// Start and end address of the function that contains an address.
    pub(super) fn range(&self, address: u64) -> Option<(u64, u64)> {
        let number = self.find(address)?;
        let end = self.functions.get(number + 1).map_or(self.end, |next| next.start);
        Some((self.functions[number].start, end))
    }
}

impl Lookup for Kallsyms {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        if let Some(Function { start, name }) = self.find(address).map(|number| self.functions[number]) {
            let name = name_at(&self.text, name);
            on_frame(&FunctionFrame { name, symbol_start: Some(start), ..FunctionFrame::default() });
        }
    }
}

/// Parses a line: address, type, and the offset of the name.
fn symbol(line: &[u8]) -> Option<(u64, u8, usize)> {
    let (mut address, mut digits): (u64, usize) = (0, 0);
    while let Some(digit) = line.get(digits).and_then(|&byte| char::from(byte).to_digit(16)) {
        address = address << 4 | u64::from(digit);
        digits += 1;
    }
    let &[b' ', kind, b' ', first, ..] = &line[digits..] else { return None };
    let is_symbol = (1..=16).contains(&digits) && !b"\t\r ".contains(&first);
    is_symbol.then_some((address, kind, digits + 3))
}

/// The name at an offset. The name of a module follows after a tab.
fn name_at(text: &[u8], offset: usize) -> &[u8] {
    let rest = &text[offset..text.len().min(offset + MAX_NAME + 1)];
    &rest[..rest.iter().position(|byte| b"\t\r\n ".contains(byte)).unwrap_or(rest.len())]
}
