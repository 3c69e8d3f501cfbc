//! Function names in the form that perf and pprof look for: an ELF file per object, and `kallsyms` for the kernel.

use super::source::SourceMapping;
use bytes::Bytes;
use md5::{Digest, Md5};
use perf_data::abi::Endian;
use perf_symbols::object::image::{Image, ImageFunction, ImageTarget};
use perf_symbols::object::lines::Line;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// x86-64; perf and pprof read symbols of any machine.
const TARGET: ImageTarget = ImageTarget { machine: 62, is_64: true, endian: Endian::Little };

/// A file with named functions.
#[derive(Debug)]
pub(crate) struct SymbolFile {
    pub path: Bytes,
    /// Build ID, if known.
    pub build_id: Option<Bytes>,
    /// Numbers of its maps.
    pub maps: Vec<u32>,
    by_offset: BTreeMap<u64, Named>,
    image: Image,
}

/// The code at an offset.
#[derive(Debug)]
struct Named {
    /// Function name; `None` outside any function.
    function: Option<Bytes>,
    /// Start of the function, if known.
    start: Option<u64>,
    line: Option<(Bytes, u32)>,
}

impl SymbolFile {
    /// How far a symbol extends beyond its last address, since return addresses follow their calls.
    const MARGIN: u64 = 2;

    /// Creates a file without functions.
    pub(crate) fn new(path: Bytes, build_id: Option<Bytes>) -> Self {
        let mut image = Image::new(TARGET);
        image.stands_for = build_id.clone();
        Self { path, build_id, maps: Vec::new(), by_offset: BTreeMap::new(), image }
    }

    /// Names the code at a file offset, which is `into` the function if that is known. Returns false if that is
    /// impossible.
    pub(crate) fn add(&mut self, offset: u64, into: Option<u64>, function: Bytes, line: Option<(Bytes, u32)>) -> bool {
        let start = into.map(|into| offset.saturating_sub(into));
        let is_inside = start.unwrap_or(offset) >= Image::START && offset < 1 << 61;
        if is_inside {
            self.by_offset.insert(offset, Named { function: Some(function), start, line });
        }
        is_inside
    }

    /// Ends the function before an offset that is in no function.
    pub(crate) fn end_before(&mut self, offset: u64) {
        self.by_offset.entry(offset).or_insert(Named { function: None, start: None, line: None });
    }

    /// Whether any function is named.
    pub(crate) fn has_symbols(&self) -> bool {
        self.by_offset.values().any(|named| named.function.is_some()) || !self.image.functions().is_empty()
    }

    /// The offset after the last named one.
    pub(crate) fn end(&self) -> u64 {
        self.by_offset.last_key_value().map_or(0, |(offset, _)| offset.saturating_add(Self::MARGIN))
    }

    /// Builds the functions, and returns the build ID. Consecutive offsets with the same name belong to one function.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut latest: Option<UnfinishedFunction> = None;
        for (file_offset, Named { function: name, start, line }) in std::mem::take(&mut self.by_offset) {
            let begins = start.unwrap_or(file_offset);
            if !latest.as_ref().is_some_and(|latest| latest.continues_as(name.as_ref(), start)) {
                let end = if name.is_some() { begins } else { file_offset };
                latest.take().into_iter().for_each(|latest| latest.finish(end, &mut self.image));
            }
            let Some(name) = name else { continue };
            let latest = latest.get_or_insert_with(|| UnfinishedFunction {
                first: begins,
                last: file_offset,
                function: ImageFunction { name, ..ImageFunction::default() },
            });
            latest.last = file_offset;
            let offset = file_offset - latest.first;
            latest.function.lines.extend(line.map(|(file, line)| Line { offset, line, file }));
        }
        latest.into_iter().for_each(|latest| latest.finish(u64::MAX, &mut self.image));
        // A synthetic file has a build ID derived from its contents.
        let id = self.build_id.clone().unwrap_or_else(|| Bytes::copy_from_slice(&self.image.build_id()));
        self.build_id = Some(id.clone());
        id
    }

    /// Number of functions.
    pub(crate) fn functions(&self) -> usize {
        self.image.functions().len()
    }

    /// Writes an ELF file with symbols and lines.
    ///
    /// # Errors
    /// Errors of the output.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.image.write(out)
    }
}

/// A function that may extend to further offsets.
struct UnfinishedFunction {
    first: u64,
    last: u64,
    function: ImageFunction,
}

impl UnfinishedFunction {
    /// Whether an offset with this name belongs to it, too.
    fn continues_as(&self, name: Option<&Bytes>, start: Option<u64>) -> bool {
        name == Some(&self.function.name) && start.is_none_or(|start| start == self.first)
    }

    /// Adds it, with an end of at most `end`.
    fn finish(mut self, end: u64, image: &mut Image) {
        self.function.size = (self.last + SymbolFile::MARGIN).min(end).max(self.first + 1) - self.first;
        image.offset(self.first, self.function);
    }
}

/// Named functions of the kernel and its modules.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    symbols: BTreeMap<u64, (Bytes, Option<Bytes>)>,
    /// The address after the last named one in the kernel itself.
    end: u64,
    pub build_id: Option<Bytes>,
}

impl Kernel {
    /// perf's name, which may be followed by that of the reference symbol.
    pub(crate) const NAME: &[u8] = b"[kernel.kallsyms]";
    /// Default start address.
    pub(crate) const START: u64 = 0xffff_ffff_8100_0000;
    /// End of the address range: values from here on are context markers.
    pub(crate) const END: u64 = 0xffff_ffff_ffff_0000;

    /// Names the function that begins at `start` and contains `address`.
    pub(crate) fn add(&mut self, start: u64, address: u64, function: Bytes, map: &Bytes) {
        let module = (!map.starts_with(Self::NAME)).then(|| {
            let name = map.rsplit(|&byte| byte == b'/').next().unwrap_or(&map[..]);
            let name = name.split(|&byte| byte == b'.').next().unwrap_or(name);
            map.slice_ref(name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(name))
        });
        if module.is_none() {
            self.end = self.end.max(address.saturating_add(SymbolFile::MARGIN));
        }
        self.symbols.entry(start).or_insert((function, module));
    }

    /// Whether there are no functions.
    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Number of functions.
    pub(crate) fn functions(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the build ID: that of the map, or one derived from the functions.
    pub(crate) fn finish(&mut self, map: &SourceMapping) -> Bytes {
        let reference = map.path.strip_prefix(Self::NAME).filter(|name| !name.is_empty() && map.pgoff != 0);
        if let Some(reference) = reference {
            // perf relocates the symbols by it.
            self.symbols.insert(map.pgoff, (Bytes::copy_from_slice(reference), None));
        }
        let id = map.build_id.clone().unwrap_or_else(|| {
            let mut symbols = Vec::new();
            // Writing to memory cannot fail.
            let _ = self.write(&mut symbols);
            Bytes::copy_from_slice(&Md5::digest(symbols))
        });
        self.build_id = Some(id.clone());
        id
    }

    /// Writes them in the format of `/proc/kallsyms`.
    ///
    /// # Errors
    /// Errors of the output.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (address, (name, module)) in &self.symbols {
            write!(out, "{address:016x} T ")?;
            // Names in this format cannot contain spaces or newlines.
            let word = |name: &[u8]| name.iter().map(|&b| if b <= b' ' { b'_' } else { b }).collect::<Vec<u8>>();
            out.write_all(&word(name))?;
            if let Some(module) = module {
                out.write_all(&[b"\t[", &word(module)[..], b"]"].concat())?;
            }
            writeln!(out)?;
        }
        // A function ends where the next one begins; without one, at the end of the page.
        if self.end > 0 && !self.symbols.contains_key(&self.end) {
            writeln!(out, "{:016x} T _end", self.end)?;
        }
        Ok(())
    }
}
