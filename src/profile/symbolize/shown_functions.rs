//! The names under which outputs for people show the functions of a profile.
//!
//! Each function is shortened once. Where different functions have the same short name, it is extended by what they differ in, such as
//! a template argument; otherwise they are different functions with the same name.

use super::function_name::{CodeKind, ShownFunction, is_go_symbol, is_jit};
use super::symbols::{FunctionId, Symbols};
use crate::profile::{Frame, MappingId};
use hashbrown::{HashMap, HashSet};
use perf_data::session::map::Map;

/// Maximum number of characters that are added to distinguish functions.
const MAX_ADDED: usize = 40;

/// Maximum number of omissions of a name that are compared: names of corrupt files can have thousands.
const MAX_COMPARED: usize = 16;

/// Functions of a profile with their names.
#[derive(Debug, Default)]
pub(crate) struct ShownFunctions {
    /// By mapping.
    code: Vec<CodeKind>,
    /// By ID and the code that it is in: the index in `list`; `None` if its name is unknown.
    indexes: HashMap<(FunctionId, CodeKind), Option<u32>>,
    list: Vec<ShownFunction>,
}

impl ShownFunctions {
    /// Names the functions of frames.
    pub(crate) fn new(frames: &[Frame], mappings: &[Map], symbols: &Symbols) -> Self {
        let mut functions = Self { code: code_kinds(frames, mappings, symbols), ..Self::default() };
        let mut by_name: HashMap<String, u32> = HashMap::new();
        for (id, frame) in (0..).zip(frames) {
            let code = functions.code_kind(frame.mapping());
            for line in symbols.lines(id) {
                let Self { indexes, list, .. } = &mut functions;
                indexes.entry((line.function, code)).or_insert_with(|| {
                    let function = ShownFunction::new(*symbols.function(line.function)?, symbols, code)?;
                    Some(*by_name.entry(function.full.clone()).or_insert_with(|| {
                        list.push(function);
                        list.len() as u32 - 1
                    }))
                });
            }
        }
        functions.extend_equal_names();
        functions
    }

    fn code_kind(&self, mapping: Option<MappingId>) -> CodeKind {
        mapping.map_or(CodeKind::Native, |mapping| self.code[mapping as usize])
    }

    /// A function in a mapping; `None` if its name is unknown.
    pub(crate) fn get(&self, function: FunctionId, mapping: Option<MappingId>) -> Option<&ShownFunction> {
        let index = *self.indexes.get(&(function, self.code_kind(mapping)))?;
        index.map(|index| &self.list[index as usize])
    }

    /// Extends equal short names, so that they distinguish functions.
    fn extend_equal_names(&mut self) {
        let mut by_short: HashMap<&str, Vec<u32>> = HashMap::new();
        for (index, function) in (0..).zip(&self.list) {
            by_short.entry(&function.short.text).or_default().push(index);
        }
        let equal = by_short.into_values().filter(|group| group.len() > 1);
        let extended: Vec<_> = equal.flat_map(|group| extended_names(&group, &self.list)).collect();
        for (index, name) in extended {
            self.list[index as usize].short.text = name;
        }
    }
}

/// What the mappings contain, by their functions.
fn code_kinds(frames: &[Frame], mappings: &[Map], symbols: &Symbols) -> Vec<CodeKind> {
    let mut kinds: Vec<_> =
        mappings.iter().map(|map| if is_jit(map) { CodeKind::Jit } else { CodeKind::Native }).collect();
    for (id, frame) in (0..).zip(frames) {
        let Some(kind) = frame.mapping().map(|mapping| &mut kinds[mapping as usize]) else { continue };
        let mut functions = symbols.lines(id).iter().filter_map(|line| symbols.function(line.function));
        if *kind == CodeKind::Native && functions.any(|function| is_go_symbol(symbols.name(function.system_name))) {
            *kind = CodeKind::Go;
        }
    }
    kinds
}

/// The names of functions of equal short names, with the part that differs most, if it is not too long.
fn extended_names(group: &[u32], functions: &[ShownFunction]) -> Vec<(u32, String)> {
    let shorts = || group.iter().map(|&index| &functions[index as usize].short);
    let fewest_omissions = shorts().map(|short| short.omissions.len()).min().unwrap_or(0);
    let mut best = (1, None);
    for omission in 0..fewest_omissions.min(MAX_COMPARED) {
        let most_parts = shorts().map(|short| short.omissions[omission].parts.len()).max().unwrap_or(0);
        for part in 0..most_parts {
            let parts: Vec<_> = shorts().map(|short| short.omissions[omission].parts.get(part)).collect();
            let is_short = |text: &Option<&String>| text.is_none_or(|text| text.chars().count() <= MAX_ADDED);
            let different: HashSet<_> = parts.iter().collect();
            if different.len() > best.0 && parts.iter().all(is_short) {
                best = (different.len(), Some((omission, part)));
            }
        }
    }
    let Some((omission, part)) = best.1 else { return Vec::new() };
    let named = group.iter().filter_map(|&index| {
        let name = functions[index as usize].short.with_part(omission, part)?;
        Some((index, name))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Place;
    use crate::profile::symbolize::symbols::{Function, Line};

    /// The short names of functions with these linker symbols, each in a frame of a mapping.
    fn short_names(functions: &[(&str, &str)], map: Map) -> Vec<String> {
        let mut symbols = Symbols::default();
        let frame = |address| Frame { place: Place::In(0), address, is_caller: false };
        let frames: Vec<_> = (0..functions.len() as u64).map(frame).collect();
        for (frame, (name, system_name)) in (0..).zip(functions) {
            let [name, system_name, file] = [name, system_name, ""].map(|name| symbols.name_id(name.as_bytes()));
            let function = symbols.function_id(Function { name, system_name, file, start_line: 0 });
            symbols.set_lines(frame, &[Line { function, line: 0, column: 0 }], None);
        }
        let shown = ShownFunctions::new(&frames, &[map], &symbols);
        let name = |id| shown.get(symbols.lines(id)[0].function, Some(0)).map_or("", |function| &function.short.text);
        (0..functions.len() as u32).map(|id| name(id).to_owned()).collect()
    }

    fn program() -> Map {
        Map::new(0x1000, 0x1000, 0, b"/bin/app", None)
    }

    fn cpp_names(names: &[&str]) -> Vec<String> {
        let functions: Vec<_> = names.iter().map(|&name| (name, "_Z1f")).collect();
        short_names(&functions, program())
    }

    #[test]
    fn equal_short_names_have_what_differs() {
        let names = cpp_names(&["void sort<int*, Less>(int*)", "void sort<long*, Less>(long*)", "void find<int>(int)"]);
        assert_eq!(names, ["sort<int*, ...>", "sort<long*, ...>", "find<...>"]);
        let names = cpp_names(&["T<int, std::vector<int> >::f()", "T<int, std::set<int> >::f()"]);
        assert_eq!(names, ["T<..., std::vector<...>>::f", "T<..., std::set<...>>::f"]);
        // The argument in which most functions differ.
        let names = cpp_names(&["void f<int, A>()", "void f<int, B>()", "void f<long, C>()"]);
        assert_eq!(names, ["f<..., A>", "f<..., B>", "f<..., C>"]);
        let names = cpp_names(&[
            "g(int)::{lambda(int)#1}::operator()(int) const",
            "g(char)::{lambda(int)#1}::operator()(int) const",
        ]);
        assert_eq!(names, ["g(int)::{lambda#1}::operator()", "g(char)::{lambda#1}::operator()"]);
    }

    #[test]
    fn long_text_does_not_distinguish_functions() {
        let [a, b] = ["A", "B"].map(|name| name.repeat(MAX_ADDED + 1));
        let names = cpp_names(&[&format!("void f<{a}>()"), &format!("void f<{b}>()")]);
        assert_eq!(names, ["f<...>", "f<...>"]);
    }

    #[test]
    fn packages_and_types_distinguish_functions() {
        let go = ["runtime.main", "github.com/a/x.F", "github.com/b/x.F"].map(|name| (name, name));
        assert_eq!(short_names(&go, program()), ["runtime.main", "github.com/a/x.F", "github.com/b/x.F"]);
        // Without a symbol of the runtime, these are no names of Go.
        assert_eq!(short_names(&go[1..2], program()), ["github.com/a/x.F"]);
        let rust = ["core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<alloc::string::String>"];
        let names = short_names(&rust.map(|name| (name, "_RNvC1a1f")), program());
        assert_eq!(names, ["core::ptr::drop_in_place<Vec<...>>", "core::ptr::drop_in_place<String>"]);
        let memory = Map { pid: Some(7), ..Map::new(0x1000, 0x1000, 0, b"//anon", None) };
        let python = ["py::load:/srv/a.py", "py::load:/srv/b.py", "py::main:/srv/a.py"].map(|name| (name, name));
        assert_eq!(short_names(&python, memory), ["load (a.py)", "load (b.py)", "main"]);
    }

    #[test]
    fn clones_are_one_function() {
        let clones = ["scan", "scan.part.0", "scan.cold"].map(|name| (name, name));
        assert_eq!(short_names(&clones, program()), ["scan"; 3]);
    }
}
