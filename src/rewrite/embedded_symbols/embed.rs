//! Stores the names of functions: `--embed-symbols`.

use super::lines::EmbeddedLines;
use super::objects::EmbeddedObjects;
use super::whole_tables::add_whole_tables;
use crate::profile::collect::collector::Collector;
use crate::profile::options::ProfileOptions;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
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
use perf_symbols::symbol::stored_lines::LINES;
use perf_symbols::symbol::stored_object::FILE2;
use std::mem;
use std::sync::Arc;

/// Number of objects without names that are listed, those with the most frames.
const MAX_UNNAMED: usize = 3;

/// Stores the names of functions in the recording, so that they are shown where its programs are not.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct EmbedSymbols {
    /// Store names of functions in the recording, by default those that samples are in.
    #[cfg_attr(
        feature = "cli",
        arg(
            id = "embed_symbols",
            long = "embed-symbols",
            value_name = "WHICH",
            value_enum,
            num_args = 0..=1,
            require_equals = true,
            default_value_t,
            default_missing_value = "functions"
        )
    )]
    pub which: EmbeddedNames,
}

/// What is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum EmbeddedNames {
    /// Functions that samples are in
    #[default]
    Functions,
    /// Also their inlined functions and source lines
    Full,
    /// All functions of programs and libraries that samples are in
    All,
}

impl EmbedSymbols {
    /// Stores these names.
    pub fn new(which: EmbeddedNames) -> Self {
        Self { which }
    }
}

impl PassOptions for EmbedSymbols {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        let objects = Arc::clone(&context.objects);
        let objects = match self.which {
            EmbeddedNames::Full => objects,
            EmbeddedNames::Functions | EmbeddedNames::All => Arc::new((*objects).clone().without_lines()),
        };
        Box::new(EmbedSymbolsPass {
            unwinding: Unwinding::with_objects(&objects),
            which: self.which,
            objects,
            functions: EmbeddedObjects::default(),
            lines: EmbeddedLines::default(),
            counts: (0, 0),
            unnamed: Unsymbolized::default(),
        })
    }

    fn object_use(&self) -> ObjectUse {
        ObjectUse::Naming
    }
}

/// The pass that stores names.
struct EmbedSymbolsPass {
    which: EmbeddedNames,
    objects: Arc<SymbolOptions>,
    unwinding: Unwinding,
    functions: EmbeddedObjects,
    lines: EmbeddedLines,
    /// Number of objects, and of functions.
    counts: (usize, usize),
    /// Which frames have no function.
    unnamed: Unsymbolized,
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
        let scan = FunctionScan {
            collector: Collector::new(&options),
            which: self.which,
            objects: &self.objects,
            functions: &mut self.functions,
            lines: &mut self.lines,
            unnamed: &mut self.unnamed,
        };
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
        let mut functions = mem::take(&mut self.functions);
        self.counts = functions.counts();
        // Names that were stored before are those of other objects, or of samples that were removed since.
        if let Some(section) = header.features.get(&FeatureId(FILE2)) {
            functions.join(EmbeddedObjects::read(section));
        }
        header.features.insert(FeatureId(FILE2), functions.encode().into());
        if self.which == EmbeddedNames::Full {
            header.features.insert(FeatureId(LINES), self.lines.encode().into());
        }
        Ok(())
    }

    fn report(&self, ledger: &mut Ledger) {
        let (objects, functions) = self.counts;
        ledger.change(format!("--embed-symbols: stored the names of {functions} functions of {objects} objects"));
        // Another machine has no files from which their names could be taken.
        if self.unnamed.is_noticeable() {
            self.unnamed.lines(Some(MAX_UNNAMED)).into_iter().for_each(|line| ledger.change(line));
        }
    }
}

/// Collects the functions of samples, in time order.
struct FunctionScan<'a> {
    collector: Collector<'static>,
    which: EmbeddedNames,
    objects: &'a SymbolOptions,
    functions: &'a mut EmbeddedObjects,
    lines: &'a mut EmbeddedLines,
    unnamed: &'a mut Unsymbolized,
}

impl Sink for FunctionScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.collector.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let (profiles, _) = mem::take(&mut self.collector).finish(meta)?;
        let Some(profile) = profiles.first() else { return Ok(()) };
        *self.functions = EmbeddedObjects::new(profile);
        self.unnamed.add(profile);
        match self.which {
            EmbeddedNames::Functions => {}
            EmbeddedNames::Full => *self.lines = EmbeddedLines::new(profile),
            EmbeddedNames::All => add_whole_tables(self.functions, profile, self.objects, meta),
        }
        Ok(())
    }
}
