//! Options of passes as arguments of a command line.

use super::pass_options::{PassOptions, RequestedPass};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use std::sync::Arc;

/// The type of a pass's options, as a command line offers them.
#[derive(Clone, Copy, Debug)]
pub struct PassType {
    id: &'static str,
    flag: Option<Flag>,
    has_pass_per_value: bool,
    for_records: &'static [&'static str],
    augment: fn(Command) -> Command,
    build: BuildOptions,
}

/// Builds the options that a command line gives: for all values of the argument that requests the pass, or one for each.
type BuildOptions = fn(&ArgMatches) -> Result<Vec<RequestedPass>, clap::Error>;

/// An argument without a value that requests a pass.
#[derive(Clone, Copy, Debug)]
struct Flag {
    short: Option<char>,
    help: &'static str,
}

/// A pass that a command line requests.
#[derive(Clone, Debug)]
pub struct Request {
    /// The flag that requests it, with its dashes.
    pub flag: String,
    /// The first flag of the pass that does not affect profiles, if any is given.
    pub for_records: Option<String>,
    /// The pass.
    pub pass: RequestedPass,
}

/// An argument that refines passes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its ID.
    pub id: &'static str,
    /// IDs of the arguments that request the refined passes; one of them must be given.
    pub passes: &'static [&'static str],
    /// Whether the search for symbols uses it, too.
    pub is_for_symbols: bool,
}

impl PassType {
    /// A pass whose options are all in `T`, requested by the argument with this ID.
    pub const fn with_options<T: PassOptions + Args>(id: &'static str) -> Self {
        Self::new(id, T::augment_args, |matches| Ok(vec![Arc::new(T::from_arg_matches(matches)?)]))
    }

    /// A pass that is requested by a flag with this ID, and whose options are in `T`.
    pub const fn flagged<T: PassOptions + Args>(id: &'static str, help: &'static str) -> Self {
        let pass = Self::with_options::<T>(id);
        Self { flag: Some(Flag { short: None, help }), ..pass }
    }

    /// A pass that is requested by a flag with this ID, and that `build` creates from the options in `T`.
    pub const fn flag<T: Args>(id: &'static str, help: &'static str, build: BuildOptions) -> Self {
        Self { flag: Some(Flag { short: None, help }), ..Self::new(id, T::augment_args, build) }
    }

    /// A pass that `build` creates from the arguments that `augment` adds.
    pub const fn new(id: &'static str, augment: fn(Command) -> Command, build: BuildOptions) -> Self {
        Self { id, flag: None, has_pass_per_value: false, for_records: &[], augment, build }
    }

    /// Requests one pass for each value instead of one pass for all values.
    pub const fn pass_per_value(self) -> Self {
        Self { has_pass_per_value: true, ..self }
    }

    /// Names the arguments that affect only outputs that consist of records.
    pub const fn for_records(self, for_records: &'static [&'static str]) -> Self {
        Self { for_records, ..self }
    }

    /// Sets the short name of the flag.
    pub const fn short(self, short: char) -> Self {
        match self.flag {
            Some(flag) => Self { flag: Some(Flag { short: Some(short), ..flag }), ..self },
            None => self,
        }
    }

    /// Replaces the help of the flag.
    pub const fn help(self, help: &'static str) -> Self {
        match self.flag {
            Some(flag) => Self { flag: Some(Flag { help, ..flag }), ..self },
            None => self,
        }
    }

    /// ID of the argument that requests the pass.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Whether an argument of this ID affects only outputs that consist of records.
    pub fn is_for_records(&self, id: &str) -> bool {
        self.for_records.contains(&id)
    }

    /// The arguments; the first one requests the pass.
    pub fn arguments(&self) -> Vec<Arg> {
        let flag_argument = self.flag.map(|Flag { short, help }| {
            // It takes an empty value because only values have an index on the command line.
            let flag = Arg::new(self.id).long(self.id).help(help).action(ArgAction::Set).num_args(0);
            short.into_iter().fold(flag.default_missing_value(""), Arg::short)
        });
        let own = (self.augment)(Command::new(""));
        let mut own: Vec<_> = own.get_arguments().cloned().map(|argument| argument.required(false)).collect();
        own.sort_by_key(|argument| argument.get_id() != self.id);
        flag_argument.into_iter().chain(own).collect()
    }

    /// The passes that a command line requests, each with its position there.
    ///
    /// # Errors
    /// If the arguments cannot be combined.
    pub fn requests(&self, matches: &ArgMatches) -> Result<Vec<(usize, Request)>, clap::Error> {
        if !is_given(matches, self.id) {
            return Ok(Vec::new());
        }
        let mut indices: Vec<_> = matches.indices_of(self.id).into_iter().flatten().collect();
        if !self.has_pass_per_value {
            indices.truncate(1);
        }
        let for_records = self.for_records.iter().find(|id| is_given(matches, id)).map(|id| flag(id));
        let request = |pass| Request { flag: flag(self.id), for_records: for_records.clone(), pass };
        let passes = (self.build)(matches)?;
        Ok(indices.into_iter().zip(passes.into_iter().map(request)).collect())
    }
}

/// Whether a command line gives the argument with this ID.
pub fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The flag with this ID, with its dashes.
pub fn flag(id: &str) -> String {
    format!("--{}", long(id))
}

fn long(id: &str) -> String {
    id.replace('_', "-")
}
