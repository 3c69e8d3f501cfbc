//! Converts profiles of version 1.7, whose samples have ranges of locations, to the current form.

use super::proto::{
    Function, KeyValueAndUnit, Line, Location, Mapping, Profile, ProfilesData, ProfilesDictionary, ResourceProfiles,
    Sample, ScopeProfiles, Stack, v1_7,
};
use crate::formats::import::MAX_PARTS;
use hashbrown::HashMap;
use perf_data::session::slices::Slices;

/// What version 1.6 and earlier ones lack.
pub(super) const NO_DICTIONARY: &str = "it is of version 1.6 of the protocol or earlier; versions from 1.7 are read";

/// Converts profiles, if their stacks have at most `max_frames` frames in total.
///
/// # Errors
/// If they have more, or if a range is not in its list.
pub(super) fn convert(data: v1_7::ProfilesData, max_frames: usize) -> Result<ProfilesData, String> {
    let tables = data.dictionary.ok_or(NO_DICTIONARY)?;
    let mut stacks = StackTable { list: Slices::default(), max_frames };
    stacks.list.id(&[]);
    let mut values = 0;
    let mut resource_profiles = Vec::new();
    for v1_7::ResourceProfiles { resource, scope_profiles } in data.resource_profiles {
        let mut profiles = Vec::new();
        for profile in scope_profiles.iter().flat_map(|scope| &scope.profiles) {
            convert_profile(profile, &mut stacks, &mut values, &mut profiles)?;
        }
        let scope_profiles = vec![ScopeProfiles { profiles, ..ScopeProfiles::default() }];
        resource_profiles.push(ResourceProfiles { resource, scope_profiles, ..ResourceProfiles::default() });
    }
    Ok(ProfilesData { resource_profiles, dictionary: Some(dictionary(tables, &stacks.list)) })
}

struct StackTable {
    /// Locations by the index of the stack: profiles may share stacks, but not their ranges.
    list: Slices<i32>,
    max_frames: usize,
}

/// Appends a profile for each sample type, and counts the values.
fn convert_profile(
    profile: &v1_7::Profile,
    stacks: &mut StackTable,
    values: &mut usize,
    out: &mut Vec<Profile>,
) -> Result<(), String> {
    let mut by_range = HashMap::new();
    let mut indexes = Vec::with_capacity(profile.sample.len());
    for sample in &profile.sample {
        // Each value has all times of its sample.
        *values += sample.value.len().min(profile.sample_type.len()) * sample.timestamps_unix_nano.len().max(1);
        if *values > MAX_PARTS {
            return Err(format!("it has more than {MAX_PARTS} values"));
        }
        let range = (sample.locations_start_index, sample.locations_length);
        let index = match by_range.get(&range) {
            Some(&index) => index,
            None => {
                let index = stacks.add(&profile.location_indices, range)?;
                by_range.insert(range, index);
                index
            }
        };
        indexes.push(index);
    }
    for (column, kind) in profile.sample_type.iter().enumerate() {
        let samples = profile.sample.iter().zip(&indexes).filter_map(|(sample, &stack_index)| {
            let times = &sample.timestamps_unix_nano;
            let value = *sample.value.get(column)?;
            Some(Sample {
                stack_index,
                attribute_indices: sample.attribute_indices.clone(),
                values: shares(value, times.len()),
                timestamps_unix_nano: times.clone(),
            })
        });
        out.push(Profile {
            sample_type: Some(*kind),
            samples: samples.collect(),
            time_unix_nano: profile.time_nanos.try_into().unwrap_or(0),
            duration_nano: profile.duration_nanos.try_into().unwrap_or(0),
            period_type: profile.period_type,
            period: profile.period,
        });
    }
    Ok(())
}

/// The value of each of several times: a sample has one for all of them.
fn shares(value: i64, times: usize) -> Vec<i64> {
    let parts = times.max(1) as i64;
    let rest = value % parts;
    (0..parts).map(|part| value / parts + if part < rest.abs() { rest.signum() } else { 0 }).collect()
}

impl StackTable {
    /// The index of the stack with a range of locations.
    fn add(&mut self, locations: &[i32], (start, len): (i32, i32)) -> Result<i32, String> {
        if len == 0 {
            return Ok(0);
        }
        let range = usize::try_from(start).ok().zip(usize::try_from(len).ok());
        let range = range.and_then(|(start, len)| locations.get(start..start.checked_add(len)?));
        let range =
            range.ok_or_else(|| format!("a sample has {len} locations from {start}, of {}", locations.len()))?;
        let index = self.list.id(range);
        if self.list.elements() > self.max_frames {
            return Err(format!("its stacks have more than {} frames in total", self.max_frames));
        }
        i32::try_from(index).map_err(|_| "it has too many stacks".to_owned())
    }
}

/// The tables, in which index 0 of mappings and functions means none.
fn dictionary(tables: v1_7::ProfilesDictionary, stacks: &Slices<i32>) -> ProfilesDictionary {
    let mut string_table = tables.string_table;
    let units: HashMap<i32, i32> =
        tables.attribute_units.iter().map(|unit| (unit.attribute_key_strindex, unit.unit_strindex)).collect();
    let mut keys: HashMap<String, i32> = HashMap::new();
    for (index, string) in (0..).zip(&string_table) {
        keys.entry(string.clone()).or_insert(index);
    }
    let attribute_table = tables.attribute_table.into_iter().map(|attribute| {
        let key_strindex = *keys.entry(attribute.key).or_insert_with_key(|key| {
            string_table.push(key.clone());
            string_table.len() as i32 - 1
        });
        KeyValueAndUnit {
            key_strindex,
            value: attribute.value,
            unit_strindex: units.get(&key_strindex).copied().unwrap_or(0),
        }
    });
    let attribute_table = attribute_table.collect();
    // async-profiler has one mapping without contents.
    let is_mapping =
        |index: i32| tables.mapping_table.get(index as usize).is_some_and(|mapping| *mapping != Mapping::default());
    let location = |location: v1_7::Location| Location {
        mapping_index: location
            .mapping_index
            .filter(|&index| is_mapping(index))
            .map_or(0, |index| index.saturating_add(1)),
        address: location.address,
        lines: location.line.into_iter().map(line).collect(),
        attribute_indices: location.attribute_indices,
    };
    let location_table = tables.location_table.into_iter().map(location).collect();
    ProfilesDictionary {
        mapping_table: [Mapping::default()].into_iter().chain(tables.mapping_table).collect(),
        location_table,
        function_table: [Function::default()].into_iter().chain(tables.function_table).collect(),
        link_table: Vec::new(),
        string_table,
        attribute_table,
        stack_table: stacks.iter().map(|stack| Stack { location_indices: stack.to_vec() }).collect(),
    }
}

fn line(line: Line) -> Line {
    Line { function_index: line.function_index.saturating_add(1), ..line }
}

#[cfg(test)]
mod tests {
    use super::super::proto::ValueType;
    use super::*;

    #[test]
    fn values_are_shared_by_times() {
        assert_eq!(
            [shares(7, 0), shares(7, 3), shares(2, 2), shares(-5, 2)],
            [vec![7], vec![3, 2, 2], vec![1, 1], vec![-3, -2]]
        );
    }

    #[test]
    fn ranges_become_stacks_of_limited_size() {
        let sample = |start, len, value: &[i64]| v1_7::Sample {
            locations_start_index: start,
            locations_length: len,
            value: value.to_vec(),
            ..v1_7::Sample::default()
        };
        let data = |samples: &[v1_7::Sample]| v1_7::ProfilesData {
            resource_profiles: vec![v1_7::ResourceProfiles {
                scope_profiles: vec![v1_7::ScopeProfiles {
                    profiles: vec![v1_7::Profile {
                        sample_type: vec![ValueType::default(); 2],
                        sample: samples.to_vec(),
                        location_indices: vec![0, 1, 2],
                        ..v1_7::Profile::default()
                    }],
                }],
                ..v1_7::ResourceProfiles::default()
            }],
            dictionary: Some(v1_7::ProfilesDictionary::default()),
        };
        let samples = [sample(1, 2, &[3, 30]), sample(0, 0, &[1, 10]), sample(1, 2, &[4, 40])];
        let converted = convert(data(&samples), 2).unwrap();
        let profiles = &converted.resource_profiles[0].scope_profiles[0].profiles;
        let values = |profile: &Profile| {
            profile.samples.iter().map(|sample| (sample.stack_index, sample.values[0])).collect::<Vec<_>>()
        };
        assert_eq!([&profiles[0], &profiles[1]].map(values), [[(1, 3), (0, 1), (1, 4)], [(1, 30), (0, 10), (1, 40)]]);
        assert_eq!(converted.dictionary.unwrap().stack_table[1].location_indices, [1, 2]);
        assert!(convert(data(&[sample(0, 3, &[1])]), 2).unwrap_err().contains("more than 2 frames"));
        assert!(convert(data(&[sample(2, 2, &[1])]), 9).unwrap_err().contains("2 locations from 2, of 3"));
        assert!(convert(data(&[sample(-1, 1, &[1])]), 9).is_err() && convert(data(&[sample(0, -1, &[1])]), 9).is_err());
    }
}
