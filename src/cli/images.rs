//! Function names of an imported profile, written as ELF files next to the recording that it is converted to.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::input::Recording;
use super::output;
use perfconv::container::output::pending::PendingOutput;
use perfconv::container::output::{Output, OutputRules};
use perfconv::formats::Writer;
use perfconv::formats::import::images::Symbols;
use perfconv::rewrite::disclosure::Disclosure;
use perfconv::stream::ledger::Ledger;
use std::path::{Path, PathBuf};

/// Where to write the function names of an input, if it has any.
pub struct Images<'a> {
    symbols: Option<&'a Symbols>,
    disclosure: Disclosure,
    output: Option<Output>,
}

impl<'a> Images<'a> {
    /// Determines where to write them: to `--images`, otherwise next to an output that is a recording. With an anonymized output
    /// they are not written.
    ///
    /// # Errors
    /// If an option for profiles is given and the input is none or the output is anonymized, or the directory cannot be written.
    pub fn check(
        recording: &'a Recording,
        disclosure: Disclosure,
        input: &Path,
        output: &Output,
        writes: &Writer,
        args: &ConvertArgs,
    ) -> Result<Self, Failure> {
        let given = [(args.images.is_some(), "--images"), (args.values.is_some(), "--values")];
        if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given && recording.imported().is_none()) {
            return Err(Failure::Usage(format!("{option} needs a profile as input, such as pprof or folded stacks")));
        }
        if args.images.is_some() && args.out_dir.is_some() {
            let what = "--images cannot be used with --out-dir; the function names of each profile are written next to its output";
            return Err(Failure::Usage(what.to_owned()));
        }
        if args.images.is_some() && disclosure.is_anonymized() {
            let what = "--images cannot be used with --anonymize, which omits the function names that it writes";
            return Err(Failure::Usage(what.to_owned()));
        }
        // An output profile contains the names itself.
        let needs_images = !matches!(writes, Writer::Profile(_)) || args.images.is_some();
        let Some(symbols) = recording.symbols().filter(|_| needs_images) else {
            return Ok(Self { symbols: None, disclosure, output: None });
        };
        let beside = || match (writes, output) {
            (Writer::Records, Output::File { name, .. }) => Some(PathBuf::from(format!("{name}.images"))),
            _ => None,
        };
        let of_images = OutputRules { overwrite: args.force, replaceable: Some(Symbols::are_in), is_directory: true };
        let directory = args.images.clone().or_else(|| disclosure.bypassing(beside()));
        let output = directory.map(|directory| output::check(&directory, &[input], false, of_images)).transpose()?;
        Ok(Self { symbols: Some(symbols), disclosure, output })
    }

    /// Writes the function names and returns a message about them; or records that they are missing from the output.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, ledger: &mut Ledger) -> Result<Option<(PendingOutput<'_>, String)>, Failure> {
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
