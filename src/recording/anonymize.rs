//! Writing a recording that can be shown to others.

use super::Rewrite;
use crate::rewrite::anonymize::category::Kept;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;

impl Rewrite<'_> {
    /// Replaces names, paths and addresses, and drops raw data, registers and stacks.
    pub fn anonymize(self, key: Key) -> Self {
        self.pass(AnonymizePass::new(key, Kept::default()))
    }
}
