//! The instructions of a function, or the addresses that stand for them.

use super::{AnnotatedInstruction, CodePosition, InlinedFunction};
use crate::profile::symbolize::code::{CodeFunction, CodeSources};
use crate::profile::symbolize::function_name::{CodeKind, ShownFunction};
use crate::profile::symbolize::symbols::{FunctionId, Symbols};
use crate::report::location::{LocationId, Locations};
use hashbrown::HashMap;
use perf_symbols::symbol::code::FunctionCode;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Addresses with samples, with the positions of the frames there.
pub(super) fn sampled(addresses: impl Iterator<Item = (u64, u32)>, locations: &Locations) -> Vec<AnnotatedInstruction> {
    let frames: BTreeMap<u64, u32> = addresses.collect();
    let function = |&id: &LocationId| {
        let function = locations.get(id).function;
        let [name, short] = [locations.text(function), locations.function_name(function)].map(Cow::into_owned);
        InlinedFunction { name, short }
    };
    let position = |frame: u32| {
        let list = locations.frame_locations(frame);
        let innermost = list.first().map(|&id| locations.get(id));
        let inlined = list.iter().take(list.len().saturating_sub(1));
        Arc::new(CodePosition {
            file: innermost.map(|location| locations.text(location.file).into_owned()).unwrap_or_default(),
            line: innermost.map_or(0, |location| location.line),
            inlined: inlined.map(function).collect(),
        })
    };
    let address = |(address, frame): (u64, u32)| AnnotatedInstruction {
        address,
        len: 0,
        text: None,
        target: None,
        is_jump: false,
        position: position(frame),
        has_inner_samples: false,
        usage: Vec::new(),
    };
    frames.into_iter().map(address).collect()
}

/// Positions of addresses that are numbered in symbols.
struct Positions<'a> {
    symbols: &'a Symbols,
    /// Names of functions, which take long to shorten.
    names: HashMap<FunctionId, InlinedFunction>,
    /// By function and line: instructions of a line share its texts.
    shared: HashMap<Box<[(FunctionId, i64)]>, Arc<CodePosition>>,
}

impl<'a> Positions<'a> {
    fn new(symbols: &'a Symbols) -> Self {
        Self { symbols, names: HashMap::new(), shared: HashMap::new() }
    }

    /// The position of an address.
    fn position(&mut self, number: u32) -> Arc<CodePosition> {
        let lines = self.symbols.lines(number);
        let Some(innermost) = lines.first() else { return Arc::default() };
        let key: Box<[_]> = lines.iter().map(|line| (line.function, line.line)).collect();
        if let Some(position) = self.shared.get(&key) {
            return Arc::clone(position);
        }
        let file = self.symbols.function(innermost.function);
        let file = file.map_or(&b""[..], |function| self.symbols.name(function.file));
        let position = Arc::new(CodePosition {
            file: String::from_utf8_lossy(file).into_owned(),
            line: innermost.line,
            inlined: lines[..lines.len() - 1].iter().map(|line| self.function_names(line.function).clone()).collect(),
        });
        self.shared.insert(key, Arc::clone(&position));
        position
    }

    /// The names of a function; empty if they are unknown.
    fn function_names(&mut self, id: FunctionId) -> &InlinedFunction {
        let Self { symbols, names, .. } = self;
        names.entry(id).or_insert_with(|| {
            let function = symbols.function(id).copied();
            let shown = function.and_then(|function| ShownFunction::new(function, symbols, CodeKind::Native));
            shown
                .map(|ShownFunction { full, short }| InlinedFunction { name: full, short: short.text })
                .unwrap_or_default()
        })
    }
}

/// The instructions of functions, or for each the reason if they cannot be decoded.
pub(super) fn disassembled(
    functions: &[&CodeFunction],
    sources: &CodeSources,
) -> Vec<Result<Vec<AnnotatedInstruction>, String>> {
    let mut results: Vec<_> =
        functions.iter().map(|function| decoded(&function.code, sources.machine(function))).collect();
    // One lookup for all: a large object is opened for each.
    let mut requests = Vec::new();
    for (function, instructions) in functions.iter().zip(&results) {
        let Ok(instructions) = instructions else { continue };
        let targets = outside_targets(instructions, function);
        let addresses = instructions.iter().map(|instruction| instruction.address);
        requests.push((*function, addresses.chain(targets).collect::<Vec<_>>()));
    }
    let symbols = sources.lines(&requests);
    let named =
        functions.iter().zip(&mut results).filter_map(|(function, result)| Some((function, result.as_mut().ok()?)));
    let mut positions = Positions::new(&symbols);
    let mut first = 0;
    for ((function, instructions), (_, addresses)) in named.zip(&requests) {
        let targets = &addresses[instructions.len()..];
        name(function, instructions, targets, (first, &mut positions));
        first += addresses.len() as u32;
    }
    results
}

/// Adds the positions of instructions, and the names of the functions that they call. From the number `first` on, symbols are of the
/// instructions, then of the targets.
fn name(
    function: &CodeFunction,
    instructions: &mut Vec<AnnotatedInstruction>,
    targets: &[u64],
    (first, positions): (u32, &mut Positions<'_>),
) {
    let symbols = positions.symbols;
    let first_target = first + instructions.len() as u32;
    if function.code.has_open_end {
        // The function ends where another one begins.
        let outermost = |number: u32| symbols.frame_function(number).map(|function| function.system_name);
        let count = (first..first_target).take_while(|&number| outermost(number) == outermost(first)).count();
        instructions.truncate(count);
    }
    for (number, instruction) in (first..).zip(&mut *instructions) {
        instruction.position = positions.position(number);
    }
    for instruction in instructions {
        let number = instruction.target.and_then(|target| targets.binary_search(&target).ok());
        let called = number.and_then(|number| symbols.lines(first_target + number as u32).last());
        let name = called.map_or("", |called| &positions.function_names(called.function).short);
        if let Some(text) = instruction.text.as_mut().filter(|_| !name.is_empty()) {
            // As objdump does: `call 0x1150 <find>`.
            *text += &format!(" <{name}>");
        }
    }
}

/// The targets of jumps and calls that are outside of the function, in ascending order.
fn outside_targets(instructions: &[AnnotatedInstruction], function: &CodeFunction) -> Vec<u64> {
    let len = function.code.bytes.len() as u64;
    let is_outside = |target: &u64| target.wrapping_sub(function.code.start) >= len;
    let outside = instructions.iter().filter_map(|instruction| instruction.target.filter(is_outside));
    let mut targets: Vec<u64> = outside.collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Decodes code of an ELF machine.
///
/// # Errors
/// If its instructions are unknown.
#[cfg(feature = "disassembly")]
fn decoded(code: &FunctionCode, machine: Option<u16>) -> Result<Vec<AnnotatedInstruction>, String> {
    use perf_symbols::disassembly::{Disassembler, InstructionClass};
    let disassembler = machine.and_then(|machine| Disassembler::new(machine, code.is_64));
    let Some(disassembler) = disassembler else {
        let machine = machine.map_or("unknown".to_owned(), |machine| machine.to_string());
        return Err(format!("instructions of this machine (ELF machine {machine}) are not decoded"));
    };
    let (mut instructions, mut at) = (Vec::new(), 0);
    while let Some(bytes) = code.bytes.get(at..).filter(|bytes| !bytes.is_empty()) {
        let address = code.start.wrapping_add(at as u64);
        let mut text = String::new();
        let decoded = disassembler.decode_text(bytes, address, &mut text);
        let len = decoded.map_or(usize::from(disassembler.alignment()).min(bytes.len()), |decoded| decoded.len.into());
        let class = decoded.map_or(InstructionClass::Other, |decoded| decoded.class);
        instructions.push(AnnotatedInstruction {
            address,
            len: len as u8,
            text: Some(if decoded.is_some() { text } else { "(bad)".to_owned() }),
            target: decoded.and_then(|decoded| decoded.target),
            is_jump: matches!(class, InstructionClass::Jump | InstructionClass::ConditionalJump),
            position: Arc::default(),
            has_inner_samples: false,
            usage: Vec::new(),
        });
        at += len;
    }
    Ok(instructions)
}

/// Decodes code of an ELF machine.
///
/// # Errors
/// Always: the cargo feature `disassembly` is missing.
#[cfg(not(feature = "disassembly"))]
fn decoded(_: &FunctionCode, _: Option<u16>) -> Result<Vec<AnnotatedInstruction>, String> {
    Err("this program was built without the feature disassembly".to_owned())
}
