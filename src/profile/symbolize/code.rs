//! Code of the functions that frames are in, and the source lines and inlined functions of its addresses.

use super::objects::Copy;
use super::symbols::Symbols;
use crate::profile::{Frame, MappingId};
use hashbrown::HashMap;
use perf_data::abi::feature::FeatureId;
use perf_data::stream::meta::Meta;
use perf_symbols::object::machine;
use perf_symbols::symbol::code::{FunctionCode, MissingCode};
use perf_symbols::symbol::{Addresses, ObjectKey, Request, Symbolizer};
use std::path::{Path, PathBuf};

/// How addresses in a mapping are stated in its object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressBase {
    /// As recorded.
    Virtual,
    /// As offsets from this address.
    Offset(u64),
}

impl AddressBase {
    pub(super) fn addresses(self, recorded: impl Iterator<Item = u64>) -> Addresses {
        match self {
            Self::Virtual => Addresses::Virtual(recorded.collect()),
            Self::Offset(base) => Addresses::Offsets(recorded.map(|address| address.wrapping_sub(base)).collect()),
        }
    }
}

/// Where the code of mappings is found.
#[derive(Debug)]
pub(crate) struct CodeSources {
    /// In the order in which addresses are looked up.
    symbolizers: Vec<Symbolizer>,
    objects: HashMap<MappingId, (ObjectKey, AddressBase)>,
    /// Architecture of the recorded machine.
    arch: Option<String>,
    /// Copy of the recorded machine's root directory.
    root: Option<PathBuf>,
}

/// A function with its code.
#[derive(Debug)]
pub(crate) struct CodeFunction {
    pub code: FunctionCode,
    key: ObjectKey,
    symbolizer: usize,
}

/// The functions of some frames.
#[derive(Debug, Default)]
pub(crate) struct FrameFunctions {
    pub functions: Vec<CodeFunction>,
    /// For each frame: the index of its function, and its address there; or why the code is unknown, and the address in the object.
    pub frames: Vec<Result<(usize, u64), (MissingCode, u64)>>,
}

impl CodeSources {
    pub(super) fn new(symbolizers: Vec<Symbolizer>, meta: &Meta, root: Option<PathBuf>) -> Self {
        Self { symbolizers, objects: HashMap::new(), arch: meta.string(FeatureId::ARCH), root }
    }

    /// Copy of the recorded machine's root directory, if one was named.
    pub(crate) fn source_root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    pub(super) fn add(&mut self, mapping: MappingId, object: &(ObjectKey, AddressBase)) {
        self.objects.entry(mapping).or_insert_with(|| object.clone());
    }

    /// The functions of frames, with their code.
    pub(crate) fn functions(&self, frames: &[Frame]) -> FrameFunctions {
        let mut by_mapping: HashMap<Option<MappingId>, Vec<usize>> = HashMap::new();
        for (index, frame) in frames.iter().enumerate() {
            by_mapping.entry(frame.mapping()).or_default().push(index);
        }
        let unknown = |frame: &Frame| Err((MissingCode::NoObject, frame.address));
        let mut found = FrameFunctions { frames: frames.iter().map(unknown).collect(), functions: Vec::new() };
        let mut groups: Vec<_> = by_mapping.into_iter().collect();
        groups.sort_by_key(|(_, indexes)| indexes.first().copied());
        for (mapping, indexes) in groups {
            if let Some((key, base)) = mapping.and_then(|mapping| self.objects.get(&mapping)) {
                self.find(&mut found, key, *base, frames, indexes);
            }
        }
        found
    }

    fn find(
        &self,
        found: &mut FrameFunctions,
        key: &ObjectKey,
        base: AddressBase,
        frames: &[Frame],
        mut indexes: Vec<usize>,
    ) {
        for (number, symbolizer) in self.symbolizers.iter().enumerate() {
            let addresses = base.addresses(indexes.iter().map(|&index| frames[index].address));
            let code = symbolizer.code(key, &addresses);
            let numbers: Vec<usize> =
                code.functions.into_iter().map(|code| found.function(code, key, number)).collect();
            let results = indexes.iter().zip(addresses.list()).zip(code.addresses);
            let left = results.filter_map(|((&index, &stated), result)| {
                // What the first source lacks is what to provide.
                let reason = |missing| match found.frames[index] {
                    Err((MissingCode::NoObject, _)) => missing,
                    Err((earlier, _)) => earlier,
                    Ok(_) => missing,
                };
                found.frames[index] = match result {
                    Ok((function, address)) => Ok((numbers[function], address)),
                    Err(missing) => Err((reason(missing), stated)),
                };
                result.is_err().then_some(index)
            });
            indexes = left.collect();
            if indexes.is_empty() {
                break;
            }
        }
    }

    /// At most so many bytes of code from the address of a frame on.
    #[cfg(feature = "disassembly")]
    pub(super) fn code_from(&self, frame: Frame, len: usize) -> Option<FunctionCode> {
        let (key, base) = self.objects.get(&frame.mapping()?)?;
        let addresses = base.addresses([frame.address].into_iter());
        self.symbolizers.iter().find_map(|symbolizer| symbolizer.code_from(key, &addresses, len))
    }

    /// Source lines and inlined functions of addresses of functions. Addresses are numbered across functions.
    pub(crate) fn lines(&self, functions: &[(&CodeFunction, Vec<u64>)]) -> Symbols {
        let mut symbols = Symbols::default();
        let mut first = 0;
        let mut firsts = Vec::with_capacity(functions.len());
        for (_, addresses) in functions {
            firsts.push(first);
            first += addresses.len() as u32;
        }
        for (number, symbolizer) in self.symbolizers.iter().enumerate() {
            let indexes: Vec<usize> =
                (0..functions.len()).filter(|&index| functions[index].0.symbolizer == number).collect();
            let request = |&index: &usize| {
                let (function, addresses) = &functions[index];
                Request::new(function.key.clone(), Addresses::Virtual(addresses.clone()))
            };
            let requests: Vec<_> = indexes.iter().map(request).collect();
            if requests.is_empty() {
                continue;
            }
            let resolved = symbolizer.resolve(&requests);
            let (mut copy, mut lines) = (Copy::new(&resolved.symbols), Vec::new());
            for (request, &index) in indexes.iter().enumerate() {
                for address in 0..functions[index].1.len() {
                    let frames = resolved.symbols.frames(request, address).iter();
                    lines.clear();
                    lines.extend(frames.filter_map(|frame| copy.line(frame, &mut symbols)));
                    symbols.set_lines(firsts[index] + address as u32, &lines, None);
                }
            }
        }
        symbols
    }

    /// The texts of source files, each with an address of its code in a function, from debug information or a server.
    pub(crate) fn sources(&self, files: &[(&CodeFunction, u64, &str)]) -> Vec<Option<Vec<u8>>> {
        let mut by_object: HashMap<(usize, &ObjectKey), Vec<usize>> = HashMap::new();
        for (index, (function, ..)) in files.iter().enumerate() {
            by_object.entry((function.symbolizer, &function.key)).or_default().push(index);
        }
        let mut texts = vec![None; files.len()];
        for ((symbolizer, key), indexes) in by_object {
            let list: Vec<(u64, &str)> = indexes.iter().map(|&index| (files[index].1, files[index].2)).collect();
            let sources = self.symbolizers[symbolizer].sources(key, &list);
            indexes.into_iter().zip(sources).for_each(|(index, text)| texts[index] = text);
        }
        texts
    }

    /// `e_machine` of a function's code.
    pub(crate) fn machine(&self, function: &CodeFunction) -> Option<u16> {
        let arch = self.arch.as_deref();
        // CPython 3.13 states none in its jitdumps, and others a wrong one.
        let stated =
            function.code.machine.filter(|&machine| arch.is_none_or(|arch| machine::runs(arch, machine.into())));
        stated.or_else(|| machine::by_arch(arch?)).or(function.code.machine)
    }
}

impl FrameFunctions {
    /// The index of a function.
    fn function(&mut self, code: FunctionCode, key: &ObjectKey, symbolizer: usize) -> usize {
        let is_same = |other: &CodeFunction| other.code.start == code.start && other.key == *key;
        self.functions.iter().position(is_same).unwrap_or_else(|| {
            self.functions.push(CodeFunction { code, key: key.clone(), symbolizer });
            self.functions.len() - 1
        })
    }
}
