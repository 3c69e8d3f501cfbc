//! Contents of an imported profile.

use super::date;
use crate::profile::imported::{ImportedProfile, ProfileHeader, SampleType};
use serde::Serialize;

/// An imported profile.
#[derive(Debug, Serialize)]
pub struct ImportedInfo<'a> {
    /// Name of the format.
    pub format: &'a str,
    /// Value types, with the sum of each.
    pub values: Vec<ValueInfo<'a>>,
    /// Number of samples in the profile.
    pub entries: u64,
    /// Number of unique stacks.
    pub stacks: u64,
    /// Number of unique frames.
    pub frames: u64,
    /// Number of functions.
    pub functions: u64,
    /// Number of mappings.
    pub mappings: u64,
    /// Keys of labels that samples of a recording have no field for.
    pub labels: Vec<&'a str>,
    /// Sampling period, if the profile has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<i64>,
    /// Start time, in nanoseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_nanos: Option<i64>,
    /// Duration, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_nanos: Option<i64>,
    /// Comments.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub comments: &'a [String],
}

/// A value type and the sum of its values.
#[derive(Debug, Serialize)]
pub struct ValueInfo<'a> {
    /// What is measured.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Sum of the values.
    pub sum: u64,
}

impl<'a> ImportedInfo<'a> {
    /// Describes a profile in a format.
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

    /// The description line by line, for an input with this name.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let mut lines = vec![format!("{name}: a profile ({})", self.format)];
        let mut line = |heading: &str, text: String| lines.push(format!("  {heading:<9} {text}"));
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
