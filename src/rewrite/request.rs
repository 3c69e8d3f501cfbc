//! A pass that is asked for by options.

use super::option::{Outputs, Parameter, Place, Value};
use super::pass::Pass;
use crate::container::read::ReadOptions;
use crate::rewrite::filter::pass::{Filter, FilterPass};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A pass that is asked for: from it, a pass is built for each recording.
#[derive(Clone)]
pub struct PassRequest {
    pub(super) option: &'static str,
    pub(super) place: Place,
    pub(super) for_records: Option<&'static str>,
    pub(super) values: Values,
    pub(super) factory: PassFactory,
}

impl PassRequest {
    /// A pass that the name asks for, such as that of a command.
    pub fn new(name: &'static str, outputs: Outputs, factory: PassFactory) -> Self {
        let for_records = (outputs == Outputs::Records).then_some(name);
        Self { option: name, place: Place::BeforeAnonymizing, for_records, values: Values::default(), factory }
    }

    /// The option that asks for it.
    pub fn option(&self) -> &'static str {
        self.option
    }

    /// The first of the options that ask for it and refine it that makes no difference for a profile.
    pub fn option_for_records(&self) -> Option<&'static str> {
        self.for_records
    }

    /// The values of the options that ask for it and refine it.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Builds the pass.
    pub fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        (self.factory.0)(context)
    }
}

impl fmt::Debug for PassRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PassRequest").field(&self.option).finish_non_exhaustive()
    }
}

/// Where a pass reads and writes besides the records that pass through it.
#[derive(Clone, Debug, Default)]
pub struct PassContext {
    /// How recordings are read: where temporary files go, and how much is kept in memory.
    pub read: ReadOptions,
    /// The directory of the output; `None` where it has none, or it is unknown.
    pub output_dir: Option<PathBuf>,
    /// Whether files may be overwritten.
    pub overwrite: bool,
}

/// Builds a pass.
#[derive(Clone)]
pub struct PassFactory(Arc<BuildPass>);

type BuildPass = dyn Fn(&PassContext) -> Box<dyn Pass> + Send + Sync;

impl PassFactory {
    /// By a function that builds it.
    pub fn new<P: Pass + 'static>(build: impl Fn(&PassContext) -> P + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |context| Box::new(build(context))))
    }

    /// By a function that builds it, of a type that depends on values.
    pub fn boxed(build: impl Fn(&PassContext) -> Box<dyn Pass> + Send + Sync + 'static) -> Self {
        Self(Arc::new(build))
    }

    /// By a function that builds the filter whose pass it is.
    pub fn filter<F: Filter + 'static>(build: impl Fn() -> F + Send + Sync + 'static) -> Self {
        Self::new(move |context| FilterPass::new(build(), context.read.clone()))
    }
}

/// Values of options.
#[derive(Clone, Debug, Default)]
pub struct Values {
    pub(super) list: Vec<(&'static str, Value)>,
}

impl Values {
    /// The values of an option, in the order in which they were given.
    pub fn of<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Vec<T> {
        let given = self.list.iter().filter(|(name, _)| *name == parameter.name());
        given.filter_map(|(_, value)| value.get()).collect()
    }

    /// The value of an option that may be given once.
    pub fn get<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Option<T> {
        self.of(parameter).pop()
    }

    /// The value of the option that asks for the pass, which therefore was given.
    ///
    /// # Errors
    /// Where it was not: it is another option that asks for the pass.
    pub fn one<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Result<T, String> {
        self.get(parameter).ok_or_else(|| format!("{} is not given", parameter.name()))
    }

    /// Whether an option is given.
    pub fn has<T>(&self, parameter: &Parameter<T>) -> bool {
        self.has_name(parameter.name())
    }

    /// Whether an option of this name is given.
    pub fn has_name(&self, name: &str) -> bool {
        self.list.iter().any(|(given, _)| *given == name)
    }

    /// Adds a value that was [parsed](super::option::PassOption::parse) by the option of this name.
    pub fn push(&mut self, name: &'static str, value: Value) {
        self.list.push((name, value));
    }
}
