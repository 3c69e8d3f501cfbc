//! Profiles of OpenTelemetry (OTLP), package `opentelemetry.proto.profiles.v1development` of opentelemetry-proto 1.11.
//!
//! A file has a profile for each sample type, of which pprof has a column, and tables for all of them.

mod attributes;
mod data;
mod dictionary;
mod encode;
pub(crate) mod json;
mod messages;
mod proto;
mod samples;

use super::options::{FormatOption, OptionValues, ValueKind};
use super::{Format, WriteProfile, Writer};
use crate::error::Result;
use crate::profile::Profile;
use data::ProfilesData;
use std::io::Write;

/// Profiles of OpenTelemetry.
pub const FORMAT: Format = Format {
    extensions: &[("otlp", None)],
    is_binary: true,
    writer: writer(write),
    options: OPTIONS,
    ..Format::new("otlp", "OpenTelemetry profiles (v1development)")
};

/// Profiles of OpenTelemetry in JSON.
pub const JSON_FORMAT: Format = Format {
    extensions: &[("otlp.json", None)],
    writer: writer(write_json),
    options: OPTIONS,
    ..Format::new("otlp-json", "OpenTelemetry profiles in JSON")
};

/// Their options.
const OPTIONS: &[FormatOption] = &[TIMESTAMPS, SERVICE];

/// The option `--timestamps`.
pub const TIMESTAMPS: FormatOption =
    FormatOption::switch("timestamps", "Keep the time of each sample, instead of the sum of equal ones");

/// The option `--service-name`.
pub const SERVICE: FormatOption = FormatOption::new(
    "service-name",
    "NAME",
    "Name of the service that was recorded, for the attribute service.name",
    ValueKind::Text { is_optional: false },
);

const fn writer(write: fn(&Profile, &OptionValues, &mut dyn Write) -> Result<()>) -> Writer {
    Writer::Profile(WriteProfile {
        labels: Some(attributes::LABELS),
        has_times: |values| values.is_given(&TIMESTAMPS),
        ..WriteProfile::new(write)
    })
}

/// Writes a profile in protobuf.
///
/// # Errors
/// Errors of `out`.
pub fn write(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    encode::write(&ProfilesData::new(profile, values), out)
}

fn write_json(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    json::write(&ProfilesData::new(profile, values), out)
}
