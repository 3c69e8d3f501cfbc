//! Code that the kernel loads at run time, such as BPF programs: functions by the names of their mappings (KSYMBOL), lines from
//! and code from BPF programs in the recording.

use super::code::{FunctionCode, MissingCode};
use super::find::attempt::Attempt;
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi::Endian;
use perf_data::abi::feature::bpf_btf::BpfBtf;
use perf_data::abi::feature::bpf_prog_info::{BpfArrays, BpfLine, BpfProgInfos};
use perf_data::abi::feature::btf::Btf;
use perf_data::abi::hex::to_hex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A source of the functions of code that the kernel loads.
#[derive(Debug, Default)]
pub struct BpfSource {
    /// Functions by their address and tag.
    functions: HashMap<(u64, String), RecordedFunction>,
}

/// What is recorded of a function.
#[derive(Clone, Debug, Default)]
struct RecordedFunction {
    /// In the order of their addresses.
    lines: Arc<[Line]>,
    /// Empty if the kernel hid it.
    code: Bytes,
}

/// A source line, with the path of its file.
#[derive(Clone, Debug)]
struct Line {
    position: BpfLine,
    file: Arc<[u8]>,
}

impl BpfSource {
    /// Creates a source with the lines and the code of these programs.
    pub fn new(programs: &BpfProgInfos, types: &BpfBtf, endian: Endian) -> Self {
        let types: BTreeMap<u32, Btf> =
            types.entries.iter().filter_map(|entry| Some((entry.id, entry.btf()?))).collect();
        let mut functions = HashMap::new();
        for program in &programs.programs {
            let btf = types.get(&program.info.btf_id);
            let mut files: HashMap<u32, Arc<[u8]>> = HashMap::new();
            let line = |position: BpfLine| {
                let (btf, offset) = (btf?, position.file_name_off);
                let file = files.entry(offset).or_insert_with(|| Arc::from(btf.string(offset)));
                Some(Line { position, file: Arc::clone(file) })
            };
            let mut lines: Vec<Line> = program.lines(endian).map_while(line).collect();
            lines.sort_by_key(|line| line.position.address);
            // The code of all functions, one after the other.
            let mut code = Bytes::copy_from_slice(program.array(BpfArrays::JITED_INSNS).unwrap_or_default());
            for (index, function) in program.functions(endian).enumerate() {
                let end = function.address.saturating_add(function.size.into());
                let [first, last] =
                    [function.address, end].map(|at| lines.partition_point(|line| line.position.address < at));
                let code = code.split_to(code.len().min(function.size as usize));
                let recorded = RecordedFunction { lines: lines[first..last].into(), code };
                // The name of a program with several functions contains its own tag, not that of its first function.
                let of_program = (index == 0).then_some(&program.info.tag[..]);
                for tag in of_program.into_iter().chain([function.tag]) {
                    functions.insert((function.address, to_hex(tag)), recorded.clone());
                }
            }
        }
        Self { functions }
    }
}

/// Whether this is the name of a function that the kernel loaded, rather than that of a module or of the kernel.
pub fn is_function_name(name: &[u8]) -> bool {
    !name.starts_with(b"/") && !name.starts_with(b"[")
}

/// The tag of a function, in its name: `bpf_prog_TAG_NAME`.
fn tag(name: &Path) -> Option<&str> {
    let (tag, _) = name.to_str()?.strip_prefix("bpf_prog_")?.split_at_checked(16)?;
    Some(tag)
}

impl Source for BpfSource {
    fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let start = key.load_address?;
        let name = key.path.as_os_str().as_encoded_bytes();
        if !is_function_name(name) {
            return None;
        }
        let recorded = tag(&key.path).and_then(|tag| self.functions.get(&(start, tag.to_owned())));
        Some(Box::new(KernelFunction { start, name: name.into(), recorded: recorded.cloned().unwrap_or_default() }))
    }
}

/// A function at an address.
struct KernelFunction {
    start: u64,
    name: Box<[u8]>,
    recorded: RecordedFunction,
}

impl OpenedObject for KernelFunction {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        self.start.checked_add(offset)
    }

    fn code(&self, address: u64) -> Result<FunctionCode, MissingCode> {
        let (start, bytes) = (self.start, self.recorded.code.clone());
        if bytes.is_empty() {
            return Err(MissingCode::NoBpfCode);
        }
        if address.wrapping_sub(start) >= bytes.len() as u64 {
            return Err(MissingCode::NoBytes);
        }
        Ok(FunctionCode { start, bytes, machine: None, is_64: true, has_open_end: false, modified: None })
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(self);
    }
}

impl Lookup for KernelFunction {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let lines = &self.recorded.lines;
        let after = lines.partition_point(|line| line.position.address <= address);
        let line = after.checked_sub(1).and_then(|index| lines.get(index));
        on_frame(&FunctionFrame {
            name: &self.name,
            start_line: lines.first().map_or(0, |line| line.position.line),
            file: line.map_or(&[][..], |line| &line.file),
            line: line.map_or(0, |line| line.position.line),
            column: line.map_or(0, |line| line.position.column),
            symbol_start: Some(self.start),
            ..FunctionFrame::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi;
    use perf_data::abi::feature::bpf_btf::BtfEntry;

    /// A program with two functions at 0x1000 and 0x1020, and lines of `a.c` and `b.h`.
    fn source() -> BpfSource {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let longs = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let data = [
            longs(&[0x1000, 0x1020]),
            words(&[0x20, 0x10]),
            // Instruction, file, text, line and column.
            words(&[0, 1, 0, 3 << 10 | 1, 2, 5, 0, 40 << 10, 5, 1, 0, 9 << 10]),
            longs(&[0x1000, 0x1008, 0x1020]),
            [[0x11; 8], [0x22; 8]].concat(),
        ];
        let offsets: Vec<u64> =
            data.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.len() as u64))).collect();
        let data = data.concat();
        let mut info = vec![0; 232];
        let mut put = |at: usize, bytes: &[u8]| info[at..at + bytes.len()].copy_from_slice(bytes);
        put(8, &[0xaa; 8]);
        put(104, &words(&[2, 2]));
        put(112, &longs(&[offsets[0], offsets[1]]));
        put(128, &words(&[7]));
        put(148, &words(&[3]));
        put(152, &longs(&[offsets[2], offsets[3]]));
        put(168, &words(&[3, 16, 8, 2]));
        put(184, &longs(&[offsets[4]]));
        let header = [words(&[1, 232, data.len() as u32]), longs(&[0x1d8])].concat();
        let bytes = [header, info, data].concat();
        let (programs, _) = abi::parse::<BpfProgInfos>(&bytes, Endian::Little, ()).unwrap();
        let strings = b"\0a.c\0b.h\0";
        let btf = [&[0x9f, 0xeb, 1, 0][..], &words(&[24, 0, 0, 0, strings.len() as u32]), strings].concat();
        BpfSource::new(&programs, &BpfBtf { entries: vec![BtfEntry { id: 7, data: btf }] }, Endian::Little)
    }

    fn shown(name: &str, start: u64, offset: u64) -> Option<String> {
        let key = ObjectKey { path: name.into(), load_address: Some(start), ..ObjectKey::default() };
        let object = source().open(&key, &mut Vec::new())?;
        let mut text = String::new();
        object.with_lookup(&mut |lookup| {
            lookup.look_up(object.address_of_offset(offset).unwrap(), &mut |frame| {
                let [name, file] = [frame.name, frame.file].map(String::from_utf8_lossy);
                text = format!("{name} {file}:{}:{} from {}", frame.line, frame.column, frame.start_line);
            });
        });
        Some(text)
    }

    #[test]
    fn functions_have_the_lines_of_their_program() {
        let [main, other] = ["bpf_prog_aaaaaaaaaaaaaaaa_main", "bpf_prog_2222222222222222_other"];
        assert_eq!(shown(main, 0x1000, 4).unwrap(), format!("{main} a.c:3:1 from 3"));
        assert_eq!(shown(main, 0x1000, 0x1f).unwrap(), format!("{main} b.h:40:0 from 3"));
        assert!(shown("bpf_prog_1111111111111111_main", 0x1000, 4).unwrap().contains("a.c:3:1"));
        assert_eq!(shown(other, 0x1020, 0).unwrap(), format!("{other} a.c:9:0 from 9"));
        assert_eq!(shown("bpf_trampoline_6442", 0x5000, 0).unwrap(), "bpf_trampoline_6442 :0:0 from 0");
    }

    #[test]
    fn a_reused_address_has_no_lines_of_the_other_program() {
        assert_eq!(shown("bpf_prog_3333333333333333_x", 0x1000, 4).unwrap(), "bpf_prog_3333333333333333_x :0:0 from 0");
        assert_eq!(shown("[nf_nat]", 0x1000, 4), None);
    }
}
