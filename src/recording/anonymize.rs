//! Anonymization of a recording.

use super::Convert;
use super::Rewrite;
use crate::rewrite::anonymize::category::KeptCategories;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;

impl Rewrite<'_> {
    /// Replaces names, paths and addresses, and drops raw data, registers and stacks.
    pub fn anonymize(self, key: Key) -> Self {
        self.then(pass(key))
    }
}

impl Convert<'_> {
    /// Replaces names, paths and addresses, and drops raw data, registers and stacks. Nothing that the input contains besides
    /// its records is in the output or in files next to it.
    pub fn anonymize(self, key: Key) -> Self {
        self.then(pass(key))
    }
}

fn pass(key: Key) -> AnonymizePass {
    AnonymizePass::new(key, KeptCategories::default())
}
