//! Rewriting of a recording: filtered, compressed, in another container or byte order.

use super::Recording;
use crate::rewrite::filter::comm::CommFilter;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::pass::FilterPass;
use crate::rewrite::filter::task::{TaskFilter, TaskNumber};
use crate::rewrite::filter::time::{TimeFilter, Times};
use crate::rewrite::output::{RecordingOptions, write};
use crate::rewrite::pass::Pass;
use crate::rewrite::passes::Passes;
use crate::rewrite::strip_user_stack::StripUserStackPass;
use crate::rewrite::unwind::UnwindPass;
use perf_data::abi::Endian;
use perf_data::container::output::OutputRules;
use perf_data::container::read::Container;
use perf_data::container::read::directory::is_recording;
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use std::path::Path;

/// Builder of a rewritten recording, created by [`Recording::rewrite`].
///
/// Without changes, the output is identical. Filters also keep the records that the selected samples depend on: mappings,
/// names, forks. Several calls of the same filter keep the union.
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

    /// Keeps only samples of threads that had this name at the time.
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

    /// Keeps only samples within these times.
    pub fn keep_times(self, times: Times) -> Self {
        let read = self.recording.read.clone();
        self.then(FilterPass::new(TimeFilter::new(times), read))
    }

    /// Drops user stack dumps and user registers from samples.
    pub fn strip_user_stacks(self) -> Self {
        self.then(StripUserStackPass::default())
    }

    /// Replaces user stack dumps and user registers with unwound call chains. Object files are searched as
    /// [for symbols](Recording::with_symbols).
    pub fn unwind_user_stacks(self) -> Self {
        let options = self.recording.symbols.clone().unwrap_or_default();
        let read = self.recording.read.clone();
        self.then(UnwindPass::new(options, false, read))
    }

    /// Adds a pass after the previous ones.
    pub fn pass(self, pass: impl Pass + 'static) -> Self {
        self.then(pass)
    }

    pub(super) fn then(mut self, pass: impl Pass + 'static) -> Self {
        self.passes.push(Box::new(pass));
        self
    }

    /// Compresses the records, at a level from 1 (fastest) to 22 (smallest).
    pub fn compress(mut self, level: i32) -> Self {
        self.options.form.compress = Some(level.clamp(1, 22));
        self
    }

    /// Writes the records uncompressed.
    pub fn decompress(mut self) -> Self {
        self.options.decompress = true;
        self
    }

    /// Sets the container. The default is that of the recording.
    pub fn container(mut self, container: Container) -> Self {
        self.options.form.container = Some(container);
        self
    }

    /// Sets the byte order. The default is that of the recording. User stacks, raw data and AUX areas cannot be converted: a
    /// recording that has them is rejected, unless [mixed byte orders are allowed](Self::allow_mixed).
    pub fn byte_order(mut self, endian: Endian) -> Self {
        self.options.form.endian = Some(endian);
        self
    }

    /// Allows bytes that remain in the byte order of the recording machine.
    pub fn allow_mixed(mut self) -> Self {
        self.options.allow_mixed = true;
        self
    }

    /// Allows overwriting an existing file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes the recording; returns the ledger of the records. A path that ends in `.gz` or `.zst` is compressed as a whole. The
    /// file appears when it is complete.
    ///
    /// # Errors
    /// If the recording cannot be read, a filter matches nothing in it, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let path = path.as_ref();
        let Recording { input, read, .. } = self.recording;
        let rules = OutputRules { overwrite: self.overwrite, replaceable: Some(is_recording), is_directory: false };
        let output = self.recording.output(path, rules)?;
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
        let (mut ledger, written) = write(input.clone(), read, &mut passes, &self.options, &envelopes, &output)?;
        written.put_in_place()?;
        self.recording.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }
}
