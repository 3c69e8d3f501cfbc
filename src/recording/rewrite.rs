//! Writing a recording anew: filtered, compressed, in another container or byte order.

use super::Recording;
use super::output::PathOutput;
use crate::abi::Endian;
use crate::container::read::Container;
use crate::container::write::envelope::{Envelopes, strip};
use crate::error::Result;
use crate::rewrite::filter::comm::CommFilter;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::pass::FilterPass;
use crate::rewrite::filter::task::{TaskFilter, TaskNumber};
use crate::rewrite::filter::time::{TimeFilter, Times};
use crate::rewrite::output::{RecordingOptions, write};
use crate::rewrite::pass::Pass;
use crate::rewrite::passes::Passes;
use crate::rewrite::strip_user_stack::StripUserStackPass;
use crate::stream::ledger::Ledger;
use std::path::Path;

/// A recording that is to be written anew; begun by [`Recording::rewrite`].
///
/// Without any change the same bytes are written. Filters keep the records that the kept samples need: mappings, names, forks.
/// A filter that is called several times keeps what any of the calls asks for.
#[must_use = "nothing is written until `write` is called"]
pub struct Rewrite<'a> {
    recording: &'a Recording,
    comms: Vec<String>,
    pids: Vec<u32>,
    tids: Vec<u32>,
    events: Vec<String>,
    passes: Vec<Box<dyn Pass>>,
    options: RecordingOptions,
    overwrite: bool,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            comms: Vec::new(),
            pids: Vec::new(),
            tids: Vec::new(),
            events: Vec::new(),
            passes: Vec::new(),
            options: RecordingOptions::default(),
            overwrite: false,
        }
    }

    /// Keeps only samples of threads that had this name at the time of the sample.
    pub fn keep_comm(mut self, name: impl Into<String>) -> Self {
        self.comms.push(name.into());
        self
    }

    /// Keeps only samples of this process.
    pub fn keep_pid(mut self, pid: u32) -> Self {
        self.pids.push(pid);
        self
    }

    /// Keeps only samples of this thread.
    pub fn keep_tid(mut self, tid: u32) -> Self {
        self.tids.push(tid);
        self
    }

    /// Keeps only samples of this event, with or without its modifiers.
    pub fn keep_event(mut self, name: impl Into<String>) -> Self {
        self.events.push(name.into());
        self
    }

    /// Keeps only samples of these times.
    pub fn keep_times(self, times: Times) -> Self {
        let read = self.recording.read.clone();
        self.pass(FilterPass::new(TimeFilter::new(times), read))
    }

    /// Drops copies of user stacks and user registers from samples.
    pub fn strip_user_stacks(self) -> Self {
        self.pass(StripUserStackPass::default())
    }

    /// Runs a pass, behind those that were asked for before.
    pub fn pass(mut self, pass: impl Pass + 'static) -> Self {
        self.passes.push(Box::new(pass));
        self
    }

    /// Compresses the records, at a level from 1 (fast) to 22 (small).
    pub fn compress(mut self, level: i32) -> Self {
        self.options.compress = Some(level.clamp(1, 22));
        self
    }

    /// Writes the records uncompressed.
    pub fn decompress(mut self) -> Self {
        self.options.decompress = true;
        self
    }

    /// Writes this container instead of that of the recording.
    pub fn container(mut self, container: Container) -> Self {
        self.options.container = Some(container);
        self
    }

    /// Writes this byte order instead of that of the recording. User stacks, raw data and AUX areas cannot be converted: a
    /// recording that has them is refused, or [written with them as they are](Self::allow_mixed).
    pub fn byte_order(mut self, endian: Endian) -> Self {
        self.options.endian = Some(endian);
        self
    }

    /// Allows bytes that stay in the byte order of the recorder.
    pub fn allow_mixed(mut self) -> Self {
        self.options.allow_mixed = true;
        self
    }

    /// Allows to overwrite a file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes it, and reports what became of the records. A path that ends in `.gz` or `.zst` is compressed as a whole. The
    /// file appears when it is complete.
    ///
    /// # Errors
    /// Where the recording cannot be read, a filter matches nothing that it has, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let path = path.as_ref();
        let Recording { input, read, .. } = self.recording;
        let output = PathOutput::new(path, self.overwrite, input)?;
        let mut passes = Passes::default();
        if !self.events.is_empty() {
            passes.push(EventPass::new(self.events, false));
        }
        if !self.comms.is_empty() {
            passes.push(FilterPass::new(CommFilter::new(self.comms), read.clone()));
        }
        for (number, wanted) in [(TaskNumber::Pid, self.pids), (TaskNumber::Tid, self.tids)] {
            if !wanted.is_empty() {
                passes.push(FilterPass::new(TaskFilter::new(number, wanted), read.clone()));
            }
        }
        self.passes.into_iter().for_each(|pass| passes.push_boxed(pass));
        let envelopes = Envelopes { list: strip(&path.to_string_lossy()).1, level: None };
        let (mut ledger, written) = write(input.clone(), read, &mut passes, &self.options, &envelopes, output)?;
        written.put_in_place()?;
        self.recording.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }
}
