//! `perfconv IN -o OUT`, `perfconv convert`.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::images::Images;
use super::input::{NamedInput, Recording};
use super::output::{Allowed, Output};
use super::pending_output::PendingOutput;
use super::report::Account;
use super::{batch, profiles, rewrite, temporary_outputs};
use perfconv::container::read::directory::is_recording;
use perfconv::container::write::envelope::{self, Envelope, Envelopes};
use perfconv::convert;
use perfconv::formats::carry::{CarryOptions, Passed};
use perfconv::formats::import::{self, CopyProfile, Values};
use perfconv::formats::options::OptionValues;
use perfconv::formats::profile_options::split;
use perfconv::formats::retained_fields::RetainedFields;
use perfconv::formats::table::{by_file_name, by_name, check_options, writable};
use perfconv::formats::{DEFAULT_PROFILE, FORMATS, Format, Writes, perf_data};
use perfconv::profile::symbols::SymbolSource;
use perfconv::profile::unnamed::Unnamed;
use perfconv::rewrite::filter::event::EVENT;
use perfconv::rewrite::passes::Passes;
use perfconv::rewrite::repair::RepairPass;
use perfconv::rewrite::request::PassRequest;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::source::Source;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;

/// Exit status of `--strict` when something is missing from the output.
pub const INCOMPLETE: u8 = 3;

/// Converts a recording, or several into a folder.
///
/// # Errors
/// Where the arguments do not make sense, or it cannot be done.
pub fn run(args: ConvertArgs) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.out_dir {
        return batch::run(&args, folder);
    }
    only_one_input(&args)?;
    let Some(output) = args.output.clone().or_else(|| default_output(args.to.as_deref())) else {
        return Err(Failure::Usage("no output is named: say for instance -o out.pb.gz (--help tells more)".into()));
    };
    let conversion = Conversion::of(&args, &output)?;
    Ok(ExitCode::from(conversion.convert(&args, args.input(), &output)?.report(&args)))
}

/// Where a format goes that `--to` names and no output: text to standard output.
fn default_output(to: Option<&str>) -> Option<PathBuf> {
    let is_text = |format: &Format| !format.is_binary && !matches!(format.writes, Writes::Folder { .. });
    // An unknown format is reported as one.
    by_name(FORMATS, to?).is_none_or(is_text).then(|| PathBuf::from("-"))
}

/// What is written, and how.
pub struct Conversion {
    format: &'static Format,
    envelopes: Envelopes,
    /// Values of the format's options.
    values: OptionValues,
}

/// What became of a recording.
pub struct Converted {
    ledger: Ledger,
    input: String,
    output: String,
    /// Where names of functions are, if there are any.
    images: Vec<String>,
    /// Samples of a profile whose frames have no names.
    unnamed: Option<Unnamed>,
}

impl Converted {
    /// Tells it, as far as it is wanted, and gives the exit status.
    pub fn report(&self, args: &ConvertArgs) -> u8 {
        if !args.quiet {
            let Self { ledger, input, output, images, unnamed } = self;
            let unnamed = unnamed.as_ref();
            let account = Account { ledger, inputs: slice::from_ref(input), output, notes: images, unnamed };
            account.report(args.report, args.verbose);
        }
        let is_incomplete = args.strict && self.ledger.is_incomplete();
        if is_incomplete { INCOMPLETE } else { 0 }
    }
}

impl Conversion {
    /// What is to be written to an output.
    ///
    /// # Errors
    /// Where the arguments do not make sense for it.
    pub fn of(args: &ConvertArgs, output: &Path) -> Result<Self, Failure> {
        let values = args.format_values();
        // The name of a folder tells no format.
        let to = args.to.as_deref().or(split(&values).map(|_| DEFAULT_PROFILE.name));
        let (format, envelopes) = choose_format(output, to)?;
        check_options(FORMATS, format, &values).map_err(Failure::Usage)?;
        let is_direct = format.direct(&values).is_some();
        let of_no_profile = |request: &PassRequest| match is_direct {
            true => Some(request.option()),
            false => request.option_for_records(),
        };
        let mut requests = args.passes.list.iter().filter(|_| format.is_of_profiles());
        if let Some(option) = requests.find_map(of_no_profile) {
            return Err(Failure::Usage(format!("{option} is not for {}", format.name)));
        }
        let highest = envelopes.iter().map(|envelope| envelope.highest_level()).min();
        if args.level.zip(highest).is_some_and(|(level, highest)| level > highest) {
            return Err(Failure::Usage("--level: a .gz goes from 0 to 9, and a .zst from 1 to 22".to_owned()));
        }
        if args.level.is_some() && envelopes.is_empty() && split(&values).is_none() {
            return Err(Failure::Usage("--level is for an output whose name ends in .gz or .zst".to_owned()));
        }
        if matches!(format.writes, Writes::Folder { .. }) && !envelopes.is_empty() {
            return Err(Failure::Usage(format!("{} is a folder of files, which is not compressed", format.name)));
        }
        Ok(Self { format, envelopes: Envelopes { list: envelopes, level: args.level }, values })
    }

    /// Converts a recording to an output.
    ///
    /// # Errors
    /// Where it cannot be done.
    pub fn convert(&self, args: &ConvertArgs, input: PathBuf, path: &Path) -> Result<Converted, Failure> {
        let Self { format, envelopes, values } = self;
        let direct = format.direct(values);
        let is_split = split(values).is_some();
        let allowed = Allowed {
            overwrite: args.force,
            on_terminal: !format.is_binary && envelopes.list.is_empty(),
            folder: match format.writes {
                Writes::Records => Some(is_recording),
                Writes::Profile(_) if is_split => Some(profiles::is_split),
                Writes::Folder { is_alike, .. } => Some(is_alike),
                Writes::Profile(_) | Writes::Carry(_) | Writes::Nothing => None,
            },
            is_folder: matches!(format.writes, Writes::Folder { .. }) || is_split,
        };
        let output = Output::check(path, &input, allowed)?;
        let options = args.read.options();
        let input_name = input.display().to_string();
        let named = NamedInput::open(input.clone(), args.read.from.as_deref(), &options)?;
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
        let images = Images::check(&recording, &input, &output, &format.writes, args)?;
        let input = recording.input();
        let requests = args.passes((format.usual_passes)(values));
        let mut passes = Passes::default();
        // Alone, a choice of events is the profile's own, which tells what it took of all that there are.
        let is_of_profile =
            matches!((&format.writes, &requests[..]), (Writes::Profile(_), [only]) if only.values().has(&EVENT));
        let context = args.context(&options, path);
        requests.iter().filter(|_| !is_of_profile).for_each(|request| passes.push_boxed(request.pass(&context)));
        let held_files = passes.hold_files();
        let (remap, anonymize) = (passes.remap_addresses(), passes.anonymize());
        // Names of an imported profile are not those of what was anonymized.
        let imported = recording.imported().filter(|_| direct.is_none() && !anonymize).cloned();
        let kept = imported.clone().filter(|_| format.is_of_profiles());
        // Whether unknown fields tell of people cannot be decided.
        let retained = if anonymize { RetainedFields::default() } else { recording.retained_fields() };
        let carry = CarryOptions {
            passes: Passed { change_records: passes.change_records(), remap, anonymize },
            retained,
            values: values.clone(),
            symbols: imported.map(|imported| imported as Arc<dyn SymbolSource>),
            spool_dir: args.read.spool_dir.clone(),
        };

        let mut unnamed = None;
        let (mut ledger, written) = match (direct, format.writes) {
            (Some(direct), _) => {
                let (write, ledger) = direct(Source::open(input, options)?)?;
                (ledger, output.write(|out| envelopes.around(out, |out| write(out)))?)
            }
            (None, Writes::Records) => rewrite::run(input, &options, &mut passes, &output, envelopes, args)?,
            (None, Writes::Nothing) => (Ledger::default(), PendingOutput::in_place()),
            (None, Writes::Carry(begin)) => {
                let mut ledger = Ledger::default();
                let written = output.write(|out| {
                    envelopes.around(out, |out| {
                        ledger = convert::carry(input, &options, &carry, &mut passes, begin, out)?;
                        Ok(())
                    })
                })?;
                (ledger, written)
            }
            (None, Writes::Folder { begin, .. }) => {
                let mut ledger = Ledger::default();
                let written = output.write_folder(|folder| {
                    ledger = convert::carry_to_folder(input, &options, &carry, &mut passes, begin, folder)?;
                    Ok(())
                })?;
                (ledger, written)
            }
            (None, Writes::Profile(writes)) => {
                let format = profiles::ProfileFormat { format, writes };
                let profile = profiles::options(values, args.passes.values(&EVENT).concat(), kept.clone())?;
                let (ledger, written, names) =
                    profiles::run(input, &options, &mut passes, &format, &output, envelopes, &profile)?;
                unnamed = Some(names);
                (ledger, written)
            }
        };

        let (names, told) = images.write(&mut ledger)?.unzip();
        {
            // A recording appears when all that it names is there.
            let signals_wait = temporary_outputs::hold();
            names.map_or(Ok(()), |names| names.put_in_place_held(&signals_wait))?;
            held_files.put_in_place(&mut passes)?;
            written.put_in_place_held(&signals_wait)?;
        }
        recording.missing(kept.is_some()).for_each(|missing| ledger.missing(missing.clone()));
        recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let dropped = recording.retained_fields();
        if !dropped.is_empty() && (anonymize || !(format.keeps)(&dropped)) {
            ledger.missing(format!(
                "{} has fields that are not known, for which there is no place",
                recording.input().name()
            ));
        }
        if let Some(aggregated) = recording.imported().and_then(|imported| imported.size.aggregated()) {
            ledger.aggregated(aggregated);
        }
        if args.out_dir.is_some() {
            ledger.name_notes(&input_name);
        }
        Ok(Converted { ledger, input: input_name, output: output.name(), images: Vec::from_iter(told), unnamed })
    }

    /// How the input is copied, where it is a profile of the same format and nothing is asked for that changes it.
    fn copy_of(&self, args: &ConvertArgs, named: &NamedInput) -> Option<CopyProfile> {
        let changes = !args.passes.list.is_empty() || !self.values.is_empty();
        let asks_for_more = args.values.is_some() || args.images.is_some();
        let is_same = named.format.is_some_and(|from| from.name == self.format.name);
        self.format.copy.filter(|_| is_same && !changes && !asks_for_more)
    }
}

/// Writes a recording as a recording, whatever the name of the output.
///
/// # Errors
/// As [`run`].
pub fn rewrite(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    let to = args.to.get_or_insert_with(|| perf_data::FORMAT.name.to_owned());
    if to == perf_data::FORMAT.name {
        return run(args);
    }
    Err(Failure::Usage(format!("--to {to}: a rewrite writes a perf.data; perfconv IN -o OUT converts")))
}

/// Writes what can be read of a recording, by the first of all passes.
///
/// # Errors
/// As [`rewrite`].
pub fn repair(mut args: ConvertArgs) -> Result<ExitCode, Failure> {
    args.passes.list.insert(0, RepairPass::request());
    rewrite(args)
}

/// Refuses further inputs.
///
/// # Errors
/// Where there are some.
pub fn only_one_input(args: &ConvertArgs) -> Result<(), Failure> {
    match args.further_inputs.first() {
        None => Ok(()),
        Some(further) => {
            let further = further.display();
            Err(Failure::Usage(format!(
                "{further}: is one input too many: a conversion reads one recording, or several into --out-dir DIR"
            )))
        }
    }
}

/// The format and how to compress it: by `--to`, else by the name of the output.
fn choose_format(output: &Path, to: Option<&str>) -> Result<(&'static Format, Vec<Envelope>), Failure> {
    let name = output.to_string_lossy();
    let by_name_of_file = by_file_name(FORMATS, &name);
    let Some(to) = to else {
        return by_name_of_file.ok_or_else(|| Failure::Usage(unknown_ending(output)));
    };
    let Some(format) = by_name(FORMATS, to) else {
        let names: Vec<_> = writable(FORMATS).map(|format| format.name).collect();
        return Err(Failure::Usage(format!("unknown format '{to}'; expected one of: {}", names.join(", "))));
    };
    match by_name_of_file {
        Some((named, envelopes)) if named.name == format.name => Ok((format, envelopes)),
        _ => {
            let (_, asked_for) = envelope::strip(&name);
            Ok((format, if asked_for.is_empty() { Vec::from_iter(format.envelope) } else { asked_for }))
        }
    }
}

/// What to do about an output whose name does not tell a format.
fn unknown_ending(output: &Path) -> String {
    let name = output.display();
    if output.is_dir() {
        let file = output.join("out.pb.gz");
        let file = file.display();
        return format!(
            "{name}: is a directory; name a file in it, such as {file}, or give the directory to --out-dir"
        );
    }
    let endings = writable(FORMATS).flat_map(|format| format.extensions).map(|(extension, _)| format!(".{extension}"));
    let endings = endings.collect::<Vec<_>>().join(", ");
    let others: Vec<_> =
        writable(FORMATS).filter(|format| format.extensions.is_empty()).map(|format| format.name).collect();
    let others = others.join(", ");
    format!(
        "{name}: its name does not tell a format; end it in one of {endings}, or say --to FORMAT, also for {others}"
    )
}
