//! Converts the dictionary of profiles to the tables of pprof, which has the same ones.

use super::attributes::{BUILD_ID, label_key};
use super::proto::{KeyValueAndUnit, ProfilesDictionary, ValueType};
use crate::formats::pprof::proto;
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

/// A profile with these tables and sample types, and the label of each attribute; `None` for values that labels cannot have.
pub(super) fn convert(
    dictionary: &ProfilesDictionary,
    types: &[ValueType],
) -> (proto::Profile, Vec<Option<proto::Label>>) {
    let list = match dictionary.string_table.is_empty() {
        true => vec![String::new()],
        false => dictionary.string_table.clone(),
    };
    let mut strings = StringTable { list, added: HashMap::new() };
    let labels: Vec<_> =
        dictionary.attribute_table.iter().map(|attribute| convert_attribute(attribute, &mut strings)).collect();
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
    let sample_type = types.iter().map(convert_type).collect();
    let profile = proto::Profile {
        sample_type,
        mapping,
        function: function.collect(),
        location: location.collect(),
        string_table: strings.list,
        ..proto::Profile::default()
    };
    (profile, labels)
}

/// A sample type.
pub(super) fn convert_type(kind: &ValueType) -> proto::ValueType {
    proto::ValueType { r#type: kind.type_strindex.into(), unit: kind.unit_strindex.into() }
}

fn convert_attribute(attribute: &KeyValueAndUnit, strings: &mut StringTable) -> Option<proto::Label> {
    let value = attribute.value.as_ref()?;
    let attribute_key = strings.get(attribute.key_strindex).to_owned();
    let label = label_key(&attribute_key);
    let key = if label == attribute_key { attribute.key_strindex.into() } else { strings.add(label) };
    match (&value.string_value, value.int_value) {
        (Some(text), _) => Some(proto::Label { key, str: strings.add(text), ..proto::Label::default() }),
        (None, Some(num)) => {
            Some(proto::Label { key, num, num_unit: attribute.unit_strindex.into(), ..proto::Label::default() })
        }
        (None, None) => None,
    }
}
