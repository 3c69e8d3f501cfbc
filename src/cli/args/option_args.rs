//! Command-line arguments from the options that formats declare.

use super::help::{PAGE, PROFILES, RECORDINGS, REPORT, SINGLE_FORMATS, SYMBOLS};
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use perfconv::formats::html;
use perfconv::formats::options::{FormatOption, OptionValue, OptionValues, ValueKind};
#[cfg(feature = "push")]
use perfconv::formats::otlp;
use perfconv::formats::recording_options::{ALLOW_MIXED, COMPRESS, CONTAINER, ENDIAN};
use perfconv::formats::report::{self, COLOR, GROUP_BY};
use perfconv::formats::symbol_options::{DEBUG_DIR, KALLSYMS, VMLINUX};
use perfconv::formats::{FORMATS, Format, profile_options, recording_options, symbol_options, table};
use perfconv::rewrite::option_values::existing_path;
use perfconv::rewrite::output::RecordingOptions;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;

/// The arguments of a set of options.
#[derive(Debug, Default)]
pub struct OptionArgs<S> {
    /// Values of the options that were given.
    pub values: OptionValues,
    set: PhantomData<S>,
}

/// A set of format options.
pub trait OptionSet {
    /// The options with their help headings, in help order.
    fn options() -> Vec<(FormatOption, &'static str)>;
}

/// Options of all formats that are written from records.
#[derive(Debug, Default)]
pub struct FromRecords;

impl OptionSet for FromRecords {
    fn options() -> Vec<(FormatOption, &'static str)> {
        with_headings(table::options(FORMATS, false), recording_options::OPTIONS, RECORDINGS)
    }
}

/// Options of all formats that are written from a profile.
#[derive(Debug, Default)]
pub struct FromProfile;

impl OptionSet for FromProfile {
    fn options() -> Vec<(FormatOption, &'static str)> {
        with_headings(table::options(FORMATS, true), profile_options::OPTIONS, PROFILES)
    }
}

/// Container, compression and byte order of a recording.
#[derive(Debug, Default)]
pub struct FormOptions;

impl OptionSet for FormOptions {
    fn options() -> Vec<(FormatOption, &'static str)> {
        [CONTAINER, COMPRESS, ENDIAN].map(|option| (option, RECORDINGS)).into()
    }
}

/// Options of a report, except those with another name in its command.
#[derive(Debug, Default)]
pub struct OfReport;

impl OptionSet for OfReport {
    fn options() -> Vec<(FormatOption, &'static str)> {
        let is_renamed = |option: &FormatOption| [GROUP_BY.name, COLOR.name].contains(&option.name);
        let own = report::FORMAT.options.iter().filter(|option| !is_renamed(option)).map(|&option| (option, REPORT));
        own.chain(symbol_options::OPTIONS.iter().map(|&option| (option, SYMBOLS))).collect()
    }
}

/// Options of a page.
#[derive(Debug, Default)]
pub struct OfPage;

impl OptionSet for OfPage {
    fn options() -> Vec<(FormatOption, &'static str)> {
        // Profiles are not split.
        let own = html::FORMAT.options.iter().map(|&option| (FormatOption { conflicts: &[], ..option }, PAGE));
        own.chain(symbol_options::OPTIONS.iter().map(|&option| (option, SYMBOLS))).collect()
    }
}

/// Options of profiles that are sent to a server.
#[cfg(feature = "push")]
#[derive(Debug, Default)]
pub struct OfPushed;

#[cfg(feature = "push")]
impl OptionSet for OfPushed {
    fn options() -> Vec<(FormatOption, &'static str)> {
        // Profiles are not split, and arguments of their own give service and attributes.
        let own = profile_options::OPTIONS.iter().filter(|option| option.name != profile_options::SPLIT_BY.name);
        let own = own.chain([&otlp::TIMESTAMPS]).map(|&option| (FormatOption { conflicts: &[], ..option }, PROFILES));
        own.chain(symbol_options::OPTIONS.iter().map(|&option| (option, SYMBOLS))).collect()
    }
}

/// The files with symbols, for commands other than conversions.
#[derive(Debug, Default)]
pub struct SymbolFiles;

impl OptionSet for SymbolFiles {
    fn options() -> Vec<(FormatOption, &'static str)> {
        [DEBUG_DIR, VMLINUX, KALLSYMS].map(|option| (option, SYMBOLS)).into()
    }
}

/// The option that allows an output of mixed byte order.
#[derive(Debug, Default)]
pub struct MixedOption;

impl OptionSet for MixedOption {
    fn options() -> Vec<(FormatOption, &'static str)> {
        vec![(ALLOW_MIXED, RECORDINGS)]
    }
}

/// Options with the heading of the common ones, or with that of options that belong to single formats.
fn with_headings(
    options: Vec<FormatOption>,
    common: &[FormatOption],
    heading: &'static str,
) -> Vec<(FormatOption, &'static str)> {
    let is_common = |option: &FormatOption| common.iter().any(|other| other.name == option.name);
    let is_of_symbols = |option: &FormatOption| symbol_options::OPTIONS.iter().any(|other| other.name == option.name);
    let with_heading = |option: FormatOption| match option {
        _ if is_common(&option) => (option, heading),
        _ if is_of_symbols(&option) => (option, SYMBOLS),
        _ => (option, SINGLE_FORMATS),
    };
    options.into_iter().map(with_heading).collect()
}

impl<S> From<OptionValues> for OptionArgs<S> {
    fn from(values: OptionValues) -> Self {
        Self { values, set: PhantomData }
    }
}

impl<S> OptionArgs<S> {
    /// These options for writing a recording.
    pub fn recording(&self) -> RecordingOptions {
        RecordingOptions::from(&self.values)
    }
}

impl<S: OptionSet> Args for OptionArgs<S> {
    fn augment_args(command: Command) -> Command {
        command.args(S::options().iter().map(|(option, heading)| arg_under(option, heading)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: OptionSet> FromArgMatches for OptionArgs<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options: Vec<_> = S::options().into_iter().map(|(option, _)| option).collect();
        Ok(values(matches, &options).into())
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses the path of an input, so that a misspelled one is not taken for a file without symbols.
fn path_of_input() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|path: OsString| existing_path(path))
}

/// The argument of an option.
fn arg(option: &FormatOption) -> Arg {
    let arg = Arg::new(option.name).long(option.name).help(option.help).conflicts_with_all(option.conflicts);
    let arg = option.short.iter().fold(arg, |arg, &short| arg.short(short));
    let arg = option.requires.iter().fold(arg, |arg, required| arg.requires(required));
    let arg = option.default.iter().fold(arg, |arg, default| arg.default_value(default));
    let arg = match option.value_kind {
        ValueKind::Flag => return arg.action(ArgAction::SetTrue),
        ValueKind::Choice(choices) => {
            let choices = choices.iter().map(|&(word, help)| PossibleValue::new(word).help(help));
            arg.value_parser(PossibleValuesParser::new(choices))
        }
        ValueKind::List(words) => {
            let words = PossibleValuesParser::new(words());
            arg.action(ArgAction::Append).value_delimiter(',').value_parser(words)
        }
        ValueKind::Checked(check) => arg
            .action(ArgAction::Append)
            .allow_hyphen_values(true)
            .value_parser(move |text: &str| check(text).map(|()| text.to_owned())),
        ValueKind::Number { min, max, if_missing } => {
            let noun = if_missing.map_or("number".to_owned(), |_| option.value_name.to_lowercase());
            let what = format!("expected a {noun} from {min} to {max}");
            let parse = move |text: &str| match text.parse::<i32>() {
                Ok(number) if (min..=max).contains(&number) => Ok(number),
                _ => Err(what.clone()),
            };
            let arg = arg.value_parser(parse);
            match if_missing {
                Some(number) => arg.num_args(0..=1).require_equals(true).default_missing_value(number),
                None => arg,
            }
        }
        ValueKind::Percent => arg.value_parser(|text: &str| match text.trim_end_matches('%').parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent.to_string()),
            _ => Err("expected a percentage from 0 to 100"),
        }),
        ValueKind::Text { is_optional: true } => arg.num_args(0..=1).require_equals(true).default_missing_value(""),
        ValueKind::Text { is_optional: false } => arg,
        ValueKind::File => arg.value_parser(path_of_input()),
        ValueKind::Files => arg.action(ArgAction::Append).value_parser(path_of_input()),
    };
    arg.value_name(option.value_name)
}

/// The options that a format takes, as help shows them.
pub fn format_options(format: &Format) -> String {
    let options: Vec<_> = format.all_options().collect();
    let command = Command::new(format.name).disable_help_flag(true).args(options.iter().map(|option| {
        // Options of other formats that these conflict with or require are no part of this help.
        arg(&FormatOption { conflicts: &[], requires: None, ..**option })
    }));
    command.help_template("{options}").render_long_help().to_string().trim_end().to_owned()
}

/// The argument of an option under a help heading. If it belongs to single formats, its help begins with their names.
fn arg_under(option: &FormatOption, heading: &'static str) -> Arg {
    let has_it = |format: &&Format| format.options.iter().any(|other| other.name == option.name);
    let formats: Vec<_> = FORMATS.iter().filter(has_it).map(|format| format.name).collect();
    let arg = arg(option).help_heading(heading);
    if formats.is_empty() || [PAGE, REPORT].contains(&heading) {
        return arg;
    }
    arg.help(format!("{}: {}", formats.join(", "), option.help))
}

/// The values of the options that were given.
fn values(matches: &ArgMatches, options: &[FormatOption]) -> OptionValues {
    let is_given = |option: &&FormatOption| matches.value_source(option.name) == Some(ValueSource::CommandLine);
    options.iter().filter(is_given).fold(OptionValues::default(), |values, option| {
        let value = match option.value_kind {
            ValueKind::Flag => Some(OptionValue::Given),
            ValueKind::Choice(_) | ValueKind::Percent | ValueKind::Text { .. } => {
                matches.get_one(option.name).cloned().map(OptionValue::Word)
            }
            ValueKind::List(_) | ValueKind::Checked(_) => {
                matches.get_many(option.name).map(|words| OptionValue::List(words.cloned().collect()))
            }
            ValueKind::Number { .. } => matches.get_one(option.name).copied().map(OptionValue::Number),
            ValueKind::File => matches.get_one(option.name).cloned().map(OptionValue::File),
            ValueKind::Files => {
                let paths = matches.get_many(option.name);
                paths.map(|paths| OptionValue::Files(paths.cloned().collect()))
            }
        };
        value.into_iter().fold(values, |values, value| values.with(option, value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_format::{FORMAT, SIZES, TABLE};
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::container::read::ReadOptions;
    use perf_data::container::read::input::Input;
    use perfconv::conversion;
    use perfconv::formats::converter::ConvertOptions;
    use perfconv::formats::profile_options::{LABELS, THREAD_TYPES};
    use perfconv::formats::{Writer, pprof};
    use perfconv::rewrite::passes::Passes;
    use std::path::Path;

    fn options() -> Vec<FormatOption> {
        [table::options(TABLE, false), table::options(TABLE, true)].concat()
    }

    fn parsed(args: &[&str]) -> OptionValues {
        let command = Command::new("test").no_binary_name(true).args(options().iter().map(arg));
        // --compat conflicts with --event.
        let command = command.arg(Arg::new("event"));
        values(&command.try_get_matches_from(args).expect("valid arguments"), &options())
    }

    fn converted(values: OptionValues) -> String {
        let (format, _) = table::by_file_name(TABLE, "out.types").expect("a known extension");
        let Writer::Converter(begin) = format.writer else { panic!("{format:?}") };
        let input = Input::Path(concat!(env!("CARGO_MANIFEST_DIR"), "/roundtrip/fixtures/plain.data").into());
        let (read, options) = (ReadOptions::default(), ConvertOptions { values, ..ConvertOptions::default() });
        let mut out = Vec::new();
        let ledger = conversion::convert_records(input, &read, &options, &mut Passes::default(), begin, &mut out);
        assert!(!ledger.expect("a readable recording").is_incomplete());
        String::from_utf8(out).expect("UTF-8 output")
    }

    #[test]
    fn passes_an_option_to_its_format() {
        assert_eq!(table::by_name(TABLE, "types").map(|format| format.about), Some(FORMAT.about));
        let (types, sizes) = (converted(parsed(&[])), converted(parsed(&["--sizes"])));
        assert!(types.lines().count() > 10 && types.lines().any(|line| line == "SAMPLE"), "{types}");
        for (line, with_size) in types.lines().zip(sizes.lines()) {
            let size = with_size.strip_prefix(line).and_then(|size| size.trim().parse::<usize>().ok());
            assert!(size.is_some_and(|size| size >= 8), "{with_size}");
        }
    }

    #[test]
    fn rejects_an_option_of_another_format() {
        let check = |format: &Format, args: &[&str]| table::check_options(TABLE, format, &parsed(args));
        assert_eq!(check(&FORMAT, &["--sizes"]), Ok(()));
        assert_eq!(check(&pprof::FORMAT, &["--sizes"]), Err("--sizes applies to types, not to pprof".to_owned()));
        assert_eq!(
            check(&FORMAT, &["--compat", "perf_to_profile"]),
            Err("--compat applies to pprof, not to types".to_owned())
        );
        assert_eq!(check(&FORMAT, &["--labels", "pid,tid"]), Err("--labels does not apply to types".to_owned()));
        assert_eq!(check(&FORMAT, &["--compress"]), Err("--compress does not apply to types".to_owned()));
        assert_eq!(check(&FORMAT, &["--lost", "report"]), Ok(()));
    }

    #[test]
    fn parses_argument_values() {
        let values = parsed(&[
            "--sizes",
            "--compress=7",
            "--labels",
            "pid,tid",
            "--thread-types",
            "Cargo.toml",
            "--endian",
            "big",
        ]);
        let options = RecordingOptions::from(&values);
        assert_eq!((values.is_given(&SIZES), options.compress, options.endian), (true, Some(7), Some(Endian::Big)));
        assert_eq!(values.list(&LABELS), Some(&["pid".to_owned(), "tid".to_owned()][..]));
        assert_eq!(values.file(&THREAD_TYPES), Some(Path::new("Cargo.toml")));
        assert_eq!(parsed(&["--compress"]).number(&COMPRESS), Some(3));
        assert!(parsed(&["--lost", "report"]).is_empty() && parsed(&[]).is_empty());
    }
}
