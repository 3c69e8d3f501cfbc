//! Options of output formats: each format declares its own, and several may declare the same.

use super::ConvertArgs;
use super::help::{RECORDINGS, SINGLE_FORMATS};
use super::profile::ProfileArgs;
use super::symbols::SymbolArgs;
use clap::builder::{OsStr, Resettable};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use perfconv::formats::{FORMATS, Format, OutputFormat, ShowsFunctions, recording};

/// Formats that show how a recording differs from another.
pub(crate) const COMPARING: [&str; 4] = ["flamegraph", "html", "report", "markdown"];

/// Options of reports on a single recording.
pub(crate) const NOT_COMPARED: [&str; 6] = ["callers", "callees", "symbol", "lines", "list", "tree"];

/// The arguments of a command with the options of all formats. The format that the command selects determines which are parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormatArgs(ArgMatches);

impl Args for FormatArgs {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(FORMATS))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FormatArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl FormatArgs {
    /// A format with its options; `None` if it is only read.
    ///
    /// # Errors
    /// If an option is invalid.
    pub(crate) fn output(&self, format: &Format) -> Result<Option<Box<dyn OutputFormat>>, clap::Error> {
        // A command without these options sets those of its only format.
        if self.0.ids().next().is_none() {
            return Ok(format.with_defaults());
        }
        format.output.map(|output| output.parse(&self.0)).transpose()
    }

    /// Whether any option of an output is given.
    pub(crate) fn is_any_given(&self) -> bool {
        let common = [own::<ProfileArgs>(), own::<SymbolArgs>()].concat();
        common.iter().chain(&arguments(FORMATS)).any(|argument| self.is_given(argument))
    }

    /// Rejects a format that cannot be written, or that does not support a given option. Options that apply to any output may be
    /// exempt.
    ///
    /// # Errors
    /// The reason.
    pub(crate) fn check(&self, formats: &[Format], format: &Format, exempt: &[&str]) -> Result<(), String> {
        let own_options = options(format);
        let is_own = |argument: &Arg| own_options.iter().any(|option| option.get_id() == argument.get_id());
        if let Some(argument) =
            single_formats(formats).iter().find(|argument| self.is_given(argument) && !is_own(argument))
        {
            let has_it = |format: &&Format| options(format).iter().any(|option| option.get_id() == argument.get_id());
            let names: Vec<_> = formats.iter().filter(has_it).map(|format| format.name).collect();
            return Err(format!("{} applies to {}, not to {}", flag(argument), names.join(" and "), format.name));
        }
        if format.output.is_none() {
            return Err(format!("{} can be read but not written; choose another format", format.name));
        }
        let symbols: Vec<_> =
            own::<SymbolArgs>().into_iter().filter(|argument| !exempt.contains(&argument.get_id().as_str())).collect();
        let mut inapplicable = own::<ProfileArgs>();
        inapplicable.retain(|argument| !applies(argument, format));
        if format.name != recording::FORMAT.name {
            inapplicable.extend(options(&recording::FORMAT));
        }
        if !format.can_show_functions() {
            inapplicable.extend(symbols.iter().cloned());
        }
        if let Some(argument) = inapplicable.iter().find(|argument| self.is_given(argument)) {
            return Err(format!("{} does not apply to {}", flag(argument), format.name));
        }
        match (symbols.iter().find(|argument| self.is_given(argument)), format.functions) {
            (Some(given), ShowsFunctions::With { option, value }) if !self.shows_functions(format) => {
                Err(format!("{} requires --{option} {value} with {}", flag(given), format.name))
            }
            _ => Ok(()),
        }
    }

    fn shows_functions(&self, format: &Format) -> bool {
        self.output(format).is_ok_and(|output| output.is_some_and(|output| output.shows_functions()))
    }

    /// Whether an option is given, other than its default value.
    fn is_given(&self, argument: &Arg) -> bool {
        let id = argument.get_id().as_str();
        // Fails if the command has no such option.
        let is_known = self.0.try_contains_id(id).is_ok();
        is_known
            && self.0.value_source(id) == Some(ValueSource::CommandLine)
            && self
                .0
                .get_raw(id)
                .is_none_or(|given| !given.eq(argument.get_default_values().iter().map(OsStr::as_os_str)))
    }
}

/// The options of all formats, each once, under their headings.
fn arguments(formats: &[Format]) -> Vec<Arg> {
    let recording_options = options(&recording::FORMAT).into_iter().map(|argument| argument.help_heading(RECORDINGS));
    recording_options.chain(single_formats(formats)).collect()
}

/// The options of single formats, each once: first of those that are not written from a profile. Their help begins with the names
/// of the formats.
fn single_formats(formats: &[Format]) -> Vec<Arg> {
    let mut all: Vec<(Arg, Vec<&str>)> = Vec::new();
    for shows_stacks in [false, true] {
        let formats = formats.iter().filter(|format| format.name != recording::FORMAT.name);
        for format in formats.filter(|format| format.shows_stacks() == shows_stacks) {
            for argument in options(format) {
                match all.iter_mut().find(|(other, _)| other.get_id() == argument.get_id()) {
                    Some((_, names)) => names.push(format.name),
                    None => all.push((argument, vec![format.name])),
                }
            }
        }
    }
    let with_names = |(argument, names): (Arg, Vec<&str>)| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        argument.help(format!("{}: {help}", names.join(", "))).long_help(None).help_heading(SINGLE_FORMATS)
    };
    all.into_iter().map(with_names).collect()
}

/// The options of a format itself.
fn options(format: &Format) -> Vec<Arg> {
    format.output.map(|output| output.arguments()).into_iter().flatten().map(unplaced).collect()
}

/// The arguments that a type declares.
fn own<A: Args>() -> Vec<Arg> {
    A::augment_args(Command::new("")).get_arguments().cloned().map(unplaced).collect()
}

/// The argument without the position in help that clap gave it in its own command.
/// Whether an option of profiles applies to a format.
fn applies(argument: &Arg, format: &Format) -> bool {
    match argument.get_id().as_str() {
        "names" => format.has_short_names,
        "unmapped" => format.shows_stacks() || format.has_stack_tables,
        _ => format.shows_stacks(),
    }
}

fn unplaced(argument: Arg) -> Arg {
    argument.display_order(Resettable::Reset)
}

fn flag(argument: &Arg) -> String {
    format!("--{}", argument.get_long().unwrap_or_default())
}

/// The options that a format takes, as help shows them.
pub(crate) fn format_options(format: &Format) -> String {
    let profile = own::<ProfileArgs>().into_iter().filter(|argument| applies(argument, format));
    let symbols = if format.can_show_functions() { own::<SymbolArgs>() } else { Vec::new() };
    let is_diff = |argument: &Arg| argument.get_id() == "diff" && COMPARING.contains(&format.name);
    let diff = own::<ConvertArgs>()
        .into_iter()
        .filter(is_diff)
        .map(|argument| argument.help("Show how the shares of functions differ from those in this recording"));
    let all = profile.chain(symbols).chain(options(format)).chain(diff);
    // Options of other formats that these conflict with or require are no part of this help.
    let all = all.map(|argument| {
        argument.conflicts_with(Resettable::Reset).requires(Resettable::Reset).help_heading(Resettable::Reset)
    });
    let command = Command::new(format.name).disable_help_flag(true).args(all);
    command.help_template("{options}").render_long_help().to_string().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::test_format::{FORMAT, TABLE};
    use super::*;
    use perf_data::container::read::ReadOptions;
    use perf_data::container::read::input::Input;
    use perfconv::conversion;
    use perfconv::formats::framework::converter::ConvertOptions;
    use perfconv::formats::framework::table;
    use perfconv::formats::{FormatWriter, pprof};
    use perfconv::rewrite::framework::passes::Passes;

    fn parsed(given: &[&str]) -> FormatArgs {
        let command = Command::new("test").no_binary_name(true).args(arguments(TABLE));
        let command = SymbolArgs::augment_args(ProfileArgs::augment_args(command));
        // --compat conflicts with --event.
        let command = command.arg(Arg::new("event"));
        FormatArgs(command.try_get_matches_from(given).expect("valid arguments"))
    }

    fn converted(args: &FormatArgs) -> String {
        let output = args.output(&FORMAT).expect("valid options").expect("an output");
        let FormatWriter::Converter(format) = output.writer() else { panic!("it is written from records") };
        let (input, read) = (Input::Path("roundtrip/fixtures/plain.data".into()), ReadOptions::default());
        let (options, mut passes, mut out) = (ConvertOptions::default(), Passes::default(), Vec::new());
        let converted = conversion::convert_records(input, &read, &options, &mut passes, format, &mut out);
        let (ledger, _) = converted.expect("a readable recording");
        assert!(!ledger.is_incomplete());
        String::from_utf8(out).expect("UTF-8 output")
    }

    #[test]
    fn passes_an_option_to_its_format() {
        assert_eq!(table::by_name(TABLE, "types").map(|format| format.about), Some(FORMAT.about));
        let (types, sizes) = (converted(&parsed(&[])), converted(&parsed(&["--sizes"])));
        assert!(types.lines().count() > 10 && types.lines().any(|line| line == "SAMPLE"), "{types}");
        for (line, with_size) in types.lines().zip(sizes.lines()) {
            let size = with_size.strip_prefix(line).and_then(|size| size.trim().parse::<usize>().ok());
            assert!(size.is_some_and(|size| size >= 8), "{with_size}");
        }
    }

    #[test]
    fn rejects_an_option_of_another_format() {
        let check = |format: &Format, args: &[&str]| parsed(args).check(TABLE, format, &[]);
        assert_eq!(check(&FORMAT, &["--sizes"]), Ok(()));
        assert_eq!(check(&pprof::FORMAT, &["--sizes"]), Err("--sizes applies to types, not to pprof".to_owned()));
        assert_eq!(
            check(&FORMAT, &["--compat", "perf_to_profile"]),
            Err("--compat applies to pprof, not to types".to_owned())
        );
        assert_eq!(check(&FORMAT, &["--labels", "pid,tid"]), Err("--labels does not apply to types".to_owned()));
        assert_eq!(check(&FORMAT, &["--compress"]), Err("--compress does not apply to types".to_owned()));
        // The default is the same as no option.
        assert_eq!(check(&FORMAT, &["--lost", "report"]), Ok(()));
        assert!(!parsed(&["--lost", "report"]).is_any_given() && parsed(&["--lost", "as-samples"]).is_any_given());
    }
}
