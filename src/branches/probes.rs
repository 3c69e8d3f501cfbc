//! Pseudo probes of LLVM: marks of blocks and calls that survive optimization, in sections of an object.
//!
//! `.pseudo_probe_desc` has a record for each function: GUID and checksum of 8 bytes, and a name after its length. `.pseudo_probe` has,
//! for each function, its GUID, the numbers of its probes and of the functions inlined into it, these probes, and a record of each of
//! these functions, after the number of the probe where it was called.

use hashbrown::HashMap;
use perf_symbols::symbol::elf::ElfFiles;

/// Maximum number of inlined functions in each other. Compilers inline a few dozen.
const DEPTH: usize = 256;

/// A function with probes.
#[derive(Debug)]
pub(super) struct ProbedFunction {
    /// Checksum of its control flow.
    pub checksum: u64,
    /// Its name.
    pub name: Box<[u8]>,
}

/// A function at a probe: inlined, or with code of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeFrame {
    /// The function.
    pub guid: u64,
    /// The frame that it was inlined into, and the probe of the call there.
    pub caller: Option<(u32, u32)>,
}

/// A probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Address of its code.
    pub address: u64,
    /// Number in its function; that of the entry is 1.
    pub index: u32,
    /// Whether it marks a call, not a block.
    pub is_call: bool,
    /// Discriminator.
    pub discriminator: u32,
    /// Index of its frame.
    pub frame: u32,
}

/// The probes of an object.
#[derive(Debug, Default)]
pub(super) struct Probes {
    functions: HashMap<u64, ProbedFunction>,
    frames: Vec<ProbeFrame>,
    /// Sorted by address.
    list: Vec<Probe>,
}

impl Probes {
    /// Reads the probes of an object; `None` if it has none.
    pub(super) fn read(files: &ElfFiles) -> Option<Self> {
        let object = files.object()?;
        let [descriptions, probes] = [&b".pseudo_probe_desc"[..], b".pseudo_probe"].map(|name| object.section(name));
        if descriptions.is_empty() || probes.is_empty() {
            return None;
        }
        let functions = functions(descriptions);
        let starts = starts(files, &functions);
        let mut read = Self { functions, ..Self::default() };
        // What precedes a corrupt record is used.
        let _ = read.parse(&mut ProbeReader(probes), &starts);
        read.list.sort_by_key(|probe| probe.address);
        Some(read)
    }

    /// Reads all records, up to the first that is corrupt.
    fn parse(&mut self, reader: &mut ProbeReader<'_>, starts: &HashMap<u64, u64>) -> Option<()> {
        // Frames with the number of functions that are still to be read of those inlined into them.
        let mut open: Vec<(u32, u64)> = Vec::new();
        let mut address = 0_u64;
        while !reader.0.is_empty() {
            while open.last().is_some_and(|(_, rest)| *rest == 0) {
                open.pop();
            }
            let caller = match open.last_mut() {
                Some((frame, rest)) => {
                    *rest -= 1;
                    Some((*frame, reader.number()? as u32))
                }
                None => None,
            };
            let guid = reader.word()?;
            let (probes, inlined) = (reader.number()?, reader.number()?);
            if let Some(start) = starts.get(&guid).filter(|_| caller.is_none()) {
                address = *start;
            }
            let frame = self.frames.len() as u32;
            self.frames.push(ProbeFrame { guid, caller });
            for _ in 0..probes {
                address = self.probe(reader, starts, address, frame)?;
            }
            if open.len() == DEPTH {
                return None;
            }
            open.push((frame, inlined));
        }
        Some(())
    }

    /// Reads a probe; returns its address.
    fn probe(
        &mut self,
        reader: &mut ProbeReader<'_>,
        starts: &HashMap<u64, u64>,
        before: u64,
        frame: u32,
    ) -> Option<u64> {
        const KIND: u8 = 0xf;
        /// Attributes: the probe only has the address of a function; it has a discriminator.
        const SENTINEL: u8 = 2 << 4;
        const HAS_DISCRIMINATOR: u8 = 4 << 4;
        const IS_DIFFERENCE: u8 = 0x80;
        let index = reader.number()? as u32;
        let flags = reader.byte()?;
        let address = if flags & IS_DIFFERENCE != 0 {
            before.wrapping_add(reader.signed()? as u64)
        } else {
            let address = reader.word()?;
            // A sentinel has the GUID of the function instead.
            let start = starts.get(&address).filter(|_| flags & SENTINEL != 0);
            start.copied().unwrap_or(address)
        };
        let discriminator = if flags & HAS_DISCRIMINATOR != 0 { reader.number()? as u32 } else { 0 };
        if flags & SENTINEL == 0 {
            self.list.push(Probe { address, index, is_call: flags & KIND != 0, discriminator, frame });
        }
        Some(address)
    }

    /// The probes at an address.
    pub(super) fn at(&self, address: u64) -> &[Probe] {
        let start = self.list.partition_point(|probe| probe.address < address);
        let end = start + self.list[start..].partition_point(|probe| probe.address == address);
        &self.list[start..end]
    }

    /// The probes at addresses of a range, both ends included.
    pub(super) fn within(&self, (start, end): (u64, u64)) -> &[Probe] {
        let first = self.list.partition_point(|probe| probe.address < start);
        let len = self.list[first..].partition_point(|probe| probe.address <= end);
        &self.list[first..first + len]
    }

    /// All probes, by address.
    pub(super) fn list(&self) -> &[Probe] {
        &self.list
    }

    /// The first probe of a call at an address.
    pub(super) fn call_at(&self, address: u64) -> Option<&Probe> {
        self.at(address).iter().find(|probe| probe.is_call)
    }

    /// Whether the function of a probe was inlined.
    pub(super) fn is_inlined(&self, probe: &Probe) -> bool {
        self.frames.get(probe.frame as usize).is_some_and(|frame| frame.caller.is_some())
    }

    /// As [`frames`](Self::frames), without those above a call whose probe is unknown, and whether there are such.
    pub(super) fn named_frames(&self, probe: &Probe) -> (Vec<(&ProbedFunction, u32)>, bool) {
        /// Number of the probe of a call that was lost.
        const UNKNOWN: u32 = 0;
        let mut frames = self.frames(probe);
        let callers = frames.len().saturating_sub(1);
        let unknown = frames[..callers].iter().rposition(|&(_, index)| index == UNKNOWN);
        frames.drain(..unknown.map_or(0, |last| last + 1));
        (frames, unknown.is_some())
    }

    /// The functions at a probe, outermost first, each with the number of the probe in it: that of a call, except for the last.
    pub(super) fn frames(&self, probe: &Probe) -> Vec<(&ProbedFunction, u32)> {
        let mut frames = Vec::new();
        let mut next = Some((probe.frame, probe.index));
        while let Some((frame, index)) = next {
            let Some(&ProbeFrame { guid, caller }) = self.frames.get(frame as usize) else { break };
            let Some(function) = self.functions.get(&guid) else { return Vec::new() };
            frames.push((function, index));
            next = caller;
        }
        frames.reverse();
        frames
    }
}

/// The addresses of functions by GUID.
fn starts(files: &ElfFiles, functions: &HashMap<u64, ProbedFunction>) -> HashMap<u64, u64> {
    let by_name: HashMap<&[u8], u64> = functions.iter().map(|(&guid, function)| (&*function.name, guid)).collect();
    let mut starts = HashMap::new();
    files.each_symbol(&mut |address, name| {
        if let Some(&guid) = by_name.get(name) {
            starts.insert(guid, address);
        }
    });
    starts
}

/// The functions by GUID, up to the first record that is corrupt.
fn functions(section: &[u8]) -> HashMap<u64, ProbedFunction> {
    let (mut functions, mut reader) = (HashMap::new(), ProbeReader(section));
    let mut next = || {
        let (guid, checksum, len) = (reader.word()?, reader.word()?, reader.number()?);
        let (name, rest) = reader.0.split_at_checked(usize::try_from(len).ok()?)?;
        reader.0 = rest;
        Some((guid, ProbedFunction { checksum, name: name.into() }))
    };
    while let Some((guid, function)) = next() {
        functions.insert(guid, function);
    }
    functions
}

/// The bytes of a section that are still to be read.
struct ProbeReader<'a>(&'a [u8]);

impl ProbeReader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn number(&mut self) -> Option<u64> {
        gimli::leb128::read::unsigned(&mut self.slice()).ok().zip(self.skip()).map(|(number, ())| number)
    }

    fn signed(&mut self) -> Option<i64> {
        gimli::leb128::read::signed(&mut self.slice()).ok().zip(self.skip()).map(|(number, ())| number)
    }

    fn slice(&self) -> gimli::EndianSlice<'_, gimli::LittleEndian> {
        gimli::EndianSlice::new(self.0, gimli::LittleEndian)
    }

    /// Passes over a LEB128 number.
    fn skip(&mut self) -> Option<()> {
        let len = self.0.iter().position(|byte| byte & 0x80 == 0)? + 1;
        self.0 = &self.0[len..];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_probes_of_inlined_functions() {
        let word = |word: u64| word.to_le_bytes();
        let record = [
            &word(1)[..],
            &[2, 1],
            // A block at the start of the function, and a call 5 bytes after it.
            &[1, 0x80, 0, 2, 0x82, 5],
            // Function 2, inlined at probe 2: a block 3 bytes after the call, with discriminator 9.
            &[2],
            &word(2),
            &[1, 0, 1, 0xc0, 3, 9],
        ]
        .concat();
        let name =
            |guid: u64, name: &str| [&word(guid)[..], &word(100 + guid), &[name.len() as u8], name.as_bytes()].concat();
        let functions = functions(&[name(1, "outer"), name(2, "inner")].concat());
        let read = |record: &[u8]| {
            let mut probes = Probes::default();
            let end = probes.parse(&mut ProbeReader(record), &HashMap::from([(1, 0x1000)]));
            (probes, end)
        };
        let (mut probes, end) = read(&record);
        probes.functions = functions;
        assert!(end.is_some());
        let found: Vec<_> = probes.list.iter().map(|probe| (probe.address, probe.index, probe.is_call)).collect();
        assert_eq!(found, [(0x1000, 1, false), (0x1005, 2, true), (0x1008, 1, false)]);
        let [inner] = probes.at(0x1008) else { panic!("a probe") };
        let frames = probes.frames(inner).into_iter();
        let frames: Vec<_> = frames.map(|(function, index)| (&*function.name, function.checksum, index)).collect();
        assert_eq!((frames, inner.discriminator), (vec![(&b"outer"[..], 101, 2), (b"inner", 102, 1)], 9));
        for len in 1..record.len() {
            read(&record[..len]);
        }
    }
}
