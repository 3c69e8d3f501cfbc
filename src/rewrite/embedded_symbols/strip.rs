//! Removes the names of functions that are stored in a recording: `--strip-symbols`.

use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::header::Header;
use perf_data::abi::feature::FeatureId;
use perf_data::error::{Error, Result};
use perf_symbols::symbol::stored_object::STORED_OBJECTS;

/// Removes the names of functions that are stored in a recording.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct StripSymbols {}

impl PassOptions for StripSymbols {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(StripSymbolsPass)
    }
}

struct StripSymbolsPass;

impl Pass for StripSymbolsPass {
    fn name(&self) -> String {
        "--strip-symbols".to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let removed = STORED_OBJECTS.map(|id| header.features.remove(&FeatureId(id)).is_some());
        if !removed.contains(&true) {
            return Err(Error::not_found("--strip-symbols: the recording has no names of functions"));
        }
        Ok(())
    }
}
