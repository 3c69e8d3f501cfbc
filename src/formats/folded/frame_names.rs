//! Names of frames in folded stacks.

use super::{ADDRESSES, ANNOTATE};
use crate::formats::options::OptionValues;
use crate::profile::stacks::FrameId;
use crate::profile::{Frame, Place, Tables};
use crate::session::map::{Map, cut_name};
use crate::session::names::{NameId, Names};
use crate::session::space::Space;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

/// Interned names of frames, each determined once.
pub struct FrameNames<'a> {
    tables: &'a Tables,
    has_addresses: bool,
    marks_kernel: bool,
    marks_inlined: bool,
    marks_jit: bool,
    names: Names,
    /// By frame: its functions in `functions`, outermost first.
    frames: Vec<Option<Range<u32>>>,
    functions: Vec<NameId>,
    text: Vec<u8>,
}

impl<'a> FrameNames<'a> {
    /// Creates names without frames.
    pub fn new(tables: &'a Tables, values: &OptionValues) -> Self {
        let marks = |kind: &str| values.list(&ANNOTATE).is_some_and(|kinds| kinds.iter().any(|given| given == kind));
        Self {
            tables,
            has_addresses: values.is_given(&ADDRESSES),
            marks_kernel: marks("kernel"),
            marks_inlined: marks("inlined"),
            marks_jit: marks("jit"),
            names: Names::default(),
            frames: vec![None; tables.stacks.frames().len()],
            functions: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Interns another name.
    pub fn name_id(&mut self, name: &[u8]) -> NameId {
        self.text.clear();
        self.push_name(name);
        self.names.id(&self.text)
    }

    /// Appends a name to the text, without the separator of frames.
    fn push_name(&mut self, name: &[u8]) {
        self.text.extend(name.iter().map(|&byte| if byte == b';' { b':' } else { byte }));
    }

    /// The interned names.
    pub fn into_names(self) -> Names {
        self.names
    }

    /// The names of the functions at a frame, outermost first.
    pub fn of(&mut self, frame: FrameId) -> &[NameId] {
        let index = frame as usize;
        let functions = match &self.frames[index] {
            Some(known) => known.clone(),
            None => {
                let found = self.find(frame);
                self.frames[index] = Some(found.clone());
                found
            }
        };
        &self.functions[functions.start as usize..functions.end as usize]
    }

    fn find(&mut self, frame: FrameId) -> Range<u32> {
        let Self { tables, .. } = *self;
        let first = self.functions.len() as u32;
        let place = tables.stacks.frames()[frame as usize];
        let map = place.mapping().map(|mapping| &tables.mappings[mapping as usize]);
        let symbols = &tables.symbols;
        let lines = symbols.lines(frame);
        for (depth, line) in lines.iter().enumerate().rev() {
            let name = symbols.function(line.function).map_or(&b""[..], |function| symbols.name(function.name));
            self.text.clear();
            if name.is_empty() {
                self.unknown(place, map);
            } else {
                self.push_name(without_parameters(name));
            }
            let is_inlined = depth + 1 < lines.len() || symbols.is_inlined(frame);
            self.push(place, map, is_inlined);
        }
        if lines.is_empty() {
            self.text.clear();
            self.unknown(place, map);
            self.push(place, map, false);
        }
        first..self.functions.len() as u32
    }

    /// Writes the name of a frame without symbols: its file in brackets.
    fn unknown(&mut self, frame: Frame, map: Option<&Map>) {
        self.text.push(b'[');
        let file = map.map_or(Cow::Borrowed(&b"unknown"[..]), Map::printed_file);
        let last = file.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
        self.push_name(cut_name(last.unwrap_or(&file)));
        if self.has_addresses {
            // Writing to a vector cannot fail.
            let _ = write!(self.text, " <{:x}>", map.map_or(frame.address, |map| map.printed_address(frame.address)));
        }
        self.text.push(b']');
    }

    /// Adds the function whose name was written.
    fn push(&mut self, frame: Frame, map: Option<&Map>, is_inlined: bool) {
        let is_kernel = match frame.place {
            Place::In(_) => map.is_some_and(Map::is_of_kernel),
            Place::Outside(space) => matches!(space, Space::Kernel | Space::Hypervisor | Space::GuestKernel),
        };
        if is_inlined && self.marks_inlined {
            self.text.extend_from_slice(b"_[i]");
        } else if is_kernel && self.marks_kernel {
            self.text.extend_from_slice(b"_[k]");
        } else if self.marks_jit && map.is_some_and(is_jit) {
            self.text.extend_from_slice(b"_[j]");
        }
        self.functions.push(self.names.id(&self.text));
    }
}

/// Whether a mapping is code that a process generated, or its image.
fn is_jit(map: &Map) -> bool {
    let name = map.filename.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    map.pid.is_some() || name.starts_with(b"jitted-") || name.starts_with(b"perf-") && name.ends_with(b".map")
}

/// A function name without its parameters, as flame graphs show it. Parentheses in Go names (`(*T).f`), in names of anonymous
/// namespaces and in `operator()` are kept.
fn without_parameters(name: &[u8]) -> &[u8] {
    const OPERATOR: &[u8] = b"operator";
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        let rest = &name[at..];
        match byte {
            b'o' if rest.starts_with(OPERATOR) => {
                at += OPERATOR.len();
                let symbol = &name[at..];
                let is_pair = symbol.starts_with(b"()") || symbol.starts_with(b"[]");
                let is_symbol = |byte: &&u8| b"<>=!-+*/&|^~%,".contains(byte);
                at += if is_pair { 2 } else { symbol.iter().take_while(is_symbol).count() };
                continue;
            }
            b'<' | b'{' | b'[' => depth += 1,
            b'>' | b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b'(' => {
                let is_of_go = at > 0 && name[at - 1] == b'.';
                if depth == 0 && at > 0 && !is_of_go && !rest.starts_with(b"(anonymous namespace)") {
                    return &name[..at];
                }
                depth += 1;
            }
            _ => {}
        }
        at += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_parameters_only() {
        let expected = [
            ("main", "main"),
            ("f(int, char)", "f"),
            ("ns::f(std::function<void (int)>) const", "ns::f"),
            ("void ns::g<int (*)(char)>(int)", "void ns::g<int (*)(char)>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("T::operator()(int) const", "T::operator()"),
            ("operator<<(std::ostream&, int)", "operator<<"),
            ("T::operator->()", "T::operator->"),
            ("{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ];
        for (name, short) in expected {
            assert_eq!(String::from_utf8_lossy(without_parameters(name.as_bytes())), short);
        }
    }
}
