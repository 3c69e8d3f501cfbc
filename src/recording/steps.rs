//! The passes of a conversion or rewrite, in the order in which they were added.

use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOrder, RequestedPass, is_requested};
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::{NoItrace, decides_decoding};
use perf_data::error::{Error, Result};

/// Passes of the library and of its users.
#[derive(Default)]
pub(super) struct Steps(Vec<RewriteStep>);

enum RewriteStep {
    /// A pass of the library with its options.
    Requested(RequestedPass),
    /// A pass of a user.
    Own(Box<dyn Pass>),
}

impl RewriteStep {
    fn order(&self) -> PassOrder {
        match self {
            Self::Requested(pass) => pass.order(),
            Self::Own(_) => PassOrder::BeforeAnonymizing,
        }
    }
}

impl Steps {
    pub(super) fn push_requested(&mut self, pass: RequestedPass) {
        self.0.push(RewriteStep::Requested(pass));
    }

    pub(super) fn insert_first(&mut self, pass: RequestedPass) {
        self.0.insert(0, RewriteStep::Requested(pass));
    }

    /// Whether a pass decides how traces are decoded.
    pub(super) fn decide_decoding(&self) -> bool {
        self.0.iter().any(|step| matches!(step, RewriteStep::Requested(pass) if decides_decoding(pass)))
    }

    pub(super) fn push_own(&mut self, pass: Box<dyn Pass>) {
        self.0.push(RewriteStep::Own(pass));
    }

    /// Builds the passes. Those that could disclose something run before the anonymizing one, if there is one.
    ///
    /// # Errors
    /// If a pass writes function names, which an anonymized output must not have.
    pub(super) fn build(mut self, context: &PassContext) -> Result<Passes> {
        if self.0.iter().any(|step| step.order() == PassOrder::Anonymizing) {
            let writes_names = |step: &RewriteStep| matches!(step, RewriteStep::Requested(pass) if pass.writes_names());
            if self.0.iter().any(writes_names) {
                return Err(Error::invalid(
                    "symbols of JIT-compiled functions cannot be added to an anonymized output",
                ));
            }
            self.0.sort_by_key(RewriteStep::order);
        }
        self.0.sort_by_key(|step| step.order() != PassOrder::Decoding);
        let mut passes = Passes::default();
        self.0.into_iter().for_each(|step| match step {
            RewriteStep::Requested(pass) if is_requested::<NoItrace>(&pass) => {}
            RewriteStep::Requested(pass) => passes.push_boxed(pass.pass(context)),
            RewriteStep::Own(pass) => passes.push_boxed(pass),
        });
        Ok(passes)
    }
}
