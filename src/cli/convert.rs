//! `perfconv IN -o OUT`, `perfconv convert`, `rewrite` and `repair`.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::images::Images;
use super::input::{NamedInput, Recording};
use super::output;
use super::report::{self, Report};
use super::{archive, batch, dataset, profiles, progress, rewrite};
#[cfg(feature = "push")]
use perfconv::abi::record::RecordType;
use perfconv::bundle::unpack::Members;
use perfconv::container::access::Access;
use perfconv::container::output::incomplete::hold;
use perfconv::container::output::pending::PendingOutput;
use perfconv::container::output::{JoinDirectory, Output, OutputRules};
use perfconv::container::read::ReadOptions;
use perfconv::container::read::directory::is_recording;
use perfconv::container::write::envelope::{self, Envelope, Envelopes};
use perfconv::convert;
use perfconv::formats::converter::{AppliedPasses, ConvertOptions};
use perfconv::formats::directory_options::APPEND;
use perfconv::formats::flamegraph::DIFF;
use perfconv::formats::import::{self, CopyProfile, Values};
use perfconv::formats::options::OptionValues;
use perfconv::formats::profile_options::{THREAD_TYPES, split};
use perfconv::formats::symbol_options::{OF_UNWINDING, SYMBOLS, symbol_search};
use perfconv::formats::table::{by_file_name, by_name, check_options, writable};
use perfconv::formats::{DEFAULT_PROFILE, FORMATS, Format, Writer, perf_data};
use perfconv::profile::Profile;
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::symbolize::{SymbolOptions, SymbolSources};
use perfconv::profile::unsymbolized::Unsymbolized;
use perfconv::rewrite::filter::event::EVENT;
use perfconv::rewrite::jit::options::JIT_DUMP;
use perfconv::rewrite::passes::Passes;
use perfconv::rewrite::repair::RepairPass;
use perfconv::rewrite::request::PassRequest;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::source::Source;
use perfconv::suggest::unknown;
use perfconv::symbol::find::fetch::Notice;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;

/// Exit status of `--strict` if something is missing from the output.
pub const INCOMPLETE: u8 = 3;

/// Converts a recording, or several recordings to a directory.
///
/// # Errors
/// If the arguments are invalid, or a recording cannot be read or written.
pub fn run(args: ConvertArgs) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.out_dir {
        return batch::run(&args, directory);
    }
    let Some(output) = args.output.clone().or_else(|| default_output(args.to.as_deref())) else {
        reject_further_inputs(&args)?;
        return Err(Failure::Usage("no output is named; name one, such as -o out.pb.gz (see -h)".into()));
    };
    let conversion = Conversion::new(&args, &output)?;
    if let Some(join) = conversion.format.join()
        && (args.inputs.len() > 1 || conversion.values.is_given(&APPEND))
    {
        return dataset::run(&args, conversion, &output, join);
    }
    reject_further_inputs(&args)?;
    Ok(ExitCode::from(conversion.convert(&args, args.input(), &output)?.report(&args)))
}

/// The output if only a format is given, by `--to`: standard output for text.
fn default_output(to: Option<&str>) -> Option<PathBuf> {
    let is_text = |format: &Format| !format.is_binary && !matches!(format.writer, Writer::Directory { .. });
    // An unknown format is reported later.
    by_name(FORMATS, to?).is_none_or(is_text).then(|| PathBuf::from("-"))
}

/// An output format and its options.
pub struct Conversion {
    format: &'static Format,
    envelopes: Envelopes,
    /// Values of the format's options.
    values: OptionValues,
    /// The directory to which the outputs of all recordings are added.
    directory: Option<(PathBuf, JoinDirectory)>,
}

/// The result of converting a recording.
pub struct Converted {
    ledger: Ledger,
    input: String,
    output: String,
    /// Messages on the directories with function names that were written.
    images: Vec<String>,
    /// Samples of a profile whose frames have no function names.
    unnamed: Option<Unsymbolized>,
}

impl Converted {
    /// Names the output in messages.
    #[cfg(feature = "push")]
    pub fn named(self, output: String) -> Self {
        Self { output, ..self }
    }

    /// Whether the output has samples.
    #[cfg(feature = "push")]
    pub fn has_samples(&self) -> bool {
        self.ledger.of(RecordType::SAMPLE).emitted > 0
    }

    /// Reports the result as the arguments ask for, and returns the exit status.
    pub fn report(&self, args: &ConvertArgs) -> u8 {
        if !args.quiet {
            let Self { ledger, input, output, images, unnamed } = self;
            let unnamed = unnamed.as_ref();
            let report = Report { ledger, inputs: slice::from_ref(input), output, notes: images, unnamed };
            report.print(args.report, args.verbose);
        }
        let is_incomplete = args.strict && self.ledger.is_incomplete();
        if is_incomplete { INCOMPLETE } else { 0 }
    }
}

impl Conversion {
    /// The conversion to an output.
    ///
    /// # Errors
    /// If the arguments are invalid for the output's format.
    pub fn new(args: &ConvertArgs, output: &Path) -> Result<Self, Failure> {
        let values = args.format_values();
        // Profiles are split into a directory, whose name has no extension.
        let to = args.to.as_deref().or(split(&values).map(|_| DEFAULT_PROFILE.name));
        let (format, envelopes) = choose_format(output, to)?;
        let unwinds = args.passes.unwind();
        if unwinds && values.word(&SYMBOLS) == Some("no") {
            return Err(Failure::Usage("--unwind reads object files; remove --symbols no".to_owned()));
        }
        let of_format = if unwinds { values.without(OF_UNWINDING) } else { values.clone() };
        check_options(FORMATS, format, &of_format).map_err(Failure::Usage)?;
        let is_direct = format.direct(&values).is_some();
        let without_effect = |request: &PassRequest| match is_direct {
            true => Some(request.option()),
            false => request.option_for_records(),
        };
        let mut requests = args.passes.list.iter().filter(|_| format.is_of_profiles());
        if let Some(option) = requests.find_map(without_effect) {
            return Err(Failure::Usage(format!("{option} cannot be used with format {}", format.name)));
        }
        if let Some(option) = args.passes.only_of_symbols.filter(|_| !format.shows_functions(&values) || is_direct) {
            let passes = option.refined().join(" or ");
            let name = option.name();
            return Err(Failure::Usage(format!("{name} requires {passes}, or an output that shows functions")));
        }
        let highest = envelopes.iter().map(|envelope| envelope.highest_level()).min();
        if args.level.zip(highest).is_some_and(|(level, highest)| level > highest) {
            return Err(Failure::Usage("--level: out of range; expected 0 to 9 for .gz, 1 to 22 for .zst".to_owned()));
        }
        if args.level.is_some() && envelopes.is_empty() && split(&values).is_none() {
            return Err(Failure::Usage("--level needs an output whose name ends in .gz or .zst".to_owned()));
        }
        if matches!(format.writer, Writer::Directory { .. }) && !envelopes.is_empty() {
            return Err(Failure::Usage(format!(
                "format {} is a directory, which cannot be compressed; remove .gz or .zst from its name",
                format.name
            )));
        }
        let values = (format.implied)(&values).and(&values);
        Ok(Self { format, envelopes: Envelopes { list: envelopes, level: args.level }, values, directory: None })
    }

    /// The output format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Values of the format's options.
    pub fn values(&self) -> &OptionValues {
        &self.values
    }

    /// The conversion that adds its outputs to a directory.
    pub fn into_directory(self, directory: PathBuf, join: JoinDirectory) -> Self {
        Self { directory: Some((directory, join)), ..self }
    }

    /// Converts a recording to an output.
    ///
    /// # Errors
    /// If the recording cannot be read, or the output cannot be written.
    pub fn convert(&self, args: &ConvertArgs, input: PathBuf, path: &Path) -> Result<Converted, Failure> {
        let Self { format, envelopes, values, .. } = self;
        let direct = format.direct(values);
        let is_split = split(values).is_some();
        let rules = OutputRules {
            overwrite: args.force,
            replaceable: match format.writer {
                Writer::Records => Some(is_recording),
                Writer::Profile(_) if is_split => Some(profiles::is_split),
                Writer::Directory { is_alike, .. } => Some(is_alike),
                Writer::Profile(_) | Writer::Converter(_) | Writer::Nothing => None,
            },
            is_directory: matches!(format.writer, Writer::Directory { .. }) || is_split,
        };
        let output = match &self.directory {
            Some((directory, join)) => Output::part(directory.clone(), *join, path.display().to_string(), &input),
            None => output::check(path, &[&input], !format.is_binary && envelopes.list.is_empty(), rules)?,
        };
        let jit_dumps = args.passes.values(&JIT_DUMP).into_iter().filter(|path| path.is_file());
        let further = [values.file(&DIFF), values.file(&THREAD_TYPES)].into_iter().flatten().map(Path::to_owned);
        let output = jit_dumps.chain(further).fold(output, |output, file| output.restricted(Access::of_input(&file)));
        let options = args.read.options();
        let input_name = input.display().to_string();
        let reads_objects = format.shows_functions(values) || args.passes.unwind();
        let members = if reads_objects { Members::All } else { Members::Recording };
        let archive = archive::opened(&input, members, &options)?;
        let recording = archive.as_ref().map_or(&*input, |archive| archive.recording());
        let named = NamedInput::open(recording.to_owned(), args.read.from.as_deref(), &options)?;
        if let Some(copy) = self.copy_of(args, &named) {
            let mut ledger = Ledger::default();
            let written = output.write(|out| {
                envelopes.around(out, |out| {
                    ledger = import::copy(copy, named.input, &options, out)?;
                    Ok(())
                })
            })?;
            written.put_in_place()?;
            return Ok(Converted {
                ledger,
                input: input_name,
                output: output.name(),
                images: Vec::new(),
                unnamed: None,
            });
        }
        let expansion = args.values.map(Values::from).unwrap_or_default();
        let recording = Recording::converted(named, &options, expansion)?;
        let announce = (!args.quiet).then_some(report::fetching as fn(&Notice));
        let objects = reads_objects.then(|| symbol_search(values, &args.passes.find, announce, &progress::observer()));
        let mut search = objects.transpose()?.flatten();
        if !(format.lines)(values) {
            search = search.map(SymbolOptions::without_lines);
        }
        let objects = search.clone().map(|search| match &archive {
            Some(archive) => archive::with_objects(search, archive, &input),
            None => search,
        });
        let objects = objects.map(Arc::new);
        let input_path = input;
        let input = recording.input();
        let requests = (format.passes)(values, args.passes.list.clone());
        let mut passes = Passes::default();
        // Without other passes the profile itself selects the events: it can then report which of the recorded events it used.
        let is_of_profile =
            matches!((&format.writer, &requests[..]), (Writer::Profile(_), [only]) if only.values().has(&EVENT));
        let context = args.context(&options, path, objects.clone().unwrap_or_default(), output.access());
        requests.iter().filter(|_| !is_of_profile).for_each(|request| passes.push_boxed(request.pass(&context)));
        let held_files = passes.hold_files();
        let (replace_addresses, disclosure) = (passes.replace_addresses(), passes.disclosure());
        let images = Images::check(&recording, disclosure, &input_path, &output, &format.writer, args)?;
        // Function names of an imported profile.
        let imported = disclosure.bypassing(recording.imported()).filter(|_| direct.is_none()).cloned();
        let retained_profile = imported.clone().filter(|_| format.is_of_profiles());
        // Unknown fields could contain anything.
        let retained = disclosure.bypassing(Some(recording.retained_fields())).unwrap_or_default();
        // Objects have names for the original addresses only.
        let has_objects = disclosure.bypassing(Some(format)).is_some_and(|format| format.shows_functions(values))
            && direct.is_none()
            && !replace_addresses;
        let symbols = SymbolSources { imported, objects: objects.clone().filter(|_| has_objects) };
        let conversion = ConvertOptions {
            passes: AppliedPasses { change_records: passes.change_records(), replace_addresses, disclosure },
            retained,
            values: values.clone(),
            symbols: symbols.clone(),
            spool_dir: args.read.spool_dir.clone(),
        };

        let mut unnamed = None;
        let (mut ledger, written) = match (direct, format.writer) {
            (Some(direct), _) => {
                let (write, ledger) = direct(Source::open(input, options)?)?;
                (ledger, output.write(|out| envelopes.around(out, |out| write(out)))?)
            }
            (None, Writer::Records) => rewrite::run(input, &options, &mut passes, &output, envelopes, args)?,
            (None, Writer::Nothing) => (Ledger::default(), PendingOutput::in_place()),
            (None, Writer::Converter(begin)) => {
                let mut ledger = Ledger::default();
                let written = output.write(|out| {
                    envelopes.around(out, |out| {
                        ledger = convert::convert_records(input, &options, &conversion, &mut passes, begin, out)?;
                        Ok(())
                    })
                })?;
                (ledger, written)
            }
            (None, Writer::Directory { begin, .. }) => {
                let mut ledger = Ledger::default();
                let written = output.fill_directory(|directory| {
                    ledger = convert::convert_records_to_directory(
                        input,
                        &options,
                        &conversion,
                        &mut passes,
                        begin,
                        directory,
                    )?;
                    Ok(())
                })?;
                (ledger, written)
            }
            (None, Writer::Profile(writes)) => {
                let mut format = profiles::ProfileFormat { format, writes, values, base: None };
                let profile = profiles::options(&format, args.passes.values(&EVENT).concat(), symbols)?;
                let base = values.file(&DIFF).map(|base| {
                    let recording = Recording::with_members(base.to_owned(), members, None, expansion, &options)?;
                    let objects = match recording.archive() {
                        Some(archive) => search.map(|search| Arc::new(archive::with_objects(search, archive, base))),
                        None => objects,
                    };
                    let context = args.context(&options, path, objects.clone().unwrap_or_default(), output.access());
                    let mut passes = Passes::default();
                    requests
                        .iter()
                        .filter(|_| !is_of_profile)
                        .for_each(|request| passes.push_boxed(request.pass(&context)));
                    let imported = disclosure.bypassing(recording.imported()).cloned();
                    let symbols = SymbolSources { imported, objects: objects.filter(|_| has_objects) };
                    let profile = ProfileOptions { symbols, ..profile.clone() };
                    base_profile(&recording, &options, &mut passes, &profile)
                });
                format.base = base.transpose()?.map(Arc::new);
                let (ledger, written, names) =
                    profiles::run(input, &options, &mut passes, &format, &output, envelopes, &profile)?;
                unnamed = Some(names);
                (ledger, written)
            }
        };

        let (names, message) = images.write(&mut ledger)?.unzip();
        {
            // Moved into place last: a recording must not appear before the files that it refers to.
            let appear_together = hold();
            names.map_or(Ok(()), |names| names.put_in_place_held(&appear_together))?;
            held_files.put_in_place(&mut passes)?;
            written.put_in_place_held(&appear_together)?;
        }
        recording.missing(retained_profile.is_some()).for_each(|missing| ledger.missing(missing.clone()));
        recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let dropped = recording.retained_fields();
        if !dropped.is_empty() && (disclosure.is_anonymized() || !(format.keeps)(&dropped)) {
            ledger.missing(format!("{}: unknown fields cannot be stored in the output", recording.input().name()));
        }
        if let Some(aggregated) = recording.imported().and_then(|imported| imported.size.aggregated()) {
            ledger.aggregated(aggregated);
        }
        if args.out_dir.is_some() || self.directory.is_some() {
            ledger.name_notes(&input_name);
        }
        Ok(Converted { ledger, input: input_name, output: output.name(), images: Vec::from_iter(message), unnamed })
    }

    /// How to copy the input unchanged, if it is a profile of the output's format and no option changes it.
    fn copy_of(&self, args: &ConvertArgs, named: &NamedInput) -> Option<CopyProfile> {
        let changes = !args.passes.list.is_empty() || !self.values.is_empty();
        let asks_for_more = args.values.is_some() || args.images.is_some();
        let is_same = named.format.is_some_and(|from| from.name == self.format.name);
        self.format.copy.filter(|_| is_same && !changes && !asks_for_more)
    }
}

/// The profile of the recording that another is compared with.
fn base_profile(
    recording: &Recording,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
) -> Result<Profile, Failure> {
    let (profiles, ledger) = convert::passed_profiles(recording.input(), read, passes, options)?;
    report::warnings(&ledger, false);
    Ok(profiles.into_iter().next().unwrap_or_default())
}

/// Writes a recording as perf.data, regardless of the name of the output.
///
/// # Errors
/// As [`run`].
pub fn rewrite(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    let to = args.to.get_or_insert_with(|| perf_data::FORMAT.name.to_owned());
    if to == perf_data::FORMAT.name {
        return run(args);
    }
    Err(Failure::Usage(format!("--to {to}: this command writes only perf.data; use 'perfconv convert'")))
}

/// Repairs a recording: runs the repair pass before all others.
///
/// # Errors
/// As [`rewrite`].
pub fn repair(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    args.passes.list.insert(0, RepairPass::request());
    rewrite(args)
}

/// Rejects further inputs.
///
/// # Errors
/// If there are any.
pub fn reject_further_inputs(args: &ConvertArgs) -> Result<(), Failure> {
    match args.inputs.get(1) {
        None => Ok(()),
        Some(further) => {
            let further = further.display();
            Err(Failure::Usage(format!(
                "{further}: too many inputs; name one recording, or convert several with --out-dir DIR"
            )))
        }
    }
}

/// Format and compression of an output: by `--to`, otherwise by the output's name.
fn choose_format(output: &Path, to: Option<&str>) -> Result<(&'static Format, Vec<Envelope>), Failure> {
    let name = output.to_string_lossy();
    let by_extension = by_file_name(FORMATS, &name);
    let Some(to) = to else {
        return by_extension.ok_or_else(|| Failure::Usage(unknown_extension(output)));
    };
    let Some(format) = by_name(FORMATS, to) else {
        let names: Vec<_> = writable(FORMATS).map(|format| format.name).collect();
        return Err(Failure::Usage(unknown("format", to, &names)));
    };
    match by_extension {
        Some((named, envelopes)) if named.name == format.name => Ok((format, envelopes)),
        _ => {
            let (_, compression) = envelope::strip(&name);
            Ok((format, if compression.is_empty() { Vec::from_iter(format.envelope) } else { compression }))
        }
    }
}

/// The message about an output without `--to` whose extension is unknown.
fn unknown_extension(output: &Path) -> String {
    if output == Path::new("-") {
        return "standard output: no format; use --to FORMAT".to_owned();
    }
    let name = output.display();
    if output.is_dir() {
        let file = output.join("out.pb.gz");
        let file = file.display();
        return format!("{name}: is a directory; name a file in it, such as {file}, or use --out-dir");
    }
    let extensions =
        writable(FORMATS).flat_map(|format| format.extensions).map(|(extension, _)| format!(".{extension}"));
    let extensions = extensions.collect::<Vec<_>>().join(", ");
    let others: Vec<_> =
        writable(FORMATS).filter(|format| format.extensions.is_empty()).map(|format| format.name).collect();
    let others = others.join(", ");
    format!(
        "{name}: cannot derive the format from the name; use one of {extensions}, or --to FORMAT ({others} have no extension)"
    )
}
