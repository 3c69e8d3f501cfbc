//! What a pass is.

use super::header::Header;
use super::perf_version::since::PerfVersion;
use crate::container::read::Container;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// One step of a rewrite. Steps are put one behind the other by [`Passes`](super::passes::Passes): what one passes on is what
/// the next one sees.
///
/// A pass is used in this order: its [look](Self::pre_scan) is given all that the passes before it pass on; then it
/// [edits](Self::edit) what the recording tells of itself; then it is put [before](Self::before) a sink, once for each look of
/// the passes behind it and once for the output. A pass that does without one of these leaves that method as it is.
///
/// Nobody keeps an account: whoever runs the passes counts what goes in and comes out of each.
pub trait Pass {
    /// What it is called where the account tells what it left out: most often the option that asks for it.
    fn name(&self) -> String;

    /// Whether it changes, adds, leaves out or moves records. Where no pass does, frames of compressed records, damage and
    /// all else between the records stays what it was, byte for byte; where one does, records are passed on plain and alone.
    fn changes_records(&self) -> bool {
        true
    }

    /// The version of perf that is to read the output, where it writes for one.
    fn perf_version(&self) -> Option<PerfVersion> {
        None
    }

    /// Whether it replaces addresses by others, as quipper does.
    fn remaps_addresses(&self) -> bool {
        false
    }

    /// Whether it anonymizes, so that nothing that it does not see may be passed on.
    fn anonymizes(&self) -> bool {
        false
    }

    /// What it has to see of the whole recording first.
    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        None
    }

    /// Whether it [edits](Self::edit).
    fn edits(&self) -> bool {
        false
    }

    /// Changes what the recording tells of itself: events, features, build ids. It is asked once, when all of that is known,
    /// which of a pipe takes a look of its own.
    ///
    /// # Errors
    /// Where that cannot be done; then nothing is written.
    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let _ = header;
        Ok(())
    }

    /// Puts it before a sink. Records come, and are to be passed on, with what is known of the recording before the pass;
    /// what it [edits](Self::edit) is put in place behind it.
    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        sink
    }

    /// Puts in place what it made besides records, such as files: once, when the output is complete. Whoever runs
    /// [`Passes`](super::passes::Passes) need not call it.
    ///
    /// # Errors
    /// Where that cannot be done.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Notes at the end what the user should know.
    fn report(&self, ledger: &mut Ledger) {
        let _ = ledger;
    }
}

/// A look at the whole recording.
pub struct PreScan<'a> {
    /// The order in which it needs the records.
    pub order: PreScanOrder,
    /// What takes them.
    pub sink: Box<dyn Sink + 'a>,
}

/// The order of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreScanOrder {
    /// As they stand in the file.
    File,
    /// As they happened.
    Time,
}

impl<'a> PreScan<'a> {
    /// In the order of the file.
    pub fn in_file_order(sink: impl Sink + 'a) -> Self {
        Self { order: PreScanOrder::File, sink: Box::new(sink) }
    }

    /// At what the recording tells of itself, once all of that is known: of a pipe at its end.
    pub fn at_meta(look: impl FnMut(&Meta) -> Result<()> + 'a) -> Self {
        Self::in_file_order(AtMeta { look, is_done: false })
    }

    /// In the order of time: for what depends on who was called what, or what was mapped where, at a time.
    pub fn in_time_order(sink: impl Sink + 'a) -> Self {
        Self { order: PreScanOrder::Time, sink: Box::new(sink) }
    }
}

/// Waits until all is known that a recording tells of itself.
struct AtMeta<F> {
    look: F,
    is_done: bool,
}

impl<F: FnMut(&Meta) -> Result<()>> Sink for AtMeta<F> {
    fn record(&mut self, meta: &Meta, _: &Raw<'_>) -> Result<()> {
        self.is_done = meta.container != Container::Pipe;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        (self.look)(meta)
    }
}
