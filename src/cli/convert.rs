//! `perfconv IN -o OUT`, `perfconv convert`, `rewrite` and `repair`.

use super::args::{COMPARING, ConvertArgs, NAMING, ProfileContentArgs, UNWINDING, WhichArg, flags};
use super::failure::Failure;
use super::input::{self, InputRecording};
use super::output;
use super::report::{self, Report, print_message};
use super::{batch, dataset, progress};
use perf_data::abi::record::RecordType;
use perf_data::container::access::Access;
use perf_data::container::output::{JoinDirectory, Output, OutputRules};
use perf_data::container::read::Container;
use perf_data::container::write::envelope::{Envelope, Envelopes};
use perf_symbols::symbol::find::fetch::Notice;
use perfconv::bundle::open::OpenedArchive;
use perfconv::bundle::unpack::Members;
use perfconv::conversion::input::{OpenedInput, RecognizedInput};
use perfconv::conversion::{self, Base, open_archive, output_rules, uses_unselected_samples, with_archived_objects};
use perfconv::formats::framework::table::{by_file_name, by_name, with_compression, writable};
use perfconv::formats::import::{CopyProfile, ImportOptions, Values};
use perfconv::formats::omitted::{omitted, omitted_file_format};
use perfconv::formats::{DEFAULT_PROFILE, FORMATS, Format, FormatWriter, OutputFormat, recording};
use perfconv::profile::symbolize::{SymbolOptions, SymbolSources};
use perfconv::rewrite::NoItrace;
use perfconv::rewrite::anonymize::options::Anonymize;
use perfconv::rewrite::filter::event::Event;
use perfconv::rewrite::framework::output::{RecordingForm, RecordingOptions};
use perfconv::rewrite::framework::pass_options::{ObjectUse, PassContext, is_requested, requested};
use perfconv::rewrite::framework::pass_type::{Request, flag};
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::itrace::decides_decoding;
use perfconv::rewrite::jit::pass::Jit;
use perfconv::rewrite::repair::Repair;
use perfconv::suggest::unknown;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;

/// Exit status of `--strict` if something is missing from the output.
pub(super) const INCOMPLETE: u8 = 3;

/// Exit status of `--fail-above` and `--fail-above-total` if a function or an event grew by more.
const EXCEEDED: u8 = 4;

/// Converts a recording, or several recordings to a directory.
///
/// # Errors
/// If the arguments are invalid, or a recording cannot be read or written.
pub(super) fn run(args: ConvertArgs) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.out_dir {
        return batch::run(&args, directory);
    }
    let Some(output) = args.output.clone().or_else(|| default_output(args.to.as_deref())) else {
        reject_further_inputs(&args)?;
        return Err(Failure::Usage(no_output(args.to.as_deref())));
    };
    let conversion = Conversion::new(&args, &output)?;
    if let FormatWriter::Directory(directory) = conversion.format.writer()
        && let Some(join) = directory.join()
        && (args.inputs.len() > 1 || directory.appends())
    {
        return dataset::run(&args, conversion, &output, join);
    }
    reject_further_inputs(&args)?;
    Ok(ExitCode::from(conversion.convert(&args, args.input(), &output)?.report(&args)))
}

/// The output if only a format is given, by `--to`: standard output for text.
fn default_output(to: Option<&str>) -> Option<PathBuf> {
    let is_text = |format: &Format| !format.is_binary && !format.is_directory();
    // An unknown format is reported later.
    by_name(FORMATS, to?).is_none_or(is_text).then(|| PathBuf::from("-"))
}

/// The message that no output is named, for a format whose output cannot be text on standard output.
fn no_output(to: Option<&str>) -> String {
    match to.and_then(|to| by_name(FORMATS, to)) {
        Some(format) if format.is_directory() => {
            format!("no output is named; {} is a directory, so name one with -o DIR", format.name)
        }
        Some(format) => {
            let name = format.name;
            format!("no output is named; {name} is binary, so name a file with -o, or write it to a pipe with -o -")
        }
        None => "no output is named; name one, such as -o out.pb.gz (see -h)".to_owned(),
    }
}

/// An output format and its options.
pub(super) struct Conversion {
    format: Arc<dyn OutputFormat>,
    envelopes: Envelopes,
    /// Whether an option of the output is given.
    has_options: bool,
    /// The directory to which the outputs of all recordings are added.
    directory: Option<(PathBuf, JoinDirectory)>,
}

/// The result of converting a recording.
pub(super) struct Converted {
    converted: conversion::Converted,
    input: String,
    output: String,
}

impl Converted {
    /// Names the output in messages.
    #[cfg(feature = "push")]
    pub(super) fn named(self, output: String) -> Self {
        Self { output, ..self }
    }

    /// Whether the output has samples.
    pub(super) fn has_samples(&self) -> bool {
        self.converted.ledger.counts(RecordType::SAMPLE).emitted > 0
    }

    /// Reports warnings about the input only.
    pub(super) fn warn(&self) {
        report::warnings(&self.converted.ledger, false);
    }

    /// Reports the result as the arguments ask for, and returns the exit status. What exceeds limits is an error.
    pub(super) fn report(&self, args: &ConvertArgs) -> u8 {
        if !args.quiet {
            let Self { converted, input, output } = self;
            let report = Report {
                ledger: &converted.ledger,
                inputs: slice::from_ref(input),
                output,
                notes: converted.images.as_slice(),
                unsymbolized: converted.unsymbolized.as_ref(),
            };
            report.print(args.report, args.verbose);
        }
        for message in &self.converted.exceeded {
            print_message(format_args!("perfconv: {message}"));
        }
        let is_incomplete = args.strict && self.converted.ledger.is_incomplete();
        match (self.converted.exceeded.is_empty(), is_incomplete) {
            (false, _) => EXCEEDED,
            (true, true) => INCOMPLETE,
            (true, false) => 0,
        }
    }
}

impl Conversion {
    /// The conversion to an output.
    ///
    /// # Errors
    /// If the arguments are invalid for the output's format.
    pub(super) fn new(args: &ConvertArgs, output: &Path) -> Result<Self, Failure> {
        let splits = args.profile.split_by.is_some();
        // Profiles are split into a directory, whose name has no extension.
        let to = args.to.as_deref().or(splits.then_some(DEFAULT_PROFILE.name));
        let (description, envelopes) = choose_format(output, to)?;
        if let Some((request, _)) = args.passes.using_objects().next().filter(|_| args.symbols.symbols == WhichArg::No)
        {
            return Err(Failure::Usage(format!("{} reads object files; remove --symbols no", request.flag)));
        }
        let exempt = match args.passes.using_objects().map(|(_, object_use)| object_use).max() {
            Some(ObjectUse::Naming) => NAMING,
            Some(ObjectUse::Unwinding) => UNWINDING,
            Some(ObjectUse::None) | None => &[],
        };
        args.formats.check(FORMATS, description, exempt).map_err(Failure::Usage)?;
        let format = match &args.format {
            Some(format) => Some(Arc::clone(format)),
            None => args.formats.output(description).map_err(|error| Failure::Usage(error.to_string()))?.map(Arc::from),
        };
        let Some(format) = format else {
            return Err(Failure::Usage(format!("{} can be read but not written", description.name)));
        };
        if args.diff.is_some() && !COMPARING.contains(&description.name) {
            let names = COMPARING.join(", ");
            return Err(Failure::Usage(format!("--diff applies to {names}, not to {}", description.name)));
        }
        let (is_profile, is_direct) = match format.writer() {
            FormatWriter::Profile(writes) => (true, writes.direct().is_some()),
            _ => (false, false),
        };
        let without_effect = |request: &Request| match is_direct {
            true => Some(request.flag.clone()),
            false => request.for_records.clone(),
        };
        let mut requests = args.passes.list.iter().filter(|_| is_profile);
        if let Some(option) = requests.find_map(without_effect) {
            return Err(Failure::Usage(format!("{option} cannot be used with format {}", description.name)));
        }
        if let Some(option) = args.passes.only_for_symbols.filter(|_| !format.shows_functions() || is_direct) {
            let (name, passes) = (flag(option.id), flags(&option));
            return Err(Failure::Usage(format!("{name} requires {passes}, or an output that shows functions")));
        }
        let highest = envelopes.iter().map(|envelope| envelope.highest_level()).min();
        if args.level.zip(highest).is_some_and(|(level, highest)| level > highest) {
            return Err(Failure::Usage("--level: out of range; expected 0 to 9 for .gz, 1 to 22 for .zst".to_owned()));
        }
        if args.level.is_some() && envelopes.is_empty() && !splits {
            return Err(Failure::Usage("--level needs an output whose name ends in .gz or .zst".to_owned()));
        }
        if matches!(format.writer(), FormatWriter::Directory(_)) && !envelopes.is_empty() {
            return Err(Failure::Usage(format!(
                "format {} is a directory, which cannot be compressed; remove .gz or .zst from its name",
                description.name
            )));
        }
        if is_profile && !is_direct {
            args.profile.check().map_err(Failure::Usage)?;
        }
        let has_options = args.format.is_some() || args.diff.is_some() || args.formats.is_any_given();
        Ok(Self { format, envelopes: Envelopes { list: envelopes, level: args.level }, has_options, directory: None })
    }

    pub(super) fn format(&self) -> &dyn OutputFormat {
        &*self.format
    }

    /// The conversion that adds its outputs to a directory.
    pub(super) fn into_directory(self, directory: PathBuf, join: JoinDirectory) -> Self {
        Self { directory: Some((directory, join)), ..self }
    }

    /// Converts a recording to an output.
    ///
    /// # Errors
    /// If the recording cannot be read, or the output cannot be written.
    pub(super) fn convert(&self, args: &ConvertArgs, input: PathBuf, path: &Path) -> Result<Converted, Failure> {
        let Self { format, envelopes, .. } = self;
        let rules = output_rules(&**format, args.profile.split_by.is_some(), args.force);
        let rules = OutputRules { mode: args.mode, ..rules };
        let output = match &self.directory {
            Some((directory, join)) => {
                Output::part(directory.clone(), *join, path.display().to_string(), &input).with_mode(args.mode)
            }
            None => output::check(path, &[&input], !format.format().is_binary && envelopes.list.is_empty(), rules)?,
        };
        let mut requests = args.passes.passes();
        let is_decided = requests.iter().any(decides_decoding);
        let traces = (!is_decided).then(|| args.traces.clone().unwrap_or_default());
        requests.retain(|request| !is_requested::<NoItrace>(request));
        let jit_dumps = requested(&requests).flat_map(|jit: &Jit| jit.dumps.clone()).filter(|path| path.is_file());
        let ProfileContentArgs { thread_types, name_maps, .. } = &args.profile.contents;
        let further = [&args.diff, thread_types, &name_maps.cgroup_names].into_iter().flatten().cloned();
        // The output may contain data of these files, so only users who may read all of them may read it.
        let output = jit_dumps.chain(further).fold(output, |output, file| output.restricted(Access::from_input(&file)));
        let read = args.read.options();
        let reads_objects = format.shows_functions() || args.passes.using_objects().next().is_some();
        let members = if reads_objects { Members::All } else { Members::Recording };
        let archive = open_archive(&input, members, &read)?;
        let recording = archive.as_ref().map_or(&*input, |archive| archive.recording());
        let recognized = input::recognized(recording.to_owned(), args.read.from.as_deref(), &read)?;
        let done = |converted, output: &Output| Converted {
            converted,
            input: input.display().to_string(),
            output: output.name(),
        };
        if let Some(copy) = self.copier(args, &recognized) {
            return Ok(done(conversion::copy(copy, recognized, &read, envelopes, &output)?, &output));
        }
        let expansion = args.values.map(Values::from).unwrap_or_default();
        let recording = recognized.import(&ImportOptions { values: expansion, ..ImportOptions::from(&read) })?;
        self.check_import(args, &recording)?;
        let announce = (!args.quiet).then_some(report::fetching as fn(&Notice));
        let search = || args.symbols.search(format.demangling(), &args.passes.find, announce, &progress::observer());
        let objects = reads_objects.then(search);
        let mut search = objects.transpose()?.flatten();
        if !format.shows_lines() {
            search = search.map(SymbolOptions::without_lines);
        }
        let with_objects = |archive: Option<&OpenedArchive>, path: &Path| {
            let objects = match archive {
                Some(archive) => search.clone().map(|search| with_archived_objects(search, archive, path)),
                None => search.clone(),
            };
            objects.map(Arc::new)
        };
        let objects = with_objects(archive.as_ref(), &input);
        let events: Vec<_> = requested(&requests).flat_map(Event::wanted).collect();
        let requests = format.passes(requests);
        let profile = args.profile.options(events.clone())?;
        let marks_unselected = uses_unselected_samples(&profile.weight, &**format);
        // Without other passes the profile itself selects the events: it can then report which of the recorded events it used.
        let profile_selects_events = matches!(format.writer(), FormatWriter::Profile(_))
            && !events.is_empty()
            && (requests.len() == 1 || marks_unselected);
        let passes = |objects: &Option<Arc<SymbolOptions>>| {
            let objects = objects.clone().unwrap_or_default();
            let context = args.context(&read, path, objects, output.access());
            let context = PassContext { marks_unselected, ..context };
            let mut passes = Passes::default();
            let requests = requests.iter().filter(|request| !profile_selects_events || !is_requested::<Event>(request));
            requests.for_each(|request| passes.push_boxed(request.pass(&context)));
            passes
        };
        let base = args.diff.as_deref().map(|base| {
            let recording = InputRecording::with_members(base.to_owned(), members, None, expansion, &read)?;
            // Objects of an archive are of its own recording.
            let objects = match recording.archive() {
                Some(archive) => with_objects(Some(archive), base),
                None => objects.clone(),
            };
            Ok::<_, Failure>((recording, objects))
        });
        let base = base.transpose()?;
        let base = base.as_ref().map(|(recording, objects)| Base {
            recording: recording.opened(),
            passes: passes(objects),
            symbols: SymbolSources { imported: None, objects: objects.clone() },
        });
        let conversion = conversion::Conversion {
            format: &**format,
            envelopes,
            passes: passes(&objects),
            traces: traces.clone(),
            profile,
            read: &read,
            symbols: SymbolSources { imported: None, objects },
            images: args.images.as_deref(),
            overwrite: args.force,
            base,
        };
        check_container(&conversion, &output)?;
        let mut converted = conversion.run(&recording, &output)?;
        converted.base.iter().filter(|_| !args.quiet).for_each(|ledger| report::warnings(ledger, false));
        if args.out_dir.is_some() || self.directory.is_some() {
            converted.ledger.name_notes(&input.display().to_string());
        }
        Ok(done(converted, &output))
    }

    /// How to copy the input unchanged, if it is a profile of the output's format and no option changes it.
    fn copier(&self, args: &ConvertArgs, input: &RecognizedInput) -> Option<CopyProfile> {
        let changes = !args.passes.list.is_empty() || self.has_options;
        let asks_for_more = args.values.is_some() || args.images.is_some();
        let format = self.format.format();
        let is_same = input.format.is_some_and(|from| from.name == format.name);
        format.copy.filter(|_| is_same && !changes && !asks_for_more)
    }

    /// Checks the options for inputs that are profiles.
    fn check_import(&self, args: &ConvertArgs, recording: &OpenedInput) -> Result<(), Failure> {
        let given = [(args.images.is_some(), "--images"), (args.values.is_some(), "--values")];
        if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given && recording.imported().is_none()) {
            return Err(Failure::Usage(format!("{option} needs a profile as input, such as pprof or folded stacks")));
        }
        if args.images.is_some() && args.out_dir.is_some() {
            let message = "--images cannot be used with --out-dir; the function names of each profile are written next to its output";
            return Err(Failure::Usage(message.to_owned()));
        }
        if args.images.is_some() && args.passes.has::<Anonymize>() {
            let message = "--images cannot be used with --anonymize, which omits the function names that it writes";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(())
    }
}

/// Checks the options for outputs that are recordings.
fn check_container(conversion: &conversion::Conversion<'_>, output: &Output) -> Result<(), Failure> {
    let FormatWriter::Records(RecordingOptions { form: RecordingForm { container, compress, .. }, .. }) =
        conversion.format.writer()
    else {
        return Ok(());
    };
    if let Some(version) = conversion.passes.perf_version().filter(|_| compress.is_some())
        && !version.knows_record(RecordType::COMPRESSED)
    {
        return Err(Failure::Usage(format!(
            "--compress: perf {version} cannot read compressed records; they need perf 5.2"
        )));
    }
    match container {
        Some(Container::Directory) if !output.can_be_directory() => Err(output::not_a_directory(&output.name())),
        _ => Ok(()),
    }
}

/// Writes a recording as perf.data, regardless of the name of the output.
///
/// # Errors
/// As [`run`].
pub(super) fn rewrite(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    let to = args.to.get_or_insert_with(|| recording::FORMAT.name.to_owned());
    if to == recording::FORMAT.name {
        return run(args);
    }
    Err(Failure::Usage(format!("--to {to}: this command writes only perf.data; use 'perfconv convert'")))
}

/// Repairs a recording: runs the repair pass before all others.
///
/// # Errors
/// As [`rewrite`].
pub(super) fn repair(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    let repair = Request { flag: "repair".to_owned(), for_records: None, pass: Arc::new(Repair::default()) };
    args.passes.list.insert(0, repair);
    rewrite(args)
}

/// Rejects further inputs.
///
/// # Errors
/// If there are any.
pub(super) fn reject_further_inputs(args: &ConvertArgs) -> Result<(), Failure> {
    match args.inputs.get(1) {
        None => Ok(()),
        Some(further) => {
            if let Some(level) = args.inputs.iter().find(|input| is_level(input)) {
                let level = level.display();
                return Err(Failure::Usage(format!(
                    "{level}: no such file; a compression level is --compress={level}"
                )));
            }
            let further = further.display();
            Err(Failure::Usage(format!(
                "{further}: too many inputs; name one recording, or convert several with --out-dir DIR"
            )))
        }
    }
}

/// Whether an input is no file, but a number that is a compression level: `--compress` takes its level after an equals sign.
fn is_level(input: &Path) -> bool {
    let level = input.to_str().and_then(|input| input.parse::<u32>().ok());
    level.is_some_and(|level| (1..=22).contains(&level)) && !input.exists()
}

/// Format and compression of an output: by `--to`, otherwise by the output's name.
fn choose_format(output: &Path, to: Option<&str>) -> Result<(&'static Format, Vec<Envelope>), Failure> {
    let name = output.to_string_lossy();
    let by_extension = by_file_name(FORMATS, &name);
    let Some(to) = to else {
        let unknown = || omitted_file_format(&name).unwrap_or_else(|| unknown_extension(output));
        return by_extension.ok_or_else(|| Failure::Usage(unknown()));
    };
    let Some(format) = by_name(FORMATS, to) else {
        let names: Vec<_> = writable(FORMATS).map(|format| format.name).collect();
        return Err(Failure::Usage(omitted(to).unwrap_or_else(|| unknown("format", to, &names))));
    };
    Ok(with_compression(format, by_extension, &name))
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
    format!(
        "{name}: cannot derive the format from the name; use an extension such as .pb.gz, .html, .svg, .folded, .jsonl or .data, or \
         --to FORMAT ('perfconv help formats' lists all)"
    )
}
