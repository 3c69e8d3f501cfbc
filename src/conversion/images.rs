//! Function names of an imported profile, written as ELF files next to the recording that it is converted to.

use crate::formats::FormatWriter;
use crate::formats::import::images::Symbols;
use crate::rewrite::framework::disclosure::Disclosure;
use perf_data::container::output::pending::PendingOutput;
use perf_data::container::output::{Output, OutputRules};
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use std::path::{Path, PathBuf};

/// Where to write the function names of an input, if it has any.
pub(super) struct Images<'a> {
    symbols: Option<&'a Symbols>,
    disclosure: Disclosure,
    output: Option<Output>,
}

impl<'a> Images<'a> {
    /// Determines where to write them: to a given directory, otherwise next to an output that is a recording. With an anonymized
    /// output they are not written.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub(super) fn check(
        symbols: Option<&'a Symbols>,
        disclosure: Disclosure,
        directory: Option<&Path>,
        (writer, output): (FormatWriter<'_>, &Output),
        overwrite: bool,
    ) -> Result<Self> {
        // An output profile contains the names itself.
        let needs_images = !matches!(writer, FormatWriter::Profile(_)) || directory.is_some();
        let Some(symbols) = symbols.filter(|_| needs_images) else {
            return Ok(Self { symbols: None, disclosure, output: None });
        };
        let beside = || match (writer, output) {
            (FormatWriter::Records(_), Output::File { name, .. }) => Some(PathBuf::from(format!("{name}.images"))),
            _ => None,
        };
        let rules =
            OutputRules { overwrite, replaceable: Some(Symbols::are_in), is_directory: true, ..OutputRules::default() };
        let directory = disclosure.bypassing(directory.map(Path::to_owned).or_else(beside));
        let checked = directory.map(|directory| Output::check(&directory, &[], rules)).transpose()?;
        let output = checked.map(|checked| checked.restricted(output.access()));
        Ok(Self { symbols: Some(symbols), disclosure, output })
    }

    /// Writes the function names and returns a message about them; or records that they are missing from the output.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn write(&self, ledger: &mut Ledger) -> Result<Option<(PendingOutput<'_>, String)>> {
        let Some(symbols) = self.symbols else { return Ok(None) };
        let functions = symbols.functions();
        if self.disclosure.is_anonymized() {
            ledger.change(format!("anonymized: removed function names ({functions})"));
            return Ok(None);
        }
        let Some(output) = &self.output else {
            ledger.missing(format!("{functions} function names are not written; use --images DIR"));
            return Ok(None);
        };
        let written = output.fill_directory(|directory| symbols.write(directory))?;
        let name = output.name();
        let message = format!("[ perfconv: {name}: {functions} function names, for perf --buildid-dir {name} ]");
        Ok(Some((written, message)))
    }
}
