//! Generated messages of `proto/otlp.proto`, and those of an earlier version in `proto/otlp_1_7.proto`.

#![allow(missing_docs, reason = "generated; the fields are described in the .proto files")]
#![allow(dead_code, reason = "messages that contain lists are written field by field; tests decode them")]

pub use v1development::*;

/// Messages of the current version.
pub mod v1development {
    include!(concat!(env!("OUT_DIR"), "/opentelemetry.proto.profiles.v1development.rs"));
}

/// Those of version 1.7 that differ.
pub mod v1_7 {
    include!(concat!(env!("OUT_DIR"), "/opentelemetry.proto.profiles.v1development_1_7.rs"));
}
