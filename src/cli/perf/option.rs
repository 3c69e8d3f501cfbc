//! Options of perf's commands: how perf declares them, and whether they are answered.

use crate::cli::failure::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

/// The names of an option and of its negation, which the parser needs at compile time.
macro_rules! names {
    ($long:literal) => {
        [$long, concat!("no-", $long)]
    };
}
pub(super) use names;

/// An option of a perf command.
#[derive(Clone, Copy, Debug)]
pub(super) struct PerfOption {
    long: &'static str,
    negation: &'static str,
    short: Option<char>,
    value: Value,
    /// Why the option is refused, and what to use instead.
    refusal: Option<&'static str>,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    None,
    Required,
    /// Only after `=`.
    Optional,
    /// Also as the next argument, if that is no option.
    OptionalNext,
}

impl PerfOption {
    const fn new([long, negation]: [&'static str; 2], value: Value) -> Self {
        Self { long, negation, short: None, value, refusal: None }
    }

    /// An option without a value.
    pub(super) const fn flag(names: [&'static str; 2]) -> Self {
        Self::new(names, Value::None)
    }

    /// An option with a value.
    pub(super) const fn value(names: [&'static str; 2]) -> Self {
        Self::new(names, Value::Required)
    }

    /// An option that may have a value after `=`.
    pub(super) const fn optional(names: [&'static str; 2]) -> Self {
        Self::new(names, Value::Optional)
    }

    /// An option that may have a value, after `=` or as the next argument unless that is an option.
    pub(super) const fn optional_next(names: [&'static str; 2]) -> Self {
        Self::new(names, Value::OptionalNext)
    }

    /// Whether the option has this name, with its hyphens.
    pub(super) fn is_named(&self, name: &str) -> bool {
        match name.strip_prefix("--") {
            Some(long) => long == self.long || long == self.negation,
            None => self.short.is_some_and(|short| name.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
        }
    }

    /// Why the option is refused, and what to use instead.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        self.refusal
    }

    /// Sets the short name.
    pub(super) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// Refuses the option, for a reason that says what to use instead.
    pub(super) const fn refused(self, reason: &'static str) -> Self {
        Self { refusal: Some(reason), ..self }
    }

    fn arguments(&self) -> [Arg; 2] {
        let argument = Arg::new(self.long).long(self.long).overrides_with(self.negation);
        let argument = self.short.into_iter().fold(argument, Arg::short);
        let argument = match self.value {
            Value::None => argument.action(ArgAction::SetTrue),
            Value::Required => values(argument).allow_hyphen_values(true),
            Value::Optional => values(argument).num_args(0..=1).require_equals(true).default_missing_value(""),
            Value::OptionalNext => values(argument).num_args(0..=1).default_missing_value(""),
        };
        // perf accepts the negation of every option, and the last of both wins.
        let negation = Arg::new(self.negation).long(self.negation).overrides_with(self.long).action(ArgAction::SetTrue);
        [argument, negation]
    }

    /// A line of the list of options.
    fn usage(&self) -> String {
        let short = self.short.map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
        let value = match self.value {
            Value::None => "",
            Value::Required => " <value>",
            Value::Optional => "[=<value>]",
            Value::OptionalNext => " [<value>]",
        };
        let names = format!("{short}--{}{value}", self.long);
        let answer = self.refusal.map_or_else(|| "supported".to_owned(), |reason| format!("not supported: {reason}"));
        format!("    {names:<36} {answer}\n")
    }
}

fn values(argument: Arg) -> Arg {
    argument.action(ArgAction::Append).value_parser(clap::value_parser!(OsString))
}

/// The options that were given to a command.
#[derive(Debug)]
pub(super) struct Given(ArgMatches);

/// ID of the arguments that are no options.
const OPERANDS: &str = "operands";

impl Given {
    /// Parses the arguments of `perf COMMAND`.
    ///
    /// # Errors
    /// If an option is unknown or refused, or lacks its value.
    pub(super) fn parse(command: &str, options: &[PerfOption], arguments: &[OsString]) -> Result<Self, Failure> {
        let operands = Arg::new(OPERANDS).num_args(0..).value_parser(clap::value_parser!(OsString));
        let parser = Command::new("perfconv")
            .no_binary_name(true)
            .disable_help_flag(true)
            .infer_long_args(true)
            .args_override_self(true)
            .args(options.iter().flat_map(PerfOption::arguments))
            .arg(operands);
        let matches = parser.try_get_matches_from(arguments).map_err(|error| {
            let message = error.to_string();
            let problem = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Failure::Usage(format!("perf {command}: {problem}; 'perf {command} -h' lists the options"))
        })?;
        let given = Self(matches);
        for option in options {
            if let Some(reason) = option.refusal.filter(|_| given.has(option.long)) {
                return Err(Failure::Usage(format!("perf {command}: --{} is not supported: {reason}", option.long)));
            }
        }
        Ok(given)
    }

    /// Whether an option is given, and not negated after that.
    pub(super) fn has(&self, long: &str) -> bool {
        match self.0.try_get_one::<bool>(long) {
            Ok(flag) => flag == Some(&true),
            Err(_) => self.0.contains_id(long),
        }
    }

    /// Whether the negation of an option is given, and not the option after that.
    pub(super) fn is_negated(&self, long: &str) -> bool {
        self.0.get_flag(&format!("no-{long}"))
    }

    /// All values of an option.
    pub(super) fn values(&self, long: &str) -> Vec<OsString> {
        self.0.get_many::<OsString>(long).into_iter().flatten().cloned().collect()
    }

    /// The last value of an option.
    pub(super) fn value(&self, long: &str) -> Option<OsString> {
        self.values(long).pop()
    }

    /// Whether an option is given after another one, or without it.
    pub(super) fn is_last(&self, long: &str, other: &str) -> bool {
        let last = |long| self.0.indices_of(long).into_iter().flatten().max();
        last(long) > last(other)
    }

    /// The last value of an option, as text.
    pub(super) fn text(&self, long: &str) -> Option<String> {
        self.value(long).map(|value| value.to_string_lossy().into_owned())
    }

    /// The last value of an option, as the path of a file that exists.
    ///
    /// # Errors
    /// If it does not exist.
    pub(super) fn file(&self, long: &str) -> Result<Option<PathBuf>, Failure> {
        let path = self.value(long).map(PathBuf::from);
        match path.as_deref().filter(|path| !path.exists()) {
            Some(missing) => Err(Failure::Failed(format!("--{long}: {}: not found", missing.display()))),
            None => Ok(path),
        }
    }

    /// The arguments that are no options.
    pub(super) fn operands(&self) -> Vec<OsString> {
        self.values(OPERANDS)
    }
}

/// The values of an option that are separated by commas.
///
/// # Errors
/// If one is invalid.
pub(super) fn list<T: FromStr>(given: &Given, option: &str) -> Result<Vec<T>, Failure>
where
    T::Err: ToString,
{
    let Some(list) = given.text(option) else { return Ok(Vec::new()) };
    list.split(',').map(|value| parse(option, value)).collect()
}

/// A value of an option.
///
/// # Errors
/// If it is invalid.
pub(super) fn parse<T: FromStr>(option: &str, value: &str) -> Result<T, Failure>
where
    T::Err: ToString,
{
    value.parse().map_err(|error: T::Err| Failure::Usage(format!("--{option} '{value}': {}", error.to_string())))
}

/// The list of a command's options.
pub(super) fn usage(command: &str, options: &[PerfOption]) -> String {
    let mut text = format!("\n Usage: perf {command} [<options>]    (answered by perfconv)\n\n");
    for option in options {
        // Writing to a string cannot fail.
        let _ = text.write_str(&option.usage());
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &[PerfOption] = &[
        PerfOption::value(names!("fields")).short('F'),
        PerfOption::value(names!("input")).short('i'),
        PerfOption::flag(names!("inline")),
        PerfOption::flag(names!("ns")),
        PerfOption::optional(names!("itrace")),
        PerfOption::flag(names!("xed")).refused("use 'perf script'"),
    ];

    fn parsed(arguments: &[&str]) -> Result<Given, String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Given::parse("script", OPTIONS, &arguments).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn parses_values_as_perf_does() {
        for arguments in [&["-F", "+ip"][..], &["-F+ip"], &["--fields", "+ip"], &["--fields=+ip"], &["--fiel", "+ip"]] {
            assert_eq!(parsed(arguments).unwrap().text("fields").as_deref(), Some("+ip"), "{arguments:?}");
        }
        let given = parsed(&["-F", "-comm", "-i", "-", "-F", "+ip"]).unwrap();
        assert_eq!(given.values("fields"), ["-comm", "+ip"]);
        assert_eq!(given.text("input").as_deref(), Some("-"));
        assert!(parsed(&["-F"]).is_err() && parsed(&["--bogus"]).is_err());
    }

    #[test]
    fn the_last_of_an_option_and_its_negation_wins() {
        assert!(parsed(&["--no-inline"]).unwrap().is_negated("inline"));
        assert!(!parsed(&["--no-inline", "--inline"]).unwrap().is_negated("inline"));
        assert!(parsed(&["--ns", "--no-ns"]).is_ok_and(|given| !given.has("ns")));
        let given = parsed(&["--itrace=i100", "--no-itrace"]).unwrap();
        assert!(given.is_negated("itrace") && !given.has("itrace"));
    }

    #[test]
    fn optional_values_follow_an_equals_sign() {
        let given = parsed(&["--itrace", "name"]).unwrap();
        assert!(given.has("itrace") && given.operands() == ["name"]);
    }

    #[test]
    fn refuses_options_with_a_reason() {
        let error = parsed(&["--xed"]).unwrap_err();
        assert!(error.contains("--xed is not supported: use 'perf script'"), "{error}");
        let usage = usage("script", OPTIONS);
        assert!(usage.contains("-F, --fields <value>") && usage.contains("--xed"), "{usage}");
        assert_eq!(usage.matches("not supported: ").count(), 1);
    }
}
