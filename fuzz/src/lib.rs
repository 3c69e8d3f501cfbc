//! What is fuzzed: functions that take any bytes and fail where a promise does not hold. An ordinary test calls the same
//! functions with the committed corpus.

mod definitions;
mod files;
mod imports;
mod inputs;
mod scenario;
mod structured;

pub use definitions::{feature, record, sample};
pub use files::open;
pub use imports::import;
pub use scenario::scenario;
pub use structured::written;
