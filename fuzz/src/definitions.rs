//! Records, samples and features by themselves. The first bytes of an input say what must be known to read the others.

use perfconv::abi::Endian;
use perfconv::abi::feature::nr_cpus::NrCpus;
use perfconv::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perfconv::abi::read_format::ReadFormat;
use perfconv::abi::record::{Body, Record, RecordContext, RecordHeader, RecordType};
use perfconv::abi::sample_type::{BranchSampleType, SampleType};
use perfconv::abi::sample_view::{SampleLayout, SampleView};

/// `u8 flags, kind; u16 misc; u32 sample_type; u32 branch_sample_type; u8 read_format, regs_user, regs_intr, unused`, then
/// the body of a record.
const CONTEXT: usize = 16;

/// Bits of `flags`.
const BIG: u8 = 1;
const SAMPLE_ID_ALL: u8 = 2;
/// With it, `kind` is a number, not a place in the list of types.
const ANY_KIND: u8 = 4;

/// The record that an input is, and what must be known to read it.
pub fn record_of(input: &[u8]) -> Option<(Vec<u8>, RecordContext)> {
    let (head, body) = input.split_first_chunk()?;
    let context = context(head);
    let named = RecordType::NAMED;
    let kind = match head[0] & ANY_KIND {
        0 => named[usize::from(head[1]) % named.len()].0,
        _ => RecordType(head[1].into()),
    };
    Some((with_header(kind, [head[2], head[3]], body, context.endian)?, context))
}

/// Any bytes as a record: it is written as it was read, also by way of the other byte order.
pub fn record(bytes: &[u8]) {
    if let Some((bytes, context)) = record_of(bytes) {
        check_record(&bytes, &context);
    }
}

/// Any bytes as a sample: the borrowed view and the owned definition agree.
pub fn sample(bytes: &[u8]) {
    let Some((head, body)) = bytes.split_first_chunk() else { return };
    let context = context(head);
    let Some(bytes) = with_header(RecordType::SAMPLE, [head[2], head[3]], body, context.endian) else { return };
    let record = check_record(&bytes, &context);
    let view = SampleView::read(body, &context.layout, context.endian);
    let Body::Sample(owned) = record.body else {
        let is_known = SampleType::KNOWN.contains(context.layout.sample_type);
        assert!(view.is_err() || !is_known, "the view reads what the definition does not");
        return;
    };
    let view = view.expect("the view reads what the definition does");
    assert_eq!((view.identifier, view.ip, view.task, view.time), (owned.identifier, owned.ip, owned.task, owned.time));
    assert_eq!((view.addr, view.id, view.stream_id, view.cpu), (owned.addr, owned.id, owned.stream_id, owned.cpu));
    assert_eq!((view.period, view.phys_addr, view.cgroup), (owned.period, owned.phys_addr, owned.cgroup));
    assert_eq!((view.data_page_size, view.code_page_size), (owned.data_page_size, owned.code_page_size));
    let ips = view.callchain.map(|ips| ips.iter().collect());
    assert_eq!(ips, owned.callchain.map(|chain| chain.ips));
    assert_eq!(view.raw, owned.raw.as_ref().map(|raw| &raw.data[..]));
    assert_eq!(view.aux, owned.aux.as_ref().map(|aux| &aux.data[..]));
    let stack = view.stack_user.map(|stack| (stack.data, stack.dyn_size));
    assert_eq!(stack, owned.stack_user.as_ref().map(|stack| (&stack.data[..], stack.dyn_size)));
    for (view, owned) in [(view.regs_user, owned.regs_user), (view.regs_intr, owned.regs_intr)] {
        let view = view.map(|regs| (regs.abi, regs.regs.iter().collect()));
        assert_eq!(view, owned.map(|regs| (regs.abi.0, regs.regs)));
    }
    let branches = view.branch_stack.map(|stack| (stack.hw_idx, stack.len()));
    assert_eq!(branches, owned.branch_stack.map(|stack| (stack.hw_idx, stack.entries.len())));
    assert_eq!(view.tail, record.tail);
}

/// A feature that an input is, and what must be known to read it.
#[derive(Clone, Copy)]
pub struct FeatureInput<'a> {
    pub id: FeatureId,
    pub bytes: &'a [u8],
    pub endian: Endian,
    pub context: FeatureContext,
}

/// `u8 id, endian, nr_cpus_avail, nr_cpus_online`, then the bytes of the feature.
pub fn feature_of(input: &[u8]) -> Option<FeatureInput<'_>> {
    let (&[id, flags, nr_cpus_avail, nr_cpus_online], bytes) = input.split_first_chunk()?;
    let nr_cpus = NrCpus { nr_cpus_avail: nr_cpus_avail.into(), nr_cpus_online: nr_cpus_online.into() };
    let context = FeatureContext { nr_cpus: Some(nr_cpus) };
    Some(FeatureInput { id: FeatureId(id.into()), bytes, endian: endian(flags), context })
}

/// Any bytes as a feature: it is written as it was read, also by way of the other byte order.
pub fn feature(bytes: &[u8]) {
    let Some(FeatureInput { id, bytes, endian, context }) = feature_of(bytes) else { return };
    let section = FeatureSection::read(id, bytes, endian, &context);
    assert_eq!(section.to_bytes(endian).expect("what was read can be written"), bytes);
    if matches!(section.feature, Feature::Opaque(_)) {
        return;
    }
    let swapped = section.to_bytes(other(endian)).expect("it takes as many bytes in the other byte order");
    let back = FeatureSection::read(id, &swapped, other(endian), &context);
    assert_eq!(back.to_bytes(endian).expect("what was read can be written"), bytes, "by way of the other byte order");
}

fn check_record(bytes: &[u8], context: &RecordContext) -> Record {
    let endian = context.endian;
    let record = Record::read(bytes, context).expect("it is as long as its header says");
    assert_eq!(record.to_bytes(endian).expect("what was read can be written"), bytes);
    if !matches!(record.body, Body::Opaque(_)) {
        let swapped = record.to_bytes(other(endian)).expect("it takes as many bytes in the other byte order");
        let context = RecordContext { endian: other(endian), ..*context };
        let back = Record::read(&swapped, &context).expect("it is as long as its header says");
        assert_eq!(back.to_bytes(endian).expect("what was read can be written"), bytes, "by way of the other order");
    }
    record
}

fn context(head: &[u8; CONTEXT]) -> RecordContext {
    let word = |at: usize| u64::from(u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let layout = SampleLayout {
        sample_type: SampleType::from_bits_retain(word(4)),
        branch_sample_type: BranchSampleType::from_bits_retain(word(8)),
        read_format: ReadFormat::from_bits_retain(head[12].into()),
        regs_user: head[13].into(),
        regs_intr: head[14].into(),
    };
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

fn other(endian: Endian) -> Endian {
    if endian == Endian::Little { Endian::Big } else { Endian::Little }
}
