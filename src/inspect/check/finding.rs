//! Findings, their codes and severities.

use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::container::walk::DamageKind;
use perf_data::error::Place;
use std::fmt;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Data that is newer than this version, or has no meaning.
    Note,
    /// A rule of the format is violated that this reader does not rely on, but others may.
    Warning,
    /// Data is lost or cannot be decoded.
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

/// Declares [`Rule`] from the rules by severity, each with its code.
macro_rules! rules {
    ($($severity:ident { $($(#[$doc:meta])* $rule:ident = $name:literal,)* })*) => {
        /// A rule of the format that findings are about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($($(#[$doc])* $rule,)*)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Self] = &[$($(Self::$rule,)*)*];

            /// Severity of its violation.
            pub fn severity(self) -> Severity {
                match self {
                    $($(Self::$rule => Severity::$severity,)*)*
                }
            }

            /// Stable code, such as `unknown-event`; `docs/check.md` explains each.
            pub fn code(self) -> &'static str {
                match self {
                    $($(Self::$rule => $name,)*)*
                }
            }
        }
    };
}

rules! {
    Error {
        /// Bytes are missing at the end of a file, a stream or a compressed frame.
        Truncated = "truncated",
        /// `perf record` was interrupted before it completed the header.
        Interrupted = "interrupted",
        /// A section of a file, such as that of a feature, is missing or not within the file.
        MissingSection = "missing-section",
        /// A file of a directory is missing.
        MissingFile = "missing-file",
        /// Bytes that are not a valid record.
        CorruptRecord = "corrupt-record",
        /// A compressed frame that cannot be decompressed.
        CorruptFrame = "corrupt-frame",
        /// Reading the input failed.
        ReadError = "read-error",
        /// A known record or feature whose bytes do not have the layout of its type.
        Undecodable = "undecodable",
        /// A decoded record, attr or feature that encodes to different bytes.
        NotReproduced = "not-reproduced",
        /// A kernel record whose event ID belongs to none of several events.
        UnknownEvent = "unknown-event",
        /// Records of a hardware trace that cannot be decoded.
        TraceDamage = "trace-damage",
    }
    Warning {
        /// Sections of the file that overlap.
        Overlap = "overlap",
        /// `attr.size` differs from the size that the header's `attr_size` leaves for an attr: perf reads other bytes as the IDs.
        AttrSize = "attr-size",
        /// A section of event IDs whose size is not a multiple of 8.
        IdsSize = "ids-size",
        /// An event ID that two events have.
        DuplicateId = "duplicate-id",
        /// Events with the event ID at different positions in samples or trailers, or with counter values without IDs.
        EventsDiffer = "events-differ",
        /// A record whose size is not a multiple of 8, though its type requires that.
        Unaligned = "unaligned",
        /// A record smaller than the minimum of its type.
        TooSmall = "too-small",
        /// Text without its terminating NUL.
        MissingNul = "missing-nul",
        /// A version that perf rejects.
        Version = "version",
        /// A value or count in a feature that perf does not accept.
        Limit = "limit",
        /// A feature that contradicts the rest of the recording.
        Inconsistent = "inconsistent",
        /// Compressed records without the feature COMPRESSED before them.
        CompressionUnannounced = "compression-unannounced",
        /// A compressed frame that is larger than the feature COMPRESSED says.
        FrameTooLarge = "frame-too-large",
        /// Compressed frames written as one record whose size does not cover them.
        Misframed = "misframed",
        /// A record older than those that perf has already processed at the end of a round.
        RoundOrder = "round-order",
        /// A tracepoint format that perf cannot parse, or a tracepoint without a format.
        TracepointFormat = "tracepoint-format",
        /// An AUXTRACE index that differs from the AUXTRACE records.
        AuxtraceIndex = "auxtrace-index",
        /// Buffers of a hardware trace that overlap, or lack bytes that an AUX record announces.
        TraceBuffers = "trace-buffers",
    }
    Note {
        /// A type, feature, field or bit that this version does not know.
        Unknown = "unknown",
        /// Nonzero bytes after the known fields.
        Tail = "tail",
        /// A HEADER_BUILD_ID whose size is not a multiple of 8.
        BuildIdSize = "build-id-size",
        /// Bytes other than zeros before the end of the records that belong to no section.
        Gap = "gap",
    }
}

impl From<DamageKind> for Rule {
    fn from(kind: DamageKind) -> Self {
        match kind {
            DamageKind::Truncated => Self::Truncated,
            DamageKind::Interrupted => Self::Interrupted,
            DamageKind::MissingSection => Self::MissingSection,
            DamageKind::MissingFile => Self::MissingFile,
            DamageKind::CorruptRecord => Self::CorruptRecord,
            DamageKind::CorruptFrame => Self::CorruptFrame,
            DamageKind::ReadError => Self::ReadError,
        }
    }
}

/// The part of a recording that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The container.
    Container,
    /// An event, by its index.
    Event(usize),
    /// A record.
    Record {
        /// Number of records before it, those in compressed frames included.
        index: u64,
        /// Type of the record.
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

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that is violated.
    pub rule: Rule,
    /// The place; for a record in a compressed frame, that of the frame.
    pub place: Place,
    /// The part of the recording.
    pub subject: Subject,
    /// The problem, in words.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}: {} [{}]", self.place, self.rule.severity(), self.subject, self.problem, self.rule.code())
    }
}
