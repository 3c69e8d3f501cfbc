//! Converts the dictionary of profiles to the tables of pprof, which has the same ones.

use super::attributes::{BUILD_ID, FRAME_TYPE, KERNEL_FRAME, label_key};
use super::proto::{AnyValue, KeyValue, ProfilesDictionary, ResourceProfiles, ValueType};
use crate::formats::pprof::proto;
use crate::profile::labels::Label;
use hashbrown::HashMap;

/// Strings of the resulting table.
struct StringTable {
    list: Vec<String>,
    /// Those that are not in the dictionary.
    added: HashMap<String, i64>,
}

impl StringTable {
    fn get(&self, index: i32) -> &str {
        usize::try_from(index).ok().and_then(|index| self.list.get(index)).map_or("", |text| text)
    }

    fn add(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&index) = self.added.get(text) {
            return index;
        }
        self.list.push(text.to_owned());
        let index = self.list.len() as i64 - 1;
        self.added.insert(text.to_owned(), index);
        index
    }
}

/// The tables of profiles.
pub(super) struct ConvertedTables {
    /// A profile with the tables and sample types, but without samples.
    pub profile: proto::Profile,
    /// The label of each attribute of samples; `None` for values that labels cannot have.
    pub labels: Vec<Option<proto::Label>>,
    /// The labels of each resource.
    pub resource_labels: Vec<Vec<proto::Label>>,
    /// Whether each location is in the kernel.
    pub is_kernel: Vec<bool>,
}

/// Converts the tables of profiles with these sample types.
pub(super) fn convert(
    dictionary: &ProfilesDictionary,
    types: &[ValueType],
    resources: &[ResourceProfiles],
) -> ConvertedTables {
    let list = match dictionary.string_table.is_empty() {
        true => vec![String::new()],
        false => dictionary.string_table.clone(),
    };
    let mut strings = StringTable { list, added: HashMap::new() };
    let labels = dictionary.attribute_table.iter().map(|attribute| {
        let key = strings.get(attribute.key_strindex).to_owned();
        convert_attribute(&key, attribute.value.as_ref()?, attribute.unit_strindex.into(), &mut strings)
    });
    let labels = labels.collect();
    // Only entries after the first have contents, which no index refers to.
    let mapping = (1..).zip(dictionary.mapping_table.iter().skip(1)).map(|(id, mapping)| {
        let attributes = mapping.attribute_indices.iter().filter_map(|&index| usize::try_from(index).ok());
        let mut attributes = attributes.filter_map(|index| dictionary.attribute_table.get(index));
        let build_id = attributes.find(|attribute| strings.get(attribute.key_strindex) == BUILD_ID);
        let build_id = build_id.and_then(|attribute| attribute.value.as_ref()?.string_value.as_deref());
        proto::Mapping {
            id,
            memory_start: mapping.memory_start,
            memory_limit: mapping.memory_limit,
            file_offset: mapping.file_offset,
            filename: mapping.filename_strindex.into(),
            build_id: build_id.map_or(0, |id| strings.add(id)),
            ..proto::Mapping::default()
        }
    });
    let mapping = mapping.collect();
    let function = (1..).zip(dictionary.function_table.iter().skip(1)).map(|(id, function)| proto::Function {
        id,
        name: function.name_strindex.into(),
        system_name: function.system_name_strindex.into(),
        filename: function.filename_strindex.into(),
        start_line: function.start_line,
    });
    let location = (1..).zip(&dictionary.location_table).map(|(id, location)| proto::Location {
        id,
        mapping_id: location.mapping_index as u64,
        address: location.address,
        line: location
            .lines
            .iter()
            .map(|line| proto::Line { function_id: line.function_index as u64, line: line.line, column: line.column })
            .collect(),
        ..proto::Location::default()
    });
    let is_kernel_frame = dictionary.attribute_table.iter().map(|attribute| {
        let value = attribute.value.as_ref().and_then(|value| value.string_value.as_deref());
        strings.get(attribute.key_strindex) == FRAME_TYPE && value == Some(KERNEL_FRAME)
    });
    let is_kernel_frame: Vec<_> = is_kernel_frame.collect();
    let has = |index: &i32| usize::try_from(*index).is_ok_and(|index| is_kernel_frame.get(index) == Some(&true));
    let is_kernel =
        dictionary.location_table.iter().map(|location| location.attribute_indices.iter().any(has)).collect();
    let sample_type = types.iter().map(convert_type).collect();
    let resource_labels = resource_labels(resources, &mut strings);
    let profile = proto::Profile {
        sample_type,
        mapping,
        function: function.collect(),
        location: location.collect(),
        string_table: strings.list,
        ..proto::Profile::default()
    };
    ConvertedTables { profile, labels, resource_labels, is_kernel }
}

/// A sample type.
pub(super) fn convert_type(kind: &ValueType) -> proto::ValueType {
    proto::ValueType { r#type: kind.type_strindex.into(), unit: kind.unit_strindex.into() }
}

/// The labels of each resource: those with a meaning here, and attributes that not all resources have, such as containers. Others, such
/// as the host's, describe all samples.
fn resource_labels(resources: &[ResourceProfiles], strings: &mut StringTable) -> Vec<Vec<proto::Label>> {
    fn attributes(profiles: &ResourceProfiles) -> &[KeyValue] {
        profiles.resource.as_ref().map_or(&[], |own| &own.attributes)
    }
    let mut numbers: HashMap<&KeyValue, usize> = HashMap::new();
    for attribute in resources.iter().flat_map(attributes) {
        *numbers.entry(attribute).or_default() += 1;
    }
    let is_label = |attribute: &&KeyValue| {
        Label::by_key(label_key(&attribute.key)).is_some() || numbers[attribute] < resources.len()
    };
    let mut convert = |attribute: &KeyValue| convert_attribute(&attribute.key, attribute.value.as_ref()?, 0, strings);
    resources.iter().map(|own| attributes(own).iter().filter(is_label).filter_map(&mut convert).collect()).collect()
}

fn convert_attribute(
    attribute: &str,
    value: &AnyValue,
    num_unit: i64,
    strings: &mut StringTable,
) -> Option<proto::Label> {
    let key = strings.add(label_key(attribute));
    match (&value.string_value, value.int_value) {
        (Some(text), _) => Some(proto::Label { key, str: strings.add(text), ..proto::Label::default() }),
        (None, Some(num)) => Some(proto::Label { key, num, num_unit, ..proto::Label::default() }),
        (None, None) => None,
    }
}
