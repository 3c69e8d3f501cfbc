//! The dictionary: tables that samples refer to. Each begins with an entry without contents, has no entry twice, and none that
//! nothing refers to.

use super::attributes;
use super::messages::{Messages, OtlpTable};
use super::proto::{AnyValue, Function, KeyValueAndUnit, Line, Link, Location, Mapping, Stack, ValueType};
use crate::formats::pprof::strings::Strings;
use crate::profile::imported::SampleType;
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::symbolize::symbols::Origin;
use crate::profile::{Frame, Place, Tables};
use hashbrown::HashMap;
use perf_data::abi::hex::to_hex;
use perf_data::session::map::Map;
use perf_data::session::names::{NameId, Names};
use perf_data::session::slices::Slices;

pub(crate) struct Dictionary<'a> {
    tables: &'a Tables,
    strings: Strings,
    /// Texts of attributes.
    texts: Names,
    attributes: Slices<Attribute>,
    /// Lists of attributes.
    attribute_lists: Slices<i32>,
    mappings: Slices<MappingEntry>,
    functions: Slices<Function>,
    /// Lists of lines.
    lines: Slices<Line>,
    locations: Slices<LocationEntry>,
    /// Lists of locations.
    stacks: Slices<i32>,
    /// Mappings by those of the recording, or of the imported profile.
    known_mappings: HashMap<(bool, u32), i32>,
    /// Locations of frames that are one by themselves; 0 if not yet used.
    known_locations: Vec<i32>,
    /// Stacks by those of the profile.
    known_stacks: HashMap<StackId, i32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Attribute {
    key: i32,
    value: AttributeValue,
    unit: i32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum AttributeValue {
    #[default]
    Nothing,
    Text(NameId),
    Number(i64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct MappingEntry {
    start: u64,
    limit: u64,
    offset: u64,
    filename: i32,
    /// Attribute of the build ID; 0 if it is unknown.
    build_id: i32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct LocationEntry {
    mapping: i32,
    address: u64,
    /// List of lines.
    lines: u32,
    /// Attribute of the type of the frame; 0 if it is unknown.
    kind: i32,
}

/// A table that begins with an entry without contents.
fn table<T: Copy + Eq + std::hash::Hash + Default>() -> Slices<T> {
    let mut table = Slices::default();
    table.id(&[T::default()]);
    table
}

/// Lists, the first of which is empty.
fn lists<T: Copy + Eq + std::hash::Hash>() -> Slices<T> {
    let mut lists = Slices::default();
    lists.id(&[]);
    lists
}

/// Sets a list of at most one index; 0 means none.
fn set_optional(list: &mut Vec<i32>, index: i32) {
    list.clear();
    list.extend((index != 0).then_some(index));
}

impl<'a> Dictionary<'a> {
    /// An empty dictionary for a profile with these tables.
    pub(crate) fn new(tables: &'a Tables) -> Self {
        Self {
            tables,
            strings: Strings::default(),
            texts: Names::default(),
            attributes: table(),
            attribute_lists: lists(),
            mappings: table(),
            functions: table(),
            lines: lists(),
            locations: table(),
            stacks: lists(),
            known_mappings: HashMap::new(),
            known_locations: vec![0; tables.stacks.frames().len()],
            known_stacks: HashMap::new(),
        }
    }

    /// The index of a string.
    fn string(&mut self, string: &[u8]) -> i32 {
        self.strings.id(&String::from_utf8_lossy(string)) as i32
    }

    /// The index of an attribute with a text.
    pub(crate) fn text(&mut self, key: &str, text: &[u8]) -> i32 {
        let value = AttributeValue::Text(self.texts.id(text));
        let key = self.string(key.as_bytes());
        self.attributes.id(&[Attribute { key, value, unit: 0 }]) as i32
    }

    /// The index of an attribute with a number.
    pub(crate) fn number(&mut self, key: &str, number: i64, unit: &str) -> i32 {
        let [key, unit] = [key, unit].map(|text| self.string(text.as_bytes()));
        self.attributes.id(&[Attribute { key, value: AttributeValue::Number(number), unit }]) as i32
    }

    /// The ID of a list of attributes.
    pub(crate) fn attribute_list_id(&mut self, list: &[i32]) -> u32 {
        self.attribute_lists.id(list)
    }

    /// A list of attributes.
    pub(crate) fn attribute_list(&self, id: u32) -> &[i32] {
        self.attribute_lists.get(id)
    }

    /// A sample type.
    pub(crate) fn value_type(&mut self, kind: &SampleType) -> ValueType {
        let [type_strindex, unit_strindex] = [&kind.kind, &kind.unit].map(|text| self.string(text.as_bytes()));
        ValueType { type_strindex, unit_strindex }
    }

    /// The index of a stack.
    pub(crate) fn stack(&mut self, id: StackId) -> i32 {
        if let Some(&index) = self.known_stacks.get(&id) {
            return index;
        }
        let mut rest = self.tables.stacks.stack(id);
        let mut locations = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let (location, callers) = rest.split_at(self.tables.symbols.location_len(rest));
            locations.push(self.location(location));
            rest = callers;
        }
        let index = self.stacks.id(&locations) as i32;
        self.known_stacks.insert(id, index);
        index
    }

    /// The index of a location. All its frames but the last are inlined.
    fn location(&mut self, frames: &[FrameId]) -> i32 {
        let Some((&last, inlined)) = frames.split_last() else { return 0 };
        let index = self.known_locations[last as usize];
        if inlined.is_empty() && index != 0 {
            return index;
        }
        let tables = self.tables;
        let frame = tables.stacks.frames()[last as usize];
        let (mapping, address) = match tables.symbols.origin(last) {
            Some(Origin { mapping, address }) => {
                (mapping.map(|mapping| (true, mapping, &tables.symbols.mappings()[mapping as usize])), address)
            }
            None => {
                (frame.mapping().map(|mapping| (false, mapping, &tables.mappings[mapping as usize])), frame.address)
            }
        };
        let mapping = mapping.map_or(0, |(is_imported, id, map)| self.mapping((is_imported, id), map));
        let lines = frames.iter().flat_map(|&frame| self.frame_lines(frame)).collect::<Vec<_>>();
        let entry = LocationEntry { mapping, address, lines: self.lines.id(&lines), kind: self.frame_type(frame) };
        let index = self.locations.id(&[entry]) as i32;
        if inlined.is_empty() {
            self.known_locations[last as usize] = index;
        }
        index
    }

    /// The lines of a frame, innermost function first; without a name of its function, none.
    fn frame_lines(&mut self, frame: FrameId) -> Vec<Line> {
        let symbols = &self.tables.symbols;
        let lines = symbols.frame_function(frame).map_or(&[][..], |_| symbols.lines(frame));
        let mut converted = Vec::with_capacity(lines.len());
        for line in lines {
            let Some(function) = symbols.function(line.function) else { continue };
            let mut text = |name| self.string(symbols.name(name));
            let function = Function {
                name_strindex: text(function.name),
                system_name_strindex: text(function.system_name),
                filename_strindex: text(function.file),
                start_line: function.start_line.max(0),
            };
            let function_index = self.functions.id(&[function]) as i32;
            converted.push(Line { function_index, line: line.line.max(0), column: line.column.max(0) });
        }
        converted
    }

    /// The attribute of the type of a frame; 0 for code that a process generated, and outside of mappings.
    fn frame_type(&mut self, frame: Frame) -> i32 {
        let kind: &[u8] = match frame.place {
            _ if self.tables.is_kernel_frame(frame) => attributes::KERNEL_FRAME.as_bytes(),
            Place::In(mapping) if self.tables.mappings[mapping as usize].pid.is_none() => b"native",
            _ => return 0,
        };
        self.text(attributes::FRAME_TYPE, kind)
    }

    /// The index of a mapping.
    fn mapping(&mut self, id: (bool, u32), map: &Map) -> i32 {
        if let Some(&index) = self.known_mappings.get(&id) {
            return index;
        }
        let build_id = map.build_id.as_deref().map(to_hex);
        let entry = MappingEntry {
            start: map.start,
            limit: map.limit,
            offset: map.pgoff,
            filename: self.string(&map.filename),
            build_id: build_id.map_or(0, |id| self.text(attributes::BUILD_ID, id.as_bytes())),
        };
        let index = self.mappings.id(&[entry]) as i32;
        self.known_mappings.insert(id, index);
        index
    }

    pub(crate) fn strings(&self) -> impl Iterator<Item = &[u8]> {
        self.strings.iter()
    }

    /// The links: none.
    pub(crate) fn links(&self) -> [Link; 1] {
        [Link {}]
    }

    pub(crate) fn attributes(&self) -> impl Messages<Message = KeyValueAndUnit> + '_ {
        let text = |text| String::from_utf8_lossy(self.texts.name(text)).into_owned();
        let value = move |value| match value {
            AttributeValue::Nothing => None,
            AttributeValue::Text(id) => Some(AnyValue { string_value: Some(text(id)), int_value: None }),
            AttributeValue::Number(number) => Some(AnyValue { string_value: None, int_value: Some(number) }),
        };
        OtlpTable::with_values(&self.attributes, move |attribute, message: &mut KeyValueAndUnit| {
            *message = KeyValueAndUnit {
                key_strindex: attribute.key,
                value: value(attribute.value),
                unit_strindex: attribute.unit,
            };
        })
    }

    pub(crate) fn mappings(&self) -> impl Messages<Message = Mapping> + '_ {
        OtlpTable::with_values(&self.mappings, |mapping, message: &mut Mapping| {
            message.memory_start = mapping.start;
            message.memory_limit = mapping.limit;
            message.file_offset = mapping.offset;
            message.filename_strindex = mapping.filename;
            set_optional(&mut message.attribute_indices, mapping.build_id);
        })
    }

    pub(crate) fn functions(&self) -> impl Messages<Message = Function> + '_ {
        OtlpTable::with_values(&self.functions, |function, message: &mut Function| *message = function)
    }

    pub(crate) fn locations(&self) -> impl Messages<Message = Location> + '_ {
        OtlpTable::with_values(&self.locations, |location, message: &mut Location| {
            message.mapping_index = location.mapping;
            message.address = location.address;
            message.lines.clear();
            message.lines.extend_from_slice(self.lines.get(location.lines));
            set_optional(&mut message.attribute_indices, location.kind);
        })
    }

    pub(crate) fn stacks(&self) -> impl Messages<Message = Stack> + '_ {
        OtlpTable::new(&self.stacks, |locations, message: &mut Stack| {
            message.location_indices.clear();
            message.location_indices.extend_from_slice(locations);
        })
    }
}
