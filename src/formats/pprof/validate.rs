//! Validates a profile by the rules of pprof's own check.

use super::proto::{Label, Profile};
use hashbrown::HashMap;

/// Indexes of messages by ID.
#[derive(Debug, Default)]
pub(in crate::formats) struct Ids {
    pub mappings: HashMap<u64, usize>,
    pub locations: HashMap<u64, usize>,
    pub functions: HashMap<u64, usize>,
}

/// Validates a profile.
///
/// # Errors
/// The first violation of a rule.
pub(in crate::formats) fn check(profile: &Profile) -> Result<Ids, String> {
    if profile.string_table.first().is_some_and(|first| !first.is_empty()) {
        return Err("string 0 is not empty".to_owned());
    }
    if profile.sample_type.is_empty() && !profile.sample.is_empty() {
        return Err("it has samples but no sample types".to_owned());
    }
    let ids = Ids {
        mappings: unique("mapping", profile.mapping.iter().map(|mapping| mapping.id))?,
        locations: unique("location", profile.location.iter().map(|location| location.id))?,
        functions: unique("function", profile.function.iter().map(|function| function.id))?,
    };
    strings(profile)?;
    for location in &profile.location {
        let id = location.id;
        if location.mapping_id != 0 && !ids.mappings.contains_key(&location.mapping_id) {
            return Err(format!("location {id} refers to missing mapping {}", location.mapping_id));
        }
        let unknown = location.line.iter().map(|line| line.function_id);
        if let Some(function) = unknown.into_iter().find(|id| *id != 0 && !ids.functions.contains_key(id)) {
            return Err(format!("location {id} refers to missing function {function}"));
        }
    }
    for (number, sample) in profile.sample.iter().enumerate() {
        let (values, types) = (sample.value.len(), profile.sample_type.len());
        if values != types {
            return Err(format!("sample {number} has {values} values; expected {types}, one per sample type"));
        }
        if let Some(id) = sample.location_id.iter().find(|id| !ids.locations.contains_key(*id)) {
            return Err(format!("sample {number} refers to missing location {id}"));
        }
        if sample.label.iter().any(|label| label.str != 0 && label.num != 0) {
            return Err(format!("sample {number} has a label with both a number and a string"));
        }
    }
    Ok(ids)
}

fn unique(kind: &str, ids: impl Iterator<Item = u64>) -> Result<HashMap<u64, usize>, String> {
    let mut indexes = HashMap::new();
    for (index, id) in ids.enumerate() {
        if id == 0 {
            return Err(format!("{kind} {index} (counting from 0) has ID 0"));
        }
        if indexes.insert(id, index).is_some() {
            return Err(format!("duplicate {kind} ID {id}"));
        }
    }
    Ok(indexes)
}

/// Checks that all strings referred to exist.
fn strings(profile: &Profile) -> Result<(), String> {
    let end = profile.string_table.len().max(1) as i64;
    let check = |referrer: &str, list: &[i64]| match list.iter().find(|index| !(0..end).contains(*index)) {
        Some(index) => Err(format!("{referrer} refers to string {index}; the table has {end}")),
        None => Ok(()),
    };
    for kind in profile.sample_type.iter().chain(&profile.period_type) {
        check("a sample type", &[kind.r#type, kind.unit])?;
    }
    for mapping in &profile.mapping {
        check("a mapping", &[mapping.filename, mapping.build_id])?;
    }
    for function in &profile.function {
        check("a function", &[function.name, function.system_name, function.filename])?;
    }
    for Label { key, str, num_unit, .. } in profile.sample.iter().flat_map(|sample| &sample.label) {
        check("a label", &[*key, *str, *num_unit])?;
    }
    check("a comment", &profile.comment)?;
    let Profile { drop_frames, keep_frames, default_sample_type, doc_url, .. } = *profile;
    check("the profile", &[drop_frames, keep_frames, default_sample_type, doc_url])
}
