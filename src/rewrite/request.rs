//! Passes requested by options.

use super::option::{Outputs, Parameter, PassOrder, Value};
use super::pass::Pass;
use crate::profile::symbolize::SymbolOptions;
use crate::rewrite::filter::pass::{Filter, FilterPass};
use perf_data::container::access::Access;
use perf_data::container::read::ReadOptions;
use perf_symbols::object::pending_images::PendingImages;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A requested pass, from which one pass is built for each recording.
#[derive(Clone)]
pub struct PassRequest {
    pub(super) option: &'static str,
    pub(super) place: PassOrder,
    pub(super) for_records: Option<&'static str>,
    pub(super) values: Values,
    pub(super) factory: PassFactory,
}

impl PassRequest {
    /// Creates a request that does not come from an option, such as that of a command.
    pub fn new(name: &'static str, outputs: Outputs, factory: PassFactory) -> Self {
        let for_records = (outputs == Outputs::Records).then_some(name);
        Self { option: name, place: PassOrder::BeforeAnonymizing, for_records, values: Values::default(), factory }
    }

    /// The option that requests the pass.
    pub fn option(&self) -> &'static str {
        self.option
    }

    /// The first of the pass's options that does not affect profiles, if any.
    pub fn option_for_records(&self) -> Option<&'static str> {
        self.for_records
    }

    /// The values of the pass's options.
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

/// What a pass reads and writes besides records.
#[derive(Clone, Debug, Default)]
pub struct PassContext {
    /// Read options: directory of temporary files, memory limits.
    pub read: ReadOptions,
    /// Directory of the output; `None` if there is none or it is unknown.
    pub output_dir: Option<PathBuf>,
    /// Whether files may be overwritten.
    pub overwrite: bool,
    /// Who may read the files that are written.
    pub access: Access,
    /// Where passes list the code images that they write.
    pub images: PendingImages,
    /// How object files are searched, for passes that unwind.
    pub objects: Arc<SymbolOptions>,
}

/// A function that builds a pass.
#[derive(Clone)]
pub struct PassFactory(Arc<BuildPass>);

type BuildPass = dyn Fn(&PassContext) -> Box<dyn Pass> + Send + Sync;

impl PassFactory {
    /// Creates a factory from a function.
    pub fn new<P: Pass + 'static>(build: impl Fn(&PassContext) -> P + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |context| Box::new(build(context))))
    }

    /// Creates a factory of passes whose type depends on values.
    pub fn boxed(build: impl Fn(&PassContext) -> Box<dyn Pass> + Send + Sync + 'static) -> Self {
        Self(Arc::new(build))
    }

    /// Creates a factory from a function that builds a sample filter.
    pub fn filter<F: Filter + 'static>(build: impl Fn() -> F + Send + Sync + 'static) -> Self {
        Self::new(move |context| FilterPass::new(build(), context.read.clone()))
    }
}

/// Values of options, in the order in which they were given.
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

    /// The value of an option that is given at most once.
    pub fn get<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Option<T> {
        self.of(parameter).pop()
    }

    /// The value of the option that requests the pass, which therefore was given.
    ///
    /// # Errors
    /// Fails if another option requests the pass.
    pub fn one<T: Clone + 'static>(&self, parameter: &Parameter<T>) -> Result<T, String> {
        self.get(parameter).ok_or_else(|| format!("{} is not given", parameter.name()))
    }

    /// Whether an option was given.
    pub fn has<T>(&self, parameter: &Parameter<T>) -> bool {
        self.has_name(parameter.name())
    }

    /// Whether the option of this name was given.
    pub fn has_name(&self, name: &str) -> bool {
        self.list.iter().any(|(given, _)| *given == name)
    }

    /// These values without those of some options.
    pub fn without(&self, names: &[&str]) -> Self {
        Self { list: self.list.iter().filter(|(given, _)| !names.contains(given)).cloned().collect() }
    }

    /// Adds a value that was [parsed](super::option::PassOption::parse) by the option of this name.
    pub fn push(&mut self, name: &'static str, value: Value) {
        self.list.push((name, value));
    }
}
