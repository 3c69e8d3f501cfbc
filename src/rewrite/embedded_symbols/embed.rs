//! Stores the names of the functions of all samples: `--embed-symbols`.

use super::objects::EmbeddedObjects;
use crate::profile::collect::collector::Collector;
use crate::profile::options::ProfileOptions;
use crate::profile::symbolize::{SymbolOptions, SymbolSources};
use crate::profile::unwind::unwinding::Unwinding;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{ObjectUse, PassContext, PassOptions};
use crate::rewrite::header::Header;
use perf_data::abi::feature::FeatureId;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::Before;
use perf_symbols::symbol::simpleperf::FILE2;
use std::mem;
use std::sync::Arc;

/// Stores the names of the functions of all samples in the recording, so that they are shown where its programs are not.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct EmbedSymbols {}

impl PassOptions for EmbedSymbols {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        let objects = Arc::new((*context.objects).clone().without_lines());
        Box::new(EmbedSymbolsPass {
            unwinding: Unwinding::with_objects(&objects),
            objects,
            functions: EmbeddedObjects::default(),
        })
    }

    fn object_use(&self) -> ObjectUse {
        ObjectUse::Naming
    }
}

/// The pass that stores names.
struct EmbedSymbolsPass {
    objects: Arc<SymbolOptions>,
    unwinding: Unwinding,
    functions: EmbeddedObjects,
}

impl Pass for EmbedSymbolsPass {
    fn name(&self) -> String {
        "--embed-symbols".to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.unwinding = Unwinding::with_objects(&self.objects);
        let symbols = SymbolSources { imported: None, objects: Some(Arc::clone(&self.objects)) };
        // Labels would only multiply the rows, which are not used.
        let options = ProfileOptions { labels: Some(Vec::new()), symbols, ..ProfileOptions::default() };
        let scan = FunctionScan { collector: Collector::new(&options), functions: &mut self.functions };
        Some(PreScan::in_time_order(Before::new(&mut self.unwinding, scan)))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        if self.functions.is_empty() {
            return Err(Error::not_found(
                "--embed-symbols: no function of a sample is known; without the option, a report states why",
            ));
        }
        let id = FeatureId(FILE2);
        // Readers use the last object of a name, so that names that were stored before stay for other objects.
        let mut section = header.features.get(&id).map(|bytes| bytes.to_vec()).unwrap_or_default();
        self.functions.append_to(&mut section);
        header.features.insert(id, section.into());
        Ok(())
    }

    fn report(&self, ledger: &mut Ledger) {
        let (objects, functions) = self.functions.counts();
        ledger.change(format!("--embed-symbols: stored the names of {functions} functions of {objects} objects"));
    }
}

/// Collects the functions of samples, in time order.
struct FunctionScan<'a> {
    collector: Collector<'static>,
    functions: &'a mut EmbeddedObjects,
}

impl Sink for FunctionScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.collector.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let (profiles, _) = mem::take(&mut self.collector).finish(meta)?;
        if let Some(profile) = profiles.first() {
            *self.functions = EmbeddedObjects::new(profile);
        }
        Ok(())
    }
}
