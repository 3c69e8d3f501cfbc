//! A recording as a recording: `perfconv IN -o OUT.data`.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::output::Output;
use super::pending_output::Ready;
use crate::abi::record::RecordType;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::container::walk::Damage;
use crate::container::write::frames::{FrameKind, FrameOptions};
use crate::error::{Error, Result};
use crate::formats::envelope::Envelopes;
use crate::formats::recording_options::RecordingOptions;
use crate::rewrite::endian::EndianPass;
use crate::rewrite::passes::Passes;
use crate::rewrite::perf_version::since::PerfVersion;
use crate::stream::Sink;
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

/// Writes a recording; where nothing is to be changed, the same bytes, and where only what it tells of itself, the same between
/// header and sections.
///
/// # Errors
/// Where it cannot be read or written.
pub fn run<'a>(
    input: Input,
    options: &ReadOptions,
    passes: &mut Passes,
    output: &'a Output,
    envelopes: &Envelopes,
    args: &ConvertArgs,
) -> std::result::Result<(Ledger, Ready<'a>), Failure> {
    let asked = args.of_records.recording();
    let perf_version = passes.perf_version();
    if let Some(version) = perf_version.filter(|_| asked.compress.is_some())
        && !version.knows_record(RecordType::COMPRESSED)
    {
        let what = format!("--compress: perf {version} reads no compressed records; perf 5.2 was the first to");
        return Err(Failure::Usage(what));
    }
    if let Some(endian) = asked.endian {
        passes.push(EndianPass::new(endian, asked.allow_mixed));
    }
    let is_changed = passes.change_records();
    let recording = Recording::open(input, options, passes)?;
    let from = recording.source.meta().container;
    let to = match (asked.container, output) {
        (Some(container), _) => container,
        (None, Output::Stdout) => Container::Pipe,
        (None, _) => from,
    };
    let form = Form {
        frames: frames(&asked, perf_version, is_changed),
        endian: asked.endian,
        features_known: perf_version.map(PerfVersion::end_of_features),
    };
    if from == to && form.is_copy(recording.source.meta()) {
        return copy(recording, to, output, envelopes, &form);
    }
    let target = Target { to, form, envelopes, spool_dir: args.read.spool_dir.as_deref() };
    target.write(output, |sink| recording.run(sink))
}

/// How a recording is written.
pub struct Target<'a> {
    /// The container.
    pub to: Container,
    /// The form of the records.
    pub form: Form,
    /// What is around it as a whole.
    pub envelopes: &'a Envelopes,
    /// Where temporary files go.
    pub spool_dir: Option<&'a Path>,
}

impl Target<'_> {
    /// Writes what is streamed.
    ///
    /// # Errors
    /// Where that cannot be streamed or written.
    pub fn write<'a>(
        &self,
        output: &'a Output,
        stream: impl FnOnce(&mut dyn Sink) -> Result<(Meta, Ledger)>,
    ) -> std::result::Result<(Ledger, Ready<'a>), Failure> {
        let Self { to, form, envelopes, spool_dir } = *self;
        let mut ledger = Ledger::default();
        let written = match to {
            Container::Directory => output.write_folder(|path| {
                let mut sink = ToDirectory::new(path, form);
                let meta;
                (meta, ledger) = stream(&mut sink)?;
                sink.account(&meta, &mut ledger);
                Ok(())
            }),
            Container::File => output.write_seekable(envelopes, spool_dir, |out| {
                ledger = account(stream(&mut ToFile::new(out, form))?, &form);
                Ok(())
            }),
            Container::Pipe => output.write(|out| {
                envelopes.around(out, |out| {
                    let mut sink = ToPipe::new(out, form);
                    ledger = account(stream(&mut sink)?, &form);
                    if !sink.left_out().is_empty() {
                        ledger.missing(format!("a pipe has no place for {}", sink.left_out().join(", ")));
                    }
                    Ok(())
                })
            }),
        }?;
        Ok((ledger, written))
    }
}

/// Writes a recording of which the records and what is between them stay.
fn copy<'a>(
    recording: Recording<'_>,
    to: Container,
    output: &'a Output,
    envelopes: &Envelopes,
    form: &Form,
) -> std::result::Result<(Ledger, Ready<'a>), Failure> {
    let mut ledger = Ledger::default();
    let written = match to {
        Container::Directory => output.write_folder(|path| {
            ledger = copy_folder(recording, path)?;
            Ok(())
        }),
        Container::File | Container::Pipe => output.write(|out| {
            envelopes.around(out, |out| {
                ledger = account(recording.run(&mut Verbatim::new(vec![out]))?, form);
                Ok(())
            })
        }),
    }?;
    Ok((ledger, written))
}

/// A recording that was opened, and what is done with it.
struct Recording<'a> {
    source: Source,
    passes: &'a mut Passes,
    /// What it is opened by again, where there are passes.
    input: Option<Input>,
    options: &'a ReadOptions,
    damage: Option<Damage>,
}

impl<'a> Recording<'a> {
    fn open(input: Input, options: &'a ReadOptions, passes: &'a mut Passes) -> Result<Self> {
        let (input, damage) = if passes.is_empty() { (input, None) } else { input.repeatable(options)? };
        let again = (!passes.is_empty()).then(|| input.clone());
        Ok(Self { source: Source::open(input, options.clone())?, passes, input: again, options, damage })
    }

    fn run(self, mut sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let (meta, mut ledger) = match self.input {
            Some(input) => self.passes.run(input, self.options, sink)?,
            None => self.source.run(&mut sink)?,
        };
        self.damage.into_iter().for_each(|damage| ledger.damage(damage));
        Ok((meta, ledger))
    }
}

/// What becomes of frames, as was asked for; records that are changed cannot be kept in them.
fn frames(asked: &RecordingOptions, perf_version: Option<PerfVersion>, is_changed: bool) -> Frames {
    match asked.compress {
        Some(level) => {
            let reads_new = perf_version.is_some_and(|version| version >= PerfVersion::COMPRESSED2);
            let kind = if reads_new { FrameKind::Compressed2 } else { FrameKind::Compressed };
            Frames::Compressed(FrameOptions { kind, level })
        }
        None if asked.decompress || is_changed => Frames::Plain,
        None => Frames::Kept,
    }
}

/// Copies a folder with all that is in it.
fn copy_folder(recording: Recording<'_>, path: &Path) -> Result<Ledger> {
    let (files, folder) = (recording.source.meta().files.clone(), recording.source.meta().folder.clone());
    let outs = files.iter().map(|file| {
        let name = Path::new(file).file_name().unwrap_or_default();
        let out = File::create_new(path.join(name)).map_err(Error::Output)?;
        Ok(Box::new(BufWriter::with_capacity(1 << 17, out)) as Box<dyn Write>)
    });
    let mut sink = Verbatim::new(outs.collect::<Result<Vec<_>>>()?);
    let mut ledger = account(recording.run(&mut sink)?, &Form::default());
    if let Some(folder) = folder {
        let left_out = copy_others(&folder, path)?;
        if !left_out.is_empty() {
            let left_out = left_out.join(", ");
            ledger.missing(format!("what is no file, folder or link is not in the output: {left_out}"));
        }
    }
    Ok(ledger)
}

fn account((meta, mut ledger): (Meta, Ledger), form: &Form) -> Ledger {
    form.account(&meta, &mut ledger);
    ledger
}
