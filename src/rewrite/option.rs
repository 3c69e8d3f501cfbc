//! Options that request passes, and options that configure them, as a command line needs them.

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

/// How many values an option takes, and how often it may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// No value; given at most once.
    Flag,
    /// One value of this name; given at most once.
    Once(&'static str),
    /// One value of this name each time; repeatable.
    Repeated(&'static str),
    /// Comma-separated values of this name; repeatable.
    List(&'static str),
    /// No value, or `=VALUE` of this name; repeatable.
    Optional(&'static str),
}

/// One of the values of an option that accepts a fixed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

impl<T> Parameter<T> {
    /// Creates an option with one value, given at most once.
    pub const fn once(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Once(value), parse: Parse::Text(parse) }
    }

    /// Creates a repeatable option with one value.
    pub const fn repeated(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Repeated(value), parse: Parse::Text(parse) }
    }

    /// Creates an option with comma-separated values, each parsed on its own.
    pub const fn list(name: &'static str, values: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::List(values), parse: Parse::Text(parse) }
    }

    /// Creates an option whose value may be omitted; an omitted value is parsed as the empty string.
    pub const fn optional(name: &'static str, value: &'static str, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { name, form: ValueForm::Optional(value), parse: Parse::Text(parse) }
    }

    /// Name with its dashes.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl Parameter<()> {
    /// Creates an option without a value.
    pub const fn flag(name: &'static str) -> Self {
        Self { name, form: ValueForm::Flag, parse: Parse::Text(|_| Ok(())) }
    }
}

impl Parameter<PathBuf> {
    /// Creates an option with a path, which need not be UTF-8, given at most once.
    pub const fn path(name: &'static str, value: &'static str) -> Self {
        Self { name, form: ValueForm::Once(value), parse: Parse::Path(|path| path) }
    }
}

/// A parsed value of an option, of the type of the option's [`Parameter`].
#[derive(Clone)]
pub struct Value(Arc<dyn Any + Send + Sync>);

impl Value {
    pub(super) fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.downcast_ref().cloned()
    }
}

impl fmt::Debug for Value {
    // A value may be a secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(..)")
    }
}

/// A [`Parameter`] of any type.
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
            Parse::Text(parse) => parse(text.to_str().ok_or("not valid UTF-8")?)?,
            Parse::Path(parse) => parse(text.into()),
        };
        Ok(Value(Arc::new(value)))
    }
}

/// The outputs that an option affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Recordings, formats that carry records, and profiles.
    All,
    /// Recordings and formats that carry records; profiles are the same without it.
    Records,
}

/// Where a pass runs in an anonymizing rewrite. In other rewrites, passes run in the order of their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassOrder {
    /// Before anonymization.
    BeforeAnonymizing,
    /// The anonymizing pass itself.
    Anonymizing,
    /// After anonymization: the pass discloses nothing, or only what the user asks for.
    AfterAnonymizing,
}

/// What an option does.
#[derive(Clone, Copy)]
enum Role {
    /// Requests a pass.
    Pass { place: PassOrder, has_pass_per_value: bool, request: MakeRequest },
    /// Configures the passes that these options request.
    Setting { of: &'static [&'static str] },
}

/// Creates a pass factory from the values of a pass's option and of its settings.
pub type MakeRequest = fn(&Values) -> Result<PassFactory, String>;

/// An option that requests or configures a pass, as a command line offers it.
#[derive(Clone, Copy)]
pub struct PassOption {
    parameter: &'static dyn AnyParameter,
    role: Role,
    outputs: Outputs,
    short: Option<char>,
    help: &'static str,
    choices: &'static [Choice],
    has_hyphens: bool,
    /// Whether the search for symbols uses this setting, too.
    is_of_symbols: bool,
}

impl fmt::Debug for PassOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PassOption").field(&self.name()).finish()
    }
}

impl PassOption {
    /// Creates an option that requests a pass; if it is repeated, all its values go to one pass.
    pub const fn new<T: Send + Sync + 'static>(
        parameter: &'static Parameter<T>,
        outputs: Outputs,
        help: &'static str,
        request: MakeRequest,
    ) -> Self {
        let role = Role::Pass { place: PassOrder::BeforeAnonymizing, has_pass_per_value: false, request };
        Self { parameter, role, outputs, short: None, help, choices: &[], has_hyphens: false, is_of_symbols: false }
    }

    /// Creates an option that configures the passes requested by the options `of`.
    pub const fn setting<T: Send + Sync + 'static>(
        parameter: &'static Parameter<T>,
        of: &'static [&'static str],
        outputs: Outputs,
        help: &'static str,
    ) -> Self {
        let role = Role::Setting { of };
        Self { parameter, role, outputs, short: None, help, choices: &[], has_hyphens: false, is_of_symbols: false }
    }

    /// Sets the short name.
    pub const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// Replaces the help text.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Lets the search for symbols use this setting, without an option that requests a pass.
    pub const fn also_of_symbols(self) -> Self {
        Self { is_of_symbols: true, ..self }
    }

    /// Whether it affects only outputs that consist of records.
    pub fn is_for_records(&self) -> bool {
        self.outputs == Outputs::Records && !self.is_of_symbols
    }

    /// Whether the search for symbols uses this setting, too.
    pub fn is_of_symbols(&self) -> bool {
        self.is_of_symbols
    }

    /// Restricts the values to these choices.
    pub const fn choices(self, choices: &'static [Choice]) -> Self {
        Self { choices, ..self }
    }

    /// Allows values that begin with a hyphen.
    pub const fn with_hyphens(self) -> Self {
        Self { has_hyphens: true, ..self }
    }

    /// Requests one pass for each value instead of one pass for all values.
    pub const fn pass_per_value(self) -> Self {
        let role = match self.role {
            Role::Pass { place, request, .. } => Role::Pass { place, has_pass_per_value: true, request },
            role @ Role::Setting { .. } => role,
        };
        Self { role, ..self }
    }

    /// Sets where the pass runs in an anonymizing rewrite.
    pub const fn place(self, place: PassOrder) -> Self {
        let role = match self.role {
            Role::Pass { has_pass_per_value, request, .. } => Role::Pass { place, has_pass_per_value, request },
            role @ Role::Setting { .. } => role,
        };
        Self { role, ..self }
    }

    /// Name with its dashes.
    pub fn name(&self) -> &'static str {
        self.parameter.name()
    }

    /// Short name.
    pub fn short_name(&self) -> Option<char> {
        self.short
    }

    /// Help text.
    pub fn text(&self) -> &'static str {
        self.help
    }

    /// How many values it takes.
    pub fn form(&self) -> ValueForm {
        self.parameter.form()
    }

    /// The accepted values; empty if they cannot be listed.
    pub fn accepted(&self) -> &'static [Choice] {
        self.choices
    }

    /// Whether its values are paths, which need not be UTF-8.
    pub fn is_path(&self) -> bool {
        self.parameter.is_path()
    }

    /// Whether its values may begin with a hyphen.
    pub fn has_hyphens(&self) -> bool {
        self.has_hyphens
    }

    /// Whether it requests a pass.
    pub(super) fn is_pass(&self) -> bool {
        matches!(self.role, Role::Pass { .. })
    }

    /// The options whose passes it configures.
    pub fn refined(&self) -> &'static [&'static str] {
        match self.role {
            Role::Setting { of } => of,
            Role::Pass { .. } => &[],
        }
    }

    /// Whether it requests one pass for each of its values.
    pub(super) fn has_pass_per_value(&self) -> bool {
        matches!(self.role, Role::Pass { has_pass_per_value: true, .. })
    }

    /// Builds the request from the option's own values and those of its settings; `None` if the option requests no pass.
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
    /// Fails if the option does not accept the value.
    pub fn parse(&self, text: &OsStr) -> Result<Value, String> {
        self.parameter.parse(text)
    }
}
