//! Inspects recordings: their contents (`info`, `dump`) and problems (`check`).

pub mod check;
pub mod dump;
pub mod info;
