//! What a recording tells of itself, put in place: told before the first record of a file, and by the records of a pipe.

use super::Header;
use crate::abi;
use crate::abi::bytes::Reader;
use crate::abi::feature::FeatureId;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::event_update::EventUpdate;
use crate::abi::record::header_attr::HeaderAttr;
use crate::abi::record::{Misc, RecordType};
use crate::container::block::Origin;
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::container::write::pipe;
use crate::error::{Error, Result};
use crate::rewrite::replacement::{Place, RecordBuffer};
use crate::stream::Sink;
use crate::stream::meta::{Meta, is_about_recording};
use crate::stream::raw::{Gap, Raw};
use crate::stream::stage::Stage;
use hashbrown::{HashMap, HashSet};

/// What is told before and after a pass has [edited](crate::rewrite::pass::Pass::edit) it.
#[derive(Debug)]
pub struct Edited {
    before: Header,
    after: Header,
    /// Number of each event of before, by its ids.
    by_id: HashMap<u64, usize>,
    build_ids: [HashSet<(Misc, BuildId)>; 2],
}

impl Edited {
    /// Compares what was told with what is to be told.
    ///
    /// # Errors
    /// Where a feature that follows the events cannot.
    pub fn new(before: Header, mut after: Header) -> Result<Self> {
        after.follow_events(&before)?;
        let mut by_id = HashMap::new();
        for (number, event) in before.events.iter().enumerate() {
            by_id.extend(event.iter().flat_map(|event| event.ids.iter().map(move |&id| (id, number))));
        }
        let build_ids = [&before, &after].map(|header| header.build_ids.iter().cloned().collect());
        Ok(Self { before, after, by_id, build_ids })
    }

    /// What is known of the recording then, before its first record.
    ///
    /// # Errors
    /// Where what is told has no place in a file.
    pub fn known(&self, meta: &Meta) -> Result<Meta> {
        match meta.container {
            Container::Pipe => Ok(meta.clone()),
            Container::File | Container::Directory => self.after.known(meta, &self.before),
        }
    }

    /// The number of the event that a HEADER_ATTR tells.
    fn number(&self, attr: &HeaderAttr) -> Option<usize> {
        match attr.ids.first() {
            Some(id) => self.by_id.get(id).copied(),
            None => {
                let is_told = |event: &Option<FileAttr>| event.as_ref().is_some_and(|event| event.attr == attr.attr);
                self.before.events.iter().position(is_told)
            }
        }
    }

    /// Whether a feature is another one after, and what is in it then.
    fn changed(&self, id: FeatureId) -> Option<Option<&[u8]>> {
        let after = self.after.features.get(&id);
        (after != self.before.features.get(&id)).then(|| after.map(AsRef::as_ref))
    }

    /// The record that takes the place of one that tells of the recording; without bytes where none does, `None` where it
    /// stays.
    fn rewritten(&self, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let (body, endian) = (raw.body(), raw.endian());
        let gone = Some(Vec::new());
        Ok(match raw.header().kind {
            RecordType::HEADER_ATTR => {
                let Ok((told, _)) = abi::parse::<HeaderAttr>(body, endian, ()) else { return Ok(None) };
                match self.number(&told).map(|number| (&self.before.events[number], &self.after.events[number])) {
                    None => None,
                    Some((before, after)) if before == after => None,
                    Some((_, None)) => gone,
                    Some((_, Some(after))) => {
                        let ids = told.ids.into_iter().filter(|id| after.ids.contains(id)).collect();
                        pipe::event(&FileAttr { attr: after.attr.clone(), ids }, endian)?
                    }
                }
            }
            RecordType::EVENT_UPDATE => {
                let update = abi::parse::<EventUpdate>(body, endian, ()).ok();
                let number = update.and_then(|(update, _)| self.by_id.get(&update.id).copied());
                number.filter(|&number| self.after.events[number].is_none()).and(gone)
            }
            RecordType::HEADER_FEATURE => {
                let id = Reader::new(body, endian).u64().and_then(|id| u32::try_from(id).ok());
                match id.filter(|_| body.len() > size_of::<u64>()).map(FeatureId) {
                    Some(id) => match self.changed(id) {
                        None => None,
                        Some(None) => gone,
                        Some(Some(bytes)) => Some(pipe::feature(id, bytes, endian)?.ok_or_else(|| no_place(id))?),
                    },
                    None => None,
                }
            }
            RecordType::HEADER_TRACING_DATA => match self.changed(FeatureId::TRACING_DATA) {
                None => None,
                Some(None) => gone,
                Some(Some(bytes)) => Some(pipe::tracing_data(bytes, endian)?),
            },
            RecordType::HEADER_BUILD_ID => {
                let told = abi::parse::<BuildId>(body, endian, ()).ok().map(|(told, _)| (raw.header().misc, told));
                let [before, after] = &self.build_ids;
                told.filter(|told| before.contains(told) && !after.contains(told)).and(gone)
            }
            _ => None,
        })
    }

    /// The record of the formats of tracepoints, with them behind it; `None` where there are none.
    fn tracing_data(&self) -> Result<Option<Vec<u8>>> {
        let bytes = self.after.features.get(&FeatureId::TRACING_DATA);
        bytes.map(|bytes| pipe::tracing_data(bytes, self.after.endian)).transpose()
    }

    /// The records of a pipe that tell what was not told before.
    fn additions(&self) -> Result<Vec<Vec<u8>>> {
        let (endian, mut records) = (self.after.endian, Vec::new());
        for event in self.after.events.iter().skip(self.before.events.len()).flatten() {
            let what = || Error::incompatible("an event has more ids than a record of a pipe can hold");
            records.push(pipe::event(event, endian)?.ok_or_else(what)?);
        }
        for (&id, bytes) in &self.after.features {
            if self.before.features.contains_key(&id) {
                continue;
            }
            records.push(match id {
                FeatureId::TRACING_DATA => pipe::tracing_data(bytes, endian)?,
                _ if pipe::has_feature(id) => pipe::feature(id, bytes, endian)?.ok_or_else(|| no_place(id))?,
                _ => return Err(no_place(id)),
            });
        }
        for (misc, build_id) in self.after.build_ids.iter().filter(|told| !self.build_ids[0].contains(*told)) {
            records.push(pipe::build_id(*misc, build_id, endian)?.ok_or_else(|| no_place(FeatureId::BUILD_ID))?);
        }
        Ok(records)
    }
}

fn no_place(id: FeatureId) -> Error {
    Error::incompatible(format!(
        "a pipe has no place for the feature {id}, or not for so much of it: say --container file"
    ))
}

/// Passes records on with what is known of the recording as [edited](Edited), as a reader of what comes out will know it.
pub struct HeaderRewriter<'a> {
    edited: &'a Edited,
    /// What is known of what is passed on.
    meta: Option<Meta>,
    has_added: bool,
    changed: RecordBuffer,
}

impl<'a> HeaderRewriter<'a> {
    /// By what was edited.
    pub fn new(edited: &'a Edited) -> Self {
        Self { edited, meta: None, has_added: false, changed: RecordBuffer::default() }
    }

    /// Passes on what a pipe did not tell, behind the header's records and before the mark of their end.
    fn add(&mut self, meta: &Meta, place: Place, sink: &mut (impl Sink + ?Sized)) -> Result<()> {
        if meta.container == Container::Pipe && !std::mem::replace(&mut self.has_added, true) {
            for record in self.edited.additions()? {
                self.changed.record = record;
                self.changed.pass_at(&mut Noted { sink, meta: &mut self.meta }, meta, place)?;
            }
        }
        Ok(())
    }
}

impl<S: Sink + ?Sized> Stage<S> for HeaderRewriter<'_> {
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        let known = self.meta.insert(self.edited.known(meta)?);
        sink.begin(known)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let is_end = raw.header().kind == RecordType::HEADER_FEATURE && raw.body().len() <= size_of::<u64>();
        if !self.has_added && (is_end || !is_about_recording(&raw.header())) {
            self.add(meta, Place { source: 0, base: raw.offset(), origin: Origin::File }, sink)?;
        }
        // What stood before the record that announces it is not passed on where nothing but records is.
        let is_misplaced = raw.header().kind == RecordType::HEADER_TRACING_DATA
            && self.meta.as_ref().is_some_and(|meta| !meta.features.contains_key(&FeatureId::TRACING_DATA))
            && raw.payload_len() == 0;
        let mut sink = Noted { sink, meta: &mut self.meta };
        if !is_about_recording(&raw.header()) {
            return sink.record(meta, raw);
        }
        let retold = match self.edited.rewritten(raw)? {
            None if is_misplaced => self.edited.tracing_data()?,
            retold => retold,
        };
        match retold {
            None => sink.record(meta, raw),
            Some(record) => {
                self.changed.record = record;
                self.changed.pass(&mut sink, meta, raw)
            }
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        self.add(meta, Place { source: 0, base: gap.block.offset(gap.at), origin: Origin::File }, sink)?;
        if let Some(known) = &mut self.meta {
            known.note_gap(gap);
        }
        sink.gap(self.meta.as_ref().unwrap_or(meta), gap)
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.add(meta, Place { source: 0, base: 0, origin: Origin::File }, sink)?;
        sink.end(self.meta.as_ref().unwrap_or(meta))
    }
}

/// Takes note of what records tell of the recording, and passes them on with that.
struct Noted<'a, S: ?Sized> {
    sink: &'a mut S,
    meta: &'a mut Option<Meta>,
}

impl<S: Sink + ?Sized> Sink for Noted<'_, S> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Some(known) = self.meta else { return self.sink.record(meta, raw) };
        if is_about_recording(&raw.header()) {
            // What cannot be read was told when it was read first.
            let _ = known.note(raw);
        }
        self.sink.record(known, raw)
    }
}
