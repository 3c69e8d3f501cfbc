//! Writes the profile, one message at a time.

use super::profile::CompatProfile;
use crate::formats::pprof::messages::{Messages, field};
use crate::formats::pprof::proto;
use perf_data::abi::hex::to_hex;
use perf_data::error::{Error, Result};
use std::io::{self, Write};

/// Represents a missing name: the first 8 bytes of the MD5 of the empty string.
const NO_NAME: &str = "d41d8cd98f00b204";

/// Writes an uncompressed profile.
///
/// # Errors
/// Errors of `out`.
pub fn write(profile: &CompatProfile, out: &mut dyn Write) -> Result<()> {
    CompatEncoder { messages: Messages::new(out) }.profile(profile).map_err(Error::Output)
}

struct CompatEncoder<'a> {
    messages: Messages<'a>,
}

impl CompatEncoder<'_> {
    fn profile(&mut self, profile: &CompatProfile) -> io::Result<()> {
        self.head(profile)?;
        self.samples(profile)?;
        self.mappings(profile)?;
        for (number, &(address, mapping)) in profile.locations.iter().enumerate() {
            let mapping_id = mapping.map_or(0, |mapping| u64::from(mapping) + 1);
            let location = proto::Location { id: number as u64 + 1, mapping_id, address, ..Default::default() };
            self.messages.location(&location)?;
        }
        self.messages.string_table()
    }

    /// Writes columns and comments. The unit is always `count`, and the last column is the default.
    fn head(&mut self, profile: &CompatProfile) -> io::Result<()> {
        let mut head = proto::Profile::default();
        for name in &profile.events.names {
            for suffix in ["sample", "event"] {
                let (r#type, unit) =
                    (self.messages.strings.id(&format!("{name}_{suffix}")), self.messages.strings.id("count"));
                head.sample_type.push(proto::ValueType { r#type, unit });
            }
        }
        head.default_sample_type = head.sample_type.last().map_or(0, |column| column.r#type);
        head.comment = profile.comments.iter().map(|comment| self.messages.strings.id(comment)).collect();
        self.messages.head(&head)
    }

    fn samples(&mut self, profile: &CompatProfile) -> io::Result<()> {
        let (mut locations, mut values) = (Vec::new(), Vec::new());
        for rows in profile.rows().chunk_by(|a, b| a.0 == b.0) {
            let stack = profile.stacks.stack(rows[0].0);
            locations.clear();
            locations.extend(stack.iter().map(|&location| u64::from(location) + 1));
            values.clear();
            values.resize(2 * profile.events.names.len(), 0);
            for &(_, event, samples, value) in rows {
                let at = 2 * event as usize;
                (values[at], values[at + 1]) = (samples as i64, value as i64);
            }
            self.messages.sample(&locations, &values, &[])?;
        }
        Ok(())
    }

    fn mappings(&mut self, profile: &CompatProfile) -> io::Result<()> {
        for (number, mapping) in profile.mappings.iter().enumerate() {
            let is_placeholder = mapping.limit == 1;
            let filename = match &*mapping.filename {
                [] if !is_placeholder => self.messages.strings.id(NO_NAME),
                name => self.messages.strings.id(&String::from_utf8_lossy(name)),
            };
            let mapping = proto::Mapping {
                id: number as u64 + 1,
                memory_start: mapping.start,
                memory_limit: mapping.limit,
                file_offset: mapping.pgoff,
                filename,
                build_id: self.messages.strings.id(&to_hex(&mapping.build_id)),
                ..Default::default()
            };
            self.messages.message(field::MAPPING, &mapping)?;
        }
        Ok(())
    }
}
