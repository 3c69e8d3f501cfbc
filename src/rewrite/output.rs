//! A recording written as a recording: in which container, copied as it is or record by record.

use super::endian::EndianPass;
use super::passes::Passes;
use super::perf_version::since::PerfVersion;
use crate::abi::Endian;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::container::spool::Spool;
use crate::container::walk::Damage;
use crate::container::write::envelope::Envelopes;
use crate::container::write::frames::{FrameKind, FrameOptions};
use crate::error::{Error, Result};
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
use std::io::{BufWriter, IntoInnerError, Seek, Write};
use std::path::Path;

/// How a recording is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingOptions {
    /// Container; that of the input if not set, a pipe on a stream.
    pub container: Option<Container>,
    /// Level of compression from 1 to 22, if records are to be compressed.
    pub compress: Option<i32>,
    /// Byte order; that of the input if not set.
    pub endian: Option<Endian>,
    /// Whether bytes of unknown order may be kept in another one.
    pub allow_mixed: bool,
    /// Whether records are written uncompressed.
    pub decompress: bool,
}

/// An output that can be sought in.
pub trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Where a recording is written. What was written takes the place of another file or directory only when it is complete.
pub trait RecordingOutput: Sized {
    /// What is complete.
    type Written;
    /// Why it could not be written.
    type Error: From<Error>;

    /// Whether the recording is written to a stream, such as standard output.
    fn is_stream(&self) -> bool;

    /// Has `write` write from the beginning to the end.
    ///
    /// # Errors
    /// What `write` or the system says.
    fn write_stream(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<Self::Written, Self::Error>;

    /// Has `write` write, and seek back.
    ///
    /// # Errors
    /// What `write` or the system says.
    fn write_seekable(
        self,
        write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>,
    ) -> std::result::Result<Self::Written, Self::Error>;

    /// Whether the output can be sought in.
    fn can_seek(&self) -> bool;

    /// How messages call the output.
    fn name(&self) -> String;

    /// Has `write` fill an empty directory.
    ///
    /// # Errors
    /// What `write` or the system says.
    fn write_directory(
        self,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> std::result::Result<Self::Written, Self::Error>;
}

/// Writes a recording, through passes. Where nothing is to be changed these are the same bytes; where only the header is, the
/// records and what lies between them are the same.
///
/// # Errors
/// Where it cannot be read or written.
pub fn write<O: RecordingOutput>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &RecordingOptions,
    envelopes: &Envelopes,
    output: O,
) -> std::result::Result<(Ledger, O::Written), O::Error> {
    if let Some(endian) = options.endian {
        passes.push(EndianPass::new(endian, options.allow_mixed));
    }
    let (is_changed, perf_version) = (passes.change_records(), passes.perf_version());
    let recording = Recording::open(input, read, passes)?;
    let from = recording.source.meta().container;
    let to = match options.container {
        Some(container) => container,
        None if output.is_stream() => Container::Pipe,
        None => from,
    };
    let form = Form {
        frames: frames(options, perf_version, is_changed),
        endian: options.endian,
        features_known: perf_version.map(PerfVersion::end_of_features),
    };
    if from == to && form.is_copy(recording.source.meta()) {
        return copy(recording, to, output, envelopes, &form);
    }
    let target = Target { to, form, envelopes, spool_dir: read.spool_dir.as_deref() };
    target.write(output, |sink| recording.run(sink))
}

/// The container and the form in which records are written.
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
    pub fn write<O: RecordingOutput>(
        &self,
        output: O,
        stream: impl FnOnce(&mut dyn Sink) -> Result<(Meta, Ledger)>,
    ) -> std::result::Result<(Ledger, O::Written), O::Error> {
        let Self { to, form, envelopes, spool_dir } = *self;
        let mut ledger = Ledger::default();
        let written = match to {
            Container::Directory => output.write_directory(|path| {
                let mut sink = ToDirectory::new(path, form);
                let meta;
                (meta, ledger) = stream(&mut sink)?;
                sink.account(&meta, &mut ledger);
                Ok(())
            }),
            Container::File => {
                let write = |out: &mut dyn WriteSeek| {
                    ledger = account(stream(&mut ToFile::new(out, form))?, &form);
                    Ok(())
                };
                if output.can_seek() && envelopes.list.is_empty() {
                    output.write_seekable(write)
                } else {
                    write_spooled(output, envelopes, spool_dir, write)
                }
            }
            Container::Pipe => output.write_stream(|out| {
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

/// Writes to a temporary file first, for an output that cannot seek or is compressed as a whole.
fn write_spooled<O: RecordingOutput>(
    output: O,
    envelopes: &Envelopes,
    spool_dir: Option<&Path>,
    write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>,
) -> std::result::Result<O::Written, O::Error> {
    let failed = |error| Error::io(output.name(), "cannot keep")(error);
    let mut spool = BufWriter::new(Spool::new(spool_dir).map_err(failed)?);
    write(&mut spool)?;
    let spooled = spool.into_inner().map_err(IntoInnerError::into_error).and_then(Spool::into_bytes);
    let bytes = spooled.map_err(failed)?;
    output.write_stream(|out| envelopes.around(out, |out| out.write_all(&bytes).map_err(Error::Output)))
}

/// Writes a recording of which the records and what is between them stay.
fn copy<O: RecordingOutput>(
    recording: Recording<'_>,
    to: Container,
    output: O,
    envelopes: &Envelopes,
    form: &Form,
) -> std::result::Result<(Ledger, O::Written), O::Error> {
    let mut ledger = Ledger::default();
    let written = match to {
        Container::Directory => output.write_directory(|path| {
            ledger = copy_folder(recording, path)?;
            Ok(())
        }),
        Container::File | Container::Pipe => output.write_stream(|out| {
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
fn frames(options: &RecordingOptions, perf_version: Option<PerfVersion>, is_changed: bool) -> Frames {
    match options.compress {
        Some(level) => {
            let reads_new = perf_version.is_some_and(|version| version >= PerfVersion::COMPRESSED2);
            let kind = if reads_new { FrameKind::Compressed2 } else { FrameKind::Compressed };
            Frames::Compressed(FrameOptions { kind, level })
        }
        None if options.decompress || is_changed => Frames::Plain,
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
