//! The pass trait.

use crate::rewrite::header::Header;
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::Container;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// One step of a rewrite. [`Passes`](super::passes::Passes) chains them: each pass sees what the previous one passes on.
///
/// The calls come in this order: the [pre-scan](Self::pre_scan) receives everything that the previous passes pass on; then
/// [`edit`](Self::edit) changes the recording's metadata; then [`before`](Self::before) puts the pass before a sink, once for
/// each pre-scan of a later pass and once for the output. The default implementation of each method does nothing.
///
/// A pass does not count records: [`Passes`](super::passes::Passes) counts what enters and leaves each pass.
pub trait Pass: Send {
    /// Name in the ledger: usually the option that requests the pass.
    fn name(&self) -> String;

    /// Whether the pass changes, adds, removes or moves records. If no pass does, compressed frames, corrupt bytes and everything
    /// between records are preserved byte for byte. If any pass does, records are passed on uncompressed and without gaps.
    fn changes_records(&self) -> bool {
        true
    }

    /// The version of perf that the pass writes for, if any.
    fn perf_version(&self) -> Option<PerfVersion> {
        None
    }

    /// Whether the pass replaces addresses, as quipper does.
    fn replaces_addresses(&self) -> bool {
        false
    }

    /// Whether the pass anonymizes, so that nothing may bypass it.
    fn anonymizes(&self) -> bool {
        false
    }

    /// Returns the sink of the pass's pre-scan, if it needs to see the whole recording first.
    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        None
    }

    /// Whether the pass [edits](Self::edit) the metadata.
    fn edits(&self) -> bool {
        false
    }

    /// Changes the recording's metadata: events, features, build IDs. Called once, when all metadata is known; for a pipe that
    /// takes a pre-scan.
    ///
    /// # Errors
    /// Fails if the edit is not possible; then nothing is written.
    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let _ = header;
        Ok(())
    }

    /// Puts the pass before a sink. Records arrive, and must be passed on, with the metadata from before the pass; the changes of
    /// [`edit`](Self::edit) are applied after it.
    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        sink
    }

    /// Moves other outputs of the pass, such as files, into place. Called once, when the output is complete.
    /// [`Passes`](super::passes::Passes) calls it.
    ///
    /// # Errors
    /// Fails if the files cannot be moved.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Adds notes for the user to the ledger, at the end.
    fn report(&self, ledger: &mut Ledger) {
        let _ = ledger;
    }
}

/// A first pass over the whole recording.
pub struct PreScan<'a> {
    /// The order in which the sink needs the records.
    pub order: PreScanOrder,
    /// The sink that receives them.
    pub sink: Box<dyn Sink + 'a>,
}

/// The order of records in a pre-scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreScanOrder {
    /// File order.
    File,
    /// Time order.
    Time,
}

impl<'a> PreScan<'a> {
    /// Creates a pre-scan in file order.
    pub fn in_file_order(sink: impl Sink + 'a) -> Self {
        Self { order: PreScanOrder::File, sink: Box::new(sink) }
    }

    /// Creates a pre-scan that calls a function once all metadata is known: for a pipe, at its end.
    pub fn at_meta(check: impl FnMut(&Meta) -> Result<()> + 'a) -> Self {
        Self::in_file_order(AtMeta { check, is_done: false })
    }

    /// Creates a pre-scan in time order, for passes that depend on names or mappings at a point in time.
    pub fn in_time_order(sink: impl Sink + 'a) -> Self {
        Self { order: PreScanOrder::Time, sink: Box::new(sink) }
    }
}

/// Waits until all metadata is known.
struct AtMeta<F> {
    check: F,
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
        (self.check)(meta)
    }
}
