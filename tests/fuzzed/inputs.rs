//! Input formats of fuzz targets: the first bytes give the context needed to decode the rest.

use perf_data::abi::Endian;
use perf_data::abi::feature::nr_cpus::NrCpus;
use perf_data::abi::feature::{FeatureContext, FeatureId};
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::record::{RecordContext, RecordHeader, RecordType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};

/// Size of the context of a record: `u8 flags, kind; u16 misc; u32 sample_type; u32 branch_sample_type; u8 read_format,
/// regs_user, regs_intr, unused`. The body of the record follows.
const CONTEXT: usize = 16;

/// Bits of `flags`.
const BIG: u8 = 1;
const SAMPLE_ID_ALL: u8 = 2;
/// If set, `kind` is a record type, and otherwise an index of the list of types.
const ANY_KIND: u8 = 4;

/// Parses an input as a record, of its own type or of `kind`, and the context to decode it.
pub fn record_of(input: &[u8], kind: Option<RecordType>) -> Option<(Vec<u8>, RecordContext)> {
    let (head, body) = input.split_first_chunk()?;
    let context = context(head);
    let named = RecordType::NAMED;
    let own = match head[0] & ANY_KIND {
        0 => named[usize::from(head[1]) % named.len()].0,
        _ => RecordType(head[1].into()),
    };
    let kind = kind.unwrap_or(own);
    Some((with_header(kind, [head[2], head[3]], body, context.endian)?, context))
}

/// A feature, and the context to decode it.
#[derive(Clone, Copy)]
pub struct FeatureInput<'a> {
    pub id: FeatureId,
    pub bytes: &'a [u8],
    pub endian: Endian,
    pub context: FeatureContext,
}

/// Parses an input as a feature: `u8 id, endian, nr_cpus_avail, nr_cpus_online`, then the bytes of the section.
pub fn feature_of(input: &[u8]) -> Option<FeatureInput<'_>> {
    let (&[id, flags, nr_cpus_avail, nr_cpus_online], bytes) = input.split_first_chunk()?;
    let nr_cpus = NrCpus { nr_cpus_avail: nr_cpus_avail.into(), nr_cpus_online: nr_cpus_online.into() };
    let context = FeatureContext { nr_cpus: Some(nr_cpus) };
    Some(FeatureInput { id: FeatureId(id.into()), bytes, endian: endian(flags), context })
}

fn context(head: &[u8; CONTEXT]) -> RecordContext {
    let word = |at: usize| u64::from(u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let layout = SampleLayout::new(SampleType::from_bits_retain(word(4)))
        .with_branch_sample_type(BranchSampleType::from_bits_retain(word(8)))
        .with_read_format(ReadFormat::from_bits_retain(head[12].into()))
        .with_regs(head[13].into(), head[14].into());
    RecordContext { endian: endian(head[0]), layout, sample_id_all: head[0] & SAMPLE_ID_ALL != 0 }
}

fn with_header(kind: RecordType, misc: [u8; 2], body: &[u8], endian: Endian) -> Option<Vec<u8>> {
    let len = u16::try_from(RecordHeader::SIZE + body.len()).ok()?;
    let misc = u16::from_le_bytes(misc);
    let header = match endian {
        Endian::Little => [&kind.0.to_le_bytes()[..], &misc.to_le_bytes(), &len.to_le_bytes()].concat(),
        Endian::Big => [&kind.0.to_be_bytes()[..], &misc.to_be_bytes(), &len.to_be_bytes()].concat(),
    };
    Some([header, body.to_vec()].concat())
}

fn endian(flags: u8) -> Endian {
    if flags & BIG == 0 { Endian::Little } else { Endian::Big }
}
