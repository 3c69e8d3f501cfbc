//! Options of formats, described without a command line, and the values that they are given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An option of a format. Several formats may have the same one.
#[derive(Clone, Copy, Debug)]
pub struct FormatOption {
    /// Its name: behind two dashes, that of the argument.
    pub name: &'static str,
    /// What help calls its value.
    pub value_name: &'static str,
    /// What it does, in a sentence without its period.
    pub help: &'static str,
    /// The same at length, where that is computed.
    pub long_help: Option<fn() -> String>,
    /// What it takes.
    pub takes: Takes,
    /// The value that is the same as none.
    pub default: Option<&'static str>,
    /// Names of the arguments that it cannot be used with.
    pub conflicts: &'static [&'static str],
    /// Name of the argument without which it has no meaning.
    pub requires: Option<&'static str>,
    /// Whether help shows it behind the options of other formats.
    pub is_last: bool,
}

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Nothing: it is given or not.
    Nothing,
    /// One of these words, each with what it stands for.
    Choice(&'static [(&'static str, &'static str)]),
    /// Some of these words, separated by commas.
    List(fn() -> Vec<&'static str>),
    /// A number behind `=`, which may be missing.
    Number {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
        /// The number where it is missing.
        if_missing: &'static str,
    },
    /// The path of a file.
    File,
}

impl FormatOption {
    /// An option that is given or not.
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        Self::new(name, "", help, Takes::Nothing)
    }

    /// An option that takes a value of that kind.
    pub const fn new(name: &'static str, value_name: &'static str, help: &'static str, takes: Takes) -> Self {
        Self {
            name,
            value_name,
            help,
            long_help: None,
            takes,
            default: None,
            conflicts: &[],
            requires: None,
            is_last: false,
        }
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Of one that takes nothing.
    Given,
    /// A word.
    Word(String),
    /// Several words.
    List(Vec<String>),
    /// A number.
    Number(i32),
    /// A path.
    File(PathBuf),
}

/// Values of options by their names. An option with its default value is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionValues(BTreeMap<&'static str, OptionValue>);

impl OptionValues {
    /// With a value of an option.
    pub fn with(mut self, option: &FormatOption, value: OptionValue) -> Self {
        if !matches!(&value, OptionValue::Word(word) if Some(word.as_str()) == option.default) {
            self.0.insert(option.name, value);
        }
        self
    }

    /// With the values of other options.
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().map(|(&name, value)| (name, value.clone())));
        self
    }

    /// Whether no option is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an option is given.
    pub fn is_given(&self, option: &FormatOption) -> bool {
        self.0.contains_key(option.name)
    }

    /// The word that an option is given.
    pub fn word(&self, option: &FormatOption) -> Option<&str> {
        match self.0.get(option.name)? {
            OptionValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The words that an option is given.
    pub fn list(&self, option: &FormatOption) -> Option<&[String]> {
        match self.0.get(option.name)? {
            OptionValue::List(words) => Some(words),
            _ => None,
        }
    }

    /// The number that an option is given.
    pub fn number(&self, option: &FormatOption) -> Option<i32> {
        match self.0.get(option.name)? {
            OptionValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The path that an option is given.
    pub fn file(&self, option: &FormatOption) -> Option<&Path> {
        match self.0.get(option.name)? {
            OptionValue::File(path) => Some(path),
            _ => None,
        }
    }
}
