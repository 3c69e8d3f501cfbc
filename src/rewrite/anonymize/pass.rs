//! The pass: a look at what is mapped, then record by record.

use super::addresses::{AddressScan, Addresses};
use super::category::{Kept, What};
use super::key::Key;
use super::options::ANONYMIZE;
use super::replace::{Replace, Summary};
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::pipe;
use crate::error::Result;
use crate::rewrite::header::Header;
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::replacement::RecordBuffer;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use crate::stream::stage::{Before, Stage};

/// The pass that anonymizes: `--anonymize`.
#[derive(Debug)]
pub struct AnonymizePass {
    look: AddressScan,
    replace: Replace,
    /// What was done with what the recording tells of itself.
    edited: Summary,
}

impl AnonymizePass {
    /// By a key; all but what is kept.
    pub fn new(key: Key, kept: Kept) -> Self {
        Self { look: AddressScan::default(), replace: Replace::new(key, kept), edited: Summary::default() }
    }

    /// Takes what the look saw, once.
    fn know(&mut self) -> &mut Replace {
        let (look, replace) = (&mut self.look, &mut self.replace);
        if replace.addresses.is_none() {
            replace.addresses = Some(Addresses::new(&replace.key, look));
            replace.first_time = look.first_time.unwrap_or(0);
        }
        replace
    }
}

impl Pass for AnonymizePass {
    fn name(&self) -> String {
        ANONYMIZE.name().to_owned()
    }

    fn anonymizes(&self) -> bool {
        true
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.look))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let replace = self.know();
        replace.know_probes(header);
        // The records of a pipe tell it, and are replaced one by one.
        if header.container != Container::Pipe {
            replace.header(header)?;
        }
        self.edited = std::mem::take(&mut self.replace.told);
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let edited = self.edited.clone();
        let replace = self.know();
        replace.told = edited;
        Box::new(Before::new(Anonymize { replace, changed: RecordBuffer::default() }, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        let (told, kept) = (&self.replace.told, self.replace.kept);
        let of = |is_wanted: &dyn Fn(What) -> bool| {
            let list = What::NAMED.iter().map(|(what, _)| *what).filter(|&what| is_wanted(what));
            list.collect::<Vec<_>>()
        };
        let counted = |list: Vec<What>| {
            let counts = list.iter().map(|&what| format!("{} ({})", what.text(), told.replaced[what as usize]));
            counts.collect::<Vec<_>>().join(", ")
        };
        let is_there = |what: What| told.replaced[what as usize] > 0;
        let replaced = of(&|what| is_there(what) && what.is_replaced());
        if !replaced.is_empty() {
            ledger.note(format!("anonymized: replaced {}", counted(replaced)));
        }
        let gone = of(&|what| is_there(what) && !what.is_replaced());
        let others = told.left_out.iter().map(|(what, count)| format!("{what} ({count})"));
        let gone: Vec<_> = Some(counted(gone)).filter(|gone| !gone.is_empty()).into_iter().chain(others).collect();
        if !gone.is_empty() {
            ledger.note(format!("anonymized: left out {}", gone.join(", ")));
        }
        let remains = of(&|what| kept.has(what)).into_iter().map(What::text);
        let remains: Vec<_> =
            remains.chain(["sizes, counts, CPUs and the events of perf, the kernel and the hardware"]).collect();
        ledger.note(format!("anonymized: what remains is {}", remains.join(", ")));
    }
}

struct Anonymize<'a> {
    replace: &'a mut Replace,
    changed: RecordBuffer,
}

impl<S: Sink + ?Sized> Stage<S> for Anonymize<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE {
            let written =
                meta.events.of(raw).and_then(|event| self.replace.sample(raw, event, &mut self.changed.record));
            if written.is_none() {
                self.replace.leave_out("samples that cannot be read");
                return Ok(());
            }
        } else {
            let record = if raw.header().kind == RecordType::HEADER_TRACING_DATA {
                // What stood before the record that announces it is known already.
                let misplaced = meta.features.get(&FeatureId::TRACING_DATA).filter(|_| raw.payload_len() == 0);
                let data = self.replace.tracing_data(misplaced.map_or(raw.payload(), AsRef::as_ref))?;
                data.map(|data| pipe::tracing_data(&data, raw.endian())).transpose()?
            } else {
                self.replace.record(meta, raw)?
            };
            match record {
                Some(record) => self.changed.record = record,
                None => return Ok(()),
            }
        }
        self.changed.pass(sink, meta, raw)
    }

    fn gap(&mut self, _: &Meta, _: &Gap<'_>, _: &mut S) -> Result<()> {
        Ok(())
    }
}
