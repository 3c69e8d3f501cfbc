//! Symbols from the object files of the recorded machine.

use super::code::{AddressBase, CodeSources};
use super::symbols::{Function, FunctionId, Line, Symbols};
use super::{MissingSymbols, ObjectReports};
use crate::profile::{Frame, MappingId, Place};
use hashbrown::{HashMap, HashSet};
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::build_id::unpadded;
use perf_data::session::ProcessFiles;
use perf_data::session::kernel_names::module_name;
use perf_data::session::map::{Map, PAGE};
use perf_data::session::names::NameId;
use perf_data::stream::meta::Meta;
use perf_symbols::object::build_id::Id;
use perf_symbols::symbol::bpf::{BpfSource, is_function_name};
#[cfg(feature = "disassembly")]
use perf_symbols::symbol::code::FunctionCode;
use perf_symbols::symbol::find::attempt::{Attempt, Mismatch, Outcome, Role};
use perf_symbols::symbol::hiperf::FILES_SYMBOL;
use perf_symbols::symbol::simpleperf::{self, SimpleperfSource};
use perf_symbols::symbol::source::Source;
use perf_symbols::symbol::stored_lines::{LINES, StoredLinesSource};
use perf_symbols::symbol::stored_object::{FILE, FILE2};
use perf_symbols::symbol::{self, ObjectKey, ObjectReport, Reference, Request, ResolvedFrame, Symbolizer};
use perf_symbols::symbolizer::SymbolOptions;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A lookup in the object files of a recording.
#[derive(Debug)]
pub(super) struct ObjectSearch {
    /// In reading order.
    symbolizers: Vec<Symbolizer>,
    without_inlined: bool,
    build_ids: BuildIds,
    /// The reference symbol of the recorded kernel.
    kernel: Option<Reference>,
    /// Objects of mappings, if they stay open.
    code: Option<CodeSources>,
    /// Copy of the recorded machine's root directory.
    root: Option<PathBuf>,
    reports: ObjectReports,
}

/// The frames of a mapping.
struct Wanted {
    mapping: MappingId,
    frames: Vec<u32>,
}

impl ObjectSearch {
    pub(super) fn new(options: &SymbolOptions, meta: &Meta) -> Self {
        let symbolizers = options.symbolizers(options.for_recording(meta), Arc::new(bpf(meta)), embedded(meta));
        Self {
            symbolizers,
            without_inlined: options.omits_inlined(),
            build_ids: BuildIds::new(meta),
            kernel: None,
            code: None,
            root: options.root_copy().map(Path::to_owned),
            reports: ObjectReports::default(),
        }
    }

    /// Keeps objects open between lookups.
    pub(super) fn keep_objects(self) -> Self {
        Self { symbolizers: self.symbolizers.into_iter().map(Symbolizer::keep_objects).collect(), ..self }
    }

    /// Keeps objects open, and remembers those of mappings, whose code is read later.
    pub(super) fn keep_code(self, meta: &Meta) -> Self {
        let search = self.keep_objects();
        let code = Some(CodeSources::new(search.symbolizers.clone(), meta, search.root.clone()));
        Self { code, ..search }
    }

    /// Looks up these frames, and adds what is found to the symbols.
    pub(super) fn look_up(
        &mut self,
        ids: &[u32],
        frames: &[Frame],
        mappings: &[Map],
        process_files: &ProcessFiles,
        symbols: &mut Symbols,
    ) {
        // Modules need the reference symbol too: their functions are among those of the kernel.
        if self.kernel.is_none() {
            self.kernel = mappings.iter().find(|map| map.is_kernel()).and_then(reference);
        }
        let mut unknown = ids.to_vec();
        for index in 0..self.symbolizers.len() {
            if index > 0 && unknown.is_empty() {
                break;
            }
            unknown = self.look_up_in(index, &unknown, frames, mappings, process_files, symbols);
        }
    }

    /// Looks up frames by one of the symbolizers; returns those that it does not know.
    fn look_up_in(
        &mut self,
        symbolizer: usize,
        ids: &[u32],
        frames: &[Frame],
        mappings: &[Map],
        process_files: &ProcessFiles,
        symbols: &mut Symbols,
    ) -> Vec<u32> {
        let (mut wanted, mut by_mapping) = (Vec::<Wanted>::new(), HashMap::<MappingId, usize>::new());
        for &id in ids {
            let Place::In(mapping) = frames[id as usize].place else { continue };
            let index = *by_mapping.entry(mapping).or_insert_with(|| {
                wanted.push(Wanted { mapping, frames: Vec::new() });
                wanted.len() - 1
            });
            wanted[index].frames.push(id);
        }
        let mut requests = Vec::with_capacity(wanted.len());
        wanted.retain(|wanted| {
            let map = &mappings[wanted.mapping as usize];
            let frames = wanted.frames.iter().map(|&id| frames[id as usize]);
            let object = self.object(map, process_files);
            let is_any = object.is_some();
            if let (Some(code), Some(object)) = (&mut self.code, &object) {
                code.add(wanted.mapping, object);
            }
            requests.extend(object.map(|(key, base)| Request {
                key,
                addresses: base.addresses(frames.clone().map(|frame| frame.address)),
                callers: frames.map(|frame| frame.is_caller).collect(),
            }));
            is_any
        });
        symbols.omits_inlined |= self.without_inlined;
        let resolved = self.symbolizers[symbolizer].resolve(&requests);
        let mut copy = Copy::new(&resolved.symbols);
        let (mut lines, mut unknown) = (Vec::new(), Vec::new());
        for (request, wanted) in wanted.iter().enumerate() {
            for (index, &id) in wanted.frames.iter().enumerate() {
                let results = resolved.symbols.frames(request, index);
                let results = if self.without_inlined { &results[results.len().saturating_sub(1)..] } else { results };
                lines.clear();
                lines.extend(results.iter().filter_map(|frame| copy.line(frame, symbols)));
                if lines.is_empty() {
                    unknown.push(id);
                } else {
                    symbols.set_lines(id, &lines, resolved.symbols.symbol_offset(request, index));
                }
            }
        }
        let in_files: HashSet<&ObjectKey> = wanted
            .iter()
            .zip(&requests)
            .filter(|(wanted, _)| is_at_file(&mappings[wanted.mapping as usize], mappings))
            .map(|(_, request)| &request.key)
            .collect();
        let missing = |report| Arc::new(missing(report, in_files.contains(&report.key)));
        let reports: HashMap<&ObjectKey, Arc<MissingSymbols>> =
            resolved.objects.iter().map(|report| (&report.key, missing(report))).collect();
        for (wanted, request) in wanted.iter().zip(&requests) {
            if let Some(missing) = reports.get(&request.key) {
                let missing = Arc::clone(missing);
                // Later symbolizers search the same files by a different policy, or none.
                if symbolizer > 0 && !missing.attempts.is_empty() {
                    self.reports.missing.insert(wanted.mapping, missing);
                } else {
                    self.reports.missing.entry(wanted.mapping).or_insert(missing);
                }
            }
        }
        unknown
    }

    /// The object of a mapping, and how addresses in it are stated; `None` if it cannot have symbols.
    fn object(&self, map: &Map, process_files: &ProcessFiles) -> Option<(ObjectKey, AddressBase)> {
        let key = object_key(map, &self.build_ids, process_files);
        let build_id = key.build_id;
        if map.is_kernel() {
            let key = ObjectKey { reference: reference(map), ..key };
            return Some((key, AddressBase::Virtual));
        }
        if map.belongs_to_kernel() && (is_module(&map.filename) || is_function_name(&map.filename)) {
            // Functions of modules are also among those of the kernel. Code that the kernel loads is named after its function.
            let key = ObjectKey { reference: self.kernel.clone(), load_address: Some(map.start), ..key };
            return Some((key, AddressBase::Offset(map.start)));
        }
        // The kernel of a guest is not that of the host.
        let is_guest_kernel = map.filename.starts_with(b"[guest.kernel");
        // A mapping of one byte is synthetic, such as `[lost]`.
        if is_guest_kernel && build_id.is_none() || map.limit - map.start <= 1 {
            return None;
        }
        let base = match map.pid {
            Some(_) => AddressBase::Virtual,
            None if simpleperf::has_process_addresses(&map.filename) => AddressBase::Virtual,
            None => AddressBase::Offset(map.start.wrapping_sub(map.pgoff)),
        };
        Some((key, base))
    }

    pub(super) fn reports(&self) -> ObjectReports {
        self.reports.clone()
    }

    /// At most so many bytes of code from the address of a frame on, if code is [kept](Self::keep_code).
    #[cfg(feature = "disassembly")]
    pub(super) fn code_from(&self, frame: Frame, len: usize) -> Option<FunctionCode> {
        self.code.as_ref()?.code_from(frame, len)
    }

    /// Where code of the mappings is found, if it was [kept](Self::keep_code).
    pub(super) fn code(&mut self) -> Option<CodeSources> {
        self.code.take()
    }

    pub(super) fn finish(self) -> ObjectReports {
        self.reports
    }
}

/// Describes the object of a mapping by what is recorded about it.
pub(crate) fn object_key(map: &Map, build_ids: &BuildIds, process_files: &ProcessFiles) -> ObjectKey {
    // Some recordings have short IDs, such as the 8 bytes of LLD, at a fixed size.
    let build_id = map.build_id.as_deref().or_else(|| build_ids.build_id(map)).and_then(|id| Id::new(unpadded(id)));
    let inode = map.inode.map(Into::into);
    let jit_dump = map.pid.and_then(|pid| process_files.jit_dumps.get(&pid)).map(|name| path(name));
    let namespaces = map.pid.and_then(|pid| process_files.namespaces.get(&pid)).copied();
    // The vDSO of a 32-bit process has the same name; only its address differs.
    let is_32_bit = map.filename.starts_with(b"[vdso") && map.limit <= 1 << 32;
    let path = path(&map.filename);
    ObjectKey { path, build_id, inode, is_32_bit, pid: map.pid, jit_dump, namespaces, ..ObjectKey::default() }
}

/// Copies results to the symbols of a profile, each function and name once.
pub(super) struct Copy<'a> {
    source: &'a symbol::Symbols,
    functions: HashMap<(Option<symbol::FunctionId>, NameId), FunctionId>,
    /// That of the last frame: successive frames are often in the same function.
    last: Option<((Option<symbol::FunctionId>, NameId), FunctionId)>,
    names: HashMap<NameId, NameId>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(source: &'a symbol::Symbols) -> Self {
        Self { source, functions: HashMap::new(), last: None, names: HashMap::new() }
    }

    /// The position that a result describes; `None` if neither its function nor its line is known.
    pub(super) fn line(&mut self, frame: &ResolvedFrame, symbols: &mut Symbols) -> Option<Line> {
        let Self { source, functions, last, names } = self;
        if frame.function.is_none() && frame.line == 0 {
            return None;
        }
        let key = (frame.function, frame.file);
        if let Some((_, function)) = last.filter(|(last, _)| *last == key) {
            return Some(Line { function, line: frame.line.into(), column: frame.column.into() });
        }
        let function = *functions.entry(key).or_insert_with(|| {
            let mut copied = |name| *names.entry(name).or_insert_with(|| symbols.name_id(source.name(name)));
            let file = copied(frame.file);
            let function = frame.function.and_then(|id| source.function(id));
            let [name, system_name] = match function {
                Some(function) => [function.name, function.system_name].map(copied),
                None => [symbols.name_id(b""); 2],
            };
            let start_line = function.map_or(0, |function| function.start_line.into());
            symbols.function_id(Function { name, system_name, file, start_line })
        });
        *last = Some((key, function));
        Some(Line { function, line: frame.line.into(), column: frame.column.into() })
    }
}

/// The BPF programs of a recording.
fn bpf(meta: &Meta) -> BpfSource {
    let feature = |id| meta.features.get(&id);
    let programs = feature(FeatureId::BPF_PROG_INFO).and_then(|bytes| abi::parse(bytes, meta.endian, ()).ok());
    let types = feature(FeatureId::BPF_BTF).and_then(|bytes| abi::parse(bytes, meta.endian, ()).ok());
    match (programs, types) {
        (Some((programs, _)), Some((types, _))) => BpfSource::new(&programs, &types, meta.endian),
        _ => BpfSource::default(),
    }
}

/// The sources of names that are stored in a recording, those that say most first.
fn embedded(meta: &Meta) -> Vec<Arc<dyn Source>> {
    let section = |id| meta.features.get(&FeatureId(id)).map(|bytes| &bytes[..]);
    let lines = section(LINES).map(|section| Arc::new(StoredLinesSource::new(section)) as Arc<dyn Source>);
    let sections: Vec<_> = [FILE, FILE2, FILES_SYMBOL].into_iter().filter_map(|id| Some((id, section(id)?))).collect();
    let is_any = !sections.is_empty();
    let names = is_any.then(|| Arc::new(SimpleperfSource::from_sections(sections.into_iter())) as _);
    lines.into_iter().chain(names).collect()
}

/// Maximum size of a kernel: on x86-64, modules begin 1 GiB after its image at the latest.
const MAX_KERNEL: u64 = 1 << 30;

/// The reference symbol of a kernel mapping, which its name ends in: `[kernel.kallsyms]_text`.
fn reference(map: &Map) -> Option<Reference> {
    let end = map.filename.iter().position(|&byte| byte == b']')?;
    let symbol = str::from_utf8(&map.filename[end + 1..]).ok().filter(|symbol| !symbol.is_empty())?;
    // Otherwise perf did not know the end: the mapping reaches to a module, or to the last address.
    let size = map.limit.checked_sub(map.pgoff).filter(|size| size % PAGE != 0 && *size < MAX_KERNEL);
    Some(Reference { symbol: symbol.to_owned(), address: map.pgoff, size })
}

/// Whether this is the name of a kernel module: `[nf_nat]`, or the path of its file.
fn is_module(name: &[u8]) -> bool {
    str::from_utf8(name).is_ok_and(|name| module_name(Path::new(name)).is_some())
}

#[cfg(unix)]
fn path(name: &[u8]) -> PathBuf {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(name).into()
}

#[cfg(not(unix))]
fn path(name: &[u8]) -> PathBuf {
    String::from_utf8_lossy(name).into_owned().into()
}

/// Whether memory is in a mapping of a file, or where the text before it would be, so that it may have replaced that text.
fn is_at_file(memory: &Map, mappings: &[Map]) -> bool {
    let is_file = |map: &Map| map.pid.is_none() && !map.belongs_to_kernel() && map.filename.starts_with(b"/");
    let is_inside = |map: &Map| map.start <= memory.start && memory.limit <= map.limit;
    let is_before = |map: &Map| map.start == memory.limit && map.pgoff >= memory.limit - memory.start;
    memory.pid.is_some() && mappings.iter().any(|map| is_file(map) && (is_inside(map) || is_before(map)))
}

/// What to do about a file that is not the recorded one.
fn remedy(mismatch: &Mismatch, role: Role) -> &'static str {
    match (mismatch, role) {
        (_, Role::Kallsyms) => "use --kallsyms FILE of the recorded kernel",
        (Mismatch::Inode | Mismatch::Modified | Mismatch::Foreign, _) => {
            "if it is the same program, use --symbols force; otherwise --symfs DIR with the recorded one"
        }
        _ => "use --symfs DIR or --debug-dir DIR with the recorded one",
    }
}

/// What an object lacks and what to do about it; `is_in_file` if it is memory that may be the text of a file.
fn missing(report: &ObjectReport, is_in_file: bool) -> MissingSymbols {
    let ObjectReport { key, attempts, .. } = report;
    let is_used = attempts.iter().any(Attempt::is_used);
    let unusable = |attempt: &&Attempt| match attempt.outcome {
        Outcome::Unsuitable(_) => true,
        // A file with another build ID is expected on other machines than the recorded one.
        Outcome::Mismatch(Mismatch::BuildId(_)) => attempt.role == Role::Kallsyms,
        Outcome::Mismatch(_) => matches!(attempt.role, Role::Kallsyms | Role::Object),
        _ => false,
    };
    let reason = match (key.pid, attempts.iter().find(unusable)) {
        (Some(_), _) if is_used => "no function at these addresses".to_owned(),
        (Some(pid), _) if is_in_file => format!(
            "neither jit-{pid}.dump nor perf-{pid}.map; if the program moved its text to huge pages, use perfconv rewrite \
             --pass huge-pages first"
        ),
        (Some(_), _) if key.path == Path::new("[stack]") => {
            "no code, but callers of code without frame pointers; record with --call-graph dwarf".to_owned()
        }
        (Some(pid), _) => format!(
            "neither jit-{pid}.dump nor perf-{pid}.map; have the runtime write one (java with libperf-jvmti.so, node \
             --perf-basic-prof, python -X perf)"
        ),
        (None, _) if attempts.iter().any(|attempt| attempt.is_used() && attempt.role == Role::Kallsyms) => {
            "the kallsyms have no function at these addresses; use --kallsyms FILE with a complete copy".to_owned()
        }
        (None, _) if report.exceeds_limit => {
            "names that take more time or memory than the size of its files allows are not used".to_owned()
        }
        (None, _) if is_used => {
            "no symbols at these addresses: the file is stripped; install its debug symbols or use --debug-dir DIR"
                .to_owned()
        }
        (None, Some(attempt)) => match &attempt.outcome {
            Outcome::Mismatch(mismatch) => {
                // The message names the object already.
                let problem = if attempt.path == key.path { mismatch.to_string() } else { attempt.to_string() };
                format!("{problem}; {}", remedy(mismatch, attempt.role))
            }
            _ => attempt.to_string(),
        },
        (None, None) if key.path.as_os_str().as_encoded_bytes().starts_with(b"[kernel") => {
            "no kernel symbols; use --kallsyms FILE or --vmlinux FILE".to_owned()
        }
        (None, None) => "no matching file; use --symfs DIR".to_owned(),
    };
    MissingSymbols { reason, attempts: attempts.iter().map(ToString::to_string).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules_and_reference_symbols() {
        let map = |name: &[u8]| Map::new(0xffff_ffff_c000_0000, 0x1000, 7, name, None);
        let is_module = |name: &[u8]| is_module(name);
        assert!(is_module(b"/lib/modules/6.1/fs/nf-nat.ko.xz") && is_module(b"[nf_nat]"));
        assert!(!is_module(b"[vdso]") && !is_module(b"/lib/libkonfig.kore"));
        let text = Reference { symbol: "_text".to_owned(), address: 7, size: None };
        assert_eq!(reference(&map(b"[kernel.kallsyms]_text")), Some(text));
        let start = 0xffff_ffff_8100_0000;
        let sized = |len| reference(&Map::new(start, len, start, b"[kernel.kallsyms]_text", None)).unwrap().size;
        assert_eq!([0x0120_bb08, 0x0120_b000, 1 << 40].map(sized), [Some(0x0120_bb08), None, None]);
        assert!(reference(&map(b"[kernel.kallsyms]")).is_none());
    }
}
