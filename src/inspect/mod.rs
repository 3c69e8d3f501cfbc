//! Looking at recordings: what they contain, whether they are sound, and how two differ.

pub mod check;
pub mod diff;
pub mod dump;
pub mod info;
