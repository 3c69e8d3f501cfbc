//! Converts `perf_event_attr` to a message and back.

use super::proto::perf_data_proto::{Original, PerfEventAttr, PerfFileAttr, Splice};
use super::sample::modelled;
use super::splice::spliced;
use perf_data::abi::Endian;
use perf_data::abi::attr::{Attr, AttrType};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::container::read::file::FileAttr;

/// Size of the part of the structure that the schema covers: that of Linux 4.1.
const SIZE: usize = 96;

/// Maximum size of a reconstructed attr, far more than any kernel's.
pub(super) const MAX_SIZE: u32 = 4096;

/// Maps each flag to its field.
macro_rules! flags {
    ($with:ident) => {
        $with! {
            DISABLED disabled, INHERIT inherit, PINNED pinned, EXCLUSIVE exclusive, EXCLUDE_USER exclude_user,
            EXCLUDE_KERNEL exclude_kernel, EXCLUDE_HV exclude_hv, EXCLUDE_IDLE exclude_idle, MMAP mmap, COMM comm,
            FREQ freq, INHERIT_STAT inherit_stat, ENABLE_ON_EXEC enable_on_exec, TASK task, WATERMARK watermark,
            MMAP_DATA mmap_data, SAMPLE_ID_ALL sample_id_all, EXCLUDE_HOST exclude_host, EXCLUDE_GUEST exclude_guest,
            EXCLUDE_CALLCHAIN_KERNEL exclude_callchain_kernel, EXCLUDE_CALLCHAIN_USER exclude_callchain_user,
            MMAP2 mmap2, COMM_EXEC comm_exec, USE_CLOCKID use_clockid, CONTEXT_SWITCH context_switch,
            WRITE_BACKWARD write_backward, NAMESPACES namespaces, KSYMBOL ksymbol, CGROUP cgroup
        }
    };
}

/// Describes an attr; with `has_samples`, only the sample fields that the schema supports.
fn describe(attr: &Attr, has_samples: bool) -> PerfEventAttr {
    let layout = SampleLayout::from(attr);
    let layout = if has_samples { modelled(&layout) } else { layout };
    let is_watermark = attr.flags.contains(AttrFlags::WATERMARK);
    let mut message = PerfEventAttr {
        r#type: Some(attr.kind.0),
        size: Some(SIZE as u32),
        config: Some(attr.config),
        sample_period: Some(attr.sample_period),
        sample_type: Some(layout.sample_type().bits()),
        read_format: Some(layout.read_format().bits()),
        precise_ip: Some(attr.flags.precise_ip().into()),
        wakeup_events: (!is_watermark).then_some(attr.wakeup_events),
        wakeup_watermark: is_watermark.then_some(attr.wakeup_events),
        bp_type: Some(attr.bp_type),
        bp_addr: Some(attr.bp_addr),
        bp_len: Some(attr.bp_len),
        branch_sample_type: Some(layout.branch_sample_type().bits()),
        sample_regs_user: Some(attr.sample_regs_user),
        sample_stack_user: Some(attr.sample_stack_user),
        ..Default::default()
    };
    macro_rules! set {
        ($($flag:ident $field:ident),*) => {
            $(message.$field = Some(attr.flags.contains(AttrFlags::$flag));)*
        };
    }
    flags!(set);
    message
}

/// Encodes the attr of a message with a size of `size` bytes.
fn encode(message: &PerfEventAttr, size: usize, endian: Endian) -> Option<Vec<u8>> {
    let mut attr = Attr::read(&vec![0; size], endian).ok()?;
    attr.kind = AttrType(message.r#type());
    attr.size = size as u32;
    attr.config = message.config();
    attr.sample_period =
        if message.freq() { message.sample_freq.unwrap_or(message.sample_period()) } else { message.sample_period() };
    attr.sample_type = SampleType::from_bits_retain(message.sample_type());
    attr.read_format = ReadFormat::from_bits_retain(message.read_format());
    let mut bits = AttrFlags::empty();
    macro_rules! get {
        ($($flag:ident $field:ident),*) => {
            $(bits.set(AttrFlags::$flag, message.$field());)*
        };
    }
    flags!(get);
    bits.set(AttrFlags::PRECISE_IP_0, message.precise_ip() & 1 != 0);
    bits.set(AttrFlags::PRECISE_IP_1, message.precise_ip() & 2 != 0);
    attr.flags = bits;
    attr.wakeup_events = if message.watermark() { message.wakeup_watermark() } else { message.wakeup_events() };
    attr.bp_type = message.bp_type();
    attr.bp_addr = message.bp_addr.or(message.config1).unwrap_or(0);
    attr.bp_len = message.bp_len.or(message.config2).unwrap_or(0);
    attr.branch_sample_type = BranchSampleType::from_bits_retain(message.branch_sample_type());
    attr.sample_regs_user = message.sample_regs_user();
    attr.sample_stack_user = message.sample_stack_user();
    attr.to_bytes(endian).ok()
}

/// Describes an event and, if lossless, the difference between its attr and the one encoded from the message.
pub(super) fn describe_event(event: &FileAttr, has_samples: bool, is_lossless: bool, endian: Endian) -> PerfFileAttr {
    let message = describe(&event.attr, has_samples);
    let wanted = event.attr.to_bytes(endian).unwrap_or_default();
    let encoded = encode(&message, wanted.len(), endian).unwrap_or_default();
    let splice = Splice::between(&encoded, &wanted);
    let is_original = is_lossless && (splice.is_some() || wanted.len() != SIZE);
    let original = is_original.then_some(Original { size: Some(wanted.len() as u32), splice });
    PerfFileAttr { attr: Some(message), ids: event.ids.clone(), original }
}

/// Decodes the event of a message. `None` if it is invalid.
pub(super) fn event_from_message(message: &PerfFileAttr, endian: Endian) -> Option<FileAttr> {
    let original = message.original.as_ref();
    let size = original.map_or(SIZE as u32, Original::size);
    if size > MAX_SIZE {
        return None;
    }
    let encoded = encode(message.attr.as_ref()?, size as usize, endian)?;
    let bytes = spliced(encoded, original.and_then(|original| original.splice.as_ref()))?;
    Some(FileAttr { attr: Attr::read(&bytes, endian).ok()?, ids: message.ids.clone() })
}
