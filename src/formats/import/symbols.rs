//! Names of functions, in the form in which perf and pprof look for them: an ELF file for each file, `kallsyms` for the kernel.

use super::source::SourceMapping;
use crate::abi::Endian;
use crate::object::image::{Function, Image, Target};
use crate::object::lines::Line;
use bytes::Bytes;
use md5::{Digest, Md5};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// x86-64: perf and pprof read the symbols of any machine.
const TARGET: Target = Target { machine: 62, is_64: true, endian: Endian::Little };

/// A file of which functions are named.
#[derive(Debug)]
pub struct SymbolFile {
    /// Its path.
    pub path: Bytes,
    /// Its build id, if that is told.
    pub build_id: Option<Bytes>,
    /// Numbers of the maps that are of it.
    pub maps: Vec<u32>,
    places: BTreeMap<u64, Named>,
    image: Image,
}

/// What is at a place.
#[derive(Debug)]
struct Named {
    /// Name; `None` where it is in none.
    function: Option<Bytes>,
    /// Where the function begins, where that is known.
    start: Option<u64>,
    line: Option<(Bytes, u32)>,
}

impl SymbolFile {
    /// How far a symbol goes beyond the last address in it: return addresses are behind their calls.
    const BEHIND: u64 = 2;

    /// A file without functions.
    pub fn new(path: Bytes, build_id: Option<Bytes>) -> Self {
        let mut image = Image::new(TARGET);
        image.stands_for = build_id.clone();
        Self { path, build_id, maps: Vec::new(), places: BTreeMap::new(), image }
    }

    /// Names what is at a place, and how far into the function that is, where that is known. Says whether there is room.
    pub fn add(&mut self, place: u64, into: Option<u64>, function: Bytes, line: Option<(Bytes, u32)>) -> bool {
        let start = into.map(|into| place.saturating_sub(into));
        let is_inside = start.unwrap_or(place) >= Image::START && place < 1 << 61;
        if is_inside {
            self.places.insert(place, Named { function: Some(function), start, line });
        }
        is_inside
    }

    /// Has no function go on to a place that is in none.
    pub fn end_before(&mut self, place: u64) {
        self.places.entry(place).or_insert(Named { function: None, start: None, line: None });
    }

    /// Whether any function is named.
    pub fn has_symbols(&self) -> bool {
        self.places.values().any(|named| named.function.is_some()) || !self.image.functions().is_empty()
    }

    /// The place behind the last that is named.
    pub fn end(&self) -> u64 {
        self.places.last_key_value().map_or(0, |(place, _)| place.saturating_add(Self::BEHIND))
    }

    /// Makes functions of all that was named, and says the build id. Places one behind the other of the same name are of one
    /// function.
    pub fn finish(&mut self) -> Bytes {
        let places = std::mem::take(&mut self.places);
        let mut functions: Vec<(u64, u64, Function)> = Vec::new();
        // Where functions end at the latest.
        let mut ends: Vec<u64> = Vec::new();
        let mut is_open = false;
        for (place, Named { function: name, start, line }) in places {
            let begins = start.unwrap_or(place);
            let latest = functions.last().filter(|_| is_open);
            let goes_on = latest.is_some_and(|(first, _, last)| {
                name.as_ref() == Some(&last.name) && start.is_none_or(|start| start == *first)
            });
            if !goes_on && let Some(end) = ends.last_mut() {
                *end = (*end).min(if name.is_some() { begins } else { place });
            }
            is_open = name.is_some();
            let Some(name) = name else { continue };
            if !goes_on {
                functions.push((begins, place, Function { name, ..Function::default() }));
                ends.push(u64::MAX);
            }
            let Some((first, last, function)) = functions.last_mut() else { continue };
            *last = place;
            let offset = place - *first;
            function.lines.extend(line.map(|(file, line)| Line { offset, line, file }));
        }
        for ((first, last, mut function), end) in functions.into_iter().zip(ends) {
            function.size = (last + Self::BEHIND).min(end).max(first + 1) - first;
            self.image.place(first, function);
        }
        // What is made up is told by what is in it.
        let id = self.build_id.clone().unwrap_or_else(|| Bytes::copy_from_slice(&self.image.build_id()));
        self.build_id = Some(id.clone());
        id
    }

    /// How many functions it names.
    pub fn functions(&self) -> usize {
        self.image.functions().len()
    }

    /// Writes it as an ELF file of symbols and lines.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.image.write(out)
    }
}

/// What is named of the kernel and its modules.
#[derive(Debug, Default)]
pub struct Kernel {
    symbols: BTreeMap<u64, (Bytes, Option<Bytes>)>,
    /// Behind the last place that is named of the kernel itself.
    end: u64,
    /// Its build id.
    pub build_id: Option<Bytes>,
}

impl Kernel {
    /// What perf calls it; behind it may be the name of its reference symbol.
    pub const NAME: &[u8] = b"[kernel.kallsyms]";
    /// Where it is where nobody says.
    pub const START: u64 = 0xffff_ffff_8100_0000;
    /// Behind it: what is from here on are marks in call chains.
    pub const END: u64 = 0xffff_ffff_ffff_0000;

    /// Names the function, in the kernel or a module, that begins there and that an address is in.
    pub fn add(&mut self, start: u64, address: u64, function: Bytes, map: &Bytes) {
        let module = (!map.starts_with(Self::NAME)).then(|| {
            let name = map.rsplit(|&byte| byte == b'/').next().unwrap_or(&map[..]);
            let name = name.split(|&byte| byte == b'.').next().unwrap_or(name);
            map.slice_ref(name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(name))
        });
        if module.is_none() {
            self.end = self.end.max(address.saturating_add(SymbolFile::BEHIND));
        }
        self.symbols.entry(start).or_insert((function, module));
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// How many functions are named.
    pub fn functions(&self) -> usize {
        self.symbols.len()
    }

    /// Says the build id: that of its map, or one of what is named.
    pub fn finish(&mut self, map: &SourceMapping) -> Bytes {
        let reference = map.path.strip_prefix(Self::NAME).filter(|name| !name.is_empty() && map.pgoff != 0);
        if let Some(reference) = reference {
            // Readers put their tables right by it.
            self.symbols.insert(map.pgoff, (Bytes::copy_from_slice(reference), None));
        }
        let id = map.build_id.clone().unwrap_or_else(|| {
            let mut sum = Md5::new();
            // A sum takes all that is written to it.
            let _ = self.write(&mut sum);
            Bytes::copy_from_slice(&sum.finalize())
        });
        self.build_id = Some(id.clone());
        id
    }

    /// Writes it as `/proc/kallsyms` has it.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (address, (name, module)) in &self.symbols {
            write!(out, "{address:016x} T ")?;
            // A table of words has no place for spaces and lines.
            let word = |name: &[u8]| name.iter().map(|&b| if b <= b' ' { b'_' } else { b }).collect::<Vec<u8>>();
            out.write_all(&word(name))?;
            if let Some(module) = module {
                out.write_all(&[b"\t[", &word(module)[..], b"]"].concat())?;
            }
            writeln!(out)?;
        }
        // Functions reach to where the next one begins; without one, to the end of the page.
        if self.end > 0 && !self.symbols.contains_key(&self.end) {
            writeln!(out, "{:016x} T _end", self.end)?;
        }
        Ok(())
    }
}
