//! Profiles of OpenTelemetry (OTLP), package `opentelemetry.proto.profiles.v1development` of opentelemetry-proto 1.11.
//!
//! A file has a profile for each sample type, of which pprof has a column, and tables for all of them.

mod attributes;
mod data;
mod dictionary;
mod encode;
mod import;
pub(crate) mod json;
pub(crate) mod json_import;
mod location_ranges;
mod messages;
#[expect(unreachable_pub, reason = "generated")]
mod proto;
mod recognize;
mod samples;
mod tables;
mod version;

pub use import::{import, import_json};

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use crate::profile::labels::Label;
use data::ProfilesData;
use perf_data::error::Result;
use std::io::Write;

/// Profiles of OpenTelemetry.
pub const FORMAT: Format = Format {
    extensions: &[("otlp", None)],
    is_binary: true,
    output: Some(OutputType::of::<Otlp>()),
    functions: ShowsFunctions::Always,
    reader: FormatReader::Import(import),
    recognizes: recognize::is_otlp,
    ..Format::new("otlp", "OpenTelemetry profiles (v1development)")
};

/// Profiles of OpenTelemetry in JSON.
pub const JSON_FORMAT: Format = Format {
    extensions: &[("otlp.json", None)],
    output: Some(OutputType::of::<OtlpJson>()),
    functions: ShowsFunctions::Always,
    reader: FormatReader::Import(import_json),
    recognizes: recognize::is_otlp_json,
    is_distinctive: true,
    ..Format::new("otlp-json", "OpenTelemetry profiles in JSON")
};

/// Profiles of OpenTelemetry with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Otlp {
    /// Keep the time of each sample, instead of the sum of equal ones.
    #[cfg_attr(feature = "cli", arg(long))]
    pub timestamps: bool,

    /// Name of the service that was recorded, for the attribute service.name.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub service_name: Option<String>,

    /// Attribute of the resource that was recorded; repeat for several.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "NAME=VALUE", value_parser = name_and_value, allow_hyphen_values = true)
    )]
    pub resource_attribute: Vec<(String, String)>,
}

/// Profiles of OpenTelemetry in JSON with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct OtlpJson {
    /// The options.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub options: Otlp,
}

/// Splits `NAME=VALUE`.
///
/// # Errors
/// If there is no name.
pub fn name_and_value(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

impl OutputFormat for Otlp {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Otlp {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(attributes::LABELS)
    }

    fn keeps_imported_labels(&self) -> bool {
        true
    }

    fn has_times(&self) -> bool {
        self.timestamps
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        encode::write(&ProfilesData::new(profile, self), out)
    }
}

impl OutputFormat for OtlpJson {
    fn format(&self) -> &'static Format {
        &JSON_FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for OtlpJson {
    fn labels(&self) -> Option<&'static [Label]> {
        self.options.labels()
    }

    fn keeps_imported_labels(&self) -> bool {
        self.options.keeps_imported_labels()
    }

    fn has_times(&self) -> bool {
        self.options.has_times()
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        json::write(&ProfilesData::new(profile, &self.options), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::event::{ProfileEvent, Unit};
    use crate::profile::timeline::Occurrence;
    use crate::profile::{Frame, Place, Row, Tables};
    use perf_data::session::map::Map;
    use perf_data::session::space::Space;
    use prost::Message;

    fn profile() -> Profile {
        let event = ProfileEvent {
            name: "cycles".into(),
            unit: Unit::Count,
            is_cpu_time: false,
            is_tracepoint: false,
            period: Some(100),
            sample_types: None,
        };
        let mappings = vec![Map::new(0x4000, 0x1000, 0x200, b"/bin/cat", Some(&[0xab, 1]))];
        let mut tables = Tables { events: vec![event], mappings, ..Tables::default() };
        let frame = |place, address| Frame { place, address, is_caller: false };
        let leaf = tables.stacks.frame_id(frame(Place::In(0), 0x4010));
        // Of both, only the address is written.
        let callers = [Space::User, Space::Unknown].map(|space| frame(Place::Outside(space), 7));
        let stacks = callers.map(|caller| {
            let caller = tables.stacks.frame_id(caller);
            tables.stacks.stack_id(&[leaf, caller])
        });
        let row = |stack, value| Row { stack, labels: 0, event: 0, samples: 1, value };
        Profile {
            rows: vec![row(stacks[0], 100), row(stacks[1], 50)],
            occurrences: [10, 30].map(|time| Occurrence { time, payload: None }).into(),
            tables: tables.into(),
            has_samples: [0].into(),
            times: Some((10, 30)),
            wall_clock_start: Some(1000),
            ..Profile::default()
        }
    }

    fn decoded(options: &Otlp) -> (Vec<proto::Profile>, proto::ProfilesDictionary) {
        let mut bytes = Vec::new();
        options.write(&profile(), &mut bytes).unwrap();
        let mut data = proto::ProfilesData::decode(&*bytes).unwrap();
        (data.resource_profiles.remove(0).scope_profiles.remove(0).profiles, data.dictionary.unwrap())
    }

    #[test]
    fn samples_with_equal_stacks_are_added_up() {
        let (profiles, dictionary) = decoded(&Otlp::default());
        let string = |index: i32| dictionary.string_table[index as usize].as_str();
        let kind = |profile: &proto::Profile| string(profile.sample_type.unwrap().type_strindex).to_owned();
        assert_eq!(profiles.iter().map(kind).collect::<Vec<_>>(), ["samples", "cycles"]);
        let values: Vec<_> = profiles.iter().map(|profile| &profile.samples[..]).collect();
        let sample = |value| proto::Sample { stack_index: 1, values: vec![value], ..proto::Sample::default() };
        assert_eq!(values, [&[sample(2)], &[sample(150)]]);
        assert_eq!((profiles[0].time_unix_nano, profiles[0].duration_nano, profiles[0].period), (1000, 21, 100));
        assert_eq!(dictionary.stack_table[1].location_indices, [1, 2]);
        let [zero, leaf, caller] = &dictionary.location_table[..] else { panic!("{:?}", dictionary.location_table) };
        assert_eq!((zero, caller.address), (&proto::Location::default(), 7));
        let mapping = &dictionary.mapping_table[leaf.mapping_index as usize];
        assert_eq!((leaf.address, string(mapping.filename_strindex)), (0x4010, "/bin/cat"));
        let build_id = &dictionary.attribute_table[mapping.attribute_indices[0] as usize];
        assert_eq!(build_id.value.as_ref().unwrap().string_value.as_deref(), Some("ab01"));
    }

    #[test]
    fn times_are_those_of_the_wall_clock() {
        let (profiles, _) = decoded(&Otlp { timestamps: true, ..Otlp::default() });
        let [sample] = &profiles[1].samples[..] else { panic!("{:?}", profiles[1]) };
        assert_eq!((&sample.values[..], &sample.timestamps_unix_nano[..]), (&[100, 50][..], &[1000, 1020][..]));
    }
}
