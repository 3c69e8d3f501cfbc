//! Applies an edit of the metadata: in the header of a file, or in the records of a pipe.

use super::Header;
use crate::rewrite::framework::replacement::{RecordBuffer, RecordPlacement};
use hashbrown::{HashMap, HashSet};
use perf_data::abi;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::event_update::EventUpdate;
use perf_data::abi::record::header_attr::HeaderAttr;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::container::block::Origin;
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::pipe;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::stage::{Before, Stage};

/// The metadata before and after a pass has [edited](crate::rewrite::framework::pass::Pass::edit) it.
#[derive(Debug)]
pub(crate) struct MetadataEdit {
    before: Header,
    after: Header,
    /// Number of each original event, by its IDs.
    by_id: HashMap<u64, usize>,
    build_ids: [HashSet<(Misc, BuildId)>; 2],
}

impl MetadataEdit {
    /// Compares the metadata before and after the edit.
    ///
    /// # Errors
    /// Fails if a feature that describes the events cannot be adapted.
    pub(crate) fn new(before: Header, mut after: Header) -> Result<Self> {
        after.follow_events(&before)?;
        let mut by_id = HashMap::new();
        for (number, event) in before.events.iter().enumerate() {
            by_id.extend(event.iter().flat_map(|event| event.ids.iter().map(move |&id| (id, number))));
        }
        let build_ids = [&before, &after].map(|header| header.build_ids.iter().cloned().collect());
        Ok(Self { before, after, by_id, build_ids })
    }

    /// The edited metadata of the recording before its first record.
    ///
    /// # Errors
    /// Fails if the metadata does not fit in a file.
    pub(crate) fn initial_meta(&self, meta: &Meta) -> Result<Meta> {
        match meta.container {
            Container::Pipe => Ok(meta.clone()),
            Container::File | Container::Directory => self.after.initial_meta(meta, &self.before),
        }
    }

    /// The number of the event that a HEADER_ATTR record describes.
    fn number(&self, attr: &HeaderAttr) -> Option<usize> {
        match attr.ids.first() {
            Some(id) => self.by_id.get(id).copied(),
            None => {
                // Without IDs, an event is identified by its attr.
                let is_same = |event: &Option<FileAttr>| event.as_ref().is_some_and(|event| event.attr == attr.attr);
                self.before.events.iter().position(is_same)
            }
        }
    }

    /// The edited content of a feature, or `Some(None)` if it was removed; `None` if it is unchanged.
    fn changed(&self, id: FeatureId) -> Option<Option<&[u8]>> {
        let after = self.after.features.get(&id);
        (after != self.before.features.get(&id)).then(|| after.map(AsRef::as_ref))
    }

    /// The record that replaces a metadata record: without bytes if the record is removed, `None` if it is unchanged.
    fn rewritten(&self, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let (body, endian) = (raw.body(), raw.endian());
        let removed = Some(Vec::new());
        Ok(match raw.header().kind {
            RecordType::HEADER_ATTR => {
                let Ok((header_attr, _)) = abi::parse::<HeaderAttr>(body, endian, ()) else { return Ok(None) };
                match self.number(&header_attr).map(|number| (&self.before.events[number], &self.after.events[number]))
                {
                    None => None,
                    Some((before, after)) if before == after => None,
                    Some((_, None)) => removed,
                    Some((_, Some(after))) => {
                        let ids = header_attr.ids.into_iter().filter(|id| after.ids.contains(id)).collect();
                        pipe::event(&FileAttr { attr: after.attr.clone(), ids }, endian)?
                    }
                }
            }
            RecordType::EVENT_UPDATE => {
                let update = abi::parse::<EventUpdate>(body, endian, ()).ok();
                let number = update.and_then(|(update, _)| self.by_id.get(&update.id).copied());
                number.filter(|&number| self.after.events[number].is_none()).and(removed)
            }
            RecordType::HEADER_FEATURE => {
                let id = ByteReader::new(body, endian).u64().and_then(|id| u32::try_from(id).ok());
                // A record without content marks the end of the features.
                match id.filter(|_| body.len() > size_of::<u64>()).map(FeatureId) {
                    Some(id) => match self.changed(id) {
                        None => None,
                        Some(None) => removed,
                        Some(Some(bytes)) => Some(pipe::feature(id, bytes, endian)?.ok_or_else(|| cannot_store(id))?),
                    },
                    None => None,
                }
            }
            RecordType::HEADER_TRACING_DATA => match self.changed(FeatureId::TRACING_DATA) {
                None => None,
                Some(None) => removed,
                Some(Some(bytes)) => Some(pipe::tracing_data(bytes, endian)?),
            },
            RecordType::HEADER_BUILD_ID => {
                let build_id =
                    abi::parse::<BuildId>(body, endian, ()).ok().map(|(build_id, _)| (raw.header().misc, build_id));
                let [before, after] = &self.build_ids;
                build_id.filter(|build_id| before.contains(build_id) && !after.contains(build_id)).and(removed)
            }
            _ => None,
        })
    }

    /// The HEADER_TRACING_DATA record followed by the tracepoint formats; `None` if there are none.
    fn tracing_data(&self) -> Result<Option<Vec<u8>>> {
        let bytes = self.after.features.get(&FeatureId::TRACING_DATA);
        bytes.map(|bytes| pipe::tracing_data(bytes, self.after.endian)).transpose()
    }

    /// The pipe records for added metadata.
    fn additions(&self) -> Result<Vec<Vec<u8>>> {
        let (endian, mut records) = (self.after.endian, Vec::new());
        for event in self.after.events.iter().skip(self.before.events.len()).flatten() {
            let too_many_ids = || Error::incompatible("an event has more ids than a pipe record can hold");
            records.push(pipe::event(event, endian)?.ok_or_else(too_many_ids)?);
        }
        for (&id, bytes) in &self.after.features {
            if self.before.features.contains_key(&id) {
                continue;
            }
            records.push(match id {
                FeatureId::TRACING_DATA => pipe::tracing_data(bytes, endian)?,
                _ if pipe::has_feature(id) => pipe::feature(id, bytes, endian)?.ok_or_else(|| cannot_store(id))?,
                _ => return Err(cannot_store(id)),
            });
        }
        for (misc, build_id) in self.after.build_ids.iter().filter(|build_id| !self.build_ids[0].contains(*build_id)) {
            records.push(pipe::build_id(*misc, build_id, endian)?.ok_or_else(|| cannot_store(FeatureId::BUILD_ID))?);
        }
        Ok(records)
    }
}

fn cannot_store(id: FeatureId) -> Error {
    Error::incompatible(format!("a pipe cannot store the feature {id}, or not one of this size"))
        .remedy("container", "file")
}

/// Passes records on with the [edited](MetadataEdit) metadata, as a reader of the output will see it.
pub(crate) struct HeaderRewriter<'a> {
    edited: &'a MetadataEdit,
    /// The metadata of the output so far.
    meta: Option<Meta>,
    has_added: bool,
    changed: RecordBuffer,
}

impl<'a> HeaderRewriter<'a> {
    /// Creates the stage for an edit.
    pub(crate) fn new(edited: &'a MetadataEdit) -> Self {
        Self { edited, meta: None, has_added: false, changed: RecordBuffer::default() }
    }

    /// Passes on added metadata of a pipe, after the header records and before the end of the features.
    fn add(&mut self, meta: &Meta, placement: RecordPlacement, sink: &mut (impl Sink + ?Sized)) -> Result<()> {
        if meta.container == Container::Pipe && !std::mem::replace(&mut self.has_added, true) {
            for record in self.edited.additions()? {
                self.changed.record = record;
                self.changed.pass_at(&mut Before::new(MetaTracker(&mut self.meta), &mut *sink), meta, placement)?;
            }
        }
        Ok(())
    }
}

impl<S: Sink + ?Sized> Stage<S> for HeaderRewriter<'_> {
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        let edited_meta = self.meta.insert(self.edited.initial_meta(meta)?);
        sink.begin(edited_meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let is_end = raw.header().kind == RecordType::HEADER_FEATURE && raw.body().len() <= size_of::<u64>();
        if !self.has_added && (is_end || !raw.header().kind.is_about_recording()) {
            self.add(meta, RecordPlacement { source: 0, base: raw.offset(), origin: Origin::File }, sink)?;
        }
        // Tracing data that preceded its record (a misplaced payload) is lost unless the record is written again with it.
        let is_misplaced = raw.header().kind == RecordType::HEADER_TRACING_DATA
            && self.meta.as_ref().is_some_and(|meta| !meta.features.contains_key(&FeatureId::TRACING_DATA))
            && raw.payload_len() == 0;
        let mut sink = Before::new(MetaTracker(&mut self.meta), sink);
        if !raw.header().kind.is_about_recording() {
            return sink.record(meta, raw);
        }
        let rewritten = match self.edited.rewritten(raw)? {
            None if is_misplaced => self.edited.tracing_data()?,
            rewritten => rewritten,
        };
        match rewritten {
            None => sink.record(meta, raw),
            Some(record) => {
                self.changed.record = record;
                self.changed.pass(&mut sink, meta, raw)
            }
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        self.add(meta, RecordPlacement { source: 0, base: gap.block.offset(gap.at), origin: Origin::File }, sink)?;
        Before::new(MetaTracker(&mut self.meta), sink).gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.add(meta, RecordPlacement { source: 0, base: 0, origin: Origin::File }, sink)?;
        sink.end(self.meta.as_ref().unwrap_or(meta))
    }
}

/// Updates the metadata with the records that pass through.
struct MetaTracker<'a>(&'a mut Option<Meta>);

impl<S: Sink> Stage<S> for MetaTracker<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let Some(tracked) = self.0 else { return sink.record(meta, raw) };
        if raw.header().kind.is_about_recording() {
            // Malformed metadata was reported when the record was read.
            let _ = tracked.note(raw);
        }
        sink.record(tracked, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        let Some(tracked) = self.0 else { return sink.gap(meta, gap) };
        tracked.note_gap(gap);
        sink.gap(tracked, gap)
    }
}
