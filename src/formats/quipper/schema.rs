//! The schema of PerfDataProto as tables.

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Number.
    pub number: u32,
    /// Name.
    #[cfg_attr(not(feature = "quipper-text"), expect(dead_code))]
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether it can occur several times.
    #[cfg_attr(not(feature = "quipper-text"), expect(dead_code))]
    pub is_repeated: bool,
}

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `bool`.
    Bool,
    /// `uint32`.
    Uint32,
    /// `uint64`.
    Uint64,
    /// `fixed64`.
    Fixed64,
    /// `bytes`, and `string`, which may be invalid UTF-8.
    Bytes,
    /// A message, as index in [`MESSAGES`].
    Message(usize),
}

include!(concat!(env!("OUT_DIR"), "/schema.rs"));
