//! Imports profiles of OpenTelemetry as recordings.
//!
//! The tables are those of pprof and converted as such. Each sample type is in a profile of its own, so that numbers of samples and the
//! sums of their values are joined by stack, attributes and time.

use super::location_ranges::{self, NO_DICTIONARY};
use super::proto::{Profile, ProfilesData, ProfilesDictionary, Sample, ValueType, v1_7};
use super::tables::{self, ConvertedTables};
use super::version::{SampleLayout, with_values_last};
use crate::formats::import::json_document::parse;
use crate::formats::import::source::{SourceProfile, SourceSample};
use crate::formats::import::{
    ImportOptions, ImportedRecording, MAX_FRAMES, MAX_PARTS, max_total_frames, read_all, record,
};
use crate::formats::pprof::import::{PprofReader, ValueColumn, check_event_names, undecodable};
use crate::formats::pprof::parts::{Nested, count};
use crate::formats::pprof::{proto, validate};
use hashbrown::{HashMap, HashSet};
use perf_data::error::{Error, Result};
use perf_data::session::slices::Slices;
use prost::Message;
use std::io::Read;

/// Resources, scopes and their profiles; locations in the dictionary.
const NESTED: &[Nested] =
    &[Nested(1, &[Nested(1, &[]), Nested(2, &[Nested(2, &[Nested(2, &[])])])]), Nested(2, &[Nested(2, &[])])];

/// Converts profiles in protobuf to a recording.
///
/// # Errors
/// If the input is not valid, or exceeds a limit.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read_all(stream, name)?;
    let invalid = |error| invalid(name, &undecodable(&error));
    check_parts(count(&bytes, NESTED).map_err(invalid)?, name)?;
    let layout = SampleLayout::detect(&bytes);
    let data = match layout {
        SampleLayout::Current => ProfilesData::decode(&*bytes).map_err(invalid)?,
        SampleLayout::ValuesFirst => ProfilesData::decode(&*with_values_last(&bytes)).map_err(invalid)?,
        SampleLayout::LocationRanges => {
            // Version 1.6 has tables where later ones have the dictionary.
            let data = v1_7::ProfilesData::decode(&*bytes).map_err(|_| self::invalid(name, NO_DICTIONARY))?;
            with_stacks(data, bytes.len(), name)?
        }
    };
    import_data(&data, bytes.len(), name, options)
}

/// Converts profiles in JSON to a recording.
///
/// # Errors
/// As [`import`].
pub fn import_json(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read_all(stream, name)?;
    // Each message begins with a brace.
    check_parts(memchr::memchr_iter(b'{', &bytes).count(), name)?;
    let has = |key: &str| memchr::memmem::find(&bytes, key.as_bytes()).is_some();
    // Other versions have the same names.
    let data = if has("\"locationIndices\"") && !has("\"stackTable\"") {
        with_stacks(parse(&bytes, name)?, bytes.len(), name)?
    } else {
        parse(&bytes, name)?
    };
    import_data(&data, bytes.len(), name, options)
}

/// Profiles of version 1.7 in the current form.
fn with_stacks(data: v1_7::ProfilesData, size: usize, name: &str) -> Result<ProfilesData> {
    location_ranges::convert(data, max_total_frames(size)).map_err(|problem| invalid(name, &problem))
}

fn invalid(name: &str, problem: &str) -> Error {
    Error::input(name, None, format!("not valid OpenTelemetry profiles: {problem}"))
}

fn check_parts(parts: usize, name: &str) -> Result<()> {
    let problem = || format!("it has {parts} messages and strings; at most {MAX_PARTS} are supported");
    if parts > MAX_PARTS { Err(Error::input(name, None, problem())) } else { Ok(()) }
}

fn import_data(data: &ProfilesData, size: usize, name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let max_names = options.read.limits.about;
    let profile = source_profile(data, size, max_total_frames(size), max_names);
    record(name, profile.map_err(|problem| invalid(name, &problem))?, options)
}

/// The profiles of all resources.
fn profiles(data: &ProfilesData) -> impl Iterator<Item = (usize, &Profile)> {
    let resources = data.resource_profiles.iter().enumerate();
    let scopes =
        resources.flat_map(|(resource, profiles)| profiles.scope_profiles.iter().map(move |scope| (resource, scope)));
    scopes.flat_map(|(resource, scope)| scope.profiles.iter().map(move |profile| (resource, profile)))
}

/// Decodes profiles, if their stacks have at most `max_frames` frames in total.
fn source_profile(
    data: &ProfilesData,
    input_size: usize,
    max_frames: usize,
    max_names: u64,
) -> std::result::Result<SourceProfile, String> {
    let empty = ProfilesDictionary::default();
    let dictionary = data.dictionary.as_ref().unwrap_or(&empty);
    let (mut types, mut columns) = (Vec::<ValueType>::new(), HashMap::new());
    for (_, profile) in profiles(data) {
        let kind = profile.sample_type.unwrap_or_default();
        columns.entry((kind.type_strindex, kind.unit_strindex)).or_insert_with(|| {
            types.push(kind);
            types.len() - 1
        });
    }
    if types.is_empty() {
        return Err("it has no profiles".to_owned());
    }
    let ConvertedTables { mut profile, labels, resource_labels, is_kernel } =
        tables::convert(dictionary, &types, &data.resource_profiles);
    set_head(&mut profile, data);
    let ids = validate::check(&profile)?;
    check_event_names(&profile, max_names)?;
    let mut reader = PprofReader::new(&profile, &ids, input_size);
    let events = reader.events(types.len() == 2 && have_same_samples(data, &columns));
    reader.mappings();
    let locations = profile.location.iter().zip(is_kernel);
    let locations = locations.map(|(location, is_kernel)| reader.location_frames(location, is_kernel)).collect();
    let mut samples = SampleReader {
        reader,
        dictionary,
        labels,
        resource_labels,
        locations,
        stacks: vec![None; dictionary.stack_table.len()],
        attribute_sets: HashMap::new(),
        attribute_lists: Slices::default(),
        max_frames,
        negative: 0,
        repeated: 0,
        omitted: 0,
    };
    samples.read(data, &columns, &events)?;
    let SampleReader { mut reader, negative, repeated, omitted, .. } = samples;
    reader.head(negative, repeated);
    if omitted > 0 {
        reader.built.lost.push(format!("{omitted} attributes that are neither texts nor integers are omitted"));
    }
    Ok(reader.built)
}

/// Whether two sample types have values of the same samples, as numbers of samples and CPU time do. On-CPU samples and times off the CPU
/// are of different ones.
fn have_same_samples(data: &ProfilesData, columns: &HashMap<(i32, i32), usize>) -> bool {
    let mut samples = [(); 2].map(|()| HashSet::new());
    for (resource, profile) in profiles(data) {
        let own = &mut samples[column(columns, profile)];
        own.extend(
            profile
                .samples
                .iter()
                .map(|sample| (resource, sample.stack_index, &sample.attribute_indices, &sample.timestamps_unix_nano)),
        );
    }
    samples[0] == samples[1]
}

/// The sample type of a profile.
fn column(columns: &HashMap<(i32, i32), usize>, profile: &Profile) -> usize {
    let kind = profile.sample_type.unwrap_or_default();
    columns[&(kind.type_strindex, kind.unit_strindex)]
}

/// Sets times and period to those of all profiles.
fn set_head(profile: &mut proto::Profile, data: &ProfilesData) {
    let starts = || profiles(data).map(|(_, profile)| profile.time_unix_nano).filter(|&time| time > 0);
    let ends = profiles(data).map(|(_, profile)| profile.time_unix_nano.saturating_add(profile.duration_nano));
    let start = starts().min().unwrap_or(0);
    profile.time_nanos = i64::try_from(start).unwrap_or(0);
    let duration = ends.max().unwrap_or(0).saturating_sub(start);
    profile.duration_nanos = i64::try_from(duration).unwrap_or(0);
    if let Some((kind, period)) =
        profiles(data).find_map(|(_, profile)| Some((profile.period_type.as_ref()?, profile.period)))
    {
        (profile.period_type, profile.period) = (Some(tables::convert_type(kind)), period);
    }
}

/// What makes equal samples of profiles one: resource, event, stack, list of attributes, time, and which of several such samples it is.
type SampleKey = (usize, u32, i32, u32, Option<u64>, u32);

/// Samples with a number of samples that is not yet joined with its value.
type Counts = HashMap<SampleKey, u64>;

struct SampleReader<'a> {
    reader: PprofReader<'a>,
    dictionary: &'a ProfilesDictionary,
    /// Labels by attribute.
    labels: Vec<Option<proto::Label>>,
    /// Labels of the samples of each resource.
    resource_labels: Vec<Vec<proto::Label>>,
    /// Frames by location.
    locations: Vec<Vec<u32>>,
    /// Stacks of the result.
    stacks: Vec<Option<u32>>,
    /// Samples with the labels of each resource and list of attributes, and nothing else.
    attribute_sets: HashMap<(usize, u32), SourceSample>,
    attribute_lists: Slices<i32>,
    max_frames: usize,
    negative: u64,
    repeated: u64,
    omitted: u64,
}

impl SampleReader<'_> {
    fn read(
        &mut self,
        data: &ProfilesData,
        columns: &HashMap<(i32, i32), usize>,
        events: &[ValueColumn],
    ) -> std::result::Result<(), String> {
        let mut counts = Counts::new();
        for (resource, profile) in profiles(data) {
            let own = column(columns, profile);
            let Some(event) = events.iter().find(|event| event.count == Some(own)) else { continue };
            self.each_value(resource, event.event, profile, |_, key, count| {
                counts.insert(key, count);
                Ok(())
            })?;
        }
        for (resource, profile) in profiles(data) {
            let own = column(columns, profile);
            let Some(event) = events.iter().find(|event| event.value == own) else { continue };
            self.each_value(resource, event.event, profile, |reader, key, value| {
                let count = counts.remove(&key);
                reader.add(key, count, value)
            })?;
        }
        let mut rest: Vec<_> = counts.into_iter().collect();
        rest.sort_unstable();
        rest.into_iter().try_for_each(|(key, count)| self.add(key, Some(count), 0))
    }

    /// Calls a function with each value of a profile.
    fn each_value(
        &mut self,
        resource: usize,
        event: u32,
        profile: &Profile,
        mut each: impl FnMut(&mut Self, SampleKey, u64) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let mut seen: HashMap<(i32, u32, Option<u64>), u32> = HashMap::new();
        for (number, sample) in profile.samples.iter().enumerate() {
            let Sample { values, timestamps_unix_nano: times, .. } = sample;
            if !times.is_empty() && !values.is_empty() && times.len() != values.len() {
                let (values, times) = (values.len(), times.len());
                return Err(format!("sample {number} has {values} values, but {times} times"));
            }
            let attributes = self.attribute_lists.id(&sample.attribute_indices);
            // Without values, each time stands for one.
            for index in 0..times.len().max(values.len()) {
                let time = times.get(index).copied();
                let value = values.get(index).copied().unwrap_or(1);
                let Ok(value) = u64::try_from(value) else {
                    self.negative += 1;
                    continue;
                };
                let nth = seen.entry((sample.stack_index, attributes, time)).or_default();
                let key = (resource, event, sample.stack_index, attributes, time, *nth);
                *nth += 1;
                each(self, key, value)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, key: SampleKey, count: Option<u64>, value: u64) -> std::result::Result<(), String> {
        let (resource, event, stack, attributes, time, _) = key;
        let stack = self.stack(stack)?;
        let sample = self.attributes(resource, attributes)?;
        if value > 0 || count.is_some_and(|count| count > 0) {
            let time = time.or(sample.time);
            self.reader.built.samples.push(SourceSample { event, stack, time, count, value, ..sample });
        }
        Ok(())
    }

    /// The stack of an index.
    fn stack(&mut self, index: i32) -> std::result::Result<u32, String> {
        let table = &self.dictionary.stack_table;
        let entry = usize::try_from(index).ok().and_then(|index| Some((index, table.get(index)?)));
        let Some((index, stack)) = entry else {
            return if index == 0 { Ok(self.reader.built.stacks.id(&[])) } else { Err(missing("stack", index)) };
        };
        if let Some(id) = self.stacks[index] {
            return Ok(id);
        }
        let mut frames = Vec::new();
        for &location in &stack.location_indices {
            let own = usize::try_from(location).ok().and_then(|location| self.locations.get(location));
            frames.extend_from_slice(own.ok_or_else(|| missing("location", location))?);
            if frames.len() >= MAX_FRAMES {
                frames.truncate(MAX_FRAMES);
                break;
            }
        }
        let stacks = &mut self.reader.built.stacks;
        let id = stacks.id(&frames);
        if stacks.elements() > self.max_frames {
            return Err(format!("its stacks have more than {} frames in total", self.max_frames));
        }
        self.stacks[index] = Some(id);
        Ok(id)
    }

    /// A sample with the labels of a resource and a list of attributes.
    fn attributes(&mut self, resource: usize, list: u32) -> std::result::Result<SourceSample, String> {
        if let Some(&sample) = self.attribute_sets.get(&(resource, list)) {
            return Ok(sample);
        }
        let mut sample = proto::Sample::default();
        for &index in self.attribute_lists.get(list) {
            let label = usize::try_from(index).ok().and_then(|index| self.labels.get(index));
            let label = label.ok_or_else(|| missing("attribute", index))?;
            self.omitted += u64::from(label.is_none());
            sample.label.extend(*label);
        }
        // A sample's own attributes override those of its resource.
        for &label in &self.resource_labels[resource] {
            if sample.label.iter().all(|own| own.key != label.key) {
                sample.label.push(label);
            }
        }
        let built = self.reader.labels(&sample, &mut self.repeated);
        self.attribute_sets.insert((resource, list), built);
        Ok(built)
    }
}

fn missing(kind: &str, index: i32) -> String {
    format!("a sample refers to missing {kind} {index}")
}
