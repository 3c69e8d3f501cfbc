//! `perfconv archive`.

use super::args::{ArchiveArgs, DEFAULT_INPUT};
use super::failure::Failure;
use super::input::{Recording, named};
use super::output::{Allowed, Output, is_private};
use super::report::{self, say};
use super::temporary_outputs;
use perfconv::bundle::entry::RECORDING;
use perfconv::bundle::pack::{Packed, pack};
use perfconv::bundle::unpack::extract;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Opened;
use perfconv::container::write::envelope::{Envelope, Envelopes, strip};
use perfconv::error::Error;
use perfconv::rewrite::build_ids::objects::Scope;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of `--strict` when something is missing from the archive.
const INCOMPLETE: u8 = 3;

/// Makes an archive, or unpacks one.
///
/// # Errors
/// Where the arguments do not make sense, or it cannot be done.
pub fn run(args: ArchiveArgs) -> Result<ExitCode, Failure> {
    if args.unpack { unpack_one(&args) } else { pack_one(args) }
}

fn pack_one(args: ArchiveArgs) -> Result<ExitCode, Failure> {
    let input = args.input.unwrap_or_else(|| PathBuf::from(DEFAULT_INPUT));
    let output = args.output.unwrap_or_else(|| {
        let mut name = input.file_name().unwrap_or(RECORDING.as_ref()).to_owned();
        name.push(".tar.zst");
        if input == Path::new("-") { PathBuf::from(format!("{RECORDING}.tar.zst")) } else { input.with_file_name(name) }
    });
    let envelopes = envelopes(&output)?;
    let allowed = Allowed { overwrite: args.force, on_terminal: false, folder: None, is_folder: false };
    let output = Output::check(&output, &input, allowed)?;
    let options = ReadOptions { spool_dir: args.spool_dir, ..ReadOptions::default() };
    let name = own_name(&input);
    let recording = Recording::new(input, None, &options)?;
    let name = if recording.is_imported() { RECORDING.to_owned() } else { name };
    let (scope, find) = (if args.all { Scope::All } else { Scope::Hit }, args.find.options());
    let mut packed = Packed::default();
    let written = output.write(|out| {
        envelopes.around(out, |mut out| {
            packed = pack(recording.input(), &options, scope, &find, &name, &mut out)?;
            Ok(())
        })
    })?;
    written.put_in_place()?;
    recording.account(&mut packed.ledger);
    if !args.quiet {
        report::ledger(&packed.ledger, &output.name(), args.verbose);
        say(format_args!("[ perfconv: {}: {} objects, {} files ]", output.name(), packed.objects, packed.files));
    }
    let is_incomplete = args.strict && packed.ledger.is_incomplete();
    Ok(if is_incomplete { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
}

/// What a recording is called in its archive: as its file, which may be compressed.
fn own_name(input: &Path) -> String {
    let name = input.file_name().filter(|name| *name != "-").unwrap_or(RECORDING.as_ref());
    strip(&name.to_string_lossy()).0.to_owned()
}

/// How an archive is compressed, by its name.
fn envelopes(output: &Path) -> Result<Envelopes, Failure> {
    let name = output.to_string_lossy();
    if name == "-" {
        return Ok(Envelopes { list: vec![Envelope::Zstd], level: None });
    }
    match strip(&name) {
        (stem, list) if stem.ends_with(".tar") => Ok(Envelopes { list, level: None }),
        _ => Err(Failure::Usage(format!("{name}: an archive is a .tar, a .tar.gz or a .tar.zst"))),
    }
}

fn unpack_one(args: &ArchiveArgs) -> Result<ExitCode, Failure> {
    if let Some(option) = args.find.first_given() {
        return Err(Failure::Usage(format!("{option} is not for --unpack")));
    }
    let Some(archive) = args.input.clone() else {
        return Err(Failure::Usage("--unpack: name the archive".to_owned()));
    };
    let (cache, beside) = match &args.output {
        Some(folder) => (folder.clone(), folder.clone()),
        None => {
            let home = env::var_os("HOME").ok_or_else(|| Failure::Usage("there is no HOME: say -o DIR".to_owned()))?;
            (PathBuf::from(home).join(".debug"), PathBuf::new())
        }
    };
    let is_private = is_private(&archive);
    let input = named(archive);
    let name = input.name();
    let reader: Box<dyn Read> = match input.open(&ReadOptions::default())? {
        Opened::Bytes(bytes) => Box::new(std::io::Cursor::new(bytes)),
        Opened::Stream(stream) => stream,
        Opened::Directory(_) => return Err(Error::input(name, None, "is a folder, and no archive").into()),
    };
    let extracted = extract(reader, &name, &cache, is_private)?;
    let unpacked = {
        let _signals_wait = temporary_outputs::hold();
        extracted.put_in_place(&beside, args.force)?
    };
    if !args.quiet {
        let there = if unpacked.there > 0 { format!(", {} were there", unpacked.there) } else { String::new() };
        say(format_args!("[ perfconv: {}: {} files{there} ]", cache.display(), unpacked.files));
        if let Some(recording) = unpacked.recording {
            let (cache, recording) = (cache.display(), recording.display());
            say(format_args!("[ perfconv: perf --buildid-dir {cache} report -i {recording} ]"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
