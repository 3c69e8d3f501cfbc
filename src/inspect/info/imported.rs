//! A profile that is not a recording: what it is, and how much is in it.

use super::date;
use crate::profile::imported::{ImportedProfile, ProfileHeader, SampleType};
use serde::Serialize;

/// A profile, as it was imported.
#[derive(Debug, Serialize)]
pub struct ImportedInfo<'a> {
    /// Name of the format.
    pub format: &'a str,
    /// Columns of values, with the sum of each.
    pub values: Vec<ValueInfo<'a>>,
    /// Values, as the profile lists them.
    pub entries: u64,
    /// Stacks that differ.
    pub stacks: u64,
    /// Frames that differ.
    pub frames: u64,
    /// Functions.
    pub functions: u64,
    /// Mappings.
    pub mappings: u64,
    /// Keys of labels for which samples of a recording have no field.
    pub labels: Vec<&'a str>,
    /// How much lies between two samples, where the profile says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<i64>,
    /// When it began, in nanoseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_nanos: Option<i64>,
    /// How long it took, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_nanos: Option<i64>,
    /// Comments.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub comments: &'a [String],
}

/// A column of values.
#[derive(Debug, Serialize)]
pub struct ValueInfo<'a> {
    /// What is counted.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// In what.
    pub unit: &'a str,
    /// The sum of its values.
    pub sum: u64,
}

impl<'a> ImportedInfo<'a> {
    /// Of a profile in a format of that name.
    pub fn new(format: &'a str, imported: &'a ImportedProfile) -> Self {
        let size = &imported.size;
        let header = imported.header.as_ref();
        let positive = |field: fn(&ProfileHeader) -> i64| header.map(field).filter(|&value| value > 0);
        let value = |(SampleType { kind, unit }, sum): &'a (SampleType, u64)| ValueInfo { kind, unit, sum: *sum };
        let duration = size.times.and_then(|(first, last)| i64::try_from(last - first).ok());
        Self {
            format,
            values: size.totals.iter().map(value).collect(),
            entries: size.values,
            stacks: size.stacks,
            frames: size.frames,
            functions: imported.symbols.functions.len() as u64,
            mappings: size.mappings,
            labels: imported.labels.iter().map(|label| &*label.key).collect(),
            period: positive(|header| header.period),
            time_nanos: positive(|header| header.time_nanos),
            duration_nanos: positive(|header| header.duration_nanos).or(duration),
            comments: header.map_or(&[], |header| &header.comments),
        }
    }

    /// Line by line, of an input of that name.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let mut lines = vec![format!("{name}: a profile ({})", self.format)];
        let mut line = |what: &str, text: String| lines.push(format!("  {what:<9} {text}"));
        for ValueInfo { kind, unit, sum } in &self.values {
            line("values", format!("{sum} {kind}/{unit}"));
        }
        line("stacks", format!("{} in {} values", self.stacks, self.entries));
        line("frames", format!("{}, functions: {}, mappings: {}", self.frames, self.functions, self.mappings));
        if !self.labels.is_empty() {
            line("labels", self.labels.join(", "));
        }
        if let Some(period) = self.period {
            line("period", period.to_string());
        }
        if let Some(began) = self.time_nanos.and_then(|time| u64::try_from(time).ok()) {
            let began = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(began);
            line("began", date::rfc3339(began).unwrap_or_default());
        }
        if let Some(duration) = self.duration_nanos.and_then(|duration| u64::try_from(duration).ok()) {
            line("time", format!("{} s", super::header::micros(duration)));
        }
        self.comments.iter().for_each(|comment| line("comment", comment.clone()));
        lines
    }
}
