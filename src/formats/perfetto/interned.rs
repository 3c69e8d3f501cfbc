//! Interned data: stacks with their frames, functions and mappings, each sent with the first sample that needs it.

use super::proto::{Callstack, Frame, InternedData, InternedString, Mapping};
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::{MappingId, Tables};
use crate::report::location::{Location, LocationId, Locations};
use perf_data::session::names::NameId;

/// Kinds of frames.
mod kind {
    pub(super) const NATIVE: i32 = 1;
    pub(super) const KERNEL: i32 = 2;
    pub(super) const JIT: i32 = 4;
}

/// The stacks of a profile as Perfetto has them.
pub(super) struct Stacks<'a> {
    tables: &'a Tables,
    locations: Locations,
    /// By frame: ID of its innermost function.
    first: Vec<u64>,
}

/// What a sequence of packets has been sent.
#[derive(Default)]
pub(super) struct Sent {
    stacks: Flags,
    frames: Flags,
    mappings: Flags,
    functions: Flags,
    files: Flags,
}

/// Flags by index, which are set once.
#[derive(Default)]
struct Flags(Vec<bool>);

impl Flags {
    /// Sets a flag; returns whether it was not set.
    fn set(&mut self, index: usize) -> bool {
        if self.0.len() <= index {
            self.0.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.0[index], true)
    }
}

impl<'a> Stacks<'a> {
    /// The stacks of a profile.
    pub(super) fn new(tables: &'a Tables) -> Self {
        let locations = Locations::new(tables);
        let mut next = 1;
        let first = (0..tables.stacks.frames().len() as FrameId).map(|frame| {
            let first = next;
            next += locations.frame_locations(frame).len() as u64;
            first
        });
        Self { tables, first: first.collect(), locations }
    }

    /// The ID of a stack, `None` if it is empty, and what a sequence needs for it.
    pub(super) fn send(&self, stack: StackId, sent: &mut Sent) -> (Option<u64>, Option<InternedData>) {
        let frames = self.tables.stacks.stack(stack);
        if frames.is_empty() {
            return (None, None);
        }
        let iid = Some(u64::from(stack) + 1);
        if !sent.stacks.set(stack as usize) {
            return (iid, None);
        }
        let mut data = InternedData::default();
        let mut frame_ids = Vec::with_capacity(frames.len());
        for &frame in frames.iter().rev() {
            let first = self.first[frame as usize];
            let locations = self.locations.frame_locations(frame);
            if sent.frames.set(frame as usize) {
                let numbered = (first..).zip(locations);
                numbered.for_each(|(iid, &location)| self.send_frame(iid, frame, location, sent, &mut data));
            }
            frame_ids.extend((first..first + locations.len() as u64).rev());
        }
        data.callstacks.push(Callstack { iid, frame_ids });
        (iid, Some(data))
    }

    fn send_frame(&self, iid: u64, id: FrameId, location: LocationId, sent: &mut Sent, data: &mut InternedData) {
        let frame = self.tables.stacks.frames()[id as usize];
        let map = frame.mapping().map(|mapping| &self.tables.mappings[mapping as usize]);
        let location = self.locations.get(location);
        let Location { function, file, line, is_named, is_kernel, .. } = *location;
        let frame_kind = match map {
            _ if is_kernel => kind::KERNEL,
            Some(map) if map.pid.is_some() => kind::JIT,
            _ => kind::NATIVE,
        };
        // A function without a name can be looked up by build ID and address.
        let name =
            if is_named { self.send_name(function, &mut sent.functions, &mut data.function_names) } else { None };
        let frame = Frame {
            iid: Some(iid),
            function_name_id: name,
            mapping_id: Some(self.send_mapping(frame.mapping(), sent, data)),
            rel_pc: Some(map.map_or(frame.address, |map| map.address_in_object(frame.address))),
            source_path_iid: self.send_name(file, &mut sent.files, &mut data.source_paths),
            line_number: u32::try_from(line).ok().filter(|&line| line > 0),
            kind: Some(frame_kind),
        };
        data.frames.push(frame);
    }

    /// The ID of a name; `None` if it is empty.
    fn send_name(&self, name: NameId, sent: &mut Flags, names: &mut Vec<InternedString>) -> Option<u64> {
        let text = self.locations.text(name);
        if text.is_empty() {
            return None;
        }
        let iid = Some(u64::from(name.0) + 1);
        if sent.set(name.0 as usize) {
            names.push(InternedString { iid, str: Some(text.into_owned().into_bytes()) });
        }
        iid
    }

    /// The ID of a mapping. Frames outside of mappings have one without a range.
    fn send_mapping(&self, mapping: Option<MappingId>, sent: &mut Sent, data: &mut InternedData) -> u64 {
        let index = mapping.map_or(self.tables.mappings.len(), |mapping| mapping as usize);
        let number = index as u64 + 1;
        if !sent.mappings.set(index) {
            return number;
        }
        let iid = Some(number);
        let map = mapping.map(|mapping| &self.tables.mappings[mapping as usize]);
        let path = map.map_or_else(|| b"[unknown]".to_vec(), |map| map.printed_file().into_owned());
        data.mapping_paths.push(InternedString { iid, str: Some(path) });
        let build_id = map.and_then(|map| map.build_id.as_deref());
        data.build_ids.extend(build_id.map(|build_id| InternedString { iid, str: Some(build_id.to_vec()) }));
        data.mappings.push(Mapping {
            iid,
            build_id: build_id.map(|_| number),
            start_offset: map.map(|map| map.pgoff),
            exact_offset: map.map(|map| map.pgoff),
            start: map.map(|map| map.start),
            end: map.map(|map| map.limit),
            path_string_ids: vec![number],
        });
        number
    }
}
