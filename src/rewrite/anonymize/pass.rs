//! The anonymizing pass: a pre-scan collects mappings, then each record is anonymized.

use super::addresses::{AddressScan, Addresses};
use super::category::{Category, KeptCategories};
use super::key::Key;
use super::replace::{Replacer, Summary};
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::replacement::RecordBuffer;
use crate::rewrite::header::Header;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::container::read::Container;
use perf_data::container::write::pipe;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::stage::{Before, Stage};

/// The anonymizing pass: `--anonymize`.
#[derive(Debug)]
pub struct AnonymizePass {
    scan: AddressScan,
    replace: Replacer,
    /// What was done with the metadata.
    edited: Summary,
}

impl AnonymizePass {
    /// Creates the pass.
    pub fn new(key: Key, kept: KeptCategories) -> Self {
        Self { scan: AddressScan::default(), replace: Replacer::new(key, kept), edited: Summary::default() }
    }

    /// Returns the replacer, set up with the results of the pre-scan.
    fn replacer(&mut self) -> &mut Replacer {
        let (scan, replace) = (&mut self.scan, &mut self.replace);
        if replace.addresses.is_none() {
            replace.addresses = Some(Addresses::new(&replace.key, scan));
            replace.first_time = scan.first_time.unwrap_or(0);
        }
        replace
    }
}

impl Pass for AnonymizePass {
    fn name(&self) -> String {
        "--anonymize".to_owned()
    }

    fn anonymizes(&self) -> bool {
        true
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.scan))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let replace = self.replacer();
        replace.collect_probes(header);
        // In a pipe, each header record is anonymized on its own.
        if header.container != Container::Pipe {
            replace.header(header)?;
        }
        self.edited = std::mem::take(&mut self.replace.summary);
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let edited = self.edited.clone();
        let replace = self.replacer();
        replace.summary = edited;
        Box::new(Before::new(Anonymize { replace, changed: RecordBuffer::default() }, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        let (summary, kept) = (&self.replace.summary, self.replace.kept);
        let categories = |is_wanted: &dyn Fn(Category) -> bool| {
            let list = Category::NAMED.iter().map(|(category, _)| *category).filter(|&category| is_wanted(category));
            list.collect::<Vec<_>>()
        };
        let counted = |list: Vec<Category>| {
            let counts =
                list.iter().map(|&category| format!("{} ({})", category.text(), summary.replaced[category as usize]));
            counts.collect::<Vec<_>>().join(", ")
        };
        let occurs = |category: Category| summary.replaced[category as usize] > 0;
        let replaced = categories(&|category| occurs(category) && category.is_replaced());
        if !replaced.is_empty() {
            ledger.change(format!("anonymized: replaced {}", counted(replaced)));
        }
        let removed = categories(&|category| occurs(category) && !category.is_replaced());
        let others = summary.removed.iter().map(|(description, count)| format!("{description} ({count})"));
        let removed: Vec<_> =
            Some(counted(removed)).filter(|text| !text.is_empty()).into_iter().chain(others).collect();
        if !removed.is_empty() {
            ledger.change(format!("anonymized: removed {}", removed.join(", ")));
        }
        let remaining = categories(&|category| kept.has(category)).into_iter().map(Category::text);
        let remaining: Vec<_> =
            remaining.chain(["sizes, counts, CPUs and the events of perf, the kernel and the hardware"]).collect();
        ledger.change(format!("anonymized: kept {}", remaining.join(", ")));
    }
}

struct Anonymize<'a> {
    replace: &'a mut Replacer,
    changed: RecordBuffer,
}

impl<S: Sink + ?Sized> Stage<S> for Anonymize<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE {
            let written =
                meta.events.find(raw).and_then(|event| self.replace.sample(raw, event, &mut self.changed.record));
            if written.is_none() {
                self.replace.note_removal("malformed samples");
                return Ok(());
            }
        } else {
            let record = if raw.header().kind == RecordType::HEADER_TRACING_DATA {
                // Tracing data that preceded its record is already in the metadata.
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
        // Unreadable bytes may contain anything.
        Ok(())
    }
}
