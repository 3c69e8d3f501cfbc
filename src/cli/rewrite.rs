//! A recording as a recording: `perfconv IN -o OUT.data`.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::output::Output;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::frames::FrameOptions;
use crate::error::{Error, Result};
use crate::formats::Encode;
use crate::formats::envelope::Envelopes;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::source::Source;
use crate::stream::write::directory::{ToDirectory, copy_others};
use crate::stream::write::file::ToFile;
use crate::stream::write::form::{Form, Frames};
use crate::stream::write::pipe::ToPipe;
use crate::stream::write::verbatim::Verbatim;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a recording; where nothing is to be changed, the same bytes.
///
/// # Errors
/// Where it cannot be read or written.
pub fn run(
    source: Source,
    output: &Output,
    envelopes: &Envelopes,
    args: &ConvertArgs,
) -> std::result::Result<Ledger, Failure> {
    let from = source.meta().container;
    let to = match (args.container, output) {
        (Some(container), _) => container.into(),
        (None, Output::Stdout) => Container::Pipe,
        (None, _) => from,
    };
    let form = Form { frames: frames(args), endian: None };
    let is_copy = from == to && form.frames == Frames::Kept;
    let spool_dir = args.spool_dir.as_deref();
    let mut ledger = None;
    match to {
        Container::Directory => output.write_folder(|path| {
            ledger = Some(if is_copy { copy_folder(source, path)? } else { run_folder(source, path, form)? });
            Ok(())
        }),
        _ if is_copy => output.write(|out| {
            envelopes.around(out, |out| {
                let mut sink = Verbatim::new(vec![out]);
                ledger = Some(account(source.run(&mut sink)?, &form));
                Ok(())
            })
        }),
        Container::File => output.write_seekable(envelopes, spool_dir, |out| {
            ledger = Some(account(source.run(&mut ToFile::new(out, form))?, &form));
            Ok(())
        }),
        Container::Pipe => output.write(|out| {
            envelopes.around(out, |out| {
                let mut sink = ToPipe::new(out, form);
                let mut account = account(source.run(&mut sink)?, &form);
                if !sink.left_out().is_empty() {
                    account.note(format!("a pipe has no place for {}", sink.left_out().join(", ")));
                }
                ledger = Some(account);
                Ok(())
            })
        }),
    }?;
    Ok(ledger.unwrap_or_default())
}

/// Writes what a format carries of a recording: all of it.
///
/// # Errors
/// Where it cannot be read or written.
pub fn encoded(
    source: Source,
    output: &Output,
    envelopes: &Envelopes,
    encode: Encode,
) -> std::result::Result<Ledger, Failure> {
    let mut ledger = None;
    output.write(|out| {
        envelopes.around(out, |out| {
            let (_, read) = encode(source, out)?;
            ledger = Some(account_for(read, true));
            Ok(())
        })
    })?;
    Ok(ledger.unwrap_or_default())
}

/// What becomes of frames, as was asked for.
fn frames(args: &ConvertArgs) -> Frames {
    match args.compress {
        Some(level) => Frames::Compressed(FrameOptions { level, ..FrameOptions::default() }),
        None if args.decompress => Frames::Plain,
        None => Frames::Kept,
    }
}

fn run_folder(source: Source, path: &Path, form: Form) -> Result<Ledger> {
    let mut sink = ToDirectory::new(path, form);
    let streamed = source.run(&mut sink)?;
    Ok(account(streamed, &sink.form()))
}

/// Copies a folder with all that is in it.
fn copy_folder(source: Source, path: &Path) -> Result<Ledger> {
    let files = source.meta().files.clone();
    let outs = files.iter().map(|file| {
        let name = Path::new(file).file_name().unwrap_or_default();
        let out = File::create_new(path.join(name)).map_err(Error::Output)?;
        Ok(Box::new(BufWriter::with_capacity(1 << 17, out)) as Box<dyn Write>)
    });
    let mut sink = Verbatim::new(outs.collect::<Result<Vec<_>>>()?);
    let ledger = account(source.run(&mut sink)?, &Form::default());
    if let Some(folder) = Path::new(&files[0]).parent() {
        copy_others(folder, path)?;
    }
    Ok(ledger)
}

/// Of a recording that is written every record is in the output: frames as themselves, or as what was in them.
fn account((meta, ledger): (Meta, Ledger), form: &Form) -> Ledger {
    account_for(ledger, form.keeps_frames(&meta))
}

fn account_for(mut ledger: Ledger, keeps_frames: bool) -> Ledger {
    let read: Vec<_> = ledger.entries().iter().map(|(&kind, entry)| (kind, entry.read - entry.dropped())).collect();
    for (kind, count) in read {
        let is_frame = matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
        if is_frame && !keeps_frames {
            ledger.consumed(kind, count);
        } else {
            ledger.emitted(kind, count);
        }
    }
    ledger
}
