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
    pub(super) fn new(symbolizers: Vec<Symbolizer>, meta: &Meta) -> Self {
        Self { symbolizers, objects: HashMap::new(), arch: meta.string(FeatureId::ARCH) }
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

    /// Source lines and inlined functions of addresses of a function, by the index of the address.
    pub(crate) fn lines(&self, function: &CodeFunction, addresses: &[u64]) -> Symbols {
        let mut symbols = Symbols::default();
        let request = Request::new(function.key.clone(), Addresses::Virtual(addresses.to_vec()));
        let resolved = self.symbolizers[function.symbolizer].resolve(&[request]);
        let mut copy = Copy::new(&resolved.symbols);
        for index in 0..addresses.len() {
            let frames = resolved.symbols.frames(0, index).iter();
            let lines: Vec<_> = frames.filter_map(|frame| copy.line(frame, &mut symbols)).collect();
            symbols.set_lines(index as u32, &lines, None);
        }
        symbols
    }

    /// The texts of the source files of addresses of a function, where debug information contains them.
    pub(crate) fn embedded_sources(&self, function: &CodeFunction, addresses: &[u64]) -> Vec<Option<Vec<u8>>> {
        self.symbolizers[function.symbolizer].embedded_sources(&function.key, addresses)
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
