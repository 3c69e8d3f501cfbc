//! `perfconv archive`.

use super::args::{ArchiveArgs, default_input};
use super::failure::Failure;
use super::input::{InputRecording, named};
use super::output;
use super::progress;
use super::report::{self, counted, print_message};
use perf_data::container::access::Access;
use perf_data::container::output::OutputRules;
use perf_data::container::output::incomplete::hold;
use perf_data::container::read::ReadOptions;
use perf_data::container::write::envelope::{Envelope, Envelopes};
use perfconv::bundle::entry::RECORDING;
use perfconv::bundle::files::PackedFile;
use perfconv::bundle::pack::PackOptions;
use perfconv::bundle::unpack::{Members, extract};
use perfconv::conversion::{archive_envelopes, archive_reader, name_in_archive, write_archive};
use perfconv::rewrite::build_ids::objects::Scope;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Exit status of `--strict` when something is missing from the archive.
const INCOMPLETE: u8 = 3;

/// Packs or unpacks an archive.
///
/// # Errors
/// If the arguments are invalid, or the archive cannot be read or written.
pub(super) fn run(args: ArchiveArgs) -> Result<ExitCode, Failure> {
    if args.unpack { unpack_one(&args) } else { pack_one(args) }
}

fn pack_one(args: ArchiveArgs) -> Result<ExitCode, Failure> {
    let input = args.input.unwrap_or_else(default_input);
    let output = args.output.unwrap_or_else(|| {
        let mut name = input.file_name().unwrap_or(RECORDING.as_ref()).to_owned();
        name.push(".tar.zst");
        if input == Path::new("-") { PathBuf::from(format!("{RECORDING}.tar.zst")) } else { input.with_file_name(name) }
    });
    let envelopes = envelopes(&output)?;
    let rules = OutputRules { overwrite: args.force, mode: args.mode, ..OutputRules::default() };
    let output = output::check(&output, &[&input], false, rules)?;
    let options = progress::observed(ReadOptions::default().with_spool_dir(args.spool_dir));
    let name = name_in_archive(&input);
    let recording = InputRecording::new(input, None, &options)?;
    let name = if recording.is_imported() { RECORDING.to_owned() } else { name };
    let find = args.find.options();
    let symbols = Arc::new(args.files.search(&find, &progress::observer())?.unwrap_or_default());
    let scope = if args.all { Scope::All } else { Scope::Hit };
    let pack_options = PackOptions { scope, find, symbols, name };
    let mut packed = write_archive(recording.input(), &options, &pack_options, &envelopes, &output)?;
    recording.record_missing(&mut packed.ledger);
    if !args.quiet {
        report::ledger(&packed.ledger, &output.name(), args.verbose);
        let [objects, files] =
            [(packed.objects, "object"), (packed.files.len(), "file")].map(|(n, noun)| counted(n as u64, noun));
        // Files of processes have no build ID that shows where they are from.
        for PackedFile { entry, path, .. } in packed.files.iter().filter(|file| args.verbose || file.pid.is_some()) {
            print_message(format_args!("[ perfconv: packed {} as {} ]", path.display(), entry.display()));
        }
        print_message(format_args!("[ perfconv: {}: {objects}, {files} ]", output.name()));
    }
    let is_incomplete = args.strict && packed.ledger.is_incomplete();
    Ok(if is_incomplete { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
}

/// Compression of an archive, by its name.
fn envelopes(output: &Path) -> Result<Envelopes, Failure> {
    let name = output.to_string_lossy();
    if name == "-" {
        return Ok(Envelopes { list: vec![Envelope::Zstd], level: None });
    }
    archive_envelopes(&name).map_err(|error| Failure::Usage(error.to_string()))
}

fn unpack_one(args: &ArchiveArgs) -> Result<ExitCode, Failure> {
    if let Some(option) = args.find.first_given().or(args.files.first_given()) {
        return Err(Failure::Usage(format!("{option} cannot be used with --unpack")));
    }
    let Some(archive) = args.input.clone() else {
        return Err(Failure::Usage("--unpack: no archive is named; name one, or - for standard input".to_owned()));
    };
    let (cache, recording_dir) = match &args.output {
        Some(directory) => (directory.clone(), directory.clone()),
        None => {
            let home = env::var_os("HOME")
                .ok_or_else(|| Failure::Usage("HOME is not set; name a directory with -o DIR".to_owned()))?;
            (PathBuf::from(home).join(".debug"), PathBuf::new())
        }
    };
    let access = args.mode.into_iter().fold(Access::from_input(&archive), Access::with_mode);
    let (reader, name) = archive_reader(named(archive)?)?;
    let members = if args.output.is_some() { Members::All } else { Members::Shareable };
    let extracted = extract(reader, &name, &cache, members, access)?;
    let omitted = extracted.omitted();
    let unpacked = {
        let _signals_wait = hold();
        extracted.put_in_place(&recording_dir, args.force)?
    };
    if !args.quiet {
        let present =
            if unpacked.existing > 0 { format!(", {} already present", unpacked.existing) } else { String::new() };
        let files = counted(unpacked.files as u64, "file");
        print_message(format_args!("[ perfconv: {}: {files}{present} ]", cache.display()));
        if omitted > 0 {
            let files = counted(omitted as u64, "file");
            print_message(format_args!(
                "[ perfconv: not unpacked: {files} without build ID; use -o DIR to unpack all ]"
            ));
        }
        if let Some(recording) = unpacked.recording {
            let (cache, recording) = (cache.display(), recording.display());
            print_message(format_args!(
                "[ perfconv: to view it, run: perf --buildid-dir {cache} report -i {recording} ]"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
