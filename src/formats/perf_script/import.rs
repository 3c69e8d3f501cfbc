//! The text of perf script as a recording.

use super::frame::Frame;
use super::head::Head;
use crate::error::{Error, Result};
use crate::formats::import::told::{Told, ToldEvent, ToldFrame, ToldMapping, ToldSample};
use crate::formats::import::{ImportOptions, Remade, record};
use bytes::Bytes;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

/// Pages, as which files are mapped.
const PAGE: u64 = 0x1000;

/// How far apart places may be in one map: what is further apart is mapped apart.
const FAR: u64 = 1 << 30;

/// Makes a recording of what perf script printed.
///
/// # Errors
/// Where a line is none of a sample, with its number and the field; and where it has no place in a recording.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<Remade> {
    let mut reader = Reader::default();
    let mut input = BufReader::new(stream);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let wrong = |what: String| Error::input(name, None, format!("line {number}: {what}"));
        reader.line(text).map_err(wrong)?;
    }
    reader.end();
    if reader.told.samples.is_empty() {
        return Err(Error::input(name, None, "it has no line of a sample, as perf script prints them"));
    }
    record(name, reader.finish(), options)
}

/// What is known of a frame until all frames are there: where files are mapped depends on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Known {
    dso: Option<u32>,
    address: u64,
    /// Whether the address is that of the recording, not the place in the file.
    is_absolute: bool,
    function: Option<u32>,
    offset: Option<u64>,
}

#[derive(Default)]
struct Reader {
    told: Told,
    events: HashMap<String, u32>,
    frames: HashMap<Known, u32>,
    known: Vec<Known>,
    /// The sample whose frames are being read.
    sample: Option<ToldSample>,
    stack: Vec<u32>,
    inlined: u64,
}

impl Reader {
    fn line(&mut self, text: &str) -> std::result::Result<(), String> {
        // Words cannot hold it, and names must not.
        if text.contains('\0') {
            return Err("it has a NUL".to_owned());
        }
        if text.trim().is_empty() {
            // An empty chain is one.
            let empty = self.sample.filter(|_| self.stack.is_empty());
            if let Some(sample) = empty.filter(|sample| sample.labels == 0) {
                self.told.events[sample.event as usize].has_no_chain = false;
            }
            self.end();
        } else if text.starts_with('#') && self.sample.is_none() {
            // What perf script --header prints.
        } else if text.starts_with('\t') || self.sample.is_some() && text.starts_with("        ") && is_frame(text) {
            if self.sample.is_none() {
                return Err("ip: it is a frame of no sample".to_owned());
            }
            let frame = Frame::parse(text)?;
            if let Some(sample) = &self.sample {
                self.told.events[sample.event as usize].has_no_chain = false;
            }
            self.frame(&frame, false);
        } else {
            self.end();
            self.head(&Head::parse(text)?)?;
        }
        Ok(())
    }

    fn head(&mut self, head: &Head<'_>) -> std::result::Result<(), String> {
        let (event, value) = (self.event(head), head.period.unwrap_or(1));
        let mut sample = ToldSample { event, count: Some(1), value, ..ToldSample::default() };
        sample.tid = Some(head.tid as u32);
        sample.pid = head.pid.map(|pid| pid as u32);
        sample.cpu = head.cpu.map(|cpu| cpu as u32);
        sample.time = head.time;
        // What perf calls a thread without a name.
        let is_named = head.comm != format!(":{}", head.tid);
        sample.thread_comm = is_named.then(|| self.told.names.id(head.comm.as_bytes()));
        self.sample = Some(sample);
        if head.rest.contains("|OP ") {
            let fields = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso";
            return Err(format!("addr, data_src, weight: they are not read: print it with perf script -F {fields}"));
        }
        if !head.rest.is_empty() {
            match Frame::parse(head.rest) {
                Ok(frame) if frame.dso.is_some() || frame.function.is_some() || is_frame(head.rest) => {
                    self.frame(&frame, true);
                }
                _ => {
                    let key = self.told.labels.key("trace", None);
                    let text = self.told.names.id(head.rest.as_bytes());
                    sample.labels = self.told.labels.sets.id(&[(key, text.into())]);
                    self.sample = Some(sample);
                    self.told.events[event as usize].is_printed = true;
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, head: &Head<'_>) -> u32 {
        let Self { told, events, .. } = self;
        let event = *events.entry_ref(head.event).or_insert_with(|| {
            let unit = "count".to_owned();
            let name = head.event.to_owned();
            let has_no = ToldEvent { has_no_period: true, has_no_chain: true, ..ToldEvent::default() };
            told.events.push(ToldEvent { name, unit, ..has_no });
            told.events.len() as u32 - 1
        });
        told.events[event as usize].has_no_period &= head.period.is_none();
        event
    }

    fn frame(&mut self, frame: &Frame<'_>, is_absolute: bool) {
        if frame.is_inlined {
            self.inlined += 1;
            return;
        }
        let names = &mut self.told.names;
        let known = Known {
            dso: frame.dso.map(|dso| names.id(dso.as_bytes())),
            address: frame.address,
            is_absolute: is_absolute && !frame.dso.is_some_and(|dso| is_kernel(dso.as_bytes(), frame.address)),
            function: frame.function.map(|function| names.id(function.as_bytes())),
            offset: frame.offset,
        };
        let all = &mut self.known;
        self.stack.push(*self.frames.entry(known).or_insert_with(|| {
            all.push(known);
            all.len() as u32 - 1
        }));
    }

    /// Ends a sample.
    fn end(&mut self) {
        let Some(mut sample) = self.sample.take() else { return };
        sample.stack = self.told.stacks.id(&self.stack);
        self.stack.clear();
        self.told.samples.push(sample);
    }

    /// Says where files are mapped, of which the text tells but the places that frames are at.
    fn finish(mut self) -> Told {
        let mut places: HashMap<(u32, bool), BTreeSet<u64>> = HashMap::new();
        let mut elsewhere = BTreeSet::new();
        for known in &self.known {
            match known.dso {
                None => {
                    elsewhere.insert(known.address);
                }
                Some(dso) => {
                    let places = places.entry((dso, known.is_absolute)).or_default();
                    places.insert(known.address);
                    // perf looks for functions of the kernel where they begin.
                    if is_kernel(self.told.names.get(dso), known.address) {
                        places.insert(known.address - known.offset.unwrap_or(0).min(known.address));
                    }
                }
            }
        }
        let mut keys: Vec<_> = places.keys().copied().collect();
        keys.sort_unstable();
        let mut maps: HashMap<(u32, bool), Vec<u32>> = HashMap::new();
        // Nothing is mapped where frames are that are in no file.
        let mut base = 0x10_0000_0000_u64;
        for key in keys {
            let path = Bytes::copy_from_slice(self.told.names.get(key.0));
            let is_kernel = is_kernel(&path, places[&key].last().copied().unwrap_or(0));
            // There is one map of the kernel.
            let far = if path.starts_with(b"[kernel.kallsyms]") { u64::MAX } else { FAR };
            for (first, last) in ranges(&places[&key], far) {
                let pgoff = first / PAGE * PAGE;
                let end = last.saturating_add(2).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
                let len = end - pgoff;
                let start = if is_kernel || key.1 {
                    pgoff
                } else {
                    while let Some(&taken) = elsewhere.range(base..base.saturating_add(len)).next_back() {
                        base = (taken + 1).next_multiple_of(PAGE);
                    }
                    let start = base;
                    base = base.saturating_add(len + PAGE).min(1 << 46);
                    start
                };
                maps.entry(key).or_default().push(self.told.mappings.len() as u32);
                let pgoff = if is_kernel { 0 } else { pgoff };
                let limit = start.saturating_add(len);
                let path = path.clone();
                self.told.mappings.push(ToldMapping { path, start, limit, pgoff, build_id: None, is_kernel });
            }
        }
        for known in &self.known {
            let mut frame = ToldFrame { function: known.function, offset: known.offset, ..ToldFrame::default() };
            frame.address = Some(known.address);
            frame.is_kernel = known.dso.is_none() && known.address >= 1 << 63;
            let of_dso = known.dso.and_then(|dso| maps.get(&(dso, known.is_absolute)));
            for &map in of_dso.into_iter().flatten() {
                let mapping = &self.told.mappings[map as usize];
                let pgoff = if mapping.is_kernel { mapping.start } else { mapping.pgoff };
                let into = known.address.checked_sub(pgoff).filter(|into| *into < mapping.limit - mapping.start);
                if let Some(into) = into {
                    frame.mapping = Some(map);
                    frame.address = Some(mapping.start + into);
                }
            }
            self.told.frames.push(frame);
        }
        if self.inlined > 0 {
            self.told
                .lost
                .push(format!("{} inlined frames are left out: they have no address of their own", self.inlined));
        }
        self.told.as_recorded = true;
        self.told
    }
}

/// Whether a text begins with an address.
fn is_frame(text: &str) -> bool {
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && u64::from_str_radix(word, 16).is_ok()
}

/// Whether what is at an address is of the kernel.
fn is_kernel(path: &[u8], address: u64) -> bool {
    ToldMapping::is_kernel_name(path) || address >= 1 << 63 && path != b"[vsyscall]"
}

/// From where to where places are that are not far apart.
fn ranges(places: &BTreeSet<u64>, far: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, last)) if place - *last < far => *last = place,
            _ => ranges.push((place, place)),
        }
    }
    ranges
}
