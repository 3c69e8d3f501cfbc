//! Stacks, frames and objects with their identifiers.

use super::column::Columns;
use super::id::{self, Id};
use super::schema::{FrameColumns, ObjectColumns, StackColumns};
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::stacks::{FrameId, StackId, Stacks};
use crate::profile::symbolize::ObjectReports;
use crate::profile::symbolize::symbols::Symbols;
use crate::profile::{Frame, MappingId, Place};
use arrow_array::RecordBatch;
use hashbrown::HashSet;
use perf_data::abi::hex::to_hex;
use perf_data::session::map::Map;
use perf_data::session::space::Space;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;

/// The stacks of a recording so far, with their symbols.
#[derive(Clone, Copy)]
pub(super) struct Resolved<'a> {
    /// Frames and stacks.
    pub stacks: &'a Stacks,
    /// Mappings of frames.
    pub mappings: &'a Mappings,
    /// Functions of frames.
    pub symbols: &'a Symbols,
    pub build_ids: &'a BuildIds,
}

#[derive(Clone, Debug)]
struct Object {
    id: Id,
    dso: String,
    build_id: Option<String>,
    pid: Option<u32>,
    is_kernel: bool,
}

/// Assigns identifiers, and collects the rows of new stacks, frames and objects.
pub(super) struct StackTables {
    origin: Id,
    /// Objects by mapping.
    objects: Vec<Option<Object>>,
    frames: Vec<Option<Id>>,
    stacks: Vec<Option<Id>>,
    /// The frames and stacks that have rows. Different mappings of a file have the same frames.
    known_frames: HashSet<Id>,
    known_stacks: HashSet<Id>,
    stack_columns: StackColumns,
    frame_columns: FrameColumns,
    /// Scratch buffer.
    ids: Vec<Id>,
}

impl StackTables {
    /// Begins without stacks.
    pub(super) fn new(origin: Id) -> Self {
        Self {
            origin,
            objects: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            known_frames: HashSet::new(),
            known_stacks: HashSet::new(),
            stack_columns: StackColumns::default(),
            frame_columns: FrameColumns::default(),
            ids: Vec::new(),
        }
    }

    /// The identifier of a stack. Adds rows for it and its frames if it is new.
    pub(super) fn stack(&mut self, resolved: Resolved<'_>, stack: StackId) -> Id {
        if let Some(&Some(id)) = self.stacks.get(stack as usize) {
            return id;
        }
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        ids.extend(resolved.stacks.stack(stack).iter().map(|&frame| self.frame(resolved, frame)));
        let id = id::stack(ids.iter().copied());
        *slot(&mut self.stacks, stack) = Some(id);
        if self.known_stacks.insert(id) {
            self.stack_columns.stack.push(Some(id));
            self.stack_columns.depth.push(Some(ids.len() as i32));
            self.stack_columns.frames.push(ids.iter().copied());
        }
        self.ids = ids;
        id
    }

    fn frame(&mut self, resolved: Resolved<'_>, frame: FrameId) -> Id {
        if let Some(&Some(id)) = self.frames.get(frame as usize) {
            return id;
        }
        let Frame { place, address, .. } = resolved.stacks.frames()[frame as usize];
        let (id, object, offset) = match place {
            Place::In(mapping) => {
                let object = self.object(resolved, mapping).clone();
                let offset = offset(&resolved.mappings.list()[mapping as usize], address);
                (id::frame(object.id, offset), Some(object), offset)
            }
            Place::Outside(space) => (id::frame_outside(space, address), None, address),
        };
        *slot(&mut self.frames, frame) = Some(id);
        if self.known_frames.insert(id) {
            let is_kernel = match (&object, place) {
                (Some(object), _) => object.is_kernel,
                (None, place) => matches!(place, Place::Outside(Space::Kernel | Space::GuestKernel)),
            };
            self.add_frame(resolved.symbols, frame, (id, object.as_ref(), offset, is_kernel));
        }
        id
    }

    fn add_frame(
        &mut self,
        symbols: &Symbols,
        frame: FrameId,
        (id, object, offset, is_kernel): (Id, Option<&Object>, u64, bool),
    ) {
        let lines = symbols.lines(frame);
        let columns = &mut self.frame_columns;
        let last = lines.len().saturating_sub(1);
        for depth in 0..lines.len().max(1) {
            let line = lines.get(depth);
            let function = line.and_then(|line| symbols.function(line.function));
            let text = |name| Some(symbols.name(name)).filter(|name| !name.is_empty());
            let number = |number: i64| Some(number).filter(|&number| number > 0);
            columns.frame.push(Some(id));
            columns.depth.push(Some(depth as i32));
            columns.object.push(object.map(|object| object.id));
            columns.dso.push(object.map(|object| object.dso.as_str()));
            columns.offset.push(Some(offset));
            columns.function.push_bytes(function.and_then(|function| text(function.name)));
            columns.system_name.push_bytes(function.and_then(|function| text(function.system_name)));
            columns.file.push_bytes(function.and_then(|function| text(function.file)));
            columns.start_line.push(function.and_then(|function| number(function.start_line)));
            columns.line.push(line.and_then(|line| number(line.line)));
            columns.column.push(line.and_then(|line| number(line.column)));
            columns.inlined.push(depth < last || symbols.is_inlined(frame));
            columns.kernel.push(is_kernel);
        }
    }

    fn object(&mut self, resolved: Resolved<'_>, mapping: MappingId) -> &Object {
        let origin = self.origin;
        slot(&mut self.objects, mapping).get_or_insert_with(|| {
            let map = &resolved.mappings.list()[mapping as usize];
            let build_id = map.build_id.as_deref().or_else(|| resolved.build_ids.build_id(map));
            let name = object_name(map);
            Object {
                id: id::object(name, build_id, map, origin),
                dso: String::from_utf8_lossy(name).into_owned(),
                build_id: build_id.map(to_hex),
                pid: map.pid,
                is_kernel: map.belongs_to_kernel(),
            }
        })
    }

    /// Returns the rows of new stacks and frames, and removes them.
    pub(super) fn batches(&mut self) -> (RecordBatch, RecordBatch) {
        (self.stack_columns.batch(), self.frame_columns.batch())
    }

    /// Returns the rows of all objects.
    pub(super) fn objects(&self, reports: &ObjectReports) -> RecordBatch {
        let mut columns = ObjectColumns::default();
        let mut seen = HashSet::new();
        for (mapping, object) in (0..).zip(&self.objects) {
            let Some(Object { id, dso, build_id, pid, is_kernel }) = object else { continue };
            if seen.insert(*id) {
                columns.object.push(Some(*id));
                columns.dso.push(Some(dso));
                columns.build_id.push(build_id.as_deref());
                columns.pid.push(pid.map(|pid| pid as i32));
                columns.kernel.push(*is_kernel);
                columns.missing.push(reports.missing.get(&mapping).map(|missing| &*missing.reason));
            }
        }
        columns.batch()
    }
}

/// The path or name of the object of a mapping.
pub(super) fn object_name(map: &Map) -> &[u8] {
    if map.is_kernel() { b"[kernel.kallsyms]" } else { &map.filename }
}

/// The offset of an address in the object of its mapping. That in a kernel does not depend on where the kernel was loaded.
pub(super) fn offset(map: &Map, address: u64) -> u64 {
    match map.belongs_to_kernel() {
        true => address.wrapping_sub(map.start),
        false => map.address_in_object(address),
    }
}

/// The slot of a number in a table, which grows as needed.
fn slot<T>(table: &mut Vec<Option<T>>, number: u32) -> &mut Option<T> {
    let index = number as usize;
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    &mut table[index]
}
