//! Converts SAMPLE records to messages and back.

use super::proto::perf_data_proto::{BranchStackEntry, ReadInfo, SampleEvent, WeightStruct, read_info::ReadValue};
use perf_data::abi::Endian;
use perf_data::abi::bit_fields::to_recorded;
use perf_data::abi::bytes::ByteWriter;
use perf_data::abi::read_format::{ReadFormat, ReadValue as CounterValue, ReadView};
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView};
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::read::encode_read;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::abi::version::PerfVersion;

/// Fields of samples that the schema supports. Others are kept as a difference from the record that the message describes.
pub(super) const MODELLED: SampleType = SampleField::known_to_linux(PerfVersion(5, 12))
    .difference(SampleType::USER_DUMP)
    .difference(SampleType::REGS_INTR)
    .difference(SampleType::AUX);

/// The part of a layout that the schema supports.
pub(super) fn modelled(layout: &SampleLayout) -> SampleLayout {
    layout
        .keeping(MODELLED)
        .with_read_format(layout.read_format().intersection(ReadFormat::from_bits_retain(0x1f)))
        .with_branch_sample_type(layout.branch_sample_type().difference(BranchSampleType::COUNTERS))
        .with_regs(0, 0)
}

/// Describes a sample in a message that may have described another one; its buffers are reused.
pub(super) fn describe(view: &SampleView<'_>, layout: &SampleLayout, endian: Endian, sample: &mut SampleEvent) {
    sample.ip = view.ip;
    (sample.pid, sample.tid) = view.task.unzip();
    sample.sample_time_ns = view.time;
    sample.addr = view.addr;
    sample.id = view.identifier.or(view.id);
    sample.stream_id = view.stream_id;
    sample.cpu = view.cpu.map(|(cpu, _)| cpu);
    sample.period = view.period;
    sample.read_info = view.read.map(|read| describe_read(&read));
    sample.callchain.clear();
    sample.callchain.extend(view.callchain.iter().flat_map(|chain| chain.iter()));
    sample.raw_size = view.raw.map(|raw| raw.len() as u32);
    match view.raw {
        Some(raw) => {
            let bytes = sample.raw.get_or_insert_default();
            bytes.clear();
            bytes.extend_from_slice(raw);
        }
        None => sample.raw = None,
    }
    sample.branch_stack.clear();
    sample.branch_stack.extend(view.branch_stack.iter().flat_map(|stack| branches(stack, endian)));
    let has_hw_idx = layout.branch_sample_type().contains(BranchSampleType::HW_INDEX);
    sample.no_hw_idx = view.branch_stack.map(|_| !has_hw_idx);
    sample.branch_stack_hw_idx = view.branch_stack.map(|stack| stack.hw_idx.unwrap_or(0));
    let is_struct = layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
    sample.weight = view.weight.filter(|_| !is_struct);
    sample.weight_struct = view.weight.filter(|_| is_struct).map(|word| WeightStruct {
        var1_dw: Some(word as u32),
        var2_w: Some((word >> 32) as u32 & 0xffff),
        var3_w: Some((word >> 48) as u32),
    });
    sample.data_src = view.data_src;
    sample.transaction = view.transaction;
    sample.physical_addr = view.phys_addr;
    sample.cgroup = view.cgroup;
    sample.data_page_size = view.data_page_size;
    sample.code_page_size = view.code_page_size;
}

fn describe_read(read: &ReadView<'_>) -> ReadInfo {
    let values = read.values().map(|value| ReadValue { value: Some(value.value), id: value.id, lost: value.lost });
    ReadInfo { time_enabled: read.time_enabled, time_running: read.time_running, read_value: values.collect() }
}

fn branches(stack: &BranchStackView<'_>, endian: Endian) -> impl Iterator<Item = BranchStackEntry> {
    let mut words = stack.entries.iter();
    std::iter::from_fn(move || {
        let (from, to, flags) = (words.next()?, words.next()?, words.next()?);
        let flags = BranchFlags::from_word(flags, endian);
        let is = |field| Some(flags.get(field) == 1);
        let number = |field| Some(flags.get(field) as u32);
        Some(BranchStackEntry {
            from_ip: Some(from),
            to_ip: Some(to),
            mispredicted: is(BranchFlags::MISPRED),
            predicted: is(BranchFlags::PREDICTED),
            in_transaction: is(BranchFlags::IN_TX),
            abort: is(BranchFlags::ABORT),
            cycles: number(BranchFlags::CYCLES),
            r#type: number(BranchFlags::TYPE),
            spec: number(BranchFlags::SPEC),
        })
    })
}

/// Appends the body of the record that a message describes, with a [modelled] layout.
pub(super) fn encode(sample: &SampleEvent, layout: &SampleLayout, endian: Endian, out: &mut Vec<u8>) {
    let mut out = ByteWriter::new(out, endian);
    let mut fields = layout.sample_type();
    // A struct weight is written even where the event is not known to have one.
    fields.set(SampleType::WEIGHT_STRUCT, fields.contains(SampleType::WEIGHT_STRUCT) || sample.weight_struct.is_some());
    let view = SampleView {
        identifier: sample.id,
        ip: sample.ip,
        task: Some((sample.pid(), sample.tid())),
        time: sample.sample_time_ns,
        addr: sample.addr,
        id: sample.id,
        stream_id: sample.stream_id,
        cpu: Some((sample.cpu(), 0)),
        period: sample.period,
        raw: sample.raw.as_deref(),
        weight: Some(weight(sample)),
        data_src: sample.data_src,
        transaction: sample.transaction,
        phys_addr: sample.physical_addr,
        cgroup: sample.cgroup,
        data_page_size: sample.data_page_size,
        code_page_size: sample.code_page_size,
        ..SampleView::default()
    };
    for field in SampleField::selected_by(fields) {
        match field {
            SampleField::Read => {
                let read = sample.read_info.as_ref();
                let times = read.map_or([None; 2], |read| [read.time_enabled, read.time_running]);
                let values = read.map_or(&[][..], |read| &read.read_value).iter();
                let values = values.map(|value| CounterValue { value: value.value(), id: value.id, lost: value.lost });
                encode_read(layout.read_format(), times, values, &mut out);
            }
            SampleField::Callchain => {
                out.put(sample.callchain.len() as u64);
                out.words(&sample.callchain);
            }
            SampleField::BranchStack => {
                let has_hw_idx = layout.branch_sample_type().contains(BranchSampleType::HW_INDEX);
                out.put(sample.branch_stack.len() as u64);
                out.put_some(has_hw_idx.then(|| sample.branch_stack_hw_idx()));
                sample.branch_stack.iter().for_each(|entry| encode_branch(entry, &mut out));
            }
            _ if !MODELLED.contains(field.bits()) => {}
            _ => view.encode_field(field, layout, &mut out),
        }
    }
}

/// The weight, from one number or from three.
fn weight(sample: &SampleEvent) -> u64 {
    match &sample.weight_struct {
        Some(weight) => {
            let (var2_w, var3_w) = (u64::from(weight.var2_w() as u16), u64::from(weight.var3_w() as u16));
            u64::from(weight.var1_dw()) | var2_w << 32 | var3_w << 48
        }
        None => sample.weight(),
    }
}

fn encode_branch(entry: &BranchStackEntry, out: &mut ByteWriter<'_>) {
    let flags = BranchFlags::default()
        .with(BranchFlags::MISPRED, entry.mispredicted().into())
        .with(BranchFlags::PREDICTED, entry.predicted().into())
        .with(BranchFlags::IN_TX, entry.in_transaction().into())
        .with(BranchFlags::ABORT, entry.abort().into())
        .with(BranchFlags::CYCLES, entry.cycles().into())
        .with(BranchFlags::TYPE, entry.r#type().into())
        .with(BranchFlags::SPEC, entry.spec().into());
    out.put(entry.from_ip());
    out.put(entry.to_ip());
    out.put(to_recorded(flags.0, out.endian(), BranchFlags::FIELDS));
}
