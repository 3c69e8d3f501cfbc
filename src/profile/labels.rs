//! What else a sample tells than its stack: labels, each a number or a text.

use super::data_source;
use super::imported::{ImportedProfile, ImportedValue};
use crate::abi::record::CpuMode;
use crate::abi::sample_layout::SampleLayout;
use crate::abi::sample_type::SampleType;
use crate::abi::sample_view::SampleView;
use crate::abi::weight::Weight;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::names::{NameId, Names};
use crate::session::slices::Slices;
use crate::stream::meta::Meta;
use hashbrown::HashMap;
use std::sync::Arc;

/// Declares [`Label`] with the key, the unit and the sample fields of each.
macro_rules! labels {
    ($($(#[$doc:meta])* $label:ident = $key:literal, $unit:expr, $fields:expr;)*) => {
        /// A kind of label. Keys and texts are those of perf_data_converter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Label {
            $($(#[$doc])* $label,)*
        }

        impl Label {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$label,)*];

            /// Its key.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$label => $key,)*
                }
            }

            /// The unit of its number; `None` where it is a text.
            pub const fn unit(self) -> Option<&'static str> {
                match self {
                    $(Self::$label => $unit,)*
                }
            }

            /// The fields of samples that it needs: any one of them will do.
            pub const fn fields(self) -> SampleType {
                match self {
                    $(Self::$label => $fields,)*
                }
            }
        }
    };
}

labels! {
    /// Process.
    Pid = "pid", Some("pid"), SampleType::TID;
    /// Thread.
    Tid = "tid", Some("tid"), SampleType::TID;
    /// Name of the process: that of its main thread.
    Comm = "comm", None, SampleType::TID;
    /// Name of the thread.
    ThreadComm = "thread_comm", None, SampleType::TID;
    /// What the user calls threads of this kind.
    ThreadType = "thread_type", None, SampleType::TID;
    /// CPU.
    Cpu = "cpu", Some("cpu"), SampleType::CPU;
    /// Time of the recording's clock.
    TimestampNs = "timestamp_ns", Some("nanoseconds"), SampleType::TIME;
    /// `Host Kernel`, `Host User`, `Guest Kernel`, `Guest User` or `Hypervisor`.
    ExecutionMode = "execution_mode", None, SampleType::all();
    /// Path of the cgroup.
    Cgroup = "cgroup", None, SampleType::CGROUP;
    /// Where the data came from.
    DataSrc = "data_src", None, SampleType::DATA_SRC;
    /// What snooping other caches gave.
    SnoopStatus = "snoop_status", None, SampleType::DATA_SRC;
    /// The whole weight of the sample.
    Weight = "weight", Some("weight"), SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);
    /// Latency of the memory access: the first of the three weights.
    CacheLatency = "cache_latency", Some("cycles"), SampleType::WEIGHT_STRUCT;
    /// Latency of the instruction: the second of the three weights, or the only one.
    TotalLatency = "total_latency", Some("cycles"), SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);
    /// Size of the page that the code is on.
    CodePageSize = "code_page_size", Some("bytes"), SampleType::CODE_PAGE_SIZE;
    /// Size of the page that the data is on.
    DataPageSize = "data_page_size", Some("bytes"), SampleType::DATA_PAGE_SIZE;
}

impl Label {
    /// The kind of that key.
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.key() == key)
    }

    /// Whether samples of this layout tell it.
    pub fn is_in(self, layout: &SampleLayout) -> bool {
        layout.sample_type().intersects(self.fields())
    }

    /// Whether hardly two samples have it in common.
    pub fn is_unique(self) -> bool {
        self == Self::TimestampNs
    }
}

/// What a label is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelKey {
    /// One of the kinds that are known.
    Known(Label),
    /// One of the profile that was imported, by its number in [its list](ImportedProfile::labels).
    Imported(u32),
}

/// A label of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelValue {
    /// What it is of.
    pub key: LabelKey,
    /// Its number, or the number of its text in [`Tables::names`](super::Tables::names).
    pub value: u64,
}

/// Number of a set of labels in [`LabelSets`].
pub type LabelsId = u32;

/// Sets of labels, each kept once. Number 0 is the empty set.
#[derive(Debug)]
pub struct LabelSets {
    sets: Slices<LabelValue>,
    /// The set that was asked for last: the next sample often has the same.
    latest: LabelsId,
}

impl Default for LabelSets {
    fn default() -> Self {
        let mut sets = Slices::default();
        let latest = sets.id(&[]);
        Self { sets, latest }
    }
}

impl LabelSets {
    /// The number of a set.
    #[inline]
    pub fn id(&mut self, labels: &[LabelValue]) -> LabelsId {
        if self.sets.get(self.latest) != labels {
            self.latest = self.sets.id(labels);
        }
        self.latest
    }

    /// A set.
    pub fn labels(&self, id: LabelsId) -> &[LabelValue] {
        self.sets.get(id)
    }
}

/// A sample with what of it labels need.
#[derive(Clone, Copy)]
pub struct LabelledSample<'a> {
    /// The sample.
    pub view: &'a SampleView<'a>,
    /// How it is laid out.
    pub layout: &'a SampleLayout,
    /// In which mode the CPU was.
    pub mode: CpuMode,
    /// Name of its process.
    pub comm: Option<NameId>,
}

/// Reads the labels that were asked for.
#[derive(Debug, Default)]
pub struct LabelReader {
    wanted: Vec<Label>,
    /// What the user calls threads, by their ids.
    thread_types: HashMap<u32, String>,
    /// Numbers of texts that do not come from the recording.
    texts: HashMap<&'static str, NameId>,
    /// The profile that the recording was converted from, whose own labels are read too.
    imported: Option<Arc<ImportedProfile>>,
}

impl LabelReader {
    /// For these kinds.
    pub fn new(mut wanted: Vec<Label>, thread_types: HashMap<u32, String>) -> Self {
        wanted.sort_unstable();
        wanted.dedup();
        Self { wanted, thread_types, ..Self::default() }
    }

    /// And for the labels of its own that an imported profile has.
    pub fn with_imported(self, imported: Option<Arc<ImportedProfile>>) -> Self {
        Self { imported, ..self }
    }

    /// Adds the labels of a sample to `labels`.
    pub fn read(&mut self, sample: &LabelledSample<'_>, session: &mut Session, labels: &mut Vec<LabelValue>) {
        let wanted = std::mem::take(&mut self.wanted);
        for &label in &wanted {
            if let Some(value) = self.value(label, sample, session) {
                labels.push(LabelValue { key: LabelKey::Known(label), value });
            }
        }
        self.wanted = wanted;
        if let Some((imported, raw)) = self.imported.as_ref().zip(sample.view.raw) {
            imported.for_each_label(raw, |number, value| {
                let value = match value {
                    ImportedValue::Text(text) => session.names.id(text).0.into(),
                    ImportedValue::Number(number) => number as u64,
                };
                labels.push(LabelValue { key: LabelKey::Imported(number), value });
            });
        }
    }

    #[inline]
    fn value(&mut self, label: Label, sample: &LabelledSample<'_>, session: &mut Session) -> Option<u64> {
        let LabelledSample { view, layout, mode, comm } = *sample;
        let name = |id: NameId| u64::from(id.0);
        let has_weights = layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
        let weight = |field| view.weight.map(|word| Weight(word).get(field));
        match label {
            Label::Pid => view.task.map(|(pid, _)| pid.into()),
            Label::Tid => view.task.map(|(_, tid)| tid.into()),
            Label::Comm => comm.map(name),
            Label::ThreadComm => session.thread(view.task?.1)?.comm.map(name),
            Label::ThreadType => {
                let kind = self.thread_types.get(&view.task?.1)?;
                Some(name(session.names.id(kind.as_bytes())))
            }
            Label::Cpu => view.cpu.map(|(cpu, _)| cpu.into()),
            Label::TimestampNs => view.time,
            Label::ExecutionMode => Some(name(self.text(execution_mode(mode)?, &mut session.names))),
            Label::Cgroup => session.cgroup_path(view.cgroup?).map(name),
            Label::DataSrc => Some(name(self.text(data_source::level(view.data_src?), &mut session.names))),
            Label::SnoopStatus => Some(name(self.text(data_source::snoop(view.data_src?)?, &mut session.names))),
            Label::Weight => view.weight,
            Label::CacheLatency if has_weights => weight(Weight::VAR1_DW),
            Label::CacheLatency => None,
            Label::TotalLatency if has_weights => weight(Weight::VAR2_W),
            Label::TotalLatency => view.weight,
            Label::CodePageSize => view.code_page_size,
            Label::DataPageSize => view.data_page_size,
        }
    }

    fn text(&mut self, text: &'static str, names: &mut Names) -> NameId {
        *self.texts.entry(text).or_insert_with(|| names.id(text.as_bytes()))
    }
}

/// Checks that some event tells each of the labels.
///
/// # Errors
/// Which label none tells, and those that some tell.
pub fn check(asked_for: &[Label], meta: &Meta) -> Result<()> {
    let events = meta.events.list();
    let is_told = |label: &Label| events.is_empty() || events.iter().any(|event| label.is_in(&event.layout));
    match asked_for.iter().find(|label| !is_told(label)) {
        None => Ok(()),
        Some(label) => {
            let told: Vec<_> = Label::ALL.iter().filter(|label| is_told(label)).map(|label| label.key()).collect();
            let what = format!("its samples do not tell {}; they tell {}", label.key(), told.join(", "));
            Err(Error::input(&meta.files[0], None, what))
        }
    }
}

fn execution_mode(mode: CpuMode) -> Option<&'static str> {
    Some(match mode {
        CpuMode::KERNEL => "Host Kernel",
        CpuMode::USER => "Host User",
        CpuMode::GUEST_KERNEL => "Guest Kernel",
        CpuMode::GUEST_USER => "Guest User",
        CpuMode::HYPERVISOR => "Hypervisor",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_found() {
        for &label in Label::ALL {
            assert_eq!(Label::by_key(label.key()), Some(label));
        }
        assert_eq!(Label::by_key("colour"), None);
    }

    #[test]
    fn a_set_is_kept_once_and_the_first_is_empty() {
        let mut sets = LabelSets::default();
        let pid = |value| LabelValue { key: LabelKey::Known(Label::Pid), value };
        let ids = [&[][..], &[pid(1)], &[pid(2)], &[pid(1)]].map(|labels| sets.id(labels));
        assert_eq!(ids, [0, 1, 2, 1]);
        assert_eq!(sets.labels(2), [pid(2)]);
    }

    #[test]
    fn labels_are_those_of_the_sample() {
        let mut session = Session::default();
        let mut reader = LabelReader::new(Label::ALL.to_vec(), HashMap::from_iter([(8, "worker".to_owned())]));
        let view = SampleView {
            task: Some((7, 8)),
            cpu: Some((3, 0)),
            time: Some(99),
            weight: Some(0x0002_0001_0000_0005),
            data_src: Some(0x0a | 0x04 << 19),
            ..SampleView::default()
        };
        let weights = SampleLayout::new(SampleType::WEIGHT_STRUCT);
        let comm = Some(session.names.id(b"make"));
        let sample = LabelledSample { view: &view, layout: &weights, mode: CpuMode::USER, comm };
        let mut labels = Vec::new();
        reader.read(&sample, &mut session, &mut labels);
        let text = |value: u64| String::from_utf8_lossy(session.names.name(NameId(value as u32))).into_owned();
        let known = |l: &LabelValue| match l.key {
            LabelKey::Known(label) => label,
            LabelKey::Imported(number) => panic!("label {number} is not of a recording"),
        };
        let show = |l: &LabelValue| match known(l).unit() {
            Some(_) => format!("{} {}", known(l).key(), l.value),
            None => format!("{} {}", known(l).key(), text(l.value)),
        };
        let expected = [
            "pid 7",
            "tid 8",
            "comm make",
            "thread_type worker",
            "cpu 3",
            "timestamp_ns 99",
            "execution_mode Host User",
            "data_src Unknown Level",
            "snoop_status Hit",
            "weight 562954248388613",
            "cache_latency 5",
            "total_latency 1",
        ];
        assert_eq!(labels.iter().map(show).collect::<Vec<_>>(), expected);
        let (view, layout) = (SampleView { weight: Some(6), ..SampleView::default() }, SampleLayout::default());
        labels.clear();
        let sample = LabelledSample { view: &view, layout: &layout, mode: CpuMode(0), comm: None };
        reader.read(&sample, &mut session, &mut labels);
        let kinds: Vec<_> = labels.iter().map(|l| (known(l), l.value)).collect();
        assert_eq!(kinds, [(Label::Weight, 6), (Label::TotalLatency, 6)]);
    }
}
