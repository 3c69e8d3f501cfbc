//! Where frames are: those without addresses get some, in files that are made up or behind what is mapped of real ones.

use super::maps::{PAGE, Room};
use super::source::{SourceFrame, SourceMapping, SourceProfile};
use super::symbols::{Kernel, SymbolFile};
use bytes::Bytes;
use hashbrown::HashMap;

/// What a profile tells, with an address for every frame.
#[derive(Debug)]
pub struct Placed {
    /// What is mapped: the mappings that were told, and behind them those that are made up.
    pub maps: Vec<SourceMapping>,
    /// Where nothing is mapped.
    pub room: Room,
    /// By the numbers of the frames.
    pub frames: Vec<PlacedFrame>,
    /// Files of which functions are named.
    pub files: Vec<SymbolFile>,
    /// What is named of the kernel.
    pub kernel: Kernel,
    /// How many frames had addresses that are not theirs any more.
    pub moved: u64,
}

/// Where a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedFrame {
    /// Its address, of a caller that of the last byte of its call.
    pub address: u64,
    /// What it is in.
    pub map: Option<u32>,
    /// Whether it is of the kernel.
    pub is_kernel: bool,
}

/// In which file a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Home {
    /// A file, by its number.
    File(usize),
    /// The kernel.
    Kernel,
}

/// Finds places for frames.
struct Placer<'a> {
    told: &'a SourceProfile,
    maps: Vec<SourceMapping>,
    room: Room,
    files: Vec<SymbolFile>,
    kernel: Kernel,
    /// Numbers of files, by path and build id.
    by_name: HashMap<(Bytes, Option<Bytes>), usize>,
    /// Functions by file and place.
    taken: HashMap<(Home, u64), u32>,
    /// The files that maps are of.
    homes: HashMap<u32, Home>,
    /// Names that are shared by all places that have them.
    texts: HashMap<u32, Bytes>,
    /// Made-up functions: their lines, each with its frames.
    made_up: Vec<UnmappedFunction>,
    by_function: HashMap<(Home, u32), usize>,
    frames: Vec<PlacedFrame>,
    moved: u64,
}

/// A function without an address, and its frames, each of which gets an address of its own.
struct UnmappedFunction {
    home: Home,
    function: u32,
    /// Numbers of the frames.
    frames: Vec<usize>,
}

/// Bytes that a frame of a made-up function takes: a call is shorter.
const FRAME: u64 = 4;

impl Placed {
    /// Finds a place for every frame. What is in no file is in the program.
    pub fn new(told: &SourceProfile, program: &str) -> Self {
        let mut placer = Placer {
            told,
            maps: told.mappings.clone(),
            room: Room::between(&told.mappings),
            files: Vec::new(),
            kernel: Kernel::default(),
            by_name: HashMap::new(),
            taken: HashMap::new(),
            homes: HashMap::new(),
            texts: HashMap::new(),
            made_up: Vec::new(),
            by_function: HashMap::new(),
            frames: Vec::new(),
            moved: 0,
        };
        for (number, frame) in told.frames.iter().enumerate() {
            let placed = placer.place(number, frame, program);
            placer.frames.push(placed);
        }
        placer.make_up();
        placer.name_files();
        let Placer { maps, room, frames, files, kernel, moved, .. } = placer;
        Self { maps, room, frames, files, kernel, moved }
    }
}

impl Placer<'_> {
    fn place(&mut self, number: usize, frame: &SourceFrame, program: &str) -> PlacedFrame {
        let map = frame.mapping.and_then(|map| Some((map, self.maps.get(map as usize)?.clone())));
        let located = map.clone().zip(frame.address).filter(|((_, map), address)| map.has(*address));
        let is_kernel = frame.is_kernel || map.as_ref().is_some_and(|(_, map)| map.is_kernel);
        if let Some(((map, mapping), address)) = located {
            let (into, pgoff) = (address - mapping.start, mapping.pgoff);
            let placed = PlacedFrame { address, map: Some(map), is_kernel };
            let Some(function) = frame.function else {
                self.end_before(map, into.wrapping_add(pgoff));
                return placed;
            };
            let (home, place) = match is_kernel {
                true => (Home::Kernel, address),
                false => (self.home_of_map(map), into.wrapping_add(pgoff)),
            };
            let is_free = *self.taken.entry((home, place)).or_insert(function) == function;
            if is_free && self.name(home, place, frame, map) {
                return placed;
            }
            self.moved += 1;
        } else if let (Some(address), None) = (frame.address, frame.function) {
            return PlacedFrame { address, map: None, is_kernel };
        } else if frame.address.is_some_and(|address| address != 0) {
            self.moved += 1;
        }
        let home = match (map, is_kernel) {
            (_, true) => Home::Kernel,
            (Some((map, mapping)), _) if !mapping.path.is_empty() => self.home_of_map(map),
            _ => self.home(&Bytes::from(format!("/{program}")), None),
        };
        self.put_off(number, home, frame);
        PlacedFrame { address: 0, map: None, is_kernel }
    }

    /// Has no function go on to a place that is in none.
    fn end_before(&mut self, map: u32, place: u64) {
        if self.told.as_recorded
            && let Home::File(file) = self.home_of_map(map)
        {
            self.files[file].end_before(place);
        }
    }

    /// Names what is at a place. Not where a file has no room for it.
    fn name(&mut self, home: Home, place: u64, frame: &SourceFrame, map: u32) -> bool {
        let Some(function) = frame.function else { return true };
        let name = self.function_name(function);
        let line = frame.source_line(&self.told.functions).map(|(file, line)| (self.text(file), line));
        match home {
            Home::Kernel => {
                let start = place - frame.offset.unwrap_or(0).min(place);
                self.kernel.add(start, place, name, &self.maps[map as usize].path);
                true
            }
            Home::File(file) => self.files[file].add(place, frame.offset, name, line),
        }
    }

    fn function_name(&mut self, function: u32) -> Bytes {
        self.text(self.told.functions.list()[function as usize].name)
    }

    fn text(&mut self, name: u32) -> Bytes {
        let names = &self.told.names;
        self.texts.entry(name).or_insert_with(|| Bytes::copy_from_slice(names.get(name))).clone()
    }

    /// Has a frame get its place when all others have theirs.
    fn put_off(&mut self, number: usize, home: Home, frame: &SourceFrame) {
        // Functions are numbered from 0 on, so that this is none.
        let function = frame.function.unwrap_or(u32::MAX);
        let slot = *self.by_function.entry((home, function)).or_insert_with(|| {
            self.made_up.push(UnmappedFunction { home, function, frames: Vec::new() });
            self.made_up.len() - 1
        });
        self.made_up[slot].frames.push(number);
    }

    /// Gives addresses to functions that have none: behind what is mapped of their files.
    fn make_up(&mut self) {
        let made_up = std::mem::take(&mut self.made_up);
        let homes = (0..self.files.len()).map(Home::File).chain([Home::Kernel]);
        let mut by_home: HashMap<Home, Vec<UnmappedFunction>> = HashMap::new();
        made_up.into_iter().for_each(|function| by_home.entry(function.home).or_default().push(function));
        for home in homes {
            let Some(functions) = by_home.remove(&home) else { continue };
            let size = |function: &UnmappedFunction| (FRAME * function.frames.len() as u64).next_multiple_of(16);
            let len = functions.iter().map(size).sum::<u64>().next_multiple_of(PAGE);
            let (map, base) = match home {
                Home::Kernel => self.kernel_area(len),
                Home::File(file) => self.file_area(file, len),
            };
            let start = self.maps[map as usize].start;
            let mut at = 0;
            for function in functions {
                let name = match function.function {
                    u32::MAX => Bytes::from_static(b"[unknown]"),
                    function => self.function_name(function),
                };
                let into = match home {
                    Home::Kernel => base - start,
                    Home::File(_) => 0,
                };
                for (index, &number) in function.frames.iter().enumerate() {
                    let offset = FRAME * index as u64;
                    self.frames[number].address = start + into + at + offset;
                    self.frames[number].map = Some(map);
                    match home {
                        Home::Kernel if index == 0 => {
                            let end = base + at + size(&function) - 1;
                            self.kernel.add(base + at, end, name.clone(), &self.maps[map as usize].path);
                        }
                        Home::Kernel => {}
                        Home::File(file) => {
                            let line = self.told.frames[number].source_line(&self.told.functions);
                            let line = line.map(|(file, line)| (self.text(file), line));
                            self.files[file].add(base + at + offset, Some(offset), name.clone(), line);
                        }
                    }
                }
                at += size(&function);
            }
        }
    }

    /// A further map of a file, behind what is mapped of it, and the place in the file where that begins.
    fn file_area(&mut self, file: usize, len: u64) -> (u32, u64) {
        let end = self.files[file].maps.iter().map(|&map| {
            let SourceMapping { start, limit, pgoff, .. } = self.maps[map as usize];
            pgoff.saturating_add(limit.saturating_sub(start))
        });
        // Beyond this there is no file: what is mapped there is told wrong.
        const MOST: u64 = 1 << 60;
        let end = end.filter(|&end| end < MOST).max().unwrap_or(0).max(PAGE);
        let pgoff = end.max(self.files[file].end()).min(MOST).next_multiple_of(PAGE);
        let start = self.room.take(len);
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

    /// The kernel's map, with room behind what there was of it, and where that begins.
    fn kernel_area(&mut self, len: u64) -> (u32, u64) {
        let is_main = |map: &SourceMapping| map.path.starts_with(Kernel::NAME) && map.limit > map.start;
        if let Some(main) = self.maps.iter().position(is_main) {
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
        let start = if self.maps.iter().any(is_main) { self.room.take(len) } else { Kernel::START };
        let path = Bytes::from_static(Kernel::NAME);
        self.maps.push(SourceMapping { path, start, limit: start + len, is_kernel: true, ..SourceMapping::default() });
        (self.maps.len() as u32 - 1, start)
    }

    /// Has the maps of files whose functions are named tell the build ids of these.
    fn name_files(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.has_symbols()) {
            let id = file.finish();
            for &map in &file.maps {
                self.maps[map as usize].build_id = Some(id.clone());
            }
        }
        self.files.retain(SymbolFile::has_symbols);
        let main = self.maps.iter_mut().find(|map| map.path.starts_with(Kernel::NAME));
        // Without a build id perf would take the names of the kernel that it runs on.
        let is_named = !self.kernel.is_empty() || self.told.as_recorded;
        if let Some(main) = main.filter(|_| is_named) {
            main.build_id = Some(self.kernel.finish(main));
        }
    }

    fn home_of_map(&mut self, map: u32) -> Home {
        if let Some(&home) = self.homes.get(&map) {
            return home;
        }
        let SourceMapping { path, build_id, .. } = self.maps[map as usize].clone();
        let home = self.home(&path, build_id);
        if let Home::File(file) = home {
            self.files[file].maps.push(map);
        }
        self.homes.insert(map, home);
        home
    }

    fn home(&mut self, path: &Bytes, build_id: Option<Bytes>) -> Home {
        let Self { by_name, files, .. } = self;
        Home::File(*by_name.entry((path.clone(), build_id)).or_insert_with_key(|(path, build_id)| {
            files.push(SymbolFile::new(path.clone(), build_id.clone()));
            files.len() - 1
        }))
    }
}
