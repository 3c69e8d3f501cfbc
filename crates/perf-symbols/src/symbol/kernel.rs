//! Kernel symbols: functions from kallsyms, lines from vmlinux, relocated by the recorded address of a reference symbol.

use super::code::{self, FunctionCode, MissingCode};
use super::elf::ElfFiles;
use super::find::attempt::{Attempt, Outcome, Role};
use super::find::search::Search;
use super::find::{Policy, SearchOptions, candidate_paths};
use super::kallsyms::Kallsyms;
use super::lookup::{FramesKey, FunctionFrame, Lookup};
use super::object::Object;
use super::source::{ObjectKey, OpenedObject, Reference, Source};
use crate::object::recorded_file;
use bytes::Bytes;
use perf_data::container::spool::map;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prefixes of kernel names.
const KERNELS: [&str; 4] = ["[kernel", "[guest.kernel", "[vmlinux]", "vmlinux"];

/// Name of the kernel in perf's cache.
const CACHED: &str = "[kernel.kallsyms]";

/// A source of kernel symbols.
#[derive(Debug)]
pub struct KernelSource {
    options: Arc<SearchOptions>,
}

impl KernelSource {
    /// Creates a source that uses the kallsyms and vmlinux of these options.
    pub fn new(options: Arc<SearchOptions>) -> Self {
        Self { options }
    }
}

impl Source for KernelSource {
    fn open(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let name = key.path.to_string_lossy();
        let is_kernel = KERNELS.iter().any(|start| name.starts_with(start));
        let is_module = key.load_address.is_some();
        if self.options.policy == Policy::No || !(is_kernel || is_module) {
            return None;
        }
        let image = if is_kernel { self.image(key, attempts) } else { None };
        if let Some(opened) = image.or_else(|| self.kallsyms(key, attempts)) {
            return Some(opened);
        }
        // Images are large: only if nothing else is available.
        let fetched = if is_kernel { Search::new(&self.options, key, attempts).fetch_vmlinux() } else { None };
        fetched.map(|object| Box::new(Vmlinux::new(object, key, &self.options)) as Box<dyn OpenedObject>)
    }
}

impl KernelSource {
    /// Opens the image of a kernel.
    pub fn image(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let object = Search::new(&self.options, key, attempts).vmlinux()?;
        Some(Box::new(Vmlinux::new(object, key, &self.options)))
    }

    /// Opens the kallsyms of a kernel or one of its modules.
    pub fn kallsyms(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let mut add = |path: &Path, outcome| {
            attempts.push(Attempt { role: Role::Kallsyms, path: path.to_owned(), outcome });
        };
        for path in self.kallsyms_places(key) {
            let kallsyms = match read_all(&path) {
                Ok(text) => Kallsyms::parse(text).map_err(Outcome::Unsuitable),
                Err(e) if e.kind() == ErrorKind::NotFound => Err(Outcome::NotFound),
                Err(e) => Err(Outcome::Unreadable(e.to_string())),
            };
            match kallsyms {
                Err(outcome) => add(&path, outcome),
                Ok(kallsyms) => {
                    let own = key.reference.as_ref().and_then(|wanted| kallsyms.reference(wanted));
                    let mismatch = own.zip(key.reference.as_ref());
                    let mismatch = mismatch.and_then(|(own, recorded)| kallsyms.mismatch(own, recorded));
                    let shift = shift(own, key);
                    if let Some(mismatch) = mismatch.filter(|_| self.options.policy != Policy::Force) {
                        add(&path, Outcome::Mismatch(mismatch));
                        continue;
                    }
                    if shift != 0 && key.load_address.is_some() {
                        add(&path, Outcome::Unsuitable("is from another boot, when modules had other addresses"));
                        continue;
                    }
                    add(&path, mismatch.map_or(Outcome::Used, Outcome::Forced));
                    let load_address = key.load_address.unwrap_or(0);
                    // `perf record --kcore` and `perf buildid-cache --kcore` copy both.
                    let memory = Object::open(&path.with_file_name("kcore")).ok().flatten();
                    return Some(Box::new(Kernel { kallsyms, shift, load_address, memory }));
                }
            }
        }
        None
    }

    /// The given file, or else the copies that perf caches by build ID.
    fn kallsyms_places(&self, key: &ObjectKey) -> Vec<PathBuf> {
        let caches = || self.options.build_id_dirs.iter();
        match (&self.options.kallsyms, &key.build_id) {
            (Some(path), _) => vec![path.clone()],
            (None, Some(id)) => {
                let copies =
                    caches().flat_map(|cache| candidate_paths::in_cache(cache, Path::new(CACHED), id, &["kallsyms"]));
                copies.filter(|path| path.ends_with("kallsyms")).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

/// Reads a whole file. Files in `/proc` report no size, and cannot be mapped.
fn read_all(path: &Path) -> io::Result<Bytes> {
    /// Maximum size: a few hundred thousand symbols take about ten MB.
    const LIMIT: u64 = 1 << 30;
    let file = recorded_file::open(path)?;
    if file.metadata()?.len() > 0 {
        return map(&file);
    }
    let mut bytes = Vec::new();
    file.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Offset from symbol addresses to recorded addresses; 0 without a recorded reference symbol.
fn shift(own: Option<u64>, key: &ObjectKey) -> u64 {
    match (&key.reference, own) {
        (Some(Reference { address, .. }), Some(own)) => address.wrapping_sub(own),
        _ => 0,
    }
}

/// A kernel whose symbols are at other addresses than recorded.
struct Kernel {
    kallsyms: Kallsyms,
    shift: u64,
    /// Address of the module whose symbols are looked up; 0 for the kernel itself.
    load_address: u64,
    /// The memory of the kernel and its modules, at their addresses.
    memory: Option<Object>,
}

impl OpenedObject for Kernel {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Some(offset.wrapping_add(self.load_address))
    }

    fn code(&self, address: u64) -> Result<FunctionCode, MissingCode> {
        let Some(memory) = &self.memory else { return Err(MissingCode::KernelNamesOnly) };
        let range = self.kallsyms.range(address.wrapping_sub(self.shift)).ok_or(MissingCode::NoFunction)?;
        let [start, end] = [range.0, range.1].map(|address| address.wrapping_add(self.shift));
        code::in_object(memory, (start, Some(end)))
    }

    fn code_from(&self, address: u64, len: usize) -> Option<FunctionCode> {
        code::from_address(self.memory.as_ref()?, address, len)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(&Shifted { lookup: &self.kallsyms, shift: self.shift });
    }
}

/// A kernel image.
struct Vmlinux {
    files: ElfFiles,
    shift: u64,
}

impl Vmlinux {
    fn new(object: Object, key: &ObjectKey, options: &Arc<SearchOptions>) -> Self {
        let files = ElfFiles::from_object(object).with_options(Arc::clone(options));
        let own = key.reference.as_ref();
        let own = own.and_then(|reference| files.table().symbol_address(reference.symbol.as_bytes()));
        let shift = shift(own, key);
        Self { files, shift }
    }
}

impl OpenedObject for Vmlinux {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Some(offset)
    }

    fn code(&self, address: u64) -> Result<FunctionCode, MissingCode> {
        let code = self.files.code(address.wrapping_sub(self.shift))?;
        Ok(FunctionCode { start: code.start.wrapping_add(self.shift), ..code })
    }

    fn code_from(&self, address: u64, len: usize) -> Option<FunctionCode> {
        let code = self.files.code_from(address.wrapping_sub(self.shift), len)?;
        Some(FunctionCode { start: address, ..code })
    }

    fn debug_size(&self) -> u64 {
        self.files.debug_size()
    }

    fn memory_size(&self) -> u64 {
        self.files.memory_size()
    }

    fn prepare(&self, threads: usize) {
        self.files.prepare(threads);
    }

    fn fetch_source(&self, path: &str) -> Option<Vec<u8>> {
        self.files.fetch_source(path)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        self.files.with_lookup(&mut |lookup| lookups(&Shifted { lookup, shift: self.shift }));
    }
}

/// Symbols that are at other addresses than recorded.
struct Shifted<'a, L: ?Sized> {
    lookup: &'a L,
    shift: u64,
}

impl<L: Lookup + ?Sized> Lookup for Shifted<'_, L> {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        self.lookup.look_up(address.wrapping_sub(self.shift), &mut |frame| {
            let symbol_start = frame.symbol_start.map(|start| start.wrapping_add(self.shift));
            on_frame(&FunctionFrame { symbol_start, ..*frame });
        });
    }

    fn frames_key(&self, address: u64) -> Option<FramesKey> {
        self.lookup.frames_key(address.wrapping_sub(self.shift))
    }

    fn source(&self, address: u64) -> Option<Vec<u8>> {
        self.lookup.source(address.wrapping_sub(self.shift))
    }

    fn exceeds_limit(&self) -> bool {
        self.lookup.exceeds_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::super::find::attempt::Mismatch;
    use super::super::lookup::names;
    use super::super::object::tests::image;
    use super::*;
    use perf_data::abi::Endian;
    use std::fs;

    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t do_one\n\
        ffffffff81000200 D some_data\nffffffff81000300 T do_two\nffffffffc0000000 t in_module\t[nf_nat]\n";

    fn open(kallsyms: &str, reference: Option<Reference>) -> (Option<Box<dyn OpenedObject>>, Vec<Attempt>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kallsyms");
        fs::write(&path, kallsyms).unwrap();
        let options = SearchOptions { kallsyms: Some(path), ..SearchOptions::default() };
        let key = ObjectKey { path: "[kernel.kallsyms]_text".into(), reference, ..ObjectKey::default() };
        let mut attempts = Vec::new();
        (KernelSource::new(Arc::new(options)).open(&key, &mut attempts), attempts)
    }

    fn look_up(kernel: &dyn OpenedObject, address: u64) -> Vec<String> {
        let mut functions = Vec::new();
        kernel.with_lookup(&mut |lookup| functions = names(lookup, address));
        functions
    }

    #[test]
    fn functions_reach_to_the_next() {
        let kernel = open(TEXT, None).0.unwrap();
        assert_eq!(look_up(&*kernel, 0xffff_ffff_8100_0101), ["do_one"]);
        assert_eq!(look_up(&*kernel, 0xffff_ffff_8100_0000), ["_text"]);
        assert_eq!(look_up(&*kernel, 0xffff_ffff_c000_0004), ["in_module"]);
        assert!(look_up(&*kernel, 0x1000).is_empty());
    }

    #[test]
    fn the_last_symbol_does_not_reach_beyond_a_truncated_copy() {
        let (copy, _) = TEXT.split_once("ffffffffc0000000").unwrap();
        let kernel = open(copy, None).0.unwrap();
        assert_eq!(look_up(&*kernel, 0xffff_ffff_8100_1fff), ["do_two"]);
        assert!(look_up(&*kernel, 0xffff_ffff_8100_2000).is_empty());
    }

    #[test]
    fn addresses_follow_the_recorded_symbol() {
        let reference = Reference { symbol: "_text".to_owned(), address: 0xffff_ffff_9900_0000, size: None };
        let kernel = open(TEXT, Some(reference)).0.unwrap();
        assert_eq!(look_up(&*kernel, 0xffff_ffff_9900_0310), ["do_two"]);
    }

    #[test]
    fn code_is_in_the_copy_of_the_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kallsyms");
        fs::write(&path, "0000000000001000 T _text\n0000000000001010 t second\n0000000000003000 t third\n").unwrap();
        let open = || {
            let options = SearchOptions { kallsyms: Some(path.clone()), ..SearchOptions::default() };
            let key = ObjectKey { path: "[kernel.kallsyms]_text".into(), ..ObjectKey::default() };
            KernelSource::new(Arc::new(options)).open(&key, &mut Vec::new()).unwrap()
        };
        assert_eq!(open().code(0x1004).unwrap_err(), MissingCode::KernelNamesOnly);
        fs::write(directory.path().join("kcore"), image(62, true, Endian::Little)).unwrap();
        let kernel = open();
        let code = kernel.code(0x100f).unwrap();
        assert_eq!((code.start, code.bytes.len(), code.machine), (0x1000, 16, Some(62)));
        assert_eq!(kernel.code(0x3004).unwrap_err(), MissingCode::NoBytes);
        assert_eq!(kernel.code(0x10).unwrap_err(), MissingCode::NoFunction);
    }

    #[test]
    fn modules_are_found_at_the_same_boot_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kallsyms");
        fs::write(&path, TEXT).unwrap();
        let source = KernelSource::new(Arc::new(SearchOptions { kallsyms: Some(path), ..SearchOptions::default() }));
        let key = |name: &str, address| ObjectKey {
            path: name.into(),
            load_address: name.starts_with("[nf").then_some(0xffff_ffff_c000_0000),
            reference: Some(Reference { symbol: "_text".to_owned(), address, size: None }),
            ..ObjectKey::default()
        };
        let open = |key| source.open(&key, &mut Vec::new());
        let module = open(key("[nf_nat]", 0xffff_ffff_8100_0000)).unwrap();
        let address = module.address_of_offset(4).unwrap();
        assert_eq!(look_up(&*module, address), ["in_module"]);
        assert!(open(key("[nf_nat]", 0xffff_ffff_9900_0000)).is_none());
        assert!(open(key("[vdso]", 0)).is_none() && open(key("/bin/ls", 0)).is_none());
    }

    #[test]
    fn another_kernel_is_recognized_by_its_size() {
        let reference = |size| Reference { symbol: "_text".to_owned(), address: 0xffff_ffff_9900_0000, size };
        let text = &format!("{TEXT}ffffffff81000777 D _edata\nffffffff81000555 T _etext\n");
        let outcome = |text, size| {
            let (kernel, attempts) = open(text, Some(reference(size)));
            (kernel.is_some(), attempts.last().unwrap().outcome.clone())
        };
        for size in [None, Some(0x555), Some(0x777)] {
            assert_eq!(outcome(text, size), (true, Outcome::Used));
        }
        assert_eq!(outcome(text, Some(0x556)), (false, Outcome::Mismatch(Mismatch::KernelSize(0x777))));
        assert_eq!(outcome(TEXT, Some(0x556)), (true, Outcome::Used), "its size is unknown");
    }

    #[test]
    fn hidden_addresses_are_recognized() {
        let (kernel, attempts) = open("0000000000000000 T _text\n0000000000000000 T a\n", None);
        assert!(kernel.is_none() && attempts[0].to_string().contains("kptr_restrict"));
        assert!(Kallsyms::parse("".into()).is_err() && Kallsyms::parse(b"\xff\xff T x\n1 T\n"[..].into()).is_err());
    }
}
