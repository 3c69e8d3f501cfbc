//! The proof that nothing is lost: every recording at hand is taken apart through the definitions, put together again and
//! compared byte by byte.

mod change;
mod constructed;
mod containers;
mod damaged;
#[path = "../tests/fuzzed/inputs.rs"]
mod inputs;
mod json;
mod limits;
mod misframed;
mod quipper;
mod recordings;
mod reencode;
mod scenarios;
mod table;
