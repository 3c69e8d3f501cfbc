//! Writes a recording as a recording: chooses the container, and copies bytes or re-encodes records.

use super::passes::Passes;
use crate::rewrite::endian::EndianPass;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::version::PerfVersion;
use perf_data::container::output::pending::PendingOutput;
use perf_data::container::output::{Output, WriteSeek};
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::spool::Spool;
use perf_data::container::walk::Damage;
use perf_data::container::write::envelope::Envelopes;
use perf_data::container::write::frames::{FrameKind, FrameOptions};
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perf_data::stream::write::directory::{ToDirectory, copy_others};
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::pipe::ToPipe;
use perf_data::stream::write::verbatim::Verbatim;
use perf_symbols::symbol::stored_object::FILE2;
use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;

/// How to write a recording.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct RecordingOptions {
    /// Container, compression and byte order.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub form: RecordingForm,

    /// With --endian, allow data that cannot be converted to keep the recorder's byte order: user stacks, raw data, AUX areas.
    #[cfg_attr(feature = "cli", arg(long, requires = "endian"))]
    pub allow_mixed: bool,

    /// Write uncompressed records.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "compress"))]
    pub decompress: bool,
}

/// Container, compression and byte order of a recording.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct RecordingForm {
    /// Container of the perf.data output [default: that of the input, but pipe for standard output; merge and synth: file].
    #[cfg_attr(feature = "cli", arg(long, value_name = "CONTAINER", value_parser = container()))]
    pub container: Option<Container>,

    /// Compress the records, like perf record -z, with a zstd level from 1 (fast) to 22 (small) [default level: 3].
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "LEVEL",
            value_parser = level,
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "3",
        )
    )]
    pub compress: Option<i32>,

    /// Byte order of the perf.data output [default: that of the input; merge: of the first input].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ORDER", value_parser = byte_order()))]
    pub endian: Option<Endian>,
}

impl RecordingForm {
    /// The frames of a new recording: none unless asked for.
    pub fn frames(&self) -> CompressedFrames {
        let compressed = |level| CompressedFrames::Compressed(FrameOptions { kind: FrameKind::Compressed, level });
        self.compress.map_or(CompressedFrames::Plain, compressed)
    }
}

#[cfg(feature = "cli")]
fn container() -> impl clap::builder::TypedValueParser<Value = Container> {
    crate::option_values::choice([
        ("file", Container::File, "File with header and sections"),
        ("pipe", Container::Pipe, "Stream of records, as perf record writes it to a pipe"),
        ("dir", Container::Directory, "Directory, as perf record --threads writes it"),
    ])
}

#[cfg(feature = "cli")]
fn byte_order() -> impl clap::builder::TypedValueParser<Value = Endian> {
    crate::option_values::choice([
        ("little", Endian::Little, "x86, and nearly all Arm and RISC-V"),
        ("big", Endian::Big, "s390x"),
    ])
}

#[cfg(feature = "cli")]
fn level(text: &str) -> std::result::Result<i32, String> {
    match text.parse() {
        Ok(level) if (1..=22).contains(&level) => Ok(level),
        _ => Err("expected a level from 1 to 22".to_owned()),
    }
}

/// Writes a recording through passes.
///
/// If nothing changes, the output is identical to the input. If only the header changes, the records and the bytes between them
/// are identical.
///
/// # Errors
/// Fails if the input cannot be read or the output cannot be written.
pub fn write<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &RecordingOptions,
    envelopes: &Envelopes,
    output: &'a Output,
) -> Result<(Ledger, PendingOutput<'a>)> {
    if let Some(endian) = options.form.endian {
        passes.push(EndianPass::new(endian, options.allow_mixed));
    }
    let (is_changed, perf_version) = (passes.change_records(), passes.perf_version());
    let recording = OpenedRecording::open(input, read, passes)?;
    let from = recording.source.meta().container;
    let to = match options.form.container {
        Some(container) => container,
        None if output.is_stream() => Container::Pipe,
        None => from,
    };
    let form = Form {
        frames: frames(options, perf_version, is_changed),
        endian: options.form.endian,
        features_known: perf_version.map(PerfVersion::feature_end),
    };
    if from == to && form.is_copy(recording.source.meta()) {
        return copy(recording, to, output, envelopes, &form);
    }
    let target = RecordingTarget { to, form, envelopes, spool_dir: read.spool_dir.as_deref() };
    target.write(output, |sink| recording.run(sink))
}

/// Container and encoding of the records to write.
pub struct RecordingTarget<'a> {
    /// Container.
    pub to: Container,
    /// Encoding of the records.
    pub form: Form,
    /// Compression of the file as a whole.
    pub envelopes: &'a Envelopes,
    /// Directory of temporary files.
    pub spool_dir: Option<&'a Path>,
}

impl RecordingTarget<'_> {
    /// Writes the records that `stream` produces.
    ///
    /// # Errors
    /// Fails if the records cannot be produced or written.
    pub fn write<'a>(
        &self,
        output: &'a Output,
        stream: impl FnOnce(&mut dyn Sink) -> Result<(Meta, Ledger)>,
    ) -> Result<(Ledger, PendingOutput<'a>)> {
        let Self { to, form, envelopes, spool_dir } = *self;
        let mut ledger = Ledger::default();
        let written = match to {
            Container::Directory => output.fill_directory(|path| {
                let mut sink = ToDirectory::new(path, form);
                let meta;
                (meta, ledger) = stream(&mut sink)?;
                sink.account(&meta, &mut ledger);
                form.report_obstacles(&meta, to, &mut ledger);
                Ok(())
            }),
            Container::File => {
                let write = |out: &mut dyn WriteSeek| {
                    ledger = account(stream(&mut ToFile::new(out, form))?, &form, to);
                    Ok(())
                };
                if output.can_seek() && envelopes.list.is_empty() {
                    output.write_seekable(write)
                } else {
                    write_spooled(output, envelopes, spool_dir, write)
                }
            }
            Container::Pipe => output.write(|out| {
                envelopes.around(out, |out| {
                    let mut sink = ToPipe::new(out, form);
                    let (meta, own) = stream(&mut sink)?;
                    let has_names = meta.features.contains_key(&FeatureId(FILE2));
                    ledger = account((meta, own), &form, to);
                    if has_names {
                        ledger.note(
                            "perf rejects pipes in which names of functions are stored: use --container file"
                                .to_owned(),
                        );
                    }
                    if !sink.omitted().is_empty() {
                        ledger.missing(format!("a pipe cannot store {}", sink.omitted().join(", ")));
                    }
                    Ok(())
                })
            }),
        }?;
        Ok((ledger, written))
    }
}

/// Writes through a temporary file, for an output that cannot seek or is compressed as a whole.
fn write_spooled<'a>(
    output: &'a Output,
    envelopes: &Envelopes,
    spool_dir: Option<&Path>,
    write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>,
) -> Result<PendingOutput<'a>> {
    let failed = |error| Error::io(output.name(), "cannot write a temporary file")(error);
    let mut spool = BufWriter::new(Spool::new(spool_dir).map_err(failed)?);
    write(&mut spool)?;
    let spooled = spool.into_inner().map_err(IntoInnerError::into_error).and_then(Spool::into_bytes);
    let bytes = spooled.map_err(failed)?;
    output.write(|out| envelopes.around(out, |out| out.write_all(&bytes).map_err(Error::Output)))
}

/// Copies a recording whose records, and the bytes between them, do not change.
fn copy<'a>(
    recording: OpenedRecording<'_>,
    to: Container,
    output: &'a Output,
    envelopes: &Envelopes,
    form: &Form,
) -> Result<(Ledger, PendingOutput<'a>)> {
    let mut ledger = Ledger::default();
    let written = match to {
        Container::Directory => output.fill_directory(|path| {
            ledger = copy_directory(recording, path)?;
            Ok(())
        }),
        Container::File | Container::Pipe => output.write(|out| {
            envelopes.around(out, |out| {
                ledger = account_copy(recording.run(&mut Verbatim::new(vec![out]))?, form);
                Ok(())
            })
        }),
    }?;
    Ok((ledger, written))
}

/// An opened recording and the passes to run on it.
struct OpenedRecording<'a> {
    source: Source,
    passes: &'a mut Passes,
    /// The input to reopen; `None` without passes.
    input: Option<Input>,
    options: &'a ReadOptions,
    damage: Option<Damage>,
}

impl<'a> OpenedRecording<'a> {
    fn open(input: Input, options: &'a ReadOptions, passes: &'a mut Passes) -> Result<Self> {
        let (input, damage) = if passes.is_empty() { (input, None) } else { input.repeatable(options)? };
        let second_input = (!passes.is_empty()).then(|| input.clone());
        Ok(Self { source: Source::open(input, options.clone())?, passes, input: second_input, options, damage })
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

/// How to write compressed frames. Changed records cannot remain in their original frames.
fn frames(options: &RecordingOptions, perf_version: Option<PerfVersion>, is_changed: bool) -> CompressedFrames {
    match options.form.compress {
        Some(level) => {
            let reads_new = perf_version.is_some_and(|version| version >= PerfVersion::COMPRESSED2);
            let kind = if reads_new { FrameKind::Compressed2 } else { FrameKind::Compressed };
            CompressedFrames::Compressed(FrameOptions { kind, level })
        }
        None if options.decompress || is_changed => CompressedFrames::Plain,
        None => CompressedFrames::Kept,
    }
}

/// Copies a directory with everything in it.
fn copy_directory(recording: OpenedRecording<'_>, path: &Path) -> Result<Ledger> {
    let (files, directory) = (recording.source.meta().files.clone(), recording.source.meta().directory.clone());
    let outs = files.iter().map(|file| {
        let name = Path::new(file).file_name().unwrap_or_default();
        let out = File::create_new(path.join(name)).map_err(Error::Output)?;
        Ok(Box::new(BufWriter::with_capacity(1 << 17, out)) as Box<dyn Write>)
    });
    let mut sink = Verbatim::new(outs.collect::<Result<Vec<_>>>()?);
    let mut ledger = account_copy(recording.run(&mut sink)?, &Form::default());
    if let Some(directory) = directory {
        let skipped = copy_others(&directory, path)?;
        if !skipped.is_empty() {
            let skipped = skipped.join(", ");
            ledger.missing(format!("skipped entries that are not files, directories or links: {skipped}"));
        }
    }
    Ok(ledger)
}

fn account_copy((meta, mut ledger): (Meta, Ledger), form: &Form) -> Ledger {
    form.account(&meta, &mut ledger);
    ledger
}

fn account((meta, mut ledger): (Meta, Ledger), form: &Form, to: Container) -> Ledger {
    form.account(&meta, &mut ledger);
    form.report_obstacles(&meta, to, &mut ledger);
    ledger
}
