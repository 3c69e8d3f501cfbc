//! What a check finds.

use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::error::Place;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing to worry about: newer than what is known here, or bytes of no meaning.
    Note,
    /// A rule is broken that this reader does not need and others may.
    Warning,
    /// Something is lost or cannot be read.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Declares [`Rule`] from the list of rules by severity, each with the name that machines know it by.
macro_rules! rules {
    ($($severity:ident { $($(#[$doc:meta])* $rule:ident = $name:literal,)* })*) => {
        /// What a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($($(#[$doc])* $rule,)*)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$($(Self::$rule,)*)*];

            /// How bad it is to break it.
            pub fn severity(self) -> Severity {
                match self {
                    $($(Self::$rule => Severity::$severity,)*)*
                }
            }

            /// A name for machines.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Self::$rule => $name,)*)*
                }
            }
        }
    };
}

rules! {
    Error {
        /// Bytes are missing, or are not what has to stand in their place.
        Damage = "damage",
        /// A known record or feature that is not laid out as its type is.
        Undecodable = "undecodable",
        /// What was decoded is not written as the bytes that it was read from.
        NotReproduced = "not-reproduced",
        /// A record of the kernel whose id is of none of several events.
        UnknownEvent = "unknown-event",
    }
    Warning {
        /// Sections of the file share bytes.
        Overlap = "overlap",
        /// `attr.size` is not what the header's `attr_size` leaves for it: perf takes other bytes for the ids.
        AttrSize = "attr-size",
        /// Ids that are no whole numbers of 8 bytes.
        IdsSize = "ids-size",
        /// An id that two events have.
        DuplicateId = "duplicate-id",
        /// Events whose samples or trailers have the id at different places, or counter values without ids.
        EventsDiffer = "events-differ",
        /// A record whose size is not a multiple of 8, though its type's has to be.
        Unaligned = "unaligned",
        /// A record smaller than its type can be.
        TooSmall = "too-small",
        /// Text without its NUL.
        MissingNul = "missing-nul",
        /// A version that perf refuses.
        Version = "version",
        /// A count beyond what perf accepts, or beyond another count.
        Limit = "limit",
        /// A feature that says something else than the rest of the recording.
        Inconsistent = "inconsistent",
        /// Compressed records without the feature COMPRESSED before them.
        CompressionUnannounced = "compression-unannounced",
        /// A frame with more in it than the feature COMPRESSED says.
        FrameTooLarge = "frame-too-large",
        /// Frames of compressed records that are told as one.
        Misframed = "misframed",
        /// A record older than what its round may hold: perf has passed on newer ones already.
        RoundOrder = "round-order",
        /// A tracepoint's format that perf cannot parse, or a tracepoint without one.
        TracepointFormat = "tracepoint-format",
        /// An AUXTRACE index and the AUXTRACE records do not agree.
        AuxtraceIndex = "auxtrace-index",
    }
    Note {
        /// A type, feature, field or bit that is not known here.
        Unknown = "unknown",
        /// Bytes behind what a definition covers that are not zero.
        Tail = "tail",
        /// Padding behind text that is not zero.
        Padding = "padding",
        /// Bytes of the file that belong to no section.
        Gap = "gap",
    }
}

/// What part of a recording a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The container.
    Container,
    /// An event, by its place.
    Event(usize),
    /// A record.
    Record {
        /// How many were read before it, those in frames too.
        index: u64,
        /// Its type.
        kind: RecordType,
    },
    /// A feature.
    Feature(FeatureId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container => f.write_str("container"),
            Self::Event(index) => write!(f, "event {index}"),
            Self::Record { index, kind } => write!(f, "record {index} ({kind})"),
            Self::Feature(id) => write!(f, "feature {id}"),
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub rule: Rule,
    /// Where; for a record that was compressed, where its frame is.
    pub place: Place,
    /// Of what.
    pub subject: Subject,
    /// The particulars, in words.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}: {}", self.place, self.rule.severity(), self.subject, self.what)
    }
}
