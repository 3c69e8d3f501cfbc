//! Inspects recordings: their contents (`info`, `dump`), problems (`check`) and differences (`diff`).

pub mod check;
pub mod diff;
pub mod dump;
pub mod info;
