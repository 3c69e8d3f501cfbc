//! Every record, attr and feature is read through its definition and written again.

use crate::recordings;
use crate::table::Table;
use perfconv::abi::record::{Body, Record, RecordContext, RecordType};
use perfconv::abi::sample_view::SampleLayout;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::error::Result;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;

/// Re-encodes what streams by.
#[derive(Default)]
struct Reencoder {
    file: String,
    records: Table,
    complaints: Vec<String>,
}

impl Sink for Reencoder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let context = match meta.events.of(raw) {
            Some((_, event)) => RecordContext::new(&event.attr, raw.endian),
            None => RecordContext { endian: raw.endian, layout: SampleLayout::default(), sample_id_all: false },
        };
        let bytes = raw.bytes();
        let Some(record) = Record::read(bytes, &context) else {
            self.complaints.push(format!("{}: no record of {} bytes", self.file, bytes.len()));
            return Ok(());
        };
        let written = record.to_bytes(raw.endian).unwrap_or_default();
        let opaque = matches!(record.body, Body::Opaque(_));
        let kind = record.header.kind;
        if opaque && kind.name().is_some() || written != bytes || record.tail.iter().any(|&byte| byte != 0) {
            let what = format!(
                "{}: {kind} at {} opaque {opaque} tail {:?} bytes {:x?}",
                self.file,
                raw.offset(),
                record.tail,
                &bytes[..bytes.len().min(200)]
            );
            self.complaints.push(what);
        }
        self.records.add(&kind.to_string(), bytes, &written, opaque, &record.tail);
        let _ = RecordType::SAMPLE;
        Ok(())
    }
}

#[test]
fn everything_is_written_as_it_was_read() {
    let mut reencoder = Reencoder::default();
    let (mut read, mut refused) = (0, Vec::new());
    for path in recordings::all() {
        reencoder.file = path.display().to_string();
        match Source::open(Input::Path(path), ReadOptions::default()).and_then(|source| source.run(&mut reencoder)) {
            Ok(_) => read += 1,
            Err(e) => refused.push(e.to_string()),
        }
    }
    println!("{read} recordings read, {} refused: {refused:#?}\n\n{}", refused.len(), reencoder.records);
    println!("{} complaints", reencoder.complaints.len());
    for c in reencoder.complaints.iter().take(60) {
        println!("{c}");
    }
}
