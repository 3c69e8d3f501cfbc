//! Options of formats whose directories can have several recordings.

use super::options::FormatOption;

/// The option `--append`.
pub const APPEND: FormatOption =
    FormatOption::switch("append", "Add recordings to an existing dataset, or replace them in it");
