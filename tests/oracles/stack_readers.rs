//! Stacks of samples as other readers of recordings find them.

use super::consumers::find_perfparser;
use crate::common::program::{run_other, with_time_limit};
use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use perf_data::abi::sample::callchain::Context;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// Thread and time of a sample.
pub(super) type Key = (u32, u64);

/// A stack of hotspot-perfparser: addresses, leaf first, and how many of them it guessed, from other stacks.
pub(super) struct HotspotStack {
    pub addresses: Vec<u64>,
    pub guessed: usize,
}

/// Reads big-endian integers.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number<const N: usize>(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// The stacks that hotspot-perfparser finds in a plain file, with the files of its machine in `symfs`; `None` if it is not installed.
pub(super) fn hotspot(recording: &Path, symfs: &Path) -> Option<Result<HashMap<Key, HotspotStack>, String>> {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("output");
    let mut parser = with_time_limit(find_perfparser()?.to_str()?);
    parser.arg("--input").arg(recording).arg("--output").arg(&output).arg("--sysroot").arg(symfs);
    let run = run_other(&mut parser);
    if run.status != 0 {
        return Some(Err(run.stderr));
    }
    Some(hotspot_stacks(&fs::read(&output).unwrap()).ok_or("malformed output".to_owned()))
}

/// The samples in the output of hotspot-perfparser: after 16 bytes, messages with their size (little-endian) and a type. A location
/// begins with its ID and address. A sample has the process, thread, time, CPU, locations, and the number of guessed frames.
fn hotspot_stacks(output: &[u8]) -> Option<HashMap<Key, HotspotStack>> {
    const LOCATION: u8 = 3;
    const SAMPLE: u8 = 13;
    let (mut locations, mut stacks) = (HashMap::new(), HashMap::new());
    let mut rest = output.strip_prefix(b"QPERFSTREAM\0")?.get(4..)?;
    while let Some((size, after)) = rest.split_first_chunk() {
        let (message, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        rest = after;
        let (&kind, body) = message.split_first()?;
        let mut fields = Fields(body);
        if kind == LOCATION {
            locations.insert(fields.number::<4>()?, fields.number::<8>()?);
        } else if kind == SAMPLE {
            let [_, tid] = [fields.number::<4>()?, fields.number::<4>()?];
            let time = fields.number::<8>()?;
            let [_, count] = [fields.number::<4>()?, fields.number::<4>()?];
            let addresses =
                (0..count).map(|_| locations.get(&fields.number::<4>()?).copied()).collect::<Option<Vec<_>>>()?;
            stacks.insert((tid as u32, time), HotspotStack { addresses, guessed: fields.number::<1>()? as usize });
        }
    }
    Some(stacks)
}

/// What linux-perf-data reads in a plain file.
#[derive(Default)]
pub(super) struct LinuxPerfData {
    /// Call chains without context markers, in time order.
    pub chains: Vec<(Key, Vec<u64>)>,
    /// Distances of addresses in memory from those in the file, by its name.
    pub distances: HashMap<String, Vec<u64>>,
}

impl LinuxPerfData {
    pub(super) fn read(recording: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let PerfFileReader { mut perf_file, mut record_iter } =
            PerfFileReader::parse_file(BufReader::new(File::open(recording)?))?;
        let mut read = Self::default();
        while let Some(record) = record_iter.next_record(&mut perf_file)? {
            let PerfFileRecord::EventRecord { record, .. } = record else { continue };
            match record.parse()? {
                EventRecord::Sample(sample) => {
                    let key = (sample.tid.ok_or("no thread")? as u32, sample.timestamp.ok_or("no time")?);
                    let words = sample
                        .callchain
                        .map_or(Vec::new(), |chain| (0..chain.len()).filter_map(|at| chain.get(at)).collect());
                    read.chains.push((key, words.into_iter().filter(|&word| Context::of(word).is_none()).collect()));
                }
                EventRecord::Mmap2(map) => {
                    let name = String::from_utf8_lossy(&map.path.as_slice()).into_owned();
                    read.distances.entry(name).or_default().push(map.address.wrapping_sub(map.page_offset));
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// Whether an address is the one that perf prints for a file.
    pub(super) fn is_printed(&self, address: u64, (printed, file): &(u64, String)) -> bool {
        let distances = self.distances.get(file).map_or(&[][..], Vec::as_slice);
        address == *printed || distances.contains(&address.wrapping_sub(*printed))
    }
}
