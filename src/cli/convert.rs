//! `perfconv IN -o OUT`, `perfconv convert`.

use super::args::{CompatArg, ConvertArgs};
use super::failure::Failure;
use super::input::Recording;
use super::output::{Allowed, Output};
use super::{perf_to_profile, profiles, report, rewrite};
use crate::container::read::ReadOptions;
use crate::convert;
use crate::formats::carry::CarryOptions;
use crate::formats::envelope::{self, Envelope, Envelopes};
use crate::formats::{FORMATS, Format, Writes, by_file_name, by_name};
use crate::stream::ledger::Ledger;
use crate::stream::source::Source;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of `--strict` when something is missing from the output.
const INCOMPLETE: u8 = 3;

/// Converts a recording.
///
/// # Errors
/// Where the arguments do not make sense, or it cannot be done.
pub fn run(args: ConvertArgs) -> Result<ExitCode, Failure> {
    if let Some(further) = args.further_inputs.first() {
        let further = further.display();
        return Err(Failure::Usage(format!("{further}: is one input too many: a conversion reads one recording")));
    }
    let Some(output) = &args.output else {
        return Err(Failure::Usage("no output is named: say for instance -o out.pb.gz (--help tells more)".into()));
    };
    // The name of a folder tells no format.
    let to = args.to.as_deref().or(args.profile.split_by.map(|_| "pprof"));
    let (format, envelopes) = choose_format(output, to)?;
    if args.compat.is_some() && format.name != "pprof" {
        return Err(Failure::Usage(format!("--compat is for a pprof, and not for {}", format.name)));
    }
    let input = args.input.clone().or(args.input_option.clone()).unwrap_or_else(|| PathBuf::from("perf.data"));
    let misplaced = match format.writes {
        Writes::Records => args.profile.first_given(),
        Writes::Profile { .. } => args.first_of_records().or((!args.passes.is_empty()).then_some("--pass")),
        Writes::Carry(_) => args.profile.first_given().or(args.first_of_records()),
    };
    if let Some(option) = misplaced {
        return Err(Failure::Usage(format!("{option} is not for {}", format.name)));
    }
    let highest = envelopes.iter().map(|envelope| envelope.highest_level()).min();
    if args.level.zip(highest).is_some_and(|(level, highest)| level > highest) {
        return Err(Failure::Usage("--level: a .gz goes from 0 to 9, and a .zst from 1 to 22".to_owned()));
    }
    let envelopes = Envelopes { list: envelopes, level: args.level };
    let allowed = Allowed {
        overwrite: args.force,
        on_terminal: !format.is_binary && envelopes.list.is_empty(),
        folder: match format.writes {
            Writes::Records => Some(|folder| folder.join("data").is_file()),
            Writes::Profile { .. } if args.profile.split_by.is_some() => Some(profiles::is_split),
            Writes::Profile { .. } | Writes::Carry(_) => None,
        },
    };
    let output = Output::check(output, &input, allowed)?;
    let options = ReadOptions { spool_dir: args.spool_dir.clone(), ..ReadOptions::default() };
    let recording = Recording::new(input, args.from.as_deref(), &options)?;
    let input = recording.input();

    let is_proto = format.name.starts_with("quipper");

    let mut ledger = match format.writes {
        Writes::Profile { .. } if args.compat == Some(CompatArg::PerfToProfile) => {
            perf_to_profile::convert(Source::open(input, options)?, &output, &envelopes)?
        }
        Writes::Records => rewrite::run(input, &options, &output, &envelopes, &args)?,
        Writes::Carry(begin) => {
            let passes = args.passes(is_proto);
            let (quipper, spool_dir) = (args.quipper.into(), args.spool_dir.clone());
            let carry =
                CarryOptions { passes, quipper, unknown_fields: recording.unknown_fields().to_vec(), spool_dir };
            let mut ledger = Ledger::default();
            output.write(|out| {
                envelopes.around(out, |out| {
                    ledger = convert::carry(input, &options, &carry, begin, out)?;
                    Ok(())
                })
            })?;
            ledger
        }
        Writes::Profile { .. } => profiles::run(input, options, format, &output, &envelopes, &args.profile)?,
    };

    recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
    if !is_proto && !recording.unknown_fields().is_empty() {
        ledger.missing(format!(
            "{} has fields that are not known, for which there is no place",
            recording.input().name()
        ));
    }
    if !args.quiet {
        report::ledger(&ledger, &output.name(), args.verbose);
    }
    let is_incomplete = args.strict && ledger.is_incomplete();
    Ok(if is_incomplete { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
}

/// The format and how to compress it: by `--to`, else by the name of the output.
fn choose_format(output: &Path, to: Option<&str>) -> Result<(&'static Format, Vec<Envelope>), Failure> {
    let name = output.to_string_lossy();
    let by_name_of_file = by_file_name(&name);
    let Some(to) = to else {
        return by_name_of_file.ok_or_else(|| {
            let what =
                format!("{name}: its name does not tell a format; say --to FORMAT, or end it in one of {}", endings());
            Failure::Usage(what)
        });
    };
    let Some(format) = by_name(to) else {
        let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
        return Err(Failure::Usage(format!("there is no format {to}; there is {}", names.join(", "))));
    };
    match by_name_of_file {
        Some((named, envelopes)) if named.name == format.name => Ok((format, envelopes)),
        _ => {
            let (_, asked_for) = envelope::strip(&name);
            Ok((format, if asked_for.is_empty() { Vec::from_iter(format.envelope) } else { asked_for }))
        }
    }
}

/// The endings that tell a format.
fn endings() -> String {
    let endings = FORMATS.iter().flat_map(|format| format.extensions).map(|(extension, _)| format!(".{extension}"));
    endings.collect::<Vec<_>>().join(", ")
}
