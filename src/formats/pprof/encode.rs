//! Writing a profile, a message at a time.

use super::columns::Columns;
use super::proto;
use crate::error::{Error, Result};
use crate::profile::{MappingId, Profile};
use hashbrown::HashMap;
use prost::Message;
use std::fmt::Write as _;
use std::io::Write;

/// Writes a profile, bare.
///
/// # Errors
/// What `out` says.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let mut encoder = Encoder { out, buffer: Vec::new(), strings: Strings::default() };
    encoder.profile(profile).map_err(Error::Output)
}

/// Numbers of the fields of `Profile` that repeat without bound, and are therefore written one by one.
pub(super) mod field {
    pub const SAMPLE: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const LOCATION: u32 = 4;
    pub const STRING_TABLE: u32 = 6;
}

struct Encoder<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    strings: Strings,
}

impl Encoder<'_> {
    fn profile(&mut self, profile: &Profile) -> std::io::Result<()> {
        let columns = Columns::new(profile);
        let order = mapping_order(profile);
        self.head(profile, &columns)?;
        self.samples(profile, &columns)?;
        self.mappings(profile, &order)?;
        self.locations(profile, &order)?;
        for string in std::mem::take(&mut self.strings).into_list() {
            self.buffer.clear();
            prost::encoding::string::encode(field::STRING_TABLE, &string, &mut self.buffer);
            self.out.write_all(&self.buffer)?;
        }
        Ok(())
    }

    /// All of the profile that does not repeat.
    fn head(&mut self, profile: &Profile, columns: &Columns) -> std::io::Result<()> {
        let strings = &mut self.strings;
        let mut head = proto::Profile::default();
        for column in &columns.events {
            let (samples, count) = (strings.id(&column.samples), strings.id("count"));
            let (value, unit) = (strings.id(&column.value), strings.id(column.unit));
            head.sample_type.push(proto::ValueType { r#type: samples, unit: count });
            head.sample_type.push(proto::ValueType { r#type: value, unit });
        }
        if let Some(first) = columns.events.first() {
            head.period_type = head.sample_type.get(1).copied();
            head.period = to_i64(first.period);
            head.default_sample_type = strings.id(&first.value);
        }
        head.time_nanos = to_i64(profile.wall_clock_start.unwrap_or(0));
        head.duration_nanos = profile.times.map_or(0, |(first, last)| to_i64(last - first));
        let comments = [("perf-version:", &profile.perf_version), ("perf-command:", &profile.command)];
        for (what, text) in comments {
            head.comment.extend(text.as_ref().map(|text| strings.id(&format!("{what}{text}"))));
        }
        self.out.write_all(&head.encode_to_vec())
    }

    fn samples(&mut self, profile: &Profile, columns: &Columns) -> std::io::Result<()> {
        let mut sample = proto::Sample::default();
        for rows in profile.rows.chunk_by(|a, b| a.stack == b.stack) {
            sample.location_id.clear();
            sample.location_id.extend(profile.stacks.stack(rows[0].stack).iter().map(|&frame| u64::from(frame) + 1));
            sample.value.clear();
            sample.value.resize(2 * columns.events.len(), 0);
            for row in rows {
                if let Some(at) = columns.of(row.event) {
                    sample.value[at] = to_i64(row.samples);
                    sample.value[at + 1] = to_i64(row.value);
                }
            }
            self.message(field::SAMPLE, &sample)?;
        }
        Ok(())
    }

    fn mappings(&mut self, profile: &Profile, order: &MappingOrder) -> std::io::Result<()> {
        for (number, &mapping) in order.list.iter().enumerate() {
            let map = &profile.mappings[mapping as usize];
            let hex = hex(map.build_id.as_deref().unwrap_or_default());
            let mapping = proto::Mapping {
                id: number as u64 + 1,
                memory_start: map.start,
                memory_limit: map.limit,
                file_offset: map.pgoff,
                filename: self.strings.id(&String::from_utf8_lossy(&map.filename)),
                build_id: self.strings.id(&hex),
                ..Default::default()
            };
            self.message(field::MAPPING, &mapping)?;
        }
        Ok(())
    }

    fn locations(&mut self, profile: &Profile, order: &MappingOrder) -> std::io::Result<()> {
        for (number, frame) in profile.stacks.frames().iter().enumerate() {
            let location = proto::Location {
                id: number as u64 + 1,
                mapping_id: frame.mapping.map_or(0, |mapping| order.id[mapping as usize]),
                address: frame.address,
                ..Default::default()
            };
            self.message(field::LOCATION, &location)?;
        }
        Ok(())
    }

    fn message(&mut self, field: u32, message: &impl Message) -> std::io::Result<()> {
        self.buffer.clear();
        prost::encoding::message::encode(field, message, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }
}

/// The order in which mappings are written: the main program's first, where consumers look for it.
struct MappingOrder {
    list: Vec<MappingId>,
    /// Id of each mapping in the output.
    id: Vec<u64>,
}

fn mapping_order(profile: &Profile) -> MappingOrder {
    let mut list: Vec<MappingId> = (0..profile.mappings.len() as MappingId).collect();
    if let Some(main) = profile.main_mapping {
        list[..=main as usize].rotate_right(1);
    }
    let mut id = vec![0; list.len()];
    list.iter().enumerate().for_each(|(number, &mapping)| id[mapping as usize] = number as u64 + 1);
    MappingOrder { list, id }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The string table; its first entry is the empty string.
pub(super) struct Strings {
    list: Vec<String>,
    ids: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { list: vec![String::new()], ids: HashMap::from_iter([(String::new(), 0)]) }
    }
}

impl Strings {
    pub(super) fn id(&mut self, string: &str) -> i64 {
        *self.ids.entry_ref(string).or_insert_with(|| {
            self.list.push(string.to_owned());
            self.list.len() as i64 - 1
        })
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

/// pprof's numbers are signed; what does not fit stays the largest that does.
fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::event::{ProfileEvent, Unit};
    use crate::profile::{Frame, Row};
    use crate::session::map::Map;

    #[test]
    fn what_is_written_piece_by_piece_reads_as_one_profile() {
        let mut profile = Profile {
            events: vec![ProfileEvent { name: "cpu-clock".into(), unit: Unit::Nanoseconds, period: Some(250) }],
            mappings: vec![
                Map::new(0x7000, 0x1000, 0, b"/lib/libc.so.6", None),
                Map::new(0x4000, 0x1000, 0x200, b"/bin/cat", Some(&[0xab, 1])),
            ],
            main_mapping: Some(1),
            times: Some((100, 1100)),
            perf_version: Some("6.1".into()),
            ..Profile::default()
        };
        let leaf = profile.stacks.frame_id(Frame { mapping: Some(0), address: 0x7010 });
        let caller = profile.stacks.frame_id(Frame { mapping: Some(1), address: 0x4010 });
        let stack = profile.stacks.stack_id(&[leaf, caller]);
        profile.rows.push(Row { stack, event: 0, samples: 3, value: u64::MAX });
        let mut bytes = Vec::new();
        write(&profile, &mut bytes).unwrap();

        let read = proto::Profile::decode(&*bytes).unwrap();
        let string = |id: i64| read.string_table[id as usize].as_str();
        assert_eq!(string(0), "");
        let types: Vec<_> = read.sample_type.iter().map(|t| (string(t.r#type), string(t.unit))).collect();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert_eq!(read.period_type, Some(read.sample_type[1]));
        assert_eq!((read.period, read.duration_nanos, string(read.comment[0])), (250, 1000, "perf-version:6.1"));
        assert_eq!(read.sample[0].value, [3, i64::MAX]);
        let locations: Vec<_> = read.sample[0].location_id.iter().map(|&id| &read.location[id as usize - 1]).collect();
        let mappings: Vec<_> = locations.iter().map(|l| &read.mapping[l.mapping_id as usize - 1]).collect();
        let seen: Vec<_> = locations.iter().zip(&mappings).map(|(l, m)| (l.address, string(m.filename))).collect();
        assert_eq!(seen, [(0x7010, "/lib/libc.so.6"), (0x4010, "/bin/cat")]);
        assert_eq!((string(read.mapping[0].filename), string(read.mapping[0].build_id)), ("/bin/cat", "ab01"));
    }
}
