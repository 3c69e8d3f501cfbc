//! Anonymization of a recording.

use super::Rewrite;
use crate::rewrite::anonymize::category::KeptCategories;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;

impl Rewrite<'_> {
    /// Replaces names, paths and addresses, and drops raw data, registers and stacks.
    pub fn anonymize(self, key: Key) -> Self {
        self.then(AnonymizePass::new(key, KeptCategories::default()))
    }
}
