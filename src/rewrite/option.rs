//! Options that ask for passes, and options that refine them: what a command line has to know of them.

use super::request::{PassFactory, PassRequest, Values};
use std::any::Any;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// An option's name, and how its values are parsed.
pub struct Parameter<T> {
    name: &'static str,
    form: ValueForm,
    parse: Parse<T>,
}

/// How values are parsed.
enum Parse<T> {
    Text(fn(&str) -> Result<T, String>),
    Path(fn(PathBuf) -> T),
}

/// Which values an option takes, and how often it may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// None; it may be given once.
    Flag,
    /// One, of this name; the option may be given once.
    Once(&'static str),
    /// One, of this name, each time the option is given.
    Repeated(&'static str),
    /// Several, of this name, separated by commas; the option may be repeated.
    List(&'static str),
    /// None, or one of this name behind an equals sign; the option may be repeated.
    Optional(&'static str),
}

/// A value that an option accepts where it accepts only certain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

impl<T> Parameter<T> {
    /// An option with one value, which may be given once.
    pub const fn once(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Once(value), parse: Parse::Text(parse) }
    }

    /// An option with one value, which may be repeated.
    pub const fn repeated(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Repeated(value), parse: Parse::Text(parse) }
    }

    /// An option with values separated by commas, each of which is parsed alone.
    pub const fn list(name: &'static str, values: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::List(values), parse: Parse::Text(parse) }
    }

    /// An option whose value may be omitted; then the empty text is parsed.
    pub const fn optional(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Optional(value), parse: Parse::Text(parse) }
    }

    /// Its name, with the dashes.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl Parameter<()> {
    /// An option without a value.
    pub const fn flag(name: &'static str) -> Self {
        Self { name, form: ValueForm::Flag, parse: Parse::Text(|_| Ok(())) }
    }
}

impl Parameter<PathBuf> {
    /// An option with a path, in whatever encoding, which may be given once.
    pub const fn path(name: &'static str, value: &'static str) -> Self {
        Self { name, form: ValueForm::Once(value), parse: Parse::Path(|path| path) }
    }
}

/// A parsed value of an option. Its type is that of the option's [`Parameter`].
#[derive(Clone)]
pub struct Value(Arc<dyn Any + Send + Sync>);

impl Value {
    pub(super) fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.downcast_ref().cloned()
    }
}

impl fmt::Debug for Value {
    // Among the values is a key, which is not to be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(..)")
    }
}

/// A [`Parameter`] of whatever type.
trait AnyParameter: Sync {
    fn name(&self) -> &'static str;
    fn form(&self) -> ValueForm;
    fn is_path(&self) -> bool;
    fn parse(&self, text: &OsStr) -> Result<Value, String>;
}

impl<T: Send + Sync + 'static> AnyParameter for Parameter<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn form(&self) -> ValueForm {
        self.form
    }

    fn is_path(&self) -> bool {
        matches!(self.parse, Parse::Path(_))
    }

    fn parse(&self, text: &OsStr) -> Result<Value, String> {
        let value = match self.parse {
            Parse::Text(parse) => parse(text.to_str().ok_or("is not UTF-8")?)?,
            Parse::Path(parse) => parse(text.into()),
        };
        Ok(Value(Arc::new(value)))
    }
}

/// The outputs for which an option makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Recordings, what carries their records, and profiles.
    All,
    /// Recordings and what carries their records; a profile would be the same without it.
    Records,
}

/// Where a pass runs in a rewrite that anonymizes. In one that does not, passes run in the order of their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Before what it passes on is anonymized.
    BeforeAnonymizing,
    /// The pass that anonymizes.
    Anonymizing,
    /// After that: it discloses nothing, or what the user wants to be there.
    AfterAnonymizing,
}

/// What an option is for.
#[derive(Clone, Copy)]
enum Role {
    /// It asks for a pass.
    Pass { place: Place, is_one_each: bool, request: MakeRequest },
    /// It refines the passes that the options of these names ask for.
    Setting { of: &'static [&'static str] },
}

/// How a pass is requested: with the values of its option and of all settings.
pub type MakeRequest = fn(&Values) -> Result<PassFactory, String>;

/// An option that asks for a pass or refines one, as a command line offers it.
#[derive(Clone, Copy)]
pub struct PassOption {
    parameter: &'static dyn AnyParameter,
    role: Role,
    outputs: Outputs,
    short: Option<char>,
    help: &'static str,
    choices: &'static [Choice],
    has_hyphens: bool,
}

impl PassOption {
    /// An option that asks for a pass. Where it is repeated, all its values are of one pass.
    pub const fn new<T: Send + Sync + 'static>(
        parameter: &'static Parameter<T>,
        outputs: Outputs,
        help: &'static str,
        request: MakeRequest,
    ) -> Self {
        let role = Role::Pass { place: Place::BeforeAnonymizing, is_one_each: false, request };
        Self { parameter, role, outputs, short: None, help, choices: &[], has_hyphens: false }
    }

    /// An option that refines the passes that options of these names ask for.
    pub const fn setting<T: Send + Sync + 'static>(
        parameter: &'static Parameter<T>,
        of: &'static [&'static str],
        outputs: Outputs,
        help: &'static str,
    ) -> Self {
        let role = Role::Setting { of };
        Self { parameter, role, outputs, short: None, help, choices: &[], has_hyphens: false }
    }

    /// With a short name.
    pub const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// With another explanation.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// With values of which it accepts no others.
    pub const fn choices(self, choices: &'static [Choice]) -> Self {
        Self { choices, ..self }
    }

    /// With values that may begin with a hyphen.
    pub const fn with_hyphens(self) -> Self {
        Self { has_hyphens: true, ..self }
    }

    /// With a pass for each of its values, instead of one for all.
    pub const fn one_each(self) -> Self {
        let role = match self.role {
            Role::Pass { place, request, .. } => Role::Pass { place, is_one_each: true, request },
            role @ Role::Setting { .. } => role,
        };
        Self { role, ..self }
    }

    /// With a place in rewrites that anonymize.
    pub const fn place(self, place: Place) -> Self {
        let role = match self.role {
            Role::Pass { is_one_each, request, .. } => Role::Pass { place, is_one_each, request },
            role @ Role::Setting { .. } => role,
        };
        Self { role, ..self }
    }

    /// Its name, with the dashes.
    pub fn name(&self) -> &'static str {
        self.parameter.name()
    }

    /// Its short name.
    pub fn short_name(&self) -> Option<char> {
        self.short
    }

    /// What it does, in a sentence.
    pub fn text(&self) -> &'static str {
        self.help
    }

    /// Which values it takes.
    pub fn form(&self) -> ValueForm {
        self.parameter.form()
    }

    /// The only values that it accepts; empty where these cannot be listed.
    pub fn accepted(&self) -> &'static [Choice] {
        self.choices
    }

    /// Whether its values are paths of any kind, which need not be UTF-8.
    pub fn is_path(&self) -> bool {
        self.parameter.is_path()
    }

    /// Whether its values may begin with a hyphen.
    pub fn has_hyphens(&self) -> bool {
        self.has_hyphens
    }

    /// Whether it asks for a pass.
    pub(super) fn is_pass(&self) -> bool {
        matches!(self.role, Role::Pass { .. })
    }

    /// The options that ask for the passes that it refines.
    pub fn refined(&self) -> &'static [&'static str] {
        match self.role {
            Role::Setting { of } => of,
            Role::Pass { .. } => &[],
        }
    }

    /// Whether it asks for a pass with each of its values.
    pub(super) fn is_one_each(&self) -> bool {
        matches!(self.role, Role::Pass { is_one_each: true, .. })
    }

    /// The pass that it asks for with values of its own, and with those of settings; `None` where it asks for none.
    pub(super) fn request(
        &self,
        mut values: Values,
        settings: &[&Self],
        given: &Values,
    ) -> Option<Result<PassRequest, String>> {
        let Role::Pass { place, request, .. } = self.role else { return None };
        let is_refining = |name: &str| settings.iter().any(|setting| setting.name() == name);
        values.list.extend(given.list.iter().filter(|(name, _)| is_refining(name)).cloned());
        let mut options = [self].into_iter().chain(settings.iter().copied());
        let for_records = options.find(|option| option.outputs == Outputs::Records).map(Self::name);
        Some(request(&values).map(|factory| PassRequest { option: self.name(), place, for_records, values, factory }))
    }

    /// Parses a value.
    ///
    /// # Errors
    /// Where it is not one of this option.
    pub fn parse(&self, text: &OsStr) -> Result<Value, String> {
        self.parameter.parse(text)
    }
}
