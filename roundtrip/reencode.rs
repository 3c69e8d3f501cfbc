//! Decodes every header, attr, record and feature through its definition and encodes it again: in its own byte order, and in the
//! other one and back.

use crate::recordings;
use crate::table::Table;
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::bpf_prog_info::BpfProg;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perf_data::abi::header::{self, EventType, FeatureBits, FileHeader};
use perf_data::abi::record::{Body, Record, RecordContext};
use perf_data::abi::{self, Endian};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::fs;
use std::path::Path;

#[test]
fn reencoding_preserves_all_bytes() {
    let mut reencoder = Reencoder::default();
    let (mut read, mut rejected) = (0, Vec::new());
    for path in recordings::all() {
        reencoder.file = path.display().to_string();
        reencoder.header(&path);
        match Source::open(Input::Path(path), ReadOptions::default()).and_then(|source| source.run(&mut reencoder)) {
            Ok(_) => read += 1,
            Err(e) => rejected.push(e.to_string()),
        }
    }
    let Reencoder { headers, records, features, failures, .. } = reencoder;
    note!("{read} recordings, {} without records:\n{}\n", rejected.len(), rejected.join("\n"));
    note!("{headers}\n{records}\n{features}");
    let enough = recordings::enough("re-encoding");
    assert!(read >= enough, "read only {read} recordings, expected {enough}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Re-encodes records and features as they stream by.
#[derive(Default)]
struct Reencoder {
    file: String,
    headers: Table,
    records: Table,
    features: Table,
    failures: Vec<String>,
}

/// A definition's encoding of some bytes.
#[derive(Default)]
struct Reencoded {
    /// The encoded bytes.
    bytes: Vec<u8>,
    /// Whether the definition did not match.
    opaque: bool,
    /// Bytes beyond the definition.
    tail: Vec<u8>,
}

/// Checks that a definition preserves bytes in `endian`, also by way of the other byte order. `reencode` reads in the first byte
/// order and writes in the second. Returns a description of the failure, if any.
fn check(
    table: &mut Table,
    name: &str,
    must_fit: bool,
    bytes: &[u8],
    endian: Endian,
    reencode: impl Fn(&[u8], Endian, Endian) -> Reencoded,
) -> Option<String> {
    let other = if endian == Endian::Little { Endian::Big } else { Endian::Little };
    let written = reencode(bytes, endian, endian);
    let swapped = reencode(bytes, endian, other);
    let back = reencode(&swapped.bytes, other, endian);
    table.add(name, bytes, &written.bytes, written.opaque, &written.tail);
    let sound = written.bytes == bytes && back.bytes == bytes && !(must_fit && written.opaque);
    (!sound).then(|| format!("{name} of {} bytes: {:02x?}", bytes.len(), &bytes[..bytes.len().min(64)]))
}

impl Sink for Reencoder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let context = meta.context(raw);
        let (kind, bytes) = (raw.header().kind, raw.bytes());
        let reencode = |bytes: &[u8], from, to| {
            let record = Record::read(bytes, &RecordContext { endian: from, ..context });
            record.map_or_else(Reencoded::default, |record| Reencoded {
                bytes: record.to_bytes(to).unwrap_or_default(),
                opaque: matches!(record.body, Body::Opaque(_)),
                tail: record.tail,
            })
        };
        let is_known = kind.name().is_some();
        let failure = check(&mut self.records, &kind.to_string(), is_known, bytes, raw.endian(), reencode);
        self.fail(failure);
        if let Some(Body::HeaderTracingData(tracing)) = Record::read(bytes, &context).map(|record| record.body) {
            for payload in [&tracing.inside, raw.payload()].into_iter().filter(|payload| !payload.is_empty()) {
                self.feature(FeatureId::TRACING_DATA, payload, raw.endian(), &FeatureContext::default());
            }
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let context = FeatureContext::new(meta.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref), meta.endian);
        for (id, bytes) in &meta.features {
            self.feature(*id, bytes, meta.endian, &context);
        }
        Ok(())
    }
}

impl Reencoder {
    fn fail(&mut self, failure: Option<String>) {
        self.failures.extend(failure.map(|failure| format!("{}: {failure}", self.file)));
    }

    fn feature(&mut self, id: FeatureId, bytes: &[u8], endian: Endian, context: &FeatureContext) {
        let reencode = |bytes: &[u8], from, to| {
            let section = FeatureSection::read(id, bytes, from, context);
            Reencoded {
                bytes: section.to_bytes(to).unwrap_or_default(),
                opaque: matches!(section.feature, Feature::Opaque(_)),
                tail: section.tail,
            }
        };
        // `perf inject` writes the tracing data of a pipe before its record, so what follows the record is something else.
        let is_tracing_data = id != FeatureId::TRACING_DATA || bytes.starts_with(TracingData::MAGIC);
        let must_fit = id.name().is_some() && is_tracing_data;
        let failure = check(&mut self.features, &id.to_string(), must_fit, bytes, endian, reencode);
        self.fail(failure);
        self.parts(&FeatureSection::read(id, bytes, endian, context).feature, endian);
    }

    /// Checks the structures inside a feature that have their own byte order.
    fn parts(&mut self, feature: &Feature, endian: Endian) {
        let reencoded = |bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => Reencoded { bytes, ..Default::default() },
            None => Reencoded { opaque: true, ..Default::default() },
        };
        let mut failures = Vec::new();
        match feature {
            Feature::TracingData(data) => {
                for file in data.files.systems.iter().flat_map(|system| &system.formats).chain(&data.files.ftrace) {
                    let show = |_: &[u8], _, _| reencoded(file.format().map(|format| format.to_string().into_bytes()));
                    failures.push(check(&mut self.features, "  format", true, &file.text, endian, show));
                }
            }
            Feature::BpfProgInfos(infos) => {
                for program in &infos.programs {
                    let join = |_: &[u8], _, _| reencoded(joined_arrays(program));
                    failures.push(check(&mut self.features, "  arrays", true, &program.data, endian, join));
                }
            }
            Feature::BpfBtf(btf) => {
                for entry in &btf.entries {
                    let write = |_: &[u8], _, _| reencoded(entry.btf().and_then(|btf| btf.to_bytes().ok()));
                    failures.push(check(&mut self.features, "  BTF", true, &entry.data, endian, write));
                }
            }
            _ => {}
        }
        failures.into_iter().for_each(|failure| self.fail(failure));
    }

    /// Checks the header and attrs of a file.
    fn header(&mut self, path: &Path) {
        let main = if path.is_dir() { path.join("data") } else { path.to_owned() };
        let bytes = fs::read(main).expect("a recording should be readable");
        let Some(endian) = header::endian(&bytes) else { return };
        let Ok(header) = FileHeader::read_from(&bytes, endian) else { return };
        if ![FileHeader::SIZE, FileHeader::SIZE_WITHOUT_FEATURES].contains(&header.size) {
            return;
        }
        let Some(head) = bytes.get(..header.size as usize) else { return };
        let (head, bits) = head.split_at(FileHeader::SIZE_WITHOUT_FEATURES as usize);
        self.plain("file header", head, endian, |bytes, from, to| {
            abi::parse::<FileHeader>(bytes, from, ()).ok().and_then(|(header, _)| abi::to_bytes(&header, to).ok())
        });
        if let Some(recorded) = bits.first_chunk().map(|bits| FeatureBits::read(bits, endian)) {
            self.plain("feature bits", bits, endian, |bytes, from, to| {
                let bits = FeatureBits::read(bytes.first_chunk()?, from);
                // The word size of a big-endian bitmap cannot be recovered from a little-endian one.
                let is_back = from != endian && bits.iter().eq(recorded.iter());
                Some(if is_back { recorded } else { bits }.to_bytes(to).to_vec())
            });
        }
        let types =
            bytes.get(header.event_types.offset as usize..header.event_types.end() as usize).unwrap_or_default();
        for entry in types.chunks(EventType::SIZE) {
            self.plain("perf_trace_event_type", entry, endian, |bytes, from, to| {
                abi::parse::<EventType>(bytes, from, ()).ok().and_then(|(entry, _)| abi::to_bytes(&entry, to).ok())
            });
        }
        let attrs = bytes.get(header.attrs.offset as usize..header.attrs.end() as usize).unwrap_or_default();
        for entry in attrs.chunks_exact(header.attr_size as usize) {
            let attr = &entry[..entry.len() - 16];
            self.plain("perf_event_attr", attr, endian, |bytes, from, to| {
                Attr::read(bytes, from).ok()?.to_bytes(to).ok()
            });
        }
    }

    fn plain(
        &mut self,
        name: &str,
        bytes: &[u8],
        endian: Endian,
        reencode: impl Fn(&[u8], Endian, Endian) -> Option<Vec<u8>>,
    ) {
        let reencode = |bytes: &[u8], from, to| {
            let bytes = reencode(bytes, from, to);
            Reencoded { opaque: bytes.is_none(), bytes: bytes.unwrap_or_default(), tail: Vec::new() }
        };
        let failure = check(&mut self.headers, name, true, bytes, endian, reencode);
        self.fail(failure);
    }
}

/// Joins the arrays of a BPF program, each followed by the recorded padding up to a multiple of 8: perf leaves uninitialized
/// memory there.
fn joined_arrays(program: &BpfProg) -> Option<Vec<u8>> {
    program.arrays.iter().try_fold(Vec::new(), |mut joined, which| {
        joined.extend_from_slice(program.array(which)?);
        let padding = program.data.get(joined.len()..joined.len().next_multiple_of(8))?;
        joined.extend_from_slice(padding);
        Some(joined)
    })
}
