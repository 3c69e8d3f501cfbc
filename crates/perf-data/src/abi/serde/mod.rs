//! Serialization of definitions by serde: what its derives cannot know.

pub(crate) mod byte_string;
pub mod readable;
pub mod tokens;
