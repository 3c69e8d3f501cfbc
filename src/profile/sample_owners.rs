//! Whose samples are: what is mapped for their process, which labels they have, to which part they belong.

use super::labels::{Label, LabelReader, LabelSets, LabelValue, LabelledSample, LabelsId};
use super::options::{ProfileOptions, Split};
use super::parts::{Key, Parts};
use crate::session::map::MapId;
use crate::session::{Session, ViewId};

/// Tells whose samples are.
#[derive(Default)]
pub struct Owners {
    split: Option<Split>,
    reader: LabelReader,
    /// Whether all samples of a process have the same labels and the same part.
    is_by_process: bool,
    /// The owners that were told last, by process, where that is so.
    latest: [Option<CachedOwner>; Self::LATEST],
}

/// Whose a sample is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// What is mapped.
    pub view: ViewId,
    /// The program that the process runs.
    pub main_map: Option<MapId>,
    /// The number of the part.
    pub part: usize,
    /// The labels, where all samples of the process have the same.
    pub labels: Option<LabelsId>,
}

/// An owner that was told, while the session was in a state.
#[derive(Clone, Copy)]
struct CachedOwner {
    pid: u32,
    state: u64,
    owner: Owner,
}

impl Owners {
    /// As many processes as run side by side.
    const LATEST: usize = 16;

    /// By the options.
    pub fn new(options: &ProfileOptions) -> Self {
        let own = options.imported.as_ref().and_then(|imported| imported.default_labels.clone());
        // Labels that are asked for by name are all that samples get.
        let imported = options.imported.clone().filter(|_| options.labels.is_none());
        let has_imported = imported.as_ref().is_some_and(|imported| !imported.labels.is_empty());
        let labels = options.labels.clone().or(own).unwrap_or(ProfileOptions::DEFAULT_LABELS.to_vec());
        let is_by_process = !has_imported
            && labels.iter().all(|label| matches!(label, Label::Pid | Label::Comm))
            && matches!(options.split, None | Some(Split::Pid | Split::Comm | Split::Event));
        let reader = LabelReader::new(labels, options.thread_types.clone()).with_imported(imported);
        Self { split: options.split, reader, is_by_process, ..Self::default() }
    }

    /// Whose the sample is. Labels that not all samples of its process have are read to `labels`.
    #[inline]
    pub fn of(
        &mut self,
        session: &mut Session,
        (sets, parts): (&mut LabelSets, &mut Parts),
        sample: LabelledSample<'_>,
        labels: &mut Vec<LabelValue>,
    ) -> Owner {
        if let Some((pid, _)) = sample.view.task
            && let Some(told) = &self.latest[pid as usize % Self::LATEST]
            && (told.pid, told.state) == (pid, session.state())
        {
            return told.owner;
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
    ) -> Owner {
        let pid = sample.view.task.map(|(pid, _)| pid);
        let seen = session.seen(pid.unwrap_or(u32::MAX));
        labels.clear();
        self.reader.read(&LabelledSample { comm: seen.comm, ..sample }, session, labels);
        let part = parts.index(Key::of(self.split, pid, sample.view.cgroup, session));
        let labels = self.is_by_process.then(|| sets.id(labels));
        let owner = Owner { view: seen.view, main_map: seen.main_map, part, labels };
        if let Some(pid) = pid.filter(|_| self.is_by_process) {
            self.latest[pid as usize % Self::LATEST] = Some(CachedOwner { pid, state: session.state(), owner });
        }
        owner
    }
}
