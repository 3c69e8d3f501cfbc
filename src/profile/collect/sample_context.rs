//! Address space, labels and part of samples.

use super::parts::{PartKey, Parts};
use crate::profile::intern::resolver::Viewer;
use crate::profile::labels::{Label, LabelReader, LabelSets, LabelValue, LabelledSample, LabelsId};
use crate::profile::options::{ProfileOptions, SplitBy};
use perf_data::abi::sample::view::SampleView;
use perf_data::session::map::MapId;
use perf_data::session::{Session, ViewId};

/// Determines the contexts of samples.
#[derive(Default)]
pub(crate) struct SampleContexts {
    split: Option<SplitBy>,
    reader: LabelReader,
    /// Whether all samples of a process have the same labels and part.
    is_by_process: bool,
    /// Cache of the latest contexts by process; used if `is_by_process`.
    latest: [Option<CachedContext>; Self::LATEST],
}

/// Address space, labels and part of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleContext {
    /// Version of the address space.
    pub view: ViewId,
    /// Mapping of the program that the process runs.
    pub main_map: Option<MapId>,
    /// Index of the part.
    pub part: usize,
    /// The labels, if all samples of the process have the same.
    pub labels: Option<LabelsId>,
}

impl SampleContext {
    /// Who sees the addresses of the sample.
    #[inline]
    pub(super) fn viewer(self, sample: &SampleView<'_>) -> Viewer {
        Viewer { pid: sample.task.map_or(u32::MAX, |(pid, _)| pid), view: self.view }
    }
}

/// A cached context, valid for one state of the session.
#[derive(Clone, Copy)]
struct CachedContext {
    pid: u32,
    state: u64,
    context: SampleContext,
}

impl SampleContexts {
    /// Number of cached processes, by the last bits of their IDs: samples of a CPU alternate between few. One that collides is
    /// looked up again.
    const LATEST: usize = 16;

    pub(crate) fn new(options: &ProfileOptions) -> Self {
        let own = options.symbols.imported.as_ref().and_then(|imported| imported.default_labels.clone());
        // Selected labels replace those of the imported profile.
        let keeps_labels = options.labels.is_none() && !options.omits_imported_labels;
        let imported = options.symbols.imported.clone().filter(|_| keeps_labels);
        let has_imported = imported.as_ref().is_some_and(|imported| !imported.labels.is_empty());
        let mut labels = options
            .labels
            .clone()
            .or_else(|| {
                let mut own = own.clone()?;
                own.retain(|label| keeps_labels || label.identifies_thread());
                Some(own)
            })
            .unwrap_or_else(|| options.default_labels.unwrap_or(ProfileOptions::DEFAULT_LABELS).to_vec());
        for &label in &options.required_labels {
            // The fields of the recording that the imported profile has no values for are placeholders.
            let recorded = match label {
                Label::ThreadName | Label::ThreadPool => Label::ThreadComm,
                label => label,
            };
            if !labels.contains(&label) && own.as_ref().is_none_or(|own| own.contains(&recorded)) {
                labels.push(label);
            }
        }
        // Samples of a process may be in several cgroups. A split by event is applied later, for each event of a sample.
        let is_by_process = !has_imported
            && labels.iter().all(|label| matches!(label, Label::Pid | Label::Comm))
            && matches!(options.split, None | Some(SplitBy::Pid | SplitBy::Comm | SplitBy::Event));
        let reader = LabelReader::new(labels, options.thread_types.clone(), options.cgroup_names.clone())
            .with_time_quantum(options.time_quantum)
            .with_imported(imported);
        Self { split: options.split, reader, is_by_process, ..Self::default() }
    }

    /// The context of a sample. Labels that differ between samples of a process are read into `labels`.
    #[inline]
    pub(crate) fn context(
        &mut self,
        session: &mut Session,
        (sets, parts): (&mut LabelSets, &mut Parts),
        sample: LabelledSample<'_>,
        labels: &mut Vec<LabelValue>,
    ) -> SampleContext {
        if let Some((pid, _)) = sample.view.task
            && let Some(cached) = &self.latest[pid as usize % Self::LATEST]
            && (cached.pid, cached.state) == (pid, session.state())
        {
            return cached.context;
        }
        self.look_up(session, (sets, parts), sample, labels)
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        session: &mut Session,
        (sets, parts): (&mut LabelSets, &mut Parts),
        sample: LabelledSample<'_>,
        labels: &mut Vec<LabelValue>,
    ) -> SampleContext {
        let pid = sample.view.task.map(|(pid, _)| pid);
        let seen = session.mark_running(pid.unwrap_or(u32::MAX));
        labels.clear();
        self.reader.read(&LabelledSample { comm: seen.comm, ..sample }, session, labels);
        let cgroup = sample.view.cgroup.filter(|_| self.split == Some(SplitBy::Cgroup));
        let cgroup = cgroup.map(|id| (id, self.reader.cgroup_name(id, session)));
        let part = parts.index(PartKey::for_sample(self.split, pid, cgroup, session));
        let labels = self.is_by_process.then(|| sets.id(labels));
        let context = SampleContext { view: seen.view, main_map: seen.main_map, part, labels };
        if let Some(pid) = pid.filter(|_| self.is_by_process) {
            self.latest[pid as usize % Self::LATEST] = Some(CachedContext { pid, state: session.state(), context });
        }
        context
    }
}
