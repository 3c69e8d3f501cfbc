//! What is fuzzed: functions that take any bytes and fail where a promise does not hold. An ordinary test calls the same
//! functions with the committed corpus.

mod about;
mod definitions;
mod files;
mod imports;
mod inputs;
mod plausible;
mod profiles;
mod rewritten;
mod scenario;
mod streamed;
mod structured;

pub use definitions::{feature, record, sample};
pub use files::{folder, open};
pub use imports::{archive, elf, jitdump, json, quipper, quipper_text};
pub use profiles::{folded, perf_script, pprof};
pub use rewritten::rewrite;
pub use scenario::scenario;
pub use streamed::streamed;
pub use structured::written;
