//! Names of a profile's functions, beside the recording that it becomes.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::input::Recording;
use super::output::{Allowed, Output};
use super::pending_output::PendingOutput;
use perfconv::formats::Writes;
use perfconv::formats::import::images::Symbols;
use perfconv::stream::ledger::Ledger;
use std::path::{Path, PathBuf};

/// Where the names of an input's functions go, if there are any.
pub struct Images<'a> {
    symbols: Option<&'a Symbols>,
    output: Option<Output>,
}

impl<'a> Images<'a> {
    /// Finds out where they go: as the user says, else beside a recording that is written.
    ///
    /// # Errors
    /// Where the user says what becomes of a profile, and the input is none; and where they must not be written there.
    pub fn check(
        recording: &'a Recording,
        input: &Path,
        output: &Output,
        writes: &Writes,
        args: &ConvertArgs,
    ) -> Result<Self, Failure> {
        let given = [(args.images.is_some(), "--images"), (args.values.is_some(), "--values")];
        if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given && recording.imported().is_none()) {
            return Err(Failure::Usage(format!(
                "{option} is for profiles that become recordings, and the input is none"
            )));
        }
        if args.images.is_some() && args.out_dir.is_some() {
            let what = "--images is for one profile: with --out-dir the names of each are beside its output";
            return Err(Failure::Usage(what.to_owned()));
        }
        // A profile has the names itself.
        let needs_images = !matches!(writes, Writes::Profile(_)) || args.images.is_some();
        let Some(symbols) = recording.symbols().filter(|_| needs_images) else {
            return Ok(Self { symbols: None, output: None });
        };
        let beside = || match (writes, output) {
            (Writes::Records, Output::File { name, .. }) => Some(PathBuf::from(format!("{name}.images"))),
            _ => None,
        };
        let of_images =
            Allowed { overwrite: args.force, on_terminal: false, folder: Some(Symbols::are_in), is_folder: true };
        let folder = args.images.clone().or_else(beside);
        let output = folder.map(|folder| Output::check(&folder, input, of_images)).transpose()?;
        Ok(Self { symbols: Some(symbols), output })
    }

    /// Writes them, and what to say of where they are; or tells that they are missing.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&self, ledger: &mut Ledger) -> Result<Option<(PendingOutput<'_>, String)>, Failure> {
        let Some(symbols) = self.symbols else { return Ok(None) };
        let functions = symbols.functions();
        let Some(output) = &self.output else {
            ledger.missing(format!("the names of {functions} functions are not written: --images DIR says where to"));
            return Ok(None);
        };
        let written = output.write_folder(|folder| symbols.write(folder))?;
        let name = output.name();
        let told = format!("[ perfconv: {name}: names of {functions} functions, for perf --buildid-dir {name} ]");
        Ok(Some((written, told)))
    }
}
