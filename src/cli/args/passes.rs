//! Options of rewrite passes, in command-line order.

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::option::{Choice, Parameter, PassOption, Value, ValueForm};
use perfconv::rewrite::registry::{ANONYMIZING, BUILD_IDS, FILTERS, PASSES, PassTable, options, requests};
use perfconv::rewrite::request::{PassRequest, Values};
use perfconv::rewrite::unwind::UNWIND;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The requested passes, in the order in which they run.
#[derive(Debug, Default)]
pub struct PassArgs {
    /// The passes.
    pub list: Vec<PassRequest>,
    /// Where the files of the recording are searched.
    pub find: FindOptions,
    /// The first setting that only the search for symbols can use.
    pub only_of_symbols: Option<PassOption>,
}

impl PassArgs {
    /// The passes that the options of a table request.
    ///
    /// # Errors
    /// If the options cannot be combined.
    fn of_table(matches: &ArgMatches, table: PassTable<'_>) -> Result<Self, clap::Error> {
        let given = given(matches, table);
        let is_only_of_symbols = |option: &&PassOption| {
            let refines = option.refined().iter().any(|pass| given.has_name(pass));
            option.is_of_symbols() && given.has_name(option.name()) && !refines
        };
        let only_of_symbols: Vec<_> = options(table).filter(is_only_of_symbols).collect();
        let names: Vec<_> = only_of_symbols.iter().map(|option| option.name()).collect();
        let list = requests(table, &given.without(&names))
            .map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, error))?;
        let only_of_symbols = only_of_symbols.first().map(|option| **option);
        Ok(Self { list, find: FindOptions::from(&given), only_of_symbols })
    }

    /// Whether stacks are to be unwound in records.
    pub fn unwind(&self) -> bool {
        self.list.iter().any(|request| request.values().has(&UNWIND))
    }

    /// All values of an option that requests passes.
    pub fn values<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Vec<T> {
        self.list.iter().flat_map(|request| request.values().of(parameter)).collect()
    }
}

impl Args for PassArgs {
    fn augment_args(command: Command) -> Command {
        with_options(command, PASSES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PassArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::of_table(matches, PASSES)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The passes of commands that only read: filters, and what determines symbols.
#[derive(Debug, Default)]
pub struct ReadingPasses(pub PassArgs);

impl ReadingPasses {
    fn table() -> Vec<(&'static str, &'static [PassOption])> {
        PASSES.iter().copied().filter(|(heading, _)| [FILTERS, BUILD_IDS, ANONYMIZING].contains(heading)).collect()
    }
}

impl Args for ReadingPasses {
    fn augment_args(command: Command) -> Command {
        with_options(command, &Self::table()).mut_args(|arg| {
            let is_of_records =
                options(&Self::table()).any(|option| id(option) == arg.get_id().as_str() && option.is_for_records());
            arg.hide(is_of_records)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ReadingPasses {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        PassArgs::of_table(matches, &Self::table()).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds the options of a table to a command.
pub(super) fn with_options(command: Command, table: PassTable<'_>) -> Command {
    let arguments = |(heading, options): &(&'static str, &[PassOption])| {
        let heading = *heading;
        options.iter().map(move |option| argument(option).help_heading(heading)).collect::<Vec<_>>()
    };
    command.args(table.iter().flat_map(arguments))
}

/// The values of the options of a table, in command-line order.
pub(super) fn given(matches: &ArgMatches, table: PassTable<'_>) -> Values {
    let mut given = Vec::new();
    for option in options(table) {
        let indices = matches.indices_of(id(option)).into_iter().flatten();
        let values = matches.get_many::<Value>(id(option)).into_iter().flatten().cloned();
        given.extend(indices.zip(values).map(|(index, value)| (index, option.name(), value)));
    }
    given.sort_by_key(|(index, ..)| *index);
    let mut values = Values::default();
    given.into_iter().for_each(|(_, name, value)| values.push(name, value));
    values
}

fn id(option: &PassOption) -> &'static str {
    option.name().trim_start_matches('-')
}

fn argument(option: &PassOption) -> Arg {
    let arg = Arg::new(id(option))
        .long(id(option))
        .help(option.text())
        .allow_hyphen_values(option.has_hyphens())
        .value_parser(OptionParser(*option));
    let arg = match option.short_name() {
        Some(short) => arg.short(short),
        None => arg,
    };
    match option.form() {
        // A flag takes an empty value because only values have an index on the command line.
        ValueForm::Flag => arg.action(ArgAction::Set).num_args(0).default_missing_value(""),
        ValueForm::Once(value) => arg.action(ArgAction::Set).value_name(value),
        ValueForm::Repeated(value) => arg.action(ArgAction::Append).value_name(value),
        ValueForm::List(values) => arg.action(ArgAction::Append).value_name(values).value_delimiter(','),
        ValueForm::Optional(value) => arg
            .action(ArgAction::Append)
            .value_name(value)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
    }
}

/// Parses the values of an option.
#[derive(Clone)]
struct OptionParser(PassOption);

impl TypedValueParser for OptionParser {
    type Value = Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Value, clap::Error> {
        let option = self.0;
        if option.is_path() {
            let parse = move |path: PathBuf| option.parse(path.as_ref());
            return PathBufValueParser::new().try_map(parse).parse_ref(command, arg, value);
        }
        if !option.accepted().is_empty() {
            PossibleValuesParser::new(option.accepted().iter().map(possible)).parse_ref(command, arg, value)?;
        }
        let parse = move |text: &str| option.parse(text.as_ref());
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let accepted = self.0.accepted();
        (!accepted.is_empty()).then(|| Box::new(accepted.iter().map(possible)) as _)
    }
}

fn possible(choice: &Choice) -> PossibleValue {
    PossibleValue::new(choice.name).help(choice.help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::container::read::ReadOptions;
    use perf_data::container::read::input::Input;
    use perf_data::error::Result;
    use perf_data::stream::Sink;
    use perf_data::stream::meta::Meta;
    use perf_data::stream::raw::Raw;
    use perfconv::rewrite::option::Outputs;
    use perfconv::rewrite::pass::Pass;
    use perfconv::rewrite::passes::Passes;
    use perfconv::rewrite::record_function::RecordFunction;
    use perfconv::rewrite::request::{PassContext, PassFactory};
    use std::collections::BTreeSet;

    /// A pass that drops records of one size.
    struct WithoutSize(u16);

    impl Pass for WithoutSize {
        fn name(&self) -> String {
            SIZE.name().to_owned()
        }

        fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
            Box::new(RecordFunction::new(sink, |meta, raw, sink| {
                if raw.header().size == self.0 { Ok(()) } else { sink.record(meta, raw) }
            }))
        }
    }

    const SIZE: Parameter<u16> =
        Parameter::once("--without-size", "BYTES", |text| text.parse().map_err(|_| format!("invalid size '{text}'")));

    const OPTIONS: &[PassOption] = &[PassOption::new(&SIZE, Outputs::Records, "Drop records of this size", |values| {
        let size = values.one(&SIZE)?;
        Ok(PassFactory::new(move |_| WithoutSize(size)))
    })];

    fn table() -> Vec<(&'static str, &'static [PassOption])> {
        [PASSES, &[("Sizes", OPTIONS)]].concat()
    }

    fn parsed(args: &[&str]) -> std::result::Result<Vec<PassRequest>, clap::Error> {
        let command = with_options(Command::new("test").no_binary_name(true), &table());
        Ok(PassArgs::of_table(&command.try_get_matches_from(args)?, &table())?.list)
    }

    fn requested_options(args: &[&str]) -> Vec<&'static str> {
        parsed(args).unwrap().iter().map(PassRequest::option).collect()
    }

    #[derive(Default)]
    struct Sizes(BTreeSet<u16>);

    impl Sink for Sizes {
        fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
            self.0.insert(raw.header().size);
            Ok(())
        }
    }

    fn sizes(requests: &[PassRequest]) -> BTreeSet<u16> {
        let mut passes = Passes::default();
        requests.iter().for_each(|request| passes.push_boxed(request.pass(&PassContext::default())));
        let mut sizes = Sizes::default();
        let input = Input::Path("roundtrip/fixtures/plain.data".into());
        passes.run(input, &ReadOptions::default(), &mut sizes).unwrap();
        sizes.0
    }

    #[test]
    fn offers_and_applies_a_pass_registered_by_one_line() {
        let help = with_options(Command::new("test"), &table()).render_help().to_string();
        assert!(help.contains("--without-size <BYTES>") && help.contains("Drop records of this size"), "{help}");
        let all = sizes(&[]);
        let size = *all.first().unwrap();
        let requests = parsed(&["--without-size", &size.to_string()]).unwrap();
        assert_eq!(
            (requests[0].option(), requests[0].option_for_records()),
            ("--without-size", Some("--without-size"))
        );
        assert_eq!(sizes(&requests), all.into_iter().filter(|other| *other != size).collect());
        let error = parsed(&["--without-size", "x"]).unwrap_err().to_string();
        assert!(error.contains("invalid value 'x' for '--without-size <BYTES>': invalid size 'x'"), "{error}");
    }

    #[test]
    fn passes_run_in_the_order_of_their_options() {
        assert_eq!(
            requested_options(&["--sort", "--without-size", "8", "--head", "1"]),
            ["--sort", "--without-size", "--head"]
        );
        assert_eq!(requested_options(&["--pid", "1", "--head", "1", "--pid", "2"]), ["--pid", "--head"]);
        assert_eq!(
            requested_options(&["--set", "hostname=a", "--head", "1", "--set", "arch=b"]),
            ["--set", "--head", "--set"]
        );
        // Passes that could disclose something run before anonymization.
        assert_eq!(requested_options(&["--sort", "--anonymize", "--head", "1"]), ["--head", "--anonymize", "--sort"]);
    }

    #[test]
    fn rejects_a_setting_without_the_option_that_it_refines() {
        for (args, expected) in [
            (&["--keep-attrs"][..], "--keep-attrs requires --event"),
            (&["--jit-dir", "src"], "--jit-dir requires --jit or --perf-map"),
            (&["--head", "1", "--keep", "raw"], "--keep requires --anonymize"),
        ] {
            let error = parsed(args).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn settings_refine_options_of_the_table() {
        let names: BTreeSet<_> = options(PASSES).map(PassOption::name).collect();
        let count = options(PASSES).count();
        assert_eq!(names.len(), count, "two options have the same name");
        let refined = options(PASSES).flat_map(PassOption::refined);
        assert!(refined.copied().all(|name| names.contains(name)));
    }
}
