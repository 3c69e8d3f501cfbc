//! Assigns addresses to frames without one: in synthetic files, or after the mapped part of real ones.

use super::maps::UnmappedRange;
use super::source::{SourceFrame, SourceMapping, SourceProfile};
use super::symbols::{Kernel, SymbolFile};
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::session::map::PAGE;

/// A profile's frames with an address each.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The profile's mappings, followed by synthetic ones.
    pub maps: Vec<SourceMapping>,
    /// Unmapped addresses.
    pub unmapped: UnmappedRange,
    /// By frame number.
    pub frames: Vec<FramePlacement>,
    /// Files with named functions.
    pub files: Vec<SymbolFile>,
    /// Named functions of the kernel.
    pub kernel: Kernel,
    /// Number of frames whose original address could not be used.
    pub moved: u64,
}

/// Location of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FramePlacement {
    /// Address; of callers, that of the last byte of the call.
    pub address: u64,
    /// Number of its map.
    pub map: Option<u32>,
    /// Whether it is in the kernel.
    pub is_kernel: bool,
}

/// File of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Location {
    /// A file, by number.
    File(usize),
    Kernel,
}

/// Assigns addresses to frames.
struct Placer<'a> {
    profile: &'a SourceProfile,
    maps: Vec<SourceMapping>,
    unmapped: UnmappedRange,
    files: Vec<SymbolFile>,
    kernel: Kernel,
    /// File numbers by path and build ID.
    by_name: HashMap<(Bytes, Option<Bytes>), usize>,
    /// Functions by file and offset.
    functions_at: HashMap<(Location, u64), u32>,
    /// The files of maps.
    locations: HashMap<u32, Location>,
    /// Names, shared by all their uses.
    texts: HashMap<u32, Bytes>,
    /// Functions without an address, with their frames.
    unplaced: Vec<UnmappedFunction>,
    by_function: HashMap<(Location, u32), usize>,
    frames: Vec<FramePlacement>,
    moved: u64,
}

/// A function without an address, each of whose frames gets a separate address.
struct UnmappedFunction {
    location: Location,
    function: u32,
    /// Frame numbers.
    frames: Vec<usize>,
}

/// Bytes per frame of a synthetic function.
const FRAME: u64 = 4;

impl Placement {
    /// Assigns an address to every frame. Frames without a file belong to the program.
    pub(crate) fn new(profile: &SourceProfile, program: &str) -> Self {
        let mut placer = Placer {
            profile,
            maps: profile.mappings.clone(),
            unmapped: UnmappedRange::between(&profile.mappings),
            files: Vec::new(),
            kernel: Kernel::default(),
            by_name: HashMap::new(),
            functions_at: HashMap::new(),
            locations: HashMap::new(),
            texts: HashMap::new(),
            unplaced: Vec::new(),
            by_function: HashMap::new(),
            frames: Vec::new(),
            moved: 0,
        };
        for (number, frame) in profile.frames.iter().enumerate() {
            let placed = placer.place(number, frame, program);
            placer.frames.push(placed);
        }
        placer.place_deferred();
        placer.name_files();
        let Placer { maps, unmapped, frames, files, kernel, moved, .. } = placer;
        Self { maps, unmapped, frames, files, kernel, moved }
    }
}

/// Whether a map is of the kernel itself, and not empty.
fn is_main_kernel(map: &SourceMapping) -> bool {
    map.path.starts_with(Kernel::NAME) && map.limit > map.start
}

impl Placer<'_> {
    fn place(&mut self, number: usize, frame: &SourceFrame, program: &str) -> FramePlacement {
        let map = frame.mapping.and_then(|map| Some((map, self.maps.get(map as usize)?.clone())));
        let located = map.clone().zip(frame.address).filter(|((_, map), address)| map.has(*address));
        let is_kernel = frame.is_kernel || map.as_ref().is_some_and(|(_, map)| map.is_kernel);
        if let Some(((map, mapping), address)) = located {
            let (into, pgoff) = (address - mapping.start, mapping.pgoff);
            let placed = FramePlacement { address, map: Some(map), is_kernel };
            let Some(function) = frame.function else {
                self.end_before(map, into.wrapping_add(pgoff));
                return placed;
            };
            let (location, offset) = match is_kernel {
                true => (Location::Kernel, address),
                false => (self.map_location(map), into.wrapping_add(pgoff)),
            };
            // A symbol file can have only one function at an address.
            let is_free = *self.functions_at.entry((location, offset)).or_insert(function) == function;
            if is_free && self.name(location, offset, frame, map) {
                return placed;
            }
            self.moved += 1;
        } else if let (Some(address), None) = (frame.address, frame.function) {
            return FramePlacement { address, map: None, is_kernel };
        } else if frame.address.is_some_and(|address| address != 0) {
            self.moved += 1;
        }
        let location = match (map, is_kernel) {
            (_, true) => Location::Kernel,
            (Some((map, mapping)), _) if !mapping.path.is_empty() => self.map_location(map),
            _ => self.location(&Bytes::from(format!("/{program}")), None),
        };
        self.defer(number, location, frame);
        FramePlacement { address: 0, map: None, is_kernel }
    }

    /// Ends the function before an offset that is in no function.
    fn end_before(&mut self, map: u32, offset: u64) {
        if self.profile.as_recorded
            && let Location::File(file) = self.map_location(map)
        {
            self.files[file].end_before(offset);
        }
    }

    /// Names the code at an offset. Returns false if the file cannot store it.
    fn name(&mut self, location: Location, offset: u64, frame: &SourceFrame, map: u32) -> bool {
        let Some(function) = frame.function else { return true };
        let name = self.function_name(function);
        let line = frame.source_line(&self.profile.functions).map(|(file, line)| (self.text(file), line));
        match location {
            Location::Kernel => {
                let start = offset - frame.offset.unwrap_or(0).min(offset);
                self.kernel.add(start, offset, name, &self.maps[map as usize].path);
                true
            }
            Location::File(file) => self.files[file].add(offset, frame.offset, name, line),
        }
    }

    fn function_name(&mut self, function: u32) -> Bytes {
        self.text(self.profile.functions.list()[function as usize].name)
    }

    fn text(&mut self, name: u32) -> Bytes {
        let names = &self.profile.names;
        self.texts.entry(name).or_insert_with(|| Bytes::copy_from_slice(names.get(name))).clone()
    }

    /// Defers a frame until all frames with addresses are placed.
    fn defer(&mut self, number: usize, location: Location, frame: &SourceFrame) {
        // No function has this number.
        let function = frame.function.unwrap_or(u32::MAX);
        let slot = *self.by_function.entry((location, function)).or_insert_with(|| {
            self.unplaced.push(UnmappedFunction { location, function, frames: Vec::new() });
            self.unplaced.len() - 1
        });
        self.unplaced[slot].frames.push(number);
    }

    /// Assigns addresses to the deferred functions, after the mapped part of their files.
    fn place_deferred(&mut self) {
        let unplaced = std::mem::take(&mut self.unplaced);
        let locations = (0..self.files.len()).map(Location::File).chain([Location::Kernel]);
        let mut by_location: HashMap<Location, Vec<UnmappedFunction>> = HashMap::new();
        unplaced.into_iter().for_each(|function| by_location.entry(function.location).or_default().push(function));
        for location in locations {
            let Some(functions) = by_location.remove(&location) else { continue };
            let size = |function: &UnmappedFunction| (FRAME * function.frames.len() as u64).next_multiple_of(16);
            let len = functions.iter().map(size).sum::<u64>().next_multiple_of(PAGE);
            let (map, base) = match location {
                Location::Kernel => self.kernel_area(len),
                Location::File(file) => self.file_area(file, len),
            };
            let start = self.maps[map as usize].start;
            let mut at = 0;
            for function in functions {
                let name = match function.function {
                    u32::MAX => Bytes::from_static(b"[unknown]"),
                    function => self.function_name(function),
                };
                let into = match location {
                    Location::Kernel => base - start,
                    Location::File(_) => 0,
                };
                for (index, &number) in function.frames.iter().enumerate() {
                    let offset = FRAME * index as u64;
                    self.frames[number].address = start + into + at + offset;
                    self.frames[number].map = Some(map);
                    match location {
                        // The symbols of the kernel have no lines, so that one symbol covers all frames of the function.
                        Location::Kernel if index == 0 => {
                            let end = base + at + size(&function) - 1;
                            self.kernel.add(base + at, end, name.clone(), &self.maps[map as usize].path);
                        }
                        Location::Kernel => {}
                        Location::File(file) => {
                            let line = self.profile.frames[number].source_line(&self.profile.functions);
                            let line = line.map(|(file, line)| (self.text(file), line));
                            self.files[file].add(base + at + offset, Some(offset), name.clone(), line);
                        }
                    }
                }
                at += size(&function);
            }
        }
    }

    /// Adds a map of a file after its mapped part, and returns it with its file offset.
    fn file_area(&mut self, file: usize, len: u64) -> (u32, u64) {
        let end = self.files[file].maps.iter().map(|&map| {
            let SourceMapping { start, limit, pgoff, .. } = self.maps[map as usize];
            pgoff.saturating_add(limit.saturating_sub(start))
        });
        // Larger offsets cannot be real.
        const MAX_OFFSET: u64 = 1 << 60;
        let end = end.filter(|&end| end < MAX_OFFSET).max().unwrap_or(0).max(PAGE);
        let pgoff = end.max(self.files[file].end()).min(MAX_OFFSET).next_multiple_of(PAGE);
        let start = self.unmapped.take(len);
        let SymbolFile { path, build_id, .. } = &self.files[file];
        let map = SourceMapping {
            path: path.clone(),
            start,
            limit: start + len,
            pgoff,
            build_id: build_id.clone(),
            is_kernel: false,
        };
        let number = self.maps.len();
        self.maps.push(map);
        self.files[file].maps.push(number as u32);
        (number as u32, pgoff)
    }

    /// Extends the kernel's map, or adds one, and returns it with the address of the new part.
    fn kernel_area(&mut self, len: u64) -> (u32, u64) {
        if let Some(main) = self.maps.iter().position(is_main_kernel) {
            let SourceMapping { start, limit, .. } = self.maps[main];
            let base = limit.checked_next_multiple_of(PAGE);
            let area = base.and_then(|base| Some((base, base.checked_add(len).filter(|&end| end < Kernel::END)?)));
            if let Some((base, end)) = area {
                let area = SourceMapping { start: base, limit: end, ..SourceMapping::default() };
                let is_free = self.maps.iter().enumerate().all(|(map, other)| map == main || !other.overlaps(&area));
                if is_free && limit > start {
                    self.maps[main].limit = end;
                    return (main as u32, base);
                }
            }
        }
        let start = if self.maps.iter().any(is_main_kernel) { self.unmapped.take(len) } else { Kernel::START };
        let path = Bytes::from_static(Kernel::NAME);
        self.maps.push(SourceMapping { path, start, limit: start + len, is_kernel: true, ..SourceMapping::default() });
        (self.maps.len() as u32 - 1, start)
    }

    /// Sets the build IDs of maps to those of the generated symbol files.
    fn name_files(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.has_symbols()) {
            let id = file.finish();
            for &map in &file.maps {
                self.maps[map as usize].build_id = Some(id.clone());
            }
        }
        self.files.retain(SymbolFile::has_symbols);
        // Without a build ID, perf would use the symbols of the running kernel.
        let is_named = !self.kernel.is_empty() || self.profile.as_recorded;
        // A profile may name the kernel without addresses, so that its functions are in a map of their own. All have one build ID,
        // by which the functions are found.
        let mut mains = self.maps.iter_mut().filter(|_| is_named).filter(|map| is_main_kernel(map));
        let Some(first) = mains.next() else { return };
        let id = self.kernel.finish(first);
        first.build_id = Some(id.clone());
        mains.for_each(|map| map.build_id = Some(id.clone()));
    }

    fn map_location(&mut self, map: u32) -> Location {
        if let Some(&location) = self.locations.get(&map) {
            return location;
        }
        let SourceMapping { path, build_id, .. } = self.maps[map as usize].clone();
        let location = self.location(&path, build_id);
        if let Location::File(file) = location {
            self.files[file].maps.push(map);
        }
        self.locations.insert(map, location);
        location
    }

    fn location(&mut self, path: &Bytes, build_id: Option<Bytes>) -> Location {
        let Self { by_name, files, .. } = self;
        Location::File(*by_name.entry((path.clone(), build_id)).or_insert_with_key(|(path, build_id)| {
            files.push(SymbolFile::new(path.clone(), build_id.clone()));
            files.len() - 1
        }))
    }
}
