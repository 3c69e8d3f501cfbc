//! Options of formats, independent of a command line, and their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An option of a format. Several formats may share one.
#[derive(Clone, Copy, Debug)]
pub struct FormatOption {
    /// Name, without dashes.
    pub name: &'static str,
    /// Letter, for `-k`.
    pub short: Option<char>,
    /// Placeholder for its value in help.
    pub value_name: &'static str,
    /// Description for help, without period.
    pub help: &'static str,
    /// Type of its value.
    pub value_kind: ValueKind,
    /// Default value, equivalent to omitting the option.
    pub default: Option<&'static str>,
    /// Names of options that it conflicts with.
    pub conflicts: &'static [&'static str],
    /// Name of an option that it requires.
    pub requires: Option<&'static str>,
    /// Whether help lists it after the options of other formats.
    pub is_last: bool,
}

/// Type of an option's value.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A switch without a value.
    Flag,
    /// One of these words, with their descriptions.
    Choice(&'static [(&'static str, &'static str)]),
    /// A comma-separated list of these words.
    List(fn() -> Vec<&'static str>),
    /// A word that a function accepts; each use of the option adds one.
    Checked(fn(&str) -> Result<(), String>),
    /// A number.
    Number {
        /// Minimum.
        min: i32,
        /// Maximum.
        max: i32,
        /// Value if the number is omitted. It then follows `=`.
        if_missing: Option<&'static str>,
    },
    /// A percentage from 0 to 100, as a word.
    Percent,
    /// A text; a word that may be empty.
    Text {
        /// Whether it may be omitted. It then follows `=`.
        is_optional: bool,
    },
    /// Path of a file.
    File,
    /// Paths, each given by one use of the option.
    Files,
}

impl FormatOption {
    /// A switch.
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        Self::new(name, "", help, ValueKind::Flag)
    }

    /// An option with a value.
    pub const fn new(name: &'static str, value_name: &'static str, help: &'static str, value_kind: ValueKind) -> Self {
        Self {
            name,
            short: None,
            value_name,
            help,
            value_kind,
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
    /// A switch that is given.
    Given,
    /// A word.
    Word(String),
    /// Several words.
    List(Vec<String>),
    /// A number.
    Number(i32),
    /// A path.
    File(PathBuf),
    /// Paths.
    Files(Vec<PathBuf>),
}

/// Values of options by name. An option with its default value is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionValues(BTreeMap<&'static str, OptionValue>);

impl OptionValues {
    /// Adds the value of an option.
    pub fn with(mut self, option: &FormatOption, value: OptionValue) -> Self {
        if !matches!(&value, OptionValue::Word(word) if Some(word.as_str()) == option.default) {
            self.0.insert(option.name, value);
        }
        self
    }

    /// Adds all values of another set.
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().map(|(&name, value)| (name, value.clone())));
        self
    }

    /// These values without those of some options.
    pub fn without(&self, options: &[FormatOption]) -> Self {
        let given = self.0.iter().filter(|(name, _)| options.iter().all(|option| option.name != **name));
        Self(given.map(|(&name, value)| (name, value.clone())).collect())
    }

    /// Names of the options that are given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }

    /// Whether no option is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an option is given.
    pub fn is_given(&self, option: &FormatOption) -> bool {
        self.0.contains_key(option.name)
    }

    /// The word given for an option.
    pub fn word(&self, option: &FormatOption) -> Option<&str> {
        match self.0.get(option.name)? {
            OptionValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The list given for an option.
    pub fn list(&self, option: &FormatOption) -> Option<&[String]> {
        match self.0.get(option.name)? {
            OptionValue::List(words) => Some(words),
            _ => None,
        }
    }

    /// The number given for an option.
    pub fn number(&self, option: &FormatOption) -> Option<i32> {
        match self.0.get(option.name)? {
            OptionValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The path given for an option.
    pub fn file(&self, option: &FormatOption) -> Option<&Path> {
        match self.0.get(option.name)? {
            OptionValue::File(path) => Some(path),
            _ => None,
        }
    }

    /// The paths given for an option.
    pub fn files(&self, option: &FormatOption) -> &[PathBuf] {
        match self.0.get(option.name) {
            Some(OptionValue::Files(paths)) => paths,
            _ => &[],
        }
    }
}
