//! Labels of samples: numbers and texts in addition to the stack.

use super::accesses::AccessField;
use super::cgroup_names::CgroupNames;
use super::data_source;
use super::imported::{ImportedProfile, ImportedValue};
use super::operation::SampledOperation;
use super::sockets::Sockets;
use super::thread_pool::pool_name;
use super::time_quantum::TimeQuantum;
use super::tracepoint_texts::TracepointTexts;
use hashbrown::HashMap;
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::session::names::{NameId, Names};
use perf_data::session::slices::Slices;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use std::sync::Arc;

/// Declares [`Label`] with the key, unit and sample fields of each variant.
macro_rules! labels {
    ($($(#[$doc:meta])* $label:ident = $key:literal, $unit:expr, $fields:expr;)*) => {
        /// A label. Keys and texts are those of perf_data_converter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Label {
            $($(#[$doc])* $label,)*
        }

        impl Label {
            /// All labels.
            pub const ALL: &'static [Self] = &[$(Self::$label,)*];

            /// Key.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$label => $key,)*
                }
            }

            /// Unit of a number; `None` for a text.
            pub const fn unit(self) -> Option<&'static str> {
                match self {
                    $(Self::$label => $unit,)*
                }
            }

            /// The sample fields that provide the label; one of them is sufficient.
            pub const fn fields(self) -> SampleType {
                match self {
                    $(Self::$label => $fields,)*
                }
            }
        }
    };
}

labels! {
    /// Process ID.
    Pid = "pid", Some("pid"), SampleType::TID;
    /// Thread ID.
    Tid = "tid", Some("tid"), SampleType::TID;
    /// Process name: that of its main thread.
    Comm = "comm", None, SampleType::TID;
    /// Thread name.
    ThreadComm = "thread_comm", None, SampleType::TID;
    /// Thread name, or `:TID` for a thread without one, or an empty one: perf prints the former so.
    ThreadName = "thread_name", None, SampleType::TID;
    /// Thread name with `<N>` for each number: that of a pool of threads whose names differ in numbers only.
    ThreadPool = "thread_pool", None, SampleType::TID;
    /// User-defined type of the thread.
    ThreadType = "thread_type", None, SampleType::TID;
    /// CPU number.
    Cpu = "cpu", Some("cpu"), SampleType::CPU;
    /// Socket of the CPU, by the topology of the recorded machine.
    Socket = "socket", Some("socket"), SampleType::CPU;
    /// Time in nanoseconds, rounded down by [a quantum](super::options::ProfileOptions::time_quantum).
    Time = "time", Some("nanoseconds"), SampleType::TIME;
    /// Time in nanoseconds of the recording's clock.
    TimestampNs = "timestamp_ns", Some("nanoseconds"), SampleType::TIME;
    /// `Host Kernel`, `Host User`, `Guest Kernel`, `Guest User` or `Hypervisor`.
    ExecutionMode = "execution_mode", None, SampleType::all();
    /// Name that the user gave to the cgroup, or its path.
    Cgroup = "cgroup", None, SampleType::CGROUP;
    /// Text of a tracepoint.
    Trace = "trace", None, SampleType::RAW;
    /// Data source of a memory access.
    DataSrc = "data_src", None, SampleType::DATA_SRC;
    /// Result of snooping other caches.
    SnoopStatus = "snoop_status", None, SampleType::DATA_SRC;
    /// The full 64-bit weight of the sample.
    Weight = "weight", Some("weight"), SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);
    /// What an instruction does, as the hardware recorded it: `load`, `store`, `atomic`, `branch`, `simd`, ...
    Operation = "operation", None, SampleType::DATA_SRC;
    /// Whether the TLB had the address of a memory access: `hit` or `miss`.
    Tlb = "tlb", None, SampleType::DATA_SRC;
    /// Whether the data of a memory access was on another socket or node: `yes` or `no`.
    Remote = "remote", None, SampleType::DATA_SRC;
    /// What became of a branch: `taken`, `not_taken` or `mispredicted`. Only of samples of traces.
    BranchOutcome = "branch_outcome", None, SampleType::RAW;
    /// Latency of the memory access: the first of three weights.
    CacheLatency = "cache_latency", Some("cycles"), SampleType::WEIGHT_STRUCT;
    /// Latency of the instruction: the second of three weights, or the only one; of samples of traces, the first.
    TotalLatency = "total_latency", Some("cycles"), SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);
    /// Latency up to the issue of the instruction. Only of samples of traces.
    IssueLatency = "issue_latency", Some("cycles"), SampleType::WEIGHT_STRUCT;
    /// Latency of the address translation. Only of samples of traces.
    TranslationLatency = "translation_latency", Some("cycles"), SampleType::WEIGHT_STRUCT;
    /// Page size of the code address.
    CodePageSize = "code_page_size", Some("bytes"), SampleType::CODE_PAGE_SIZE;
    /// Page size of the data address.
    DataPageSize = "data_page_size", Some("bytes"), SampleType::DATA_PAGE_SIZE;
    /// Why a thread stopped running, of time off the CPU: `blocked`, `uninterruptible` (mostly for I/O), `preempted` or `unknown`.
    State = "state", None, SampleType::empty();
    /// How many threads ran, in a profile of [latency](super::weight::SampleWeight::Latency).
    Parallelism = "parallelism", Some("threads"), SampleType::empty();
    /// A field of the event with which a [span](super::weight::Span::argument) begins.
    Argument = "argument", None, SampleType::empty();
}

impl Label {
    /// The label with this key.
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.key() == key)
    }

    /// Whether samples of this layout have the label.
    pub fn is_in(self, layout: &SampleLayout) -> bool {
        layout.sample_type().intersects(self.fields())
    }

    /// Whether its values are mostly unique.
    pub fn is_unique(self) -> bool {
        self == Self::TimestampNs
    }

    /// Whether it identifies or names a thread or its process.
    pub fn identifies_thread(self) -> bool {
        matches!(self, Self::Pid | Self::Tid | Self::Comm | Self::ThreadComm)
    }
}

/// The key of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelKey {
    /// A known label.
    Known(Label),
    /// A label of the imported profile, by its index in [its list](ImportedProfile::labels).
    Imported(u32),
    /// The flags of a branch, in a profile of [branches](super::options::ProfileOptions::branches).
    BranchFlags,
    /// A field of a memory access, in a profile of [accesses](super::options::ProfileOptions::accesses).
    Access(AccessField),
}

/// A label with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelValue {
    /// Key.
    pub key: LabelKey,
    /// A number, or the ID of a text in [`Tables::names`](super::Tables::names).
    pub value: u64,
}

/// ID of a label set in [`LabelSets`].
pub type LabelsId = u32;

/// Interned label sets. ID 0 is the empty set.
#[derive(Debug)]
pub struct LabelSets {
    sets: Slices<LabelValue>,
    /// The latest set: the next sample often has the same.
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
    /// All sets, by ID.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[LabelValue]> {
        self.sets.iter()
    }

    /// Interns a set.
    #[inline]
    pub fn id(&mut self, labels: &[LabelValue]) -> LabelsId {
        if self.sets.get(self.latest) != labels {
            self.latest = self.sets.id(labels);
        }
        self.latest
    }

    /// Returns a set.
    pub fn labels(&self, id: LabelsId) -> &[LabelValue] {
        self.sets.get(id)
    }

    /// Returns the value that a label has in a set.
    pub fn value(&self, id: LabelsId, wanted: Label) -> Option<u64> {
        self.value_by_key(id, LabelKey::Known(wanted))
    }

    /// Returns the flags of a branch, in a profile of [branches](super::options::ProfileOptions::branches).
    pub fn branch_flags(&self, id: LabelsId) -> Option<BranchFlags> {
        self.value_by_key(id, LabelKey::BranchFlags).map(BranchFlags)
    }

    /// Returns a field of a memory access, in a profile of [accesses](super::options::ProfileOptions::accesses).
    pub fn access(&self, id: LabelsId, field: AccessField) -> Option<u64> {
        self.value_by_key(id, LabelKey::Access(field))
    }

    fn value_by_key(&self, id: LabelsId, wanted: LabelKey) -> Option<u64> {
        self.labels(id).iter().find(|label| label.key == wanted).map(|label| label.value)
    }
}

/// A sample with the context that labels need.
#[derive(Clone, Copy)]
pub struct LabelledSample<'a> {
    /// The sample.
    pub view: &'a SampleView<'a>,
    /// Its layout.
    pub layout: &'a SampleLayout,
    /// Its CPU mode.
    pub mode: CpuMode,
    /// Its process name.
    pub comm: Option<NameId>,
    /// Its recording and event, unless it stands for another record.
    pub event: Option<(&'a Meta, EventIndex)>,
}

/// Reads the selected labels of samples.
#[derive(Debug, Default)]
pub struct LabelReader {
    wanted: Vec<Label>,
    /// User-defined types of threads, by thread ID.
    thread_types: HashMap<u32, String>,
    /// Names of cgroups.
    cgroup_names: CgroupNames,
    /// Names that stand for those of threads without one, by thread ID.
    unnamed: HashMap<u32, NameId>,
    /// Names of thread pools, by thread name.
    pools: HashMap<NameId, NameId>,
    /// IDs of texts that are not from the recording.
    texts: HashMap<&'static str, NameId>,
    /// Sockets of CPUs.
    sockets: Sockets,
    /// Texts of tracepoints.
    tracepoints: TracepointTexts,
    time_quantum: TimeQuantum,
    /// The imported profile, whose own labels are read too.
    imported: Option<Arc<ImportedProfile>>,
}

impl LabelReader {
    /// Creates a reader of these labels.
    pub fn new(mut wanted: Vec<Label>, thread_types: HashMap<u32, String>, cgroup_names: CgroupNames) -> Self {
        wanted.sort_unstable();
        wanted.dedup();
        Self { wanted, thread_types, cgroup_names, ..Self::default() }
    }

    /// Rounds times down by this quantum.
    pub fn with_time_quantum(self, time_quantum: TimeQuantum) -> Self {
        Self { time_quantum, ..self }
    }

    /// Also reads the labels of an imported profile.
    pub fn with_imported(self, imported: Option<Arc<ImportedProfile>>) -> Self {
        Self { imported, ..self }
    }

    /// Appends the labels of a sample to `labels`.
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
        let LabelledSample { view, layout, mode, comm, event } = *sample;
        let name = |id: NameId| u64::from(id.0);
        let operation = || SampledOperation::new(view, layout);
        match label {
            Label::Pid => view.task.map(|(pid, _)| pid.into()),
            Label::Tid => view.task.map(|(_, tid)| tid.into()),
            Label::Comm => comm.map(name),
            Label::ThreadComm => session.thread(view.task?.1)?.comm.map(name),
            Label::ThreadName => Some(name(self.thread_name(view.task?.1, session))),
            Label::ThreadPool => {
                let thread = self.thread_name(view.task?.1, session);
                let pool = self.pools.entry(thread).or_insert_with(|| {
                    let pool = pool_name(session.names.name(thread)).into_owned();
                    session.names.id(&pool)
                });
                Some(name(*pool))
            }
            Label::ThreadType => {
                let kind = self.thread_types.get(&view.task?.1)?;
                Some(name(session.names.id(kind.as_bytes())))
            }
            Label::Cpu => view.cpu.map(|(cpu, _)| cpu.into()),
            Label::Socket => self.sockets.socket(event?.0, view.cpu?.0).map(u64::from),
            Label::Time => view.time.map(|time| self.time_quantum.start(time)),
            Label::TimestampNs => view.time,
            Label::ExecutionMode => Some(name(self.text(execution_mode(mode)?, &mut session.names))),
            Label::Cgroup => self.cgroup_name(view.cgroup?, session).map(name),
            Label::Trace => {
                let (meta, index) = event?;
                self.tracepoints.text(meta, index, view.raw?).map(|text| name(session.names.id(text)))
            }
            Label::DataSrc => Some(name(self.text(data_source::level(view.data_src?), &mut session.names))),
            Label::SnoopStatus => Some(name(self.text(data_source::snoop(view.data_src?)?, &mut session.names))),
            Label::Weight => view.weight,
            Label::Operation => Some(name(self.text(operation().kind()?, &mut session.names))),
            Label::Tlb => Some(name(self.text(operation().tlb()?, &mut session.names))),
            Label::Remote => Some(name(self.text(operation().remote()?, &mut session.names))),
            Label::BranchOutcome => Some(name(self.text(operation().branch_outcome()?, &mut session.names))),
            Label::CacheLatency => operation().cache_latency(),
            Label::TotalLatency => operation().total_latency(),
            Label::IssueLatency => operation().issue_latency(),
            Label::TranslationLatency => operation().translation_latency(),
            Label::CodePageSize => view.code_page_size,
            Label::DataPageSize => view.data_page_size,
            // Of waits, of latency and of spans, where these are measured.
            Label::State | Label::Parallelism | Label::Argument => None,
        }
    }

    /// The name of a thread, or `:TID` if it has none, or an empty one.
    fn thread_name(&mut self, tid: u32, session: &mut Session) -> NameId {
        let recorded = session.thread(tid).and_then(|thread| thread.comm);
        let recorded = recorded.filter(|&comm| !session.names.name(comm).is_empty());
        let mut unnamed = || session.names.id(unnamed_thread(tid).as_bytes());
        recorded.unwrap_or_else(|| *self.unnamed.entry(tid).or_insert_with(&mut unnamed))
    }

    /// What a cgroup is called: the name that the user gave to it, or its path, if that was recorded.
    pub(crate) fn cgroup_name(&self, id: u64, session: &mut Session) -> Option<NameId> {
        self.cgroup_names.name(id, session)
    }

    fn text(&mut self, text: &'static str, names: &mut Names) -> NameId {
        *self.texts.entry(text).or_insert_with(|| names.id(text.as_bytes()))
    }
}

/// Checks that each label is provided by an event.
///
/// # Errors
/// Fails if one is not; the message lists the available labels.
pub fn check(selected: &[Label], meta: &Meta) -> Result<()> {
    let events = meta.events.list();
    let is_available = |label: &Label| events.is_empty() || events.iter().any(|event| label.is_in(&event.layout));
    match selected.iter().find(|label| !is_available(label)) {
        None => Ok(()),
        Some(label) => {
            let available: Vec<_> =
                Label::ALL.iter().filter(|label| is_available(label)).map(|label| label.key()).collect();
            let problem =
                format!("samples have no label '{}'; available labels: {}", label.key(), available.join(", "));
            Err(Error::input(&meta.files[0], None, problem))
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
    fn interns_sets_and_the_first_is_empty() {
        let mut sets = LabelSets::default();
        let pid = |value| LabelValue { key: LabelKey::Known(Label::Pid), value };
        let ids = [&[][..], &[pid(1)], &[pid(2)], &[pid(1)]].map(|labels| sets.id(labels));
        assert_eq!(ids, [0, 1, 2, 1]);
        assert_eq!(sets.labels(2), [pid(2)]);
    }

    #[test]
    fn reads_the_labels_of_a_sample() {
        let mut session = Session::default();
        let mut reader = LabelReader::new(
            Label::ALL.to_vec(),
            HashMap::from_iter([(8, "worker".to_owned())]),
            CgroupNames::default(),
        );
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
        let sample = LabelledSample { view: &view, layout: &weights, mode: CpuMode::USER, comm, event: None };
        let mut labels = Vec::new();
        reader.read(&sample, &mut session, &mut labels);
        let text = |value: u64| String::from_utf8_lossy(session.names.name(NameId(value as u32))).into_owned();
        let known_label = |l: &LabelValue| match l.key {
            LabelKey::Known(label) => label,
            other => panic!("{other:?} is not of a recording"),
        };
        let show = |l: &LabelValue| match known_label(l).unit() {
            Some(_) => format!("{} {}", known_label(l).key(), l.value),
            None => format!("{} {}", known_label(l).key(), text(l.value)),
        };
        let expected = [
            "pid 7",
            "tid 8",
            "comm make",
            "thread_name :8",
            "thread_pool :<N>",
            "thread_type worker",
            "cpu 3",
            "time 0",
            "timestamp_ns 99",
            "execution_mode Host User",
            "data_src Unknown Level",
            "snoop_status Hit",
            "weight 562954248388613",
            "operation load",
            "remote no",
            "cache_latency 5",
            "total_latency 1",
        ];
        assert_eq!(labels.iter().map(show).collect::<Vec<_>>(), expected);
        let (view, layout) = (SampleView { weight: Some(6), ..SampleView::default() }, SampleLayout::default());
        labels.clear();
        let sample = LabelledSample { view: &view, layout: &layout, mode: CpuMode(0), comm: None, event: None };
        reader.read(&sample, &mut session, &mut labels);
        let kinds: Vec<_> = labels.iter().map(|l| (known_label(l), l.value)).collect();
        assert_eq!(kinds, [(Label::Weight, 6), (Label::TotalLatency, 6)]);
    }
}
