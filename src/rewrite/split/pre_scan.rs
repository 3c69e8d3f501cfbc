//! A first look: which parts there are, and which processes each has to do with.

use super::by::By;
use super::partition::{Choice, Key, PartCriteria};
use crate::abi::record::RecordType;
use crate::abi::sample_view::SampleView;
use crate::error::{Error, Result};
use crate::rewrite::filter::deferred::DeferredChains;
use crate::rewrite::filter::pass::extend;
use crate::rewrite::filter::related_processes::Kin;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::{HashMap, HashSet};

/// A part, as the look finds it.
#[derive(Debug, Default)]
pub struct PartSeen {
    /// Times of its first and last sample.
    pub times: Option<(u64, u64)>,
    /// The processes that it has to do with.
    pub processes: HashSet<u32>,
    /// User call chains that its samples wait for.
    pub deferred: DeferredChains,
    latest: Option<u32>,
}

/// The look.
pub struct SplitScan {
    by: By,
    choice: Choice,
    /// What records tell of processes.
    pub kin: Kin,
    /// The parts, and what each is known by.
    pub parts: HashMap<Key, PartSeen>,
    untold: u64,
}

impl SplitScan {
    /// For parts by that.
    pub fn new(by: By, choice: Choice) -> Self {
        Self { by, choice, kin: Kin::default(), parts: HashMap::new(), untold: 0 }
    }
}

/// Reads a sample of a recording; `None` where it cannot be read.
pub fn read<'a>(view: &mut SampleView<'a>, meta: &Meta, raw: &Raw<'a>) -> Option<()> {
    let (_, event) = meta.events.of(raw)?;
    view.fill(raw.body(), &event.layout, raw.endian()).ok()
}

impl Sink for SplitScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => {}
            RecordType::AUXTRACE_INFO | RecordType::AUXTRACE => {
                let what = format!(
                    "{}: the recording has an AUX area, which cannot be told apart by that; --by event can",
                    self.by
                );
                return Err(Error::not_found(what));
            }
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => return Ok(()),
            _ => {
                self.choice.note(meta, raw);
                self.kin.note(meta, raw);
                return Ok(());
            }
        }
        // One that cannot be read goes where the one before it goes.
        let mut view = SampleView::default();
        if read(&mut view, meta, raw).is_none() {
            return Ok(());
        }
        let Some(key) = self.choice.of_sample(PartCriteria::by_sample(&view), raw.header().len() as u64) else {
            self.untold += 1;
            return Ok(());
        };
        let part = self.parts.entry(key).or_default();
        extend(&mut part.times, view.time);
        part.deferred.wanted_by(&view);
        if let Some((pid, _)) = view.task.filter(|&(pid, _)| part.latest != Some(pid)) {
            part.processes.insert(pid);
            part.latest = Some(pid);
        }
        Ok(())
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        if self.untold > 0 {
            let what = match self.by {
                By::Time(_) | By::Share(_) => "their time",
                By::Cpu => "their CPU",
                _ => "their process and thread",
            };
            let (by, untold) = (self.by, self.untold);
            let (samples, do_not) = if untold == 1 { ("sample", "does not") } else { ("samples", "do not") };
            return Err(Error::not_found(format!(
                "{by}: {untold} {samples} {do_not} tell {what}, and so not in which part to go"
            )));
        }
        if self.parts.is_empty() {
            return Err(Error::not_found(format!("{}: there are no samples, and so no parts", self.by)));
        }
        Ok(())
    }
}

/// Finds from when to when samples go.
#[derive(Debug, Default)]
pub struct Times(pub Option<(u64, u64)>);

impl Sink for Times {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE {
            extend(&mut self.0, meta.events.time(raw));
        }
        Ok(())
    }
}
