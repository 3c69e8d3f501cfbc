//! Passes with their options.

use super::pass::Pass;
use crate::profile::symbolize::SymbolOptions;
use crate::rewrite::filter::pass::{Filter, FilterPass};
use perf_data::container::access::Access;
use perf_data::container::read::ReadOptions;
use perf_symbols::object::pending_images::PendingImages;
use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A pass with its options, from which one pass is built for each recording. Each pass has a type of this kind, whose fields are
/// its options.
pub trait PassOptions: Any + fmt::Debug + Send + Sync {
    /// Builds the pass.
    fn pass(&self, context: &PassContext) -> Box<dyn Pass>;

    /// Where the pass runs in an anonymizing rewrite.
    fn order(&self) -> PassOrder {
        PassOrder::BeforeAnonymizing
    }

    /// What the pass reads [object files](PassContext::objects) for.
    fn object_use(&self) -> ObjectUse {
        ObjectUse::None
    }

    /// Whether the pass writes function names to files besides the output, which an anonymizing rewrite must not.
    fn writes_names(&self) -> bool {
        false
    }
}

/// What a pass reads object files for, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectUse {
    /// It reads none.
    #[default]
    None,
    /// To unwind stacks.
    Unwinding,
    /// For the names of functions, also after unwinding.
    Naming,
}

/// A pass that is requested.
pub type RequestedPass = Arc<dyn PassOptions>;

/// Where a pass runs in an anonymizing rewrite. In other rewrites, passes run in the order in which they are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassOrder {
    /// Before all other passes, in any rewrite: they work on what it decodes.
    Decoding,
    /// Before anonymization.
    BeforeAnonymizing,
    /// The anonymizing pass itself.
    Anonymizing,
    /// After anonymization: the pass discloses nothing, or only what the user asks for.
    AfterAnonymizing,
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
    /// How object files are searched, for passes that [use](PassOptions::object_use) them.
    pub objects: Arc<SymbolOptions>,
    /// Whether filters [mark](perf_data::stream::raw::Raw::is_selected) samples instead of removing them, for outputs that measure the
    /// time between samples.
    pub marks_unselected: bool,
}

impl PassContext {
    /// The pass of a filter of samples.
    pub fn filter(&self, filter: impl Filter + 'static) -> Box<dyn Pass> {
        Box::new(FilterPass::new(filter, self.read.clone(), self.marks_unselected))
    }
}

/// The requested options of a type, in the order of the requests.
pub fn requested<T: PassOptions>(passes: &[RequestedPass]) -> impl Iterator<Item = &T> {
    passes.iter().filter_map(|pass| (&**pass as &dyn Any).downcast_ref())
}

/// Whether a pass is of this type.
pub fn is_requested<T: PassOptions>(pass: &RequestedPass) -> bool {
    (&**pass as &dyn Any).is::<T>()
}

/// Puts passes that decode first, and those that could disclose something before the anonymizing one, if there is one.
///
/// # Errors
/// The index of a pass that [writes names](PassOptions::writes_names) then.
pub fn in_order(mut passes: Vec<RequestedPass>) -> Result<Vec<RequestedPass>, usize> {
    if passes.iter().any(|pass| pass.order() == PassOrder::Anonymizing) {
        if let Some(index) = passes.iter().position(|pass| pass.writes_names()) {
            return Err(index);
        }
        passes.sort_by_key(|pass| pass.order());
    }
    passes.sort_by_key(|pass| pass.order() != PassOrder::Decoding);
    Ok(passes)
}
