//! Rewriting of a recording: filtered, compressed, in another container or byte order.

use super::{Convert, Recording};
use crate::formats::recording::FORMAT;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::filter::time::Times;
use crate::rewrite::framework::output::RecordingOptions;
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::PassOptions;
use crate::rewrite::{Anonymize, Comm, Event, Pid, StripUserStack, Tid, Time, Unwind};
use perf_data::abi::Endian;
use perf_data::container::access::FileMode;
use perf_data::container::read::Container;
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
    convert: Convert<'a>,
    comms: Vec<String>,
    pids: Vec<u32>,
    tids: Vec<u32>,
    events: Vec<String>,
    options: RecordingOptions,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self {
            convert: Convert::new(recording),
            comms: Vec::new(),
            pids: Vec::new(),
            tids: Vec::new(),
            events: Vec::new(),
            options: RecordingOptions::default(),
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
        self.apply(Time { times })
    }

    /// Drops user stack dumps and user registers from samples.
    pub fn strip_user_stacks(self) -> Self {
        self.apply(StripUserStack::default())
    }

    /// Replaces user stack dumps and user registers with unwound call chains. Object files are searched as
    /// [for symbols](Recording::with_symbols).
    pub fn unwind_user_stacks(self) -> Self {
        self.apply(Unwind::default())
    }

    /// Replaces names, paths and addresses, and drops raw data, registers and stacks.
    pub fn anonymize(self, key: Key) -> Self {
        self.apply(Anonymize::new(key))
    }

    /// Adds a pass of the library after the previous ones; [`crate::rewrite`] lists them. Passes that could disclose something
    /// run before anonymization.
    pub fn apply(mut self, pass: impl PassOptions) -> Self {
        self.convert = self.convert.apply(pass);
        self
    }

    /// Adds a pass of your own after the previous ones.
    pub fn pass(mut self, pass: impl Pass + 'static) -> Self {
        self.convert = self.convert.pass(pass);
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
        self.convert = self.convert.overwrite();
        self
    }

    /// Sets the permissions of the recording. By default, only users who may read the input may read it.
    pub fn mode(mut self, mode: FileMode) -> Self {
        self.convert = self.convert.mode(mode);
        self
    }

    /// Writes the recording; returns the ledger of the records. A path that ends in `.gz` or `.zst` is compressed as a whole. The
    /// file appears when it is complete.
    ///
    /// # Errors
    /// If the recording cannot be read, a filter matches nothing in it, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let Self { mut convert, comms, pids, tids, events, options } = self;
        // Each selects from what the previous one keeps.
        if !tids.is_empty() {
            convert = convert.apply_first(Tid { ids: tids });
        }
        if !pids.is_empty() {
            convert = convert.apply_first(Pid { ids: pids });
        }
        if !comms.is_empty() {
            convert = convert.apply_first(Comm { names: comms });
        }
        if !events.is_empty() {
            convert = convert.apply_first(Event { names: events, keep_attrs: false });
        }
        let path = path.as_ref();
        let envelopes = Envelopes { list: strip(&path.to_string_lossy()).1, level: None };
        Ok(convert.to(options).write_as(&FORMAT, &envelopes, path)?.ledger)
    }
}
