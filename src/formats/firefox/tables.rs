//! Tables that all threads share: strings, functions, frames and stacks.

use super::libs;
use crate::profile::Tables;
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::report::location::{LocationId, Locations};
use hashbrown::HashMap;
use serde::Serialize;
use std::borrow::Cow;

/// Names and colors of the categories of frames.
pub(super) const CATEGORIES: [(&str, &str); 5] =
    [("User", "yellow"), ("Kernel", "orange"), ("JIT", "green"), ("Idle", "transparent"), ("Other", "grey")];

/// Indexes of [`CATEGORIES`].
mod category {
    pub(super) const USER: u32 = 0;
    pub(super) const KERNEL: u32 = 1;
    pub(super) const JIT: u32 = 2;
    pub(super) const IDLE: u32 = 3;
    pub(super) const OTHER: u32 = 4;
}

/// Category of markers.
pub(super) const OTHER: u32 = category::OTHER;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharedTables<'a> {
    string_array: Vec<String>,
    sources: Sources,
    func_table: Functions,
    frame_table: FrameColumns,
    stack_table: StackNodes,
    resource_table: Resources,
    native_symbols: NativeSymbols,
    #[serde(skip)]
    lookup: Lookup<'a>,
}

/// Finds the entries that the tables already have.
struct Lookup<'a> {
    tables: &'a Tables,
    locations: Locations,
    strings: HashMap<String, u32>,
    sources: HashMap<u32, u32>,
    functions: HashMap<(u32, i64, i64, Option<u32>), u32>,
    symbols: HashMap<(u32, i64, u32), u32>,
    /// By frame and whether it is of an idle thread: its first entry, which is that of the outermost function.
    frames: HashMap<(FrameId, bool), u32>,
    nodes: HashMap<(Option<u32>, u32), u32>,
    stacks: HashMap<(StackId, bool), Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sources {
    length: usize,
    id: Vec<()>,
    filename: Vec<u32>,
    /// Where the contents begin in the file: another line than the first is for scripts inside of pages.
    start_line: Vec<u32>,
    start_column: Vec<u32>,
    #[serde(rename = "sourceMapURL")]
    source_map_url: Vec<()>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Functions {
    length: usize,
    name: Vec<u32>,
    /// Not in the format: the full names of functions with short ones, for an import.
    #[serde(skip_serializing_if = "are_absent")]
    full_name: Vec<Option<u32>>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i64>,
    source: Vec<Option<u32>>,
    line_number: Vec<Option<i64>>,
    column_number: Vec<()>,
}

fn are_absent(names: &[Option<u32>]) -> bool {
    names.iter().all(Option::is_none)
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameColumns {
    length: usize,
    address: Vec<i64>,
    inline_depth: Vec<u32>,
    category: Vec<u32>,
    subcategory: Vec<u32>,
    func: Vec<u32>,
    native_symbol: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<u32>,
    line: Vec<Option<i64>>,
    column: Vec<()>,
}

#[derive(Default, Serialize)]
struct StackNodes {
    length: usize,
    frame: Vec<u32>,
    prefix: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
struct Resources {
    length: usize,
    #[serde(rename = "type")]
    kind: Vec<u32>,
    lib: Vec<u32>,
    name: Vec<u32>,
    host: Vec<()>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct NativeSymbols {
    length: usize,
    lib_index: Vec<u32>,
    address: Vec<i64>,
    name: Vec<u32>,
    function_size: Vec<()>,
}

impl<'a> SharedTables<'a> {
    /// Tables without functions and stacks. Each mapping is a library, with a resource of the same index.
    pub(super) fn new(tables: &'a Tables) -> Self {
        let mut shared = Self {
            string_array: Vec::new(),
            sources: Sources::default(),
            func_table: Functions::default(),
            frame_table: FrameColumns::default(),
            stack_table: StackNodes::default(),
            resource_table: Resources::default(),
            native_symbols: NativeSymbols::default(),
            lookup: Lookup {
                tables,
                locations: Locations::with_names(tables, tables.function_names),
                strings: HashMap::new(),
                sources: HashMap::new(),
                functions: HashMap::new(),
                symbols: HashMap::new(),
                frames: HashMap::new(),
                nodes: HashMap::new(),
                stacks: HashMap::new(),
            },
        };
        const LIBRARY: u32 = 1;
        for (index, map) in (0..).zip(&tables.mappings) {
            let name = shared.string(Cow::Owned(libs::name(map)));
            let Resources { length, kind, lib, name: names, host } = &mut shared.resource_table;
            *length += 1;
            kind.push(LIBRARY);
            lib.push(index);
            names.push(name);
            host.push(());
        }
        shared
    }

    /// The index of a string.
    pub(super) fn string(&mut self, text: Cow<'_, str>) -> u32 {
        if let Some(&index) = self.lookup.strings.get(&*text) {
            return index;
        }
        let index = self.string_array.len() as u32;
        self.string_array.push(text.clone().into_owned());
        self.lookup.strings.insert(text.into_owned(), index);
        index
    }

    /// The index of a stack; `None` if it is empty.
    pub(super) fn stack(&mut self, stack: StackId, is_idle: bool) -> Option<u32> {
        if let Some(&node) = self.lookup.stacks.get(&(stack, is_idle)) {
            return node;
        }
        let tables = self.lookup.tables;
        let mut node = None;
        for &frame in tables.stacks.stack(stack).iter().rev() {
            let first = self.frame(frame, is_idle);
            let count = self.lookup.locations.frame_locations(frame).len() as u32;
            for entry in first..first + count {
                let StackNodes { length, frame, prefix } = &mut self.stack_table;
                let index = *self.lookup.nodes.entry((node, entry)).or_insert_with(|| {
                    frame.push(entry);
                    prefix.push(node);
                    *length += 1;
                    *length as u32 - 1
                });
                node = Some(index);
            }
        }
        self.lookup.stacks.insert((stack, is_idle), node);
        node
    }

    /// The first entry of a frame: one for each function at its address, outermost first.
    fn frame(&mut self, id: FrameId, is_idle: bool) -> u32 {
        if let Some(&first) = self.lookup.frames.get(&(id, is_idle)) {
            return first;
        }
        let tables = self.lookup.tables;
        let frame = tables.stacks.frames()[id as usize];
        let map = frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
        let category = match map {
            _ if is_idle => category::IDLE,
            _ if tables.is_kernel_frame(frame) => category::KERNEL,
            Some(map) if map.pid.is_some() => category::JIT,
            _ => category::USER,
        };
        let relative = map.map(|map| {
            if map.belongs_to_kernel() {
                frame.address.wrapping_sub(map.start)
            } else {
                map.address_in_object(frame.address)
            }
        });
        let address = relative.and_then(|address| u32::try_from(address).ok()).map_or(-1, i64::from);
        let native_symbol = self.native_symbol(id, address);
        let first = self.frame_table.length as u32;
        let locations: Vec<LocationId> = self.lookup.locations.frame_locations(id).to_vec();
        for (depth, &location) in (0..).zip(locations.iter().rev()) {
            let func = self.function(location, address, frame.mapping());
            let line = self.lookup.locations.get(location).line;
            let table = &mut self.frame_table;
            table.length += 1;
            table.address.push(address);
            table.inline_depth.push(depth);
            table.category.push(category);
            table.subcategory.push(0);
            table.func.push(func);
            table.native_symbol.push(native_symbol);
            table.inner_window_id.push(0);
            table.line.push(Some(line).filter(|&line| line > 0));
            table.column.push(());
        }
        self.lookup.frames.insert((id, is_idle), first);
        first
    }

    fn native_symbol(&mut self, frame: FrameId, address: i64) -> Option<u32> {
        let Lookup { tables, .. } = self.lookup;
        let mapping = tables.stacks.frames()[frame as usize].mapping()?;
        let start = address.checked_sub(tables.symbols.symbol_offset(frame)?).filter(|&start| start >= 0)?;
        let name = tables.symbols.name(tables.symbols.frame_function(frame)?.name);
        let name = self.string(String::from_utf8_lossy(name));
        let NativeSymbols { length, lib_index, address, name: names, function_size } = &mut self.native_symbols;
        Some(*self.lookup.symbols.entry((mapping, start, name)).or_insert_with(|| {
            *length += 1;
            lib_index.push(mapping);
            address.push(start);
            names.push(name);
            function_size.push(());
            *length as u32 - 1
        }))
    }

    /// A function. One without a name is named by its address, which symbol servers replace.
    fn function(&mut self, location: LocationId, address: i64, mapping: Option<u32>) -> u32 {
        let location = *self.lookup.locations.get(location);
        let full_name = match location.is_named || address < 0 {
            true => self.lookup.locations.text(location.function).into_owned(),
            false => format!("{address:#x}"),
        };
        let name = match location.is_named {
            true => self.lookup.locations.function_name(location.function).into_owned(),
            false => full_name.clone(),
        };
        let (name, full_name) = (self.string(Cow::Owned(name)), self.string(Cow::Owned(full_name)));
        let file = self.lookup.locations.text(location.file).into_owned();
        let source = (!file.is_empty()).then(|| {
            let file = self.string(Cow::Owned(file));
            let table = &mut self.sources;
            *self.lookup.sources.entry(file).or_insert_with(|| {
                table.length += 1;
                table.id.push(());
                table.filename.push(file);
                table.start_line.push(1);
                table.start_column.push(1);
                table.source_map_url.push(());
                table.length as u32 - 1
            })
        });
        let resource = mapping.map_or(-1, i64::from);
        let table = &mut self.func_table;
        *self.lookup.functions.entry((full_name, resource, location.start_line, source)).or_insert_with(|| {
            table.length += 1;
            table.name.push(name);
            table.full_name.push((full_name != name).then_some(full_name));
            table.is_js.push(false);
            table.relevant_for_js.push(false);
            table.resource.push(resource);
            table.source.push(source);
            table.line_number.push(Some(location.start_line).filter(|&line| line > 0));
            table.column_number.push(());
            table.length as u32 - 1
        })
    }
}
