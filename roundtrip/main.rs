//! Proves that nothing is lost: decodes every available recording through the definitions, encodes it again and compares the
//! bytes.

#[macro_use]
#[path = "../tests/common/note.rs"]
mod note;

mod common {
    pub(crate) use super::note;
}

mod bit_flips;
mod constructed;
mod containers;
mod corruption;
#[allow(unreachable_pub, reason = "a part of the library of the fuzz targets")]
#[path = "../tests/fuzzed/inputs.rs"]
mod inputs;
mod json;
mod limits;
mod quipper;
mod recordings;
mod reencode;
mod scenarios;
mod table;
