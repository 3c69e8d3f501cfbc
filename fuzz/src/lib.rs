//! What is fuzzed: functions that take any bytes and fail where a promise does not hold. An ordinary test calls the same
//! functions with the committed corpus.

mod definitions;
mod files;
mod inputs;
mod profiles;
mod scenario;
mod structured;

pub use definitions::{feature, record, sample};
pub use files::open;
pub use profiles::import;
pub use scenario::scenario;
pub use structured::written;
