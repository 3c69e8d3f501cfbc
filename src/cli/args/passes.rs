//! Options of passes, in the order in which they are given.

use crate::rewrite::option::{Choice, Parameter, PassOption, Value, ValueForm};
use crate::rewrite::registry::{PASSES, PassTable, requests};
use crate::rewrite::request::{PassRequest, Values};
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::ffi::OsStr;
use std::path::PathBuf;

/// The passes that are asked for, in the order in which they run.
#[derive(Debug, Default)]
pub struct PassArgs {
    /// The passes.
    pub list: Vec<PassRequest>,
}

impl PassArgs {
    /// The values of an option that asks for passes.
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
        Ok(Self { list: requested(matches, PASSES)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds the options of a table to a command.
pub(super) fn with_options(command: Command, table: PassTable<'_>) -> Command {
    command.args(table.iter().copied().flatten().map(argument))
}

/// The passes that the options of a table ask for.
///
/// # Errors
/// Where the options do not go together.
pub(super) fn requested(matches: &ArgMatches, table: PassTable<'_>) -> Result<Vec<PassRequest>, clap::Error> {
    requests(table, &given(matches, table)).map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, error))
}

/// The values of the options of a table, in the order in which they were given.
pub(super) fn given(matches: &ArgMatches, table: PassTable<'_>) -> Values {
    let mut given = Vec::new();
    for option in table.iter().copied().flatten() {
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
        // With an empty value, which has a place among those of other options.
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
